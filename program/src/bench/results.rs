//! The result file of `taut bench`: what was measured, where, and how well the cloth held.
//!
//! The unit of comparison is time to strain: seconds of computing per simulated second at a strain limit that was
//! really held. A row that missed its limit has its times too, but they rank with nothing.
//!
//! [`SCHEMA`] describes the JSON. Every field is always there; null stands for what was not measured.

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::{Value, json};
use taut::Cloth;
use taut::engine::program::Phase;
use taut::stage::phase;

use crate::bench::paper::record::{Detail, Ending, Paper};
use crate::bench::read::{Object, parse};
use crate::bench::statistics::{deviation, median, percentile};
use crate::shard::Shard;

pub(crate) use crate::bench::read::ReadError;

/// Version of the JSON: it grows when a field changes its meaning or goes.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// The JSON Schema (draft 2020-12) of the result file.
pub(crate) const SCHEMA: &str = include_str!("bench.schema.json");

/// What stands beside results of a software adapter.
pub(crate) const SOFTWARE_BANNER: &str = "Software adapter: these times say nothing of GPUs.";

/// What stands beside results of a run that was interrupted.
pub(crate) const INCOMPLETE_BANNER: &str = "Incomplete: the run was interrupted.";

/// The place of rows that ran on no adapter.
pub(crate) const CPU: &str = "cpu";

/// A limit and a strain may differ by the rounding of f32 and still agree.
const ROUNDING: f64 = 1e-6;

/// Everything that a call of `taut bench` found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ResultFile {
    /// [`SCHEMA_VERSION`] of the program that wrote it.
    pub(crate) schema_version: u32,
    /// Whether every row that was asked for is there.
    pub(crate) complete: bool,
    /// Which part of the rows these are; `None` where they are all.
    pub(crate) part: Option<Shard>,
    /// Whether a row was measured on a software adapter. Such times say nothing of GPUs.
    pub(crate) software: bool,
    /// Where and how it was measured.
    pub(crate) machine: Machine,
    /// How fast memory streams here, measured in the same run.
    pub(crate) roofline: Roofline,
    /// One for each run.
    pub(crate) rows: Vec<Row>,
    /// What the suite `paper` found besides times; `None` if it was not run.
    pub(crate) paper: Option<Paper>,
}

/// The machine, the build and the call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Machine {
    /// Operating system, as in `linux`.
    pub(crate) os: String,
    /// Its kernel or build, as in `6.12.9`; empty if unknown.
    pub(crate) kernel: String,
    /// Architecture of the program, as in `x86_64`.
    pub(crate) arch: String,
    /// Model of the processor; empty if unknown.
    pub(crate) cpu: String,
    /// Threads that the CPU's kernels use.
    pub(crate) threads: u32,
    /// The graphics adapters that were measured.
    pub(crate) adapters: Vec<AdapterInfo>,
    /// Version of taut.
    pub(crate) taut_version: String,
    /// The commit that it was built from, with `-modified` where that is not all; empty if unknown.
    pub(crate) commit: String,
    /// Version of wgpu.
    pub(crate) wgpu_version: String,
    /// Version of the compiler; empty if unknown.
    pub(crate) rustc_version: String,
    /// Profile of the build, `release` or `debug`.
    pub(crate) profile: String,
    /// Cargo features of the build.
    pub(crate) features: Vec<String>,
    /// The call, one entry per argument.
    pub(crate) command_line: Vec<String>,
    /// When it began: UTC, as in `2026-01-31T12:00:00Z` (RFC 3339).
    pub(crate) started: String,
}

/// A graphics adapter, as wgpu tells it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AdapterInfo {
    /// As rows name it in `place`.
    pub(crate) label: String,
    /// Its name.
    pub(crate) name: String,
    /// wgpu's backend, as `WGPU_BACKEND` spells it.
    pub(crate) backend: String,
    /// `discrete`, `integrated`, `virtual`, `software` or `other`.
    pub(crate) device_type: String,
    /// Name of the driver.
    pub(crate) driver: String,
    /// Version of the driver.
    pub(crate) driver_info: String,
    /// Vendor number on the PCI bus, 0 if unknown.
    pub(crate) vendor: u32,
    /// Device number on the PCI bus, 0 if unknown.
    pub(crate) device: u32,
    /// Place on the PCI bus; empty if unknown.
    pub(crate) pci_bus_id: String,
    /// Smallest subgroup.
    pub(crate) subgroup_min: u32,
    /// Largest subgroup.
    pub(crate) subgroup_max: u32,
    /// Features that were requested of the device.
    pub(crate) features: Vec<String>,
    /// Limits that were requested of the device.
    pub(crate) limits: BTreeMap<String, u64>,
    /// Nanoseconds per tick of a timestamp; `None` where there are no timestamps.
    pub(crate) timestamp_period: Option<f64>,
    /// Streaming bandwidth \[B/s\]; `None` if it could not be measured.
    pub(crate) bytes_per_second: Option<f64>,
}

