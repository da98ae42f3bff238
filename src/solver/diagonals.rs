//! Springs along diagonals: shear without a bound on the step, and without iterations.
//!
//! # A diagonal is a yarn with compliance
//!
//! One backward Euler step of springs of stiffness k, linearized along their directions n, moves the prediction by
//!
//! δ = (M + τ² Σ k n nᵀ)⁻¹ τ² f, with f the forces of the springs there.
//!
//! By Woodbury's identity that is δ = W Jᵀ μ with one unknown per spring,
//!
//! (J W Jᵀ + α I) μ = C, α = 1/(k τ²), C = |d| − l:
//!
//! the projection of a yarn with α added to its diagonal, and μ/τ² is the tension of the spring. The springs of a mesh
//! lie on lines ([`crate::mesh::diagonals`]), along which the system is tridiagonal, so one line solve
//! ([`crate::solver::line_solve`]) does all springs of a line, exactly, whatever their stiffness. Pivots are at least
//! α: nothing can break down. The isotropic part of the stiffness, which resists turns of a spring under tension, is
//! left out; with it, results are the same.
//!
//! **Damping** β is that of the stiffness, as in [`crate::stage::elastic`]: the tension is k (C + (β/τ) n·(u_head −
//! u_tail)) at the end of the step, u the displacements. Divided by s = 1 + β/τ that is the same system with α/s and (C
//! + (β/τ) n·(u_head − u_tail))/s.
//!
//! # Family by family
//!
//! With A and B the stiffnesses of two families relative to the mass, a step by one and then by the other multiplies
//! the prediction by 1/((1 + A)(1 + B)), where the exact step has 1/(1 + A + B) and the explicit one 1 − A − B, which
//! is stable only while A + B < 4/3 (κ = k τ²/m < 1/3). So it is stable at any step, and stiff modes answer fully. Each
//! spring is met once per substep, so its multiplier starts at 0; carried over from the substep before, it explodes
//! where shear is stiff. To do both families twice changes nothing that could be measured.
//!
//! What it does not see is the projection that follows: shear is in balance with the prediction, and not with what
//! tension and contact make of it. Where these are stiff against shear, cloth gains energy:
//! [`crate::cloth::substeps`] has the bounds.
//!
//! **Pins** and holds bear what they take from a pull, also that of springs between two pins.
//!
//! Cost: one dispatch per family and substep, two on woven cloth, and one that clears the forces, in place of the
//! spring pass.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | k τ² | `firmness` | kg |
//! | β | `shear.damping` | s |
//! | τ | `clock.span` | s |
//! | μ | solution of the line solve | kg·m |

use fearless_simd::{Simd, prelude::*};

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Fields, Inputs, Spec};
use crate::engine::layout::element;
use crate::engine::program::Kernel;
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::lanes::{self, Mask, Wide, Work};
use crate::mesh::Link;
use crate::mesh::diagonals::Diagonals;
use crate::mesh::yarns::YarnRow;
use crate::solver::bundle::{Bundle, Rows};
use crate::solver::line_solve::{self, LineRow, kernel, lanes_of, yarns_of};
use crate::solver::places::{self, Law, LineView, Place, Places};
use crate::stage::edge::COLLAPSED;
use crate::stage::fields::{Clock, Vertex};
use crate::stage::freedom::Freedom;
use crate::stage::{Recorder, Stage, bending};
use crate::vector::Real;

static SOURCE: Source = Source::new("diagonals", include_str!("../../shaders/diagonals.wgsl"))
    .constants(&[("SOFTEST", Constant::F32(SOFTEST))])
    .shares(&[&line_solve::SOURCE]);

/// Firmness k τ² below which a spring does nothing that f32 could tell \[kg\].
const SOFTEST: f32 = 1e-30;

element! {
    /// What springs along diagonals are told for a frame.
    pub struct Shear {
        /// Time by which stiffness damps \[s\].
        pub(crate) damping: f32,
        pub(crate) padding: f32,
    }
}

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<YarnRow>("diagonals", Domain::DIAGONALS, "ranges of `diagonal_links`, each a line of springs").exact(),
    Spec::of::<Link>("diagonal_links", Domain::SPRINGS, "springs in the order of their lines").exact(),
    Spec::of::<LineRow>("diagonal_rows", Domain::SPRINGS, "rows of a line solve, then its steps and solution")
        .scratch(),
    Spec::of::<Shear>("shear", Domain::Fixed(1), "what springs along diagonals are told").input(),
];

/// Sets `forces` to 0; the first stage, so later ones add to it. Also what the linear solve would start from: that is
/// of another time when it takes over.
pub(crate) static CLEAR_FORCE: Kernel = Kernel::new("clear_force", &SOURCE, clear_force_body);
/// Moves the vertices of one line by what its springs do.
pub(crate) static PROJECT_DIAGONAL: Kernel = kernel("project_diagonal", &SOURCE, project_diagonal_body).aliases(&[
    ("yarns", "diagonals"),
    ("edges", "diagonal_links"),
    ("line_rows", "diagonal_rows"),
]);

