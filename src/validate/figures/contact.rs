//! Holds, solids and friction against closed forms. Sections are those of Baraff & Witkin 1998, *Large Steps in Cloth
//! Simulation*.

use super::super::Failure;
use super::super::subjects::FRAME;
use super::Named;
use super::trial::{G, Trial, step};
use crate::cloth::Cloth;
use crate::cloth::hold::Hold;
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Substeps;
use crate::cloth::{FrameInput, PinTarget};
use crate::error::Result;
use crate::mesh::{Mass, Mesh, MeshDescriptor};
use crate::scene::{self, Scene};
use crate::solid::{Pose, Solid, SolidShape};

pub(super) const FIGURES: &[Named] = &[
    ("floor", floor_bears),
    ("pushes-and-never-pulls", pushes_and_never_pulls),
    ("friction-holds", friction_holds),
    ("friction-brakes", friction_brakes),
    ("drop", drop_rebounds),
    ("round-solids", round_solids),
    ("plane-hold", plane_hold),
    ("line-and-point-holds", line_and_point_holds),
    ("rope-tether", rope_tether),
];

/// Single vertices without edges, 0.25 kg each.
fn particles(trial: &Trial<'_>, points: &[[f32; 3]], solids: Vec<Solid>, settings: Settings) -> Result<Cloth> {
    let mesh = Mesh::new(MeshDescriptor {
        positions: points.to_vec(),
        mass: Mass::PerVertex(vec![0.25; points.len()]),
        ..Default::default()
    })?;
    let mut scene = Scene::new("particles", mesh, points.to_vec());
    scene.solids = solids;
    trial.cloth(scene, settings)
}

fn run(cloth: &mut Cloth, frames: u32) -> Result<()> {
    (0..frames).try_for_each(|_| step(cloth, FRAME))
}

fn place(cloth: &Cloth, vertex: usize) -> Result<[f64; 3]> {
    Ok(cloth.snapshot()?.positions[vertex].map(f64::from))
}

fn sixteen() -> Settings {
    Settings { substeps: Substeps::Fixed(16), ..Default::default() }
}

fn floor() -> Solid {
    Solid::new(SolidShape::Plane)
}

/// A plane that rises along x at an angle.
fn slope(degrees: f64, friction: f32) -> Solid {
    let (sin, cos) = (degrees.to_radians() / 2.0).sin_cos();
    let pose = Pose { rotation: [0.0, 0.0, sin as f32, cos as f32], ..Pose::default() };
    Solid { pose, friction, sliding_friction: friction, ..floor() }
}

/// Section 5.4: at rest on a floor, 0.25 kg press with 2.4525 N.
fn floor_bears(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let mut cloth = particles(trial, &[[0.0; 3]], vec![floor()], Settings::default())?;
    run(&mut cloth, 10)?;
    let force = cloth.constraint_forces()?[0].map(f64::from);
    trial.near("the weight [N]", force[1], -0.25 * G, 1e-4)?;
    trial.near_all("forces aside [N]", &[force[0], force[2]], &[0.0; 2], 0.0)?;
    trial.near_all("the place [m]", &place(&cloth, 0)?, &[0.0; 3], 0.0)
}

/// Section 5.4: pulled up with 0, 1, 2.4525 and 3 N, the contact bears the rest, and releases in the last case only.
fn pushes_and_never_pulls(trial: &mut Trial<'_>) -> Result<(), Failure> {
    for (pull, pressed) in [(0.0, 2.4525), (1.0, 1.4525), (2.4525, 0.0), (3.0, 0.0)] {
        let gravity = [0.0, (pull / 0.25 - G) as f32, 0.0];
        let mut cloth = particles(trial, &[[0.0; 3]], vec![floor()], Settings { gravity, ..Default::default() })?;
        run(&mut cloth, 30)?;
        let force = -f64::from(cloth.constraint_forces()?[0][1]);
        trial.near(format!("the force at {pull} N [N]"), force, pressed, 1e-4)?;
        let height = place(&cloth, 0)?[1];
        // 2.19 m/s² for half a second: 0.274 m, and half a substep more.
        let (expected, tolerance) = if pull == 3.0 { (0.274, 0.02) } else { (0.0, 1e-6) };
        trial.near(format!("the height at {pull} N [m]"), height, expected, tolerance)?;
    }
    Ok(())
}

