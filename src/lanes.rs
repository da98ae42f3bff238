//! Lanes: one number of several yarns, edges or vertices in a vector register.

use wide::f32x4;

use crate::vector::{Real, Triple};

/// One register: wider vectors only spill.
#[cfg(target_feature = "avx")]
pub(crate) type Wide = wide::f32x8;
/// One register: wider vectors only spill.
#[cfg(not(target_feature = "avx"))]
pub(crate) type Wide = f32x4;

/// Yarns in a bundle.
pub(crate) const LANES: usize = size_of::<Wide>() / 4;

/// Groups of four lanes.
const PARTS: usize = LANES / 4;

/// Three coordinates of every lane.
pub(crate) type Vec3s = Triple<Wide>;

impl Real for Wide {
    type Mask = Self;

    const ZERO: Self = Self::ZERO;
    const ONE: Self = Self::ONE;

    #[inline(always)]
    fn of(number: f32) -> Self {
        Self::splat(number)
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
    fn above(self, other: Self) -> Self {
        self.simd_gt(other)
    }

    #[inline(always)]
    fn at_least(self, other: Self) -> Self {
        self.simd_ge(other)
    }
}

impl Vec3s {
    /// From one vector of four words per lane, and the fourth words.
    #[inline(always)]
    pub(crate) fn gather(words: impl Fn(usize) -> [f32; 4]) -> (Self, Wide) {
        let (mut x, mut y, mut z, mut w) =
            ([f32x4::ZERO; PARTS], [f32x4::ZERO; PARTS], [f32x4::ZERO; PARTS], [f32x4::ZERO; PARTS]);
        for part in 0..PARTS {
            // Array combinators are not inlined here; written out, everything stays in registers.
            let of = |lane: usize| f32x4::new(words(4 * part + lane));
            [x[part], y[part], z[part], w[part]] = f32x4::transpose([of(0), of(1), of(2), of(3)]);
        }
        (Self([bytemuck::cast(x), bytemuck::cast(y), bytemuck::cast(z)]), bytemuck::cast(w))
    }

    /// One vector of four words per lane, the fourth 0, handed to `set` lane by lane.
    #[inline(always)]
    pub(crate) fn scatter(self, mut set: impl FnMut(usize, [f32; 4])) {
        let [x, y, z]: [[f32x4; PARTS]; 3] =
            [bytemuck::cast(self.0[0]), bytemuck::cast(self.0[1]), bytemuck::cast(self.0[2])];
        for part in 0..PARTS {
            let [a, b, c, d] = f32x4::transpose([x[part], y[part], z[part], f32x4::ZERO]);
            set(4 * part, a.to_array());
            set(4 * part + 1, b.to_array());
            set(4 * part + 2, c.to_array());
            set(4 * part + 3, d.to_array());
        }
    }

    /// Zero where the mask is off.
    #[inline]
    pub(crate) fn masked(self, mask: Wide) -> Self {
        let [x, y, z] = self.0;
        Self([x & mask, y & mask, z & mask])
    }

    /// No longer than `most`.
    #[inline]
    pub(crate) fn clamped(self, most: Wide) -> Self {
        let squared = self.dot(self);
        let long = squared.simd_gt(most * most);
        if long.none() {
            return self;
        }
        self * long.select(most / squared.sqrt(), Wide::ONE)
    }
}
