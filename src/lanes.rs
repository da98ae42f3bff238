//! Lanes: one number of several yarns, edges or vertices in vector registers.
//!
//! There are always eight, in one register of AVX2 or two of SSE2, NEON or WebAssembly: on x86-64 that is found when
//! the program runs ([`widest`]), elsewhere when it is compiled. Every lane does the same operations in the same order
//! whatever its neighbors and its registers are, and products are never fused with sums, so the bits of finite numbers
//! are the same at every width.

use std::sync::OnceLock;

use fearless_simd::{Level, Simd, f32x4, f32x8, mask32x8, prelude::*};

use crate::vector::{Real, Triple};

/// Yarns in a bundle.
pub(crate) const LANES: usize = 8;

/// A number per lane.
pub(crate) type Wide<S> = f32x8<S>;

/// On or off, per lane.
pub(crate) type Mask<S> = mask32x8<S>;

/// Three coordinates of every lane.
pub(crate) type Vec3s<S> = Triple<Wide<S>>;

/// What is compiled once for each width of vectors. Everything that it calls must be `#[inline(always)]`: what is not,
/// is compiled for the narrowest.
pub(crate) trait Work {
    /// What it gives.
    type Output;

    /// Does it with vectors of this kind.
    fn on<S: Simd>(self, simd: S) -> Self::Output;
}

/// Does work with the widest vectors that this processor has.
#[inline]
pub(crate) fn widest<W: Work>(work: W) -> W::Output {
    at(level(), work)
}

/// Does work at a level that there is.
fn at<W: Work>(level: Level, work: W) -> W::Output {
    // Two kinds are enough: what lies between differs by less than it costs to compile.
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(simd) = level.as_avx2() {
            return simd.vectorize(
                #[inline(always)]
                || work.on(simd),
            );
        }
        if let Some(simd) = level.as_sse2() {
            return simd.vectorize(
                #[inline(always)]
                || work.on(simd),
            );
        }
        unreachable!("every x86-64 has SSE2")
    }
    #[cfg(not(target_arch = "x86_64"))]
    fearless_simd::dispatch!(level, simd => work.on(simd))
}

fn level() -> Level {
    #[cfg(test)]
    if let Some(level) = tests::LEVEL.get() {
        return level;
    }
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(Level::new)
}

/// A value of each lane.
#[inline(always)]
pub(crate) fn each<T>(of: impl Fn(usize) -> T) -> [T; LANES] {
    // Written out: array combinators are not always inlined, and then compiled for the narrowest.
    [of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)]
}

impl<S: Simd> Real for Wide<S> {
    type Mask = Mask<S>;

    #[inline(always)]
    fn like(self, number: f32) -> Self {
        Self::splat(self.token(), number)
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
    fn above(self, other: Self) -> Mask<S> {
        self.simd_gt(other)
    }

    #[inline(always)]
    fn at_least(self, other: Self) -> Mask<S> {
        self.simd_ge(other)
    }
}

/// Rows of a 4 × 4 matrix as its columns.
#[inline(always)]
pub(crate) fn transposed<S: Simd>([a, b, c, d]: [f32x4<S>; 4]) -> [f32x4<S>; 4] {
    let (ac, bd) = (a.zip_low(c), b.zip_low(d));
    let (low, high) = (a.zip_high(c), b.zip_high(d));
    [ac.zip_low(bd), ac.zip_high(bd), low.zip_low(high), low.zip_high(high)]
}

impl<S: Simd> Vec3s<S> {
    /// From one vector of four words per lane, and the fourth words.
    #[inline(always)]
    pub(crate) fn gather(simd: S, words: impl Fn(usize) -> [f32; 4]) -> (Self, Wide<S>) {
        // Written out, too.
        let of = |lane: usize| f32x4::load_array(simd, words(lane));
        let [x, y, z, w] = transposed([of(0), of(1), of(2), of(3)]);
        let [p, q, r, s] = transposed([of(4), of(5), of(6), of(7)]);
        (Self([x.combine(p), y.combine(q), z.combine(r)]), w.combine(s))
    }

