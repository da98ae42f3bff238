//! SHAKE and RATTLE: the constraint direction is taken at the start of the step (section 4 and appendix A of the
//! paper, which quotes Barth et al. 1994).
//!
//! The step asks for x = x_0 − h² W J(x^n)ᵀ λ and C(x) = 0. With μ = h² λ, Newton's method solves
//!
//! ```text
//! (J(x_j) W J(x^n)ᵀ) Δμ = C(x_j),   x_{j+1} = x_j − W J(x^n)ᵀ Δμ
//! ```
//!
//! The matrix is square but not symmetric. No multiple of the old direction need reach C = 0, the product may be
//! singular, and so may either factor: all four end in a [`Failure`]. Small steps avoid them.

use faer::Mat;
use faer::linalg::solvers::Solve;
use faer::sparse::linalg::solvers::Lu;
use faer::sparse::{SparseColMat, Triplet};
use glam::DVec3;

use super::system::{max_strain, strain_over};
use super::{Failure, Projection, Projector, System, project_velocities, step};

/// Old factors are given up when an iteration leaves more than this fraction of the largest strain.
const SLOW: f64 = 0.5;
/// A relative residual above this is no solution.
const SOLVED: f64 = 1e-6;
/// A Newton step longer than this many times the length of all edges together comes from a singular matrix.
const REACH: f64 = 1e3;

/// SHAKE as a projector.
///
/// Cost: two triangular solves per iteration, and one sparse LU factorisation per step, or more when Newton does not
/// converge with the old one (the acceleration of section 5). At least one iteration is done, also when all strains
/// are in range, for the same reason as in [`super::FastProjection`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shake {
    /// Largest |ε| to accept.
    pub limit: f64,
    /// Newton steps, at most.
    pub budget: usize,
    /// Keep the factors while they serve; otherwise every Newton step has its own.
    pub reuse: bool,
    /// Factorisations so far, over all projections.
    pub factorizations: usize,
}

impl Default for Shake {
    fn default() -> Self {
        Self { limit: 1e-12, budget: 60, reuse: true, factorizations: 0 }
    }
}

impl Projector for Shake {
    fn project(&mut self, system: &mut System, start: &[[f64; 3]], h: f64) -> Projection {
        let old = System { positions: start.to_vec(), ..system.clone() };
        let active = system.active_edges();
        let mut mu = vec![0.0; active.len()];
        let mut iterations = 0;
        let failure = self.newton(system, &old, &active, &mut mu, &mut iterations).err();
        let mut multipliers = vec![0.0; system.edges.len()];
        active.iter().zip(&mu).for_each(|(&e, mu)| multipliers[e] = mu / (h * h));
        Projection {
            strain: max_strain(system),
            iterations,
            regularized: 0,
            skipped: system.edges.len() - active.len(),
            multipliers,
            failure: failure.or_else(|| system.held_apart(self.limit)),
        }
    }
}

impl Shake {
    /// Newton's method on μ. A step that fails is not taken, so the positions stay finite.
    fn newton(
        &mut self,
        system: &mut System,
        old: &System,
        active: &[usize],
        mu: &mut [f64],
        iterations: &mut usize,
    ) -> Result<(), Failure> {
        let reach = REACH * system.rests.iter().sum::<f64>();
        let mut factors = None;
        let mut before = f64::INFINITY;
        loop {
            let strain = strain_over(system, active.iter().copied());
            if !strain.is_finite() {
                return Err(Failure::NotFinite);
            }
            if active.is_empty() || (strain <= self.limit && *iterations > 0) {
                return Ok(());
            }
            if let Some(edge) = old.collapsed(active).or_else(|| system.collapsed(active)) {
                return Err(Failure::CollapsedEdge { edge });
            }
            if *iterations >= self.budget {
                return Err(Failure::Budget);
            }
            if !self.reuse || strain > SLOW * before {
                factors = None;
            }
            before = strain;

            let current = match factors.take() {
                Some(current) => current,
                None => {
                    self.factorizations += 1;
                    Factors::new(product(system, old, active))?
                }
            };
            let values: Vec<f64> = active.iter().map(|&e| system.constraint(e)).collect();
            let change = current.solve(&values)?;
            let moves = old.spread(active, &change);
            if moves.iter().any(|step| step.length() > reach) {
                return Err(Failure::Singular);
            }
            for (x, step) in system.positions.iter_mut().zip(&moves) {
                *x = (DVec3::from(*x) - *step).to_array();
            }
            mu.iter_mut().zip(&change).for_each(|(mu, change)| *mu += change);
            *iterations += 1;
            factors = Some(current);
        }
    }
}

