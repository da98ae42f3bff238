//! The measure of everything: strain of an edge = | |d|/l − clamp(|d|/l, σ_min, σ_max) |, and the loop's decision.
//!
//! With the default band σ_min = σ_max = 1 this is | |d|/l − 1 |. Edges with both ends pinned are left out: no
//! projection can move them; the report counts those over the limit as infeasible.
//!
//! Edges may have limits of their own ([`crate::mesh::EdgeLimit`]). Then strain is measured by them: times the common
//! limit over that of the edge, so that what is at its own limit counts as if it were at the common one, and all that
//! decides by the largest strain stays as it is.

use fearless_simd::{Simd, prelude::*};
use glam::Vec4;

use crate::engine::cpu::{Run, Write};
use crate::engine::fields::Domain;
use crate::engine::layout::GROUP;
use crate::engine::program::Kernel;
use crate::engine::source::Source;
use crate::error::Result;
use crate::lanes::{self, LANES, Vec3s, Wide, Work};
use crate::mesh::Link;
use crate::stage::Recorder;
use crate::stage::edge::{self, Band};
use crate::stage::fields::{Frame, Meters, UNMEASURED, Vertex, sums};
use crate::stage::{Stage, control};

static SOURCE: Source = Source::new("strain", include_str!("../../shaders/strain.wgsl")).shares(&[&edge::SOURCE]);

/// Strain of every edge, largest per workgroup.
pub(crate) static MEASURE_STRAIN: Kernel =
    Kernel::new("measure_strain", &SOURCE, measure_strain_body).aliases(&[("partials", "strain_partials")]);

/// The same where edges have limits of their own.
pub(crate) static MEASURE_LIMITED_STRAIN: Kernel =
    Kernel::new("measure_limited_strain", &SOURCE, measure_limited_strain_body)
        .aliases(&[("partials", "strain_partials")]);

/// Keeps the best state of a last substep.
pub(crate) static KEEP_BEST: Kernel = Kernel::new("keep_best", &SOURCE, keep_best_body);
/// Takes it back.
pub(crate) static REVERT_TO_BEST: Kernel = Kernel::new("revert_to_best", &SOURCE, revert_to_best_body);

/// Records measuring, and ending the loop where the strain is within the limit, after `iterations` more iterations;
/// `inner` is the guard word of a linear solve inside, or 0.
pub fn record(recorder: &mut Recorder<'_>, iterations: u32, inner: u32) {
    measure(recorder);
    control::judge_strain(recorder, iterations, inner);
    keep(recorder);
}

/// Records measuring alone.
pub fn measure(recorder: &mut Recorder<'_>) {
    let limited = recorder.sizes().of(Domain::LIMITS) > 0;
    recorder.dispatch(if limited { &MEASURE_LIMITED_STRAIN } else { &MEASURE_STRAIN }, Domain::EDGES);
}

/// Records keeping the state that was judged last, if it is the best of the last substep so far.
pub fn keep(recorder: &mut Recorder<'_>) {
    if recorder.about.moment.last_substep && !recorder.about.moment.colliding {
        recorder.dispatch(&KEEP_BEST, Domain::VERTICES);
    }
}

/// The end of a frame's last projection: a solver that wandered off gives its best state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TakeBest;

impl Stage for TakeBest {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&REVERT_TO_BEST, Domain::VERTICES);
        recorder.dispatch_range(&control::NOTE_BEST, 0..1, [0; 4]);
    }
}

fn keep_best_body(run: &mut Run<'_>) -> Result<()> {
    let strain = run.read::<[f32; 4]>("sums")?[sums::STRAIN as usize][0];
    let meters = run.one::<Meters>("meters")?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let mut best_displacements = run.write::<[f32; 4]>("best_displacements")?;
    if strain > meters.best {
        return Ok(());
    }
    for v in run.range() {
        best_displacements[v] = displacements[v];
    }
    Ok(())
}

