//! How a cloth is simulated: plain values in SI units.

use std::sync::Arc;

use crate::cloth::substeps::{Plan, StepBounds, Substeps};
use crate::error::within;
use crate::error::{Error, Result};
use crate::mesh::{EdgeLimit, Mesh, check_strain_limit};
use crate::solver::Method;
use crate::stage::control::MOST_SUBSTEPS;
use crate::stage::elastic::Elasticity;
use crate::stage::integrate::Stepping;
use crate::stage::self_collision::SelfCollision;
use crate::stage::wind::Wind;
use crate::stage::{Stage, area, stretch_rate, volume};

/// How a cloth is simulated. A scene has them, its cloth begins with them, and [`crate::Cloth::change`] changes them
/// from frame to frame, all but the `stages`.
///
/// A plain structure, as all settings, inputs and parameters of solvers are: written with `..Default::default()` it
/// stays valid when members are added, which is no breaking change.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Largest strain allowed at the end of a frame, as a fraction (0.01 = 1 %); fabrics may have limits of their own
    /// ([`crate::Swatch::strain_limit`]).
    pub strain_limit: f32,
    /// Strain at which the substeps of a frame but its last end, where it is above the limit, with any solver; by
    /// default what the solver can do with ([`Solver::middle_strain`](crate::solver::Solver::middle_strain)), or thrice
    /// the limit where a row between two pins is taut ([`crate::cloth::substeps`]). A frame may pass through strain
    /// that nobody sees, but what is left of it enters the velocity.
    /// [`Report::worst_substep_strain`](crate::Report::worst_substep_strain) tells what it came to. Comparisons of
    /// solvers set it.
    pub middle_strain: Option<f32>,
    /// Lower end of the stretch band σ_min: edges shorter than this part of their rest length are lengthened.
    pub stretch_min: f32,
    /// Upper end of the stretch band σ_max. Strain is the distance from the band; 1 and 1 by default.
    pub stretch_max: f32,
    /// Acceleration of gravity \[m/s²\].
    pub gravity: [f32; 3],
    /// Rate of velocity damping by still air \[1/s\].
    pub drag: f32,
    /// Wind, and the drag of still air, on every face; `None` for neither ([`crate::stage::wind`]).
    pub wind: Option<Wind>,
    /// Smallest and largest area of a triangle relative to rest, e.g. `[0.9, 1.1]`: a heuristic that the projection of
    /// the edges follows and may undo; `None` for no limit. A lower end above 0 may gain energy
    /// ([`crate::stage::area`]).
    pub area_limit: Option<[f32; 2]>,
    /// Largest change of the length of an edge in a substep before the projection, as a part of the length that it has;
    /// `None` for no limit. For cloth that may stretch: the projection has the last word
    /// ([`mod@crate::stage::stretch_rate`]).
    pub stretch_rate: Option<f32>,
    /// Volume that a closed surface encloses \[m³\], as far as its edges let it; `None` for any
    /// ([`crate::stage::volume`]).
    pub volume: Option<f32>,
    /// Substeps per frame.
    pub substeps: Substeps,
    /// Order of the time stepping.
    pub stepping: Stepping,
    /// Damping of internal motion \[s\]: shear and bending that change at a rate resist as if they had gone on for this
    /// long. Works where springs are integrated implicitly, and asks for that.
    pub damping: f32,
    /// How the shear springs are integrated.
    pub elasticity: Elasticity,
    /// The solver.
    pub method: Method,
    /// Rounds of projection and collision in a substep at most, beyond the first; friction gives way in the second half
    /// of them.
    pub contact_rounds: u32,
    /// Whether the velocity of every substep is projected, too, so that no edge grows or shrinks by it
    /// ([`crate::solver::tangent`]): a second linear solve. It takes kinetic energy and never gives any. Cloth with
    /// edges that may stretch goes without it ([`mod@crate::stage::law`]).
    pub tangent_velocities: bool,
    /// How the cloth keeps from passing through itself; `None` lets it pass ([`crate::stage::self_collision`]). A cloth
    /// keeps whether it has it, and the room for pairs. Steps are those of Euler then.
    pub self_collision: Option<SelfCollision>,
    /// Speed below which cloth among solids comes to rest \[m/s\]: where a vertex has moved more slowly than this for a
    /// while, its velocity is that of its motion, without what corrections of the strain leave in it; 0 for never
    /// ([`crate::stage::rest`]).
    pub rest_speed: f32,
    /// Whether the positions at the start of the last frame are kept, for motion vectors
    /// ([`crate::Cloth::previous_position_buffer`]): one dispatch per frame, and 16 bytes per vertex on a device.
    pub keep_previous: bool,
    /// Stages of the user's own, run before the prediction. A cloth keeps those that it was made with: they have fields
    /// in it.
    pub stages: Vec<Arc<dyn Stage>>,
    /// Dispatches in one submission at most, where this crate submits: long submissions block a desktop, and some
    /// systems kill them.
    pub dispatches_per_submission: u32,
    /// Dispatches that [`crate::Cloth::encode_step`] may record at most. Where a frame has more, loops are shortened,
    /// those of elastic solves first, and then substeps left out, but not below what motion and shear need.
    /// Shortened frames cut the same load into up to three times as many substeps, which then need few iterations each.
    ///
    /// [`crate::Cloth::frame_cost`] tells beforehand which budget suffices, [`crate::Report::wanted_substeps`]
    /// afterwards where one did not. A substep costs about 35 dispatches where springs are explicit or go along
    /// diagonals, 35 more where they are solved for ([`crate::cloth::substeps`] says when; 11 and 6 for each of four
    /// iterations, 7 with bending), and 30 for each of `contact_rounds` where there are solids. The default holds 1 %
    /// in sheets of 71 × 71 vertices hung by two corners with explicit springs, and of 31 × 31 with implicit ones.
    ///
    /// Where the cloth may touch itself there may be four times as many: a substep then costs 45 more, and 26 for each
    /// of `contact_rounds`.
    pub dispatch_budget: u64,
}

