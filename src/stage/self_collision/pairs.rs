//! The list of pairs: every vertex and triangle, and every two edges, without a common vertex, that are within the
//! radius of each other. Counted, then listed, so that what is needed is known whatever there is room for.

use glam::{IVec3, Vec3, Vec4};

use crate::engine::cpu::{Run, Write};
use crate::engine::fields::Domain;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::fields::{FAR, Vertex};
use crate::stage::self_collision::cells::{self, Extent, Sorted, bucket, cell_of, neighbor, packed};
use crate::stage::self_collision::closest::{
    Clearance, EDGES, FLOOR, NEITHER, Nearness, Plane, SHARE, VERTEX_TRIANGLE, between, closest_weights, shares,
};
use crate::stage::self_collision::{meter, scan};
use crate::vector::xyz;

static SOURCE: Source =
    Source::new("pairs", include_str!("../../../shaders/pairs.wgsl")).shares(&[&cells::SOURCE]).constants(&[
        ("NEAR", Constant::F32(NEAR)),
        ("PAIRS", Constant::U32(meter::PAIRS)),
        ("REBUILDS", Constant::U32(meter::REBUILDS)),
        ("OVERFLOWED", Constant::U32(meter::OVERFLOWED)),
    ]);

/// How much farther than the radius spheres may be apart: rounding of their centres and radii.
const NEAR: f32 = 1.0001;

/// Counts or lists the pairs of a vertex or of an edge.
pub(super) static FIND_PAIRS: Kernel = Kernel::new("find_pairs", &SOURCE, find_pairs_body)
    .pattern(Pattern::Scatter)
    .aliases(&[("bucket_ends", "bucket_starts")]);
/// Notes what was found.
static ADMIT_PAIRS: Kernel = Kernel::new("admit_pairs", &SOURCE, admit_pairs_body)
    .pattern(Pattern::Group)
    .aliases(&[("found_nearness", "nearness")]);
/// Kind and thickness of every pair.
static REST_PAIRS: Kernel = Kernel::new("rest_pairs", &SOURCE, rest_pairs_body).pattern(Pattern::Scatter);

/// Records the search in sorted items.
pub(super) fn record(recorder: &mut Recorder<'_>) {
    let owners = recorder.sizes().of(Domain::OWNERS) as u32;
    // One word more has the sum of all.
    let last = owners - 1;
    recorder.dispatch_range(&FIND_PAIRS, 0..last, [0; 4]);
    scan::record(recorder, owners as usize, &[("counts", "pair_starts")]);
    recorder.dispatch_range(&ADMIT_PAIRS, 0..1, [last, 0, 0, 0]);
    recorder.dispatch_range(&FIND_PAIRS, 0..last, [1, 0, 0, 0]);
    recorder.dispatch(&REST_PAIRS, Domain::PAIRS);
}

fn pair_distance(kind: u32, at: [Vec3; 4]) -> f32 {
    between(shares(kind, closest_weights(kind, at)), at).length()
}

/// What a vertex may move where a pair of it is not listed: half of what the pair may come nearer.
pub(super) fn bound_pair(bounds: &mut Write<'_, u32>, thickness: f32, pair: [u32; 4], apart: f32) {
    let most = 0.5 * (SHARE * apart).min(apart - FLOOR * thickness).max(0.0);
    for vertex in pair {
        bounds[vertex as usize] = bounds[vertex as usize].min(most.to_bits());
    }
}

fn find_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let [listing, ..] = run.arguments();
    let listing = listing == 1;
    let clearance = run.one::<Clearance>("clearance")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let features = run.read::<[u32; 4]>("features")?;
    let boxes = run.read::<Extent>("boxes")?;
    let bucket_ends = run.read::<u32>("bucket_ends")?;
    let sorted = run.read::<Sorted>("sorted")?;
    let mut pair_starts = run.write::<u32>("pair_starts")?;
    let mut pairs = run.write::<[u32; 4]>("pairs")?;
    let mut bounds = run.write::<u32>("bounds")?;
    let place_of = |vertex: u32| vertices[vertex as usize].position;
    let mut around = Around::default();
    for owner in run.range() {
        let edge = owner >= clearance.vertices as usize;
        let kind = if edge { EDGES } else { VERTEX_TRIANGLE };
        let item = clearance.triangles + (owner as u32).saturating_sub(clearance.vertices);
        let (own, place, inverse) = if edge {
            (features[item as usize], boxes[item as usize], nearness.inverse_cells.y)
        } else {
            let place = Extent { center: vertices[owner].position, ..Extent::default() };
            ([owner as u32; 4], place, nearness.inverse_cells.x)
        };
        let mut slot = if listing { pair_starts[owner] } else { 0 };
        if listing && pair_starts[owner + 1] == slot {
            continue;
        }
        if !listing && !edge {
            bounds[owner] = FAR.to_bits();
        }
        let (center, half) = (place.center.extend(0.0), place.half.extend(0.0));
        let radius = Vec4::splat(nearness.radius);
        for (cell, first, end) in around.at(clearance, bucket_ends, cell_of(place.center, inverse), edge) {
            let found = &sorted[*first as usize..*end as usize];
            // Within a bucket items follow each other by number.
            let later = if edge { found.partition_point(|found| found.item <= item) } else { 0 };
            for found in &found[later..] {
                let [there, there_half] = found.place();
                let near = NEAR * (radius + there_half + half);
                if found.cell != *cell || (there - center).abs().cmpgt(near).bitmask() & 7 != 0 {
                    continue;
                }
                let [x, y, z, _] = features[found.item as usize];
                let (pair, adjacent) = if edge {
                    ([own[0], own[1], x, y], own[..2].contains(&x) || own[..2].contains(&y))
                } else {
                    ([own[0], x, y, z], [x, y, z].contains(&own[0]))
                };
                if adjacent {
                    continue;
                }
                let at = pair.map(place_of);
                if edge && beyond(at, NEAR * nearness.radius) {
                    continue;
                }
                let apart = pair_distance(kind, at);
                if apart > nearness.radius {
                    continue;
                }
                if listing && slot < clearance.capacity {
                    pairs[slot as usize] = pair;
                } else if listing {
                    bound_pair(&mut bounds, clearance.thickness, pair, apart);
                }
                slot += 1;
            }
        }
        if !listing {
            pair_starts[owner] = slot;
        }
    }
    Ok(())
}

