//! What `taut run` takes. A value that cannot be right is refused here, before anything is touched.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::ArgMatches;
use clap::builder::{NonEmptyStringValueParser, OsStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use taut::io::export::{FORMATS, Target};
use taut::scene::file::{Change, Output};
use taut::scene::{Noise, SceneFile};
use taut::{Backend, Error, Method, Preconditioner, Scene, SelfCollision, Settings, Stepping, Substeps, Tangles};

use crate::render::PictureOptions;
use crate::rows;
use crate::scene::{self, SceneParser};

/// Options of `taut run`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) subject: SubjectOptions,

    /// Time to simulate [s], rounded to whole frames
    #[arg(long, value_name = "S", default_value = "2", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) seconds: f64,

    /// Write rest.obj, cloth.pc2, report.json, and run.taut for --continue to this directory, which is made if missing
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    #[arg(long, value_name = "FILE", help = exports(), value_parser = OsStringValueParser::new().try_map(export))]
    pub(crate) export: Vec<Target>,

    /// Write the report as JSON to this file, or to standard output for -
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,

    /// Write the state of the cloth to this file at the end, and when it is interrupted, for --resume
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,

    /// Go on from a file of --checkpoint, with the same scene and options, for as long again as --seconds says
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) picture: PictureOptions,

    /// No table and no progress bar; errors and missed limits are still said
    #[arg(long)]
    pub(crate) quiet: bool,

    /// Go on with the run in the directory of --out, which was interrupted or shall be longer, in the same files, until
    /// it has as many seconds as --seconds says; with the same scene and options
    #[arg(long = "continue", conflicts_with = "resume")]
    pub(crate) goes_on: bool,

    /// Write a row for every frame to this file: strain, substeps, iterations, contacts, time; .jsonl or .csv
    #[arg(long = "frames", value_name = "FILE", value_parser = OsStringValueParser::new().try_map(frame_rows))]
    pub(crate) frame_rows: Option<rows::Target>,

    /// Count in every frame, exactly, how often the cloth passes through itself, and how near its parts come: in the
    /// table, the report and the rows of --frames
    #[arg(long)]
    pub(crate) crossings: bool,

    /// Say in the table what the solver did, too
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    /// Say every frame that is done on standard error, in a line `frame K/N`, for programs that run this one
    #[arg(long)]
    pub(crate) progress: bool,

    /// Print the JSON Schema of the report, and simulate nothing
    #[arg(long)]
    pub(crate) schema: bool,

    /// Whether the state at the end is wanted, though no file has it.
    #[arg(skip)]
    pub(crate) wants_state: bool,
}

/// Under which title the help of `run` and `view` has an option.
pub(crate) fn heading(option: &str) -> &'static str {
    match option {
        "help" => "Options",
        "solver" | "set" | "strain" | "substeps" | "preconditioner" | "bdf2" => "Solver",
        "seconds" | "fps" => "Time",
        "backend" | "adapter" => "Machine",
        "out" | "export" | "json" | "frame_rows" | "crossings" | "quiet" | "verbose" | "schema" | "screenshots"
        | "progress" | "list" | "merge" | "keep" => "Output",
        "seeds" | "shard" | "shards" | "jobs" => "Runs",
        "checkpoint" | "resume" | "goes_on" => "Going on",
        "render" | "size_px" | "every" | "orbit" | "color" | "paused" => "Pictures",
        _ => "Cloth",
    }
}

