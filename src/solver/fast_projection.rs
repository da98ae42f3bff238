//! Fast projection (Goldenthal et al. 2007, section 4.3): Newton's method on all edges at once, one linear solve per
//! iteration, by matrix-free conjugate gradients.
//!
//! Eq. (7) is h²∇C M⁻¹∇Cᵀ δλ = C. With μ = h²δλ the step size cancels: A μ = C, A = J W Jᵀ, and eq. (5) becomes
//! u −= W Jᵀ μ. Row e = (a, b) of J holds −q_e at a and +q_e at b.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | C_e = (\|d\|² − l²)/(2l), half of the paper's eq. (1), less what is kept | `residuals` at the start | m |
//! | q_e = d/l = ∂C_e/∂x_b | `directions.xyz` | 1 |
//! | 1/A_ee = 1/((w_a + w_b)\|q\|²) | `directions.w` | kg |
//! | μ_e | `solutions` | kg·m |
//! | y = W Jᵀ p | `pulls` | m |
//! | tension of edge e | μ_e \|q\|/h², summed over the iterations | N |
//!
//! The solve is loose on purpose, because the outer loop re-linearizes anyway. A tolerance of 0.1–0.3 costs least while
//! cloth moves fast, but what it leaves unsolved is motion: a curtain at rest then trembles at 2–8 mm/s at 8 substeps
//! per frame, at the default of 0.02 at 0.5 mm/s; a curtain at rest takes no more iterations for it, a swinging sheet
//! hung by two corners twice as many. The matrix of one yarn is a discrete string equation, so CG that is
//! preconditioned by the diagonal needs about n iterations on an n × n cloth; the blocks of single yarns as
//! preconditioner take the strings out, and what is left is set by shear.
//!
//! **Schur form.** With two families, u the first and v the second, A = [A_uu A_uv; A_vu A_vv], and both diagonal
//! blocks are tridiagonal yarn by yarn. Eliminating μ_v leaves (A_uu − A_uv A_vv⁻¹ A_vu) μ_u = C_u − A_uv A_vv⁻¹ C_v,
//! whose condition is 1/(1 − σ²), σ the cosine between the force spaces of the families: the additive form has
//! (1 + σ)/(1 − σ) and needs twice the iterations. It is run as CG on the full vectors: started at μ_v = A_vv⁻¹ C_v,
//! with z_v = −A_vv⁻¹ A_vu z_u for every direction, the residual of the second family stays 0, and everything else is
//! the ordinary iteration.
//!
//! **Triangles that lock** have three edges per vertex, and in a flat sheet two directions to move it in: a third of
//! all multipliers, tensions in balance with each other, move nothing, and A is singular. C is of second order in what
//! bends out of the plane, so it is not in the range of A, and the residual does not fall to any tolerance: conjugate
//! gradients go on to their last iteration, as many as there are edges, with tensions that grow all the while and throw
//! the cloth about (equilateral triangles hung by a row are 9 cm from their way after 0.2 s, and 4 frames of 12 missed,
//! at 108,494 iterations per frame for 16 × 16 vertices). To stop early is what helps: the first iterations find what
//! moves the cloth. Along paths ([`crate::mesh::yarns`]) those are few and their number does not grow; the outer loop
//! does the rest. Iterations per frame in the first 0.2 s of sheets of n × n vertices at 1 %, hung by a row, and by two
//! corners as in `hang`; in brackets, of 12 frames, those that missed. With two corners substeps grow from 4 to 15 per
//! frame, and iterations with them.
//!
//! | | row: 16, 32, 64 | two corners: 16, 32, 64 |
//! |---|---|---|
//! | cut squares, diagonal, no bound | 73,606 … | 3,366, 34,336 … |
//! | the same, bound of 100 | 284, 400, 400 | 400, 858, 2,692 |
//! | the same along paths, no bound | 218,819 (6) … | 2,278, 52,520 … |
//! | the same, bound of 40 | 307, 307, 42 | 160, 333, 1,050 |
//! | **the same, bound of 20** | **29, 28, 35** | **83, 202, 627** |
//! | the same, bound of 5 | 20, 20, 21 | 62, 125, 379 |
//! | equilateral, diagonal, bound of 100 | 275, 382, 408 | 400, 758, 2,342 |
//! | **equilateral, paths, bound of 20** | **70, 74, 76** | **80, 162, 537** |
//! | equilateral, paths, bound of 5 | 20, 20, 33 | 30, 101, 329 |
//! | irregular, diagonal, bound of 100 | 400, 400, 417 | 400, 775, 1,992 |
//! | **irregular, paths, bound of 20** | **80, 80, 127** | **83, 288, 637** |
//! | irregular, paths, bound of 5 | 20, 45, 200 | |
//! | *sweeps* along paths: cut | 4, 4, 4 | 79, 227, 338 (4) |
//! | *sweeps* along paths: equilateral | 7, 20, 62 | 60, 177 (1), 310 (3) |
//! | *sweeps* along paths: irregular | 6, 34, 112 | 57, 317 (3), 432 (8) |
//!
//! At 0.1 % and a bound of 20, hung by a row: cut squares 29, 28 and 46, equilateral 70, 74 and 99, irregular 298, 177
//! and 463. Cut squares on two corners of 16 × 16 and 32 × 32 take 214 and 1,052 in 20 frames; with the diagonal 675
//! and 2,595 with a bound of 100, and 867 and 3,831 (2 frames missed) with one of 20. A looser tolerance instead of a
//! bound (0.3: 449 and 915 along paths at 1 %) does not help as well, and one of 0.1 not at all (755 and 17,070).
//!
//! **Yarns in short pieces**, those of irregular triangles that are woven or were joined to quads, are nearly as bad:
//! two or a little more edges per vertex leave hardly a way to move within the plane, and the smallest eigenvalues of A
//! fall far below those of straight yarns. To a tolerance of 0.02 a solve takes some 400 iterations at 71 × 71, and
//! holds 0.001 % where 1 % was asked for. So it is bounded, too, but not by 20: what is left unsolved is motion, and a
//! sheet of 32 × 32 vertices at rest then trembles by 7 mm/s, at 60 by 0.19 mm/s, without a bound by 0.11 mm/s (rms).
//! Iterations per frame in the first 0.1 s (150: two frames) of irregular points, hung by a row and by two corners:
//!
//! | bound | woven: 32, 71, 150 | joined to quads: 32, 71, 150 | two corners, woven | two corners, quads |
//! |---|---|---|---|---|
//! | none | 562, 4,493 … | 3,204, over 40 s | 1,528, 9,680 … | over 40 s |
//! | 20 | 120, 813, 6,000 (1) | 260, 903, 3,340 | 483, 2,237, 6,280 | 367, 1,993, 3,710 |
//! | **60** | **240, 790, 4,920** | **780, 520, 2,040** | **775, 3,929, 7,680** | **780, 1,850, 5,190** |
//! | 150 | 6,075 at 150 | 2,175 at 150 | 14,631 at 150 | 12,450 at 150 |
//!
//! They still grow with n. Longer yarns, joined at irregular vertices wherever they go straight on, did not help: 757
//! instead of 888 woven at 71, but 5,175 instead of 2,175 for quads at 150.
//!
//! Guards against what Newton's method cannot do: steps are clamped to 0.3 of the shortest edge at a vertex; an edge
//! compressed below half its length uses the linear constraint |d| − l; a collapsed edge gets an empty row; a singular
//! system ends CG when the curvature vanishes. Everything stays finite and bounded, and the report tells the strain
//! that was reached.
//!
//! **Between two pins** a yarn keeps its mean constraint, C_e −= l_e clamp(Σ C/Σ l, ±`slack` · limit), as yarn sweeps
//! do and for the reason that [`crate::solver::line_solve`] gives: a row as long as the distance of its pins is
//! singular at its solution. Projected to C = 0 (`slack` 0, as in the paper) it throws the cloth about, though every
//! substep holds its limit. Largest gain over the lowest energy so far, as a part of m g · 0.5 m, of `patch` with 12 ×
//! 12 vertices in 2 s:
//!
//! | | limit 1 % | 0.1 % | iterations per frame |
//! |---|---|---|---|
//! | to C = 0 | 0.565 | 0.053 | 5.8, 11.8 |
//! | and CG to 10⁻⁴ instead of 0.02 | 0.073 | 0.091 | 5.5, 12.3 |
//! | and no clamp | 0.111 | 0.053 | 5.7, 11.8 |
//! | and 8, 16, 32, 64 substeps | 0.13, 0.09, 0.06, 0.17 | 0.12, 0.18, 0.23, 0.14 | 8.5 … 64 |
//! | `slack` ½ | 0.000 | 0.015 | 4.1, 8.7 |
//! | yarn sweeps with `slack` 0 | 0.077 | 1.79 | |
//! | yarn sweeps with `slack` ½ | 0.000 | 0.001 | |
//!
//! To C = 0 at limits of 10⁻⁴ and 10⁻⁵ it gains 0.011 and 0.002 with 25 and 64 iterations per frame. To leave the
//! correction of the strain that a substep starts with out of its velocity takes a part of the gain away only: from
//! 0.17 to 0.05 with 8 substeps at 1 %, from 0.14 to 0.13 with 16 (with slack 0.002 and 0.013; all four judged after
//! every substep).

