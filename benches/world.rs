//! What elasticity, bending and contact cost beside the projection: one second of `drape` at several sizes.
//!
//! `cargo bench --bench world` prints the table; without `--bench` everything runs once at toy size. Times are those of
//! the phases of a step on the CPU, summed over the run; strain and depth are recomputed from every frame's positions.

use taut::engine::program::Phase;
use taut::stage::phase;
use taut::{Cloth, FrameInput, Result, scene};

fn main() -> Result<()> {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (sizes, frames): (&[u32], u32) = if full { (&[36, 71, 142], 60) } else { (&[12], 5) };
    let phases = phase::ALL.map(|phase| phase.name).join(" | ");
    println!("| drape | {phases} | (forces + elastic + contact) / projection | worst strain | deepest | over |");
    println!("|{}", "---|".repeat(phase::ALL.len() + 5));
    for size in sizes {
        let mut cloth = Cloth::on_cpu(scene::drape(*size)?)?;
        let mut seconds = [0.0; phase::ALL.len()];
        let (mut strain, mut deepest, mut over) = (0.0f64, f32::MAX, 0);
        // The fall takes 0.1 s; what is measured is contact.
        for _ in 0..frames {
            cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
            for (sum, phase) in seconds.iter_mut().zip(phase::ALL) {
                *sum += cloth.phase_seconds(phase);
            }
            let snapshot = cloth.snapshot()?;
            strain = strain.max(snapshot.report.strain.as_ref().map_or(f64::INFINITY, |strain| strain.max));
            over += u32::from(snapshot.report.converged != Some(true));
            let ball = &cloth.solids()[0];
            deepest = snapshot.positions.iter().map(|point| ball.distance(*point)).fold(deepest, f32::min);
        }
        let of = |phase: Phase| seconds[phase::ALL.iter().position(|p| *p == phase).unwrap_or(0)];
        let ratio = (of(phase::FORCES) + of(phase::ELASTIC) + of(phase::CONTACT)) / of(phase::PROJECTION);
        let columns = seconds.map(|seconds| format!("{seconds:.3} s")).join(" | ");
        println!(
            "| {size} × {size} | {columns} | {ratio:.2} | {:.3} % | {:.2} mm | {over} of {frames} |",
            100.0 * strain,
            1e3 * deepest
        );
    }
    Ok(())
}
