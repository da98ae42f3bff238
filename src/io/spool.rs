//! Formats that must know all frames before they can write the first.
//!
//! Frames wait in a temporary file beside the destination, 12 bytes per vertex, and are read again as often as the
//! format needs them: memory does not grow with their number.

use std::io::{self, Write};
use std::path::Path;

use glam::Vec3;

use super::atomic::AtomicFile;
use super::disk::Disk;
use super::export::{Frame, FrameWriter, Plan};
use crate::error::{Error, Result};
use crate::mesh::{Face, Mesh};

/// What goes into the file.
type Content = fn(&mut dyn Write, &mut Frames<'_>) -> io::Result<()>;

/// Keeps frames until they are written.
#[derive(Debug)]
pub(super) struct Spool {
    file: AtomicFile,
    frames: AtomicFile,
    fps: f64,
    points: u32,
    written: u32,
    shape: Shape,
    content: Content,
}

/// What does not change from frame to frame.
#[derive(Debug, Default)]
pub(super) struct Shape {
    pub(super) faces: Vec<Face>,
    pub(super) triangles: Vec<[u32; 3]>,
    pub(super) lines: Vec<[u32; 2]>,
}

impl Shape {
    fn of(mesh: &Mesh) -> Self {
        Self { faces: mesh.faces().to_vec(), triangles: mesh.triangles(), lines: mesh.lines().to_vec() }
    }

    /// Unit normal of each vertex: the area-weighted sum over its triangles, as drawing has it. What has no triangle
    /// gets one that points up: readers want unit length.
    pub(super) fn normals(&self, positions: &[[f32; 3]]) -> Vec<[f32; 3]> {
        let mut sums = vec![Vec3::ZERO; positions.len()];
        for triangle in &self.triangles {
            let [a, b, c] = triangle.map(|vertex| Vec3::from(positions[vertex as usize]));
            let normal = (b - a).cross(c - a);
            triangle.iter().for_each(|vertex| sums[*vertex as usize] += normal);
        }
        sums.into_iter().map(|sum| sum.try_normalize().unwrap_or(Vec3::Y).to_array()).collect()
    }
}

impl Spool {
    pub(super) fn create(path: &Path, Plan { points, fps, .. }: Plan, content: Content) -> Result<Self> {
        let expected = "finite and above zero";
        if !(fps.is_finite() && fps > 0.0) {
            return Err(Error::OutOfRange { field: "fps", index: None, value: fps, expected });
        }
        let mut beside = path.as_os_str().to_owned();
        beside.push(".frames");
        let (file, frames) = (AtomicFile::create(path)?, AtomicFile::create(beside)?);
        Ok(Self { file, frames, fps, points, written: 0, shape: Shape::default(), content })
    }
}

impl FrameWriter for Spool {
    fn write_frame(&mut self, frame: Frame<'_>) -> Result<()> {
        if self.written == 0 {
            self.shape = Shape::of(frame.mesh);
        }
        for coordinate in frame.positions.as_flattened() {
            self.frames.write_all(&coordinate.to_le_bytes()).map_err(|source| self.frames.error(source))?;
        }
        self.written += 1;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { mut file, mut frames, fps, points, written, shape, content } = *self;
        frames.revise(|disk| {
            let shape = &shape;
            content(&mut file, &mut Frames { disk, points, count: written, fps, shape, bytes: Vec::new() })
        })?;
        file.finish()
    }

    fn finish_early(self: Box<Self>, _: Frame<'_>) -> Result<()> {
        self.finish()
    }
}

/// All frames.
pub(super) struct Frames<'a> {
    disk: &'a mut Disk,
    points: u32,
    pub(super) count: u32,
    pub(super) fps: f64,
    pub(super) shape: &'a Shape,
    bytes: Vec<u8>,
}

impl Frames<'_> {
    /// The vertices of a frame.
    pub(super) fn points(&self) -> u32 {
        self.points
    }

    /// The positions of a frame.
    pub(super) fn positions(&mut self, frame: u32) -> io::Result<Vec<[f32; 3]>> {
        let size = 12 * self.points as usize;
        self.bytes.resize(size, 0);
        self.disk.read_at(u64::from(frame) * size as u64, &mut self.bytes)?;
        let number = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Ok(self.bytes.chunks_exact(12).map(|point| [0, 4, 8].map(|at| number(&point[at..at + 4]))).collect())
    }
}

/// The smallest and the largest coordinates.
pub(super) fn extent(points: &[[f32; 3]]) -> [[f32; 3]; 2] {
    let Some(first) = points.first() else { return [[0.0; 3]; 2] };
    points.iter().fold([*first; 2], |[least, most], point| {
        let least = std::array::from_fn(|axis| f32::min(least[axis], point[axis]));
        [least, std::array::from_fn(|axis| f32::max(most[axis], point[axis]))]
    })
}
