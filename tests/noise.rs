//! A flat cloth that stands upright stays a plate; a tiny noise bends it; and who may wonder is told.

mod common;

use std::sync::Arc;

use common::{FRAME, cpu, frame};
use taut::scene::{self, Key, Motion, Noise, PinGroup, SolidMotion};
use taut::{Cloth, Error, Hold, Mesh, MeshDescriptor, Pose, Scene, Settings, Solid, SolidShape, Wind};

const SIZE: u32 = 15;
/// Half a second.
const FRAMES: u32 = 30;

fn bits(positions: &[[f32; 3]]) -> Vec<[u32; 3]> {
    positions.iter().map(|position| position.map(f32::to_bits)).collect()
}

/// A sheet of 1 m placed by a function of (along a row, down a column).
fn placed(pins: Vec<u32>, place: impl Fn(f32, f32) -> [f32; 3]) -> Scene {
    let flat = scene::sheet(SIZE).expect("a sheet");
    let positions: Vec<[f32; 3]> = flat.start.iter().map(|[x, _, z]| place(*x, *z)).collect();
    let faces = flat.mesh.faces().to_vec();
    let mesh = Mesh::new(MeshDescriptor { positions, faces, pins, bending: 1e-5, ..Default::default() });
    let mesh = mesh.expect("a mesh");
    let start = mesh.positions().to_vec();
    Scene::new("upright", mesh, start)
}

/// Upright in the XY plane, pinned at a corner: it swings down like a plate.
fn pinned() -> Scene {
    placed(vec![0], |along, down| [along, -down, 0.0])
}

/// Upright above a floor: it falls on its lower edge.
fn dropped() -> Scene {
    let mut scene = placed(Vec::new(), |along, down| [along, -down, 0.3]);
    scene.solids.push(Solid::new(SolidShape::Plane).at([0.0, -1.01, 0.0]));
    scene
}

/// Steps a scene with its script. How far the cloth was from its first plane at most: of normal `n` \[m\].
fn bends(mut cloth: Cloth, scene: &Scene, normal: [f64; 3]) -> f64 {
    let away = |point: &[f32; 3]| point.iter().zip(normal).map(|(x, n)| f64::from(*x) * n).sum::<f64>();
    let plane = away(&scene.start[0]);
    scene.script.begin(&mut cloth).expect("the script begins");
    let mut most: f64 = 0.0;
    for index in 0..FRAMES {
        let time = f64::from(index) / 60.0;
        let pin_targets = scene.script.frame(&mut cloth, time, FRAME).expect("the script is valid");
        cloth.step(&taut::FrameInput { pin_targets: &pin_targets, ..frame(FRAME) }).expect("the step runs");
        let positions = cloth.snapshot().expect("a snapshot").positions;
        most = positions.iter().map(|point| (away(point) - plane).abs()).fold(most, f64::max);
    }
    most
}

#[test]
fn without_noise_an_upright_plate_stays_flat_to_the_last_bit_and_with_it_it_bends() {
    for scene in [pinned(), dropped()] {
        let settings = Settings::default();
        assert!(scene.stays_flat(&settings));
        assert_eq!(bends(cpu(scene.clone(), settings.clone()), &scene, [0.0, 0.0, 1.0]), 0.0);
        for seed in [0, 1, u64::MAX] {
            let noisy = scene.clone().with_noise(Noise { seed, ..Noise::default() }).expect("a small noise");
            assert!(!noisy.stays_flat(&settings));
            let bent = bends(cpu(noisy.clone(), settings.clone()), &noisy, [0.0, 0.0, 1.0]);
            assert!(bent > 0.01, "seed {seed}: {bent} m");
        }
    }
}

#[test]
fn on_an_adapter_it_is_the_same() {
    let Some(gpu) = common::gpu() else { return };
    let on = |scene: &Scene| Cloth::on_gpu(&gpu, scene.clone()).expect("a cloth");
    let scene = pinned();
    assert_eq!(bends(on(&scene), &scene, [0.0, 0.0, 1.0]), 0.0);
    let noisy = scene.with_noise(Noise::default()).expect("a small noise");
    let bent = bends(on(&noisy), &noisy, [0.0, 0.0, 1.0]);
    assert!(bent > 0.01, "{bent} m");
}

