//! The cloth at rest: vertices, faces, lines, masses, pins; checked once, on construction.
//!
//! Edges of quads, edges of triangles and lines are **inextensible**: they keep their rest length.
//! Both diagonals of a quad are **springs**, so that cloth can shear. An n×n grid of quads has
//! 2n(n−1) edges for 3n² coordinates and keeps n²+2n ways to move.
//!
//! **Triangle meshes lock** if all their sides are inextensible. Three edges per vertex meet three coordinates per
//! vertex: the same grid cut into triangles keeps only 4n−1 ways to move and behaves like a folded metal sheet. Give
//! them threads: with [`MeshDescriptor::weave`] two sides per vertex stand for warp and weft, and the others are
//! springs against shear ([`weave`]). Squares that were cut drape as squares then; irregular meshes nearly so.
//!
//! # What happens to odd input
//!
//! | Input | Outcome |
//! |---|---|
//! | no positions | [`Error::Empty`] |
//! | a coordinate NaN or infinite | [`Error::NotFinite`] |
//! | a coordinate beyond ±2⁴⁰ m, from where no step could go on | [`Error::OutOfRange`] |
//! | a face, line, pin or override names a missing vertex | [`Error::IndexOutOfRange`] |
//! | a face, line or override names a vertex twice | [`Error::RepeatedVertex`] |
//! | two faces with the same vertices, in any order | [`Error::DuplicateFace`] |
//! | an edge or spring shorter than 1e-18 m at rest | [`Error::ZeroLengthEdge`] |
//! | an edge given twice: by two faces, two lines, a face and a line | merged |
//! | a vertex pinned twice | merged |
//! | a mass outside 1e-30 … 1e30 kg, zero and NaN included | [`Error::OutOfRange`] with its index |
//! | a density outside 1e-9 … 1e9 kg/m² or kg/m | [`Error::OutOfRange`] |
//! | shear or stiffness negative or not finite | [`Error::OutOfRange`] |
//! | a stretch, or a stiffness or an end of an edge, that is out of range | [`Error::OutOfRange`] |
//! | a swatch with a number that is out of range, or with a missing face | [`Error::OutOfRange`] with its index |
//! | a face in several swatches | that of the last one |
//! | a warp that is 0 or not finite | [`Error::OutOfRange`] |
//! | a warp for each face, but not one for each | [`Error::LengthMismatch`] |
//! | a triangle without area | not woven: its sides stay inextensible unless a neighbor's weave takes them |
//! | masses per vertex, but not one for each | [`Error::LengthMismatch`] |
//! | an isolated vertex, masses per vertex | valid: it falls freely |
//! | a vertex without mass from the density | [`Error::MasslessVertex`]; pinned: valid, 0 kg |
//! | an override of a pair that is neither edge nor diagonal | [`Error::NoSuchEdge`] |
//! | two different overrides of one edge | [`Error::ConflictingOverride`]; equal ones are merged |
//! | everything pinned | valid: a step changes nothing |
//! | an edge with both ends pinned | kept in [`Mesh::edges`], but no solver can move it |
//! | several disconnected pieces | valid: a batch |
//! | edges of very different lengths, folded or thin quads | valid, but [`Mesh::quality`] names them |
//! | a vertex where more than 4,096 faces and lines meet | [`Error::Degree`] |
//! | more than 2³¹−1 vertices, or links that do not fit 32-bit incidence | [`Error::OutOfRange`] |

pub mod bending;
mod check;
pub mod coloring;
pub mod diagonals;
mod join;
mod kinds;
mod limits;
mod lines;
mod links;
mod mass;
mod quality;
pub mod surface;
mod swatch;
pub mod topology;
pub mod weave;
pub mod windows;
pub mod yarns;

use std::collections::BTreeMap;

