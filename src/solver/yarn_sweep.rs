//! Yarn sweeps: project all yarns of one family exactly, then all of the next.
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
//! Newton's method on each yarn at the same time. The order of the families is the same in every sweep: a family that
//! was projected last has nothing left to do, and to project it again first (warp, weft, weft, warp …) wastes a quarter
//! of the sweeps.
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
//! # Windows around pins
//!
//! Where a pin stands alone, as in the corners of a hung sheet, one sweep brings all of the cloth within its limit but
//! for some eight vertices around the pin, where the directions of yarns change from edge to edge. Those are projected
//! by themselves, before the first sweep and after each ([`crate::mesh::windows`]). Sweeps per frame, in one second at
//! 60 Hz with a limit of 1 %, and the work of the windows in sweeps of the same cloth:
//!
//! | | 71 × 71 | 128 × 128 |
//! |---|---|---|
//! | `hang`, order alternating, no windows | 110 | 291 |
//! | `hang`, order fixed, no windows | 76 | |
//! | `hang`, order fixed, windows | 25 + 9 | 43 + 25 |
//! | `patch`, order alternating, no windows | 141 | 338 |
//! | `patch`, order fixed, no windows | 102 | |
//! | `patch`, order fixed, windows | 29 + 10 | 54 + 31 |
//!
//! # Cost
//!
//! One dispatch per family and sweep, and one for all windows. No reductions but those that measure the strain: after
//! every sweep where there are windows, else after the first and then every second. Substeps that are not the last of a
//! frame end at 1 % unless [`crate::Settings::middle_strain`] says otherwise.

use crate::engine::cpu::Run;
use crate::engine::fields::{Inputs, Spec};
use crate::engine::program::Kernel;
use crate::engine::source::Source;
use crate::error::Result;
use crate::solver::lawful_yarns::PROJECT_LAWFUL_YARN;
use crate::solver::line_solve::{self, YarnView, dispatch_family, kernel, yarns_of};
use crate::solver::yarn_projection::{self, YarnSweepLive};
use crate::solver::{Assignment, Solver, chords, stiff_yarns, windows};
use crate::stage::Recorder;
use crate::stage::parameter::{Parameter, Parameters, Table, Takes, Value, parameter};
use crate::stage::{Stage, control, strain};

static SOURCE: Source =
    Source::new("yarn_sweep", include_str!("../../shaders/yarn_sweep.wgsl")).shares(&[&yarn_projection::SOURCE]);

/// Projects one yarn: C = |d| − L of all its edges to 0 at once.
pub(crate) static PROJECT_YARN: Kernel = kernel("project_yarn", &SOURCE, project_yarn_body);

/// Parameters of the sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct YarnSweep {
    /// Sweeps at most in the last substep of a frame, which must hold the limit; rounded up to an odd number.
    pub sweeps: u32,
    /// Sweeps at most in the other substeps; rounded up to an odd number.
    pub middle_sweeps: u32,
    /// Largest motion of a vertex in one projection, as a part of the edge before or after it; may be slid live.
    pub step_clamp: f32,
    /// Part of the strain limit that a yarn between two pins may keep (see [`crate::solver::line_solve`]); may be slid
    /// live.
    pub slack: f32,
    /// Load s from which [taut chords](crate::solver::chords) are used where the number of substeps is bounded; may be
    /// slid live.
    pub chords_from: f32,
    /// Whether the [geometric stiffness](crate::solver::stiff_yarns) of taut yarns is part of the step, in meshes of
    /// one family of open yarns that nothing holds or touches: chains, ropes, curtains of strings. Others go without.
    pub geometric_stiffness: bool,
}

impl Default for YarnSweep {
    fn default() -> Self {
        Self {
            sweeps: 400,
            middle_sweeps: 8,
            step_clamp: 0.3,
            slack: 0.5,
            chords_from: 4.0,
            geometric_stiffness: false,
        }
    }
}

impl YarnSweep {
    /// Its name, as the program spells it.
    pub const NAME: &'static str = "yarn-sweep";
}

impl Stage for YarnSweep {
    fn fields(&self) -> Vec<Spec> {
        [yarn_projection::FIELDS, line_solve::FIELDS, windows::FIELDS, stiff_yarns::FIELDS].concat()
    }

