//! Results of parts, or of the machines of a fleet, as one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::results::{CPU, ResultFile};
use crate::output;

/// The results of files, and of all JSON files in directories.
pub(super) fn load(paths: &[PathBuf]) -> Result<ResultFile> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let entries = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
            let mut found = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
            found.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
            found.sort();
            ensure!(!found.is_empty(), "{} has no JSON files", path.display());
            files.extend(found);
        } else {
            files.push(path.clone());
        }
    }
    let loaded = files.iter().map(|path| Ok((path.as_path(), super::load(path)?))).collect::<Result<Vec<_>>>()?;
    let Joined { file, again } = join(loaded)?;
    if again > 0 {
        output::say(&format!("{again} rows were measured more than once; those of the first file count"));
    }
    Ok(file)
}

/// One file of several.
#[derive(Debug)]
struct Joined {
    file: ResultFile,
    /// Rows that were left out, because an earlier file has them.
    again: usize,
}

/// What a row is of: those of two files that have it in common would be one.
type Key = (String, String, u32, String, String, u32);

fn join(files: Vec<(&Path, ResultFile)>) -> Result<Joined> {
    let mut files = files.into_iter();
    let (first, mut file) = files.next().context("there is nothing to join")?;
    let mut parts = vec![file.part];
    let mut again = 0;
    let mut seen: BTreeSet<Key> = keys(&file).collect();
    for (path, mut other) in files {
        let build = |file: &ResultFile| {
            let machine = &file.machine;
            format!("{} {} ({})", machine.taut_version, machine.commit, machine.profile)
        };
        let [one, two] = [&file, &other].map(build);
        if one != two {
            bail!(
                "{} and {} cannot be joined: one is of taut {one}, the other of {two}",
                first.display(),
                path.display()
            );
        }
        ensure!(
            file.paper.is_none() && other.paper.is_none(),
            "{} and {} cannot be joined: results of the suite paper are not",
            first.display(),
            path.display()
        );
        if other.machine.cpu != file.machine.cpu {
            // Another processor is another place.
            let place = format!("{CPU} ({})", other.machine.cpu);
            other.rows.iter_mut().filter(|row| row.place == CPU).for_each(|row| row.place.clone_from(&place));
        }
        parts.push(other.part);
        file.complete &= other.complete;
        file.software |= other.software;
        for adapter in other.machine.adapters.drain(..) {
            if !file.machine.adapters.iter().any(|known| known.label == adapter.label) {
                file.machine.adapters.push(adapter);
            }
        }
        let of = keys(&other).collect::<Vec<_>>();
        for (row, key) in other.rows.into_iter().zip(of) {
            if seen.insert(key) {
                file.rows.push(row);
            } else {
                again += 1;
            }
        }
    }
    if parts.len() > 1 || parts[0].is_some() {
        check(&parts)?;
    }
    file.part = None;
    Ok(Joined { file, again })
}

/// Refuses parts of which some are missing. Files that are whole need no others.
fn check(parts: &[Option<crate::shard::Shard>]) -> Result<()> {
    let shards: Vec<_> = parts.iter().flatten().collect();
    let Some(first) = shards.first() else { return Ok(()) };
    ensure!(shards.len() == parts.len(), "some of the files are parts, and others are whole");
    let count = first.count;
    ensure!(shards.iter().all(|shard| shard.count == count), "the files are parts of different numbers of parts");
    let missing = (0..count).find(|index| shards.iter().all(|shard| shard.index != *index));
    match missing {
        Some(index) => bail!("part {index} of {count} is missing, counted from 0"),
        None => Ok(()),
    }
}

fn keys(file: &ResultFile) -> impl Iterator<Item = Key> + '_ {
    file.rows.iter().map(|row| {
        let [suite, scene, solver, place] = [&row.suite, &row.scene, &row.solver, &row.place].map(Clone::clone);
        (suite, scene, row.size, solver, place, (row.strain_limit as f32).to_bits())
    })
}