/// How many times more dispatches a frame may have where the cloth may touch itself.
const OWN_BUDGET: u64 = 4;

impl Default for Settings {
    fn default() -> Self {
        Self {
            strain_limit: 0.01,
            middle_strain: None,
            stretch_min: 1.0,
            stretch_max: 1.0,
            gravity: [0.0, -9.81, 0.0],
            drag: 0.0,
            wind: None,
            area_limit: None,
            stretch_rate: None,
            volume: None,
            substeps: Substeps::Auto,
            stepping: Stepping::Euler,
            damping: 0.0,
            elasticity: Elasticity::Auto,
            method: Method::default(),
            contact_rounds: 8,
            tangent_velocities: false,
            self_collision: None,
            rest_speed: 0.01,
            keep_previous: false,
            stages: Vec::new(),
            dispatches_per_submission: 2000,
            dispatch_budget: 1000,
        }
    }
}

/// Largest change of strain that f32 arithmetic may hide between device and host.
const STRAIN_MARGIN: f32 = 5e-7;
/// No limit below this is accepted at any size.
const LEAST_LIMIT: f32 = 2e-6;

impl Settings {
    /// Checks every value against a mesh and its start positions.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] naming the setting, [`Error::StrainLimit`] if f32 positions cannot hold the limit,
    /// [`Error::Thickness`] if they cannot hold the thickness of cloth that may touch itself; [`Error::OpenEdge`],
    /// [`Error::FlippedEdge`] or [`Error::NonManifoldEdge`] if a volume is asked of a surface that is not closed.
    pub fn validate(&self, mesh: &Mesh, positions: &[[f32; 3]]) -> Result<()> {
        let resolution = resolution(mesh, positions);
        self.validate_at(resolution, shortest(mesh))?;
        self.validate_surface(mesh)?;
        check_own_limits(mesh, resolution)
    }

    /// What is asked of the surface.
    pub(crate) fn validate_surface(&self, mesh: &Mesh) -> Result<()> {
        self.volume.map_or(Ok(()), |volume| volume::validate(volume, mesh))
    }

