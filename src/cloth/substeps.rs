//! How many substeps a frame gets.
//!
//! Three bounds; the largest counts:
//!
//! 1. **Motion.** At least one substep per 1/240 s: longer Euler steps damp what one wants to see. Where a hundredth of
//!    the edges is shorter than a quarter of the mean, as many times more, up to 6.5: what a step moves them is large
//!    for them, and nothing of that shows in the load.
//! 2. **Shear.** What springs ask for depends on how they are integrated, next.
//! 3. **Load.** The device meters the load s = h² T/(m̄ l) of every frame ([`crate::stage::load`]) and cuts the next
//!    frame so that s stays below what the solver takes (4 for yarn sweeps and the automatic choice, 2 for fast
//!    projection, 1 for the others), with a margin of 1.5 for loads that grow, and forgets a load by a quarter per
//!    frame (uneven meshes: by 3 %). Before anything was measured it expects the weight of all free vertices divided by
//!    the number of edges that leave pinned ones.
//!
//! A straight yarn between two pins bears the more, the less it may sag: at a strain σ its slope at a pin is √(6σ), and
//! its tension half of the weight over that. What a substep moves it up and down must then be small against a sag that
//! is hardly there. So from a limit of 1 % down the load that a solver takes falls as the limit does, and all substeps
//! of a frame, not only its last, end at three times the limit: from 1 % in the one before, the last would have to lift
//! the row by most of its sag, which throws it up. With both, `patch` holds 0.1 % and 0.03 % in every frame of a second
//! at 24 × 24, 32 × 32 and 71 × 71; with neither it misses 13 frames of 60 at 71 × 71 and 0.1 %, with the second alone
//! one or two, in a like time.
//!
//! Where load comes together in [windows](crate::mesh::windows), a substep could take more while explicit shear holds
//! it back besides: with twice the load `hang` of 256 × 256 takes 82 substeps per frame in the first half second
//! instead of 97, in 6 % less time, and none misses. But `hang` of 71 × 71 and 0.5 N/m then misses in 760 substeps of a
//! second instead of 87, and under four times the gravity in two frames instead of none. So it is the same everywhere.
//!
//! Where edges are so uneven and more than an eighth of a frame's substeps missed what their solver accepts, the next
//! frame gets twice as many. The strain that is left in short edges would grow with the speed that it means.
//!
//! Where a budget of dispatches bounds the recording ([`crate::Settings::dispatch_budget`]), iterations are few, and
//! the third bound keeps s eight times smaller.
//!
//! # Shear
//!
//! With κ = k h²/m, k at a vertex with springs k_1 … k_j a quarter of their sum (an inner vertex of a grid has four
//! diagonals) and m its mass, there are three ways:
//!
//! | springs | bound of the step | cost |
//! |---|---|---|
//! | explicit ([`crate::stage::springs`]) | κ ≤ 0.3, stability | a pass over the springs |
//! | along diagonals ([`crate::solver::diagonals`]) | κ ≤ κ_max, s ≤ 3/4, 1/480 s | a line solve per family |
//! | by a linear solve ([`crate::stage::elastic`]) | none | 2 … 20 iterations, more the finer the mesh |
//!
//! Along diagonals springs are stable at any step. What bounds it is that the projection comes after them: shear that
//! is in balance with the prediction is not with what tension and contact make of it, and where these are stiff against
//! shear the cloth gains energy. κ_max is where that begins:
//!
//! - 100, where a row of pins carries the load side by side, or nothing does. In the first half second of `curtain`
//!   nothing was gained at κ = 86 and 106, 0.01 … 0.04 J/kg at 150, and 0.1 at 340;
//! - 1, where the cloth may touch solids: every touching vertex is a pin of its own;
//! - 4, where load comes together in corners or on borders, in pins that stand alone or are held, with windows that
//!   solve springs again ([`crate::mesh::windows`]) around all of them;
//! - 0.5, where it comes together otherwise: in the middle of the cloth (a sheet of 71 × 71 and 200 N/m, held there,
//!   gained 0.33 J/kg at 4, 0.01 at 1 and nothing at 0.46; by the linear solve 6.4), in pins without a pinned neighbor
//!   in small meshes, pins that bear more than one and a half of the longest yarns per edge, and held vertices without
//!   windows. Around these, cloth is projected many times after its springs.
//!
//! Where load comes together in windows, the tension of the cloth asks for short steps, too: below 12 substeps per
//! frame at 71 × 71, and 24 at 128 × 128, frames are missed with any shear. Both are where a wave, which runs along a
//! yarn of length L that hangs from its end with √(g L), passes a quarter of an edge per substep, and that is the
//! bound. It also tells of vertices that are held what the expected load tells of pins: that steps will be short.
//!
//! Two more bounds are no matter of stability. At a load s of more than a third, cloth that hangs from a row of pins
//! does not come to rest: a curtain of 128 × 128 moves by 0.2 m/s for ever in 8 substeps per frame (s = 0.7), as it
//! does with the linear solve, by 0.07 m/s in 11 (s = 0.37), and by 1e-5 m/s in 12 (s = 0.31). Half of the tension that
//! is carried from substep to substep ([`crate::stage::carried`]) moves that to 1, and the bound is 3/4 then: strips of
//! 128 and 256 vertices hang still, 2e-6 m/s, in 8 and 16 substeps (s = 0.69). It is carried where s would be more than
//! a third, no load comes together, no solid is near, no yarn runs between two pins, edges may be neither longer nor
//! shorter than at rest, steps are of first order and nothing is damped; elsewhere the bound is a third. And Euler's
//! steps damp by their length: a curtain of 71 × 71 that was let go has lost 0.11 J/kg after 0.8 s in 88 substeps per
//! frame, 0.28 in 22, 0.56 in 8 and 0.87 in 4, so they are at most 1/480 s. Where the caller asks for damping, or for
//! steps of second order, which do not damp, the last bound is left out.
//!
//! The rule: springs go along diagonals where these are in at most four families, no load comes together, and that
//! takes three quarters of the substeps of explicit ones or fewer; also where it comes together in windows, if it takes
//! half or fewer (from about 50 N/m on), because windows that solve springs are larger; otherwise they are explicit.
//! With windows that is all, on even meshes where there are no solids and no bending, because the linear solve gains
//! energy there.
//! Otherwise, where shear would ask for more than four times the substeps of the other bounds, or for more than the
//! caller allows, it is left to the linear solve, as it is on meshes whose springs lie on no lines. With damping and
//! second-order steps nothing may be explicit: there springs go along diagonals, or by the linear solve where load
//! comes together and where the cloth also resists bending, which is not on lines. Otherwise bending stays explicit
//! beside diagonals, and its own bound counts with theirs.
//!
//! Substeps, sweeps and iterations of the linear solve per frame in the first second of `curtain`, at 60 Hz and 1 %.
//! Elsewhere than noted no more than 0.004 J/kg was gained:
//!
//! | | explicit | linear solve | diagonals |
//! |---|---|---|---|
//! | 71 × 71 | 22, 22 | 4.0, 6.8, 32 | 8, 8.1 |
//! | 128 × 128 | 39, 39 | 5.3, 12.9, 71 | 8, 8.9 |
//! | 256 × 256 | 78, 78 | 10, 24.6, 155 | 16, 18.2 |
//! | 71 × 71, shear of 200 N/m | 68, 68 | 4.3, 8.1, 123, gains 0.17 J/kg | 8, 8.1 |
//! | 71 × 71, shear of 1000 N/m | 151, 151 | 4.6, 9.3, 334, gains 2.3 J/kg | 9, 9.0 |
//!
//! The same of cloth that hangs from two corners (`patch`: from two corners that are as far apart as its row is long).
//! It missed no frame, but with the linear solve:
//!
//! | | linear solve | diagonals, with windows |
//! |---|---|---|
//! | `hang` 71 × 71, shear of 200 N/m | 13.4, 26.3, 147, gains 0.53 J/kg | 19.1, 24.3, gains 0.0002 |
//! | `hang` 71 × 71, shear of 1000 N/m | | 42, 42.4, gains 0.0024 |
//! | `patch` 71 × 71, shear of 200 N/m | | 19.3, 29.8, gains 0.0012 |
//! | `patch` 71 × 71, shear of 1000 N/m | | 42, 42.0, gains 0.0007 |
//! | `hang` 128 × 128, shear of 200 N/m, 0.7 s | | 39.2, 46.1, gains 0.0002 |
//! | `patch` 128 × 128, shear of 200 N/m, 0.7 s | | 41.5, 67.2, gains 0.0012 |
//!
//! In 22 substeps `hang` of 1000 N/m (κ = 14) gains 0.09 J/kg.
//!
//! The count lives on the device: nothing waits for a read-back. The recording has the cap, [`Plan::most`]; substeps
//! beyond the count do nothing. Bounds 1 and 2 and the cap come from mesh and settings alone, and the load from the
//! state alone, so every run chooses alike.

