//! Every dispatch in lock-step with the CPU.

use std::sync::Arc;

use super::subjects::{
    FRAME, crowded, everything_else, filtering, heaped, inflated, landing, lawful, moving, resting, rushing, solvers,
    stiff, tangled, warm, windy, with,
};
use super::{Check, Depth, Failure, Seen, Subject, pairs};
use crate::cloth::filter::{FilterSettings, Layout};
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Substeps;
use crate::cloth::{Cloth, FrameInput, PinTarget};
use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Fields};
use crate::engine::lockstep::{self, Scale, Terms};
use crate::engine::program::Kernel;
use crate::engine::source::Source;
use crate::error::Result;
use crate::scene::{self, Scene};
use crate::solver::{Auto, Method};
use crate::stage::Recorder;
use crate::stage::Stage;
use crate::stage::elastic::Elasticity;
use crate::stage::integrate::Stepping;
use crate::stage::parameter::{Takes, Value};
use crate::stage::rest::Rest;
use crate::stage::self_collision::{SelfCollision, meter};

/// Vertices per side: odd, above a workgroup's 64, with yarns long enough for chords.
const SIZE: u32 = 9;
/// The same for windows around pins, which shorter yarns do not have.
const WINDOWED: u32 = 33;
/// Vertices per side of layers of cloth.
const LAYERED: u32 = 7;
/// Dispatches compared of each program: a substep or two of the longest.
const MOST: u64 = 400;
/// The same for a substep with self-collision.
const WHOLE: u64 = 2000;

/// `patch` is pinned at both ends of a straight row, which is a singular yarn: its last pivot is rounding, held at 1e-5
/// of the diagonal, so that two right solves may differ by up to 1e5 roundings. Measured on software: 6,000.
const SINGULAR: &[(&str, f32)] = &[("project_yarn", 2e4), ("solve_yarn", 2e4)];

/// Edges of a yarn that is longer than sixteen rows per invocation.
const LONG: u32 = 1100;
/// The condition of such a yarn is about 1.6 m² for m edges, 2e6. Measured on software: 8,000.
const LONG_YARNS: &[(&str, f32)] = &[("project_yarn", 3e4), ("solve_yarn", 3e4)];

/// One check in so many compares entry by entry.
const STRICT: usize = 10;

