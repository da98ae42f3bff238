//! Anything at all: random cloths among random solids, random calls in random order, on the CPU and on a GPU.
//!
//! No call panics; whatever is public is finite; `converged` is said only of positions that are within the limit by a
//! measurement of this file's own; a refused call changes nothing, which a twin shows that was never asked; a cloth
//! takes its own checkpoint.
//!
//! The same cases in every run; `PROPTEST_RNG_SEED` and `PROPTEST_CASES` try others.

mod common;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use common::*;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngSeed, TestRunner};
use taut::solid::{Grid, icosphere};
use taut::substeps::StepBounds;
use taut::{
    Attachment, Auto, Cancel, Cloth, EdgeKind, EdgeOverride, Elasticity, Error, Face, FastProjection, FrameInput,
    GaussSeidel, Gpu, Hold, Jacobi, Mass, Mesh, MeshDescriptor, Method, PinTarget, Pose, Preconditioner, Result, Scene,
    Settings, Snapshot, Solid, SolidShape, Stepping, Substeps, Weave, Wind, YarnSweep, wgpu,
};

// --- Numbers ---

const TROUBLE: [f32; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f32::NAN,
    f32::INFINITY,
    -f32::INFINITY,
    f32::MAX,
    f32::MIN_POSITIVE,
    1e-42,
    1e18,
    -1e18,
    1e30,
    1e-18,
    // The ends of what solids may have.
    1e6,
    -1e6,
];

/// A number of ordinary size, or, once in so many, one that makes trouble.
fn number_of(ordinary: std::ops::Range<f32>, rarity: u32) -> impl Strategy<Value = f32> {
    prop_oneof![rarity => ordinary, 1 => select(&TROUBLE[..])]
}

/// For what a cloth is made of: most cloths should come to be.
fn number(ordinary: std::ops::Range<f32>) -> impl Strategy<Value = f32> {
    number_of(ordinary, 200)
}

fn vector(ordinary: std::ops::Range<f32>) -> impl Strategy<Value = [f32; 3]> {
    [number(ordinary.clone()), number(ordinary.clone()), number(ordinary)]
}

/// For what a cloth is told later.
fn wild(ordinary: std::ops::Range<f32>) -> impl Strategy<Value = f32> {
    number_of(ordinary, 50)
}

fn wild_vector(ordinary: std::ops::Range<f32>) -> impl Strategy<Value = [f32; 3]> {
    [wild(ordinary.clone()), wild(ordinary.clone()), wild(ordinary)]
}

fn rotation() -> impl Strategy<Value = [f32; 4]> {
    prop_oneof![
        6 => Just([0.0, 0.0, 0.0, 1.0]),
        4 => (-0.3..0.3f32).prop_map(|angle: f32| [0.0, (0.5 * angle).sin(), 0.0, (0.5 * angle).cos()]),
        2 => Just([0.6, 0.0, 0.8, 0.0]),
        1 => Just([0.1, 0.2, 0.3, 0.4]),
        1 => Just([f32::NAN, 0.0, 0.0, 1.0]),
    ]
}

fn pose() -> impl Strategy<Value = Pose> {
    (rotation(), wild_vector(-0.2..0.2)).prop_map(|(rotation, translation)| Pose { rotation, translation })
}

// --- What a cloth is made of ---

/// A grid, a fan or loose lines, with anything in its lists.
fn descriptor() -> impl Strategy<Value = MeshDescriptor> {
    let grid = (2..5u32, 2..5u32).prop_map(|(rows, columns)| {
        let corner = move |z: u32, x: u32| z * columns + x;
        let quads = (1..rows).flat_map(move |z| {
            (1..columns).map(move |x| {
                let corners = [corner(z - 1, x - 1), corner(z, x - 1), corner(z, x), corner(z - 1, x)];
                corners.into()
            })
        });
        let positions = (0..rows * columns).map(|v| [(v % columns) as f32 * 0.25, 0.0, (v / columns) as f32 * 0.25]);
        MeshDescriptor { positions: positions.collect(), faces: quads.collect(), ..Default::default() }
    });
    let fan = (3..8u32).prop_map(|blades| {
        let around = (0..blades).map(|k| [(k as f32).cos(), (k as f32).sin(), 0.1 * k as f32]);
        let positions = std::iter::once([0.0; 3]).chain(around).collect();
        let faces = (2..=blades).map(|k| [0, k - 1, k].into()).collect();
        MeshDescriptor { positions, faces, ..Default::default() }
    });
    let lines = (2..10u32).prop_flat_map(|count| {
        let line = (0..count, 0..count).prop_map(|(a, b)| [a, b]);
        let points = proptest::collection::vec(vector(-1.0..1.0), count as usize);
        (points, proptest::collection::vec(line, 0..12)).prop_map(|(positions, mut lines)| {
            lines.retain(|[a, b]| a != b);
            MeshDescriptor { positions, lines, mass: Mass::Density(0.1), ..Default::default() }
        })
    });
    let shape = prop_oneof![3 => grid, 2 => fan, 1 => lines];
    let mass = proptest::option::weighted(0.3, proptest::collection::vec(number(1e-3..1.0), 25));
    let pins = proptest::collection::vec(0..16u32, 0..4);
    let bending = prop_oneof![2 => Just(0.0), 1 => number(1e-6..1e-3)];
    let weave = prop_oneof![
        2 => Just(None),
        1 => Just(Some(Weave::Sides)),
        1 => vector(-1.0..1.0).prop_map(|along| Some(Weave::Along(along))),
    ];
    let kind =
        prop_oneof![
            Just(EdgeKind::Inextensible),
            number(0.0..100.0).prop_map(|stiffness| EdgeKind::Spring { stiffness }),
            number(1.0..1000.0).prop_map(|stiffness| EdgeKind::Compliant { stiffness }),
            Just(EdgeKind::Rope),
            (number(0.0..100.0), number(0.5..1.0), number(1.0..1.5))
                .prop_map(|(stiffness, min, max)| EdgeKind::Limited { stiffness, min, max }),
            Just(EdgeKind::Free),
        ];
    let exception = (any::<usize>(), kind, proptest::option::weighted(0.3, number(0.2..0.3)));
    let exceptions = proptest::collection::vec(exception, 0..3);
    (shape, mass, pins, number(0.0..20.0), (bending, any::<bool>()), weave, exceptions).prop_map(
        |(mut descriptor, masses, mut pins, shear, (bending, curved), weave, exceptions)| {
            let count = descriptor.positions.len();
            pins.retain(|pin| (*pin as usize) < count);
            if let Some(mut masses) = masses {
                masses.truncate(count);
                descriptor.mass = Mass::PerVertex(masses);
            }
            let sides = descriptor.faces.iter().flat_map(around).chain(descriptor.lines.iter().copied());
            let sides: Vec<[u32; 2]> = sides.collect();
            let exceptions = exceptions.into_iter().filter(|_| !sides.is_empty());
            let exceptions =
                exceptions.map(|(pick, kind, rest)| EdgeOverride { ends: sides[pick % sides.len()], kind, rest });
            let overrides = exceptions.collect();
            MeshDescriptor { pins, shear, bending, curved, weave, overrides, ..descriptor }
        },
    )
}

