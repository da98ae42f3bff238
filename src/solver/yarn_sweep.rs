//! Yarn sweeps: project all yarns of one family exactly, then all of the next; the order alternates.
//!
//! This page derives why that works, for everything in this crate that solves along yarns.
//!
//! # Cloth is a bundle of strings
//!
//! Eq. (7) of Goldenthal et al. (2007) is A μ = C with A = J W Jᵀ, one row per inextensible edge (μ = h²δλ, so h drops
//! out). Row e = (a, b) of J holds −n_e at vertex a and +n_e at b, n_e the edge's direction, and W the inverse masses. So
//! A_ee = w_a + w_b, and two edges are coupled only where they share a vertex v:
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
//! curvature. Its smallest eigenvalue is w (π/2m)² for a yarn of m edges that hangs from one pin: a condition of about m², which
//! is why conjugate gradients need m iterations and Gauss-Seidel m² sweeps. *Across* yarns the coupling is only shear,
//! and in unsheared cloth it vanishes: warp and weft do not know of each other.
//!
//! So A is not the Laplacian of a surface, for which multigrid was made: there is nothing between neighboring yarns to
//! smooth. It is a bundle of one-dimensional strings, A_uu and A_vv both block diagonal, yarn by yarn, each block
//! tridiagonal, and a tridiagonal system is solved exactly by one pass there and one pass back ([`crate::solver::lines`]).
//! The dependence on n is gone with that, whatever the resolution.
//!
//! # What is left: shear
//!
//! Projecting the warp exactly and then the weft exactly is block Gauss-Seidel with two blocks. One sweep multiplies the
//! error by A_uu⁻¹ A_uv A_vv⁻¹ A_vu, whose largest eigenvalue is σ², σ the cosine of the angle between the spaces of
//! motions that warp forces and weft forces can make. σ² was 0.2–0.5 in ordinary motion, 0.8 in a draped sheet of 128 × 128,
//! and comes near 1 only where quads are sheared flat. Each projection re-linearizes, so the sweep is Newton's method on
//! each yarn at the same time. The order alternates (warp, weft, weft, warp …), which spreads what is left evenly.
//!
//! Where σ is near 1, sweeps crawl and conjugate gradients take over: eliminating the weft multipliers leaves the Schur
//! complement A_uu − A_uv A_vv⁻¹ A_vu, which A_uu⁻¹ turns into 1 − (the operator above), with a condition of 1/(1 − σ²).
//! [`crate::solver::fast_projection`] does that; both inner solves are line solves again.
//!
//! # What projection does not see: tension
//!
//! Fast projection drops λ ∂²C/∂x², the geometric stiffness T/l of taut yarns against sideways motion. Compared with the
//! inertia m/h² it is the load s = h²T/(m l) ([`crate::stage::load`]). Below 1 nothing is noticed; a yarn at s = 20 is straightened
//! edge by edge where it should swing as a whole, and Newton's method fails. Two cures: more substeps (s falls with h²;
//! [`crate::substeps`] chooses them), and [taut chords](crate::solver::chords), which place long parts of a yarn before
//! short ones.
//!
//! A third trouble is a yarn between two pins that is as long as their distance: at its solution it is straight, its
//! matrix is singular, and there is no tension that holds it. The limit allows it to be a little longer; it keeps its mean
//! strain up to half of the limit ([`crate::solver::lines`]).
//!
//! # Cost
//!
//! One dispatch per family and sweep, no reductions but those that measure the strain: after the first sweep, then after
//! every second. Substeps that are not the last of a frame end at `middle_strain`.

use crate::error::Result;
use crate::program::Recorder;
use crate::solver::{Solver, chords, lines, within};
use crate::stage::{control, strain};

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
    /// Part of the strain limit that a yarn between two pins may keep (see [`crate::solver::lines`]); may be slid live.
    pub slack: f32,
    /// Load s from which [taut chords](crate::solver::chords) are used where the number of substeps is bounded; may be slid
    /// live.
    pub chords_from: f32,
}

impl Default for YarnSweep {
    fn default() -> Self {
        Self { sweeps: 400, middle_sweeps: 8, middle_strain: 0.01, step_clamp: 0.3, slack: 0.5, chords_from: 4.0 }
    }
}

impl Solver for YarnSweep {
    fn name(&self) -> &'static str {
        "yarn-sweep"
    }

    fn validate(&self) -> Result<()> {
        within("sweeps", self.sweeps.into(), self.sweeps > 0, "at least 1")?;
        within("middle_sweeps", self.middle_sweeps.into(), self.middle_sweeps > 0, "at least 1")?;
        let middle = self.middle_strain;
        within("middle_strain", middle.into(), (0.0..=1.0).contains(&middle), "in [0, 1]")?;
        let (clamp, slack, chords_from) = (self.step_clamp, self.slack, self.chords_from);
        within("step_clamp", clamp.into(), clamp > 0.0 && clamp <= 10.0, "in (0, 10]")?;
        within("slack", slack.into(), (0.0..=0.9).contains(&slack), "in [0, 0.9]")?;
        within("chords_from", chords_from.into(), chords_from >= 0.0, "at least 0")
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        if recorder.overloaded() {
            chords::record(recorder);
        }
        let families = recorder.families().len();
        let sweep = |recorder: &mut Recorder<'_>, backwards: bool| {
            for number in 0..families {
                lines::project_family(recorder, if backwards { families - 1 - number } else { number });
            }
        };
        let sweeps = if recorder.last_substep() { self.sweeps } else { self.middle_sweeps };
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

    fn middle_strain(&self) -> f32 {
        self.middle_strain
    }

    fn load(&self) -> f32 {
        4.0
    }

    fn live(&self) -> [f32; 4] {
        [self.step_clamp, self.slack, self.chords_from, 0.0]
    }
}
