//! Equal bits: again, and on a device that can do less.

use super::subjects::{FRAME, solvers};
use super::{Check, Depth, Failure, Seen};
use crate::cloth::settings::Settings;
use crate::cloth::{Cloth, FrameInput};
use crate::engine::checksum::Checksum;
use crate::engine::gpu::Gpu;
use crate::error::{Error, Result};
use crate::scene;
use crate::solver::Method;

pub(super) fn checks(_: Depth) -> Vec<Check> {
    let mut list = Vec::new();
    for (solver, method) in solvers() {
        list.push(Check::new(format!("bits/{solver}"), move |subject| {
            let again = subject.with_limits(Gpu::required_limits())?;
            equal([fingerprint(subject.gpu(), &method)?, fingerprint(&again, &method)?], "a second device")
        }));
    }
    // Sums by atomics, whose order nobody chooses.
    list.push(Check::new("bits/self-collision", |subject| {
        let again = subject.with_limits(Gpu::required_limits())?;
        equal([layers(subject.gpu())?, layers(&again)?], "a second device")
    }));
    // At most so many workgroups in a dimension fold dispatches.
    let folded = |most| wgpu::Limits { max_compute_workgroups_per_dimension: most, ..Gpu::required_limits() };
    for (solver, method) in solvers() {
        list.push(Check::new(format!("limits/{solver}"), move |subject| {
            // 12 × 12 vertices and their edges are 3 and 5.
            let less = subject.with_limits(folded(3))?;
            equal([fingerprint(subject.gpu(), &method)?, fingerprint(&less, &method)?], "lowered limits")
        }));
    }
    list.push(Check::new("limits/self-collision", move |subject| {
        // Room for 64 pairs of each of 6 × 6 × 6 vertices is 216, in two dimensions.
        let less = subject.with_limits(folded(15))?;
        equal([layers(subject.gpu())?, layers(&less)?], "lowered limits")
    }));
    list.push(Check::new("limits/too-large", |subject| {
        let limits = wgpu::Limits { max_storage_buffer_binding_size: 1024, ..Gpu::required_limits() };
        let less = subject.with_limits(limits)?;
        match Cloth::on_gpu(&less, scene::curtain(9)?) {
            Err(Error::Limit { limit, .. }) => Ok(Seen::new(format!("refused, naming {limit}"))),
            Err(other) => Err(Failure::new(format!("refused, but not by the limit: {other}"))),
            Ok(_) => Err(Failure::new("a cloth beyond the limits of the device was accepted")),
        }
    }));
    list
}

fn equal([first, second]: [u64; 2], what: &str) -> Result<Seen, Failure> {
    if first == second {
        Ok(Seen::new(format!("{first:016x} twice")))
    } else {
        Err(Failure::new(format!("{first:016x}, but {second:016x} with {what}")))
    }
}

/// Checksum of everything that a few frames of a small cloth leave: positions, velocities, forces, counts. Equal in
/// every process on the same adapter and build.
///
/// # Errors
/// As [`Cloth::on_gpu`] and [`Cloth::step`].
pub fn fingerprint(gpu: &Gpu, method: &Method) -> Result<u64> {
    let settings = Settings { method: method.clone(), strain_limit: 2e-3, ..Default::default() };
    checksum(Cloth::on_gpu(gpu, scene::hang(12)?.with_settings(settings))?, 4)
}

/// The same of sheets that fall on each other, until they have met.
fn layers(gpu: &Gpu) -> Result<u64> {
    checksum(Cloth::on_gpu(gpu, scene::stack(12)?)?, 8)
}

fn checksum(mut cloth: Cloth, frames: u32) -> Result<u64> {
    for _ in 0..frames {
        cloth.step(&FrameInput { dt: FRAME, ..Default::default() })?;
    }
    let snapshot = cloth.snapshot()?;
    let mut checksum = Checksum::default();
    let vectors = [cloth.velocities()?, cloth.pin_forces()?];
    for x in snapshot.positions.iter().chain(vectors.iter().flatten()).flatten() {
        checksum.add(&x.to_le_bytes());
    }
    let report = snapshot.report;
    for count in [report.iterations, report.inner_iterations, report.substeps, report.missed_substeps] {
        checksum.add(&count.to_le_bytes());
    }
    checksum.add(&report.device_strain.to_le_bytes());
    Ok(checksum.value())
}