use glam::Vec3;

use crate::engine::cpu::{Run, group_sum};
use crate::engine::fields::{Domain, Inputs, Spec};
use crate::engine::layout::{GROUP, element};
use crate::engine::program::{Kernel, Pattern, Renames};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::mesh::Link;
use crate::solver::{Solver, Variant, line_preconditioner, line_solve, warm_start};
use crate::stage::Recorder;
use crate::stage::edge::{self, Band, Stretch, stretch_of};
use crate::stage::fields::{Clock, FAR, Frame, Vertex, sums};
use crate::stage::freedom::Freedom;
use crate::stage::magnitude::{lightest, mass, rest};
use crate::stage::parameter::{Parameter, Parameters, Table, Takes, Value, parameter};
use crate::stage::{Stage, conjugate_gradient, load, reduce, strain};
use crate::vector::{padded, xyz};

static SOURCE: Source = Source::new("fast_projection", include_str!("../../shaders/fast_projection.wgsl"))
    .constants(&[("COMPRESSED", Constant::F32(COMPRESSED))])
    .shares(&[&edge::SOURCE]);

element! {
    /// Parameters that may change from frame to frame; [`FastProjection`] says what they are.
    pub(crate) struct FastProjectionLive {
        pub(crate) step_clamp: f32,
        pub(crate) slack: f32,
        pub(crate) warm_start: f32,
        pub(crate) tolerance: f32,
    }
}

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<[f32; 4]>("directions", Domain::EDGES, "xyz: gradient of the constraint at the head, w: 1/A_ee [kg]")
        .persistent()
        .floor(|_| Ok(1.0)),
    Spec::of::<[f32; 4]>("pulls", Domain::VERTICES, "W Jᵀ p [m]").floor(|f| Ok(f.largest("searches")? / lightest(f)?)),
    Spec::of::<f32>("residuals", Domain::EDGES, "r = C − A x [m]").floor(rest),
    Spec::of::<f32>("solutions", Domain::EDGES, "x: multipliers h²δλ [kg·m]").floor(|f| Ok(rest(f)? * mass(f)?)),
    Spec::of::<f32>("searches", Domain::EDGES, "p: search direction [kg·m]").floor(|f| Ok(rest(f)? * mass(f)?)),
    Spec::of::<f32>("products", Domain::EDGES, "q = A p [m]")
        .floor(|f| Ok(8.0 * f.largest("searches")? / lightest(f)?)),
    Spec::of::<f32>("preconditioned", Domain::EDGES, "z = P r [kg·m]").floor(|f| Ok(rest(f)? * mass(f)?)),
    Spec::of::<FastProjectionLive>(
        "fast_projection",
        Domain::Fixed(1),
        "parameters that may change from frame to frame",
    )
    .input(),
];

