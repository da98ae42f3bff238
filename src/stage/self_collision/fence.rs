//! The fence: half-spaces that no vertex leaves in a substep, so that nothing crosses.
//!
//! A pair has a plane between its parts: across the way between the closest points, or, beside a triangle, the plane of
//! the triangle, where that is nearly the same. Any plane between them will do, and layers slide along these. Each side
//! gets a share of the free space between them, by how much it wants to go towards the other, and a vertex may go as
//! far as its side's share, and as it lies behind the nearest point of its side. What goes farther is pushed back along
//! the normal, twice, so that sliding along a layer is left; what is then still too far is shortened on its whole way,
//! which is the guarantee. Shortening alone stops sliding: with it a sheet that glides on another without friction
//! stands still.
//!
//! The last pass shares out anew, by one state of displacements, so that the shares of all pairs fit together.
//!
//! What is pinned or held in place is not shortened, and what it goes towards may not give way as far, because others
//! shorten its way. So whether anything was driven through is looked for in the state that is committed.

use crate::engine::cpu::{Run, Write};
use crate::engine::fields::Domain;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::contact::Contact;
use crate::stage::fields::{Clock, FAR, Vertex};
use crate::stage::freedom::{left_by, rigid};
use crate::stage::self_collision::closest::{
    self, Clearance, EDGES, FLOOR, NEITHER, Nearness, Plane, SHARE, SMALLEST, UNITS, VERTEX_TRIANGLE, at_end, between,
    closest_weights, fixed, floating, kept, responds, shares, sides,
};
use crate::stage::self_collision::meter;
use crate::stage::self_collision::pairs::{bound_pair, listed};
use crate::stage::self_collision::plots::spread;
use crate::stage::self_collision::reach::{BOX, driven};
use crate::vector::{padded, xyz};

static SOURCE: Source =
    Source::new("fence", include_str!("../../../shaders/fence.wgsl")).shares(&[&closest::SOURCE]).constants(&[
        ("LEAST_PART", Constant::F32(LEAST_PART)),
        ("UPRIGHT", Constant::F32(UPRIGHT)),
        ("TRIM", Constant::F32(TRIM)),
        ("ENOUGH", Constant::F32(ENOUGH)),
        ("PINCH", Constant::F32(PINCH)),
        ("TRIMMED", Constant::F32(TRIMMED)),
        ("FORCED", Constant::F32(FORCED)),
        ("PINCHED", Constant::F32(PINCHED)),
        ("PINCHED_VERTICES", Constant::U32(meter::PINCHED)),
        ("FIRST_MARK", Constant::U32(meter::TRIMMED - 1)),
        ("START", Constant::U32(START)),
        ("ROUND", Constant::U32(ROUND)),
        ("FIRM_ROUNDS", Constant::U32(FIRM_ROUNDS)),
        ("FIRST_YIELDED", Constant::F32(FIRST_YIELDED)),
        ("YIELDING", Constant::F32(YIELDING)),
        ("BOX", Constant::U32(BOX as u32)),
        ("SPREADS", Constant::U32(spread::COUNT as u32)),
        ("ACTIVE", Constant::U32(spread::ACTIVE)),
        ("METERS", Constant::U32(meter::COUNT as u32)),
    ]);

/// Smallest part of the free space that a side gets.
const LEAST_PART: f32 = 0.05;
/// Cosine of the angle between the way to the border of a triangle and its normal up to which its plane stands for it.
const UPRIGHT: f32 = 0.95;
/// Part of what is allowed that a shortened way has: rounding must not lead over it.
const TRIM: f32 = 0.999;
/// Part of what a held vertex must give up that counts as all of it.
const ENOUGH: f32 = 0.999;
/// Part of the thickness by which the fence moves a vertex into a solid that counts as pinching it.
const PINCH: f32 = 0.01;

