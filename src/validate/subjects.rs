//! Cloths in motion that use everything there is.

use std::sync::Arc;

use super::Failure;
use crate::cloth::filter::{Filter, FilterSettings};
use crate::cloth::hold::Hold;
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Substeps;
use crate::cloth::{Cloth, FrameInput, PinTarget};
use crate::engine::program::Kernel;
use crate::error::Result;
use crate::mesh::{EdgeKind, EdgeOverride, Mesh, MeshDescriptor, Swatch};
use crate::scene::{self, Scene};
use crate::solid::Pose;
use crate::solid::{Grid, Solid, SolidShape, icosphere};
use crate::solver::{Assignment, FastProjection, Method, Variant, YarnSweep};
use crate::stage::contact::Contact;
use crate::stage::elastic::Elasticity;
use crate::stage::integrate::Stepping;
use crate::stage::self_collision::{SelfCollision, Tangles};
use crate::stage::volume::enclosed;
use crate::stage::wind::Wind;

/// Length of a frame \[s\].
pub(super) const FRAME: f32 = 1.0 / 60.0;

/// The built-in solvers by their names, then those of their variants whose parameters can be set.
pub fn solvers() -> Vec<(&'static str, Method)> {
    let standard = || Method::NAMES.into_iter().zip(Method::all());
    let variants = standard().flat_map(|(_, method)| {
        let varied = |variant: &Variant| Some((variant.name, with(method.clone(), variant.set).ok()?));
        method.solver().variants().iter().filter_map(varied).collect::<Vec<_>>()
    });
    standard().chain(variants).collect()
}

/// The solver of a name that [`solvers`] lists.
pub fn method(name: &str) -> Option<Method> {
    solvers().into_iter().find_map(|(listed, method)| (listed == name).then_some(method))
}

/// A built-in kernel by its name, as a recording has it.
///
/// # Errors
/// That no solver records one of that name.
pub fn kernel(name: &str) -> Result<&'static Kernel, Failure> {
    for (_, method) in solvers() {
        let cloth = Cloth::on_cpu(scene::hang(5)?.with_settings(Settings { method, ..Default::default() }))?;
        let found = cloth.program().dispatches().into_iter().find(|dispatch| dispatch.kernel.name == name);
        if let Some(dispatch) = found {
            return Ok(dispatch.kernel);
        }
    }
    Err(Failure::new(format!("no solver records a kernel {name}")))
}

/// A solver with some of its parameters set.
pub(super) fn with(mut method: Method, set: &[Assignment]) -> Result<Method, String> {
    for (parameter, value) in set {
        method.set(parameter, value)?;
    }
    Ok(method)
}

/// A cloth on the CPU somewhere in the middle of its motion, with every input of a frame in use: turned, pushed, a pin
/// driven.
///
/// # Errors
/// As [`Cloth::on_cpu`] and [`Cloth::step`].
pub fn moving(scene: Scene, settings: Settings) -> Result<Cloth> {
    let pinned = scene.mesh.pins().first().copied();
    let free = (0..scene.mesh.vertex_count() as u32).find(|vertex| !scene.mesh.pins().contains(vertex));
    let settings = Settings { substeps: Substeps::Fixed(4), strain_limit: 1e-3, drag: 0.1, ..settings };
    let mut cloth = Cloth::on_cpu(scene.with_settings(settings))?;
    for _ in 0..6 {
        cloth.step(&FrameInput { dt: FRAME, ..Default::default() })?;
    }
    cloth.teleport(Pose { rotation: [0.0, 0.6, 0.0, 0.8], translation: [0.1, 0.2, 0.3] })?;
    if let Some(free) = free {
        cloth.add_impulse(free, [1e-4, 2e-4, 0.0])?;
    }
    let targets: Vec<PinTarget> =
        pinned.into_iter().map(|vertex| PinTarget { vertex, position: [0.1, 0.2, 0.3] }).collect();
    cloth.step(&FrameInput { dt: FRAME, pin_targets: &targets })?;
    Ok(cloth)
}

