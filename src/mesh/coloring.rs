//! Edge coloring: edges of one color share no vertex, so that one dispatch may project them all.
//!
//! An edge takes the smallest color that is free at both ends. If that would be one color too many,
//! let α be free at one end and β at the other: exchanging α and β along the chain of α and β edges
//! that starts at the second end frees α there (Kempe). In a bipartite graph the chain never comes
//! back to the first end, so the colors are as few as the largest degree (König): 4 on any grid of
//! quads in any numbering, 2 on a chain. In other graphs it may, and then the edges around one end
//! each pass their color on to the one before (Vizing): never more than the largest degree + 1.
//!
//! Vertices are visited breadth first, whatever their numbers: neighbors are colored soon after each
//! other, few chains are needed, they are short, and memory is read nearly in order. A vertex has as
//! many slots as edges, not as colors, so memory is linear in the number of edges. The result
//! depends on nothing but the edges and their order.

use crate::mesh::Link;
use crate::mesh::topology::Incidence;
use std::ops::Range;

/// A partition of edges into colors. The fields are what the solvers read; [`Coloring::check`]
/// says whether they are a proper coloring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coloring {
    /// Every edge index once: color after color, ascending within a color.
    pub colored_edges: Vec<u32>,
    /// The part of `colored_edges` that belongs to each color. No color is empty.
    pub ranges: Vec<Range<u32>>,
}

/// Why a [`Coloring`] is not proper.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Clash {
    /// Two edges of one color meet.
    #[error("edges {} and {} of color {color} share vertex {vertex}", edges[0], edges[1])]
    Vertex {
        /// The color.
        color: usize,
        /// The vertex that both edges touch.
        vertex: u32,
        /// The edges.
        edges: [u32; 2],
    },
    /// An edge is not colored exactly once.
    #[error("edge {edge} is colored {times} times")]
    Edge {
        /// The edge.
        edge: u32,
        /// How often it occurs.
        times: u32,
    },
    /// An entry names an edge, or that edge a vertex, that does not exist.
    #[error("colored_edges[{index}] names no valid edge")]
    Index {
        /// The place in `colored_edges`.
        index: usize,
    },
    /// The ranges do not cover `colored_edges` one after the other.
    #[error("the range of color {color} does not start where the one before ends, or is empty")]
    Range {
        /// The first color that is out of place; the number of colors if the end is missing.
        color: usize,
    },
}

impl Coloring {
    /// Colors the edges of a graph.
    ///
    /// # Panics
    ///
    /// If the links are not in the canonical order of [`Mesh::edges`](crate::mesh::Mesh::edges):
    /// `tail < head < vertex_count`, strictly ascending by (tail, head).
    pub fn new(vertex_count: usize, links: &[Link]) -> Self {
        let in_range = |link: &Link| link.tail < link.head && (link.head as usize) < vertex_count;
        let ascending = links.is_sorted_by(|a, b| (a.tail, a.head) < (b.tail, b.head));
        assert!(ascending && links.iter().all(in_range), "links are not in canonical order");

        // Per edge its ends by rank, the lower first, and its index.
        let ranks = breadth_first_ranks(vertex_count, links);
        let mut order: Vec<([u32; 2], u32)> = Vec::with_capacity(links.len());
        for (edge, link) in links.iter().enumerate() {
            let (tail, head) = (ranks[link.tail as usize], ranks[link.head as usize]);
            order.push(([tail.min(head), tail.max(head)], edge as u32));
        }
        order.sort_unstable();
        let mut palette = Palette::new(vertex_count, order.iter().map(|entry| entry.0).collect());
        for place in 0..links.len() as u32 {
            palette.color(place);
        }
        let mut colors = vec![0; links.len()];
        for ((_, edge), color) in order.into_iter().zip(palette.colors) {
            colors[edge as usize] = color;
        }
        Self::from_colors(&colors)
    }

