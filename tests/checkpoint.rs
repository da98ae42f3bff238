//! A restored cloth goes on as if nothing had happened, and damaged files are refused.

mod common;

use common::*;
use taut::engine::checksum::Checksum;
use taut::{Cloth, Elasticity, Error, Method, Scene, Settings, Substeps, scene};

/// Checksum of everything that can be told of a cloth.
fn bits(cloth: &Cloth) -> u64 {
    let snapshot = cloth.snapshot().unwrap();
    let vectors = [cloth.velocities().unwrap(), cloth.pin_forces().unwrap(), cloth.constraint_forces().unwrap()];
    let solids = cloth.solids().iter().map(|solid| &solid.pose.translation);
    let mut checksum = Checksum::default();
    for x in snapshot.positions.iter().chain(vectors.iter().flatten()).chain(solids).flatten() {
        checksum.add(&x.to_le_bytes());
    }
    let report = snapshot.report;
    for word in [report.device_strain.to_bits(), report.load.to_bits(), report.iterations, report.substeps] {
        checksum.add(&word.to_le_bytes());
    }
    checksum.value()
}

/// Steps, saves, steps on; restores into a fresh cloth, steps as far; both must be equal after every frame.
fn goes_on(name: &str, make: impl Fn() -> Cloth) {
    let mut first = make();
    for _ in 0..5 {
        first.step(&frame(FRAME)).unwrap();
    }
    let saved = first.checkpoint().unwrap();
    let mut second = make();
    second.restore(&saved).unwrap();
    assert_eq!(bits(&first), bits(&second), "{name}: restored");
    assert_eq!(second.checkpoint().unwrap(), saved, "{name}: saved again");
    for count in 0..5 {
        first.step(&frame(FRAME)).unwrap();
        second.step(&frame(FRAME)).unwrap();
        assert_eq!(bits(&first), bits(&second), "{name}: frame {count}");
    }
    assert_eq!(first.frame(), second.frame());
    // The comparison can fail.
    second.step(&frame(FRAME)).unwrap();
    assert_ne!(bits(&first), bits(&second));
}

#[test]
fn every_solver_goes_on_with_the_same_bits() {
    for solver in solvers() {
        for name in ["hang", "drape", "flag", "rope-tether"] {
            goes_on(&format!("{solver} {name}"), || {
                let scene = Scene::named(name, 9).unwrap();
                let settings = Settings { method: method(solver), ..scene.settings.clone() };
                cpu(scene, settings)
            });
        }
    }
}

#[test]
fn everything_else_goes_on_too() {
    goes_on("bdf2, chords, implicit", || cpu(scene::hang(12).unwrap(), everything_else()));
    goes_on("warm start", || {
        cpu(
            scene::curtain(12).unwrap(),
            Settings { method: warm(), substeps: Substeps::Fixed(6), ..Default::default() },
        )
    });
    let seeded = || Method::GaussSeidel(taut::GaussSeidel { seed: Some(7), ..Default::default() });
    goes_on("seeded", || cpu(scene::hang(9).unwrap(), Settings { method: seeded(), ..Default::default() }));
    for elasticity in [Elasticity::Explicit, Elasticity::Implicit, Elasticity::Diagonals] {
        goes_on("crowded", || crowded(9, Settings { elasticity, ..Default::default() }));
    }
    goes_on("windy", || cpu(scene::flag(9).unwrap(), windy()));
}

#[test]
fn a_gpu_goes_on_with_the_same_bits() {
    for gpu in gpus() {
        for solver in solvers() {
            let name = if solver == "auto" { "drape" } else { "hang" };
            goes_on(&format!("{} {solver}", common::name(&gpu)), || {
                let scene = Scene::named(name, 9).unwrap();
                let settings = Settings { method: method(solver), ..scene.settings.clone() };
                Cloth::on_gpu(&gpu, scene.with_settings(settings)).unwrap()
            });
        }
    }
}

#[test]
fn a_checkpoint_moves_between_cpu_and_gpu() {
    let Some(gpu) = gpu() else { return };
    let mut here = cpu(scene::hang(9).unwrap(), Settings::default());
    for _ in 0..5 {
        here.step(&frame(FRAME)).unwrap();
    }
    let mut there = Cloth::on_gpu(&gpu, scene::hang(9).unwrap()).unwrap();
    there.restore(&here.checkpoint().unwrap()).unwrap();
    assert_eq!(bits(&here), bits(&there));
    let saved = there.checkpoint().unwrap();
    assert_eq!(saved, here.checkpoint().unwrap());
}