/// Constraint, direction and diagonal of one edge.
pub(crate) static LINEARIZE: Kernel = Kernel::new("linearize", &SOURCE, linearize_body);
/// Where the linear solve ends.
pub(crate) static AIM_PROJECTION: Kernel =
    Kernel::new("aim_projection", &SOURCE, aim_projection_body).pattern(Pattern::Group).aliases(&[("totals", "sums")]);
/// First half of the operator: y = W Jᵀ p.
pub(crate) static GATHER_PULLS: Kernel = Kernel::new("gather_pulls", &SOURCE, gather_pulls_body);
/// Residual of the Schur form.
pub(crate) static SETTLE_RESIDUAL: Kernel = Kernel::new("settle_residual", &SOURCE, settle_residual_body);
/// Second half: q = J y.
pub(crate) static APPLY_OPERATOR: Kernel = Kernel::new("apply_operator", &SOURCE, apply_operator_body);
/// u −= W Jᵀ μ.
pub(crate) static APPLY_MULTIPLIERS: Kernel = Kernel::new("apply_multipliers", &SOURCE, apply_multipliers_body);

/// Part of its length below which an edge counts as compressed: the quadratic constraint overshoots by l/(2|d|) there.
const COMPRESSED: f32 = 0.5;

/// Iterations of a linear solve where triangles lock: its solution is not wanted, see above.
const LOCKED: u32 = 20;
/// The same where yarns are short pieces.
const PIECES: u32 = 60;
/// The same in substeps of this load, which the rule of substeps keeps unless the caller bounds their number.
const EASED: u32 = 20;
/// See [`EASED`].
const PIECES_LOAD: f32 = 0.2;
/// The same with the diagonal as preconditioner.
const LOCKED_DIAGONAL: u32 = 100;

