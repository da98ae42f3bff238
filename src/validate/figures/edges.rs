//! The edge constraint, eqs. (1), (2) of the paper, and projections edge by edge: Gauss-Seidel (Provot 1995, Müller et
//! al. 2007) color by color, Jacobi by blends.

use super::super::Failure;
use super::super::subjects::{kernel, solvers};
use super::Named;
use super::trial::{LEAST, Random, Trial, bits, distance, fast, jacobi, net, row, step, still, strain, sweep};
use crate::cloth::Cloth;
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Substeps;
use crate::engine::fields::Fields;
use crate::engine::layout::Element;
use crate::error::Result;
use crate::mesh::topology::Topology;
use crate::mesh::{EdgeKind, EdgeOverride, Mass, Mesh, MeshDescriptor};
use crate::scene::{self, Scene};
use crate::solver::{Jacobi, Method};
use crate::stage::fields::Frame;
use glam::Vec3;

pub(super) const FIGURES: &[Named] = &[
    ("constraint-and-gradient", constraint_and_gradient),
    ("diagonals-are-not-constrained", diagonals_are_not_constrained),
    ("an-isolated-edge-is-exact", an_isolated_edge_is_exact),
    ("the-order-of-edges-matters", the_order_of_edges_matters),
    ("a-color-is-a-serial-sweep", a_color_is_a_serial_sweep),
    ("jacobi-blends", jacobi_blends),
    ("inside-the-band", inside_the_band),
    ("beyond-the-band", beyond_the_band),
];

fn constraint_and_gradient(trial: &mut Trial<'_>) -> Result<(), Failure> {
    // Skew edge of rest length 1 stretched by 1.1: C/l = s² − 1 = 0.21 in the paper's form, half of it in ours.
    let unit = Vec3::new(2.0, 3.0, 6.0) / 7.0;
    let scene = net(&[[0.0; 3], unit.into()], &[[0, 1]], &[1.0, 4.0], &[], &[[0.0; 3], (1.1 * unit).into()])?;
    let cloth = Cloth::on_cpu(scene.with_settings(still(fast(1), LEAST)))?;
    let Some(fields) = cloth.fields() else { return Err(Failure::new("the cloth is not on the CPU")) };
    let mut fields = fields.clone();
    prepare(&mut fields)?;
    trial.run_kernels(&mut fields, &[(kernel("linearize")?, 1)])?;
    trial.near("C/l in the paper's form", 2.0 * f64::from(fields.get::<f32>("residuals")?[0]), 0.21, 5e-7)?;
    let [x, y, z, inverse] = fields.get::<[f32; 4]>("directions")?[0];
    for (found, expected) in [x, y, z].iter().zip(unit.to_array()) {
        trial.near("the direction", (*found).into(), 1.1 * f64::from(expected), 2e-7)?;
    }
    // 1/((w_a + w_b)|q|²) = 1/(1.25 · 1.21).
    trial.near("the inverse of the diagonal", inverse.into(), 1.0 / (1.25 * 1.21), 2e-7)?;

    // The direction is the derivative of C by its head: finite differences in f64 of the paper's C/2.
    let constraint = |d: [f64; 3]| 0.5 * (d.iter().map(|x| x * x).sum::<f64>() - 1.0);
    let d = unit.to_array().map(|x| 1.1 * f64::from(x));
    for k in 0..3 {
        let shifted = |by: f64| {
            let mut d = d;
            d[k] += by;
            constraint(d)
        };
        let expected = (shifted(1e-4) - shifted(-1e-4)) / 2e-4;
        trial.near("the derivative of C", [x, y, z][k].into(), expected, 2e-7)?;
    }
    Ok(())
}

/// Fills the frame of a cloth that has not stepped yet, as a step would.
fn prepare(fields: &mut Fields) -> Result<(), Failure> {
    let words = fields.get_mut::<f32>("frame")?;
    for name in ["stretch_min", "stretch_max"] {
        let member = <Frame as Element>::MEMBERS.iter().find(|(member, _)| *member == name);
        let Some((_, offset)) = member else { return Err(Failure::new(format!("a frame has no {name}"))) };
        words[offset / 4] = 1.0;
    }
    Ok(())
}

