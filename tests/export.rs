//! Files that take the result away: their bytes, their numbers, and that they appear whole or not at all.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use taut::io::export::{Export, FORMATS, Target};
use taut::io::sequence::{self, Pattern};
use taut::io::{mdd, npy, obj, pc2, ply};
use taut::report::{Strain, vertex_strain};
use taut::{Error, Face, Mesh, MeshDescriptor, Topology};

const ROUND: [[f32; 3]; 2] = [[0.1, -0.0, 3.0e-45], [1.0, 2.0, 3.0]];
const FRAMES: [[[f32; 3]; 2]; 3] =
    [ROUND, [[f32::MAX, f32::MIN_POSITIVE, -1.0], [4.0, 5.0, 6.0]], [[1.0 / 3.0, 7.0, 8.0], [9.0, 10.0, 11.0]]];

fn names(directory: &Path) -> BTreeSet<OsString> {
    let entries = std::fs::read_dir(directory).expect("the directory is readable");
    entries.map(|entry| entry.expect("the entry is readable").file_name()).collect()
}

fn set(names: &[&str]) -> BTreeSet<OsString> {
    names.iter().map(OsString::from).collect()
}

fn bits(positions: &[[f32; 3]]) -> Vec<u32> {
    positions.as_flattened().iter().map(|coordinate| coordinate.to_bits()).collect()
}

/// A quad, a triangle at its side, and a line; vertex 5 hangs on the line.
fn mesh() -> Mesh {
    let positions =
        vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 1.0], [2.0, 0.0, 0.0], [3.0, 0.0, 0.0]];
    let faces = vec![[0, 1, 2, 3].into(), [1, 4, 2].into()];
    let lines = vec![[4, 5]];
    Mesh::new(MeshDescriptor { positions, faces, lines, pins: vec![0, 1], ..Default::default() }).expect("a good mesh")
}

#[test]
fn mdd_is_big_endian_with_times() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("cloth.mdd");
    let mut writer = mdd::Writer::create(&path, mdd::Header { points: 2, frames: 3, fps: 30.0 }).expect("a writer");
    for frame in FRAMES {
        writer.write_frame(&frame).expect("a frame");
    }
    assert!(!path.exists(), "not before it is complete");
    writer.finish().expect("a file");

    let bytes = std::fs::read(&path).expect("the file is readable");
    assert_eq!(bytes.len(), 8 + 3 * 4 + 3 * 2 * 12);
    assert_eq!(&bytes[..8], b"\0\0\0\x03\0\0\0\x02");
    let floats: Vec<f32> =
        bytes[8..].chunks_exact(4).map(|word| f32::from_be_bytes(word.try_into().expect("four bytes"))).collect();
    assert_eq!(floats[..3], [0.0, (1.0 / 30.0_f64) as f32, (2.0 / 30.0_f64) as f32]);
    for (frame, expected) in floats[3..].chunks_exact(6).zip(FRAMES) {
        assert_eq!(frame.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), bits(&expected));
    }
    for header in [
        mdd::Header { points: 1 << 31, frames: 1, fps: 1.0 },
        mdd::Header { points: 1, frames: u32::MAX, fps: 1.0 },
        mdd::Header { points: 1, frames: 1, fps: 0.0 },
        mdd::Header { points: 1, frames: 1, fps: f64::NAN },
    ] {
        assert!(matches!(mdd::Writer::create(&path, header), Err(Error::OutOfRange { .. })), "{header:?}");
    }
}

#[test]
fn npy_has_the_header_that_numpy_reads() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("cloth.npy");
    let mut writer = npy::Writer::create(&path, 3, 2).expect("a writer");
    for frame in FRAMES {
        writer.write_frame(&frame).expect("a frame");
    }
    writer.finish().expect("a file");
    let bytes = std::fs::read(&path).expect("the file is readable");
    assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
    assert_eq!(bytes.len(), 128 + 3 * 2 * 12);
    let text = std::str::from_utf8(&bytes[10..128]).expect("it is text");
    assert_eq!(text.trim_end(), "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 3), }");
    assert!(text.ends_with(" \n"));
    let words: Vec<u32> =
        bytes[128..].chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect();
    assert_eq!(words, bits(FRAMES.as_flattened()));
    // The longest header has the same length.
    drop(npy::Writer::create(&path, u32::MAX, u32::MAX).expect("a writer"));
    assert_eq!(std::fs::read(&path).expect("it is still there").len(), bytes.len());
}

