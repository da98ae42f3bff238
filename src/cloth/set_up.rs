//! From a scene to filled fields and a first recording.

use std::sync::Arc;

use glam::DVec3;

use super::recording::Recorded;
use super::stages;
use super::state::{check_vectors, write_state};
use super::{Basis, first};
use crate::cloth::scene::Scene;
use crate::cloth::settings::{Settings, limit_word, resolution, shortest};
use crate::cloth::substeps::{StepBounds, grading, lightness, mean_mass};
use crate::engine::fields::{Domain, Fields, Sizes};
use crate::error::Result;
use crate::mesh::Mesh;
use crate::mesh::bending::{Hinge, Pair};
use crate::mesh::topology::{Incidence, Topology};
use crate::mesh::yarns::YarnRow;
use crate::solid::Solid;
use crate::solver::{diagonals, shape_matching, windows};
use crate::stage::area::rest_areas;
use crate::stage::bending::HingeRow;
use crate::stage::freedom::FREE;
use crate::stage::law;
use crate::stage::self_collision;

/// What a cloth begins with.
type SetUp = (Arc<Basis>, Vec<Solid>, Settings, Fields, Recorded);

/// Validates everything and fills the fields; those of a filter have room for so many words of its host's.
pub(super) fn set_up(scene: Scene, filtered: usize) -> Result<SetUp> {
    let Scene { mesh, mut start, solids, settings, .. } = scene;
    check_vectors("start", &start, mesh.vertex_count())?;
    if grading(&mesh) > 1.0 {
        ruffle(&mesh, &mut start, settings.gravity);
    }
    settings.validate(&mesh, &start)?;
    solids.iter().enumerate().try_for_each(|(index, solid)| solid.validate(index))?;
    let distances: Vec<f32> = solids.iter().flat_map(Solid::distances).copied().collect();
    let topology = Topology::new(&mesh);
    let step_bounds = StepBounds::of(&mesh, &start, &topology.yarns, &topology.diagonals, &topology.windows);
    let triangles: Vec<u32> = mesh.triangles().into_iter().flatten().collect();
    let triangle_incidence = Incidence::of_triangles(mesh.vertex_count(), &triangles);
    let spring_incidence = topology.spring_incidence.with_ends(mesh.springs());
    let bend_incidence = bend_incidence(&mesh);
    let [pieces, diagonal_pieces] = topology.windows.room(&topology.yarns, &topology.diagonals);
    let sizes = Sizes::of_mesh(&mesh, &solids, topology.yarns.yarns.len())
        .with(Domain::PIECES, pieces)
        .with(Domain::DIAGONAL_PIECES, diagonal_pieces)
        .with(Domain::DIAGONALS, topology.diagonals.lines.len())
        .with_self_collision(&mesh, settings.self_collision.as_ref())
        .with(Domain::FILTERED, filtered);
    let mut fields = Fields::new(sizes, stages::fields(&settings)?)?;
    fields.get_mut("edges")?.copy_from_slice(&topology.yarns.edges);
    for (span, yarn) in fields.get_mut::<YarnRow>("yarns")?.iter_mut().zip(&topology.yarns.yarns) {
        let count = yarn.edges.end - yarn.edges.start;
        let first = yarn.edges.start;
        *span = YarnRow { first, count, closed: yarn.closed.into(), whole_first: first, whole_count: count };
    }
    let resolution = resolution(&mesh, &start);
    let mut least_limit = f32::INFINITY;
    for (word, edge) in fields.get_mut::<f32>("edge_limits")?.iter_mut().zip(&topology.yarns.canonical) {
        *word = limit_word(mesh.edge_limits().get(*edge as usize).copied().unwrap_or_default(), resolution);
        least_limit = if *word == 0.0 { least_limit } else { least_limit.min(word.abs()) };
    }
    law::fill(mesh.edge_kinds(), &topology.yarns.canonical, &mut fields)?;
    windows::fill(&topology.windows, &topology, &mut fields)?;
    diagonals::fill(&topology.diagonals, &mut fields)?;
    fields.get_mut("springs")?.copy_from_slice(mesh.springs());
    fields.get_mut::<u32>("edge_incidence")?.copy_from_slice(topology.edge_incidence.words());
    fields.get_mut::<u32>("spring_incidence")?.copy_from_slice(&spring_incidence);
    fields.get_mut::<u32>("colored_edges")?.copy_from_slice(&topology.coloring.colored_edges);
    fields.get_mut::<u32>("triangles")?.copy_from_slice(&triangles);
    fields.get_mut::<u32>("triangle_incidence")?.copy_from_slice(triangle_incidence.words());
    fields.get_mut::<u32>("bend_incidence")?.copy_from_slice(&bend_incidence);
    for (row, hinge) in fields.get_mut::<HingeRow>("hinges")?.iter_mut().zip(mesh.hinges()) {
        let Hinge { vertices, rest, stiffness } = *hinge;
        *row = HingeRow { vertices: vertices.into(), rest, stiffness, ..HingeRow::default() };
    }
    fields.get_mut::<[f32; 4]>("holds")?.fill(FREE);
    fields.get_mut::<[f32; 4]>("constraints")?.fill(FREE);
    fields.get_mut::<f32>("distances")?.copy_from_slice(&distances);
    for (stored, area) in fields.get_mut::<f32>("rest_areas")?.iter_mut().zip(rest_areas(&mesh)) {
        *stored = area;
    }
    for (stored, shape) in fields.get_mut::<[f32; 4]>("triangle_shapes")?.iter_mut().zip(shape_matching::shapes(&mesh))
    {
        *stored = shape;
    }
    if let Some(own) = &settings.self_collision {
        self_collision::fill(&mesh, &start, own, &mut fields)?;
    }
    write_state(&mut fields, &mesh, &start, &vec![[0.0; 3]; start.len()])?;
    let mut pinned = vec![false; mesh.vertex_count()];
    for pin in mesh.pins() {
        pinned[*pin as usize] = true;
    }
    let (mean_mass, lightness, shortest) = (mean_mass(&mesh), lightness(&mesh), shortest(&mesh));
    let basis =
        Basis { mesh, topology, start, pinned, step_bounds, mean_mass, lightness, resolution, least_limit, shortest };
    let basis = Arc::new(basis);
    // The first recording is for a frame of 1/60 s; a step that is too large is an error of the step that asks for it.
    let plan = settings.plan(&basis.step_bounds.among(!solids.is_empty(), false), 1.0 / 60.0).unwrap_or_default();
    let recorded = first(&basis, &settings, fields.sizes()).record(plan, None)?;
    Ok((basis, solids, settings, fields, recorded))
}

