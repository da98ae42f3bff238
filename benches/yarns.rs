//! What yarn solves are good for, against the other solvers: iterations, time to strain, bandwidth, growth, dispatches.
//!
//! `cargo bench --bench yarns` prints all tables, `cargo bench --bench yarns -- 2 8` those of these numbers. Contenders
//! run interleaved in one process; times are medians. Every time has the strain beside it that was really held,
//! recomputed in f64; a run that missed its limit is marked and not compared. Without `--bench` everything runs once at
//! toy size.

#[path = "common/threads.rs"]
mod threading;

use std::time::Instant;

use taut::engine::cpu;
use taut::engine::fields::Fields;
use taut::solver::yarn_sweep;
use taut::stage::recorder::{Recorder, Woven};
use taut::{
    Backend, Cloth, FastProjection, FrameInput, GaussSeidel, Method, Preconditioner, Result, Scene, Settings, Substeps,
    scene,
};
use threading::on_threads;

const FRAME: f32 = 1.0 / 60.0;

/// Prints a table, at full or at toy size.
type Table = fn(bool) -> Result<()>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let full = arguments.iter().any(|argument| argument == "--bench");
    let wanted: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let tables: [(&str, Table); 8] = [
        ("1. Inner iterations per projection of the Schur form, tolerance 1e-2", inner_iterations),
        ("2. Curtain at 0.1 %: time to strain of each solver's fastest setting that holds it", curtain),
        ("3. Bandwidth of the yarn sweep on one thread", bandwidth),
        ("4. Growth with the number of vertices: curtain at 1 %, automatic substeps", growth),
        ("5. Two threads against one: streaming, sweeps and whole frames at 1 %", threads),
        ("6. Dispatches per frame and time on the first adapter: hang 71 × 71 at 1 %", dispatches),
        ("7. Two-corner scenes", corners),
        ("8. Patch at 1 %, one second", patch),
    ];
    for (title, table) in tables {
        let number = title.split('.').next().and_then(|number| number.parse().ok()).unwrap_or(0);
        if wanted.is_empty() || wanted.contains(&number) {
            println!("\n{title}\n");
            table(full)?;
        }
    }
    Ok(())
}

/// What a run reached.
#[derive(Clone, Debug, Default)]
struct Outcome {
    seconds: f64,
    strain: f64,
    over: u32,
    substeps: f64,
    iterations: f64,
    inner: f64,
    lowest: f64,
    lowest_at: f64,
    dispatches: u64,
    recorded: u64,
}

fn simulate(mut cloth: Cloth, frames: u32) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for number in 1..=frames {
        let start = Instant::now();
        cloth.step(&FrameInput { dt: FRAME, ..Default::default() })?;
        outcome.seconds += start.elapsed().as_secs_f64();
        let snapshot = cloth.snapshot()?;
        let report = snapshot.report;
        outcome.strain = outcome.strain.max(report.strain.map_or(f64::INFINITY, |strain| strain.max));
        outcome.over += u32::from(report.converged != Some(true));
        outcome.substeps += f64::from(report.substeps) / f64::from(frames);
        outcome.iterations += f64::from(report.iterations);
        outcome.dispatches += report.executed_dispatches.unwrap_or(0);
        outcome.recorded = report.recorded_dispatches;
        outcome.inner += f64::from(report.inner_iterations);
        let height = snapshot.positions.iter().map(|x| f64::from(x[1])).sum::<f64>() / snapshot.positions.len() as f64;
        if height < outcome.lowest {
            (outcome.lowest, outcome.lowest_at) = (height, f64::from(number) / 60.0);
        }
    }
    Ok(outcome)
}

fn on_cpu(name: &str, size: u32, method: Method, limit: f32, substeps: Substeps) -> Result<Cloth> {
    Cloth::on_cpu(Scene::named(name, size)?.with_settings(Settings {
        method,
        strain_limit: limit,
        substeps,
        ..Default::default()
    }))
}

