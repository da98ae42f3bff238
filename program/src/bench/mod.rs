//! `taut bench`: time to strain, for people with a new GPU and for those who doubt.
//!
//! The unit of comparison is the time per simulated second at a strain limit that was really held, recomputed on the
//! host in f64 from every frame. A run that missed its limit is shown as missed and ranks with nothing. Contenders run
//! interleaved, one repetition of each after the other, so that a busy machine is unfair to all alike.
//!
//! | Module | Does |
//! |---|---|
//! | [`suites`] | what is run |
//! | [`paper`] | the figures of the paper, with its methods beside ours |
//! | [`measure`] | one run, and the bandwidth of memory |
//! | [`machine`] | where it was run |
//! | [`statistics`] | median, percentiles, spread, growth with size |
//! | [`results`] | the result file, its schema, JSON and CSV |
//! | [`table`], [`plot`] | rows for a terminal, plots as SVG |
//! | [`join`] | parts, or the machines of a fleet, as one |
//! | [`compare`] | two files, row by row, with a judgement of noise |

mod axis;
pub(crate) mod compare;
mod join;
mod machine;
mod measure;
mod paper;
mod plot;
mod read;
pub(crate) mod results;
#[cfg(test)]
mod sample;
mod statistics;
mod stopwatch;
mod suites;
mod table;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use taut::io::atomic::AtomicFile;
use taut::{Cancel, Method};

use crate::Outcome;
use crate::options::{size, strain};
use crate::output;
use crate::shard::{Shard, ShardOptions};
use crate::signals::Signals;
pub(crate) use machine::version;
use measure::Bench;
use results::{ResultFile, Row, Samples};
use statistics::growth;
use suites::{Place, SUITES, Suite};

/// Options of `taut bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// What is measured; `taut bench --list` explains
    #[arg(value_name = "SUITE", default_value = "solvers", value_parser = PossibleValuesParser::new(SUITES.map(|suite| suite.name)))]
    suites: Vec<String>,

    /// List the suites and what they do
    #[arg(long)]
    list: bool,

    /// Part of the name of an adapter to measure besides the CPU, or `none`; may be given several times. By default the
    /// first that is no software; all of them for the suite `adapters`
    #[arg(long, value_name = "SUBSTRING", value_parser = NonEmptyStringValueParser::new())]
    adapter: Vec<String>,

    /// Vertices per side, with commas between
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = size)]
    sizes: Vec<u32>,

    /// Solvers, with commas between
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = PossibleValuesParser::new(Method::NAMES))]
    solvers: Vec<String>,

    /// Largest strain allowed: a fraction (0.01) or percent (1%)
    #[arg(long, value_name = "LIMIT", default_value = "1%", value_parser = strain, allow_hyphen_values = true)]
    strain: f64,

    /// Repetitions of each run
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,

    /// Seconds of computing after which `paper` gives up a run, and stops to repeat one
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    budget: f64,

    /// Figures of `paper`, with commas between; all of them unless said otherwise
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=6))]
    figures: Vec<u32>,

    /// Write the results as JSON to this file (schema: `taut bench --schema`)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write the tables as Markdown to this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    /// Write the results as CSV to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write plots as SVG to this directory; it is made if it is missing
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,

    /// Keep the results under this name, for --baseline
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    save_baseline: Option<String>,

    /// Compare with the results of this name; exit code 1 if something became slower
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    baseline: Option<String>,

    /// Once, at toy size: shows that everything works, not how fast it is
    #[arg(long)]
    quick: bool,

    #[command(flatten)]
    part: ShardOptions,

    /// Measure nothing, and make one table of files of --json, or of directories with such: the parts of --shard, or
    /// the machines of a fleet
    #[arg(long, value_name = "FILE|DIR", num_args = 1.., conflicts_with_all = ["shard", "shards", "list", "quick"])]
    merge: Vec<PathBuf>,

    /// Print the JSON Schema of the result file
    #[arg(long)]
    schema: bool,
}

/// Options of `taut compare`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompareOptions {
    /// Results of `taut bench --json`, or a directory of those of parts or of several machines
    first: PathBuf,

    /// Results to compare with them
    second: PathBuf,

    /// Changes up to this many percent do not count
    #[arg(long, value_name = "PERCENT", default_value = "5")]
    fail_above: f64,

    /// Differences of up to this many standard deviations are noise
    #[arg(long, value_name = "K", default_value = "3")]
    k: f64,

    /// Compare hardware with software, or incomplete files, nevertheless
    #[arg(long)]
    force: bool,
}

/// Warnings that are printed; more would hide the table.
const WARNINGS: usize = 3;

