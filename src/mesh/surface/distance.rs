//! Distances of points, segments and triangles, squared \[m²\], in f64.
//!
//! Each is the least distance to points that are certainly of both, so that rounding where triangles are thin or
//! segments parallel can only take a worse one of them: a fixed point for parallel segments would overstate the
//! distance.

use glam::DVec3;

pub(super) fn point_triangle(point: DVec3, [a, b, c]: [DVec3; 3]) -> f64 {
    let sides = [[a, b], [b, c], [c, a]].map(|side| point_segment(point, side));
    let least = sides[0].min(sides[1]).min(sides[2]);
    let (ab, ac) = (b - a, c - a);
    let normal = ab.cross(ac);
    let area = normal.length_squared();
    let [along_ab, along_ac] = [(point - a).cross(ac), ab.cross(point - a)].map(|part| part.dot(normal) / area);
    // False where the triangle has no area.
    if along_ab >= 0.0 && along_ac >= 0.0 && along_ab + along_ac <= 1.0 {
        return least.min((a + ab * along_ab + ac * along_ac).distance_squared(point));
    }
    least
}

pub(super) fn segments([p, q]: [DVec3; 2], [u, v]: [DVec3; 2]) -> f64 {
    let ends = [point_segment(p, [u, v]), point_segment(q, [u, v]), point_segment(u, [p, q]), point_segment(v, [p, q])];
    let least = ends.into_iter().fold(f64::INFINITY, f64::min);
    let (first, second, between) = (q - p, v - u, p - u);
    let normal = first.cross(second);
    let square = normal.length_squared();
    let [on_first, on_second] = [second, first].map(|other| other.cross(between).dot(normal) / square);
    // False where they are parallel.
    if (0.0..=1.0).contains(&on_first) && (0.0..=1.0).contains(&on_second) {
        return least.min((p + first * on_first).distance_squared(u + second * on_second));
    }
    least
}

fn point_segment(point: DVec3, [u, v]: [DVec3; 2]) -> f64 {
    let direction = v - u;
    let square = direction.length_squared();
    let along = if square > 0.0 { ((point - u).dot(direction) / square).clamp(0.0, 1.0) } else { 0.0 };
    (u + direction * along).distance_squared(point)
}
