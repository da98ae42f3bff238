//! Runs all figures.

use anyhow::Result;
use indicatif::ProgressBar;
use taut::reference::{System, unknown_count};
use taut::{Cancel, Method, Scene, YarnSweep, scene};

use super::attempt::{Contest, FPS, Reference};
use super::record::{Detail, Ending, Finding, Paper};
use super::{CHAIN, CLOTH, FAST, draw, relaxed, residual, shape, singular};
use crate::bench::measure::Bench;
use crate::bench::results::{CPU, ResultFile, Row};
use crate::bench::statistics::growth;
use crate::bench::suites::{Place, pointwise};
use crate::bench::{Options, progress};

/// Our solvers unless others are asked for; `auto` chooses `yarn-sweep` here.
fn contestants() -> Vec<String> {
    Method::NAMES.into_iter().filter(|name| *name != YarnSweep::NAME).map(str::to_owned).collect()
}

/// What is run.
#[derive(Clone, Debug)]
struct Plan {
    patch_size: u32,
    patch_frames: u32,
    residual_size: u32,
    residual_frames: u32,
    residual_substeps: Vec<u32>,
    chain_size: u32,
    chain_sizes: Vec<u32>,
    chain_limits: Vec<f64>,
    chain_frames: u32,
    cloth_size: u32,
    cloth_sizes: Vec<u32>,
    cloth_limits: Vec<f64>,
    cloth_frames: u32,
    shape_size: u32,
    shape_frames: u32,
    /// The limit where the number of vertices varies.
    limit: f64,
    solvers: Vec<String>,
    repetitions: u32,
    budget: f64,
    /// Those that were asked for; none stands for all.
    figures: Vec<u32>,
}

impl Plan {
    fn new(options: &Options) -> Self {
        let mut plan = if options.quick { Self::quick() } else { Self::full() };
        plan.figures.clone_from(&options.figures);
        plan.limit = options.strain;
        if let (false, Some(largest)) = (options.quick, options.sizes.iter().max()) {
            plan.cloth_sizes.clone_from(&options.sizes);
            plan.cloth_size = if options.sizes.contains(&plan.cloth_size) { plan.cloth_size } else { *largest };
        }
        if !options.solvers.is_empty() {
            plan.solvers.clone_from(&options.solvers);
        }
        if !options.quick {
            (plan.repetitions, plan.budget) = (options.repetitions, options.budget);
        }
        plan
    }

    fn shows(&self, figure: u32) -> bool {
        self.figures.is_empty() || self.figures.contains(&figure)
    }

    /// 80 vertices and 71 × 71 are the paper's; its figure 5b ends at about 10⁴ vertices.
    fn full() -> Self {
        Self {
            patch_size: 11,
            patch_frames: 480,
            residual_size: 16,
            residual_frames: 60,
            residual_substeps: vec![2, 4, 8, 16, 32],
            chain_size: 80,
            chain_sizes: vec![20, 40, 80, 160],
            chain_limits: vec![0.1, 0.05, 0.02, 0.01, 0.005, 0.001],
            chain_frames: 60,
            cloth_size: 71,
            cloth_sizes: vec![16, 24, 36, 50, 71, 100],
            cloth_limits: vec![0.1, 0.01, 0.001],
            cloth_frames: 30,
            shape_size: 24,
            shape_frames: 60,
            limit: 0.01,
            solvers: contestants(),
            repetitions: 1,
            budget: 5.0,
            figures: Vec::new(),
        }
    }

    fn quick() -> Self {
        Self {
            patch_size: 5,
            patch_frames: 120,
            residual_size: 8,
            residual_frames: 12,
            residual_substeps: vec![4, 8, 16],
            chain_size: 10,
            chain_sizes: vec![6, 10],
            chain_limits: vec![0.1, 0.01],
            chain_frames: 12,
            cloth_size: 8,
            cloth_sizes: vec![6, 8],
            cloth_limits: vec![0.1, 0.01],
            cloth_frames: 12,
            shape_size: 8,
            shape_frames: 20,
            ..Self::full()
        }
    }
}

/// A run of either kind.
#[derive(Debug)]
enum Run {
    Ours(Box<Bench>),
    Theirs(Box<Contest>),
}

impl Run {
    fn label(&self, places: &[Place]) -> String {
        match self {
            Self::Ours(bench) => bench.label(places),
            Self::Theirs(contest) => contest.label(),
        }
    }

