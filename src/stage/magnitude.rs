//! Magnitudes whose rounding enters fields: the floors of lock-step's bounds ([`Spec::floor`]).
//!
//! [`Spec::floor`]: crate::engine::fields::Spec::floor

use crate::engine::fields::Fields;
use crate::error::Result;
use crate::mesh::Link;
use crate::stage::fields::{Clock, Vertex};
use crate::stage::wind::Air;

/// Largest rest length \[m\].
pub(crate) fn rest(fields: &Fields) -> Result<f32> {
    Ok(fields.get::<Link>("edges")?.iter().fold(0.0, |most, link| most.max(link.rest)))
}

/// Rounding of an edge vector enters displacements: a part of the rest length \[m\].
pub(crate) fn grain(fields: &Fields) -> Result<f32> {
    Ok(rest(fields)? / 8.0)
}

/// Force that moves a vertex by that much in a substep \[N\].
pub(crate) fn weight(fields: &Fields) -> Result<f32> {
    Ok(grain(fields)? * mass(fields)? / (step(fields)? * step(fields)?))
}

/// Rounding of an edge vector as a pull on a vertex that is held by springs \[kg·m\].
pub(crate) fn impulse(fields: &Fields) -> Result<f32> {
    Ok(grain(fields)? * (mass(fields)? + 4.0 * stiffest(fields)? * step(fields)? * step(fields)?))
}

/// Stiffness of the stiffest spring \[N/m\].
pub(crate) fn stiffest(fields: &Fields) -> Result<f32> {
    Ok(fields.get::<Link>("springs")?.iter().fold(0.0, |most, link| most.max(link.stiffness)))
}

/// Tension of the stiffest spring at its own length \[N\].
pub(crate) fn tension(fields: &Fields) -> Result<f32> {
    Ok(fields.get::<Link>("springs")?.iter().fold(0.0, |most, link| most.max(link.rest * link.stiffness)))
}

/// Force of the air on the largest face across the wind \[N\]; a sheet along it feels the rounding of that.
pub(crate) fn gale(fields: &Fields) -> Result<f32> {
    let air = fields.one::<Air>("air")?;
    let speed = air.velocity.length() * (1.0 + air.gust) + fields.largest("velocities")?;
    Ok(0.5 * air.density * (air.drag + air.lift) * (rest(fields)? * speed).powi(2))
}

/// Largest mass of a free vertex \[kg\].
pub(crate) fn mass(fields: &Fields) -> Result<f32> {
    Ok(free(fields)?.fold(0.0, |most, inverse_mass| most.max(1.0 / inverse_mass)))
}

/// Smallest mass of a free vertex \[kg\].
pub(crate) fn lightest(fields: &Fields) -> Result<f32> {
    Ok(free(fields)?.fold(f32::MAX, |least, inverse_mass| least.min(1.0 / inverse_mass)))
}

pub(crate) fn free(fields: &Fields) -> Result<impl Iterator<Item = f32>> {
    let vertices = fields.get::<Vertex>("vertices")?;
    Ok(vertices.iter().map(|vertex| vertex.inverse_mass).filter(|inverse_mass| *inverse_mass > 0.0))
}

/// Length of the substep \[s\]; 1 before the first.
pub(crate) fn step(fields: &Fields) -> Result<f32> {
    let h = fields.one::<Clock>("clock")?.h;
    Ok(if h > 0.0 { h } else { 1.0 })
}

/// Magnitude of what enters the product of a hinge: the rounding of a rigid motion, which turns nothing.
pub(crate) fn turn(fields: &Fields) -> Result<f32> {
    let motion = fields.largest("elastic_searches")?.max(fields.largest("displacements")?);
    Ok(fields.largest("hinge_gradients")? * motion)
}

/// Magnitude of what enters a leaf of a dot product. Residuals are differences of lengths, so the rounding of a rest
/// length enters them; 4 stands for 64 terms whose errors do not all point the same way.
pub(crate) fn terms(fields: &Fields) -> Result<f32> {
    let curvature = fields.largest("searches")? * fields.largest("products")?;
    let energy = rest(fields)? * fields.largest("preconditioned")?.max(fields.largest("residuals")?);
    let elastic = impulse(fields)? * fields.largest("elastic_searches")?.max(fields.largest("elastic_residuals")?);
    Ok(4.0 * curvature.max(energy).max(elastic))
}
