//! Geometric stiffness: taut strings in long steps, against the judge in f64 and against themselves without it.

mod common;

use common::*;
use taut::engine::lockstep;
use taut::reference::{CompliantStep, Measure, System};
use taut::validate::{energy, stiff};
use taut::{Cloth, EdgeKind, EdgeOverride, Hold, Mass, Mesh, MeshDescriptor, Method, Scene, Settings};
use taut::{Stepping, Substeps, YarnSweep, scene};

fn settings(geometric_stiffness: bool, substeps: u32) -> Settings {
    let method = Method::YarnSweep(YarnSweep { geometric_stiffness, ..Default::default() });
    Settings { method, strain_limit: 1e-4, substeps: Substeps::Fixed(substeps), ..Default::default() }
}

fn is_stiff(cloth: &Cloth) -> bool {
    cloth.program().dispatches().iter().any(|dispatch| dispatch.kernel.name == "solve_stiff_yarn")
}

/// A pin, 1 kg 1 mm aside, and a weight, on rods of 0.1 m; or from the weight to the pin.
fn pendulum(heavy: f32, upwards: bool) -> Scene {
    let mut rest = vec![[0.0, 0.0, 0.0], [0.0, -0.1, 0.0], [0.0, -0.2, 0.0]];
    let mut masses = vec![1.0, 1.0, heavy];
    if upwards {
        rest.reverse();
        masses.reverse();
    }
    let mesh = Mesh::new(MeshDescriptor {
        positions: rest.clone(),
        lines: vec![[0, 1], [1, 2]],
        mass: Mass::PerVertex(masses),
        pins: vec![if upwards { 2 } else { 0 }],
        ..Default::default()
    });
    let mut start = rest;
    start[1][0] = 1e-3;
    Scene::new("pendulum", mesh.unwrap(), start)
}

/// Largest sideways distance of the light mass in each half second \[m\], iterations, and the force of the pin \[N\].
fn swung(mut cloth: Cloth, halves: usize) -> (Vec<f32>, u32, [f32; 3]) {
    let (mut farthest, mut iterations) = (vec![0.0f32; halves], 0);
    for number in 0..30 * halves {
        cloth.step(&frame(FRAME)).unwrap();
        let found = cloth.snapshot().unwrap();
        farthest[number / 30] = farthest[number / 30].max(found.positions[1][0].abs());
        iterations += found.report.iterations;
    }
    (farthest, iterations, cloth.pin_forces().unwrap()[0])
}

/// Steps of 1/60 s with loads of 27 and 273, for ten seconds. Fast projection keeps the lengths and never lets the
/// light mass come to rest; with its geometric stiffness it hangs still from the second half second on.
#[test]
fn a_heavy_pendulum_hangs_still() {
    for (heavy, held) in [(100.0, 0.16e-3), (1000.0, 0.02e-3)] {
        for upwards in [false, true] {
            let scene = pendulum(heavy, upwards);
            let (plain, many, _) = swung(cpu(scene.clone(), settings(false, 1)), 20);
            let (still, few, pull) = swung(cpu(scene, settings(true, 1)), 20);
            println!("{heavy} kg: without {plain:?}, {many} iterations");
            println!("with {still:?}, {few} iterations, {pull:?} N");
            let most = |farthest: &[f32]| farthest.iter().fold(0.0f32, |most, x| most.max(*x));
            assert!(most(&plain) <= 4.2e-3 && plain[19] > 1e-3, "{plain:?}");
            assert!(most(&still) <= 4.2e-3 && most(&still[1..]) <= held && still[19] < 1e-6, "{still:?}");
            assert!(few < 660 && many > 1800, "{few} {many}");
            let weight = (heavy + 2.0) * 9.81;
            assert!((pull[1].abs() / weight - 1.0).abs() < 0.01, "{pull:?} of {weight}");
        }
    }
}

#[test]
fn it_hangs_still_on_every_device() {
    for gpu in gpus() {
        let scene = pendulum(1000.0, false);
        let cloth = Cloth::on_gpu(&gpu, scene.with_settings(settings(true, 1))).unwrap();
        let (still, _, pull) = swung(cloth, 3);
        println!("{}: {still:?} {pull:?}", name(&gpu));
        assert!(still[1..].iter().all(|x| *x <= 0.02e-3), "{}: {still:?}", name(&gpu));
    }
}

/// The first solve of a substep is the step of the judge, which solves it dense in f64, with the multipliers of the
/// step before. As edges come to be straight, f32 tells less and less of how they meet.
#[test]
fn steps_are_those_of_the_judge() {
    let h = f64::from(FRAME);
    for upwards in [false, true] {
        let scene = pendulum(10.0, upwards);
        let mut system = System::of_scene(&scene).unwrap();
        let mut velocities = vec![[0.0; 3]; 3];
        let mut multipliers: Vec<f64> = Vec::new();
        // So wide a limit that nothing is projected again.
        let mut cloth = cpu(scene, Settings { strain_limit: 0.2, ..settings(true, 1) });
        assert!(is_stiff(&cloth));
        for step in 0..30 {
            for (velocity, weight) in velocities.iter_mut().zip(&system.inverse_masses) {
                velocity[1] -= if *weight > 0.0 { h * 9.81 } else { 0.0 };
            }
            let given = CompliantStep {
                system: &system,
                measure: Measure::Length,
                velocities: &velocities,
                compliances: &[0.0; 2],
                geometric: &multipliers,
                h,
            };
            let found = given.schur();
            (velocities, multipliers) = (found.velocities, found.multipliers);
            for (x, v) in system.positions.iter_mut().zip(&velocities) {
                (0..3).for_each(|axis| x[axis] += h * v[axis]);
            }
            cloth.step(&frame(FRAME)).unwrap();
            let positions = cloth.snapshot().unwrap().positions;
            let mut apart = 0.0f64;
            for (a, b) in positions.iter().zip(&system.positions) {
                (0..3).for_each(|axis| apart = apart.max((f64::from(a[axis]) - b[axis]).abs()));
            }
            println!("{step}: {apart:e} m apart");
            assert!(apart < if step < 7 { 2e-7 } else { 2e-5 }, "step {step}: {apart:e}");
        }
    }
}

