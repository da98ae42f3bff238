//! How far parts of the cloth are about to move, and what follows from it: when the list of pairs is made, and of what
//! radius; how many substeps the next frame has; and, as a last resort, a part by which all ways are shortened.
//!
//! **Lists** are made anew for plots where what is not listed may come nearer than the thickness in this substep,
//! judged by the one before ([`super::plots`]), and for all of them at the start of a frame, while anything is tangled,
//! and where the last ones had not enough room. A radius is the thickness and 16 times the relative motion of a
//! substep, so that a list lasts for some substeps, four times where pairs are many, and at most 0.7 of the shortest
//! edge.
//!
//! **Substeps** follow the relative speed of what is listed, not that of the cloth: a sheet that swings alone has those
//! that its load asks for.
//!
//! **The common motion** is the middle of the box of all displacements: cloth that falls or is carried along as a whole
//! is not slowed by the fence. Where some vertices move as they must, it is the middle of their box.

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::fields::Domain;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::fields::{Clock, Frame, Vertex};
use crate::stage::freedom::{left_by, rigid};
use crate::stage::self_collision::closest::{self, Clearance, Nearness, Plane, SHARE, shares};
use crate::stage::self_collision::meter;
use crate::stage::self_collision::pairs::listed;
use crate::stage::self_collision::plots::{self, LEAST_MARGIN, spread};
use crate::vector::{padded, xyz};

static SOURCE: Source =
    Source::new("reach", include_str!("../../../shaders/reach.wgsl")).shares(&[&closest::SOURCE]).constants(&[
        ("BOX", Constant::U32(BOX as u32)),
        ("HASTE", Constant::F32(HASTE)),
        ("LEAST_MARGIN", Constant::F32(LEAST_MARGIN)),
        ("NEED", Constant::U32(spread::NEED)),
        ("EXCESS", Constant::U32(spread::EXCESS)),
        ("SPEED", Constant::U32(spread::SPEED)),
        ("ACTIVE", Constant::U32(spread::ACTIVE)),
        ("PAST", Constant::U32(spread::PAST)),
        ("SLOWED_VERTICES", Constant::U32(meter::SPEED_LIMITED)),
        ("FORCED_VERTICES", Constant::U32(meter::FORCED)),
        ("TANGLED", Constant::U32(meter::TANGLED)),
    ]);

/// Words of two boxes: largest u and −u of vertices that must move as they do, then of all.
pub(super) const BOX: usize = 12;
/// What the next frame is prepared for, as a multiple of this frame's speed.
const HASTE: f32 = 1.25;

/// The boxes of all displacements.
static BOUND_MOTION: Kernel = Kernel::new("bound_motion", &SOURCE, bound_motion_body).pattern(Pattern::Scatter);
/// Common motion.
static SET_DRIFT: Kernel = Kernel::new("set_drift", &SOURCE, set_drift_body)
    .pattern(Pattern::Group)
    .aliases(&[("box_words", "motion_box"), ("found_nearness", "nearness")]);
/// Whether nothing is known yet of motion: the frame begins.
static OPEN_SURVEY: Kernel =
    Kernel::new("open_survey", &SOURCE, open_survey_body).pattern(Pattern::Group).aliases(&[("decisions", "guards")]);
/// Whether all lists are of use.
static SET_REACH: Kernel = Kernel::new("set_reach", &SOURCE, set_reach_body).pattern(Pattern::Group).aliases(&[
    ("found_spread", "spread"),
    ("found_nearness", "nearness"),
    ("decisions", "guards"),
]);
/// Whether displacements are ones that the list is complete for.
static CHECK_REACH: Kernel = Kernel::new("check_reach", &SOURCE, check_reach_body).pattern(Pattern::Group).aliases(&[
    ("spread_words", "spread"),
    ("found_nearness", "nearness"),
    ("decisions", "guards"),
]);
/// Shortens all ways.
static SLOW_DOWN: Kernel =
    Kernel::new("slow_down", &SOURCE, slow_down_body).pattern(Pattern::Scatter).aliases(&[("ways", "displacements")]);
/// Counts that something went too far all the same: it moves as it must.
static NOTE_FORCED: Kernel = Kernel::new("note_forced", &SOURCE, note_forced_body)
    .pattern(Pattern::Group)
    .aliases(&[("spread_words", "spread")]);
/// Relative speed of listed pairs that touch within a frame if they go on as they do.
static METER_PAIRS: Kernel = Kernel::new("meter_pairs", &SOURCE, meter_pairs_body)
    .pattern(Pattern::Scatter)
    .aliases(&[("most", "vertex_moves")]);
/// Substeps of the next frame by the speed of this one.
static NOTE_REACH: Kernel = Kernel::new("note_reach", &SOURCE, note_reach_body)
    .pattern(Pattern::Group)
    .aliases(&[("found_spread", "spread"), ("times", "clock")]);

