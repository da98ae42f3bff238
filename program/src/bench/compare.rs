//! Two result files, row by row: what became faster or slower, and what is only noise.
//!
//! A time changed if the medians differ by more than k standard deviations of the noise *and* by more than a
//! percentage. The deviations are those of the samples, 1.4826·MAD, of both files together: with
//! σ = 1.4826·√(MAD_a² + MAD_b²), a difference of at most kσ is noise. That is a strict test, because the median of n
//! samples scatters about √n times less than a sample does: it seldom calls noise a change, and misses small changes in
//! noisy runs. The percentage keeps changes that are certain but do not matter from failing a build.

use std::collections::BTreeMap;
use std::fmt;

use crate::bench::results::{AdapterInfo, ResultFile, Row};
use crate::bench::statistics::SIGMAS_PER_DEVIATION;
use crate::bench::table::{NAME, Table, name, printable};
use crate::output::{duration, percent, significant};

/// Fewer samples say nothing of their noise: the median absolute deviation of one is zero, that of two half their
/// distance.
const FEWEST_SAMPLES: usize = 3;

/// How strict a comparison is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Options {
    /// Changes up to this many percent of the first file's time do not count.
    pub(crate) fail_above_percent: f64,
    /// Differences of up to this many standard deviations are noise.
    pub(crate) k: f64,
    /// Whether to compare what should not be compared; the reasons become warnings.
    pub(crate) force: bool,
}

impl Default for Options {
    /// 5 %, three deviations, no force.
    fn default() -> Self {
        Self { fail_above_percent: 5.0, k: 3.0, force: false }
    }
}

/// Why two files are not compared.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) enum Refusal {
    /// One file is of a software adapter, the other is not. Can be forced.
    Software {
        /// Whether it is the first.
        first: bool,
    },
    /// The files have different schema versions. Can be forced.
    Schema {
        /// Versions of both.
        versions: [u32; 2],
    },
    /// A file is of a run that was interrupted. Can be forced.
    Incomplete {
        /// Whether it is the first.
        first: bool,
    },
    /// No row is in both files: to compare nothing and find no regression would be a lie. Cannot be forced.
    NothingInCommon,
    /// A percentage or a number of deviations is below zero or not finite. Cannot be forced.
    Options,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = |first: bool| if first { "first" } else { "second" };
        match self {
            Self::Software { first } => {
                write!(formatter, "the {} file is of a software adapter, the other is not", which(*first))
            }
            Self::Schema { versions: [a, b] } => write!(formatter, "the files have the schema versions {a} and {b}"),
            Self::Incomplete { first } => {
                write!(formatter, "the {} file is of a run that was interrupted", which(*first))
            }
            Self::NothingInCommon => write!(formatter, "the files have no row in common"),
            Self::Options => write!(formatter, "percentage and k must be finite and not below zero"),
        }
    }
}

impl std::error::Error for Refusal {}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Less time, beyond noise and percentage.
    Faster,
    /// More time, beyond noise and percentage: a regression.
    Slower,
    /// The difference is noise or too small to matter.
    Unchanged,
    /// Held its limit before and misses it now: a regression, whatever the time.
    NewlyMissed,
    /// Missed its limit before and holds it now; the times are of different work.
    NewlyHeld,
    /// Missed its limit in both files; their times say nothing.
    Missed,
    /// Not in the second file.
    OnlyFirst,
    /// Not in the first file.
    OnlySecond,
}

impl Verdict {
    /// Whether it fails a build.
    pub(crate) fn is_regression(self) -> bool {
        matches!(self, Self::Slower | Self::NewlyMissed)
    }

    /// The verdict in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "SLOWER",
            Self::Unchanged => "unchanged",
            Self::NewlyMissed => "NEWLY MISSED",
            Self::NewlyHeld => "newly held",
            Self::Missed => "missed in both",
            Self::OnlyFirst => "only in the first",
            Self::OnlySecond => "only in the second",
        }
    }
}

/// A row of one or both files.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// The row in the first file.
    pub(crate) first: Option<Row>,
    /// The row in the second file.
    pub(crate) second: Option<Row>,
    /// Second median over first; `None` where one is missing or the first is zero.
    pub(crate) ratio: Option<f64>,
    /// The difference of the medians up to which it is noise \[s/s\]; `None` where one is missing.
    pub(crate) noise: Option<f64>,
    /// What became of it.
    pub(crate) verdict: Verdict,
}

