//! Wavefront OBJ: a mesh as text.

use super::atomic::AtomicFile;
use super::export::{Files, Format};
use crate::error::{Error, Result};
use crate::mesh::{Face, Mesh};
use std::io::{self, Write};
use std::path::Path;

/// As the table of exports has it.
pub(super) const FORMAT: Format = Format {
    extension: "obj",
    about: "Wavefront OBJ",
    files: Files::PerFrame(|file, frame| write_elements(file, frame.mesh, frame.positions)),
};

/// Writes a mesh at the given positions in m; [`Mesh::positions`] for the rest shape.
///
/// Quads stay quads, lines without a face become `l` elements. Coordinates are the shortest decimal
/// numbers that read back as the same `f32`. A face or line is in the groups that have all of its vertices; a group
/// without any is not written, and white space in a name becomes `_`, as the format has it.
///
/// # Errors
///
/// [`Error::LengthMismatch`] and [`Error::NotFinite`] for the positions, [`Error::Io`].
pub fn write(path: impl AsRef<Path>, mesh: &Mesh, positions: &[[f32; 3]]) -> Result<()> {
    prepare(path, mesh, positions)?.finish()
}

/// [`write()`] without its last move: the file is complete but still under its temporary name, for those who put
/// several files in place together.
///
/// # Errors
///
/// As [`write()`].
pub fn prepare(path: impl AsRef<Path>, mesh: &Mesh, positions: &[[f32; 3]]) -> Result<AtomicFile> {
    check_positions(mesh, positions)?;
    let mut file = AtomicFile::create(path)?;
    write_elements(&mut file, mesh, positions).map_err(|source| file.error(source))?;
    Ok(file)
}

/// Texture coordinates for the faces of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texture<'a> {
    /// Texture coordinates.
    pub uvs: &'a [[f32; 2]],
    /// For each face of the mesh, with as many corners, which of them its corners have.
    pub faces: &'a [Face],
}

/// [`prepare`] with texture coordinates, which do not split vertices: the rest shape of a mesh that was imported with
/// them, in the order of its particles.
///
/// # Errors
///
/// As [`prepare`]; [`Error::LengthMismatch`] and [`Error::IndexOutOfRange`] for the texture.
pub fn prepare_textured(
    path: impl AsRef<Path>,
    mesh: &Mesh,
    positions: &[[f32; 3]],
    texture: Texture<'_>,
) -> Result<AtomicFile> {
    let corners = |faces: &[Face]| faces.iter().map(|face| face.vertices().len()).collect::<Vec<_>>();
    if corners(mesh.faces()) != corners(texture.faces) {
        let (expected, found) = (mesh.faces().len(), texture.faces.len());
        return Err(Error::LengthMismatch { field: "texture.faces", expected, found });
    }
    let count = texture.uvs.len();
    for (index, face) in texture.faces.iter().enumerate() {
        if let Some(&value) = face.vertices().iter().find(|uv| **uv as usize >= count) {
            return Err(Error::IndexOutOfRange { field: "texture.faces", index, value, count });
        }
    }
    check_positions(mesh, positions)?;
    let mut file = AtomicFile::create(path)?;
    write_textured(&mut file, mesh, positions, texture).map_err(|source| file.error(source))?;
    Ok(file)
}

fn write_textured(file: &mut impl Write, mesh: &Mesh, positions: &[[f32; 3]], texture: Texture<'_>) -> io::Result<()> {
    for [x, y, z] in positions {
        writeln!(file, "v {x} {y} {z}")?;
    }
    for [u, v] in texture.uvs {
        writeln!(file, "vt {u} {v}")?;
    }
    let mut groups = Groups::new(mesh);
    for (face, uvs) in mesh.faces().iter().zip(texture.faces) {
        groups.open(file, face.vertices())?;
        write!(file, "f")?;
        for (vertex, uv) in face.vertices().iter().zip(uvs.vertices()) {
            write!(file, " {}/{}", vertex + 1, u64::from(*uv) + 1)?;
        }
        writeln!(file)?;
    }
    mesh.lines().iter().try_for_each(|line| {
        groups.open(file, line)?;
        write_element(file, "l", line)
    })
}

/// Which groups elements are in, said where it changes.
struct Groups {
    names: Vec<String>,
    /// Those of each vertex, ascending; empty where there are no groups.
    of: Vec<Vec<u32>>,
    open: Vec<u32>,
}

impl Groups {
    fn new(mesh: &Mesh) -> Self {
        let word = |name: &String| name.split_whitespace().collect::<Vec<_>>().join("_");
        let names: Vec<String> = mesh.groups().keys().map(word).collect();
        let mut of = vec![Vec::new(); if names.is_empty() { 0 } else { mesh.vertex_count() }];
        for (group, vertices) in (0..).zip(mesh.groups().values()) {
            // What is all white space has no name in this format.
            for vertex in vertices.iter().filter(|_| !names[group as usize].is_empty()) {
                of[*vertex as usize].push(group);
            }
        }
        Self { names, of, open: Vec::new() }
    }