    fn from_colors(colors: &[u32]) -> Self {
        let color_count = colors.iter().max().map_or(0, |&color| color as usize + 1);
        let mut sizes = vec![0_u32; color_count];
        for &color in colors {
            sizes[color as usize] += 1;
        }
        let mut next = Vec::with_capacity(color_count);
        let mut ranges = Vec::with_capacity(color_count);
        let mut start = 0;
        for size in sizes {
            next.push(start);
            // Exchanging colors may have left one without edges.
            if size > 0 {
                ranges.push(start..start + size);
            }
            start += size;
        }
        let mut colored_edges = vec![0; colors.len()];
        for (edge, &color) in colors.iter().enumerate() {
            let place = &mut next[color as usize];
            colored_edges[*place as usize] = edge as u32;
            *place += 1;
        }
        Self { colored_edges, ranges }
    }

    /// The same colors for edges that have other numbers: edge `e` becomes `number[e]`.
    pub(crate) fn renumbered(mut self, number: &[u32]) -> Self {
        for edge in &mut self.colored_edges {
            *edge = number[*edge as usize];
        }
        for range in &self.ranges {
            self.colored_edges[range.start as usize..range.end as usize].sort_unstable();
        }
        self
    }

    /// How many colors there are.
    pub fn color_count(&self) -> usize {
        self.ranges.len()
    }

    /// Whether this is a proper coloring of `links`, in time linear in the number of edges and
    /// without any knowledge of how it was made.
    ///
    /// # Errors
    ///
    /// The first [`Clash`] found.
    pub fn check(&self, vertex_count: usize, links: &[Link]) -> Result<(), Clash> {
        let mut end = 0;
        for (color, range) in self.ranges.iter().enumerate() {
            if range.start != end || range.is_empty() {
                return Err(Clash::Range { color });
            }
            end = range.end;
        }
        if end as usize != self.colored_edges.len() {
            return Err(Clash::Range { color: self.ranges.len() });
        }
        let mut times = vec![0_u32; links.len()];
        // The last color seen at a vertex, and its edge.
        let mut last = vec![(usize::MAX, 0); vertex_count];
        for (color, range) in self.ranges.iter().enumerate() {
            for index in range.start as usize..range.end as usize {
                let edge = self.colored_edges[index];
                let link = links.get(edge as usize).ok_or(Clash::Index { index })?;
                times[edge as usize] += 1;
                for vertex in [link.tail, link.head] {
                    let seen = last.get_mut(vertex as usize).ok_or(Clash::Index { index })?;
                    if seen.0 == color && seen.1 != edge {
                        return Err(Clash::Vertex { color, vertex, edges: [seen.1, edge] });
                    }
                    *seen = (color, edge);
                }
            }
        }
        match times.iter().position(|&times| times != 1) {
            Some(edge) => Err(Clash::Edge { edge: edge as u32, times: times[edge] }),
            None => Ok(()),
        }
    }
}

/// The place of each vertex in a breadth-first search from the lowest vertex of each piece.
fn breadth_first_ranks(vertex_count: usize, links: &[Link]) -> Vec<u32> {
    let incidence = Incidence::new(vertex_count, links);
    let mut ranks = vec![u32::MAX; vertex_count];
    let mut queue = Vec::with_capacity(vertex_count);
    for start in 0..vertex_count {
        if ranks[start] != u32::MAX {
            continue;
        }
        ranks[start] = queue.len() as u32;
        let mut next = queue.len();
        queue.push(start as u32);
        while let Some(&vertex) = queue.get(next) {
            next += 1;
            for (link, is_head) in incidence.of(vertex as usize) {
                let link = links[link as usize];
                let neighbor = if is_head { link.tail } else { link.head };
                let rank = &mut ranks[neighbor as usize];
                if *rank == u32::MAX {
                    *rank = queue.len() as u32;
                    queue.push(neighbor);
                }
            }
        }
    }
    ranks
}

