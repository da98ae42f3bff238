//! The double-precision judge against closed forms, published sequences and the laws it should obey.
//!
//! Every bound stands next to its assertion. Printed sequences with few digits are compared to half a unit of their
//! last digit. *The paper* is Goldenthal et al. 2007, *Efficient Simulation of Inextensible Cloth*.
#![cfg(feature = "reference")]

use std::f64::consts::{FRAC_PI_2, PI};

use taut::Error;
use taut::reference::{
    Failure, FastProjection, ImplicitDirection, Projection, Projector, System, energy, icd_step, max_strain,
    project_velocities, residual, step, unknown_count,
};

const G: f64 = 9.81;
const DOWN: [f64; 3] = [0.0, -G, 0.0];

// ---------------------------------------------------------------------------------------------------- fixtures

fn system(positions: &[[f64; 3]], inverse_masses: &[f64], edges: &[(u32, u32)], rests: &[f64]) -> System {
    System::new(positions.to_vec(), inverse_masses.to_vec(), edges.to_vec(), rests.to_vec()).unwrap()
}

/// One edge of rest length 1 from a pin at the origin.
fn pinned_edge(head: [f64; 3]) -> System {
    system(&[[0.0; 3], head], &[0.0, 1.0], &[(0, 1)], &[1.0])
}

/// Vertices joined in a row, every inverse mass 1 except the pins.
fn row(positions: Vec<[f64; 3]>, rest: f64, pins: &[usize]) -> System {
    let edge_count = positions.len() - 1;
    let mut inverse_masses = vec![1.0; positions.len()];
    pins.iter().for_each(|&v| inverse_masses[v] = 0.0);
    let edges = (0..edge_count as u32).map(|e| (e, e + 1)).collect();
    System::new(positions, inverse_masses, edges, vec![rest; edge_count]).unwrap()
}

/// n × n grid of side 1 in the x-z plane, edges along x first.
fn net(n: usize) -> System {
    let l = 1.0 / (n - 1) as f64;
    let positions = (0..n * n).map(|v| [(v % n) as f64 * l, 0.0, (v / n) as f64 * l]).collect();
    let at = |i: usize, j: usize| (j * n + i) as u32;
    let along_x = (0..n).flat_map(|j| (0..n - 1).map(move |i| (at(i, j), at(i + 1, j))));
    let along_z = (0..n - 1).flat_map(|j| (0..n).map(move |i| (at(i, j), at(i, j + 1))));
    let edges: Vec<_> = along_x.chain(along_z).collect();
    let rests = vec![l; edges.len()];
    System::new(positions, vec![1.0; n * n], edges, rests).unwrap()
}

/// 6 × 6 net rolled on a cylinder of radius 0.5 with exact edge lengths.
fn cylinder_net() -> System {
    let mut s = net(6);
    let (radius, l) = (0.5, s.rests[0]);
    let angle = 2.0 * (l / (2.0 * radius)).asin();
    for (v, x) in s.positions.iter_mut().enumerate() {
        let turn = (v % 6) as f64 * angle;
        *x = [radius * turn.sin(), -radius * (1.0 - turn.cos()), (v / 6) as f64 * l];
    }
    s
}

/// A net with two pins, a velocity along the constraints, and the end of an unconstrained step.
fn moving_net(h: f64) -> System {
    let mut s = cylinder_net();
    s.inverse_masses[0] = 0.0;
    s.inverse_masses[5] = 0.0;
    let mut v: Vec<[f64; 3]> =
        (0..36).map(|k| [0.0, 0.5 * (5.0 * k as f64).cos(), 0.3 * (7.0 * k as f64).sin()]).collect();
    // The fixture projects the velocities with the pins still moving, and stops the pins afterwards.
    project_velocities(&s, &mut v);
    v[0] = [0.0; 3];
    v[5] = [0.0; 3];
    for ((x, v), w) in s.positions.iter_mut().zip(&v).zip(&s.inverse_masses) {
        let gravity = if *w > 0.0 { DOWN } else { [0.0; 3] };
        (0..3).for_each(|k| x[k] += h * (v[k] + h * gravity[k]));
    }
    s
}

/// Moves every free vertex by repeatable noise of up to `fraction` of the first rest length in each axis.
fn shake_up(s: &mut System, fraction: f64) {
    let size = fraction * s.rests[0];
    let mut state = 1u64;
    for (x, w) in s.positions.iter_mut().zip(&s.inverse_masses) {
        for x in x.iter_mut() {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let unit = (state >> 11) as f64 / (1u64 << 53) as f64;
            if *w > 0.0 {
                *x += size * (2.0 * unit - 1.0);
            }
        }
    }
}

/// A projector that stops after `budget` iterations unless the strain is below rounding.
fn exactly(budget: usize) -> FastProjection {
    FastProjection { limit: 1e-15, budget, at_least: 0 }
}

fn tight() -> FastProjection {
    FastProjection { limit: 1e-13, budget: 60, at_least: 1 }
}

fn project(s: &mut System, projector: &mut dyn Projector) -> Projection {
    let start = s.positions.clone();
    projector.project(s, &start, 1.0)
}

/// Largest strain before the first and after each of `count` single iterations.
fn strains(s: &mut System, count: usize) -> Vec<f64> {
    let mut found = vec![max_strain(s)];
    for _ in 0..count {
        project(s, &mut exactly(1));
        found.push(max_strain(s));
    }
    found
}

/// Half a unit of the last digit of a number printed with `digits` significant digits.
fn printed(value: f64, digits: i32) -> f64 {
    0.5001 * 10f64.powi(value.abs().log10().floor() as i32 + 1 - digits)
}

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "found {found:.12e}, expected {expected:.12e} ± {tolerance:.1e}");
}

#[track_caller]
fn near_printed(found: &[f64], expected: &[f64], digits: i32) {
    assert!(found.len() >= expected.len());
    for (f, e) in found.iter().zip(expected) {
        near(*f, *e, printed(*e, digits));
    }
}

fn length(a: [f64; 3]) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn farthest(a: &[[f64; 3]], b: &[[f64; 3]]) -> f64 {
    a.iter().zip(b).map(|(a, b)| length(minus(*a, *b))).fold(0.0, f64::max)
}

