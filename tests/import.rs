//! Meshes from files: what comes out, what is said about what is wrong, and that no file can do harm.
#![cfg(feature = "import")]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taut::io::import::{self, DroppedFace, Format, Imported, Options, Place, Up, Warp};
use taut::{Error, Face, Mesh, Scene, Weave};

fn parsed(bytes: impl AsRef<[u8]>, format: Format) -> Imported {
    let imported = import::parse(bytes.as_ref(), format, &Options::default()).expect("the file is good");
    check(&imported);
    imported
}

fn obj(text: &str) -> Imported {
    parsed(text, Format::Obj)
}

/// What must hold for every mesh that was read.
fn check(imported: &Imported) {
    let Imported { descriptor, render, colors, particles, report, .. } = imported;
    Mesh::new(descriptor.clone()).expect("what was read is accepted");
    let count = descriptor.positions.len();
    assert_eq!((report.particles, report.vertices), (count, particles.len()));
    assert_eq!(report.vertices, report.particles + report.welded + report.loose);
    assert_eq!(particles.iter().flatten().collect::<BTreeSet<_>>().len(), count, "every particle has a vertex");
    assert_eq!(particles.iter().filter(|particle| particle.is_none()).count(), report.loose);
    assert!(colors.as_ref().is_none_or(|colors| colors.len() == count));
    assert_eq!((report.faces, report.lines), (descriptor.faces.len(), descriptor.lines.len()));
    let quads = descriptor.faces.iter().filter(|face| matches!(face, Face::Quad(_))).count();
    assert_eq!(report.quads, quads);
    assert_eq!(render.triangles.len(), report.faces + quads);
    assert_eq!(render.uvs.len(), if report.textured { render.particle_of.len() } else { 0 });
    // What is drawn is what is simulated.
    let follow = |vertices: &[u32]| vertices.iter().map(|v| render.particle_of[*v as usize]).collect::<Vec<_>>();
    for (drawn, face) in render.faces.iter().zip(&descriptor.faces) {
        assert_eq!(follow(drawn.vertices()), face.vertices());
    }
    let mesh = Mesh::new(descriptor.clone()).expect("what was read is accepted");
    let triangles: Vec<Vec<u32>> = render.triangles.iter().map(|triangle| follow(triangle)).collect();
    assert_eq!(triangles, mesh.triangles());
}

fn error(bytes: impl AsRef<[u8]>, format: Format) -> (Place, String) {
    match import::parse(bytes.as_ref(), format, &Options::default()) {
        Err(Error::Import { path: None, place, reason }) => (place, reason),
        other => panic!("{other:?}"),
    }
}

/// Positions of an n × n grid in the plane z = 0, row by row.
fn grid(n: u32) -> Vec<[f32; 3]> {
    (0..n * n).map(|v| [(v % n) as f32, (v / n) as f32, 0.0]).collect()
}

fn cells(n: u32) -> impl Iterator<Item = [u32; 4]> {
    let cell = move |v: u32| [v, v + 1, v + n + 1, v + n];
    (0..n * n).filter(move |v| v % n + 1 < n && v / n + 1 < n).map(cell)
}

fn text(positions: &[[f32; 3]], faces: &[Vec<u32>]) -> String {
    let mut text = String::new();
    for [x, y, z] in positions {
        text += &format!("v {x} {y} {z}\n");
    }
    for face in faces {
        text += "f";
        for vertex in face {
            text += &format!(" {}", vertex + 1);
        }
        text += "\n";
    }
    text
}

// OBJ

#[test]
fn a_scene_comes_back_as_it_was_written() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["hang", "flag", "drape", "chain"] {
        let scene = Scene::named(name, 12).expect("a known scene");
        let path = directory.path().join("rest.obj");
        taut::io::obj::write(&path, &scene.mesh, scene.mesh.positions()).expect("the file is written");
        let imported = import::read(&path, &Options::default()).expect("the file is good");
        check(&imported);
        assert_eq!(imported.descriptor.positions, scene.mesh.positions(), "{name}");
        assert_eq!(imported.descriptor.faces, scene.mesh.faces(), "{name}");
        assert_eq!(imported.descriptor.lines, scene.mesh.lines(), "{name}");
        let mesh = Mesh::new(imported.descriptor).expect("what was read is accepted");
        assert_eq!(mesh.edges(), scene.mesh.edges(), "{name}: rest lengths");
        assert_eq!((imported.report.welded, imported.report.loose, imported.report.components), (0, 0, 1), "{name}");
    }
}

#[test]
fn all_ways_to_name_a_corner_mean_the_same() {
    let points = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvn 0 0 1\n";
    let plain = obj(&format!("{points}f 1 2 3 4\n"));
    assert_eq!(plain.descriptor.faces, [Face::Quad([0, 1, 2, 3])]);
    assert!(plain.render.uvs.is_empty());
    let normals = obj(&format!("{points}f 1//1 2//1 3//1 4//1\n"));
    assert_eq!(normals, plain);
    for corners in ["1/1 2/2 3/3 4/4", "1/1/1 2/2/1 3/3/1 4/4/1", "-4/-4 -3/-3 -2/-2 -1/-1", "-4/1 -3/2 3/-2 4/4/"] {
        let textured = obj(&format!("{points}f {corners}\n"));
        assert_eq!(textured.descriptor, plain.descriptor, "{corners}");
        assert_eq!(textured.render.uvs, [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], "{corners}");
    }
}

#[test]
fn the_letter_of_the_format_does_not_matter() {
    let plain = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\ng a\nf 1 2 3 4\nl 1 3\n";
    let expected = obj(plain);
    let variants = [
        plain.trim_end().to_owned(),
        plain.replace('\n', "\r\n"),
        format!("\u{feff}{plain}"),
        plain.replace(' ', "\t \t"),
        plain.replace("f 1 2 3 4", "f 1 2 \\\n  3\\\r\n 4"),
        plain.replace("v 1 0 0", "v +1.0 0e0 -0 1.0 # a corner"),
        format!("# cloth\n\nmtllib ../../etc/passwd\nusemtl red\ns off\nvp 1 2\ncstype bspline\n{plain}p 1\n"),
    ];
    for variant in variants {
        assert_eq!(obj(&variant), expected, "{variant:?}");
    }
}

#[test]
fn seams_are_welded_and_what_is_drawn_follows() {
    // Two quads side by side. The file splits the common edge, and so does its texture.
    let seam = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 1 0 0\nv 2 0 0\nv 2 1 0\nv 1 1 0\n\
                vt 0 0\nvt .5 0\nvt .5 1\nvt 0 1\nvt .6 0\nvt 1 0\nvt 1 1\nvt .6 1\n\
                f 1/1 2/2 3/3 4/4\nf 5/5 6/6 7/7 8/8\n";
    let imported = obj(seam);
    assert_eq!(imported.descriptor.positions.len(), 6);
    assert_eq!(imported.descriptor.faces, [Face::Quad([0, 1, 2, 3]), Face::Quad([1, 4, 5, 2])]);
    assert_eq!(imported.render.particle_of, [0, 1, 2, 3, 1, 4, 5, 2]);
    assert_eq!(imported.render.uvs[4], [0.6, 0.0]);
    assert_eq!(imported.particles, [0, 1, 2, 3, 1, 4, 5, 2].map(Some));
    assert_eq!((imported.report.welded, imported.report.components), (2, 1));

    let apart = import::parse(seam.as_bytes(), Format::Obj, &Options { weld: None, ..Default::default() });
    let apart = apart.expect("the file is good");
    assert_eq!((apart.report.particles, apart.report.welded, apart.report.components), (8, 0, 2));

    // One seam that is not quite closed: 1e-5 of a diagonal of √5.
    let open = seam.replace("v 1 0 0\nv 2 0 0", "v 1.00001 0 0\nv 2 0 0");
    assert_eq!(obj(&open).report.welded, 1);
    let closed = import::parse(open.as_bytes(), Format::Obj, &Options { weld: Some(1e-5), ..Default::default() });
    let closed = closed.expect("the file is good");
    assert_eq!((closed.report.welded, closed.report.components), (2, 1));
    assert_eq!(closed.descriptor.positions[1], [1.0, 0.0, 0.0], "where the first was");
}

