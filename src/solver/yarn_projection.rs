//! The projection of yarns and of pieces of them: C = |d| − L of all edges of one to 0 at once, by one line solve. The
//! arithmetic of [`yarn_sweep`](crate::solver::yarn_sweep), which derives it, and of
//! [`windows`](crate::solver::windows).

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Spec};
use crate::engine::layout::element;
use crate::engine::source::Source;
use crate::error::Result;
use crate::lanes::{LANES, Vec3s, Wide};
use crate::mesh::yarns::YarnRow;
use crate::solver::bundle::{Bundle, Links, Rows, Scratch};
use crate::solver::line_solve::{self, YarnView};
use crate::stage::edge::{Band, End, Stretch};
use crate::stage::fields::Vertex;
use crate::stage::freedom::{Constraint, Limited};

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

/// The projection of yarns and pieces of them.
pub(super) struct Projection<'a> {
    cloth: YarnView<'a>,
    memory: Memory,
}

impl<'a> Projection<'a> {
    pub(super) fn of(run: &mut Run<'a>) -> Result<Self> {
        Ok(Self { cloth: YarnView::of(run)?, memory: Memory::default() })
    }

    /// Projects yarns that share no vertex.
    pub(super) fn project(&mut self, yarns: &[YarnRow]) {
        let Self { cloth, memory } = self;
        // Before anything is moved: pieces of one yarn keep the same.
        memory.slacks.clear();
        memory.slacks.extend(yarns.iter().map(|yarn| cloth.slack(yarn)));
        for bundle in Bundle::all(yarns) {
            match cloth.freedom.constraints() {
                None => project_bundle(cloth, &bundle, memory, |_| ()),
                Some(constraints) => project_bundle(cloth, &bundle, memory, |vertices: &[u32; LANES]| {
                    let (normal, across) = Vec3s::gather(|lane| constraints[vertices[lane] as usize]);
                    Constraint { normal, across }
                }),
            }
        }
    }
}

/// What the vertices of a place may do.
trait Places: Limited<Wide> {
    /// Whether constraints bear something.
    const BEARS: bool;
}

impl Places for () {
    const BEARS: bool = false;
}

impl Places for Constraint<Wide> {
    const BEARS: bool = true;
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
    fn of(cloth: &YarnView<'_>, vertices: &[u32; LANES], rest: Wide, limited: L) -> Self {
        let (position, inverse_mass) =
            Vec3s::gather(|lane| bytemuck::cast::<Vertex, [f32; 4]>(cloth.vertices[vertices[lane] as usize]));
        let (displacement, _) = Vec3s::gather(|lane| cloth.displacements.get(vertices[lane] as usize));
        Self { position, moving: Moving { limited, inverse_mass, displacement, rest } }
    }
}

impl<L: Places> Moving<L> {
    #[inline(always)]
    fn end(&self) -> End<Wide, L> {
        End { inverse_mass: self.inverse_mass, limited: self.limited }
    }

    /// Moves the vertices of the lanes that are on; pins bear the pull instead.
    #[inline(always)]
    fn pull(&self, cloth: &YarnView<'_>, vertices: &[u32; LANES], pull: Vec3s, on: Wide) {
        let way =
            self.limited.allowed(pull * self.inverse_mass).clamped(Wide::splat(cloth.live.step_clamp) * self.rest);
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
    /// Strain that each yarn keeps.
    slacks: Vec<f32>,
    links: Links,
    scratch: Scratch,
}

#[inline(always)]
fn project_bundle<L: Places>(
    cloth: &YarnView<'_>,
    bundle: &Bundle<'_>,
    memory: &mut Memory,
    limited: impl Fn(&[u32; LANES]) -> L,
) {
    let Memory { slacks, links, scratch } = memory;
    bundle.links(cloth.edges, links);
    let band = Band::of(cloth.frame);
    let slack = bundle.per_lane(slacks);
    let mut moving = Vec::with_capacity(bundle.longest());
    let mut tail = Place::of(cloth, &links.vertices[0], Wide::ONE, limited(&links.vertices[0]));
    bundle.solve(scratch, |k| {
        let rest = Wide::new(links.rests[k]);
        let head = Place::of(cloth, &links.vertices[k + 1], rest, limited(&links.vertices[k + 1]));
        let d = (head.position - tail.position) + (head.moving.displacement - tail.moving.displacement);
        let stretch = Stretch::of(band, rest, d, tail.moving.end(), head.moving.end());
        let (n, active) = (stretch.n, bundle.active(k) & stretch.active);
        let tail_motion = tail.moving.limited.allowed(n * tail.moving.inverse_mass).masked(active);
        let from = std::mem::replace(&mut tail, head);
        moving.push(Moving { rest, ..from.moving });
        Rows {
            direction: n.masked(active),
            diagonal: active.select(stretch.w, Wide::ONE),
            residual: active.select(stretch.extent - (stretch.wanted + slack * rest), Wide::ZERO),
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