/// Every coordinate is moved, by the amplitude at most and half a rounding step; what is held is where it was.
#[test]
fn noise_moves_what_is_free_by_its_amplitude_at_most() {
    let mut scene = scene::hang(12).expect("a scene");
    let mut held = PinGroup::new(&[60, 61], &scene.start).expect("vertices");
    (held.hold, held.until) = (Some(Hold::Fixed), Some(0.5));
    scene.script.pins.push(held);
    let still = [0, 11, 60, 61];
    for amplitude in [1e-7, 1e-5, 1e-3, 0.1 / 11.0 * 0.999] {
        let noisy = scene.clone().with_noise(Noise { amplitude, seed: 3 }).expect("within the range");
        let mut most: f64 = 0.0;
        for (vertex, (before, after)) in scene.start.iter().zip(&noisy.start).enumerate() {
            for (before, after) in before.iter().zip(after) {
                let way = (f64::from(*after) - f64::from(*before)).abs();
                let rounding = 0.5 * f64::from(after.abs().next_up() - after.abs());
                assert!(way <= f64::from(amplitude) + rounding, "vertex {vertex}: {way}");
                assert!(way == 0.0 || !still.contains(&vertex), "vertex {vertex} is held, but moved by {way}");
                most = most.max(way);
            }
        }
        assert!(most > 0.97 * f64::from(amplitude), "{most} of {amplitude}");
        assert!(noisy.mesh == scene.mesh, "the rest shape has no noise");
    }
    // The noise of the others is the same whether a vertex is pinned or not.
    let free = scene::sheet(12).expect("a scene").with_noise(Noise::default()).expect("a small noise");
    let pinned = scene::patch(12).expect("a scene").with_noise(Noise::default()).expect("a small noise");
    assert_eq!(bits(&free.start[1..11]), bits(&pinned.start[1..11]));
    // No amplitude, no noise.
    let none = scene.clone().with_noise(Noise { amplitude: 0.0, seed: 3 }).expect("nothing is little");
    assert_eq!(bits(&none.start), bits(&scene.start));
}

