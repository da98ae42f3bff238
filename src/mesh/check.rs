//! What a description of a cloth must satisfy.

use super::links::ends;
use super::{EdgeOverride, Face};
use crate::error::{Error, Result};
use crate::mesh::FARTHEST;

/// Lengths whose square is a normal `f32`, also on devices that flush subnormal numbers to zero.
pub(super) const SHORTEST: f32 = 1e-18;
/// Masses whose reciprocal is a normal `f32`, with room for products.
pub(super) const LIGHTEST: f32 = 1e-30;
const HEAVIEST: f32 = 1e30;
/// Faces and lines that may meet at a vertex.
const MOST_DEGREE: u32 = 4096;

pub(super) fn check(
    field: &'static str,
    index: Option<usize>,
    value: f32,
    allowed: std::ops::RangeInclusive<f32>,
    expected: &'static str,
) -> Result<()> {
    if allowed.contains(&value) {
        Ok(())
    } else {
        Err(Error::OutOfRange { field, index, value: value.into(), expected })
    }
}

pub(super) fn check_positions(positions: &[[f32; 3]]) -> Result<()> {
    if positions.is_empty() {
        return Err(Error::Empty { field: "positions" });
    }
    check_counts(positions.len(), 0)?;
    for (index, position) in positions.iter().enumerate() {
        for &coordinate in position {
            if !coordinate.is_finite() {
                return Err(Error::NotFinite { field: "positions", index });
            }
            let allowed = -FARTHEST..=FARTHEST;
            check("positions", Some(index), coordinate, allowed, "within ±2⁴⁰ m")?;
        }
    }
    Ok(())
}

/// An incidence list holds `vertex_count + 1` offsets and up to four words per link; an offset must fit
/// a `u32`, and so must an entry, `2 × link + 1`.
pub(super) fn check_counts(vertex_count: usize, link_count: usize) -> Result<()> {
    let (vertices, links) = (vertex_count as u64, link_count as u64);
    let too_many =
        |field, count: u64, expected| Err(Error::OutOfRange { field, index: None, value: count as f64, expected });
    if vertices > u64::from(u32::MAX / 2) {
        return too_many("vertex count", vertices, "at most 2147483647");
    }
    if vertices + 1 + 4 * links > u64::from(u32::MAX) {
        let expected = "so few that vertices + 4 × links is below 2³² − 1";
        return too_many("link count", links, expected);
    }
    Ok(())
}

/// Edges at one vertex are moved one after another, each by dispatches of its own.
pub(super) fn check_degrees(vertex_count: usize, faces: &[Face], lines: &[u64]) -> Result<()> {
    let mut degrees = vec![0_u32; vertex_count];
    let ends = lines.iter().flat_map(|line| ends(*line));
    for vertex in faces.iter().flat_map(|face| face.vertices().iter().copied()).chain(ends) {
        degrees[vertex as usize] += 1;
    }
    match degrees.iter().position(|degree| *degree > MOST_DEGREE) {
        Some(vertex) => Err(Error::Degree { vertex: vertex as u32, degree: degrees[vertex], most: MOST_DEGREE }),
        None => Ok(()),
    }
}

pub(super) fn check_vertices(field: &'static str, index: usize, vertices: &[u32], count: usize) -> Result<()> {
    for (place, &vertex) in vertices.iter().enumerate() {
        if vertex as usize >= count {
            return Err(Error::IndexOutOfRange { field, index, value: vertex, count });
        }
        if vertices[..place].contains(&vertex) {
            return Err(Error::RepeatedVertex { field, index, vertex });
        }
    }
    Ok(())
}

pub(super) fn check_duplicate_faces(faces: &[Face]) -> Result<()> {
    let mut keys: Vec<([u32; 4], usize)> = Vec::with_capacity(faces.len());
    for (index, face) in faces.iter().enumerate() {
        // No vertex has the number that pads a triangle: check_counts.
        let mut key = [u32::MAX; 4];
        key[..face.vertices().len()].copy_from_slice(face.vertices());
        key.sort_unstable();
        keys.push((key, index));
    }
    keys.sort_unstable();
    let duplicates = keys.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    match duplicates.map(|pair| (pair[1].1, pair[0].1)).min() {
        Some((index, first)) => Err(Error::DuplicateFace { index, first }),
        None => Ok(()),
    }
}

pub(super) fn check_overrides(overrides: &[EdgeOverride], count: usize) -> Result<()> {
    for (index, change) in overrides.iter().enumerate() {
        check_vertices("overrides", index, &change.ends, count)?;
        change.kind.check(index)?;
        if let Some(rest) = change.rest {
            let expected = "between 1e-18 and 2⁴⁰ m";
            check("overrides.rest", Some(index), rest, SHORTEST..=FARTHEST, expected)?;
        }
    }
    Ok(())
}

pub(super) fn check_masses(masses: Vec<f32>, count: usize) -> Result<Vec<f32>> {
    if masses.len() != count {
        return Err(Error::LengthMismatch { field: "mass", expected: count, found: masses.len() });
    }
    for (index, &mass) in masses.iter().enumerate() {
        check_mass(index, mass)?;
    }
    Ok(masses)
}

pub(super) fn check_mass(index: usize, mass: f32) -> Result<()> {
    check("mass", Some(index), mass, LIGHTEST..=HEAVIEST, "between 1e-30 and 1e30 kg")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_must_fit_incidence() {
        assert!(check_counts(u32::MAX as usize / 2, 0).is_ok());
        let vertices = check_counts(u32::MAX as usize / 2 + 1, 0);
        assert!(matches!(vertices, Err(Error::OutOfRange { field: "vertex count", .. })));
        assert!(check_counts(10, (u32::MAX as usize - 11) / 4).is_ok());
        let links = check_counts(10, (u32::MAX as usize - 11) / 4 + 1);
        assert!(matches!(links, Err(Error::OutOfRange { field: "link count", .. })));
    }
}
