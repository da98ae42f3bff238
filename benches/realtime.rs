//! How far ahead of small steps: time of one thread to hold 1 % for a second, against a yardstick that is nothing but
//! brute force.
//!
//! `cargo bench --bench realtime` measures sheets of 32 × 32 and 71 × 71, `cargo bench --bench realtime -- 128` those
//! of other sizes. Contenders run interleaved in one process, three times each, and times, those that the thread ran
//! where the system tells, are medians. Every time has the strain beside it that was really held, recomputed in f64 at
//! the end of every frame, and the frames that missed. No substep but the last of a frame is promised to anybody; the
//! worst strain of any substep is beside it. Without `--bench` everything runs once at toy size.

#[path = "../program/src/bench/stopwatch.rs"]
mod stopwatch;
#[path = "common/threads.rs"]
mod threads;

use glam::Vec3A;
use stopwatch::Stopwatch;
use taut::mesh::Link;
use taut::{Cloth, FrameInput, Result, Scene, scene};
use threads::on_threads;

const FRAME: f32 = 1.0 / 60.0;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let full = arguments.iter().any(|argument| argument == "--bench");
    let mut sizes: Vec<u32> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = if full { vec![32, 71] } else { vec![6] };
    }
    let (frames, runs) = if full { (60, 3) } else { (2, 1) };
    on_threads(1, || {
        println!(
            "| scene | limit | contender | s per simulated s | strain | frames over | any substep | per frame | ahead |"
        );
        println!("|---|---|---|---|---|---|---|---|---|");
        for size in sizes {
            for (make, limit) in [(scene::patch as Make, 0.01), (scene::hang, 0.01), (scene::hang, 0.001)] {
                compare(&make(size)?, limit, frames, runs)?;
            }
        }
        Ok(())
    })
}

type Make = fn(u32) -> Result<Scene>;

/// What a run reached.
#[derive(Clone, Debug, Default)]
struct Outcome {
    seconds: f64,
    /// Largest strain at the end of a frame.
    strain: f64,
    over: u32,
    /// Largest strain at the end of any substep.
    worst: f64,
    work: String,
}

fn compare(scene: &Scene, limit: f32, frames: u32, runs: usize) -> Result<()> {
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        ours.push(held(scene, limit, frames)?);
        // A limit that small steps cannot be asked for: they have none.
        if limit >= 0.01 {
            others.push(Yardstick::new(scene).run(frames, limit));
        }
    }
    let ours = median(ours);
    let label = |name: &str, outcome: &Outcome, ahead: &str| {
        let (name, Outcome { seconds, strain, over, worst, work }) =
            (format!("{} | {} %", scene.name, 100.0 * limit) + " | " + name, outcome);
        println!(
            "| {name} | {:.3} | {:.4} % | {over} | {:.2} % | {work} | {ahead} |",
            seconds / (f64::from(frames) / 60.0),
            100.0 * strain,
            100.0 * worst
        );
    };
    if others.is_empty() {
        label("auto", &ours, "");
        return Ok(());
    }
    let other = median(others);
    label("auto", &ours, &format!("{:.1} ×", other.seconds / ours.seconds));
    label("small steps", &other, "1 ×");
    Ok(())
}

fn median(mut outcomes: Vec<Outcome>) -> Outcome {
    outcomes.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    outcomes.swap_remove(outcomes.len() / 2)
}

fn held(scene: &Scene, limit: f32, frames: u32) -> Result<Outcome> {
    let mut scene = scene.clone();
    scene.settings.strain_limit = limit;
    let mut cloth = Cloth::on_cpu(scene)?;
    let (mut outcome, mut sweeps, mut substeps) = (Outcome::default(), 0, 0);
    for _ in 0..frames {
        let start = Stopwatch::start();
        cloth.step(&FrameInput { dt: FRAME, ..Default::default() })?;
        outcome.seconds += start.seconds();
        let report = cloth.snapshot()?.report;
        let strain = report.strain.map_or(f64::INFINITY, |strain| strain.max);
        outcome.strain = outcome.strain.max(strain);
        outcome.over += u32::from(report.converged != Some(true));
        outcome.worst = outcome.worst.max(f64::from(report.worst_substep_strain));
        sweeps += report.iterations;
        substeps += report.substeps;
    }
    let per_frame = |count: u32| f64::from(count) / f64::from(frames);
    outcome.work = format!("{:.1} substeps, {:.1} sweeps", per_frame(substeps), per_frame(sweeps));
    Ok(outcome)
}