// -------------------------------------------------------------------------------------------------- validation

#[test]
fn bad_input_is_a_typed_error() {
    let good = pinned_edge([1.0, 0.0, 0.0]);
    let broken = |change: fn(&mut System)| {
        let mut s = good.clone();
        change(&mut s);
        s.validate().unwrap_err()
    };
    assert!(matches!(broken(|s| s.positions[1][2] = f64::NAN), Error::NotFinite { field: "positions", index: 1 }));
    assert!(matches!(broken(|s| s.inverse_masses[0] = -1.0), Error::NotFinite { field: "inverse_masses", index: 0 }));
    assert!(matches!(broken(|s| s.rests[0] = 0.0), Error::NotFinite { field: "rests", index: 0 }));
    assert!(matches!(broken(|s| s.rests.push(1.0)), Error::LengthMismatch { field: "rests", expected: 1, found: 2 }));
    assert!(matches!(
        broken(|s| s.edges[0].1 = 2),
        Error::IndexOutOfRange { field: "edges", index: 0, value: 2, count: 2 }
    ));
}

// ------------------------------------------------------------------------------------ constraint and operator

/// Eqs. (1), (2) of the paper: the gradient is the derivative of C, and C/l = s² − 1 for an edge s times too long.
#[test]
fn gradient_is_the_derivative_of_the_constraint() {
    let mut s = system(&[[0.1, -0.2, 0.3], [0.9, 0.5, -0.4]], &[1.0, 1.0], &[(0, 1)], &[0.7]);
    let direction = s.direction(0);
    let delta = 1e-6;
    for (vertex, sign) in [(0, -1.0), (1, 1.0)] {
        for (axis, slope) in direction.iter().enumerate() {
            let x = s.positions[vertex][axis];
            s.positions[vertex][axis] = x + delta;
            let above = s.constraint(0);
            s.positions[vertex][axis] = x - delta;
            let below = s.constraint(0);
            s.positions[vertex][axis] = x;
            let expected = sign * slope;
            near((above - below) / (2.0 * delta), expected, 1e-7 * expected.abs());
        }
    }
    let stretched = system(&[[0.0; 3], [0.0, 0.55, 0.0]], &[1.0, 1.0], &[(0, 1)], &[0.5]);
    near(stretched.constraint(0) / 0.5, 0.21, 1e-14);
    near(stretched.strain(0), 0.1, 1e-15);
}

/// A = J W Jᵀ of eq. (7): matrix-free product, sparse matrix and its definition agree; A is symmetric.
#[test]
fn operator_is_symmetric_and_equals_its_parts() {
    let mut s = cylinder_net();
    s.inverse_masses.iter_mut().enumerate().for_each(|(v, w)| *w = 0.5 + (v % 7) as f64 / 4.0);
    s.inverse_masses[3] = 0.0;
    shake_up(&mut s, 0.15);
    let (a, count) = (s.dense_operator(), s.edges.len());

    // J W Jᵀ entry by entry, from the gradients alone.
    for e in 0..count {
        for f in 0..count {
            let mut expected = 0.0;
            for (v, sign) in [(s.edges[e].0, -1.0), (s.edges[e].1, 1.0)] {
                for (u, other) in [(s.edges[f].0, -1.0), (s.edges[f].1, 1.0)] {
                    if u == v {
                        let dot: f64 = s.direction(e).iter().zip(s.direction(f)).map(|(a, b)| a * b).sum();
                        expected += sign * other * s.inverse_masses[v as usize] * dot;
                    }
                }
            }
            near(a[(e, f)], expected, 1e-14 * a[(e, e)]);
            near(a[(e, f)], a[(f, e)], 1e-15 * a[(e, e)]);
        }
    }
    let u: Vec<f64> = (0..count).map(|k| (1.3 * k as f64).sin()).collect();
    let v: Vec<f64> = (0..count).map(|k| (0.7 * k as f64).cos()).collect();
    let (au, av) = (s.apply(&u), s.apply(&v));
    let size = au.iter().map(|x| x.abs()).fold(0.0, f64::max);
    for e in 0..count {
        near(au[e], (0..count).map(|f| a[(e, f)] * u[f]).sum(), 1e-12 * size);
    }
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    near(dot(&u, &av), dot(&v, &au), 1e-12 * dot(&u, &au));
}

/// Condition number of A for a chain of N edges hung by one end, unit masses: 678, 10502, 166520 for N = 20, 80, 320,
/// close to 16 N²/π², which is that of the second difference with one fixed end.
#[test]
fn condition_number_of_a_chain() {
    for (edge_count, expected) in [(20, 678.0), (80, 10502.0), (320, 166_520.0)] {
        let s = row((0..=edge_count).map(|k| [0.0, -1.1 * k as f64, 0.0]).collect(), 1.0, &[0]);
        let eigenvalues = s.eigenvalues();
        let condition = eigenvalues[edge_count - 1] / eigenvalues[0];
        near(condition, expected, 5e-5 * expected + 0.5);
        let closed_form = {
            let x = PI / (2.0 * (2 * edge_count + 1) as f64);
            ((2.0 * x).cos() / x.sin()).powi(2)
        };
        near(condition, closed_form, 1e-9 * closed_form);
        near(condition, 16.0 * (edge_count as f64 / PI).powi(2), 0.06 * condition);
    }
}

/// Section 4.3 of the paper, for n = 71: E = 2n(n − 1) = 9940 unknowns against 3n² + E = 25063 of the implicit
/// direction, and the smaller matrix is positive definite on generic positions.
#[test]
fn fast_projection_is_smaller_and_definite() {
    let mut s = net(71);
    shake_up(&mut s, 0.1);
    assert_eq!(s.active_edges().len(), 9940);
    assert_eq!(unknown_count(&s), 15123 + 9940);
    let report = project(&mut s, &mut exactly(1));
    assert_eq!(report.regularized, 0, "Cholesky must do");
    assert_eq!((report.iterations, report.skipped), (1, 0));

    let mut small = net(20);
    shake_up(&mut small, 0.1);
    let eigenvalues = small.eigenvalues();
    assert_eq!(eigenvalues.len(), 760);
    assert!(eigenvalues[0] > 1e-6 * eigenvalues[759], "rank 760 of 760, found {:e}", eigenvalues[0]);
}

