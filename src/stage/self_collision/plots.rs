//! Plots: the cloth in patches of a few triangles that lie together at rest, and how they move.
//!
//! A list of pairs within a radius r stays complete for as long as nothing that is not listed can have come nearer than
//! the floor. What counts for that is how two parts move *relative to each other*, and less still: motion that both
//! have in common as one rigid body brings nothing nearer. With u = t + ω × x + ρ for the vertices of two plots, and
//! any ω, two of their points that are y apart are
//!
//! |y + τ (ω × y + ρ_a − ρ_b)| ≥ |y| − τ |ρ_a − ρ_b| ,
//!
//! since ω × y is across y, at every time τ of the substep. A bad ω costs and is not unsafe; here it is that of the
//! corners of a plot, and for two plots the mean of theirs. A sheet that swings turns much and bends little between
//! neighbors: with plots of 4 edges the largest |ρ_a − ρ_b| of `hang` 71 × 71 is 1.1 mm per substep, |u_a − u_b| 1.6;
//! with plots of 8 edges it is 1.3 and 1.9. The means over all plots of 4 edges are 0.2 and 0.5.
//!
//! **Wear.** Every vertex and every edge belongs to a plot that has it, and the plot's list has what was within its
//! radius r of them when it was made. Since then the plot adds up what it and those whose boxes are within reach, the
//! largest radius, may have come nearer in each substep (its *wear*). What was beyond it needs not be looked at: it
//! cannot be nearer when it comes into that range, which boxes before and after a substep tell. So what is not listed
//! is farther than r less the wear, and a plot needs another list when the wear of the substep to come may lead below
//! the thickness. Each plot has a radius and a list of its own: most of a sheet moves little beside its neighbors, and
//! is not searched where some of it is. Every triangle is whole in one plot, with its corners and sides.
//!
//! The same sum with the displacements that shall be committed is what makes lists complete for this substep. Where it
//! is not enough, all ways are shortened by one common part, which is safe and rare: lists are made anew in time if the
//! motion of the substep before asks for it. One survey per substep is enough for both.

use glam::{Vec3, Vec4};

use crate::engine::cpu::Run;
use crate::engine::fields::Domain;
use crate::engine::layout::element;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::fields::{FAR, Vertex};
use crate::stage::self_collision::closest::{self, Clearance, FLOOR, Nearness};
use crate::stage::self_collision::meter;

static SOURCE: Source =
    Source::new("plots", include_str!("../../../shaders/plots.wgsl")).shares(&[&closest::SOURCE]).constants(&[
        ("AHEAD", Constant::F32(AHEAD)),
        ("BATCH", Constant::F32(BATCH)),
        ("LASTING", Constant::F32(LASTING)),
        ("SHORT_LASTING", Constant::F32(SHORT_LASTING)),
        ("CROWD", Constant::F32(CROWD)),
        ("LEAST_MARGIN", Constant::F32(LEAST_MARGIN)),
        ("TANGLED", Constant::U32(meter::TANGLED)),
        ("STEADY", Constant::F32(STEADY)),
        ("ROUNDED", Constant::F32(ROUNDED)),
        ("CORNERS", Constant::U32(CORNERS as u32)),
        ("BLOCK", Constant::U32(BLOCK as u32)),
        ("MOTION", Constant::U32(spread::MOTION)),
        ("NEED", Constant::U32(spread::NEED)),
        ("EXCESS", Constant::U32(spread::EXCESS)),
    ]);

