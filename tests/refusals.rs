//! Refused means unchanged: after a call that returned an error the cloth goes on as one that was never asked, to the
//! bit.

mod common;

use std::sync::Arc;

use common::*;
use taut::engine::fields::{Domain, Inputs, Spec};
use taut::engine::program::Kernel;
use taut::engine::source::Source;
use taut::solver::Solver;
use taut::stage::{Recorder, Stage};
use taut::{
    Cloth, Error, FrameInput, GaussSeidel, Hold, Jacobi, Method, PinTarget, Pose, Result, Scene, Settings, Solid,
    SolidShape, YarnSweep, scene,
};

/// Hung by two corners, with a vertex held on a plane, above a ball that turns slowly.
fn subject() -> Scene {
    let mut scene = scene::hang(9).expect("a known scene");
    let ball = Solid::new(SolidShape::Sphere { radius: 0.2 }).at([0.5, -0.3, 0.5]);
    scene.solids.push(Solid { angular_velocity: [0.0, 1.0, 0.0], ..ball });
    scene
}

/// A solver that records another one, and then a kernel whose field no cloth has.
#[derive(Debug)]
struct Broken(Method);

static SOURCE: Source = Source::new(
    "broken",
    "
    @group(0) @binding(0) var<storage, read_write> nowhere: array<vec4<f32>>;
    @compute @workgroup_size(GROUP) fn miss(invocation: Invocation) {
        let v = element(invocation);
        if (running() && v < range.end) { nowhere[v].x += 1.0; }
    }",
);
static MISS: Kernel = Kernel::new("miss", &SOURCE, |_| Ok(()));

impl Stage for Broken {
    fn inputs(&self, inputs: &mut Inputs<'_>) -> Result<()> {
        self.0.solver().inputs(inputs)
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        self.0.solver().record(recorder);
        recorder.dispatch(&MISS, Domain::VERTICES);
    }
}

impl Solver for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }
}

/// A solver with a field of its own.
#[derive(Debug)]
struct Homeless;

impl Stage for Homeless {
    fn fields(&self) -> Vec<Spec> {
        vec![Spec::of::<f32>("user_home", Domain::VERTICES, "a field of the test's")]
    }

    fn record(&self, _: &mut Recorder<'_>) {}
}

impl Solver for Homeless {
    fn name(&self) -> &'static str {
        "homeless"
    }
}

/// Every public call that can be refused, and a way to have it refused.
type Call = fn(&mut Cloth) -> Result<()>;

