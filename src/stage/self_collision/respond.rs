//! What parts of the cloth do to each other where they touch: an inequality per pair, with Coulomb friction.
//!
//! Gap = d + n·Σ b_k u_k − h ≥ 0 ⟂ pressed ≥ 0, b the weights of the closest points, positive on one side and negative
//! on the other, together 0. A sweep lets every pair correct ω = 1.5/count of its gap, count the largest number of
//! pairs that press one of its vertices, and sums what its vertices get in whole numbers, which no order changes. The
//! multiplier may shrink again, so that nothing sticks. Because ω belongs to the pair, momentum is kept; a part of its
//! own for each vertex lost 97 % of it in two sheets that meet in space.
//!
//! Friction aims at no slip within the substep, as far as μ times what presses lets it: what holds, holds exactly.
//!
//! **A substep begins with what pressed in the one before** (`carry.rs`), so that sweeps find what changed, and not the
//! weight of a pile anew. Without it a pile sinks a little in every substep, and what lifts it again is motion. What
//! friction held is found anew.
//!
//! **Flat cloth is flat.** A vertex that slides over a mesh passes its edges, and where it is a little too near, the
//! triangle ahead is near enough to press it back: from the closest point on its border, askew. Pressed along such
//! planes, layers catch on each other's edges: a sheet was braked by 4 % more than friction, by 30 % where sweeps are
//! as many as hold it there, and heaps never came to rest. So a vertex beside a triangle is held against its plane
//! where that is the same but for an angle (`fence.rs`), and two edges press only where they cross, not with an end.
//!
//! **Recovery.** Parts that are nearer than h get back a twentieth of what they lack in a substep, and 300 h per second
//! at most. A step of 0.1 h, whatever they lack, pressed as the weight of cloth does: heaps trembled by 1e-3 J/kg,
//! sliding was braked by a quarter more than friction, and yarns had to give way to it, so that a sleeve missed its
//! limit in a third of all frames. What is left of recovery in velocities is taken out after the commit (`calm`).

use crate::engine::cpu::{Run, Write};
use crate::engine::fields::Domain;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::fields::{Clock, Vertex};
use crate::stage::freedom::{Freedom, Limited};
use crate::stage::self_collision::closest::{
    self, Clearance, Nearness, Plane, SMALLEST, UNITS, fixed, kept, responds, shares,
};
use crate::stage::self_collision::fence::{add, take};
use crate::stage::self_collision::pairs::listed;
use crate::vector::{padded, xyz};
use glam::{Vec3, Vec4};

static SOURCE: Source = Source::new("respond", include_str!("../../../shaders/respond.wgsl"))
    .shares(&[&closest::SOURCE])
    .constants(&[("RELAXATION", Constant::F32(RELAXATION)), ("RESUMED", Constant::F32(RESUMED))]);

/// Relaxation of sweeps that all pairs make at once.
const RELAXATION: f32 = 1.5;
/// Part of what pressed in one substep that the next begins with.
const RESUMED: f32 = 0.95;
/// Sweeps of a round.
const SWEEPS: u32 = 4;
/// Sweeps that take recovery out of velocities.
const CALM_SWEEPS: u32 = 6;
/// Sums of whole numbers that are rounded apart.
const SUMMED: f32 = 64.0;

/// A substep begins with what pressed in the one before.
static RESUME_PAIRS: Kernel =
    Kernel::new("resume_pairs", &SOURCE, resume_pairs_body).pattern(Pattern::Scatter).amplification(SUMMED);
static PRESS_PAIRS: Kernel =
    Kernel::new("press_pairs", &SOURCE, press_pairs_body).pattern(Pattern::Scatter).amplification(SUMMED);
static PRESS_APPLY: Kernel = Kernel::new("press_apply", &SOURCE, press_apply_body)
    .pattern(Pattern::Scatter)
    .aliases(&[("push_words", "pushes")]);
static CALM_PAIRS: Kernel =
    Kernel::new("calm_pairs", &SOURCE, calm_pairs_body).pattern(Pattern::Scatter).amplification(SUMMED);
