//! Projective dynamics (Bouaziz et al. 2014) with a matrix that is factorized once.
//!
//! E(x) = Σ_e ½ k ‖d_e − p_e‖² + Σ_t ½ k_t A_t ‖F_t − R_t‖², with p_e the vector of rest length along d_e, and R_t the
//! rotation nearest to the deformation F_t of a triangle. With p and R fixed, −∇E is the force of springs, and the
//! Hessian is a constant: the Laplacian of the graph, the same for all three axes. An iteration solves
//!
//! ```text
//! (M/h² + 𝓛) Δx = −∇F(x),   F(x) = ½ (x − x_0)ᵀ M (x − x_0)/h² + E(x)
//! ```
//!
//! which never raises F.

use faer::linalg::solvers::Solve;
use faer::sparse::linalg::solvers::Llt;
use faer::sparse::{SparseColMat, Triplet};
use faer::{Mat, Side};
use glam::{DMat3, DVec2, DVec3};

use super::system::max_strain;
use super::{Failure, Projection, Projector, System};

/// Edges shorter than this fraction of the rest length have no direction and pull nothing.
const COLLAPSED: f64 = 1e-12;

/// A triangle that keeps its shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShapeTerm {
    corners: [usize; 3],
    /// ∇N of each corner in the plane of the rest shape \[1/m\].
    slopes: [DVec2; 3],
    /// k_t A_t \[N·m\].
    weight: f64,
}

impl ShapeTerm {
    /// A triangle of this shape at rest; `None` if it has no area, or the stiffness \[N/m\] is not finite.
    #[must_use]
    pub fn new(corners: [usize; 3], rest: [[f64; 3]; 3], stiffness: f64) -> Option<Self> {
        let [a, b, c] = rest.map(DVec3::from);
        let x = (b - a).try_normalize()?;
        let (along, height) = ((c - a).dot(x), (b - a).cross(c - a).length() / (b - a).length());
        let two = DVec2::new(0.0, 1.0 / height);
        let one = DVec2::new(1.0, -along / height) / (b - a).length();
        let weight = stiffness * 0.5 * (b - a).length() * height;
        let term = Self { corners, slopes: [-one - two, one, two], weight };
        (two.is_finite() && one.is_finite() && weight.is_finite()).then_some(term)
    }

    /// The deformation F, columns in space.
    fn deformation(&self, positions: &[[f64; 3]]) -> [DVec3; 2] {
        let mut columns = [DVec3::ZERO; 2];
        for (corner, slope) in self.corners.iter().zip(self.slopes) {
            let x = DVec3::from(positions[*corner]);
            columns[0] += x * slope.x;
            columns[1] += x * slope.y;
        }
        columns
    }

    /// F − R.
    fn difference(&self, positions: &[[f64; 3]]) -> [DVec3; 2] {
        let [g, h] = self.deformation(positions);
        let rotation = nearest(DMat3::from_cols(g, h, g.cross(h).normalize_or_zero()));
        [g - rotation.x_axis, h - rotation.y_axis]
    }
}

/// The rotation nearest to a matrix, both as columns: R of its polar decomposition, with determinant +1 also where the
/// matrix mirrors.
///
/// ```
/// # #[cfg(feature = "reference")] {
/// // A quarter turn about z of what is twice as long along x.
/// let [x, y, z] = taut::reference::nearest_rotation([[0.0, 2.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]);
/// assert!((x[1] - 1.0).abs() < 1e-12 && (y[0] + 1.0).abs() < 1e-12 && (z[2] - 1.0).abs() < 1e-12);
/// # }
/// ```
#[must_use]
pub fn nearest_rotation(columns: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    nearest(DMat3::from_cols_array_2d(&columns)).to_cols_array_2d()
}

