//! What was reached. The engine never promises what it did not reach: `converged` is true only where the strain that
//! the host recomputed in f64 is within the limit.

use crate::cloth::settings::{least_limit, resolution};
use crate::mesh::topology::Topology;
use crate::mesh::{EdgeKind, Mesh};
use crate::stage::fields::{Meters, REJECTED_FRAMES, Vertex};
use crate::stage::self_collision::SelfReport;

/// Strain of all edges, recomputed in f64 from f32 positions and the stored f32 rest lengths.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Strain {
    /// Largest strain of an edge that can move.
    pub max: f64,
    /// 99th percentile of those strains.
    pub p99: f64,
    /// Edges that can move whose strain is over their limit: that of all, or their own
    /// ([`crate::mesh::EdgeLimit`]).
    pub over: usize,
    /// Edges with both ends pinned whose strain is over their limit: no solver can help them.
    pub infeasible: usize,
    /// The smallest limit that f32 positions so far out can hold; see [`crate::Error::StrainLimit`].
    pub floor: f64,
    /// Largest strain of each connected piece, in the order of their smallest vertices.
    pub per_component: Vec<f64>,
    /// Strain along warp and weft within woven triangles; `None` where there are none. Where threads zigzag it may be
    /// over the limit, which holds for the sides that stand for them ([`crate::mesh::weave`]).
    pub threads: Option<ThreadStrain>,
}

/// Strain along warp and weft, of each woven triangle both.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ThreadStrain {
    /// The largest.
    pub max: f64,
    /// 99th percentile.
    pub p99: f64,
}

impl Strain {
    /// Measures positions against a mesh, a stretch band [σ_min, σ_max] for edges that have none of their own
    /// ([`EdgeKind::band`]), and the limit of the edges that have none of
    /// their own.
    pub fn measure(mesh: &Mesh, topology: &Topology, band: [f32; 2], limit: f32, positions: &[[f32; 3]]) -> Self {
        let mut pinned = vec![false; mesh.vertex_count()];
        for pin in mesh.pins() {
            pinned[*pin as usize] = true;
        }
        let threads = thread_strain(mesh, band, positions);
        let band = band.map(f64::from);
        let mut strains = Vec::with_capacity(mesh.edge_count());
        let (mut over, mut infeasible) = (0, 0);
        let mut per_component = vec![0.0f64; topology.component_count];
        for (number, edge) in mesh.edges().iter().enumerate() {
            let (tail, head) = (edge.tail as usize, edge.head as usize);
            let (Some(a), Some(b)) = (positions.get(tail), positions.get(head)) else { continue };
            let strain = strain(*a, *b, edge.rest, kind_of(mesh, number).band(band));
            let own = mesh.edge_limits().get(number).copied().unwrap_or_default();
            let missed = usize::from(strain > f64::from(own.beside(limit)));
            if pinned[tail] && pinned[head] {
                infeasible += missed;
                continue;
            }
            over += missed;
            strains.push(strain);
            let most = &mut per_component[topology.component_of[tail] as usize];
            *most = most.max(strain);
        }
        let max = strains.iter().fold(0.0f64, |most, strain| most.max(*strain));
        let floor = least_limit(resolution(mesh, positions)).into();
        Self { max, p99: percentile(&mut strains, 0.99), over, infeasible, floor, per_component, threads }
    }
}

/// Largest strain of the edges at each vertex, those between two pins included; 0 where there are none.
///
/// Measured as [`Strain::measure`] does, against a stretch band \[σ_min, σ_max\].
pub fn vertex_strain(mesh: &Mesh, band: [f32; 2], positions: &[[f32; 3]]) -> Vec<f32> {
    let mut strains = vec![0.0_f32; mesh.vertex_count()];
    for (number, edge) in mesh.edges().iter().enumerate() {
        let ends = [edge.tail as usize, edge.head as usize];
        let [Some(a), Some(b)] = ends.map(|end| positions.get(end)) else { continue };
        let strain = strain(*a, *b, edge.rest, kind_of(mesh, number).band(band.map(f64::from))) as f32;
        for end in ends {
            strains[end] = strains[end].max(strain);
        }
    }
    strains
}

