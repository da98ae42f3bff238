//! Places along the lines of a bundle: how the CPU moves the vertices of yarns and of diagonals.
//!
//! The vertices of eight lines are gathered place by place, their rows are eliminated from the first to the last, and
//! on the way back solutions are found and vertices moved. Three loops, because together they need more registers than
//! there are. What an edge asks for is its [`Law`].

use fearless_simd::{Simd, prelude::*};
use glam::Vec3;

use crate::engine::cpu::SharedVectors;
use crate::lanes::{self, LANES, Mask, Vec3s, Wide};
use crate::mesh::Link;
use crate::mesh::yarns::YarnRow;
use crate::solver::bundle::{Bundle, Elimination, Rows, Scratch, Step};
use crate::stage::edge::End;
use crate::stage::fields::Vertex;
use crate::stage::freedom::{Constraint, Freedom, Limited};
use crate::vector::{Real, Triple};

/// What lines are solved on.
#[derive(Clone, Copy)]
pub(super) struct LineView<'a> {
    pub(super) links: &'a [Link],
    pub(super) vertices: &'a [Vertex],
    pub(super) freedom: Freedom<'a>,
    pub(super) displacements: SharedVectors<'a>,
    pub(super) reactions: SharedVectors<'a>,
    /// Mean force over the frame that a pull of 1 kg·m means \[1/s²\].
    pub(super) force: f32,
}

/// What the edges of lines ask for.
pub(super) trait Law {
    /// Looks at the lines of a pass before any of them is moved.
    fn begin_pass(&mut self, _lines: &[YarnRow]) {}