/// Two files, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// Sorted by suite, scene, size, solver, place and strain limit.
    pub(crate) lines: Vec<Line>,
    /// What makes the comparison doubtful.
    pub(crate) warnings: Vec<String>,
}

impl Comparison {
    /// Whether a row is slower or newly missed.
    pub(crate) fn is_regression(&self) -> bool {
        self.lines.iter().any(|line| line.verdict.is_regression())
    }

    /// Whether every row is in both files and as it was.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.lines.iter().all(|line| line.verdict == Verdict::Unchanged)
    }

    /// Exit code of the program: 1 on a regression, otherwise 0. A [`Refusal`] is for 2.
    pub(crate) fn exit_code(&self) -> u8 {
        u8::from(self.is_regression())
    }

    /// The comparison for people.
    pub(crate) fn table(&self) -> Table {
        let more = ["first", "second", "times", "noise", "verdict"];
        Table::new(&[&NAME[..], &more].concat(), self.lines.iter().map(Line::cells).collect())
    }
}

impl Line {
    fn new(first: Option<&Row>, second: Option<&Row>, options: &Options) -> Option<Self> {
        let (ratio, noise, verdict) = match (first, second) {
            (Some(first), Some(second)) => {
                let [a, b] = [first, second].map(|row| row.seconds_per_second.median);
                let noise = noise(first, second, options.k);
                ((a > 0.0).then(|| b / a), Some(noise), judge(first, second, noise, options.fail_above_percent))
            }
            (Some(_), None) => (None, None, Verdict::OnlyFirst),
            (None, Some(_)) => (None, None, Verdict::OnlySecond),
            (None, None) => return None,
        };
        Some(Self { first: first.cloned(), second: second.cloned(), ratio, noise, verdict })
    }

    fn cells(&self) -> Vec<String> {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
        let time = |row: &Row| {
            let time = duration(row.seconds_per_second.median);
            if row.held { time } else { format!("{time}, missed: {}", percent(row.strain_max)) }
        };
        let mut cells = self.first.as_ref().or(self.second.as_ref()).map(name).unwrap_or_default();
        cells.extend([
            or_dash(self.first.as_ref().map(time)),
            or_dash(self.second.as_ref().map(time)),
            or_dash(self.ratio.map(|ratio| significant(ratio, 3))),
            or_dash(self.noise.map(|noise| format!("± {}", duration(noise)))),
            self.verdict.words().to_owned(),
        ]);
        cells
    }
}

/// k·1.4826·√(MAD_a² + MAD_b²) \[s/s\]
fn noise(first: &Row, second: &Row, k: f64) -> f64 {
    k * SIGMAS_PER_DEVIATION * first.seconds_per_second.mad.hypot(second.seconds_per_second.mad)
}

fn judge(first: &Row, second: &Row, noise: f64, percentage: f64) -> Verdict {
    match (first.held, second.held) {
        (true, false) => return Verdict::NewlyMissed,
        (false, true) => return Verdict::NewlyHeld,
        (false, false) => return Verdict::Missed,
        (true, true) => {}
    }
    let [a, b] = [first, second].map(|row| row.seconds_per_second.median);
    let difference = b - a;
    if difference.abs() <= noise || difference.abs() <= percentage / 100.0 * a {
        Verdict::Unchanged
    } else if difference > 0.0 {
        Verdict::Slower
    } else {
        Verdict::Faster
    }
}

