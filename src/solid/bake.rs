//! Signed distances at the nodes of a lattice around a body, in three passes.
//!
//! 1. Near the surface, every triangle offers its exact distance to the nodes within [`BAND`] cells.
//! 2. Sweeps carry the number of the nearest triangle outward from node to node (closest-point
//!    propagation, after Tsai, "Rapid and accurate computation of the distance function using grids",
//!    2002); each node keeps the exact distance to the nearest triangle it heard of.
//! 3. The sign comes from the winding number: along each row, crossings of the surface are counted
//!    with their direction. Corners are rounded to fixed-point numbers and crossings decided in
//!    integers, so that no row slips through between two triangles.
//!
//! The first and the last pass work on one layer of nodes at a time and never look at another, so
//! the results do not depend on how many threads share the layers.

use glam::DVec3;

use super::body::Body;

/// Nodes at most this many cells from the surface have exact distances.
pub(super) const BAND: f64 = 3.0;

/// Stands for no triangle; [`Body::new`] accepts fewer.
const NONE: u32 = u32::MAX;
/// Fixed-point steps per cell. A lattice has fewer than 2⁹ cells per side, so the products of two
/// differences stay below 2⁵⁹ and their sums fit an `i64`.
const STEPS: i64 = 1 << 20;
/// A triangle whose height is this small a part of its longest side is taken for its three sides.
const SLIVER: f64 = 1e-10;
/// Blocks of at most so many nodes are not split further.
const BLOCK: usize = 16;

/// Where the nodes are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lattice {
    /// The first node, m.
    pub(super) origin: DVec3,
    /// Distance of neighboring nodes, m.
    pub(super) spacing: f64,
    /// Nodes along x, y and z.
    pub(super) counts: [usize; 3],
}

impl Lattice {
    /// The place with these coordinates in cells, m.
    pub(super) fn place(&self, x: f64, y: f64, z: f64) -> DVec3 {
        self.origin + self.spacing * DVec3::new(x, y, z)
    }

    pub(super) fn node(&self, x: usize, y: usize, z: usize) -> DVec3 {
        self.place(x as f64, y as f64, z as f64)
    }

    fn cells(&self, place: DVec3) -> DVec3 {
        (place - self.origin) / self.spacing
    }
}

/// Signed distances, m, negative inside; x runs fastest, then y, then z.
pub(super) fn bake(body: &Body, lattice: &Lattice) -> Vec<f32> {
    let faces: Vec<Face> =
        body.triangles().iter().map(|&triangle| Face::new(body.corners(triangle), lattice)).collect();
    let [width, height, depth] = lattice.counts;
    let mut distances = vec![f32::INFINITY; width * height * depth];
    let mut nearest = vec![NONE; distances.len()];
    for_each_layer(&mut distances, &mut nearest, width * height, |z, distances, nearest| {
        Layer { lattice, z, distances, nearest }.measure(&faces);
    });
    sweep(lattice, &faces, &mut distances, &mut nearest);
    for_each_layer(&mut distances, &mut nearest, width * height, |z, distances, _| {
        sign(lattice, &faces, z, distances);
    });
    distances
}

#[cfg(not(feature = "parallel"))]
fn for_each_layer(
    distances: &mut [f32],
    nearest: &mut [u32],
    size: usize,
    work: impl Fn(usize, &mut [f32], &mut [u32]),
) {
    let layers = distances.chunks_mut(size).zip(nearest.chunks_mut(size));
    layers.enumerate().for_each(|(z, (distances, nearest))| work(z, distances, nearest));
}

#[cfg(feature = "parallel")]
fn for_each_layer(
    distances: &mut [f32],
    nearest: &mut [u32],
    size: usize,
    work: impl Fn(usize, &mut [f32], &mut [u32]) + Sync,
) {
    use rayon::prelude::*;
    let layers = distances.par_chunks_mut(size).zip(nearest.par_chunks_mut(size));
    layers.enumerate().for_each(|(z, (distances, nearest))| work(z, distances, nearest));
}

/// A triangle, prepared for many distances.
struct Face {
    corners: [DVec3; 3],
    /// Side i runs from corner i to the next.
    sides: [DVec3; 3],
    /// 1 / |side|², or zero for a side without length.
    inverses: [f64; 3],
    /// Twice the area, or zero for a sliver.
    normal: DVec3,
    /// 1 / |normal|², or zero for a sliver.
    inverse: f64,
    /// The middle of the corners, and how far the farthest is from it.
    middle: DVec3,
    radius: f64,
    /// First and last node within the band of the box around the triangle, along x, y and z.
    reach: [[usize; 2]; 3],
}

