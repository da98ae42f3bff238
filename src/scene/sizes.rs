//! How large a scene would be.

use super::{MOST, Scene};
use crate::engine::fields::Sizes;
use crate::error::{Error, Result};
use crate::mesh::yarns::Yarns;

/// The smallest of three scenes whose sizes are those of all larger ones continued.
const FIRST: u32 = 6;

impl Scene {
    /// Sizes of the cloth of [`Scene::named`], without making it: every count of a sheet or a chain is a polynomial of
    /// its size, of degree 2 at most, and three small ones are enough to know it.
    ///
    /// # Errors
    /// As [`Scene::named`].
    pub fn expected_sizes(name: &str, size: u32) -> Result<Sizes> {
        let made = |size: u32| {
            let Self { mesh, solids, .. } = Self::named(name, size)?;
            Ok::<_, Error>(Sizes::of_mesh(&mesh, &solids, Yarns::new(&mesh).yarns.len()))
        };
        // What cannot be made is refused before anything is.
        if !(FIRST + 3..=MOST).contains(&size) {
            return made(size);
        }
        let [first, second, third] = [FIRST, FIRST + 1, FIRST + 2].map(made);
        let (first, second, third) = (first?, second?, third?);
        let steps = (size - FIRST) as usize;
        // Newton's forward differences.
        let continued = |[first, second, third]: [usize; 3]| {
            let slope = second - first;
            first + steps * slope + steps * (steps - 1) / 2 * (third - second - slope)
        };
        Ok(first.zip([&second, &third], continued).grouped())
    }
}
