//! Free runs on the adapter, beside the same runs on the CPU.

use super::subjects::FRAME;
use super::{Check, Depth, Failure, Seen, Subject, pairs};
use crate::cloth::{Cloth, FrameInput};
use crate::error::Result;
use crate::scene::Scene;
use crate::solver::Method;

const SIZE: u32 = 9;
/// A third of a second: long enough to fall, too short for rounding to grow into another motion.
const FRAMES: u32 = 20;
/// How far the centres of mass may be apart \[m\]: what the strain limit leaves open, not rounding.
const CENTER: f64 = 2e-3;

pub(super) fn checks(depth: Depth) -> Vec<Check> {
    let check = |((solver, method), name): ((&'static str, Method), &'static str)| {
        Check::new(format!("runs/{solver}/{name}"), move |subject| run(subject, &method, name))
    };
    pairs(depth).into_iter().map(check).collect()
}

fn run(subject: &Subject, method: &Method, name: &str) -> Result<Seen, Failure> {
    let mut scene = Scene::named(name, SIZE)?;
    scene.settings.method = method.clone();
    let mut here = Cloth::on_cpu(scene.clone())?;
    let mut there = Cloth::on_gpu(subject.gpu(), scene)?;
    let (mut worst, mut apart) = (0.0f64, 0.0f64);
    for frame in 0..FRAMES {
        let input = FrameInput { dt: FRAME, ..Default::default() };
        here.step(&input)?;
        there.step(&input)?;
        let (here, there) = (here.snapshot()?, there.snapshot()?);
        if there.report.rejected {
            return Err(Failure::new(format!("frame {frame} was rejected: a value was not finite")));
        }
        if here.report.converged == Some(true) && there.report.converged != Some(true) {
            let strain = there.report.strain.map_or(f64::NAN, |strain| strain.max);
            return Err(Failure::new(format!(
                "frame {frame} is over the limit with {strain:.2e}, but holds it on the CPU"
            )));
        }
        worst = worst.max(there.report.strain.map_or(f64::NAN, |strain| strain.max));
        for (a, b) in center(&here.positions).into_iter().zip(center(&there.positions)) {
            // NaN must not look like a small distance.
            let distance = (a - b).abs();
            apart = if distance.is_nan() { f64::INFINITY } else { apart.max(distance) };
        }
    }
    Failure::unless_at_most("the distance of the centres of mass [m]", apart, CENTER)?;
    Ok(Seen::new(format!("strain {worst:.2e}, centres {apart:.1e} m apart")))
}

/// Mean position of all vertices.
pub(super) fn center(positions: &[[f32; 3]]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for position in positions {
        for (sum, x) in sum.iter_mut().zip(position) {
            *sum += f64::from(*x) / positions.len() as f64;
        }
    }
    sum
}
