//! How the work of methods grows with the size of their task: the long rows of the tables whose short ones the known
//! figures have.

mod common;

use common::*;
use glam::DVec3;
use taut::reference::{ElasticStep, Hold, Particles, Spring, Stiffness, modified_pcg};
use taut::{FrameInput, GaussSeidel, Jacobi, Mass, Mesh, MeshDescriptor, Method, Scene, Settings, Substeps, scene};

/// A chain of 1 m, 10 % too long, of unit masses.
fn chain(count: u32) -> Scene {
    let mesh = Mesh::new(MeshDescriptor {
        positions: (0..count).map(|v| [v as f32 / (count - 1) as f32, 0.0, 0.0]).collect(),
        lines: (1..count).map(|v| [v - 1, v]).collect(),
        mass: Mass::PerVertex(vec![1.0; count as usize]),
        pins: vec![0],
        ..Default::default()
    });
    let mesh = mesh.expect("the chain is valid");
    let start = mesh.positions().iter().map(|[x, y, z]| [1.1 * x, *y, *z]).collect();
    Scene::new("chain", mesh, start)
}

/// A sheet that hangs by its row z = 0, 5 % too long, of unit masses.
fn sheet(size: u32) -> Scene {
    let curtain = scene::curtain(size).expect("a scene");
    let mesh = Mesh::new(MeshDescriptor {
        positions: curtain.mesh.positions().to_vec(),
        faces: curtain.mesh.faces().to_vec(),
        mass: Mass::PerVertex(vec![1.0; curtain.start.len()]),
        pins: curtain.mesh.pins().to_vec(),
        shear: 0.0,
        ..Default::default()
    });
    let start = curtain.start.iter().map(|[x, y, z]| [*x, *y, 1.05 * z]).collect();
    Scene::new("sheet", mesh.expect("the sheet is valid"), start)
}

/// Sweeps to 1 %, counted one by one.
fn sweeps(scene: Scene, method: Method) -> f64 {
    let settings = Settings { method, gravity: [0.0; 3], substeps: Substeps::Fixed(1), ..Default::default() };
    let mut cloth = cpu(scene, settings);
    cloth.step(&FrameInput { dt: 1e-3, ..Default::default() }).expect("the step runs");
    let report = cloth.snapshot().expect("a snapshot").report;
    assert_eq!(report.converged, Some(true), "{report:?}");
    report.iterations.into()
}

fn gauss_seidel() -> Method {
    Method::GaussSeidel(GaussSeidel { sweeps: 100_000, sweeps_per_check: 1, seed: None })
}

fn jacobi() -> Method {
    Method::Jacobi(Jacobi { sweeps: 100_000, sweeps_per_check: 1, blend: 0.2, ..Default::default() })
}

/// Twice the edges, four times the sweeps: the chain of 80 vertices, and sheets of 41 and 71 rows.
#[test]
fn point_methods_take_the_square_of_the_size() {
    for (found, printed, part) in [
        (sweeps(chain(80), gauss_seidel()), 8212.0, 0.02),
        (sweeps(sheet(41), gauss_seidel()), 1661.0, 0.02),
        (sweeps(sheet(71), gauss_seidel()), 5073.0, 0.02),
        // Jacobi's counts of the table weigh the ends of a chain a little less: 5, 2.4 and 1.2 % at 20, 40 and 80.
        (sweeps(chain(80), jacobi()), 28097.0, 0.02),
        (sweeps(sheet(41), jacobi()), 10067.0, 0.02),
    ] {
        println!("{found} of {printed}");
        assert!((found - printed).abs() <= part * printed, "{found} instead of {printed}");
    }
}

