//! Figure 6: the same drape by fast projection and by ICD with equal tolerances, and how far the shapes are from each
//! other.

use std::time::Instant;

use anyhow::Result;
use taut::reference::{Fabric, Projector};
use taut::{Cancel, Scene, scene};

use super::attempt::{FPS, Reference};
use super::draw::{Panel, Shapes};
use super::figures::finding;
use super::record::{Curve, Finding, Paper};

/// Steps per frame that are tried, until both methods pass: none as long as a frame, where both are of first order.
const SUBSTEPS: [u32; 6] = [4, 8, 16, 32, 64, 128];
/// Strain at which both end, ICD also with F as small as that leaves of an edge. At 1 % most steps are one iteration,
/// which is the same of both: nothing would be compared.
const TOLERANCE: f64 = 1e-6;

/// What was found along one motion.
#[derive(Clone, Debug, Default)]
struct Motion {
    time: Vec<f64>,
    largest: Vec<f64>,
    mean_square: Vec<f64>,
    strains: [Vec<f64>; 2],
    /// Whether a method gave up.
    failed: bool,
}

/// Part of the cloth's side that is no distance \[1\].
const ROUNDED: f64 = 1e-9;

/// Runs both methods from the same start with the same steps.
pub(super) fn figure(
    size: u32,
    frames: u32,
    budget: f64,
    cancel: &Cancel,
    mut tick: impl FnMut(String),
) -> Result<(Paper, Option<Shapes>)> {
    let scene = scene::drape(size)?;
    for substeps in SUBSTEPS {
        tick(format!("figure 6, drape {size}, steps of 1/{} s", 60 * substeps));
        let (motion, positions) = follow(&scene, frames, substeps, budget, cancel)?;
        if motion.failed && substeps != SUBSTEPS[SUBSTEPS.len() - 1] {
            continue;
        }
        let time = motion.time.last().copied().unwrap_or_default();
        let panels = ["Fast projection", "ICD"].into_iter().zip(positions);
        let panels = panels.map(|(name, positions)| Panel { name: name.to_owned(), positions }).collect();
        let shapes = Shapes { scene, title: format!("The cloth after {time:.2} s"), panels };
        let shown = !motion.failed && time > 0.0;
        return Ok((describe(motion, substeps), shown.then_some(shapes)));
    }
    Ok((Paper::default(), None))
}

fn describe(motion: Motion, substeps: u32) -> Paper {
    let most = |list: &[f64]| list.iter().copied().fold(0.0, f64::max);
    let at = format!("h = 1/{} s", 60 * substeps);
    let mut findings: Vec<Finding> = Vec::new();
    if !motion.failed && !motion.time.is_empty() {
        for (name, list) in [("largest", &motion.largest), ("root mean square", &motion.mean_square)] {
            let name = format!("{name} distance between the shapes over the cloth's side, worst frame, {at}");
            findings.push(finding("6", name, most(list), None));
        }
    }
    let Motion { time, largest, mean_square, strains: [fast, implicit], .. } = motion;
    let curve = |figure: &str, name: &str, y: Vec<f64>| Curve {
        figure: figure.to_owned(),
        name: name.to_owned(),
        x_title: format!("time [s], steps of 1/{} s", 60 * substeps),
        y_title: if figure == "6a" { "part of the cloth's side" } else { "largest strain" }.to_owned(),
        x: time.clone(),
        y,
    };
    // Before the cloth touches anything it falls alike, but for the rounding of f64, which would take up the axis.
    let parted = |name: &str, list: Vec<f64>| {
        let (x, y) = time.iter().zip(&list).filter(|(_, distance)| **distance > ROUNDED).unzip();
        Curve { x, ..curve("6a", name, y) }
    };
    let curves = vec![
        parted("largest distance", largest),
        parted("root mean square", mean_square),
        curve("6b", "fast projection", fast),
        curve("6b", "ICD", implicit),
    ];
    Paper { curves, findings }
}

fn follow(
    scene: &Scene,
    frames: u32,
    substeps: u32,
    budget: f64,
    cancel: &Cancel,
) -> Result<(Motion, [Vec<[f64; 3]>; 2])> {
    let mut fabrics = [Fabric::draped(scene)?, Fabric::draped(scene)?];
    let mut projectors: [Box<dyn Projector>; 2] = [Reference::FastProjection, Reference::ImplicitDirection]
        .map(|method| method.projector(&fabrics[0].system, TOLERANCE, 0.0));
    let side = side(scene);
    let h = 1.0 / (FPS * f64::from(substeps));
    let clock = Instant::now();
    let mut motion = Motion::default();
    'frames: for frame in 1..=frames {
        let mut found = [0.0f64; 2];
        for ((fabric, projector), strain) in fabrics.iter_mut().zip(&mut projectors).zip(&mut found) {
            for _ in 0..substeps {
                let projection = fabric.step(h, projector.as_mut());
                let passed = projection.as_ref().is_ok_and(|projection| projection.failure.is_none());
                *strain = projection.map_or(f64::NAN, |projection| projection.strain);
                if cancel.is_cancelled() || clock.elapsed().as_secs_f64() > budget {
                    break 'frames;
                }
                if !passed {
                    motion.failed = true;
                    break 'frames;
                }
            }
        }
        let distances: Vec<f64> =
            fabrics[0].system.positions.iter().zip(&fabrics[1].system.positions).map(|(a, b)| distance(a, b)).collect();
        let squares: f64 = distances.iter().map(|distance| distance * distance).sum();
        motion.time.push(f64::from(frame) / FPS);
        motion.largest.push(distances.iter().copied().fold(0.0, f64::max) / side);
        motion.mean_square.push((squares / distances.len() as f64).sqrt() / side);
        for (strains, strain) in motion.strains.iter_mut().zip(found) {
            strains.push(strain);
        }
    }
    Ok((motion, fabrics.map(|fabric| fabric.system.positions)))
}

fn distance(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// The longest side of the cloth at rest \[m\].
fn side(scene: &Scene) -> f64 {
    let extent = |axis: usize| {
        let along = scene.mesh.positions().iter().map(|x| f64::from(x[axis]));
        let (low, high) = along.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        high - low
    };
    (0..3).map(extent).fold(0.0, f64::max)
}
