//! Runs of the methods that the paper compares, in f64 on one thread, each at the step that suits it.
//!
//! The paper does not print its steps. It says that each method took the ones it could converge with, so here each is
//! given its own: steps of 1/60 s, 1/120 s, 1/240 s … are tried until one holds the limit to the end without a failure,
//! and on while shorter ones need fewer linear solves in all. That is what the time goes into, and unlike the time it
//! does not depend on how busy the machine is. The search is not part of the measured time.

use std::time::Instant;

use anyhow::Result;
use taut::reference::{
    Fabric, FastProjection, ImplicitDirection, ImplicitSprings, Projector, Shake, System, run_while, search_stiffness,
    step,
};
use taut::{Cancel, Scene};

use super::FAST;
use super::record::{Detail, Ending};
use crate::bench::measure::fingerprint;
use crate::bench::results::{CPU, Row};
use crate::bench::samples;
use crate::bench::stopwatch::Stopwatch;

pub(super) const FPS: f64 = 60.0;
/// Steps per frame that are tried at most.
const FINEST: u32 = 512;
/// Budgets that the search for a step or a stiffness may take.
const SEARCH: f64 = 2.0;
/// Linear systems per step at most: who needs more has not converged.
const ITERATIONS: usize = 30;
/// The stiffest spring that is tried \[N/m\]. With stiffer ones f64 does not resolve the masses any more.
const STIFFEST: f64 = 1e9;
/// Newton on springs stops when no vertex moves farther than this part of the strain limit times the shortest edge.
const SPRING_TOLERANCE: f64 = 0.01;

/// A method of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// Equation (7) by sparse Cholesky.
    FastProjection,
    /// Newton on the implicit constraint direction.
    ImplicitDirection,
    /// The direction at the start of the step, factors kept while they serve.
    Shake,
    /// Stiff springs, backward Euler: one linear solve per step, or Newton to the end.
    Springs { newton: bool },
}

impl Reference {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::FastProjection => FAST,
            Self::ImplicitDirection => "f64 ICD",
            Self::Shake => "f64 SHAKE",
            Self::Springs { newton: false } => "f64 springs, one solve",
            Self::Springs { newton: true } => "f64 springs, Newton",
        }
    }

    /// The method at a limit; `stiffness` is for springs.
    pub(super) fn projector(self, system: &System, limit: f64, stiffness: f64) -> Box<dyn Projector> {
        let shortest = system.rests.iter().copied().fold(f64::INFINITY, f64::min);
        match self {
            Self::FastProjection => Box::new(FastProjection { limit, budget: ITERATIONS, at_least: 1 }),
            // F is a length: it may be as large as what the limit leaves of an edge.
            Self::ImplicitDirection => {
                Box::new(ImplicitDirection { limit, force_limit: limit * shortest, budget: ITERATIONS, at_least: 1 })
            }
            Self::Shake => Box::new(Shake { limit, budget: ITERATIONS, ..Shake::default() }),
            Self::Springs { newton: false } => Box::new(ImplicitSprings::new(stiffness)),
            Self::Springs { newton: true } => {
                let tolerance = SPRING_TOLERANCE * limit * shortest;
                Box::new(ImplicitSprings { stiffness, budget: ITERATIONS, tolerance })
            }
        }
    }
}

/// How far an attempt came.
#[derive(Clone, Debug, PartialEq)]
enum End {
    /// All frames.
    Done,
    /// The method gave up, and why.
    Failed(String),
    /// The clock ran out.
    OverBudget,
    /// It took more linear solves than the best so far.
    Slower,
    /// The user did not want to wait.
    Interrupted,
}

/// One run at one step.
#[derive(Clone, Debug)]
struct Attempt {
    end: End,
    /// Computing, without the first frame and the measuring \[s\].
    seconds: f64,
    /// What was simulated in that time \[s\].
    simulated: f64,
    first_frame: f64,
    frames: u32,
    over: u32,
    strain_max: f64,
    strain_p99: f64,
    steps: u64,
    iterations: u64,
    drift: f64,
}

