//! Bad input is a typed error that names what is wrong, and changes nothing; everything else runs. Never a panic.
//! (Bad meshes are in `bad_mesh.rs`, random input in `random.rs`.)

mod common;

use std::sync::Arc;

use common::*;
use taut::engine::cpu::Run;
use taut::engine::fields::{Domain, Spec};
use taut::engine::program::Kernel;
use taut::engine::source::Source;
use taut::stage::Recorder;
use taut::stage::Stage;
use taut::{
    Cloth, Elasticity, Error, FastProjection, FrameInput, GaussSeidel, Jacobi, Mass, Mesh, MeshDescriptor, Method,
    PinTarget, Pose, Result, Scene, Settings, Substeps, YarnSweep, scene,
};

const NAN: f32 = f32::NAN;
const INFINITY: f32 = f32::INFINITY;

fn hang() -> Scene {
    scene::hang(5).expect("a known scene")
}

/// Whether an error is [`Error::OutOfRange`] about a field, with the bad value in it.
fn out_of_range(outcome: &Result<impl std::fmt::Debug>, field: &str, bad: f64) -> bool {
    match outcome {
        Err(Error::OutOfRange { field: named, value, .. }) => {
            *named == field && (*value == bad || (value.is_nan() && bad.is_nan()))
        }
        _ => false,
    }
}

// --- Settings ---

/// A change that must be refused, and the field and value that the error must name.
type BadSetting = (&'static str, f64, Box<dyn Fn(&mut Settings)>);

fn bad_settings() -> Vec<BadSetting> {
    let mut table: Vec<BadSetting> = Vec::new();
    let mut add = |field: &'static str, bad: &[f32], set: fn(&mut Settings, f32)| {
        for value in bad.iter().copied() {
            table.push((field, value.into(), Box::new(move |settings| set(settings, value))));
        }
    };
    add("strain_limit", &[NAN, INFINITY, -INFINITY], |s, x| s.strain_limit = x);
    add("stretch_min", &[NAN, -0.1, 1.1, INFINITY], |s, x| s.stretch_min = x);
    add("stretch_max", &[NAN, 0.9, -1.0, 2e6, INFINITY], |s, x| s.stretch_max = x);
    add("gravity", &[NAN, INFINITY, -INFINITY, 1e7], |s, x| s.gravity = [0.0, x, 0.0]);
    add("drag", &[NAN, -1.0, INFINITY, 1e7], |s, x| s.drag = x);
    add("dispatches_per_submission", &[0.0], |s, x| s.dispatches_per_submission = x as u32);
    add("substeps", &[0.0, 1_000_001.0], |s, x| s.substeps = Substeps::Fixed(x as u32));

    add("iterations", &[0.0], |s, x| {
        s.method = Method::FastProjection(FastProjection { iterations: x as u32, ..Default::default() });
    });
    add("inner_iterations", &[0.0], |s, x| {
        let inner_iterations = Some(x as u32);
        s.method = Method::FastProjection(FastProjection { inner_iterations, ..Default::default() });
    });
    add("tolerance", &[NAN, 0.0, 1.0, -0.1, INFINITY], |s, tolerance| {
        s.method = Method::FastProjection(FastProjection { tolerance, ..Default::default() });
    });
    add("step_clamp", &[NAN, 0.0, -1.0, 11.0, INFINITY], |s, step_clamp| {
        s.method = Method::FastProjection(FastProjection { step_clamp, ..Default::default() });
    });
    add("sweeps", &[0.0], |s, x| {
        s.method = Method::GaussSeidel(GaussSeidel { sweeps: x as u32, ..Default::default() });
    });
    add("sweeps_per_check", &[0.0], |s, x| {
        s.method = Method::GaussSeidel(GaussSeidel { sweeps_per_check: x as u32, ..Default::default() });
    });
    add("sweeps", &[0.0], |s, x| s.method = Method::Jacobi(Jacobi { sweeps: x as u32, ..Default::default() }));
    add("sweeps_per_check", &[0.0], |s, x| {
        s.method = Method::Jacobi(Jacobi { sweeps_per_check: x as u32, ..Default::default() });
    });
    add("relaxation", &[NAN, 0.0, -0.5, 1.5, INFINITY], |s, relaxation| {
        s.method = Method::Jacobi(Jacobi { relaxation, ..Default::default() });
    });
    add("blend", &[NAN, -0.1, INFINITY], |s, blend| {
        s.method = Method::Jacobi(Jacobi { blend, ..Default::default() });
    });
    table
}

