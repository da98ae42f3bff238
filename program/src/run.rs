//! `taut run`: simulate, judge, write.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use taut::io::atomic::AtomicFile;
use taut::scene::Script;
use taut::substeps::StepBounds;
use taut::{Backend, Cancel, Cloth, Error, FrameInput, Gpu, Scene};

use crate::Outcome;
use crate::options::{Options, SubjectOptions};
use crate::output::{self, Files};
use crate::render::Pictures;
use crate::scene::{self, Opened};
use crate::signals::Signals;
use crate::summary::{Subject, Summary, Tally};

/// Runs a scene from start to end.
pub(crate) fn run(options: &Options) -> Result<Outcome> {
    // Everything that can be refused is refused before a directory is made or a file is opened.
    let Opened { options: subject, scene, size, origin, file, noise } = scene::open(&options.subject)?;
    let options = Options { subject, ..options.clone() }.with_output_of(file.as_ref())?;
    let (options, subject) = (&options, &options.subject);
    let frames = options.frames()?;
    subject.check_adapter()?;
    let settings = subject.settings(&scene)?;
    settings.validate(&scene.mesh, &scene.start)?;
    let plan = settings.plan(&StepBounds::new(&scene.mesh), subject.dt())?;
    Files::check(options)?;
    let studio = options.picture.studio(&scene, frames)?;
    let (name, script, solver) = (scene.name.to_string(), scene.script.clone(), settings.method.solver().name());
    let hint = scene.stays_flat(&settings).then_some(scene::FLAT);
    let band = [settings.stretch_min, settings.stretch_max];
    let (mut cloth, place) = build(subject, scene.with_settings(settings))?;

    let signals = Signals::catch()?;
    cloth.set_cancel(Some(signals.cancel().clone()));
    let mut files = Files::create(options, cloth.mesh(), origin.as_ref(), band, frames)?;
    let checkpoint = options.checkpoint.as_ref().map(AtomicFile::create).transpose()?;
    script.begin(&mut cloth)?;
    if let Some(path) = &options.resume {
        resume(&mut cloth, path)?;
    }
    let first = cloth.frame();
    let mut pictures = studio.map(|studio| Pictures::of_cloth(options, studio, &cloth, frames)).transpose()?;
    let Simulated { tally, state } =
        simulate(options, frames, &mut cloth, &script, &mut files, &mut pictures, signals.cancel())?;
    let complete = tally.frames() == frames;
    if tally.frames() == 0 {
        // What was begun goes with `files`.
        output::say("interrupted before the end of the first frame; nothing was written");
        return Ok(signals.outcome());
    }
    let simulated = Subject {
        on_gpu: place.on_gpu,
        reason: place.reason,
        adapter: place.adapter,
        scene: name,
        file: scene::is_file(&subject.scene).then(|| subject.scene.clone()),
        solver,
        size,
        origin,
        vertices: cloth.mesh().vertex_count(),
        edges: cloth.mesh().edge_count(),
        strain_limit: subject.strain,
        first_frame: first,
        fps: subject.fps,
        implicit: plan.implicit,
        substeps_asked: subject.substeps,
        picture: pictures.as_ref().map(Pictures::told),
        noise,
        hint,
    };
    let summary = Summary { subject: simulated, tally, complete };
    let json = summary.json();
    let last = if complete { Vec::new() } else { cloth.snapshot()?.positions };
    if !complete && let Some(pictures) = &mut pictures {
        pictures.end_at(summary.tally.frames(), &last, cloth.solids())?;
    }
    let mut written = files.finish(&json, (!complete).then_some((cloth.mesh(), &last[..])))?;
    let mut goes_on = String::new();
    if let Some(file) = checkpoint {
        goes_on = format!("; --resume {} goes on", file.path().display());
        written.push(file.path().to_owned());
        save(&cloth, state, file)?;
    }
    if let Some(pictures) = pictures {
        written.push(pictures.finish()?);
    }
    if complete {
        return tell(options, &summary, &json, &written.iter().map(AsRef::as_ref).collect::<Vec<_>>());
    }
    if options.json_to_stdout() {
        output::print(&format!("{json:#}"))?;
    }
    let kept = if options.writes() { ", which were written" } else { "" };
    output::say(&format!("interrupted after {} of {frames} frames{kept}{goes_on}", summary.tally.frames()));
    Ok(signals.outcome())
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

fn save(cloth: &Cloth, state: Option<Vec<u8>>, mut file: AtomicFile) -> Result<()> {
    let path = file.path().to_owned();
    let state = state.map_or_else(|| cloth.checkpoint(), Ok)?;
    file.write_all(&state).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(file.finish()?)
}

/// Where a cloth runs and why.
struct Place {
    on_gpu: bool,
    adapter: Option<String>,
    reason: String,
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
struct Simulated {
    tally: Tally,
    /// The state after its last frame, where the cloth has moved on since.
    state: Option<Vec<u8>>,
}

/// Simulates and writes all frames, or those before it was interrupted.
fn simulate(
    options: &Options,
    frames: u32,
    cloth: &mut Cloth,
    script: &Script,
    files: &mut Files,
    pictures: &mut Option<Pictures>,
    cancel: &Cancel,
) -> Result<Simulated> {
    let (bar, dt) = (progress_bar(options, frames), options.subject.dt());
    let mut tally = Tally::default();
    let start = cloth.snapshot()?;
    files.write_frame(cloth.mesh(), &start.positions)?;
    if let Some(pictures) = pictures {
        pictures.add(0, &start.positions, cloth.solids())?;
    }
    // A frame that is cancelled is taken back, but not what the script did before it: it may have let go of vertices,
    // and then there is no checkpoint before the next step.
    let releases = options.checkpoint.is_some() && script.pins.iter().any(|group| group.until.is_some());
    let mut state = None;
    while tally.frames() < frames && !cancel.is_cancelled() {
        let start = cloth.frame() as f64 / options.subject.fps;
        let before = (releases && tally.frames() > 0).then(|| cloth.checkpoint()).transpose()?;
        let pin_targets = script.frame(cloth, start, dt)?;
        let clock = Instant::now();
        match cloth.step(&FrameInput { dt, pin_targets: &pin_targets }) {
            Err(Error::Cancelled) => {
                state = before;
                break;
            }
            other => other?,
        }
        let time = clock.elapsed();
        let snapshot = cloth.snapshot()?;
        files.write_frame(cloth.mesh(), &snapshot.positions)?;
        tally.add(&snapshot.report, time);
        tally.add_phases(cloth);
        if let Some(pictures) = pictures {
            pictures.add(tally.frames(), &snapshot.positions, cloth.solids())?;
        }
        bar.set_message(output::percent(tally.strain_max()));
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Simulated { tally, state })
}

/// A bar on standard error; invisible where that is no terminal.
fn progress_bar(options: &Options, frames: u32) -> ProgressBar {
    let target = if options.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(frames.into()), target);
    match ProgressStyle::with_template("{bar:24} frame {pos}/{len}, worst strain {msg}, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Prints what was reached.
fn tell(options: &Options, summary: &Summary, json: &serde_json::Value, written: &[&Path]) -> Result<Outcome> {
    if options.json_to_stdout() {
        output::print(&format!("{json:#}"))?;
    }
    if !options.quiet {
        let table = summary.table(written);
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
