//! Runs a [`Program`] on a GPU: buffers and bind groups once per cloth, dispatches of a whole frame in one pass.

use std::sync::Arc;

use bytemuck::bytes_of;

use super::readback::{Staging, Waiting};
use super::timer::{Seconds, Timer};
use super::{Gpu, Pipeline, need, scoped};
use crate::engine::fields::{Domain, Drawn, Fields, Spec};
use crate::engine::layout::{GROUP, Range};
use crate::engine::program::{Dispatch, Item, Key, Pattern, Phase, Program, key};
use crate::engine::reflect;
use crate::error::{Error, Result};

/// Iterations of a loop that are submitted before the host looks for the first time whether it goes on.
const FIRST_BATCH: u32 = 4;

/// A kernel with the buffers of one cloth.
#[derive(Clone, Debug)]
struct Bound {
    key: Key,
    /// Numbers of its fields.
    fields: Vec<usize>,
    pipeline: Arc<Pipeline>,
    group: wgpu::BindGroup,
}

/// A dispatch, ready to be encoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch {
    bound: usize,
    offset: u32,
    groups: [u32; 2],
    pub(super) phase: Phase,
}

/// A line of the program, ready to be encoded.
#[derive(Debug)]
pub(super) enum Op {
    Dispatch(Launch),
    Repeat { at_most: u32, ends_early: bool, guard: u32, body: Vec<Op> },
}

/// The GPU half of a cloth.
#[derive(Debug)]
pub(crate) struct Runner {
    pub(super) gpu: Gpu,
    pub(super) buffers: Vec<Option<wgpu::Buffer>>,
    pub(super) specs: Vec<Spec>,
    bound: Vec<Bound>,
    pub(super) ops: Arc<[Op]>,
    ranges: Vec<Range>,
    range_group: wgpu::BindGroup,
    /// Iterations that each loop took last time, by guard word: where the host looks first next time.
    pub(super) habits: Vec<u32>,
    /// The device's clock, where it is asked for.
    pub(super) timer: Option<Timer>,
    /// Time of the last step by it.
    pub(super) seconds: Option<Seconds>,
    /// Dispatches of the longest submission of the last step.
    pub(super) longest_submission: u64,
    /// Buffers and copies of them, from before a frame that may be taken back.
    pub(super) kept: Vec<(wgpu::Buffer, wgpu::Buffer)>,
}

impl Runner {
    /// Creates and fills the buffers, compiles the kernels, binds them.
    pub(crate) async fn new(gpu: &Gpu, program: &Program, fields: &Fields) -> Result<Self> {
        let range_group = upload_ranges(gpu, &[])?;
        let mut runner = Self {
            gpu: gpu.clone(),
            buffers: fields.specs().iter().map(|_| None).collect(),
            specs: fields.specs().to_vec(),
            bound: Vec::new(),
            ops: Arc::new([]),
            ranges: Vec::new(),
            range_group,
            habits: vec![FIRST_BATCH; crate::engine::layout::GUARDS],
            timer: None,
            seconds: None,
            longest_submission: 0,
            kept: Vec::new(),
        };
        for (number, _) in fields.specs().iter().enumerate().filter(|(_, spec)| spec.resident) {
            runner.make_buffer(fields, number).await?;
        }
        let (timer, outcome) = scoped(&gpu.device, || Timer::new(gpu));
        outcome.await?;
        runner.timer = timer;
        runner.prepare(program, fields).await?;
        runner.assemble(program)?;
        Ok(runner)
    }

