//! What files are written through: temporary names, locks that tell the living from the left over, and every call that
//! can fail, in one place, so that tests can make each of them fail.
//!
//! A temporary file is named `.NAME.PROCESS.NUMBER.tmp` and locked as long as somebody writes it; the operating system
//! takes the lock off when that process is gone, however it ended. So what can be locked is left over, and is removed
//! by the next writer of the same name. Process numbers alone would not do: they are used again, and containers that
//! share a disk have the same ones.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How many temporary names are tried; each is free unless two processes with one number race for it.
const ATTEMPTS: u32 = 1000;
/// The file that a temporary directory is locked by.
const LOCK: &str = ".lock";

/// A file that is written for the first time.
#[derive(Debug)]
pub(crate) struct Disk(File);

impl Disk {
    /// Makes a file that does not exist.
    pub(crate) fn create_new(path: &Path) -> io::Result<Self> {
        faults::point()?;
        File::create_new(path).map(Self)
    }

    /// Waits until everything is on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        faults::point()?;
        self.0.sync_all()
    }

    /// Overwrites what is at a place.
    pub(crate) fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(place))?;
        self.write_all(bytes)
    }

    /// Reads what was written at a place.
    pub(crate) fn read_at(&mut self, place: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(place))?;
        self.0.read_exact(bytes)
    }

    /// Cuts off what is behind a place.
    pub(crate) fn cut(&mut self, place: u64) -> io::Result<()> {
        faults::point()?;
        self.0.set_len(place)
    }

    #[cfg(test)]
    pub(crate) fn of(file: File) -> Self {
        Self(file)
    }

    /// Locks the file. `false` if somebody was faster and took it for left over.
    fn claim(&self, path: &Path) -> io::Result<bool> {
        match self.0.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(false),
            // Without locks, as on some network drives, nothing is ever taken for left over.
            Err(TryLockError::Error(_)) => Ok(true),
            Ok(()) => self.is_at(path),
        }
    }

    #[cfg(unix)]
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt;
        let own = self.0.metadata()?;
        Ok(fs::symlink_metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == (own.dev(), own.ino())))
    }

    #[cfg(not(unix))]
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        faults::point()?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Moves a file within a directory.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    faults::point()?;
    fs::rename(from, to)
}

/// Waits until the names in the directory of a file are on the disk: only then does a rename survive a loss of power.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    faults::point()?;
    #[cfg(unix)]
    match File::open(directory(path)).and_then(|directory| directory.sync_all()) {
        // Some drives know no such thing, and who may write a directory need not be allowed to read it.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied) => {}
        other => return other,
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// The directory of a file; that of a bare name is the current one.
fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a locked temporary file beside `path`, after those left over by others.
pub(crate) fn temporary_file(path: &Path) -> io::Result<(PathBuf, Disk)> {
    attempt(path, |temporary| {
        let file = Disk::create_new(temporary)?;
        Ok(file.claim(temporary)?.then_some(file))
    })
}

/// Makes a temporary directory beside `path`, after those left over by others, and the file that locks it.
pub(crate) fn temporary_directory(path: &Path) -> io::Result<(PathBuf, Disk)> {
    attempt(path, |temporary| {
        faults::point()?;
        fs::create_dir(temporary)?;
        let path = temporary.join(LOCK);
        match Disk::create_new(&path) {
            // Somebody found it empty and took it for left over.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                let _ = fs::remove_dir(temporary);
                Err(error)
            }
            Ok(lock) => Ok(lock.claim(&path)?.then_some(lock)),
        }
    })
}

fn attempt<T>(path: &Path, make: impl Fn(&Path) -> io::Result<Option<T>>) -> io::Result<(PathBuf, T)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    remove_left_over(directory(path), name);
    for number in 0..ATTEMPTS {
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.{number}.tmp", std::process::id()));
        let temporary = path.with_file_name(hidden);
        match make(&temporary) {
            Ok(Some(made)) => return Ok((temporary, made)),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Removes the temporary files and directories of a name that nobody writes any more. What cannot be removed stays: it
/// is in nobody's way.
fn remove_left_over(directory: &Path, name: &OsStr) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten().filter(|entry| is_temporary(&entry.file_name(), name)) {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        let _ = if kind.is_file() {
            unlocked(&path).and_then(|_lock| fs::remove_file(&path))
        } else if kind.is_dir() {
            match unlocked(&path.join(LOCK)) {
                Ok(_lock) => fs::remove_dir_all(&path),
                // Its process ended before it had a lock; or it has just been made, and its maker will make another.
                Err(error) if error.kind() == io::ErrorKind::NotFound => fs::remove_dir(&path),
                Err(error) => Err(error),
            }
        } else {
            Ok(())
        };
    }
}

/// A file that nobody has locked, locked.
fn unlocked(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    file.try_lock().map_err(|error| match error {
        TryLockError::Error(error) => error,
        TryLockError::WouldBlock => io::ErrorKind::WouldBlock.into(),
    })?;
    Ok(file)
}

/// Whether a file is called `.NAME.PROCESS.NUMBER.tmp`.
fn is_temporary(file: &OsStr, name: &OsStr) -> bool {
    let middle = || {
        let rest = file.as_encoded_bytes().strip_prefix(b".")?.strip_prefix(name.as_encoded_bytes())?;
        rest.strip_prefix(b".")?.strip_suffix(b".tmp")
    };
    middle().is_some_and(|middle| {
        let mut numbers = middle.split(|byte| *byte == b'.');
        let mut number = || numbers.next().is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit));
        number() && number() && numbers.next().is_none()
    })
}

