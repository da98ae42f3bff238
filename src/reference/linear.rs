//! Symmetric positive semi-definite systems, solved directly.

use faer::linalg::solvers::Solve;
use faer::sparse::linalg::solvers::{Llt, SymbolicLlt};
use faer::sparse::{SparseColMat, Triplet};
use faer::{Mat, Side};

/// A relative residual up to here is a solution.
const SOLVED: f64 = 1e-8;
/// Size of the shift of a singular matrix, relative to its diagonal.
const SHIFT: f64 = 1e-9;
/// A smallest eigenvalue below this, relative to the diagonal, is rounding.
const SINGULAR: f64 = 1e-14;
/// Refinement passes after a factorisation, at most.
const PASSES: usize = 20;

/// Solution of A μ = b.
#[derive(Debug)]
pub(super) struct Solution {
    pub(super) values: Vec<f64>,
    /// |b − A μ| / |b|.
    pub(super) residual: f64,
    /// Cholesky was not enough.
    pub(super) regularized: bool,
}

/// Solves A μ = b for a symmetric positive semi-definite A with a positive diagonal.
///
/// Cholesky first. A cloth pulled straight between two pins has one multiplier too many, so A is singular there and
/// Cholesky either fails or, its last pivot being rounding, fills the null space with large numbers. In both cases
/// A + σD is factorised instead, D the diagonal of A, and each pass adds (A + σD)⁻¹ of a residual from which
/// A (A + σD)⁻¹ has filtered the part outside the range. That converges to a least-squares solution with next to
/// nothing in the null space, whether or not the system has a solution.
pub(super) fn solve(a: &SparseColMat<usize, f64>, b: &[f64]) -> Solution {
    let scale = norm(b);
    if scale == 0.0 {
        return Solution { values: vec![0.0; b.len()], residual: 0.0, regularized: false };
    }
    let symbolic = SymbolicLlt::try_new(a.symbolic(), Side::Lower).expect("memory for the factorisation");
    let diagonal: Vec<f64> = (0..b.len()).map(|i| a[(i, i)]).collect();
    let direct = factorize(&symbolic, a)
        .filter(|llt| smallest_eigenvalue(llt, &diagonal) > SINGULAR)
        .map(|llt| refine(a, b, scale, |r| back_substitute(&llt, r)));
    if let Some((values, residual)) = &direct
        && *residual <= SOLVED
    {
        return Solution { values: values.clone(), residual: *residual, regularized: false };
    }

    let shift: Vec<f64> = diagonal.iter().map(|d| SHIFT * d).collect();
    let shifted = a.triplet_iter().map(|t| Triplet::new(t.row, t.col, *t.val));
    let shifted: Vec<_> = shifted.chain(shift.iter().enumerate().map(|(i, &s)| Triplet::new(i, i, s))).collect();
    let shifted = SparseColMat::try_new_from_triplets(b.len(), b.len(), &shifted).expect("the pattern of A");
    let least_squares = factorize(&symbolic, &shifted).map(|llt| {
        refine(a, b, scale, |r| {
            let outside = back_substitute(&llt, r);
            let inside: Vec<f64> = (0..r.len()).map(|i| r[i] - shift[i] * outside[i]).collect();
            back_substitute(&llt, &inside)
        })
    });

    // Near-singular is not singular: where the shift hides a mode that Cholesky still resolves, Cholesky is right.
    let (direct_residual, shifted_residual) = (residual_of(&direct), residual_of(&least_squares));
    let regularized = direct_residual >= shifted_residual;
    let chosen = if regularized { least_squares } else { direct };
    match chosen {
        Some((values, residual)) => Solution { values, residual, regularized },
        None => Solution { values: vec![f64::NAN; b.len()], residual: f64::INFINITY, regularized },
    }
}

/// Adds corrections to zero while they shrink the residual noticeably; returns the best values and their residual.
fn refine(
    a: &SparseColMat<usize, f64>,
    b: &[f64],
    scale: f64,
    mut correct: impl FnMut(&[f64]) -> Vec<f64>,
) -> (Vec<f64>, f64) {
    let mut best = (vec![0.0; b.len()], 1.0);
    let mut r = b.to_vec();
    for _ in 0..PASSES {
        let values: Vec<f64> = best.0.iter().zip(correct(&r)).map(|(v, c)| v + c).collect();
        r = remainder(a, b, &values);
        let residual = norm(&r) / scale;
        let halved = residual < 0.5 * best.1;
        if residual < best.1 {
            best = (values, residual);
        }
        if !halved {
            break;
        }
    }
    best
}

/// Smallest λ of A z = λ D z, by two steps of inverse iteration from a vector without symmetry: an upper bound, right
/// in order of magnitude, NaN when the factors are useless.
fn smallest_eigenvalue(llt: &Llt<usize, f64>, diagonal: &[f64]) -> f64 {
    let size = |z: &[f64]| z.iter().zip(diagonal).map(|(z, d)| d * z * z).sum::<f64>().sqrt();
    let mut z: Vec<f64> = (0..diagonal.len()).map(|i| 1.0 + 0.5 * (i as f64).sin()).collect();
    let mut eigenvalue = f64::NAN;
    for _ in 0..2 {
        let before = size(&z);
        let right: Vec<f64> = z.iter().zip(diagonal).map(|(z, d)| d * z / before).collect();
        z = back_substitute(llt, &right);
        eigenvalue = 1.0 / size(&z);
    }
    eigenvalue
}

fn residual_of(candidate: &Option<(Vec<f64>, f64)>) -> f64 {
    candidate.as_ref().map_or(f64::INFINITY, |(_, residual)| *residual)
}

fn factorize(symbolic: &SymbolicLlt<usize>, a: &SparseColMat<usize, f64>) -> Option<Llt<usize, f64>> {
    Llt::try_new_with_symbolic(symbolic.clone(), a.as_ref(), Side::Lower).ok()
}

fn back_substitute(llt: &Llt<usize, f64>, b: &[f64]) -> Vec<f64> {
    let mut x = Mat::from_fn(b.len(), 1, |i, _| b[i]);
    llt.solve_in_place(x.as_mut());
    x.col(0).iter().copied().collect()
}

fn remainder(a: &SparseColMat<usize, f64>, b: &[f64], x: &[f64]) -> Vec<f64> {
    let mut r = b.to_vec();
    for t in a.triplet_iter() {
        r[t.row] -= t.val * x[t.col];
    }
    r
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}
