//! What the time of a step goes to: the parts that tables show, and that profilers of a GPU find as debug groups.

use crate::engine::program::Phase;

/// Opening and closing frames, stages of the user's own, meters.
pub const FRAME: Phase = Phase::new("frame");
/// Forces of springs, bending and wind.
pub const FORCES: Phase = Phase::new("forces");
/// The unconstrained step.
pub const PREDICT: Phase = Phase::new("predict");
/// Implicit elasticity: along diagonals, or by a linear solve. What its loops leave is a softer force, so that a budget
/// shortens them first.
pub const ELASTIC: Phase = Phase::new("elastic").yielding();
/// Holds and contact.
pub const CONTACT: Phase = Phase::new("contact");
/// What parts of the cloth are near each other.
pub const NEARNESS: Phase = Phase::new("nearness");
/// The projection.
pub const PROJECTION: Phase = Phase::new("projection");

/// What makes the result of a substep public.
pub const COMMIT: Phase = Phase::new("commit");
/// Normals for drawing.
pub const NORMALS: Phase = Phase::new("normals");

/// All of them, for tables.
pub const ALL: [Phase; 9] = [FRAME, FORCES, PREDICT, ELASTIC, CONTACT, NEARNESS, PROJECTION, COMMIT, NORMALS];
