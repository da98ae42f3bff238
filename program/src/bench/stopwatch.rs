//! How long a thread worked; the benchmarks of the library use it, too.

use std::time::Instant;

/// Tells how long this thread has worked. Where the system says so (Linux) that is the time that it really ran, so that
/// neighbors on a shared machine do not count; elsewhere it is that of the clock on the wall.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    clock: Instant,
    ran: Option<u64>,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { clock: Instant::now(), ran: nanoseconds() }
    }

    /// Seconds since the start.
    pub(crate) fn seconds(&self) -> f64 {
        match (self.ran, nanoseconds()) {
            (Some(start), Some(now)) => 1e-9 * now.saturating_sub(start) as f64,
            _ => self.clock.elapsed().as_secs_f64(),
        }
    }
}

/// How long this thread ran so far.
fn nanoseconds() -> Option<u64> {
    // The account is made up when a thread gives way.
    std::thread::yield_now();
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}
