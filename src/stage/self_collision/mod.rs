//! Cloth against cloth: nothing passes through itself.
//!
//! **The theorem.** Let x be the positions at the start of a substep and u the displacements, and let the list hold
//! every vertex and triangle and every two edges of the drawn triangulation, without a common vertex, that were at most
//! r apart when it was made. If nothing touches at x, and
//!
//! 1. the parts of what is not listed came nearer by less than r − f since then, f > 0, this substep included, and
//! 2. for every listed pair there is a plane between its parts at x that no vertex of it goes beyond, or its parts are
//!    farther apart at x than they come nearer in this substep, by f,
//!
//! then nothing touches on x + τu, 0 ≤ τ ≤ 1. What is not listed was more than r apart. The parts of a listed pair
//! stay in their half-spaces, or too far from each other. And triangles that share a vertex can only begin to meet by a
//! pair without a common vertex, which is listed. ∎
//!
//! r, and when the list was made, are those of the patch that the vertex belongs to, or the first of the two edges.
//!
//! How much nearer two parts came is known from patches of the cloth, and what they do as rigid bodies does not count
//! (`plots.rs`). So a list serves for many substeps where neighbors move alike, and most of it, which is too far apart
//! to touch in a substep, costs a look (`sift.rs`).
//!
//! Two mechanisms, because one cannot do both:
//!
//! - **respond** (`respond.rs`): an inequality per pair that keeps the thickness, with friction; it conserves momentum,
//!   and ends before it has converged;
//! - **fence** (`fence.rs`): half-spaces per vertex that make 1 and 2 hold whatever was reached. It comes last.
//!
//! ```text
//! predict → elastic → list, if stale → planes → sift → what pressed before
//!    → project → solids → respond → fence ─┬─ within the limit: commit → calm
//!         ▲                                │
//!         └────────────────────────────────┘  `contact_rounds` times at most
//! ```
//!
//! **What wins**: the fence, then the strain limit, then thickness and friction. A tangle would be there for ever; a
//! missed limit is reported and gone in the next frame. Every state that may be committed is a fenced one. From the
//! third round on pairs give up a part of what they have above half of their thickness, 1/64 and twice as much in each
//! that follows, and in the second half of the rounds friction gives way, too. What was given up comes back with time.
//!
//! **Thickness.** h is the distance of the middle surfaces of two layers, at most half of the shortest edge: thicker
//! cloth cannot fold. Parts of one piece that are near at rest keep at most half of that distance, so that neighbors
//! need no exception; they are fenced as all others are. A tenth of it always stays (the floor).
//!
//! **Lists have room for a fixed number of pairs.** Where more are found, those that do not fit bound the motion of
//! their vertices to half of what they may come nearer, in any direction: safe, slow, and reported.
//!
//! **Tangles.** Cloth that passes through itself at the start has no plane between its parts there. [`Tangles`] says
//! what happens: `untangle.rs` draws such parts apart, before pairs are listed.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | h, μ | `clearance.thickness`, `friction` | m; 1 |
//! | r, ū | `listings.radius`, `nearness.drift` | m |
//! | n, d, h of a pair | `planes` | 1; m |
//! | how far a vertex lies behind the nearest of its side | `offsets` | m |
//! | friction, pressed | `pair_loads` | m |

mod carry;
mod cells;
mod closest;
mod fence;
mod grid;
mod pairs;
mod plots;
mod reach;
mod respond;
mod scan;
mod sift;
mod untangle;

use crate::engine::fields::{Domain, Fields, Inputs, Sizes, Spec};
use crate::error::{Error, Result, within};
use crate::mesh::Mesh;
use crate::mesh::surface::{Crossing, Surface};
use crate::stage::{Recorder, Stage, magnitude, phase};
use cells::{Extent, Sorted};
use closest::{Clearance, Nearness, Plane};

