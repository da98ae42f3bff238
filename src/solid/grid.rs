//! Signed distances to a body on a regular grid.

use glam::{DVec3, UVec3, Vec3};

use super::bake::{Lattice, bake};
use super::body::Body;
use crate::error::{Error, Result};

/// Cells around the body, together on both sides: two and a half on each.
const PADDING: f64 = 5.0;
/// Spacing over the distance of neighboring `f32` at the farthest coordinate, at least: below it,
/// nodes and points between them would be rounded by a noticeable part of a cell.
const FINENESS: f64 = 16.0;
/// The shortest spacing, m: its square is a normal `f32`.
const SHORTEST: f64 = 1e-18;

/// The signed distance to a body, m, at the nodes of a grid: negative inside.
///
/// Distances are exact, but for rounding, at nodes within three cells of the surface. Farther out they are
/// the exact distance to a triangle that is nearest or nearly so: never too short, and too long by a few
/// hundredths of a cell at some nodes. Signs are right at every node that is farther than a millionth of a
/// cell from the surface, however thin the part it lies in; but a part thinner than a cell may lie between all
/// nodes, and then [`Grid::sample`] does not see it: give such parts a finer grid. Where parts of a body
/// overlap, the sign is that of their union, and the distance that to the nearest surface of any part.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    origin: [f32; 3],
    spacing: f32,
    counts: [u32; 3],
    distances: Vec<f32>,
}

impl Grid {
    /// The distances around a body. `resolution`, from 8 to 256, counts the cells along the longest
    /// side of the box around it; the grid is at least two cells wider on every side.
    ///
    /// `memory_limit_bytes` bounds [`Grid::bytes`]. Baking takes as much again, and about 300 bytes per
    /// triangle. The same body gives the same bits, on one thread or many.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the resolution is out of range, or so fine, so far from the origin, that
    /// `f32` coordinates cannot tell nodes apart; [`Error::GridMemory`] if the grid would be too large.
    pub fn bake(body: &Body, resolution: u32, memory_limit_bytes: u64) -> Result<Self> {
        if !(8..=256).contains(&resolution) {
            let value = resolution.into();
            return Err(Error::OutOfRange { field: "resolution", index: None, value, expected: "between 8 and 256" });
        }
        let (low, high) = body.bounds();
        let extent = high - low;
        let spacing = (extent.max_element() / f64::from(resolution)) as f32;
        let farthest = low.abs().max_element().max(high.abs().max_element());
        if f64::from(spacing) < (FINENESS * f64::from(f32::EPSILON) * farthest).max(SHORTEST) {
            let (value, expected) = (resolution.into(), "so coarse that 32-bit coordinates tell nodes apart");
            return Err(Error::OutOfRange { field: "resolution", index: None, value, expected });
        }
        // The spacing is rounded: a side of exactly `resolution` cells must not become one cell more.
        let cells = (extent / f64::from(spacing) - 1e-3).ceil() + PADDING;
        let counts = cells.to_array().map(|cells| cells as u32 + 1);
        let needed = counts.iter().map(|&count| u64::from(count)).product::<u64>() * size_of::<f32>() as u64;
        if needed > memory_limit_bytes {
            return Err(Error::GridMemory { needed, limit: memory_limit_bytes });
        }
        let origin = (0.5 * (low + high) - 0.5 * f64::from(spacing) * cells).as_vec3().to_array();
        let mut grid = Self { origin, spacing, counts, distances: Vec::new() };
        grid.distances = bake(body, &grid.lattice());
        Ok(grid)
    }

    /// Memory of the distances.
    pub fn bytes(&self) -> u64 {
        size_of_val(self.distances.as_slice()) as u64
    }

    /// The first node, m.
    pub fn origin(&self) -> [f32; 3] {
        self.origin
    }

    /// Distance of neighboring nodes, m.
    pub fn spacing(&self) -> f32 {
        self.spacing
    }

    /// Nodes along x, y and z, at least two each.
    pub fn counts(&self) -> [u32; 3] {
        self.counts
    }