#[test]
fn strain_of_a_vertex_is_the_worst_of_its_edges() {
    let mesh = mesh();
    let mut positions = mesh.positions().to_vec();
    positions[5][0] = 3.5; // The line is half as long again.
    positions[1][1] = 0.75; // Its edge to 0 of 1 m is 1.25 m long now, as are those to 2 and 4.
    let strains = vertex_strain(&mesh, [1.0, 1.0], &positions);
    assert_eq!(strains, [0.25, 0.25, 0.25, 0.0, 0.5, 0.5]);
    // Within the band there is none, and beyond it counts the distance.
    assert_eq!(vertex_strain(&mesh, [1.0, 1.25], &positions), [0.0, 0.0, 0.0, 0.0, 0.25, 0.25]);
    // The worst of all is what the report says; here it is not the edge between the two pins.
    let report = Strain::measure(&mesh, &Topology::new(&mesh), [1.0, 1.0], 0.01, &positions);
    assert_eq!(report.max, 0.5);
    positions[3][2] = f32::NAN;
    assert_eq!(vertex_strain(&mesh, [1.0, 1.0], &positions)[3], f32::INFINITY);
}

#[test]
fn ply_holds_positions_strain_colors_faces_and_edges() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("cloth.ply");
    let mesh = mesh();
    let mut positions = mesh.positions().to_vec();
    positions[5] = [1.0 / 3.0, -0.0, 16_777_217.0];
    let strain = [0.0, 0.125, 1.0 / 3.0, 3.0, 4.0, 5.0];
    let colors = [[1, 2, 3]; 6];
    let attributes = ply::Attributes { strain: Some(&strain), colors: Some(&colors) };
    ply::write(&path, &mesh, &positions, attributes).expect("a file");
    let bytes = std::fs::read(&path).expect("the file is readable");
    let header = "ply\nformat binary_little_endian 1.0\nelement vertex 6\nproperty float x\nproperty float y\n\
                  property float z\nproperty float strain\nproperty uchar red\nproperty uchar green\nproperty uchar blue\n\
                  element face 2\nproperty list uchar int vertex_indices\nelement edge 1\nproperty int vertex1\n\
                  property int vertex2\nend_header\n";
    assert!(bytes.starts_with(header.as_bytes()), "{}", String::from_utf8_lossy(&bytes));
    let body = &bytes[header.len()..];
    assert_eq!(body.len(), 6 * 19 + (1 + 16) + (1 + 12) + 8);
    for (vertex, row) in body[..6 * 19].chunks_exact(19).enumerate() {
        let number = |at: usize| u32::from_le_bytes(row[at..at + 4].try_into().expect("four bytes"));
        assert_eq!([0, 4, 8].map(number).to_vec(), bits(&positions[vertex..=vertex]));
        assert_eq!((number(12), &row[16..]), (f32::to_bits(strain[vertex]), &[1, 2, 3][..]));
    }
    assert_eq!(&body[6 * 19..6 * 19 + 9], b"\x04\0\0\0\0\x01\0\0\0");
    assert_eq!(&body[body.len() - 8..], b"\x04\0\0\0\x05\0\0\0");

    let short = ply::Attributes { strain: Some(&strain[1..]), colors: None };
    let result = ply::write(&path, &mesh, &positions, short);
    assert!(matches!(result, Err(Error::LengthMismatch { field: "strain", expected: 6, found: 5 })));
    let result = ply::write(&path, &mesh, &positions[1..], ply::Attributes::default());
    assert!(matches!(result, Err(Error::LengthMismatch { field: "positions", .. })));
    assert_eq!(std::fs::read(&path).expect("it is still there"), bytes);
}