/// How much farther than in the substep before vertices may go: changes of speed, and what projections add. With 1.5 a
/// heap of 71 × 71 is slowed down in 11 of 600 substeps where it meets the ground, and with 2.5 one of 24 × 24 never.
pub(super) const AHEAD: f32 = 2.5;
/// Substeps before the end of its list at which a plot gets another, where any does.
const BATCH: f32 = 4.0;
/// Substeps that a list should last for, if the relative motion stays as it is.
const LASTING: f32 = 16.0;
/// The same where pairs are many: a larger radius lists more of them than it saves lists.
const SHORT_LASTING: f32 = 4.0;
/// Pairs are many from one in so many of those that there is room for.
const CROWD: f32 = 16.0;
/// Least that a radius has beyond the thickness, as a part of it.
pub(super) const LEAST_MARGIN: f32 = 0.5;
/// Edges along the side of a plot.
const SIDE: f32 = 4.0;
/// Plots along the side of a block of them, which have numbers that follow each other.
const BLOCK_SIDE: i64 = 4;
/// Plots that are looked at together.
pub(super) const BLOCK: usize = (BLOCK_SIDE * BLOCK_SIDE) as usize;
/// Most plots: each of them is compared with all blocks in every substep.
const MOST_PLOTS: usize = 4096;
/// Most blocks.
const MOST_BLOCKS: usize = MOST_PLOTS / BLOCK;
/// Vertices of a plot that tell how it turns.
const CORNERS: usize = 4;
/// Part of their moment of inertia by which corners in one line are kept from turning about it.
const STEADY: f32 = 1e-3;
/// Rounding of positions and their sums in a substep, as a part of the largest coordinate: eight steps.
const ROUNDED: f32 = 4.8e-7;

/// Words of what plots have come to.
pub(super) mod spread {
    /// Largest relative motion of the substep \[m\].
    pub(in crate::stage::self_collision) const MOTION: u32 = 0;
    /// By how much the wear of a plot after the substep, with what may come, is too large for its list \[m\].
    pub(in crate::stage::self_collision) const NEED: u32 = 1;
    /// Part by which ways must be shortened.
    pub(in crate::stage::self_collision) const EXCESS: u32 = 2;
    /// Largest relative speed of listed pairs in this frame \[m/s\].
    pub(in crate::stage::self_collision) const SPEED: u32 = 3;
    /// Pairs that may touch in this substep,
    pub(in crate::stage::self_collision) const ACTIVE: u32 = 4;
    /// and in the one before.
    pub(in crate::stage::self_collision) const PAST: u32 = 5;
    /// Number of words.
    pub(in crate::stage::self_collision) const COUNT: usize = 6;
}

element! {
    /// A plot in a substep.
    pub(crate) struct Plot {
        /// Lower corner of the box of its vertices, before and after the substep \[m\]; rounding of positions \[m\].
        pub(crate) low: Vec4,
        /// Upper corner \[m\]; largest distance of a vertex from the center \[m\].
        pub(crate) high: Vec4,
        /// What it turns about \[m\].
        pub(crate) center: Vec4,
        /// By how much it turns.
        pub(crate) turn: Vec4,
        /// Middle of the box of what vertices move beside the turning \[m\].
        pub(crate) middle: Vec4,
        /// Half of that box \[m\].
        pub(crate) half: Vec4,
    }
}

element! {
    /// The list of a plot.
    pub(crate) struct Listing {
        /// Radius within which its pairs are listed \[m\]; 0 where they are not.
        pub(crate) radius: f32,
        /// What may have come nearer to it since then \[m\].
        pub(crate) wear: f32,
        /// What came nearer to it in the substep before \[m\].
        pub(crate) past: f32,
        /// 1 where the list is made anew.
        pub(crate) stale: u32,
        /// Its triangles and edges, from the first to the one after the last, as items.
        pub(crate) first_triangle: u32,
        pub(crate) end_triangle: u32,
        pub(crate) first_edge: u32,
        pub(crate) end_edge: u32,
    }
}

/// Whether two boxes are within a reach of each other.
pub(super) fn near([low, high]: [Vec4; 2], [other_low, other_high]: [Vec4; 2], reach: Vec4) -> bool {
    let gap = (low - other_high).max(other_low - high);
    gap.cmpgt(reach).bitmask() & 7 == 0
}

