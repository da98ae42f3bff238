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
use crate::mesh::coloring::first_gap;
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
        let opposites = Opposites::new(mesh);
        let paths = trace(mesh.vertex_count(), mesh.edges(), &opposites);
        let family_of = assign(mesh.vertex_count(), &paths);
        let count = family_of.iter().max().map_or(0, |most| most + 1);
        let mut pinned = vec![false; mesh.vertex_count()];
        for pin in mesh.pins() {
            pinned[*pin as usize] = true;
        }
        let held = |vertex: &u32| pinned[*vertex as usize];
        let between_pins = paths.iter().any(|path| {
            let ends = [path.vertices.first(), path.vertices.last()];
            !path.closed() && ends.into_iter().flatten().all(held) && !path.vertices.iter().all(held)
        });
        let (mut edges, mut canonical, mut yarns, mut families) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for family in 0..count {
            let first = yarns.len() as u32;
            for (path, _) in paths.iter().zip(&family_of).filter(|(_, of)| **of == family) {
                let start = edges.len() as u32;
                for (step, &edge) in path.edges.iter().enumerate() {
                    let (tail, head) = (path.vertices[step], path.vertices[step + 1]);
                    edges.push(Link { tail, head, ..mesh.edges()[edge as usize] });
                    canonical.push(edge);
                }
                yarns.push(Yarn { edges: start..edges.len() as u32, closed: path.closed() });
            }
            families.push(first..yarns.len() as u32);
        }
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

/// For each edge the edge that goes on at its tail and at its head.
struct Opposites {
    /// `u32::MAX` where a yarn ends.
    next: Vec<[u32; 2]>,
}

impl Opposites {
    fn new(mesh: &Mesh) -> Self {
        let edges = mesh.edges();
        let mut around: Vec<Vec<u32>> = vec![Vec::new(); mesh.vertex_count()];
        for (index, edge) in edges.iter().enumerate() {
            around[edge.tail as usize].push(index as u32);
            around[edge.head as usize].push(index as u32);
        }
        let regions = regions_of_edges(mesh);
        let mut next = vec![[u32::MAX; 2]; edges.len()];
        for (vertex, around) in around.iter().enumerate() {
            for &edge in around {
                let on = follower(edge, around, &regions);
                // Both must agree: a yarn that comes back must find the way it went.
                if let Some(on) = on.filter(|on| follower(*on, around, &regions) == Some(edge)) {
                    let side = usize::from(edges[edge as usize].head as usize == vertex);
                    next[edge as usize][side] = on;
                }
            }
        }
        Self { next }
    }
}

/// The only other edge at a vertex that shares no region with this one.
fn follower(edge: u32, around: &[u32], regions: &[Vec<u32>]) -> Option<u32> {
    // A vertex with more than four edges is irregular whatever its regions say, and nobody need compare all its pairs.
    if around.len() > 4 {
        return None;
    }
    let apart = |other: &&u32| {
        **other != edge && !regions[edge as usize].iter().any(|region| regions[**other as usize].contains(region))
    };
    let mut candidates = around.iter().filter(apart);
    let first = candidates.next()?;
    if candidates.next().is_some() { None } else { Some(*first) }
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

/// A traced yarn in canonical edge indices.
struct Path {
    edges: Vec<u32>,
    /// One more than edges; first and last are equal if it is closed.
    vertices: Vec<u32>,
}

impl Path {
    fn closed(&self) -> bool {
        self.edges.len() > 1 && self.vertices.first() == self.vertices.last()
    }
}

fn trace(vertex_count: usize, edges: &[Link], opposites: &Opposites) -> Vec<Path> {
    let mut taken = vec![false; edges.len()];
    // The path that last came through a vertex: none may cross itself.
    let mut visited = vec![u32::MAX; vertex_count];
    let mut paths: Vec<Path> = Vec::new();
    for seed in 0..edges.len() as u32 {
        // More than once where a path that comes from behind crosses itself, and ends, before it is at the seed.
        while !taken[seed as usize] {
            // Back to the start of the yarn, or once around.
            let (mut edge, mut side) = (seed, 0);
            loop {
                let on = opposites.next[edge as usize][side];
                if on == u32::MAX || on == seed || taken[on as usize] {
                    break;
                }
                let vertex = end(&edges[edge as usize], side);
                (edge, side) = (on, 1 - side_of(&edges[on as usize], vertex));
            }
            let closed = opposites.next[edge as usize][side] == seed && edge != seed;
            // Then forwards along it. A closed yarn starts at the seed, whose tail is its smallest vertex.
            let (mut edge, mut side) = if closed { (seed, 1) } else { (edge, 1 - side) };
            let number = paths.len() as u32;
            let start = end(&edges[edge as usize], 1 - side);
            let mut path = Path { edges: Vec::new(), vertices: vec![start] };
            loop {
                taken[edge as usize] = true;
                let vertex = end(&edges[edge as usize], side);
                path.edges.push(edge);
                path.vertices.push(vertex);
                visited[vertex as usize] = number;
                let on = opposites.next[edge as usize][side];
                if on == u32::MAX || taken[on as usize] || vertex == start {
                    break;
                }
                (edge, side) = (on, 1 - side_of(&edges[on as usize], vertex));
                let ahead = end(&edges[edge as usize], side);
                if visited[ahead as usize] == number && ahead != start {
                    break;
                }
            }
            paths.push(path);
        }
    }
    paths
}

/// Vertex at side 0 (tail) or 1 (head).
fn end(edge: &Link, side: usize) -> u32 {
    if side == 0 { edge.tail } else { edge.head }
}

fn side_of(edge: &Link, vertex: u32) -> usize {
    usize::from(edge.head == vertex)
}

/// Family of each path: breadth first from the first path of each piece, the smallest family that no path with a common
/// vertex has. Where two families suffice for a piece, that finds them.
fn assign(vertex_count: usize, paths: &[Path]) -> Vec<u32> {
    let mut at: Vec<Vec<u32>> = vec![Vec::new(); vertex_count];
    for (index, path) in paths.iter().enumerate() {
        for &vertex in &path.vertices {
            if at[vertex as usize].last() != Some(&(index as u32)) {
                at[vertex as usize].push(index as u32);
            }
        }
    }
    let mut family = vec![u32::MAX; paths.len()];
    // Families of the paths at a vertex, ascending, and whether all of them have been put into the queue: so the work
    // is linear however many paths meet.
    let mut used: Vec<Vec<u32>> = vec![Vec::new(); vertex_count];
    let mut seen = vec![false; vertex_count];
    let mut queue = std::collections::VecDeque::new();
    for root in 0..paths.len() as u32 {
        if family[root as usize] != u32::MAX {
            continue;
        }
        queue.push_back(root);
        while let Some(path) = queue.pop_front() {
            if family[path as usize] != u32::MAX {
                continue;
            }
            let vertices = || paths[path as usize].vertices.iter().map(|vertex| *vertex as usize);
            // The smallest that is free at one vertex after another, until nothing changes.
            let mut free = 0;
            loop {
                let next = vertices().fold(free, |free, vertex| first_gap(&used[vertex], |family| *family, free));
                if next == free {
                    break;
                }
                free = next;
            }
            family[path as usize] = free;
            for vertex in vertices() {
                if let Err(place) = used[vertex].binary_search(&free) {
                    used[vertex].insert(place, free);
                }
                if !std::mem::replace(&mut seen[vertex], true) {
                    queue.extend(at[vertex].iter().filter(|other| family[**other as usize] == u32::MAX));
                }
            }
        }
    }
    family
}
