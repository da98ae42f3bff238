//! Bending: how a cloth resists folds, as springs between vertices or as hinges.
//!
//! Both models add up folds. A fold is an edge of length |e| between two triangles of areas A₀ and
//! A₁ that meet at the angle θ, 0 when flat. Its energy is ½ k_b |e|²/(A₀+A₁) θ² for small θ.
//!
//! - [`quadratic`], for cloth that is flat at rest: Bergou, Wardetzky, Harmon, Zorin and Grinspun
//!   2006, "A Quadratic Bending Model for Inextensible Surfaces". A constant matrix, exact for
//!   isometric motion, linear forces.
//! - [`hinges`], for cloth that is curved at rest: Grinspun, Hirani, Desbrun and Schröder 2003,
//!   "Discrete Shells", with φ = 2 tan(θ/2) in place of θ.
//!
//! # Units
//!
//! The stiffness k_b [N·m] is that of the continuous sheet: an area rolled to a cylinder of radius
//! R holds ½ k_b · area / R². The paper's factor 3/(A₀+A₁) gives three times as much: it spreads a
//! fold over a third of its triangles, the share of one edge out of three, though on squares cut
//! into triangles, rolled along a row, only one edge of the three folds. So the factor here is
//! 1/(A₀+A₁).
//!
//! Edges at the border do not fold, as a free border wants it. A sheet rolled along a row of n
//! cells has n−1 folds and holds (n−1)/n of the energy of the continuous one.
//!
//! # Quads
//!
//! A quad has no edge inside, so it is seen as the four triangles at its corners.
//!
//! - A side between two quads folds between the triangles that both have at its tail, and between
//!   those at its head. Each counts ½ − |t|, where t is how far the quads lean along the side, in
//!   lengths of the side, at most ½. The rest, 2|t|, goes to the fold between the two triangles that
//!   lean towards each other.
//! - A side between a quad and a triangle folds between the triangle and both those of the quad.
//!   Each counts half.
//! - Each diagonal, of length d, folds and counts p²q²/(2d⁴) · (2 + 4 cos²α − 2|p·q|(1/p² + 1/q²)),
//!   where p and q join the middles of opposite sides and α is the angle between them; at most 1. A
//!   diagonal of a square counts a quarter.
//!
//! On a grid of squares this is the thirteen-point biharmonic operator. On a grid of rectangles a
//! surface with the second derivatives S holds ½ k_b (S_xx² + 2 S_xy² + S_yy²) per area. On a grid
//! of parallelograms with |p·q| ≤ ½ min(p², q²), such as a rhombus of 60° to 120°, a roll is equally
//! stiff in every direction. A grid that leans more holds 0.8 to 4 times as much at 45°. Vertices
//! moved at random by up to a tenth of an edge add about 1 %.
//!
//! The obvious way, all quads cut along their first diagonals and along their second, half of each,
//! gives 6 S_xy² in place of 2 S_xy²: a roll along the diagonal would be twice as stiff. Without the
//! folds across the diagonals it gives 2 S_xy², but lets a checkerboard of bumps fold freely.
//!
//! # Triangles
//!
//! Triangle meshes follow the paper. A mesh of equilateral triangles is equally stiff in every
//! direction. Others are not: squares that are all cut the same way hold 0.75 to 3 times
//! ½ k_b · area / R² as the roll turns, and the right energy for a roll along a row. Prefer quads.
//!
//! # What happens to odd input
//!
//! | Input | Outcome |
//! |---|---|
//! | an edge of one face, or of more than two | carries nothing |
//! | a triangle whose area is below 1e-12 of its longest side squared | carries nothing |
//! | a quad that is concave, or straight at a corner | two triangles, cut inside |
//! | a quad that crosses itself, or folds over a right angle both ways | carries nothing |
//! | two faces with the same triangle at one end of a side | this end carries nothing |
//! | neighbors that wind in opposite directions | no matter |
//! | a hinge that is folded by more than about 170° at rest | left out |

use glam::{DVec3, Vec3};

use super::Face;
use super::links::key;
use super::mass::point;
use super::swatch::Fabrics;

/// The least area of a triangle, per square of its longest side.
const FLATTEST: f64 = 1e-12;
/// The least 1 + cos θ of a fold: θ up to 170.1°.
pub(crate) const SHARPEST: f32 = 0.015;
/// The least squared sine between two sides of a triangle, in `f32`.
pub(crate) const NARROWEST: f32 = 1e-12;

/// Folds that count less are rounding errors of a grid of rectangles, and would make it dense.
const NEGLIGIBLE: f64 = 1e-6;
/// The least twist left to the diagonals of a quad: without any, a checkerboard folds freely.
const LEAST_TWIST: f64 = 0.75;

/// A spring of rest length zero between two vertices: ½ · weight · distance².
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The two vertices, the lower first.
    pub ends: [u32; 2],
    /// N/m; of either sign.
    pub weight: f32,
}

/// A fold that resists leaving its rest angle: ½ · stiffness · (φ − rest)², with φ from `fold`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hinge {
    /// Tail and head of the edge as the first face runs through it, then the opposite vertices of
    /// the first and of the second face.
    pub vertices: [u32; 4],
    /// φ = 2 tan(θ/2) in the rest shape.
    pub rest: f32,
    /// N·m.
    pub stiffness: f32,
}

/// The quadratic bending energy of a cloth that is flat at rest, as springs with signed weights.
///
/// Bergou et al. 2006 write ½ xᵀQx with Q = k_b Σ KᵀK/(A₀+A₁) over all folds (see the module
/// documentation for the factor). The rows of Q sum to zero, so this is ½ Σ w_ij |x_i − x_j|² with
/// w_ij = −Q_ij. `stiffness` is k_b, N·m.
///
/// Angles and areas are measured within each triangle. If the rest shape is folded, the springs
/// are those of the two triangles laid flat, and pull it flat.
///
/// Sorted by ends, each pair once, without zeros. The faces must name vertices that exist.
pub fn quadratic(positions: &[[f32; 3]], faces: &[Face], stiffness: f32) -> Vec<Pair> {
    quadratic_of(positions, faces, &Fabrics::bending_alone(stiffness))
}