fn around(face: &Face) -> Vec<[u32; 2]> {
    let corners = face.vertices();
    corners.iter().zip(corners.iter().cycle().skip(1)).map(|(a, b)| [*a, *b]).collect()
}

/// A solid in few words: a baked one would be printed with all its nodes.
#[derive(Clone, Debug)]
struct Thing {
    kind: usize,
    size: [f32; 3],
    at: [f32; 3],
    motion: [[f32; 3]; 2],
    surface: [f32; 4],
}

fn thing() -> impl Strategy<Value = Thing> {
    let motion = prop_oneof![Just([[0.0; 3]; 2]), [vector(-1.0..1.0), vector(-3.0..3.0)],];
    let surface = [number(0.0..0.02), number(0.0..1.0), number(0.0..1.0), number(0.0..1.0)];
    let size = [number(0.05..0.3), number(0.05..0.3), number(0.05..0.3)];
    (0..5usize, size, vector(-0.5..1.0), motion, surface).prop_map(|(kind, size, at, motion, surface)| Thing {
        kind,
        size,
        at,
        motion,
        surface,
    })
}

/// A ball, baked once.
static BAKED: LazyLock<Arc<Grid>> =
    LazyLock::new(|| Arc::new(Grid::bake(&icosphere(0.2, 1), 8, 1 << 20).expect("a ball is closed")));

impl Thing {
    fn solid(&self) -> Solid {
        let [radius, half_length, _] = self.size;
        let shape = match self.kind {
            0 => SolidShape::Plane,
            1 => SolidShape::Sphere { radius },
            2 => SolidShape::Capsule { radius, half_length },
            3 => SolidShape::Box { half: self.size },
            _ => SolidShape::Grid(BAKED.clone()),
        };
        let [velocity, angular_velocity] = self.motion;
        let [thickness, friction, sliding, restitution] = self.surface;
        let sliding_friction = sliding * friction;
        let still = Solid::new(shape).at(self.at);
        Solid { velocity, angular_velocity, thickness, friction, sliding_friction, restitution, ..still }
    }
}

fn method() -> impl Strategy<Value = Method> {
    // Small counts: the time of this test is not what is tested.
    let numbers = (wild(0.01..1.0), wild(0.01..1.0), proptest::option::of(any::<u64>()));
    (0..7usize, 1..6u32, 1..4u32, numbers).prop_map(|(kind, count, inner, (a, b, seed))| {
        let sweep = YarnSweep { sweeps: count, step_clamp: b, ..Default::default() };
        let projection = FastProjection {
            preconditioner: if kind == 3 { Preconditioner::Lines } else { Preconditioner::Jacobi },
            iterations: count,
            inner_iterations: seed.map(|_| inner),
            tolerance: a,
            step_clamp: b,
            slack: if kind == 4 { a } else { 0.5 },
            warm_start: (kind == 3).then_some(1.0),
        };
        match kind {
            0 => Method::GaussSeidel(GaussSeidel { sweeps: count, sweeps_per_check: inner, seed }),
            1 => Method::Jacobi(Jacobi {
                sweeps: count,
                sweeps_per_check: inner,
                relaxation: a,
                blend: b,
                ..Default::default()
            }),
            2 => Method::YarnSweep(sweep),
            3 | 4 => Method::FastProjection(projection),
            5 => Method::Auto(Auto { sweep, projection }),
            _ => Method::default(),
        }
    })
}