// -------------------------------------------------------------------------------------- fast projection, by hand

/// Eq. (7) for one edge is s ← (s + 1/s)/2, whatever the masses.
#[test]
fn single_edge_follows_the_closed_form() {
    let sequences: [&[f64]; 3] = [
        &[1.1, 1.0045454545, 1.0000102838, 1.0 + 5.3e-11],
        &[2.0, 1.25, 1.025, 1.0003048780, 1.0 + 4.6e-8],
        &[3.0, 1.666666667, 1.133333333, 1.007843137, 1.000030518, 1.000000000],
    ];
    for sequence in sequences {
        for inverse_masses in [[0.0, 1.0], [1.0, 1.0], [0.25, 3.0]] {
            let head = [0.48 * sequence[0], 0.6 * sequence[0], 0.64 * sequence[0]];
            let mut s = system(&[[0.0; 3], head], &inverse_masses, &[(0, 1)], &[1.0]);
            let found = strains(&mut s, sequence.len() - 1);
            let mut exact = sequence[0];
            for (found, expected) in found.iter().zip(sequence) {
                near(1.0 + found, *expected, 1e-9);
                near(1.0 + found, exact, 1e-14);
                exact = (exact + 1.0 / exact) / 2.0;
            }
        }
    }
    // Equal masses move symmetrically.
    let mut s = system(&[[-1.5, 0.0, 0.0], [1.5, 0.0, 0.0]], &[1.0, 1.0], &[(0, 1)], &[1.0]);
    assert!(project(&mut s, &mut tight()).failure.is_none());
    near(s.positions[0][0], -s.positions[1][0], 1e-15);
}

/// Appendix A of the paper, no root: the end of the step is out of reach of the old direction; fast projection does not
/// care.
#[test]
fn far_perpendicular_end() {
    let mut s = pinned_edge([0.3, 1.5, 0.0]);
    let found = strains(&mut s, 5);
    near(1.0 + found[0], 1.5297, 5e-5);
    near(1.0 + found[1], 1.0917, 5e-5);
    near(1.0 + found[2], 1.00385, 5e-6);
    near(1.0 + found[3], 1.0000074, 5e-8);
    near(found[4], 3e-11, 5e-12);

    let mut free = system(&[[0.0, -1.5, 0.0], [1.0, 1.5, 0.0]], &[1.0, 1.0], &[(0, 1)], &[1.0]);
    near_printed(&strains(&mut free.clone(), 4), &[2.2, 0.74, 0.16, 0.011, 5.6e-5], 2);
    let report = project(&mut free, &mut FastProjection { limit: 1e-12, budget: 60, at_least: 0 });
    assert_eq!((report.iterations, report.failure), (6, None));
}

/// Appendix A, singular product: the edge turned by a right angle.
#[test]
fn perpendicular_end() {
    let mut s = pinned_edge([0.0, 1.2, 0.0]);
    let found = strains(&mut s, 3);
    near(1.0 + found[0], 1.2, 1e-15);
    near(1.0 + found[1], 1.016667, 5e-7);
    near(1.0 + found[2], 1.000137, 5e-7);
    near(found[3], 9e-9, 5e-10);
    let mut free = system(&[[0.5, -0.6, 0.0], [0.5, 0.6, 0.0]], &[1.0, 1.0], &[(0, 1)], &[1.0]);
    near_printed(&strains(&mut free, 2), &[0.2, 0.017, 1.4e-4], 2);
}

/// Appendix A, no gradient at the end: coincident ends make A = 0. That is reported, nothing moves, and half the step
/// cures it.
#[test]
fn collapsed_edge_is_detected_and_halving_cures_it() {
    let start = pinned_edge([1.0, 0.0, 0.0]);
    let mut whole = start.clone();
    let report = step(&mut whole, &mut [[0.0; 3], [-1.0, 0.0, 0.0]], [0.0; 3], 1.0, &mut tight());
    assert_eq!(report.failure, Some(Failure::CollapsedEdge { edge: 0 }));
    assert_eq!((report.iterations, whole.positions[1]), (0, [0.0; 3]));
    assert_eq!(icd_step(&mut whole, &[[0.0; 3]; 2], &mut [0.0], 1.0), Err(Failure::CollapsedEdge { edge: 0 }));

    let mut half = start.clone();
    let report = step(&mut half, &mut [[0.0; 3], [-1.0, 0.0, 0.0]], [0.0; 3], 0.5, &mut tight());
    assert_eq!(report.failure, None);
    assert!(report.strain <= 1e-13);

    let found = strains(&mut pinned_edge([0.5, 0.0, 0.0]), 4);
    near(1.0 - found[0], 0.5, 1e-15);
    near(1.0 + found[1], 1.25, 1e-15);
    near(1.0 + found[2], 1.025, 1e-15);
    near(1.0 + found[3], 1.000305, 5e-7);
    near(found[4], 5e-8, 5e-9);
}

/// Nearly coincident ends, s ← (s + 1/s)/2 from s = 0.01, overshoot far and still converge in 11.
#[test]
fn nearly_collapsed_edge_overshoots_and_returns() {
    let mut s = system(&[[0.5, 0.0, 0.0], [0.51, 0.0, 0.0]], &[1.0, 1.0], &[(0, 1)], &[1.0]);
    near_printed(&strains(&mut s.clone(), 4), &[0.99, 49.0, 24.0, 12.0, 5.3], 2);
    let report = project(&mut s, &mut FastProjection { limit: 1e-12, budget: 60, at_least: 0 });
    assert_eq!((report.iterations, report.failure), (11, None));
}

/// A kink between fixed ends 2 l apart is a double root, so the strain falls by 4 per iteration and no faster.
#[test]
fn double_root_converges_linearly() {
    let start = row(vec![[0.0; 3], [1.0, -0.3, 0.0], [2.0, 0.0, 0.0]], 1.0, &[0, 2]);
    let mut s = start.clone();
    let found = strains(&mut s, 12);
    near_printed(&found, &[0.044, 0.011, 0.0028, 0.0007, 0.00018], 2);
    for pair in found.windows(2).skip(1) {
        near(pair[0] / pair[1], 4.0, 0.05);
    }
    let mut s = start;
    let report = project(&mut s, &mut FastProjection { limit: 1e-12, budget: 60, at_least: 0 });
    assert_eq!((report.iterations, report.failure), (18, None));
    near(report.strain, 6.5e-13, 1e-13);
}

