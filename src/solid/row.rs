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

/// Makes [`Kind`] and the list of its values, so that none is forgotten there.
macro_rules! kinds {
    ($($kind:ident),*) => {
        /// Which shape a row has, by the number that WGSL knows under the same name in capitals.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub(crate) enum Kind {
            $($kind),*
        }

        impl Kind {
            /// All of them, in the order of their numbers.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$kind),*];
        }
    };
}

kinds!(Plane, Sphere, Capsule, Block, Grid);

impl Kind {
    /// That of a row; `None` of a number that nobody gave.
    pub(crate) fn of(row: &SolidRow) -> Option<Self> {
        Self::ALL.get(row.kind as usize).copied()
    }
}
