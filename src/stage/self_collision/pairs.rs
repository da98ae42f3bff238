//! The list of pairs: every vertex and triangle, and every two edges, without a common vertex, that are within a radius
//! of each other. Counted, then listed, so that what is needed is known whatever there is room for.
//!
//! A vertex or an edge has the radius of its plot, and is searched for only where the list of that plot is made anew:
//! in the plots that are near, and there among triangles and edges. The others keep their pairs. Of two edges the one
//! of the smaller number has the pair; edges are numbered plot by plot.

use glam::{Vec3, Vec4};

use crate::engine::cpu::{Run, Write};
use crate::engine::fields::Domain;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::fields::{FAR, Vertex};
use crate::stage::self_collision::closest::{
    self, Clearance, EDGES, FLOOR, NEITHER, Nearness, Plane, SHARE, VERTEX_TRIANGLE, between, closest_weights, shares,
};
use crate::stage::self_collision::plots::{self, Listing, Plot, each_near, near};
use crate::stage::self_collision::{meter, scan};
use crate::vector::xyz;

static SOURCE: Source =
    Source::new("pairs", include_str!("../../../shaders/pairs.wgsl")).shares(&[&closest::SOURCE]).constants(&[
        ("BLOCK", Constant::U32(plots::BLOCK as u32)),
        ("NEAR", Constant::F32(NEAR)),
        ("PAIRS", Constant::U32(meter::PAIRS)),
        ("REBUILDS", Constant::U32(meter::REBUILDS)),
        ("OVERFLOWED", Constant::U32(meter::OVERFLOWED)),
    ]);

/// How much farther than the radius boxes may be apart: rounding of their ends.
const NEAR: f32 = 1.0001;

/// Counts or lists the pairs of a vertex or of an edge that has them already.
static REUSE_PAIRS: Kernel = Kernel::new("reuse_pairs", &SOURCE, reuse_pairs_body).pattern(Pattern::Scatter);
/// Counts or lists the pairs of a vertex or of an edge that must be searched for.
static FIND_PAIRS: Kernel =
    Kernel::new("find_pairs", &SOURCE, find_pairs_body).pattern(Pattern::Scatter).aliases(&[("surveyed", "plots")]);
/// Notes what was found.
static ADMIT_PAIRS: Kernel = Kernel::new("admit_pairs", &SOURCE, admit_pairs_body)
    .pattern(Pattern::Group)
    .aliases(&[("found_nearness", "nearness")]);
/// Kind and thickness of every pair.
static REST_PAIRS: Kernel = Kernel::new("rest_pairs", &SOURCE, rest_pairs_body).pattern(Pattern::Scatter);

/// Records the search.
pub(super) fn record(recorder: &mut Recorder<'_>) {
    let owners = recorder.sizes().of(Domain::OWNERS) as u32;
    // One word more has the sum of all.
    let last = owners - 1;
    let plots = recorder.sizes().of(Domain::PLOTS) as u32;
    recorder.dispatch_range(&REUSE_PAIRS, 0..last, [0; 4]);
    recorder.dispatch_range(&FIND_PAIRS, 0..last, [0, plots, 0, 0]);
    scan::record(recorder, owners as usize, &[("counts", "pair_starts")]);
    recorder.dispatch_range(&ADMIT_PAIRS, 0..1, [last, 0, 0, 0]);
    recorder.dispatch_range(&REUSE_PAIRS, 0..last, [1, 0, 0, 0]);
    recorder.dispatch_range(&FIND_PAIRS, 0..last, [1, plots, 0, 0]);
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

fn reuse_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let [listing, ..] = run.arguments();
    let clearance = run.one::<Clearance>("clearance")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let owner_plots = run.read::<u32>("owner_plots")?;
    let listings = run.read::<Listing>("listings")?;
    let old_starts = run.read::<u32>("old_starts")?;
    let old_pairs = run.read::<[u32; 4]>("old_pairs")?;
    let mut pair_starts = run.write::<u32>("pair_starts")?;
    let mut pairs = run.write::<[u32; 4]>("pairs")?;
    let mut bounds = run.write::<u32>("bounds")?;
    for owner in run.range() {
        let edge = owner >= clearance.vertices as usize;
        if listing == 0 && !edge {
            bounds[owner] = FAR.to_bits();
        }
        if listings[owner_plots[owner] as usize].stale == 1 {
            continue;
        }
        let (first, end) = (old_starts[owner], old_starts[owner + 1]);
        if listing == 0 {
            pair_starts[owner] = end - first;
            continue;
        }
        let slot = pair_starts[owner];
        for k in 0..end - first {
            let pair = old_pairs[(first + k) as usize];
            if slot + k < clearance.capacity {
                pairs[(slot + k) as usize] = pair;
            } else {
                let kind = if edge { EDGES } else { VERTEX_TRIANGLE };
                let apart = pair_distance(kind, pair.map(|vertex| vertices[vertex as usize].position));
                bound_pair(&mut bounds, clearance.thickness, pair, apart);
            }
        }
    }
    Ok(())
}