use glam::DVec3;

use crate::error::within;
use crate::error::{Error, Result};
use crate::mesh::bending::Pair;
use crate::mesh::diagonals::Diagonals;
use crate::mesh::windows::Windows;
use crate::mesh::yarns::Yarns;
use crate::mesh::{Link, Mesh};
use crate::stage::control::MOST_SUBSTEPS;
use crate::stage::elastic::Elasticity;

/// Substeps per frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Substeps {
    /// As many as the rule of the [module](self) asks for, at most twice its first two bounds or six times what the
    /// weight at rest asks for.
    #[default]
    Auto,
    /// As the rule asks, but never more than this.
    UpTo(u32),
    /// This many.
    Fixed(u32),
}

/// Longest substep \[s\].
const LONGEST: f64 = 1.0 / 240.0;
/// Largest k h²/m of explicit springs.
const SHEAR: f64 = 0.3;
/// Longest substep of springs along diagonals \[s\]; longer ones damp what one wants to see of folds.
const LONGEST_ALONG: f64 = 1.0 / 480.0;
/// Load at rest of a substep of springs along diagonals.
const STILL: f64 = 1.0 / 3.0;
/// The same where half of the tension is carried; stable below 1.
const STILL_CARRIED: f64 = 0.75;
/// Largest k h²/m of springs along diagonals where a row of pins carries the load, or nothing does.
const ROWS: f64 = 100.0;
/// The same where load comes together in pins on borders, with windows that have pieces of diagonals.
const WINDOWED: f64 = 4.0;
/// The same where it comes together elsewhere.
const GATHERED: f64 = 0.5;
/// The same where the cloth may touch solids.
const TOUCHED: f64 = 1.0;
/// How many times fewer substeps springs along diagonals must take: a line solve costs more than a spring pass.
const SAVING: f64 = 4.0 / 3.0;
/// The same where windows solve springs again.
const SAVING_WINDOWED: f64 = 2.0;
/// Edges that a wave along the longest yarn runs through in a substep of springs along diagonals, where load comes
/// together.
const CREST: f64 = 0.25;

