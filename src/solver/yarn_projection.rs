//! The projection of yarns and of pieces of them: C = |d| − L of all edges of one to 0 at once, by one line solve. The
//! arithmetic of [`yarn_sweep`](crate::solver::yarn_sweep), which derives it, and of
//! [`windows`](crate::solver::windows).

use fearless_simd::{Simd, prelude::*};

use crate::engine::fields::{Domain, Spec};
use crate::engine::layout::element;
use crate::engine::source::Source;
use crate::lanes::{self, LANES, Mask, Vec3s, Wide, Work};
use crate::mesh::yarns::YarnRow;
use crate::solver::bundle::{Bundle, Rows};
use crate::solver::line_solve::{self, YarnView};
use crate::solver::places::{self, Law, LineView, Place, Places};
use crate::stage::edge::{Band, Stretch};
use crate::vector::Real;

/// The WGSL twin, for files that project yarns.
pub(super) static SOURCE: Source =
    Source::new("yarn_projection", include_str!("../../shaders/yarn_projection.wgsl")).shares(&[&line_solve::SOURCE]);

element! {
    /// Parameters that may change from frame to frame; [`crate::YarnSweep`] says what they are.
    pub(crate) struct YarnSweepLive {
        pub(crate) step_clamp: f32,
        pub(crate) slack: f32,
        pub(crate) chords_from: f32,
        pub(crate) padding: f32,
    }
}

/// Its fields.
pub(crate) const FIELDS: &[Spec] =
    &[Spec::of::<YarnSweepLive>("yarn_sweep", Domain::Fixed(1), "parameters that may change from frame to frame")
        .input()];

/// Projects yarns and pieces of them, pass by pass; those of a pass share no vertex.
pub(super) fn project<'a>(cloth: &YarnView<'_>, passes: impl IntoIterator<Item = &'a [YarnRow]>) {
    lanes::widest(Projection { cloth, passes });
}

/// The projection of passes.
struct Projection<'a, 'b, P> {
    cloth: &'a YarnView<'b>,
    passes: P,
}

impl<'a, P: IntoIterator<Item = &'a [YarnRow]>> Work for Projection<'_, '_, P> {
    type Output = ();

    #[inline(always)]
    fn on<S: Simd>(self, simd: S) {
        let cloth = self.cloth;
        let YarnView { frame, clock, edges, vertices, freedom, displacements, reactions, .. } = *cloth;
        let view = LineView { links: edges, vertices, freedom, displacements, reactions, force: clock.force };
        let mut law = Inextensible { cloth, band: Band::of(frame), slacks: Vec::new(), slack: [0.0; LANES] };
        places::project(simd, &view, &mut law, self.passes);
    }
}

/// C = |d| − L is to be 0, but for what the yarn keeps.
struct Inextensible<'a, 'b> {
    cloth: &'a YarnView<'b>,
    band: Band,
    /// Strain that each yarn of a pass keeps, and those of a bundle.
    slacks: Vec<f32>,
    slack: [f32; LANES],
}

impl Law for Inextensible<'_, '_> {
    /// Before anything is moved: pieces of one yarn keep the same.
    fn begin_pass(&mut self, yarns: &[YarnRow]) {
        self.slacks.clear();
        self.slacks.extend(yarns.iter().map(|yarn| self.cloth.slack(yarn)));
    }

    #[inline(always)]
    fn begin_bundle(&mut self, bundle: &Bundle<'_>) {
        self.slack = bundle.per_lane(&self.slacks);
    }

    #[inline(always)]
    fn row<S: Simd, L: Places<S>>(
        &self,
        _edge: (&Bundle<'_>, usize),
        on: Mask<S>,
        tail: &Place<S, L>,
        head: &Place<S, L>,
    ) -> Rows<S> {
        let rest = tail.rest;
        let slack = Wide::load_array(rest.token(), self.slack);
        let stretch = Stretch::of(self.band, rest, tail.way_to(head), tail.end(), head.end());
        let (n, active) = (stretch.n, on & stretch.active);
        Rows {
            direction: n.masked(active),
            diagonal: active.select(stretch.w, rest.like(1.0)),
            residual: active.select(stretch.extent - (stretch.wanted + slack * rest), rest.like(0.0)),
            tail_motion: tail.moved(n).masked(active),
        }
    }

    #[inline(always)]
    fn clamped<S: Simd>(&self, way: Vec3s<S>, rest: Wide<S>) -> Vec3s<S> {
        way.clamped(rest.like(self.cloth.live.step_clamp) * rest)
    }

    #[inline(always)]
    fn solved<S: Simd>(&self, (bundle, k): (&Bundle<'_>, usize), solution: Wide<S>) {
        let tension = (solution * solution.like(self.cloth.clock.force)).to_array();
        for (yarn, tension) in bundle.yarns().iter().zip(tension) {
            if k < yarn.count as usize {
                self.cloth.tensions.add(yarn.first as usize + k, tension);
            }
        }
    }
}
