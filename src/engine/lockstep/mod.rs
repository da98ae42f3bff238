//! Lock-step comparison of CPU and GPU: after every single dispatch.
//!
//! Before each dispatch the CPU's fields are copied to the GPU, that one dispatch runs on both, and every field it may
//! write is compared, so an error is named where it arises: kernel, place in the program, element, both values.
//!
//! **Bound.** Compilers reassociate and GPUs fuse, so bit equality is not asked for. Integers must be equal. A float
//! may differ by 32·2⁻²⁴ of a scale: the largest magnitude of that lane in the field before or after, or the magnitude
//! of what entered it where that may be larger ([`crate::engine::fields::Spec::floor`]). A kernel that solves a system
//! amplifies rounding by the system's condition ([`crate::engine::program::Kernel::amplification`]).

#[cfg(not(target_arch = "wasm32"))]
mod pair;

#[cfg(not(target_arch = "wasm32"))]
pub use pair::compare;

pub use crate::error::Mismatch;

/// Relative bound on floats: 32 rounding errors.
pub const BOUND: f32 = 32.0 / (1 << 24) as f32;

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
