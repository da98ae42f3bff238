//! One-thread kernels that open and close loops, frames and substeps.
//!
//! They write guards, and beside them only the end of a linear solve does. They decide by comparing stored values, or
//! products of them, which round alike, so that two backends that agree on the values agree on the decision.

use crate::engine::cpu::Run;
use crate::engine::layout::GROUP;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::Stage;
use crate::stage::fields;
use crate::stage::fields::{CONTACT_CHANGED, Clock, Frame, Meters, REJECTED_FRAMES, UNMEASURED, sums};

static SOURCE: Source = Source::new("control", include_str!("../../shaders/control.wgsl"))
    .constants(&[
        ("MOST_SUBSTEPS", Constant::U32(MOST_SUBSTEPS)),
        ("HIGHEST_LOAD", Constant::F32(HIGHEST_LOAD)),
        ("GROWING", Constant::F32(GROWING)),
        ("MISSES", Constant::U32(MISSES)),
    ])
    .shares(&[&fields::SOURCE]);

/// More substeps than this in a frame are an error of the caller's.
pub(crate) const MOST_SUBSTEPS: u32 = 1_000_000;
/// No load above this is told apart \[1/s²\]: its root is the most substeps that there are.
const HIGHEST_LOAD: f32 = 1e12;
/// What the next frame is prepared for, as a multiple of this frame's load: a load that grows is met in time.
const GROWING: f32 = 1.5;
/// One substep in so many may miss the limit before the mesh counts as finer in places than the load tells.
const MISSES: u32 = 8;

const fn kernel(name: &'static str, body: crate::engine::program::Body) -> Kernel {
    Kernel::new(name, &SOURCE, body).pattern(Pattern::Group).aliases(&[
        ("decisions", "guards"),
        ("times", "clock"),
        ("partials", "strain_partials"),
        ("totals", "sums"),
    ])
}

/// Starts a frame: meters at zero, the outermost guard on.
pub(crate) static BEGIN_FRAME: Kernel = kernel("begin_frame", begin_frame_body);
/// Starts a substep, or ends the frame after the last one or after a fault.
pub(crate) static BEGIN_SUBSTEP: Kernel = kernel("begin_substep", begin_substep_body);
/// Notes the measured strain after an iteration and ends the loop where it is within the limit.
pub(crate) static JUDGE_STRAIN: Kernel = kernel("judge_strain", judge_strain_body);
/// Adds a finished substep to the frame's account.
pub(crate) static END_SUBSTEP: Kernel = kernel("end_substep", end_substep_body);
/// Notes that the best state was taken.
pub(crate) static NOTE_BEST: Kernel = kernel("note_best", note_best_body);
/// Notes the load of a frame.
pub(crate) static NOTE_LOAD: Kernel = kernel("note_load", note_load_body);

/// The start of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BeginFrame;

impl Stage for BeginFrame {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch_range(&BEGIN_FRAME, 0..1, [0; 4]);
    }
}

/// The start of a substep; must be the first line of a loop over substeps, which leaves the last of them for another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BeginSubstep;

impl Stage for BeginSubstep {
    fn record(&self, recorder: &mut Recorder<'_>) {
        let left = u32::from(!recorder.about.moment.last_substep);
        recorder.dispatch_range(&BEGIN_SUBSTEP, 0..1, [left, 0, 0, 0]);
    }
}

/// Records the decision of a projection loop by the last measured strain, after `iterations` more iterations; `inner`
/// is the guard word of a loop inside that should have ended before its bound, or 0.
pub fn judge_strain(recorder: &mut Recorder<'_>, iterations: u32, inner: u32) {
    judge(recorder, [iterations, inner, 0, 0]);
}

/// Records a loop of at most `at_most` iterations that runs where the last measured strain is not within the limit,
/// after `iterations` more iterations.
pub fn repeat_strained(
    recorder: &mut Recorder<'_>,
    iterations: u32,
    at_most: u32,
    body: impl FnOnce(&mut Recorder<'_>),
) {
    recorder.repeat_opened(at_most, |recorder, own| judge(recorder, [iterations, 0, own, 0]), body);
}

fn judge(recorder: &mut Recorder<'_>, [iterations, inner, opened, _]: [u32; 4]) {
    let arguments = [iterations, inner, opened, recorder.about.moment.colliding.into()];
    let leaves = recorder.sizes().edges().div_ceil(GROUP) as u32;
    recorder.dispatch_range(&JUDGE_STRAIN, 0..leaves, arguments);
}

/// The end of a substep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndSubstep;

impl Stage for EndSubstep {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch_range(&END_SUBSTEP, 0..1, [0; 4]);
    }
}

fn begin_frame_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    run.write::<u32>("decisions")?[0] = 1;
    let mut times = run.write::<Clock>("times")?;
    let load = times[0].load.max(frame.expected_load) * frame.load_scale;
    let wanted = substeps_for(load, frame.least_substeps, MOST_SUBSTEPS);
    let count = substeps_for(load * frame.load_margin, frame.least_substeps, frame.most_substeps);
    times[0].h = frame.dt / count as f32;
    times[0].substep = 0;
    times[0].substeps = count;
    if frame.relocated != 0 || frame.commanded > 1 {
        times[0].previous = 0.0;
    }
    run.write::<Meters>("meters")?[0] = Meters { planned: count, wanted, best: UNMEASURED, ..Default::default() };
    run.write::<u32>("faults")?[0] = 0;
    Ok(())
}

