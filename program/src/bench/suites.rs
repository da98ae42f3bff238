//! What is run.

use anyhow::{Context, Result, ensure};
use taut::{Backend, Gpu, Method, wgpu};

use super::Options;
use super::measure::Bench;
use super::results::CPU;
use crate::output;

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

/// The suite that compares adapters: it runs on all of them.
pub(crate) const ADAPTERS: &str = "adapters";

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
        name: ADAPTERS,
        does: "the automatic solver on the CPU and on every adapter, software too",
        scenes: &["hang", "drape"],
        sizes: &[32, 71],
        grows: false,
    },
    // Its scenes and sizes are those of its figures.
    Suite {
        name: PAPER,
        does: "figures 1 to 6 of Goldenthal et al. 2007, with its methods in f64 beside our solvers; takes a quarter of an hour",
        scenes: &[],
        sizes: &[],
        grows: false,
    },
];

/// Vertices per side beyond which point solvers take minutes.
const STEEP: u32 = 48;

/// Whether a solver is one that [`STEEP`] is about.
pub(crate) fn pointwise(solver: &str) -> bool {
    Method::named(solver).is_some_and(|method| method.solver().pointwise())
}

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
                    let steep = pointwise(solver);
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
        let gpu = Gpu::open_timed(adapter)?;
        let info = adapter.get_info();
        Ok(Self { gpu: Some(gpu), label: Gpu::label(&info), software: info.device_type == wgpu::DeviceType::Cpu })
    }

    /// The CPU, and the adapters that were named. Without names the one that simulations would choose, and all others
    /// after it where `all` asks for that; with `quick` also software, because that is for seeing that things work. How
    /// many of them are for suites that do not compare adapters comes along.
    pub(crate) fn choose(names: &[String], all: bool, quick: bool) -> Result<(Vec<Self>, usize)> {
        let mut places = vec![Self::cpu()];
        if names == ["none"] {
            return Ok((places, 1));
        }
        let found: Vec<wgpu::Adapter> =
            Gpu::adapters().into_iter().filter(|adapter| Gpu::check(adapter).is_ok()).collect();
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
            let usual = places.len();
            return Ok((places, usual));
        }
        let backend = if quick && !found.is_empty() { Backend::Gpu } else { Backend::Auto };
        let choice = backend.choose(None)?;
        match choice.gpu.as_ref().and_then(Gpu::adapter).map(Gpu::label) {
            Some(chosen) => {
                let adapter = found.iter().find(|adapter| label(adapter) == chosen);
                places.push(Self::on(adapter.context("the chosen adapter is gone")?)?);
            }
            None => output::say(&format!("only the CPU is measured unless --adapter names one: {}", choice.reason)),
        }
        let usual = places.len();
        for adapter in found.iter().filter(|_| all) {
            if !places.iter().any(|place| place.label == label(adapter)) {
                places.push(Self::on(adapter)?);
            }
        }
        Ok((places, usual))
    }
}
