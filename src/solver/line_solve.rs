//! The line solve: exact tridiagonal solves along all yarns at once.
//!
//! Along one yarn the matrix A = J W Jᵀ of eq. (7) is tridiagonal: edge k couples to edge k − 1 through their common
//! vertex only, A_{k,k−1} = b_k = −n_{k−1}·W_k n_k, and an exact solve costs a few operations per edge however long the
//! yarn is. [`crate::solver::yarn_sweep`] derives where that comes from and what it is good for.
//!
//! **On a GPU** `lanes` invocations share a yarn. Each eliminates its run of consecutive rows from left to right, the
//! row before the run entering as a second right-hand side g. The last row of each run is kept: these separators form a
//! tridiagonal system of at most 64 unknowns, which one invocation solves in workgroup memory. Then each run is solved
//! backwards. Any length of yarn fits. This is elimination of a symmetric definite matrix in another order, as accurate
//! in f32 as the serial one; cyclic reduction loses two digits more on a taut yarn.
//!
//! **On a CPU** yarns go in lockstep, one in each lane of a vector (`bundle.rs`), by plain elimination.
//!
//! A closed yarn makes the system cyclic (Sherman–Morrison). Pivots are clamped at 1e-5 of the diagonal.
//!
//! **Between two pins** a straight yarn has one edge more than it has vertices to move: the matrix is singular there,
//! and lengths that do not add up to the distance of the pins cannot be reached by any motion along the yarn. Such a
//! yarn keeps its mean strain, as far as a part of the strain limit allows, and is projected to evenly spread lengths;
//! the uniform mode, which the solve would blow up, has no residual left. Pins inside a yarn are not told apart: a
//! straight span between two of them that is not the whole yarn stays singular.
//!
//! Without that slack cloth gains energy. A row whose rest length is the distance of its pins sags by y and is longer
//! by the square of it, so C = 0 is a double root, and Newton's method takes back half of the sag in each iteration, at
//! least one per substep. Half of 1 cm in 1/240 s is 1.2 m/s upwards, whatever brought the row down: it is a
//! trampoline. Shorter steps, a tighter solve or other clamps do not change that, a tighter limit does at many times
//! the cost ([`crate::solver::fast_projection`] has the figures).
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | n_k (projection), q_k (linear solve); diagonal | `line_rows.direction; .diagonal` | 1; 1/kg |
//! | W_k n_k, residual; then f = b_k/pivot of k − 1; y, g over the own pivot; μ | `line_rows.state` | |
//! | last rows of the runs | `separators` | |

use glam::{Vec3, Vec4};

use crate::engine::cpu::{Run, Shared, SharedVectors};
use crate::engine::fields::{Domain, Spec};
use crate::engine::layout::{GROUP, element};
use crate::engine::program::{Body, Kernel, Pattern, Renames};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::mesh::Link;
use crate::mesh::windows::MOST_PASSES;
use crate::mesh::yarns::YarnRow;
use crate::solver::bundle::SMALLEST_PIVOT;
use crate::solver::yarn_projection::YarnSweepLive;
use crate::stage::Recorder;
use crate::stage::edge::{self, Band, between};
use crate::stage::fields::{Clock, Frame, Vertex};
use crate::stage::freedom::Freedom;

element! {
    /// A row of a line solve in memory.
    pub struct LineRow {
        /// Gradient of the constraint at the head.
        pub(crate) direction: Vec3,
        /// Diagonal of the matrix \[1/kg\].
        pub(crate) diagonal: f32,
        /// W times the direction at the tail, and the residual; then steps of the elimination and the solution.
        pub(crate) state: Vec4,
    }
}

/// The WGSL twin, for files that solve along yarns.
pub(super) static SOURCE: Source = Source::new("line_solve", include_str!("../../shaders/line_solve.wgsl"))
    .constants(&[("SMALLEST_PIVOT", Constant::F32(SMALLEST_PIVOT)), ("MOST_PASSES", Constant::U32(MOST_PASSES as u32))])
    .shares(&[&edge::SOURCE]);

/// Its fields.
pub(crate) const FIELDS: &[Spec] =
    &[Spec::of::<LineRow>("line_rows", Domain::EDGES, "rows of a line solve, then its steps and solution").scratch()];

/// A taut yarn of m edges has a condition of about m²; meshes that are compared in lock-step have yarns of about eight.
pub(super) const fn kernel(name: &'static str, source: &'static Source, body: Body) -> Kernel {
    Kernel::new(name, source, body).pattern(Pattern::Lines).amplification(64.0)
}