fn diagonals_are_not_constrained(trial: &mut Trial<'_>) -> Result<(), Failure> {
    // A unit quad sheared by 0.3 rad: its sides keep their length, its diagonals do not.
    let (s, c) = 0.3f32.sin_cos();
    let mesh = Mesh::new(MeshDescriptor {
        positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]],
        faces: vec![[0, 1, 2, 3].into()],
        shear: 0.0,
        ..Default::default()
    })?;
    trial.holds((mesh.edge_count(), mesh.springs().len()) == (4, 0), "four sides and no springs")?;
    let start = vec![[0.0; 3], [1.0, 0.0, 0.0], [1.0 + s, c, 0.0], [s, c, 0.0]];
    let expected: Vec<[f64; 3]> = start.iter().map(|x| x.map(f64::from)).collect();
    for (name, method) in solvers() {
        let found = trial.stepped(Scene::new("quad", mesh.clone(), start.clone()), still(method, LEAST))?;
        // (s, c) is a unit vector to one rounding, so the projection moves by no more than that.
        trial.near_points(name, &found.positions, &expected, 1.2e-7)?;
        trial.holds(found.report.converged == Some(true), format!("{name}: over the limit"))?;
    }
    Ok(())
}

fn an_isolated_edge_is_exact(trial: &mut Trial<'_>) -> Result<(), Failure> {
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
    let scene = net(&rest, &lines, &masses, &[], &start)?;
    let (mesh, before) = (scene.mesh.clone(), strain(&scene.mesh, &start));
    let found = trial.stepped(scene, still(sweep(1), LEAST))?;
    for [a, b] in lines {
        let length = distance(found.positions[a as usize], found.positions[b as usize]);
        // Two coordinates below 2 m round by half an ulp of 2⁻²³ each, in three dimensions: √3 ulp at most.
        trial.near(format!("the length of the pair of {a} [m]"), length, 1.0, 2.0 * 2f64.powi(-23))?;
    }
    trial.holds(before > 1.0 && mesh.edge_count() == 1000, "they were there already")?;
    // Momentum is nobody's to take: each pair keeps its centre of mass.
    for (pair, (x, y)) in start.chunks(2).zip(found.positions.chunks(2)).enumerate() {
        let [m, n] = [0, 1].map(|k| f64::from(masses[2 * pair + k]));
        for k in 0..3 {
            let center = |p: &[[f32; 3]]| (m * f64::from(p[0][k]) + n * f64::from(p[1][k])) / (m + n);
            trial.near(format!("the centre of pair {pair} [m]"), center(y), center(x), 2.0 * 2f64.powi(-23))?;
        }
    }
    Ok(())
}

fn the_order_of_edges_matters(trial: &mut Trial<'_>) -> Result<(), Failure> {
    // Two springs of length 1 at 0, 1.5, 3.5: all numbers are exact in f32.
    let mut orders = Vec::new();
    for flipped in [false, true] {
        let x = |k: usize| if flipped { 2 - k } else { k };
        let rest = [0, 1, 2].map(|k| [x(k) as f32, 0.0, 0.0]);
        let start = [0, 1, 2].map(|k| [[0.0, 1.5, 3.5][x(k)], 0.0, 0.0]);
        let scene = net(&rest, &[[0, 1], [1, 2]], &[1.0; 3], &[], &start)?;
        let coloring = Topology::new(&scene.mesh).coloring;
        trial.holds(coloring.ranges.len() == 2, "two colors")?;
        // Edge 0 joins vertices 0 and 1: the left one, unless flipped.
        let left_first = (coloring.colored_edges[0] == 0) != flipped;
        let expected = if left_first { [0.25, 1.875, 2.875] } else { [0.5, 1.5, 3.0] };
        let found = trial.stepped(scene, still(sweep(1), LEAST))?;
        let expected = [0, 1, 2].map(|k| [expected[x(k)], 0.0, 0.0]);
        let tolerance = trial.rounding(2.4e-7);
        trial.near_points(format!("left first: {left_first}"), &found.positions, &expected, tolerance)?;
        orders.push(left_first);
    }
    orders.sort_unstable();
    trial.holds(orders == [false, true], "both orders were tried")
}