/// What makes the linear solve converge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preconditioner {
    /// `LinesSchur` where the yarns are of two families, `Lines` elsewhere.
    #[default]
    Auto,
    /// The diagonal of A: cheap, about n iterations on an n × n cloth.
    Jacobi,
    /// The blocks of A that belong to single yarns, solved exactly ([`crate::solver::line_preconditioner`]): a handful
    /// of iterations, set by shear and not by n.
    Lines,
    /// The same with the second family's multipliers eliminated: half the iterations. As `Lines` on a mesh whose yarns
    /// are not of two families.
    LinesSchur,
}

impl Preconditioner {
    /// Names as the program spells them.
    pub const NAMES: [&'static str; 4] = ["auto", "jacobi", "lines", "lines-schur"];

    const ALL: [Self; 4] = [Self::Auto, Self::Jacobi, Self::Lines, Self::LinesSchur];

    /// The preconditioner of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preconditioner| preconditioner.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Parameters of the projection.
#[derive(Clone, Debug, PartialEq)]
pub struct FastProjection {
    /// What makes the linear solve converge.
    pub preconditioner: Preconditioner,
    /// Projection iterations per substep at most.
    pub iterations: u32,
    /// Iterations of one linear solve at most; `None` takes the number of edges, where exact arithmetic
    /// would end, and a quarter more, but 20 where triangles lock, or 100 with the diagonal, and 60 where yarns are
    /// short pieces.
    pub inner_iterations: Option<u32>,
    /// |r|/|r_0| at which a linear solve ends, in (0, 1); may be slid live.
    pub tolerance: f32,
    /// Largest motion of a vertex in one iteration, as a part of its shortest edge; may be slid live.
    pub step_clamp: f32,
    /// Part of the strain limit that a yarn between two pins may keep (see [`crate::solver::line_solve`]); may be slid
    /// live. 0 is the projection of the paper.
    pub slack: f32,
    /// γ of a [warm start](crate::solver::warm_start), 1 to 2; `None` starts at 0. The value may be slid live.
    pub warm_start: Option<f32>,
}

impl Default for FastProjection {
    fn default() -> Self {
        Self {
            preconditioner: Preconditioner::Auto,
            iterations: 60,
            inner_iterations: None,
            tolerance: 0.02,
            step_clamp: 0.3,
            slack: 0.5,
            warm_start: None,
        }
    }
}

impl FastProjection {
    /// Its name, as the program spells it.
    pub const NAME: &'static str = "fast-projection";
}

impl Stage for FastProjection {
    fn fields(&self) -> Vec<Spec> {
        [FIELDS, warm_start::FIELDS, line_solve::FIELDS].concat()
    }

    fn inputs(&self, inputs: &mut Inputs<'_>) -> Result<()> {
        inputs.set(
            "fast_projection",
            FastProjectionLive {
                step_clamp: self.step_clamp,
                slack: self.slack,
                warm_start: self.warm_start.unwrap_or(0.0),
                tolerance: self.tolerance,
            },
        )
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        let edges = recorder.sizes().edges() as u32;
        let preconditioner = self.resolved(recorder);
        let inner = self.inner_iterations.unwrap_or_else(|| preconditioner.most_iterations(recorder));
        // Multipliers of another set of contacts are no guess for this one.
        let warm = self.warm_start.is_some() && !recorder.about.moment.constrained;
        let context: Renames = if warm { &[("vertices", "warm_vertices")] } else { &[] };
        if warm {
            warm_start::begin(recorder);
        }
        recorder.repeat(self.iterations, |recorder| {
            if warm {
                warm_start::soften(recorder);
            }
            recorder.renaming(context, |recorder| recorder.dispatch(&LINEARIZE, Domain::EDGES));
            if recorder.between_pins() {
                line_preconditioner::keep_slack(recorder);
            }
            let words = preconditioner.words(recorder);
            if warm {
                warm_start::relax(recorder);
            }
            conjugate_gradient::restart(recorder, &conjugate_gradient::EDGES, edges);
            let solve = recorder.renaming(context, |recorder| {
                preconditioner.start(recorder);
                reduce::record(recorder, &reduce::SUM_PARTIALS, words, sums::RESIDUAL);
                recorder.dispatch_range(&AIM_PROJECTION, 0..1, [0; 4]);
                let precondition = |recorder: &mut Recorder<'_>| preconditioner.record(recorder, false);
                let solve = conjugate_gradient::record(
                    recorder,
                    &conjugate_gradient::EDGES,
                    edges,
                    words,
                    inner,
                    apply,
                    precondition,
                );
                recorder.dispatch(&APPLY_MULTIPLIERS, Domain::VERTICES);
                solve
            });
            load::note(recorder);
            if warm {
                warm_start::note(recorder);
            }
            strain::record(recorder, 1, solve);
        });
    }
}

impl Parameters for FastProjection {
    const TABLE: &'static str = "fast_projection";
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter {
            name: "preconditioner",
            takes: Takes::Word(&Preconditioner::NAMES),
            expected: "auto, jacobi, lines or lines-schur",
            about: "what makes the linear solve converge",
            get: |solver| Value::Word(solver.preconditioner.name()),
            set: |solver, value| {
                if let Value::Word(name) = value {
                    solver.preconditioner = Preconditioner::named(name).unwrap_or(solver.preconditioner);
                }
            },
            valid: |_| true,
        },
        parameter!(iterations: Count, |count| count > 0, "at least 1", "projection iterations per substep at most"),
        parameter!(inner_iterations: optional Count, |count| count > 0, "at least 1", "iterations of one linear solve at most"),
        parameter!(
            tolerance: Number,
            |tolerance| tolerance > 0.0 && tolerance < 1.0,
            "in (0, 1)",
            "|r|/|r_0| at which a linear solve ends"
        ),
        parameter!(
            step_clamp: Number,
            |clamp| clamp > 0.0 && clamp <= 10.0,
            "in (0, 10]",
            "largest motion in one iteration, as a part of an edge"
        ),
        parameter!(
            slack: Number,
            |slack| (0.0..=0.9).contains(&slack),
            "in [0, 0.9]",
            "part of the strain limit that a yarn between two pins may keep"
        ),
        parameter!(warm_start: optional Number, |gamma| (0.0..=10.0).contains(&gamma), "in [0, 10]", "γ of a warm start"),
    ];
}

impl Solver for FastProjection {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![self]
    }

