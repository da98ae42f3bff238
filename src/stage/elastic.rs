//! Implicit elasticity: springs whose steps are not limited by their stiffness.
//!
//! Explicit springs are stable while k h²/m stays below about 0.3, which at 1/60 s and fine meshes is thousands of
//! times less than a fabric has. The implicit step of Baraff & Witkin (1998, eqs. 15–16) solves (M − τ²K) Δv = τ (f + τ
//! K v) for the change of velocity, K = ∂f/∂x. Written for displacements, with u the prediction by inertia and outer
//! forces, the same system is
//!
//! (M − τ² K) y = τ² (f + K u), then u += y:
//!
//! what springs do is a correction after the prediction. The solve is
//! [`crate::stage::conjugate_gradient`] on vertex vectors, with the diagonal as preconditioner; pinned vertices are
//! filtered (their rows and residuals are zero, the motion of driven ones enters through K u). A spring's K is filtered
//! to stay definite: k (n nᵀ + c (I − n nᵀ)), c = max(1 − l/|d|, 0), stored as a aᵀ + k c I with a = √(k − k c) n.
//!
//! Bending adds its K p ([`crate::stage::bending`]). Damping of internal motion is that of the stiffness, β K v with v
//! = u/τ at the end of the step: τ² K becomes (τ² + β τ) K. A motion that changes no shape is not damped.
//!
//! Holds filter the system: products and residuals are S q and S r (the modified conjugate gradients of
//! Baraff & Witkin, section 5.3, with the corrected preconditioner and starting norm). The inverse diagonal of a vertex
//! is the same in all directions then, so that it keeps what S leaves, and no other step needs a filter. What S takes
//! is the constraint force (section 5.4).
//!
//! It starts from what the springs did in the substep before: u is moved there first (`elastic_motions`), and the solve
//! is for the rest. What a hold forbids is not kept: no solve would ever correct it. Of a vertex on a spring nothing is
//! kept, so that what the spring bears is its part of the force at the end.
//!
//! Contact comes after it, as it comes after all forces: a solve that already keeps vertices on a surface cannot lift
//! them off, so that whatever touched once would stay, and a start that points into the solid would make it touch for
//! ever.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | a; k c | `spring_directions.xyz; .w` | √(N/m); N/m |
//! | 1/diag(M − τ²K) | `elastic_scales` | 1/kg |
//! | f | `elastic_forces` | N |
//! | y | `elastic_motions` | m |
//! | what the solve adds to it, r | `elastic_solutions`, `elastic_residuals` | m, kg·m |
//! | τ | `clock.span` | s |
//!
//! It ends at a part of |M y|, as it was in the substep before, or of |r_0| where that is larger; the part grows with
//! the step from 0.01 to 0.05. Looser solves are cheaper and gain energy where shear is stiff. That is not enough for
//! cloth that comes to rest: |M y| is what springs bear there, and a hundredth of it, left in another way by every
//! solve, shakes the folds for ever (1 cm/s in a draped sheet, whatever the air takes). So what is left must also be
//! too little to change the speed of the cloth by more than itself per second (`RATE`): the slower it is, the better
//! the solve. Either way it ends where what is left would accelerate vertices by less than 0.01 m/s². Cost: 11
//! dispatches and 6 per iteration, 7 with bending; 2–20 iterations at ordinary steps.

use std::ops::Range;

use fearless_simd::{Simd, prelude::*};
use glam::{UVec2, Vec3};

use crate::engine::cpu::{Run, group_sum};
use crate::engine::fields::{Domain, Inputs, Spec};
use crate::engine::layout::{GROUP, element};
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::Source;
use crate::error::Result;
use crate::lanes::{self, LANES, Vec3s, Wide, Work};
use crate::mesh::Link;
use crate::stage::Recorder;
use crate::stage::conjugate_gradient::{self, System};
use crate::stage::fields::{Clock, Frame, Vertex, sums};
use crate::stage::freedom::{self, Freedom};
use crate::stage::magnitude::{grain, impulse, stiffest, tension};
use crate::stage::springs::Neighbors;
use crate::stage::{Stage, bending, reduce};
use crate::vector::{Triple, padded, xyz};