/// Gauss-Seidel written once more, serially, edge after edge in the order given, in f32.
fn serial_sweep(mesh: &Mesh, order: &[u32], start: &[[f32; 3]], displacements: &mut [Vec3]) {
    let inverse_masses = mesh.inverse_masses();
    let edges = Topology::new(mesh).yarns.edges;
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

/// All edges of a color at once are what they are one after the other: to the bit on the CPU.
fn a_color_is_a_serial_sweep(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let mut random = Random(5);
    // 33 per side are 17 workgroups of vertices.
    for (name, size) in [("sheet", 9), ("curtain", 9), ("hang", 33), ("patch", 9)] {
        let mut scene = Scene::named(name, size)?;
        let pins = scene.mesh.pins().to_vec();
        let by = 0.24 / f64::from(size - 1);
        for (v, position) in scene.start.iter_mut().enumerate() {
            if !pins.contains(&(v as u32)) {
                *position = position.map(|x| x + random.within(-by, by) as f32);
            }
        }
        // No springs: the prediction is then no motion at all.
        let (faces, positions) = (scene.mesh.faces().to_vec(), scene.mesh.positions().to_vec());
        scene.mesh = Mesh::new(MeshDescriptor { positions, faces, pins, shear: 0.0, ..Default::default() })?;
        let (mesh, start) = (scene.mesh.clone(), scene.start.clone());
        let coloring = Topology::new(&mesh).coloring;
        trial.holds(coloring.ranges.len() == 4, "a grid needs as many colors as its largest degree")?;
        let mut displacements = vec![Vec3::ZERO; start.len()];
        for sweeps in 1..=5 {
            serial_sweep(&mesh, &coloring.colored_edges, &start, &mut displacements);
            let expected: Vec<[f64; 3]> = start
                .iter()
                .zip(&displacements)
                .map(|(x, u)| (Vec3::from(*x) + *u).to_array().map(f64::from))
                .collect();
            let found = trial.stepped(scene.clone(), still(sweep(sweeps), 2e-5))?;
            trial.holds(found.report.iterations == sweeps, format!("{name}: no sweep less than {sweeps}"))?;
            // A few roundings of a coordinate below 1 m per sweep.
            let tolerance = trial.rounding(1.2e-7 * f64::from(1 + sweeps));
            trial.near_points(format!("{name} after {sweeps} sweeps"), &found.positions, &expected, tolerance)?;
        }
        // Another order gives another result, so the comparison can fail.
        let mut other = vec![Vec3::ZERO; start.len()];
        let reversed: Vec<u32> = coloring.colored_edges.iter().rev().copied().collect();
        for _ in 1..=5 {
            serial_sweep(&mesh, &reversed, &start, &mut other);
        }
        let apart = other.iter().zip(&displacements).map(|(a, b)| (*a - *b).length()).fold(0.0, f32::max);
        trial.holds(apart > 1e-4, format!("{name}: another order is {apart} m away"))?;
    }
    Ok(())
}

/// A share of what the edges propose, the same at both ends.
fn jacobi_blends(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let scene = || row(&[[0.0; 3], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0]], &[]);
    // Halves and quarters: exact.
    let tolerance = trial.rounding(2.4e-7);
    let found = trial.stepped(scene()?, still(jacobi(1, 0.0), LEAST))?;
    trial.near_points("α = 0", &found.positions, &[[0.0; 3], [1.25, 0.0, 0.0], [2.75, 0.0, 0.0]], tolerance)?;
    // Momentum is conserved, though the ends of the edge have one and two edges: the center of mass stays.
    let center: f64 = found.positions.iter().map(|p| f64::from(p[0]) / 3.0).sum();
    trial.near("the centre of mass [m]", center, 4.0 / 3.0, 1e-7)?;
    // ω halves every correction; α = 1 divides by one more: pulls of ±½ over 3.
    let relaxed =
        Method::Jacobi(Jacobi { sweeps: 1, sweeps_per_check: 1, relaxation: 0.5, blend: 0.0, ..Default::default() });
    let found = trial.stepped(scene()?, still(relaxed, LEAST))?;
    trial.near_points("ω = ½", &found.positions, &[[0.0; 3], [1.125, 0.0, 0.0], [2.875, 0.0, 0.0]], tolerance)?;
    let found = trial.stepped(scene()?, still(jacobi(1, 1.0), LEAST))?;
    let expected = [[0.0; 3], [1.0 + 0.5 / 3.0, 0.0, 0.0], [3.0 - 0.5 / 3.0, 0.0, 0.0]];
    trial.near_points("α = 1", &found.positions, &expected, 2.4e-7)
}