/// A method on a scene.
#[derive(Clone, Debug)]
pub(super) struct Contest {
    pub(super) reference: Reference,
    scene: Scene,
    pub(super) size: u32,
    pub(super) limit: f64,
    frames: u32,
    /// Seconds of computing that a run may take.
    budget: f64,
    chosen: Option<Choice>,
    seconds: Vec<f64>,
}

/// A step, and the stiffness that goes with it.
#[derive(Clone, Debug)]
struct Choice {
    substeps: u32,
    stiffness: Option<f64>,
    attempt: Attempt,
}

impl Contest {
    pub(super) fn new(reference: Reference, scene: Scene, size: u32, limit: f64, frames: u32, budget: f64) -> Self {
        Self { reference, scene, size, limit, frames, budget, chosen: None, seconds: Vec::new() }
    }

    pub(super) fn label(&self) -> String {
        format!("{} {} {} at {} %", self.scene.name, self.size, self.reference.name(), self.limit * 100.0)
    }

    /// Looks for the step with which the method is fastest.
    pub(super) fn prepare(&mut self, cancel: &Cancel) -> Result<()> {
        let mut best: Option<Choice> = None;
        let mut last = None;
        let mut substeps = 1;
        let clock = Instant::now();
        let in_time = || clock.elapsed().as_secs_f64() < SEARCH * self.budget && !cancel.is_cancelled();
        while substeps <= FINEST && (substeps == 1 || in_time()) {
            let stiffness = match self.reference {
                Reference::Springs { .. } => match self.stiffness(substeps, cancel)? {
                    Some(stiffness) => Some(stiffness),
                    None => {
                        substeps *= 2;
                        continue;
                    }
                },
                _ => None,
            };
            let most = best.as_ref().map_or(u64::MAX, |best| best.attempt.iterations);
            let attempt = self.attempt(substeps, stiffness, self.budget, most, cancel)?;
            let choice = Choice { substeps, stiffness, attempt };
            match choice.attempt.end {
                End::Interrupted => return Ok(()),
                End::Failed(_) => last = Some(choice),
                // A shorter step may need fewer solves in all.
                End::OverBudget => last = Some(choice),
                // Shorter steps take longer still.
                End::Slower => {
                    last = Some(choice);
                    break;
                }
                End::Done => {
                    // One solve per step and no way to do less: more steps cost more.
                    let least = choice.attempt.iterations <= choice.attempt.steps;
                    best = Some(choice);
                    if least {
                        break;
                    }
                }
            }
            substeps *= 2;
        }
        if best.is_none() && last.is_none() {
            // Only springs of which no stiffness holds the limit come here, or none was found in time.
            let mut attempt = self.attempt(1, Some(STIFFEST), self.budget, u64::MAX, cancel)?;
            attempt.end = match in_time() {
                true => End::Failed(format!("no stiffness up to {STIFFEST:e} N/m holds the limit")),
                false => End::OverBudget,
            };
            last = Some(Choice { substeps: 1, stiffness: None, attempt });
        }
        if !cancel.is_cancelled() {
            self.chosen = best.or(last);
        }
        Ok(())
    }

    /// Whether nothing is to be gained by another repetition.
    pub(super) fn is_settled(&self) -> bool {
        let done = self.chosen.as_ref().is_some_and(|choice| choice.attempt.end == End::Done);
        !done || self.seconds.iter().sum::<f64>() >= self.budget
    }

    /// One more repetition at the chosen step.
    pub(super) fn repeat(&mut self, cancel: &Cancel) -> Result<()> {
        let Some(Choice { substeps, stiffness, .. }) = self.chosen.clone() else { return Ok(()) };
        let attempt = self.attempt(substeps, stiffness, f64::INFINITY, u64::MAX, cancel)?;
        if attempt.end != End::Interrupted {
            self.seconds.push(attempt.seconds);
            self.chosen = Some(Choice { substeps, stiffness, attempt });
        }
        Ok(())
    }