    /// [`Settings::validate`] where the resolution of the positions and the shortest edge are known.
    pub(crate) fn validate_at(&self, resolution: f32, shortest: f32) -> Result<()> {
        // What is merely too small is told with the figure that would do.
        if self.strain_limit.is_finite() {
            self.check_limit(resolution)?;
        }
        Self::check_strain_limit(self.strain_limit.into())?;
        let middle = self.middle_strain.unwrap_or(0.0);
        within("middle_strain", middle.into(), (0.0..=1.0).contains(&middle), "in [0, 1]")?;
        let (low, high) = (self.stretch_min, self.stretch_max);
        within("stretch_min", low.into(), (0.0..=1.0).contains(&low), "in [0, 1]")?;
        within("stretch_max", high.into(), (1.0..=1e6).contains(&high), "in [1, 1e6]")?;
        for (index, g) in self.gravity.into_iter().enumerate() {
            if g.is_nan() || g.abs() > 1e6 {
                let expected = "finite and at most 1e6 m/s²";
                return Err(Error::OutOfRange { field: "gravity", index: Some(index), value: g.into(), expected });
            }
        }
        within("drag", self.drag.into(), (0.0..=1e6).contains(&self.drag), "in [0, 1e6] 1/s")?;
        let damped = self.damping > 0.0;
        within("damping", self.damping.into(), (0.0..=1e3).contains(&self.damping), "in [0, 1000] s")?;
        let explicit = self.elasticity == Elasticity::Explicit;
        within("damping", self.damping.into(), !(damped && explicit), "0 where springs are explicit")?;
        let second_order = self.stepping == Stepping::Bdf2;
        within("stepping", 2.0, !(second_order && explicit), "1 (Euler) where springs are explicit")?;
        let rounds = self.contact_rounds;
        within("contact_rounds", rounds.into(), (1..=1000).contains(&rounds), "in 1 … 1000")?;
        within("rest_speed", self.rest_speed.into(), (0.0..=1.0).contains(&self.rest_speed), "in [0, 1] m/s")?;
        if let Some(own) = &self.self_collision {
            own.validate()?;
            own.check_thickness(shortest, resolution * shortest)?;
            within("stepping", 2.0, !second_order, "1 (Euler) where cloth may touch itself")?;
        }
        self.wind.as_ref().map_or(Ok(()), Wind::validate)?;
        self.area_limit.map_or(Ok(()), area::validate)?;
        self.stretch_rate.map_or(Ok(()), stretch_rate::validate)?;
        let each = self.dispatches_per_submission;
        within("dispatches_per_submission", each.into(), each > 0, "at least 1")?;
        self.substeps.validate()?;
        let load = self.method.solver().load();
        within("load", load.into(), load > 0.0 && load.is_finite(), "finite and above 0")?;
        self.method.solver().validate()
    }

    /// Whether half of the tension may be carried from substep to substep ([`crate::stage::carried`]), as far as the
    /// mesh allows it: where edges may be longer or shorter than they are at rest, nothing would take back what was
    /// pulled too much.
    fn carries(&self) -> bool {
        self.may_carry() && (self.stretch_min, self.stretch_max) == (1.0, 1.0)
    }

    /// The same whatever changes while a recording lasts.
    pub(crate) fn may_carry(&self) -> bool {
        self.method.solver().notes_tension() && self.stepping == Stepping::Euler && self.self_collision.is_none()
    }

    /// Which forces are there, of those that may begin and end while a cloth runs: a recording depends on it.
    pub(crate) fn forces(&self) -> [bool; 1] {
        [self.wind.is_some()]
    }

    /// The same with all of them.
    pub(crate) fn with_all_forces(&self) -> Self {
        Self { wind: Some(self.wind.unwrap_or_default()), ..self.clone() }
    }

