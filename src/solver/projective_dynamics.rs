//! Projective dynamics (Bouaziz, Martin, Liu, Kavan & Pauly 2014, *Projective Dynamics: Fusing Constraint Projections
//! for Fast Simulation*): every edge says where it would like its ends to be, and one linear system that never changes
//! finds the best compromise with inertia.
//!
//! With û the prediction of a substep of span τ, the end of an implicit Euler step is the least of
//!
//! F(u) = ½ (u − û)ᵀ M (u − û) + ½ τ² Σ_e k ‖d_e − p_e‖², p_e the vector nearest to d_e whose length is in its band
//!
//! (eqs. 3 and 8; d_e the vector of an edge, M the masses). An iteration has two steps. The *local* one finds p = L
//! d/|d|, every edge by itself. The *global* one takes p as fixed; then F is quadratic with the constant Hessian M + τ²
//! k 𝓛, 𝓛 the Laplacian of the graph, and
//!
//! (M + τ² k 𝓛) Δu = −∇F = τ² f − M (u − û), f_a = −f_b = k (|d| − L) d/|d|.
//!
//! The force f at the head and tail is that of a spring; only the Hessian is another one: a spring has k n nᵀ + k (1 −
//! L/|d|)(I − n nᵀ), here it is k I, which is never less. So a step never raises F, however well the system is solved:
//! both steps make it smaller, and so does every iteration of conjugate gradients that starts at Δu = 0.
//!
//! **One program, two backends.** The paper factorizes the system once, which is what makes it fast on a CPU and slow
//! on a GPU, and is done again wherever a contact comes or goes. Here the global step is matrix-free
//! ([`crate::stage::conjugate_gradient`]), filtered by S as the elastic solve is (Baraff & Witkin 1998, section 5.3),
//! so contacts and holds cost nothing, and the same dispatches run on both. [`crate::reference`] has the factorized
//! form in f64.
//!
//! **It stretches.** The weights are finite, so a load stretches the edges by T/(k l), and `converged` says whether
//! that is within the limit. Without a `stiffness` it is as much as the limit asks for: a load s = T τ²/(m̄ l) of 1
//! ([`crate::stage::load`]), which is the most that automatic substeps are given, takes half of the limit, so that τ² k
//! = 2 m̄/limit. (To follow the load that is measured was tried: where iterations do not suffice tensions are too
//! large, which makes edges stiffer, which asks for more iterations, without end.) A named stiffness \[N/m\] is a
//! property of the fabric and depends neither on steps nor on iterations, if they suffice.
//!
//! **When to take it.** Where k is a property of the fabric: cloth that gives, by triangles, too
//! ([`crate::solver::shape_matching`]). For limits it is the wrong tool, which is what the other solvers are for: k I
//! resists the turning of an edge as much as its stretching, which only iterations take back, some τ² k/m of them; and
//! conjugate gradients take √(τ² k/m). [Chebyshev acceleration](crate::solver::chebyshev) (Wang 2015) takes the root of
//! the former. The objective may then grow now and then.
//!
//! **Tolerance.** Pulls of stiff edges in balance are thousands of times the weight that they bear, and what a linear
//! solve leaves acts as a force from outside. With 1 % of the first residual a rope on a soft hold sagged by 1.6 times
//! its weight over the stiffness, and holds bore 6 % more or less than a curtain's weight; with 10⁻⁴ both are right.
//!
//! **Energy.** The loop ends where the limit is held, which is before the motion is that of an implicit step. So with
//! the stiffness that a limit asks for energy is gained: half of m g · 0.5 m by a `chain` of 12. With τ² k/m = 2 it
//! gains nothing in 20 iterations.
//!
//! **Laws.** Edges with a [law] of their own have its stiffness, and beyond an end also that of all
//! others, towards that end. The latter is in the system only where an edge is beyond an end, or else what is soft
//! would creep there: some w_end/w_spring iterations. So the system changes from iteration to iteration, F need not
//! fall in each, and none is accelerated. For the device such an edge is solved where the last iteration hardly changed
//! its length.
//!
//! **Forces** of stiff edges are only as exact as lengths are in f32: the last bit of a metre is 2·10⁻⁷ m, and at a
//! limit of 0.1 % in substeps of 1/240 s edges of 1 kg at their ends have 10⁸ N/m. Such a pull flickers by its weight
//! from substep to substep; lengths do not.
//!
//! **Rounds.** Where collision passes follow, û of a later round is where the pass has moved the vertices, without what
//! the rounds before did (`motions`): so springs are not stretched twice. What pins, holds and contacts bear is taken
//! of the pulls at the end of the last round.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | τ² k of an edge, where they differ | `edge_weights` | kg |
//! | û, u − û | `inertial`, `motions` | m |
//! | τ² k (d − p); its size, pulling positive | `edge_pulls.xyz; .w` | kg·m |
//! | τ² f, of triangles, too | `vertex_pulls` | kg·m |
//! | Δu, −∇F | `projective_solutions`, `projective_residuals` | m, kg·m |
//! | 1/diag(M + τ² k 𝓛) | `projective_scales` | 1/kg |
//!
//! Cost: four dispatches per round, six per iteration and six per iteration of the linear solve.