    /// The smallest stiffness \[N/m\] that holds the limit in every step; `None` if none does.
    fn stiffness(&self, substeps: u32, cancel: &Cancel) -> Result<Option<f64>> {
        let start = System::of_scene(&self.scene)?;
        let gravity = self.scene.settings.gravity.map(f64::from);
        let h = 1.0 / (FPS * f64::from(substeps));
        let steps = (substeps * (self.frames + 1)) as usize;
        // Half of what carries the weight at rest: the swing needs more.
        let weight: f64 = start.inverse_masses.iter().filter(|w| **w > 0.0).map(|w| gravity[1].abs() / w).sum();
        let shortest = start.rests.iter().copied().fold(f64::INFINITY, f64::min);
        let least = 0.5 * weight / (self.limit * shortest);
        let clock = Instant::now();
        let in_time = || clock.elapsed().as_secs_f64() < SEARCH * self.budget && !cancel.is_cancelled();
        let mut cut_short = false;
        let found = search_stiffness(self.limit, [least, STIFFEST.max(least)], |stiffness| {
            let mut system = start.clone();
            let mut velocities = vec![[0.0; 3]; system.positions.len()];
            let mut projector = self.reference.projector(&start, self.limit, stiffness);
            let advance = |system: &mut System, v: &mut [[f64; 3]]| step(system, v, gravity, h, projector.as_mut());
            run_while(&mut system, &mut velocities, steps, gravity, advance, |report| {
                cut_short |= !in_time();
                !cut_short && report.failures == 0 && report.strain_max <= self.limit
            })
        });
        Ok(found.filter(|_| !cut_short).map(|found| found.stiffness))
    }

    /// One run: a first frame apart, then all frames, the strain measured after each. It ends early after `budget`
    /// seconds or when it needs `most` linear solves.
    fn attempt(
        &self,
        substeps: u32,
        stiffness: Option<f64>,
        budget: f64,
        most: u64,
        cancel: &Cancel,
    ) -> Result<Attempt> {
        let mut fabric = Fabric::draped(&self.scene)?;
        let active = fabric.system.active_edges();
        let mut projector = self.reference.projector(&fabric.system, self.limit, stiffness.unwrap_or_default());
        let h = 1.0 / (FPS * f64::from(substeps));
        let mut found = Attempt {
            end: End::Done,
            seconds: 0.0,
            simulated: 0.0,
            first_frame: 0.0,
            frames: 0,
            over: 0,
            strain_max: 0.0,
            strain_p99: 0.0,
            steps: 0,
            iterations: 0,
            drift: 0.0,
        };
        let mut start = fabric.energy();
        for frame in 0..=self.frames {
            let (watch, clock) = (Stopwatch::start(), Instant::now());
            for substep in 0..substeps {
                let projection = fabric.project(h, projector.as_mut());
                found.simulated += h;
                found.steps += 1;
                let failure = match projection {
                    Ok(projection) => {
                        found.iterations += projection.iterations as u64;
                        projection.failure.map(|failure| failure.to_string())
                    }
                    Err(error) => Some(error.to_string()),
                };
                if let Some(failure) = failure {
                    let before = if frame == 0 { 0.0 } else { 1.0 / FPS };
                    found.end = End::Failed(format!("{failure}, at {:.3} s", before + found.simulated));
                    break;
                }
                // The first frame counts here too: it may be the one that never ends. A thread runs no longer than the
                // clock on the wall says, which is cheaper to ask.
                let over = |seconds: f64| found.seconds + seconds > budget;
                if over(clock.elapsed().as_secs_f64()) && over(watch.seconds()) {
                    found.end = End::OverBudget;
                    break;
                }
                if found.iterations >= most {
                    found.end = End::Slower;
                    break;
                }
                if cancel.is_cancelled() {
                    found.end = End::Interrupted;
                    break;
                }
                if substep + 1 < substeps {
                    fabric.collide();
                }
            }
            found.seconds += watch.seconds();
            // Behind the projection, as in the paper: contact comes last.
            measure(&mut found, &fabric.system, &active, self.limit);
            let watch = Stopwatch::start();
            fabric.collide();
            found.seconds += watch.seconds();
            if found.end != End::Done {
                break;
            }
            if frame == 0 {
                let first_frame = found.seconds;
                start = fabric.energy();
                found = Attempt {
                    end: End::Done,
                    seconds: 0.0,
                    simulated: 0.0,
                    first_frame,
                    over: 0,
                    frames: 0,
                    steps: 0,
                    iterations: 0,
                    ..found
                };
            }
        }
        let weight =
            fabric.mass() * self.scene.settings.gravity.map(|g| f64::from(g).powi(2)).iter().sum::<f64>().sqrt();
        found.drift = (fabric.energy() - start) / weight;
        Ok(found)
    }

