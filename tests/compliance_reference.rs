//! Compliant constraints and geometric stiffness in f64: the numbers of the lecture, by both forms of the system.

use taut::reference::{
    CompliantSolution, CompliantStep, FastProjection, Measure, Projector, System, geometric_stiffness,
};

fn system(positions: &[[f64; 3]], masses: &[f64], rests: &[f64]) -> System {
    let edges = (0..rests.len() as u32).map(|tail| (tail, tail + 1)).collect();
    let inverse = masses.iter().map(|mass| 1.0 / mass).collect();
    System::new(positions.to_vec(), inverse, edges, rests.to_vec()).unwrap()
}

fn near(a: f64, b: f64, bound: f64) {
    assert!((a - b).abs() <= bound * b.abs().max(1.0), "{a} is not {b}");
}

/// Masses of 2 and 1 kg, 1.5 m apart on an edge of 1 m, k = 10⁴ N/m, h = 0.01 s: λ = −2000 N, speeds of 10 and 20 m/s
/// towards each other, and 0.2 m left of 0.5.
#[test]
fn the_schur_complement_has_the_numbers_of_the_lecture() {
    let system = system(&[[0.0; 3], [1.5, 0.0, 0.0]], &[2.0, 1.0], &[1.0]);
    let step = CompliantStep {
        system: &system,
        measure: Measure::Length,
        velocities: &[[0.0; 3]; 2],
        compliances: &[1e-4],
        geometric: &[],
        h: 0.01,
    };
    for solution in [step.schur(), step.primal_dual()] {
        near(solution.multipliers[0], -2000.0, 1e-12);
        near(solution.velocities[0][0], 10.0, 1e-12);
        near(solution.velocities[1][0], -20.0, 1e-12);
        let left = 1.5 + 0.01 * (solution.velocities[1][0] - solution.velocities[0][0]) - 1.0;
        near(left, 0.2, 1e-12);
    }
}

fn apart(one: &CompliantSolution, other: &CompliantSolution) -> f64 {
    let largest = |solution: &CompliantSolution| {
        let velocities = solution.velocities.as_flattened().iter();
        velocities.chain(&solution.multipliers).fold(0.0f64, |most, x| most.max(x.abs()))
    };
    let numbers = |solution: &CompliantSolution| {
        [solution.velocities.as_flattened().to_vec(), solution.multipliers.clone()].concat()
    };
    let pairs = numbers(one).into_iter().zip(numbers(other));
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest(one).max(largest(other))
}

/// A crooked chain in motion, from a pin, with and without geometric stiffness: both forms are one.
#[test]
fn both_forms_agree_to_rounding() {
    let positions = [[0.0; 3], [0.31, -0.1, 0.05], [0.55, -0.3, -0.1], [0.9, -0.25, 0.15], [1.1, -0.55, 0.1]];
    let system = system(&positions, &[f64::INFINITY, 0.4, 1.3, 0.7, 2.0], &[0.3, 0.3, 0.3, 0.3]);
    let velocities: Vec<[f64; 3]> =
        (0..5).map(|v| if v == 0 { [0.0; 3] } else { [0.3 * v as f64, -0.5, 0.1 * v as f64] }).collect();
    for geometric in [vec![], vec![-40.0, -20.0, 5.0, -60.0]] {
        let step = CompliantStep {
            system: &system,
            measure: Measure::Length,
            velocities: &velocities,
            compliances: &[1e-3, 2e-3, 1e-4, 5e-3],
            geometric: &geometric,
            h: 0.01,
        };
        let difference = apart(&step.schur(), &step.primal_dual());
        assert!(difference < 1e-14, "{difference:e}");
        // It can fail.
        let other = CompliantStep { compliances: &[1e-3, 2e-3, 1e-4, 5.001e-3], ..step };
        assert!(apart(&other.schur(), &step.primal_dual()) > 1e-8);
    }
}

