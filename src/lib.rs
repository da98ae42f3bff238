//! Cloth that does not stretch: strain-limited cloth on any wgpu adapter, or without one.
//!
//! Most fabric does not visibly stretch; most real-time cloth stretches 10 % and hides it. This crate holds a limit
//! that the user names (1 %, 0.1 %, less) and reports the strain that was reached, recomputed on the host.
//!
//! ```
//! use taut::{Cloth, FrameInput, scene};
//!
//! let mut scene = scene::curtain(12)?;
//! scene.settings.strain_limit = 0.01;
//! let mut cloth = Cloth::on_cpu(scene)?;
//! for _ in 0..10 {
//!     cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
//! }
//! let snapshot = cloth.snapshot()?;
//! assert_eq!(snapshot.report.converged, Some(true));
//! # Ok::<(), taut::Error>(())
//! ```
//!
//! # The tour
//!
//! A [`Mesh`] (validated on construction) and its [`Topology`] fill the arrays of the [table of
//! fields](engine::fields). A step is a list of [stages](stage); a [`solver`] is the one that makes the predicted
//! motion inextensible. They *record* a [`program`](engine::program): dispatches and bounded loops. [`engine::cpu`]
//! runs it by calling the kernels' Rust bodies; on a GPU the same list is encoded into one compute pass. So the order
//! of work exists once; only a kernel's body exists twice, in `shaders/x.wgsl` and in the Rust file of the same stem,
//! and [`engine::lockstep`] compares the two after every single dispatch. Names, slots and access of buffers are read
//! from the WGSL by [`engine::reflect`].
//!
//! One substep, in the notation of Goldenthal et al. 2007, *Efficient Simulation of Inextensible Cloth*:
//!
//! | | what | where |
//! |---|---|---|
//! | 1 | forces on x | [`stage::springs`], [`stage::wind`], and stages of your own |
//! | 2 | v* = v + h W f, u = h v* | [`stage::integrate`], `predict` |
//! | 2a | implicit springs, where explicit ones would need many substeps | [`solver::diagonals`], [`stage::elastic`] |
//! | 2b | areas of triangles, where they are limited | [`stage::area`] |
//! | 3 | u until every edge is within the limit | [`solver`], measured by [`stage::strain`] |
//! | 4 | is everything finite? then x += u, v = u/h | [`stage::strain`], then `commit` of [`stage::integrate`] |
//!
//! and once per frame the load meter ([`stage::load`]) and the normals for drawing ([`stage::normals`]). How many
//! substeps a frame gets says [`substeps`], why yarns are what one solves for says [`solver::yarn_sweep`].
//!
//! Where an equation of a paper is:
//!
//! | equation | place |
//! |---|---|
//! | Goldenthal et al. 2007, eq. (1): C and ∇C of an edge, its band | [`stage`], `edge` |
//! | eqs. (5)–(7): A μ = C, A = J W Jᵀ, u −= W Jᵀ μ | [`solver::fast_projection`] |
//! | the same along one yarn, tridiagonal | [`solver::line_solve`], [`solver::yarn_sweep`] |
//! | Weinstein et al. 2006: post-stabilisation of velocities | [`solver::tangent`] |
//! | section 4.2: the momentum balance F as a residual | [`solver::warm_start`] |
//! | Algorithm 1 | `cloth::stages`, [`stage::integrate`]; alone, around foreign code: [`Filter`] |
//! | section 4.1 (implicit constraint direction) and the appendix (SHAKE), in f64 | `reference` |
//! | section 5: collisions after the projection, and in turn | [`stage::contact`] |
//! | Baraff & Witkin 1998, eq. 13: S, and W = S/m | [`stage`], `freedom` |
//! | eq. 14: velocities that constraints ask for | [`stage::hold`] |
//! | eqs. 15–16: the implicit step | [`stage::elastic`] |
//! | section 5.3: modified conjugate gradients | [`stage::elastic`], [`stage::conjugate_gradient`] |
//! | section 5.4: constraint forces | [`stage::elastic`], `bear_elastic` |
//! | Müller et al. 2007, Provot 1995: projection of single edges | [`solver::gauss_seidel`], [`solver::jacobi`] |
//! | Tournier et al. 2015, Macklin et al. 2016, eq. (18): compliance, ropes, springs with ends | [`stage::law`] |
//! | Provot 1995, Bridson et al. 2003: the rate of strain | [`stage::stretch_rate`] |
//! | Bergou et al. 2006, Grinspun et al. 2003: bending | [`stage::bending`], [`mesh::bending`] |
//!
//! # In a renderer
//!
//! [`Gpu::new`] takes handles of the renderer's device and queue, [`Cloth::on_gpu`] makes a cloth, and
//! [`Cloth::encode_step`] records a frame into the renderer's encoder. [`Cloth::position_buffer`],
//! [`Cloth::normal_buffer`] and [`Cloth::index_buffer`] are drawn as they are. Nothing is submitted, polled or waited
//! for unless a method says so. The README has the example.
//!
//! Where a method waits for the device, its name with `_async` is the same as a future ([`Cloth::step`],
//! [`Cloth::step_async`]). In a browser the `_async` forms are the ones there are.
//!
//! # What is promised
//!
//! * [`Report::converged`] is `Some(true)` only where the strain of the positions that were read back, recomputed in
//!   f64, is within the limit; `None` where nothing was read back.
//! * Values that are not finite never reach the public buffers: such a substep is taken back and reported.
//! * The same input gives the same bits on the same adapter and build, and on the CPU for any number of threads.
//!   Different adapters, and CPU and GPU, agree within rounding only.
//! * Bad input gives a typed [`Error`] that names the culprit; no call panics on it.
//! * Versions: wgpu is re-exported and part of the interface, and so is bytemuck's `Pod`, for fields of a user's own
//!   ([`engine::layout::Element`]). No other crate's types are, but in `reference`, the judge of the tests, which
//!   speaks glam and faer and promises nothing. Structures of settings grow; write `..Default::default()`.
//!
//! Not promised: convergence to any limit for pins that cannot be satisfied, real time on software adapters, equality
//! after changing a budget that ran out. Cloth collides with itself where [`Settings::self_collision`] says so, and
//! then does not cross, but by pins that are driven through it, which are counted; two [`Cloth`]s do not see each
//! other. [`mesh::surface`] tells where cloth passes through itself.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod cloth;
pub mod engine;
pub mod error;
pub mod io;
mod lanes;
pub mod mesh;
#[cfg(feature = "reference")]
pub mod reference;
#[cfg(feature = "render")]
pub mod render;
pub mod scene;
pub mod solid;
pub mod solver;
pub mod stage;
#[cfg(all(feature = "validate", not(target_arch = "wasm32")))]
pub mod validate;
mod vector;