/// Words of the account of a frame.
pub(crate) mod meter {
    /// Most pairs that were found at once.
    pub(crate) const PAIRS: u32 = 0;
    /// Pairs that there was no room for.
    pub(crate) const OVERFLOWED: u32 = 1;
    /// Lists that were made.
    pub(crate) const REBUILDS: u32 = 2;
    /// Vertices that were moved into a solid.
    pub(crate) const PINCHED: u32 = 3;
    /// Vertices whose way was shortened; those that moved as they must follow.
    pub(crate) const TRIMMED: u32 = 4;
    /// Vertices that went too far because they must.
    pub(crate) const FORCED: u32 = 5;
    /// Vertices that were slowed down.
    pub(crate) const SPEED_LIMITED: u32 = 6;
    /// Vertices that belonged to a crossing when they were last looked for.
    pub(crate) const TANGLED: u32 = 7;
    /// Number of words.
    pub(crate) const COUNT: usize = 8;
}

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<Clearance>("clearance", Domain::Fixed(1), "what self-collision is told").input(),
    Spec::of::<Nearness>("nearness", Domain::Fixed(1), "what a substep looks for, and what it found").state(),
    Spec::of::<u32>("motion_box", Domain::Fixed(reach::BOX), "boxes of displacements, ordered as words").exact(),
    Spec::of::<f32>("spread", Domain::Fixed(plots::spread::COUNT), "relative motion of plots").floor(magnitude::rest),
    Spec::of::<u32>("plot_words", Domain::PLOT_WORDS, "vertices of plots").exact(),
    Spec::of::<plots::Plot>("plots", Domain::PLOT_BOXES, "boxes of plots and of their motion, then of blocks [m]")
        .floor(magnitude::rest),
    Spec::of::<f32>("plot_moves", Domain::PLOTS, "what came nearer to a plot in a substep [m]").floor(magnitude::rest),
    Spec::of::<plots::Listing>("listings", Domain::PLOTS, "lists of plots: radius and wear [m]").floor(magnitude::rest),
    Spec::of::<u32>("owner_plots", Domain::OWNERS, "plot of every vertex and edge").exact(),
    Spec::of::<f32>("extents", Domain::Fixed(4), "largest radius of triangles and of edges [m]"),
    Spec::of::<f32>("vertex_moves", Domain::TOUCHING, "most that came nearer to the plots of a vertex [m]"),
    Spec::of::<f32>("vertex_ways", Domain::TOUCHING, "sums of it since pairs were listed, but for the last [m]"),
    Spec::of::<[u32; 4]>("features", Domain::ITEMS, "corners of triangles, then ends of edges and what is beside")
        .exact(),
    Spec::of::<Extent>("boxes", Domain::ITEMS, "boxes of triangles and edges [m]"),
    Spec::of::<u32>("cells", Domain::ITEMS, "cells of triangles and edges, packed").exact(),
    Spec::of::<u32>("bucket_starts", Domain::BUCKETS, "places before each bucket; after the sort, its end").exact(),
    Spec::of::<u32>("block_sums", Domain::BLOCKS, "sums of the blocks of a scan").exact(),
    Spec::of::<u32>("unordered", Domain::ITEMS, "items by bucket").unordered(),
    Spec::of::<Sorted>("sorted", Domain::ITEMS, "items by bucket and number").exact(),
    Spec::of::<u32>("pair_starts", Domain::OWNERS, "pairs before those of each vertex and edge").exact(),
    Spec::of::<[u32; 4]>("pairs", Domain::PAIRS, "vertices of pairs").exact(),
    Spec::of::<Plane>("planes", Domain::PAIRS, "planes between the parts of pairs").floor(|_| Ok(1.0)),
    // The normal of nearly parallel edges turns with the rounding of their directions: whole edges enter.
    Spec::of::<[f32; 4]>("offsets", Domain::PAIRS, "how far vertices of pairs lie behind the nearest of them [m]")
        .floor(magnitude::rest),
    Spec::of::<[f32; 4]>("pair_loads", Domain::PAIRS, "what friction holds, w: what presses [m]")
        .floor(magnitude::grain),
    Spec::of::<[u32; 4]>("old_pairs", Domain::PAIRS, "`pairs` of the list before").exact().persistent(),
    Spec::of::<f32>("old_loads", Domain::PAIRS, "what pressed in the list before, as an acceleration [m/s²]")
        .floor(|f| Ok(magnitude::grain(f)? / (magnitude::step(f)? * magnitude::step(f)?)))
        .persistent(),
    Spec::of::<u32>("old_starts", Domain::OWNERS, "`pair_starts` of the list before").exact().state(),
    Spec::of::<[f32; 4]>("rest_places", Domain::TOUCHING, "positions at rest [m], w: twice the piece, + 1 if tangled")
        .exact()
        .state(),
    Spec::of::<u32>("touches", Domain::TOUCHING, "pairs that press a vertex").exact(),
    Spec::of::<f32>("bounds", Domain::TOUCHING, "how far a vertex may move where pairs are not listed [m]"),
    Spec::of::<f32>("limits", Domain::TOUCHING, "part of its way that a vertex may go"),
    Spec::of::<[f32; 2]>("marks", Domain::TOUCHING, "what the fence did, and how far into a solid [m]"),
    Spec::of::<u32>("pushes", Domain::PUSHES, "sums of pushes in units, and their number").fixed(),
    Spec::of::<u32>("tangles", Domain::TOUCHING, "crossings that a vertex belongs to").exact(),
    Spec::of::<u32>("own_meters", Domain::OWN_METERS, "account of self-collision in this frame").exact(),
];