#[cfg(not(test))]
mod faults {
    /// Where a call of the operating system may fail.
    #[inline]
    pub(super) fn point() -> std::io::Result<()> {
        Ok(())
    }
}

/// Calls that fail on purpose.
#[cfg(test)]
pub(crate) mod faults {
    use std::cell::Cell;
    use std::io;

    thread_local! {
        /// Calls that still succeed.
        static LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
        static FAILED: Cell<bool> = const { Cell::new(false) };
    }

    /// Where a call of the operating system may fail.
    pub(super) fn point() -> io::Result<()> {
        match LEFT.get() {
            u32::MAX => Ok(()),
            0 => {
                FAILED.set(true);
                Err(io::ErrorKind::StorageFull.into())
            }
            left => {
                LEFT.set(left - 1);
                Ok(())
            }
        }
    }

    /// Runs `work` on a disk that is full after so many calls; tells whether it came to that.
    pub(crate) fn after<T>(calls: u32, work: impl FnOnce() -> T) -> (T, bool) {
        FAILED.set(false);
        LEFT.set(calls);
        let made = work();
        LEFT.set(u32::MAX);
        (made, FAILED.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::io::export::{Export, Target};

    #[test]
    fn only_own_temporary_names_are_recognised() {
        let name = OsStr::new("a.ply");
        for file in [".a.ply.1.0.tmp", ".a.ply.4194304.999.tmp"] {
            assert!(is_temporary(OsStr::new(file), name), "{file}");
        }
        for file in [
            "a.ply",
            ".a.ply",
            ".a.ply.tmp",
            ".a.ply.0.tmp",
            ".a.ply..0.tmp",
            ".a.ply.1.0.0.tmp",
            ".a.ply.x.0.tmp",
            ".b.ply.1.0.tmp",
            "a.ply.1.0.tmp",
            ".a.ply.1.0.tmp~",
            ".a.ply1.0.tmp",
        ] {
            assert!(!is_temporary(OsStr::new(file), name), "{file}");
        }
    }

    /// Everything below a directory, with its contents.
    fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found: Vec<(PathBuf, Vec<u8>)> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), fs::read(&path).unwrap_or_default()))
            .collect();
        found.sort();
        found
    }

    #[test]
    fn a_call_that_fails_leaves_no_half_file_whichever_it_is() {
        let mesh = crate::scene::sheet(40).unwrap().mesh;
        let frames = [mesh.positions().to_vec(), mesh.positions().iter().map(|[x, y, z]| [*x, y + 1.0, *z]).collect()];
        for name in ["a.pc2", "a.mdd", "a.npy", "a.obj", "a.ply", "a.##.obj", "a.##.ply"] {
            let export = |directory: &Path| -> crate::Result<()> {
                let target = Target::new(directory.join(name))?;
                let mut export = Export::create(&target, &mesh, 2, 60.0)?;
                frames.iter().try_for_each(|positions| export.write_frame(&mesh, [1.0; 2], positions))?;
                export.finish()
            };
            let directory = tempfile::tempdir().unwrap();
            let directory = directory.path();
            export(directory).unwrap();
            let whole = contents(directory);
            let old: Vec<_> = whole.iter().map(|(path, _)| (path.clone(), b"old".to_vec())).collect();
            let mut calls = 0;
            loop {
                old.iter().for_each(|(path, text)| fs::write(path, text).unwrap());
                let (outcome, failed) = faults::after(calls, || export(directory));
                let found = contents(directory);
                if !failed {
                    outcome.unwrap();
                    assert_eq!(found, whole, "{name}");
                    break;
                }
                assert!(matches!(outcome, Err(Error::Io { .. })), "{name}, call {calls}: {outcome:?}");
                assert_eq!(found.len(), whole.len(), "{name}, call {calls}: something was left behind");
                for (index, found) in found.iter().enumerate() {
                    assert!(*found == old[index] || *found == whole[index], "{name}, call {calls}: {:?}", found.0);
                }
                calls += 1;
            }
            // Made, written, synced, moved, and the directory synced: at least one call each.
            assert!(calls >= 5, "{name}: {calls}");
        }
    }

    #[test]
    fn a_file_that_was_taken_for_left_over_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".a.1.0.tmp");
        let file = Disk::create_new(&path).unwrap();
        // Before it is locked, somebody else removes it and makes another of the same name.
        remove_left_over(directory.path(), OsStr::new("a"));
        assert!(!path.exists());
        let other = Disk::create_new(&path).unwrap();
        assert!(!file.claim(&path).unwrap());
        assert!(other.claim(&path).unwrap());
        remove_left_over(directory.path(), OsStr::new("a"));
        assert!(path.exists());
    }
}