#[test]
fn groups_objects_and_colors_are_kept() {
    let imported = obj("o my shirt\nv 0 0 0 1 0 0\nv 1 0 0 1 0 0\nv 1 1 0 0 0.5 1\nv 0 1 0 0 .5 1\nv 2 0 0\nv 2 1 0\n\
                        g left both\nf 1 2 3 4\ng right both\nf 2 5 6 3\ng\nl 5 6\n");
    let groups = &imported.descriptor.groups;
    assert_eq!(groups.keys().collect::<Vec<_>>(), ["both", "left", "my shirt", "right"]);
    assert_eq!((&groups["left"], &groups["right"]), (&vec![0, 1, 2, 3], &vec![1, 2, 4, 5]));
    assert_eq!((groups["both"].len(), groups["my shirt"].len()), (6, 6));
    let colors = imported.colors.as_ref().expect("there are colors");
    assert_eq!((colors[0], colors[2], colors[4]), ([1.0, 0.0, 0.0, 1.0], [0.0, 0.5, 1.0, 1.0], [1.0; 4]));
    assert_eq!(imported.colored([1.0, 0.0, 0.0], 0.0), [0, 1]);
    assert_eq!(imported.colored([0.0, 0.45, 1.0], 0.06), [2, 3]);
    assert_eq!(imported.colored([0.0, 0.45, 1.0], 0.04), [0_u32; 0]);
    assert!(obj("v 0 0 0\nv 1 0 0\nl 1 2\n").colors.is_none());
}

#[test]
fn what_is_odd_is_mended_and_reported() {
    let imported = obj("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 9 9 9\nv 2 0 0\nv 0 0 0\nv 0 0 1\nv 0 0 -1\n\
                        f 1 2 3 4\nf 1 2 6\nf 1 2 7\nf 3 4 1 2\nf 1 2\nf 1 7 2 3\nf 1 2 8\nf 1 2 9\nl 1 7\nl 2 6\nf 2 1 8 7\n");
    let report = &imported.report;
    // 1 2 6 is straight, 7 is where 1 is, 5 is nowhere, 1 7 2 3 is the triangle 1 2 3, 2 1 8 7 has three corners.
    let dropped = |face, line| (face, Place::Line(line));
    let pairs = |list: &[DroppedFace]| list.iter().map(|d| (d.face, d.place)).collect::<Vec<_>>();
    assert_eq!(pairs(&report.degenerate), [dropped(1, 11), dropped(2, 12), dropped(4, 14), dropped(8, 20)]);
    assert_eq!(pairs(&report.duplicate), [dropped(3, 13)]);
    assert_eq!((report.collapsed, report.loose, report.welded, report.dropped_lines), (1, 1, 1, 1));
    assert_eq!(imported.descriptor.faces.len(), 4);
    assert_eq!(report.non_manifold, [[0, 1]], "the quad and three triangles");
    assert_eq!(imported.particles[4], None);
    assert_eq!(report.components, 1);
}

#[test]
fn polygons_are_cut_and_counted() {
    let imported = obj("v 0 0 0\nv 2 0 0\nv 3 1 0\nv 2 2 0\nv 0 2 0\nv 1 -1 0\nf 1 6 2 3 4 5\n");
    let expected = [[0, 5, 1], [0, 1, 2], [0, 2, 3], [0, 3, 4]].map(Face::Triangle);
    assert_eq!(imported.descriptor.faces, expected);
    assert_eq!((imported.report.split, imported.report.quads), (1, 0));
}

#[test]
fn the_scale_is_exact_and_refused_where_it_is_nonsense() {
    let text = "v 0 0 0\nv 254 0 0\nv 0 254 0\nf 1 2 3\n";
    let with =
        |scale, weld| import::parse(text.as_bytes(), Format::Obj, &Options { scale, weld, ..Default::default() });
    let small = with(0.01, None).expect("the file is good");
    assert_eq!(small.descriptor.positions[1], [254.0 * 0.01, 0.0, 0.0]);
    for scale in [0.0, -1.0, 9e-7, 1.1e6, f32::NAN, f32::INFINITY] {
        assert!(matches!(with(scale, None), Err(Error::OutOfRange { field: "scale", .. })), "{scale}");
    }
    for weld in [-1.0, 1e-9, 0.5, f32::NAN] {
        assert!(matches!(with(1.0, Some(weld)), Err(Error::OutOfRange { field: "weld", .. })), "{weld}");
    }
    let text = text.replace("v 254", "v 2.54e7");
    let huge = import::parse(text.as_bytes(), Format::Obj, &Options { scale: 1e6, ..Default::default() });
    let huge = huge.expect_err("too far out");
    assert_eq!(huge.to_string(), "cannot import the mesh, line 2: vertex 1 is not finite, or beyond ±2⁴⁰ m");
}

#[test]
fn errors_of_obj_name_their_line() {
    let head = "v 0 0 0\nv 1 0 0\nv 1 1 0\n";
    let long = "1".repeat(1_000_000);
    let cases = [
        (format!("{head}f 1 2 4\n"), 4, "it names vertex 4, but there are 3 before it"),
        (format!("{head}\n\nf 1 2 -4\n"), 6, "it names vertex -4, but there are 3 before it"),
        (format!("{head}f 0 1 2\n"), 4, "it names vertex 0, but there are 3 before it"),
        (format!("{head}f 1 2 99999999999\n"), 4, "it names vertex 99999999999, but there are 3 before it"),
        (format!("{head}f 1 2 -9223372036854775808\n"), 4, "it names vertex -9223372036854775808, but there are 3"),
        (format!("{head}f 1 2 {long}\n"), 4, "\"111111111111111111111111…\" is not a corner of a face or line"),
        (format!("{head}f 1/1 2 3\n"), 4, "it names texture coordinate 1, but there are 0 before it"),
        (format!("{head}l 1 x\n"), 4, "\"x\" is not a corner of a face or line"),
        ("v 0 0\n".to_owned(), 1, "a vertex has 3, 4, 6 or 7 numbers, but this one has 2"),
        ("v 0 0 0 1 1\n".to_owned(), 1, "a vertex has 3, 4, 6 or 7 numbers, but this one has 5"),
        ("v 0 0 zero\n".to_owned(), 1, "\"zero\" is not a finite number"),
        ("\n\nv 0 nan 0\n".to_owned(), 3, "\"nan\" is not a finite number"),
        ("v 0 0 1e99\n".to_owned(), 1, "\"1e99\" is not a finite number"),
        (format!("v 0 0 {long}\n"), 1, "\"111111111111111111111111…\" is not a finite number"),
        ("v 1e19 0 0\nv 0 0 0\nl 1 2\n".to_owned(), 1, "vertex 0 is not finite, or beyond ±2⁴⁰ m"),
        ("vt x\n".to_owned(), 1, "\"x\" is not a finite number"),
        ("vt\n".to_owned(), 1, "a texture coordinate has no number"),
        (format!("{head}f 1 1 2\n"), 4, "no face has an area, no line a length"),
        // Edges of 1e-16 m are long enough, but no mass is left of the face.
        ("v 0 0 0\nv 1e-16 0 0\nv 0 1e-16 0\nf 1 2 3\n".to_owned(), 1, "vertex 0 gets no mass"),
        ("v 0 0 0\nv \\\n1 \\\n x 0\n".to_owned(), 2, "\"x\" is not a finite number"),
    ];
    for (text, line, expected) in cases {
        let (place, reason) = error(&text, Format::Obj);
        assert_eq!(place, Place::Line(line), "{reason}");
        assert!(reason.starts_with(expected), "{reason}");
    }
    for text in ["", "\n", "v 0 0 0\n", "\u{feff}", "# nothing"] {
        assert_eq!(error(text, Format::Obj), (Place::File, "there is no face and no line".to_owned()), "{text:?}");
    }
    // A number of any length is a number.
    let long = format!("v 0 0 0.{}1\nv 1 0 0\nl 1 2\n", "0".repeat(1_000_000));
    assert_eq!(obj(&long).descriptor.positions[0], [0.0; 3]);
}