/// What happens to cloth that passes through itself from the start.
///
/// | | can | cannot |
/// |---|---|---|
/// | `Refuse` | promise that nothing ever crosses, but where pins force it | begin with a crossing |
/// | `Ignore` | begin with any, and keep everything else from crossing | end a crossing |
/// | `Resolve` | draw apart corners, borders, dents and folds that came through | tell which side of a layer is right |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tangles {
    /// It is refused, and the error names a place.
    #[default]
    Refuse,
    /// Parts whose vertices all belong to such places are left alone, by the response and by the fence; everything else
    /// is as safe as it always is. What is tangled stays so until something pulls it apart.
    Ignore,
    /// It is drawn apart: crossings are looked for on the device, the contours along which layers cross become shorter,
    /// and what crosses nothing any more is fenced from then on. [`SelfReport::tangled`] tells what is left.
    ///
    /// Contours are shortened by what is near them, without knowing an inside, by at most a tenth of the thickness per
    /// substep. So a corner, a piece of a border, a dent or a fold that came through goes back the way it came, while
    /// layers that cross along a straight line from border to border, as the two strokes of an X, have nowhere to go:
    /// they stay, are counted, and are left alone as by [`Tangles::Ignore`]. Layers that lie exactly in one plane are
    /// not seen. Where much is tangled, more may become so on the way, and something may stay.
    Resolve,
}

