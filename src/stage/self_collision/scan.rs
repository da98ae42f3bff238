//! Sums of all words before each word, in place, of any number of words: three dispatches.

use crate::engine::cpu::Run;
use crate::engine::layout::GROUP;
use crate::engine::program::{Kernel, Pattern, Renames};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;

static SOURCE: Source = Source::new("scan", include_str!("../../../shaders/scan.wgsl"))
    .constants(&[("SCANNED", Constant::U32(SCANNED as u32))]);

/// Words of one invocation.
const SCANNED: usize = 16;
/// Words of a block.
const BLOCK: usize = GROUP * SCANNED;

static SCAN_BLOCKS: Kernel = Kernel::new("scan_blocks", &SOURCE, scan_blocks_body).pattern(Pattern::Blocks);
static SCAN_SUMS: Kernel = Kernel::new("scan_sums", &SOURCE, scan_sums_body).pattern(Pattern::Group);
static ADD_SUMS: Kernel =
    Kernel::new("add_sums", &SOURCE, add_sums_body).pattern(Pattern::Scatter).aliases(&[("sums_before", "block_sums")]);

/// Blocks of so many words.
pub(super) fn blocks(words: usize) -> usize {
    words.div_ceil(BLOCK)
}

/// Records the scan of so many words of the field that `counts` stands for.
pub(super) fn record(recorder: &mut Recorder<'_>, words: usize, renames: Renames) {
    let count = words as u32;
    recorder.dispatch_with(&SCAN_BLOCKS, 0..words.div_ceil(SCANNED) as u32, [count, 0, 0, 0], renames);
    recorder.dispatch_with(&SCAN_SUMS, 0..blocks(words) as u32, [0; 4], renames);
    recorder.dispatch_with(&ADD_SUMS, 0..count, [0; 4], renames);
}

/// Sums before each word; returns the sum of all.
fn scan(words: &mut [u32]) -> u32 {
    words.iter_mut().fold(0, |before, word| before + std::mem::replace(word, before))
}

fn scan_blocks_body(run: &mut Run<'_>) -> Result<()> {
    let [words, ..] = run.arguments();
    let mut counts = run.write::<u32>("counts")?;
    let mut block_sums = run.write::<u32>("block_sums")?;
    for lane in run.range().step_by(GROUP) {
        let first = lane * SCANNED;
        block_sums[run.group(lane)] = scan(counts.part(first..(first + BLOCK).min(words as usize)));
    }
    Ok(())
}

fn scan_sums_body(run: &mut Run<'_>) -> Result<()> {
    let range = run.range();
    scan(run.write::<u32>("block_sums")?.part(range));
    Ok(())
}

fn add_sums_body(run: &mut Run<'_>) -> Result<()> {
    let sums_before = run.read::<u32>("sums_before")?;
    let mut counts = run.write::<u32>("counts")?;
    for k in run.range() {
        counts[k] += sums_before[k / BLOCK];
    }
    Ok(())
}
