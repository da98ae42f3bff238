//! One implicit elastic step of particles that may be held, solved directly and by modified conjugate gradients.
//!
//! Baraff & Witkin 1998, *Large Steps in Cloth Simulation*, section 5, with the formulas put right where the printed
//! text is wrong. A step of h seconds looks for the change of velocity Δv, in m/s, that solves
//!
//! ```text
//! A Δv = b,   A = M − h ∂f/∂v − h² ∂f/∂x,   b = h (f + h ∂f/∂x v)      (15), (16)
//! ```
//!
//! under Δv_i = z_i along the directions in which particle i is held. Every hold belongs to one particle alone: what
//! ties several particles together must be merged into one of them, and cloth that touches cloth is held apart by
//! stiff springs instead (introduction of section 5).

use glam::{DMat3, DVec3};

use crate::error::{Error, Result};

/// The directions in which a particle is held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Hold {
    /// Nothing is prescribed.
    Free,
    /// The particle moves in a plane.
    Plane {
        /// The held direction; any length but zero.
        normal: DVec3,
    },
    /// The particle moves on a line.
    Line {
        /// The free direction; any length but zero.
        direction: DVec3,
    },
    /// The whole change of velocity is prescribed.
    Fixed,
}

impl Hold {
    /// The line hold of two held directions, which need be neither unit nor orthogonal, only not parallel.
    pub fn across(p: DVec3, q: DVec3) -> Result<Self> {
        // Of unit vectors, so that the length of the product is the sine of the angle between them.
        Ok(Self::Line { direction: unit(unit(p)?.cross(unit(q)?))? })
    }

    /// S of equation (13): the projection onto the free directions. I, I − ppᵀ, I − ppᵀ − qqᵀ or 0.
    ///
    /// The direction is made unit here, because S² = S holds for unit vectors only. For a line I − ppᵀ − qqᵀ is
    /// written as the product of the free direction with itself, which needs no orthogonal pair.
    pub fn filter(&self) -> Result<DMat3> {
        Ok(match *self {
            Self::Free => DMat3::IDENTITY,
            Self::Plane { normal } => DMat3::IDENTITY - square(unit(normal)?),
            Self::Line { direction } => square(unit(direction)?),
            Self::Fixed => DMat3::ZERO,
        })
    }

    /// The part of a prescribed change of velocity in m/s that lies in the held directions, z − S z.
    pub fn prescribe(&self, z: DVec3) -> Result<DVec3> {
        Ok(z - self.filter()? * z)
    }
}

fn unit(v: DVec3) -> Result<DVec3> {
    let expected = "finite and not zero, or it is no direction";
    v.try_normalize().ok_or(Error::OutOfRange { field: "holds", index: None, value: v.length(), expected })
}

/// v vᵀ, symmetric to the bit.
fn square(v: DVec3) -> DMat3 {
    DMat3::from_cols(v * v.x, v * v.y, v * v.z)
}

/// Particles and how they are held; all lists have the same length.
#[derive(Debug, Clone, PartialEq)]
pub struct Particles {
    /// Masses in kg, above zero also for held particles.
    pub masses: Vec<f64>,
    /// Positions in m.
    pub positions: Vec<DVec3>,
    /// Velocities in m/s.
    pub velocities: Vec<DVec3>,
    /// Holds during the next step.
    pub holds: Vec<Hold>,
    /// Prescribed changes of velocity in m/s; only the part in the held directions counts.
    pub z: Vec<DVec3>,
}

impl Particles {
    /// Free particles at rest.
    #[must_use]
    pub fn new(masses: Vec<f64>, positions: Vec<DVec3>) -> Self {
        let count = positions.len();
        let zeros = vec![DVec3::ZERO; count];
        Self { masses, positions, velocities: zeros.clone(), holds: vec![Hold::Free; count], z: zeros }
    }

    /// Ends a step of `h` seconds: v ← v + Δv, x ← x + h v.
    pub fn advance(&mut self, change: &[DVec3], h: f64) {
        for ((x, v), change) in self.positions.iter_mut().zip(&mut self.velocities).zip(change) {
            *v += *change;
            *x += h * *v;
        }
    }

