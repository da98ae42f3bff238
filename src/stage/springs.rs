//! Spring forces: both diagonals of every quad resist shear, f = k (|d| − l) d/|d| on the tail.
//!
//! Explicit integration is stable while k h²/m stays small; the substep rule keeps k h²/m ≤ 0.3 for every vertex, or
//! the springs are integrated implicitly ([`crate::stage::elastic`]). Cost: 16 bytes per spring and end, once per
//! substep.

use wide::f32x4;

use crate::engine::cpu::Run;
use crate::engine::fields::Domain;
use crate::engine::program::{Kernel, Renames};
use crate::engine::source::Source;
use crate::error::Result;
use crate::mesh::Link;
use crate::stage::Recorder;
use crate::stage::fields;
use crate::stage::fields::Vertex;
use crate::stage::{Stage, bending};

static SOURCE: Source = Source::new("springs", include_str!("../../shaders/springs.wgsl")).shares(&[&fields::SOURCE]);

/// Sets `forces` to the sum of the springs at a vertex; the first stage, so later ones add to it.
pub(crate) static GATHER_SPRINGS: Kernel = Kernel::new("gather_springs", &SOURCE, gather_springs_body);

/// Sets `forces` to what pins bear of implicit springs.
pub(crate) static KEEP_PIN_FORCE: Kernel = Kernel::new("keep_pin_force", &SOURCE, keep_pin_force_body);

/// The forces of springs and bending: `forces`, or `elastic_forces` where they are integrated implicitly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Springs {
    /// Whether they are integrated implicitly.
    pub implicit: bool,
}

impl Stage for Springs {
    fn record(&self, recorder: &mut Recorder<'_>) {
        if self.implicit {
            let elastic: Renames = &[("forces", "elastic_forces")];
            recorder.dispatch_renamed(&GATHER_SPRINGS, Domain::VERTICES, elastic);
            bending::record(recorder, elastic);
            recorder.dispatch(&KEEP_PIN_FORCE, Domain::VERTICES);
        } else {
            recorder.dispatch(&GATHER_SPRINGS, Domain::VERTICES);
            bending::record(recorder, &[]);
        }
    }
}

fn keep_pin_force_body(run: &mut Run<'_>) -> Result<()> {
    let vertices = run.read::<Vertex>("vertices")?;
    let elastic_forces = run.read::<[f32; 4]>("elastic_forces")?;
    let mut forces = run.write::<[f32; 4]>("forces")?;
    for v in run.range() {
        forces[v] = if vertices[v].inverse_mass == 0.0 { elastic_forces[v] } else { [0.0; 4] };
    }
    Ok(())
}

fn gather_springs_body(run: &mut Run<'_>) -> Result<()> {
    let vertices = run.read::<Vertex>("vertices")?;
    let springs = run.read::<Link>("springs")?;
    let incidence = run.read::<u32>("spring_incidence")?;
    let mut forces = run.write::<[f32; 4]>("forces")?;
    for v in run.range() {
        let here = vertices[v].position;
        let mut sum = [f32x4::ZERO; 3];
        // Four springs at once: an inner vertex of a grid has four.
        for entries in incidence[incidence[v] as usize..incidence[v + 1] as usize].chunks(8) {
            // Beyond the last spring: nothing, without stiffness. Written out: in a loop the parts of a vector would go
            // through memory.
            let of = |k: usize| {
                let Some([entry, other]) = entries.get(2 * k..2 * k + 2) else { return (f32x4::ZERO, 0.0, 0.0) };
                let spring = springs[(entry / 2) as usize];
                (f32x4::new(bytemuck::cast(vertices[*other as usize])), spring.stiffness, spring.rest)
            };
            let (p, q, r, s) = (of(0), of(1), of(2), of(3));
            let [x, y, z, _] = f32x4::transpose([p.0, q.0, r.0, s.0]);
            let (stiffness, rest) = ([p.1, q.1, r.1, s.1], [p.2, q.2, r.2, s.2]);
            let d = [x - f32x4::splat(here.x), y - f32x4::splat(here.y), z - f32x4::splat(here.z)];
            let extent = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
            let force = f32x4::new(stiffness) * (extent - f32x4::new(rest)) / extent;
            let force = force & extent.simd_gt(f32x4::ZERO);
            for axis in 0..3 {
                sum[axis] += force * d[axis];
            }
        }
        let [x, y, z] = sum.map(f32x4::reduce_add);
        forces[v] = [x, y, z, 0.0];
    }
    Ok(())
}