static CALM_APPLY: Kernel =
    Kernel::new("calm_apply", &SOURCE, calm_apply_body).pattern(Pattern::Scatter).aliases(&[("push_words", "pushes")]);

/// Records the start of a substep.
pub(super) fn resume(recorder: &mut Recorder<'_>) {
    let vertices = recorder.sizes().vertices() as u32;
    recorder.dispatch(&RESUME_PAIRS, Domain::PAIRS);
    recorder.dispatch_range(&PRESS_APPLY, 0..vertices, [1, 0, 0, 0]);
}

/// Records the sweeps of a round.
pub(super) fn press(recorder: &mut Recorder<'_>, frictionless: bool) {
    let sizes = recorder.sizes();
    let (pairs, vertices) = (sizes.of(Domain::PAIRS) as u32, sizes.vertices() as u32);
    for _ in 0..SWEEPS {
        recorder.dispatch_range(&PRESS_PAIRS, 0..pairs, [frictionless.into(), 0, 0, 0]);
        recorder.dispatch_range(&PRESS_APPLY, 0..vertices, [0; 4]);
    }
}

/// Records what follows the commit.
pub(super) fn calm(recorder: &mut Recorder<'_>) {
    for _ in 0..CALM_SWEEPS {
        recorder.dispatch(&CALM_PAIRS, Domain::PAIRS);
        recorder.dispatch(&CALM_APPLY, Domain::VERTICES);
    }
}

/// Part of a correction that a pair makes at once.
fn relaxed(touches: &[u32], pair: [u32; 4]) -> f32 {
    let most = pair.into_iter().map(|vertex| touches[vertex as usize]).max().unwrap_or(1);
    1.0 / most.max(1) as f32
}

/// What pairs act on.
struct Pull<'a> {
    vertices: &'a [Vertex],
    freedom: Freedom<'a>,
    pushes: Write<'a, u32>,
}

impl<'a> Pull<'a> {
    fn of(run: &mut Run<'a>) -> Result<Self> {
        let vertices = run.read::<Vertex>("vertices")?;
        Ok(Self { vertices, freedom: Freedom::of(run)?, pushes: run.write::<u32>("pushes")? })
    }

    /// n·W n of a pair.
    fn along(&self, pair: [u32; 4], share: Vec4, normal: Vec3) -> f32 {
        let term = |k: usize| {
            let v = pair[k] as usize;
            share[k] * share[k] * (self.vertices[v].inverse_mass * self.freedom.at(v).along(normal.into()))
        };
        (0..4).map(term).sum()
    }

    /// Adds a pair's pull to the sums of its vertices.
    fn pull(&mut self, pair: [u32; 4], share: Vec4, way: Vec3) {
        for k in 0..4 {
            let v = pair[k] as usize;
            let moved = self.freedom.apply_inverse_mass(v, self.vertices[v].inverse_mass, way);
            add(&mut self.pushes, pair[k], fixed(share[k] * moved));
        }
    }
}

fn resume_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let nearness = run.one::<Nearness>("nearness")?;
    let pairs = run.read::<[u32; 4]>("pairs")?;
    let planes = run.read::<Plane>("planes")?;
    let mut pair_loads = run.write::<[f32; 4]>("pair_loads")?;
    let mut pull = Pull::of(run)?;
    for p in listed(run, nearness).filter(|p| responds(&planes[*p])) {
        let (plane, pair, load) = (&planes[p], pairs[p], pair_loads[p]);
        if load[3] == 0.0 {
            continue;
        }
        let share = shares(plane.kind, plane.weights);
        let n = plane.normal;
        let w = pull.along(pair, share, n);
        if w <= 0.0 {
            pair_loads[p] = [0.0; 4];
            continue;
        }
        let pressed = RESUMED * load[3];
        pair_loads[p] = [0.0, 0.0, 0.0, pressed];
        pull.pull(pair, share, (UNITS * pressed / (nearness.radius * w)) * n);
    }
    Ok(())
}

