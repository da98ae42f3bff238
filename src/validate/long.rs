//! Seconds of motion on the adapter, beside the same on the CPU: where the cloth is, its energy, and what holds it.
//!
//! Cloth that folds is chaotic: a rounding becomes another fold within a second or two, so vertices cannot be compared.
//! Its centre of mass, its energy and the force that bears it are means over all of it, and what is chaotic in them is
//! the smaller the longer it is averaged.

use super::energy::energy;
use super::subjects::FRAME;
use super::{Check, Depth, Failure, Seen, Subject};
use crate::cloth::{Cloth, FrameInput};
use crate::error::Result;
use crate::scene::Scene;

/// Vertices per side.
const SIZE: u32 = 24;
/// Frames over which energies and forces are averaged.
const WINDOW: usize = 30;

/// A scene, and how far the two may be apart.
struct Run {
    name: &'static str,
    /// Distance of the centres of mass \[m\].
    center: f64,
    /// Difference of the energies, over m g · 1 m.
    energy: f64,
    /// Difference of the vertical forces of pins and solids, over the weight.
    force: f64,
    /// What may be gained over the lowest energy so far, over m g · 1 m; nothing is said where the air pushes.
    gain: Option<f64>,
}

/// About twice what was measured on software, in ten seconds. `hang` swings freely, and its folds are its own after a
/// few; the energy of the folds of `drape` is not counted, which is what it seems to gain.
const RUNS: [Run; 3] = [
    Run { name: "hang", center: 0.06, energy: 0.02, force: 0.12, gain: Some(1e-3) },
    Run { name: "drape", center: 3e-3, energy: 2e-3, force: 5e-3, gain: Some(8e-3) },
    Run { name: "flag", center: 0.02, energy: 0.01, force: 0.1, gain: None },
];

pub(super) fn checks(depth: Depth) -> Vec<Check> {
    // The whole takes minutes on software.
    let frames = if depth == Depth::Quick { 60 } else { 600 };
    let check =
        |run: &'static Run| Check::new(format!("long/{}", run.name), move |subject| compare(subject, run, frames));
    RUNS.iter().map(check).collect()
}

/// What is compared, frame by frame.
#[derive(Default)]
struct Trace {
    centers: Vec<[f64; 3]>,
    energies: Vec<f64>,
    forces: Vec<f64>,
    /// Frames over the limit.
    over: u32,
}

impl Trace {
    fn of(mut cloth: Cloth, frames: u32) -> Result<Self, Failure> {
        let mut trace = Self::default();
        for frame in 0..frames {
            cloth.step(&FrameInput { dt: FRAME, ..Default::default() })?;
            let snapshot = cloth.snapshot()?;
            if snapshot.report.rejected {
                return Err(Failure::new(format!("frame {frame} was rejected: a value was not finite")));
            }
            trace.over += u32::from(snapshot.report.converged != Some(true));
            trace.centers.push(super::runs::center(&snapshot.positions));
            trace.energies.push(energy(&cloth)?);
            let forces = [cloth.pin_forces()?, cloth.constraint_forces()?];
            trace.forces.push(forces.iter().flatten().map(|force| -f64::from(force[1])).sum());
        }
        Ok(trace)
    }

    /// Largest gain over the lowest energy so far \[J\].
    fn gain(&self) -> f64 {
        let mut lowest = f64::INFINITY;
        self.energies.iter().fold(0.0f64, |gain, energy| {
            lowest = lowest.min(*energy);
            if energy.is_nan() { f64::INFINITY } else { gain.max(energy - lowest) }
        })
    }
}

/// Largest difference of the means over every window.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let each = a.chunks(WINDOW).zip(b.chunks(WINDOW)).map(|(a, b)| (mean(a) - mean(b)).abs());
    each.fold(0.0, |most, x| if x.is_nan() { f64::INFINITY } else { most.max(x) })
}

fn compare(subject: &Subject, run: &Run, frames: u32) -> Result<Seen, Failure> {
    let scene = Scene::named(run.name, SIZE)?;
    let weight = 9.81 * scene.mesh.masses().iter().map(|mass| f64::from(*mass)).sum::<f64>();
    let here = Trace::of(Cloth::on_cpu(scene.clone())?, frames)?;
    let there = Trace::of(Cloth::on_gpu(subject.gpu(), scene)?, frames)?;
    judge(run, weight, &here, &there)
}