/// A yarn between two pins is taut if it is longer than their distance by less than so many strain limits, and what it
/// may be strained in the course of a frame is so many of them.
const TAUT: f64 = 3.0;
/// Limit from which on a taut yarn needs no more substeps than others.
const LOOSE: f64 = 0.01;
/// The load falls no further: below 0.01 % more substeps than ten times the usual number cost more than anybody waits.
const TIGHTEST: f64 = 100.0;

/// How a frame may be cut into substeps.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// Fewest substeps.
    pub least: u32,
    /// Most substeps: what is recorded.
    pub most: u32,
    /// Whether springs are integrated implicitly by a linear solve ([`crate::stage::elastic`]).
    pub implicit: bool,
    /// Whether they are integrated implicitly along their lines instead ([`crate::solver::diagonals`]).
    pub diagonals: bool,
    /// Whether half of the tension is carried from substep to substep ([`crate::stage::carried`]).
    pub carries: bool,
    /// Whether the caller bounds the count, so that substeps may be harder than the solver asks for.
    pub bounded: bool,
    /// Load to expect before any was measured \[1/s²\].
    pub(crate) expected_load: f32,
    /// dt² over the load s of one substep \[s²\].
    pub(crate) load_scale: f32,
    /// What the load is multiplied by: 1, or more where loops are shortened.
    pub(crate) load_margin: f32,
    /// Whether the mesh is so uneven that substeps that miss ask for more of them.
    pub(crate) graded: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            least: 1,
            most: 1,
            implicit: false,
            diagonals: false,
            carries: false,
            bounded: false,
            expected_load: 0.0,
            load_scale: 0.0,
            load_margin: 1.0,
            graded: false,
        }
    }
}

