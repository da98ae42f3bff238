//! Chebyshev acceleration of Jacobi sweeps (Wang 2015, *A Chebyshev semi-iterative approach for accelerating projective
//! and position-based dynamics*): every sweep goes on, by a part, in the direction of the one before.
//!
//! A sweep x → x + p(x) that contracts by a spectral radius ρ takes about 1/(1 − ρ) sweeps per digit. The
//! semi-iterative method (Golub & Varga 1961) takes about 1/√(1 − ρ): with x̂ = x_k + p(x_k),
//!
//! x_{k+1} = ω_{k+1} (x̂ − x_{k−1}) + x_{k−1}, ω_1 = 1, ω_2 = 2/(2 − ρ²), ω_{k+1} = 4/(4 − ρ² ω_k)
//!
//! (Wang, eqs. 9 and 10, without the under-relaxation: shares of Jacobi sweeps are small enough). It has the fixed
//! points of the plain sweep. As a change of x, s_k = x_{k+1} − x_k = ω p(x_k) + (ω − 1) s_{k−1}. In this form it is
//! kept here, and for each edge instead of each vertex: what a sweep adds to the pull of an edge is ω times what the
//! edge proposes and ω − 1 times what it added last. The displacements are the sums of the pulls, so they are the same;
//! but tensions, momentum and what pins, holds and contacts bear are those of the pulls that were really applied, and
//! no field of vertices is needed.
//!
//! **ρ** is given, or found. After k sweeps of a cycle, proposals should be smaller by T_k(1/ρ), T_k the Chebyshev
//! polynomial, if the true radius is not above ρ; T_{k+1}(1/ρ) = 2 T_k(1/ρ)/(ρ ω_{k+1}). Where they are ten times
//! larger than that, once it has come to thirty, ρ was too small (the idea of Hageman & Young 1981, *Applied Iterative
//! Methods*, section 5.4): 1 − ρ² is divided by four, which is twice as many sweeps per digit, and a new cycle begins.
//! A frame starts with 1 − ρ² = 0.1. The steps are coarse because a ρ that is too large only costs time, by less than
//! a factor of two, and because comparisons are decided alike on every device, where powers and roots are not.
//!
//! **Off.** The first sweeps of every projection, as many as lie between two checks, are plain (Wang, section 4.2).
//! Where proposals have come to be twice those that the cycle began with, they are so again, and a new cycle begins: a
//! linear theory has nothing to say there.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | ω | `weights` | 1 |
//! | p | `corrections` before `carry_edge` | kg·m |
//! | s | `corrections` after it, `carried`; of vertices `carried_motions` | kg·m; m |
//! | 1 − ρ², T_k(1/ρ)² | `swing.gap`, `swing.reach` | 1 |
//!
//! Cost: one dispatch per sweep, three per check; a vector per edge.

use crate::engine::cpu::{Run, group_sum};
use crate::engine::fields::{Domain, Spec};
use crate::engine::layout::{GROUP, element};
use crate::engine::program::{Kernel, Pattern, Renames};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::fields::{self, Clock, sums};
use crate::stage::magnitude::{grain, mass};
use crate::stage::{Recorder, reduce};
use crate::vector::xyz;

static SOURCE: Source = Source::new("chebyshev", include_str!("../../shaders/chebyshev.wgsl"))
    .constants(&[
        ("WEIGHTS", Constant::U32(WEIGHTS as u32)),
        ("WIDEST", Constant::F32(WIDEST)),
        ("NARROWING", Constant::F32(NARROWING)),
        ("NARROWEST", Constant::F32(NARROWEST)),
        ("JUDGED", Constant::F32(JUDGED)),
        ("SLOWER", Constant::F32(SLOWER)),
        ("GROWN", Constant::F32(GROWN)),
        ("FARTHEST_REACH", Constant::F32(FARTHEST_REACH)),
        ("HIGHEST_REACH", Constant::F32(HIGHEST_REACH)),
    ])
    .shares(&[&fields::SOURCE]);

