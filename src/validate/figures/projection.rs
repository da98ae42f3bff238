//! Fast projection, eq. (7) of the paper: one edge has the closed form s ← (s + 1/s)/2, chains and sheets have counts,
//! and the figures of appendix A show where the direction of the constraint is taken.

use super::super::Failure;
use super::super::subjects::{FRAME, solvers};
use super::Named;
use super::trial::{H, LEAST, Random, Trial, distance, fast, jacobi, net, row, step, still, strain, sweep};
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Substeps;
use crate::error::Result;
use crate::mesh::{Mass, Mesh, MeshDescriptor};
use crate::scene::{self, Scene};
use crate::solver::{FastProjection, GaussSeidel, Jacobi, Method, Preconditioner};

pub(super) const FIGURES: &[Named] = &[
    ("one-edge", one_edge),
    ("conjugate-gradients-count", conjugate_gradients_count),
    ("sweeps-count", sweeps_count),
    ("counts-are-bounds", counts_are_bounds),
    ("a-stretched-sheet", a_stretched_sheet),
    ("a-released-chain", a_released_chain),
    ("q1-far-end", q1_far_end),
    ("q2-perpendicular-end", q2_perpendicular_end),
    ("q3-collapsed-edge", q3_collapsed_edge),
    ("q3-among-others", q3_among_others),
    ("q3-nearly", q3_nearly),
    ("q4-double-root", q4_double_root),
    ("the-start-does-not-matter", the_start_does_not_matter),
    ("free-ends", free_ends),
];

const EDGE: [[f32; 3]; 2] = [[0.0; 3], [1.0, 0.0, 0.0]];

/// Length of one edge after 1, 2, … projections.
fn lengths(trial: &Trial<'_>, masses: [f32; 2], pins: &[u32], end: [[f32; 3]; 2], count: u32) -> Result<Vec<f64>> {
    let one = |iterations| {
        let scene = net(&EDGE, &[[0, 1]], &masses, pins, &EDGE)?;
        let found = trial.stepped_to(scene, still(fast(iterations), LEAST), &end, H)?;
        Ok(distance(found.positions[0], found.positions[1]))
    };
    (1..=count).map(one).collect()
}

/// Largest strain of a figure after 1, 2, … projections of a step that would end at `end`.
fn strains(trial: &mut Trial<'_>, scene: &Scene, end: &[[f32; 3]], count: u32) -> Result<Vec<f64>, Failure> {
    let mut one = |iterations| {
        let found = trial.stepped_to(scene.clone(), still(fast(iterations), LEAST), end, H)?;
        let host = found.report.strain.map_or(f64::NAN, |strain| strain.max);
        trial.near("the strain of the report", host, strain(&scene.mesh, &found.positions), 0.0)?;
        Ok(host)
    };
    (1..=count).map(&mut one).collect()
}

fn one_edge(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let cases: [([f32; 2], &[u32]); 4] = [([1.0; 2], &[]), ([1.0, 3.0], &[]), ([1.0; 2], &[0]), ([0.01, 7.0], &[1])];
    for (masses, pins) in cases {
        // Along x, from whichever end is free.
        let end = |s: f32| if pins == [1] { [[1.0 - s, 0.0, 0.0], [1.0, 0.0, 0.0]] } else { [[0.0; 3], [s, 0.0, 0.0]] };
        for (s, expected) in [
            (1.1, &[1.004_545_454_5, 1.000_010_283_8, 1.0][..]),
            (2.0, &[1.25, 1.025, 1.000_304_88, 1.000_000_046]),
            (3.0, &[5.0 / 3.0, 17.0 / 15.0, 1.007_843_137, 1.000_030_518, 1.0]),
        ] {
            let found = lengths(trial, masses, pins, end(s), expected.len() as u32)?;
            trial.near_all(format!("{masses:?} {pins:?} from {s}"), &found, expected, 2e-6)?;
        }
    }
    // Masses 1 and 3 share the way 3 : 1, so the center of mass stays.
    let scene = net(&EDGE, &[[0, 1]], &[1.0, 3.0], &[], &EDGE)?;
    let found = trial.stepped_to(scene, still(fast(1), LEAST), &[[0.0; 3], [2.0, 0.0, 0.0]], H)?;
    trial.near_points("masses 1 and 3", &found.positions, &[[0.5625, 0.0, 0.0], [1.8125, 0.0, 0.0]], 2.4e-7)
}

