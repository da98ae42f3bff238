//! The fields that stages and solvers share, and the structures in them: state, mesh, what moves, what is reported.
//! What one stage or solver alone needs is declared beside its kernels.

use glam::{UVec2, Vec3, Vec4};

use crate::engine::fields::{Domain, Drawn, Spec};
use crate::engine::layout::{GUARDS, element};
use crate::engine::source::{Constant, Source};
use crate::mesh::yarns::YarnRow;
use crate::mesh::{FARTHEST, Link};
use crate::stage::magnitude::{gale, grain, step, tension, terms, weight};

/// Structures and uniforms that kernels of cloth share.
pub static SOURCE: Source = Source::new("fields", include_str!("../../shaders/fields.wgsl")).constants(&[
    ("SUMS", Constant::U32(sums::COUNT as u32)),
    ("STRAIN", Constant::U32(sums::STRAIN)),
    ("CURVATURE", Constant::U32(sums::CURVATURE)),
    ("RESIDUAL", Constant::U32(sums::RESIDUAL)),
    ("PREVIOUS", Constant::U32(sums::PREVIOUS)),
    ("CONTACT_CHANGED", Constant::U32(CONTACT_CHANGED)),
    ("REJECTED_FRAMES", Constant::U32(REJECTED_FRAMES)),
    ("FARTHEST", Constant::F32(FARTHEST)),
    ("UNMEASURED", Constant::F32(UNMEASURED)),
    ("FAR", Constant::F32(FAR)),
]);

/// Slots of the `sums` field; the constants of the same names in WGSL.
pub mod sums {
    /// x: largest strain.
    pub const STRAIN: u32 = 0;
    /// x: p·Ap.
    pub const CURVATURE: u32 = 1;
    /// x: r·z, y: r·r.
    pub const RESIDUAL: u32 = 2;
    /// x: r·z of the iteration before, y: r·r at the start of the solve.
    pub const PREVIOUS: u32 = 3;
    /// Number of slots.
    pub const COUNT: usize = 4;
}

/// Word of `faults` that says that a contact began or ended in this substep, so that the next is no second-order step.
pub const CONTACT_CHANGED: u32 = 1;

/// Word of `faults` that counts the frames that were taken back.
pub const REJECTED_FRAMES: u32 = 2;

/// Largest strain of a substep before any was measured.
pub const UNMEASURED: f32 = 1e30;

/// Longer than any length that is compared with it \[m\].
pub const FAR: f32 = 3.0e38;

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
    /// Its position in four words, the last 0.
    #[inline(always)]
    pub(crate) fn place(&self) -> Vec4 {
        Vec4::from_array(bytemuck::cast(*self)).with_w(0.0)
    }

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
        /// Smallest limit of any edge, their own ones included: at most `strain_limit`.
        pub(crate) least_limit: f32,
        pub(crate) padding: u32,
        pub(crate) more_padding: UVec2,
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

/// What many kernels share.
pub const SHARED: &[Spec] = &[
    Spec::of::<Vertex>("vertices", Domain::VERTICES, "committed positions [m] and inverse masses [1/kg]")
        .state()
        .drawn(Drawn::Vertices),
    Spec::of::<[f32; 4]>("velocities", Domain::VERTICES, "committed velocities [m/s]")
        .state()
        .floor(|f| Ok(grain(f)? / step(f)?))
        .resident(),
    Spec::of::<[f32; 4]>(
        "previous_velocities",
        Domain::VERTICES,
        "velocities one substep earlier [m/s], w: 1 if it touched a solid then; for BDF2",
    )
    .state()
    .floor(|f| Ok(grain(f)? / step(f)?)),
    Spec::of::<[f32; 4]>("displacements", Domain::VERTICES, "motion since the start of the substep, x_j − x [m]")
        .state()
        .floor(grain),
    Spec::of::<[f32; 4]>("best_displacements", Domain::VERTICES, "displacements with the smallest strain so far [m]"),
    Spec::of::<[f32; 4]>("starts", Domain::VERTICES, "positions at the start of the substep [m]").state(),
    Spec::of::<[f32; 4]>("remainders", Domain::VERTICES, "what rounding kept of the last substep's motion [m]"),
    Spec::of::<Link>("edges", Domain::EDGES, "inextensible edges").exact(),
    Spec::of::<f32>(
        "edge_limits",
        Domain::LIMITS,
        "strain that an edge may have; 0: as all, less than 0: no more than all",
    )
    .exact(),
    Spec::of::<Link>("springs", Domain::SPRINGS, "shear springs").exact(),
    Spec::of::<YarnRow>("yarns", Domain::YARNS, "ranges of edges, each a yarn").exact(),
    Spec::of::<u32>("edge_incidence", Domain::EDGE_INCIDENCE, "CSR, entry = edge << 1 | is_head").exact(),
    Spec::of::<u32>("spring_incidence", Domain::SPRING_INCIDENCE, "CSR, entry = spring << 1 | is_head, other end")
        .exact(),
    Spec::of::<u32>("colored_edges", Domain::EDGES, "edge indices, each color a contiguous range").exact(),
    Spec::of::<u32>("triangles", Domain::TRIANGLE_CORNERS, "corners of the drawn triangles")
        .exact()
        .drawn(Drawn::Indices),
    Spec::of::<u32>("triangle_incidence", Domain::TRIANGLE_INCIDENCE, "CSR, entry = triangle").exact(),
    Spec::of::<[f32; 4]>("forces", Domain::VERTICES, "forces other than gravity and drag [N]")
        .floor(|f| Ok(tension(f)?.max(gale(f)?))),
    Spec::of::<[f32; 4]>(
        "commands",
        Domain::VERTICES,
        "w 1: position of a pinned or held vertex at the end of the frame [m], w 2: impulse on a free one [N·s]",
    ),
    Spec::of::<[f32; 4]>("reactions", Domain::VERTICES, "mean force on pins, holds and contacts this frame [N]")
        .floor(weight)
        .state()
        .resident(),
    Spec::of::<f32>("tensions", Domain::EDGES, "mean tension of this frame, pulling positive [N]")
        .floor(weight)
        .state(),
    Spec::of::<[f32; 4]>("normals", Domain::VERTICES, "unit normals for drawing")
        .floor(|_| Ok(1.0))
        .state()
        .drawn(Drawn::Vertices),
    Spec::of::<[f32; 2]>("partials", Domain::Groups, "one leaf of a reduction per workgroup").floor(terms),
    Spec::of::<[f32; 2]>(
        "strain_partials",
        Domain::Groups,
        "x: largest strain or load of a workgroup's edges, y: 1 if a vertex is not finite",
    )
    .floor(|_| Ok(1.0)),
    Spec::of::<[f32; 4]>("sums", Domain::Fixed(sums::COUNT), "results of reductions").floor(terms),
    Spec::of::<u32>("guards", Domain::Fixed(GUARDS), "1 while the loop that owns the word runs").exact().resident(),
    Spec::of::<Frame>("frame", Domain::Fixed(1), "what the caller said about this frame").input(),
    Spec::of::<Clock>("clock", Domain::Fixed(1), "time inside the frame, and the load that is expected").state(),
    Spec::of::<Meters>("meters", Domain::Fixed(1), "what was reached").state().resident(),
    Spec::of::<u32>(
        "faults",
        Domain::Fixed(4),
        "word 0: 1 if a value was not finite, word 1: 1 if a contact began or ended, word 2: frames taken back",
    )
    .exact()
    .state(),
];
