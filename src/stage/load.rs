//! The load meter: how hard a step is, told by the tension of the edges.
//!
//! s = max_e h² T_e/(m̄ l_e) is the ratio of an edge's geometric stiffness T/l to the inertia m̄/h² of a vertex. Fast
//! projection drops the geometric stiffness, so s decides how many iterations it needs: one or two below 0.5, three to
//! five at 1–3, and above 20 it fails whatever solves its linear systems. Yarn solves with taut chords go further. A
//! curtain at rest has s = g h² n (n − 1)/L.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | T_e, mean over the frame, pulling positive | `tensions` | N |
//! | m̄ | `frame.mean_mass` | kg |
//! | T/(m̄ l), largest of a workgroup | `strain_partials` | 1/s² |
//!
//! Every solver adds what it pulls to `tensions`. What a step clamp cut off, and what iterations pulled that were taken
//! back, is in it too, so the load is overestimated in a frame that misses its limit. At the end of a frame the device
//! notes the load, and the next frame's number of substeps follows from it ([`crate::cloth::substeps`]); nothing is
//! read back.

use crate::engine::cpu::Run;
use crate::engine::fields::Domain;
use crate::engine::layout::GROUP;
use crate::engine::program::Kernel;
use crate::engine::source::Source;
use crate::error::Result;
use crate::mesh::Link;
use crate::stage::Recorder;
use crate::stage::fields;
use crate::stage::fields::{Clock, Frame};
use crate::stage::{Stage, control};
use crate::vector::xyz;

static SOURCE: Source = Source::new("load", include_str!("../../shaders/load.wgsl")).shares(&[&fields::SOURCE]);

/// Tension 0 at the start of a frame.
pub(crate) static FORGET_TENSION: Kernel = Kernel::new("forget_tension", &SOURCE, forget_tension_body);
/// Adds the multiplier of a linear solve.
pub(crate) static NOTE_TENSION: Kernel = Kernel::new("note_tension", &SOURCE, note_tension_body);
/// Load of every edge, largest per workgroup.
pub(crate) static MEASURE_LOAD: Kernel =
    Kernel::new("measure_load", &SOURCE, measure_load_body).aliases(&[("partials", "strain_partials")]);

/// The start of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForgetTension;

impl Stage for ForgetTension {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&FORGET_TENSION, Domain::EDGES);
    }
}

/// Records the tension that `solutions` along `directions` mean.
pub fn note(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&NOTE_TENSION, Domain::EDGES);
}

/// The meter at the end of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter;

impl Stage for Meter {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&MEASURE_LOAD, Domain::EDGES);
        let leaves = recorder.sizes().edges().div_ceil(GROUP) as u32;
        recorder.dispatch_range(&control::NOTE_LOAD, 0..leaves, [0; 4]);
    }
}

fn forget_tension_body(run: &mut Run<'_>) -> Result<()> {
    let mut tensions = run.write::<f32>("tensions")?;
    for e in run.range() {
        tensions[e] = 0.0;
    }
    Ok(())
}

fn note_tension_body(run: &mut Run<'_>) -> Result<()> {
    let clock = run.one::<Clock>("clock")?;
    let directions = run.read::<[f32; 4]>("directions")?;
    let solutions = run.read::<f32>("solutions")?;
    let mut tensions = run.write::<f32>("tensions")?;
    for e in run.range() {
        tensions[e] += (solutions[e] * clock.force) * xyz(directions[e]).length();
    }
    Ok(())
}

fn measure_load_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    let edges = run.read::<Link>("edges")?;
    let tensions = run.read::<f32>("tensions")?;
    let mut partials = run.write::<[f32; 2]>("partials")?;
    for first in run.range().step_by(GROUP) {
        let mut most = 0.0f32;
        for e in first..run.range().end.min(first + GROUP) {
            most = most.max(tensions[e] / (frame.mean_mass * edges[e].rest));
        }
        partials[run.group(first)] = [most, 0.0];
    }
    Ok(())
}
