//! Velocities that stretch no edge: post-stabilisation at the velocity level, an option of every step.

mod common;

use common::*;
use taut::{Cloth, Settings, Stepping, Substeps, scene};

fn on(settings: Settings) -> Settings {
    Settings { tangent_velocities: true, ..settings }
}

fn difference(a: [f32; 3], b: [f32; 3]) -> [f64; 3] {
    [0, 1, 2].map(|axis| f64::from(b[axis]) - f64::from(a[axis]))
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|axis| a[axis] * b[axis]).sum()
}

/// Largest rate at which an edge that can move grows or shrinks, and the largest speed \[m/s\].
fn rate(cloth: &Cloth) -> [f64; 2] {
    let (positions, velocities) = (cloth.snapshot().unwrap().positions, cloth.velocities().unwrap());
    let pins = cloth.mesh().pins();
    let mut most = 0.0f64;
    for edge in cloth.mesh().edges().iter().filter(|edge| !(pins.contains(&edge.tail) && pins.contains(&edge.head))) {
        let (a, b) = (edge.tail as usize, edge.head as usize);
        let d = difference(positions[a], positions[b]);
        most = most.max((dot(d, difference(velocities[a], velocities[b])) / dot(d, d).sqrt()).abs());
    }
    let speed = velocities.iter().map(|v| dot(v.map(f64::from), v.map(f64::from)).sqrt()).fold(0.0, f64::max);
    [most, speed]
}

/// Kinetic energy of the free vertices \[J\].
fn kinetic(cloth: &Cloth) -> f64 {
    let velocities = cloth.velocities().unwrap();
    let masses = cloth.mesh().masses();
    let free = |v: &usize| !cloth.mesh().pins().contains(&(*v as u32));
    let energy =
        |v: usize| 0.5 * f64::from(masses[v]) * dot(velocities[v].map(f64::from), velocities[v].map(f64::from));
    (0..masses.len()).filter(free).map(energy).sum()
}

/// Every solver, every step: J v is at rounding, positions have the bits of the same step without, and kinetic energy
/// is less, never more.
#[test]
fn it_takes_what_stretches_and_nothing_else() {
    for (name, method) in methods() {
        for scene in [scene::hang(6).unwrap(), scene::curtain(5).unwrap(), scene::chain(8).unwrap()] {
            let settings = Settings { method: method.clone(), substeps: Substeps::Fixed(4), ..Default::default() };
            let mut with = cpu(scene.clone(), on(settings.clone()));
            let mut without = cpu(scene.clone(), settings);
            let (mut worst, mut taken) = (0.0f64, 0.0f64);
            for _ in 0..30 {
                // One substep from the same state.
                let state = (with.snapshot().unwrap().positions, with.velocities().unwrap());
                for cloth in [&mut with, &mut without] {
                    cloth.set_state(&state.0, &state.1).unwrap();
                    cloth.change(|settings| settings.substeps = Substeps::Fixed(1)).unwrap();
                    cloth.step(&frame(FRAME / 4.0)).unwrap();
                }
                let positions = with.snapshot().unwrap().positions;
                assert_eq!(positions, without.snapshot().unwrap().positions, "{name} {}", scene.name);
                let [rate, speed] = rate(&with);
                worst = worst.max(rate / speed.max(1.0));
                let [before, after] = [kinetic(&without), kinetic(&with)];
                assert!(after <= before * (1.0 + 1e-6), "{name} {}: {before} J became {after} J", scene.name);
                taken = taken.max(before - after);
            }
            println!("{name} {}: |J v| {worst:e} of the speed, takes {taken:e} J", scene.name);
            assert!(worst <= 1e-6, "{name} {}: |J v| is {worst:e} of the speed", scene.name);
            assert!(taken > 0.0, "{name} {}: there was something to take", scene.name);
        }
    }
}

/// A sheet that nothing holds keeps its momentum.
#[test]
fn it_keeps_momentum() {
    let scene = scene::sheet(7).unwrap();
    let mut random = Random(3);
    let velocities: Vec<[f32; 3]> =
        (0..scene.start.len()).map(|_| [(); 3].map(|()| random.within(-1.0, 1.0) as f32)).collect();
    let settings = Settings { gravity: [0.0; 3], substeps: Substeps::Fixed(1), ..Default::default() };
    let momentum = |settings: Settings| {
        let mut cloth = cpu(scene.clone(), settings);
        cloth.set_state(&scene.start, &velocities).unwrap();
        cloth.step(&frame(FRAME)).unwrap();
        let masses = cloth.mesh().masses().to_vec();
        let mut sum = [0.0f64; 3];
        for (mass, velocity) in masses.iter().zip(cloth.velocities().unwrap()) {
            (0..3).for_each(|axis| sum[axis] += f64::from(*mass) * f64::from(velocity[axis]));
        }
        sum
    };
    let mass: f64 = scene.mesh.masses().iter().map(|mass| f64::from(*mass)).sum();
    for (with, without) in momentum(on(settings.clone())).into_iter().zip(momentum(settings.clone())) {
        assert!((with - without).abs() < 1e-6 * mass, "{with} and {without} kg m/s");
    }
}

