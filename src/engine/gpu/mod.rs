//! Everything that knows wgpu: the borrowed device, the choice of an adapter, the runner, read-back.
//!
//! The crate asks for nothing beyond [`wgpu::Limits::default`] and no optional feature.

mod keep;
pub(crate) mod readback;
pub(crate) mod runner;
mod select;
mod submit;
mod timer;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

pub use readback::Pending;
pub use select::{Backend, Choice};

use crate::engine::layout::{GROUP, GUARDS, Range};
use crate::engine::program::Kernel;
use crate::engine::reflect::{self, Access, Interface};
use crate::error::{Error, Result};

/// A device that cloths run on, with the pipelines they share. Cheap to clone.
///
/// It holds the caller's device and queue (both are handles) and never changes them: no callbacks, no polling, no
/// submission unless a method says so.
#[derive(Clone, Debug)]
pub struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    info: Option<wgpu::AdapterInfo>,
    /// Whether steps are timed on the device.
    timed: bool,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Layout of bind group 1: the dispatch record, reached by a dynamic offset.
    range_layout: wgpu::BindGroupLayout,
    /// By name and text: a user's kernel may have the name of another.
    pipelines: Mutex<Pipelines>,
}

type Pipelines = BTreeMap<(&'static str, usize), Arc<Pipeline>>;

/// A compiled kernel.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) compute: wgpu::ComputePipeline,
    pub(crate) layout: wgpu::BindGroupLayout,
    pub(crate) interface: Interface,
}

impl Gpu {
    /// Takes handles of the caller's device and queue.
    ///
    /// # Errors
    /// [`Error::Limit`] if the device was made with limits under [`Gpu::required_limits`], [`Error::Device`] if it is
    /// broken.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Result<Self> {
        pollster::block_on(Self::new_async(device, queue))
    }

    /// [`Gpu::new`] as a future.
    ///
    /// # Errors
    /// As [`Gpu::new`].
    pub async fn new_async(device: &wgpu::Device, queue: &wgpu::Queue) -> Result<Self> {
        check_limits(&device.limits())?;
        runner::check_device(device)?;
        let (range_layout, outcome) = scoped(device, || {
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some("taut range"),
                entries: &[wgpu::BindGroupLayoutEntry {
                    binding: 0,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: wgpu::BindingType::Buffer {
                        ty: wgpu::BufferBindingType::Uniform,
                        has_dynamic_offset: true,
                        min_binding_size: wgpu::BufferSize::new(size_of::<Range>() as u64),
                    },
                    count: None,
                }],
            })
        });
        outcome.await?;
        let shared = Arc::new(Shared { range_layout, pipelines: Mutex::default() });
        Ok(Self { device: device.clone(), queue: queue.clone(), info: None, timed: false, shared })
    }

    /// The limits that a device must have at least: wgpu's defaults.
    pub fn required_limits() -> wgpu::Limits {
        wgpu::Limits::default()
    }

    /// Whether cloth can run on an adapter.
    ///
    /// # Errors
    /// [`Error::NoCompute`] if it has no compute shaders, [`Error::Limit`] naming the first limit it lacks.
    pub fn check(adapter: &wgpu::Adapter) -> Result<()> {
        if !adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS) {
            return Err(Error::NoCompute { adapter: adapter.get_info().name });
        }
        check_limits(&adapter.limits())
    }

    /// The device.
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// The queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// The adapter, where this crate chose it.
    pub fn adapter(&self) -> Option<&wgpu::AdapterInfo> {
        self.info.as_ref()
    }

    /// The same device, with steps timed by its own clock ([`crate::Cloth::gpu_seconds`]) where it was made with
    /// [`wgpu::Features::TIMESTAMP_QUERY`]; nothing changes where it was not. Costs a read-back per step.
    #[must_use]
    pub fn timed(self) -> Self {
        let timed = self.device.features().contains(wgpu::Features::TIMESTAMP_QUERY);
        Self { timed, ..self }
    }

    /// Kernels that were compiled so far, for whoever waits for [`crate::Cloth::on_gpu`]: software adapters and
    /// browsers take seconds for them.
    pub fn pipeline_count(&self) -> usize {
        self.pipelines().len()
    }

    /// The pipeline of a kernel, compiled at its first use.
    pub(crate) async fn pipeline(&self, kernel: &'static Kernel) -> Result<Arc<Pipeline>> {
        let key = (kernel.name, kernel.source.identity());
        let found = self.pipelines().get(&key).cloned();
        if let Some(pipeline) = found {
            return Ok(pipeline);
        }
        let pipeline = Arc::new(self.compile(kernel).await?);
        self.pipelines().insert(key, pipeline.clone());
        Ok(pipeline)
    }

    fn pipelines(&self) -> std::sync::MutexGuard<'_, Pipelines> {
        self.shared.pipelines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn compile(&self, kernel: &'static Kernel) -> Result<Pipeline> {
        let (shader, interface) = reflect::interface(kernel)?;
        let limits = self.device.limits();
        let storage = interface.bindings.iter().filter(|binding| binding.access != Access::Uniform).count();
        need(
            "max_storage_buffers_per_shader_stage",
            storage as u64,
            limits.max_storage_buffers_per_shader_stage.into(),
        )?;
        let uniform = interface.bindings.len() - storage;
        need(
            "max_uniform_buffers_per_shader_stage",
            uniform as u64 + 1,
            limits.max_uniform_buffers_per_shader_stage.into(),
        )?;
        let last = interface.bindings.iter().map(|binding| u64::from(binding.slot)).max();
        need(
            "max_bindings_per_bind_group",
            last.map_or(0, |last| last + 1),
            limits.max_bindings_per_bind_group.into(),
        )?;
        let entries: Vec<wgpu::BindGroupLayoutEntry> = interface
            .bindings
            .iter()
            .map(|binding| wgpu::BindGroupLayoutEntry {
                binding: binding.slot,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: match binding.access {
                        Access::Uniform => wgpu::BufferBindingType::Uniform,
                        Access::Read => wgpu::BufferBindingType::Storage { read_only: true },
                        Access::Write => wgpu::BufferBindingType::Storage { read_only: false },
                    },
                    has_dynamic_offset: false,
                    min_binding_size: wgpu::BufferSize::new(binding.least),
                },
                count: None,
            })
            .collect();
        let device = &self.device;
        let ((layout, compute), outcome) = scoped(device, || {
            let label = Some(kernel.name);
            let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries });
            let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label,
                source: wgpu::ShaderSource::Wgsl(shader.text.as_str().into()),
            });
            let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label,
                bind_group_layouts: &[Some(&layout), Some(&self.shared.range_layout)],
                immediate_size: 0,
            });
            let compute = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label,
                layout: Some(&pipeline_layout),
                module: &module,
                entry_point: Some(kernel.name),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            });
            (layout, compute)
        });
        outcome.await?;
        Ok(Pipeline { compute, layout, interface })
    }

    pub(crate) fn range_layout(&self) -> &wgpu::BindGroupLayout {
        &self.shared.range_layout
    }
}