/// Compares the second file with the first, which is the older.
///
/// Rows belong together if suite, scene, size, solver, place and strain limit are equal; if a file has several such
/// rows, the first belongs to the first of the other file, the second to the second.
///
/// # Errors
///
/// [`Refusal`], if the files should not be compared and `options.force` is not set, or if they cannot be.
pub(crate) fn compare(first: &ResultFile, second: &ResultFile, options: &Options) -> Result<Comparison, Refusal> {
    let usable = |value: f64| value.is_finite() && value >= 0.0;
    if !usable(options.fail_above_percent) || !usable(options.k) {
        return Err(Refusal::Options);
    }
    let reasons = reasons(first, second);
    if let Some(reason) = reasons.first().filter(|_| !options.force) {
        return Err(reason.clone());
    }
    let mut pairs: BTreeMap<Key<'_>, [Option<&Row>; 2]> = BTreeMap::new();
    for (side, file) in [first, second].into_iter().enumerate() {
        for (key, row) in keyed(&file.rows) {
            pairs.entry(key).or_default()[side] = Some(row);
        }
    }
    if !pairs.values().any(|pair| pair.iter().all(Option::is_some)) {
        return Err(Refusal::NothingInCommon);
    }
    let mut warnings: Vec<String> = reasons.iter().map(Refusal::to_string).collect();
    warnings.extend(different_machines(first, second));
    warnings.extend(pairs.values().filter_map(|[a, b]| doubt(a.as_ref()?, b.as_ref()?)));
    let missing = pairs.values().filter(|[a, b]| a.is_some() && b.is_none()).count();
    if missing > 0 {
        warnings.push(format!("{missing} rows of the first file are not in the second: nothing is said of them"));
    }
    Ok(Comparison { lines: pairs.values().filter_map(|[a, b]| Line::new(*a, *b, options)).collect(), warnings })
}

/// Why the files should not be compared.
fn reasons(first: &ResultFile, second: &ResultFile) -> Vec<Refusal> {
    let versions = [first.schema_version, second.schema_version];
    let mut reasons = Vec::new();
    if versions[0] != versions[1] {
        reasons.push(Refusal::Schema { versions });
    }
    if first.software != second.software {
        reasons.push(Refusal::Software { first: first.software });
    }
    for (file, is_first) in [(first, true), (second, false)] {
        if !file.complete {
            reasons.push(Refusal::Incomplete { first: is_first });
        }
    }
    reasons
}

/// Suite, scene, size, solver, place, strain limit, and which of several such rows it is. Limits are compared as the
/// f32 that the solvers get, so that a limit that was written and parsed is still itself.
type Key<'a> = (&'a str, &'a str, u32, &'a str, &'a str, u32, usize);

fn keyed(rows: &[Row]) -> Vec<(Key<'_>, &Row)> {
    let mut seen = BTreeMap::new();
    let mut keyed = Vec::with_capacity(rows.len());
    for row in rows {
        let Row { suite, scene, size, solver, place, .. } = row;
        // Bits of positive floats sort as the floats do.
        let limit = (row.strain_limit as f32).to_bits();
        let before = seen.entry((suite, scene, size, solver, place, limit)).or_insert(0);
        keyed.push(((suite.as_str(), scene.as_str(), *size, solver.as_str(), place.as_str(), limit, *before), row));
        *before += 1;
    }
    keyed
}

/// Ratios between machines are meaningful, but they are not what a change to the program did.
fn different_machines(first: &ResultFile, second: &ResultFile) -> Vec<String> {
    let (a, b) = (&first.machine, &second.machine);
    let adapter = |file: &ResultFile| {
        let one = |a: &AdapterInfo| format!("{} ({}, {} {})", a.name, a.backend, a.driver, a.driver_info);
        let all: Vec<String> = file.machine.adapters.iter().map(one).collect();
        if all.is_empty() { "none".to_owned() } else { all.join("; ") }
    };
    let facts = [
        ("processor", a.cpu.clone(), b.cpu.clone()),
        ("number of threads", a.threads.to_string(), b.threads.to_string()),
        ("adapter", adapter(first), adapter(second)),
        ("operating system", format!("{} {}", a.os, a.arch), format!("{} {}", b.os, b.arch)),
        ("build profile", a.profile.clone(), b.profile.clone()),
    ];
    let differ = |(what, a, b): (&str, String, String)| {
        (a != b).then(|| format!("the {what} differs: {} and {}", printable(&a), printable(&b)))
    };
    facts.into_iter().filter_map(differ).collect()
}

