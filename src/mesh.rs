//! The cloth at rest: vertices, faces, lines, masses, pins; checked once, on construction.
//!
//! Edges of quads, edges of triangles and lines are **inextensible**: they keep their rest length.
//! Both diagonals of a quad are **springs**, so that cloth can shear. An n×n grid of quads has
//! 2n(n−1) edges for 3n² coordinates and keeps n²+2n ways to move.
//!
//! **Triangle meshes lock.** Three edges per vertex meet three coordinates per vertex: the same
//! grid cut into triangles keeps only 4n−1 ways to move and behaves like a folded metal sheet.
//! Prefer quads; on a triangle mesh make some edges springs with [`EdgeOverride`].
//!
//! # What happens to odd input
//!
//! | Input | Outcome |
//! |---|---|
//! | no positions | [`Error::Empty`] |
//! | a coordinate NaN or infinite | [`Error::NotFinite`] |
//! | a coordinate beyond ±1e18 m, whose square could overflow an `f32` | [`Error::OutOfRange`] |
//! | a face, line, pin or override names a missing vertex | [`Error::IndexOutOfRange`] |
//! | a face, line or override names a vertex twice | [`Error::RepeatedVertex`] |
//! | two faces with the same vertices, in any order | [`Error::DuplicateFace`] |
//! | an edge or spring shorter than 1e-18 m at rest | [`Error::ZeroLengthEdge`] |
//! | an edge given twice: by two faces, two lines, a face and a line | merged |
//! | a vertex pinned twice | merged |
//! | a mass outside 1e-30 … 1e30 kg, zero and NaN included | [`Error::OutOfRange`] with its index |
//! | a density that is not finite and above zero | [`Error::OutOfRange`] |
//! | shear or stiffness negative or not finite | [`Error::OutOfRange`] |
//! | masses per vertex, but not one for each | [`Error::LengthMismatch`] |
//! | an isolated vertex, masses per vertex | valid: it falls freely |
//! | a vertex without mass from the density | [`Error::MasslessVertex`]; pinned: valid, 0 kg |
//! | an override of a pair that is neither edge nor diagonal | [`Error::NoSuchEdge`] |
//! | two different overrides of one edge | [`Error::ConflictingOverride`]; equal ones are merged |
//! | everything pinned | valid: a step changes nothing |
//! | an edge with both ends pinned | kept in [`Mesh::edges`], but no solver can move it |
//! | several disconnected pieces | valid: a batch |
//! | more than 2³¹−1 vertices, or links that do not fit 32-bit incidence | [`Error::OutOfRange`] |

use crate::error::{Error, Result};
use crate::params::Link;
use glam::DVec3;

/// Lengths whose square is a normal `f32`, also on devices that flush subnormal numbers to zero.
const SHORTEST: f32 = 1e-18;
const FARTHEST: f32 = 1e18;
/// Masses whose reciprocal is a normal `f32`, with room for products.
const LIGHTEST: f32 = 1e-30;
const HEAVIEST: f32 = 1e30;

/// A face of the cloth: its vertices in order around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Face {
    /// Three vertices. See the module documentation: triangle meshes lock.
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
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum EdgeKind {
    /// Keeps its rest length.
    Inextensible,
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
    /// Stiffness of each of the two diagonal springs of a quad, N/m; 0 for none.
    pub shear: f32,
    /// Exceptions for single edges.
    pub overrides: Vec<EdgeOverride>,
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
            overrides: Vec::new(),
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
    springs: Vec<Link>,
}

