//! Yarns in lockstep: the CPU's line solve.
//!
//! All yarns run the same recurrence, so it vectorizes across yarns and not along them. Plain arrays do not: explicit
//! vector types are two to three times faster here. A lane does the same operations in the same order whatever its
//! neighbors are, so the result has the same bits for any division of the yarns among threads.

use crate::lanes::{LANES, Vec3s, Wide};
use crate::mesh::Link;
use crate::mesh::yarns::YarnRow;

/// Pivots that rounding has eaten are held at this part of the diagonal.
pub(super) const SMALLEST_PIVOT: f32 = 1e-5;

/// A row of every lane's system; direction 0 and diagonal 1 where nothing can be moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub(super) direction: Vec3s,
    pub(super) diagonal: Wide,
    pub(super) residual: Wide,
    /// W times the direction at the tail.
    pub(super) tail_motion: Vec3s,
}

/// What the solve keeps of a row.
#[derive(Clone, Copy, Debug)]
struct Kept {
    direction: Vec3s,
    /// Coupling to the row before over its pivot.
    f: Wide,
    /// Right-hand side over the own pivot; then the solution.
    y: Wide,
}

/// Memory of a solve, used again for the next bundle.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    rows: Vec<Kept>,
    /// Of a cyclic system: y of its second right-hand side.
    second: Vec<Wide>,
}

impl Scratch {
    /// Pull of the rows at a place on their tails: direction times solution.
    #[inline]
    pub(super) fn pull(&self, k: usize) -> Vec3s {
        self.rows[k].direction * self.rows[k].y
    }

    /// Solutions of one lane.
    #[inline]
    pub(super) fn solutions(&self, lane: usize) -> impl Iterator<Item = f32> {
        self.rows.iter().map(move |row| row.y.as_array()[lane])
    }

    #[inline]
    pub(super) fn solution(&self, k: usize) -> Wide {
        self.rows[k].y
    }
}

/// Edges of a bundle's yarns, place by place along them.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Vertices at the places: one more than edges.
    pub(super) vertices: Vec<[u32; LANES]>,
    pub(super) rests: Vec<[f32; LANES]>,
}

/// A yarn per lane at most, all open, or all closed and of one length.
#[derive(Debug)]
pub(super) struct Bundle<'a> {
    yarns: &'a [YarnRow],
    /// Number of the first of them among all.
    place: usize,
    longest: usize,
    /// First edge of each lane's yarn; a lane without a yarn repeats the first.
    firsts: [usize; LANES],
    /// Number of its last edge, counted from 0.
    lasts: [usize; LANES],
    counts: Wide,
}

impl<'a> Bundle<'a> {
    /// All yarns in bundles, in their order; yarns without edges are left out.
    pub(super) fn all(yarns: &'a [YarnRow]) -> impl Iterator<Item = Self> {
        let alike = |a: &YarnRow, b: &YarnRow| {
            a.closed == b.closed && (a.closed == 0 || a.count == b.count) && (a.count > 0) == (b.count > 0)
        };
        let mut next = 0;
        yarns
            .chunk_by(alike)
            .flat_map(|group| group.chunks(LANES))
            .map(move |yarns| {
                next += yarns.len();
                (next - yarns.len(), yarns)
            })
            .filter(|(_, yarns)| yarns.iter().any(|yarn| yarn.count > 0))
            .map(|(place, yarns)| {
                let mut counts = [0.0; LANES];
                for (count, yarn) in counts.iter_mut().zip(yarns) {
                    *count = yarn.count as f32;
                }
                let yarn = |lane: usize| yarns.get(lane).unwrap_or(&yarns[0]);
                let firsts = std::array::from_fn(|lane| yarn(lane).first as usize);
                let lasts = std::array::from_fn(|lane| yarn(lane).count as usize - 1);
                let longest = yarns.iter().map(|yarn| yarn.count as usize).max().unwrap_or(0);
                Self { yarns, place, longest, firsts, lasts, counts: Wide::new(counts) }
            })
    }

