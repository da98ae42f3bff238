//! Projection at the other end of the step: pre-stabilisation, and multipliers in the prediction.

use glam::DVec3;

use super::{FastProjection, Projection, Projector, Shake, System, project_velocities};

/// Pre-stabilisation (Weinstein, Teran & Fedkiw 2006): impulses at the start of the step, along its own directions
/// J(x^n)ᵀ, such that C(x^n + h v) = 0 at its end. Positions do not change; velocities do, unless it fails.
///
/// The multipliers of the answer are the impulses over h. The condition is that of SHAKE, and so are its failures.
pub fn prestabilize(system: &System, velocities: &mut [[f64; 3]], h: f64, shake: &mut Shake) -> Projection {
    let ahead = |(x, v): (&[f64; 3], &[f64; 3])| (DVec3::from(*x) + h * DVec3::from(*v)).to_array();
    let mut end =
        System { positions: system.positions.iter().zip(&*velocities).map(ahead).collect(), ..system.clone() };
    let projection = shake.project(&mut end, &system.positions, h);
    if projection.failure.is_none() {
        for ((v, x), end) in velocities.iter_mut().zip(&system.positions).zip(&end.positions) {
            *v = ((DVec3::from(*end) - DVec3::from(*x)) / h).to_array();
        }
    }
    projection
}

/// A step around pre-stabilisation: x ← x + h v with the impulses of [`prestabilize`], then gravity, then
/// post-stabilisation of the velocities ([`project_velocities`]) so that J(x^{n+1}) v = 0.
///
/// Returns the projection and the largest |J v| that remains, in m/s. After a failure nothing has moved.
pub fn prestabilized_step(
    system: &mut System,
    velocities: &mut [[f64; 3]],
    gravity: [f64; 3],
    h: f64,
    shake: &mut Shake,
) -> (Projection, f64) {
    let projection = prestabilize(system, velocities, h, shake);
    if projection.failure.is_some() {
        return (projection, f64::NAN);
    }
    for ((x, v), w) in system.positions.iter_mut().zip(velocities.iter_mut()).zip(&system.inverse_masses) {
        *x = (DVec3::from(*x) + h * DVec3::from(*v)).to_array();
        if *w > 0.0 {
            *v = (DVec3::from(*v) + h * DVec3::from(gravity)).to_array();
        }
    }
    let rate = project_velocities(system, velocities);
    (projection, rate)
}

/// Fast projection whose prediction has the constraint forces of the last step, −J(x^n)ᵀ λ.
///
/// Fast projection applies all of the force at the end of the step, in the direction that the edge has there: first
/// order, and it damps. What is left to project after such a prediction is a change of λ, of order h, so its direction
/// matters by one order less. The motion is of second order then, where the velocity (x − x^n)/h is that of the middle
/// of the step. It must not be used where λ jumps: an edge that snaps taut is predicted to pull on.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// What corrects the prediction.
    pub projector: FastProjection,
    /// λ of the last step in newtons, one per edge; empty before the first.
    pub multipliers: Vec<f64>,
}

impl Projector for Predicted {
    fn project(&mut self, system: &mut System, start: &[[f64; 3]], h: f64) -> Projection {
        self.multipliers.resize(system.edges.len(), 0.0);
        let old = System { positions: start.to_vec(), ..system.clone() };
        let all: Vec<usize> = (0..system.edges.len()).collect();
        let mu: Vec<f64> = self.multipliers.iter().map(|lambda| h * h * lambda).collect();
        for (x, pull) in system.positions.iter_mut().zip(old.spread(&all, &mu)) {
            *x = (DVec3::from(*x) - pull).to_array();
        }
        let mut projection = self.projector.project(system, start, h);
        for (sum, change) in self.multipliers.iter_mut().zip(&mut projection.multipliers) {
            *sum += *change;
            *change = *sum;
        }
        projection
    }
}
