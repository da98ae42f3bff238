//! Yarns with their geometric stiffness: stable constrained dynamics (Tournier, Nesme, Gilles & Faure 2015) along one
//! family of yarns, an option of [`YarnSweep`](crate::YarnSweep) that is off by default.
//!
//! A taut edge resists being moved across its direction by T/|d|: its force turns as it turns. Fast projection drops
//! that (it has the force at the end of a step in the direction of the iterate), and a step whose load s = h²T/(m l) is
//! large then throws about what should hang still. K̃ = Σ T/|d| (I − n nᵀ), a block per end of an edge and its negative
//! between them, of the tension of the substep before, makes the step implicit in it:
//!
//! (M + τ² K̃) u + Jᵀ μ = M û, J u = −C, û the prediction, u the displacement of the substep.
//!
//! This replaces the prediction, once per substep, at the place where the substep starts; K̃ acts on all of u, so it is
//! a force, and not only a metric of the projection. What remains of C, because J turned, is projected in the metric of
//! M + τ² K̃ until the limit is held, with each iterate's own directions.
//!
//! **Exact along a yarn.** Where yarns are one family, no two of them share a vertex, and the system is block
//! tridiagonal, three rows per vertex and one per edge. With G_k the whole force of edge k, along it and across, times
//! τ², the tail of edge k answers to it by δ_k = d_k + Y_k G_k, and from vertex to vertex
//!
//! q = d_k − C n, Z = Y_k + (I − n nᵀ)/(τ² T/|d|), Y_{k+1} = (Z⁻¹ + m)⁻¹, d_{k+1} = q + Y_{k+1} m (û − q);
//!
//! back: G_k = m (û − δ_{k+1}) + G_{k+1}. Slack edges have an infinite Z across. So Y is taken apart, along n and
//! across: with a = n·Y n, c the part between, B across, f = c/a, E = B − c cᵀ/a, κ = τ² T/|d|, A = I + κ E,
//! N⁻¹ = (m A + κ)⁻¹, g = κ N⁻¹ f and α = a/(1 + a (m + m f·g)),
//!
//! Y_{k+1} = α (n + g)(n + g)ᵀ + A N⁻¹,
//!
//! sums of positive terms only, also for κ = 0 and for a = 0, an edge whose tail cannot move along it. In f32 a is
//! known to 10⁻⁷ of B: of edges that meet at less than a thousandth of a radian it counts as 0.
//!
//! **Where it is used.** With more than one family it would need a solve of all of them at once. Lumped to the blocks
//! of single vertices, K̃ is a mass that is not there: 1.3 J/kg were gained by a hanging sheet. Family by family, what
//! one yarn resists is handed to the tension of the other in parts, and two taut families blow up. So cloth that is
//! woven of two or more, that is held or may touch solids, whose yarns are closed, or whose edges have laws of their
//! own goes without. What is left are chains, ropes, curtains of strings: there one step of 1/60 s is stable at any
//! load.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | Y_k, κ | `stiff_rows.diagonal.xyz, off; diagonal.w` | 1/kg; kg |
//! | d_k | `stiff_rows.way` | m |
//! | T of the substep | `last_tensions` | N |
//!
//! Cost: one dispatch per solve, one invocation per yarn.

use glam::{Vec2, Vec3, Vec4};

use crate::engine::cpu::{Run, Write};
use crate::engine::fields::{Domain, Fields, Spec};
use crate::engine::layout::element;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::mesh::Link;
use crate::mesh::yarns::YarnRow;
use crate::solver::line_solve::kept_strain;
use crate::solver::yarn_projection::{self, YarnSweepLive};
use crate::stage::Recorder;
use crate::stage::edge::{Band, COLLAPSED};
use crate::stage::fields::{Clock, Frame, Vertex};
use crate::stage::magnitude::{grain, mass, step};
use crate::vector::{padded, xyz};