/// Section 5.4, Coulomb's law: what is flatter than its friction does not creep.
fn friction_holds(trial: &mut Trial<'_>) -> Result<(), Failure> {
    for (degrees, friction) in [(20.0, 0.5), (26.0, 0.5), (30.9, 0.6), (44.9, 1.0)] {
        let mut cloth = particles(trial, &[[0.0; 3]], vec![slope(degrees, friction)], Settings::default())?;
        // Ten seconds; a software driver is given two.
        run(&mut cloth, if trial.on_cpu() { 600 } else { 120 })?;
        let crept = place(&cloth, 0)?.iter().map(|x| x * x).sum::<f64>().sqrt();
        trial.at_most(format!("the way at {degrees}° and {friction} [m]"), crept, 1e-6)?;
    }
    Ok(())
}

/// Section 5.4, Coulomb's law: what is steeper slides with g (sin θ − μ cos θ).
fn friction_brakes(trial: &mut Trial<'_>) -> Result<(), Failure> {
    for (degrees, friction) in [(27.0, 0.5), (31.1, 0.6), (45.0, 0.5), (60.0, 0.0f32), (30.0, 0.0)] {
        let mut cloth = particles(trial, &[[0.0; 3]], vec![slope(degrees, friction)], sixteen())?;
        run(&mut cloth, 60)?;
        let angle = degrees.to_radians();
        let expected = G * (angle.sin() - f64::from(friction) * angle.cos());
        let [x, y, _] = place(&cloth, 0)?;
        // Down the slope is −x; the symplectic step is ahead by half a substep.
        let acceleration = 2.0 * x.hypot(y) / (1.0 + 1.0 / 960.0);
        trial.near(format!("{degrees}°, {friction} [m/s²]"), acceleration, expected, 0.01 * expected)?;
        trial.holds(x < 0.0, format!("{degrees}°: up the slope, at {x} m"))?;
        trial.near(format!("{degrees}°: the slope of the way"), y / x, angle.tan(), 1e-3)?;
    }
    Ok(())
}

/// e² of the height: dropped from 1 m with a restitution of 0.5 it rises to 0.25 m, and comes to rest without
/// trembling.
fn drop_rebounds(trial: &mut Trial<'_>) -> Result<(), Failure> {
    for substeps in [4, 16] {
        let solid = Solid { restitution: 0.5, ..floor() };
        let settings = Settings { substeps: Substeps::Fixed(substeps), ..Default::default() };
        let mut cloth = particles(trial, &[[0.0, 1.0, 0.0]], vec![solid], settings)?;
        let (mut peak, mut landed) = (0.0f64, false);
        for _ in 0..80 {
            step(&mut cloth, FRAME)?;
            let height = place(&cloth, 0)?[1];
            trial.holds(height >= 0.0, format!("{height} m below the floor"))?;
            landed |= cloth.velocities()?[0][1] > 0.0;
            peak = if landed { peak.max(height) } else { peak };
        }
        trial.near(format!("the height with {substeps} substeps [m]"), peak, 0.25, 0.005)?;
        run(&mut cloth, if trial.on_cpu() { 600 } else { 180 })?;
        let speed = cloth.velocities()?[0].iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        trial.at_most("the speed at rest [m/s]", speed, 1e-3)?;
        trial.near("the height at rest [m]", place(&cloth, 0)?[1], 0.0, 1e-6)?;
    }
    Ok(())
}