/// A curved sheet with hinges, and faces of other limits, among solids of every kind that move, with every kind of
/// hold; on the CPU.
///
/// # Errors
/// As [`Cloth::on_cpu`].
pub fn crowded(size: u32, settings: Settings) -> Result<Cloth> {
    let flat = scene::sheet(size)?.mesh;
    let bent = |[x, _, z]: &[f32; 3]| [0.5 + 0.5 * (x - 0.5).sin(), 0.5 * (x - 0.5).cos(), *z];
    let start: Vec<[f32; 3]> = flat.positions().iter().map(bent).collect();
    // The fabric of all, but for the limits: one row of faces looser, one tighter.
    let row = |number: u32, limit: f32| {
        let faces = (number * (size - 1)..(number + 1) * (size - 1)).collect();
        Swatch { faces, density: 0.2, shear: 20.0, stretch: None, bending: 1e-3, strain_limit: Some(limit) }
    };
    let mesh = Mesh::new(MeshDescriptor {
        swatches: vec![row(0, 0.03), row(1, 0.005)],
        positions: start.clone(),
        faces: flat.faces().to_vec(),
        bending: 1e-3,
        curved: true,
        ..Default::default()
    })?;
    let mut scene = Scene::new("crowded", mesh, start);
    let grid = Grid::bake(&icosphere(0.2, 2), 16, 1 << 20)?;
    for (number, (shape, at)) in [
        (SolidShape::Sphere { radius: 0.2 }, [0.3, 0.27, 0.3]),
        (SolidShape::Capsule { radius: 0.1, half_length: 0.2 }, [0.7, 0.17, 0.7]),
        (SolidShape::Box { half: [0.1, 0.15, 0.2] }, [0.7, 0.32, 0.2]),
        (SolidShape::Grid(Arc::new(grid)), [0.3, 0.27, 0.7]),
        (SolidShape::Plane, [0.0, -0.2, 0.0]),
    ]
    .into_iter()
    .enumerate()
    {
        let turn = 0.3 * number as f32;
        scene.solids.push(Solid {
            velocity: [0.1, 0.2, -0.1],
            angular_velocity: [turn, 0.5, -turn],
            thickness: 0.01,
            restitution: 0.2 * number as f32,
            ..Solid::new(shape).at(at)
        });
    }
    let mut cloth = Cloth::on_cpu(scene.with_settings(settings))?;
    cloth.hold(&[0], Hold::Fixed)?;
    cloth.hold(&[size - 1], Hold::Line { direction: [1.0, 2.0, 0.5] })?;
    cloth.hold(&[size * size - 1, size * size - size], Hold::Plane { normal: [0.1, 1.0, 0.3] })?;
    cloth.hold(&[size / 2, size * size / 2], Hold::Soft { stiffness: 20.0 })?;
    Ok(cloth)
}

/// A hung sheet whose edges have every law that there is: stripes of fabrics that stretch, more and less, beside one
/// that does not, some threads of ropes, some of springs with ends, across all of them; in motion, on the CPU.
///
/// # Errors
/// As [`Cloth::on_cpu`] and [`Cloth::step`].
pub fn lawful(size: u32, settings: Settings) -> Result<Cloth> {
    let hung = scene::hang(size)?;
    let stripe = |number: u32, stretch: f32| {
        let faces = (0..(size - 1).pow(2)).filter(|face| face % (size - 1) % 4 == number).collect();
        Swatch { faces, density: 0.2, shear: 20.0, stretch: Some(stretch), bending: 0.0, strain_limit: None }
    };
    let row = |number: u32, kind: EdgeKind| {
        let from = number * size;
        (from..from + size - 1).map(move |tail| EdgeOverride { ends: [tail, tail + 1], kind, rest: None })
    };
    let limited = EdgeKind::Limited { stiffness: 40.0, min: 0.95, max: 1.05 };
    let mesh = Mesh::new(MeshDescriptor {
        positions: hung.mesh.positions().to_vec(),
        faces: hung.mesh.faces().to_vec(),
        pins: hung.mesh.pins().to_vec(),
        swatches: vec![stripe(0, 30.0), stripe(2, 2000.0)],
        overrides: row(2, EdgeKind::Rope).chain(row(4, limited)).collect(),
        ..Default::default()
    })?;
    moving(Scene { mesh, ..hung }, settings)
}

/// A flat sheet that has lain on the ground for so long that its vertices are at rest, though the ground creeps; on the
/// CPU.
///
/// # Errors
/// As [`Cloth::on_cpu`] and [`Cloth::step`].
pub fn resting(size: u32, settings: Settings) -> Result<Cloth> {
    let mut scene = scene::sheet(size)?;
    let ground = Solid::new(SolidShape::Plane).at([0.0, -0.01, 0.0]);
    scene.solids.push(Solid { thickness: 0.01, friction: 0.5, velocity: [0.004, 0.0, -0.002], ..ground });
    let mut cloth =
        Cloth::on_cpu(scene.with_settings(Settings { substeps: Substeps::Fixed(4), drag: 0.5, ..settings }))?;
    for _ in 0..30 {
        cloth.step(&FrameInput { dt: FRAME, ..Default::default() })?;
    }
    Ok(cloth)
}

