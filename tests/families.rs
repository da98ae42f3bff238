//! Relatives of the projection, in f64: differentiated constraints, impulses at the start of the step, multipliers in
//! the prediction, and the potential inside of the projection.

use taut::reference::{
    Baumgarte, Fabric, Failure, FastProjection, ImplicitDirection, JointDirection, Predicted, Projector, Shake, Spring,
    System, constrained_accelerations, differentiated_step, energy, max_strain, prestabilize, prestabilized_step,
    project_velocities, step,
};
use taut::{Mass, Mesh, MeshDescriptor, Scene, scene};

const G: f64 = 9.81;
const DOWN: [f64; 3] = [0.0, -G, 0.0];

/// A mass of 1 kg on a rod of 1 m, released horizontally.
fn pendulum() -> (System, Vec<[f64; 3]>) {
    let system = System::new(vec![[0.0; 3], [1.0, 0.0, 0.0]], vec![0.0, 1.0], vec![(0, 1)], vec![1.0]);
    (system.unwrap(), vec![[0.0; 3]; 2])
}

/// Three masses on a yarn that is pinned at one end, released horizontally.
fn chain() -> (System, Vec<[f64; 3]>) {
    let positions = (0..4).map(|v| [f64::from(v), 0.0, 0.0]).collect();
    let system = System::new(positions, vec![0.0, 1.0, 0.5, 2.0], vec![(0, 1), (1, 2), (2, 3)], vec![1.0; 3]);
    (system.unwrap(), vec![[0.0; 3]; 4])
}

fn tight() -> FastProjection {
    FastProjection { limit: 1e-13, ..Default::default() }
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f64>().sqrt()
}

/// Largest |C'| of all edges \[m/s\].
fn rate(system: &System, velocities: &[[f64; 3]]) -> f64 {
    let rate = |(edge, &(a, b)): (usize, &(u32, u32))| {
        let direction = system.direction(edge);
        (0..3).map(|k| direction[k] * (velocities[b as usize][k] - velocities[a as usize][k])).sum::<f64>().abs()
    };
    system.edges.iter().enumerate().map(rate).fold(0.0, f64::max)
}

/// The accelerations are those with which C'' = 0, and the multiplier is the tension: m g + m v²/l at the bottom.
#[test]
fn differentiated_constraints_have_the_tension_of_the_pendulum() {
    let (mut system, mut velocities) = pendulum();
    system.positions[1] = [0.0, -1.0, 0.0];
    velocities[1] = [3.0, 0.0, 0.0];
    let (accelerations, multipliers) = constrained_accelerations(&system, &velocities, DOWN, None);
    // Jᵀ λ with J = 2 d/l = (0, −2, 0): λ = −T/2.
    assert!((multipliers[0] + 0.5 * (G + 9.0)).abs() < 1e-12, "{multipliers:?}");
    assert!(distance(accelerations[1], [0.0, 9.0, 0.0]) < 1e-12, "{accelerations:?}");
    assert_eq!(accelerations[0], [0.0; 3]);
    // Baumgarte's terms pull a rod that is too long back, and brake one that grows.
    system.positions[1] = [0.0, -1.1, 0.0];
    velocities[1] = [0.0; 3];
    let with = Some(Baumgarte { alpha: 0.0, beta: 10.0 });
    let (accelerations, _) = constrained_accelerations(&system, &velocities, DOWN, with);
    // C = 0.21 m, J = −2.2 e_y: J a = −β² C.
    assert!((accelerations[1][1] - 100.0 * 0.21 / 2.2).abs() < 1e-12, "{accelerations:?}");
}