    /// One distance per node, m: that of node (x, y, z) is number `x + counts[0] * (y + counts[1] * z)`.
    pub fn distances(&self) -> &[f32] {
        &self.distances
    }

    /// The distance at a point, m, interpolated between the eight nodes around it, and its gradient.
    ///
    /// The gradient is that of the interpolation itself, which jumps between cells, and is about as long
    /// as 1, not exactly. Between nodes the distance is off by at most √3/2 spacings, and much less where the
    /// surface is smooth. Outside the grid the distance to the grid is added to the value where that
    /// is nearest: this is not less than the true distance, which in turn is not less than
    /// √(value² + added²), since the grid is convex and holds the whole body.
    pub fn sample(&self, point: [f32; 3]) -> (f32, [f32; 3]) {
        let (distance, gradient) =
            interpolate(self.origin.into(), self.spacing, self.counts.into(), &self.distances, point.into());
        (distance, gradient.to_array())
    }

    fn lattice(&self) -> Lattice {
        Lattice {
            origin: DVec3::from_array(self.origin.map(f64::from)),
            spacing: self.spacing.into(),
            counts: self.counts.map(|count| count as usize),
        }
    }
}

/// [`Grid::sample`] of a grid in parts; `grid_distance` of `shaders/contact.wgsl` is its twin.
pub(crate) fn interpolate(origin: Vec3, spacing: f32, counts: UVec3, distances: &[f32], point: Vec3) -> (f32, Vec3) {
    let last = (counts - UVec3::ONE).as_vec3();
    // In cells.
    let place = (point - origin) / spacing;
    let inside = place.max(Vec3::ZERO).min(last);
    let cell = inside.floor().min(last - Vec3::ONE);
    let part = inside - cell;

    let row = counts.x as usize;
    let layer = row * counts.y as usize;
    let node = cell.x as usize + row * cell.y as usize + layer * cell.z as usize;
    let a000 = distances[node];
    let a100 = distances[node + 1];
    let a010 = distances[node + row];
    let a110 = distances[node + row + 1];
    let a001 = distances[node + layer];
    let a101 = distances[node + layer + 1];
    let a011 = distances[node + layer + row];
    let a111 = distances[node + layer + row + 1];

    // Along x, then y, then z; each gradient interpolates the differences along its own axis.
    let b00 = a000 + part.x * (a100 - a000);
    let b10 = a010 + part.x * (a110 - a010);
    let b01 = a001 + part.x * (a101 - a001);
    let b11 = a011 + part.x * (a111 - a011);
    let c0 = b00 + part.y * (b10 - b00);
    let c1 = b01 + part.y * (b11 - b01);
    let value = c0 + part.z * (c1 - c0);

    let x0 = (a100 - a000) + part.y * ((a110 - a010) - (a100 - a000));
    let x1 = (a101 - a001) + part.y * ((a111 - a011) - (a101 - a001));
    let gradient_x = x0 + part.z * (x1 - x0);
    let gradient_y = (b10 - b00) + part.z * ((b11 - b01) - (b10 - b00));
    let mut gradient = Vec3::new(gradient_x, gradient_y, c1 - c0) / spacing;

    // Outside the grid the interpolated value does not change along the axes that are clamped.
    let beyond = (place - inside) * spacing;
    let added = beyond.length();
    if added > 0.0 {
        gradient = Vec3::select(beyond.cmpeq(Vec3::ZERO), gradient, Vec3::ZERO) + beyond / added;
    }
    (value + added, gradient)
}

#[cfg(test)]
mod tests {
    use glam::DQuat;

    use super::*;
    use crate::solid::judge::{self, Random};
    use crate::solid::lathe::{icosphere, mannequin};

    const PLENTY: u64 = 1 << 30;

    fn sample(grid: &Grid, point: Vec3) -> (f32, Vec3) {
        let (distance, gradient) = grid.sample(point.to_array());
        (distance, gradient.into())
    }