/// Runs `make` inside error scopes, so that the host's handler never sees an error of ours; the returned future tells
/// what went wrong.
pub(crate) fn scoped<T>(device: &wgpu::Device, make: impl FnOnce() -> T) -> (T, impl Future<Output = Result<()>>) {
    let scopes = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Validation]
        .map(|filter| device.push_error_scope(filter));
    let made = make();
    // Scopes are a stack: the last one pushed is popped first.
    let [internal, memory, validation] = scopes;
    let popped = [validation.pop(), memory.pop(), internal.pop()];
    let outcome = async move {
        for error in popped {
            if let Some(error) = error.await {
                return Err(Error::Device { message: error.to_string() });
            }
        }
        Ok(())
    };
    (made, outcome)
}

/// An [`Error::Limit`] unless `needed` ≤ `available`.
pub(crate) fn need(limit: &'static str, needed: u64, available: u64) -> Result<()> {
    if needed <= available { Ok(()) } else { Err(Error::Limit { limit, needed, available }) }
}

/// What every kernel needs, whatever the mesh.
fn check_limits(limits: &wgpu::Limits) -> Result<()> {
    let wanted = Gpu::required_limits();
    let group = GROUP as u32;
    need("max_bind_groups", 2, limits.max_bind_groups.into())?;
    // Guards and the record of the dispatch.
    need("max_uniform_buffers_per_shader_stage", 2, limits.max_uniform_buffers_per_shader_stage.into())?;
    let uniform = size_of::<[u32; GUARDS]>().max(size_of::<Range>()) as u64;
    need("max_uniform_buffer_binding_size", uniform, limits.max_uniform_buffer_binding_size)?;
    need(
        "max_dynamic_uniform_buffers_per_pipeline_layout",
        1,
        limits.max_dynamic_uniform_buffers_per_pipeline_layout.into(),
    )?;
    need(
        "max_storage_buffers_per_shader_stage",
        wanted.max_storage_buffers_per_shader_stage.into(),
        limits.max_storage_buffers_per_shader_stage.into(),
    )?;
    need("max_compute_invocations_per_workgroup", group.into(), limits.max_compute_invocations_per_workgroup.into())?;
    need("max_compute_workgroup_size_x", group.into(), limits.max_compute_workgroup_size_x.into())?;
    let shared = size_of::<[[f32; 2]; GROUP]>() as u64;
    need("max_compute_workgroup_storage_size", shared, limits.max_compute_workgroup_storage_size.into())?;
    need("max_compute_workgroups_per_dimension", 1, limits.max_compute_workgroups_per_dimension.into())
}
