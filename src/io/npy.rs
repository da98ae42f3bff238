//! NPY: positions over time as an array that `numpy.load` reads, of type `<f4` and shape (frames, points, 3).
//!
//! A file is `\x93NUMPY`, the version 1.0 as two bytes, the length of the text that follows (`u16`), that text (a
//! Python dictionary, filled with blanks so that what follows starts at a multiple of 64 bytes), and the numbers; all
//! little-endian.

use std::io::Write;
use std::path::Path;

use super::atomic::AtomicFile;
use super::check_sample;
use super::export::{Files, Format, Frame, FrameWriter};
use crate::error::Result;

/// As the table of exports has it.
pub(super) const FORMAT: Format = Format {
    extension: "npy",
    about: "NPY, an array for numpy",
    files: Files::One(|path, plan| Ok(Box::new(Writer::create(path, plan.frames, plan.points)?))),
};

/// Where the numbers start is a multiple of this.
const ALIGNMENT: usize = 64;
/// Bytes before the text.
const PREFIX: usize = 10;

/// Writes an array frame by frame; memory does not grow with their number.
///
/// The file appears when [`finish`](Self::finish) has found all frames that were promised.
#[derive(Debug)]
pub struct Writer {
    file: AtomicFile,
    frames: u32,
    points: u32,
    written: u32,
}

impl Writer {
    /// Starts an array of so many frames and points.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io).
    pub fn create(path: impl AsRef<Path>, frames: u32, points: u32) -> Result<Self> {
        let mut writer = Self { file: AtomicFile::create(path)?, frames, points, written: 0 };
        writer.put(&header(frames, points))?;
        Ok(writer)
    }

    /// Adds one frame: the position of each point, m.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if there are not as many positions as points, or more
    /// frames than promised; [`Error::NotFinite`](crate::Error::NotFinite) and [`Error::Io`](crate::Error::Io).
    pub fn write_frame(&mut self, positions: &[[f32; 3]]) -> Result<()> {
        check_sample(positions, self.points, self.written, self.frames)?;
        for coordinate in positions.as_flattened() {
            self.put(&coordinate.to_le_bytes())?;
        }
        self.written += 1;
        Ok(())
    }

    /// Puts the file in place.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if frames are missing, [`Error::Io`](crate::Error::Io);
    /// then there is no file.
    pub fn finish(self) -> Result<()> {
        super::check_complete(self.written, self.frames)?;
        self.file.finish()
    }

    /// Puts an array in place that has only the frames written so far.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io); then there is no file.
    pub fn finish_early(mut self) -> Result<()> {
        // As long as the one that it replaces: both are filled up.
        let header = header(self.written, self.points);
        self.file.revise(|file| file.write_at(0, &header))?;
        self.file.finish()
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|source| self.file.error(source))
    }
}

impl FrameWriter for Writer {
    fn write_frame(&mut self, frame: Frame<'_>) -> Result<()> {
        Self::write_frame(self, frame.positions)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Self::finish(*self)
    }

    fn finish_early(self: Box<Self>, _: Frame<'_>) -> Result<()> {
        Self::finish_early(*self)
    }
}

fn header(frames: u32, points: u32) -> Vec<u8> {
    let mut text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({frames}, {points}, 3), }}");
    // The text ends with a line feed.
    while !(PREFIX + text.len() + 1).is_multiple_of(ALIGNMENT) {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    // Two numbers of at most ten digits: it is 118 bytes long.
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}