/// Edges that one invocation eliminates, about: longer runs use fewer invocations, shorter ones more separators.
const RUN: u32 = 16;

/// Invocations that share a yarn: a power of two up to a workgroup.
pub(super) fn lanes(recorder: &Recorder<'_>) -> u32 {
    lanes_of(recorder.longest_yarn())
}

/// The same for lines of which the longest has so many links.
pub(super) fn lanes_of(longest: u32) -> u32 {
    longest.div_ceil(RUN).next_power_of_two().clamp(1, GROUP as u32)
}

/// Launches a line kernel on a family of yarns, which share no vertex, with two arguments of its own.
pub(super) fn dispatch_family(
    recorder: &mut Recorder<'_>,
    kernel: &'static Kernel,
    family: usize,
    [first, second]: [u32; 2],
    renames: Renames,
) {
    let (lanes, yarns) = (lanes(recorder), recorder.families()[family].clone());
    let whole = recorder.sizes().yarns() as u32 * lanes;
    recorder.dispatch_slice(kernel, yarns.start * lanes..yarns.end * lanes, whole, [lanes, first, second, 0], renames);
}

/// The yarns of a dispatch.
pub(super) fn yarns_of<'a>(run: &mut Run<'a>) -> Result<&'a [YarnRow]> {
    let lanes = run.arguments()[0] as usize;
    let yarns = run.read::<YarnRow>("yarns")?;
    Ok(&yarns[run.range().start / lanes..run.range().end / lanes])
}

/// What the projection of yarns works on.
pub(super) struct YarnView<'a> {
    pub(super) frame: &'a Frame,
    pub(super) clock: &'a Clock,
    pub(super) live: &'a YarnSweepLive,
    pub(super) edges: &'a [Link],
    pub(super) vertices: &'a [Vertex],
    pub(super) freedom: Freedom<'a>,
    pub(super) displacements: SharedVectors<'a>,
    pub(super) reactions: SharedVectors<'a>,
    pub(super) tensions: Shared<'a>,
}

impl<'a> YarnView<'a> {
    pub(super) fn of(run: &mut Run<'a>) -> Result<Self> {
        Ok(Self {
            frame: run.one::<Frame>("frame")?,
            clock: run.one::<Clock>("clock")?,
            live: run.one::<YarnSweepLive>("yarn_sweep")?,
            edges: run.read::<Link>("edges")?,
            vertices: run.read::<Vertex>("vertices")?,
            freedom: Freedom::of(run)?,
            displacements: run.shared_vectors("displacements")?,
            reactions: run.shared_vectors("reactions")?,
            tensions: run.shared("tensions")?,
        })
    }

    /// Strain that a yarn between two pins keeps: its mean, as far as it may; 0 for any other.
    pub(super) fn slack(&self, yarn: &YarnRow) -> f32 {
        let most = self.live.slack * self.frame.least_limit;
        let band = Band::of(self.frame);
        kept_strain(most, self.edges, self.vertices, yarn, |e| {
            let edge = self.edges[e];
            let (tail, head) = (edge.tail as usize, edge.head as usize);
            let extent = between(self.vertices, |v| self.displacements.vector(v), tail, head).length();
            extent - band.wanted(extent, edge.rest)
        })
    }
}

/// Mean strain of a yarn between two pins, no more than `most`, from the length that each edge has too much \[m\]; 0
/// for any other yarn.
pub(super) fn kept_strain(
    most: f32,
    edges: &[Link],
    vertices: &[Vertex],
    yarn: &YarnRow,
    excess: impl Fn(usize) -> f32,
) -> f32 {
    if yarn.whole_count == 0 || yarn.closed != 0 {
        return 0.0;
    }
    // A piece keeps what its whole yarn keeps: otherwise the two pull against each other.
    let all = yarn.whole_first as usize..(yarn.whole_first + yarn.whole_count) as usize;
    let free = |v: u32| vertices[v as usize].inverse_mass > 0.0;
    if free(edges[all.start].tail) || free(edges[all.end - 1].head) {
        return 0.0;
    }
    let mut sum = [0.0; 2];
    for e in all {
        // Between two pins of a patch: nothing to move, and nothing to spread.
        if free(edges[e].tail) || free(edges[e].head) {
            sum = [sum[0] + excess(e), sum[1] + edges[e].rest];
        }
    }
    if sum[1] > 0.0 { (sum[0] / sum[1]).clamp(-most, most) } else { 0.0 }
}
