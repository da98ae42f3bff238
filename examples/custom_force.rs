//! A force of your own: a kernel in WGSL, the same in Rust, a field for its data, recorded as a stage.
//!
//! `cargo run --example custom_force` attracts a sheet to a point, with a strength of its own at every vertex. The
//! stage runs on the CPU and, where there is an adapter, on the GPU; `lockstep::compare` holds one against the other
//! after every dispatch, as the library's own kernels are tested.

use std::sync::Arc;

use taut::engine::cpu::Run;
use taut::engine::fields::{Domain, Spec};
use taut::engine::lockstep;
use taut::engine::program::Kernel;
use taut::engine::source::{Constant, Source};
use taut::stage::Recorder;
use taut::stage::Stage;
use taut::stage::fields::{self, Vertex};
use taut::{Backend, Cloth, FrameInput, Settings, scene};

/// Where the sheet is drawn to \[m\].
const TARGET: [f32; 3] = [0.5, 0.3, 0.5];

/// Adds `user_strengths[v] (target − x)` to the force on each vertex \[N\]. Fields are bound by their names.
static ATTRACT: Kernel = Kernel::new("attract", &SOURCE, |run: &mut Run<'_>| {
    let vertices = run.read::<Vertex>("vertices")?;
    let strengths = run.read::<f32>("user_strengths")?;
    let mut forces = run.write::<[f32; 4]>("forces")?;
    for v in run.range() {
        let position = vertices[v].position();
        for axis in 0..3 {
            forces[v][axis] += strengths[v] * (TARGET[axis] - position[axis]);
        }
    }
    Ok(())
});

/// The same in WGSL, most often a file of its own by `include_str!`. Numbers of Rust's reach it as constants.
static SOURCE: Source = Source::new(
    "attract",
    "@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
     @group(0) @binding(1) var<storage, read> user_strengths: array<f32>;
     @group(0) @binding(2) var<storage, read_write> forces: array<vec4<f32>>;
     @compute @workgroup_size(GROUP) fn attract(invocation: Invocation) {
         let v = element(invocation);
         if (!running() || v >= range.end) { return; }
         let way = vec3<f32>(TARGET_X, TARGET_Y, TARGET_Z) - vertices[v].position;
         forces[v] += vec4<f32>(user_strengths[v] * way, 0.0);
     }",
)
// What all kernels of cloth share: `Vertex`, `frame`, `clock`.
.shares(&[&fields::SOURCE])
.constants(&[
    ("TARGET_X", Constant::F32(TARGET[0])),
    ("TARGET_Y", Constant::F32(TARGET[1])),
    ("TARGET_Z", Constant::F32(TARGET[2])),
]);

#[derive(Debug)]
struct Attraction;

impl Stage for Attraction {
    fn fields(&self) -> Vec<Spec> {
        vec![Spec::of::<f32>("user_strengths", Domain::VERTICES, "strength of the attraction [N/m]")]
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&ATTRACT, Domain::VERTICES);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings { stages: vec![Arc::new(Attraction)], drag: 2.0, ..Default::default() };
    let sheet = || scene::sheet(16);
    // Stronger towards the middle; in the mean a little more than the weight at 0.3 m.
    let strengths: Vec<f32> = sheet()?.start.iter().map(|[x, _, z]| 0.05 * (x * (1.0 - x) + z * (1.0 - z))).collect();

    let mut cloth = Cloth::on_cpu(sheet()?.with_settings(settings.clone()))?;
    cloth.set_user_field("user_strengths", &strengths)?;
    for _ in 0..60 {
        cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
    }
    let snapshot = cloth.snapshot()?;
    let height = |positions: &[[f32; 3]]| positions.iter().map(|x| x[1]).sum::<f32>() / positions.len() as f32;
    println!("after 1 s the sheet is at {:.3} m; without the force it were at -3 m", height(&snapshot.positions));
    println!("largest strain {:.3e}", snapshot.report.strain.map_or(f64::NAN, |strain| strain.max));

    if let Some(gpu) = Backend::Gpu.choose(None).ok().and_then(|choice| choice.gpu) {
        let mut fields = cloth.fields().ok_or("the cloth is on the CPU")?.clone();
        let agreement = lockstep::compare(&gpu, cloth.program(), &mut fields, 100)?;
        assert!(agreement.kernels.contains(&"attract"));
        println!("CPU and GPU agree after each of {} dispatches", agreement.dispatches);

        let mut there = Cloth::on_gpu(&gpu, sheet()?.with_settings(settings))?;
        there.set_user_field("user_strengths", &strengths)?;
        for _ in 0..60 {
            there.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
        }
        println!("on the GPU it is at {:.3} m", height(&there.snapshot()?.positions));
    }
    Ok(())
}