    /// Makes sure that every kernel of the program is compiled and bound; what runs stays what it is.
    pub(crate) async fn prepare(&mut self, program: &Program, fields: &Fields) -> Result<()> {
        check_device(&self.gpu.device)?;
        for dispatch in program.dispatches() {
            if self.find(dispatch).is_some() {
                continue;
            }
            let pipeline = self.gpu.pipeline(dispatch.kernel).await?;
            let numbers = reflect::resolve(dispatch, &pipeline.interface, fields.specs())?;
            for number in &numbers {
                self.make_buffer(fields, *number).await?;
            }
            let mut entries = Vec::with_capacity(numbers.len());
            for (number, binding) in numbers.iter().zip(&pipeline.interface.bindings) {
                let resource = self.buffer(*number)?.as_entire_binding();
                entries.push(wgpu::BindGroupEntry { binding: binding.slot, resource });
            }
            let device = &self.gpu.device;
            let (group, outcome) = scoped(device, || {
                device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: Some(dispatch.kernel.name),
                    layout: &pipeline.layout,
                    entries: &entries,
                })
            });
            outcome.await?;
            self.bound.push(Bound { key: key(dispatch), fields: numbers, pipeline, group });
        }
        Ok(())
    }

    /// Makes the buffers of some fields anew, prepares `every` and assembles `program`, one of whose kernels it has.
    /// Frames that were recorded before keep the old buffers. Where it fails, everything is as it was.
    pub(crate) async fn renew(
        &mut self,
        names: &[&str],
        every: &Program,
        program: &Program,
        fields: &Fields,
    ) -> Result<()> {
        let before = (self.buffers.clone(), self.bound.clone());
        for (number, _) in self.specs.iter().enumerate().filter(|(_, spec)| names.contains(&spec.name)) {
            self.buffers[number] = None;
            self.bound.retain(|bound| !bound.fields.contains(&number));
        }
        let mut outcome = self.prepare(every, fields).await;
        if outcome.is_ok() {
            outcome = self.assemble(program);
        }
        if outcome.is_err() {
            (self.buffers, self.bound) = before;
        }
        outcome
    }

    /// Translates a program whose kernels are all bound. Where that fails, what ran before runs on.
    pub(crate) fn assemble(&mut self, program: &Program) -> Result<()> {
        check_device(&self.gpu.device)?;
        let mut ranges: Vec<Range> = program.dispatches().into_iter().map(range).collect();
        ranges.sort_by_key(|range| bytemuck::cast::<Range, [u32; 8]>(*range));
        ranges.dedup();
        let ops = self.translate(&program.items, &ranges)?;
        if ranges != self.ranges {
            // A new buffer, not new contents: frames that were recorded but not submitted still use the old one.
            self.range_group = upload_ranges(&self.gpu, &ranges)?;
            self.ranges = ranges;
        }
        self.ops = ops.into();
        Ok(())
    }

    /// What a program does, by the places of its dispatches' ranges.
    fn translate(&self, items: &[Item], ranges: &[Range]) -> Result<Vec<Op>> {
        items
            .iter()
            .map(|item| {
                Ok(match item {
                    Item::Dispatch(dispatch) => {
                        let wanted = range(dispatch);
                        let bound = self.find(dispatch);
                        let record = ranges.iter().position(|range| *range == wanted);
                        let (Some(bound), Some(record)) = (bound, record) else {
                            let problem = "is a kernel that this cloth was not prepared for".into();
                            return Err(Error::Field { name: dispatch.kernel.name.into(), problem });
                        };
                        let offset = record as u32 * self.stride();
                        let (groups, phase) = (self.fold(dispatch)?, dispatch.phase);
                        Op::Dispatch(Launch { bound, offset, groups, phase })
                    }
                    Item::Repeat(repeat) => Op::Repeat {
                        at_most: repeat.at_most,
                        ends_early: repeat.ends_early,
                        guard: repeat.guard,
                        body: self.translate(&repeat.body, ranges)?,
                    },
                })
            })
            .collect()
    }

    /// Workgroups of a dispatch, folded to two dimensions where one is not enough.
    fn fold(&self, dispatch: &Dispatch) -> Result<[u32; 2]> {
        if matches!(dispatch.kernel.pattern, Pattern::Group | Pattern::Passes) {
            return Ok([1, 1]);
        }
        let groups = (dispatch.range.end - dispatch.range.start).div_ceil(GROUP as u32).max(1);
        let most = self.gpu.device.limits().max_compute_workgroups_per_dimension;
        let rows = groups.div_ceil(most);
        need("max_compute_workgroups_per_dimension", rows.into(), most.into())?;
        Ok([groups.div_ceil(rows), rows])
    }

    fn stride(&self) -> u32 {
        stride(&self.gpu)
    }

    fn find(&self, dispatch: &Dispatch) -> Option<usize> {
        let key = key(dispatch);
        self.bound.iter().position(|bound| bound.key == key)
    }

    async fn make_buffer(&mut self, fields: &Fields, number: usize) -> Result<()> {
        if self.buffers[number].is_some() {
            return Ok(());
        }
        let spec = &self.specs[number];
        let bytes: &[u8] = bytemuck::cast_slice(fields.words(number));
        let size = buffer_size(spec, bytes.len() as u64);
        let limits = self.gpu.device.limits();
        need("max_storage_buffer_binding_size", size, limits.max_storage_buffer_binding_size)?;
        need("max_buffer_size", size, limits.max_buffer_size)?;
        let mut usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        if matches!(spec.domain, Domain::Fixed(_)) {
            usage |= wgpu::BufferUsages::UNIFORM;
        }
        usage |= match spec.drawn {
            Some(Drawn::Vertices) => wgpu::BufferUsages::VERTEX,
            Some(Drawn::Indices) => wgpu::BufferUsages::INDEX,
            None => wgpu::BufferUsages::empty(),
        };
        let device = &self.gpu.device;
        let (buffer, outcome) = scoped(device, || {
            let label = Some(spec.name);
            let buffer =
                device.create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false });
            if !bytes.is_empty() {
                self.gpu.queue.write_buffer(&buffer, 0, bytes);
            }
            buffer
        });
        outcome.await?;
        // What is kept of a frame must have this one, too.
        self.kept.clear();
        self.buffers[number] = Some(buffer);
        Ok(())
    }

    /// Buffer of a field by number.
    pub(crate) fn buffer(&self, number: usize) -> Result<&wgpu::Buffer> {
        self.buffers[number].as_ref().ok_or_else(|| Error::Field {
            name: self.specs[number].name.into(),
            problem: "is not on the GPU: no kernel of the program uses it".into(),
        })
    }

    /// Buffer of a field by name.
    pub(crate) fn named(&self, name: &str) -> Option<&wgpu::Buffer> {
        let number = self.specs.iter().position(|spec| spec.name == name)?;
        self.buffers[number].as_ref()
    }

    /// Overwrites a field before the next submission.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails; a lost one takes everything without a word.
    pub(crate) fn write(&self, fields: &Fields, name: &str) -> Result<()> {
        let number = fields.index(name)?;
        if let Some(buffer) = &self.buffers[number] {
            let bytes: &[u8] = bytemuck::cast_slice(fields.words(number));
            if !bytes.is_empty() {
                let (_, outcome) = scoped(&self.gpu.device, || self.gpu.queue.write_buffer(buffer, 0, bytes));
                return ready(outcome);
            }
        }
        Ok(())
    }

    /// Overwrites one element of a field before the next submission.
    pub(crate) fn write_part(&self, fields: &Fields, name: &str, element: usize) -> Result<()> {
        let number = fields.index(name)?;
        let Some(buffer) = &self.buffers[number] else { return Ok(()) };
        let stride = self.specs[number].stride;
        let bytes: &[u8] = bytemuck::cast_slice(fields.words(number));
        let part = &bytes[element * stride..(element + 1) * stride];
        let write = || self.gpu.queue.write_buffer(buffer, (element * stride) as u64, part);
        ready(scoped(&self.gpu.device, write).1)
    }

    /// Records the upload of fields. A small buffer of its own travels with each recorded frame, so frames keep their
    /// inputs in whatever order and number they are submitted.
    pub(crate) fn record_inputs(&self, encoder: &mut wgpu::CommandEncoder, inputs: &[(&str, &[u8])]) -> Result<()> {
        let bytes: Vec<u8> = inputs.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        let upload = filled((&self.gpu.device, &self.gpu.queue), "taut frame", wgpu::BufferUsages::COPY_SRC, &bytes)?;
        let mut offset = 0;
        for (name, bytes) in inputs {
            let size = bytes.len() as u64;
            if let Some(buffer) = self.named(name) {
                encoder.copy_buffer_to_buffer(&upload, offset, buffer, 0, size);
            }
            offset += size;
        }
        Ok(())
    }

    /// Records the copy of a field to one that is as long; nothing where one of them is not here.
    pub(crate) fn record_copy(&self, encoder: &mut wgpu::CommandEncoder, from: &str, to: &str) {
        if let (Some(from), Some(to)) = (self.named(from), self.named(to)) {
            encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
        }
    }

    /// [`Runner::record_copy`], submitted.
    pub(crate) fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.submit_scoped(|encoder| self.record_copy(encoder, from, to))
    }

    /// Records the whole program into one compute pass, loops unrolled to their bounds, its parts as debug groups.
    pub(crate) fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        let mut parts = Parts::new(begin(encoder, "taut", None));
        self.encode_ops(&mut parts, &self.ops);
    }

    fn encode_ops(&self, parts: &mut Parts<'_>, ops: &[Op]) {
        for op in ops {
            match op {
                Op::Dispatch(launch) => self.encode_dispatch(parts.pass(launch.phase), launch),
                Op::Repeat { at_most, body, .. } => {
                    for _ in 0..*at_most {
                        self.encode_ops(parts, body);
                    }
                }
            }
        }
    }

    pub(super) fn encode_dispatch(&self, pass: &mut wgpu::ComputePass<'_>, launch: &Launch) {
        let bound = &self.bound[launch.bound];
        pass.set_pipeline(&bound.pipeline.compute);
        pass.set_bind_group(0, &bound.group, &[]);
        pass.set_bind_group(1, &self.range_group, &[launch.offset]);
        let [x, y] = launch.groups;
        pass.dispatch_workgroups(x, y, 1);
    }

    /// Runs one dispatch on its own, for comparison with the CPU.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn encode_one(&self, encoder: &mut wgpu::CommandEncoder, dispatch: &Dispatch) -> Result<()> {
        let wanted = range(dispatch);
        let record = self.ranges.iter().position(|range| *range == wanted);
        let (Some(bound), Some(record)) = (self.find(dispatch), record) else {
            let problem = "is a kernel that this cloth was not prepared for".into();
            return Err(Error::Field { name: dispatch.kernel.name.into(), problem });
        };
        let (groups, phase) = (self.fold(dispatch)?, dispatch.phase);
        let launch = Launch { bound, offset: record as u32 * self.stride(), groups, phase };
        self.encode_dispatch(&mut begin(encoder, "taut", None), &launch);
        Ok(())
    }

    /// Records the read-back of whole fields by name.
    pub(crate) fn record_read(&self, encoder: &mut wgpu::CommandEncoder, names: &[&str]) -> Result<Staging> {
        let mut sources = Vec::with_capacity(names.len());
        for name in names {
            let number = self.specs.iter().position(|spec| spec.name == *name);
            let buffer = number.and_then(|number| self.buffers[number].as_ref()).ok_or_else(|| Error::Field {
                name: (*name).into(),
                problem: "is not on the GPU: no kernel of the program uses it".into(),
            })?;
            sources.push((buffer, buffer.size()));
        }
        Staging::record(&self.gpu.device, encoder, &sources)
    }

    /// Reads whole fields by name, now.
    pub(crate) async fn read(&self, names: &[&str], waiting: Waiting) -> Result<Vec<u8>> {
        let staging = self.submit_scoped(|encoder| self.record_read(encoder, names))??;
        staging.bytes(&self.gpu.device, waiting).await
    }

    /// Time of the last step by the device's clock.
    pub(crate) fn seconds(&self) -> Option<&Seconds> {
        self.seconds.as_ref()
    }

    /// Dispatches of the longest submission of the last step.
    pub(crate) fn longest_submission(&self) -> u64 {
        self.longest_submission
    }

    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }
}