/// Appendix A, no gradient at the start: the start of the step plays no part, so an edge of length 0 there does no
/// harm.
#[test]
fn projection_does_not_look_at_the_start() {
    let mut from_nowhere = pinned_edge([0.0, 1.2, 0.0]);
    let mut from_rest = from_nowhere.clone();
    tight().project(&mut from_nowhere, &[[0.0; 3]; 2], 1.0);
    tight().project(&mut from_rest, &[[0.0; 3], [1.0, 0.0, 0.0]], 1.0);
    assert_eq!(from_nowhere, from_rest);
    assert!(max_strain(&from_rest) <= 1e-13);
}

/// With free ends the same kink is a simple root.
#[test]
fn free_ends_converge_quadratically() {
    let mut s = row(vec![[0.1, 0.0, 0.0], [1.0, -0.3, 0.0], [1.9, 0.0, 0.0]], 1.0, &[]);
    let found = strains(&mut s, 3);
    near_printed(&found[..3], &[0.051, 0.0017, 1.9e-6], 2);
    near(found[3], 2e-12, 1e-12);
}

// ------------------------------------------------------------------------------------------- singular systems

/// A flat row with both ends pinned has n − 1 edges and n − 2 free vertices, one constraint too many. 1e-2 m of sag:
/// slow, not monotone, survives.
#[test]
fn taut_row_with_sag() {
    let sagged = |k: usize| if k == 0 || k == 10 { 0.0 } else { -0.01 };
    let start = row((0..=10).map(|k| [0.1 * k as f64, sagged(k), 0.0]).collect(), 0.1, &[0, 10]);
    let found = strains(&mut start.clone(), 11);
    near_printed(&found, &[5.0e-3, 1.2e-3, 1.2e-3, 5.6e-4, 8.7e-4], 2);
    near(found[11], 6e-5, 5e-6);
}

/// Exactly flat rows between two pins, consistent and not, and the first steps of gravity from there.
#[test]
fn flat_row_survives() {
    let flat = row((0..=10).map(|k| [0.1 * k as f64, 0.0, 0.0]).collect(), 0.1, &[0, 10]);
    let eigenvalues = flat.eigenvalues();
    assert!(eigenvalues[0].abs() <= 1e-12 && eigenvalues[1] > 0.1, "rank 9 of 10: {eigenvalues:?}");

    // At rest: nothing to do, and doing it changes nothing.
    let mut s = flat.clone();
    let report = project(&mut s, &mut tight());
    assert_eq!(report.failure, None);
    assert!(farthest(&s.positions, &flat.positions) <= 1e-15);

    // Vertices shifted along the line: the total length still fits, so a solution exists.
    let mut s = flat.clone();
    (1..10).for_each(|k| s.positions[k][0] += 0.01 * (2.0 * k as f64).sin());
    let report = project(&mut s, &mut FastProjection { limit: 1e-9, budget: 60, at_least: 1 });
    assert_eq!(report.failure, None);
    assert!(report.regularized > 0);
    assert!(farthest(&s.positions, &flat.positions) <= 1e-9);
    assert!(report.multipliers.iter().all(|m| m.abs() < 1.0), "null space stays out: {:?}", report.multipliers);

    // Rest lengths 1 % short of the span: no solution along the line. Typed, finite, and not moved off the line.
    let mut s = flat.clone();
    s.rests.fill(0.099);
    let report = project(&mut s, &mut tight());
    assert!(matches!(report.failure, Some(Failure::Inconsistent { residual }) if residual > 0.99), "{report:?}");
    assert!(farthest(&s.positions, &flat.positions) <= 1e-9);

    // Falling from flat for a second at two step sizes.
    for h in [1.0 / 60.0, 1.0 / 240.0] {
        let (mut s, mut v) = (flat.clone(), vec![[0.0; 3]; 11]);
        for _ in 0..(1.0 / h) as usize {
            let report = step(&mut s, &mut v, DOWN, h, &mut FastProjection { limit: 1e-3, budget: 60, at_least: 1 });
            assert!(report.strain <= 1e-3 || report.failure.is_some());
            assert!(s.positions.iter().flatten().all(|x| x.is_finite() && x.abs() < 2.0));
        }
    }
}

/// Rounding must not decide whether a flat row counts as singular. Rows in several directions, shifted along
/// themselves, are all solved, stay on their line, and get multipliers of the size of C.
#[test]
fn the_null_space_stays_out_of_the_multipliers() {
    for n in 3..40 {
        for turn in 0..5 {
            let (l, angle) = (1.0 / (n - 1) as f64, f64::from(turn));
            let shift = |k: usize| {
                if k == 0 || k == n - 1 { 0.0 } else { 0.1 * (2.0 * k as f64 + angle).sin() }
            };
            let along = |k: usize| [angle.cos(), angle.sin(), 0.0].map(|c| c * l * (k as f64 + shift(k)));
            let mut s = row((0..n).map(along).collect(), l, &[0, n - 1]);
            let report = project(&mut s, &mut FastProjection { limit: 1e-9, budget: 40, at_least: 1 });
            assert_eq!(report.failure, None);
            assert!(report.regularized > 0 && report.iterations <= 5);
            assert!(report.multipliers.iter().all(|m| m.abs() <= l), "{n} {turn} {:?}", report.multipliers);
            assert!(s.positions.iter().all(|x| (x[1] * angle.cos() - x[0] * angle.sin()).abs() <= 1e-12));
        }
    }
}