fn nearest(matrix: DMat3) -> DMat3 {
    let columns = matrix.to_cols_array_2d();
    let Ok(svd) = Mat::from_fn(3, 3, |i, j| columns[j][i]).svd() else { return DMat3::IDENTITY };
    let dense = |m: faer::MatRef<'_, f64>| {
        DMat3::from_cols_array_2d(&[0, 1, 2].map(|j: usize| [0, 1, 2].map(|i: usize| m[(i, j)])))
    };
    let (u, v) = (dense(svd.U()), dense(svd.V()));
    // The smallest singular value is the last: to turn it around costs least.
    let sign = if u.determinant() * v.determinant() < 0.0 { -1.0 } else { 1.0 };
    u * DMat3::from_diagonal(DVec3::new(1.0, 1.0, sign)) * v.transpose()
}

/// Projective dynamics as a projector.
#[derive(Debug, Clone)]
pub struct ProjectiveDynamics {
    /// Stiffness k of every edge in N/m.
    pub stiffness: f64,
    /// Triangles that keep their shape.
    pub shapes: Vec<ShapeTerm>,
    /// Iterations, at most.
    pub budget: usize,
    /// Iterations end when no vertex moves farther than this, in metres.
    pub tolerance: f64,
    /// The factors, the step that they are for, and the edges, masses and stiffness.
    factors: Option<(Matrix, Llt<usize, f64>)>,
}

/// What the matrix is made of.
#[derive(Debug, Clone, PartialEq)]
struct Matrix {
    h: f64,
    stiffness: f64,
    inverse_masses: Vec<f64>,
    edges: Vec<(u32, u32)>,
    shapes: Vec<ShapeTerm>,
}

impl ProjectiveDynamics {
    /// Until it has converged to rounding, or for a thousand iterations.
    #[must_use]
    pub fn new(stiffness: f64) -> Self {
        Self { stiffness, shapes: Vec::new(), budget: 1000, tolerance: 1e-15, factors: None }
    }

    /// The vector from the projection p of an edge to its own d; zero where it has no direction.
    fn stretch(system: &System, edge: usize) -> DVec3 {
        let (d, l) = (system.vector(edge), system.rests[edge]);
        let length = d.length();
        if length <= COLLAPSED * l { DVec3::ZERO } else { d * ((length - l) / length) }
    }

    /// E in joules.
    #[must_use]
    pub fn energy(&self, system: &System) -> f64 {
        let edges: f64 = (0..system.edges.len()).map(|e| Self::stretch(system, e).length_squared()).sum();
        let shape = |term: &ShapeTerm| {
            let [g, h] = term.difference(&system.positions);
            0.5 * term.weight * (g.length_squared() + h.length_squared())
        };
        0.5 * self.stiffness * edges + self.shapes.iter().map(shape).sum::<f64>()
    }

    /// −∇E with the projections fixed, in newtons.
    #[must_use]
    pub fn forces(&self, system: &System) -> Vec<[f64; 3]> {
        let mut forces = vec![DVec3::ZERO; system.positions.len()];
        for e in 0..system.edges.len() {
            let ((a, b), pull) = (system.ends(e), self.stiffness * Self::stretch(system, e));
            forces[a] += pull;
            forces[b] -= pull;
        }
        for term in &self.shapes {
            let [g, h] = term.difference(&system.positions);
            for (corner, slope) in term.corners.iter().zip(term.slopes) {
                forces[*corner] -= term.weight * (g * slope.x + h * slope.y);
            }
        }
        forces.iter().map(DVec3::to_array).collect()
    }

    /// F, with x_0 the positions of the unconstrained step of length h seconds.
    #[must_use]
    pub fn objective(&self, system: &System, predicted: &[[f64; 3]], h: f64) -> f64 {
        let inertia = system.positions.iter().zip(predicted).zip(&system.inverse_masses).filter(|(_, w)| **w > 0.0);
        let inertia = inertia.map(|((x, p), w)| (DVec3::from(*x) - DVec3::from(*p)).length_squared() / w);
        0.5 * inertia.sum::<f64>() / (h * h) + self.energy(system)
    }