pub(super) fn begin<'a>(
    encoder: &'a mut wgpu::CommandEncoder,
    label: &str,
    timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
) -> wgpu::ComputePass<'a> {
    encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some(label), timestamp_writes })
}

/// A compute pass whose parts are debug groups, named as their phases: profilers show them.
pub(super) struct Parts<'a> {
    pass: wgpu::ComputePass<'a>,
    open: Option<Phase>,
}

impl<'a> Parts<'a> {
    pub(super) fn new(pass: wgpu::ComputePass<'a>) -> Self {
        Self { pass, open: None }
    }

    /// The pass, for a dispatch of this phase.
    pub(super) fn pass(&mut self, phase: Phase) -> &mut wgpu::ComputePass<'a> {
        if self.open != Some(phase) {
            if self.open.replace(phase).is_some() {
                self.pass.pop_debug_group();
            }
            self.pass.push_debug_group(phase.name);
        }
        &mut self.pass
    }
}

impl Drop for Parts<'_> {
    fn drop(&mut self) {
        if self.open.is_some() {
            self.pass.pop_debug_group();
        }
    }
}

/// Bytes of the buffer of a field that has so many.
pub(crate) fn buffer_size(spec: &Spec, bytes: u64) -> u64 {
    bytes.max(spec.stride as u64).next_multiple_of(16)
}

