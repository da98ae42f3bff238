//! Pairs that cannot touch in this substep are left alone by the response and by the fence.
//!
//! A list that shall last for many substeps has pairs that are far apart, many more than those that are near: their
//! number grows with the radius. Two parts come nearer by at most what a plot of the first of them moves
//! ([`super::plots`]). So a pair that is farther apart than the thickness and what its plots moved in the substep
//! before, with what may be added to it, needs no plane in this one; and that no plot moves more than so is a part of
//! the last word on displacements. How far apart it was is remembered, and what its plots move since then taken off:
//! its distance is looked at again only where that may have become too small. Where no pair may touch, neither response
//! nor fence runs.

use crate::engine::cpu::Run;
use crate::engine::fields::Domain;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::fields::FAR;
use crate::stage::self_collision::closest::{self, Clearance, FLOOR, NEITHER, Nearness, Plane};
use crate::stage::self_collision::pairs::listed;
use crate::stage::self_collision::plots::{AHEAD, Listing, spread};

static SOURCE: Source =
    Source::new("sift", include_str!("../../../shaders/sift.wgsl")).shares(&[&closest::SOURCE]).constants(&[
        ("AHEAD", Constant::F32(AHEAD)),
        ("AMPLE", Constant::F32(AMPLE)),
        ("ACTIVE", Constant::U32(spread::ACTIVE)),
    ]);

/// Thicknesses beyond what its plots may move that a pair is apart which is left alone. They may move nine tenths of
/// one more, so that it keeps the thickness. With one alone layers came nearer than that before anything pressed them,
/// and a sleeve of 12 vertices around had two folds instead of four.
const AMPLE: f32 = 2.0 - FLOOR;

/// Vertices begin to count what their plots move.
static FORGET_WAYS: Kernel = Kernel::new("forget_ways", &SOURCE, forget_ways_body)
    .pattern(Pattern::Scatter)
    .aliases(&[("move_words", "vertex_moves")]);
/// Forgets what touches a vertex and what bounds it; adds what its plots moved to the rest.
static FORGET_PAIRS: Kernel = Kernel::new("forget_pairs", &SOURCE, forget_pairs_body)
    .pattern(Pattern::Scatter)
    .aliases(&[("move_words", "vertex_moves")]);
/// The most that a plot of a vertex moved in the substep before.
static NOTE_MOVES: Kernel = Kernel::new("note_moves", &SOURCE, note_moves_body).pattern(Pattern::Scatter);
/// Pairs that were too far apart, and may not be any more.
static RECALL_PAIRS: Kernel = Kernel::new("recall_pairs", &SOURCE, recall_pairs_body)
    .pattern(Pattern::Scatter)
    .aliases(&[("most", "vertex_moves")]);
/// Leaves pairs alone that are too far apart.
static SIFT_PAIRS: Kernel =
    Kernel::new("sift_pairs", &SOURCE, sift_pairs_body).pattern(Pattern::Scatter).aliases(&[("most", "vertex_moves")]);

/// Records that pairs are new.
pub(super) fn restart(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&FORGET_WAYS, Domain::TOUCHING);
}

/// Records what comes before planes are found.
pub(super) fn recall(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&FORGET_PAIRS, Domain::TOUCHING);
    recorder.dispatch(&NOTE_MOVES, Domain::PLOTS);
    recorder.dispatch(&RECALL_PAIRS, Domain::PAIRS);
}

/// Records what follows when planes are known.
pub(super) fn record(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&SIFT_PAIRS, Domain::PAIRS);
}

fn forget_ways_body(run: &mut Run<'_>) -> Result<()> {
    let range = run.range();
    run.write::<f32>("move_words")?.part(range.clone()).fill(0.0);
    run.write::<f32>("vertex_ways")?.part(range).fill(0.0);
    Ok(())
}

fn forget_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let range = run.range();
    let clearance = run.one::<Clearance>("clearance")?;
    let nearness = run.one::<Nearness>("nearness")?;
    run.write::<u32>("touches")?.part(range.clone()).fill(0);
    let mut move_words = run.write::<f32>("move_words")?;
    let mut vertex_ways = run.write::<f32>("vertex_ways")?;
    for v in range.clone() {
        vertex_ways[v] += move_words[v];
        move_words[v] = 0.0;
    }
    if nearness.demand <= clearance.capacity {
        run.write::<f32>("bounds")?.part(range).fill(FAR);
    }
    Ok(())
}

fn note_moves_body(run: &mut Run<'_>) -> Result<()> {
    let plot_words = run.read::<u32>("plot_words")?;
    let listings = run.read::<Listing>("listings")?;
    let mut vertex_moves = run.write::<u32>("vertex_moves")?;
    for p in run.range() {
        for v in &plot_words[plot_words[p] as usize..plot_words[p + 1] as usize] {
            let most = &mut vertex_moves[*v as usize];
            *most = (*most).max(listings[p].past.to_bits());
        }
    }
    Ok(())
}

fn recall_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let clearance = run.one::<Clearance>("clearance")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let pairs = run.read::<[u32; 4]>("pairs")?;
    let most = run.read::<f32>("most")?;
    let vertex_ways = run.read::<f32>("vertex_ways")?;
    let mut planes = run.write::<Plane>("planes")?;
    for p in listed(run, nearness) {
        let v = pairs[p][0] as usize;
        let apart = -planes[p].distance - (vertex_ways[v] + most[v]);
        if apart <= AMPLE * clearance.thickness + AHEAD * most[v] {
            planes[p].distance = 0.0;
        }
    }
    Ok(())
}

fn sift_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let clearance = run.one::<Clearance>("clearance")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let pairs = run.read::<[u32; 4]>("pairs")?;
    let most = run.read::<f32>("most")?;
    let vertex_ways = run.read::<f32>("vertex_ways")?;
    let pair_loads = run.read::<[f32; 4]>("pair_loads")?;
    let mut planes = run.write::<Plane>("planes")?;
    let mut spread = run.write::<u32>("spread")?;
    for p in listed(run, nearness) {
        let Plane { distance, kind, .. } = planes[p];
        let v = pairs[p][0] as usize;
        if distance < 0.0 {
            continue;
        }
        if distance > AMPLE * clearance.thickness + AHEAD * most[v] && pair_loads[p][3] == 0.0 {
            planes[p].distance = -(distance + (vertex_ways[v] + most[v]));
        } else if kind != NEITHER {
            spread[spread::ACTIVE as usize] += 1;
        }
    }
    Ok(())
}