impl Plot {
    /// How much nearer two points of two plots may come \[m\].
    fn nearer(&self, other: &Self) -> f32 {
        let [turn, other_turn] = [self.turn.truncate(), other.turn.truncate()];
        let between = (self.center - other.center).truncate();
        let moved = (self.middle - other.middle).truncate() - (0.5 * (turn + other_turn)).cross(between);
        let most = moved.abs() + (self.half + other.half).truncate();
        let differ = 0.5 * turn.distance(other_turn);
        most.length() + (self.low.w + other.low.w) + differ * (self.high.w + other.high.w)
    }
}

/// Boxes and motion of all plots.
static SURVEY_PLOTS: Kernel =
    Kernel::new("survey_plots", &SOURCE, survey_plots_body).pattern(Pattern::Scatter).amplification(1.0 / STEADY);
/// Boxes around blocks of plots.
static BOUND_BLOCKS: Kernel = Kernel::new("bound_blocks", &SOURCE, bound_blocks_body).pattern(Pattern::Scatter);
/// Relative motion of those that are near each other.
static COMPARE_PLOTS: Kernel = Kernel::new("compare_plots", &SOURCE, compare_plots_body)
    .pattern(Pattern::Scatter)
    .aliases(&[("surveyed", "plots")]);
/// Adds the motion of a substep to the wear, and remembers it for the next.
static WEAR_PLOTS: Kernel =
    Kernel::new("wear_plots", &SOURCE, wear_plots_body).pattern(Pattern::Scatter).aliases(&[("worn", "listings")]);
/// Plots that get another list, and its radius.
static RENEW_PLOTS: Kernel =
    Kernel::new("renew_plots", &SOURCE, renew_plots_body).pattern(Pattern::Scatter).aliases(&[("worn", "listings")]);

/// Records the comparison of all plots.
pub(super) fn compare(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&SURVEY_PLOTS, Domain::PLOTS);
    let [plots, boxes] = [Domain::PLOTS, Domain::PLOT_BOXES].map(|domain| recorder.sizes().of(domain) as u32);
    recorder.dispatch_range(&BOUND_BLOCKS, 0..boxes - plots, [plots, 0, 0, 0]);
    recorder.dispatch_range(&COMPARE_PLOTS, 0..plots, [plots, 0, 0, 0]);
}

/// So many plots and their blocks.
pub(super) fn boxes(plots: usize) -> usize {
    plots + plots.div_ceil(BLOCK)
}

/// Records which plots get another list.
pub(super) fn renew(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&RENEW_PLOTS, Domain::PLOTS);
}

/// Records what plots are about to do, where no substep of the frame tells.
pub(super) fn foresee(recorder: &mut Recorder<'_>) {
    compare(recorder);
    let plots = recorder.sizes().of(Domain::PLOTS) as u32;
    recorder.dispatch_range(&WEAR_PLOTS, 0..plots, [1, 0, 0, 0]);
}

/// Records that a substep is over. What it moved was looked at in its last round, and the last substep of a frame may
/// have gone back to an earlier one; the next frame begins with a new list.
pub(super) fn wear(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&WEAR_PLOTS, Domain::PLOTS);
}

/// Plots and words to expect of so many vertices; plots share those of their borders.
pub(super) fn expected(vertices: usize) -> [usize; 2] {
    let plots = vertices.div_ceil((SIDE * SIDE) as usize).min(MOST_PLOTS);
    [plots, plots + 1 + 2 * vertices]
}

/// Plots of a cloth at rest.
pub(super) struct Patches {
    /// Where the vertices of each begin, then the vertices, its corners first.
    pub(super) words: Vec<u32>,
    /// Plot of every triangle.
    pub(super) of: Vec<usize>,
    pub(super) count: usize,
}

