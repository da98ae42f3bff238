//! Figure 3: what is left of the equation of motion after the first and after the last iteration of fast projection.
//!
//! The paper takes the sequence of a dancer, in which contact changes velocities in every step. Here a curtain swings
//! and is hit 60 times a second: the vertices within 0.25 m of a place that wanders over it change their velocity by 1
//! m/s. The velocity that the filter gets then stretches the cloth to first order, C(x_0) ∈ O(h), and the claim is that
//! one iteration leaves F ∈ O(h²) and that the others do not change that.

use anyhow::Result;
use taut::reference::{Fabric, FastProjection, Recorder, StepResidual};
use taut::{Cancel, scene};

use super::attempt::FPS;
use super::figures::finding;
use super::record::{Curve, Paper};
use crate::bench::statistics::{growth, median};

/// Change of velocity by a hit \[m/s\].
const HIT: f64 = 1.0;
/// Reach of a hit on the cloth at rest \[m\].
const REACH: f64 = 0.25;
/// Strain at which the last iteration ends: far below any limit, so that there are several.
const LIMIT: f64 = 1e-9;
const ITERATIONS: usize = 60;

const RESIDUAL: &str = "largest component of F [m]";

/// Largest residuals of a frame \[m\].
#[derive(Clone, Copy, Debug)]
struct Frame {
    predicted: f64,
    first: f64,
    last: f64,
}

/// One of them.
type Part = fn(&Frame) -> f64;

/// Runs the sequence with each number of steps per frame. `tick` is told about every one.
pub(super) fn figure(
    size: u32,
    frames: u32,
    substeps: &[u32],
    cancel: &Cancel,
    mut tick: impl FnMut(String),
) -> Result<Paper> {
    let mut paper = Paper::default();
    let mut found: Vec<(f64, Vec<Frame>, Vec<Frame>)> = Vec::new();
    for &count in substeps {
        tick(format!("figure 3, steps of 1/{} s", 60 * count));
        let (hit, calm) = (sequence(size, frames, count, HIT, cancel)?, sequence(size, frames, count, 0.0, cancel)?);
        if cancel.is_cancelled() {
            break;
        }
        found.push((1.0 / (FPS * f64::from(count)), hit, calm));
    }
    // As the paper shows it: along the sequence, at a step in the middle.
    if let Some((h, hit, _)) = found.get(found.len() / 2) {
        let x: Vec<f64> = (1..=hit.len()).map(|frame| frame as f64 / FPS).collect();
        let at = format!("h = 1/{:.0} s", h.recip());
        let x_title = format!("time [s], steps of 1/{:.0} s", h.recip());
        for (name, of) in [("first", first as Part), ("last", last)] {
            let y = hit.iter().map(of).collect();
            paper.curves.push(curve("3a", format!("{name} iteration"), &x_title, x.clone(), y));
        }
        let ratios: Vec<f64> = hit.iter().map(|frame| frame.last / frame.first).collect();
        paper.findings.extend(median(&ratios).map(|ratio| {
            let name = format!("F after the last iteration over F after the first, {at}, median of the frames");
            finding("3", name, ratio, None)
        }));
    }
    let series: [(&str, Part, bool, Option<f64>); 4] = [
        ("C before projection", predicted, true, Some(1.0)),
        ("F, first iteration", first, true, Some(2.0)),
        ("F, last iteration", last, true, Some(2.0)),
        ("F, last, without hits", last, false, None),
    ];
    for (name, of, hits, expected) in series {
        let typical = |frames: &[Frame]| median(&frames.iter().map(of).collect::<Vec<_>>());
        let points = found.iter().filter_map(|(h, hit, calm)| Some((*h, typical(if hits { hit } else { calm })?)));
        let (x, y): (Vec<f64>, Vec<f64>) = points.unzip();
        if let Some(growth) = growth(&x, &y) {
            let name = format!("order in h of {name}");
            paper.findings.push(finding("3", name, growth.exponent, expected));
        }
        if !x.is_empty() {
            paper.curves.push(curve("3b", name.to_owned(), "step h [s]", x, y));
        }
    }
    Ok(paper)
}

fn predicted(frame: &Frame) -> f64 {
    frame.predicted
}

fn first(frame: &Frame) -> f64 {
    frame.first
}

fn last(frame: &Frame) -> f64 {
    frame.last
}

fn curve(figure: &str, name: String, x_title: &str, x: Vec<f64>, y: Vec<f64>) -> Curve {
    let y_title = if figure == "3b" { "median over the frames [m]" } else { RESIDUAL };
    Curve { figure: figure.to_owned(), name, x_title: x_title.to_owned(), y_title: y_title.to_owned(), x, y }
}

/// The largest residuals of every frame, or of those before it was stopped.
fn sequence(size: u32, frames: u32, substeps: u32, hit: f64, cancel: &Cancel) -> Result<Vec<Frame>> {
    let scene = scene::curtain(size)?;
    let mut fabric = Fabric::new(&scene)?;
    let mut recorder = Recorder::new(FastProjection { limit: LIMIT, budget: ITERATIONS, at_least: 1 });
    let h = 1.0 / (FPS * f64::from(substeps));
    let mut found = Vec::with_capacity(frames as usize);
    for frame in 0..frames {
        strike(&mut fabric, scene.mesh.positions(), f64::from(frame), hit);
        recorder.found.clear();
        for _ in 0..substeps {
            if cancel.is_cancelled() {
                return Ok(found);
            }
            fabric.step(h, &mut recorder)?;
        }
        let most = |of: fn(&StepResidual) -> f64| recorder.found.iter().map(of).fold(0.0, f64::max);
        found.push(Frame {
            predicted: most(|step| step.predicted),
            first: most(|step| step.first.force),
            last: most(|step| step.last.force),
        });
    }
    Ok(found)
}

/// Hits the cloth; place and direction wander with the number of the frame.
fn strike(fabric: &mut Fabric, rest: &[[f32; 3]], frame: f64, hit: f64) {
    let place = [0.5 + 0.35 * (0.7 * frame).sin(), 0.5 + 0.35 * (1.1 * frame).sin()];
    let change = [(2.0 * frame).sin(), (3.0 * frame).sin(), (2.0 * frame).cos()];
    let free = fabric.system.inverse_masses.iter().map(|w| *w > 0.0);
    for ((velocity, [x, _, z]), free) in fabric.velocities.iter_mut().zip(rest).zip(free) {
        if free && (f64::from(*x) - place[0]).hypot(f64::from(*z) - place[1]) < REACH {
            (0..3).for_each(|axis| velocity[axis] += hit * change[axis]);
        }
    }
}