/// C_c → 0 is the first step of fast projection, in its own constraint: a single edge from 1.1 to (1.1 + 1/1.1)/2, and
/// a crooked chain of uneven masses.
#[test]
fn a_compliance_of_a_trillionth_is_fast_projection() {
    let bent = [[0.0; 3], [0.4, -0.1, 0.0], [0.7, -0.4, 0.2], [1.2, -0.3, 0.1]];
    for (positions, masses, rests) in [
        (&[[0.0; 3], [1.1, 0.0, 0.0]][..], &[3.0, 1.0][..], &[1.0][..]),
        (&bent[..], &[f64::INFINITY, 1.0, 2.0, 0.5][..], &[0.4, 0.45, 0.5][..]),
    ] {
        let system = system(positions, masses, rests);
        let step = CompliantStep {
            system: &system,
            measure: Measure::Square,
            velocities: &vec![[0.0; 3]; positions.len()],
            compliances: &vec![1e-12; rests.len()],
            geometric: &[],
            h: 0.01,
        };
        let velocities = step.schur().velocities;
        let mut projected = system.clone();
        FastProjection { limit: 1e-12, budget: 1, at_least: 1 }.project(&mut projected, positions, 0.01);
        for (vertex, velocity) in velocities.iter().enumerate() {
            for axis in 0..3 {
                let moved = projected.positions[vertex][axis] - positions[vertex][axis];
                assert!((0.01 * velocity[axis] - moved).abs() < 1e-6 * 0.1, "{} {moved}", 0.01 * velocity[axis]);
            }
        }
        if rests.len() == 1 {
            near(1.1 + 0.01 * (velocities[1][0] - velocities[0][0]), 0.5 * (1.1 + 1.0 / 1.1), 1e-6);
            // In φ it is at its length at once.
            let linear = CompliantStep { measure: Measure::Length, ..step }.schur().velocities;
            near(1.1 + 0.01 * (linear[1][0] - linear[0][0]), 1.0, 1e-6);
        }
    }
}

/// JᵀC_c⁻¹J + K̃ is the Hessian of a spring: k n nᵀ + k (1 − l/|d|)(I − n nᵀ).
#[test]
fn geometric_stiffness_is_the_missing_half_of_a_springs_hessian() {
    let (d, rest, k) = ([0.8, -0.5, 0.4], 0.9, 130.0);
    let extent = f64::sqrt(d.iter().map(|x| x * x).sum());
    let n = d.map(|x| x / extent);
    let block = geometric_stiffness(d, -k * (extent - rest));
    let energy = |d: [f64; 3]| 0.5 * k * (f64::sqrt(d.iter().map(|x| x * x).sum()) - rest).powi(2);
    let eps = 1e-4;
    for i in 0..3 {
        for j in 0..3 {
            let moved = |a: f64, b: f64| {
                let mut d = d;
                d[i] += a * eps;
                d[j] += b * eps;
                energy(d)
            };
            let second =
                (moved(1.0, 1.0) - moved(1.0, -1.0) - moved(-1.0, 1.0) + moved(-1.0, -1.0)) / (4.0 * eps * eps);
            near(block[i][j] + k * n[i] * n[j], second, 1e-5);
        }
    }
    assert_eq!(geometric_stiffness(d, 5.0), [[0.0; 3]; 3], "what pushes adds nothing");
}

/// Pin, 1 kg, m₂ on rods of 0.1 m, started 1 mm aside, steps of 1/60 s: largest sideways distance of the first mass in
/// each second \[m\], with the geometric stiffness and without.
fn pendulum(heavy: f64, stable: bool) -> Vec<f64> {
    let h = 1.0 / 60.0;
    let gravity = 9.81;
    let mut system =
        system(&[[0.0; 3], [1e-3, -0.1, 0.0], [0.0, -0.2, 0.0]], &[f64::INFINITY, 1.0, heavy], &[0.1, 0.1]);
    let mut velocities = vec![[0.0; 3]; 3];
    let mut multipliers = vec![-(1.0 + heavy) * gravity, -heavy * gravity];
    let mut farthest = Vec::new();
    for step in 0..600 {
        for velocity in &mut velocities[1..] {
            velocity[1] -= h * gravity;
        }
        let found = CompliantStep {
            system: &system,
            measure: Measure::Length,
            velocities: &velocities,
            compliances: &[0.0; 2],
            geometric: if stable { &multipliers } else { &[] },
            h,
        }
        .schur();
        (velocities, multipliers) = (found.velocities, found.multipliers);
        for (x, v) in system.positions.iter_mut().zip(&velocities) {
            (0..3).for_each(|axis| x[axis] += h * v[axis]);
        }
        if step % 60 == 0 {
            farthest.push(0.0f64);
        }
        let most = farthest.last_mut().unwrap();
        *most = most.max(system.positions[1][0].abs());
    }
    farthest
}

#[test]
fn a_taut_pendulum_needs_its_geometric_stiffness() {
    // Parts of the millimetre that it began with, against tens of metres, and against kilometres.
    for (heavy, held, thrown) in [(100.0, 0.16e-3, 20.0), (1000.0, 0.022e-3, 1000.0)] {
        let (stable, plain) = (pendulum(heavy, true), pendulum(heavy, false));
        println!("{heavy} kg: with {stable:?}, without {plain:?}");
        let most = |farthest: &[f64]| farthest.iter().fold(0.0f64, |most, x| most.max(*x));
        assert!(most(&stable) < held && most(&plain) > thrown, "{heavy} kg: {stable:?}, {plain:?}");
    }
}
