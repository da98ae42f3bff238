//! A solid as kernels read it.

use glam::{UVec3, Vec3, Vec4};

use crate::engine::layout::element;

element! {
    /// A solid as a kernel reads it.
    pub struct SolidRow {
        /// Where it is at the start of the frame \[m\].
        pub(crate) start_position: Vec3,
        /// Which shape it has.
        pub(crate) kind: u32,
        /// How it is turned then, a unit quaternion.
        pub(crate) start_rotation: Vec4,
        /// Where it is at the end of the frame \[m\].
        pub(crate) end_position: Vec3,
        /// First word of its grid in `distances`.
        pub(crate) grid: u32,
        /// How it is turned then.
        pub(crate) end_rotation: Vec4,
        /// Radius and half length, half sides, or the first node of the grid \[m\].
        pub(crate) size: Vec3,
        /// Distance that cloth keeps \[m\].
        pub(crate) thickness: f32,
        /// Coefficient of static friction.
        pub(crate) friction: f32,
        /// Coefficient of kinetic friction.
        pub(crate) sliding: f32,
        /// Part of the speed of an impact that is kept.
        pub(crate) restitution: f32,
        /// Distance of the nodes of the grid \[m\].
        pub(crate) spacing: f32,
        /// Nodes of the grid.
        pub(crate) counts: UVec3,
        pub(crate) padding: u32,
    }
}

impl SolidRow {
    pub(crate) const PLANE: u32 = 0;
    pub(crate) const SPHERE: u32 = 1;
    pub(crate) const CAPSULE: u32 = 2;
    pub(crate) const BLOCK: u32 = 3;
    pub(crate) const GRID: u32 = 4;
}