/// [`quadratic`] of faces that may differ.
pub(super) fn quadratic_of(positions: &[[f32; 3]], faces: &[Face], fabrics: &Fabrics) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for_each_pair(positions, faces, fabrics, |ends, weight| {
        let weight = (f64::from(fabrics.common_bending()) * weight) as f32;
        if weight != 0.0 {
            pairs.push(Pair { ends, weight });
        }
    });
    pairs
}

/// The hinges of a cloth with any rest shape, without those that carry nothing.
///
/// For small folds of a flat rest shape they have the energy of [`quadratic`]. `stiffness` is k_b,
/// N·m.
///
/// First the hinges on the sides of faces, sorted by side, then those on diagonals, in the order of
/// the faces. The faces must name vertices that exist.
pub fn hinges(positions: &[[f32; 3]], faces: &[Face], stiffness: f32) -> Vec<Hinge> {
    hinges_of(positions, faces, &Fabrics::bending_alone(stiffness))
}

/// [`hinges`] of faces that may differ.
pub(super) fn hinges_of(positions: &[[f32; 3]], faces: &[Face], fabrics: &Fabrics) -> Vec<Hinge> {
    let hinge = |fold: Fold| {
        let [tail, head, first, second] = fold.vertices.map(|vertex| point(positions, vertex));
        let areas = [Wing::new(tail, head, first)?.area, Wing::new(tail, head, second)?.area];
        let rest = rest([tail, head, first, second])? as f32;
        let stiffness = f64::from(fabrics.common_bending()) * fabrics.fold(fold.faces, areas);
        let stiffness = stiffness * fold.share * tail.distance_squared(head) / (areas[0] + areas[1]);
        Some(Hinge { vertices: fold.vertices, rest, stiffness: stiffness as f32 })
    };
    folds(positions, faces).into_iter().filter_map(hinge).collect()
}

/// φ = 2 tan(θ/2) of a fold and its gradient with respect to the four points, in the order of
/// [`Hinge::vertices`]; per metre.
///
/// θ is positive where the edge is a ridge, seen from the side to which the normals point of
/// triangles that turn counter-clockwise: a sphere seen from outside has positive folds.
///
/// `None` if a triangle is degenerate or the fold sharper than about 170°, where φ runs away. Sides
/// from 1e-8 m to 1e8 m keep their fourth powers within `f32`.
pub(crate) fn fold(points: [Vec3; 4]) -> Option<(f32, [Vec3; 4])> {
    let [tail, head, first, second] = points;
    let edge = head - tail;
    let left = first - tail;
    let right = second - tail;
    let left_normal = edge.cross(left);
    let right_normal = right.cross(edge);
    let edge_square = edge.dot(edge);
    let left_square = left_normal.dot(left_normal);
    let right_square = right_normal.dot(right_normal);

    let narrow = NARROWEST * edge_square;
    let sound = left_square > narrow * left.dot(left) && right_square > narrow * right.dot(right);
    // tan(θ/2) = sin θ / (1 + cos θ), both times the lengths of the normals. The sine comes from the
    // height of one triangle above the other, as the cross product of nearly equal normals would
    // lose digits: edge · (left_normal × right_normal) = −|edge|² left_normal · right.
    let length = edge_square.sqrt();
    let lengths = (left_square * right_square).sqrt();
    let below = lengths + left_normal.dot(right_normal);
    let open = below > SHARPEST * lengths;
    if !(sound && open) {
        return None;
    }
    let angle = -2.0 * length * left_normal.dot(right) / below;

    // dφ/dθ = 1 + φ²/4, and θ falls by 1/height as an opposite vertex rises. The ends of the edge
    // take the opposite, each in proportion to how near the foot of the height is.
    let slope = length * (1.0 + 0.25 * angle * angle);
    let left_pull = left_normal * (slope / left_square);
    let right_pull = right_normal * (slope / right_square);
    let left_foot = left.dot(edge) / edge_square;
    let right_foot = right.dot(edge) / edge_square;
    let tail_gradient = left_pull * (1.0 - left_foot) + right_pull * (1.0 - right_foot);
    let head_gradient = left_pull * left_foot + right_pull * right_foot;
    Some((angle, [tail_gradient, head_gradient, -left_pull, -right_pull]))
}

/// φ of `fold` in `f64`, for triangles that are not degenerate.
fn rest(points: [DVec3; 4]) -> Option<f64> {
    let [tail, head, first, second] = points;
    let edge = head - tail;
    let left_normal = edge.cross(first - tail);
    let right_normal = (second - tail).cross(edge);
    let lengths = left_normal.length() * right_normal.length();
    let below = lengths + left_normal.dot(right_normal);
    let angle = -2.0 * edge.length() * left_normal.dot(second - tail) / below;
    (below > f64::from(SHARPEST) * lengths).then_some(angle)
}

/// Two triangles at an edge: tail, head, opposite vertices.
struct Fold {
    vertices: [u32; 4],
    /// The faces that the triangles are of, in the order of the last two vertices.
    faces: [u32; 2],
    /// How much of it counts.
    share: f64,
}

/// All folds: those of the sides sorted by side, then those of the diagonals by face.
fn folds(positions: &[[f32; 3]], faces: &[Face]) -> Vec<Fold> {
    let cells = cells(positions, faces);
    let mut sides = Vec::with_capacity(4 * cells.len());
    for (index, (cell, _)) in cells.iter().enumerate() {
        for corner in 0..cell.vertices().len() {
            let side = Side::new(cell, corner);
            sides.push((key(side.tail, side.head), 4 * index + corner));
        }
    }
    sides.sort_unstable();

    let side = |number: usize| Side::new(&cells[number / 4].0, number % 4);
    let face = |number: usize| cells[number / 4].1;
    let mut folds = Vec::with_capacity(2 * sides.len());
    for same in sides.chunk_by(|(a, _), (b, _)| a == b) {
        if let [(_, first), (_, second)] = *same {
            fold_side(positions, side(first), side(second), [face(first), face(second)], &mut folds);
        }
    }
    for (cell, face) in &cells {
        if let Face::Quad(quad) = *cell {
            fold_diagonals(positions, quad, *face, &mut folds);
        }
    }
    folds
}

