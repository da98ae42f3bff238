//! Time per simulated second of every solver, with the strain that was really held beside it.
//!
//! `cargo bench --bench solvers` prints the table of docs/solvers.md. Contenders run interleaved in one process on the
//! CPU path, on one thread; times, those that the thread ran where the system tells, are medians of three runs. Equal
//! rules: every substep ends at the limit, not only the last of a frame. Without `--bench` (as `cargo test --benches`
//! calls it) it runs everything once at toy size, so that it cannot rot.

#[path = "../program/src/bench/stopwatch.rs"]
mod stopwatch;
#[path = "common/threads.rs"]
mod threads;

use stopwatch::Stopwatch;
use taut::{Cloth, FastProjection, FrameInput, Method, Preconditioner, Result, Scene, Settings};
use threads::on_threads;

/// Fast projection with the diagonal as preconditioner, as everybody has it.
const DIAGONAL: &str = "fast-projection, diagonal";

/// One line of the table.
struct Row {
    scene: &'static str,
    size: u32,
    solver: &'static str,
    limit: f32,
    seconds: Vec<f64>,
    strain: f64,
    over: u32,
    substeps: u32,
    iterations: f64,
}

fn main() -> Result<()> {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (frames, repetitions) = if full { (60, 3) } else { (2, 1) };
    let mut rows: Vec<Row> = Vec::new();
    // Gauss-Seidel and Jacobi take minutes per simulated second where a corner carries everything at 0.1 %.
    let rows_of =
        [("chain", 0.01), ("chain", 0.001), ("curtain", 0.01), ("curtain", 0.001), ("hang", 0.01), ("drape", 0.01)];
    for (scene, limit) in rows_of {
        for solver in Method::NAMES.into_iter().chain([DIAGONAL]) {
            let (seconds, size) = (Vec::new(), if full { 32 } else { 8 });
            rows.push(Row { scene, size, solver, limit, seconds, strain: 0.0, over: 0, substeps: 0, iterations: 0.0 });
        }
    }
    for _ in 0..repetitions {
        for row in &mut rows {
            on_threads(1, || run(row, frames))?;
        }
    }
    println!("| scene | solver | limit | substeps | iterations | worst strain | frames over | s per s |");
    println!("|---|---|---|---|---|---|---|---|");
    for row in &mut rows {
        row.seconds.sort_by(f64::total_cmp);
        let median = row.seconds[row.seconds.len() / 2] * 60.0 / f64::from(frames);
        let Row { scene, solver, substeps, iterations, over, .. } = row;
        let (limit, strain) = (row.limit * 100.0, row.strain * 100.0);
        println!(
            "| {scene} | {solver} | {limit} % | {substeps} | {iterations:.1} | {strain:.4} % | {over} | {median:.3} |"
        );
    }
    Ok(())
}

/// Simulates `frames` frames and notes what they took and reached.
fn run(row: &mut Row, frames: u32) -> Result<()> {
    let preconditioner = Preconditioner::Jacobi;
    let diagonal = Method::FastProjection(FastProjection { preconditioner, ..Default::default() });
    let method = Method::named(row.solver).unwrap_or(diagonal);
    let settings = Settings { method, strain_limit: row.limit, middle_strain: Some(row.limit), ..Default::default() };
    let mut cloth = Cloth::on_cpu(Scene::named(row.scene, row.size)?.with_settings(settings))?;
    let (mut seconds, mut iterations) = (0.0, 0u64);
    (row.strain, row.over) = (0.0, 0);
    for _ in 0..frames {
        let start = Stopwatch::start();
        cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
        seconds += start.seconds();
        let report = cloth.snapshot()?.report;
        row.strain = row.strain.max(report.strain.map_or(f64::INFINITY, |strain| strain.max));
        row.over += u32::from(report.converged != Some(true));
        row.substeps = report.substeps;
        iterations += u64::from(report.iterations);
    }
    row.iterations = iterations as f64 / f64::from(frames);
    row.seconds.push(seconds);
    Ok(())
}