impl Tangles {
    /// Names as the program spells them.
    pub const NAMES: [&'static str; 3] = ["refuse", "ignore", "resolve"];

    const ALL: [Self; 3] = [Self::Refuse, Self::Ignore, Self::Resolve];

    /// That of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tangles| tangles.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// How cloth keeps from passing through itself; see the [module](self).
///
/// ```
/// use taut::{Cloth, FrameInput, SelfCollision, Settings, scene};
///
/// let own = SelfCollision { thickness: 0.004, ..Default::default() };
/// let settings = Settings { self_collision: Some(own), ..Default::default() };
/// let mut cloth = Cloth::on_cpu(scene::hang(8)?.with_settings(settings))?;
/// cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
/// let report = cloth.snapshot()?.report.self_collision.ok_or("it is on")?;
/// assert_eq!(report.forced, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelfCollision {
    /// Distance that the middle surfaces of two layers keep \[m\]; at most half of the shortest edge is used, and
    /// [`SelfReport::thickness`] tells how much.
    pub thickness: f32,
    /// Coefficient of Coulomb friction of cloth on cloth.
    pub friction: f32,
    /// Pairs of near parts that there is room for, as a multiple of the number of vertices; each takes 100 bytes. Where
    /// more are found, vertices are slowed down and [`SelfReport::overflowed`] counts them.
    pub pairs_per_vertex: f32,
    /// What happens to cloth that passes through itself from the start.
    pub tangles: Tangles,
}

impl Default for SelfCollision {
    fn default() -> Self {
        Self { thickness: 0.002, friction: 0.3, pairs_per_vertex: 64.0, tangles: Tangles::default() }
    }
}

/// What self-collision did in a frame; counts are sums over its substeps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SelfReport {
    /// Thickness that is used \[m\].
    pub thickness: f32,
    /// Most pairs of near parts at once.
    pub pairs: u32,
    /// Pairs that there was no room for.
    pub overflowed: u32,
    /// Vertices whose way was shortened so that they cross nothing.
    pub trimmed: u32,
    /// Vertices that were slowed down because some of them were faster than pairs are looked for.
    pub speed_limited: u32,
    /// Pinned or held vertices that were driven towards other cloth farther than it could give way. Only these can
    /// cross.
    pub forced: u32,
    /// Vertices that were moved into a solid, because cloth was in the way.
    pub pinched: u32,
    /// Substeps in which lists of pairs were made, for all of the cloth or for some of its patches.
    pub rebuilds: u32,
    /// Vertices that belonged to a crossing when these were last looked for: at the start of the frame, or, if there
    /// were any, of its last substep. Only [`Tangles::Resolve`] looks for them.
    pub tangled: u32,
}

impl SelfReport {
    pub(crate) fn new(thickness: f32, meters: &[u32]) -> Self {
        let word = |number: u32| meters.get(number as usize).copied().unwrap_or_default();
        Self {
            thickness,
            pairs: word(meter::PAIRS),
            overflowed: word(meter::OVERFLOWED),
            trimmed: word(meter::TRIMMED),
            speed_limited: word(meter::SPEED_LIMITED),
            forced: word(meter::FORCED),
            pinched: word(meter::PINCHED),
            rebuilds: word(meter::REBUILDS),
            tangled: word(meter::TANGLED),
        }
    }
}

/// Largest radius of the list as a part of the shortest edge: from 0.707 on, flat cloth lists its own neighbors.
const FARTHEST: f32 = 0.7;
/// Motion of a substep as a part of the thickness.
const STRIDE: f32 = 0.5;
/// Longest substep \[s\].
const LONGEST: f64 = 1.0 / 780.0;
/// Largest speed relative to the common one that substeps are added for \[m/s\].
const FASTEST: f64 = 4.0;
/// Most pairs per vertex that there may be room for.
const MOST_PAIRS: f32 = 1000.0;
/// Largest thickness as a part of the shortest edge.
const THICKEST: f32 = 0.5;
/// Rounding steps of the largest coordinate in the smallest thickness: a tenth of it, which always stays, has 40.
const LEAST_STEPS: f32 = 400.0;

impl SelfCollision {
    /// Checks the values.
    pub(crate) fn validate(&self) -> Result<()> {
        let Self { thickness, friction, pairs_per_vertex, tangles: _ } = *self;
        within("thickness", thickness.into(), thickness > 0.0 && thickness <= 1e3, "above 0 and at most 1000 m")?;
        within("friction", friction.into(), (0.0..=100.0).contains(&friction), "in [0, 100]")?;
        let room = (0.0..=MOST_PAIRS).contains(&pairs_per_vertex);
        within("pairs_per_vertex", pairs_per_vertex.into(), room, "in [0, 1000]")
    }

