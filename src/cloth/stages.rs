//! The stages of a frame, in their order: the table of the crate's documentation as a list.

use crate::cloth::settings::Settings;
use crate::cloth::substeps::Plan;
use crate::engine::fields::{Inputs, Sizes, Spec};
use crate::engine::program::Phase;
use crate::error::Result;
use crate::solver::Method;
use crate::solver::diagonals::{self, Shear};
use crate::solver::tangent;
use crate::stage::area::AreaLimit;
use crate::stage::carried::Carry;
use crate::stage::contact::{Alternate, Meet, Rebound};
use crate::stage::control::{BeginFrame, EndSubstep, Loops, TurnSubstep};
use crate::stage::elastic::{self, Elastic};
use crate::stage::filter::{Admit, Release};
use crate::stage::hold::Holds;
use crate::stage::integrate::{Commit, Predict, Relocate, Remember};
use crate::stage::load::{ForgetTension, Meter};
use crate::stage::multipliers::{BeginLaws, EndLaws};
use crate::stage::normals::Normals;
use crate::stage::recorder::Moment;
use crate::stage::rest::Rest;
use crate::stage::self_collision::{BeginOwn, Calm, Detect, EndOwn, Tangles};
use crate::stage::springs::Springs;
use crate::stage::strain::TakeBest;
use crate::stage::stretch_rate::StretchRate;
use crate::stage::volume::KeepVolume;
use crate::stage::wind::Blowing;
use crate::stage::{self, Stage};
use crate::stage::{Recorder, phase};

/// A stage, and the account that its time goes to.
type Booked<'a> = (Phase, Box<dyn Stage + 'a>);

/// What the stages of a frame are made of.
#[derive(Debug)]
pub(crate) struct Stages<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) plan: &'a Plan,
    /// What an elastic solve is told.
    pub(crate) elastic: Elastic,
    /// Phase of the gusts at the start of the frame.
    pub(crate) gust_phase: f64,
    /// Shortest edge \[m\].
    pub(crate) shortest: f32,
}

impl<'a> Stages<'a> {
    /// To be recorded; what stages are told for a frame is not known.
    pub(crate) fn new(settings: &'a Settings, plan: &'a Plan) -> Self {
        Self { settings, plan, elastic: Elastic::default(), gust_phase: 0.0, shortest: 0.0 }
    }