#[cfg(feature = "import")]
#[test]
fn what_is_written_can_be_read_again() {
    use taut::io::import::{self, Options};
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mesh = mesh();
    for name in ["cloth.ply", "cloth.obj"] {
        let path = directory.path().join(name);
        let target = Target::new(&path).expect("a known extension");
        let mut export = Export::create(&target, &mesh, 1, 60.0).expect("an export");
        export.write_frame(&mesh, [1.0, 1.0], mesh.positions()).expect("a frame");
        export.finish().expect("a file");
        let imported = import::read(&path, &Options::default()).expect("the file is good");
        assert_eq!(imported.descriptor.positions, mesh.positions(), "{name}");
        assert_eq!(
            (imported.descriptor.faces, imported.descriptor.lines),
            (mesh.faces().to_vec(), mesh.lines().to_vec())
        );
    }
    // With texture coordinates: vertices 1 and 2 have two each.
    let uvs = [[0.0, 0.0], [0.5, 0.0], [0.5, 1.0], [0.0, 1.0], [0.6, 0.0], [1.0, 0.0], [0.6, 1.0]];
    let faces = [Face::Quad([0, 1, 2, 3]), Face::Triangle([4, 5, 6])];
    let path = directory.path().join("textured.obj");
    let texture = obj::Texture { uvs: &uvs, faces: &faces };
    obj::prepare_textured(&path, &mesh, mesh.positions(), texture).and_then(|file| file.finish()).expect("a file");
    let imported = import::read(&path, &Options::default()).expect("the file is good");
    assert_eq!(imported.descriptor.faces, mesh.faces());
    assert_eq!((imported.render.uvs, imported.render.particle_of), (uvs.to_vec(), vec![0, 1, 2, 3, 1, 4, 2]));

    let wrong = |uvs, faces| obj::prepare_textured(&path, &mesh, mesh.positions(), obj::Texture { uvs, faces });
    assert!(matches!(wrong(&uvs, &faces[..1]), Err(Error::LengthMismatch { field: "texture.faces", .. })));
    let swapped = [faces[1], faces[0]];
    assert!(matches!(wrong(&uvs, &swapped), Err(Error::LengthMismatch { field: "texture.faces", .. })));
    assert!(matches!(wrong(&uvs[..6], &faces), Err(Error::IndexOutOfRange { index: 1, value: 6, count: 6, .. })));
}

#[test]
fn names_of_sequences_have_one_place_for_a_number() {
    let name = |text: &str, frame| Pattern::new(text.as_ref()).expect("a pattern").map(|p| p.path(frame));
    for (text, frame, expected) in [
        ("a.####.ply", 7, "a.0007.ply"),
        ("#.ply", 123, "123.ply"),
        ("d/a_%04d.obj", 12, "d/a_0012.obj"),
        ("%d.obj", 0, "0.obj"),
        ("100%_%03d.obj", 5, "100%_005.obj"),
        ("##/a##", 3, "##/a03"),
    ] {
        assert_eq!(name(text, frame).as_deref(), Some(Path::new(expected)), "{text}");
    }
    for text in ["a.ply", "50%.ply", "a%s.ply", "%04x.ply", "####/a.ply", "%%.ply"] {
        assert_eq!(name(text, 1), None, "{text}");
    }
    for text in ["#a#.ply", "%d#.ply", "%04d_%04d.obj", "##########.ply", "%010d.ply", "%99999999999999999999999d.ply"]
    {
        assert!(matches!(Pattern::new(text.as_ref()), Err(Error::Pattern { .. })), "{text}");
    }
}

#[test]
fn formats_are_chosen_by_extension() {
    let format = |name: &str| Target::new(name).map(|target| target.format().extension);
    for (name, expected) in [("a.pc2", "pc2"), ("a.MDD", "mdd"), ("b/a.npy", "npy"), ("a.obj", "obj")] {
        assert_eq!(format(name).expect(name), expected);
    }
    assert_eq!(format("a.####.ply").expect("a file per frame"), "ply");
    // Of two formats of one extension the second would never be chosen.
    for listed in FORMATS {
        assert_eq!(Target::new(format!("a.{}", listed.extension)).expect("a listed format").format(), listed);
        assert_eq!(FORMATS.iter().filter(|other| *other == listed).count(), 1, "{}", listed.extension);
        assert_eq!(listed.extension, listed.extension.to_lowercase());
    }
    for name in ["a", "a.stl", "obj", ".ply", "a.abc"] {
        let error = format(name).expect_err(name).to_string();
        assert!(error.starts_with(&format!("{name} must end with .pc2, .mdd, ")), "{error}");
        let said = |extension: &str| error.split([' ', ',']).any(|word| word.strip_prefix('.') == Some(extension));
        assert!(FORMATS.iter().all(|format| said(format.extension)), "{error}");
    }
    for listed in FORMATS {
        let name = format!("a.####.{}", listed.extension);
        match format(&name) {
            Ok(_) => assert!(listed.numbered(), "{name}"),
            Err(error) => {
                let expected = format!("{name} is one file for all frames and has no place for a number");
                assert_eq!((error.to_string(), listed.numbered()), (expected, false));
            }
        }
    }
}

