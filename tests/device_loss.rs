//! A lost device: every call that needs it says so by name, whenever it is lost. None panics, none hangs, and the
//! host's own submissions are not made to fail.
//!
//! Nothing here captures errors for the host: wgpu's own handler panics on the first that reaches it.

mod common;

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use common::*;
use taut::{
    Backend, Cancel, Cloth, Error, Gpu, Hold, Jacobi, Method, Pose, Result, Scene, Settings, Snapshot, Solid,
    SolidShape, YarnSweep, scene, wgpu,
};

/// Hung by two corners, above a ball that turns slowly.
fn subject() -> Scene {
    let mut scene = scene::hang(9).expect("a known scene");
    let ball = Solid::new(SolidShape::Sphere { radius: 0.2 }).at([0.5, -0.3, 0.5]);
    scene.solids.push(Solid { angular_velocity: [0.0, 1.0, 0.0], ..ball });
    scene
}

fn settings() -> Settings {
    Settings { method: Method::YarnSweep(YarnSweep::default()), keep_previous: true, ..Default::default() }
}

fn build(gpu: &Gpu) -> Cloth {
    Cloth::on_gpu(gpu, subject().with_settings(settings())).expect("the device works")
}

fn encoder(gpu: &Gpu) -> wgpu::CommandEncoder {
    gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
}

/// What a thread of its own comes to; a failure where it does not.
fn ends<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || _ = sender.send(work()));
    // Nobody waits that long for anything that ends.
    let outcome = receiver.recv_timeout(Duration::from_secs(120));
    match outcome {
        Ok(outcome) => {
            thread.join().expect("the thread has ended");
            outcome
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => panic!("{what} panicked: {:?}", thread.join().err()),
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what} hangs"),
    }
}

/// A future that nobody wakes: looked at, with the device polled in between.
fn poll_until_ready<T>(gpu: &Gpu, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
        let _ = gpu.device().poll(wgpu::PollType::Poll);
        std::thread::yield_now();
    }
}

fn lost<T>(what: &str, outcome: Result<T>) {
    let outcome = outcome.map(|_| ());
    assert!(matches!(outcome, Err(Error::DeviceLost)), "{what}: {outcome:?}");
}

/// A call on a cloth.
type Call = Box<dyn Fn(&mut Cloth) -> Result<()>>;

fn nothing<T>(_: T) {}

/// Calls that need the device.
fn calls(gpu: &Gpu, checkpoint: Vec<u8>) -> Vec<(&'static str, Call)> {
    let start = subject().start;
    vec![
        ("checkpoint", Box::new(|cloth| cloth.checkpoint().map(nothing))),
        ("checkpoint_async", Box::new(|cloth| pollster::block_on(cloth.checkpoint_async()).map(nothing))),
        ("step", Box::new(|cloth| cloth.step(&frame(FRAME)))),
        ("step_async", Box::new(|cloth| pollster::block_on(cloth.step_async(&frame(FRAME))))),
        ("set_cancel", {
            // The state before the frame cannot be kept either.
            Box::new(|cloth| {
                cloth.set_cancel(Some(Cancel::default()));
                let outcome = cloth.step(&frame(FRAME));
                cloth.set_cancel(None);
                outcome
            })
        }),
        ("snapshot", Box::new(|cloth| cloth.snapshot().map(nothing))),
        ("snapshot_async", Box::new(|cloth| pollster::block_on(cloth.snapshot_async()).map(nothing))),
        ("velocities", Box::new(|cloth| cloth.velocities().map(nothing))),
        ("velocities_async", Box::new(|cloth| pollster::block_on(cloth.velocities_async()).map(nothing))),
        ("contacts", Box::new(|cloth| cloth.contacts().map(nothing))),
        ("contacts_async", Box::new(|cloth| pollster::block_on(cloth.contacts_async()).map(nothing))),
        ("previous_positions", Box::new(|cloth| cloth.previous_positions().map(nothing))),
        ("previous_positions_async", {
            Box::new(|cloth| pollster::block_on(cloth.previous_positions_async()).map(nothing))
        }),
        ("pin_forces", Box::new(|cloth| cloth.pin_forces().map(nothing))),
        ("pin_forces_async", Box::new(|cloth| pollster::block_on(cloth.pin_forces_async()).map(nothing))),
        ("constraint_forces", Box::new(|cloth| cloth.constraint_forces().map(nothing))),
        ("constraint_forces_async", Box::new(|cloth| pollster::block_on(cloth.constraint_forces_async()).map(nothing))),
        ("most_loaded_edge", Box::new(|cloth| cloth.most_loaded_edge().map(nothing))),
        ("most_loaded_edge_async", Box::new(|cloth| pollster::block_on(cloth.most_loaded_edge_async()).map(nothing))),
        ("restore", Box::new(move |cloth| cloth.restore(&checkpoint))),
        ("reset", Box::new(|cloth| cloth.reset())),
        ("set_state", Box::new(move |cloth| cloth.set_state(&start, &[[0.0; 3]; 81]))),
        ("set_user_field", Box::new(|cloth| cloth.set_user_field("user_heat", &[0.0f32; 81]))),
        ("add_solid", Box::new(|cloth| cloth.add_solid(Solid::new(SolidShape::Plane)).map(nothing))),
        ("add_solid_async", {
            let plane = || Solid::new(SolidShape::Plane);
            Box::new(move |cloth| pollster::block_on(cloth.add_solid_async(plane())).map(nothing))
        }),
        ("remove_solid", Box::new(|cloth| cloth.remove_solid(0).map(nothing))),
        ("remove_solid_async", Box::new(|cloth| pollster::block_on(cloth.remove_solid_async(0)).map(nothing))),
        ("change", {
            let method = Method::YarnSweep(YarnSweep { sweeps: 9, ..Default::default() });
            Box::new(move |cloth| cloth.change(|settings| settings.method = method.clone()))
        }),
        ("change_async", {
            let jacobi = |settings: &mut Settings| settings.method = Method::Jacobi(Jacobi::default());
            Box::new(move |cloth| pollster::block_on(cloth.change_async(jacobi)))
        }),
        ("encode_step", {
            let gpu = gpu.clone();
            Box::new(move |cloth| {
                let mut encoder = encoder(&gpu);
                let outcome = cloth.encode_step(&mut encoder, &frame(FRAME)).map(nothing);
                // A panic here is an error that nobody captured.
                gpu.queue().submit([encoder.finish()]);
                outcome
            })
        }),
        ("encode_report", {
            let gpu = gpu.clone();
            Box::new(move |cloth| {
                let mut encoder = encoder(&gpu);
                cloth.encode_report(&mut encoder, false).map(nothing).expect_err("without positions as well");
                let outcome = cloth.encode_report(&mut encoder, true).map(nothing);
                gpu.queue().submit([encoder.finish()]);
                outcome
            })
        }),
    ]
}

