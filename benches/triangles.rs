//! Triangles that are no squares: what linear solves take where yarns are short pieces, and where triangles lock.
//!
//! `cargo bench --bench triangles` prints sheets of 32, 71 and 150 vertices a side, `cargo bench --bench triangles --
//! 300` those of that size alone; `substeps=16` and `iterations=60` ask for so many substeps per frame, and so many
//! iterations of a linear solve at most, `frames=2` for so many frames. Seconds are those of this process, on one
//! thread. Without `--bench` it runs once at toy size.

#[path = "../program/src/bench/stopwatch.rs"]
mod stopwatch;
#[path = "common/threads.rs"]
mod threads;

use stopwatch::Stopwatch;
use taut::{
    Auto, Cloth, Face, FastProjection, FrameInput, Mesh, MeshDescriptor, Method, Result, Scene, Settings, Substeps,
    Weave,
};
use threads::on_threads;

/// A sheet of n × n vertices of squares whose vertices were moved about by up to 0.3 of a side, and that were cut along
/// the shorter diagonal; hung by a row or by the corners of one.
fn sheet(n: u32, weave: Option<Weave>, row: bool) -> Result<Scene> {
    let mut state = 7_u32;
    let mut shift = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        0.6 * ((state >> 8) as f32 / (1 << 24) as f32 - 0.5)
    };
    let l = 1.0 / (n - 1) as f32;
    let mut positions = Vec::new();
    for (row, column) in (0..n).flat_map(|row| (0..n).map(move |column| (row, column))) {
        let inner = [row, column].iter().all(|place| (1..n - 1).contains(place));
        let [x, z] = if inner { [shift(), shift()] } else { [0.0; 2] };
        positions.push([l * (column as f32 + x), 0.0, l * (row as f32 + z)]);
    }
    let mut faces = Vec::new();
    for (row, column) in (0..n - 1).flat_map(|row| (0..n - 1).map(move |column| (row, column))) {
        let [a, b, c, d] = [[0, 0], [0, 1], [1, 1], [1, 0]].map(|[y, x]| (row + y) * n + column + x);
        let extent = |v: u32, w: u32| {
            let (v, w) = (positions[v as usize], positions[w as usize]);
            (v[0] - w[0]).hypot(v[2] - w[2])
        };
        let first = extent(a, c) < extent(b, d);
        faces.extend(if first { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] }.map(Face::Triangle));
    }
    let pins = if row { (0..n).collect() } else { vec![0, n - 1] };
    let mesh = Mesh::new(MeshDescriptor { positions: positions.clone(), faces, pins, weave, ..Default::default() })?;
    Ok(Scene::new("triangles", mesh, positions))
}

fn main() -> Result<()> {
    on_threads(1, print_table)
}

fn print_table() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let full = arguments.iter().any(|argument| argument == "--bench");
    let number = |key: &str| arguments.iter().find_map(|argument| argument.strip_prefix(key)?.parse::<u32>().ok());
    let sizes: Vec<u32> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = match (full, sizes.is_empty()) {
        (false, _) => vec![12],
        (true, true) => vec![32, 71, 150],
        (true, false) => sizes,
    };
    let frames = number("frames=").unwrap_or(if full { 12 } else { 2 });
    let substeps = number("substeps=").map_or(Substeps::Auto, Substeps::Fixed);
    let projection = FastProjection { inner_iterations: number("iterations="), ..Default::default() };
    let method = Method::Auto(Auto { projection, ..Default::default() });
    println!("per frame, mean of {frames} at 60 Hz and 1 %\n");
    println!(
        "| sheet | substeps | projections | iterations of linear solves | s | frames over | mean height | rms speed |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (kind, weave) in [("woven", Some(Weave::Sides)), ("locked", None)] {
        for (hung, row) in [("row", true), ("two corners", false)] {
            for &size in &sizes {
                let settings = Settings { method: method.clone(), substeps, ..Default::default() };
                let mut cloth = Cloth::on_cpu(sheet(size, weave.clone(), row)?.with_settings(settings))?;
                let (mut sums, mut over) = ([0; 3], 0);
                let watch = Stopwatch::start();
                for _ in 0..frames {
                    cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
                    let report = cloth.snapshot()?.report;
                    over += u32::from(report.converged != Some(true));
                    let counts = [report.substeps, report.iterations, report.inner_iterations];
                    sums = [0, 1, 2].map(|k| sums[k] + u64::from(counts[k]));
                }
                let seconds = watch.seconds() / f64::from(frames);
                let [substeps, outer, inner] = sums.map(|sum| sum as f64 / f64::from(frames));
                let positions = cloth.snapshot()?.positions;
                let height = positions.iter().map(|p| f64::from(p[1])).sum::<f64>() / positions.len() as f64;
                let squares = cloth.velocities()?.iter().flatten().map(|v| f64::from(*v).powi(2)).sum::<f64>();
                let speed = (squares / positions.len() as f64).sqrt();
                println!(
                    "| {kind} {size}, {hung} | {substeps:.1} | {outer:.1} | {inner:.0} | {seconds:.3} | {over} of \
                     {frames} | {height:.4} | {speed:.2e} |"
                );
            }
        }
    }
    Ok(())
}
