//! The line solve: exact tridiagonal solves along all yarns at once.
//!
//! Along one yarn the matrix A = J W Jᵀ of eq. (7) is tridiagonal: edge k couples to edge k − 1 through their common
//! vertex only, A_{k,k−1} = b_k = −n_{k−1}·W_k n_k, and an exact solve costs a few operations per edge however long the
//! yarn is. [`crate::solver::yarn_sweep`] derives where that comes from and what it is good for.
//!
//! **On a GPU** `lanes` invocations share a yarn. Each eliminates its run of consecutive rows from left to right, the row
//! before the run entering as a second right-hand side g. The last row of each run is kept: these separators form a
//! tridiagonal system of at most 64 unknowns, which one invocation solves in workgroup memory. Then each run is solved
//! backwards. Any length of yarn fits. This is elimination of a symmetric definite matrix in another order, as accurate in
//! f32 as the serial one; cyclic reduction loses two digits more on a taut yarn.
//!
//! **On a CPU** yarns go in lockstep, one in each lane of a vector (`lanes.rs`), by plain elimination.
//!
//! A closed yarn makes the system cyclic (Sherman–Morrison). Pivots are clamped at 1e-5 of the diagonal.
//!
//! **Between two pins** a straight yarn has one edge more than it has vertices to move: the matrix is singular there, and
//! lengths that do not add up to the distance of the pins cannot be reached by any motion along the yarn. Such a yarn keeps its
//! mean strain, as far as a part of the strain limit allows, and is projected to evenly spread lengths; the uniform mode, which the
//! solve would blow up, has no residual left. Pins inside a yarn are not told apart: a straight span between two of them
//! that is not the whole yarn stays singular.
//!
//! Without that slack cloth gains energy. A row whose rest length is the distance of its pins sags by y and is longer by
//! the square of it, so C = 0 is a double root, and Newton's method takes back half of the sag in each iteration, at least
//! one per substep. Half of 1 cm in 1/240 s is 1.2 m/s upwards, whatever brought the row down: it is a trampoline. Shorter
//! steps, a tighter solve or other clamps do not change that, a tighter limit does at many times the cost
//! ([`crate::solver::fast_projection`] has the figures).
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | n_k (projection), q_k (linear solve); diagonal | `line_rows.direction; .diagonal` | 1; 1/kg |
//! | W_k n_k, residual; then f = b_k/pivot of k − 1; y, g over the own pivot; μ | `line_rows.state` | |
//! | last rows of the runs | `separators` | |

use crate::cpu::{Run, Shared, SharedVectors};
use crate::error::Result;
use crate::params::{Clock, Frame, GROUP, Link, Vertex, YarnSpan};
use crate::program::{Body, Kernel, Recorder, Shape};
use crate::solver::lanes::{Bundle, LANES, Links, Rows, Scratch, Vec3s, Wide};
use crate::solver::{Freedom, banded_length};
use glam::Vec3;

const WGSL: &str = include_str!("../../shaders/lines.wgsl");

/// A taut yarn of m edges has a condition of about m²; meshes that are compared in lock-step have yarns of about eight.
pub(super) const fn kernel(name: &'static str, body: Body) -> Kernel {
    Kernel::new(name, WGSL, body).shape(Shape::Lines).amplification(64.0)
}

/// Projects one yarn: C = |d| − l of all its edges to 0 at once.
pub static PROJECT_YARN: Kernel = kernel("project_yarn", project_yarn_body);
/// Preconditions a linear solve by one yarn's block of the matrix.
pub static SOLVE_YARN: Kernel = kernel("solve_yarn", solve_yarn_body);

/// Takes what a yarn between two pins keeps out of the constraints of a linear solve.
pub static KEEP_SLACK: Kernel = kernel("keep_slack", keep_slack_body);

/// Edges that one invocation eliminates, about: longer runs use fewer invocations, shorter ones more separators.
const RUN: u32 = 16;

/// Invocations that share a yarn: a power of two up to a workgroup.
pub(super) fn lanes(recorder: &Recorder<'_>) -> u32 {
    recorder.longest_yarn().div_ceil(RUN).next_power_of_two().clamp(1, GROUP as u32)
}

/// Records the projection of one family of yarns, which share no vertex.
pub fn project_family(recorder: &mut Recorder<'_>, family: usize) {
    let (lanes, yarns) = (lanes(recorder), recorder.families()[family].clone());
    recorder.dispatch_range(&PROJECT_YARN, yarns.start * lanes..yarns.end * lanes, [lanes, 0, 0, 0]);
}

