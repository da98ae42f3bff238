//! The measure of everything: strain of an edge = | |d|/l − clamp(|d|/l, σ_min, σ_max) |, and the loop's decision.
//!
//! With the default band σ_min = σ_max = 1 this is | |d|/l − 1 |. Edges with both ends pinned are left out: no
//! projection can move them; the report counts those over the limit as infeasible.

use crate::cpu::Run;
use crate::error::Result;
use crate::fields::Domain;
use crate::params::{Frame, GROUP, Link, Vertex, sums};
use crate::program::{Kernel, Recorder, Shape};
use crate::solver::banded_length;
use crate::stage::{control, reduce, xyz};

const WGSL: &str = include_str!("../../shaders/strain.wgsl");

/// Strain of every edge, largest per workgroup.
pub static MEASURE_STRAIN: Kernel = Kernel::new("measure_strain", WGSL, measure_strain_body)
    .shape(Shape::Reduction)
    .aliases(&[("partials", "strain_partials")]);

/// Records measuring, and ending the loop where the strain is within the limit, after `iterations` more iterations;
/// `inner` is the guard word of a linear solve inside, or 0.
pub fn record(recorder: &mut Recorder<'_>, iterations: u32, inner: u32) {
    recorder.dispatch(&MEASURE_STRAIN, Domain::Edges);
    reduce::record(recorder, &reduce::MAX_PARTIALS, Domain::Edges, sums::STRAIN);
    control::decide_strain(recorder, iterations, inner);
}

fn measure_strain_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    let edges = run.read::<Link>("edges")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let mut partials = run.write::<[f32; 2]>("partials")?;
    for first in run.range().step_by(GROUP) {
        let mut most = 0.0f32;
        for edge in &edges[first..run.range().end.min(first + GROUP)] {
            let (tail, head) = (edge.tail as usize, edge.head as usize);
            let (a, b) = (vertices[tail], vertices[head]);
            if a.inverse_mass + b.inverse_mass > 0.0 {
                let d = (b.position + xyz(displacements[head])) - (a.position + xyz(displacements[tail]));
                let extent = d.length();
                most = most.max((extent - banded_length(frame, extent, edge.rest)).abs() / edge.rest);
            }
        }
        partials[first / GROUP] = [most, 0.0];
    }
    Ok(())
}
