//! Closest points of a vertex and a triangle and of two edges, and what is known of a pair.

use glam::{Vec2, Vec3, Vec4};

use crate::engine::layout::element;
use crate::engine::source::{Constant, Source};
use crate::stage::freedom;

/// What kernels of self-collision share.
pub(super) static SOURCE: Source =
    Source::new("closest", include_str!("../../../shaders/closest.wgsl")).shares(&[&freedom::SOURCE]).constants(&[
        ("VERTEX_TRIANGLE", Constant::U32(VERTEX_TRIANGLE)),
        ("EDGES", Constant::U32(EDGES)),
        ("NEITHER", Constant::U32(NEITHER)),
        ("SLANTED", Constant::F32(SLANTED)),
        ("TIE", Constant::F32(TIE)),
        ("SMALLEST", Constant::F32(SMALLEST)),
        ("SHARE", Constant::F32(SHARE)),
        ("FLOOR", Constant::F32(FLOOR)),
        ("RECOVERY", Constant::F32(RECOVERY)),
        ("GENTLY", Constant::F32(GENTLY)),
        ("FIRM", Constant::F32(FIRM)),
        ("END", Constant::F32(END)),
        ("UNITS", Constant::F32(UNITS)),
        ("MOST_UNITS", Constant::F32(MOST_UNITS)),
    ]);

/// A pair of a vertex and a triangle.
pub(super) const VERTEX_TRIANGLE: u32 = 0;
/// A pair of two edges.
pub(super) const EDGES: u32 = 1;
/// A pair that is left alone: it was tangled from the start, or touches.
pub(super) const NEITHER: u32 = 2;
/// Square of the sine of the angle below which edges count as parallel.
const SLANTED: f32 = 1e-6;
/// Part of a squared distance that another one must be under to count as nearer: rounding does not choose between
/// points of parallel edges.
const TIE: f32 = 0.9999;
/// Keeps a quotient of two lengths from being 0/0.
pub(super) const SMALLEST: f32 = 1e-30;
/// Part of a gap that a substep may close. The rest is there for the next one; OGC and Planar-DAT take 0.85 … 0.9.
pub(super) const SHARE: f32 = 0.9;
/// Part of the thickness that always stays between two parts. Without it a gap may shrink tenfold per substep, and ends
/// in rounding, where normals mean nothing.
pub(super) const FLOOR: f32 = 0.1;
/// Thicknesses per second by which parts that are too near are moved apart at most. With 50 a sleeve that folds in 67
/// substeps per frame is pressed flat, down to the floor.
pub(super) const RECOVERY: f32 = 300.0;
/// Part of the thickness that pairs do not give up for the sake of the limit.
pub(super) const FIRM: f32 = 0.5;
/// Part of what they lack that they get back in a substep at most. With 0.2 a heap trembles by 1e-4 J/kg.
pub(super) const GENTLY: f32 = 0.05;
/// Weight below which a closest point counts as lying on the border of a triangle, or at the end of an edge.
const END: f32 = 1e-3;
/// Units of fixed-point sums per radius of the list.
pub(super) const UNITS: f32 = 1_048_576.0;
/// Most units that one pair adds: sums of a hundred pairs do not overflow.
pub(super) const MOST_UNITS: f32 = 16_777_216.0;

element! {
    /// What self-collision is told.
    pub(crate) struct Clearance {
        /// Distance that the middle surfaces of two layers keep \[m\].
        pub(crate) thickness: f32,
        /// Coefficient of Coulomb friction.
        pub(crate) friction: f32,
        /// Largest radius within which pairs are listed \[m\].
        pub(crate) farthest: f32,
        /// Motion that a substep should have at most, apart from the common one \[m\].
        pub(crate) stride: f32,
        /// Number of vertices.
        pub(crate) vertices: u32,
        /// 1 where tangles are resolved.
        pub(crate) resolves: u32,
        /// Number of triangles.
        pub(crate) triangles: u32,
        /// Pairs that there is room for.
        pub(crate) capacity: u32,
        /// Buckets of triangles, a power of two.
        pub(crate) triangle_buckets: u32,
        /// Buckets of edges, a power of two; they follow those of triangles.
        pub(crate) edge_buckets: u32,
    }
}

element! {
    /// What one substep looks for, and what it found.
    pub(crate) struct Nearness {
        /// Motion that all vertices have in common \[m\].
        pub(crate) drift: Vec3,
        /// Least radius within which pairs are listed, which sums of whole numbers are measured by \[m\].
        pub(crate) radius: f32,
        /// Inverse size of the cells of triangles and of edges \[1/m\].
        pub(crate) inverse_cells: Vec2,
        /// Pairs that are listed.
        pub(crate) pairs: u32,
        /// Pairs that were found.
        pub(crate) demand: u32,
        /// Part of their ways that vertices may go.
        pub(crate) part: f32,
        /// Part of the upper half of their thickness that pairs give up for the sake of the limit.
        pub(crate) yielded: f32,
        /// Rounds of the substep.
        pub(crate) rounds: u32,
        /// 0 where a frame begins, and nothing is known.
        pub(crate) begun: u32,
    }
}

element! {
    /// A pair at the start of the substep.
    pub(crate) struct Plane {
        /// Unit normal, from the second part to the first.
        pub(crate) normal: Vec3,
        /// Distance of the parts along it \[m\].
        pub(crate) distance: f32,
        /// Weights of the closest points.
        pub(crate) weights: Vec2,
        /// Distance that the pair keeps \[m\].
        pub(crate) thickness: f32,
        /// `VERTEX_TRIANGLE`, `EDGES` or `NEITHER`.
        pub(crate) kind: u32,
    }
}

