//! Yarn sweeps: project all yarns of one family exactly, then all of the next; the order alternates.
//!
//! This page derives why that works, for everything in this crate that solves along yarns.
//!
//! # Cloth is a bundle of strings
//!
//! Eq. (7) of Goldenthal et al. (2007) is A μ = C with A = J W Jᵀ, one row per inextensible edge (μ = h²δλ, so h drops
//! out). Row e = (a, b) of J holds −n_e at vertex a and +n_e at b, n_e the edge's direction, and W the inverse masses.
//! So A_ee = w_a + w_b, and two edges are coupled only where they share a vertex v:
//!
//! A_ef = ± w_v n_e·n_f, minus where one ends and the other starts.
//!
//! Now look at a vertex of woven cloth. Two edges of a warp yarn and two of a weft yarn meet there:
//!
//! ```text
//!               | f'                    along a yarn    n_e·n_e' ≈ 1
//!               |                       across          n_e·n_f  = sin(shear)
//!      e ------ v ------ e'
//!               |                       A = | A_uu  A_uv |   u: warp multipliers
//!               | f                         | A_vu  A_vv |   v: weft multipliers
//! ```
//!
//! Along a yarn the coupling is as strong as it can be: for a straight yarn of equal masses A is w·(−1, 2, −1), the
//! discrete second derivative. That is the equation of the tension in a string, T'' − κ²T = right-hand side, with κ the
//! curvature. Its smallest eigenvalue is w (π/2m)² for a yarn of m edges that hangs from one pin: a condition of about
//! m², which is why conjugate gradients need m iterations and Gauss-Seidel m² sweeps. *Across* yarns the coupling is
//! only shear, and in unsheared cloth it vanishes: warp and weft do not know of each other.
//!
//! So A is not the Laplacian of a surface, for which multigrid was made: there is nothing between neighboring yarns to
//! smooth. It is a bundle of one-dimensional strings, A_uu and A_vv both block diagonal, yarn by yarn, each block
//! tridiagonal, and a tridiagonal system is solved exactly by one pass there and one pass back
//! ([`crate::solver::line_solve`]). The dependence on n is gone with that, whatever the resolution.
//!
//! # What is left: shear
//!
//! Projecting the warp exactly and then the weft exactly is block Gauss-Seidel with two blocks. One sweep multiplies
//! the error by A_uu⁻¹ A_uv A_vv⁻¹ A_vu, whose largest eigenvalue is σ², σ the cosine of the angle between the spaces
//! of motions that warp forces and weft forces can make. σ² was 0.2–0.5 in ordinary motion, 0.8 in a draped sheet of
//! 128 × 128, and comes near 1 only where quads are sheared flat. Each projection re-linearizes, so the sweep is
//! Newton's method on each yarn at the same time. The order alternates (warp, weft, weft, warp …), which spreads what
//! is left evenly.
//!
//! Where σ is near 1, sweeps crawl and conjugate gradients take over: eliminating the weft multipliers leaves the Schur
//! complement A_uu − A_uv A_vv⁻¹ A_vu, which A_uu⁻¹ turns into 1 − (the operator above), with a condition of
//! 1/(1 − σ²). [`crate::solver::fast_projection`] does that; both inner solves are line solves again.
//!
//! # What projection does not see: tension
//!
//! Fast projection drops λ ∂²C/∂x², the geometric stiffness T/l of taut yarns against sideways motion. Compared with
//! the inertia m/h² it is the load s = h²T/(m l) ([`crate::stage::load`]). Below 1 nothing is noticed; a yarn at s = 20
//! is straightened edge by edge where it should swing as a whole, and Newton's method fails. Two cures: more substeps
//! (s falls with h²; [`crate::cloth::substeps`] chooses them), and [taut chords](crate::solver::chords), which place
//! long parts of a yarn before short ones.
//!
//! A third trouble is a yarn between two pins that is as long as their distance: at its solution it is straight, its
//! matrix is singular, and there is no tension that holds it. The limit allows it to be a little longer; it keeps its
//! mean strain up to half of the limit ([`crate::solver::line_solve`]).
//!
//! # Cost
//!
//! One dispatch per family and sweep, no reductions but those that measure the strain: after the first sweep, then
//! after every second. Substeps that are not the last of a frame end at `middle_strain`.

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Inputs, Spec};
use crate::engine::layout::element;
use crate::engine::program::Kernel;
use crate::engine::source::Source;
use crate::error::Result;
use crate::lanes::{LANES, Vec3s, Wide};
use crate::solver::bundle::{Bundle, Links, Rows, Scratch};
use crate::solver::line_solve::{self, YarnView, dispatch_family, kernel, yarns_of};
use crate::solver::{Assignment, Solver, chords};
use crate::stage::Recorder;
use crate::stage::edge::{Band, End, Stretch};
use crate::stage::fields::Vertex;
use crate::stage::freedom::{Constraint, Limited};
use crate::stage::parameter::{Parameter, Parameters, Table, parameter};
use crate::stage::{Stage, control, strain};

static SOURCE: Source =
    Source::new("yarn_sweep", include_str!("../../shaders/yarn_sweep.wgsl")).shares(&[&line_solve::SOURCE]);

