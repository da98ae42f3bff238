//! Ready bodies: a dress form, a sphere and a ring.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use glam::DVec3;

use super::body::Body;

/// Height, half width (x) and half depth (z) of the dress form at the corners of its outline, m, from the middle
/// of its bottom to the middle of its top.
const OUTLINE: [[f64; 3]; 16] = [
    [0.000, 0.000, 0.000],
    [0.015, 0.105, 0.075],
    [0.070, 0.158, 0.113],
    [0.170, 0.176, 0.126], // hips
    [0.280, 0.158, 0.112],
    [0.380, 0.132, 0.092], // waist
    [0.480, 0.144, 0.103],
    [0.580, 0.163, 0.119], // chest
    [0.670, 0.184, 0.112],
    [0.735, 0.200, 0.094], // shoulders
    [0.775, 0.174, 0.079],
    [0.797, 0.120, 0.067],
    [0.815, 0.075, 0.058],
    [0.850, 0.058, 0.053], // neck
    [0.885, 0.049, 0.045],
    [0.900, 0.000, 0.000],
];

/// A dress form with shoulders, waist, hips and a short neck: 0.9 m high, standing on y = 0, +Y up, shoulders
/// 0.4 m wide along x.
///
/// Its outline is a Catmull-Rom curve, revolved into ellipses. `segments` counts the corners of an
/// ellipse; below 8 it is taken for 8, above 512 for 512. There are about 2.5 × `segments`² triangles.
pub fn mannequin(segments: u32) -> Body {
    let segments = segments.clamp(8, 512);
    let rings = outline((segments / 12).max(1));
    revolve(&rings, [OUTLINE[0][0], OUTLINE[OUTLINE.len() - 1][0]], segments)
}

/// A body of straight pieces between circles about the y axis, each a height and a radius \[m\], from the lowest to the
/// highest; its ends are flat.
pub(crate) fn revolved(circles: &[[f64; 2]], segments: u32) -> Body {
    let rings: Vec<[f64; 3]> = circles.iter().map(|[y, radius]| [*y, *radius, *radius]).collect();
    let ends = [rings.first(), rings.last()].map(|ring| ring.map_or(0.0, |ring| ring[0]));
    revolve(&rings, ends, segments)
}

/// Ellipses of so many corners, each at a height with two half axes, and what is between them; the ends are closed to
/// these heights on the axis.
fn revolve(rings: &[[f64; 3]], [bottom, top]: [f64; 2], segments: u32) -> Body {
    let mut positions = vec![[0.0, bottom as f32, 0.0]];
    for &[y, width, depth] in rings {
        for segment in 0..segments {
            let (sin, cos) = (TAU * f64::from(segment) / f64::from(segments)).sin_cos();
            positions.push([(width * cos) as f32, y as f32, (depth * sin) as f32]);
        }
    }
    positions.push([0.0, top as f32, 0.0]);

    let last = positions.len() as u32 - 1;
    let highest = last - segments;
    let mut triangles = Vec::new();
    for segment in 0..segments {
        let next = (segment + 1) % segments;
        triangles.push([0, 1 + segment, 1 + next]);
        for ring in 1..rings.len() as u32 {
            let (below, above) = (1 + (ring - 1) * segments, 1 + ring * segments);
            triangles.push([below + segment, above + segment, above + next]);
            triangles.push([below + segment, above + next, below + next]);
        }
        triangles.push([highest + segment, last, highest + next]);
    }
    Body::trusted(positions, triangles)
}

/// The outline with `steps` steps between corners, without its first and last point.
fn outline(steps: u32) -> Vec<[f64; 3]> {
    let last = OUTLINE.len() - 1;
    // The outline goes on beyond the axis as its mirror image, so that both ends are round.
    let mirror = |[y, width, depth]: [f64; 3]| [y, -width, -depth];
    let mut rings = Vec::new();
    for span in 0..last {
        let before = if span == 0 { mirror(OUTLINE[1]) } else { OUTLINE[span - 1] };
        let after = if span + 1 == last { mirror(OUTLINE[last - 1]) } else { OUTLINE[span + 2] };
        for step in 0..steps {
            let time = f64::from(step) / f64::from(steps);
            let corners = [before, OUTLINE[span], OUTLINE[span + 1], after];
            rings.push([0, 1, 2].map(|axis| catmull_rom(corners.map(|corner| corner[axis]), time)));
        }
    }
    // The first is the middle of the bottom.
    rings.split_off(1)
}

