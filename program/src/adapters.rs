//! `taut adapters`: what this machine offers.

use anyhow::Result;
use serde_json::{Value, json};
use taut::{Gpu, wgpu};

use crate::Outcome;
use crate::output::{self, count, table};

/// Options of `taut adapters`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Print a JSON array instead of a table
    #[arg(long)]
    json: bool,
}

/// Lists every adapter that wgpu finds; none is an answer too.
pub(crate) fn list(options: &Options) -> Result<Outcome> {
    let adapters: Vec<Adapter> = Gpu::adapters().iter().map(Adapter::of).collect();
    if options.json {
        output::print(&format!("{:#}", Value::Array(adapters.iter().map(Adapter::json).collect())))?;
    } else if adapters.is_empty() {
        output::print("There is no graphics adapter; `taut run` uses the CPU.")?;
    } else {
        output::print(&transposed(&adapters))?;
    }
    Ok(Outcome::Done)
}

/// What matters about an adapter.
struct Adapter {
    info: wgpu::AdapterInfo,
    compute: bool,
    /// Why cloth cannot run on it.
    problem: Option<String>,
    limits: [(&'static str, u64); 5],
    features: [(&'static str, bool); 2],
}

impl Adapter {
    fn of(adapter: &wgpu::Adapter) -> Self {
        let limits = adapter.limits();
        let features = adapter.features();
        Self {
            info: adapter.get_info(),
            compute: adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS),
            problem: Gpu::check(adapter).err().map(|error| error.to_string()),
            limits: [
                ("max_storage_buffers_per_shader_stage", limits.max_storage_buffers_per_shader_stage.into()),
                ("max_storage_buffer_binding_size", limits.max_storage_buffer_binding_size),
                ("max_compute_invocations_per_workgroup", limits.max_compute_invocations_per_workgroup.into()),
                ("max_compute_workgroup_storage_size", limits.max_compute_workgroup_storage_size.into()),
                ("max_compute_workgroups_per_dimension", limits.max_compute_workgroups_per_dimension.into()),
            ],
            features: [
                ("TIMESTAMP_QUERY", features.contains(wgpu::Features::TIMESTAMP_QUERY)),
                ("SUBGROUP", features.contains(wgpu::Features::SUBGROUP)),
            ],
        }
    }

    /// As `WGPU_BACKEND` spells it.
    fn backend(&self) -> &'static str {
        self.info.backend.to_str()
    }

    fn kind(&self) -> &'static str {
        match self.info.device_type {
            wgpu::DeviceType::DiscreteGpu => "discrete",
            wgpu::DeviceType::IntegratedGpu => "integrated",
            wgpu::DeviceType::VirtualGpu => "virtual",
            wgpu::DeviceType::Cpu => "software",
            wgpu::DeviceType::Other => "other",
        }
    }

    fn driver(&self) -> String {
        format!("{} {}", self.info.driver, self.info.driver_info).trim().to_owned()
    }

    fn json(&self) -> Value {
        json!({
            "name": self.info.name,
            "backend": self.backend(),
            "type": self.kind(),
            "driver": self.driver(),
            "compute": self.compute,
            "usable": self.problem.is_none(),
            "problem": self.problem,
            "limits": object(&self.limits),
            "features": object(&self.features),
        })
    }

    fn cells(&self) -> Vec<String> {
        let usable = self.problem.as_ref().map_or_else(|| "yes".to_owned(), |problem| format!("no: {problem}"));
        let mut cells = vec![self.info.name.clone(), self.backend().to_owned(), self.kind().to_owned(), self.driver()];
        cells.extend([yes_or_no(self.compute), usable]);
        cells.extend(self.limits.iter().map(|(_, value)| count(*value)));
        cells.extend(self.features.iter().map(|(_, has)| yes_or_no(*has)));
        cells
    }
}

fn object<T: Copy + Into<Value>>(entries: &[(&'static str, T)]) -> Value {
    entries.iter().map(|(name, value)| (*name, *value)).collect()
}

/// One column per adapter: there are few of them, and much to say about each.
fn transposed(adapters: &[Adapter]) -> String {
    let mut rows: Vec<Vec<String>> =
        ["name", "backend", "type", "driver", "compute shaders", "usable by taut"].map(|name| vec![name.into()]).into();
    if let Some(first) = adapters.first() {
        rows.extend(first.limits.iter().map(|(name, _)| vec![(*name).to_owned()]));
        rows.extend(first.features.iter().map(|(name, _)| vec![(*name).to_owned()]));
    }
    for adapter in adapters {
        for (row, cell) in rows.iter_mut().zip(adapter.cells()) {
            row.push(cell);
        }
    }
    table(rows, u16::MAX)
}

fn yes_or_no(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}