use glam::Vec3;

use crate::engine::cpu::{Run, group_sum};
use crate::engine::fields::{Domain, Fields, Inputs, Spec};
use crate::engine::layout::{GROUP, element};
use crate::engine::program::{Body, Kernel, Pattern, Renames};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::mesh::Link;
use crate::solver::chebyshev::{self, Accelerated};
use crate::solver::jacobi::Acceleration;
use crate::solver::{Assignment, Solver, Variant, shape_matching};
use crate::stage::conjugate_gradient::{self, System};
use crate::stage::edge::{self, Band, COLLAPSED, between};
use crate::stage::fields::{Clock, Frame, Vertex, sums};
use crate::stage::freedom::Freedom;
use crate::stage::law::{self, EdgeLaw};
use crate::stage::magnitude::{grain, mass, step};
use crate::stage::parameter::{Parameter, Parameters, Table, Takes, Value, parameter};
use crate::stage::{Recorder, Stage, reduce, strain};
use crate::vector::{padded, xyz};

static SOURCE: Source = Source::new("projective_dynamics", include_str!("../../shaders/projective_dynamics.wgsl"))
    .constants(&[("PART", Constant::F32(PART))])
    .shares(&[&edge::SOURCE, &law::SOURCE]);

/// Part of the limit that a load of 1 takes.
const PART: f32 = 0.5;

element! {
    /// Parameters that may change from frame to frame; [`ProjectiveDynamics`] says what they are.
    pub(crate) struct ProjectiveDynamicsLive {
        pub(crate) stiffness: f32,
        pub(crate) triangles: f32,
        pub(crate) tolerance: f32,
        pub(crate) padding: f32,
    }
}

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<[f32; 4]>("edge_pulls", Domain::EDGES, "xyz: τ² k (d − p) [kg·m], w: its size").floor(pulls),
    Spec::of::<f32>("edge_weights", Domain::EDGES, "τ² k where edges have laws of their own [kg]").floor(mass),
    Spec::of::<[f32; 4]>("inertial", Domain::VERTICES, "û: where inertia would have the vertex [m]").floor(grain),
    Spec::of::<[f32; 4]>("motions", Domain::VERTICES, "u − û of the substep so far [m]").floor(grain),
    Spec::of::<[f32; 4]>("projective_scales", Domain::VERTICES, "1/diagonal of M + τ² k 𝓛 [1/kg]"),
    Spec::of::<[f32; 4]>("projective_residuals", Domain::VERTICES, "−∇F [kg·m]").floor(pulls),
    Spec::of::<[f32; 4]>("projective_solutions", Domain::VERTICES, "Δu [m]").floor(grain),
    Spec::of::<[f32; 4]>("projective_searches", Domain::VERTICES, "p: search direction [m]").floor(grain),
    Spec::of::<[f32; 4]>("projective_products", Domain::VERTICES, "(M + τ² k 𝓛) p [kg·m]").floor(pulls),
    Spec::of::<[f32; 4]>("projective_preconditioned", Domain::VERTICES, "z = P r [m]").floor(grain),
    Spec::of::<ProjectiveDynamicsLive>(
        "projective_dynamics",
        Domain::Fixed(1),
        "parameters that may change from frame to frame",
    )
    .input(),
];

/// Pull by which an edge that is wrong by the rounding of its ends is pulled back \[kg·m\].
pub(crate) fn pulls(fields: &Fields) -> Result<f32> {
    let live = fields.one::<ProjectiveDynamicsLive>("projective_dynamics")?;
    let (frame, clock) = (fields.one::<Frame>("frame")?, fields.one::<Clock>("clock")?);
    let weight = edge_weight(live, frame, clock) + live.triangles * step(fields)?.powi(2);
    Ok(grain(fields)? * (mass(fields)? + 8.0 * weight))
}

