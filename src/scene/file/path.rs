//! Files that a scene names: they are inside its folder, or one that was named for it, or refused.

use std::path::{Component, Path, PathBuf};

/// Refuses names that lead outside by themselves: absolute ones, and those that go up.
///
/// # Errors
/// What is wrong, as the end of a sentence about the name.
pub(super) fn check(name: &str) -> Result<(), &'static str> {
    // What other systems take for a separator or a drive is refused everywhere: a file means the same on all of them.
    if name.contains(['\\', ':']) {
        return Err("must not have a backslash or a colon");
    }
    let parts: Vec<Component<'_>> = Path::new(name).components().collect();
    if parts.iter().all(|part| *part == Component::CurDir) || name.ends_with('/') {
        return Err("must be the name of a file");
    }
    match parts.iter().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        true => Ok(()),
        false => Err("must be inside the scene's folder: relative, and without .."),
    }
}

/// The file of a name that [`check`] accepted, with all links followed: in the first of the folders that has it.
///
/// # Errors
/// What is wrong with it in the first folder, as the end of a sentence about the name.
pub(super) fn existing<'a>(folders: impl IntoIterator<Item = &'a Path>, name: &str) -> Result<PathBuf, String> {
    check(name)?;
    let roots = folders.into_iter().map(real).collect::<Result<Vec<_>, _>>()?;
    let inside = |root: &PathBuf| {
        let file = real(&root.join(name))?;
        if !roots.iter().any(|root| file.starts_with(root)) {
            return Err("leads outside the scene's folder".to_owned());
        }
        if !file.is_file() {
            return Err("is not a file".to_owned());
        }
        Ok(file)
    };
    let mut problem = None;
    for root in &roots {
        match inside(root) {
            Ok(file) => return Ok(file),
            Err(wrong) => problem = problem.or(Some(wrong)),
        }
    }
    Err(problem.unwrap_or_else(|| "cannot be found: this scene was not read from a folder".to_owned()))
}

/// Where a file or folder of a name that [`check`] accepted may be written: nothing on the way to it that exists leads
/// outside.
///
/// # Errors
/// What is wrong, as the end of a sentence about the name.
pub(super) fn writable(folder: &Path, name: &str) -> Result<PathBuf, String> {
    check(name)?;
    let root = real(folder)?;
    let target = folder.join(name);
    // A link to nothing is there, too, and would be followed.
    let there = target.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(folder);
    if there.as_os_str().is_empty() || real(there)?.starts_with(&root) {
        return Ok(target);
    }
    Err("leads outside the scene's folder".to_owned())
}

fn real(path: &Path) -> Result<PathBuf, String> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    path.canonicalize().map_err(|error| format!("cannot be found: {error}"))
}
