//! One file per frame, all of them together or none.
//!
//! Frames are written to a hidden directory beside their destination. When the last is there all are moved in place;
//! dropped before that, the directory goes with everything in it. If a move fails, those before it are in place and
//! whole, and the others are gone. Files of a longer sequence that was there before stay.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::disk::{self, Disk};
use crate::error::{Error, Result};

/// More digits than any number of frames has.
const MOST_DIGITS: usize = 9;

/// A file name with a place for the number of a frame: a run of `#`, one per digit, or `%04d` as in C.
///
/// ```
/// use taut::io::sequence::Pattern;
///
/// let pattern = Pattern::new("frames/cloth.####.ply".as_ref())?.expect("it has a place for a number");
/// assert_eq!(pattern.path(7).to_str(), Some("frames/cloth.0007.ply"));
/// assert_eq!(Pattern::new("frames_####/cloth.ply".as_ref())?, None);
/// # Ok::<(), taut::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    directory: PathBuf,
    before: String,
    digits: usize,
    after: String,
}

impl Pattern {
    /// Finds the place in the last part of a path; `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Pattern`] if there is more than one, or one of more than nine digits, or the name is not Unicode.
    pub fn new(path: &Path) -> Result<Option<Self>> {
        let given = path.file_name().unwrap_or_default();
        let name = given.to_string_lossy();
        let wrong = |problem: &str| Error::Pattern { path: path.to_owned(), problem: problem.to_owned() };
        let Some((before, digits, after)) = placeholder(&name) else { return Ok(None) };
        if given.to_str().is_none() {
            return Err(wrong("has a place for a number in a name that is not Unicode"));
        }
        if placeholder(after).is_some() {
            return Err(wrong("has more than one place for the number of a frame"));
        }
        if digits > MOST_DIGITS {
            return Err(wrong("asks for more than nine digits"));
        }
        let directory = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Some(Self { directory, before: before.to_owned(), digits, after: after.to_owned() }))
    }

    /// The file of a frame.
    pub fn path(&self, frame: u32) -> PathBuf {
        self.directory.join(self.name(frame))
    }

    fn name(&self, frame: u32) -> String {
        let Self { before, digits, after, .. } = self;
        format!("{before}{frame:0digits$}{after}")
    }
}

/// What is before the first place for a number, its digits, and what is after it.
fn placeholder(name: &str) -> Option<(&str, usize, &str)> {
    for (at, _) in name.match_indices(['#', '%']) {
        let rest = &name[at..];
        if rest.starts_with('#') {
            let after = rest.trim_start_matches('#');
            return Some((&name[..at], rest.len() - after.len(), after));
        }
        let digits = rest[1..].trim_start_matches(|c: char| c.is_ascii_digit());
        if let Some(after) = digits.strip_prefix('d') {
            let width = &rest[1..rest.len() - digits.len()];
            return Some((&name[..at], width.parse().unwrap_or(usize::from(!width.is_empty()) * usize::MAX), after));
        }
    }
    None
}

/// Writes files one after the other, numbered from 0; memory does not grow with their number.
#[derive(Debug)]
pub struct Writer {
    pattern: Pattern,
    hidden: PathBuf,
    /// What tells others that the hidden directory is in use; `None` once it is to go.
    lock: Option<Disk>,
    frames: u32,
    written: u32,
}

impl Writer {
    /// Starts a sequence of so many files. Their directory must exist.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], also if something other than a file is in the way of one of them.
    pub fn create(pattern: Pattern, frames: u32) -> Result<Self> {
        for frame in 0..frames {
            let path = pattern.path(frame);
            if path.exists() && !path.is_file() {
                return Err(Error::Io { path, source: io::Error::other("it exists and is not a regular file") });
            }
        }
        let name = format!("{}{}", pattern.before, pattern.after);
        let hidden = disk::temporary_directory(&pattern.directory.join(name));
        let (hidden, lock) = hidden.map_err(|source| Error::Io { path: pattern.path(0), source })?;
        Ok(Self { pattern, hidden, lock: Some(lock), frames, written: 0 })
    }

    /// Writes the next file.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if there are more than promised, [`Error::Io`]; then the sequence cannot be completed.
    pub fn write_file(&mut self, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        if self.written == self.frames {
            super::check_complete(self.written + 1, self.frames)?;
        }
        let write = |path: PathBuf| {
            let mut file = BufWriter::new(Disk::create_new(&path)?);
            content(&mut file)?;
            file.flush()?;
            file.get_ref().sync()
        };
        let written = write(self.hidden.join(self.pattern.name(self.written)));
        written.map_err(|source| Error::Io { path: self.pattern.path(self.written), source })?;
        self.written += 1;
        Ok(())
    }

    /// Puts all files in place.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if some are missing, then there are none; [`Error::Io`].
    pub fn finish(self) -> Result<()> {
        super::check_complete(self.written, self.frames)?;
        self.finish_early()
    }

    /// Puts those files in place that were written so far.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn finish_early(self) -> Result<()> {
        for frame in 0..self.written {
            let path = self.pattern.path(frame);
            let moved = disk::rename(&self.hidden.join(self.pattern.name(frame)), &path);
            moved.map_err(|source| Error::Io { path, source })?;
        }
        let path = self.pattern.path(0);
        disk::sync_directory(&path).map_err(|source| Error::Io { path, source })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Some systems cannot remove an open file. Of a failure nobody is left to be told.
        self.lock = None;
        let _ = fs::remove_dir_all(&self.hidden);
    }
}
