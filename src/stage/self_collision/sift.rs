//! Pairs that cannot touch in this substep are left alone by the response and by the fence.
//!
//! A list that shall last for many substeps has pairs that are far apart, many more than those that are near: their
//! number grows with the radius. Two parts come nearer by at most what a plot of the first of them moves
//! ([`super::plots`]). So a pair that is farther apart than the thickness and what its plots moved in the substep
//! before, with what may be added to it, needs no plane in this one; and that no plot moves more than so is a part of
//! the last word on displacements. The list within the list is made anew in every substep, without a search. Where
//! nothing is left in it, neither response nor fence runs.

use crate::engine::cpu::Run;
use crate::engine::fields::Domain;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::fields::FAR;
use crate::stage::self_collision::closest::{self, Clearance, NEITHER, Nearness, Plane};
use crate::stage::self_collision::pairs::listed;
use crate::stage::self_collision::plots::{AHEAD, spread};

static SOURCE: Source = Source::new("sift", include_str!("../../../shaders/sift.wgsl"))
    .shares(&[&closest::SOURCE])
    .constants(&[("AHEAD", Constant::F32(AHEAD)), ("ACTIVE", Constant::U32(spread::ACTIVE))]);

/// Forgets what touches a vertex, what bounds it, and what its plots moved.
static FORGET_PAIRS: Kernel = Kernel::new("forget_pairs", &SOURCE, forget_pairs_body)
    .pattern(Pattern::Scatter)
    .aliases(&[("move_words", "vertex_moves")]);
/// The most that a plot of a vertex moved in the substep before.
static NOTE_MOVES: Kernel = Kernel::new("note_moves", &SOURCE, note_moves_body).pattern(Pattern::Scatter);
/// Leaves pairs alone that are too far apart.
static SIFT_PAIRS: Kernel =
    Kernel::new("sift_pairs", &SOURCE, sift_pairs_body).pattern(Pattern::Scatter).aliases(&[("most", "vertex_moves")]);

/// Records that nothing is known of pairs yet.
pub(super) fn forget(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&FORGET_PAIRS, Domain::TOUCHING);
}

/// Records what follows when planes are known.
pub(super) fn record(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&NOTE_MOVES, Domain::PLOTS);
    recorder.dispatch(&SIFT_PAIRS, Domain::PAIRS);
}

fn forget_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let range = run.range();
    let clearance = run.one::<Clearance>("clearance")?;
    let nearness = run.one::<Nearness>("nearness")?;
    run.write::<u32>("touches")?.part(range.clone()).fill(0);
    run.write::<u32>("move_words")?.part(range.clone()).fill(0);
    if nearness.demand <= clearance.capacity {
        run.write::<f32>("bounds")?.part(range).fill(FAR);
    }
    Ok(())
}

fn note_moves_body(run: &mut Run<'_>) -> Result<()> {
    let plot_words = run.read::<u32>("plot_words")?;
    let plot_past = run.read::<f32>("plot_past")?;
    let mut vertex_moves = run.write::<u32>("vertex_moves")?;
    for p in run.range() {
        for v in &plot_words[plot_words[p] as usize..plot_words[p + 1] as usize] {
            let most = &mut vertex_moves[*v as usize];
            *most = (*most).max(plot_past[p].to_bits());
        }
    }
    Ok(())
}

fn sift_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let clearance = run.one::<Clearance>("clearance")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let pairs = run.read::<[u32; 4]>("pairs")?;
    let most = run.read::<f32>("most")?;
    let pair_loads = run.read::<[f32; 4]>("pair_loads")?;
    let mut planes = run.write::<Plane>("planes")?;
    let mut spread = run.write::<u32>("spread")?;
    for p in listed(run, nearness) {
        let Plane { distance, kind, .. } = planes[p];
        let far = distance > clearance.thickness + AHEAD * most[pairs[p][0] as usize];
        if far && pair_loads[p][3] == 0.0 {
            planes[p].distance = 0.0;
        } else if kind != NEITHER {
            spread[spread::ACTIVE as usize] += 1;
        }
    }
    Ok(())
}
