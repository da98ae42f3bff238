//! A hundred cloths on one device: pipelines are compiled once and shared, every cloth has buffers of its own, and all
//! of them are recorded into one encoder and submitted together.
//!
//! `cargo run --example many_cloths`

use std::time::Instant;

use taut::{Backend, Cloth, FrameInput, Gpu, scene, wgpu};

const CLOTHS: u32 = 100;
const FRAMES: u32 = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(gpu) = Backend::Gpu.choose(None).ok().and_then(|choice| choice.gpu) else {
        println!("there is no adapter");
        return Ok(());
    };
    println!("on {}", gpu.adapter().map(Gpu::label).unwrap_or_default());

    // The first compiles its kernels; the others only make buffers.
    let mut cloths = Vec::new();
    let mut clock = Instant::now();
    for index in 0..CLOTHS {
        let mut scene = scene::curtain(8)?;
        // Each somewhere else, so that they differ.
        let angle = index as f32 * 0.1;
        scene.start.iter_mut().for_each(|[_, y, z]| (*y, *z) = (*z * -angle.sin(), *z * angle.cos()));
        // Small cloth needs few iterations; what is recorded costs, whether it has something to do or not.
        scene.settings.dispatch_budget = 200;
        cloths.push(Cloth::on_gpu(&gpu, scene)?);
        if index == 0 {
            println!("the first: {:.0} ms", clock.elapsed().as_secs_f64() * 1e3);
            clock = Instant::now();
        }
    }
    let each = clock.elapsed().as_secs_f64() * 1e3 / f64::from(CLOTHS - 1);
    println!("each of the others: {each:.1} ms");

    let mut dispatches = 0;
    for _ in 0..FRAMES {
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for cloth in &mut cloths {
            dispatches += cloth.encode_step(&mut encoder, &FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
        }
        gpu.queue().submit([encoder.finish()]);
    }
    let mut worst = 0.0f64;
    let mut held = 0;
    for cloth in &cloths {
        let report = cloth.snapshot()?.report;
        held += u32::from(report.converged == Some(true));
        worst = worst.max(report.strain.map_or(f64::NAN, |strain| strain.max));
    }
    println!(
        "{FRAMES} frames, {dispatches} dispatches: {held} of {CLOTHS} cloths hold 1 %, largest strain {worst:.3e}"
    );
    Ok(())
}
