//! Cloths and solids as a GPU draws them.

use std::num::NonZeroU64;

use glam::Vec3;

use super::{Fabric, Model, Renderer};
use crate::cloth::Cloth;
use crate::engine::gpu::runner::filled;
use crate::engine::gpu::{need, scoped};
use crate::error::{Error, Result};

/// Sides of a rod, and rings of each of its ends.
const SIDES: u32 = 12;
const RINGS: u32 = 4;

/// A cloth as a [`Renderer`] draws it: buffers that are made once, and those of the simulation.
#[derive(Debug)]
pub struct Skin {
    /// Unless they are the simulation's: who writes them is [`Skin::place`].
    owned: bool,
    pub(super) positions: wgpu::Buffer,
    /// Normals and corners of the triangles, if there are any.
    pub(super) faces: Option<Faces>,
    /// Vertices that are drawn, where they are not those of the mesh.
    pub(super) drawn: Option<Drawn>,
    pub(super) material: wgpu::Buffer,
    pub(super) strains: wgpu::Buffer,
    pub(super) incidence: wgpu::Buffer,
    pub(super) links: wgpu::Buffer,
    pub(super) rods: wgpu::Buffer,
    pub(super) vertex_count: u32,
    pub(super) rod_count: u32,
    pub(super) line_count: u32,
}

#[derive(Debug)]
pub(super) struct Faces {
    pub(super) normals: wgpu::Buffer,
    pub(super) indices: wgpu::Buffer,
    pub(super) count: u32,
}

/// Vertices that follow those of the mesh, each at one side of a seam.
#[derive(Debug)]
pub(super) struct Drawn {
    /// Whom they follow.
    pub(super) followed: wgpu::Buffer,
    pub(super) positions: wgpu::Buffer,
    pub(super) normals: wgpu::Buffer,
    pub(super) strains: wgpu::Buffer,
    pub(super) count: u32,
}

impl Skin {
    /// For a cloth. One that runs on the renderer's device is drawn from its own buffers, as it is when the commands
    /// are executed, without any copy. Of one on the CPU the present state is uploaded; [`Skin::place`] uploads later
    /// ones.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the fabric is of another mesh, [`Error::Limit`] if the mesh is too large for the
    /// device, [`Error::Device`] if the cloth runs on another device, or if this one fails.
    pub fn of_cloth(renderer: &Renderer, cloth: &Cloth, fabric: &Fabric) -> Result<Self> {
        let (expected, found) = (cloth.mesh().vertex_count(), fabric.vertex_count());
        if expected != found {
            return Err(Error::LengthMismatch { field: "fabric", expected, found });
        }
        let Some(gpu) = cloth.gpu() else {
            let vertices = cloth.fields().map(|fields| fields.get::<crate::stage::fields::Vertex>("vertices"));
            let positions = vertices.transpose()?.map(crate::cloth::report::positions).unwrap_or_default();
            return Self::new(renderer, fabric, &positions);
        };
        if gpu.device() != renderer.device() {
            return Err(Error::Device { message: "the cloth runs on another device than the renderer".into() });
        }
        let missing = || Error::NotOnGpu { what: "position buffer" };
        let positions = cloth.position_buffer().ok_or_else(missing)?.clone();
        let faces = match (cloth.normal_buffer(), cloth.index_buffer()) {
            (Some(normals), Some((indices, count))) if count > 0 => {
                let indices = if fabric.followed().is_some() { triangles(renderer, fabric)? } else { indices.clone() };
                Some(Faces { normals: normals.clone(), indices, count })
            }
            _ => None,
        };
        Self::assembled(renderer, fabric, positions, faces, false)
    }

    /// For positions that are uploaded, from wherever they come.
    ///
    /// # Errors
    ///
    /// As [`Skin::place`]; [`Error::Limit`] if the mesh is too large for the device, [`Error::Device`] if that fails.
    pub fn new(renderer: &Renderer, fabric: &Fabric, positions: &[[f32; 3]]) -> Result<Self> {
        fabric.check(positions)?;
        let usage = wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let buffer = |name| made(renderer, name, usage, &padded(positions.iter().map(|place| (*place).into())));
        let faces = if fabric.triangles().is_empty() {
            None
        } else {
            let count = 3 * fabric.triangles().len() as u32;
            Some(Faces { normals: buffer("taut normals")?, indices: triangles(renderer, fabric)?, count })
        };
        let skin = Self::assembled(renderer, fabric, buffer("taut positions")?, faces, true)?;
        skin.place(renderer, fabric, positions)?;
        Ok(skin)
    }

    /// Uploads positions before the next submission, with their normals.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] and [`Error::NotFinite`]; [`Error::Device`] for a skin that draws a simulation's own
    /// buffers, which only the simulation writes.
    pub fn place(&self, renderer: &Renderer, fabric: &Fabric, positions: &[[f32; 3]]) -> Result<()> {
        fabric.check(positions)?;
        let (expected, found) = (self.vertex_count as usize, positions.len());
        if expected != found {
            return Err(Error::LengthMismatch { field: "positions", expected, found });
        }
        if !self.owned {
            return Err(Error::Device { message: "only the simulation writes its own buffers".into() });
        }
        let (_, outcome) = scoped(renderer.device(), || {
            let places = padded(positions.iter().map(|place| (*place).into()));
            renderer.queue().write_buffer(&self.positions, 0, &places);
            if let Some(faces) = &self.faces {
                renderer.queue().write_buffer(&faces.normals, 0, &padded(fabric.normals(positions).into_iter()));
            }
        });
        crate::engine::gpu::runner::ready(outcome)
    }