fn fast(preconditioner: Preconditioner, tolerance: f32) -> Method {
    Method::FastProjection(FastProjection { preconditioner, tolerance, ..Default::default() })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn inner_iterations(full: bool) -> Result<()> {
    println!("| scene | n | Schur | lines | diagonal | asked for |\n|---|---|---|---|---|---|");
    let sizes: &[u32] = if full { &[32, 71, 128, 256, 1024] } else { &[12] };
    for name in ["curtain", "hang"] {
        for &size in sizes {
            let frames = match size {
                ..=128 => 20,
                129..=256 => 8,
                _ => 1,
            };
            let per_outer = |preconditioner: Preconditioner| -> Result<String> {
                let skip = match preconditioner {
                    Preconditioner::Jacobi => 128,
                    Preconditioner::Lines => 256,
                    _ => u32::MAX,
                };
                if size > skip {
                    return Ok("–".into());
                }
                let outcome = simulate(on_cpu(name, size, fast(preconditioner, 1e-2), 0.01, Substeps::Auto)?, frames)?;
                Ok(format!("{:.1}", outcome.inner / outcome.iterations))
            };
            let asked = match size {
                ..=128 => 4,
                129..=256 => 6,
                _ => 12,
            };
            let [schur, lines, diagonal] =
                [Preconditioner::LinesSchur, Preconditioner::Lines, Preconditioner::Jacobi].map(per_outer);
            println!("| {name} | {size} | {} | {} | {} | ≤ {asked} |", schur?, lines?, diagonal?);
        }
    }
    Ok(())
}

/// Runs every setting of every contender, interleaved, and prints the fastest that held its limit.
fn race(name: &str, size: u32, limit: f32, frames: u32, repetitions: u32, contenders: &[Contender]) -> Result<()> {
    let mut runs: Vec<(usize, Substeps, Vec<Outcome>)> = Vec::new();
    for (index, contender) in contenders.iter().enumerate() {
        runs.extend(contender.substeps.iter().map(|substeps| (index, *substeps, Vec::new())));
    }
    for _ in 0..repetitions {
        for (index, substeps, outcomes) in &mut runs {
            let method = contenders[*index].method.clone();
            outcomes.push(simulate(on_cpu(name, size, method, limit, *substeps)?, frames)?);
        }
    }
    let mut first = None;
    for (index, contender) in contenders.iter().enumerate() {
        let mine = runs.iter().filter(|run| run.0 == index);
        let time =
            |run: &&(usize, Substeps, Vec<Outcome>)| median(run.2.iter().map(|outcome| outcome.seconds).collect());
        let held = mine.clone().filter(|run| run.2.iter().all(|outcome| outcome.over == 0));
        let best = held.min_by(|a, b| time(a).total_cmp(&time(b)));
        let missed = best.is_none();
        // Where none held, the one that came nearest.
        let nearest = || mine.clone().min_by_key(|run| run.2[0].over);
        let Some(run) = best.or_else(nearest) else { continue };
        let seconds = time(&run) * 60.0 / f64::from(frames);
        let reference = *first.get_or_insert(seconds);
        let outcome = &run.2[0];
        println!(
            "| {name} {size} | {} | {:?} ({:.1}) | {:.3} % | {} of {frames} | {seconds:.3} | {} |",
            contender.name,
            run.1,
            outcome.substeps,
            100.0 * outcome.strain,
            outcome.over,
            if missed { "missed".into() } else { format!("{:.1}×", seconds / reference) },
        );
    }
    Ok(())
}

struct Contender {
    name: &'static str,
    method: Method,
    substeps: Vec<Substeps>,
}

const RACE: &str = "| scene | solver | substeps | worst strain | frames over | s per s | times `auto` |\n|---|---|---|---|---|---|---|";

fn curtain(full: bool) -> Result<()> {
    println!("{RACE}");
    let counts = |list: &[u32]| {
        let mut substeps = vec![Substeps::Auto];
        substeps.extend(list.iter().map(|count| Substeps::Fixed(*count)));
        substeps
    };
    let gauss_seidel = |sweeps| Method::GaussSeidel(GaussSeidel { sweeps, ..Default::default() });
    let cases: &[(u32, u32, u32)] = if full { &[(71, 60, 3), (256, 4, 1)] } else { &[(9, 2, 1)] };
    for &(size, frames, repetitions) in cases {
        let large = size > 128;
        let contenders = [
            Contender { name: "auto", method: Method::default(), substeps: counts(if full { &[2, 3] } else { &[] }) },
            Contender {
                name: "fast projection, diagonal",
                method: fast(Preconditioner::Jacobi, 0.1),
                substeps: counts(match (full, large) {
                    (true, true) => &[16],
                    (true, false) => &[3, 8],
                    _ => &[],
                }),
            },
            Contender {
                name: "Gauss-Seidel",
                method: gauss_seidel(4000),
                // Many small substeps with a sweep each: what it does best.
                substeps: match (full, large) {
                    (true, true) => vec![Substeps::Fixed(300), Substeps::Fixed(600)],
                    (true, false) => [60, 120, 240].map(Substeps::Fixed).to_vec(),
                    _ => counts(&[]),
                },
            },
        ];
        race("curtain", size, 0.001, frames, repetitions, &contenders)?;
    }
    Ok(())
}

fn patch(full: bool) -> Result<()> {
    println!("{RACE}");
    let cases: &[(u32, u32)] = if full { &[(71, 60), (128, 8)] } else { &[(9, 2)] };
    for &(size, frames) in cases {
        let fixed = |counts: [u32; 2]| {
            if full { counts.map(Substeps::Fixed).to_vec() } else { vec![Substeps::Auto] }
        };
        let contenders = [
            Contender { name: "auto", method: Method::default(), substeps: vec![Substeps::Auto] },
            Contender {
                name: "Gauss-Seidel",
                method: Method::GaussSeidel(GaussSeidel { sweeps: 4000, ..Default::default() }),
                substeps: fixed(if size > 100 { [120, 240] } else { [60, 120] }),
            },
        ];
        race("patch", size, 0.01, frames, 1, &contenders)?;
    }
    Ok(())
}

/// a = b + c/2 over arrays far larger than any cache, in GB/s; three arrays of four bytes are counted. Every one of the
/// threads has its part of them.
fn triad(length: usize, threads: usize) -> f64 {
    let (b, c) = (vec![1.0f32; length], vec![2.0f32; length]);
    let mut a = vec![0.0f32; length];
    let mut best = f64::INFINITY;
    let part = length.div_ceil(threads);
    for _ in 0..4 {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for ((a, b), c) in a.chunks_mut(part).zip(b.chunks(part)).zip(c.chunks(part)) {
                scope.spawn(move || {
                    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                        *a = *b + 0.5 * *c;
                    }
                });
            }
        });
        best = best.min(start.elapsed().as_secs_f64());
    }
    assert!(a.iter().all(|a| *a == 2.0));
    12.0 * length as f64 / best / 1e9
}

