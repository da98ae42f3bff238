//! Does an adapter compute the right cloth? Checks for those who run them in CI.
//!
//! `taut validate` is the program around this module; a host with a device of its own calls [`checks`] and runs them
//! one by one.
//!
//! ```no_run
//! use taut::validate::{Depth, Subject, checks};
//!
//! for adapter in taut::Gpu::adapters() {
//!     let subject = Subject::open(adapter)?;
//!     for check in checks(Depth::Quick) {
//!         if let Err(failure) = check.run(&subject) {
//!             eprintln!("{}: {}: {failure}", subject.label(), check.name);
//!         }
//!     }
//! }
//! # Ok::<(), taut::Error>(())
//! ```
//!
//! | Checks | What is compared |
//! |---|---|
//! | `kernels/SOLVER/SCENE` | every dispatch of a frame, with the CPU's ([`crate::engine::lockstep`]) |
//! | `figures/THEME/NAME` | small figures with their closed forms ([`figures`]) |
//! | `direct/SOLVER/SCENE` | a whole step with its solution in f64 by sparse Cholesky ([`crate::reference`]) |
//! | `runs/SOLVER/SCENE` | a free run with the CPU's: strain recomputed in f64, centre of mass |
//! | `long/SCENE` | ten seconds beside the CPU's: centre of mass, energy, force on pins and solids |
//! | `bits/SOLVER` | two runs on two devices of the adapter: equal bits |
//! | `limits/SOLVER` | a device with less than it could have: equal bits |
//! | `limits/too-large` | a cloth that does not fit: refused by name |
//! | `not-finite/SOLVER` | an impulse that overflows: taken back, reported, and life goes on |
//!
//! No check compares the CPU path with itself: each runs on the [`Subject`], or fails.

mod bits;
mod deviations;
mod direct;
mod energy;
mod faults;
pub mod figures;
mod kernels;
mod long;
mod runs;
mod subjects;

use std::fmt;

pub use bits::fingerprint;
pub use deviations::{Deviation, KNOWN, known};
pub use kernels::planted;
pub use subjects::{method, solvers};
// For the tests and benchmarks of this repository; no part of the interface.
#[doc(hidden)]
pub use energy::energy;
#[doc(hidden)]
pub use subjects::{
    crowded, everything_else, filtering, heaped, inflated, kernel, landing, lawful, moving, resting, rushing, stiff,
    tangled, warm, windy,
};

use crate::engine::gpu::Gpu;
use crate::engine::lockstep::Mismatch;
use crate::error::{Error, Result};
use crate::solver::Method;

/// An adapter under test, with a device on it.
#[derive(Debug)]
pub struct Subject {
    adapter: wgpu::Adapter,
    gpu: Gpu,
}

impl Subject {
    /// Opens a device with default limits and no feature.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub fn open(adapter: wgpu::Adapter) -> Result<Self> {
        let gpu = Gpu::open(&adapter)?;
        Ok(Self { adapter, gpu })
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Name and graphics API of the adapter.
    pub fn label(&self) -> String {
        Gpu::label(&self.adapter.get_info())
    }

    /// What wgpu knows of the adapter.
    pub fn info(&self) -> wgpu::AdapterInfo {
        self.adapter.get_info()
    }

    /// Whether it is a processor that imitates a GPU: then nothing is said of any GPU.
    pub fn software(&self) -> bool {
        self.adapter.get_info().device_type == wgpu::DeviceType::Cpu
    }

    /// Another device on the adapter, with these limits.
    fn with_limits(&self, limits: wgpu::Limits) -> Result<Gpu> {
        let descriptor = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
        let (device, queue) = pollster::block_on(self.adapter.request_device(&descriptor))
            .map_err(|error| Error::Device { message: error.to_string() })?;
        Gpu::new(&device, &queue)
    }
}

/// How much is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// Every solver and every scene, but not every pair of them.
    Quick,
    /// Every solver on every scene.
    #[default]
    Full,
}

/// What a check saw where nothing was wrong.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Seen {
    /// Figures, in a few words.
    pub text: String,
    /// Kernels that were compared with the CPU's.
    pub compared: Vec<&'static str>,
    /// Kernels of the program that it was about.
    pub kernels: Vec<&'static str>,
}

impl Seen {
    /// Figures, in a few words.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Default::default() }
    }
}

/// Why a check failed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Failure {
    /// In one sentence.
    pub message: String,
    /// Kernel, element and both values, where two backends differ.
    pub mismatch: Option<Box<Mismatch>>,
    /// Kernels of the program that it was about.
    pub kernels: Vec<&'static str>,
    excess: Option<f64>,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        let mismatch = match error {
            Error::Mismatch(mismatch) => Some(mismatch),
            _ => None,
        };
        let excess = mismatch.as_ref().map(|found| f64::from((found.cpu - found.gpu).abs()) / f64::from(found.bound));
        Self { message, mismatch, kernels: Vec::new(), excess }
    }
}

impl Failure {
    /// A failure without a place, in one sentence.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), mismatch: None, kernels: Vec::new(), excess: None }
    }

    /// How far off it is, as a multiple of what is right; not known of everything.
    pub fn excess(&self) -> Option<f64> {
        self.excess
    }

    /// `Ok` if a figure is at most so much; not a number is more than anything.
    fn unless_at_most(what: &str, found: f64, most: f64) -> Result<(), Self> {
        if found <= most {
            Ok(())
        } else {
            let message = format!("{what} is {found:.2e}; at most {most:.2e} is right");
            Err(Self { excess: Some(found / most), ..Self::new(message) })
        }
    }
}

type Body = dyn Fn(&Subject) -> Result<Seen, Failure> + Send + Sync;

/// One question about an adapter.
pub struct Check {
    /// As in the table of the [module documentation](self).
    pub name: String,
    body: Box<Body>,
}

impl fmt::Debug for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Check").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Check {
    fn new(name: impl Into<String>, body: impl Fn(&Subject) -> Result<Seen, Failure> + Send + Sync + 'static) -> Self {
        Self { name: name.into(), body: Box::new(body) }
    }

    /// Runs it.
    ///
    /// # Errors
    /// What is wrong with the adapter, or with this crate on it.
    pub fn run(&self, subject: &Subject) -> Result<Seen, Failure> {
        (self.body)(subject)
    }
}

/// All checks, in the order in which a failure is best understood: kernels first.
pub fn checks(depth: Depth) -> Vec<Check> {
    [kernels::checks, figures::checks, direct::checks, runs::checks, long::checks, bits::checks, faults::checks]
        .into_iter()
        .flat_map(|list| list(depth))
        .collect()
}

/// Pairs of a solver with its name and a scene: all of them, or as few as name each solver and each scene.
fn pairs(depth: Depth) -> Vec<((&'static str, Method), &'static str)> {
    let (solvers, scenes) = (solvers(), crate::scene::NAMES);
    match depth {
        Depth::Full => solvers.iter().flat_map(|solver| scenes.iter().map(|scene| (solver.clone(), *scene))).collect(),
        Depth::Quick => {
            let count = solvers.len().max(scenes.len());
            (0..count).map(|index| (solvers[index % solvers.len()].clone(), scenes[index % scenes.len()])).collect()
        }
    }
}
