//! Forces and integration: v* = v + h W f, x₀ = x + h v* (section 4.1 of the paper).

use super::super::Failure;
use super::super::subjects::{kernel, solvers};
use super::Named;
use super::trial::{G, H, Random, Trial, bits, fast, net, step, still};
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Substeps;
use crate::error::Result;
use crate::mesh::{Link, Mesh};
use crate::scene;

pub(super) const FIGURES: &[Named] = &[
    ("free-fall", free_fall),
    ("drag-and-impulse", drag_and_impulse),
    ("springs-are-a-gradient", springs_are_a_gradient),
];

fn free_fall(trial: &mut Trial<'_>) -> Result<(), Failure> {
    // A free vertex, a free pair 1 m apart, a pinned vertex at an odd place.
    let odd = [0.1, -0.3, 1.0 / 3.0];
    let positions = [[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], odd];
    for (name, method) in solvers() {
        let scene = net(&positions, &[[1, 2]], &[0.1, 1.0, 3.0, 1.0], &[3], &positions)?;
        let mut cloth = trial.cloth(scene, Settings { method, substeps: Substeps::Fixed(1), ..Default::default() })?;
        for _ in 0..64 {
            step(&mut cloth, H)?;
        }
        let snapshot = cloth.snapshot()?;
        let velocities = cloth.velocities()?;
        // −g h² n(n+1)/2 = −9.81 · 2080/4096. Relative 1e-6: 64 roundings of h·v, the rest is carried on.
        let fallen = -G * 2080.0 / 4096.0;
        for v in 0..3 {
            trial.near(format!("{name}: way of vertex {v} [m]"), snapshot.positions[v][1].into(), fallen, 5e-6)?;
            trial.near(format!("{name}: speed of vertex {v} [m/s]"), velocities[v][1].into(), -G, 1e-5)?;
        }
        trial.holds(bits(&snapshot.positions)[3] == odd.map(f32::to_bits), format!("{name}: a pin moved"))?;
        trial.holds(snapshot.report.converged == Some(true), format!("{name}: over the limit"))?;
    }
    Ok(())
}

/// (v + p/m)/(1 + c h), once.
fn drag_and_impulse(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let scene = net(&[[0.0; 3]], &[], &[0.5], &[], &[[0.0; 3]])?;
    let mut cloth = trial.cloth(scene, Settings { drag: 16.0, ..still(fast(1), 0.01) })?;
    cloth.add_impulse(0, [1.0, 0.0, 0.0])?;
    cloth.add_impulse(0, [0.0, 2.0, 0.0])?;
    step(&mut cloth, H)?;
    // 2 m/s and 4 m/s over 1 + 16/64: quotients of small numbers, one rounding each.
    let velocity = cloth.velocities()?[0];
    trial.near("speed along x [m/s]", velocity[0].into(), 1.6, 2e-7)?;
    trial.near("speed along y [m/s]", velocity[1].into(), 3.2, 4e-7)?;
    // The impulse is spent: the next step only damps.
    step(&mut cloth, H)?;
    trial.near("speed a step later [m/s]", cloth.velocities()?[0][0].into(), 1.28, 2e-7)
}

/// Energy of the springs in f64, from the stored rest lengths \[J\].
fn energy(mesh: &Mesh, positions: &[[f64; 3]]) -> f64 {
    let one = |spring: &Link| {
        let (a, b) = (positions[spring.tail as usize], positions[spring.head as usize]);
        let length = (0..3).map(|k| (b[k] - a[k]).powi(2)).sum::<f64>().sqrt();
        0.5 * f64::from(spring.stiffness) * (length - f64::from(spring.rest)).powi(2)
    };
    mesh.springs().iter().map(one).sum()
}

/// Shear springs, f = −k (|d| − l) n on both diagonals (section 3 of the paper).
fn springs_are_a_gradient(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let mut random = Random(2);
    let mut scene = scene::sheet(6)?;
    for position in &mut scene.start {
        *position = position.map(|x| x + random.within(-0.05, 0.05) as f32);
    }
    let start = scene.start.clone();
    let mesh = scene.mesh.clone();
    // A frame so short that it is one substep: what gathers springs is recorded.
    let cloth = crate::cloth::Cloth::on_cpu(scene.with_settings(Settings { gravity: [0.0; 3], ..Default::default() }))?;
    let Some(fields) = cloth.fields() else { return Err(Failure::new("the cloth is not on the CPU")) };
    let mut fields = fields.clone();
    trial.run_kernels(&mut fields, &[(kernel("gather_springs")?, start.len())])?;
    let forces = fields.get::<[f32; 4]>("forces")?;
    let positions: Vec<[f64; 3]> = start.iter().map(|position| position.map(f64::from)).collect();
    trial.holds(mesh.springs().len() == 2 * 25, "both diagonals of each quad")?;
    // A force is k(|d| − l)n, up to 4 per vertex. Differences of coordinates up to 1 and their length round by a few
    // 2⁻²⁴; k = 20 turns that into newtons.
    let rounding = 4.0 * 20.0 * 4.0 * 2f64.powi(-24);
    let by = 1e-5; // Central differences of an energy of order 1 J: error by² · E''' and 1e-16/by.
    for v in 0..positions.len() {
        for k in 0..3 {
            let shifted = |by: f64| {
                let mut positions = positions.clone();
                positions[v][k] += by;
                energy(&mesh, &positions)
            };
            let expected = -(shifted(by) - shifted(-by)) / (2.0 * by);
            trial.near(format!("force at vertex {v} [N]"), forces[v][k].into(), expected, rounding + 1e-7)?;
        }
    }
    let largest = forces.iter().flatten().fold(0.0f64, |most, f| most.max(f64::from(f.abs())));
    trial.holds(largest > 0.5, format!("the springs are not strained: {largest} N"))?;
    // Internal forces: no net force, no net torque. Each of 50 springs is evaluated once per end, so what remains is
    // rounding: at most 100 of them, in practice they cancel to a few.
    for k in 0..3 {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        let force: f64 = forces.iter().map(|f| f64::from(f[k])).sum();
        let torque: f64 = (0..forces.len())
            .map(|v| positions[v][i] * f64::from(forces[v][j]) - positions[v][j] * f64::from(forces[v][i]))
            .sum();
        trial.near("net force [N]", force, 0.0, 10.0 * rounding)?;
        trial.near("net torque [N m]", torque, 0.0, 10.0 * rounding)?;
    }
    Ok(())
}
