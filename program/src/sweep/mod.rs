//! `taut sweep`: many runs of one scene, on as many machines as there are.
//!
//! | Module | Does |
//! |---|---|
//! | [`axis`] | values of keys, seeds, and the list of runs that they span |
//! | [`store`] | the directory with a row for every run, and its tables |
//! | [`crate::shard`] | which part of the list is for this task |

mod axis;
mod store;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use clap::builder::{OsStringValueParser, TypedValueParser};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Map, Value, json};
use taut::Cancel;
use taut::engine::checksum::Checksum;
use taut::io::export::Target;
use taut::scene::{LAYERED, WORN};

use crate::options::{self, SubjectOptions};
use crate::output::{self, count, duration};
use crate::render::PictureOptions;
use crate::run::Prepared;
use crate::shard::{Shard, ShardOptions};
use crate::signals::Signals;
use crate::{Outcome, scene, sentence};
use axis::{Axis, List, Setting};
use store::{Manifest, Row, Store};

/// Amplitude of the noise of `--seeds` where nothing else is said \[m\], as that of `--noise`.
const NOISE: f32 = 1e-5;
/// Lines of progress are so far apart where there is no terminal.
const PAUSE: Duration = Duration::from_secs(10);

/// What help says of `--set` here.
pub(crate) const SET: &str = "Key of the scene, as its file has it, and its values: a list \
    (solids[0].friction=0.2,0.5), numbers in equal steps (lin:0.1..0.4:4) or in equal ratios (log:0.05..0.5:8), both \
    ends included; fabric.bending is bending of every cloth, and so are material, density, shear and damping; \
    repeatable: all values of one with all of the others";

/// Options of `taut sweep`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) subject: SubjectOptions,

    /// Time to simulate [s], rounded to whole frames
    #[arg(long, value_name = "S", default_value = "2", value_parser = options::seconds, allow_negative_numbers = true)]
    seconds: f64,

    /// Run everything with each of these seeds of the start noise (--noise): a range, both ends included, or a list
    #[arg(long, value_name = "A..B|N,…", value_parser = seeds, conflicts_with = "seed")]
    seeds: Option<SeedList>,

    #[command(flatten)]
    part: ShardOptions,

    /// So many runs at once
    #[arg(long, value_name = "K", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: u32,

    /// Directory for the rows and files, which is made if missing; tasks on several machines may share it. Runs that
    /// have a row there are not run again
    #[arg(long, value_name = "DIR", required_unless_present_any = ["list", "merge"])]
    out: Option<PathBuf>,

    /// Keep what `taut run --out` writes, of every run, in DIR/runs/NUMBER
    #[arg(long)]
    keep: bool,

    /// Write all frames of every run to a file of this name in DIR/runs/NUMBER, by its extension, as `taut run` does;
    /// repeatable
    #[arg(long, value_name = "NAME", value_parser = OsStringValueParser::new().try_map(export))]
    export: Vec<PathBuf>,

    /// Print the runs, one JSON line each, and simulate nothing
    #[arg(long)]
    list: bool,

    /// Join directories of parts into the tables of --out, or of the first of them
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with_all = ["list", "keep", "export", "seeds", "shard", "shards"])]
    merge: Vec<PathBuf>,

    /// No table and no progress; errors and missed limits are still said
    #[arg(long)]
    quiet: bool,
}

/// What `--seeds` has; clap takes a plain list for several values.
#[derive(Clone, Debug)]
struct SeedList(Vec<u64>);

fn seeds(text: &str) -> Result<SeedList, String> {
    axis::seeds(text).map(SeedList)
}

/// A name that stays in the directory of its run.
fn export(name: OsString) -> Result<PathBuf, String> {
    options::export(name.clone())?;
    let path = PathBuf::from(name);
    let inside = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    inside.then_some(path).ok_or_else(|| "must be a name in the directory of a run".to_owned())
}

/// Runs a part of a sweep, lists it, or joins parts.
pub(crate) fn sweep(options: &Options) -> Result<Outcome> {
    if !options.merge.is_empty() {
        return merge(options);
    }
    let sweep = Sweep::new(options)?;
    let shard = options.part.choose()?;
    let part = (0..sweep.list.count()).filter(|run| shard.has(*run));
    let manifest = sweep.manifest()?;
    if options.list {
        for run in part {
            output::print(&json!({ "run": run, "settings": sweep.list.setting(run).json() }).to_string())?;
        }
        return Ok(Outcome::Done);
    }
    let out = options.out.as_deref().context("--out names the directory of the sweep")?;
    let store = Store::open(out, manifest)?;
    let signals = Signals::catch()?;
    let mut judged = Judged::default();
    let mut missing = Vec::new();
    for run in part {
        match store.row(run)?.filter(Row::is_done) {
            Some(row) => judged.add(&row),
            None => missing.push(run),
        }
    }
    let skipped = judged.runs;
    let progress = Progress::new(options, missing.len(), judged);
    let next = AtomicUsize::new(0);
    let work = || -> Result<()> {
        while let Some(run) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
            if signals.cancel().is_cancelled() {
                break;
            }
            match sweep.run(*run, &store, signals.cancel())? {
                Some(row) => {
                    store.put(*run, &row)?;
                    progress.add(&row);
                }
                None => break,
            }
        }
        Ok(())
    };
    let done: Result<()> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.jobs).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow!("a run panicked"))?)
    });
    let judged = progress.end();
    done?;
    if signals.cancel().is_cancelled() {
        let left = missing.len() as u64 + skipped - judged.runs;
        let runs = count(left);
        output::say(&format!(
            "interrupted: {runs} runs are left; the same command goes on, and rows that are done stay"
        ));
        return Ok(signals.outcome());
    }
    // Whoever ends last finds all rows.
    let rows = store.rows()?;
    if let Some(rows) = &rows {
        store::write_tables(out, rows)?;
    }
    judged.tell(options, shard, skipped, rows.is_some(), out)
}