/// Floats of an array that no cache holds.
fn streamed(full: bool) -> usize {
    if full { 32_000_000 } else { 100_000 }
}

/// Bytes per vertex and sweep of two families, each field once: vertices 16, displacements 16 read and 16 written,
/// edges 16, tensions 4 read and 4 written; scratch of a bundle: indices and rest lengths 8, what moves 20, rows 20.
const BYTES: f64 = 2.0 * (16.0 + 32.0 + 16.0 + 8.0 + 8.0 + 20.0 + 20.0);

/// Seconds of one sweep over both families of a moving curtain, by the kernels alone.
fn sweep_seconds(size: u32, sweeps: u32) -> Result<f64> {
    let mut cloth = on_cpu("curtain", size, Method::default(), 0.01, Substeps::Fixed(1))?;
    cloth.step(&FrameInput { dt: 1e-3, ..Default::default() })?;
    let mut fields: Fields = cloth.fields().cloned().expect("the cloth is on the CPU");
    let topology = cloth.topology();
    let sizes = *fields.sizes();
    let mut recorder = Recorder::new(&sizes, Woven::new(&topology.coloring.ranges, &topology.yarns, 0));
    for _ in 0..sweeps {
        yarn_sweep::project_family(&mut recorder, 0);
        yarn_sweep::project_family(&mut recorder, 1);
    }
    let program = recorder.finish()?;
    let runner = cpu::Runner::new(&program, &fields)?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        runner.run(&program, &mut fields)?;
        times.push(start.elapsed().as_secs_f64() / f64::from(sweeps));
    }
    Ok(median(times))
}