const fn kernel(name: &'static str, body: Body) -> Kernel {
    Kernel::new(name, &SOURCE, body)
}

/// Starts a round.
pub(crate) static BEGIN_ROUND: Kernel = kernel("begin_round", begin_round_body);
/// Takes back what the last round bore.
pub(crate) static FORGET_BORNE: Kernel = kernel("forget_borne", forget_borne_body);
/// The local step. What an edge is too long is a small part of its length, whose rounding the stiffness enlarges to
/// 2/limit times the force that moves a vertex as far in a substep.
pub(crate) static PROJECT_LOCALLY: Kernel = kernel("project_locally", project_locally_body).amplification(64.0);
/// The same where edges have laws of their own.
pub(crate) static PROJECT_LAWFULLY: Kernel = kernel("project_lawfully", project_lawfully_body).amplification(64.0);
/// The diagonal of the system.
pub(crate) static SCALE_GLOBAL: Kernel = kernel("scale_global", scale_global_body);
/// −∇F.
pub(crate) static GLOBAL_RESIDUAL: Kernel = kernel("global_residual", global_residual_body);
/// Where the linear solve ends.
pub(crate) static AIM_GLOBAL: Kernel =
    kernel("aim_global", aim_global_body).pattern(Pattern::Group).aliases(&[("totals", "sums")]);
/// Its part of edges, where some have laws of their own.
pub(crate) static APPLY_LAWFUL_EDGES: Kernel = kernel("apply_lawful_edges", apply_lawful_edges_body);
/// The operator.
pub(crate) static APPLY_GLOBAL: Kernel = kernel("apply_global", apply_global_body);
/// u += Δu.
pub(crate) static APPLY_GLOBAL_STEP: Kernel = kernel("apply_global_step", apply_global_step_body);
/// What is borne at the end of a round.
pub(crate) static BEAR_ROUND: Kernel = kernel("bear_round", bear_round_body);

const SYSTEM: System = System {
    renames: &[
        ("searches", "projective_searches"),
        ("products", "projective_products"),
        ("solutions", "projective_solutions"),
        ("residuals", "projective_residuals"),
        ("preconditioned", "projective_preconditioned"),
        ("scales", "projective_scales"),
    ],
    scale: [1, 0],
    counter: 0,
};

/// What is accelerated.
const SWUNG: Renames = &[("corrections", "projective_solutions")];

/// Parameters of the projection.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectiveDynamics {
    /// Local and global steps per substep at most.
    pub iterations: u32,
    /// Iterations of one global step at most.
    pub inner_iterations: u32,
    /// |r|/|r_0| at which a global step ends, in (0, 1); may be slid live.
    pub tolerance: f32,
    /// Stiffness of edges \[N/m\]; `None` is as much as the limit asks for. The value may be slid live.
    pub stiffness: Option<f32>,
    /// Stiffness of triangles \[N/m\]; 0 leaves them out. The value may be slid live.
    pub triangles: f32,
    /// What makes iterations converge faster.
    pub acceleration: Acceleration,
}

impl Default for ProjectiveDynamics {
    fn default() -> Self {
        Self {
            iterations: 60,
            inner_iterations: 200,
            tolerance: 1e-4,
            stiffness: None,
            triangles: 0.0,
            acceleration: Acceleration::Off,
        }
    }
}

impl ProjectiveDynamics {
    /// Its name, as the program spells it.
    pub const NAME: &'static str = "projective-dynamics";
}

impl Stage for ProjectiveDynamics {
    fn fields(&self) -> Vec<Spec> {
        [FIELDS, shape_matching::FIELDS, chebyshev::FIELDS].concat()
    }

