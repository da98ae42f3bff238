//! Reductions: kernels leave one partial result per workgroup, one workgroup folds them into a slot of `sums`.
//!
//! The tree has the same shape on both backends and for any number of threads, so a sum has the same bits every time
//! on one adapter.

use crate::engine::cpu::{Run, group_sum};
use crate::engine::layout::GROUP;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::Source;
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::fields;

static SOURCE: Source = Source::new("reduce", include_str!("../../shaders/reduce.wgsl")).shares(&[&fields::SOURCE]);

/// Sums the leaves.
pub(crate) static SUM_PARTIALS: Kernel =
    Kernel::new("sum_partials", &SOURCE, sum_partials_body).pattern(Pattern::Group).aliases(&[("totals", "sums")]);

/// Records the second level of a reduction over so many elements into slot `slot` of `sums`.
pub fn record(recorder: &mut Recorder<'_>, kernel: &'static Kernel, elements: usize, slot: u32) {
    let leaves = elements.div_ceil(GROUP) as u32;
    recorder.dispatch_range(kernel, 0..leaves, [slot, 0, 0, 0]);
}

fn sum_partials_body(run: &mut Run<'_>) -> Result<()> {
    let [slot, ..] = run.arguments();
    let partials = run.read::<[f32; 2]>("partials")?;
    let mut totals = run.write::<[f32; 4]>("totals")?;
    let mut lanes = [[0.0f32; 2]; GROUP];
    for (k, partial) in partials[run.range()].iter().enumerate() {
        lanes[k % GROUP][0] += partial[0];
        lanes[k % GROUP][1] += partial[1];
    }
    let [x, y] = group_sum(&lanes);
    totals[slot as usize] = [x, y, 0.0, 0.0];
    Ok(())
}
