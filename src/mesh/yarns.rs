//! Yarns: the warp and weft threads of a mesh, as chains of edges.
//!
//! The matrix of eq. (7) couples two edges only where they share a vertex. Along one yarn that is a tridiagonal matrix,
//! the discrete equation of a string, which can be solved exactly; yarns of different directions couple only as far as
//! the cloth is sheared. So everything that is fast on cloth works yarn by yarn.
//!
//! **Tracing.** A yarn goes on from an edge, through a vertex, to the one edge there that shares no face with it;
//! triangles with a side that is no edge between them count as one. At a regular inner vertex of quads, whole or cut
//! and woven, that is the opposite edge, on a border the next edge of the border, on a chain the next link. Where there
//! is no such edge or more than one (corners, irregular vertices), the yarn ends. A yarn may close on itself (a
//! sleeve); then it starts at its smallest vertex. It never crosses itself: where it would, it ends.
//!
//! **Locked triangles**, those of a mesh that is not woven whose three sides are inextensible, have no threads: every
//! two neighboring edges share a face. There a yarn is a path that goes as straight on as it can in the rest shape: of
//! all pairs of edges at a vertex with an angle of at least 135° the straightest first, of equal ones the one with the
//! smallest edges. On squares that were cut, and on equilateral triangles, these are three directions of straight
//! lines; on irregular triangles they are pieces of five or six edges on average.
//!
//! **Families.** Two yarns with a common vertex are in different families, so all yarns of a family can be moved at
//! once. On a grid, a tube and whatever else is woven of warp and weft there are exactly two; irregular vertices, where
//! more than two yarns meet, need more, regular triangles three, and irregular ones some fifteen.
//!
//! All of it is a pure function of the mesh: yarns are found in the order of their smallest edge.

use std::ops::Range;

use glam::DVec3;

use crate::engine::layout::element;
use crate::mesh::Link;
use crate::mesh::Mesh;
use crate::mesh::lines::{Laid, lay, trace};
use crate::mesh::topology::root;

/// Cosine of the least angle at which a path through locked triangles goes on, 135°. At 120° it would turn back from a
/// zigzag border of equilateral triangles into the next direction, as rounding has it.
const MOST_BENT: f64 = -std::f64::consts::FRAC_1_SQRT_2;
/// Most families of a mesh whose yarns are worth following.
const FAMILIES: usize = 4;
/// Least mean number of edges of its yarns.
const LENGTH: usize = 4;
/// Edges at a vertex up to which all pairs of them are compared.
const MOST_AROUND: usize = 16;

element! {
    /// A yarn as kernels read it: a range of edges, the head of each the tail of the next.
    pub struct YarnRow {
        /// First edge.
        pub first: u32,
        /// Number of edges.
        pub count: u32,
        /// 1 if the last edge ends where the first starts.
        pub closed: u32,
        /// First edge of the whole yarn, where this is a piece of it.
        pub whole_first: u32,
        /// Number of edges of the whole yarn.
        pub whole_count: u32,
    }
}

/// One yarn: consecutive edges of [`Yarns::edges`], the head of each the tail of the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Yarn {
    /// Its edges.
    pub edges: Range<u32>,
    /// Whether the last edge ends where the first starts.
    pub closed: bool,
}

/// The yarns of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Yarns {
    /// The mesh's edges in yarn order: family by family, yarn by yarn, each directed along its yarn.
    pub edges: Vec<Link>,
    /// For each of `edges` its index in [`Mesh::edges`].
    pub canonical: Vec<u32>,
    /// The yarns, family by family.
    pub yarns: Vec<Yarn>,
    /// Ranges of `yarns`, one per family.
    pub families: Vec<Range<u32>>,
    /// Whether an open yarn with vertices to move has both its ends pinned: straight, it is singular
    /// ([`crate::solver::line_solve`]).
    pub between_pins: bool,
    /// How many of the edges lie in locked triangles, and in no other face.
    pub locked: u32,
}

impl Yarns {
    /// Traces the yarns of a mesh.
    pub fn new(mesh: &Mesh) -> Self {
        let (regions, locked) = (regions_of_edges(mesh), locked_edges(mesh));
        let apart = |edge: u32, other: u32, _: u32| {
            let together = regions[edge as usize].iter().any(|region| regions[other as usize].contains(region));
            let paths = locked[edge as usize] && locked[other as usize];
            !together && !paths
        };
        let joined = |vertex: u32, loose: &[u32]| straightest(mesh, &locked, vertex, loose);
        let paths = trace(mesh.vertex_count(), mesh.edges(), apart, joined);
        let mut pinned = vec![false; mesh.vertex_count()];
        for pin in mesh.pins() {
            pinned[*pin as usize] = true;
        }
        let held = |vertex: &u32| pinned[*vertex as usize];
        let between_pins = paths.iter().any(|path| {
            let ends = [path.vertices.first(), path.vertices.last()];
            !path.closed() && ends.into_iter().flatten().all(held) && !path.vertices.iter().all(held)
        });
        let Laid { links: edges, canonical, lines, families } = lay(mesh.vertex_count(), mesh.edges(), &paths);
        let yarns = lines.into_iter().map(|(edges, closed)| Yarn { edges, closed }).collect();
        let locked = locked.iter().filter(|locked| **locked).count() as u32;
        Self { edges, canonical, yarns, families, between_pins, locked }
    }