/// A whole sheet with two opposite corners of a row pinned misses exactly one rank.
#[test]
fn sheet_is_short_of_one_rank() {
    for n in [3, 10, 20] {
        let mut s = net(n);
        s.inverse_masses[0] = 0.0;
        s.inverse_masses[n - 1] = 0.0;
        let eigenvalues = s.eigenvalues();
        let largest = eigenvalues[eigenvalues.len() - 1];
        assert!(eigenvalues[0].abs() <= 1e-13 * largest);
        assert!(eigenvalues[1] >= 1e-4 * largest, "{:e}", eigenvalues[1] / largest);
        // Gravity alone stretches the edges next to the pins only.
        let (mut s, mut v) = (s, vec![[0.0; 3]; n * n]);
        let report =
            step(&mut s, &mut v, DOWN, 1.0 / 240.0, &mut FastProjection { limit: 1e-2, budget: 60, at_least: 1 });
        assert!(s.positions.iter().flatten().all(|x| x.is_finite()));
        assert!(report.failure.is_some() || report.strain <= 1e-2);
    }
}

/// An edge between two pins is left out, counted, and named when it breaks the limit.
#[test]
fn edge_between_pins_is_left_out() {
    let mut s = row(vec![[0.0; 3], [1.0, 0.0, 0.0], [2.2, 0.0, 0.0]], 1.0, &[0, 1]);
    let report = project(&mut s, &mut tight());
    assert_eq!((report.skipped, report.failure), (1, None));
    assert_eq!(report.multipliers[0], 0.0);

    s.positions[0] = [0.0, 0.5, 0.0];
    for projector in [&mut tight() as &mut dyn Projector, &mut ImplicitDirection::default()] {
        let report = project(&mut s, projector);
        assert_eq!((report.skipped, report.failure), (1, Some(Failure::Infeasible { edge: 0 })));
        near(report.strain, 1.25f64.sqrt() - 1.0, 1e-15);
    }
}

/// Algorithm 1 of the paper needs no C = 0 at its start: a mesh 20 % too long converges; a mesh at rest stays.
#[test]
fn filter_needs_no_feasible_start() {
    let mut s = cylinder_net();
    let rest = s.clone();
    project(&mut s, &mut tight());
    assert!(farthest(&s.positions, &rest.positions) <= 1e-14);
    s.positions.iter_mut().flatten().for_each(|x| *x *= 1.2);
    let report = project(&mut s, &mut tight());
    assert_eq!(report.failure, None);
    assert!(max_strain(&s) <= 1e-13);
}

// ----------------------------------------------------------------------------- implicit constraint direction

/// Section 4.3 of the paper: from δx = 0, λ = 0 the first Newton step of ICD is the first step of fast projection.
#[test]
fn first_steps_agree() {
    for h in [1.0 / 50.0, 1.0 / 200.0, 1.0 / 800.0] {
        let mut fast = moving_net(h);
        let predicted = fast.positions.clone();
        let mut implicit = fast.clone();
        let mut multipliers = vec![0.0; implicit.edges.len()];
        icd_step(&mut implicit, &predicted, &mut multipliers, h).unwrap();
        let report = exactly(1).project(&mut fast, &predicted, h);
        assert!(farthest(&fast.positions, &predicted) > 1e-6, "the step is not trivial");
        assert!(farthest(&fast.positions, &implicit.positions) <= 1e-12);
        let largest = multipliers.iter().map(|m| m.abs()).fold(0.0, f64::max);
        for (a, b) in multipliers.iter().zip(&report.multipliers) {
            near(*a, *b, 1e-9 * largest);
        }
    }
}

/// Section 4.3 and figure 3 of the paper: F after the first and the last iteration, second order in h, the last hardly
/// worse.
#[test]
fn force_residual_is_second_order() {
    let expected = [
        (50.0, 5.82e-4, 6.00e-4),
        (100.0, 2.40e-4, 2.44e-4),
        (200.0, 7.45e-5, 7.53e-5),
        (400.0, 2.06e-5, 2.07e-5),
        (800.0, 5.42e-6, 5.44e-6),
    ];
    let mut firsts = Vec::new();
    for (rate, first, last) in expected {
        let h = 1.0 / rate;
        let measure = |budget| {
            let mut s = moving_net(h);
            let predicted = s.positions.clone();
            let report = FastProjection { limit: 1e-14, budget, at_least: 0 }.project(&mut s, &predicted, h);
            residual(&s, &predicted, &report.multipliers, h).force
        };
        let (found_first, found_last) = (measure(1), measure(8));
        near(found_first, first, 0.003 * first);
        near(found_last, last, 0.003 * last);
        assert!(found_last <= 1.05 * found_first);
        firsts.push(found_first);
    }
    assert!(firsts[3] / firsts[4] > 3.6, "slope towards 2: {}", firsts[3] / firsts[4]);
}

/// Six vertices, 0.1 kg each, the first pinned, edges of 0.1 m along an arc, after an
/// unconstrained step of 1/60 s at up to 2 m/s.
fn arc_chain() -> (System, f64) {
    let h = 1.0 / 60.0;
    let mut x = [0.0; 3];
    let mut positions = vec![x];
    for k in 0..5 {
        let angle = 0.2 + 0.25 * k as f64;
        x = [x[0] + 0.1 * angle.cos(), x[1] - 0.1 * angle.sin(), 0.0];
        positions.push(x);
    }
    let mut s = row(positions, 0.1, &[0]);
    s.inverse_masses[1..].fill(10.0);
    for k in 1..6 {
        let speed = 0.4 * k as f64;
        s.positions[k][0] += h * speed * 0.6;
        s.positions[k][1] += h * (speed * 0.8 - h * G);
    }
    (s, h)
}

/// ½ δxᵀ M δx / h², the cost that step-and-project minimises.
fn cost(s: &System, predicted: &[[f64; 3]], h: f64) -> f64 {
    let moved = s.positions.iter().zip(predicted).map(|(a, b)| length(minus(*a, *b)).powi(2));
    moved.zip(&s.inverse_masses).filter(|(_, w)| **w > 0.0).map(|(d, w)| 0.5 * d / w).sum::<f64>() / (h * h)
}

/// Implicit constraint direction, section 4.1 of the paper: Newton is quadratic once close, and ends at rounding.
#[test]
fn icd_converges_quadratically() {
    let (mut s, h) = arc_chain();
    let predicted = s.positions.clone();
    let mut multipliers = vec![0.0; 5];
    let mut errors = Vec::new();
    for _ in 0..8 {
        let after = icd_step(&mut s, &predicted, &mut multipliers, h).unwrap();
        errors.push(after.force.max(after.constraint));
        if errors[errors.len() - 1] < 1e-15 {
            break;
        }
    }
    assert!(errors.len() <= 6 && errors[errors.len() - 1] < 1e-15, "{errors:?}");
    // e' ≤ K e² with one K for the whole run, away from rounding.
    for pair in errors.windows(2).filter(|pair| pair[1] > 1e-14) {
        assert!(pair[1] <= 50.0 * pair[0] * pair[0], "{errors:?}");
    }
}

