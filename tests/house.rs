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

/// A step of the paper is in one place: `shaders/x.wgsl`, and `x.rs` among the stages or solvers, or in the engine.
#[test]
fn every_shader_has_a_twin_of_its_stem() {
    let twins: BTreeSet<String> = ["src/stage", "src/solver", "src/engine"]
        .iter()
        .flat_map(|folder| files(folder, "rs"))
        .map(|path| stem(&path))
        .collect();
    for shader in files("shaders", "wgsl").iter().map(|path| stem(path)).filter(|stem| stem != "prelude") {
        assert!(twins.contains(&shader), "shaders/{shader}.wgsl has no twin");
    }
}

#[test]
fn no_line_of_a_comment_is_wider_than_120_columns() {
    let mut seen = 0;
    let folders = ["src", "tests", "program", "examples", "web"].map(|folder| (folder, "rs"));
    for (folder, ending) in folders.into_iter().chain([("shaders", "wgsl")]) {
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

/// The folders of `src`, from the bottom to the top: each may use those before it, and none after it.
const FOLDERS: [&str; 14] = [
    "error",
    "vector",
    "lanes",
    "engine",
    "mesh",
    "solid",
    "stage",
    "solver",
    "cloth",
    "io",
    "scene",
    "reference",
    "render",
    "validate",
];

/// What a file of a folder uses of folders above it: (line, folder). Documentation and tests may look wherever they
/// like.
fn upward(folder: &str, text: &str) -> Vec<(usize, String)> {
    let rank = |name: &str| FOLDERS.iter().position(|known| *known == name);
    let own = rank(folder).unwrap_or_else(|| panic!("the folder {folder} has no place in the order"));
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut documentation = false;
    for (number, line) in code.lines().enumerate() {
        let line = line.trim_start();
        // Imports for links in the documentation.
        let skipped = line.starts_with("//") || std::mem::replace(&mut documentation, line == "#[cfg(doc)]");
        for after in line.split("crate::").skip(1).filter(|_| !skipped) {
            let name: String = after.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            // What the crate shows at its root is spelled by its folder inside of the crate.
            if rank(&name).is_none_or(|rank| rank > own) {
                found.push((number + 1, name));
            }
        }
    }
    found
}

#[test]
fn no_folder_uses_one_above_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = BTreeSet::new();
    for path in files("src", "rs") {
        let inside = path.strip_prefix(&source).expect("a file of src");
        let folder = inside.components().next().expect("a name").as_os_str().to_string_lossy().replace(".rs", "");
        if folder != "lib" {
            let found = upward(&folder, &read(&path));
            assert!(found.is_empty(), "{}: {found:?}", path.display());
            seen.insert(folder);
        }
    }
    assert_eq!(seen.len(), FOLDERS.len(), "{seen:?}");
}

#[test]
fn an_upward_use_would_be_found() {
    let planted = "use crate::error::Result;\n#[cfg(doc)]\nuse crate::cloth::Cloth;\nfn f() { crate::cloth::step() }\n";
    assert_eq!(upward("engine", planted), [(4, "cloth".to_owned())]);
    assert_eq!(upward("engine", "use crate::Mesh;\n"), [(1, "Mesh".to_owned())]);
    assert!(upward("scene", "use crate::cloth::Cloth;\n#[cfg(test)]\nuse crate::render;\n").is_empty());
}