static SOURCE: Source = Source::new("elastic", include_str!("../../shaders/elastic.wgsl")).shares(&[&freedom::SOURCE]);

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<[f32; 4]>(
        "spring_directions",
        Domain::SPRINGS,
        "xyz: √(k − w) n [√(N/m)], w: k max(1 − l/|d|, 0) [N/m]",
    )
    .floor(|f| Ok(stiffest(f)?.max(1.0))),
    Spec::of::<[f32; 4]>(
        "elastic_forces",
        Domain::VERTICES,
        "xyz: elastic forces at the start [N], w: diagonal of bending [N/m]",
    )
    .floor(tension),
    Spec::of::<[f32; 4]>("elastic_scales", Domain::VERTICES, "1/diagonal of M − τ²K [1/kg]"),
    Spec::of::<[f32; 4]>("elastic_solutions", Domain::VERTICES, "what is added to y [m]").floor(grain),
    Spec::of::<[f32; 4]>("elastic_motions", Domain::VERTICES, "y: what springs did to the last prediction [m]")
        .persistent()
        .floor(grain),
    Spec::of::<[f32; 4]>("elastic_residuals", Domain::VERTICES, "r = τ²(f + K u) − (M − τ²K) y [kg·m]").floor(impulse),
    Spec::of::<[f32; 4]>("elastic_searches", Domain::VERTICES, "p: search direction [m]").floor(grain),
    Spec::of::<[f32; 4]>("elastic_products", Domain::VERTICES, "(M − τ²K) p [kg·m]").floor(impulse),
    Spec::of::<[f32; 4]>("elastic_preconditioned", Domain::VERTICES, "z = P r [m]").floor(grain),
    Spec::of::<Elastic>("elastic", Domain::Fixed(1), "what may be left of a solve, and damping").input(),
];

/// Direction of a spring.
pub(crate) static LINEARIZE_SPRING: Kernel = Kernel::new("linearize_spring", &SOURCE, linearize_spring_body);
/// Preconditioner of a vertex, and where its solve starts.
pub(crate) static START_ELASTIC: Kernel = Kernel::new("start_elastic", &SOURCE, start_elastic_body);
/// Where the solve ends.
pub(crate) static AIM_ELASTIC: Kernel =
    Kernel::new("aim_elastic", &SOURCE, aim_elastic_body).pattern(Pattern::Group).aliases(&[("totals", "sums")]);
/// The operator.
pub(crate) static APPLY_STIFFNESS: Kernel = Kernel::new("apply_stiffness", &SOURCE, apply_stiffness_body);
/// What is left to be solved.
pub(crate) static ELASTIC_RESIDUAL: Kernel = Kernel::new("elastic_residual", &SOURCE, elastic_residual_body);
/// u += y.
pub(crate) static APPLY_ELASTIC: Kernel = Kernel::new("apply_elastic", &SOURCE, apply_elastic_body);

/// What a pin bears.
pub(crate) static BEAR_ELASTIC: Kernel = Kernel::new("bear_elastic", &SOURCE, bear_elastic_body);

/// How springs are integrated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Elasticity {
    /// What takes the least time: [`crate::cloth::substeps`] has the rule.
    #[default]
    Auto,
    /// Forces at the start of the substep; the substep rule keeps it stable, a fixed number that does not is refused.
    Explicit,
    /// Forces at the end of the substep, by a linear solve.
    Implicit,
    /// Forces at the end of the substep, line by line ([`crate::solver::diagonals`]); by a linear solve where springs
    /// do not lie on lines of few families, or where bending is too stiff to be explicit beside them, or may not be
    /// explicit (with damping and second-order steps). A number of substeps that the caller names is kept, whatever the
    /// stiffness.
    Diagonals,
}