/// A flat sheet in the frame before it first touches the ball below; on the CPU.
///
/// # Errors
/// As [`Cloth::on_cpu`] and [`Cloth::step`].
pub fn landing(size: u32, settings: Settings) -> Result<Cloth> {
    let settings = Settings { substeps: Substeps::Fixed(4), ..settings };
    let mut cloth = Cloth::on_cpu(scene::drape(size)?.with_settings(settings.clone()))?;
    let mut ahead = Cloth::on_cpu(scene::drape(size)?.with_settings(settings))?;
    ahead.step(&FrameInput { dt: FRAME, ..Default::default() })?;
    for _ in 0..60 {
        if touches(&ahead)? {
            break;
        }
        ahead.step(&FrameInput { dt: FRAME, ..Default::default() })?;
        cloth.step(&FrameInput { dt: FRAME, ..Default::default() })?;
    }
    Ok(cloth)
}

/// Sheets that lie on each other, in a frame in which they press, a corner held; on the CPU.
///
/// # Errors
/// As [`Cloth::on_cpu`] and [`Cloth::step`].
pub fn heaped(size: u32, settings: Settings) -> Result<Cloth> {
    let scene = scene::stack(2 * size.max(4))?;
    let settings = Settings {
        substeps: Substeps::Fixed(4),
        self_collision: settings.self_collision.or(scene.settings.self_collision),
        ..settings
    };
    let mut cloth = Cloth::on_cpu(scene.with_settings(settings))?;
    cloth.hold(&[0], Hold::Fixed)?;
    for _ in 0..6 {
        cloth.step(&FrameInput { dt: FRAME, ..Default::default() })?;
    }
    Ok(cloth)
}

/// The step of a velocity filter, on the CPU, between two pins that are led and vertices that are thrown about.
///
/// # Errors
/// As [`Filter::on_cpu`] and [`Filter::filter`].
pub fn filtering(size: u32, settings: FilterSettings) -> Result<Cloth> {
    let mesh = scene::hang(size)?.mesh;
    let positions = mesh.positions().to_vec();
    let mut filter = Filter::on_cpu(mesh, settings)?;
    // Well spread over −1 … 1 m/s, and the same in every run.
    let part = |word: u32| (word.wrapping_mul(0x9e37_79b9) >> 8) as f32 / (1u32 << 23) as f32 - 1.0;
    let mut velocities: Vec<[f32; 3]> =
        (0..positions.len() as u32).map(|v| [0, 1, 2].map(|axis| part(3 * v + axis + 1))).collect();
    filter.filter(&positions, &mut velocities, FRAME)?;
    Ok(filter.into_cloth())
}

/// Sheets that pass through each other, in a frame in which they are drawn apart, a corner held; on the CPU.
///
/// # Errors
/// As [`Cloth::on_cpu`] and [`Cloth::step`].
pub fn tangled(size: u32) -> Result<Cloth> {
    let mut scene = scene::stack(2 * size.max(4))?;
    // Every second one of the sheets, which are 20 mm apart, is tilted by 7°.
    let vertices = size.max(4).pow(2) as usize;
    for place in scene.start.chunks_mut(vertices).skip(1).step_by(2).flatten() {
        place[1] += 0.12 * (place[0] - 0.2) + 0.03 * place[2];
    }
    let own = scene.settings.self_collision.map(|own| SelfCollision { tangles: Tangles::Resolve, ..own });
    let settings = Settings { substeps: Substeps::Fixed(4), self_collision: own, ..Default::default() };
    let mut cloth = Cloth::on_cpu(scene.with_settings(settings))?;
    cloth.hold(&[0], Hold::Fixed)?;
    for _ in 0..2 {
        cloth.step(&FrameInput { dt: FRAME, ..Default::default() })?;
    }
    Ok(cloth)
}

/// Sheets that meet so fast that a substep leads them farther than near parts are looked for: all ways are shortened; a
/// corner is held, on the CPU.
///
/// # Errors
/// As [`Cloth::on_cpu`] and [`Cloth::step`].
pub fn rushing(size: u32) -> Result<Cloth> {
    let scene = scene::stack(2 * size.max(4))?;
    let settings = Settings { substeps: Substeps::Fixed(2), ..scene.settings.clone() };
    let vertices = size.max(4).pow(2) as usize;
    let mut cloth = Cloth::on_cpu(scene.with_settings(settings))?;
    cloth.hold(&[0], Hold::Fixed)?;
    // They lie flat at the start, and distances are alike to the last bit.
    for _ in 0..6 {
        cloth.step(&FrameInput { dt: FRAME, ..Default::default() })?;
    }
    let positions = cloth.snapshot()?.positions;
    let velocity = |vertex: usize| [0.0, if (vertex / vertices).is_multiple_of(2) { 0.0 } else { -40.0 }, 0.0];
    let velocities: Vec<[f32; 3]> = (0..positions.len()).map(velocity).collect();
    cloth.set_state(&positions, &velocities)?;
    Ok(cloth)
}

