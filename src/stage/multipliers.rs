//! Multipliers of edges where some have a law of their own ([`law`]), from the start of a
//! substep to its end: they start at 0, solvers add to them, and what they came to is the tension of the edges.
//!
//! Rounds of contact call a solver several times in a substep, so this is not a solver's own.

use crate::engine::cpu::Run;
use crate::engine::fields::Domain;
use crate::engine::program::Kernel;
use crate::engine::source::Source;
use crate::error::Result;
use crate::stage::fields::Clock;
use crate::stage::law::{self, EdgeLaw};
use crate::stage::{Recorder, Stage};
use crate::vector::xyz;

static SOURCE: Source =
    Source::new("multipliers", include_str!("../../shaders/multipliers.wgsl")).shares(&[&law::SOURCE]);

/// Sets multipliers to 0.
pub(crate) static FORGET_MULTIPLIER: Kernel = Kernel::new("forget_multiplier", &SOURCE, forget_multiplier_body);
/// Adds what a linear solve found.
pub(crate) static ADD_SOLUTION: Kernel = Kernel::new("add_solution", &SOURCE, add_solution_body);
/// Adds the tensions that multipliers mean to those of the frame.
pub(crate) static NOTE_LAWFUL_TENSION: Kernel = Kernel::new("note_lawful_tension", &SOURCE, note_lawful_tension_body);

/// Before the projection of a substep: no edge has pulled yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BeginLaws;

impl Stage for BeginLaws {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&FORGET_MULTIPLIER, Domain::EDGES);
    }
}

/// After it: tensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndLaws;

impl Stage for EndLaws {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&NOTE_LAWFUL_TENSION, Domain::EDGES);
    }
}

/// Records that multipliers grow by `solutions` along `directions`.
pub(crate) fn add_solutions(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&ADD_SOLUTION, Domain::EDGES);
}

fn forget_multiplier_body(run: &mut Run<'_>) -> Result<()> {
    let mut edge_laws = run.write::<EdgeLaw>("edge_laws")?;
    for e in run.range() {
        edge_laws[e].multiplier = 0.0;
    }
    Ok(())
}

fn add_solution_body(run: &mut Run<'_>) -> Result<()> {
    let directions = run.read::<[f32; 4]>("directions")?;
    let solutions = run.read::<f32>("solutions")?;
    let mut edge_laws = run.write::<EdgeLaw>("edge_laws")?;
    for e in run.range() {
        edge_laws[e].multiplier += solutions[e] * xyz(directions[e]).length();
    }
    Ok(())
}

fn note_lawful_tension_body(run: &mut Run<'_>) -> Result<()> {
    let clock = run.one::<Clock>("clock")?;
    let edge_laws = run.read::<EdgeLaw>("edge_laws")?;
    let mut tensions = run.write::<f32>("tensions")?;
    for e in run.range() {
        tensions[e] += clock.force * edge_laws[e].multiplier;
    }
    Ok(())
}