/// Iterations of a solve at most: more would only sharpen a prediction that the projection changes anyway.
const ITERATIONS: u32 = 100;

/// What may be left of a solve at the longest step that explicit springs would stand. It grows with
/// the step, as the error of the time stepping does.
const TOLERANCE: f32 = 0.01;

/// What may be left at any step: from 0.1 on, sheets with stiff shear have been seen to gain energy.
const LOOSEST: f32 = 0.05;

/// Change of the cloth's speed that may be left unsolved, relative to that speed \[1/s\].
const RATE: f32 = 1.0;

/// Acceleration that may be left unsolved \[m/s²\].
const LEFT: f32 = 0.01;

element! {
    /// What may be left of a solve, and what it is told of the fabric.
    pub struct Elastic {
        /// Residual at which it ends, as a part of M y and per second of the step.
        pub(crate) tolerance: f32,
        /// Largest part of M y at which it ends.
        pub(crate) loosest: f32,
        /// What it may leave, as a change of the cloth's speed relative to that speed \[1/s\].
        pub(crate) rate: f32,
        /// r·r over τ⁴ below which it ends anyway \[N²\].
        pub(crate) floor: f32,
        /// Time by which stiffness damps \[s\].
        pub(crate) damping: f32,
        /// Whether `bend_forces` say anything.
        pub(crate) bends: u32,
        pub(crate) padding: UVec2,
    }
}

impl Elastic {
    /// For vertices of this mean mass \[kg\], the light ones of which have this part of a quarter of it, and springs
    /// that could be explicit in steps of this length \[s\]. A residual is a force over all vertices: what is little
    /// to most of them throws the lightest about.
    pub(crate) fn new(
        vertices: usize,
        mean_mass: f32,
        lightness: f32,
        explicit_step: f32,
        damping: f32,
        bends: bool,
    ) -> Self {
        let force = LEFT * mean_mass * lightness;
        Self {
            tolerance: TOLERANCE / explicit_step * lightness.sqrt(),
            loosest: LOOSEST,
            rate: RATE,
            // What is left accelerates vertices by less than `LEFT`, in the mean.
            floor: vertices as f32 * force * force,
            damping,
            bends: bends.into(),
            padding: UVec2::ZERO,
        }
    }
}

const SYSTEM: System = System {
    renames: &[
        ("searches", "elastic_searches"),
        ("products", "elastic_products"),
        ("solutions", "elastic_solutions"),
        ("residuals", "elastic_residuals"),
        ("preconditioned", "elastic_preconditioned"),
        ("scales", "elastic_scales"),
    ],
    scale: [1, 0],
    counter: 1,
};

/// The start: the springs' stiffness, and where the solve before leads to. What holds change about the prediction
/// comes after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begin;

impl Stage for Begin {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&LINEARIZE_SPRING, Domain::SPRINGS);
        recorder.dispatch(&START_ELASTIC, Domain::VERTICES);
        reduce::record(recorder, &reduce::SUM_PARTIALS, recorder.sizes().vertices(), sums::CURVATURE);
    }
}

/// The implicit correction of the prediction.
impl Stage for Elastic {
    fn fields(&self) -> Vec<Spec> {
        FIELDS.to_vec()
    }

    fn inputs(&self, inputs: &mut Inputs<'_>) -> Result<()> {
        inputs.set("elastic", *self)
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        let vertices = recorder.sizes().vertices() as u32;
        bending::apply(recorder, &[("searches", "displacements")]);
        recorder.dispatch_renamed(&ELASTIC_RESIDUAL, Domain::VERTICES, &[("searches", "displacements")]);
        conjugate_gradient::start(recorder, &SYSTEM, 4 * vertices);
        recorder.dispatch_range(&AIM_ELASTIC, 0..1, [0; 4]);
        conjugate_gradient::record(recorder, &SYSTEM, 4 * vertices, 4 * vertices as usize, ITERATIONS, apply, |_| {});
        recorder.dispatch(&APPLY_ELASTIC, Domain::VERTICES);
        bending::apply(recorder, &[("searches", "displacements")]);
        recorder.dispatch_renamed(&BEAR_ELASTIC, Domain::VERTICES, &[("searches", "displacements")]);
    }
}

