//! Accelerated Jacobi sweeps: the weights against their closed form, the fixed point of plain sweeps, how many fewer
//! they are, momentum and tension, and the same on every device.

mod common;

use common::*;
use taut::engine::cpu::Runner;
use taut::engine::lockstep;
use taut::engine::program::{Dispatch, Item, Program};
use taut::{
    Acceleration, FrameInput, Jacobi, Mass, Mesh, MeshDescriptor, Method, PinTarget, Report, Scene, Settings, Substeps,
    scene,
};

fn plain() -> Jacobi {
    Jacobi { sweeps: 200_000, ..Default::default() }
}

fn accelerated() -> Jacobi {
    Jacobi { acceleration: Acceleration::Chebyshev, ..plain() }
}

/// One substep in which nothing but the projection moves anything.
fn still(solver: Jacobi, strain_limit: f32) -> Settings {
    let (method, substeps) = (Method::Jacobi(solver), Substeps::Fixed(1));
    Settings { method, strain_limit, gravity: [0.0; 3], substeps, ..Default::default() }
}

/// A grid of unit masses, its columns stretched, hung by its first row if `hung`, and its free vertices off
/// their places by up to `noise` in every direction \[m\].
fn stretched_sheet(size: u32, hung: bool, stretch: f32, noise: f64) -> Scene {
    let curtain = scene::curtain(size).unwrap();
    let rest = curtain.mesh.positions();
    let pins = if hung { curtain.mesh.pins().to_vec() } else { Vec::new() };
    let mesh = Mesh::new(MeshDescriptor {
        positions: rest.to_vec(),
        faces: curtain.mesh.faces().to_vec(),
        mass: Mass::PerVertex(vec![1.0; rest.len()]),
        pins: pins.clone(),
        shear: 0.0,
        ..Default::default()
    });
    let mut random = Random(7);
    let mut moved = |vertex: u32, [x, y, z]: [f32; 3]| {
        let mut off = || if pins.contains(&vertex) { 0.0 } else { random.within(-noise, noise) as f32 };
        [x + off(), y + off(), (1.0 + stretch) * z + off()]
    };
    let start: Vec<[f32; 3]> = (0..).zip(rest).map(|(vertex, place)| moved(vertex, *place)).collect();
    Scene::new("stretched sheet", mesh.unwrap(), start)
}

struct Found {
    report: Report,
    positions: Vec<[f32; 3]>,
    tensions: Vec<f32>,
    /// Sum of what pins bear \[N\].
    borne: [f64; 3],
}

fn stepped(scene: Scene, settings: Settings) -> Found {
    let start = scene.start.clone();
    let target = |pin: &u32| PinTarget { vertex: *pin, position: start[*pin as usize] };
    let targets: Vec<PinTarget> = scene.mesh.pins().iter().map(target).collect();
    let mut cloth = cpu(scene, settings);
    cloth.step(&FrameInput { dt: FRAME, pin_targets: &targets }).unwrap();
    let found = cloth.snapshot().unwrap();
    let fields = cloth.fields().unwrap();
    let tensions = fields.get::<f32>("tensions").unwrap().to_vec();
    let mut borne = [0.0; 3];
    for reaction in fields.get::<[f32; 4]>("reactions").unwrap() {
        (0..3).for_each(|k| borne[k] += f64::from(reaction[k]));
    }
    Found { report: found.report, positions: found.positions, tensions, borne }
}

#[test]
fn far_fewer_sweeps_on_sheets() {
    for (size, most, at_least) in [(11, 100, 6.0), (21, 200, 12.0), (71, 700, 3.0)] {
        let found = stepped(stretched_sheet(size, true, 0.05, 0.0), still(accelerated(), 0.01)).report;
        assert_eq!(found.converged, Some(true), "{found:?}");
        // Plain sweeps do not come as far in so many times the number.
        let sweeps = (at_least * f64::from(found.iterations)) as u32;
        let plain = stepped(stretched_sheet(size, true, 0.05, 0.0), still(Jacobi { sweeps, ..plain() }, 0.01)).report;
        println!("{size}: {} accelerated; plain: {:?} after {}", found.iterations, plain.strain, plain.iterations);
        assert!(found.iterations <= most, "{size}: {found:?}");
        assert_eq!(plain.converged, Some(false), "{size}: {plain:?}");
    }
}