/// Small steps of one Gauss-Seidel sweep each: what holds 1 % when nothing but the step is made smaller.
struct Yardstick {
    positions: Vec<Vec3A>,
    velocities: Vec<Vec3A>,
    /// Where a vertex goes minus where it was: at such steps a position would lose it to rounding.
    ways: Vec<Vec3A>,
    inverse_masses: Vec<f32>,
    /// Color by color: edges that share no vertex do not wait for each other.
    edges: Vec<Link>,
    springs: Vec<Link>,
    substeps: u32,
}

impl Yardstick {
    fn new(scene: &Scene) -> Self {
        let (mesh, count) = (&scene.mesh, scene.mesh.vertex_count());
        let columns = (count as f64).sqrt() as u32;
        let mut edges = mesh.edges().to_vec();
        edges.sort_by_key(|edge| {
            let along = edge.head == edge.tail + 1;
            (along, if along { edge.tail % columns % 2 } else { edge.tail / columns % 2 })
        });
        // 480 hold 1 % at 32, 2,008 at 71, 4,096 at 128.
        let power = if columns < 71 { 1.8 } else { 1.21 };
        Self {
            positions: scene.start.iter().copied().map(Vec3A::from).collect(),
            velocities: vec![Vec3A::ZERO; count],
            ways: vec![Vec3A::ZERO; count],
            inverse_masses: mesh.inverse_masses(),
            edges,
            springs: mesh.springs().to_vec(),
            substeps: (2008.0 * (f64::from(columns) / 71.0).powf(power)) as u32,
        }
    }

    fn run(mut self, frames: u32, limit: f32) -> Outcome {
        let mut outcome = Outcome { work: format!("{} substeps of one sweep", self.substeps), ..Default::default() };
        for _ in 0..frames {
            let start = Stopwatch::start();
            (0..self.substeps).for_each(|_| self.substep());
            outcome.seconds += start.seconds();
            let strain = self.strain();
            outcome.strain = outcome.strain.max(strain);
            outcome.over += u32::from(strain > f64::from(limit));
        }
        outcome.worst = outcome.strain;
        outcome
    }

    fn substep(&mut self) {
        let Self { positions, velocities, ways, inverse_masses, .. } = self;
        let h = FRAME / self.substeps as f32;
        for Link { tail, head, rest, stiffness } in &self.springs {
            let (a, b) = (*tail as usize, *head as usize);
            let d = positions[b] - positions[a];
            let extent = d.length();
            let impulse = d * (h * stiffness * (extent - rest) / extent);
            velocities[a] += inverse_masses[a] * impulse;
            velocities[b] -= inverse_masses[b] * impulse;
        }
        for ((way, velocity), w) in ways.iter_mut().zip(velocities.iter()).zip(inverse_masses.iter()) {
            *way = if *w > 0.0 { h * (*velocity - Vec3A::Y * (h * 9.81)) } else { Vec3A::ZERO };
        }
        for Link { tail, head, rest, .. } in &self.edges {
            let (a, b) = (*tail as usize, *head as usize);
            let (u, w) = (inverse_masses[a], inverse_masses[b]);
            let d = (positions[b] - positions[a]) + (ways[b] - ways[a]);
            let extent = d.length();
            let pull = if u + w > 0.0 { d * ((extent - rest) / (extent * (u + w))) } else { Vec3A::ZERO };
            ways[a] += u * pull;
            ways[b] -= w * pull;
        }
        for ((position, velocity), way) in positions.iter_mut().zip(velocities).zip(ways) {
            *velocity = *way / h;
            *position += *way;
        }
    }

    fn strain(&self) -> f64 {
        let strain = |edge: &Link| {
            let [a, b] = [edge.tail, edge.head].map(|v| v as usize);
            let extent = (self.positions[b].as_dvec3() - self.positions[a].as_dvec3()).length();
            let movable = self.inverse_masses[a] + self.inverse_masses[b] > 0.0;
            if movable { (extent / f64::from(edge.rest) - 1.0).abs() } else { 0.0 }
        };
        self.edges.iter().map(strain).fold(0.0, f64::max)
    }
}
