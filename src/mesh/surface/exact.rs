//! Whether an edge and a triangle share a point: a decision without rounding, in whatever way they lie.
//!
//! Everything is a sign of a determinant of f32 coordinates, which the predicates of Shewchuk 1997 (*Adaptive Precision
//! Floating-Point Arithmetic and Fast Robust Geometric Predicates*) have exactly: products of three f32 differences
//! neither overflow nor underflow in f64.

use robust::{Coord, Coord3D, orient2d, orient3d};

/// Coordinates \[m\].
pub(super) type Point = [f32; 3];

/// Whether the segment and the triangle, borders included, share a point. Both may be degenerate: a triangle without
/// area is a segment or a point.
pub(super) fn meet([p, q]: [Point; 2], [a, b, c]: [Point; 3]) -> bool {
    if slanted_apart([p, q], [a, b, c]) {
        return false;
    }
    let (at_p, at_q) = (side(a, b, c, p), side(a, b, c, q));
    if same_side(at_p, at_q) {
        return false;
    }
    if at_p == 0.0 && at_q == 0.0 {
        return meet_in_plane([p, q], [a, b, c]);
    }
    // The line meets the plane in one point, and the triangle where that is on one side of all its edges.
    one_side([side(p, q, a, b), side(p, q, b, c), side(p, q, c, a)])
}

/// Whether they are apart along one of the six directions half-way between two axes. That settles most pairs of flat
/// cloth, where determinants vanish and are dear. Rounding keeps the order of sums of two numbers, so what is apart
/// here is apart.
fn slanted_apart(segment: [Point; 2], corners: [Point; 3]) -> bool {
    let [p, q] = segment.map(|point| point.map(f64::from));
    let [a, b, c] = corners.map(|point| point.map(f64::from));
    [(0, 1), (1, 2), (2, 0)].into_iter().any(|(first, second)| {
        [1.0, -1.0].into_iter().any(|sign| {
            let [p, q, a, b, c] = [p, q, a, b, c].map(|point| point[first] + sign * point[second]);
            p.min(q) > a.max(b).max(c) || p.max(q) < a.min(b).min(c)
        })
    })
}

/// [`meet`] where all points lie in one plane, or the corners on one line.
fn meet_in_plane([p, q]: [Point; 2], [a, b, c]: [Point; 3]) -> bool {
    let Some(axis) = (0..3).find(|&axis| turn(axis, a, b, c) != 0.0) else {
        // On a line the order of coordinates is that of places.
        let end = |picked: fn(Point, Point) -> Point| picked(picked(a, b), c);
        return meet_segments([p, q], [end(first), end(last)]);
    };
    // Along this axis the plane is not seen from its edge: what meets in the view meets.
    one_side([turn(axis, a, b, p), turn(axis, b, c, p), turn(axis, c, a, p)])
        || [[a, b], [b, c], [c, a]].iter().any(|&edge| meet_in_view(axis, [p, q], edge))
}

fn meet_segments([p, q]: [Point; 2], [u, v]: [Point; 2]) -> bool {
    if side(p, q, u, v) != 0.0 {
        return false;
    }
    let triples = [[u, v, p], [u, v, q], [p, q, u], [p, q, v]];
    match (0..3).find(|&axis| triples.iter().any(|&[a, b, c]| turn(axis, a, b, c) != 0.0)) {
        Some(axis) => meet_in_view(axis, [p, q], [u, v]),
        None => overlap([p, q], [u, v]),
    }
}

/// Whether two segments of one plane meet, seen along an axis from which the plane is not a line.
fn meet_in_view(axis: usize, [p, q]: [Point; 2], [u, v]: [Point; 2]) -> bool {
    let ends = [turn(axis, u, v, p), turn(axis, u, v, q)];
    let others = [turn(axis, p, q, u), turn(axis, p, q, v)];
    if ends == [0.0; 2] && others == [0.0; 2] {
        return overlap([p, q], [u, v]);
    }
    !same_side(ends[0], ends[1]) && !same_side(others[0], others[1])
}

/// Whether two segments of one line meet.
fn overlap([p, q]: [Point; 2], [u, v]: [Point; 2]) -> bool {
    last(first(p, q), first(u, v)) <= first(last(p, q), last(u, v))
}

fn first(a: Point, b: Point) -> Point {
    if b < a { b } else { a }
}

fn last(a: Point, b: Point) -> Point {
    if b > a { b } else { a }
}

fn same_side(a: f64, b: f64) -> bool {
    (a > 0.0 && b > 0.0) || (a < 0.0 && b < 0.0)
}

fn one_side(sides: [f64; 3]) -> bool {
    sides.iter().all(|side| *side >= 0.0) || sides.iter().all(|side| *side <= 0.0)
}

/// On which side of the plane through three points a fourth is: the sign is exact.
fn side(a: Point, b: Point, c: Point, d: Point) -> f64 {
    let [a, b, c, d] = [a, b, c, d].map(|[x, y, z]| Coord3D { x, y, z });
    orient3d(a, b, c, d)
}

/// Which way three points turn, seen along an axis: the sign is exact.
fn turn(axis: usize, a: Point, b: Point, c: Point) -> f64 {
    let [a, b, c] = [a, b, c].map(|point| Coord { x: point[(axis + 1) % 3], y: point[(axis + 2) % 3] });
    orient2d(a, b, c)
}
