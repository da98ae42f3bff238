//! Which vertex is under a pointer.

use glam::{Vec2, Vec3};

use super::Camera;

/// The vertex under a pointer, which is told as [`Camera::project`] counts: a corner of the nearest triangle there, or
/// what is within `tolerance` (a part of the height of the picture) of it.
///
/// `triangles` are those of [`crate::Mesh::triangles`], `positions` where the vertices are \[m\], `aspect` is width
/// over height of the picture. Corners that are not among the positions are left out.
///
/// ```
/// use taut::render::{Studio, pick};
/// use taut::scene;
///
/// let sheet = scene::sheet(11)?;
/// let camera = Studio::of(&sheet).camera([640, 480]);
/// let pointer = camera.project(sheet.start[60], 640.0 / 480.0).expect("in front of the camera");
/// let triangles = sheet.mesh.triangles();
/// assert_eq!(pick(&triangles, &sheet.start, &camera, pointer, 640.0 / 480.0, 0.02), Some(60));
/// # Ok::<(), taut::Error>(())
/// ```
pub fn pick(
    triangles: &[[u32; 3]],
    positions: &[[f32; 3]],
    camera: &Camera,
    pointer: [f32; 2],
    aspect: f32,
    tolerance: f32,
) -> Option<u32> {
    let (origin, direction) = camera.ray(pointer, aspect);
    let (origin, direction) = (Vec3::from(origin), Vec3::from(direction));
    let at = |vertex: u32| positions.get(vertex as usize).map_or(Vec3::NAN, |place| Vec3::from(*place));
    let hits = triangles.iter().filter_map(|corners| Some((hit(origin, direction, corners.map(at))?, corners)));
    if let Some((along, corners)) = hits.min_by(|one, other| one.0.total_cmp(&other.0)) {
        let point = origin + along * direction;
        let nearest = |one: &&u32, other: &&u32| at(**one).distance(point).total_cmp(&at(**other).distance(point));
        return corners.iter().min_by(nearest).copied();
    }
    let distance = |(place, vertex): (&[f32; 3], u32)| {
        let [x, y] = camera.project(*place, aspect)?;
        let away = Vec2::new((x - pointer[0]) * aspect, y - pointer[1]).length();
        (away <= tolerance).then_some((away, vertex))
    };
    let near = positions.iter().zip(0..).filter_map(distance);
    near.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, vertex)| vertex)
}

/// Where a ray meets a triangle (Möller and Trumbore 1997), from either side.
fn hit(origin: Vec3, direction: Vec3, [a, b, c]: [Vec3; 3]) -> Option<f32> {
    let (ab, ac) = (b - a, c - a);
    let across = direction.cross(ac);
    let scale = ab.dot(across).recip();
    let from = origin - a;
    let u = scale * from.dot(across);
    let q = from.cross(ab);
    let v = scale * direction.dot(q);
    let along = scale * ac.dot(q);
    // A comparison with NaN is false: a triangle seen from its edge is not met.
    (u >= 0.0 && v >= 0.0 && u + v <= 1.0 && along > 0.0).then_some(along)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene;

    #[test]
    fn the_vertex_under_the_pointer_is_picked() {
        let sheet = scene::sheet(11).unwrap();
        let triangles = sheet.mesh.triangles();
        let camera = Camera { eye: [0.5, 3.0, 0.5], target: [0.5, 0.0, 0.5], up: [0.0, 0.0, -1.0], fov: 0.8 };
        for vertex in [0, 7, 60, 120] {
            let pointer = camera.project(sheet.start[vertex as usize], 1.5).unwrap();
            assert_eq!(pick(&triangles, &sheet.start, &camera, pointer, 1.5, 0.02), Some(vertex));
        }
        assert_eq!(pick(&triangles, &sheet.start, &camera, [0.01, 0.01], 1.5, 0.02), None);
        // Of two sheets the nearer one.
        let mut folded = sheet.start.clone();
        folded[60] = [0.5, 1.0, 0.5];
        assert_eq!(pick(&triangles, &folded, &camera, [0.5, 0.5], 1.5, 0.02), Some(60));
        // Triangles of a larger mesh meet nothing where there are no positions.
        assert_eq!(pick(&triangles, &[], &camera, [0.5, 0.5], 1.5, 0.02), None);
    }

    #[test]
    fn chains_are_picked_near_their_vertices() {
        let chain = scene::chain(5).unwrap();
        let camera = Camera { eye: [0.5, 0.0, 3.0], target: [0.5, 0.0, 0.0], up: [0.0, 1.0, 0.0], fov: 0.8 };
        let [x, y] = camera.project(chain.start[3], 1.0).unwrap();
        let pick = |pointer| pick(&[], &chain.start, &camera, pointer, 1.0, 0.02);
        assert_eq!(pick([x, y + 0.015]), Some(3));
        assert_eq!(pick([x, y + 0.03]), None);
    }
}
