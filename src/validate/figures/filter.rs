//! The filter of velocities, Algorithm 1 of the paper: what every solver owes, whatever it does in between. Pins,
//! pieces, and nothing to do.

use super::super::Failure;
use super::super::subjects::{FRAME, solvers};
use super::Named;
use super::trial::{H, Random, Trial, bits, distance, jacobi, net, row, step, still, strain, sweep};
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Substeps;
use crate::cloth::{FrameInput, PinTarget};
use crate::mesh::{Mesh, MeshDescriptor};
use crate::scene::{self, Scene};
use crate::solver::{FastProjection, Method};

pub(super) const FIGURES: &[Named] = &[
    ("any-start", any_start),
    ("identity", identity),
    ("every-substep", every_substep),
    ("velocity-is-way-over-time", velocity_is_way_over_time),
    ("fewer-sweeps-sag-more", fewer_sweeps_sag_more),
    ("between-two-pins", between_two_pins),
    ("all-pinned", all_pinned),
    ("piece-by-piece", piece_by_piece),
    ("pins-follow", pins_follow),
];

/// The start need not satisfy the constraints.
fn any_start(trial: &mut Trial<'_>) -> Result<(), Failure> {
    for (name, method) in solvers() {
        let mut scene = scene::sheet(9)?;
        for position in &mut scene.start {
            *position = position.map(|x| 1.2 * x);
        }
        let mesh = scene.mesh.clone();
        trial.near("the strain to begin with", strain(&mesh, &scene.start), 0.2, 1e-6)?;
        let mut cloth = trial.cloth(scene, Settings { gravity: [0.0; 3], method, ..Default::default() })?;
        for _ in 0..5 {
            step(&mut cloth, H)?;
            let snapshot = cloth.snapshot()?;
            trial.holds(snapshot.report.converged == Some(true), format!("{name}: {:?}", snapshot.report))?;
            trial.at_most(format!("{name}: strain"), strain(&mesh, &snapshot.positions), 0.01)?;
        }
        // A sheet in free air keeps its centre where it was; what a clamp takes of the way of one vertex is not given
        // back to its neighbors, a tenth of a millimeter in all.
        let positions = cloth.snapshot()?.positions;
        let count = positions.len() as f64;
        for k in 0..3 {
            let center: f64 = positions.iter().zip(mesh.masses()).map(|(p, m)| f64::from(p[k]) * f64::from(*m)).sum();
            let mass: f64 = mesh.masses().iter().map(|m| f64::from(*m)).sum();
            let expected = if k == 1 { 0.0 } else { 0.6 };
            trial.near(format!("{name}: centre of {count} vertices [m]"), center / mass, expected, 2e-4)?;
        }
    }
    Ok(())
}

/// Rest lengths of 1/8 are exact: nothing to do, nothing done, and still one iteration.
fn identity(trial: &mut Trial<'_>) -> Result<(), Failure> {
    // Triangles are elastic, and pull with what rounding makes of their shape.
    for (name, method) in solvers().into_iter().filter(|(name, _)| !name.ends_with("triangles")) {
        let mesh = scene::hang(9)?.mesh;
        let start = mesh.positions().to_vec();
        let settings = Settings { substeps: Substeps::Auto, ..still(method, 1e-5) };
        let found = trial.stepped(Scene::new("flat", mesh, start.clone()), settings)?;
        trial.holds(bits(&found.positions) == bits(&start), format!("{name}: moved"))?;
        trial.holds(found.report.iterations >= 1, format!("{name}: not one iteration per substep"))?;
        trial.holds(found.report.inner_iterations == 0, format!("{name}: there is nothing to solve"))?;
    }
    Ok(())
}

/// Every substep is projected, also one that is in range.
fn every_substep(trial: &mut Trial<'_>) -> Result<(), Failure> {
    for (name, method) in solvers() {
        let settings = Settings { method, strain_limit: 0.5, substeps: Substeps::Fixed(7), ..Default::default() };
        let mut cloth = trial.cloth(scene::chain(5)?, settings)?;
        step(&mut cloth, 1e-3)?;
        let report = cloth.snapshot()?.report;
        trial.near(format!("{name}: substeps"), report.substeps.into(), 7.0, 0.0)?;
        trial.holds(report.iterations >= 7, format!("{name}: {report:?}"))?;
        // The free end has fallen as far as anything falls in seven substeps, h² g · 7·8/2, or less.
        let fallen = -f64::from(cloth.snapshot()?.positions[4][1]);
        let h = f64::from(1e-3f32) / 7.0;
        trial.near(format!("{name}: the end [m]"), fallen, 28.0 * h * h * 9.81, 1e-8)?;
    }
    Ok(())
}