    /// Checks lengths and numbers; the holds are checked where their filters are made.
    fn validate(&self, springs: &[Spring], loads: &[DVec3]) -> Result<()> {
        let expected = self.masses.len();
        let lengths = [
            ("positions", self.positions.len()),
            ("velocities", self.velocities.len()),
            ("holds", self.holds.len()),
            ("z", self.z.len()),
            ("loads", loads.len()),
        ];
        if let Some(&(field, found)) = lengths.iter().find(|(_, found)| *found != expected) {
            return Err(Error::LengthMismatch { field, expected, found });
        }
        let vectors = [
            ("positions", self.positions.as_slice()),
            ("velocities", &self.velocities),
            ("z", &self.z),
            ("loads", loads),
        ];
        for (field, list) in vectors {
            if let Some(index) = list.iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFinite { field, index });
            }
        }
        for (index, &mass) in self.masses.iter().enumerate() {
            above("masses", index, mass, f64::MIN_POSITIVE, "finite and above zero, in kg")?;
        }
        springs.iter().enumerate().try_for_each(|(index, spring)| spring.validate(index, expected))
    }
}

fn above(field: &'static str, index: usize, value: f64, least: f64, expected: &'static str) -> Result<()> {
    let inside = value >= least && value.is_finite();
    if inside { Ok(()) } else { Err(Error::OutOfRange { field, index: Some(index), value, expected }) }
}

/// A damped spring between two particles.
///
/// Its functions take the vector d = x_head − x_tail in m and its rate of change in m/s, and use n = d/|d|.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spring {
    /// First particle.
    pub tail: usize,
    /// Second particle.
    pub head: usize,
    /// Rest length in m.
    pub rest: f64,
    /// Stiffness k in N/m.
    pub stiffness: f64,
    /// Damping c of the change of length, in N·s/m.
    pub damping: f64,
}

/// Which ∂f/∂x a step uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stiffness {
    /// As it is; a spring that pushes makes it indefinite across its direction.
    Full,
    /// Without what a spring that pushes does across its direction, so that A is positive definite.
    Definite,
}

impl Spring {
    /// Pull along the spring, k (|d| − l) + c n·ḋ, in N; negative when it pushes.
    #[must_use]
    pub fn tension(&self, d: DVec3, rate: DVec3) -> f64 {
        self.stiffness * (d.length() - self.rest) + self.damping * d.normalize_or_zero().dot(rate)
    }

    /// Force on the head, in N; the tail gets its negative.
    #[must_use]
    pub fn force(&self, d: DVec3, rate: DVec3) -> DVec3 {
        -self.tension(d, rate) * d.normalize_or_zero()
    }

    /// −∂f/∂x of the head with respect to the head: k n nᵀ + (tension/|d|) (I − n nᵀ), in N/m.
    ///
    /// Of the damping the unsymmetric part, c n ḋᵀ (I − n nᵀ)/|d|, is left out as in section 4.5 of the paper.
    #[must_use]
    pub fn stiffness_matrix(&self, d: DVec3, rate: DVec3, kind: Stiffness) -> DMat3 {
        let along = square(d.normalize_or_zero());
        let across = self.tension(d, rate) / d.length();
        let across = if kind == Stiffness::Definite { across.max(0.0) } else { across };
        self.stiffness * along + across * (DMat3::IDENTITY - along)
    }

    /// −∂f/∂v of the head with respect to the head: c n nᵀ, in N·s/m.
    #[must_use]
    pub fn damping_matrix(&self, d: DVec3) -> DMat3 {
        self.damping * square(d.normalize_or_zero())
    }

    fn validate(&self, index: usize, count: usize) -> Result<()> {
        if let Some(end) = [self.tail, self.head].into_iter().find(|&end| end >= count) {
            let value = u32::try_from(end).unwrap_or(u32::MAX);
            return Err(Error::IndexOutOfRange { field: "springs", index, value, count });
        }
        let numbers =
            [("springs.rest", self.rest), ("springs.stiffness", self.stiffness), ("springs.damping", self.damping)];
        numbers.into_iter().try_for_each(|(field, value)| above(field, index, value, 0.0, "finite and not negative"))
    }
}