/// The largest result file that is read.
const LARGEST_FILE: u64 = 1 << 28;

/// Runs suites.
pub(crate) fn bench(options: &Options) -> Result<Outcome> {
    if options.schema {
        output::print(results::SCHEMA.trim_end())?;
        return Ok(Outcome::Done);
    }
    if options.list {
        let rows = SUITES.map(|suite| [suite.name.to_owned(), suite.does.to_owned()]);
        output::print(&output::table(rows, 100))?;
        return Ok(Outcome::Done);
    }
    if cfg!(not(feature = "validate")) && options.suites.iter().any(|suite| suite == suites::PAPER) {
        return Err(crate::without("the methods of the paper", "validate", "bench paper"));
    }
    let before = options.baseline.as_deref().map(|name| load(&baseline(name)?)).transpose()?;
    for (option, path) in [("--json", &options.json), ("--csv", &options.csv), ("--markdown", &options.markdown)] {
        if let Some(folder) = path.as_deref().and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty()) {
            ensure!(folder.is_dir(), "{option}: there is no directory {}", folder.display());
        }
    }
    if !options.merge.is_empty() {
        let file = join::load(&options.merge)?;
        tell(&file)?;
        write(&file, options, Vec::new())?;
        return match before {
            Some(before) => judge(&before, &file, &compare::Options::default()),
            None => Ok(Outcome::Done),
        };
    }
    let shard = options.part.choose()?;
    let whole = shard == Shard::WHOLE;
    ensure!(whole || !options.suites.iter().any(|suite| suite == suites::PAPER), "the suite paper has no parts");
    let all = options.suites.iter().any(|suite| suite == suites::ADAPTERS);
    let (places, usual) = Place::choose(&options.adapter, all, options.quick)?;
    let signals = Signals::catch()?;
    let cancel = signals.cancel();

    let mut file = machine::file(&places);
    file.part = (!whole).then_some(shard);
    if let Some(banner) = file.banner() {
        output::say(&banner);
    }
    let mut drawings = Vec::new();
    let mut failure = None;
    // Over all suites.
    let mut number = 0;
    for name in &options.suites {
        let places = if name == suites::ADAPTERS { &places[..] } else { &places[..usual] };
        if name == suites::PAPER {
            // Every method has one thread.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().context("no thread can be started")?;
            drawings.extend(pool.install(|| paper::run(options, places, &mut file, cancel))?);
            continue;
        }
        let suite = SUITES.into_iter().find(|suite| suite.name == *name).context("the suite is listed")?;
        let mut runs = suite.runs(options, places);
        runs.retain(|_| {
            number += 1;
            shard.has(number - 1)
        });
        let rows = run(&suite, runs, options, places, &file, cancel, &mut failure);
        file.rows.extend(rows);
        if failure.is_some() {
            break;
        }
    }
    file.complete = failure.is_none() && !cancel.is_cancelled();
    tell(&file)?;
    write(&file, options, drawings)?;
    if let Some(error) = failure {
        return Err(error.context("stopped; what was finished before is kept and marked as incomplete"));
    }
    if !file.complete {
        output::say("interrupted: what was finished is kept and marked as incomplete");
        return Ok(signals.outcome());
    }
    match before {
        Some(before) => judge(&before, &file, &compare::Options::default()),
        None => Ok(Outcome::Done),
    }
}

/// Compares two result files.
pub(crate) fn compare_files(options: &CompareOptions) -> Result<Outcome> {
    let [first, second] = [&options.first, &options.second].map(|path| join::load(std::slice::from_ref(path)));
    let (first, second) = (first?, second?);
    let CompareOptions { fail_above, k, force, .. } = *options;
    judge(&first, &second, &compare::Options { fail_above_percent: fail_above, k, force })
}

fn judge(first: &ResultFile, second: &ResultFile, options: &compare::Options) -> Result<Outcome> {
    let comparison = match compare::compare(first, second, options) {
        Ok(comparison) => comparison,
        Err(refusal) => bail!("{refusal}"),
    };
    for warning in comparison.warnings.iter().take(WARNINGS) {
        output::say(warning);
    }
    if comparison.warnings.len() > WARNINGS {
        output::say(&format!("and {} more warnings of this kind", comparison.warnings.len() - WARNINGS));
    }
    if comparison.is_unchanged() {
        let rows = comparison.lines.len();
        let rows = if rows == 1 { "the only row is".to_owned() } else { format!("all {rows} rows are") };
        let percent = options.fail_above_percent;
        output::print(&format!("nothing changed: {rows} as before, within noise and {percent} %"))?;
        return Ok(Outcome::Done);
    }
    output::print(&render(&comparison.table()))?;
    Ok(if comparison.exit_code() == 0 { Outcome::Done } else { Outcome::OverLimit })
}