    fn prepare(&mut self, budget: f64, cancel: &Cancel) -> Result<()> {
        match self {
            // Point solvers are the strain limiting of the paper: as its other methods, at the step that suits it. Ours
            // choose themselves.
            Self::Ours(bench) if pointwise(bench.solver()) => bench.search_substeps(budget, cancel),
            Self::Ours(_) => Ok(()),
            Self::Theirs(contest) => contest.prepare(cancel),
        }
    }

    /// Whether it is measured well enough, or cannot be.
    fn is_settled(&self, budget: f64) -> bool {
        match self {
            Self::Ours(bench) => bench.is_over_budget() || bench.spent() >= budget,
            Self::Theirs(contest) => contest.is_settled(),
        }
    }

    fn repeat(&mut self, places: &[Place], budget: f64, cancel: &Cancel) -> Result<()> {
        match self {
            Self::Ours(bench) => {
                // A run that was in time once must not be given up because the machine is busy the next time.
                let budget = if bench.spent() > 0.0 { f64::INFINITY } else { budget };
                bench.repeat_within(places, budget, cancel)
            }
            Self::Theirs(contest) => contest.repeat(cancel),
        }
    }

    fn row(self, suite: &str, places: &[Place], file: &ResultFile) -> Option<Row> {
        match self {
            Self::Ours(bench) => {
                let over_budget = bench.is_over_budget();
                let step_seconds = bench.chosen_substeps().map(|substeps| 1.0 / (FPS * f64::from(substeps)));
                let row = bench.row(suite, places, file)?;
                let ending = match (over_budget, row.held) {
                    (true, _) => Ending::OverBudget,
                    (false, true) => Ending::Held,
                    (false, false) => Ending::Missed,
                };
                let detail = Detail { ending, reason: None, step_seconds, stiffness: None };
                Some(Row { held: ending == Ending::Held, detail: Some(detail), ..row })
            }
            Self::Theirs(contest) => contest.row(suite),
        }
    }
}

/// Runs all figures; rows and findings go into the file, drawings that are no plots come back with their names.
pub(crate) fn run(
    options: &Options,
    places: &[Place],
    file: &mut ResultFile,
    cancel: &Cancel,
) -> Result<Vec<(String, String)>> {
    let plan = Plan::new(options);
    let chain = if plan.shows(4) { chain_runs(&plan, places)? } else { Vec::new() };
    let cloth = if plan.shows(5) { cloth_runs(&plan, places)? } else { Vec::new() };
    let runs = chain.iter().chain(&cloth).map(Vec::len).sum::<usize>();
    let steps = plan.residual_substeps.len() + (1 + plan.repetitions as usize) * runs + 1;
    let bar = progress(steps as u64);
    let tick = |words: String| {
        bar.set_message(words);
        bar.inc(1);
    };
    let mut drawings = Vec::new();
    let mut paper = Paper::default();
    if plan.shows(1) {
        let message = |words: String| bar.set_message(words);
        let (sags, patches) = relaxed::figure(plan.patch_size, plan.patch_frames, cancel, message)?;
        drawings.extend(patches.map(|patches| ("paper-1-shapes.svg".to_owned(), draw::draw(&patches, file))));
        paper.findings.extend(sags);
    }
    if plan.shows(2) {
        let (lengths, steps) = singular::figure()?;
        drawings.push(("paper-2.svg".to_owned(), singular::draw(&steps, file)));
        paper.findings.extend(lengths);
    }
    if plan.shows(3) {
        let substeps = &plan.residual_substeps;
        let found = residual::figure(plan.residual_size, plan.residual_frames, substeps, cancel, tick)?;
        paper.curves.extend(found.curves);
        paper.findings.extend(found.findings);
    }
    // One task after the other, so that an interruption leaves whole ones.
    let tasks = chain.into_iter().map(|runs| (CHAIN, runs)).chain(cloth.into_iter().map(|runs| (CLOTH, runs)));
    for (suite, runs) in tasks {
        let rows = measure(suite, runs, &plan, places, file, cancel, &bar)?;
        file.rows.extend(rows);
    }
    if plan.shows(4) {
        paper.findings.extend(chain_findings(&plan, &file.rows));
    }
    if plan.shows(5) {
        paper.findings.extend(cloth_findings(&plan, &file.rows)?);
    }
    if plan.shows(6) && !cancel.is_cancelled() {
        let tick = |words: String| bar.set_message(words);
        // Two methods at once, and of several steps only the last counts.
        let budget = 4.0 * plan.budget;
        let (found, shapes) = shape::figure(plan.shape_size, plan.shape_frames, budget, cancel, tick)?;
        paper.curves.extend(found.curves);
        paper.findings.extend(found.findings);
        drawings.extend(shapes.map(|shapes| ("paper-6-shapes.svg".to_owned(), draw::draw(&shapes, file))));
    }
    bar.finish_and_clear();
    file.paper = Some(paper);
    Ok(drawings)
}