/// A chain of `count` vertices of 1 kg, 1 m apart, pinned at its first, stretched by `stretch`.
fn stretched_chain(count: usize, stretch: f32) -> Result<Scene> {
    let start: Vec<[f32; 3]> = (0..count).map(|k| [k as f32 * stretch, 0.0, 0.0]).collect();
    row(&start, &[0])
}

/// A grid of unit masses hung by its first row, its columns stretched.
fn stretched_sheet(size: u32, stretch: f32) -> Result<Scene> {
    let curtain = scene::curtain(size)?;
    let (rest, pins) = (curtain.mesh.positions(), curtain.mesh.pins());
    let mesh = Mesh::new(MeshDescriptor {
        positions: rest.to_vec(),
        faces: curtain.mesh.faces().to_vec(),
        mass: Mass::PerVertex(vec![1.0; rest.len()]),
        pins: pins.to_vec(),
        shear: 0.0,
        ..Default::default()
    })?;
    let start = rest.iter().map(|[x, y, z]| [*x, *y, stretch * z]).collect();
    Ok(Scene::new("stretched sheet", mesh, start))
}

/// A chain of n vertices takes n − 2 iterations, a sheet of n rows n − 1: every column is such a chain, and the rows
/// are in range and orthogonal. One projection leaves (s + 1/s)/2 − 1 = 4.5e-3 and 1.2e-3, under the limit.
fn conjugate_gradients_count(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let mut cases = Vec::new();
    for (count, printed) in [(20, 18), (40, 38), (80, 78)] {
        cases.push((stretched_chain(count, 1.1)?, printed, 4.545e-3));
    }
    for (size, printed) in [(11, 10), (21, 20), (41, 40), (71, 70)] {
        cases.push((stretched_sheet(size, 1.05)?, printed, 1.190e-3));
    }
    // Counted with the residual down to 1 %, no clamp, the diagonal as preconditioner.
    let preconditioner = Preconditioner::Jacobi;
    let solver =
        FastProjection { preconditioner, iterations: 10, tolerance: 1e-2, step_clamp: 10.0, ..Default::default() };
    for (scene, printed, left) in cases {
        let name = format!("{} vertices", scene.start.len());
        let report = trial.stepped(scene, still(Method::FastProjection(solver.clone()), 0.01))?.report;
        trial.holds(report.iterations == 1, format!("{name}: {report:?}"))?;
        // The counts were made in f64; rounding may take one more or less.
        trial.near(format!("{name}: iterations"), report.inner_iterations.into(), printed.into(), 1.0)?;
        trial.holds(report.converged == Some(true), format!("{name}: {report:?}"))?;
        // What the solve leaves of its right-hand side, 1 % of 10 % or 5 %, comes on top.
        trial.near(format!("{name}: strain"), report.strain.map_or(f64::NAN, |strain| strain.max), left, 5e-4)?;
    }
    Ok(())
}

/// How many sweeps to 1 % the point methods take: four times as many for twice the edges.
///
/// The printed counts are f64; the last sweep may fall on either side of the limit, and a different order of colors
/// changes the count by a few: 2 %.
fn sweeps_count(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let chains = [(20, 478, 1662), (40, 2006, 6952), (80, 8212, 28_097)];
    let sheets = [(11, 104, 652), (21, 417, 2569), (41, 1661, 10_067)];
    // A software driver takes minutes for the larger ones.
    let tries = if trial.on_cpu() { 3 } else { 1 };
    let mut counts = |scene: Scene, of_gauss_seidel: u32, of_jacobi: u32| {
        for (method, expected) in [(sweep(100_000), of_gauss_seidel), (jacobi(100_000, 0.2), of_jacobi)] {
            let name = format!("{} on {} vertices", method.solver().name(), scene.start.len());
            let report = trial.stepped(scene.clone(), still(method, 0.01))?.report;
            trial.holds(report.converged == Some(true), format!("{name}: {report:?}"))?;
            trial.near(name, report.iterations.into(), expected.into(), 0.02 * f64::from(expected))?;
        }
        Ok::<(), Failure>(())
    };
    for (count, of_gauss_seidel, of_jacobi) in chains.into_iter().take(tries) {
        counts(stretched_chain(count, 1.1)?, of_gauss_seidel, of_jacobi)?;
    }
    for (size, of_gauss_seidel, of_jacobi) in sheets.into_iter().take(tries) {
        counts(stretched_sheet(size, 1.05)?, of_gauss_seidel, of_jacobi)?;
    }
    Ok(())
}

