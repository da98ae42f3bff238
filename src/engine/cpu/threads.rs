//! Kernels over several threads, with the same bits for any number of them.

use super::run::{Run, Slot, Words};
use crate::engine::fields::Domain;
use crate::engine::layout::GROUP;
use crate::engine::program::{Body, Dispatch, Pattern};
use crate::error::Result;

/// Elements from which a kernel is worth splitting over threads.
const PARALLEL_FROM: usize = 32_768;

/// Calls the body, split over threads where every invocation owns what it writes. The parts are whole workgroups, so
/// the result has the same bits for any number of threads.
pub(super) fn launch(dispatch: &Dispatch, mut run: Run<'_>) -> Result<()> {
    let parts = if cfg!(feature = "parallel") { threads() } else { 1 };
    if parts > 1 && dispatch.kernel.pattern == Pattern::Lines {
        return launch_lines(dispatch, run, parts);
    }
    let parts = if run.range.len() >= PARALLEL_FROM { parts } else { 1 };
    if parts < 2 || run.range.start != run.origin || !splits(dispatch, &run) {
        return (dispatch.kernel.body)(&mut run);
    }
    let length = run.range.len().div_ceil(parts).next_multiple_of(GROUP);
    let mut runs: Vec<Run<'_>> = Vec::with_capacity(parts);
    let end = run.range.end;
    // What lies before a slice is not written.
    for slot in run.slots.iter_mut().filter(|slot| slot.spec.domain != Domain::Groups) {
        if let Words::Write { first, words } = &mut slot.words {
            let before = (run.range.start - *first) * slot.spec.stride / 4;
            *words = &mut std::mem::take(words)[before..];
            *first = run.range.start;
        }
    }
    for first in run.range.clone().step_by(length) {
        let mut slots = Vec::with_capacity(run.slots.len());
        for slot in &mut run.slots {
            let per_group = slot.spec.domain == Domain::Groups;
            let words = match std::mem::replace(&mut slot.words, Words::Taken) {
                Words::Read(words) => {
                    slot.words = Words::Read(words);
                    Words::Read(words)
                }
                Words::Write { first: base, words } => {
                    let elements = if per_group { length / GROUP } else { length };
                    let (mine, rest) = words.split_at_mut((elements * slot.spec.stride / 4).min(words.len()));
                    slot.words = Words::Write { first: base + elements, words: rest };
                    Words::Write { first: base, words: mine }
                }
                Words::Shared(_) | Words::SharedVectors(_) | Words::Taken => Words::Taken,
            };
            slots.push(Slot { name: slot.name, spec: slot.spec, words });
        }
        let range = first..(first + length).min(end);
        runs.push(Run { range, origin: run.origin, guard: run.guard, arguments: run.arguments, slots });
    }
    in_parallel(runs, dispatch.kernel.body)
}

/// Calls the body of a line kernel for parts of its lines. What it writes is shared; no line's result depends on
/// another's.
fn launch_lines(dispatch: &Dispatch, mut run: Run<'_>, parts: usize) -> Result<()> {
    let (range, lanes) = (run.range.clone(), run.arguments[0] as usize);
    let written = run.slots.iter().filter_map(|slot| match &slot.words {
        Words::Write { words, .. } => Some(4 * words.len() / slot.spec.stride),
        _ => None,
    });
    // The fewest elements that it writes, one per vertex or edge, tell how much there is to do.
    if written.min().unwrap_or(0) < PARALLEL_FROM {
        return (dispatch.kernel.body)(&mut run);
    }
    run.slots.iter_mut().for_each(Slot::share);
    // Whole bundles of eight lines, several parts per thread: lines may differ in length.
    let length = (range.len() / lanes).div_ceil(4 * parts).max(1).next_multiple_of(8) * lanes;
    let mut runs = Vec::new();
    for first in range.clone().step_by(length) {
        let slots = run.slots.iter().map(Slot::again).collect();
        let range = first..(first + length).min(range.end);
        runs.push(Run { range, origin: run.origin, guard: run.guard, arguments: run.arguments, slots });
    }
    in_parallel(runs, dispatch.kernel.body)
}

/// Whether what an invocation writes can be told from its element number.
fn splits(dispatch: &Dispatch, run: &Run<'_>) -> bool {
    dispatch.kernel.pattern == Pattern::Element
        && run.slots.iter().all(|slot| match &slot.words {
            Words::Write { words, .. } => {
                slot.spec.domain == Domain::Groups || words.len() * 4 == dispatch.whole as usize * slot.spec.stride
            }
            _ => true,
        })
}

/// Runs what launches kernels, on a thread of the pool where kernels are large enough for several: from there the
/// others are told by a look at a queue, and from outside by waking them for every single kernel.
#[cfg(feature = "parallel")]
pub(super) fn inside<T: Send>(elements: usize, run: impl FnOnce() -> T + Send) -> T {
    if elements < PARALLEL_FROM || threads() < 2 { run() } else { rayon::scope(|_| run()) }
}

/// Runs what launches kernels.
#[cfg(not(feature = "parallel"))]
pub(super) fn inside<T>(_elements: usize, run: impl FnOnce() -> T) -> T {
    run()
}

#[cfg(feature = "parallel")]
fn threads() -> usize {
    rayon::current_num_threads()
}

#[cfg(feature = "parallel")]
fn in_parallel(runs: Vec<Run<'_>>, body: Body) -> Result<()> {
    use rayon::prelude::*;
    runs.into_par_iter().map(|mut run| body(&mut run)).collect()
}

#[cfg(not(feature = "parallel"))]
fn threads() -> usize {
    1
}

#[cfg(not(feature = "parallel"))]
fn in_parallel(runs: Vec<Run<'_>>, body: Body) -> Result<()> {
    runs.into_iter().try_for_each(|mut run| body(&mut run))
}