    /// M/h² + 𝓛 of one axis, a row per free vertex in their order: it does not depend on positions.
    #[must_use]
    pub fn matrix(&self, system: &System, h: f64) -> SparseColMat<usize, f64> {
        let rows = rows(system);
        let mut entries = Vec::new();
        let mut couple = |a: usize, b: usize, weight: f64| {
            if let (Some(a), Some(b)) = (rows[a], rows[b]) {
                entries.push(Triplet::new(a, b, weight));
            }
        };
        for (v, w) in system.inverse_masses.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            couple(v, v, (w * h * h).recip());
        }
        for e in 0..system.edges.len() {
            let (a, b) = system.ends(e);
            for (row, column, sign) in [(a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)] {
                couple(row, column, sign * self.stiffness);
            }
        }
        for term in &self.shapes {
            for (row, along) in term.corners.iter().zip(term.slopes) {
                for (column, other) in term.corners.iter().zip(term.slopes) {
                    couple(*row, *column, term.weight * along.dot(other));
                }
            }
        }
        let size = rows.iter().flatten().count();
        SparseColMat::try_new_from_triplets(size, size, &entries).expect("rows are in range")
    }

    /// A local and a global step; returns the longest move in metres. On failure nothing has moved.
    ///
    /// # Errors
    /// [`Failure::Singular`] or [`Failure::NotFinite`].
    pub fn iterate(&mut self, system: &mut System, predicted: &[[f64; 3]], h: f64) -> Result<f64, Failure> {
        let matrix = Matrix {
            h,
            stiffness: self.stiffness,
            inverse_masses: system.inverse_masses.clone(),
            edges: system.edges.clone(),
            shapes: self.shapes.clone(),
        };
        let known = self.factors.take().filter(|(known, _)| *known == matrix);
        let factors = match known {
            Some((_, factors)) => factors,
            None => self.matrix(system, h).sp_cholesky(Side::Lower).map_err(|_| Failure::Singular)?,
        };
        let rows = rows(system);
        let mut right = Mat::<f64>::zeros(rows.iter().flatten().count(), 3);
        for (v, force) in self.forces(system).into_iter().enumerate() {
            if let Some(row) = rows[v] {
                let way = DVec3::from(system.positions[v]) - DVec3::from(predicted[v]);
                let inertia = way / (system.inverse_masses[v] * h * h);
                (0..3).for_each(|axis| right[(row, axis)] = force[axis] - inertia[axis]);
            }
        }
        factors.solve_in_place(right.as_mut());
        self.factors = Some((matrix, factors));
        if (0..right.nrows()).any(|row| (0..3).any(|axis| !right[(row, axis)].is_finite())) {
            return Err(Failure::NotFinite);
        }
        let mut longest: f64 = 0.0;
        for (x, row) in system.positions.iter_mut().zip(&rows) {
            if let Some(row) = *row {
                let way = DVec3::from_array([0, 1, 2].map(|axis| right[(row, axis)]));
                *x = (DVec3::from(*x) + way).to_array();
                longest = longest.max(way.length());
            }
        }
        Ok(longest)
    }
}

impl Projector for ProjectiveDynamics {
    fn project(&mut self, system: &mut System, _start: &[[f64; 3]], h: f64) -> Projection {
        let predicted = system.positions.clone();
        let (mut iterations, mut failure) = (0, Some(Failure::Budget));
        while iterations < self.budget {
            iterations += 1;
            match self.iterate(system, &predicted, h) {
                Ok(longest) if longest <= self.tolerance => {
                    failure = None;
                    break;
                }
                Ok(_) => {}
                Err(reason) => {
                    failure = Some(reason);
                    break;
                }
            }
        }
        // Jᵀ λ is the pull of an edge: λ = k (|d| − l) l/(2 |d|).
        let multiplier = |e: usize| {
            let (length, l) = (system.vector(e).length(), system.rests[e]);
            if length <= COLLAPSED * l { 0.0 } else { self.stiffness * (length - l) * l / (2.0 * length) }
        };
        Projection {
            strain: max_strain(system),
            iterations,
            regularized: 0,
            skipped: system.edges.len() - system.active_edges().len(),
            multipliers: (0..system.edges.len()).map(multiplier).collect(),
            failure,
        }
    }
}

/// Row of every free vertex.
fn rows(system: &System) -> Vec<Option<usize>> {
    let mut next = 0;
    let mut row = |w: &f64| {
        (*w > 0.0).then(|| {
            next += 1;
            next - 1
        })
    };
    system.inverse_masses.iter().map(&mut row).collect()
}