/// Plots of a cloth at rest. Vertices of no triangle are in the first.
pub(super) fn patches(positions: &[[f32; 3]], triangles: &[[u32; 3]], pieces: &[u32], edge: f32) -> Patches {
    let mut side = SIDE * edge;
    // Pieces have plots of their own, unless they are as many as plots.
    let apart = pieces.iter().max().is_none_or(|last| (*last as usize) < MOST_PLOTS / 2);
    // Larger until they are few; a factor of √2 halves their number on a surface.
    let plots = loop {
        let cell = |triangle: &[u32; 3]| {
            let sum =
                |axis: usize| triangle.iter().map(|corner| f64::from(positions[*corner as usize][axis])).sum::<f64>();
            let cell: [i64; 3] = std::array::from_fn(|axis| (sum(axis) / 3.0 / f64::from(side)).floor() as i64);
            (if apart { pieces[triangle[0] as usize] } else { 0 }, cell.map(|x| x.div_euclid(BLOCK_SIDE)), cell)
        };
        let cells: Vec<_> = triangles.iter().map(cell).collect();
        let mut names = cells.clone();
        names.sort_unstable();
        names.dedup();
        if names.len() <= MOST_PLOTS {
            let number = |cell| names.binary_search(cell).unwrap_or_default();
            break cells.iter().map(number).collect::<Vec<usize>>();
        }
        side *= std::f32::consts::SQRT_2;
    };
    let count = plots.iter().max().map_or(0, |last| last + 1);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut loose = vec![true; positions.len()];
    for (triangle, plot) in triangles.iter().zip(&plots) {
        members[*plot].extend(triangle);
        triangle.iter().for_each(|corner| loose[*corner as usize] = false);
    }
    if let Some(first) = members.first_mut() {
        first.extend((0..positions.len() as u32).filter(|vertex| loose[*vertex as usize]));
    }
    let mut words = Vec::with_capacity(count + 1 + 2 * positions.len());
    let mut end = count as u32 + 1;
    for list in &mut members {
        list.sort_unstable();
        list.dedup();
        lead_with_corners(list, positions);
        words.push(end);
        end += list.len() as u32;
    }
    words.push(end);
    words.extend(members.into_iter().flatten());
    Patches { words, of: plots, count }
}

/// Brings to the front of a list vertices that are far from each other, again and again the one that is farthest from
/// those before it; a single triangle has one twice.
fn lead_with_corners(list: &mut Vec<u32>, positions: &[[f32; 3]]) {
    let place = |vertex: u32| Vec3::from(positions[vertex as usize]);
    while list.len() < CORNERS {
        list.push(list[0]);
    }
    for first in 1..CORNERS {
        let far = |vertex: &u32| {
            let gaps = list[..first].iter().map(|corner| place(*vertex).distance_squared(place(*corner)));
            gaps.fold(f32::INFINITY, f32::min)
        };
        let farthest = (first..list.len()).max_by(|a, b| far(&list[*a]).total_cmp(&far(&list[*b])));
        list.swap(first, farthest.unwrap_or(first));
    }
}

