//! The solver that chooses: what one should use without a reason to use another.
//!
//! Where the mesh is woven (at most four families of yarns, of at least four edges on average), it sweeps yarns
//! ([`crate::solver::yarn_sweep`]), with taut chords where the caller bounds the substeps and the metered load is
//! large. Sweeps converge by σ² each, σ the cosine between the force spaces of warp and weft; in fine cloth (yarns of
//! more than 256 edges) that is strongly sheared or folded σ is near 1 and sweeps crawl. So there, after a bounded
//! number of sweeps that did not reach the limit, the last substep of a frame goes on with fast projection, whose
//! line-preconditioned conjugate gradients ([`crate::solver::fast_projection`]) do not mind. Elsewhere (short pieces of
//! yarn) it is fast projection from the start; so it is where more than half of the edges are in triangles that lock:
//! sweeps along their paths are the cheaper way where a row of pins holds the cloth, but miss the limit where two
//! corners do, in 4 frames of 12 at 64 × 64 and 1 %, at 340 sweeps per frame.
//!
//! The choice depends on the mesh, on the settings and on strain and load that the device measured, never on timing:
//! the same input takes the same way.

use crate::engine::fields::{Inputs, Spec};
use crate::error::Result;
use crate::solver::{Assignment, FastProjection, Solver, YarnSweep};
use crate::stage::Recorder;
use crate::stage::parameter::Table;
use crate::stage::{Stage, control, strain};

/// Parameters of both solvers.
#[derive(Clone, Debug, PartialEq)]
pub struct Auto {
    /// The sweeps.
    pub sweep: YarnSweep,
    /// What follows where they do not suffice, or takes their place.
    pub projection: FastProjection,
}

impl Default for Auto {
    fn default() -> Self {
        Self { sweep: YarnSweep { sweeps: 201, ..Default::default() }, projection: FastProjection::default() }
    }
}

/// Edges of a yarn from which sweeps may crawl.
const LONG: u32 = 256;

impl Auto {
    /// Its name, as the program spells it.
    pub const NAME: &'static str = "auto";
}

impl Stage for Auto {
    fn fields(&self) -> Vec<Spec> {
        [self.sweep.fields(), self.projection.fields()].concat()
    }

    fn inputs(&self, inputs: &mut Inputs<'_>) -> Result<()> {
        self.sweep.inputs(inputs)?;
        self.projection.inputs(inputs)
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        let locked = 2 * recorder.locked() as usize > recorder.sizes().edges();
        if locked || !recorder.is_woven() {
            self.projection.record(recorder);
            return;
        }
        self.sweep.record(recorder);
        if recorder.about.moment.last_substep && recorder.longest_yarn() > LONG {
            control::repeat_strained(recorder, 0, 1, |recorder| {
                strain::keep(recorder);
                self.projection.record(recorder);
            });
        }
    }
}

impl Solver for Auto {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![&self.sweep, &self.projection]
    }

    fn tables_mut(&mut self) -> Vec<&mut dyn Table> {
        vec![&mut self.sweep, &mut self.projection]
    }

    fn middle_strain(&self) -> f32 {
        self.sweep.middle_strain()
    }

    fn load(&self) -> f32 {
        self.sweep.load()
    }

    fn notes_tension(&self) -> bool {
        self.sweep.notes_tension()
    }

    fn rarities(&self) -> &'static [Assignment] {
        // A single sweep is recorded in a way of its own.
        &[("yarn_sweep.chords_from", "0"), ("yarn_sweep.sweeps", "1"), ("fast_projection.iterations", "1")]
    }
}
