//! Cells of a grid and their buckets.

use glam::{IVec3, Vec3};

use crate::engine::layout::element;
use crate::engine::source::Source;
use crate::stage::self_collision::closest::{self, Clearance};

/// The WGSL twin.
pub(super) static SOURCE: Source =
    Source::new("cells", include_str!("../../../shaders/cells.wgsl")).shares(&[&closest::SOURCE]);

element! {
    /// A triangle or an edge.
    pub(crate) struct Extent {
        /// Its middle \[m\].
        pub(crate) center: Vec3,
        /// Largest distance of a vertex from it \[m\].
        pub(crate) radius: f32,
        /// Half of its box \[m\].
        pub(crate) half: Vec3,
        pub(crate) padding: f32,
    }
}

element! {
    /// A triangle or an edge in its bucket.
    pub(crate) struct Sorted {
        /// Number of the triangle, or of the edge after all triangles.
        pub(crate) item: u32,
        /// Its cell, packed.
        pub(crate) cell: u32,
    }
}

/// Cell of a position.
pub(super) fn cell_of(position: Vec3, inverse: f32) -> IVec3 {
    (position * inverse).floor().as_ivec3()
}

/// A cell in one word. Cells that share it are a thousand apart, so that no two of 27 neighbors do.
pub(super) fn packed(cell: IVec3) -> u32 {
    let [x, y, z] = cell.to_array().map(|x| x as u32 & 0x3ff);
    x | y << 10 | z << 20
}

/// Bucket of a cell: those of triangles come first.
pub(super) fn bucket(clearance: &Clearance, cell: u32, edge: bool) -> usize {
    let mixed = cell.wrapping_mul(0x9e37_79b1);
    let hashed = mixed ^ (mixed >> 15);
    let bucket = if edge {
        clearance.triangle_buckets + (hashed & (clearance.edge_buckets - 1))
    } else {
        hashed & (clearance.triangle_buckets - 1)
    };
    bucket as usize
}

/// One of the 27 cells around a cell.
pub(super) fn neighbor(cell: IVec3, k: i32) -> IVec3 {
    cell.wrapping_add(IVec3::new(k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1))
}
