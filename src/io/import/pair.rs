//! Triangles back into the quads they were cut from.
//!
//! A quad that was cut along a diagonal can be told from its neighbors by being the most rectangular of all that its
//! triangles could be joined to. Pairs are taken greedily, the best first.

use std::collections::HashSet;

use glam::DVec3;

use super::build::Piece;

/// Cosine of the largest angle between the two triangles of a quad, 30°.
const LEAST_COPLANAR: f64 = 0.866_025_403_784_438_6;
/// Largest cosine of a corner, positive or negative: 30° and 150°.
const MOST_OBLIQUE: f64 = 0.866_025_403_784_438_6;

/// Two triangles that would make a quad.
struct Candidate {
    /// Largest cosine of a corner; 0 for a rectangle.
    obliqueness: f64,
    pieces: [u32; 2],
    quad: Piece,
}

/// Joins what can be joined; how many triangles were. A quad takes the place of the first of its triangles.
pub(super) fn pair(pieces: &mut Vec<Piece>, point: impl Fn(u32) -> DVec3, same_uv: impl Fn(u32, u32) -> bool) -> usize {
    // Both directions of an edge have the same key: (lower, higher), then who has it, and as which of their sides.
    let mut sides: Vec<([u32; 2], u32, u8)> = Vec::with_capacity(3 * pieces.len());
    for (index, piece) in (0..).zip(pieces.iter()) {
        let vertices = piece.vertices();
        for (side, a) in vertices.iter().enumerate() {
            let b = vertices[(side + 1) % vertices.len()];
            sides.push(([*a.min(&b), *a.max(&b)], index, side as u8));
        }
    }
    sides.sort_unstable();
    let mut candidates: Vec<Candidate> = Vec::new();
    for edge in sides.chunk_by(|a, b| a.0 == b.0) {
        let [(_, first, side), (_, second, other)] = *edge else { continue };
        let [a, b] = [first, second].map(|index| &pieces[index as usize]);
        if a.quad || b.quad || a.sets != b.sets {
            continue;
        }
        if let Some((quad, obliqueness)) = join(a, side.into(), b, other.into(), &point, &same_uv) {
            candidates.push(Candidate { obliqueness, pieces: [first, second], quad });
        }
    }
    // Stable: equally good pairs stay in the order of their edges.
    candidates.sort_by(|a, b| a.obliqueness.total_cmp(&b.obliqueness));

    // A flat bag has two pairs with the same four vertices, front and back: the second stays as it is.
    let sorted = |piece: &Piece| {
        let mut vertices = piece.vertices;
        vertices.sort_unstable();
        vertices
    };
    let mut quads: HashSet<[u32; 4]> = pieces.iter().filter(|piece| piece.quad).map(sorted).collect();
    let mut joined = vec![false; pieces.len()];
    let mut gone = vec![false; pieces.len()];
    for Candidate { pieces: [first, second], quad, .. } in candidates {
        let [first, second] = [first as usize, second as usize];
        if joined[first] || joined[second] || !quads.insert(sorted(&quad)) {
            continue;
        }
        (joined[first], joined[second]) = (true, true);
        pieces[first.min(second)] = quad;
        gone[first.max(second)] = true;
    }
    let mut index = 0;
    pieces.retain(|_| {
        index += 1;
        !gone[index - 1]
    });
    2 * gone.iter().filter(|gone| **gone).count()
}

/// The quad of two triangles, each named with the side they have in common, if it is a good one.
fn join(
    first: &Piece,
    side: usize,
    second: &Piece,
    other: usize,
    point: &impl Fn(u32) -> DVec3,
    same_uv: &impl Fn(u32, u32) -> bool,
) -> Option<(Piece, f64)> {
    let turned = |piece: &Piece, by: usize| {
        [by, by + 1, by + 2].map(|place| (piece.vertices[place % 3], piece.corners[place % 3]))
    };
    // In the first's own direction around: its side runs from c to a.
    let [c, a, b] = turned(first, side);
    let [p, q, d] = turned(second, other);
    // The corners of the second triangle at a and c; it may run the other way.
    let (at_a, at_c) = if p.0 == a.0 { (p, q) } else { (q, p) };
    // Where texture coordinates jump there was an edge before the quads were cut.
    if at_a.0 != a.0 || at_c.0 != c.0 || b.0 == d.0 || !same_uv(a.1, at_a.1) || !same_uv(c.1, at_c.1) {
        return None;
    }
    let corners = [a, b, c, d];
    let points = corners.map(|(vertex, _)| point(vertex));
    let normals = [(1, 2), (2, 3)].map(|(i, j): (usize, usize)| (points[i] - points[0]).cross(points[j] - points[0]));
    if normals[0].normalize_or_zero().dot(normals[1].normalize_or_zero()) < LEAST_COPLANAR {
        return None;
    }
    let normal = normals[0] + normals[1];
    let mut obliqueness = 0.0_f64;
    for place in 0..4 {
        let (back, here, on) = (points[(place + 3) % 4], points[place], points[(place + 1) % 4]);
        let (incoming, outgoing) = ((here - back).normalize_or_zero(), (on - here).normalize_or_zero());
        if incoming.cross(outgoing).dot(normal) <= 0.0 {
            return None;
        }
        obliqueness = obliqueness.max(incoming.dot(outgoing).abs());
    }
    let (vertices, drawn) = (corners.map(|corner| corner.0), corners.map(|corner| corner.1));
    let quad = Piece { vertices, corners: drawn, quad: true, ..*first };
    (obliqueness <= MOST_OBLIQUE).then_some((quad, obliqueness))
}