/// Rounds of a substep in which pairs give up none of their thickness.
const FIRM_ROUNDS: u32 = 2;
/// Part of it that they give up in the one after.
const FIRST_YIELDED: f32 = 1.0 / 64.0;
/// How many times more that is in each that follows.
const YIELDING: f32 = 2.0;

/// What begins: a substep, where there are pairs,
pub(super) const START: u32 = 1;
/// a round, where some of them may touch in this substep,
pub(super) const ROUND: u32 = 2;
/// or something else there.
pub(super) const TOUCH: u32 = 0;

/// What the fence did to a vertex: shortened its way.
const TRIMMED: f32 = 1.0;
/// Nothing, though it went too far: it moves as it must.
const FORCED: f32 = 2.0;
/// Moved it into a solid; added to the others.
const PINCHED: f32 = 3.0;

/// Planes of all pairs.
pub(super) static AIM_PAIRS: Kernel =
    Kernel::new("aim_pairs", &SOURCE, aim_pairs_body).pattern(Pattern::Scatter).amplification(AIMED);
/// What vertices go too far.
pub(super) static FENCE_PUSH: Kernel =
    Kernel::new("fence_push", &SOURCE, fence_push_body).pattern(Pattern::Scatter).amplification(AIMED);
/// Takes it back.
pub(super) static FENCE_APPLY: Kernel = Kernel::new("fence_apply", &SOURCE, fence_apply_body)
    .pattern(Pattern::Scatter)
    .aliases(&[("push_words", "pushes"), ("limit_words", "limits"), ("bound_words", "bounds")]);
/// What part of their ways vertices may go.
pub(super) static FENCE_TRIM: Kernel =
    Kernel::new("fence_trim", &SOURCE, fence_trim_body).pattern(Pattern::Scatter).amplification(AIMED);
/// Shortens them.
pub(super) static FENCE_END: Kernel =
    Kernel::new("fence_end", &SOURCE, fence_end_body).pattern(Pattern::Scatter).aliases(&[("limit_words", "limits")]);
/// What was driven through the other part, in the state that is committed.
pub(super) static CHECK_FORCED: Kernel =
    Kernel::new("check_forced", &SOURCE, check_forced_body).pattern(Pattern::Scatter).amplification(AIMED);
/// Account of a substep.
pub(super) static TALLY: Kernel =
    Kernel::new("tally", &SOURCE, tally_body).pattern(Pattern::Scatter).aliases(&[("limit_words", "limits")]);
/// Starts the account of a frame, which begins without a list.
static BEGIN_TALLY: Kernel = Kernel::new("begin_tally", &SOURCE, begin_tally_body).pattern(Pattern::Group).aliases(&[
    ("found_nearness", "nearness"),
    ("box_words", "motion_box"),
    ("spread_words", "spread"),
]);
/// Nothing is left of a frame that was stopped half-way.
static FORGET_PUSHES: Kernel =
    Kernel::new("forget_pushes", &SOURCE, forget_pushes_body).aliases(&[("push_words", "pushes")]);
/// Runs what follows where there are pairs.
static OPEN_PAIRS: Kernel = Kernel::new("open_pairs", &SOURCE, open_pairs_body).pattern(Pattern::Group).aliases(&[
    ("decisions", "guards"),
    ("found_nearness", "nearness"),
    ("found_spread", "spread"),
]);

/// A normal is a difference of positions over a distance that may be a thousandth of them, and that of nearly parallel
/// edges turns with the rounding of their directions.
const AIMED: f32 = 16384.0;

/// Records the start of a frame.
pub(super) fn begin(recorder: &mut Recorder<'_>) {
    recorder.dispatch_range(&BEGIN_TALLY, 0..1, [0; 4]);
    recorder.dispatch(&FORGET_PUSHES, Domain::PUSHES);
}

