//! What the time of a step goes to.

use crate::engine::program::Phase;

/// Opening and closing frames, stages of the user's own, meters, normals.
pub const FRAME: Phase = Phase::new("frame");
/// Forces of springs, bending and wind.
pub const FORCES: Phase = Phase::new("forces");
/// Prediction and commit.
pub const STEPPING: Phase = Phase::new("stepping");
/// Implicit elasticity: along diagonals, or by a linear solve. What its loops leave is a softer force, so that a budget
/// shortens them first.
pub const ELASTIC: Phase = Phase::new("elastic").yielding();
/// Holds and contact.
pub const CONTACT: Phase = Phase::new("contact");
/// The projection.
pub const PROJECTION: Phase = Phase::new("projection");

/// All of them, for tables.
pub const ALL: [Phase; 6] = [FRAME, FORCES, STEPPING, ELASTIC, CONTACT, PROJECTION];
