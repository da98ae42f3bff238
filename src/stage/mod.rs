//! Stages: the parts of a step.
//!
//! forces → predict → hold → elastic → collide → areas → rates → (volume → project) ⇄ collide → commit, once per
//! substep, then the load meter, rest and normals for drawing. Each stage lives in a file of the stem of its shader;
//! solvers are the project stage.

pub mod area;
pub mod bending;
pub mod carried;
pub mod conjugate_gradient;
pub mod contact;
pub mod control;
pub(crate) mod distance;
pub(crate) mod edge;
pub mod elastic;
pub mod fields;
pub(crate) mod filter;
pub(crate) mod freedom;
pub mod hold;
pub mod integrate;
pub mod law;
pub mod load;
pub(crate) mod magnitude;
pub mod multipliers;
pub mod normals;
pub mod parameter;
pub mod phase;
pub mod recorder;
pub mod reduce;
pub mod rest;
pub mod self_collision;
pub mod sizes;
pub mod springs;
pub mod strain;
pub mod stretch_rate;
pub mod volume;
pub mod wind;

use std::fmt;

use crate::engine::fields::{Inputs, Spec};
use crate::error::Result;
use parameter::Table;
pub use recorder::Recorder;

/// A part of a step, built in or the user's own: what it needs in memory, what it is told for a frame, what it does.
///
/// A stage value *is* its parameters. Its kernels may read every field and write what their contract says; a force
/// adds to `forces`. Parameters that change from frame to frame are members of a uniform of its own, declared as a
/// field and set by
/// [`Stage::inputs`]: changing them costs nothing.
pub trait Stage: fmt::Debug + Send + Sync {
    /// Fields of the stage's own; the names of a user's start with `user_`.
    fn fields(&self) -> Vec<Spec> {
        Vec::new()
    }

    /// Sets what is uploaded for a frame.
    ///
    /// # Errors
    /// [`crate::Error::Field`] for a field that the stage did not declare.
    fn inputs(&self, inputs: &mut Inputs<'_>) -> Result<()> {
        let _ = inputs;
        Ok(())
    }

    /// Records the stage's dispatches for one substep.
    fn record(&self, recorder: &mut Recorder<'_>);
}

/// The stage that makes the predicted motion inextensible; [`crate::solver`] has the contract.
pub trait Solver: Stage {
    /// Kebab-case of the file stem.
    fn name(&self) -> &'static str;

    /// Its parameters, in tables of their own: what files and command lines can set.
    fn tables(&self) -> Vec<&dyn Table> {
        Vec::new()
    }

    /// The same, to be set.
    fn tables_mut(&mut self) -> Vec<&mut dyn Table> {
        Vec::new()
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`crate::Error::OutOfRange`] naming the parameter.
    fn validate(&self) -> Result<()> {
        self.tables().into_iter().try_for_each(Table::check)
    }

    /// Largest strain accepted at the end of a substep that is not the last of its frame, where it is above the limit
    /// and [`Settings::middle_strain`](crate::Settings::middle_strain) says nothing else. The limit, unless a solver
    /// knows better: with 1 % at a limit of 0.1 % yarn sweeps gain half a percent of the energy of a fall in `patch`
    /// and nothing elsewhere, and fast projection three quarters.
    fn middle_strain(&self) -> f32 {
        0.0
    }

    /// Load s of one substep ([`crate::stage::load`]) that the solver can take, for automatic substeps.
    fn load(&self) -> f32 {
        1.0
    }

    /// Whether it notes in `tensions` all that edges pull, so that half of it can be carried from substep to substep
    /// ([`crate::stage::carried`]).
    fn notes_tension(&self) -> bool {
        false
    }

    /// Whether the recording depends on the frame number.
    fn varies(&self) -> bool {
        false
    }

    /// Whether an iteration carries a correction by one edge only: then iterations grow as the square of the size.
    fn pointwise(&self) -> bool {
        false
    }

    /// Variants with other kernels than the defaults have. They are checked wherever the solver is.
    fn variants(&self) -> &'static [Variant] {
        &[]
    }

    /// What brings those kernels and orders into a short frame of a small cloth that the defaults leave out there.
    fn rarities(&self) -> &'static [Assignment] {
        &[]
    }
}

/// A parameter and its value, as [`Method::set`](crate::Method::set) takes them.
pub type Assignment = (&'static str, &'static str);

/// A solver with a name and parameters of its own, for those who check and compare solvers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Its name, which begins with that of the solver.
    pub name: &'static str,
    /// How it differs from the defaults.
    pub set: &'static [Assignment],
}

/// Fields of the built-in stages, each declared beside its kernels; what they share first.
pub(crate) const FIELDS: &[&[Spec]] = &[
    fields::SHARED,
    area::FIELDS,
    bending::FIELDS,
    carried::FIELDS,
    contact::FIELDS,
    elastic::FIELDS,
    filter::FIELDS,
    freedom::FIELDS,
    hold::FIELDS,
    integrate::FIELDS,
    law::FIELDS,
    rest::FIELDS,
    self_collision::FIELDS,
    volume::FIELDS,
    wind::FIELDS,
];