    fn slanted() -> DQuat {
        DQuat::from_axis_angle(DVec3::new(0.3, 0.5, -0.8).normalize(), 0.7)
    }

    /// The lowest and the highest node, m.
    fn ends(grid: &Grid) -> (DVec3, DVec3) {
        let [x, y, z] = grid.lattice().counts;
        (grid.lattice().node(0, 0, 0), grid.lattice().node(x - 1, y - 1, z - 1))
    }

    /// Every node with its place and its distance.
    fn nodes(grid: &Grid) -> impl Iterator<Item = (DVec3, f64)> {
        let [width, height, _] = grid.lattice().counts;
        grid.distances.iter().enumerate().map(move |(node, &distance)| {
            let (x, y, z) = (node % width, node / width % height, node / width / height);
            (grid.lattice().node(x, y, z), f64::from(distance))
        })
    }

    /// `count` random points in the grid, with their `f32` coordinates.
    fn points(grid: &Grid, count: usize) -> Vec<Vec3> {
        let (low, high) = ends(grid);
        let mut random = Random(7);
        (0..count).map(|_| random.point(low, high).as_vec3()).collect()
    }

    /// Judges nodes (one in `stride`): signs, exact distances in the band, and beyond it distances that are never
    /// too short and too long by less than `late` cells.
    fn judge_nodes(grid: &Grid, body: &Body, stride: usize, late: f64) {
        let spacing = f64::from(grid.spacing);
        for (place, distance) in nodes(grid).step_by(stride) {
            let exact = judge::distance(body, place);
            let excess = (distance.abs() - exact) / spacing;
            // Distances are rounded to 24 bits.
            let rounding = 1e-7 * exact / spacing;
            let most = if exact <= 3.0 * spacing { rounding } else { rounding + late };
            assert!((-rounding..=most).contains(&excess), "{place}: off by {excess} cells at {exact} m");
            if exact > 1e-6 * spacing {
                assert_eq!(distance < 0.0, judge::inside(body, place), "{place}");
            }
        }
    }

    /// How far from the surface the sign of a sample is wrong, in cells, at 10,000 random points.
    fn wrong_signs_within(grid: &Grid, body: &Body) -> f64 {
        let mut farthest = 0.0_f64;
        for point in points(grid, 10_000) {
            let (distance, _) = sample(grid, point);
            if (distance < 0.0) != judge::inside(body, point.as_dvec3()) {
                farthest = farthest.max(judge::distance(body, point.as_dvec3()));
            }
        }
        farthest / f64::from(grid.spacing)
    }

    #[test]
    fn a_sphere_is_sampled_to_a_fiftieth_of_a_cell() {
        let body = icosphere(0.3, 5);
        let grid = Grid::bake(&body, 48, PLENTY).unwrap();
        let spacing = f64::from(grid.spacing);
        assert!((spacing - 0.0125).abs() < 1e-8);
        // Interpolation is off by at most spacing² / 8 times the sum of second derivatives, 2 / radius,
        // anywhere in the cell, and the flat triangles lie up to this depth below the sphere.
        let middles = body.triangles().iter().map(|&triangle| body.corners(triangle).into_iter().sum::<DVec3>() / 3.0);
        let depth = middles.map(|middle| f64::from(0.3_f32) - middle.length()).fold(0.0, f64::max);
        let bound = |radius: f64| spacing / (4.0 * (radius - 3.0_f64.sqrt() * spacing)) + depth / spacing;
        let (mut near, mut inner, mut slope) = (0.0_f64, 0.0_f64, 0.0_f64);
        for point in points(&grid, 50_000) {
            let radius = point.as_dvec3().length();
            let (distance, gradient) = sample(&grid, point);
            let error = (f64::from(distance) - (radius - f64::from(0.3_f32))).abs() / spacing;
            if radius > 0.3 - 2.0 * spacing {
                near = near.max(error);
            } else if radius > 0.1 {
                inner = inner.max(error);
            }
            if (radius - 0.3).abs() < spacing {
                slope = slope.max(f64::from(gradient.length() - 1.0).abs());
                assert!(gradient.as_dvec3().normalize().dot(point.as_dvec3()) / radius > 0.9985);
            }
        }
        let bounds = [bound(0.3 - 2.0 * spacing), bound(0.1)];
        assert!(bounds[0] < 0.0192 && bounds[1] < 0.048, "{bounds:?}");
        assert!(near < bounds[0] && near > 0.5 * bounds[0], "{near}");
        assert!(inner < bounds[1] && inner > 0.5 * bounds[1], "{inner}");
        // Differences over a cell stand for derivatives at its middle: the length is off by at most spacing / (√3
        // radius).
        assert!(slope < 0.025, "{slope}");
    }

