//! Reading buffers back: the only place that waits for a GPU.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_intrusive::channel::shared::{OneshotReceiver, oneshot_channel};

use super::runner::{check_device, ready};
use super::scoped;
use crate::error::{Error, Result};

/// Whether to wait for the GPU by polling the device (native, owns the queue) or to leave polling to somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The caller, a browser or another thread polls.
    Await,
    /// Block until the device is done.
    #[cfg(not(target_arch = "wasm32"))]
    Block,
}

/// Bytes on their way from the GPU.
#[derive(Debug)]
pub(crate) struct Staging {
    device: wgpu::Device,
    buffer: wgpu::Buffer,
    arrived: Arc<OneshotReceiver<Result<(), wgpu::BufferAsyncError>>>,
}

impl Staging {
    /// Records copies of whole buffers, one after another, that become readable after the encoder was submitted.
    /// Nothing is recorded where there is no buffer to copy to: the submission, which is the host's, would fail.
    pub(crate) fn record(
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        sources: &[(&wgpu::Buffer, u64)],
    ) -> Result<Self> {
        let size: u64 = sources.iter().map(|(_, bytes)| bytes.next_multiple_of(8)).sum();
        let (buffer, outcome) = scoped(device, || {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("taut read-back"),
                size: size.max(8),
                usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
                mapped_at_creation: false,
            })
        });
        ready(outcome)?;
        check_device(device)?;
        let mut offset = 0;
        for (source, bytes) in sources {
            if *bytes > 0 {
                encoder.copy_buffer_to_buffer(source, 0, &buffer, offset, *bytes);
            }
            offset += bytes.next_multiple_of(8);
        }
        let (sender, arrived) = oneshot_channel();
        encoder.map_buffer_on_submit(&buffer, wgpu::MapMode::Read, .., move |outcome| {
            // The receiver may be gone: nobody wants the bytes any more.
            let _ = sender.send(outcome);
        });
        Ok(Self { device: device.clone(), buffer, arrived: Arc::new(arrived) })
    }

    /// Waits for the bytes.
    pub(crate) async fn bytes(self, device: &wgpu::Device, waiting: Waiting) -> Result<Vec<u8>> {
        match waiting {
            Waiting::Await => {}
            #[cfg(not(target_arch = "wasm32"))]
            Waiting::Block => {
                device
                    .poll(wgpu::PollType::wait_indefinitely())
                    .map_err(|error| Error::Device { message: error.to_string() })?;
            }
        }
        #[cfg(target_arch = "wasm32")]
        let _ = device;
        let outcome = self.arrived.receive().await;
        self.copied(outcome)
    }

    /// The bytes if they have arrived; never waits.
    pub(crate) fn try_bytes(&self) -> Option<Result<Vec<u8>>> {
        let mut context = Context::from_waker(Waker::noop());
        match pin!(self.arrived.receive()).poll(&mut context) {
            Poll::Ready(outcome) => Some(self.copied(outcome)),
            Poll::Pending => None,
        }
    }

    fn copied(&self, outcome: Option<Result<(), wgpu::BufferAsyncError>>) -> Result<Vec<u8>> {
        // In a browser a loss shows here first, and nothing else does: the buffer is ours, and mapped once.
        #[cfg(target_arch = "wasm32")]
        if matches!(outcome, Some(Err(_))) {
            return Err(Error::DeviceLost);
        }
        outcome.ok_or_else(|| self.failed(NOT_SUBMITTED))?.map_err(|error| self.failed(error))?;
        let view = self.buffer.slice(..).get_mapped_range().map_err(|error| self.failed(error))?;
        Ok(view.to_vec())
    }

    /// What a failure is, if the device is not lost.
    fn failed(&self, message: impl ToString) -> Error {
        check_device(&self.device).err().unwrap_or_else(|| Error::Device { message: message.to_string() })
    }
}

const NOT_SUBMITTED: &str = "a read-back never arrives: its encoder was not submitted";

/// Looks at the device before an encoder is taken for one that was not submitted, a millisecond apart. The first finds
/// it done; what is left is the moment in which another thread that polls delivers.
#[cfg(not(target_arch = "wasm32"))]
const LOOKS: u32 = 1000;

/// A report that is on its way from the GPU.
///
/// It arrives after the encoder it was recorded into was submitted and the device was polled, as every frame of a
/// renderer does anyway. Dropping it is fine.
#[derive(Debug)]
pub struct Pending<T> {
    staging: Staging,
    decode: Decode<T>,
    taken: bool,
}

type Decoder<T> = dyn Fn(&[u8]) -> Result<T> + Send + Sync;

/// Turns arrived bytes into what they mean.
pub(crate) struct Decode<T>(pub(crate) Box<Decoder<T>>);

impl<T> std::fmt::Debug for Decode<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Decode")
    }
}

impl<T> Pending<T> {
    pub(crate) fn new(staging: Staging, decode: Decode<T>) -> Self {
        Self { staging, decode, taken: false }
    }

    /// The result if it has arrived; never waits. Gives it once.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Device`] if its encoder was dropped.
    pub fn try_take(&mut self) -> Option<Result<T>> {
        if self.taken {
            return None;
        }
        let bytes = self.staging.try_bytes()?;
        self.taken = true;
        Some(bytes.and_then(|bytes| (self.decode.0)(&bytes)))
    }

    /// Polls the device until it has arrived.
    ///
    /// # Errors
    /// As [`Pending::try_take`]; [`Error::Device`] also if its encoder was not submitted.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(mut self) -> Result<T> {
        for _ in 0..LOOKS {
            let polled = self.staging.device.poll(wgpu::PollType::wait_indefinitely());
            polled.map_err(|error| self.staging.failed(error))?;
            if let Some(outcome) = self.try_take() {
                return outcome;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Err(self.staging.failed(NOT_SUBMITTED))
    }

    /// [`Pending::wait`] for a browser, or where another thread polls the device.
    ///
    /// # Errors
    /// As [`Pending::try_take`].
    pub async fn wait_async(self) -> Result<T> {
        let outcome = self.staging.arrived.receive().await;
        let bytes = self.staging.copied(outcome)?;
        (self.decode.0)(&bytes)
    }
}