/// Smallest k within bounds with k² ≥ wanted.
fn substeps_for(wanted: f32, least: u32, most: u32) -> u32 {
    let square = |count: u32| count as f32 * count as f32;
    let mut count = (wanted.min(HIGHEST_LOAD).sqrt() as u32).clamp(least, most);
    while count > least && square(count - 1) >= wanted {
        count -= 1;
    }
    while count < most && square(count) < wanted {
        count += 1;
    }
    count
}

fn begin_substep_body(run: &mut Run<'_>) -> Result<()> {
    let guard = run.guard();
    let [left, ..] = run.arguments();
    let frame = run.one::<Frame>("frame")?;
    let mut faults = run.write::<u32>("faults")?;
    let mut decisions = run.write::<u32>("decisions")?;
    let mut times = run.write::<Clock>("times")?;
    if decisions[guard] == 0 {
        return Ok(());
    }
    faults[CONTACT_CHANGED as usize] = 0;
    let next = times[0].substep + 1;
    if next + left > times[0].substeps || faults[0] != 0 {
        decisions[guard] = 0;
        return Ok(());
    }
    let h = times[0].h;
    times[0].substep = next;
    times[0].span = h;
    times[0].recall = 0.0;
    if frame.second_order != 0 && times[0].previous > 0.0 {
        let r = h / times[0].previous;
        times[0].recall = r * r / (1.0 + 2.0 * r);
        times[0].span = h * (1.0 + r) / (1.0 + 2.0 * r);
    }
    times[0].force = h / (times[0].span * times[0].span * frame.dt);
    Ok(())
}

fn judge_strain_body(run: &mut Run<'_>) -> Result<()> {
    let guard = run.guard();
    let [iterations, inner, opened, passing] = run.arguments();
    let judged = if opened == 0 { guard } else { opened as usize };
    let frame = run.one::<Frame>("frame")?;
    let partials = run.read::<[f32; 2]>("partials")?;
    let times = run.read::<Clock>("times")?;
    let mut decisions = run.write::<u32>("decisions")?;
    let mut totals = run.write::<[f32; 4]>("totals")?;
    let mut meters = run.write::<Meters>("meters")?;
    let strain = partials[run.range()].iter().fold(0.0f32, |most, partial| most.max(partial[0]));
    decisions[judged] = decisions[guard];
    if decisions[guard] == 0 {
        return Ok(());
    }
    totals[sums::STRAIN as usize] = [strain, 0.0, 0.0, 0.0];
    meters[0].strain = strain;
    if passing == 1 {
        meters[0].before_contact = strain;
    } else if times[0].substep == times[0].substeps {
        meters[0].best = meters[0].best.min(strain);
    }
    meters[0].iterations += iterations;
    let unsolved = totals[sums::RESIDUAL as usize][1] > totals[sums::PREVIOUS as usize][2];
    if inner != 0 && decisions[inner as usize] != 0 && unsolved {
        meters[0].exhausted += 1;
    }
    if strain <= accepted(frame, &times[0]) {
        decisions[judged] = 0;
    }
    Ok(())
}

/// Strain at which this substep is good enough: the limit is promised for the end of a frame.
fn accepted(frame: &Frame, clock: &Clock) -> f32 {
    if clock.substep == clock.substeps { frame.strain_limit } else { frame.middle_limit }
}

fn end_substep_body(run: &mut Run<'_>) -> Result<()> {
    let guard = run.guard();
    let frame = run.one::<Frame>("frame")?;
    let decisions = run.read::<u32>("decisions")?;
    let mut faults = run.write::<u32>("faults")?;
    let mut times = run.write::<Clock>("times")?;
    let mut meters = run.write::<Meters>("meters")?;
    if decisions[guard] == 0 {
        return Ok(());
    }
    if faults[0] != 0 {
        // Once per frame: no substep follows.
        faults[REJECTED_FRAMES as usize] += 1;
        times[0].previous = 0.0;
        return Ok(());
    }
    times[0].previous = times[0].h;
    meters[0].substeps += 1;
    meters[0].worst_strain = meters[0].worst_strain.max(meters[0].strain);
    if meters[0].strain > accepted(frame, &times[0]) {
        meters[0].missed += 1;
        times[0].previous = 0.0;
    }
    if faults[CONTACT_CHANGED as usize] != 0 {
        times[0].previous = 0.0;
    }
    Ok(())
}

fn note_best_body(run: &mut Run<'_>) -> Result<()> {
    let guard = run.guard();
    let frame = run.one::<Frame>("frame")?;
    let decisions = run.read::<u32>("decisions")?;
    let mut meters = run.write::<Meters>("meters")?;
    if decisions[guard] != 0 && meters[0].strain > frame.strain_limit {
        meters[0].strain = meters[0].strain.min(meters[0].best);
    }
    Ok(())
}

fn note_load_body(run: &mut Run<'_>) -> Result<()> {
    if run.read::<u32>("decisions")?[run.guard()] == 0 {
        return Ok(());
    }
    if run.read::<u32>("faults")?[0] != 0 {
        return Ok(());
    }
    let frame = run.one::<Frame>("frame")?;
    let load = run.read::<[f32; 4]>("sums")?[sums::LOAD as usize][0].min(HIGHEST_LOAD);
    let mut times = run.write::<Clock>("times")?;
    let mut meters = run.write::<Meters>("meters")?;
    meters[0].load = load * times[0].h * times[0].h;
    times[0].load = (GROWING * load).max(frame.memory * times[0].load);
    if MISSES * meters[0].missed > meters[0].substeps {
        let count = times[0].substeps as f32;
        times[0].load = times[0].load.max(count * count * frame.missed_load);
    }
    Ok(())
}