fn survey_plots_body(run: &mut Run<'_>) -> Result<()> {
    let plot_words = run.read::<u32>("plot_words")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let mut plots = run.write::<Plot>("plots")?;
    let mut spread = run.write::<u32>("spread")?;
    let here = |v: u32| (vertices[v as usize].place(), Vec4::from_array(displacements[v as usize]));
    for p in run.range() {
        if p == 0 {
            for word in [spread::MOTION, spread::NEED, spread::EXCESS] {
                spread[word as usize] = 0;
            }
        }
        let members = &plot_words[plot_words[p] as usize..plot_words[p + 1] as usize];
        let corners = [here(members[0]), here(members[1]), here(members[2]), here(members[3])];
        let mean = |[a, b, c, d]: [Vec4; 4]| 0.25 * ((a + b) + (c + d));
        let center = mean(corners.map(|(at, _)| at));
        let turn = turning(corners, center, mean(corners.map(|(_, u)| u)));
        let far = Vec4::splat(FAR);
        let (mut low, mut high, mut least, mut most) = (far, -far, far, -far);
        let mut farthest = 0.0f32;
        for v in members {
            let (at, u) = here(*v);
            let (there, arm) = (at + u, at - center);
            let across = Vec3::new(
                turn.y * arm.z - turn.z * arm.y,
                turn.z * arm.x - turn.x * arm.z,
                turn.x * arm.y - turn.y * arm.x,
            );
            let rest = u - across.extend(0.0);
            (low, high) = (low.min(at).min(there), high.max(at).max(there));
            (least, most) = (least.min(rest), most.max(rest));
            farthest = farthest.max(arm.x * arm.x + arm.y * arm.y + arm.z * arm.z);
        }
        let rounded = ROUNDED * low.abs().max(high.abs()).truncate().max_element();
        plots[p] = Plot {
            low: low.truncate().extend(rounded),
            high: high.truncate().extend(farthest.sqrt()),
            center: center.truncate().extend(0.0),
            turn: turn.extend(0.0),
            middle: (least + 0.5 * (most - least)).truncate().extend(0.0),
            half: (0.5 * (most - least)).truncate().extend(0.0),
        };
    }
    Ok(())
}

/// The rotation that fits the motion of corners best: (Σ |y|² − y yᵀ) ω = Σ y × u.
fn turning(corners: [(Vec4, Vec4); CORNERS], center: Vec4, motion: Vec4) -> Vec3 {
    let (mut squares, mut products, mut moment) = (Vec3::ZERO, Vec3::ZERO, Vec3::ZERO);
    for (at, u) in corners {
        let (y, u) = ((at - center).truncate(), (u - motion).truncate());
        squares += y * y;
        products += y * Vec3::new(y.y, y.z, y.x);
        moment += y.cross(u);
    }
    let sum = squares.x + squares.y + squares.z;
    if sum <= 0.0 {
        return Vec3::ZERO;
    }
    let part = 1.0 / sum;
    let diagonal = Vec3::splat(1.0 + STEADY) - part * squares;
    let [xy, yz, zx] = (-part * products).to_array();
    let rows = [Vec3::new(diagonal.x, xy, zx), Vec3::new(xy, diagonal.y, yz), Vec3::new(zx, yz, diagonal.z)];
    let columns = [rows[1].cross(rows[2]), rows[2].cross(rows[0]), rows[0].cross(rows[1])];
    let moment = part * moment;
    let turn = moment.x * columns[0] + moment.y * columns[1] + moment.z * columns[2];
    (1.0 / rows[0].dot(columns[0])) * turn
}

fn bound_blocks_body(run: &mut Run<'_>) -> Result<()> {
    let [count, ..] = run.arguments();
    let count = count as usize;
    let mut plots = run.write::<Plot>("plots")?;
    for b in run.range() {
        let mut all = Plot { low: Vec4::splat(FAR), high: Vec4::splat(-FAR), ..Plot::default() };
        for p in b * BLOCK..((b + 1) * BLOCK).min(count) {
            all.low = all.low.min(plots[p].low);
            all.high = all.high.max(plots[p].high);
        }
        plots[count + b] = all;
    }
    Ok(())
}

/// Plots that are near a box, in their order, as those of whole blocks that are.
pub(super) fn each_near(plots: &[Plot], count: usize, own: [Vec4; 2], reach: Vec4, mut each: impl FnMut(usize)) {
    for (b, block) in plots[count..].iter().enumerate() {
        if !near(own, [block.low, block.high], reach) {
            continue;
        }
        for q in b * BLOCK..((b + 1) * BLOCK).min(count) {
            if near(own, [plots[q].low, plots[q].high], reach) {
                each(q);
            }
        }
    }
}

