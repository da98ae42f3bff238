//! Motion over seconds: a pendulum, a chain that hangs, a chain between two pins.

use super::super::Failure;
use super::super::energy::energy;
use super::super::subjects::{FRAME, solvers};
use super::Named;
use super::trial::{G, Trial, step};
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Substeps;
use crate::error::Result;
use crate::mesh::{Mass, Mesh, MeshDescriptor};
use crate::scene::Scene;
use crate::solver::{FastProjection, Method};

pub(super) const FIGURES: &[Named] = &[
    ("pendulum", pendulum_swings),
    ("pendulum-loses", pendulum_loses),
    ("hanging-chain", hanging_chain),
    ("catenary", catenary),
];

/// A chain of equal edges through the given points; masses in kg.
pub(super) fn rope(points: &[[f32; 3]], masses: Vec<f32>, pins: Vec<u32>, edge: f32) -> Result<Scene> {
    let lines: Vec<[u32; 2]> = (1..points.len() as u32).map(|k| [k - 1, k]).collect();
    // The rest shape is a straight line: only its lengths matter.
    let positions = (0..points.len()).map(|k| [k as f32 * edge, 0.0, 0.0]).collect();
    let descriptor = MeshDescriptor { positions, lines, mass: Mass::PerVertex(masses), pins, ..Default::default() };
    Ok(Scene::new("rope", Mesh::new(descriptor)?, points.to_vec()))
}

/// A mass of 1 kg on a rod of 1 m, released horizontally.
fn pendulum() -> Result<Scene> {
    rope(&[[0.0; 3], [1.0, 0.0, 0.0]], vec![1.0, 1.0], vec![0], 1.0)
}

/// Angle below the horizontal of a pendulum released horizontally, by RK4 with 10⁵ steps.
fn pendulum_angle(time: f64) -> f64 {
    let steps = 100_000;
    let dt = time / f64::from(steps);
    let rate = |[angle, speed]: [f64; 2]| [speed, G * angle.cos()];
    let mut y = [0.0, 0.0];
    for _ in 0..steps {
        let add = |y: [f64; 2], k: [f64; 2], dt: f64| [y[0] + dt * k[0], y[1] + dt * k[1]];
        let k1 = rate(y);
        let k2 = rate(add(y, k1, dt / 2.0));
        let k3 = rate(add(y, k2, dt / 2.0));
        let k4 = rate(add(y, k3, dt));
        y = [0, 1].map(|i| y[i] + dt / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]));
    }
    y[0]
}

/// The angle after a second. The method is of first order: off by 0.02 at h = 1/800, so by 0.1 % at a thousand substeps
/// per frame, and by half a percent at twenty, which is what a software driver is given.
fn pendulum_swings(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let (substeps, tolerance) = if trial.on_cpu() { (1000, 1e-3) } else { (20, 1e-2) };
    let expected = pendulum_angle(1.0);
    for (name, method) in solvers() {
        let settings = Settings { substeps: Substeps::Fixed(substeps), method, ..Default::default() };
        let mut cloth = trial.cloth(pendulum()?, settings)?;
        for _ in 0..60 {
            step(&mut cloth, FRAME)?;
        }
        let [x, y, _] = cloth.snapshot()?.positions[1].map(f64::from);
        trial.near(format!("{name}: the angle"), (-y).atan2(x), expected, tolerance * expected)?;
        trial.near(format!("{name}: the radius [m]"), x.hypot(y), 1.0, 2e-6 * 1000.0 / f64::from(substeps))?;
        if !trial.on_cpu() && name == Method::NAMES[Method::NAMES.len() - 1] {
            // Variants are other preconditioners of the same step.
            break;
        }
    }
    Ok(())
}

/// Fast projection from 90°, after 1 s, in units of m g l: it loses what backward projection loses.
fn pendulum_loses(trial: &mut Trial<'_>) -> Result<(), Failure> {
    for (substeps, expected) in [(1, -0.2842), (2, -0.1610), (5, -0.0700)] {
        let settings = Settings {
            substeps: Substeps::Fixed(substeps),
            strain_limit: 1e-5,
            method: Method::FastProjection(FastProjection { tolerance: 1e-3, ..Default::default() }),
            ..Default::default()
        };
        let mut cloth = trial.cloth(pendulum()?, settings)?;
        for _ in 0..60 {
            step(&mut cloth, FRAME)?;
        }
        trial.near(format!("{substeps} substeps: the loss"), energy(&cloth)? / G, expected, 2e-3)?;
    }
    Ok(())
}

/// Ten links of 0.1 kg at h = 1/60: the multipliers alone are 15 % low, the accumulated corrections are not.
fn hanging_chain(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let points: Vec<[f32; 3]> = (0..11).map(|k| [0.0, -0.1 * k as f32, 0.0]).collect();
    let settings = Settings { substeps: Substeps::Fixed(1), strain_limit: 1e-4, ..Default::default() };
    let mut cloth = trial.cloth(rope(&points, vec![0.1; 11], vec![0], 0.1)?, settings)?;
    for _ in 0..60 {
        step(&mut cloth, FRAME)?;
    }
    let weight = -f64::from(cloth.pin_forces()?[0][1]);
    trial.near("the weight on the pin [N]", weight, 1.1 * G, 0.011 * G)
}

/// Length 1, span 0.8, equal inner masses: the polygon with tan θ_k = c k, not the smooth catenary (0.265437509).
fn catenary(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let cases = [(10usize, 0.266_864_426f64), (20, 0.265_791_567)];
    for (edges, sag) in cases.into_iter().take(if trial.on_cpu() { 2 } else { 1 }) {
        let half = (edges / 2) as f32;
        let slope = 0.6f32; // cos 0.8, sin 0.6: a V of the right span and length to start from
        let points: Vec<[f32; 3]> = (0..=edges)
            .map(|k| {
                let x = k as f32 * 0.8 / edges as f32;
                let depth = (half - (k as f32 - half).abs()) * slope / edges as f32;
                [x, -depth, 0.0]
            })
            .collect();
        let pins = vec![0, edges as u32];
        let settings = Settings { substeps: Substeps::Fixed(8), drag: 3.0, strain_limit: 1e-4, ..Default::default() };
        let scene = rope(&points, vec![0.01; edges + 1], pins, 1.0 / edges as f32)?;
        let mut cloth = trial.cloth(scene, settings)?;
        // Half of it in 0.23 s, a thousandth in 2.3 s.
        for _ in 0..if trial.on_cpu() { 600 } else { 300 } {
            step(&mut cloth, FRAME)?;
        }
        let lowest = cloth.snapshot()?.positions.iter().fold(0.0f32, |least, p| least.min(p[1]));
        trial.near(format!("the sag of {edges} edges [m]"), -f64::from(lowest), sag, 1e-4)?;
        // Either pin bears half of the weight of what hangs between them, and its own.
        let forces = cloth.pin_forces()?;
        let borne: f64 = forces.iter().map(|force| -f64::from(force[1])).sum();
        trial.near("the weight on both pins [N]", borne, 0.01 * G * (edges + 1) as f64, 0.002 * G)?;
    }
    Ok(())
}
