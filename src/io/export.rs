//! Positions over time in the format that the name of a file asks for.

use std::path::{Path, PathBuf};

use super::sequence::{self, Pattern};
use super::{mdd, npy, obj, pc2, ply};
use crate::cloth::report::vertex_strain;
use crate::error::{Error, Result};
use crate::mesh::Mesh;

/// The formats that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// PointCache2 ([`pc2`]), all frames in one file.
    Pc2,
    /// MDD ([`mdd`]), all frames in one file.
    Mdd,
    /// NPY ([`npy`]), all frames in one file.
    Npy,
    /// Wavefront OBJ ([`obj`]), a file per frame or the last only.
    Obj,
    /// PLY ([`ply`]) with the strain of each vertex, a file per frame or the last only.
    Ply,
}

/// A file, or one per frame, to which positions are to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    path: PathBuf,
    format: Format,
    pattern: Option<Pattern>,
}

impl Target {
    /// Reads the format off the extension of a path: `.pc2`, `.mdd`, `.npy`, `.obj` or `.ply`. For the last two a place
    /// for a number in the name ([`Pattern`]) means a file per frame; without it only the last frame is written.
    /// Nothing is touched.
    ///
    /// # Errors
    ///
    /// [`Error::Pattern`].
    pub fn new(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let format = match extension.as_deref() {
            Some("pc2") => Format::Pc2,
            Some("mdd") => Format::Mdd,
            Some("npy") => Format::Npy,
            Some("obj") => Format::Obj,
            Some("ply") => Format::Ply,
            _ => return Err(Error::Pattern { path, problem: "must end with .pc2, .mdd, .npy, .obj or .ply" }),
        };
        let pattern = Pattern::new(&path)?;
        if pattern.is_some() && matches!(format, Format::Pc2 | Format::Mdd | Format::Npy) {
            return Err(Error::Pattern { path, problem: "is one file for all frames and has no place for a number" });
        }
        Ok(Self { path, format, pattern })
    }

    /// As it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is written.
    pub fn format(&self) -> Format {
        self.format
    }
}

/// Writes frames to a [`Target`] as they come; memory does not grow with their number.
///
/// Dropped before [`finish`](Self::finish) it leaves nothing behind and what was there as it was.
///
/// ```
/// use taut::io::export::{Export, Target};
/// use taut::{Cloth, FrameInput, scene};
///
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// # let path = directory.path().join("cloth.###.ply");
/// let mut cloth = Cloth::on_cpu(scene::hang(9)?)?;
/// let mut export = Export::create(&Target::new(&path)?, cloth.mesh(), 10, 60.0)?; // e.g. frames/cloth.###.ply
/// for _ in 0..10 {
///     cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
///     export.write_frame(cloth.mesh(), [1.0, 1.0], &cloth.snapshot()?.positions)?;
/// }
/// export.finish()?;
/// # assert!(directory.path().join("cloth.009.ply").exists());
/// # Ok::<(), taut::Error>(())
/// ```
#[derive(Debug)]
pub struct Export {
    target: Target,
    frames: u32,
    written: u32,
    writer: Writer,
}

#[derive(Debug)]
enum Writer {
    Pc2(pc2::Writer),
    Mdd(mdd::Writer),
    Npy(npy::Writer),
    /// OBJ or PLY.
    Sequence(sequence::Writer),
    /// OBJ or PLY of the last frame, once it is there.
    Last(super::atomic::AtomicFile),
}

impl Export {
    /// Starts an export of so many frames of a mesh, `fps` per second, which MDD has a use for.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for counts that a format cannot hold, [`Error::Io`].
    pub fn create(target: &Target, mesh: &Mesh, frames: u32, fps: f64) -> Result<Self> {
        // Vertex counts are below 2³¹: `Mesh`.
        let points = mesh.vertex_count() as u32;
        let path = &target.path;
        let writer = match (target.format, &target.pattern) {
            (Format::Pc2, _) => {
                Writer::Pc2(pc2::Writer::create(path, pc2::Header { points, samples: frames, ..Default::default() })?)
            }
            (Format::Mdd, _) => Writer::Mdd(mdd::Writer::create(path, mdd::Header { points, frames, fps })?),
            (Format::Npy, _) => Writer::Npy(npy::Writer::create(path, frames, points)?),
            (_, Some(pattern)) => Writer::Sequence(sequence::Writer::create(pattern.clone(), frames)?),
            (_, None) => Writer::Last(super::atomic::AtomicFile::create(path)?),
        };
        Ok(Self { target: target.clone(), frames, written: 0, writer })
    }

    /// Adds one frame: the position of each vertex, m. `band` is the stretch that counts as none, for the strain in
    /// PLY: [`Settings::stretch_min`](crate::Settings::stretch_min) and its counterpart.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if there are not as many positions as vertices, or more frames than promised;
    /// [`Error::NotFinite`] and [`Error::Io`].
    pub fn write_frame(&mut self, mesh: &Mesh, band: [f32; 2], positions: &[[f32; 3]]) -> Result<()> {
        super::check_sample(positions, mesh.vertex_count() as u32, self.written, self.frames)?;
        let Self { target, frames, written, writer } = self;
        let last = *written + 1 == *frames;
        match writer {
            Writer::Pc2(writer) => writer.write_sample(positions)?,
            Writer::Mdd(writer) => writer.write_frame(positions)?,
            Writer::Npy(writer) => writer.write_frame(positions)?,
            Writer::Sequence(writer) => {
                writer.write_file(|file| content(target.format, file, mesh, band, positions))?;
            }
            Writer::Last(file) if last => {
                content(target.format, file, mesh, band, positions).map_err(|source| file.error(source))?;
            }
            Writer::Last(_) => {}
        }
        *written += 1;
        Ok(())
    }

    /// Puts everything in place.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if frames are missing, [`Error::Io`].
    pub fn finish(self) -> Result<()> {
        super::check_complete(self.written, self.frames)?;
        match self.writer {
            Writer::Pc2(writer) => writer.finish(),
            Writer::Mdd(writer) => writer.finish(),
            Writer::Npy(writer) => writer.finish(),
            Writer::Sequence(writer) => writer.finish(),
            Writer::Last(file) => file.finish(),
        }
    }

    /// Puts those frames in place that were written so far; `positions` are those of the last of them, for files that
    /// have no other.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if there are not as many positions as vertices, [`Error::NotFinite`] and
    /// [`Error::Io`].
    pub fn finish_early(self, mesh: &Mesh, band: [f32; 2], positions: &[[f32; 3]]) -> Result<()> {
        super::check_sample(positions, mesh.vertex_count() as u32, 0, 1)?;
        match self.writer {
            Writer::Pc2(writer) => writer.finish_early(),
            Writer::Mdd(writer) => writer.finish_early(),
            Writer::Npy(writer) => writer.finish_early(),
            Writer::Sequence(writer) => writer.finish_early(),
            Writer::Last(mut file) => {
                if self.written < self.frames {
                    let written = content(self.target.format, &mut file, mesh, band, positions);
                    written.map_err(|source| file.error(source))?;
                }
                file.finish()
            }
        }
    }
}

/// What a file of one frame has.
fn content(
    format: Format,
    file: &mut dyn std::io::Write,
    mesh: &Mesh,
    band: [f32; 2],
    positions: &[[f32; 3]],
) -> std::io::Result<()> {
    match format {
        Format::Obj => obj::write_elements(file, mesh, positions),
        _ => {
            let strain = vertex_strain(mesh, band, positions);
            let attributes = ply::Attributes { strain: Some(&strain), colors: None };
            ply::write_elements(file, mesh, positions, attributes)
        }
    }
}
