//! Meshes from files: OBJ, PLY and GLB.
//!
//! ```no_run
//! use taut::io::import::{self, Options};
//! use taut::{Mesh, Scene};
//!
//! let imported = import::read("shirt.glb".as_ref(), &Options { pair_triangles: true, ..Default::default() })?;
//! println!("{} vertices were welded", imported.report.welded);
//! let mut descriptor = imported.descriptor;
//! descriptor.pins = descriptor.groups.get("collar").cloned().unwrap_or_default();
//! let scene = Scene::new("shirt", Mesh::new(descriptor.clone())?, descriptor.positions);
//! # Ok::<(), taut::Error>(())
//! ```
//!
//! # Vertices and particles
//!
//! What is drawn and what is simulated are not the same vertices. A file splits a vertex where texture coordinates or
//! normals jump; cloth that is split there falls apart. So vertices in the same place are **welded** to one particle,
//! and [`RenderMesh::particle_of`] says for each vertex that is drawn which particle moves it. A particle is where the
//! first of its vertices was, and particles are numbered in the order of those. [`Imported::particles`] translates the
//! vertices as the file numbers them.
//!
//! # Triangles
//!
//! Cloth that drapes has two directions of thread ([`crate::mesh::weave`]). Triangles have none of their own, so
//! [`Options::warp`] says where theirs run: by default along the texture, or as most of their sides do.
//!
//! # What happens to odd input
//!
//! | Input | Outcome |
//! |---|---|
//! | a face without area, or with less than three different vertices | dropped, [`ImportReport::degenerate`] |
//! | a quad with two neighboring corners in one place | a triangle, [`ImportReport::collapsed`] |
//! | a polygon of more than four corners | cut into triangles around its first, [`ImportReport::split`] |
//! | two faces with the same vertices | the later one dropped, [`ImportReport::duplicate`] |
//! | an edge of more than two faces | kept, [`ImportReport::non_manifold`] |
//! | a line without length | dropped, [`ImportReport::dropped_lines`] |
//! | a vertex without face and line | dropped, [`ImportReport::loose`] |
//! | normals, materials, skins, animations, other files that are named | ignored |
//! | anything that the format forbids | [`Error::Import`] with line or byte |
//! | numbers that are not finite, indices of missing vertices | [`Error::Import`] with line or byte |
//! | more bytes, vertices or faces than [`Options`] allow | [`Error::Import`] |
//!
//! Files are not trusted: nothing is allocated by a count that the bytes of the file do not bear out, no other file is
//! opened, nothing recurses. What comes out is accepted by [`Mesh::new`].
//!
//! # Formats
//!
//! OBJ: `v` with optional color, `vt`, `f` and `l` with positive or negative indices, `g`, `o`; other statements are
//! ignored. Groups and objects become groups of vertices.
//!
//! PLY: ASCII and both binary encodings. Elements `vertex` (x, y, z; optionally s, t or u, v; red, green, blue, alpha),
//! `face` (a list of `vertex_indices` or `vertex_index`; optionally a list `texcoord`) and `edge` (vertex1, vertex2).
//!
//! GLB: all meshes of the default scene where its nodes place them, in their binding pose; POSITION, TEXCOORD_0,
//! COLOR_0 in the BIN chunk, without sparse accessors and compression. Nodes (or, unnamed, their meshes) become groups.
//! The JSON has at most 4 MiB. A `.gltf` lives in several files and is refused.

mod build;
mod glb;
mod obj;
mod pair;
mod ply;
mod raw;
mod weld;

use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use crate::error::Place;
use crate::error::{Error, Result};
#[cfg(doc)]
use crate::mesh::Mesh;
use crate::mesh::{Face, MeshDescriptor, Weave};

/// The formats that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Wavefront OBJ, text.
    Obj,
    /// Polygon file format, ASCII or binary.
    Ply,
    /// Binary glTF 2.0 in one file.
    Glb,
}

impl Format {
    /// The format that the extension of a file names.
    ///
    /// # Errors
    ///
    /// [`Error::Import`] saying which extensions there are.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("obj") => Ok(Self::Obj),
            Some("ply") => Ok(Self::Ply),
            Some("glb") => Ok(Self::Glb),
            Some("gltf") => {
                Err(fault(Place::File, "a .gltf names other files, which are not opened; export it as one .glb"))
            }
            _ => Err(fault(Place::File, "its name must end with .obj, .ply or .glb")),
        }
        .map_err(|error| error.in_file(path))
    }
}