    #[test]
    fn a_gradient_is_the_slope_of_the_samples() {
        let grid = Grid::bake(&mannequin(16), 16, PLENTY).unwrap();
        let (low, high) = ends(&grid);
        let mut random = Random(3);
        let mut checked = 0;
        for _ in 0..2000 {
            // Also outside the grid.
            let point = random.point(low - 0.3, high + 0.3).as_vec3();
            let step = 0.02 * grid.spacing;
            let added = (point - point.max(low.as_vec3()).min(high.as_vec3())).length();
            // Close to an edge of the grid, but outside, the slope turns too fast for differences.
            if added > 0.0 && added < grid.spacing {
                continue;
            }
            let (_, gradient) = sample(&grid, point);
            for axis in [Vec3::X, Vec3::Y, Vec3::Z] {
                let cell = |point: Vec3| ((point - Vec3::from_array(grid.origin)) / grid.spacing).floor();
                if cell(point + step * axis) != cell(point - step * axis) {
                    continue;
                }
                let rise = sample(&grid, point + step * axis).0 - sample(&grid, point - step * axis).0;
                assert!((rise / (2.0 * step) - gradient.dot(axis)).abs() < 2e-3, "{point} {axis}");
                checked += 1;
            }
        }
        assert!(checked > 4000, "{checked}");
    }

    #[test]
    fn outside_the_grid_distances_grow_on() {
        let grid = Grid::bake(&icosphere(0.3, 3), 16, PLENTY).unwrap();
        let (_, high) = ends(&grid);
        let edge = high.x as f32;
        let (value, _) = sample(&grid, Vec3::new(edge, 0.0, 0.0));
        let (distance, gradient) = sample(&grid, Vec3::new(edge + 2.0, 0.0, 0.0));
        assert!((distance - (value + 2.0)).abs() < 1e-6 && (distance - (edge + 1.7)).abs() < 3e-3);
        assert!((gradient - Vec3::X).length() < 1e-6);
        // Toward a corner the sum is more than the distance, and the root of squares less.
        let corner = high.as_vec3();
        let away = corner + Vec3::new(0.1, 1.0, 0.5);
        let (value, added) = (sample(&grid, corner).0, (away - corner).length());
        let exact = away.length() - 0.3;
        assert!(sample(&grid, away).0 >= exact && value.hypot(added) <= exact);
        for strange in [Vec3::NAN, Vec3::INFINITY, Vec3::NEG_INFINITY, Vec3::MAX, Vec3::new(f32::NAN, 0.0, 0.0)] {
            assert!(!sample(&grid, strange).0.is_sign_negative() || sample(&grid, strange).0.is_nan());
        }
    }

    #[test]
    fn a_sphere_has_right_signs_and_distances() {
        let body = icosphere(0.3, 3);
        let grid = Grid::bake(&body, 48, PLENTY).unwrap();
        judge_nodes(&grid, &body, 11, 0.06);
        let within = wrong_signs_within(&grid, &body);
        assert!(within < 0.04, "{within}");
    }

    #[test]
    fn a_mannequin_has_right_signs_and_distances() {
        let body = mannequin(24);
        let grid = Grid::bake(&body, 48, PLENTY).unwrap();
        judge_nodes(&grid, &body, 5, 0.02);
        let within = wrong_signs_within(&grid, &body);
        assert!(within < 0.1, "{within}");
    }

