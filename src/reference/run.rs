//! Runs of many steps, measured the same way for every method.

use std::time::{Duration, Instant};

use super::{Failure, FastProjection, Projection, Projector, Residual, System, energy, residual, step};

/// What a run reached. Strains are those of the edges with a free end, measured after every step.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunReport {
    /// Steps done: fewer than asked for if a position stopped being finite, or the run was ended early.
    pub steps: usize,
    /// Largest |ε| of any edge after any step; infinite if a strain is not a number.
    pub strain_max: f64,
    /// Largest over the steps of the 99th percentile of |ε| over the edges.
    pub strain_p99: f64,
    /// Wall time of the steps in seconds, without the measuring.
    pub seconds: f64,
    /// Linear systems solved.
    pub iterations: usize,
    /// Most of them in one step.
    pub iterations_max: usize,
    /// Steps whose projection failed.
    pub failures: usize,
    /// The first of them and why.
    pub first_failure: Option<(usize, Failure)>,
    /// Kinetic energy and that of gravity at the start and after every step, in joules. That of springs is not in it.
    pub energy: Vec<f64>,
}

/// Steps a system `steps` times with [`step`] and a projector, and measures it after every step.
///
/// The run goes on after a failure, from the projector's last iterate, and ends early only where a position is no
/// longer finite.
pub fn run(
    system: &mut System,
    velocities: &mut [[f64; 3]],
    projector: &mut dyn Projector,
    h: f64,
    steps: usize,
    gravity: [f64; 3],
) -> RunReport {
    run_with(system, velocities, steps, gravity, |system, velocities| step(system, velocities, gravity, h, projector))
}

/// [`run`] with any way to make a step, for methods that are more than a projector, such as RATTLE.
pub fn run_with(
    system: &mut System,
    velocities: &mut [[f64; 3]],
    steps: usize,
    gravity: [f64; 3],
    advance: impl FnMut(&mut System, &mut [[f64; 3]]) -> Projection,
) -> RunReport {
    run_while(system, velocities, steps, gravity, advance, |_| true)
}

/// [`run_with`] that also ends after the first step of which `go_on` says no, for searches that know by then.
pub fn run_while(
    system: &mut System,
    velocities: &mut [[f64; 3]],
    steps: usize,
    gravity: [f64; 3],
    mut advance: impl FnMut(&mut System, &mut [[f64; 3]]) -> Projection,
    mut go_on: impl FnMut(&RunReport) -> bool,
) -> RunReport {
    let active = system.active_edges();
    let mut time = Duration::ZERO;
    let mut report = RunReport {
        steps: 0,
        strain_max: 0.0,
        strain_p99: 0.0,
        seconds: 0.0,
        iterations: 0,
        iterations_max: 0,
        failures: 0,
        first_failure: None,
        energy: vec![energy(system, velocities, gravity)],
    };
    for index in 0..steps {
        let begun = Instant::now();
        let projection = advance(system, velocities);
        time += begun.elapsed();

        report.steps += 1;
        report.iterations += projection.iterations;
        report.iterations_max = report.iterations_max.max(projection.iterations);
        if let Some(failure) = projection.failure {
            report.failures += 1;
            report.first_failure.get_or_insert((index, failure));
        }
        let mut strains: Vec<f64> = active.iter().map(|&e| system.strain(e).abs()).collect();
        // NaN must not look like a small strain.
        strains.iter_mut().filter(|strain| strain.is_nan()).for_each(|strain| *strain = f64::INFINITY);
        report.strain_max = strains.iter().copied().fold(report.strain_max, f64::max);
        report.strain_p99 = report.strain_p99.max(percentile(&mut strains, 0.99));
        report.energy.push(energy(system, velocities, gravity));
        report.seconds = time.as_secs_f64();
        if system.positions.iter().flatten().any(|x| !x.is_finite()) || !go_on(&report) {
            break;
        }
    }
    report
}

/// The smallest value that `part` of the values do not exceed; 0 for none.
fn percentile(values: &mut [f64], part: f64) -> f64 {
    let rank = (values.len() as f64 * part).ceil() as usize;
    if rank == 0 {
        return 0.0;
    }
    *values.select_nth_unstable_by(rank - 1, f64::total_cmp).1
}

/// What fast projection leaves in one step, as in figure 3 of the paper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepResidual {
    /// Largest |C| at the unconstrained end x_0, in metres.
    pub predicted: f64,
    /// After the first iteration.
    pub first: Residual,
    /// After the last iteration, with the multipliers of all of them.
    pub last: Residual,
    /// Iterations up to the last.
    pub iterations: usize,
    /// Why the last iteration did not reach the limit, if it did not.
    pub failure: Option<Failure>,
}

/// Residuals after the first and the last iteration of fast projection in each of `steps` steps of `h` seconds.
///
/// The motion is that of [`run`] with the same projector: both residuals of a step belong to the same start.
pub fn residuals(
    system: &mut System,
    velocities: &mut [[f64; 3]],
    projector: FastProjection,
    h: f64,
    steps: usize,
    gravity: [f64; 3],
) -> Vec<StepResidual> {
    let mut recorder = Recorder::new(projector);
    for _ in 0..steps {
        step(system, velocities, gravity, h, &mut recorder);
    }
    recorder.found
}

/// Fast projection that writes down its residuals.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorder {
    /// What projects.
    pub projector: FastProjection,
    /// One entry for every projection so far.
    pub found: Vec<StepResidual>,
}

impl Recorder {
    /// A recorder that has seen nothing yet.
    #[must_use]
    pub fn new(projector: FastProjection) -> Self {
        Self { projector, found: Vec::new() }
    }
}

impl Projector for Recorder {
    fn project(&mut self, system: &mut System, start: &[[f64; 3]], h: f64) -> Projection {
        let predicted = system.positions.clone();
        let mut once = system.clone();
        let report = FastProjection { budget: 1, at_least: 1, ..self.projector }.project(&mut once, start, h);
        let first = residual(&once, &predicted, &report.multipliers, h);
        let none = vec![0.0; system.edges.len()];
        let predicted_constraint = residual(system, &predicted, &none, h).constraint;
        let report = self.projector.project(system, start, h);
        self.found.push(StepResidual {
            predicted: predicted_constraint,
            first,
            last: residual(system, &predicted, &report.multipliers, h),
            iterations: report.iterations,
            failure: report.failure,
        });
        report
    }
}
