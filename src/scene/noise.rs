//! A tiny noise of the start positions, for what nothing else would bend.
//!
//! A flat sheet that stands upright and is pushed to neither side stays a rigid plate ([`Scene::stays_flat`]): what
//! would fold it starts from nothing, and nothing times any growth is nothing. In life no sheet is that flat. Noise of
//! 10⁻⁵ m, less than a thread is thick, is enough: after half a second the folds are centimetres deep.
//!
//! ```
//! use taut::scene::{self, Noise};
//!
//! let mut scene = scene::flag(9)?;
//! scene.settings.wind = None;
//! assert!(scene.stays_flat(&scene.settings));
//! let scene = scene.with_noise(Noise { seed: 7, ..Noise::default() })?;
//! assert!(!scene.stays_flat(&scene.settings));
//! # Ok::<(), taut::Error>(())
//! ```

use super::Scene;
use crate::error::Result;
use crate::error::within;
use crate::mesh::Mesh;

/// A noise of start positions; see the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// How far a coordinate is moved at most \[m\], before it is rounded to `f32`; from 0 to a tenth of the shortest
    /// edge. An edge of rest length l starts with a strain of at most 2√3 times this over l, which the first frame
    /// takes away.
    pub amplitude: f32,
    /// Which of the noises it is. The same seed gives the same bits on every platform.
    pub seed: u64,
}

impl Default for Noise {
    fn default() -> Self {
        Self { amplitude: 1e-5, seed: 0 }
    }
}

impl Noise {
    /// # Errors
    /// [`crate::Error::OutOfRange`] for the amplitude.
    fn validate(&self, mesh: &Mesh) -> Result<()> {
        let most = 0.1 * mesh.edges().iter().fold(f32::INFINITY, |least, edge| least.min(edge.rest));
        let valid = self.amplitude >= 0.0 && self.amplitude <= most;
        within("noise.amplitude", self.amplitude.into(), valid, "at least 0 m and at most a tenth of the shortest edge")
    }

    /// How far a coordinate of a vertex is moved \[m\]: evenly distributed. Whole numbers, and one product of f64.
    fn of(&self, vertex: usize, axis: usize) -> f64 {
        // Number 3 · vertex + axis of the sequence of SplitMix64 that begins at the seed.
        let number = 3 * vertex as u64 + axis as u64;
        let scrambled = scramble(self.seed.wrapping_add((number + 1).wrapping_mul(GAMMA)));
        // 24 bits as odd numbers from 1 − 2²⁴ to 2²⁴ − 1: as much above 0 as below, and exact in f64.
        let odd = 2 * (scrambled >> 40) as i64 + 1 - (1 << 24);
        f64::from(self.amplitude) * (odd as f64 / f64::from(1 << 24))
    }
}

/// The step of SplitMix64 (Steele, Lea, Flood 2014).
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// What SplitMix64 makes of a state.
fn scramble(state: u64) -> u64 {
    let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Scene {
    /// The scene with every coordinate of its start positions moved a little. Pins, and vertices that the script holds
    /// or leads, stay where they are; the noise of the others does not depend on them.
    ///
    /// # Errors
    /// [`crate::Error::OutOfRange`] if the amplitude is not within 0 and a tenth of the shortest edge.
    pub fn with_noise(mut self, noise: Noise) -> Result<Self> {
        noise.validate(&self.mesh)?;
        // Not even the sign of a zero changes then.
        if noise.amplitude == 0.0 {
            return Ok(self);
        }
        let mut free = vec![true; self.start.len()];
        let led = self.script.pins.iter().flat_map(|group| group.vertices());
        for vertex in self.mesh.pins().iter().chain(led) {
            if let Some(free) = free.get_mut(*vertex as usize) {
                *free = false;
            }
        }
        for (vertex, place) in self.start.iter_mut().enumerate().filter(|(vertex, _)| free[*vertex]) {
            for (axis, x) in place.iter_mut().enumerate() {
                *x = (f64::from(*x) + noise.of(vertex, axis)) as f32;
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the reference implementation from the state 1234567.
    #[test]
    fn the_generator_is_splitmix64() {
        let first = (1..=3).map(|index| scramble(1_234_567u64.wrapping_add(GAMMA.wrapping_mul(index))));
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(first.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn noise_is_even_and_within_its_amplitude() {
        let noise = Noise { amplitude: 1.0, seed: 5 };
        let values: Vec<f64> = (0..20_000).map(|index| noise.of(index / 3, index % 3)).collect();
        assert!(values.iter().all(|x| x.abs() < 1.0 && *x != 0.0));
        let mean = |power: i32| values.iter().map(|x| x.powi(power)).sum::<f64>() / values.len() as f64;
        // Five standard deviations of what even numbers from −1 to 1 have.
        assert!(mean(1).abs() < 5.0 * (1.0f64 / 3.0 / 2e4).sqrt(), "{}", mean(1));
        assert!((mean(2) - 1.0 / 3.0).abs() < 5.0 * (4.0f64 / 45.0 / 2e4).sqrt(), "{}", mean(2));
        // Neighbors, and neighboring seeds, have nothing to do with each other.
        let pairs = values.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / 2e4;
        let other = Noise { seed: 6, ..noise };
        let seeds = (0..20_000).map(|index| values[index] * other.of(index / 3, index % 3)).sum::<f64>() / 2e4;
        let deviation = 5.0 / 3.0 / 2e4f64.sqrt();
        assert!(pairs.abs() < deviation && seeds.abs() < deviation, "{pairs} {seeds}");
    }
}
