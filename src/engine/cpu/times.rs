//! The account of time.

use crate::engine::program::Phase;

/// Seconds that each [`Phase`] of a program took, and the bytes that its kernels touched.
#[derive(Clone, Debug, Default)]
pub struct Times {
    seconds: Vec<(Phase, f64)>,
    bytes: u64,
}

impl Times {
    /// Seconds of one phase.
    pub fn seconds(&self, phase: Phase) -> f64 {
        self.seconds.iter().find(|(known, _)| *known == phase).map_or(0.0, |(_, seconds)| *seconds)
    }

    /// Bytes of the fields that the kernels read and wrote.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn touch(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn measure<T>(&mut self, phase: Phase, work: impl FnOnce() -> T) -> T {
        let clock = std::time::Instant::now();
        let result = work();
        let took = clock.elapsed().as_secs_f64();
        match self.seconds.iter_mut().find(|(known, _)| *known == phase) {
            Some((_, seconds)) => *seconds += took,
            None => self.seconds.push((phase, took)),
        }
        result
    }

    /// A browser has no such clock.
    #[cfg(target_arch = "wasm32")]
    pub(super) fn measure<T>(&mut self, _phase: Phase, work: impl FnOnce() -> T) -> T {
        work()
    }
}