/// The linear system of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct ElasticStep {
    /// Length of the step in s.
    pub h: f64,
    /// Masses, the diagonal of M, in kg.
    pub masses: Vec<f64>,
    /// Tail, head and h (−∂f/∂v) + h² (−∂f/∂x) of every spring, in kg.
    pub blocks: Vec<(usize, usize, DMat3)>,
    /// Right-hand side b in N·s.
    pub b: Vec<DVec3>,
    /// S of every particle, equation (13).
    pub filters: Vec<DMat3>,
    /// Prescribed changes of velocity inside the held directions, in m/s.
    pub z: Vec<DVec3>,
}

impl ElasticStep {
    /// Linearises springs and `loads`, constant forces in N, at the start of a step of `h` seconds.
    pub fn new(particles: &Particles, springs: &[Spring], loads: &[DVec3], h: f64, kind: Stiffness) -> Result<Self> {
        particles.validate(springs, loads)?;
        if !(h.is_finite() && h > 0.0) {
            return Err(Error::OutOfRange {
                field: "h",
                index: None,
                value: h,
                expected: "finite and above zero, in s",
            });
        }
        let mut b: Vec<DVec3> = loads.iter().map(|load| h * *load).collect();
        let mut blocks = Vec::with_capacity(springs.len());
        for (index, spring) in springs.iter().enumerate() {
            let (tail, head) = (spring.tail, spring.head);
            let d = particles.positions[head] - particles.positions[tail];
            let rate = particles.velocities[head] - particles.velocities[tail];
            above("springs", index, d.length(), f64::MIN_POSITIVE, "longer than zero, or it has no direction")?;
            let stiffness = spring.stiffness_matrix(d, rate, kind);
            let impulse = h * (spring.force(d, rate) - h * (stiffness * rate));
            b[tail] -= impulse;
            b[head] += impulse;
            blocks.push((tail, head, h * spring.damping_matrix(d) + h * h * stiffness));
        }
        let mut filters = Vec::with_capacity(b.len());
        for (index, hold) in particles.holds.iter().enumerate() {
            filters.push(hold.filter().map_err(|error| match error {
                Error::OutOfRange { field, value, expected, .. } => {
                    Error::OutOfRange { field, index: Some(index), value, expected }
                }
                other => other,
            })?);
        }
        let z = particles.z.iter().zip(&filters).map(|(z, s)| *z - *s * *z).collect();
        Ok(Self { h, masses: particles.masses.clone(), blocks, b, filters, z })
    }

    /// A y.
    #[must_use]
    pub fn apply(&self, y: &[DVec3]) -> Vec<DVec3> {
        let mut product: Vec<DVec3> = y.iter().zip(&self.masses).map(|(y, m)| *m * *y).collect();
        for &(tail, head, block) in &self.blocks {
            let along = block * (y[head] - y[tail]);
            product[tail] -= along;
            product[head] += along;
        }
        product
    }

    /// D, the diagonal of A, three entries for every particle.
    #[must_use]
    pub fn diagonal(&self) -> Vec<DVec3> {
        let mut diagonal: Vec<DVec3> = self.masses.iter().map(|&m| DVec3::splat(m)).collect();
        for (tail, head, block) in &self.blocks {
            let entries = DVec3::new(block.x_axis.x, block.y_axis.y, block.z_axis.z);
            diagonal[*tail] += entries;
            diagonal[*head] += entries;
        }
        diagonal
    }

    /// A as rows of numbers, for small systems.
    #[must_use]
    pub fn dense(&self) -> Vec<Vec<f64>> {
        let size = 3 * self.masses.len();
        let mut rows = vec![vec![0.0; size]; size];
        for i in 0..size {
            rows[i][i] = self.masses[i / 3];
        }
        for &(tail, head, block) in &self.blocks {
            for (i, j, sign) in [(tail, tail, 1.0), (head, head, 1.0), (tail, head, -1.0), (head, tail, -1.0)] {
                for (row, column) in (0..9).map(|k| (k / 3, k % 3)) {
                    rows[3 * i + row][3 * j + column] += sign * block.col(column)[row];
                }
            }
        }
        rows
    }