fn range(dispatch: &Dispatch) -> Range {
    Range {
        first: dispatch.range.start,
        end: dispatch.range.end,
        guard: dispatch.guard,
        padding: 0,
        arguments: dispatch.arguments.into(),
    }
}

fn stride(gpu: &Gpu) -> u32 {
    (size_of::<Range>() as u32).next_multiple_of(gpu.device.limits().min_uniform_buffer_offset_alignment.max(1))
}

/// All dispatch records in one uniform buffer.
fn upload_ranges(gpu: &Gpu, ranges: &[Range]) -> Result<wgpu::BindGroup> {
    let stride = stride(gpu) as usize;
    let mut bytes = vec![0; stride * ranges.len().max(1)];
    for (slot, range) in bytes.chunks_mut(stride).zip(ranges) {
        slot[..size_of::<Range>()].copy_from_slice(bytes_of(range));
    }
    need("max_buffer_size", bytes.len() as u64, gpu.device.limits().max_buffer_size)?;
    let device = &gpu.device;
    let buffer = filled((device, &gpu.queue), "taut ranges", wgpu::BufferUsages::UNIFORM, &bytes)?;
    let (group, outcome) = scoped(device, || {
        let size = wgpu::BufferSize::new(size_of::<Range>() as u64);
        let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer: &buffer, offset: 0, size });
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("taut ranges"),
            layout: gpu.range_layout(),
            entries: &[wgpu::BindGroupEntry { binding: 0, resource }],
        })
    });
    ready(outcome)?;
    Ok(group)
}

