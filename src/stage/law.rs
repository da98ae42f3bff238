//! Edges with a law of their own: how the tension of an edge follows from its length.
//!
//! | [`EdgeKind`] | law |
//! |---|---|
//! | `Inextensible` | \|d\| = l, or the end of the stretch band of the settings that is nearest |
//! | `Compliant` | T = k (\|d\| − l) |
//! | `Rope` | \|d\| ≤ l, T ≥ 0, and T = 0 where \|d\| < l |
//! | `Limited` | σ_min l ≤ \|d\| ≤ σ_max l; T = k (\|d\| − l) between the ends, more than that at the upper one, less at the lower |
//!
//! All of them are one: a spring of stiffness k between two ends. A rope has k = 0 and the ends 0 and 1, a compliant
//! edge no ends. Force over extension is a curve that never falls, so one multiplier per edge says where on it an edge
//! is.
//!
//! # Compliance
//!
//! The constraint φ = |d| − l with compliance C_c = 1/k is λ = −C_c⁻¹ φ, f = Jᵀλ (the lecture's signs: λ < 0 pulls),
//! and a step is the system (h² J M⁻¹Jᵀ + C_c) λ = −φ − h J v (Tournier et al. 2015, *Stable Constrained Dynamics*;
//! Servin et al. 2006), its Schur form, which `reference::CompliantStep` solves in f64 beside the whole one. With
//! λ = tension times τ², τ the length of the step, and α = 1/(k τ²) this is
//!
//! (J W Jᵀ + α) μ = C − α λ, λ += μ,
//!
//! for one edge μ = (C − α λ)/(w + α): the step of XPBD (Macklin, Müller & Chentanez 2016, eq. 18), whose λ starts at 0
//! in every substep and adds up over its iterations. What an edge is stretched by is therefore a matter of its
//! stiffness and its load, and not of the number of iterations nor of the length of the step. α = 0 is the projection
//! without compliance. Here it is written with the firmness κ = 1/α \[kg\], which may be 0.
//!
//! The solvers use it as follows:
//!
//! - **Gauss-Seidel and Jacobi** bring one edge onto its law: the pull of its spring, or, if that would leave it beyond
//!   an end, the pull that leaves it there.
//! - **Line solves and fast projection** ask each edge which part of its law it is on, with what it is pulled now, and
//!   take the row of that part: a hard one, or one with α on the diagonal and −αλ on the right. Which part it is, the
//!   next iteration asks again (semi-smooth Newton). The linear constraint |d| − l is taken, not the quadratic one.
//! - Without firmness the row would be μ = −λ, which is no row of a symmetric matrix; a compliance of 10⁷ w is as good.
//! - An edge that is at an end within 10⁻⁵ counts as beyond it: a rope at its full length is where rounding would
//!   decide.
//!
//! The damping of a backward step is all there is: a compliant edge swings down as fast as the step is long.
//!
//! # Strain, and when a solver ends
//!
//! A **compliant** edge carries load by stretching, and that is strain as of any edge: what the report says of it is
//! ||d|/l − 1|, and where that is over the limit, [`Report::converged`](crate::Report::converged) is false, however well
//! the law was solved. A limit below what a fabric is stretched by cannot be held, and is not; whoever wants a fabric
//! that gives way and then holds makes it `Limited`. Ropes and edges with ends have the strain that they are beyond
//! their ends. The stretch band of the settings is for edges without a law of their own.
//!
//! The **device** ends its loops by something else, because a solver that was asked for a strain that no iteration can
//! reach would never end: an edge at an end counts as it does in the report, and between its ends by how far its length
//! is from what its law asks for with the tension that it has, |w μ|/l, tenfold. So a spring is solved to a tenth of
//! the strain limit. [`Report::device_strain`](crate::Report::device_strain) is that of the last measurement.
//!
//! What [taut chords](crate::solver::chords), a [warm start](crate::solver::warm_start), accelerated sweeps and
//! [velocities along the constraints](crate::solver::tangent) know is that edges do not stretch; cloth with such edges
//! goes without them. Step clamps, which only violent steps meet, cut off motion and not
//! the multiplier, so that such a step is corrected by the next iteration.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | k | `stiffness` | N/m |
//! | σ_min, σ_max | `least`, `most` | 1 |
//! | λ τ² | `multiplier` | kg·m |
//! | κ = k τ² | `firmness` | kg |
//! | w = n·(W_tail + W_head) n | `w` | 1/kg |

use crate::engine::fields::{Domain, Fields, Spec};
use crate::engine::layout::element;
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::mesh::EdgeKind;
use crate::stage::fields;
use crate::stage::magnitude::{grain, mass};

/// The WGSL twin, for files that solve edges.
pub(crate) static SOURCE: Source = Source::new("law", include_str!("../../shaders/law.wgsl"))
    .constants(&[("SOFTEST", Constant::F32(SOFTEST)), ("MARGIN", Constant::F32(MARGIN))])
    .shares(&[&fields::SOURCE]);

