//! The machine below the cloth: programs of kernels, and two ways to run them. **It promises no stability**: it is
//! public for stages and solvers of a user's own, for `taut validate` and for the tests, and changes with any version.
//!
//! It knows arrays, kernels, dispatches and loops, and no cloth.
//!
//! | Module | What it has |
//! |---|---|
//! | [`program`] | kernels, dispatches, bounded loops: the recorded list that both runners execute |
//! | [`recorder`], `budget` | how the list is written, and shortened to fit a number of dispatches |
//! | [`fields`] | named arrays, each declared once |
//! | [`layout`] | structures in them, laid out alike in Rust and WGSL |
//! | [`source`], [`reflect`] | WGSL files and what they take from Rust; what naga reads from them |
//! | [`cpu`] | runs a program by the kernels' Rust bodies |
//! | `gpu` | runs a program by their WGSL entry points: [`crate::Gpu`], [`crate::Backend`] |
//! | [`lockstep`] | runs it on both and compares after every dispatch |

mod budget;
pub(crate) mod cancel;
pub mod checksum;
pub mod cpu;
pub mod fields;
pub(crate) mod gpu;
pub mod layout;
pub mod lockstep;
mod loops;
pub mod program;
pub mod recorder;
pub mod reflect;
pub mod source;