#[test]
fn limits_are_kept() {
    let n = 6;
    let faces: Vec<Vec<u32>> = cells(n).map(|cell| cell.to_vec()).collect();
    let text = text(&grid(n), &faces);
    let with = |options: &Options| import::parse(text.as_bytes(), Format::Obj, options);
    let exact = Options { most_bytes: text.len() as u64, most_vertices: 36, most_faces: 25, ..Default::default() };
    assert_eq!(with(&exact).expect("just within").report.faces, 25);
    let cases = [
        (Options { most_bytes: exact.most_bytes - 1, ..exact.clone() }, Place::File, "bytes are read"),
        (Options { most_vertices: 35, ..exact.clone() }, Place::Line(36), "there are more than 35 vertices"),
        (Options { most_faces: 24, ..exact.clone() }, Place::Line(61), "there are more than 24 faces and lines"),
    ];
    for (options, expected, words) in cases {
        match with(&options) {
            Err(Error::Import { place, reason, .. }) => {
                assert!(place == expected && (reason.contains(words) || words == "bytes are read"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
    let many: String = (0..70_000).map(|name| format!("g {name}\n")).collect();
    assert_eq!(error(&many, Format::Obj), (Place::Line(65_537), "there are more than 65536 groups".to_owned()));
    // One statement can ask for many triangles, and for many groups.
    let fan = format!("{}f{}\n", self::text(&grid(n), &[]), " 1 2 8 7".repeat(50));
    let fan = import::parse(fan.as_bytes(), Format::Obj, &Options { most_faces: 100, ..Default::default() });
    assert!(fan.expect_err("198 triangles").to_string().contains("more than 100 faces"));
    let names: String = (0..200).map(|name| format!(" g{name}")).collect();
    let groups = text.replacen("\nf", &format!("\ng{names}\nf"), 1);
    let (place, reason) = error(&groups, Format::Obj);
    assert_eq!((place, reason.as_str()), (Place::Line(37), "the groups have more than 64 members per vertex"));
}

#[test]
fn files_are_chosen_by_extension_and_named_in_errors() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let read = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        import::read(&path, &Options::default()).map(|imported| imported.report.faces)
    };
    let square = text(&grid(2), &[vec![0, 1, 3, 2]]);
    assert_eq!(read("a.obj", square.as_bytes()).expect("a good file"), 1);
    assert_eq!(read("A.OBJ", square.as_bytes()).expect("a good file"), 1);
    for (name, expected) in [
        ("a.gltf", "a.gltf: a .gltf names other files, which are not opened; export it as one .glb"),
        ("a.stl", "a.stl: its name must end with .obj, .ply or .glb"),
        ("obj", "obj: its name must end with .obj, .ply or .glb"),
        ("a.ply", "a.ply, line 1: Expected magic number 'ply'."),
        ("a.glb", "a.glb, byte 0: it does not start with glTF"),
    ] {
        let error = read(name, square.as_bytes()).expect_err(name).to_string();
        assert!(error.starts_with("cannot import ") && error.ends_with(expected), "{error}");
    }
    assert!(matches!(import::read(Path::new("missing.obj"), &Options::default()), Err(Error::Io { .. })));
    std::fs::create_dir(directory.path().join("b.obj")).expect("a directory");
    let error = import::read(&directory.path().join("b.obj"), &Options::default()).expect_err("a directory");
    assert!(error.to_string().ends_with("b.obj: it is not a regular file"), "{error}");
}

// Pairs of triangles

/// The grid with one of the two diagonals in each cell.
fn triangulated(n: u32, other: impl Fn(u32) -> bool) -> Vec<Vec<u32>> {
    let cut = |[a, b, c, d]: [u32; 4]| {
        if other(a) { [vec![a, b, d], vec![b, c, d]] } else { [vec![a, b, c], vec![a, c, d]] }
    };
    cells(n).flat_map(cut).collect()
}

fn paired(positions: &[[f32; 3]], faces: &[Vec<u32>]) -> Imported {
    let options = Options { pair_triangles: true, ..Default::default() };
    let imported = import::parse(text(positions, faces).as_bytes(), Format::Obj, &options).expect("the file is good");
    check(&imported);
    imported
}

fn sets(quads: impl IntoIterator<Item = Vec<u32>>) -> BTreeSet<BTreeSet<u32>> {
    quads.into_iter().map(|quad| quad.into_iter().collect()).collect()
}

#[test]
fn triangles_of_a_grid_become_its_quads_again() {
    let n = 9;
    let cuts: [(&str, Vec<Vec<u32>>); 3] = [
        ("one way", triangulated(n, |_| false)),
        ("alternating", triangulated(n, |v| (v % n + v / n) % 2 == 0)),
        ("at random", triangulated(n, |v| v.wrapping_mul(2_654_435_761) >> 31 == 0)),
    ];
    type Bend = fn([f32; 3]) -> [f32; 3];
    let shapes: [(&str, Bend); 5] = [
        ("flat", |p| p),
        ("long cells", |[x, y, z]| [3.0 * x, y, z]),
        ("sheared by 20°", |[x, y, z]| [x + 0.364 * y, y, z]),
        ("a cylinder", |[x, y, _]| [(x * 0.3).cos(), y * 0.3, (x * 0.3).sin()]),
        ("a cone", |[x, y, _]| [(2.0 + y) * (x * 0.3).cos(), y, (2.0 + y) * (x * 0.3).sin()]),
    ];
    let expected = sets(cells(n).map(|cell| cell.to_vec()));
    for (shape, bend) in shapes {
        let positions: Vec<[f32; 3]> = grid(n).into_iter().map(bend).collect();
        for (cut, faces) in &cuts {
            let imported = paired(&positions, faces);
            let report = &imported.report;
            assert_eq!((report.paired, report.faces, report.quads), (128, 64, 64), "{shape}, {cut}");
            let quads = imported.descriptor.faces.iter().map(|face| face.vertices().to_vec());
            assert_eq!(sets(quads), expected, "{shape}, {cut}");
            // The quad runs around as its triangles did, and is cut for drawing as they were.
            let cycle = |mut face: Vec<u32>| {
                let least = (0..3).min_by_key(|place| face[*place]).expect("three corners");
                face.rotate_left(least);
                face
            };
            let drawn: BTreeSet<Vec<u32>> = imported
                .render
                .triangles
                .iter()
                .map(|t| cycle(t.map(|v| imported.render.particle_of[v as usize]).to_vec()))
                .collect();
            assert_eq!(drawn, faces.iter().cloned().map(cycle).collect(), "{shape}, {cut}");
        }
    }
    // Asked for nothing, they stay.
    let plain = obj(&text(&grid(n), &cuts[0].1));
    assert_eq!((plain.report.paired, plain.report.faces, plain.report.quads), (0, 128, 0));
}

#[test]
fn only_what_makes_good_quads_is_paired() {
    let counts = |positions: &[[f32; 3]], faces: &[Vec<u32>]| {
        let report = paired(positions, faces).report;
        (report.paired, report.faces)
    };
    let square = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let two = [vec![0, 1, 2], vec![0, 2, 3]];
    assert_eq!(counts(&square, &two), (2, 1));
    // Facing each other: the file turned one of them.
    assert_eq!(counts(&square, &[vec![0, 1, 2], vec![0, 3, 2]]), (2, 1));
    // Folded by 90°, by 20°.
    assert_eq!(counts(&[square[0], square[1], square[2], [0.5, 0.5, 0.7]], &two), (0, 2));
    let tilt = 20.0_f32.to_radians();
    let lifted = [0.5 - 0.5 * tilt.cos(), 0.5 + 0.5 * tilt.cos(), 0.5_f32.sqrt() * tilt.sin()];
    assert_eq!(counts(&[square[0], square[1], square[2], lifted], &two), (2, 1));
    // Both on one side of what they share, an arrow head, and a kite with a corner of 20°.
    assert_eq!(counts(&[square[0], [0.6, 0.4, 0.0], square[2], [0.7, 0.6, 0.0]], &two), (0, 2));
    assert_eq!(counts(&[[0.0; 3], [1.4, -0.5, 0.0], [1.0, 0.0, 0.0], [1.4, 0.5, 0.0]], &two), (0, 2));
    assert_eq!(counts(&[[0.0, 0.0, 0.0], [1.0, -0.17, 0.0], [1.2, 0.0, 0.0], [1.0, 0.17, 0.0]], &two), (0, 2));
    // A flat bag, front and back cut differently: the same four vertices make one quad only.
    assert_eq!(counts(&square, &[two[0].clone(), two[1].clone(), vec![0, 3, 1], vec![1, 3, 2]]), (2, 3));
    // A quad of the file stays what it is.
    let strip = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [2.0, 1.0, 0.0]];
    assert_eq!(counts(&strip, &[vec![0, 1, 2, 3], vec![1, 4, 5], vec![1, 5, 2]]), (2, 2));
}

/// Triangles are woven along their texture, along most of their sides, or along what was asked for.
#[test]
fn triangles_are_woven_unless_nobody_wants_it() {
    let n = 9;
    let (sin, cos) = 0.4_f32.sin_cos();
    let positions: Vec<[f32; 3]> = grid(n).iter().map(|[x, y, z]| [cos * x - sin * y, sin * x + cos * y, *z]).collect();
    let faces = triangulated(n, |v| v % 3 == 0);
    let plain = text(&positions, &faces);
    let read = |text: &str, warp: Warp| {
        let imported = import::parse(text.as_bytes(), Format::Obj, &Options { warp, ..Default::default() })?;
        check(&imported);
        Ok::<_, Error>(imported)
    };
    let squares = {
        let cells: Vec<Vec<u32>> = cells(n).map(|cell| cell.to_vec()).collect();
        let imported = obj(&text(&positions, &cells));
        assert_eq!((imported.report.woven, &imported.descriptor.weave), (0, &None));
        Mesh::new(imported.descriptor).expect("it is valid").edges().to_vec()
    };
    let edges = |imported: &Imported| Mesh::new(imported.descriptor.clone()).expect("it is valid").edges().to_vec();
    let sides = obj(&plain);
    assert_eq!((sides.report.woven, sides.report.warp), (128, Warp::Sides));
    assert_eq!(sides.descriptor.weave, Some(Weave::Sides));
    assert_eq!(edges(&sides), squares);
    let off = read(&plain, Warp::Off).expect("the file is good");
    assert_eq!((off.report.woven, off.report.warp, &off.descriptor.weave), (0, Warp::Off, &None));
    assert_eq!(edges(&off).len(), squares.len() + 64);
    let error = read(&plain, Warp::Uv).expect_err("there is no texture");
    assert!(error.to_string().contains("no texture coordinates"), "{error}");

    // Textured along the grid, mirrored, and on the bias: there the threads are the diagonals that lie that way.
    let textured = |uv: fn(f32, f32) -> [f32; 2]| {
        let vertices = text(&positions, &[]);
        let uvs: String = grid(n).iter().map(|[x, y, _]| uv(*x, *y)).map(|[u, v]| format!("vt {u} {v}\n")).collect();
        let corner = |v: &u32| format!(" {0}/{0}", v + 1);
        let faces: String =
            faces.iter().map(|face| format!("f{}\n", face.iter().map(corner).collect::<String>())).collect();
        read(&format!("{vertices}{uvs}{faces}"), Warp::Auto).expect("the file is good")
    };
    for imported in [textured(|x, y| [x / 8.0, y / 8.0]), textured(|x, y| [-x / 8.0, y / 4.0])] {
        assert_eq!((imported.report.woven, imported.report.warp), (128, Warp::Uv));
        assert_eq!(edges(&imported), squares);
    }
    let bias = textured(|x, y| [x - y, x + y]);
    assert_ne!(edges(&bias), squares);
    // A texture without area says nothing, and does no harm.
    assert_eq!(textured(|_, _| [0.5, 0.5]).report.warp, Warp::Uv);

    for name in Warp::NAMES {
        let warp = Warp::named(name).expect("a listed name is known");
        assert_eq!(read(&plain, warp).is_ok(), warp != Warp::Uv, "{name}");
    }
    assert_eq!(Warp::named("warp"), None);
    // Pairing first: nothing is left to weave.
    let options = Options { pair_triangles: true, ..Default::default() };
    let paired = import::parse(plain.as_bytes(), Format::Obj, &options).expect("the file is good");
    assert_eq!((paired.report.paired, paired.report.woven, paired.descriptor.weave), (128, 0, None));
}

#[test]
fn nothing_is_paired_across_a_seam_or_a_group() {
    let positions = text(&grid(2), &[]);
    let options = Options { pair_triangles: true, ..Default::default() };
    let count = |faces: &str| {
        let text = format!("{positions}vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvt .3 .3\n{faces}");
        let imported = import::parse(text.as_bytes(), Format::Obj, &options).expect("the file is good");
        check(&imported);
        imported.report.paired
    };
    assert_eq!(count("f 1/1 2/2 4/3\nf 1/1 4/3 3/4\n"), 2);
    assert_eq!(count("f 1/1 2/2 4/3\nf 1/1 4/5 3/4\n"), 0);
    assert_eq!(count("g a\nf 1 2 4\ng b\nf 1 4 3\n"), 0);
}

// PLY

const ASCII: &str = "ascii";
const LITTLE: &str = "binary_little_endian";
const BIG: &str = "binary_big_endian";

/// A grid of quads with colors, texture coordinates, an element that nobody knows, and an edge.
fn ply(encoding: &str, n: u32) -> Vec<u8> {
    let faces: Vec<[u32; 4]> = cells(n).collect();
    let (vertices, count) = (n * n, faces.len());
    let mut bytes = format!(
        "ply\nformat {encoding} 1.0\ncomment made by a test\nobj_info none\nelement vertex {vertices}\n\
         property float x\nproperty double y\nproperty float z\nproperty uchar red\nproperty uchar green\n\
         property uchar blue\nproperty float s\nproperty float t\nelement camera 1\nproperty list uchar short view\n\
         property int id\nelement face {count}\nproperty uchar flags\nproperty list uchar int vertex_indices\n\
         element edge 1\nproperty ushort vertex1\nproperty uint vertex2\nend_header\n"
    )
    .into_bytes();
    let mut put = |numbers: &[(f64, char)]| {
        if encoding == ASCII {
            let words: Vec<String> = numbers.iter().map(|(number, _)| number.to_string()).collect();
            bytes.extend(format!("{}\n", words.join(" ")).as_bytes());
            return;
        }
        for (number, kind) in numbers {
            let mut word = match kind {
                'f' => (*number as f32).to_le_bytes().to_vec(),
                'd' => number.to_le_bytes().to_vec(),
                'b' => vec![*number as u8],
                's' => (*number as i16).to_le_bytes().to_vec(),
                _ => (*number as u32).to_le_bytes().to_vec(),
            };
            if encoding == BIG {
                word.reverse();
            }
            bytes.extend(word);
        }
    };
    for (vertex, [x, y, z]) in (0..).zip(grid(n)) {
        let [x, y, z] = [x, y, z].map(f64::from);
        let red = if vertex < n { 255.0 } else { 51.0 };
        let uv = [x, y].map(|c| (c / f64::from(n - 1)) as f32).map(f64::from);
        put(&[(x, 'f'), (y, 'd'), (z, 'f'), (red, 'b'), (0.0, 'b'), (102.0, 'b'), (uv[0], 'f'), (uv[1], 'f')]);
    }
    put(&[(3.0, 'b'), (-1.0, 's'), (0.0, 's'), (300.0, 's'), (7.0, 'i')]);
    for face in faces {
        let mut numbers = vec![(9.0, 'b'), (4.0, 'b')];
        numbers.extend(face.map(|vertex| (f64::from(vertex), 'i')));
        put(&numbers);
    }
    put(&[(0.0, 's'), (f64::from(n + 1), 'i')]);
    bytes
}

#[test]
fn all_encodings_of_ply_give_the_same_mesh() {
    let n = 5;
    for encoding in [ASCII, LITTLE, BIG] {
        let imported = parsed(ply(encoding, n), Format::Ply);
        assert_eq!(imported.descriptor.positions, grid(n), "{encoding}");
        assert_eq!(imported.descriptor.faces, cells(n).map(Face::Quad).collect::<Vec<_>>(), "{encoding}");
        assert_eq!(imported.descriptor.lines, [[0, n + 1]], "{encoding}");
        assert_eq!(imported.colored([1.0, 0.0, 0.4], 0.0), (0..n).collect::<Vec<_>>(), "{encoding}");
        assert_eq!(imported.colored([0.2, 0.0, 0.4], 0.0).len() as u32, n * n - n, "{encoding}");
        assert_eq!(imported.render.uvs[n as usize + 1], [0.25, 0.25], "{encoding}");
        assert_eq!(imported.render.particle_of, (0..n * n).collect::<Vec<_>>(), "{encoding}");
    }
    let text = String::from_utf8(ply(ASCII, n)).expect("it is text");
    let expected = parsed(&text, Format::Ply);
    for variant in [
        text.replace('\n', "\r\n"),
        text.trim_end().to_owned(),
        format!("\u{feff}{text}"),
        text.replace("end_header\n", "end_header\n\n\n"),
        text.replace("vertex_indices", "vertex_index"),
        text.replace(' ', "\t"),
    ] {
        assert_eq!(parsed(&variant, Format::Ply).descriptor, expected.descriptor);
    }
}

#[test]
fn faces_of_ply_may_have_their_own_texture_coordinates() {
    let text = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
                element face 2\nproperty list uchar int vertex_indices\nproperty list uchar float texcoord\nend_header\n\
                0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2 6 0 0 1 0 1 1\n3 0 2 3 6 0.5 0 1 1 0 1\n";
    let imported = parsed(text, Format::Ply);
    assert_eq!(imported.report.particles, 4);
    // Vertex 0 has two places in the texture, vertex 2 one.
    assert_eq!(imported.render.particle_of, [0, 1, 2, 0, 3]);
    assert_eq!(imported.render.uvs[3], [0.5, 0.0]);
}

#[test]
fn errors_of_ply_name_line_or_byte() {
    let n = 3;
    let text = String::from_utf8(ply(ASCII, n)).expect("it is text");
    let lines: Vec<&str> = text.lines().collect();
    let first = 1 + lines.iter().position(|line| *line == "end_header").expect("a header") as u64;
    let cases = [
        (text.replace("ply\n", "plx\n"), 1, "Expected magic number"),
        (
            text.replace("vertex 9", "vertex 18446744073709551615"),
            5,
            "18446744073709551615 of element \"vertex\" do not fit",
        ),
        (text.replace("vertex 9", "vertex 99999999999999999999"), 5, "Invalid element"),
        (text.replace("face 4", "face 4000000000"), 17, "4000000000 of element \"face\" do not fit"),
        (text.replace("vertex 9", "vertex 10"), first + 10, "it does not hold one of element \"vertex\""),
        (
            text.replace("element edge 1\n", "element edge 1\nelement nothing 1000000000000\n"),
            20,
            "element \"edge\" has no properties",
        ),
        (text.replace("element camera 1", "element face 1"), 17, "element \"face\" is there twice"),
        (text.replace("float t\n", "float s\n"), 13, "a property is there twice"),
        (text.replace("format ascii 1.0\n", ""), 1, "No format line found"),
        (text.replace("end_header\n", ""), first, "Couldn't parse line"),
        ("ply\nformat ascii 1.0\n".to_owned(), 3, "Unexpected end of file while reading header"),
        (text.replace("9 4 0 1 4 3", "9 4 0 1 9 3"), first + 11, "it names vertex 9, but there are 9"),
        (text.replace("9 4 0 1 4 3", "9 4 0 1 -4 3"), first + 11, "an index of the face is negative"),
        (text.replace("9 4 0 1 4 3", "9 5 0 1 4 3"), first + 11, "it does not hold one of element \"face\""),
        (text.replace("9 4 0 1 4 3", "9 99999999999 0 1 4 3"), first + 11, "it does not hold one of element \"face\""),
        (text.replace("\n0 4\n", "\n0 9\n"), first + 15, "an edge names no vertex"),
        (text.replace("\n0 4\n", "\n\n\n\n\n"), first + 18, "the file ends before the last element \"edge\""),
        (text.replace("property float z", "property float w"), first + 1, "vertices have no z"),
        (text.replace("\n1 0 0 255", "\n1e39 0 0 255"), first + 2, "vertex 1 is not finite"),
        (text.replace("\n1 0 0 255", "\nnan 0 0 255"), first + 2, "it does not hold one of element \"vertex\""),
    ];
    for (text, line, expected) in cases {
        let (place, reason) = error(&text, Format::Ply);
        assert!(reason.starts_with(expected), "{expected}: {reason}");
        assert_eq!(place, Place::Line(line), "{reason}");
        assert!(reason.len() < 300 && !reason.contains('\n'), "{reason:?}");
    }
    let endless =
        format!("ply\nformat ascii 1.0\nelement {} 1\n{}", "a".repeat(60_000), "property int b\n".repeat(60_000));
    let (place, reason) = error(&endless, Format::Ply);
    assert_eq!((place, reason.as_str()), (Place::Line(1), "the header does not end within 65536 bytes"));
    let (place, reason) = error(text.replace("9 4 0 1 4 3", &format!("9 4{}", " 0".repeat(600_000))), Format::Ply);
    assert_eq!((place, reason.as_str()), (Place::Line(first + 11), "it has more than 1048576 bytes"));
    for encoding in [LITTLE, BIG] {
        let bytes = ply(encoding, n);
        let start = bytes.windows(11).position(|window| window == b"end_header\n").expect("a header") + 11;
        // A vertex has 4 + 8 + 4 + 3 + 8 bytes, the camera 1 + 6 + 4, a face 2 + 16, the edge 2 + 4.
        let faces = start + 9 * 27 + 11;
        assert_eq!(bytes.len(), faces + 4 * 18 + 6);
        let (place, reason) = error(&bytes[..bytes.len() - 10], Format::Ply);
        assert_eq!(place, Place::Byte(faces as u64 + 54), "{reason}");
        assert!(reason.starts_with("there is no whole element \"face\""), "{reason}");
        let mut wrong = bytes.clone();
        wrong[faces + 18 + 1] = 255;
        let (place, reason) = error(&wrong, Format::Ply);
        assert_eq!(place, Place::Byte(faces as u64 + 18), "{reason}");
        let mut wrong = bytes.clone();
        wrong[start + 27..start + 31].copy_from_slice(&f32::NAN.to_le_bytes());
        if encoding == BIG {
            wrong[start + 27..start + 31].reverse();
        }
        assert_eq!(
            error(&wrong, Format::Ply),
            (Place::Byte(start as u64 + 27), "vertex 1 is not finite, or beyond ±2⁴⁰ m".to_owned())
        );
        // Three bytes of header promise 4 GB.
        let text = String::from_utf8_lossy(&bytes[..start]).replace("vertex 9", "vertex 160000000");
        let (place, reason) = error([text.as_bytes(), &bytes[start..]].concat(), Format::Ply);
        assert_eq!(place, Place::Line(5), "{reason}");
        assert!(reason.starts_with("160000000 of element \"vertex\" do not fit the "), "{reason}");
    }
}

// GLB

fn glb_of(json: &Value, binary: &[u8]) -> Vec<u8> {
    let mut json = json.to_string().into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    let mut bytes = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
    for (kind, content) in [(b"JSON", &json[..]), (b"BIN\0", binary)] {
        bytes.extend((content.len() as u32).to_le_bytes());
        bytes.extend(kind);
        bytes.extend(content);
    }
    let length = (bytes.len() as u32).to_le_bytes();
    bytes[8..12].copy_from_slice(&length);
    bytes
}

/// A triangulated grid with a seam between all quads: every quad has its own four vertices.
fn glb_parts(n: u32) -> (Value, Vec<u8>) {
    let positions = grid(n);
    let quads: Vec<[u32; 4]> = cells(n).collect();
    let mut binary = Vec::new();
    for vertex in quads.iter().flatten() {
        let [x, y, z] = positions[*vertex as usize];
        for number in [x, y, z, x / 4.0, y / 4.0] {
            binary.extend(number.to_le_bytes());
        }
    }
    let colors = binary.len();
    for vertex in quads.iter().flatten() {
        binary.extend(if *vertex < n { [255, 0, 0, 255] } else { [0, 51, 0, 255] });
    }
    let indices = binary.len();
    for quad in 0..quads.len() as u16 {
        for corner in [0, 1, 2, 0, 2, 3] {
            binary.extend((4 * quad + corner).to_le_bytes());
        }
    }
    binary.resize(binary.len().next_multiple_of(4), 0);
    let count = 4 * quads.len();
    let json = json!({
        "asset": { "version": "2.0" },
        "buffers": [{ "byteLength": binary.len() }],
        "bufferViews": [
            { "buffer": 0, "byteLength": colors, "byteStride": 20 },
            { "buffer": 0, "byteOffset": colors, "byteLength": indices - colors },
            { "buffer": 0, "byteOffset": indices, "byteLength": 12 * quads.len() },
        ],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": count, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0] },
            { "bufferView": 0, "byteOffset": 12, "componentType": 5126, "count": count, "type": "VEC2" },
            { "bufferView": 1, "componentType": 5121, "normalized": true, "count": count, "type": "VEC4" },
            { "bufferView": 2, "componentType": 5123, "count": 6 * quads.len(), "type": "SCALAR" },
        ],
        "meshes": [{ "name": "sheet", "primitives": [
            { "attributes": { "POSITION": 0, "TEXCOORD_0": 1, "COLOR_0": 2, "NORMAL": 0 }, "indices": 3, "mode": 4 },
        ] }],
        "nodes": [{ "mesh": 0 }],
        "scenes": [{ "nodes": [0] }],
        "scene": 0,
    });
    (json, binary)
}

fn glb(n: u32) -> Vec<u8> {
    let (json, binary) = glb_parts(n);
    glb_of(&json, &binary)
}

#[test]
fn a_glb_is_welded_and_paired_to_the_quads_it_came_from() {
    let n = 5;
    let imported = parsed(glb(n), Format::Glb);
    assert_eq!((imported.report.vertices, imported.report.particles, imported.report.welded), (64, 25, 39));
    assert_eq!((imported.report.faces, imported.report.quads, imported.report.components), (32, 0, 1));
    assert_eq!(imported.descriptor.groups.keys().collect::<Vec<_>>(), ["sheet"]);
    assert_eq!(imported.descriptor.groups["sheet"].len(), 25);
    assert_eq!(imported.colored([1.0, 0.0, 0.0], 0.0).len() as u32, n);
    let found: BTreeSet<[u32; 3]> = imported.descriptor.positions.iter().map(|p| p.map(f32::to_bits)).collect();
    assert_eq!(found, grid(n).iter().map(|p| p.map(f32::to_bits)).collect());
    for (uv, particle) in imported.render.uvs.iter().zip(&imported.render.particle_of) {
        let [x, y, _] = imported.descriptor.positions[*particle as usize];
        assert_eq!(*uv, [x / 4.0, y / 4.0]);
    }
    let options = Options { pair_triangles: true, ..Default::default() };
    let imported = import::parse(&glb(n), Format::Glb, &options).expect("the file is good");
    check(&imported);
    assert_eq!((imported.report.paired, imported.report.faces, imported.report.quads), (32, 16, 16));
}

#[test]
fn nodes_place_their_meshes() {
    let (mut json, binary) = glb_parts(2);
    // A mesh of 1 m × 1 m twice: moved by 2 along x within a parent that is turned by 90° about z; and mirrored.
    let half = 0.5_f32.sqrt();
    json["nodes"] = json!([
        { "rotation": [0, 0, half, half], "children": [2] },
        { "name": "mirror", "mesh": 0, "matrix": [-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -5, 0, 0, 1] },
        { "name": "moved", "mesh": 0, "translation": [2, 0, 0], "scale": [1, 2, 1] },
    ]);
    json["scenes"][0]["nodes"] = json!([0, 1]);
    let imported = parsed(glb_of(&json, &binary), Format::Glb);
    assert_eq!((imported.report.particles, imported.report.faces, imported.report.components), (8, 4, 2));
    let at = |particle: u32| imported.descriptor.positions[particle as usize].map(|c| (c * 1e5).round() / 1e5 + 0.0);
    // (x, y) becomes (−2y, x + 2).
    let group = |name: &str| imported.descriptor.groups[name].iter().map(|p| at(*p)).collect::<Vec<_>>();
    assert_eq!(group("moved"), [[0.0, 2.0, 0.0], [0.0, 3.0, 0.0], [-2.0, 3.0, 0.0], [-2.0, 2.0, 0.0]]);
    assert_eq!(group("mirror"), [[-5.0, 0.0, 0.0], [-6.0, 0.0, 0.0], [-6.0, 1.0, 0.0], [-5.0, 1.0, 0.0]]);
    for face in &imported.descriptor.faces {
        let [a, b, c] = [0, 1, 2].map(|place| at(face.vertices()[place]));
        let twice = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        assert!(twice > 0.0, "every face still looks up, also in the mirror");
    }
}

#[test]
fn strips_fans_lines_and_small_numbers_are_read() {
    let (mut json, binary) = glb_parts(2);
    let primitive = |json: &mut Value, mode: u32| json["meshes"][0]["primitives"][0]["mode"] = mode.into();
    let counts = |json: &Value| {
        let report = parsed(glb_of(json, &binary), Format::Glb).report;
        (report.faces, report.lines)
    };
    // Indices 0 1 2 0 2 3: as a strip (0 1 2), (2 1 0)…: duplicates and folded ones go.
    primitive(&mut json, 6);
    assert_eq!(counts(&json), (2, 0), "a fan: 012, 020, 002, 023 without those that have no area");
    primitive(&mut json, 5);
    assert_eq!(counts(&json), (2, 0), "a strip: 012, 120, 202, 023");
    primitive(&mut json, 1);
    assert_eq!(counts(&json), (0, 3), "lines: 01, 20, 23");
    primitive(&mut json, 2);
    assert_eq!(counts(&json), (0, 6), "a loop: 01, 12, 20, 02, 23, 30");
    primitive(&mut json, 3);
    assert_eq!(counts(&json), (0, 5), "a strip of lines");
    primitive(&mut json, 0);
    assert_eq!(error(glb_of(&json, &binary), Format::Glb), (Place::File, "there is no face and no line".to_owned()));
    // Without indices: 0 1 2, and 3 is left over.
    let (mut json, binary) = glb_parts(2);
    json["meshes"][0]["primitives"][0].as_object_mut().expect("an object").remove("indices");
    let imported = parsed(glb_of(&json, &binary), Format::Glb);
    assert_eq!((imported.report.faces, imported.report.loose), (1, 1));
    // Signed bytes, normalized.
    let (mut json, mut binary) = glb_parts(2);
    json["accessors"][0]["componentType"] = 5120.into();
    json["accessors"][0]["normalized"] = true.into();
    for (vertex, [x, y]) in [[0, 0], [127, 0], [127, 64], [0, 127]].into_iter().enumerate() {
        binary[20 * vertex..20 * vertex + 3].copy_from_slice(&[x, y, 128]);
    }
    let imported = parsed(glb_of(&json, &binary), Format::Glb);
    assert_eq!(imported.descriptor.positions[2], [1.0, 64.0 / 127.0, -1.0]);
}

#[test]
fn errors_of_glb_name_their_byte() {
    let (json, binary) = glb_parts(3);
    let good = glb_of(&json, &binary);
    let bin_header = 20 + u32::from_le_bytes(good[12..16].try_into().expect("four bytes")) as usize;
    let bin = bin_header as u64 + 8;
    let patched = |at: usize, word: [u8; 4]| {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&word);
        bytes
    };
    let changed = |pointer: &str, value: Value| {
        let mut json = json.clone();
        *json.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        glb_of(&json, &binary)
    };
    let added = |pointer: &str, key: &str, value: Value| {
        let mut json = json.clone();
        json.pointer_mut(pointer).and_then(Value::as_object_mut).expect("an object").insert(key.to_owned(), value);
        glb_of(&json, &binary)
    };
    let huge = u64::MAX;
    let cases = [
        (patched(0, *b"gltf"), 0, "it does not start with glTF"),
        (patched(4, 1_u32.to_le_bytes()), 4, "its version is 1, only 2 is known"),
        (patched(8, 0_u32.to_le_bytes()), 12, "there is no JSON chunk"),
        (patched(8, u32::MAX.to_le_bytes()), 8, "it should have 4294967295 bytes"),
        (patched(12, u32::MAX.to_le_bytes()), 12, "a chunk of 4294967295 bytes goes beyond the file"),
        (patched(bin_header, u32::MAX.to_le_bytes()), bin_header as u64, "a chunk of 4294967295 bytes goes beyond"),
        (good[..10].to_vec(), 10, "the file ends within a header"),
        (good[..good.len() - 1].to_vec(), 8, "it should have"),
        (patched(20, *b"{\"a!"), 0, "the JSON is not glTF"),
        (glb_of(&json!([]), &binary), 0, "the JSON is not glTF"),
        (changed("/accessors/0/count", 17.into()), 20, "accessor 0 (POSITION) has 17 elements, up to byte 332 of 320"),
        (changed("/accessors/0/count", huge.into()), 20, "accessor 0 (POSITION) has 18446744073709551615 elements"),
        (changed("/accessors/3/count", 1_000_000.into()), 20, "accessor 3 (indices) has 1000000 elements"),
        (added("/accessors/3", "byteOffset", huge.into()), 20, "accessor 3 (indices) has 24 elements"),
        (changed("/accessors/2/count", 15.into()), bin + 320, "there are 15 COLOR_0 for 16 vertices"),
        (changed("/bufferViews/0/byteStride", 0.into()), 20, "accessor 0 (POSITION) has elements that overlap"),
        (
            changed("/bufferViews/0/byteLength", 300.into()),
            20,
            "accessor 0 (POSITION) has 16 elements, up to byte 312 of 300",
        ),
        (changed("/bufferViews/2/byteOffset", huge.into()), 20, "accessor 3 (indices) has 24 elements"),
        (changed("/bufferViews/0/buffer", 1.into()), 20, "accessor 0 (POSITION) has no buffer"),
        (changed("/accessors/0/bufferView", 9.into()), 20, "accessor 0 (POSITION) has a view that does not exist"),
        (
            changed("/accessors/0/componentType", 5125.into()),
            20,
            "accessor 0 (POSITION) has a type that it must not have",
        ),
        (changed("/accessors/0/componentType", 1.into()), 20, "accessor 0 (POSITION) has an unknown type"),
        (changed("/accessors/0/type", "VEC2".into()), 20, "accessor 0 (POSITION) has a type that it must not have"),
        (
            changed("/accessors/3/componentType", 5126.into()),
            20,
            "accessor 3 (indices) has a type that it must not have",
        ),
        (changed("/meshes/0/primitives/0/indices", 9.into()), 20, "accessor 9 (indices) does not exist"),
        (changed("/meshes/0/primitives/0/mode", 9.into()), 20, "a primitive has an unknown mode"),
        (changed("/meshes/0/primitives/0/attributes", json!({})), 20, "a primitive has no POSITION"),
        (changed("/nodes/0/mesh", 1.into()), 20, "there is no mesh 1"),
        (changed("/scenes/0/nodes", json!([5])), 20, "there is no node 5"),
        (changed("/scenes/0/nodes", json!([0, 0])), 20, "node 0 has two parents"),
        (added("/nodes/0", "children", json!([0])), 20, "node 0 has two parents"),
        (
            added("/buffers/0", "uri", "../secret.bin".into()),
            20,
            "accessor 0 (POSITION) is outside of this file's BIN chunk",
        ),
        (
            added("", "extensionsRequired", json!(["KHR_draco_mesh_compression"])),
            20,
            "it cannot be read without the extension \"KHR_draco_mesh_compr",
        ),
        (changed("/nodes/0", json!({ "mesh": 0, "scale": [1e30, 1, 1] })), 0, "vertex 1 is not finite, or beyond"),
    ];
    for (bytes, byte, expected) in cases {
        let (place, reason) = error(&bytes, Format::Glb);
        assert!(reason.starts_with(expected), "{expected}: {reason}");
        assert!(place == Place::Byte(byte) || byte == 0 && matches!(place, Place::Byte(_)), "{reason}: {place:?}");
    }
    let mut sparse = json.clone();
    sparse["accessors"][0]["sparse"] =
        json!({ "count": 1, "indices": { "bufferView": 2, "componentType": 5123 }, "values": { "bufferView": 0 } });
    assert!(error(glb_of(&sparse, &binary), Format::Glb).1.contains("is sparse, which is not supported"));
    // An index beyond the vertices, and a position that is no number.
    let mut wrong = binary.clone();
    wrong[16 * 24 + 6..16 * 24 + 8].copy_from_slice(&16_u16.to_le_bytes());
    let expected = (Place::Byte(bin + 16 * 24 + 6), "index 16 names no vertex: there are 16".to_owned());
    assert_eq!(error(glb_of(&json, &wrong), Format::Glb), expected);
    let mut wrong = binary.clone();
    wrong[44..48].copy_from_slice(&f32::INFINITY.to_le_bytes());
    assert_eq!(error(glb_of(&json, &wrong), Format::Glb).0, Place::Byte(bin + 40));
    // JSON that opens more brackets than any stack could hold.
    let deep = format!("{{\"accessors\":[{{\"count\":1,\"componentType\":5126,\"min\":{}", "[".repeat(200_000));
    let mut bytes = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
    bytes.extend((deep.len() as u32).to_le_bytes());
    bytes.extend(b"JSON");
    bytes.extend(deep.as_bytes());
    let length = (bytes.len() as u32).to_le_bytes();
    bytes[8..12].copy_from_slice(&length);
    assert!(error(&bytes, Format::Glb).1.contains("recursion limit exceeded"));
    // Empty primitives that few bytes ask for very often.
    let (mut json, binary) = glb_parts(2);
    for accessor in 0..4 {
        json["accessors"][accessor]["count"] = 0.into();
    }
    json["meshes"][0]["primitives"] = vec![json["meshes"][0]["primitives"][0].clone(); 2000].into();
    json["nodes"] = (0..2000).map(|_| json!({ "mesh": 0 })).collect();
    json["scenes"][0]["nodes"] = (0..2000).collect();
    let options = Options { most_faces: 100_000, ..Default::default() };
    let error = import::parse(&glb_of(&json, &binary), Format::Glb, &options).expect_err("four million");
    assert!(error.to_string().contains("more than 100000 primitives"), "{error}");
    // A mesh that few bytes put in many places.
    let (mut json, binary) = glb_parts(2);
    json["nodes"] = (0..100).map(|_| json!({ "mesh": 0 })).collect();
    json["scenes"][0]["nodes"] = (0..100).collect();
    let options = Options { most_vertices: 300, ..Default::default() };
    let error = import::parse(&glb_of(&json, &binary), Format::Glb, &options).expect_err("400 vertices");
    assert!(error.to_string().contains("more than 300 vertices"), "{error}");
}

