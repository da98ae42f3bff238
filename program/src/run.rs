//! `taut run`: simulate, judge, write.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;
use taut::io::atomic::AtomicFile;
use taut::mesh::surface::Surface;
use taut::render::Studio;
use taut::scene::{Noise, Script};
use taut::substeps::StepBounds;
use taut::{Backend, Cancel, Cloth, Error, FrameInput, Gpu, Mesh, Scene, Solid};

use crate::Outcome;
use crate::mesh::Origin;
use crate::options::{Options, SubjectOptions};
use crate::output::{self, Files};
use crate::past::{Ended, Identity, Past};
use crate::render::Pictures;
use crate::rows::Row;
use crate::scene::{self, Opened};
use crate::signals::Signals;
use crate::summary::{self, Subject, Summary, Tally};

/// Runs a scene from start to end.
pub(crate) fn run(options: &Options) -> Result<Outcome> {
    if options.schema {
        output::print(summary::SCHEMA.trim_end())?;
        return Ok(Outcome::Done);
    }
    let prepared = Prepared::new(options)?;
    let mut signals = None;
    // A run that was not begun yet ends at once where it is asked to.
    let ran = prepared.run(|| Ok(signals.insert(Signals::catch()?).cancel().clone()))?;
    let outcome = signals.map_or(Outcome::Done, |signals| signals.outcome());
    let Ran { frames, before, done } = ran;
    let Some(Done { options, summary, json, written, goes_on, .. }) = done else {
        output::say(&match before {
            0 => "interrupted before the end of the first frame; nothing was written".to_owned(),
            _ => format!("interrupted before the end of frame {}; all files are as they were", before + 1),
        });
        return Ok(outcome);
    };
    if summary.complete {
        return tell(&options, &summary, &json, &written.iter().map(AsRef::as_ref).collect::<Vec<_>>());
    }
    if options.json_to_stdout() {
        output::print(&format!("{json:#}"))?;
    }
    let kept = if options.writes() { ", which were written" } else { "" };
    output::say(&format!("interrupted after {} of {frames} frames{kept}{goes_on}", summary.tally.frames()));
    Ok(outcome)
}

/// A run that is ready: everything that can be refused was, before a directory is made or a file is opened.
pub(crate) struct Prepared {
    clock: Instant,
    options: Options,
    scene: Scene,
    size: Option<u32>,
    origin: Option<Origin>,
    noise: Option<Noise>,
    frames: u32,
    elasticity: &'static str,
    identity: Identity,
    past: Option<Past>,
    studio: Option<Studio>,
}

/// How a run ended.
pub(crate) struct Ran {
    /// So many frames there should be.
    frames: u32,
    /// So many there were before it.
    before: u32,
    /// `None` where it was interrupted before its first frame was done; then nothing was written.
    pub(crate) done: Option<Done>,
}

/// What a run did.
pub(crate) struct Done {
    /// With those of the scene file.
    options: Options,
    pub(crate) summary: Summary,
    /// What `summary` says, for machines.
    pub(crate) json: Value,
    pub(crate) written: Vec<PathBuf>,
    /// The state at the end, where it was asked for.
    pub(crate) state: Vec<u8>,
    /// How it goes on if it was interrupted.
    goes_on: String,
}

impl Prepared {
    pub(crate) fn new(options: &Options) -> Result<Self> {
        let clock = Instant::now();
        let Opened { options: subject, scene, size, origin, file, noise } = scene::open(&options.subject)?;
        let options = Options { subject, ..options.clone() }.with_output_of(file.as_ref())?;
        let subject = &options.subject;
        let frames = options.frames()?;
        subject.check_adapter()?;
        let settings = subject.settings(&scene)?;
        settings.validate(&scene.mesh, &scene.start)?;
        let held = scene.script.pins.iter().any(|group| group.hold.is_some());
        let bounds = StepBounds::new(&scene.mesh).among(!scene.solids.is_empty(), held);
        let plan = settings.plan(&bounds, subject.dt())?;
        let elasticity = match (plan.diagonals, plan.implicit) {
            (true, _) => "diagonals",
            (false, true) => "implicit",
            (false, false) => "explicit",
        };
        Files::check(&options)?;
        let identity = Identity::new(subject, &scene, &settings, size);
        let past = past(&options, &identity, frames)?;
        let studio = options.picture.studio(&scene, frames)?;
        let scene = scene.with_settings(settings);
        Ok(Self { clock, options, scene, size, origin, noise, frames, elasticity, identity, past, studio })
    }