#[test]
fn bad_settings_are_refused_by_name() {
    let table = bad_settings();
    assert!(table.len() > 40);
    for (field, bad, set) in table {
        let mut settings = Settings::default();
        set(&mut settings);
        let outcome = Cloth::on_cpu(hang().with_settings(settings));
        assert!(out_of_range(&outcome, field, bad), "{field} = {bad}: {:?}", outcome.err());
        let message = outcome.expect_err("it was refused").to_string();
        assert!(message.starts_with(field) && message.contains("must be"), "{message}");
    }
    Cloth::on_cpu(hang()).expect("the default is not refused");
}

#[test]
fn a_bad_component_of_gravity_is_named() {
    for index in 0..3 {
        let mut gravity = [0.0; 3];
        gravity[index] = NAN;
        let outcome = Cloth::on_cpu(hang().with_settings(Settings { gravity, ..Default::default() }));
        assert!(
            matches!(outcome, Err(Error::OutOfRange { field: "gravity", index: Some(found), .. }) if found == index)
        );
    }
}

#[test]
fn the_ends_of_every_range_are_accepted() {
    let with = |settings: Settings| Cloth::on_cpu(hang().with_settings(settings)).map(|_| ()).expect("it is in range");
    let method = |method: Method| with(Settings { method, ..Default::default() });
    with(Settings { stretch_min: 0.0, stretch_max: 1e6, ..Default::default() });
    with(Settings { gravity: [1e6, -1e6, 0.0], drag: 1e6, ..Default::default() });
    with(Settings { strain_limit: 1f32.next_down(), substeps: Substeps::Fixed(1_000_000), ..Default::default() });
    method(Method::Jacobi(Jacobi {
        sweeps: 1,
        sweeps_per_check: 1,
        relaxation: 1.0,
        blend: 0.0,
        ..Default::default()
    }));
    method(Method::GaussSeidel(GaussSeidel { sweeps: 1, sweeps_per_check: 1000, seed: Some(0) }));
    let inner_iterations = Some(1);
    method(Method::FastProjection(FastProjection {
        iterations: 1,
        inner_iterations,
        tolerance: 1e-30,
        step_clamp: 10.0,
        ..Default::default()
    }));
    method(Method::YarnSweep(YarnSweep { sweeps: 1, step_clamp: 10.0, ..Default::default() }));
}

#[test]
fn a_limit_that_positions_cannot_hold_is_refused_with_the_figure() {
    // Coordinates up to 1 m and edges of 1/4 m: 4 · 2⁻²³ · 4 = 1.9e-6, so the floor of 2e-6 holds.
    for limit in [0.0, -0.0, -1.0, 1e-9, 1.9e-6, -f32::MAX] {
        let outcome = Cloth::on_cpu(hang().with_settings(Settings { strain_limit: limit, ..Default::default() }));
        assert!(
            matches!(outcome, Err(Error::StrainLimit { limit: found, least: 2e-6 }) if found.to_bits() == limit.to_bits()),
            "{limit}: {:?}",
            outcome.err()
        );
    }
    Cloth::on_cpu(hang().with_settings(Settings { strain_limit: 2e-6, ..Default::default() }))
        .expect("the figure is accepted");

    // At 100 m from the origin with edges of 1/70 m a position is stored in steps of 2⁻¹⁷ m: 4 · 2⁻¹⁷ · 70.
    let far = || {
        let mut scene = scene::sheet(71).expect("a known scene");
        scene.start.iter_mut().for_each(|position| position[0] += 100.0);
        scene
    };
    let outcome = Cloth::on_cpu(far().with_settings(Settings { strain_limit: 1e-3, ..Default::default() }));
    let Err(Error::StrainLimit { limit, least }) = outcome else { panic!("{:?}", outcome.err()) };
    assert_eq!(limit, 1e-3);
    // Rest lengths are differences of rounded coordinates.
    assert!((f64::from(least) - 4.0 * 70.0 / f64::from(1 << 17)).abs() < 1e-7, "{least}");
    Cloth::on_cpu(far().with_settings(Settings { strain_limit: least, ..Default::default() }))
        .expect("the figure is accepted");
    let below = least.next_down();
    assert!(Cloth::on_cpu(far().with_settings(Settings { strain_limit: below, ..Default::default() })).is_err());
}