/// Moves the free vertices of an exactly plane sheet out of its plane, by up to a thousandth of its shortest edge,
/// where gravity lies in the plane. No force would ever move them out, and in a plane a net of uneven quads is nearly
/// rigid: it locks where cloth buckles.
fn ruffle(mesh: &Mesh, start: &mut [[f32; 3]], gravity: [f32; 3]) {
    let at = |point: &[f32; 3]| DVec3::from_array(point.map(f64::from));
    let first = at(&start[0]);
    let farthest = |distance: &dyn Fn(DVec3) -> DVec3| {
        let offsets = start.iter().map(|point| distance(at(point) - first));
        offsets.max_by(|a, b| a.length_squared().total_cmp(&b.length_squared())).unwrap_or_default()
    };
    let along = farthest(&|offset| offset);
    let normal = farthest(&|offset| along.cross(offset)).normalize_or_zero();
    let (extent, gravity) = (along.length(), DVec3::from_array(gravity.map(f64::from)));
    let plane = start.iter().all(|point| (at(point) - first).dot(normal).abs() <= 1e-7 * extent);
    if !plane || normal == DVec3::ZERO || gravity == DVec3::ZERO || normal.dot(gravity).abs() > 1e-3 * gravity.length()
    {
        return;
    }
    let shortest = mesh.edges().iter().fold(f64::INFINITY, |least, edge| least.min(edge.rest.into()));
    for ((point, w), vertex) in start.iter_mut().zip(mesh.inverse_masses()).zip(1u32..) {
        if w > 0.0 {
            // Well spread over −1 … 1, and the same in every run.
            let part = f64::from(vertex.wrapping_mul(0x9e37_79b9) >> 8) / f64::from(1u32 << 23) - 1.0;
            *point = (at(point) + 1e-3 * shortest * part * normal).as_vec3().to_array();
        }
    }
}

/// The bending of each vertex: other end and weight of its pairs, or its corners of hinges.
fn bend_incidence(mesh: &Mesh) -> Vec<u32> {
    let mut entries = Vec::new();
    if mesh.hinges().is_empty() {
        for Pair { ends: [a, b], weight } in mesh.bending_pairs() {
            entries.extend([(*a, [*b, weight.to_bits()]), (*b, [*a, weight.to_bits()])]);
        }
        return Incidence::of_words(mesh.vertex_count(), &entries, 2);
    }
    for (index, hinge) in mesh.hinges().iter().enumerate() {
        for (corner, vertex) in hinge.vertices.iter().enumerate() {
            entries.push((*vertex, [(4 * index + corner) as u32, 0]));
        }
    }
    Incidence::of_words(mesh.vertex_count(), &entries, 1)
}
