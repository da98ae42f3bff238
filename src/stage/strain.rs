//! The measure of everything: strain of an edge = | |d|/l − clamp(|d|/l, σ_min, σ_max) |, and the loop's decision.
//!
//! With the default band σ_min = σ_max = 1 this is | |d|/l − 1 |. Edges with both ends pinned are left out: no
//! projection can move them; the report counts those over the limit as infeasible.
//!
//! The same pass looks at the vertices: a position or a speed that is not finite, or out of reach, is a fault, and the
//! substep is taken back at its commit. A pass of its own would be one dispatch more per substep.
//!
//! Edges may have limits of their own ([`crate::mesh::EdgeLimit`]). Then strain is measured by them: times the common
//! limit over that of the edge, so that what is at its own limit counts as if it were at the common one, and all that
//! decides by the largest strain stays as it is. Edges with laws of their own are measured as [`law`] says.

use fearless_simd::{Simd, prelude::*};
use glam::Vec4;

use crate::engine::cpu::{Run, Write};
use crate::engine::fields::{Domain, Sizes};
use crate::engine::layout::GROUP;
use crate::engine::program::Kernel;
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::lanes::{self, LANES, Vec3s, Wide, Work};
use crate::mesh::{FARTHEST, Link};
use crate::stage::Recorder;
use crate::stage::edge::{self, Band};
use crate::stage::fields::{Clock, Frame, Meters, UNMEASURED, Vertex, sums};
use crate::stage::law::{self, EdgeLaw};
use crate::stage::{Stage, control};
use crate::vector::xyz;

static SOURCE: Source = Source::new("strain", include_str!("../../shaders/strain.wgsl"))
    .constants(&[("UNSOLVED", Constant::F32(UNSOLVED))])
    .shares(&[&edge::SOURCE, &law::SOURCE]);

/// How many times its strain counts by which the length of an edge misses what its law asks for.
const UNSOLVED: f32 = 10.0;

/// Strain of every edge, largest per workgroup, and whether one of the vertices has a value that must not be committed.
pub(crate) static MEASURE_STRAIN: Kernel =
    Kernel::new("measure_strain", &SOURCE, measure_strain_body).aliases(&[("partials", "strain_partials")]);

/// The same where edges have limits of their own.
pub(crate) static MEASURE_LIMITED_STRAIN: Kernel =
    Kernel::new("measure_limited_strain", &SOURCE, measure_limited_strain_body)
        .aliases(&[("partials", "strain_partials")]);

/// The same where edges have laws of their own.
pub(crate) static MEASURE_LAWFUL_STRAIN: Kernel =
    Kernel::new("measure_lawful_strain", &SOURCE, measure_lawful_strain_body)
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
    let sizes = recorder.sizes();
    let kernel = match sizes {
        _ if sizes.lawful() => &MEASURE_LAWFUL_STRAIN,
        _ if sizes.of(Domain::LIMITS) > 0 => &MEASURE_LIMITED_STRAIN,
        _ => &MEASURE_STRAIN,
    };
    let arguments = [sizes.edges() as u32, sizes.vertices() as u32, 0, 0];
    recorder.dispatch_range(kernel, 0..elements(sizes) as u32, arguments);
}

/// Elements of a measurement: edges and vertices, one of each at once.
pub(super) fn elements(sizes: &Sizes) -> usize {
    sizes.edges().max(sizes.vertices())
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
    measure_by::<false>(run, &[])
}

fn measure_limited_strain_body(run: &mut Run<'_>) -> Result<()> {
    let edge_limits = run.read::<f32>("edge_limits")?;
    measure_by::<true>(run, edge_limits)
}

/// `limits` are those of all edges, or none: then the loop is compiled without them.
fn measure_by<const LIMITED: bool>(run: &mut Run<'_>, limits: &[f32]) -> Result<()> {
    let edges = run.read::<Link>("edges")?;
    let range = run.range();
    let part = |count: usize| range.start.min(count)..range.end.min(count);
    let (vertices, displacements) = (run.read::<Vertex>("vertices")?, run.read::<[f32; 4]>("displacements")?);
    let first_group = run.group(range.start);
    let mut partials = run.write::<[f32; 2]>("partials")?;
    look_at_vertices(run, &mut partials)?;
    let frame = run.one::<Frame>("frame")?;
    let (band, common) = (Band::of(frame), frame.strain_limit);
    let (limits, edges) = (&limits[part(limits.len())], &edges[part(edges.len())]);
    let measure = Measure::<LIMITED> { band, common, limits, edges, vertices, displacements, first_group, partials };
    lanes::widest(measure);
    Ok(())
}

