//! `taut run --mesh` and `--export` as their users meet them. Every run here is on the CPU.

mod common;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;
#[cfg(unix)]
use std::process::Command;
#[cfg(unix)]
use std::time::{Duration, Instant};

#[cfg(unix)]
use common::command;
use common::{Finished, json, names, run, set};
use serde_json::Value;
use taut::io::import::{self, Options};
use taut::io::{obj, pc2};

/// A sheet of 10 × 10 vertices in cm, cut into triangles, its row z = 0 red and its first column a group, with a face
/// that has no area.
fn sheet(path: &Path) {
    let n = 10;
    let mut text = String::new();
    for vertex in 0..n * n {
        let (x, z) = (vertex % n * 10, vertex / n * 10);
        let color = if z == 0 { "1 0 0" } else { "0.25 0.25 0.25" };
        writeln!(text, "v {x} 0 {z} {color}").expect("text");
    }
    for vertex in 1..=n * n {
        if (vertex - 1) % n + 1 < n && vertex + n <= n * n {
            let [a, b, c, d] = [vertex, vertex + n, vertex + n + 1, vertex + 1];
            text += if (vertex - 1) % n == 0 { "g edge\n" } else { "g rest\n" };
            writeln!(text, "f {a} {b} {c}\nf {a} {c} {d}").expect("text");
        }
    }
    text += "f 1 2 3\n";
    std::fs::write(path, text).expect("a file");
}

#[test]
fn a_mesh_is_simulated_like_a_scene() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    sheet(&path.join("sheet.obj"));
    let arguments = "run --mesh sheet.obj --scale 0.01 --pair-triangles --pin color:ff0000 --pin index:90 --seconds 0.25 \
                     --backend cpu --out out";
    let Finished { code, stdout: table, stderr } = run(path, arguments);
    assert_eq!((code, stderr.len()), (Some(0), 0), "{table} {stderr:?}");
    // Text of one cell is spread over several lines; words stay whole.
    for words in
        ["sheet.obj", "100 vertices", "81 quads", "162 triangles", "11 vertices", "(line 344)", "1 piece", "held"]
    {
        assert!(table.contains(words), "{words}: {table}");
    }
    let report = json(&path.join("out/report.json"));
    assert_eq!((&report["scene"], &report["size"]), (&"sheet.obj".into(), &Value::Null));
    assert_eq!((&report["vertices"], &report["edges"]), (&100.into(), &180.into()));
    let import = &report["import"];
    let expected = [
        ("vertices", 100),
        ("particles", 100),
        ("welded_vertices", 0),
        ("faces", 81),
        ("quads", 81),
        ("paired_triangles", 162),
        ("degenerate_faces", 1),
        ("components", 1),
        ("pinned", 11),
        ("non_manifold_edges", 0),
        ("folded_quads", 0),
        ("thin_faces", 0),
    ];
    for (key, value) in expected {
        assert_eq!(import[key], value, "{key}: {import}");
    }
    // It hangs from its row, which did not move, and it starts at rest.
    let cache = pc2::read(path.join("out/cloth.pc2")).expect("a cache");
    let rest = import::read(&path.join("out/rest.obj"), &Options::default()).expect("a mesh").descriptor.positions;
    assert_eq!(cache.sample(0), Some(&rest[..]));
    let last = cache.sample(15).expect("the last frame");
    assert_eq!((rest[9], last[9], last[90]), ([0.9, 0.0, 0.0], [0.9, 0.0, 0.0], [0.0, 0.0, 0.9]));
    assert!(last[99][1] < -0.1, "{:?}", last[99]);

    // The same without its quads, by group and box; nothing said twice, nothing said when quiet.
    let held = |pins: &str| {
        let Finished { code, stdout, stderr } = run(
            path,
            &format!("run --mesh sheet.obj --scale 0.01 {pins} --seconds 0.02 --backend cpu --quiet --json -"),
        );
        assert!(code.is_some_and(|code| code < 2) && (code == Some(0)) == stderr.is_empty(), "{stderr:?}");
        let report: Value = serde_json::from_str(&stdout).expect("the report is JSON");
        report["import"]["pinned"].as_u64().expect("a count")
    };
    // Triangles are woven, and the report says how well their threads hold.
    let woven = |warp: &str| {
        let arguments =
            format!("run --mesh sheet.obj --scale 0.01 --pin color:ff0000 {warp} --seconds 0.1 --backend cpu");
        let Finished { code, stdout: table, .. } = run(path, &arguments);
        assert!(code.is_some_and(|code| code < 2), "{table}");
        (table, run(path, &format!("{arguments} --quiet --json -")).json())
    };
    for (warp, name, words) in [("", "sides", "woven along most"), ("--warp x", "x", "woven along x")] {
        let (table, report) = woven(warp);
        let table = table.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        assert!(table.contains("within triangles"), "{table}");
        assert_eq!(
            (&report["import"]["woven_triangles"], &report["import"]["warp"]),
            (&162.into(), &name.into()),
            "{words}"
        );
        assert_eq!((&report["edges"], &report["frames_over"]), (&180.into(), &0.into()));
        let (max, p99) = (&report["thread_strain_max"], &report["thread_strain_p99"]);
        assert!(
            max.as_f64() <= Some(0.01 + 1e-6) && max.as_f64() > Some(0.0) && p99.as_f64() <= max.as_f64(),
            "{report}"
        );
    }
    let (table, report) = woven("--warp off");
    assert!(table.contains("lock"), "{table}");
    assert_eq!((&report["edges"], &report["thread_strain_max"]), (&261.into(), &Value::Null));
    let Finished { code, stderr, .. } = run(path, "run --mesh sheet.obj --warp uv --backend cpu");
    assert!(code == Some(2) && stderr.join(" ").contains("no texture coordinates"), "{code:?} {stderr:?}");

    assert_eq!(held(""), 0);
    assert_eq!(held("--pin group:edge"), 20);
    assert_eq!(held("--pin box:-1,-1,0.85,1,1,1"), 10);
    assert_eq!(held("--pin index:0-9,5,99 --pin index:98"), 12);
    assert_eq!(held("--pin color:404040"), 90);
    assert_eq!(held("--pin color:484848~8"), 90);
}