/// Theorem 1 of the paper, section 4.2: the ICD root is the nearest feasible point: equal to a minimiser found over the
/// joint angles, M-orthogonal to the constraints, and cheaper than where fast projection ends.
#[test]
fn icd_is_step_and_project() {
    let (start, h) = arc_chain();
    let predicted = start.positions.clone();

    let mut implicit = start.clone();
    let report = ImplicitDirection::default().project(&mut implicit, &predicted, h);
    assert_eq!(report.failure, None);
    let mut fast = start.clone();
    assert_eq!(tight().project(&mut fast, &predicted, h).failure, None);

    // Gauss-Newton over the five angles: feasible by construction, no multipliers anywhere.
    let place = |angles: &[f64; 5]| {
        let mut x = vec![[0.0; 3]];
        for (k, a) in angles.iter().enumerate() {
            x.push([x[k][0] + 0.1 * a.cos(), x[k][1] - 0.1 * a.sin(), 0.0]);
        }
        x
    };
    let mut angles = [0.2, 0.45, 0.7, 0.95, 1.2];
    for _ in 0..200 {
        let x = place(&angles);
        let mut normal = [[0.0; 6]; 5];
        for v in 1..6 {
            let r = minus(x[v], predicted[v]);
            for i in 0..v {
                let ti = [-0.1 * angles[i].sin(), -0.1 * angles[i].cos()];
                for j in 0..v {
                    normal[i][j] += ti[0] * -0.1 * angles[j].sin() + ti[1] * -0.1 * angles[j].cos();
                }
                normal[i][5] -= ti[0] * r[0] + ti[1] * r[1];
            }
        }
        for (angle, turn) in angles.iter_mut().zip(eliminate(normal)) {
            *angle += turn;
        }
    }
    assert!(farthest(&implicit.positions, &place(&angles)) <= 1e-12);

    // Tangents of the constraint set are the velocities that survive the velocity projection.
    for seed in 1..6 {
        let mut tangent: Vec<[f64; 3]> =
            (0..6).map(|v| [(seed * v) as f64, 1.0, (v * v) as f64].map(f64::sin)).collect();
        tangent[0] = [0.0; 3];
        assert!(project_velocities(&implicit, &mut tangent) <= 1e-13);
        let moved = implicit.positions.iter().zip(&predicted).map(|(a, b)| minus(*a, *b));
        let work: f64 = moved.zip(&tangent).map(|(d, t)| 0.1 * (d[0] * t[0] + d[1] * t[1] + d[2] * t[2])).sum();
        assert!(work.abs() <= 1e-10 * 0.1);
    }

    let (least, found) = (cost(&implicit, &predicted, h), cost(&fast, &predicted, h));
    assert!(least < found && found < 1.1 * least, "SAP {least:e}, FP {found:e}");
}

/// Gauss elimination with row pivoting of five equations, right side in the last column.
fn eliminate(mut a: [[f64; 6]; 5]) -> [f64; 5] {
    for k in 0..5 {
        let pivot = (k..5).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        let lead = a[k];
        for other in a.iter_mut().skip(k + 1) {
            let factor = other[k] / lead[k];
            other.iter_mut().zip(lead).for_each(|(o, l)| *o -= factor * l);
        }
    }
    let mut x = [0.0; 5];
    for k in (0..5).rev() {
        x[k] = (a[k][5] - (k + 1..5).map(|j| a[k][j] * x[j]).sum::<f64>()) / a[k][k];
    }
    x
}

/// v − W Jᵀ μ with (J W Jᵀ) μ = J v: (1, 2) along J = (0.6, 0.8) becomes (−0.32, 0.24).
#[test]
fn velocity_projection_of_one_particle() {
    let s = pinned_edge([0.6, 0.8, 0.0]);
    let mut v = [[0.0; 3], [1.0, 2.0, 0.0]];
    assert!(project_velocities(&s, &mut v) <= 1e-15);
    near(v[1][0], -0.32, 1e-15);
    near(v[1][1], 0.24, 1e-15);
    assert_eq!(v[0], [0.0; 3]);
}

/// It is the projection that is orthogonal in the metric of mass, so that the kinetic energy falls by that of what it
/// takes, ½ Δv M Δv, and never grows, whatever the velocities.
#[test]
fn projecting_velocities_takes_energy_and_gives_none() {
    let mut s = cylinder_net();
    s.inverse_masses.iter_mut().enumerate().for_each(|(v, w)| *w = 1.0 / (0.5 + 1.5 * (v as f64).sin().abs()));
    for case in 0..20 {
        let at = |v: usize, axis: usize| (1.7 * v as f64 + 2.3 * axis as f64 + 0.9 * f64::from(case)).sin();
        let before: Vec<[f64; 3]> = (0..s.positions.len()).map(|v| [at(v, 0), at(v, 1), at(v, 2)]).collect();
        let mut after = before.clone();
        assert!(project_velocities(&s, &mut after) <= 1e-12);
        let [first, last] = [&before, &after].map(|v| energy(&s, v, [0.0; 3]));
        let taken: Vec<[f64; 3]> = before.iter().zip(&after).map(|(a, b)| minus(*a, *b)).collect();
        let taken = energy(&s, &taken, [0.0; 3]);
        assert!(taken > 0.01 * first, "case {case}: {taken} J of {first} J");
        near(last, first - taken, 1e-12 * first);
        assert!(last < first, "case {case}: {first} J became {last} J");
    }
}

// ------------------------------------------------------------------------------------------- conservation laws

