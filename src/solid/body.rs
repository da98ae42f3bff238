//! Closed triangle meshes as obstacles.

use glam::DVec3;

use crate::error::{Error, Result};
use crate::mesh::Face;

/// Lengths whose square is a normal `f32`, also on devices that flush subnormal numbers to zero.
const FARTHEST: f32 = 1e18;

/// A solid body: a closed triangle mesh whose triangles are counter-clockwise seen from outside.
///
/// It may have several parts; where they overlap, the body is their union. A cavity is no part of
/// its own: its surface would face inward. Triangles without area are harmless, and so are vertices
/// that no triangle names.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    positions: Vec<[f32; 3]>,
    triangles: Vec<[u32; 3]>,
}

impl Body {
    /// The body with these vertices, m, and these triangles.
    ///
    /// # Errors
    ///
    /// [`Error::Empty`], [`Error::NotFinite`], [`Error::OutOfRange`], [`Error::IndexOutOfRange`] and
    /// [`Error::RepeatedVertex`] for lists that are no mesh; [`Error::OpenEdge`],
    /// [`Error::NonManifoldEdge`] and [`Error::FlippedEdge`] for a mesh that is no closed surface, of the
    /// first edge in the order of its vertices; [`Error::Inverted`] for a part of the surface that
    /// encloses no positive volume.
    pub fn new(positions: Vec<[f32; 3]>, triangles: Vec<[u32; 3]>) -> Result<Self> {
        check_positions(&positions)?;
        check_triangles(&triangles, positions.len())?;
        let body = Self { positions, triangles };
        let parts = body.parts()?;
        body.check_volumes(&parts)?;
        Ok(body)
    }

    /// The body with these faces: a quad is cut from its first corner.
    ///
    /// # Errors
    ///
    /// As [`Body::new`].
    pub fn of_faces(positions: Vec<[f32; 3]>, faces: &[Face]) -> Result<Self> {
        let mut triangles = Vec::with_capacity(2 * faces.len());
        for face in faces {
            match *face {
                Face::Triangle(corners) => triangles.push(corners),
                Face::Quad([a, b, c, d]) => triangles.extend([[a, b, c], [a, c, d]]),
            }
        }
        Self::new(positions, triangles)
    }

    /// A body that is known to satisfy what [`Body::new`] checks.
    pub(super) fn trusted(positions: Vec<[f32; 3]>, triangles: Vec<[u32; 3]>) -> Self {
        Self { positions, triangles }
    }

    /// The vertices, m.
    pub fn positions(&self) -> &[[f32; 3]] {
        &self.positions
    }

    /// The triangles, counter-clockwise seen from outside.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// The corners of a triangle, m.
    pub(super) fn corners(&self, triangle: [u32; 3]) -> [DVec3; 3] {
        triangle.map(|vertex| DVec3::from_array(self.positions[vertex as usize].map(f64::from)))
    }

    /// The lowest and the highest corner of the box around all triangles, m.
    pub(super) fn bounds(&self) -> (DVec3, DVec3) {
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for &triangle in &self.triangles {
            for corner in self.corners(triangle) {
                low = low.min(corner);
                high = high.max(corner);
            }
        }
        (low, high)
    }

    /// For each triangle the first triangle of its part; parts hang together by edges.
    fn parts(&self) -> Result<Vec<u32>> {
        let mut sides = Vec::with_capacity(3 * self.triangles.len());
        for (index, &[a, b, c]) in self.triangles.iter().enumerate() {
            for (tail, head) in [(a, b), (b, c), (c, a)] {
                sides.push((tail.min(head), tail.max(head), tail < head, index as u32));
            }
        }
        sides.sort_unstable();
        let mut parents: Vec<u32> = (0..self.triangles.len() as u32).collect();
        for edge in sides.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            let (a, b) = (edge[0].0, edge[0].1);
            match *edge {
                [_] => return Err(Error::OpenEdge { a, b }),
                [(.., one, _), (.., other, _)] if one == other => return Err(Error::FlippedEdge { a, b }),
                [(.., first), (.., second)] => join(&mut parents, first, second),
                _ => return Err(Error::NonManifoldEdge { a, b, count: edge.len() }),
            }
        }
        Ok((0..self.triangles.len() as u32).map(|triangle| root(&mut parents, triangle)).collect())
    }

    fn check_volumes(&self, parts: &[u32]) -> Result<()> {
        let mut volumes = vec![0.0_f64; parts.len()];
        for (&triangle, &part) in self.triangles.iter().zip(parts) {
            // Seen from a corner of its own part, so that a body far from the origin loses no digits.
            let [center, ..] = self.corners(self.triangles[part as usize]);
            let [a, b, c] = self.corners(triangle).map(|corner| corner - center);
            volumes[part as usize] += a.dot(b.cross(c)) / 6.0;
        }
        for (triangle, (&volume, &part)) in volumes.iter().zip(parts).enumerate() {
            if part as usize == triangle && volume <= 0.0 {
                return Err(Error::Inverted { triangle, volume });
            }
        }
        Ok(())
    }
}