    fn tables_mut(&mut self) -> Vec<&mut dyn Table> {
        vec![self]
    }

    fn load(&self) -> f32 {
        2.0
    }

    fn load_along_pieces(&self) -> f32 {
        PIECES_LOAD
    }

    fn variants(&self) -> &'static [Variant] {
        &[
            Variant { name: "fast-projection-lines", set: &[("fast_projection.preconditioner", "lines")] },
            Variant { name: "fast-projection-diagonal", set: &[("fast_projection.preconditioner", "jacobi")] },
        ]
    }
}

impl FastProjection {
    /// What `Auto` and a form that the mesh does not allow stand for.
    fn resolved(&self, recorder: &Recorder<'_>) -> Preconditioner {
        match (self.preconditioner, recorder.families().len()) {
            (Preconditioner::Jacobi, _) => Preconditioner::Jacobi,
            (Preconditioner::Auto | Preconditioner::LinesSchur, 2) => Preconditioner::LinesSchur,
            _ => Preconditioner::Lines,
        }
    }
}

impl Preconditioner {
    /// Iterations of a linear solve at most, unless the caller says otherwise.
    fn most_iterations(self, recorder: &Recorder<'_>) -> u32 {
        let edges = recorder.sizes().edges() as u32;
        match self {
            Self::Jacobi if recorder.locked() > 0 => LOCKED_DIAGONAL,
            _ if recorder.locked() > 0 => LOCKED,
            Self::Lines if !recorder.is_woven() && recorder.about.moment.bounded => PIECES,
            Self::Lines if !recorder.is_woven() => EASED,
            _ => edges + edges / 4 + 8,
        }
    }