/// A mesh is draped without a scene file: fabric, solids, air and axes are options.
#[test]
fn a_mesh_is_draped_by_options_alone() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    sheet(&path.join("sheet.obj"));
    // The same lying as files with z up have it, and a body to fall on: (x, y, z) is (x, -z, y) there.
    let turned = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        ["v", x, y, z, ..] => format!("v {x} -{z} {y}\n"),
        _ => format!("{line}\n"),
    };
    let text = std::fs::read_to_string(path.join("sheet.obj")).expect("a file");
    std::fs::write(path.join("upright.obj"), text.lines().map(turned).collect::<String>()).expect("a file");
    let block = "v 20 -70 -40\nv 70 -70 -40\nv 70 -20 -40\nv 20 -20 -40\nv 20 -70 -5\nv 70 -70 -5\nv 70 -20 -5\nv 20 -20 -5\n\
                 f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";
    std::fs::write(path.join("block.obj"), block).expect("a file");
    let last = |arguments: &str| {
        let all =
            format!("run --scale 0.01 --pair-triangles --seconds 0.5 --backend cpu --quiet --out out {arguments}");
        let Finished { code, stderr, .. } = run(path, &all);
        assert!(code.is_some_and(|code| code < 2), "{arguments}: {stderr:?}");
        let cache = pc2::read(path.join("out/cloth.pc2")).expect("a cache");
        cache.sample(30).expect("the last frame").to_vec()
    };
    let lowest = |points: &[[f32; 3]]| points.iter().map(|point| point[1]).fold(f32::INFINITY, f32::min);
    let free = last("--mesh sheet.obj");
    assert!(lowest(&free) < -1.0, "{free:?}");
    // A floor, a ball, and a mesh of its own below hold it in different ways.
    let floor = last("--mesh sheet.obj --material wool --solid plane:0,-0.1,0,0,1,0");
    assert!((lowest(&floor) + 0.1 - 0.5 * 5.2e-4).abs() < 1e-4, "{}", lowest(&floor));
    let ball = last("--mesh sheet.obj --material cotton --solid sphere:0.45,-0.4,0.45,0.3 --solid plane:0,-9,0,0,1,0");
    assert!((-0.12..-0.09).contains(&ball[44][1]) && lowest(&ball) < -0.2, "{ball:?}");
    let body = last("--mesh upright.obj --up z --material cotton --solid block.obj");
    assert!((-0.06..0.0).contains(&body[44][1]) && lowest(&body) < -0.15, "{:?} {}", body[44], lowest(&body));
    // Gravity and wind.
    let up = last("--mesh sheet.obj --gravity 0,9.81,0");
    assert!(lowest(&up) > 1.0, "{up:?}");
    let blown = last("--mesh sheet.obj --gravity 0,0,0 --wind 0,5,0 --damping 0.01");
    assert!(lowest(&blown) > 0.1, "{blown:?}");
    // Built-in scenes take them, too; the groups of the mesh are in rest.obj.
    let heavy = "--size 8 --seconds 0.1 --backend cpu --quiet --json -";
    let caught = run(path, &format!("run sheet --material denim --solid box:-1,-0.2,-1,2,-0.1,2 {heavy}"));
    assert_eq!(caught.code, Some(0), "{caught:?}");
    last("--mesh sheet.obj");
    let groups = import::read(&path.join("out/rest.obj"), &Options::default()).expect("a mesh").descriptor.groups;
    assert_eq!((groups["edge"].len(), groups.len()), (20, 2));
}