fn velocity_is_way_over_time(trial: &mut Trial<'_>) -> Result<(), Failure> {
    for (name, method) in solvers() {
        let mut random = Random(9);
        let scene = scene::hang(9)?;
        let start = scene.start.clone();
        let mut cloth = trial.cloth(scene, Settings { method, substeps: Substeps::Fixed(1), ..Default::default() })?;
        let velocities: Vec<[f32; 3]> =
            start.iter().map(|_| [0, 1, 2].map(|_| random.within(-1.0, 1.0) as f32)).collect();
        cloth.set_state(&start, &velocities)?;
        let h = 1.0 / 1024.0;
        step(&mut cloth, h)?;
        let positions = cloth.snapshot()?.positions;
        let velocities = cloth.velocities()?;
        let pins = cloth.mesh().pins().to_vec();
        for v in 0..start.len() {
            for k in 0..3 {
                let way = f64::from(positions[v][k]) - f64::from(start[v][k]);
                // Positions below 2 m round by half of 2⁻²³ once; the velocity itself has 24 bits of its own.
                let tolerance = 2f64.powi(-24) / f64::from(h) + 1e-6;
                let what = format!("{name}: speed of vertex {v} [m/s]");
                trial.near(what, velocities[v][k].into(), way / f64::from(h), tolerance)?;
                let rests = !pins.contains(&(v as u32)) || velocities[v][k] == 0.0;
                trial.holds(rests, format!("{name}: a pin at rest has a speed"))?;
            }
        }
    }
    Ok(())
}

/// Stiffness by iterations (Müller et al. 2007): a chain of 1 m that hangs straight down, and what hangs lower has
/// stretched.
fn fewer_sweeps_sag_more(trial: &mut Trial<'_>) -> Result<(), Failure> {
    // Measured: 1.025 and 1.003.
    for (sweeps, middle, by) in [(5, 1.025, 0.005), (50, 1.0027, 0.0023)] {
        let mut scene = scene::chain(20)?;
        for position in &mut scene.start {
            *position = [0.0, -position[0], 0.0];
        }
        let settings = Settings { method: sweep(sweeps), substeps: Substeps::Fixed(2), ..Default::default() };
        let mut cloth = trial.cloth(scene, settings)?;
        for _ in 0..60 {
            step(&mut cloth, FRAME)?;
        }
        let length = -f64::from(cloth.snapshot()?.positions[19][1]);
        trial.near(format!("length after {sweeps} sweeps [m]"), length, middle, by)?;
    }
    Ok(())
}

/// Vertices 0 and 1 are pinned 1.5 m apart where 1 m is right; 1 – 2 is free to move.
fn between_two_pins(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let start = [[0.0; 3], [1.5, 0.0, 0.0], [2.5, 0.0, 0.0]];
    for (name, method) in solvers() {
        let mut cloth = trial.cloth(row(&start, &[0, 1])?, still(method, 0.01))?;
        trial.holds(cloth.topology().pinned_edge_count == 1, "one edge between pins")?;
        step(&mut cloth, H)?;
        let found = cloth.snapshot()?;
        let Some(strain) = found.report.strain.clone() else { return Err(Failure::new("positions were read")) };
        let seen = (strain.infeasible, strain.max, found.report.converged, found.report.device_strain);
        // No solver can help it, so it is no strain; but it is no success either.
        trial.holds(seen == (1, 0.0, Some(false), 0.0), format!("{name}: {:?}", found.report))?;
        trial.holds(bits(&found.positions) == bits(&start), format!("{name}: moved"))?;
        // Within the limit it is not held against the cloth.
        let fine = [[0.0; 3], [1.005, 0.0, 0.0], [2.005, 0.0, 0.0]];
        cloth.set_state(&fine, &[[0.0; 3]; 3])?;
        step(&mut cloth, H)?;
        let report = cloth.snapshot()?.report;
        let infeasible = report.strain.as_ref().map(|strain| strain.infeasible);
        trial.holds((infeasible, report.converged) == (Some(0), Some(true)), format!("{name}: {report:?}"))?;
    }
    Ok(())
}