/// A rope that falls has nothing to hold, and one that is taut is not held from going slack.
#[test]
fn a_slack_rope_is_let_go() {
    let settings = |scene: &taut::Scene| Settings { substeps: Substeps::Fixed(4), ..scene.settings.clone() };
    let scene = scene::rope_tether(2).unwrap();
    let mut with = cpu(scene.clone(), on(settings(&scene)));
    let mut without = cpu(scene.clone(), settings(&scene));
    // Taut after 0.441 s.
    for number in 0..26 {
        for cloth in [&mut with, &mut without] {
            cloth.step(&frame(FRAME)).unwrap();
        }
        assert_eq!(with.velocities().unwrap(), without.velocities().unwrap(), "frame {number}");
    }
    for _ in 0..4 {
        with.step(&frame(FRAME)).unwrap();
    }
    // Thrown towards its pin it keeps its speed.
    let positions = with.snapshot().unwrap().positions;
    let inwards = [0, 1, 2].map(|axis| -positions[1][axis]);
    with.change(|settings| settings.gravity = [0.0; 3]).unwrap();
    with.set_state(&positions, &[[0.0; 3], inwards]).unwrap();
    with.step(&frame(FRAME)).unwrap();
    let speed = with.velocities().unwrap()[1];
    for axis in 0..3 {
        assert!((speed[axis] - inwards[axis]).abs() < 1e-5, "{speed:?} of {inwards:?}");
    }
}

/// A fall of two seconds, height, motion and shear together, in metres of height: the velocity that is left has more of
/// the motion than the secant had, and with Euler's steps the whole gains a seven-hundredth of the fall.
#[test]
fn a_fall_gains_next_to_nothing() {
    for (stepping, most) in [(Stepping::Euler, 2e-3), (Stepping::Bdf2, 5e-4)] {
        let scene = scene::hang(8).unwrap();
        let masses = scene.mesh.masses().to_vec();
        let springs = scene.mesh.springs().to_vec();
        let weight: f64 = masses.iter().map(|mass| 9.81 * f64::from(*mass)).sum();
        let mut cloth = cpu(scene, on(Settings { stepping, ..Default::default() }));
        let energy = |cloth: &Cloth| {
            let positions = cloth.snapshot().unwrap().positions;
            let height: f64 = masses.iter().zip(&positions).map(|(m, x)| 9.81 * f64::from(*m) * f64::from(x[1])).sum();
            let stored = |link: &taut::mesh::Link| {
                let d = difference(positions[link.tail as usize], positions[link.head as usize]);
                0.5 * f64::from(link.stiffness) * (dot(d, d).sqrt() - f64::from(link.rest)).powi(2)
            };
            (kinetic(cloth) + height + springs.iter().map(stored).sum::<f64>()) / weight
        };
        let mut least = energy(&cloth);
        for number in 0..120 {
            cloth.step(&frame(FRAME)).unwrap();
            let found = energy(&cloth);
            assert!(found <= least + most, "{stepping:?}, frame {number}: {found} m after {least} m");
            least = least.min(found);
        }
        assert!(least < -0.2, "it has fallen");
    }
}

#[test]
fn cpu_and_gpu_agree_on_it() {
    for gpu in gpus() {
        for (name, method) in methods().take(2) {
            for scene in [scene::hang(12).unwrap(), scene::curtain(9).unwrap()] {
                let mut cloth = cpu(scene, on(Settings { method: method.clone(), ..Default::default() }));
                (0..5).for_each(|_| cloth.step(&frame(FRAME)).unwrap());
                let mut fields = cloth.fields().unwrap().clone();
                let agreement = taut::engine::lockstep::compare(&gpu, cloth.program(), &mut fields, 250);
                let agreement = agreement.unwrap_or_else(|error| panic!("{name}: {error}"));
                println!("{name}: worst {}", agreement.worst);
                for kernel in ["linearize_rates", "aim_rates", "apply_rates"] {
                    assert!(agreement.kernels.contains(&kernel), "{kernel}: {agreement:?}");
                }
            }
        }
    }
}