    /// Looks at a bundle before its rows are asked for.
    fn begin_bundle(&mut self, _bundle: &Bundle<'_>) {}

    /// The rows of the edges k, between two places; those that are on have one.
    fn row<S: Simd, L: Places<S>>(
        &self,
        edge: (&Bundle<'_>, usize),
        on: Mask<S>,
        tail: &Place<S, L>,
        head: &Place<S, L>,
    ) -> Rows<S>;

    /// What a vertex is moved, of what it is asked to, beside an edge of this rest length.
    fn clamped<S: Simd>(&self, way: Vec3s<S>, _rest: Wide<S>) -> Vec3s<S> {
        way
    }

    /// Takes notice of the solutions of the edges k.
    fn solved<S: Simd>(&self, _edge: (&Bundle<'_>, usize), _solution: Wide<S>) {}
}

/// Solves lines and moves their vertices, pass by pass; those of a pass share no vertex.
#[inline(always)]
pub(super) fn project<'a, S: Simd, W: Law>(
    simd: S,
    view: &LineView<'_>,
    law: &mut W,
    passes: impl IntoIterator<Item = &'a [YarnRow]>,
) {
    match view.freedom.constraints() {
        None => project_passes(simd, view, law, passes, |_| ()),
        Some(constraints) => project_passes(
            simd,
            view,
            law,
            passes,
            #[inline(always)]
            |vertices: &[u32; LANES]| {
                let (normal, across) = Vec3s::gather(simd, |lane| constraints[vertices[lane] as usize]);
                Constraint { normal, across }
            },
        ),
    }
}

#[inline(always)]
fn project_passes<'a, S: Simd, W: Law, L: Places<S>>(
    simd: S,
    view: &LineView<'_>,
    law: &mut W,
    passes: impl IntoIterator<Item = &'a [YarnRow]>,
    limited: impl Fn(&[u32; LANES]) -> L + Copy,
) {
    let mut places = Vec::new();
    for lines in passes {
        law.begin_pass(lines);
        for bundle in Bundle::all(lines) {
            law.begin_bundle(&bundle);
            if bundle.is_even() {
                gather::<true, _, _>(simd, view, &bundle, &mut places, limited);
            } else {
                gather::<false, _, _>(simd, view, &bundle, &mut places, limited);
            }
            if bundle.closed() {
                project_closed(simd, view, law, &bundle, &places);
            } else {
                project_open(simd, view, law, &bundle, &mut places);
            }
        }
    }
}

/// What the vertices of a place may do.
pub(super) trait Places<S: Simd>: Limited<Wide<S>> {
    /// Whether constraints bear something.
    const BEARS: bool;
}

impl<S: Simd> Places<S> for () {
    const BEARS: bool = false;
}

impl<S: Simd> Places<S> for Constraint<Wide<S>> {
    const BEARS: bool = true;
}

/// A place along the lines of a bundle: a vertex of each, the edge that starts there, and what its row becomes.
#[derive(Clone, Copy)]
pub(super) struct Place<S: Simd, L> {
    vertices: [u32; LANES],
    pub(super) limited: L,
    pub(super) inverse_mass: Wide<S>,
    pub(super) displacement: Vec3s<S>,
    /// Rest length of the edge, or of the last.
    pub(super) rest: Wide<S>,
    /// Position at the start of the substep; then direction of the edge, 0 where nothing is to be done.
    way: Vec3s<S>,
    /// Of the elimination.
    step: Step<S>,
}

/// Gathers the places of a bundle, from the first to the last. `EVEN`: its lines are of one length.
#[inline(always)]
fn gather<const EVEN: bool, S: Simd, L: Places<S>>(
    simd: S,
    view: &LineView<'_>,
    bundle: &Bundle<'_>,
    places: &mut Vec<Place<S, L>>,
    limited: impl Fn(&[u32; LANES]) -> L,
) {
    let longest = bundle.longest();
    let lines: [&[Link]; LANES] = lanes::each(|lane| {
        let line = &view.links[bundle.edges(lane)];
        // All of one length that is known: no index is looked at again.
        if EVEN { &line[..longest] } else { line }
    });
    let link = |lane: usize, k: usize| &lines[lane][if EVEN { k } else { k.min(lines[lane].len() - 1) }];
    let zero = Wide::splat(simd, 0.0);
    let step = Step { f: zero, y: zero };
    places.clear();
    places.reserve(longest + 1);
    let mut vertices = lanes::each(|lane| link(lane, 0).tail);
    for k in 0..=longest {
        let edge = k.min(longest - 1);
        let (way, inverse_mass) =
            Vec3s::gather(simd, |lane| bytemuck::cast::<Vertex, [f32; 4]>(view.vertices[vertices[lane] as usize]));
        let displacement = Vec3s::gather_halves(simd, |lane| view.displacements.halves(vertices[lane] as usize));
        let rest = Wide::load_array(simd, lanes::each(|lane| link(lane, edge).rest));
        let limited = limited(&vertices);
        places.push(Place { vertices, limited, inverse_mass, displacement, rest, way, step });
        vertices = lanes::each(|lane| link(lane, edge).head);
    }
}

#[inline(always)]
fn project_open<S: Simd, W: Law, L: Places<S>>(
    simd: S,
    view: &LineView<'_>,
    law: &W,
    bundle: &Bundle<'_>,
    places: &mut [Place<S, L>],
) {
    let mut elimination = Elimination::new(simd);
    for k in 0..places.len() - 1 {
        let row = law.row((bundle, k), bundle.active(simd, k), &places[k], &places[k + 1]);
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
        // A line has a place k + 1 where it has an edge k.
        places[k + 1].pull(view, law, ahead - pull, bundle.active(simd, k));
        law.solved((bundle, k), solution);
        ahead = pull;
    }
    places[0].pull(view, law, ahead, bundle.active(simd, 0));
}

#[inline(always)]
fn project_closed<S: Simd, W: Law, L: Places<S>>(
    simd: S,
    view: &LineView<'_>,
    law: &W,
    bundle: &Bundle<'_>,
    places: &[Place<S, L>],
) {
    let mut scratch = Scratch::default();
    bundle.solve(
        simd,
        &mut scratch,
        #[inline(always)]
        |k| law.row((bundle, k), bundle.active(simd, k), &places[k], &places[k + 1]),
    );
    let mut behind = scratch.pull(bundle.longest() - 1);
    // The last place is the first again.
    for (k, place) in places[..bundle.longest()].iter().enumerate() {
        let ahead = scratch.pull(k);
        place.pull(view, law, ahead - behind, bundle.active(simd, k));
        law.solved((bundle, k), scratch.solution(k));
        behind = ahead;
    }
}

impl<S: Simd, L: Places<S>> Place<S, L> {
    /// What it is moved by.
    #[inline(always)]
    pub(super) fn end(&self) -> End<Wide<S>, L> {
        End { inverse_mass: self.inverse_mass, limited: self.limited }
    }

    /// How the displacements of another place differ \[m\].
    #[inline(always)]
    pub(super) fn parting(&self, head: &Self) -> Vec3s<S> {
        head.displacement - self.displacement
    }

    /// The way to another place at the end of the substep \[m\]. Displacements are small and positions are not: their
    /// differences are taken apart.
    #[inline(always)]
    pub(super) fn way_to(&self, head: &Self) -> Vec3s<S> {
        (head.way - self.way) + self.parting(head)
    }

    /// W applied to a pull \[kg·m\]: the displacement \[m\].
    #[inline(always)]
    pub(super) fn moved(&self, pull: Vec3s<S>) -> Vec3s<S> {
        self.limited.allowed(pull * self.inverse_mass)
    }

    /// Moves the vertices of the lanes that are on; pins bear the pull instead.
    #[inline(always)]
    fn pull(&self, view: &LineView<'_>, law: &impl Law, pull: Vec3s<S>, on: Mask<S>) {
        let Self { vertices, rest, .. } = self;
        let moved = self.displacement + law.clamped(self.moved(pull), *rest);
        if on.all_true() {
            moved.scatter(
                #[inline(always)]
                |lane, moved| view.displacements.set(vertices[lane] as usize, moved),
            );
        } else {
            let on = on.to_bitmask();
            moved.scatter(|lane, moved| {
                if on & (1 << lane) != 0 {
                    view.displacements.set(vertices[lane] as usize, moved);
                }
            });
        }
        let pinned = self.inverse_mass.simd_eq(rest.like(0.0));
        let bearing = if L::BEARS { on } else { pinned & on };
        if bearing.any_true() {
            let bearing = bearing.to_bitmask();
            let borne = if L::BEARS { pull - self.limited.allowed(pull).masked(!pinned) } else { pull };
            (borne * rest.like(view.force)).scatter(|lane, [x, y, z, _]| {
                if bearing & (1 << lane) != 0 {
                    view.reactions.add(vertices[lane] as usize, Vec3::new(x, y, z));
                }
            });
        }
    }
}