    fn inputs(&self, inputs: &mut Inputs<'_>) -> Result<()> {
        let Self { step_clamp, slack, chords_from, .. } = *self;
        inputs.set("yarn_sweep", YarnSweepLive { step_clamp, slack, chords_from, padding: 0.0 })
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        if self.geometric_stiffness && stiff_yarns::fits(recorder) {
            self.record_stiff(recorder);
            return;
        }
        if recorder.about.moment.bounded && !recorder.sizes().lawful() {
            chords::record(recorder);
        }
        let sweeps = if recorder.about.moment.last_substep { self.sweeps } else { self.middle_sweeps };
        // The last family first: where rows are the first, the columns that hang from them come before. The same order
        // in every sweep: a family that was just projected has nothing left to do.
        let sweep = |recorder: &mut Recorder<'_>| {
            (0..recorder.families().len()).rev().for_each(|family| project_family(recorder, family));
            windows::record(recorder);
        };
        windows::record(recorder);
        if sweeps == 1 {
            recorder.repeat_always(1, |recorder| {
                sweep(recorder);
                strain::record(recorder, 1, 0);
            });
            return;
        }
        sweep(recorder);
        strain::measure(recorder);
        // Measuring costs half as much as a sweep: without windows, which leave little to the next one, from here on
        // every second time.
        let each = if recorder.windows().is_none() { 2 } else { 1 };
        control::repeat_strained(recorder, 1, (sweeps - 1).div_ceil(each), |recorder| {
            strain::keep(recorder);
            (0..each).for_each(|_| sweep(recorder));
            strain::measure(recorder);
            control::judge_strain(recorder, each, 0);
        });
    }
}

impl YarnSweep {
    /// The same for one family of yarns with their geometric stiffness, each solved as a whole.
    fn record_stiff(&self, recorder: &mut Recorder<'_>) {
        let sweeps = if recorder.about.moment.last_substep { self.sweeps } else { self.middle_sweeps };
        stiff_yarns::record(recorder, !recorder.about.moment.again);
        strain::measure(recorder);
        control::repeat_strained(recorder, 1, sweeps, |recorder| {
            strain::keep(recorder);
            stiff_yarns::record(recorder, false);
            strain::measure(recorder);
            control::judge_strain(recorder, 1, 0);
        });
    }
}

/// Words of an option.
const SWITCH: [&str; 2] = ["off", "on"];

impl Parameters for YarnSweep {
    const TABLE: &'static str = "yarn_sweep";
    const PARAMETERS: &'static [Parameter<Self>] = &[
        parameter!(sweeps: Count, |sweeps| sweeps > 0, "at least 1", "sweeps at most in the last substep of a frame"),
        parameter!(middle_sweeps: Count, |sweeps| sweeps > 0, "at least 1", "sweeps at most in the other substeps"),
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
        Parameter {
            name: "geometric_stiffness",
            takes: Takes::Word(&SWITCH),
            expected: "off or on",
            about: "whether taut yarns of one family resist being moved aside in the step itself",
            get: |solver| Value::Word(SWITCH[usize::from(solver.geometric_stiffness)]),
            set: |solver, value| {
                if let Value::Word(word) = value {
                    solver.geometric_stiffness = word == SWITCH[1];
                }
            },
            valid: |_| true,
        },
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
        0.01
    }

    fn load(&self) -> f32 {
        4.0
    }

    fn notes_tension(&self) -> bool {
        // With geometric stiffness the step knows the tension already.
        !self.geometric_stiffness
    }

    fn rarities(&self) -> &'static [Assignment] {
        &[("yarn_sweep.chords_from", "0")]
    }
}

/// Records the projection of one family of yarns, which share no vertex.
pub fn project_family(recorder: &mut Recorder<'_>, family: usize) {
    let kernel = if recorder.sizes().lawful() { &PROJECT_LAWFUL_YARN } else { &PROJECT_YARN };
    dispatch_family(recorder, kernel, family, [0, 0], &[]);
}

fn project_yarn_body(run: &mut Run<'_>) -> Result<()> {
    let yarns = yarns_of(run)?;
    yarn_projection::project(&YarnView::of(run)?, [yarns]);
    Ok(())
}