pub(super) fn checks(depth: Depth) -> Vec<Check> {
    let mut list = Vec::new();
    // The first, the eleventh, … of the list.
    let terms = |number: usize, at_most: u64| Terms {
        at_most,
        scale: if number.is_multiple_of(STRICT) { Scale::Entry } else { Scale::Field },
        ..Default::default()
    };
    for ((solver, method), name) in pairs(depth) {
        let amplified = if name == "patch" { SINGULAR } else { &[] };
        let terms = Terms { amplified, ..terms(list.len(), MOST) };
        list.push(Check::new(format!("kernels/{solver}/{name}"), move |subject| {
            let settings = Settings { method: method.clone(), ..Default::default() };
            compare(subject, &moving(Scene::named(name, SIZE)?, settings)?, terms)
        }));
    }
    for (name, method) in [
        ("yarn-sweep", Method::YarnSweep(Default::default())),
        ("fast-projection", Method::FastProjection(Default::default())),
    ] {
        list.push(Check::new(format!("kernels/{name}/long-yarn"), move |subject| {
            let settings = Settings { method: method.clone(), ..Default::default() };
            let terms = Terms { at_most: MOST / 4, amplified: LONG_YARNS, ..Default::default() };
            compare(subject, &moving(scene::chain(LONG + 1)?, settings)?, terms)
        }));
    }
    for (solver, method) in solvers() {
        let short = few(method.clone());
        let whole = terms(list.len(), u64::MAX);
        list.push(Check::new(format!("kernels/{solver}/whole-frame"), move |subject| {
            let settings = Settings { method: short.clone().map_err(Failure::new)?, ..windy() };
            compare(subject, &moving(scene::hang(SIZE)?, settings)?, whole)
        }));
        let lawful_method = few(method.clone());
        list.push(Check::new(format!("kernels/{solver}/laws"), move |subject| {
            let settings = Settings { method: lawful_method.clone().map_err(Failure::new)?, ..Default::default() };
            compare(subject, &lawful(SIZE, settings)?, MOST)
        }));
        for (elasticity, name) in [
            (Elasticity::Explicit, "crowded"),
            (Elasticity::Implicit, "crowded-implicit"),
            (Elasticity::Diagonals, "crowded-diagonals"),
        ] {
            if depth == Depth::Quick && (elasticity != Elasticity::Explicit) != (solver == Auto::NAME) {
                continue;
            }
            let method = method.clone();
            let terms = terms(list.len(), 600);
            list.push(Check::new(format!("kernels/{solver}/{name}"), move |subject| {
                compare(subject, &in_a_crowd(method.clone(), elasticity)?, terms)
            }));
        }
    }
    for (name, stepping) in [("resting", Stepping::Euler), ("resting-bdf2", Stepping::Bdf2)] {
        list.push(Check::new(format!("kernels/auto/{name}"), move |subject| {
            let settings =
                Settings { method: few(Method::default()).map_err(Failure::new)?, stepping, ..Default::default() };
            compare_reaching(subject, &resting(SIZE, settings)?, u64::MAX, "settle", rests)
        }));
    }
    list.push(Check::new("kernels/auto/landing-bdf2", |subject| {
        let settings = Settings {
            method: few(Method::default()).map_err(Failure::new)?,
            stepping: Stepping::Bdf2,
            ..Default::default()
        };
        compare_reaching(subject, &landing(SIZE, settings)?, u64::MAX, "rebound", landed)
    }));
    list.push(Check::new("kernels/fast-projection/warm-start", |subject| {
        let settings =
            Settings { method: warm(), substeps: Substeps::Fixed(6), strain_limit: 1e-3, ..Default::default() };
        compare(subject, &after_ten_frames(scene::curtain(12)?, settings)?, MOST)
    }));
    list.push(Check::new("kernels/yarn-sweep/stiff", |subject| {
        compare_reaching(subject, &stiff(SIZE)?, MOST, "solve_stiff_yarn", |_, _| Ok(true))
    }));
    // A second round, which long linear solves would keep from being compared.
    list.push(Check::new("kernels/projective-dynamics/rounds", |subject| {
        let method = few(Method::ProjectiveDynamics(Default::default())).map_err(Failure::new)?;
        compare_reaching(subject, &in_a_crowd(method, Elasticity::Explicit)?, WHOLE, "forget_borne", |_, _| Ok(true))
    }));
    // Large enough for windows around pins.
    list.push(Check::new("kernels/yarn-sweep/windows", |subject| {
        let settings = Settings { method: Method::YarnSweep(Default::default()), ..Default::default() };
        let cloth = moving(scene::hang(WINDOWED)?, settings)?;
        compare_reaching(subject, &cloth, MOST / 4, "project_windows", |_, _| Ok(true))
    }));
    // Damped, of second order, and on lines long enough to be shared by invocations.
    list.push(Check::new("kernels/auto/diagonals", |subject| {
        let settings = Settings {
            elasticity: Elasticity::Diagonals,
            stepping: Stepping::Bdf2,
            damping: 0.01,
            ..Default::default()
        };
        let cloth = moving(scene::curtain(WINDOWED)?, settings)?;
        compare_reaching(subject, &cloth, MOST / 4, "project_diagonal", |_, _| Ok(true))
    }));
    // Under this gravity half of the tension of a small curtain is carried from substep to substep.
    list.push(Check::new("kernels/auto/carried", |subject| {
        let method = few(Method::default()).map_err(Failure::new)?;
        let gravity = [0.0, -2e4, 0.0];
        let settings = Settings { method, elasticity: Elasticity::Diagonals, gravity, ..Default::default() };
        let cloth = after_ten_frames(scene::curtain(SIZE)?, settings)?;
        compare_reaching(subject, &cloth, MOST, "carry_tension", carries)
    }));
    list.push(Check::new("kernels/auto/tangent-velocities", |subject| {
        let method = few(Method::default()).map_err(Failure::new)?;
        let settings = Settings { method, tangent_velocities: true, ..Default::default() };
        compare_reaching(subject, &after_ten_frames(scene::hang(SIZE)?, settings)?, MOST, "apply_rates", |_, _| {
            Ok(true)
        })
    }));
    for layout in [Layout::Padded, Layout::Packed] {
        list.push(Check::new(format!("kernels/auto/filter-{layout:?}").to_lowercase(), move |subject| {
            let method = few(Method::default()).map_err(Failure::new)?;
            let cloth = filtering(SIZE, FilterSettings { method, layout, ..Default::default() })?;
            compare_reaching(subject, &cloth, u64::MAX, "release", |_, _| Ok(true))
        }));
    }
    list.push(Check::new("kernels/yarn-sweep/everything-else", |subject| {
        compare(subject, &after_ten_frames(scene::hang(12)?, everything_else())?, MOST)
    }));
    list.push(Check::new("kernels/auto/inflated", |subject| {
        compare_reaching(subject, &inflated(2, Settings::default())?, MOST, "inflate", |_, _| Ok(true))
    }));
    // Cloth against cloth: some pairs find no room, some sheets pass through each other, and some are too fast.
    list.push(Check::new("kernels/auto/heaped", |subject| {
        let own = SelfCollision { thickness: 0.004, pairs_per_vertex: 4.0, ..Default::default() };
        let settings = Settings { self_collision: Some(own), ..Default::default() };
        compare_reaching(subject, &heaped(LAYERED, settings)?, WHOLE, "calm_apply", overflows)
    }));
    list.push(Check::new("kernels/auto/tangled", |subject| {
        compare_reaching(subject, &tangled(LAYERED)?, WHOLE, "untangle", |_, _| Ok(true))
    }));
    list.push(Check::new("kernels/auto/rushing", |subject| {
        compare_reaching(subject, &rushing(LAYERED)?, WHOLE, "slow_down", |_, _| Ok(true))
    }));
    list
}