fn wind() -> impl Strategy<Value = Option<Wind>> {
    let air = (wild_vector(-10.0..10.0), wild(0.0..2.0), wild(0.0..2.0), wild(0.0..2.0));
    let some = air.prop_map(|(velocity, density, lift, gust)| Wind {
        velocity,
        density,
        lift_coefficient: lift,
        gust,
        ..Default::default()
    });
    prop_oneof![Just(None), some.prop_map(Some)]
}

fn substeps() -> impl Strategy<Value = Substeps> {
    prop_oneof![Just(Substeps::Auto), (1..9u32).prop_map(Substeps::UpTo), (1..9u32).prop_map(Substeps::Fixed)]
}

fn area_limit() -> impl Strategy<Value = Option<[f32; 2]>> {
    prop_oneof![3 => Just(None), 1 => [number(0.5..1.0), number(1.0..1.5)].prop_map(Some)]
}

fn elasticity() -> impl Strategy<Value = Elasticity> {
    prop_oneof![
        4 => Just(Elasticity::Auto),
        2 => Just(Elasticity::Implicit),
        1 => Just(Elasticity::Explicit),
        2 => Just(Elasticity::Diagonals),
    ]
}

fn stepping() -> impl Strategy<Value = Stepping> {
    prop_oneof![3 => Just(Stepping::Euler), 1 => Just(Stepping::Bdf2)]
}

fn settings() -> impl Strategy<Value = Settings> {
    let bounds = (number(1e-4..0.1), number(0.0..1.0), number(1.0..2.0), vector(-20.0..20.0), number(0.0..2.0));
    let damping = prop_oneof![2 => Just(0.0), 1 => number(0.0..0.01)];
    let counts = (1..4u32, 20..300u32, 20..2000u64);
    (
        (method(), substeps(), stepping(), elasticity()),
        bounds,
        (damping, area_limit(), wind(), number(0.0..0.1)),
        counts,
    )
        .prop_map(|(choices, bounds, (damping, area_limit, wind, rest_speed), counts)| {
            let (method, substeps, stepping, elasticity) = choices;
            let (strain_limit, stretch_min, stretch_max, gravity, drag) = bounds;
            let (contact_rounds, dispatches_per_submission, dispatch_budget) = counts;
            let plain = stretch_min < 0.5;
            let (stretch_min, stretch_max) = if plain { (1.0, 1.0) } else { (stretch_min, stretch_max) };
            Settings {
                strain_limit,
                stretch_min,
                stretch_max,
                gravity,
                drag,
                wind,
                area_limit,
                substeps,
                stepping,
                damping,
                elasticity,
                method,
                contact_rounds,
                rest_speed,
                dispatches_per_submission,
                dispatch_budget,
                ..Default::default()
            }
        })
}

// --- What it is told ---

#[derive(Clone, Debug)]
enum Change {
    Limit(f32),
    Band(f32, f32),
    Gravity([f32; 3]),
    Drag(f32),
    Wind(Option<Wind>),
    Damping(f32),
    RestSpeed(f32),
    Substeps(Substeps),
    Rounds(u32),
    Area(Option<[f32; 2]>),
    Stepping(Stepping),
    Elasticity(Elasticity),
    Submissions(u32),
    Budget(u64),
    Previous(bool),
}

#[derive(Clone, Debug)]
enum Action {
    /// A frame, with vertices moved by so much from where they are.
    Step(f32, Vec<(u32, [f32; 3])>),
    /// Everything that is pinned or held is attached to a frame of reference,
    Attach(Pose),
    /// and driven by it.
    Drive(f32, Pose),
    Hold(Vec<u32>, Hold),
    MoveSolid(usize, Pose, [f32; 3], [f32; 3]),
    AddSolid(Thing),
    RemoveSolid(usize),
    /// Thickness, friction, sliding friction and restitution.
    ChangeSolid(usize, [f32; 4]),
    Impulse(u32, [f32; 3]),
    Teleport(Pose),
    SetState(Vec<[f32; 3]>, Vec<[f32; 3]>),
    Reset,
    Change(Change),
    Tune(Method),
    Checkpoint,
    Restore,
    /// A bit of the checkpoint is flipped.
    Damaged(usize),
    /// A frame that was cancelled before it began.
    Cancelled(f32),
    /// A frame that another thread cancels after so many microseconds, if it is not over by then.
    Stopped(f32, u64),
    Read,
    /// Frames that are recorded and submitted together.
    Encode(Vec<f32>),
}

