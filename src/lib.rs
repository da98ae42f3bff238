//! Cloth that does not stretch, on any wgpu adapter or without one.
#![forbid(unsafe_code)]

pub mod coloring;
pub mod cpu;
pub mod error;
pub mod fields;
mod gpu;
pub mod io;
pub mod lockstep;
pub mod mesh;
pub mod params;
pub mod program;
#[cfg(feature = "reference")]
pub mod reference;
pub mod reflect;
pub mod report;
pub mod scene;
mod settings;
mod simulation;
pub mod solver;
pub mod stage;
pub mod substeps;
pub mod topology;

pub use error::{Error, Result};
pub use gpu::{Backend, Choice, Gpu, Pending};
pub use mesh::{EdgeKind, EdgeOverride, Face, Mass, Mesh, MeshDescriptor};
pub use report::{Report, Snapshot, Strain};
pub use scene::Scene;
pub use settings::Settings;
pub use simulation::{Cloth, FrameInput, Live, PinTarget, Relocation, vertex_attribute, vertex_layout};
pub use solver::{FastProjection, GaussSeidel, Jacobi, Method};
pub use substeps::Substeps;
pub use topology::Topology;
pub use wgpu;
