//! Cloth lets go of what it touched, and comes to rest.

mod common;

use common::*;
use taut::{
    Cloth, Elasticity, Face, Mesh, MeshDescriptor, Scene, Settings, Solid, SolidShape, Stepping, Substeps, scene,
};

/// A strip of 1.6 m × 8 cm that falls across a ball of radius 0.3 m.
fn strip() -> Scene {
    let (columns, rows) = (61u32, 4u32);
    let position = |row: u32, column: u32| {
        let (x, z) = (column as f32 / (columns - 1) as f32, row as f32 / (rows - 1) as f32);
        [1.6 * (x - 0.5), 0.0, 0.08 * (z - 0.5)]
    };
    let positions: Vec<[f32; 3]> =
        (0..rows).flat_map(|row| (0..columns).map(move |column| position(row, column))).collect();
    let quad = |row: u32, column: u32| {
        let corner = row * columns + column;
        Face::from([corner, corner + columns, corner + columns + 1, corner + 1])
    };
    let faces = (0..rows - 1).flat_map(|row| (0..columns - 1).map(move |column| quad(row, column))).collect();
    let mesh = Mesh::new(MeshDescriptor { positions: positions.clone(), faces, bending: 1e-6, ..Default::default() });
    let mut scene = Scene::new("strip", mesh.expect("the strip is valid"), positions);
    let ball = Solid::new(SolidShape::Sphere { radius: 0.3 }).at([0.0, -0.31, 0.0]);
    scene.solids.push(Solid { thickness: 0.004, ..ball });
    scene.settings.drag = 0.5;
    scene
}

/// Median distance to the ball of what hangs 10 to 25 cm below its equator \[m\].
fn gap(cloth: &Cloth) -> f32 {
    let positions = cloth.snapshot().expect("a state can be read").positions;
    let below = positions.iter().filter(|p| (-0.56..-0.41).contains(&p[1]));
    let mut gaps: Vec<f32> = below.map(|p| cloth.solids()[0].distance(*p)).collect();
    gaps.sort_by(f32::total_cmp);
    gaps.get(gaps.len() / 2).copied().expect("the strip hangs below the equator")
}

fn run(cloth: &mut Cloth, frames: u32) {
    for _ in 0..frames {
        cloth.step(&frame(FRAME)).expect("the step runs");
    }
}

/// Root mean square and largest speed \[m/s\].
fn speeds(cloth: &Cloth) -> (f64, f64) {
    let squares: Vec<f64> = cloth
        .velocities()
        .expect("a state can be read")
        .iter()
        .map(|v| v.iter().map(|x| f64::from(*x).powi(2)).sum())
        .collect();
    let mean = squares.iter().sum::<f64>() / squares.len() as f64;
    (mean.sqrt(), squares.iter().fold(0.0f64, |most, square| most.max(*square)).sqrt())
}

/// A plumb line past the ball is 4.8 cm from it there, in the mean. What is glued stays at the thickness, 4 mm.
#[test]
fn what_hangs_below_a_ball_lets_go_of_it() {
    for (elasticity, damping) in
        [(Elasticity::Explicit, 0.0), (Elasticity::Implicit, 0.0), (Elasticity::Auto, 1e-4), (Elasticity::Auto, 2e-3)]
    {
        let strip = strip();
        let settings = Settings { elasticity, damping, ..strip.settings.clone() };
        let mut cloth = cpu(strip, settings);
        run(&mut cloth, 180);
        let gap = gap(&cloth);
        assert!((0.035..0.075).contains(&gap), "{elasticity:?}, damping {damping} s: {gap} m");
    }
}

#[test]
fn on_a_gpu_it_lets_go_too() {
    let Some(gpu) = gpu() else { return };
    let strip = strip();
    let settings = Settings { damping: 2e-3, ..strip.settings.clone() };
    let mut cloth = Cloth::on_gpu(&gpu, strip.with_settings(settings)).expect("the device works");
    run(&mut cloth, 90);
    let gap = gap(&cloth);
    assert!(gap > 0.03, "{gap} m");
}