    fn inputs(&self, inputs: &mut Inputs<'_>) -> Result<()> {
        inputs.set(
            "projective_dynamics",
            ProjectiveDynamicsLive {
                stiffness: self.stiffness.unwrap_or(0.0),
                triangles: self.triangles,
                tolerance: self.tolerance,
                padding: 0.0,
            },
        )
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        let (vertices, edges) = (recorder.sizes().vertices() as u32, recorder.sizes().edges() as u32);
        let triangles = self.triangles > 0.0 && recorder.sizes().triangles() > 0;
        let again = recorder.moment().again;
        if again {
            recorder.dispatch(&FORGET_BORNE, Domain::VERTICES);
        }
        if triangles {
            shape_matching::project(recorder);
        }
        let lawful = recorder.sizes().lawful();
        let project = if lawful { &PROJECT_LAWFULLY } else { &PROJECT_LOCALLY };
        let flags = [lawful.into(), triangles.into(), 0, 0];
        recorder.dispatch_range(&BEGIN_ROUND, 0..vertices, [again.into(), 0, 0, 0]);
        recorder.dispatch_range(project, 0..edges, [again.into(), 0, 0, 0]);
        recorder.dispatch_range(&SCALE_GLOBAL, 0..vertices, flags);
        let accelerated =
            (self.acceleration == Acceleration::Chebyshev && !lawful).then_some(Accelerated { spectral_radius: None });
        if let Some(accelerated) = accelerated {
            accelerated.begin(recorder);
        }
        recorder.repeat(self.iterations, |recorder| {
            recorder.dispatch_range(&GLOBAL_RESIDUAL, 0..vertices, flags);
            conjugate_gradient::start(recorder, &SYSTEM, 4 * vertices);
            recorder.dispatch_range(&AIM_GLOBAL, 0..1, [0; 4]);
            let apply = |recorder: &mut Recorder<'_>| {
                if triangles {
                    recorder.dispatch(&shape_matching::APPLY_TRIANGLES, Domain::VERTICES);
                }
                if lawful {
                    recorder.dispatch_range(&APPLY_LAWFUL_EDGES, 0..vertices, flags);
                }
                recorder.dispatch_range(&APPLY_GLOBAL, 0..vertices, flags);
                reduce::record(recorder, &reduce::SUM_PARTIALS, vertices as usize, sums::CURVATURE);
            };
            let words = 4 * vertices;
            let inner = self.inner_iterations;
            let solve = conjugate_gradient::record(recorder, &SYSTEM, words, words as usize, inner, apply, |_| {});
            if let Some(accelerated) = accelerated {
                accelerated.carry_motions(recorder, SWUNG);
            }
            recorder.dispatch(&APPLY_GLOBAL_STEP, Domain::VERTICES);
            if triangles {
                shape_matching::project(recorder);
            }
            recorder.dispatch(project, Domain::EDGES);
            if lawful {
                recorder.dispatch_range(&SCALE_GLOBAL, 0..vertices, flags);
            }
            strain::record(recorder, 1, solve);
        });
        recorder.dispatch_range(project, 0..edges, [0, 1, 0, 0]);
        recorder.dispatch_range(&BEAR_ROUND, 0..vertices, flags);
    }
}

impl Parameters for ProjectiveDynamics {
    const TABLE: &'static str = "projective_dynamics";
    const PARAMETERS: &'static [Parameter<Self>] = &[
        parameter!(iterations: Count, |count| count > 0, "at least 1", "local and global steps per substep at most"),
        parameter!(inner_iterations: Count, |count| count > 0, "at least 1", "iterations of one global step at most"),
        parameter!(
            tolerance: Number,
            |tolerance| tolerance > 0.0 && tolerance < 1.0,
            "in (0, 1)",
            "|r|/|r_0| at which a global step ends"
        ),
        parameter!(
            stiffness: optional Number,
            |stiffness| stiffness > 0.0 && stiffness <= 1e12,
            "in (0, 1e12]",
            "stiffness of edges [N/m]; what the limit asks for if none"
        ),
        parameter!(
            triangles: Number,
            |stiffness| (0.0..=1e12).contains(&stiffness),
            "in [0, 1e12]",
            "stiffness of triangles [N/m]; 0 leaves them out"
        ),
        Parameter {
            name: "acceleration",
            takes: Takes::Word(&Acceleration::NAMES),
            expected: "off or chebyshev",
            about: "what makes iterations converge faster",
            get: |solver| Value::Word(solver.acceleration.name()),
            set: |solver, value| {
                if let Value::Word(name) = value {
                    solver.acceleration = Acceleration::named(name).unwrap_or(solver.acceleration);
                }
            },
            valid: |_| true,
        },
    ];
}

impl Solver for ProjectiveDynamics {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![self]
    }

    fn tables_mut(&mut self) -> Vec<&mut dyn Table> {
        vec![self]
    }

    fn rarities(&self) -> &'static [Assignment] {
        &[("projective_dynamics.iterations", "3"), ("projective_dynamics.inner_iterations", "6")]
    }

    fn variants(&self) -> &'static [Variant] {
        &[Variant {
            name: "projective-dynamics-triangles",
            set: &[("projective_dynamics.triangles", "100"), ("projective_dynamics.acceleration", "chebyshev")],
        }]
    }
}

