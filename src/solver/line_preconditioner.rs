//! Preconditioning by lines: the blocks of A = J W Jᵀ that belong to single yarns, inverted exactly; and the mean
//! strain that yarns between two pins keep of a linear solve.
//!
//! [`crate::solver::fast_projection`] says what that is good for, [`crate::solver::line_solve`] how a block is solved.

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
