//! The motion is right, not only the strain: analytic answers, rest, forces, momentum.

mod common;

use common::*;
use taut::{
    Cloth, Elasticity, FastProjection, FrameInput, GaussSeidel, Hold, Mass, Mesh, MeshDescriptor, Method, PinTarget,
    Pose, Scene, Settings, Stepping, Substeps, scene,
};

const G: f64 = 9.81;

/// A chain of equal edges through the given points; masses in kg.
fn rope(points: &[[f32; 3]], masses: Vec<f32>, pins: Vec<u32>, edge: f32) -> Scene {
    let lines: Vec<[u32; 2]> = (1..points.len() as u32).map(|k| [k - 1, k]).collect();
    // The rest shape is a straight line: only its lengths matter.
    let positions = (0..points.len()).map(|k| [k as f32 * edge, 0.0, 0.0]).collect();
    let descriptor = MeshDescriptor { positions, lines, mass: Mass::PerVertex(masses), pins, ..Default::default() };
    Scene::new("rope", Mesh::new(descriptor).unwrap(), points.to_vec())
}

#[test]
fn free_fall_with_a_thousand_substeps() {
    let settings = Settings { substeps: Substeps::Fixed(1000), ..Default::default() };
    let mut cloth = cpu(scene::sheet(6).unwrap(), settings);
    for _ in 0..30 {
        cloth.step(&frame(FRAME)).unwrap();
    }
    let [x, y, z] = center(&cloth.snapshot().unwrap().positions);
    // Semi-implicit Euler falls g h² n(n+1)/2; f32 engines that form (x_new − x)/h stall here.
    let expected = -0.5 * G * 0.25 * (1.0 + 1.0 / 30_000.0);
    // 0.1 %: each substep adds 1/30,000 of the speed to it, and that sum is rounded to 24 bits (2e-4 in all).
    assert!((y / expected - 1.0).abs() < 1e-3, "{y} instead of {expected}");
    assert!((x - 0.5).abs() < 1e-6 && (z - 0.5).abs() < 1e-6, "{x} {z}");
}

#[test]
fn the_lowest_point_comes_at_the_same_time_at_any_step() {
    // A curtain is lowest after about 0.48 s; an engine that stalls at small steps is late.
    let lowest = |substeps: u32| {
        let mut cloth =
            cpu(scene::curtain(8).unwrap(), Settings { substeps: Substeps::Fixed(substeps), ..Default::default() });
        let heights: Vec<f64> = (0..42)
            .map(|_| {
                cloth.step(&frame(FRAME)).unwrap();
                center(&cloth.snapshot().unwrap().positions)[1]
            })
            .collect();
        let least = (0..heights.len()).min_by(|a, b| heights[*a].total_cmp(&heights[*b])).unwrap();
        (least + 1) as f64 / 60.0
    };
    let (coarse, fine) = (lowest(8), lowest(1000));
    assert!((0.43..=0.53).contains(&fine), "lowest at {fine} s");
    assert!((coarse - fine).abs() <= 1.5 / 60.0, "{coarse} s at 8 substeps, {fine} s at 1000");
}

/// A curtain that hangs straight down, settled with drag where the solver has a sag of its own.
fn resting_curtain(method: Method, substeps: u32) -> Cloth {
    let settles = !matches!(method, Method::FastProjection(_));
    let scene = scene::curtain(16).unwrap();
    let straight: Vec<[f32; 3]> = scene.start.iter().map(|[x, _, z]| [*x, -z, 0.0]).collect();
    let mut cloth = cpu(scene, Settings { substeps: Substeps::Fixed(substeps), method, ..Default::default() });
    cloth.set_state(&straight, &vec![[0.0; 3]; straight.len()]).unwrap();
    if settles {
        cloth.change(|settings| settings.drag = 4.0).unwrap();
        for _ in 0..(240.min(24_000 / substeps)) {
            cloth.step(&frame(FRAME)).unwrap();
        }
        cloth.change(|settings| settings.drag = 0.0).unwrap();
    }
    cloth
}

