//! One run, timed; and how fast memory streams here.

use std::time::Instant;

use anyhow::{Context, Result};
use rayon::prelude::*;
use taut::engine::checksum::Checksum;
use taut::wgpu;
use taut::{Cancel, Cloth, Error, FrameInput, Gpu, Method, Scene, Settings, Solid, SolidShape, Substeps};

use super::results::{Parts, ResultFile, Row};
use super::samples;
use super::stopwatch::Stopwatch;
use super::suites::Place;

const FPS: f64 = 60.0;

/// A run and what its repetitions took.
#[derive(Debug)]
pub(crate) struct Bench {
    scene: String,
    size: u32,
    solver: String,
    limit: f64,
    frames: u32,
    /// Number of its place.
    place: usize,
    /// Substeps per frame; `None` leaves them to the cloth.
    substeps: Option<u32>,
    /// Whether times on the CPU are those that the thread really ran, so that neighbors do not count. Such a run must
    /// have one thread.
    alone: bool,
    seconds: Vec<f64>,
    /// By the adapter's clock; as many as `seconds`, or none.
    gpu_seconds: Vec<f64>,
    /// The parts of the last of them.
    gpu_parts: Option<Parts>,
    outcome: Option<Outcome>,
    over_budget: bool,
}

/// What one repetition reached; all do the same work.
#[derive(Clone, Debug, Default)]
struct Outcome {
    vertices: u64,
    strain_max: f64,
    strain_p99: f64,
    over: u32,
    substeps: u64,
    iterations: u64,
    inner_iterations: u64,
    elastic_iterations: u64,
    dispatches: u64,
    recorded_dispatches: u64,
    executed_dispatches: Option<u64>,
    bytes: Option<u64>,
    drift: Option<f64>,
    first_step: f64,
    compile: f64,
    scene_hash: String,
    settings: String,
}

/// What ends a run early.
struct Bounds<'a> {
    /// Seconds of computing.
    budget: f64,
    /// Bytes moved.
    bytes: u64,
    /// Whether a frame over the limit does.
    hold: bool,
    cancel: &'a Cancel,
}