/// τ² k of an edge without a law of its own \[kg\].
fn edge_weight(live: &ProjectiveDynamicsLive, frame: &Frame, clock: &Clock) -> f32 {
    if live.stiffness > 0.0 {
        return clock.span * clock.span * live.stiffness;
    }
    frame.mean_mass / (PART * frame.least_limit)
}

/// Mass that the system has at a free vertex \[kg\].
fn system_mass(freedom: &Freedom<'_>, v: usize, inverse_mass: f32) -> f32 {
    let mass = 1.0 / inverse_mass;
    freedom.softly(v).map_or(mass, |part| mass / part)
}

/// What edges pull at a vertex.
fn pull_of_edges(edge_incidence: &[u32], edge_pulls: &[[f32; 4]], v: usize) -> Vec3 {
    let mut pull = Vec3::ZERO;
    for k in edge_incidence[v]..edge_incidence[v + 1] {
        let entry = edge_incidence[k as usize];
        pull += if entry & 1 == 1 { -1.0 } else { 1.0 } * xyz(edge_pulls[(entry / 2) as usize]);
    }
    pull
}

fn begin_round_body(run: &mut Run<'_>) -> Result<()> {
    let [again, ..] = run.arguments();
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let motions = run.read::<[f32; 4]>("motions")?;
    let mut inertial = run.write::<[f32; 4]>("inertial")?;
    for v in run.range() {
        let mut goal = xyz(displacements[v]);
        if again == 1 {
            goal -= xyz(motions[v]);
        }
        inertial[v] = padded(goal);
    }
    Ok(())
}

fn scale_global_body(run: &mut Run<'_>) -> Result<()> {
    let [lawful, triangles, ..] = run.arguments();
    let live = run.one::<ProjectiveDynamicsLive>("projective_dynamics")?;
    let ordinary = edge_weight(live, run.one::<Frame>("frame")?, run.one::<Clock>("clock")?);
    let vertices = run.read::<Vertex>("vertices")?;
    let edge_incidence = run.read::<u32>("edge_incidence")?;
    let edge_weights = run.read::<f32>("edge_weights")?;
    let freedom = Freedom::of(run)?;
    let vertex_pulls = run.read::<[f32; 4]>("vertex_pulls")?;
    let mut projective_scales = run.write::<[f32; 4]>("projective_scales")?;
    for v in run.range() {
        let mut scale = 0.0;
        let inverse_mass = vertices[v].inverse_mass;
        if inverse_mass > 0.0 {
            let mut diagonal = system_mass(&freedom, v, inverse_mass);
            for entry in &edge_incidence[edge_incidence[v] as usize..edge_incidence[v + 1] as usize] {
                diagonal += if lawful == 1 { edge_weights[(entry / 2) as usize] } else { ordinary };
            }
            if triangles == 1 {
                diagonal += vertex_pulls[v][3];
            }
            scale = 1.0 / diagonal;
        }
        projective_scales[v] = [scale, scale, scale, 0.0];
    }
    Ok(())
}

fn forget_borne_body(run: &mut Run<'_>) -> Result<()> {
    let clock = run.one::<Clock>("clock")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let freedom = Freedom::of(run)?;
    let vertex_pulls = run.read::<[f32; 4]>("vertex_pulls")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    for v in run.range() {
        let inverse_mass = vertices[v].inverse_mass;
        if freedom.bears(inverse_mass) {
            let borne = freedom.borne(v, inverse_mass, xyz(vertex_pulls[v]));
            reactions[v] = padded(xyz(reactions[v]) - clock.force * borne);
        }
    }
    Ok(())
}

/// The pull of an edge by its size at this length.
fn pull_along(vertices: &[Vertex], edge: &Link, d: Vec3, extent: f32, size: f32) -> [f32; 4] {
    let masses = vertices[edge.tail as usize].inverse_mass + vertices[edge.head as usize].inverse_mass;
    if extent < COLLAPSED * edge.rest || masses == 0.0 {
        return [0.0; 4];
    }
    ((size / extent) * d).extend(size).to_array()
}