#[test]
fn what_is_wrong_with_a_mesh_is_said() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    // A quad of 1 m, one that is folded over, and one that is 20 mm wide.
    let text = "v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nv 2 0 .3\nv .5 0 .9\nv -.02 0 0\nv -.02 0 1\n\
                f 1 2 3 4\nf 2 5 6 3\nf 7 1 4 8\n";
    std::fs::write(path.join("odd.obj"), text).expect("a file");
    let table = run(path, "run --mesh odd.obj --pin index:0,3 --seconds 0.02 --backend cpu --out out").stdout;
    for words in ["shortest", "20.000", "1 folded quad", "(face 1)"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let report = json(&path.join("out/report.json"));
    let import = &report["import"];
    assert_eq!((&import["folded_quads"], &import["thin_faces"]), (&1.into(), &0.into()), "{import}");
    assert!((import["shortest_edge_m"].as_f64().expect("a length") - 0.02).abs() < 1e-6, "{import}");
}

#[test]
fn texture_coordinates_come_out_again() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let text = "v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nv 1 0 0\nv 2 0 0\nv 2 0 1\nv 1 0 1\nvt 0 0\nvt .5 0\nvt .5 1\nvt 0 1\n\
                vt .6 0\nvt 1 0\nvt 1 1\nvt .6 1\nf 4/4 3/3 2/2 1/1\nf 8/8 7/7 6/6 5/5\n";
    std::fs::write(path.join("seam.obj"), text).expect("a file");
    let Finished { code, stderr, .. } =
        run(path, "run --mesh seam.obj --seconds 0.05 --backend cpu --out out --quiet --pin index:0,7");
    assert_eq!((code, stderr.len()), (Some(0), 0), "{stderr:?}");
    let [before, after] =
        ["seam.obj", "out/rest.obj"].map(|name| import::read(&path.join(name), &Options::default()).expect("a mesh"));
    assert_eq!((before.report.welded, after.report.welded, after.report.vertices), (2, 0, 6));
    assert_eq!(
        (&after.descriptor.faces, &after.descriptor.positions),
        (&before.descriptor.faces, &before.descriptor.positions)
    );
    let corners = |imported: &import::Imported| {
        let faces = imported.render.faces.iter().flat_map(|face| face.vertices().to_vec());
        faces.map(|corner| imported.render.uvs[corner as usize]).collect::<Vec<_>>()
    };
    assert_eq!(corners(&after), corners(&before));
    assert_eq!(corners(&after)[4], [0.6, 1.0]);
    // Also of several meshes that a scene file names; a cloth without any leaves none for the others.
    let scene = |other: &str| {
        let text =
            format!("[[cloth]]\nmesh = \"seam.obj\"\n[[cloth]]\n{other}\n[cloth.start]\ntranslation = [0, 1, 0]\n");
        std::fs::write(path.join("two.toml"), text).expect("a file");
        let Finished { code, stderr, .. } = run(path, "run two.toml --seconds 0.05 --backend cpu --out two --quiet");
        assert_eq!((code, stderr.len()), (Some(0), 0), "{stderr:?}");
        // The rest shapes are in one place: what is equal there must not be joined.
        let options = Options { weld: None, ..Options::default() };
        import::read(&path.join("two/rest.obj"), &options).expect("a mesh")
    };
    let both = scene("mesh = \"seam.obj\"");
    assert_eq!(corners(&both), [corners(&before), corners(&before)].concat());
    let numbers = both.descriptor.faces.iter().flat_map(|face| face.vertices().to_vec());
    assert_eq!(numbers.max(), Some(11), "the second cloth has vertices of its own");
    assert!(scene("generator = \"sheet\"\nsize = 3").render.uvs.is_empty());
}

