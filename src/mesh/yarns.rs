//! Yarns: the warp and weft threads of a mesh, as chains of edges.
//!
//! The matrix of eq. (7) couples two edges only where they share a vertex. Along one yarn that is a tridiagonal matrix,
//! the discrete equation of a string, which can be solved exactly; yarns of different directions couple only as far as
//! the cloth is sheared. So everything that is fast on cloth works yarn by yarn.
//!
//! **Tracing.** A yarn goes on from an edge, through a vertex, to the one edge there that shares no face with it;
//! triangles with a side that is no edge between them count as one. At a regular inner vertex of quads, whole or cut
//! and woven, that is the opposite edge, on a border the next edge of the border, on a chain the next link. Where there
//! is no such edge or more than one (corners, irregular vertices, triangles that are not woven), the yarn ends. A yarn
//! may close on itself (a sleeve); then it starts at its smallest vertex. It never crosses itself: where it would, it
//! ends.
//!
//! **Families.** Two yarns with a common vertex are in different families, so all yarns of a family can be moved at
//! once. On a grid, a tube and whatever else is woven of warp and weft there are exactly two; irregular vertices, where
//! more than two yarns meet, and triangles need more.
//!
//! All of it is a pure function of the mesh: yarns are found in the order of their smallest edge.

use std::ops::Range;

use crate::engine::layout::element;
use crate::mesh::Link;
use crate::mesh::Mesh;
use crate::mesh::lines::{Laid, lay, trace};
use crate::mesh::topology::root;

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
}

impl Yarns {
    /// Traces the yarns of a mesh.
    pub fn new(mesh: &Mesh) -> Self {
        let regions = regions_of_edges(mesh);
        let apart = |edge: u32, other: u32, _: u32| {
            !regions[edge as usize].iter().any(|region| regions[other as usize].contains(region))
        };
        let paths = trace(mesh.vertex_count(), mesh.edges(), apart);
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
        Self { edges, canonical, yarns, families, between_pins }
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

    /// Number of edges of the longest yarn; 0 without edges.
    pub fn longest(&self) -> u32 {
        self.yarns.iter().map(|yarn| yarn.edges.end - yarn.edges.start).max().unwrap_or(0)
    }
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