/// On a sphere, on the round side of a capsule that lies and on the cap of one that stands, 20° from the top: with a
/// friction of 0.5 > tan 20° a particle sticks and its weight is borne; without it slides down, in its plane, never
/// inside, and gains no more than it falls, ½ v² ≤ g Δy.
fn round_solids(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let quarter = std::f32::consts::FRAC_1_SQRT_2;
    let lying = Pose { rotation: [quarter, 0.0, 0.0, quarter], ..Pose::default() };
    let capsule = SolidShape::Capsule { radius: 0.5, half_length: 0.4 };
    let angle = 20.0f64.to_radians();
    for (name, shape, pose, [height, z]) in [
        ("sphere", SolidShape::Sphere { radius: 0.5 }, Pose::default(), [0.0, 0.0]),
        ("lying capsule", capsule.clone(), lying, [0.0, 0.2]),
        ("standing capsule", capsule, Pose::default(), [0.4, 0.0]),
    ] {
        let at = [(0.5 * angle.sin()) as f32, (height + 0.5 * angle.cos()) as f32, z as f32];
        let solid = |friction: f32| Solid { pose, friction, sliding_friction: friction, ..Solid::new(shape.clone()) };
        let mut cloth = particles(trial, &[at], vec![solid(0.5)], Settings::default())?;
        run(&mut cloth, 60)?;
        // Where a solid is turned, the way of a point into its coordinates and back is rounded to one side: what sticks
        // to it creeps, by no more than a rounding (6e-8 m) in each of four substeps per frame.
        // Forces feel it, too: m/h² = 14,400 N/m.
        let turned = pose != Pose::default();
        let (creeps, trembles) = if turned { (6e-8 * 240.0, 4.0 * 6e-8 * 14_400.0) } else { (1e-6, 1e-3) };
        trial.near_all(format!("{name}: where it sticks [m]"), &place(&cloth, 0)?, &at.map(f64::from), creeps)?;
        let force = cloth.constraint_forces()?[0].map(f64::from);
        trial.near_all(format!("{name}: what it bears [N]"), &force, &[0.0, -0.25 * G, 0.0], trembles)?;
        let mut cloth = particles(trial, &[at], vec![solid(0.0)], sixteen())?;
        for _ in 0..18 {
            run(&mut cloth, 1)?;
            let [x, y, along] = place(&cloth, 0)?;
            trial.holds(x.hypot(y - height) > 0.5 - 1e-5, format!("{name}: inside, at {x} m, {y} m"))?;
            trial.near(format!("{name}: aside [m]"), along, z, 1e-6)?;
            let square: f64 = cloth.velocities()?[0].iter().map(|v| f64::from(*v).powi(2)).sum();
            let fallen = f64::from(at[1]) - y;
            trial.at_most(
                format!("{name}: ½ v² − g Δy [m²/s²]"),
                0.5 * square - G * fallen,
                0.02 * G * fallen + 1e-6,
            )?;
        }
        trial.holds(place(&cloth, 0)?[1] < f64::from(at[1]) - 0.05, format!("{name}: it does not slide"))?;
    }
    Ok(())
}

/// Section 5: a vertex held on a plane of 30° without friction slides with g sin 30°, and never leaves the plane.
fn plane_hold(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let angle = 30.0_f64.to_radians();
    let normal = [-angle.sin() as f32, angle.cos() as f32, 0.0];
    let mut cloth = particles(trial, &[[0.3, 0.2, 0.1]], Vec::new(), sixteen())?;
    cloth.hold(&[0], Hold::Plane { normal })?;
    for _ in 0..60 {
        step(&mut cloth, FRAME)?;
        let [x, y, _] = place(&cloth, 0)?;
        trial.near("off the plane [m]", -angle.sin() * (x - 0.3) + angle.cos() * (y - 0.2), 0.0, 1e-6)?;
    }
    let [x, y, z] = place(&cloth, 0)?;
    let acceleration = 2.0 * (x - 0.3).hypot(y - 0.2) / (1.0 + 1.0 / 960.0);
    trial.near("the acceleration [m/s²]", acceleration, 4.905, 0.01)?;
    trial.near("aside [m]", z, 0.1, 1e-7)?;
    // The plane bears m g cos 30°.
    let force = cloth.constraint_forces()?[0].map(f64::from);
    let pressed = -(f64::from(normal[0]) * force[0] + f64::from(normal[1]) * force[1]);
    trial.near("what the plane bears [N]", pressed, 0.25 * G * angle.cos(), 2e-3)
}