    /// Thickness that cloth of this shortest edge has \[m\].
    pub(crate) fn effective(&self, shortest: f32) -> f32 {
        self.thickness.min(THICKEST * shortest)
    }

    /// Motion that a substep should have at most, relative to what all vertices have in common \[m\]. With more, pairs
    /// are many and layers meet deep inside of each other: in a heap of 24 × 24 vertices and 4 mm, fixed 8, 12 and 24
    /// substeps per frame list up to 52, 40 and 18 pairs per vertex, and 14, 3 and none of 60 frames miss the limit.
    fn stride(&self, shortest: f32) -> f32 {
        STRIDE * self.effective(shortest)
    }

    /// Fewest substeps of a frame of so many seconds. A stack of six sheets misses its limit in 6 of 60 frames with 4
    /// substeps, and in none with 8.
    pub(crate) fn least_substeps(seconds: f64) -> f64 {
        // A hair's breadth over a whole number is the rounding of dt.
        (seconds / LONGEST * (1.0 - 1e-6)).ceil()
    }

    /// Most substeps that speed may ask for in a frame of so many seconds.
    pub(crate) fn most_substeps(&self, shortest: f64, seconds: f64) -> f64 {
        (seconds * FASTEST / f64::from(self.stride(shortest as f32))).ceil()
    }

    /// Refuses a thickness that positions of this rounding step \[m\] cannot hold.
    pub(crate) fn check_thickness(&self, shortest: f32, step: f32) -> Result<()> {
        let (thickness, least) = (self.effective(shortest), LEAST_STEPS * step);
        if thickness < least { Err(Error::Thickness { thickness, least }) } else { Ok(()) }
    }

    /// Pairs that there is room for.
    fn capacity(&self, vertices: usize) -> usize {
        ((f64::from(self.pairs_per_vertex.clamp(0.0, MOST_PAIRS)) * vertices as f64).ceil() as usize).max(1)
    }
}

