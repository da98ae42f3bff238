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
use crate::solver::{Solver, chords, lines, within};
use crate::stage::strain;

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
    /// Load s from which [taut chords](crate::solver::chords) are used; may be slid live.
    pub chords_from: f32,
}

impl Default for YarnSweep {
    fn default() -> Self {
        Self { sweeps: 400, middle_sweeps: 8, middle_strain: 0.02, step_clamp: 0.3, slack: 0.5, chords_from: 4.0 }
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
        chords::record(recorder);
        let families = recorder.families().len();
        let sweep = |recorder: &mut Recorder<'_>, backwards: bool| {
            for number in 0..families {
                lines::project_family(recorder, if backwards { families - 1 - number } else { number });
            }
        };
        let sweeps = if recorder.last_substep() { self.sweeps } else { self.middle_sweeps };
        recorder.repeat_always(1, |recorder| {
            // The last family first: where rows are the first, the columns that hang from them come before.
            sweep(recorder, true);
            strain::record(recorder, 1, 0);
            // Measuring costs about as much as a sweep: from here on every second time.
            recorder.repeat((sweeps - 1).div_ceil(2), |recorder| {
                sweep(recorder, false);
                sweep(recorder, true);
                strain::record(recorder, 2, 0);
            });
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