impl Action {
    fn name(&self) -> &'static str {
        match self {
            Self::Step(..) => "step",
            Self::Attach(_) => "attach",
            Self::Drive(..) => "drive",
            Self::Hold(_, Hold::Free) => "release",
            Self::Hold(..) => "hold",
            Self::MoveSolid(..) => "move_solid",
            Self::AddSolid(_) => "add_solid",
            Self::RemoveSolid(_) => "remove_solid",
            Self::ChangeSolid(..) => "change_solid",
            Self::Impulse(..) => "add_impulse",
            Self::Teleport(_) => "teleport",
            Self::SetState(..) => "set_state",
            Self::Reset => "reset",
            Self::Change(_) => "change",
            Self::Tune(_) => "change, the solver",
            Self::Checkpoint => "checkpoint",
            Self::Restore => "restore",
            Self::Damaged(_) => "restore, damaged",
            Self::Cancelled(_) => "step, cancelled",
            Self::Stopped(..) => "step, stopped",
            Self::Read => "reads",
            Self::Encode(_) => "encode_step",
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => wild(1e-4..0.1).prop_map(Change::Limit),
        1 => (wild(0.0..1.0), wild(1.0..2.0)).prop_map(|(least, most)| Change::Band(least, most)),
        1 => wild_vector(-20.0..20.0).prop_map(Change::Gravity),
        1 => wild(0.0..2.0).prop_map(Change::Drag),
        2 => wind().prop_map(Change::Wind),
        1 => wild(0.0..0.01).prop_map(Change::Damping),
        1 => wild(0.0..0.1).prop_map(Change::RestSpeed),
        1 => substeps().prop_map(Change::Substeps),
        1 => (0..4u32).prop_map(Change::Rounds),
        1 => area_limit().prop_map(Change::Area),
        1 => stepping().prop_map(Change::Stepping),
        1 => elasticity().prop_map(Change::Elasticity),
        1 => (0..300u32).prop_map(Change::Submissions),
        1 => (0..2000u64).prop_map(Change::Budget),
        1 => any::<bool>().prop_map(Change::Previous),
    ]
}

fn hold() -> impl Strategy<Value = Hold> {
    prop_oneof![
        2 => Just(Hold::Fixed),
        2 => wild_vector(-1.0..1.0).prop_map(|normal| Hold::Plane { normal }),
        2 => wild_vector(-1.0..1.0).prop_map(|direction| Hold::Line { direction }),
        2 => prop_oneof![wild(1.0..1e3), wild(1e6..1e9)].prop_map(|stiffness| Hold::Soft { stiffness }),
        2 => Just(Hold::Free),
    ]
}

fn action(gpu: bool) -> impl Strategy<Value = Action> {
    let length = || prop_oneof![20 => wild(1e-3..0.03), 1 => Just(2e-5), 1 => Just(0.0)];
    let target = (any::<u32>(), wild_vector(-0.05..0.05));
    let some = || proptest::collection::vec(any::<u32>(), 1..4);
    let vectors = |size: std::ops::Range<f32>| proptest::collection::vec(number_of(size.clone(), 1000), 3 * 25);
    let vectors = move |size| vectors(size).prop_map(|numbers| numbers.chunks(3).map(|x| [x[0], x[1], x[2]]).collect());
    prop_oneof![
        10 => (length(), proptest::collection::vec(target, 0..3)).prop_map(|(dt, targets)| Action::Step(dt, targets)),
        1 => pose().prop_map(Action::Attach),
        2 => (length(), pose()).prop_map(|(dt, pose)| Action::Drive(dt, pose)),
        4 => (some(), hold()).prop_map(|(vertices, hold)| Action::Hold(vertices, hold)),
        2 => (any::<usize>(), pose(), wild_vector(-1.0..1.0), wild_vector(-3.0..3.0))
            .prop_map(|(solid, pose, velocity, turning)| Action::MoveSolid(solid, pose, velocity, turning)),
        1 => thing().prop_map(Action::AddSolid),
        1 => any::<usize>().prop_map(Action::RemoveSolid),
        1 => (any::<usize>(), [wild(0.0..0.02), wild(0.5..1.0), wild(0.0..0.5), wild(0.0..1.0)])
            .prop_map(|(solid, surface)| Action::ChangeSolid(solid, surface)),
        2 => (any::<u32>(), wild_vector(-1e-2..1e-2)).prop_map(|(vertex, impulse)| Action::Impulse(vertex, impulse)),
        1 => pose().prop_map(Action::Teleport),
        1 => (vectors(-1.0..1.0), vectors(-1.0..1.0)).prop_map(|(x, v)| Action::SetState(x, v)),
        1 => Just(Action::Reset),
        2 => change().prop_map(Action::Change),
        2 => method().prop_map(Action::Tune),
        2 => Just(Action::Checkpoint),
        1 => Just(Action::Restore),
        1 => any::<usize>().prop_map(Action::Damaged),
        1 => length().prop_map(Action::Cancelled),
        1 => (length(), 0..500u64).prop_map(|(dt, after)| Action::Stopped(dt, after)),
        1 => Just(Action::Read),
        // Nothing can be recorded on the CPU: there is no encoder to record to.
        5 => proptest::collection::vec(length(), 1..4)
            .prop_map(move |lengths| if gpu { Action::Encode(lengths) } else { Action::Step(lengths[0], Vec::new()) }),
    ]
}

// --- What must hold ---

type Checked<T = ()> = std::result::Result<T, TestCaseError>;

/// A cloth, and what its owner knows of it.
struct Owner {
    cloth: Cloth,
    gpu: Option<Gpu>,
    /// Substeps that a frame may take; longer ones are left out, for the time of the test.
    patience: u32,
    held: BTreeSet<u32>,
    attachment: Option<Attachment>,
    /// A checkpoint, and what was held then.
    saved: Option<(Vec<u8>, BTreeSet<u32>)>,
    /// Whether a solid came or went since: then the checkpoint may be refused.
    exchanged: bool,
}

impl Owner {
    fn new(gpu: Option<&Gpu>, scene: Scene) -> Option<Self> {
        let cloth = match gpu {
            Some(gpu) => Cloth::on_gpu(gpu, scene),
            None => Cloth::on_cpu(scene),
        };
        let patience = if gpu.is_some() { 8 } else { 40 };
        let (held, attachment, saved) = (BTreeSet::new(), None, None);
        let exchanged = false;
        Some(Self { cloth: cloth.ok()?, gpu: gpu.cloned(), patience, held, attachment, saved, exchanged })
    }