/// How a mesh is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Largest size of a file, bytes; 4 GiB at most, whatever is asked for.
    pub most_bytes: u64,
    /// Most vertices in a file; also most texture coordinates.
    pub most_vertices: usize,
    /// Most faces and lines, after polygons were cut into triangles.
    pub most_faces: usize,
    /// Distance below which vertices become one particle, as a part of the diagonal of the box around all vertices,
    /// which does not depend on unit and tessellation: 0 for those in exactly the same place, else in 1e-7 … 0.01.
    /// A vertex goes to the nearest particle within the distance; particles are farther than that from each other.
    /// `None` makes every vertex a particle of its own.
    pub weld: Option<f32>,
    /// Whether pairs of triangles become quads where that makes good ones: near-coplanar, convex, and the more
    /// rectangular first. Most triangles are quads that an exporter cut in two; those that are left are woven.
    pub pair_triangles: bool,
    /// Where the warp of triangles runs.
    pub warp: Warp,
    /// Factor on all coordinates: metres per unit of the file, in [`SCALES`].
    pub scale: f32,
    /// Which axis of the file points up. What is read has +Y up.
    pub up: Up,
}

/// What [`Options::scale`] may be.
pub const SCALES: std::ops::RangeInclusive<f32> = 1e-6..=1e6;

/// The axis of a file that points up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Up {
    /// +Y, as here.
    #[default]
    Y,
    /// +Z: (x, y, z) becomes (x, z, −y).
    Z,
}

impl Up {
    /// Names as program and scene files spell them.
    pub const NAMES: [&'static str; 2] = ["y", "z"];

    /// The axis of a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "y" => Some(Self::Y),
            "z" => Some(Self::Z),
            _ => None,
        }
    }

    pub(super) fn turned(self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        match self {
            Self::Y => [x, y, z],
            // A difference has no negative zero.
            Self::Z => [x, z, 0.0 - y],
        }
    }
}

/// Where the warp of triangles comes from: [`MeshDescriptor::weave`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Warp {
    /// `Uv` where there are texture coordinates, else `Sides`.
    #[default]
    Auto,
    /// Along the first texture coordinate, as panels lie in a pattern; as `Along` x where a triangle has no area in it.
    Uv,
    /// [`Weave::Sides`].
    Sides,
    /// [`Weave::Along`].
    Along([f32; 3]),
    /// Nowhere: every side is inextensible, and the mesh locks ([`crate::mesh`]).
    Off,
}

impl Warp {
    /// Names as program and scene files spell them.
    pub const NAMES: [&'static str; 7] = ["auto", "off", "sides", "uv", "x", "y", "z"];

    /// The warp of a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "off" => Some(Self::Off),
            "uv" => Some(Self::Uv),
            _ => match Weave::named(name)? {
                Weave::Along(direction) => Some(Self::Along(direction)),
                _ => Some(Self::Sides),
            },
        }
    }
}

impl Default for Options {
    /// At most 256 MiB, 4,194,304 vertices and 8,388,608 faces; vertices in the same place are welded, triangles woven.
    fn default() -> Self {
        Self {
            most_bytes: 1 << 28,
            most_vertices: 1 << 22,
            most_faces: 1 << 23,
            weld: Some(0.0),
            pair_triangles: false,
            warp: Warp::Auto,
            scale: 1.0,
            up: Up::Y,
        }
    }
}

impl Options {
    fn check(&self) -> Result<()> {
        let range = |field, value: f32, valid: bool, expected| {
            let value = value.into();
            if valid { Ok(()) } else { Err(Error::OutOfRange { field, index: None, value, expected }) }
        };
        let weld = self.weld.unwrap_or(0.0);
        range("weld", weld, weld == 0.0 || (1e-7..=0.01).contains(&weld), "0, or between 1e-7 and 0.01")?;
        range("scale", self.scale, SCALES.contains(&self.scale), "in [1e-6, 1e6]")
    }
}

/// A mesh that was read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Imported {
    /// Particles, faces, lines, groups and weave, ready for [`Mesh::new`]; density, stiffness and pins are those of
    /// [`MeshDescriptor::default`].
    pub descriptor: MeshDescriptor,
    /// What is drawn.
    pub render: RenderMesh,
    /// Red, green, blue and alpha of each particle as the file has them, integers divided by the largest; 1 where a
    /// vertex has none. `None` if the file has no colors.
    pub colors: Option<Vec<[f32; 4]>>,
    /// The particle of each vertex of the file, in the order of the file; `None` for those that were dropped.
    pub particles: Vec<Option<u32>>,
    /// What was found.
    pub report: ImportReport,
}

impl Imported {
    /// The particles whose red, green and blue are each within `tolerance` of these; none if there are no colors.
    pub fn colored(&self, color: [f32; 3], tolerance: f32) -> Vec<u32> {
        let near = |found: &[f32; 4]| found.iter().zip(color).all(|(a, b)| (a - b).abs() <= tolerance);
        let colors = self.colors.iter().flatten().enumerate();
        colors.filter(|(_, found)| near(found)).map(|(particle, _)| particle as u32).collect()
    }
}