/// A sheet with or without its edges, moving inside a band of ±20 % (strain limiting, Provot 1995).
fn banded(trial: &Trial<'_>, method: Method, kind: EdgeKind) -> Result<Cloth> {
    let mut random = Random(7);
    let sheet = scene::sheet(9)?;
    let rest = sheet.mesh.positions().to_vec();
    let overrides =
        sheet.mesh.edges().iter().map(|edge| EdgeOverride { ends: [edge.tail, edge.head], kind, rest: None }).collect();
    let mesh = Mesh::new(MeshDescriptor {
        positions: rest.clone(),
        faces: sheet.mesh.faces().to_vec(),
        mass: Mass::PerVertex(sheet.mesh.masses().to_vec()),
        overrides,
        ..Default::default()
    })?;
    let mut shifted = |x: &[f32; 3], by: f64| x.map(|x| x + random.within(-by, by) as f32);
    let start: Vec<[f32; 3]> = rest.iter().map(|x| shifted(x, 0.004)).collect();
    let velocities: Vec<[f32; 3]> = rest.iter().map(|_| shifted(&[0.0; 3], 0.05)).collect();
    let settings = Settings { method, stretch_min: 0.8, stretch_max: 1.2, strain_limit: 1e-4, ..Default::default() };
    let scene = Scene::new("banded", mesh, start.clone());
    let mut cloth = trial.cloth(scene, Settings { substeps: Substeps::Fixed(20), ..settings })?;
    cloth.set_state(&start, &velocities)?;
    Ok(cloth)
}

/// Inside the band nothing is touched: to the bit, on one and the same adapter.
fn inside_the_band(trial: &mut Trial<'_>) -> Result<(), Failure> {
    for (name, method) in Method::NAMES.into_iter().zip(Method::all()) {
        let mut limited = banded(trial, method.clone(), EdgeKind::Inextensible)?;
        let mut free = banded(trial, method, EdgeKind::Free)?;
        trial.holds((limited.mesh().edge_count(), free.mesh().edge_count()) == (144, 0), "edges or none")?;
        let mut largest = 0.0f64;
        for _ in 0..3 {
            step(&mut limited, 1.0 / 60.0)?;
            step(&mut free, 1.0 / 60.0)?;
            let (a, b) = (limited.snapshot()?, free.snapshot()?);
            trial.holds(bits(&a.positions) == bits(&b.positions), format!("{name}: other places"))?;
            let (u, v) = (limited.velocities()?, free.velocities()?);
            trial.holds(bits(&u) == bits(&v), format!("{name}: other velocities"))?;
            trial.holds(a.report.iterations >= 20, format!("{name}: a substep was not looked at"))?;
            trial.near(name, a.report.strain.map_or(f64::NAN, |strain| strain.max), 0.0, 0.0)?;
            largest = largest.max(strain(limited.mesh(), &a.positions));
        }
        // The edges did change their length, and did not leave the band.
        trial.near(format!("{name}: strain against rest"), largest, 0.115, 0.085)?;
    }
    Ok(())
}

/// An edge beyond the band goes to its end, and no further.
fn beyond_the_band(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let rest = [[1.0, 0.0, 0.0], [0.0; 3]];
    let figure = |start: &[[f32; 3]]| net(&rest, &[[0, 1]], &[1.0, 3.0], &[], start);
    for method in [sweep(1), jacobi(1, 0.0), fast(10)] {
        let name = method.solver().name();
        let settings = Settings { stretch_min: 0.8, stretch_max: 1.1, ..still(method, LEAST) };
        // Masses 1 and 3 share 0.9 m as 3 : 1.
        let found = trial.stepped(figure(&[[2.0, 0.0, 0.0], [0.0; 3]])?, settings.clone())?;
        trial.near_points(name, &found.positions, &[[1.325, 0.0, 0.0], [0.225, 0.0, 0.0]], 2e-6)?;
        trial.holds(found.report.converged == Some(true), format!("{name}: {:?}", found.report))?;
        // Too short: to the lower end. 0.6 → 0.8 by 0.15 and 0.05.
        let found = trial.stepped(figure(&[[0.6, 0.0, 0.0], [0.0; 3]])?, settings.clone())?;
        if found.report.inner_iterations == 0 {
            trial.near_points(name, &found.positions, &[[0.75, 0.0, 0.0], [-0.05, 0.0, 0.0]], 2e-6)?;
        } else {
            // Newton's method overshoots from below, here to (s + 1/s)/2 of 0.8 with s = 0.75: inside the band, so
            // done.
            let expected = 0.8 * (0.75 + 1.0 / 0.75) / 2.0;
            trial.near(name, distance(found.positions[0], found.positions[1]), expected, 2e-6)?;
        }
        trial.holds(found.report.converged == Some(true), format!("{name}: {:?}", found.report))?;
        // No limit at all.
        let settings = Settings { stretch_min: 0.0, stretch_max: 1e6, ..settings };
        let start = [[2.0, 0.0, 0.0], [0.0; 3]];
        let found = trial.stepped(figure(&start)?, settings)?;
        trial.holds(bits(&found.positions) == bits(&start), format!("{name}: moved without a limit"))?;
    }
    Ok(())
}
