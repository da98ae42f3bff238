//! One step of motion around a projector.

use glam::DVec3;

use super::linear::solve;
use super::{Projection, Projector, System};

/// Symplectic Euler with a projection: v* = v + h g, x_0 = x + h v*, x ← projection of x_0, v ← (x − x^n)/h.
///
/// A pinned vertex feels no gravity and moves with its own velocity, so a pin at rest stays where it is. After a
/// failure the positions are the projector's last iterate; keep a copy to try a shorter step.
pub fn step(
    system: &mut System,
    velocities: &mut [[f64; 3]],
    gravity: [f64; 3],
    h: f64,
    projector: &mut dyn Projector,
) -> Projection {
    let start = system.positions.clone();
    for v in 0..start.len() {
        let pull = if system.inverse_masses[v] > 0.0 { DVec3::from(gravity) } else { DVec3::ZERO };
        let velocity = DVec3::from(velocities[v]) + h * pull;
        system.positions[v] = (DVec3::from(start[v]) + h * velocity).to_array();
    }
    let projection = projector.project(system, &start, h);
    for v in 0..start.len() {
        velocities[v] = ((DVec3::from(system.positions[v]) - DVec3::from(start[v])) / h).to_array();
    }
    projection
}

/// Removes from the velocities what would stretch an edge: (J W Jᵀ) μ = J v, v ← v − W Jᵀ μ.
///
/// Returns the largest |J v| that remains, in m/s.
pub fn project_velocities(system: &System, velocities: &mut [[f64; 3]]) -> f64 {
    let active = system.active_edges();
    let rates = |v: &[[f64; 3]]| system.gather(&active, &v.iter().map(|v| DVec3::from(*v)).collect::<Vec<_>>());
    let solution = solve(&system.operator(&active), &rates(velocities));
    for (v, step) in velocities.iter_mut().zip(system.spread(&active, &solution.values)) {
        *v = (DVec3::from(*v) - step).to_array();
    }
    rates(velocities).into_iter().map(f64::abs).fold(0.0, f64::max)
}

/// Kinetic energy plus potential energy in uniform gravity of the free vertices, in joules; zero height at the origin.
#[must_use]
pub fn energy(system: &System, velocities: &[[f64; 3]], gravity: [f64; 3]) -> f64 {
    let one = |((x, v), w): ((&[f64; 3], &[f64; 3]), &f64)| {
        (0.5 * DVec3::from(*v).length_squared() - DVec3::from(gravity).dot(DVec3::from(*x))) / w
    };
    system.positions.iter().zip(velocities).zip(&system.inverse_masses).filter(|(_, w)| **w > 0.0).map(one).sum()
}