/// Records `preconditioned` (or the field that stands for it) = P `residuals` for the linear solve that is set up in
/// `directions`. Yarns share no edge, so all families go at once.
pub fn solve_all(recorder: &mut Recorder<'_>, renames: &'static [(&'static str, &'static str)]) {
    let lanes = lanes(recorder);
    let yarns = recorder.families().last().map_or(0, |family| family.end);
    recorder.dispatch_with(&SOLVE_YARN, 0..yarns * lanes, [lanes, 0, 0, 0], renames);
}

/// Records the same for the yarns of one family alone, or its negative.
pub fn solve_family(
    recorder: &mut Recorder<'_>,
    family: usize,
    negative: bool,
    renames: &'static [(&'static str, &'static str)],
) {
    let (lanes, yarns) = (lanes(recorder), recorder.families()[family].clone());
    let arguments = [lanes, 0, negative.into(), 0];
    recorder.dispatch_with(&SOLVE_YARN, yarns.start * lanes..yarns.end * lanes, arguments, renames);
}

/// Records that yarns between two pins keep their mean constraint, for the linear solve that has been set up in `residuals`
/// and `directions`.
pub fn keep_slack(recorder: &mut Recorder<'_>) {
    let lanes = lanes(recorder);
    let yarns = recorder.families().last().map_or(0, |family| family.end);
    recorder.dispatch_range(&KEEP_SLACK, 0..yarns * lanes, [lanes, 0, 0, 0]);
}

/// The yarns of a dispatch.
pub(super) fn yarns_of<'a>(run: &mut Run<'a>) -> Result<&'a [YarnSpan]> {
    let lanes = run.arguments()[0] as usize;
    let yarns = run.read::<YarnSpan>("yarns")?;
    Ok(&yarns[run.range().start / lanes..run.range().end / lanes])
}

/// What the projection of yarns works on.
pub(super) struct Cloth<'a> {
    pub(super) frame: &'a Frame,
    pub(super) clock: &'a Clock,
    pub(super) edges: &'a [Link],
    pub(super) vertices: &'a [Vertex],
    pub(super) freedom: Freedom<'a>,
    pub(super) displacements: SharedVectors<'a>,
    pub(super) reactions: SharedVectors<'a>,
    pub(super) tensions: Shared<'a>,
}

impl<'a> Cloth<'a> {
    pub(super) fn of(run: &mut Run<'a>) -> Result<Self> {
        Ok(Self {
            frame: run.one::<Frame>("frame")?,
            clock: run.one::<Clock>("clock")?,
            edges: run.read::<Link>("edges")?,
            vertices: run.read::<Vertex>("vertices")?,
            freedom: Freedom::of(run)?,
            displacements: run.shared_vectors("displacements")?,
            reactions: run.shared_vectors("reactions")?,
            tensions: run.shared("tensions")?,
        })
    }

    /// Strain that a yarn between two pins keeps: its mean, as far as it may; 0 for any other.
    pub(super) fn slack(&self, yarn: &YarnSpan) -> f32 {
        kept_strain(self.frame, self.edges, self.vertices, yarn, |e| {
            let edge = self.edges[e];
            let (tail, head) = (edge.tail as usize, edge.head as usize);
            let d = (self.vertices[head].position - self.vertices[tail].position)
                + (self.displacements.vector(head) - self.displacements.vector(tail));
            let extent = d.length();
            extent - banded_length(self.frame, extent, edge.rest)
        })
    }
}

/// Mean strain of a yarn between two pins, no more than it may keep, from the length that each edge has too much \[m\]; 0 for
/// any other yarn.
fn kept_strain(
    frame: &Frame,
    edges: &[Link],
    vertices: &[Vertex],
    yarn: &YarnSpan,
    excess: impl Fn(usize) -> f32,
) -> f32 {
    if yarn.count == 0 || yarn.closed != 0 {
        return 0.0;
    }
    let all = yarn.first as usize..(yarn.first + yarn.count) as usize;
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
    let most = frame.live.y * frame.strain_limit;
    if sum[1] > 0.0 { (sum[0] / sum[1]).clamp(-most, most) } else { 0.0 }
}

fn project_yarn_body(run: &mut Run<'_>) -> Result<()> {
    let yarns = yarns_of(run)?;
    let cloth = Cloth::of(run)?;
    let mut memory = Memory::default();
    for bundle in Bundle::all(yarns) {
        match cloth.freedom.constraints() {
            None => project_bundle(&cloth, &bundle, &mut memory, |_| ()),
            Some(constraints) => project_bundle(&cloth, &bundle, &mut memory, |vertices: &[u32; LANES]| {
                let (normal, across) = Vec3s::gather(|lane| constraints[vertices[lane] as usize]);
                Constraint { normal, across }
            }),
        }
    }
    Ok(())
}

/// What the vertices of a place may do: everything, or what constraints leave. The twin of `Freedom` in lanes.
trait Limited: Copy {
    fn allowed(self, motion: Vec3s) -> Vec3s;