/// A limit that a few iterations cannot reach: the budget is used up, never exceeded.
fn counts_are_bounds(trial: &mut Trial<'_>) -> Result<(), Failure> {
    for budget in [1, 2, 5, 19, 20] {
        let mut spends = |method: Method, per_check: u32| {
            let name = format!("{} {budget} {per_check}", method.solver().name());
            let report = trial.stepped(stretched_chain(20, 1.1)?, still(method, 1e-4))?.report;
            trial.holds((1..=budget).contains(&report.iterations), format!("{name}: {report:?}"))?;
            let missed = (report.converged, report.missed_substeps);
            trial.holds(missed == (Some(false), 1), format!("{name}: {report:?}"))
        };
        for per_check in [1, 2, 8] {
            for seed in [None, Some(7)] {
                let solver = GaussSeidel { sweeps: budget, sweeps_per_check: per_check, seed };
                spends(Method::GaussSeidel(solver), per_check)?;
            }
            let solver = Jacobi { sweeps: budget, sweeps_per_check: per_check, ..Jacobi::default() };
            spends(Method::Jacobi(solver), per_check)?;
        }
        // The default clamp lets a vertex move by 0.3 l, and the end has to go 1.9 l.
        let iterations = budget.min(3);
        // Along lines a chain takes one iteration, by the diagonal as many as it has edges that move.
        let preconditioner = Preconditioner::Jacobi;
        let solver =
            FastProjection { preconditioner, iterations, inner_iterations: Some(budget), ..Default::default() };
        let report = trial.stepped(stretched_chain(20, 1.1)?, still(Method::FastProjection(solver), 1e-4))?.report;
        trial.holds(report.iterations == iterations, format!("{budget}: {report:?}"))?;
        let most = f64::from(budget * report.iterations);
        trial.at_most("inner iterations", report.inner_iterations.into(), most)?;
        trial.holds(report.converged == Some(false), format!("{budget}: {report:?}"))?;
        // A solve that its cap ended is counted as such.
        let exhausted = report.exhausted_solves;
        trial.holds(budget >= 18 || exhausted > 0, format!("{budget}: {exhausted} exhausted solves"))?;
    }
    Ok(())
}

/// A large stretch of small edges, 5 % and a noise of 2 % of an edge on 41 × 41: the first projection overshoots, and
/// the budget is enough; a budget that is not is told.
fn a_stretched_sheet(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let mut random = Random(41);
    let mut scene = stretched_sheet(41, 1.05)?;
    let pins = scene.mesh.pins().to_vec();
    for (_, position) in scene.start.iter_mut().enumerate().filter(|(v, _)| !pins.contains(&(*v as u32))) {
        *position = position.map(|x| x + random.within(-0.02, 0.02) as f32 / 40.0);
    }
    for (budget, holds) in [(60, true), (2, false)] {
        let solver = FastProjection { iterations: budget, ..Default::default() };
        let found = trial.stepped(scene.clone(), still(Method::FastProjection(solver), 0.01))?;
        let report = &found.report;
        let name = format!("a budget of {budget}");
        trial.at_most(format!("{name}: iterations"), report.iterations.into(), budget.into())?;
        trial.holds(report.iterations >= 2, format!("{name}: {report:?}"))?;
        trial.holds(report.converged == Some(holds), format!("{name}: {report:?}"))?;
        let strain = strain(&scene.mesh, &found.positions);
        trial.holds((strain <= 0.01) == holds, format!("{name}: a strain of {strain}"))?;
        trial.at_most(format!("{name}: strain"), strain, 1.0)?;
    }
    Ok(())
}

/// A chain of 20, 40, 80 vertices released horizontally, in single steps of 1/60 s for a second: 1.8, 5.0, 14.9
/// projections per step in the mean. The load of an edge grows with the square of the step over its length.
fn a_released_chain(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let cases = [(20, 1.8), (40, 5.0), (80, 14.9)];
    for (count, printed) in cases.into_iter().take(if trial.on_cpu() { 3 } else { 1 }) {
        let solver = FastProjection { iterations: 100, tolerance: 1e-6, step_clamp: 10.0, ..Default::default() };
        let settings =
            Settings { method: Method::FastProjection(solver), substeps: Substeps::Fixed(1), ..Default::default() };
        let mut cloth = trial.cloth(scene::chain(count)?, settings)?;
        let mut iterations = 0;
        for _ in 0..60 {
            step(&mut cloth, FRAME)?;
            iterations += cloth.snapshot()?.report.iterations;
        }
        let mean = f64::from(iterations) / 60.0;
        trial.near(format!("projections per step of {count} vertices"), mean, printed, 0.1 * printed)?;
    }
    Ok(())
}