/// An [`Error::DeviceLost`] unless the device works. Error scopes are silent about a lost device, as WebGPU wants them;
/// only a buffer that should be mapped tells. A browser's throws, which wgpu does not catch: there a loss shows when a
/// read-back fails.
pub(crate) fn check_device(device: &wgpu::Device) -> Result<()> {
    #[cfg(not(target_arch = "wasm32"))]
    mapped(device, "taut alive", wgpu::BufferUsages::COPY_SRC, &[0; 4])?;
    #[cfg(target_arch = "wasm32")]
    let _ = device;
    Ok(())
}

/// A buffer with contents. wgpu's own helper panics on a lost device.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn filled(
    (device, _): (&wgpu::Device, &wgpu::Queue),
    label: &str,
    usage: wgpu::BufferUsages,
    bytes: &[u8],
) -> Result<wgpu::Buffer> {
    mapped(device, label, usage, bytes)
}

/// A buffer with contents, which are there before anything that is submitted later.
#[cfg(target_arch = "wasm32")]
pub(crate) fn filled(
    (device, queue): (&wgpu::Device, &wgpu::Queue),
    label: &str,
    usage: wgpu::BufferUsages,
    bytes: &[u8],
) -> Result<wgpu::Buffer> {
    let whole = bytes.len().next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT as usize);
    let (buffer, outcome) = scoped(device, || {
        let (label, size, usage) = (Some(label), whole as u64, usage | wgpu::BufferUsages::COPY_DST);
        let buffer = device.create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false });
        let mut padded = bytes.to_vec();
        padded.resize(whole, 0);
        queue.write_buffer(&buffer, 0, &padded);
        buffer
    });
    ready(outcome)?;
    Ok(buffer)
}

#[cfg(not(target_arch = "wasm32"))]
fn mapped(device: &wgpu::Device, label: &str, usage: wgpu::BufferUsages, bytes: &[u8]) -> Result<wgpu::Buffer> {
    let size = (bytes.len() as u64).next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT);
    let (buffer, outcome) = scoped(device, || {
        let label = Some(label);
        device.create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: true })
    });
    ready(outcome)?;
    // A buffer that nothing is said about and that cannot be written is one of a lost device.
    let mut view = buffer.get_mapped_range_mut(..).map_err(|_| Error::DeviceLost)?;
    view.slice(..bytes.len()).copy_from_slice(bytes);
    drop(view);
    buffer.unmap();
    Ok(buffer)
}

/// The outcome of a future that native wgpu has ready at once; a browser's verdict would come too late to be used here
/// and shows in the next read-back instead.
pub(crate) fn ready(outcome: impl Future<Output = Result<()>>) -> Result<()> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(outcome).poll(&mut context) {
        std::task::Poll::Ready(outcome) => outcome,
        std::task::Poll::Pending => Ok(()),
    }
}
