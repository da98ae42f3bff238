//! Differentiated constraints: the acceleration that keeps C'' = 0, and what steps of it leave behind.
//!
//! Witkin, Gleicher & Welch 1990 ask for no acceleration away from the constraint. With C' = J v and forces f + Jᵀ λ,
//!
//! ```text
//! (J W Jᵀ) λ = −(J' v + J W f) − 2 α C' − β² C,      J' v = 2 |v_b − v_a|²/l for C = |d|²/l − l
//! ```
//!
//! Nothing but the last two terms (Baumgarte's) looks at C itself: without them whatever a step leaves of C' stays, and
//! C grows from it for ever. With them C is an oscillator of frequency β and damping α, which must be chosen: weak ones
//! leave drift, strong ones make the equation stiff. Projection has no such number (*Goldenthal et al. 2007*,
//! section 2).

use glam::DVec3;

use super::System;
use super::linear::solve;

/// Baumgarte's terms: −2 α C' − β² C beside C'' = 0, both in 1/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Baumgarte {
    /// Damping α of C.
    pub alpha: f64,
    /// Frequency β of C.
    pub beta: f64,
}

/// Accelerations in m/s² of a net under gravity and the forces that keep the constraints differentiated twice, and the
/// multipliers λ in newtons, tension negative. Pins do not accelerate.
#[must_use]
pub fn constrained_accelerations(
    system: &System,
    velocities: &[[f64; 3]],
    gravity: [f64; 3],
    baumgarte: Option<Baumgarte>,
) -> (Vec<[f64; 3]>, Vec<f64>) {
    let active = system.active_edges();
    let pull = |w: &f64| if *w > 0.0 { DVec3::from(gravity) } else { DVec3::ZERO };
    let free: Vec<DVec3> = system.inverse_masses.iter().map(pull).collect();
    let speeds: Vec<DVec3> = velocities.iter().map(|v| DVec3::from(*v)).collect();
    let Baumgarte { alpha, beta } = baumgarte.unwrap_or(Baumgarte { alpha: 0.0, beta: 0.0 });
    let pushed = system.gather(&active, &free);
    let rates = system.gather(&active, &speeds);
    let right: Vec<f64> = active
        .iter()
        .zip(pushed.iter().zip(&rates))
        .map(|(&e, (pushed, rate))| {
            let (a, b) = system.ends(e);
            let bent = 2.0 * (speeds[b] - speeds[a]).length_squared() / system.rests[e];
            -(bent + pushed) - 2.0 * alpha * rate - beta * beta * system.constraint(e)
        })
        .collect();
    let solution = solve(&system.operator(&active), &right);
    let spread = system.spread(&active, &solution.values);
    let mut multipliers = vec![0.0; system.edges.len()];
    active.iter().zip(&solution.values).for_each(|(&e, lambda)| multipliers[e] = *lambda);
    (free.iter().zip(spread).map(|(free, held)| (*free + held).to_array()).collect(), multipliers)
}

/// A step of `h` seconds by semi-implicit Euler with these accelerations.
pub fn differentiated_step(
    system: &mut System,
    velocities: &mut [[f64; 3]],
    gravity: [f64; 3],
    h: f64,
    baumgarte: Option<Baumgarte>,
) {
    let (accelerations, _) = constrained_accelerations(system, velocities, gravity, baumgarte);
    for ((x, v), a) in system.positions.iter_mut().zip(velocities).zip(accelerations) {
        let velocity = DVec3::from(*v) + h * DVec3::from(a);
        *v = velocity.to_array();
        *x = (DVec3::from(*x) + h * velocity).to_array();
    }
}