fn stays_at_rest(method: Method, substeps: u32) {
    let mut cloth = resting_curtain(method, substeps);
    let name = cloth.settings().method.solver().name();
    let weight: f64 = cloth.mesh().masses().iter().map(|m| f64::from(*m) * G).sum();
    for number in 0..60 {
        cloth.step(&frame(FRAME)).unwrap();
        let velocities = cloth.velocities().unwrap();
        let squared: f64 = velocities.iter().flatten().map(|x| f64::from(*x).powi(2)).sum();
        let rms = (squared / velocities.len() as f64).sqrt();
        assert!(rms < 1e-3, "{name}, {substeps} substeps, frame {number}: rms speed {rms} m/s");
        let force: f64 = cloth.pin_forces().unwrap().iter().map(|[_, y, _]| f64::from(-y)).sum();
        let error = (force / weight - 1.0).abs();
        assert!(error < 0.01, "{name}, {substeps} substeps, frame {number}: {force} N for a weight of {weight} N");
    }
}

#[test]
fn fast_projection_rests() {
    for substeps in [8, 32, 1000] {
        stays_at_rest(Method::FastProjection(FastProjection::default()), substeps);
    }
}

#[test]
fn gauss_seidel_rests() {
    for substeps in [8, 32, 1000] {
        stays_at_rest(Method::named("gauss-seidel").unwrap(), substeps);
    }
}

#[test]
fn jacobi_rests() {
    for substeps in [8, 32, 1000] {
        stays_at_rest(Method::named("jacobi").unwrap(), substeps);
    }
}

#[test]
fn momentum_is_kept_without_pins() {
    for method in [Method::default(), Method::GaussSeidel(GaussSeidel::default())] {
        let scene = scene::sheet(8).unwrap();
        let masses: Vec<f64> = scene.mesh.masses().iter().map(|m| f64::from(*m)).collect();
        let start = scene.start.clone();
        let settings = Settings { gravity: [0.0; 3], substeps: Substeps::Fixed(8), method, ..Default::default() };
        let mut cloth = cpu(scene, settings);
        let wild: Vec<[f32; 3]> =
            (0..64).map(|k| [(k as f32 * 1.3).sin(), (k as f32 * 2.1).cos(), (k as f32 * 0.7).sin()]).collect();
        cloth.set_state(&start, &wild).unwrap();
        let momentum = |velocities: &[[f32; 3]]| -> [f64; 3] {
            [0, 1, 2].map(|i| velocities.iter().zip(&masses).map(|(v, m)| m * f64::from(v[i])).sum())
        };
        let before = momentum(&wild);
        for _ in 0..10 {
            cloth.step(&frame(FRAME)).unwrap();
        }
        let after = momentum(&cloth.velocities().unwrap());
        // All speeds are about 1 m/s, so the scale is the total mass of 0.2 kg.
        for (before, after) in before.iter().zip(after) {
            assert!((before - after).abs() < 0.2 * 1e-5, "{before} became {after}");
        }
    }
}

#[test]
fn driven_pins_arrive_exactly_and_in_equal_parts() {
    let mut cloth = cpu(scene::hang(9).unwrap(), Settings { substeps: Substeps::Fixed(8), ..Default::default() });
    let pins = cloth.mesh().pins().to_vec();
    let resting = cloth.snapshot().unwrap().positions[pins[1] as usize];
    for number in 1..=20 {
        let position = [0.005 + 0.01 * number as f32, (0.3 * number as f32).sin() * 0.05, 0.0];
        let targets = [PinTarget { vertex: pins[0], position }];
        cloth.step(&FrameInput { dt: FRAME, pin_targets: &targets }).unwrap();
        let snapshot = cloth.snapshot().unwrap();
        assert_eq!(snapshot.positions[pins[0] as usize].map(f32::to_bits), position.map(f32::to_bits));
        assert_eq!(snapshot.positions[pins[1] as usize].map(f32::to_bits), resting.map(f32::to_bits));
        assert_eq!(snapshot.report.converged, Some(true), "frame {number}: {:?}", snapshot.report);
    }
    // The pin's velocity is the way of one substep over its length: 0.01 m per frame sideways.
    let speed = cloth.velocities().unwrap()[pins[0] as usize][0];
    assert!((speed - 0.6).abs() < 1e-4, "{speed} m/s");
    // Without a target it stays where it is, bit for bit.
    let there = cloth.snapshot().unwrap().positions[pins[0] as usize];
    cloth.step(&frame(FRAME)).unwrap();
    assert_eq!(cloth.snapshot().unwrap().positions[pins[0] as usize].map(f32::to_bits), there.map(f32::to_bits));
}