    /// Mostly a vertex, sometimes the one after the last.
    fn vertex(&self, pick: u32) -> u32 {
        pick % (self.cloth.mesh().vertex_count() as u32 + 1)
    }

    /// What can be driven.
    fn driven(&self) -> Vec<u32> {
        let pins = self.cloth.mesh().pins();
        pins.iter().copied().chain(self.held.iter().copied().filter(|vertex| !pins.contains(vertex))).collect()
    }

    fn tolerable(&self, dt: f32) -> bool {
        let plan = self.cloth.settings().plan(&StepBounds::new(self.cloth.mesh()), dt);
        // What is refused is refused at once.
        plan.map_or(true, |plan| plan.most <= self.patience)
    }

    fn step(&mut self, dt: f32, pin_targets: &[PinTarget]) -> Result<()> {
        if self.tolerable(dt) { self.cloth.step(&FrameInput { dt, pin_targets }) } else { Ok(()) }
    }

    fn act(&mut self, action: &Action) -> Checked<Result<()>> {
        Ok(match action {
            Action::Step(dt, targets) => {
                let driven = self.driven();
                let now = if targets.is_empty() {
                    Vec::new()
                } else {
                    self.cloth.snapshot().expect("it can be read").positions
                };
                let target = |(pick, [x, y, z]): &(u32, [f32; 3])| {
                    // One in eight is any vertex at all.
                    let any = pick % 8 == 0 || driven.is_empty();
                    let vertex = if any { self.vertex(pick / 8) } else { driven[*pick as usize / 8 % driven.len()] };
                    let [a, b, c] = now.get(vertex as usize).copied().unwrap_or_default();
                    PinTarget { vertex, position: [a + x, b + y, c + z] }
                };
                let targets: Vec<PinTarget> = targets.iter().map(target).collect();
                self.step(*dt, &targets)
            }
            Action::Attach(pose) => {
                let now = self.cloth.snapshot().expect("it can be read").positions;
                let attached = Attachment::new(&self.driven(), &now, *pose);
                attached.map(|attachment| self.attachment = Some(attachment))
            }
            Action::Drive(dt, pose) => {
                let targets = self.attachment.as_ref().map(|attachment| attachment.targets(*pose)).unwrap_or_default();
                self.step(*dt, &targets)
            }
            Action::Hold(picks, hold) => {
                let vertices: Vec<u32> = picks.iter().map(|pick| self.vertex(*pick)).collect();
                let outcome = self.cloth.hold(&vertices, *hold);
                if outcome.is_ok() && *hold == Hold::Free {
                    vertices.iter().for_each(|vertex| _ = self.held.remove(vertex));
                } else if outcome.is_ok() {
                    self.held.extend(vertices);
                }
                outcome
            }
            Action::MoveSolid(pick, pose, velocity, turning) => {
                let solid = pick % (self.cloth.solids().len() + 1);
                self.cloth.move_solid(solid, *pose, *velocity, *turning)
            }
            Action::AddSolid(thing) => {
                // Few are enough.
                if self.cloth.solids().len() > 3 {
                    return Ok(Ok(()));
                }
                let added = self.cloth.add_solid(thing.solid());
                self.exchanged |= added.is_ok();
                added.map(|number| assert_eq!(number + 1, self.cloth.solids().len()))
            }
            Action::RemoveSolid(pick) => {
                let removed = self.cloth.remove_solid(pick % (self.cloth.solids().len() + 1));
                self.exchanged |= removed.is_ok();
                removed.map(|_| ())
            }
            Action::ChangeSolid(pick, surface) => {
                let solid = pick % (self.cloth.solids().len() + 1);
                self.cloth.change_solid(solid, |solid| {
                    let [thickness, friction, sliding, restitution] = *surface;
                    (solid.thickness, solid.friction) = (thickness, friction);
                    (solid.sliding_friction, solid.restitution) = (sliding, restitution);
                })
            }
            Action::Impulse(pick, impulse) => self.cloth.add_impulse(self.vertex(*pick), *impulse),
            Action::Teleport(pose) => self.cloth.teleport(*pose),
            Action::SetState(positions, velocities) => {
                let count = self.cloth.mesh().vertex_count().min(positions.len());
                self.cloth.set_state(&positions[..count], &velocities[..count])
            }
            Action::Reset => self.cloth.reset(),
            Action::Change(change) => self.cloth.change(|settings| slide(settings, change)),
            Action::Tune(method) => self.cloth.change(|settings| settings.method = method.clone()),
            Action::Checkpoint => match self.cloth.checkpoint() {
                Ok(bytes) => {
                    prop_assert_eq!(bytes.len() as u64, self.cloth.checkpoint_size());
                    self.saved = Some((bytes, self.held.clone()));
                    self.exchanged = false;
                    Ok(())
                }
                Err(error) => {
                    prop_assert!(matches!(error, Error::Checkpoint { .. }), "{error}");
                    Err(error)
                }
            },
            Action::Restore => {
                if let Some((bytes, held)) = &self.saved {
                    let outcome = self.cloth.restore(bytes);
                    if self.exchanged && outcome.is_err() {
                        prop_assert!(matches!(outcome, Err(Error::Checkpoint { .. })), "{outcome:?}");
                        return Ok(outcome);
                    }
                    prop_assert!(outcome.is_ok(), "its own checkpoint is refused: {outcome:?}");
                    self.held.clone_from(held);
                }
                Ok(())
            }
            Action::Damaged(pick) => {
                let Some((bytes, _)) = &self.saved else { return Ok(Ok(())) };
                let mut bytes = bytes.clone();
                let bit = pick % (8 * bytes.len());
                bytes[bit / 8] ^= 1 << (bit % 8);
                let outcome = self.cloth.restore(&bytes);
                prop_assert!(matches!(outcome, Err(Error::Checkpoint { .. })), "bit {bit}: {outcome:?}");
                outcome
            }
            Action::Cancelled(dt) => {
                let cancel = Cancel::default();
                cancel.cancel();
                self.cloth.set_cancel(Some(cancel));
                let outcome = self.cloth.step(&frame(*dt));
                self.cloth.set_cancel(None);
                prop_assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
                outcome
            }
            Action::Stopped(dt, after) => {
                let cancel = Cancel::default();
                self.cloth.set_cancel(Some(cancel.clone()));
                let after = Duration::from_micros(*after);
                let stopper = std::thread::spawn(move || {
                    std::thread::sleep(after);
                    cancel.cancel();
                });
                let outcome = self.step(*dt, &[]);
                stopper.join().expect("the thread sleeps");
                self.cloth.set_cancel(None);
                outcome
            }
            Action::Read => {
                self.look()?;
                let outcome = self.cloth.frame_cost(FRAME);
                prop_assert!(!matches!(outcome, Err(Error::Device { .. } | Error::DeviceLost)), "{outcome:?}");
                Ok(())
            }
            Action::Encode(lengths) => self.encode(lengths)?,
        })
    }