use crate::engine::layout::element;
use crate::error::{Error, Result};
use bending::{Hinge, Pair};
use check::{
    check, check_counts, check_degrees, check_duplicate_faces, check_masses, check_overrides, check_positions,
    check_vertices,
};
pub use limits::EdgeLimit;
pub(crate) use limits::check_strain_limit;
use links::{Links, Pairs, ends};
use mass::lump;
pub use quality::MeshQuality;
pub use swatch::Swatch;
use swatch::{BENDINGS, Fabrics, SHEARS};
pub use weave::Weave;
use weave::{Patch, Woven};

/// Largest coordinate \[m\] and speed \[m/s\] that a step may start from or end with, 2⁴⁰: from there every product of
/// the next step is finite, so that it can be computed, too. A cloth that a step could not leave would be frozen for
/// good, so nothing beyond is let in.
pub(crate) const FARTHEST: f32 = 1_099_511_627_776.0;

element! {
    /// An edge or a spring between two vertices.
    pub struct Link {
        /// Vertex where it starts; in a [`Mesh`] the smaller index.
        pub tail: u32,
        /// Vertex where it ends.
        pub head: u32,
        /// Rest length \[m\].
        pub rest: f32,
        /// Stiffness of a spring \[N/m\]; 0 for an inextensible edge.
        pub stiffness: f32,
    }
}

/// A face of the cloth: its vertices in order around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Face {
    /// Three vertices. See the module documentation: without a [`Weave`] triangle meshes lock.
    Triangle([u32; 3]),
    /// Four vertices; the sides are warp and weft, the diagonals shear.
    Quad([u32; 4]),
}

impl Face {
    /// The vertices in order around the face.
    pub fn vertices(&self) -> &[u32] {
        match self {
            Self::Triangle(vertices) => vertices,
            Self::Quad(vertices) => vertices,
        }
    }
}

impl From<[u32; 3]> for Face {
    fn from(vertices: [u32; 3]) -> Self {
        Self::Triangle(vertices)
    }
}

impl From<[u32; 4]> for Face {
    fn from(vertices: [u32; 4]) -> Self {
        Self::Quad(vertices)
    }
}

/// Where the mass of each vertex comes from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Mass {
    /// kg/m² for faces and kg/m for lines.
    ///
    /// A vertex gets the density times its share of what touches it in the rest shape: a third of
    /// a triangle, half of a line, and of a quad the part between the vertex, the middles of its
    /// two sides and the mean of the four corners. The shares of a quad add up to its area; of a
    /// quad that is not planar, to the area of its projection along its mean normal. A quad so
    /// concave that a share would vanish gives a quarter to each corner. A line that is also the
    /// side of a face has no mass of its own.
    Density(f32),
    /// kg, one per vertex, pinned vertices included.
    PerVertex(Vec<f32>),
}

/// How an edge resists a change of its length.
///
/// All but springs and free ones are edges of the projection, and their strain is held to the limit and reported;
/// [`mod@crate::stage::law`] has what they do.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum EdgeKind {
    /// Keeps its rest length.
    Inextensible,
    /// Carries load by stretching: its tension is the stiffness times what it is longer than at rest, whatever the step
    /// and the iterations of the solver.
    Compliant {
        /// N/m, 1e-9 … 1e15.
        stiffness: f32,
    },
    /// Keeps from becoming longer, and gives way freely when it is pushed together.
    Rope,
    /// A spring between two ends that it does not pass.
    Limited {
        /// Between the ends, N/m, 0 … 1e15; 0 is slack there.
        stiffness: f32,
        /// Least length, as a part of the rest length, 0 … 1.
        min: f32,
        /// Largest length, as a part of the rest length, 1 … 100.
        max: f32,
    },
    /// Pulls towards its rest length.
    Spring {
        /// N/m, not negative; 0 is the same as [`EdgeKind::Free`].
        stiffness: f32,
    },
    /// Not at all: the edge vanishes.
    Free,
}

