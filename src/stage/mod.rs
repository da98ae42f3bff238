//! Stages: the parts of a step, in the order in which [`record_frame`] puts them.
//!
//! forces → predict → hold → elastic → collide → areas → project ⇄ collide → inspect → commit, once per substep, then
//! the load meter, rest and normals for drawing. Each stage lives in a file of the stem of its shader; solvers are the
//! project stage.

pub mod area;
pub mod bending;
pub mod conjugate_gradient;
pub mod contact;
pub mod control;
pub(crate) mod distance;
pub(crate) mod edge;
pub mod elastic;
pub(crate) mod freedom;
pub mod hold;
pub mod integrate;
pub mod load;
pub mod normals;
pub mod reduce;
pub mod rest;
pub mod springs;
pub mod strain;
pub mod wind;

use crate::fields::Spec;
use crate::program::{Part, Recorder};
use crate::settings::Settings;
use crate::substeps::Plan;

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

/// Records a frame. Its last substep, which must hold the limit, is recorded apart.
pub fn record_frame(recorder: &mut Recorder<'_>, plan: &Plan, settings: &Settings) {
    recorder.set_overloaded(plan.bounded);
    control::begin_frame(recorder);
    integrate::relocate(recorder);
    load::begin(recorder);
    let middle = |recorder: &mut Recorder<'_>| record_substep(recorder, plan, settings, 1);
    if plan.least < plan.most {
        recorder.repeat_until(plan.most - 1, middle);
    } else {
        recorder.repeat_always(plan.most - 1, middle);
    }
    recorder.repeat_always(1, |recorder| record_substep(recorder, plan, settings, 0));
    load::record(recorder);
    if recorder.sizes().solids > 0 {
        rest::record(recorder);
    }
    normals::record(recorder);
}

/// Records a substep with `left` more to come, or more than that.
fn record_substep(recorder: &mut Recorder<'_>, plan: &Plan, settings: &Settings, left: u32) {
    recorder.at_last_substep(left == 0);
    control::begin_substep(recorder, left);
    recorder.set_part(Part::Forces);
    springs::record(recorder, plan.implicit);
    if settings.wind.is_some() {
        wind::record(recorder);
    }
    recorder.set_part(Part::Frame);
    for stage in &settings.stages {
        stage.record(recorder);
    }
    recorder.set_part(Part::Stepping);
    integrate::predict(recorder, settings.stepping);
    recorder.set_part(Part::Elastic);
    if plan.implicit {
        elastic::begin(recorder);
    }
    recorder.set_part(Part::Contact);
    if recorder.constrained() {
        hold::record(recorder);
    }
    recorder.set_part(Part::Elastic);
    if plan.implicit {
        elastic::record(recorder);
    }
    let collides = recorder.sizes().solids > 0;
    if collides {
        contact::begin(recorder);
    }
    recorder.set_part(Part::Projection);
    if let Some(limit) = settings.area_limit {
        area::record(recorder, limit);
    }
    if collides {
        contact::project(recorder, settings.method.solver(), settings.contact_rounds);
    } else {
        settings.method.solver().record(recorder);
    }
    if left == 0 {
        strain::finish(recorder);
    }
    recorder.set_part(Part::Stepping);
    integrate::commit(recorder);
    recorder.set_part(Part::Contact);
    if collides {
        contact::end(recorder);
    }
    recorder.set_part(Part::Frame);
    control::end_substep(recorder);
}