/// A step of the classical Runge-Kutta method, which is what differentiated constraints are for.
fn runge_kutta(system: &mut System, velocities: &mut [[f64; 3]], h: f64, baumgarte: Option<Baumgarte>) {
    let (x, v) = (system.positions.clone(), velocities.to_vec());
    let ahead = |from: &[[f64; 3]], rate: &[[f64; 3]], part: f64| -> Vec<[f64; 3]> {
        from.iter().zip(rate).map(|(from, rate)| [0, 1, 2].map(|k| from[k] + part * h * rate[k])).collect()
    };
    let mut accelerations = |positions: Vec<[f64; 3]>, velocities: &[[f64; 3]]| {
        system.positions = positions;
        constrained_accelerations(system, velocities, DOWN, baumgarte).0
    };
    let a1 = accelerations(x.clone(), &v);
    let v2 = ahead(&v, &a1, 0.5);
    let a2 = accelerations(ahead(&x, &v, 0.5), &v2);
    let v3 = ahead(&v, &a2, 0.5);
    let a3 = accelerations(ahead(&x, &v2, 0.5), &v3);
    let v4 = ahead(&v, &a3, 1.0);
    let a4 = accelerations(ahead(&x, &v3, 1.0), &v4);
    for i in 0..x.len() {
        for k in 0..3 {
            system.positions[i][k] = x[i][k] + h / 6.0 * (v[i][k] + 2.0 * (v2[i][k] + v3[i][k]) + v4[i][k]);
            velocities[i][k] = v[i][k] + h / 6.0 * (a1[i][k] + 2.0 * (a2[i][k] + a3[i][k]) + a4[i][k]);
        }
    }
}

/// A pendulum for 60 s at 1/60 s, the largest strain of each ten seconds. Without Baumgarte's terms the rod grows for
/// ever; with them it keeps near its length where the integrator is good, and not where it is semi-implicit Euler; fast
/// projection with that keeps it to rounding.
#[test]
fn differentiated_constraints_drift() {
    let h = 1.0 / 60.0;
    let terms = Some(Baumgarte { alpha: 10.0, beta: 10.0 });
    let run = |step: &dyn Fn(&mut System, &mut [[f64; 3]])| {
        let (mut system, mut velocities) = pendulum();
        [(); 6].map(|()| {
            let mut most = 0.0f64;
            for _ in 0..600 {
                step(&mut system, &mut velocities);
                most = most.max(max_strain(&system));
            }
            most
        })
    };
    let euler = run(&|system, velocities| differentiated_step(system, velocities, DOWN, h, None));
    let euler_held = run(&|system, velocities| differentiated_step(system, velocities, DOWN, h, terms));
    let free = run(&|system, velocities| runge_kutta(system, velocities, h, None));
    let held = run(&|system, velocities| runge_kutta(system, velocities, h, terms));
    println!("Euler {euler:?}, with terms {euler_held:?}\nRunge-Kutta {free:?}, with terms {held:?}");
    for drifting in [&euler, &free] {
        assert!(drifting.windows(2).all(|pair| pair[1] >= pair[0]), "the error never falls: {drifting:?}");
        assert!(drifting[5] > 2.0 * drifting[0], "{drifting:?}");
    }
    assert!(euler[0] > 0.1 && euler_held[0] < 0.2 * euler[0] && euler_held[5] > 1.0, "{euler:?} {euler_held:?}");
    assert!(held[5] < 1.01 * held[0] && held[5] < 0.5 * free[5], "{held:?} {free:?}");
    let projected = run(&|system, velocities| {
        step(system, velocities, DOWN, h, &mut tight());
    });
    assert!(projected.iter().all(|strain| *strain <= 1e-12), "{projected:?}");
}

/// Impulses at the start of the step bring its end onto the constraint, and velocities are tangent after it.
#[test]
fn prestabilization_ends_on_the_constraint() {
    for (mut system, mut velocities) in [pendulum(), chain()] {
        let h = 1.0 / 240.0;
        let mut kinetic = Vec::new();
        for _ in 0..480 {
            let (projection, rate_left) =
                prestabilized_step(&mut system, &mut velocities, DOWN, h, &mut Shake::default());
            assert_eq!(projection.failure, None);
            assert!(max_strain(&system) <= 1e-12, "{}", max_strain(&system));
            assert!(rate_left <= 1e-11 && rate(&system, &velocities) <= 1e-11, "{rate_left}");
            kinetic.push(energy(&system, &velocities, DOWN));
        }
        // It swings: the chain has fallen by then.
        assert!(system.positions.last().unwrap()[1] < -0.5 || system.positions.last().unwrap()[0] < 0.0);
    }
}

