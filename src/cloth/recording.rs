//! The recording of a frame, and what it was made for.

use super::Basis;
use super::stages::Stages;
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Plan;
use crate::engine::fields::Sizes;
use crate::engine::program::Program;
use crate::error::{Error, Result};
use crate::mesh::windows::Windows;
use crate::stage::recorder::{Recorder, Woven};
use crate::stage::self_collision::Tangles;

/// What a recording depends on: another one is needed where this is not the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordedFor {
    substeps: [u32; 2],
    implicit: bool,
    diagonals: bool,
    carries: bool,
    bounded: bool,
    budget: Option<u64>,
    /// Whether vertices may be held.
    held: bool,
    /// Number of the windows.
    windows: u64,
    forces: [bool; 1],
    /// Number of the frame, where the solver's order varies with it.
    frame: Option<u64>,
}

/// Whether recordings with these settings are the same, apart from what [`RecordedFor`] tells.
pub(super) fn alike(a: &Settings, b: &Settings) -> bool {
    let recorded = |settings: &Settings| {
        let Settings {
            method: _,
            stages: _, // Those of a cloth are always the same.
            area_limit,
            stretch_rate,
            volume,
            stepping,
            contact_rounds,
            tangent_velocities,
            keep_previous,
            // What decides the plan or is told every frame.
            strain_limit: _,
            middle_strain: _,
            stretch_min: _,
            stretch_max: _,
            gravity: _,
            drag: _,
            wind: _,
            substeps: _,
            damping: _,
            elasticity: _,
            rest_speed: _,
            self_collision, // A cloth keeps whether it has it.
            dispatches_per_submission: _,
            dispatch_budget: _,
        } = settings;
        let resolves = self_collision.is_some_and(|own| own.tangles == Tangles::Resolve);
        let limits = (*area_limit, *stretch_rate, *volume);
        (limits, *stepping, *contact_rounds, *tangent_velocities, *keep_previous, resolves)
    };
    a.method == b.method && recorded(a) == recorded(b)
}

/// The current recording.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) made_for: RecordedFor,
    /// What was asked for.
    pub(super) asked: Plan,
    pub(super) plan: Plan,
    /// Whether a budget shortened it.
    pub(super) shortened: bool,
    pub(super) program: Program,
}

impl Recorded {
    /// The same recording for a plan that differs in what frames are told only.
    pub(super) fn follow(&mut self, plan: Plan) {
        self.plan = if self.shortened { plan.shortened(self.plan.most) } else { plan };
    }
}

/// What frames of one length cost ([`crate::Cloth::frame_cost`]). It follows from mesh and settings alone, so it is
/// known before the first frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameCost {
    /// The smallest [`Settings::dispatch_budget`] that is accepted: the fewest substeps, one iteration of every loop.
    pub least: u64,
    /// A budget that usually holds the limit wherever [`crate::Cloth::step`] does: it has room for every substep that
    /// the load may be given, with four iterations of every loop in each and sixteen in the last.
    pub enough: u64,
    /// The budget from which nothing is shortened: a recorded frame is then what [`crate::Cloth::step`] does, bit for
    /// bit.
    pub whole: u64,
    /// Most substeps that the load may be given.
    pub substeps: u32,
}

/// Records frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writer<'a> {
    pub(super) basis: &'a Basis,
    pub(super) settings: &'a Settings,
    pub(super) sizes: &'a Sizes,
    pub(super) frame: u64,
    /// Whether vertices may be held.
    pub(super) held: bool,
    /// What is around pins and holds, and how often it was found.
    pub(super) windows: (&'a Windows, u64),
}