/// How much less load a substep may have whose loops are shortened. Two-corner sheets of 31 × 31 need forty sweeps at a
/// load of 4, and five to nine at an eighth of it.
const SHORTENED: f32 = 8.0;
/// How many times more substeps an uneven mesh gets after a frame of which an eighth missed.
const MISSED: f32 = 2.0;
/// Part of the expected load that an uneven mesh keeps per frame: its fine edges whip around without notice.
const REMEMBERED: f32 = 0.97;
/// Short edges never ask for more than so many times the substeps: 26 at 60 Hz, and 52 at most, which is four times
/// what an even sheet of 45 × 33 vertices gets.
const MOST_GRADED: f64 = 6.5;

impl Plan {
    /// Plans that have all kernels between them which a frame may need, where springs may go along `diagonals` and
    /// tension may be carried.
    pub(crate) fn every_kind(self, diagonals: bool, carries: bool) -> impl Iterator<Item = Self> {
        let kinds =
            [[false; 3], [true, false, false], [false, diagonals, false], [false, diagonals, diagonals && carries]];
        kinds.into_iter().map(move |[implicit, diagonals, carries]| Self {
            implicit,
            diagonals,
            carries,
            most: 2,
            bounded: true,
            ..self
        })
    }

    /// For a recording with at most this many substeps, whose loops are shortened.
    pub(crate) fn shortened(self, most: u32) -> Self {
        let bounded = self.bounded || most < self.most;
        Self { most, bounded, load_margin: SHORTENED, ..self }
    }

    /// Load to expect after a frame of one substep that missed \[1/s²\].
    pub(crate) fn missed_load(self) -> f32 {
        if self.graded { MISSED * MISSED / (self.load_scale * self.load_margin) } else { 0.0 }
    }

    /// Part of the expected load that is left of it after a frame.
    pub(crate) fn memory(self) -> f32 {
        if self.graded { REMEMBERED } else { 0.75 }
    }

    /// For a recording that is shortened as far as it can be: without what only heavy substeps use, unless these are
    /// known to be heavy.
    pub(crate) fn fewest(self) -> Self {
        let heavy = self.expected_load * self.load_scale > (self.least * self.least) as f32;
        Self { bounded: self.bounded || heavy, ..self.shortened(self.least) }
    }
}

impl Substeps {
    pub(crate) fn validate(self) -> Result<()> {
        match self {
            Self::Auto => Ok(()),
            Self::Fixed(count) | Self::UpTo(count) => {
                within("substeps", count.into(), (1..=MOST_SUBSTEPS).contains(&count), "in 1 … 1,000,000")
            }
        }
    }

