//! Values that are not finite never become public.

use super::subjects::{FRAME, solvers};
use super::{Check, Depth, Failure, Seen, Subject};
use crate::cloth::settings::Settings;
use crate::cloth::{Cloth, FrameInput};
use crate::error::Result;
use crate::scene;
use crate::solver::Method;

pub(super) fn checks(_: Depth) -> Vec<Check> {
    let check = |(solver, method): (&'static str, Method)| {
        Check::new(format!("not-finite/{solver}"), move |subject| overflow(subject, method.clone()))
    };
    solvers().into_iter().map(check).collect()
}

fn overflow(subject: &Subject, method: Method) -> Result<Seen, Failure> {
    let settings = Settings { method, ..Default::default() };
    let mut cloth = Cloth::on_gpu(subject.gpu(), scene::hang(9)?.with_settings(settings))?;
    let input = FrameInput { dt: FRAME, ..Default::default() };
    for _ in 0..3 {
        cloth.step(&input)?;
    }
    let before = state(&cloth)?;
    // Overflows the velocity of a vertex of a gram.
    cloth.add_impulse(40, [3e38, 0.0, 0.0])?;
    cloth.step(&input)?;
    let report = cloth.snapshot()?.report;
    if !report.rejected || report.converged != Some(false) {
        return Err(Failure::new("a frame with an overflow was not reported as rejected"));
    }
    if state(&cloth)? != before {
        return Err(Failure::new("a frame with an overflow changed the state"));
    }
    cloth.step(&input)?;
    let report = cloth.snapshot()?.report;
    if report.rejected || report.converged != Some(true) {
        return Err(Failure::new("the frame after an overflow does not hold the limit"));
    }
    if state(&cloth)? == before {
        return Err(Failure::new("the cloth stands still after an overflow"));
    }
    Ok(Seen::new("taken back, reported, and went on"))
}

/// Bits of positions and velocities.
fn state(cloth: &Cloth) -> Result<Vec<u32>> {
    let positions = cloth.snapshot()?.positions;
    Ok(positions.iter().chain(&cloth.velocities()?).flatten().map(|x| x.to_bits()).collect())
}