/// Streaming bandwidth: bytes read and written per second by a loop (CPU) or a copy (adapter) that does nothing else.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Roofline {
    /// Of the CPU with all its threads \[B/s\]; those of adapters stand with them.
    pub(crate) cpu_bytes_per_second: f64,
}

/// One solver on one cloth in one place. Counts are those of one repetition, which is `frames` frames; all repetitions
/// do the same work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// The suite that it belongs to.
    pub(crate) suite: String,
    /// The scene.
    pub(crate) scene: String,
    /// Vertices per side, or along a chain.
    pub(crate) size: u32,
    /// Vertices of the cloth.
    pub(crate) vertices: u64,
    /// The solver.
    pub(crate) solver: String,
    /// [`CPU`], or a label of the adapter.
    pub(crate) place: String,
    /// Fingerprint of the cloth: mesh, start and solids.
    pub(crate) scene_hash: String,
    /// All settings, as Rust prints them.
    pub(crate) settings: String,
    /// The strain that was allowed.
    pub(crate) strain_limit: f64,
    /// Largest strain at the end of any frame, recomputed on the host in f64. Infinite if a position was not finite,
    /// which is null in JSON.
    pub(crate) strain_max: f64,
    /// Largest 99th percentile of the strains of a frame; infinite as `strain_max`.
    pub strain_p99: f64,
    /// Whether no frame was over the limit. Only such rows are ranked.
    pub(crate) held: bool,
    /// Frames of one repetition.
    pub(crate) frames: u32,
    /// Frames that ended over the limit.
    pub(crate) frames_over: u32,
    /// Wall time, with explicit completion, per simulated second \[s/s\]: the headline.
    pub(crate) seconds_per_second: Samples,
    /// Time by the adapter's own clock per simulated second \[s/s\]; `None` without timestamps.
    pub(crate) gpu_seconds: Option<Samples>,
    /// The same of the parts of a step, in the last repetition; `None` without timestamps.
    pub(crate) gpu_parts: Option<Parts>,
    /// Substeps.
    pub(crate) substeps: u64,
    /// Iterations of the solver (sweeps or projections).
    pub(crate) iterations: u64,
    /// Iterations of linear solves.
    pub(crate) inner_iterations: u64,
    /// Iterations of implicit elastic solves.
    pub(crate) elastic_iterations: u64,
    /// Dispatches: those that ran on the CPU, those that were submitted on an adapter.
    pub(crate) dispatches: u64,
    /// Dispatches with every loop as long as it may be.
    pub(crate) recorded_dispatches: u64,
    /// Dispatches whose loops had not ended; `None` on an adapter, which does not count them.
    pub(crate) executed_dispatches: Option<u64>,
    /// Bytes that the kernels read and wrote, counted from the program's field accesses; `None` if not counted.
    pub(crate) bytes_moved: Option<u64>,
    /// `bytes_moved` per second of median time, over the bandwidth of the place; `None` without either.
    pub(crate) roofline_fraction: Option<f64>,
    /// Change of the cloth's kinetic and potential energy, springs left out, over its weight times 1 m: what drag,
    /// damping and projection take is in it, too; `None` if not measured.
    pub(crate) energy_drift: Option<f64>,
    /// Wall time of the first step, which uploads and warms up and is in no sample \[s\].
    pub(crate) first_step_seconds: f64,
    /// Wall time of making the pipelines \[s\]; `None` where nothing is compiled.
    pub(crate) compile_seconds: Option<f64>,
    /// How it ended, of runs of the suite `paper`; `None` of others.
    pub(crate) detail: Option<Detail>,
}

/// Seconds that the parts of a step took.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Parts([f64; phase::ALL.len()]);

impl Parts {
    /// With those of the last step of a cloth; `None` where it was not timed.
    pub(crate) fn and(mut self, cloth: &Cloth) -> Option<Self> {
        for (sum, phase) in self.0.iter_mut().zip(phase::ALL) {
            *sum += cloth.gpu_phase_seconds(phase)?;
        }
        Some(self)
    }

    /// Divided by a time.
    pub(crate) fn per(self, seconds: f64) -> Self {
        Self(self.0.map(|part| part / seconds))
    }

    /// One of them.
    pub(crate) fn of(&self, phase: Phase) -> f64 {
        phase::ALL.iter().position(|known| *known == phase).map_or(0.0, |place| self.0[place])
    }

    fn json(&self) -> Value {
        phase::ALL.iter().map(|phase| (phase.name.to_owned(), json!(self.of(*phase)))).collect()
    }