    /// Records frames and a report, submits them, and takes the report.
    fn encode(&mut self, lengths: &[f32]) -> Checked<Result<()>> {
        let gpu = self.gpu.clone().expect("only a GPU is asked");
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for (number, dt) in lengths.iter().enumerate() {
            if !self.tolerable(*dt) {
                continue;
            }
            let foretold = self.cloth.encoded_dispatches(*dt).ok();
            match self.cloth.encode_step(&mut encoder, &frame(*dt)) {
                Ok(dispatches) => prop_assert_eq!(Some(dispatches), foretold),
                Err(error) => {
                    prop_assert!(foretold.is_none() || matches!(error, Error::OutOfRange { .. }), "{error}");
                    if number == 0 {
                        return Ok(Err(error));
                    }
                }
            }
        }
        let mut pending = self.cloth.encode_report(&mut encoder, true).expect("the device works");
        gpu.queue().submit([encoder.finish()]);
        gpu.device().poll(wgpu::PollType::wait_indefinitely()).expect("the device works");
        let snapshot = pending.try_take().expect("it was waited for").expect("the device works");
        self.judge(&snapshot)?;
        Ok(Ok(()))
    }

    /// A snapshot that was judged; on the CPU, where that costs nothing, everything else as well.
    fn glance(&self) -> Checked<Snapshot> {
        if self.gpu.is_none() {
            return self.look();
        }
        let snapshot = self.cloth.snapshot().expect("it can be read");
        self.judge(&snapshot)?;
        Ok(snapshot)
    }

    /// Everything that is public must be finite, and `converged` true.
    fn look(&self) -> Checked<Snapshot> {
        let cloth = &self.cloth;
        let snapshot = cloth.snapshot().expect("it can be read");
        self.judge(&snapshot)?;
        let mut vectors = vec![
            ("velocities", cloth.velocities().expect("it can be read")),
            ("pin forces", cloth.pin_forces().expect("it can be read")),
            ("constraint forces", cloth.constraint_forces().expect("it can be read")),
        ];
        if let Some(fields) = cloth.fields() {
            let normals = fields.get::<[f32; 4]>("normals").expect("a known field");
            vectors.push(("normals", normals.iter().map(|[x, y, z, _]| [*x, *y, *z]).collect()));
        }
        for (name, vectors) in vectors {
            prop_assert!(vectors.iter().flatten().all(|x| x.is_finite()), "{name}: {vectors:?}");
        }
        if let Some(edge) = cloth.most_loaded_edge().expect("it can be read") {
            prop_assert!(edge.tension.is_finite() && edge.load.is_finite(), "{edge:?}");
        }
        Ok(snapshot)
    }

    fn judge(&self, snapshot: &Snapshot) -> Checked {
        prop_assert!(snapshot.positions.iter().flatten().all(|x| x.is_finite()), "{:?}", snapshot.positions);
        let report = &snapshot.report;
        prop_assert!(report.strain.is_some() && report.converged.is_some(), "positions were read: {report:?}");
        if report.converged == Some(true) {
            let strain = strain(&self.cloth, &snapshot.positions);
            let limit = f64::from(self.cloth.settings().strain_limit);
            prop_assert!(strain <= limit, "a strain of {strain} is called converged: {report:?}");
        }
        Ok(())
    }

