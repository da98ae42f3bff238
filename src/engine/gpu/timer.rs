//! Time by the device's own clock: two timestamps around each compute pass of a step, which has one for every part.

use super::Gpu;
use super::readback::{Staging, Waiting};
use crate::engine::program::Phase;
use crate::error::Result;

/// Passes of one step that are timed; those beyond are not, and then the step has no time. A set of queries has twice
/// as many, which is the most that WebGPU allows.
const PASSES: u32 = 2048;
const BYTES: u64 = size_of::<u64>() as u64;

/// Timestamps of the passes of one step.
#[derive(Debug)]
pub(super) struct Timer {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    /// Passes of this step so far: what each is for, and whether it is the first of its submission.
    passes: Vec<(Phase, bool)>,
    /// Whether the next pass is the first of its submission.
    first: bool,
}

/// Time of a step by the device's clock \[s\].
#[derive(Clone, Debug, Default)]
pub(crate) struct Seconds {
    /// From the beginning to the end of each submission, summed up.
    pub(crate) whole: f64,
    /// The passes of each phase.
    parts: Vec<(Phase, f64)>,
}

impl Seconds {
    /// Time of the passes of a phase.
    pub(crate) fn of(&self, phase: Phase) -> f64 {
        self.parts.iter().find(|(known, _)| *known == phase).map_or(0.0, |(_, seconds)| *seconds)
    }
}

impl Timer {
    /// A timer, if the device is to be timed.
    pub(super) fn new(gpu: &Gpu) -> Option<Self> {
        if !gpu.timed {
            return None;
        }
        let queries = gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("taut timestamps"),
            ty: wgpu::QueryType::Timestamp,
            count: 2 * PASSES,
        });
        let resolved = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("taut timestamps"),
            size: 2 * u64::from(PASSES) * BYTES,
            usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        Some(Self { queries, resolved, passes: Vec::new(), first: true })
    }

    /// A step begins.
    pub(super) fn begin(&mut self) {
        self.passes.clear();
    }

    /// A submission begins.
    pub(super) fn begin_submission(&mut self) {
        self.first = true;
    }

    /// Where the next pass writes its beginning and its end.
    pub(super) fn next(&mut self, phase: Phase) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        let pass = self.passes.len() as u32;
        self.passes.push((phase, std::mem::take(&mut self.first)));
        (pass < PASSES).then(|| wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(2 * pass),
            end_of_pass_write_index: Some(2 * pass + 1),
        })
    }

    /// Records the read-back of what was written, if anything was.
    pub(super) fn record(&self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder) -> Result<Option<Staging>> {
        let passes = self.passes.len() as u32;
        if passes == 0 || passes > PASSES {
            return Ok(None);
        }
        encoder.resolve_query_set(&self.queries, 0..2 * passes, &self.resolved, 0);
        Staging::record(&gpu.device, encoder, &[(&self.resolved, 2 * u64::from(passes) * BYTES)]).map(Some)
    }

    /// Time that the passes took.
    pub(super) async fn seconds(&self, gpu: &Gpu, staging: Staging, waiting: Waiting) -> Result<Seconds> {
        let bytes = staging.bytes(&gpu.device, waiting).await?;
        let ticks: Vec<u64> = bytemuck::pod_collect_to_vec(&bytes);
        let second = f64::from(gpu.queue.get_timestamp_period()) * 1e-9;
        // A clock that was set back between two stamps measured nothing.
        let between = |first: u64, last: u64| last.saturating_sub(first) as f64 * second;
        let mut seconds = Seconds::default();
        let mut begun = 0;
        let mut passes = self.passes.iter().zip(ticks.chunks_exact(2)).peekable();
        while let Some(((phase, first), stamps)) = passes.next() {
            if *first {
                begun = stamps[0];
            }
            if passes.peek().is_none_or(|((_, first), _)| *first) {
                seconds.whole += between(begun, stamps[1]);
            }
            let took = between(stamps[0], stamps[1]);
            match seconds.parts.iter_mut().find(|(known, _)| known == phase) {
                Some((_, sum)) => *sum += took,
                None => seconds.parts.push((*phase, took)),
            }
        }
        Ok(seconds)
    }
}