/// Records q = (M − τ² K) p and the reduction of p·q.
fn apply(recorder: &mut Recorder<'_>) {
    bending::apply(recorder, SYSTEM.renames);
    recorder.dispatch_renamed(&APPLY_STIFFNESS, Domain::VERTICES, SYSTEM.renames);
    reduce::record(recorder, &reduce::SUM_PARTIALS, recorder.sizes().vertices(), sums::CURVATURE);
}

fn linearize_spring_body(run: &mut Run<'_>) -> Result<()> {
    let vertices = run.read::<Vertex>("vertices")?;
    let springs = run.read::<Link>("springs")?;
    let mut spring_directions = run.write::<[f32; 4]>("spring_directions")?;
    for e in run.range() {
        let spring = springs[e];
        let d = vertices[spring.head as usize].position - vertices[spring.tail as usize].position;
        let extent = d.length();
        spring_directions[e] = if extent > 0.0 {
            let across = spring.stiffness * (1.0 - spring.rest / extent).max(0.0);
            let n = ((spring.stiffness - across).sqrt() / extent) * d;
            [n.x, n.y, n.z, across]
        } else {
            [0.0; 4]
        };
    }
    Ok(())
}

fn start_elastic_body(run: &mut Run<'_>) -> Result<()> {
    let elastic = run.one::<Elastic>("elastic")?;
    let frame = run.one::<Frame>("frame")?;
    let clock = run.one::<Clock>("clock")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let incidence = run.read::<u32>("spring_incidence")?;
    let spring_directions = run.read::<[f32; 4]>("spring_directions")?;
    let mut elastic_forces = run.write::<[f32; 4]>("elastic_forces")?;
    let mut elastic_scales = run.write::<[f32; 4]>("elastic_scales")?;
    let mut elastic_motions = run.write::<[f32; 4]>("elastic_motions")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut partials = run.write::<[f32; 2]>("partials")?;
    let square = clock.span * clock.span;
    let ratio = clock.h / clock.previous;
    for first in run.range().step_by(GROUP) {
        let mut lanes = [[0.0f32; 2]; GROUP];
        for v in first..run.range().end.min(first + GROUP) {
            let inverse_mass = vertices[v].inverse_mass;
            let (mut scale, mut motion) = ([0.0; 4], Vec3::ZERO);
            if inverse_mass > 0.0 {
                let mass = 1.0 / inverse_mass;
                let mut stiffness = Vec3::splat(elastic_forces[v][3]);
                for entries in incidence[incidence[v] as usize..incidence[v + 1] as usize].chunks(2) {
                    let n = spring_directions[(entries[0] / 2) as usize];
                    stiffness += xyz(n) * xyz(n) + Vec3::splat(n[3]);
                }
                if frame.constrained != 0 {
                    stiffness = Vec3::splat(stiffness.max_element());
                }
                let Vec3 { x, y, z } = Vec3::ONE / (Vec3::splat(mass) + damped(elastic, clock) * stiffness);
                scale = [x, y, z, mass];
                // Not by a factor of 0: what a rejected substep left may not be finite.
                if clock.previous > 0.0 {
                    motion = (ratio * ratio) * xyz(elastic_motions[v]);
                }
                let pull = mass * motion;
                let moving = mass * (xyz(displacements[v]) - square * frame.gravity);
                lanes[v - first] = [moving.dot(moving), pull.dot(pull)];
                let force = xyz(elastic_forces[v]) - pull / square;
                elastic_forces[v] = [force.x, force.y, force.z, elastic_forces[v][3]];
            }
            elastic_scales[v] = scale;
            elastic_motions[v] = padded(motion);
            displacements[v] = padded(xyz(displacements[v]) + motion);
        }
        partials[run.group(first)] = group_sum(&lanes);
    }
    Ok(())
}

