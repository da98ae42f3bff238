//! A whole step against its solution in f64 by direct factorisation.

use super::subjects::solvers;
use super::{Check, Depth, Failure, Seen, Subject};
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Substeps;
use crate::cloth::{Cloth, FrameInput};
use crate::error::Result;
use crate::mesh::{Mass, Mesh, MeshDescriptor};
use crate::reference::{self, System};
use crate::scene::Scene;
use crate::solver::{FastProjection, Method};

const GRAVITY: [f32; 3] = [0.0, -9.81, 0.0];
/// Length of the step \[s\].
const STEP: f32 = 1.0 / 256.0;
const SIZE: u32 = 11;
/// Where the box is 1 m: half a rounding step of 6e-8 m is unavoidable, and solves to 1e-6 of corrections of
/// millimetres add some 1e-8 m.
const POSITION: f64 = 2e-7;
/// A displacement keeps its own 24 bits, so a velocity does not feel the rounding of positions: what is left is the
/// solve, 1e-6 of corrections of some m/s.
const VELOCITY: f64 = 3e-5;

pub(super) fn checks(_: Depth) -> Vec<Check> {
    let mut list = Vec::new();
    for (solver, method) in solvers() {
        // The others do not solve the paper's equations.
        let Method::FastProjection(projection) = method else { continue };
        for name in ["curtain", "hang", "sheet"] {
            list.push(Check::new(format!("direct/{solver}/{name}"), {
                let projection = projection.clone();
                move |subject| step(subject, projection.clone(), name)
            }));
        }
    }
    list
}

fn step(subject: &Subject, projection: FastProjection, name: &str) -> Result<Seen, Failure> {
    let scene = wavy(name)?;
    // The judge projects to C = 0, as the paper does.
    let method = FastProjection { iterations: 4, tolerance: 1e-6, step_clamp: 10.0, slack: 0.0, ..projection };
    let settings = Settings {
        method: Method::FastProjection(method),
        gravity: GRAVITY,
        strain_limit: 1e-5,
        substeps: Substeps::Fixed(1),
        ..Default::default()
    };
    let velocities = velocities(&scene);
    let mut cloth = Cloth::on_gpu(subject.gpu(), scene.clone().with_settings(settings))?;
    cloth.set_state(&scene.start, &velocities)?;
    cloth.step(&FrameInput { dt: STEP, ..Default::default() })?;
    let found = cloth.snapshot()?;
    let iterations = found.report.iterations as usize;

    let mut judge = System::of_scene(&scene)?;
    let mut expected: Vec<[f64; 3]> = velocities.iter().map(|v| v.map(f64::from)).collect();
    let mut projector = reference::FastProjection { limit: 0.0, budget: iterations, at_least: iterations };
    reference::step(&mut judge, &mut expected, GRAVITY.map(f64::from), STEP.into(), &mut projector);

    let position = farthest(&found.positions, &judge.positions);
    let velocity = farthest(&cloth.velocities()?, &expected);
    Failure::unless_at_most("the largest error of a position [m]", position, POSITION)?;
    Failure::unless_at_most("the largest error of a velocity [m/s]", velocity, VELOCITY)?;
    if iterations < 2 {
        return Err(Failure::new(format!("{iterations} projections are too few to judge")));
    }
    let text = format!("{iterations} projections, {position:.1e} m and {velocity:.1e} m/s from the direct solution");
    Ok(Seen::new(text))
}

/// A scene without springs, which the judge does not know; a flat one in waves.
fn wavy(name: &str) -> Result<Scene> {
    let mut scene = Scene::named(name, SIZE)?;
    if name == "curtain" {
        scene.start.iter_mut().for_each(|[x, y, z]| *y = -0.2 * *z * (7.0 * *x).sin());
    }
    scene.mesh = Mesh::new(MeshDescriptor {
        positions: scene.mesh.positions().to_vec(),
        faces: scene.mesh.faces().to_vec(),
        mass: Mass::PerVertex(scene.mesh.masses().to_vec()),
        pins: scene.mesh.pins().to_vec(),
        shear: 0.0,
        ..Default::default()
    })?;
    Ok(scene)
}

/// Up to 0.5 m/s in all directions, the same every time; 0 at pins.
fn velocities(scene: &Scene) -> Vec<[f32; 3]> {
    let one = |vertex: usize, axis: usize| {
        // The golden ratio spreads multiples of itself evenly over the unit interval.
        let turn = (3 * vertex + axis) as f64 * 0.618_033_988_749_895;
        (turn - turn.floor() - 0.5) as f32
    };
    let mut list: Vec<[f32; 3]> =
        (0..scene.start.len()).map(|vertex| [0, 1, 2].map(|axis| one(vertex, axis))).collect();
    for pin in scene.mesh.pins() {
        list[*pin as usize] = [0.0; 3];
    }
    list
}

fn farthest(a: &[[f32; 3]], b: &[[f64; 3]]) -> f64 {
    let each = a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (f64::from(*a) - b).abs());
    // `f64::max` forgets NaN.
    each.fold(0.0, |most, x| if x.is_nan() { f64::INFINITY } else { most.max(x) })
}