fn bandwidth(full: bool) -> Result<()> {
    println!("| n | ns per vertex and sweep | GB/s | of streaming |\n|---|---|---|---|");
    let sizes: &[u32] = if full { &[71, 256, 512, 1024] } else { &[16] };
    for &size in sizes {
        // Beside every size: other programs on the machine take of both.
        let stream = triad(streamed(full), 1);
        let seconds = on_threads(1, || sweep_seconds(size, if size > 300 { 2 } else { 8 }))?;
        let vertices = f64::from(size).powi(2);
        let rate = BYTES * vertices / seconds / 1e9;
        let share = rate / stream;
        println!("| {size} | {:.1} | {rate:.1} | {share:.2} of {stream:.1} GB/s |", 1e9 * seconds / vertices);
    }
    println!("\n{BYTES} bytes per vertex and sweep, asked for: at least half of streaming from 512 × 512 on.");
    Ok(())
}

/// What two threads give where memory gives what the first row says: frames gain at least 1.6 from 256 × 256 on where
/// streaming gains 1.8.
fn threads(full: bool) -> Result<()> {
    println!("| | one thread | two threads | gain |\n|---|---|---|---|");
    let repetitions = if full { 3 } else { 1 };
    // In turn, so that both see the same neighbors.
    let both = |measure: &(dyn Fn(usize) -> Result<f64> + Sync)| -> Result<[f64; 2]> {
        let mut found = [Vec::new(), Vec::new()];
        for _ in 0..repetitions {
            for (index, found) in found.iter_mut().enumerate() {
                found.push(measure(index + 1)?);
            }
        }
        Ok(found.map(median))
    };
    let [one, two] = both(&|threads| Ok(triad(streamed(full), threads)))?;
    println!("| streaming, GB/s | {one:.1} | {two:.1} | {:.2} |", two / one);
    let sweeps: &[u32] = if full { &[71, 128, 256, 512] } else { &[12] };
    for &size in sweeps {
        let [one, two] = both(&|threads| on_threads(threads, || sweep_seconds(size, 4)))?;
        println!("| sweep {size}, ms | {:.3} | {:.3} | {:.2} |", 1e3 * one, 1e3 * two, one / two);
    }
    let cases: &[(&str, u32, u32)] = if full {
        &[
            ("hang", 71, 30),
            ("hang", 128, 10),
            ("hang", 256, 4),
            ("curtain", 71, 60),
            ("curtain", 128, 20),
            ("curtain", 256, 10),
        ]
    } else {
        &[("hang", 9, 1)]
    };
    for &(name, size, frames) in cases {
        let seconds = |threads| {
            on_threads(threads, || {
                Ok(simulate(on_cpu(name, size, Method::default(), 0.01, Substeps::Auto)?, frames)?.seconds)
            })
        };
        let [one, two] = both(&seconds)?.map(|seconds| 1e3 * seconds / f64::from(frames));
        println!("| {name} {size}, ms per frame | {one:.2} | {two:.2} | {:.2} |", one / two);
    }
    Ok(())
}

/// Slope of log(time) against log(vertices).
fn exponent(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let (sx, sy) = logs.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
    let (sxx, sxy) = logs.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x * x, b + x * y));
    (count * sxy - sx * sy) / (count * sxx - sx * sx)
}

fn growth(full: bool) -> Result<()> {
    println!("| n | substeps | worst strain | frames over | s per s | ms per sweep |\n|---|---|---|---|---|---|");
    let sizes: &[u32] = if full { &[33, 65, 129, 257, 513] } else { &[9, 17] };
    let (mut whole, mut single) = (Vec::new(), Vec::new());
    for &size in sizes {
        // The first half second, where the load is largest; less of the largest.
        let frames = if !full {
            2
        } else if size > 300 {
            10
        } else {
            30
        };
        let outcome = simulate(on_cpu("curtain", size, Method::default(), 0.01, Substeps::Auto)?, frames)?;
        let seconds = outcome.seconds * 60.0 / f64::from(frames);
        let sweep = sweep_seconds(size, 2)?;
        println!(
            "| {size} | {:.1} | {:.3} % | {} of {frames} | {seconds:.3} | {:.3} |",
            outcome.substeps,
            100.0 * outcome.strain,
            outcome.over,
            1e3 * sweep
        );
        whole.push((f64::from(size).powi(2), seconds));
        single.push((f64::from(size).powi(2), sweep));
    }
    println!("\nexponents: {:.2} per simulated second, {:.2} per sweep", exponent(&whole), exponent(&single));
    Ok(())
}

