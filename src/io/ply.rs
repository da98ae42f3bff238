//! PLY: a mesh with anything per vertex, binary and little-endian.

use std::io::{self, Write};
use std::path::Path;

use super::atomic::AtomicFile;
use super::export::{Files, Format};
use crate::cloth::report::vertex_strain;
use crate::error::{Error, Result};
use crate::mesh::Mesh;

/// As the table of exports has it.
pub(super) const FORMAT: Format = Format {
    extension: "ply",
    about: "PLY with the strain of each vertex",
    files: Files::PerFrame(|file, frame| {
        let strain = vertex_strain(frame.mesh, frame.band, frame.positions);
        write_elements(file, frame.mesh, frame.positions, Attributes { strain: Some(&strain), colors: None })
    }),
};

/// What goes with the vertices besides their positions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Attributes<'a> {
    /// Strain of each vertex, the property `strain` (float): [`vertex_strain`].
    pub strain: Option<&'a [f32]>,
    /// Color of each vertex, the properties `red`, `green` and `blue` (uchar).
    pub colors: Option<&'a [[u8; 3]]>,
}

/// Writes a mesh at the given positions in m; [`Mesh::positions`] for the rest shape. Lines become elements `edge`.
///
/// # Errors
///
/// [`Error::LengthMismatch`] for positions and attributes, [`Error::NotFinite`] for positions, [`Error::Io`].
pub fn write(path: impl AsRef<Path>, mesh: &Mesh, positions: &[[f32; 3]], attributes: Attributes<'_>) -> Result<()> {
    prepare(path, mesh, positions, attributes)?.finish()
}

/// [`write()`] without its last move, like [`obj::prepare`](super::obj::prepare).
///
/// # Errors
///
/// As [`write()`].
pub fn prepare(
    path: impl AsRef<Path>,
    mesh: &Mesh,
    positions: &[[f32; 3]],
    attributes: Attributes<'_>,
) -> Result<AtomicFile> {
    let expected = mesh.vertex_count();
    let lengths = [
        ("positions", Some(positions.len())),
        ("strain", attributes.strain.map(<[f32]>::len)),
        ("colors", attributes.colors.map(<[[u8; 3]]>::len)),
    ];
    for (field, found) in lengths {
        if let Some(found) = found.filter(|found| *found != expected) {
            return Err(Error::LengthMismatch { field, expected, found });
        }
    }
    super::check_finite(positions)?;
    let mut file = AtomicFile::create(path)?;
    write_elements(&mut file, mesh, positions, attributes).map_err(|source| file.error(source))?;
    Ok(file)
}

fn write_elements(
    file: &mut (impl Write + ?Sized),
    mesh: &Mesh,
    positions: &[[f32; 3]],
    attributes: Attributes<'_>,
) -> io::Result<()> {
    let Attributes { strain, colors } = attributes;
    write!(file, "ply\nformat binary_little_endian 1.0\nelement vertex {}\n", positions.len())?;
    write!(file, "property float x\nproperty float y\nproperty float z\n")?;
    if strain.is_some() {
        writeln!(file, "property float strain")?;
    }
    if colors.is_some() {
        write!(file, "property uchar red\nproperty uchar green\nproperty uchar blue\n")?;
    }
    write!(file, "element face {}\nproperty list uchar int vertex_indices\n", mesh.faces().len())?;
    if !mesh.lines().is_empty() {
        write!(file, "element edge {}\nproperty int vertex1\nproperty int vertex2\n", mesh.lines().len())?;
    }
    writeln!(file, "end_header")?;
    for (vertex, position) in positions.iter().enumerate() {
        for coordinate in position {
            file.write_all(&coordinate.to_le_bytes())?;
        }
        if let Some(strain) = strain {
            file.write_all(&strain[vertex].to_le_bytes())?;
        }
        if let Some(colors) = colors {
            file.write_all(&colors[vertex])?;
        }
    }
    for face in mesh.faces() {
        file.write_all(&[face.vertices().len() as u8])?;
        write_indices(file, face.vertices())?;
    }
    mesh.lines().iter().try_for_each(|line| write_indices(file, line))
}

/// Vertex numbers are below 2³¹: `Mesh`.
fn write_indices(file: &mut (impl Write + ?Sized), vertices: &[u32]) -> io::Result<()> {
    vertices.iter().try_for_each(|vertex| file.write_all(&vertex.to_le_bytes()))
}
