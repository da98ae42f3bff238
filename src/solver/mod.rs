//! Solvers: what makes the predicted motion inextensible.
//!
//! A solver value *is* its parameters. [`Stage::record`](crate::stage::Stage::record) writes, once per substep, the
//! dispatches that change `displacements` until every edge is within the strain limit.
//!
//! **Contract.** A solver is bounded: it records loops with a bound and no other. It does at least one iteration per
//! substep even where the strain is already in range (a filter that does nothing inside the limit makes cloth at rest
//! bounce off its own tolerance: ±20 × its weight at the pins was measured at h = 1/1000). Each loop ends with a
//! measurement and a judgement ([`crate::stage::strain`]), which also find values that must not be committed, so there
//! is at least one. Whatever momentum it takes from a pinned vertex it adds to `reactions`. It changes nothing else.
//!
//! | solver | one iteration | cost grows like | prefer it |
//! |---|---|---|---|
//! | [`GaussSeidel`] | one dispatch per color | n² sweeps for coherent strain | many small substeps, coarse limits |
//! | [`Jacobi`] | two dispatches | several times more sweeps | as a baseline, or where coloring is poor |
//! | [`FastProjection`] | one linear solve | n; not with [lines](line_preconditioner) | small limits |
//! | [`ProjectiveDynamics`] | one linear solve | n² for coherent strain | fabric that gives by a known stiffness |
//! | [`YarnSweep`] | one dispatch per family of yarns | not with n | wherever the mesh has yarns |
//! | [`Auto`] | one of the last two | not with n | always; it is the default |
//!
//! **Adding one:** a pair of files of one stem, `shaders/x.wgsl` with the kernels and `src/solver/x.rs` with theory,
//! parameters, fields of its own, Rust bodies and `record`; `mod` and a line of the list here. CONTRIBUTING.md has
//! more.

pub mod auto;
pub(crate) mod bundle;
pub mod chebyshev;
pub mod chords;
pub mod diagonals;
pub mod fast_projection;
pub mod gauss_seidel;
pub mod jacobi;
pub(crate) mod lawful_edges;
pub(crate) mod lawful_projection;
pub(crate) mod lawful_yarns;
pub mod line_preconditioner;
pub mod line_solve;
pub(crate) mod places;
pub mod projective_dynamics;
pub mod shape_matching;
pub mod stiff_yarns;
pub mod tangent;
pub mod warm_start;
pub mod windows;
pub mod yarn_projection;
pub mod yarn_sweep;

pub use fast_projection::Preconditioner;
pub use jacobi::Acceleration;

pub use crate::stage::{Assignment, Solver, Variant};

use std::sync::Arc;

use crate::stage::parameter::Table;

/// Makes [`Method`] from the list of solvers, so that each of them stands there once.
macro_rules! methods {
    ($($(#[$about:meta])* $file:ident::$solver:ident,)*) => {
        $(pub use $file::$solver;)*

        /// Which solver runs: a value chosen at run time.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum Method {
            $($(#[$about])* $solver($solver),)*
            /// A solver of the user's.
            Custom(Arc<dyn Solver>),
        }

        impl Method {
            /// Names of the built-in solvers, as the program spells them.
            pub const NAMES: [&'static str; [$($solver::NAME),*].len()] = [$($solver::NAME),*];

            /// The built-in solvers, with their default parameters.
            pub fn all() -> [Self; Self::NAMES.len()] {
                [$(Self::$solver($solver::default())),*]
            }

            /// The solver.
            pub fn solver(&self) -> &dyn Solver {
                match self {
                    $(Self::$solver(solver) => solver,)*
                    Self::Custom(solver) => solver.as_ref(),
                }
            }

            /// The same, to be changed; `None` for one of the user's.
            fn solver_mut(&mut self) -> Option<&mut dyn Solver> {
                match self {
                    $(Self::$solver(solver) => Some(solver),)*
                    Self::Custom(_) => None,
                }
            }
        }

        /// The same solver with the same parameters; one of the user's is equal to itself.
        impl PartialEq for Method {
            fn eq(&self, other: &Self) -> bool {
                match (self, other) {
                    $((Self::$solver(a), Self::$solver(b)) => a == b,)*
                    (Self::Custom(a), Self::Custom(b)) => Arc::ptr_eq(a, b),
                    _ => false,
                }
            }
        }
    };
}

methods! {
    /// Whatever suits the mesh and the load.
    auto::Auto,
    /// Newton's method on all edges with a linear solve per iteration.
    fast_projection::FastProjection,
    /// Edge by edge, color by color.
    gauss_seidel::GaussSeidel,
    /// All edges at once, blended.
    jacobi::Jacobi,
    /// Finite stiffness: edges by themselves, then all vertices at once.
    projective_dynamics::ProjectiveDynamics,
    /// Yarn by yarn, family by family.
    yarn_sweep::YarnSweep,
}

impl Method {
    /// The built-in solver of a name, with its default parameters.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|method| method.solver().name() == name)
    }

    /// The tables of parameters that files and command lines can set; none of a user's own solver.
    pub fn tables_mut(&mut self) -> Vec<&mut dyn Table> {
        self.solver_mut().map_or_else(Vec::new, |solver| solver.tables_mut())
    }

    /// Sets a parameter by its name, as `yarn_sweep.sweeps`, to a value as people write it. Ranges are not checked.
    ///
    /// ```
    /// let mut method = taut::Method::default();
    /// method.set("yarn_sweep.sweeps", "300")?;
    /// assert_eq!(method.set("yarn_sweep.speed", "9").unwrap_err(), "auto has no parameter yarn_sweep.speed");
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// In one sentence, where there is no such parameter or it does not take such a value.
    pub fn set(&mut self, parameter: &str, text: &str) -> Result<(), String> {
        let solver = self.solver().name();
        let (table, name) = parameter.split_once('.').unwrap_or(("", parameter));
        for found in self.tables_mut() {
            let listed = found.list().into_iter().find(|listed| found.name() == table && listed.name == name);
            if let Some(listed) = listed {
                let value = listed.takes.parse(text);
                let value = value.ok_or_else(|| format!("{parameter} must be {}, not {text}", listed.expected))?;
                found.set(name, value);
                return Ok(());
            }
        }
        Err(format!("{solver} has no parameter {parameter}"))
    }
}

impl Default for Method {
    fn default() -> Self {
        Self::Auto(Auto::default())
    }
}