/// Without pins every iterate keeps the centre of mass, and its own angular momentum.
#[test]
fn every_iterate_conserves_momentum() {
    let mut s = cylinder_net();
    s.inverse_masses.iter_mut().enumerate().for_each(|(v, w)| *w = 1.0 / (0.5 + 1.5 * (v as f64).sin().abs()));
    shake_up(&mut s, 0.05);
    for iteration in 0..5 {
        let before = s.positions.clone();
        project(&mut s, &mut exactly(1));
        let (mut linear, mut angular) = ([0.0; 3], [0.0; 3]);
        for (v, before) in before.iter().enumerate() {
            let push = minus(s.positions[v], *before).map(|d| d / s.inverse_masses[v]);
            let turn = cross(*before, push);
            (0..3).for_each(|k| linear[k] += push[k]);
            (0..3).for_each(|k| angular[k] += turn[k]);
        }
        assert!(length(linear) <= 2e-14, "iteration {iteration}: {linear:?}");
        assert!(length(angular) <= 2e-14, "iteration {iteration}: {angular:?}");
    }
    assert!(max_strain(&s) <= 1e-12);
}

/// Free fall needs no projection and keeps the strain; 64 steps of 1/64 s fall g h² n(n + 1)/2 = 4.981641 m.
#[test]
fn free_fall_is_left_alone() {
    let (mut s, mut v) = (cylinder_net(), vec![[0.0; 3]; 36]);
    let start = s.positions.clone();
    let mut projector = FastProjection { limit: 1e-12, budget: 60, at_least: 0 };
    for _ in 0..64 {
        let report = step(&mut s, &mut v, DOWN, 1.0 / 64.0, &mut projector);
        assert_eq!((report.iterations, report.failure), (0, None));
    }
    for (x, start) in s.positions.iter().zip(&start) {
        near(x[1] - start[1], -4.981641, 5e-7);
    }
    near(v[7][1], -9.81, 1e-12);
}

// -------------------------------------------------------------------------------------------------- pendulums

fn pendulum() -> (System, Vec<[f64; 3]>) {
    (pinned_edge([1.0, 0.0, 0.0]), vec![[0.0; 3]; 2])
}

/// Section 6 of the paper: no drift, shown by a minute of pendulum.
#[test]
fn pendulum_does_not_drift() {
    let (mut s, mut v) = pendulum();
    for _ in 0..3600 {
        let report = step(&mut s, &mut v, DOWN, 1.0 / 60.0, &mut tight());
        assert_eq!(report.failure, None);
        assert!((length(s.positions[1]) - 1.0).abs() <= 1e-12);
        assert_eq!(s.positions[0], [0.0; 3]);
    }
}

/// A pendulum from the horizontal: energy lost in the first second over m g l, and the interval between crossings.
#[test]
fn pendulum_loses_the_energy_it_should() {
    let expected = [(60, -0.2842, 2.1964), (120, -0.1610, 2.2574), (300, -0.0700, 2.3142), (1000, -0.0219, 2.3499)];
    for (rate, loss, interval) in expected {
        let h = 1.0 / f64::from(rate);
        let (mut s, mut v) = pendulum();
        let mut crossings = Vec::new();
        for k in 0..5 * rate {
            let before = s.positions[1][0];
            step(&mut s, &mut v, DOWN, h, &mut tight());
            let after = s.positions[1][0];
            if after < 0.0 && before >= 0.0 {
                crossings.push((f64::from(k) + before / (before - after)) * h);
            }
            if k + 1 == rate {
                near(energy(&s, &v, DOWN) / G, loss, 2e-3);
            }
        }
        near(crossings[1] - crossings[0], interval, 2e-3);
    }
}

/// A pendulum against a fine Runge-Kutta solution: the position error after a second falls with first order; so does
/// the energy lost.
#[test]
fn pendulum_is_first_order() {
    let exact = single_pendulum_angle(1.0);
    let expected =
        [(50, 0.267, 3.20), (100, 0.148, 1.85), (200, 0.0781, 1.00), (400, 0.0402, 0.52), (800, 0.0204, 0.27)];
    for (rate, error, lost) in expected {
        let (mut s, mut v) = pendulum();
        for _ in 0..rate {
            step(&mut s, &mut v, DOWN, 1.0 / f64::from(rate), &mut tight());
        }
        let tip = [exact.sin(), -exact.cos(), 0.0];
        near(length(minus(s.positions[1], tip)), error, printed(error, 3));
        near(-energy(&s, &v, DOWN), lost, printed(lost, 2).max(5e-3));
    }
}

/// Angle of a pendulum released horizontally, by fourth-order Runge-Kutta.
fn single_pendulum_angle(time: f64) -> f64 {
    runge_kutta([FRAC_PI_2, 0.0], time, |[angle, speed]| [speed, -G * angle.sin()])[0]
}

fn runge_kutta<const N: usize>(mut y: [f64; N], time: f64, rate: impl Fn([f64; N]) -> [f64; N]) -> [f64; N] {
    let count = 20_000;
    let h = time / f64::from(count);
    for _ in 0..count {
        let ahead = |k: [f64; N], by: f64| std::array::from_fn(|i| y[i] + by * k[i]);
        let a = rate(y);
        let b = rate(ahead(a, h / 2.0));
        let c = rate(ahead(b, h / 2.0));
        let d = rate(ahead(c, h));
        y = std::array::from_fn(|i| y[i] + h / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]));
    }
    y
}