#[test]
fn a_refused_change_changes_nothing() {
    let mut cloth = cpu(hang(), Settings::default());
    let refused = cloth.change(|settings| (settings.gravity, settings.strain_limit) = ([1.0; 3], NAN));
    assert!(out_of_range(&refused, "strain_limit", f64::NAN));
    assert_eq!((cloth.settings().gravity, cloth.settings().strain_limit), ([0.0, -9.81, 0.0], 0.01));
    assert!(matches!(cloth.change(|settings| settings.strain_limit = 1e-9), Err(Error::StrainLimit { .. })));
    let refused = cloth.change(|settings| settings.substeps = Substeps::Fixed(0));
    assert!(out_of_range(&refused, "substeps", 0.0));
    assert_eq!(cloth.settings().substeps, Substeps::Auto);
    let bad = Method::Jacobi(Jacobi { blend: -1.0, ..Default::default() });
    let refused = cloth.change(|settings| settings.method = bad);
    assert!(out_of_range(&refused, "blend", -1.0));
    assert_eq!(cloth.settings().method.solver().name(), "auto");
    cloth.change(|settings| settings.gravity = [1.0, 2.0, 3.0]).expect("it is valid");
    assert_eq!(cloth.settings().gravity, [1.0, 2.0, 3.0]);
    cloth.step(&frame(FRAME)).expect("the step runs");
}

/// The settings of a scene are those of its cloth, unless others are given.
#[test]
fn a_cloth_has_the_settings_of_its_scene() {
    let flag = scene::flag(8).expect("a known scene");
    let cloth = Cloth::on_cpu(flag.clone()).expect("the scene is valid");
    assert!(flag.settings.wind.is_some() && cloth.settings().wind == flag.settings.wind);
    let calm = Cloth::on_cpu(flag.clone().with_settings(Settings::default())).expect("the scene is valid");
    assert_eq!(calm.settings().wind, None);
    let mut wrong = flag;
    wrong.settings.strain_limit = NAN;
    assert!(matches!(Cloth::on_cpu(wrong), Err(Error::OutOfRange { field: "strain_limit", .. })));
}

// --- The start, the state, commands ---

#[test]
fn bad_start_positions_are_refused() {
    let with = |change: &dyn Fn(&mut Vec<[f32; 3]>)| {
        let mut scene = hang();
        change(&mut scene.start);
        Cloth::on_cpu(scene)
    };
    let short = with(&|start| start.truncate(24));
    assert!(matches!(short, Err(Error::LengthMismatch { field: "start", expected: 25, found: 24 })));
    let long = with(&|start| start.push([0.0; 3]));
    assert!(matches!(long, Err(Error::LengthMismatch { field: "start", expected: 25, found: 26 })));
    for bad in [NAN, INFINITY, -INFINITY] {
        let outcome = with(&|start| start[7][2] = bad);
        assert!(matches!(outcome, Err(Error::NotFinite { field: "start", index: 7 })), "{bad}");
    }
    let outcome = with(&|start| start[7][2] = -BEYOND);
    assert!(matches!(outcome, Err(Error::OutOfRange { field: "start", index: Some(7), .. })));
}

/// Above the largest coordinate and speed that a step accepts, 2⁴⁰ m and m/s.
const BEYOND: f32 = 1_099_511_627_776.0_f32.next_up();