/// The figures of one particle: v = (1, 2), J = (0.6, 0.8), m = 1.
#[test]
fn impulses_of_one_particle() {
    // J of C = |d|²/l − l is 2 d/l: only its direction counts.
    let system = System::new(vec![[0.0; 3], [0.6, 0.8, 0.0]], vec![0.0, 1.0], vec![(0, 1)], vec![1.0]).unwrap();
    let mut velocities = [[0.0; 3], [1.0, 2.0, 0.0]];
    let before = energy(&system, &velocities, [0.0; 3]);
    assert!(project_velocities(&system, &mut velocities) <= 1e-15);
    assert!(distance(velocities[1], [-0.32, 0.24, 0.0]) <= 1e-15, "{velocities:?}");
    assert!(energy(&system, &velocities, [0.0; 3]) <= before);
    // Pre-stabilisation takes as much less as the end of the arc lies inside of the tangent, h |v|²/2 in the limit.
    for h in [1e-2, 1e-3, 1e-4] {
        let mut early = [[0.0; 3], [1.0, 2.0, 0.0]];
        assert_eq!(prestabilize(&system, &mut early, h, &mut Shake::default()).failure, None);
        let end = [0.6 + h * early[1][0], 0.8 + h * early[1][1], 0.0];
        assert!((distance(end, [0.0; 3]) - 1.0).abs() <= 1e-12);
        let sagitta = 0.5 * h * 0.16;
        assert!((distance(early[1], velocities[1]) - sagitta).abs() < 0.01 * sagitta, "{early:?}");
    }
}

/// No multiple of the old direction reaches the constraint (Q1 of the paper): that is said, and nothing has changed.
#[test]
fn prestabilization_fails_as_shake_does() {
    let system = System::new(vec![[0.0; 3], [1.0, 0.0, 0.0]], vec![0.0, 1.0], vec![(0, 1)], vec![1.0]).unwrap();
    let thrown = [[0.0; 3], [-0.7, 1.5, 0.0]];
    let mut velocities = thrown;
    let failure = prestabilize(&system, &mut velocities, 1.0, &mut Shake::default()).failure;
    assert!(matches!(failure, Some(Failure::Budget | Failure::Singular)), "{failure:?}");
    assert_eq!(velocities, thrown);
    let mut moved = system.clone();
    let (projection, rate) = prestabilized_step(&mut moved, &mut velocities, DOWN, 1.0, &mut Shake::default());
    assert!(projection.failure.is_some() && rate.is_nan());
    assert_eq!((moved, velocities), (system, thrown));
}

/// A projection of velocities takes kinetic energy and never gives any, whatever the masses.
#[test]
fn poststabilization_takes_energy() {
    let (mut system, _) = chain();
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    for _ in 0..200 {
        system.positions.iter_mut().flatten().for_each(|x| *x += 0.3 * random());
        let mut velocities: Vec<[f64; 3]> = (0..4).map(|_| [random(), random(), random()]).collect();
        velocities[0] = [0.0; 3];
        let before = energy(&system, &velocities, [0.0; 3]);
        project_velocities(&system, &mut velocities);
        let after = energy(&system, &velocities, [0.0; 3]);
        assert!(after <= before * (1.0 + 1e-14), "{before} J, then {after} J");
    }
}