/// Section 5.1, eqs. (13), (14): a line leaves one way to move, `Fixed` none; targets are met exactly, and a release
/// lets go.
fn line_and_point_holds(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let mut cloth = particles(trial, &[[0.0; 3], [1.0, 0.0, 0.0]], Vec::new(), Settings::default())?;
    cloth.hold(&[0], Hold::Line { direction: [1.0, -1.0, 0.0] })?;
    cloth.hold(&[1], Hold::Fixed)?;
    for number in 1..=60 {
        let sine = (0.1 * f64::from(number)).sin() as f32;
        let target = PinTarget { vertex: 1, position: [1.0 + 0.2 * sine, 0.1 * sine, 0.0] };
        cloth.step(&FrameInput { dt: FRAME, pin_targets: &[target] })?;
        let expected = target.position.map(f64::from);
        trial.near_all("the driven one [m]", &place(&cloth, 1)?, &expected, 1e-6)?;
        let [x, y, z] = place(&cloth, 0)?;
        trial.near("off the line [m]", x + y, 0.0, 1e-6)?;
        trial.near("aside [m]", z, 0.0, 0.0)?;
    }
    // g/√2 along the line: 2.4525 m in a second.
    trial.near("along the line [m]", place(&cloth, 0)?[0], 2.4525, 0.0245)?;
    cloth.hold(&[1], Hold::Free)?;
    let before = place(&cloth, 1)?[1];
    run(&mut cloth, 60)?;
    trial.holds(place(&cloth, 1)?[1] < before - 3.0, "what was let go does not fall")?;
    cloth.hold(&[1], Hold::Fixed)?;
    run(&mut cloth, 1)?;
    let here = place(&cloth, 1)?;
    run(&mut cloth, 30)?;
    trial.near_all("held again where it was [m]", &place(&cloth, 1)?, &here, 0.0)
}

/// A constraint that only pulls: a mass on a rope of 1 m, gathered to 0.3 m, falls freely and bears nothing until it is
/// taut after a fall of √(1 − 0.09) m, at √(2 √0.91/g) = 0.44101 s; then the rope pulls and never pushes.
fn rope_tether(trial: &mut Trial<'_>) -> Result<(), Failure> {
    const RATE: u32 = 960;
    let scene = scene::rope_tether(2)?;
    let settings = Settings { substeps: Substeps::Fixed(1), ..scene.settings.clone() };
    let mut cloth = trial.cloth(scene, settings)?;
    let h = 1.0 / f64::from(RATE);
    let mut taut_at = None;
    for number in 1..=440 {
        step(&mut cloth, 1.0 / RATE as f32)?;
        // The way there is seen at its end; from shortly before on, every step.
        if number < 400 && number % 40 != 0 {
            continue;
        }
        let [x, y, _] = place(&cloth, 1)?;
        // What a pin bears is its own weight, too.
        let [pulled_x, borne, _] = cloth.pin_forces()?[0].map(f64::from);
        let pulled_y = borne + G * f64::from(cloth.mesh().masses()[0]);
        trial.at_most("the length of the rope [m]", x.hypot(y), 1.01 + 1e-6)?;
        // Symplectic Euler falls g h² n (n + 1)/2.
        let fall = 0.5 * G * h * h * f64::from(number * (number + 1));
        let free = (y + fall).abs() < 1e-5 && (x - 0.3).abs() < 1e-6;
        if free && taut_at.is_none() {
            trial.near_all("λ while it is slack [N]", &[pulled_x, pulled_y], &[0.0; 2], 1e-6)?;
        } else {
            taut_at = taut_at.or(Some(f64::from(number) * h));
            // λ ≤ 0: what it exerts on its pin is towards the mass, or nothing.
            trial.holds(pulled_x * x + pulled_y * y >= -1e-6, "the rope pushes")?;
        }
    }
    // g h/2 per second is what the steps fall ahead: 2.3 mm, or half a millisecond; and a step to see it.
    trial.near(
        "the time at which it is taut [s]",
        taut_at.unwrap_or(f64::NAN),
        (2.0 * 0.91f64.sqrt() / G).sqrt(),
        2.0 * h,
    )
}
