//! Pictures without a GPU: the twin of `render.wgsl`, on all cores.
//!
//! Triangles are drawn into bands of rows that fit into a cache, with four samples per pixel; afterwards every triangle
//! that is seen in a pixel is shaded once, as multisampling does it. Memory grows with the size of the picture, not
//! with the number of samples.

use glam::{Vec2, Vec3, Vec4Swizzles};

use super::light::{Globals, Object, Point, SHADOW_SIDE, ShadowMap, shade_ground, shade_surface};
use super::look::encoded;
use super::skin::capsule;
use super::{Camera, Coloring, Fabric, Look, Model, Picture, Studio, check_size, legend};
use crate::error::Result;
use crate::solid::Pose;

/// Rows that are drawn at a time.
const BAND: usize = 32;
/// Where the samples of a pixel are: the usual rotated square.
const SAMPLES: [[f32; 2]; 4] = [[0.375, 0.125], [0.875, 0.375], [0.125, 0.625], [0.625, 0.875]];
/// Stands for no triangle.
const NOTHING: u32 = u32::MAX;
/// Stands for the ground.
const GROUND: u32 = u32::MAX - 1;

/// From where, how and in which space a scene is drawn.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// From where it is seen.
    pub camera: &'a Camera,
    /// Colors and light.
    pub look: &'a Look,
    /// What light and ground are fitted to.
    pub studio: &'a Studio,
}

/// Draws cloths at their positions and solids at their places. What reaches behind the camera is left out.
///
/// # Errors
///
/// As [`check_size`]; [`crate::Error::LengthMismatch`] or [`crate::Error::NotFinite`] for positions.
pub fn draw(
    size: [u32; 2],
    view: &View<'_>,
    cloths: &[(&Fabric, &[[f32; 3]])],
    solids: &[(&Model, Pose)],
) -> Result<Picture> {
    check_size(size)?;
    let mut mesh = Mesh::default();
    for (fabric, positions) in cloths {
        fabric.check(positions)?;
        mesh.add_cloth(fabric, positions, view.look);
    }
    for (model, pose) in solids {
        mesh.add_solid(model, Object::solid(view.look, view.studio, *pose));
    }
    let [width, height] = size.map(|side| side as usize);
    let globals = Globals::new(view.camera, view.look, view.studio, width as f32 / height as f32, false);
    let map = mesh.shadows(&globals);
    let frame = Frame {
        size,
        projected: mesh.projected(&globals, size, view.camera.near()),
        globals,
        map,
        ground: view.studio.ground.map(|height| Plane::new(view.camera, size, height)),
        mesh,
    };
    let mut pixels = vec![0; 4 * width * height];
    for_each_band(&mut pixels, 4 * width * BAND, |band, pixels| frame.draw_band(band * BAND, pixels));
    let mut picture = Picture::new(size, pixels)?;
    if let Coloring::Strain { limit, .. } = view.look.coloring {
        legend::draw(&mut picture, limit);
    }
    Ok(picture)
}

#[cfg(feature = "parallel")]
fn for_each_band<T: Send>(list: &mut [T], length: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    use rayon::prelude::*;
    list.par_chunks_mut(length).enumerate().for_each(|(band, part)| work(band, part));
}

#[cfg(not(feature = "parallel"))]
fn for_each_band<T>(list: &mut [T], length: usize, work: impl Fn(usize, &mut [T])) {
    list.chunks_mut(length).enumerate().for_each(|(band, part)| work(band, part));
}

#[derive(Clone, Copy, Debug)]
struct Vertex {
    world: Vec3,
    normal: Vec3,
    material: Vec2,
    strain: f32,
}

#[derive(Clone, Copy, Debug)]
struct Triangle {
    corners: [u32; 3],
    object: u32,
}

/// Everything as triangles in world coordinates.
#[derive(Debug, Default)]
struct Mesh {
    vertices: Vec<Vertex>,
    triangles: Vec<Triangle>,
    objects: Vec<Object>,
}