const CALLS: &[(&str, Call)] = &[
    ("change: strain limit", |cloth| cloth.change(|settings| settings.strain_limit = -1.0)),
    ("change: strain limit below f32", |cloth| cloth.change(|settings| settings.strain_limit = 1e-9)),
    ("change: gravity", |cloth| cloth.change(|settings| settings.gravity = [f32::NAN; 3])),
    ("change: stretch band", |cloth| cloth.change(|settings| (settings.stretch_min, settings.drag) = (2.0, 7.0))),
    ("change: rest speed", |cloth| cloth.change(|settings| settings.rest_speed = f32::INFINITY)),
    ("change: a parameter", |cloth| {
        let method = Method::YarnSweep(YarnSweep { step_clamp: f32::NAN, ..Default::default() });
        cloth.change(|settings| settings.method = method)
    }),
    ("change: a count of none", |cloth| {
        let method = Method::GaussSeidel(GaussSeidel { sweeps: 0, ..Default::default() });
        cloth.change(|settings| settings.method = method)
    }),
    ("change: another solver", |cloth| {
        let method = Method::Jacobi(Jacobi { relaxation: f32::NAN, ..Default::default() });
        cloth.change(|settings| settings.method = method)
    }),
    ("change: another solver and a limit", |cloth| {
        cloth.change(|settings| (settings.method, settings.strain_limit) = (method("jacobi"), f32::NAN))
    }),
    ("change: second-order steps with explicit springs", |cloth| {
        cloth.change(|settings| {
            (settings.stepping, settings.elasticity) = (taut::Stepping::Bdf2, taut::Elasticity::Explicit);
        })
    }),
    ("change: stages", |cloth| {
        let outcome = cloth.change(|settings| settings.stages.push(Arc::new(Broken(method("jacobi")))));
        assert!(matches!(outcome, Err(Error::Fixed { field: "stages" })), "{outcome:?}");
        outcome
    }),
    ("change: a solver with a field that is not there", |cloth| {
        let outcome = cloth.change(|settings| settings.method = Method::Custom(Arc::new(Homeless)));
        assert!(matches!(&outcome, Err(Error::Field { name, .. }) if name == "user_home"), "{outcome:?}");
        outcome
    }),
    ("change: a solver whose last kernel cannot be bound", |cloth| {
        cloth.change(|settings| settings.method = Method::Custom(Arc::new(Broken(method("fast-projection")))))
    }),
    ("hold: a pin among others", |cloth| cloth.hold(&[40, 0], Hold::Fixed)),
    ("hold: no stiffness", |cloth| cloth.hold(&[40], Hold::Soft { stiffness: 0.0 })),
    ("hold: a stiffness without an end", |cloth| cloth.hold(&[40], Hold::Soft { stiffness: f32::INFINITY })),
    ("hold: no vertex", |cloth| cloth.hold(&[40, 4000], Hold::Fixed)),
    ("hold: no normal", |cloth| cloth.hold(&[40], Hold::Plane { normal: [0.0; 3] })),
    ("move_solid: none", |cloth| cloth.move_solid(7, Pose::default(), [0.0; 3], [0.0; 3])),
    ("move_solid: velocity", |cloth| cloth.move_solid(0, Pose::default(), [f32::NAN; 3], [0.0; 3])),
    ("add_solid: a radius", |cloth| cloth.add_solid(Solid::new(SolidShape::Sphere { radius: f32::NAN })).map(|_| ())),
    ("remove_solid: none", |cloth| cloth.remove_solid(1).map(|_| ())),
    ("change_solid: none", |cloth| cloth.change_solid(1, |_| ())),
    ("change_solid: friction", |cloth| cloth.change_solid(0, |solid| solid.friction = -1.0)),
    ("change_solid: a place", |cloth| cloth.change_solid(0, |solid| solid.pose.translation[1] = f32::INFINITY)),
    ("add_impulse: a pin", |cloth| cloth.add_impulse(0, [1.0; 3])),
    ("add_impulse: not finite", |cloth| cloth.add_impulse(40, [f32::INFINITY, 0.0, 0.0])),
    ("teleport", |cloth| cloth.teleport(Pose { rotation: [0.0; 4], translation: [1.0; 3] })),
    ("set_state: too few", |cloth| cloth.set_state(&[[0.0; 3]], &[[0.0; 3]])),
    ("set_state: not finite", |cloth| cloth.set_state(&[[0.0; 3]; 81], &[[f32::NAN; 3]; 81])),
    ("set_state: too far out", |cloth| cloth.set_state(&[[1e9; 3]; 81], &[[0.0; 3]; 81])),
    ("restore", |cloth| {
        let mut checkpoint = cloth.checkpoint()?;
        checkpoint[200] ^= 1;
        cloth.restore(&checkpoint)
    }),
    ("step: a length", |cloth| cloth.step(&frame(-1.0))),
    ("step: too long for its substeps", |cloth| cloth.step(&frame(1e6))),
    ("step: a target that is no pin", |cloth| {
        let targets = [PinTarget { vertex: 0, position: [9.0; 3] }, PinTarget { vertex: 41, position: [9.0; 3] }];
        cloth.step(&FrameInput { dt: FRAME, pin_targets: &targets })
    }),
    ("step: a target that is not finite", |cloth| {
        let targets = [PinTarget { vertex: 0, position: [9.0; 3] }, PinTarget { vertex: 8, position: [f32::NAN; 3] }];
        cloth.step(&FrameInput { dt: FRAME, pin_targets: &targets })
    }),
    ("step: a solid that turns half a turn", |cloth| {
        // In three seconds; a target that must not be taken later.
        let targets = [PinTarget { vertex: 0, position: [9.0; 3] }];
        cloth.step(&FrameInput { dt: 3.2, pin_targets: &targets })
    }),
];

/// Calls that only a GPU refuses.
const GPU_CALLS: &[(&str, Call)] = &[("encode_step: a budget", |cloth| {
    let before = cloth.settings().dispatch_budget;
    cloth.change(|settings| settings.dispatch_budget = 3)?;
    let gpu = cloth.gpu().cloned().ok_or(Error::NotOnGpu { what: "test" })?;
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let targets = [PinTarget { vertex: 0, position: [9.0; 3] }];
    let outcome = cloth.encode_step(&mut encoder, &FrameInput { dt: FRAME, pin_targets: &targets });
    cloth.change(|settings| settings.dispatch_budget = before)?;
    outcome.map(|_| ())
})];

fn bits(cloth: &Cloth) -> Vec<[u32; 3]> {
    let snapshot = cloth.snapshot().expect("a state can be read");
    let velocities = cloth.velocities().expect("a state can be read");
    snapshot.positions.iter().chain(&velocities).map(|vector| vector.map(f32::to_bits)).collect()
}