fn check_positions(positions: &[[f32; 3]]) -> Result<()> {
    if positions.is_empty() {
        return Err(Error::Empty { field: "positions" });
    }
    for (index, position) in positions.iter().enumerate() {
        for &coordinate in position {
            if !coordinate.is_finite() {
                return Err(Error::NotFinite { field: "positions", index });
            }
            if coordinate.abs() > FARTHEST {
                let (value, expected) = (coordinate.into(), "within ±1e18 m");
                return Err(Error::OutOfRange { field: "positions", index: Some(index), value, expected });
            }
        }
    }
    Ok(())
}

fn check_triangles(triangles: &[[u32; 3]], count: usize) -> Result<()> {
    let field = "triangles";
    if triangles.is_empty() {
        return Err(Error::Empty { field });
    }
    // The highest number stands for no triangle.
    if triangles.len() as u64 >= u64::from(u32::MAX) {
        let (value, expected) = (triangles.len() as f64, "at most 4294967294");
        return Err(Error::OutOfRange { field: "triangle count", index: None, value, expected });
    }
    for (index, &[a, b, c]) in triangles.iter().enumerate() {
        for value in [a, b, c] {
            if value as usize >= count {
                return Err(Error::IndexOutOfRange { field, index, value, count });
            }
        }
        if a == b || a == c {
            return Err(Error::RepeatedVertex { field, index, vertex: a });
        }
        if b == c {
            return Err(Error::RepeatedVertex { field, index, vertex: b });
        }
    }
    Ok(())
}

/// The first triangle of the part, as far as parts are joined yet.
fn root(parents: &mut [u32], triangle: u32) -> u32 {
    let mut place = triangle as usize;
    while parents[place] as usize != place {
        // Halving the path keeps later walks short.
        parents[place] = parents[parents[place] as usize];
        place = parents[place] as usize;
    }
    place as u32
}

