//! Frames that are stopped half-way: nothing of them is left.

mod common;

use std::time::Duration;

use common::*;
use taut::{Cancel, Cloth, Error, Hold, PinTarget, Pose, Settings, Substeps, scene};

/// A cloth among moving solids, in the wind, with everything that waits for the next frame.
fn busy(mut cloth: Cloth) -> Cloth {
    for _ in 0..3 {
        cloth.step(&frame(FRAME)).expect("the step runs");
    }
    cloth.hold(&[5], Hold::Fixed).expect("a free vertex");
    cloth.add_impulse(40, [1e-4, 0.0, 0.0]).expect("a free vertex");
    cloth.teleport(Pose { translation: [0.1, 0.0, 0.0], ..Default::default() }).expect("a small way");
    // A frame that is too short to be simulated, with a target.
    cloth.step(&frame(1e-5)).expect("it is saved up");
    cloth
}

fn same_for_ten_frames(name: &str, cloth: &mut Cloth, other: &mut Cloth) {
    for number in 0..10 {
        assert_eq!(cloth.frame(), other.frame(), "{name}");
        for cloth in [&mut *cloth, &mut *other] {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        let [one, two] = [&*cloth, &*other].map(|cloth| cloth.checkpoint().expect("a checkpoint"));
        assert!(one == two, "{name}: frame {number} differs");
    }
}

/// Cancels a frame of this cloth before it begins, and after each of these times; it must go on like the other.
fn cancelled_frames_leave_nothing(name: &str, mut cloth: Cloth, mut other: Cloth, milliseconds: &[u64]) {
    let cancel = Cancel::default();
    cloth.set_cancel(Some(cancel.clone()));
    cancel.cancel();
    assert!(matches!(cloth.step(&frame(FRAME)), Err(Error::Cancelled)), "{name}");
    for after in milliseconds {
        cancel.reset();
        // A frame that would take minutes.
        cloth.change(|settings| settings.substeps = Substeps::Fixed(1_000_000)).expect("a valid number");
        let thread = std::thread::spawn({
            let (cancel, after) = (cancel.clone(), Duration::from_millis(*after));
            move || {
                std::thread::sleep(after);
                cancel.cancel();
            }
        });
        let targets = [PinTarget { vertex: 5, position: [9.0, 9.0, 9.0] }];
        let outcome = cloth.step(&taut::FrameInput { dt: FRAME, pin_targets: &targets });
        thread.join().expect("the thread sleeps");
        assert!(matches!(outcome, Err(Error::Cancelled)), "{name}: {outcome:?}");
        cloth.change(|settings| settings.substeps = Substeps::Auto).expect("a valid number");
    }
    cancel.reset();
    same_for_ten_frames(name, &mut cloth, &mut other);
    // A handle that is taken away stops nothing.
    cancel.cancel();
    cloth.set_cancel(None);
    same_for_ten_frames(name, &mut cloth, &mut other);
}

#[test]
fn a_cancelled_frame_leaves_nothing_behind_on_the_cpu() {
    let cloth = || busy(crowded(9, windy()));
    cancelled_frames_leave_nothing("crowded", cloth(), cloth(), &[1, 30, 200]);
    for (solver, method) in methods() {
        let settings = Settings { method: method.clone(), ..Default::default() };
        let cloth = || {
            let mut cloth = cpu(scene::hang(9).expect("a scene"), settings.clone());
            cloth.hold(&[5], Hold::Fixed).expect("a free vertex");
            cloth
        };
        cancelled_frames_leave_nothing(solver, cloth(), cloth(), &[20]);
    }
}

#[test]
fn a_cancelled_frame_leaves_nothing_behind_on_a_gpu() {
    for gpu in gpus() {
        let cloth = || {
            let mut scene = scene::drape(9).expect("a scene");
            scene.solids[0].velocity = [0.1, 0.05, 0.0];
            scene.solids[0].angular_velocity = [0.0, 1.0, 0.0];
            busy(Cloth::on_gpu(&gpu, scene.with_settings(windy())).expect("a cloth"))
        };
        cancelled_frames_leave_nothing(&name(&gpu), cloth(), cloth(), &[1, 300]);
    }
}

#[test]
fn a_cloth_can_be_cancelled_while_nobody_polls() {
    let Some(gpu) = gpu() else { return };
    let cancel = Cancel::default();
    let mut cloth = Cloth::on_gpu(&gpu, scene::hang(9).expect("a scene")).expect("a cloth");
    cloth.set_cancel(Some(cancel.clone()));
    cancel.cancel();
    let outcome = pollster::block_on(cloth.step_async(&frame(FRAME)));
    assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
    assert_eq!(cloth.frame(), 0);
}

#[test]
fn checkpoints_have_the_size_that_was_foretold() {
    for (name, cloth) in cloths(5) {
        let Ok(bytes) = cloth.checkpoint() else { continue };
        assert_eq!(bytes.len() as u64, cloth.checkpoint_size(), "{name}");
    }
}
