//! What presses is carried from one list of pairs to the next, and from frame to frame.
//!
//! A substep begins with what pressed in the one before, and sweeps find what changed since: a pile of layers carries
//! its weight without sweeps enough for it to be handed down from layer to layer anew. Lists are made in half of the
//! substeps or more while cloth moves, and most of their pairs were listed before. Pairs are listed by owner, the
//! vertex or the first edge, so each is looked for among the few of its owner in the list before.
//!
//! Frames differ in their steps, and what presses in one is a force: it is kept as an acceleration, f = w/h², and is
//! part of the state, so that a cloth that was restored goes on as the one that was saved. A heap whose frames began
//! without it sank a little in each, was lifted again, and trembled by 1e-5 J/kg where it lies still with it (1e-7).

use crate::engine::cpu::Run;
use crate::engine::fields::Domain;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::fields::{Clock, FAR};
use crate::stage::self_collision::closest::{self, Clearance, Nearness};
use crate::stage::self_collision::pairs::listed;
use crate::stage::self_collision::plots::spread;

static SOURCE: Source = Source::new("carry", include_str!("../../../shaders/carry.wgsl"))
    .shares(&[&closest::SOURCE])
    .constants(&[("HALVINGS", Constant::U32(HALVINGS)), ("PAST", Constant::U32(spread::PAST))]);

/// Steps of a search among so many owners as words can count.
const HALVINGS: u32 = 32;

/// Keeps a list before another is made, and the last of a frame.
static KEEP_PAIRS: Kernel = Kernel::new("keep_pairs", &SOURCE, keep_pairs_body).pattern(Pattern::Scatter);
/// Gives the pairs of a new list what they had in the one before.
static CARRY_LOADS: Kernel = Kernel::new("carry_loads", &SOURCE, carry_loads_body)
    .pattern(Pattern::Scatter)
    .aliases(&[("found_spread", "spread")]);

/// Records what comes before a list is made, or at the end of a frame.
pub(super) fn keep(recorder: &mut Recorder<'_>, last: bool) {
    let sizes = recorder.sizes();
    let (pairs, owners) = (sizes.of(Domain::PAIRS) as u32, sizes.of(Domain::OWNERS) as u32);
    recorder.dispatch_range(&KEEP_PAIRS, 0..pairs.max(owners), [owners, last.into(), 0, 0]);
}

/// Records what comes after.
pub(super) fn carry(recorder: &mut Recorder<'_>) {
    let sizes = recorder.sizes();
    let (pairs, owners) = (sizes.of(Domain::PAIRS) as u32, sizes.of(Domain::OWNERS) as u32);
    recorder.dispatch_range(&CARRY_LOADS, 0..pairs, [owners, 0, 0, 0]);
}

fn keep_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let [owners, last, ..] = run.arguments();
    let clock = run.one::<Clock>("clock")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let pairs = run.read::<[u32; 4]>("pairs")?;
    let pair_loads = run.read::<[f32; 4]>("pair_loads")?;
    let pair_starts = run.read::<u32>("pair_starts")?;
    let mut old_pairs = run.write::<[u32; 4]>("old_pairs")?;
    let mut old_loads = run.write::<f32>("old_loads")?;
    let mut old_starts = run.write::<u32>("old_starts")?;
    // A frame begins with the list that the one before ended with.
    if last == 0 && clock.substep <= 1 {
        return Ok(());
    }
    let range = run.range();
    for k in range.start..range.end.min(nearness.pairs.max(owners) as usize) {
        if k < nearness.pairs as usize {
            old_pairs[k] = pairs[k];
            old_loads[k] = pair_loads[k][3] / (clock.h * clock.h);
        }
        if k < owners as usize {
            old_starts[k] = pair_starts[k].min(nearness.pairs);
        }
    }
    Ok(())
}

fn carry_loads_body(run: &mut Run<'_>) -> Result<()> {
    let [owners, ..] = run.arguments();
    let clearance = run.one::<Clearance>("clearance")?;
    let clock = run.one::<Clock>("clock")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let pairs = run.read::<[u32; 4]>("pairs")?;
    let pair_starts = run.read::<u32>("pair_starts")?;
    let old_pairs = run.read::<[u32; 4]>("old_pairs")?;
    let old_loads = run.read::<f32>("old_loads")?;
    let old_starts = run.read::<u32>("old_starts")?;
    let mut pair_loads = run.write::<[f32; 4]>("pair_loads")?;
    let found_spread = run.read::<u32>("found_spread")?;
    if found_spread[spread::PAST as usize] == 0 {
        // Nothing was pressed.
        listed(run, nearness).for_each(|p| pair_loads[p] = [0.0; 4]);
        return Ok(());
    }
    for p in listed(run, nearness) {
        let mut owner = pairs[p][0];
        if p as u32 >= pair_starts[clearance.vertices as usize] {
            // The last that begins at this pair or before; those without pairs begin where the next does.
            let (mut low, mut high) = (clearance.vertices, owners - 1);
            for _ in 0..HALVINGS {
                let middle = (low + high) / 2;
                if pair_starts[middle as usize] <= p as u32 { low = middle } else { high = middle }
            }
            owner = low;
        }
        let [first, end] = [owner, owner + 1].map(|owner| old_starts[owner as usize].min(clearance.capacity) as usize);
        let found = (first..end).find(|k| old_pairs[*k] == pairs[p]);
        let pressed = found.map_or(0.0, |k| old_loads[k] * (clock.h * clock.h));
        // What a frame that failed left behind is no load.
        pair_loads[p] = [0.0, 0.0, 0.0, if pressed > 0.0 && pressed < FAR { pressed } else { 0.0 }];
    }
    Ok(())
}