    /// How many frames there shall be.
    pub(crate) fn frames(&self) -> u32 {
        self.frames
    }

    /// What it simulates.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Simulates and writes. `cancel` is called when there is something to keep, and tells what asks for an end.
    pub(crate) fn run(self, cancel: impl FnOnce() -> Result<Cancel>) -> Result<Ran> {
        let Self { clock, options, scene, size, origin, noise, frames, elasticity, identity, past, studio } = self;
        let (options, subject) = (&options, &options.subject);
        let settings = &scene.settings;
        let (name, script, solver) = (scene.name.to_string(), scene.script.clone(), settings.method.solver().name());
        let hint = scene.stays_flat(settings).then_some(scene::FLAT);
        let band = [settings.stretch_min, settings.stretch_max];
        // The frames before are drawn with what was around the cloth then.
        let drawn = (past.is_some() && studio.is_some()).then(|| scene.clone());
        let (mut cloth, place) = build(subject, scene)?;
        if let Some(past) = &past {
            past.check_place(place.name())?;
        }

        let cancel = cancel()?;
        cloth.set_cancel(Some(cancel.clone()));
        let mut files = Files::create(options, cloth.mesh(), origin.as_ref(), band, frames)?;
        let checkpoint = options.checkpoint.as_ref().map(AtomicFile::create).transpose()?;
        script.begin(&mut cloth)?;
        if let Some(path) = &options.resume {
            resume(&mut cloth, path)?;
        }
        let (first, before) =
            past.as_ref().map_or((cloth.frame(), 0), |past| (past.first_frame, past.rows.len() as u32));
        let wall = past.as_ref().map_or(0.0, |past| past.wall_seconds);
        let mut pictures = studio.map(|studio| Pictures::of_cloth(options, studio, &cloth, frames)).transpose()?;
        let (files_made, pictures_made) = (&mut files, &mut pictures);
        // What is promised is looked at; and what is asked for.
        let own = cloth.settings().self_collision.is_some();
        let surface = (own || options.crossings).then(|| Surface::new(cloth.mesh()));
        let mut simulation =
            Simulation { options, frames, first, script, surface, files: files_made, pictures: pictures_made };
        let begun = match past {
            Some(past) => simulation.replay(&mut cloth, past, drawn.as_ref())?,
            None => simulation.begin(&cloth)?,
        };
        let Simulated { tally, rows, state } = simulation.go_on(&mut cloth, begun, &cancel)?;
        let complete = tally.frames() == frames;
        if !complete && tally.frames() == before {
            // What was begun goes with `files`.
            return Ok(Ran { frames, before, done: None });
        }
        let simulated = Subject {
            on_gpu: place.on_gpu,
            reason: place.reason.clone(),
            adapter: place.adapter.clone(),
            scene: name,
            file: scene::is_file(&subject.scene).then(|| subject.scene.clone()),
            solver,
            size,
            origin,
            vertices: cloth.mesh().vertex_count(),
            edges: cloth.mesh().edge_count(),
            strain_limit: subject.strain,
            own_limits: own_limits(cloth.mesh()),
            touches_itself: own,
            solids: subject.world.solids_json(subject.own.scale()),
            first_frame: first,
            fps: subject.fps,
            elasticity,
            substeps_asked: subject.substeps,
            picture: pictures.as_ref().map(Pictures::told),
            noise,
            hint,
        };
        let wall_seconds = wall + clock.elapsed().as_secs_f64();
        let summary = Summary { subject: simulated, tally, complete, wall_seconds };
        let json = summary.json();
        let last = if complete { Vec::new() } else { cloth.snapshot()?.positions };
        if !complete && let Some(pictures) = &mut pictures {
            pictures.end_at(summary.tally.frames(), &last, cloth.solids())?;
        }
        let state = if options.keeps_state() { state.map_or_else(|| cloth.checkpoint(), Ok)? } else { Vec::new() };
        let ended = Ended {
            identity: &identity,
            place: place.name(),
            first_frame: first,
            tally: &summary.tally,
            wall_seconds: summary.wall_seconds,
            rows: &rows,
            checkpoint: &state,
        };
        let mut written = files.finish(&json, &ended, (!complete).then_some((cloth.mesh(), &last[..])))?;
        let goes_on = going_on(options, checkpoint.as_ref());
        if let Some(file) = checkpoint {
            written.push(file.path().to_owned());
            save(&state, file)?;
        }
        if let Some(pictures) = pictures {
            written.push(pictures.finish()?);
        }
        let done = Done { options: options.clone(), summary, json, written, state, goes_on };
        Ok(Ran { frames, before, done: Some(done) })
    }
}

