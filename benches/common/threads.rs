//! How many threads run.

/// Runs something on so many threads.
#[cfg(feature = "parallel")]
pub(crate) fn on_threads<T: Send>(count: usize, run: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build();
    pool.expect("threads can be started").install(run)
}

/// Without threads there is one.
#[cfg(not(feature = "parallel"))]
pub(crate) fn on_threads<T: Send>(_: usize, run: impl FnOnce() -> T + Send) -> T {
    run()
}