fn revert_to_best_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    let strain = run.read::<[f32; 4]>("sums")?[sums::STRAIN as usize][0];
    let meters = run.one::<Meters>("meters")?;
    let best_displacements = run.read::<[f32; 4]>("best_displacements")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    if strain <= frame.strain_limit || strain <= meters.best || meters.best >= UNMEASURED {
        return Ok(());
    }
    for v in run.range() {
        displacements[v] = best_displacements[v];
    }
    Ok(())
}

fn measure_strain_body(run: &mut Run<'_>) -> Result<()> {
    measure_by(run, &[])
}

fn measure_limited_strain_body(run: &mut Run<'_>) -> Result<()> {
    let edge_limits = run.read::<f32>("edge_limits")?;
    measure_by(run, &edge_limits[run.range()])
}

/// `limits` are those of the edges of the dispatch, or none.
fn measure_by(run: &mut Run<'_>, limits: &[f32]) -> Result<()> {
    let edges = run.read::<Link>("edges")?;
    let range = run.range();
    lanes::widest(Measure {
        band: Band::of(run.one::<Frame>("frame")?),
        common: run.one::<Frame>("frame")?.strain_limit,
        limits,
        edges: &edges[range.clone()],
        vertices: run.read::<Vertex>("vertices")?,
        displacements: run.read::<[f32; 4]>("displacements")?,
        first_group: run.group(range.start),
        partials: run.write::<[f32; 2]>("partials")?,
    });
    Ok(())
}

struct Measure<'a> {
    band: Band,
    common: f32,
    limits: &'a [f32],
    edges: &'a [Link],
    vertices: &'a [Vertex],
    displacements: &'a [[f32; 4]],
    first_group: usize,
    partials: Write<'a, [f32; 2]>,
}

/// The common limit over that of an edge: 0 stands for the common one, less than 0 for one that is not above it.
fn measure_of(own: f32, common: f32) -> f32 {
    if own == 0.0 {
        return 1.0;
    }
    common / if own < 0.0 { common.min(-own) } else { own }
}

impl Work for Measure<'_> {
    type Output = ();

    #[inline(always)]
    fn on<S: Simd>(mut self, simd: S) {
        let zero = Wide::splat(simd, 0.0);
        // A vertex at the end of the substep, and its inverse mass: displacements have a fourth word of 0.
        let at = |v: u32| {
            let place: [f32; 4] = bytemuck::cast(self.vertices[v as usize]);
            (Vec4::from_array(place) + Vec4::from_array(self.displacements[v as usize])).to_array()
        };
        for (group, edges) in self.edges.chunks(GROUP).enumerate() {
            let mut most = zero;
            let mut before = None;
            // As many edges at once as there are lanes; the last ones are measured as often as it takes.
            for (number, eight) in edges.chunks(LANES).enumerate() {
                let link = |lane: usize| &eight[lane.min(eight.len() - 1)];
                let (head, b) = Vec3s::gather(simd, |lane| at(link(lane).head));
                // Along a yarn an edge starts where the one before ended, and its tail is known.
                let follows = |(last, ..): &(u32, Vec3s<S>, Wide<S>)| {
                    let chained =
                        (1..LANES).fold(true, |chained, lane| chained & (link(lane).tail == link(lane - 1).head));
                    chained && link(0).tail == *last
                };
                let (tail, a) = match before.filter(follows) {
                    Some((_, place, w)) => (place.then(head), w.slide::<{ LANES - 1 }>(b)),
                    None => Vec3s::gather(simd, |lane| at(link(lane).tail)),
                };
                before = Some((link(LANES - 1).head, head, b));
                let rest = Wide::load_array(simd, std::array::from_fn(|lane| link(lane).rest));
                let extent = (head - tail).length();
                let mut strain = (extent - self.band.wanted(extent, rest)).abs() / rest;
                if !self.limits.is_empty() {
                    let own = &self.limits[group * GROUP + number * LANES..];
                    let measure = |lane: usize| measure_of(own[lane.min(eight.len() - 1)], self.common);
                    strain *= Wide::load_array(simd, std::array::from_fn(measure));
                }
                most = most.max_precise((a + b).simd_gt(zero).select(strain, zero));
            }
            let most = most.to_array().into_iter().fold(0.0, f32::max);
            self.partials[self.first_group + group] = [most, 0.0];
        }
    }
}
