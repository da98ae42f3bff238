//! Where a figure is computed, what it is made of, and how it is compared.

use std::fmt::Display;
use std::sync::Arc;

use super::super::{Failure, Seen};
use crate::cloth::report::Snapshot;
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Substeps;
use crate::cloth::{Cloth, FrameInput};
use crate::engine::cpu::{self, Run};
use crate::engine::fields::{Domain, Fields};
use crate::engine::gpu::Gpu;
use crate::engine::gpu::readback::Waiting;
use crate::engine::gpu::runner::Runner;
use crate::engine::program::{Dispatch, Item, Kernel, Program};
use crate::engine::source::Source;
use crate::error::Result;
use crate::mesh::{Link, Mass, Mesh, MeshDescriptor};
use crate::scene::Scene;
use crate::solver::{FastProjection, GaussSeidel, Jacobi, Method};
use crate::stage::fields::Vertex;
use crate::stage::{Recorder, Stage};

/// A step whose length is a power of two, so that products with it are exact \[s\].
pub(super) const H: f32 = 1.0 / 64.0;
/// The smallest limit there is: nothing stops early.
pub(super) const LEAST: f32 = 2e-6;
/// Acceleration of gravity, as settings have it by default \[m/s²\].
pub(super) const G: f64 = 9.81;

/// Where a figure is computed.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// By the Rust bodies.
    Cpu,
    /// By the shaders, on a device.
    Gpu(&'a Gpu),
}

/// One run of a figure: makes cloths, compares, and remembers how near the bounds came.
#[derive(Debug)]
pub struct Trial<'a> {
    place: Place<'a>,
    disturbed: bool,
    compared: u32,
    worst: f64,
}

impl<'a> Trial<'a> {
    pub(super) fn new(place: Place<'a>) -> Self {
        Self { place, disturbed: false, compared: 0, worst: 0.0 }
    }

    pub(super) fn disturbed(place: Place<'a>) -> Self {
        Self { disturbed: true, ..Self::new(place) }
    }

    /// What was seen; a figure that compared nothing has failed.
    pub(super) fn seen(&self) -> Result<Seen, Failure> {
        if self.compared == 0 {
            return Err(Failure::new("nothing was compared"));
        }
        Ok(Seen::new(format!("{} numbers, worst {:.2} of its bound", self.compared, self.worst)))
    }

    /// Whether the Rust bodies compute it.
    pub(super) fn on_cpu(&self) -> bool {
        matches!(self.place, Place::Cpu)
    }

    /// Nothing on the CPU, which computes as it is written; on a GPU, which may reassociate, what rounding makes of it.
    pub(super) fn rounding(&self, rounded: f64) -> f64 {
        if self.on_cpu() { 0.0 } else { rounded }
    }

    /// A cloth there.
    pub(super) fn cloth(&self, scene: Scene, mut settings: Settings) -> Result<Cloth> {
        if self.disturbed {
            settings.stages.push(Arc::new(Shove));
        }
        let scene = scene.with_settings(settings);
        match self.place {
            Place::Cpu => Cloth::on_cpu(scene),
            Place::Gpu(gpu) => Cloth::on_gpu(gpu, scene),
        }
    }

