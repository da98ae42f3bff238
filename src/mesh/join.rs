//! Several cloths as the pieces of one mesh.

use super::bending::{Hinge, Pair};
use super::check::check_counts;
use super::weave::Patch;
use super::{Face, Link, Mesh};
use super::{kinds, limits};
use crate::error::{Error, Result};

impl Mesh {
    /// One mesh whose pieces are these, one after the other: the vertices of each are numbered on from those before.
    /// Groups of one name become one group. Nothing joins the pieces, and they do not meet each other.
    ///
    /// ```
    /// use taut::{Mesh, scene};
    ///
    /// let pieces = [scene::hang(5)?.mesh, scene::chain(4)?.mesh];
    /// let both = Mesh::joined(pieces.clone())?;
    /// assert_eq!(both.pins(), [0, 4, 25]);
    /// assert_eq!(both.edge_count(), pieces[0].edge_count() + 3);
    /// # Ok::<(), taut::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Empty`] if there are none, [`Error::OutOfRange`] if there are too many vertices for one mesh.
    pub fn joined(meshes: impl IntoIterator<Item = Self>) -> Result<Self> {
        let mut meshes = meshes.into_iter();
        let mut joined = meshes.next().ok_or(Error::Empty { field: "meshes" })?;
        for mesh in meshes {
            joined.append(mesh)?;
        }
        Ok(joined)
    }

    fn append(&mut self, mesh: Self) -> Result<()> {
        let count = self.positions.len();
        let links = |mesh: &Self| {
            let bending = mesh.bending_pairs.len().max(mesh.hinges.len());
            mesh.edges.len().max(mesh.springs.len()).max(2 * bending)
        };
        check_counts(count + mesh.positions.len(), links(self) + links(&mesh))?;
        // Counts of vertices are below 2³¹.
        let first = count as u32;
        let Self { positions, faces, lines, masses, pins, edges, springs, groups, .. } = mesh;
        let Self { bending_pairs, hinges, patches, edge_limits, edge_kinds, .. } = mesh;
        // The order of every list is by vertices, or by faces: it stays.
        let face = |face: Face| match face {
            Face::Triangle(vertices) => Face::Triangle(vertices.map(|vertex| vertex + first)),
            Face::Quad(vertices) => Face::Quad(vertices.map(|vertex| vertex + first)),
        };
        let link = |link: Link| Link { tail: link.tail + first, head: link.head + first, ..link };
        let pair = |pair: Pair| Pair { ends: pair.ends.map(|end| end + first), ..pair };
        let hinge = |hinge: Hinge| Hinge { vertices: hinge.vertices.map(|vertex| vertex + first), ..hinge };
        let patch = |patch: Patch| Patch { vertices: patch.vertices.map(|vertex| vertex + first), ..patch };
        self.positions.extend(positions);
        self.faces.extend(faces.into_iter().map(face));
        self.lines.extend(lines.into_iter().map(|line| line.map(|vertex| vertex + first)));
        self.masses.extend(masses);
        self.pins.extend(pins.into_iter().map(|pin| pin + first));
        let added = self.edges.len()..self.edges.len() + edges.len();
        self.edge_limits = limits::joined(std::mem::take(&mut self.edge_limits), &edge_limits, added.clone());
        self.edge_kinds = kinds::joined(std::mem::take(&mut self.edge_kinds), &edge_kinds, added);
        self.edges.extend(edges.into_iter().map(link));
        self.springs.extend(springs.into_iter().map(link));
        self.bending_pairs.extend(bending_pairs.into_iter().map(pair));
        self.hinges.extend(hinges.into_iter().map(hinge));
        self.patches.extend(patches.into_iter().map(patch));
        for (name, vertices) in groups {
            self.groups.entry(name).or_default().extend(vertices.into_iter().map(|vertex| vertex + first));
        }
        Ok(())
    }
}