/// Records `make` where the list is to be made, after the prediction.
pub(super) fn where_stale(recorder: &mut Recorder<'_>, make: impl FnOnce(&mut Recorder<'_>)) {
    recorder.repeat_opened(1, opened_by(&OPEN_SURVEY), plots::foresee);
    recorder.repeat_opened(1, opened_by(&SET_REACH), |recorder| {
        plots::renew(recorder);
        make(recorder);
    });
}

/// What opens a loop inside of another.
pub(super) fn opened_by(kernel: &'static Kernel) -> impl FnOnce(&mut Recorder<'_>, u32) {
    move |recorder, own| {
        let arguments = [own, recorder.guard(), 0, 0];
        recorder.dispatch_range(kernel, 0..1, arguments);
    }
}

/// Records the common motion.
pub(super) fn drift(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&BOUND_MOTION, Domain::VERTICES);
    recorder.dispatch_range(&SET_DRIFT, 0..1, [0; 4]);
}

/// Records the relative speed of listed pairs.
pub(super) fn meter(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&METER_PAIRS, Domain::PAIRS);
}

/// Records the last word on displacements: that the list is complete for them.
pub(super) fn check(recorder: &mut Recorder<'_>) {
    plots::compare(recorder);
    recorder.repeat_opened(1, opened_by(&CHECK_REACH), |recorder| {
        drift(recorder);
        recorder.dispatch(&SLOW_DOWN, Domain::VERTICES);
        plots::compare(recorder);
        recorder.dispatch_range(&NOTE_FORCED, 0..1, [0; 4]);
    });
}

/// Records the end of a frame.
pub(super) fn note(recorder: &mut Recorder<'_>) {
    recorder.dispatch_range(&NOTE_REACH, 0..1, [0; 4]);
}

/// Whole numbers that are ordered as floats are; with the other sign bit they are so as words, above 0.
fn ordered(value: f32) -> i32 {
    let bits = value.to_bits() as i32;
    bits ^ ((bits >> 31) & i32::MAX)
}

fn disordered(word: u32) -> f32 {
    f32::from_bits(if word >> 31 == 1 { word & !(1 << 31) } else { !word })
}

fn bound_motion_body(run: &mut Run<'_>) -> Result<()> {
    let vertices = run.read::<Vertex>("vertices")?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let holds = run.read::<[f32; 4]>("holds")?;
    let mut motion_box = run.write::<u32>("motion_box")?;
    // Of those that move as they must, and of the others; largest u, largest −u.
    let mut most = [[[i32::MIN; 4]; 2]; 2];
    for v in run.range() {
        let u = displacements[v];
        let of = &mut most[usize::from(!driven(&vertices[v], holds[v]))];
        for axis in 0..4 {
            of[0][axis] = of[0][axis].max(ordered(u[axis]));
            of[1][axis] = of[1][axis].max(ordered(-u[axis]));
        }
    }
    for word in 0..BOX / 2 {
        let [must, free] = most.map(|of| of[word / 3][word % 3] as u32 ^ 1 << 31);
        motion_box[word] = motion_box[word].max(must);
        motion_box[BOX / 2 + word] = motion_box[BOX / 2 + word].max(must).max(free);
    }
    Ok(())
}

/// Whether a vertex moves as it must: pinned, or held in place.
pub(super) fn driven(vertex: &Vertex, hold: [f32; 4]) -> bool {
    vertex.inverse_mass == 0.0 || hold == [0.0; 4]
}

fn set_drift_body(run: &mut Run<'_>) -> Result<()> {
    let mut box_words = run.write::<u32>("box_words")?;
    let mut found_nearness = run.write::<Nearness>("found_nearness")?;
    let corner = |first: usize| Vec3::from_array(std::array::from_fn(|axis| disordered(box_words[first + axis])));
    let first = if box_words[0] == 0 { 6 } else { 0 };
    let (high, low) = (corner(first), -corner(first + 3));
    found_nearness[0].drift = low + 0.5 * (high - low);
    for k in 0..BOX {
        box_words[k] = 0;
    }
    Ok(())
}

fn open_survey_body(run: &mut Run<'_>) -> Result<()> {
    let [own, parent, ..] = run.arguments();
    let nearness = run.one::<Nearness>("nearness")?;
    let mut decisions = run.write::<u32>("decisions")?;
    decisions[own as usize] = if nearness.begun == 0 { decisions[parent as usize] } else { 0 };
    Ok(())
}

