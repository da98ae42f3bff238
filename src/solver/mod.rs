//! Solvers: what makes the predicted motion inextensible.
//!
//! A solver value *is* its parameters. [`Solver::record`] writes, once per substep, the dispatches that change
//! `displacements` until every edge is within the strain limit.
//!
//! **Contract.** A solver is bounded: it records loops with a bound and no other. It does at least one iteration per
//! substep even where the strain is already in range (a filter that does nothing inside the limit makes cloth at rest
//! bounce off its own tolerance: ±20 × its weight at the pins was measured at h = 1/1000). Each loop ends with
//! a measurement and a judgement ([`crate::stage::strain`]). Whatever momentum it takes from a pinned
//! vertex it adds to `reactions`. It changes nothing else.
//!
//! | solver | one iteration | cost grows like | prefer it |
//! |---|---|---|---|
//! | [`GaussSeidel`] | one dispatch per color | n² sweeps for coherent strain | many small substeps, coarse limits |
//! | [`Jacobi`] | two dispatches | several times more sweeps | as a baseline, or where coloring is poor |
//! | [`FastProjection`] | one linear solve | n inner iterations with the diagonal, a handful with [lines] | small limits |
//! | [`YarnSweep`] | one dispatch per family of yarns | not with n | wherever the mesh has yarns |
//! | [`Auto`] | one of the last two | not with n | always; it is the default |
//!
//! **Adding one:** a pair of files of one stem, `shaders/x.wgsl` with the kernels and `src/solver/x.rs` with theory,
//! parameters, Rust bodies and `record`; a line in [`crate::fields`] for memory of its own; a `mod` and a variant here.

pub mod auto;
pub mod chords;
pub mod conjugate_gradient;
pub mod fast_projection;
pub mod gauss_seidel;
pub mod jacobi;
pub(crate) mod lanes;
pub mod lines;
pub mod warm_start;
pub mod yarn_sweep;

pub use auto::Auto;
pub use fast_projection::{FastProjection, Preconditioner};
pub use gauss_seidel::GaussSeidel;
pub use jacobi::Jacobi;
pub use yarn_sweep::YarnSweep;

use std::sync::Arc;

use glam::Vec3;

use crate::cpu::Run;
use crate::error::{Error, Result};
use crate::fields::Spec;
use crate::params::Frame;
use crate::program::Recorder;

/// The project stage of a step; see the [module documentation](self) for the contract.
pub trait Solver: std::fmt::Debug + Send + Sync {
    /// Kebab-case of the file stem.
    fn name(&self) -> &'static str;

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] naming the parameter.
    fn validate(&self) -> Result<()>;

    /// Records one projection.
    fn record(&self, recorder: &mut Recorder<'_>);

    /// Parameters that may be slid live, as `frame.live` in WGSL.
    fn live(&self) -> [f32; 4] {
        [0.0; 4]
    }

    /// Largest strain accepted at the end of a substep that is not the last of its frame, where it is above the limit. A
    /// frame may pass through strain that nobody sees, but what is left of it enters the velocity.
    fn middle_strain(&self) -> f32 {
        0.0
    }

    /// Load s of one substep ([`crate::stage::load`]) that the solver can take, for automatic substeps.
    fn load(&self) -> f32 {
        1.0
    }

    /// Fields of the solver's own, with names that start with `user_`; a built-in solver's are in the table.
    fn fields(&self) -> Vec<Spec> {
        Vec::new()
    }

    /// Whether the recording depends on the frame number.
    fn varies(&self) -> bool {
        false
    }
}

/// Which solver runs: a value chosen at run time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Method {
    /// Whatever suits the mesh and the load.
    Auto(Auto),
    /// Edge by edge, color by color.
    GaussSeidel(GaussSeidel),
    /// All edges at once, blended.
    Jacobi(Jacobi),
    /// Newton's method on all edges with a linear solve per iteration.
    FastProjection(FastProjection),
    /// Yarn by yarn, family by family.
    YarnSweep(YarnSweep),
    /// A solver of the user's.
    Custom(Arc<dyn Solver>),
}