static SOURCE: Source = Source::new("stiff_yarns", include_str!("../../shaders/stiff_yarns.wgsl"))
    .constants(&[("RIGID", Constant::F32(RIGID)), ("STIFFEST", Constant::F32(STIFFEST))])
    .shares(&[&yarn_projection::SOURCE]);

/// Part of what it yields across by which a vertex yields along an edge, below which that is rounding.
const RIGID: f32 = 1e-6;
/// Largest τ² T/|d| as a part of the mean mass: a load that no step could have.
const STIFFEST: f32 = 1e6;

element! {
    /// How the tail of an edge answers to a pull of that edge.
    pub(crate) struct StiffRow {
        pub(crate) diagonal: Vec4,
        pub(crate) off: Vec4,
        pub(crate) way: Vec4,
    }
}

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<StiffRow>("stiff_rows", Domain::EDGES, "rows of a solve with geometric stiffness").scratch(),
    Spec::of::<f32>("last_tensions", Domain::EDGES, "tensions of the last substep [N]")
        .persistent()
        .floor(least_tension),
];

/// Tension that the rounding of a position means \[N\].
fn least_tension(fields: &Fields) -> Result<f32> {
    Ok(grain(fields)? * mass(fields)? / step(fields)?.powi(2))
}

/// Solves a yarn. Like all exact solves along yarns it loses digits with their length.
pub(crate) static SOLVE_STIFF_YARN: Kernel =
    Kernel::new("solve_stiff_yarn", &SOURCE, solve_stiff_yarn_body).pattern(Pattern::Scatter).amplification(64.0);

/// Whether a mesh and what is recorded for it allow it.
pub(super) fn fits(recorder: &Recorder<'_>) -> bool {
    let moment = &recorder.about.moment;
    recorder.families().len() == 1 && !recorder.closes() && !moment.constrained && !recorder.sizes().lawful()
}

/// Records a solve, the first of a substep or a later one.
pub(super) fn record(recorder: &mut Recorder<'_>, first: bool) {
    let yarns = recorder.sizes().yarns() as u32;
    recorder.dispatch_range(&SOLVE_STIFF_YARN, 0..yarns, [first.into(), 0, 0, 0]);
}

/// An edge as the solve sees it.
struct Taut {
    n: Vec3,
    across: [Vec3; 2],
    /// C.
    excess: f32,
    /// κ.
    stiffness: f32,
}

/// Y seen along and across an edge.
struct Seen {
    a: f32,
    f: Vec2,
    /// E: 11, 12, 22.
    across: Vec3,
}

/// The unit matrix of two rows.
const UNIT: Vec3 = Vec3::new(1.0, 0.0, 1.0);

/// The inverse of a symmetric matrix of two rows.
fn inverse(m: Vec3) -> Vec3 {
    Vec3::new(m.z, -m.y, m.x) / (m.x * m.z - m.y * m.y)
}

fn times(m: Vec3, v: Vec2) -> Vec2 {
    Vec2::new(m.x * v.x + m.y * v.y, m.y * v.x + m.z * v.y)
}

impl StiffRow {
    /// Y G.
    fn answer(&self, pull: Vec3) -> Vec3 {
        let crossed = Vec3::new(
            self.off.z * pull.y + self.off.y * pull.z,
            self.off.z * pull.x + self.off.x * pull.z,
            self.off.y * pull.x + self.off.x * pull.y,
        );
        self.diagonal.truncate() * pull + crossed
    }

    fn seen(&self, edge: &Taut) -> Seen {
        let [one, two] = edge.across;
        let (along, first, second) = (self.answer(edge.n), self.answer(one), self.answer(two));
        let a = edge.n.dot(along);
        let c = Vec2::new(one.dot(along), two.dot(along));
        let b = Vec3::new(one.dot(first), one.dot(second), two.dot(second));
        if a > RIGID * (b.x + b.z) {
            let f = c / a;
            return Seen { a, f, across: b - Vec3::new(c.x * f.x, c.x * f.y, c.y * f.y) };
        }
        Seen { a, f: Vec2::ZERO, across: b }
    }