    fn read(object: &Object<'_>) -> Result<Self, ReadError> {
        let mut parts = Self::default();
        for (part, phase) in parts.0.iter_mut().zip(phase::ALL) {
            *part = object.amount(phase.name)?;
        }
        Ok(parts)
    }
}

/// Repeated measurements and what stands for them, all in the same unit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Samples {
    /// In the order they were taken; at least one.
    pub(crate) raw: Vec<f64>,
    /// Their [`median`].
    pub(crate) median: f64,
    /// 5th [`percentile`].
    pub p05: f64,
    /// 95th [`percentile`].
    pub p95: f64,
    /// Median absolute [`deviation`], without the factor 1.4826.
    pub(crate) mad: f64,
}

impl Samples {
    /// `None` if there are none, or one is not finite or below zero.
    pub(crate) fn new(raw: Vec<f64>) -> Option<Self> {
        if raw.iter().any(|value| *value < 0.0) {
            return None;
        }
        let [p05, p95] = [percentile(&raw, 0.05)?, percentile(&raw, 0.95)?];
        Some(Self { median: median(&raw)?, p05, p95, mad: deviation(&raw)?, raw })
    }

    fn json(&self) -> Value {
        let Self { raw, median, p05, p95, mad } = self;
        json!({ "raw": raw, "median": median, "p05": p05, "p95": p95, "mad": mad })
    }

    /// The statistics must be those of the raw samples: nobody shall believe a median that nothing supports.
    fn read(object: &Object<'_>) -> Result<Self, ReadError> {
        let raw = object.amounts("raw")?;
        let samples = Self::new(raw).ok_or_else(|| object.wrong("raw", "a list of at least one number"))?;
        let largest = samples.raw.iter().copied().fold(0.0, f64::max);
        let [median, p05, p95, mad] = [samples.median, samples.p05, samples.p95, samples.mad];
        for (name, value) in [("median", median), ("p05", p05), ("p95", p95), ("mad", mad)] {
            // Parsing may miss the nearest f64 by one place, so the figures need not be equal to the bit.
            if (object.amount(name)? - value).abs() > 1e-9 * largest {
                return Err(object.wrong(name, "that of the raw samples"));
            }
        }
        Ok(samples)
    }
}

impl ResultFile {
    /// Reads and checks a file of at most `limit` bytes. Fields that this version does not know are ignored.
    ///
    /// # Errors
    ///
    /// [`ReadError`], with the path of the first field that is missing or wrong.
    pub(crate) fn read(source: impl Read, limit: u64) -> Result<Self, ReadError> {
        Self::from_json(&parse(source, limit)?)
    }

    /// Checks and takes a document that is parsed already.
    ///
    /// # Errors
    ///
    /// As [`ResultFile::read`].
    pub(crate) fn from_json(document: &Value) -> Result<Self, ReadError> {
        let object = Object::new(String::new(), document)?;
        let found = object.count("schema_version")?;
        // First of all: a file of another version may lack any of the other fields.
        if found != u64::from(SCHEMA_VERSION) {
            return Err(ReadError::Version { found, known: SCHEMA_VERSION });
        }
        let roofline = object.object("roofline")?;
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            complete: object.flag("complete")?,
            part: object.or_null("part", |object, name| part(&object.object(name)?))?,
            software: object.flag("software")?,
            machine: Machine::read(&object.object("machine")?)?,
            roofline: Roofline { cpu_bytes_per_second: roofline.amount("cpu_bytes_per_second")? },
            rows: object.objects("rows")?.iter().map(Row::read).collect::<Result<_, _>>()?,
            paper: object.or_null("paper", |object, name| Paper::read(&object.object(name)?))?,
        })
    }

    /// The document that [`SCHEMA`] describes.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "schema_version": self.schema_version,
            "complete": self.complete,
            "part": self.part.map(|part| json!({ "index": part.index, "count": part.count })),
            "software": self.software,
            "machine": self.machine.json(),
            "roofline": { "cpu_bytes_per_second": self.roofline.cpu_bytes_per_second },
            "rows": self.rows.iter().map(Row::json).collect::<Vec<_>>(),
            "paper": self.paper.as_ref().map(Paper::json),
        })
    }

    /// The rows as CSV (RFC 4180): a header, one line per row, lines end with CR LF. Raw samples and the machine are
    /// left to the JSON; whether times are those of a software adapter is not. What was not measured is empty.
    pub(crate) fn to_csv(&self) -> String {
        let mut text = line(columns());
        for row in &self.rows {
            text += &line(row.cells().into_iter().chain([self.software.to_string()]));
        }
        text
    }

    /// Streaming bandwidth of a row's place \[B/s\].
    pub(crate) fn bandwidth(&self, place: &str) -> Option<f64> {
        if place == CPU {
            return Some(self.roofline.cpu_bytes_per_second);
        }
        self.machine.adapters.iter().find(|adapter| adapter.label == place)?.bytes_per_second
    }

    /// What must stand beside these results, if anything.
    pub(crate) fn banner(&self) -> Option<String> {
        let incomplete = (!self.complete).then_some(INCOMPLETE_BANNER);
        let banners: Vec<&str> = self.software.then_some(SOFTWARE_BANNER).into_iter().chain(incomplete).collect();
        (!banners.is_empty()).then(|| banners.join(" "))
    }
}