/// Compares the program of a cloth on the CPU with its state.
fn compare(subject: &Subject, cloth: &Cloth, terms: impl Into<Terms>) -> Result<Seen, Failure> {
    compare_reaching(subject, cloth, terms, "begin_frame", |_, _| Ok(true))
}

/// The same for a cloth that is there for one branch of a kernel: fails where that was not compared, or where the
/// fields before and after do not show that the branch was taken.
fn compare_reaching(
    subject: &Subject,
    cloth: &Cloth,
    terms: impl Into<Terms>,
    kernel: &str,
    reached: fn(&Fields, &Fields) -> Result<bool>,
) -> Result<Seen, Failure> {
    let terms = terms.into();
    let Some(before) = cloth.fields() else { return Err(Failure::new("the cloth is not on the CPU")) };
    let mut kernels: Vec<&str> = cloth.program().dispatches().iter().map(|dispatch| dispatch.kernel.name).collect();
    kernels.sort_unstable();
    kernels.dedup();
    let mut after = before.clone();
    let agreement = match lockstep::compare_on(subject.gpu(), cloth.program(), &mut after, terms) {
        Ok(agreement) => agreement,
        Err(error) => return Err(Failure { kernels, ..error.into() }),
    };
    if !agreement.kernels.contains(&kernel) || !reached(before, &after)? {
        return Err(Failure::new(format!("the branch of `{kernel}` that this is about was not reached")));
    }
    let entries = if terms.scale == Scale::Entry { ", entry by entry" } else { "" };
    let text = format!(
        "{} dispatches, {} words{entries}, worst {:.2} of the bound",
        agreement.dispatches, agreement.words, agreement.worst
    );
    Ok(Seen { text, compared: agreement.kernels, kernels })
}

/// Whether `settle` gave a vertex its mean velocity: it was slow for long enough, and creeps by more than rounding.
fn rests(_: &Fields, after: &Fields) -> Result<bool> {
    let time = after.one::<Rest>("rest")?.time;
    let slow = after.get::<[f32; 4]>("previous_positions")?.iter().map(|[_, _, _, slow]| *slow >= time);
    let creeps = after.get::<[f32; 4]>("velocities")?.iter().map(|[x, _, _, _]| x.abs() > 1e-3);
    Ok(slow.zip(creeps).any(|both| both == (true, true)))
}

/// Whether something was carried, and not only the most that may be.
fn carries(_: &Fields, after: &Fields) -> Result<bool> {
    let carried = after.get::<f32>("carried_tensions")?;
    let most = carried.iter().fold(0.0f32, |most, tension| most.max(*tension));
    Ok(carried.iter().any(|tension| *tension > 0.0 && *tension < 0.9 * most))
}

