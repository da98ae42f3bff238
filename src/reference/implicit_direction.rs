//! Implicit constraint direction (ICD): Newton's method on the whole constrained step, section 4.1 of the paper.
//!
//! The step asks for M (x − x_0)/h² + J(x)ᵀ λ = 0 and C(x) = 0 with the direction J taken at its own end. These are
//! also the conditions for the feasible point nearest to x_0 in the mass-weighted norm ("step and project"), so the
//! root is that point. Written with μ = h² λ, the Newton system is symmetric and indefinite:
//!
//! ```text
//! [ M + Σ μ_e ∇²C_e   Jᵀ ] [ Δx ]     [ M (x − x_0) + Jᵀ μ ]
//! [ J                 0  ] [ Δμ ] = − [ C                  ]      ∇²C = (2/l) [ I −I; −I I ]
//! ```
//!
//! Fast projection leaves out the Hessian and the first row's right side, which are both zero in the first iteration:
//! there the two methods agree.

use faer::Mat;
use faer::linalg::solvers::Solve;
use faer::sparse::{SparseColMat, Triplet};
use glam::{DMat3, DVec3};

use super::system::{max_strain, strain_over};
use super::{Failure, Projection, Projector, Spring, System};

/// How far a point is from solving the constrained step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residual {
    /// Largest component of F = x − x_0 + h² W Jᵀ λ over the free vertices, in metres.
    pub force: f64,
    /// Largest |C| over the active edges, in metres.
    pub constraint: f64,
}

/// Measures F and C at `system.positions` for the unconstrained end `predicted` and multipliers λ in newtons.
#[must_use]
pub fn residual(system: &System, predicted: &[[f64; 3]], multipliers: &[f64], h: f64) -> Residual {
    residual_with(system, &[], predicted, multipliers, h)
}

/// The same with springs: F has h² W ∇V.
fn residual_with(system: &System, springs: &[Spring], predicted: &[[f64; 3]], multipliers: &[f64], h: f64) -> Residual {
    let active = system.active_edges();
    let mu: Vec<f64> = active.iter().map(|&e| h * h * multipliers[e]).collect();
    let mut pull = system.spread(&active, &mu);
    for spring in springs {
        let (gradient, _) = gradient_and_hessian(system, spring);
        for (end, sign) in [(spring.tail, -1.0), (spring.head, 1.0)] {
            pull[end] += sign * h * h * system.inverse_masses[end] * gradient;
        }
    }
    let free = (0..system.positions.len()).filter(|&v| system.inverse_masses[v] > 0.0);
    let error = |v: usize| DVec3::from(system.positions[v]) - DVec3::from(predicted[v]) + pull[v];
    Residual {
        force: free.map(|v| error(v).abs().max_element()).fold(0.0, f64::max),
        constraint: active.iter().map(|&e| system.constraint(e).abs()).fold(0.0, f64::max),
    }
}

/// Unknowns of one Newton step: three per free vertex and one per active edge. Fast projection has only the latter.
#[must_use]
pub fn unknown_count(system: &System) -> usize {
    3 * system.inverse_masses.iter().filter(|&&w| w > 0.0).count() + system.active_edges().len()
}

/// One Newton step of ICD from `system.positions` and `multipliers` (λ in newtons, one per edge), by sparse LU.
///
/// Start with positions = `predicted` and multipliers = 0. Returns what remains after the step; on failure nothing
/// has moved.
pub fn icd_step(
    system: &mut System,
    predicted: &[[f64; 3]],
    multipliers: &mut [f64],
    h: f64,
) -> Result<Residual, Failure> {
    newton(system, &[], predicted, multipliers, h)
}

/// ∂V/∂x at the head of a spring, in newtons, and the definite part of its Hessian in d, in N/m.
fn gradient_and_hessian(system: &System, spring: &Spring) -> (DVec3, DMat3) {
    let Spring { tail, head, rest, stiffness, .. } = *spring;
    let d = DVec3::from(system.positions[head]) - DVec3::from(system.positions[tail]);
    let length = d.length();
    let n = d / length;
    let along = DMat3::from_cols(n * n.x, n * n.y, n * n.z);
    let across = (1.0 - rest / length).max(0.0);
    (stiffness * (length - rest) * n, stiffness * (along + across * (DMat3::IDENTITY - along)))
}

