//! Wind and drag on faces, and the limit of the triangles' areas: against the formulas, in f64.

mod common;

use common::*;
use taut::{Cloth, Elasticity, Error, Mass, Mesh, MeshDescriptor, Scene, Settings, Stepping, Substeps, Wind, scene};

const NAN: f32 = f32::NAN;
const INFINITY: f32 = f32::INFINITY;

type Vector = [f64; 3];

fn dot(a: Vector, b: Vector) -> f64 {
    a.into_iter().zip(b).map(|(a, b)| a * b).sum()
}

fn length(a: Vector) -> f64 {
    dot(a, a).sqrt()
}

fn wide(a: [f32; 3]) -> Vector {
    a.map(f64::from)
}

/// The formula for a flat sheet of area `area`, its normal along ±y, moving with `velocity`.
fn expected_force(wind: &Wind, area: f64, velocity: Vector) -> Vector {
    let [density, drag, lift] = [wind.density, wind.drag_coefficient, wind.lift_coefficient].map(f64::from);
    let air = wide(wind.velocity);
    let relative: Vector = std::array::from_fn(|axis| air[axis] - velocity[axis]);
    let speed = length(relative);
    let normal = [0.0, relative[1].signum(), 0.0];
    let cosine = dot(relative, normal) / speed;
    std::array::from_fn(|axis| {
        let direction = (drag - lift * cosine) * relative[axis] + lift * speed * normal[axis];
        0.5 * density * area * cosine * speed * direction
    })
}

/// No gravity, one substep per frame.
fn weightless(wind: Wind) -> Settings {
    Settings { wind: Some(wind), gravity: [0.0; 3], substeps: Substeps::Fixed(1), ..Default::default() }
}

/// Sum of the forces on a free cloth \[N\], from what one short frame does to its momentum.
fn net_force(mut cloth: Cloth, dt: f32) -> Vector {
    let momentum = |cloth: &Cloth| {
        let mut sum = [0.0; 3];
        for (velocity, mass) in cloth.velocities().expect("velocities").iter().zip(cloth.mesh().masses()) {
            for (sum, part) in sum.iter_mut().zip(velocity) {
                *sum += f64::from(*part) * f64::from(*mass);
            }
        }
        sum
    };
    let before = momentum(&cloth);
    cloth.step(&frame(dt)).expect("the step runs");
    let after = momentum(&cloth);
    std::array::from_fn(|axis| (after[axis] - before[axis]) / f64::from(dt))
}

fn close(found: Vector, expected: Vector, part: f64) -> bool {
    let error = length(std::array::from_fn(|axis| found[axis] - expected[axis]));
    error <= part * length(expected)
}

/// Kinetic energy in the frame of the air \[J\].
fn energy(cloth: &Cloth, air: [f32; 3]) -> f64 {
    let velocities = cloth.velocities().expect("velocities");
    let one = |(velocity, mass): (&[f32; 3], &f32)| {
        let relative: Vector = std::array::from_fn(|axis| f64::from(velocity[axis]) - f64::from(air[axis]));
        0.5 * f64::from(*mass) * dot(relative, relative)
    };
    velocities.iter().zip(cloth.mesh().masses()).map(one).sum()
}

// --- Wind ---

#[test]
fn a_plate_across_the_wind_feels_its_dynamic_pressure() {
    for velocity in [[0.0, 3.0, 0.0], [0.0, -12.0, 0.0]] {
        for lift in [0.0, 1.0, 3.0] {
            let wind = Wind { velocity, lift_coefficient: lift, ..Default::default() };
            // ½ ρ C_D A v²; the lift plays no part at a right angle.
            let v = f64::from(velocity[1]);
            let expected = [0.0, 0.5 * f64::from(1.2f32) * f64::from(1.2f32) * v * v.abs(), 0.0];
            let found = net_force(cpu(scene::sheet(9).expect("a scene"), weightless(wind)), 1e-3);
            assert!(close(found, expected, 1e-4), "{found:?}, not {expected:?}");
        }
    }
}