impl Mesh {
    fn add(&mut self, object: Object, vertices: impl Iterator<Item = Vertex>, triangles: &[[u32; 3]]) {
        let (first, number) = (self.vertices.len() as u32, self.objects.len() as u32);
        self.vertices.extend(vertices);
        let triangle = |corners: &[u32; 3]| Triangle { corners: corners.map(|corner| first + corner), object: number };
        self.triangles.extend(triangles.iter().map(triangle));
        self.objects.push(object);
    }

    fn add_cloth(&mut self, fabric: &Fabric, positions: &[[f32; 3]], look: &Look) {
        let strains = match look.coloring {
            Coloring::Strain { band, .. } => fabric.strains(positions, band),
            Coloring::Cloth => vec![0.0; positions.len()],
        };
        let normals = fabric.normals(positions);
        let vertices = fabric.coordinates().iter().enumerate().map(|(drawn, material)| {
            let vertex = fabric.source(drawn);
            let world = positions[vertex].into();
            Vertex { world, normal: normals[vertex], material: (*material).into(), strain: strains[vertex] }
        });
        self.add(Object::cloth(look), vertices, fabric.triangles());
        let (corners, triangles) = capsule();
        for (number, rod) in fabric.rods().iter().enumerate() {
            let line = number < fabric.line_count();
            if !line && !look.pins {
                break;
            }
            let object = if line { Object::line(look) } else { Object::pin(look) };
            let [tail, head] = [rod.tail, rod.head].map(|vertex| vertex as usize);
            let strain = strains[tail].max(strains[head]);
            let [tail, head] = [tail, head].map(|vertex| Vec3::from(positions[vertex]));
            let y = (head - tail).normalize_or(Vec3::Y);
            let x = y.cross(if y.x.abs() > 0.7 { Vec3::Z } else { Vec3::X }).normalize();
            let z = x.cross(y);
            let vertices = corners.iter().map(|[a, b, c, end]| {
                let normal = *a * x + *b * y + *c * z;
                let world = if *end > 0.5 { head } else { tail } + rod.radius * normal;
                Vertex { world, normal, material: Vec2::ZERO, strain }
            });
            self.add(object, vertices, &triangles);
        }
    }

    fn add_solid(&mut self, model: &Model, object: Object) {
        let vertices = model.positions().iter().zip(model.normals()).map(|(position, normal)| Vertex {
            world: object.model.transform_point3((*position).into()),
            normal: object.model.transform_vector3((*normal).into()),
            material: Vec2::ZERO,
            strain: 0.0,
        });
        self.add(object, vertices, model.triangles());
    }

    fn object(&self, triangle: &Triangle) -> &Object {
        &self.objects[triangle.object as usize]
    }

    /// Depths as the light sees them.
    fn shadows(&self, globals: &Globals) -> ShadowMap {
        let mut map = ShadowMap::new();
        let side = SHADOW_SIDE as f32;
        let place = |world: Vec3| {
            let clip = globals.light_projection * world.extend(1.0);
            ((Vec2::new(0.5, -0.5) * clip.xy() + 0.5) * side).extend(clip.z)
        };
        let places: Vec<Vec3> = self.vertices.iter().map(|vertex| place(vertex.world)).collect();
        let length = SHADOW_SIDE as usize * BAND;
        for_each_band(&mut map.depths, length, |band, depths| {
            let rows = [band * BAND, (band + 1) * BAND];
            for triangle in &self.triangles {
                let setback = self.object(triangle).setback / (4.0 * globals.radius);
                let corners = triangle.corners.map(|corner| places[corner as usize]);
                let Some(flat) = Flat::new(corners) else { continue };
                flat.cover(rows, SHADOW_SIDE as usize, [[0.5, 0.5]], |row, column, _, weights| {
                    let depth = weights.dot(flat.values) + setback;
                    let stored = &mut depths[row * SHADOW_SIDE as usize + column];
                    *stored = stored.min(depth);
                });
            }
        });
        map
    }