    pub(super) fn yarns(&self) -> &'a [YarnRow] {
        self.yarns
    }

    /// Edges of the shortest yarn; 0 if a lane has none.
    pub(super) fn shortest(&self) -> usize {
        if self.yarns.len() < LANES { 0 } else { self.lasts.iter().min().map_or(0, |last| last + 1) }
    }

    /// Edges of the longest yarn.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    pub(super) fn closed(&self) -> bool {
        self.yarns[0].closed != 0
    }

    /// Mask of the yarns that have an edge k.
    #[inline]
    pub(super) fn active(&self, k: usize) -> Wide {
        self.counts.simd_gt(Wide::splat(k as f32))
    }

    /// Edge k of a lane's yarn, or its last.
    #[inline(always)]
    pub(super) fn edge(&self, lane: usize, k: usize) -> usize {
        self.firsts[lane] + k.min(self.lasts[lane])
    }

    /// Writes the edges of the yarns side by side; beyond its end a yarn repeats its last vertex.
    pub(super) fn links(&self, edges: &[Link], links: &mut Links) {
        let Links { vertices, rests } = links;
        vertices.clear();
        vertices.resize(self.longest + 1, [0; LANES]);
        rests.clear();
        rests.resize(self.longest, [1.0; LANES]);
        for lane in 0..LANES {
            let yarn = &edges[self.firsts[lane]..=self.firsts[lane] + self.lasts[lane]];
            vertices[0][lane] = yarn[0].tail;
            for ((vertex, rest), link) in vertices[1..].iter_mut().zip(rests.iter_mut()).zip(yarn) {
                vertex[lane] = link.head;
                rest[lane] = link.rest;
            }
            for vertex in &mut vertices[yarn.len() + 1..] {
                vertex[lane] = yarn[yarn.len() - 1].head;
            }
        }
    }

    /// A value of each yarn, from those of all; 0 in lanes without one.
    pub(super) fn per_lane(&self, all: &[f32]) -> Wide {
        let mut values = [0.0; LANES];
        values[..self.yarns.len()].copy_from_slice(&all[self.place..self.place + self.yarns.len()]);
        Wide::new(values)
    }

    /// Solves the systems whose rows are given from the first to the last.
    #[inline(always)]
    pub(super) fn solve(&self, scratch: &mut Scratch, row: impl FnMut(usize) -> Rows) {
        if self.closed() {
            self.solve_as::<true>(scratch, row);
        } else {
            self.solve_as::<false>(scratch, row);
        }
    }

    #[inline(always)]
    fn solve_as<const CLOSED: bool>(&self, scratch: &mut Scratch, mut row: impl FnMut(usize) -> Rows) {
        let Scratch { rows, second } = scratch;
        rows.clear();
        rows.reserve(self.longest);
        second.clear();
        let (mut previous, mut inverse) = (Vec3s::ZERO, Wide::ZERO);
        let (mut y, mut z, mut corner) = (Wide::ZERO, Wide::ZERO, Wide::ZERO);
        let mut first = None;
        for k in 0..self.longest {
            let here = row(k);
            let mut diagonal = here.diagonal;
            let coupling = Wide::ZERO - previous.dot(here.tail_motion);
            previous = here.direction;
            let f = coupling * inverse;
            let mut u = Wide::ZERO;
            if CLOSED {
                // Cyclic systems by Sherman–Morrison: the corner becomes a rank-one term with g = −(first diagonal).
                let start = *first.get_or_insert(here);
                let g = Wide::ZERO - start.diagonal;
                if k == 0 {
                    u = g;
                    diagonal -= g;
                }
                if k + 1 == self.longest {
                    corner = Wide::ZERO - start.tail_motion.dot(here.direction);
                    u += corner;
                    diagonal -= corner * corner / g;
                }
            }
            let pivot = (diagonal - f * coupling).max(Wide::splat(SMALLEST_PIVOT) * diagonal);
            inverse = Wide::ONE / pivot;
            y = here.residual - f * y;
            rows.push(Kept { direction: here.direction, f, y: y * inverse });
            if CLOSED {
                z = u - f * z;
                second.push(z * inverse);
            }
        }
        let (mut solution, mut f) = (Wide::ZERO, Wide::ZERO);
        for row in rows.iter_mut().rev() {
            solution = row.y - f * solution;
            row.y = solution;
            f = row.f;
        }
        let Some(start) = first else { return };
        let (mut solution, mut f) = (Wide::ZERO, Wide::ZERO);
        for (z, row) in second.iter_mut().zip(rows.iter()).rev() {
            solution = *z - f * solution;
            *z = solution;
            f = row.f;
        }
        let last = self.longest - 1;
        let ratio = corner / (Wide::ZERO - start.diagonal);
        let factor = (rows[0].y + ratio * rows[last].y) / (Wide::ONE + second[0] + ratio * second[last]);
        for (row, z) in rows.iter_mut().zip(second) {
            row.y -= factor * *z;
        }
    }
}