/// What is held with a weight sags by its load over the stiffness, the less the larger the weight; weights of 0 and 1
/// are nothing and a pin.
#[test]
fn pins_have_weights() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let scene = taut::scene::curtain(6).expect("a scene");
    let upright: Vec<[f32; 3]> = scene.mesh.positions().iter().map(|[x, _, z]| [*x, -z, 0.0]).collect();
    obj::write(path.join("curtain.obj"), &scene.mesh, &upright).expect("a file");
    let sag = |pin: &str| {
        let run = format!("run --mesh curtain.obj --pin {pin} --drag 6 --seconds 4 --backend cpu --out out");
        let report = self::run(path, &run);
        assert_eq!(report.code, Some(0), "{pin}: {report:?}");
        let cache = pc2::read(path.join("out/cloth.pc2")).expect("a cache");
        let (first, last) = (cache.sample(0).expect("a start"), cache.sample(240).expect("an end"));
        (0..6).map(|v| f64::from(first[v][1] - last[v][1])).sum::<f64>() / 6.0
    };
    // 0.2 kg hang on six springs of k = 10 N/m w/(1 − w).
    for weight in [0.5, 0.9] {
        let expected = 0.2 * 9.81 / (6.0 * 10.0 * weight / (1.0 - weight));
        let found = sag(&format!("index:0-5@{weight}"));
        assert!((found / expected - 1.0).abs() < 0.02, "{weight}: {found} m, not {expected} m");
    }
    assert_eq!(sag("index:0-5@1"), 0.0);
    assert_eq!(sag("index:0-5@0.25 --pin index:0-5"), 0.0, "the larger weight holds");
    assert!(sag("index:0-5@0") > 1.0);
}

#[test]
fn a_scene_that_was_written_runs_the_same_as_a_mesh() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let scene = taut::scene::curtain(9).expect("a scene");
    obj::write(path.join("curtain.obj"), &scene.mesh, scene.mesh.positions()).expect("a file");
    let common = "--seconds 0.3 --backend cpu --quiet --out";
    assert_eq!(run(path, &format!("run curtain --size 9 {common} scene")).code, Some(0));
    assert_eq!(run(path, &format!("run --mesh curtain.obj --pin index:0-8 {common} mesh")).code, Some(0));
    let bytes = ["scene", "mesh"]
        .map(|out| ["rest.obj", "cloth.pc2"].map(|name| std::fs::read(path.join(out).join(name)).ok()));
    assert!(bytes[0].iter().all(Option::is_some) && bytes[0] == bytes[1]);
}

