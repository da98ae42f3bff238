//! The implicit elastic step with held particles against closed forms, a direct solve and the laws it should obey.
//!
//! Sections and equations are those of Baraff & Witkin 1998, *Large Steps in Cloth Simulation*. The paper prints no
//! data to start from: the nets are this file's own.
#![cfg(feature = "reference")]

use glam::{DMat3, DVec3};
use taut::Error;
use taut::reference::{
    ElasticStep, Grip, Hold, Particles, Solution, Spring, Stiffness, Stop, direct, friction, limit_length_change,
    modified_pcg, normal_force, releases, solve_dense,
};

const G: f64 = 9.81;

// ---------------------------------------------------------------------------------------------------- fixtures

/// Repeatable numbers in −1..1.
struct Noise(u64);

impl Noise {
    fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        2.0 * ((self.0 >> 11) as f64 / (1u64 << 53) as f64) - 1.0
    }

    fn vector(&mut self) -> DVec3 {
        DVec3::new(self.number(), self.number(), self.number())
    }
}

fn spring(tail: usize, head: usize, rest: f64) -> Spring {
    Spring { tail, head, rest, stiffness: 60.0, damping: 0.02 }
}

/// 8 × 5 particles 0.1 m apart with noise, joined along rows, columns and one diagonal. Masses 0.01 kg to 1 kg,
/// contrast 100; 60 N/m, 0.02 N·s/m. Springs have the length of their particles' distance at rest.
fn net() -> (Particles, Vec<Spring>) {
    let mut noise = Noise(7);
    // Plain arithmetic only, so that every platform has the same net.
    let part = |i: i32| f64::from(i * 17 % 40) / 39.0;
    let masses = (0..40).map(|i| 0.01 + 0.99 * part(i) * part(i) * part(i)).collect();
    let place = |i: i32| DVec3::new(0.1 * f64::from(i % 8), 0.0, 0.1 * f64::from(i / 8));
    let positions: Vec<DVec3> = (0..40).map(|i| place(i) + 0.02 * noise.vector()).collect();
    let mut springs = Vec::new();
    for i in 0..40 {
        let (right, down) = (i % 8 < 7, i < 32);
        let heads = [(right, i + 1), (down, i + 8), (right && down, i + 9)];
        for (_, head) in heads.into_iter().filter(|(there, _)| *there) {
            springs.push(spring(i, head, positions[i].distance(positions[head])));
        }
    }
    (Particles::new(masses, positions), springs)
}

/// Forty particles, springs up to 10 % out of rest, moving, with weight; particle 0 is fixed, 20 in a plane and 39 on
/// a line, all three with a prescribed change. Step of 0.02 s.
fn held_net(kind: Stiffness) -> ElasticStep {
    let (mut particles, mut springs) = net();
    let mut noise = Noise(11);
    springs.iter_mut().for_each(|spring| spring.rest *= 1.0 + 0.1 * noise.number());
    particles.velocities.iter_mut().for_each(|v| *v = 0.5 * noise.vector());
    particles.z.iter_mut().for_each(|z| *z = 0.3 * noise.vector());
    particles.holds[0] = Hold::Fixed;
    particles.holds[20] = Hold::Plane { normal: DVec3::new(1.0, 2.0, -2.5) };
    particles.holds[39] = Hold::Line { direction: DVec3::new(0.3, -1.0, 0.7) };
    ElasticStep::new(&particles, &springs, &weights(&particles), 0.02, kind).unwrap()
}

fn weights(particles: &Particles) -> Vec<DVec3> {
    particles.masses.iter().map(|m| DVec3::new(0.0, -G * m, 0.0)).collect()
}

/// One particle without springs.
fn lone(mass: f64, hold: Hold, velocity: DVec3, z: DVec3, load: DVec3, h: f64) -> ElasticStep {
    let mut particle = Particles::new(vec![mass], vec![DVec3::ZERO]);
    particle.holds[0] = hold;
    particle.velocities[0] = velocity;
    particle.z[0] = z;
    ElasticStep::new(&particle, &[], &[load], h, Stiffness::Definite).unwrap()
}

fn solved(step: &ElasticStep) -> Solution {
    let solution = modified_pcg(step, 1e-14, 1000);
    assert_eq!(solution.stop, Stop::Reached);
    solution
}

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "found {found:.12e}, expected {expected:.12e} ± {tolerance:.1e}");
}

fn farthest(a: &[DVec3], b: &[DVec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (*a - *b).abs().max_element()).fold(0.0, f64::max)
}

fn largest(m: DMat3) -> f64 {
    m.to_cols_array().iter().fold(0.0, |most: f64, x| most.max(x.abs()))
}

fn outer(v: DVec3) -> DMat3 {
    DMat3::from_cols(v * v.x, v * v.y, v * v.z)
}

/// Largest part of Δv − z in held directions.
fn hold_error(step: &ElasticStep, change: &[DVec3]) -> f64 {
    let held = |i: usize| (DMat3::IDENTITY - step.filters[i]) * (change[i] - step.z[i]);
    (0..change.len()).map(|i| held(i).abs().max_element()).fold(0.0, f64::max)
}

