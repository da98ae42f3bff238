//! Small figures with known results, on the kernels' CPU bodies in single precision, through the public interface.
//!
//! *The paper* is Goldenthal et al. 2007, *Efficient Simulation of Inextensible Cloth*. The double-precision
//! counterparts are in `reference.rs`. What is asserted here to 2e-6 comes from values of order 1 in f32: one rounding
//! is 6e-8, and a figure takes a few tens of operations.

mod common;

use common::*;
use glam::Vec3;
use taut::engine::cpu::Runner;
use taut::engine::fields::Fields;
use taut::engine::program::{Dispatch, Item, Kernel, Program};
use taut::mesh::Link;
use taut::{
    Cloth, EdgeKind, EdgeOverride, FastProjection, GaussSeidel, Jacobi, Mass, Mesh, MeshDescriptor, Method,
    Preconditioner, Scene, Settings, Snapshot, Substeps, scene,
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
    Scene::new("net", mesh.expect("the figure is valid"), start.to_vec())
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
    Method::FastProjection(FastProjection { iterations, tolerance: 1e-6, step_clamp: 10.0, ..Default::default() })
}

fn sweep(sweeps: u32) -> Method {
    Method::GaussSeidel(GaussSeidel { sweeps, sweeps_per_check: 1, seed: None })
}

fn jacobi(sweeps: u32, blend: f32) -> Method {
    Method::Jacobi(Jacobi { sweeps, sweeps_per_check: 1, relaxation: 1.0, blend, ..Default::default() })
}

/// One step of length [`H`] from the start, at rest.
fn stepped(scene: Scene, settings: Settings) -> Snapshot {
    let mut cloth = cpu(scene, settings);
    cloth.step(&frame(H)).expect("the step runs");
    cloth.snapshot().expect("a CPU has no device to lose")
}

/// One step of length `h` that would end at `end` without constraints.
fn stepped_to(scene: Scene, settings: Settings, end: &[[f32; 3]], h: f32) -> Snapshot {
    let velocities: Vec<[f32; 3]> =
        scene.start.iter().zip(end).map(|(from, to)| [0, 1, 2].map(|k| (to[k] - from[k]) / h)).collect();
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
        Item::Dispatch(Dispatch::new(kernel, range))
    };
    let program = Program { items: kernels.iter().map(dispatch).collect() };
    let runner = Runner::new(&program, fields).expect("the kernels fit");
    runner.run(&program, fields).expect("the kernels run");
}

// --- Forces and integration: v* = v + h W f, x_0 = x + h v* (section 4.1 of the paper) ---