#[test]
fn all_formats_hold_the_same_numbers() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let arguments = "run hang --size 5 --seconds 0.2 --fps 30 --backend cpu --out . --export c.pc2 --export c.mdd --export \
                     deep/er/c.npy --export f/c.###.ply --export f/c_%02d.obj --export last.ply --export last.obj";
    let Finished { code, stdout: table, stderr } = run(path, arguments);
    assert_eq!((code, stderr.len()), (Some(0), 0), "{stderr:?}");
    assert!(table.contains("f/c.###.ply") && table.contains("last.obj"), "{table}");
    let written =
        ["c.mdd", "c.pc2", "cloth.pc2", "deep", "f", "last.obj", "last.ply", "report.json", "rest.obj", "run.taut"];
    assert_eq!(names(path), set(&written));
    assert_eq!(names(&path.join("deep/er")), set(&["c.npy"]));
    let frames: Vec<String> = (0..7).flat_map(|k| [format!("c.{k:03}.ply"), format!("c_{k:02}.obj")]).collect();
    assert_eq!(names(&path.join("f")), frames.iter().map(OsString::from).collect());

    let read = |name: &str| std::fs::read(path.join(name)).expect("the file is readable");
    let cache = pc2::read(path.join("cloth.pc2")).expect("a cache");
    assert_eq!(read("c.pc2"), read("cloth.pc2"));
    let numbers: Vec<[u8; 4]> =
        read("cloth.pc2")[32..].chunks_exact(4).map(|word| word.try_into().expect("four bytes")).collect();
    assert_eq!(numbers.len(), 7 * 25 * 3);
    assert_eq!(&read("deep/er/c.npy")[128..], numbers.as_flattened());
    let swapped: Vec<u8> = numbers.iter().flat_map(|word| word.iter().rev().copied()).collect();
    assert_eq!(&read("c.mdd")[8 + 7 * 4..], swapped);
    for frame in 0..7 {
        for name in [format!("f/c.{frame:03}.ply"), format!("f/c_{frame:02}.obj")] {
            let imported = import::read(&path.join(&name), &Options::default()).expect("a mesh");
            assert_eq!(Some(&imported.descriptor.positions[..]), cache.sample(frame), "{name}");
        }
    }
    assert_eq!((read("last.ply"), read("last.obj")), (read("f/c.006.ply"), read("f/c_06.obj")));
    // The strain in the files is that of the report.
    let worst = (1..7).map(|frame| {
        let bytes = read(&format!("f/c.{frame:03}.ply"));
        let end = b"end_header\n";
        let start = bytes.windows(end.len()).position(|window| window == end).expect("a header") + end.len();
        let rows = bytes[start..start + 25 * 16].chunks_exact(16);
        rows.map(|row| f32::from_le_bytes(row[12..].try_into().expect("four bytes"))).fold(0.0, f32::max)
    });
    let worst = f64::from(worst.fold(0.0, f32::max));
    let reported = json(&path.join("report.json"))["strain_max"].as_f64().expect("a number");
    assert!((worst / reported - 1.0).abs() < 1e-6 && worst > 0.0, "{worst} is not {reported}");
}