/// What is let in, a step can start from; what the first step would reject is refused, and the vertex named. Vertices
/// without edges have no strain whose limit would say so before.
#[test]
fn states_are_let_in_as_far_as_steps_go() {
    let particles = |far: f32| {
        let positions = vec![[0.0; 3], [0.0, 0.0, far]];
        let mesh = Mesh::new(MeshDescriptor { positions, mass: Mass::PerVertex(vec![1.0; 2]), ..Default::default() })?;
        let start = mesh.positions().to_vec();
        Cloth::on_cpu(
            Scene::new("particles", mesh, start).with_settings(Settings { gravity: [0.0; 3], ..Default::default() }),
        )
    };
    let refused = particles(BEYOND).map(|_| ());
    assert!(matches!(refused, Err(Error::OutOfRange { field: "positions", index: Some(1), .. })), "{refused:?}");
    let farthest = BEYOND.next_down();
    let mut cloth = particles(farthest).expect("as far as a step goes");
    for (positions, velocities) in [
        ([[0.0; 3], [0.0, 0.0, farthest]], [[0.0; 3]; 2]),
        ([[-farthest, 0.0, 0.0], [0.0; 3]], [[0.0; 3]; 2]),
        ([[0.0; 3]; 2], [[0.0; 3], [0.0, -farthest, 0.0]]),
    ] {
        cloth.set_state(&positions, &velocities).expect("as far as a step goes");
        cloth.step(&frame(FRAME)).expect("the step runs");
        assert!(!cloth.snapshot().expect("no device").report.rejected, "{positions:?} {velocities:?}");
    }
    for (positions, velocities, field) in [
        ([[0.0; 3], [0.0, BEYOND, 0.0]], [[0.0; 3]; 2], "positions"),
        ([[0.0; 3]; 2], [[0.0; 3], [-BEYOND, 0.0, 0.0]], "velocities"),
    ] {
        let refused = cloth.set_state(&positions, &velocities);
        let named = matches!(&refused, Err(Error::OutOfRange { field: of, index: Some(1), .. }) if *of == field);
        assert!(named, "{field}: {refused:?}");
    }
}

/// All words of all fields.
fn everything(cloth: &Cloth) -> Vec<Vec<u32>> {
    let fields = cloth.fields().expect("the cloth is on the CPU");
    (0..fields.specs().len()).map(|number| fields.words(number).to_vec()).collect()
}

fn moving() -> Cloth {
    let mut cloth = cpu(hang(), Settings::default());
    for _ in 0..2 {
        cloth.step(&frame(FRAME)).expect("the step runs");
    }
    cloth
}

#[test]
fn bad_states_are_refused_and_change_nothing() {
    let mut cloth = moving();
    let before = everything(&cloth);
    let (fine, short) = (vec![[0.0; 3]; 25], vec![[0.0; 3]; 24]);
    let refused = cloth.set_state(&short, &fine);
    assert!(matches!(refused, Err(Error::LengthMismatch { field: "positions", expected: 25, found: 24 })));
    let refused = cloth.set_state(&fine, &short);
    assert!(matches!(refused, Err(Error::LengthMismatch { field: "velocities", expected: 25, found: 24 })));
    for bad in [NAN, INFINITY] {
        let mut broken = fine.clone();
        broken[24][0] = bad;
        assert!(matches!(cloth.set_state(&broken, &fine), Err(Error::NotFinite { field: "positions", index: 24 })));
        assert!(matches!(cloth.set_state(&fine, &broken), Err(Error::NotFinite { field: "velocities", index: 24 })));
    }
    let mut far = fine.clone();
    far[24][0] = BEYOND;
    let refused = cloth.set_state(&far, &fine);
    assert!(matches!(refused, Err(Error::OutOfRange { field: "positions", index: Some(24), .. })));
    let refused = cloth.set_state(&fine, &far);
    assert!(matches!(refused, Err(Error::OutOfRange { field: "velocities", index: Some(24), .. })));
    assert_eq!(everything(&cloth), before);
}

