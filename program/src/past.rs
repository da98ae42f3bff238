//! What a run leaves in its directory so that `--continue` can go on: `run.taut`.
//!
//! A line of JSON says what was run and how far it came; a line for every frame has what it reached ([`Row`]); a
//! checkpoint of the library follows. The positions of the frames are in `cloth.pc2` beside it.

use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::{Map, Value, json};
use taut::engine::checksum::Checksum;
use taut::io::pc2;
use taut::{Cloth, Scene, Settings};

use crate::options::SubjectOptions;
use crate::rows::Row;
use crate::summary::Tally;

/// The name of the file.
pub(crate) const NAME: &str = "run.taut";
/// Version of the file.
const VERSION: u64 = 4;
/// Lines are shorter.
const LONGEST_LINE: u64 = 1 << 16;

/// What must be the same for a run to go on, in words; what is a checksum begins with `#`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Identity(Vec<(&'static str, String)>);

/// Adds text to a checksum without keeping it.
struct Summed(Checksum);

impl fmt::Write for Summed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.add(text.as_bytes());
        Ok(())
    }
}

/// Of everything that a value says about itself.
fn summed(value: &dyn fmt::Debug) -> String {
    let mut text = Summed(Checksum::default());
    // It never fails.
    let _ = write!(text, "{value:?}");
    format!("#{:016x}", text.0.value())
}

impl Identity {
    /// That of a scene with the settings that it is run with.
    pub(crate) fn new(options: &SubjectOptions, scene: &Scene, settings: &Settings, size: Option<u32>) -> Self {
        let limits = scene.mesh.edge_limits();
        let around = (scene.mesh.positions(), limits, &scene.start, &scene.solids, &scene.script);
        Self(vec![
            ("scene", scene.name.to_string()),
            ("size", size.map_or_else(|| scene.mesh.vertex_count(), |size| size as usize).to_string()),
            ("frame rate", options.fps.to_string()),
            ("solver", settings.method.solver().name().to_owned()),
            ("strain limit", options.strain.to_string()),
            ("shape, start or surroundings", summed(&around)),
            ("settings", summed(settings)),
        ])
    }

    /// In one line.
    pub(crate) fn text(&self) -> String {
        self.json().to_string()
    }

    fn json(&self) -> Value {
        Value::Object(self.0.iter().map(|(name, value)| ((*name).to_owned(), value.as_str().into())).collect())
    }

    /// What is not the same in a run that was written, in words.
    fn difference(&self, written: &Value) -> Option<String> {
        self.0.iter().find_map(|(name, new)| match written[name].as_str() {
            Some(old) if old == new => None,
            Some(old) if !old.starts_with('#') => Some(format!("its {name} is {old}, not {new}")),
            _ => Some(format!("its {name} differ")),
        })
    }
}

/// What is known of a run at its end.
#[derive(Debug)]
pub(crate) struct Ended<'a> {
    pub(crate) identity: &'a Identity,
    /// Where it ran.
    pub(crate) place: &'a str,
    pub(crate) first_frame: u64,
    pub(crate) tally: &'a Tally,
    pub(crate) wall_seconds: f64,
    pub(crate) rows: &'a [Row],
    pub(crate) checkpoint: &'a [u8],
}

impl Ended<'_> {
    pub(crate) fn write(&self, file: &mut impl Write) -> std::io::Result<()> {
        let header = json!({
            "taut_run": VERSION,
            "run": self.identity.json(),
            "place": self.place,
            "first_frame": self.first_frame,
            "frames": self.rows.len(),
            "wall_seconds": self.wall_seconds,
            "phase_seconds": self.tally.phases(),
        });
        writeln!(file, "{header}")?;
        self.rows.iter().try_for_each(|row| writeln!(file, "{}", row.line()))?;
        file.write_all(self.checkpoint)
    }
}

/// A run that goes on.
#[derive(Debug)]
pub(crate) struct Past {
    directory: PathBuf,
    place: String,
    pub(crate) first_frame: u64,
    pub(crate) wall_seconds: f64,
    pub(crate) phase_seconds: Map<String, Value>,
    pub(crate) rows: Vec<Row>,
    /// What comes after the lines.
    rest: BufReader<File>,
    left: u64,
}

