//! Preconditioned conjugate gradients on A x = r, matrix-free, all scalars on the device.
//!
//! The operator and the right-hand side belong to the caller: before [`record`] it must have written `residuals` = r,
//! `searches` = P r, `solutions` = 0 and reduced (r·z, r·r) into `sums[RESIDUAL]`; its closure must write `products` =
//! A `searches` and reduce their dot product into `sums[CURVATURE]`. Dot products are workgroup trees in plain f32,
//! which measurably gives the same history as f64 ones.
//!
//! | symbol | name |
//! |---|---|
//! | x, r, z, p, q = A p | `solutions`, `residuals`, `preconditioned`, `searches`, `products` |
//! | α = r·z / p·q, β = r·z / (r·z before) | formed from `sums` where they are used |
//!
//! It stops at |r| ≤ tolerance · |r_0|, at r = 0, at p·q ≤ 0 (a singular operator, seen through rounding) and at its
//! bound. Cost per iteration: two dispatches of the operator, two reductions, three more.

use crate::cpu::{Run, group_sum};
use crate::error::Result;
use crate::fields::Domain;
use crate::params::{Frame, GROUP, Meters, sums};
use crate::program::{Body, Kernel, Recorder, Shape};
use crate::stage::reduce;

const WGSL: &str = include_str!("../../shaders/conjugate_gradient.wgsl");

const fn kernel(name: &'static str, body: Body) -> Kernel {
    Kernel::new(name, WGSL, body).aliases(&[("decisions", "guards"), ("totals", "sums"), ("scales", "directions")])
}

/// Stores where to stop.
pub static BEGIN_SOLVE: Kernel = kernel("begin_solve", begin_solve_body).shape(Shape::Group);
/// Ends the loop when the residual is small enough.
pub static DECIDE_SOLVE: Kernel = kernel("decide_solve", decide_solve_body).shape(Shape::Group);
/// Moves the solution along the search direction.
pub static ADVANCE: Kernel = kernel("advance", advance_body).shape(Shape::Reduction);
/// The leaves of r·z and r·r after another preconditioner than the diagonal.
pub static DOT_RESIDUALS: Kernel = kernel("dot_residuals", dot_residuals_body).shape(Shape::Reduction);
/// Next search direction.
pub static TURN_SEARCH: Kernel = kernel("turn_search", turn_search_body);

/// Records a solve of at most `iterations` iterations with `apply` as its operator; returns the guard word of its loop.
/// `precondition` may replace z = r/diagonal by something better: it writes `preconditioned` and the leaves of r·z and
/// r·r ([`DOT_RESIDUALS`]), or nothing.
pub fn record(
    recorder: &mut Recorder<'_>,
    iterations: u32,
    apply: impl FnOnce(&mut Recorder<'_>),
    precondition: impl FnOnce(&mut Recorder<'_>),
) -> u32 {
    recorder.dispatch_range(&BEGIN_SOLVE, 0..1, [0; 4]);
    recorder.repeat(iterations, |recorder| {
        recorder.dispatch_range(&DECIDE_SOLVE, 0..1, [0; 4]);
        apply(recorder);
        recorder.dispatch(&ADVANCE, Domain::Edges);
        precondition(recorder);
        reduce::record(recorder, &reduce::SUM_PARTIALS, Domain::Edges, sums::RESIDUAL);
        recorder.dispatch(&TURN_SEARCH, Domain::Edges);
    })
}

fn begin_solve_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    let mut totals = run.write::<[f32; 4]>("totals")?;
    let start = totals[sums::RESIDUAL as usize];
    totals[sums::PREVIOUS as usize] = [start[0], start[1], frame.live.x * frame.live.x * start[1], 0.0];
    totals[sums::CURVATURE as usize] = [1.0, 0.0, 0.0, 0.0];
    Ok(())
}

fn decide_solve_body(run: &mut Run<'_>) -> Result<()> {
    let guard = run.guard();
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
    meters[0].inner_iterations += 1;
    Ok(())
}

fn advance_body(run: &mut Run<'_>) -> Result<()> {
    let scalars = run.read::<[f32; 4]>("sums")?;
    let searches = run.read::<f32>("searches")?;
    let products = run.read::<f32>("products")?;
    let scales = run.read::<[f32; 4]>("scales")?;
    let mut solutions = run.write::<f32>("solutions")?;
    let mut residuals = run.write::<f32>("residuals")?;
    let mut preconditioned = run.write::<f32>("preconditioned")?;
    let mut partials = run.write::<[f32; 2]>("partials")?;
    let curvature = scalars[sums::CURVATURE as usize][0];
    let alpha = if curvature > 0.0 { scalars[sums::PREVIOUS as usize][0] / curvature } else { 0.0 };
    for first in run.range().step_by(GROUP) {
        let mut lanes = [[0.0f32; 2]; GROUP];
        for e in first..run.range().end.min(first + GROUP) {
            solutions[e] += alpha * searches[e];
            let residual = residuals[e] - alpha * products[e];
            let z = scales[e][3] * residual;
            residuals[e] = residual;
            preconditioned[e] = z;
            lanes[e - first] = [residual * z, residual * residual];
        }
        partials[first / GROUP] = group_sum(&lanes);
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
        partials[first / GROUP] = group_sum(&lanes);
    }
    Ok(())
}

fn turn_search_body(run: &mut Run<'_>) -> Result<()> {
    let scalars = run.read::<[f32; 4]>("sums")?;
    let preconditioned = run.read::<f32>("preconditioned")?;
    let mut searches = run.write::<f32>("searches")?;
    let beta = scalars[sums::RESIDUAL as usize][0] / scalars[sums::PREVIOUS as usize][0];
    for e in run.range() {
        searches[e] = preconditioned[e] + beta * searches[e];
    }
    Ok(())
}