/// J(x) W J(x^n)ᵀ on `edges`: the rows from `system`, the columns from `old`.
fn product(system: &System, old: &System, edges: &[usize]) -> SparseColMat<usize, f64> {
    let mut incident = vec![Vec::new(); system.positions.len()];
    for (row, &e) in edges.iter().enumerate() {
        let ((a, b), now, then) = (system.ends(e), system.gradient(e), old.gradient(e));
        incident[a].push((row, -now, -then));
        incident[b].push((row, now, then));
    }
    let mut entries = Vec::new();
    for (around, &w) in incident.iter().zip(&system.inverse_masses) {
        if w > 0.0 {
            for &(row, now, _) in around {
                entries.extend(around.iter().map(|&(col, _, then)| Triplet::new(row, col, w * now.dot(then))));
            }
        }
    }
    SparseColMat::try_new_from_triplets(edges.len(), edges.len(), &entries)
        .expect("rows and columns are positions in `edges`")
}

/// A matrix and its LU factors.
struct Factors {
    matrix: SparseColMat<usize, f64>,
    lu: Lu<usize, f64>,
}

impl Factors {
    fn new(matrix: SparseColMat<usize, f64>) -> Result<Self, Failure> {
        // A row of zeros is singular whatever the rounding of its pivot: an edge that turned by a right angle is the
        // smallest example.
        let mut rows = vec![0.0f64; matrix.nrows()];
        matrix.triplet_iter().for_each(|t| rows[t.row] = rows[t.row].max(t.val.abs()));
        if rows.contains(&0.0) {
            return Err(Failure::Singular);
        }
        let lu = matrix.sp_lu().map_err(|_| Failure::Singular)?;
        Ok(Self { matrix, lu })
    }

    fn solve(&self, right: &[f64]) -> Result<Vec<f64>, Failure> {
        let right = Mat::from_fn(right.len(), 1, |i, _| right[i]);
        let found = self.lu.solve(&right);
        let values: Vec<f64> = found.col(0).iter().copied().collect();
        let solved = (&self.matrix * &found - &right).norm_max() <= SOLVED * right.norm_max();
        if solved && values.iter().all(|x| x.is_finite()) { Ok(values) } else { Err(Failure::Singular) }
    }
}

/// One step of RATTLE: half the pull of gravity, SHAKE, the other half, and the velocities projected so that J v = 0
/// at the end of the step. Second order, where the velocity (x − x^n)/h of [`step`] belongs to the middle of the step.
///
/// Start with velocities that do not stretch; see [`project_velocities`]. Returns the projection and the largest
/// |J v| that remains, in m/s. After a failure the velocities are those of SHAKE, unprojected, and |J v| is NaN.
pub fn rattle_step(
    system: &mut System,
    velocities: &mut [[f64; 3]],
    gravity: [f64; 3],
    h: f64,
    shake: &mut Shake,
) -> (Projection, f64) {
    let half = gravity.map(|g| 0.5 * g);
    let projection = step(system, velocities, half, h, shake);
    if projection.failure.is_some() {
        return (projection, f64::NAN);
    }
    for (v, w) in velocities.iter_mut().zip(&system.inverse_masses) {
        if *w > 0.0 {
            *v = (DVec3::from(*v) + h * DVec3::from(half)).to_array();
        }
    }
    let rate = project_velocities(system, velocities);
    (projection, rate)
}