/// The chain with every limit, and with every number of vertices; the runs of one task stand together.
fn chain_runs(plan: &Plan, places: &[Place]) -> Result<Vec<Vec<Run>>> {
    let references =
        [Reference::FastProjection, Reference::Springs { newton: false }, Reference::Springs { newton: true }];
    // The paper has no strain limiting here.
    let solvers: Vec<String> = plan.solvers.iter().filter(|solver| !pointwise(solver)).cloned().collect();
    let tasks = tasks(plan.chain_size, &plan.chain_limits, &plan.chain_sizes, plan.limit);
    let mut runs = Vec::new();
    for (size, limit) in tasks {
        let scene = scene::chain(size)?;
        let theirs = theirs(&references, &scene, size, limit, plan.chain_frames, plan.budget);
        runs.push(theirs.chain(ours("chain", &solvers, size, limit, plan.chain_frames, places)).collect());
    }
    Ok(runs)
}

/// The drape with every limit, and with every number of vertices; the runs of one task stand together.
fn cloth_runs(plan: &Plan, places: &[Place]) -> Result<Vec<Vec<Run>>> {
    let references = [Reference::FastProjection, Reference::ImplicitDirection, Reference::Shake];
    let tasks = tasks(plan.cloth_size, &plan.cloth_limits, &plan.cloth_sizes, plan.limit);
    let mut runs = Vec::new();
    for (size, limit) in tasks {
        let scene = scene::drape(size)?;
        let theirs = theirs(&references, &scene, size, limit, plan.cloth_frames, plan.budget);
        runs.push(theirs.chain(ours("drape", &plan.solvers, size, limit, plan.cloth_frames, places)).collect());
    }
    Ok(runs)
}

/// Sizes and limits of the two panels of a figure, each pair once, the small ones first.
fn tasks(size: u32, limits: &[f64], sizes: &[u32], limit: f64) -> Vec<(u32, f64)> {
    let mut tasks: Vec<(u32, f64)> = sizes.iter().map(|&size| (size, limit)).collect();
    tasks.extend(limits.iter().map(|&limit| (size, limit)));
    tasks.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    tasks.dedup();
    tasks
}

fn theirs(
    references: &[Reference],
    scene: &Scene,
    size: u32,
    limit: f64,
    frames: u32,
    budget: f64,
) -> impl Iterator<Item = Run> {
    references.iter().map(move |&reference| {
        Run::Theirs(Box::new(Contest::new(reference, scene.clone(), size, limit, frames, budget)))
    })
}

fn ours<'a>(
    scene: &'a str,
    solvers: &'a [String],
    size: u32,
    limit: f64,
    frames: u32,
    places: &[Place],
) -> impl Iterator<Item = Run> {
    let count = places.len();
    solvers.iter().flat_map(move |solver| {
        (0..count).map(move |place| Run::Ours(Box::new(Bench::new(scene, size, solver, limit, frames, place).alone())))
    })
}

/// Prepares the runs of a task, then repeats them in turns; the rows of those that were finished.
fn measure(
    suite: &str,
    mut runs: Vec<Run>,
    plan: &Plan,
    places: &[Place],
    file: &ResultFile,
    cancel: &Cancel,
    bar: &ProgressBar,
) -> Result<Vec<Row>> {
    let stopped = || cancel.is_cancelled();
    for run in &mut runs {
        bar.set_message(format!("{}: looking for its step", run.label(places)));
        if !stopped() {
            run.prepare(plan.budget, cancel)?;
        }
        bar.inc(1);
    }
    for _ in 0..plan.repetitions {
        for run in &mut runs {
            bar.set_message(run.label(places));
            if !stopped() && !run.is_settled(plan.budget) {
                run.repeat(places, plan.budget, cancel)?;
            }
            bar.inc(1);
        }
    }
    Ok(runs.into_iter().filter_map(|run| run.row(suite, places, file)).collect())
}