impl Past {
    /// Opens the run in a directory, if it can go on as `identity` until it has so many frames.
    pub(crate) fn open(directory: &Path, identity: &Identity, frames: u32) -> Result<Self> {
        Self::read(directory, identity, frames).with_context(|| cannot(directory))
    }

    fn read(directory: &Path, identity: &Identity, frames: u32) -> Result<Self> {
        let path = directory.join(NAME);
        // Looked at before it is opened: to open a pipe is to wait for its other end.
        let found = fs::metadata(&path).map_err(|_| anyhow!("it has no {NAME}, which every run with --out leaves"))?;
        ensure!(found.is_file(), "{NAME} is not a regular file");
        let mut lines = Lines { file: BufReader::new(File::open(&path)?), left: found.len() };
        let damaged = || anyhow!("{NAME} is damaged, or not of this program");
        let header: Value = lines.next().and_then(|line| serde_json::from_str(&line).ok()).ok_or_else(damaged)?;
        let version = header["taut_run"].as_u64().ok_or_else(damaged)?;
        ensure!(version == VERSION, "the version of {NAME} is {version}, only {VERSION} is known");
        if let Some(difference) = identity.difference(&header["run"]) {
            bail!("{difference}");
        }
        let count = header["frames"].as_u64().filter(|count| *count > 0).ok_or_else(damaged)?;
        ensure!(count <= u64::from(frames), "it has {count} frames already, and --seconds asks for {frames}");
        let mut rows = Vec::new();
        for _ in 0..count {
            rows.push(lines.next().and_then(|line| Row::read(&line)).ok_or_else(damaged)?);
        }
        Ok(Self {
            directory: directory.to_owned(),
            place: header["place"].as_str().ok_or_else(damaged)?.to_owned(),
            first_frame: header["first_frame"].as_u64().ok_or_else(damaged)?,
            wall_seconds: header["wall_seconds"].as_f64().ok_or_else(damaged)?,
            phase_seconds: header["phase_seconds"].as_object().ok_or_else(damaged)?.clone(),
            rows,
            left: lines.left,
            rest: lines.file,
        })
    }

    /// Refuses another place: its bits are others.
    pub(crate) fn check_place(&self, place: &str) -> Result<()> {
        ensure!(self.place == place, "{}: it ran on {}, not on {place}", cannot(&self.directory), self.place);
        Ok(())
    }

    /// Gives a cloth the state at the end of the run, and opens the positions of its frames.
    pub(crate) fn restore(&mut self, cloth: &mut Cloth) -> Result<pc2::Reader> {
        self.restored(cloth).with_context(|| cannot(&self.directory))
    }

    fn restored(&mut self, cloth: &mut Cloth) -> Result<pc2::Reader> {
        let expected = cloth.checkpoint_size();
        ensure!(self.left == expected, "the state in {NAME} has {} bytes, and not {expected}", self.left);
        let mut bytes = Vec::new();
        self.rest.by_ref().take(expected).read_to_end(&mut bytes).context(NAME)?;
        cloth.restore(&bytes)?;
        let last = self.rows.len() as u32;
        ensure!(cloth.frame() == self.first_frame + u64::from(last), "the state in {NAME} is of another frame");
        let mut samples = pc2::Reader::open(self.directory.join("cloth.pc2"))?;
        // A run that was killed while its files were put in place may have left more frames than its state has.
        let found = samples.sample(last)?.map(|sample| bits(&sample));
        ensure!(found == Some(bits(&cloth.snapshot()?.positions)), "cloth.pc2 is not of the run that left {NAME}");
        Ok(samples)
    }
}

fn bits(positions: &[[f32; 3]]) -> Vec<u32> {
    positions.as_flattened().iter().map(|coordinate| coordinate.to_bits()).collect()
}

fn cannot(directory: &Path) -> String {
    format!("cannot continue the run in {}", directory.display())
}

/// Lines of a file whose end is something else.
struct Lines {
    file: BufReader<File>,
    /// Bytes that were not read.
    left: u64,
}

impl Lines {
    /// The next line, without its end; `None` if it is too long, not Unicode, or not there.
    fn next(&mut self) -> Option<String> {
        let mut bytes = Vec::new();
        let read = self.file.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes).ok()?;
        self.left = self.left.checked_sub(read as u64)?;
        String::from_utf8(bytes).ok()?.strip_suffix('\n').map(str::to_owned)
    }
}