/// An exception for one edge of a face, one line, or one diagonal of a quad.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeOverride {
    /// The two vertices, in either order.
    pub ends: [u32; 2],
    /// What the edge becomes.
    pub kind: EdgeKind,
    /// Its rest length in m; `None` measures it in the rest shape.
    pub rest: Option<f32>,
}

/// Everything a [`Mesh`] is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshDescriptor {
    /// The rest shape, m. Rest lengths and masses are measured in it.
    pub positions: Vec<[f32; 3]>,
    /// Quads and triangles, in any mixture.
    pub faces: Vec<Face>,
    /// Edges without a face: chains, ropes.
    pub lines: Vec<[u32; 2]>,
    /// Mass of the vertices.
    pub mass: Mass,
    /// Vertices that do not move by themselves.
    pub pins: Vec<u32>,
    /// Stiffness of each of the two diagonal springs of a quad, and shear modulus of woven triangles, N/m; 0 for none.
    pub shear: f32,
    /// How the fabric stretches along its threads: tension per width and strain, N/m, 1e-3 … 1e9; `None` for not at
    /// all. An edge gets the share of the strip that it stands for, so that it does not depend on the mesh; lines have
    /// none. What edges are stretched counts as strain, as that of all edges does.
    pub stretch: Option<f32>,
    /// Bending stiffness k_b, N·m: a sheet rolled to a radius R holds ½ k_b/R² per area; 0 for none. Fabrics have from
    /// 1e-6 to 1e-4: [`mod@crate::scene::material`].
    pub bending: f32,
    /// Whether bending holds the rest shape as it is, with all its folds, and not a flat one.
    pub curved: bool,
    /// Where the warp of triangles runs; `None` makes every side of a triangle inextensible.
    pub weave: Option<Weave>,
    /// Exceptions for single edges.
    pub overrides: Vec<EdgeOverride>,
    /// Faces of another fabric than the rest; those of masses per vertex have no density.
    pub swatches: Vec<Swatch>,
    /// Named sets of vertices, for [`crate::Selection::Group`].
    pub groups: BTreeMap<String, Vec<u32>>,
}

impl Default for MeshDescriptor {
    /// No vertices; 0.2 kg/m², a cotton fabric, and diagonals of 20 N/m.
    fn default() -> Self {
        Self {
            positions: Vec::new(),
            faces: Vec::new(),
            lines: Vec::new(),
            mass: Mass::Density(0.2),
            pins: Vec::new(),
            shear: 20.0,
            stretch: None,
            bending: 0.0,
            curved: false,
            weave: None,
            overrides: Vec::new(),
            swatches: Vec::new(),
            groups: BTreeMap::new(),
        }
    }
}

/// A valid cloth at rest. The module documentation says what valid means.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    positions: Vec<[f32; 3]>,
    faces: Vec<Face>,
    lines: Vec<[u32; 2]>,
    masses: Vec<f32>,
    pins: Vec<u32>,
    edges: Vec<Link>,
    edge_limits: Vec<EdgeLimit>,
    edge_kinds: Vec<EdgeKind>,
    springs: Vec<Link>,
    groups: BTreeMap<String, Vec<u32>>,
    bending: f32,
    curved: bool,
    bending_pairs: Vec<Pair>,
    hinges: Vec<Hinge>,
    patches: Vec<Patch>,
}