#[test]
fn a_given_radius_is_used() {
    let sweeps = |spectral_radius: Option<f32>| {
        let solver = Jacobi { spectral_radius, ..accelerated() };
        stepped(stretched_sheet(21, true, 0.05, 0.0), still(solver, 0.01)).report.iterations
    };
    // A mode of a chain of n edges with one free end contracts by 1 − (1 − cos(π/(2n + 1)))/(4 + α) per sweep.
    let radius = 1.0 - (1.0 - (std::f64::consts::PI / 41.0).cos()) / 4.2;
    let [found, given, small] = [sweeps(None), sweeps(Some(radius as f32)), sweeps(Some(0.5))];
    println!("found {found}, given {given}, far too small {small}");
    assert!(given <= found && small > 4 * given, "{found} {given} {small}");
}

/// The same fixed point. Where directions turn the constraints are no plane, and both end on it apart by what is of
/// second order in the way.
#[test]
fn the_fixed_point_is_that_of_plain_sweeps() {
    let apart = |part: f32, noise: f64| {
        let sheet = || stretched_sheet(9, true, 0.05 * part, noise * f64::from(part));
        let run = |solver: Jacobi| stepped(sheet(), still(solver, 1e-5));
        let (slow, fast) = (run(plain()), run(accelerated()));
        assert_eq!([slow.report.converged, fast.report.converged], [Some(true); 2]);
        let mut most: f32 = 0.0;
        for (a, b) in slow.positions.iter().zip(&fast.positions) {
            (0..3).for_each(|k| most = most.max((a[k] - b[k]).abs()));
        }
        println!("{} and {} sweeps, {most} m apart", slow.report.iterations, fast.report.iterations);
        assert!(3 * fast.report.iterations < slow.report.iterations);
        // What sweeps carry on is tension, and is borne by pins.
        let largest = slow.tensions.iter().fold(0.0, |most: f32, tension| most.max(tension.abs()));
        for (a, b) in slow.tensions.iter().zip(&fast.tensions) {
            assert!((a - b).abs() <= 0.01 * largest, "{a} {b} of {largest}");
        }
        let weight = slow.borne[2].abs();
        assert!((0..3).all(|k| (slow.borne[k] - fast.borne[k]).abs() <= 1e-3 * weight && weight > 1.0));
        most
    };
    assert!(apart(1.0, 0.0) <= 1e-5);
    let (far, near) = (apart(1.0, 1e-3), apart(0.25, 1e-3));
    // The limit leaves up to 1e-5 m at the end of a column of eight edges to either.
    assert!(near <= 1e-5 && 2.0 * near < far, "{far} {near}");
}

#[test]
fn momentum_is_kept() {
    let scene = stretched_sheet(9, false, 0.05, 2e-3);
    let before = center(&scene.start);
    let found = stepped(scene, still(accelerated(), 1e-4));
    assert_eq!(found.report.converged, Some(true), "{:?}", found.report);
    let after = center(&found.positions);
    println!("{} sweeps, {before:?} {after:?}", found.report.iterations);
    assert!((0..3).all(|k| (before[k] - after[k]).abs() < 2e-7));
}

/// ω_{k+1} = 2 T_k(1/ρ)/(ρ T_{k+1}(1/ρ)), T_k(1/ρ) = cosh(k arcosh(1/ρ)).
#[test]
fn weights_are_those_of_the_polynomials() {
    let radius: f32 = 0.99;
    // Plain ones, then ω_1 … ω_8, then ω_9 … ω_16.
    let solver = Jacobi { spectral_radius: Some(radius), sweeps: 24, ..accelerated() };
    let mut cloth = cpu(stretched_sheet(21, true, 0.05, 0.0), still(solver, 1e-5));
    cloth.step(&frame(FRAME)).unwrap();
    let weights = cloth.fields().unwrap().get::<f32>("weights").unwrap();
    let radius = f64::from(radius);
    let chebyshev = |k: u32| (f64::from(k) * (1.0 / radius).acosh()).cosh();
    for k in 8..16 {
        let expected = 2.0 * chebyshev(k) / (radius * chebyshev(k + 1));
        let found = f64::from(weights[k as usize - 8]);
        assert!((found - expected).abs() < 1e-5, "ω_{}: {found}, not {expected}", k + 1);
    }
    let reach = f64::from(cloth.fields().unwrap().get::<f32>("swing").unwrap()[3]);
    assert!((reach / chebyshev(16).powi(2) - 1.0).abs() < 1e-4, "{reach}");
}