impl Writer<'_> {
    fn program(&self, plan: &Plan) -> Result<Program> {
        let (Basis { topology, .. }, sizes) = (self.basis, self.sizes);
        let woven = Woven::new(&topology.coloring.ranges, &topology.yarns, self.frame)
            .with_windows(self.windows.0)
            .with_diagonals(&topology.diagonals);
        let mut recorder = Recorder::new(sizes, woven);
        recorder.about.moment.constrained = self.held || sizes.solids() > 0;
        Stages::new(self.settings, plan).record(&mut recorder);
        recorder.finish()
    }

    /// What a recording of this plan would depend on.
    pub(super) fn key(&self, plan: &Plan, budget: Option<u64>) -> RecordedFor {
        RecordedFor {
            substeps: [plan.least, plan.most],
            implicit: plan.implicit,
            diagonals: plan.diagonals,
            carries: plan.carries,
            bounded: plan.bounded,
            budget,
            held: self.held,
            windows: self.windows.1,
            forces: self.settings.forces(),
            frame: self.settings.method.solver().varies().then_some(self.frame),
        }
    }

    /// A program with every kernel that a frame may need, whatever its length and what the caller changes about it:
    /// springs may be integrated in all ways, vertices held or not, and wind may begin.
    pub(super) fn every_kernel(&self, plan: &Plan) -> Result<Program> {
        if self.sizes.filters() {
            return self.program(plan);
        }
        let settings = &self.settings.with_all_forces();
        let topology = &self.basis.topology;
        // Holds may bring windows where the mesh has none, and kernels that its own do not need.
        let sample = Windows::sample(&topology.diagonals);
        let windows = if Windows::possible(&topology.yarns) { (&sample, 0) } else { self.windows };
        let mut items = Vec::new();
        // What is recorded for settings that have just been changed may be of a plan that was made before.
        let carries = plan.carries || self.settings.may_carry();
        for plan in plan.every_kind(topology.diagonals.pay(), carries) {
            items.extend(Writer { settings, windows, held: plan.implicit, ..*self }.program(&plan)?.items);
        }
        Ok(Program { items })
    }

    /// What a frame costs.
    pub(super) fn cost(&self, asked: Plan) -> Result<FrameCost> {
        let whole = self.program(&asked)?.dispatch_count();
        Ok(FrameCost {
            least: self.program(&asked.fewest())?.least_count().min(whole),
            enough: self.program(&asked.shortened(asked.most))?.enough_count().min(whole),
            whole,
            substeps: asked.most,
        })
    }

    /// Records a frame, and fits it to a budget of dispatches.
    pub(super) fn record(&self, asked: Plan, budget: Option<u64>) -> Result<Recorded> {
        let made_for = self.key(&asked, budget);
        let whole = self.program(&asked)?;
        let Some(budget) = budget.filter(|budget| whole.dispatch_count() > *budget) else {
            return Ok(Recorded { made_for, asked, plan: asked, shortened: false, program: whole });
        };
        // Loops are shortened before substeps are taken away, and then only as many as it takes.
        let suffices = |most: u32| Ok(self.program(&asked.shortened(most))?.enough_count() <= budget);
        let (mut few, mut many) = (asked.least, asked.most);
        if suffices(many)? {
            few = many;
        }
        while few < many {
            let middle = few + (many - few) / 2;
            if suffices(middle + 1)? {
                few = middle + 1;
            } else {
                many = middle;
            }
        }
        let plan = if suffices(few)? { asked.shortened(few) } else { asked.fewest() };
        let mut program = self.program(&plan)?;
        let needed = program.fit(budget);
        if needed > budget {
            return Err(Error::Budget { budget, needed });
        }
        Ok(Recorded { made_for, asked, plan, shortened: true, program })
    }
}

#[cfg(test)]
mod tests {
    use crate::cloth::{Cloth, FrameCost};
    use crate::{FrameInput, Scene, Settings, scene};

    const FRAME: FrameInput<'static> = FrameInput { dt: 1.0 / 60.0, pin_targets: &[] };

    /// Largest strain and fewest substeps of 30 frames as a budget of dispatches leaves them, on the CPU.
    fn recorded(scene: Scene, budget: impl FnOnce(FrameCost) -> u64) -> (f64, u32) {
        let mut cloth = Cloth::on_cpu(scene.with_settings(Settings { damping: 0.001, ..Default::default() })).unwrap();
        let budget = budget(cloth.frame_cost(FRAME.dt).unwrap());
        let (mut worst, mut fewest) = (0.0, u32::MAX);
        for _ in 0..30 {
            assert!(cloth.begin(&FRAME, Some(budget)).unwrap());
            let super::super::Engine::Cpu(runner) = &mut cloth.engine else { unreachable!("it is on the CPU") };
            assert!(cloth.recorded.program.dispatch_count() <= budget);
            runner.run(&cloth.recorded.program, &mut cloth.fields).unwrap();
            cloth.end().unwrap();
            let report = cloth.snapshot().unwrap().report;
            worst = report.strain.map_or(worst, |strain| strain.max.max(worst));
            fewest = fewest.min(report.planned_substeps);
        }
        (worst, fewest)
    }

    #[test]
    fn damped_cloth_holds_its_limit_within_a_budget() {
        for (scene, budget) in [(scene::hang as fn(u32) -> _, 1000), (scene::patch, 1000), (scene::hang, 0)] {
            let found = recorded(scene(31).unwrap(), |cost| if budget > 0 { budget } else { cost.enough });
            println!("{found:?}");
            assert!(found.0 <= 0.01 && found.1 > 4, "{found:?}");
        }
    }
}