#[test]
fn exports_appear_whole_or_not_at_all() {
    let mesh = mesh();
    for name in ["a.pc2", "a.mdd", "a.npy", "a.usda", "a.glb", "a.obj", "a.ply", "a.###.obj", "a.%02d.ply"] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path();
        let target = Target::new(path.join(name)).expect("a known extension");
        let create = || Export::create(&target, &mesh, 3, 60.0).expect("an export");
        let frame = |export: &mut Export, x: f32| {
            let positions: Vec<[f32; 3]> = mesh.positions().iter().map(|p| [p[0] + x, p[1], p[2]]).collect();
            export.write_frame(&mesh, [1.0, 1.0], &positions)
        };
        // Dropped, or with too few frames.
        let mut export = create();
        frame(&mut export, 0.0).expect("a frame");
        let temporary = if ["a.usda", "a.glb"].contains(&name) { 2 } else { 1 };
        assert_eq!(names(path).len(), temporary, "{name}: temporary files or a directory");
        drop(export);
        assert_eq!(names(path), set(&[]), "{name}");
        let mut export = create();
        frame(&mut export, 0.0).expect("a frame");
        assert!(matches!(export.finish(), Err(Error::LengthMismatch { expected: 3, found: 1, .. })), "{name}");
        assert_eq!(names(path), set(&[]), "{name}");
        // Bad frames are refused, and the good ones go on.
        let mut export = create();
        let result = export.write_frame(&mesh, [1.0, 1.0], &mesh.positions()[1..]);
        assert!(matches!(result, Err(Error::LengthMismatch { field: "positions", .. })), "{name}");
        assert!(matches!(frame(&mut export, f32::NAN), Err(Error::NotFinite { .. })), "{name}");
        for x in [0.0, 1.0, 2.0] {
            frame(&mut export, x).expect("a frame");
        }
        let result = frame(&mut export, 3.0);
        assert!(matches!(result, Err(Error::LengthMismatch { field: "frames", expected: 3, found: 4 })), "{name}");
        assert!(names(path).iter().all(|name| name.to_string_lossy().starts_with('.')), "{name}: not yet");
        export.finish().expect("a file");
        let expected = match name {
            "a.###.obj" => set(&["a.000.obj", "a.001.obj", "a.002.obj"]),
            "a.%02d.ply" => set(&["a.00.ply", "a.01.ply", "a.02.ply"]),
            _ => set(&[name]),
        };
        assert_eq!(names(path), expected, "{name}");
        // The last frame is where it was moved to.
        let last = path.join(expected.last().expect("a file"));
        let first_x = match name {
            "a.pc2" => pc2::read(&last).expect("a cache").sample(2).expect("three samples")[0][0],
            "a.usda" => {
                let text = std::fs::read_to_string(&last).expect("the file is readable");
                let (_, points) = text.split_once("point3f[] points.timeSamples").expect("points");
                let (_, third) = points.split_once("2: [(").expect("a third frame");
                third.split(',').next().and_then(|word| word.parse().ok()).expect("a coordinate")
            }
            "a.glb" => {
                let (_, buffers) = glb(&last);
                *floats(&buffers, buffers.len() - 4 * (3 + 2 + 2) - 24 * 6..).first().expect("a displacement")
            }
            _ if name.ends_with("obj") => {
                let text = std::fs::read_to_string(&last).expect("the file is readable");
                text.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a coordinate")
            }
            _ => {
                let bytes = std::fs::read(&last).expect("the file is readable");
                let end = b"end_header\n";
                let at = match name {
                    "a.mdd" | "a.npy" => bytes.len() - 6 * 12,
                    _ => bytes.windows(end.len()).position(|window| window == end).expect("a header") + end.len(),
                };
                let word = bytes[at..at + 4].try_into().expect("four bytes");
                if name == "a.mdd" { f32::from_be_bytes(word) } else { f32::from_le_bytes(word) }
            }
        };
        assert_eq!(first_x, 2.0, "{name}");
        // Again over what is there.
        let mut export = create();
        for x in [5.0, 6.0, 7.0] {
            frame(&mut export, x).expect("a frame");
        }
        export.finish().expect("a file");
        assert_eq!(names(path), expected, "{name}");
    }
}

