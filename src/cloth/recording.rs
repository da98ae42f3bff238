//! The recording of a frame, and what it was made for.

use super::Shape;
use crate::error::{Error, Result};
use crate::program::{Program, Recorder};
use crate::settings::Settings;
use crate::stage;
use crate::substeps::Plan;

/// The current recording and what it was made for.
#[derive(Debug)]
pub(super) struct Recorded {
    /// What was asked for; a budget may have lowered the number of substeps of `plan`.
    pub(super) asked: Plan,
    pub(super) plan: Plan,
    pub(super) frame: u64,
    pub(super) budget: Option<u64>,
    /// Whether vertices may be held.
    pub(super) held: bool,
    /// Whether there is air.
    pub(super) windy: bool,
    pub(super) program: Program,
}

/// A program with every kernel that a frame may need, whatever its length and what [`crate::Live`] has: springs may be
/// integrated in both ways, vertices held or not, and wind may begin.
pub(super) fn every_kernel(shape: &Shape, settings: &Settings, recorded: &Recorded) -> Result<Program> {
    let mut items = Vec::new();
    let settings = &Settings { wind: Some(settings.wind.unwrap_or_default()), ..settings.clone() };
    for both in [false, true] {
        let plan = Plan { implicit: both, most: 2, bounded: true, ..recorded.plan };
        items.extend(record(shape, settings, plan, recorded.frame, None, both)?.program.items);
    }
    Ok(Program { items })
}

/// Records a frame, and fits it to a budget of dispatches.
pub(super) fn record(
    shape: &Shape,
    settings: &Settings,
    asked: Plan,
    frame: u64,
    budget: Option<u64>,
    held: bool,
) -> Result<Recorded> {
    let topology = &shape.topology;
    let recording = |plan: &Plan| {
        let mut recorder = Recorder::new(&shape.sizes, &topology.coloring.ranges, frame)
            .with_yarns(&topology.yarns)
            .with_constraints(held || shape.sizes.solids > 0);
        stage::record_frame(&mut recorder, plan, settings);
        recorder.finish()
    };
    let mut plan = asked;
    let mut program = recording(&plan)?;
    if let Some(budget) = budget {
        // Iterations are worth more than substeps beyond those that are needed at least.
        if program.dispatch_count() > budget && plan.most > plan.least {
            plan.most = plan.least;
            // Then substeps may be harder than the solver asks for.
            plan.bounded |= plan.expected_load * plan.load_scale > (plan.least * plan.least) as f32;
            program = recording(&plan)?;
        }
        let needed = program.fit(budget);
        if needed > budget {
            return Err(Error::Budget { budget, needed });
        }
    }
    let windy = settings.wind.is_some();
    Ok(Recorded { asked, plan, frame, budget, held, windy, program })
}