/// Elasticity may lift what gravity presses: a bent strip on the floor opens.
#[test]
fn bending_lifts_cloth_off_a_floor() {
    let count = 15u32;
    let positions: Vec<[f32; 3]> =
        (0..4u32).flat_map(|row| (0..count).map(move |x| [0.02 * x as f32, 0.0, 0.02 * row as f32])).collect();
    let quad = |row: u32, x: u32| {
        let corner = row * count + x;
        Face::from([corner, corner + count, corner + count + 1, corner + 1])
    };
    let faces = (0..3).flat_map(|row| (0..count - 1).map(move |x| quad(row, x))).collect();
    // Held at its first two columns along a slope of 1 in 3, stiff enough to stay straight: it leaves the floor.
    let pins: Vec<u32> = (0..4).flat_map(|row| [row * count, row * count + 1]).collect();
    let mesh = Mesh::new(MeshDescriptor { positions, faces, pins, bending: 0.1, ..Default::default() });
    let mesh = mesh.expect("the strip is valid");
    let mut start = mesh.positions().to_vec();
    for row in 0..4 {
        // The second column is up, all others lie.
        let (run, rise) = (0.02 * 0.95f32, 0.02 * 0.3122f32);
        start[row * 15 + 1] = [run, rise, start[row * 15 + 1][2]];
        start[row * 15 + 2] = [2.0 * run, 0.0, start[row * 15 + 2][2]];
        for x in 3..15 {
            start[row * 15 + x][0] = 2.0 * run + 0.02 * (x - 2) as f32;
        }
    }
    let mut scene = Scene::new("lifted", mesh, start);
    scene.solids.push(Solid::new(SolidShape::Plane));
    let mut cloth = cpu(scene, Settings { damping: 0.01, drag: 2.0, ..Default::default() });
    run(&mut cloth, 120);
    let end = cloth.snapshot().expect("no device").positions[2 * 15 - 1];
    assert!(end[1] > 0.05, "it lies where it is held up: {end:?}");
}

/// Ten seconds are enough for every scene with a solid, with its own settings: rms below 1 mm/s, no vertex above 1
/// cm/s, the limit held in every frame, nothing inside.
#[test]
fn draped_cloth_comes_to_rest() {
    for (name, size) in [("drape", 36), ("tablecloth", 36), ("mannequin", 24), ("incline", 36)] {
        let scene = Scene::named(name, size).expect("a known scene");
        let settings = scene.settings.clone();
        let mut cloth = cpu(scene, settings);
        for number in 0..600 {
            cloth.step(&frame(FRAME)).expect("the step runs");
            let snapshot = cloth.snapshot().expect("no device");
            assert_eq!(snapshot.report.converged, Some(true), "{name}, frame {number}: {:?}", snapshot.report);
            let solid = &cloth.solids()[0];
            let deepest = snapshot.positions.iter().map(|p| solid.distance(*p)).fold(f32::MAX, f32::min);
            assert!(deepest > solid.thickness - 1e-5, "{name}, frame {number}: {deepest} m");
        }
        let before = cloth.snapshot().expect("no device").positions;
        let (rms, most) = speeds(&cloth);
        run(&mut cloth, 1);
        let after = cloth.snapshot().expect("no device").positions;
        let moved = before.iter().zip(&after).fold(0.0f64, |most, (a, b)| {
            most.max(a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt())
        });
        assert!(rms < 1e-3 && most < 1e-2, "{name}: rms {rms} m/s, at most {most} m/s");
        assert!(moved * 60.0 < 1e-2, "{name}: {moved} m in a frame");
    }
}

#[test]
fn on_a_gpu_it_comes_to_rest_too() {
    let Some(gpu) = gpu() else { return };
    let drape = scene::drape(14).expect("a known scene");
    let settings = Settings { drag: 2.0, ..drape.settings.clone() };
    let mut cloth = Cloth::on_gpu(&gpu, drape.with_settings(settings)).expect("the device works");
    run(&mut cloth, 300);
    let (rms, most) = speeds(&cloth);
    assert!(rms < 1e-3 && most < 1e-2, "rms {rms} m/s, at most {most} m/s");
}