    /// Whether a number can be a strain limit at all; how small one may be depends on the mesh.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn check_strain_limit(limit: f64) -> Result<()> {
        check_strain_limit("strain_limit", None, limit)
    }

    /// How a frame of length `dt` \[s\] may be cut into substeps.
    ///
    /// # Errors
    /// As [`Substeps::plan`].
    pub fn plan(&self, bounds: &StepBounds, dt: f32) -> Result<Plan> {
        // Explicit springs do not damp, and a backward difference of second order amplifies what oscillates undamped.
        let smooth = self.damping > 0.0 || self.stepping == Stepping::Bdf2;
        let bounds = bounds.limited(self.strain_limit).carrying(self.carries());
        let plan =
            self.substeps.plan(&bounds, self.gravity, dt, self.elasticity, smooth, self.method.solver().load())?;
        match &self.self_collision {
            Some(own) if self.substeps == Substeps::Auto => {
                let most = own.most_substeps(bounds.shortest, dt.into());
                let [least, most] = [SelfCollision::least_substeps(dt.into()), most].map(|count| count as u32);
                let least = plan.least.max(least).min(MOST_SUBSTEPS);
                Ok(Plan { least, most: plan.most.max(most).clamp(least, MOST_SUBSTEPS), ..plan })
            }
            _ => Ok(plan),
        }
    }

    /// Dispatches that a recorded frame may have.
    pub(crate) fn frame_budget(&self) -> u64 {
        let times = if self.self_collision.is_some() { OWN_BUDGET } else { 1 };
        self.dispatch_budget.saturating_mul(times)
    }

    /// Strain at which a substep of a frame but its last may end, if its last ends at `limit`.
    pub(crate) fn middle_limit(&self, bounds: &StepBounds, limit: f32) -> f32 {
        let default = || bounds.middle_strain(self.method.solver().middle_strain(), self.strain_limit);
        self.middle_strain.unwrap_or_else(default).max(limit)
    }

    /// Refuses a limit that positions of this resolution cannot hold.
    pub(crate) fn check_limit(&self, resolution: f32) -> Result<()> {
        let least = least_limit(resolution);
        if self.strain_limit < least { Err(Error::StrainLimit { limit: self.strain_limit, least }) } else { Ok(()) }
    }

    /// The strain at which the device stops: under the limit by what rounding to f32 positions may add.
    pub(crate) fn device_limit(&self, resolution: f32) -> f32 {
        device_limit(self.strain_limit, resolution)
    }
}

fn device_limit(limit: f32, resolution: f32) -> f32 {
    let margin = STRAIN_MARGIN + 2.0 * resolution;
    limit - margin.min(0.5 * limit)
}

/// The limit of an edge as the field `edge_limits` has it: 0 for the common one, less than 0 for one that is not above
/// the common one.
pub(crate) fn limit_word(limit: EdgeLimit, resolution: f32) -> f32 {
    match limit {
        EdgeLimit::Common => 0.0,
        EdgeLimit::Own(own) => device_limit(own, resolution),
        EdgeLimit::Least(own) => -device_limit(own, resolution),
    }
}

/// Refuses limits of edges that positions of this resolution cannot hold.
pub(crate) fn check_own_limits(mesh: &Mesh, resolution: f32) -> Result<()> {
    let least = least_limit(resolution);
    let own = mesh.edge_limits().iter().filter_map(|limit| limit.own());
    match own.reduce(f32::min) {
        Some(limit) if limit < least => Err(Error::StrainLimit { limit, least }),
        _ => Ok(()),
    }
}

/// Rounding step of the largest coordinate over the shortest edge.
pub(crate) fn resolution(mesh: &Mesh, positions: &[[f32; 3]]) -> f32 {
    let largest = positions.iter().flatten().fold(0.0f32, |most, x| most.max(x.abs()));
    (largest.next_up() - largest) / shortest(mesh)
}

/// The shortest edge at rest \[m\].
pub(crate) fn shortest(mesh: &Mesh) -> f32 {
    mesh.edges().iter().fold(f32::INFINITY, |least, edge| least.min(edge.rest))
}

/// The smallest strain limit that positions of this size can hold.
pub(crate) fn least_limit(resolution: f32) -> f32 {
    LEAST_LIMIT.max(4.0 * resolution)
}
