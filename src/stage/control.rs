//! One-thread kernels that open and close loops, frames and substeps.
//!
//! They write guards, and beside them only the end of a linear solve does. They decide by comparing stored values, or
//! products of them, which round alike, so that two backends that agree on the values agree on the decision.

use crate::engine::cpu::{Run, Write};
use crate::engine::layout::GROUP;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::fields;
use crate::stage::fields::{CONTACT_CHANGED, Clock, Frame, Meters, REJECTED_FRAMES, UNMEASURED, sums};
use crate::stage::{Stage, strain};

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

/// Starts a frame and its first substep: meters at zero, the outermost guard on.
pub(crate) static BEGIN_FRAME: Kernel = kernel("begin_frame", begin_frame_body);
/// Adds a finished substep to the frame's account and starts the next, or ends the frame after a fault.
pub(crate) static TURN_SUBSTEP: Kernel = kernel("turn_substep", turn_substep_body);
/// Notes the measured strain after an iteration and ends the loop where it is within the limit, or not finite.
pub(crate) static JUDGE_STRAIN: Kernel = kernel("judge_strain", judge_strain_body);
/// Adds the last substep to the frame's account.
pub(crate) static END_SUBSTEP: Kernel = kernel("end_substep", end_substep_body);
/// Notes the load of a frame that was measured.
pub(crate) static NOTE_LOAD: Kernel = kernel("note_load", note_load_body);

/// Guard words of the two loops over substeps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Loops {
    /// All but the last of a frame; 0 where there is but one.
    pub middle: u32,
    /// The last.
    pub last: u32,
}

impl Loops {
    fn arguments(self) -> [u32; 4] {
        [self.middle, self.last, 0, 0]
    }
}

/// The start of a frame and of its first substep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BeginFrame(pub Loops);

impl Stage for BeginFrame {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch_range(&BEGIN_FRAME, 0..1, self.0.arguments());
    }
}

/// The end of a substep that is not the last of its frame, and the start of the next; the end of the loop over them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnSubstep(pub Loops);

impl Stage for TurnSubstep {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch_range(&TURN_SUBSTEP, 0..1, self.0.arguments());
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
    let leaves = strain::elements(recorder.sizes()).div_ceil(GROUP) as u32;
    recorder.dispatch_range(&JUDGE_STRAIN, 0..leaves, arguments);
}

/// The end of the last substep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndSubstep;

impl Stage for EndSubstep {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch_range(&END_SUBSTEP, 0..1, [0; 4]);
    }
}

fn begin_frame_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    let [middle, last, ..] = run.arguments();
    let loops = Loops { middle, last };
    let mut decisions = run.write::<u32>("decisions")?;
    decisions[0] = 1;
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
    let mut faults = run.write::<u32>("faults")?;
    faults[0] = 0;
    start_substep(frame, &mut times[0], &mut faults, &mut decisions, loops);
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

/// Starts the next substep, and the loop that it belongs to.
fn start_substep(
    frame: &Frame,
    times: &mut Clock,
    faults: &mut Write<'_, u32>,
    decisions: &mut Write<'_, u32>,
    loops: Loops,
) {
    faults[CONTACT_CHANGED as usize] = 0;
    times.substep += 1;
    times.span = times.h;
    times.recall = 0.0;
    if frame.second_order != 0 && times.previous > 0.0 {
        let r = times.h / times.previous;
        times.recall = r * r / (1.0 + 2.0 * r);
        times.span = times.h * (1.0 + r) / (1.0 + 2.0 * r);
    }
    times.force = times.h / (times.span * times.span * frame.dt);
    let last = times.substep == times.substeps;
    if loops.middle != 0 {
        decisions[loops.middle as usize] = u32::from(!last);
    }
    decisions[loops.last as usize] = u32::from(last);
}

/// Adds a substep to the frame's account; whether the frame goes on.
fn finish_substep(frame: &Frame, times: &mut Clock, faults: &mut Write<'_, u32>, meters: &mut Meters) -> bool {
    if faults[0] != 0 {
        // Once per frame: no substep follows.
        faults[REJECTED_FRAMES as usize] += 1;
        times.previous = 0.0;
        return false;
    }
    times.previous = times.h;
    meters.substeps += 1;
    meters.worst_strain = meters.worst_strain.max(meters.strain);
    if meters.strain > accepted(frame, times) {
        meters.missed += 1;
        times.previous = 0.0;
    }
    if faults[CONTACT_CHANGED as usize] != 0 {
        times.previous = 0.0;
    }
    true
}

fn turn_substep_body(run: &mut Run<'_>) -> Result<()> {
    let guard = run.guard();
    let [middle, last, ..] = run.arguments();
    let frame = run.one::<Frame>("frame")?;
    let mut decisions = run.write::<u32>("decisions")?;
    let mut faults = run.write::<u32>("faults")?;
    let mut times = run.write::<Clock>("times")?;
    let mut meters = run.write::<Meters>("meters")?;
    if decisions[guard] == 0 {
        return Ok(());
    }
    if finish_substep(frame, &mut times[0], &mut faults, &mut meters[0]) {
        start_substep(frame, &mut times[0], &mut faults, &mut decisions, Loops { middle, last });
    } else {
        decisions[guard] = 0;
    }
    Ok(())
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
    // The state that was measured best is the state again.
    if meters[0].strain > frame.strain_limit {
        meters[0].strain = meters[0].strain.min(meters[0].best);
    }
    finish_substep(frame, &mut times[0], &mut faults, &mut meters[0]);
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
    let mut faults = run.write::<u32>("faults")?;
    let [strain, insane] = folded(&partials[run.range()]);
    decisions[judged] = decisions[guard];
    if decisions[guard] == 0 {
        return Ok(());
    }
    // A state that was measured before, and kept, will be taken instead; contact measures again.
    let kept = passing == 1 || meters[0].best < UNMEASURED;
    let strain = if insane > 0.0 { UNMEASURED } else { strain };
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
    if insane > 0.0 && !kept {
        faults[0] = 1;
    }
    // What is not finite does not become so.
    if insane > 0.0 || strain <= accepted(frame, &times[0]) {
        decisions[judged] = 0;
    }
    Ok(())
}

/// Largest words of the leaves of a measurement.
fn folded(partials: &[[f32; 2]]) -> [f32; 2] {
    partials.iter().fold([0.0; 2], |most, partial| [most[0].max(partial[0]), most[1].max(partial[1])])
}

/// Strain at which this substep is good enough: the limit is promised for the end of a frame.
fn accepted(frame: &Frame, clock: &Clock) -> f32 {
    if clock.substep == clock.substeps { frame.strain_limit } else { frame.middle_limit }
}

fn note_load_body(run: &mut Run<'_>) -> Result<()> {
    let range = run.range();
    let [load, _] = folded(&run.read::<[f32; 2]>("partials")?[range]);
    if run.read::<u32>("decisions")?[run.guard()] == 0 {
        return Ok(());
    }
    if run.read::<u32>("faults")?[0] != 0 {
        return Ok(());
    }
    let frame = run.one::<Frame>("frame")?;
    let load = load.min(HIGHEST_LOAD);
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