    /// How a frame of length `dt` \[s\] may be cut for a solver that takes a load of `load` per substep. `smooth`: no
    /// force may be explicit, because it is damped or the time stepping is of second order.
    ///
    /// # Errors
    /// [`Error::StepTooLarge`] if a count does not keep explicit springs stable, [`Error::OutOfRange`] if the rule asks
    /// for more than a million.
    pub fn plan(
        self,
        bounds: &StepBounds,
        gravity: [f32; 3],
        dt: f32,
        elasticity: Elasticity,
        smooth: bool,
        load: f32,
    ) -> Result<Plan> {
        let load = f64::from(load) / bounds.tightness;
        let seconds = f64::from(dt);
        let shear = at_least(seconds / bounds.shear);
        let pull = gravity.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        let expected_load = bounds.load * pull;
        let weight = at_least(seconds * (expected_load / load).sqrt());
        let motion = at_least(bounds.grading * seconds / LONGEST);
        let cap = match self {
            Self::Auto => f64::INFINITY,
            Self::UpTo(count) | Self::Fixed(count) => f64::from(count),
        };
        let crest = if bounds.windowed { at_least(seconds * bounds.crests(pull) / CREST) } else { 1.0 };
        let calm = motion.max(weight).max(crest);
        let along = bounds.along(seconds).map(|count| count.max(motion));
        let shown = if smooth { 1.0 } else { at_least(seconds / LONGEST_ALONG) }.max(crest);
        let rests = |load: f64| at_least(seconds * (expected_load / load).sqrt());
        let fewest = match self {
            Self::Fixed(_) => cap,
            _ => along.map_or(shown, |count| count.max(shown)).min(cap),
        };
        let carries = bounds.may_carry() && !smooth && rests(STILL) > fewest;
        let still = if carries { rests(STILL_CARRIED) } else { rests(STILL) };
        let shown = if bounds.gathered { shown } else { shown.max(still) };
        let fixed = matches!(self, Self::Fixed(_));
        let even = bounds.grading == 1.0;
        let free = fixed || bounds.windowed && even && !bounds.touched && !bounds.bends();
        let fits = |count: f64, others: f64| count <= cap && (free || count <= 4.0 * others);
        let diagonals = match elasticity {
            Elasticity::Explicit | Elasticity::Implicit => false,
            _ if smooth && bounds.bends() => false,
            // The caller knows better than the bound of κ, if he says so.
            Elasticity::Diagonals => along.is_some() && at_least(seconds / bounds.bending) <= cap,
            Elasticity::Auto => along.is_some_and(|count| {
                let saving = if bounds.gathered { SAVING_WINDOWED } else { SAVING };
                let saves = !fixed && saving * count.max(shown).max(weight) <= shear.max(calm);
                let around = bounds.windowed && even && !smooth;
                let wins = if bounds.gathered { around && saves } else { smooth || saves };
                let wins = wins || !smooth && shear > cap;
                fits(count, calm.max(shown)) && wins
            }),
        };
        let implicit = bounds.shear.is_finite()
            && match elasticity {
                Elasticity::Explicit => smooth,
                Elasticity::Implicit => true,
                Elasticity::Diagonals => !diagonals,
                Elasticity::Auto => !diagonals && (smooth || !fits(shear, calm)),
            };
        if !implicit && !diagonals && shear > cap {
            let needed = shear.min(f64::from(u32::MAX)) as u32;
            return Err(Error::StepTooLarge { substeps: cap as u32, needed });
        }
        let least = match along.filter(|_| diagonals) {
            Some(count) => count.max(shown),
            None if implicit => motion,
            None => motion.max(shear),
        };
        let most = (6.0 * weight).max(2.0 * least);
        let (least, most) = match self {
            Self::Auto => (least, most),
            Self::UpTo(_) => (least.min(cap), cap),
            Self::Fixed(_) => (cap, cap),
        };
        within("dt", seconds, most <= f64::from(MOST_SUBSTEPS), "short enough for a million substeps")?;
        Ok(Plan {
            least: least as u32,
            most: most as u32,
            implicit,
            diagonals,
            carries: diagonals && carries,
            bounded: self != Self::Auto,
            expected_load: expected_load as f32,
            load_scale: (seconds * seconds / load) as f32,
            load_margin: 1.0,
            graded: bounds.grading > 1.0,
        })
    }
}

/// What a mesh asks of the step, found once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepBounds {
    /// Longest step that keeps explicit springs and bending stable \[s\].
    shear: f64,
    /// The same of bending alone \[s\].
    bending: f64,
    /// k/m of the springs, so that κ is this times h² \[1/s²\].
    rate: f64,
    /// Whether the springs lie on lines in few families.
    diagonals: bool,
    /// Load T/(m̄ l) at rest under a gravity of 1 m/s² \[1/m\].
    load: f64,
    /// How many times more substeps short edges need than the mean one; 1 on an even mesh.
    grading: f64,
    /// The vertex that decides `shear`.
    stiffest: Option<u32>,
    /// Whether the load of the cloth comes together somewhere: in a pin that stands alone, or in a held vertex.
    gathered: bool,
    /// Whether windows with pieces of diagonals are around all of these.
    windowed: bool,
    /// Whether one of them is in the middle of the cloth.
    inside: bool,
    /// Edges of the longest yarn over the mean rest length of edges \[1/m\].
    slenderness: f64,
    /// Whether there are solids around.
    touched: bool,
    /// Whether settings allow that tension is carried from substep to substep, and whether the mesh does.
    carries: [bool; 2],
    /// How much longer the tautest yarn between two pins is than their distance, as a part of it; infinite where there
    /// is none.
    give: f64,
    /// How many times less load a substep may have than the solver takes, for the sake of that yarn.
    tightness: f64,
    /// The shortest edge \[m\].
    pub(crate) shortest: f64,
}