impl Mesh {
    /// Checks a description and works out masses, edges and springs.
    ///
    /// # Errors
    ///
    /// As the table in the module documentation says.
    pub fn new(descriptor: MeshDescriptor) -> Result<Self> {
        let MeshDescriptor { positions, faces, lines, mass, mut pins, shear, bending, curved, weave, .. } = descriptor;
        let MeshDescriptor { overrides, swatches, mut groups, stretch, .. } = descriptor;
        let count = positions.len();
        check_positions(&positions)?;
        for (index, face) in faces.iter().enumerate() {
            check_vertices("faces", index, face.vertices(), count)?;
        }
        check_duplicate_faces(&faces)?;
        for (index, line) in lines.iter().enumerate() {
            check_vertices("lines", index, line, count)?;
        }
        for (index, pin) in pins.iter().enumerate() {
            check_vertices("pins", index, &[*pin], count)?;
        }
        for group in groups.values_mut() {
            for (index, vertex) in group.iter().enumerate() {
                check_vertices("groups", index, &[*vertex], count)?;
            }
            group.sort_unstable();
            group.dedup();
        }
        pins.sort_unstable();
        pins.dedup();
        check("shear", None, shear, 0.0..=f32::MAX, SHEARS)?;
        kinds::check_stretch("stretch", None, stretch)?;
        check_bending(bending)?;
        check_overrides(&overrides, count)?;
        let density = if let Mass::Density(density) = mass { density } else { 1.0 };
        let fabrics = Fabrics::new(faces.len(), [density, shear, bending], &swatches)?;

        let pairs = Pairs::new(&faces, &lines, &fabrics);
        check_degrees(count, &faces, &pairs.lines)?;
        let woven = match &weave {
            Some(weave) => {
                weave.check(faces.len())?;
                weave::weave(&positions, &faces, weave, &fabrics, |pair| pairs.is_fixed(pair))
            }
            None => Woven::default(),
        };
        let (edges, springs) = Links::collect(&positions, &pairs, &woven, &overrides)?;
        check_counts(count, edges.len().max(springs.len()))?;
        let edge_limits = limits::edge_limits(&faces, &edges, &swatches);
        let edge_kinds = kinds::edge_kinds(&positions, &faces, &edges, stretch, &swatches, &overrides);
        let lines: Vec<[u32; 2]> = pairs.lines.iter().map(|&key| ends(key)).collect();
        let masses = match mass {
            Mass::PerVertex(masses) => check_masses(masses, count)?,
            Mass::Density(density) => lump(&positions, &faces, &lines, density, &fabrics, &pins)?,
        };
        let (bending_pairs, hinges) = bends(&positions, &faces, &fabrics, curved)?;
        Ok(Self {
            positions,
            faces,
            lines,
            masses,
            pins,
            edges,
            edge_limits,
            edge_kinds,
            springs,
            groups,
            bending,
            curved,
            bending_pairs,
            hinges,
            patches: woven.patches,
        })
    }

    /// The rest shape, m.
    pub fn positions(&self) -> &[[f32; 3]] {
        &self.positions
    }

    /// The faces, as given.
    pub fn faces(&self) -> &[Face] {
        &self.faces
    }

    /// The lines that are not the side of a face: lower vertex first, sorted, each once.
    pub fn lines(&self) -> &[[u32; 2]] {
        &self.lines
    }

    /// Mass per vertex, kg. Above zero, except that a pinned vertex may have none.
    pub fn masses(&self) -> &[f32] {
        &self.masses
    }

    /// The pinned vertices: sorted, each once.
    pub fn pins(&self) -> &[u32] {
        &self.pins
    }

    /// The edges of the projection in canonical order: `tail < head`, sorted by (tail, head), each pair
    /// once. Their stiffness is 0: [`Mesh::edge_kinds`] tells which of them are more than inextensible.
    pub fn edges(&self) -> &[Link] {
        &self.edges
    }

    /// How far each of the edges may be stretched, in their order; empty where all have the limit of
    /// [`crate::Settings::strain_limit`].
    pub fn edge_limits(&self) -> &[EdgeLimit] {
        &self.edge_limits
    }

    /// What each of the edges is, in their order: never a spring, and never free. Empty where all are inextensible.
    pub fn edge_kinds(&self) -> &[EdgeKind] {
        &self.edge_kinds
    }

    /// The springs, in canonical order too. No pair is both an edge and a spring; a pair that is a
    /// diagonal of two quads has the stiffness of both.
    pub fn springs(&self) -> &[Link] {
        &self.springs
    }