/// The start: no force but that of bending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begin;

impl Stage for Begin {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&CLEAR_FORCE, Domain::VERTICES);
        bending::record(recorder, &[]);
    }
}

impl Shear {
    /// With this damping \[s\].
    pub(crate) fn new(damping: f32) -> Self {
        Self { damping, padding: 0.0 }
    }
}

/// The springs, after the prediction and what holds change about it.
impl Stage for Shear {
    fn fields(&self) -> Vec<Spec> {
        FIELDS.to_vec()
    }

    fn inputs(&self, inputs: &mut Inputs<'_>) -> Result<()> {
        inputs.set("shear", *self)
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        let lanes = lanes_of(recorder.longest_diagonal());
        let whole = recorder.sizes().of(Domain::DIAGONALS) as u32 * lanes;
        for lines in recorder.diagonals() {
            let range = lines.start * lanes..lines.end * lanes;
            recorder.dispatch_slice(&PROJECT_DIAGONAL, range, whole, [lanes, 0, 0, 0], &[]);
        }
    }
}

/// Fills the fields.
///
/// # Errors
/// [`Error::Field`](crate::error::Error::Field) if there is none of their names.
pub(crate) fn fill(diagonals: &Diagonals, fields: &mut Fields) -> Result<()> {
    fields.get_mut("diagonal_links")?.copy_from_slice(&diagonals.links);
    for (row, line) in fields.get_mut::<YarnRow>("diagonals")?.iter_mut().zip(&diagonals.lines) {
        let (first, count) = (line.start, line.end - line.start);
        *row = YarnRow { first, count, closed: 0, whole_first: first, whole_count: count };
    }
    Ok(())
}

fn clear_force_body(run: &mut Run<'_>) -> Result<()> {
    let range = run.range();
    run.write::<[f32; 4]>("forces")?.part(range.clone()).fill([0.0; 4]);
    run.write::<[f32; 4]>("elastic_motions")?.part(range).fill([0.0; 4]);
    Ok(())
}

fn project_diagonal_body(run: &mut Run<'_>) -> Result<()> {
    let lines = yarns_of(run)?;
    let clock = run.one::<Clock>("clock")?;
    let damping = run.one::<Shear>("shear")?.damping / clock.span;
    let view = LineView {
        links: run.read::<Link>("edges")?,
        vertices: run.read::<Vertex>("vertices")?,
        freedom: Freedom::of(run)?,
        displacements: run.shared_vectors("displacements")?,
        reactions: run.shared_vectors("reactions")?,
        force: clock.force,
    };
    let law = Compliant { damping, share: 1.0 / (1.0 + damping), square: clock.span * clock.span, links: view.links };
    lanes::widest(Projection { lines, view, law });
    Ok(())
}

struct Projection<'a> {
    lines: &'a [YarnRow],
    view: LineView<'a>,
    law: Compliant<'a>,
}

impl Work for Projection<'_> {
    type Output = ();

    #[inline(always)]
    fn on<S: Simd>(mut self, simd: S) {
        places::project(simd, &self.view, &mut self.law, [self.lines]);
    }
}

/// (J W Jᵀ + α/s) μ = (C + (β/τ) n·(u_head − u_tail))/s.
struct Compliant<'a> {
    /// β/τ.
    damping: f32,
    /// 1/s = 1/(1 + β/τ).
    share: f32,
    /// τ² \[s²\].
    square: f32,
    links: &'a [Link],
}

impl Law for Compliant<'_> {
    /// A spring between two pins moves nothing, and they bear it.
    #[inline(always)]
    fn row<S: Simd, L: Places<S>>(
        &self,
        (bundle, k): (&Bundle<'_>, usize),
        on: Mask<S>,
        tail: &Place<S, L>,
        head: &Place<S, L>,
    ) -> Rows<S> {
        let (rest, zero, one) = (tail.rest, tail.rest.like(0.0), tail.rest.like(1.0));
        let stiffness = lanes::each(|lane| self.links[bundle.edge(lane, k)].stiffness);
        let firmness = Wide::load_array(rest.token(), stiffness) * rest.like(self.square);
        let way = tail.way_to(head);
        let extent = way.length();
        let does = extent.simd_ge(rest.like(COLLAPSED) * rest) & firmness.simd_ge(rest.like(SOFTEST));
        let active = on & does;
        let n = way * (one / extent);
        let (share, tail_motion) = (rest.like(self.share), tail.moved(n));
        let diagonal = n.dot(tail_motion) + n.dot(head.moved(n)) + share / firmness;
        let residual = share * ((extent - rest) + rest.like(self.damping) * n.dot(tail.parting(head)));
        Rows {
            direction: n.masked(active),
            diagonal: active.select(diagonal, one),
            residual: active.select(residual, zero),
            tail_motion: tail_motion.masked(active),
        }
    }
}