/// What is simulated, how and where; shared by `taut run` and `taut view`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SubjectOptions {
    /// What is simulated: a built-in scene, or a scene file (FILE.toml; see `taut scene`), whose settings the options
    /// below override where they are given
    #[arg(value_name = "SCENE", default_value = "hang", value_parser = SceneParser)]
    pub(crate) scene: String,

    /// The options that were given and not left to their defaults.
    #[arg(skip)]
    pub(crate) given: BTreeSet<String>,

    /// Keys of the scene, as a file has them, that have other values in a run of a sweep.
    #[arg(skip)]
    pub(crate) changes: Vec<Change>,

    /// Vertices per side, or along the chain
    #[arg(long, value_name = "N", default_value = "71", value_parser = size, allow_negative_numbers = true)]
    pub(crate) size: u32,

    #[command(flatten)]
    pub(crate) own: crate::mesh::MeshOptions,

    #[command(flatten)]
    pub(crate) world: crate::world::WorldOptions,

    /// Move every start coordinate of what is not held by at most so much [m], 1e-5 if it is not said: bends what is
    /// flat and upright
    #[arg(long, value_name = "METRES", num_args = 0..=1, default_missing_value = "1e-5", value_parser = noise,
        allow_negative_numbers = true)]
    pub(crate) noise: Option<f32>,

    /// Which noise it is: a whole number; the same one gives the same noise everywhere [default: 0]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,

    /// What keeps the cloth from stretching
    #[arg(
        long,
        value_name = "NAME",
        default_value = "auto",
        value_parser = PossibleValuesParser::new(Method::NAMES)
    )]
    pub(crate) solver: String,

    /// Parameter of the solver, as yarn_sweep.sweeps=300; may be given several times. `taut scene NAME` and the
    /// documentation of scene files list them
    #[arg(long, value_name = "TABLE.NAME=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<(String, String)>,

    /// Largest strain allowed: a fraction (0.01) or percent (1%)
    #[arg(long, value_name = "LIMIT", default_value = "1%", value_parser = strain, allow_hyphen_values = true)]
    pub(crate) strain: f64,

    /// Frames per second
    #[arg(long, value_name = "FPS", default_value = "60", value_parser = fps, allow_negative_numbers = true)]
    pub(crate) fps: f64,

    /// Substeps per frame: a number, or auto for as many as mesh and load ask for
    #[arg(long, value_name = "N|auto", default_value = "auto", value_parser = substeps, allow_negative_numbers = true)]
    pub(crate) substeps: Substeps,

    /// What makes the linear solves of fast-projection converge
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = PossibleValuesParser::new(Preconditioner::NAMES))]
    pub(crate) preconditioner: String,

    /// Step in time with BDF2, which keeps more of the motion, instead of Euler
    #[arg(long)]
    pub(crate) bdf2: bool,

    /// Rate at which still air takes speed [1/s]: 2 brings a swinging sheet to rest within seconds [default: the
    /// scene's]
    #[arg(long, value_name = "RATE", value_parser = drag, allow_negative_numbers = true)]
    drag: Option<f32>,

    /// Whether the cloth keeps from passing through itself [default: the scene's]
    #[arg(long, value_enum, value_name = "SWITCH")]
    self_collision: Option<Switch>,

    /// What happens to cloth that keeps from passing through itself and does so at the start: refuse it, ignore what
    /// crosses, or resolve it [default: the scene's]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Tangles::NAMES))]
    tangles: Option<String>,

    /// Where to run; auto takes a GPU if there is one, and the CPU rather than a software adapter
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) backend: BackendName,

    /// Part of the name of the adapter to run on, or of "name (backend)"; see `taut adapters`
    #[arg(long, value_name = "SUBSTRING", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) adapter: Option<String>,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

/// The names of [`Backend`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BackendName {
    Auto,
    Gpu,
    Cpu,
}

impl From<BackendName> for Backend {
    fn from(name: BackendName) -> Self {
        match name {
            BackendName::Auto => Self::Auto,
            BackendName::Gpu => Self::Gpu,
            BackendName::Cpu => Self::Cpu,
        }
    }
}

impl SubjectOptions {
    /// Remembers which options were given.
    pub(crate) fn note_given(&mut self, matches: &ArgMatches) {
        let given = |id: &&clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        self.given = matches.ids().filter(given).map(ToString::to_string).collect();
    }

    /// Whether an option decides: a scene file has its own values where an option was not given.
    pub(crate) fn decides(&self, option: &str) -> bool {
        !self.is_file() || self.given.contains(option)
    }

    /// Whether the scene is read as a file: it is one, or keys of it are changed.
    pub(crate) fn is_file(&self) -> bool {
        scene::is_file(&self.scene) || !self.changes.is_empty()
    }

    /// The noise that was asked for; `own` is that of the scene file. `None` if no option says anything about it.
    pub(crate) fn noise(&self, own: Option<Noise>) -> anyhow::Result<Option<Noise>> {
        if self.noise.is_none() && self.seed.is_none() {
            return Ok(None);
        }
        let Some(amplitude) = self.noise.or(own.map(|noise| noise.amplitude)) else {
            return Err(anyhow!("--seed chooses a noise, but there is none: --noise makes one"));
        };
        Ok(Some(Noise { amplitude, seed: self.seed.or(own.map(|noise| noise.seed)).unwrap_or_default() }))
    }