    /// The head of an edge, from its tail and the edge between them.
    fn next(&self, edge: Option<&Taut>, inverse_mass: f32, goal: Vec3) -> Self {
        let way = goal.extend(0.0);
        if inverse_mass == 0.0 {
            return Self { way, ..Self::default() };
        }
        let Some(edge) = edge else {
            return Self { way, diagonal: Vec3::splat(inverse_mass).extend(0.0), off: Vec4::ZERO };
        };
        let mass = 1.0 / inverse_mass;
        let view = self.seen(edge);
        let softened = UNIT + edge.stiffness * view.across;
        let inverse = inverse(mass * softened + edge.stiffness * UNIT);
        let g = edge.stiffness * times(inverse, view.f);
        let alpha = view.a / (1.0 + view.a * (mass + mass * view.f.dot(g)));
        let h = Vec3::new(
            softened.x * inverse.x + softened.y * inverse.y,
            softened.x * inverse.y + softened.y * inverse.z,
            softened.y * inverse.y + softened.z * inverse.z,
        );
        let [one, two] = edge.across;
        let v = edge.n + g.x * one + g.y * two;
        let turned = |a: Vec3, b: Vec3| Vec3::new(a.y * b.z, a.z * b.x, a.x * b.y);
        let diagonal = alpha * v * v + h.x * one * one + 2.0 * h.y * one * two + h.z * two * two;
        let off = alpha * turned(v, v)
            + h.x * turned(one, one)
            + h.z * turned(two, two)
            + h.y * (turned(one, two) + turned(two, one));
        let next = Self { diagonal: diagonal.extend(0.0), off: off.extend(0.0), way };
        let q = self.way.truncate() - edge.excess * edge.n;
        Self { way: (q + next.answer(mass * (goal - q))).extend(0.0), ..next }
    }

    /// What an edge pulls with, where its head is pinned and goes this way.
    fn pull_at_pin(&self, edge: &Taut, way: Vec3) -> Vec3 {
        let view = self.seen(edge);
        let left = way - (self.way.truncate() - edge.excess * edge.n);
        let [one, two] = edge.across;
        let (along, across) = (edge.n.dot(left), Vec2::new(one.dot(left), two.dot(left)));
        let bent = edge.stiffness * times(inverse(UNIT + edge.stiffness * view.across), across - along * view.f);
        let mut straight = 0.0;
        if view.a > RIGID * (view.across.x + view.across.z) {
            straight = along / view.a - view.f.dot(bent);
        }
        straight * edge.n + bent.x * one + bent.y * two
    }
}