/// The uniform Catmull-Rom curve from b (time 0) to c (time 1).
fn catmull_rom([a, b, c, d]: [f64; 4], time: f64) -> f64 {
    let linear = c - a;
    let square = 2.0 * a - 5.0 * b + 4.0 * c - d;
    let cube = 3.0 * (b - c) + d - a;
    0.5 * (2.0 * b + time * (linear + time * (square + time * cube)))
}

/// A sphere around the origin: an icosahedron, its triangles cut into four `subdivisions` times, 20 × 4ⁿ together,
/// with every vertex on the sphere.
///
/// More than 7 subdivisions are taken for 7. A radius outside 1e-15 … 1e15 m is taken for the nearer
/// of these, and NaN for the first.
pub fn icosphere(radius: f32, subdivisions: u32) -> Body {
    let radius = f64::from(if radius.is_nan() { 1e-15 } else { radius.clamp(1e-15, 1e15) });
    let (mut points, mut triangles) = icosahedron();
    for _ in 0..subdivisions.min(7) {
        triangles = subdivide(&mut points, &triangles);
    }
    let positions = points.iter().map(|point| (radius * point).as_vec3().to_array()).collect();
    Body::trusted(positions, triangles)
}

/// A torus about the y axis: `radius` is that of the circle in the middle of its tube, `tube` that of the tube.
///
/// `segments` counts the corners of both circles; below 8 it is taken for 8, above 512 for 512. Radii are taken as
/// [`icosphere`] takes its own, and a tube of more than 0.99 of the radius for that.
pub fn torus(radius: f32, tube: f32, segments: u32) -> Body {
    let meant = |radius: f32| f64::from(if radius.is_nan() { 1e-15 } else { radius.clamp(1e-15, 1e15) });
    let radius = meant(radius);
    let (tube, segments) = (meant(tube).min(0.99 * radius), segments.clamp(8, 512));
    let turned = |segment: u32| (TAU * f64::from(segment) / f64::from(segments)).sin_cos();
    let mut positions = Vec::new();
    let mut triangles = Vec::new();
    for around in 0..segments {
        let (sin, cos) = turned(around);
        for across in 0..segments {
            let (up, out) = turned(across);
            let reach = radius + tube * out;
            positions.push([reach * cos, tube * up, reach * sin].map(|x| x as f32));
            let corner = |around: u32, across: u32| (around % segments) * segments + across % segments;
            let [a, b] = [corner(around, across), corner(around, across + 1)];
            let [c, d] = [corner(around + 1, across + 1), corner(around + 1, across)];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    Body::trusted(positions, triangles)
}

fn icosahedron() -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let golden = (1.0 + 5.0_f64.sqrt()) / 2.0;
    let mut points = Vec::with_capacity(12);
    for (short, long) in [(1.0, golden), (-1.0, golden), (1.0, -golden), (-1.0, -golden)] {
        points.extend([DVec3::new(short, long, 0.0), DVec3::new(0.0, short, long), DVec3::new(long, 0.0, short)]);
    }
    // All triples of neighbors are faces: neighbors are 2 apart, the next corners more than 3.
    let near = |a: usize, b: usize| points[a].distance(points[b]) < 2.5;
    let mut triangles = Vec::with_capacity(20);
    for a in 0..12 {
        for b in a + 1..12 {
            for c in b + 1..12 {
                if near(a, b) && near(b, c) && near(c, a) {
                    let outward = points[a].dot(points[b].cross(points[c])) > 0.0;
                    triangles.push(if outward { [a, b, c] } else { [a, c, b] }.map(|vertex| vertex as u32));
                }
            }
        }
    }
    (points.iter().map(|point| point.normalize()).collect(), triangles)
}

fn subdivide(points: &mut Vec<DVec3>, triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let mut middles = BTreeMap::new();
    let mut middle = |one: u32, other: u32| {
        *middles.entry((one.min(other), one.max(other))).or_insert_with(|| {
            points.push((points[one as usize] + points[other as usize]).normalize());
            points.len() as u32 - 1
        })
    };
    let mut parts = Vec::with_capacity(4 * triangles.len());
    for &[a, b, c] in triangles {
        let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
        parts.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solid::judge;

    #[test]
    fn a_mannequin_is_a_body_of_any_size() {
        for segments in [0, 8, 13, 48, 100, 512] {
            let body = mannequin(segments);
            let checked = Body::new(body.positions().to_vec(), body.triangles().to_vec());
            assert_eq!(checked.unwrap(), body, "{segments}");
        }
        assert_eq!(mannequin(48).triangles().len(), 2 * 48 * (15 * 4 - 1));
        assert_eq!(mannequin(u32::MAX), mannequin(512));
    }

    #[test]
    fn a_mannequin_has_shoulders_a_waist_and_hips() {
        let (low, high) = mannequin(96).bounds();
        assert_eq!(low.y, 0.0);
        assert!((high.y - 0.9).abs() < 1e-7);
        assert!((high.x - low.x - 0.4).abs() < 0.003, "{}", high.x - low.x);
        assert!((high.z - low.z - 0.252).abs() < 0.002, "{}", high.z - low.z);

        let width = |height: f64| {
            let rings = outline(64);
            rings.into_iter().min_by(|a, b| (a[0] - height).abs().total_cmp(&(b[0] - height).abs())).unwrap()[1]
        };
        assert!(width(0.38) < 0.8 * width(0.17) && width(0.38) < 0.7 * width(0.735));
        assert!(width(0.85) < 0.3 * width(0.735));
    }

    #[test]
    fn the_outline_rises_and_has_no_kinks() {
        let rings = outline(64);
        for [y, width, depth] in &rings {
            assert!((0.0..=0.9).contains(y) && *width > 0.0 && *depth > 0.0 && depth < width);
        }
        for three in rings.windows(3) {
            let [before, after] =
                [0, 1].map(|first| DVec3::from_array(three[first + 1]) - DVec3::from_array(three[first]));
            assert!(before.x > 0.0 && after.x > 0.0, "{three:?}");
            assert!(before.angle_between(after) < 0.1, "{three:?}");
        }
    }

    /// The part of the volume of the sphere that is missing.
    fn lacking(subdivisions: u32) -> f64 {
        let body = icosphere(0.3, subdivisions);
        assert_eq!(body.triangles().len(), 20 << (2 * subdivisions));
        let checked = Body::new(body.positions().to_vec(), body.triangles().to_vec());
        assert_eq!(checked.unwrap(), body);
        let volume: f64 = body.triangles().iter().map(|&triangle| judge::volume(body.corners(triangle))).sum();
        1.0 - volume / (TAU * 2.0 / 3.0 * f64::from(0.3_f32).powi(3))
    }

    #[test]
    fn a_sphere_gains_four_times_the_accuracy_with_each_subdivision() {
        // An icosahedron of side 1 has volume 5 (3 + √5) / 12 and circumradius √(10 + 2 √5) / 4.
        let root = 5.0_f64.sqrt();
        let part = 5.0 * (3.0 + root) / 12.0 / (TAU * 2.0 / 3.0 * ((10.0 + 2.0 * root).sqrt() / 4.0).powi(3));
        assert!((lacking(0) - (1.0 - part)).abs() < 1e-6);
        assert!((lacking(3) / lacking(4) - 4.0).abs() < 0.03, "{}", lacking(3) / lacking(4));
    }

    #[test]
    fn radii_that_make_no_sense_are_clamped() {
        assert_eq!(icosphere(f32::NAN, 0), icosphere(1e-15, 0));
        assert_eq!(icosphere(f32::INFINITY, 0), icosphere(1e15, 0));
    }
}
