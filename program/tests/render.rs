//! Pictures that the program draws, with and without adapters, and draws again from what it wrote.

mod common;
#[path = "../../tests/common/pictures.rs"]
mod pictures;

use std::collections::BTreeSet;
use std::path::Path;

use common::{NO_ADAPTER, TOP, has_gpu, run_with as taut};
use pictures::{compared, gif, pixels, png, share};
use taut::render::{Look, Picture};

#[test]
fn a_png_is_drawn_with_and_without_adapters() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = "run curtain --size 16 --seconds 0.2 --render x.png --size-px 320x200";
    let told = taut(directory.path(), &NO_ADAPTER, arguments).succeeds();
    assert!(told.contains("320 × 200, drawn on the CPU") && told.contains("x.png"), "{told}");
    let without = png(&directory.path().join("x.png"));
    assert_eq!(without.size(), [320, 200]);
    assert!(pixels(&without).collect::<BTreeSet<_>>().len() > 1000);
    if has_gpu() {
        let arguments = format!("{arguments} --backend gpu");
        let told = taut(directory.path(), &[], &arguments).succeeds();
        assert!(told.contains("320 × 200, drawn by"), "{told}");
        let with = png(&directory.path().join("x.png"));
        // The two simulations agree within rounding, and so do their pictures.
        let (_, difference) = compared(&with, &without, Look::default().background);
        assert!(difference < 1.0, "{difference}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn an_animation_is_drawn_and_drawn_again_from_what_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let run = "run drape --size 10 --seconds 0.2 --fps 60 --backend cpu --out out --render x.gif --size-px 96x72";
    taut(directory.path(), &[], run).succeeds();
    // Frames 0, 3, 6, 9 and 12, a twentieth of a second each.
    let decoded = gif(&directory.path().join("x.gif"));
    assert_eq!((decoded.size, decoded.frames, decoded.endless), ([96, 72], 5, true));
    assert_eq!(decoded.delays, [5; 5]);

    let again = "render out --render y.gif --size-px 96x72 --every 6 --backend cpu --color strain";
    let told = taut(directory.path(), &[], again).succeeds();
    assert!(told.contains("y.gif: 3 frames of 96 × 72, drawn on the CPU"), "{told}");
    assert_eq!(gif(&directory.path().join("y.gif")).delays, [10; 3]);

    let run = "run drape --size 10 --seconds 0.2 --backend cpu --render x.png --size-px 96x72 --quiet";
    assert_eq!(taut(directory.path(), &[], run).succeeds(), "");
    taut(directory.path(), &[], "render out --size-px 96x72 --backend cpu").succeeds();
    let bytes = |name: &str| std::fs::read(directory.path().join(name)).unwrap();
    assert!(bytes("x.png") == bytes("out/render.png"), "the run and its recording show the same");
}

#[test]
fn the_other_side_is_drawn_too() {
    let directory = tempfile::tempdir().unwrap();
    let size = "--size-px 96x72 --backend cpu";
    taut(directory.path(), &[], &format!("run curtain --size 9 --seconds 0.7 --out out {size} --render a.png"))
        .succeeds();
    let drawn = |orbit: &str| {
        taut(directory.path(), &[], &format!("render out --render b.png {size} {orbit}")).succeeds();
        png(&directory.path().join("b.png"))
    };
    // The back of the cloth is of another color than its front, in any light.
    let blue = |picture: &Picture| share(picture, |[red, _, blue]| u32::from(blue) > u32::from(red) + 30);
    let (front, back) = (drawn("--orbit 0"), drawn("--orbit -180,5"));
    assert!(blue(&front) > 0.02 && blue(&back) < 0.002, "{} {}", blue(&front), blue(&back));
    let (_, difference) = compared(&front, &png(&directory.path().join("a.png")), Look::default().background);
    assert!(difference < 0.01, "{difference}");
}

#[test]
fn solids_of_a_scene_file_are_drawn_again_where_they_had_moved_to() {
    let directory = tempfile::tempdir().unwrap();
    let file = Path::new(TOP).join("examples/scenes/ball_through_curtain.toml");
    std::fs::copy(file, directory.path().join("ball.toml")).unwrap();
    let size = "--size-px 96x72 --backend cpu";
    let run = format!("run ball.toml --size 9 --seconds 0.3 --out out --render x.png --quiet {size}");
    taut(directory.path(), &[], &run).succeeds();
    let draw = format!("render out {size}");
    taut(directory.path(), &[], &draw).succeeds();
    let drawn = |name: &str| png(&directory.path().join(name));
    // The ball is where its keys say, not quite where the solver's rounding had it.
    let (_, difference) = compared(&drawn("x.png"), &drawn("out/render.png"), Look::default().background);
    assert!(difference < 0.1, "{difference}");
    // Without the file there is still the cloth.
    std::fs::remove_file(directory.path().join("ball.toml")).unwrap();
    taut(directory.path(), &[], &draw).succeeds();
    let (_, difference) = compared(&drawn("x.png"), &drawn("out/render.png"), Look::default().background);
    assert!(difference > 1.0, "{difference}");
}

/// The solids of options are in the report, and drawn again; a mesh file that is gone is said to be missing.
#[test]
fn solids_of_options_are_drawn_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let body = "v -1 -1 -1\nv 1 -1 -1\nv 1 1 -1\nv -1 1 -1\nv -1 -1 1\nv 1 -1 1\nv 1 1 1\nv -1 1 1\n\
                f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";
    std::fs::write(path.join("body.obj"), body).unwrap();
    let scene = taut::scene::sheet(9).unwrap();
    taut::io::obj::write(path.join("cloth.obj"), &scene.mesh, scene.mesh.positions()).unwrap();
    let size = "--size-px 96x72 --backend cpu";
    let run = "run --mesh cloth.obj --scale 0.5 --solid body.obj --solid sphere:0.9,-0.6,0.9,0.3 --seconds 0.2 --quiet";
    taut(path, &[], &format!("{run} --out out --render x.png {size}")).succeeds();
    let draw = format!("render out {size}");
    assert!(!taut(path, &[], &draw).succeeds().contains("without"));
    let drawn = |name: &str| png(&path.join(name));
    let (_, difference) = compared(&drawn("x.png"), &drawn("out/render.png"), Look::default().background);
    assert!(difference < 0.01, "{difference}");
    std::fs::remove_file(path.join("body.obj")).unwrap();
    let told = taut(path, &[], &draw).succeeds();
    assert!(told.contains("without solids: --solid body.obj: cannot access body.obj"), "{told}");
    let (_, difference) = compared(&drawn("x.png"), &drawn("out/render.png"), Look::default().background);
    assert!(difference > 1.0, "{difference}");
}