fn find_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let [listing, count, ..] = run.arguments();
    let listing = listing == 1;
    let clearance = run.one::<Clearance>("clearance")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let features = run.read::<[u32; 4]>("features")?;
    let owner_plots = run.read::<u32>("owner_plots")?;
    let listings = run.read::<Listing>("listings")?;
    let plots = run.read::<Plot>("surveyed")?;
    let mut pair_starts = run.write::<u32>("pair_starts")?;
    let mut pairs = run.write::<[u32; 4]>("pairs")?;
    let mut bounds = run.write::<u32>("bounds")?;
    let place_of = |vertex: u32| vertices[vertex as usize].position;
    let mut around = Around { vertices, features, listings, plots, count: count as usize, ..Around::default() };
    for owner in run.range() {
        let home = owner_plots[owner];
        let list = &listings[home as usize];
        if list.stale == 0 || (listing && pair_starts[owner + 1] == pair_starts[owner]) {
            continue;
        }
        let edge = owner >= clearance.vertices as usize;
        let item = (clearance.triangles + owner as u32).wrapping_sub(clearance.vertices);
        let (kind, own) = if edge { (EDGES, features[item as usize]) } else { (VERTEX_TRIANGLE, [owner as u32; 4]) };
        let own_box = box_of(vertices, &own[..2]);
        let reach = Vec4::splat(NEAR * list.radius);
        let mut slot = if listing { pair_starts[owner] } else { 0 };
        around.at(home as usize, edge);
        // An edge has its pairs with those of larger numbers.
        let later = if edge { item as usize + 1 } else { 0 };
        for strip in &around.strips {
            if strip.end <= later || !near(own_box, strip.around, reach) {
                continue;
            }
            let first = strip.first.max(later);
            let boxes = &around.boxes[strip.boxes + (first - strip.first)..strip.boxes + (strip.end - strip.first)];
            for (number, other_box) in boxes.iter().enumerate() {
                if !near(own_box, *other_box, reach) {
                    continue;
                }
                let [x, y, z, _] = features[first + number];
                let (pair, adjacent) = if edge {
                    ([own[0], own[1], x, y], own[..2].contains(&x) || own[..2].contains(&y))
                } else {
                    ([own[0], x, y, z], [x, y, z].contains(&own[0]))
                };
                if adjacent {
                    continue;
                }
                let at = pair.map(place_of);
                if edge && beyond(at, NEAR * list.radius) {
                    continue;
                }
                let apart = pair_distance(kind, at);
                if apart > list.radius {
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

/// Box of vertices.
#[inline(always)]
fn box_of(vertices: &[Vertex], corners: &[u32]) -> [Vec4; 2] {
    let first = vertices[corners[0] as usize].place();
    corners[1..].iter().fold([first; 2], |[low, high], corner| {
        let at = vertices[*corner as usize].place();
        [low.min(at), high.max(at)]
    })
}

/// Whether two edges are farther apart than a distance by what they reach along the line between their middles: less
/// work than to find their closest points, and enough for most.
fn beyond([a, b, c, d]: [Vec3; 4], distance: f32) -> bool {
    let (first, second) = (b - a, d - c);
    let way = (a - c) + 0.5 * (first - second);
    let left = way.length_squared() - 0.5 * (first.dot(way).abs() + second.dot(way).abs());
    left > 0.0 && left * left > distance * distance * way.length_squared()
}

/// Triangles or edges that follow each other in a plot.
#[derive(Debug)]
struct Strip {
    /// Their box.
    around: [Vec4; 2],
    /// The first, and the one after the last.
    first: usize,
    end: usize,
    /// Where their boxes begin.
    boxes: usize,
}

/// What is near a plot. Owners that follow each other often have the same.
#[derive(Debug, Default)]
struct Around<'a> {
    vertices: &'a [Vertex],
    features: &'a [[u32; 4]],
    listings: &'a [Listing],
    plots: &'a [Plot],
    /// Plots without blocks.
    count: usize,
    home: Option<(usize, bool)>,
    strips: Vec<Strip>,
    boxes: Vec<[Vec4; 2]>,
}

/// Triangles or edges of a strip.
const STRIP: usize = 8;

impl Around<'_> {
    /// Looks at a plot, for its edges or for its vertices. Those before it have their pairs of edges with this one.
    fn at(&mut self, home: usize, edge: bool) {
        if self.home == Some((home, edge)) {
            return;
        }
        self.home = Some((home, edge));
        let Self { vertices, features, listings, plots, count, strips, boxes, .. } = self;
        strips.clear();
        boxes.clear();
        let own = [plots[home].low, plots[home].high];
        let reach = Vec4::splat(NEAR * listings[home].radius);
        each_near(plots, *count, own, reach, |plot| {
            let list = &listings[plot];
            let (items, corners) = if !edge {
                (list.first_triangle as usize..list.end_triangle as usize, 3)
            } else if plot >= home {
                (list.first_edge as usize..list.end_edge as usize, 2)
            } else {
                return;
            };
            for first in items.clone().step_by(STRIP) {
                let (end, start) = ((first + STRIP).min(items.end), boxes.len());
                boxes.extend(features[first..end].iter().map(|feature| box_of(vertices, &feature[..corners])));
                let all = |[low, high]: [Vec4; 2], one: &[Vec4; 2]| [low.min(one[0]), high.max(one[1])];
                let around = boxes[start + 1..].iter().fold(boxes[start], all);
                if near(own, around, reach) {
                    strips.push(Strip { around, first, end, boxes: start });
                } else {
                    boxes.truncate(start);
                }
            }
        });
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
    found_nearness[0].begun = 1;
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
        // Where they are farther apart, half of it is no less.
        let far = kind == EDGES && beyond(rest.map(xyz), NEAR * 2.0 * thickness);
        if piece.x == piece.w && !far {
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