/// A GLB as the crate `gltf` reads and checks it.
fn glb(path: &Path) -> (gltf::Document, Vec<u8>) {
    let bytes = std::fs::read(path).expect("the file is readable");
    let gltf::Gltf { document, blob } = gltf::Gltf::from_slice(&bytes).expect("a valid glTF");
    (document, blob.expect("a binary chunk"))
}

fn floats(bytes: &[u8], range: std::ops::RangeFrom<usize>) -> Vec<f32> {
    let words = bytes[range].chunks_exact(4);
    words.map(|word| f32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

/// Three frames of the mesh: moved, and bent so that normals change.
fn bent(mesh: &Mesh) -> Vec<Vec<[f32; 3]>> {
    let frame = |k: f32| mesh.positions().iter().map(|[x, y, z]| [x + 0.1 * k, y + 0.3 * k * x * x, *z]).collect();
    [0.0, 1.0, 2.0].map(frame).to_vec()
}

fn exported(name: &str, mesh: &Mesh, frames: &[Vec<[f32; 3]>]) -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join(name);
    let target = Target::new(&path).expect("a target");
    let mut export = Export::create(&target, mesh, frames.len() as u32, 50.0).expect("an export");
    for frame in frames {
        export.write_frame(mesh, [1.0; 2], frame).expect("a frame");
    }
    export.finish().expect("a file");
    (directory, path)
}

#[test]
fn glb_is_a_mesh_whose_weights_play_the_frames() {
    let mesh = mesh();
    let frames = bent(&mesh);
    let (_directory, path) = exported("a.glb", &mesh, &frames);
    let (document, blob) = glb(&path);
    let data = |buffer: gltf::Buffer<'_>| (buffer.index() == 0).then_some(&blob[..]);
    let node = document.default_scene().and_then(|scene| scene.nodes().next()).expect("a node");
    assert_eq!(node.name(), Some("cloth"));
    let primitives: Vec<gltf::Primitive<'_>> = node.mesh().expect("a mesh").primitives().collect();
    assert_eq!(
        primitives.iter().map(|one| one.mode()).collect::<Vec<_>>(),
        [gltf::mesh::Mode::Triangles, gltf::mesh::Mode::Lines]
    );
    let indices = |one: &gltf::Primitive<'_>| -> Vec<u32> {
        one.reader(data).read_indices().expect("indices").into_u32().collect()
    };
    assert_eq!(indices(&primitives[0]), [0, 1, 2, 0, 2, 3, 1, 4, 2]);
    assert_eq!(indices(&primitives[1]), [4, 5]);

    let animation = document.animations().next().expect("an animation");
    let channel = animation.channels().next().expect("a channel");
    assert_eq!(channel.sampler().interpolation(), gltf::animation::Interpolation::Linear);
    assert_eq!(channel.target().property(), gltf::animation::Property::MorphTargetWeights);
    let reader = channel.reader(data);
    let times: Vec<f32> = reader.read_inputs().expect("times").collect();
    assert_eq!(times, [0.0, 0.02, 0.04]);
    let Some(gltf::animation::util::ReadOutputs::MorphTargetWeights(weights)) = reader.read_outputs() else {
        panic!("there are no weights");
    };
    let weights: Vec<f32> = weights.into_f32().collect();
    assert_eq!(weights, [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);

    for primitive in &primitives {
        let reader = primitive.reader(data);
        let base: Vec<[f32; 3]> = reader.read_positions().expect("positions").collect();
        assert_eq!(bits(&base), bits(&frames[0]));
        assert_eq!(reader.read_morph_targets().count(), 2);
        for (frame, (moved, _, _)) in frames[1..].iter().zip(reader.read_morph_targets()) {
            for ((moved, base), expected) in moved.expect("displacements").zip(&base).zip(frame) {
                for axis in 0..3 {
                    assert!((base[axis] + moved[axis] - expected[axis]).abs() < 1e-6);
                }
            }
        }
        // What an accessor says of its numbers is so.
        for accessor in primitive.morph_targets().filter_map(|target| target.positions()) {
            let [least, most] = [accessor.min(), accessor.max()].map(|bound| bound.expect("bounds").to_string());
            let values: Vec<[f32; 3]> = gltf::accessor::Iter::new(accessor, data).expect("values").collect();
            let of = |pick: fn(f32, f32) -> f32| -> Vec<f32> {
                let along = |axis: usize| values.iter().map(|value| value[axis]).reduce(pick).expect("a value");
                [0, 1, 2].map(along).to_vec()
            };
            for (told, found) in [(least, of(f32::min)), (most, of(f32::max))] {
                assert_eq!(serde_json::from_str::<Vec<f32>>(&told).expect("numbers"), found);
            }
        }
    }
    let reader = primitives[0].reader(data);
    let normals: Vec<[f32; 3]> = reader.read_normals().expect("normals").collect();
    // Flat, and wound so that it is seen from below; what has no triangle has one that points up.
    assert_eq!(normals[..5], [[0.0, -1.0, 0.0]; 5]);
    assert_eq!(normals[5], [0.0, 1.0, 0.0]);
    let (_, turned, _) = reader.read_morph_targets().nth(1).expect("two targets");
    for (normal, turned) in normals.iter().zip(turned.expect("normals")) {
        let length: f32 = (0..3).map(|axis| (normal[axis] + turned[axis]).powi(2)).sum();
        assert!((length - 1.0).abs() < 1e-5);
    }

    // One frame is a mesh without an animation.
    let (_directory, path) = exported("still.glb", &mesh, &frames[..1]);
    let (document, _) = glb(&path);
    assert_eq!((document.meshes().count(), document.animations().count()), (1, 0));
}

#[test]
fn usd_has_time_samples_of_points_normals_and_extent() {
    let mesh = mesh();
    let frames = bent(&mesh);
    let (_directory, path) = exported("a.usda", &mesh, &frames);
    let text = std::fs::read_to_string(&path).expect("the file is readable");
    assert!(text.starts_with("#usda 1.0\n(\n"));
    for line in [
        "    defaultPrim = \"cloth\"",
        "    startTimeCode = 0",
        "    endTimeCode = 2",
        "    timeCodesPerSecond = 50",
        "    metersPerUnit = 1",
        "    upAxis = \"Y\"",
        "        int[] faceVertexCounts = [4, 3]",
        "        int[] faceVertexIndices = [0, 1, 2, 3, 1, 4, 2]",
        "        uniform token subdivisionScheme = \"none\"",
        "        int[] curveVertexCounts = [2]",
        "        uniform token type = \"linear\"",
    ] {
        assert_eq!(text.lines().filter(|found| *found == line).count(), 1, "{line}");
    }
    // Of the surface, and of the line.
    let blocks = |name: &str| -> Vec<Vec<Vec<f32>>> {
        let numbers = |line: &str| -> Vec<f32> {
            let (_, list) = line.split_once(": [").expect("a sample");
            let words = list.split(['(', ')', ',', ']', ' ']).filter(|word| !word.is_empty());
            words.map(|word| word.parse().expect("a number")).collect()
        };
        let block = |block: &str| block.lines().skip(1).take_while(|line| line.contains(": [")).map(numbers).collect();
        text.split(&format!("{name}.timeSamples = {{")).skip(1).map(block).collect()
    };
    let points = blocks("point3f[] points");
    assert_eq!(points.len(), 2);
    for (sample, frame) in points[0].iter().zip(&frames) {
        assert_eq!(sample.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), bits(frame));
    }
    for (sample, frame) in points[1].iter().zip(&frames) {
        assert_eq!(sample.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), bits(&frame[4..]));
    }
    let normals = blocks("normal3f[] normals");
    assert_eq!((normals.len(), normals[0].len(), normals[0][0].len()), (1, 3, 18));
    assert_eq!(blocks("float3[] extent")[0][0], [0.0, 0.0, 0.0, 3.0, 0.0, 1.0]);
    assert_eq!(text.matches('{').count(), text.matches('}').count());
}

