//! Slow and simple judges for the tests, with other formulas than the code they judge.

use glam::{DQuat, DVec3};

use super::body::Body;

/// Signed volume of the tetrahedron of a triangle and the origin, m³.
pub(crate) fn volume([a, b, c]: [DVec3; 3]) -> f64 {
    a.dot(b.cross(c)) / 6.0
}

/// How often the body winds around a point: the sum of solid angles over 4π, each after Van Oosterom
/// and Strackee 1983, eq. 8.
pub(crate) fn winding(body: &Body, point: DVec3) -> f64 {
    let mut sum = 0.0;
    for &triangle in body.triangles() {
        let [a, b, c] = body.corners(triangle).map(|corner| corner - point);
        let (la, lb, lc) = (a.length(), b.length(), c.length());
        let below = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
        sum += 2.0 * a.dot(b.cross(c)).atan2(below);
    }
    sum / (2.0 * std::f64::consts::TAU)
}

/// Whether a point is inside; it must not be on the surface.
pub(crate) fn inside(body: &Body, point: DVec3) -> bool {
    let winding = winding(body, point);
    assert!((winding - winding.round()).abs() < 1e-6, "{winding} at {point}");
    winding > 0.5
}

/// Distance of a point to the surface, m.
pub(crate) fn distance(body: &Body, point: DVec3) -> f64 {
    let squares = body.triangles().iter().map(|&triangle| nearest(body.corners(triangle), point));
    squares.map(|nearest| nearest.distance_squared(point)).fold(f64::INFINITY, f64::min).sqrt()
}

/// The nearest point of a triangle, by Voronoi regions (Ericson, Real-Time Collision Detection, 5.1.5).
fn nearest([a, b, c]: [DVec3; 3], point: DVec3) -> DVec3 {
    let (ab, ac) = (b - a, c - a);
    let (d1, d2) = (ab.dot(point - a), ac.dot(point - a));
    let (d3, d4) = (ab.dot(point - b), ac.dot(point - b));
    let (d5, d6) = (ab.dot(point - c), ac.dot(point - c));
    let (va, vb, vc) = (d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2);
    if d1 <= 0.0 && d2 <= 0.0 {
        a
    } else if d3 >= 0.0 && d4 <= d3 {
        b
    } else if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        a + ab * (d1 / (d1 - d3))
    } else if d6 >= 0.0 && d5 <= d6 {
        c
    } else if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        a + ac * (d2 / (d2 - d6))
    } else if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        b + (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6)))
    } else {
        a + (ab * vb + ac * vc) / (va + vb + vc)
    }
}

/// Pseudo-random numbers: SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number from 0 to 1.
    pub(crate) fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A point in the box.
    pub(crate) fn point(&mut self, low: DVec3, high: DVec3) -> DVec3 {
        low + (high - low) * DVec3::new(self.number(), self.number(), self.number())
    }
}

/// A tetrahedron with three triangles without area: one with three corners on a line, two with two
/// corners in one place.
pub(crate) fn split_tetrahedron() -> Body {
    let mut positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    positions.extend([[0.5, 0.0, 0.0], [1.0, 0.0, 0.0]]);
    let triangles = [[0, 1, 3], [0, 3, 2], [0, 2, 4], [4, 2, 1], [0, 4, 1], [1, 5, 3], [5, 2, 3], [1, 2, 5]];
    Body::new(positions, triangles.to_vec()).unwrap()
}

/// The tetrahedron above without the triangles that have no area.
pub(crate) fn tetrahedron() -> Body {
    let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    Body::new(positions, vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]).unwrap()
}

/// An open tray, 1 m × 0.5 m × 1 m, with a bottom and four walls of this thickness [m], turned.
pub(crate) fn tray(thickness: f64, turn: DQuat) -> Body {
    let ring = |inset: f64, y: f64| {
        let (low, high) = (inset, 1.0 - inset);
        // Counter-clockwise seen from above, where z points down.
        [[low, y, low], [low, y, high], [high, y, high], [high, y, low]]
    };
    // From the middle of the outer bottom up, over the rim and down to the inner bottom.
    let rings = [ring(0.0, 0.0), ring(0.0, 0.5), ring(thickness, 0.5), ring(thickness, thickness)];
    let positions = rings.as_flattened().iter().map(|&corner| turn * DVec3::from_array(corner));
    let mut quads = vec![[3, 2, 1, 0], [12, 13, 14, 15]];
    for ring in [0, 4, 8] {
        for side in 0..4 {
            let next = (side + 1) % 4;
            quads.push([ring + side, ring + next, ring + 4 + next, ring + 4 + side]);
        }
    }
    let triangles = quads.into_iter().flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]]);
    Body::new(positions.map(|corner| corner.as_vec3().to_array()).collect(), triangles.collect()).unwrap()
}