fn refused_is_unchanged(calls: &[(&str, Call)], build: &dyn Fn() -> Cloth) {
    let start = || {
        let mut cloth = build();
        cloth.hold(&[60], Hold::Plane { normal: [1.0, 0.0, 0.0] }).expect("a free vertex");
        for _ in 0..3 {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        // What is waiting for the next frame must survive a refusal, too.
        cloth.add_impulse(70, [0.0, 1e-4, 0.0]).expect("a free vertex");
        cloth
    };
    let on = |cloth: &mut Cloth| {
        for _ in 0..10 {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        bits(cloth)
    };
    let expected = on(&mut start());
    for (name, call) in calls {
        let mut cloth = start();
        // A checkpoint is refused while an impulse waits; that is another promise.
        if *name == "restore" {
            cloth = build();
            let mut other = build();
            let outcome = call(&mut cloth);
            assert!(outcome.is_err(), "{name}: {outcome:?}");
            assert_eq!(on(&mut cloth), on(&mut other), "{name}");
            continue;
        }
        let outcome = call(&mut cloth);
        assert!(outcome.is_err(), "{name}: the call is refused, or it proves nothing");
        assert!(on(&mut cloth) == expected, "{name}: the cloth goes on differently");
    }
}

fn settings() -> Settings {
    Settings { method: Method::YarnSweep(YarnSweep::default()), ..Default::default() }
}

#[test]
fn refused_is_unchanged_on_the_cpu() {
    refused_is_unchanged(CALLS, &|| cpu(subject(), settings()));
}

#[test]
fn refused_is_unchanged_on_a_gpu() {
    let Some(gpu) = gpu() else { return };
    let build = || Cloth::on_gpu(&gpu, subject().with_settings(settings())).expect("the device works");
    refused_is_unchanged(CALLS, &build);
    refused_is_unchanged(GPU_CALLS, &build);
}

/// Every pair of solvers: a refused exchange leaves the cloth running with the solver it has.
#[test]
fn a_refused_solver_leaves_a_gpu_running() {
    let Some(gpu) = gpu() else { return };
    for name in Method::NAMES {
        let build = |gpu: &taut::Gpu| {
            let settings = Settings { method: method(name), ..Default::default() };
            Cloth::on_gpu(gpu, scene::hang(7).expect("a known scene").with_settings(settings))
                .expect("the device works")
        };
        let expected = {
            let mut cloth = build(&gpu);
            (0..3).for_each(|_| cloth.step(&frame(FRAME)).expect("the step runs"));
            bits(&cloth)
        };
        for other in Method::NAMES.iter().filter(|other| **other != name) {
            let mut cloth = build(&gpu);
            // Its kernels are compiled and bound before the last one is found wanting.
            let broken = Method::Custom(Arc::new(Broken(method(other))));
            let outcome = cloth.change(|settings| settings.method = broken);
            assert!(matches!(outcome, Err(Error::Field { .. })), "{other}: {outcome:?}");
            (0..3).for_each(|_| cloth.step(&frame(FRAME)).expect("the step runs"));
            assert!(bits(&cloth) == expected, "{name}: a refused {other} changed it");
            assert_eq!(cloth.settings().method.solver().name(), name);
        }
    }
}

/// Whatever an impulse does, velocities and forces are finite, at most the frame that has it is taken back, and the
/// cloth moves on.
#[test]
fn no_impulse_freezes_a_cloth() {
    let mut gpus: Vec<Option<taut::Gpu>> = vec![None];
    gpus.extend(gpu().map(Some));
    for gpu in &gpus {
        for exponent in [3, 9, 12, 15, 17, 18, 20, 30, 38] {
            let mut sheet = scene::sheet(5).expect("a known scene");
            sheet.solids.push(Solid { restitution: 0.7, ..Solid::new(SolidShape::Plane).at([0.0, -0.05, 0.0]) });
            let mut cloth = match gpu {
                Some(gpu) => Cloth::on_gpu(gpu, sheet).expect("the device works"),
                None => cpu(sheet, Settings::default()),
            };
            cloth.step(&frame(FRAME)).expect("the step runs");
            cloth.add_impulse(12, [0.0, -(10f32.powi(exponent)), 0.0]).expect("it is finite");
            for number in 0..12 {
                cloth.step(&frame(FRAME)).expect("the step runs");
                let finite = |vectors: Vec<[f32; 3]>| vectors.iter().flatten().all(|x| x.is_finite());
                assert!(finite(cloth.velocities().expect("it works")), "1e{exponent}, frame {number}");
                assert!(finite(cloth.constraint_forces().expect("it works")), "1e{exponent}, frame {number}");
                let report = cloth.snapshot().expect("it works").report;
                assert!(report.rejected_frames <= 1, "1e{exponent}, frame {number}: {report:?}");
            }
            let checkpoint = cloth.checkpoint().expect("it works");
            cloth.restore(&checkpoint).expect("its own checkpoint is good");
        }
    }
}