#[test]
fn lift_and_drag_of_an_inclined_plate_follow_the_formula() {
    let speed = 6.0 * std::f32::consts::FRAC_1_SQRT_2;
    for (drag, lift) in [(1.2, 0.0), (1.2, 1.0), (0.5, 0.5), (0.3, 2.0)] {
        let wind = Wind {
            velocity: [speed, speed, 0.0],
            drag_coefficient: drag,
            lift_coefficient: lift,
            ..Default::default()
        };
        let expected = expected_force(&wind, 1.0, [0.0; 3]);
        let found = net_force(cpu(scene::sheet(9).expect("a scene"), weightless(wind)), 1e-3);
        assert!(close(found, expected, 1e-4), "{drag} {lift}: {found:?}, not {expected:?}");
        // Along the wind C_D, across it C_L sin 45°.
        let (along, across) = ((found[0] + found[1]) / 2f64.sqrt(), (found[1] - found[0]) / 2f64.sqrt());
        assert!((across / along - f64::from(lift / drag) * 0.5f64.sqrt()).abs() < 1e-3, "{found:?}");
    }
}

#[test]
fn only_motion_relative_to_the_air_counts() {
    let scene = scene::sheet(5).expect("a scene");
    let (air, own) = ([1.0, 4.0, 0.0], [-2.0, 1.0, 0.5]);
    let wind = Wind { velocity: air, ..Default::default() };
    let mut cloth = cpu(scene.clone(), weightless(wind));
    cloth.set_state(&scene.start, &[own; 25]).expect("the state is valid");
    let found = net_force(cloth, 1e-3);
    let expected = expected_force(&wind, 1.0, wide(own));
    assert!(close(found, expected, 1e-3), "{found:?}, not {expected:?}");

    let mut still = cpu(scene.clone(), weightless(wind));
    still.set_state(&scene.start, &[air; 25]).expect("the state is valid");
    still.step(&frame(FRAME)).expect("the step runs");
    for velocity in still.velocities().expect("velocities") {
        assert!(velocity.iter().zip(air).all(|(found, air)| (found - air).abs() < 1e-5), "{velocity:?}");
    }
}

#[test]
fn a_sheet_along_the_wind_feels_nothing() {
    for elasticity in [Elasticity::Explicit, Elasticity::Implicit, Elasticity::Diagonals] {
        let wind = Wind { velocity: [30.0, 0.0, -20.0], gust: 0.5, ..Default::default() };
        let mut cloth = cpu(scene::sheet(9).expect("a scene"), Settings { elasticity, ..weightless(wind) });
        cloth.step(&frame(1e-3)).expect("the step runs");
        let velocities = cloth.velocities().expect("velocities");
        assert!(velocities.iter().flatten().all(|v| v.abs() < 1e-4), "{velocities:?}");
    }
}

/// Two triangles that share the masses as they share the force, so that the sheet stays flat.
fn square() -> Scene {
    let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 1.0]];
    let faces = vec![[0, 2, 1].into(), [0, 3, 2].into()];
    let mesh = Mesh::new(MeshDescriptor { positions, faces, ..Default::default() }).expect("the square is valid");
    let start = mesh.positions().to_vec();
    Scene::new("square", mesh, start)
}