#[test]
fn bad_meshes_pins_and_exports_are_refused_in_one_sentence() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    sheet(&path.join("sheet.obj"));
    std::fs::write(path.join("bad.obj"), "v 0 0 0\nv 1 0 0\nv 0 0 1\nf 1 2 4\n").expect("a file");
    std::fs::write(path.join("loose.obj"), "v 0 0 0\nv 1 0 0\nv 0 0 1\nv 5 5 5\nf 1 2 3\n").expect("a file");
    std::fs::write(path.join("a.gltf"), "{}").expect("a file");
    let cases = [
        ("hang --mesh sheet.obj", "cannot be used with"),
        ("--mesh sheet.obj --size 9", "cannot be used with"),
        ("--pin index:0", "--mesh <FILE>"),
        ("--scale 2", "--mesh <FILE>"),
        ("--pair-triangles", "--mesh <FILE>"),
        ("--mesh missing.obj", "cannot access missing.obj: No such file"),
        ("--mesh sheet.stl", "cannot import sheet.stl: its name must end with .obj, .ply or .glb"),
        ("--mesh a.gltf", "export it as one .glb"),
        ("--mesh bad.obj", "taut: cannot import bad.obj, line 4: it names vertex 4, but there are 3 before it"),
        ("--mesh sheet.obj --scale 0", "must be a number above 0"),
        ("--mesh sheet.obj --scale -1", "must be a number above 0"),
        ("--mesh sheet.obj --pin corner", "must be index:0,5,9-12"),
        ("--mesh sheet.obj --pin index:x", "indices are whole numbers"),
        ("--mesh sheet.obj --pin box:1,2,3", "a box is six numbers"),
        ("--mesh sheet.obj --pin color:red", "six hexadecimal digits"),
        ("--mesh sheet.obj --pin group:edge@2", "a weight is a number from 0, free, to 1, pinned"),
        ("--mesh sheet.obj --pin channel:pink", "a channel is one of red, green, blue, alpha"),
        ("--mesh loose.obj --pin channel:red", "--pin channel:red: the vertices of the file have no colors"),
        (
            "--mesh sheet.obj --pin index:7-100",
            "--pin index:7-100: there is no vertex 100: the file has 100, counted from 0",
        ),
        ("--mesh loose.obj --pin index:3", "--pin index:3: no face and no line has vertex 3"),
        ("--mesh sheet.obj --pin group:collar", "--pin group:collar: the file has the groups edge, rest"),
        ("--mesh loose.obj --pin group:collar", "the file has no groups"),
        ("--mesh loose.obj --pin color:ff0000", "the vertices of the file have no colors"),
        ("--mesh sheet.obj --pin color:00ff00", "--pin color:00ff00 holds no vertex"),
        ("--mesh sheet.obj --pin box:9,9,9,10,10,10", "holds no vertex"),
        ("chain --material silk", "--material is a fabric, but the scene chain is a chain, which has none"),
        ("--material velvet", "invalid value 'velvet' for '--material <NAME>' [possible values: cotton, denim,"),
        ("--damping x", "for '--damping <S>': must be a time of at least 0 s"),
        ("--damping -1", "--damping has -1, but must be in [0, 1000] s"),
        ("--gravity 1,2", "for '--gravity <X,Y,Z>': must be three numbers, X,Y,Z"),
        ("--gravity 0,-1e9,0", "--gravity has -1000000000, but must be finite and at most 1e6 m/s²"),
        ("--wind 1,nan,2", "--wind has NaN, but must be"),
        ("--solid ball:0,0,0,1", "must be a mesh file (.obj, .ply or .glb) or one of box:X,Y,Z,X,Y,Z, capsule:"),
        ("--solid sphere:0,0,0", "sphere:X,Y,Z,R has 4 numbers in metres, and not 3"),
        ("--solid sphere:0,0,0,-1", "its radius is -1, but must be above 0"),
        ("--solid sheet.obj", "--solid sheet.obj: "),
        ("--solid missing.obj", "--solid missing.obj: cannot access missing.obj"),
        ("--up z", "--up is for the mesh files of --mesh and --solid, and there is none"),
        ("--up w", "[possible values: y, z]"),
        ("--assets .", "--assets is for scene files: nothing else names files"),
        ("--mesh sheet.obj --scale 1e9", "must be a number above 0, from 1e-6 to 1e6 m per unit"),
        ("--export cloth.abc", "cloth.abc must end with .pc2, .mdd, .npy, .usda, .glb, .obj or .ply"),
        ("--export cloth.##.mdd", "is one file for all frames"),
        ("--export #.#.ply", "more than one place for the number"),
        ("chain --size 3 --seconds 0.1 --export sheet.obj/a.pc2", "cannot make the directory sheet.obj"),
        (
            "chain --size 3 --seconds 0.1 --export new/deep/a.pc2 --export new/b.##.ply --json missing/r.json",
            "missing/r.json",
        ),
    ];
    let before = names(path);
    for (arguments, expected) in cases {
        let Finished { code, stdout, stderr } = run(path, &format!("run --backend cpu {arguments}"));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments}: {stderr:?}");
        let [line] = &stderr[..] else { panic!("{arguments}: {stderr:?}") };
        assert!(line.starts_with("taut: ") && line.contains(expected), "{arguments}: {line}");
        let clauses: Vec<&str> = line.split(": ").collect();
        assert_eq!(clauses.iter().collect::<BTreeSet<_>>().len(), clauses.len(), "{arguments}: {line}");
        assert_eq!(names(path), before, "{arguments}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_export_keeps_the_frames_before() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    std::fs::write(path.join("cloth.mdd"), "old").expect("a file");
    let arguments = "run --size 16 --seconds 1000 --backend cpu --export cloth.mdd --export frames/deep/cloth.####.ply \
                     --export frames/cloth.npy";
    let mut child = command(path, arguments).spawn().expect("the program starts");
    let patience = Instant::now() + Duration::from_secs(60);
    while !path.join(format!("frames/deep/.cloth..ply.{}.0.tmp/cloth.0003.ply", child.id())).exists() {
        if Instant::now() > patience || child.try_wait().is_ok_and(|status| status.is_some()) {
            let _ = child.kill();
            panic!("{:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()));
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stderr).contains(" frames, which were written"), "{output:?}");
    assert_eq!(names(path), set(&["cloth.mdd", "frames"]));
    let frames = names(&path.join("frames/deep")).len();
    // Two counts, a time per frame, three numbers of four bytes per vertex and frame.
    let length = std::fs::metadata(path.join("cloth.mdd")).expect("it is there").len();
    assert_eq!(length as usize, 8 + 4 * frames + 12 * 16 * 16 * frames);
}
