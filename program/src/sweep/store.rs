//! The directory of a sweep: what it is, and a row for every run that is done.
//!
//! | name | what |
//! |---|---|
//! | `sweep.json` | what is run, by which version of the program |
//! | `rows/0000012.json` | run 12: what was computed, and how long that took |
//! | `runs/0000012/` | files of run 12, where they are kept |
//! | `sweep.jsonl` | a line for every run, once all are done: what was computed. The same bits on every machine that computes alike |
//! | `times.jsonl` | a line for every run: what was measured, which is never the same |
//!
//! Each file appears whole or not at all, so a run that is killed leaves no half row, and several machines may share
//! the directory.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::{Map, Value, json};
use taut::engine::checksum::Checksum;

use super::axis::List;
use crate::bench::write_file;

const MANIFEST: &str = "sweep.json";
const ROWS: &str = "rows";
const RUNS: &str = "runs";
/// The two tables.
pub(super) const TABLE: &str = "sweep.jsonl";
pub(super) const TIMES: &str = "times.jsonl";
/// Of the directory.
const VERSION: u64 = 1;
/// Files that are larger were not written here.
const LARGEST: u64 = 1 << 24;
/// The member of a row that is never the same.
const MEASURED: &str = "measured";

/// What a sweep is, in words: equal for all of its parts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Manifest(Value);

impl Manifest {
    /// `identities` say what is simulated, beside the list.
    pub(super) fn new(scene: &str, list: &List, frames: u32, identities: &[String]) -> Self {
        let axes: Vec<Value> = list.axes.iter().map(|axis| json!({ "key": axis.key, "values": axis.values })).collect();
        let mut checksum = Checksum::default();
        for text in identities.iter().chain([&Value::from(axes.clone()).to_string(), &format!("{:?}", list.seeds)]) {
            checksum.add(text.as_bytes());
            checksum.add(b"\n");
        }
        Self(json!({
            "taut_sweep": VERSION,
            "program": crate::bench::version(),
            "scene": scene,
            "frames": frames,
            "runs": list.count(),
            "axes": axes,
            "seeds": list.seeds.len(),
            "list": format!("#{:016x}", checksum.value()),
        }))
    }

    fn read(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(MANIFEST);
        let Some(value) = read(&path)? else { return Ok(None) };
        ensure!(value["taut_sweep"] == VERSION, "{}: it is not of this program, or of another version", path.display());
        Ok(Some(Self(value)))
    }

    fn runs(&self) -> u64 {
        self.0["runs"].as_u64().unwrap_or_default()
    }

    /// In what another one differs, in words.
    fn difference(&self, other: &Self) -> Option<String> {
        let [one, two] = [self, other].map(|manifest| manifest.0["program"].as_str().unwrap_or_default());
        if one != two {
            return Some(format!("it is of version {two} of the program, not {one}"));
        }
        (self != other).then(|| "it is another list of runs, or another scene".to_owned())
    }
}

/// A JSON file of at most [`LARGEST`] bytes, if it is there.
fn read(path: &Path) -> Result<Option<Value>> {
    let cannot = || format!("cannot read {}", path.display());
    let found = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.with_context(cannot)?,
    };
    ensure!(found.is_file() && found.len() <= LARGEST, "{}: it is not of this program", path.display());
    let text = fs::read_to_string(path).with_context(cannot)?;
    serde_json::from_str(&text).map(Some).with_context(cannot)
}

/// The directory of a sweep.
#[derive(Debug)]
pub(super) struct Store {
    directory: PathBuf,
    manifest: Manifest,
}

impl Store {
    /// Opens a directory for a sweep, and makes it if it is missing. One that has another sweep is refused.
    pub(super) fn open(directory: &Path, manifest: Manifest) -> Result<Self> {
        let cannot = || format!("cannot make the directory {}", directory.display());
        let before = Manifest::read(directory)?;
        let difference = before.as_ref().and_then(|before| manifest.difference(before));
        if let Some(difference) = difference {
            bail!("{} has a sweep already, and {difference}; --out may name another directory", directory.display());
        }
        fs::create_dir_all(directory.join(ROWS)).with_context(cannot)?;
        if before.is_none() {
            settle(&directory.join(MANIFEST), &format!("{:#}\n", manifest.0))?;
        }
        Ok(Self { directory: directory.to_owned(), manifest })
    }

    /// Where the files of a run are kept.
    pub(super) fn files(&self, run: u64) -> PathBuf {
        self.directory.join(RUNS).join(name(run))
    }

