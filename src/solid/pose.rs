//! [`Pose`]: where something is, and how it is turned.

/// A rigid motion, or a place: what [`crate::Cloth::teleport`] applies, where a solid or a frame of reference is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Rotation about the origin as a unit quaternion x, y, z, w.
    pub rotation: [f32; 4],
    /// Translation after the rotation \[m\].
    pub translation: [f32; 3],
}

impl Default for Pose {
    fn default() -> Self {
        Self { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0; 3] }
    }
}
