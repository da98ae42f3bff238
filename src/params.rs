//! Structures that kernels read: one Rust definition each, laid out as WGSL lays out the twin of the same name.
//!
//! `repr(C)` offsets are equated with encase's WGSL offsets when this file compiles, and with naga's names and offsets
//! of the shader text whenever a kernel that binds the structure is prepared, on a GPU or not, so none of the three can
//! drift.

use bytemuck::Pod;
use glam::{UVec2, UVec3, UVec4, Vec3, Vec4};

/// Invocations in a workgroup, and terms in one leaf of a reduction; `GROUP` in the prelude.
pub const GROUP: usize = 64;

/// Words of the guard field, hence the number of loops one program may hold.
pub const GUARDS: usize = 64;

/// Largest coordinate \[m\] and speed \[m/s\] that a step may start from or end with, 2⁴⁰: from there every product of
/// the next step is finite, so that it can be computed, too. A cloth that a step could not leave would be frozen for
/// good, so nothing beyond is let in.
pub(crate) const FARTHEST: f32 = 1_099_511_627_776.0;

/// Slots of the `sums` field; the constants of the same names in the prelude.
pub mod sums {
    /// x: largest strain.
    pub const STRAIN: u32 = 0;
    /// x: p·Ap.
    pub const CURVATURE: u32 = 1;
    /// x: r·z, y: r·r.
    pub const RESIDUAL: u32 = 2;
    /// x: r·z of the iteration before, y: r·r at the start of the solve.
    pub const PREVIOUS: u32 = 3;
    /// x: largest T/(m̄ l).
    pub const LOAD: u32 = 4;
    /// Number of slots.
    pub const COUNT: usize = 5;
}

/// Word of `faults` that says that a contact began or ended in this substep, so that the next is no second-order step;
/// the constant of the same name in the prelude.
pub const CONTACT_CHANGED: u32 = 1;

/// Word of `faults` that counts the frames that were taken back; the constant of the same name in the prelude.
pub const REJECTED_FRAMES: u32 = 2;

/// Largest strain of a substep before any was measured.
pub const UNMEASURED: f32 = 1e30;

/// Longer than any length that is compared with it \[m\].
pub const FAR: f32 = 3.0e38;

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
/// those of the shader text wherever a kernel that binds it is prepared ([`crate::reflect::resolve`]).
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

        impl $crate::params::Element for $name {
            const NAME: &'static str = stringify!($name);
            const MEMBERS: &'static [(&'static str, usize)] =
                &[$((stringify!($member), std::mem::offset_of!($name, $member))),+];
        }

        const _: () = {
            let members = <$name as $crate::params::Element>::MEMBERS;
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
    /// A vertex as renderers and kernels see it, 16 bytes.
    pub struct Vertex {
        /// Position \[m\].
        pub(crate) position: Vec3,
        /// Inverse mass \[1/kg\]; 0 for a pinned vertex.
        pub(crate) inverse_mass: f32,
    }
}

impl Vertex {
    /// Position \[m\].
    pub fn position(&self) -> [f32; 3] {
        self.position.to_array()
    }

    /// Inverse mass \[1/kg\]; 0 for a pinned vertex.
    pub fn inverse_mass(&self) -> f32 {
        self.inverse_mass
    }
}

element! {
    /// An edge or a spring between two vertices.
    pub struct Link {
        /// Vertex where it starts; in a [`crate::Mesh`] the smaller index.
        pub tail: u32,
        /// Vertex where it ends.
        pub head: u32,
        /// Rest length \[m\].
        pub rest: f32,
        /// Stiffness of a spring \[N/m\]; 0 for an inextensible edge.
        pub stiffness: f32,
    }
}

element! {
    /// A yarn: a range of edges, the head of each the tail of the next.
    pub struct YarnSpan {
        /// First edge.
        pub first: u32,
        /// Number of edges.
        pub count: u32,
        /// 1 if the last edge ends where the first starts.
        pub closed: u32,
        pub(crate) padding: u32,
    }
}

element! {
    /// A row of a line solve in memory.
    pub struct LineRow {
        /// Gradient of the constraint at the head.
        pub(crate) direction: Vec3,
        /// Diagonal of the matrix \[1/kg\].
        pub(crate) diagonal: f32,
        /// W times the direction at the tail, and the residual; then steps of the elimination and the solution.
        pub(crate) state: Vec4,
    }
}

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

element! {
    /// A hinge as a kernel reads it.
    pub struct HingeRow {
        /// Ends of the edge, and the corners opposite to it.
        pub(crate) vertices: UVec4,
        /// φ_0 = 2 tan(θ_0/2).
        pub(crate) rest: f32,
        /// \[N·m\].
        pub(crate) stiffness: f32,
        pub(crate) padding: UVec2,
    }
}

element! {
    /// Gradients of a hinge.
    pub struct HingeGradients {
        /// √k ∇φ at each corner \[√(N/m)\]; w of the first √k (φ − φ_0) \[√(N·m)\].
        pub(crate) corners: [Vec4; 4],
    }
}