    /// Forces in N that the holds exert when the velocities change by `change`: (A Δv − b)/h.
    ///
    /// A Δv − b, which section 5.4 calls the force, is an impulse. Its sign is opposite to that of the residual.
    #[must_use]
    pub fn hold_forces(&self, change: &[DVec3]) -> Vec<DVec3> {
        self.apply(change).iter().zip(&self.b).map(|(product, b)| (*product - *b) / self.h).collect()
    }

    /// `filter` of section 5.3: drops the held directions of every vector.
    ///
    /// Twice, because once leaves the rounding of a large held part, such as the weight of a particle on a floor, which
    /// the iterations would take for a residual that they cannot reduce.
    fn filter(&self, y: &[DVec3]) -> Vec<DVec3> {
        y.iter().zip(&self.filters).map(|(y, s)| *s * (*s * *y)).collect()
    }
}

/// Δv in m/s from equation (14), (I − h W ∂f/∂v − h² W ∂f/∂x) Δv = h W (f + h ∂f/∂x v) + z with W_i = S_i/m_i, by
/// elimination. None if the matrix is singular.
#[must_use]
pub fn direct(step: &ElasticStep) -> Option<Vec<DVec3>> {
    let (a, count) = (step.dense(), step.masses.len());
    let (mut rows, mut right) = (Vec::with_capacity(3 * count), Vec::with_capacity(3 * count));
    for i in 0..count {
        let w = step.filters[i] * (1.0 / step.masses[i]);
        // M is part of A and W M = S, so the matrix is I − S + W A.
        let held = DMat3::IDENTITY - step.filters[i];
        let constant = w * step.b[i] + step.z[i];
        for axis in 0..3 {
            let sum = |j| (0..3).map(|k| w.col(k)[axis] * a[3 * i + k][j]).sum::<f64>();
            let mut row: Vec<f64> = (0..3 * count).map(sum).collect();
            (0..3).for_each(|k| row[3 * i + k] += held.col(k)[axis]);
            rows.push(row);
            right.push(constant[axis]);
        }
    }
    let solution = solve_dense(rows, right)?;
    Some(solution.chunks_exact(3).map(DVec3::from_slice).collect())
}

/// Solves a dense system by Gaussian elimination with row pivoting. None if a pivot is zero or a number not finite.
#[must_use]
pub fn solve_dense(mut rows: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let size = right.len();
    for k in 0..size {
        let best = (k..size).max_by(|&i, &j| rows[i][k].abs().total_cmp(&rows[j][k].abs()))?;
        rows.swap(k, best);
        right.swap(k, best);
        let (above, below) = rows.split_at_mut(k + 1);
        let pivot = &above[k];
        if pivot[k] == 0.0 || !pivot[k].is_finite() {
            return None;
        }
        for (i, row) in below.iter_mut().enumerate().filter(|(_, row)| row[k] != 0.0) {
            let factor = row[k] / pivot[k];
            (k..size).for_each(|j| row[j] -= factor * pivot[j]);
            right[k + 1 + i] -= factor * right[k];
        }
    }
    for k in (0..size).rev() {
        let known: f64 = (k + 1..size).map(|j| rows[k][j] * right[j]).sum();
        right[k] = (right[k] - known) / rows[k][k];
    }
    right.iter().all(|x| x.is_finite()).then_some(right)
}

/// Why the iterations ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The residual is small enough.
    Reached,
    /// The iterations ran out.
    Budget,
    /// A is not positive along a search direction or on its diagonal, or a number is not finite.
    Indefinite,
}

/// What [`modified_pcg`] found.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Change of velocity Δv in m/s.
    pub change: Vec<DVec3>,
    /// Products with A inside the loop.
    pub iterations: usize,
    /// Why it ended.
    pub stop: Stop,
    /// Forces of the holds in N, from one more product with A; see [`ElasticStep::hold_forces`].
    pub forces: Vec<DVec3>,
}