    fn open(&mut self, file: &mut (impl Write + ?Sized), vertices: &[u32]) -> io::Result<()> {
        if self.of.is_empty() {
            return Ok(());
        }
        let [first, others @ ..] = vertices else { return Ok(()) };
        let everywhere = |group: &u32| others.iter().all(|vertex| self.of[*vertex as usize].contains(group));
        let set: Vec<u32> = self.of[*first as usize].iter().copied().filter(everywhere).collect();
        if set != self.open {
            write!(file, "g")?;
            set.iter().try_for_each(|group| write!(file, " {}", self.names[*group as usize]))?;
            writeln!(file)?;
            self.open = set;
        }
        Ok(())
    }
}

fn check_positions(mesh: &Mesh, positions: &[[f32; 3]]) -> Result<()> {
    let (expected, found) = (mesh.vertex_count(), positions.len());
    if expected != found {
        return Err(Error::LengthMismatch { field: "positions", expected, found });
    }
    super::check_finite(positions)
}

fn write_elements(file: &mut (impl Write + ?Sized), mesh: &Mesh, positions: &[[f32; 3]]) -> io::Result<()> {
    for [x, y, z] in positions {
        writeln!(file, "v {x} {y} {z}")?;
    }
    let mut groups = Groups::new(mesh);
    for face in mesh.faces() {
        groups.open(file, face.vertices())?;
        write_element(file, "f", face.vertices())?;
    }
    for line in mesh.lines() {
        groups.open(file, line)?;
        write_element(file, "l", line)?;
    }
    Ok(())
}

fn write_element(file: &mut (impl Write + ?Sized), keyword: &str, vertices: &[u32]) -> io::Result<()> {
    write!(file, "{keyword}")?;
    for vertex in vertices {
        // OBJ counts from 1. Vertex numbers are below 2³¹: `Mesh`.
        write!(file, " {}", vertex + 1)?;
    }
    writeln!(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::MeshDescriptor;

    /// The numbers after one keyword, line by line.
    fn elements<T: std::str::FromStr>(text: &str, keyword: &str) -> Vec<Vec<T>> {
        let words = text.lines().map(|line| line.split_once(' ').unwrap());
        let numbers = |list: &str| list.split(' ').map(|word| word.parse().ok().unwrap()).collect();
        words.filter(|words| words.0 == keyword).map(|words| numbers(words.1)).collect()
    }

    #[test]
    fn round_trip_is_exact() {
        let positions: [[f32; 3]; 7] = [
            [0.1, -0.0, 1.0 / 3.0],
            [1.0, f32::EPSILON, 16_777_217.0],
            [1.0, 1e-30, 1.0],
            [0.0, 3.0e-45, 1.0],
            [2.0, 0.0, 0.0],
            [3.0, 0.7, 0.0],
            [4.0, 1e12, 0.0],
        ];
        let mesh = Mesh::new(MeshDescriptor {
            positions: positions.to_vec(),
            faces: vec![[0, 1, 2, 3].into(), [1, 4, 2].into()],
            lines: vec![[6, 5], [4, 5], [0, 1]],
            ..Default::default()
        })
        .unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mesh.obj");
        write(&path, &mesh, mesh.positions()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();

        let bits = |list: &[f32]| list.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let read = elements::<f32>(&text, "v");
        assert_eq!(read.len(), 7);
        for (read, written) in read.iter().zip(&positions) {
            assert_eq!(bits(read), bits(written));
        }
        assert_eq!(elements::<u32>(&text, "f"), [vec![1, 2, 3, 4], vec![2, 5, 3]]);
        assert_eq!(elements::<u32>(&text, "l"), [[5, 6], [6, 7]]);
        assert_eq!(text.lines().count(), 7 + 2 + 2);
    }

    /// Groups of faces come back as they were; the names as one word.
    #[cfg(feature = "import")]
    #[test]
    fn groups_come_back() {
        use crate::io::import;

        let text =
            b"v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nv 2 0 0\nv 2 0 1\nv 3 0 0\nf 1 2 3\no my shirt\ng collar left\n\
                     f 1 3 4\ng left\nf 2 5 6 3\ng\nl 5 7\n";
        let imported = import::parse(text, import::Format::Obj, &import::Options::default()).unwrap();
        let mesh = Mesh::new(imported.descriptor).unwrap();
        assert_eq!(mesh.groups().keys().collect::<Vec<_>>(), ["collar", "left", "my shirt"]);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mesh.obj");
        write(&path, &mesh, mesh.positions()).unwrap();
        let again = import::read(&path, &import::Options::default()).unwrap().descriptor;
        assert_eq!((&again.faces[..], &again.lines[..]), (mesh.faces(), mesh.lines()));
        for (name, vertices) in mesh.groups() {
            assert_eq!(&again.groups[&name.replace(' ', "_")], vertices, "{name}");
        }
        assert_eq!(again.groups.len(), 3);
    }

    #[test]
    fn bad_positions_write_nothing() {
        let scene = crate::scene::sheet(2).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mesh.obj");
        let result = write(&path, &scene.mesh, &scene.start[1..]);
        assert!(matches!(result, Err(Error::LengthMismatch { expected: 4, found: 3, .. })));
        let mut diverged = scene.start.clone();
        diverged[2][1] = f32::NAN;
        let result = write(&path, &scene.mesh, &diverged);
        assert!(matches!(result, Err(Error::NotFinite { field: "positions", index: 2 })));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
