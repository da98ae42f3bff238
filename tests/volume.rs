//! Closed surfaces that keep a volume.

mod common;

use common::*;
use taut::engine::cpu::Runner;
use taut::engine::lockstep;
use taut::engine::program::{Dispatch, Item, Program};
use taut::solid::{Solid, SolidShape, icosphere};
use taut::stage::volume::enclosed;
use taut::validate::inflated;
use taut::{Cloth, Error, Face, Mesh, MeshDescriptor, Pose, Scene, Settings, Substeps, scene};

const RADIUS: f32 = 0.2;

/// A ball of cloth whose edges may have half to one and a half of their lengths, without weight.
fn ball(subdivisions: u32) -> (Scene, f64) {
    let body = icosphere(RADIUS, subdivisions);
    let mesh = Mesh::new(MeshDescriptor {
        positions: body.positions().to_vec(),
        faces: body.triangles().iter().map(|corners| Face::Triangle(*corners)).collect(),
        ..Default::default()
    });
    let mesh = mesh.unwrap();
    let volume = enclosed(&mesh, mesh.positions());
    let scene = Scene::new("ball", mesh, body.positions().to_vec());
    let settings = Settings {
        volume: Some(volume as f32),
        stretch_min: 0.5,
        stretch_max: 1.5,
        gravity: [0.0; 3],
        substeps: Substeps::Fixed(4),
        ..Default::default()
    };
    (scene.with_settings(settings), volume)
}

/// Two squares of 1 m sewn together along their borders, flat.
fn pillow(size: u32) -> Scene {
    let sheet = scene::sheet(size).unwrap().mesh;
    let border = |v: u32| [v % size, v / size].iter().any(|k| *k == 0 || *k == size - 1);
    let mut positions = sheet.positions().to_vec();
    let mut below: Vec<u32> = Vec::new();
    for v in 0..size * size {
        below.push(if border(v) { v } else { positions.len() as u32 });
        if !border(v) {
            positions.push(sheet.positions()[v as usize]);
        }
    }
    let mut faces = sheet.faces().to_vec();
    for face in sheet.faces() {
        if let Face::Quad([a, b, c, d]) = face {
            // Seen from the other side.
            faces.push(Face::Quad([*d, *c, *b, *a].map(|v| below[v as usize])));
        }
    }
    let mesh = Mesh::new(MeshDescriptor { positions: positions.clone(), faces, ..Default::default() }).unwrap();
    Scene::new("pillow", mesh, positions)
}

fn volume_of(cloth: &Cloth) -> f64 {
    enclosed(cloth.mesh(), &cloth.snapshot().unwrap().positions)
}

#[test]
fn gradients_are_those_of_differences() {
    let (scene, volume) = ball(2);
    assert!((volume / (4.0 / 3.0 * std::f64::consts::PI * f64::from(RADIUS).powi(3)) - 1.0).abs() < 0.1);
    let mut random = Random(2);
    let start: Vec<[f32; 3]> = scene.start.iter().map(|x| x.map(|x| x + random.within(-0.02, 0.02) as f32)).collect();
    let cloth = cpu(Scene { start: start.clone(), ..scene }, Settings { volume: Some(0.03), ..Default::default() });
    let mut fields = cloth.fields().unwrap().clone();
    let kernel = cloth.program().dispatches().into_iter().find(|d| d.kernel.name == "measure_volume").unwrap().kernel;
    fields.get_mut::<u32>("guards").unwrap()[0] = 1;
    let vertices = start.len() as u32;
    let program = Program { items: vec![Item::Dispatch(Dispatch::new(kernel, 0..vertices))] };
    Runner::new(&program, &fields).unwrap().run(&program, &mut fields).unwrap();
    let found = fields.get::<[f32; 4]>("volume_gradients").unwrap();
    let largest = found.iter().flatten().fold(0.0f32, |most, x| most.max(x.abs()));
    // V is linear in every coordinate alone, so a large step has no error but the rounding of f32 places.
    let step = 0.25;
    for v in [0, 3, 17, vertices as usize - 1] {
        for axis in 0..3 {
            let at = |off: f32| {
                let mut moved = start.clone();
                moved[v][axis] += off;
                (enclosed(cloth.mesh(), &moved), f64::from(moved[v][axis]))
            };
            let ((above, high), (below, low)) = (at(step), at(-step));
            let slope = (above - below) / (high - low);
            let off = (f64::from(found[v][axis]) - slope).abs() / f64::from(largest);
            assert!(off < 1e-6, "vertex {v}, axis {axis}: {off:e}");
        }
    }
    let leaves = fields.get::<[f32; 2]>("partials").unwrap();
    let sum: f64 = leaves[..start.len().div_ceil(64)].iter().map(|leaf| f64::from(leaf[0])).sum();
    assert!((sum / enclosed(cloth.mesh(), &start) - 1.0).abs() < 1e-6, "{sum}");
}