/// Modified preconditioned conjugate gradients of section 5.3: the held directions have their prescribed change from
/// the start, and `filter` keeps every search direction out of them.
///
/// Ends when r·D⁻¹r has fallen to `tolerance`² of its first value, after `budget` iterations at most. The printed
/// algorithm multiplies by A_ii where it must divide, and measures the first value with S b in place of S (b − A z),
/// which is zero for a pin that moves in the absence of forces.
#[must_use]
pub fn modified_pcg(step: &ElasticStep, tolerance: f64, budget: usize) -> Solution {
    let diagonal = step.diagonal();
    let precondition = |r: &[DVec3]| -> Vec<DVec3> { r.iter().zip(&diagonal).map(|(r, d)| *r / *d).collect() };
    let mut change = step.z.clone();
    let residual: Vec<DVec3> = step.b.iter().zip(step.apply(&change)).map(|(b, product)| *b - product).collect();
    let mut r = step.filter(&residual);
    let mut c = step.filter(&precondition(&r));
    let mut delta = dot(&r, &c);
    let enough = tolerance * tolerance * delta;
    let mut iterations = 0;
    let stop = loop {
        // A negative diagonal shows here before it shows in a curvature.
        if delta < 0.0 || !delta.is_finite() {
            break Stop::Indefinite;
        }
        if delta <= enough {
            break Stop::Reached;
        }
        if iterations >= budget {
            break Stop::Budget;
        }
        let q = step.filter(&step.apply(&c));
        let curvature = dot(&c, &q);
        let alpha = delta / curvature;
        if curvature <= 0.0 || !alpha.is_finite() {
            break Stop::Indefinite;
        }
        add(&mut change, alpha, &c);
        add(&mut r, -alpha, &q);
        let mut s = precondition(&r);
        let next = dot(&r, &s);
        add(&mut s, next / delta, &c);
        c = step.filter(&s);
        delta = next;
        iterations += 1;
    };
    let forces = step.hold_forces(&change);
    Solution { change, iterations, stop, forces }
}

fn dot(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}

fn add(to: &mut [DVec3], factor: f64, y: &[DVec3]) {
    to.iter_mut().zip(y).for_each(|(to, y)| *to += factor * *y);
}

/// How hard a surface pushes a particle out along its unit normal, given the force of the hold in N.
#[must_use]
pub fn normal_force(normal: DVec3, force: DVec3) -> f64 {
    normal.dot(force)
}

/// Whether a contact lets go: its hold pulls by more than `slack` newtons, which covers the error of the solver.
#[must_use]
pub fn releases(normal: DVec3, force: DVec3, slack: f64) -> bool {
    normal_force(normal, force) < -slack
}

/// What friction does with a particle on a surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Grip {
    /// The hold of all directions stays.
    Stick,
    /// Only the normal direction is held, and a force acts along the surface.
    Slide {
        /// That force in N, to be added to the loads of the step.
        force: DVec3,
    },
}

/// Coulomb friction, section 5.4.
///
/// `normal` is the unit normal of the surface, `force` what a hold of all directions exerts, in N, when it stops the
/// particle relative to the surface, `velocity` the velocity relative to the surface before that, in m/s, and `mu` the
/// coefficient. Up to `slow`, in m/s, the particle sticks while the tangential force is inside the cone, and otherwise
/// starts to slide against it. Above, it slides, and the friction opposes the velocity.
#[must_use]
pub fn friction(normal: DVec3, force: DVec3, velocity: DVec3, mu: f64, slow: f64) -> Grip {
    let tangential = |v: DVec3| v - normal.dot(v) * normal;
    let most = mu * normal_force(normal, force).max(0.0);
    let (needed, sliding) = (tangential(force), tangential(velocity));
    if sliding.length() > slow {
        Grip::Slide { force: -most * sliding.normalize_or_zero() }
    } else if needed.length() <= most {
        Grip::Stick
    } else {
        Grip::Slide { force: most * needed.normalize_or_zero() }
    }
}

/// The length an edge may have after a step, in m: at most `fraction` of its current length away from it.
///
/// Limit of the strain rate after Bridson et al. 2003, who use a tenth. It is relative to the current length, not to
/// the rest length, so an edge far from rest returns over several steps.
#[must_use]
pub fn limit_length_change(current: f64, proposed: f64, fraction: f64) -> f64 {
    let (change, most) = (proposed - current, fraction * current);
    if change.abs() > most { current + most.copysign(change) } else { proposed }
}