/// Runs all repetitions of a suite, interleaved; what was finished when it is interrupted or something fails.
fn run(
    suite: &Suite,
    mut runs: Vec<Bench>,
    options: &Options,
    places: &[Place],
    file: &ResultFile,
    cancel: &Cancel,
    failure: &mut Option<anyhow::Error>,
) -> Vec<Row> {
    let repetitions = if options.quick { 1 } else { options.repetitions };
    let bar = progress(u64::from(repetitions) * runs.len() as u64);
    for _ in 0..repetitions {
        for bench in &mut runs {
            if cancel.is_cancelled() || failure.is_some() {
                break;
            }
            let label = bench.label(places);
            bar.set_message(label.clone());
            if let Err(error) = bench.repeat(places, cancel) {
                *failure = Some(error.context(label));
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let counted: Vec<_> = runs.iter().filter_map(Bench::counted).collect();
    runs.iter_mut().for_each(|bench| bench.borrow_bytes(&counted));
    runs.into_iter().filter_map(|bench| bench.row(suite.name, places, file)).collect()
}

/// A bar on standard error for this many steps.
fn progress(steps: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}, {eta} left") {
        bar.set_style(style);
    }
    bar
}

fn tell(file: &ResultFile) -> Result<()> {
    // Labels of adapters are long: tables number them.
    let mut short = file.clone();
    let mut legend = Vec::new();
    for (index, adapter) in file.machine.adapters.iter().enumerate() {
        let name = format!("adapter {}", index + 1);
        short.rows.iter_mut().filter(|row| row.place == adapter.label).for_each(|row| row.place.clone_from(&name));
        legend.push(format!("{name}: {}, {} {}", adapter.label, adapter.driver, adapter.driver_info));
    }
    for (title, table) in tables(&short) {
        if !title.is_empty() {
            output::print(&title)?;
        }
        output::print(&render(&table))?;
    }
    for line in legend {
        output::print(&table::printable(&line))?;
    }
    for line in exponents(&file.rows) {
        output::print(&line)?;
    }
    Ok(())
}

/// Titles and tables of everything; a title may be empty.
fn tables(file: &ResultFile) -> Vec<(String, table::Table)> {
    // The paper's suite has tables of its own.
    let rows: Vec<Row> = file.rows.iter().filter(|row| !paper::tell::is_of_paper(row)).cloned().collect();
    let mut tables = Vec::new();
    if !rows.is_empty() || file.paper.is_none() {
        tables.extend([(String::new(), table::ranking(&rows)), (String::new(), table::work(&rows))]);
    }
    tables.extend(paper::tell::tables(file));
    tables
}

/// Growth of the time with the number of vertices, for each solver of the scaling suite.
fn exponents(rows: &[Row]) -> Vec<String> {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.suite == "scaling" && row.held).collect();
    let mut names: Vec<(&str, &str)> = rows.iter().map(|row| (row.solver.as_str(), row.place.as_str())).collect();
    names.sort_unstable();
    names.dedup();
    let line = |(solver, place): (&str, &str)| {
        let of = rows.iter().filter(|row| row.solver == solver && row.place == place);
        let (x, y): (Vec<f64>, Vec<f64>) = of.map(|row| (row.vertices as f64, row.seconds_per_second.median)).unzip();
        let growth = growth(&x, &y)?;
        let error = growth.error.map_or_else(String::new, |error| format!(" ± {error:.2}"));
        Some(format!("{solver} on {place}: time grows as vertices^{:.2}{error}", growth.exponent))
    };
    names.into_iter().filter_map(line).collect()
}

fn render(table: &table::Table) -> String {
    let width = output::columns(120);
    let (title, parts) = table.fitting(width.into());
    let drawn = parts.into_iter().map(|part| output::table_of(std::iter::once(part.header).chain(part.rows), width));
    Some(title).filter(|title| !title.is_empty()).into_iter().chain(drawn).collect::<Vec<_>>().join("\n")
}