impl Face {
    fn new(corners: [DVec3; 3], lattice: &Lattice) -> Self {
        let [a, b, c] = corners;
        let sides = [b - a, c - b, a - c];
        let squares = sides.map(DVec3::length_squared);
        let inverses = squares.map(|square| if square > 0.0 { 1.0 / square } else { 0.0 });
        let longest = squares[0].max(squares[1]).max(squares[2]);
        let normal = sides[0].cross(-sides[2]);
        let (normal, inverse) = if normal.length() > SLIVER * longest {
            (normal, 1.0 / normal.length_squared())
        } else {
            (DVec3::ZERO, 0.0)
        };
        let middle = (a + b + c) / 3.0;
        let radius = corners.map(|corner| corner.distance(middle)).into_iter().fold(0.0, f64::max);
        let low = (lattice.cells(a.min(b).min(c)) - BAND).floor().to_array();
        let high = (lattice.cells(a.max(b).max(c)) + BAND).ceil().to_array();
        let reach = [0, 1, 2].map(|axis| {
            let last = (lattice.counts[axis] - 1) as f64;
            [low[axis].clamp(0.0, last) as usize, high[axis].clamp(0.0, last) as usize]
        });
        Self { corners, sides, inverses, normal, inverse, middle, radius, reach }
    }

    /// The distance, if it is below `best`. The ball around the triangle tells most that are not.
    fn nearer(&self, place: DVec3, best: f32) -> Option<f32> {
        let reach = self.radius + f64::from(best);
        if self.middle.distance_squared(place) > reach * reach {
            return None;
        }
        Some(self.distance(place) as f32).filter(|&distance| distance < best)
    }

    fn distance(&self, place: DVec3) -> f64 {
        let offsets = self.corners.map(|corner| place - corner);
        if self.inverse > 0.0 {
            let outside = |corner: usize| self.sides[corner].cross(self.normal).dot(offsets[corner]) > 0.0;
            if !outside(0) && !outside(1) && !outside(2) {
                return self.normal.dot(offsets[0]).abs() * self.inverse.sqrt();
            }
        }
        let square = |corner: usize| {
            let (side, offset) = (self.sides[corner], offsets[corner]);
            let part = (offset.dot(side) * self.inverses[corner]).clamp(0.0, 1.0);
            (offset - part * side).length_squared()
        };
        square(0).min(square(1)).min(square(2)).sqrt()
    }
}

/// One layer of nodes, all with the same z.
struct Layer<'a> {
    lattice: &'a Lattice,
    z: usize,
    distances: &'a mut [f32],
    nearest: &'a mut [u32],
}

impl Layer<'_> {
    fn measure(&mut self, faces: &[Face]) {
        for (index, face) in faces.iter().enumerate() {
            let [columns, rows, layers] = face.reach;
            if (layers[0]..=layers[1]).contains(&self.z) {
                self.visit(face, index as u32, columns, rows);
            }
        }
    }

    /// Offers a triangle to the nodes of a block, but not to parts of it that are out of the band: a
    /// long slanted triangle comes near few of the nodes in the box around it.
    fn visit(&mut self, face: &Face, index: u32, columns: [usize; 2], rows: [usize; 2]) {
        let (wide, high) = (columns[1] - columns[0], rows[1] - rows[0]);
        if (wide + 1) * (high + 1) <= BLOCK {
            return self.offer(face, index, columns, rows);
        }
        let middle = |range: [usize; 2]| 0.5 * (range[0] + range[1]) as f64;
        let radius = 0.5 * (wide as f64).hypot(high as f64);
        let center = self.lattice.place(middle(columns), middle(rows), self.z as f64);
        if face.distance(center) > (radius + BAND) * self.lattice.spacing {
            return;
        }
        if wide > high {
            let half = columns[0] + wide / 2;
            self.visit(face, index, [columns[0], half], rows);
            self.visit(face, index, [half + 1, columns[1]], rows);
        } else {
            let half = rows[0] + high / 2;
            self.visit(face, index, columns, [rows[0], half]);
            self.visit(face, index, columns, [half + 1, rows[1]]);
        }
    }

    fn offer(&mut self, face: &Face, index: u32, columns: [usize; 2], rows: [usize; 2]) {
        for y in rows[0]..=rows[1] {
            for x in columns[0]..=columns[1] {
                let node = x + self.lattice.counts[0] * y;
                // Of triangles equally near, the first stays.
                if let Some(distance) = face.nearer(self.lattice.node(x, y, self.z), self.distances[node]) {
                    self.distances[node] = distance;
                    self.nearest[node] = index;
                }
            }
        }
    }
}

