//! Holds: vertices that the caller keeps in place, on a plane or on a line, at run time.
//!
//! Baraff & Witkin (1998, section 5.1) constrain the motion of single particles by W = S/m with S = I − p pᵀ on a plane
//! of normal p, I − p pᵀ − q qᵀ = t tᵀ on a line of direction t, and 0 in place (eq. 13). One vector per vertex says
//! which: (n, 1) leaves what is across n, (n, 0) what is along n. Every solver and the elastic solve apply the same S,
//! so a hold is exact at every iteration, whatever they reach otherwise.
//!
//! In the directions that are held a vertex stays where it is, or follows a target (z of eq. 14); what is fixed stays
//! at its anchor. What the hold takes from the prediction, from springs and from edges is summed up in `reactions`: the
//! constraint force.

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Spec};
use crate::engine::program::Kernel;
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::Stage;
use crate::stage::fields::{Clock, Frame, Vertex};
use crate::stage::freedom::{self, FREE, left_by};
use crate::stage::integrate::TARGET;
use crate::vector::{padded, xyz};

static SOURCE: Source = Source::new("hold", include_str!("../../shaders/hold.wgsl"))
    .shares(&[&freedom::SOURCE])
    .constants(&[("TARGET", Constant::F32(TARGET))]);

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<[f32; 4]>("holds", Domain::VERTICES, "what the caller leaves of a vertex's motion, as `constraints`")
        .persistent(),
    Spec::of::<[f32; 4]>("anchors", Domain::VERTICES, "xyz: where a held vertex belongs [m], w: 1 if known")
        .persistent(),
];

/// Puts one vertex where its hold wants it.
pub(crate) static HOLD_VERTEX: Kernel =
    Kernel::new("hold_vertex", &SOURCE, hold_vertex_body).aliases(&[("found_constraints", "constraints")]);

/// The holds of a substep; after the prediction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holds;

impl Stage for Holds {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&HOLD_VERTEX, Domain::VERTICES);
    }
}

fn hold_vertex_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    let clock = run.one::<Clock>("clock")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let commands = run.read::<[f32; 4]>("commands")?;
    let holds = run.read::<[f32; 4]>("holds")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    let mut anchors = run.write::<[f32; 4]>("anchors")?;
    let mut constraints = run.write::<[f32; 4]>("found_constraints")?;
    for v in run.range() {
        let (vertex, hold) = (vertices[v], holds[v]);
        if vertex.inverse_mass == 0.0 || hold == FREE {
            constraints[v] = FREE;
            continue;
        }
        if anchors[v][3] == 0.0 {
            let [x, y, z] = vertex.position.to_array();
            anchors[v] = [x, y, z, 1.0];
        }
        let fixed = xyz(hold) == Vec3::ZERO;
        let mut way = if fixed { xyz(anchors[v]) - vertex.position } else { Vec3::ZERO };
        if frame.commanded != 0 && commands[v][3] == TARGET {
            way = (xyz(commands[v]) - vertex.position) / (clock.substeps - clock.substep + 1) as f32;
            if clock.substep == clock.substeps {
                anchors[v] = commands[v];
            }
        }
        let beyond = xyz(displacements[v]) - way;
        let left = left_by(hold, beyond);
        displacements[v] = padded(way + left);
        reactions[v] = padded(xyz(reactions[v]) + (clock.force / vertex.inverse_mass) * (beyond - left));
        constraints[v] = hold;
    }
    Ok(())
}