    /// n·S n for a unit direction.
    fn along(self, n: Vec3s) -> Wide {
        n.dot(self.allowed(n))
    }

    /// Whether constraints bear something.
    const BEARS: bool = true;
}

impl Limited for () {
    #[inline(always)]
    fn allowed(self, motion: Vec3s) -> Vec3s {
        motion
    }

    #[inline(always)]
    fn along(self, _n: Vec3s) -> Wide {
        Wide::ONE
    }

    const BEARS: bool = false;
}

#[derive(Clone, Copy)]
struct Constraint {
    normal: Vec3s,
    across: Wide,
}

impl Limited for Constraint {
    #[inline(always)]
    fn allowed(self, motion: Vec3s) -> Vec3s {
        let along = (Wide::ONE - self.across - self.across) * self.normal.dot(motion);
        motion * self.across + self.normal * along
    }
}

/// A place along the yarns of a bundle: a vertex of each.
struct Place<L> {
    position: Vec3s,
    moving: Moving<L>,
}

/// What is needed to move the vertices of a place.
struct Moving<L> {
    limited: L,
    inverse_mass: Wide,
    displacement: Vec3s,
    /// Rest length of the edge that starts here, or of the last.
    rest: Wide,
}

impl<L> Place<L> {
    #[inline(always)]
    fn of(cloth: &Cloth<'_>, vertices: &[u32; LANES], rest: Wide, limited: L) -> Self {
        let (position, inverse_mass) =
            Vec3s::gather(|lane| bytemuck::cast::<Vertex, [f32; 4]>(cloth.vertices[vertices[lane] as usize]));
        let (displacement, _) = Vec3s::gather(|lane| cloth.displacements.get(vertices[lane] as usize));
        Self { position, moving: Moving { limited, inverse_mass, displacement, rest } }
    }
}

impl<L: Limited> Moving<L> {
    /// Moves the vertices of the lanes that are on; pins bear the pull instead.
    #[inline(always)]
    fn pull(&self, cloth: &Cloth<'_>, vertices: &[u32; LANES], pull: Vec3s, on: Wide) {
        let way = self.limited.allowed(pull * self.inverse_mass).clamped(Wide::splat(cloth.frame.live.x) * self.rest);
        let moved = self.displacement + way;
        if on.all() {
            moved.scatter(|lane, moved| cloth.displacements.set(vertices[lane] as usize, moved));
        } else {
            let on = on.to_bitmask();
            moved.scatter(|lane, moved| {
                if on & (1 << lane) != 0 {
                    cloth.displacements.set(vertices[lane] as usize, moved);
                }
            });
        }
        let pinned = self.inverse_mass.simd_eq(Wide::ZERO);
        let bearing = if L::BEARS { on } else { pinned & on };
        if bearing.any() {
            let bearing = bearing.to_bitmask();
            let borne = if L::BEARS { pull - self.limited.allowed(pull).masked(!pinned) } else { pull };
            (borne * Wide::splat(cloth.clock.force)).scatter(|lane, [x, y, z, _]| {
                if bearing & (1 << lane) != 0 {
                    cloth.reactions.add(vertices[lane] as usize, Vec3::new(x, y, z));
                }
            });
        }
    }
}

/// Memory of a projection, used again for the next bundle.
#[derive(Default)]
struct Memory {
    links: Links,
    scratch: Scratch,
}

