//! Eight yarns in lockstep: the CPU's line solve.
//!
//! All yarns run the same recurrence, so it vectorizes across yarns and not along them. Plain arrays do not: explicit
//! vector types are two to three times faster here. A lane does the same operations in the same order whatever its
//! neighbors are, so the result has the same bits for any division of the yarns among threads.

use std::ops::{Add, Mul, Sub};

use wide::{f32x4, f32x8};

use crate::params::{Link, YarnSpan};

/// Yarns in a bundle.
pub(super) const LANES: usize = 8;

/// Pivots that rounding has eaten are held at this part of the diagonal.
const SMALLEST_PIVOT: f32 = 1e-5;

/// Three coordinates of eight lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vec3x8([f32x8; 3]);

impl Vec3x8 {
    pub(super) const ZERO: Self = Self([f32x8::ZERO; 3]);

    /// From one vector of four words per lane, and the fourth words.
    #[inline(always)]
    pub(super) fn gather(words: impl Fn(usize) -> [f32; 4]) -> (Self, f32x8) {
        // Array combinators are not inlined here; written out, everything stays in registers.
        let of = |lane: usize| f32x4::new(words(lane));
        let low = f32x4::transpose([of(0), of(1), of(2), of(3)]);
        let high = f32x4::transpose([of(4), of(5), of(6), of(7)]);
        (Self([join(low[0], high[0]), join(low[1], high[1]), join(low[2], high[2])]), join(low[3], high[3]))
    }

    /// One vector of four words per lane, the fourth 0, handed to `set` lane by lane.
    #[inline(always)]
    pub(super) fn scatter(self, mut set: impl FnMut(usize, [f32; 4])) {
        let [[x, xx], [y, yy], [z, zz]] = [halves(self.0[0]), halves(self.0[1]), halves(self.0[2])];
        let low = f32x4::transpose([x, y, z, f32x4::ZERO]);
        let high = f32x4::transpose([xx, yy, zz, f32x4::ZERO]);
        set(0, low[0].to_array());
        set(1, low[1].to_array());
        set(2, low[2].to_array());
        set(3, low[3].to_array());
        set(4, high[0].to_array());
        set(5, high[1].to_array());
        set(6, high[2].to_array());
        set(7, high[3].to_array());
    }

    #[inline]
    fn dot(self, other: Self) -> f32x8 {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        a * x + b * y + c * z
    }

    #[inline]
    pub(super) fn length(self) -> f32x8 {
        self.dot(self).sqrt()
    }

    /// Zero where the mask is off.
    #[inline]
    pub(super) fn masked(self, mask: f32x8) -> Self {
        let [x, y, z] = self.0;
        Self([x & mask, y & mask, z & mask])
    }

    /// No longer than `most`.
    #[inline]
    pub(super) fn clamped(self, most: f32x8) -> Self {
        let squared = self.dot(self);
        let long = squared.simd_gt(most * most);
        if long.none() {
            return self;
        }
        self * long.select(most / squared.sqrt(), f32x8::ONE)
    }
}

#[inline(always)]
fn join(low: f32x4, high: f32x4) -> f32x8 {
    bytemuck::cast([low, high])
}

#[inline(always)]
fn halves(lanes: f32x8) -> [f32x4; 2] {
    bytemuck::cast(lanes)
}

impl Add for Vec3x8 {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a + x, b + y, c + z])
    }
}

impl Sub for Vec3x8 {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a - x, b - y, c - z])
    }
}

impl Mul<f32x8> for Vec3x8 {
    type Output = Self;
    #[inline]
    fn mul(self, factor: f32x8) -> Self {
        let [x, y, z] = self.0;
        Self([x * factor, y * factor, z * factor])
    }
}

/// A row of each of eight systems; direction 0 and diagonal 1 where nothing can be moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub(super) direction: Vec3x8,
    pub(super) diagonal: f32x8,
    pub(super) residual: f32x8,
    pub(super) tail_inverse_mass: f32x8,
}

/// What the solve keeps of a row.
#[derive(Clone, Copy, Debug)]
struct Kept {
    direction: Vec3x8,
    /// Coupling to the row before over its pivot.
    f: f32x8,
    /// Right-hand side over the own pivot; then the solution.
    y: f32x8,
}

/// Memory of a solve, used again for the next bundle.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    rows: Vec<Kept>,
    /// Of a cyclic system: y of its second right-hand side.
    second: Vec<f32x8>,
}

impl Scratch {
    /// Pull of the rows at a place on their tails: direction times solution.
    #[inline]
    pub(super) fn pull(&self, k: usize) -> Vec3x8 {
        self.rows[k].direction * self.rows[k].y
    }

    #[inline]
    pub(super) fn solution(&self, k: usize) -> f32x8 {
        self.rows[k].y
    }
}

/// Edges of eight yarns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    pub(super) tails: [u32; LANES],
    pub(super) heads: [u32; LANES],
    pub(super) rests: [f32; LANES],
}

/// Up to eight yarns, all open, or all closed and of one length.
#[derive(Debug)]
pub(super) struct Bundle<'a> {
    yarns: &'a [YarnSpan],
    longest: usize,
    /// First edge of each lane's yarn; a lane without a yarn repeats the first.
    firsts: [usize; LANES],
    /// Number of its last edge, counted from 0.
    lasts: [usize; LANES],
    counts: f32x8,
}