/// The part that a file says it is.
fn part(object: &Object<'_>) -> Result<Shard, ReadError> {
    let shard = Shard::new(object.count("index")?, object.count("count")?);
    shard.ok_or_else(|| object.wrong("index", "below the count"))
}

impl Machine {
    /// The machine in a line, for captions.
    pub(crate) fn caption(&self) -> String {
        let cpu = if self.cpu.is_empty() { "unknown processor" } else { &self.cpu };
        let threads = if self.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", self.threads) };
        let mut text = format!("taut {} on {} {}, {cpu}, {threads}", self.taut_version, self.os, self.arch);
        for adapter in &self.adapters {
            text += &format!("; {} ({}, {}), {}", adapter.name, adapter.backend, adapter.device_type, adapter.driver);
            text += &format!(" {}", adapter.driver_info);
        }
        text.trim_end().to_owned()
    }

    fn json(&self) -> Value {
        json!({
            "os": self.os,
            "kernel": self.kernel,
            "arch": self.arch,
            "cpu": self.cpu,
            "threads": self.threads,
            "adapters": self.adapters.iter().map(AdapterInfo::json).collect::<Vec<_>>(),
            "taut_version": self.taut_version,
            "commit": self.commit,
            "wgpu_version": self.wgpu_version,
            "rustc_version": self.rustc_version,
            "profile": self.profile,
            "features": self.features,
            "command_line": self.command_line,
            "started": self.started,
        })
    }

    fn read(object: &Object<'_>) -> Result<Self, ReadError> {
        Ok(Self {
            os: object.text("os")?,
            kernel: object.text("kernel")?,
            arch: object.text("arch")?,
            cpu: object.text("cpu")?,
            threads: object.small_count("threads")?,
            adapters: object.objects("adapters")?.iter().map(AdapterInfo::read).collect::<Result<_, _>>()?,
            taut_version: object.text("taut_version")?,
            commit: object.text("commit")?,
            wgpu_version: object.text("wgpu_version")?,
            rustc_version: object.text("rustc_version")?,
            profile: object.text("profile")?,
            features: object.texts("features")?,
            command_line: object.texts("command_line")?,
            started: object.text("started")?,
        })
    }
}

impl AdapterInfo {
    fn json(&self) -> Value {
        json!({
            "label": self.label,
            "name": self.name,
            "backend": self.backend,
            "device_type": self.device_type,
            "driver": self.driver,
            "driver_info": self.driver_info,
            "vendor": self.vendor,
            "device": self.device,
            "pci_bus_id": self.pci_bus_id,
            "subgroup_min": self.subgroup_min,
            "subgroup_max": self.subgroup_max,
            "features": self.features,
            "limits": self.limits,
            "timestamp_period": self.timestamp_period,
            "bytes_per_second": self.bytes_per_second,
        })
    }

    fn read(object: &Object<'_>) -> Result<Self, ReadError> {
        Ok(Self {
            label: object.text("label")?,
            name: object.text("name")?,
            backend: object.text("backend")?,
            device_type: object.text("device_type")?,
            driver: object.text("driver")?,
            driver_info: object.text("driver_info")?,
            vendor: object.small_count("vendor")?,
            device: object.small_count("device")?,
            pci_bus_id: object.text("pci_bus_id")?,
            subgroup_min: object.small_count("subgroup_min")?,
            subgroup_max: object.small_count("subgroup_max")?,
            features: object.texts("features")?,
            limits: object.counts("limits")?,
            timestamp_period: object.or_null("timestamp_period", Object::amount)?,
            bytes_per_second: object.or_null("bytes_per_second", Object::amount)?,
        })
    }
}