/// Vectors of four weights: room for a thousand sweeps between two checks.
const WEIGHTS: usize = 250;
/// 1 − ρ² at the start of a frame.
const WIDEST: f32 = 0.1;
/// What it is multiplied by where ρ was too small.
const NARROWING: f32 = 0.25;
/// The smallest: some 4,000 sweeps per digit.
const NARROWEST: f32 = 1e-6;
/// T² from which a cycle is judged.
const JUDGED: f32 = 1e3;
/// Square of what proposals may be larger by than they should.
const SLOWER: f32 = 100.0;
/// Square of what proposals may have grown by.
const GROWN: f32 = 4.0;
/// T² at which a cycle ends anyway.
const FARTHEST_REACH: f32 = 1e6;
/// Keeps T² finite.
const HIGHEST_REACH: f32 = 1e30;

element! {
    /// Where a cycle of accelerated sweeps is.
    pub(crate) struct Swing {
        /// 1 − ρ².
        pub(crate) gap: f32,
        /// ω of the last sweep; 0 where the next ones are plain.
        pub(crate) weight: f32,
        /// |p|² at the start of the cycle \[kg²·m²\].
        pub(crate) first: f32,
        /// T_k(1/ρ)²; 0 where a cycle is to begin.
        pub(crate) reach: f32,
    }
}

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<[f32; 4]>("weights", Domain::Fixed(WEIGHTS), "ω of the next sweeps, four each").floor(|_| Ok(1.0)),
    Spec::of::<Swing>("swing", Domain::Fixed(1), "where a cycle of accelerated sweeps is"),
    Spec::of::<[f32; 4]>("carried_motions", Domain::VERTICES, "last change of a vertex that iterates itself [m]")
        .floor(grain),
    Spec::of::<[f32; 4]>("carried", Domain::EDGES, "xyz: last change of an edge's pull [kg·m], w: its size")
        .floor(|f| Ok(grain(f)? * mass(f)?)),
];

/// Starts a projection.
pub(crate) static BEGIN_SWING: Kernel = Kernel::new("begin_swing", &SOURCE, begin_swing_body).pattern(Pattern::Group);
/// The leaves of |p|².
pub(crate) static MEASURE_CORRECTIONS: Kernel = Kernel::new("measure_corrections", &SOURCE, measure_corrections_body);
/// The weights of the next sweeps. Every one follows from the one before, by three roundings that all later ones keep.
pub(crate) static PLAN_SWEEPS: Kernel = Kernel::new("plan_sweeps", &SOURCE, plan_sweeps_body)
    .pattern(Pattern::Group)
    .aliases(&[("planned", "weights")])
    .amplification(16.0);
/// Adds to a proposal what is carried on.
pub(crate) static CARRY_EDGE: Kernel = Kernel::new("carry_edge", &SOURCE, carry_edge_body);

/// The same for what iterates vertices.
pub(crate) static CARRY_VERTEX: Kernel = Kernel::new("carry_vertex", &SOURCE, carry_vertex_body);

/// Sweeps that are accelerated, by a given ρ or one that is found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accelerated {
    pub(crate) spectral_radius: Option<f32>,
}

impl Accelerated {
    /// Records the start of a projection.
    pub(crate) fn begin(self, recorder: &mut Recorder<'_>) {
        // 1 − ρ² of the number that is given, rounded once.
        let gap = self.spectral_radius.map_or(0.0, |radius| (1.0 - f64::from(radius).powi(2)) as f32);
        recorder.dispatch_range(&BEGIN_SWING, 0..1, [gap.to_bits(), 0, 0, 0]);
    }

    /// Records what follows the proposals of sweep `number` of the `count` before the next check.
    pub(crate) fn carry(self, recorder: &mut Recorder<'_>, number: u32, count: u32) {
        let edges = recorder.sizes().edges() as u32;
        if number == 0 {
            self.plan(recorder, edges, count, &[]);
        }
        recorder.dispatch_range(&CARRY_EDGE, 0..edges, [number, 0, 0, 0]);
    }

    /// Records what follows an iteration that proposes a motion of every vertex in a field that stands for
    /// `corrections`, each followed by a check.
    pub(crate) fn carry_motions(self, recorder: &mut Recorder<'_>, renames: Renames) {
        let vertices = recorder.sizes().vertices() as u32;
        self.plan(recorder, vertices, 1, renames);
        recorder.dispatch_with(&CARRY_VERTEX, 0..vertices, [0; 4], renames);
    }

