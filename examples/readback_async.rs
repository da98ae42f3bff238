//! Reports and positions without waiting for the GPU.
//!
//! `cargo run --example readback_async` steps a cloth as a renderer would: every frame is recorded with a read-back
//! behind it, submitted, and whatever has arrived meanwhile is looked at. Nothing blocks; reports come a frame or two
//! late.

use std::collections::VecDeque;

use taut::{Backend, Cloth, FrameInput, Pending, Snapshot, scene, wgpu};

const FRAMES: usize = 60;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(gpu) = Backend::Gpu.choose(None).ok().and_then(|choice| choice.gpu) else {
        println!("there is no adapter: nothing to read back from");
        return Ok(());
    };
    let mut cloth = Cloth::on_gpu(&gpu, scene::hang(24)?)?;
    let mut waiting: VecDeque<(usize, Pending<Snapshot>)> = VecDeque::new();
    let (mut arrived, mut worst, mut latest) = (0, 0.0f64, 0);
    for frame in 0..FRAMES {
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        cloth.encode_step(&mut encoder, &FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
        waiting.push_back((frame, cloth.encode_report(&mut encoder, true)?));
        // ... the renderer's own passes go here ...
        gpu.queue().submit([encoder.finish()]);
        gpu.device().poll(wgpu::PollType::Poll)?; // looks, and does not wait

        // Reports arrive in order: take those that are there.
        while let Some((of, pending)) = waiting.front_mut() {
            let Some(snapshot) = pending.try_take() else { break };
            let report = snapshot?.report;
            worst = worst.max(report.strain.map_or(f64::NAN, |strain| strain.max));
            latest = latest.max(frame - *of);
            arrived += 1;
            waiting.pop_front();
        }
    }
    // Only at the end somebody waits for the rest.
    gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
    for (_, mut pending) in waiting {
        let snapshot = pending.try_take().ok_or("everything was waited for")??;
        worst = worst.max(snapshot.report.strain.map_or(f64::NAN, |strain| strain.max));
        arrived += 1;
    }
    println!("{arrived} of {FRAMES} reports, at most {latest} frames late; largest strain {worst:.3e}");
    Ok(())
}