impl Row {
    fn json(&self) -> Value {
        json!({
            "suite": self.suite,
            "scene": self.scene,
            "size": self.size,
            "vertices": self.vertices,
            "solver": self.solver,
            "place": self.place,
            "scene_hash": self.scene_hash,
            "settings": self.settings,
            "strain_limit": self.strain_limit,
            "strain_max": self.strain_max,
            "strain_p99": self.strain_p99,
            "held": self.held,
            "frames": self.frames,
            "frames_over": self.frames_over,
            "seconds_per_second": self.seconds_per_second.json(),
            "gpu_seconds": self.gpu_seconds.as_ref().map(Samples::json),
            "gpu_parts": self.gpu_parts.as_ref().map(Parts::json),
            "substeps": self.substeps,
            "iterations": self.iterations,
            "inner_iterations": self.inner_iterations,
            "elastic_iterations": self.elastic_iterations,
            "dispatches": self.dispatches,
            "recorded_dispatches": self.recorded_dispatches,
            "executed_dispatches": self.executed_dispatches,
            "bytes_moved": self.bytes_moved,
            "roofline_fraction": self.roofline_fraction,
            "energy_drift": self.energy_drift,
            "first_step_seconds": self.first_step_seconds,
            "compile_seconds": self.compile_seconds,
            "detail": self.detail.as_ref().map(Detail::json),
        })
    }

    fn read(object: &Object<'_>) -> Result<Self, ReadError> {
        let row = Self {
            suite: object.text("suite")?,
            scene: object.text("scene")?,
            size: object.small_count("size")?,
            vertices: object.count("vertices")?,
            solver: object.text("solver")?,
            place: object.text("place")?,
            scene_hash: object.text("scene_hash")?,
            settings: object.text("settings")?,
            strain_limit: object.amount("strain_limit")?,
            strain_max: object.amount_or_infinity("strain_max")?,
            strain_p99: object.amount_or_infinity("strain_p99")?,
            held: object.flag("held")?,
            frames: object.small_count("frames")?,
            frames_over: object.small_count("frames_over")?,
            seconds_per_second: Samples::read(&object.object("seconds_per_second")?)?,
            gpu_seconds: object.or_null("gpu_seconds", |object, name| Samples::read(&object.object(name)?))?,
            gpu_parts: object.or_null("gpu_parts", |object, name| Parts::read(&object.object(name)?))?,
            substeps: object.count("substeps")?,
            iterations: object.count("iterations")?,
            inner_iterations: object.count("inner_iterations")?,
            elastic_iterations: object.count("elastic_iterations")?,
            dispatches: object.count("dispatches")?,
            recorded_dispatches: object.count("recorded_dispatches")?,
            executed_dispatches: object.or_null("executed_dispatches", Object::count)?,
            bytes_moved: object.or_null("bytes_moved", Object::count)?,
            roofline_fraction: object.or_null("roofline_fraction", Object::amount)?,
            energy_drift: object.or_null("energy_drift", Object::number)?,
            first_step_seconds: object.amount("first_step_seconds")?,
            compile_seconds: object.or_null("compile_seconds", Object::amount)?,
            detail: object.or_null("detail", |object, name| Detail::read(&object.object(name)?))?,
        };
        if row.frames_over > row.frames {
            return Err(object.wrong("frames_over", "no more than frames"));
        }
        let within = row.strain_max <= row.strain_limit * (1.0 + ROUNDING);
        if row.held && (row.frames_over > 0 || !within) {
            return Err(object.wrong("held", "false where a strain was over the limit"));
        }
        if row.detail.as_ref().is_some_and(|detail| row.held != (detail.ending == Ending::Held)) {
            return Err(object.wrong("held", "true where the run ended so, and only there"));
        }
        Ok(row)
    }

    /// In the order of [`columns`], without the last, which is the file's.
    fn cells(&self) -> Vec<String> {
        // With an exponent where that is shorter, and to the last place.
        let number = |value: f64| format!("{value:?}");
        let or_empty = |value: Option<f64>| value.map_or_else(String::new, number);
        let gpu = |part: fn(&Samples) -> f64| or_empty(self.gpu_seconds.as_ref().map(part));
        let wall = &self.seconds_per_second;
        let or_nothing = |count: Option<u64>| count.map_or_else(String::new, |count| count.to_string());
        let mut cells = vec![
            self.suite.clone(),
            self.scene.clone(),
            self.size.to_string(),
            self.vertices.to_string(),
            self.solver.clone(),
            self.place.clone(),
            number(self.strain_limit),
            number(self.strain_max),
            number(self.strain_p99),
            self.held.to_string(),
            self.frames.to_string(),
            self.frames_over.to_string(),
            wall.raw.len().to_string(),
            number(wall.median),
            number(wall.p05),
            number(wall.p95),
            number(wall.mad),
            gpu(|samples| samples.median),
            gpu(|samples| samples.p05),
            gpu(|samples| samples.p95),
            gpu(|samples| samples.mad),
            self.substeps.to_string(),
            self.iterations.to_string(),
            self.inner_iterations.to_string(),
            self.elastic_iterations.to_string(),
            self.dispatches.to_string(),
            self.recorded_dispatches.to_string(),
            or_nothing(self.executed_dispatches),
            or_nothing(self.bytes_moved),
            or_empty(self.roofline_fraction),
            or_empty(self.energy_drift),
            number(self.first_step_seconds),
            or_empty(self.compile_seconds),
            self.detail.as_ref().map_or_else(String::new, |detail| detail.ending.words().to_owned()),
            self.detail.as_ref().and_then(|detail| detail.reason.clone()).unwrap_or_default(),
            or_empty(self.detail.as_ref().and_then(|detail| detail.step_seconds)),
            or_empty(self.detail.as_ref().and_then(|detail| detail.stiffness)),
        ];
        cells.extend(phase::ALL.map(|phase| or_empty(self.gpu_parts.as_ref().map(|parts| parts.of(phase)))));
        cells
    }
}

