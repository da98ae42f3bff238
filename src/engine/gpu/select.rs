//! Which adapter a program runs on, and why.

use super::Gpu;
use crate::error::{Error, Result};

/// Where to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// A GPU where there is one that computes; otherwise the CPU. Software adapters (a CPU that imitates a GPU) are
    /// slower than the CPU path and only taken when named.
    #[default]
    Auto,
    /// A wgpu adapter, software ones too; an error where there is none.
    Gpu,
    /// The CPU path.
    Cpu,
}

/// What was chosen.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Choice {
    /// The device, or `None` for the CPU path.
    pub gpu: Option<Gpu>,
    /// Why, in one sentence.
    pub reason: String,
}

impl Choice {
    fn cpu(reason: impl Into<String>) -> Self {
        Self { gpu: None, reason: reason.into() }
    }
}

impl Backend {
    /// Chooses an adapter and opens a device on it with [`Gpu::required_limits`] and no feature.
    ///
    /// `adapter` is a part of an adapter's name (or of `name (backend)`), in any case; without it the environment
    /// variable `WGPU_ADAPTER_NAME` is asked. `WGPU_BACKEND` restricts the graphics APIs.
    ///
    /// # Errors
    /// [`Error::NoAdapter`] if a named adapter, or any for [`Backend::Gpu`], does not exist; with [`Backend::Gpu`]
    /// also [`Error::NoCompute`], [`Error::Limit`] and [`Error::Device`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn choose(self, adapter: Option<&str>) -> Result<Choice> {
        pollster::block_on(self.choose_async(adapter))
    }

    /// [`Backend::choose`] as a future.
    ///
    /// # Errors
    /// As [`Backend::choose`].
    pub async fn choose_async(self, adapter: Option<&str>) -> Result<Choice> {
        if self == Self::Cpu {
            return Ok(Choice::cpu("the CPU was asked for"));
        }
        // A variable set to nothing names nothing.
        let variable = || std::env::var("WGPU_ADAPTER_NAME").ok().filter(|name| !name.is_empty());
        let named = adapter.map(str::to_owned).or_else(variable);
        let adapters = adapters().await;
        let found: Vec<wgpu::Adapter> = match &named {
            Some(name) => adapters.into_iter().filter(|adapter| matches(adapter, name)).collect(),
            None => adapters,
        };
        if found.is_empty() {
            return match named {
                Some(name) => Err(Error::NoAdapter { what: format!("whose name contains `{name}`") }),
                None if self == Self::Gpu => Err(Error::NoAdapter { what: "at all".into() }),
                None => Ok(Choice::cpu("there is no graphics adapter")),
            };
        }
        // What computes first, then by kind; the order of enumeration decides among equals.
        let mut ranked: Vec<&wgpu::Adapter> = found.iter().collect();
        ranked.sort_by_key(|adapter| (Gpu::check(adapter).is_err(), rank(adapter.get_info().device_type)));
        let mut failures = Vec::new();
        for adapter in ranked {
            let label = label(&adapter.get_info());
            if self == Self::Auto && named.is_none() && is_software(adapter) && Gpu::check(adapter).is_ok() {
                failures.push((format!("{label} is software, slower than the CPU path"), None));
                continue;
            }
            match open(adapter, wgpu::Features::empty()).await {
                Ok(gpu) => {
                    let reason = match named {
                        Some(name) => format!("{label} has `{name}` in its name"),
                        None => format!("{label} is the first adapter that computes"),
                    };
                    return Ok(Choice { gpu: Some(gpu), reason });
                }
                Err(error) => failures.push((format!("{label}: {error}"), Some(error))),
            }
        }
        let reason = failures.iter().map(|(reason, _)| reason.as_str()).collect::<Vec<_>>().join("; ");
        match failures.into_iter().find_map(|(_, error)| error) {
            Some(error) if self == Self::Gpu => Err(error),
            _ => Ok(Choice::cpu(reason)),
        }
    }
}

/// Fast kinds of adapters first.
fn rank(kind: wgpu::DeviceType) -> u32 {
    match kind {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    }
}

fn is_software(adapter: &wgpu::Adapter) -> bool {
    adapter.get_info().device_type == wgpu::DeviceType::Cpu
}

/// All adapters, in the order of enumeration; `WGPU_BACKEND` and the other variables of wgpu are honored.
pub(super) async fn adapters() -> Vec<wgpu::Adapter> {
    let descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    let backends = descriptor.backends;
    wgpu::Instance::new(descriptor).enumerate_adapters(backends).await
}

fn matches(adapter: &wgpu::Adapter, name: &str) -> bool {
    label(&adapter.get_info()).to_lowercase().contains(&name.to_lowercase())
}

/// Name and graphics API: the same processor may appear under two.
pub(super) fn label(info: &wgpu::AdapterInfo) -> String {
    // Browsers do not tell names.
    let name = if info.name.is_empty() { "an adapter without a name" } else { &info.name };
    format!("{name} ({:?})", info.backend)
}

/// Opens a device with the limits that are needed and these features.
async fn open(adapter: &wgpu::Adapter, required_features: wgpu::Features) -> Result<Gpu> {
    Gpu::check(adapter)?;
    let (device, queue) = adapter
        .request_device(&wgpu::DeviceDescriptor {
            label: Some("taut"),
            required_features,
            required_limits: Gpu::required_limits(),
            ..Default::default()
        })
        .await
        .map_err(|error| Error::Device { message: error.to_string() })?;
    let mut gpu = Gpu::new_async(&device, &queue).await?;
    gpu.info = Some(adapter.get_info());
    Ok(gpu)
}

impl Gpu {
    /// All adapters of this machine, in the order of enumeration.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn adapters() -> Vec<wgpu::Adapter> {
        pollster::block_on(adapters())
    }

    /// [`Gpu::adapters`] as a future.
    pub async fn adapters_async() -> Vec<wgpu::Adapter> {
        adapters().await
    }

    /// Opens a device on an adapter, with [`Gpu::required_limits`] and no feature.
    ///
    /// # Errors
    /// As [`Gpu::check`], and [`Error::Device`] if the request fails.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(adapter: &wgpu::Adapter) -> Result<Self> {
        pollster::block_on(Self::open_async(adapter))
    }

    /// [`Gpu::open`] as a future.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub async fn open_async(adapter: &wgpu::Adapter) -> Result<Self> {
        open(adapter, wgpu::Features::empty()).await
    }

    /// [`Gpu::open`] for those who measure: with the device's own clock where the adapter has one ([`Gpu::timed`]).
    ///
    /// # Errors
    /// As [`Gpu::open`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_timed(adapter: &wgpu::Adapter) -> Result<Self> {
        pollster::block_on(Self::open_timed_async(adapter))
    }

    /// [`Gpu::open_timed`] as a future.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub async fn open_timed_async(adapter: &wgpu::Adapter) -> Result<Self> {
        let features = adapter.features() & wgpu::Features::TIMESTAMP_QUERY;
        Ok(open(adapter, features).await?.timed())
    }

    /// Name and graphics API of an adapter, as `--adapter` compares it.
    pub fn label(info: &wgpu::AdapterInfo) -> String {
        label(info)
    }
}