#[test]
fn free_fall() {
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
fn drag_and_impulse() {
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

// --- Shear springs, f = −k (|d| − l) n on both diagonals (section 3) ---

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
fn spring_forces_are_the_gradient_of_the_energy() {
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

// --- The edge constraint, eqs. (1), (2) ---

#[test]
fn constraint_and_gradient() {
    // Skew edge of rest length 1 stretched by 1.1: C/l = s² − 1 = 0.21 in the paper's form, half of it in ours.
    let unit = Vec3::new(2.0, 3.0, 6.0) / 7.0;
    let cloth = cpu(
        net(&[[0.0; 3], unit.into()], &[[0, 1]], &[1.0, 4.0], &[], &[[0.0; 3], (1.1 * unit).into()]),
        still(fast(1), LEAST),
    );
    let mut fields = cloth.fields().expect("the cloth is on the CPU").clone();
    prepare(&mut fields);
    run_kernels(&mut fields, &[(kernel("linearize"), 1)]);
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
        let members = <taut::stage::fields::Frame as taut::engine::layout::Element>::MEMBERS;
        members.iter().find(|(member, _)| *member == name).expect("a member of Frame").1 / 4
    };
    words[offset("stretch_min")] = 1.0;
    words[offset("stretch_max")] = 1.0;
}

#[test]
fn diagonals_are_not_constrained() {
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
        let found = stepped(Scene::new("quad", mesh, start.clone()), still(method, LEAST));
        // (s, c) is a unit vector to one rounding, so the projection moves by no more than that.
        let start: Vec<[f64; 3]> = start.iter().map(|x| x.map(f64::from)).collect();
        near_points(&found.positions, &start, 1.2e-7);
        assert_eq!(found.report.converged, Some(true), "{name}");
    }
}

// --- Gauss-Seidel: edge by edge (Provot 1995, Müller et al. 2007), color by color ---

#[test]
fn an_isolated_edge_is_exact_after_one_projection() {
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
fn the_order_of_edges_matters() {
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
    let edges = taut::Topology::new(mesh).yarns.edges;
    for e in order {
        let edge = edges[*e as usize];
        let (a, b) = (edge.tail as usize, edge.head as usize);
        let w = inverse_masses[a] + inverse_masses[b];
        let d = (Vec3::from(start[b]) - Vec3::from(start[a])) + (displacements[b] - displacements[a]);
        let length = d.length();
        if w == 0.0 || length == edge.rest {
            continue;
        }
        let pull = ((length - edge.rest) / w) * (d * (1.0 / length));
        displacements[a] += inverse_masses[a] * pull;
        displacements[b] -= inverse_masses[b] * pull;
    }
}

#[test]
fn a_color_at_once_equals_a_serial_sweep_bitwise() {
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

// --- Jacobi: a share of what the edges propose, the same at both ends ---

#[test]
fn jacobi_blends() {
    let scene = || row(&[[0.0; 3], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0]], &[]);
    let found = stepped(scene(), still(jacobi(1, 0.0), LEAST));
    // Halves and quarters: exact.
    assert_eq!(found.positions, [[0.0, 0.0, 0.0], [1.25, 0.0, 0.0], [2.75, 0.0, 0.0]]);
    // Momentum is conserved, though the ends of the edge have one and two edges: the center of mass stays.
    near(center(&found.positions)[0] - 4.0 / 3.0, 0.0, 1e-7);
    // ω halves every correction; α = 1 divides by one more: pulls of ±½ over 3.
    let relaxed =
        Method::Jacobi(Jacobi { sweeps: 1, sweeps_per_check: 1, relaxation: 0.5, blend: 0.0, ..Default::default() });
    let found = stepped(scene(), still(relaxed, LEAST));
    assert_eq!(found.positions, [[0.0, 0.0, 0.0], [1.125, 0.0, 0.0], [2.875, 0.0, 0.0]]);
    let found = stepped(scene(), still(jacobi(1, 1.0), LEAST));
    near_points(&found.positions, &[[0.0; 3], [1.0 + 0.5 / 3.0, 0.0, 0.0], [3.0 - 0.5 / 3.0, 0.0, 0.0]], 2e-7);
}

// --- Fast projection of one edge, eq. (7): s ← (s + 1/s)/2 ---

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
fn one_edge_follows_the_closed_form() {
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

// --- Conjugate gradients on eq. (7) ---

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
    Scene::new("stretched sheet", mesh.expect("the sheet is valid"), start)
}

/// Counted with the residual down to 1 %, no clamp, the diagonal as preconditioner.
fn counted(iterations: u32) -> Method {
    let preconditioner = Preconditioner::Jacobi;
    let solver = FastProjection { preconditioner, iterations, tolerance: 1e-2, step_clamp: 10.0, ..Default::default() };
    Method::FastProjection(solver)
}

#[test]
fn conjugate_gradients_on_a_chain_and_a_sheet() {
    // A chain of n vertices takes n − 2 iterations, a sheet of n rows n − 1: every column is such a chain, and the rows
    // are in range and orthogonal. One projection leaves (s + 1/s)/2 − 1 = 4.5e-3 and 1.2e-3, under the limit.
    let mut cases = Vec::new();
    for (count, printed) in [(20, 18), (40, 38), (80, 78)] {
        cases.push((stretched_chain(count, 1.1), printed, 4.545e-3));
    }
    for (size, printed) in [(11, 10), (21, 20), (41, 40), (71, 70)] {
        cases.push((stretched_sheet(size, 1.05), printed, 1.190e-3));
    }
    for (scene, printed, left) in cases {
        let edges = scene.mesh.edge_count() as u32;
        let report = stepped(scene, still(counted(10), 0.01)).report;
        assert_eq!(report.iterations, 1, "{report:?}");
        assert!(report.inner_iterations <= edges, "{report:?}");
        // The counts were made in f64; rounding may take one more or less.
        near(report.inner_iterations.into(), printed.into(), 1.0);
        assert_eq!(report.converged, Some(true));
        // What the solve leaves of its right-hand side, 1 % of 10 % or 5 %, comes on top.
        near(report.strain.expect("positions were read").max, left, 5e-4);
    }
}

// --- How many sweeps the point methods take: four times as many for twice the edges ---

/// Sweeps to 1 %, counted one by one.
fn sweeps(scene: Scene, method: Method) -> u32 {
    let report = stepped(scene, still(method, 0.01)).report;
    assert_eq!(report.converged, Some(true), "{report:?}");
    report.iterations
}

#[test]
fn sweep_counts() {
    // The printed counts are f64; the last sweep may fall on either side of the limit, and a different order of colors
    // changes the count by a few: 2 %.
    let bound = 100_000;
    for (count, gauss_seidel, jacobi_sweeps) in [(20, 478, 1662), (40, 2006, 6952)] {
        let found = sweeps(stretched_chain(count, 1.1), sweep(bound));
        near(found.into(), gauss_seidel.into(), 0.02 * f64::from(gauss_seidel));
        let found = sweeps(stretched_chain(count, 1.1), jacobi(bound, 0.2));
        near(found.into(), jacobi_sweeps.into(), 0.02 * f64::from(jacobi_sweeps));
    }
    for (size, gauss_seidel, jacobi_sweeps) in [(11, 104, 652), (21, 417, 2569)] {
        let found = sweeps(stretched_sheet(size, 1.05), sweep(bound));
        near(found.into(), gauss_seidel.into(), 0.02 * f64::from(gauss_seidel));
        let found = sweeps(stretched_sheet(size, 1.05), jacobi(bound, 0.2));
        near(found.into(), jacobi_sweeps.into(), 0.02 * f64::from(jacobi_sweeps));
    }
}

#[test]
fn counts_are_bounds() {
    // A limit that a few iterations cannot reach: the budget is used up, never exceeded.
    for budget in [1, 2, 5, 19, 20] {
        for per_check in [1, 2, 8] {
            for seed in [None, Some(7)] {
                let gauss_seidel =
                    Method::GaussSeidel(GaussSeidel { sweeps: budget, sweeps_per_check: per_check, seed });
                let report = stepped(stretched_chain(20, 1.1), still(gauss_seidel, 1e-4)).report;
                assert!((1..=budget).contains(&report.iterations), "{budget} {per_check} {seed:?}: {report:?}");
                assert_eq!((report.converged, report.missed_substeps), (Some(false), 1));
            }
            let jacobi = Method::Jacobi(Jacobi { sweeps: budget, sweeps_per_check: per_check, ..Jacobi::default() });
            let report = stepped(stretched_chain(20, 1.1), still(jacobi, 1e-4)).report;
            assert!((1..=budget).contains(&report.iterations), "{budget} {per_check}: {report:?}");
        }
        // The default clamp lets a vertex move by 0.3 l, and the end has to go 1.9 l.
        let fast = FastProjection { iterations: budget.min(3), inner_iterations: Some(budget), ..Default::default() };
        let report = stepped(stretched_chain(20, 1.1), still(Method::FastProjection(fast), 1e-4)).report;
        assert_eq!(report.iterations, budget.min(3));
        assert!(report.inner_iterations <= budget * report.iterations, "{report:?}");
        assert_eq!(report.converged, Some(false));
    }
}

// --- The filter of velocities, Algorithm 1 ---

#[test]
fn the_start_need_not_satisfy_the_constraints() {
    for (name, method) in methods() {
        let mut scene = scene::sheet(9).expect("a known scene");
        for position in &mut scene.start {
            *position = position.map(|x| 1.2 * x);
        }
        let mesh = scene.mesh.clone();
        near(strain(&mesh, &scene.start), 0.2, 1e-6);
        let mut cloth = cpu(scene, Settings { gravity: [0.0; 3], ..Settings { method, ..Default::default() } });
        for _ in 0..5 {
            cloth.step(&frame(H)).expect("the step runs");
            let snapshot = cloth.snapshot().expect("a CPU has no device to lose");
            assert_eq!(snapshot.report.converged, Some(true), "{name}: {:?}", snapshot.report);
            assert!(strain(&mesh, &snapshot.positions) <= 0.01, "{name}");
        }
    }
}

#[test]
fn identity_where_nothing_is_stretched() {
    for (name, method) in methods() {
        // Rest lengths of 1/8 are exact: nothing to do, nothing done, and still one iteration.
        let mesh = scene::hang(9).expect("a known scene").mesh;
        let start = mesh.positions().to_vec();
        let settings = Settings { substeps: Substeps::Auto, ..still(method, 1e-5) };
        let found = stepped(Scene::new("flat", mesh, start.clone()), settings);
        assert_eq!(bits(&found.positions), bits(&start), "{name}");
        assert!(found.report.iterations >= 1, "{name}: at least one iteration per substep");
        assert_eq!(found.report.inner_iterations, 0, "{name}: there is nothing to solve");
    }
}

#[test]
fn every_substep_is_projected_even_in_range() {
    for (name, method) in methods() {
        let settings = Settings { method, strain_limit: 0.5, substeps: Substeps::Fixed(7), ..Default::default() };
        let mut cloth = cpu(scene::chain(5).expect("a known scene"), settings);
        cloth.step(&frame(1e-3)).expect("the step runs");
        let report = cloth.snapshot().expect("a CPU has no device to lose").report;
        assert_eq!(report.substeps, 7);
        assert!(report.iterations >= 7, "{name}: {report:?}");
    }
}

#[test]
fn velocity_is_the_way_over_the_time() {
    for (name, method) in methods() {
        let mut random = Random(9);
        let scene = scene::hang(9).expect("a known scene");
        let start = scene.start.clone();
        let mut cloth = cpu(scene, Settings { method, substeps: Substeps::Fixed(1), ..Default::default() });
        let velocities: Vec<[f32; 3]> =
            start.iter().map(|_| [0, 1, 2].map(|_| random.within(-1.0, 1.0) as f32)).collect();
        cloth.set_state(&start, &velocities).expect("the state is valid");
        let h = 1.0 / 1024.0;
        cloth.step(&frame(h)).expect("the step runs");
        let positions = cloth.snapshot().expect("a CPU has no device to lose").positions;
        let velocities = cloth.velocities().expect("a CPU has no device to lose");
        let pins = cloth.mesh().pins().to_vec();
        for v in 0..start.len() {
            for k in 0..3 {
                let way = f64::from(positions[v][k]) - f64::from(start[v][k]);
                // Positions below 2 m round by half of 2⁻²³ once; the velocity itself has 24 bits of its own.
                near(velocities[v][k].into(), way / f64::from(h), 2f64.powi(-24) / f64::from(h) + 1e-6);
                assert!(!pins.contains(&(v as u32)) || velocities[v][k] == 0.0, "{name}: a pin at rest has no speed");
            }
        }
    }
}

// --- Stiffness by iterations (Müller et al. 2007) ---

#[test]
fn fewer_sweeps_sag_more() {
    // A chain of 1 m that hangs straight down: what hangs lower has stretched.
    let sag = |sweeps: u32| {
        let mut scene = scene::chain(20).expect("a known scene");
        for position in &mut scene.start {
            *position = [0.0, -position[0], 0.0];
        }
        let settings = Settings { method: sweep(sweeps), substeps: Substeps::Fixed(2), ..Default::default() };
        let mut cloth = cpu(scene, settings);
        for _ in 0..60 {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        -f64::from(cloth.snapshot().expect("a CPU has no device to lose").positions[19][1])
    };
    let (soft, stiff) = (sag(5), sag(50));
    // Measured: 1.025 and 1.003.
    assert!(soft > 1.02 && stiff < 1.005 && stiff > 1.0, "{soft} {stiff}");
}

// --- Strain limiting inside a band (Provot 1995) ---

/// The sheet with or without its edges, moving inside a band of ±10 %.
fn banded(method: Method, kind: EdgeKind) -> Cloth {
    let mut random = Random(7);
    let sheet = scene::sheet(9).expect("a known scene");
    let rest = sheet.mesh.positions().to_vec();
    let overrides: Vec<EdgeOverride> =
        sheet.mesh.edges().iter().map(|edge| EdgeOverride { ends: [edge.tail, edge.head], kind, rest: None }).collect();
    let mesh = Mesh::new(MeshDescriptor {
        positions: rest.clone(),
        faces: sheet.mesh.faces().to_vec(),
        mass: Mass::PerVertex(sheet.mesh.masses().to_vec()),
        overrides,
        ..Default::default()
    });
    let shifted = |x: &[f32; 3], by: f64, random: &mut Random| x.map(|x| x + random.within(-by, by) as f32);
    let start: Vec<[f32; 3]> = rest.iter().map(|x| shifted(x, 0.004, &mut random)).collect();
    let velocities: Vec<[f32; 3]> = rest.iter().map(|_| shifted(&[0.0; 3], 0.05, &mut random)).collect();
    let settings = Settings { method, stretch_min: 0.8, stretch_max: 1.2, strain_limit: 1e-4, ..Default::default() };
    let scene = Scene::new("banded", mesh.expect("the sheet is valid"), start.clone());
    let mut cloth = cpu(scene, Settings { substeps: Substeps::Fixed(20), ..settings });
    cloth.set_state(&start, &velocities).expect("the state is valid");
    cloth
}

#[test]
fn inside_the_band_nothing_is_touched() {
    for name in Method::NAMES {
        let method = || Method::named(name).expect("a listed name is known");
        let mut limited = banded(method(), EdgeKind::Inextensible);
        let mut free = banded(method(), EdgeKind::Free);
        assert_eq!((limited.mesh().edge_count(), free.mesh().edge_count()), (144, 0));
        let mut largest = 0.0f64;
        for _ in 0..3 {
            limited.step(&frame(FRAME)).expect("the step runs");
            free.step(&frame(FRAME)).expect("the step runs");
            let (a, b) = (limited.snapshot().expect("no device"), free.snapshot().expect("no device"));
            assert_eq!(bits(&a.positions), bits(&b.positions), "{name}");
            let (u, v) = (limited.velocities().expect("no device"), free.velocities().expect("no device"));
            assert_eq!(bits(&u), bits(&v), "{name}");
            assert!(a.report.iterations >= 20, "{name}: it looked at every substep");
            assert_eq!(a.report.strain.expect("positions were read").max, 0.0, "{name}: inside the band");
            largest = largest.max(strain(limited.mesh(), &a.positions));
        }
        assert!(largest > 0.03, "{name}: the edges did change their length: {largest}");
        assert!(largest < 0.2, "{name}: the motion left the band: {largest}");
    }
}

#[test]
fn an_edge_beyond_the_band_goes_to_its_end() {
    let start = [[2.0, 0.0, 0.0], [0.0; 3]];
    let rest = [[1.0, 0.0, 0.0], [0.0; 3]];
    for method in [sweep(1), jacobi(1, 0.0), fast(10)] {
        let name = method.solver().name();
        let settings = Settings { stretch_min: 0.8, stretch_max: 1.1, ..still(method, LEAST) };
        let found = stepped(net(&rest, &[[0, 1]], &[1.0, 3.0], &[], &start), settings);
        // Masses 1 and 3 share 0.9 m as 3 : 1.
        near_points(&found.positions, &[[1.325, 0.0, 0.0], [0.225, 0.0, 0.0]], 2e-6);
        assert_eq!(found.report.converged, Some(true), "{name}: {:?}", found.report);
    }
    // Too short: to the lower end. 0.6 → 0.8 by 0.15 and 0.05.
    for method in [sweep(1), jacobi(1, 0.0), fast(10)] {
        let settings = Settings { stretch_min: 0.8, stretch_max: 1.1, ..still(method, LEAST) };
        let start = [[0.6, 0.0, 0.0], [0.0; 3]];
        let found = stepped(net(&rest, &[[0, 1]], &[1.0, 3.0], &[], &start), settings);
        if found.report.inner_iterations == 0 {
            near_points(&found.positions, &[[0.75, 0.0, 0.0], [-0.05, 0.0, 0.0]], 2e-6);
        } else {
            // Newton's method overshoots from below, here to (s + 1/s)/2 of 0.8 with s = 0.75: inside the band, so
            // done.
            near(distance(found.positions[0], found.positions[1]), 0.8 * (0.75 + 1.0 / 0.75) / 2.0, 2e-6);
        }
        assert_eq!(found.report.converged, Some(true));
    }
    // No limit at all.
    for method in [sweep(1), jacobi(1, 0.0), fast(10)] {
        let settings = Settings { stretch_min: 0.0, stretch_max: 1e6, ..still(method, LEAST) };
        let found = stepped(net(&rest, &[[0, 1]], &[1.0, 3.0], &[], &start), settings);
        assert_eq!(bits(&found.positions), bits(&start));
    }
}

// --- Where the direction of the constraint is taken (appendix A) ---

/// Largest strain of a figure after 1, 2, … projections of a step that would end at `end`.
fn strains(scene: &Scene, end: &[[f32; 3]], count: u32) -> Vec<f64> {
    let one = |iterations| {
        let found = stepped_to(scene.clone(), still(fast(iterations), LEAST), end, H);
        let host = found.report.strain.expect("positions were read").max;
        assert_eq!(host, strain(&scene.mesh, &found.positions), "the report measures what this test measures");
        host
    };
    (1..=count).map(one).collect()
}

const EDGE: [[f32; 3]; 2] = [[0.0; 3], [1.0, 0.0, 0.0]];

#[test]
fn far_perpendicular_end() {
    let printed = [0.0917, 0.00385, 7.4e-6];
    let found = lengths([1.0; 2], &[0], [[0.0; 3], [0.3, 1.5, 0.0]], 4);
    // 1.5297 → 1.0917 → 1.00385 → 1.0000074 → 1: to the digits printed.
    near_all(&found[..3], &printed.map(|strain| 1.0 + strain), 5e-5);
    near(found[2], 1.000_007_4, 2e-6);
    near(found[3], 1.0, 2e-6);
    // Both ends go 1.5 m apart: √10, and the closed form from there. Strains .74 .16 .011 5.6e-5 as printed.
    let scene = net(&EDGE, &[[0, 1]], &[1.0; 2], &[], &EDGE);
    let found = strains(&scene, &[[0.0, -1.5, 0.0], [1.0, 1.5, 0.0]], 5);
    let mut s = 10f64.sqrt();
    for (found, printed) in found.iter().zip([0.74, 0.16, 0.011, 5.6e-5, 0.0]) {
        s = 0.5 * (s + 1.0 / s);
        near(*found, s - 1.0, 2e-6);
        near(s - 1.0, printed, 0.5e-2_f64.max(0.05 * printed));
    }
}

#[test]
fn perpendicular_end() {
    let found = lengths([1.0; 2], &[0], [[0.0; 3], [0.0, 1.2, 0.0]], 3);
    near_all(&found, &[1.016_667, 1.000_137, 1.000_000_009], 2e-6);
}

#[test]
fn collapsed_edge_is_flagged_and_halving_cures_it() {
    for (name, method) in methods() {
        let scene = net(&EDGE, &[[0, 1]], &[1.0; 2], &[0], &EDGE);
        let found = stepped_to(scene.clone(), still(method, 0.01), &[[0.0; 3]; 2], H);
        // No direction can lengthen it: it stays where the prediction put it, and the report says so.
        assert_eq!(found.positions, [[0.0; 3]; 2], "{name}");
        let report = found.report;
        assert_eq!(report.converged, Some(false), "{name}");
        assert_eq!((report.missed_substeps, report.rejected), (1, false), "{name}");
        assert_eq!((report.device_strain, report.strain.expect("positions were read").max), (1.0, 1.0), "{name}");
        assert!((1..=8000).contains(&report.iterations), "{name}: bounded");
        assert_eq!(report.inner_iterations, 0, "{name}: an empty row is nothing to solve");

        // The same velocity for half the time ends at 0.5.
        let method = common::method(name);
        let end = [[0.0; 3], [0.5, 0.0, 0.0]];
        let found = stepped_to(scene, still(method, 0.01), &end, 0.5 * H);
        assert_eq!(found.report.converged, Some(true), "{name}: {:?}", found.report);
    }
    let found = lengths([1.0; 2], &[0], [[0.0; 3], [0.5, 0.0, 0.0]], 4);
    near_all(&found, &[1.25, 1.025, 1.000_305, 1.000_000_05], 2e-6);
    // A millionth of its length is no direction either; all three solvers say so alike.
    for (name, method) in methods() {
        let scene = net(&EDGE, &[[0, 1]], &[1.0; 2], &[0], &EDGE);
        let end = [[0.0; 3], [0.9e-6, 0.0, 0.0]];
        let found = stepped_to(scene, still(method, 0.01), &end, H);
        assert!(found.positions[1][0].abs() < 2e-6, "{name}: {:?}", found.positions);
        assert_eq!(found.report.converged, Some(false), "{name}");
    }
}

#[test]
fn one_collapsed_edge_does_not_harm_the_others() {
    // A chain of four whose middle edge collapses while the outer ones are 20 % long.
    let start = [[0.0; 3], [1.2, 0.0, 0.0], [1.2, 0.0, 0.0], [1.2, 1.2, 0.0]];
    for (name, method) in methods() {
        let found = stepped(row(&start, &[]), still(method, 0.01));
        assert!(found.positions.iter().flatten().all(|x| x.is_finite()), "{name}");
        assert!(found.positions.iter().flatten().all(|x| x.abs() < 4.0), "{name}: bounded: {:?}", found.positions);
        assert!(!found.report.rejected, "{name}");
        assert_eq!(found.report.converged, Some(true), "{name}: the neighbors pull it open: {:?}", found.report);
    }
}

#[test]
fn nearly_collapsed_edge() {
    // The quadratic form would send 0.01 to 50 and need 11 iterations; below half its length the edge is projected by
    // the linear form instead, which is exact at once.
    let scene = net(&EDGE, &[[0, 1]], &[1.0; 2], &[0], &EDGE);
    let end = [[0.0; 3], [0.01, 0.0, 0.0]];
    near(strains(&scene, &end, 1)[0], 0.0, 2e-6);
    // With the default clamp a step is 0.3 l long, never away from the solution.
    let mut before = 0.99;
    for iterations in 1..=8 {
        let method = Method::FastProjection(FastProjection { iterations, ..Default::default() });
        let found = stepped_to(scene.clone(), still(method, LEAST), &end, H);
        let strain = strain(&scene.mesh, &found.positions);
        assert!(strain < before || strain < 2e-6, "{iterations}: {strain} after {before}");
        before = strain;
    }
    assert!(before < 2e-6, "{before}");
}

#[test]
fn double_root_converges_linearly() {
    let ends = [[-1.0, 0.0, 0.0], [0.0; 3], [1.0, 0.0, 0.0]];
    let scene = net(&ends, &[[0, 1], [1, 2]], &[1.0; 3], &[0, 2], &ends);
    let end = [ends[0], [0.0, -0.3, 0.0], ends[2]];
    near(strain(&scene.mesh, &end), 0.044, 5e-4);
    // The sag halves, the strain goes down by four: .011 .0028 .0007 .00018 as printed.
    let found = strains(&scene, &end, 4);
    for (found, (sag, printed)) in
        found.iter().zip([(0.15, 0.011), (0.075, 0.0028), (0.0375, 0.0007), (0.01875, 0.00018)])
    {
        near(*found, 1f64.hypot(sag) - 1.0, 2e-6);
        near(*found, printed, 0.05 * printed);
    }
}

#[test]
fn the_start_does_not_matter() {
    // A start edge of length zero: fast projection never looks at it. Lengths as from a start edge of length one.
    let start = [[0.0; 3]; 2];
    let scene = net(&EDGE, &[[0, 1]], &[1.0; 2], &[0], &start);
    let found = strains(&scene, &[[0.0; 3], [0.3, 1.5, 0.0]], 4);
    let expected = lengths([1.0; 2], &[0], [[0.0; 3], [0.3, 1.5, 0.0]], 4);
    for (found, expected) in found.iter().zip(expected) {
        near(1.0 + found, expected, 4e-7);
    }
}

#[test]
fn free_ends_converge_quadratically() {
    let rest = [[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]];
    let scene = net(&rest, &[[0, 1], [1, 2]], &[1.0; 3], &[], &rest);
    let end = [[0.1, 0.0, 0.0], [1.0, -0.3, 0.0], [1.9, 0.0, 0.0]];
    near(strain(&scene.mesh, &end), 0.051, 5e-4);
    let found = strains(&scene, &end, 3);
    near(found[0], 0.0017, 5e-5);
    near(found[1], 1.9e-6, 5e-7);
    near(found[2], 0.0, 5e-7);
}

// --- Converged means converged ---

#[test]
fn converged_is_never_claimed_in_vain() {
    let mut random = Random(11);
    let (mut claimed, mut denied, mut steps) = (0, 0, 0);
    for case in 0..300 {
        let names = scene::NAMES;
        let name = names[case % names.len()];
        let mut scene = Scene::named(name, 3 + random.below(5) as u32).expect("a known scene");
        // Somewhere else, so that rounding differs.
        let shift = [0, 1, 2].map(|_| random.within(-4.0, 4.0) as f32);
        for position in &mut scene.start {
            *position = [0, 1, 2].map(|k| position[k] + shift[k]);
        }
        let budget = 1 + random.below(40) as u32;
        let method = match random.below(3) {
            0 => Method::GaussSeidel(GaussSeidel { sweeps: budget, sweeps_per_check: 1, seed: None }),
            1 => Method::Jacobi(Jacobi { sweeps: 2 * budget, sweeps_per_check: 1, ..Default::default() }),
            _ => Method::FastProjection(FastProjection { iterations: 1 + budget / 8, ..Default::default() }),
        };
        let strain_limit = 10f64.powf(random.within(-4.0, -1.5)) as f32;
        let settings = Settings { method, strain_limit, ..Default::default() };
        let mut cloth = cpu(scene, settings);
        for _ in 0..100 {
            let vertex = random.below(cloth.mesh().vertex_count()) as u32;
            if !cloth.mesh().pins().contains(&vertex) {
                let impulse = [0, 1, 2].map(|_| random.within(-3e-3, 3e-3) as f32);
                cloth.add_impulse(vertex, impulse).expect("the vertex is free");
            }
            cloth.step(&frame(random.within(1e-4, 0.02) as f32)).expect("the step runs");
            let found = cloth.snapshot().expect("a CPU has no device to lose");
            let host = strain(cloth.mesh(), &found.positions);
            let limit = f64::from(strain_limit);
            match found.report.converged {
                Some(true) => {
                    assert!(host <= limit * (1.0 + 1e-4), "{name}: {host} over {limit}: {:?}", found.report);
                    claimed += 1;
                }
                Some(false) => {
                    assert!(host > limit * (1.0 - 1e-4), "{name}: {host} under {limit}: {:?}", found.report);
                    denied += 1;
                }
                None => panic!("positions were read"),
            }
            // The device stops a little under the limit, so its word holds for the host too.
            if found.report.device_strain <= strain_limit - 5e-7 {
                assert_eq!(found.report.converged, Some(true), "{name}: {host} {:?}", found.report);
            }
            // What the device measures is the strain of the committed positions, to f32 rounding.
            near(found.report.device_strain.into(), host, 5e-7 * (1.0 + host));
            steps += 1;
        }
    }
    println!("{steps} steps: {claimed} claimed, {denied} denied");
    assert!(claimed > steps / 20 && denied > steps / 20, "both happen: {claimed} {denied}");
}

// --- Pins, pieces, nothing to do ---

#[test]
fn an_edge_between_two_pins_is_counted_and_infeasible() {
    // Vertices 0 and 1 are pinned 1.5 m apart where 1 m is right; 1 – 2 is free to move.
    let start = [[0.0; 3], [1.5, 0.0, 0.0], [2.5, 0.0, 0.0]];
    for (name, method) in methods() {
        let mut cloth = cpu(row(&start, &[0, 1]), still(method, 0.01));
        assert_eq!(cloth.topology().pinned_edge_count, 1);
        cloth.step(&frame(H)).expect("the step runs");
        let found = cloth.snapshot().expect("a CPU has no device to lose");
        let strain = found.report.strain.expect("positions were read");
        assert_eq!((strain.infeasible, strain.max), (1, 0.0), "{name}: no solver can help it, so it is no strain");
        assert_eq!(found.report.converged, Some(false), "{name}: but it is no success either");
        assert_eq!(found.report.device_strain, 0.0, "{name}");
        assert_eq!(bits(&found.positions), bits(&start), "{name}");
        // Within the limit it is not held against the cloth.
        let fine = [[0.0; 3], [1.005, 0.0, 0.0], [2.005, 0.0, 0.0]];
        cloth.set_state(&fine, &[[0.0; 3]; 3]).expect("the state is valid");
        cloth.step(&frame(H)).expect("the step runs");
        let report = cloth.snapshot().expect("a CPU has no device to lose").report;
        assert_eq!(
            (report.strain.expect("positions were read").infeasible, report.converged),
            (0, Some(true)),
            "{name}"
        );
    }
}

/// All words of all persistent fields.
fn state(cloth: &Cloth) -> Vec<Vec<u32>> {
    let fields = cloth.fields().expect("the cloth is on the CPU");
    // The clock goes on whatever the cloth does, and meters count it.
    let state = |number: &usize| {
        let spec = fields.specs()[*number];
        spec.persistent && !["clock", "meters"].contains(&spec.name)
    };
    let numbers = (0..fields.specs().len()).filter(state);
    let state: Vec<Vec<u32>> = numbers.map(|number| fields.words(number).to_vec()).collect();
    assert!(!state.is_empty());
    state
}

#[test]
fn everything_pinned_is_a_no_op_bitwise() {
    for (name, method) in methods() {
        let sheet = scene::hang(5).expect("a known scene");
        let mesh = Mesh::new(MeshDescriptor {
            positions: sheet.mesh.positions().to_vec(),
            faces: sheet.mesh.faces().to_vec(),
            pins: (0..25).collect(),
            ..Default::default()
        });
        let scene = Scene::new("pinned", mesh.expect("the sheet is valid"), sheet.start);
        let mut cloth = cpu(scene, Settings { method, ..Default::default() });
        let before = state(&cloth);
        for _ in 0..3 {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        assert_eq!(state(&cloth), before, "{name}");
        let report = cloth.snapshot().expect("a CPU has no device to lose").report;
        assert_eq!((report.device_strain, report.rejected), (0.0, false), "{name}");
    }
}

#[test]
fn a_frame_of_no_length_is_a_no_op_bitwise() {
    for (name, method) in methods() {
        let mut cloth = cpu(scene::hang(5).expect("a known scene"), Settings { method, ..Default::default() });
        for _ in 0..3 {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        let fields = |cloth: &Cloth| {
            let fields = cloth.fields().expect("the cloth is on the CPU");
            (0..fields.specs().len()).map(|number| fields.words(number).to_vec()).collect::<Vec<_>>()
        };
        let (before, report) = (fields(&cloth), cloth.snapshot().expect("no device"));
        for dt in [0.0, -0.0] {
            cloth.step(&frame(dt)).expect("the step runs");
            assert_eq!(fields(&cloth), before, "{name}: every field, scratch included");
            assert_eq!(cloth.snapshot().expect("no device"), report, "{name}");
            assert_eq!(cloth.frame(), 3, "{name}");
        }
    }
}

#[test]
fn pieces_are_judged_one_by_one() {
    // Three rows of five: stretched by 1.1, at rest, stretched by 1.3, hung at one end. Too few iterations for two.
    let rest: Vec<[f32; 3]> = (0..15).map(|k| [(k % 5) as f32, 0.0, (k / 5) as f32]).collect();
    let lines: Vec<[u32; 2]> = (0..15).filter(|k| k % 5 > 0).map(|k| [k - 1, k]).collect();
    let factors = [1.1, 1.0, 1.3];
    let start: Vec<[f32; 3]> = rest.iter().enumerate().map(|(v, [x, y, z])| [x * factors[v / 5], *y, *z]).collect();
    let one = FastProjection { iterations: 1, ..Default::default() };
    for method in [sweep(1), jacobi(1, 0.2), Method::FastProjection(one)] {
        let name = method.solver().name();
        let mut cloth = cpu(net(&rest, &lines, &[1.0; 15], &[0, 5, 10], &start), still(method, 0.01));
        assert_eq!(cloth.topology().component_count, 3);
        cloth.step(&frame(H)).expect("the step runs");
        let found = cloth.snapshot().expect("a CPU has no device to lose");
        let measured = found.report.strain.expect("positions were read");
        let expected = [0, 1, 2].map(|piece| {
            let edge = |v: usize| (distance(found.positions[v - 1], found.positions[v]) - 1.0).abs();
            (5 * piece + 1..5 * piece + 5).map(edge).fold(0.0, f64::max)
        });
        assert_eq!(measured.per_component, expected, "{name}");
        assert!(expected[0] > 0.01 && expected[1] == 0.0 && expected[2] > expected[0], "{name}: {expected:?}");
        assert_eq!(measured.max, expected[2], "{name}");
        assert_eq!(found.report.converged, Some(false), "{name}: one piece over the limit is enough");
        assert_eq!(bits(&found.positions)[5..10], bits(&start)[5..10], "{name}: the piece at rest stays there");
    }
}

#[test]
fn pins_follow_their_targets_exactly() {
    for (name, method) in methods() {
        let scene = scene::chain(5).expect("a known scene");
        let mut cloth = cpu(scene, Settings { method, substeps: Substeps::Fixed(7), ..Default::default() });
        let mut random = Random(1);
        for _ in 0..20 {
            let position = [0, 1, 2].map(|_| random.within(-0.01, 0.01) as f32);
            let input = taut::FrameInput { dt: FRAME, pin_targets: &[taut::PinTarget { vertex: 0, position }] };
            cloth.step(&input).expect("the step runs");
            let found = cloth.snapshot().expect("a CPU has no device to lose").positions[0];
            assert_eq!(found.map(f32::to_bits), position.map(f32::to_bits), "{name}");
        }
        // Without a target it stays there.
        let before = cloth.snapshot().expect("no device").positions[0];
        cloth.step(&frame(FRAME)).expect("the step runs");
        assert_eq!(cloth.snapshot().expect("no device").positions[0].map(f32::to_bits), before.map(f32::to_bits));
    }
}
