//! What must hold whatever bytes a file has. One function per kind of file, shared by the fuzz targets and by
//! `tests/corpus.rs`, which replays the files that fuzzing kept.
#![allow(dead_code, reason = "every fuzz target uses its own part of it")]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::OnceLock;

use taut::engine::checksum::Checksum;
use taut::io::import::{self, Format, Imported, Options, Warp};
use taut::scene::SceneFile;
use taut::scene::file::Limits;
use taut::{
    Auto, Cloth, Error, Face, FastProjection, FrameInput, Hold, Mesh, Method, Scene, Settings, Solid, SolidShape,
    Substeps, Topology, Wind, YarnSweep,
};

/// What is larger is checked, but not simulated: a run is to take milliseconds.
const SIMULATED: usize = 64;
const FRAME: f32 = 1.0 / 60.0;

pub(crate) fn obj(bytes: &[u8]) {
    mesh(bytes, Format::Obj);
}

pub(crate) fn ply(bytes: &[u8]) {
    mesh(bytes, Format::Ply);
}

pub(crate) fn glb(bytes: &[u8]) {
    mesh(bytes, Format::Glb);
}

fn mesh(bytes: &[u8], format: Format) {
    let plain = Options { most_vertices: 1 << 12, most_faces: 1 << 13, ..Default::default() };
    let eager = Options { weld: Some(1e-3), pair_triangles: true, warp: Warp::Sides, scale: 0.01, ..plain.clone() };
    for options in [plain, eager] {
        match import::parse(bytes, format, &options) {
            Ok(imported) => accepted(imported, &options),
            Err(error) => {
                assert!(matches!(error, Error::Import { path: None, .. }), "{error:?}");
                fit_to_print(&error);
            }
        }
    }
}

/// A mesh that was read is whole, consistent and finite, and hangs by its first vertex.
fn accepted(imported: Imported, options: &Options) {
    let Imported { descriptor, render, colors, particles, report, .. } = imported;
    let count = descriptor.positions.len();
    assert!(report.vertices <= options.most_vertices && report.faces + report.lines <= options.most_faces);
    assert_eq!((report.particles, report.vertices), (count, particles.len()));
    assert_eq!(report.vertices, report.particles + report.welded + report.loose);
    assert_eq!((report.faces, report.lines), (descriptor.faces.len(), descriptor.lines.len()));
    assert!(particles.iter().flatten().all(|particle| (*particle as usize) < count));
    assert!(descriptor.groups.values().flatten().all(|member| (*member as usize) < count));
    assert!(descriptor.positions.iter().flatten().all(|x| x.is_finite()));
    assert!(colors.iter().flatten().flatten().all(|x| x.is_finite()));
    assert!(colors.as_ref().is_none_or(|colors| colors.len() == count));
    assert!(render.uvs.iter().flatten().all(|x| x.is_finite()));
    assert_eq!(render.uvs.len(), if report.textured { render.particle_of.len() } else { 0 });
    let follow = |vertices: &[u32]| vertices.iter().map(|v| render.particle_of[*v as usize]).collect::<Vec<_>>();
    assert_eq!(render.faces.len(), descriptor.faces.len());
    for (drawn, face) in render.faces.iter().zip(&descriptor.faces) {
        assert_eq!(follow(drawn.vertices()), face.vertices());
    }
    let quads = descriptor.faces.iter().filter(|face| matches!(face, Face::Quad(_))).count();
    assert_eq!((report.quads, render.triangles.len()), (quads, report.faces + quads));

    let start = descriptor.positions.clone();
    let mut descriptor = descriptor;
    descriptor.pins = vec![0];
    let mesh = Mesh::new(descriptor).expect("what was read is accepted");
    whole(&mesh);
    if mesh.vertex_count() <= SIMULATED && mesh.edge_count() <= 4 * SIMULATED {
        moves(Scene::new("imported", mesh, start));
    }
}