#[test]
fn falling_cloth_reaches_its_terminal_velocity() {
    for (scene, stepping) in
        [(square(), Stepping::Euler), (square(), Stepping::Bdf2), (scene::sheet(9).expect("a scene"), Stepping::Euler)]
    {
        let label = format!("{} {stepping:?}", scene.name);
        let wind = Wind { lift_coefficient: 0.0, ..Default::default() };
        let mut cloth = cpu(scene, Settings { wind: Some(wind), stepping, ..Default::default() });
        // Longer falls leave the flat shape, which is not stable.
        for _ in 0..40 {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        // √(2 m g/(ρ C_D A)) with 0.2 kg on 1 m².
        let expected = -(2.0f64 * 0.2 * 9.81 / (1.2 * 1.2)).sqrt();
        let velocities = cloth.velocities().expect("velocities");
        let momentum = velocities.iter().zip(cloth.mesh().masses()).map(|(v, mass)| f64::from(v[1]) * f64::from(*mass));
        let mean = momentum.sum::<f64>() / 0.2;
        println!("{label}: {mean} m/s, expected {expected}");
        assert!((mean / expected - 1.0).abs() < 0.02, "{label}: {mean}, not {expected}");
    }
}

#[test]
fn free_fall_without_wind_is_unaffected() {
    let fall = |wind: Option<Wind>| {
        let mut cloth = cpu(scene::sheet(9).expect("a scene"), Settings { wind, ..Default::default() });
        for _ in 0..30 {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        cloth
    };
    let free = fall(None);
    assert!(free.program().dispatches().iter().all(|dispatch| dispatch.kernel.name != "blow"));
    for velocity in free.velocities().expect("velocities") {
        assert!((velocity[1] + 9.81 * 0.5).abs() < 1e-3, "{velocity:?}");
    }
    // A wind of no density is no wind, to the bit.
    let vacuum = fall(Some(Wind { density: 0.0, velocity: [5.0, 5.0, 5.0], ..Default::default() }));
    assert!(vacuum.program().dispatches().iter().any(|dispatch| dispatch.kernel.name == "blow"));
    let positions = |cloth: &Cloth| cloth.snapshot().expect("a snapshot").positions;
    assert_eq!(positions(&free), positions(&vacuum));
}

#[test]
fn gusts_come_and_go_with_their_frequency_and_travel_along_their_wave() {
    // A triangle that is pinned everywhere is a meter of force.
    let mut mesh = MeshDescriptor {
        positions: vec![[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.0, 0.3]],
        faces: vec![[0, 2, 1].into()],
        pins: vec![0, 1, 2],
        ..Default::default()
    };
    let force_at = |mesh: &MeshDescriptor, frames: usize, gust_wave: [f32; 3]| {
        let mesh = Mesh::new(mesh.clone()).expect("the triangle is valid");
        let scene = Scene::new("triangle", mesh.clone(), mesh.positions().to_vec());
        let velocity = [0.0, 2.0, 0.0];
        let wind = Wind { velocity, gust: 0.5, gust_frequency: 1.0, gust_wave, ..Default::default() };
        let mut cloth = cpu(scene, weightless(wind));
        for _ in 0..frames {
            cloth.step(&frame(0.125)).expect("the step runs");
        }
        let forces = cloth.pin_forces().expect("forces");
        forces.iter().map(|force| f64::from(force[1])).sum::<f64>()
    };
    let steady = 0.5 * 1.2 * 1.2 * 0.045 * 4.0;
    // s(−t) at t = 0, 1/8, … 1, in parabolas.
    for (frames, s) in (1..).zip([0.0, -0.75, -1.0, -0.75, 0.0, 0.75, 1.0, 0.75, 0.0]) {
        let expected = steady * (1.0f64 + 0.5 * s).powi(2);
        let found = force_at(&mesh, frames, [0.0; 3]);
        assert!((found / expected - 1.0).abs() < 1e-5, "frame {frames}: {found}, not {expected}");
        // The centroid is at x = 0.1 m: 2.5 waves per metre are a quarter of a period, so the gust is there later.
        let expected = steady * (1.0f64 + 0.5 * [1.0, 0.75, 0.0, -0.75, -1.0][(frames - 1) % 5]).powi(2);
        if frames <= 5 {
            let found = force_at(&mesh, frames, [2.5, 0.0, 0.0]);
            assert!((found / expected - 1.0).abs() < 1e-5, "frame {frames}: {found}, not {expected}");
        }
    }
    // A metre further along the wave is 2.5 periods: the opposite.
    mesh.positions.iter_mut().for_each(|position| position[0] += 1.0);
    let found = force_at(&mesh, 1, [2.5, 0.0, 0.0]);
    assert!((found / (0.25 * steady) - 1.0).abs() < 1e-4, "{found}");
}

#[test]
fn gusts_start_again_after_a_reset() {
    let mut cloth = cpu(scene::hang(9).expect("a scene"), windy());
    let run = |cloth: &mut Cloth| {
        for _ in 0..10 {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        cloth.snapshot().expect("a snapshot").positions
    };
    let first = run(&mut cloth);
    cloth.reset().expect("the start is valid");
    assert_eq!(first, run(&mut cloth));
    assert_ne!(first, run(&mut cloth));
}

#[test]
fn faces_without_area_and_air_without_motion_are_harmless() {
    // A line of three vertices as a face, at rest or by its start, and a sheet folded onto a point.
    let mesh = |positions: Vec<[f32; 3]>| {
        let descriptor = MeshDescriptor {
            positions,
            faces: vec![[0, 1, 2].into()],
            mass: Mass::PerVertex(vec![0.1; 3]),
            ..Default::default()
        };
        Mesh::new(descriptor).expect("it is valid")
    };
    let flat = mesh(vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]);
    let line = mesh(vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]);
    let scenes = [
        Scene::new("flat", flat.clone(), vec![[0.0; 3], [0.5, 0.5, 0.0], [1.0, 1.0, 0.0]]),
        Scene::new("point", flat, vec![[0.25; 3]; 3]),
        Scene::new("line", line.clone(), line.positions().to_vec()),
    ];
    for scene in scenes {
        for velocity in [[0.0; 3], [1.0, 2.0, 3.0]] {
            let wind = Wind { velocity, gust: 0.5, ..Default::default() };
            let settings = Settings { area_limit: Some([0.9, 1.1]), ..weightless(wind) };
            let mut cloth = cpu(scene.clone(), settings);
            for _ in 0..3 {
                cloth.step(&frame(FRAME)).expect("the step runs");
                let snapshot = cloth.snapshot().expect("a snapshot");
                assert!(snapshot.positions.iter().flatten().all(|x| x.is_finite()), "{}", scene.name);
                assert!(!snapshot.report.rejected, "{} {velocity:?}", scene.name);
            }
        }
    }
}

#[test]
fn strong_wind_adds_no_energy_at_any_step() {
    for substeps in [1, 2, 8] {
        for (drag, lift) in [(1.2, 0.0), (1.2, 1.0), (0.1, 3.0), (0.0, 2.0)] {
            for stepping in [Stepping::Euler, Stepping::Bdf2] {
                let air = [200.0, 300.0, 100.0];
                let wind = Wind { velocity: air, drag_coefficient: drag, lift_coefficient: lift, ..Default::default() };
                let settings = Settings { substeps: Substeps::Fixed(substeps), stepping, ..weightless(wind) };
                let mut cloth = cpu(scene::sheet(9).expect("a scene"), settings);
                let start = energy(&cloth, air);
                let (mut last, mut highest) = (start, 0.0f64);
                for step in 0..40 {
                    cloth.step(&frame(FRAME)).expect("the step runs");
                    let now = energy(&cloth, air);
                    // The projection has a little freedom within its limit, and BDF2 goes on where Euler stops. It
                    // repeats a part of what lift did in the substep before: where lift is above drag and substeps are
                    // few, the first frames gain (measured: 11 times the energy at the start). Eight substeps gain
                    // nothing.
                    let most = if stepping == Stepping::Euler {
                        1.001 * last + 1e-3 * start
                    } else if lift > drag && substeps < 8 {
                        12.0 * start
                    } else {
                        start
                    };
                    highest = highest.max(now / start);
                    assert!(
                        now <= most,
                        "{substeps} substeps, {drag}, {lift}, {stepping:?}, frame {step}: {last} J, then {now} J"
                    );
                    last = now;
                }
                println!("{substeps} {drag} {lift} {stepping:?}: at most {highest:.3}, in the end {:.3}", last / start);
            }
        }
    }
}

#[test]
fn hanging_cloth_in_a_storm_moves_no_faster_than_the_storm() {
    let air = [0.0, 0.0, 100.0];
    for substeps in [1, 4] {
        let wind = Wind { velocity: air, ..Default::default() };
        let substeps = Substeps::Fixed(substeps);
        let mut cloth =
            cpu(scene::hang(9).expect("a scene"), Settings { wind: Some(wind), substeps, ..Default::default() });
        let mut largest = 0.0f64;
        for _ in 0..120 {
            cloth.step(&frame(FRAME)).expect("the step runs");
            largest = largest.max(energy(&cloth, [0.0; 3]));
        }
        // 0.2 kg at 100 m/s.
        let storm = 0.5 * 0.2 * 1e4;
        println!("{substeps:?}: {largest} J of {storm} J");
        // Measured: 58 and 158 J.
        assert!(largest < 0.25 * storm, "{largest} J, where the air has {storm} J");
        let rest = energy(&cloth, [0.0; 3]);
        assert!(rest < 0.2 * storm, "{rest} J are left after two seconds");
    }
}

#[test]
fn wind_works_with_explicit_and_implicit_springs_alike() {
    let end = |elasticity: Elasticity| {
        let wind = Wind { velocity: [0.0, 0.0, 4.0], ..Default::default() };
        let substeps = Substeps::Fixed(20);
        let settings = Settings { wind: Some(wind), elasticity, substeps, ..Default::default() };
        let mut cloth = cpu(scene::hang(9).expect("a scene"), settings);
        for _ in 0..20 {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        center(&cloth.snapshot().expect("a snapshot").positions)
    };
    let (explicit, implicit) = (end(Elasticity::Explicit), end(Elasticity::Implicit));
    for axis in 0..3 {
        assert!((explicit[axis] - implicit[axis]).abs() < 0.01, "{explicit:?} and {implicit:?}");
    }
}

// --- Areas ---

fn area(corners: &[Vector]) -> f64 {
    let [a, b, c] = [corners[0], corners[1], corners[2]];
    let side = |to: Vector| -> Vector { std::array::from_fn(|axis| to[axis] - a[axis]) };
    let ([p, q, r], [x, y, z]) = (side(b), side(c));
    0.5 * length([q * z - r * y, r * x - p * z, p * y - q * x])
}

/// A sheet pulled to 1.3 of its size whose edges may have half to one and a half of their length, in thick air.
#[test]
fn limited_areas_come_to_rest_nearer_to_the_rest_shape() {
    let run = |area_limit: Option<[f32; 2]>| {
        let mut scene = scene::sheet(9).expect("a scene");
        scene.start.iter_mut().flatten().for_each(|x| *x *= 1.3);
        let settings = Settings {
            area_limit,
            gravity: [0.0; 3],
            drag: 5.0,
            stretch_min: 0.5,
            stretch_max: 1.5,
            ..Default::default()
        };
        let mut cloth = cpu(scene, settings);
        for _ in 0..120 {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        let snapshot = cloth.snapshot().expect("a snapshot");
        assert_eq!(snapshot.report.converged, Some(true), "{area_limit:?}");
        let corners: Vec<Vector> = snapshot.positions.iter().copied().map(wide).collect();
        let parts = cloth.mesh().triangles().into_iter().map(|triangle| area(&triangle.map(|v| corners[v as usize])));
        let most = parts.fold(0.0f64, |most, area| most.max((128.0 * area - 1.0).abs()));
        (snapshot.positions, most, energy(&cloth, [0.0; 3]))
    };
    let (free, most, _) = run(None);
    let (wide_band, _, _) = run(Some([0.0, 1e6]));
    assert_eq!(free, wide_band, "a band that nothing leaves changes no bit");
    let (_, held, energy) = run(Some([0.0, 1.1]));
    println!("areas differ by {most} from rest, limited by {held}, {energy} J");
    // One pass per substep, behind the projection, does not reach the 1.1: the largest is 1.22, and 1.58 without it.
    assert!(held < 0.4 * most, "areas differ by {most} from rest, limited by {held}");
    assert!(energy < 1e-3, "{energy} J");
}

#[test]
fn edges_hold_their_limit_whatever_the_areas_want() {
    let settings = Settings { area_limit: Some([0.99, 1.01]), gravity: [20.0, 0.0, 20.0], ..Default::default() };
    let mut cloth = cpu(scene::curtain(9).expect("a scene"), settings);
    let shift =
        |cloth: &Cloth| cloth.fields().expect("the cloth is on the CPU").largest("area_shifts").expect("a field");
    let mut most = 0.0f32;
    for _ in 0..30 {
        cloth.step(&frame(FRAME)).expect("the step runs");
        assert_eq!(cloth.snapshot().expect("a snapshot").report.converged, Some(true));
        most = most.max(shift(&cloth));
    }
    assert!(most > 1e-5, "no area was limited: {most} m");
}

// --- Bad input ---

#[test]
fn bad_wind_and_bad_areas_are_refused_by_name() {
    type Set = fn(&mut Wind, f32);
    let table: [(&str, Option<usize>, &[f32], Set); 7] = [
        ("wind.velocity", Some(1), &[NAN, INFINITY, -INFINITY, 1e5], |wind, x| wind.velocity[1] = x),
        ("wind.density", None, &[NAN, -1.0, INFINITY, 1e5], |wind, x| wind.density = x),
        ("wind.drag_coefficient", None, &[NAN, -0.1, INFINITY, 1e4], |wind, x| wind.drag_coefficient = x),
        ("wind.lift_coefficient", None, &[NAN, -0.1, INFINITY, 1e4], |wind, x| wind.lift_coefficient = x),
        ("wind.gust", None, &[NAN, -0.5, INFINITY, 1e3], |wind, x| wind.gust = x),
        ("wind.gust_wave", Some(2), &[NAN, INFINITY, 1e7], |wind, x| wind.gust_wave[2] = x),
        ("wind.gust_frequency", None, &[NAN, INFINITY, -1e7], |wind, x| wind.gust_frequency = x),
    ];
    let refused = |settings: Settings, name: &str, place: Option<usize>, bad: f32| match Cloth::on_cpu(
        scene::hang(5).expect("a scene").with_settings(settings),
    ) {
        Err(Error::OutOfRange { field, index, value, .. }) => {
            assert_eq!((field, index), (name, place));
            assert!(value == f64::from(bad) || (value.is_nan() && bad.is_nan()), "{value}, not {bad}");
        }
        other => panic!("{name} = {bad} gave {other:?}"),
    };
    for (name, place, values, set) in table {
        for bad in values {
            let mut wind = Wind::default();
            set(&mut wind, *bad);
            refused(Settings { wind: Some(wind), ..Default::default() }, name, place, *bad);
        }
    }
    for bad in [NAN, -0.1, 1.1, INFINITY] {
        refused(Settings { area_limit: Some([bad, 1.1]), ..Default::default() }, "area_limit", Some(0), bad);
    }
    for bad in [NAN, 0.9, -1.0, 2e6, INFINITY] {
        refused(Settings { area_limit: Some([0.9, bad]), ..Default::default() }, "area_limit", Some(1), bad);
    }
    // The ends of the ranges are accepted, and run.
    let wind = Wind {
        velocity: [1e4, -1e4, 0.0],
        density: 1e4,
        drag_coefficient: 1e3,
        lift_coefficient: 1e3,
        gust: 100.0,
        gust_wave: [1e6; 3],
        gust_frequency: -1e6,
    };
    for area_limit in [Some([0.0, 1.0]), Some([1.0, 1e6])] {
        let settings = Settings { wind: Some(wind), area_limit, ..Default::default() };
        let mut cloth =
            Cloth::on_cpu(scene::hang(5).expect("a scene").with_settings(settings)).expect("it is in range");
        cloth.step(&frame(FRAME)).expect("the step runs");
        assert!(cloth.velocities().expect("velocities").iter().flatten().all(|x| x.is_finite()));
    }
}

#[test]
fn a_mesh_without_faces_has_neither_wind_nor_areas() {
    let cloth = cpu(scene::chain(9).expect("a scene"), windy());
    let kernels: Vec<&str> = cloth.program().dispatches().iter().map(|dispatch| dispatch.kernel.name).collect();
    assert!(!kernels.contains(&"blow") && !kernels.contains(&"limit_area"), "{kernels:?}");
}
