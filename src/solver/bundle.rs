//! Yarns in lockstep: the CPU's line solve.
//!
//! All yarns run the same recurrence, so it vectorizes across yarns and not along them. Plain arrays do not: explicit
//! vector types are two to three times faster here. A lane does the same operations in the same order whatever its
//! neighbors are, so the result has the same bits for any division of the yarns among threads.

use std::ops::Range;

use fearless_simd::{Simd, prelude::*};

use crate::lanes::{self, LANES, Mask, Vec3s, Wide};
use crate::mesh::yarns::YarnRow;
use crate::vector::{Real, Triple};

/// Pivots that rounding has eaten are held at this part of the diagonal.
pub(super) const SMALLEST_PIVOT: f32 = 1e-5;

/// A row of every lane's system; direction 0 and diagonal 1 where nothing can be moved.
#[derive(Clone, Copy)]
pub(super) struct Rows<S: Simd> {
    pub(super) direction: Vec3s<S>,
    pub(super) diagonal: Wide<S>,
    pub(super) residual: Wide<S>,
    /// W times the direction at the tail.
    pub(super) tail_motion: Vec3s<S>,
}

/// What an elimination leaves of a row.
#[derive(Clone, Copy)]
pub(super) struct Step<S: Simd> {
    /// Coupling to the row before over its pivot.
    pub(super) f: Wide<S>,
    /// Right-hand side over the own pivot; then the solution.
    pub(super) y: Wide<S>,
}

/// Memory of a solve, used again for the next bundle.
pub(super) struct Scratch<S: Simd> {
    rows: Vec<(Vec3s<S>, Step<S>)>,
    /// Of a cyclic system: y of its second right-hand side.
    second: Vec<Wide<S>>,
}

impl<S: Simd> Default for Scratch<S> {
    fn default() -> Self {
        Self { rows: Vec::new(), second: Vec::new() }
    }
}

impl<S: Simd> Scratch<S> {
    /// Pull of the rows at a place on their tails: direction times solution.
    #[inline(always)]
    pub(super) fn pull(&self, k: usize) -> Vec3s<S> {
        let (direction, step) = self.rows[k];
        direction * step.y
    }