/// κ w below which a spring counts as none in a linear system.
const SOFTEST: f32 = 1e-7;
/// Part of its rest length from an end within which an edge counts as beyond it in a linear system.
const MARGIN: f32 = 1e-5;
/// No length is so many times the rest length of an edge.
const UNLIMITED: f32 = 1e18;

element! {
    /// The law of an edge.
    pub struct EdgeLaw {
        /// k \[N/m\].
        pub(crate) stiffness: f32,
        /// σ_min.
        pub(crate) least: f32,
        /// σ_max; 0 for an edge without a law of its own.
        pub(crate) most: f32,
        /// Tension times τ², since the start of the substep \[kg·m\].
        pub(crate) multiplier: f32,
    }
}

/// Its fields.
pub(crate) const FIELDS: &[Spec] =
    &[Spec::of::<EdgeLaw>("edge_laws", Domain::LAWS, "laws of edges, and multipliers since the start of the substep")
        .floor(|f| Ok(grain(f)? * mass(f)?))];

impl EdgeLaw {
    /// That of a kind of edge, before anything pulled.
    pub(crate) fn of(kind: EdgeKind) -> Self {
        let [stiffness, least, most] = match kind {
            EdgeKind::Compliant { stiffness } => [stiffness, 0.0, UNLIMITED],
            EdgeKind::Rope => [0.0, 0.0, 1.0],
            EdgeKind::Limited { stiffness, min, max } => [stiffness, min, max],
            _ => [0.0; 3],
        };
        Self { stiffness, least, most, multiplier: 0.0 }
    }

    /// Whether an edge has a law of its own.
    pub(crate) fn is_own(&self) -> bool {
        self.most > 0.0
    }

    /// The length between its ends that is nearest \[m\].
    pub(crate) fn ended(&self, extent: f32, rest: f32) -> f32 {
        extent.max(self.least * rest).min(self.most * rest)
    }

    /// Firmness κ in a step of this length \[kg\].
    pub(crate) fn firmness(&self, span: f32) -> f32 {
        self.stiffness * (span * span)
    }

    /// What the spring alone asks for \[kg·m\].
    fn spring_pull(&self, span: f32, [extent, rest, w]: [f32; 3]) -> f32 {
        let firmness = self.firmness(span);
        (firmness * (extent - rest) - self.multiplier) / (firmness * w + 1.0)
    }

    /// Where its spring would leave an edge: 1 beyond its upper end, −1 beyond its lower one, 0 between them.
    pub(crate) fn side(&self, span: f32, edge @ [extent, rest, w]: [f32; 3], margin: f32) -> f32 {
        let left = extent - w * self.spring_pull(span, edge);
        if left > (self.most - margin) * rest {
            1.0
        } else if left < (self.least + margin) * rest {
            -1.0
        } else {
            0.0
        }
    }

    /// The pull that brings an edge of this length, rest length and w onto its law \[kg·m\].
    pub(crate) fn pull(&self, span: f32, edge @ [extent, rest, w]: [f32; 3]) -> f32 {
        let side = self.side(span, edge, 0.0);
        if side == 0.0 {
            return self.spring_pull(span, edge);
        }
        (extent - if side > 0.0 { self.most } else { self.least } * rest) / w
    }

    /// How far an edge is from its law, as a part of its rest length: between its ends `times` what its own projection
    /// would change about its length.
    pub(crate) fn unsolved(&self, span: f32, edge @ [_, rest, w]: [f32; 3], times: f32) -> f32 {
        let weight = if self.side(span, edge, 0.0) == 0.0 { times } else { 1.0 };
        weight * (w * self.pull(span, edge)).abs() / rest
    }

    /// A row of a linear system of edges: what is to be 0 \[m\], and what is added to its diagonal \[1/kg\].
    pub(crate) fn row(&self, span: f32, edge @ [extent, rest, w]: [f32; 3], slack: f32) -> [f32; 2] {
        let side = self.side(span, edge, MARGIN);
        if side > 0.0 {
            return [extent - (self.most + slack.max(0.0)) * rest, 0.0];
        }
        if side < 0.0 {
            return [extent - self.least * rest, 0.0];
        }
        let firmness = self.firmness(span);
        let compliance = 1.0 / firmness.max(SOFTEST / w);
        [(firmness * compliance) * (extent - rest) - compliance * self.multiplier, compliance]
    }
}

/// Fills the field, edge by edge in the order of `canonical`.
///
/// # Errors
/// [`Error::Field`](crate::error::Error::Field) if there is none of its name.
pub(crate) fn fill(kinds: &[EdgeKind], canonical: &[u32], fields: &mut Fields) -> Result<()> {
    for (law, edge) in fields.get_mut::<EdgeLaw>("edge_laws")?.iter_mut().zip(canonical) {
        *law = EdgeLaw::of(kinds[*edge as usize]);
    }
    Ok(())
}