fn project_locally_body(run: &mut Run<'_>) -> Result<()> {
    let [forget, note, ..] = run.arguments();
    let live = run.one::<ProjectiveDynamicsLive>("projective_dynamics")?;
    let (frame, clock) = (run.one::<Frame>("frame")?, run.one::<Clock>("clock")?);
    let (band, weight) = (Band::of(frame), edge_weight(live, frame, clock));
    let edges = run.read::<Link>("edges")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let mut edge_pulls = run.write::<[f32; 4]>("edge_pulls")?;
    let mut tensions = run.write::<f32>("tensions")?;
    for e in run.range() {
        if forget == 1 {
            tensions[e] -= clock.force * edge_pulls[e][3];
        }
        let edge = &edges[e];
        let d = between(vertices, |v| xyz(displacements[v]), edge.tail as usize, edge.head as usize);
        let extent = d.length();
        let size = weight * (extent - band.wanted(extent, edge.rest));
        let pull = pull_along(vertices, edge, d, extent, size);
        edge_pulls[e] = pull;
        if note == 1 {
            tensions[e] += clock.force * pull[3];
        }
    }
    Ok(())
}

fn project_lawfully_body(run: &mut Run<'_>) -> Result<()> {
    let [_, note, ..] = run.arguments();
    let live = run.one::<ProjectiveDynamicsLive>("projective_dynamics")?;
    let (frame, clock) = (run.one::<Frame>("frame")?, run.one::<Clock>("clock")?);
    let (band, ordinary) = (Band::of(frame), edge_weight(live, frame, clock));
    let edges = run.read::<Link>("edges")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let mut edge_pulls = run.write::<[f32; 4]>("edge_pulls")?;
    let mut edge_laws = run.write::<EdgeLaw>("edge_laws")?;
    let mut edge_weights = run.write::<f32>("edge_weights")?;
    for e in run.range() {
        let (edge, law) = (&edges[e], edge_laws[e]);
        let d = between(vertices, |v| xyz(displacements[v]), edge.tail as usize, edge.head as usize);
        let extent = d.length();
        let mut weight = ordinary;
        let mut size = ordinary * (extent - band.wanted(extent, edge.rest));
        if law.is_own() {
            let (firmness, ended) = (law.firmness(clock.span), law.ended(extent, edge.rest));
            size = firmness * (extent - edge.rest) + ordinary * (extent - ended);
            weight = firmness + if ended == extent { 0.0 } else { ordinary };
        }
        edge_weights[e] = weight;
        let pull = pull_along(vertices, edge, d, extent, size);
        edge_laws[e].multiplier = if note == 1 { pull[3] } else { edge_pulls[e][3] };
        edge_pulls[e] = pull;
    }
    Ok(())
}

fn global_residual_body(run: &mut Run<'_>) -> Result<()> {
    let [_, triangles, ..] = run.arguments();
    let vertices = run.read::<Vertex>("vertices")?;
    let edge_incidence = run.read::<u32>("edge_incidence")?;
    let freedom = Freedom::of(run)?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let inertial = run.read::<[f32; 4]>("inertial")?;
    let edge_pulls = run.read::<[f32; 4]>("edge_pulls")?;
    let vertex_pulls = run.read::<[f32; 4]>("vertex_pulls")?;
    let mut projective_residuals = run.write::<[f32; 4]>("projective_residuals")?;
    for v in run.range() {
        let mut residual = Vec3::ZERO;
        let inverse_mass = vertices[v].inverse_mass;
        if inverse_mass > 0.0 {
            let mut pull = pull_of_edges(edge_incidence, edge_pulls, v);
            if triangles == 1 {
                pull += xyz(vertex_pulls[v]);
            }
            let way = xyz(displacements[v]) - xyz(inertial[v]);
            residual = freedom.filtered(v, pull - system_mass(&freedom, v, inverse_mass) * way);
        }
        projective_residuals[v] = padded(residual);
    }
    Ok(())
}

fn aim_global_body(run: &mut Run<'_>) -> Result<()> {
    let live = run.one::<ProjectiveDynamicsLive>("projective_dynamics")?;
    let mut totals = run.write::<[f32; 4]>("totals")?;
    totals[sums::PREVIOUS as usize][2] = live.tolerance * live.tolerance * totals[sums::RESIDUAL as usize][1];
    Ok(())
}