    /// All that can be seen of a cloth from outside. Dispatches are left out: on a GPU they depend on what earlier
    /// frames taught about the length of loops.
    fn visible(&self) -> (String, Vec<[u32; 3]>, std::result::Result<Vec<u8>, String>) {
        let cloth = &self.cloth;
        let mut snapshot = cloth.snapshot().expect("it can be read");
        snapshot.report.dispatches = 0;
        let poses: Vec<_> = cloth.solids().iter().map(|s| (s.pose, s.velocity, s.angular_velocity)).collect();
        let words = format!("{:?} {:?} {poses:?} {}", cloth.settings(), snapshot.report, cloth.frame());
        let velocities = cloth.velocities().expect("it can be read");
        let bits = snapshot.positions.iter().chain(&velocities).map(|vector| vector.map(f32::to_bits)).collect();
        (words, bits, cloth.checkpoint().map_err(|error| error.to_string()))
    }
}

fn slide(settings: &mut Settings, change: &Change) {
    match *change {
        Change::Limit(limit) => settings.strain_limit = limit,
        Change::Band(least, most) => (settings.stretch_min, settings.stretch_max) = (least, most),
        Change::Gravity(gravity) => settings.gravity = gravity,
        Change::Drag(drag) => settings.drag = drag,
        Change::Wind(wind) => settings.wind = wind,
        Change::Damping(damping) => settings.damping = damping,
        Change::RestSpeed(speed) => settings.rest_speed = speed,
        Change::Substeps(substeps) => settings.substeps = substeps,
        Change::Rounds(rounds) => settings.contact_rounds = rounds,
        Change::Area(band) => settings.area_limit = band,
        Change::Stepping(stepping) => settings.stepping = stepping,
        Change::Elasticity(elasticity) => settings.elasticity = elasticity,
        Change::Submissions(most) => settings.dispatches_per_submission = most,
        Change::Budget(budget) => settings.dispatch_budget = budget,
        Change::Previous(kept) => settings.keep_previous = kept,
    }
}

/// Largest strain of any edge, between two pins as well, written down anew.
fn strain(cloth: &Cloth, positions: &[[f32; 3]]) -> f64 {
    let common = [cloth.settings().stretch_min, cloth.settings().stretch_max].map(f64::from);
    let mut largest = 0.0f64;
    for (number, edge) in cloth.mesh().edges().iter().enumerate() {
        let kind = cloth.mesh().edge_kinds().get(number).copied().unwrap_or(EdgeKind::Inextensible);
        let [least, most] = kind.band(common);
        let [a, b] = [edge.tail, edge.head].map(|end| positions[end as usize].map(f64::from));
        let length = ((b[0] - a[0]).powi(2) + (b[1] - a[1]).powi(2) + (b[2] - a[2]).powi(2)).sqrt();
        let stretch = length / f64::from(edge.rest);
        largest = largest.max(least - stretch).max(stretch - most);
    }
    largest
}

/// All words of all fields of a cloth on the CPU; nothing on a GPU.
fn everything(cloth: &Cloth) -> Vec<Vec<u32>> {
    let Some(fields) = cloth.fields() else { return Vec::new() };
    (0..fields.specs().len()).map(|number| fields.words(number).to_vec()).collect()
}

/// What happened in all cases together.
#[derive(Debug, Default)]
struct Tally {
    cloths: u64,
    frames: u64,
    converged: u64,
    over: u64,
    rejected: u64,
    twins: u64,
    /// Accepted and refused calls by name.
    calls: BTreeMap<&'static str, [u64; 2]>,
}

#[derive(Clone, Debug)]
struct Case {
    descriptor: MeshDescriptor,
    things: Vec<Thing>,
    settings: Settings,
    actions: Vec<Action>,
}

fn case(gpu: bool) -> impl Strategy<Value = Case> {
    let things = proptest::collection::vec(thing(), 0..3);
    let actions = proptest::collection::vec(action(gpu), if gpu { 1..12 } else { 1..20 });
    (descriptor(), things, settings(), actions).prop_map(|(descriptor, things, settings, actions)| Case {
        descriptor,
        things,
        settings,
        actions,
    })
}

impl Case {
    fn owner(&self, gpu: Option<&Gpu>) -> Option<Owner> {
        let mesh = Mesh::new(self.descriptor.clone()).ok()?;
        let start = mesh.positions().to_vec();
        let mut scene = Scene::new("random", mesh, start);
        scene.solids = self.things.iter().map(Thing::solid).collect();
        Owner::new(gpu, scene.with_settings(self.settings.clone()))
    }

