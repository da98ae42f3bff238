//! Preconditioned conjugate gradients on A x = r, matrix-free, all scalars on the device.
//!
//! The operator and the right-hand side belong to the caller: before [`record`] it must have written `residuals` = r,
//! `searches` = P r, `solutions` = 0 and reduced (r·z, r·r) into `sums[RESIDUAL]` ([`start`] does that from
//! `residuals` alone); its own one-thread kernel then writes r·r at which to stop into z of `sums[PREVIOUS]`; its
//! closure must write `products` = A `searches` and reduce their dot product into `sums[CURVATURE]`. One solver serves
//! multipliers of edges and vectors of vertices: a [`System`] says which fields they are. Dot products are workgroup
//! trees in plain f32, which measurably gives the same history as f64 ones.
//!
//! | symbol | name |
//! |---|---|
//! | x, r, z, p, q = A p | `solutions`, `residuals`, `preconditioned`, `searches`, `products` |
//! | α = r·z / p·q, β = r·z / (r·z before) | formed from `sums` where they are used |
//!
//! It stops at the residual that the caller named, at r = 0, at p·q ≤ 0 (a singular operator, seen through rounding)
//! and at its bound. Cost per iteration: two dispatches of the operator, two reductions, three more.

use crate::engine::cpu::{Run, group_sum};
use crate::engine::layout::GROUP;
use crate::engine::program::{Body, Kernel, Pattern, Renames};
use crate::engine::source::Source;
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::fields;
use crate::stage::fields::{Meters, sums};
use crate::stage::reduce;

static SOURCE: Source =
    Source::new("conjugate_gradient", include_str!("../../shaders/conjugate_gradient.wgsl")).shares(&[&fields::SOURCE]);

const fn kernel(name: &'static str, body: Body) -> Kernel {
    Kernel::new(name, &SOURCE, body).aliases(&[("decisions", "guards"), ("totals", "sums")])
}

/// Starts at 0 with the diagonal as preconditioner.
pub(crate) static START_SOLVE: Kernel = kernel("start_solve", start_solve_body);
/// Starts the loop.
pub(crate) static BEGIN_SOLVE: Kernel = kernel("begin_solve", begin_solve_body).pattern(Pattern::Group);
/// Ends the loop when the residual is small enough.
pub(crate) static DECIDE_SOLVE: Kernel = kernel("decide_solve", decide_solve_body).pattern(Pattern::Group);
/// Moves the solution along the search direction.
pub(crate) static ADVANCE: Kernel = kernel("advance", advance_body);
/// The leaves of r·z and r·r after another preconditioner than the diagonal.
pub(crate) static DOT_RESIDUALS: Kernel = kernel("dot_residuals", dot_residuals_body);
/// Next search direction.
pub(crate) static TURN_SEARCH: Kernel = kernel("turn_search", turn_search_body);

/// A linear system: the fields that hold it.
#[derive(Clone, Copy, Debug)]
pub struct System {
    /// Fields that stand for the solver's own.
    pub renames: Renames,
    /// Where the inverse diagonal is in the field that stands for `scales`: words per element, and which of them.
    pub scale: [u32; 2],
    /// Which counter of `meters.solves` counts its iterations.
    pub counter: u32,
}

/// Multipliers of edges, A = J W Jᵀ.
pub const EDGES: System = System { renames: &[("scales", "directions")], scale: [4, 3], counter: 0 };

/// Records the start of a solve of so many words from `residuals` alone, without the reduction.
pub fn restart(recorder: &mut Recorder<'_>, system: &System, words: u32) {
    recorder.dispatch_with(&START_SOLVE, 0..words, arguments(system), system.renames);
}

/// Records the start of a solve of so many words from `residuals` alone.
pub fn start(recorder: &mut Recorder<'_>, system: &System, words: u32) {
    restart(recorder, system, words);
    reduce::record(recorder, &reduce::SUM_PARTIALS, words as usize, sums::RESIDUAL);
}

fn arguments(system: &System) -> [u32; 4] {
    [system.scale[0], system.scale[1], 0, 0]
}