fn compare_plots_body(run: &mut Run<'_>) -> Result<()> {
    let [count, ..] = run.arguments();
    let count = count as usize;
    let clearance = run.one::<Clearance>("clearance")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let plots = run.read::<Plot>("surveyed")?;
    let listings = run.read::<Listing>("listings")?;
    let mut plot_moves = run.write::<f32>("plot_moves")?;
    let mut spread = run.write::<u32>("spread")?;
    // That of all lists there can be: what pairs are left alone must not depend on when lists were made.
    let reach = Vec4::splat(clearance.farthest.max(clearance.thickness));
    // Blocks near that of a plot; what they spare is too far away.
    let mut around = [0u16; MOST_BLOCKS];
    let (mut blocks, mut home) = (0, usize::MAX);
    let (mut motion, mut need, mut excess) = (0.0f32, 0.0f32, 0.0f32);
    for p in run.range() {
        if p / BLOCK != home {
            (home, blocks) = (p / BLOCK, 0);
            let Plot { low, high, .. } = plots[count + home];
            for (number, block) in plots[count..].iter().enumerate() {
                around[blocks] = number as u16;
                blocks += usize::from(near([low, high], [block.low, block.high], reach));
            }
        }
        let (own, list) = (plots[p], &listings[p]);
        let mut moves = 0.0f32;
        for number in &around[..blocks] {
            let block = &plots[count + *number as usize];
            if !near([own.low, own.high], [block.low, block.high], reach) {
                continue;
            }
            let first = *number as usize * BLOCK;
            for other in &plots[first..(first + BLOCK).min(count)] {
                if near([own.low, own.high], [other.low, other.high], reach) {
                    moves = moves.max(own.nearer(other));
                }
            }
        }
        let worn = list.wear + moves;
        need = need.max((worn + AHEAD * moves) - (list.radius - clearance.thickness));
        let allowed = list.radius - FLOOR * clearance.thickness;
        if worn > allowed && moves > 0.0 {
            excess = excess.max(1.0 - (allowed - list.wear).max(0.0) / moves);
        }
        // What was left alone counts on that.
        let most = (1.0 - FLOOR) * clearance.thickness + AHEAD * list.past;
        if nearness.pairs > 0 && moves > most {
            excess = excess.max(1.0 - most / moves);
        }
        plot_moves[p] = moves;
        motion = motion.max(moves);
    }
    for (word, value) in [(spread::MOTION, motion), (spread::NEED, need), (spread::EXCESS, excess)] {
        spread[word as usize] = spread[word as usize].max(value.to_bits());
    }
    Ok(())
}

fn wear_plots_body(run: &mut Run<'_>) -> Result<()> {
    let [foreseen, ..] = run.arguments();
    let plot_moves = run.read::<f32>("plot_moves")?;
    let mut worn = run.write::<Listing>("worn")?;
    for p in run.range() {
        if foreseen == 0 {
            worn[p].wear += plot_moves[p];
        }
        worn[p].past = plot_moves[p];
    }
    Ok(())
}

fn renew_plots_body(run: &mut Run<'_>) -> Result<()> {
    let clearance = run.one::<Clearance>("clearance")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let own_meters = run.read::<u32>("own_meters")?;
    let mut worn = run.write::<Listing>("worn")?;
    let every = nearness.begun == 0 || nearness.demand > clearance.capacity || own_meters[meter::TANGLED as usize] > 0;
    let many = CROWD * nearness.demand as f32 > clearance.capacity as f32;
    let lasting = if many { SHORT_LASTING } else { LASTING };
    for p in run.range() {
        let list = &mut worn[p];
        list.stale = 0;
        if every || list.wear + BATCH * list.past > list.radius - clearance.thickness {
            let wanted = clearance.thickness + (lasting * list.past).max(LEAST_MARGIN * clearance.thickness);
            list.radius = if wanted < clearance.farthest { wanted } else { clearance.farthest };
            (list.wear, list.stale) = (0.0, 1);
        }
    }
    Ok(())
}