/// Whether there was no room for some pairs.
fn overflows(_: &Fields, after: &Fields) -> Result<bool> {
    Ok(after.get::<u32>("own_meters")?[meter::OVERFLOWED as usize] > 0)
}

/// Whether `rebound` noted, for a step of second order, that a vertex began to touch a solid.
fn landed(before: &Fields, after: &Fields) -> Result<bool> {
    let touched = before.get::<[f32; 4]>("previous_velocities")?.iter().map(|velocity| velocity[3] == 1.0);
    let touches = after.get::<[f32; 4]>("previous_velocities")?.iter().map(|velocity| velocity[3] == 1.0);
    Ok(touched.zip(touches).any(|both| both == (false, true)))
}

/// Most iterations of anything in a whole frame that is compared.
const FEW: u32 = 4;

/// A solver with few iterations, so that a whole frame with its last kernels is compared, and with its rarities.
fn few(mut method: Method) -> Result<Method, String> {
    for table in method.tables_mut() {
        for parameter in table.list() {
            if parameter.takes == Takes::Count {
                let count = if let Value::Count(count) = parameter.value { count.min(FEW) } else { FEW };
                table.set(parameter.name, Value::Count(count));
            }
        }
    }
    let rarities = method.solver().rarities();
    with(method, rarities)
}

/// Holds, contact with moving solids of every kind, hinges and damping.
fn in_a_crowd(method: Method, elasticity: Elasticity) -> Result<Cloth> {
    let implicit = elasticity == Elasticity::Implicit;
    let damping = if implicit { 0.01 } else { 0.0 };
    let substeps = if implicit { Substeps::Fixed(3) } else { Substeps::Auto };
    let mut cloth = crowded(SIZE, Settings { method, elasticity, damping, substeps, drag: 0.1, ..Default::default() })?;
    for _ in 0..3 {
        cloth.step(&FrameInput { dt: FRAME, ..Default::default() })?;
    }
    let on_a_line = PinTarget { vertex: 8, position: [0.98, 0.45, 0.0] };
    let on_a_spring = PinTarget { vertex: 4, position: [0.5, 0.48, 0.02] };
    cloth.step(&FrameInput { dt: FRAME, pin_targets: &[on_a_line, on_a_spring] })?;
    Ok(cloth)
}

fn after_ten_frames(scene: Scene, settings: Settings) -> Result<Cloth> {
    let mut cloth = Cloth::on_cpu(scene.with_settings(settings))?;
    for _ in 0..10 {
        cloth.step(&FrameInput { dt: FRAME, ..Default::default() })?;
    }
    Ok(cloth)
}

/// A stage whose WGSL is 0.1 % off its Rust body.
static PLANTED: Kernel = Kernel::new("planted", &PLANTED_SOURCE, |run: &mut Run<'_>| {
    let mut forces = run.write::<[f32; 4]>("forces")?;
    for v in run.range() {
        forces[v][0] += 1e-3;
    }
    Ok(())
});

static PLANTED_SOURCE: Source = Source::new(
    "planted",
    "@group(0) @binding(0) var<storage, read_write> forces: array<vec4<f32>>;
     @compute @workgroup_size(GROUP) fn planted(invocation: Invocation) {
         let v = element(invocation);
         if (!running() || v >= range.end) { return; }
         forces[v] += vec4<f32>(1.001e-3, 0.0, 0.0, 0.0);
     }",
);

#[derive(Debug)]
struct Planted;

impl Stage for Planted {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&PLANTED, Domain::VERTICES);
    }
}

/// A check that must fail: a stage whose shader is a thousandth off what the CPU does. Where it passes, nothing that
/// the others say can be believed.
pub fn planted() -> Check {
    Check::new("self-test/planted", |subject| {
        // Without springs: the bound is relative to the largest force.
        let settings = Settings { stages: vec![Arc::new(Planted)], substeps: Substeps::Fixed(4), ..Default::default() };
        let mut cloth = Cloth::on_cpu(scene::chain(SIZE)?.with_settings(settings))?;
        cloth.step(&FrameInput { dt: FRAME, ..Default::default() })?;
        compare(subject, &cloth, u64::MAX)
    })
}