    /// The bending stiffness, N·m: [`MeshDescriptor::bending`].
    pub fn bending(&self) -> f32 {
        self.bending
    }

    /// The same mesh with another bending stiffness, N·m, in all of it: that of swatches is replaced, too.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`], as for [`MeshDescriptor::bending`].
    pub fn with_bending(self, bending: f32) -> Result<Self> {
        check_bending(bending)?;
        let fabrics = Fabrics::new(self.faces.len(), [1.0, 0.0, bending], &[])?;
        let (bending_pairs, hinges) = bends(&self.positions, &self.faces, &fabrics, self.curved)?;
        Ok(Self { bending, bending_pairs, hinges, ..self })
    }

    /// The same mesh without anything that pulls or bends: its inextensible edges alone.
    pub(crate) fn without_forces(self) -> Self {
        Self { springs: Vec::new(), bending: 0.0, bending_pairs: Vec::new(), hinges: Vec::new(), ..self }
    }

    /// The bending stiffness of the flat sheet as signed springs between vertices.
    pub fn bending_pairs(&self) -> &[Pair] {
        &self.bending_pairs
    }

    /// The folds that hold a curved rest shape; none if it is to be flat.
    pub fn hinges(&self) -> &[Hinge] {
        &self.hinges
    }

    /// The triangles whose threads were chosen by a [`Weave`].
    pub fn patches(&self) -> &[Patch] {
        &self.patches
    }

    /// The vertices of a group: ascending, each once.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownGroup`].
    pub fn group(&self, name: &str) -> Result<&[u32]> {
        let found = self.groups.get(name).ok_or_else(|| Error::UnknownGroup {
            name: name.to_owned(),
            known: match self.groups.len() {
                0 => "none".to_owned(),
                _ => self.groups.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
            },
        })?;
        Ok(found)
    }

    /// The named sets of vertices.
    pub fn groups(&self) -> &BTreeMap<String, Vec<u32>> {
        &self.groups
    }

    /// How many vertices there are.
    pub fn vertex_count(&self) -> usize {
        self.positions.len()
    }

    /// How many edges there are.
    pub fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// 1/mass per vertex, 1/kg; 0 for pinned vertices.
    pub fn inverse_masses(&self) -> Vec<f32> {
        let mut inverse: Vec<f32> = self.masses.iter().map(|mass| mass.recip()).collect();
        for &pin in &self.pins {
            inverse[pin as usize] = 0.0;
        }
        inverse
    }

    /// Triangles for drawing: a quad (a, b, c, d) becomes (a, b, c) and (a, c, d).
    pub fn triangles(&self) -> Vec<[u32; 3]> {
        let mut triangles = Vec::with_capacity(2 * self.faces.len());
        for face in &self.faces {
            match *face {
                Face::Triangle(vertices) => triangles.push(vertices),
                Face::Quad([a, b, c, d]) => triangles.extend([[a, b, c], [a, c, d]]),
            }
        }
        triangles
    }
}

fn check_bending(bending: f32) -> Result<()> {
    check("bending", None, bending, BENDINGS, "in [0, 1e6] N·m")
}

/// What resists bending: pairs of the flat sheet, and hinges where it is curved.
fn bends(positions: &[[f32; 3]], faces: &[Face], fabrics: &Fabrics, curved: bool) -> Result<(Vec<Pair>, Vec<Hinge>)> {
    if !fabrics.bend() {
        return Ok(Default::default());
    }
    let pairs = bending::quadratic_of(positions, faces, fabrics);
    for pair in &pairs {
        check("bending", None, pair.weight, -f32::MAX..=f32::MAX, "so small that forces are finite")?;
    }
    check_counts(positions.len(), 2 * pairs.len())?;
    let hinges = if curved { bending::hinges_of(positions, faces, fabrics) } else { Vec::new() };
    check_counts(positions.len(), 2 * hinges.len())?;
    Ok((pairs, hinges))
}
