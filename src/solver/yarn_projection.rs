//! The projection of yarns and of pieces of them: C = |d| − L of all edges of one to 0 at once, by one line solve. The
//! arithmetic of [`yarn_sweep`](crate::solver::yarn_sweep), which derives it, and of
//! [`windows`](crate::solver::windows).

use fearless_simd::{Simd, prelude::*};
use glam::Vec3;

use crate::engine::fields::{Domain, Spec};
use crate::engine::layout::element;
use crate::engine::source::Source;
use crate::lanes::{self, LANES, Mask, Vec3s, Wide, Work};
use crate::mesh::Link;
use crate::mesh::yarns::YarnRow;
use crate::solver::bundle::{Bundle, Elimination, Rows, Scratch, Step};
use crate::solver::line_solve::{self, YarnView};
use crate::stage::edge::{Band, End, Stretch};
use crate::stage::fields::Vertex;
use crate::stage::freedom::{Constraint, Limited};
use crate::vector::{Real, Triple};

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
        let Self { cloth, passes } = self;
        match cloth.freedom.constraints() {
            None => project_passes(simd, cloth, passes, |_| ()),
            Some(constraints) => project_passes(
                simd,
                cloth,
                passes,
                #[inline(always)]
                |vertices: &[u32; LANES]| {
                    let (normal, across) = Vec3s::gather(simd, |lane| constraints[vertices[lane] as usize]);
                    Constraint { normal, across }
                },
            ),
        }
    }
}

#[inline(always)]
fn project_passes<'a, S: Simd, L: Places<S>>(
    simd: S,
    cloth: &YarnView<'_>,
    passes: impl IntoIterator<Item = &'a [YarnRow]>,
    limited: impl Fn(&[u32; LANES]) -> L + Copy,
) {
    let (mut slacks, mut places) = (Vec::new(), Vec::new());
    for yarns in passes {
        // Before anything is moved: pieces of one yarn keep the same.
        slacks.clear();
        slacks.extend(yarns.iter().map(|yarn| cloth.slack(yarn)));
        for bundle in Bundle::all(yarns) {
            let slack = bundle.per_lane(simd, &slacks);
            if bundle.is_even() {
                gather::<true, _, _>(simd, cloth, &bundle, &mut places, limited);
            } else {
                gather::<false, _, _>(simd, cloth, &bundle, &mut places, limited);
            }
            if bundle.closed() {
                project_closed(simd, cloth, &bundle, slack, &places);
            } else {
                project_open(simd, cloth, &bundle, slack, &mut places);
            }
        }
    }
}

/// What the vertices of a place may do.
trait Places<S: Simd>: Limited<Wide<S>> {
    /// Whether constraints bear something.
    const BEARS: bool;
}

impl<S: Simd> Places<S> for () {
    const BEARS: bool = false;
}

impl<S: Simd> Places<S> for Constraint<Wide<S>> {
    const BEARS: bool = true;
}

/// A place along the yarns of a bundle: a vertex of each, the edge that starts there, and what its row becomes.
#[derive(Clone, Copy)]
struct Place<S: Simd, L> {
    vertices: [u32; LANES],
    limited: L,
    inverse_mass: Wide<S>,
    displacement: Vec3s<S>,
    /// Rest length of the edge, or of the last.
    rest: Wide<S>,
    /// Position at the start of the substep; then direction of the edge, 0 where nothing is to be done.
    way: Vec3s<S>,
    /// Steps of the elimination ([`Step`]).
    step: Step<S>,
}

/// Gathers the places of a bundle, from the first to the last. `EVEN`: its yarns are of one length.
///
/// In a loop of its own, as the elimination and the way back are: together they need more registers than there are.
#[inline(always)]
fn gather<const EVEN: bool, S: Simd, L: Places<S>>(
    simd: S,
    cloth: &YarnView<'_>,
    bundle: &Bundle<'_>,
    places: &mut Vec<Place<S, L>>,
    limited: impl Fn(&[u32; LANES]) -> L,
) {
    let longest = bundle.longest();
    let yarns: [&[Link]; LANES] = std::array::from_fn(|lane| {
        let yarn = &cloth.edges[bundle.edges(lane)];
        // All of one length that is known: no index is looked at again.
        if EVEN { &yarn[..longest] } else { yarn }
    });
    let link = |lane: usize, k: usize| &yarns[lane][if EVEN { k } else { k.min(yarns[lane].len() - 1) }];
    let zero = Wide::splat(simd, 0.0);
    let step = Step { f: zero, y: zero };
    places.clear();
    places.reserve(longest + 1);
    let mut vertices = std::array::from_fn(|lane| link(lane, 0).tail);
    for k in 0..=longest {
        let edge = k.min(longest - 1);
        let (way, inverse_mass) =
            Vec3s::gather(simd, |lane| bytemuck::cast::<Vertex, [f32; 4]>(cloth.vertices[vertices[lane] as usize]));
        let displacement = Vec3s::gather_halves(simd, |lane| cloth.displacements.halves(vertices[lane] as usize));
        let rest = Wide::load_array(simd, std::array::from_fn(|lane| link(lane, edge).rest));
        let limited = limited(&vertices);
        places.push(Place { vertices, limited, inverse_mass, displacement, rest, way, step });
        vertices = std::array::from_fn(|lane| link(lane, edge).head);
    }
}