impl StepBounds {
    /// The bounds of a mesh that starts as it rests, for a cloth without solids and holds.
    pub fn new(mesh: &Mesh) -> Self {
        let (yarns, diagonals) = (Yarns::new(mesh), Diagonals::new(mesh));
        Self::of(mesh, mesh.positions(), &yarns, &diagonals, &Windows::new(mesh, &yarns, &diagonals, &[]))
    }

    /// The same where it starts and the lines of its edges and springs are known.
    pub(crate) fn of(mesh: &Mesh, start: &[[f32; 3]], yarns: &Yarns, diagonals: &Diagonals, windows: &Windows) -> Self {
        let (springs, pairs) = (mesh.springs(), mesh.bending_pairs());
        let (ratio, stiffest) = stiffest(mesh, springs, pairs);
        Self {
            shear: (SHEAR / ratio).sqrt(),
            bending: (SHEAR / stiffest_of(mesh, &[], pairs)).sqrt(),
            rate: stiffest_of(mesh, springs, &[]),
            diagonals: diagonals.pay(),
            load: rest_load(mesh),
            grading: grading(mesh),
            stiffest,
            gathered: gathers(mesh, yarns.longest() as usize),
            windowed: windows.cover(mesh.pins().len()),
            inside: windows.inside,
            slenderness: f64::from(yarns.longest()) / mean_rest(mesh),
            touched: false,
            carries: [false, mesh.edge_kinds().is_empty()],
            give: give(mesh, start, yarns),
            tightness: 1.0,
            shortest: mesh.edges().iter().fold(f64::INFINITY, |least, edge| least.min(edge.rest.into())),
        }
    }

    /// The same where strain is limited to this.
    #[must_use]
    pub(crate) fn limited(self, limit: f32) -> Self {
        let tightness = if self.is_taut(limit) { (LOOSE / f64::from(limit)).clamp(1.0, TIGHTEST) } else { 1.0 };
        Self { tightness, ..self }
    }

    /// Whether a yarn between two pins is straight where it keeps this limit.
    fn is_taut(&self, limit: f32) -> bool {
        self.give < TAUT * f64::from(limit)
    }

    /// Strain at which substeps may end that are not the last of a frame, of what the solver can do with.
    pub(crate) fn middle_strain(&self, of_solver: f32, limit: f32) -> f32 {
        if self.is_taut(limit) { of_solver.min(TAUT as f32 * limit) } else { of_solver }
    }

    /// The same for a cloth that may touch solids, or of which vertices are held.
    #[must_use]
    pub fn among(self, solids: bool, held: bool) -> Self {
        Self { touched: solids, gathered: self.gathered || held, windowed: self.windowed && !held, ..self }
    }

    /// The same for a cloth with these windows around so many pins and holds.
    pub(crate) fn with_windows(self, windows: &Windows, pins: usize) -> Self {
        Self { windowed: windows.cover(pins), inside: windows.inside, ..self }
    }

    /// The same where settings allow that tension is carried.
    #[must_use]
    pub(crate) fn carrying(self, carries: bool) -> Self {
        Self { carries: [carries, self.carries[1]], ..self }
    }

    /// Whether tension may be carried from substep to substep ([`crate::stage::carried`]): where cloth hangs side by
    /// side and freely, and the projection makes up for all that was carried. A yarn between two pins keeps of its
    /// strain what it may.
    fn may_carry(&self) -> bool {
        self.carries == [true; 2] && !self.gathered && !self.touched && self.give == f64::INFINITY
    }