impl Bounds<'_> {
    fn end(&self, outcome: &Outcome, bytes: u64, seconds: f64, more_to_do: bool) -> End {
        if self.cancel.is_cancelled() {
            End::Interrupted
        } else if self.hold && outcome.over > 0 {
            End::Missed
        } else if bytes >= self.bytes {
            End::Slower
        } else if seconds > self.budget && more_to_do {
            End::OverBudget
        } else {
            End::Done
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Done,
    Missed,
    Slower,
    OverBudget,
    Interrupted,
}

/// One run.
#[derive(Debug)]
struct Run {
    outcome: Outcome,
    seconds: f64,
    /// By the adapter's clock.
    gpu_seconds: Option<f64>,
    gpu_parts: Option<Parts>,
    frames: u32,
    end: End,
}

impl Bench {
    pub(crate) fn new(scene: &str, size: u32, solver: &str, limit: f64, frames: u32, place: usize) -> Self {
        Self {
            scene: scene.to_owned(),
            size,
            solver: solver.to_owned(),
            limit,
            frames,
            place,
            substeps: None,
            alone: false,
            seconds: Vec::new(),
            gpu_seconds: Vec::new(),
            gpu_parts: None,
            outcome: None,
            over_budget: false,
        }
    }

    /// What is being run, for a progress bar.
    pub(crate) fn label(&self, places: &[Place]) -> String {
        format!("{} {} {} on {}", self.scene, self.size, self.solver, places[self.place].label)
    }

    /// Takes over the bytes of the same run on the CPU: an adapter does the same work, but does not count it.
    pub(crate) fn borrow_bytes(&mut self, runs: &[(String, u32, String, u64)]) {
        let same =
            |run: &&(String, u32, String, u64)| (&run.0, run.1, &run.2) == (&self.scene, self.size, &self.solver);
        if let (Some(outcome), Some(run)) = (&mut self.outcome, runs.iter().find(same)) {
            outcome.bytes.get_or_insert(run.3);
        }
    }

    /// Scene, size, solver and bytes, where they were counted.
    pub(crate) fn counted(&self) -> Option<(String, u32, String, u64)> {
        Some((self.scene.clone(), self.size, self.solver.clone(), self.outcome.as_ref()?.bytes?))
    }

    /// One more repetition.
    pub(crate) fn repeat(&mut self, places: &[Place], cancel: &Cancel) -> Result<()> {
        self.repeat_within(places, f64::INFINITY, cancel)
    }

    /// One more repetition that ends after `budget` seconds, and is forgotten if the user interrupts it.
    pub(crate) fn repeat_within(&mut self, places: &[Place], budget: f64, cancel: &Cancel) -> Result<()> {
        let bounds = Bounds { budget, bytes: u64::MAX, hold: false, cancel };
        let run = self.simulate(&places[self.place], &bounds)?;
        match run.end {
            End::Interrupted => return Ok(()),
            End::OverBudget => {
                // Times of different lengths do not mix.
                self.seconds.clear();
                self.gpu_seconds.clear();
                (self.frames, self.over_budget) = (run.frames, true);
            }
            End::Done | End::Missed | End::Slower => {}
        }
        self.seconds.push(run.seconds);
        self.gpu_seconds.extend(run.gpu_seconds);
        self.gpu_parts = run.gpu_parts;
        // Compiling and the first step cost what they cost the first time.
        let first = self.outcome.take().map(|first| (first.compile, first.first_step));
        let (compile, first_step) = first.unwrap_or((run.outcome.compile, run.outcome.first_step));
        self.outcome = Some(Outcome { compile, first_step, ..run.outcome });
        Ok(())
    }

    /// One run: a first frame apart, then all frames unless a bound ends it.
    fn simulate(&mut self, place: &Place, bounds: &Bounds<'_>) -> Result<Run> {
        match self.follow(place, bounds) {
            // In the middle of a frame, which was taken back.
            Err(error) if matches!(error.downcast_ref(), Some(Error::Cancelled)) => {
                let outcome = Outcome::default();
                let end = End::Interrupted;
                Ok(Run { outcome, seconds: 0.0, gpu_seconds: None, gpu_parts: None, frames: 0, end })
            }
            run => run,
        }
    }

    fn follow(&mut self, place: &Place, bounds: &Bounds<'_>) -> Result<Run> {
        let scene = Scene::named(&self.scene, self.size)?;
        let settings = Settings {
            strain_limit: self.limit as f32,
            // Equal rules: every substep ends at the limit, with every solver.
            middle_strain: Some(self.limit as f32),
            method: Method::named(&self.solver).with_context(|| format!("no solver is {}", self.solver))?,
            substeps: self.substeps.map_or(scene.settings.substeps, Substeps::Fixed),
            ..scene.settings.clone()
        };
        let gravity = settings.gravity.map(f64::from);
        let (scene_hash, printed) = (fingerprint(&scene), format!("{settings:?}"));
        // The first time without the pipelines that others have compiled.
        let gpu = match &place.gpu {
            Some(gpu) if self.outcome.is_none() => Some(Gpu::new(gpu.device(), gpu.queue())?.timed()),
            other => other.clone(),
        };
        let scene = scene.with_settings(settings);
        let clock = Instant::now();
        let mut cloth = match &gpu {
            Some(gpu) => Cloth::on_gpu(gpu, scene)?,
            None => Cloth::on_cpu(scene)?,
        };
        let compile = clock.elapsed().as_secs_f64();
        cloth.set_cancel(Some(bounds.cancel.clone()));
        let mut outcome = Outcome { compile, scene_hash, settings: printed, ..Outcome::default() };
        outcome.vertices = cloth.mesh().vertex_count() as u64;
        let input = FrameInput { dt: (1.0 / FPS) as f32, ..Default::default() };
        let clock = Instant::now();
        cloth.step(&input)?;
        outcome.first_step = clock.elapsed().as_secs_f64();
        let start = energy(&cloth, gravity)?;
        let (mut bytes, mut seconds, mut frames) = (0, 0.0, 0);
        let mut end = End::Done;
        let mut gpu_seconds = Some(0.0);
        let mut gpu_parts = Some(Parts::default());
        outcome.executed_dispatches = Some(0);
        while frames < self.frames {
            let clock = Instant::now();
            let watch = (self.alone && place.gpu.is_none()).then(Stopwatch::start);
            cloth.step(&input)?;
            seconds += watch.map_or_else(|| clock.elapsed().as_secs_f64(), |watch| watch.seconds());
            gpu_seconds = gpu_seconds.zip(cloth.gpu_seconds()).map(|(sum, one)| sum + one);
            gpu_parts = gpu_parts.and_then(|sum| sum.and(&cloth));
            frames += 1;
            let report = cloth.snapshot()?.report;
            outcome.over += u32::from(report.converged != Some(true));
            if let Some(strain) = &report.strain {
                outcome.strain_max = outcome.strain_max.max(strain.max);
                outcome.strain_p99 = outcome.strain_p99.max(strain.p99);
            }
            outcome.substeps += u64::from(report.substeps);
            outcome.iterations += u64::from(report.iterations);
            outcome.inner_iterations += u64::from(report.inner_iterations);
            outcome.elastic_iterations += u64::from(report.elastic_iterations);
            outcome.dispatches += report.dispatches;
            outcome.recorded_dispatches += report.recorded_dispatches;
            let executed = outcome.executed_dispatches.zip(report.executed_dispatches);
            outcome.executed_dispatches = executed.map(|(sum, one)| sum + one);
            bytes += cloth.bytes_moved();
            end = bounds.end(&outcome, bytes, seconds, frames < self.frames);
            if end != End::Done {
                break;
            }
        }
        outcome.bytes = place.gpu.is_none().then_some(bytes);
        outcome.drift = Some((energy(&cloth, gravity)? - start) / scale(&cloth, gravity));
        Ok(Run { outcome, seconds, gpu_seconds, gpu_parts, frames, end })
    }

    /// The row of a finished run; `None` if there was no repetition.
    pub(crate) fn row(self, suite: &str, places: &[Place], file: &ResultFile) -> Option<Row> {
        let place = &places[self.place];
        let outcome = self.outcome?;
        let time = samples(&self.seconds, f64::from(self.frames) / FPS)?;
        let bandwidth = file.bandwidth(&place.label);
        let simulated = f64::from(self.frames) / FPS;
        let timed = self.gpu_seconds.len() == self.seconds.len();
        let gpu_seconds = timed.then(|| samples(&self.gpu_seconds, simulated)).flatten();
        let fraction =
            outcome.bytes.zip(bandwidth).map(|(bytes, most)| bytes as f64 / (time.median * simulated) / most);
        Some(Row {
            suite: suite.to_owned(),
            scene: self.scene,
            size: self.size,
            vertices: outcome.vertices,
            solver: self.solver,
            place: place.label.clone(),
            scene_hash: outcome.scene_hash,
            settings: outcome.settings,
            strain_limit: self.limit,
            strain_max: outcome.strain_max,
            strain_p99: outcome.strain_p99,
            held: outcome.over == 0,
            frames: self.frames,
            frames_over: outcome.over,
            seconds_per_second: time,
            gpu_seconds,
            gpu_parts: self.gpu_parts.filter(|_| timed).map(|parts| parts.per(simulated)),
            substeps: outcome.substeps,
            iterations: outcome.iterations,
            inner_iterations: outcome.inner_iterations,
            elastic_iterations: outcome.elastic_iterations,
            dispatches: outcome.dispatches,
            recorded_dispatches: outcome.recorded_dispatches,
            executed_dispatches: outcome.executed_dispatches,
            bytes_moved: outcome.bytes,
            roofline_fraction: fraction,
            energy_drift: outcome.drift,
            first_step_seconds: outcome.first_step,
            compile_seconds: place.gpu.is_some().then_some(outcome.compile),
            detail: None,
        })
    }
}

/// What only the suite `paper` asks.
#[cfg(feature = "validate")]
impl Bench {
    /// Times of one thread, whatever else runs on the machine.
    pub(crate) fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// The name of its solver.
    pub(crate) fn solver(&self) -> &str {
        &self.solver
    }

    /// Looks for the number of substeps with which the limit is held and the fewest bytes are moved, which is what the
    /// time goes into, and unlike the time is the same in every search. Leaves the choice to the cloth if there is
    /// none.
    ///
    /// The clock alone ends no search: more substeps may need fewer sweeps in all.
    pub(crate) fn search_substeps(&mut self, budget: f64, cancel: &Cancel) -> Result<()> {
        let nowhere = Place { gpu: None, label: String::new(), software: false };
        let clock = Instant::now();
        let (mut best, mut bytes) = (None, u64::MAX);
        for substeps in [4, 8, 16, 32, 64, 128] {
            if cancel.is_cancelled() || clock.elapsed().as_secs_f64() > 2.0 * budget {
                break;
            }
            self.substeps = Some(substeps);
            let run = self.simulate(&nowhere, &Bounds { budget, bytes, hold: true, cancel })?;
            match (run.end, run.outcome.bytes) {
                (End::Done, Some(moved)) => (best, bytes) = (Some(substeps), moved),
                (End::Slower, _) => break,
                _ => {}
            }
        }
        self.substeps = best;
        Ok(())
    }

    /// Substeps per frame, if they were searched for.
    pub(crate) fn chosen_substeps(&self) -> Option<u32> {
        self.substeps
    }

    /// Seconds of computing in all repetitions so far.
    pub(crate) fn spent(&self) -> f64 {
        self.seconds.iter().sum()
    }

    /// Whether a repetition was given up by the clock.
    pub(crate) fn is_over_budget(&self) -> bool {
        self.over_budget
    }
}

/// Fingerprint of a scene: the bits of its mesh, where it starts, and its solids.
pub(crate) fn fingerprint(scene: &Scene) -> String {
    let mut checksum = Checksum::default();
    let mesh = &scene.mesh;
    for x in mesh.positions().iter().chain(&scene.start).flatten().chain(mesh.masses()) {
        checksum.add(&x.to_le_bytes());
    }
    for link in mesh.edges().iter().chain(mesh.springs()) {
        for word in [link.tail, link.head, link.rest.to_bits(), link.stiffness.to_bits()] {
            checksum.add(&word.to_le_bytes());
        }
    }
    for pin in mesh.pins() {
        checksum.add(&pin.to_le_bytes());
    }
    for solid in &scene.solids {
        let shape = match &solid.shape {
            SolidShape::Grid(grid) => format!("{:?} {:?} {}", grid.origin(), grid.counts(), grid.spacing()),
            shape => format!("{shape:?}"),
        };
        let Solid { pose, velocity, angular_velocity, thickness, friction, restitution, .. } = solid;
        let motion = format!("{pose:?} {velocity:?} {angular_velocity:?}");
        checksum.add(format!("{shape} {motion} {thickness} {friction} {restitution}").as_bytes());
        if let SolidShape::Grid(grid) = &solid.shape {
            grid.distances().iter().for_each(|distance| checksum.add(&distance.to_le_bytes()));
        }
    }
    format!("{:016x}", checksum.value())
}

/// Kinetic and potential energy of the cloth \[J\]. What drag, damping and projection take shows as a loss.
fn energy(cloth: &Cloth, gravity: [f64; 3]) -> Result<f64> {
    let positions = cloth.snapshot()?.positions;
    let velocities = cloth.velocities()?;
    let one = |((x, v), m): ((&[f32; 3], &[f32; 3]), &f32)| {
        let speed: f64 = v.iter().map(|v| f64::from(*v).powi(2)).sum();
        let height: f64 = x.iter().zip(gravity).map(|(x, g)| f64::from(*x) * g).sum();
        f64::from(*m) * (0.5 * speed - height)
    };
    Ok(positions.iter().zip(&velocities).zip(cloth.mesh().masses()).map(one).sum())
}

/// m g · 1 m: what the change of energy is measured by \[J\].
fn scale(cloth: &Cloth, gravity: [f64; 3]) -> f64 {
    let mass: f64 = cloth.mesh().masses().iter().map(|m| f64::from(*m)).sum();
    let g = gravity.iter().map(|g| g * g).sum::<f64>().sqrt();
    if g > 0.0 { mass * g } else { mass }
}

/// Elements of each list of the CPU's stream.
const STREAM: usize = 1 << 22;

/// Bytes per second of a triad a = b + s c on all threads, the best of several.
pub(crate) fn cpu_bandwidth() -> f64 {
    let (b, c) = (vec![1.0f32; STREAM], vec![2.0f32; STREAM]);
    let mut a = vec![0.0f32; STREAM];
    let mut best = 0.0f64;
    for turn in 0..6 {
        let factor = turn as f32;
        let clock = Instant::now();
        a.par_chunks_mut(1 << 15).enumerate().for_each(|(chunk, a)| {
            let first = chunk << 15;
            for ((a, b), c) in a.iter_mut().zip(&b[first..]).zip(&c[first..]) {
                *a = b + factor * c;
            }
        });
        best = best.max((12 * STREAM) as f64 / clock.elapsed().as_secs_f64());
    }
    std::hint::black_box(&a);
    best
}

/// Bytes per second of copies between buffers of the adapter, read and write counted; `None` if it fails.
pub(crate) fn adapter_bandwidth(gpu: &Gpu) -> Option<f64> {
    // Beyond the caches of any GPU, within wgpu's default limits.
    let size = 1u64 << 27;
    let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let buffer = |label| {
        let label = Some(label);
        gpu.device().create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false })
    };
    let (a, b) = (buffer("taut stream a"), buffer("taut stream b"));
    let mut best = 0.0f64;
    for copies in [1u32, 4, 4, 4] {
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for turn in 0..copies {
            let (from, to) = if turn % 2 == 0 { (&a, &b) } else { (&b, &a) };
            encoder.copy_buffer_to_buffer(from, 0, to, 0, size);
        }
        let clock = Instant::now();
        gpu.queue().submit([encoder.finish()]);
        gpu.device().poll(wgpu::PollType::wait_indefinitely()).ok()?;
        best = best.max(2.0 * (size * u64::from(copies)) as f64 / clock.elapsed().as_secs_f64());
    }
    Some(best)
}