fn dispatches(full: bool) -> Result<()> {
    let Ok(choice) = Backend::Gpu.choose(None) else {
        println!("There is no adapter that computes.");
        return Ok(());
    };
    let Some(gpu) = choice.gpu else { return Ok(()) };
    let (size, frames) = if full { (71, 3) } else { (9, 1) };
    let input = FrameInput { dt: FRAME, ..Default::default() };
    // As a renderer does it: recorded without knowing how much is needed.
    let settings = Settings { dispatch_budget: 600, ..Default::default() };
    let mut cloth = Cloth::on_gpu(&gpu, scene::hang(size)?.with_settings(settings))?;
    let recorded = cloth.encoded_dispatches(FRAME)?;
    let (mut strain, mut over) = (0.0f64, 0);
    let count = if full { 60 } else { 2 };
    for _ in 0..count {
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        cloth.encode_step(&mut encoder, &input)?;
        gpu.queue().submit([encoder.finish()]);
        let report = cloth.snapshot()?.report;
        strain = strain.max(report.strain.map_or(f64::INFINITY, |strain| strain.max));
        over += u32::from(report.converged != Some(true));
    }
    println!("`auto`, recorded: {recorded} dispatches per frame with those that do nothing; worst strain");
    println!("{:.3} %, {over} of {count} frames over the limit.\n", 100.0 * strain);
    // Against each other: the same frames, stepped alike, in turn.
    println!("| solver | worst strain | frames over | s per frame |\n|---|---|---|---|");
    let methods = [("auto", Method::default()), ("fast projection, diagonal", fast(Preconditioner::Jacobi, 0.1))];
    let mut cloths = Vec::new();
    for (name, method) in methods {
        let settings = Settings { method, ..Default::default() };
        cloths.push((name, Cloth::on_gpu(&gpu, scene::hang(size)?.with_settings(settings))?, 0.0, 0.0f64, 0));
    }
    for _ in 0..frames {
        for (_, cloth, seconds, strain, over) in &mut cloths {
            let start = Instant::now();
            cloth.step(&input)?;
            *seconds += start.elapsed().as_secs_f64() / f64::from(frames);
            let report = cloth.snapshot()?.report;
            *strain = strain.max(report.strain.map_or(f64::INFINITY, |strain| strain.max));
            *over += u32::from(report.converged != Some(true));
        }
    }
    for (name, _, seconds, strain, over) in &cloths {
        println!("| {name} | {:.3} % | {over} of {frames} | {seconds:.3} |", 100.0 * strain);
    }
    println!("\nratio: {:.1}", cloths[1].2 / cloths[0].2);
    Ok(())
}

fn corners(full: bool) -> Result<()> {
    println!(
        "| scene | limit | substeps | sweeps per frame | dispatches | recorded | worst strain | frames over | \
         lowest center | s per s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let cases: &[(&str, u32, f32)] = if full {
        &[
            ("hang", 71, 0.01),
            ("hang", 71, 0.001),
            ("hang", 128, 0.01),
            ("hang", 128, 0.001),
            ("patch", 71, 0.01),
            ("patch", 128, 0.01),
        ]
    } else {
        &[("hang", 9, 0.01)]
    };
    for &(name, size, limit) in cases {
        let frames = if full { 60 } else { 2 };
        let outcome = simulate(on_cpu(name, size, Method::default(), limit, Substeps::Auto)?, frames)?;
        println!(
            "| {name} {size} | {} % | {:.1} | {:.1} | {:.1} | {} | {:.4} % | {} of {frames} | {:.3} m at {:.2} s | {:.2} |",
            100.0 * limit,
            outcome.substeps,
            outcome.iterations / f64::from(frames),
            outcome.dispatches as f64 / f64::from(frames),
            outcome.recorded,
            100.0 * outcome.strain,
            outcome.over,
            outcome.lowest,
            outcome.lowest_at,
            outcome.seconds
        );
    }
    Ok(())
}
