//! Texture coordinates and tangents: what a material needs beside positions and normals, and what does not change while
//! cloth moves.
//!
//! A tangent of world space is of no use to cloth: it is another one in every frame. A [`Tangent`] says instead how it
//! lies to a side of the mesh, which the vertex shader knows in every frame. Bind the positions as `storage, read`:
//!
//! ```wgsl
//! struct Tangent { neighbor: u32, along: f32, across: f32, handedness: f32 }
//!
//! fn tangent_of(t: Tangent, position: vec3<f32>, n: vec3<f32>) -> vec3<f32> {
//!     let side = positions[t.neighbor].xyz - position;
//!     let e = normalize(side - dot(side, n) * n);
//!     return t.along * e + t.across * cross(n, e); // the bitangent is t.handedness * cross(n, tangent)
//! }
//! ```

use glam::{DVec2, DVec3};

use crate::error::{Error, Result};

/// How the tangent of a vertex lies to one of its sides: 16 bytes, for a static vertex buffer (`Uint32`, `Float32x3`).
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Tangent {
    /// The vertex at the other end of the side.
    pub neighbor: u32,
    /// Part of the tangent along the side, as it lies in the plane of the normal.
    pub along: f32,
    /// Part across it: along normal × side.
    pub across: f32,
    /// 1 or −1: the bitangent, towards which the second texture coordinate grows, is this times normal × tangent.
    pub handedness: f32,
}

impl Tangent {
    /// The tangent of a vertex at `position` with this normal and its neighbor at `neighbor`, and the handedness; zero
    /// where the side has no direction.
    pub fn at(&self, position: [f32; 3], normal: [f32; 3], neighbor: [f32; 3]) -> [f32; 4] {
        let n = wide(normal);
        let side = wide(neighbor) - wide(position);
        let e = (side - side.dot(n) * n).normalize_or_zero();
        let tangent = f64::from(self.along) * e + f64::from(self.across) * n.cross(e);
        tangent.as_vec3().extend(self.handedness).to_array()
    }
}

