//! A copy of the state on the device, for frames that are taken back.

use super::readback::Waiting;
use super::runner::Runner;
use super::{need, scoped};
use crate::engine::fields::Spec;
#[cfg(not(target_arch = "wasm32"))]
use crate::error::Error;
use crate::error::Result;

impl Runner {
    /// Copies the fields that `wanted` names, before anything that is submitted or written later.
    pub(crate) fn keep(&mut self, wanted: impl Fn(&Spec) -> bool) -> Result<()> {
        if self.kept.is_empty() {
            let device = &self.gpu.device;
            let buffers = self.specs.iter().zip(&self.buffers).filter(|(spec, _)| wanted(spec));
            for buffer in buffers.filter_map(|(_, buffer)| buffer.as_ref()) {
                let size = buffer.size();
                need("max_buffer_size", size, device.limits().max_buffer_size)?;
                let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
                let (copy, outcome) = scoped(device, || {
                    let label = Some("taut before");
                    device.create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false })
                });
                let made = super::runner::ready(outcome);
                self.kept.push((buffer.clone(), copy));
                if made.is_err() {
                    self.kept.clear();
                    return made;
                }
            }
        }
        self.submit_scoped(|encoder| {
            for (buffer, copy) in &self.kept {
                encoder.copy_buffer_to_buffer(buffer, 0, copy, 0, buffer.size());
            }
        })
    }

    /// Gives the memory of the copies back.
    pub(crate) fn forget(&mut self) {
        self.kept.clear();
    }

    /// Copies what was kept back, and waits for it if this side does the waiting.
    pub(crate) fn put_back(&self, waiting: Waiting) -> Result<()> {
        self.submit_scoped(|encoder| {
            for (buffer, copy) in &self.kept {
                encoder.copy_buffer_to_buffer(copy, 0, buffer, 0, buffer.size());
            }
        })?;
        self.wait(waiting)
    }

    /// Waits until the device has done everything, if this side does the waiting.
    pub(super) fn wait(&self, waiting: Waiting) -> Result<()> {
        match waiting {
            Waiting::Await => Ok(()),
            #[cfg(not(target_arch = "wasm32"))]
            Waiting::Block => {
                let wait = self.gpu.device.poll(wgpu::PollType::wait_indefinitely());
                wait.map(|_| ()).map_err(|error| Error::Device { message: error.to_string() })
            }
        }
    }
}
