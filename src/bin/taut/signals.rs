//! Signals that ask for an end: the first is obeyed when there is something to keep, the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use signal_hook::{consts, flag};
use taut::Cancel;

use crate::Outcome;

#[cfg(unix)]
const SIGNALS: [i32; 3] = [consts::SIGINT, consts::SIGTERM, consts::SIGHUP];
#[cfg(not(unix))]
const SIGNALS: [i32; 2] = [consts::SIGINT, consts::SIGTERM];

/// What a shell adds to the number of the signal that ended a program.
const ENDED: i32 = 128;

/// The signals that have come since they were first looked out for.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    cancel: Cancel,
    last: Arc<AtomicUsize>,
}

impl Signals {
    /// From now on a signal sets a flag; one that comes while it is set ends the program there and then.
    pub(crate) fn catch() -> Result<Self> {
        let signals = Self::default();
        for signal in SIGNALS {
            // What is registered first is called first, before the flag is set.
            flag::register_conditional_shutdown(signal, ENDED + signal, signals.cancel.flag())
                .and_then(|_| flag::register_usize(signal, signals.last.clone(), signal as usize))
                .and_then(|_| flag::register(signal, signals.cancel.flag()))
                .context("cannot catch interruptions")?;
        }
        Ok(signals)
    }

    /// What is cancelled by the first signal.
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// How a program ends that was asked to.
    pub(crate) fn outcome(&self) -> Outcome {
        Outcome::Interrupted((ENDED as usize + self.last.load(Ordering::Relaxed)) as u8)
    }
}
