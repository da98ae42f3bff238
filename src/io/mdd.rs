//! MDD: positions over time, as LightWave and others exchange them.
//!
//! Everything is big-endian: the number of frames (`i32`), the number of points (`i32`), the time of each frame in
//! seconds (`f32`), then for each frame x, y, z of each point as `f32`.

use std::io::Write;
use std::path::Path;

use super::atomic::AtomicFile;
use super::check_sample;
use super::export::{Files, Format, Frame, FrameWriter, Plan};
use crate::error::{Error, Result};

/// As the table of exports has it.
pub(super) const FORMAT: Format = Format {
    extension: "mdd",
    about: "MDD, with the times of the frames",
    files: Files::One(|path, Plan { points, frames, fps }| {
        Ok(Box::new(Writer::create(path, Header { points, frames, fps })?))
    }),
};

/// What a file says about itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// Points per frame, at most 2³¹−1.
    pub points: u32,
    /// Frames, at most 2³¹−1.
    pub frames: u32,
    /// Frames per second, finite and above zero. Frame k is at k/fps s.
    pub fps: f64,
}

impl Header {
    fn check(&self) -> Result<()> {
        let most = i32::MAX as u32;
        let checks = [
            ("points", f64::from(self.points), self.points <= most, "at most 2147483647"),
            ("frames", f64::from(self.frames), self.frames <= most, "at most 2147483647"),
            ("fps", self.fps, self.fps.is_finite() && self.fps > 0.0, "finite and above zero"),
        ];
        for (field, value, valid, expected) in checks {
            if !valid {
                return Err(Error::OutOfRange { field, index: None, value, expected });
            }
        }
        Ok(())
    }
}

/// Writes a cache frame by frame; memory does not grow with their number.
///
/// The file appears when [`finish`](Self::finish) has found all frames that the header promises.
#[derive(Debug)]
pub struct Writer {
    file: AtomicFile,
    header: Header,
    written: u32,
}

impl Writer {
    /// Starts a cache.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for the header, [`Error::Io`].
    pub fn create(path: impl AsRef<Path>, header: Header) -> Result<Self> {
        header.check()?;
        let mut writer = Self { file: AtomicFile::create(path)?, header, written: 0 };
        writer.put(&header.frames.to_be_bytes())?;
        writer.put(&header.points.to_be_bytes())?;
        for frame in 0..header.frames {
            writer.put(&((f64::from(frame) / header.fps) as f32).to_be_bytes())?;
        }
        Ok(writer)
    }

    /// Adds one frame: the position of each point, m.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if there are not as many positions as points, or more frames than promised;
    /// [`Error::NotFinite`] and [`Error::Io`].
    pub fn write_frame(&mut self, positions: &[[f32; 3]]) -> Result<()> {
        check_sample(positions, self.header.points, self.written, self.header.frames)?;
        for coordinate in positions.as_flattened() {
            self.put(&coordinate.to_be_bytes())?;
        }
        self.written += 1;
        Ok(())
    }

    /// Puts the file in place.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if frames are missing, [`Error::Io`]; then there is no file.
    pub fn finish(self) -> Result<()> {
        super::check_complete(self.written, self.header.frames)?;
        self.file.finish()
    }

    /// Puts a cache in place that has only the frames written so far. Their positions are moved to where the times of
    /// the missing ones were.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; then there is no file.
    pub fn finish_early(mut self) -> Result<()> {
        let starts = [self.header.frames, self.written].map(|frames| 8 + 4 * u64::from(frames));
        let length = 12 * u64::from(self.header.points) * u64::from(self.written);
        let frames = self.written.to_be_bytes();
        self.file.revise(|file| {
            file.write_at(0, &frames)?;
            let mut part = vec![0; 1 << 16];
            for offset in (0..length).step_by(part.len()) {
                let part = &mut part[..(length - offset).min(1 << 16) as usize];
                file.read_at(starts[0] + offset, part)?;
                file.write_at(starts[1] + offset, part)?;
            }
            file.cut(starts[1] + length)
        })?;
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
