//! Stages: the parts of a step, in the order in which [`record_frame`] puts them.
//!
//! forces → predict → project → inspect → commit, once per substep, then normals for drawing. Each stage lives in a
//! file of the stem of its shader; solvers are the project stage.

pub mod control;
pub mod integrate;
pub mod normals;
pub mod reduce;
pub mod springs;
pub mod strain;

use std::sync::Arc;

use glam::Vec3;

use crate::fields::Spec;
use crate::program::Recorder;
use crate::solver::Solver;

/// A part of a step that can be added to the built-in ones, before the projection: a force, a field of the user's own.
///
/// Its kernels may read every field of [`crate::fields::TABLE`] and add to `forces`. Fields of its own are declared by
/// [`Stage::fields`], with names that start with `user_`.
pub trait Stage: std::fmt::Debug + Send + Sync {
    /// Records the stage's dispatches for one substep.
    fn record(&self, recorder: &mut Recorder<'_>);

    /// Fields of the stage's own.
    fn fields(&self) -> Vec<Spec> {
        Vec::new()
    }
}

/// Records a whole frame of `substeps` substeps.
pub fn record_frame(recorder: &mut Recorder<'_>, substeps: u32, stages: &[Arc<dyn Stage>], solver: &dyn Solver) {
    control::begin_frame(recorder);
    integrate::relocate(recorder);
    recorder.repeat_always(substeps, |recorder| {
        control::begin_substep(recorder);
        springs::record(recorder);
        for stage in stages {
            stage.record(recorder);
        }
        integrate::predict(recorder);
        solver.record(recorder);
        integrate::commit(recorder);
        control::end_substep(recorder);
    });
    normals::record(recorder);
}

/// First three lanes of a padded vector.
pub(crate) fn xyz(padded: [f32; 4]) -> Vec3 {
    Vec3::new(padded[0], padded[1], padded[2])
}

/// A vector with an unused last lane.
pub(crate) fn padded(vector: Vec3) -> [f32; 4] {
    [vector.x, vector.y, vector.z, 0.0]
}