/// Eigenvalues of a symmetric matrix in ascending order, by Jacobi rotations.
fn eigenvalues(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let size = a.len();
    for _ in 0..30 {
        for p in 0..size {
            for q in p + 1..size {
                if a[p][q] == 0.0 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let tangent = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let cosine = 1.0 / tangent.hypot(1.0);
                let sine = tangent * cosine;
                for k in 0..size {
                    let (x, y) = (a[k][p], a[k][q]);
                    (a[k][p], a[k][q]) = (cosine * x - sine * y, sine * x + cosine * y);
                }
                for k in 0..size {
                    let (x, y) = (a[p][k], a[q][k]);
                    (a[p][k], a[q][k]) = (cosine * x - sine * y, sine * x + cosine * y);
                }
                (a[p][q], a[q][p]) = (0.0, 0.0);
            }
        }
    }
    let mut values: Vec<f64> = (0..size).map(|i| a[i][i]).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn condition(values: &[f64]) -> f64 {
    values[values.len() - 1] / values[0]
}

fn flat(vectors: &[DVec3]) -> Vec<f64> {
    vectors.iter().flat_map(|v| v.to_array()).collect()
}

fn dot(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}

fn plus(a: &[DVec3], factor: f64, b: &[DVec3]) -> Vec<DVec3> {
    a.iter().zip(b).map(|(a, b)| *a + factor * *b).collect()
}

fn times(a: &[DVec3], b: &[DVec3]) -> Vec<DVec3> {
    a.iter().zip(b).map(|(a, b)| *a * *b).collect()
}

fn filtered(step: &ElasticStep, y: &[DVec3]) -> Vec<DVec3> {
    step.filters.iter().zip(y).map(|(s, y)| *s * *y).collect()
}

/// The loop as it is printed in section 5.3, with any weights in the place of the preconditioner and any δ0. Nothing
/// but the budget guards it. Returns Δv and the number of iterations.
fn printed_loop(step: &ElasticStep, weights: &[DVec3], first: f64, epsilon: f64, budget: usize) -> (Vec<DVec3>, usize) {
    let mut change = step.z.clone();
    let mut r = filtered(step, &plus(&step.b, -1.0, &step.apply(&change)));
    let mut c = filtered(step, &times(weights, &r));
    let mut delta = dot(&r, &c);
    let mut iterations = 0;
    while delta > epsilon * epsilon * first && iterations < budget {
        let q = filtered(step, &step.apply(&c));
        let alpha = delta / dot(&c, &q);
        change = plus(&change, alpha, &c);
        r = plus(&r, -alpha, &q);
        let s = times(weights, &r);
        let old = delta;
        delta = dot(&r, &s);
        c = filtered(step, &plus(&s, delta / old, &c));
        iterations += 1;
    }
    (change, iterations)
}

// -------------------------------------------------------------------------------------------------- sections 5 and 5.1

#[test]
fn a_penalty_pin_is_off_by_load_over_stiffness_and_a_held_one_is_not() {
    // Why section 5 holds particles by S and not by springs. 0.25 kg on a spring of 1000 N/m under a fixed particle.
    let mut particles = Particles::new(vec![1.0, 0.25], vec![DVec3::ZERO, -DVec3::Y]);
    particles.holds[0] = Hold::Fixed;
    let springs = [Spring { tail: 0, head: 1, rest: 1.0, stiffness: 1000.0, damping: 5.0 }];
    let loads = [DVec3::ZERO, DVec3::new(0.0, -0.25 * G, 0.0)];
    for _ in 0..400 {
        let step = ElasticStep::new(&particles, &springs, &loads, 0.02, Stiffness::Definite).unwrap();
        particles.advance(&solved(&step).change, 0.02);
    }
    near(-1.0 - particles.positions[1].y, 2.4525 / 1000.0, 1e-12);

    particles.positions[1] = -DVec3::Y;
    particles.velocities[1] = DVec3::ZERO;
    particles.holds[1] = Hold::Fixed;
    for _ in 0..400 {
        let step = ElasticStep::new(&particles, &springs, &loads, 0.02, Stiffness::Definite).unwrap();
        particles.advance(&solved(&step).change, 0.02);
    }
    assert_eq!(particles.positions[1], -DVec3::Y);
}

#[test]
fn squaring_the_matrix_squares_its_condition_and_multipliers_make_it_indefinite() {
    // What section 5 says of Lagrange multipliers: κ(AᵀA) = κ(A)².
    let step = held_net(Stiffness::Definite);
    let a = step.dense();
    let size = a.len();
    let product = |i: usize, j: usize| (0..size).map(|k| a[k][i] * a[k][j]).sum();
    let squared: Vec<Vec<f64>> = (0..size).map(|i| (0..size).map(|j| product(i, j)).collect()).collect();
    let single = condition(&eigenvalues(a.clone()));
    let double = condition(&eigenvalues(squared));
    println!("condition of A {single:.1}, of AᵀA {double:.1}");
    assert!(single > 50.0);
    near(double / (single * single), 1.0, 1e-9);

    // Six held directions as rows of multipliers: fixed 3, plane 1, line 2, each one negative eigenvalue.
    let line = DVec3::new(0.3, -1.0, 0.7);
    let held = [(0, DVec3::X), (0, DVec3::Y), (0, DVec3::Z), (20, DVec3::new(1.0, 2.0, -2.5))];
    let across = [line.any_orthogonal_vector(), line.cross(line.any_orthogonal_vector())];
    let held: Vec<(usize, DVec3)> = held.into_iter().chain(across.map(|direction| (39, direction))).collect();
    let mut wide = vec![vec![0.0; size + 6]; size + 6];
    (0..size).for_each(|i| wide[i][..size].copy_from_slice(&a[i]));
    for (row, (particle, direction)) in held.iter().enumerate() {
        for axis in 0..3 {
            wide[size + row][3 * particle + axis] = direction[axis];
            wide[3 * particle + axis][size + row] = direction[axis];
        }
    }
    assert_eq!(eigenvalues(wide).iter().filter(|value| **value < 0.0).count(), 6);
}

#[test]
fn a_particle_slides_down_a_smooth_plane_of_30_degrees_at_half_of_gravity() {
    // a = g sin 30° = 4.905 m/s². The normal part of Δv is the prescribed one, here zero and 0.2 m/s.
    let slope = 30f64.to_radians();
    let normal = DVec3::new(slope.sin(), slope.cos(), 0.0);
    let down = DVec3::new(slope.cos(), -slope.sin(), 0.0);
    let load = DVec3::new(0.0, -0.7 * G, 0.0);
    for away in [0.0, 0.2] {
        // Twice the normal: its length does not matter.
        let hold = Hold::Plane { normal: 2.0 * normal };
        let step = lone(0.7, hold, DVec3::ZERO, away * normal, load, 0.01);
        for change in [solved(&step).change[0], direct(&step).unwrap()[0]] {
            near(change.dot(down) / 0.01, 4.905, 1e-12);
            near(change.dot(normal), away, 1e-16);
            assert_eq!(change.z, 0.0);
        }
    }
}

#[test]
fn filters_are_projections_of_the_right_rank() {
    // Eq. (13): S² = S, Sᵀ = S, S p = 0, of rank 3, 2, 1 or 0.
    let mut noise = Noise(3);
    for _ in 0..100 {
        let (p, q) = (5.0 * noise.vector(), 0.01 * noise.vector());
        let direction = p.cross(q);
        let line = Hold::across(p, q).unwrap();
        let kinds = [
            (Hold::Free, 3.0, vec![]),
            (Hold::Plane { normal: p }, 2.0, vec![p]),
            (Hold::Line { direction }, 1.0, vec![p, q]),
            (line, 1.0, vec![p, q]),
            (Hold::Fixed, 0.0, vec![p, q, direction]),
        ];
        for (hold, rank, held) in kinds {
            let s = hold.filter().unwrap();
            assert_eq!(s, s.transpose());
            assert!(largest(s * s - s) <= 1e-15, "{hold:?}");
            // The rank of a projection is its trace.
            near(s.x_axis.x + s.y_axis.y + s.z_axis.z, rank, 1e-15);
            for p in held {
                assert!((s * p).length() <= 1e-14 * p.length(), "{hold:?}");
            }
            let z = hold.prescribe(noise.vector()).unwrap();
            assert!((s * z).length() <= 1e-15);
        }
        // I − ppᵀ − qqᵀ with p and q made orthonormal, as equation (13) has it.
        let p = p.normalize();
        let q = q.reject_from(p).normalize();
        assert!(largest(line.filter().unwrap() - (DMat3::IDENTITY - outer(p) - outer(q))) <= 1e-12);
    }
}

#[test]
fn a_direction_without_direction_is_an_error() {
    // Eq. (13) needs unit vectors.
    for bad in [DVec3::ZERO, DVec3::new(f64::NAN, 0.0, 1.0), DVec3::new(f64::INFINITY, 0.0, 0.0)] {
        for hold in [Hold::Plane { normal: bad }, Hold::Line { direction: bad }] {
            assert!(matches!(hold.filter(), Err(Error::OutOfRange { field: "holds", index: None, .. })));
            let mut particles = Particles::new(vec![1.0; 3], vec![DVec3::ZERO; 3]);
            particles.holds[2] = hold;
            let step = ElasticStep::new(&particles, &[], &[DVec3::ZERO; 3], 0.01, Stiffness::Full);
            assert!(matches!(step, Err(Error::OutOfRange { field: "holds", index: Some(2), .. })));
        }
    }
    assert!(Hold::across(DVec3::X, 3.0 * DVec3::X).is_err());
    let s = Hold::Free.filter().unwrap();
    assert_eq!(s, DMat3::IDENTITY);
}

#[test]
fn bad_input_is_an_error() {
    let particles = Particles::new(vec![1.0, 1.0], vec![DVec3::ZERO, DVec3::X]);
    let none = [DVec3::ZERO; 2];
    let make = |p: &Particles, springs: &[Spring], loads: &[DVec3], h| {
        ElasticStep::new(p, springs, loads, h, Stiffness::Full).map(|_| ())
    };
    make(&particles, &[spring(0, 1, 1.0)], &none, 0.1).unwrap();
    let found = make(&particles, &[], &none[..1], 0.1);
    assert!(matches!(found, Err(Error::LengthMismatch { field: "loads", expected: 2, found: 1 })));
    let found = make(&particles, &[spring(0, 2, 1.0)], &none, 0.1);
    assert!(matches!(found, Err(Error::IndexOutOfRange { field: "springs", index: 0, value: 2, count: 2 })));
    let found = make(&particles, &[spring(0, 1, 1.0), spring(1, 1, 1.0)], &none, 0.1);
    assert!(matches!(found, Err(Error::OutOfRange { field: "springs", index: Some(1), .. })));
    let found = make(&particles, &[spring(0, 1, f64::NAN)], &none, 0.1);
    assert!(matches!(found, Err(Error::OutOfRange { field: "springs.rest", index: Some(0), .. })));
    for h in [0.0, -0.1, f64::NAN, f64::INFINITY] {
        assert!(matches!(make(&particles, &[], &none, h), Err(Error::OutOfRange { field: "h", .. })));
    }
    let mut massless = particles.clone();
    massless.masses[1] = 0.0;
    let found = make(&massless, &[], &none, 0.1);
    assert!(matches!(found, Err(Error::OutOfRange { field: "masses", index: Some(1), .. })));
    let mut lost = particles;
    lost.velocities[1].y = f64::NAN;
    assert!(matches!(make(&lost, &[], &none, 0.1), Err(Error::NotFinite { field: "velocities", index: 1 })));
}

#[test]
fn a_fixed_particle_changes_by_what_is_prescribed_to_the_bit() {
    // Eq. (14): Δv = z where S = 0.
    let step = held_net(Stiffness::Definite);
    let z = step.z[0];
    assert!(z.abs().min_element() > 1e-3);
    for budget in [0, 1, 5, 1000] {
        let change = modified_pcg(&step, 1e-10, budget).change[0];
        assert_eq!(change.to_array().map(f64::to_bits), z.to_array().map(f64::to_bits));
    }
    near((direct(&step).unwrap()[0] - z).length(), 0.0, 1e-15);
}

#[test]
fn a_moving_pin_follows_a_sine() {
    // Eq. (14) with z of every step. 0.1 m at 1 Hz in steps of 0.01 s, with 0.2 kg on a spring below.
    let h = 0.01;
    let path = |n: u32| DVec3::new(0.1 * (std::f64::consts::TAU * h * f64::from(n)).sin(), 0.0, 0.0);
    let mut particles = Particles::new(vec![0.1, 0.2], vec![path(0), DVec3::new(0.0, -0.3, 0.0)]);
    particles.holds[0] = Hold::Fixed;
    let springs = [spring(0, 1, 0.25)];
    let mut swing: f64 = 0.0;
    for n in 1..=200 {
        particles.z[0] = (path(n) - particles.positions[0]) / h - particles.velocities[0];
        let step = ElasticStep::new(&particles, &springs, &weights(&particles), h, Stiffness::Definite).unwrap();
        particles.advance(&solved(&step).change, h);
        near(particles.positions[0].distance(path(n)), 0.0, 1e-14);
        swing = swing.max(particles.positions[1].x.abs());
    }
    assert!(swing > 0.02, "the particle below is dragged along, {swing}");
}

// ------------------------------------------------------------------------------------------------- sections 5.1 to 5.3

#[test]
fn the_filtered_matrix_is_symmetric_and_positive_and_the_full_one_need_not_be() {
    // Eqs. (15), (16).
    let a = held_net(Stiffness::Definite).dense();
    (0..a.len()).for_each(|i| (0..i).for_each(|j| assert_eq!(a[i][j], a[j][i])));
    assert!(eigenvalues(a)[0] > 0.0);

    // A spring pushed to a fifth of its length: k (1 − 5) across it is −240 N/m, and 2 h² 240 exceeds the mass.
    let particles = Particles::new(vec![0.01; 2], vec![DVec3::ZERO, DVec3::new(0.2, 0.0, 0.0)]);
    let step = |kind| ElasticStep::new(&particles, &[spring(0, 1, 1.0)], &[DVec3::Y; 2], 0.02, kind).unwrap();
    near(eigenvalues(step(Stiffness::Full).dense())[0], 0.01 - 2.0 * 0.0004 * 240.0, 1e-15);
    near(eigenvalues(step(Stiffness::Definite).dense())[0], 0.01, 1e-15);
}

#[test]
fn an_indefinite_matrix_ends_the_iterations() {
    // Section 5.3 assumes a definite A: r·D⁻¹r < 0 where the diagonal is negative, and c·q ≤ 0 where only A is. The
    // second spring stands at 1/1.4 of its length along (1, 1, 1), which makes −0.4 k across it and +k/15 on the
    // diagonal.
    let slanted = DVec3::splat(1.0 / 3f64.sqrt());
    let cases = [(0.2 * DVec3::X, DVec3::Y, false), (slanted / 1.4, 100.0 * DVec3::new(1.0, -1.0, 0.0), true)];
    for (d, load, positive) in cases {
        let particles = Particles::new(vec![0.01; 2], vec![DVec3::ZERO, d]);
        let step = ElasticStep::new(&particles, &[spring(0, 1, 1.0)], &[load, -load], 0.02, Stiffness::Full).unwrap();
        assert_eq!(step.diagonal().iter().all(|d| d.min_element() > 0.0), positive);
        let solution = modified_pcg(&step, 1e-10, 100);
        assert_eq!(solution.stop, Stop::Indefinite);
        assert!(solution.change.iter().chain(&solution.forces).all(|v| v.is_finite()));
    }
}

#[test]
fn modified_conjugate_gradients_find_the_direct_solution() {
    // Section 5.3 against the dense solution of eq. (14).
    let step = held_net(Stiffness::Definite);
    let solution = modified_pcg(&step, 1e-10, 1000);
    let expected = direct(&step).unwrap();
    let error = farthest(&solution.change, &expected);
    println!("{} iterations, {error:.1e} m/s from the direct solution", solution.iterations);
    assert_eq!(solution.stop, Stop::Reached);
    assert!((10..=40).contains(&solution.iterations), "{}", solution.iterations);
    assert!(error <= 1e-9, "{error:e}");
    assert!(expected.iter().all(|v| v.length() > 1e-4), "every particle moves");
}

#[test]
fn the_holds_are_exact_after_any_number_of_iterations() {
    // Section 5.3: the filter keeps every iterate on its constraints.
    let step = held_net(Stiffness::Definite);
    let mut worst: f64 = 0.0;
    for budget in 0..=40 {
        let solution = modified_pcg(&step, 1e-10, budget);
        assert!(solution.iterations <= budget);
        worst = worst.max(hold_error(&step, &solution.change));
    }
    println!("holds exact to {worst:.1e} m/s");
    assert!(worst <= 1e-15, "{worst:e}");
    // The measure sees an error where there is one.
    assert!(hold_error(&step, &vec![DVec3::ZERO; 40]) > 1e-2);
}

#[test]
fn the_printed_preconditioner_needs_many_times_more_iterations() {
    // Section 5.3 sets P_ii = 1/A_ii and multiplies by P⁻¹, that is, by A_ii; the same relative accuracy ε in its own
    // norm.
    let step = held_net(Stiffness::Definite);
    let expected = direct(&step).unwrap();
    let r = filtered(&step, &plus(&step.b, -1.0, &step.apply(&step.z)));
    let diagonal = step.diagonal();
    let first = dot(&r, &times(&diagonal, &r));
    let (change, literal) = printed_loop(&step, &diagonal, first, 1e-10, 100_000);
    let solution = modified_pcg(&step, 1e-10, 1000);
    println!("{literal} iterations instead of {}", solution.iterations);
    assert!(farthest(&change, &expected) <= 1e-7);
    assert!(literal >= 5 * solution.iterations);

    // With A_ii inverted the same loop is the corrected one.
    let inverse: Vec<DVec3> = diagonal.iter().map(|d| d.recip()).collect();
    let (change, iterations) = printed_loop(&step, &inverse, dot(&r, &times(&inverse, &r)), 1e-10, 1000);
    assert!(iterations.abs_diff(solution.iterations) <= 1);
    assert!(farthest(&change, &expected) <= 1e-9);
}

#[test]
fn a_pin_that_moves_without_forces_ends_the_iterations() {
    // Section 5.3 prints δ0 from filter(b). The net at rest, no weight, so b = 0, and only the pin has a prescribed
    // change.
    let (mut particles, springs) = net();
    particles.holds[0] = Hold::Fixed;
    particles.z[0] = DVec3::new(0.1, 0.2, -0.3);
    let step = ElasticStep::new(&particles, &springs, &[DVec3::ZERO; 40], 0.02, Stiffness::Definite).unwrap();
    assert!(step.b.iter().all(|b| b.length() == 0.0));
    let solution = modified_pcg(&step, 1e-10, 1000);
    println!("{} iterations", solution.iterations);
    assert_eq!(solution.stop, Stop::Reached);
    assert!((1..=40).contains(&solution.iterations));
    assert!(farthest(&solution.change, &direct(&step).unwrap()) <= 1e-10);
    assert_eq!(solution.change[0], particles.z[0]);

    // The printed test compares with δ0 = 0, so it runs until δ underflows, to zero or by way of 0/0 to NaN.
    let inverse: Vec<DVec3> = step.diagonal().iter().map(|d| d.recip()).collect();
    let (mut lost, mut least) = (0, usize::MAX);
    for n in 1..=200 {
        let mut scaled = step.clone();
        scaled.z[0] *= f64::from(n) / 100.0;
        let (change, iterations) = printed_loop(&scaled, &inverse, 0.0, 1e-10, 100_000);
        lost += usize::from(!change.iter().all(|v| v.is_finite()));
        least = least.min(iterations);
        assert_eq!(modified_pcg(&scaled, 1e-10, 1000).iterations, solution.iterations);
    }
    println!("as printed at least {least} iterations, NaN in {lost} of 200");
    assert!(least >= 5 * solution.iterations);
    assert!(lost > 0);

    // Even a tolerance of zero ends with numbers.
    let solution = modified_pcg(&step, 0.0, 100_000);
    assert_ne!(solution.stop, Stop::Budget);
    assert!(farthest(&solution.change, &direct(&step).unwrap()) <= 1e-14);
    // And so does nothing to do.
    particles.z[0] = DVec3::ZERO;
    let step = ElasticStep::new(&particles, &springs, &[DVec3::ZERO; 40], 0.02, Stiffness::Definite).unwrap();
    let solution = modified_pcg(&step, 1e-10, 1000);
    assert_eq!((solution.iterations, solution.stop), (0, Stop::Reached));
    assert!(solution.change.iter().all(|v| *v == DVec3::ZERO));
}

#[test]
fn without_holds_the_iterates_are_those_of_plain_conjugate_gradients_to_the_bit() {
    // Section 5.2: S = I and z = 0.
    let mut step = held_net(Stiffness::Definite);
    step.filters.iter_mut().for_each(|s| *s = Hold::Free.filter().unwrap());
    step.z.iter_mut().for_each(|z| *z = DVec3::ZERO);

    // Plain preconditioned conjugate gradients from zero.
    let diagonal = step.diagonal();
    let precondition = |r: &[DVec3]| -> Vec<DVec3> { r.iter().zip(&diagonal).map(|(r, d)| *r / *d).collect() };
    let mut x = vec![DVec3::ZERO; 40];
    let mut r = step.b.clone();
    let mut p = precondition(&r);
    let mut rho = dot(&r, &p);
    for iteration in 0..30 {
        let found = modified_pcg(&step, 0.0, iteration).change;
        let bits = |v: &[DVec3]| -> Vec<u64> { flat(v).into_iter().map(f64::to_bits).collect() };
        assert_eq!(bits(&found), bits(&x), "iterate {iteration}");
        let q = step.apply(&p);
        let alpha = rho / dot(&p, &q);
        x = plus(&x, alpha, &p);
        r = plus(&r, -alpha, &q);
        let s = precondition(&r);
        let next = dot(&r, &s);
        p = plus(&s, next / rho, &p);
        rho = next;
    }
    assert!(farthest(&x, &direct(&step).unwrap()) <= 1e-9);
}

// ---------------------------------------------------------------------------------------------------- section 5.4

#[test]
fn a_particle_at_rest_on_a_floor_is_carried_by_its_weight() {
    // e/h = m g = 2.4525 N, e = A Δv − b.
    for hold in [Hold::Plane { normal: DVec3::Y }, Hold::Fixed] {
        let step = lone(0.25, hold, DVec3::ZERO, DVec3::ZERO, DVec3::new(0.0, -0.25 * G, 0.0), 0.01);
        let solution = solved(&step);
        near(solution.forces[0].y, 2.4525, 1e-15);
        assert_eq!((solution.forces[0].x, solution.forces[0].z), (0.0, 0.0));
        assert_eq!(solution.change[0], DVec3::ZERO);
    }
}

#[test]
fn holds_exert_no_force_in_free_directions() {
    // S (A Δv − b) = 0, and the holds carry what moves against them.
    let step = held_net(Stiffness::Definite);
    let forces = modified_pcg(&step, 1e-12, 1000).forces;
    let free = filtered(&step, &forces);
    assert!(farthest(&free, &[DVec3::ZERO; 40]) <= 1e-9);
    for held in [0, 20, 39] {
        assert!(forces[held].length() > 0.01);
    }
    // Springs cancel in pairs: what the holds give is the change of momentum minus the weight.
    let change = direct(&step).unwrap();
    let momentum: DVec3 = change.iter().zip(&step.masses).map(|(v, m)| *m * *v).sum();
    let weight: DVec3 = step.masses.iter().map(|m| DVec3::new(0.0, -G * m, 0.0)).sum();
    near((momentum / step.h - weight - forces.iter().sum::<DVec3>()).length(), 0.0, 1e-8);
}

#[test]
fn a_contact_lets_go_only_when_it_would_have_to_pull() {
    // m g less the pull, m = 0.25 kg.
    let cases = [(0.0, 2.4525, false), (1.0, 1.4525, false), (2.4525, 0.0, false), (3.0, -0.5475, true)];
    for (pull, expected, leaves) in cases {
        let load = DVec3::new(0.0, pull - 0.25 * G, 0.0);
        let step = lone(0.25, Hold::Plane { normal: DVec3::Y }, DVec3::ZERO, DVec3::ZERO, load, 0.01);
        let force = solved(&step).forces[0];
        near(normal_force(DVec3::Y, force), expected, 1e-15);
        assert_eq!(releases(DVec3::Y, force, 1e-9), leaves, "pulled with {pull} N");
    }
}

/// Velocity down a slope of `degrees` after `count` steps of 0.01 s with friction, starting at `speed`.
fn slide(degrees: f64, mu: f64, speed: f64, count: usize) -> f64 {
    let slope = degrees.to_radians();
    let normal = DVec3::new(slope.sin(), slope.cos(), 0.0);
    let down = DVec3::new(slope.cos(), -slope.sin(), 0.0);
    let load = DVec3::new(0.0, -0.25 * G, 0.0);
    let mut velocity = speed * down;
    for _ in 0..count {
        let stopped = solved(&lone(0.25, Hold::Fixed, velocity, -velocity, load, 0.01));
        let change = match friction(normal, stopped.forces[0], velocity, mu, 0.05) {
            Grip::Stick => stopped.change[0],
            Grip::Slide { force } => {
                let plane = Hold::Plane { normal };
                solved(&lone(0.25, plane, velocity, DVec3::ZERO, load + force, 0.01)).change[0]
            }
        };
        velocity += change;
    }
    near(velocity.dot(normal), 0.0, 1e-13);
    velocity.dot(down)
}

#[test]
fn a_particle_sticks_to_a_slope_inside_the_friction_cone_and_slides_outside() {
    // Coulomb's law. μ = 0.6 holds up to 30.96°.
    for degrees in [0.0, 10.0, 30.0, 30.9] {
        assert_eq!(slide(degrees, 0.6, 0.0, 100), 0.0, "{degrees}°");
    }
    for degrees in [31.1f64, 35.0, 60.0] {
        let expected = G * (degrees.to_radians().sin() - 0.6 * degrees.to_radians().cos());
        near(slide(degrees, 0.6, 0.0, 100), expected, 1e-9);
    }
    // A fast one brakes on a slope that would hold it: still sliding after 0.5 s, at rest after 1 s.
    let brake = G * (0.6 * 20f64.to_radians().cos() - 20f64.to_radians().sin());
    near(slide(20.0, 0.6, 1.5, 50), 1.5 - 0.5 * brake, 1e-9);
    assert_eq!(slide(20.0, 0.6, 1.5, 100), 0.0);
    // And friction opposes the motion uphill too.
    let uphill = slide(60.0, 0.6, -3.0, 10);
    near(uphill, -3.0 + 0.1 * G * (60f64.to_radians().sin() + 0.6 * 60f64.to_radians().cos()), 1e-9);
}

#[test]
fn a_fast_particle_slides_even_if_it_could_be_stopped() {
    // The tangential 0.1 N are inside the cone of 0.6 N; the speed decides, and the force opposes it.
    let stopping = DVec3::new(0.1, 1.0, 0.0);
    assert_eq!(friction(DVec3::Y, stopping, 0.04 * DVec3::Z, 0.6, 0.05), Grip::Stick);
    let fast = friction(DVec3::Y, stopping, 0.06 * DVec3::Z, 0.6, 0.05);
    assert!(matches!(fast, Grip::Slide { force } if force.distance(-0.6 * DVec3::Z) <= 1e-15));
}

#[test]
fn a_contact_without_pressure_has_no_friction() {
    // μ times nothing.
    let none = friction(DVec3::Y, DVec3::new(0.3, -1.0, 0.0), DVec3::X, 0.6, 0.05);
    assert!(matches!(none, Grip::Slide { force } if force.length() == 0.0));
}

// ---------------------------------------------------------------------------------------------------- springs

#[test]
fn the_spring_matrix_is_the_derivative_of_the_force() {
    // k n nᵀ + k (1 − l/|d|)(I − n nᵀ), stretched and pushed, with central differences.
    let still = DVec3::ZERO;
    for (d, rest) in [(DVec3::new(0.9, -0.4, 0.7), 1.0), (DVec3::new(0.2, 0.5, -0.3), 1.0)] {
        let spring = Spring { tail: 0, head: 1, rest, stiffness: 50.0, damping: 3.0 };
        let found = spring.stiffness_matrix(d, still, Stiffness::Full);
        let n = d.normalize();
        let (along, across) = (outer(n), DMat3::IDENTITY - outer(n));
        assert!(largest(found - (50.0 * along + 50.0 * (1.0 - rest / d.length()) * across)) <= 1e-13);
        // JᵀC⁻¹J + K̃ with J = n, C = 1/k and K̃ = (−λ/|d|)(I − nnᵀ), λ = −k (|d| − l).
        let lambda = -50.0 * (d.length() - rest);
        assert!(largest(found - (outer(n) * 50.0 + (-lambda / d.length()) * across)) <= 1e-13);

        let size = 1e-5;
        let slope = |axis: DVec3| (spring.force(d + axis, still) - spring.force(d - axis, still)) / (2.0 * size);
        let differences = -DMat3::from_cols(slope(size * DVec3::X), slope(size * DVec3::Y), slope(size * DVec3::Z));
        let error = largest(found - differences) / 50.0;
        println!("{error:.1e}");
        assert!(error <= 4e-7, "{error:e}");

        // The definite matrix is the full one while the spring pulls, and k n nᵀ while it pushes.
        let definite = spring.stiffness_matrix(d, still, Stiffness::Definite);
        let expected = if d.length() > rest { found } else { 50.0 * along };
        assert!(largest(definite - expected) <= 1e-14);

        // The force is linear in the rate.
        let rate = DVec3::new(0.4, 0.1, -2.0);
        let damped = spring.force(d, rate) - spring.force(d, still);
        near((damped + spring.damping_matrix(d) * rate).length(), 0.0, 1e-13);
    }
}

#[test]
fn the_step_uses_the_forces_of_its_springs() {
    // With v = 0 and no holds, b = h f; checked against the gradient of the energy ½ k (|d| − l)².
    let (particles, mut springs) = net();
    springs.iter_mut().for_each(|spring| spring.rest *= 0.9);
    let step = ElasticStep::new(&particles, &springs, &[DVec3::ZERO; 40], 0.02, Stiffness::Full).unwrap();
    let energy = |x: &[DVec3]| -> f64 {
        springs.iter().map(|s| 0.5 * s.stiffness * (x[s.head].distance(x[s.tail]) - s.rest).powi(2)).sum()
    };
    for i in [0, 13, 39] {
        for axis in 0..3 {
            let at = |shift: f64| {
                let mut x = particles.positions.clone();
                x[i][axis] += shift;
                energy(&x)
            };
            near(step.b[i][axis] / 0.02, -(at(1e-6) - at(-1e-6)) / 2e-6, 1e-8);
        }
    }
}

#[test]
fn a_damper_slows_two_particles_by_the_implicit_rule() {
    // Without stiffness the relative speed u obeys u' = u/(1 + 2 h c/m), here 1/2.2.
    let mut particles = Particles::new(vec![0.5; 2], vec![DVec3::ZERO, DVec3::X]);
    particles.velocities[1] = DVec3::X;
    let springs = [Spring { tail: 0, head: 1, rest: 1.0, stiffness: 0.0, damping: 3.0 }];
    let step = ElasticStep::new(&particles, &springs, &[DVec3::ZERO; 2], 0.1, Stiffness::Definite).unwrap();
    for change in [solved(&step).change, direct(&step).unwrap()] {
        near(1.0 + change[1].x - change[0].x, 1.0 / 2.2, 1e-15);
        near(change[0].x + change[1].x, 0.0, 1e-16);
    }
}

#[test]
fn the_velocity_form_equals_the_displacement_form() {
    // (M + h²H) v' = M v + h f and (M/h² + H) Δx = M v/h + f; both against Δv. No holds, no damping.
    let (mut particles, mut springs) = net();
    let mut noise = Noise(5);
    springs.iter_mut().for_each(|spring| (spring.damping, spring.rest) = (0.0, 0.95 * spring.rest));
    particles.velocities.iter_mut().for_each(|v| *v = noise.vector());
    let h = 0.02;
    let step = ElasticStep::new(&particles, &springs, &weights(&particles), h, Stiffness::Definite).unwrap();
    let still = Particles { velocities: vec![DVec3::ZERO; 40], ..particles.clone() };
    let impulse = ElasticStep::new(&still, &springs, &weights(&still), h, Stiffness::Definite).unwrap().b;
    let momentum: Vec<DVec3> = particles.velocities.iter().zip(&particles.masses).map(|(v, m)| *m * *v).collect();

    let right = plus(&momentum, 1.0, &impulse);
    let velocity = solve_dense(step.dense(), flat(&right)).unwrap();
    let scaled: Vec<Vec<f64>> = step.dense().iter().map(|row| row.iter().map(|a| a / (h * h)).collect()).collect();
    let right: Vec<f64> = flat(&right).iter().map(|b| b / h).collect();
    let displacement = solve_dense(scaled, right).unwrap();
    let change = flat(&direct(&step).unwrap());
    let before = flat(&particles.velocities);
    for i in 0..120 {
        near(velocity[i], displacement[i] / h, 1e-14);
        near(velocity[i], before[i] + change[i], 1e-13);
    }
}

#[test]
fn elimination_needs_its_pivots_and_reports_singular_matrices() {
    let swap = solve_dense(vec![vec![0.0, 2.0], vec![4.0, 1.0]], vec![6.0, 11.0]).unwrap();
    assert_eq!(swap, [2.0, 3.0]);
    assert!(solve_dense(vec![vec![1.0, 2.0], vec![2.0, 4.0]], vec![1.0, 1.0]).is_none());
    assert!(solve_dense(vec![vec![f64::NAN]], vec![1.0]).is_none());
}

#[test]
fn an_edge_grows_by_a_tenth_of_its_current_length_per_step_at_most() {
    // The limit of the strain rate of Bridson et al. 2002, quoted in section 2 of Goldenthal et al. 2007: pulled by
    // half of its length per step.
    let mut length = 1.0;
    for expected in [1.1, 1.21, 1.331, 1.4641] {
        let next = limit_length_change(length, 1.5 * length, 0.1);
        assert_eq!(next, length + 0.1 * length);
        near(next, expected, 1e-15);
        length = next;
    }
    near(limit_length_change(2.0, 0.5, 0.1), 1.8, 1e-15);
    assert_eq!(limit_length_change(2.0, 2.15, 0.1), 2.15);
    assert!(limit_length_change(2.0, f64::NAN, 0.1).is_nan());
}