/// The same edge after edge from the pin on, as the lecture has it: a sweep that carries what it found along the chain
/// needs a fifth less of them, and four times as many for twice the edges all the same.
#[test]
fn colors_cost_a_quarter_more_sweeps_than_a_chain_in_its_order() {
    for (count, printed) in [(20, 381), (40, 1588), (80, 6474)] {
        let Scene { mesh, start, .. } = chain(count);
        let mut x: Vec<f64> = start.iter().map(|[x, ..]| f64::from(*x)).collect();
        let rest = 1.0 / f64::from(count - 1);
        let strain = |x: &[f64]| x.windows(2).map(|ends| ((ends[1] - ends[0]) / rest - 1.0).abs()).fold(0.0, f64::max);
        let mut serial = 0;
        while strain(&x) > 0.01 {
            for k in 1..x.len() {
                let w = [k - 1, k].map(|v| f64::from(mesh.inverse_masses()[v]));
                let pull = (x[k] - x[k - 1] - rest) / (w[0] + w[1]);
                x[k - 1] += w[0] * pull;
                x[k] -= w[1] * pull;
            }
            serial += 1;
        }
        assert_eq!(serial, printed, "{count} vertices");
        let colored = sweeps(chain(count), gauss_seidel()) / f64::from(serial);
        println!("{count} vertices: {serial}, {colored} as many by colors");
        assert!((1.2..1.3).contains(&colored), "{count} vertices: {colored}");
    }
}

/// A curtain as Baraff & Witkin have it (1998, section 5): springs along threads and diagonals, implicit, one step from
/// rest under a load in its plane, where it is stiff; the number of iterations to 0.1 %.
fn elastic_iterations(size: u32, penalty: bool) -> f64 {
    let scene = scene::curtain(size).expect("a scene");
    let masses = scene.mesh.masses().iter().map(|mass| f64::from(*mass)).collect();
    let positions = scene.start.iter().map(|x| DVec3::from_array(x.map(f64::from))).collect();
    let mut particles = Particles::new(masses, positions);
    let spring = |stiffness: f64| {
        move |link: &taut::mesh::Link| Spring {
            tail: link.tail as usize,
            head: link.head as usize,
            rest: link.rest.into(),
            stiffness,
            damping: 0.0,
        }
    };
    let mut springs: Vec<Spring> = scene.mesh.edges().iter().map(spring(1000.0)).collect();
    springs.extend(scene.mesh.springs().iter().map(spring(20.0)));
    for pin in scene.mesh.pins().iter().map(|pin| *pin as usize) {
        if !penalty {
            particles.holds[pin] = Hold::Fixed;
            continue;
        }
        // Three springs to places that are held, ten times as stiff as a thread.
        for way in [DVec3::X, DVec3::Y, DVec3::Z] {
            particles.masses.push(1.0);
            particles.positions.push(particles.positions[pin] + 0.1 * way);
            particles.velocities.push(DVec3::ZERO);
            particles.holds.push(Hold::Fixed);
            particles.z.push(DVec3::ZERO);
            let tail = particles.masses.len() - 1;
            springs.push(Spring { tail, head: pin, rest: 0.1, stiffness: 10_000.0, damping: 0.0 });
        }
    }
    let loads: Vec<DVec3> = particles.masses.iter().map(|mass| *mass * DVec3::new(3.0, 0.0, 9.81)).collect();
    let step = ElasticStep::new(&particles, &springs, &loads, 1.0 / 60.0, Stiffness::Definite).expect("a step");
    let solution = modified_pcg(&step, 1e-3, 100_000);
    solution.iterations as f64
}

/// Holds by filtering cost about as many iterations as pins that are stiff springs under plain conjugate gradients, and
/// with n vertices both take about √n, so that a solve takes n^1.5.
#[test]
fn elastic_solves_grow_as_baraff_and_witkin_say() {
    let sizes = [20, 40, 80];
    let [held, sprung] = [false, true].map(|penalty| sizes.map(|size| elastic_iterations(size, penalty)));
    println!("{held:?} held, {sprung:?} by springs");
    let exponent = (held[2] / held[0]).ln() / (f64::from(sizes[2]) / f64::from(sizes[0])).powi(2).ln();
    println!("{held:?} held, {sprung:?} by springs: a solve takes n^{:.2}", 1.0 + exponent);
    assert!((1.3..=1.7).contains(&(1.0 + exponent)), "{held:?}");
    for (held, sprung) in held.into_iter().zip(sprung) {
        assert!((0.7..=1.4).contains(&(held / sprung)), "{held} and {sprung} iterations");
    }
}