#[test]
fn teleport_does_not_whip() {
    let settings = || Settings { substeps: Substeps::Fixed(8), ..Default::default() };
    let mut still = cpu(scene::hang(9).unwrap(), settings());
    let mut moved = cpu(scene::hang(9).unwrap(), settings());
    let translation = [3.0, 1.0, -2.0];
    for number in 0..20 {
        if number == 10 {
            // Half a turn about y, then away.
            moved.teleport(Pose { rotation: [0.0, 1.0, 0.0, 0.0], translation }).unwrap();
        }
        still.step(&frame(FRAME)).unwrap();
        moved.step(&frame(FRAME)).unwrap();
    }
    let expected: Vec<[f32; 3]> = still
        .snapshot()
        .unwrap()
        .positions
        .iter()
        .map(|[x, y, z]| [translation[0] - x, translation[1] + y, translation[2] - z])
        .collect();
    for (expected, found) in expected.iter().zip(moved.snapshot().unwrap().positions) {
        for (a, b) in expected.iter().zip(found) {
            // Gravity is along the axis, so the motion is the same up to rounding at |x| = 3 m, amplified by swinging.
            assert!((a - b).abs() < 1e-3, "{expected:?} {found:?}");
        }
    }
    assert_eq!(moved.snapshot().unwrap().report.converged, Some(true));
}

#[test]
fn an_impulse_changes_momentum_by_itself() {
    let settings = Settings { gravity: [0.0; 3], substeps: Substeps::Fixed(8), ..Default::default() };
    let mut cloth = cpu(scene::sheet(6).unwrap(), settings);
    cloth.add_impulse(7, [0.001, 0.002, 0.0]).unwrap();
    cloth.add_impulse(7, [0.0, 0.0, 0.003]).unwrap();
    cloth.step(&frame(FRAME)).unwrap();
    cloth.step(&frame(FRAME)).unwrap();
    let masses = cloth.mesh().masses().to_vec();
    let velocities = cloth.velocities().unwrap();
    for (axis, expected) in [0.001, 0.002, 0.003].into_iter().enumerate() {
        let momentum: f64 = velocities.iter().zip(&masses).map(|(v, m)| f64::from(v[axis]) * f64::from(*m)).sum();
        assert!((momentum - expected).abs() < 1e-7, "axis {axis}: {momentum} instead of {expected} N·s");
    }
}

#[test]
fn reset_repeats_the_run_bit_for_bit() {
    let mut cloth = cpu(scene::hang(9).unwrap(), Settings::default());
    let mut run = || {
        for _ in 0..20 {
            cloth.step(&frame(FRAME)).unwrap();
        }
        let positions = cloth.snapshot().unwrap().positions;
        cloth.reset().unwrap();
        positions
    };
    let (first, second) = (run(), run());
    assert_eq!(first, second);
}

#[test]
fn drag_slows_free_fall_to_its_terminal_speed() {
    let settings = Settings { drag: 4.0, substeps: Substeps::Fixed(4), ..Default::default() };
    let mut cloth = cpu(scene::sheet(4).unwrap(), settings);
    for _ in 0..300 {
        cloth.step(&frame(FRAME)).unwrap();
    }
    let speed = f64::from(-cloth.velocities().unwrap()[0][1]);
    // v = v/(1 + k h) + g h settles at g/k + g h.
    let expected = G / 4.0 + G / 240.0;
    assert!((speed - expected).abs() < 1e-3, "{speed} m/s instead of {expected}");
}

#[test]
fn short_frames_are_saved_up() {
    let mut cloth = cpu(scene::hang(16).unwrap(), Settings::default());
    for _ in 0..30 {
        cloth.step(&frame(FRAME)).unwrap();
    }
    let fastest =
        |cloth: &Cloth| cloth.velocities().unwrap().iter().flatten().fold(0.0f32, |most, v| most.max(v.abs()));
    let (before, height) = (fastest(&cloth), center(&cloth.snapshot().unwrap().positions)[1]);
    // A hundred frames of a microsecond are one of a tenth of a millisecond, not a hundred kicks.
    for _ in 0..99 {
        cloth.step(&frame(1e-6)).unwrap();
        assert_eq!(cloth.snapshot().unwrap().positions, cloth.snapshot().unwrap().positions);
    }
    assert_eq!(center(&cloth.snapshot().unwrap().positions)[1], height, "nothing was simulated yet");
    for _ in 0..3 {
        cloth.step(&frame(1e-6)).unwrap();
    }
    for _ in 0..5 {
        cloth.step(&frame(FRAME)).unwrap();
    }
    assert!(fastest(&cloth) < 2.0 * before, "{} m/s after {before} m/s", fastest(&cloth));
}

