//! Cloth that meets itself.

use std::f64::consts::{PI, TAU};

use super::{COTTON_BENDING, Key, Motion, PinGroup, Scene, check_size};
use crate::cloth::hold::Hold;
use crate::error::Result;
use crate::mesh::{Mesh, MeshDescriptor};
use crate::solid::{Pose, Solid, SolidShape};
use crate::stage::self_collision::SelfCollision;

/// Thickness of the cloth of these scenes \[m\].
const THICKNESS: f32 = 0.004;
/// Layers of [`stack`].
const LAYERS: u32 = 6;

/// A sheet of `columns` × `rows` vertices, `edge` m apart, in the XZ plane.
fn cotton(columns: u32, rows: u32, edge: f64, pins: Vec<u32>) -> MeshDescriptor {
    let position = |z: u32, x: u32| [(f64::from(x) * edge) as f32, 0.0, (f64::from(z) * edge) as f32];
    let quad = |z: u32, x: u32| {
        let corner = z * columns + x;
        [corner, corner + columns, corner + columns + 1, corner + 1].into()
    };
    MeshDescriptor {
        positions: (0..rows).flat_map(|z| (0..columns).map(move |x| position(z, x))).collect(),
        faces: (1..rows).flat_map(|z| (1..columns).map(move |x| quad(z - 1, x - 1))).collect(),
        pins,
        bending: COTTON_BENDING,
        ..Default::default()
    }
}

/// A scene whose cloth keeps from passing through itself.
fn scene(name: &'static str, mesh: Mesh, start: Vec<[f32; 3]>) -> Scene {
    let mut scene = Scene::new(name, mesh, start);
    scene.settings.self_collision = Some(SelfCollision { thickness: THICKNESS, ..Default::default() });
    scene.settings.damping = 0.002;
    scene.settings.drag = 0.5;
    scene
}

/// Ground at y = 0.
fn ground() -> Solid {
    Solid { thickness: 0.5 * THICKNESS, friction: 0.3, sliding_friction: 0.3, ..Solid::new(SolidShape::Plane) }
}

/// An upright sheet of 1 m with `size` vertices per side that falls on its lower edge and ends in a heap.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn heap(size: u32) -> Result<Scene> {
    check_size("heap", size, 3)?;
    let mesh = Mesh::new(cotton(size, size, 1.0 / f64::from(size - 1), Vec::new()))?;
    // Waves of a few millimetres, so that it does not stand.
    let upright = |[x, _, z]: &[f32; 3]| [*x, z + 0.02, 0.003 * (9.0 * z + 3.0 * x).sin() * (0.3 + z)];
    let start = mesh.positions().iter().map(upright).collect();
    let mut scene = scene("heap", mesh, start);
    scene.solids.push(ground());
    Ok(scene)
}

/// A flat sheet of 1 m whose row z = 0 is led over to the other side within 0.8 s and let go.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn fold(size: u32) -> Result<Scene> {
    check_size("fold", size, 3)?;
    let mesh = Mesh::new(cotton(size, size, 1.0 / f64::from(size - 1), Vec::new()))?;
    let start: Vec<[f32; 3]> = mesh.positions().iter().map(|[x, _, z]| [*x, 0.003, *z]).collect();
    let key = |step: u32| {
        let part = f64::from(step) / 16.0;
        let angle = 0.97 * PI * part;
        let translation = [0.0, 0.45 * angle.sin() + 0.004 * part, 0.45 * (1.0 - angle.cos())].map(|x| x as f32);
        Key { time: 0.8 * part, pose: Pose { translation, ..Pose::default() } }
    };
    let row: Vec<u32> = (0..size).collect();
    let mut led = PinGroup::new(&row, &start)?;
    led.hold = Some(Hold::Fixed);
    led.until = Some(0.8);
    led.motion = Some(Motion::new((1..=16).map(key).collect(), false)?);
    let mut scene = scene("fold", mesh, start);
    scene.solids.push(ground());
    scene.script.pins.push(led);
    Ok(scene)
}

/// Six sheets of half a metre that fall on each other; `size` vertices would be 1 m.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn stack(size: u32) -> Result<Scene> {
    check_size("stack", size, 4)?;
    let side = size / 2;
    let mut meshes = Vec::new();
    let mut start = Vec::new();
    for layer in 0..LAYERS {
        let mesh = Mesh::new(cotton(side, side, 1.0 / f64::from(size - 1), Vec::new()))?;
        let above = layer as f32;
        let place = |[x, _, z]: &[f32; 3]| [x + 0.01 * above, 0.01 + 0.02 * above, z + 0.007 * above];
        start.extend(mesh.positions().iter().map(place));
        meshes.push(mesh);
    }
    let mut scene = scene("stack", Mesh::joined(meshes)?, start);
    scene.solids.push(ground());
    Ok(scene)
}

/// A sheet of 0.6 m that falls, askew, on one of 1 m that hangs slack from its corners.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn sheets(size: u32) -> Result<Scene> {
    check_size("sheets", size, 5)?;
    let edge = 1.0 / f64::from(size - 1);
    let corners = vec![0, size - 1, size * (size - 1), size * size - 1];
    let lower = Mesh::new(cotton(size, size, edge, corners))?;
    let upper = Mesh::new(cotton((3 * size) / 5, (3 * size) / 5, edge, Vec::new()))?;
    // Shrunk towards its middle by 1 %, which is within the limit, and bulging.
    let slack = |[x, _, z]: &[f32; 3]| {
        let along = |x: f32| 0.5 + 0.99 * (x - 0.5);
        [along(*x), -0.08 * (PI as f32 * x).sin() * (PI as f32 * z).sin(), along(*z)]
    };
    let mut start: Vec<[f32; 3]> = lower.positions().iter().map(slack).collect();
    let (sin, cos) = (0.5f32, 0.75f32.sqrt());
    start.extend(upper.positions().iter().map(|[x, _, z]| {
        let (a, b) = (x - 0.3, z - 0.3);
        [0.5 + cos * a - sin * b, 0.2 + 0.1 * a, 0.5 + sin * a + cos * b]
    }));
    Ok(scene("sheets", Mesh::joined([lower, upper])?, start))
}

/// A strip of 0.4 m × 0.8 m that hangs upright; its upper row is turned about the vertical four times within 4 s, its
/// lower row may only rise.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn twist(size: u32) -> Result<Scene> {
    check_size("twist", size, 3)?;
    let rows = 2 * size;
    let edge = 0.4 / f64::from(size - 1);
    let upper: Vec<u32> = (0..size).collect();
    let lower: Vec<u32> = (size * (rows - 1)..size * rows).collect();
    let mesh = Mesh::new(cotton(size, rows, edge, upper.clone()))?;
    let start: Vec<[f32; 3]> = mesh.positions().iter().map(|[x, _, z]| [x - 0.2, 1.0 - z, 0.0]).collect();
    let key = |quarter: u32| {
        let half = 0.5 * TAU * f64::from(quarter) / 4.0;
        let rotation = [0.0, half.sin() as f32, 0.0, half.cos() as f32];
        Key { time: f64::from(quarter) / 4.0, pose: Pose { rotation, ..Pose::default() } }
    };
    let mut turned = PinGroup::new(&upper, &start)?;
    turned.motion = Some(Motion::new((1..=16).map(key).collect(), false)?);
    let mut raised = PinGroup::new(&lower, &start)?;
    raised.hold = Some(Hold::Line { direction: [0.0, 1.0, 0.0] });
    let mut scene = scene("twist", mesh, start);
    scene.script.pins.extend([turned, raised]);
    Ok(scene)
}