fn press_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let [frictionless, ..] = run.arguments();
    let clearance = run.one::<Clearance>("clearance")?;
    let clock = run.one::<Clock>("clock")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let pairs = run.read::<[u32; 4]>("pairs")?;
    let planes = run.read::<Plane>("planes")?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let touches = run.read::<u32>("touches")?;
    let mut pair_loads = run.write::<[f32; 4]>("pair_loads")?;
    let mut pull = Pull::of(run)?;
    for p in listed(run, nearness).filter(|p| responds(&planes[*p])) {
        let (plane, pair) = (&planes[p], pairs[p]);
        let share = shares(plane.kind, plane.weights);
        let n = plane.normal;
        let moved: Vec3 = (0..4).map(|k| share[k] * xyz(displacements[pair[k] as usize])).sum();
        let load = pair_loads[p];
        let gap = plane.distance + n.dot(moved) - kept(clearance, nearness, plane, clock.h);
        if gap >= 0.0 && load[3] == 0.0 {
            continue;
        }
        let w = pull.along(pair, share, n);
        if w <= 0.0 {
            continue;
        }
        let omega = RELAXATION * relaxed(touches, pair);
        let pressed = (load[3] - omega * gap).max(0.0);
        let mut friction = xyz(load);
        if frictionless == 0 {
            friction += omega * (moved - n.dot(moved) * n);
            friction *= (clearance.friction * pressed / friction.length().max(SMALLEST)).min(1.0);
        }
        pair_loads[p] = friction.extend(pressed).to_array();
        let way = (pressed - load[3]) * n - (friction - xyz(load));
        pull.pull(pair, share, (UNITS / (nearness.radius * w)) * way);
    }
    Ok(())
}

fn press_apply_body(run: &mut Run<'_>) -> Result<()> {
    let [resuming, ..] = run.arguments();
    let nearness = run.one::<Nearness>("nearness")?;
    let mut touches = run.write::<u32>("touches")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut push_words = run.write::<u32>("push_words")?;
    for v in run.range() {
        let taken = take(&mut push_words, v);
        if resuming == 0 {
            touches[v] = taken.map_or(0, |(_, count)| count);
        }
        if let Some((sum, _)) = taken {
            displacements[v] = padded(xyz(displacements[v]) + (nearness.radius / UNITS) * sum);
        }
    }
    Ok(())
}

fn calm_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let clock = run.one::<Clock>("clock")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let pairs = run.read::<[u32; 4]>("pairs")?;
    let planes = run.read::<Plane>("planes")?;
    let pair_loads = run.read::<[f32; 4]>("pair_loads")?;
    let velocities = run.read::<[f32; 4]>("velocities")?;
    let touches = run.read::<u32>("touches")?;
    let mut pull = Pull::of(run)?;
    for p in listed(run, nearness).filter(|p| responds(&planes[*p]) && pair_loads[*p][3] > 0.0) {
        let (plane, pair) = (&planes[p], pairs[p]);
        let share = shares(plane.kind, plane.weights);
        let speed: f32 = (0..4).map(|k| share[k] * plane.normal.dot(xyz(velocities[pair[k] as usize]))).sum();
        let w = pull.along(pair, share, plane.normal);
        if speed <= 0.0 || w <= 0.0 {
            continue;
        }
        let change = relaxed(touches, pair) * speed * clock.h * UNITS / (nearness.radius * w);
        pull.pull(pair, share, -change * plane.normal);
    }
    Ok(())
}

fn calm_apply_body(run: &mut Run<'_>) -> Result<()> {
    let clock = run.one::<Clock>("clock")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let faults = run.read::<u32>("faults")?;
    let mut velocities = run.write::<[f32; 4]>("velocities")?;
    let mut push_words = run.write::<u32>("push_words")?;
    for v in run.range() {
        let taken = take(&mut push_words, v);
        if let Some((sum, _)) = taken.filter(|_| faults[0] == 0) {
            velocities[v] = padded(xyz(velocities[v]) + (nearness.radius / (UNITS * clock.h)) * sum);
        }
    }
    Ok(())
}