/// A ball of cloth that gives, blown up to one and a half of its volume on the ground, a vertex held; on the CPU.
///
/// # Errors
/// As [`Cloth::on_cpu`] and [`Cloth::step`].
pub fn inflated(subdivisions: u32, settings: Settings) -> Result<Cloth> {
    let ball = icosphere(0.2, subdivisions);
    let mesh = Mesh::new(MeshDescriptor {
        positions: ball.positions().to_vec(),
        faces: ball.triangles().iter().map(|corners| (*corners).into()).collect(),
        ..Default::default()
    })?;
    let volume = Some(1.5 * enclosed(&mesh, mesh.positions()) as f32);
    let mut scene = Scene::new("inflated", mesh, ball.positions().to_vec());
    scene.solids.push(Solid::new(SolidShape::Plane).at([0.0, -0.21, 0.0]));
    let settings = Settings { volume, stretch_min: 0.5, stretch_max: 1.5, substeps: Substeps::Fixed(4), ..settings };
    let mut cloth = Cloth::on_cpu(scene.with_settings(settings))?;
    cloth.hold(&[0], Hold::Plane { normal: [0.0, 1.0, 0.0] })?;
    for _ in 0..6 {
        cloth.step(&FrameInput { dt: FRAME, ..Default::default() })?;
    }
    Ok(cloth)
}

/// Whether a vertex of a cloth on the CPU touched a solid in its last substep.
fn touches(cloth: &Cloth) -> Result<bool> {
    let Some(fields) = cloth.fields() else { return Ok(true) };
    Ok(fields.get::<Contact>("contacts")?.iter().any(|contact| contact.solid != 0))
}

/// Fast projection with a warm start, which is for motion without violence.
pub fn warm() -> Method {
    Method::FastProjection(FastProjection { warm_start: Some(1.0), ..Default::default() })
}

/// Four strings side by side in motion, of which one hangs between two pins, with geometric stiffness; on the CPU.
///
/// # Errors
/// As [`Cloth::on_cpu`] and [`Cloth::step`].
pub fn stiff(length: u32) -> Result<Cloth> {
    let place = |k: u32| [0.05 * (k % length) as f32, -0.1 * (k / length) as f32, 0.02 * (k % 3) as f32];
    let positions: Vec<_> = (0..4 * length).map(place).collect();
    let lines = (0..4 * length - 1).filter(|k| (k + 1) % length != 0).map(|k| [k, k + 1]).collect();
    // The first is free, the second hangs from its start, the third from its end, the last between two pins.
    let pins = vec![length, 3 * length - 1, 3 * length, 4 * length - 1];
    let mesh = Mesh::new(MeshDescriptor { positions: positions.clone(), lines, pins, ..Default::default() })?;
    let settings = Settings {
        method: Method::YarnSweep(YarnSweep { geometric_stiffness: true, ..Default::default() }),
        substeps: Substeps::Fixed(2),
        ..Default::default()
    };
    let mut cloth = Cloth::on_cpu(Scene::new("strings", mesh, positions).with_settings(settings))?;
    for _ in 0..10 {
        cloth.step(&FrameInput { dt: FRAME, ..Default::default() })?;
    }
    Ok(cloth)
}

/// Settings with the parts that the defaults do not use on small meshes.
pub fn everything_else() -> Settings {
    Settings {
        method: Method::YarnSweep(YarnSweep { chords_from: 0.0, ..Default::default() }),
        elasticity: Elasticity::Implicit,
        stepping: Stepping::Bdf2,
        substeps: Substeps::UpTo(6),
        ..Default::default()
    }
}

/// Gusts from aside, triangles that may not shear much, and the start of every frame kept.
pub fn windy() -> Settings {
    let wind = Wind { velocity: [2.0, 1.0, 5.0], gust: 0.5, ..Default::default() };
    Settings {
        wind: Some(wind),
        area_limit: Some([0.99, 1.01]),
        stretch_rate: Some(1e-3),
        keep_previous: true,
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solvers_and_their_variants_can_be_set_and_have_names_of_their_own() {
        let listed = solvers();
        let mut names: Vec<&str> = listed.iter().map(|(name, _)| *name).collect();
        for (name, method) in Method::NAMES.into_iter().zip(Method::all()) {
            let solver = method.solver();
            assert_eq!(solver.name(), name);
            with(method.clone(), solver.rarities()).expect(name);
            for variant in solver.variants() {
                with(method.clone(), variant.set).expect(variant.name);
                assert!(variant.name.starts_with(name), "{}", variant.name);
                assert!(names.contains(&variant.name), "{}", variant.name);
            }
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), listed.len());
    }
}