/// The columns of the CSV: those of a row, the parts of its time on a GPU, and whether that is software.
fn columns() -> impl Iterator<Item = String> {
    let parts = phase::ALL.iter().map(|phase| format!("gpu_{}_seconds", phase.name));
    COLUMNS.iter().map(|name| (*name).to_owned()).chain(parts).chain(["software".to_owned()])
}

/// The columns of a row that are no parts of its time.
const COLUMNS: [&str; 37] = [
    "suite",
    "scene",
    "size",
    "vertices",
    "solver",
    "place",
    "strain_limit",
    "strain_max",
    "strain_p99",
    "held",
    "frames",
    "frames_over",
    "samples",
    "seconds_per_second_median",
    "seconds_per_second_p05",
    "seconds_per_second_p95",
    "seconds_per_second_mad",
    "gpu_seconds_median",
    "gpu_seconds_p05",
    "gpu_seconds_p95",
    "gpu_seconds_mad",
    "substeps",
    "iterations",
    "inner_iterations",
    "elastic_iterations",
    "dispatches",
    "recorded_dispatches",
    "executed_dispatches",
    "bytes_moved",
    "roofline_fraction",
    "energy_drift",
    "first_step_seconds",
    "compile_seconds",
    "ending",
    "reason",
    "step_seconds",
    "stiffness",
];

/// A line of CSV with its end.
fn line(cells: impl Iterator<Item = String>) -> String {
    cells.map(quoted).collect::<Vec<_>>().join(",") + "\r\n"
}