/// Joins parts.
fn merge(options: &Options) -> Result<Outcome> {
    let (_, rows) = store::merge(&options.merge)?;
    let out = options.out.as_ref().or(options.merge.first()).context("there is nothing to join")?;
    std::fs::create_dir_all(out).with_context(|| format!("cannot make the directory {}", out.display()))?;
    store::write_tables(out, &rows)?;
    let mut judged = Judged::default();
    rows.iter().for_each(|row| judged.add(row));
    judged.tell(options, Shard::WHOLE, 0, true, out)
}

/// What is run.
struct Sweep<'a> {
    options: &'a Options,
    subject: SubjectOptions,
    list: List,
}

impl<'a> Sweep<'a> {
    fn new(options: &'a Options) -> Result<Self> {
        let mut subject = options.subject.clone();
        let axes = std::mem::take(&mut subject.set);
        let axes = axes.iter().map(|(key, values)| Axis::new(key, values)).collect::<Result<Vec<_>>>()?;
        if let Some(axis) = axes.first() {
            let key = &axis.key;
            ensure!(
                subject.own.mesh.is_none(),
                "--set {key} is a key of a scene file: one can name the mesh of --mesh"
            );
            let name = subject.scene.as_str();
            let layered = LAYERED.contains(&name) || WORN.contains(&name);
            ensure!(!layered, "--set {key} is a key of a scene file, and the scene {} cannot be one", subject.scene);
        }
        // What a scene file says about its own files is for one run; here every run would write to them.
        subject.given.extend(["out", "export", "render"].map(str::to_owned));
        let seeds = options.seeds.as_ref().map(|seeds| seeds.0.clone()).unwrap_or_default();
        Ok(Self { options, subject, list: List::new(axes, seeds)? })
    }

    /// What identifies the sweep. All values of all keys are tried, each once, though nothing is simulated: what
    /// cannot be is refused here, with the sentences of scene files.
    fn manifest(&self) -> Result<Manifest> {
        let mut frames = 0;
        let mut identities = Vec::new();
        for run in self.list.representatives() {
            let prepared = self.prepare(&self.list.setting(run), None)?;
            frames = prepared.frames();
            identities.push(prepared.identity().text());
        }
        let Options { keep, export, .. } = self.options;
        identities.push(format!("{frames} {keep} {export:?} {:?} {}", self.subject.noise, self.subject.fps));
        Ok(Manifest::new(&self.subject.scene, &self.list, frames, &identities))
    }

    /// A run with its files in a directory.
    fn prepare(&self, setting: &Setting, directory: Option<&Path>) -> Result<Prepared> {
        let mut subject = self.subject.clone();
        subject.changes.clone_from(&setting.changes);
        if setting.seed.is_some() {
            subject.seed = setting.seed;
            if subject.noise.is_none() && !scene::has_noise(&subject)? {
                subject.noise = Some(NOISE);
            }
        }
        let targets = self.options.export.iter().map(|name| Target::new(directory.unwrap_or(Path::new("")).join(name)));
        let run = options::Options {
            subject,
            seconds: self.options.seconds,
            out: directory.filter(|_| self.options.keep).map(Path::to_owned),
            export: if directory.is_some() { targets.collect::<Result<_, _>>()? } else { Vec::new() },
            json: None,
            checkpoint: None,
            resume: None,
            picture: PictureOptions::default(),
            quiet: true,
            goes_on: false,
            frame_rows: None,
            crossings: false,
            verbose: false,
            progress: false,
            schema: false,
            wants_state: true,
        };
        Prepared::new(&run)
    }