impl<'a> Bundle<'a> {
    /// All yarns in bundles, in their order; yarns without edges are left out.
    pub(super) fn all(yarns: &'a [YarnSpan]) -> impl Iterator<Item = Self> {
        let alike = |a: &YarnSpan, b: &YarnSpan| {
            a.closed == b.closed && (a.closed == 0 || a.count == b.count) && (a.count > 0) == (b.count > 0)
        };
        yarns
            .chunk_by(alike)
            .flat_map(|group| group.chunks(LANES))
            .filter(|yarns| yarns.iter().any(|yarn| yarn.count > 0))
            .map(|yarns| {
                let mut counts = [0.0; LANES];
                for (count, yarn) in counts.iter_mut().zip(yarns) {
                    *count = yarn.count as f32;
                }
                let yarn = |lane: usize| yarns.get(lane).unwrap_or(&yarns[0]);
                let firsts = std::array::from_fn(|lane| yarn(lane).first as usize);
                let lasts = std::array::from_fn(|lane| yarn(lane).count as usize - 1);
                let longest = yarns.iter().map(|yarn| yarn.count as usize).max().unwrap_or(0);
                Self { yarns, longest, firsts, lasts, counts: f32x8::new(counts) }
            })
    }

    pub(super) fn yarns(&self) -> &'a [YarnSpan] {
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
    pub(super) fn active(&self, k: usize) -> f32x8 {
        self.counts.simd_gt(f32x8::splat(k as f32))
    }

    /// Edge k of a lane's yarn, or its last.
    #[inline(always)]
    pub(super) fn edge(&self, lane: usize, k: usize) -> usize {
        self.firsts[lane] + k.min(self.lasts[lane])
    }

    /// The edges k.
    #[inline(always)]
    pub(super) fn links(&self, edges: &[Link], k: usize) -> Links {
        let mut links = Links { tails: [0; LANES], heads: [0; LANES], rests: [0.0; LANES] };
        for lane in 0..LANES {
            let link = edges[self.edge(lane, k)];
            links.tails[lane] = link.tail;
            links.heads[lane] = link.head;
            links.rests[lane] = link.rest;
        }
        links
    }

    /// A value of each yarn; 0 in lanes without one.
    pub(super) fn per_lane(&self, value: impl Fn(&YarnSpan) -> f32) -> f32x8 {
        let mut values = [0.0; LANES];
        for (lane, yarn) in values.iter_mut().zip(self.yarns) {
            *lane = value(yarn);
        }
        f32x8::new(values)
    }

    /// Solves the systems whose rows are given from the first to the last.
    #[inline]
    pub(super) fn solve(&self, scratch: &mut Scratch, mut row: impl FnMut(usize) -> Rows) {
        let Scratch { rows, second } = scratch;
        rows.clear();
        rows.reserve(self.longest);
        second.clear();
        let closed = self.closed();
        let (mut previous, mut inverse) = (Vec3x8::ZERO, f32x8::ZERO);
        let (mut y, mut z, mut corner) = (f32x8::ZERO, f32x8::ZERO, f32x8::ZERO);
        let mut first = None;
        for k in 0..self.longest {
            let here = row(k);
            let mut diagonal = here.diagonal;
            let coupling = f32x8::ZERO - here.tail_inverse_mass * previous.dot(here.direction);
            previous = here.direction;
            let f = coupling * inverse;
            let mut u = f32x8::ZERO;
            if closed {
                // Cyclic systems by Sherman–Morrison: the corner becomes a rank-one term with g = −(first diagonal).
                let start = *first.get_or_insert(here);
                let g = f32x8::ZERO - start.diagonal;
                if k == 0 {
                    u = g;
                    diagonal -= g;
                }
                if k + 1 == self.longest {
                    corner = f32x8::ZERO - start.tail_inverse_mass * start.direction.dot(here.direction);
                    u += corner;
                    diagonal -= corner * corner / g;
                }
            }
            let pivot = (diagonal - f * coupling).max(f32x8::splat(SMALLEST_PIVOT) * diagonal);
            inverse = f32x8::ONE / pivot;
            y = here.residual - f * y;
            rows.push(Kept { direction: here.direction, f, y: y * inverse });
            if closed {
                z = u - f * z;
                second.push(z * inverse);
            }
        }
        let (mut solution, mut f) = (f32x8::ZERO, f32x8::ZERO);
        for row in rows.iter_mut().rev() {
            solution = row.y - f * solution;
            row.y = solution;
            f = row.f;
        }
        let Some(start) = first else { return };
        let (mut solution, mut f) = (f32x8::ZERO, f32x8::ZERO);
        for (z, row) in second.iter_mut().zip(rows.iter()).rev() {
            solution = *z - f * solution;
            *z = solution;
            f = row.f;
        }
        let last = self.longest - 1;
        let ratio = corner / (f32x8::ZERO - start.diagonal);
        let factor = (rows[0].y + ratio * rows[last].y) / (f32x8::ONE + second[0] + ratio * second[last]);
        for (row, z) in rows.iter_mut().zip(second) {
            row.y -= factor * *z;
        }
    }
}