/// Pressed from 0.4 m to 0.3 m it keeps its volume in every frame, and is wider.
#[test]
fn a_squeezed_ball_keeps_its_volume() {
    for kept in [true, false] {
        let (mut scene, volume) = ball(2);
        if !kept {
            scene.settings.volume = None;
        }
        let ground = Solid::new(SolidShape::Plane).at([0.0, -RADIUS, 0.0]);
        let ground = Solid { friction: 0.0, sliding_friction: 0.0, ..ground };
        let upside_down = Pose { rotation: [1.0, 0.0, 0.0, 0.0], translation: [0.0, RADIUS, 0.0] };
        let press = Solid { pose: upside_down, velocity: [0.0, -0.2, 0.0], ..ground.clone() };
        scene.solids.extend([ground, press]);
        scene.settings.drag = 5.0;
        let mut cloth = Cloth::on_cpu(scene).unwrap();
        let mut worst: f64 = 0.0;
        for _ in 0..30 {
            cloth.step(&frame(FRAME)).unwrap();
            worst = worst.max((volume_of(&cloth) / volume - 1.0).abs());
        }
        let found = cloth.snapshot().unwrap();
        let most = |axis: usize| found.positions.iter().fold(0.0f32, |most, x| most.max(x[axis].abs()));
        let high = found.positions.iter().fold(f32::MIN, |most, x| most.max(x[1])) + RADIUS;
        println!("kept {kept}: volume off by {worst:e}, {high} m high, {} m wide, {:?}", most(0), found.report.strain);
        assert!(high < 0.305, "{high}");
        assert_eq!(worst <= 1e-3, kept, "{worst}");
        assert!(!kept || most(0) > 1.03 * RADIUS);
    }
}

/// Blown up to twice its volume it goes nowhere and does not turn.
#[test]
fn momentum_is_kept() {
    let (mut scene, volume) = ball(2);
    let mut random = Random(4);
    for x in &mut scene.start {
        *x = x.map(|x| x + random.within(-0.01, 0.01) as f32);
    }
    scene.settings.volume = Some(2.0 * volume as f32);
    let begin = scene.start.clone();
    let mut cloth = Cloth::on_cpu(scene).unwrap();
    for _ in 0..30 {
        cloth.step(&frame(FRAME)).unwrap();
    }
    let found = cloth.snapshot().unwrap();
    // Masses differ by a little from vertex to vertex, and so do their centers.
    let masses = cloth.mesh().masses();
    let weighted = |positions: &[[f32; 3]]| {
        let mut sum = [0.0f64; 3];
        for (x, m) in positions.iter().zip(masses) {
            (0..3).for_each(|k| sum[k] += f64::from(x[k]) * f64::from(*m));
        }
        sum.map(|sum| sum / masses.iter().map(|m| f64::from(*m)).sum::<f64>())
    };
    let (start, end) = (weighted(&begin), weighted(&found.positions));
    println!("{start:?} to {end:?}, volume {}", volume_of(&cloth) / volume);
    assert!((volume_of(&cloth) / volume - 2.0).abs() < 0.01);
    assert!((0..3).all(|k| (start[k] - end[k]).abs() < 1e-5), "{start:?} {end:?}");
}

/// A flat pillow that does not stretch fills itself, and holds its limit.
#[test]
fn a_pillow_fills_itself() {
    let settings = Settings { volume: Some(0.08), gravity: [0.0; 3], drag: 4.0, ..Default::default() };
    let mut cloth = cpu(pillow(11), settings);
    let mut over = 0;
    for _ in 0..90 {
        cloth.step(&frame(FRAME)).unwrap();
        over += u32::from(cloth.snapshot().unwrap().report.converged != Some(true));
    }
    println!("{} m³, {over} frames over", volume_of(&cloth));
    assert_eq!(over, 0);
    assert!((0.07..=0.0805).contains(&volume_of(&cloth)), "{}", volume_of(&cloth));
}

#[test]
fn what_is_not_closed_has_no_volume() {
    let sheet = || scene::sheet(4).unwrap();
    let asked = |volume: f32| Settings { volume: Some(volume), ..Default::default() };
    let refused = |scene: Scene, volume: f32| Cloth::on_cpu(scene.with_settings(asked(volume))).unwrap_err();
    assert!(matches!(refused(sheet(), 0.1), Error::OpenEdge { a: 0, b: 1 }));
    for bad in [-1.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(refused(pillow(4), bad), Error::OutOfRange { field: "volume", .. }));
    }
    assert!(matches!(refused(scene::chain(4).unwrap(), 0.1), Error::Empty { field: "faces" }));
    let mut cloth = cpu(sheet(), Settings::default());
    assert!(cloth.change(|settings| settings.volume = Some(0.1)).is_err());
    assert_eq!(cloth.settings().volume, None);
    let mut cloth = cpu(pillow(4), Settings::default());
    cloth.change(|settings| settings.volume = Some(0.1)).unwrap();
    cloth.step(&frame(FRAME)).unwrap();
}

#[test]
fn volumes_agree() {
    for gpu in gpus() {
        let cloth = inflated(2, Settings::default()).unwrap();
        let mut fields = cloth.fields().unwrap().clone();
        let agreement = lockstep::compare(&gpu, cloth.program(), &mut fields, 500);
        let agreement = agreement.unwrap_or_else(|error| panic!("{}: {error}", name(&gpu)));
        println!("{}: worst {}", name(&gpu), agreement.worst);
        assert!(agreement.kernels.contains(&"inflate") && fields.largest("volume_gradients").unwrap() > 0.0);
    }
}