/// A chain that hangs from one end, and one that hangs between two pins, both from the horizontal.
fn strings() -> Scene {
    let length = 16u32;
    let place = |k: u32| [0.05 * (k % length) as f32, 0.0, 0.2 * (k / length) as f32];
    let rest: Vec<_> = (0..2 * length).map(place).collect();
    let lines = (0..2 * length - 1).filter(|k| (k + 1) % length != 0).map(|k| [k, k + 1]).collect();
    let pins = vec![0, length, 2 * length - 1];
    let mesh = Mesh::new(MeshDescriptor { positions: rest.clone(), lines, pins, ..Default::default() });
    Scene::new("strings", mesh.unwrap(), rest)
}

/// Five seconds from the start: no energy is gained, with steps that are long and short.
#[test]
fn no_energy_is_gained_in_whole_runs() {
    for scene in [scene::chain(24).unwrap(), strings()] {
        let mass: f64 = scene.mesh.masses().iter().map(|m| f64::from(*m)).sum();
        for stepping in [Stepping::Euler, Stepping::Bdf2] {
            for (substeps, geometric) in [1, 2, 4, 8].into_iter().flat_map(|n| [(n, false), (n, true)]) {
                let asked = Settings { strain_limit: 0.01, stepping, ..settings(geometric, substeps) };
                let mut cloth = cpu(scene.clone(), asked);
                let begin = energy(&cloth).unwrap();
                let (mut gain, mut over, mut iterations) = (f64::MIN, 0, 0);
                for _ in 0..300 {
                    cloth.step(&frame(FRAME)).unwrap();
                    let report = cloth.snapshot().unwrap().report;
                    gain = gain.max((energy(&cloth).unwrap() - begin) / mass);
                    over += u32::from(report.converged != Some(true));
                    iterations += report.iterations;
                }
                assert_eq!(over, 0);
                assert!(!geometric || gain < 0.0, "{} {stepping:?} {substeps}: {gain} J/kg", scene.name);
                let end = (energy(&cloth).unwrap() - begin) / mass;
                println!(
                    "{} {stepping:?}, {substeps} substeps, {geometric}: {gain:.5} J/kg gained, {end:.3} in the end, \
                     {over} frames over, {:.2} iterations per frame",
                    scene.name,
                    f64::from(iterations) / 300.0
                );
            }
        }
    }
}

/// Where it would be wrong, or is not made for, nothing changes.
#[test]
fn what_it_is_not_for_goes_without() {
    let geometric = |scene: Scene| cpu(scene, settings(true, 4));
    assert!(!is_stiff(&geometric(scene::curtain(5).unwrap())), "two families");
    assert!(!is_stiff(&geometric(scene::drape(5).unwrap())), "solids");
    let mut held = geometric(scene::chain(5).unwrap());
    assert!(is_stiff(&held));
    held.hold(&[3], Hold::Plane { normal: [0.0, 1.0, 0.0] }).unwrap();
    held.step(&frame(FRAME)).unwrap();
    assert!(!is_stiff(&held), "held vertices");
    let rest: Vec<[f32; 3]> = vec![[0.0; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let of = |lines: Vec<[u32; 2]>, overrides: Vec<EdgeOverride>| {
        let given = MeshDescriptor { positions: rest.clone(), lines, overrides, ..Default::default() };
        Scene::new("square", Mesh::new(given).unwrap(), rest.clone())
    };
    let open = vec![[0, 1], [1, 2], [2, 3]];
    assert!(is_stiff(&geometric(of(open.clone(), Vec::new()))));
    let rope = EdgeOverride { ends: [0, 1], kind: EdgeKind::Rope, rest: None };
    assert!(!is_stiff(&geometric(of(open.clone(), vec![rope]))), "laws");
    assert!(!is_stiff(&geometric(of([open, vec![[0, 3]]].concat(), Vec::new()))), "a ring");
    assert!(!is_stiff(&cpu(scene::chain(5).unwrap(), settings(false, 4))), "not asked for");
}

#[test]
fn stiff_strings_agree() {
    for gpu in gpus() {
        for length in [12, 80] {
            let cloth = stiff(length).unwrap();
            let mut fields = cloth.fields().unwrap().clone();
            let agreement = lockstep::compare(&gpu, cloth.program(), &mut fields, 300);
            let agreement = agreement.unwrap_or_else(|error| panic!("{} {length}: {error}", name(&gpu)));
            println!("{} {length}: worst {}", name(&gpu), agreement.worst);
            assert!(agreement.kernels.contains(&"solve_stiff_yarn"), "{agreement:?}");
            assert!(fields.largest("last_tensions").unwrap() > 0.0);
        }
    }
}