element! {
    /// What touches a vertex.
    pub struct Contact {
        /// Unit normal of the surface.
        pub(crate) normal: Vec3,
        /// 1 + number of the solid, or 0.
        pub(crate) solid: u32,
        /// Reaction at which the contact withholds nothing \[N\].
        pub(crate) base: Vec3,
        /// Speed along the normal after the step \[m/s\].
        pub(crate) leaving: f32,
    }
}

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

element! {
    /// What the caller says about a frame; uploaded once per frame.
    pub struct Frame {
        /// Acceleration of gravity \[m/s²\].
        pub(crate) gravity: Vec3,
        /// Length of the frame \[s\].
        pub(crate) dt: f32,
        /// Largest strain the device accepts; slightly under the limit the user named.
        pub(crate) strain_limit: f32,
        /// Lower end of the stretch band σ_min.
        pub(crate) stretch_min: f32,
        /// Upper end of the stretch band σ_max.
        pub(crate) stretch_max: f32,
        /// Rate of velocity damping by still air \[1/s\].
        pub(crate) drag: f32,
        /// Unit quaternion that the cloth is turned by at the start of the frame.
        pub(crate) rotation: Vec4,
        /// What the cloth is then moved by \[m\].
        pub(crate) translation: Vec3,
        /// 1 if the cloth is turned and moved.
        pub(crate) relocated: u32,
        /// Fewest and most substeps of this frame; equal where the caller named the count.
        pub(crate) least_substeps: u32,
        /// See `least_substeps`; the recording has this many.
        pub(crate) most_substeps: u32,
        /// 1 if `commands` holds anything for this frame, 2 if impulses are among it.
        pub(crate) commanded: u32,
        /// 1 to remember the substep before (BDF2).
        pub(crate) second_order: u32,
        /// Largest strain accepted at the end of a substep that is not the last of the frame.
        pub(crate) middle_limit: f32,
        /// Mean mass of the free vertices \[kg\].
        pub(crate) mean_mass: f32,
        /// Whether `constraints` say anything.
        pub(crate) constrained: u32,
        /// Load that is expected before any was measured \[1/s²\].
        pub(crate) expected_load: f32,
        /// dt² over the load s that one substep may have \[s²\].
        pub(crate) load_scale: f32,
        /// What the load is multiplied by where loops were shortened: then substeps must be easier.
        pub(crate) load_margin: f32,
        /// Load to expect after a frame of one substep that missed, to be multiplied by the square of their number
        /// \[1/s²\]; 0 where misses change nothing.
        pub(crate) missed_load: f32,
        /// Part of the expected load that is left of it after a frame.
        pub(crate) memory: f32,
    }
}
impl Frame {
    /// Acceleration of gravity \[m/s²\].
    pub fn gravity(&self) -> [f32; 3] {
        self.gravity.to_array()
    }

    /// Length of the frame \[s\].
    pub fn dt(&self) -> f32 {
        self.dt
    }
}

element! {
    /// Time inside a frame, kept by the device.
    pub struct Clock {
        /// Length of a substep \[s\].
        pub(crate) h: f32,
        /// Number of the current substep, counted from 1.
        pub(crate) substep: u32,
        /// Substeps of this frame.
        pub(crate) substeps: u32,
        /// Largest T/(m̄ l) that the next frame should expect \[1/s²\]; times h² it is the load s.
        pub(crate) load: f32,
        /// Time by which a velocity moves a vertex in this substep \[s\]: h, or less with BDF2.
        pub(crate) span: f32,
        /// Part of the last substep's motion that is repeated: 0, or more with BDF2.
        pub(crate) recall: f32,
        /// Mean force over the frame that a pull of 1 kg·m in this substep means \[1/s²\].
        pub(crate) force: f32,
        /// Length of the substep before \[s\]; 0 where its motion must not be remembered.
        pub(crate) previous: f32,
    }
}
impl Clock {
    /// Length of a substep \[s\].
    pub fn h(&self) -> f32 {
        self.h
    }

    /// Number of the current substep, counted from 1.
    pub fn substep(&self) -> u32 {
        self.substep
    }

    /// Substeps of this frame.
    pub fn substeps(&self) -> u32 {
        self.substeps
    }
}

element! {
    /// What the device measured in a frame.
    pub struct Meters {
        /// Largest strain after the last measured iteration.
        pub(crate) strain: f32,
        /// Largest strain at the end of any substep of the frame.
        pub(crate) worst_strain: f32,
        /// Iterations of the solver (sweeps or outer projections), summed over the substeps.
        pub(crate) iterations: u32,
        /// Substeps that were committed.
        pub(crate) substeps: u32,
        /// Iterations of linear solves, summed over the substeps: those of the projection, those of elasticity.
        pub(crate) solves: UVec2,
        /// Substeps that ended over the limit.
        pub(crate) missed: u32,
        /// Linear solves that ended at their bound.
        pub(crate) exhausted: u32,
        /// Largest load s of an edge, by its mean tension over the frame.
        pub(crate) load: f32,
        /// Substeps that the frame was cut into.
        pub(crate) planned: u32,
        /// Smallest strain that was measured in the last substep.
        pub(crate) best: f32,
        /// Strain before the last collision pass; 0 where there is none.
        pub(crate) before_contact: f32,
        /// Substeps that the load asked for.
        pub(crate) wanted: u32,
        pub(crate) padding: u32,
    }
}