fn solve_stiff_yarn_body(run: &mut Run<'_>) -> Result<()> {
    let first = run.arguments()[0] == 1;
    let (frame, clock) = (run.one::<Frame>("frame")?, run.one::<Clock>("clock")?);
    let live = run.one::<YarnSweepLive>("yarn_sweep")?;
    let band = Band::of(frame);
    let edges = run.read::<Link>("edges")?;
    let yarns = run.read::<YarnRow>("yarns")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    let mut tensions = run.write::<f32>("tensions")?;
    let mut stiff_rows = run.write::<StiffRow>("stiff_rows")?;
    let mut last_tensions = run.write::<f32>("last_tensions")?;
    let free = |v: u32| vertices[v as usize].inverse_mass > 0.0;
    for y in run.range() {
        let yarn = &yarns[y];
        // Every edge is read before its ends are moved.
        let vector = |displacements: &Write<'_, [f32; 4]>, edge: &Link| {
            let (tail, head) = (edge.tail as usize, edge.head as usize);
            let rest = vertices[head].position - vertices[tail].position;
            if first { rest } else { rest + (xyz(displacements[head]) - xyz(displacements[tail])) }
        };
        let target = |displacements: &Write<'_, [f32; 4]>, v: u32| {
            if first { xyz(displacements[v as usize]) } else { Vec3::ZERO }
        };
        let kept = kept_strain(live.slack * frame.least_limit, edges, vertices, yarn, |e| {
            let extent = vector(&displacements, &edges[e]).length();
            extent - band.wanted(extent, edges[e].rest)
        });
        let taut = |displacements: &Write<'_, [f32; 4]>, stiffness: f32, e: usize| {
            let edge = &edges[e];
            let d = vector(displacements, edge);
            let extent = d.length();
            let wanted = band.wanted(extent, edge.rest);
            if extent < COLLAPSED * edge.rest || band.has(extent, edge.rest) || !(free(edge.tail) || free(edge.head)) {
                return None;
            }
            let n = d * (1.0 / extent);
            let sign = if n.z >= 0.0 { 1.0 } else { -1.0 };
            let a = -1.0 / (sign + n.z);
            let b = n.x * n.y * a;
            let one = Vec3::new(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x);
            let two = Vec3::new(b, sign + n.y * n.y * a, -n.y);
            let excess = extent - (wanted + kept * edge.rest);
            Some(Taut { n, across: [one, two], excess, stiffness })
        };
        let all = yarn.first as usize..(yarn.first + yarn.count) as usize;
        let start = edges[all.start].tail;
        let mut row = StiffRow {
            diagonal: Vec3::splat(vertices[start as usize].inverse_mass).extend(0.0),
            off: Vec4::ZERO,
            way: target(&displacements, start).extend(0.0),
        };
        for e in all.clone() {
            row.diagonal.w = stiff_rows[e].diagonal.w;
            if first {
                let mut carried = 0.0;
                if clock.previous > 0.0 {
                    let extent = vector(&displacements, &edges[e]).length();
                    carried = last_tensions[e].max(0.0) / extent.max(COLLAPSED * edges[e].rest);
                }
                row.diagonal.w = (clock.span * clock.span * carried).min(STIFFEST * frame.mean_mass);
                last_tensions[e] = 0.0;
            }
            stiff_rows[e] = row;
            let head = edges[e].head;
            let edge = taut(&displacements, row.diagonal.w, e);
            row = row.next(edge.as_ref(), vertices[head as usize].inverse_mass, target(&displacements, head));
        }
        let mut move_vertex = |displacements: &mut Write<'_, [f32; 4]>, v: u32, way: Vec3, pull: Vec3, rest: f32| {
            let v = v as usize;
            if vertices[v].inverse_mass == 0.0 {
                reactions[v] = padded(xyz(reactions[v]) + clock.force * pull);
            } else if first {
                displacements[v] = padded(way);
            } else {
                let (most, extent) = (live.step_clamp * rest, way.length());
                let way = if extent > most { way * (most / extent) } else { way };
                displacements[v] = padded(xyz(displacements[v]) + way);
            }
        };
        let (mut way, mut ahead) = (row.way.truncate(), Vec3::ZERO);
        for e in all.clone().rev() {
            let (head, here) = (edges[e].head, stiff_rows[e]);
            let mut pull = Vec3::ZERO;
            if let Some(edge) = taut(&displacements, here.diagonal.w, e) {
                let inverse_mass = vertices[head as usize].inverse_mass;
                pull = if inverse_mass > 0.0 {
                    (1.0 / inverse_mass) * (target(&displacements, head) - way) + ahead
                } else {
                    here.pull_at_pin(&edge, way)
                };
                let tension = edge.n.dot(pull);
                tensions[e] += clock.force * tension;
                last_tensions[e] += tension / (clock.span * clock.span);
            }
            move_vertex(&mut displacements, head, way, ahead - pull, edges[e].rest);
            way = here.way.truncate() + here.answer(pull);
            ahead = pull;
        }
        move_vertex(&mut displacements, start, way, ahead, edges[all.start].rest);
    }
    Ok(())
}
