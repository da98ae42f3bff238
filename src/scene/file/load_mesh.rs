//! The one place where a scene file meets the mesh importer.

use std::path::Path;

#[cfg(not(feature = "import"))]
use crate::error::Error;
use crate::error::Result;
#[cfg(feature = "import")]
use crate::io::import::{self, ImportReport, RenderMesh};
use crate::mesh::MeshDescriptor;

/// Where the warp of a mesh file's triangles may run, as files spell it.
#[cfg(feature = "import")]
pub(super) const WARPS: &[&str] = &import::Warp::NAMES;
/// Without the importer nothing is woven.
#[cfg(not(feature = "import"))]
pub(super) const WARPS: &[&str] = &["auto"];

/// Which axis of a mesh file may point up.
#[cfg(feature = "import")]
pub(super) const UPS: &[&str] = &import::Up::NAMES;
/// Without the importer nothing is turned.
#[cfg(not(feature = "import"))]
pub(super) const UPS: &[&str] = &["y"];

/// How a mesh file is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Options {
    /// Whether triangles are joined to quads where they came from quads.
    pub(super) pair_triangles: bool,
    /// Where the warp of triangles runs: one of [`WARPS`].
    pub(super) warp: &'static str,
    /// Metres per unit of the file.
    pub(super) scale: f32,
    /// The axis that points up: one of [`UPS`].
    pub(super) up: &'static str,
}

/// A mesh that was read.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) descriptor: MeshDescriptor,
    /// Of each vertex, if the file has any.
    pub(super) colors: Option<Vec<[f32; 4]>>,
    #[cfg(feature = "import")]
    pub(super) report: ImportReport,
    #[cfg(feature = "import")]
    pub(super) render: RenderMesh,
}

/// The mesh of a file that is known to be inside the scene's folder.
///
/// # Errors
/// Whatever the importer finds wrong with the file.
#[cfg(feature = "import")]
pub(super) fn load_mesh(path: &Path, options: Options) -> Result<Loaded> {
    let Options { pair_triangles, warp, scale, up } = options;
    let (warp, up) = (import::Warp::named(warp).unwrap_or_default(), import::Up::named(up).unwrap_or_default());
    let options = import::Options { pair_triangles, warp, scale, up, ..Default::default() };
    let import::Imported { descriptor, colors, report, render, .. } = import::read(path, &options)?;
    Ok(Loaded { descriptor, colors, report, render })
}

/// Without the importer there are no mesh files.
///
/// # Errors
/// Always.
#[cfg(not(feature = "import"))]
pub(super) fn load_mesh(path: &Path, _options: Options) -> Result<Loaded> {
    let reason = "this build cannot read mesh files".to_owned();
    Err(Error::Malformed { path: path.to_owned(), reason })
}