#[test]
fn bad_requests_are_one_sentence_and_write_nothing() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, says) in [
        ("run chain --render x.jpg", "must end in .png or .gif"),
        ("run chain --render x", "must end in .png or .gif"),
        ("run chain --render x.png --size-px 0x5", "width is 0"),
        ("run chain --render x.png --size-px 5x8193", "height is 8193"),
        ("run chain --render x.png --size-px 5", "like 800x600"),
        ("run chain --render x.png --size-px -5x5", "like 800x600"),
        ("run chain --render x.gif --every 0", "--every"),
        ("run chain --render x.gif --every 999", "--every 999 is more than the 120 frames"),
        ("run chain --render x.png --every 2", "single picture"),
        ("run chain --every 2", "no --render"),
        ("run chain --orbit 180", "no --render"),
        ("run chain --render x.png --orbit around", "one or two angles"),
        ("run chain --render x.png --orbit 90,nan", "one or two angles"),
        ("run chain --render x.png --orbit 400", "one or two angles"),
        ("run chain --color strain", "no --render"),
        ("run chain --size 4 --out out --render missing/x.png", "missing/x.png"),
        ("render missing", "report.json"),
        ("render . --render x.bmp", "must end in .png or .gif"),
        ("render . --backend cpu --adapter x", "--backend cpu uses none"),
    ] {
        let output = taut(directory.path(), &NO_ADAPTER, arguments);
        assert_eq!(output.code, Some(2), "{arguments}: {output:?}");
        let told = output.stderr;
        assert!(told.len() == 1 && told[0].contains(says), "{arguments}: {told:?}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "{arguments}");
    }
}

#[test]
fn damaged_recordings_are_named() {
    let directory = tempfile::tempdir().unwrap();
    taut(directory.path(), &NO_ADAPTER, "run chain --size 4 --seconds 0.05 --out out --quiet").succeeds();
    let report = directory.path().join("out/report.json");
    let good = std::fs::read_to_string(&report).unwrap();
    let refused = |says: &str| {
        let output = taut(directory.path(), &NO_ADAPTER, "render out");
        let told = output.said();
        assert!(output.code == Some(2) && told.contains(says), "{says}: {told}");
    };
    for (from, to, says) in [
        ("\"size\": 4", "\"size\": 5", "has 4 points, but the mesh has 5 vertices"),
        ("\"size\": 4", "\"size\": -4", "has no size"),
        ("\"fps\": 60.0", "\"fps\": 0.0", "has no fps"),
        ("{", "[", "malformed"),
    ] {
        assert!(good.contains(from), "{from} is not in {good}");
        std::fs::write(&report, good.replacen(from, to, 1)).unwrap();
        refused(says);
    }
    std::fs::write(&report, &good).unwrap();
    std::fs::write(directory.path().join("out/cloth.pc2"), b"POINTCACHE2").unwrap();
    refused("cloth.pc2");
}