    fn assembled(
        renderer: &Renderer,
        fabric: &Fabric,
        positions: wgpu::Buffer,
        faces: Option<Faces>,
        owned: bool,
    ) -> Result<Self> {
        let (vertex, storage) = (wgpu::BufferUsages::VERTEX, wgpu::BufferUsages::STORAGE);
        let links: Vec<[u32; 4]> =
            fabric.rods().iter().map(|rod| [rod.tail, rod.head, rod.radius.to_bits(), 0]).collect();
        let coordinates = bytemuck::cast_slice(fabric.coordinates());
        let drawn = |followed: &[u32]| {
            let zeros = |name, bytes: usize| made(renderer, name, vertex | storage, &vec![0; bytes * followed.len()]);
            Ok::<_, Error>(Drawn {
                followed: made(renderer, "taut followed", storage, bytemuck::cast_slice(followed))?,
                positions: zeros("taut drawn positions", 16)?,
                normals: zeros("taut drawn normals", 16)?,
                strains: zeros("taut drawn strains", 4)?,
                count: followed.len() as u32,
            })
        };
        Ok(Self {
            owned,
            positions,
            faces,
            drawn: fabric.followed().map(drawn).transpose()?,
            material: made(renderer, "taut material coordinates", vertex, coordinates)?,
            strains: made(renderer, "taut strains", vertex | storage, &vec![0; 4 * fabric.vertex_count()])?,
            incidence: made(renderer, "taut incidence", storage, bytemuck::cast_slice(fabric.incidence()))?,
            rods: made(renderer, "taut rods", vertex | storage, &vec![0; 32 * links.len()])?,
            links: made(renderer, "taut links", storage, bytemuck::cast_slice(&links))?,
            vertex_count: fabric.vertex_count() as u32,
            rod_count: fabric.rods().len() as u32,
            line_count: fabric.line_count() as u32,
        })
    }
}

fn triangles(renderer: &Renderer, fabric: &Fabric) -> Result<wgpu::Buffer> {
    made(renderer, "taut triangles", wgpu::BufferUsages::INDEX, bytemuck::cast_slice(fabric.triangles()))
}

/// A solid's model on a GPU.
#[derive(Debug)]
pub struct Prop {
    /// Vertex buffers in the order of their slots, and the indices; `None` for a model without triangles.
    pub(super) buffers: Option<([wgpu::Buffer; 4], wgpu::Buffer)>,
    pub(super) count: u32,
}

impl Prop {
    /// Uploads a model.
    ///
    /// # Errors
    ///
    /// [`Error::Limit`] if it is too large for the device, [`Error::Device`] if that fails.
    pub fn new(renderer: &Renderer, model: &Model) -> Result<Self> {
        if model.triangles().is_empty() {
            return Ok(Self { buffers: None, count: 0 });
        }
        let vertex = wgpu::BufferUsages::VERTEX;
        let upload =
            |list: &[[f32; 3]]| made(renderer, "taut solid", vertex, &padded(list.iter().map(|place| (*place).into())));
        // Solids have neither material coordinates nor strain.
        let zeros = |bytes: usize| made(renderer, "taut zeros", vertex, &vec![0; bytes * model.positions().len()]);
        let buffers = [upload(model.positions())?, upload(model.normals())?, zeros(8)?, zeros(4)?];
        let triangles = bytemuck::cast_slice(model.triangles());
        let indices = made(renderer, "taut solid triangles", wgpu::BufferUsages::INDEX, triangles)?;
        Ok(Self { buffers: Some((buffers, indices)), count: 3 * model.triangles().len() as u32 })
    }
}

/// A buffer with contents, at least 32 bytes long: empty ones cannot be bound.
fn made(renderer: &Renderer, name: &str, usage: wgpu::BufferUsages, bytes: &[u8]) -> Result<wgpu::Buffer> {
    let limits = renderer.device().limits();
    let size = (bytes.len() as u64).max(NonZeroU64::MIN.get());
    need("max_buffer_size", size, limits.max_buffer_size)?;
    if usage.contains(wgpu::BufferUsages::STORAGE) {
        need("max_storage_buffer_binding_size", size, limits.max_storage_buffer_binding_size)?;
    }
    if bytes.len() < 32 {
        let mut longer = bytes.to_vec();
        longer.resize(32, 0);
        return filled(renderer.handles(), name, usage, &longer);
    }
    filled(renderer.handles(), name, usage, bytes)
}

/// As `vec4`, the stride of the simulation's buffers.
fn padded(list: impl Iterator<Item = Vec3>) -> Vec<u8> {
    let rows: Vec<[f32; 4]> = list.map(|place| place.extend(0.0).to_array()).collect();
    bytemuck::cast_slice(&rows).to_vec()
}

/// A capsule along y: unit normals and to which end they belong, 0 or 1; and its triangles.
pub(super) fn capsule() -> (Vec<[f32; 4]>, Vec<[u32; 3]>) {
    let mut corners = Vec::new();
    for ring in 0..2 * RINGS + 2 {
        let (step, end) = if ring <= RINGS { (ring, 0.0) } else { (ring - 1, 1.0) };
        let latitude = std::f32::consts::PI * (step as f32 / (2 * RINGS) as f32 - 0.5);
        for side in 0..SIDES {
            let (sin, cos) = (std::f32::consts::TAU * side as f32 / SIDES as f32).sin_cos();
            // At the poles the cosine is rounded below zero.
            let across = latitude.cos().max(0.0);
            corners.push([across * cos, latitude.sin(), across * sin, end]);
        }
    }
    let mut triangles = Vec::new();
    for ring in 0..2 * RINGS + 1 {
        for side in 0..SIDES {
            let (below, above, next) = (ring * SIDES, (ring + 1) * SIDES, (side + 1) % SIDES);
            let [a, b, c, d] = [below + side, above + side, above + next, below + next];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    (corners, triangles)
}