#[test]
fn bad_commands_are_refused_and_change_nothing() {
    let mut cloth = moving();
    let before = everything(&cloth);
    let impulse = |cloth: &mut Cloth, vertex, impulse| cloth.add_impulse(vertex, impulse);
    let refused = impulse(&mut cloth, 0, [1.0; 3]);
    assert!(matches!(refused, Err(Error::Command { field: "impulse", vertex: 0, problem: "pinned", .. })));
    let refused = impulse(&mut cloth, 25, [1.0; 3]);
    assert!(matches!(refused, Err(Error::Command { field: "impulse", vertex: 25, problem: "not a vertex", .. })));
    for bad in [NAN, INFINITY] {
        let refused = impulse(&mut cloth, 12, [0.0, 0.0, bad]);
        assert!(matches!(refused, Err(Error::NotFinite { field: "impulse", index: 12 })));
    }
    let teleport = |cloth: &mut Cloth, rotation, translation| cloth.teleport(Pose { rotation, translation });
    let unit = [0.0, 0.0, 0.0, 1.0];
    assert!(matches!(
        teleport(&mut cloth, [NAN, 0.0, 0.0, 1.0], [0.0; 3]),
        Err(Error::NotFinite { field: "rotation", index: 0 })
    ));
    for bad in [NAN, INFINITY] {
        let refused = teleport(&mut cloth, unit, [0.0, bad, 0.0]);
        assert!(matches!(refused, Err(Error::NotFinite { field: "translation", index: 0 })), "{bad}");
    }
    assert!(out_of_range(&teleport(&mut cloth, unit, [0.0, BEYOND, 0.0]), "translation", BEYOND.into()));
    assert!(out_of_range(&teleport(&mut cloth, [0.0; 4], [0.0; 3]), "rotation", 0.0));
    assert!(out_of_range(&teleport(&mut cloth, [0.0, 0.0, 0.0, 2.0], [0.0; 3]), "rotation", 2.0));
    assert_eq!(everything(&cloth), before);
    // And nothing lingers: the next frame is that of a cloth that was never spoken to.
    cloth.step(&frame(FRAME)).expect("the step runs");
    let mut other = moving();
    other.step(&frame(FRAME)).expect("the step runs");
    assert_eq!(everything(&cloth), everything(&other));
}

#[test]
fn reset_forgets_what_was_not_stepped_yet() {
    let (mut calm, mut hasty) = (cpu(hang(), Settings::default()), cpu(hang(), Settings::default()));
    hasty.step(&frame(FRAME)).expect("the step runs");
    hasty.add_impulse(12, [0.0, 0.1, 0.0]).expect("the vertex is free");
    hasty.teleport(Pose { translation: [1.0; 3], ..Default::default() }).expect("it is valid");
    hasty.reset().expect("the start is valid");
    for cloth in [&mut calm, &mut hasty] {
        cloth.step(&frame(FRAME)).expect("the step runs");
    }
    let state = |cloth: &Cloth| (cloth.snapshot().expect("no device"), cloth.velocities().expect("no device"));
    assert_eq!(state(&hasty), state(&calm), "at the start, at rest");
}

#[test]
fn bad_frames_are_refused_and_change_nothing() {
    let mut cloth = moving();
    let (before, frames) = (everything(&cloth), cloth.frame());
    for bad in [NAN, INFINITY, -INFINITY, -1.0, -f32::MIN_POSITIVE, 2e6] {
        assert!(out_of_range(&cloth.step(&frame(bad)), "dt", bad.into()), "{bad}");
    }
    let targets =
        |cloth: &mut Cloth, targets: &[PinTarget]| cloth.step(&FrameInput { dt: FRAME, pin_targets: targets });
    let good = PinTarget { vertex: 0, position: [0.0; 3] };
    let refused = targets(&mut cloth, &[good, PinTarget { vertex: 12, ..good }]);
    assert!(matches!(
        refused,
        Err(Error::Command { field: "pin_targets", index: 1, vertex: 12, problem: "neither pinned nor held" })
    ));
    let refused = targets(&mut cloth, &[PinTarget { vertex: 25, ..good }]);
    assert!(matches!(
        refused,
        Err(Error::Command { field: "pin_targets", index: 0, vertex: 25, problem: "not a vertex" })
    ));
    for bad in [NAN, -INFINITY] {
        let refused = targets(&mut cloth, &[good, PinTarget { vertex: 4, position: [0.0, bad, 0.0] }]);
        assert!(matches!(refused, Err(Error::NotFinite { field: "pin_targets", index: 1 })), "{bad}");
    }
    let refused = targets(&mut cloth, &[good, PinTarget { vertex: 4, position: [0.0, BEYOND, 0.0] }]);
    assert!(matches!(refused, Err(Error::OutOfRange { field: "pin_targets", index: Some(1), .. })));
    // A frame of no length is a no-op, but its targets are looked at all the same.
    let bad = [PinTarget { vertex: 12, ..good }];
    assert!(matches!(cloth.step(&FrameInput { dt: 0.0, pin_targets: &bad }), Err(Error::Command { .. })));
    assert_eq!((everything(&cloth), cloth.frame()), (before, frames));
}

