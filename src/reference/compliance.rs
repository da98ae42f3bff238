//! A step with compliant constraints, by the whole system and by its Schur complement; stable constrained dynamics.
//!
//! φ_e = |d| − l, C_c = diag(1/k), f = Jᵀλ with λ = −C_c⁻¹φ: the energy ½ φᵀC_c⁻¹φ has the gradient Jᵀ C_c⁻¹ φ, a
//! column. A backward step of length h, linearized, from the velocity v* that external forces have made, is
//!
//! | M + h²K̃   −h Jᵀ | | v |   | M v* |
//! | h J          C_c  | | λ | = | −φ   |,
//!
//! and, with v eliminated, (h² J H⁻¹ Jᵀ + C_c) λ = −φ − h J H⁻¹ M v*, H = M + h²K̃, and v = H⁻¹(M v* + h Jᵀλ). λ < 0 is
//! tension here. C_c = 0 is the first step of fast projection, in φ or in the paper's C = |d|²/l − l.
//!
//! K̃ = −Σ_e λ_e ∂²φ_e/∂x² is the geometric stiffness (Tournier et al. 2015, *Stable Constrained Dynamics*): with
//! λ = −k φ it is the half of the Hessian of a spring, k n nᵀ + k (1 − l/|d|)(I − n nᵀ), that Jᵀ C_c⁻¹ J lacks. λ is
//! that of the step before, and where it pushes it is left out, so that H stays positive definite.
//!
//! Dense, for small systems.

use faer::Mat;
use faer::linalg::solvers::Solve;
use glam::{DMat3, DVec3};

use super::System;

/// How an edge measures what it is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// φ = |d| − l, ∂φ/∂x = ±d/|d|.
    Length,
    /// C = |d|²/l − l, ∂C/∂x = ±2d/l, the paper's; compliance is of that then.
    Square,
}

/// A step of compliant constraints.
#[derive(Debug, Clone, Copy)]
pub struct CompliantStep<'a> {
    /// Positions at the start, masses, edges.
    pub system: &'a System,
    /// v*: velocities with what external forces did in this step, m/s.
    pub velocities: &'a [[f64; 3]],
    /// The constraint.
    pub measure: Measure,
    /// C_c per edge, m/N.
    pub compliances: &'a [f64],
    /// λ per edge that K̃ is made of, N; empty for no geometric stiffness.
    pub geometric: &'a [f64],
    /// Length of the step, s.
    pub h: f64,
}

/// What a step came to.
#[derive(Debug, Clone, PartialEq)]
pub struct CompliantSolution {
    /// Velocities at the end, m/s.
    pub velocities: Vec<[f64; 3]>,
    /// λ per edge, N; less than 0 pulls.
    pub multipliers: Vec<f64>,
}

/// −λ/|d| (I − n nᵀ), what an edge with the multiplier λ adds to K̃ at its ends, N/m; 0 where it pushes.
#[must_use]
pub fn geometric_stiffness(d: [f64; 3], multiplier: f64) -> [[f64; 3]; 3] {
    let d = DVec3::from(d);
    let n = d.normalize_or_zero();
    let outer = DMat3::from_cols(n * n.x, n * n.y, n * n.z);
    ((DMat3::IDENTITY - outer) * ((-multiplier).max(0.0) / d.length())).to_cols_array_2d()
}