/// The springs as the operator sees them.
struct Springs<'a> {
    incidence: &'a [u32],
    directions: &'a [[f32; 4]],
    searches: &'a [[f32; 4]],
    /// K p of bending, where there is any.
    bend_forces: Option<&'a [[f32; 4]]>,
}

impl<'a> Springs<'a> {
    fn of(run: &mut Run<'a>) -> Result<Self> {
        Ok(Self {
            incidence: run.read::<u32>("spring_incidence")?,
            directions: run.read::<[f32; 4]>("spring_directions")?,
            searches: run.read::<[f32; 4]>("searches")?,
            bend_forces: {
                let bend_forces = run.read::<[f32; 4]>("bend_forces")?;
                (run.one::<Elastic>("elastic")?.bends != 0).then_some(bend_forces)
            },
        })
    }

    /// (K p) of one vertex.
    fn force(&self, v: usize) -> Vec3 {
        self.forces(v..v + 1)[0]
    }

    /// (K p) of the vertices of a workgroup, or of a part of it.
    fn forces(&self, vertices: Range<usize>) -> [Vec3; GROUP] {
        lanes::widest(ApplySprings { springs: self, vertices })
    }
}

struct ApplySprings<'a, 'b> {
    springs: &'a Springs<'b>,
    vertices: Range<usize>,
}

impl Work for ApplySprings<'_, '_> {
    type Output = [Vec3; GROUP];

    #[inline(always)]
    fn on<S: Simd>(self, simd: S) -> [Vec3; GROUP] {
        let Self { springs: Springs { incidence, directions, searches, bend_forces }, vertices } = self;
        let zero = Wide::splat(simd, 0.0);
        let mut forces = [Vec3::ZERO; GROUP];
        for first in (0..vertices.len()).step_by(LANES) {
            let neighbors = Neighbors::new(incidence, vertices.start + first..vertices.end);
            let (here, _) = Vec3s::gather(simd, |lane| searches[neighbors.vertex(lane)]);
            let mut sum = Triple::splat(zero);
            for j in 0..neighbors.most() {
                let each = neighbors.springs(j);
                let (there, _) = Vec3s::gather(simd, |lane| searches[each[lane][1] as usize]);
                let (direction, across) = Vec3s::gather(simd, |lane| directions[each[lane][0] as usize]);
                let d = there - here;
                sum = sum + (direction * direction.dot(d) + d * across);
            }
            sum.scatter(
                #[inline(always)]
                |lane, force| forces[first + lane] = xyz(force),
            );
        }
        if let Some(bend_forces) = bend_forces {
            for (force, bend) in forces.iter_mut().zip(&bend_forces[vertices]) {
                *force += xyz(*bend);
            }
        }
        forces
    }
}

/// What stiffness is multiplied by: τ² + β τ.
fn damped(elastic: &Elastic, clock: &Clock) -> f32 {
    clock.span * clock.span + elastic.damping * clock.span
}

fn aim_elastic_body(run: &mut Run<'_>) -> Result<()> {
    let elastic = run.one::<Elastic>("elastic")?;
    let clock = run.one::<Clock>("clock")?;
    let mut totals = run.write::<[f32; 4]>("totals")?;
    let start = totals[sums::RESIDUAL as usize];
    let square = clock.span * clock.span;
    let tolerance = (elastic.tolerance * clock.span).min(elastic.loosest);
    let rate = elastic.rate * clock.span;
    let [moving, pulled, ..] = totals[sums::CURVATURE as usize];
    let seen = (tolerance * tolerance * start[1].max(pulled)).min(rate * rate * moving);
    totals[sums::PREVIOUS as usize][2] = seen.max(elastic.floor * square * square);
    Ok(())
}

