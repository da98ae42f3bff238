//! Cloth that meets itself.

use std::f64::consts::{PI, TAU};
use std::sync::{Arc, OnceLock};

use super::{COTTON_BENDING, Key, Motion, PinGroup, Scene, check_size};
use crate::cloth::hold::Hold;
use crate::error::Result;
use crate::mesh::{Mass, Mesh, MeshDescriptor};
use crate::solid::{self, Grid, Pose, Solid, SolidShape};
use crate::stage::self_collision::SelfCollision;

/// Thickness of the cloth of these scenes \[m\].
const THICKNESS: f32 = 0.004;
/// Smallest size of these scenes: their smallest parts have four vertices per side then.
const LEAST: u32 = 8;
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
    check_size("heap", size, LEAST)?;
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
    check_size("fold", size, LEAST)?;
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
    check_size("stack", size, LEAST)?;
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
    check_size("sheets", size, LEAST)?;
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

/// A sheet of 1 m that lies on a ring with a hole of 8 cm radius, and is pulled through it by its middle within 2 s.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn ring(size: u32) -> Result<Scene> {
    check_size("ring", size, LEAST)?;
    let mesh = Mesh::new(cotton(size, size, 1.0 / f64::from(size - 1), Vec::new()))?;
    let start: Vec<[f32; 3]> = mesh.positions().iter().map(|[x, _, z]| [*x, TUBE + 0.005, *z]).collect();
    let middle = size / 2 * (size + 1);
    let mut pulled = PinGroup::new(&[middle], &start)?;
    pulled.hold = Some(Hold::Fixed);
    let below = Pose { translation: [0.0, -1.0, 0.0], ..Pose::default() };
    pulled.motion = Some(Motion::new(vec![Key { time: 2.0, pose: below }], false)?);
    let torus = Solid::new(SolidShape::Grid(torus()?)).at([start[middle as usize][0], 0.0, start[middle as usize][2]]);
    let mut scene = scene("ring", mesh, start);
    // What goes through fills a third of the hole so, and not two.
    scene.settings.self_collision = scene.settings.self_collision.map(|own| SelfCollision { thickness: 0.002, ..own });
    scene.solids.push(Solid { thickness: 0.002, friction: 0.1, sliding_friction: 0.1, ..torus });
    scene.script.pins.push(pulled);
    Ok(scene)
}

/// Radius of the tube of the torus of [`ring`] \[m\].
const TUBE: f32 = 0.03;

/// The torus of [`ring`].
fn torus() -> Result<Arc<Grid>> {
    // Baking takes longer than everything else about the scene: once is enough.
    static TORUS: OnceLock<Arc<Grid>> = OnceLock::new();
    if let Some(grid) = TORUS.get() {
        return Ok(grid.clone());
    }
    let baked = Arc::new(Grid::bake(&solid::torus(0.08 + TUBE, TUBE, 48), 64, 1 << 26)?);
    Ok(TORUS.get_or_init(|| baked).clone())
}

/// A tube of 0.6 m, `size` vertices around, on an arm of 4.5 cm radius; one of its ends is pushed towards the other
/// until half of that length is left, within 1.5 s.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn sleeve(size: u32) -> Result<Scene> {
    check_size("sleeve", size, LEAST)?;
    let radius = 0.062;
    // Chords, not arcs, are as long as the edges along the arm.
    let edge = 2.0 * radius * (PI / f64::from(size)).sin();
    let rows = (8 * size) / 5;
    let length = edge * f64::from(rows - 1);
    let position = |row: u32, column: u32| {
        let (sin, cos) = (TAU * f64::from(column) / f64::from(size)).sin_cos();
        [edge * f64::from(row) - 0.5 * length, radius * cos, radius * sin].map(|x| x as f32)
    };
    let quad = |row: u32, column: u32| {
        let corner = |row: u32, column: u32| row * size + column % size;
        [corner(row, column), corner(row, column + 1), corner(row + 1, column + 1), corner(row + 1, column)].into()
    };
    let mesh = Mesh::new(MeshDescriptor {
        positions: (0..rows).flat_map(|row| (0..size).map(move |column| position(row, column))).collect(),
        faces: (1..rows).flat_map(|row| (0..size).map(move |column| quad(row - 1, column))).collect(),
        bending: COTTON_BENDING,
        ..Default::default()
    })?;
    let start = mesh.positions().to_vec();
    let mut held = PinGroup::new(&(0..size).collect::<Vec<u32>>(), &start)?;
    held.hold = Some(Hold::Fixed);
    let mut pushed = PinGroup::new(&(size * (rows - 1)..size * rows).collect::<Vec<u32>>(), &start)?;
    pushed.hold = Some(Hold::Fixed);
    let half = Pose { translation: [(-0.5 * length) as f32, 0.0, 0.0], ..Pose::default() };
    pushed.motion = Some(Motion::new(vec![Key { time: 1.5, pose: half }], false)?);
    let mut scene = scene("sleeve", mesh, start);
    // A quarter of a turn about z: along x.
    let pose = Pose { rotation: [0.0, 0.0, 0.5_f32.sqrt(), 0.5_f32.sqrt()], ..Pose::default() };
    let arm = Solid::new(SolidShape::Capsule { radius: 0.045, half_length: 0.5 });
    // Cloth that does not stretch folds inwards: at the end it fills a quarter of what is left between arm and tube.
    // Where it fills seven tenths, of 4 mm on an arm of 5 cm, it is jammed, and three quarters of the frames miss their
    // limit.
    let thickness = 0.002;
    scene.settings.self_collision = scene.settings.self_collision.map(|own| SelfCollision { thickness, ..own });
    scene.solids.push(Solid { pose, thickness: 0.5 * thickness, friction: 0.2, sliding_friction: 0.2, ..arm });
    scene.script.pins.extend([held, pushed]);
    Ok(scene)
}

/// A strip of 0.2 m × 1 m that hangs upright with a weight of 50 g; its upper row is turned about the vertical four
/// times within 4 s, its lower row may only rise.
///
/// A wider one without a weight gathers below the row that is turned, which is then driven through it: of 0.4 m × 0.8 m
/// and 8 vertices across, 16 of 213 frames have crossings.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn twist(size: u32) -> Result<Scene> {
    check_size("twist", size, LEAST)?;
    let rows = 5 * (size - 1) + 1;
    let edge = 0.2 / f64::from(size - 1);
    let upper: Vec<u32> = (0..size).collect();
    let lower: Vec<u32> = (size * (rows - 1)..size * rows).collect();
    let strip = cotton(size, rows, edge, upper.clone());
    let mut masses = Mesh::new(strip.clone())?.masses().to_vec();
    for vertex in &lower {
        masses[*vertex as usize] += 0.05 / size as f32;
    }
    let mesh = Mesh::new(MeshDescriptor { mass: Mass::PerVertex(masses), ..strip })?;
    let start: Vec<[f32; 3]> = mesh.positions().iter().map(|[x, _, z]| [x - 0.1, 1.0 - z, 0.0]).collect();
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