/// The smallest number from `from` on that no entry of a list has; their numbers ascend without repetition.
pub(crate) fn first_gap<T>(list: &[T], number: impl Fn(&T) -> u32, from: u32) -> u32 {
    let list = &list[list.partition_point(|entry| number(entry) < from)..];
    // from + place holds up to the gap and nowhere after.
    let (mut low, mut high) = (0, list.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if number(&list[middle]) == from + middle as u32 {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    from + low as u32
}

/// An edge at a vertex, with its color.
#[derive(Clone, Copy, Default)]
struct Slot {
    color: u32,
    edge: u32,
}

/// Vertices joined by edges of two colors in turn.
struct Chain {
    vertices: Vec<u32>,
    /// The last of them.
    end: u32,
    /// The color with which the chain goes on, if it does.
    next: u32,
    after_next: u32,
}

impl Chain {
    fn new(start: u32, next: u32, after_next: u32) -> Self {
        Self { vertices: vec![start], end: start, next, after_next }
    }
}

/// A partial coloring that can be changed. Its methods write α as `alpha` and β as `beta`.
struct Palette {
    /// The two vertices of each edge.
    ends: Vec<[u32; 2]>,
    /// Color per edge, valid once the edge is colored.
    colors: Vec<u32>,
    /// Where the slots of a vertex start; it has as many as edges.
    first: Vec<usize>,
    /// How many slots of a vertex are taken.
    taken: Vec<u32>,
    /// Per vertex: its colored edges, ascending by color.
    slots: Vec<Slot>,
    largest_degree: u32,
}

impl Palette {
    fn new(vertex_count: usize, ends: Vec<[u32; 2]>) -> Self {
        let mut degrees = vec![0_u32; vertex_count];
        for &vertex in ends.as_flattened() {
            degrees[vertex as usize] += 1;
        }
        let mut next = 0;
        let mut first = Vec::with_capacity(vertex_count);
        for &degree in &degrees {
            first.push(next);
            next += degree as usize;
        }
        Self {
            colors: vec![0; ends.len()],
            ends,
            first,
            largest_degree: degrees.iter().copied().max().unwrap_or(0),
            taken: vec![0; vertex_count],
            slots: vec![Slot::default(); next],
        }
    }

    fn color(&mut self, edge: u32) {
        let [tail, head] = self.ends[edge as usize];
        let common = self.free_at_both(tail, head);
        if common < self.largest_degree {
            return self.paint(edge, common);
        }
        // With this edge uncolored both ends have a free color below the largest degree.
        let (alpha, beta) = (self.free(tail, 0), self.free(head, 0));
        let mut from_tail = Chain::new(tail, beta, alpha);
        let mut from_head = Chain::new(head, alpha, beta);
        // Either chain would do; the shorter costs less.
        let (chain, other, color) = loop {
            if !self.extend(&mut from_tail) {
                break (from_tail, head, beta);
            }
            if !self.extend(&mut from_head) {
                break (from_head, tail, alpha);
            }
        };
        if chain.end != other {
            self.exchange(&chain);
            self.paint(edge, color);
        } else if common == self.largest_degree {
            self.paint(edge, common);
        } else {
            self.turn_fan(tail, edge);
        }
    }

    fn slots(&self, vertex: u32) -> &[Slot] {
        let first = self.first[vertex as usize];
        &self.slots[first..first + self.taken[vertex as usize] as usize]
    }

    fn edge(&self, vertex: u32, color: u32) -> Option<u32> {
        let slots = self.slots(vertex);
        let place = slots.binary_search_by_key(&color, |slot| slot.color).ok()?;
        Some(slots[place].edge)
    }

    fn opposite(&self, edge: u32, vertex: u32) -> u32 {
        let [tail, head] = self.ends[edge as usize];
        if vertex == tail { head } else { tail }
    }

    /// The smallest color from `from` on that no edge at the vertex has.
    fn free(&self, vertex: u32, from: u32) -> u32 {
        first_gap(self.slots(vertex), |slot| slot.color, from)
    }

    fn free_at_both(&self, a: u32, b: u32) -> u32 {
        let mut color = self.free(a, 0);
        loop {
            let next = self.free(b, color);
            if next == color {
                return color;
            }
            color = self.free(a, next);
            if color == next {
                return color;
            }
        }
    }

    /// Makes a chain one edge longer, if it goes on.
    fn extend(&self, chain: &mut Chain) -> bool {
        let Some(edge) = self.edge(chain.end, chain.next) else {
            return false;
        };
        chain.end = self.opposite(edge, chain.end);
        chain.vertices.push(chain.end);
        std::mem::swap(&mut chain.next, &mut chain.after_next);
        true
    }

    /// Exchanges the two colors of a chain that does not go on.
    fn exchange(&mut self, chain: &Chain) {
        for &vertex in &chain.vertices {
            self.exchange_at(vertex, chain.next, chain.after_next);
        }
    }

    fn exchange_at(&mut self, vertex: u32, a: u32, b: u32) {
        let (first, taken) = (self.first[vertex as usize], self.taken[vertex as usize]);
        let slots = &mut self.slots[first..first + taken as usize];
        let find = |color: u32| slots.binary_search_by_key(&color, |slot| slot.color);
        let (from, to, color) = match (find(a), find(b)) {
            (Ok(a), Ok(b)) => {
                (slots[a].edge, slots[b].edge) = (slots[b].edge, slots[a].edge);
                self.colors[slots[a].edge as usize] = slots[a].color;
                self.colors[slots[b].edge as usize] = slots[b].color;
                return;
            }
            (Ok(from), Err(to)) => (from, to, b),
            (Err(to), Ok(from)) => (from, to, a),
            (Err(_), Err(_)) => return,
        };
        slots[from].color = color;
        self.colors[slots[from].edge as usize] = color;
        // `to` is where the color belongs while the slot is still in its old place.
        if from < to {
            slots[from..to].rotate_left(1);
        } else {
            slots[to..=from].rotate_right(1);
        }
    }

    /// Colors `edge` by turning a fan around one of its ends.
    ///
    /// The fan is a list of edges at the center in which each has a color that is free at the
    /// outer end of the one before, so that each can take the color of the next.
    fn turn_fan(&mut self, center: u32, edge: u32) {
        let alpha = self.free(center, 0);
        let mut fan = vec![edge];
        let mut outer = self.opposite(edge, center);
        loop {
            let beta = self.free(outer, 0);
            let Some(next) = self.edge(center, beta) else {
                return self.turn(&fan, beta);
            };
            if let Some(place) = fan.iter().position(|&edge| edge == next) {
                // β is free at two outer ends: the last and the one before `next`. The path of β
                // and α from the center ends at one of them at most. Once exchanged, β is free at
                // the center, and the fan can be turned up to the outer end that kept β free; if
                // that is the last, α became free at the other just as `next` became α.
                let mut chain = Chain::new(center, beta, alpha);
                while self.extend(&mut chain) {}
                self.exchange(&chain);
                let before = self.opposite(fan[place - 1], center);
                if self.edge(before, beta).is_none() {
                    fan.truncate(place);
                }
                return self.turn(&fan, beta);
            }
            fan.push(next);
            outer = self.opposite(next, center);
        }
    }

    /// Gives each edge of a fan the color of the next and the last one `color`.
    fn turn(&mut self, fan: &[u32], color: u32) {
        let mut colors: Vec<u32> = fan[1..].iter().map(|&edge| self.colors[edge as usize]).collect();
        colors.push(color);
        fan[1..].iter().for_each(|&edge| self.erase(edge));
        for (&edge, color) in fan.iter().zip(colors) {
            self.paint(edge, color);
        }
    }

    fn paint(&mut self, edge: u32, color: u32) {
        self.colors[edge as usize] = color;
        let [tail, head] = self.ends[edge as usize];
        for vertex in [tail, head] {
            let place = self.slots(vertex).partition_point(|slot| slot.color < color);
            let (first, taken) = (self.first[vertex as usize], self.taken[vertex as usize]);
            let end = first + taken as usize;
            self.slots.copy_within(first + place..end, first + place + 1);
            self.slots[first + place] = Slot { color, edge };
            self.taken[vertex as usize] += 1;
        }
    }

    fn erase(&mut self, edge: u32) {
        let color = self.colors[edge as usize];
        let [tail, head] = self.ends[edge as usize];
        for vertex in [tail, head] {
            let place = self.slots(vertex).partition_point(|slot| slot.color < color);
            let (first, taken) = (self.first[vertex as usize], self.taken[vertex as usize]);
            let end = first + taken as usize;
            self.slots.copy_within(first + place + 1..end, first + place);
            self.taken[vertex as usize] -= 1;
        }
    }
}
