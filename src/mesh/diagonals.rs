//! Diagonals: the springs of a mesh as lines, along which they can be solved exactly.
//!
//! Both diagonals of a quad are springs against shear. From corner to corner they go on through the cloth as yarns do,
//! and what was said of yarns holds for them: along one line the springs couple in a tridiagonal system
//! ([`crate::solver::diagonals`]).
//!
//! **Tracing.** A line goes on from a spring, through a vertex, to the one spring there whose face shares no side at
//! that vertex with its own. At a regular inner vertex of quads that is the diagonal of the opposite quad, and of quads
//! that were cut and woven the third side of the opposite pair of triangles. Where there is no such spring or more than
//! one (borders, irregular vertices, triangles that are not cut quads), the line ends, as it does where it would cross
//! itself. A closed line is cut: its last spring is a line of its own, as is one that is the side of a quad (an elastic
//! seam). Springs in no face go on as links of a chain do. Any cut is safe: pieces that meet are solved one after the
//! other, and answer a little more weakly.
//!
//! **Families.** Two lines with a common vertex are in different families. Grids and tubes have exactly two; around
//! irregular vertices there are more.
//!
//! All of it is a pure function of the mesh.

use std::ops::Range;

use crate::mesh::lines::{Laid, Path, lay, trace};
use crate::mesh::{Face, Link, Mesh};

/// Most families that are worth a solve: each is a pass over its lines.
const FAMILIES: usize = 4;
/// Least mean number of springs of a line; a grid of 5 × 5 vertices has a little more.
const LENGTH: usize = 2;

/// No face, or no vertex.
const NONE: u32 = u32::MAX;

/// The springs of a mesh as lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagonals {
    /// The mesh's springs in the order of lines: family by family, line by line, each directed along its line.
    pub links: Vec<Link>,
    /// For each of `links` its index in [`Mesh::springs`].
    pub canonical: Vec<u32>,
    /// Ranges of `links`, one per line, family by family; the head of each link is the tail of the next.
    pub lines: Vec<Range<u32>>,
    /// Ranges of `lines`, one per family.
    pub families: Vec<Range<u32>>,
}

impl Diagonals {
    /// Traces the diagonals of a mesh.
    pub fn new(mesh: &Mesh) -> Self {
        let homes = homes(mesh);
        let beside = |spring: u32, vertex: u32| {
            let [first, second] = homes[spring as usize]?.map(|face| beside(mesh, face, vertex));
            Some([first[0], first[1], second[0], second[1]])
        };
        let apart = |spring: u32, other: u32, vertex: u32| match (beside(spring, vertex), beside(other, vertex)) {
            (Some(mine), Some(others)) => !mine.iter().any(|side| *side != NONE && others.contains(side)),
            _ => false,
        };
        let mut paths = Vec::new();
        for mut path in trace(mesh.vertex_count(), mesh.springs(), apart, |_, _| Vec::new()) {
            if path.closed() {
                let last = path.vertices.len() - 2;
                let cut = Path { links: path.links.split_off(last), vertices: path.vertices[last..].to_vec() };
                path.vertices.truncate(last + 1);
                paths.extend([path, cut]);
            } else {
                paths.push(path);
            }
        }
        let Laid { links, canonical, lines, families } = lay(mesh.vertex_count(), mesh.springs(), &paths);
        Self { links, canonical, lines: lines.into_iter().map(|(links, _)| links).collect(), families }
    }

    /// Number of springs of the longest line; 0 without springs.
    pub fn longest(&self) -> u32 {
        self.lines.iter().map(|line| line.end - line.start).max().unwrap_or(0)
    }

    /// Whether solving along them pays: there are lines, in few families, and they are long enough. Springs one by one
    /// would be far too soft where they are stiff: each gives way before the next is asked.
    pub fn pay(&self) -> bool {
        (1..=FAMILIES).contains(&self.families.len()) && self.links.len() >= LENGTH * self.lines.len()
    }
}

/// For each spring the faces that it lies in: the quad that it is a diagonal of, or the triangles that it is a side of;
/// then [`NONE`]. `None` where it is the side of a quad, or where there are too many to say what is opposite.
fn homes(mesh: &Mesh) -> Vec<Option<[u32; 2]>> {
    let springs = mesh.springs();
    let mut homes = vec![Some([NONE; 2]); springs.len()];
    let mut add = |a: u32, b: u32, face: Option<u32>| {
        let pair = (a.min(b), a.max(b));
        let Ok(spring) = springs.binary_search_by_key(&pair, |link| (link.tail, link.head)) else { return };
        let place = homes[spring].as_mut().and_then(|home| home.iter_mut().find(|face| **face == NONE));
        match (place, face) {
            (Some(place), Some(face)) => *place = face,
            _ => homes[spring] = None,
        }
    };
    for (face, corners) in (0..).zip(mesh.faces()) {
        match *corners {
            Face::Quad([a, b, c, d]) => {
                [[a, c], [b, d]].into_iter().for_each(|[a, b]| add(a, b, Some(face)));
                [[a, b], [b, c], [c, d], [d, a]].into_iter().for_each(|[a, b]| add(a, b, None));
            }
            Face::Triangle([a, b, c]) => [[a, b], [b, c], [c, a]].into_iter().for_each(|[a, b]| add(a, b, Some(face))),
        }
    }
    homes
}

/// The vertices beside one along the sides of a face.
fn beside(mesh: &Mesh, face: u32, vertex: u32) -> [u32; 2] {
    let corners = mesh.faces().get(face as usize).map_or(&[][..], Face::vertices);
    let count = corners.len();
    let place = corners.iter().position(|corner| *corner == vertex);
    place.map_or([NONE; 2], |place| [corners[(place + 1) % count], corners[(place + count - 1) % count]])
}
