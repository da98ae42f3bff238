//! What it costs that cloth does not pass through itself: time of one thread with self-collision and without, what was
//! looked for, and what was held.
//!
//! `cargo bench --bench self_collision` measures sheets of 24 × 24 and 71 × 71, `cargo bench --bench self_collision --
//! 128` those of other sizes. Both ways run interleaved in one process, and times are medians of three. Every row has
//! the strain that was held and the crossings of the worst frame beside it. Without `--bench` everything runs once at
//! toy size.

use std::time::Instant;

use taut::mesh::surface::Surface;
use taut::stage::phase;
use taut::{Cloth, FrameInput, Result, Scene, SelfCollision, Settings, scene};

const FRAME: f32 = 1.0 / 60.0;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let full = arguments.iter().any(|argument| argument == "--bench");
    let mut sizes: Vec<u32> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = if full { vec![24, 71] } else { vec![8] };
    }
    let frames: u32 = if full { 30 } else { 2 };
    let runs = if full { 3 } else { 1 };
    let scenes: [(&str, Make); 3] = [("hang", scene::hang), ("heap", scene::heap), ("fold", scene::fold)];
    let named = |name: &str| {
        let wanted = |argument: &String| scenes.iter().any(|(scene, _)| scene == argument);
        !arguments.iter().any(wanted) || arguments.iter().any(|argument| argument == name)
    };
    println!(
        "| scene | self-collision | s per simulated s | times | list | response | strain | over | crossings | substeps | \
         lists | pairs per vertex | trimmed | slowed |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for size in sizes {
        for (name, make) in scenes.into_iter().filter(|(name, _)| named(name)) {
            let (mut without, mut with) = (Vec::new(), Vec::new());
            for _ in 0..runs {
                without.push(outcome(make(size)?, None, frames)?);
                let own = make(size)?.settings.self_collision.unwrap_or_default();
                with.push(outcome(make(size)?, Some(own), frames)?);
            }
            let (without, with) = (median(without), median(with));
            let times = with.seconds / without.seconds;
            for (label, row, times) in [("off", without, String::new()), ("on", with, format!("{times:.2}"))] {
                println!(
                    "| {name} {size} | {label} | {:.3} | {times} | {:.3} | {:.3} | {:.3} % | {} | {} | {:.1} | {:.1} | \
                     {:.2} | {} | {} |",
                    row.seconds,
                    row.list,
                    row.response,
                    100.0 * row.strain,
                    row.over,
                    row.crossings,
                    row.substeps,
                    row.lists,
                    row.pairs,
                    row.trimmed,
                    row.slowed,
                );
            }
        }
    }
    Ok(())
}

type Make = fn(u32) -> Result<Scene>;

/// What a run took, per simulated second, and what it came to.
#[derive(Clone, Debug, Default)]
struct Outcome {
    seconds: f64,
    list: f64,
    response: f64,
    strain: f64,
    over: u32,
    crossings: u64,
    substeps: f64,
    lists: f64,
    pairs: f64,
    trimmed: u32,
    slowed: u32,
}

fn outcome(scene: Scene, own: Option<SelfCollision>, frames: u32) -> Result<Outcome> {
    let settings = Settings { self_collision: own, ..scene.settings.clone() };
    let script = scene.script.clone();
    let surface = Surface::new(&scene.mesh);
    let mut cloth = Cloth::on_cpu(scene.with_settings(settings))?;
    script.begin(&mut cloth)?;
    let mut outcome = Outcome::default();
    for frame in 0..frames {
        let pin_targets = script.frame(&mut cloth, f64::from(frame) * f64::from(FRAME), FRAME)?;
        let clock = Instant::now();
        cloth.step(&FrameInput { dt: FRAME, pin_targets: &pin_targets })?;
        outcome.seconds += clock.elapsed().as_secs_f64();
        outcome.list += cloth.phase_seconds(phase::NEARNESS);
        outcome.response += cloth.phase_seconds(phase::CONTACT);
        let snapshot = cloth.snapshot()?;
        let report = snapshot.report;
        outcome.strain = outcome.strain.max(report.strain.map_or(0.0, |strain| strain.max));
        outcome.over += u32::from(report.converged == Some(false));
        outcome.substeps += f64::from(report.substeps) / f64::from(frames);
        outcome.crossings = outcome.crossings.max(surface.count_crossings(&snapshot.positions)?);
        if let Some(own) = report.self_collision {
            outcome.lists += f64::from(own.rebuilds) / f64::from(frames);
            outcome.pairs = outcome.pairs.max(f64::from(own.pairs) / snapshot.positions.len() as f64);
            outcome.trimmed += own.trimmed;
            outcome.slowed += own.speed_limited;
        }
    }
    let simulated = f64::from(frames) * f64::from(FRAME);
    for seconds in [&mut outcome.seconds, &mut outcome.list, &mut outcome.response] {
        *seconds /= simulated;
    }
    Ok(outcome)
}

fn median(mut outcomes: Vec<Outcome>) -> Outcome {
    outcomes.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    outcomes.swap_remove(outcomes.len() / 2)
}
