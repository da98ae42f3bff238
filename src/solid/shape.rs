//! The shapes of solids, and what is true of each.

use std::sync::Arc;

use glam::Vec3;

use super::grid::Grid;
use super::row::{Kind, SolidRow};
use crate::error::Result;

/// The form of a solid, in its own coordinates.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SolidShape {
    /// Everything below y = 0.
    Plane,
    /// A ball about the origin.
    Sphere {
        /// m.
        radius: f32,
    },
    /// A cylinder about the y axis with half balls as ends.
    Capsule {
        /// m.
        radius: f32,
        /// Half the distance of the centers of its ends, m.
        half_length: f32,
    },
    /// A box about the origin.
    Box {
        /// Half its sides, m.
        half: [f32; 3],
    },
    /// A closed mesh, baked.
    Grid(Arc<Grid>),
}

/// Takes a field, its value, whether it is in its range, and that range in words.
pub(super) type Check<'a> = &'a dyn Fn(&'static str, f32, bool, &'static str) -> Result<()>;

impl SolidShape {
    /// Checks its ranges.
    pub(super) fn check(&self, check: Check<'_>) -> Result<()> {
        let length = |field: &'static str, value: f32| {
            check(field, value, value > 0.0 && value <= 1e6, "above 0 and at most 1e6 m")
        };
        match self {
            Self::Plane | Self::Grid(_) => Ok(()),
            Self::Sphere { radius } => length("solids.radius", *radius),
            Self::Capsule { radius, half_length } => {
                length("solids.radius", *radius)?;
                check("solids.half_length", *half_length, (0.0..=1e6).contains(half_length), "in [0, 1e6] m")
            }
            Self::Box { half } => half.iter().try_for_each(|half| length("solids.half", *half)),
        }
    }

    /// Says in a row which shape it is, and of what size.
    pub(super) fn fill(&self, row: &mut SolidRow) {
        let (kind, size) = match self {
            Self::Plane => (Kind::Plane, Vec3::ZERO),
            Self::Sphere { radius } => (Kind::Sphere, Vec3::splat(*radius)),
            Self::Capsule { radius, half_length } => (Kind::Capsule, Vec3::new(*radius, *half_length, 0.0)),
            Self::Box { half } => (Kind::Block, (*half).into()),
            Self::Grid(baked) => {
                (row.spacing, row.counts) = (baked.spacing(), baked.counts().into());
                (Kind::Grid, baked.origin().into())
            }
        };
        (row.kind, row.size) = (kind as u32, size);
    }

    /// Whether a mirror maps it to itself: which of its axes are in the mirror, and whether its origin is.
    pub(crate) fn mirrored(&self, [x, y, z]: [bool; 3], centered: bool) -> bool {
        match self {
            Self::Plane => y,
            Self::Sphere { .. } => centered,
            Self::Capsule { .. } => centered && (y || x && z),
            // Two of its axes are in the mirror, so the third is across.
            Self::Box { .. } => centered && [x, y, z].into_iter().filter(|along| *along).count() >= 2,
            Self::Grid(_) => false,
        }
    }
}