    /// Simulates a run; `None` if it was interrupted. What goes wrong with it is a row as well, which is tried again.
    fn run(&self, run: u64, store: &Store, cancel: &Cancel) -> Result<Option<Row>> {
        let setting = self.list.setting(run);
        let mut computed = Map::new();
        computed.insert("run".to_owned(), run.into());
        computed.insert("settings".to_owned(), setting.json());
        let clock = Instant::now();
        let directory = store.files(run);
        let ran = self.prepare(&setting, Some(&directory)).and_then(|run| run.run(|| Ok(cancel.clone())));
        let done = match ran {
            Ok(ran) => ran.done,
            Err(error) => {
                computed.insert("error".to_owned(), sentence(&error).into());
                let measured = json!({ "wall_seconds": clock.elapsed().as_secs_f64() });
                return Ok(Some(Row { computed, measured }));
            }
        };
        let Some(done) = done.filter(|done| done.summary.complete) else { return Ok(None) };
        let complaint = done.summary.complaint();
        computed.insert("held".to_owned(), complaint.is_none().into());
        for key in COMPUTED {
            computed.insert(key.to_owned(), done.json[key].clone());
        }
        computed.insert("complaint".to_owned(), complaint.into());
        let mut state = Checksum::default();
        state.add(&done.state);
        computed.insert("state".to_owned(), format!("#{:016x}", state.value()).into());
        computed.insert("files".to_owned(), store.inside(&done.written).into());
        let measured = MEASURED.map(|key| (key.to_owned(), done.json[key].clone()));
        Ok(Some(Row { computed, measured: Value::Object(measured.into_iter().collect()) }))
    }
}

/// What a row has of the report of its run: equal bits from equal machines.
const COMPUTED: [&str; 17] = [
    "strain_limit",
    "strain_max",
    "strain_p99",
    "worst_frame",
    "frames",
    "frames_over",
    "rejected_frames",
    "seconds",
    "scene",
    "solver",
    "vertices",
    "substeps",
    "iterations",
    "contacts",
    "crossings",
    "backend",
    "adapter",
];

/// What a row has of it that is never the same.
const MEASURED: [&str; 2] = ["wall_seconds", "seconds_per_frame"];

/// How runs ended.
#[derive(Clone, Copy, Debug, Default)]
struct Judged {
    runs: u64,
    missed: u64,
    failed: u64,
}

impl Judged {
    fn add(&mut self, row: &Row) {
        self.runs += 1;
        self.missed += u64::from(row.is_done() && !row.is_held());
        self.failed += u64::from(!row.is_done());
    }

    /// Prints what was reached.
    fn tell(self, options: &Options, shard: Shard, skipped: u64, complete: bool, out: &Path) -> Result<Outcome> {
        if !options.quiet {
            let mut rows = vec![("runs", count(self.runs))];
            if shard != Shard::WHOLE {
                rows.push(("part", format!("{} of {}, counted from 0", shard.index, shard.count)));
            }
            if skipped > 0 {
                rows.push(("done before", count(skipped)));
            }
            rows.extend([("over a limit", count(self.missed)), ("failed", count(self.failed))]);
            let table = out.join(store::TABLE);
            rows.push((
                "written",
                match complete {
                    true => format!("{}, {}", table.display(), out.join(store::TIMES).display()),
                    false => format!("rows in {}; {} comes when no part is missing", out.display(), store::TABLE),
                },
            ));
            output::print(&output::table(rows.into_iter().map(|(name, value)| [name.to_owned(), value]), 100))?;
        }
        if self.missed + self.failed == 0 {
            return Ok(Outcome::Done);
        }
        let Self { runs, missed, failed } = self;
        output::say(&format!("{missed} of {runs} runs missed a limit, and {failed} failed; rows say which and why"));
        Ok(Outcome::OverLimit)
    }
}

/// Runs that are done, and when the others will be: a bar in a terminal, lines elsewhere.
struct Progress {
    bar: ProgressBar,
    /// Where lines are said: every [`PAUSE`].
    lines: bool,
    begun: Instant,
    left: usize,
    state: Mutex<(Judged, usize, Instant)>,
}

impl Progress {
    fn new(options: &Options, left: usize, judged: Judged) -> Self {
        let target = if options.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(left as u64), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} run {pos}/{len}, {msg}{eta} left") {
            bar.set_style(style);
        }
        let lines = !options.quiet && bar.is_hidden();
        let begun = Instant::now();
        Self { bar, lines, begun, left, state: Mutex::new((judged, 0, begun)) }
    }

    fn add(&self, row: &Row) {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (judged, done, said) = &mut *state;
        judged.add(row);
        *done += 1;
        if judged.missed + judged.failed > 0 {
            self.bar.set_message(format!("{} missed or failed, ", judged.missed + judged.failed));
        }
        self.bar.inc(1);
        if self.lines && said.elapsed() >= PAUSE {
            *said = Instant::now();
            let each = self.begun.elapsed().as_secs_f64() / *done as f64;
            let left = duration(each * (self.left - *done) as f64);
            output::say(&format!("{done} of {} runs, about {left} left", self.left));
        }
    }

    fn end(self) -> Judged {
        self.bar.finish_and_clear();
        self.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).0
    }
}