pub(super) fn finding(figure: &str, name: String, value: f64, paper: Option<f64>) -> Finding {
    Finding { figure: figure.to_owned(), name, value, paper }
}

/// The rows of a suite that held, on the CPU.
fn held<'a>(rows: &'a [Row], suite: &'a str) -> impl Iterator<Item = &'a Row> {
    rows.iter().filter(move |row| row.suite == suite && row.place == CPU && row.held)
}

/// Solvers of a suite in the order of their first rows.
fn solvers<'a>(rows: &'a [Row], suite: &str) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| row.suite == suite && row.place == CPU) {
        if !names.contains(&row.solver.as_str()) {
            names.push(&row.solver);
        }
    }
    names
}

/// How many times as long a solver takes as fast projection in the same task.
fn ratios(rows: &[Row], suite: &str, size: u32, limit: f64) -> Vec<(String, f64)> {
    let time = |solver: &str| {
        let same = |row: &&Row| row.solver == solver && row.size == size && row.strain_limit == limit;
        held(rows, suite).find(same).map(|row| row.seconds_per_second.median)
    };
    let others = solvers(rows, suite).into_iter().filter(|name| *name != FAST);
    others.filter_map(|name| Some((name.to_owned(), time(name)? / time(FAST)?))).collect()
}

fn percent(limit: f64) -> String {
    crate::output::percent(limit)
}

fn chain_findings(plan: &Plan, rows: &[Row]) -> Vec<Finding> {
    let (size, limit) = (plan.chain_size, plan.limit);
    let name = |solver: &str| format!("time of {solver} over {FAST}, {size} vertices, {}", percent(limit));
    let is_springs = |solver: &str| solver.contains("springs");
    let known = |solver: &str| (is_springs(solver) && size == 80 && limit == 0.01).then_some(25.0);
    let mut found: Vec<Finding> = ratios(rows, CHAIN, size, limit)
        .into_iter()
        .map(|(solver, ratio)| finding("4", name(&solver), ratio, known(&solver)))
        .collect();
    found.extend(exponents(rows, CHAIN, "4a", size, limit));
    found.extend(exponents(rows, CHAIN, "4b", size, limit));
    found
}

fn cloth_findings(plan: &Plan, rows: &[Row]) -> Result<Vec<Finding>> {
    let (size, limit) = (plan.cloth_size, plan.limit);
    let system = System::of_scene(&scene::drape(size)?)?;
    let (fast_unknowns, all_unknowns) = (system.active_edges().len() as f64, unknown_count(&system) as f64);
    let mut found = vec![
        finding("5", format!("unknowns of fast projection, {size} × {size}"), fast_unknowns, None),
        finding("5", format!("unknowns of ICD, {size} × {size}"), all_unknowns, None),
    ];
    let name = |solver: &str| format!("time of {solver} over {FAST}, {size} × {size}, {}", percent(limit));
    found.extend(
        ratios(rows, CLOTH, size, limit).into_iter().map(|(solver, ratio)| finding("5", name(&solver), ratio, None)),
    );
    found.extend(exponents(rows, CLOTH, "5a", size, limit));
    found.extend(exponents(rows, CLOTH, "5b", size, limit));
    Ok(found)
}

/// Exponents of the time: in panel a against the strain, in panel b against the vertices.
fn exponents(rows: &[Row], suite: &str, figure: &str, size: u32, limit: f64) -> Vec<Finding> {
    let against_strain = figure.ends_with('a');
    let exponent = |solver: &str| {
        let same = |row: &&Row| {
            row.solver == solver && if against_strain { row.size == size } else { row.strain_limit == limit }
        };
        let x = |row: &Row| if against_strain { row.strain_limit } else { row.vertices as f64 };
        let (x, y): (Vec<f64>, Vec<f64>) =
            held(rows, suite).filter(same).map(|row| (x(row), row.seconds_per_second.median)).unzip();
        growth(&x, &y)
    };
    let what = if against_strain { "strain" } else { "vertices" };
    let line = |solver: &str| {
        Some(finding(figure, format!("exponent of the time of {solver} in {what}"), exponent(solver)?.exponent, None))
    };
    solvers(rows, suite).into_iter().filter_map(line).collect()
}
