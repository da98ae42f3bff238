//! Files that appear complete or not at all.

use super::disk::{self, Disk};
use crate::error::{Error, Result};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A buffered writer to a temporary file next to its destination.
///
/// [`finish`](Self::finish) moves it there; dropped before that, it leaves nothing behind and the
/// destination as it was. A reader never sees half a file. What a process that was killed left
/// behind goes with the next file of the same name.
#[derive(Debug)]
pub struct AtomicFile {
    /// As the caller named it, for messages.
    path: PathBuf,
    destination: PathBuf,
    temporary: PathBuf,
    /// `None` once the file is in place.
    writer: Option<BufWriter<Disk>>,
    /// Whether something may be missing from what was written.
    failed: bool,
}

impl AtomicFile {
    /// Opens a temporary file in the directory of `path`.
    ///
    /// A link is followed. What exists there and is not a regular file is refused: to replace a
    /// device or a directory is never what was meant.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        match Self::open(&path) {
            Ok((destination, temporary, file)) => {
                let writer = Some(BufWriter::new(file));
                Ok(Self { path, destination, temporary, writer, failed: false })
            }
            Err(source) => Err(Error::Io { path, source }),
        }
    }

    fn open(path: &Path) -> io::Result<(PathBuf, PathBuf, Disk)> {
        let destination = match fs::canonicalize(path) {
            Ok(existing) if existing.is_file() => existing,
            Ok(_) => return Err(io::Error::other("it exists and is not a regular file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(error),
        };
        let (temporary, file) = disk::temporary_file(&destination)?;
        Ok((destination, temporary, file))
    }

    /// The destination as the caller named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes sure that everything is on the disk, then moves the file to its destination. Fails if
    /// any write has failed before, whatever was written after it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; then there is no file, or, where only its directory could not be written to the disk, a whole
    /// one.
    pub fn finish(mut self) -> Result<()> {
        self.settle().map_err(|source| self.error(source))
    }

    fn settle(&mut self) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("an earlier write failed"));
        }
        let writer = self.writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        writer.flush()?;
        writer.get_ref().sync()?;
        disk::rename(&self.temporary, &self.destination)?;
        self.writer = None;
        disk::sync_directory(&self.destination)
    }

    /// Changes what was written so far; nothing can be appended after it.
    pub(crate) fn revise(&mut self, change: impl FnOnce(&mut Disk) -> io::Result<()>) -> Result<()> {
        let revised = self.flush().and_then(|()| {
            let writer = self.writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            change(writer.get_mut())
        });
        revised.map_err(|source| {
            self.failed = true;
            self.error(source)
        })
    }

    /// Adds the name of this file to an error of the operating system.
    pub(crate) fn error(&self, source: io::Error) -> Error {
        Error::Io { path: self.path.clone(), source }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let writer = self.writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        writer.write(bytes).inspect_err(|error| {
            // Writers try again after an interruption; nothing is lost by one.
            self.failed |= error.kind() != io::ErrorKind::Interrupted;
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().ok_or(io::ErrorKind::NotConnected)?.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            // Some systems cannot remove an open file. What is buffered need not be written, and
            // of a failure nobody is left to be told.
            drop(writer.into_parts());
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::fs::File;

    fn names(directory: &Path) -> Vec<OsString> {
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }

    #[test]
    fn finished_files_replace_and_interrupted_ones_leave_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");

        let mut interrupted = AtomicFile::create(&path).unwrap();
        interrupted.write_all(b"half").unwrap();
        interrupted.flush().unwrap();
        assert_eq!(names(directory.path()), [OsString::from(format!(".out.{}.0.tmp", std::process::id()))]);
        drop(interrupted);
        assert!(names(directory.path()).is_empty());

        for text in ["first", "second"] {
            let mut file = AtomicFile::create(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file.finish().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        let mut interrupted = AtomicFile::create(&path).unwrap();
        interrupted.write_all(b"third").unwrap();
        drop(interrupted);
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(names(directory.path()), ["out"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_failed_write_is_not_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let mut file = AtomicFile::create(&path).unwrap();
        // A device that is always full stands in for a full disk.
        let full = File::options().write(true).open("/dev/full").unwrap();
        file.writer = Some(BufWriter::with_capacity(1, Disk::of(full)));
        assert!(file.write_all(b"lost").is_err());
        file.writer = Some(BufWriter::new(Disk::of(File::create(&file.temporary).unwrap())));
        file.write_all(b"kept").unwrap();
        assert!(matches!(file.finish(), Err(Error::Io { .. })));
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn left_over_files_are_removed_and_block_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        for number in 0..1100 {
            fs::write(directory.path().join(format!(".out.{}.{number}.tmp", std::process::id())), "left over").unwrap();
        }
        fs::write(directory.path().join(".other.1.0.tmp"), "of another").unwrap();
        let living = AtomicFile::create(&path).unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        // What is written is not left over.
        assert!(living.temporary.exists() && living.temporary != file.temporary);
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        drop(living);
        let mut names = names(directory.path());
        names.sort();
        assert_eq!(names, [".other.1.0.tmp", "out"]);
    }

    #[test]
    fn two_writers_do_not_share_a_temporary_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let mut first = AtomicFile::create(&path).unwrap();
        let mut second = AtomicFile::create(&path).unwrap();
        first.write_all(b"first").unwrap();
        second.write_all(b"second").unwrap();
        second.finish().unwrap();
        first.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(names(directory.path()), ["out"]);
    }

    #[test]
    fn what_is_no_file_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path().to_owned(), directory.path().join("missing/out")] {
            match AtomicFile::create(&path) {
                Err(Error::Io { path: named, .. }) => assert_eq!(named, path),
                other => panic!("{other:?}"),
            }
        }
        assert!(names(directory.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (target, link) = (directory.path().join("target"), directory.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let mut file = AtomicFile::create(&link).unwrap();
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert!(link.is_symlink());
    }
}
