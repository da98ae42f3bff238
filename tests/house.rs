//! The rules of the house that a machine can keep: twins, stems, widths, and what the public API shows. Needs no GPU.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// All files of an ending below a folder of the repository.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == ending) {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "there is no .{ending} in {folder}");
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a name").to_string_lossy().into_owned()
}

/// A step of the paper is in one place: `shaders/x.wgsl`, and `x.rs` among the stages or solvers.
#[test]
fn every_shader_has_a_twin_of_its_stem() {
    let twins: BTreeSet<String> =
        ["src/stage", "src/solver"].iter().flat_map(|folder| files(folder, "rs")).map(|path| stem(&path)).collect();
    for shader in files("shaders", "wgsl").iter().map(|path| stem(path)).filter(|stem| stem != "prelude") {
        assert!(twins.contains(&shader), "shaders/{shader}.wgsl has no twin");
    }
}

#[test]
fn no_line_of_a_comment_is_wider_than_120_columns() {
    let mut seen = 0;
    for (folder, ending) in [("src", "rs"), ("shaders", "wgsl"), ("tests", "rs"), ("program", "rs"), ("examples", "rs")]
    {
        for path in files(folder, ending) {
            for (number, line) in read(&path).lines().enumerate() {
                let comment = line.trim_start().starts_with("//");
                // A row of a table cannot be wrapped.
                let table = line.trim_start_matches([' ', '/', '!']).starts_with('|');
                let width = line.chars().count();
                assert!(!comment || table || width <= 120, "{}:{}: {width} columns", path.display(), number + 1);
                seen += usize::from(comment);
            }
        }
    }
    assert!(seen > 1000, "only {seen} lines of comments were found");
}

/// Versions of these crates are nobody's business but ours: their types are no part of the public API. What the
/// kernels of a user's own need of bytemuck is meant, and `reference`, the judge of the tests, speaks glam.
#[test]
fn the_public_api_shows_no_types_of_helpers() {
    let foreign = ["naga::", "encase::", "Vec3", "Vec4", "UVec", "DVec3", "DMat3", "Quat"];
    for path in files("src", "rs") {
        if path.components().any(|part| part.as_os_str() == "reference") {
            continue;
        }
        for (number, line) in read(&path).lines().enumerate() {
            let line = line.trim_start();
            let public = ["pub fn ", "pub const fn ", "pub struct ", "pub type ", "pub const ", "pub async fn "]
                .iter()
                .any(|start| line.starts_with(start))
                || (line.starts_with("pub ") && line.contains(": ") && line.ends_with(','));
            let shown = foreign.iter().find(|name| line.contains(**name));
            assert!(!public || shown.is_none(), "{}:{}: {line}", path.display(), number + 1);
        }
    }
}

/// A solver or a force may use what stages offer; a stage knows no solver and no cloth, a solver no cloth.
#[test]
fn stages_know_no_solver_and_solvers_no_cloth() {
    for (folder, forbidden) in [
        ("src/stage", &["crate::solver::", "crate::cloth", "crate::scene", "crate::settings", "crate::render"][..]),
        ("src/solver", &["crate::cloth", "crate::scene", "crate::settings", "crate::render"]),
        ("src/mesh", &["crate::stage", "crate::solver", "crate::cloth", "crate::scene", "crate::settings"]),
    ] {
        for path in files(folder, "rs") {
            for (number, line) in read(&path).lines().enumerate().filter(|(_, line)| line.starts_with("use ")) {
                let found = forbidden.iter().find(|name| line.contains(**name));
                assert!(found.is_none(), "{}:{}: {line}", path.display(), number + 1);
            }
        }
    }
}