/// Records what runs only where there are pairs, or where some of them may touch.
pub(super) fn where_pairs(recorder: &mut Recorder<'_>, beginning: u32, body: impl FnOnce(&mut Recorder<'_>)) {
    let open = |recorder: &mut Recorder<'_>, own: u32| {
        let arguments = [own, recorder.guard(), beginning, 0];
        recorder.dispatch_range(&OPEN_PAIRS, 0..1, arguments);
    };
    recorder.repeat_opened(1, open, body);
}

/// Records the pushes of a round, but for the last of them.
pub(super) fn push(recorder: &mut Recorder<'_>) {
    let vertices = recorder.sizes().vertices() as u32;
    recorder.dispatch(&FENCE_PUSH, Domain::PAIRS);
    recorder.dispatch_range(&FENCE_APPLY, 0..vertices, [1, 0, 0, 0]);
    recorder.dispatch(&FENCE_PUSH, Domain::PAIRS);
}

/// Records the end of a round: after it nothing has crossed.
pub(super) fn trim(recorder: &mut Recorder<'_>) {
    let vertices = recorder.sizes().vertices() as u32;
    recorder.dispatch_range(&FENCE_APPLY, 0..vertices, [0, 1, 0, 0]);
    recorder.dispatch(&FENCE_TRIM, Domain::PAIRS);
    recorder.dispatch(&FENCE_END, Domain::VERTICES);
}

fn aim_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let clearance = run.one::<Clearance>("clearance")?;
    let clock = run.one::<Clock>("clock")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let pairs = run.read::<[u32; 4]>("pairs")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let mut planes = run.write::<Plane>("planes")?;
    let mut offsets = run.write::<[f32; 4]>("offsets")?;
    let mut pair_loads = run.write::<[f32; 4]>("pair_loads")?;
    let mut touches = run.write::<u32>("touches")?;
    let mut bounds = run.write::<u32>("bounds")?;
    for p in listed(run, nearness) {
        // It is too far apart for this substep.
        if planes[p].distance < 0.0 {
            continue;
        }
        planes[p].distance = 0.0;
        let (plane, pair) = (planes[p], pairs[p]);
        let at = pair.map(|vertex| vertices[vertex as usize].position);
        let weights = closest_weights(plane.kind, at);
        let share = shares(plane.kind, weights);
        let way = between(share, at);
        let apart = way.length();
        if plane.kind == NEITHER || apart <= SMALLEST {
            pair_loads[p] = [0.0; 4];
            continue;
        }
        let mut normal = way / apart;
        if plane.kind == VERTEX_TRIANGLE && at_end(plane.kind, weights) {
            let face = (at[2] - at[1]).cross(at[3] - at[1]);
            let face = face / face.length().max(SMALLEST);
            let cosine = face.dot(normal);
            if cosine.abs() > UPRIGHT {
                normal = if cosine > 0.0 { face } else { -face };
            }
        }
        let along = [0.0, normal.dot(at[1] - at[0]), normal.dot(at[2] - at[0]), normal.dot(at[3] - at[0])];
        let (low, high) = if plane.kind == EDGES {
            (along[0].min(along[1]), along[2].max(along[3]))
        } else {
            (0.0, along[1].max(along[2].max(along[3])))
        };
        if low - high < 0.5 * apart {
            bound_pair(&mut bounds, plane.thickness, pair, apart);
            pair_loads[p] = [0.0; 4];
            continue;
        }
        let side = sides(plane.kind);
        offsets[p] = std::array::from_fn(|k| if side[k] > 0.0 { along[k] - low } else { high - along[k] });
        let plane = Plane { normal, distance: low - high, weights, ..plane };
        planes[p] = plane;
        if !responds(&plane) {
            pair_loads[p] = [0.0; 4];
            continue;
        }
        let moved = (0..4).map(|k| share[k] * xyz(displacements[pair[k] as usize])).reduce(|a, b| a + b);
        let gap = plane.distance + normal.dot(moved.unwrap_or_default()) - kept(clearance, nearness, &plane, clock.h);
        if gap < 0.0 || pair_loads[p][3] > 0.0 {
            for vertex in pair {
                touches[vertex as usize] += 1;
            }
        }
    }
    Ok(())
}