// Files that mean harm

/// xorshift64*: the same numbers in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Damages a file in one place, or in up to four.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    const NUMBERS: [&str; 14] = [
        "0",
        "-1",
        "1",
        "255",
        "65536",
        "2147483647",
        "-2147483648",
        "4294967295",
        "4294967296",
        "18446744073709551615",
        "1e38",
        "-1e-45",
        "nan",
        "99999999999999999999999999999999",
    ];
    const WORDS: [&[u8]; 10] = [
        b"\n",
        b" ",
        b"\\\n",
        b"/",
        b"f 1 2 3\n",
        b"\xff\xff\xff\xff",
        b"\0\0\0\0",
        b"\xff\xff\xff\x7f",
        b"[[",
        b"g a b\n",
    ];
    for _ in 0..=random.below(2) * random.below(4) {
        let at = random.below(bytes.len());
        match random.below(8) {
            0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            2 if !bytes.is_empty() => bytes[at] = random.next() as u8,
            3 if random.below(4) == 0 => bytes.truncate(at),
            3 => {
                let end = (at + random.below(8)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                let word = WORDS[random.below(WORDS.len())];
                bytes.splice(at..at, word.iter().copied());
            }
            5 => {
                // A piece of the file once more.
                let piece = bytes[at..(at + random.below(40)).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                // Another number where there is one.
                let digit = |byte: &u8| byte.is_ascii_digit();
                let Some(start) = bytes[at..].iter().position(digit).map(|offset| at + offset) else { continue };
                let length = bytes[start..].iter().take_while(|byte| digit(byte)).count();
                let number = NUMBERS[random.below(NUMBERS.len())];
                bytes.splice(start..start + length, number.bytes());
            }
        }
    }
}

#[test]
fn a_long_json_does_not_take_all_memory() {
    let (json, binary) = glb_parts(2);
    let with = |length: usize| {
        let mut json = json.clone();
        json["asset"]["generator"] = " ".repeat(length).into();
        import::parse(&glb_of(&json, &binary), Format::Glb, &Options::default())
    };
    with(1 << 21).expect("it is long, but not too long");
    let error = with(1 << 22).expect_err("it is too long").to_string();
    assert!(error.contains("the JSON has more than 4194304 bytes"), "{error}");
}

#[test]
fn a_hundred_thousand_damaged_files_do_no_harm() {
    let n = 3;
    let mut sheet = text(&grid(n), &triangulated(n, |v| v % 2 == 0));
    sheet = sheet.replacen("\nf", "\nvt 0 0\nvt 1 0\nvt 0 1\ng left right\no sheet\nf 1/1 2/2 5/3\nf", 1);
    sheet += "l 1 2 3 \\\n 4\nf -1 -2 -4 -5\nf 1 2 3 6 5 4\nv 0 0 0 1 0.5 0\n";
    let samples = [
        (Format::Obj, sheet.into_bytes()),
        (Format::Ply, ply(ASCII, n)),
        (Format::Ply, ply(LITTLE, n)),
        (Format::Ply, ply(BIG, n)),
        (Format::Glb, glb(n)),
    ];
    let mut random = Random(0x00C1_07E5);
    let (mut good, mut bad, mut slowest) = ([0; 5], [0; 5], Duration::ZERO);
    let begin = Instant::now();
    for round in 0..20_400 {
        for (kind, (format, sample)) in samples.iter().enumerate() {
            let mut bytes = sample.clone();
            mutate(&mut bytes, &mut random);
            let options = Options {
                pair_triangles: round % 2 == 0,
                weld: [Some(0.0), None, Some(1e-3)][round % 3],
                ..Default::default()
            };
            let clock = Instant::now();
            let result = import::parse(&bytes, *format, &options);
            slowest = slowest.max(clock.elapsed());
            match result {
                Ok(imported) => {
                    good[kind] += 1;
                    check(&imported);
                }
                Err(Error::Import { place, reason, .. }) => {
                    bad[kind] += 1;
                    assert!(reason.len() < 400 && !reason.contains('\n'), "{reason:?}");
                    let whole = ["there is no face and no line", "no face has an area, no line a length"];
                    assert!(place != Place::File || whole.contains(&reason.as_str()), "{reason}");
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
    println!("{good:?} read, {bad:?} refused, {:?} in all, the slowest {slowest:?}", begin.elapsed());
    assert!(good.iter().sum::<usize>() + bad.iter().sum::<usize>() >= 100_000);
    // Mutations that all files survive, or none, would test nothing.
    assert!(good.iter().chain(&bad).all(|count| *count > 1000), "{good:?} {bad:?}");
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
}

#[test]
fn files_with_z_up_are_turned() {
    let text = "v 0 0 0\nv 2 0 0\nv 2 3 0\nv 0 3 5\nf 1 2 3 4\n";
    let read = |up| import::parse(text.as_bytes(), Format::Obj, &Options { up, scale: 2.0, ..Default::default() });
    let positions = |up| read(up).expect("the file is good").descriptor.positions;
    assert_eq!(positions(Up::Y)[2..], [[4.0, 6.0, 0.0], [0.0, 6.0, 10.0]]);
    assert_eq!(positions(Up::Z)[2..], [[4.0, 0.0, -6.0], [0.0, 10.0, -6.0]]);
    assert!(positions(Up::Z)[0].iter().all(|x| x.to_bits() == 0));
    for name in Up::NAMES {
        assert!(Up::named(name).is_some());
    }
    assert_eq!((Up::named("x"), Up::default()), (None, Up::Y));
}
