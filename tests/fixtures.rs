//! Small figures with known results, on the kernels' CPU bodies in single precision, through the public interface.
//!
//! The names K1 … K11, Q1 … Q4b, L5 … L8, X8, X9 are those of the notes that the figures come from. Their
//! double-precision counterparts are in `reference.rs`. What is asserted here to 2e-6 comes from values of order 1 in
//! f32: one rounding is 6e-8, and a figure takes a few tens of operations.

mod common;

use common::*;
use glam::Vec3;
use taut::cpu::Runner;
use taut::fields::Fields;
use taut::params::Link;
use taut::program::{Dispatch, Item, Kernel, Program};
use taut::{
    Cloth, EdgeKind, EdgeOverride, FastProjection, GaussSeidel, Jacobi, Mass, Mesh, MeshDescriptor, Method, Scene,
    Settings, Snapshot, Substeps, scene,
};

/// A step whose length is a power of two, so that products with it are exact.
const H: f32 = 1.0 / 64.0;
/// The smallest limit there is: nothing stops early.
const LEAST: f32 = 2e-6;

/// Vertices with lines between them: a rest shape, masses, pins, and where it starts.
fn net(rest: &[[f32; 3]], lines: &[[u32; 2]], masses: &[f32], pins: &[u32], start: &[[f32; 3]]) -> Scene {
    let mesh = Mesh::new(MeshDescriptor {
        positions: rest.to_vec(),
        lines: lines.to_vec(),
        mass: Mass::PerVertex(masses.to_vec()),
        pins: pins.to_vec(),
        ..Default::default()
    });
    Scene { name: "net", mesh: mesh.expect("the figure is valid"), start: start.to_vec() }
}

/// Equal masses of 1 kg along a line, neighbors 1 m apart at rest.
fn row(start: &[[f32; 3]], pins: &[u32]) -> Scene {
    let count = start.len();
    let rest: Vec<[f32; 3]> = (0..count).map(|k| [k as f32, 0.0, 0.0]).collect();
    let lines: Vec<[u32; 2]> = (1..count as u32).map(|k| [k - 1, k]).collect();
    net(&rest, &lines, &vec![1.0; count], pins, start)
}

/// One substep per frame, no gravity.
fn still(method: Method, strain_limit: f32) -> Settings {
    Settings { method, strain_limit, gravity: [0.0; 3], substeps: Substeps::Fixed(1), ..Default::default() }
}

/// Exactly so many projections, each solved as far as f32 goes, unclamped.
fn fast(iterations: u32) -> Method {
    Method::FastProjection(FastProjection { iterations, inner_iterations: None, tolerance: 1e-6, step_clamp: 10.0 })
}

fn sweep(sweeps: u32) -> Method {
    Method::GaussSeidel(GaussSeidel { sweeps, sweeps_per_check: 1, seed: None })
}

fn jacobi(sweeps: u32, blend: f32) -> Method {
    Method::Jacobi(Jacobi { sweeps, sweeps_per_check: 1, relaxation: 1.0, blend })
}

/// One step of length [`H`] from the start, at rest.
fn stepped(scene: Scene, settings: Settings) -> Snapshot {
    let mut cloth = cpu(scene, settings);
    cloth.step(&frame(H)).expect("the step runs");
    cloth.snapshot().expect("a CPU has no device to lose")
}

/// One step of length `h` that would end at `end` without constraints.
fn stepped_to(scene: Scene, settings: Settings, end: &[[f32; 3]], h: f32) -> Snapshot {
    let velocities: Vec<[f32; 3]> = scene
        .start
        .iter()
        .zip(end)
        .map(|(from, to)| [0, 1, 2].map(|k| (to[k] - from[k]) / h))
        .collect();
    let start = scene.start.clone();
    let mut cloth = cpu(scene, settings);
    cloth.set_state(&start, &velocities).expect("the state is valid");
    cloth.step(&frame(h)).expect("the step runs");
    cloth.snapshot().expect("a CPU has no device to lose")
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (f64::from(b) - f64::from(*a)).powi(2)).sum::<f64>().sqrt()
}