    /// Settings of the library: those of the scene, and what was asked for.
    /// Fails, in one sentence, for a parameter that the solver does not have.
    pub(crate) fn settings(&self, scene: &Scene) -> anyhow::Result<Settings> {
        let mut settings = scene.settings.clone();
        if self.decides("strain") {
            settings.strain_limit = at_most(self.strain);
        }
        if self.decides("substeps") {
            settings.substeps = self.substeps;
        }
        if self.decides("bdf2") {
            settings.stepping = if self.bdf2 { Stepping::Bdf2 } else { Stepping::Euler };
        }
        settings.drag = self.drag.unwrap_or(settings.drag);
        settings.self_collision = match self.self_collision {
            Some(Switch::On) => settings.self_collision.or_else(|| Some(SelfCollision::default())),
            Some(Switch::Off) => None,
            None => settings.self_collision,
        };
        if let Some(tangles) = self.tangles.as_deref().and_then(Tangles::named) {
            let own = settings.self_collision.as_mut();
            own.context("--tangles is about cloth that keeps from passing through itself: --self-collision on")?
                .tangles = tangles;
        }
        self.world.change(&mut settings, scene)?;
        // The solver that a file names keeps its parameters.
        let named = settings.method.solver().name();
        if self.decides("solver") && (!self.is_file() || self.solver != named) {
            settings.method = Method::named(&self.solver).with_context(|| format!("no solver is {}", self.solver))?;
        }
        if let (true, Method::FastProjection(solver)) = (self.decides("preconditioner"), &mut settings.method) {
            solver.preconditioner = Preconditioner::named(&self.preconditioner).unwrap_or_default();
        }
        for (parameter, value) in &self.set {
            settings.method.set(parameter, value).map_err(|problem| anyhow::anyhow!("--set: {problem}"))?;
        }
        Ok(settings)
    }

    /// Length of a frame \[s\].
    pub(crate) fn dt(&self) -> f32 {
        self.fps.recip() as f32
    }

    /// Refuses an adapter where none is used.
    pub(crate) fn check_adapter(&self) -> anyhow::Result<()> {
        let unused = self.backend == BackendName::Cpu && self.adapter.is_some();
        anyhow::ensure!(!unused, "--adapter names a graphics adapter, but --backend cpu uses none");
        Ok(())
    }
}

impl Options {
    /// How many frames there are; PC2 counts the start too, in 31 bits.
    pub(crate) fn frames(&self) -> anyhow::Result<u32> {
        let (seconds, fps) = (self.seconds, self.subject.fps);
        let frames = (seconds * fps).round();
        anyhow::ensure!(frames >= 1.0, "{} s at {fps} frames per second is not even one frame", number_of(seconds));
        let few = frames < f64::from(i32::MAX);
        anyhow::ensure!(few, "{} s at {fps} frames per second is too many frames", number_of(seconds));
        Ok(frames as u32)
    }

    /// Takes over what a scene file says about its output, where no option does.
    pub(crate) fn with_output_of(mut self, file: Option<&SceneFile>) -> anyhow::Result<Self> {
        let Some(file) = file else { return Ok(self) };
        let (output, scene) = (&file.output, self.subject.scene.clone());
        if !self.subject.decides("seconds") {
            self.seconds = output.seconds.unwrap_or(self.seconds);
        }
        if let Some(out) = output.out.as_ref().filter(|_| !self.subject.decides("out")) {
            self.out = Some(file.output_path(out)?);
        }
        if !self.subject.decides("export") {
            for name in &output.export {
                let path = file.output_path(name)?;
                let target = export(path.into());
                let refused = |problem| anyhow!("{scene}: output.export {name:?}: {problem}");
                self.export.push(target.map_err(refused)?);
            }
        }
        if let Some(name) = output.render.as_ref().filter(|_| !self.subject.decides("render")) {
            let asked = self.picture.ask(&file.output_path(name)?);
            asked.map_err(|problem| anyhow!("{scene}: output.render {name:?}: {problem}"))?;
        }
        Ok(self)
    }

    /// Whether there will be files.
    pub(crate) fn writes(&self) -> bool {
        let pictures = self.picture.is_asked();
        self.out.is_some() || self.json.is_some() || !self.export.is_empty() || self.frame_rows.is_some() || pictures
    }

    /// Whether the state at the end is for something.
    pub(crate) fn keeps_state(&self) -> bool {
        self.out.is_some() || self.checkpoint.is_some() || self.wants_state
    }

