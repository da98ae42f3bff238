//! Stopping a step that takes long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// Asks a running [`Cloth::step`](crate::Cloth::step) to stop, from another thread or a signal handler. Clones are
/// handles of the same wish.
///
/// A cloth looks at it between dispatches on the CPU, between submissions on a GPU. A frame that is stopped is taken
/// back: the cloth is as it was before, bit for bit, and the step is [`Error::Cancelled`]. So is every later one, until
/// [`Cancel::reset`].
///
/// ```
/// use taut::{Cancel, Cloth, Error, FrameInput, scene};
///
/// let cancel = Cancel::default();
/// let mut cloth = Cloth::on_cpu(scene::hang(9)?)?;
/// cloth.set_cancel(Some(cancel.clone()));
/// std::thread::spawn(move || cancel.cancel()).join().expect("nothing panics");
/// let frame = FrameInput { dt: 1.0 / 60.0, ..Default::default() };
/// assert!(matches!(cloth.step(&frame), Err(Error::Cancelled)));
/// assert_eq!(cloth.frame(), 0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks for an end.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Takes the wish back: cloths go on.
    pub fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether an end was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for those who set flags, as signal handlers do.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }

    /// [`Error::Cancelled`] if an end was asked for.
    pub(crate) fn check(cancel: Option<&Self>) -> Result<()> {
        match cancel {
            Some(cancel) if cancel.is_cancelled() => Err(Error::Cancelled),
            _ => Ok(()),
        }
    }
}

impl From<Arc<AtomicBool>> for Cancel {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}
