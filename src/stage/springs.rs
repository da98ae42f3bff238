//! Explicit spring forces: both diagonals of every quad resist shear, f = k (|d| − l) d/|d| on the tail.
//!
//! Explicit integration is stable while k h²/m stays small; the substep rule keeps k h²/m ≤ 0.15 for every vertex.
//! Cost: 16 bytes per spring and end, once per substep.

use glam::Vec3;

use crate::cpu::Run;
use crate::error::Result;
use crate::fields::Domain;
use crate::params::{Link, Vertex};
use crate::program::{Kernel, Recorder};
use crate::stage::padded;

const WGSL: &str = include_str!("../../shaders/springs.wgsl");

/// Sets `forces` to the sum of the springs at a vertex; the first stage, so later ones add to it.
pub static GATHER_SPRINGS: Kernel = Kernel::new("gather_springs", WGSL, gather_springs_body);

/// Records the spring forces.
pub fn record(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&GATHER_SPRINGS, Domain::Vertices);
}

fn gather_springs_body(run: &mut Run<'_>) -> Result<()> {
    let vertices = run.read::<Vertex>("vertices")?;
    let springs = run.read::<Link>("springs")?;
    let incidence = run.read::<u32>("spring_incidence")?;
    let mut forces = run.write::<[f32; 4]>("forces")?;
    for v in run.range() {
        let here = vertices[v].position;
        let mut force = Vec3::ZERO;
        for k in incidence[v]..incidence[v + 1] {
            let entry = incidence[k as usize];
            let spring = springs[(entry / 2) as usize];
            let other = if entry & 1 == 1 { spring.tail } else { spring.head };
            let d = vertices[other as usize].position - here;
            let extent = d.length();
            if extent > 0.0 {
                force += (spring.stiffness * (extent - spring.rest) / extent) * d;
            }
        }
        forces[v] = padded(force);
    }
    Ok(())
}
