//! Vertex normals for drawing: area-weighted sum over the triangles at a vertex, of unit length; zero where a vertex
//! has no triangle.

use glam::Vec3;

use crate::cpu::Run;
use crate::error::Result;
use crate::fields::Domain;
use crate::params::Vertex;
use crate::program::{Kernel, Recorder};
use crate::source::Source;
use crate::stage::Stage;
use crate::vector::padded;

static SOURCE: Source = Source::new("normals", include_str!("../../shaders/normals.wgsl"));

/// Normal of every vertex.
pub static GATHER_NORMALS: Kernel = Kernel::new("gather_normals", &SOURCE, gather_normals_body);

/// Normals for drawing, at the end of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Normals;

impl Stage for Normals {
    fn record(&self, recorder: &mut Recorder<'_>) {
        if recorder.sizes().triangle_corners > 0 {
            recorder.dispatch(&GATHER_NORMALS, Domain::Vertices);
        }
    }
}

fn gather_normals_body(run: &mut Run<'_>) -> Result<()> {
    let vertices = run.read::<Vertex>("vertices")?;
    let triangles = run.read::<u32>("triangles")?;
    let incidence = run.read::<u32>("triangle_incidence")?;
    let mut normals = run.write::<[f32; 4]>("normals")?;
    for v in run.range() {
        let mut normal = Vec3::ZERO;
        for k in incidence[v]..incidence[v + 1] {
            let corner = 3 * incidence[k as usize] as usize;
            let origin = vertices[triangles[corner] as usize].position;
            let first = vertices[triangles[corner + 1] as usize].position - origin;
            let second = vertices[triangles[corner + 2] as usize].position - origin;
            normal += first.cross(second);
        }
        let extent = normal.length();
        if extent > 0.0 {
            normal /= extent;
        }
        normals[v] = padded(normal);
    }
    Ok(())
}