    /// Elements that r·z and r·r run over: in the Schur form those of the first family, because r is 0 in the other.
    fn words(self, recorder: &Recorder<'_>) -> usize {
        if self == Self::LinesSchur { recorder.family_edges()[0].end as usize } else { recorder.sizes().edges() }
    }

    /// Records the start of a solve that has been linearized: first solution, residual and search direction.
    fn start(self, recorder: &mut Recorder<'_>) {
        if self == Self::LinesSchur {
            // μ_v = A_vv⁻¹ C_v; r_u = C_u − A_uv μ_v, r_v = 0.
            line_preconditioner::solve_family(recorder, 1, false, &[("preconditioned", "solutions")]);
            gather(recorder, 1, &[("searches", "solutions")]);
            recorder.dispatch(&APPLY_OPERATOR, Domain::EDGES);
            let first_family = recorder.family_edges()[0].end;
            let edges = recorder.sizes().edges() as u32;
            recorder.dispatch_range(&SETTLE_RESIDUAL, 0..edges, [first_family, 0, 0, 0]);
        }
        self.record(recorder, true);
    }

    /// Records z = P r and the leaves of r·z and r·r where P is more than the diagonal, which other kernels bring
    /// along; at the start z is the search direction.
    fn record(self, recorder: &mut Recorder<'_>, start: bool) {
        let renames: Renames = if start { &[("preconditioned", "searches")] } else { &[] };
        match self {
            Self::Lines => line_preconditioner::solve_all(recorder, renames),
            Self::LinesSchur => {
                // z_u = A_uu⁻¹ r_u, z_v = −A_vv⁻¹ A_vu z_u: then A p has nothing in the second family either.
                line_preconditioner::solve_family(recorder, 0, false, renames);
                gather(recorder, 0, if start { &[] } else { &[("searches", "preconditioned")] });
                let second = recorder.family_edges()[1].clone();
                let products: Renames = if start { &[] } else { &[("searches", "preconditioned")] };
                let edges = recorder.sizes().edges() as u32;
                recorder.dispatch_slice(&APPLY_OPERATOR, second, edges, [0; 4], products);
                let renames: Renames = if start {
                    &[("residuals", "products"), ("preconditioned", "searches")]
                } else {
                    &[("residuals", "products")]
                };
                line_preconditioner::solve_family(recorder, 1, true, renames);
            }
            _ => return,
        }
        let words = self.words(recorder) as u32;
        recorder.dispatch_with(&conjugate_gradient::DOT_RESIDUALS, 0..words, [0; 4], renames);
    }
}

/// Records `pulls` = W Jᵀ `searches` of one family's edges.
fn gather(recorder: &mut Recorder<'_>, family: usize, renames: Renames) {
    let edges = recorder.family_edges()[family].clone();
    let vertices = recorder.sizes().vertices() as u32;
    recorder.dispatch_with(&GATHER_PULLS, 0..vertices, [edges.start, edges.end, 0, 0], renames);
}

/// Records `products` = A `searches` and the reduction of their dot product.
fn apply(recorder: &mut Recorder<'_>) {
    let sizes = recorder.sizes();
    recorder.dispatch_range(&GATHER_PULLS, 0..sizes.vertices() as u32, [0, sizes.edges() as u32, 0, 0]);
    recorder.dispatch(&APPLY_OPERATOR, Domain::EDGES);
    reduce::record(recorder, &reduce::SUM_PARTIALS, recorder.sizes().edges(), sums::CURVATURE);
}

fn linearize_body(run: &mut Run<'_>) -> Result<()> {
    let band = Band::of(run.one::<Frame>("frame")?);
    let edges = run.read::<Link>("edges")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let freedom = Freedom::of(run)?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let mut directions = run.write::<[f32; 4]>("directions")?;
    let mut residuals = run.write::<f32>("residuals")?;
    for e in run.range() {
        let (mut direction, mut residual) = ([0.0; 4], 0.0);
        if let Some((stretch, d)) = stretch_of(band, &edges[e], vertices, &freedom, |v| xyz(displacements[v])) {
            let Stretch { extent, wanted, w, .. } = stretch;
            if extent < COMPRESSED * wanted {
                let [x, y, z] = stretch.n.0;
                direction = [x, y, z, 1.0 / w];
                residual = extent - wanted;
            } else {
                let q = d / wanted;
                direction = [q.x, q.y, q.z, 1.0 / (w * q.dot(q))];
                residual = 0.5 * (extent - wanted) * (extent + wanted) / wanted;
            }
        }
        directions[e] = direction;
        residuals[e] = residual;
    }
    Ok(())
}