impl Mesh {
    /// Checks a description and works out masses, edges and springs.
    ///
    /// # Errors
    ///
    /// As the table in the module documentation says.
    pub fn new(descriptor: MeshDescriptor) -> Result<Self> {
        let MeshDescriptor { positions, faces, lines, mass, mut pins, shear, overrides } = descriptor;
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
        pins.sort_unstable();
        pins.dedup();
        check("shear", None, shear, 0.0..=f32::MAX, "finite and not negative, in N/m")?;
        check_overrides(&overrides, count)?;

        let pairs = Pairs::new(&faces, &lines);
        let (edges, springs) = Links::collect(&positions, &pairs, shear, &overrides)?;
        check_counts(count, edges.len().max(springs.len()))?;
        let lines: Vec<[u32; 2]> = pairs.lines.iter().map(|&key| ends(key)).collect();
        let masses = match mass {
            Mass::PerVertex(masses) => check_masses(masses, count)?,
            Mass::Density(density) => lump(&positions, &faces, &lines, density, &pins)?,
        };
        Ok(Self { positions, faces, lines, masses, pins, edges, springs })
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

    /// The inextensible edges in canonical order: `tail < head`, sorted by (tail, head), each pair
    /// once. Their stiffness is 0.
    pub fn edges(&self) -> &[Link] {
        &self.edges
    }

    /// The springs, in canonical order too. No pair is both an edge and a spring; a pair that is a
    /// diagonal of two quads has the stiffness of both.
    pub fn springs(&self) -> &[Link] {
        &self.springs
    }

    /// How many vertices there are.
    pub fn vertex_count(&self) -> usize {
        self.positions.len()
    }

    /// How many inextensible edges there are.
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

fn check(
    field: &'static str,
    index: Option<usize>,
    value: f32,
    allowed: std::ops::RangeInclusive<f32>,
    expected: &'static str,
) -> Result<()> {
    if allowed.contains(&value) {
        Ok(())
    } else {
        Err(Error::OutOfRange { field, index, value: value.into(), expected })
    }
}

fn check_positions(positions: &[[f32; 3]]) -> Result<()> {
    if positions.is_empty() {
        return Err(Error::Empty { field: "positions" });
    }
    check_counts(positions.len(), 0)?;
    for (index, position) in positions.iter().enumerate() {
        for &coordinate in position {
            if !coordinate.is_finite() {
                return Err(Error::NotFinite { field: "positions", index });
            }
            let allowed = -FARTHEST..=FARTHEST;
            check("positions", Some(index), coordinate, allowed, "within ±1e18 m")?;
        }
    }
    Ok(())
}

/// An incidence list holds `vertex_count + 1` offsets and two entries per link; an offset must fit
/// a `u32`, and so must an entry, `2 × link + 1`.
fn check_counts(vertex_count: usize, link_count: usize) -> Result<()> {
    let (vertices, links) = (vertex_count as u64, link_count as u64);
    let too_many =
        |field, count: u64, expected| Err(Error::OutOfRange { field, index: None, value: count as f64, expected });
    if vertices > u64::from(u32::MAX / 2) {
        return too_many("vertex count", vertices, "at most 2147483647");
    }
    if vertices + 1 + 2 * links > u64::from(u32::MAX) {
        let expected = "so few that vertices + 2 × links is below 2³² − 1";
        return too_many("link count", links, expected);
    }
    Ok(())
}

fn check_vertices(field: &'static str, index: usize, vertices: &[u32], count: usize) -> Result<()> {
    for (place, &vertex) in vertices.iter().enumerate() {
        if vertex as usize >= count {
            return Err(Error::IndexOutOfRange { field, index, value: vertex, count });
        }
        if vertices[..place].contains(&vertex) {
            return Err(Error::RepeatedVertex { field, index, vertex });
        }
    }
    Ok(())
}

fn check_duplicate_faces(faces: &[Face]) -> Result<()> {
    let mut keys: Vec<([u32; 4], usize)> = Vec::with_capacity(faces.len());
    for (index, face) in faces.iter().enumerate() {
        // No vertex has the number that pads a triangle: check_counts.
        let mut key = [u32::MAX; 4];
        key[..face.vertices().len()].copy_from_slice(face.vertices());
        key.sort_unstable();
        keys.push((key, index));
    }
    keys.sort_unstable();
    let duplicates = keys.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    match duplicates.map(|pair| (pair[1].1, pair[0].1)).min() {
        Some((index, first)) => Err(Error::DuplicateFace { index, first }),
        None => Ok(()),
    }
}

fn check_overrides(overrides: &[EdgeOverride], count: usize) -> Result<()> {
    for (index, change) in overrides.iter().enumerate() {
        check_vertices("overrides", index, &change.ends, count)?;
        if let EdgeKind::Spring { stiffness } = change.kind {
            let expected = "finite and not negative, in N/m";
            check("overrides.kind.stiffness", Some(index), stiffness, 0.0..=f32::MAX, expected)?;
        }
        if let Some(rest) = change.rest {
            let expected = "between 1e-18 and 1e18 m";
            check("overrides.rest", Some(index), rest, SHORTEST..=FARTHEST, expected)?;
        }
    }
    Ok(())
}

fn check_masses(masses: Vec<f32>, count: usize) -> Result<Vec<f32>> {
    if masses.len() != count {
        return Err(Error::LengthMismatch { field: "mass", expected: count, found: masses.len() });
    }
    for (index, &mass) in masses.iter().enumerate() {
        check_mass(index, mass)?;
    }
    Ok(masses)
}

fn check_mass(index: usize, mass: f32) -> Result<()> {
    check("mass", Some(index), mass, LIGHTEST..=HEAVIEST, "between 1e-30 and 1e30 kg")
}

/// A pair of vertices as one number that sorts by (lower, higher).
fn key(a: u32, b: u32) -> u64 {
    (u64::from(a.min(b)) << 32) | u64::from(a.max(b))
}

fn ends(key: u64) -> [u32; 2] {
    [(key >> 32) as u32, key as u32]
}

/// The pairs of vertices that the faces and lines join, sorted.
struct Pairs {
    /// Sides of faces and lines, each once.
    edges: Vec<u64>,
    /// Lines that are not the side of a face, each once.
    lines: Vec<u64>,
    /// Diagonals of quads, as often as there are quads.
    diagonals: Vec<u64>,
}

impl Pairs {
    fn new(faces: &[Face], lines: &[[u32; 2]]) -> Self {
        let mut edges = Vec::with_capacity(4 * faces.len());
        let mut diagonals = Vec::with_capacity(2 * faces.len());
        for face in faces {
            let vertices = face.vertices();
            let following = vertices.iter().cycle().skip(1);
            edges.extend(vertices.iter().zip(following).map(|(&a, &b)| key(a, b)));
            if let Face::Quad([a, b, c, d]) = *face {
                diagonals.extend([key(a, c), key(b, d)]);
            }
        }
        edges.sort_unstable();
        edges.dedup();
        diagonals.sort_unstable();

        let mut lines: Vec<u64> = lines.iter().map(|&[a, b]| key(a, b)).collect();
        lines.sort_unstable();
        lines.dedup();
        lines.retain(|line| edges.binary_search(line).is_err());
        edges.extend(&lines);
        // Two sorted runs: the stable sort merges them in linear time.
        edges.sort();
        Self { edges, lines, diagonals }
    }
}

/// Collects the links of a mesh.
struct Links<'a> {
    positions: &'a [[f32; 3]],
    /// Sorted by pair, each pair once.
    overrides: Vec<(u64, &'a EdgeOverride)>,
    edges: Vec<Link>,
    springs: Vec<Link>,
}

impl<'a> Links<'a> {
    /// The edges and the springs, each in canonical order.
    fn collect(
        positions: &'a [[f32; 3]],
        pairs: &Pairs,
        shear: f32,
        overrides: &'a [EdgeOverride],
    ) -> Result<(Vec<Link>, Vec<Link>)> {
        let is_edge = |pair: &u64| pairs.edges.binary_search(pair).is_ok();
        let mut sorted = Vec::with_capacity(overrides.len());
        for change in overrides {
            let pair = key(change.ends[0], change.ends[1]);
            if !is_edge(&pair) && pairs.diagonals.binary_search(&pair).is_err() {
                let [a, b] = ends(pair);
                return Err(Error::NoSuchEdge { a, b });
            }
            sorted.push((pair, change));
        }
        sorted.sort_by_key(|&(pair, _)| pair);
        for neighbors in sorted.windows(2) {
            let ((pair, first), (other, second)) = (neighbors[0], neighbors[1]);
            if pair == other && (first.kind, first.rest) != (second.kind, second.rest) {
                let [a, b] = ends(pair);
                return Err(Error::ConflictingOverride { a, b });
            }
        }
        sorted.dedup_by_key(|&mut (pair, _)| pair);

        let mut links = Links { positions, overrides: sorted, edges: Vec::new(), springs: Vec::new() };
        for &pair in &pairs.edges {
            links.add(pair, EdgeKind::Inextensible)?;
        }
        for same in pairs.diagonals.chunk_by(|a, b| a == b) {
            if !is_edge(&same[0]) {
                links.add(same[0], EdgeKind::Spring { stiffness: shear * same.len() as f32 })?;
            }
        }
        let Links { mut edges, mut springs, .. } = links;
        edges.sort_by_key(|link| (link.tail, link.head));
        springs.sort_by_key(|link| (link.tail, link.head));
        Ok((edges, springs))
    }

    fn add(&mut self, pair: u64, kind: EdgeKind) -> Result<()> {
        let change = self.overrides.binary_search_by_key(&pair, |&(pair, _)| pair);
        let change = change.ok().map(|index| self.overrides[index].1);
        let kind = change.map_or(kind, |change| change.kind);
        let stiffness = match kind {
            EdgeKind::Free => return Ok(()),
            EdgeKind::Spring { stiffness: 0.0 } => return Ok(()),
            EdgeKind::Spring { stiffness } => stiffness,
            EdgeKind::Inextensible => 0.0,
        };
        if !stiffness.is_finite() {
            let expected = "so small that diagonals shared by quads can be added";
            let value = stiffness.into();
            return Err(Error::OutOfRange { field: "shear", index: None, value, expected });
        }
        let [tail, head] = ends(pair);
        let measured = point(self.positions, tail).distance(point(self.positions, head)) as f32;
        let rest = change.and_then(|change| change.rest).unwrap_or(measured);
        if rest < SHORTEST {
            return Err(Error::ZeroLengthEdge { a: tail, b: head });
        }
        let list = match kind {
            EdgeKind::Inextensible => &mut self.edges,
            _ => &mut self.springs,
        };
        list.push(Link { tail, head, rest, stiffness });
        Ok(())
    }
}

fn point(positions: &[[f32; 3]], vertex: u32) -> DVec3 {
    DVec3::from_array(positions[vertex as usize].map(f64::from))
}

/// Masses from a density; see [`Mass::Density`].
fn lump(positions: &[[f32; 3]], faces: &[Face], lines: &[[u32; 2]], density: f32, pins: &[u32]) -> Result<Vec<f32>> {
    let expected = "finite and above zero, in kg/m² or kg/m";
    check("mass.density", None, density, f32::MIN_POSITIVE..=f32::MAX, expected)?;
    let mut extents = vec![0.0_f64; positions.len()];
    for face in faces {
        match *face {
            Face::Triangle(triangle) => {
                let [a, b, c] = triangle.map(|vertex| point(positions, vertex));
                let third = (b - a).cross(c - a).length() / 6.0;
                triangle.iter().for_each(|&vertex| extents[vertex as usize] += third);
            }
            Face::Quad(quad) => {
                let shares = quad_shares(quad.map(|vertex| point(positions, vertex)));
                for (vertex, share) in quad.into_iter().zip(shares) {
                    extents[vertex as usize] += share;
                }
            }
        }
    }
    for line in lines {
        let half = point(positions, line[0]).distance(point(positions, line[1])) / 2.0;
        line.iter().for_each(|&vertex| extents[vertex as usize] += half);
    }
    let mut masses = Vec::with_capacity(extents.len());
    for (index, extent) in extents.into_iter().enumerate() {
        let mass = (f64::from(density) * extent) as f32;
        let pinned = || pins.binary_search(&(index as u32)).is_ok();
        if mass >= LIGHTEST {
            check_mass(index, mass)?;
            masses.push(mass);
        } else if pinned() {
            masses.push(0.0);
        } else {
            return Err(Error::MasslessVertex { index });
        }
    }
    Ok(masses)
}

/// The areas of the four parts into which the lines between the middles of opposite sides cut a
/// quad, projected along its mean normal, m².
fn quad_shares(corners: [DVec3; 4]) -> [f64; 4] {
    let [a, b, c, d] = corners;
    let twice = (c - a).cross(d - b);
    let area = twice.length() / 2.0;
    let normal = twice.normalize_or_zero();
    let center = (a + b + c + d) / 4.0;
    let shares = [(d, a, b), (a, b, c), (b, c, d), (c, d, a)].map(|(previous, corner, next)| {
        // Half the cross product of the part's diagonals; the second is half of previous − next.
        normal.dot((center - corner).cross(previous - next)) / 4.0
    });
    if shares.iter().all(|&share| share > 0.0) { shares } else { [area / 4.0; 4] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_must_fit_incidence() {
        assert!(check_counts(u32::MAX as usize / 2, 0).is_ok());
        let vertices = check_counts(u32::MAX as usize / 2 + 1, 0);
        assert!(matches!(vertices, Err(Error::OutOfRange { field: "vertex count", .. })));
        assert!(check_counts(10, (u32::MAX as usize - 11) / 2).is_ok());
        let links = check_counts(10, (u32::MAX as usize - 11) / 2 + 1);
        assert!(matches!(links, Err(Error::OutOfRange { field: "link count", .. })));
    }

    #[test]
    fn shares_of_a_trapezium_follow_its_shape() {
        // Height 1, parallel sides 2 and 1: area 1.5, the middle line is 1.5 long.
        let corners = [[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let shares = quad_shares(corners.map(|[x, y]| DVec3::new(x, y, 0.0)));
        let expected = [0.4375, 0.4375, 0.3125, 0.3125];
        for (share, expected) in shares.into_iter().zip(expected) {
            assert!((share - expected).abs() < 1e-15, "{shares:?}");
        }
    }

    #[test]
    fn a_very_concave_quad_shares_equally() {
        let corners = [[0.0, 0.0], [1.0, 0.0], [0.01, 0.01], [0.0, 1.0]];
        let shares = quad_shares(corners.map(|[x, y]| DVec3::new(x, y, 0.0)));
        assert!(shares.iter().all(|&share| (share - 0.0025).abs() < 1e-15), "{shares:?}");
    }
}
