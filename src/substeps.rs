//! How many substeps a frame gets.
//!
//! Two bounds, both from mesh and settings alone, so that every run chooses alike:
//!
//! 1. **Shear.** Explicit springs are stable while k h²/m ≤ 0.15. At a vertex with springs k_1 … k_j the k that counts
//!    is a quarter of their sum (an inner vertex of a grid has four diagonals), m its mass.
//! 2. **Load.** The dimensionless load s = h² T/(m̄ l) decides how hard one projection is: below 1 it takes one or two
//!    iterations, above 20 Newton's method fails. T is the weight of all free vertices divided by the number of edges
//!    that leave pinned vertices \[N\], m̄ the mean mass of free vertices \[kg\], l the mean rest length of those edges
//!    \[m\]. The rule keeps s ≤ 0.25 at rest; a falling cloth loads its pins several times its weight when it is caught.

use crate::error::{Error, Result};
use crate::mesh::Mesh;
use crate::solver::within;

/// Substeps per frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Substeps {
    /// As many as the rule of the [module](self) asks for.
    #[default]
    Auto,
    /// This many; refused if the springs would be unstable.
    Fixed(u32),
}

/// Largest k h²/m of explicit springs.
const SHEAR: f64 = 0.15;
/// Largest load s at rest.
const LOAD: f64 = 0.25;
/// More substeps than this in a frame are an error of the caller's.
const MOST: u32 = 1_000_000;

impl Substeps {
    pub(crate) fn validate(self) -> Result<()> {
        match self {
            Self::Auto => Ok(()),
            Self::Fixed(count) => within("substeps", count.into(), (1..=MOST).contains(&count), "in 1 … 1,000,000"),
        }
    }

    /// Substeps of a frame of length `dt` \[s\].
    ///
    /// # Errors
    /// [`Error::StepTooLarge`] if a fixed count does not keep the springs stable, [`Error::OutOfRange`] if the rule
    /// asks for more than a million.
    pub fn count(self, bounds: &StepBounds, gravity: [f32; 3], dt: f32) -> Result<u32> {
        let dt = f64::from(dt);
        let shear = at_least(dt / bounds.shear);
        let needed = match self {
            Self::Fixed(count) if shear <= f64::from(count) => return Ok(count),
            Self::Fixed(substeps) => {
                return Err(Error::StepTooLarge { substeps, needed: shear.min(f64::from(u32::MAX)) as u32 });
            }
            Self::Auto => shear.max(at_least(dt / bounds.load(gravity))),
        };
        within("dt", dt, needed <= f64::from(MOST), "short enough for a million substeps")?;
        Ok(needed as u32)
    }
}

/// What a mesh asks of the step, found once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepBounds {
    /// Longest step that keeps the springs stable \[s\].
    shear: f64,
    /// Square of the longest step that keeps the load small under a gravity of 1 m/s² \[s²\].
    load: f64,
}

impl StepBounds {
    /// The bounds of a mesh.
    pub fn new(mesh: &Mesh) -> Self {
        Self { shear: shear_step(mesh), load: load_step(mesh) }
    }

    /// Longest step that keeps the load at rest small \[s\].
    fn load(&self, gravity: [f32; 3]) -> f64 {
        let gravity = gravity.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        if gravity == 0.0 { f64::INFINITY } else { (self.load / gravity).sqrt() }
    }
}

fn at_least(substeps: f64) -> f64 {
    // A hair's breadth over a whole number is the rounding of dt.
    (substeps * (1.0 - 1e-6)).ceil().max(1.0)
}

/// Longest step that keeps the springs stable \[s\].
fn shear_step(mesh: &Mesh) -> f64 {
    let mut stiffness = vec![0.0f64; mesh.vertex_count()];
    for spring in mesh.springs() {
        stiffness[spring.tail as usize] += f64::from(spring.stiffness);
        stiffness[spring.head as usize] += f64::from(spring.stiffness);
    }
    let inverse_masses = mesh.inverse_masses();
    let stiffest =
        stiffness.iter().zip(inverse_masses).map(|(sum, w)| 0.25 * sum * f64::from(w)).fold(0.0f64, f64::max);
    (SHEAR / stiffest).sqrt()
}

/// LOAD · m̄ l / (T per unit of gravity) \[s²\]; infinite where nothing hangs from a pin.
fn load_step(mesh: &Mesh) -> f64 {
    let inverse_masses = mesh.inverse_masses();
    let free: Vec<f64> = inverse_masses.iter().filter(|w| **w > 0.0).map(|w| 1.0 / f64::from(*w)).collect();
    let total: f64 = free.iter().sum();
    let leaving: Vec<f64> = mesh
        .edges()
        .iter()
        .filter(|edge| (inverse_masses[edge.tail as usize] > 0.0) != (inverse_masses[edge.head as usize] > 0.0))
        .map(|edge| f64::from(edge.rest))
        .collect();
    let tension = total / leaving.len() as f64;
    let rest = leaving.iter().sum::<f64>() / leaving.len() as f64;
    let mean = total / free.len() as f64;
    if leaving.is_empty() || tension == 0.0 { f64::INFINITY } else { LOAD * mean * rest / tension }
}
