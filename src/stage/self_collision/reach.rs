//! How far the vertices are about to move, and what motion all of them have in common.
//!
//! A list of pairs within a radius r is complete for a substep in which every vertex moves by less than r/2, apart from
//! a motion that all have in common: then what is not listed cannot meet. So the radius follows the prediction: h + 2 ·
//! 2.5 |u|/0.9, where 2.5 leaves room for what projections add to the predicted motion (with 1.5 impacts are slowed in
//! one frame of forty). A resting stack of six sheets then has 9 pairs per vertex, where a radius of 4 h lists 41.
//!
//! The common motion is the middle of the box of all displacements: a cloth that falls or is carried along as a whole
//! is not slowed by any bound. Where some vertices move as they must, it is the middle of their box.

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::fields::{Clock, Frame, Vertex};
use crate::stage::self_collision::closest::{self, Clearance, Nearness, RECOVERY};
use crate::vector::xyz;

static SOURCE: Source = Source::new("reach", include_str!("../../../shaders/reach.wgsl"))
    .shares(&[&closest::SOURCE])
    .constants(&[("BOX", Constant::U32(BOX as u32)), ("AHEAD", Constant::F32(AHEAD)), ("HASTE", Constant::F32(HASTE))]);

/// Words of two boxes: largest u and −u of vertices that must move as they do, then of all.
pub(super) const BOX: usize = 12;
/// How much farther than the predicted motion pairs are looked for.
const AHEAD: f32 = 2.0 * 2.5 / 0.9;
/// What the next frame is prepared for, as a multiple of this frame's speed.
const HASTE: f32 = 1.25;

/// The boxes of all displacements.
pub(super) static BOUND_MOTION: Kernel =
    Kernel::new("bound_motion", &SOURCE, bound_motion_body).pattern(Pattern::Scatter);
/// Common motion and radius.
pub(super) static SET_REACH: Kernel = Kernel::new("set_reach", &SOURCE, set_reach_body)
    .pattern(Pattern::Group)
    .aliases(&[("box_words", "motion_box"), ("found_nearness", "nearness")]);

/// Substeps of the next frame by the speed of this one.
pub(super) static NOTE_REACH: Kernel = Kernel::new("note_reach", &SOURCE, note_reach_body)
    .pattern(Pattern::Group)
    .aliases(&[("found_nearness", "nearness"), ("times", "clock")]);

/// Words that are ordered as floats are, above 0.
fn ordered(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

fn disordered(word: u32) -> f32 {
    f32::from_bits(if word >> 31 == 1 { word & !(1 << 31) } else { !word })
}

fn bound_motion_body(run: &mut Run<'_>) -> Result<()> {
    let vertices = run.read::<Vertex>("vertices")?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let holds = run.read::<[f32; 4]>("holds")?;
    let mut motion_box = run.write::<u32>("motion_box")?;
    let mut touches = run.write::<u32>("touches")?;
    for v in run.range() {
        touches[v] = 0;
        let u = xyz(displacements[v]);
        let first = if driven(&vertices[v], holds[v]) { 0 } else { 6 };
        for k in (first..BOX).step_by(6) {
            for (word, value) in u.to_array().into_iter().chain((-u).to_array()).enumerate() {
                motion_box[k + word] = motion_box[k + word].max(ordered(value));
            }
        }
    }
    Ok(())
}

/// Whether a vertex moves as it must: pinned, or held in place.
pub(super) fn driven(vertex: &Vertex, hold: [f32; 4]) -> bool {
    vertex.inverse_mass == 0.0 || hold == [0.0; 4]
}

fn set_reach_body(run: &mut Run<'_>) -> Result<()> {
    let clearance = run.one::<Clearance>("clearance")?;
    let clock = run.one::<Clock>("clock")?;
    let mut box_words = run.write::<u32>("box_words")?;
    let mut found_nearness = run.write::<Nearness>("found_nearness")?;
    let corner = |first: usize| Vec3::from_array(std::array::from_fn(|axis| disordered(box_words[first + axis])));
    let first = if box_words[0] == 0 { 6 } else { 0 };
    let (high, low, most, least) = (corner(first), -corner(first + 3), corner(6), -corner(9));
    let common = low + 0.5 * (high - low);
    let reach = (most - common).max(common - least).length();
    let wanted = clearance.thickness + AHEAD * reach.max(RECOVERY * clearance.thickness);
    found_nearness[0].drift = common;
    found_nearness[0].reach = reach;
    found_nearness[0].fastest = found_nearness[0].fastest.max(reach / clock.h);
    found_nearness[0].radius = if wanted < clearance.farthest { wanted } else { clearance.farthest };
    for k in 0..BOX {
        box_words[k] = 0;
    }
    Ok(())
}

fn note_reach_body(run: &mut Run<'_>) -> Result<()> {
    let clearance = run.one::<Clearance>("clearance")?;
    let frame = run.one::<Frame>("frame")?;
    let mut found_nearness = run.write::<Nearness>("found_nearness")?;
    let mut times = run.write::<Clock>("times")?;
    let wanted = (HASTE * found_nearness[0].fastest * frame.dt / clearance.stride).min(frame.most_substeps as f32);
    times[0].load = times[0].load.max(wanted * wanted / (frame.load_scale * frame.load_margin));
    found_nearness[0].fastest = 0.0;
    Ok(())
}
