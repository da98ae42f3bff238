//! The projection of yarns where edges have laws of their own ([`law`]): the kernels that
//! [`yarn_sweep`](super::yarn_sweep) and [`windows`](super::windows) record in the place of theirs.
//!
//! The system stays tridiagonal: a spring adds α = 1/(k τ²) to its diagonal and −αλ to its right side, as springs along
//! [`diagonals`](super::diagonals) do. Edges without a law of their own, and those at their ends, have the row of the
//! [projection](super::yarn_projection).

use fearless_simd::{Simd, prelude::*};

use crate::engine::cpu::{Run, SharedVectors};
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::Source;
use crate::error::Result;
use crate::lanes::{self, LANES, Mask, Vec3s, Wide, Work};
use crate::mesh::Link;
use crate::mesh::yarns::YarnRow;
use crate::solver::bundle::{Bundle, Rows};
use crate::solver::line_solve::{kept_strain, kernel, yarns_of};
use crate::solver::places::{self, Law, LineView, Place, Places};
use crate::solver::windows::{self, passes_of};
use crate::solver::yarn_projection::{self, YarnSweepLive};
use crate::stage::edge::{Band, Stretch, between};
use crate::stage::fields::{Clock, Frame, Vertex};
use crate::stage::freedom::Freedom;
use crate::stage::law::{self, EdgeLaw};
use crate::vector::Real;

static SOURCE: Source = Source::new("lawful_yarns", include_str!("../../shaders/lawful_yarns.wgsl"))
    .shares(&[&yarn_projection::SOURCE, &law::SOURCE]);

/// What [`super::yarn_sweep::PROJECT_YARN`] does.
pub(crate) static PROJECT_LAWFUL_YARN: Kernel = kernel("project_lawful_yarn", &SOURCE, project_lawful_yarn_body);

/// What [`super::windows::PROJECT_WINDOWS`] does.
pub(crate) static PROJECT_LAWFUL_WINDOWS: Kernel =
    Kernel::new("project_lawful_windows", &SOURCE, project_lawful_windows_body)
        .pattern(Pattern::Passes)
        .aliases(&[("yarns", "pieces")])
        .amplification(windows::AMPLIFICATION);

fn project_lawful_yarn_body(run: &mut Run<'_>) -> Result<()> {
    let yarns = yarns_of(run)?;
    project(run, [yarns])
}

fn project_lawful_windows_body(run: &mut Run<'_>) -> Result<()> {
    let passes = passes_of(run)?;
    project(run, passes)
}

/// Projects yarns and pieces of them, pass by pass; those of a pass share no vertex.
fn project<'a>(run: &mut Run<'a>, passes: impl IntoIterator<Item = &'a [YarnRow]>) -> Result<()> {
    let (frame, clock) = (run.one::<Frame>("frame")?, run.one::<Clock>("clock")?);
    let live = run.one::<YarnSweepLive>("yarn_sweep")?;
    let view = LineView {
        links: run.read::<Link>("edges")?,
        vertices: run.read::<Vertex>("vertices")?,
        freedom: Freedom::of(run)?,
        displacements: run.shared_vectors("displacements")?,
        reactions: run.shared_vectors("reactions")?,
        force: clock.force,
    };
    let law = Lawful {
        most: live.slack * frame.least_limit,
        step_clamp: live.step_clamp,
        band: Band::of(frame),
        span: clock.span,
        edges: view.links,
        vertices: view.vertices,
        displacements: view.displacements,
        laws: run.shared_vectors("edge_laws")?,
        slacks: Vec::new(),
        slack: [0.0; LANES],
    };
    lanes::widest(Projection { passes, view, law });
    Ok(())
}

struct Projection<'a, P> {
    passes: P,
    view: LineView<'a>,
    law: Lawful<'a>,
}