/// Strain along the threads of woven triangles, against a stretch band \[σ_min, σ_max\]; `None` where there are none.
///
/// The warp of a triangle in rest lengths is w = a (x₁ − x₀) + b (x₂ − x₀) ([`crate::mesh::weave::Patch`]), its
/// stretch |w| (Baraff & Witkin 1998, section 4.2).
pub fn thread_strain(mesh: &Mesh, band: [f32; 2], positions: &[[f32; 3]]) -> Option<ThreadStrain> {
    let mut strains = Vec::with_capacity(2 * mesh.patches().len());
    for patch in mesh.patches() {
        let [Some(origin), Some(first), Some(second)] = patch.vertices.map(|vertex| positions.get(vertex as usize))
        else {
            continue;
        };
        let from = |point: &[f32; 3], axis: usize| f64::from(point[axis]) - f64::from(origin[axis]);
        for [a, b] in [patch.warp, patch.weft].map(|share| share.map(f64::from)) {
            let square = |axis: usize| (a * from(first, axis) + b * from(second, axis)).powi(2);
            strains.push(outside((square(0) + square(1) + square(2)).sqrt(), band.map(f64::from)));
        }
    }
    let max = strains.iter().copied().reduce(f64::max)?;
    Some(ThreadStrain { max, p99: percentile(&mut strains, 0.99) })
}

/// What an edge is.
fn kind_of(mesh: &Mesh, edge: usize) -> EdgeKind {
    mesh.edge_kinds().get(edge).copied().unwrap_or(EdgeKind::Inextensible)
}

/// How far the stretch of an edge is outside of a band.
fn strain(a: [f32; 3], b: [f32; 3], rest: f32, band: [f64; 2]) -> f64 {
    let squared: f64 = a.iter().zip(&b).map(|(a, b)| (f64::from(*b) - f64::from(*a)).powi(2)).sum();
    outside(squared.sqrt() / f64::from(rest), band)
}

fn outside(stretch: f64, [low, high]: [f64; 2]) -> f64 {
    // NaN must not look like a small strain.
    let strain = (stretch - stretch.max(low).min(high)).abs();
    if strain.is_nan() { f64::INFINITY } else { strain }
}

/// The smallest value that `part` of the values do not exceed; 0 for none.
fn percentile(values: &mut [f64], part: f64) -> f64 {
    let rank = (values.len() as f64 * part).ceil() as usize;
    if rank == 0 {
        return 0.0;
    }
    *values.select_nth_unstable_by(rank - 1, f64::total_cmp).1
}

/// The edge that decides the load of a frame ([`crate::Cloth::most_loaded_edge`]).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LoadedEdge {
    /// Its vertices.
    pub ends: [u32; 2],
    /// Mean tension over the frame, pulling positive \[N\].
    pub tension: f32,
    /// T/(m̄ l) \[1/s²\]; times the square of a substep it is [`Report::load`].
    pub load: f32,
}

/// How many dispatches a frame had, as a [`Report`] tells them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dispatches {
    pub(crate) seen: u64,
    pub(crate) recorded: u64,
    pub(crate) executed: Option<u64>,
}