/// The run that goes on, if one does.
fn past(options: &Options, identity: &Identity, frames: u32) -> Result<Option<Past>> {
    if !options.goes_on {
        return Ok(None);
    }
    let out =
        options.out.as_ref().context("--continue goes on with a run in the directory of --out, which is missing")?;
    Past::open(out, identity, frames).map(Some)
}

/// How an interrupted run goes on.
fn going_on(options: &Options, checkpoint: Option<&AtomicFile>) -> String {
    let mut ways = Vec::new();
    if options.out.is_some() {
        ways.push(if options.goes_on { "the same command" } else { "the same command with --continue" }.to_owned());
    }
    ways.extend(checkpoint.map(|file| format!("--resume {}", file.path().display())));
    match &ways[..] {
        [] => String::new(),
        [way] => format!("; {way} goes on"),
        ways => format!("; {} go on", ways.join(" and ")),
    }
}

/// Goes on from a checkpoint. Nothing is read that cannot be one: how long it is, is known.
fn resume(cloth: &mut Cloth, path: &Path) -> Result<()> {
    let cannot = || format!("cannot resume from {}", path.display());
    // Looked at before it is opened: to open a pipe is to wait for its other end.
    let found = fs::metadata(path).with_context(cannot)?;
    let (found, expected) = (found.is_file().then_some(found.len()), cloth.checkpoint_size());
    match found {
        Some(found) if found == expected => {}
        Some(found) => {
            let problem = "it is of another cloth, or no checkpoint at all";
            return Err(anyhow!("{problem}: it has {found} bytes, and not {expected}")).with_context(cannot);
        }
        None => return Err(anyhow!("it is not a regular file")).with_context(cannot),
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(expected).read_to_end(&mut bytes)).with_context(cannot)?;
    cloth.restore(&bytes).with_context(cannot)
}

fn save(state: &[u8], mut file: AtomicFile) -> Result<()> {
    let path = file.path().to_owned();
    file.write_all(state).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(file.finish()?)
}

/// The smallest and the largest limit that edges have of their own, if any has one.
fn own_limits(mesh: &Mesh) -> Option<[f64; 2]> {
    // The number that was written, not what f64 makes of its f32.
    let own = mesh.edge_limits().iter().filter_map(|limit| limit.own()?.to_string().parse().ok());
    own.fold(None, |both: Option<[f64; 2]>, one: f64| {
        Some(both.map_or([one; 2], |[least, most]| [least.min(one), most.max(one)]))
    })
}

/// Where a cloth runs and why.
struct Place {
    on_gpu: bool,
    adapter: Option<String>,
    reason: String,
}

impl Place {
    fn name(&self) -> &str {
        self.adapter.as_deref().unwrap_or("the CPU")
    }
}

/// Makes the cloth where the options and the machine allow it.
fn build(options: &SubjectOptions, scene: Scene) -> Result<(Cloth, Place)> {
    let backend = Backend::from(options.backend);
    let cloth = Cloth::on_backend(backend, options.adapter.as_deref(), scene)?;
    let adapter = cloth.gpu().map(|gpu| gpu.adapter().map(Gpu::label).unwrap_or_default());
    let place = Place { on_gpu: cloth.gpu().is_some(), adapter, reason: cloth.reason().to_owned() };
    Ok((cloth, place))
}

/// How far a simulation came.
#[derive(Default)]
struct Simulated {
    tally: Tally,
    rows: Vec<Row>,
    /// The state after its last frame, where the cloth has moved on since.
    state: Option<Vec<u8>>,
}

impl Simulated {
    fn add(&mut self, row: Row) {
        self.tally.add_row(&row);
        self.rows.push(row);
    }
}

/// What a simulation is made of, and where its frames go.
struct Simulation<'a> {
    options: &'a Options,
    /// So many there shall be.
    frames: u32,
    /// Frames that were simulated before the first of this run.
    first: u64,
    script: Script,
    /// That of the cloth, where its crossings are counted.
    surface: Option<Surface>,
    files: &'a mut Files,
    pictures: &'a mut Option<Pictures>,
}