fn refusal(cloth: &mut Cloth, bytes: &[u8]) -> String {
    match cloth.restore(bytes) {
        Err(Error::Checkpoint { problem }) => problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn damaged_and_foreign_checkpoints_are_refused_and_change_nothing() {
    let mut cloth = cpu(scene::drape(5).unwrap(), Settings::default());
    for _ in 0..3 {
        cloth.step(&frame(FRAME)).unwrap();
    }
    let saved = cloth.checkpoint().unwrap();
    let mut other = cpu(scene::drape(5).unwrap(), Settings::default());
    other.step(&frame(FRAME)).unwrap();
    let before = other.checkpoint().unwrap();
    for end in 0..saved.len() {
        refusal(&mut other, &saved[..end]);
    }
    for place in 0..saved.len() {
        let mut damaged = saved.clone();
        damaged[place] ^= 1 << (place % 8);
        refusal(&mut other, &damaged);
    }
    assert_eq!(other.checkpoint().unwrap(), before, "a refused checkpoint changes nothing");
    assert!(refusal(&mut cpu(scene::drape(6).unwrap(), Settings::default()), &saved).contains("another cloth"));
    assert!(refusal(&mut cpu(scene::sheet(5).unwrap(), Settings::default()), &saved).contains("another"));
    assert!(refusal(&mut other, b"POINTCACHE2 and so on, long enough").contains("TAUTSAVE"));
    let mut later = saved.clone();
    later[8] = 4;
    assert_eq!(refusal(&mut other, &later), "its version is 4, only 3 is known");
}

/// A checkpoint with another first number in a field, and the checksum that goes with it.
fn forge(saved: &[u8], field: &str, value: f32) -> Vec<u8> {
    let name = [&(field.len() as u32).to_le_bytes(), field.as_bytes()].concat();
    let place = saved.windows(name.len()).position(|window| window == name).expect("a field that is saved");
    // Behind the name: the number of words, then the first of them.
    let first = place + name.len() + 4;
    let mut forged = saved[..saved.len() - 8].to_vec();
    forged[first..first + 4].copy_from_slice(&value.to_le_bytes());
    let mut checksum = Checksum::default();
    checksum.add(&forged);
    forged.extend(checksum.value().to_le_bytes());
    forged
}

#[test]
fn a_forged_checksum_does_not_make_positions_infinite() {
    let cloth = cpu(scene::hang(4).unwrap(), Settings::default());
    let saved = cloth.checkpoint().unwrap();
    let mut other = cpu(scene::hang(4).unwrap(), Settings::default());
    for value in [f32::NAN, f32::INFINITY, -1e30] {
        assert!(refusal(&mut other, &forge(&saved, "vertices", value)).contains("vertex 0 is not finite"));
    }
}

/// What may pass through itself is another cloth than what does not.
#[test]
fn self_collision_is_told_from_none() {
    let made = |on: bool| {
        let scene = scene::heap(8).unwrap();
        let own = scene.settings.self_collision.filter(|_| on);
        cpu(scene, Settings { self_collision: own, ..Default::default() })
    };
    goes_on("heap", || made(true));
    // What presses goes on, too.
    let stack = scene::stack(8).unwrap();
    goes_on("stack", || cpu(stack.clone(), stack.settings.clone()));
    let (with, without) = (made(true).checkpoint().unwrap(), made(false).checkpoint().unwrap());
    assert!(refusal(&mut made(false), &with).contains("with self-collision, and this one has none"));
    assert!(refusal(&mut made(true), &without).contains("without self-collision, and this one has it"));
    assert!(refusal(&mut made(true), &forge(&with, "rest_places", f32::NAN)).contains("elsewhere at rest"));
    // Loads that never were are none, wherever they are said to be.
    for (name, value) in [("old_starts", f32::MAX), ("old_loads", f32::NAN)] {
        let mut forged = made(true);
        forged.restore(&forge(&with, name, value)).unwrap();
        forged.step(&frame(FRAME)).unwrap();
        assert!(!forged.snapshot().unwrap().report.rejected, "{name}");
    }
}

#[test]
fn what_is_reserved_is_not_taken_for_nothing() {
    let saved = cpu(scene::hang(4).unwrap(), Settings::default()).checkpoint().unwrap();
    let mut later = saved[..saved.len() - 8].to_vec();
    later[12] = 2;
    let mut checksum = Checksum::default();
    checksum.add(&later);
    later.extend(checksum.value().to_le_bytes());
    assert!(refusal(&mut cpu(scene::hang(4).unwrap(), Settings::default()), &later).contains("later version"));
}

#[test]
fn a_forged_checksum_does_not_make_what_is_drawn_or_reported_infinite() {
    let cloth = cpu(scene::hang(4).unwrap(), Settings::default());
    let saved = cloth.checkpoint().unwrap();
    let mut other = cpu(scene::hang(4).unwrap(), Settings::default());
    for field in ["velocities", "previous_velocities", "reactions", "normals"] {
        let said = refusal(&mut other, &forge(&saved, field, f32::NAN));
        assert!(said.starts_with(&format!("{field} of vertex 0 are not finite")), "{said}");
        other.restore(&forge(&saved, field, 1.0)).expect("the file is forged well");
    }
}

#[test]
fn what_waits_for_the_next_frame_is_in_no_checkpoint() {
    let mut cloth = cpu(scene::hang(4).unwrap(), Settings::default());
    cloth.add_impulse(5, [1e-3, 0.0, 0.0]).unwrap();
    assert!(matches!(cloth.checkpoint(), Err(Error::Checkpoint { .. })));
    cloth.step(&frame(FRAME)).unwrap();
    cloth.checkpoint().unwrap();
}