/// Whether two edges are farther apart than a distance by what they reach along the line between their middles: less
/// work than to find their closest points, and enough for most.
fn beyond([a, b, c, d]: [Vec3; 4], distance: f32) -> bool {
    let (first, second) = (b - a, d - c);
    let way = (a - c) + 0.5 * (first - second);
    let left = way.length_squared() - 0.5 * (first.dot(way).abs() + second.dot(way).abs());
    left > 0.0 && left * left > distance * distance * way.length_squared()
}

/// The buckets of the 27 cells around a cell. Owners that follow each other often have the same.
#[derive(Default)]
struct Around {
    home: Option<(IVec3, bool)>,
    count: usize,
    /// A cell, packed; where its bucket begins and ends.
    buckets: [(u32, u32, u32); 27],
}

impl Around {
    /// Those that are not empty, in their order.
    fn at(&mut self, clearance: &Clearance, ends: &[u32], home: IVec3, edge: bool) -> &[(u32, u32, u32)] {
        if self.home != Some((home, edge)) {
            (self.home, self.count) = (Some((home, edge)), 0);
            for k in 0..27 {
                let cell = packed(neighbor(home, k));
                let b = bucket(clearance, cell, edge);
                let first = if b > 0 { ends[b - 1] } else { 0 };
                self.buckets[self.count] = (cell, first, ends[b]);
                self.count += usize::from(first < ends[b]);
            }
        }
        &self.buckets[..self.count]
    }
}

fn admit_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let [last, ..] = run.arguments();
    let clearance = run.one::<Clearance>("clearance")?;
    let pair_starts = run.read::<u32>("pair_starts")?;
    let mut found_nearness = run.write::<Nearness>("found_nearness")?;
    let mut own_meters = run.write::<u32>("own_meters")?;
    let demand = pair_starts[last as usize];
    found_nearness[0].demand = demand;
    found_nearness[0].pairs = demand.min(clearance.capacity);
    own_meters[meter::PAIRS as usize] = own_meters[meter::PAIRS as usize].max(demand);
    own_meters[meter::REBUILDS as usize] += 1;
    own_meters[meter::OVERFLOWED as usize] += demand.saturating_sub(clearance.capacity);
    Ok(())
}

fn rest_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let clearance = run.one::<Clearance>("clearance")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let pair_starts = run.read::<u32>("pair_starts")?;
    let pairs = run.read::<[u32; 4]>("pairs")?;
    let rest_places = run.read::<[f32; 4]>("rest_places")?;
    let mut planes = run.write::<Plane>("planes")?;
    for p in listed(run, nearness) {
        let kind = if (p as u32) < pair_starts[clearance.vertices as usize] { VERTEX_TRIANGLE } else { EDGES };
        let rest = pairs[p].map(|vertex| rest_places[vertex as usize]);
        let words = Vec4::from_array(rest.map(|[.., word]| word));
        let piece = (0.5 * words).floor();
        let mut thickness = clearance.thickness;
        if piece.x == piece.w {
            thickness = thickness.min(0.5 * pair_distance(kind, rest.map(xyz)));
        }
        let [a, b, c, d] = (words - 2.0 * piece).to_array().map(|word| word == 1.0);
        let tangled = if clearance.resolves != 0 {
            (a || (kind == EDGES && b)) && (c || d || (kind == VERTEX_TRIANGLE && b))
        } else {
            a && b && c && d
        };
        planes[p] = Plane { thickness, kind: if tangled { NEITHER } else { kind }, ..Plane::default() };
    }
    Ok(())
}

/// Pairs of a call that are listed.
pub(super) fn listed(run: &Run<'_>, nearness: &Nearness) -> std::ops::Range<usize> {
    let range = run.range();
    range.start..range.end.min(nearness.pairs as usize)
}