impl Simulation<'_> {
    /// Time at the end of a frame \[s\].
    fn time(&self, frame: u32) -> f64 {
        (self.first + u64::from(frame)) as f64 / self.options.subject.fps
    }

    /// Writes the start.
    fn begin(&mut self, cloth: &Cloth) -> Result<Simulated> {
        let start = cloth.snapshot()?;
        self.write(0, cloth.mesh(), &start.positions, cloth.solids())?;
        Ok(Simulated::default())
    }

    /// Writes the frames of a run that goes on anew, and gives the cloth the state at its end. `drawn` is what pictures
    /// show around the cloth.
    fn replay(&mut self, cloth: &mut Cloth, mut past: Past, drawn: Option<&Scene>) -> Result<Simulated> {
        let mut samples = past.restore(cloth)?;
        let mut simulated = Simulated::default();
        let mut rows = std::mem::take(&mut past.rows);
        for frame in 0..=rows.len() as u32 {
            let sample = samples.sample(frame)?.context("cloth.pc2 has become shorter")?;
            let solids = drawn.map(|scene| scene.solids_at(self.time(frame))).unwrap_or_default();
            self.write(frame, cloth.mesh(), &sample, &solids)?;
            // The start has no row.
            if let (Some(surface), Some(before)) = (&self.surface, frame.checked_sub(1)) {
                rows[before as usize].count_crossings(surface, &sample)?;
            }
        }
        for (row, frame) in rows.into_iter().zip(1..) {
            self.files.write_row(frame, self.time(frame), &row)?;
            simulated.add(row);
        }
        simulated.tally.add_past_phases(&past.phase_seconds);
        Ok(simulated)
    }

    fn write(&mut self, frame: u32, mesh: &Mesh, positions: &[[f32; 3]], solids: &[Solid]) -> Result<()> {
        self.files.write_frame(mesh, positions)?;
        self.pictures.as_mut().map_or(Ok(()), |pictures| pictures.add(frame, positions, solids))
    }

    /// Simulates and writes all frames that are missing, or those before it was interrupted.
    fn go_on(mut self, cloth: &mut Cloth, mut simulated: Simulated, cancel: &Cancel) -> Result<Simulated> {
        let (bar, dt) = (progress_bar(self.options, self.frames), self.options.subject.dt());
        bar.set_position(simulated.tally.frames().into());
        bar.reset_eta();
        // A frame that is cancelled is taken back, but not what the script did before it: it may have let go of
        // vertices, and then there is no checkpoint before the next step.
        let keeps = self.options.keeps_state();
        while simulated.tally.frames() < self.frames && !cancel.is_cancelled() {
            let frame = simulated.tally.frames() + 1;
            let start = self.time(frame - 1);
            let lately = |until: f64| until <= start && until > start - 2.0 * f64::from(dt);
            let releases = self.script.pins.iter().any(|group| group.until.is_some_and(lately));
            let before = (keeps && releases && frame > 1).then(|| cloth.checkpoint()).transpose()?;
            let pin_targets = self.script.frame(cloth, start, dt)?;
            let clock = Instant::now();
            match cloth.step(&FrameInput { dt, pin_targets: &pin_targets }) {
                Err(Error::Cancelled) => {
                    simulated.state = before;
                    break;
                }
                other => other?,
            }
            let time = clock.elapsed();
            let snapshot = cloth.snapshot()?;
            let mut row = Row::new(&snapshot.report, time).with_contacts(&cloth.contacts()?);
            if let Some(surface) = &self.surface {
                row.count_crossings(surface, &snapshot.positions)?;
            }
            simulated.add(row);
            simulated.tally.add_phases(cloth);
            self.files.write_row(frame, self.time(frame), &row)?;
            self.write(frame, cloth.mesh(), &snapshot.positions, cloth.solids())?;
            bar.set_message(output::percent(simulated.tally.strain_max()));
            bar.inc(1);
            if self.options.progress {
                output::show(&format!("frame {frame}/{}", self.frames));
            }
        }
        bar.finish_and_clear();
        Ok(simulated)
    }
}

/// A bar on standard error; invisible where that is no terminal.
fn progress_bar(options: &Options, frames: u32) -> ProgressBar {
    let target =
        if options.quiet || options.progress { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(frames.into()), target);
    match ProgressStyle::with_template("{bar:24} frame {pos}/{len}, worst strain {msg}, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Prints what was reached.
fn tell(options: &Options, summary: &Summary, json: &Value, written: &[&Path]) -> Result<Outcome> {
    if options.json_to_stdout() {
        output::print(&format!("{json:#}"))?;
    }
    if !options.quiet {
        let table = summary.table(written, options.verbose);
        if options.json_to_stdout() { output::show(&table) } else { output::print(&table)? }
    }
    match summary.complaint() {
        Some(complaint) => {
            output::say(&complaint);
            Ok(Outcome::OverLimit)
        }
        None => Ok(Outcome::Done),
    }
}