    /// The row of a finished run; `None` if it was interrupted.
    pub(super) fn row(self, suite: &str) -> Option<Row> {
        let Choice { substeps, stiffness, attempt } = self.chosen?;
        let held = attempt.end == End::Done && attempt.over == 0;
        if attempt.end == End::Done && self.seconds.is_empty() {
            return None;
        }
        let seconds = if self.seconds.is_empty() { vec![attempt.seconds] } else { self.seconds };
        let (ending, reason) = match attempt.end {
            End::Done if held => (Ending::Held, None),
            End::Done => (Ending::Missed, None),
            End::Failed(reason) => (Ending::Failed, Some(reason)),
            End::OverBudget => (Ending::OverBudget, None),
            // Neither is ever chosen.
            End::Slower | End::Interrupted => return None,
        };
        Some(Row {
            suite: suite.to_owned(),
            scene: self.scene.name.to_string(),
            size: self.size,
            vertices: self.scene.mesh.vertex_count() as u64,
            solver: self.reference.name().to_owned(),
            place: CPU.to_owned(),
            scene_hash: fingerprint(&self.scene),
            settings: format!("{:?}", self.reference),
            strain_limit: self.limit,
            strain_max: attempt.strain_max,
            strain_p99: attempt.strain_p99,
            held,
            frames: attempt.frames,
            frames_over: attempt.over,
            seconds_per_second: samples(&seconds, attempt.simulated)?,
            gpu_seconds: None,
            gpu_parts: None,
            substeps: attempt.steps,
            iterations: attempt.iterations,
            inner_iterations: 0,
            elastic_iterations: 0,
            dispatches: 0,
            recorded_dispatches: 0,
            executed_dispatches: None,
            bytes_moved: None,
            roofline_fraction: None,
            energy_drift: attempt.drift.is_finite().then_some(attempt.drift),
            first_step_seconds: attempt.first_frame,
            compile_seconds: None,
            detail: Some(Detail { ending, reason, step_seconds: Some(1.0 / (FPS * f64::from(substeps))), stiffness }),
        })
    }
}

/// Adds a frame, begun or whole, to what was found.
fn measure(found: &mut Attempt, system: &System, active: &[usize], limit: f64) {
    let mut strains: Vec<f64> = active.iter().map(|&edge| system.strain(edge).abs()).collect();
    // NaN must not look like a small strain.
    strains.iter_mut().filter(|strain| strain.is_nan()).for_each(|strain| *strain = f64::INFINITY);
    strains.sort_unstable_by(f64::total_cmp);
    let Some(&most) = strains.last() else { return };
    let rank = (strains.len() as f64 * 0.99).ceil() as usize;
    found.strain_max = found.strain_max.max(most);
    found.strain_p99 = found.strain_p99.max(strains[rank.max(1) - 1]);
    found.over += u32::from(most > limit);
    found.frames += 1;
}