/// Edges of the drawn triangles, each once.
fn surface_edges(triangles: &[[u32; 3]]) -> Vec<[u32; 2]> {
    let sides = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    let mut edges: Vec<[u32; 2]> = sides.map(|[a, b]| [a.min(b), a.max(b)]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Third corners of the first two triangles of every edge; its second end where there are fewer.
fn third_corners(triangles: &[[u32; 3]], edges: &[[u32; 2]]) -> Vec<[u32; 2]> {
    let mut thirds: Vec<[u32; 2]> = edges.iter().map(|[_, second]| [*second; 2]).collect();
    for &[a, b, c] in triangles {
        for [a, b, third] in [[a, b, c], [b, c, a], [c, a, b]] {
            let Ok(edge) = edges.binary_search(&[a.min(b), a.max(b)]) else { continue };
            if let Some(free) = thirds[edge].iter_mut().find(|corner| **corner == a.max(b)) {
                *free = third;
            }
        }
    }
    thirds
}

/// Number of buckets for so many items.
fn buckets(items: usize) -> usize {
    items.next_power_of_two()
}

impl Sizes {
    /// With what self-collision needs, if there is any.
    #[must_use]
    pub(crate) fn with_self_collision(self, mesh: &Mesh, settings: Option<&SelfCollision>) -> Self {
        if settings.is_none() {
            return self;
        }
        let triangles = mesh.triangles();
        let plots = plots_of(mesh, &triangles);
        self.with_pairs(surface_edges(&triangles).len(), [plots.count, plots.words.len()], settings)
    }

    /// The same from counts alone. Pieces of cloth without handles have at most V + T drawn edges (Euler).
    #[must_use]
    pub(crate) fn with_expected_self_collision(self, settings: Option<&SelfCollision>) -> Self {
        self.with_pairs(self.vertices() + self.triangles(), plots::expected(self.vertices()), settings)
    }

    fn with_pairs(self, edges: usize, [plots, words]: [usize; 2], settings: Option<&SelfCollision>) -> Self {
        let (vertices, triangles) = (self.vertices(), self.triangles());
        let Some(settings) = settings.filter(|_| triangles > 0) else { return self };
        let buckets = buckets(triangles) + buckets(edges);
        let owners = vertices + edges + 1;
        self.with(Domain::ITEMS, triangles + edges)
            .with(Domain::BUCKETS, buckets)
            .with(Domain::OWNERS, owners)
            .with(Domain::PAIRS, settings.capacity(vertices))
            .with(Domain::BLOCKS, scan::blocks(buckets.max(owners)))
            .with(Domain::TOUCHING, vertices)
            .with(Domain::PUSHES, 4 * vertices)
            .with(Domain::OWN_METERS, meter::COUNT)
            .with(Domain::PLOTS, plots)
            .with(Domain::PLOT_BOXES, plots::boxes(plots))
            .with(Domain::PLOT_WORDS, words)
    }

    /// Whether cloth may touch itself.
    pub(crate) fn touches_itself(&self) -> bool {
        self.of(Domain::ITEMS) > 0
    }
}

/// Plots of a mesh.
fn plots_of(mesh: &Mesh, triangles: &[[u32; 3]]) -> plots::Patches {
    let pieces = pieces(mesh.vertex_count(), triangles);
    let edge = mesh.edges().iter().map(|edge| edge.rest).sum::<f32>() / mesh.edge_count().max(1) as f32;
    plots::patches(mesh.positions(), triangles, &pieces, edge)
}

/// Connected piece of every vertex, by the lowest vertex of it.
fn pieces(vertices: usize, triangles: &[[u32; 3]]) -> Vec<u32> {
    let mut parents: Vec<u32> = (0..vertices as u32).collect();
    fn root(parents: &mut [u32], mut vertex: u32) -> u32 {
        while parents[vertex as usize] != vertex {
            let parent = parents[vertex as usize];
            parents[vertex as usize] = parents[parent as usize];
            vertex = parent;
        }
        vertex
    }
    for &[a, b, c] in triangles {
        for other in [b, c] {
            let (one, other) = (root(&mut parents, a), root(&mut parents, other));
            parents[one.max(other) as usize] = one.min(other);
        }
    }
    let mut numbers = vec![u32::MAX; vertices];
    let mut count = 0;
    (0..vertices as u32)
        .map(|vertex| {
            let number = &mut numbers[root(&mut parents, vertex) as usize];
            if *number == u32::MAX {
                *number = count;
                count += 1;
            }
            *number
        })
        .collect()
}

/// Fills the fields of a cloth that starts at these positions.
///
/// # Errors
/// [`Error::Tangled`] if it passes through itself and may not.
pub(crate) fn fill(mesh: &Mesh, start: &[[f32; 3]], settings: &SelfCollision, fields: &mut Fields) -> Result<()> {
    let triangles = mesh.triangles();
    if !fields.sizes().touches_itself() {
        return Ok(());
    }
    let crossings = check_tangles(mesh, start, settings)?;
    fill_plots(mesh, &triangles, fields)?;
    let pieces = pieces(mesh.vertex_count(), &triangles);
    let places = fields.get_mut::<[f32; 4]>("rest_places")?;
    for (vertex, (place, [x, y, z])) in places.iter_mut().zip(mesh.positions()).enumerate() {
        *place = [*x, *y, *z, (2 * pieces[vertex]) as f32];
    }
    flag_tangles(&crossings, fields)
}

/// Fills what is said of plots, and triangles and edges in their order.
fn fill_plots(mesh: &Mesh, triangles: &[[u32; 3]], fields: &mut Fields) -> Result<()> {
    let plots::Patches { words, of, count } = plots_of(mesh, triangles);
    let edges = surface_edges(triangles);
    let thirds = third_corners(triangles, &edges);
    let mut owners = vec![0; mesh.vertex_count()];
    let mut edge_plots = vec![usize::MAX; edges.len()];
    for (&[a, b, c], plot) in triangles.iter().zip(&of) {
        for [a, b] in [[a, b], [b, c], [c, a]] {
            owners[a as usize] = *plot as u32;
            if let Ok(edge) = edges.binary_search(&[a.min(b), a.max(b)]) {
                edge_plots[edge] = *plot;
            }
        }
    }
    let corners = triangles.iter().zip(&of).map(|(&[a, b, c], plot)| (*plot, [a, b, c, c]));
    let ends = edges.iter().zip(thirds).zip(edge_plots).map(|((&[a, b], [c, d]), plot)| (plot, [a, b, c, d]));
    let (mut corners, mut ends): (Vec<_>, Vec<_>) = (corners.collect(), ends.collect());
    corners.sort_by_key(|(plot, _)| *plot);
    ends.sort_by_key(|(plot, _)| *plot);
    let listings = fields.get_mut::<plots::Listing>("listings")?;
    for (plot, list) in listings.iter_mut().enumerate().take(count) {
        let before = |items: &[(usize, [u32; 4])], plot: usize| items.partition_point(|(of, _)| *of < plot) as u32;
        let first = corners.len() as u32;
        (list.first_triangle, list.end_triangle) = (before(&corners, plot), before(&corners, plot + 1));
        (list.first_edge, list.end_edge) = (first + before(&ends, plot), first + before(&ends, plot + 1));
    }
    owners.extend(ends.iter().map(|(plot, _)| *plot as u32));
    for (row, plot) in fields.get_mut::<u32>("owner_plots")?.iter_mut().zip(owners) {
        *row = plot;
    }
    for (row, (_, feature)) in fields.get_mut::<[u32; 4]>("features")?.iter_mut().zip(corners.into_iter().chain(ends)) {
        *row = feature;
    }
    fields.get_mut::<u32>("plot_words")?.copy_from_slice(&words);
    Ok(())
}

/// Says in the fields which vertices belong to crossings, and which do not any more.
pub(crate) fn flag_tangles(crossings: &[Crossing], fields: &mut Fields) -> Result<()> {
    let places = fields.get_mut::<[f32; 4]>("rest_places")?;
    let piece = |[_, _, _, word]: [f32; 4]| word as u32 / 2;
    for place in places.iter_mut() {
        place[3] = (2 * piece(*place)) as f32;
    }
    for vertex in crossings.iter().flat_map(|crossing| crossing.edge.into_iter().chain(crossing.triangle)) {
        if let Some(place) = places.get_mut(vertex as usize) {
            place[3] = (2 * piece(*place) + 1) as f32;
        }
    }
    Ok(())
}

/// Nothing pressed or was found before the state that is set.
pub(crate) fn forget(fields: &mut Fields) -> Result<()> {
    fields.get_mut::<Nearness>("nearness")?.fill(Nearness::default());
    fields.get_mut::<u32>("old_starts")?.fill(0);
    Ok(())
}

/// Refuses places at rest of a checkpoint that are not those of the cloth; which vertices are tangled may differ.
pub(crate) fn check_places(made: &Fields, restored: &Fields) -> Result<()> {
    let [made, restored] = [made.get::<[f32; 4]>("rest_places")?, restored.get::<[f32; 4]>("rest_places")?];
    let differ = |(made, restored): (&[f32; 4], &[f32; 4])| {
        let least = 2.0 * (made[3] / 2.0).floor();
        made[..3] != restored[..3] || (restored[3] != least && restored[3] != least + 1.0)
    };
    match made.iter().zip(restored).position(differ) {
        Some(index) => Err(Error::Checkpoint { problem: format!("vertex {index} is elsewhere at rest") }),
        None => Ok(()),
    }
}

/// Crossings of a cloth at these positions, where they are allowed.
///
/// # Errors
/// [`Error::Tangled`] where they are not.
pub(crate) fn check_tangles(mesh: &Mesh, start: &[[f32; 3]], settings: &SelfCollision) -> Result<Vec<Crossing>> {
    let surface = Surface::new(mesh);
    let crossings = surface.crossings(start)?;
    match crossings.first() {
        Some(first) if settings.tangles == Tangles::Refuse => {
            let (edge, triangle) = (first.edge, first.triangle);
            let contours = surface.contours(start)?;
            let closed = contours.iter().filter(|contour| contour.is_closed()).count();
            Err(Error::Tangled { crossings: crossings.len(), contours: contours.len(), closed, edge, triangle })
        }
        _ => Ok(crossings),
    }
}

/// The start of a frame, and what is told for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BeginOwn {
    pub(crate) settings: SelfCollision,
    /// Shortest edge \[m\].
    pub(crate) shortest: f32,
    /// Number of elements of every domain.
    pub(crate) sizes: Sizes,
}

impl Stage for BeginOwn {
    fn inputs(&self, inputs: &mut Inputs<'_>) -> Result<()> {
        let Self { settings, shortest, sizes } = *self;
        let edges = sizes.of(Domain::ITEMS) - sizes.triangles();
        let clearance = Clearance {
            thickness: settings.effective(shortest),
            friction: settings.friction,
            farthest: FARTHEST * shortest,
            stride: settings.stride(shortest),
            vertices: sizes.vertices() as u32,
            resolves: (settings.tangles == Tangles::Resolve).into(),
            triangles: sizes.triangles() as u32,
            capacity: sizes.of(Domain::PAIRS) as u32,
            triangle_buckets: buckets(sizes.triangles()) as u32,
            edge_buckets: buckets(edges) as u32,
        };
        inputs.set("clearance", clearance)
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        fence::begin(recorder);
    }
}

/// The list of pairs and their planes, after the prediction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detect {
    /// Whether tangles are resolved.
    pub(crate) resolves: bool,
}