/// Double pendulum from the horizontal against a fine Runge-Kutta solution: tip error and energy at 0.5 s.
#[test]
fn double_pendulum_is_first_order() {
    let rate_of = |[a, b, p, q]: [f64; 4]| {
        let d = a - b;
        let denominator = 3.0 - (2.0 * d).cos();
        let first = -3.0 * G * a.sin() - G * (a - 2.0 * b).sin() - 2.0 * d.sin() * (q * q + p * p * d.cos());
        let second = 2.0 * d.sin() * (2.0 * p * p + 2.0 * G * a.cos() + q * q * d.cos());
        [p, q, first / denominator, second / denominator]
    };
    let angles = |time| runge_kutta([FRAC_PI_2, FRAC_PI_2, 0.0, 0.0], time, rate_of);
    for (time, first, second) in
        [(0.25, 1.270413594, 1.560181743), (0.5, 0.570472051, 1.203875111), (1.0, -0.625087700, -1.034585086)]
    {
        near(angles(time)[0], first, 1e-8);
        near(angles(time)[1], second, 1e-8);
    }
    let [a, b, ..] = angles(0.5);
    let tip = [a.sin() + b.sin(), -a.cos() - b.cos(), 0.0];
    near(tip[0], 1.473465670, 1e-8);
    near(tip[1], -1.200389435, 1e-8);

    let expected = [
        (60, 0.03234, -1.428),
        (120, 0.01624, -0.734),
        (240, 0.00813, -0.372),
        (480, 0.00407, -0.187),
        (960, 0.00204, -0.0940),
        (1920, 0.00102, -0.0471),
    ];
    let mut errors = Vec::new();
    for (rate, error, energy_error) in expected {
        let mut s = row(vec![[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]], 1.0, &[0]);
        let mut v = vec![[0.0; 3]; 3];
        for _ in 0..rate / 2 {
            assert_eq!(step(&mut s, &mut v, DOWN, 1.0 / f64::from(rate), &mut tight()).failure, None);
        }
        errors.push(length(minus(s.positions[2], tip)));
        near(errors[errors.len() - 1], error, 6e-6);
        near(energy(&s, &v, DOWN), energy_error, 6e-4);
    }
    for pair in errors.windows(2) {
        near(pair[0] / pair[1], 2.0, 0.02);
    }
}

// ----------------------------------------------------------------------------------------------------- statics

/// Eqs. (3), (4) of the paper: a chain of ten vertices, 0.1 kg and 0.1 m each, hung by the first: λ is half the weight
/// below. The top edge reads low because its gradient is taken while it is 2.7 % long; the force 2 λ |d|/l is right.
#[test]
fn multipliers_carry_the_weight() {
    let (h, weight) = (1.0 / 60.0, 0.1 * G);
    let mut s = row((0..10).map(|k| [0.0, -0.1 * f64::from(k), 0.0]).collect(), 0.1, &[0]);
    s.inverse_masses[1..].fill(10.0);
    let mut v = vec![[0.0; 3]; 10];
    let report = step(&mut s, &mut v, DOWN, h, &mut tight());
    assert_eq!(report.failure, None);
    near(report.multipliers[8], 0.4905, 0.01 * 0.4905);
    for (edge, multiplier) in report.multipliers.iter().enumerate().skip(1) {
        let expected = (9 - edge) as f64 * weight / 2.0;
        near(*multiplier, expected, 0.01 * expected);
    }
    near(report.multipliers[0], 4.299, 0.01 * 4.299);
    // The direction of ICD is taken at the end, where the edge has its rest length.
    let mut s = row((0..10).map(|k| [0.0, -0.1 * f64::from(k), 0.0]).collect(), 0.1, &[0]);
    s.inverse_masses[1..].fill(10.0);
    let report = step(&mut s, &mut v, DOWN, h, &mut ImplicitDirection::default());
    near(report.multipliers[0], 4.4145, 1e-9);
}

/// Sag and slope unit c = m g/H of the polygon that a chain of length 1 with equal inner masses hangs in.
fn funicular(edge_count: usize, span: f64) -> (f64, f64) {
    let l = 1.0 / edge_count as f64;
    let places = || (0..edge_count).map(|k| k as f64 - (edge_count - 1) as f64 / 2.0);
    let width = |c: f64| places().map(|k| l / (1.0 + (k * c).powi(2)).sqrt()).sum::<f64>();
    let (mut low, mut high) = (0.0, 1e4);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if width(middle) > span { low = middle } else { high = middle }
    }
    let mut height = 0.0;
    let mut lowest: f64 = 0.0;
    for k in places() {
        height += l * k * low / (1.0 + (k * low).powi(2)).sqrt();
        lowest = lowest.min(height);
    }
    (-lowest, low)
}

/// Sag of a chain of length 1 after damped settling from a V.
fn settled_sag(edge_count: usize, span: f64, projector: &mut dyn Projector, h: f64, seconds: f64) -> f64 {
    let depth = (0.25 - span * span / 4.0).sqrt();
    let place = |k: usize| {
        let t = k as f64 / edge_count as f64;
        [span * t, -depth * (1.0 - (2.0 * t - 1.0).abs()), 0.0]
    };
    let mut s = row((0..=edge_count).map(place).collect(), 1.0 / edge_count as f64, &[0, edge_count]);
    let mut v = vec![[0.0; 3]; edge_count + 1];
    for _ in 0..(seconds / h) as usize {
        step(&mut s, &mut v, DOWN, h, projector);
        v.iter_mut().flatten().for_each(|v| *v *= 1.0 - 8.0 * h);
    }
    assert!(max_strain(&s) <= 1e-9);
    s.positions.iter().map(|x| -x[1]).fold(0.0, f64::max)
}

/// The funicular polygon of a chain of length 1 over a span of 0.5, whose limit is the catenary (sag 0.398194): its sag
/// and slope for several numbers of edges, and the chain that settles into it to 1e-4.
#[test]
fn chain_settles_into_the_funicular_polygon() {
    for (n, sag, slope) in [
        (10, 0.266864426, 0.296471024),
        (20, 0.265791567, 0.147939451),
        (64, 0.265472009, 0.046203231),
        (70, 0.265466347, 0.042242502),
        (256, 0.265439665, 0.011550101),
    ] {
        near(funicular(n, 0.8).0, sag, 1e-9);
        near(funicular(n, 0.8).1, slope, 1e-9);
    }
    for (n, sag) in [(10, 0.40219), (20, 0.39914), (40, 0.39843), (80, 0.39825)] {
        near(funicular(n, 0.5).0, sag, 5e-6);
    }
    let mut fast = FastProjection { limit: 1e-9, budget: 60, at_least: 1 };
    for (n, span) in [(10, 0.8), (20, 0.8), (10, 0.5), (20, 0.5), (40, 0.5)] {
        near(settled_sag(n, span, &mut fast, 1e-3, 3.0), funicular(n, span).0, 1e-4);
    }
}

/// The direction of ICD is taken at the end of the step, so its rest state does not depend on the step.
#[test]
fn implicit_direction_settles_exactly_at_any_step() {
    let mut implicit = ImplicitDirection::default();
    near(settled_sag(10, 0.8, &mut implicit, 1.0 / 120.0, 15.0), 0.266864426, 1e-8);
}