    /// Solutions at a place.
    #[inline(always)]
    pub(super) fn solution(&self, k: usize) -> Wide<S> {
        self.rows[k].1.y
    }
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
    counts: [f32; LANES],
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
                let firsts = lanes::each(|lane| yarn(lane).first as usize);
                let lasts = lanes::each(|lane| yarn(lane).count as usize - 1);
                let longest = yarns.iter().map(|yarn| yarn.count as usize).max().unwrap_or(0);
                Self { yarns, place, longest, firsts, lasts, counts }
            })
    }

    pub(super) fn yarns(&self) -> &'a [YarnRow] {
        self.yarns
    }

    /// Edges of the longest yarn.
    #[inline(always)]
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    pub(super) fn closed(&self) -> bool {
        self.yarns[0].closed != 0
    }

    /// Mask of the yarns that have an edge k.
    #[inline(always)]
    pub(super) fn active<S: Simd>(&self, simd: S, k: usize) -> Mask<S> {
        Wide::load_array(simd, self.counts).simd_gt(Wide::splat(simd, k as f32))
    }

    /// Edge k of a lane's yarn, or its last.
    #[inline(always)]
    pub(super) fn edge(&self, lane: usize, k: usize) -> usize {
        self.firsts[lane] + k.min(self.lasts[lane])
    }

    /// Edges of a lane's yarn.
    pub(super) fn edges(&self, lane: usize) -> Range<usize> {
        self.firsts[lane]..self.firsts[lane] + self.lasts[lane] + 1
    }

    /// Whether all yarns are of one length.
    pub(super) fn is_even(&self) -> bool {
        self.lasts.iter().all(|last| last + 1 == self.longest)
    }

    /// A value of each yarn, from those of all; 0 in lanes without one.
    pub(super) fn per_lane(&self, all: &[f32]) -> [f32; LANES] {
        let mut values = [0.0; LANES];
        values[..self.yarns.len()].copy_from_slice(&all[self.place..self.place + self.yarns.len()]);
        values
    }

    /// Solves the systems whose rows are given from the first to the last.
    #[inline(always)]
    pub(super) fn solve<S: Simd>(&self, simd: S, scratch: &mut Scratch<S>, row: impl FnMut(usize) -> Rows<S>) {
        if self.closed() {
            self.solve_as::<true, S>(simd, scratch, row);
        } else {
            self.solve_as::<false, S>(simd, scratch, row);
        }
    }

    #[inline(always)]
    fn solve_as<const CLOSED: bool, S: Simd>(
        &self,
        simd: S,
        scratch: &mut Scratch<S>,
        mut row: impl FnMut(usize) -> Rows<S>,
    ) {
        let Scratch { rows, second } = scratch;
        rows.clear();
        rows.reserve(self.longest);
        second.clear();
        let zero = Wide::splat(simd, 0.0);
        let mut elimination = Elimination::new(simd);
        let (mut z, mut corner, mut first) = (zero, zero, None);
        for k in 0..self.longest {
            let here = row(k);
            let (mut u, mut diagonal) = (zero, here.diagonal);
            if CLOSED {
                // Cyclic systems by Sherman–Morrison: the corner becomes a rank-one term with g = −(first diagonal).
                let start = *first.get_or_insert(here);
                let g = zero - start.diagonal;
                if k == 0 {
                    u = g;
                    diagonal -= g;
                }
                if k + 1 == self.longest {
                    corner = zero - start.tail_motion.dot(here.direction);
                    u += corner;
                    diagonal -= corner * corner / g;
                }
            }
            let (step, inverse) = elimination.step(&here, diagonal);
            rows.push((here.direction, step));
            if CLOSED {
                z = u - step.f * z;
                second.push(z * inverse);
            }
        }
        let (mut solution, mut f) = (zero, zero);
        for (_, step) in rows.iter_mut().rev() {
            solution = step.y - f * solution;
            step.y = solution;
            f = step.f;
        }
        let Some(start) = first else { return };
        let (mut solution, mut f) = (zero, zero);
        for (z, (_, step)) in second.iter_mut().zip(rows.iter()).rev() {
            solution = *z - f * solution;
            *z = solution;
            f = step.f;
        }
        let last = self.longest - 1;
        let ratio = corner / (zero - start.diagonal);
        let factor = (rows[0].1.y + ratio * rows[last].1.y) / (zero.like(1.0) + second[0] + ratio * second[last]);
        for ((_, step), z) in rows.iter_mut().zip(second) {
            step.y -= factor * *z;
        }
    }
}

/// An elimination, from the first row to the last.
pub(super) struct Elimination<S: Simd> {
    /// Direction of the row before.
    previous: Vec3s<S>,
    /// 1 over its pivot.
    inverse: Wide<S>,
    /// Its right-hand side.
    y: Wide<S>,
}

impl<S: Simd> Elimination<S> {
    #[inline(always)]
    pub(super) fn new(simd: S) -> Self {
        let zero = Wide::splat(simd, 0.0);
        Self { previous: Triple::splat(zero), inverse: zero, y: zero }
    }

    /// Eliminates one row; also gives 1 over its pivot.
    #[inline(always)]
    pub(super) fn step(&mut self, here: &Rows<S>, diagonal: Wide<S>) -> (Step<S>, Wide<S>) {
        let coupling = diagonal.like(0.0) - self.previous.dot(here.tail_motion);
        let f = coupling * self.inverse;
        let pivot = (diagonal - f * coupling).max(diagonal.like(SMALLEST_PIVOT) * diagonal);
        self.previous = here.direction;
        self.inverse = diagonal.like(1.0) / pivot;
        self.y = here.residual - f * self.y;
        (Step { f, y: self.y * self.inverse }, self.inverse)
    }
}