#[test]
fn a_flat_view_works_on_several_threads_too() {
    use std::sync::Arc;
    use taut::engine::cpu::Run;
    use taut::engine::fields::Domain;
    use taut::engine::program::Kernel;
    use taut::engine::source::Source;
    use taut::stage::Recorder;
    static SOURCE: Source = Source::new(
        "push",
        "@group(0) @binding(0) var<storage, read_write> forces: array<f32>;
         @compute @workgroup_size(GROUP) fn push(invocation: Invocation) {
             let v = element(invocation);
             if (!running() || v >= range.end) { return; }
             forces[4u * v] += 1e-5;
         }",
    );
    static PUSH: Kernel = Kernel::new("push", &SOURCE, |run: &mut Run<'_>| {
        let mut forces = run.write::<f32>("forces")?;
        for v in run.range() {
            forces[4 * v] += 1e-5;
        }
        Ok(())
    });
    #[derive(Debug)]
    struct Push;
    impl taut::stage::Stage for Push {
        fn record(&self, recorder: &mut Recorder<'_>) {
            recorder.dispatch(&PUSH, Domain::VERTICES);
        }
    }
    // 140 × 140 vertices are split over threads.
    let settings = Settings {
        gravity: [0.0; 3],
        stages: vec![Arc::new(Push)],
        method: Method::GaussSeidel(GaussSeidel { sweeps: 1, ..Default::default() }),
        ..Default::default()
    };
    let mut cloth = cpu(scene::sheet(140).unwrap(), settings);
    cloth.step(&frame(FRAME)).unwrap();
    let total: f64 = cloth.mesh().masses().iter().map(|m| f64::from(*m)).sum();
    let masses = cloth.mesh().masses().to_vec();
    let velocities = cloth.velocities().unwrap();
    let momentum: f64 = velocities.iter().zip(&masses).map(|(v, m)| f64::from(v[0]) * f64::from(*m)).sum();
    let expected = 140.0 * 140.0 * 1e-5 / 60.0;
    assert!((momentum / expected - 1.0).abs() < 1e-3, "{momentum} instead of {expected} N·s for {total} kg");
}

/// What is chosen by itself rests, too, with the substeps that it chooses.
#[test]
fn the_default_rests() {
    for substeps in [8, 32] {
        stays_at_rest(Method::default(), substeps);
    }
}

#[test]
fn yarn_sweeps_rest() {
    for substeps in [8, 32, 1000] {
        stays_at_rest(Method::named("yarn-sweep").unwrap(), substeps);
    }
}

/// A rope of five vertices that hangs on a spring: backends, solvers and stiffnesses.
#[test]
fn what_hangs_on_a_soft_hold_sags_by_its_weight_over_the_stiffness() {
    let points: Vec<[f32; 3]> = (0..5).map(|k| [0.0, -0.1 * k as f32, 0.0]).collect();
    let weight = 5.0 * 0.02 * 9.81;
    for gpu in [None, gpu()] {
        for method in Method::all() {
            for stiffness in [20.0, 500.0] {
                let settings = Settings { method: method.clone(), drag: 8.0, ..Default::default() };
                let scene = rope(&points, vec![0.02; 5], vec![], 0.1).with_settings(settings);
                let mut cloth = gpu.as_ref().map_or_else(
                    || Cloth::on_cpu(scene.clone()).unwrap(),
                    |gpu| Cloth::on_gpu(gpu, scene.clone()).unwrap(),
                );
                cloth.hold(&[0], Hold::Soft { stiffness }).unwrap();
                (0..180).for_each(|_| cloth.step(&frame(FRAME)).unwrap());
                let sag = -cloth.snapshot().unwrap().positions[0][1] * stiffness;
                let borne = -cloth.constraint_forces().unwrap()[0][1];
                assert!((sag - weight).abs() < 2e-3 * weight, "{method:?} {stiffness}: {sag} N, not {weight} N");
                assert!((borne - weight).abs() < 2e-3 * weight, "{method:?} {stiffness}: {borne} N, not {weight} N");
                // Its anchor is moved with the cloth, so nothing springs back.
                cloth.teleport(Pose { rotation: [0.0, 0.6, 0.0, 0.8], translation: [3.0, 10.0, 0.0] }).unwrap();
                cloth.step(&frame(FRAME)).unwrap();
                let [x, y, _] = cloth.snapshot().unwrap().positions[0];
                assert!((x - 3.0).abs() < 1e-3 && ((10.0 - y) * stiffness - weight).abs() < 0.01 * weight, "{x} {y}");
            }
        }
    }
}