/// The row of the edge between two places.
#[inline(always)]
fn row<S: Simd, L: Places<S>>(
    band: Band,
    slack: Wide<S>,
    on: Mask<S>,
    tail: &Place<S, L>,
    head: &Place<S, L>,
) -> Rows<S> {
    let (rest, zero, one) = (tail.rest, slack.like(0.0), slack.like(1.0));
    let d = (head.way - tail.way) + (head.displacement - tail.displacement);
    let stretch = Stretch::of(band, rest, d, tail.end(), head.end());
    let (n, active) = (stretch.n, on & stretch.active);
    Rows {
        direction: n.masked(active),
        diagonal: active.select(stretch.w, one),
        residual: active.select(stretch.extent - (stretch.wanted + slack * rest), zero),
        tail_motion: tail.limited.allowed(n * tail.inverse_mass).masked(active),
    }
}

#[inline(always)]
fn project_open<S: Simd, L: Places<S>>(
    simd: S,
    cloth: &YarnView<'_>,
    bundle: &Bundle<'_>,
    slack: Wide<S>,
    places: &mut [Place<S, L>],
) {
    let band = Band::of(cloth.frame);
    let mut elimination = Elimination::new(simd);
    for k in 0..places.len() - 1 {
        let row = row(band, slack, bundle.active(simd, k), &places[k], &places[k + 1]);
        (places[k].step, _) = elimination.step(&row, row.diagonal);
        places[k].way = row.direction;
    }
    let zero = Wide::splat(simd, 0.0);
    let (mut solution, mut f, mut ahead) = (zero, zero, Triple::splat(zero));
    for k in (0..places.len() - 1).rev() {
        let Place { step, way, .. } = places[k];
        solution = step.y - f * solution;
        f = step.f;
        let pull = way * solution;
        // A yarn has a place k + 1 where it has an edge k.
        places[k + 1].pull(cloth, ahead - pull, bundle.active(simd, k));
        add_tension(cloth, bundle, k, solution);
        ahead = pull;
    }
    places[0].pull(cloth, ahead, bundle.active(simd, 0));
}

#[inline(always)]
fn project_closed<S: Simd, L: Places<S>>(
    simd: S,
    cloth: &YarnView<'_>,
    bundle: &Bundle<'_>,
    slack: Wide<S>,
    places: &[Place<S, L>],
) {
    let band = Band::of(cloth.frame);
    let mut scratch = Scratch::default();
    bundle.solve(
        simd,
        &mut scratch,
        #[inline(always)]
        |k| row(band, slack, bundle.active(simd, k), &places[k], &places[k + 1]),
    );
    let mut behind = scratch.pull(bundle.longest() - 1);
    // The last place is the first again.
    for (k, place) in places[..bundle.longest()].iter().enumerate() {
        let ahead = scratch.pull(k);
        place.pull(cloth, ahead - behind, bundle.active(simd, k));
        add_tension(cloth, bundle, k, scratch.solution(k));
        behind = ahead;
    }
}

impl<S: Simd, L: Places<S>> Place<S, L> {
    #[inline(always)]
    fn end(&self) -> End<Wide<S>, L> {
        End { inverse_mass: self.inverse_mass, limited: self.limited }
    }

    /// Moves the vertices of the lanes that are on; pins bear the pull instead.
    #[inline(always)]
    fn pull(&self, cloth: &YarnView<'_>, pull: Vec3s<S>, on: Mask<S>) {
        let Self { vertices, rest, .. } = self;
        let way = self.limited.allowed(pull * self.inverse_mass).clamped(rest.like(cloth.live.step_clamp) * *rest);
        let moved = self.displacement + way;
        if on.all_true() {
            moved.scatter(
                #[inline(always)]
                |lane, moved| cloth.displacements.set(vertices[lane] as usize, moved),
            );
        } else {
            let on = on.to_bitmask();
            moved.scatter(|lane, moved| {
                if on & (1 << lane) != 0 {
                    cloth.displacements.set(vertices[lane] as usize, moved);
                }
            });
        }
        let pinned = self.inverse_mass.simd_eq(rest.like(0.0));
        let bearing = if L::BEARS { on } else { pinned & on };
        if bearing.any_true() {
            let bearing = bearing.to_bitmask();
            let borne = if L::BEARS { pull - self.limited.allowed(pull).masked(!pinned) } else { pull };
            (borne * rest.like(cloth.clock.force)).scatter(|lane, [x, y, z, _]| {
                if bearing & (1 << lane) != 0 {
                    cloth.reactions.add(vertices[lane] as usize, Vec3::new(x, y, z));
                }
            });
        }
    }
}

#[inline(always)]
fn add_tension<S: Simd>(cloth: &YarnView<'_>, bundle: &Bundle<'_>, k: usize, solution: Wide<S>) {
    let tension = (solution * solution.like(cloth.clock.force)).to_array();
    for (yarn, tension) in bundle.yarns().iter().zip(tension) {
        if k < yarn.count as usize {
            cloth.tensions.add(yarn.first as usize + k, tension);
        }
    }
}
