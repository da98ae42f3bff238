//! Preconditioning by lines: the blocks of A = J W Jᵀ that belong to single yarns, inverted exactly; and the mean
//! strain that yarns between two pins keep of a linear solve.
//!
//! [`crate::solver::fast_projection`] says what that is good for, [`crate::solver::line_solve`] how a block is solved.
//!
//! **No second level.** Where yarns are short pieces, iterations grow with n, and a coarse space beside the lines does
//! not take that out. Conjugate gradients in f64, to a tolerance of 0.02, in the first frame of irregular woven sheets
//! hung by a row, in four substeps; the coarse operator Zᵀ A Z was solved exactly, blocks are 4 × 4 vertices:
//!
//! | | 17 × 17 | 33 × 33 | 65 × 65 |
//! |---|---|---|---|
//! | the diagonal | 1,263 | 2,379 | 3,937 |
//! | **lines** | **771** | **1,683** | **2,554** |
//! | lines + warp and weft of a block as aggregates | 800 | 1,749 | 2,642 |
//! | lines + a stress tensor per block, μ = l t·σ t | 813 | 1,744 | 2,619 |
//! | lines + the ten softest modes of A in each block, a third of all unknowns | 411 | 1,004 | 1,614 |
//! | lines, aggregates, lines | 403 | 902 | 1,304 |
//! | lines, stress tensors, lines | 415 | 836 | 1,290 |
//! | the same, each smoothed by A once | 398 | 812 | 1,263 |
//! | the same not smoothed, blocks of 16 × 16 | | | 1,350 |
//! | lines, nothing but a tensor for the whole sheet, lines | | 893 | 1,355 |
//!
//! In the last five an iteration costs two line solves and three products with A instead of one and one, and half of
//! the iterations is what two line solves are good for: the coarse space does not matter, however fine it is. What
//! converges slowly is not smooth. Two edges per vertex hold the plane of the sheet just so, without an equation to
//! spare: a tension at one place is in balance with others that change from edge to edge all over the sheet, and to
//! find these is to solve the system. Triangles that lock are alike: at 17 × 17 none of these had them solved after
//! 500 iterations.
//!
//! **Shorter substeps help**, because their systems need not be solved as well. The same sheets in f64, iterations per
//! frame in the first ten at 1 %, by substeps per frame and the bound of a solve; no substep missed:
//!
//! | substeps, bound | 4, 60 | 8, 40 | 16, 20 | 16, 10 | 32, 10 |
//! |---|---|---|---|---|---|
//! | 65 × 65 | 576 | 336 | 320 | **180** | 320 |
//! | 129 × 129 | 2,680 | 1,124 | 570 | 671 | **468** |
//!
//! So sheets of 4 and 60 grow by n^2.2, and those of 16 and 20 by n^0.8. They are calmer, too: 25 × 25 vertices, slowed
//! by 3/s, move after 5 s by 12 mm/s (rms) in 4 substeps with a bound of 60, by 17 with one of 20, by 1.9 in 8 and by
//! 1.7 in 16 with 20; by 14 in 16 with 10.

use fearless_simd::{Simd, prelude::*};

use crate::engine::cpu::{Run, Shared};
use crate::engine::program::{Kernel, Renames};
use crate::engine::source::Source;
use crate::error::Result;
use crate::lanes::{self, LANES, Vec3s, Wide, Work};
use crate::mesh::Link;
use crate::mesh::yarns::YarnRow;
use crate::solver::bundle::{Bundle, Rows, Scratch};
use crate::solver::fast_projection::FastProjectionLive;
use crate::solver::line_solve::{self, dispatch_family, kept_strain, kernel, yarns_of};
use crate::stage::Recorder;
use crate::stage::fields::{Frame, Vertex};
use crate::stage::freedom::{Constraint, Freedom, Limited};

static SOURCE: Source = Source::new("line_preconditioner", include_str!("../../shaders/line_preconditioner.wgsl"))
    .shares(&[&line_solve::SOURCE]);

/// Preconditions a linear solve by one yarn's block of the matrix.
pub(crate) static SOLVE_YARN: Kernel = kernel("solve_yarn", &SOURCE, solve_yarn_body);

/// Takes what a yarn between two pins keeps out of the constraints of a linear solve.
pub(crate) static KEEP_SLACK: Kernel = kernel("keep_slack", &SOURCE, keep_slack_body);

/// Records that yarns between two pins keep their mean constraint, for the linear solve that has been set up in
/// `residuals` and `directions`.
pub(crate) fn keep_slack(recorder: &mut Recorder<'_>) {
    let lanes = line_solve::lanes(recorder);
    let yarns = recorder.families().last().map_or(0, |family| family.end);
    recorder.dispatch_range(&KEEP_SLACK, 0..yarns * lanes, [lanes, 0, 0, 0]);
}