#[inline(always)]
fn project_bundle<L: Limited>(
    cloth: &Cloth<'_>,
    bundle: &Bundle<'_>,
    memory: &mut Memory,
    limited: impl Fn(&[u32; LANES]) -> L,
) {
    let Memory { links, scratch } = memory;
    bundle.links(cloth.edges, links);
    let frame = cloth.frame;
    let slack = bundle.per_lane(|yarn| cloth.slack(yarn));
    let (low, high) = (Wide::splat(frame.stretch_min), Wide::splat(frame.stretch_max));
    let banded = frame.stretch_min < frame.stretch_max;
    let mut moving = Vec::with_capacity(bundle.longest());
    let mut tail = Place::of(cloth, &links.vertices[0], Wide::ONE, limited(&links.vertices[0]));
    bundle.solve(scratch, |k| {
        let rest = Wide::new(links.rests[k]);
        let head = Place::of(cloth, &links.vertices[k + 1], rest, limited(&links.vertices[k + 1]));
        let d = (head.position - tail.position) + (head.moving.displacement - tail.moving.displacement);
        let extent = d.length();
        let n = d * (Wide::ONE / extent);
        let free = tail.moving.inverse_mass + head.moving.inverse_mass;
        let w = tail.moving.inverse_mass * tail.moving.limited.along(n)
            + head.moving.inverse_mass * head.moving.limited.along(n);
        let (shortest, longest) = (low * rest, high * rest);
        let wanted = extent.max(shortest).min(longest);
        let mut active =
            bundle.active(k) & w.simd_gt(Wide::splat(0.01) * free) & extent.simd_ge(Wide::splat(1e-6) * rest);
        if banded {
            active &= !(extent.simd_gt(shortest) & extent.simd_lt(longest));
        }
        let tail_motion = tail.moving.limited.allowed(n * tail.moving.inverse_mass).masked(active);
        let from = std::mem::replace(&mut tail, head);
        moving.push(Moving { rest, ..from.moving });
        Rows {
            direction: n.masked(active),
            diagonal: active.select(w, Wide::ONE),
            residual: active.select(extent - (wanted + slack * rest), Wide::ZERO),
            tail_motion,
        }
    });
    let closed = bundle.closed();
    let mut behind = if closed { scratch.pull(bundle.longest() - 1) } else { Vec3s::ZERO };
    let shortest = bundle.shortest();
    for (k, place) in moving.iter().enumerate() {
        let ahead = scratch.pull(k);
        let on = bundle.active(k);
        place.pull(cloth, &links.vertices[k], ahead - behind, on);
        behind = ahead;
        if closed || k + 1 < shortest {
            continue;
        }
        let ending = on & !bundle.active(k + 1);
        if ending.any() {
            let end = Place::of(cloth, &links.vertices[k + 1], place.rest, limited(&links.vertices[k + 1]));
            end.moving.pull(cloth, &links.vertices[k + 1], Vec3s::ZERO - ahead, ending);
        }
    }
    for (lane, yarn) in bundle.yarns().iter().enumerate() {
        for (k, solution) in scratch.solutions(lane).take(yarn.count as usize).enumerate() {
            cloth.tensions.add(yarn.first as usize + k, cloth.clock.force * solution);
        }
    }
}

fn keep_slack_body(run: &mut Run<'_>) -> Result<()> {
    let yarns = yarns_of(run)?;
    let frame = run.one::<Frame>("frame")?;
    let edges = run.read::<Link>("edges")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let directions = run.read::<[f32; 4]>("directions")?;
    let residuals = run.shared("residuals")?;
    for yarn in yarns {
        let slack = kept_strain(frame, edges, vertices, yarn, |e| residuals.get(e));
        for e in yarn.first as usize..(yarn.first + yarn.count) as usize {
            // An empty row has no constraint.
            if directions[e][3] > 0.0 {
                residuals.add(e, -(slack * edges[e].rest));
            }
        }
    }
    Ok(())
}

fn solve_yarn_body(run: &mut Run<'_>) -> Result<()> {
    let yarns = yarns_of(run)?;
    let sign = if run.arguments()[2] != 0 { -1.0 } else { 1.0 };
    let edges = run.read::<Link>("edges")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let freedom = Freedom::of(run)?;
    let residuals = run.read::<f32>("residuals")?;
    let directions = run.read::<[f32; 4]>("directions")?;
    let preconditioned = run.shared("preconditioned")?;
    let mut scratch = Scratch::default();
    for bundle in Bundle::all(yarns) {
        bundle.solve(&mut scratch, |k| {
            let (direction, inverse_diagonal) = Vec3s::gather(|lane| directions[bundle.edge(lane, k)]);
            let (mut residual, mut inverse_mass) = ([0.0; LANES], [0.0; LANES]);
            let mut tails = [0; LANES];
            for lane in 0..LANES {
                let e = bundle.edge(lane, k);
                residual[lane] = residuals[e];
                tails[lane] = edges[e].tail as usize;
                inverse_mass[lane] = vertices[tails[lane]].inverse_mass;
            }
            let mut tail_motion = direction * Wide::new(inverse_mass);
            if let Some(constraints) = freedom.constraints() {
                let (normal, across) = Vec3s::gather(|lane| constraints[tails[lane]]);
                tail_motion = Constraint { normal, across }.allowed(tail_motion);
            }
            let active = bundle.active(k) & inverse_diagonal.simd_gt(Wide::ZERO);
            Rows {
                direction: direction.masked(active),
                diagonal: active.select(Wide::ONE / inverse_diagonal, Wide::ONE),
                residual: active.select(Wide::new(residual), Wide::ZERO),
                tail_motion: tail_motion.masked(active),
            }
        });
        for k in 0..bundle.longest() {
            let solution = scratch.solution(k).to_array();
            for (lane, yarn) in bundle.yarns().iter().enumerate().filter(|(_, yarn)| k < yarn.count as usize) {
                preconditioned.set(yarn.first as usize + k, sign * solution[lane]);
            }
        }
    }
    Ok(())
}