/// How far the vertices of pairs go towards the other part, and how far they may.
struct Fence<'a> {
    nearness: &'a Nearness,
    pairs: &'a [[u32; 4]],
    planes: &'a [Plane],
    offsets: &'a [[f32; 4]],
    vertices: &'a [Vertex],
    displacements: &'a [[f32; 4]],
    holds: &'a [[f32; 4]],
}

impl<'a> Fence<'a> {
    fn of(run: &mut Run<'a>) -> Result<Self> {
        Ok(Self {
            nearness: run.one::<Nearness>("nearness")?,
            pairs: run.read::<[u32; 4]>("pairs")?,
            planes: run.read::<Plane>("planes")?,
            offsets: run.read::<[f32; 4]>("offsets")?,
            vertices: run.read::<Vertex>("vertices")?,
            displacements: run.read::<[f32; 4]>("displacements")?,
            holds: run.read::<[f32; 4]>("holds")?,
        })
    }

    fn driven(&self, vertex: u32) -> bool {
        driven(&self.vertices[vertex as usize], self.holds[vertex as usize])
    }

    /// What the vertices of a pair want, and what they are allowed.
    fn allowance(&self, p: usize) -> ([f32; 4], [f32; 4]) {
        let (plane, pair, offsets) = (&self.planes[p], self.pairs[p], self.offsets[p]);
        let side = sides(plane.kind);
        let (mut wanted, mut need, mut must) = ([0.0; 4], [0.0f32; 2], [0.0f32; 2]);
        for k in 0..4 {
            let way = xyz(self.displacements[pair[k] as usize]) - self.nearness.drift;
            wanted[k] = -side[k] * plane.normal.dot(way);
            let beyond = wanted[k] - offsets[k];
            let part = usize::from(side[k] <= 0.0);
            need[part] = need[part].max(beyond);
            if self.driven(pair[k]) {
                must[part] = must[part].max(beyond);
            }
        }
        let free = (SHARE * plane.distance).min(plane.distance - FLOOR * plane.thickness).max(0.0);
        let both = need[0] + need[1];
        let part = if both > 0.0 { (need[0] / both.max(SMALLEST)).clamp(LEAST_PART, 1.0 - LEAST_PART) } else { 0.5 };
        let first = (part * free).max(must[0]).min((free - must[1]).max(must[0]));
        let second = (free - first).max(0.0);
        (wanted, std::array::from_fn(|k| offsets[k] + if side[k] > 0.0 { first } else { second }))
    }

    /// Vertices of a pair that moved as they must, towards a part that did not give way as far.
    fn forced(&self, p: usize) -> impl Iterator<Item = u32> {
        let (plane, pair, offsets) = (&self.planes[p], self.pairs[p], self.offsets[p]);
        let side = sides(plane.kind);
        let beyond: [f32; 4] = std::array::from_fn(|k| {
            let way = xyz(self.displacements[pair[k] as usize]) - self.nearness.drift;
            -side[k] * plane.normal.dot(way) - offsets[k]
        });
        let most = |part: f32| (0..4).filter(|k| side[*k] == part).map(|k| beyond[k]).fold(-FAR, f32::max);
        let through = most(1.0) + most(-1.0) > plane.distance;
        (0..4).filter(move |k| through && beyond[*k] > 0.0).map(move |k| pair[k]).filter(|v| self.driven(*v))
    }
}

fn fence_push_body(run: &mut Run<'_>) -> Result<()> {
    let fence = Fence::of(run)?;
    let mut pushes = run.write::<u32>("pushes")?;
    let units = UNITS / fence.nearness.radius;
    for p in listed(run, fence.nearness).filter(|p| fence.planes[*p].distance > 0.0) {
        let (plane, side) = (&fence.planes[p], sides(fence.planes[p].kind));
        let (wanted, allowed) = fence.allowance(p);
        for k in 0..4 {
            let v = fence.pairs[p][k];
            let over = wanted[k] - allowed[k];
            if over > 0.0 && !fence.driven(v) {
                add(&mut pushes, v, fixed((side[k] * over * units) * plane.normal));
            }
        }
    }
    Ok(())
}