impl Stage for Detect {
    fn record(&self, recorder: &mut Recorder<'_>) {
        reach::where_stale(recorder, |recorder| {
            if self.resolves {
                grid::record(recorder);
                untangle::record(recorder);
            }
            carry::keep(recorder, false);
            pairs::record(recorder);
            carry::carry(recorder);
            sift::restart(recorder);
        });
        fence::where_pairs(recorder, fence::START, |recorder| {
            sift::recall(recorder);
            recorder.dispatch(&fence::AIM_PAIRS, Domain::PAIRS);
            sift::record(recorder);
            reach::meter(recorder);
            fence::where_pairs(recorder, fence::TOUCH, |recorder| {
                reach::drift(recorder);
                respond::resume(recorder);
            });
        });
    }
}

/// The end of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndOwn;

impl Stage for EndOwn {
    fn record(&self, recorder: &mut Recorder<'_>) {
        reach::note(recorder);
        carry::keep(recorder, true);
    }
}

/// Records response and fence, after a projection and the solids.
pub(crate) fn pass(recorder: &mut Recorder<'_>, frictionless: bool) {
    recorder.set_phase(phase::CONTACT);
    fence::where_pairs(recorder, fence::ROUND, |recorder| {
        respond::press(recorder, frictionless);
        fence::push(recorder);
        fence::trim(recorder);
    });
    recorder.set_phase(phase::NEARNESS);
    reach::check(recorder);
    recorder.set_phase(phase::PROJECTION);
}

/// The end of a substep, after the commit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calm;

impl Stage for Calm {
    fn record(&self, recorder: &mut Recorder<'_>) {
        fence::where_pairs(recorder, fence::TOUCH, |recorder| {
            respond::calm(recorder);
            recorder.dispatch(&fence::CHECK_FORCED, Domain::PAIRS);
            recorder.dispatch(&fence::TALLY, Domain::VERTICES);
        });
        plots::wear(recorder);
    }
}
