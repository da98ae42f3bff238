//! What about the shape of a mesh makes a simulation of it dear or poor.

use std::fmt;

use glam::DVec3;

use super::Mesh;
use super::mass::point;

/// Where a mesh is uneven, folded or thin ([`Mesh::quality`]). Nothing of it is an error: edges that are much shorter
/// than the mean take more substeps ([`crate::cloth::substeps`]), and around faces that are folded or thin at rest no
/// solver may hold the strain limit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeshQuality {
    /// Mean rest length of the inextensible edges \[m\]; 0 where there are none.
    pub mean_edge: f64,
    /// The shortest of them and its ends \[m\].
    pub shortest_edge: Option<(f64, [u32; 2])>,
    /// The longest of them and its ends \[m\].
    pub longest_edge: Option<(f64, [u32; 2])>,
    /// The lightest vertex that is not pinned, and its mass as a part of their mean.
    pub lightest: Option<(f64, u32)>,
    /// Quads with a corner that turns the other way, by their number in [`Mesh::faces`]: concave, crossed or folded
    /// over.
    pub folded: Vec<u32>,
    /// Faces with a corner of less than 11.5° or more than 168.5° (a sine below 0.2) that are not folded.
    pub slivers: Vec<u32>,
}

/// Sine of a corner below which a face is a sliver.
const THIN: f64 = 0.2;
/// Mean over shortest edge above which a mesh is called uneven.
const UNEVEN: f64 = 4.0;

impl MeshQuality {
    /// Mean over shortest edge: 1 on an even mesh.
    pub fn edge_ratio(&self) -> f64 {
        self.shortest_edge.map_or(1.0, |(shortest, _)| self.mean_edge / shortest)
    }
}

/// What is worth saying, in a sentence; empty for a good mesh.
impl fmt::Display for MeshQuality {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some((shortest, [a, b])) = self.shortest_edge.filter(|_| self.edge_ratio() > UNEVEN) {
            let (shortest, mean) = (1e3 * shortest, 1e3 * self.mean_edge);
            parts.push(format!("shortest edge {shortest:.3} mm ({a}–{b}), mean {mean:.3} mm"));
        }
        for (faces, one, many) in
            [(&self.folded, "folded quad", "folded quads"), (&self.slivers, "thin face", "thin faces")]
        {
            match faces.as_slice() {
                [] => {}
                [face] => parts.push(format!("1 {one} (face {face})")),
                [first, ..] => parts.push(format!("{} {many} (first: face {first})", faces.len())),
            }
        }
        if !self.folded.is_empty() || !self.slivers.is_empty() {
            parts.push("the limit may not hold there".to_owned());
        }
        formatter.write_str(&parts.join(", "))
    }
}

impl Mesh {
    /// Where the mesh is uneven, folded or thin at rest.
    pub fn quality(&self) -> MeshQuality {
        let edges = || self.edges().iter().map(|edge| (f64::from(edge.rest), [edge.tail, edge.head]));
        let count = self.edge_count().max(1) as f64;
        let free = || self.inverse_masses().into_iter().zip(0..).filter(|(w, _)| *w > 0.0);
        let mass = |w: f32| 1.0 / f64::from(w);
        let mean_mass = free().map(|(w, _)| mass(w)).sum::<f64>() / free().count().max(1) as f64;
        let mut quality = MeshQuality {
            mean_edge: edges().map(|(rest, _)| rest).sum::<f64>() / count,
            shortest_edge: edges().min_by(|a, b| a.0.total_cmp(&b.0)),
            longest_edge: edges().max_by(|a, b| a.0.total_cmp(&b.0)),
            lightest: free().max_by(|a, b| a.0.total_cmp(&b.0)).map(|(w, v)| (mass(w) / mean_mass, v)),
            folded: Vec::new(),
            slivers: Vec::new(),
        };
        for (face, number) in self.faces().iter().zip(0..) {
            let corners: Vec<DVec3> = face.vertices().iter().map(|&v| point(self.positions(), v)).collect();
            let turns = turns(&corners);
            // A corner without a turn is as thin as can be.
            let mean: DVec3 = turns.iter().sum::<DVec3>().normalize_or_zero();
            if turns.iter().any(|turn| turn.dot(mean) < 0.0) {
                quality.folded.push(number);
            } else if turns.iter().any(|turn| turn.dot(mean) < THIN) {
                quality.slivers.push(number);
            }
        }
        quality
    }
}

/// Of each corner: the normal of its sides, as long as the sine between them.
fn turns(corners: &[DVec3]) -> Vec<DVec3> {
    let count = corners.len();
    let side = |k: usize| (corners[(k + 1) % count] - corners[k % count]).normalize_or_zero();
    (0..count).map(|k| side(k + count - 1).cross(side(k))).collect()
}

#[cfg(test)]
mod tests {
    use crate::mesh::{Mesh, MeshDescriptor};

    fn quad(corners: [[f32; 2]; 4]) -> Mesh {
        let positions = corners.map(|[x, y]| [x, y, 0.0]).to_vec();
        let descriptor = MeshDescriptor { positions, faces: vec![[0, 1, 2, 3].into()], ..Default::default() };
        Mesh::new(descriptor).expect("the quad is valid")
    }

    #[test]
    fn folded_and_thin_quads_are_told_apart() {
        let square = quad([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]).quality();
        assert!(square.folded.is_empty() && square.slivers.is_empty() && square.to_string().is_empty(), "{square:?}");
        // Long is not thin.
        let long = quad([[0.0, 0.0], [1.0, 0.0], [1.0, 0.02], [0.0, 0.02]]).quality();
        assert!(long.folded.is_empty() && long.slivers.is_empty(), "{long:?}");
        assert!((long.edge_ratio() - 25.5).abs() < 1e-4, "{long:?}");
        assert_eq!(long.to_string(), "shortest edge 20.000 mm (0–3), mean 510.000 mm");
        let crossed = quad([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.9, 0.5]]).quality();
        assert_eq!((crossed.folded.as_slice(), crossed.slivers.len()), ([0].as_slice(), 0), "{crossed:?}");
        let concave = quad([[0.0, 0.0], [1.0, 0.0], [0.3, 0.3], [0.0, 1.0]]).quality();
        assert_eq!(concave.folded, [0]);
        assert_eq!(concave.to_string(), "1 folded quad (face 0), the limit may not hold there");
        let skew = quad([[0.0, 0.0], [1.0, 0.0], [2.0, 0.15], [1.0, 0.15]]).quality();
        assert_eq!((skew.folded.len(), skew.slivers.as_slice()), (0, [0].as_slice()), "{skew:?}");
    }
}