/// Adds to the sum of a vertex, and counts it.
pub(super) fn add(pushes: &mut Write<'_, u32>, vertex: u32, words: [u32; 3]) {
    let [x, y, z, count] = std::array::from_fn(|word| 4 * vertex as usize + word);
    for (word, value) in [x, y, z].into_iter().zip(words) {
        pushes[word] = pushes[word].wrapping_add(value);
    }
    pushes[count] += 1;
}

/// Takes the sum of a vertex, if it has any, and how many there were.
pub(super) fn take(push_words: &mut Write<'_, u32>, v: usize) -> Option<(glam::Vec3, u32)> {
    let words = push_words.part(4 * v..4 * v + 4);
    let [x, y, z, count] = [words[0], words[1], words[2], words[3]];
    words.fill(0);
    (count > 0).then(|| (floating([x, y, z]), count))
}

/// What a vertex gives up of its way.
pub(super) struct Back {
    pub(super) way: glam::Vec3,
    /// Whether that is enough.
    mark: f32,
}

/// What a vertex can give up of a part of its way: as much as its hold lets it.
pub(super) fn given_up(vertex: &Vertex, hold: [f32; 4], way: glam::Vec3) -> Back {
    if driven(vertex, hold) {
        return Back { way: glam::Vec3::ZERO, mark: FORCED };
    }
    let left = left_by(rigid(hold), way);
    Back { way: left, mark: if left.length() < ENOUGH * way.length() { FORCED } else { TRIMMED } }
}

fn fence_apply_body(run: &mut Run<'_>) -> Result<()> {
    let [first, last, ..] = run.arguments();
    let nearness = run.one::<Nearness>("nearness")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let holds = run.read::<[f32; 4]>("holds")?;
    let bound_words = run.read::<f32>("bound_words")?;
    let contacts = run.read::<Contact>("contacts")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut push_words = run.write::<u32>("push_words")?;
    let mut limit_words = run.write::<f32>("limit_words")?;
    let mut marks = run.write::<[f32; 2]>("marks")?;
    for v in run.range() {
        let [mut mark, mut inward] = if first == 1 { [0.0; 2] } else { marks[v] };
        let before = xyz(displacements[v]);
        let mut u = before;
        if let Some((sum, count)) = take(&mut push_words, v) {
            u += left_by(rigid(holds[v]), (nearness.radius / (UNITS * count as f32)) * sum);
        }
        if last == 1 {
            limit_words[v] = 1.0;
            let way = u - nearness.drift;
            let extent = way.length();
            if extent > bound_words[v] {
                let back = given_up(&vertices[v], holds[v], (1.0 - bound_words[v] / extent) * way);
                mark = back.mark;
                u -= back.way;
            }
        }
        if contacts[v].solid != 0 {
            inward -= (u - before).dot(contacts[v].normal);
        }
        marks[v] = [mark, inward];
        displacements[v] = padded(u);
    }
    Ok(())
}

fn fence_trim_body(run: &mut Run<'_>) -> Result<()> {
    let fence = Fence::of(run)?;
    let mut limits = run.write::<u32>("limits")?;
    for p in listed(run, fence.nearness).filter(|p| fence.planes[*p].distance > 0.0) {
        let (wanted, allowed) = fence.allowance(p);
        for k in 0..4 {
            let v = fence.pairs[p][k];
            let limit = &mut limits[v as usize];
            if wanted[k] > allowed[k] {
                *limit = (*limit).min((TRIM * (allowed[k].max(0.0) / wanted[k])).to_bits());
            }
        }
    }
    Ok(())
}