pub(crate) fn scene(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let limits = Limits { bytes: 1 << 16, vertices: 256, cloths: 4, solids: 4, pins: 8, grid_bytes: 1 << 16 };
    let read = |text: &str| SceneFile::parse_within(text, "scene.toml", None, limits);
    let refused = |error: Error| {
        assert!(matches!(error, Error::SceneFile { .. }), "{error:?}");
        fit_to_print(&error);
    };
    let file = match read(text) {
        Ok(file) => file,
        Err(error) => return refused(error),
    };
    assert!(!file.name().chars().any(char::is_control));
    let output = &file.output;
    for name in output.out.iter().chain(&output.export).chain(&output.render) {
        assert!(file.output_path(name).is_err(), "a scene without a folder writes nothing");
    }
    // What is written is read as the same. A limit of bytes may be between the two.
    let written = file.to_toml();
    let again = (written.len() as u64 <= limits.bytes).then(|| read(&written).expect("what was written can be read"));
    if let Some(again) = &again {
        assert_eq!(again.to_toml(), written);
    }
    let scene = match file.scene() {
        Ok(scene) => scene,
        Err(error) => return refused(error),
    };
    if let Some(again) = again {
        let again = again.scene().expect("what was written makes a scene");
        assert_eq!((&again.mesh, &again.start), (&scene.mesh, &scene.start));
        assert_eq!(again.solids.len(), scene.solids.len());
    }
    whole(&scene.mesh);
    assert!(scene.mesh.vertex_count() <= limits.vertices as usize && scene.solids.len() <= limits.solids as usize);
    assert_eq!(scene.start.len(), scene.mesh.vertex_count());
    assert!(scene.start.iter().flatten().all(|x| x.is_finite()));
    if scene.mesh.vertex_count() <= SIMULATED && scene.mesh.edge_count() <= 4 * SIMULATED {
        moves(scene);
    }
}

/// Bytes as they are, and with the checksum that they would need.
pub(crate) fn checkpoint(bytes: &[u8]) {
    restored(bytes);
    if let Some((content, _)) = bytes.split_last_chunk::<8>() {
        restored(&signed(content));
    }
}

/// A good checkpoint some words of which were exchanged: two bytes say which, four what for.
pub(crate) fn forged(bytes: &[u8]) {
    let mut content = good_checkpoint().to_vec();
    content.truncate(content.len() - 8);
    let words = content.len() / 4;
    let mut patches = bytes;
    while let Some((patch, rest)) = patches.split_first_chunk::<6>() {
        patches = rest;
        let [low, high, word @ ..] = *patch;
        let at = 4 * (u16::from_le_bytes([low, high]) as usize % words);
        content[at..at + 4].copy_from_slice(&word);
    }
    restored(&signed(&content));
}

/// Content with its checksum.
fn signed(content: &[u8]) -> Vec<u8> {
    let mut checksum = Checksum::default();
    checksum.add(content);
    [content, &checksum.value().to_le_bytes()].concat()
}

/// A cloth whose checkpoint has something of everything: pins, a hold, wind, a solid that moves.
fn saved_cloth() -> Cloth {
    let mut scene = taut::scene::hang(3).expect("a known scene");
    let ball = Solid::new(SolidShape::Sphere { radius: 0.2 }).at([0.5, -0.5, 0.5]);
    scene.solids.push(Solid { velocity: [0.1, 0.0, 0.0], angular_velocity: [0.0, 1.0, 0.0], ..ball });
    let wind = Some(Wind { velocity: [1.0, 0.0, 2.0], gust: 0.3, ..Default::default() });
    // What is forged uses up every bound: small ones keep a run short.
    let sweep = YarnSweep { sweeps: 8, ..Default::default() };
    let projection = FastProjection { iterations: 4, inner_iterations: Some(8), ..Default::default() };
    let method = Method::Auto(Auto { sweep, projection });
    let (substeps, contact_rounds) = (Substeps::UpTo(4), 2);
    let settings = Settings { wind, method, substeps, contact_rounds, ..Default::default() };
    Cloth::on_cpu(scene.with_settings(settings)).expect("the scene is valid")
}

/// The checkpoint that corpora of checkpoints start from.
pub(crate) fn good_checkpoint() -> &'static [u8] {
    static SAVED: OnceLock<Vec<u8>> = OnceLock::new();
    SAVED.get_or_init(|| {
        let mut cloth = saved_cloth();
        cloth.hold(&[8], Hold::Fixed).expect("there is such a vertex");
        for _ in 0..2 {
            cloth.step(&FrameInput { dt: FRAME, ..Default::default() }).expect("the frame is valid");
        }
        cloth.checkpoint().expect("nothing waits")
    })
}

/// A checkpoint is refused and changes nothing, or is taken over and goes on finite.
fn restored(bytes: &[u8]) {
    thread_local! {
        // To make a cloth takes longer than all that is done with it here.
        static FRESH: RefCell<Option<(Cloth, Vec<u8>)>> = const { RefCell::new(None) };
    }
    let made = || {
        let cloth = saved_cloth();
        let saved = cloth.checkpoint().expect("nothing waits");
        (cloth, saved)
    };
    let (mut cloth, before) = FRESH.take().unwrap_or_else(made);
    if let Err(error) = cloth.restore(bytes) {
        assert!(matches!(error, Error::Checkpoint { .. }), "{error:?}");
        fit_to_print(&error);
        assert!(cloth.checkpoint().expect("nothing waits") == before, "a refused checkpoint changes nothing");
    } else {
        finite(&cloth);
        assert!(cloth.checkpoint().expect("nothing waits") == bytes, "what was restored is what is saved");
        for _ in 0..2 {
            if let Err(error) = cloth.step(&FrameInput { dt: FRAME, ..Default::default() }) {
                fit_to_print(&error);
            }
            finite(&cloth);
        }
        cloth.restore(&before).expect("it is its own");
    }
    FRESH.set(Some((cloth, before)));
}

