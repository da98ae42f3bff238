//! What every frame reached, one row each: for `--frames`, for the report, and for a run that goes on later.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Map, Value};
use taut::io::atomic::AtomicFile;
use taut::mesh::surface::Surface;
use taut::{Report, SelfReport};

/// A value of a row; its text is read back to the same bits.
trait Cell: Sized {
    fn value(&self) -> Value;
    fn read(text: &str) -> Option<Self>;
}

/// Whole numbers and truth values are read as they are written.
macro_rules! plain {
    ($($kind:ty),*) => {$(
        impl Cell for $kind {
            fn value(&self) -> Value {
                (*self).into()
            }

            fn read(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        }
    )*};
}

plain!(u32, u64, usize, bool);

/// What is not finite has no number in JSON.
impl Cell for f64 {
    fn value(&self) -> Value {
        (*self).into()
    }

    fn read(text: &str) -> Option<Self> {
        if text.is_empty() { Some(Self::NAN) } else { text.parse().ok() }
    }
}

impl Cell for f32 {
    /// The shortest number that is read as this one, not what f64 makes of it.
    fn value(&self) -> Value {
        self.to_string().parse::<f64>().unwrap_or(f64::NAN).into()
    }

    fn read(text: &str) -> Option<Self> {
        if text.is_empty() { Some(Self::NAN) } else { text.parse().ok() }
    }
}

/// What is not known is empty.
macro_rules! optional {
    ($($kind:ty),*) => {$(
        impl Cell for Option<$kind> {
            fn value(&self) -> Value {
                self.map_or(Value::Null, Into::into)
            }

            fn read(text: &str) -> Option<Self> {
                if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
            }
        }
    )*};
}

optional!(u64, f64);

/// Columns by name, each written and read as its type says.
macro_rules! columns {
    ($($(#[$about:meta])* $name:ident: $kind:ty,)*) => {
        /// What a frame reached.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) struct Row {
            $($(#[$about])* pub(crate) $name: $kind,)*
        }

        impl Row {
            /// The names of the values.
            const NAMES: &[&str] = &[$(stringify!($name)),*];

            fn values(&self) -> Vec<Value> {
                vec![$(self.$name.value()),*]
            }

            /// Reads what [`Row::line`] wrote; `None` if it did not.
            pub(crate) fn read(line: &str) -> Option<Self> {
                let mut cells = line.split(',');
                let row = Self { $($name: Cell::read(cells.next()?)?,)* };
                cells.next().is_none().then_some(row)
            }
        }
    };
}

columns! {
    /// Recomputed by the host in f64 from the positions that are written.
    strain_max: Option<f64>,
    strain_p99: Option<f64>,
    /// Whether the frame is over the limit.
    over: bool,
    substeps: u32,
    missed_substeps: u32,
    iterations: u32,
    /// Of linear solves.
    inner_iterations: u32,
    /// Of implicit shear.
    elastic_iterations: u32,
    dispatches: u64,
    load: f32,
    /// Within woven triangles.
    thread_strain_max: Option<f64>,
    thread_strain_p99: Option<f64>,
    strain_before_contact: f32,
    /// Over their own limits, of those that can move.
    edges_over: usize,
    infeasible_edges: usize,
    rejected: bool,
    /// Vertices that touch a solid at the end of the frame, where that was read.
    contacts: Option<u64>,
    /// Edges through triangles of the cloth, where they were counted.
    crossings: Option<u64>,
    /// The smallest distance of parts of the cloth that are no neighbors, where it was measured \[m\].
    nearest: Option<f64>,
    /// Where cloth keeps from passing through itself, what the library tells of that ([`taut::SelfReport`]).
    pairs: Option<u64>,
    overflowed: Option<u64>,
    trimmed: Option<u64>,
    speed_limited: Option<u64>,
    forced: Option<u64>,
    pinched: Option<u64>,
    /// What the step took, without read-back and files \[s\].
    wall_seconds: f64,
}

impl Row {
    pub(crate) fn new(report: &Report, time: Duration) -> Self {
        let strain = report.strain.as_ref();
        let threads = strain.and_then(|strain| strain.threads);
        let own = |count: fn(&SelfReport) -> u32| report.self_collision.as_ref().map(|own| count(own).into());
        Self {
            strain_max: strain.map(|strain| strain.max),
            strain_p99: strain.map(|strain| strain.p99),
            over: report.converged == Some(false),
            substeps: report.substeps,
            missed_substeps: report.missed_substeps,
            iterations: report.iterations,
            inner_iterations: report.inner_iterations,
            elastic_iterations: report.elastic_iterations,
            dispatches: report.dispatches,
            load: report.load,
            thread_strain_max: threads.map(|threads| threads.max),
            thread_strain_p99: threads.map(|threads| threads.p99),
            strain_before_contact: report.strain_before_contact,
            edges_over: strain.map_or(0, |strain| strain.over),
            infeasible_edges: strain.map_or(0, |strain| strain.infeasible),
            rejected: report.rejected,
            contacts: None,
            crossings: None,
            nearest: None,
            pairs: own(|own| own.pairs),
            overflowed: own(|own| own.overflowed),
            trimmed: own(|own| own.trimmed),
            speed_limited: own(|own| own.speed_limited),
            forced: own(|own| own.forced),
            pinched: own(|own| own.pinched),
            wall_seconds: time.as_secs_f64(),
        }
    }

    /// With the vertices that touch a solid.
    pub(crate) fn with_contacts(self, contacts: &[Option<u32>]) -> Self {
        Self { contacts: Some(contacts.iter().flatten().count() as u64), ..self }
    }

    /// Counts the crossings of the positions of the frame, if nobody did before.
    pub(crate) fn count_crossings(&mut self, surface: &Surface, positions: &[[f32; 3]]) -> taut::Result<()> {
        if self.crossings.is_none() {
            self.crossings = Some(surface.count_crossings(positions)?);
            self.nearest = surface.nearest(positions)?;
        }
        Ok(())
    }

    /// Its values with commas between them.
    pub(crate) fn line(&self) -> String {
        joined(&self.values())
    }
}

fn joined(values: &[Value]) -> String {
    let text = |value: &Value| if value.is_null() { String::new() } else { value.to_string() };
    values.iter().map(text).collect::<Vec<_>>().join(",")
}

/// What a table of frames is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// An object per line.
    JsonLines,
    /// Names in the first line, and then values.
    Csv,
}

/// A name of a file that says what is written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    path: PathBuf,
    format: Format,
}

impl Target {
    /// # Errors
    /// A sentence, if the name does not say which kind of file.
    pub(crate) fn new(path: PathBuf) -> Result<Self, String> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let format = match extension.as_deref() {
            Some("jsonl") => Format::JsonLines,
            Some("csv") => Format::Csv,
            _ => return Err("must end with .jsonl or .csv".to_owned()),
        };
        Ok(Self { path, format })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// The file of `--frames`, in the making.
#[derive(Debug)]
pub(crate) struct Frames {
    file: AtomicFile,
    format: Format,
}

impl Frames {
    pub(crate) fn create(target: &Target) -> Result<Self> {
        let mut frames = Self { file: AtomicFile::create(&target.path)?, format: target.format };
        if frames.format == Format::Csv {
            let names: Vec<&str> = ["frame", "time"].into_iter().chain(Row::NAMES.iter().copied()).collect();
            frames.put(&format!("{}\r\n", names.join(",")))?;
        }
        Ok(frames)
    }

    /// Adds a frame that ends at `time` \[s\].
    pub(crate) fn add(&mut self, frame: u32, time: f64, row: &Row) -> Result<()> {
        let values: Vec<Value> = [frame.value(), time.value()].into_iter().chain(row.values()).collect();
        let line = match self.format {
            Format::Csv => format!("{}\r\n", joined(&values)),
            Format::JsonLines => {
                let names = ["frame", "time"].iter().chain(Row::NAMES).map(|name| (*name).to_owned());
                format!("{}\n", Value::Object(names.zip(values).collect::<Map<_, _>>()))
            }
        };
        self.put(&line)
    }

    fn put(&mut self, text: &str) -> Result<()> {
        let written: io::Result<()> = self.file.write_all(text.as_bytes());
        written.with_context(|| format!("cannot write {}", self.file.path().display()))
    }

    pub(crate) fn finish(self) -> Result<()> {
        Ok(self.file.finish()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_back_to_the_bit() {
        let row = Row {
            strain_max: Some(0.1 + 0.2),
            strain_p99: Some(1e-300),
            over: true,
            substeps: u32::MAX,
            missed_substeps: 0,
            iterations: 1,
            inner_iterations: 2,
            elastic_iterations: 3,
            dispatches: u64::MAX,
            load: f32::MIN_POSITIVE,
            thread_strain_max: None,
            thread_strain_p99: Some(-0.0),
            strain_before_contact: 0.1,
            edges_over: 8,
            infeasible_edges: 9,
            rejected: false,
            contacts: Some(7),
            crossings: Some(u64::MAX),
            nearest: None,
            pairs: Some(1),
            overflowed: None,
            trimmed: Some(0),
            speed_limited: None,
            forced: None,
            pinched: Some(2),
            wall_seconds: 1.0 / 3.0,
        };
        let line = row.line();
        assert_eq!(Row::read(&line), Some(row));
        assert!(line.contains(",0.1,"), "{line}");
        for bad in ["", &line.replacen(",", "", 1), &format!("{line},0"), &line.replace("true", "yes")] {
            assert_eq!(Row::read(bad), None, "{bad}");
        }
    }
}