/// Q1: the end is far away, and perpendicular.
fn q1_far_end(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let printed = [0.0917, 0.00385, 7.4e-6];
    let found = lengths(trial, [1.0; 2], &[0], [[0.0; 3], [0.3, 1.5, 0.0]], 4)?;
    // 1.5297 → 1.0917 → 1.00385 → 1.0000074 → 1: to the digits printed.
    trial.near_all("one end", &found[..3], &printed.map(|strain| 1.0 + strain), 5e-5)?;
    trial.near("after three", found[2], 1.000_007_4, 2e-6)?;
    trial.near("after four", found[3], 1.0, 2e-6)?;
    // Both ends go 1.5 m apart: √10, and the closed form from there. Strains .74 .16 .011 5.6e-5 as printed.
    let scene = net(&EDGE, &[[0, 1]], &[1.0; 2], &[], &EDGE)?;
    let found = strains(trial, &scene, &[[0.0, -1.5, 0.0], [1.0, 1.5, 0.0]], 5)?;
    let mut s = 10f64.sqrt();
    for (found, printed) in found.iter().zip([0.74, 0.16, 0.011, 5.6e-5, 0.0]) {
        s = 0.5 * (s + 1.0 / s);
        trial.near("both ends", *found, s - 1.0, 2e-6)?;
        trial.near("the printed strain", s - 1.0, printed, 0.5e-2_f64.max(0.05 * printed))?;
    }
    Ok(())
}

/// Q2: the end is perpendicular.
fn q2_perpendicular_end(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let found = lengths(trial, [1.0; 2], &[0], [[0.0; 3], [0.0, 1.2, 0.0]], 3)?;
    trial.near_all("lengths", &found, &[1.016_667, 1.000_137, 1.000_000_009], 2e-6)
}

/// Q3: an edge that collapsed has no direction. It is reported, and half of the step cures it.
fn q3_collapsed_edge(trial: &mut Trial<'_>) -> Result<(), Failure> {
    for (name, method) in solvers() {
        let scene = net(&EDGE, &[[0, 1]], &[1.0; 2], &[0], &EDGE)?;
        let found = trial.stepped_to(scene.clone(), still(method.clone(), 0.01), &[[0.0; 3]; 2], H)?;
        // No direction can lengthen it: it stays where the prediction put it, and the report says so.
        trial.near_points(name, &found.positions, &[[0.0; 3]; 2], 0.0)?;
        let report = found.report;
        trial.holds(report.converged == Some(false), format!("{name}: {report:?}"))?;
        trial.holds((report.missed_substeps, report.rejected) == (1, false), format!("{name}: {report:?}"))?;
        trial.near(name, report.device_strain.into(), 1.0, 0.0)?;
        trial.near(name, report.strain.map_or(f64::NAN, |strain| strain.max), 1.0, 0.0)?;
        trial.holds((1..=8000).contains(&report.iterations), format!("{name}: unbounded"))?;
        trial.holds(report.inner_iterations == 0, format!("{name}: an empty row is nothing to solve"))?;
        // The same velocity for half the time ends at 0.5.
        let end = [[0.0; 3], [0.5, 0.0, 0.0]];
        let found = trial.stepped_to(scene.clone(), still(method.clone(), 0.01), &end, 0.5 * H)?;
        trial.holds(found.report.converged == Some(true), format!("{name}: {:?}", found.report))?;
        trial.at_most(name, strain(&scene.mesh, &found.positions), 0.01)?;
        // A millionth of its length is no direction either; all solvers say so alike.
        let end = [[0.0; 3], [0.9e-6, 0.0, 0.0]];
        let found = trial.stepped_to(scene, still(method, 0.01), &end, H)?;
        trial.at_most(name, found.positions[1][0].abs().into(), 2e-6)?;
        trial.holds(found.report.converged == Some(false), format!("{name}: {:?}", found.report))?;
    }
    let found = lengths(trial, [1.0; 2], &[0], [[0.0; 3], [0.5, 0.0, 0.0]], 4)?;
    trial.near_all("from a half", &found, &[1.25, 1.025, 1.000_305, 1.000_000_05], 2e-6)
}