element! {
    /// Parameters that may change from frame to frame; [`YarnSweep`] says what they are.
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

/// Projects one yarn: C = |d| − L of all its edges to 0 at once.
pub(crate) static PROJECT_YARN: Kernel = kernel("project_yarn", &SOURCE, project_yarn_body);

/// Parameters of the sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct YarnSweep {
    /// Sweeps at most in the last substep of a frame, which must hold the limit; rounded up to an odd number.
    pub sweeps: u32,
    /// Sweeps at most in the other substeps; rounded up to an odd number.
    pub middle_sweeps: u32,
    /// Strain at which the other substeps end, where it is above the limit; may be slid live.
    pub middle_strain: f32,
    /// Largest motion of a vertex in one projection, as a part of the edge before or after it; may be slid live.
    pub step_clamp: f32,
    /// Part of the strain limit that a yarn between two pins may keep (see [`crate::solver::line_solve`]); may be slid
    /// live.
    pub slack: f32,
    /// Load s from which [taut chords](crate::solver::chords) are used where the number of substeps is bounded; may be
    /// slid live.
    pub chords_from: f32,
}

impl Default for YarnSweep {
    fn default() -> Self {
        Self { sweeps: 400, middle_sweeps: 8, middle_strain: 0.01, step_clamp: 0.3, slack: 0.5, chords_from: 4.0 }
    }
}

impl YarnSweep {
    /// Its name, as the program spells it.
    pub const NAME: &'static str = "yarn-sweep";
}

impl Stage for YarnSweep {
    fn fields(&self) -> Vec<Spec> {
        [FIELDS, line_solve::FIELDS].concat()
    }

    fn inputs(&self, inputs: &mut Inputs<'_>) -> Result<()> {
        let Self { step_clamp, slack, chords_from, .. } = *self;
        inputs.set("yarn_sweep", YarnSweepLive { step_clamp, slack, chords_from, padding: 0.0 })
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        if recorder.about.moment.bounded {
            chords::record(recorder);
        }
        let families = recorder.families().len();
        let sweep = |recorder: &mut Recorder<'_>, backwards: bool| {
            for number in 0..families {
                project_family(recorder, if backwards { families - 1 - number } else { number });
            }
        };
        let sweeps = if recorder.about.moment.last_substep { self.sweeps } else { self.middle_sweeps };
        // The last family first: where rows are the first, the columns that hang from them come before.
        if sweeps == 1 {
            recorder.repeat_always(1, |recorder| {
                sweep(recorder, true);
                strain::record(recorder, 1, 0);
            });
            return;
        }
        sweep(recorder, true);
        strain::measure(recorder);
        // Measuring costs half as much as a sweep: from here on every second time.
        control::repeat_strained(recorder, 1, (sweeps - 1).div_ceil(2), |recorder| {
            strain::keep(recorder);
            sweep(recorder, false);
            sweep(recorder, true);
            strain::measure(recorder);
            control::judge_strain(recorder, 2, 0);
        });
    }
}

impl Parameters for YarnSweep {
    const TABLE: &'static str = "yarn_sweep";
    const PARAMETERS: &'static [Parameter<Self>] = &[
        parameter!(sweeps: Count, |sweeps| sweeps > 0, "at least 1", "sweeps at most in the last substep of a frame"),
        parameter!(middle_sweeps: Count, |sweeps| sweeps > 0, "at least 1", "sweeps at most in the other substeps"),
        parameter!(
            middle_strain: Number,
            |strain| (0.0..=1.0).contains(&strain),
            "in [0, 1]",
            "strain at which the other substeps end"
        ),
        parameter!(
            step_clamp: Number,
            |clamp| clamp > 0.0 && clamp <= 10.0,
            "in (0, 10]",
            "largest motion in one projection, as a part of an edge"
        ),
        parameter!(
            slack: Number,
            |slack| (0.0..=0.9).contains(&slack),
            "in [0, 0.9]",
            "part of the strain limit that a yarn between two pins may keep"
        ),
        parameter!(chords_from: Number or infinity, |load| load >= 0.0, "at least 0", "load from which taut chords are used"),
    ];
}

impl Solver for YarnSweep {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![self]
    }

    fn tables_mut(&mut self) -> Vec<&mut dyn Table> {
        vec![self]
    }

    fn middle_strain(&self) -> f32 {
        self.middle_strain
    }

    fn load(&self) -> f32 {
        4.0
    }

    fn rarities(&self) -> &'static [Assignment] {
        &[("yarn_sweep.chords_from", "0")]
    }
}

/// Records the projection of one family of yarns, which share no vertex.
pub fn project_family(recorder: &mut Recorder<'_>, family: usize) {
    dispatch_family(recorder, &PROJECT_YARN, family, [0, 0], &[]);
}

fn project_yarn_body(run: &mut Run<'_>) -> Result<()> {
    let yarns = yarns_of(run)?;
    let cloth = YarnView::of(run)?;
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
    let Memory { links, scratch } = memory;
    bundle.links(cloth.edges, links);
    let band = Band::of(cloth.frame);
    let slack = bundle.per_lane(|yarn| cloth.slack(yarn));
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
