//! The cloth as it is drawn, and whether it passes through itself.
//!
//! A judge on the host: it knows positions and triangles, and nothing of how they came about. Whatever finds contacts
//! in a simulation is compared with it and shares no code with it.
//!
//! A **crossing** is an edge and a triangle of the [drawn triangles](Mesh::triangles) that have no common vertex and
//! share a point. Touching counts: a corner on a triangle, or two layers in one plane, are already where cloth cannot
//! be, and the next motion decides by rounding on which side they go on. The decision is exact for the f32 positions
//! ([`robust`](https://docs.rs/robust), the predicates of Shewchuk 1997), so flat cloth has none, however it lies.
//! Edges and triangles with a common vertex are neighbors and may touch there. If triangles with a common vertex pass
//! through each other elsewhere, an edge of one of them without that vertex goes through the other one, so that
//! nothing is overlooked; two triangles that are folded onto each other along a common edge do not pass.
//!
//! Lines ([`Mesh::lines`]) have no surface and are not judged.

mod contours;
mod distance;
mod exact;
mod tree;

use glam::DVec3;

use super::Mesh;
use super::check::check_positions;
use crate::error::{Error, Result};
pub use contours::{Contour, Region};
use exact::Point;
use tree::{Bounds, Tree};

/// An edge and a triangle without a common vertex that share a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Crossing {
    /// Ends of the edge, the lower vertex first. It may be the diagonal along which a quad is drawn.
    pub edge: [u32; 2],
    /// Corners of the triangle, as [`Mesh::triangles`] has them.
    pub triangle: [u32; 3],
}

/// The drawn triangles of a mesh and their edges, each once.
///
/// ```
/// use taut::mesh::surface::Surface;
/// use taut::scene;
///
/// let sheet = scene::sheet(5)?;
/// let surface = Surface::new(&sheet.mesh);
/// assert_eq!(surface.count_crossings(&sheet.start)?, 0);
/// // In flat squares of 0.25 m nothing is nearer than a corner to the diagonal that it is not on.
/// let nearest = surface.nearest(&sheet.start)?.ok_or("no parts")?;
/// assert!((nearest - 0.25 / 2.0_f64.sqrt()).abs() < 1e-7);
///
/// // A corner of the sheet that is pushed down through its middle and out again on top.
/// let mut pushed = sheet.start;
/// pushed[0] = [0.55, 0.1, 0.65];
/// pushed[1] = [0.6, -0.1, 0.7];
/// let crossings = surface.crossings(&pushed)?;
/// assert!(crossings.iter().any(|crossing| crossing.edge == [0, 1]));
/// assert_eq!(surface.nearest(&pushed)?, Some(0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    vertex_count: usize,
    triangles: Vec<[u32; 3]>,
    /// Whether the corner of a triangle, and the side that starts there, are its own: those of several triangles are
    /// the first one's.
    own_corners: Vec<[bool; 3]>,
    own_sides: Vec<[bool; 3]>,
}

impl Surface {
    /// That of a mesh.
    pub fn new(mesh: &Mesh) -> Self {
        let triangles = mesh.triangles();
        let mut own_corners = vec![[false; 3]; triangles.len()];
        let mut own_sides = own_corners.clone();
        let mut seen = vec![false; mesh.vertex_count()];
        let mut sides = Vec::with_capacity(3 * triangles.len());
        for (index, triangle) in triangles.iter().enumerate() {
            for corner in 0..3 {
                own_corners[index][corner] = !std::mem::replace(&mut seen[triangle[corner] as usize], true);
                sides.push((edge(triangle, corner), index, corner));
            }
        }
        sides.sort_unstable();
        sides.dedup_by_key(|(edge, ..)| *edge);
        for (_, triangle, corner) in sides {
            own_sides[triangle][corner] = true;
        }
        Self { vertex_count: mesh.vertex_count(), triangles, own_corners, own_sides }
    }

    /// How often the cloth crosses itself at these positions \[m\]: pairs of an edge and a triangle.
    ///
    /// Draped cloth of 256 × 256 vertices takes about 0.15 s on one core. The time grows with the triangles and with
    /// the pairs of them whose boxes meet: a heap with half a million crossings takes a second, and where everything is
    /// in one place all pairs are tested.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if there is not one position per vertex, [`Error::NotFinite`] and
    /// [`Error::OutOfRange`] with the place of a position that is nowhere or beyond ±2⁴⁰ m.
    pub fn count_crossings(&self, positions: &[[f32; 3]]) -> Result<u64> {
        let mut count = 0;
        self.visit_crossings(positions, |_| count += 1)?;
        Ok(count)
    }

    /// All crossings, sorted by their vertices. A heap may have hundreds of thousands.
    ///
    /// # Errors
    /// As [`Surface::count_crossings`].
    pub fn crossings(&self, positions: &[[f32; 3]]) -> Result<Vec<Crossing>> {
        let mut crossings = Vec::new();
        self.visit_crossings(positions, |crossing| crossings.push(crossing))?;
        crossings.sort_unstable();
        Ok(crossings)
    }

