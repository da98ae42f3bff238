//! Vertices, edges, and the constraint they make.

use faer::Mat;
use faer::sparse::{SparseColMat, Triplet};
use glam::DVec3;

use super::Failure;
use crate::cloth::scene::Scene;
use crate::error::{Error, Result};
use crate::mesh::topology::Topology;

/// Edge lengths below this fraction of the rest length count as zero.
const COLLAPSED: f64 = 1e-12;

/// A net of inextensible edges in double precision.
#[derive(Debug, Clone, PartialEq)]
pub struct System {
    /// Positions in metres.
    pub positions: Vec<[f64; 3]>,
    /// Inverse masses in 1/kg; 0 pins the vertex.
    pub inverse_masses: Vec<f64>,
    /// Tail and head vertex of each edge.
    pub edges: Vec<(u32, u32)>,
    /// Rest length of each edge in metres, greater than zero.
    pub rests: Vec<f64>,
}

impl System {
    /// Checks the parts and puts them together; see [`System::validate`].
    pub fn new(
        positions: Vec<[f64; 3]>,
        inverse_masses: Vec<f64>,
        edges: Vec<(u32, u32)>,
        rests: Vec<f64>,
    ) -> Result<Self> {
        let system = Self { positions, inverse_masses, edges, rests };
        system.validate()?;
        Ok(system)
    }

    /// The edges of a scene at its start, in the order of [`crate::Topology`], with the same numbers; springs and
    /// solids are left out.
    ///
    /// # Errors
    /// As [`System::validate`].
    pub fn of_scene(scene: &Scene) -> Result<Self> {
        let edges = Topology::new(&scene.mesh).yarns.edges;
        Self::new(
            scene.start.iter().map(|x| x.map(f64::from)).collect(),
            scene.mesh.inverse_masses().into_iter().map(f64::from).collect(),
            edges.iter().map(|edge| (edge.tail, edge.head)).collect(),
            edges.iter().map(|edge| f64::from(edge.rest)).collect(),
        )
    }

    /// Checks that lengths match, indices are in range, and numbers are usable.
    ///
    /// A rest length must have a finite positive reciprocal and an inverse mass must be the reciprocal of a positive,
    /// possibly infinite mass; what breaks this is reported as not finite.
    pub fn validate(&self) -> Result<()> {
        let vertex_count = self.positions.len();
        let lengths = [
            ("inverse_masses", vertex_count, self.inverse_masses.len()),
            ("rests", self.edges.len(), self.rests.len()),
        ];
        for (field, expected, found) in lengths {
            if expected != found {
                return Err(Error::LengthMismatch { field, expected, found });
            }
        }
        let first = |field, bad: Option<usize>| bad.map_or(Ok(()), |index| Err(Error::NotFinite { field, index }));
        first("positions", self.positions.iter().position(|x| !DVec3::from(*x).is_finite()))?;
        first("inverse_masses", self.inverse_masses.iter().position(|w| !(w.is_finite() && *w >= 0.0)))?;
        first("rests", self.rests.iter().position(|l| !(l.is_finite() && *l > 0.0 && l.recip().is_finite())))?;
        for (index, &(a, b)) in self.edges.iter().enumerate() {
            if let Some(value) = [a, b].into_iter().find(|&v| v as usize >= vertex_count) {
                return Err(Error::IndexOutOfRange { field: "edges", index, value, count: vertex_count });
            }
        }
        Ok(())
    }

    /// Tail and head of an edge.
    pub(super) fn ends(&self, edge: usize) -> (usize, usize) {
        let (a, b) = self.edges[edge];
        (a as usize, b as usize)
    }

    /// Edge vector d = x_b − x_a.
    pub(super) fn vector(&self, edge: usize) -> DVec3 {
        let (a, b) = self.ends(edge);
        DVec3::from(self.positions[b]) - DVec3::from(self.positions[a])
    }

    /// Constraint value C = |d|²/l − l of an edge, in metres.
    #[must_use]
    pub fn constraint(&self, edge: usize) -> f64 {
        let l = self.rests[edge];
        self.vector(edge).length_squared() / l - l
    }

    /// Constraint values of all edges.
    #[must_use]
    pub fn constraints(&self) -> Vec<f64> {
        (0..self.edges.len()).map(|e| self.constraint(e)).collect()
    }

    /// Gradient ∂C/∂x_b = 2d/l at the head of an edge; the gradient at the tail is its negative.
    #[must_use]
    pub fn direction(&self, edge: usize) -> [f64; 3] {
        self.gradient(edge).to_array()
    }

    pub(super) fn gradient(&self, edge: usize) -> DVec3 {
        self.vector(edge) * (2.0 / self.rests[edge])
    }

