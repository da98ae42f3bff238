//! Which vertices are joined, and how: edges and springs in canonical order.

use super::check::SHORTEST;
use super::mass::point;
use super::swatch::Fabrics;
use super::weave::Woven;
use super::{EdgeKind, EdgeOverride, Face};
use crate::error::{Error, Result};
use crate::mesh::Link;

/// A pair of vertices as one number that sorts by (lower, higher).
pub(super) fn key(a: u32, b: u32) -> u64 {
    (u64::from(a.min(b)) << 32) | u64::from(a.max(b))
}

pub(super) fn ends(key: u64) -> [u32; 2] {
    [(key >> 32) as u32, key as u32]
}

/// The pairs of vertices that the faces and lines join, sorted.
pub(super) struct Pairs {
    /// Sides of faces and lines, each once.
    pub(super) edges: Vec<u64>,
    /// Lines that are not the side of a face, each once.
    pub(super) lines: Vec<u64>,
    /// Diagonals of quads and their stiffness \[N/m\], as often as there are quads.
    diagonals: Vec<(u64, f32)>,
    /// Sides of quads and lines: inextensible whatever triangles are beside them.
    fixed: Vec<u64>,
}

impl Pairs {
    pub(super) fn new(faces: &[Face], lines: &[[u32; 2]], fabrics: &Fabrics) -> Self {
        let mut edges = Vec::with_capacity(4 * faces.len());
        let mut diagonals = Vec::with_capacity(2 * faces.len());
        let mut fixed: Vec<u64> = lines.iter().map(|&[a, b]| key(a, b)).collect();
        for (index, face) in faces.iter().enumerate() {
            let vertices = face.vertices();
            let following = vertices.iter().cycle().skip(1);
            edges.extend(vertices.iter().zip(following).map(|(&a, &b)| key(a, b)));
            if let Face::Quad([a, b, c, d]) = *face {
                fixed.extend([key(a, b), key(b, c), key(c, d), key(d, a)]);
                let shear = fabrics.shear(index);
                diagonals.extend([(key(a, c), shear), (key(b, d), shear)]);
            }
        }
        edges.sort_unstable();
        edges.dedup();
        // Equal pairs by their stiffness, too: sums do not depend on the order of the faces.
        diagonals.sort_unstable_by_key(|(pair, shear)| (*pair, shear.to_bits()));
        fixed.sort_unstable();
        fixed.dedup();

        let mut lines: Vec<u64> = lines.iter().map(|&[a, b]| key(a, b)).collect();
        lines.sort_unstable();
        lines.dedup();
        lines.retain(|line| edges.binary_search(line).is_err());
        edges.extend(&lines);
        // Two sorted runs: the stable sort merges them in linear time.
        edges.sort();
        Self { edges, lines, diagonals, fixed }
    }

    /// Whether weaving must leave a pair inextensible.
    pub(super) fn is_fixed(&self, pair: u64) -> bool {
        self.fixed.binary_search(&pair).is_ok()
    }
}

/// Collects the links of a mesh.
pub(super) struct Links<'a> {
    positions: &'a [[f32; 3]],
    /// Sorted by pair, each pair once.
    overrides: Vec<(u64, &'a EdgeOverride)>,
    edges: Vec<Link>,
    springs: Vec<Link>,
}

impl<'a> Links<'a> {
    /// The edges and the springs, each in canonical order.
    pub(super) fn collect(
        positions: &'a [[f32; 3]],
        pairs: &Pairs,
        woven: &Woven,
        overrides: &'a [EdgeOverride],
    ) -> Result<(Vec<Link>, Vec<Link>)> {
        let is_edge = |pair: &u64| pairs.edges.binary_search(pair).is_ok();
        let mut sorted = Vec::with_capacity(overrides.len());
        for change in overrides {
            let pair = key(change.ends[0], change.ends[1]);
            if !is_edge(&pair) && pairs.diagonals.binary_search_by_key(&pair, |(diagonal, _)| *diagonal).is_err() {
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
            let stiffness = woven.springs.get(&pair).map(|stiffness| *stiffness as f32);
            links.add(pair, stiffness.map_or(EdgeKind::Inextensible, |stiffness| EdgeKind::Spring { stiffness }))?;
        }
        for same in pairs.diagonals.chunk_by(|a, b| a.0 == b.0) {
            if !is_edge(&same[0].0) {
                let stiffness = same.iter().map(|(_, shear)| f64::from(*shear)).sum::<f64>() as f32;
                links.add(same[0].0, EdgeKind::Spring { stiffness })?;
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
            EdgeKind::Inextensible | EdgeKind::Compliant { .. } | EdgeKind::Rope | EdgeKind::Limited { .. } => 0.0,
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
            EdgeKind::Spring { .. } => &mut self.springs,
            _ => &mut self.edges,
        };
        list.push(Link { tail, head, rest, stiffness });
        Ok(())
    }
}