/// A side of a face and the vertices next to it.
struct Side {
    tail: u32,
    head: u32,
    /// The vertex before the tail: of the triangle at the tail.
    before: u32,
    /// The vertex after the head: of the triangle at the head. In a triangle both are the same.
    after: u32,
}

impl Side {
    /// The side that starts at a corner.
    fn new(face: &Face, corner: usize) -> Self {
        let vertices = face.vertices();
        let at = |step: usize| vertices[(corner + step) % vertices.len()];
        Self { tail: at(0), head: at(1), before: at(vertices.len() - 1), after: at(2) }
    }
}

/// Adds the folds between two faces with a common side.
fn fold_side(positions: &[[f32; 3]], first: Side, second: Side, faces: [u32; 2], folds: &mut Vec<Fold>) {
    let (tail, head) = (first.tail, first.head);
    let (before, after) =
        if second.tail == tail { (second.before, second.after) } else { (second.after, second.before) };
    let mut add = |left: u32, right: u32, share: f64| {
        if left != right && share > NEGLIGIBLE {
            folds.push(Fold { vertices: [tail, head, left, right], faces, share });
        }
    };
    match (first.before == first.after, before == after) {
        (true, true) => add(first.before, before, 1.0),
        (false, false) => {
            let [start, end, left_before, left_after, right_before, right_after] =
                [tail, head, first.before, first.after, before, after].map(|vertex| point(positions, vertex));
            // From the middle of the side to the middle of the opposite one, mean of both quads.
            let across = (left_before + left_after - right_before - right_after) / 4.0;
            let lean = (across.dot(end - start) / start.distance_squared(end)).clamp(-0.5, 0.5);
            add(first.before, before, 0.5 - lean.abs());
            add(first.after, after, 0.5 - lean.abs());
            add(first.before, after, 2.0 * lean);
            add(first.after, before, -2.0 * lean);
        }
        _ => {
            add(first.before, before, 0.5);
            add(first.after, after, 0.5);
        }
    }
}

/// Adds the folds over both diagonals of a convex quad.
fn fold_diagonals(positions: &[[f32; 3]], quad: [u32; 4], face: u32, folds: &mut Vec<Fold>) {
    let [a, b, c, d] = quad;
    let [from_a, from_b] = [(a, c), (b, d)].map(|(tail, head)| point(positions, head) - point(positions, tail));
    // The lines between the middles of opposite sides.
    let (p, q) = ((from_a - from_b) / 2.0, (from_a + from_b) / 2.0);
    let (pp, qq, pq) = (p.length_squared(), q.length_squared(), p.dot(q));
    // What the sides leave to the twist S_pq; see the module documentation.
    let twist = 2.0 + 4.0 * pq * pq / (pp * qq) - 2.0 * pq.abs() * (1.0 / pp + 1.0 / qq);
    let share = |diagonal: DVec3| {
        let square = diagonal.length_squared();
        (twist.max(LEAST_TWIST) * pp * qq / (2.0 * square * square)).min(1.0)
    };
    folds.push(Fold { vertices: [a, c, d, b], faces: [face; 2], share: share(from_a) });
    folds.push(Fold { vertices: [b, d, a, c], faces: [face; 2], share: share(from_b) });
}

/// The faces and their numbers, with a quad that is not convex as two triangles, or left out if it crosses itself.
fn cells(positions: &[[f32; 3]], faces: &[Face]) -> Vec<(Face, u32)> {
    let mut cells = Vec::with_capacity(faces.len());
    for (face, number) in faces.iter().zip(0..) {
        let Face::Quad([a, b, c, d]) = *face else {
            cells.push((*face, number));
            continue;
        };
        let mut cut = |halves: [[u32; 3]; 2]| cells.extend(halves.map(|half| (Face::Triangle(half), number)));
        match (cuts(positions, [a, b, c, d]), cuts(positions, [b, c, d, a])) {
            (true, true) => cells.push((*face, number)),
            (true, false) => cut([[a, b, c], [a, c, d]]),
            (false, true) => cut([[b, c, d], [b, d, a]]),
            (false, false) => {}
        }
    }
    cells
}

/// Whether the diagonal from the first to the third vertex lies inside a quad: the two triangles
/// beside it face the same way.
fn cuts(positions: &[[f32; 3]], quad: [u32; 4]) -> bool {
    let [a, b, c, d] = quad.map(|vertex| point(positions, vertex));
    let sound = |opposite| Wing::new(a, c, opposite).is_some();
    sound(b) && sound(d) && (b - a).cross(c - a).dot((c - a).cross(d - a)) > 0.0
}

/// One triangle of a fold.
struct Wing {
    /// m².
    area: f64,
    /// Cotangents of the angles at the tail and at the head of the edge.
    cotangents: [f64; 2],
}

impl Wing {
    /// `None` for a degenerate triangle.
    fn new(tail: DVec3, head: DVec3, opposite: DVec3) -> Option<Self> {
        let (edge, from_tail, from_head) = (head - tail, opposite - tail, opposite - head);
        let longest = edge.length_squared().max(from_tail.length_squared()).max(from_head.length_squared());
        let twice = edge.cross(from_tail).length();
        let cotangents = [edge.dot(from_tail) / twice, -edge.dot(from_head) / twice];
        (0.5 * twice > FLATTEST * longest).then_some(Self { area: 0.5 * twice, cotangents })
    }
}

/// K/√(A₀+A₁) of Bergou et al. 2006, section 3: K x is the change of the surface's direction across
/// the edge, times its length. It vanishes where the triangles lie flat. Zeros if one is degenerate.
///
/// Each coefficient is a sum of cotangents: of an opposite vertex minus those at both ends in its
/// triangle, of an end those at the other end in both triangles.
fn stencil(positions: &[[f32; 3]], fold: &Fold, fabrics: &Fabrics) -> [f64; 4] {
    let [tail, head, first, second] = fold.vertices.map(|vertex| point(positions, vertex));
    let (Some(left), Some(right)) = (Wing::new(tail, head, first), Wing::new(tail, head, second)) else {
        return [0.0; 4];
    };
    let share = fold.share * fabrics.fold(fold.faces, [left.area, right.area]);
    let scale = (share / (left.area + right.area)).sqrt();
    let ([a, b], [c, d]) = (left.cotangents, right.cotangents);
    [b + d, a + c, -(a + b), -(c + d)].map(|coefficient| coefficient * scale)
}