impl CompliantStep<'_> {
    /// First coordinate of each vertex among those of the free ones, and how many there are.
    fn places(&self) -> (Vec<Option<usize>>, usize) {
        let mut count = 0;
        let places = self.system.inverse_masses.iter().map(|w| {
            (*w > 0.0).then(|| {
                count += 3;
                count - 3
            })
        });
        (places.collect(), count)
    }

    /// J over the free coordinates.
    fn jacobian(&self, places: &[Option<usize>], count: usize) -> Mat<f64> {
        let mut jacobian = Mat::zeros(self.system.edges.len(), count);
        for e in 0..self.system.edges.len() {
            let n = match self.measure {
                Measure::Length => self.system.vector(e).normalize_or_zero(),
                Measure::Square => self.system.gradient(e),
            };
            let (a, b) = self.system.ends(e);
            for (vertex, sign) in [(a, -1.0), (b, 1.0)] {
                if let Some(first) = places[vertex] {
                    (0..3).for_each(|axis| jacobian[(e, first + axis)] = sign * n[axis]);
                }
            }
        }
        jacobian
    }

    /// M + h²K̃ over the free coordinates, and M v*.
    fn inertia(&self, places: &[Option<usize>], count: usize) -> (Mat<f64>, Mat<f64>) {
        let (mut inertia, mut momentum) = (Mat::zeros(count, count), Mat::zeros(count, 1));
        for (vertex, place) in places.iter().enumerate() {
            let Some(first) = place else { continue };
            let mass = 1.0 / self.system.inverse_masses[vertex];
            for axis in 0..3 {
                inertia[(first + axis, first + axis)] = mass;
                momentum[(first + axis, 0)] = mass * self.velocities[vertex][axis];
            }
        }
        for (e, multiplier) in self.geometric.iter().enumerate() {
            let block = geometric_stiffness(self.system.vector(e).to_array(), *multiplier);
            let (a, b) = self.system.ends(e);
            for (one, other, sign) in [(a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)] {
                let (Some(row), Some(column)) = (places[one], places[other]) else { continue };
                for i in 0..3 {
                    for j in 0..3 {
                        inertia[(row + i, column + j)] += sign * self.h * self.h * block[j][i];
                    }
                }
            }
        }
        (inertia, momentum)
    }

    /// φ or C of every edge, m.
    fn values(&self) -> impl Fn(usize) -> f64 {
        |e| match self.measure {
            Measure::Length => self.system.vector(e).length() - self.system.rests[e],
            Measure::Square => self.system.constraint(e),
        }
    }

    fn found(&self, places: &[Option<usize>], v: &Mat<f64>, multipliers: Vec<f64>) -> CompliantSolution {
        let velocity = |place: &Option<usize>, given: [f64; 3]| {
            place.map_or(given, |first| [0, 1, 2].map(|axis| v[(first + axis, 0)]))
        };
        let velocities = places.iter().zip(self.velocities).map(|(place, given)| velocity(place, *given)).collect();
        CompliantSolution { velocities, multipliers }
    }

    /// By the whole system.
    #[must_use]
    pub fn primal_dual(&self) -> CompliantSolution {
        let (places, count) = self.places();
        let edges = self.system.edges.len();
        let (jacobian, (inertia, momentum)) = (self.jacobian(&places, count), self.inertia(&places, count));
        let value = self.values();
        let matrix = Mat::from_fn(count + edges, count + edges, |row, column| match (row < count, column < count) {
            (true, true) => inertia[(row, column)],
            (true, false) => -self.h * jacobian[(column - count, row)],
            (false, true) => self.h * jacobian[(row - count, column)],
            (false, false) if row == column => self.compliances[row - count],
            (false, false) => 0.0,
        });
        let right =
            Mat::from_fn(count + edges, 1, |row, _| if row < count { momentum[(row, 0)] } else { -value(row - count) });
        let solution = matrix.partial_piv_lu().solve(&right);
        let multipliers = (0..edges).map(|e| solution[(count + e, 0)]).collect();
        self.found(&places, &solution, multipliers)
    }

    /// By its Schur complement. Velocities of pinned vertices are taken for 0.
    #[must_use]
    pub fn schur(&self) -> CompliantSolution {
        let (places, count) = self.places();
        let edges = self.system.edges.len();
        let (jacobian, (inertia, momentum)) = (self.jacobian(&places, count), self.inertia(&places, count));
        let value = self.values();
        let inertia = inertia.partial_piv_lu();
        let free = inertia.solve(&momentum);
        let spread = inertia.solve(jacobian.transpose().to_owned());
        let (product, rate) = (&jacobian * &spread, &jacobian * &free);
        let matrix = Mat::from_fn(edges, edges, |row, column| {
            self.h * self.h * product[(row, column)] + if row == column { self.compliances[row] } else { 0.0 }
        });
        let right = Mat::from_fn(edges, 1, |row, _| -value(row) - self.h * rate[(row, 0)]);
        let multipliers = matrix.partial_piv_lu().solve(&right);
        let v = &free + &spread * &multipliers * faer::Scale(self.h);
        self.found(&places, &v, (0..edges).map(|e| multipliers[(e, 0)]).collect())
    }
}
