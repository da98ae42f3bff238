//! Triangles of solids.

use glam::{Quat, Vec3};

use super::Studio;
use crate::solid::{Grid, Solid, SolidShape, icosphere};

/// Sides of round models.
const SIDES: u32 = 64;
/// Rings of half a ball.
const RINGS: u32 = 16;
/// How thick the board is that stands for a slanted plane, as a part of its side.
const BOARD: f32 = 0.015;

/// Triangles of a solid in its own coordinates, counter-clockwise seen from outside.
#[derive(Clone, Debug, Default)]
pub struct Model {
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    triangles: Vec<[u32; 3]>,
}

impl Model {
    /// The model of a solid. A level plane has none: it is the ground of the studio. Of another plane a board is drawn
    /// that reaches as far as the studio; of a baked mesh the surface where its distances are zero.
    pub fn of(solid: &Solid, studio: &Studio) -> Self {
        match &solid.shape {
            SolidShape::Plane if is_level(solid) => Self::default(),
            SolidShape::Plane => board(solid, studio),
            SolidShape::Sphere { radius } => sphere(*radius),
            SolidShape::Capsule { radius, half_length } => capsule(*radius, *half_length),
            SolidShape::Box { half } => block(Vec3::ZERO, (*half).into()),
            SolidShape::Grid(grid) => zero_surface(grid),
        }
    }

    /// Vertices \[m\].
    pub fn positions(&self) -> &[[f32; 3]] {
        &self.positions
    }

    /// One unit normal per vertex.
    pub fn normals(&self) -> &[[f32; 3]] {
        &self.normals
    }

    /// Corners of the triangles.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    fn add(&mut self, position: Vec3, normal: Vec3) -> u32 {
        self.positions.push(position.to_array());
        self.normals.push(normal.to_array());
        self.positions.len() as u32 - 1
    }

    fn add_quad(&mut self, [a, b, c, d]: [u32; 4]) {
        self.triangles.extend([[a, b, c], [a, c, d]]);
    }
}

/// Lowest and highest corner of the box about a shape \[m\]; a plane has none.
pub(super) fn extent(shape: &SolidShape) -> Option<[Vec3; 2]> {
    let about = |reach: Vec3| Some([-reach, reach]);
    match shape {
        SolidShape::Plane => None,
        SolidShape::Sphere { radius } => about(Vec3::splat(*radius)),
        SolidShape::Capsule { radius, half_length } => about(Vec3::new(*radius, radius + half_length, *radius)),
        SolidShape::Box { half } => about((*half).into()),
        SolidShape::Grid(grid) => {
            let origin = Vec3::from(grid.origin());
            let [x, y, z] = grid.counts().map(|count| count.saturating_sub(1) as f32 * grid.spacing());
            // The grid is two and a half cells larger than the body on every side.
            let margin = Vec3::splat(2.5 * grid.spacing());
            Some([origin + margin, origin + Vec3::new(x, y, z) - margin])
        }
    }
}

/// Whether everything below a horizontal plane is solid: it can be the ground.
pub(crate) fn is_level(solid: &Solid) -> bool {
    matches!(solid.shape, SolidShape::Plane) && normal(solid).y > 0.9999
}

fn normal(solid: &Solid) -> Vec3 {
    Quat::from_array(solid.pose.rotation).normalize() * Vec3::Y
}

fn sphere(radius: f32) -> Model {
    let ball = icosphere(radius, 4);
    let normals = ball.positions().iter().map(|point| Vec3::from(*point).normalize().to_array()).collect();
    Model { positions: ball.positions().to_vec(), normals, triangles: ball.triangles().to_vec() }
}

fn capsule(radius: f32, half_length: f32) -> Model {
    let mut model = Model::default();
    // Rings from the lower to the upper pole; the equator twice, once for each end.
    for ring in 0..2 * RINGS + 2 {
        let (step, end) = if ring <= RINGS { (ring, -half_length) } else { (ring - 1, half_length) };
        let latitude = std::f32::consts::PI * (step as f32 / (2 * RINGS) as f32 - 0.5);
        for side in 0..SIDES {
            let (sin, cos) = (std::f32::consts::TAU * side as f32 / SIDES as f32).sin_cos();
            // At the poles the cosine is rounded below zero.
            let across = latitude.cos().max(0.0);
            let normal = Vec3::new(across * cos, latitude.sin(), across * sin);
            model.add(radius * normal + end * Vec3::Y, normal);
        }
    }
    for ring in 0..2 * RINGS + 1 {
        for side in 0..SIDES {
            let (below, above, next) = (ring * SIDES, (ring + 1) * SIDES, (side + 1) % SIDES);
            model.add_quad([below + side, above + side, above + next, below + next]);
        }
    }
    model
}

