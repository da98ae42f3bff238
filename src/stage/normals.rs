//! Vertex normals for drawing: area-weighted sum over the triangles at a vertex, of unit length; zero where a vertex
//! has no triangle.

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::fields::Domain;
use crate::engine::program::Kernel;
use crate::engine::source::Source;
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::Stage;
use crate::stage::fields;
use crate::stage::fields::Vertex;
use crate::vector::padded;

static SOURCE: Source = Source::new("normals", include_str!("../../shaders/normals.wgsl")).shares(&[&fields::SOURCE]);

/// Normal of every vertex.
pub(crate) static GATHER_NORMALS: Kernel = Kernel::new("gather_normals", &SOURCE, gather_normals_body);

/// Normals for drawing, at the end of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Normals;

impl Stage for Normals {
    fn record(&self, recorder: &mut Recorder<'_>) {
        if recorder.sizes().triangles() > 0 {
            recorder.dispatch(&GATHER_NORMALS, Domain::VERTICES);
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