#[cfg(test)]
mod tests {
    use taut::scene;

    use super::*;

    fn run(mut contest: Contest) -> Row {
        let never = Cancel::default();
        contest.prepare(&never).expect("a step");
        if !contest.is_settled() {
            contest.repeat(&never).expect("a run");
        }
        contest.row("paper-5").expect("a row")
    }

    fn ending(row: &Row) -> Ending {
        row.detail.as_ref().expect("a detail").ending
    }

    /// A straight row between two pins is singular at the start of every step (appendix A of the paper), however short.
    #[test]
    fn shake_fails_with_its_reason_where_its_direction_is_singular() {
        let row = run(Contest::new(Reference::Shake, scene::patch(4).expect("a scene"), 4, 0.01, 2, 60.0));
        assert_eq!((ending(&row), row.held), (Ending::Failed, false));
        let detail = row.detail.expect("a detail");
        assert!(detail.reason.as_deref().is_some_and(|reason| reason.contains("singular")), "{detail:?}");
        let finest = 1.0 / (FPS * f64::from(FINEST));
        assert_eq!(detail.step_seconds, Some(finest), "every step was tried");
        let fast = run(Contest::new(Reference::FastProjection, scene::patch(4).expect("a scene"), 4, 0.01, 2, 60.0));
        assert_eq!(ending(&fast), Ending::Held);
    }

    #[test]
    fn a_run_without_time_is_over_budget_and_keeps_what_it_did() {
        let contest = Contest::new(Reference::FastProjection, scene::curtain(6).expect("a scene"), 6, 0.01, 30, 1e-9);
        let row = run(contest);
        assert_eq!((ending(&row), row.held, row.substeps, row.frames), (Ending::OverBudget, false, 1, 1));
        assert!(row.seconds_per_second.median > 0.0);
    }

    #[test]
    fn an_interrupted_run_has_no_row() {
        let mut contest =
            Contest::new(Reference::FastProjection, scene::curtain(6).expect("a scene"), 6, 0.01, 3, 60.0);
        let cancel = Cancel::default();
        cancel.cancel();
        contest.prepare(&cancel).expect("nothing was done");
        assert_eq!(contest.row("paper-5"), None);
    }

    #[test]
    fn springs_hold_the_limit_with_little_to_spare() {
        for newton in [false, true] {
            let reference = Reference::Springs { newton };
            let row = run(Contest::new(reference, scene::chain(8).expect("a scene"), 8, 0.01, 20, 60.0));
            assert_eq!(ending(&row), Ending::Held, "{row:?}");
            // Of frame ends; the search looks at every step.
            assert!((0.009..=0.01).contains(&row.strain_max), "{row:?}");
            assert!(row.detail.is_some_and(|detail| detail.stiffness.is_some_and(|stiffness| stiffness > 500.0)));
        }
    }

    /// Steps of 1/60 s need many iterations in a chain of 80, steps of 1/480 s one each, and between them is the least.
    #[test]
    fn the_chosen_step_needs_the_fewest_solves() {
        let contest =
            || Contest::new(Reference::FastProjection, scene::chain(80).expect("a chain"), 80, 0.01, 60, 600.0);
        let never = Cancel::default();
        let mut chosen = contest();
        chosen.prepare(&never).expect("a step");
        let choice = chosen.chosen.expect("a step");
        let solves = |substeps| {
            let attempt = contest().attempt(substeps, None, 600.0, u64::MAX, &never).expect("a run");
            (attempt.end == End::Done).then_some(attempt.iterations)
        };
        for substeps in [1, 2, 4, 8, 16] {
            assert!(solves(substeps).is_none_or(|solves| solves >= choice.attempt.iterations), "{substeps}");
        }
        assert!((2..=8).contains(&choice.substeps), "{}", choice.substeps);
    }
}