    #[test]
    fn thin_walls_have_right_signs_and_distances() {
        // Slanted, the walls are 2.4, 0.8 and 0.15 cells thick: some nodes are inside, as many as the volume demands.
        for thickness in [0.08, 0.028, 0.005] {
            let volume = 0.5 - (1.0 - 2.0 * thickness) * (1.0 - 2.0 * thickness) * (0.5 - thickness);
            for turn in [DQuat::IDENTITY, slanted()] {
                let body = judge::tray(thickness, turn);
                let grid = Grid::bake(&body, 40, PLENTY).unwrap();
                judge_nodes(&grid, &body, 1, 0.001);
                let inside = grid.distances.iter().filter(|&&distance| distance < 0.0).count() as f64;
                let share = inside * f64::from(grid.spacing).powi(3) / volume;
                assert!((share - 1.0).abs() < 0.05 || turn == DQuat::IDENTITY, "{thickness}: {share}");
                // Only interpolation errs, near sharp edges and in walls too thin for it to see.
                let within = wrong_signs_within(&grid, &body);
                let half = 0.5 * thickness / f64::from(grid.spacing);
                assert!(within < if half < 0.5 { half.max(0.1) } else { 0.25 }, "{thickness}: {within}");
            }
        }
    }

    #[test]
    fn rows_through_corners_and_along_edges_are_counted_once() {
        // An octahedron whose corners and edges lie on rows of nodes, with a spacing of exactly 1.
        let tips = [[4.5, 0.0, 0.0], [0.0, 4.5, 0.0], [0.0, 0.0, 4.5]];
        let positions = [tips, tips.map(|tip| tip.map(|coordinate: f32| -coordinate))].concat();
        let mut triangles = Vec::new();
        for signs in 0..8_u32 {
            let [a, b, c] = [0, 1, 2].map(|axis| axis + 3 * (signs >> axis & 1));
            let mirrored = (signs.count_ones() & 1) == 1;
            triangles.push(if mirrored { [a, c, b] } else { [a, b, c] });
        }
        let grid = Grid::bake(&Body::new(positions, triangles).unwrap(), 9, PLENTY).unwrap();
        assert_eq!((grid.origin, grid.spacing, grid.counts), ([-7.0; 3], 1.0, [15; 3]));
        for (place, distance) in nodes(&grid) {
            let depth = place.abs().element_sum() - 4.5;
            assert_eq!(distance < 0.0, depth < 0.0, "{place}");
        }
        // The center is nearest to the faces.
        assert_eq!(sample(&grid, Vec3::ZERO).0, (-4.5 / 3.0_f64.sqrt()) as f32);
    }

    #[test]
    fn triangles_without_area_change_nothing() {
        let [plain, split] = [judge::tetrahedron(), judge::split_tetrahedron()].map(|body| {
            let grid = Grid::bake(&body, 32, PLENTY).unwrap();
            judge_nodes(&grid, &judge::tetrahedron(), 7, 1e-6);
            grid
        });
        for (plain, split) in plain.distances.iter().zip(&split.distances) {
            assert!((plain - split).abs() < 1e-6);
        }
    }

    #[test]
    fn where_parts_overlap_is_inside_too() {
        let sphere = icosphere(0.3, 2);
        let moved = sphere.positions().iter().map(|&[x, y, z]| [x + 0.2, y, z]);
        let positions = sphere.positions().iter().copied().chain(moved).collect();
        let count = sphere.positions().len() as u32;
        let second = sphere.triangles().iter().map(|triangle| triangle.map(|vertex| vertex + count));
        let triangles = sphere.triangles().iter().copied().chain(second).collect();
        let body = Body::new(positions, triangles).unwrap();
        let grid = Grid::bake(&body, 24, PLENTY).unwrap();
        assert!(judge::winding(&body, DVec3::new(0.1, 0.0, 0.0)) > 1.9);
        judge_nodes(&grid, &body, 5, 0.06);
    }

