//! The smallest motion that gives a triangle another area.
//!
//! The projection of a triangle onto an area a is the least of ½ Σ m_i |δ_i|² with A(x + δ) = a, in the plane of the
//! triangle. Scaling about the centroid ([`crate::stage::area`]) reaches the same area by a longer way. A is a
//! quadratic form of the corners, A = ½ (x_1 − x_0) × (x_2 − x_0), so that Newton's method on m_i δ_i + λ ∂A/∂x_i = 0
//! and A = a has the exact second derivatives.

use super::modified_pcg::solve_dense;

/// Motion of the corners of a triangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AreaStep {
    /// δ \[m\].
    pub motion: [[f64; 2]; 3],
    /// ½ Σ m_i |δ_i|² \[kg·m²\].
    pub cost: f64,
    /// λ \[kg\].
    pub multiplier: f64,
    /// Newton's iterations.
    pub iterations: u32,
}

/// Signed area of a triangle, counter-clockwise positive \[m²\].
#[must_use]
pub fn signed_area([a, b, c]: [[f64; 2]; 3]) -> f64 {
    0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
}

/// Gradient of [`signed_area`] by the corners, in their order.
#[must_use]
pub fn area_gradient(x: [[f64; 2]; 3]) -> [[f64; 2]; 3] {
    // The corner's height over the opposite edge, which is turned by a right angle.
    [0, 1, 2].map(|i| {
        let (next, last) = (x[(i + 1) % 3], x[(i + 2) % 3]);
        [0.5 * (next[1] - last[1]), 0.5 * (last[0] - next[0])]
    })
}

fn cost(masses: [f64; 3], motion: [[f64; 2]; 3]) -> f64 {
    motion.iter().zip(masses).map(|([x, y], m)| 0.5 * m * (x * x + y * y)).sum()
}

/// Scaling about the mass-weighted centroid to an area of the same sign; `None` where there is no area to scale.
#[must_use]
pub fn scaled_to_area(x: [[f64; 2]; 3], masses: [f64; 3], area: f64) -> Option<AreaStep> {
    let scale = (area / signed_area(x)).sqrt();
    let sum: f64 = masses.iter().sum();
    let middle = [0, 1].map(|axis| x.iter().zip(masses).map(|(x, m)| m * x[axis]).sum::<f64>() / sum);
    let motion = x.map(|x| [0, 1].map(|axis| (1.0 - scale) * (middle[axis] - x[axis])));
    scale.is_finite().then(|| AreaStep { motion, cost: cost(masses, motion), multiplier: 0.0, iterations: 0 })
}

/// The smallest motion to an area, by Newton's method from the triangle as it is: masses above 0. `None` where it does
/// not converge, as for a triangle without extent.
#[must_use]
pub fn nearest_of_area(x: [[f64; 2]; 3], masses: [f64; 3], area: f64) -> Option<AreaStep> {
    let (mut motion, mut multiplier) = ([[0.0; 2]; 3], 0.0);
    for iterations in 0..100 {
        let moved = [0, 1, 2].map(|i| [0, 1].map(|axis| x[i][axis] + motion[i][axis]));
        let (slope, over) = (area_gradient(moved), signed_area(moved) - area);
        let mut right = vec![0.0; 7];
        let mut rows = vec![vec![0.0; 7]; 7];
        for i in 0..3 {
            for axis in 0..2 {
                right[2 * i + axis] = -(masses[i] * motion[i][axis] + multiplier * slope[i][axis]);
                rows[2 * i + axis][2 * i + axis] = masses[i];
                rows[2 * i + axis][6] = slope[i][axis];
                rows[6][2 * i + axis] = slope[i][axis];
            }
            // ∂²A/∂x_i∂y_j is ½ for the next corner and −½ for the last.
            for (j, half) in [((i + 1) % 3, 0.5), ((i + 2) % 3, -0.5)] {
                rows[2 * i][2 * j + 1] += multiplier * half;
                rows[2 * i + 1][2 * j] -= multiplier * half;
            }
        }
        right[6] = -over;
        let left = right.iter().fold(0.0, |most: f64, number| most.max(number.abs()));
        let extent = x.iter().flatten().fold(0.0, |most: f64, number| most.max(number.abs()));
        if left <= 1e-14 * (1.0 + extent) * masses.iter().fold(1.0, |most: f64, m| most.max(*m)) {
            return Some(AreaStep { motion, cost: cost(masses, motion), multiplier, iterations });
        }
        let step = solve_dense(rows, right)?;
        for i in 0..3 {
            (0..2).for_each(|axis| motion[i][axis] += step[2 * i + axis]);
        }
        multiplier += step[6];
    }
    None
}
