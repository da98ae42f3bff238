//! The judge: fast projection and its relatives in double precision, with direct solvers.
//!
//! Nothing here is fast, parallel or shared with the single-precision kernels; that is the point. Every formula is
//! written once more from the paper (Goldenthal et al. 2007, *Efficient Simulation of Inextensible Cloth*), solved by
//! sparse factorisation, and used by the tests to tell what the kernels should have found.
//!
//! # Notation
//!
//! | Symbol | Name | Unit |
//! |---|---|---|
//! | x, x_0, x^n | position now, after the unconstrained step, at the start of the step | m |
//! | w = 1/m, W | inverse mass (0 = pinned), and the diagonal matrix of them | 1/kg |
//! | d, l | edge vector x_b − x_a, rest length | m |
//! | C = \|d\|²/l − l | constraint value | m |
//! | J = ∂C/∂x | ±2d/l at head and tail of the edge | 1 |
//! | A = J W Jᵀ | the operator of the linear system | 1/kg |
//! | μ = h² λ | multiplier of one projection, free of the time step | kg·m |
//! | λ | multiplier of the motion; half the tension of an edge at rest | N |
//! | ε = \|d\|/l − 1 | strain | 1 |
//!
//! # What lives where
//!
//! [`System`] holds positions, inverse masses and edges, and knows C, J and A. A [`Projector`] takes the positions of
//! an unconstrained step and moves them onto C = 0: [`FastProjection`] by equation (7), [`ImplicitDirection`] by
//! Newton's method on the implicit constraint direction, [`Shake`] along the direction at the start of the step,
//! [`Linearized`] by one linear solve there, [`ImplicitSprings`] only as far as a stiffness pulls, and
//! [`ProjectiveDynamics`] as far with another Hessian. [`step`] is one
//! step of symplectic Euler around any of them, [`rattle_step`] the one of RATTLE; [`run`] makes many and measures.
//! [`JointDirection`] has springs and constraints in one iteration, [`Predicted`] the last multipliers in its
//! prediction, [`prestabilized_step`] its impulses at the start of the step. [`differentiated_step`] is the family
//! without any projection.
//! [`CompliantStep`] is one of constraints that give way, by the whole system and by its Schur complement, with the
//! geometric stiffness or without.
//! [`Fabric`] is a scene of this crate as such a system, with its shear springs.
//! [`modified_pcg()`] is the implicit elastic step of Baraff & Witkin (1998) with held particles.
//!
//! `taut bench paper` runs them on the figures of the paper; `docs/paper.md` in the repository shows the plots and how
//! they compare.

#![expect(clippy::expect_used, reason = "indices made here are in range; out of memory ends a reference run")]

mod area;
mod compliance;
mod differentiated;
mod fabric;
mod fast_projection;
mod implicit_direction;
mod integrate;
mod linear;
mod linearized;
mod modified_pcg;
mod projective_dynamics;
mod run;
mod shake;
mod springs;
mod stabilized;
mod system;

pub use area::{AreaStep, area_gradient, nearest_of_area, scaled_to_area, signed_area};
pub use compliance::{CompliantSolution, CompliantStep, Measure, geometric_stiffness};
pub use differentiated::{Baumgarte, constrained_accelerations, differentiated_step};
pub use fabric::Fabric;
pub use faer;
pub use fast_projection::FastProjection;
pub use implicit_direction::{ImplicitDirection, JointDirection, Residual, icd_step, residual, unknown_count};
pub use integrate::{energy, project_velocities, step};
pub use linearized::Linearized;
pub use modified_pcg::{
    ElasticStep, Grip, Hold, Particles, Solution, Spring, Stiffness, Stop, direct, friction, limit_length_change,
    modified_pcg, normal_force, releases, solve_dense,
};
pub use projective_dynamics::{ProjectiveDynamics, ShapeTerm, nearest_rotation};
pub use run::{Recorder, RunReport, StepResidual, residuals, run, run_while, run_with};
pub use shake::{Shake, rattle_step};
pub use springs::{Found, ImplicitSprings, search_stiffness};
pub use stabilized::{Predicted, prestabilize, prestabilized_step};
pub use system::{System, max_strain};

/// Moves positions onto the constraints.
pub trait Projector {
    /// Projects `system.positions`, which hold the end x_0 of an unconstrained step of length `h` seconds.
    ///
    /// `start` holds the positions x^n at the start of the step, for methods whose constraint direction is taken
    /// there; it may be ignored. Vertices of inverse mass 0 are never moved. Not reaching the limit is no error: the
    /// positions are the last iterate and [`Projection::failure`] says why.
    fn project(&mut self, system: &mut System, start: &[[f64; 3]], h: f64) -> Projection;
}

/// What a projection reached.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Projection {
    /// Largest |ε| over all edges at the positions handed back, edges between two pins included.
    pub strain: f64,
    /// Linear systems solved.
    pub iterations: usize,
    /// How many of them were singular to working precision and were solved in the least-squares sense.
    pub regularized: usize,
    /// Edges left out because both ends are pinned.
    pub skipped: usize,
    /// Multipliers λ in newtons, one per edge, summed over the iterations; zero for the edges left out.
    pub multipliers: Vec<f64>,
    /// Why the limit was not reached, if it was not.
    pub failure: Option<Failure>,
}

/// Why a projection did not reach its limit.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The ends of an edge coincide: its row of A is zero and no direction can lengthen it. A shorter step cures it.
    #[error("the ends of edge {edge} coincide, so the constraint has no direction")]
    CollapsedEdge {
        /// The edge.
        edge: usize,
    },
    /// Both ends of an edge are pinned at a distance that breaks the limit.
    #[error("edge {edge} is held out of range by two pinned vertices")]
    Infeasible {
        /// The edge.
        edge: usize,
    },
    /// The linear system has no solution: the constraints contradict each other to first order.
    #[error("the linear system is singular and contradictory, relative residual {residual:e}")]
    Inconsistent {
        /// |C − A μ| / |C| of the least-squares solution.
        residual: f64,
    },
    /// The Newton matrix is singular.
    #[error("the Newton matrix is singular")]
    Singular,
    /// The iterations ran out.
    #[error("the iterations ran out above the limit")]
    Budget,
    /// A position is no longer finite.
    #[error("a position is no longer finite")]
    NotFinite,
}
