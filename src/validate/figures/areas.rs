//! Limited areas: triangles without edges or springs, scaled about their centroids.

use super::super::Failure;
use super::super::subjects::FRAME;
use super::Named;
use super::trial::{Trial, bits, step};
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Substeps;
use crate::error::Result;
use crate::mesh::{EdgeKind, EdgeOverride, Face, Mass, Mesh, MeshDescriptor};
use crate::scene::Scene;
use glam::DVec3;

pub(super) const FIGURES: &[Named] = &[
    ("too-large", too_large),
    ("too-small", too_small),
    ("pins-stay", pins_stay),
    ("a-vertex-takes-the-mean", a_vertex_takes_the_mean),
];

const REST: [[f32; 3]; 3] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
const LARGE: [[f32; 3]; 3] = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1.0, 0.0]];

/// Triangles whose edges are free.
fn loose(
    positions: &[[f32; 3]],
    faces: &[[u32; 3]],
    masses: &[f32],
    pins: &[u32],
    start: &[[f32; 3]],
) -> Result<Scene> {
    let mut ends: Vec<[u32; 2]> = faces.iter().flat_map(|[a, b, c]| [[*a, *b], [*b, *c], [*c, *a]]).collect();
    ends.iter_mut().for_each(|ends| ends.sort_unstable());
    ends.sort_unstable();
    ends.dedup();
    let mesh = Mesh::new(MeshDescriptor {
        positions: positions.to_vec(),
        faces: faces.iter().map(|face| Face::Triangle(*face)).collect(),
        mass: Mass::PerVertex(masses.to_vec()),
        pins: pins.to_vec(),
        overrides: ends.into_iter().map(|ends| EdgeOverride { ends, kind: EdgeKind::Free, rest: None }).collect(),
        ..Default::default()
    })?;
    Ok(Scene::new("triangles", mesh, start.to_vec()))
}

fn triangle(rest: [[f32; 3]; 3], masses: [f32; 3], pins: &[u32], start: [[f32; 3]; 3]) -> Result<Scene> {
    loose(&rest, &[[0, 1, 2]], &masses, pins, &start)
}

/// Positions after one substep without gravity.
fn limited(trial: &Trial<'_>, scene: Scene, limit: [f32; 2]) -> Result<Vec<[f32; 3]>> {
    let settings =
        Settings { area_limit: Some(limit), gravity: [0.0; 3], substeps: Substeps::Fixed(1), ..Default::default() };
    let mut cloth = trial.cloth(scene, settings)?;
    step(&mut cloth, FRAME)?;
    Ok(cloth.snapshot()?.positions)
}

fn wide(point: [f32; 3]) -> DVec3 {
    DVec3::from_array(point.map(f64::from))
}

fn area(corners: &[[f32; 3]]) -> f64 {
    let [a, b, c] = [0, 1, 2].map(|k| wide(corners[k]));
    0.5 * (b - a).cross(c - a).length()
}

/// s = √(0.5/1) about the centroid (2/3, 1/2): (0,0), (2,0), (0,1) with masses 1, 2, 3, where the area may be 0.5.
fn too_large(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let corners = limited(trial, triangle(REST, [1.0, 2.0, 3.0], &[], LARGE)?, [0.0, 1.0])?;
    trial.near("the area [m²]", area(&corners), 0.5, 1e-6)?;
    let centroid: DVec3 = corners.iter().zip([1.0, 2.0, 3.0]).map(|(x, m)| m / 6.0 * wide(*x)).sum();
    trial.near_all("the centroid [m]", &centroid.to_array(), &[2.0 / 3.0, 0.5, 0.0], 1e-6)?;
    // √0.5 = 0.70711.
    let expected = LARGE.map(|start| (centroid + 0.5f64.sqrt() * (wide(start) - centroid)).to_array());
    trial.near_points("the corners [m]", &corners, &expected, 1e-6)
}

/// Half of its area 1, of which 0.72 is the least: s = 1.2. One in the band does not grow, a sliver no more than
/// twofold.
fn too_small(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let corners = limited(trial, triangle(LARGE, [1.0; 3], &[], REST)?, [0.72, 1.0])?;
    trial.near("the area [m²]", area(&corners), 0.72, 1e-6)?;
    let untouched = limited(trial, triangle(LARGE, [1.0; 3], &[], REST)?, [0.5, 1.0])?;
    trial.holds(bits(&untouched) == bits(&REST), "one in the band moved")?;
    let sliver = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1e-6, 0.0]];
    let corners = limited(trial, triangle(LARGE, [1.0; 3], &[], sliver)?, [0.9, 1.1])?;
    trial.near("the length of a sliver [m]", f64::from(corners[1][0]) - f64::from(corners[0][0]), 4.0, 1e-5)
}

/// About one pin the area is reached; between two, only one corner can give way.
fn pins_stay(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let one = limited(trial, triangle(REST, [1.0, 2.0, 3.0], &[1], LARGE)?, [0.0, 1.0])?;
    trial.holds(bits(&one)[1] == bits(&LARGE)[1], "the pin moved")?;
    trial.near("about one pin [m²]", area(&one), 0.5, 1e-6)?;
    let two = limited(trial, triangle(REST, [1.0, 2.0, 3.0], &[0, 1], LARGE)?, [0.0, 1.0])?;
    trial.holds(bits(&two)[..2] == bits(&LARGE)[..2], "one of two pins moved")?;
    trial.near("between two pins [m²]", area(&two), 0.5f64.sqrt(), 1e-6)?;
    let three = limited(trial, triangle(REST, [1.0; 3], &[0, 1, 2], LARGE)?, [0.0, 1.0])?;
    trial.holds(bits(&three) == bits(&LARGE), "one of three pins moved")
}

/// Two triangles with a common side: the first is twice too large, the second is content, so the side goes half the
/// way.
fn a_vertex_takes_the_mean(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let rest = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]];
    let mut start = rest;
    start[2] = [0.0, 2.0, 0.0];
    let scene = loose(&rest, &[[0, 1, 2], [0, 3, 1]], &[1.0; 4], &[], &start)?;
    let corners = limited(trial, scene, [0.5, 1.0])?;
    let centroid = DVec3::new(1.0 / 3.0, 2.0 / 3.0, 0.0);
    let part = [0.5, 0.5, 1.0, 0.0];
    let expected = [0, 1, 2, 3].map(|v| {
        let from = wide(start[v]);
        (from + part[v] * (1.0 - 0.5f64.sqrt()) * (centroid - from)).to_array()
    });
    trial.near_points("the corners [m]", &corners, &expected, 1e-6)
}