/// What a mesh tells of itself is finite and within its vertices.
fn whole(mesh: &Mesh) {
    let count = mesh.vertex_count();
    let inside = |vertex: u32| (vertex as usize) < count;
    assert!(mesh.masses().iter().all(|mass| mass.is_finite() && *mass > 0.0));
    assert!(mesh.inverse_masses().iter().all(|inverse| inverse.is_finite() && *inverse >= 0.0));
    for link in mesh.edges().iter().chain(mesh.springs()) {
        assert!(inside(link.tail) && inside(link.head) && link.tail != link.head, "{link:?}");
        assert!(link.rest.is_finite() && link.rest > 0.0 && link.stiffness.is_finite(), "{link:?}");
    }
    assert!(mesh.triangles().iter().flatten().all(|vertex| inside(*vertex)));
    woven(mesh);
}

/// Every edge is in one yarn, no yarn meets itself but where it closes, and no other yarn of its family.
fn woven(mesh: &Mesh) {
    let Topology { yarns, .. } = Topology::new(mesh);
    let mut canonical = yarns.canonical.clone();
    canonical.sort_unstable();
    assert!(canonical.into_iter().eq(0..mesh.edge_count() as u32), "an edge is in no yarn, or in two");
    for family in &yarns.families {
        let mut met = BTreeSet::new();
        for yarn in &yarns.yarns[family.start as usize..family.end as usize] {
            let edges = &yarns.edges[yarn.edges.start as usize..yarn.edges.end as usize];
            assert!(edges.windows(2).all(|pair| pair[0].head == pair[1].tail), "a yarn is torn");
            let first = edges[0].tail;
            assert_eq!(yarn.closed, edges[edges.len() - 1].head == first);
            let heads = edges.iter().map(|edge| edge.head).filter(|head| *head != first);
            assert_eq!(heads.clone().count() + usize::from(yarn.closed), edges.len(), "a yarn passes its start");
            assert!(heads.chain([first]).all(|vertex| met.insert(vertex)), "a yarn is crossed within its family");
        }
    }
}

/// A scene becomes a cloth, unless it is refused, and stays finite for two frames. Its own world, with the solver left
/// to the library and few substeps: a file may ask for a million of them.
fn moves(scene: Scene) {
    let script = scene.script.clone();
    let settings = Settings {
        method: Method::default(),
        substeps: Substeps::UpTo(4),
        contact_rounds: 4,
        strain_limit: 0.1,
        ..scene.settings.clone()
    };
    let cloth =
        Cloth::on_cpu(scene.with_settings(settings)).and_then(|mut cloth| script.begin(&mut cloth).map(|()| cloth));
    let mut cloth = match cloth {
        Ok(cloth) => cloth,
        Err(error) => return fit_to_print(&error),
    };
    for frame in 0..2 {
        let targets = script.frame(&mut cloth, f64::from(frame) * f64::from(FRAME), FRAME);
        let outcome = targets.and_then(|targets| cloth.step(&FrameInput { dt: FRAME, pin_targets: &targets }));
        if let Err(error) = outcome {
            fit_to_print(&error);
        }
        finite(&cloth);
    }
}

/// Nothing that a cloth shows is anything but finite.
fn finite(cloth: &Cloth) {
    let snapshot = cloth.snapshot().expect("the CPU does not fail");
    assert!(snapshot.positions.iter().flatten().all(|x| x.is_finite()), "positions");
    let lists = [
        ("velocities", cloth.velocities()),
        ("forces on pins", cloth.pin_forces()),
        ("forces of constraints", cloth.constraint_forces()),
    ];
    for (what, list) in lists {
        assert!(list.expect("the CPU does not fail").iter().flatten().all(|x| x.is_finite()), "{what}");
    }
    let fields = cloth.fields().expect("it is on the CPU");
    let normals = fields.get::<[f32; 4]>("normals").expect("a field of every cloth");
    assert!(normals.iter().flatten().all(|x| x.is_finite()), "normals");
    assert!(cloth.solids().iter().flat_map(|solid| solid.pose.translation).all(|x| x.is_finite()), "solids");
}

/// Messages go to terminals: what strangers wrote must not move the cursor there, nor fill them.
fn fit_to_print(error: &Error) {
    let message = error.to_string();
    assert!(message.len() <= 2000 && !message.chars().any(char::is_control), "{message:?}");
}