/// One Newton step of ICD with springs.
fn newton(
    system: &mut System,
    springs: &[Spring],
    predicted: &[[f64; 3]],
    multipliers: &mut [f64],
    h: f64,
) -> Result<Residual, Failure> {
    let active = system.active_edges();
    if let Some(edge) = system.collapsed(&active) {
        return Err(Failure::CollapsedEdge { edge });
    }
    let free: Vec<usize> = (0..system.positions.len()).filter(|&v| system.inverse_masses[v] > 0.0).collect();
    let mut slots = vec![None; system.positions.len()];
    free.iter().enumerate().for_each(|(i, &v)| slots[v] = Some(3 * i));
    let size = unknown_count(system);

    let mut entries = Vec::new();
    let mut right = Mat::<f64>::zeros(size, 1);
    for &v in &free {
        let (slot, mass) = (slots[v].expect("free"), system.inverse_masses[v].recip());
        let error = mass * (DVec3::from(system.positions[v]) - DVec3::from(predicted[v]));
        for axis in 0..3 {
            entries.push(Triplet::new(slot + axis, slot + axis, mass));
            right[(slot + axis, 0)] -= error[axis];
        }
    }
    for (i, &e) in active.iter().enumerate() {
        let (row, (a, b), gradient) = (3 * free.len() + i, system.ends(e), system.gradient(e));
        let mu = h * h * multipliers[e];
        let ends = [(slots[a], -1.0), (slots[b], 1.0)];
        right[(row, 0)] = -system.constraint(e);
        for (slot, sign) in ends.iter().filter_map(|&(slot, sign)| Some((slot?, sign))) {
            for axis in 0..3 {
                let g: f64 = sign * gradient[axis];
                entries.push(Triplet::new(slot + axis, row, g));
                entries.push(Triplet::new(row, slot + axis, g));
                right[(slot + axis, 0)] -= g * mu;
                for (other, other_sign) in ends.iter().filter_map(|&(slot, sign)| Some((slot?, sign))) {
                    let curvature = sign * other_sign * mu * 2.0 / system.rests[e];
                    entries.push(Triplet::new(slot + axis, other + axis, curvature));
                }
            }
        }
    }

    for spring in springs {
        let (gradient, hessian) = gradient_and_hessian(system, spring);
        let ends = [(slots[spring.tail], -1.0), (slots[spring.head], 1.0)];
        for (slot, sign) in ends.iter().filter_map(|&(slot, sign)| Some((slot?, sign))) {
            for (other, other_sign) in ends.iter().filter_map(|&(slot, sign)| Some((slot?, sign))) {
                for i in 0..3 {
                    let entry = |j: usize| sign * other_sign * h * h * hessian.col(j)[i];
                    entries.extend((0..3).map(|j| Triplet::new(slot + i, other + j, entry(j))));
                }
            }
            (0..3).for_each(|axis| right[(slot + axis, 0)] -= sign * h * h * gradient[axis]);
        }
    }

    let matrix = SparseColMat::<usize, f64>::try_new_from_triplets(size, size, &entries).expect("slots are in range");
    let lu = matrix.sp_lu().map_err(|_| Failure::Singular)?;
    let newton = lu.solve(&right);
    let moved: Vec<DVec3> =
        (0..free.len()).map(|i| DVec3::from_array([0, 1, 2].map(|k| newton[(3 * i + k, 0)]))).collect();
    if (0..size).any(|i| !newton[(i, 0)].is_finite())
        || (&matrix * &newton - &right).norm_max() > 1e-6 * right.norm_max()
    {
        return Err(Failure::Singular);
    }
    for (&v, moved) in free.iter().zip(&moved) {
        system.positions[v] = (DVec3::from(system.positions[v]) + *moved).to_array();
    }
    for (i, &e) in active.iter().enumerate() {
        multipliers[e] += newton[(3 * free.len() + i, 0)] / (h * h);
    }
    Ok(residual_with(system, springs, predicted, multipliers, h))
}

/// ICD as a projector: Newton from the unconstrained end until F and the strains are small. Equals step-and-project.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImplicitDirection {
    /// Largest |ε| to accept.
    pub limit: f64,
    /// Largest component of F to accept, in metres.
    pub force_limit: f64,
    /// Newton steps, at most.
    pub budget: usize,
    /// Newton steps, at least, even when all strains are in range: at the unconstrained end F is zero as well, so
    /// without one the method would sleep inside a wide limit, and cloth at rest would bounce.
    pub at_least: usize,
}

impl Default for ImplicitDirection {
    fn default() -> Self {
        Self { limit: 1e-12, force_limit: 1e-12, budget: 60, at_least: 1 }
    }
}

/// ICD with the potential of springs in it, ∇V(x^{n+1}) (footnote 1 of the paper): forces and constraints in one
/// Newton iteration, where [`super::Fabric`] first steps the springs and then projects. x_0 has no springs then.
#[derive(Debug, Clone, PartialEq)]
pub struct JointDirection {
    /// Where Newton's method ends.
    pub direction: ImplicitDirection,
    /// The springs; their damping is left out. None may collapse.
    pub springs: Vec<Spring>,
}

impl Projector for ImplicitDirection {
    fn project(&mut self, system: &mut System, _start: &[[f64; 3]], h: f64) -> Projection {
        self.iterate(system, &[], h)
    }
}

impl Projector for JointDirection {
    fn project(&mut self, system: &mut System, _start: &[[f64; 3]], h: f64) -> Projection {
        self.direction.iterate(system, &self.springs, h)
    }
}

impl ImplicitDirection {
    fn iterate(&self, system: &mut System, springs: &[Spring], h: f64) -> Projection {
        let predicted = system.positions.clone();
        let active = system.active_edges();
        let mut multipliers = vec![0.0; system.edges.len()];
        let mut iterations = 0;
        let mut force = 0.0;
        let failure = loop {
            let strain = strain_over(system, active.iter().copied());
            if !strain.is_finite() {
                break Some(Failure::NotFinite);
            }
            let reached = strain <= self.limit && force <= self.force_limit;
            if active.is_empty() || (reached && iterations >= self.at_least.min(self.budget)) {
                break None;
            }
            if iterations >= self.budget {
                break Some(Failure::Budget);
            }
            match newton(system, springs, &predicted, &mut multipliers, h) {
                Ok(after) => force = after.force,
                Err(failure) => break Some(failure),
            }
            iterations += 1;
        };
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