    #[test]
    fn the_grid_is_two_cells_wider_than_the_body() {
        let mut positions = mannequin(12).positions().to_vec();
        // A vertex that no triangle names does not count.
        positions.push([50.0, 0.0, 0.0]);
        let body = Body::new(positions, mannequin(12).triangles().to_vec()).unwrap();
        let (lowest, highest) = body.bounds();
        for resolution in 8..=64 {
            let grid = Grid::bake(&body, resolution, PLENTY).unwrap();
            let (low, high) = ends(&grid);
            let margin = (lowest - low).min(high - highest) / f64::from(grid.spacing);
            assert!(margin.min_element() >= 2.0 && margin.max_element() < 3.1, "{resolution}: {margin}");
            assert_eq!(grid.counts[1], resolution + 6);
        }
    }

    #[test]
    fn memory_is_bounded_and_reported() {
        let body = icosphere(0.3, 1);
        let grid = Grid::bake(&body, 20, PLENTY).unwrap();
        let needed = grid.counts.iter().product::<u32>() as u64 * 4;
        assert_eq!((grid.bytes(), grid.distances.len() as u64 * 4), (needed, needed));
        assert_eq!(Grid::bake(&body, 20, needed).unwrap(), grid);
        let error = Grid::bake(&body, 20, needed - 1).unwrap_err();
        assert!(matches!(error, Error::GridMemory { needed: n, limit } if n == needed && limit == needed - 1));
        // The largest grid is refused before anything is allocated.
        let error = Grid::bake(&body, 256, 0).unwrap_err();
        assert!(matches!(error, Error::GridMemory { needed, limit: 0 } if needed < 4 * 263 * 263 * 263), "{error}");
    }

    #[test]
    fn resolutions_out_of_range_are_refused() {
        let body = icosphere(0.3, 0);
        for resolution in [0, 7, 257, u32::MAX] {
            let error = Grid::bake(&body, resolution, PLENTY).unwrap_err();
            assert!(matches!(error, Error::OutOfRange { field: "resolution", .. }), "{resolution}");
        }
        assert!(Grid::bake(&body, 8, PLENTY).is_ok());
        let far = body.positions().iter().map(|&[x, y, z]| [x + 1e5, y, z]).collect();
        let far = Body::new(far, body.triangles().to_vec()).unwrap();
        assert!(Grid::bake(&far, 8, PLENTY).is_err_and(|error| matches!(error, Error::OutOfRange { .. })));
    }

    #[test]
    fn the_smallest_and_the_largest_bodies_can_be_baked() {
        for radius in [1e-15, 1e15] {
            let body = icosphere(radius, 2);
            let grid = Grid::bake(&body, 16, PLENTY).unwrap();
            judge_nodes(&grid, &body, 1, 0.06);
            let (distance, gradient) = sample(&grid, Vec3::new(2.0 * radius, 0.0, 0.0));
            assert!((distance / radius - 1.0).abs() < 0.05 && (gradient.length() - 1.0).abs() < 0.05);
        }
    }

    /// FNV-1a of the bits of all distances.
    fn fingerprint(grid: &Grid) -> u64 {
        let bytes = grid.distances.iter().flat_map(|distance| distance.to_bits().to_le_bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    #[test]
    fn the_same_body_gives_the_same_bits() {
        // Also with the feature `parallel`: this sphere takes only operations that IEEE 754 rounds exactly.
        let grid = Grid::bake(&icosphere(0.3, 2), 24, PLENTY).unwrap();
        assert_eq!(fingerprint(&grid), 0x0492_7876_f71a_29b7, "{:#x}", fingerprint(&grid));
    }

    #[cfg(feature = "parallel")]
    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let body = mannequin(24);
        let bake = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            fingerprint(&pool.install(|| Grid::bake(&body, 40, PLENTY)).unwrap())
        };
        let one = bake(1);
        assert!([2, 3, 7].into_iter().all(|threads| bake(threads) == one));
    }
}