    /// Every triangle in pixels; `None` for what is behind the camera.
    fn projected(&self, globals: &Globals, [width, height]: [u32; 2], near: f32) -> Vec<Option<Flat>> {
        let scale = 0.5 * Vec2::new(width as f32, height as f32);
        let place = |vertex: &Vertex| {
            let clip = globals.view_projection * vertex.world.extend(1.0);
            (clip.w > near).then(|| ((clip.xy() / clip.w * Vec2::new(1.0, -1.0) + 1.0) * scale).extend(1.0 / clip.w))
        };
        let places: Vec<Option<Vec3>> = self.vertices.iter().map(place).collect();
        let flat = |triangle: &Triangle| {
            let [a, b, c] = triangle.corners.map(|corner| places[corner as usize]);
            Flat::new([a?, b?, c?])
        };
        self.triangles.iter().map(flat).collect()
    }
}

/// A triangle in pixels, and a value at each corner that is linear there.
#[derive(Clone, Copy, Debug)]
struct Flat {
    corners: [Vec2; 3],
    values: Vec3,
    /// Twice its area; positive if it is counter-clockwise with y upwards.
    area: f32,
}

impl Flat {
    fn new(corners: [Vec3; 3]) -> Option<Self> {
        let values = Vec3::from(corners.map(|corner| corner.z));
        let corners = corners.map(Vec3::truncate);
        let area = -(corners[1] - corners[0]).perp_dot(corners[2] - corners[0]);
        (area != 0.0 && area.is_finite()).then_some(Self { corners, values, area })
    }

    /// Parts of the corners at a point; negative ones outside.
    fn weights(&self, point: Vec2) -> Vec3 {
        let [a, b, c] = self.corners;
        let part = |from: Vec2, to: Vec2| -(to - from).perp_dot(point - from) / self.area;
        Vec3::new(part(b, c), part(c, a), part(a, b))
    }

    /// Calls `visit` with the row from the first, the column, the number of the sample and the weights of every sample
    /// within.
    fn cover<const N: usize>(
        &self,
        [first, end]: [usize; 2],
        width: usize,
        samples: [[f32; 2]; N],
        mut visit: impl FnMut(usize, usize, usize, Vec3),
    ) {
        let low = self.corners[0].min(self.corners[1]).min(self.corners[2]);
        let high = self.corners[0].max(self.corners[1]).max(self.corners[2]);
        if high.y < first as f32 || low.y > end as f32 || high.x < 0.0 || low.x > width as f32 {
            return;
        }
        let rows = (low.y.max(first as f32) as usize)..(high.y.ceil().min(end as f32) as usize).max(first);
        let columns = (low.x.max(0.0) as usize)..(high.x.ceil().min(width as f32) as usize);
        for row in rows {
            for column in columns.clone() {
                for (number, [x, y]) in samples.iter().enumerate() {
                    let weights = self.weights(Vec2::new(column as f32 + x, row as f32 + y));
                    if weights.min_element() >= 0.0 {
                        visit(row - first, column, number, weights);
                    }
                }
            }
        }
    }
}

/// The ground as the pixels see it.
#[derive(Clone, Copy, Debug)]
struct Plane {
    eye: Vec3,
    height: f32,
    /// Line of sight of a pixel in the corner, one of unit depth, and its change per pixel.
    corner: Vec3,
    across: Vec3,
    along: Vec3,
}

impl Plane {
    fn new(camera: &Camera, [width, image_height]: [u32; 2], height: f32) -> Self {
        let [right, up, back] = camera.axes();
        let tangent = camera.tangent();
        let aspect = width as f32 / image_height as f32;
        let (across, along) =
            (2.0 * tangent * aspect / width as f32 * right, -2.0 * tangent / image_height as f32 * up);
        let corner = -back - tangent * aspect * right + tangent * up;
        Self { eye: camera.eye.into(), height, corner, across, along }
    }

    /// Inverse depth and place of the ground at a pixel.
    fn at(&self, x: f32, y: f32) -> Option<(f32, Vec3)> {
        let sight = self.corner + x * self.across + y * self.along;
        let depth = (self.height - self.eye.y) / sight.y;
        (depth > 0.0 && depth.is_finite()).then(|| (depth.recip(), self.eye + depth * sight))
    }
}