    /// One substep: forces, prediction, holds and contact, projection, commit.
    fn substep(&self, moment: &Moment, sizes: &Sizes, loops: Loops) -> Vec<Booked<'a>> {
        let (settings, collides, own) = (self.settings, sizes.solids() > 0, sizes.touches_itself());
        let Plan { implicit, diagonals, carries, .. } = *self.plan;
        let solver = settings.method.solver();
        let mut stages: Vec<Booked<'a>> = Vec::new();
        if sizes.filters() {
            stages.push((phase::PREDICT, Box::new(Admit)));
        } else if carries {
            stages.push((phase::FORCES, Box::new(Carry)));
        } else if diagonals {
            stages.push((phase::FORCES, Box::new(diagonals::Begin)));
        } else {
            stages.push((phase::FORCES, Box::new(Springs { implicit })));
        }
        if let Some(wind) = settings.wind {
            stages.push((phase::FORCES, Box::new(Blowing { wind, phase: self.gust_phase })));
        }
        stages.extend(settings.stages.iter().map(|stage| (phase::FRAME, Box::new(Borrowed(stage.as_ref())) as Box<_>)));
        stages.push((phase::PREDICT, Box::new(Predict { stepping: settings.stepping })));
        if implicit {
            stages.push((phase::ELASTIC, Box::new(elastic::Begin)));
        }
        if moment.constrained {
            stages.push((phase::CONTACT, Box::new(Holds)));
        }
        if implicit {
            stages.push((phase::ELASTIC, Box::new(self.elastic)));
        }
        if diagonals {
            stages.push((phase::ELASTIC, Box::new(Shear::new(settings.damping))));
        }
        if collides {
            stages.push((phase::CONTACT, Box::new(Meet)));
        }
        if own {
            let resolves = settings.self_collision.is_some_and(|own| own.tangles == Tangles::Resolve);
            stages.push((phase::NEARNESS, Box::new(Detect { resolves })));
        }
        if let Some(band) = settings.area_limit {
            stages.push((phase::PROJECTION, Box::new(AreaLimit { band })));
        }
        if let Some(rate) = settings.stretch_rate {
            stages.push((phase::PROJECTION, Box::new(StretchRate { rate })));
        }
        if sizes.lawful() {
            stages.push((phase::PROJECTION, Box::new(BeginLaws)));
        }
        let volume = settings.volume.map(|volume| KeepVolume { volume });
        if collides || own {
            let rounds = settings.contact_rounds;
            stages.push((phase::PROJECTION, Box::new(Alternate { solver, volume, solids: collides, own, rounds })));
        } else {
            stages.extend(volume.map(|kept| (phase::PROJECTION, Box::new(kept) as Box<_>)));
            stages.push((phase::PROJECTION, Box::new(Borrowed(solver))));
        }
        if moment.last_substep {
            stages.push((phase::PROJECTION, Box::new(TakeBest)));
        }
        // Springs may change their lengths, and only their laws know by how much.
        let tangent = settings.tangent_velocities && !sizes.lawful();
        if sizes.lawful() {
            stages.push((phase::PROJECTION, Box::new(EndLaws)));
        }
        if tangent {
            stages.push((phase::PROJECTION, Box::new(tangent::Solve)));
        }
        stages.push((phase::COMMIT, Box::new(Commit)));
        if tangent {
            stages.push((phase::COMMIT, Box::new(tangent::Apply)));
        }
        if collides {
            stages.push((phase::CONTACT, Box::new(Rebound)));
        }
        if own {
            stages.push((phase::CONTACT, Box::new(Calm)));
        }
        let turns: Box<dyn Stage> =
            if moment.last_substep { Box::new(EndSubstep) } else { Box::new(TurnSubstep(loops)) };
        stages.push((phase::FRAME, turns));
        stages
    }

    /// What comes before the substeps of a frame.
    fn before(&self, sizes: &Sizes, loops: Loops) -> Vec<Booked<'a>> {
        let mut stages: Vec<Booked<'a>> =
            vec![(phase::FRAME, Box::new(BeginFrame(loops))), (phase::FRAME, Box::new(Relocate))];
        if self.settings.keep_previous {
            stages.push((phase::FRAME, Box::new(Remember)));
        }
        if !self.plan.carries || sizes.filters() {
            stages.push((phase::FRAME, Box::new(ForgetTension)));
        }
        if let Some(settings) = self.settings.self_collision.filter(|_| sizes.touches_itself()) {
            stages.push((phase::FRAME, Box::new(BeginOwn { settings, shortest: self.shortest, sizes: *sizes })));
        }
        stages
    }

    /// What comes after them.
    fn after(&self, sizes: &Sizes) -> Vec<Booked<'a>> {
        if sizes.filters() {
            // Without the load meter: the next call must not know of this one.
            return vec![(phase::COMMIT, Box::new(Release))];
        }
        let mut stages: Vec<Booked<'a>> = vec![(phase::FRAME, Box::new(Meter))];
        if sizes.touches_itself() {
            stages.push((phase::FRAME, Box::new(EndOwn)));
        }
        if sizes.solids() > 0 {
            stages.push((phase::FRAME, Box::new(Rest::below(self.settings.rest_speed))));
        }
        stages.push((phase::NORMALS, Box::new(Normals)));
        stages
    }

    /// Records a frame. Its last substep, which must hold the limit, is recorded apart.
    pub(crate) fn record(&self, recorder: &mut Recorder<'_>) {
        let each = |recorder: &mut Recorder<'_>, stages: Vec<Booked<'_>>| {
            for (phase, stage) in stages {
                recorder.set_phase(phase);
                stage.record(recorder);
            }
            recorder.set_phase(phase::FRAME);
        };
        let Plan { least, most, bounded, diagonals, .. } = *self.plan;
        let loops = Loops { middle: if most > 1 { recorder.reserve() } else { 0 }, last: recorder.reserve() };
        let substep = |recorder: &mut Recorder<'_>, last_substep: bool| {
            recorder.about.moment.last_substep = last_substep;
            let stages = self.substep(&recorder.about.moment, recorder.sizes(), loops);
            each(recorder, stages);
        };
        (recorder.about.moment.bounded, recorder.about.moment.diagonals) = (bounded, diagonals);
        let before = self.before(recorder.sizes(), loops);
        each(recorder, before);
        if most > 1 {
            recorder.repeat_reserved(loops.middle, most - 1, least < most, |recorder| substep(recorder, false));
        }
        recorder.repeat_reserved(loops.last, 1, false, |recorder| substep(recorder, true));
        let after = self.after(recorder.sizes());
        each(recorder, after);
    }

    /// Sets what the stages of a frame are told.
    pub(crate) fn inputs(&self, constrained: bool, sizes: &Sizes, inputs: &mut Inputs<'_>) -> Result<()> {
        let moment = Moment { constrained, ..Moment::default() };
        let loops = Loops::default();
        let stages =
            self.before(sizes, loops).into_iter().chain(self.substep(&moment, sizes, loops)).chain(self.after(sizes));
        for (_, stage) in stages {
            stage.inputs(inputs)?;
        }
        // With solids the solver is inside of another stage.
        self.settings.method.solver().inputs(inputs)
    }
}

/// A stage that somebody else owns.
#[derive(Debug)]
struct Borrowed<'a, S: ?Sized>(&'a S);

impl<S: Stage + ?Sized> Stage for Borrowed<'_, S> {
    fn inputs(&self, inputs: &mut Inputs<'_>) -> Result<()> {
        self.0.inputs(inputs)
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        self.0.record(recorder);
    }
}

/// Every field that a cloth with these settings may need: those of all built-in stages and solvers, then the user's
/// own.
///
/// # Errors
/// [`Error::Field`](crate::Error::Field) if the name of a user's own does not start with `user_`.
pub(crate) fn fields(settings: &Settings) -> Result<Vec<Spec>> {
    let mut specs: Vec<Spec> = stage::FIELDS.iter().copied().flatten().chain(diagonals::FIELDS).copied().collect();
    for method in Method::all() {
        for spec in method.solver().fields() {
            // Solvers share what they are made of.
            if !specs.iter().any(|known| known.name == spec.name) {
                specs.push(spec);
            }
        }
    }
    let mut own: Vec<Spec> = settings.stages.iter().flat_map(|stage| stage.fields()).collect();
    if let Method::Custom(solver) = &settings.method {
        own.extend(solver.fields());
    }
    if let Some(spec) = own.iter().find(|spec| !spec.name.starts_with("user_")) {
        let problem = "does not start with `user_`".into();
        return Err(crate::error::Error::Field { name: spec.name.into(), problem });
    }
    specs.extend(own);
    Ok(specs)
}