fn block(center: Vec3, half: Vec3) -> Model {
    let mut model = Model::default();
    for axis in 0..3 {
        for sign in [-1.0, 1.0] {
            let mut normal = Vec3::ZERO;
            normal[axis] = sign;
            // In this order their cross product is the normal.
            let across = Vec3::AXES[(axis + 1) % 3] * sign;
            let along = Vec3::AXES[(axis + 2) % 3];
            let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
                .map(|(s, t)| model.add(center + half * (normal + s * across + t * along), normal));
            model.add_quad(corners);
        }
    }
    model
}

/// A board whose upper side lies in the plane, below what is in the studio.
fn board(solid: &Solid, studio: &Studio) -> Model {
    let (center, half) = studio.board();
    let turn = Quat::from_array(solid.pose.rotation).normalize();
    let local = turn.inverse() * (center - Vec3::from(solid.pose.translation));
    let thickness = BOARD * half;
    block(Vec3::new(local.x, -thickness, local.z), Vec3::new(half, thickness, half))
}

/// Corners of the boards of all slanted planes, in world coordinates.
pub(crate) fn board_corners(solid: &Solid, studio: &Studio) -> Vec<Vec3> {
    let turn = Quat::from_array(solid.pose.rotation).normalize();
    let corners = board(solid, studio).positions;
    corners.iter().map(|point| turn * Vec3::from(*point) + Vec3::from(solid.pose.translation)).collect()
}

/// Where the distances of a grid are zero: one vertex in every cell that the surface passes, in the middle of its
/// crossings, moved onto the surface (naive surface nets; Gibson 1998).
fn zero_surface(grid: &Grid) -> Model {
    let [width, height, depth] = grid.counts().map(|count| count as usize);
    let (origin, spacing) = (Vec3::from(grid.origin()), grid.spacing());
    let node = |x: usize, y: usize, z: usize| x + width * (y + height * z);
    let inside = |x: usize, y: usize, z: usize| grid.distances()[node(x, y, z)] < 0.0;
    let mut model = Model::default();
    let mut vertex_of = vec![u32::MAX; grid.distances().len()];
    for z in 0..depth - 1 {
        for y in 0..height - 1 {
            for x in 0..width - 1 {
                if let Some(middle) = crossing(grid, [x, y, z]) {
                    let place = origin + spacing * middle;
                    let (distance, slope) = sample(grid, place);
                    let place = place - distance * slope;
                    vertex_of[node(x, y, z)] = model.add(place, sample(grid, place).1);
                }
            }
        }
    }
    // A quad across every line between two nodes of which one is inside: the four cells around it.
    for z in 1..depth - 1 {
        for y in 1..height - 1 {
            for x in 1..width - 1 {
                let here = inside(x, y, z);
                let around = [
                    (inside(x + 1, y, z), [[0, 1, 1], [0, 0, 1], [0, 0, 0], [0, 1, 0]]),
                    (inside(x, y + 1, z), [[1, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 1]]),
                    (inside(x, y, z + 1), [[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0]]),
                ];
                for (there, cells) in around {
                    if here != there {
                        let mut quad = cells.map(|[a, b, c]: [usize; 3]| vertex_of[node(x - a, y - b, z - c)]);
                        if !here {
                            quad.reverse();
                        }
                        model.add_quad(quad);
                    }
                }
            }
        }
    }
    model
}

/// Mean of where the surface crosses the twelve lines of a cell, in cells from the origin; `None` if it does not.
fn crossing(grid: &Grid, [x, y, z]: [usize; 3]) -> Option<Vec3> {
    let [width, height, _] = grid.counts().map(|count| count as usize);
    let value = |corner: usize| {
        let (x, y, z) = (x + (corner & 1), y + (corner >> 1 & 1), z + (corner >> 2));
        grid.distances()[x + width * (y + height * z)]
    };
    let place = |corner: usize| {
        Vec3::new((x + (corner & 1)) as f32, (y + (corner >> 1 & 1)) as f32, (z + (corner >> 2)) as f32)
    };
    let (mut sum, mut count) = (Vec3::ZERO, 0);
    for corner in 0..8_usize {
        for axis in [1, 2, 4] {
            if corner & axis == 0 {
                let (a, b) = (value(corner), value(corner | axis));
                if (a < 0.0) != (b < 0.0) {
                    sum += place(corner).lerp(place(corner | axis), a / (a - b));
                    count += 1;
                }
            }
        }
    }
    (count > 0).then(|| sum / count as f32)
}