/// What a frame reached.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Largest strain the device measured after the last substep (f32). Where edges have limits of their own this, as
    /// the next two, is measured by them: an edge at its own limit counts as if it were at the common one. Edges with
    /// laws of their own count by how far they are from them ([`mod@crate::stage::law`]).
    pub device_strain: f32,
    /// Largest strain the device measured at the end of any substep of the frame.
    pub worst_substep_strain: f32,
    /// Largest strain the device measured before the last collision pass, which the figures of the paper show; equal to
    /// `device_strain` where there are no solids.
    pub strain_before_contact: f32,
    /// Strain recomputed on the host, where positions were read back.
    pub strain: Option<Strain>,
    /// Whether the host's strain of every edge is within its limit; `None` without read-back.
    pub converged: Option<bool>,
    /// Iterations of the solver in this frame (sweeps or projections).
    pub iterations: u32,
    /// Iterations of linear solves in this frame.
    pub inner_iterations: u32,
    /// Iterations of implicit elastic solves in this frame.
    pub elastic_iterations: u32,
    /// The load s = max h² T/(m̄ l), T the mean tension of an edge over the frame: below 1 a step is easy, above 20
    /// fast projection fails ([`crate::stage::load`]).
    pub load: f32,
    /// Substeps that the frame was cut into.
    pub planned_substeps: u32,
    /// Substeps that the load asked for, by what the frame before metered: more than `planned_substeps` where the
    /// caller's bound, the dispatch budget or the rule's own cap left no room for them. Loops that a budget shortens
    /// may need more.
    pub wanted_substeps: u32,
    /// Substeps that were committed.
    pub substeps: u32,
    /// Substeps that ended over the limit; those that are not the last of the frame over
    /// what is accepted there ([`crate::Settings::middle_strain`]).
    pub missed_substeps: u32,
    /// Linear solves that ended at their bound instead of their tolerance: the dispatch budget or
    /// [`crate::FastProjection::inner_iterations`] was too small for them.
    pub exhausted_solves: u32,
    /// Dispatches of this frame: those that ran on the CPU, those that were submitted or recorded on the GPU.
    pub dispatches: u64,
    /// Dispatches of the recording of this frame, every loop as long as it may be; no submission has more.
    pub recorded_dispatches: u64,
    /// Dispatches of this frame whose loops had not ended, so that they did something; `None` on a GPU, where nobody
    /// counts them: one that does nothing costs the device next to nothing, and the encoder as much as any.
    pub executed_dispatches: Option<u64>,
    /// Whether a substep produced a value that is not finite. Its result was thrown away, and the rest of the frame
    /// with it: the cloth is as it was at the end of the last good substep.
    pub rejected: bool,
    /// Frames that were taken back so far, since the cloth was made, reset or set. Where they do not end, what drives
    /// the cloth is beyond what can be computed: [`crate::Cloth::reset`], [`crate::Cloth::set_state`] and a checkpoint
    /// are ways out.
    pub rejected_frames: u32,
    /// What self-collision did; `None` where cloth may pass through itself.
    pub self_collision: Option<SelfReport>,
}

impl Report {
    pub(crate) fn new(meters: &Meters, faults: &[u32], Dispatches { seen, recorded, executed }: Dispatches) -> Self {
        let fault = |word: u32| faults.get(word as usize).copied().unwrap_or(0);
        Self {
            device_strain: meters.strain,
            worst_substep_strain: meters.worst_strain,
            strain_before_contact: if meters.before_contact > 0.0 { meters.before_contact } else { meters.strain },
            strain: None,
            converged: None,
            iterations: meters.iterations,
            inner_iterations: meters.solves.x,
            elastic_iterations: meters.solves.y,
            load: meters.load,
            planned_substeps: meters.planned,
            wanted_substeps: meters.wanted,
            substeps: meters.substeps,
            missed_substeps: meters.missed,
            exhausted_solves: meters.exhausted,
            dispatches: seen,
            recorded_dispatches: recorded,
            executed_dispatches: executed,
            rejected: fault(0) != 0,
            rejected_frames: fault(REJECTED_FRAMES),
            self_collision: None,
        }
    }

    pub(crate) fn with_strain(mut self, strain: Strain) -> Self {
        let held = strain.over == 0 && strain.infeasible == 0;
        self.converged = Some(held && !self.rejected);
        self.strain = Some(strain);
        self
    }
}

/// Positions and the report that goes with them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Positions \[m\].
    pub positions: Vec<[f32; 3]>,
    /// What was reached, with the strain of these positions.
    pub report: Report,
}

pub(crate) fn positions(vertices: &[Vertex]) -> Vec<[f32; 3]> {
    vertices.iter().map(|vertex| vertex.position.to_array()).collect()
}
