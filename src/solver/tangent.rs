//! Velocities along the constraints: post-stabilisation at the velocity level.
//!
//! A projection of positions ends with C(x) = 0, and v = (x_j − x)/h is the secant of the way there: it stretches edges
//! by what the way curves, and has what was corrected of the strain that the substep began with. With
//! [`Settings::tangent_velocities`](crate::Settings::tangent_velocities) the velocity of every substep is projected,
//! too, at its end:
//!
//! (J W Jᵀ) μ = J v, then v −= W Jᵀ μ.
//!
//! J is the gradient of C = |d| − l, so J v is how fast edges grow \[m/s\]. The operator is that of
//! [`crate::solver::fast_projection`], and so are the conjugate gradients and the yarns that precondition them, run to
//! a residual of 10⁻⁷ of the first. J v = 0 is linear, so that once is enough. The projection is orthogonal in the
//! metric of the masses: it takes kinetic energy and never gives any, and keeps the momentum of pieces that nothing
//! holds. An edge with a band of lengths is held only where it is at an end of it and about to leave it.
//!
//! It is a second linear solve per substep, and off by default: what the secant has too much shrinks with h, and it is
//! what damps. A sheet of 8 × 8 that is hung by two corners and falls for two seconds ends 1 % of a metre lower, gains
//! 1.4 mm of height on the way where it gained nothing without (Euler), and 0.1 mm instead of 0.5 with BDF2.

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::fields::Domain;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::mesh::Link;
use crate::solver::FastProjection;
use crate::stage::edge::{self, Band, stretch_of};
use crate::stage::fields::{Clock, Frame, Vertex, sums};
use crate::stage::freedom::Freedom;
use crate::stage::{Recorder, Stage, conjugate_gradient};
use crate::vector::{padded, xyz};

static SOURCE: Source = Source::new("tangent", include_str!("../../shaders/tangent.wgsl"))
    .constants(&[("TOLERANCE", Constant::F32(TOLERANCE))])
    .shares(&[&edge::SOURCE]);

/// Direction, diagonal and rate of one edge.
static LINEARIZE_RATES: Kernel = Kernel::new("linearize_rates", &SOURCE, linearize_rates_body);
/// Where the linear solve ends.
static AIM_RATES: Kernel =
    Kernel::new("aim_rates", &SOURCE, aim_rates_body).pattern(Pattern::Group).aliases(&[("totals", "sums")]);
/// v −= W Jᵀ μ.
static APPLY_RATES: Kernel = Kernel::new("apply_rates", &SOURCE, apply_rates_body);

/// |r|/|r_0| at which the solve ends.
const TOLERANCE: f32 = 1e-7;

/// Before the commit: the multipliers μ of the velocity that it will find.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Solve;

impl Stage for Solve {
    fn record(&self, recorder: &mut Recorder<'_>) {
        let edges = recorder.sizes().edges() as u32;
        if edges == 0 {
            return;
        }
        let preconditioner = FastProjection::default().resolved(recorder);
        recorder.dispatch(&LINEARIZE_RATES, Domain::EDGES);
        conjugate_gradient::restart(recorder, &conjugate_gradient::EDGES, edges);
        let inner = preconditioner.most_iterations(recorder);
        preconditioner.solve(recorder, inner, &AIM_RATES);
    }
}

/// After it: the velocity without what would stretch an edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Apply;

impl Stage for Apply {
    fn record(&self, recorder: &mut Recorder<'_>) {
        if recorder.sizes().edges() > 0 {
            recorder.dispatch(&APPLY_RATES, Domain::VERTICES);
        }
    }
}

fn linearize_rates_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    let clock = run.one::<Clock>("clock")?;
    let band = Band::of(frame);
    let edges = run.read::<Link>("edges")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let freedom = Freedom::of(run)?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let remainders = run.read::<[f32; 4]>("remainders")?;
    let mut directions = run.write::<[f32; 4]>("directions")?;
    let mut residuals = run.write::<f32>("residuals")?;
    let speed = |v: u32| {
        let v = v as usize;
        let time = if vertices[v].inverse_mass > 0.0 { clock.span } else { clock.h };
        (xyz(displacements[v]) - xyz(remainders[v])) / time
    };
    for e in run.range() {
        (directions[e], residuals[e]) = ([0.0; 4], 0.0);
        let edge = &edges[e];
        let Some((stretch, _)) = stretch_of(band, edge, vertices, &freedom, |v| xyz(displacements[v])) else {
            continue;
        };
        let n = Vec3::from(stretch.n);
        let rate = n.dot(speed(edge.head) - speed(edge.tail));
        let shrinks = stretch.extent > frame.stretch_min * edge.rest && rate < 0.0;
        let grows = stretch.extent < frame.stretch_max * edge.rest && rate > 0.0;
        if frame.stretch_min < frame.stretch_max && (shrinks || grows) {
            continue;
        }
        (directions[e], residuals[e]) = ([n.x, n.y, n.z, 1.0 / stretch.w], rate);
    }
    Ok(())
}

fn aim_rates_body(run: &mut Run<'_>) -> Result<()> {
    let mut totals = run.write::<[f32; 4]>("totals")?;
    totals[sums::PREVIOUS as usize][2] = TOLERANCE * TOLERANCE * totals[sums::RESIDUAL as usize][1];
    Ok(())
}

fn apply_rates_body(run: &mut Run<'_>) -> Result<()> {
    let edge_incidence = run.read::<u32>("edge_incidence")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let freedom = Freedom::of(run)?;
    let directions = run.read::<[f32; 4]>("directions")?;
    let solutions = run.read::<f32>("solutions")?;
    let faults = run.read::<u32>("faults")?;
    let mut velocities = run.write::<[f32; 4]>("velocities")?;
    if faults[0] != 0 {
        return Ok(());
    }
    for v in run.range() {
        let inverse_mass = vertices[v].inverse_mass;
        if inverse_mass == 0.0 {
            continue;
        }
        let mut pull = Vec3::ZERO;
        for k in edge_incidence[v]..edge_incidence[v + 1] {
            let entry = edge_incidence[k as usize];
            let e = (entry / 2) as usize;
            pull -= (if entry & 1 == 1 { 1.0 } else { -1.0 } * solutions[e]) * xyz(directions[e]);
        }
        velocities[v] = padded(xyz(velocities[v]) + freedom.apply_inverse_mass(v, inverse_mass, pull));
    }
    Ok(())
}