/// All that a band of rows needs.
struct Frame {
    size: [u32; 2],
    globals: Globals,
    mesh: Mesh,
    projected: Vec<Option<Flat>>,
    map: ShadowMap,
    ground: Option<Plane>,
}

impl Frame {
    fn draw_band(&self, first: usize, pixels: &mut [u8]) {
        let width = self.size[0] as usize;
        let rows = pixels.len() / (4 * width);
        // Inverse depth and triangle of every sample.
        let mut seen = vec![(0.0_f32, NOTHING); 4 * width * rows];
        if let Some(ground) = &self.ground {
            for (sample, seen) in seen.iter_mut().enumerate() {
                let (x, y) = (sample / 4 % width, first + sample / 4 / width);
                let [across, along] = SAMPLES[sample % 4];
                if let Some((depth, _)) = ground.at(x as f32 + across, y as f32 + along) {
                    *seen = (depth, GROUND);
                }
            }
        }
        for (number, (triangle, flat)) in self.mesh.triangles.iter().zip(&self.projected).enumerate() {
            let Some(flat) = flat else { continue };
            let setback = self.mesh.object(triangle).setback;
            flat.cover([first, first + rows], width, SAMPLES, |row, column, sample, weights| {
                let inverse = weights.dot(flat.values);
                // The depth as if it were farther away: 1 / (1/inverse + setback).
                let depth = inverse / (1.0 + setback * inverse);
                let stored = &mut seen[4 * (row * width + column) + sample];
                if depth > stored.0 {
                    *stored = (depth, number as u32);
                }
            });
        }
        for (pixel, (color, seen)) in pixels.chunks_exact_mut(4).zip(seen.chunks_exact(4)).enumerate() {
            let (x, y) = (pixel % width, first + pixel / width);
            let mut sum = Vec3::ZERO;
            for (sample, (_, what)) in seen.iter().enumerate() {
                // Each triangle once, where it is first met, for all its samples.
                if seen[..sample].iter().all(|(_, other)| other != what) {
                    let mine = |other: &usize| seen[*other].1 == *what;
                    let count = (sample..4).filter(mine).count() as f32;
                    let place = (sample..4).filter(mine).map(|other| Vec2::from(SAMPLES[other])).sum::<Vec2>() / count;
                    sum += 0.25 * count * self.shade(*what, Vec2::new(x as f32, y as f32) + place);
                }
            }
            let [red, green, blue] = encoded(sum);
            color.copy_from_slice(&[red, green, blue, 255]);
        }
    }

    /// Linear color of what is seen at a place.
    fn shade(&self, what: u32, place: Vec2) -> Vec3 {
        let ground = || self.ground.and_then(|ground| ground.at(place.x, place.y));
        if what == GROUND {
            return ground()
                .map_or(self.globals.background, |(_, world)| shade_ground(&self.globals, &self.map, world));
        }
        let number = what as usize;
        let (Some(triangle), Some(Some(flat))) = (self.mesh.triangles.get(number), self.projected.get(number)) else {
            return self.globals.background;
        };
        let corners = triangle.corners.map(|corner| &self.mesh.vertices[corner as usize]);
        let material = |place: Vec2| {
            let [a, b, c] = perspective(flat, place).to_array();
            a * corners[0].material + b * corners[1].material + c * corners[2].material
        };
        let here = material(place);
        let width = (material(place + Vec2::X) - here).abs() + (material(place + Vec2::Y) - here).abs();
        let [a, b, c] = perspective(flat, place).to_array();
        let point = Point {
            world: a * corners[0].world + b * corners[1].world + c * corners[2].world,
            normal: a * corners[0].normal + b * corners[1].normal + c * corners[2].normal,
            material: here,
            width,
            strain: a * corners[0].strain + b * corners[1].strain + c * corners[2].strain,
            front: flat.area > 0.0,
        };
        shade_surface(&self.globals, self.mesh.object(triangle), &self.map, &point)
    }
}

/// Parts of the corners in space, from those in the picture: inverse depth is linear there.
fn perspective(flat: &Flat, place: Vec2) -> Vec3 {
    let weighted = flat.weights(place) * flat.values;
    weighted / weighted.element_sum()
}