fn write(file: &ResultFile, options: &Options, drawings: Vec<(String, String)>) -> Result<()> {
    let json = format!("{:#}\n", file.to_json());
    if let Some(path) = &options.json {
        write_file(path, &json)?;
    }
    if let Some(name) = options.save_baseline.as_ref().filter(|_| file.complete) {
        let path = baseline(name)?;
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).context("cannot make target/taut-bench")?;
        write_file(&path, &json)?;
    }
    if let Some(path) = &options.csv {
        write_file(path, &file.to_csv())?;
    }
    if let Some(path) = &options.markdown {
        write_file(path, &markdown(file))?;
    }
    if let Some(directory) = &options.plot {
        let plots: Vec<(String, String)> =
            plots(file, options.quick).into_iter().chain(paper::tell::plots(file)).chain(drawings).collect();
        if plots.is_empty() {
            output::say("nothing was plotted: with --quick every scene has one size, and one point is no curve");
            return Ok(());
        }
        std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
        for (name, svg) in plots {
            write_file(&directory.join(name), &svg)?;
        }
    }
    Ok(())
}

pub(crate) fn write_file(path: &Path, text: &str) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(file.finish()?)
}

/// The tables with the machine and the banners.
fn markdown(file: &ResultFile) -> String {
    let mut text = format!("{}\n", file.machine.caption());
    if let Some(banner) = file.banner() {
        text += &format!("\n**{banner}**\n");
    }
    for (title, table) in tables(file) {
        if !title.is_empty() {
            text += &format!("\n## {title}\n");
        }
        text += &format!("\n{}", table.markdown());
    }
    text
}

/// One plot for each suite and scene: time per simulated second against vertices. With `quick` only where there is more
/// than one number of vertices: a toy's single point shows nothing.
fn plots(file: &ResultFile, quick: bool) -> Vec<(String, String)> {
    let rows = file.rows.iter().filter(|row| !paper::tell::is_of_paper(row));
    let mut keys: Vec<(String, String)> = rows.map(|row| (row.suite.clone(), row.scene.clone())).collect();
    keys.sort_unstable();
    keys.dedup();
    let sizes = |(suite, scene): &(String, String)| {
        let of = file.rows.iter().filter(|row| row.suite == *suite && row.scene == *scene);
        of.map(|row| row.vertices).collect::<BTreeSet<_>>().len()
    };
    keys.retain(|key| !quick || sizes(key) > 1);
    let plot = |(suite, scene): (String, String)| {
        let of = |row: &&Row| row.suite == suite && row.scene == scene;
        let rows: Vec<Row> = file.rows.iter().filter(of).cloned().collect();
        let axis = |title: &str| plot::Axis { title: title.to_owned(), scale: axis::Scale::Log };
        let title = format!("{scene}: time to strain");
        let (x, y) = (axis("vertices"), axis("time per simulated second [s/s]"));
        let drawing = plot::Plot::new(&title, x, y, plot::series(&rows, |row| row.vertices as f64), file).draw();
        let part = plot::Axis { title: "part of the streaming bandwidth".to_owned(), scale: axis::Scale::Linear };
        let title = format!("{scene}: bandwidth");
        let roofline = plot::Plot::new(&title, axis("vertices"), part, fractions(&rows), file).draw();
        [(format!("{suite}-{scene}.svg"), drawing.svg), (format!("{suite}-{scene}-bandwidth.svg"), roofline.svg)]
    };
    keys.into_iter().flat_map(plot).collect()
}

/// Bandwidth of each solver and place, as a part of what memory can do there.
fn fractions(rows: &[Row]) -> Vec<plot::Series> {
    let mut series = plot::series(rows, |row| row.vertices as f64);
    for one in &mut series {
        for point in &mut one.points {
            let same = |row: &&Row| {
                (row.vertices as f64, row.seconds_per_second.median) == (point.x, point.y)
                    && one.name.starts_with(&row.solver)
            };
            let fraction = rows.iter().find(same).and_then(|row| row.roofline_fraction);
            (point.y, point.bar) = (fraction.unwrap_or(f64::NAN), None);
        }
        one.points.retain(|point| point.y.is_finite());
    }
    series.retain(|one| !one.points.is_empty());
    series
}

/// A time above zero.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text} is no number"))?;
    if seconds.is_finite() && seconds > 0.0 { Ok(seconds) } else { Err("must be above zero".to_owned()) }
}

/// Where the results of a name are kept.
fn baseline(name: &str) -> Result<PathBuf> {
    let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
    ensure!(plain && !name.starts_with('.'), "a baseline's name has letters, digits, -, _ and . only, not {name:?}");
    Ok(Path::new("target").join("taut-bench").join(format!("{name}.json")))
}

fn load(path: &Path) -> Result<ResultFile> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    ResultFile::read(file, LARGEST_FILE).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))
}

/// Samples per simulated second.
fn samples(seconds: &[f64], simulated: f64) -> Option<Samples> {
    Samples::new(seconds.iter().map(|seconds| seconds / simulated).collect())
}