/// Where everything is pinned nothing changes, to the bit.
fn all_pinned(trial: &mut Trial<'_>) -> Result<(), Failure> {
    for (name, method) in solvers() {
        let sheet = scene::hang(5)?;
        let mesh = Mesh::new(MeshDescriptor {
            positions: sheet.mesh.positions().to_vec(),
            faces: sheet.mesh.faces().to_vec(),
            pins: (0..25).collect(),
            ..Default::default()
        })?;
        let start = sheet.start.clone();
        let mut cloth =
            trial.cloth(Scene::new("pinned", mesh, sheet.start), Settings { method, ..Default::default() })?;
        for _ in 0..3 {
            step(&mut cloth, FRAME)?;
        }
        let found = cloth.snapshot()?;
        trial.holds(bits(&found.positions) == bits(&start), format!("{name}: a pin moved"))?;
        trial.holds(cloth.velocities()? == vec![[0.0; 3]; 25], format!("{name}: a pin has a speed"))?;
        let report = (found.report.device_strain, found.report.rejected);
        trial.holds(report == (0.0, false), format!("{name}: {:?}", found.report))?;
    }
    Ok(())
}

/// Three rows of five: stretched by 1.1, at rest, stretched by 1.3, hung at one end. Too few iterations for two.
fn piece_by_piece(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let rest: Vec<[f32; 3]> = (0..15).map(|k| [(k % 5) as f32, 0.0, (k / 5) as f32]).collect();
    let lines: Vec<[u32; 2]> = (0..15).filter(|k| k % 5 > 0).map(|k| [k - 1, k]).collect();
    let factors = [1.1, 1.0, 1.3];
    let start: Vec<[f32; 3]> = rest.iter().enumerate().map(|(v, [x, y, z])| [x * factors[v / 5], *y, *z]).collect();
    let one = FastProjection { iterations: 1, ..Default::default() };
    for method in [sweep(1), jacobi(1, 0.2), Method::FastProjection(one)] {
        let name = method.solver().name();
        let mut cloth = trial.cloth(net(&rest, &lines, &[1.0; 15], &[0, 5, 10], &start)?, still(method, 0.01))?;
        trial.holds(cloth.topology().component_count == 3, "three pieces")?;
        step(&mut cloth, H)?;
        let found = cloth.snapshot()?;
        let Some(measured) = found.report.strain.clone() else { return Err(Failure::new("positions were read")) };
        let expected = [0, 1, 2].map(|piece| {
            let edge = |v: usize| (distance(found.positions[v - 1], found.positions[v]) - 1.0).abs();
            (5 * piece + 1..5 * piece + 5).map(edge).fold(0.0, f64::max)
        });
        trial.near_all(name, &measured.per_component, &expected, 0.0)?;
        let ordered = expected[0] > 0.01 && expected[1] == 0.0 && expected[2] > expected[0];
        trial.holds(ordered && measured.max == expected[2], format!("{name}: {expected:?}"))?;
        trial.holds(found.report.converged == Some(false), format!("{name}: one piece over the limit is enough"))?;
        let rested = bits(&found.positions)[5..10] == bits(&start)[5..10];
        trial.holds(rested, format!("{name}: the piece at rest moved"))?;
    }
    Ok(())
}

/// Pins follow their targets to the bit.
fn pins_follow(trial: &mut Trial<'_>) -> Result<(), Failure> {
    for (name, method) in solvers() {
        let mut cloth =
            trial.cloth(scene::chain(5)?, Settings { method, substeps: Substeps::Fixed(7), ..Default::default() })?;
        let mut random = Random(1);
        let mut last = [0.0; 3];
        for _ in 0..5 {
            last = [0, 1, 2].map(|_| random.within(-0.01, 0.01) as f32);
            let target = PinTarget { vertex: 0, position: last };
            cloth.step(&FrameInput { dt: FRAME, pin_targets: &[target] })?;
            let found = cloth.snapshot()?.positions[0];
            trial.holds(bits(&[found]) == bits(&[last]), format!("{name}: {found:?} instead of {last:?}"))?;
        }
        // Without a target it stays there.
        step(&mut cloth, FRAME)?;
        let found = cloth.snapshot()?.positions[0];
        trial.holds(bits(&[found]) == bits(&[last]), format!("{name}: {found:?} instead of {last:?}"))?;
        // The rest of the chain hangs on it.
        let end = cloth.snapshot()?.positions;
        trial.at_most(format!("{name}: length [m]"), distance(end[0], end[4]), 1.01 + 1e-6)?;
    }
    Ok(())
}
