//! How many substeps a frame gets.
//!
//! Three bounds; the largest counts:
//!
//! 1. **Motion.** At least one substep per 1/240 s: longer Euler steps damp what one wants to see. Where a hundredth of
//!    the edges is shorter than a quarter of the mean, as many times more, up to 6.5: what a step moves them is large
//!    for them, and nothing of that shows in the load.
//! 2. **Shear.** Explicit springs are stable while k h²/m is small; the rule keeps it at 0.3. At a vertex with springs
//!    k_1 … k_j the k that counts is a quarter of their sum (an inner vertex of a grid has four diagonals), m its mass.
//!    Where that would be more than four times the substeps of the other bounds, the springs are integrated implicitly
//!    ([`crate::stage::elastic`]) and ask for nothing.
//! 3. **Load.** The device meters the load s = h² T/(m̄ l) of every frame ([`crate::stage::load`]) and cuts the next
//!    frame so that s stays below what the solver takes (4 for yarn sweeps and the automatic choice, 2 for fast
//!    projection, 1 for the others), with a margin of 1.5 for loads that grow, and forgets a load by a quarter per
//!    frame (uneven meshes: by 3 %). Before anything was measured it expects the weight of all free vertices divided by
//!    the number of edges that leave pinned ones.
//!
//! Where edges are so uneven and more than an eighth of a frame's substeps missed what their solver accepts, the next
//! frame gets twice as many. The strain that is left in short edges would grow with the speed that it means.
//!
//! Where a budget of dispatches bounds the recording ([`crate::Settings::dispatch_budget`]), iterations are few, and
//! the third bound keeps s eight times smaller.
//!
//! The count lives on the device: nothing waits for a read-back. The recording has the cap, [`Plan::most`]; substeps
//! beyond the count do nothing. Bounds 1 and 2 and the cap come from mesh and settings alone, and the load from the
//! state alone, so every run chooses alike.

use crate::error::within;
use crate::error::{Error, Result};
use crate::mesh::Mesh;
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

/// How a frame may be cut into substeps.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// Fewest substeps.
    pub least: u32,
    /// Most substeps: what is recorded.
    pub most: u32,
    /// Whether springs are integrated implicitly.
    pub implicit: bool,
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

    /// How a frame of length `dt` \[s\] may be cut for a solver that takes a load of `load` per substep.
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
        load: f32,
    ) -> Result<Plan> {
        let load = f64::from(load);
        let seconds = f64::from(dt);
        let shear = at_least(seconds / bounds.shear);
        let expected_load = bounds.load * gravity.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        let weight = at_least(seconds * (expected_load / load).sqrt());
        let motion = at_least(bounds.grading * seconds / LONGEST);
        let cap = match self {
            Self::Auto => f64::INFINITY,
            Self::UpTo(count) | Self::Fixed(count) => f64::from(count),
        };
        let implicit = match elasticity {
            Elasticity::Explicit => false,
            Elasticity::Implicit => bounds.shear.is_finite(),
            Elasticity::Auto => shear > cap || (shear > 4.0 * motion.max(weight) && !matches!(self, Self::Fixed(_))),
        };
        if !implicit && shear > cap {
            let needed = shear.min(f64::from(u32::MAX)) as u32;
            return Err(Error::StepTooLarge { substeps: cap as u32, needed });
        }
        let least = if implicit { motion } else { motion.max(shear) };
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
    /// Longest step that keeps the springs stable \[s\].
    shear: f64,
    /// Load T/(m̄ l) at rest under a gravity of 1 m/s² \[1/m\].
    load: f64,
    /// How many times more substeps short edges need than the mean one; 1 on an even mesh.
    grading: f64,
    /// The vertex that decides `shear`.
    stiffest: Option<u32>,
}

impl StepBounds {
    /// The bounds of a mesh.
    pub fn new(mesh: &Mesh) -> Self {
        let (shear, stiffest) = shear_step(mesh);
        Self { shear, load: rest_load(mesh), grading: grading(mesh), stiffest }
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

/// Longest step that keeps the springs stable \[s\], and the vertex that decides it.
fn shear_step(mesh: &Mesh) -> (f64, Option<u32>) {
    let mut stiffness = vec![0.0f64; mesh.vertex_count()];
    for spring in mesh.springs() {
        stiffness[spring.tail as usize] += f64::from(spring.stiffness);
        stiffness[spring.head as usize] += f64::from(spring.stiffness);
    }
    // The largest eigenvalue of signed weights is below twice the sum of their sizes; hinges are about as stiff.
    for pair in mesh.bending_pairs() {
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
    ((SHEAR / stiffest.0).sqrt(), stiffest.1)
}

/// Mean over four times the length of short edges, those of which 99 in 100 are longer, in 1 … 6.5: what a step moves
/// them is compared with their length. A quarter of the mean counts as even, and a single short edge does not count.
fn grading(mesh: &Mesh) -> f64 {
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