fn join(parents: &mut [u32], one: u32, other: u32) {
    let (one, other) = (root(parents, one), root(parents, other));
    parents[one.max(other) as usize] = one.min(other);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solid::judge;

    const CORNERS: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    const FACES: [[u32; 3]; 4] = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];

    fn refusal(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> Error {
        Body::new(positions.to_vec(), triangles.to_vec()).unwrap_err()
    }

    #[test]
    fn a_tetrahedron_is_a_body() {
        let body = Body::new(CORNERS.to_vec(), FACES.to_vec()).unwrap();
        assert_eq!(body.bounds(), (DVec3::ZERO, DVec3::ONE));
        assert_eq!(body.triangles(), FACES);
    }

    #[test]
    fn lists_that_are_no_mesh_are_refused() {
        assert!(matches!(refusal(&[], &FACES), Error::Empty { field: "positions" }));
        assert!(matches!(refusal(&CORNERS, &[]), Error::Empty { field: "triangles" }));
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut positions = CORNERS;
            positions[2][1] = bad;
            assert!(matches!(refusal(&positions, &FACES), Error::NotFinite { field: "positions", index: 2 }));
        }
        let mut positions = CORNERS;
        positions[3][2] = 2e18;
        assert!(matches!(refusal(&positions, &FACES), Error::OutOfRange { field: "positions", index: Some(3), .. }));
        let mut triangles = FACES;
        triangles[1][2] = 4;
        let error = refusal(&CORNERS, &triangles);
        assert!(matches!(error, Error::IndexOutOfRange { field: "triangles", index: 1, value: 4, count: 4 }));
        for triangle in [[2, 2, 1], [2, 1, 2], [1, 2, 2]] {
            triangles = FACES;
            triangles[0] = triangle;
            let error = refusal(&CORNERS, &triangles);
            assert!(matches!(error, Error::RepeatedVertex { field: "triangles", index: 0, vertex: 2 }), "{error}");
        }
    }

    #[test]
    fn an_open_surface_names_its_first_open_edge() {
        assert!(matches!(refusal(&CORNERS, &FACES[..3]), Error::OpenEdge { a: 1, b: 2 }));
        assert!(matches!(refusal(&CORNERS, &FACES[1..]), Error::OpenEdge { a: 0, b: 1 }));
    }

    #[test]
    fn a_triangle_that_faces_inward_is_found_at_its_first_edge() {
        let mut triangles = FACES;
        triangles[3] = [1, 3, 2];
        assert!(matches!(refusal(&CORNERS, &triangles), Error::FlippedEdge { a: 1, b: 2 }));
    }

    #[test]
    fn an_edge_of_four_triangles_is_refused() {
        // A second tetrahedron on the edge 0-1 of the first.
        let positions = [&CORNERS[..], &[[0.0, -1.0, 0.0], [0.0, 0.0, -1.0]]].concat();
        let other = FACES.map(|triangle| triangle.map(|vertex| [0, 1, 4, 5][vertex as usize]));
        let error = refusal(&positions, &[FACES, other].concat());
        assert!(matches!(error, Error::NonManifoldEdge { a: 0, b: 1, count: 4 }), "{error}");
        let twice = refusal(&CORNERS, &[FACES, FACES].concat());
        assert!(matches!(twice, Error::NonManifoldEdge { a: 0, b: 1, count: 4 }), "{twice}");
    }

    #[test]
    fn every_part_must_face_outward() {
        let inverted = FACES.map(|[a, b, c]| [a, c, b]);
        let error = refusal(&CORNERS, &inverted);
        assert!(matches!(error, Error::Inverted { triangle: 0, volume } if (volume + 1.0 / 6.0).abs() < 1e-15));

        // Twice as large, so that the volume of both parts together is positive.
        let large = CORNERS.map(|position| position.map(|coordinate| 4.0 + 2.0 * coordinate));
        let positions = [large, CORNERS].concat();
        let second = inverted.map(|triangle| triangle.map(|vertex| vertex + 4));
        let error = refusal(&positions, &[FACES, second].concat());
        assert!(matches!(error, Error::Inverted { triangle: 4, volume } if (volume + 1.0 / 6.0).abs() < 1e-15));

        let second = FACES.map(|triangle| triangle.map(|vertex| vertex + 4));
        assert!(Body::new(positions, [FACES, second].concat()).is_ok());
    }

    #[test]
    fn a_part_that_touches_another_in_one_vertex_is_a_part_of_its_own() {
        let positions = [&CORNERS[..], &[[-3.0, 0.0, 0.0], [0.0, -3.0, 0.0], [0.0, 0.0, -3.0]]].concat();
        // The mirror image of the first part, three times as large, with the same order of vertices.
        let second = FACES.map(|triangle| triangle.map(|vertex| [0, 4, 5, 6][vertex as usize]));
        let error = refusal(&positions, &[FACES, second].concat());
        assert!(matches!(error, Error::Inverted { triangle: 4, volume } if (volume + 4.5).abs() < 1e-14), "{error}");
    }

    #[test]
    fn a_flat_surface_encloses_nothing() {
        let error = refusal(&CORNERS[..3], &[[0, 1, 2], [0, 2, 1]]);
        assert!(matches!(error, Error::Inverted { triangle: 0, volume: 0.0 }));
    }

    #[test]
    fn a_small_body_far_away_is_still_oriented() {
        let far = CORNERS.map(|position| position.map(|coordinate| 1e6 + coordinate));
        assert!(Body::new(far.to_vec(), FACES.to_vec()).is_ok());
    }

    #[test]
    fn triangles_without_area_are_tolerated() {
        let body = judge::split_tetrahedron();
        let flat = body.triangles().iter().filter(|&&triangle| {
            let [a, b, c] = body.corners(triangle);
            (b - a).cross(c - a).length() == 0.0
        });
        assert_eq!(flat.count(), 3);
    }
}