/// A cell in quotes if it needs them, quotes within it doubled (RFC 4180, rules 5 to 7).
fn quoted(cell: String) -> String {
    if cell.contains(['"', ',', '\r', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::sample::{file, full_row, paper, row};
    use crate::schema::walk;

    const LIMIT: u64 = 1 << 20;

    fn full() -> ResultFile {
        let mut file = file(vec![full_row()]);
        (file.paper, file.part) = (Some(paper()), Shard::new(1, 3));
        file
    }

    /// A file in which nothing is measured that need not be.
    fn sparse() -> ResultFile {
        let mut file = file(vec![row("hang", 10, "jacobi", &[0.5])]);
        file.machine.adapters.clear();
        file
    }

    fn text(file: &ResultFile) -> String {
        format!("{:#}", file.to_json())
    }

    #[test]
    fn samples_have_their_statistics() {
        let samples = Samples::new(vec![16.0, 1.0, 8.0, 2.0, 4.0]).expect("samples");
        assert_eq!((samples.median, samples.mad), (4.0, 3.0));
        assert!((samples.p05 - 1.2).abs() < 1e-12 && (samples.p95 - 14.4).abs() < 1e-12);
        assert_eq!(samples.raw[0], 16.0);
        for bad in [vec![], vec![f64::NAN], vec![1.0, -1e-9], vec![f64::INFINITY]] {
            assert_eq!(Samples::new(bad), None);
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for file in [full(), sparse(), file(Vec::new())] {
            assert_eq!(ResultFile::read(text(&file).as_bytes(), LIMIT).expect("a good file"), file);
        }
    }

    #[test]
    fn an_infinite_strain_is_null_and_comes_back() {
        let mut file = sparse();
        (file.rows[0].strain_max, file.rows[0].held) = (f64::INFINITY, false);
        let json = file.to_json();
        assert!(json["rows"][0]["strain_max"].is_null());
        assert_eq!(ResultFile::from_json(&json).expect("a good file").rows[0].strain_max, f64::INFINITY);
    }

    #[test]
    fn a_file_over_the_limit_is_refused_before_it_is_parsed() {
        let text = text(&full());
        let size = text.len() as u64;
        assert!(ResultFile::read(text.as_bytes(), size).is_ok());
        let error = ResultFile::read(text.as_bytes(), size - 1).expect_err("too large");
        assert!(matches!(error, ReadError::TooLarge { limit } if limit == size - 1), "{error}");
        // An endless source ends too.
        assert!(matches!(ResultFile::read(std::io::repeat(b'['), 1000), Err(ReadError::TooLarge { limit: 1000 })));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let deep = "[".repeat(100_000);
        for bad in ["", "{", "{\"schema_version\": 1e999}", "\u{0}", &deep] {
            let error = ResultFile::read(bad.as_bytes(), LIMIT).expect_err("not JSON");
            assert!(matches!(error, ReadError::NotJson(_)), "{error}");
        }
        assert!(matches!(ResultFile::read(&[0xff, 0xfe][..], LIMIT), Err(ReadError::NotJson(_))));
        let error = ResultFile::read(&b"[]"[..], LIMIT).expect_err("no object");
        assert_eq!(error.to_string(), "the document must be an object");
    }

    #[test]
    fn every_beginning_of_a_file_is_refused_without_a_panic() {
        let text = text(&full());
        for end in 0..text.len() {
            assert!(matches!(ResultFile::read(&text.as_bytes()[..end], LIMIT), Err(ReadError::NotJson(_))), "{end}");
        }
    }

    #[test]
    fn another_version_is_refused_by_its_number() {
        let mut json = full().to_json();
        json["schema_version"] = 2.into();
        let error = ResultFile::from_json(&json).expect_err("version 2");
        assert_eq!(error.to_string(), "the file has schema version 2, but this program reads version 1");
        // Nothing else of such a file matters.
        let error = ResultFile::from_json(&json!({ "schema_version": 7 })).expect_err("version 7");
        assert!(matches!(error, ReadError::Version { found: 7, known: 1 }));
    }

    /// The paths and JSON pointers of all fields, without the limits, whose names are free, and entries of plain lists.
    fn fields(value: &Value, path: &str, pointer: &str, found: &mut Vec<(String, String)>) {
        match value {
            Value::Object(fields_here) if !path.ends_with("limits") => {
                for (name, value) in fields_here {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    let pointer = format!("{pointer}/{name}");
                    found.push((path.clone(), pointer.clone()));
                    fields(value, &path, &pointer, found);
                }
            }
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    fields(value, &format!("{path}[{index}]"), &format!("{pointer}/{index}"), found);
                }
            }
            _ => {}
        }
    }

    fn all_fields() -> Vec<(String, String)> {
        let mut found = Vec::new();
        fields(&full().to_json(), "", "", &mut found);
        // 8 of the file, 2 of its part, 14 of the machine, 15 of the adapter, 1 of the roofline, 30 of the row, 2 × 5
        // of its samples, 4 of its detail, 9 parts of its time, 2 of the paper, 6 of a curve, 4 of a finding.
        assert_eq!(found.len(), 105);
        found
    }

    #[test]
    fn every_field_is_missed_by_its_path() {
        for (path, pointer) in all_fields() {
            let mut json = full().to_json();
            let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
            let object = json.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object");
            object.remove(name).expect("a field");
            let error = ResultFile::from_json(&json).expect_err("a field is missing");
            assert!(matches!(&error, ReadError::Missing { path: found } if *found == path), "{path}: {error}");
        }
    }

    #[test]
    fn every_field_of_the_wrong_kind_is_named_by_its_path() {
        // No field is a list of lists; and none but these may be null.
        let nullable = ["timestamp_period", "bytes_per_second", "strain_max", "strain_p99"];
        let more = ["gpu_seconds", "gpu_parts", "executed_dispatches", "bytes_moved", "roofline_fraction"];
        let more = [&more[..], &["energy_drift", "compile_seconds"]].concat();
        let paper = ["paper", "part", "detail", "reason", "step_seconds", "stiffness"];
        for (path, pointer) in all_fields() {
            let name = path.rsplit('.').next().unwrap_or_default();
            let null = ![&nullable[..], &more, &paper].concat().contains(&name);
            let null = null.then_some(Value::Null);
            for bad in [json!([[]])].into_iter().chain(null) {
                let mut json = full().to_json();
                *json.pointer_mut(&pointer).expect("a field") = bad;
                let error = ResultFile::from_json(&json).expect_err("a field is wrong");
                let ReadError::Wrong { path: found, .. } = &error else { panic!("{path}: {error}") };
                assert!(found == &path || found == &format!("{path}[0]"), "{path}: {error}");
            }
        }
    }

    #[test]
    fn values_that_cannot_be_are_refused() {
        let cases = [
            ("/rows/0/size", json!(-1), "rows[0].size must be a whole number from 0 to 2³² − 1"),
            ("/rows/0/size", json!(4_294_967_296_u64), "rows[0].size must be a whole number from 0 to 2³² − 1"),
            (
                "/rows/0/first_step_seconds",
                json!(-0.5),
                "rows[0].first_step_seconds must be a number that is not below zero",
            ),
            ("/rows/0/frames_over", json!(1000), "rows[0].frames_over must be no more than frames"),
            ("/rows/0/strain_max", json!(0.02), "rows[0].held must be false where a strain was over the limit"),
            ("/rows/0/strain_max", Value::Null, "rows[0].held must be false where a strain was over the limit"),
            ("/rows/0/frames_over", json!(1), "rows[0].held must be false where a strain was over the limit"),
            ("/rows/0/gpu_seconds/raw", json!([]), "rows[0].gpu_seconds.raw must be a list of at least one number"),
            ("/rows/0/gpu_seconds/median", json!(0.001), "rows[0].gpu_seconds.median must be that of the raw samples"),
            (
                "/rows/0/detail/ending",
                json!("lost"),
                "rows[0].detail.ending must be held, missed, failed or over budget",
            ),
            (
                "/rows/0/detail/ending",
                json!("failed"),
                "rows[0].held must be true where the run ended so, and only there",
            ),
            ("/paper/curves/0/y", json!([1.0]), "paper.curves[0].y must be as long as x"),
            ("/machine/features/1", json!(3), "machine.features[1] must be text"),
            (
                "/machine/adapters/0/limits/max_bind_groups",
                json!("4"),
                "machine.adapters[0].limits must be an object of whole numbers",
            ),
        ];
        for (pointer, value, expected) in cases {
            let mut json = full().to_json();
            *json.pointer_mut(pointer).expect(pointer) = value;
            assert_eq!(ResultFile::from_json(&json).expect_err(pointer).to_string(), expected);
        }
    }

    #[test]
    fn a_field_of_a_later_program_is_ignored() {
        let mut json = full().to_json();
        json["rows"][0]["colour"] = "red".into();
        assert_eq!(ResultFile::from_json(&json).expect("a good file"), full());
    }

    #[test]
    fn the_schema_has_the_fields_of_the_file_and_the_file_those_of_the_schema() {
        let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["properties"]["schema_version"]["const"], SCHEMA_VERSION);
        for file in [full(), sparse()] {
            walk(&schema, &file.to_json(), &schema, "");
        }
    }

    #[test]
    #[should_panic(expected = "solver")]
    fn the_walk_finds_a_field_that_the_schema_does_not_know() {
        let mut schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
        let properties = schema.pointer_mut("/$defs/row/properties").and_then(Value::as_object_mut).expect("a row");
        properties.remove("solver").expect("a field");
        walk(&schema, &full().to_json(), &schema, "");
    }

    #[test]
    fn csv_has_one_line_per_row_and_quotes_what_needs_it() {
        let mut file = file(vec![full_row(), row("hang", 10, "a \"b\", c", &[0.5])]);
        file.software = true;
        let csv = file.to_csv();
        let lines: Vec<&str> = csv.split_terminator("\r\n").collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], columns().collect::<Vec<_>>().join(","));
        assert_eq!(
            lines[1],
            "solvers,hang,20,400,fast-projection,llvmpipe,0.01,0.0099,0.004,true,60,0,5,0.5,0.275,0.725,0.125,0.2,0.2,0.2,0.0,\
             600,1200,48000,7,9007199254740993,9007199254740995,7,123456789,0.25,-1e-5,0.75,1.5,held,kept,0.001,7750.0,\
             0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,true"
        );
        assert_eq!(lines[2].split("\"a \"\"b\"\", c\"").count(), 2);
        // One more than between the cells: that within the quotes.
        assert_eq!(lines[2].matches(',').count(), columns().count());
        assert!(lines[2].ends_with(",0,0,,,,,0.1,,,,,,,,,,,,,,,true"), "{}", lines[2]);
    }

    #[test]
    fn a_cell_with_a_line_break_is_quoted() {
        assert_eq!(quoted("a\nb".into()), "\"a\nb\"");
        assert_eq!(quoted("plain text".into()), "plain text");
    }

    #[test]
    fn captions_name_the_machine_and_banners_what_is_wrong() {
        let mut file = full();
        assert_eq!(
            file.machine.caption(),
            "taut 0.1.0 on linux x86_64, Example 9000, 8 threads; llvmpipe (vulkan, software), Mesa 25.1"
        );
        assert_eq!(file.banner(), None);
        (file.software, file.complete) = (true, false);
        assert_eq!(file.banner().expect("a banner"), format!("{SOFTWARE_BANNER} {INCOMPLETE_BANNER}"));
        file.machine.adapters.clear();
        (file.machine.cpu, file.machine.threads) = (String::new(), 1);
        assert_eq!(file.machine.caption(), "taut 0.1.0 on linux x86_64, unknown processor, 1 thread");
    }
}
