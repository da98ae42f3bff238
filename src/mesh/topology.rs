//! Who touches whom: incidence of vertices and links, colors, connected pieces.

use crate::mesh::Link;
use crate::mesh::Mesh;
use crate::mesh::coloring::Coloring;
use crate::mesh::diagonals::Diagonals;
use crate::mesh::windows::Windows;
use crate::mesh::yarns::Yarns;

/// What the kernels need to know about a [`Mesh`] beyond its lists; a pure function of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// The yarns, and the edges in their order, which all kernels use.
    pub yarns: Yarns,
    /// Passes around pins that stand alone.
    pub windows: Windows,
    /// The springs as lines.
    pub diagonals: Diagonals,
    /// The edges at each vertex, by their number in yarn order.
    pub edge_incidence: Incidence,
    /// The springs at each vertex.
    pub spring_incidence: Incidence,
    /// The edges in colors, by their number in yarn order.
    pub coloring: Coloring,
    /// The piece each vertex belongs to. Pieces are connected by edges or springs and numbered by
    /// their smallest vertex.
    pub component_of: Vec<u32>,
    /// How many pieces there are.
    pub component_count: usize,
    /// How many edges have both ends pinned. No solver can change their length: if they are too
    /// long they stay so.
    pub pinned_edge_count: usize,
}

impl Topology {
    /// Works out the topology of a mesh.
    pub fn new(mesh: &Mesh) -> Self {
        let vertex_count = mesh.vertex_count();
        let (component_of, component_count) = components(mesh);
        let mut pinned = vec![false; vertex_count];
        for &pin in mesh.pins() {
            pinned[pin as usize] = true;
        }
        let both_pinned = |link: &&Link| pinned[link.tail as usize] && pinned[link.head as usize];
        let (yarns, diagonals) = (Yarns::new(mesh), Diagonals::new(mesh));
        let mut number = vec![0; mesh.edge_count()];
        for (index, canonical) in yarns.canonical.iter().enumerate() {
            number[*canonical as usize] = index as u32;
        }
        Self {
            edge_incidence: Incidence::new(vertex_count, &yarns.edges),
            spring_incidence: Incidence::new(vertex_count, mesh.springs()),
            coloring: Coloring::new(vertex_count, mesh.edges()).renumbered(&number),
            windows: Windows::new(mesh, &yarns, &diagonals, &[]),
            diagonals,
            yarns,
            component_of,
            component_count,
            pinned_edge_count: mesh.edges().iter().filter(both_pinned).count(),
        }
    }
}

/// The links at each vertex, in one array as a kernel reads it.
///
/// Word `v` is the place in the same array where the entries of vertex `v` start, and word `v + 1`
/// where they end. An entry is `link << 1`, plus 1 if the vertex is the head of the link; entries
/// of a vertex ascend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incidence {
    words: Vec<u32>,
    vertex_count: usize,
}

impl Incidence {
    /// For links of a `Mesh`, which has made sure that every word fits.
    pub(crate) fn new(vertex_count: usize, links: &[Link]) -> Self {
        let mut words = vec![0_u32; vertex_count + 1 + 2 * links.len()];
        for link in links {
            words[link.tail as usize + 1] += 1;
            words[link.head as usize + 1] += 1;
        }
        words[0] = vertex_count as u32 + 1;
        for vertex in 0..vertex_count {
            words[vertex + 1] += words[vertex];
        }
        let mut next = words[..vertex_count].to_vec();
        for (index, link) in links.iter().enumerate() {
            for (is_head, vertex) in [link.tail, link.head].into_iter().enumerate() {
                let place = &mut next[vertex as usize];
                words[*place as usize] = (index as u32) << 1 | is_head as u32;
                *place += 1;
            }
        }
        Self { words, vertex_count }
    }

    /// The triangles at each vertex, from their corners; an entry is the number of a triangle.
    pub(crate) fn of_triangles(vertex_count: usize, corners: &[u32]) -> Self {
        let mut words = vec![0_u32; vertex_count + 1 + corners.len()];
        for corner in corners {
            words[*corner as usize + 1] += 1;
        }
        words[0] = vertex_count as u32 + 1;
        for vertex in 0..vertex_count {
            words[vertex + 1] += words[vertex];
        }
        let mut next = words[..vertex_count].to_vec();
        for (index, corner) in corners.iter().enumerate() {
            let place = &mut next[*corner as usize];
            words[*place as usize] = index as u32 / 3;
            *place += 1;
        }
        Self { words, vertex_count }
    }

    /// Lists of words per vertex, in one array like the others: `vertex_count + 1` places, then the words.
    pub(crate) fn of_words(vertex_count: usize, entries: &[(u32, [u32; 2])], width: usize) -> Vec<u32> {
        let mut words = vec![0_u32; vertex_count + 1 + width * entries.len()];
        for (vertex, _) in entries {
            words[*vertex as usize + 1] += width as u32;
        }
        words[0] = vertex_count as u32 + 1;
        for vertex in 0..vertex_count {
            words[vertex + 1] += words[vertex];
        }
        let mut next = words[..vertex_count].to_vec();
        for (vertex, entry) in entries {
            let place = next[*vertex as usize] as usize;
            words[place..place + width].copy_from_slice(&entry[..width]);
            next[*vertex as usize] += width as u32;
        }
        words
    }

    /// The array as it is uploaded: `vertex_count + 1` places, then the entries.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The array with the other end of a link behind each of its entries: `vertex_count + 1` places, then pairs.
    pub(crate) fn with_ends(&self, links: &[Link]) -> Vec<u32> {
        let first = self.vertex_count as u32 + 1;
        let places = self.words[..self.vertex_count + 1].iter().map(|place| first + 2 * (place - first));
        let pairs = self.words[self.vertex_count + 1..].iter().flat_map(|&entry| {
            let link = links[(entry / 2) as usize];
            [entry, if entry & 1 == 1 { link.tail } else { link.head }]
        });
        places.chain(pairs).collect()
    }

    /// The links at a vertex, ascending: index and whether the vertex is the head. Nothing for a
    /// vertex that does not exist.
    pub fn of(&self, vertex: usize) -> impl ExactSizeIterator<Item = (u32, bool)> + '_ {
        let entries = if vertex < self.vertex_count {
            &self.words[self.words[vertex] as usize..self.words[vertex + 1] as usize]
        } else {
            &[]
        };
        entries.iter().map(|&entry| (entry >> 1, entry & 1 == 1))
    }
}

/// The piece of each vertex and the number of pieces.
fn components(mesh: &Mesh) -> (Vec<u32>, usize) {
    // A forest in which every parent is smaller than its children: the root of a piece is its
    // smallest vertex.
    let mut parents: Vec<u32> = (0..mesh.vertex_count() as u32).collect();
    for link in mesh.edges().iter().chain(mesh.springs()) {
        let (a, b) = (root(&mut parents, link.tail), root(&mut parents, link.head));
        parents[a.max(b) as usize] = a.min(b);
    }
    let mut count = 0;
    for vertex in 0..parents.len() {
        // Parents come first, so theirs is already the number of a piece.
        let parent = parents[vertex] as usize;
        if parent == vertex {
            parents[vertex] = count;
            count += 1;
        } else {
            parents[vertex] = parents[parent];
        }
    }
    (parents, count as usize)
}

/// The root of a vertex; halves the way to it for the next search.
pub(crate) fn root(parents: &mut [u32], mut vertex: u32) -> u32 {
    while parents[vertex as usize] != vertex {
        let parent = parents[vertex as usize];
        parents[vertex as usize] = parents[parent as usize];
        vertex = parent;
    }
    vertex
}