/// A chain of four whose middle edge collapses while the outer ones are 20 % long.
fn q3_among_others(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let start = [[0.0; 3], [1.2, 0.0, 0.0], [1.2, 0.0, 0.0], [1.2, 1.2, 0.0]];
    for (name, method) in solvers() {
        let scene = row(&start, &[])?;
        let mesh = scene.mesh.clone();
        let found = trial.stepped(scene, still(method, 0.01))?;
        let farthest = found.positions.iter().flatten().fold(0.0f32, |most, x| most.max(x.abs()));
        trial.at_most(format!("{name}: farthest coordinate [m]"), farthest.into(), 4.0)?;
        let aside = found.positions.iter().fold(0.0f32, |most, x| most.max(x[2].abs()));
        trial.at_most(format!("{name}: out of its plane [m]"), aside.into(), 0.0)?;
        trial.holds(!found.report.rejected, format!("{name}: rejected"))?;
        trial.holds(found.report.converged == Some(true), format!("{name}: {:?}", found.report))?;
        trial.at_most(format!("{name}: strain"), strain(&mesh, &found.positions), 0.01)?;
    }
    Ok(())
}

/// The quadratic form would send 0.01 to 50 and need 11 iterations; below half its length the edge is projected by the
/// linear form instead, which is exact at once.
fn q3_nearly(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let scene = net(&EDGE, &[[0, 1]], &[1.0; 2], &[0], &EDGE)?;
    let end = [[0.0; 3], [0.01, 0.0, 0.0]];
    let found = strains(trial, &scene, &end, 1)?;
    trial.near("unclamped", found[0], 0.0, 2e-6)?;
    // With the default clamp a step is 0.3 l long, never away from the solution.
    let mut before = 0.99;
    for iterations in 1..=8 {
        let method = Method::FastProjection(FastProjection { iterations, ..Default::default() });
        let found = trial.stepped_to(scene.clone(), still(method, LEAST), &end, H)?;
        let strain = strain(&scene.mesh, &found.positions);
        let nearer = strain < before || strain < 2e-6;
        trial.holds(nearer, format!("{iterations}: {strain} after {before}"))?;
        before = strain;
    }
    trial.at_most("clamped", before, 2e-6)
}

/// Q4: a double root is reached by halves.
fn q4_double_root(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let ends = [[-1.0, 0.0, 0.0], [0.0; 3], [1.0, 0.0, 0.0]];
    let scene = net(&ends, &[[0, 1], [1, 2]], &[1.0; 3], &[0, 2], &ends)?;
    let end = [ends[0], [0.0, -0.3, 0.0], ends[2]];
    trial.near("the strain to begin with", strain(&scene.mesh, &end), 0.044, 5e-4)?;
    // The sag halves, the strain goes down by four: .011 .0028 .0007 .00018 as printed.
    let found = strains(trial, &scene, &end, 4)?;
    for (found, (sag, printed)) in
        found.iter().zip([(0.15, 0.011), (0.075, 0.0028), (0.0375, 0.0007), (0.01875, 0.00018)])
    {
        trial.near("the strain", *found, 1f64.hypot(sag) - 1.0, 2e-6)?;
        trial.near("the printed strain", *found, printed, 0.05 * printed)?;
    }
    Ok(())
}

/// A start edge of length zero: fast projection never looks at it. Lengths as from a start edge of length one.
fn the_start_does_not_matter(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let scene = net(&EDGE, &[[0, 1]], &[1.0; 2], &[0], &[[0.0; 3]; 2])?;
    let found = strains(trial, &scene, &[[0.0; 3], [0.3, 1.5, 0.0]], 4)?;
    let expected = lengths(trial, [1.0; 2], &[0], [[0.0; 3], [0.3, 1.5, 0.0]], 4)?;
    for (found, expected) in found.iter().zip(expected) {
        trial.near("the length [m]", 1.0 + found, expected, 4e-7)?;
    }
    trial.near("from the closed form", found[1], 0.00385, 5e-5)
}

/// Without pins the constraints are met quadratically.
fn free_ends(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let rest = [[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]];
    let scene = net(&rest, &[[0, 1], [1, 2]], &[1.0; 3], &[], &rest)?;
    let end = [[0.1, 0.0, 0.0], [1.0, -0.3, 0.0], [1.9, 0.0, 0.0]];
    trial.near("the strain to begin with", strain(&scene.mesh, &end), 0.051, 5e-4)?;
    let found = strains(trial, &scene, &end, 3)?;
    trial.near("after one", found[0], 0.0017, 5e-5)?;
    trial.near("after two", found[1], 1.9e-6, 5e-7)?;
    trial.near("after three", found[2], 0.0, 5e-7)
}