/// What a cycle decides by what it reached: [1 − ρ², ω, |p|² at its start, T²], then |p|² now.
#[test]
fn a_cycle_is_judged_by_what_it_reached() {
    let plan = |swing: [f32; 4], square: f32| {
        let method = Method::Jacobi(accelerated());
        let cloth = cpu(stretched_sheet(5, true, 0.05, 0.0), Settings { method, ..Default::default() });
        let mut fields = cloth.fields().unwrap().clone();
        let kernel = cloth.program().dispatches().into_iter().find(|d| d.kernel.name == "plan_sweeps").unwrap().kernel;
        fields.get_mut::<u32>("guards").unwrap()[0] = 1;
        fields.get_mut::<f32>("swing").unwrap().copy_from_slice(&swing);
        // The slot of the curvature of linear solves, which sweeps have none of.
        fields.get_mut::<[f32; 4]>("sums").unwrap()[1][0] = square;
        let dispatch = Dispatch { arguments: [2, 0, 0, 0], ..Dispatch::new(kernel, 0..1) };
        let program = Program { items: vec![Item::Dispatch(dispatch)] };
        Runner::new(&program, &fields).unwrap().run(&program, &mut fields).unwrap();
        let words = |name: &str, count: usize| fields.get::<f32>(name).unwrap()[..count].to_vec();
        (words("swing", 4), words("weights", 2))
    };
    let begun = 1.0 / (1.0 - 0.5 * 0.9);
    // The first sweeps are plain; then a cycle begins.
    assert_eq!(plan([0.1, 0.0, 0.0, 0.0], 1.0), (vec![0.1, 1.0, 0.0, 0.0], vec![1.0, 1.0]));
    let (swing, weights) = plan([0.1, 1.0, 0.0, 0.0], 1.0);
    assert_eq!((swing[0], swing[2], weights[0]), (0.1, 1.0, 1.0));
    assert!((weights[1] - begun).abs() < 1e-6, "{weights:?}");
    // It goes on where it is as fast as it should be.
    let (swing, weights) = plan([0.1, 1.5, 1.0, 2000.0], 1.0 / 2000.0);
    assert!(swing[3] > 2000.0 && weights[0] > 1.5, "{swing:?} {weights:?}");
    // Too slow: ρ is nearer to 1, and another begins.
    let (swing, weights) = plan([0.1, 1.5, 1.0, 2000.0], 0.1);
    assert_eq!((swing[0], swing[2], weights[0]), (0.025, 0.1, 1.0));
    // Grown: plain sweeps, and no other ρ.
    assert_eq!(plan([0.1, 1.5, 1.0, 20.0], 5.0), (vec![0.1, 1.0, 1.0, 0.0], vec![1.0, 1.0]));
    // It has come as far as f32 can tell.
    let (swing, weights) = plan([0.1, 1.5, 1.0, 2e6], 1e-6);
    assert_eq!((swing[0], swing[2], weights[0]), (0.1, 1e-6, 1.0));
}

#[test]
fn accelerated_sweeps_agree() {
    for gpu in gpus() {
        for (name, size) in [("chain", 40), ("hang", 12)] {
            let method = Method::Jacobi(Jacobi { sweeps: 400, sweeps_per_check: 4, ..accelerated() });
            let settings = Settings { method, strain_limit: 1e-4, substeps: Substeps::Fixed(2), ..Default::default() };
            let mut cloth = cpu(Scene::named(name, size).unwrap(), settings);
            (0..5).for_each(|_| cloth.step(&frame(FRAME)).unwrap());
            let mut fields = cloth.fields().unwrap().clone();
            let agreement = lockstep::compare(&gpu, cloth.program(), &mut fields, 300);
            let agreement = agreement.unwrap_or_else(|error| panic!("{} {name}: {error}", self::name(&gpu)));
            println!("{} {name}: worst {}", self::name(&gpu), agreement.worst);
            assert!(agreement.kernels.contains(&"carry_edge"), "{agreement:?}");
            let weight = fields.get::<f32>("swing").unwrap()[1];
            assert!(weight > 1.0, "nothing was accelerated: {weight}");
        }
    }
}