    fn plan(self, recorder: &mut Recorder<'_>, elements: u32, count: u32, renames: Renames) {
        recorder.dispatch_with(&MEASURE_CORRECTIONS, 0..elements, [0; 4], renames);
        reduce::record(recorder, &reduce::SUM_PARTIALS, elements as usize, sums::CURVATURE);
        recorder.dispatch_range(&PLAN_SWEEPS, 0..1, [count, self.spectral_radius.is_some().into(), 0, 0]);
    }
}

fn begin_swing_body(run: &mut Run<'_>) -> Result<()> {
    let [given, ..] = run.arguments();
    let clock = run.one::<Clock>("clock")?;
    let mut swing = run.write::<Swing>("swing")?;
    if given != 0 {
        swing[0].gap = f32::from_bits(given);
    } else if clock.substep == 1 {
        swing[0].gap = WIDEST;
    }
    (swing[0].weight, swing[0].reach) = (0.0, 0.0);
    Ok(())
}

fn measure_corrections_body(run: &mut Run<'_>) -> Result<()> {
    let corrections = run.read::<[f32; 4]>("corrections")?;
    let mut partials = run.write::<[f32; 2]>("partials")?;
    for first in run.range().step_by(GROUP) {
        let mut lanes = [[0.0f32; 2]; GROUP];
        for e in first..run.range().end.min(first + GROUP) {
            lanes[e - first][0] = xyz(corrections[e]).length_squared();
        }
        partials[run.group(first)] = group_sum(&lanes);
    }
    Ok(())
}

fn plan_sweeps_body(run: &mut Run<'_>) -> Result<()> {
    let [count, given, ..] = run.arguments();
    let square = run.read::<[f32; 4]>("sums")?[sums::CURVATURE as usize][0];
    let mut planned = run.write::<f32>("planned")?;
    let mut swing = run.write::<Swing>("swing")?;
    let mut now = swing[0];
    let mut plain = now.weight == 0.0;
    if now.reach > 0.0 {
        let slow = now.reach >= JUDGED && square * now.reach > SLOWER * now.first;
        if slow && given == 0 {
            now.gap = (NARROWING * now.gap).max(NARROWEST);
        }
        plain = square > GROWN * now.first;
        if slow || plain || now.reach >= FARTHEST_REACH {
            now.reach = 0.0;
        }
    }
    if !plain && now.reach == 0.0 {
        (now.first, now.reach) = (square, 1.0);
    }
    let radius = 1.0 - now.gap;
    if plain {
        now.weight = 1.0;
    }
    for k in 0..count as usize {
        if plain {
            planned[k] = 1.0;
        } else if now.reach == 1.0 {
            planned[k] = 1.0;
            (now.weight, now.reach) = (2.0, 1.0 / radius);
        } else {
            now.weight = 1.0 / (1.0 - 0.25 * radius * now.weight);
            planned[k] = now.weight;
            now.reach = (now.reach / (0.25 * radius * now.weight * now.weight)).min(HIGHEST_REACH);
        }
    }
    swing[0] = now;
    Ok(())
}

fn carry_vertex_body(run: &mut Run<'_>) -> Result<()> {
    let weight = run.read::<[f32; 4]>("weights")?[0][0];
    let mut corrections = run.write::<[f32; 4]>("corrections")?;
    let mut carried_motions = run.write::<[f32; 4]>("carried_motions")?;
    for v in run.range() {
        let mut change = corrections[v];
        if weight > 1.0 {
            change = [0, 1, 2, 3].map(|k| weight * change[k] + (weight - 1.0) * carried_motions[v][k]);
            corrections[v] = change;
        }
        carried_motions[v] = change;
    }
    Ok(())
}

fn carry_edge_body(run: &mut Run<'_>) -> Result<()> {
    let [number, ..] = run.arguments();
    let clock = run.one::<Clock>("clock")?;
    let weight = run.read::<[f32; 4]>("weights")?[number as usize / 4][number as usize % 4];
    let mut corrections = run.write::<[f32; 4]>("corrections")?;
    let mut carried = run.write::<[f32; 4]>("carried")?;
    let mut tensions = run.write::<f32>("tensions")?;
    for e in run.range() {
        let proposed = corrections[e];
        let mut change = proposed;
        if weight > 1.0 {
            change = [0, 1, 2, 3].map(|k| weight * proposed[k] + (weight - 1.0) * carried[e][k]);
            tensions[e] += (change[3] - proposed[3]) * clock.force;
            corrections[e] = change;
        }
        carried[e] = change;
    }
    Ok(())
}
