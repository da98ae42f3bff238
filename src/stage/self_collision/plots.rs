//! Plots: the cloth in patches of a few dozen vertices that lie together at rest, and how they move.
//!
//! A list of pairs within a radius r stays complete for as long as nothing that is not listed can have come nearer than
//! the thickness. What counts for that is how far two parts moved *relative to each other* since the list was made, and
//! a sheet that swings moves far without that. So each plot has boxes around its vertices, around their motion since
//! the list was made and around their displacements of this substep, and of two plots whose boxes are near
//!
//! |D_a − D_b| ≤ |D̄_P − D̄_Q| + e_P + e_Q ,
//!
//! D̄ the middle and e the half diagonal of a box of motions. Plots that are far from each other need not be looked at.
//! A plot's boxes take in all vertices of the triangles that have one of its vertices, so that every edge and triangle
//! is whole in a plot.
//!
//! The same sum after the projection, with the displacements that shall be committed, is what makes the list complete
//! for this substep. Where it is not, all ways are shortened by one common part, which is safe and rare: the list is
//! made anew in time if the predicted motion asks for it.

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
use crate::vector::padded;

static SOURCE: Source =
    Source::new("plots", include_str!("../../../shaders/plots.wgsl")).shares(&[&closest::SOURCE]).constants(&[
        ("AHEAD", Constant::F32(AHEAD)),
        ("MOTION", Constant::U32(spread::MOTION)),
        ("NEED", Constant::U32(spread::NEED)),
        ("EXCESS", Constant::U32(spread::EXCESS)),
    ]);

/// How much farther than the predicted motion vertices may go: what projections add to it.
const AHEAD: f32 = 2.5;
/// Edges along the side of a plot.
const SIDE: f32 = 8.0;
/// Most plots: all of them are compared with all in every substep.
const MOST_PLOTS: usize = 1024;

/// Words of what plots have come to.
pub(super) mod spread {
    /// Largest relative motion of the substep \[m\].
    pub(in crate::stage::self_collision) const MOTION: u32 = 0;
    /// Largest motion relative to each other since the list was made, with what may come \[m\].
    pub(in crate::stage::self_collision) const NEED: u32 = 1;
    /// Part by which ways must be shortened.
    pub(in crate::stage::self_collision) const EXCESS: u32 = 2;
    /// Largest relative speed of listed pairs in this frame \[m/s\].
    pub(in crate::stage::self_collision) const SPEED: u32 = 3;
    /// Number of words.
    pub(in crate::stage::self_collision) const COUNT: usize = 4;
}

element! {
    /// A plot in a substep.
    pub(crate) struct Plot {
        /// Lower corner of the box of its vertices, before and after the substep \[m\].
        pub(crate) low: Vec3,
        /// Half diagonal of the box of displacements \[m\].
        pub(crate) extent: f32,
        /// Upper corner \[m\].
        pub(crate) high: Vec3,
        /// Half diagonal of the box of motions since the list was made \[m\].
        pub(crate) moved_extent: f32,
        /// Middle of the box of displacements \[m\].
        pub(crate) middle: Vec3,
        pub(crate) padding: f32,
        /// Middle of the box of motions since the list was made \[m\].
        pub(crate) moved_middle: Vec3,
        pub(crate) more_padding: f32,
    }
}

/// Boxes of all plots.
static SURVEY_PLOTS: Kernel = Kernel::new("survey_plots", &SOURCE, survey_plots_body).pattern(Pattern::Scatter);
/// Relative motion of those that are near each other.
static COMPARE_PLOTS: Kernel = Kernel::new("compare_plots", &SOURCE, compare_plots_body).pattern(Pattern::Scatter);
/// Where vertices are when a list is made.
static NOTE_PLACES: Kernel = Kernel::new("note_places", &SOURCE, note_places_body).pattern(Pattern::Scatter);

/// Records the comparison of all plots.
pub(super) fn compare(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&SURVEY_PLOTS, Domain::PLOTS);
    recorder.dispatch(&COMPARE_PLOTS, Domain::PLOTS);
}

/// Records that the list is of now.
pub(super) fn anchor(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&NOTE_PLACES, Domain::TOUCHING);
}

/// Plots and words to expect of so many vertices; halos of plots of a few dozen vertices have half as many again.
pub(super) fn expected(vertices: usize) -> [usize; 2] {
    let plots = vertices.div_ceil((SIDE * SIDE) as usize).min(MOST_PLOTS);
    [plots, plots + 1 + 2 * vertices]
}