/// Calls `take` with the ends of each pair, in canonical order, and its weight, in units of what all folds have in
/// common.
fn for_each_pair(positions: &[[f32; 3]], faces: &[Face], fabrics: &Fabrics, mut take: impl FnMut([u32; 2], f64)) {
    let folds = folds(positions, faces);
    let stencils: Vec<[f64; 4]> = folds.iter().map(|fold| stencil(positions, fold, fabrics)).collect();
    let (starts, incident) = incidence(positions.len(), &folds);

    // Row by row of the upper triangle of −Q. A sort of all its parts would take much more memory.
    let mut row = vec![0.0; positions.len()];
    let mut others: Vec<u32> = Vec::new();
    for vertex in 0..positions.len() {
        for &index in &incident[starts[vertex]..starts[vertex + 1]] {
            let (vertices, coefficients) = (folds[index].vertices, stencils[index]);
            let own: f64 = (0..4).filter(|&i| vertices[i] as usize == vertex).map(|i| coefficients[i]).sum();
            for i in 0..4 {
                let other = vertices[i] as usize;
                if other > vertex {
                    if row[other] == 0.0 {
                        others.push(vertices[i]);
                    }
                    row[other] -= own * coefficients[i];
                }
            }
        }
        others.sort_unstable();
        // A sum that came back to zero in between was pushed twice.
        others.dedup();
        for other in others.drain(..) {
            take([vertex as u32, other], row[other as usize]);
            row[other as usize] = 0.0;
        }
    }
}

