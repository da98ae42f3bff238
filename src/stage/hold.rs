//! Holds: vertices that the caller keeps in place, on a plane or on a line, at run time.
//!
//! Baraff & Witkin (1998, section 5.1) constrain the motion of single particles by W = S/m with S = I − p pᵀ on a plane
//! of normal p, I − p pᵀ − q qᵀ = t tᵀ on a line of direction t, and 0 in place (eq. 13). One vector per vertex says
//! which: (n, 1) leaves what is across n, (n, 0) what is along n. Every solver and the elastic solve apply the same S,
//! so a hold is exact at every iteration, whatever they reach otherwise.
//!
//! In the directions that are held a vertex stays where it is, or follows a target (z of eq. 14); what is fixed stays
//! at its anchor. A soft hold is a spring of k N/m from the vertex to its anchor, by a backward Euler step: with d the
//! way to the anchor, (m + τ² k) u' = m u + τ² k d, at any k. It adds τ² k to the mass that the projection and the
//! elastic solve know (`freedom.rs`), so at rest the force is k times the distance, whatever hangs on it.
//! A target moves its anchor in equal parts. What the hold takes from the prediction, from springs and from edges is
//! summed up in `reactions`: the constraint force.

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Spec};
use crate::engine::program::Kernel;
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::Stage;
use crate::stage::fields::{Clock, Frame, Vertex};
use crate::stage::freedom::{self, FREE, heavier, left_by, limited_by};
use crate::stage::integrate::TARGET;
use crate::vector::{padded, turned, xyz};

static SOURCE: Source = Source::new("hold", include_str!("../../shaders/hold.wgsl"))
    .shares(&[&freedom::SOURCE])
    .constants(&[("TARGET", Constant::F32(TARGET))]);

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<[f32; 4]>(
        "holds",
        Domain::VERTICES,
        "what the caller leaves of a vertex's motion, as `constraints`; (0, −k): a spring of k [N/m]",
    )
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
        let soft = hold[3] < 0.0;
        if anchors[v][3] == 0.0 {
            anchors[v] = vertex.position.extend(1.0).to_array();
        } else if soft && frame.relocated != 0 && clock.substep == 1 {
            anchors[v] = (turned(frame.rotation, xyz(anchors[v])) + frame.translation).extend(1.0).to_array();
        }
        let fixed = xyz(hold) == Vec3::ZERO;
        let mut way = if fixed { xyz(anchors[v]) - vertex.position } else { Vec3::ZERO };
        if frame.commanded != 0 && commands[v][3] == TARGET {
            let parts = (clock.substeps - clock.substep + 1) as f32;
            if soft {
                let anchor = xyz(anchors[v]) + (xyz(commands[v]) - xyz(anchors[v])) / parts;
                anchors[v] = anchor.extend(1.0).to_array();
                way = anchor - vertex.position;
            } else {
                way = (xyz(commands[v]) - vertex.position) / parts;
            }
            if clock.substep == clock.substeps {
                anchors[v] = commands[v];
            }
        }
        let beyond = xyz(displacements[v]) - way;
        let mut left = left_by(hold, beyond);
        let mut taken = beyond - left;
        if soft {
            let more = heavier(hold, vertex.inverse_mass, clock.span);
            taken = (more / (1.0 + more)) * beyond;
            left = beyond - taken;
        }
        displacements[v] = padded(way + left);
        reactions[v] = padded(xyz(reactions[v]) + (clock.force / vertex.inverse_mass) * taken);
        constraints[v] = limited_by(hold, vertex.inverse_mass, clock.span);
    }
    Ok(())
}