/// Largest strain of all edges that can move, in f64, written independently of the library.
fn strain(mesh: &Mesh, positions: &[[f32; 3]]) -> f64 {
    let pinned = |v: u32| mesh.pins().contains(&v);
    let active = mesh.edges().iter().filter(|edge| !(pinned(edge.tail) && pinned(edge.head)));
    let strain = |edge: &Link| {
        let length = distance(positions[edge.tail as usize], positions[edge.head as usize]);
        (length / f64::from(edge.rest) - 1.0).abs()
    };
    active.map(strain).fold(0.0, f64::max)
}

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found} is not {expected} ± {tolerance:e}");
}

#[track_caller]
fn near_points(found: &[[f32; 3]], expected: &[[f64; 3]], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        for (found, expected) in found.iter().zip(expected) {
            near(f64::from(*found), *expected, tolerance);
        }
    }
}

fn bits(positions: &[[f32; 3]]) -> Vec<[u32; 3]> {
    positions.iter().map(|position| position.map(f32::to_bits)).collect()
}

/// Runs kernels one after the other over all elements of the given counts.
fn run_kernels(fields: &mut Fields, kernels: &[(&'static Kernel, usize)]) {
    fields.get_mut::<u32>("guards").expect("words")[0] = 1;
    let dispatch = |(kernel, count): &(&'static Kernel, usize)| {
        let range = 0..*count as u32;
        Item::Dispatch(Dispatch { kernel, renames: &[], range, guard: 0, arguments: [0; 4] })
    };
    let program = Program { items: kernels.iter().map(dispatch).collect() };
    let runner = Runner::new(&program, fields).expect("the kernels fit");
    runner.run(&program, fields).expect("the kernels run");
}

// --- K1: forces and integration ---

#[test]
fn k1_free_fall() {
    // A free vertex, a free pair 1 m apart, a pinned vertex at an odd place.
    let odd = [0.1, -0.3, 1.0 / 3.0];
    let positions = [[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], odd];
    for (name, method) in methods() {
        let scene = net(&positions, &[[1, 2]], &[0.1, 1.0, 3.0, 1.0], &[3], &positions);
        let settings = Settings { method, substeps: Substeps::Fixed(1), ..Default::default() };
        let mut cloth = cpu(scene, settings);
        for _ in 0..64 {
            cloth.step(&frame(H)).expect("the step runs");
        }
        let snapshot = cloth.snapshot().expect("a CPU has no device to lose");
        let velocities = cloth.velocities().expect("a CPU has no device to lose");
        // −g h² n(n+1)/2 = −9.81 · 2080/4096. Relative 1e-6: 64 roundings of h·v, the rest is carried on.
        let fallen = -9.81 * 2080.0 / 4096.0;
        near(fallen, -4.981_641, 5e-7);
        for v in 0..3 {
            near(snapshot.positions[v][1].into(), fallen, 5e-6);
            near(velocities[v][1].into(), -9.81, 1e-5);
        }
        assert_eq!(bits(&snapshot.positions)[3], odd.map(f32::to_bits), "{name}: a pin moved");
        assert_eq!(snapshot.report.converged, Some(true));
    }
}

#[test]
fn k1_drag_and_impulse() {
    // (v + p/m)/(1 + c h), once.
    let scene = net(&[[0.0; 3]], &[], &[0.5], &[], &[[0.0; 3]]);
    let settings = Settings { drag: 16.0, ..still(fast(1), 0.01) };
    let mut cloth = cpu(scene, settings);
    cloth.add_impulse(0, [1.0, 0.0, 0.0]).expect("the vertex is free");
    cloth.add_impulse(0, [0.0, 2.0, 0.0]).expect("the vertex is free");
    cloth.step(&frame(H)).expect("the step runs");
    // 2 m/s and 4 m/s over 1 + 16/64: quotients of small numbers, one rounding each.
    let velocity = cloth.velocities().expect("a CPU has no device to lose")[0];
    near(velocity[0].into(), 1.6, 2e-7);
    near(velocity[1].into(), 3.2, 4e-7);
    // The impulse is spent: the next step only damps.
    cloth.step(&frame(H)).expect("the step runs");
    near(cloth.velocities().expect("a CPU has no device to lose")[0][0].into(), 1.28, 2e-7);
}

// --- K2: shear springs ---

/// Energy of the springs in f64, from the stored rest lengths.
fn energy(mesh: &Mesh, positions: &[[f64; 3]]) -> f64 {
    let one = |spring: &Link| {
        let (a, b) = (positions[spring.tail as usize], positions[spring.head as usize]);
        let length = (0..3).map(|k| (b[k] - a[k]).powi(2)).sum::<f64>().sqrt();
        0.5 * f64::from(spring.stiffness) * (length - f64::from(spring.rest)).powi(2)
    };
    mesh.springs().iter().map(one).sum()
}

#[test]
fn k2_spring_forces_are_the_gradient_of_the_energy() {
    let mut random = Random(2);
    let mut scene = scene::sheet(6).expect("a known scene");
    for position in &mut scene.start {
        *position = position.map(|x| x + random.within(-0.05, 0.05) as f32);
    }
    let start = scene.start.clone();
    let mut cloth = cpu(scene, Settings { gravity: [0.0; 3], ..Default::default() });
    // A frame so short that it is one substep: `forces` then belongs to the start.
    cloth.step(&frame(1e-4)).expect("the step runs");
    assert_eq!(cloth.snapshot().expect("a CPU has no device to lose").report.substeps, 1);
    let forces = cloth.fields().expect("the cloth is on the CPU").get::<[f32; 4]>("forces").expect("vectors");
    let positions: Vec<[f64; 3]> = start.iter().map(|position| position.map(f64::from)).collect();
    let mesh = cloth.mesh();
    assert_eq!(mesh.springs().len(), 2 * 25, "both diagonals of each quad");
    // A force is k(|d| − l)n, up to 4 per vertex. Differences of coordinates up to 1 and their length round by a few
    // 2⁻²⁴; k = 20 turns that into newtons. Measured: a fifth of it.
    let rounding = 4.0 * 20.0 * 4.0 * 2f64.powi(-24);
    let step = 1e-5; // Central differences of an energy of order 1 J: error step² · E''' and 1e-16/step.
    for v in 0..positions.len() {
        for k in 0..3 {
            let shifted = |by: f64| {
                let mut positions = positions.clone();
                positions[v][k] += by;
                energy(mesh, &positions)
            };
            let expected = -(shifted(step) - shifted(-step)) / (2.0 * step);
            near(forces[v][k].into(), expected, rounding + 1e-7);
        }
    }
    let largest = forces.iter().flatten().fold(0.0f64, |most, f| most.max(f64::from(f.abs())));
    assert!(largest > 0.5, "the springs are strained: {largest}");
    // Internal forces: no net force, no net torque. Each of 50 springs is evaluated once per end, so what remains is
    // rounding: at most 100 of them, in practice they cancel to a few.
    for k in 0..3 {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        let force: f64 = forces.iter().map(|f| f64::from(f[k])).sum();
        let torque: f64 = (0..forces.len())
            .map(|v| positions[v][i] * f64::from(forces[v][j]) - positions[v][j] * f64::from(forces[v][i]))
            .sum();
        near(force, 0.0, 10.0 * rounding);
        near(torque, 0.0, 10.0 * rounding);
    }
}

// --- K3: the edge constraint ---

#[test]
fn k3_constraint_and_gradient() {
    // Skew edge of rest length 1 stretched by 1.1: C/l = s² − 1 = 0.21 in the paper's form, half of it in ours.
    let unit = Vec3::new(2.0, 3.0, 6.0) / 7.0;
    let cloth = cpu(
        net(&[[0.0; 3], unit.into()], &[[0, 1]], &[1.0, 4.0], &[], &[[0.0; 3], (1.1 * unit).into()]),
        still(fast(1), LEAST),
    );
    let mut fields = cloth.fields().expect("the cloth is on the CPU").clone();
    prepare(&mut fields);
    run_kernels(&mut fields, &[(&taut::solver::fast_projection::LINEARIZE, 1)]);
    let residual = fields.get::<f32>("residuals").expect("floats")[0];
    near(2.0 * f64::from(residual), 0.21, 5e-7);
    let [x, y, z, inverse] = fields.get::<[f32; 4]>("directions").expect("vectors")[0];
    for (found, expected) in [x, y, z].iter().zip(unit.to_array()) {
        near((*found).into(), 1.1 * f64::from(expected), 2e-7);
    }
    // 1/((w_a + w_b)|q|²) = 1/(1.25 · 1.21).
    near(inverse.into(), 1.0 / (1.25 * 1.21), 2e-7);

    // The direction is the derivative of C by its head: finite differences in f64 of the paper's C/2.
    let constraint = |d: [f64; 3]| 0.5 * (d.iter().map(|x| x * x).sum::<f64>() - 1.0);
    let d = unit.to_array().map(|x| 1.1 * f64::from(x));
    for k in 0..3 {
        let shifted = |by: f64| {
            let mut d = d;
            d[k] += by;
            constraint(d)
        };
        near([x, y, z][k].into(), (shifted(1e-4) - shifted(-1e-4)) / 2e-4, 2e-7);
    }
}

/// Fills the frame of a cloth that has not stepped yet, as a step would.
fn prepare(fields: &mut Fields) {
    let words = fields.get_mut::<f32>("frame").expect("words");
    // stretch_min and stretch_max.
    let offset = |name: &str| {
        let members = <taut::params::Frame as taut::params::Element>::MEMBERS;
        members.iter().find(|(member, _)| *member == name).expect("a member of Frame").1 / 4
    };
    words[offset("stretch_min")] = 1.0;
    words[offset("stretch_max")] = 1.0;
}

#[test]
fn k3_diagonals_are_not_constrained() {
    // A unit quad sheared by 0.3 rad: its sides keep their length, its diagonals do not.
    let (s, c) = 0.3f32.sin_cos();
    let rest = vec![[0.0; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let mesh = Mesh::new(MeshDescriptor {
        positions: rest,
        faces: vec![[0, 1, 2, 3].into()],
        shear: 0.0,
        ..Default::default()
    });
    let start = vec![[0.0; 3], [1.0, 0.0, 0.0], [1.0 + s, c, 0.0], [s, c, 0.0]];
    for (name, method) in methods() {
        let mesh = mesh.as_ref().expect("the quad is valid").clone();
        assert_eq!((mesh.edge_count(), mesh.springs().len()), (4, 0));
        let found = stepped(Scene { name: "quad", mesh, start: start.clone() }, still(method, LEAST));
        // (s, c) is a unit vector to one rounding, so the projection moves by no more than that.
        let start: Vec<[f64; 3]> = start.iter().map(|x| x.map(f64::from)).collect();
        near_points(&found.positions, &start, 1.2e-7);
        assert_eq!(found.report.converged, Some(true), "{name}");
    }
}

// --- K4, K5: Gauss-Seidel ---

#[test]
fn k4_an_isolated_edge_is_exact_after_one_projection() {
    // A thousand pairs of random masses at random places, in one mesh.
    let mut random = Random(4);
    let (mut rest, mut lines, mut masses, mut start) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for pair in 0..1000u32 {
        lines.push([2 * pair, 2 * pair + 1]);
        for x in [0.0, 1.0] {
            rest.push([x, 0.0, 0.0]);
            masses.push(10f64.powf(random.within(-2.0, 2.0)) as f32);
            start.push([0, 1, 2].map(|_| random.within(-1.0, 1.0) as f32));
        }
    }
    let found = stepped(net(&rest, &lines, &masses, &[], &start), still(sweep(1), LEAST));
    for [a, b] in lines {
        let strain = distance(found.positions[a as usize], found.positions[b as usize]) - 1.0;
        // Two coordinates below 2 m round by half an ulp of 2⁻²³ each, in three dimensions: √3 ulp at most.
        assert!(strain.abs() < 2.0 * 2f64.powi(-23), "pair {a}: {strain:e}");
    }
    // Not by being there already.
    let before = (0..1000).map(|k| (distance(start[2 * k], start[2 * k + 1]) - 1.0).abs()).fold(0.0, f64::max);
    assert!(before > 1.0);
}

#[test]
fn k4_the_order_of_edges_matters() {
    // Two springs of length 1 at 0, 1.5, 3.5: all numbers are exact in f32.
    let mut orders = Vec::new();
    for flipped in [false, true] {
        let x = |k: usize| if flipped { 2 - k } else { k };
        let rest = [0, 1, 2].map(|k| [x(k) as f32, 0.0, 0.0]);
        let start = [0, 1, 2].map(|k| [[0.0, 1.5, 3.5][x(k)], 0.0, 0.0]);
        let scene = net(&rest, &[[0, 1], [1, 2]], &[1.0; 3], &[], &start);
        let coloring = taut::Topology::new(&scene.mesh).coloring;
        assert_eq!(coloring.ranges.len(), 2);
        // Edge 0 joins vertices 0 and 1: the left one, unless flipped.
        let left_first = (coloring.colored_edges[0] == 0) != flipped;
        let expected = if left_first { [0.25, 1.875, 2.875] } else { [0.5, 1.5, 3.0] };
        let found = stepped(scene, still(sweep(1), LEAST));
        for k in 0..3 {
            assert_eq!(found.positions[k], [expected[x(k)], 0.0, 0.0], "left first: {left_first}");
        }
        orders.push(left_first);
    }
    orders.sort_unstable();
    assert_eq!(orders, [false, true], "both orders were tried");
}

/// Gauss-Seidel written once more, serially, edge after edge in the order given, in f32.
fn serial_sweep(mesh: &Mesh, order: &[u32], start: &[[f32; 3]], displacements: &mut [Vec3]) {
    let inverse_masses = mesh.inverse_masses();
    for e in order {
        let edge = mesh.edges()[*e as usize];
        let (a, b) = (edge.tail as usize, edge.head as usize);
        let w = inverse_masses[a] + inverse_masses[b];
        let d = (Vec3::from(start[b]) - Vec3::from(start[a])) + (displacements[b] - displacements[a]);
        let length = d.length();
        if w == 0.0 || length == edge.rest {
            continue;
        }
        let pull = ((length - edge.rest) / (w * length)) * d;
        displacements[a] += inverse_masses[a] * pull;
        displacements[b] -= inverse_masses[b] * pull;
    }
}

#[test]
fn k5_a_color_at_once_equals_a_serial_sweep_bitwise() {
    let mut random = Random(5);
    for name in ["sheet", "curtain", "hang", "patch"] {
        let mut scene = Scene::named(name, 9).expect("a known scene");
        let pins = scene.mesh.pins().to_vec();
        for (v, position) in scene.start.iter_mut().enumerate() {
            if !pins.contains(&(v as u32)) {
                *position = position.map(|x| x + random.within(-0.03, 0.03) as f32);
            }
        }
        let mesh = {
            // No springs: the prediction is then no motion at all.
            let faces = scene.mesh.faces().to_vec();
            let positions = scene.mesh.positions().to_vec();
            Mesh::new(MeshDescriptor { positions, faces, pins, shear: 0.0, ..Default::default() })
        };
        scene.mesh = mesh.expect("the grid is valid");
        let (mesh, start) = (scene.mesh.clone(), scene.start.clone());
        let cloth = cpu(scene.clone(), still(sweep(1), 1e-5));
        let coloring = cloth.topology().coloring.clone();
        assert_eq!(coloring.ranges.len(), 4, "{name}: a grid needs as many colors as its largest degree");
        let mut displacements = vec![Vec3::ZERO; start.len()];
        for sweeps in 1..=5 {
            serial_sweep(&mesh, &coloring.colored_edges, &start, &mut displacements);
            let expected: Vec<[f32; 3]> =
                start.iter().zip(&displacements).map(|(x, u)| (Vec3::from(*x) + *u).to_array()).collect();
            let found = stepped(scene.clone(), still(sweep(sweeps), 1e-5));
            assert_eq!(found.report.iterations, sweeps, "{name}: no sweep less");
            assert_eq!(bits(&found.positions), bits(&expected), "{name} after {sweeps} sweeps");
        }
        // Another order gives another result, so the comparison can fail.
        let mut other = vec![Vec3::ZERO; start.len()];
        let reversed: Vec<u32> = coloring.colored_edges.iter().rev().copied().collect();
        for _ in 1..=5 {
            serial_sweep(&mesh, &reversed, &start, &mut other);
        }
        assert_ne!(other, displacements);
    }
}

// --- K6: Jacobi ---

#[test]
fn k6_jacobi_blends() {
    let scene = || row(&[[0.0; 3], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0]], &[]);
    let found = stepped(scene(), still(jacobi(1, 0.0), LEAST));
    // Halves and quarters: exact.
    assert_eq!(found.positions, [[0.0, 0.0, 0.0], [1.25, 0.0, 0.0], [2.5, 0.0, 0.0]]);
    // The blend is not momentum-conserving: the center of mass moves by −1/12.
    near(center(&found.positions)[0] - 4.0 / 3.0, -1.0 / 12.0, 1e-7);
    // ω halves every correction; α = 1 divides by one more: pulls of ±½ over 2, 3, 2.
    let relaxed = Method::Jacobi(Jacobi { sweeps: 1, sweeps_per_check: 1, relaxation: 0.5, blend: 0.0 });
    let found = stepped(scene(), still(relaxed, LEAST));
    assert_eq!(found.positions, [[0.0, 0.0, 0.0], [1.125, 0.0, 0.0], [2.75, 0.0, 0.0]]);
    let found = stepped(scene(), still(jacobi(1, 1.0), LEAST));
    near_points(&found.positions, &[[0.0; 3], [1.0 + 0.5 / 3.0, 0.0, 0.0], [2.75, 0.0, 0.0]], 2e-7);
}

// --- K7: fast projection of one edge ---

/// Length of one edge after 1, 2, … projections.
fn lengths(masses: [f32; 2], pins: &[u32], end: [[f32; 3]; 2], count: u32) -> Vec<f64> {
    let rest = [[0.0; 3], [1.0, 0.0, 0.0]];
    let one = |iterations| {
        let scene = net(&rest, &[[0, 1]], &masses, pins, &rest);
        let found = stepped_to(scene, still(fast(iterations), LEAST), &end, H);
        assert!(found.report.iterations <= iterations);
        distance(found.positions[0], found.positions[1])
    };
    (1..=count).map(one).collect()
}

#[track_caller]
fn near_all(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        near(*found, *expected, tolerance);
    }
}

#[test]
fn k7_one_edge_follows_the_closed_form() {
    let cases: [([f32; 2], &[u32]); 4] = [([1.0; 2], &[]), ([1.0, 3.0], &[]), ([1.0; 2], &[0]), ([0.01, 7.0], &[1])];
    for (masses, pins) in cases {
        // Along x, from whichever end is free.
        let end = |s: f32| if pins == [1] { [[1.0 - s, 0.0, 0.0], [1.0, 0.0, 0.0]] } else { [[0.0; 3], [s, 0.0, 0.0]] };
        near_all(&lengths(masses, pins, end(1.1), 3), &[1.004_545_454_5, 1.000_010_283_8, 1.0], 2e-6);
        near_all(&lengths(masses, pins, end(2.0), 4), &[1.25, 1.025, 1.000_304_88, 1.000_000_046], 2e-6);
        let three = [5.0 / 3.0, 17.0 / 15.0, 1.007_843_137, 1.000_030_518, 1.0];
        near_all(&lengths(masses, pins, end(3.0), 5), &three, 2e-6);
    }
    // Masses 1 and 3 share the way 3 : 1, so the center of mass stays.
    let rest = [[0.0; 3], [1.0, 0.0, 0.0]];
    let scene = net(&rest, &[[0, 1]], &[1.0, 3.0], &[], &rest);
    let found = stepped_to(scene, still(fast(1), LEAST), &[[0.0; 3], [2.0, 0.0, 0.0]], H);
    near_points(&found.positions, &[[0.5625, 0.0, 0.0], [1.8125, 0.0, 0.0]], 2e-7);
}

// --- K8: conjugate gradients ---

/// A chain of `count` vertices of 1 kg, 1 m apart, pinned at its first, stretched by `stretch`.
fn stretched_chain(count: usize, stretch: f32) -> Scene {
    let start: Vec<[f32; 3]> = (0..count).map(|k| [k as f32 * stretch, 0.0, 0.0]).collect();
    row(&start, &[0])
}

/// A grid of unit masses hung by its first row, its columns stretched.
fn stretched_sheet(size: u32, stretch: f32) -> Scene {
    let curtain = scene::curtain(size).expect("a known scene");
    let (rest, pins) = (curtain.mesh.positions(), curtain.mesh.pins());
    let mesh = Mesh::new(MeshDescriptor {
        positions: rest.to_vec(),
        faces: curtain.mesh.faces().to_vec(),
        mass: Mass::PerVertex(vec![1.0; rest.len()]),
        pins: pins.to_vec(),
        shear: 0.0,
        ..Default::default()
    });
    let start = rest.iter().map(|[x, y, z]| [*x, *y, stretch * z]).collect();
    Scene { name: "stretched sheet", mesh: mesh.expect("the sheet is valid"), start }
}

/// As K8 and X9 were counted: residual down to 1 %, no clamp.
fn counted(iterations: u32) -> Method {
    Method::FastProjection(FastProjection { iterations, inner_iterations: None, tolerance: 1e-2, step_clamp: 10.0 })
}

#[test]
fn k8_conjugate_gradients_on_a_chain_and_a_sheet() {
    for count in [20, 40, 80] {
        let found = stepped(stretched_chain(count, 1.1), still(counted(10), 0.01)).report;
        println!("chain {count}: {found:?}");
    }
    for size in [11, 21, 41, 71] {
        let found = stepped(stretched_sheet(size, 1.05), still(counted(10), 0.01)).report;
        println!("sheet {size}: {found:?}");
    }
}

#[test]
fn x8_sweeps() {
    for method in [sweep(20000), jacobi(20000, 0.2)] {
        let name = method.solver().name();
        let found = stepped(stretched_chain(20, 1.1), still(method, 0.01)).report;
        println!("chain 20 {name}: {found:?}");
    }
    for method in [sweep(20000), jacobi(20000, 0.2)] {
        let name = method.solver().name();
        let found = stepped(stretched_sheet(11, 1.05), still(method, 0.01)).report;
        println!("sheet 11 {name}: {found:?}");
    }
    let found = stepped(stretched_sheet(21, 1.05), still(sweep(20000), 0.01)).report;
    println!("sheet 21: {found:?}");
}