    /// Substeps of a frame that keep springs along diagonals and explicit bending stable; `None` where there are no
    /// such lines.
    fn along(&self, seconds: f64) -> Option<f64> {
        let kappa = match (self.gathered, self.touched) {
            (true, false) if self.windowed && !self.inside => WINDOWED,
            (true, _) => GATHERED,
            (false, true) => TOUCHED,
            (false, false) => ROWS,
        };
        let stable = at_least(seconds * (self.rate / kappa).sqrt()).max(at_least(seconds / self.bending));
        self.diagonals.then_some(stable)
    }

    /// Edges per second that a wave runs through along the longest yarn, as it hangs under this gravity \[m/s²\]: the
    /// root of its length times gravity is the speed of a wave at its upper end.
    fn crests(&self, gravity: f64) -> f64 {
        (gravity * self.slenderness).sqrt()
    }

    /// Whether the cloth resists bending.
    pub(crate) fn bends(&self) -> bool {
        self.bending.is_finite()
    }

    /// The vertex whose springs ask for the shortest step, if there are springs: light, with short edges around it, or
    /// stiff.
    pub fn stiffest_vertex(&self) -> Option<u32> {
        self.stiffest
    }

    /// How many times more substeps the mesh gets because its edges are uneven: 1, or up to 6.5.
    /// [`crate::mesh::MeshQuality`] names the shortest edge.
    pub fn grading(&self) -> f64 {
        self.grading
    }

    /// Longest step that keeps explicit springs stable \[s\]; infinite where there is none.
    pub(crate) fn explicit_step(&self) -> f32 {
        self.shear as f32
    }
}

fn at_least(substeps: f64) -> f64 {
    // A hair's breadth over a whole number is the rounding of dt.
    (substeps * (1.0 - 1e-6)).ceil().max(1.0)
}

/// Largest k/m of springs and bending \[1/s²\], and the vertex that has it.
fn stiffest(mesh: &Mesh, springs: &[Link], pairs: &[Pair]) -> (f64, Option<u32>) {
    let mut stiffness = vec![0.0f64; mesh.vertex_count()];
    for spring in springs {
        stiffness[spring.tail as usize] += f64::from(spring.stiffness);
        stiffness[spring.head as usize] += f64::from(spring.stiffness);
    }
    // The largest eigenvalue of signed weights is below twice the sum of their sizes; hinges are about as stiff.
    for pair in pairs {
        stiffness[pair.ends[0] as usize] += f64::from(pair.weight.abs());
        stiffness[pair.ends[1] as usize] += f64::from(pair.weight.abs());
    }
    let inverse_masses = mesh.inverse_masses();
    let mut stiffest = (0.0, None);
    for ((sum, w), vertex) in stiffness.iter().zip(inverse_masses).zip(0..) {
        let ratio = 0.25 * sum * f64::from(w);
        if ratio > stiffest.0 {
            stiffest = (ratio, Some(vertex));
        }
    }
    stiffest
}

fn stiffest_of(mesh: &Mesh, springs: &[Link], pairs: &[Pair]) -> f64 {
    stiffest(mesh, springs, pairs).0
}

/// Whether the load of a cloth comes together in few pins: one stands alone, without a pinned neighbor, or so few edges
/// leave the pins that each bears more than one and a half of the longest yarns.
fn gathers(mesh: &Mesh, longest: usize) -> bool {
    let inverse_masses = mesh.inverse_masses();
    let free = |vertex: u32| inverse_masses[vertex as usize] > 0.0;
    let (mut leaving, mut joined) = (0usize, vec![false; mesh.vertex_count()]);
    for edge in mesh.edges() {
        match (free(edge.tail), free(edge.head)) {
            (false, false) => [edge.tail, edge.head].into_iter().for_each(|vertex| joined[vertex as usize] = true),
            (true, true) => {}
            _ => leaving += 1,
        }
    }
    let moved = inverse_masses.iter().filter(|w| **w > 0.0).count();
    let alone = mesh.pins().iter().any(|pin| !joined[*pin as usize]);
    alone || (leaving > 0 && 2 * moved > 3 * longest * leaving)
}