impl Method {
    /// Names of the built-in solvers, as the program spells them.
    pub const NAMES: [&'static str; 5] = ["auto", "fast-projection", "gauss-seidel", "jacobi", "yarn-sweep"];

    /// The built-in solver of a name, with its default parameters.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto(Auto::default())),
            "gauss-seidel" => Some(Self::GaussSeidel(GaussSeidel::default())),
            "jacobi" => Some(Self::Jacobi(Jacobi::default())),
            "yarn-sweep" => Some(Self::YarnSweep(YarnSweep::default())),
            "fast-projection" => Some(Self::FastProjection(FastProjection::default())),
            _ => None,
        }
    }

    /// The solver.
    pub fn solver(&self) -> &dyn Solver {
        match self {
            Self::Auto(solver) => solver,
            Self::GaussSeidel(solver) => solver,
            Self::Jacobi(solver) => solver,
            Self::FastProjection(solver) => solver,
            Self::YarnSweep(solver) => solver,
            Self::Custom(solver) => solver.as_ref(),
        }
    }
}

impl Default for Method {
    fn default() -> Self {
        Self::Auto(Auto::default())
    }
}

/// What (n, 1) or (n, 0) leaves of a motion: what is across n, or along n.
#[inline]
pub(crate) fn left_by([x, y, z, w]: [f32; 4], motion: Vec3) -> Vec3 {
    let n = Vec3::new(x, y, z);
    w * motion + ((1.0 - 2.0 * w) * n.dot(motion)) * n
}

/// What holds and contacts leave of the motion of vertices; the prelude has the twin of every function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Freedom<'a>(Option<&'a [[f32; 4]]>);

impl<'a> Freedom<'a> {
    pub(crate) fn of(run: &mut Run<'a>) -> Result<Self> {
        let constraints = run.read::<[f32; 4]>("constraints")?;
        let constrained = run.one::<Frame>("frame")?.constrained != 0;
        Ok(Self(constrained.then_some(constraints)))
    }

    /// The constraints, where there are any.
    pub(crate) fn constraints(&self) -> Option<&'a [[f32; 4]]> {
        self.0
    }

    /// S of Baraff & Witkin (1998, eq. 13) applied to a motion.
    #[inline]
    pub(crate) fn allowed(&self, v: usize, motion: Vec3) -> Vec3 {
        let Some(constraints) = self.0 else { return motion };
        left_by(constraints[v], motion)
    }

    /// W = S/m of the paper applied to a pull \[kg·m\]: the displacement \[m\]. The one place where mass becomes motion.
    #[inline]
    pub(crate) fn apply_inverse_mass(&self, v: usize, inverse_mass: f32, pull: Vec3) -> Vec3 {
        self.allowed(v, inverse_mass * pull)
    }

    /// n·W n for a unit direction \[1/kg\].
    #[inline]
    pub(crate) fn inverse_mass_along(&self, v: usize, inverse_mass: f32, n: Vec3) -> f32 {
        if self.0.is_none() { inverse_mass } else { inverse_mass * n.dot(self.allowed(v, n)) }
    }

    /// What a pull leaves to a pin or a constraint to bear.
    #[inline]
    pub(crate) fn borne(&self, v: usize, inverse_mass: f32, pull: Vec3) -> Vec3 {
        if inverse_mass == 0.0 { pull } else { pull - self.allowed(v, pull) }
    }

    /// Whether a vertex bears anything.
    #[inline]
    pub(crate) fn bears(&self, inverse_mass: f32) -> bool {
        inverse_mass == 0.0 || self.0.is_some()
    }
}

/// Part of its rest length below which an edge has no direction that f32 could tell.
pub(crate) const COLLAPSED: f32 = 1e-6;
/// Part of its ends' inverse masses that constraints must leave along an edge: with less, neither end can move along it but by a
/// hundred times what is asked for.
pub(crate) const STUCK: f32 = 0.01;

/// Length that an edge should have: the end of its stretch band nearest to `length` \[m\].
#[inline]
pub fn banded_length(frame: &Frame, length: f32, rest: f32) -> f32 {
    length.max(frame.stretch_min * rest).min(frame.stretch_max * rest)
}

/// Whether an edge is strictly inside its band, hence left alone.
#[inline]
pub fn in_band(frame: &Frame, length: f32, rest: f32) -> bool {
    length > frame.stretch_min * rest && length < frame.stretch_max * rest
}

/// An [`Error::OutOfRange`] unless the value is valid.
pub(crate) fn within(field: &'static str, value: f64, valid: bool, expected: &'static str) -> Result<()> {
    if valid { Ok(()) } else { Err(Error::OutOfRange { field, index: None, value, expected }) }
}