impl<'a, P: IntoIterator<Item = &'a [YarnRow]>> Work for Projection<'a, P> {
    type Output = ();

    #[inline(always)]
    fn on<S: Simd>(mut self, simd: S) {
        places::project(simd, &self.view, &mut self.law, self.passes);
    }
}

/// What each edge asks for by its own law, or C = |d| − L = 0.
struct Lawful<'a> {
    /// Strain that a yarn between two pins may keep.
    most: f32,
    step_clamp: f32,
    band: Band,
    /// τ \[s\].
    span: f32,
    edges: &'a [Link],
    vertices: &'a [Vertex],
    displacements: SharedVectors<'a>,
    /// Laws and multipliers, four words each.
    laws: SharedVectors<'a>,
    /// Strain that each yarn of a pass keeps, and those of a bundle.
    slacks: Vec<f32>,
    slack: [f32; LANES],
}

impl Law for Lawful<'_> {
    fn begin_pass(&mut self, yarns: &[YarnRow]) {
        let Self { most, edges, vertices, displacements, band, .. } = *self;
        self.slacks.clear();
        self.slacks.extend(yarns.iter().map(|yarn| {
            kept_strain(most, edges, vertices, yarn, |e| {
                let edge = edges[e];
                let at = |v: usize| displacements.vector(v);
                let extent = between(vertices, at, edge.tail as usize, edge.head as usize).length();
                extent - band.wanted(extent, edge.rest)
            })
        }));
    }

    #[inline(always)]
    fn begin_bundle(&mut self, bundle: &Bundle<'_>) {
        self.slack = bundle.per_lane(&self.slacks);
    }

    #[inline(always)]
    fn row<S: Simd, L: Places<S>>(
        &self,
        (bundle, k): (&Bundle<'_>, usize),
        on: Mask<S>,
        tail: &Place<S, L>,
        head: &Place<S, L>,
    ) -> Rows<S> {
        let (rest, zero, one) = (tail.rest, tail.rest.like(0.0), tail.rest.like(1.0));
        let way = tail.way_to(head);
        let ordinary = Stretch::of(self.band, rest, way, tail.end(), head.end());
        let own = Stretch::of(Band::NONE, rest, way, tail.end(), head.end());
        let (extents, rests, ws) = (own.extent.to_array(), rest.to_array(), own.w.to_array());
        let (mut residuals, mut compliances, mut owns) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let law: EdgeLaw = bytemuck::cast(self.laws.get(bundle.edge(lane, k)));
            if law.is_own() {
                let edge = [extents[lane], rests[lane], ws[lane]];
                [residuals[lane], compliances[lane]] = law.row(self.span, edge, self.slack[lane]);
                owns[lane] = 1.0;
            }
        }
        let load = |array: [f32; LANES]| Wide::load_array(rest.token(), array);
        let is_own = load(owns).simd_gt(zero);
        let active = on & ((is_own & own.active) | (!is_own & ordinary.active));
        let residual = ordinary.extent - (ordinary.wanted + load(self.slack) * rest);
        let (n, w) = (own.n, own.w);
        Rows {
            direction: n.masked(active),
            diagonal: active.select(is_own.select(w + load(compliances), w), one),
            residual: active.select(is_own.select(load(residuals), residual), zero),
            tail_motion: tail.moved(n).masked(active),
        }
    }

    #[inline(always)]
    fn clamped<S: Simd>(&self, way: Vec3s<S>, rest: Wide<S>) -> Vec3s<S> {
        way.clamped(rest.like(self.step_clamp) * rest)
    }

    #[inline(always)]
    fn solved<S: Simd>(&self, (bundle, k): (&Bundle<'_>, usize), solution: Wide<S>) {
        for (yarn, solution) in bundle.yarns().iter().zip(solution.to_array()) {
            if k < yarn.count as usize {
                let edge = yarn.first as usize + k;
                let mut law: EdgeLaw = bytemuck::cast(self.laws.get(edge));
                law.multiplier += solution;
                self.laws.set(edge, bytemuck::cast(law));
            }
        }
    }
}