/// Rest is no glue: what rests falls when its support goes, in the first frame, and what creeps goes on creeping.
#[test]
fn what_rests_wakes_at_once() {
    let mut sheet = scene::sheet(6).expect("a known scene");
    sheet.solids.push(Solid::new(SolidShape::Box { half: [2.0, 0.1, 2.0] }).at([0.5, -0.1, 0.5]));
    let mut cloth = cpu(sheet, Settings::default());
    run(&mut cloth, 60);
    assert!(speeds(&cloth).1 < 1e-4, "it lies still");
    let away = taut::Pose { translation: [0.5, -5.0, 0.5], ..Default::default() };
    cloth.move_solid(0, away, [0.0; 3], [0.0; 3]).expect("a valid pose");
    run(&mut cloth, 30);
    let fallen = -cloth.snapshot().expect("no device").positions[14][1];
    // g t²/2 for half a second, and half a substep ahead.
    assert!((fallen / 1.226 - 1.0).abs() < 0.02, "{fallen} m");
    // A slope that friction does not quite hold: g (sin 1° − 0.017 cos 1°) = 0.0044 m/s², for 4 s, at half of that
    // while slow.
    let (sin, cos) = 0.5f64.to_radians().sin_cos();
    let pose = taut::Pose { rotation: [0.0, 0.0, sin as f32, cos as f32], ..Default::default() };
    let slope = Solid { pose, friction: 0.017, sliding_friction: 0.017, ..Solid::new(SolidShape::Plane) };
    let mut sheet = scene::sheet(4).expect("a known scene");
    let (sin, cos) = 1.0f64.to_radians().sin_cos();
    for position in &mut sheet.start {
        let x = f64::from(position[0]);
        (position[0], position[1]) = ((x * cos) as f32, (x * sin) as f32);
    }
    let first = sheet.start[0][0];
    sheet.solids.push(slope);
    let mut cloth = cpu(sheet, Settings::default());
    run(&mut cloth, 240);
    let slid = first - cloth.snapshot().expect("no device").positions[0][0];
    assert!(slid > 0.01, "{slid} m");
}

/// To be moved to another place is neither motion nor the end of rest, however far.
#[test]
fn a_teleport_does_not_wake() {
    let mut sheet = scene::sheet(6).expect("a known scene");
    sheet.solids.push(Solid::new(SolidShape::Box { half: [9.0, 0.1, 9.0] }).at([0.5, -0.1, 0.5]));
    for way in [1e-4f32, 1.0] {
        let mut cloth = cpu(sheet.clone(), Settings::default());
        run(&mut cloth, 30);
        cloth.teleport(taut::Pose { translation: [way, 0.0, 0.0], ..Default::default() }).expect("a valid pose");
        run(&mut cloth, 1);
        assert!(speeds(&cloth).1 < 1e-4, "{way} m: {:?}", speeds(&cloth));
    }
}

/// A solid that touches nothing changes nothing about BDF2: a pendulum that swings from 90° keeps its energy within 1 %
/// in a second at h = 1/60 s, where Euler loses 28 %.
#[test]
fn bdf2_keeps_its_order_beside_solids() {
    let mut pendulum = scene::chain(2).expect("a known scene");
    pendulum.solids.push(Solid::new(SolidShape::Plane).at([0.0, -5.0, 0.0]));
    let settings = Settings { stepping: Stepping::Bdf2, substeps: Substeps::Fixed(1), ..Default::default() };
    let mut cloth = cpu(pendulum, Settings { strain_limit: 1e-4, ..settings });
    run(&mut cloth, 60);
    let velocity = cloth.velocities().expect("no device")[1].map(f64::from);
    let height = f64::from(cloth.snapshot().expect("no device").positions[1][1]);
    let energy = 0.5 * velocity.iter().map(|x| x * x).sum::<f64>() + 9.81 * height;
    assert!(energy.abs() < 0.01 * 9.81, "{} of m g l", energy / 9.81);
}

/// With contact it steps as Euler does where it must: it lands, stays outside and rests.
#[test]
fn bdf2_lands() {
    let drape = scene::drape(12).expect("a known scene");
    let settings = Settings { stepping: Stepping::Bdf2, drag: 2.0, ..drape.settings.clone() };
    let mut cloth = cpu(drape, settings);
    for number in 0..300 {
        cloth.step(&frame(FRAME)).expect("the step runs");
        let snapshot = cloth.snapshot().expect("no device");
        assert_eq!(snapshot.report.converged, Some(true), "frame {number}: {:?}", snapshot.report);
        let ball = &cloth.solids()[0];
        assert!(snapshot.positions.iter().all(|p| ball.distance(*p) > ball.thickness - 1e-5), "frame {number}");
    }
    let (rms, most) = speeds(&cloth);
    assert!(rms < 2e-3 && most < 2e-2, "rms {rms} m/s, at most {most} m/s");
}
