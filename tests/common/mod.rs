//! What several test files need.
#![allow(dead_code, reason = "every test file uses its own part of it")]

use std::sync::Arc;

use taut::solid::{Grid, icosphere};
use taut::{
    Cloth, Elasticity, FastProjection, FrameInput, Gpu, Hold, Mesh, MeshDescriptor, Method, Preconditioner, Scene,
    Settings, Solid, SolidShape, Stepping, Substeps, Wind, YarnSweep, wgpu,
};

/// Every adapter that computes, opened with default limits and no feature. A missing one is said aloud, and is a
/// failure where `TAUT_REQUIRE_GPU=1`.
pub(crate) fn gpus() -> Vec<Gpu> {
    let adapters = pollster::block_on(Gpu::adapters());
    let gpus: Vec<Gpu> = adapters
        .iter()
        .filter(|a| Gpu::check(a).is_ok())
        .filter_map(|a| pollster::block_on(Gpu::open(a)).ok())
        .collect();
    for gpu in &gpus {
        println!("adapter: {}", name(gpu));
    }
    if gpus.is_empty() {
        println!("SKIPPED: there is no adapter that computes");
        assert!(!gpu_required(), "TAUT_REQUIRE_GPU=1, but there is no adapter that computes");
    }
    gpus
}

/// The first adapter that computes.
pub(crate) fn gpu() -> Option<Gpu> {
    gpus().into_iter().next()
}

pub(crate) fn gpu_required() -> bool {
    std::env::var("TAUT_REQUIRE_GPU").is_ok_and(|value| value == "1")
}

pub(crate) fn name(gpu: &Gpu) -> String {
    gpu.adapter().map_or_else(|| "unknown".into(), Gpu::label)
}

/// Every built-in solver.
pub(crate) fn methods() -> impl Iterator<Item = (&'static str, Method)> {
    solvers().map(|name| (name, method(name)))
}

/// Names of the built-in solvers, and of their variants with other kernels.
pub(crate) fn solvers() -> impl Iterator<Item = &'static str> {
    Method::NAMES.into_iter().chain([LINES, POINTS])
}

const LINES: &str = "fast-projection with lines";
const POINTS: &str = "fast-projection with the diagonal";

/// The solver of a name that [`solvers`] lists.
pub(crate) fn method(name: &str) -> Method {
    if name == LINES || name == POINTS {
        let preconditioner = if name == LINES { Preconditioner::Lines } else { Preconditioner::Jacobi };
        return Method::FastProjection(FastProjection { preconditioner, ..Default::default() });
    }
    Method::named(name).expect("a listed name is known")
}

pub(crate) fn frame(dt: f32) -> FrameInput<'static> {
    FrameInput { dt, ..Default::default() }
}

pub(crate) const FRAME: f32 = 1.0 / 60.0;

/// A cloth on the CPU.
pub(crate) fn cpu(scene: Scene, settings: Settings) -> Cloth {
    Cloth::on_cpu(scene, settings).expect("the scene and the settings are valid")
}

/// Mean position of all vertices.
pub(crate) fn center(positions: &[[f32; 3]]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for position in positions {
        for (sum, x) in sum.iter_mut().zip(position) {
            *sum += f64::from(*x) / positions.len() as f64;
        }
    }
    sum
}

/// A limit-lowered device on the first adapter that computes.
pub(crate) fn gpu_with(limits: wgpu::Limits) -> Option<Gpu> {
    let adapters = pollster::block_on(Gpu::adapters());
    let adapter = adapters.iter().find(|a| Gpu::check(a).is_ok())?;
    let descriptor = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).ok()?;
    pollster::block_on(Gpu::new(&device, &queue)).ok()
}

