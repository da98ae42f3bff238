//! How large a scene would be.

use super::{LAYERED, MOST, Scene, WORN};
use crate::engine::fields::Sizes;
use crate::error::{Error, Result};
use crate::mesh::yarns::Yarns;

/// The smallest of three scenes whose sizes are those of all larger ones continued.
const FIRST: u32 = 6;
/// The same of layered and worn cloth, whose parts have halves and fifths of the size: one in ten goes on as a
/// polynomial.
const FIRST_LAYERED: u32 = 10;
const STEP_LAYERED: u32 = 10;

impl Scene {
    /// Sizes of the cloth of [`Scene::named`], without making it: every count of a sheet or a chain is a polynomial of
    /// its size, of degree 2 at most, and three small ones are enough to know it. Only the pairs of bending of what is
    /// worn may be a few in a hundred more or fewer: those whose weights cancel to 0 are left out, which rounding
    /// decides. What self-collision needs is left to [`crate::MemoryEstimate`].
    ///
    /// # Errors
    /// As [`Scene::named`].
    pub fn expected_sizes(name: &str, size: u32) -> Result<Sizes> {
        let made = |size: u32| {
            let Self { mesh, solids, .. } = Self::named(name, size)?;
            Ok::<_, Error>(Sizes::of_mesh(&mesh, &solids, Yarns::new(&mesh).yarns.len()))
        };
        // What cannot be made is refused before anything is.
        let (least, step) =
            if LAYERED.contains(&name) || WORN.contains(&name) { (FIRST_LAYERED, STEP_LAYERED) } else { (FIRST, 1) };
        if !(least + 3 * step..=MOST).contains(&size) {
            return made(size);
        }
        let least = least + (size - least) % step;
        let [first, second, third] = [least, least + step, least + 2 * step].map(made);
        let (first, second, third) = (first?, second?, third?);
        let steps = ((size - least) / step) as usize;
        // Newton's forward differences.
        let continued = |[first, second, third]: [usize; 3]| {
            let slope = second - first;
            first + steps * slope + steps * (steps - 1) / 2 * (third - second - slope)
        };
        Ok(first.zip([&second, &third], continued).grouped())
    }
}
