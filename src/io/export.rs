//! Positions over time in the format that the name of a file asks for.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::atomic::AtomicFile;
use super::sequence::{self, Pattern};
use super::{glb, mdd, npy, obj, pc2, ply, usda};
use crate::error::{Error, Result};
use crate::mesh::Mesh;

/// Every format that can be written.
pub const FORMATS: &[Format] =
    &[pc2::FORMAT, mdd::FORMAT, npy::FORMAT, usda::FORMAT, glb::FORMAT, obj::FORMAT, ply::FORMAT];

/// A format that can be written. It is declared in the file that has its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// What the name of a file ends with, in lower case and without the dot.
    pub extension: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    pub(super) files: Files,
}

/// Extensions are unique.
impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.extension == other.extension
    }
}

impl Eq for Format {}

impl Format {
    /// Whether there may be a file per frame; else all frames are in one file.
    pub fn numbered(&self) -> bool {
        matches!(self.files, Files::PerFrame(_))
    }
}

/// What goes into which file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Files {
    /// All frames into one.
    One(fn(&Path, Plan) -> Result<Box<dyn FrameWriter>>),
    /// Each frame into its own, or the last only.
    PerFrame(Content),
}

/// What a file of one frame has.
type Content = fn(&mut dyn io::Write, Frame<'_>) -> io::Result<()>;

/// What is known before the first frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) points: u32,
    pub(super) frames: u32,
    pub(super) fps: f64,
}

/// One frame, checked: as many positions as vertices, all finite.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) mesh: &'a Mesh,
    /// The stretch that counts as none.
    pub(super) band: [f32; 2],
    pub(super) positions: &'a [[f32; 3]],
}

/// Writes frames as they come. Dropped before its end it leaves nothing behind.
pub(super) trait FrameWriter: fmt::Debug + Send + Sync {
    /// Adds one frame.
    fn write_frame(&mut self, frame: Frame<'_>) -> Result<()>;

    /// Puts everything in place once all frames are written.
    fn finish(self: Box<Self>) -> Result<()>;

    /// Puts those frames in place that were written so far; `last` is the last of them.
    fn finish_early(self: Box<Self>, last: Frame<'_>) -> Result<()>;
}

/// A file, or one per frame, to which positions are to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    path: PathBuf,
    format: &'static Format,
    pattern: Option<Pattern>,
}

impl Target {
    /// Reads the format off the extension of a path: one of [`FORMATS`]. Where these have a file per frame, a place for
    /// a number in the name ([`Pattern`]) asks for it; without one only the last frame is written. Nothing is touched.
    ///
    /// # Errors
    ///
    /// [`Error::Pattern`].
    pub fn new(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let Some(format) = FORMATS.iter().find(|format| Some(format.extension) == extension.as_deref()) else {
            let known: Vec<String> = FORMATS.iter().map(|format| format!(".{}", format.extension)).collect();
            let (last, others) = known.split_last().map_or(("", &[][..]), |(last, others)| (last, others));
            let problem = format!("must end with {} or {last}", others.join(", "));
            return Err(Error::Pattern { path, problem });
        };
        let pattern = Pattern::new(&path)?;
        if pattern.is_some() && !format.numbered() {
            let problem = "is one file for all frames and has no place for a number".into();
            return Err(Error::Pattern { path, problem });
        }
        Ok(Self { path, format, pattern })
    }

    /// As it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is written.
    pub fn format(&self) -> &'static Format {
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
    frames: u32,
    written: u32,
    writer: Box<dyn FrameWriter>,
}

impl Export {
    /// Starts an export of so many frames of a mesh, `fps` per second, where the format has a time.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for counts that a format cannot hold, [`Error::Io`].
    pub fn create(target: &Target, mesh: &Mesh, frames: u32, fps: f64) -> Result<Self> {
        // Vertex counts are below 2³¹: `Mesh`.
        let plan = Plan { points: mesh.vertex_count() as u32, frames, fps };
        let writer: Box<dyn FrameWriter> = match (target.format.files, &target.pattern) {
            (Files::One(create), _) => create(&target.path, plan)?,
            (Files::PerFrame(content), Some(pattern)) => {
                Box::new(Sequence { writer: sequence::Writer::create(pattern.clone(), frames)?, content })
            }
            (Files::PerFrame(content), None) => {
                Box::new(Last { file: AtomicFile::create(&target.path)?, content, left: frames })
            }
        };
        Ok(Self { frames, written: 0, writer })
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
        self.writer.write_frame(Frame { mesh, band, positions })?;
        self.written += 1;
        Ok(())
    }

    /// Puts everything in place.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if frames are missing, [`Error::Io`].
    pub fn finish(self) -> Result<()> {
        super::check_complete(self.written, self.frames)?;
        self.writer.finish()
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
        self.writer.finish_early(Frame { mesh, band, positions })
    }
}

/// A file per frame.
#[derive(Debug)]
struct Sequence {
    writer: sequence::Writer,
    content: Content,
}

impl FrameWriter for Sequence {
    fn write_frame(&mut self, frame: Frame<'_>) -> Result<()> {
        self.writer.write_file(|file| (self.content)(file, frame))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finish()
    }

    fn finish_early(self: Box<Self>, _: Frame<'_>) -> Result<()> {
        self.writer.finish_early()
    }
}

/// A file of the last frame.
#[derive(Debug)]
struct Last {
    file: AtomicFile,
    content: Content,
    /// Frames that are to come.
    left: u32,
}

impl Last {
    fn put(&mut self, frame: Frame<'_>) -> Result<()> {
        (self.content)(&mut self.file, frame).map_err(|source| self.file.error(source))
    }
}

impl FrameWriter for Last {
    fn write_frame(&mut self, frame: Frame<'_>) -> Result<()> {
        if self.left == 1 {
            self.put(frame)?;
        }
        self.left -= 1;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.file.finish()
    }

    fn finish_early(mut self: Box<Self>, last: Frame<'_>) -> Result<()> {
        if self.left > 0 {
            self.put(last)?;
        }
        self.file.finish()
    }
}
