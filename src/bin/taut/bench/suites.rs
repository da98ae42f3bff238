//! What is run.

use anyhow::{Result, ensure};
use taut::{Gpu, Method, wgpu};

use super::Options;
use super::measure::Bench;
use super::results::CPU;

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
        does: "the automatic solver on the CPU and on every adapter, software too",
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
    pub(crate) fn runs(&self, options: &Options, places: &[Place]) -> Vec<Bench> {
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
                    for place in 0..places.len() {
                        let frames = if options.quick { 3 } else { 30 };
                        runs.push(Bench::new(scene, *size, solver, options.strain, frames, place));
                    }
                }
            }
        }
        runs
    }
}

/// Where runs happen: the CPU, or an adapter.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) gpu: Option<Gpu>,
    pub(crate) label: String,
    pub(crate) software: bool,
}

impl Place {
    fn cpu() -> Self {
        Self { gpu: None, label: CPU.to_owned(), software: false }
    }

    /// A device with a clock of its own, where the adapter has one.
    fn on(adapter: &wgpu::Adapter) -> Result<Self> {
        let gpu = pollster::block_on(Gpu::open_timed(adapter))?;
        let info = adapter.get_info();
        Ok(Self { gpu: Some(gpu), label: Gpu::label(&info), software: info.device_type == wgpu::DeviceType::Cpu })
    }

    /// The CPU, and the adapters that were named; without names the first that is no software, or all of them where
    /// `all` asks for that. With `quick` also software, because that is for seeing that things work.
    pub(crate) fn choose(names: &[String], all: bool, quick: bool) -> Result<Vec<Self>> {
        let mut places = vec![Self::cpu()];
        if names == ["none"] {
            return Ok(places);
        }
        let found: Vec<wgpu::Adapter> =
            pollster::block_on(Gpu::adapters()).into_iter().filter(|adapter| Gpu::check(adapter).is_ok()).collect();
        let label = |adapter: &wgpu::Adapter| Gpu::label(&adapter.get_info());
        for name in names {
            let named = |adapter: &&wgpu::Adapter| label(adapter).to_lowercase().contains(&name.to_lowercase());
            let matching: Vec<&wgpu::Adapter> = found.iter().filter(named).collect();
            ensure!(!matching.is_empty(), "no adapter that computes has `{name}` in its name");
            for adapter in matching {
                if !places.iter().any(|place| place.label == label(adapter)) {
                    places.push(Self::on(adapter)?);
                }
            }
        }
        if !names.is_empty() {
            return Ok(places);
        }
        let software = |adapter: &wgpu::Adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu;
        let (soft, hard): (Vec<&wgpu::Adapter>, Vec<&wgpu::Adapter>) =
            found.iter().partition(|adapter| software(adapter));
        let most = if all { usize::MAX } else { 1 };
        for adapter in hard.into_iter().chain(soft.into_iter().filter(|_| all || quick)).take(most) {
            places.push(Self::on(adapter)?);
        }
        Ok(places)
    }
}
