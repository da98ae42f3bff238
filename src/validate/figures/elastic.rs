//! Springs: the implicit step with holds against a dense solve (Baraff & Witkin 1998, section 5), and what the explicit
//! one stands.

use super::super::Failure;
use super::super::energy::{energy_of, wide};
use super::super::subjects::FRAME;
use super::Named;
use super::trial::{Random, Trial, step};
use crate::cloth::Cloth;
use crate::cloth::hold::Hold;
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Substeps;
use crate::error::{Error, Result};
use crate::mesh::{EdgeKind, EdgeOverride, Mass, Mesh, MeshDescriptor};
use crate::reference::{self as judge, ElasticStep, Particles, Spring, Stiffness};
use crate::scene::{self, Scene};
use crate::stage::elastic::{Elastic, Elasticity};
use glam::DVec3;

pub(super) const FIGURES: &[Named] =
    &[("held-springs", held_springs), ("explicit-springs-are-stable", explicit_springs_are_stable)];

/// A sheet of nothing but springs, its vertices shaken.
fn springy(size: u32, stiffness: f32, by: f64) -> Result<Scene> {
    let sheet = scene::sheet(size)?;
    let kind = EdgeKind::Spring { stiffness };
    let spring = |edge: &crate::mesh::Link| EdgeOverride { ends: [edge.tail, edge.head], kind, rest: None };
    let mesh = Mesh::new(MeshDescriptor {
        positions: sheet.mesh.positions().to_vec(),
        faces: sheet.mesh.faces().to_vec(),
        mass: Mass::PerVertex(sheet.mesh.masses().to_vec()),
        overrides: sheet.mesh.edges().iter().map(spring).collect(),
        ..Default::default()
    })?;
    let mut random = Random(3);
    let start = sheet.start.iter().map(|x| x.map(|x| x + random.within(-by, by) as f32)).collect();
    Ok(Scene::new("springs", mesh, start))
}

/// The second of two steps of a sheet of springs with a point, a plane and a line that hold vertices, its solve carried
/// as far as f32 goes, against elimination in f64 of the same system, eq. (14).
fn held_springs(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let scene = springy(8, 40.0, 0.01)?;
    let (mesh, h) = (scene.mesh.clone(), f64::from(FRAME));
    let settings = Settings { elasticity: Elasticity::Implicit, substeps: Substeps::Fixed(1), ..Default::default() };
    let mut cloth = Cloth::on_cpu(scene.with_settings(settings))?;
    let (normal, direction) = ([1.0, 2.0, -2.5], [0.3, -1.0, 0.7]);
    cloth.hold(&[0], Hold::Fixed)?;
    cloth.hold(&[27], Hold::Plane { normal })?;
    cloth.hold(&[63], Hold::Line { direction })?;
    step(&mut cloth, FRAME)?;

    let mut particles =
        Particles::new(mesh.masses().iter().map(|mass| f64::from(*mass)).collect(), wide(&cloth.snapshot()?.positions));
    particles.velocities = wide(&cloth.velocities()?);
    particles.holds[0] = judge::Hold::Fixed;
    particles.holds[27] = judge::Hold::Plane { normal: DVec3::from_array(normal.map(f64::from)) };
    particles.holds[63] = judge::Hold::Line { direction: DVec3::from_array(direction.map(f64::from)) };
    let springs: Vec<Spring> = mesh
        .springs()
        .iter()
        .map(|spring| Spring {
            tail: spring.tail as usize,
            head: spring.head as usize,
            rest: spring.rest.into(),
            stiffness: spring.stiffness.into(),
            damping: 0.0,
        })
        .collect();
    trial.holds(springs.len() == 2 * 8 * 7 + 2 * 49, format!("{} springs", springs.len()))?;
    let gravity = DVec3::from_array(cloth.settings().gravity.map(f64::from));
    let loads: Vec<DVec3> = particles.masses.iter().map(|mass| *mass * gravity).collect();
    let system = ElasticStep::new(&particles, &springs, &loads, h, Stiffness::Definite)?;
    let Some(change) = judge::direct(&system) else { return Err(Failure::new("the system is singular")) };

    let Some(fields) = cloth.fields() else { return Err(Failure::new("the cloth is not on the CPU")) };
    let mut fields = fields.clone();
    let elastic = &mut fields.get_mut::<Elastic>("elastic")?[0];
    (elastic.tolerance, elastic.rate, elastic.floor) = (1e-6 / FRAME, 1e-6 / FRAME, 0.0);
    trial.run_program(&mut fields, cloth.program())?;
    let found = fields.get::<[f32; 4]>("velocities")?;
    let largest = change.iter().fold(0.0f64, |most, change| most.max(change.length()));
    trial.holds(largest > 0.1, format!("nothing moves: {largest} m/s"))?;
    for (v, (found, change)) in found.iter().zip(&change).enumerate() {
        let expected = particles.velocities[v] + *change;
        let found = DVec3::new(found[0].into(), found[1].into(), found[2].into());
        trial.at_most(format!("vertex {v} [m/s]"), (found - expected).length(), 1e-5 * largest)?;
    }
    Ok(())
}