    /// The names of files as rows have them: inside of the directory.
    pub(super) fn inside<'a>(&self, files: &'a [PathBuf]) -> Vec<std::borrow::Cow<'a, str>> {
        let inside = |file: &'a PathBuf| file.strip_prefix(&self.directory).unwrap_or(file).to_string_lossy();
        files.iter().map(inside).collect()
    }

    /// The row of a run, if there is one.
    pub(super) fn row(&self, run: u64) -> Result<Option<Row>> {
        let path = self.path(run);
        let Some(value) = read(&path)? else { return Ok(None) };
        let row = Row::read(value).filter(|row| row.run() == Some(run));
        row.map(Some).ok_or_else(|| anyhow!("{}: it is no row of run {run}", path.display()))
    }

    fn path(&self, run: u64) -> PathBuf {
        self.directory.join(ROWS).join(format!("{}.json", name(run)))
    }

    /// Keeps the row of a run.
    pub(super) fn put(&self, run: u64, row: &Row) -> Result<()> {
        let mut whole = row.computed.clone();
        whole.insert(MEASURED.to_owned(), row.measured.clone());
        write_file(&self.path(run), &format!("{}\n", Value::Object(whole)))
    }

    /// All rows, if none is missing.
    pub(super) fn rows(&self) -> Result<Option<Vec<Row>>> {
        let mut rows = Vec::new();
        for run in 0..self.manifest.runs() {
            match self.row(run)? {
                Some(row) => rows.push(row),
                None => return Ok(None),
            }
        }
        Ok(Some(rows))
    }
}

/// Writes both tables of all rows to a directory.
pub(super) fn write_tables(directory: &Path, rows: &[Row]) -> Result<()> {
    let mut tables = [String::new(), String::new()];
    for row in rows {
        tables[0] += &format!("{}\n", Value::Object(row.computed.clone()));
        let mut times = Map::new();
        times.insert("run".to_owned(), row.computed.get("run").cloned().unwrap_or_default());
        times.extend(row.measured.as_object().cloned().unwrap_or_default());
        tables[1] += &format!("{}\n", Value::Object(times));
    }
    settle(&directory.join(TIMES), &tables[1])?;
    settle(&directory.join(TABLE), &tables[0])
}

/// Writes a file that others may write at the same time, with the same text. Not all file systems tell machines of each
/// other's locks, so one of them may take the temporary file of another for left over: whoever fails finds it written.
fn settle(path: &Path, text: &str) -> Result<()> {
    write_file(path, text).or_else(|error| match fs::read_to_string(path) {
        Ok(found) if found == text => Ok(()),
        _ => Err(error),
    })
}

/// All rows of directories that are parts of one sweep.
pub(super) fn merge(directories: &[PathBuf]) -> Result<(Manifest, Vec<Row>)> {
    let mut whole: Option<(&PathBuf, Manifest)> = None;
    let mut rows: BTreeMap<u64, (&PathBuf, Row)> = BTreeMap::new();
    for directory in directories {
        let manifest = Manifest::read(directory)?
            .with_context(|| format!("{} has no {MANIFEST}: it is no directory of a sweep", directory.display()))?;
        if let Some((first, whole)) = &whole
            && let Some(difference) = whole.difference(&manifest)
        {
            bail!("{} and {} cannot be joined: {difference}", first.display(), directory.display());
        }
        let store = Store { directory: directory.clone(), manifest: manifest.clone() };
        for run in 0..manifest.runs() {
            let Some(row) = store.row(run)? else { continue };
            match rows.get(&run) {
                // One that failed elsewhere may be done here.
                Some((_, other)) if !row.is_done() && other.is_done() => {}
                Some((first, other)) if other.is_done() && other.computed != row.computed => bail!(
                    "run {run} differs between {} and {}: they did not compute alike",
                    first.display(),
                    directory.display()
                ),
                _ => {
                    rows.insert(run, (directory, row));
                }
            }
        }
        whole.get_or_insert((directory, manifest));
    }
    let (_, manifest) = whole.context("there is nothing to join")?;
    let runs = manifest.runs();
    let missing: Vec<u64> = (0..runs).filter(|run| !rows.contains_key(run)).collect();
    if let Some(first) = missing.first() {
        bail!("{} of {runs} runs are missing, run {first} is the first of them", missing.len());
    }
    Ok((manifest, rows.into_values().map(|(_, row)| row).collect()))
}

/// Runs have names of one length, so that they are in order.
fn name(run: u64) -> String {
    format!("{run:07}")
}

/// What a run reached.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) computed: Map<String, Value>,
    pub(super) measured: Value,
}

impl Row {
    fn read(value: Value) -> Option<Self> {
        let Value::Object(mut computed) = value else { return None };
        let measured = computed.remove(MEASURED)?;
        Some(Self { computed, measured })
    }

    fn run(&self) -> Option<u64> {
        self.computed.get("run")?.as_u64()
    }

    /// Whether it need not be tried again.
    pub(super) fn is_done(&self) -> bool {
        self.computed.get("held").is_some_and(Value::is_boolean)
    }

    /// Whether every limit was held.
    pub(super) fn is_held(&self) -> bool {
        self.computed.get("held") == Some(&Value::Bool(true))
    }
}
