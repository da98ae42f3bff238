//! One inextensible edge, as every projection sees it.
//!
//! Goldenthal et al. (2007), eq. (1), taken as a length: C = |d| − L, d = x_head − x_tail, with ∂C/∂x_head = n = d/|d|
//! and ∂C/∂x_tail = −n. L is the end of the stretch band \[σ_min l, σ_max l\] that is nearest to |d|; with the default
//! band of width 0 it is the rest length l. [`crate::solver::fast_projection`] takes the paper's own quadratic form of
//! the same quantities.
//!
//! An edge is left alone for three reasons: it is collapsed and has no direction, it is strictly within its band, or
//! neither end can move along it.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | d, \|d\|, n | `d`, `extent`, `n` | m, m, 1 |
//! | l, L | `rest`, `wanted` | m |
//! | n·(W_tail + W_head) n | `w` | 1/kg |

use glam::Vec3;

use crate::engine::source::{Constant, Source};
use crate::mesh::Link;
use crate::stage::fields::{Frame, Vertex};
use crate::stage::freedom::{self, Freedom, Limited};
use crate::vector::{Real, Triple};

/// The WGSL twin, for files that project edges.
pub(crate) static SOURCE: Source = Source::new("edge", include_str!("../../shaders/edge.wgsl"))
    .constants(&[("COLLAPSED", Constant::F32(COLLAPSED)), ("STUCK", Constant::F32(STUCK))])
    .shares(&[&freedom::SOURCE]);

/// Part of its rest length below which an edge has no direction that f32 could tell.
pub(crate) const COLLAPSED: f32 = 1e-6;
/// Part of its ends' inverse masses that constraints must leave along an edge: with less, neither end could move along
/// it but by a hundred times what is asked for.
const STUCK: f32 = 0.01;

/// The stretch band.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Band {
    least: f32,
    most: f32,
}

impl Band {
    /// Of width 0, for edges with a law of their own.
    pub(crate) const NONE: Self = Self { least: 1.0, most: 1.0 };

    pub(crate) fn of(frame: &Frame) -> Self {
        Self { least: frame.stretch_min, most: frame.stretch_max }
    }

    /// Length that an edge should have: the end of its band nearest to its own \[m\].
    #[inline(always)]
    pub(crate) fn wanted<R: Real>(self, extent: R, rest: R) -> R {
        extent.larger(extent.like(self.least) * rest).smaller(extent.like(self.most) * rest)
    }

    /// Whether an edge is strictly inside its band.
    #[inline(always)]
    pub(crate) fn has<R: Real>(self, extent: R, rest: R) -> R::Mask {
        extent.above(extent.like(self.least) * rest) & (extent.like(self.most) * rest).above(extent)
    }

    /// Whether an edge can be inside.
    #[inline(always)]
    fn is_wide(self) -> bool {
        self.least < self.most
    }
}

/// What an edge is moved by at one end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End<R, L> {
    pub(crate) inverse_mass: R,
    pub(crate) limited: L,
}

/// The constraint of an edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch<R: Real> {
    pub(crate) extent: R,
    pub(crate) n: Triple<R>,
    pub(crate) wanted: R,
    pub(crate) w: R,
    /// Whether anything is to be done; n and w are numbers only then.
    pub(crate) active: R::Mask,
}

impl<R: Real> Stretch<R> {
    #[inline(always)]
    pub(crate) fn of<L: Limited<R>>(band: Band, rest: R, d: Triple<R>, tail: End<R, L>, head: End<R, L>) -> Self {
        let extent = d.length();
        let n = d * (extent.like(1.0) / extent);
        let w = tail.inverse_mass * tail.limited.along(n) + head.inverse_mass * head.limited.along(n);
        let movable = w.above(w.like(STUCK) * (tail.inverse_mass + head.inverse_mass));
        let mut active = movable & extent.at_least(extent.like(COLLAPSED) * rest);
        if band.is_wide() {
            active = active & !band.has(extent, rest);
        }
        Self { extent, n, wanted: band.wanted(extent, rest), w, active }
    }
}

/// From one vertex to another at the end of the substep \[m\]. Displacements are small and positions are not: their
/// differences are taken apart.
#[inline(always)]
pub(crate) fn between(vertices: &[Vertex], displacement: impl Fn(usize) -> Vec3, tail: usize, head: usize) -> Vec3 {
    (vertices[head].position - vertices[tail].position) + (displacement(head) - displacement(tail))
}

/// The constraint of a single edge, and its vector \[m\]; `None` where it is to be left alone.
#[inline]
pub(crate) fn stretch_of(
    band: Band,
    edge: &Link,
    vertices: &[Vertex],
    freedom: &Freedom<'_>,
    displacement: impl Fn(usize) -> Vec3,
) -> Option<(Stretch<f32>, Vec3)> {
    let (tail, head) = (edge.tail as usize, edge.head as usize);
    let d = between(vertices, displacement, tail, head);
    let end = |v: usize| End { inverse_mass: vertices[v].inverse_mass, limited: freedom.at(v) };
    let stretch = Stretch::of(band, edge.rest, d.into(), end(tail), end(head));
    stretch.active.then_some((stretch, d))
}