/// Angle of a pendulum released horizontally, from the vertical, by fourth-order Runge-Kutta.
fn angle(time: f64) -> f64 {
    let rate = |[angle, speed]: [f64; 2]| [speed, -G * angle.sin()];
    let count = 20_000;
    let h = time / f64::from(count);
    let mut y = [std::f64::consts::FRAC_PI_2, 0.0];
    for _ in 0..count {
        let ahead = |k: [f64; 2], part: f64| [y[0] + part * h * k[0], y[1] + part * h * k[1]];
        let a = rate(y);
        let b = rate(ahead(a, 0.5));
        let c = rate(ahead(b, 0.5));
        let d = rate(ahead(c, 1.0));
        y = [0, 1].map(|i| y[i] + h / 6.0 * (a[i] + 2.0 * (b[i] + c[i]) + d[i]));
    }
    y[0]
}

/// Position errors of a pendulum after 1 s, the velocity that of the middle of the step: of order 1 without the last
/// multipliers in the prediction, of order 2 with them.
#[test]
fn multipliers_in_the_prediction_make_it_second_order() {
    let exact = angle(1.0);
    let tip = [exact.sin(), -exact.cos(), 0.0];
    let error = |rate: u32, predicted: bool| {
        let (mut system, mut velocities) = pendulum();
        let h = 1.0 / f64::from(rate);
        // Half a step before the start.
        velocities[1][1] = 0.5 * h * G;
        let mut plain = tight();
        let mut with = Predicted { projector: tight(), multipliers: Vec::new() };
        for _ in 0..rate {
            let projection = if predicted {
                step(&mut system, &mut velocities, DOWN, h, &mut with)
            } else {
                step(&mut system, &mut velocities, DOWN, h, &mut plain)
            };
            assert_eq!(projection.failure, None);
            assert!(max_strain(&system) <= 1e-12);
        }
        distance(system.positions[1], tip)
    };
    let rates = [50, 100, 200, 400, 800];
    let [without, with] = [false, true].map(|predicted| rates.map(|rate| error(rate, predicted)));
    println!("without {without:?}\nwith {with:?}");
    let order = |errors: &[f64]| (errors[3] / errors[4]).log2();
    assert!((order(&without) - 1.0).abs() < 0.1, "{}", order(&without));
    assert!((order(&with) - 2.0).abs() < 0.15, "{}", order(&with));
    assert!(with.iter().zip(&without).all(|(with, without)| with < without));
}

/// A hung sheet with shear of so many N/m per diagonal.
fn sheet(size: u32, shear: f32) -> Scene {
    let scene = scene::hang(size).unwrap();
    let mesh = Mesh::new(MeshDescriptor {
        positions: scene.mesh.positions().to_vec(),
        faces: scene.mesh.faces().to_vec(),
        mass: Mass::PerVertex(scene.mesh.masses().to_vec()),
        pins: scene.mesh.pins().to_vec(),
        shear,
        ..Default::default()
    });
    Scene { mesh: mesh.unwrap(), ..scene }
}

fn springs(scene: &Scene) -> Vec<Spring> {
    let spring = |link: &taut::mesh::Link| Spring {
        tail: link.tail as usize,
        head: link.head as usize,
        rest: link.rest.into(),
        stiffness: link.stiffness.into(),
        damping: 0.0,
    };
    scene.mesh.springs().iter().map(spring).collect()
}

/// Shear and constraints in one Newton iteration, or one after the other: a step differs by O(h²) at most.
#[test]
fn split_and_joint_potentials_agree_to_second_order() {
    let scene = sheet(5, 20.0);
    let mut fabric = Fabric::new(&scene).unwrap();
    for _ in 0..100 {
        assert_eq!(fabric.step(1.0 / 480.0, &mut tight()).unwrap().failure, None);
    }
    let apart = |h: f64| {
        let mut split = fabric.clone();
        let projection = split.step(h, &mut ImplicitDirection::default()).unwrap();
        assert_eq!(projection.failure, None);
        let (mut system, mut velocities) = (fabric.system.clone(), fabric.velocities.clone());
        let mut joint = JointDirection { direction: ImplicitDirection::default(), springs: springs(&scene) };
        let projection = step(&mut system, &mut velocities, DOWN, h, &mut joint);
        assert_eq!(projection.failure, None);
        let pairs = system.positions.iter().zip(&split.system.positions);
        pairs.map(|(a, b)| distance(*a, *b)).fold(0.0, f64::max)
    };
    let steps = [1.0 / 120.0, 1.0 / 240.0, 1.0 / 480.0, 1.0 / 960.0];
    let found = steps.map(apart);
    println!("{found:?} m");
    let order = (found[0] / found[3]).log2() / 3.0;
    assert!(order >= 1.9, "order {order}: {found:?} m");
    assert!(found[0] > 1e-9, "there is something to compare: {found:?} m");
}