    /// Ranges of `edges`, one per family.
    pub fn family_edges(&self) -> Vec<Range<u32>> {
        let edges = |family: &Range<u32>| {
            let yarns = &self.yarns[family.start as usize..family.end as usize];
            let start = yarns.first().map_or(0, |yarn| yarn.edges.start);
            start..yarns.last().map_or(start, |yarn| yarn.edges.end)
        };
        self.families.iter().map(edges).collect()
    }

    /// Whether yarns are short pieces in a mesh that does not lock, and not only because it is small: a few squares have
    /// two families.
    pub(crate) fn are_pieces(&self) -> bool {
        let families = self.families.len();
        self.locked == 0 && families > 2 && !run_through(families, self.yarns.len(), self.edges.len())
    }

    /// Number of edges of the longest yarn; 0 without edges.
    pub fn longest(&self) -> u32 {
        self.yarns.iter().map(|yarn| yarn.edges.end - yarn.edges.start).max().unwrap_or(0)
    }
}

/// Whether yarns run through a mesh, in few families, or are short pieces.
pub(crate) fn run_through(families: usize, yarns: usize, edges: usize) -> bool {
    families <= FAMILIES && edges >= LENGTH * yarns
}

/// Which edges lie in triangles alone, whose three sides are edges; none in a mesh that is woven.
fn locked_edges(mesh: &Mesh) -> Vec<bool> {
    let edges = mesh.edges();
    if !mesh.patches().is_empty() {
        return vec![false; edges.len()];
    }
    // Whether an edge was seen in such a triangle, and in any other face.
    let mut seen = vec![[false; 2]; edges.len()];
    for face in mesh.faces() {
        let vertices = face.vertices();
        let sides = vertices.iter().zip(vertices.iter().cycle().skip(1));
        let found: Vec<usize> = sides
            .filter_map(|(a, b)| {
                let pair = (*a.min(b), *a.max(b));
                edges.binary_search_by_key(&pair, |edge| (edge.tail, edge.head)).ok()
            })
            .collect();
        let other = vertices.len() != 3 || found.len() != 3;
        found.into_iter().for_each(|edge| seen[edge][usize::from(other)] = true);
    }
    seen.into_iter().map(|seen| seen == [true, false]).collect()
}

/// Pairs of locked edges at a vertex that go straight on from each other, the straightest first.
fn straightest(mesh: &Mesh, locked: &[bool], vertex: u32, loose: &[u32]) -> Vec<[u32; 2]> {
    if loose.len() < 2 || loose.len() > MOST_AROUND {
        return Vec::new();
    }
    let at = |vertex: u32| DVec3::from(mesh.positions()[vertex as usize].map(f64::from));
    let ways: Vec<(u32, DVec3)> = loose
        .iter()
        .filter(|edge| locked[**edge as usize])
        .map(|edge| {
            let Link { tail, head, .. } = mesh.edges()[*edge as usize];
            let way = at(if tail == vertex { head } else { tail }) - at(vertex);
            (*edge, way.normalize_or_zero())
        })
        .collect();
    let mut pairs = Vec::new();
    for (place, (edge, way)) in ways.iter().enumerate() {
        for (other, back) in &ways[place + 1..] {
            let turn = way.dot(*back);
            if turn < MOST_BENT {
                pairs.push((turn, [*edge, *other]));
            }
        }
    }
    // Stable: of equally straight ones the first.
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut taken: Vec<u32> = Vec::new();
    let mut joined = Vec::new();
    for (_, pair) in pairs {
        if !pair.iter().any(|edge| taken.contains(edge)) {
            taken.extend(pair);
            joined.push(pair);
        }
    }
    joined
}

/// Numbers of the regions at each edge: triangles that are joined across sides which are springs, or free, are one
/// region. The two halves of a quad that was cut and woven are one, as the quad was.
fn regions_of_edges(mesh: &Mesh) -> Vec<Vec<u32>> {
    let edges = mesh.edges();
    let mut regions = vec![Vec::new(); edges.len()];
    let mut open: Vec<((u32, u32), u32)> = Vec::new();
    for (number, face) in (0..).zip(mesh.faces()) {
        let vertices = face.vertices();
        for (a, b) in vertices.iter().zip(vertices.iter().cycle().skip(1)) {
            let pair = (*a.min(b), *a.max(b));
            match edges.binary_search_by_key(&pair, |edge| (edge.tail, edge.head)) {
                Ok(edge) => regions[edge].push(number),
                // A slit or an elastic seam between quads joins nothing: yarns cross it.
                Err(_) if vertices.len() == 3 => open.push((pair, number)),
                Err(_) => {}
            }
        }
    }
    open.sort_unstable();
    let mut parents: Vec<u32> = (0..mesh.faces().len() as u32).collect();
    for both in open.windows(2).filter(|both| both[0].0 == both[1].0) {
        let (a, b) = (root(&mut parents, both[0].1), root(&mut parents, both[1].1));
        parents[a.max(b) as usize] = a.min(b);
    }
    for region in regions.iter_mut().flatten() {
        *region = root(&mut parents, *region);
    }
    regions
}
