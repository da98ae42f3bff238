//! The one place where a scene file meets the mesh importer.

use std::path::Path;

#[cfg(not(feature = "import"))]
use crate::error::Error;
use crate::error::Result;
#[cfg(feature = "import")]
use crate::io::import;
use crate::mesh::MeshDescriptor;

/// Where the warp of a mesh file's triangles may run, as files spell it.
#[cfg(feature = "import")]
pub(super) const WARPS: &[&str] = &import::Warp::NAMES;
/// Without the importer nothing is woven.
#[cfg(not(feature = "import"))]
pub(super) const WARPS: &[&str] = &["auto"];

/// How a mesh file is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Options {
    /// Whether triangles are joined to quads where they came from quads.
    pub(super) pair_triangles: bool,
    /// Where the warp of triangles runs: one of [`WARPS`].
    pub(super) warp: &'static str,
    /// Metres per unit of the file.
    pub(super) scale: f32,
}

/// The mesh of a file that is known to be inside the scene's folder.
///
/// # Errors
/// Whatever the importer finds wrong with the file.
#[cfg(feature = "import")]
pub(super) fn load_mesh(path: &Path, options: Options) -> Result<MeshDescriptor> {
    let Options { pair_triangles, warp, scale } = options;
    let warp = import::Warp::named(warp).unwrap_or_default();
    let options = import::Options { pair_triangles, warp, scale, ..Default::default() };
    Ok(import::read(path, &options)?.descriptor)
}

/// Without the importer there are no mesh files.
///
/// # Errors
/// Always.
#[cfg(not(feature = "import"))]
pub(super) fn load_mesh(path: &Path, _options: Options) -> Result<MeshDescriptor> {
    let reason = "this build cannot read mesh files".to_owned();
    Err(Error::Malformed { path: path.to_owned(), reason })
}