/// How much longer than the distance of its pins the tautest yarn between two is, as a part of it; infinite where no
/// yarn with a free vertex has pins at both ends.
fn give(mesh: &Mesh, start: &[[f32; 3]], yarns: &Yarns) -> f64 {
    let inverse_masses = mesh.inverse_masses();
    let free = |vertex: u32| inverse_masses[vertex as usize] > 0.0;
    let mut least = f64::INFINITY;
    for yarn in yarns.yarns.iter().filter(|yarn| !yarn.closed) {
        let edges = &yarns.edges[yarn.edges.start as usize..yarn.edges.end as usize];
        let (Some(first), Some(last)) = (edges.first(), edges.last()) else { continue };
        if free(first.tail) || free(last.head) || edges.iter().all(|edge| !free(edge.head)) {
            continue;
        }
        let [a, b] = [first.tail, last.head].map(|vertex| DVec3::from(start[vertex as usize].map(f64::from)));
        let length: f64 = edges.iter().map(|edge| f64::from(edge.rest)).sum();
        least = least.min((length / a.distance(b) - 1.0).max(0.0));
    }
    least
}

/// Mean rest length of the edges \[m\]; 1 where there are none.
fn mean_rest(mesh: &Mesh) -> f64 {
    let sum: f64 = mesh.edges().iter().map(|edge| f64::from(edge.rest)).sum();
    if sum > 0.0 { sum / mesh.edge_count() as f64 } else { 1.0 }
}

/// Mean over four times the length of short edges, those of which 99 in 100 are longer, in 1 … 6.5: what a step moves
/// them is compared with their length. A quarter of the mean counts as even, and a single short edge does not count.
pub(crate) fn grading(mesh: &Mesh) -> f64 {
    let mut lengths: Vec<f64> = mesh.edges().iter().map(|edge| f64::from(edge.rest)).collect();
    if lengths.is_empty() {
        return 1.0;
    }
    let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
    let rank = lengths.len() / 100;
    let short = *lengths.select_nth_unstable_by(rank, f64::total_cmp).1;
    (mean / (4.0 * short)).clamp(1.0, MOST_GRADED)
}

/// T/(m̄ l) per unit of gravity \[1/m\]: T the weight per edge that leaves a pin; 0 where nothing hangs from one.
fn rest_load(mesh: &Mesh) -> f64 {
    let inverse_masses = mesh.inverse_masses();
    let leaving: Vec<f64> = mesh
        .edges()
        .iter()
        .filter(|edge| (inverse_masses[edge.tail as usize] > 0.0) != (inverse_masses[edge.head as usize] > 0.0))
        .map(|edge| f64::from(edge.rest))
        .collect();
    let rest = leaving.iter().sum::<f64>() / leaving.len() as f64;
    let free = inverse_masses.iter().filter(|w| **w > 0.0).count() as f64;
    // T = m̄ (free vertices) g / (edges that leave pins).
    if leaving.is_empty() || free == 0.0 { 0.0 } else { free / (leaving.len() as f64 * rest) }
}

/// Mean mass of the free vertices \[kg\]; 1 where there is none.
pub(crate) fn mean_mass(mesh: &Mesh) -> f32 {
    let free: Vec<f64> = mesh.inverse_masses().iter().filter(|w| **w > 0.0).map(|w| 1.0 / f64::from(*w)).collect();
    if free.is_empty() { 1.0 } else { (free.iter().sum::<f64>() / free.len() as f64) as f32 }
}

/// Mass of light free vertices, those of which 99 in 100 are heavier, as a part of a quarter of the mean; at most 1. As
/// with edges, a single one does not decide for all.
pub(crate) fn lightness(mesh: &Mesh) -> f32 {
    let mut inverse_masses: Vec<f32> = mesh.inverse_masses().into_iter().filter(|w| *w > 0.0).collect();
    if inverse_masses.is_empty() {
        return 1.0;
    }
    let rank = inverse_masses.len() - 1 - inverse_masses.len() / 100;
    let light = *inverse_masses.select_nth_unstable_by(rank, f32::total_cmp).1;
    (4.0 / (light * mean_mass(mesh))).min(1.0)
}