    /// [`Vec3s::gather`] where two words come at once; the fourth words are left out.
    #[inline(always)]
    pub(crate) fn gather_halves(simd: S, halves: impl Fn(usize) -> [[f32; 2]; 2]) -> Self {
        let of = |lane: usize| {
            let ([[x, y], [z, w]], [[p, q], [r, s]]) = (halves(lane), halves(lane + 1));
            (f32x4::load_array(simd, [x, y, p, q]), f32x4::load_array(simd, [z, w, r, s]))
        };
        let (a, b, c, d) = (of(0), of(2), of(4), of(6));
        Self([
            a.0.unzip_low(b.0).combine(c.0.unzip_low(d.0)),
            a.0.unzip_high(b.0).combine(c.0.unzip_high(d.0)),
            a.1.unzip_low(b.1).combine(c.1.unzip_low(d.1)),
        ])
    }

    /// One vector of four words per lane, the fourth 0, handed to `set` lane by lane.
    #[inline(always)]
    pub(crate) fn scatter(self, mut set: impl FnMut(usize, [f32; 4])) {
        let zero = f32x4::splat(self.0[0].token(), 0.0);
        let [(x, p), (y, q), (z, r)] = [self.0[0].split(), self.0[1].split(), self.0[2].split()];
        let [a, b, c, d] = transposed([x, y, z, zero]);
        set(0, a.to_array());
        set(1, b.to_array());
        set(2, c.to_array());
        set(3, d.to_array());
        let [a, b, c, d] = transposed([p, q, r, zero]);
        set(4, a.to_array());
        set(5, b.to_array());
        set(6, c.to_array());
        set(7, d.to_array());
    }

    /// The last lane of this, and all but the last of `next`.
    #[inline(always)]
    pub(crate) fn then(self, next: Self) -> Self {
        let ([x, y, z], [p, q, r]) = (self.0, next.0);
        Self([x.slide::<{ LANES - 1 }>(p), y.slide::<{ LANES - 1 }>(q), z.slide::<{ LANES - 1 }>(r)])
    }

    /// Zero where the mask is off.
    #[inline(always)]
    pub(crate) fn masked(self, mask: Mask<S>) -> Self {
        let ([x, y, z], zero) = (self.0, self.0[0].like(0.0));
        Self([mask.select(x, zero), mask.select(y, zero), mask.select(z, zero)])
    }

    /// No longer than `most`.
    #[inline(always)]
    pub(crate) fn clamped(self, most: Wide<S>) -> Self {
        let squared = self.dot(self);
        let long = squared.simd_gt(most * most);
        if !long.any_true() {
            return self;
        }
        self * long.select(most / squared.sqrt(), most.like(1.0))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::scene::{self, Scene};
    use crate::solver::Method;
    use crate::{Cloth, FrameInput};

    thread_local! {
        /// Level that this thread is held at.
        pub(super) static LEVEL: Cell<Option<Level>> = const { Cell::new(None) };
    }

    /// Words of positions after some frames at a level.
    fn bits(scene: &Scene, level: Level) -> Vec<u32> {
        LEVEL.set(Some(level));
        let mut cloth = Cloth::on_cpu(scene.clone()).unwrap();
        for _ in 0..4 {
            cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() }).unwrap();
        }
        LEVEL.set(None);
        cloth.snapshot().unwrap().positions.as_flattened().iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn bits_are_the_same_at_every_width() {
        let levels: Vec<Level> = [
            Some(Level::baseline()),
            Some(Level::new()),
            #[cfg(target_arch = "x86_64")]
            Level::new().as_sse2().map(Level::Sse2),
            #[cfg(target_arch = "x86_64")]
            Level::new().as_avx2().map(Level::Avx2),
        ]
        .into_iter()
        .flatten()
        .collect();
        for scene in [scene::hang(33), scene::drape(13), scene::flag(12), scene::patch(9)].map(Result::unwrap) {
            for method in [Method::named("auto"), Method::named("fast-projection")] {
                let mut scene = scene.clone();
                scene.settings.method = method.unwrap();
                let expected = bits(&scene, levels[0]);
                assert!(levels.iter().all(|level| bits(&scene, *level) == expected), "{}", scene.name);
                // It can fail: a start that differs by less than anybody sees does not give the same.
                scene.start[5][1] += 1e-6;
                assert_ne!(bits(&scene, levels[0]), expected);
            }
        }
    }
}