/// Calls that the host answers alone.
fn calls_without_device() -> Vec<(&'static str, Call)> {
    vec![
        ("add_impulse", Box::new(|cloth| cloth.add_impulse(40, [1e-4, 0.0, 0.0]))),
        ("teleport", Box::new(|cloth| cloth.teleport(Pose::default()))),
        ("hold", Box::new(|cloth| cloth.hold(&[40], Hold::Fixed))),
        ("move_solid", Box::new(|cloth| cloth.move_solid(0, Pose::default(), [0.0; 3], [0.0; 3]))),
        ("change_solid", Box::new(|cloth| cloth.change_solid(0, |solid| solid.friction = 0.7))),
        ("change_solid_async", {
            Box::new(|cloth| pollster::block_on(cloth.change_solid_async(0, |solid| solid.thickness = 0.01)))
        }),
        ("change", Box::new(|cloth| cloth.change(|settings| settings.drag = 0.1))),
        ("change_async", Box::new(|cloth| pollster::block_on(cloth.change_async(|settings| settings.drag = 0.2)))),
        ("frame_cost", Box::new(|cloth| cloth.frame_cost(FRAME).map(nothing))),
        ("encoded_dispatches", Box::new(|cloth| cloth.encoded_dispatches(FRAME).map(nothing))),
        ("memory_estimate", Box::new(|_| Cloth::memory_estimate(&subject().with_settings(settings())).map(nothing))),
        ("on_cpu", Box::new(|_| Cloth::on_cpu(subject().with_settings(settings())).map(nothing))),
    ]
}

/// Makers of cloths, tried at the end of the test.
const MAKERS: [&str; 4] = ["on_gpu", "on_gpu_async", "on_backend", "on_backend_async"];

/// What only looks at the host's side.
const ACCESSORS: [&str; 19] = [
    "bytes_moved",
    "longest_submission",
    "checkpoint_size",
    "fields",
    "frame",
    "gpu",
    "gpu_phase_seconds",
    "gpu_seconds",
    "index_buffer",
    "mesh",
    "normal_buffer",
    "phase_seconds",
    "position_buffer",
    "previous_position_buffer",
    "program",
    "reason",
    "settings",
    "solids",
    "topology",
];