/// Records a solve of so many words, of at most `iterations` iterations, with `apply` as its operator; returns the
/// guard word of its loop. `precondition` may replace z = r/diagonal by something better: it writes `preconditioned`
/// and the leaves of r·z and r·r (`DOT_RESIDUALS`) over the first `dotted` words, or nothing.
pub fn record(
    recorder: &mut Recorder<'_>,
    system: &System,
    words: u32,
    dotted: usize,
    iterations: u32,
    apply: impl FnOnce(&mut Recorder<'_>),
    precondition: impl FnOnce(&mut Recorder<'_>),
) -> u32 {
    recorder.dispatch_range(&BEGIN_SOLVE, 0..1, [0; 4]);
    recorder.repeat(iterations, |recorder| {
        recorder.dispatch_range(&DECIDE_SOLVE, 0..1, [system.counter, 0, 0, 0]);
        apply(recorder);
        recorder.dispatch_with(&ADVANCE, 0..words, arguments(system), system.renames);
        precondition(recorder);
        reduce::record(recorder, &reduce::SUM_PARTIALS, dotted, sums::RESIDUAL);
        recorder.dispatch_with(&TURN_SEARCH, 0..words, [0; 4], system.renames);
    })
}

fn start_solve_body(run: &mut Run<'_>) -> Result<()> {
    let [stride, offset, ..] = run.arguments().map(|argument| argument as usize);
    let scales = run.read::<f32>("scales")?;
    let residuals = run.read::<f32>("residuals")?;
    let mut solutions = run.write::<f32>("solutions")?;
    let mut searches = run.write::<f32>("searches")?;
    let mut partials = run.write::<[f32; 2]>("partials")?;
    for first in run.range().step_by(GROUP) {
        let mut lanes = [[0.0f32; 2]; GROUP];
        for e in first..run.range().end.min(first + GROUP) {
            let residual = residuals[e];
            let search = scales[e * stride + offset] * residual;
            searches[e] = search;
            solutions[e] = 0.0;
            lanes[e - first] = [residual * search, residual * residual];
        }
        partials[run.group(first)] = group_sum(&lanes);
    }
    Ok(())
}

fn begin_solve_body(run: &mut Run<'_>) -> Result<()> {
    let mut totals = run.write::<[f32; 4]>("totals")?;
    let [energy, square, ..] = totals[sums::RESIDUAL as usize];
    let before = &mut totals[sums::PREVIOUS as usize];
    (before[0], before[1]) = (energy, square);
    totals[sums::CURVATURE as usize] = [1.0, 0.0, 0.0, 0.0];
    Ok(())
}

fn decide_solve_body(run: &mut Run<'_>) -> Result<()> {
    let guard = run.guard();
    let [counter, ..] = run.arguments();
    let mut decisions = run.write::<u32>("decisions")?;
    let mut totals = run.write::<[f32; 4]>("totals")?;
    let mut meters = run.write::<Meters>("meters")?;
    if decisions[guard] == 0 {
        return Ok(());
    }
    let residual = totals[sums::RESIDUAL as usize];
    let goal = totals[sums::PREVIOUS as usize][2];
    if residual[1] <= goal || residual[0] <= 0.0 || totals[sums::CURVATURE as usize][0] <= 0.0 {
        decisions[guard] = 0;
        return Ok(());
    }
    totals[sums::PREVIOUS as usize][0] = residual[0];
    meters[0].solves[counter as usize] += 1;
    Ok(())
}

fn advance_body(run: &mut Run<'_>) -> Result<()> {
    let [stride, offset, ..] = run.arguments().map(|argument| argument as usize);
    let scalars = run.read::<[f32; 4]>("sums")?;
    let searches = run.read::<f32>("searches")?;
    let products = run.read::<f32>("products")?;
    let scales = run.read::<f32>("scales")?;
    let mut solutions = run.write::<f32>("solutions")?;
    let mut residuals = run.write::<f32>("residuals")?;
    let mut preconditioned = run.write::<f32>("preconditioned")?;
    let mut partials = run.write::<[f32; 2]>("partials")?;
    let curvature = scalars[sums::CURVATURE as usize][0];
    let alpha = if curvature > 0.0 { scalars[sums::PREVIOUS as usize][0] / curvature } else { 0.0 };
    for first in run.range().step_by(GROUP) {
        let mut lanes = [[0.0f32; 2]; GROUP];
        let part = first..run.range().end.min(first + GROUP);
        let old = searches[part.clone()].iter().zip(&products[part.clone()]);
        let new =
            solutions.part(part.clone()).iter_mut().zip(residuals.part(part.clone())).zip(preconditioned.part(part));
        for (k, ((search, product), ((solution, residual), z))) in old.zip(new).enumerate() {
            *solution += alpha * search;
            *residual -= alpha * product;
            *z = scales[(first + k) * stride + offset] * *residual;
            lanes[k] = [*residual * *z, *residual * *residual];
        }
        partials[run.group(first)] = group_sum(&lanes);
    }
    Ok(())
}

fn dot_residuals_body(run: &mut Run<'_>) -> Result<()> {
    let residuals = run.read::<f32>("residuals")?;
    let preconditioned = run.read::<f32>("preconditioned")?;
    let mut partials = run.write::<[f32; 2]>("partials")?;
    for first in run.range().step_by(GROUP) {
        let mut lanes = [[0.0f32; 2]; GROUP];
        for e in first..run.range().end.min(first + GROUP) {
            lanes[e - first] = [residuals[e] * preconditioned[e], residuals[e] * residuals[e]];
        }
        partials[run.group(first)] = group_sum(&lanes);
    }
    Ok(())
}

fn turn_search_body(run: &mut Run<'_>) -> Result<()> {
    let scalars = run.read::<[f32; 4]>("sums")?;
    let preconditioned = run.read::<f32>("preconditioned")?;
    let mut searches = run.write::<f32>("searches")?;
    let beta = scalars[sums::RESIDUAL as usize][0] / scalars[sums::PREVIOUS as usize][0];
    for (search, z) in searches.part(run.range()).iter_mut().zip(&preconditioned[run.range()]) {
        *search = z + beta * *search;
    }
    Ok(())
}
