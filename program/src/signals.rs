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

#[cfg(all(test, unix))]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;

    /// Set in a second process of this test, which catches signals and then takes its time.
    const BUSY: &str = "TAUT_TEST_BUSY";

    #[test]
    fn a_second_signal_ends_at_once() {
        if std::env::var_os(BUSY).is_some() {
            let signals = Signals::catch().expect("signals can be caught");
            println!("ready");
            while !signals.cancel().is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            println!("asked to end");
            // Whatever cannot be left off.
            std::thread::sleep(Duration::from_secs(60));
            return;
        }
        let program = std::env::current_exe().expect("this test");
        let mut command = Command::new(program);
        command.args(["--exact", "signals::tests::a_second_signal_ends_at_once", "--nocapture"]).env(BUSY, "1");
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the test starts again");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        for (says, signal) in [("ready", "-INT"), ("asked to end", "-TERM")] {
            assert!(lines.any(|line| line.is_ok_and(|line| line.ends_with(says))), "{says}");
            let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
            assert!(sent.is_ok_and(|status| status.success()));
        }
        let status = child.wait().expect("the test ends");
        assert_eq!(status.code(), Some(ENDED + consts::SIGTERM));
    }
}