// --- Substeps ---

#[test]
fn too_few_substeps_are_refused_with_the_count_that_would_do() {
    for size in [5, 9, 24, 32] {
        let make = |count| {
            let substeps = Substeps::Fixed(count);
            let settings = Settings { substeps, elasticity: Elasticity::Explicit, ..Default::default() };
            cpu(Scene::named("sheet", size).expect("a known scene"), settings)
        };
        let mut cloth = make(1);
        let before = everything(&cloth);
        let refused = cloth.step(&frame(FRAME));
        let Err(Error::StepTooLarge { substeps: 1, needed }) = refused else { panic!("{size}: {refused:?}") };
        assert_eq!(everything(&cloth), before);
        // k h²/m ≤ 0.3 for the lightest vertex, a corner with one diagonal: k/4 over ρ l²/4 = k/(ρ l²).
        let l = 1.0 / (f64::from(size) - 1.0);
        let exact = f64::from(FRAME) * (20.0 / (0.2 * l * l) / 0.3).sqrt();
        assert_eq!(f64::from(needed), exact.ceil(), "{size}: {exact}");
        make(needed).step(&frame(FRAME)).expect("the count that was named works");
        let refused = make(needed - 1).step(&frame(FRAME));
        assert!(matches!(refused, Err(Error::StepTooLarge { needed: again, .. }) if again == needed), "{size}");
        // A shorter frame needs fewer, and the automatic count is enough.
        cloth.step(&frame(FRAME / needed as f32)).expect("one substep of that length");
        let settings = Settings { elasticity: Elasticity::Explicit, ..Default::default() };
        let mut auto = cpu(Scene::named("sheet", size).expect("a known scene"), settings);
        auto.step(&frame(FRAME)).expect("the automatic count is enough");
        assert!(auto.snapshot().expect("no device").report.substeps >= needed);
        // Left to itself, the engine takes the fixed count and integrates implicitly.
        let settings = Settings { substeps: Substeps::Fixed(1), ..Default::default() };
        let mut implicit = cpu(Scene::named("sheet", size).expect("a known scene"), settings);
        implicit.step(&frame(FRAME)).expect("springs are integrated implicitly");
        assert_eq!(implicit.snapshot().expect("no device").report.substeps, 1);
    }
}

#[test]
fn frames_beyond_a_million_substeps_are_refused() {
    let mut cloth = cpu(hang(), Settings::default());
    assert!(out_of_range(&cloth.step(&frame(1e6)), "dt", 1e6));
    let substeps = Substeps::Fixed(1_000_000);
    let settings = Settings { substeps, elasticity: Elasticity::Explicit, ..Default::default() };
    let refused = cpu(hang(), settings).step(&frame(1e6));
    assert!(matches!(refused, Err(Error::StepTooLarge { substeps: 1_000_000, needed }) if needed > 1_000_000));
}

// --- What only a GPU has; stages ---

#[test]
fn a_cloth_on_the_cpu_has_no_encoder() {
    let cloth = cpu(hang(), Settings::default());
    assert!(matches!(cloth.encoded_dispatches(FRAME), Err(Error::NotOnGpu { what: "command encoder" })));
    assert!(cloth.position_buffer().is_none() && cloth.normal_buffer().is_none() && cloth.index_buffer().is_none());
    assert!(cloth.gpu().is_none());
}