pub use cloth::filter::{Filter, FilterSettings, Layout};
pub use cloth::hold::{Attachment, Hold, Selection};
pub use cloth::memory::MemoryEstimate;
pub use cloth::report::{LoadedEdge, Report, Snapshot, Strain, ThreadStrain};
pub use cloth::scene::Scene;
pub use cloth::settings::Settings;
pub use cloth::substeps::Substeps;
pub use cloth::texture::{Tangent, planar_uvs, tangents};
pub use cloth::{Cloth, FrameCost, FrameInput, PinTarget, vertex_attribute, vertex_layout};
pub use cloth::{report, substeps, texture};
pub use engine::cancel::Cancel;
pub use engine::gpu::{Backend, Choice, Gpu, Pending};
pub use error::{Error, Result};
pub use mesh::topology::Topology;
pub use mesh::{EdgeKind, EdgeOverride, Face, Mass, Mesh, MeshDescriptor, MeshQuality, Swatch, Weave};
pub use solid::{Pose, Solid, SolidShape};
pub use solver::{
    Acceleration, Auto, FastProjection, GaussSeidel, Jacobi, Method, Preconditioner, ProjectiveDynamics, YarnSweep,
};
pub use stage::elastic::Elasticity;
pub use stage::integrate::Stepping;
pub use stage::self_collision::{SelfCollision, SelfReport, Tangles};
pub use stage::wind::Wind;
pub use wgpu;

/// The README's example is compiled with the other documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// And that of the page about embedding.
#[cfg(doctest)]
#[doc = include_str!("../docs/embedding.md")]
struct Embedding;
