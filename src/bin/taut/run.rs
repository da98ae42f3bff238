//! `taut run`: simulate, judge, write.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use taut::io::atomic::AtomicFile;
use taut::scene::Script;
use taut::substeps::StepBounds;
use taut::{Backend, Cloth, FrameInput, Gpu, Scene, Settings};

use crate::Outcome;
use crate::options::{Options, SubjectOptions};
use crate::output::{self, Files};
use crate::render::Pictures;
use crate::scene::{self, Opened};
use crate::summary::{Subject, Summary, Tally};

/// Runs a scene from start to end.
pub(crate) fn run(options: &Options) -> Result<Outcome> {
    // Everything that can be refused is refused before a directory is made or a file is opened.
    let Opened { options: subject, scene, size, origin, file, noise } = scene::open(&options.subject)?;
    let options = Options { subject, ..options.clone() }.with_output_of(file.as_ref())?;
    let (options, subject) = (&options, &options.subject);
    let frames = options.frames()?;
    subject.check_adapter()?;
    let settings = subject.settings(&scene);
    settings.validate(&scene.mesh, &scene.start)?;
    let plan = settings.plan(&StepBounds::new(&scene.mesh), subject.dt())?;
    Files::check(options)?;
    let stage = options.picture.stage(&scene, frames)?;
    let (name, script, solver) = (scene.name.to_string(), scene.script.clone(), settings.method.solver().name());
    let hint = scene.stays_flat(&settings).then_some(scene::FLAT);
    let band = [settings.stretch_min, settings.stretch_max];
    let (mut cloth, place) = build(subject, scene, settings)?;

    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = interrupted.clone();
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed)).context("cannot catch interruptions")?;
    let mut files = Files::create(options, cloth.mesh(), origin.as_ref(), band, frames)?;
    let mut checkpoint = options.checkpoint.as_ref().map(AtomicFile::create).transpose()?;
    script.begin(&mut cloth)?;
    if let Some(path) = &options.resume {
        resume(&mut cloth, path)?;
    }
    let first = cloth.frame();
    let mut pictures = stage.map(|stage| Pictures::of_cloth(options, stage, &cloth, frames)).transpose()?;
    let Some(tally) = simulate(options, frames, &mut cloth, &script, &mut files, &mut pictures, &interrupted)? else {
        // What was written so far goes with `files`.
        let kept = match checkpoint.take() {
            Some(file) => {
                let path = file.path().display().to_string();
                save(&cloth, file)?;
                let nothing = if options.writes() { "; nothing else was written" } else { "" };
                format!("; --resume {path} goes on{nothing}")
            }
            None if options.writes() => "; nothing was written".to_owned(),
            None => String::new(),
        };
        output::say(&format!("interrupted after {} of {frames} frames{kept}", cloth.frame() - first));
        return Ok(Outcome::Interrupted);
    };
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
    let summary = Summary { subject: simulated, tally };
    let json = summary.json();
    let mut written = files.finish(&json)?;
    if let Some(file) = checkpoint {
        written.push(file.path().to_owned());
        save(&cloth, file)?;
    }
    if let Some(pictures) = pictures {
        written.push(pictures.finish()?);
    }
    tell(options, &summary, &json, &written.iter().map(AsRef::as_ref).collect::<Vec<_>>())
}

/// The largest checkpoint that is read: a thousand bytes per vertex of the largest scene.
const LARGEST_CHECKPOINT: u64 = 1 << 34;

fn resume(cloth: &mut Cloth, path: &Path) -> Result<()> {
    let cannot = || format!("cannot resume from {}", path.display());
    let file = File::open(path).with_context(cannot)?;
    let mut bytes = Vec::new();
    file.take(LARGEST_CHECKPOINT).read_to_end(&mut bytes).with_context(cannot)?;
    cloth.restore(&bytes).with_context(cannot)
}

fn save(cloth: &Cloth, mut file: AtomicFile) -> Result<()> {
    let path = file.path().to_owned();
    file.write_all(&cloth.checkpoint()?).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(file.finish()?)
}

/// Where a cloth runs and why.
struct Place {
    on_gpu: bool,
    adapter: Option<String>,
    reason: String,
}

/// Makes the cloth where the options and the machine allow it.
fn build(options: &SubjectOptions, scene: Scene, settings: Settings) -> Result<(Cloth, Place)> {
    let backend = Backend::from(options.backend);
    let cloth = Cloth::on_backend_blocking(backend, options.adapter.as_deref(), scene, settings)?;
    let adapter = cloth.gpu().map(|gpu| gpu.adapter().map(Gpu::label).unwrap_or_default());
    let place = Place { on_gpu: cloth.gpu().is_some(), adapter, reason: cloth.reason().to_owned() };
    Ok((cloth, place))
}

/// Simulates and writes all frames; `None` if it was interrupted.
fn simulate(
    options: &Options,
    frames: u32,
    cloth: &mut Cloth,
    script: &Script,
    files: &mut Files,
    pictures: &mut Option<Pictures>,
    interrupted: &AtomicBool,
) -> Result<Option<Tally>> {
    let (bar, dt) = (progress_bar(options, frames), options.subject.dt());
    let mut tally = Tally::default();
    let start = cloth.snapshot()?;
    files.write_frame(cloth.mesh(), &start.positions)?;
    if let Some(pictures) = pictures {
        pictures.add(0, &start.positions, cloth.solids())?;
    }
    while tally.frames() < frames {
        if interrupted.load(Ordering::Relaxed) {
            bar.finish_and_clear();
            return Ok(None);
        }
        let start = cloth.frame() as f64 / options.subject.fps;
        let pin_targets = script.frame(cloth, start, dt)?;
        let clock = Instant::now();
        cloth.step(&FrameInput { dt, pin_targets: &pin_targets })?;
        let time = clock.elapsed();
        let snapshot = cloth.snapshot()?;
        files.write_frame(cloth.mesh(), &snapshot.positions)?;
        tally.add(&snapshot.report, time);
        tally.add_parts(cloth);
        if let Some(pictures) = pictures {
            pictures.add(tally.frames(), &snapshot.positions, cloth.solids())?;
        }
        bar.set_message(output::percent(tally.strain_max()));
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Some(tally))
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