/// Without weight \[J\].
fn energy(mesh: &Mesh, positions: &[DVec3], velocities: &[DVec3]) -> f64 {
    energy_of(mesh, DVec3::ZERO, positions, velocities)
}

/// The same explicit steps in f64, h = 1/60 s cut into so many: the largest energy of ten seconds over that at the
/// start.
fn gain(mesh: &Mesh, start: &[DVec3], substeps: f64) -> f64 {
    let h = f64::from(FRAME) / substeps;
    let (mut x, mut v) = (start.to_vec(), vec![DVec3::ZERO; start.len()]);
    let first = energy(mesh, &x, &v);
    let mut most = 0.0f64;
    for _ in 0..(600.0 * substeps) as u32 {
        let mut forces = vec![DVec3::ZERO; x.len()];
        for spring in mesh.springs() {
            let (a, b) = (spring.tail as usize, spring.head as usize);
            let d = x[b] - x[a];
            let pull = f64::from(spring.stiffness) * (d.length() - f64::from(spring.rest)) * d.normalize_or_zero();
            forces[a] += pull;
            forces[b] -= pull;
        }
        for k in 0..x.len() {
            v[k] += h / f64::from(mesh.masses()[k]) * forces[k];
            x[k] += h * v[k];
        }
        most = most.max(energy(mesh, &x, &v) / first);
        if !most.is_finite() || most > 1e3 {
            return f64::INFINITY;
        }
    }
    most
}

/// Explicit springs are taken where k h²/m ≤ 0.3 at every vertex and refused beyond. With the fewest substeps that are
/// taken a free sheet keeps its energy for ten seconds, here and in f64; with a third of them the f64 steps diverge,
/// so that the bound is no more than three times what is needed.
fn explicit_springs_are_stable(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let scene = springy(8, 40.0, 0.01)?;
    let (mesh, start) = (scene.mesh.clone(), wide(&scene.start));
    let explicit = |count: u32| Settings {
        elasticity: Elasticity::Explicit,
        substeps: Substeps::Fixed(count),
        gravity: [0.0; 3],
        ..Default::default()
    };
    let fewest = match trial.cloth(scene.clone(), explicit(1)).and_then(|mut cloth| step(&mut cloth, FRAME)) {
        Err(Error::StepTooLarge { needed, .. }) => needed,
        other => return Err(Failure::new(format!("one substep was not refused: {other:?}"))),
    };
    let refused = trial.cloth(scene.clone(), explicit(fewest - 1)).and_then(|mut cloth| step(&mut cloth, FRAME));
    trial.holds(matches!(refused, Err(Error::StepTooLarge { .. })), format!("{} were taken", fewest - 1))?;
    let first = energy(&mesh, &start, &vec![DVec3::ZERO; start.len()]);
    let mut cloth = trial.cloth(scene, explicit(fewest))?;
    let mut most = 0.0f64;
    for _ in 0..if trial.on_cpu() { 600 } else { 120 } {
        step(&mut cloth, FRAME)?;
        let energy = energy(&mesh, &wide(&cloth.snapshot()?.positions), &wide(&cloth.velocities()?));
        most = if energy.is_nan() { f64::INFINITY } else { most.max(energy / first) };
    }
    // Symplectic Euler conserves a neighbor of the energy, E ± ½ h v·f: that goes up and down by a part of about ω h/2.
    trial.at_most("energy over that at the start", most, 1.5)?;
    if trial.on_cpu() {
        trial.at_most("the same in f64", gain(&mesh, &start, f64::from(fewest)), 1.5)?;
        let diverges = gain(&mesh, &start, f64::from(fewest) / 3.0);
        trial.holds(diverges.is_infinite(), format!("a third of {fewest} substeps are stable, too: {diverges}"))?;
    }
    Ok(())
}