    /// Strain ε = |d|/l − 1 of an edge.
    #[must_use]
    pub fn strain(&self, edge: usize) -> f64 {
        self.vector(edge).length() / self.rests[edge] - 1.0
    }

    /// Edges with at least one free end, the rows a projector can do something about.
    #[must_use]
    pub fn active_edges(&self) -> Vec<usize> {
        (0..self.edges.len()).filter(|&e| self.is_active(e)).collect()
    }

    fn is_active(&self, edge: usize) -> bool {
        let (a, b) = self.ends(edge);
        self.inverse_masses[a] + self.inverse_masses[b] > 0.0
    }

    /// First edge between two pins that breaks the limit, which no projector can mend.
    pub(super) fn held_apart(&self, limit: f64) -> Option<Failure> {
        let broken = |e: &usize| !self.is_active(*e) && self.strain(*e).abs() > limit;
        (0..self.edges.len()).find(broken).map(|edge| Failure::Infeasible { edge })
    }

    /// First of `edges` whose ends coincide to working precision.
    pub(super) fn collapsed(&self, edges: &[usize]) -> Option<usize> {
        // A NaN length is not a collapse: the caller looks for those.
        edges.iter().copied().find(|&e| self.vector(e).length() <= COLLAPSED * self.rests[e])
    }

    /// W Jᵀ p: what multipliers `p` on `edges` do to the vertices.
    pub(super) fn spread(&self, edges: &[usize], p: &[f64]) -> Vec<DVec3> {
        let mut y = vec![DVec3::ZERO; self.positions.len()];
        for (&e, &p) in edges.iter().zip(p) {
            let ((a, b), g) = (self.ends(e), self.gradient(e));
            y[a] -= p * g;
            y[b] += p * g;
        }
        y.iter_mut().zip(&self.inverse_masses).for_each(|(y, &w)| *y *= w);
        y
    }

    /// J y on `edges`: how fast the constraints change when the vertices move by `y`.
    pub(super) fn gather(&self, edges: &[usize], y: &[DVec3]) -> Vec<f64> {
        let rate = |&e: &usize| self.gradient(e).dot(y[self.ends(e).1] - y[self.ends(e).0]);
        edges.iter().map(rate).collect()
    }

    /// A p = J W Jᵀ p on all edges, without forming A. `p` has one entry per edge.
    #[must_use]
    pub fn apply(&self, p: &[f64]) -> Vec<f64> {
        let edges: Vec<usize> = (0..self.edges.len()).collect();
        self.gather(&edges, &self.spread(&edges, p))
    }

    /// A = J W Jᵀ restricted to `edges`, both triangles stored; row i belongs to `edges[i]`.
    ///
    /// A_ee = 4 (w_a + w_b) |d|²/l², and ±4 w_v (d_e·d_f)/(l_e l_f) for edges that meet in a vertex v, negative when v
    /// is the head of one and the tail of the other.
    #[must_use]
    pub fn operator(&self, edges: &[usize]) -> SparseColMat<usize, f64> {
        let mut incident = vec![Vec::new(); self.positions.len()];
        for (row, &e) in edges.iter().enumerate() {
            let ((a, b), g) = (self.ends(e), self.gradient(e));
            incident[a].push((row, -g));
            incident[b].push((row, g));
        }
        let mut entries = Vec::new();
        for (around, &w) in incident.iter().zip(&self.inverse_masses) {
            if w > 0.0 {
                for &(row, g) in around {
                    entries.extend(around.iter().map(|&(col, other)| Triplet::new(row, col, w * g.dot(other))));
                }
            }
        }
        SparseColMat::try_new_from_triplets(edges.len(), edges.len(), &entries)
            .expect("rows and columns are positions in `edges`")
    }

    /// A on all edges as a dense matrix.
    #[must_use]
    pub fn dense_operator(&self) -> Mat<f64> {
        self.operator(&(0..self.edges.len()).collect::<Vec<_>>()).to_dense()
    }

    /// Eigenvalues of A on the active edges in ascending order, by a dense solver: for small systems.
    #[must_use]
    pub fn eigenvalues(&self) -> Vec<f64> {
        self.operator(&self.active_edges())
            .to_dense()
            .self_adjoint_eigenvalues(faer::Side::Lower)
            .expect("the operator is finite")
    }
}

/// Largest |ε| over all edges; 0 without edges, NaN if any strain is.
#[must_use]
pub fn max_strain(system: &System) -> f64 {
    strain_over(system, 0..system.edges.len())
}

pub(super) fn strain_over(system: &System, edges: impl IntoIterator<Item = usize>) -> f64 {
    let widest = |worst: f64, strain: f64| {
        if worst.is_nan() || strain <= worst { worst } else { strain }
    };
    edges.into_iter().map(|e| system.strain(e).abs()).fold(0.0, widest)
}