/// A cloth on the CPU for every solver on every built-in scene of a size.
pub(crate) fn cloths(size: u32) -> Vec<(String, Cloth)> {
    let mut cloths = Vec::new();
    for (solver, _) in methods() {
        for name in taut::scene::NAMES {
            let method = method(solver);
            let scene = Scene::named(name, size).expect("a listed name is known");
            cloths.push((format!("{solver} {name}"), cpu(scene, Settings { method, ..Default::default() })));
        }
    }
    assert!(!cloths.is_empty(), "there are no solvers or no scenes");
    // What the defaults do not use on small meshes; chords need yarns of eight edges.
    for name in taut::scene::NAMES {
        let scene = Scene::named(name, size.max(9)).expect("a listed name is known");
        cloths.push((format!("everything else {name}"), cpu(scene.clone(), everything_else())));
        cloths.push((format!("windy {name}"), cpu(scene.clone(), windy())));
        cloths.push((format!("warm {name}"), cpu(scene, Settings { method: warm(), ..Default::default() })));
    }
    for (name, elasticity) in [("explicit", Elasticity::Explicit), ("implicit", Elasticity::Implicit)] {
        let settings = Settings { elasticity, ..Default::default() };
        let mut cloth = crowded(size.max(9), settings);
        // Holds are recorded with the frame that needs them.
        cloth.step(&frame(FRAME)).expect("the step runs");
        cloths.push((format!("crowded {name}"), cloth));
    }
    cloths
}

/// A curved sheet with hinges among solids of every kind that move, with every kind of hold.
pub(crate) fn crowded(size: u32, settings: Settings) -> Cloth {
    let flat = taut::scene::sheet(size).expect("a known scene").mesh;
    let bent = |[x, _, z]: &[f32; 3]| [0.5 + 0.5 * (x - 0.5).sin(), 0.5 * (x - 0.5).cos(), *z];
    let start: Vec<[f32; 3]> = flat.positions().iter().map(bent).collect();
    let mesh = Mesh::new(MeshDescriptor {
        positions: start.clone(),
        faces: flat.faces().to_vec(),
        bending: 1e-3,
        curved: true,
        ..Default::default()
    });
    let mut scene = Scene::new("crowded", mesh.expect("the sheet is valid"), start);
    let grid = Grid::bake(&icosphere(0.2, 2), 16, 1 << 20).expect("a small grid");
    for (number, (shape, at)) in [
        (SolidShape::Sphere { radius: 0.2 }, [0.3, 0.27, 0.3]),
        (SolidShape::Capsule { radius: 0.1, half_length: 0.2 }, [0.7, 0.17, 0.7]),
        (SolidShape::Box { half: [0.1, 0.15, 0.2] }, [0.7, 0.32, 0.2]),
        (SolidShape::Grid(Arc::new(grid)), [0.3, 0.27, 0.7]),
        (SolidShape::Plane, [0.0, -0.2, 0.0]),
    ]
    .into_iter()
    .enumerate()
    {
        let turn = 0.3 * number as f32;
        scene.solids.push(Solid {
            velocity: [0.1, 0.2, -0.1],
            angular_velocity: [turn, 0.5, -turn],
            thickness: 0.01,
            restitution: 0.2 * number as f32,
            ..Solid::new(shape).at(at)
        });
    }
    let mut cloth = cpu(scene, settings);
    cloth.hold(&[0], Hold::Fixed).expect("a free vertex");
    cloth.hold(&[size - 1], Hold::Line { direction: [1.0, 2.0, 0.5] }).expect("a free vertex");
    cloth.hold(&[size * size - 1, size * size - size], Hold::Plane { normal: [0.1, 1.0, 0.3] }).expect("free vertices");
    cloth
}

/// Fast projection with a warm start, which is for motion without violence.
pub(crate) fn warm() -> Method {
    Method::FastProjection(FastProjection { warm_start: Some(1.0), ..Default::default() })
}

/// Settings with the parts that the defaults do not use on small meshes.
pub(crate) fn everything_else() -> Settings {
    Settings {
        method: Method::YarnSweep(YarnSweep { chords_from: 0.0, ..Default::default() }),
        elasticity: Elasticity::Implicit,
        stepping: Stepping::Bdf2,
        substeps: Substeps::UpTo(6),
        ..Default::default()
    }
}

/// Gusts from aside, and triangles that may not shear much.
pub(crate) fn windy() -> Settings {
    let wind = Wind { velocity: [2.0, 1.0, 5.0], gust: 0.5, ..Default::default() };
    Settings { wind: Some(wind), area_limit: Some([0.99, 1.01]), ..Default::default() }
}

/// Reproducible random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [low, high).
    pub(crate) fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next() >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// Uniform in 0 … count − 1.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }
}
