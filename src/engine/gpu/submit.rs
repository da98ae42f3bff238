//! Running a program on a queue of one's own: bounded submissions, loops that end where the host sees them end.

use super::readback::{Staging, Waiting};
use super::runner::{Launch, Op, Parts, Runner, begin, ready};
use super::scoped;
use super::timer::Seconds;
use crate::engine::cancel::Cancel;
use crate::error::Result;

/// A recursive future; `Send` where wgpu's types are.
#[cfg(not(target_arch = "wasm32"))]
type Running<'a> = std::pin::Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;
#[cfg(target_arch = "wasm32")]
type Running<'a> = std::pin::Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// What is to be submitted next.
struct Chunk {
    pending: Vec<Launch>,
    submitted: u64,
    most: u64,
    waiting: Waiting,
    cancel: Option<Cancel>,
    /// Whether something may still be running.
    busy: bool,
}

impl Runner {
    /// Runs the program on the queue, in submissions of at most `most` dispatches; loops end where the host sees that
    /// their guard is off. Returns the number of dispatches submitted.
    ///
    /// # Errors
    /// Those of the device; [`crate::Error::Cancelled`] between two submissions.
    pub(crate) async fn run(
        &mut self,
        inputs: &[(&str, &[u8])],
        most: u64,
        waiting: Waiting,
        cancel: Option<&Cancel>,
    ) -> Result<u64> {
        self.submit_scoped(|encoder| self.record_inputs(encoder, inputs))??;
        let (most, cancel) = (most.max(1), cancel.cloned());
        let mut chunk = Chunk { pending: Vec::new(), submitted: 0, most, waiting, cancel, busy: false };
        (self.seconds, self.longest_submission) = (None, 0);
        if let Some(timer) = &mut self.timer {
            timer.begin();
        }
        // A handle of its own: a future that is dropped half-way leaves the program where it was.
        let ops = self.ops.clone();
        self.run_ops(&ops, &mut chunk).await?;
        self.submit(&mut chunk, None)?;
        self.seconds = self.read_timer(waiting).await?;
        if self.seconds.is_none() {
            // Nothing was read after the last submission.
            self.wait(waiting)?;
        }
        Ok(chunk.submitted)
    }

    /// What the device's clock says about the passes of this step.
    async fn read_timer(&self, waiting: Waiting) -> Result<Option<Seconds>> {
        let Some(timer) = &self.timer else { return Ok(None) };
        match self.submit_scoped(|encoder| timer.record(&self.gpu, encoder))?? {
            Some(staging) => timer.seconds(&self.gpu, staging, waiting).await.map(Some),
            None => Ok(None),
        }
    }

    fn run_ops<'a>(&'a mut self, ops: &'a [Op], chunk: &'a mut Chunk) -> Running<'a> {
        Box::pin(async move {
            for op in ops {
                match op {
                    Op::Dispatch(_) => self.chunk_op(op, chunk)?,
                    Op::Repeat { at_most, ends_early: false, body, .. } => {
                        for _ in 0..*at_most {
                            self.run_ops(body, chunk).await?;
                        }
                    }
                    Op::Repeat { at_most, guard, body, .. } => self.run_loop(*at_most, *guard, body, chunk).await?,
                }
            }
            Ok(())
        })
    }

    /// A loop that may end early. Without loops inside it is submitted in batches: first about as many iterations as it
    /// took last time, then a quarter more again and again; between two batches the host looks at the guard. Batches
    /// only decide how much is computed in vain, never what.
    async fn run_loop(&mut self, at_most: u32, guard: u32, body: &[Op], chunk: &mut Chunk) -> Result<()> {
        let innermost = body.iter().all(|op| matches!(op, Op::Dispatch(_)));
        let first = if innermost { self.habits[guard as usize].clamp(1, at_most) } else { 1 };
        let mut done = 0;
        loop {
            let batch = if done == 0 {
                first
            } else if innermost {
                (done / 4).max(2)
            } else {
                1
            };
            let batch = batch.min(at_most - done);
            for _ in 0..batch {
                if innermost {
                    body.iter().try_for_each(|op| self.chunk_op(op, chunk))?;
                } else {
                    self.run_ops(body, chunk).await?;
                }
            }
            done += batch;
            if done == at_most || !self.look(guard, chunk).await? {
                break;
            }
        }
        // One batch was enough: try a little less next time, so that the habit follows the need downwards too.
        self.habits[guard as usize] = if done == first { done - done / 8 } else { done };
        Ok(())
    }

    fn chunk_op(&mut self, op: &Op, chunk: &mut Chunk) -> Result<()> {
        if let Op::Dispatch(launch) = op {
            if chunk.pending.len() as u64 == chunk.most {
                self.submit(chunk, None)?;
            }
            chunk.pending.push(*launch);
        }
        Ok(())
    }

    /// Submits what is pending as one compute pass, or as one for each part of a step that is timed, and the read-back
    /// of a buffer behind it.
    fn submit(&mut self, chunk: &mut Chunk, read: Option<&wgpu::Buffer>) -> Result<Option<Staging>> {
        Cancel::check(chunk.cancel.as_ref())?;
        if chunk.busy && chunk.cancel.is_some() {
            // What has been submitted cannot be stopped: no more of it than one submission.
            self.wait(chunk.waiting)?;
        }
        let mut timer = self.timer.take();
        let outcome = self.submit_scoped(|encoder| {
            match &mut timer {
                Some(timer) => {
                    timer.begin_submission();
                    for part in chunk.pending.chunk_by(|a, b| a.phase == b.phase) {
                        let phase = part[0].phase;
                        let mut pass = begin(encoder, phase.name, timer.next(phase));
                        part.iter().for_each(|launch| self.encode_dispatch(&mut pass, launch));
                    }
                }
                None if chunk.pending.is_empty() => {}
                None => {
                    let mut parts = Parts::new(begin(encoder, "taut", None));
                    chunk.pending.iter().for_each(|launch| self.encode_dispatch(parts.pass(launch.phase), launch));
                }
            }
            read.map(|buffer| Staging::record(&self.gpu.device, encoder, &[(buffer, buffer.size())])).transpose()
        });
        self.timer = timer;
        let staging = outcome??;
        // What is read back is waited for.
        chunk.busy = read.is_none();
        let length = chunk.pending.len() as u64;
        chunk.submitted += length;
        self.longest_submission = self.longest_submission.max(length);
        chunk.pending.clear();
        Ok(staging)
    }

    /// Records into an encoder and submits it, errors of the device as errors of ours.
    pub(crate) fn submit_scoped<T>(&self, record: impl FnOnce(&mut wgpu::CommandEncoder) -> T) -> Result<T> {
        let (made, outcome) = scoped(&self.gpu.device, || {
            let label = Some("taut");
            let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label });
            let made = record(&mut encoder);
            self.gpu.queue.submit([encoder.finish()]);
            made
        });
        ready(outcome)?;
        Ok(made)
    }

    /// Submits what is pending and reads a guard word.
    async fn look(&mut self, guard: u32, chunk: &mut Chunk) -> Result<bool> {
        let guards = self.named("guards").cloned();
        let Some(staging) = self.submit(chunk, guards.as_ref())? else { return Ok(true) };
        let bytes = staging.bytes(&self.gpu.device, chunk.waiting).await?;
        let words: Vec<u32> = bytemuck::pod_collect_to_vec(&bytes);
        Ok(words.get(guard as usize).is_some_and(|word| *word != 0))
    }
}
