//! Stiff springs integrated implicitly: what the paper's figure 4 sets fast projection against.
//!
//! Backward Euler with a spring of stiffness k on every edge asks for M (x − x_0) = h² f(x), where x_0 is the end of
//! the same unconstrained step that the projectors start from and f pulls each edge with k (|d| − l). So springs fit
//! the same interface: they move x_0 towards the constraints, and reach them as k grows without bound. Newton's method
//! starts from x^n and solves
//!
//! ```text
//! (M + h² K(x_j)) Δx = h² f(x_j) − M (x_j − x_0),   K_e = k n nᵀ + k max(0, 1 − l/|d|) (I − n nᵀ)
//! ```
//!
//! The part of the Hessian across the edge is negative under compression; it is clamped there, so the matrix is
//! positive definite and Cholesky always does.

use faer::linalg::solvers::Solve;
use faer::sparse::{SparseColMat, Triplet};
use faer::{Mat, Side};
use glam::{DMat3, DVec3};

use super::system::max_strain;
use super::{Failure, Projection, Projector, RunReport, System};

/// Edges shorter than this fraction of the rest length have no direction and pull nothing.
const COLLAPSED: f64 = 1e-12;

/// Springs instead of constraints, as a projector.
///
/// Cost: one sparse Cholesky factorisation per Newton step. There is no strain limit to hold: the report says what
/// strain the stiffness allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImplicitSprings {
    /// Stiffness k of every edge in N/m, whatever its length.
    pub stiffness: f64,
    /// Newton steps, at most. One is the usual method, in which case the rest of the residual is no failure.
    pub budget: usize,
    /// Newton stops when no vertex moves farther than this, in metres.
    pub tolerance: f64,
}

impl ImplicitSprings {
    /// One linear solve per step.
    #[must_use]
    pub fn new(stiffness: f64) -> Self {
        Self { stiffness, budget: 1, tolerance: 0.0 }
    }

    /// Newton until it has converged: backward Euler to rounding.
    #[must_use]
    pub fn converged(stiffness: f64) -> Self {
        Self { stiffness, budget: 60, tolerance: 1e-13 }
    }

    /// M + h² K at `system.positions`, three rows per free vertex in their order, both triangles stored.
    #[must_use]
    pub fn matrix(&self, system: &System, h: f64) -> SparseColMat<usize, f64> {
        let (slots, size) = slots(system);
        let mut entries = Vec::new();
        for (slot, w) in slots.iter().zip(&system.inverse_masses) {
            if let Some(slot) = *slot {
                entries.extend((0..3).map(|axis| Triplet::new(slot + axis, slot + axis, w.recip())));
            }
        }
        for e in 0..system.edges.len() {
            let ((a, b), block) = (system.ends(e), self.hessian(system, e) * (h * h));
            let ends = [(slots[a], -1.0), (slots[b], 1.0)];
            for (row, sign) in ends.iter().filter_map(|&(slot, sign)| Some((slot?, sign))) {
                for (col, other) in ends.iter().filter_map(|&(slot, sign)| Some((slot?, sign))) {
                    for i in 0..3 {
                        let entry = |j: usize| Triplet::new(row + i, col + j, sign * other * block.col(j)[i]);
                        entries.extend((0..3).map(entry));
                    }
                }
            }
        }
        SparseColMat::try_new_from_triplets(size, size, &entries).expect("slots are in range")
    }

    /// The definite part of the Hessian of ½ k (|d| − l)² in d, in N/m.
    fn hessian(&self, system: &System, edge: usize) -> DMat3 {
        let (d, l) = (system.vector(edge), system.rests[edge]);
        let length = d.length();
        if length <= COLLAPSED * l {
            return DMat3::ZERO;
        }
        let n = d / length;
        let along = DMat3::from_cols(n * n.x, n * n.y, n * n.z);
        let across = (1.0 - l / length).max(0.0);
        self.stiffness * (along + across * (DMat3::IDENTITY - along))
    }

    /// Multiplier λ of an edge in newtons such that Jᵀ λ is the pull of its spring: k (|d| − l) l / (2 |d|).
    fn multiplier(&self, system: &System, edge: usize) -> f64 {
        let (length, l) = (system.vector(edge).length(), system.rests[edge]);
        if length <= COLLAPSED * l { 0.0 } else { self.stiffness * (length - l) * l / (2.0 * length) }
    }

