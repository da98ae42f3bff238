//! One linear solve at the start of the step, kept to show what it leaves behind.

use glam::DVec3;

use super::linear::solve;
use super::system::max_strain;
use super::{Failure, Projection, Projector, System};

/// The constraint linearised about the start of the step: (J W Jᵀ) μ = C(x^n) + J (x_0 − x^n), x = x_0 − W Jᵀ μ, with J
/// at x^n.
///
/// Without C(x^n) this asks for J v' = 0, a constraint on velocities alone; with constraint forces +Jᵀ λ it is
/// (J W Jᵀ) λ = −(J W f + J v/h). What one step leaves of C then stays for ever and adds up; with C(x^n) in its place
/// the error stays bounded. There is no limit to miss, so the only failures are those of the solver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Linearized {
    /// Whether C(x^n) is on the right side.
    pub corrected: bool,
}

impl Projector for Linearized {
    fn project(&mut self, system: &mut System, start: &[[f64; 3]], h: f64) -> Projection {
        let old = System { positions: start.to_vec(), ..system.clone() };
        let active = system.active_edges();
        let mut multipliers = vec![0.0; system.edges.len()];
        let mut report = |system: &System, iterations, regularized, failure| Projection {
            strain: max_strain(system),
            iterations,
            regularized,
            skipped: system.edges.len() - active.len(),
            multipliers: std::mem::take(&mut multipliers),
            failure,
        };
        if !max_strain(system).is_finite() {
            return report(system, 0, 0, Some(Failure::NotFinite));
        }
        if let Some(edge) = old.collapsed(&active) {
            return report(system, 0, 0, Some(Failure::CollapsedEdge { edge }));
        }
        let way = |(x, start): (&[f64; 3], &[f64; 3])| DVec3::from(*x) - DVec3::from(*start);
        let ways: Vec<DVec3> = system.positions.iter().zip(start).map(way).collect();
        let mut right = old.gather(&active, &ways);
        if self.corrected {
            right.iter_mut().zip(&active).for_each(|(right, &e)| *right += old.constraint(e));
        }
        let solution = solve(&old.operator(&active), &right);
        if solution.values.iter().any(|mu| !mu.is_finite()) {
            return report(system, 1, 0, Some(Failure::Singular));
        }
        for (x, step) in system.positions.iter_mut().zip(old.spread(&active, &solution.values)) {
            *x = (DVec3::from(*x) - step).to_array();
        }
        let mut done = report(system, 1, usize::from(solution.regularized), None);
        active.iter().zip(&solution.values).for_each(|(&e, mu)| done.multipliers[e] = mu / (h * h));
        done
    }
}