    /// Whether standard output is for JSON alone.
    pub(crate) fn json_to_stdout(&self) -> bool {
        self.json.as_ref().is_some_and(|path| path.as_os_str() == "-")
    }
}

/// The largest `f32` that is not above `limit`: what keeps to it keeps to the number that was typed.
fn at_most(limit: f64) -> f32 {
    let nearest = limit as f32;
    if f64::from(nearest) > limit { nearest.next_down() } else { nearest }
}

/// What sizes a scene can have is for the scene to say.
pub(crate) fn size(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "must be a whole number of vertices".to_owned())
}

pub(crate) fn strain(text: &str) -> Result<f64, String> {
    let limit = match text.strip_suffix('%').map(str::trim_end) {
        // Moving the decimal point in the text is exact: 0.7% is 0.007, but 0.7 / 100.0 is not.
        Some(percent) => match format!("{percent}e-2").parse() {
            Ok(limit) => limit,
            Err(_) => number(percent)? / 100.0,
        },
        None => number(text)?,
    };
    match Settings::check_strain_limit(limit) {
        Ok(()) => Ok(limit),
        Err(Error::OutOfRange { expected, .. }) => Err(format!("a strain limit is {expected}")),
        Err(other) => Err(other.to_string()),
    }
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let seconds = number(text)?;
    if Output::is_time(seconds) { Ok(seconds) } else { Err(format!("must be a time {}", Output::TIMES)) }
}

fn fps(text: &str) -> Result<f64, String> {
    let fps = number(text)?;
    if Output::is_rate(fps) { Ok(fps) } else { Err(format!("must be {}", Output::RATES)) }
}

fn substeps(text: &str) -> Result<Substeps, String> {
    match text.parse() {
        _ if text == "auto" => Ok(Substeps::Auto),
        Ok(count) if count > 0 => Ok(Substeps::Fixed(count)),
        _ => Err("must be auto or a whole number above 0".to_owned()),
    }
}

/// How much is too much is for the settings to say.
fn drag(text: &str) -> Result<f32, String> {
    text.parse().map_err(|_| "must be a number of at least 0 per second".to_owned())
}

/// How much is too much is for the mesh to say.
fn noise(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(amplitude) if amplitude >= 0.0 && amplitude.is_finite() => Ok(amplitude),
        _ => Err("must be a length of at least 0 m".to_owned()),
    }
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("must be a whole number from 0 to {}", u64::MAX))
}

/// Names of files need not be Unicode.
pub(crate) fn export(name: OsString) -> Result<Target, String> {
    Target::new(name).map_err(|error| error.to_string())
}

fn frame_rows(name: OsString) -> Result<rows::Target, String> {
    rows::Target::new(name.into())
}

/// What `--export` is for, with the formats that there are.
fn exports() -> String {
    let extensions = |numbered: bool| {
        let formats = FORMATS.iter().filter(|format| format.numbered() == numbered);
        formats.map(|format| format!(".{}", format.extension)).collect::<Vec<_>>().join(", ")
    };
    format!(
        "Write all frames to this file, too; repeatable. {}; {}: a file per frame where the name has #### or %04d for \
         its number, else the last frame",
        extensions(false),
        extensions(true)
    )
}

/// With an exponent where there would be many digits.
fn number_of(value: f64) -> String {
    if (1e-6..1e16).contains(&value) { value.to_string() } else { format!("{value:e}") }
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "it is not a number".to_owned())
}

/// A name and a value.
fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("must be TABLE.NAME=VALUE, as yarn_sweep.sweeps=300".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_is_the_same_number_as_the_fraction() {
        for (percent, fraction) in [("1%", 0.01), ("0.7%", 0.007), ("0.1 %", 0.001), ("1e-1%", 0.001), ("29%", 0.29)] {
            assert_eq!(strain(percent), Ok(fraction), "{percent}");
        }
        for limit in ["0", "-1%", "nan", "inf", "1", "100%", "%", "", "e-2", "1%%", "0x1"] {
            assert!(strain(limit).is_err(), "{limit}");
        }
    }

    #[test]
    fn limits_are_never_rounded_up() {
        for limit in [0.01, 0.003, 0.1, 1e-5, 0.25] {
            let single = f64::from(at_most(limit));
            assert!(single <= limit && single > limit * (1.0 - 2e-7), "{limit}");
        }
    }
}
