//! Lock-step comparison of CPU and GPU: after every single dispatch.
//!
//! Before each dispatch the CPU's fields are copied to the GPU, that one dispatch runs on both, and every field it may
//! write is compared, so an error is named where it arises: kernel, place in the program, element, both values.
//!
//! **Bound.** Compilers reassociate and GPUs fuse, so bit equality is not asked for. Integers must be equal. A float
//! may differ by 32·2⁻²⁴ of a scale: the largest magnitude of that lane in the field before or after, or the magnitude
//! of what entered it where that may be larger ([`crate::fields::Spec::floor`]). A kernel that solves a system
//! amplifies rounding by the system's condition ([`crate::program::Kernel::amplification`]).

#[cfg(not(target_arch = "wasm32"))]
mod pair;

use std::fmt;

#[cfg(not(target_arch = "wasm32"))]
pub use pair::compare;

/// Relative bound on floats: 32 rounding errors.
pub const BOUND: f32 = 32.0 / (1 << 24) as f32;

/// Where two backends differ first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Mismatch {
    /// Kernel whose result differs.
    pub kernel: &'static str,
    /// How many dispatches ran before it.
    pub dispatch: u64,
    /// Field that differs.
    pub field: &'static str,
    /// Element of the field.
    pub element: usize,
    /// 32-bit word inside the element.
    pub lane: usize,
    /// Value on the CPU (the bits of an integer as a float where the field holds integers).
    pub cpu: f32,
    /// Value on the GPU.
    pub gpu: f32,
    /// Difference that would have been accepted.
    pub bound: f32,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, dispatch, field, element, lane, cpu, gpu, bound } = self;
        write!(
            formatter,
            "kernel `{kernel}` (dispatch {dispatch}): {field}[{element}].{lane} is {cpu:e} ({:#010x}) on the CPU and \
             {gpu:e} ({:#010x}) on the GPU; {bound:e} would have been accepted",
            cpu.to_bits(),
            gpu.to_bits(),
        )
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
