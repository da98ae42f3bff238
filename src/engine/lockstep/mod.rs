//! Lock-step comparison of CPU and GPU: after every single dispatch.
//!
//! Before each dispatch the CPU's fields are copied to the GPU, that one dispatch runs on both, and every field it may
//! write is compared, so an error is named where it arises: kernel, place in the program, element, both values.
//!
//! **Bound.** Compilers reassociate and GPUs fuse, so bit equality is not asked for. Integers must be equal. A float
//! may differ by 32·2⁻²⁴ of a scale: the largest magnitude of that lane in the field before or after, or the magnitude
//! of what entered it where that may be larger ([`crate::engine::fields::Spec::floor`]). A kernel that solves a system
//! amplifies rounding by the system's condition ([`crate::engine::program::Kernel::amplification`]).

//!
//! A small entry beside a large one may be wrong by as much as the large one is rounded. [`Scale::Entry`] asks for
//! more: a float may besides differ by 1024·2⁻²⁴ of its own element, before or after, or of what entered it.

#[cfg(not(target_arch = "wasm32"))]
mod pair;

#[cfg(not(target_arch = "wasm32"))]
pub use pair::{compare, compare_on};

pub use crate::error::Mismatch;

/// Relative bound on floats: 32 rounding errors.
pub const BOUND: f32 = 32.0 / (1 << 24) as f32;

/// The same where an entry is compared with its own element: sums of several terms that nearly cancel keep some ten
/// bits less than their terms.
pub const ENTRY: f32 = 1024.0 / (1 << 24) as f32;

/// What a difference is a part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// The largest entry of its lane in the field.
    #[default]
    Field,
    /// Its own element, too.
    Entry,
}

/// How programs are compared.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Dispatches at most.
    pub at_most: u64,
    /// What a difference is a part of.
    pub scale: Scale,
    /// Kernels that amplify rounding by more here than they do elsewhere, and by how much: a system that is nearly
    /// singular, or very long.
    pub amplified: &'static [(&'static str, f32)],
}

impl Default for Terms {
    fn default() -> Self {
        Self { at_most: u64::MAX, scale: Scale::Field, amplified: &[] }
    }
}

/// So many dispatches at most.
impl From<u64> for Terms {
    fn from(at_most: u64) -> Self {
        Self { at_most, ..Default::default() }
    }
}

/// What was compared.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Agreement {
    /// Dispatches that ran on both.
    pub dispatches: u64,
    /// Words that were compared.
    pub words: u64,
    /// Largest difference, as a part of what would have been accepted.
    pub worst: f32,
    /// Kernels that were compared, in the order of their first dispatch.
    pub kernels: Vec<&'static str>,
}
