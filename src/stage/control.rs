//! One-thread kernels that open and close loops, frames and substeps.
//!
//! They alone write guards. They decide by comparing stored values and never by values they compute, so that two
//! backends that agree on the values agree on the decision.

use crate::cpu::Run;
use crate::error::Result;
use crate::params::{Clock, Frame, Meters, sums};
use crate::program::{Kernel, Recorder, Shape};

const WGSL: &str = include_str!("../../shaders/control.wgsl");

const fn kernel(name: &'static str, body: crate::program::Body) -> Kernel {
    Kernel::new(name, WGSL, body).shape(Shape::Group).aliases(&[("decisions", "guards"), ("times", "clock")])
}

/// Starts a frame: meters at zero, the outermost guard on.
pub static BEGIN_FRAME: Kernel = kernel("begin_frame", begin_frame_body);
/// Starts a loop: it runs if the loop around it does.
pub static OPEN_LOOP: Kernel = kernel("open_loop", open_loop_body);
/// Starts a substep, or ends the frame after the last one or after a fault.
pub static BEGIN_SUBSTEP: Kernel = kernel("begin_substep", begin_substep_body);
/// Notes the strain after an iteration and ends the loop where it is within the limit.
pub static DECIDE_STRAIN: Kernel = kernel("decide_strain", decide_strain_body);
/// Adds a finished substep to the frame's account.
pub static END_SUBSTEP: Kernel = kernel("end_substep", end_substep_body);

/// Records the start of a frame.
pub fn begin_frame(recorder: &mut Recorder<'_>) {
    recorder.dispatch_range(&BEGIN_FRAME, 0..1, [0; 4]);
}

/// Records the start of a substep; must be the first line of the loop over substeps.
pub fn begin_substep(recorder: &mut Recorder<'_>) {
    recorder.dispatch_range(&BEGIN_SUBSTEP, 0..1, [0; 4]);
}

/// Records the decision of a projection loop after `iterations` more iterations; `inner` is the guard word of a loop
/// inside that should have ended before its bound, or 0.
pub fn decide_strain(recorder: &mut Recorder<'_>, iterations: u32, inner: u32) {
    recorder.dispatch_range(&DECIDE_STRAIN, 0..1, [iterations, inner, 0, 0]);
}

/// Records the end of a substep.
pub fn end_substep(recorder: &mut Recorder<'_>) {
    recorder.dispatch_range(&END_SUBSTEP, 0..1, [0; 4]);
}

fn begin_frame_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    run.write::<u32>("decisions")?[0] = 1;
    run.write::<Clock>("times")?[0] =
        Clock { h: frame.dt / frame.substeps as f32, substep: 0, substeps: frame.substeps, padding: 0 };
    run.write::<Meters>("meters")?[0] = Meters::default();
    run.write::<u32>("faults")?[0] = 0;
    Ok(())
}

fn open_loop_body(run: &mut Run<'_>) -> Result<()> {
    let [own, parent, ..] = run.arguments();
    let mut decisions = run.write::<u32>("decisions")?;
    decisions[own as usize] = decisions[parent as usize];
    Ok(())
}

fn begin_substep_body(run: &mut Run<'_>) -> Result<()> {
    let guard = run.guard();
    let faults = run.read::<u32>("faults")?;
    let mut decisions = run.write::<u32>("decisions")?;
    let mut times = run.write::<Clock>("times")?;
    if decisions[guard] == 0 {
        return Ok(());
    }
    let next = times[0].substep + 1;
    if next > times[0].substeps || faults[0] != 0 {
        decisions[guard] = 0;
        return Ok(());
    }
    times[0].substep = next;
    Ok(())
}

fn decide_strain_body(run: &mut Run<'_>) -> Result<()> {
    let guard = run.guard();
    let [iterations, inner, ..] = run.arguments();
    let frame = run.one::<Frame>("frame")?;
    let scalars = run.read::<[f32; 4]>("sums")?;
    let strain = scalars[sums::STRAIN as usize][0];
    let unsolved = scalars[sums::RESIDUAL as usize][1] > scalars[sums::PREVIOUS as usize][2];
    let mut decisions = run.write::<u32>("decisions")?;
    let mut meters = run.write::<Meters>("meters")?;
    if decisions[guard] == 0 {
        return Ok(());
    }
    meters[0].strain = strain;
    meters[0].iterations += iterations;
    if inner != 0 && decisions[inner as usize] != 0 && unsolved {
        meters[0].exhausted += 1;
    }
    if strain <= frame.strain_limit {
        decisions[guard] = 0;
    }
    Ok(())
}

fn end_substep_body(run: &mut Run<'_>) -> Result<()> {
    let guard = run.guard();
    let frame = run.one::<Frame>("frame")?;
    let decisions = run.read::<u32>("decisions")?;
    let faults = run.read::<u32>("faults")?;
    let mut meters = run.write::<Meters>("meters")?;
    if decisions[guard] == 0 || faults[0] != 0 {
        return Ok(());
    }
    meters[0].substeps += 1;
    meters[0].worst_strain = meters[0].worst_strain.max(meters[0].strain);
    if meters[0].strain > frame.strain_limit {
        meters[0].missed += 1;
    }
    Ok(())
}