/// Sweeps once in each of the eight diagonal directions. Each node outside the band looks at the
/// seven neighbors behind it. A sweep reaches all nodes ahead of the band in its direction, so that
/// after the last each node knows a triangle.
fn sweep(lattice: &Lattice, faces: &[Face], distances: &mut [f32], nearest: &mut [u32]) {
    let [width, height, depth] = lattice.counts;
    let band = (BAND * lattice.spacing) as f32;
    for direction in 0..8 {
        let turn = |axis: usize, place: usize| {
            if direction & (1 << axis) != 0 { lattice.counts[axis] - 1 - place } else { place }
        };
        for layer in 0..depth {
            for row in 0..height {
                for column in 0..width {
                    let (x, y, z) = (turn(0, column), turn(1, row), turn(2, layer));
                    let node = x + width * (y + height * z);
                    if distances[node] <= band {
                        continue;
                    }
                    // One step back, or none at the beginning.
                    let back = [
                        turn(0, column.saturating_sub(1)),
                        width * turn(1, row.saturating_sub(1)),
                        width * height * turn(2, layer.saturating_sub(1)),
                    ];
                    let place = lattice.node(x, y, z);
                    let here = [x, width * y, width * height * z];
                    hear(node, place, neighbors(here, back), faces, distances, nearest);
                }
            }
        }
    }
}

/// Takes over the nearest of the triangles that are nearest to the neighbors.
fn hear(node: usize, place: DVec3, neighbors: [usize; 7], faces: &[Face], distances: &mut [f32], nearest: &mut [u32]) {
    let mut heard = nearest[node];
    for neighbor in neighbors {
        let index = nearest[neighbor];
        // Neighbors mostly say the same.
        if index == NONE || index == heard || index == nearest[node] {
            continue;
        }
        heard = index;
        if let Some(distance) = faces[index as usize].nearer(place, distances[node]) {
            distances[node] = distance;
            nearest[node] = index;
        }
    }
}

/// The nodes one step back along one, two or three axes.
fn neighbors(here: [usize; 3], back: [usize; 3]) -> [usize; 7] {
    [
        back[0] + here[1] + here[2],
        here[0] + back[1] + here[2],
        here[0] + here[1] + back[2],
        back[0] + back[1] + here[2],
        back[0] + here[1] + back[2],
        here[0] + back[1] + back[2],
        back[0] + back[1] + back[2],
    ]
}

/// Makes the distances inside negative: where the winding number is above zero.
fn sign(lattice: &Lattice, faces: &[Face], z: usize, distances: &mut [f32]) {
    let [width, height, _] = lattice.counts;
    // By how much the winding number rises from the node before to this one.
    let mut rises = vec![0_i32; distances.len()];
    for face in faces {
        if (face.reach[2][0]..=face.reach[2][1]).contains(&z) {
            cross(lattice, face, z, &mut rises);
        }
    }
    for row in 0..height {
        let mut winding = 0;
        for node in row * width..(row + 1) * width {
            winding += rises[node];
            if winding > 0 {
                distances[node] = -distances[node];
            }
        }
    }
}