    fn survives(&self, gpu: Option<&Gpu>, tally: &mut Tally) -> Checked {
        let Some(mut owner) = self.owner(gpu) else { return Ok(()) };
        tally.cloths += 1;
        let (mut accepted, mut refused) = (Vec::new(), 0);
        let mut last = owner.glance()?;
        for action in &self.actions {
            let (before, frames) = (everything(&owner.cloth), owner.cloth.frame());
            let outcome = owner.act(action)?;
            tally.calls.entry(action.name()).or_default()[usize::from(outcome.is_err())] += 1;
            let now = owner.glance()?;
            match outcome {
                Ok(()) => {
                    let whole =
                        if let Action::Stopped(dt, _) = action { &Action::Step(*dt, Vec::new()) } else { action };
                    accepted.push(whole.clone());
                }
                Err(error) => {
                    refused += 1;
                    prop_assert!(!matches!(error, Error::Device { .. } | Error::DeviceLost), "{action:?}: {error}");
                    prop_assert!(now == last, "a refused {action:?} is seen: {error}");
                    // What a cancelled frame computed for itself may stay; the twin tells whether it matters.
                    let same = matches!(error, Error::Cancelled) || everything(&owner.cloth) == before;
                    prop_assert!(same, "a refused {action:?} changed something: {error}");
                }
            }
            if owner.cloth.frame() > frames {
                tally.frames += owner.cloth.frame() - frames;
                tally.converged += u64::from(now.report.converged == Some(true));
                tally.over += u64::from(now.report.converged == Some(false));
                tally.rejected += u64::from(now.report.rejected);
            }
            last = now;
        }
        if refused > 0 {
            tally.twins += 1;
            let mut twin = self.owner(gpu).expect("there was one before");
            for action in &accepted {
                let outcome = twin.act(action)?;
                prop_assert!(outcome.is_ok(), "{action:?} was accepted before: {outcome:?}");
            }
            prop_assert!(twin.visible() == owner.visible(), "the twin that was never asked is another");
            // What waits for the next frame shows in it.
            for cloth in [&mut owner, &mut twin] {
                let _ = cloth.step(0.004, &[]);
            }
            prop_assert!(twin.visible() == owner.visible(), "the twin that was never asked goes on differently");
        }
        // A checkpoint of its own is taken back whole, once nothing waits.
        let _ = owner.step(0.004, &[]);
        if let Ok(bytes) = owner.cloth.checkpoint() {
            let outcome = owner.cloth.restore(&bytes);
            prop_assert!(outcome.is_ok(), "its own checkpoint is refused: {outcome:?}");
            prop_assert!(owner.cloth.checkpoint().is_ok_and(|again| again == bytes), "another state was restored");
            owner.look()?;
        }
        Ok(())
    }
}

/// Tries as many cases, and says what happened in them.
fn survive(cases: u32, gpu: Option<&Gpu>) {
    // A case on a software adapter takes up to a second.
    let max_shrink_iters = if gpu.is_some() { 100 } else { 5000 };
    let mut config = ProptestConfig { failure_persistence: None, max_shrink_iters, ..ProptestConfig::default() };
    let given = |name: &str| std::env::var_os(name).is_some();
    if !given("PROPTEST_RNG_SEED") {
        config.rng_seed = RngSeed::Fixed(1);
    }
    if !given("PROPTEST_CASES") {
        config.cases = cases;
    }
    let cases = u64::from(config.cases);
    let tally = RefCell::new(Tally::default());
    let outcome = TestRunner::new(config).run(&case(gpu.is_some()), |case| case.survives(gpu, &mut tally.borrow_mut()));
    let tally = tally.into_inner();
    println!("{cases} cases: {tally:#?}");
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    // Much random input is refused; enough must get through for this to mean anything.
    assert!(tally.cloths > cases / 2 && tally.frames > cases, "too little was accepted");
    assert!(tally.converged > cases / 10 && tally.twins > cases / 10, "too little was judged");
    for name in [
        "step",
        "drive",
        "hold",
        "release",
        "move_solid",
        "add_impulse",
        "teleport",
        "set_state",
        "change",
        "change, the solver",
    ] {
        let [accepted, refused] = tally.calls.get(name).copied().unwrap_or_default();
        // Some are refused once in a hundred calls.
        assert!(accepted > 0 && (refused > 0 || cases < 1000), "{name}: {accepted} accepted, {refused} refused");
    }
}

#[test]
fn a_cloth_on_the_cpu_survives_anything() {
    survive(5000, None);
}

#[test]
fn a_cloth_on_a_gpu_survives_anything() {
    let Some(gpu) = gpu() else { return };
    survive(150, Some(&gpu));
}

// --- What was found on the way, each on its own ---

/// Vertices without edges, on a GPU: no kernel uses what only edges have.
#[test]
fn cloth_without_edges_can_be_asked_for_its_most_loaded_edge() {
    let dust = || MeshDescriptor {
        positions: vec![[0.0; 3], [1.0, 0.0, 0.0]],
        mass: Mass::PerVertex(vec![1.0; 2]),
        ..Default::default()
    };
    let scene = || Scene::new("dust", Mesh::new(dust()).expect("it is valid"), dust().positions);
    let mut cloths = vec![cpu(scene(), Settings::default())];
    let on = |gpu: &Gpu| Cloth::on_gpu(gpu, scene()).expect("the device works");
    cloths.extend(gpus().iter().map(on));
    for cloth in &mut cloths {
        cloth.step(&frame(FRAME)).expect("the step runs");
        assert_eq!(cloth.most_loaded_edge().expect("it is no error"), None);
    }
}

/// A solid that moves as fast as it may is out of the range of solids within a second.
#[test]
fn a_solid_that_flies_away_leaves_a_checkpoint_that_can_be_restored() {
    let mut sheet = taut::scene::sheet(4).expect("a known scene");
    sheet.solids.push(Solid { velocity: [1e6, 0.0, -1e6], ..Solid::new(SolidShape::Sphere { radius: 0.1 }) });
    let mut cloth = cpu(sheet, Settings::default());
    for _ in 0..70 {
        cloth.step(&frame(FRAME)).expect("the step runs");
    }
    assert_eq!(cloth.solids()[0].pose.translation, [1e6, 0.0, -1e6], "it stays at the border");
    let bytes = cloth.checkpoint().expect("nothing waits");
    cloth.restore(&bytes).expect("its own checkpoint is good");
    assert_eq!(cloth.checkpoint().expect("nothing waits"), bytes);
}