fn aim_projection_body(run: &mut Run<'_>) -> Result<()> {
    let live = run.one::<FastProjectionLive>("fast_projection")?;
    let mut totals = run.write::<[f32; 4]>("totals")?;
    totals[sums::PREVIOUS as usize][2] = live.tolerance * live.tolerance * totals[sums::RESIDUAL as usize][1];
    Ok(())
}

fn gather_pulls_body(run: &mut Run<'_>) -> Result<()> {
    let [from, to, ..] = run.arguments();
    let vertices = run.read::<Vertex>("vertices")?;
    let freedom = Freedom::of(run)?;
    let edge_incidence = run.read::<u32>("edge_incidence")?;
    let directions = run.read::<[f32; 4]>("directions")?;
    let searches = run.read::<f32>("searches")?;
    let mut pulls = run.write::<[f32; 4]>("pulls")?;
    for v in run.range() {
        let mut pull = Vec3::ZERO;
        for k in edge_incidence[v]..edge_incidence[v + 1] {
            let entry = edge_incidence[k as usize];
            let e = (entry / 2) as usize;
            if entry / 2 >= from && entry / 2 < to {
                pull += (if entry & 1 == 1 { 1.0 } else { -1.0 } * searches[e]) * xyz(directions[e]);
            }
        }
        pulls[v] = padded(freedom.apply_inverse_mass(v, vertices[v].inverse_mass, pull));
    }
    Ok(())
}

fn apply_operator_body(run: &mut Run<'_>) -> Result<()> {
    let edges = run.read::<Link>("edges")?;
    let directions = run.read::<[f32; 4]>("directions")?;
    let pulls = run.read::<[f32; 4]>("pulls")?;
    let searches = run.read::<f32>("searches")?;
    let mut products = run.write::<f32>("products")?;
    let mut partials = run.write::<[f32; 2]>("partials")?;
    for first in run.range().step_by(GROUP) {
        let mut lanes = [[0.0f32; 2]; GROUP];
        for e in first..run.range().end.min(first + GROUP) {
            let edge = edges[e];
            let product = xyz(directions[e]).dot(xyz(pulls[edge.head as usize]) - xyz(pulls[edge.tail as usize]));
            products[e] = product;
            lanes[e - first][0] = searches[e] * product;
        }
        partials[run.group(first)] = group_sum(&lanes);
    }
    Ok(())
}

fn settle_residual_body(run: &mut Run<'_>) -> Result<()> {
    let [first_family, ..] = run.arguments();
    let products = run.read::<f32>("products")?;
    let mut residuals = run.write::<f32>("residuals")?;
    for e in run.range() {
        residuals[e] = if e < first_family as usize { residuals[e] - products[e] } else { 0.0 };
    }
    Ok(())
}

fn apply_multipliers_body(run: &mut Run<'_>) -> Result<()> {
    let live = run.one::<FastProjectionLive>("fast_projection")?;
    let clock = run.one::<Clock>("clock")?;
    let edges = run.read::<Link>("edges")?;
    let edge_incidence = run.read::<u32>("edge_incidence")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let freedom = Freedom::of(run)?;
    let directions = run.read::<[f32; 4]>("directions")?;
    let solutions = run.read::<f32>("solutions")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    for v in run.range() {
        let inverse_mass = vertices[v].inverse_mass;
        let mut pull = Vec3::ZERO;
        let mut shortest = FAR;
        for k in edge_incidence[v]..edge_incidence[v + 1] {
            let entry = edge_incidence[k as usize];
            let e = (entry / 2) as usize;
            pull -= (if entry & 1 == 1 { 1.0 } else { -1.0 } * solutions[e]) * xyz(directions[e]);
            shortest = shortest.min(edges[e].rest);
        }
        if inverse_mass > 0.0 {
            let way = freedom.apply_inverse_mass(v, inverse_mass, pull);
            let extent = way.length();
            let most = live.step_clamp * shortest;
            let clamped = if extent > most { way * (most / extent) } else { way };
            displacements[v] = padded(xyz(displacements[v]) + clamped);
        }
        if freedom.bears(inverse_mass) {
            reactions[v] = padded(xyz(reactions[v]) + clock.force * freedom.borne(v, inverse_mass, pull));
        }
    }
    Ok(())
}