/// Counts where the rows of a layer cross a triangle.
fn cross(lattice: &Lattice, face: &Face, z: usize, rises: &mut [i32]) {
    let [width, height, _] = lattice.counts;
    let mut corners = face.corners.map(|corner| Corner::new(lattice.cells(corner)));
    let area = corners[0].turn(corners[1], corners[2]);
    // A triangle along the rows has no area seen along them; its neighbors are crossed instead.
    if area == 0 {
        return;
    }
    // A row that meets the front of a triangle, whose normal points against the row, enters the body.
    let rise = if area < 0 { 1 } else { -1 };
    if area < 0 {
        corners.swap(1, 2);
    }
    let [a, b, c] = corners;
    let (low, high) = (a.y.min(b.y).min(c.y), a.y.max(b.y).max(c.y));
    // Rounded outward, so that no row is lost.
    let first = low.div_euclid(STEPS).max(0);
    let last = (high.div_euclid(STEPS) + 1).min(height as i64 - 1);
    for y in first..=last {
        let row = Corner { x: 0.0, y: y * STEPS, z: z as i64 * STEPS };
        if !(a.left(b, row) && b.left(c, row) && c.left(a, row)) {
            continue;
        }
        // Barycentric coordinates times the area.
        let weights = [b.turn(c, row), c.turn(a, row), a.turn(b, row)].map(|weight| weight as f64);
        let x = (weights[0] * a.x + weights[1] * b.x + weights[2] * c.x) / area.abs() as f64;
        let node = x.ceil().max(0.0) as usize;
        if node < width {
            rises[y as usize * width + node] += rise;
        }
    }
}

/// A corner of a triangle seen along x: x in cells, y and z in fixed-point steps.
#[derive(Clone, Copy)]
struct Corner {
    x: f64,
    y: i64,
    z: i64,
}

impl Corner {
    fn new(cells: DVec3) -> Self {
        let fixed = |value: f64| (value * STEPS as f64).round() as i64;
        Self { x: cells.x, y: fixed(cells.y), z: fixed(cells.z) }
    }

    /// Twice the signed area of the triangle of this corner and two more, seen along x.
    fn turn(self, next: Self, last: Self) -> i64 {
        (next.y - self.y) * (last.z - self.z) - (next.z - self.z) * (last.y - self.y)
    }

    /// Whether a row is left of the side from this corner to the next. A row right on it is taken to
    /// lie further by ε along y and ε² along z (simulation of simplicity, Edelsbrunner and Mücke 1990):
    /// then it is never on a side or a corner, and crosses exactly one of the triangles around it.
    fn left(self, next: Self, row: Self) -> bool {
        let area = self.turn(next, row);
        area > 0 || area == 0 && (next.z < self.z || next.z == self.z && next.y > self.y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangle_without_area_is_as_far_as_its_sides() {
        let lattice = Lattice { origin: DVec3::ZERO, spacing: 0.1, counts: [20; 3] };
        let along = DVec3::new(0.6, 0.0, 0.8);
        // On a line, nearly on a line, two corners in one place, and all three.
        let triangles = [
            ([DVec3::ZERO, 0.3 * along, along], 1.0),
            ([DVec3::ZERO, 0.3 * along + 1e-16 * DVec3::Y, along], 1.0),
            ([DVec3::ZERO, along, along], 1.0),
            ([DVec3::ZERO; 3], 0.0),
        ];
        for (corners, length) in triangles {
            let face = Face::new(corners, &lattice);
            for part in [-0.5, 0.0, 0.2, 0.3, 0.7, 1.0, 1.5_f64] {
                for aside in [0.0, 0.01, 2.0] {
                    let place = part * along + aside * DVec3::Y;
                    let expected = (part - part.clamp(0.0, length)).hypot(aside);
                    assert!((face.distance(place) - expected).abs() < 1e-15, "{corners:?} {part} {aside}");
                }
            }
        }
    }

    #[test]
    fn a_triangle_is_nearest_with_its_inside_a_side_or_a_corner() {
        let lattice = Lattice { origin: DVec3::ZERO, spacing: 0.1, counts: [20; 3] };
        let face = Face::new([DVec3::ZERO, DVec3::X, DVec3::Y], &lattice);
        let half = 0.5_f64.sqrt();
        let places =
            [([0.2, 0.2, -0.7], 0.7), ([0.5, -3.0, 4.0], 5.0), ([1.0, 1.0, 0.0], half), ([-2.0, -1.0, 2.0], 3.0)];
        for (place, expected) in places {
            let distance = face.distance(DVec3::from_array(place));
            assert!((distance - expected).abs() < 1e-15, "{place:?}: {distance}");
        }
        let place = DVec3::new(0.2, 0.2, -0.7);
        assert_eq!(face.nearer(place, 0.7), None);
        assert_eq!(face.nearer(place, 0.70001), Some(0.7));
        assert_eq!(face.nearer(place, f32::INFINITY), Some(0.7));
    }
}