#[test]
fn a_budget_too_small_for_one_iteration_is_refused_with_what_is_needed() {
    let Some(gpu) = gpu() else { return };
    let with = |dispatch_budget| {
        let settings = Settings { dispatch_budget, ..Default::default() };
        Cloth::on_gpu(&gpu, hang().with_settings(settings)).expect("the scene and the settings are valid")
    };
    let mut cloth = with(1);
    let Err(Error::Budget { budget: 1, needed }) = cloth.encoded_dispatches(FRAME) else { panic!("it was accepted") };
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let refused = cloth.encode_step(&mut encoder, &frame(FRAME));
    assert!(matches!(refused, Err(Error::Budget { budget: 1, needed: again }) if again == needed), "{refused:?}");
    assert_eq!(cloth.frame(), 0);
    // The figure is the least that works, and what is announced is what is recorded.
    let mut enough = with(needed);
    assert_eq!(enough.encoded_dispatches(FRAME).expect("it fits"), needed);
    assert_eq!(enough.encode_step(&mut encoder, &frame(FRAME)).expect("it fits"), needed);
    assert!(matches!(with(needed - 1).encoded_dispatches(FRAME), Err(Error::Budget { .. })));
    for bad in [NAN, -1.0] {
        assert!(out_of_range(&enough.encode_step(&mut encoder, &frame(bad)), "dt", bad.into()));
    }
}

