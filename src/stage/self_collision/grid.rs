//! Triangles and edges sorted into the cells of two grids, for the search for crossings where tangles are resolved: a
//! counting sort by a hash of the cell.
//!
//! Inextensible cloth has triangles and edges of known size, so that one cell for each is enough: what is near is in
//! the 27 cells around, and there are no boxes and no tree. Cells share buckets; whoever looks into one compares the
//! cell.
//!
//! **The same bits every time.** Sums of integers by atomics do not depend on their order, and what an atomic returns
//! does. So items take places of their bucket in any order (`unordered`), and `rank_items` then sorts them by number.

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::fields::Domain;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::fields::Vertex;
use crate::stage::self_collision::cells::{self, Extent, Sorted, bucket, cell_of, packed};
use crate::stage::self_collision::closest::{Clearance, Nearness};
use crate::stage::self_collision::scan;

static SOURCE: Source = Source::new("grid", include_str!("../../../shaders/grid.wgsl"))
    .shares(&[&cells::SOURCE])
    .constants(&[("THIRD", Constant::F32(THIRD)), ("MARGIN", Constant::F32(MARGIN))]);

/// Not a quotient, which devices round as they like.
pub(super) const THIRD: f32 = 1.0 / 3.0;
/// How much larger a cell is than what must fit into it: rounding of its inverse and of positions.
const MARGIN: f32 = 1.01;

/// Boxes around all items.
static MEASURE_ITEMS: Kernel = Kernel::new("measure_items", &SOURCE, measure_items_body).pattern(Pattern::Scatter);
/// Size of the cells.
static OPEN_GRID: Kernel = Kernel::new("open_grid", &SOURCE, open_grid_body)
    .pattern(Pattern::Group)
    .aliases(&[("extent_words", "extents"), ("found_nearness", "nearness")]);
/// Empties the buckets.
static CLEAR_BUCKETS: Kernel = Kernel::new("clear_buckets", &SOURCE, clear_buckets_body)
    .pattern(Pattern::Scatter)
    .aliases(&[("bucket_words", "bucket_starts")]);
/// Counts the items of each bucket.
static COUNT_ITEMS: Kernel = Kernel::new("count_items", &SOURCE, count_items_body).pattern(Pattern::Scatter);
/// Puts items into their buckets, in any order.
static SCATTER_ITEMS: Kernel = Kernel::new("scatter_items", &SOURCE, scatter_items_body).pattern(Pattern::Scatter);
/// Orders them.
static RANK_ITEMS: Kernel = Kernel::new("rank_items", &SOURCE, rank_items_body)
    .pattern(Pattern::Scatter)
    .aliases(&[("bucket_ends", "bucket_starts")]);

/// Records the sort.
pub(super) fn record(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&MEASURE_ITEMS, Domain::ITEMS);
    recorder.dispatch_range(&OPEN_GRID, 0..1, [0; 4]);
    recorder.dispatch(&CLEAR_BUCKETS, Domain::BUCKETS);
    recorder.dispatch(&COUNT_ITEMS, Domain::ITEMS);
    scan::record(recorder, recorder.sizes().of(Domain::BUCKETS), &[("counts", "bucket_starts")]);
    recorder.dispatch(&SCATTER_ITEMS, Domain::ITEMS);
    recorder.dispatch(&RANK_ITEMS, Domain::ITEMS);
}

fn measure_items_body(run: &mut Run<'_>) -> Result<()> {
    let clearance = run.one::<Clearance>("clearance")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let features = run.read::<[u32; 4]>("features")?;
    let mut boxes = run.write::<Extent>("boxes")?;
    let mut extents = run.write::<u32>("extents")?;
    for i in run.range() {
        let triangle = i < clearance.triangles as usize;
        let [x, y, z, _] = features[i];
        // An edge has the third corners of its faces there.
        let [a, b, c] = [x, y, if triangle { z } else { y }].map(|corner| vertices[corner as usize].position);
        let center: Vec3 = if triangle { THIRD * (a + b + c) } else { 0.5 * (a + b) };
        let radius = a.distance(center).max(b.distance(center)).max(c.distance(center));
        let half = (a - center).abs().max((b - center).abs()).max((c - center).abs());
        boxes[i] = Extent { center, radius, half, padding: 0.0 };
        let kind = usize::from(!triangle);
        extents[kind] = extents[kind].max(radius.to_bits());
    }
    Ok(())
}

fn open_grid_body(run: &mut Run<'_>) -> Result<()> {
    let mut extent_words = run.write::<f32>("extent_words")?;
    let mut found_nearness = run.write::<Nearness>("found_nearness")?;
    let radius = found_nearness[0].radius;
    let [triangle, edge] = [extent_words[0], extent_words[1]];
    let sizes = [MARGIN * (radius + triangle), MARGIN * (radius + edge + triangle.max(edge))];
    found_nearness[0].inverse_cells = sizes.map(|size| 1.0 / size).into();
    (extent_words[0], extent_words[1]) = (0.0, 0.0);
    Ok(())
}

fn clear_buckets_body(run: &mut Run<'_>) -> Result<()> {
    let range = run.range();
    run.write::<u32>("bucket_words")?.part(range).fill(0);
    Ok(())
}

fn count_items_body(run: &mut Run<'_>) -> Result<()> {
    let clearance = run.one::<Clearance>("clearance")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let boxes = run.read::<Extent>("boxes")?;
    let mut cells = run.write::<u32>("cells")?;
    let mut bucket_starts = run.write::<u32>("bucket_starts")?;
    for i in run.range() {
        let edge = i >= clearance.triangles as usize;
        let inverse = if edge { nearness.inverse_cells.y } else { nearness.inverse_cells.x };
        let cell = packed(cell_of(boxes[i].center, inverse));
        cells[i] = cell;
        bucket_starts[bucket(clearance, cell, edge)] += 1;
    }
    Ok(())
}

fn scatter_items_body(run: &mut Run<'_>) -> Result<()> {
    let clearance = run.one::<Clearance>("clearance")?;
    let cells = run.read::<u32>("cells")?;
    let mut bucket_starts = run.write::<u32>("bucket_starts")?;
    let mut unordered = run.write::<u32>("unordered")?;
    for i in run.range() {
        let start = &mut bucket_starts[bucket(clearance, cells[i], i >= clearance.triangles as usize)];
        unordered[*start as usize] = i as u32;
        *start += 1;
    }
    Ok(())
}

fn rank_items_body(run: &mut Run<'_>) -> Result<()> {
    let clearance = run.one::<Clearance>("clearance")?;
    let cells = run.read::<u32>("cells")?;
    let bucket_ends = run.read::<u32>("bucket_ends")?;
    let unordered = run.read::<u32>("unordered")?;
    let mut sorted = run.write::<Sorted>("sorted")?;
    for place in run.range() {
        let item = unordered[place];
        let cell = cells[item as usize];
        let b = bucket(clearance, cell, item >= clearance.triangles);
        let first = if b > 0 { bucket_ends[b - 1] } else { 0 } as usize;
        let bucket = &unordered[first..bucket_ends[b] as usize];
        let rank = first + bucket.iter().filter(|other| **other < item).count();
        sorted[rank] = Sorted { item, cell };
    }
    Ok(())
}
