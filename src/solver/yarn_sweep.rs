//! Yarn sweeps: project all yarns of one family exactly, then all of the next; the order alternates.
//!
//! With C = |d| − l and n = d/|d| the system of one yarn is tridiagonal and solved exactly ([`crate::solver::lines`]).
//! What is left after all families have been projected is their coupling through shear, which shrinks by σ² per sweep (σ
//! the cosine between the warp's and the weft's force spaces, 0.2–0.5 in ordinary cloth): the number of sweeps hardly
//! grows with the resolution.
//!
//! Cost per sweep: one dispatch per family, no reductions. Prefer it wherever the mesh has yarns.

use crate::error::Result;
use crate::program::Recorder;
use crate::solver::{Solver, lines, within};
use crate::stage::strain;

/// Parameters of the sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct YarnSweep {
    /// Sweeps per substep at most.
    pub sweeps: u32,
    /// Largest motion of a vertex in one projection, as a part of the edge before or after it; may be slid live.
    pub step_clamp: f32,
}

impl Default for YarnSweep {
    fn default() -> Self {
        Self { sweeps: 200, step_clamp: 0.3 }
    }
}

impl Solver for YarnSweep {
    fn name(&self) -> &'static str {
        "yarn-sweep"
    }

    fn validate(&self) -> Result<()> {
        within("sweeps", self.sweeps.into(), self.sweeps > 0, "at least 1")?;
        let clamp = self.step_clamp;
        within("step_clamp", clamp.into(), clamp > 0.0 && clamp <= 10.0, "in (0, 10]")
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        let families = recorder.families().len();
        let sweep = |recorder: &mut Recorder<'_>, backwards: bool| {
            for number in 0..families {
                lines::project_family(recorder, if backwards { families - 1 - number } else { number });
            }
            strain::record(recorder, 1, 0);
        };
        // Two sweeps per round of the loop, in opposite orders; a loop that ends in between skips the second.
        if self.sweeps == 1 {
            recorder.repeat(1, |recorder| sweep(recorder, false));
        } else {
            recorder.repeat(self.sweeps / 2, |recorder| {
                sweep(recorder, false);
                sweep(recorder, true);
            });
        }
    }

    fn live(&self) -> [f32; 4] {
        [self.step_clamp, 0.0, 0.0, 0.0]
    }
}
