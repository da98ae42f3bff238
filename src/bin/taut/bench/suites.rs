//! What is run.

use anyhow::Result;
use taut::{Backend, Gpu, Method, wgpu};

use super::Options;
use super::measure::Bench;

/// A list of runs with a purpose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) does: &'static str,
    scenes: &'static [&'static str],
    sizes: &'static [u32],
    /// Whether solvers whose cost grows steeply are left out at larger sizes.
    grows: bool,
}

/// The suite that [`super::paper`] runs.
pub(crate) const PAPER: &str = "paper";

/// All suites.
pub(crate) const SUITES: [Suite; 4] = [
    Suite {
        name: "solvers",
        does: "every solver on a curtain, a sheet hung by two corners and a draped one, at one size",
        scenes: &["curtain", "hang", "drape"],
        sizes: &[32],
        grows: false,
    },
    Suite {
        name: "scaling",
        does: "a curtain of growing size with every solver, and the exponent of its time",
        scenes: &["curtain"],
        sizes: &[16, 24, 32, 48, 64, 96, 128],
        grows: true,
    },
    Suite {
        name: "adapters",
        does: "the automatic solver on the CPU and on the adapter",
        scenes: &["hang", "drape"],
        sizes: &[32, 71],
        grows: false,
    },
    // Its scenes and sizes are those of its figures.
    Suite {
        name: PAPER,
        does: "figures 3 to 6 of Goldenthal et al. 2007, with its methods in f64 beside our solvers; takes half an hour",
        scenes: &[],
        sizes: &[],
        grows: false,
    },
];

/// Vertices per side beyond which point solvers take minutes.
const STEEP: u32 = 48;

impl Suite {
    /// Its runs, for the options.
    pub(crate) fn runs(&self, options: &Options, place: &Place) -> Vec<Bench> {
        let mut solvers: Vec<String> = if !options.solvers.is_empty() {
            options.solvers.clone()
        } else if self.name == "adapters" {
            vec!["auto".to_owned()]
        } else {
            Method::NAMES.map(str::to_owned).to_vec()
        };
        solvers.dedup();
        let sizes: Vec<u32> = match (options.quick, options.sizes.is_empty()) {
            (true, _) => vec![8],
            (false, false) => options.sizes.clone(),
            (false, true) => self.sizes.to_vec(),
        };
        let mut runs = Vec::new();
        for scene in self.scenes {
            for size in &sizes {
                for solver in &solvers {
                    let steep = ["gauss-seidel", "jacobi"].contains(&solver.as_str());
                    if self.grows && steep && *size > STEEP && options.solvers.is_empty() {
                        continue;
                    }
                    for on_gpu in [false, true] {
                        if !on_gpu || place.gpu.is_some() {
                            let frames = if options.quick { 3 } else { 30 };
                            runs.push(Bench::new(scene, *size, solver, options.strain, frames, on_gpu));
                        }
                    }
                }
            }
        }
        runs
    }
}

/// The adapter that is measured besides the CPU, if any.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) gpu: Option<Gpu>,
    pub(crate) label: String,
    pub(crate) software: bool,
}

impl Place {
    /// The adapter of a name; without one the first that is no software; with `quick` also a software adapter, because
    /// that is for seeing that things work.
    pub(crate) fn choose(name: Option<&str>, quick: bool) -> Result<Self> {
        if name == Some("none") {
            return Ok(Self { gpu: None, label: String::new(), software: false });
        }
        let backend = if name.is_some() { Backend::Gpu } else { Backend::Auto };
        let mut gpu = backend.choose_blocking(name)?.gpu;
        if gpu.is_none() && quick {
            gpu = Backend::Gpu.choose_blocking(None).ok().and_then(|choice| choice.gpu);
        }
        let info = gpu.as_ref().and_then(Gpu::adapter);
        let software = info.is_some_and(|info| info.device_type == wgpu::DeviceType::Cpu);
        let label = info.map(Gpu::label).unwrap_or_default();
        Ok(Self { gpu, label, software })
    }
}
