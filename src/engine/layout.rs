//! Structures that kernels bind: one Rust definition each, laid out as WGSL lays out the twin of the same name.
//!
//! `repr(C)` offsets are equated with encase's WGSL offsets when a structure compiles, and with naga's names and
//! offsets of the shader text whenever a kernel that binds it is prepared, on a GPU or not, so none of the three can
//! drift. Each structure is declared beside the kernels or the data that it belongs to.

use bytemuck::Pod;
use glam::UVec4;

/// Invocations in a workgroup, and terms in one leaf of a reduction; `GROUP` in the prelude.
pub const GROUP: usize = 64;

/// Words of the guard field, hence the number of loops one program may hold.
pub const GUARDS: usize = 64;

/// A type that can be an element of a field: its WGSL name and the offsets of its members.
pub trait Element: Pod {
    /// Name of the type in WGSL.
    const NAME: &'static str;
    /// Member names and byte offsets, empty for types built into WGSL.
    const MEMBERS: &'static [(&'static str, usize)] = &[];
}

impl Element for f32 {
    const NAME: &'static str = "f32";
}
impl Element for u32 {
    const NAME: &'static str = "u32";
}
impl Element for [f32; 2] {
    const NAME: &'static str = "vec2<f32>";
}
impl Element for [f32; 4] {
    const NAME: &'static str = "vec4<f32>";
}
impl Element for [u32; 4] {
    const NAME: &'static str = "vec4<u32>";
}

/// Declares a structure that kernels bind. Its offsets in Rust are equated with encase's WGSL offsets here, and with
/// those of the shader text wherever a kernel that binds it is prepared ([`crate::engine::reflect::resolve`]).
macro_rules! element {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$about:meta])* $access:vis $member:ident: $type:ty),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable, encase::ShaderType)]
        $visibility struct $name {
            $($(#[$about])* $access $member: $type),+
        }

        impl $crate::engine::layout::Element for $name {
            const NAME: &'static str = stringify!($name);
            const MEMBERS: &'static [(&'static str, usize)] =
                &[$((stringify!($member), std::mem::offset_of!($name, $member))),+];
        }

        const _: () = {
            let members = <$name as $crate::engine::layout::Element>::MEMBERS;
            let mut index = 0;
            while index < members.len() {
                assert!(members[index].1 as u64 == <$name as encase::ShaderType>::METADATA.offset(index), "a member is elsewhere in WGSL");
                index += 1;
            }
            assert!(size_of::<$name>() as u64 == <$name as encase::ShaderType>::METADATA.min_size().get(), "the structure is longer or shorter in WGSL");
        };
    };
}
pub(crate) use element;

element! {
    /// What one dispatch works on; the `range` uniform of the prelude.
    pub struct Range {
        /// First element.
        pub(crate) first: u32,
        /// One past the last element.
        pub(crate) end: u32,
        /// Guard word of the loop this dispatch belongs to.
        pub(crate) guard: u32,
        pub(crate) padding: u32,
        /// Free arguments of the kernel.
        pub(crate) arguments: UVec4,
    }
}