/// Why a verdict on two rows may be wrong.
fn doubt(first: &Row, second: &Row) -> Option<String> {
    let samples = |row: &Row| row.seconds_per_second.raw.len();
    let reason = if first.vertices != second.vertices {
        format!("has {} and {} vertices: the scene is not the same", first.vertices, second.vertices)
    } else if first.scene_hash != second.scene_hash {
        "has two different scenes of that name and size".to_owned()
    } else if first.frames != second.frames {
        format!("has {} and {} frames: the work is not the same", first.frames, second.frames)
    } else if samples(first).min(samples(second)) < FEWEST_SAMPLES {
        format!("has {} and {} samples: too few to tell noise from change", samples(first), samples(second))
    } else {
        return None;
    };
    Some(format!("{} {reason}", name(first).join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::sample::{file, missed, row};

    /// Samples around a time, in the proportions of a run with a slow outlier; their deviation is `noise` of the time.
    fn around(seconds: f64, noise: f64) -> Vec<f64> {
        [0.0, -1.0, 1.0, 1.0, -1.0, 0.5, 12.0, -0.5, -2.0].map(|part| seconds * (1.0 + noise * part)).to_vec()
    }

    fn one(seconds: &[f64]) -> ResultFile {
        file(vec![row("hang", 20, "jacobi", seconds)])
    }

    fn verdict(first: &[f64], second: &[f64], options: &Options) -> Verdict {
        compare(&one(first), &one(second), options).expect("comparable").lines[0].verdict
    }

    #[test]
    fn a_planted_regression_of_a_fifth_is_found() {
        let (before, after) = (around(1.0, 0.02), around(1.2, 0.02));
        let comparison = compare(&one(&before), &one(&after), &Options::default()).expect("comparable");
        let line = &comparison.lines[0];
        assert_eq!(line.verdict, Verdict::Slower);
        assert!((line.ratio.expect("a ratio") - 1.2).abs() < 1e-12);
        // 3 · 1.4826 · √(0.02² + 0.024²)
        assert!((line.noise.expect("noise") - 0.138_953_7).abs() < 1e-6, "{:?}", line.noise);
        assert_eq!((comparison.is_regression(), comparison.exit_code()), (true, 1));
        assert_eq!(comparison.warnings, [""; 0]);
        // The other way round it is an improvement, and no regression.
        let comparison = compare(&one(&after), &one(&before), &Options::default()).expect("comparable");
        assert_eq!((comparison.lines[0].verdict, comparison.exit_code()), (Verdict::Faster, 0));
    }

    #[test]
    fn the_same_fifth_within_the_noise_is_no_change() {
        // 3 · 1.4826 · √(0.1² + 0.12²) = 0.695 is more than the difference of 0.2.
        assert_eq!(verdict(&around(1.0, 0.1), &around(1.2, 0.1), &Options::default()), Verdict::Unchanged);
        // Without a judgement of noise it would be one.
        let blind = Options { k: 0.0, ..Options::default() };
        assert_eq!(verdict(&around(1.0, 0.1), &around(1.2, 0.1), &blind), Verdict::Slower);
    }

    #[test]
    fn a_change_that_is_certain_but_small_does_not_count() {
        let [before, after] = [1.0, 1.04].map(|seconds| around(seconds, 1e-4));
        assert_eq!(verdict(&before, &after, &Options::default()), Verdict::Unchanged);
        assert_eq!(verdict(&after, &before, &Options::default()), Verdict::Unchanged);
        let strict = Options { fail_above_percent: 3.0, ..Options::default() };
        assert_eq!(verdict(&before, &after, &strict), Verdict::Slower);
        assert_eq!(verdict(&after, &before, &strict), Verdict::Faster);
    }

    /// Numbers from a normal distribution (Box and Muller) out of a linear congruential generator (Knuth's MMIX).
    struct Noise(u64);

    impl Noise {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        }

        fn samples(&mut self, median: f64, sigma: f64) -> Vec<f64> {
            let mut normal = || (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos();
            (0..10).map(|_| median * (sigma * normal()).exp()).collect()
        }

        /// How many of 1000 pairs are judged slower.
        fn slower(&mut self, ratio: f64, sigma: f64) -> usize {
            let mut is_slower = || {
                let [before, after] = [1.0, ratio].map(|median| self.samples(median, sigma));
                verdict(&before, &after, &Options::default()) == Verdict::Slower
            };
            (0..1000).filter(|_| is_slower()).count()
        }
    }

    #[test]
    fn noise_is_seldom_called_a_change_and_a_fifth_is_seldom_missed() {
        let mut noise = Noise(1);
        // Ten samples with 10 % noise, the same program twice; then a fifth slower with 2 % and with 10 % noise. These
        // are 1, 1000 and 20 of 1000.
        let [false_alarms, found, hidden] = [(1.0, 0.1), (1.2, 0.02), (1.2, 0.1)].map(|(r, s)| noise.slower(r, s));
        assert!(false_alarms <= 10, "{false_alarms} of 1000 false alarms");
        assert!(found >= 990, "{found} of 1000 found");
        assert!(hidden < 500, "{hidden} of 1000 found in noise that hides them");
    }

    #[test]
    fn a_run_that_newly_misses_its_limit_is_a_regression_even_if_faster() {
        let before = row("hang", 20, "jacobi", &around(1.0, 0.01));
        let after = missed(row("hang", 20, "jacobi", &around(0.1, 0.01)), 0.5);
        let [before, after] = [before, after].map(|row| file(vec![row]));
        let found = |first, second| {
            let comparison = compare(first, second, &Options::default()).expect("comparable");
            (comparison.lines[0].verdict, comparison.exit_code())
        };
        assert_eq!(found(&before, &after), (Verdict::NewlyMissed, 1));
        assert_eq!(found(&after, &before), (Verdict::NewlyHeld, 0));
        assert_eq!(found(&after, &after), (Verdict::Missed, 0));
        assert_eq!(found(&before, &before), (Verdict::Unchanged, 0));
    }

    #[test]
    fn rows_are_matched_by_what_they_are_not_by_where_they_stand() {
        let times = around(1.0, 0.01);
        let rows = |solvers: &[&str]| file(solvers.iter().map(|solver| row("hang", 20, solver, &times)).collect());
        let comparison =
            compare(&rows(&["a", "b", "c"]), &rows(&["d", "c", "a"]), &Options::default()).expect("comparable");
        let found: Vec<_> = comparison.lines.iter().map(|line| line.verdict).collect();
        assert_eq!(found, [Verdict::Unchanged, Verdict::OnlyFirst, Verdict::Unchanged, Verdict::OnlySecond]);
        assert_eq!(comparison.exit_code(), 0);
        assert_eq!((comparison.lines[1].ratio, comparison.lines[1].noise), (None, None));
    }

    #[test]
    fn every_part_of_the_key_counts() {
        let base = row("hang", 20, "jacobi", &around(1.0, 0.01));
        let others = [
            Row { suite: "scaling".into(), ..base.clone() },
            Row { scene: "chain".into(), ..base.clone() },
            Row { size: 21, ..base.clone() },
            Row { solver: "gauss-seidel".into(), ..base.clone() },
            Row { place: "llvmpipe".into(), ..base.clone() },
            Row { strain_limit: 0.001, ..base.clone() },
        ];
        for other in others {
            let found = compare(&file(vec![base.clone()]), &file(vec![other]), &Options::default());
            assert_eq!(found, Err(Refusal::NothingInCommon));
        }
        // The last place of a limit does not: parsing may change it.
        let near = Row { strain_limit: 0.01_f64.next_up(), ..base.clone() };
        assert!(compare(&file(vec![base]), &file(vec![near]), &Options::default()).is_ok());
    }

    #[test]
    fn several_rows_of_one_key_are_matched_in_order() {
        let rows = |times: [f64; 2]| file(times.map(|time| row("hang", 20, "jacobi", &around(time, 0.01))).to_vec());
        let comparison = compare(&rows([1.0, 2.0]), &rows([1.0, 3.0]), &Options::default()).expect("comparable");
        let found: Vec<_> = comparison.lines.iter().map(|line| line.verdict).collect();
        assert_eq!(found, [Verdict::Unchanged, Verdict::Slower]);
    }

    #[test]
    fn hardware_is_not_compared_with_software_unless_forced() {
        let hardware = one(&around(1.0, 0.01));
        let software = ResultFile { software: true, ..hardware.clone() };
        let refusal = compare(&hardware, &software, &Options::default()).expect_err("refused");
        assert_eq!(refusal, Refusal::Software { first: false });
        assert_eq!(refusal.to_string(), "the second file is of a software adapter, the other is not");
        assert!(compare(&software, &software, &Options::default()).is_ok());
        let forced = Options { force: true, ..Options::default() };
        assert_eq!(compare(&hardware, &software, &forced).expect("forced").warnings, [refusal.to_string()]);
    }

    #[test]
    fn incomplete_files_and_other_versions_are_refused_unless_forced() {
        let good = one(&around(1.0, 0.01));
        let incomplete = ResultFile { complete: false, ..good.clone() };
        let other = ResultFile { schema_version: 2, ..good.clone() };
        let refused = |a, b| compare(a, b, &Options::default()).expect_err("refused");
        assert_eq!(refused(&incomplete, &good), Refusal::Incomplete { first: true });
        assert_eq!(refused(&good, &incomplete), Refusal::Incomplete { first: false });
        assert_eq!(refused(&good, &other), Refusal::Schema { versions: [1, 2] });
        let forced = Options { force: true, ..Options::default() };
        assert_eq!(compare(&incomplete, &incomplete, &forced).expect("forced").warnings.len(), 2);
    }

    #[test]
    fn what_compares_nothing_cannot_pass() {
        let good = one(&around(1.0, 0.01));
        let forced = Options { force: true, ..Options::default() };
        assert_eq!(compare(&good, &file(Vec::new()), &forced), Err(Refusal::NothingInCommon));
        assert_eq!(compare(&file(Vec::new()), &file(Vec::new()), &forced), Err(Refusal::NothingInCommon));
        for bad in [f64::NAN, -1.0, f64::INFINITY] {
            assert_eq!(compare(&good, &good, &Options { k: bad, ..forced }), Err(Refusal::Options));
            assert_eq!(compare(&good, &good, &Options { fail_above_percent: bad, ..forced }), Err(Refusal::Options));
        }
    }

    #[test]
    fn doubts_are_told() {
        let warnings =
            |a: &ResultFile, b: &ResultFile| compare(a, b, &Options::default()).expect("comparable").warnings;
        let good = one(&around(1.0, 0.01));
        let quick = one(&[1.0, 1.1]);
        let few = "solvers hang 20 1 % jacobi cpu has 9 and 2 samples: too few to tell noise from change";
        assert_eq!(warnings(&good, &quick), [few]);
        let mut other = good.clone();
        other.rows[0].vertices = 441;
        let scene = "solvers hang 20 1 % jacobi cpu has 400 and 441 vertices: the scene is not the same";
        assert_eq!(warnings(&good, &other), [scene]);
        let mut other = good.clone();
        other.machine.cpu = "Example 1".into();
        assert_eq!(warnings(&good, &other), ["the processor differs: Example 9000 and Example 1"]);
    }

    #[test]
    fn times_of_zero_have_no_ratio_but_a_verdict() {
        let zero = [0.0, 0.0, 0.0];
        assert_eq!(verdict(&zero, &zero, &Options::default()), Verdict::Unchanged);
        assert_eq!(verdict(&zero, &[1.0, 1.0, 1.0], &Options::default()), Verdict::Slower);
        let comparison = compare(&one(&zero), &one(&zero), &Options::default()).expect("comparable");
        assert_eq!(comparison.lines[0].ratio, None);
    }

    #[test]
    fn the_table_tells_both_times_and_the_verdict() {
        let before = file(vec![row("hang", 20, "jacobi", &around(1.0, 0.0))]);
        let after = file(vec![
            missed(row("hang", 20, "jacobi", &around(0.5, 0.0)), 0.125),
            row("hang", 20, "projection", &around(0.25, 0.0)),
        ]);
        let table = compare(&before, &after, &Options::default()).expect("comparable").table();
        assert!(table.rows.iter().all(|row| row.len() == table.header.len()));
        assert_eq!(table.rows[0][6..], ["1 s", "500 ms, missed: 12.5 %", "0.5", "± 0 ms", "NEWLY MISSED"]);
        assert_eq!(table.rows[1][6..], ["–", "250 ms", "–", "–", "only in the second"]);
    }
}