/// Plots of a cloth at rest, as words: where the vertices of each begin, then the vertices.
pub(super) fn words(positions: &[[f32; 3]], triangles: &[[u32; 3]], pieces: &[u32], edge: f32) -> (usize, Vec<u32>) {
    let mut side = SIDE * edge;
    // Larger until they are few; a factor of √2 halves their number on a surface.
    let plots = loop {
        let cells: Vec<(u32, [i64; 3])> = positions
            .iter()
            .zip(pieces)
            .map(|(at, piece)| (*piece, at.map(|x| (f64::from(x) / f64::from(side)).floor() as i64)))
            .collect();
        let mut names = cells.clone();
        names.sort_unstable();
        names.dedup();
        if names.len() <= MOST_PLOTS || !side.is_finite() {
            let number = |cell: &(u32, [i64; 3])| names.binary_search(cell).unwrap_or_default();
            break cells.iter().map(number).collect::<Vec<usize>>();
        }
        side *= std::f32::consts::SQRT_2;
    };
    let count = plots.iter().max().map_or(0, |last| last + 1);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
    for triangle in triangles {
        for corner in triangle {
            members[plots[*corner as usize]].extend(triangle);
        }
    }
    let mut words = Vec::with_capacity(count + 1 + 2 * positions.len());
    let mut end = count as u32 + 1;
    for list in &mut members {
        list.sort_unstable();
        list.dedup();
        words.push(end);
        end += list.len() as u32;
    }
    words.push(end);
    words.extend(members.into_iter().flatten());
    (count, words)
}

fn survey_plots_body(run: &mut Run<'_>) -> Result<()> {
    let plot_words = run.read::<u32>("plot_words")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let list_places = run.read::<[f32; 4]>("list_places")?;
    let mut plots = run.write::<Plot>("plots")?;
    for p in run.range() {
        let far = Vec4::splat(FAR);
        let (mut low, mut high, mut least, mut most) = (far, -far, far, -far);
        let (mut moved_least, mut moved_most) = (far, -far);
        for v in &plot_words[plot_words[p] as usize..plot_words[p + 1] as usize] {
            let v = *v as usize;
            let at = vertices[v].position.extend(0.0);
            let u = Vec4::from_array(displacements[v]);
            let moved = at - Vec4::from_array(list_places[v]);
            let there = at + u;
            (low, high) = (low.min(at).min(there), high.max(at).max(there));
            (least, most) = (least.min(u), most.max(u));
            (moved_least, moved_most) = (moved_least.min(moved), moved_most.max(moved));
        }
        let middle = |least: Vec4, most: Vec4| (least + 0.5 * (most - least)).truncate();
        let extent = |least: Vec4, most: Vec4| 0.5 * (most - least).truncate().length();
        plots[p] = Plot {
            low: low.truncate(),
            extent: extent(least, most),
            high: high.truncate(),
            moved_extent: extent(moved_least, moved_most),
            middle: middle(least, most),
            moved_middle: middle(moved_least, moved_most),
            ..Plot::default()
        };
    }
    Ok(())
}

fn compare_plots_body(run: &mut Run<'_>) -> Result<()> {
    let clearance = run.one::<Clearance>("clearance")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let plots = run.read::<Plot>("plots")?;
    let mut spread = run.write::<u32>("spread")?;
    let allowed = nearness.radius - FLOOR * clearance.thickness;
    let (mut motion, mut need, mut excess) = (0.0f32, 0.0f32, 0.0f32);
    for p in run.range() {
        let own = plots[p];
        for other in &plots[p..] {
            let gap = (own.low - other.high).max(other.low - own.high);
            if gap.max_element() > clearance.thickness {
                continue;
            }
            let ahead = own.middle.distance(other.middle) + (own.extent + other.extent);
            let before = own.moved_middle.distance(other.moved_middle) + (own.moved_extent + other.moved_extent);
            motion = motion.max(ahead);
            need = need.max(before + AHEAD * ahead);
            if before + ahead > allowed {
                excess = excess.max(1.0 - (allowed - before).max(0.0) / ahead);
            }
        }
    }
    for (word, value) in [(spread::MOTION, motion), (spread::NEED, need), (spread::EXCESS, excess)] {
        spread[word as usize] = spread[word as usize].max(value.to_bits());
    }
    Ok(())
}

fn note_places_body(run: &mut Run<'_>) -> Result<()> {
    let vertices = run.read::<Vertex>("vertices")?;
    let mut list_places = run.write::<[f32; 4]>("list_places")?;
    for v in run.range() {
        list_places[v] = padded(vertices[v].position);
    }
    Ok(())
}