fn fence_end_body(run: &mut Run<'_>) -> Result<()> {
    let clearance = run.one::<Clearance>("clearance")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let holds = run.read::<[f32; 4]>("holds")?;
    let limit_words = run.read::<f32>("limit_words")?;
    let contacts = run.read::<Contact>("contacts")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut marks = run.write::<[f32; 2]>("marks")?;
    for v in run.range() {
        let (part, [mut mark, mut inward]) = (limit_words[v], marks[v]);
        if part < 1.0 {
            let u = xyz(displacements[v]);
            let back = given_up(&vertices[v], holds[v], (1.0 - part) * (u - nearness.drift));
            if contacts[v].solid != 0 {
                inward += back.way.dot(contacts[v].normal);
            }
            displacements[v] = padded(u - back.way);
            mark = back.mark;
        }
        if inward > PINCH * clearance.thickness && mark < PINCHED {
            mark += PINCHED;
        }
        marks[v] = [mark, inward];
    }
    Ok(())
}

fn check_forced_body(run: &mut Run<'_>) -> Result<()> {
    let fence = Fence::of(run)?;
    let mut limits = run.write::<u32>("limits")?;
    for p in listed(run, fence.nearness).filter(|p| fence.planes[*p].distance > 0.0) {
        for v in fence.forced(p) {
            limits[v as usize] = 0;
        }
    }
    Ok(())
}

fn tally_body(run: &mut Run<'_>) -> Result<()> {
    let vertices = run.read::<Vertex>("vertices")?;
    let holds = run.read::<[f32; 4]>("holds")?;
    let limit_words = run.read::<f32>("limit_words")?;
    let marks = run.read::<[f32; 2]>("marks")?;
    let mut own_meters = run.write::<u32>("own_meters")?;
    for v in run.range() {
        let mut mark = marks[v][0] as u32;
        if mark >= PINCHED as u32 {
            mark -= PINCHED as u32;
            own_meters[meter::PINCHED as usize] += 1;
        }
        if limit_words[v] == 0.0 && driven(&vertices[v], holds[v]) {
            mark = FORCED as u32;
        }
        if mark > 0 {
            own_meters[(meter::TRIMMED - 1 + mark) as usize] += 1;
        }
    }
    Ok(())
}

fn begin_tally_body(run: &mut Run<'_>) -> Result<()> {
    run.write::<u32>("own_meters")?.part(0..meter::COUNT).fill(0);
    let mut found_nearness = run.write::<Nearness>("found_nearness")?;
    found_nearness[0].begun = 0;
    found_nearness[0].pairs = 0;
    run.write::<u32>("box_words")?.part(0..BOX).fill(0);
    run.write::<f32>("spread_words")?.part(0..spread::COUNT).fill(0.0);
    Ok(())
}

fn forget_pushes_body(run: &mut Run<'_>) -> Result<()> {
    let mut push_words = run.write::<u32>("push_words")?;
    for k in run.range() {
        push_words[k] = 0;
    }
    Ok(())
}

fn open_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let [own, parent, beginning, _] = run.arguments();
    let clearance = run.one::<Clearance>("clearance")?;
    let found_spread = run.read::<u32>("found_spread")?;
    let mut found_nearness = run.write::<Nearness>("found_nearness")?;
    let mut decisions = run.write::<u32>("decisions")?;
    let near = &mut found_nearness[0];
    let touch = found_spread[spread::ACTIVE as usize] > 0 || near.demand > clearance.capacity;
    let begins = if beginning == START { near.pairs > 0 } else { touch };
    decisions[own as usize] = if begins { decisions[parent as usize] } else { 0 };
    if decisions[own as usize] == 0 {
        return Ok(());
    }
    if beginning == START {
        (near.rounds, near.yielded) = (0, 0.0);
    }
    if beginning == ROUND {
        near.rounds += 1;
        let first = near.rounds == FIRM_ROUNDS + 1;
        near.yielded = if first { FIRST_YIELDED } else { (YIELDING * near.yielded).min(1.0) };
    }
    Ok(())
}