#[test]
fn every_call_on_a_lost_device_has_a_name_for_it() {
    let Some(gpu) = gpu() else { return };
    let mut cloth = build(&gpu);
    cloth.step(&frame(FRAME)).expect("the step runs");
    let checkpoint = cloth.checkpoint().expect("the device works");
    gpu.device().destroy();
    let mut tried: Vec<&str> = ACCESSORS.into_iter().chain(MAKERS).collect();
    for (name, call) in calls(&gpu, checkpoint.clone()) {
        lost(name, call(&mut cloth));
        tried.push(name);
    }
    for (name, call) in calls_without_device() {
        let outcome = call(&mut cloth);
        assert!(outcome.is_ok(), "{name}: {outcome:?}");
        tried.push(name);
    }
    // With what they left for the next frame it is no different; only a checkpoint has a reason that comes first.
    for (name, call) in calls(&gpu, checkpoint) {
        if !name.starts_with("checkpoint") {
            lost(name, call(&mut cloth));
        }
    }
    let _ = (cloth.position_buffer(), cloth.normal_buffer(), cloth.index_buffer(), cloth.gpu_seconds());
    drop(cloth);

    lost("Gpu::new", Gpu::new(gpu.device(), gpu.queue()));
    lost("Gpu::new_async", pollster::block_on(Gpu::new_async(gpu.device(), gpu.queue())));
    lost("on_gpu", Cloth::on_gpu(&gpu, subject().with_settings(settings())));
    lost("on_gpu_async", pollster::block_on(Cloth::on_gpu_async(&gpu, subject().with_settings(settings()))));
    // A backend opens a device of its own.
    Cloth::on_backend(Backend::Gpu, None, subject().with_settings(settings())).expect("another device works");
    pollster::block_on(Cloth::on_backend_async(Backend::Gpu, None, subject().with_settings(settings())))
        .expect("another device works");

    // A new method of the cloth has to find its place in this file.
    for name in methods_of_cloth() {
        assert!(tried.contains(&name.as_str()), "{name} is not tried on a lost device");
    }
}

/// Names of all public methods of the cloth, from the source.
fn methods_of_cloth() -> Vec<String> {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cloth");
    let mut names = Vec::new();
    for file in std::fs::read_dir(directory).expect("the source is there") {
        let text = std::fs::read_to_string(file.expect("it can be listed").path()).expect("it is text");
        // Of the cloth's own blocks: settings, scenes and reports know no device.
        let blocks = text.split("\nimpl Cloth {\n").skip(1).filter_map(|block| block.split("\n}\n").next());
        for line in blocks.flat_map(str::lines).filter_map(|line| line.strip_prefix("    pub ")) {
            let signature = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
            let name = signature.and_then(|signature| signature.split(['(', '<']).next());
            names.extend(name.map(str::to_owned));
        }
    }
    assert!(names.len() > 40 && names.iter().any(|name| name == "step"), "{names:?}");
    names
}

/// Recorded before, submitted after: frames, and reports behind them.
#[test]
fn frames_that_were_recorded_before_the_loss_can_be_submitted_after_it() {
    let Some(gpu) = gpu() else { return };
    let mut cloth = build(&gpu);
    let mut under_way = encoder(&gpu);
    for _ in 0..2 {
        cloth.encode_step(&mut under_way, &frame(FRAME)).expect("the device works");
    }
    let pending = cloth.encode_report(&mut under_way, true).expect("the device works");
    let mut other = encoder(&gpu);
    cloth.encode_step(&mut other, &frame(FRAME)).expect("the device works");
    let mut dropped = cloth.encode_report(&mut other, false).expect("the device works");
    gpu.device().destroy();
    gpu.queue().submit([under_way.finish()]);
    drop(other);
    let outcome = ends("a report", {
        let gpu = gpu.clone();
        move || poll_until_ready(&gpu, pending.wait_async())
    });
    lost("a report that was submitted", outcome);
    lost("a report that was not", dropped.try_take().expect("its encoder is gone"));
    lost("step", cloth.step(&frame(FRAME)));
}