/// Texture coordinates of a shape that is nearly flat, one per position: it is looked at along its mean normal, and
/// fits into the unit square without being distorted. The first coordinate grows along x, or along z or y where x is
/// more across the shape. As wgpu and glTF count, the second grows downwards where one sees the front.
///
/// ```
/// use taut::scene;
///
/// let sheet = scene::sheet(5)?;
/// let uvs = taut::planar_uvs(sheet.mesh.positions(), &sheet.mesh.triangles())?;
/// assert_eq!(uvs.len(), 25);
/// assert!(uvs.iter().flatten().all(|x| (0.0..=1.0).contains(x)));
/// # Ok::<(), taut::Error>(())
/// ```
///
/// # Errors
/// [`Error::IndexOutOfRange`] for a corner, [`Error::NotFinite`] for a position.
pub fn planar_uvs(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> Result<Vec<[f32; 2]>> {
    check(positions, triangles)?;
    let points: Vec<DVec3> = positions.iter().copied().map(wide).collect();
    let sum: DVec3 = triangles.iter().map(|corners| area(&points, *corners)).sum();
    let normal = sum.try_normalize().unwrap_or(DVec3::Y);
    let axes = [DVec3::X, DVec3::Z, DVec3::Y];
    let axis = axes.into_iter().min_by(|a, b| normal.dot(*a).abs().total_cmp(&normal.dot(*b).abs()));
    let across = axis.unwrap_or(DVec3::X);
    let u = (across - across.dot(normal) * normal).normalize();
    let v = u.cross(normal);
    let flat: Vec<DVec2> = points.iter().map(|point| DVec2::new(point.dot(u), point.dot(v))).collect();
    let least = flat.iter().copied().reduce(DVec2::min).unwrap_or_default();
    let most = flat.iter().copied().reduce(DVec2::max).unwrap_or_default();
    let extent = (most - least).max_element();
    let scale = if extent > 0.0 { 1.0 / extent } else { 0.0 };
    Ok(flat.iter().map(|point| ((*point - least) * scale).as_vec2().min(glam::Vec2::ONE).to_array()).collect())
}

/// Tangents of vertices with texture coordinates, as the surface has them at these positions: the direction in which
/// the first coordinate grows, summed over the triangles at a vertex by their areas, in the plane of its normal. Where
/// no triangle has an area in the texture, any direction is as good.
///
/// These are simple per-vertex tangents, not those of MikkTSpace: split vertices at seams of the texture, as
/// [`crate::io`] does where it imports; there `positions` are those of the particles that the vertices follow.
///
/// # Errors
/// [`Error::LengthMismatch`] for texture coordinates, [`Error::IndexOutOfRange`] for a corner, [`Error::NotFinite`].
pub fn tangents(positions: &[[f32; 3]], triangles: &[[u32; 3]], uvs: &[[f32; 2]]) -> Result<Vec<Tangent>> {
    check(positions, triangles)?;
    if uvs.len() != positions.len() {
        return Err(Error::LengthMismatch { field: "uvs", expected: positions.len(), found: uvs.len() });
    }
    if let Some(index) = uvs.iter().position(|uv| !uv.iter().all(|x| x.is_finite())) {
        return Err(Error::NotFinite { field: "uvs", index });
    }
    let points: Vec<DVec3> = positions.iter().copied().map(wide).collect();
    let mut normals = vec![DVec3::ZERO; points.len()];
    let mut along = vec![[DVec3::ZERO; 2]; points.len()];
    for corners in triangles {
        let [a, b, c] = corners.map(|corner| corner as usize);
        let weighted = area(&points, *corners);
        let place = |vertex: usize| DVec2::from_array(uvs[vertex].map(f64::from));
        let (first, second) = (points[b] - points[a], points[c] - points[a]);
        let (p, q) = (place(b) - place(a), place(c) - place(a));
        // Gradients of the coordinates, up to the size of the triangle in the texture.
        let sign = p.perp_dot(q).signum() * if p.perp_dot(q) == 0.0 { 0.0 } else { 1.0 };
        let u = sign * weighted.length() * (first * q.y - second * p.y).normalize_or_zero();
        let v = sign * weighted.length() * (second * p.x - first * q.x).normalize_or_zero();
        for vertex in [a, b, c] {
            normals[vertex] += weighted;
            along[vertex] = [along[vertex][0] + u, along[vertex][1] + v];
        }
    }
    let mut tangents: Vec<Tangent> =
        (0..points.len()).map(|vertex| Tangent { neighbor: vertex as u32, ..Tangent::default() }).collect();
    let mut best = vec![-1.0; points.len()];
    for corners in triangles {
        for (vertex, neighbor) in
            (0..3).flat_map(|k| [(corners[k], corners[(k + 1) % 3]), (corners[(k + 1) % 3], corners[k])])
        {
            let (v, other) = (vertex as usize, neighbor as usize);
            let n = normals[v].normalize_or_zero();
            let flat = |vector: DVec3| (vector - vector.dot(n) * n).normalize_or_zero();
            let e = flat(points[other] - points[v]);
            let tangent = flat(along[v][0]);
            let tangent = if tangent == DVec3::ZERO { e } else { tangent };
            // The side that is most nearly parallel: shear then turns the tangent least.
            let parallel = tangent.dot(e).abs();
            if e != DVec3::ZERO && parallel > best[v] {
                best[v] = parallel;
                let mirrored = n.cross(tangent).dot(along[v][1]) < 0.0;
                tangents[v] = Tangent {
                    neighbor,
                    along: tangent.dot(e) as f32,
                    across: tangent.dot(n.cross(e)) as f32,
                    handedness: if mirrored { -1.0 } else { 1.0 },
                };
            }
        }
    }
    Ok(tangents)
}

fn wide(vector: [f32; 3]) -> DVec3 {
    DVec3::from_array(vector.map(f64::from))
}

/// Normal of a triangle, as long as twice its area.
fn area(points: &[DVec3], corners: [u32; 3]) -> DVec3 {
    let [a, b, c] = corners.map(|corner| points[corner as usize]);
    (b - a).cross(c - a)
}

fn check(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> Result<()> {
    if let Some(index) = positions.iter().position(|position| !position.iter().all(|x| x.is_finite())) {
        return Err(Error::NotFinite { field: "positions", index });
    }
    let count = positions.len();
    for (index, corners) in triangles.iter().enumerate() {
        if let Some(value) = corners.iter().copied().find(|corner| *corner as usize >= count) {
            return Err(Error::IndexOutOfRange { field: "triangles", index, value, count });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square of 2 m in the plane z = 0, seen from +z.
    const SQUARE: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 2.0, 0.0], [0.0, 2.0, 0.0]];
    const FRONT: [[u32; 3]; 2] = [[0, 1, 2], [0, 2, 3]];

    #[test]
    fn a_square_fills_its_texture_upright() {
        let uvs = planar_uvs(&SQUARE, &FRONT).unwrap();
        assert_eq!(uvs, [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]);
        // Half as high: not distorted.
        let low = SQUARE.map(|[x, y, z]| [x, 0.5 * y, z]);
        assert_eq!(planar_uvs(&low, &FRONT).unwrap()[3], [0.0, 0.0]);
        assert_eq!(planar_uvs(&low, &FRONT).unwrap()[1], [1.0, 0.5]);
        assert!(planar_uvs(&[], &[]).unwrap().is_empty());
    }

    #[test]
    fn tangents_follow_the_cloth_and_its_texture() {
        let uvs = planar_uvs(&SQUARE, &FRONT).unwrap();
        let close = |found: [f32; 4], expected: [f32; 4]| found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        let mirrored: Vec<[f32; 2]> = uvs.iter().map(|[u, v]| [1.0 - u, *v]).collect();
        let turned: Vec<[f32; 2]> = uvs.iter().map(|[u, v]| [*v, *u]).collect();
        // Bitangents go down with v, so that the first is left-handed.
        let cases = [(uvs, [1.0, 0.0, 0.0, -1.0]), (mirrored, [-1.0, 0.0, 0.0, 1.0]), (turned, [0.0, -1.0, 0.0, 1.0])];
        for (uvs, expected) in cases {
            let found = tangents(&SQUARE, &FRONT, &uvs).unwrap();
            for (vertex, tangent) in found.iter().enumerate() {
                let other = tangent.neighbor as usize;
                let here = tangent.at(SQUARE[vertex], [0.0, 0.0, 1.0], SQUARE[other]);
                assert!(close(here, expected), "{here:?} {expected:?}");
                // A quarter of a turn about y: x becomes −z, z becomes x.
                let [a, b] = [SQUARE[vertex], SQUARE[other]].map(|[x, y, z]| [z, y, -x]);
                let [x, y, z, w] = expected;
                let there = tangent.at(a, [1.0, 0.0, 0.0], b);
                assert!(close(there, [z, y, -x, w]), "{there:?}");
            }
        }
    }

    #[test]
    fn what_has_no_texture_has_some_tangent_and_bad_lists_are_refused() {
        let found = tangents(&SQUARE, &FRONT, &[[0.0; 2]; 4]).unwrap();
        assert!(found.iter().all(|tangent| (tangent.along - 1.0).abs() < 1e-6), "{found:?}");
        assert!(matches!(tangents(&SQUARE, &FRONT, &[]), Err(Error::LengthMismatch { field: "uvs", .. })));
        assert!(matches!(tangents(&SQUARE, &[[0, 1, 9]], &[[0.0; 2]; 4]), Err(Error::IndexOutOfRange { .. })));
        assert!(matches!(tangents(&SQUARE, &FRONT, &[[f32::NAN; 2]; 4]), Err(Error::NotFinite { .. })));
        assert!(matches!(planar_uvs(&[[f32::NAN; 3]], &[]), Err(Error::NotFinite { .. })));
    }
}
