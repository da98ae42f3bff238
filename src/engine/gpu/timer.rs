//! Time by the device's own clock: two timestamps around each compute pass of a step.

use super::Gpu;
use super::readback::{Staging, Waiting};
use crate::error::Result;

/// Passes of one step that are timed; those beyond are not, and then the step has no time.
const PASSES: u32 = 1024;
const BYTES: u64 = size_of::<u64>() as u64;

/// Timestamps of the passes of one step.
#[derive(Debug)]
pub(super) struct Timer {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    /// Passes of this step so far.
    passes: u32,
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
        Some(Self { queries, resolved, passes: 0 })
    }

    /// A step begins.
    pub(super) fn begin(&mut self) {
        self.passes = 0;
    }

    /// Where the next pass writes its beginning and its end.
    pub(super) fn next(&mut self) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        let pass = self.passes;
        self.passes += 1;
        (pass < PASSES).then(|| wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(2 * pass),
            end_of_pass_write_index: Some(2 * pass + 1),
        })
    }

    /// Records the read-back of what was written, if anything was.
    pub(super) fn record(&self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder) -> Result<Option<Staging>> {
        if self.passes == 0 || self.passes > PASSES {
            return Ok(None);
        }
        encoder.resolve_query_set(&self.queries, 0..2 * self.passes, &self.resolved, 0);
        Staging::record(&gpu.device, encoder, &[(&self.resolved, 2 * u64::from(self.passes) * BYTES)]).map(Some)
    }

    /// Seconds that the passes took together.
    pub(super) async fn seconds(gpu: &Gpu, staging: Staging, waiting: Waiting) -> Result<f64> {
        let bytes = staging.bytes(&gpu.device, waiting).await?;
        let ticks: Vec<u64> = bytemuck::pod_collect_to_vec(&bytes);
        // A clock that was set back between two stamps measured nothing.
        let taken = ticks.chunks_exact(2).map(|pass| pass[1].saturating_sub(pass[0])).sum::<u64>();
        Ok(taken as f64 * f64::from(gpu.queue.get_timestamp_period()) * 1e-9)
    }
}