/// Weights of the corners of a triangle at its point that is closest to p (Ericson 2005, section 5.1.5).
pub(super) fn closest_triangle(p: Vec3, [a, b, c]: [Vec3; 3]) -> Vec3 {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return Vec3::X;
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return Vec3::Y;
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        let v = d1 / (d1 - d3).max(SMALLEST);
        return Vec3::new(1.0 - v, v, 0.0);
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return Vec3::Z;
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        let w = d2 / (d2 - d6).max(SMALLEST);
        return Vec3::new(1.0 - w, 0.0, w);
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        let w = (d4 - d3) / ((d4 - d3) + (d5 - d6)).max(SMALLEST);
        return Vec3::new(0.0, 1.0 - w, w);
    }
    let sum = (va + vb + vc).max(SMALLEST);
    let (v, w) = (vb / sum, vc / sum);
    Vec3::new(1.0 - v - w, v, w)
}

/// Weights of the second ends of two edges at their closest points.
pub(super) fn closest_segments([a, b, c, d]: [Vec3; 4]) -> Vec2 {
    let (first, second, r) = (b - a, d - c, a - c);
    let aa = first.dot(first).max(SMALLEST);
    let ee = second.dot(second).max(SMALLEST);
    let (f, cc, bb) = (second.dot(r), first.dot(r), first.dot(second));
    let apart = |at: Vec2| (r + at.x * first - at.y * second).length_squared();
    let mut best = Vec2::new(0.0, (f / ee).clamp(0.0, 1.0));
    let mut least = apart(best);
    for other in [
        Vec2::new(1.0, ((bb + f) / ee).clamp(0.0, 1.0)),
        Vec2::new((-cc / aa).clamp(0.0, 1.0), 0.0),
        Vec2::new(((bb - cc) / aa).clamp(0.0, 1.0), 1.0),
    ] {
        let found = apart(other);
        if found < TIE * least {
            (best, least) = (other, found);
        }
    }
    // Products of cross products: differences of products of nearly parallel edges are rounding.
    let across = first.cross(second);
    let slant = across.length_squared();
    if slant > SLANTED * aa * ee {
        let inside = Vec2::new(across.dot(second.cross(r)), across.dot(first.cross(r))) / slant;
        let within = inside.x > 0.0 && inside.x < 1.0 && inside.y > 0.0 && inside.y < 1.0;
        if within && apart(inside) < TIE * least {
            best = inside;
        }
    }
    best
}

/// Weights of the closest points of a pair: two of the three of a triangle, or one of each edge.
pub(super) fn closest_weights(kind: u32, at: [Vec3; 4]) -> Vec2 {
    if kind == EDGES {
        return closest_segments(at);
    }
    let [p, a, b, c] = at;
    let weights = closest_triangle(p, [a, b, c]);
    Vec2::new(weights.y, weights.z)
}

/// Weights of the four vertices of a pair: those of the first part positive, those of the second negative, together 0.
pub(super) fn shares(kind: u32, at: Vec2) -> Vec4 {
    if kind == EDGES {
        Vec4::new(1.0 - at.x, at.x, at.y - 1.0, -at.y)
    } else {
        Vec4::new(1.0, at.x + at.y - 1.0, -at.x, -at.y)
    }
}

/// The part that each vertex of a pair belongs to, as a sign.
pub(super) fn sides(kind: u32) -> [f32; 4] {
    if kind == EDGES { [1.0, 1.0, -1.0, -1.0] } else { [1.0, -1.0, -1.0, -1.0] }
}

/// Whether a closest point lies on the border of a triangle, or at the end of an edge.
pub(super) fn at_end(kind: u32, at: Vec2) -> bool {
    let third = if kind == EDGES { 1.0 } else { 1.0 - at.x - at.y };
    let most = if kind == EDGES { at.max_element() } else { 0.0 };
    at.min_element() < END || third < END || most > 1.0 - END
}

/// Whether a pair has a say in the response. Of two edges whose closest point is the end of one, the triangles beside
/// the other are as near to that vertex, or nearer, and these pairs are listed, too.
pub(super) fn responds(plane: &Plane) -> bool {
    plane.distance > 0.0 && !(plane.kind == EDGES && at_end(plane.kind, plane.weights))
}

/// From the closest point of the second part to that of the first.
pub(super) fn between(share: Vec4, [a, b, c, d]: [Vec3; 4]) -> Vec3 {
    share.y * (b - a) + share.z * (c - a) + share.w * (d - a)
}

/// Fixed-point words of a vector in units: their sums do not depend on the order.
pub(super) fn fixed(units: Vec3) -> [u32; 3] {
    units.to_array().map(|x| x.clamp(-MOST_UNITS, MOST_UNITS).round_ties_even() as i32 as u32)
}

pub(super) fn floating(words: [u32; 3]) -> Vec3 {
    Vec3::from_array(words.map(|word| word as i32 as f32))
}

/// Distance that a pair is pushed to in this substep \[m\]: one that is nearer recovers little by little, and a part
/// of what is above half of the thickness may be given up.
pub(super) fn kept(clearance: &Clearance, nearness: &Nearness, plane: &Plane, h: f32) -> f32 {
    let lack = plane.thickness - plane.distance;
    let whole = if lack > 0.0 {
        plane.distance + (GENTLY * lack).min(RECOVERY * clearance.thickness * h)
    } else {
        plane.thickness
    };
    whole - nearness.yielded * (whole - FIRM * plane.thickness).max(0.0)
}