    /// Runs kernels one after the other there, each over so many elements; `fields` is left as they leave it.
    pub(super) fn run_kernels(&self, fields: &mut Fields, kernels: &[(&'static Kernel, usize)]) -> Result<()> {
        fields.get_mut::<u32>("guards")?[0] = 1;
        let dispatch = |(kernel, count): &(&'static Kernel, usize)| Dispatch::new(kernel, 0..*count as u32);
        let items = kernels.iter().map(dispatch).map(Item::Dispatch).collect();
        self.run_program(fields, &Program { items })
    }

    /// Runs a program there; `fields` is left as it leaves it.
    pub(super) fn run_program(&self, fields: &mut Fields, program: &Program) -> Result<()> {
        if self.disturbed {
            for (v, vertex) in fields.get_mut::<Vertex>("vertices")?.iter_mut().enumerate() {
                vertex.position[0] += 0.01 * (1 + v % 3) as f32;
            }
        }
        let gpu = match self.place {
            Place::Cpu => return cpu::Runner::new(program, fields)?.run(program, fields).map(drop),
            Place::Gpu(gpu) => gpu,
        };
        let runner = pollster::block_on(Runner::new(gpu, program, fields))?;
        runner.submit_scoped(|encoder| runner.encode(encoder))?;
        for number in 0..fields.specs().len() {
            // Inputs are not written, and cannot be read back.
            let Ok(buffer) = runner.buffer(number) else { continue };
            if !buffer.usage().contains(wgpu::BufferUsages::COPY_SRC) {
                continue;
            }
            let bytes = pollster::block_on(runner.read(&[fields.specs()[number].name], Waiting::Block))?;
            let words: Vec<u32> = bytemuck::pod_collect_to_vec(&bytes);
            let there = fields.words_mut(number);
            let count = there.len().min(words.len());
            there[..count].copy_from_slice(&words[..count]);
        }
        Ok(())
    }

    /// One step of length [`H`] from the start, at rest.
    pub(super) fn stepped(&self, scene: Scene, settings: Settings) -> Result<Snapshot> {
        let mut cloth = self.cloth(scene, settings)?;
        step(&mut cloth, H)?;
        cloth.snapshot()
    }

    /// One step of length `h` that would end at `end` without constraints.
    pub(super) fn stepped_to(&self, scene: Scene, settings: Settings, end: &[[f32; 3]], h: f32) -> Result<Snapshot> {
        let velocities: Vec<[f32; 3]> =
            scene.start.iter().zip(end).map(|(from, to)| [0, 1, 2].map(|k| (to[k] - from[k]) / h)).collect();
        let start = scene.start.clone();
        let mut cloth = self.cloth(scene, settings)?;
        cloth.set_state(&start, &velocities)?;
        step(&mut cloth, h)?;
        cloth.snapshot()
    }

    /// Fails unless `found` is `expected` ± `tolerance`; not a number is nothing.
    pub(super) fn near(
        &mut self,
        what: impl Display,
        found: f64,
        expected: f64,
        tolerance: f64,
    ) -> Result<(), Failure> {
        self.compared += 1;
        let difference = (found - expected).abs();
        if difference <= tolerance {
            self.worst = self.worst.max(if tolerance > 0.0 { difference / tolerance } else { 0.0 });
            return Ok(());
        }
        Err(Failure::new(format!("{what}: {found} is not {expected} ± {tolerance:.1e}")))
    }

    /// Fails unless `found` is at most so much.
    pub(super) fn at_most(&mut self, what: impl Display, found: f64, most: f64) -> Result<(), Failure> {
        self.compared += 1;
        if found <= most {
            self.worst = self.worst.max(if most > 0.0 { found / most } else { 0.0 });
            return Ok(());
        }
        Err(Failure::new(format!("{what}: {found} is more than {most}")))
    }

    /// Fails unless something holds.
    pub(super) fn holds(&mut self, holds: bool, what: impl Display) -> Result<(), Failure> {
        self.compared += 1;
        if holds { Ok(()) } else { Err(Failure::new(what.to_string())) }
    }

    /// [`Trial::near`] for lists.
    pub(super) fn near_all(
        &mut self,
        what: impl Display,
        found: &[f64],
        expected: &[f64],
        tolerance: f64,
    ) -> Result<(), Failure> {
        self.holds(found.len() == expected.len(), format!("{what}: {} instead of {}", found.len(), expected.len()))?;
        found.iter().zip(expected).try_for_each(|(found, expected)| self.near(&what, *found, *expected, tolerance))
    }

    /// [`Trial::near`] for all coordinates of points.
    pub(super) fn near_points(
        &mut self,
        what: impl Display,
        found: &[[f32; 3]],
        expected: &[[f64; 3]],
        tolerance: f64,
    ) -> Result<(), Failure> {
        let found: Vec<f64> = found.iter().flatten().map(|x| f64::from(*x)).collect();
        self.near_all(what, &found, expected.as_flattened(), tolerance)
    }
}

/// One step of a length.
pub(super) fn step(cloth: &mut Cloth, dt: f32) -> Result<()> {
    cloth.step(&FrameInput { dt, ..Default::default() })
}

/// Vertices with lines between them: a rest shape, masses, pins, and where it starts.
pub(super) fn net(
    rest: &[[f32; 3]],
    lines: &[[u32; 2]],
    masses: &[f32],
    pins: &[u32],
    start: &[[f32; 3]],
) -> Result<Scene> {
    let mesh = Mesh::new(MeshDescriptor {
        positions: rest.to_vec(),
        lines: lines.to_vec(),
        mass: Mass::PerVertex(masses.to_vec()),
        pins: pins.to_vec(),
        ..Default::default()
    })?;
    Ok(Scene::new("net", mesh, start.to_vec()))
}

/// Equal masses of 1 kg along a line, neighbors 1 m apart at rest.
pub(super) fn row(start: &[[f32; 3]], pins: &[u32]) -> Result<Scene> {
    let count = start.len();
    let rest: Vec<[f32; 3]> = (0..count).map(|k| [k as f32, 0.0, 0.0]).collect();
    let lines: Vec<[u32; 2]> = (1..count as u32).map(|k| [k - 1, k]).collect();
    net(&rest, &lines, &vec![1.0; count], pins, start)
}

/// One substep per frame, no gravity.
pub(super) fn still(method: Method, strain_limit: f32) -> Settings {
    Settings { method, strain_limit, gravity: [0.0; 3], substeps: Substeps::Fixed(1), ..Default::default() }
}

/// Exactly so many projections, each solved as far as f32 goes, unclamped.
pub(super) fn fast(iterations: u32) -> Method {
    Method::FastProjection(FastProjection { iterations, tolerance: 1e-6, step_clamp: 10.0, ..Default::default() })
}

pub(super) fn sweep(sweeps: u32) -> Method {
    Method::GaussSeidel(GaussSeidel { sweeps, sweeps_per_check: 1, seed: None })
}

pub(super) fn jacobi(sweeps: u32, blend: f32) -> Method {
    Method::Jacobi(Jacobi { sweeps, sweeps_per_check: 1, relaxation: 1.0, blend, ..Default::default() })
}

pub(super) fn distance(a: [f32; 3], b: [f32; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (f64::from(b) - f64::from(*a)).powi(2)).sum::<f64>().sqrt()
}

/// Largest strain of all edges that can move, in f64, written independently of the reports.
pub(super) fn strain(mesh: &Mesh, positions: &[[f32; 3]]) -> f64 {
    let pinned = |v: u32| mesh.pins().contains(&v);
    let active = mesh.edges().iter().filter(|edge| !(pinned(edge.tail) && pinned(edge.head)));
    let strain = |edge: &Link| {
        let length = distance(positions[edge.tail as usize], positions[edge.head as usize]);
        (length / f64::from(edge.rest) - 1.0).abs()
    };
    // Not a number must not look like a small strain.
    active.map(strain).fold(0.0, |most, strain| if strain.is_nan() { f64::INFINITY } else { most.max(strain) })
}

pub(super) fn bits(positions: &[[f32; 3]]) -> Vec<[u32; 3]> {
    positions.iter().map(|position| position.map(f32::to_bits)).collect()
}

/// Reproducible numbers, uniform in an interval (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn within(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        low + (high - low) * (((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64)
    }
}

/// A push that no figure knows of, other at each vertex \[N\].
static SHOVE: Kernel = Kernel::new("shove", &SHOVE_SOURCE, |run: &mut Run<'_>| {
    let mut forces = run.write::<[f32; 4]>("forces")?;
    for v in run.range() {
        let part = (1 + v % 3) as f32;
        for (axis, x) in forces[v].iter_mut().take(3).enumerate() {
            *x += part * (1 + axis) as f32;
        }
    }
    Ok(())
});

static SHOVE_SOURCE: Source = Source::new(
    "shove",
    "@group(0) @binding(0) var<storage, read_write> forces: array<vec4<f32>>;
     @compute @workgroup_size(GROUP) fn shove(invocation: Invocation) {
         let v = element(invocation);
         if (!running() || v >= range.end) { return; }
         forces[v] += f32(1u + v % 3u) * vec4<f32>(1.0, 2.0, 3.0, 0.0);
     }",
);

#[derive(Debug)]
struct Shove;

impl Stage for Shove {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&SHOVE, Domain::VERTICES);
    }
}
