//! Frames that are stopped half-way, and taken back.

use super::checkpoint::saved;
use super::{Cloth, Engine};
use crate::cloth::report::Dispatches;
use crate::engine::cancel::Cancel;
use crate::engine::cpu;
use crate::engine::fields::{Fields, Spec};
use crate::engine::gpu::readback::Waiting;
use crate::error::Result;
use crate::solid::Pose;
use crate::solid::Solid;

/// Fields of the host that a frame on a GPU may change before it runs.
const INPUTS: [&str; 3] = ["commands", "holds", "anchors"];

/// What a frame changes, as it was before. What a GPU changes is kept on the GPU.
#[derive(Debug)]
pub(super) struct Before {
    fields: Vec<(usize, Vec<u32>)>,
    solids: Vec<Solid>,
    relocation: Option<Pose>,
    commanded: Vec<u32>,
    impelled: bool,
    rehold: Vec<u32>,
    saved_time: f32,
    gust_phase: f64,
    unfinished: bool,
    dispatches: Dispatches,
    times: cpu::Times,
}

impl Cloth {
    /// Lets [`Cloth::step`] and [`Cloth::step_async`] be stopped by a handle; `None` for no more. Recorded frames
    /// ([`Cloth::encode_step`]) are the caller's to stop.
    ///
    /// The cloth then keeps a copy of the state that a frame starts from, on the GPU where it runs there: a quarter
    /// more memory, and one copy per frame. On a GPU submissions do not run ahead of each other, so that what must be
    /// waited for is one of [`crate::Settings::dispatches_per_submission`].
    pub fn set_cancel(&mut self, cancel: Option<Cancel>) {
        if cancel.is_none()
            && let Engine::Gpu(runner) = &mut self.engine
        {
            runner.forget();
        }
        self.cancel = cancel;
    }

    /// Keeps what the next frame may change.
    pub(super) fn before(&mut self) -> Result<Before> {
        let fields = match &mut self.engine {
            Engine::Cpu(_) => copies(&self.fields, |spec| stepped(spec) || spec.name == "commands"),
            Engine::Gpu(runner) => {
                runner.keep(stepped)?;
                copies(&self.fields, |spec| INPUTS.contains(&spec.name))
            }
        };
        Ok(Before {
            fields,
            solids: self.solids.clone(),
            relocation: self.relocation,
            commanded: self.commanded.clone(),
            impelled: self.impelled,
            rehold: self.rehold.clone(),
            saved_time: self.saved_time,
            gust_phase: self.gust_phase,
            unfinished: self.unfinished,
            dispatches: self.dispatches,
            times: self.times.clone(),
        })
    }

    /// Makes everything as it was.
    pub(super) fn take_back(&mut self, before: Before, waiting: Waiting) -> Result<()> {
        let Before { fields, solids, relocation, commanded, impelled, rehold, .. } = before;
        for (number, words) in fields {
            self.fields.words_mut(number).copy_from_slice(&words);
        }
        (self.solids, self.relocation, self.commanded) = (solids, relocation, commanded);
        (self.impelled, self.rehold, self.saved_time) = (impelled, rehold, before.saved_time);
        (self.gust_phase, self.unfinished) = (before.gust_phase, before.unfinished);
        (self.dispatches, self.times) = (before.dispatches, before.times);
        match &self.engine {
            Engine::Gpu(runner) => runner.put_back(waiting),
            Engine::Cpu(_) => Ok(()),
        }
    }
}

/// Whether a frame may change it for good.
fn stepped(spec: &Spec) -> bool {
    saved(spec) || spec.state
}

fn copies(fields: &Fields, kept: impl Fn(&Spec) -> bool) -> Vec<(usize, Vec<u32>)> {
    let numbers = fields.specs().iter().enumerate().filter(|(_, spec)| kept(spec));
    numbers.map(|(number, _)| (number, fields.words(number).to_vec())).collect()
}