/// One substep per frame, and a spring that an explicit step would have to cut into a million.
#[test]
fn a_soft_hold_is_stable_at_any_stiffness() {
    let points: Vec<[f32; 3]> = (0..5).map(|k| [0.1 * k as f32, 0.0, 0.0]).collect();
    for stepping in [Stepping::Euler, Stepping::Bdf2] {
        for stiffness in [1e-3, 1.0, 1e3, 1e6, 1e9, 1e12] {
            let settings = Settings { stepping, substeps: Substeps::Fixed(1), drag: 1.0, ..Default::default() };
            let mut cloth = cpu(rope(&points, vec![0.02; 5], vec![], 0.1), settings);
            cloth.hold(&[0], Hold::Soft { stiffness }).unwrap();
            for number in 0..240 {
                cloth.step(&frame(FRAME)).unwrap();
                let snapshot = cloth.snapshot().unwrap();
                assert!(!snapshot.report.rejected, "{stiffness}: frame {number}");
                let far = snapshot.positions[0].iter().map(|x| x * x).sum::<f32>().sqrt();
                // It is hardly ever pulled by more than a few times the weight of the rope.
                assert!(stiffness < 1e3 || far * stiffness < 20.0, "{stiffness}: frame {number}, {far} m");
            }
        }
    }
}

/// Two corners of a sheet on springs, with explicit and implicit shear: each bears its stiffness times its way.
#[test]
fn soft_holds_of_a_sheet_obey_hooke() {
    for elasticity in [Elasticity::Explicit, Elasticity::Implicit, Elasticity::Diagonals] {
        let scene = scene::sheet(6).unwrap();
        let weight: f32 = scene.mesh.masses().iter().sum::<f32>() * 9.81;
        let mut cloth = cpu(scene, Settings { elasticity, drag: 4.0, ..Default::default() });
        cloth.hold(&[0, 5], Hold::Soft { stiffness: 50.0 }).unwrap();
        (0..300).for_each(|_| cloth.step(&frame(FRAME)).unwrap());
        let (positions, forces) = (cloth.snapshot().unwrap().positions, cloth.constraint_forces().unwrap());
        let borne: f32 = forces.iter().map(|force| -force[1]).sum();
        assert!((borne - weight).abs() < 0.01 * weight, "{elasticity:?}: {borne} N of {weight} N");
        for (vertex, anchor) in [(0, [0.0, 0.0, 0.0]), (5, [1.0, 0.0, 0.0])] {
            for axis in 0..3 {
                let pulled = 50.0 * (positions[vertex][axis] - anchor[axis]);
                let force = forces[vertex][axis];
                assert!((pulled - force).abs() < 0.01 * weight, "{elasticity:?} {vertex}: {pulled} N, not {force} N");
            }
        }
    }
}

/// The anchor of a soft hold follows its target and stays there.
#[test]
fn a_target_leads_the_anchor_of_a_soft_hold() {
    let points: Vec<[f32; 3]> = (0..3).map(|k| [0.0, -0.1 * k as f32, 0.0]).collect();
    let mut cloth =
        cpu(rope(&points, vec![0.02; 3], vec![], 0.1), Settings { drag: 8.0, gravity: [0.0; 3], ..Default::default() });
    cloth.hold(&[0], Hold::Soft { stiffness: 100.0 }).unwrap();
    for number in 1..=30 {
        let target = PinTarget { vertex: 0, position: [0.01 * number as f32, 0.0, 0.0] };
        cloth.step(&FrameInput { dt: FRAME, pin_targets: &[target] }).unwrap();
    }
    (0..120).for_each(|_| cloth.step(&frame(FRAME)).unwrap());
    let [x, y, _] = cloth.snapshot().unwrap().positions[0];
    assert!((x - 0.3).abs() < 1e-3 && y.abs() < 0.1, "{x} {y}");
}