#[test]
fn sequences_refuse_what_is_in_their_way() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    std::fs::create_dir(path.join("a.1.ply")).expect("a directory");
    let pattern = Pattern::new(&path.join("a.#.ply")).expect("a pattern").expect("a place for a number");
    match sequence::Writer::create(pattern.clone(), 3) {
        Err(Error::Io { path: named, .. }) => assert_eq!(named, path.join("a.1.ply")),
        other => panic!("{other:?}"),
    }
    assert_eq!(names(path), set(&["a.1.ply"]));
    assert!(sequence::Writer::create(pattern, 1).is_ok(), "frame 1 is not asked for");
    let missing = Pattern::new(&path.join("missing/a.#.ply")).expect("a pattern").expect("a place for a number");
    assert!(matches!(sequence::Writer::create(missing, 1), Err(Error::Io { .. })));
    // A failed write takes the whole sequence with it.
    let pattern = Pattern::new(&path.join("b.#.ply")).expect("a pattern").expect("a place for a number");
    let mut writer = sequence::Writer::create(pattern, 2).expect("a writer");
    writer.write_file(|_| Ok(())).expect("a file");
    assert!(writer.write_file(|_| Err(std::io::ErrorKind::StorageFull.into())).is_err());
    assert!(writer.finish().is_err());
    assert_eq!(names(path), set(&["a.1.ply"]));
}

