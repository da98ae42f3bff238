//! Fast projection with a direct solver: equation (7) of the paper, the one the kernels solve by conjugate gradients.

use glam::DVec3;

use super::linear::solve;
use super::system::{max_strain, strain_over};
use super::{Failure, Projection, Projector, System};

/// A least-squares solution that leaves more than this fraction of C is no solution.
const CONTRADICTORY: f64 = 1e-3;
/// A step shorter than this fraction of the shortest edge is no step.
const STANDSTILL: f64 = 1e-15;

/// Fast projection: (J W Jᵀ) μ = C, x ← x − W Jᵀ μ, until every strain is in range.
///
/// h cancels, so one setting serves all step sizes. Cost: one sparse Cholesky factorisation per iteration. Edges
/// between two pinned vertices are left out and counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FastProjection {
    /// Largest |ε| to accept.
    pub limit: f64,
    /// Iterations, at most.
    pub budget: usize,
    /// Iterations, at least, even when all strains are in range: a filter that sleeps inside a wide limit makes cloth
    /// at rest bounce.
    pub at_least: usize,
}

impl Default for FastProjection {
    fn default() -> Self {
        Self { limit: 1e-12, budget: 60, at_least: 1 }
    }
}

impl Projector for FastProjection {
    fn project(&mut self, system: &mut System, _start: &[[f64; 3]], h: f64) -> Projection {
        let active = system.active_edges();
        let mut multipliers = vec![0.0; system.edges.len()];
        let mut regularized = 0;
        let mut iterations = 0;
        let mut contradiction = None;
        let shortest = system.rests.iter().copied().fold(f64::INFINITY, f64::min);

        let failure = loop {
            let strain = strain_over(system, active.iter().copied());
            if !strain.is_finite() {
                break Some(Failure::NotFinite);
            }
            let reached = strain <= self.limit;
            if reached && iterations >= self.at_least.min(self.budget) {
                break None;
            }
            if let Some(edge) = system.collapsed(&active) {
                break Some(Failure::CollapsedEdge { edge });
            }
            if iterations >= self.budget {
                break Some(contradiction.unwrap_or(Failure::Budget));
            }

            let values: Vec<f64> = active.iter().map(|&e| system.constraint(e)).collect();
            let solution = solve(&system.operator(&active), &values);
            let steps = system.spread(&active, &solution.values);
            for (x, step) in system.positions.iter_mut().zip(&steps) {
                *x = (DVec3::from(*x) - *step).to_array();
            }
            for (&e, &mu) in active.iter().zip(&solution.values) {
                multipliers[e] += mu / (h * h);
            }
            iterations += 1;
            regularized += usize::from(solution.regularized);
            let residual = solution.residual;
            contradiction =
                (solution.regularized && residual > CONTRADICTORY).then_some(Failure::Inconsistent { residual });

            let longest = steps.iter().map(|step| step.length()).fold(0.0, f64::max);
            if contradiction.is_some() && !reached && longest <= STANDSTILL * shortest {
                break contradiction;
            }
        };

        Projection {
            strain: max_strain(system),
            iterations,
            regularized,
            skipped: system.edges.len() - active.len(),
            multipliers,
            failure: failure.or_else(|| system.held_apart(self.limit)),
        }
    }
}