#[test]
fn amplitudes_that_are_none_are_refused() {
    // Edges of a tenth of a metre.
    for amplitude in [-1e-9, 0.011, f32::INFINITY, f32::NAN] {
        let error = scene::sheet(11).expect("a scene").with_noise(Noise { amplitude, seed: 0 }).unwrap_err();
        assert!(matches!(error, Error::OutOfRange { field: "noise.amplitude", .. }), "{error}");
        assert!(error.to_string().ends_with("at least 0 m and at most a tenth of the shortest edge"), "{error}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_everywhere() {
    let noisy = |seed| {
        let scene = scene::sheet(4).expect("a scene").with_noise(Noise { seed, ..Noise::default() });
        bits(&scene.expect("a small noise").start)
    };
    // Computed apart, by another implementation: the first and the last vertex.
    for (seed, first, last) in [
        (0, [0x3700_9e26, 0xb5b7_cd99, 0xb71e_e707], [0x3f80_0047, 0xb6ab_a766, 0x3f7f_ffe2]),
        (7, [0xb613_de38, 0xb722_2392, 0x3706_7914], [0x3f7f_ffc3, 0x3528_f0ce, 0x3f80_0037]),
        (u64::MAX, [0x3704_2f70, 0x370a_71d4, 0xb6bc_40a1], [0x3f7f_ff82, 0xb0d2_9dc7, 0x3f80_003a]),
    ] {
        let start = noisy(seed);
        assert_eq!((start[0], start[15]), (first, last), "seed {seed}");
        assert_eq!(start, noisy(seed));
    }
    let distinct: std::collections::BTreeSet<_> = (0..100).map(noisy).collect();
    assert_eq!(distinct.len(), 100);
}

/// A solid that touches the upright sheet at once: above the floor, behind its middle or through it.
fn with_solid(solid: Solid) -> Scene {
    let mut scene = pinned();
    scene.solids.push(solid);
    scene
}

fn turned(axis: [f32; 3], degrees: f32) -> [f32; 4] {
    let (sin, cos) = (0.5 * degrees.to_radians()).sin_cos();
    [axis[0] * sin, axis[1] * sin, axis[2] * sin, cos]
}

fn motion(translation: [f32; 3], rotation: [f32; 4]) -> Option<Motion> {
    Some(Motion::new(vec![Key { time: 0.2, pose: Pose { rotation, translation } }], false).expect("a motion"))
}

fn led(motion: Option<Motion>) -> Scene {
    let mut scene = pinned();
    let mut group = PinGroup::new(&[0], &scene.start).expect("a pin");
    group.motion = motion;
    scene.script.pins.push(group);
    scene
}

fn blown(velocity: [f32; 3]) -> Scene {
    let mut scene = pinned();
    scene.settings.wind = Some(Wind { velocity, gust: 0.5, ..Default::default() });
    scene
}

/// What is said of each of these scenes is what happens: flat to the bit, or not.
#[test]
fn the_hint_is_given_exactly_where_a_cloth_stays_flat() {
    const Z: [f64; 3] = [0.0, 0.0, 1.0];
    let none = turned([0.0; 3], 0.0);
    let ball = |translation| Solid::new(SolidShape::Sphere { radius: 0.1 }).at(translation);
    let block = |degrees| {
        let block = Solid::new(SolidShape::Box { half: [0.1, 0.05, 0.2] }).at([0.5, -1.06, 0.0]);
        let rotation = turned([0.0, 1.0, 0.0], degrees);
        Solid { pose: Pose { rotation, ..block.pose }, ..block }
    };
    let capsule = |axis: [f32; 3], degrees| {
        let capsule = Solid::new(SolidShape::Capsule { radius: 0.05, half_length: 0.2 }).at([0.5, -1.06, 0.0]);
        Solid { pose: Pose { rotation: turned(axis, degrees), ..capsule.pose }, ..capsule }
    };
    let floor = |axis: [f32; 3], degrees| {
        let floor = Solid::new(SolidShape::Plane).at([0.5, -1.2, 0.0]);
        Solid { pose: Pose { rotation: turned(axis, degrees), ..floor.pose }, ..floor }
    };
    let rolling = |translation| {
        let mut scene = with_solid(ball([0.5, -1.12, 0.0]));
        let solid =
            SolidMotion { solid: 0, start: scene.solids[0].pose, motion: motion(translation, none).expect("a motion") };
        scene.script.solids.push(solid);
        scene
    };
    let held = |hold| {
        let mut scene = pinned();
        let mut group = PinGroup::new(&[SIZE - 1], &scene.start).expect("a vertex");
        group.hold = Some(hold);
        scene.script.pins.push(group);
        scene
    };
    let diagonal = std::f32::consts::FRAC_1_SQRT_2;
    let mut curved = pinned();
    for (vertex, place) in curved.start.iter_mut().enumerate() {
        place[2] = 1e-6 * (vertex % 2) as f32;
    }
    let mut sideways = pinned();
    sideways.settings.gravity = [-9.81, 0.0, 0.0];
    let mut leaning = pinned();
    leaning.settings.gravity = [0.0, -9.81, 0.1];
    for (label, scene, normal, flat) in [
        ("in XY", pinned(), Z, true),
        ("above a floor", dropped(), Z, true),
        ("in YZ", placed(vec![0], |along, down| [0.4, -down, along]), [1.0, 0.0, 0.0], true),
        (
            "at 45°",
            placed(vec![0], |along, down| [diagonal * along, -down, -diagonal * along]),
            [diagonal.into(), 0.0, diagonal.into()],
            true,
        ),
        // Rounding bends it.
        ("at 30°", placed(vec![0], |along, down| [0.8 * along, -down, 0.6 * along]), [-0.6, 0.0, 0.8], false),
        ("flat", scene::curtain(SIZE).expect("a scene"), [0.0, 1.0, 0.0], false),
        ("not quite flat", curved, Z, false),
        ("gravity along it", sideways, Z, true),
        ("gravity across it", leaning, Z, false),
        ("still air", blown([0.0; 3]), Z, true),
        ("wind along it", blown([3.0, 1.0, 0.0]), Z, true),
        ("wind across it", blown([3.0, 1.0, 0.1]), Z, false),
        ("a flag", scene::flag(SIZE).expect("a scene"), Z, false),
        ("a ball below", with_solid(ball([0.5, -1.11, 0.0])), Z, true),
        ("a ball behind", with_solid(ball([0.5, -0.5, -0.09])), Z, false),
        (
            "a ball that spins about an axis across it",
            with_solid(Solid { angular_velocity: [0.0, 0.0, 9.0], ..ball([0.5, -1.1, 0.0]) }),
            Z,
            true,
        ),
        (
            "a ball that rolls across it",
            with_solid(Solid { angular_velocity: [9.0, 0.0, 0.0], ..ball([0.5, -1.1, 0.0]) }),
            Z,
            false,
        ),
        (
            "a ball that comes along it",
            with_solid(Solid { velocity: [0.0, 0.5, 0.0], ..ball([0.5, -1.15, 0.0]) }),
            Z,
            true,
        ),
        (
            "a ball that goes across it",
            with_solid(Solid { velocity: [0.0, 0.5, 0.1], ..ball([0.5, -1.15, 0.0]) }),
            Z,
            false,
        ),
        ("a ball led along it", rolling([0.1, 0.1, 0.0]), Z, true),
        ("a ball led across it", rolling([0.0, 0.1, 0.1]), Z, false),
        ("a block", with_solid(block(0.0)), Z, true),
        ("a block turned", with_solid(block(30.0)), Z, false),
        ("a capsule upright", with_solid(capsule([0.0; 3], 0.0)), Z, true),
        ("a capsule along it", with_solid(capsule([0.0, 0.0, 1.0], 70.0)), Z, true),
        ("a capsule that leans", with_solid(capsule([1.0, 0.0, 0.0], 70.0)), Z, false),
        ("a slope along it", with_solid(floor([0.0, 0.0, 1.0], 20.0)), Z, true),
        ("a slope across it", with_solid(floor([1.0, 0.0, 0.0], 20.0)), Z, false),
        ("a pin led along it", led(motion([0.1, 0.1, 0.0], none)), Z, true),
        ("a pin led across it", led(motion([0.0, 0.1, 0.1], none)), Z, false),
        ("a hold in its plane", held(Hold::Plane { normal: [0.0, 0.0, 2.0] }), Z, true),
        ("a hold on a line along it", held(Hold::Line { direction: [1.0, -1.0, 0.0] }), Z, true),
        ("a hold on a slanted line", held(Hold::Line { direction: [0.0, -1.0, 1.0] }), Z, false),
    ] {
        let settings = scene.settings.clone();
        let bent = bends(cpu(scene.clone(), settings.clone()), &scene, normal);
        // At 45° the distance from the plane is rounded here.
        assert_eq!(bent < 1e-12, flat, "{label} bends by {bent} m");
        assert_eq!(scene.stays_flat(&settings), flat, "{label}");
    }
}

#[test]
fn no_hint_is_given_where_nothing_is_known() {
    let flat = pinned();
    let stage: Arc<dyn taut::stage::Stage> = Arc::new(Nothing);
    assert!(!flat.stays_flat(&Settings { stages: vec![stage], ..Settings::default() }));
    assert!(!flat.stays_flat(&Settings { gravity: [0.0; 3], ..Settings::default() }));
    // A pendulum is meant to stay in its plane.
    let chain = scene::chain(9).expect("a scene");
    assert!(!chain.stays_flat(&chain.settings));
    // No other built-in scene stands upright and still.
    for name in scene::NAMES {
        let scene = Scene::named(name, 9).expect("a scene");
        assert!(!scene.stays_flat(&scene.settings), "{name}");
    }
}

/// A stage that does nothing.
#[derive(Debug)]
struct Nothing;

impl taut::stage::Stage for Nothing {
    fn record(&self, _: &mut taut::stage::Recorder<'_>) {}
}