/// The folds at each vertex: those of vertex v are `incident[starts[v]..starts[v + 1]]`, ascending.
fn incidence(count: usize, folds: &[Fold]) -> (Vec<usize>, Vec<usize>) {
    let mut starts = vec![0; count + 2];
    for vertex in folds.iter().flat_map(|fold| fold.vertices) {
        starts[vertex as usize + 2] += 1;
    }
    for vertex in 2..starts.len() {
        starts[vertex] += starts[vertex - 1];
    }
    let mut incident = vec![0; 4 * folds.len()];
    for (index, fold) in folds.iter().enumerate() {
        for vertex in fold.vertices {
            // The cursor of a vertex ends where the next vertex starts.
            let cursor = &mut starts[vertex as usize + 1];
            incident[*cursor] = index;
            *cursor += 1;
        }
    }
    (starts, incident)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{DMat3, DQuat, Quat};

    type Sheet = (Vec<[f32; 3]>, Vec<Face>);

    /// A number from −½ to ½.
    fn noise(seed: u32) -> f64 {
        let mut bits = (seed ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b9);
        bits = (bits ^ (bits >> 15)).wrapping_mul(0x2c1b_3c6d);
        bits = (bits ^ (bits >> 12)).wrapping_mul(0x297a_2d39);
        f64::from(bits ^ (bits >> 15)) / f64::from(u32::MAX) - 0.5
    }

    /// `size`² vertices, 1 m wide, cells leaning by `lean` and vertices off by up to `wander`/2 cells.
    fn grid(size: u32, lean: f64, wander: f64, cut: impl Fn(u32, [u32; 4]) -> Vec<Face>) -> Sheet {
        let cell = 1.0 / f64::from(size - 1);
        let (mut positions, mut faces) = (Vec::new(), Vec::new());
        for z in 0..size {
            for x in 0..size {
                let vertex = z * size + x;
                let along = f64::from(x) + lean * f64::from(z) + wander * noise(2 * vertex);
                let across = f64::from(z) + wander * noise(2 * vertex + 1);
                positions.push([(cell * along) as f32, 0.0, (cell * across) as f32]);
                if x + 1 < size && z + 1 < size {
                    faces.extend(cut(x, [vertex, vertex + size, vertex + size + 1, vertex + 1]));
                }
            }
        }
        (positions, faces)
    }

    fn whole(_: u32, quad: [u32; 4]) -> Vec<Face> {
        vec![Face::Quad(quad)]
    }

    fn halves(_: u32, [a, b, c, d]: [u32; 4]) -> Vec<Face> {
        vec![Face::Triangle([a, b, c]), Face::Triangle([a, c, d])]
    }

    /// Columns of quads and of triangles in turn.
    fn stripes(x: u32, quad: [u32; 4]) -> Vec<Face> {
        if x.is_multiple_of(2) { whole(x, quad) } else { halves(x, quad) }
    }

    /// Rows of equilateral triangles, about 1 m × 1 m.
    fn equilateral(size: u32, wander: f64) -> Sheet {
        let (cell, height) = (1.0 / f64::from(size - 1), 0.75_f64.sqrt());
        let rows = (f64::from(size - 1) / height).round() as u32 + 1;
        let (mut positions, mut faces) = (Vec::new(), Vec::new());
        for z in 0..rows {
            for x in 0..size {
                let vertex = z * size + x;
                let along = f64::from(x) + 0.5 * f64::from(z % 2) + wander * noise(2 * vertex);
                let across = height * f64::from(z) + wander * noise(2 * vertex + 1);
                positions.push([(cell * along) as f32, 0.0, (cell * across) as f32]);
                if x + 1 < size && z + 1 < rows {
                    let [a, b, c, d] = [vertex, vertex + size, vertex + size + 1, vertex + 1];
                    let quad = if z % 2 == 0 { [b, c, d, a] } else { [a, b, c, d] };
                    faces.extend(halves(x, quad));
                }
            }
        }
        (positions, faces)
    }

    fn mixed(size: u32) -> Sheet {
        grid(size, 0.2, 0.3, stripes)
    }

    fn doubles(positions: &[[f32; 3]]) -> Vec<DVec3> {
        (0..positions.len() as u32).map(|vertex| point(positions, vertex)).collect()
    }

    fn area((positions, faces): &Sheet) -> f64 {
        let triangle = |a, b, c| {
            let [a, b, c] = [a, b, c].map(|vertex| point(positions, vertex));
            (b - a).cross(c - a).length() / 2.0
        };
        let face = |face: &Face| match *face {
            Face::Triangle([a, b, c]) => triangle(a, b, c),
            Face::Quad([a, b, c, d]) => triangle(a, b, c) + triangle(a, c, d),
        };
        faces.iter().map(face).sum()
    }

    /// Rolled without strain around a cylinder; the roll runs along `direction`, degrees from x to z.
    fn roll(positions: &[[f32; 3]], radius: f64, direction: f64) -> Vec<DVec3> {
        let (sine, cosine) = direction.to_radians().sin_cos();
        let place = |at: DVec3| {
            let along = (cosine * at.x + sine * at.z) / radius;
            DVec3::new(radius * along.sin(), radius * (1.0 - along.cos()), cosine * at.z - sine * at.x)
        };
        doubles(positions).into_iter().map(place).collect()
    }

    fn spring_energy(pairs: &[Pair], at: &[DVec3]) -> f64 {
        let energy = |pair: &Pair| {
            let [a, b] = pair.ends.map(|end| at[end as usize]);
            0.5 * f64::from(pair.weight) * a.distance_squared(b)
        };
        pairs.iter().map(energy).sum()
    }

    /// With the angles of `fold`, in `f32`.
    fn hinge_energy(hinges: &[Hinge], at: &[DVec3]) -> f64 {
        let energy = |hinge: &Hinge| {
            let (angle, _) = fold(hinge.vertices.map(|vertex| at[vertex as usize].as_vec3())).unwrap();
            0.5 * f64::from(hinge.stiffness) * f64::from(angle - hinge.rest).powi(2)
        };
        hinges.iter().map(energy).sum()
    }

    /// The energy of a sheet rolled to 0.5 m, over ½ k_b · area / R².
    fn stiffness_of_roll(sheet: &Sheet, direction: f64) -> f64 {
        let radius = 0.5;
        let energy = spring_energy(&quadratic(&sheet.0, &sheet.1, 1.0), &roll(&sheet.0, radius, direction));
        energy / (0.5 * area(sheet) / (radius * radius))
    }

    /// Free of the border, whose loss is proportional to the size of the cells.
    fn inside(sheet: impl Fn(u32) -> Sheet, direction: f64) -> f64 {
        2.0 * stiffness_of_roll(&sheet(81), direction) - stiffness_of_roll(&sheet(41), direction)
    }

    fn weight(pairs: &[Pair], a: u32, b: u32) -> f32 {
        let found = pairs.binary_search_by_key(&[a.min(b), a.max(b)], |pair| pair.ends);
        found.map_or(0.0, |index| pairs[index].weight)
    }

    /// Sum of the weights at each vertex: the diagonal of Q.
    fn diagonal(pairs: &[Pair], count: usize) -> Vec<f64> {
        let mut sums = vec![0.0; count];
        for pair in pairs {
            pair.ends.iter().for_each(|&end| sums[end as usize] += f64::from(pair.weight));
        }
        sums
    }

    #[test]
    fn a_square_of_two_triangles_has_the_weights_of_the_paper() {
        // Cotangents 1 and 1 at both ends: K = (2, 2, −2, −2), A₀ + A₁ = 1.
        let positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 1.0]];
        let pairs = quadratic(&positions, &halves(0, [0, 1, 2, 3]), 0.5);
        let expected = [([0, 1], 2.0), ([0, 2], -2.0), ([0, 3], 2.0), ([1, 2], 2.0), ([1, 3], -2.0), ([2, 3], 2.0)];
        assert_eq!(pairs.len(), 6);
        for (pair, (ends, weight)) in pairs.iter().zip(expected) {
            assert_eq!(pair.ends, ends);
            assert!((pair.weight - weight).abs() < 1e-6, "{pair:?}");
        }
    }

    #[test]
    fn a_grid_of_squares_is_the_biharmonic_operator() {
        // The matrix has 20, −8, 2 and 1, over the squared edge, 1/64 m².
        let (positions, faces) = grid(9, 0.0, 0.0, whole);
        let pairs = quadratic(&positions, &faces, 1.0);
        let center = 4 * 9 + 4;
        assert_eq!(pairs.iter().filter(|pair| pair.ends.contains(&center)).count(), 12);
        for (step, expected) in [(1, 8.0), (9, 8.0), (8, -2.0), (10, -2.0), (2, -1.0), (18, -1.0)] {
            for other in [center - step, center + step] {
                let weight = weight(&pairs, center, other) / 64.0;
                assert!((weight - expected).abs() < 1e-5, "{step}: {weight}");
            }
        }
        let diagonal = diagonal(&pairs, positions.len())[center as usize] / 64.0;
        assert!((diagonal - 20.0).abs() < 1e-5, "{diagonal}");
    }

    #[test]
    fn pairs_are_in_canonical_order() {
        let (positions, faces) = mixed(8);
        let pairs = quadratic(&positions, &faces, 1.0);
        assert!(pairs.windows(2).all(|pair| pair[0].ends < pair[1].ends));
        assert!(pairs.iter().all(|pair| pair.ends[0] < pair.ends[1] && pair.weight != 0.0));
    }

    #[test]
    fn the_result_follows_from_the_mesh_alone() {
        let (positions, mut faces) = mixed(8);
        let pairs = quadratic(&positions, &faces, 1.0);
        assert_eq!(pairs, quadratic(&positions, &faces, 1.0));
        assert_eq!(hinges(&positions, &faces, 1.0), hinges(&positions, &faces, 1.0));
        // Another order of faces and of their vertices, and other windings: the same up to rounding.
        faces.reverse();
        for (index, face) in faces.iter_mut().enumerate() {
            match face {
                Face::Triangle(triangle) => triangle.rotate_left(index % 3),
                Face::Quad(quad) => quad.rotate_left(index % 4),
            }
            if noise(index as u32) > 0.0 {
                match face {
                    Face::Triangle(triangle) => triangle.reverse(),
                    Face::Quad(quad) => quad.reverse(),
                }
            }
        }
        let again = quadratic(&positions, &faces, 1.0);
        assert_eq!(pairs.len(), again.len());
        for (one, other) in pairs.iter().zip(&again) {
            assert_eq!(one.ends, other.ends);
            assert!((one.weight - other.weight).abs() < 1e-3, "{one:?} {other:?}");
        }
    }

    #[test]
    fn a_flat_sheet_has_no_energy_wherever_it_is() {
        let turn = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -0.5).normalize(), 1.1);
        for (positions, faces) in [grid(21, 0.0, 0.0, whole), equilateral(21, 0.2), mixed(21)] {
            let flat = doubles(&positions);
            let moved: Vec<DVec3> = flat.iter().map(|&at| turn * at + DVec3::new(3.0, -1.0, 2.0)).collect();
            let pairs = quadratic(&positions, &faces, 1.0);
            for at in [&flat, &moved] {
                // A roll to 0.5 m holds 2 J. Here only the rounding of the weights is left, ...
                let energy = spring_energy(&pairs, at).abs();
                assert!(energy < 1e-4, "{energy}");
                // ... and before that hardly anything.
                let mut exact = 0.0;
                for_each_pair(&positions, &faces, &Fabrics::bending_alone(1.0), |[a, b], weight| {
                    exact += 0.5 * weight * at[a as usize].distance_squared(at[b as usize]);
                });
                assert!(exact.abs() < 1e-11, "{exact}");
            }
        }
    }

    #[test]
    fn a_fold_of_the_rest_shape_does_not_change_the_springs() {
        let turn = DQuat::from_rotation_x(0.7);
        let flat = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.3, 0.0, 0.8], [0.6, 0.0, -0.5]];
        let mut folded = flat;
        folded[3] = (turn * point(&flat, 3)).as_vec3().to_array();
        let faces = [Face::Triangle([0, 1, 2]), Face::Triangle([1, 0, 3])];
        for (one, other) in quadratic(&flat, &faces, 1.0).iter().zip(quadratic(&folded, &faces, 1.0)) {
            assert!((one.weight - other.weight).abs() < 1e-5, "{one:?} {other:?}");
        }
    }

    #[test]
    fn a_rolled_sheet_holds_the_energy_of_a_cylinder() {
        // Along a row the border takes 1/60, in other directions less.
        for direction in [0.0, 22.5, 45.0, 90.0, 135.0] {
            for sheet in [grid(61, 0.0, 0.0, whole), grid(61, 0.3, 0.0, whole), equilateral(61, 0.0)] {
                let ratio = stiffness_of_roll(&sheet, direction);
                assert!((0.98..1.0).contains(&ratio), "{direction}: {ratio}");
            }
        }
        for direction in [0.0, 90.0] {
            let ratio = stiffness_of_roll(&grid(61, 0.0, 0.0, halves), direction);
            assert!((0.98..1.0).contains(&ratio), "{direction}: {ratio}");
        }
        // The diagonal needs no finer sheet.
        let ratio = stiffness_of_roll(&grid(41, 0.0, 0.0, whole), 45.0);
        assert!((0.98..1.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn the_border_of_a_roll_holds_nothing() {
        // 39 folds of 40 cells. A second difference of points on the arc is 4 R sin²(a/2R) long.
        let (radius, cell) = (0.5, 1.0 / 40.0_f64);
        let arc = (2.0 * radius * (cell / (2.0 * radius)).sin() / cell).powi(4);
        let ratio = stiffness_of_roll(&grid(41, 0.0, 0.0, whole), 0.0);
        assert!((ratio - 39.0 / 40.0 * arc).abs() < 1e-4, "{ratio}");
    }

    #[test]
    fn away_from_the_border_a_roll_is_equally_stiff_in_every_direction() {
        for direction in [0.0, 15.0, 30.0, 45.0, 60.0, 90.0, 120.0, 135.0] {
            let squares = inside(|size| grid(size, 0.0, 0.0, whole), direction);
            let leaning = inside(|size| grid(size, 0.5, 0.0, whole), direction);
            let triangles = inside(|size| equilateral(size, 0.0), direction);
            for ratio in [squares, leaning, triangles] {
                assert!((ratio - 1.0).abs() < 2e-3, "{direction}: {ratio}");
            }
        }
    }

    #[test]
    fn irregular_meshes_are_a_little_stiffer() {
        for direction in [0.0, 45.0, 90.0, 135.0] {
            let quads = inside(|size| grid(size, 0.0, 0.2, whole), direction);
            assert!((1.0..1.02).contains(&quads), "{direction}: {quads}");
            let triangles = inside(|size| equilateral(size, 0.15), direction);
            assert!((1.0..1.02).contains(&triangles), "{direction}: {triangles}");
        }
    }

    #[test]
    fn squares_cut_one_way_are_three_times_as_stiff_across_the_cut() {
        for (direction, expected) in [(0.0, 1.0), (45.0, 3.0), (90.0, 1.0), (135.0, 1.0)] {
            let ratio = inside(|size| grid(size, 0.0, 0.0, halves), direction);
            assert!((ratio - expected).abs() < 5e-3, "{direction}: {ratio}");
        }
    }

    /// All eigenvalues of a symmetric matrix, ascending, by Jacobi rotations.
    fn eigenvalues(mut matrix: Vec<Vec<f64>>) -> Vec<f64> {
        let count = matrix.len();
        for _sweep in 0..15 {
            for p in 0..count {
                for q in p + 1..count {
                    if matrix[p][q] == 0.0 {
                        continue;
                    }
                    let ratio = (matrix[q][q] - matrix[p][p]) / (2.0 * matrix[p][q]);
                    let tangent = ratio.signum() / (ratio.abs() + ratio.hypot(1.0));
                    let cosine = tangent.hypot(1.0).recip();
                    let sine = tangent * cosine;
                    for i in 0..count {
                        let (a, b) = (matrix[i][p], matrix[i][q]);
                        (matrix[i][p], matrix[i][q]) = (cosine * a - sine * b, sine * a + cosine * b);
                    }
                    for i in 0..count {
                        let (a, b) = (matrix[p][i], matrix[q][i]);
                        (matrix[p][i], matrix[q][i]) = (cosine * a - sine * b, sine * a + cosine * b);
                    }
                }
            }
        }
        let mut values: Vec<f64> = (0..count).map(|i| matrix[i][i]).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    fn add(matrix: &mut [Vec<f64>], [a, b]: [u32; 2], weight: f64) {
        let (a, b) = (a as usize, b as usize);
        matrix[a][a] += weight;
        matrix[b][b] += weight;
        matrix[a][b] -= weight;
        matrix[b][a] -= weight;
    }

    #[test]
    fn only_flat_sheets_have_no_energy_and_none_has_less() {
        let sheets = [mixed(9), grid(9, 0.0, 0.0, whole), grid(9, 0.7, 0.3, whole), equilateral(8, 0.2)];
        for (positions, faces) in sheets {
            let count = positions.len();
            let mut exact = vec![vec![0.0; count]; count];
            for_each_pair(&positions, &faces, &Fabrics::bending_alone(1.0), |ends, weight| {
                add(&mut exact, ends, weight);
            });
            let mut rounded = vec![vec![0.0; count]; count];
            for pair in quadratic(&positions, &faces, 1.0) {
                add(&mut rounded, pair.ends, pair.weight.into());
            }
            for (matrix, tolerance) in [(exact, 1e-9), (rounded, 1e-7)] {
                assert!((0..count).all(|i| matrix[i][i] > 0.0));
                let values = eigenvalues(matrix);
                let largest = values[count - 1];
                assert!(values[0] >= -tolerance * largest, "{values:?}");
                // The heights of a flat sheet: 1, x and z. Nothing else is free.
                assert!(values[2] <= tolerance * largest, "{values:?}");
                assert!(values[3] >= 1e-5 * largest, "{values:?}");
            }
        }
    }

    #[test]
    fn borders_and_edges_of_three_faces_carry_nothing() {
        let positions =
            [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.0, 1.0], [0.5, 0.0, -1.0], [0.5, 1.0, 0.0], [1.5, 0.0, 1.0]];
        let fan = [Face::Triangle([0, 1, 2]), Face::Triangle([1, 0, 3]), Face::Triangle([0, 1, 4])];
        assert!(quadratic(&positions, &fan[..1], 1.0).is_empty());
        assert_eq!(quadratic(&positions, &fan[..2], 1.0).len(), 6);
        assert!(quadratic(&positions, &fan, 1.0).is_empty());
        assert!(hinges(&positions, &fan, 1.0).is_empty());
        let more = [&fan[..], &[Face::Triangle([1, 5, 2])]].concat();
        assert_eq!(
            hinges(&positions, &more, 1.0).iter().map(|hinge| hinge.vertices).collect::<Vec<_>>(),
            [[1, 2, 0, 5]]
        );
    }

    #[test]
    fn degenerate_triangles_carry_nothing() {
        let positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.0, 1.0], [0.5, 0.0, -1e-13]];
        let faces = [Face::Triangle([0, 1, 2]), Face::Triangle([1, 0, 3])];
        assert!(quadratic(&positions, &faces, 1.0).is_empty());
        assert!(hinges(&positions, &faces, 1.0).is_empty());
    }

    #[test]
    fn a_concave_quad_is_two_triangles() {
        let positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.2, 0.0, 0.2], [0.0, 0.0, 1.0]];
        let quadratic = |faces: &[Face]| quadratic(&positions, faces, 1.0);
        let expected = quadratic(&halves(0, [0, 1, 2, 3]));
        assert_eq!(expected.len(), 6);
        assert_eq!(quadratic(&[Face::Quad([0, 1, 2, 3])]), expected);
        assert_eq!(hinges(&positions, &[Face::Quad([1, 2, 3, 0])], 1.0).len(), 1);
    }

    #[test]
    fn a_quad_that_crosses_itself_carries_nothing() {
        let positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 1.0]];
        assert_eq!(hinges(&positions, &[Face::Quad([0, 1, 2, 3])], 1.0).len(), 2);
        assert!(hinges(&positions, &[Face::Quad([0, 2, 1, 3])], 1.0).is_empty());
        assert!(quadratic(&positions, &[Face::Quad([0, 2, 1, 3])], 1.0).is_empty());
    }

    /// A fold of a given angle, ridge up for a positive one, between uneven triangles.
    fn bent(angle: f32) -> [Vec3; 4] {
        let half = Quat::from_rotation_x(0.5 * angle);
        let first = half.inverse() * Vec3::new(0.02, 0.07, 0.0);
        let second = half * Vec3::new(0.11, -0.09, 0.0);
        [Vec3::ZERO, Vec3::new(0.1, 0.0, 0.0), first, second]
    }

    #[test]
    fn a_fold_measures_twice_the_tangent_of_half_the_angle() {
        for degrees in [-169.0_f32, -90.0, -10.0, -0.01, 0.0, 0.01, 10.0, 90.0, 169.0] {
            let expected = 2.0 * (0.5 * degrees.to_radians()).tan();
            let (angle, _) = fold(bent(degrees.to_radians())).unwrap();
            assert!((angle - expected).abs() <= 1e-4 * expected.abs() + 1e-6, "{degrees}: {angle} {expected}");
        }
        // The wings of a positive fold hang below its edge; normals of both triangles point up.
        let [tail, head, first, second] = bent(0.5);
        assert!(first.z < 0.0 && second.z < 0.0);
        assert!((head - tail).cross(first - tail).z > 0.0 && (second - tail).cross(head - tail).z > 0.0);
    }

    #[test]
    fn a_fold_without_an_angle_is_none() {
        assert!(fold(bent(3.0)).is_none() && fold(bent(-3.0)).is_none());
        let [tail, head, first, second] = bent(0.3);
        assert!(fold([tail, tail, first, second]).is_none());
        assert!(fold([tail, head, tail.lerp(head, 0.4), second]).is_none());
        assert!(fold([tail, head, first, head]).is_none());
        assert!(fold([tail, head, first, Vec3::NAN]).is_none());
        assert!(fold([Vec3::ZERO; 4]).is_none());
        assert!(fold([tail, head, first, second]).is_some());
    }

    /// Four points of a fold of any angle, uneven and turned.
    fn sample(seed: u32) -> [Vec3; 4] {
        let turn = Quat::from_euler(glam::EulerRot::XYZ, seed as f32, 2.0 * seed as f32, 3.0 * seed as f32);
        let mut points = bent(5.8 * noise(1000 + seed) as f32);
        for (index, point) in points.iter_mut().enumerate() {
            let seed = 100 * seed + 10 * index as u32;
            let away = DVec3::new(noise(seed), noise(seed + 1), noise(seed + 2));
            *point = turn * (*point + 0.02 * away.as_vec3()) + Vec3::new(0.3, -0.2, 0.1);
        }
        points
    }

    #[test]
    fn the_gradient_of_a_fold_is_that_of_differences() {
        let step = 1e-6;
        let mut checked = 0;
        for seed in 0..200 {
            let points = sample(seed);
            let Some((angle, gradient)) = fold(points) else { continue };
            let exact = points.map(Vec3::as_dvec3);
            let expected = rest(exact).unwrap();
            assert!((f64::from(angle) - expected).abs() < 1e-4 * (1.0 + expected * expected), "{angle} {expected}");
            let size = gradient.iter().map(|part| part.length()).fold(0.0, f32::max);
            for vertex in 0..4 {
                for axis in 0..3 {
                    let at = |offset: f64| {
                        let mut moved = exact;
                        moved[vertex][axis] += offset;
                        rest(moved).unwrap()
                    };
                    let difference = (at(step) - at(-step)) / (2.0 * step);
                    let error = (f64::from(gradient[vertex][axis]) - difference).abs();
                    assert!(error < 1e-3 * f64::from(size), "{seed} {vertex} {axis}: {error} of {size}");
                }
            }
            checked += 1;
        }
        assert!(checked > 150, "{checked}");
    }

    #[test]
    fn a_fold_does_not_depend_on_place_and_direction() {
        let turn = Quat::from_axis_angle(Vec3::new(-1.0, 0.4, 2.0).normalize(), 2.0);
        for seed in 0..200 {
            let points = sample(seed);
            let Some((angle, gradient)) = fold(points) else { continue };
            let moved = points.map(|point| turn * point + Vec3::new(0.5, 1.0, -0.7));
            let Some((turned, turned_gradient)) = fold(moved) else { continue };
            let scale = 1.0 + angle * angle;
            assert!((angle - turned).abs() < 2e-4 * scale, "{seed}: {angle} {turned}");
            let size = gradient.iter().map(|part| part.length()).fold(0.0, f32::max);
            for (part, turned) in gradient.iter().zip(turned_gradient) {
                assert!((turn * *part).distance(turned) < 1e-3 * size, "{seed}: {part} {turned}");
            }
            // No force and no torque in sum.
            let force: Vec3 = gradient.iter().sum();
            let torque: Vec3 = gradient.iter().zip(points).map(|(part, point)| point.cross(*part)).sum();
            assert!(force.length() < 1e-5 * size && torque.length() < 1e-5 * size, "{seed}: {force} {torque}");
        }
    }

    #[test]
    fn both_models_agree_for_small_folds() {
        for sheet in [grid(31, 0.0, 0.0, whole), mixed(31), equilateral(31, 0.2), grid(31, 0.5, 0.2, whole)] {
            let (pairs, hinges) = (quadratic(&sheet.0, &sheet.1, 0.3), hinges(&sheet.0, &sheet.1, 0.3));
            let wave = |at: &DVec3| DVec3::new(at.x, 0.01 * (5.0 * at.x).sin() * (4.0 * at.z + 1.0).cos(), at.z);
            let wavy: Vec<DVec3> = doubles(&sheet.0).iter().map(wave).collect();
            for at in [wavy, roll(&sheet.0, 1.0, 20.0)] {
                let (springs, folds) = (spring_energy(&pairs, &at), hinge_energy(&hinges, &at));
                assert!(springs > 1e-3 && (folds / springs - 1.0).abs() < 0.01, "{springs} {folds}");
            }
        }
    }

    #[test]
    fn hinges_keep_a_curved_rest_shape() {
        let turn = DMat3::from_quat(DQuat::from_axis_angle(DVec3::new(0.3, -1.0, 0.2).normalize(), 0.9));
        for (positions, faces) in [grid(21, 0.0, 0.0, whole), mixed(21), equilateral(21, 0.2)] {
            let curved = roll(&positions, 0.3, 30.0);
            let shape: Vec<[f32; 3]> = curved.iter().map(|at| at.as_vec3().to_array()).collect();
            let hinges = hinges(&shape, &faces, 1.0);
            let flat = hinge_energy(&hinges, &doubles(&positions));
            assert!(flat > 4.0, "{flat}");
            let moved: Vec<DVec3> = doubles(&shape).iter().map(|&at| turn * at + DVec3::new(0.1, 2.0, -0.3)).collect();
            for at in [doubles(&shape), moved] {
                let energy = hinge_energy(&hinges, &at);
                assert!(energy < 1e-6, "{energy}");
            }
        }
    }

    #[test]
    fn a_quad_with_two_raised_corners_has_a_ridge_and_a_valley() {
        // Seen from +y, to which the normal points. Both folds: tan(θ/2) is the height of the raised
        // diagonal above the other, 0.1, over half a diagonal.
        let positions = [[0.0, 0.1, 0.0], [0.0, 0.0, 1.0], [1.0, 0.1, 1.0], [1.0, 0.0, 0.0]];
        let hinges = hinges(&positions, &[Face::Quad([0, 1, 2, 3])], 1.0);
        let expected = 0.2 * 2.0_f32.sqrt();
        assert_eq!(hinges.iter().map(|hinge| hinge.vertices).collect::<Vec<_>>(), [[0, 2, 3, 1], [1, 3, 0, 2]]);
        assert!((hinges[0].rest - expected).abs() < 1e-6, "{hinges:?}");
        assert!((hinges[1].rest + expected).abs() < 1e-6, "{hinges:?}");
    }

    #[test]
    fn a_sphere_wound_outwards_has_positive_hinges() {
        // An octahedron: every fold is the angle between neighboring normals, cos θ = 1/3.
        let positions =
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]];
        let faces = [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]];
        let hinges = hinges(&positions, &faces.map(Face::Triangle), 2.0);
        assert_eq!(hinges.len(), 12);
        for hinge in hinges {
            // 2 tan(θ/2) = √2; k_b |e|²/(A₀ + A₁) = 2 · 2/√3.
            assert!((hinge.rest - 2.0_f32.sqrt()).abs() < 1e-6, "{hinge:?}");
            assert!((hinge.stiffness - 4.0 / 3.0_f32.sqrt()).abs() < 1e-6, "{hinge:?}");
        }
    }
}
