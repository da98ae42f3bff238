//! The files that fuzzing kept, each of which reaches something of its own, and those that once did harm: replayed with
//! every run of the tests. `fuzz/Cargo.toml` says how to find more.
#![cfg(all(feature = "import", feature = "scene-files"))]

#[path = "../fuzz/subjects.rs"]
mod subjects;

use std::path::Path;

fn replay(target: &str, subject: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    assert!(paths.len() >= 10, "{} has only {} files", folder.display(), paths.len());
    for path in paths {
        // Of a panic one wants to know whose it is.
        println!("{}", path.display());
        subject(&std::fs::read(&path).expect("the file can be read"));
    }
}

#[test]
fn files_of_obj_do_no_harm() {
    replay("obj", subjects::obj);
}

#[test]
fn files_of_ply_do_no_harm() {
    replay("ply", subjects::ply);
}

#[test]
fn files_of_glb_do_no_harm() {
    replay("glb", subjects::glb);
}

#[test]
fn scene_files_do_no_harm() {
    replay("scene", subjects::scene);
}

#[test]
fn checkpoints_do_no_harm() {
    subjects::checkpoint(subjects::good_checkpoint());
    replay("checkpoint", subjects::checkpoint);
}

#[test]
fn forged_checkpoints_do_no_harm() {
    replay("forged", subjects::forged);
}