/// Records `preconditioned` (or the field that stands for it) = P `residuals` for the linear solve that is set up in
/// `directions`. Yarns share no edge, so all families go at once.
pub(crate) fn solve_all(recorder: &mut Recorder<'_>, renames: Renames) {
    let lanes = line_solve::lanes(recorder);
    let yarns = recorder.families().last().map_or(0, |family| family.end);
    recorder.dispatch_with(&SOLVE_YARN, 0..yarns * lanes, [lanes, 0, 0, 0], renames);
}

/// Records the same for the yarns of one family alone, or its negative.
pub(crate) fn solve_family(recorder: &mut Recorder<'_>, family: usize, negative: bool, renames: Renames) {
    dispatch_family(recorder, &SOLVE_YARN, family, [0, negative.into()], renames);
}

fn solve_yarn_body(run: &mut Run<'_>) -> Result<()> {
    lanes::widest(SolveYarns {
        yarns: yarns_of(run)?,
        sign: if run.arguments()[2] != 0 { -1.0 } else { 1.0 },
        edges: run.read::<Link>("edges")?,
        vertices: run.read::<Vertex>("vertices")?,
        freedom: Freedom::of(run)?,
        residuals: run.read::<f32>("residuals")?,
        directions: run.read::<[f32; 4]>("directions")?,
        preconditioned: run.shared("preconditioned")?,
    });
    Ok(())
}

struct SolveYarns<'a> {
    yarns: &'a [YarnRow],
    sign: f32,
    edges: &'a [Link],
    vertices: &'a [Vertex],
    freedom: Freedom<'a>,
    residuals: &'a [f32],
    directions: &'a [[f32; 4]],
    preconditioned: Shared<'a>,
}

impl Work for SolveYarns<'_> {
    type Output = ();

    #[inline(always)]
    fn on<S: Simd>(self, simd: S) {
        let Self { yarns, sign, edges, vertices, freedom, residuals, directions, preconditioned } = self;
        let (zero, one) = (Wide::splat(simd, 0.0), Wide::splat(simd, 1.0));
        let mut scratch = Scratch::default();
        for bundle in Bundle::all(yarns) {
            bundle.solve(
                simd,
                &mut scratch,
                #[inline(always)]
                |k: usize| {
                    let (direction, inverse_diagonal) = Vec3s::gather(simd, |lane| directions[bundle.edge(lane, k)]);
                    let (mut residual, mut inverse_mass) = ([0.0; LANES], [0.0; LANES]);
                    let mut tails = [0; LANES];
                    for lane in 0..LANES {
                        let e = bundle.edge(lane, k);
                        residual[lane] = residuals[e];
                        tails[lane] = edges[e].tail as usize;
                        inverse_mass[lane] = vertices[tails[lane]].inverse_mass;
                    }
                    let mut tail_motion = direction * Wide::load_array(simd, inverse_mass);
                    if let Some(constraints) = freedom.constraints() {
                        let (normal, across) = Vec3s::gather(simd, |lane| constraints[tails[lane]]);
                        tail_motion = Constraint { normal, across }.allowed(tail_motion);
                    }
                    let active = bundle.active(simd, k) & inverse_diagonal.simd_gt(zero);
                    Rows {
                        direction: direction.masked(active),
                        diagonal: active.select(one / inverse_diagonal, one),
                        residual: active.select(Wide::load_array(simd, residual), zero),
                        tail_motion: tail_motion.masked(active),
                    }
                },
            );
            for k in 0..bundle.longest() {
                let solution = scratch.solution(k).to_array();
                for (lane, yarn) in bundle.yarns().iter().enumerate().filter(|(_, yarn)| k < yarn.count as usize) {
                    preconditioned.set(yarn.first as usize + k, sign * solution[lane]);
                }
            }
        }
    }
}

fn keep_slack_body(run: &mut Run<'_>) -> Result<()> {
    let yarns = yarns_of(run)?;
    let live = run.one::<FastProjectionLive>("fast_projection")?;
    let most = live.slack * run.one::<Frame>("frame")?.least_limit;
    let edges = run.read::<Link>("edges")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let directions = run.read::<[f32; 4]>("directions")?;
    let residuals = run.shared("residuals")?;
    for yarn in yarns {
        let slack = kept_strain(most, edges, vertices, yarn, |e| residuals.get(e));
        for e in yarn.first as usize..(yarn.first + yarn.count) as usize {
            // An empty row has no constraint.
            if directions[e][3] > 0.0 {
                residuals.add(e, -(slack * edges[e].rest));
            }
        }
    }
    Ok(())
}