/// Submitted before, taken after: what has not arrived when the device is lost is an error.
#[test]
fn read_backs_under_way_end_when_the_device_is_lost() {
    let Some(gpu) = gpu() else { return };
    let mut cloth = build(&gpu);
    cloth.step(&frame(FRAME)).expect("the step runs");
    let mut submitted = encoder(&gpu);
    for _ in 0..5 {
        cloth.encode_step(&mut submitted, &frame(FRAME)).expect("the device works");
    }
    let mut taken = cloth.encode_report(&mut submitted, true).expect("the device works");
    let waited = cloth.encode_report(&mut submitted, true).expect("the device works");
    let awaited = cloth.encode_report(&mut submitted, true).expect("the device works");
    gpu.queue().submit([submitted.finish()]);
    ends("everything under way", move || {
        // These submit when they are first looked at, and wait for a poll.
        let mut snapshot = pin!(cloth.snapshot_async());
        let mut velocities = pin!(cloth.velocities_async());
        let mut checkpoint = pin!(cloth.checkpoint_async());
        let mut context = Context::from_waker(Waker::noop());
        assert!(snapshot.as_mut().poll(&mut context).is_pending());
        assert!(velocities.as_mut().poll(&mut context).is_pending());
        assert!(checkpoint.as_mut().poll(&mut context).is_pending());
        gpu.device().destroy();
        let _ = gpu.device().poll(wgpu::PollType::wait_indefinitely());
        lost("snapshot_async", poll_until_ready(&gpu, snapshot));
        lost("velocities_async", poll_until_ready(&gpu, velocities));
        lost("checkpoint_async", poll_until_ready(&gpu, checkpoint));
        lost("try_take", taken.try_take().expect("it is not under way any more"));
        assert!(taken.try_take().is_none(), "an error is given once, too");
        lost("wait", waited.wait());
        lost("wait_async", poll_until_ready(&gpu, awaited.wait_async()));
    });
}

/// A step that waits for its device when that is lost.
#[test]
fn a_step_under_way_ends_when_the_device_is_lost() {
    let Some(gpu) = gpu() else { return };
    let mut cloth = build(&gpu);
    cloth.step(&frame(FRAME)).expect("the step runs");
    ends("a step", move || {
        {
            let input = frame(FRAME);
            let mut step = pin!(cloth.step_async(&input));
            assert!(step.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            gpu.device().destroy();
            lost("step_async", poll_until_ready(&gpu, step));
        }
        lost("step", cloth.step(&frame(FRAME)));
    });
}

/// Another thread is anywhere within these calls when the device is lost.
#[test]
fn a_device_may_be_lost_while_another_thread_uses_it() {
    let Some(first) = gpu() else { return };
    drop(first);
    type Work = fn(&mut Cloth, &Gpu) -> Result<()>;
    let works: [(&str, Work); 5] = [
        ("step", |cloth, _| cloth.step(&frame(FRAME))),
        ("snapshot", |cloth, _| cloth.snapshot().map(nothing)),
        ("checkpoint", |cloth, _| cloth.checkpoint().map(nothing)),
        ("step, cancellable", |cloth, _| {
            cloth.set_cancel(Some(Cancel::default()));
            cloth.step(&frame(FRAME))
        }),
        ("encode_step", |cloth, gpu| {
            let mut encoder = encoder(gpu);
            let frame = cloth.encode_step(&mut encoder, &frame(FRAME)).map(nothing);
            let pending = cloth.encode_report(&mut encoder, true);
            gpu.queue().submit([encoder.finish()]);
            frame?;
            poll_until_ready(gpu, pending?.wait_async()).map(nothing::<Snapshot>)
        }),
    ];
    for (name, work) in works {
        for milliseconds in [0, 7, 40] {
            let Some(gpu) = gpu() else { return };
            let mut cloth = build(&gpu);
            cloth.step(&frame(FRAME)).expect("the step runs");
            let (sender, started) = mpsc::channel();
            let device = gpu.device().clone();
            let destroyer = std::thread::spawn(move || {
                started.recv().expect("the work begins");
                std::thread::sleep(Duration::from_millis(milliseconds));
                device.destroy();
            });
            let error = ends(name, move || {
                sender.send(()).expect("somebody waits for it");
                loop {
                    if let Err(error) = work(&mut cloth, &gpu) {
                        // And it stays so.
                        lost(name, work(&mut cloth, &gpu));
                        return error;
                    }
                }
            });
            destroyer.join().expect("a device can be destroyed");
            assert!(matches!(error, Error::DeviceLost), "{name}, after {milliseconds} ms: {error:?}");
        }
    }
}

/// Loss, a new device, the last checkpoint: the same bytes as without the loss.
#[test]
fn a_cloth_comes_back_on_another_device() {
    let (Some(first), Some(second)) = (gpu(), gpu()) else { return };
    let mut whole = build(&second);
    let mut broken = build(&first);
    for cloth in [&mut whole, &mut broken] {
        (0..5).for_each(|_| cloth.step(&frame(FRAME)).expect("the step runs"));
    }
    let checkpoint = broken.checkpoint().expect("the device works");
    first.device().destroy();
    lost("step", broken.step(&frame(FRAME)));
    let mut again = build(&second);
    again.restore(&checkpoint).expect("the checkpoint is whole");
    for cloth in [&mut whole, &mut again] {
        (0..5).for_each(|_| cloth.step(&frame(FRAME)).expect("the step runs"));
    }
    assert_eq!(whole.checkpoint().expect("the device works"), again.checkpoint().expect("the device works"));
}
