//! Files other programs understand.
//!
//! Every file is written under a temporary name and appears under its own when it is complete.

pub mod atomic;
pub mod obj;
pub mod pc2;

use crate::error::{Error, Result};

/// Other programs choke on NaN, or worse, draw it.
pub(crate) fn check_finite(positions: &[[f32; 3]]) -> Result<()> {
    let finite = |position: &[f32; 3]| position.iter().all(|coordinate| coordinate.is_finite());
    match positions.iter().position(|position| !finite(position)) {
        Some(index) => Err(Error::NotFinite { field: "positions", index }),
        None => Ok(()),
    }
}