/// Whether a motion is another's.
fn judge(run: &Run, weight: f64, here: &Trace, there: &Trace) -> Result<Seen, Failure> {
    let frames = here.centers.len();
    let centers = here.centers.iter().flatten().zip(there.centers.iter().flatten()).map(|(a, b)| (a - b).abs());
    let center = centers.fold(0.0, |most: f64, x| if x.is_nan() { f64::INFINITY } else { most.max(x) });
    let energy = apart(&here.energies, &there.energies) / weight;
    let force = apart(&here.forces, &there.forces) / weight;
    let gains = [here, there].map(|trace| trace.gain() / weight);
    let text = format!(
        "{frames} frames: centres {center:.1e} m, energies {energy:.1e} m g · 1 m, forces {force:.1e} m g apart; gains \
         {:.1e} and {:.1e}; {} and {} frames over the limit",
        gains[0], gains[1], here.over, there.over
    );
    let most = [
        ("the distance of the centres of mass [m]", center, run.center),
        ("the difference of the energies [m g · 1 m]", energy, run.energy),
        ("the difference of the forces [m g]", force, run.force),
        ("frames over the limit", f64::from(there.over), f64::from(here.over)),
    ];
    let gained = run.gain.map(|most| ("the gain of energy [m g · 1 m]", gains[1], most));
    for (what, found, most) in most.into_iter().chain(gained) {
        Failure::unless_at_most(what, found, most)
            .map_err(|failure| Failure { message: format!("{}; {text}", failure.message), ..failure })?;
    }
    Ok(Seen::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What falls from 1 m in free fall, and is caught where it has fallen half a metre.
    fn trace(length: usize) -> Trace {
        let fall = |k: usize| (0.5 * 9.81 * (k as f64 / 60.0).powi(2)).min(0.5);
        Trace {
            centers: (0..length).map(|k| [0.0, 1.0 - fall(k), 0.0]).collect(),
            energies: (0..length).map(|k| if fall(k) < 0.5 { 9.81 } else { 0.5 * 9.81 }).collect(),
            forces: (0..length).map(|k| if fall(k) < 0.5 { 0.0 } else { 9.81 }).collect(),
            over: 0,
        }
    }

    #[test]
    fn every_bound_can_fail() {
        let verdict = |run: &Run, change: &dyn Fn(&mut Trace)| {
            let (here, mut there) = (trace(120), trace(120));
            change(&mut there);
            judge(run, 9.81, &here, &there).map(|_| ()).map_err(|failure| failure.message)
        };
        let fails = |run: &Run, words: &str, change: &dyn Fn(&mut Trace)| {
            let message = verdict(run, change).expect_err(words);
            assert!(message.starts_with(words), "{}: {message}", run.name);
        };
        for run in &RUNS {
            assert_eq!(verdict(run, &|_| ()), Ok(()));
            let (center, energy, force) = (1.1 * run.center, 1.1 * 9.81 * run.energy, 1.1 * 9.81 * run.force);
            fails(run, "the distance of the centres", &|trace| trace.centers[70][2] += center);
            fails(run, "the distance of the centres", &|trace| trace.centers[70][2] = f64::NAN);
            let (first, last) = (WINDOW, 2 * WINDOW);
            fails(run, "the difference of the energies", &|trace| {
                trace.energies[first..last].iter_mut().for_each(|x| *x -= energy);
            });
            fails(run, "the difference of the forces", &|trace| {
                trace.forces[first..last].iter_mut().for_each(|x| *x += force);
            });
            fails(run, "the difference of the forces", &|trace| trace.forces[first] = f64::NAN);
            fails(run, "frames over the limit", &|trace| trace.over = 1);
            if let Some(gain) = run.gain {
                // In the last frame alone: what a mean would not show.
                fails(run, "the gain of energy", &|trace| trace.energies[119] += 1.1 * 9.81 * gain);
            }
        }
    }
}