    /// The smallest distance of parts of the cloth that are no neighbors \[m\]: of a vertex and a triangle, or of two
    /// edges, without a common vertex. 0 where the cloth crosses itself; `None` where there are no such parts.
    ///
    /// In flat cloth it is that of its smallest faces: a side of a square over √2.
    ///
    /// # Errors
    /// As [`Surface::count_crossings`].
    pub fn nearest(&self, positions: &[[f32; 3]]) -> Result<Option<f64>> {
        let (bounds, tree) = self.sort(positions)?;
        let mut least = f64::INFINITY;
        let too_far = |least: &f64, a: &Bounds, b: &Bounds| a.apart(b) >= *least;
        tree.pairs(&mut least, too_far, |least, first, second| {
            let mut crosses = false;
            self.visit_pair(positions, &bounds, [first, second], |_| crosses = true);
            *least = if crosses { 0.0 } else { self.apart(positions, &bounds, [first, second], *least) };
            *least > 0.0
        });
        Ok(least.is_finite().then(|| least.sqrt()))
    }

    /// Boxes of the triangles, and the tree over them.
    fn sort(&self, positions: &[[f32; 3]]) -> Result<(Vec<Bounds>, Tree)> {
        if positions.len() != self.vertex_count {
            let (expected, found) = (self.vertex_count, positions.len());
            return Err(Error::LengthMismatch { field: "positions", expected, found });
        }
        check_positions(positions)?;
        let bounds: Vec<Bounds> =
            self.triangles.iter().map(|triangle| Bounds::of(places(positions, *triangle))).collect();
        let tree = Tree::new(&bounds);
        Ok((bounds, tree))
    }

    fn visit_crossings(&self, positions: &[[f32; 3]], mut found: impl FnMut(Crossing)) -> Result<()> {
        let (bounds, tree) = self.sort(positions)?;
        tree.pairs(
            &mut (),
            |(), a, b| !a.meets(b),
            |(), first, second| {
                self.visit_pair(positions, &bounds, [first, second], &mut found);
                true
            },
        );
        Ok(())
    }

    /// Finds those of the own edges of each of two triangles with the other one.
    fn visit_pair(&self, positions: &[[f32; 3]], bounds: &[Bounds], pair: [u32; 2], mut found: impl FnMut(Crossing)) {
        let [first, second] = pair.map(|index| index as usize);
        for (pierces, pierced) in [(first, second), (second, first)] {
            let triangle = self.triangles[pierced];
            for edge in self.own_edges(pierces) {
                let ends = places(positions, edge);
                if Bounds::of(ends).meets(&bounds[pierced])
                    && edge.iter().all(|end| !triangle.contains(end))
                    && exact::meet(ends, places(positions, triangle))
                {
                    found(Crossing { edge, triangle });
                }
            }
        }
    }

    /// Square of the least distance of own corners and own edges of each of two triangles to the other one and its own
    /// edges \[m²\], where they have no common vertex, if it is below `least`; `least` if not.
    fn apart(&self, positions: &[[f32; 3]], bounds: &[Bounds], pair: [u32; 2], mut least: f64) -> f64 {
        let [first, second] = pair.map(|index| index as usize);
        for (one, other) in [(first, second), (second, first)] {
            let triangle = self.triangles[other];
            for (vertex, own) in self.triangles[one].into_iter().zip(self.own_corners[one]) {
                let near = || Bounds::of(places(positions, [vertex])).apart(&bounds[other]) < least;
                if own && !triangle.contains(&vertex) && near() {
                    let [point] = precise(positions, [vertex]);
                    least = least.min(distance::point_triangle(point, precise(positions, triangle)));
                }
            }
        }
        for edge in self.own_edges(first) {
            let around = Bounds::of(places(positions, edge));
            for other in self.own_edges(second).filter(|other| edge.iter().all(|end| !other.contains(end))) {
                if around.apart(&Bounds::of(places(positions, other))) < least {
                    least = least.min(distance::segments(precise(positions, edge), precise(positions, other)));
                }
            }
        }
        least
    }

    fn own_edges(&self, triangle: usize) -> impl Iterator<Item = [u32; 2]> {
        let (corners, own) = (self.triangles[triangle], self.own_sides[triangle]);
        (0..3).filter(move |corner| own[*corner]).map(move |corner| edge(&corners, corner))
    }
}

/// The side of a triangle that starts at a corner, the lower vertex first.
fn edge(triangle: &[u32; 3], corner: usize) -> [u32; 2] {
    let (a, b) = (triangle[corner], triangle[(corner + 1) % 3]);
    [a.min(b), a.max(b)]
}

fn places<const COUNT: usize>(positions: &[[f32; 3]], vertices: [u32; COUNT]) -> [Point; COUNT] {
    vertices.map(|vertex| positions[vertex as usize])
}

fn precise<const COUNT: usize>(positions: &[[f32; 3]], vertices: [u32; COUNT]) -> [DVec3; COUNT] {
    vertices.map(|vertex| DVec3::from(positions[vertex as usize].map(f64::from)))
}