    /// One Newton step; returns the longest move in metres. On failure nothing has moved.
    fn newton(&self, system: &mut System, predicted: &[[f64; 3]], h: f64) -> Result<f64, Failure> {
        let (slots, size) = slots(system);
        let edges = system.active_edges();
        let mu: Vec<f64> = edges.iter().map(|&e| h * h * self.multiplier(system, e)).collect();
        let pull = system.spread(&edges, &mu);
        let mut right = Mat::<f64>::zeros(size, 1);
        for (v, slot) in slots.iter().enumerate() {
            if let Some(slot) = *slot {
                let error = DVec3::from(system.positions[v]) - DVec3::from(predicted[v]) + pull[v];
                (0..3).for_each(|axis| right[(slot + axis, 0)] = -error[axis] / system.inverse_masses[v]);
            }
        }
        let llt = self.matrix(system, h).sp_cholesky(Side::Lower).map_err(|_| Failure::Singular)?;
        llt.solve_in_place(right.as_mut());
        if (0..size).any(|i| !right[(i, 0)].is_finite()) {
            return Err(Failure::NotFinite);
        }
        let mut longest: f64 = 0.0;
        for (x, slot) in system.positions.iter_mut().zip(&slots) {
            if let Some(slot) = *slot {
                let way = DVec3::from_array([0, 1, 2].map(|axis| right[(slot + axis, 0)]));
                *x = (DVec3::from(*x) + way).to_array();
                longest = longest.max(way.length());
            }
        }
        Ok(longest)
    }
}

/// First row of each free vertex in the matrix, and the number of rows.
fn slots(system: &System) -> (Vec<Option<usize>>, usize) {
    let mut size = 0;
    let mut next = |w: &f64| {
        (*w > 0.0).then(|| {
            size += 3;
            size - 3
        })
    };
    let slots = system.inverse_masses.iter().map(&mut next).collect();
    (slots, size)
}

impl Projector for ImplicitSprings {
    fn project(&mut self, system: &mut System, start: &[[f64; 3]], h: f64) -> Projection {
        let predicted = system.positions.clone();
        // Springs are linearised about the start of the step; pins are already where they go.
        for ((x, start), w) in system.positions.iter_mut().zip(start).zip(&system.inverse_masses) {
            if *w > 0.0 {
                *x = *start;
            }
        }
        let mut iterations = 0;
        let failure = loop {
            if iterations >= self.budget {
                break (self.budget > 1).then_some(Failure::Budget);
            }
            match self.newton(system, &predicted, h) {
                Ok(longest) => {
                    iterations += 1;
                    if longest <= self.tolerance {
                        break None;
                    }
                }
                Err(failure) => break Some(failure),
            }
        };
        let mut multipliers = vec![0.0; system.edges.len()];
        let active = system.active_edges();
        active.iter().for_each(|&e| multipliers[e] = self.multiplier(system, e));
        Projection {
            strain: max_strain(system),
            iterations,
            regularized: 0,
            skipped: system.edges.len() - active.len(),
            multipliers,
            failure,
        }
    }
}

/// A stiffness that holds a strain limit, and the run in which it did.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The stiffness in N/m.
    pub stiffness: f64,
    /// The run with this stiffness: no failure, and no strain above the limit.
    pub report: RunReport,
    /// Runs that the search took.
    pub runs: usize,
}

/// Looks for the smallest stiffness in `range` (N/m) with which `run` holds the strain `limit`, to 0.1 %.
///
/// `run` makes one run with the stiffness it is given, always from the same start. The search climbs from the low end
/// by factors of 4 until a run holds the limit, then halves the logarithm of that factor. This takes for granted that
/// a stiffer spring stretches less, which a single linear solve per step does not promise: an edge that turns by θ in
/// a step comes out about θ²/2 too long at any stiffness. So the answer is always a stiffness whose own run held the
/// limit, and `None` means that no stiffness tried did; a shorter step may.
pub fn search_stiffness(limit: f64, range: [f64; 2], mut run: impl FnMut(f64) -> RunReport) -> Option<Found> {
    let mut runs = 0;
    let mut attempt = |stiffness: f64| {
        runs += 1;
        let report = run(stiffness);
        (report.failures == 0 && report.strain_max <= limit).then_some((stiffness, report))
    };
    let [mut low, most] = range;
    let mut best = attempt(low);
    if best.is_none() {
        while best.is_none() && low < most {
            let next = (4.0 * low).min(most);
            best = attempt(next);
            if best.is_none() {
                low = next;
            }
        }
        while let Some((high, _)) = best
            && high > 1.001 * low
        {
            let middle = (low * high).sqrt();
            match attempt(middle) {
                Some(held) => best = Some(held),
                None => low = middle,
            }
        }
    }
    let (stiffness, report) = best?;
    Some(Found { stiffness, report, runs })
}