/// Starts the leaves: no strain, and whether one of the vertices is insane.
fn look_at_vertices(run: &mut Run<'_>, partials: &mut Write<'_, [f32; 2]>) -> Result<()> {
    let range = run.range();
    let (vertices, displacements) = (run.read::<Vertex>("vertices")?, run.read::<[f32; 4]>("displacements")?);
    let (first_group, groups) = (run.group(range.start), range.len().div_ceil(GROUP));
    // As the commit will find them: no comparison with NaN is true.
    let (span, remainders) = (run.one::<Clock>("clock")?.span, run.read::<[f32; 4]>("remainders")?);
    let sane = |v: usize| {
        let moved = Vec4::from_array(displacements[v]);
        let velocity = (moved - Vec4::from_array(remainders[v])) / span;
        let within = (vertices[v].place() + moved).abs().cmple(Vec4::splat(FARTHEST))
            & velocity.abs().cmple(Vec4::splat(FARTHEST));
        within.bitmask() & 0b111 == 0b111
    };
    for group in 0..groups {
        let first = range.start + group * GROUP;
        let mut all = true;
        for v in first.min(vertices.len())..(first + GROUP).min(range.end).min(vertices.len()) {
            all &= sane(v);
        }
        partials[first_group + group] = [0.0, f32::from(u8::from(!all))];
    }
    Ok(())
}

fn measure_lawful_strain_body(run: &mut Run<'_>) -> Result<()> {
    let range = run.range();
    let first = range.start;
    let edges = run.read::<Link>("edges")?;
    let edge_limits = run.read::<f32>("edge_limits")?;
    let edge_laws = run.read::<EdgeLaw>("edge_laws")?;
    let (vertices, displacements) = (run.read::<Vertex>("vertices")?, run.read::<[f32; 4]>("displacements")?);
    let first_group = run.group(first);
    let mut partials = run.write::<[f32; 2]>("partials")?;
    look_at_vertices(run, &mut partials)?;
    let (frame, span) = (run.one::<Frame>("frame")?, run.one::<Clock>("clock")?.span);
    let band = Band::of(frame);
    let at = |v: u32| vertices[v as usize].position + xyz(displacements[v as usize]);
    for e in first.min(edges.len())..range.end.min(edges.len()) {
        let (edge, law) = (&edges[e], &edge_laws[e]);
        let w = vertices[edge.tail as usize].inverse_mass + vertices[edge.head as usize].inverse_mass;
        if w == 0.0 {
            continue;
        }
        let extent = (at(edge.head) - at(edge.tail)).length();
        let strain = if law.is_own() {
            law.unsolved(span, [extent, edge.rest, w], UNSOLVED)
        } else {
            (extent - band.wanted(extent, edge.rest)).abs() / edge.rest
        };
        let leaf = &mut partials[first_group + (e - first) / GROUP];
        leaf[0] = leaf[0].max(strain * measure_of(edge_limits[e], frame.strain_limit));
    }
    Ok(())
}

struct Measure<'a, const LIMITED: bool> {
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

impl<const LIMITED: bool> Work for Measure<'_, LIMITED> {
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
                let rest = Wide::load_array(simd, lanes::each(|lane| link(lane).rest));
                let extent = (head - tail).length();
                let mut strain = (extent - self.band.wanted(extent, rest)).abs() / rest;
                if LIMITED {
                    let own = &self.limits[group * GROUP + number * LANES..];
                    let measure = |lane: usize| measure_of(own[lane.min(eight.len() - 1)], self.common);
                    strain *= Wide::load_array(simd, lanes::each(measure));
                }
                most = most.max_precise((a + b).simd_gt(zero).select(strain, zero));
            }
            let most = most.to_array().into_iter().fold(0.0, f32::max);
            self.partials[self.first_group + group][0] = most;
        }
    }
}
