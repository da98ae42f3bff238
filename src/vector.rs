//! Vectors of three, of numbers or of lanes of numbers.
//!
//! Kernel bodies that go edge by edge compute with `f32`, line solves with a vector register of yarns. What is an
//! equation is written once, over [`Real`], for both.

use std::ops::{Add, BitAnd, Div, Mul, Not, Sub};

use glam::{Vec3, Vec4};

/// A number, or one number per lane.
pub(crate) trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// What comparisons give.
    type Mask: Copy + BitAnd<Output = Self::Mask> + Not<Output = Self::Mask>;

    /// A number, in as many lanes as this has: what makes wide vectors is found in those that there are.
    fn like(self, number: f32) -> Self;
    fn root(self) -> Self;
    fn larger(self, other: Self) -> Self;
    fn smaller(self, other: Self) -> Self;
    fn above(self, other: Self) -> Self::Mask;
    fn at_least(self, other: Self) -> Self::Mask;
}

impl Real for f32 {
    type Mask = bool;

    #[inline(always)]
    fn like(self, number: f32) -> Self {
        number
    }

    #[inline(always)]
    fn root(self) -> Self {
        self.sqrt()
    }

    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        self.max(other)
    }

    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        self.min(other)
    }

    #[inline(always)]
    fn above(self, other: Self) -> bool {
        self > other
    }

    #[inline(always)]
    fn at_least(self, other: Self) -> bool {
        self >= other
    }
}

/// Three coordinates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triple<R>(pub(crate) [R; 3]);

impl<R: Real> Triple<R> {
    /// The same in all three coordinates.
    #[inline(always)]
    pub(crate) fn splat(coordinate: R) -> Self {
        Self([coordinate; 3])
    }

    #[inline(always)]
    pub(crate) fn dot(self, other: Self) -> R {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        a * x + b * y + c * z
    }

    #[inline(always)]
    pub(crate) fn length(self) -> R {
        self.dot(self).root()
    }
}

impl<R: Real> Add for Triple<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a + x, b + y, c + z])
    }
}

impl<R: Real> Sub for Triple<R> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a - x, b - y, c - z])
    }
}

impl<R: Real> Mul<R> for Triple<R> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, factor: R) -> Self {
        let [x, y, z] = self.0;
        Self([x * factor, y * factor, z * factor])
    }
}

impl From<Vec3> for Triple<f32> {
    #[inline(always)]
    fn from(vector: Vec3) -> Self {
        Self(vector.to_array())
    }
}

impl From<Triple<f32>> for Vec3 {
    #[inline(always)]
    fn from(triple: Triple<f32>) -> Self {
        Self::from_array(triple.0)
    }
}

/// First three lanes of a padded vector.
#[inline(always)]
pub(crate) fn xyz(padded: [f32; 4]) -> Vec3 {
    Vec3::new(padded[0], padded[1], padded[2])
}

/// A vector with an unused last lane.
#[inline(always)]
pub(crate) fn padded(vector: Vec3) -> [f32; 4] {
    [vector.x, vector.y, vector.z, 0.0]
}

/// A vector turned by a unit quaternion.
#[inline]
pub(crate) fn turned(q: Vec4, v: Vec3) -> Vec3 {
    let axis = q.truncate();
    v + 2.0 * axis.cross(axis.cross(v) + q.w * v)
}