fn set_reach_body(run: &mut Run<'_>) -> Result<()> {
    let [own, parent, ..] = run.arguments();
    let clearance = run.one::<Clearance>("clearance")?;
    let mut found_spread = run.write::<u32>("found_spread")?;
    let mut found_nearness = run.write::<Nearness>("found_nearness")?;
    let mut decisions = run.write::<u32>("decisions")?;
    let own_meters = run.read::<u32>("own_meters")?;
    decisions[own as usize] = 0;
    if decisions[parent as usize] == 0 {
        return Ok(());
    }
    let near = &mut found_nearness[0];
    // A frame begins with what pressed in the one before, and does not know whether anything did.
    let pressed = if near.begun == 0 { 1 } else { found_spread[spread::ACTIVE as usize] };
    found_spread[spread::PAST as usize] = pressed;
    found_spread[spread::ACTIVE as usize] = 0;
    near.radius = (1.0 + LEAST_MARGIN) * clearance.thickness;
    let tangled = own_meters[meter::TANGLED as usize] > 0;
    let need = f32::from_bits(found_spread[spread::NEED as usize]) > 0.0;
    if near.begun == 0 || need || near.demand > clearance.capacity || tangled {
        decisions[own as usize] = 1;
    }
    Ok(())
}

fn check_reach_body(run: &mut Run<'_>) -> Result<()> {
    let [own, parent, ..] = run.arguments();
    let clearance = run.one::<Clearance>("clearance")?;
    let spread_words = run.read::<f32>("spread_words")?;
    let mut found_nearness = run.write::<Nearness>("found_nearness")?;
    let mut own_meters = run.write::<u32>("own_meters")?;
    let mut decisions = run.write::<u32>("decisions")?;
    decisions[own as usize] = 0;
    if decisions[parent as usize] == 0 {
        return Ok(());
    }
    let excess = spread_words[spread::EXCESS as usize];
    if excess > 0.0 {
        found_nearness[0].part = SHARE * (1.0 - excess);
        own_meters[meter::SPEED_LIMITED as usize] += clearance.vertices;
        decisions[own as usize] = 1;
    }
    Ok(())
}

fn slow_down_body(run: &mut Run<'_>) -> Result<()> {
    let clearance = run.one::<Clearance>("clearance")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let holds = run.read::<[f32; 4]>("holds")?;
    let mut ways = run.write::<[f32; 4]>("ways")?;
    let mut own_meters = run.write::<u32>("own_meters")?;
    for v in run.range() {
        let way = xyz(ways[v]) - nearness.drift;
        if !driven(&vertices[v], holds[v]) {
            ways[v] = padded(xyz(ways[v]) - left_by(rigid(holds[v]), (1.0 - nearness.part) * way));
        } else if way.length() > 0.5 * SHARE * clearance.farthest {
            own_meters[meter::FORCED as usize] += 1;
        }
    }
    Ok(())
}

fn note_forced_body(run: &mut Run<'_>) -> Result<()> {
    let spread_words = run.read::<f32>("spread_words")?;
    let mut own_meters = run.write::<u32>("own_meters")?;
    own_meters[meter::FORCED as usize] += u32::from(spread_words[spread::EXCESS as usize] > 0.0);
    Ok(())
}

fn meter_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let clock = run.one::<Clock>("clock")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let pairs = run.read::<[u32; 4]>("pairs")?;
    let planes = run.read::<Plane>("planes")?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let mut spread = run.write::<u32>("spread")?;
    let most = run.read::<f32>("most")?;
    let vertex_ways = run.read::<f32>("vertex_ways")?;
    for p in listed(run, nearness).filter(|p| planes[*p].distance != 0.0) {
        // What is left alone has the normal that it had when it was looked at, and is no nearer than this.
        let v = pairs[p][0] as usize;
        let apart = planes[p].distance.max(-planes[p].distance - (vertex_ways[v] + most[v]));
        let share = shares(planes[p].kind, planes[p].weights);
        let mut moved = Vec3::ZERO;
        for k in 0..4 {
            moved += share[k] * xyz(displacements[pairs[p][k] as usize]);
        }
        let nearer = -planes[p].normal.dot(moved);
        if apart - clock.substeps as f32 * nearer < planes[p].thickness {
            let word = &mut spread[spread::SPEED as usize];
            *word = (*word).max((moved.length() / clock.h).to_bits());
        }
    }
    Ok(())
}

fn note_reach_body(run: &mut Run<'_>) -> Result<()> {
    let clearance = run.one::<Clearance>("clearance")?;
    let frame = run.one::<Frame>("frame")?;
    let mut found_spread = run.write::<u32>("found_spread")?;
    let mut times = run.write::<Clock>("times")?;
    let fastest = f32::from_bits(found_spread[spread::SPEED as usize]);
    let wanted = (HASTE * fastest * frame.dt / clearance.stride).min(frame.most_substeps as f32);
    times[0].load = times[0].load.max(wanted * wanted / (frame.load_scale * frame.load_margin));
    found_spread[spread::SPEED as usize] = 0;
    Ok(())
}