fn apply_stiffness_body(run: &mut Run<'_>) -> Result<()> {
    let clock = run.one::<Clock>("clock")?;
    let freedom = Freedom::of(run)?;
    let springs = Springs::of(run)?;
    let elastic_scales = run.read::<[f32; 4]>("elastic_scales")?;
    let mut products = run.write::<[f32; 4]>("products")?;
    let mut partials = run.write::<[f32; 2]>("partials")?;
    let square = damped(run.one::<Elastic>("elastic")?, clock);
    for first in run.range().step_by(GROUP) {
        let mut lanes = [[0.0f32; 2]; GROUP];
        let group = first..run.range().end.min(first + GROUP);
        let forces = springs.forces(group.clone());
        for v in group {
            let mass = elastic_scales[v][3];
            let mut product = Vec3::ZERO;
            if mass > 0.0 {
                let here = xyz(springs.searches[v]);
                product = freedom.filtered(v, mass * here - square * forces[v - first]);
                lanes[v - first][0] = here.dot(product);
            }
            products[v] = padded(product);
        }
        partials[run.group(first)] = group_sum(&lanes);
    }
    Ok(())
}

fn elastic_residual_body(run: &mut Run<'_>) -> Result<()> {
    let clock = run.one::<Clock>("clock")?;
    let freedom = Freedom::of(run)?;
    let springs = Springs::of(run)?;
    let elastic_forces = run.read::<[f32; 4]>("elastic_forces")?;
    let mut elastic_scales = run.write::<[f32; 4]>("elastic_scales")?;
    let mut elastic_residuals = run.write::<[f32; 4]>("elastic_residuals")?;
    let (square, damped) = (clock.span * clock.span, damped(run.one::<Elastic>("elastic")?, clock));
    for first in run.range().step_by(GROUP) {
        let group = first..run.range().end.min(first + GROUP);
        let forces = springs.forces(group.clone());
        for v in group {
            let mut residual = Vec3::ZERO;
            let mass = elastic_scales[v][3];
            if mass > 0.0 {
                residual = freedom.filtered(v, square * xyz(elastic_forces[v]) + damped * forces[v - first]);
                if let Some(part) = freedom.softly(v) {
                    let whole = mass / part;
                    let diagonal = Vec3::ONE / xyz(elastic_scales[v]) + Vec3::splat(whole - mass);
                    elastic_scales[v] = (Vec3::ONE / diagonal).extend(whole).to_array();
                }
            }
            elastic_residuals[v] = padded(residual);
        }
    }
    Ok(())
}

fn bear_elastic_body(run: &mut Run<'_>) -> Result<()> {
    let elastic = run.one::<Elastic>("elastic")?;
    let clock = run.one::<Clock>("clock")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let freedom = Freedom::of(run)?;
    let springs = Springs::of(run)?;
    let elastic_forces = run.read::<[f32; 4]>("elastic_forces")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    for v in run.range() {
        let inverse_mass = vertices[v].inverse_mass;
        if !freedom.bears(inverse_mass) {
            continue;
        }
        let mut force = (1.0 + elastic.damping / clock.span) * springs.force(v);
        if inverse_mass > 0.0 {
            force += xyz(elastic_forces[v]);
        }
        let borne = freedom.borne(v, inverse_mass, force);
        reactions[v] = padded(xyz(reactions[v]) + borne / clock.substeps as f32);
    }
    Ok(())
}

fn apply_elastic_body(run: &mut Run<'_>) -> Result<()> {
    let freedom = Freedom::of(run)?;
    let elastic_solutions = run.read::<[f32; 4]>("elastic_solutions")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut elastic_motions = run.write::<[f32; 4]>("elastic_motions")?;
    for v in run.range() {
        displacements[v] = padded(xyz(displacements[v]) + xyz(elastic_solutions[v]));
        let motion = xyz(elastic_motions[v]) + xyz(elastic_solutions[v]);
        elastic_motions[v] = padded(if freedom.softly(v).is_some() { Vec3::ZERO } else { freedom.allowed(v, motion) });
    }
    Ok(())
}