#[test]
fn a_stage_cannot_take_the_name_of_a_field() {
    #[derive(Debug)]
    struct Greedy(&'static str);
    impl Stage for Greedy {
        fn record(&self, _: &mut Recorder<'_>) {}
        fn fields(&self) -> Vec<Spec> {
            vec![Spec::of::<f32>(self.0, Domain::VERTICES, "a field of the test's")]
        }
    }
    let with =
        |stages: Vec<Arc<dyn Stage>>| Cloth::on_cpu(hang().with_settings(Settings { stages, ..Default::default() }));
    let taken = with(vec![Arc::new(Greedy("velocities"))]);
    assert!(matches!(taken, Err(Error::Field { name, .. }) if name == "velocities"));
    let twice = with(vec![Arc::new(Greedy("user_a")), Arc::new(Greedy("user_a"))]);
    assert!(matches!(twice, Err(Error::Field { name, .. }) if name == "user_a"));
    with(vec![Arc::new(Greedy("user_a")), Arc::new(Greedy("user_b"))]).expect("two names are fine");
}

/// Two kernels may have one name: a stage of the user's, or of another cloth's on the same device.
#[test]
fn kernels_of_one_name_do_not_share_a_pipeline() {
    static ONE: Source = Source::new(
        "one",
        "
        @group(0) @binding(0) var<storage, read_write> forces: array<vec4<f32>>;
        @compute @workgroup_size(GROUP) fn nudge(invocation: Invocation) {
            let v = element(invocation);
            if (running() && v < range.end) { forces[v].x += 1.0; }
        }",
    );
    static TWO: Source = Source::new(
        "two",
        "
        @group(0) @binding(0) var<storage, read_write> forces: array<vec4<f32>>;
        @compute @workgroup_size(GROUP) fn nudge(invocation: Invocation) {
            let v = element(invocation);
            if (running() && v < range.end) { forces[v].x += 2.0; }
        }",
    );
    fn by(run: &mut Run<'_>, force: f32) -> Result<()> {
        let mut forces = run.write::<[f32; 4]>("forces")?;
        run.range().for_each(|v| forces[v][0] += force);
        Ok(())
    }
    static FIRST: Kernel = Kernel::new("nudge", &ONE, |run| by(run, 1.0));
    static SECOND: Kernel = Kernel::new("nudge", &TWO, |run| by(run, 2.0));
    #[derive(Debug)]
    struct Nudge(&'static Kernel);
    impl Stage for Nudge {
        fn record(&self, recorder: &mut Recorder<'_>) {
            recorder.dispatch(self.0, Domain::VERTICES);
        }
    }
    let Some(gpu) = gpu() else { return };
    for kernel in [&FIRST, &SECOND] {
        let mut cloth = cpu(hang(), Settings { stages: vec![Arc::new(Nudge(kernel))], ..Default::default() });
        cloth.step(&frame(FRAME)).expect("the step runs");
        let mut fields = cloth.fields().expect("the cloth is on the CPU").clone();
        let agreement = taut::engine::lockstep::compare(&gpu, cloth.program(), &mut fields, 20);
        assert!(agreement.expect("both backends nudge alike").kernels.contains(&"nudge"));
    }
}

// --- Values that blow up ---

#[test]
fn what_is_not_finite_is_thrown_away_and_said() {
    for (name, method) in methods() {
        let settings = Settings { method, substeps: Substeps::Fixed(8), ..Default::default() };
        let mut cloth = cpu(hang(), settings);
        cloth.step(&frame(FRAME)).expect("the step runs");
        let before = cloth.snapshot().expect("no device");
        let velocities = cloth.velocities().expect("no device");
        assert!(!before.report.rejected);
        // Finite, but not for long.
        cloth.add_impulse(12, [3e38, 0.0, 0.0]).expect("it is finite");
        cloth.step(&frame(FRAME)).expect("the step runs");
        let after = cloth.snapshot().expect("no device");
        assert!(after.report.rejected, "{name}: {:?}", after.report);
        assert_eq!((after.report.substeps, after.report.converged), (0, Some(false)), "{name}");
        assert_eq!(after.positions, before.positions, "{name}: the last good state");
        assert_eq!(cloth.velocities().expect("no device"), velocities, "{name}");
        // The impulse is spent, and the cloth goes on as if nothing had happened.
        cloth.step(&frame(FRAME)).expect("the step runs");
        let next = cloth.snapshot().expect("no device");
        assert!(!next.report.rejected && next.report.substeps == 8, "{name}: {:?}", next.report);
        let method = common::method(name);
        let mut calm = cpu(hang(), Settings { method, substeps: Substeps::Fixed(8), ..Default::default() });
        calm.step(&frame(FRAME)).expect("the step runs");
        calm.step(&frame(FRAME)).expect("the step runs");
        assert_eq!(next.positions, calm.snapshot().expect("no device").positions, "{name}");
    }
}

/// A stage that claims a field of the engine's.
#[derive(Debug)]
struct Claims;

impl Stage for Claims {
    fn record(&self, _: &mut Recorder<'_>) {}

    fn fields(&self) -> Vec<Spec> {
        let vertices = Domain::VERTICES;
        vec![Spec::of::<f32>("temperatures", vertices, "a name without the prefix")]
    }
}

#[test]
fn edges_of_the_allowed() {
    let mut cloth = cpu(scene::chain(4).unwrap(), Settings::default());
    assert!(matches!(cloth.step(&frame(1e-10)), Err(Error::OutOfRange { field: "dt", .. })));
    cloth.step(&frame(1e-9)).unwrap();
    assert!(cloth.pin_forces().unwrap().iter().flatten().all(|force| force.is_finite()));
    let method = Method::GaussSeidel(GaussSeidel { sweeps_per_check: 1001, ..Default::default() });
    let outcome = Cloth::on_cpu(scene::chain(4).unwrap().with_settings(Settings { method, ..Default::default() }));
    assert!(matches!(outcome, Err(Error::OutOfRange { field: "sweeps_per_check", .. })));
    let stages: Vec<Arc<dyn Stage>> = vec![Arc::new(Claims)];
    let outcome = Cloth::on_cpu(scene::chain(4).unwrap().with_settings(Settings { stages, ..Default::default() }));
    assert!(matches!(outcome, Err(Error::Field { name, .. }) if name == "temperatures"));
}

#[test]
fn what_flies_away_is_stopped_before_it_is_infinite() {
    // One free vertex of 1 kg: nothing holds it.
    let descriptor = MeshDescriptor {
        positions: vec![[0.0; 3], [1.0, 0.0, 0.0]],
        lines: vec![[0, 1]],
        mass: Mass::PerVertex(vec![1.0; 2]),
        ..Default::default()
    };
    let scene = Scene::new("pair", Mesh::new(descriptor).unwrap(), vec![[0.0; 3], [1.0, 0.0, 0.0]]);
    let mut cloth = cpu(scene, Settings::default());
    cloth.add_impulse(0, [3e38, 0.0, 0.0]).unwrap();
    cloth.step(&frame(1.0)).unwrap();
    let snapshot = cloth.snapshot().unwrap();
    assert!(snapshot.report.rejected);
    assert_eq!(snapshot.positions, [[0.0; 3], [1.0, 0.0, 0.0]]);
}