/// The vertices that are drawn, and how they follow the particles.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RenderMesh {
    /// The particle that each vertex follows.
    pub particle_of: Vec<u32>,
    /// Texture coordinates of each vertex, as the file has them; empty if it has none.
    pub uvs: Vec<[f32; 2]>,
    /// The faces of the descriptor, in its order, with vertices instead of particles.
    pub faces: Vec<Face>,
    /// The same as triangles, cut as [`Mesh::triangles`](crate::Mesh::triangles) does.
    pub triangles: Vec<[u32; 3]>,
}

/// A face of the file that did not become one of the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedFace {
    /// Its number in the file, from 0. All triangles of a polygon have its number.
    pub face: usize,
    /// Where it is.
    pub place: Place,
}

/// What was found in a file and what became of it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ImportReport {
    /// Vertices in the file.
    pub vertices: usize,
    /// Particles they became.
    pub particles: usize,
    /// Vertices that joined the particle of another.
    pub welded: usize,
    /// Vertices without face and line; dropped.
    pub loose: usize,
    /// Faces of the mesh.
    pub faces: usize,
    /// How many of them are quads.
    pub quads: usize,
    /// Lines of the mesh.
    pub lines: usize,
    /// Polygons of more than four corners, cut into triangles.
    pub split: usize,
    /// Quads that became triangles because two of their corners are one particle.
    pub collapsed: usize,
    /// Faces without area.
    pub degenerate: Vec<DroppedFace>,
    /// Faces that others had the vertices of.
    pub duplicate: Vec<DroppedFace>,
    /// Lines without length.
    pub dropped_lines: usize,
    /// The two particles of each edge that more than two faces have, ascending.
    pub non_manifold: Vec<[u32; 2]>,
    /// Connected pieces.
    pub components: usize,
    /// Triangles that were joined to quads, two for each.
    pub paired: usize,
    /// Triangles that were woven.
    pub woven: usize,
    /// Where their warp comes from: never [`Warp::Auto`].
    pub warp: Warp,
    /// Whether there are texture coordinates.
    pub textured: bool,
}

/// Reads a mesh from a file; its extension says which [`Format`] it has.
///
/// # Errors
///
/// [`Error::Io`], [`Error::Import`] with the line or the byte of what is wrong, [`Error::OutOfRange`] for the options.
pub fn read(path: &Path, options: &Options) -> Result<Imported> {
    options.check()?;
    let format = Format::of(path)?;
    let io = |source| Error::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if !metadata.is_file() {
        // A pipe or a device has no size, and may never end.
        return Err(fault(Place::File, "it is not a regular file").in_file(path));
    }
    check_size(metadata.len(), options).map_err(|error| error.in_file(path))?;
    let mut bytes = Vec::new();
    // It may have grown since.
    file.take(options.most_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(io)?;
    parse(&bytes, format, options).map_err(|error| error.in_file(path))
}

/// Reads a mesh from the bytes of a file.
///
/// ```
/// use taut::io::import::{self, Format, Options};
///
/// let text = b"v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\ng cloth\nf 1 2 3 4\n";
/// let imported = import::parse(text, Format::Obj, &Options::default())?;
/// assert_eq!(imported.descriptor.faces, [[0, 1, 2, 3].into()]);
/// assert_eq!(imported.descriptor.groups["cloth"], [0, 1, 2, 3]);
/// # Ok::<(), taut::Error>(())
/// ```
///
/// # Errors
///
/// As [`read`].
pub fn parse(bytes: &[u8], format: Format, options: &Options) -> Result<Imported> {
    options.check()?;
    check_size(bytes.len() as u64, options)?;
    let raw = match format {
        Format::Obj => obj::parse(bytes, options)?,
        Format::Ply => ply::parse(bytes, options)?,
        Format::Glb => glb::parse(bytes, options)?,
    };
    build::build(raw, options)
}

fn check_size(bytes: u64, options: &Options) -> Result<()> {
    // Places and numbers of corners are 32-bit.
    let most = options.most_bytes.min(u32::MAX.into());
    if bytes <= most {
        return Ok(());
    }
    Err(fault(Place::File, format!("it has {bytes} bytes, but at most {most} are read (most_bytes)")))
}

/// The error of a file whose name is not known yet.
fn fault(place: Place, reason: impl Into<String>) -> Error {
    Error::Import { path: None, place, reason: reason.into() }
}

impl Error {
    /// Adds the name of the file to an error that has none.
    fn in_file(self, file: &Path) -> Self {
        match self {
            Self::Import { path: None, place, reason } => Self::Import { path: Some(file.to_owned()), place, reason },
            other => other,
        }
    }
}

/// Something of the file in a message: short, and in one line whatever it holds.
fn quote(bytes: &[u8]) -> String {
    const LONGEST: usize = 24;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * LONGEST)]);
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < bytes.len() {
        short.push('…');
    }
    format!("{short:?}")
}
