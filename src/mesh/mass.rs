//! Lumped masses from a density.

use glam::DVec3;

use super::Face;
use super::check::{LIGHTEST, check, check_mass};
use super::swatch::{DENSITIES, DENSITIES_TOLD, Fabrics};
use crate::error::{Error, Result};

pub(super) fn point(positions: &[[f32; 3]], vertex: u32) -> DVec3 {
    DVec3::from_array(positions[vertex as usize].map(f64::from))
}

/// Masses from a density; see [`Mass::Density`].
pub(super) fn lump(
    positions: &[[f32; 3]],
    faces: &[Face],
    lines: &[[u32; 2]],
    density: f32,
    fabrics: &Fabrics,
    pins: &[u32],
) -> Result<Vec<f32>> {
    check("mass.density", None, density, DENSITIES, DENSITIES_TOLD)?;
    let mut extents = vec![0.0_f64; positions.len()];
    for (index, face) in faces.iter().enumerate() {
        let weight = fabrics.weight(index);
        match *face {
            Face::Triangle(triangle) => {
                let [a, b, c] = triangle.map(|vertex| point(positions, vertex));
                let third = weight * ((b - a).cross(c - a).length() / 6.0);
                triangle.iter().for_each(|&vertex| extents[vertex as usize] += third);
            }
            Face::Quad(quad) => {
                let shares = quad_shares(quad.map(|vertex| point(positions, vertex)));
                for (vertex, share) in quad.into_iter().zip(shares) {
                    extents[vertex as usize] += weight * share;
                }
            }
        }
    }
    for line in lines {
        let half = point(positions, line[0]).distance(point(positions, line[1])) / 2.0;
        line.iter().for_each(|&vertex| extents[vertex as usize] += half);
    }
    let mut masses = Vec::with_capacity(extents.len());
    for (index, extent) in extents.into_iter().enumerate() {
        let mass = (f64::from(density) * extent) as f32;
        let pinned = || pins.binary_search(&(index as u32)).is_ok();
        if mass >= LIGHTEST {
            check_mass(index, mass)?;
            masses.push(mass);
        } else if pinned() {
            masses.push(0.0);
        } else {
            return Err(Error::MasslessVertex { index });
        }
    }
    Ok(masses)
}

/// The areas of the four parts into which the lines between the middles of opposite sides cut a
/// quad, projected along its mean normal, m².
fn quad_shares(corners: [DVec3; 4]) -> [f64; 4] {
    let [a, b, c, d] = corners;
    let twice = (c - a).cross(d - b);
    let area = twice.length() / 2.0;
    let normal = twice.normalize_or_zero();
    let center = (a + b + c + d) / 4.0;
    let shares = [(d, a, b), (a, b, c), (b, c, d), (c, d, a)].map(|(previous, corner, next)| {
        // Half the cross product of the part's diagonals; the second is half of previous − next.
        normal.dot((center - corner).cross(previous - next)) / 4.0
    });
    if shares.iter().all(|&share| share > 0.0) { shares } else { [area / 4.0; 4] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_trapezium_follow_its_shape() {
        // Height 1, parallel sides 2 and 1: area 1.5, the middle line is 1.5 long.
        let corners = [[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let shares = quad_shares(corners.map(|[x, y]| DVec3::new(x, y, 0.0)));
        let expected = [0.4375, 0.4375, 0.3125, 0.3125];
        for (share, expected) in shares.into_iter().zip(expected) {
            assert!((share - expected).abs() < 1e-15, "{shares:?}");
        }
    }

    #[test]
    fn a_very_concave_quad_shares_equally() {
        let corners = [[0.0, 0.0], [1.0, 0.0], [0.01, 0.01], [0.0, 1.0]];
        let shares = quad_shares(corners.map(|[x, y]| DVec3::new(x, y, 0.0)));
        assert!(shares.iter().all(|&share| (share - 0.0025).abs() < 1e-15), "{shares:?}");
    }
}