#[test]
fn frames_before_an_early_end_are_kept() {
    let mesh = mesh();
    let moved = |x: f32| -> Vec<[f32; 3]> { mesh.positions().iter().map(|[a, b, c]| [a + x, *b, *c]).collect() };
    let one = FORMATS.iter().map(|format| format!("a.{}", format.extension));
    let many = FORMATS.iter().filter(|format| format.numbered()).map(|format| format!("a.##.{}", format.extension));
    for name in &one.chain(many).collect::<Vec<_>>() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let export = |folder: &str, frames: u32| {
            let path = directory.path().join(folder);
            std::fs::create_dir(&path).expect("a directory");
            let target = Target::new(path.join(name)).expect("a target");
            let mut export = Export::create(&target, &mesh, frames, 60.0).expect("an export");
            for frame in 0..3 {
                export.write_frame(&mesh, [1.0; 2], &moved(frame as f32)).expect("a frame");
            }
            if frames > 3 {
                export.finish_early(&mesh, [1.0; 2], &moved(2.0)).expect("files");
            } else {
                export.finish().expect("files");
            }
            names(&path).into_iter().map(|name| (name.clone(), std::fs::read(path.join(name)).ok())).collect::<Vec<_>>()
        };
        // The same bytes as if no more had ever been promised.
        assert_eq!(export("early", 90_000), export("whole", 3), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn names_that_are_not_unicode_are_taken_unless_they_number_frames() {
    use std::os::unix::ffi::OsStrExt;
    let name = |bytes: &[u8]| std::ffi::OsStr::from_bytes(bytes).to_owned();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mesh = mesh();
    for file in [&b"a\xff.ply"[..], b"a\xff.pc2", b"a\xff.obj"] {
        let target = Target::new(directory.path().join(name(file))).expect("a target");
        let mut export = Export::create(&target, &mesh, 1, 60.0).expect("an export");
        export.write_frame(&mesh, [1.0; 2], mesh.positions()).expect("a frame");
        export.finish().expect("a file");
        assert!(directory.path().join(name(file)).is_file());
    }
    let refused = Target::new(directory.path().join(name(b"a\xff.##.ply")));
    assert!(matches!(refused, Err(Error::Pattern { .. })), "{refused:?}");
}
