//! What the caller says about a frame.

#[cfg(doc)]
use crate::Cloth;

/// What the caller says about one frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameInput<'a> {
    /// Length of the frame \[s\]; 0 does nothing.
    pub dt: f32,
    /// Where pinned and held vertices shall be at the end of the frame, the latter as far as they are held; substeps go
    /// there in equal parts. Those that are not named stay where they are.
    pub pin_targets: &'a [PinTarget],
}

/// Where a pinned or held vertex shall be at the end of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PinTarget {
    /// The vertex: one of the mesh's pins, or held by [`Cloth::hold`].
    pub vertex: u32,
    /// Its position \[m\].
    pub position: [f32; 3],
}