/// Distance and unit slope, the latter over two cells: that of a single cell jumps from one to the next.
fn sample(grid: &Grid, place: Vec3) -> (f32, Vec3) {
    let at = |place: Vec3| grid.sample(place.to_array()).0;
    let step = grid.spacing();
    let slope = Vec3::AXES.map(|axis| at(place + step * axis) - at(place - step * axis));
    (at(place), Vec3::from(slope).normalize_or(Vec3::Y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solid::Body;

    /// Volume inside, and the largest angle's cosine between normals and faces.
    fn judged(model: &Model) -> (f64, f32) {
        // `Body` refuses what is not closed or faces inward.
        let welded = welded(model);
        Body::new(welded.0.clone(), welded.1.clone()).unwrap();
        let mut volume = 0.0;
        let mut worst = 1.0_f32;
        for triangle in &model.triangles {
            let [a, b, c] = triangle.map(|vertex| Vec3::from(model.positions[vertex as usize]));
            volume += f64::from(a.dot(b.cross(c))) / 6.0;
            let face = (b - a).cross(c - a).normalize_or_zero();
            if face != Vec3::ZERO {
                for vertex in triangle {
                    worst = worst.min(face.dot(model.normals[*vertex as usize].into()));
                }
            }
        }
        (volume, worst)
    }

    /// One vertex per place, without triangles that lost a corner.
    fn welded(model: &Model) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
        let key = |point: &[f32; 3]| point.map(|x| (x * 1e5).round() as i64);
        let mut places = std::collections::BTreeMap::new();
        let mut positions = Vec::new();
        let number: Vec<u32> = model
            .positions
            .iter()
            .map(|point| {
                *places.entry(key(point)).or_insert_with(|| {
                    positions.push(*point);
                    positions.len() as u32 - 1
                })
            })
            .collect();
        let triangles = model.triangles.iter().map(|triangle| triangle.map(|vertex| number[vertex as usize]));
        (positions, triangles.filter(|[a, b, c]| a != b && b != c && c != a).collect())
    }

    fn model(shape: SolidShape) -> Model {
        let scene = crate::scene::sheet(3).unwrap();
        Model::of(&Solid::new(shape), &Studio::of(&scene))
    }

    #[test]
    fn round_forms_are_closed_and_have_their_volume() {
        let pi = std::f64::consts::PI;
        for (shape, exact) in [
            (SolidShape::Sphere { radius: 0.3 }, 4.0 / 3.0 * pi * 0.027),
            (SolidShape::Capsule { radius: 0.2, half_length: 0.4 }, pi * 0.04 * (0.8 + 4.0 / 3.0 * 0.2)),
            (SolidShape::Box { half: [0.1, 0.2, 0.3] }, 8.0 * 0.006),
        ] {
            let (volume, worst) = judged(&model(shape.clone()));
            assert!((volume / exact - 1.0).abs() < 0.01, "{shape:?}: {volume} for {exact}");
            assert!(worst > 0.98, "{shape:?}: {worst}");
        }
    }

    #[test]
    fn the_zero_surface_of_a_baked_ball_is_the_ball() {
        let grid = Grid::bake(&icosphere(0.3, 4), 32, 1 << 24).unwrap();
        let model = model(SolidShape::Grid(std::sync::Arc::new(grid)));
        let (volume, worst) = judged(&model);
        assert!((volume / (4.0 / 3.0 * std::f64::consts::PI * 0.027) - 1.0).abs() < 0.01, "{volume}");
        assert!(worst > 0.9, "{worst}");
        for (point, normal) in model.positions.iter().zip(&model.normals) {
            let point = Vec3::from(*point);
            assert!((point.length() - 0.3).abs() < 0.001);
            assert!(point.normalize().dot((*normal).into()) > 0.99);
        }
    }
}