/// A hundred times the stiffness that explicit springs could have at this step: both ways stay where they can be.
#[test]
fn stiff_shear_is_stable_split_and_joint() {
    let h = 1.0 / 60.0;
    let lightest = sheet(5, 1.0).mesh.masses().iter().copied().fold(f32::INFINITY, f32::min);
    // h = 2/√(8 k/m) with up to four diagonals at a vertex.
    let bound = f64::from(lightest) / (2.0 * h * h);
    let scene = sheet(5, (100.0 * bound) as f32);
    let mut split = Fabric::new(&scene).unwrap();
    let start = split.energy();
    let mut joint = (split.system.clone(), split.velocities.clone());
    let direction = ImplicitDirection { limit: 1e-9, force_limit: 1e-9, ..Default::default() };
    let mut projector = JointDirection { direction, springs: springs(&scene) };
    // 1 % of the energy of a fall through the sheet's own side.
    let margin = 0.01 * split.mass() * G;
    for _ in 0..600 {
        split.step(h, &mut FastProjection { limit: 1e-3, ..Default::default() }).unwrap();
        let projection = step(&mut joint.0, &mut joint.1, DOWN, h, &mut projector);
        for (name, energy) in [("split", split.energy()), ("joint", energy(&joint.0, &joint.1, DOWN))] {
            assert!(energy <= start + margin, "{name}: {energy} J after {start} J, {:?}", projection.failure);
        }
    }
}

/// The largest of some steps with which one second of cloth passes without a failure (section 5 of the paper: ICD takes
/// larger steps than SHAKE), with one limit for the strain and, for ICD, one for F that is as large as what that limit
/// leaves of an edge. What falls on a ball turns slowly enough for all of them.
#[test]
fn the_largest_steps_with_equal_tolerances() {
    let limit = 0.01;
    let largest = |scene: &Scene, drape: bool| {
        let passes = |projector: &mut dyn Projector, rate: u32| {
            let mut fabric = if drape { Fabric::draped(scene) } else { Fabric::new(scene) }.unwrap();
            let h = 1.0 / f64::from(rate);
            (0..rate).all(|_| fabric.step(h, projector).is_ok_and(|projection| projection.failure.is_none()))
        };
        let shortest = scene.mesh.edges().iter().map(|edge| f64::from(edge.rest)).fold(f64::INFINITY, f64::min);
        let first = |make: &dyn Fn() -> Box<dyn Projector>| {
            let rates = [4, 8, 15, 30, 60, 120, 240, 480];
            rates.into_iter().find(|rate| passes(make().as_mut(), *rate)).unwrap_or(u32::MAX)
        };
        let direction = ImplicitDirection { limit, force_limit: limit * shortest, ..Default::default() };
        [
            first(&|| Box::new(FastProjection { limit, ..Default::default() })),
            first(&|| Box::new(direction)),
            first(&|| Box::new(Shake { limit, ..Default::default() })),
        ]
    };
    for (scene, drape, expected) in [
        (scene::drape(8).unwrap(), true, [4, 4, 4]),
        (scene::hang(8).unwrap(), false, [8, 15, 120]),
        (scene::curtain(8).unwrap(), false, [4, 15, 60]),
    ] {
        let found = largest(&scene, drape);
        println!("{}: {found:?} steps per second", scene.name);
        assert_eq!(found, expected, "{}", scene.name);
    }
}