fn apply_lawful_edges_body(run: &mut Run<'_>) -> Result<()> {
    let [_, triangles, ..] = run.arguments();
    let edges = run.read::<Link>("edges")?;
    let edge_incidence = run.read::<u32>("edge_incidence")?;
    let edge_weights = run.read::<f32>("edge_weights")?;
    let searches = run.read::<[f32; 4]>("projective_searches")?;
    let mut vertex_pulls = run.write::<[f32; 4]>("vertex_pulls")?;
    for v in run.range() {
        let mut product = if triangles == 1 { xyz(vertex_pulls[v]) } else { Vec3::ZERO };
        let here = xyz(searches[v]);
        for entry in &edge_incidence[edge_incidence[v] as usize..edge_incidence[v + 1] as usize] {
            let edge = edges[(entry / 2) as usize];
            let other = xyz(searches[if entry & 1 == 1 { edge.tail } else { edge.head } as usize]);
            product += edge_weights[(entry / 2) as usize] * (here - other);
        }
        vertex_pulls[v] = product.extend(vertex_pulls[v][3]).to_array();
    }
    Ok(())
}

fn apply_global_body(run: &mut Run<'_>) -> Result<()> {
    let [lawful, triangles, ..] = run.arguments();
    let live = run.one::<ProjectiveDynamicsLive>("projective_dynamics")?;
    let weight = edge_weight(live, run.one::<Frame>("frame")?, run.one::<Clock>("clock")?);
    let edges = run.read::<Link>("edges")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let edge_incidence = run.read::<u32>("edge_incidence")?;
    let freedom = Freedom::of(run)?;
    let searches = run.read::<[f32; 4]>("projective_searches")?;
    let vertex_pulls = run.read::<[f32; 4]>("vertex_pulls")?;
    let mut products = run.write::<[f32; 4]>("projective_products")?;
    let mut partials = run.write::<[f32; 2]>("partials")?;
    for first in run.range().step_by(GROUP) {
        let mut lanes = [[0.0f32; 2]; GROUP];
        for v in first..run.range().end.min(first + GROUP) {
            let mut product = Vec3::ZERO;
            let inverse_mass = vertices[v].inverse_mass;
            if inverse_mass > 0.0 {
                let here = xyz(searches[v]);
                product = system_mass(&freedom, v, inverse_mass) * here;
                if lawful == 0 {
                    let mut apart = Vec3::ZERO;
                    for entry in &edge_incidence[edge_incidence[v] as usize..edge_incidence[v + 1] as usize] {
                        let edge = edges[(entry / 2) as usize];
                        apart += here - xyz(searches[if entry & 1 == 1 { edge.tail } else { edge.head } as usize]);
                    }
                    product += weight * apart;
                }
                if lawful == 1 || triangles == 1 {
                    product += xyz(vertex_pulls[v]);
                }
                product = freedom.filtered(v, product);
                lanes[v - first][0] = here.dot(product);
            }
            products[v] = padded(product);
        }
        partials[run.group(first)] = group_sum(&lanes);
    }
    Ok(())
}

fn apply_global_step_body(run: &mut Run<'_>) -> Result<()> {
    let inertial = run.read::<[f32; 4]>("inertial")?;
    let solutions = run.read::<[f32; 4]>("projective_solutions")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut motions = run.write::<[f32; 4]>("motions")?;
    for v in run.range() {
        let moved = xyz(displacements[v]) + xyz(solutions[v]);
        displacements[v] = padded(moved);
        motions[v] = padded(moved - xyz(inertial[v]));
    }
    Ok(())
}

fn bear_round_body(run: &mut Run<'_>) -> Result<()> {
    let [_, triangles, ..] = run.arguments();
    let clock = run.one::<Clock>("clock")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let edge_incidence = run.read::<u32>("edge_incidence")?;
    let freedom = Freedom::of(run)?;
    let edge_pulls = run.read::<[f32; 4]>("edge_pulls")?;
    let mut vertex_pulls = run.write::<[f32; 4]>("vertex_pulls")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    for v in run.range() {
        let mut pull = pull_of_edges(edge_incidence, edge_pulls, v);
        if triangles == 1 {
            pull += xyz(vertex_pulls[v]);
        }
        vertex_pulls[v] = pull.extend(vertex_pulls[v][3]).to_array();
        let inverse_mass = vertices[v].inverse_mass;
        if freedom.bears(inverse_mass) {
            let borne = freedom.borne(v, inverse_mass, pull);
            reactions[v] = padded(xyz(reactions[v]) + clock.force * borne);
        }
    }
    Ok(())
}
