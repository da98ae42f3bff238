//! Time stepping around the projection: predict (v* = v + h W f, x_0 = x + h v*), then velocity and
//! commit (Algorithm 1 of Goldenthal et al. 2007, last lines).
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | x | `vertices[v].position` | m |
//! | u = x_j − x | `displacements` | m |
//! | h | `clock.h` | s |
//! | w | `inverse_mass` | 1/kg |
//!
//! **Why displacements.** The iterate of a substep is u, not x_j. A position of about 1 m is stored in steps of 6·10⁻⁸
//! m; at h = 1/60,000 s that is 4·10⁻³ m/s of noise in (x_new − x)/h, and gravity's g h² is lost in it. u keeps 24 bits
//! of its own size, edge vectors are formed as (x_b − x_a) + (u_b − u_a), and the velocity is u/h. What the final
//! rounding x + u loses is found at the next predict and carried on (`remainders`), so slow motion does not stall
//! either.

use glam::{Vec3, Vec4};

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Drawn, Spec};
use crate::engine::program::Kernel;
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::Stage;
use crate::stage::fields;
use crate::stage::fields::{Clock, Frame, Vertex};
use crate::vector::{padded, turned, xyz};

static SOURCE: Source = Source::new("integrate", include_str!("../../shaders/integrate.wgsl"))
    .constants(&[("TARGET", Constant::F32(TARGET)), ("IMPULSE", Constant::F32(IMPULSE))])
    .shares(&[&fields::SOURCE]);

/// Its fields. Only a device whose cloth keeps them ([`crate::Settings::keep_previous`]) has them, and no checkpoint.
pub(crate) const FIELDS: &[Spec] = &[Spec {
    resident: false,
    persistent: false,
    ..Spec::of::<Vertex>("frame_starts", Domain::VERTICES, "`vertices` at the start of the frame")
        .state()
        .drawn(Drawn::Vertices)
}];

/// Moves the whole cloth to another place without giving it speed.
pub(crate) static RELOCATE: Kernel = Kernel::new("relocate", &SOURCE, relocate_body);
/// Keeps the positions that a frame starts from.
pub(crate) static REMEMBER: Kernel = Kernel::new("remember", &SOURCE, remember_body);
/// Velocity that a second-order step starts from.
pub(crate) static RECALL: Kernel = Kernel::new("recall", &SOURCE, recall_body);
/// Unconstrained step; pinned vertices go towards their targets.
pub(crate) static PREDICT: Kernel = Kernel::new("predict", &SOURCE, predict_body);
/// Makes the result public, or takes the substep back.
pub(crate) static COMMIT: Kernel = Kernel::new("commit", &SOURCE, commit_body);

/// How time goes on: the order of the time stepping.
///
/// Both step a projection in the same way; what differs is how much of the motion survives. A pendulum that swings from
/// 90° loses 28 % of m g l in a second with Euler at h = 1/60 s, 2 % at 1/1000 s, and 0.4 % with BDF2 at 1/60 s.
/// Under-solved substeps make BDF2 gain energy, so a substep that misses its limit is followed by an Euler step, as is
/// a teleport, and a substep in which a vertex begins or ceases to touch a solid. Springs are integrated implicitly
/// with BDF2, because what they do explicitly it amplifies. Prefer Euler for cloth that should come to rest, BDF2 for
/// lively motion at few substeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stepping {
    /// Backward Euler as in the paper: robust, damps.
    #[default]
    Euler,
    /// The backward difference of second order, for substeps of any lengths.
    Bdf2,
}

/// The move to another place; once per frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocate;

impl Stage for Relocate {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&RELOCATE, Domain::VERTICES);
    }
}

/// Positions at the start of the frame, for motion vectors; after the move, which is no motion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remember;

impl Stage for Remember {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&REMEMBER, Domain::VERTICES);
    }
}

/// The unconstrained step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Predict {
    /// Order of the time stepping.
    pub stepping: Stepping,
}

impl Stage for Predict {
    fn record(&self, recorder: &mut Recorder<'_>) {
        if self.stepping == Stepping::Bdf2 {
            recorder.dispatch(&RECALL, Domain::VERTICES);
        }
        recorder.dispatch(&PREDICT, Domain::VERTICES);
    }
}

/// The end of a substep: what is finite becomes public.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Commit;

impl Stage for Commit {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&COMMIT, Domain::VERTICES);
    }
}

fn relocate_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    let mut vertices = run.write::<Vertex>("vertices")?;
    let mut velocities = run.write::<[f32; 4]>("velocities")?;
    let mut starts = run.write::<[f32; 4]>("starts")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    if frame.relocated == 0 {
        return Ok(());
    }
    for v in run.range() {
        let position = turned(frame.rotation, vertices[v].position) + frame.translation;
        vertices[v].position = position;
        velocities[v] = padded(turned(frame.rotation, xyz(velocities[v])));
        starts[v] = padded(position);
        displacements[v] = [0.0; 4];
    }
    Ok(())
}

fn remember_body(run: &mut Run<'_>) -> Result<()> {
    let vertices = run.read::<Vertex>("vertices")?;
    let mut frame_starts = run.write::<Vertex>("frame_starts")?;
    for v in run.range() {
        frame_starts[v] = vertices[v];
    }
    Ok(())
}

/// Whether the caller said something of this kind about this vertex in this frame.
fn commanded(frame: &Frame, commands: &[[f32; 4]], v: usize, kind: f32) -> bool {
    frame.commanded != 0 && commands[v][3] == kind
}

/// Kinds of commands: a position at the end of the frame, an impulse at its start.
pub(crate) const TARGET: f32 = 1.0;
/// See [`TARGET`].
pub(crate) const IMPULSE: f32 = 2.0;

fn recall_body(run: &mut Run<'_>) -> Result<()> {
    let clock = run.one::<Clock>("clock")?;
    let mut velocities = run.write::<[f32; 4]>("velocities")?;
    let mut previous_velocities = run.write::<[f32; 4]>("previous_velocities")?;
    for v in run.range() {
        let now = xyz(velocities[v]);
        velocities[v] = padded(now + clock.recall * (now - xyz(previous_velocities[v])));
        previous_velocities[v] = [now.x, now.y, now.z, previous_velocities[v][3]];
    }
    Ok(())
}

fn predict_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    let clock = run.one::<Clock>("clock")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let velocities = run.read::<[f32; 4]>("velocities")?;
    let forces = run.read::<[f32; 4]>("forces")?;
    let commands = run.read::<[f32; 4]>("commands")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut starts = run.write::<[f32; 4]>("starts")?;
    let mut remainders = run.write::<[f32; 4]>("remainders")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    let gravity = frame.gravity.extend(0.0);
    let slowed = 1.0 + frame.drag * clock.span;
    // Vectors of four words, whose last is set to 0: parts of them would go through memory.
    for v in run.range() {
        let inverse_mass = vertices[v].inverse_mass;
        let position = vertices[v].place();
        if clock.substep == 1 {
            reactions[v] = [0.0; 4];
        }
        if inverse_mass > 0.0 {
            let way = position - Vec4::from_array(starts[v]);
            let remainder = (Vec4::from_array(displacements[v]) - way) + clock.recall * way;
            let acceleration = gravity + inverse_mass * Vec4::from_array(forces[v]);
            let mut velocity = Vec4::from_array(velocities[v]);
            if clock.substep == 1 && commanded(frame, commands, v, IMPULSE) {
                velocity += inverse_mass * Vec4::from_array(commands[v]);
            }
            velocity = velocity / slowed + clock.span * acceleration;
            remainders[v] = remainder.with_w(0.0).to_array();
            displacements[v] = (remainder + clock.span * velocity).with_w(0.0).to_array();
        } else {
            let mut way = Vec3::ZERO;
            if commanded(frame, commands, v, TARGET) {
                way = (xyz(commands[v]) - position.truncate()) / (clock.substeps - clock.substep + 1) as f32;
            }
            reactions[v] = padded(xyz(reactions[v]) + xyz(forces[v]) / clock.substeps as f32);
            remainders[v] = [0.0; 4];
            displacements[v] = padded(way);
        }
        starts[v] = position.to_array();
    }
    Ok(())
}

/// Neither NaN nor infinite nor beyond 2⁶⁰, on its way there.
fn bounded(value: Vec3) -> bool {
    value.to_array().iter().all(|x| x.to_bits() & 0x7fff_ffff < 0x5d80_0000)
}

fn commit_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    let clock = run.one::<Clock>("clock")?;
    let faults = run.read::<u32>("faults")?;
    let remainders = run.read::<[f32; 4]>("remainders")?;
    let commands = run.read::<[f32; 4]>("commands")?;
    let mut previous_velocities = run.write::<[f32; 4]>("previous_velocities")?;
    let mut vertices = run.write::<Vertex>("vertices")?;
    let mut velocities = run.write::<[f32; 4]>("velocities")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    if faults[0] != 0 {
        for v in run.range() {
            displacements[v] = remainders[v];
            reactions[v] = [0.0; 4];
            if frame.second_order != 0 {
                displacements[v] = [0.0; 4];
                velocities[v] = padded(xyz(previous_velocities[v]));
            }
        }
        return Ok(());
    }
    for v in run.range() {
        if !bounded(xyz(reactions[v])) {
            reactions[v] = [0.0; 4];
        }
        let vertex = vertices[v];
        if vertex.inverse_mass > 0.0 {
            let moved = Vec4::from_array(displacements[v]);
            let velocity = (moved - Vec4::from_array(remainders[v])) / clock.span;
            velocities[v] = velocity.with_w(0.0).to_array();
            let [x, y, z, _] = (vertex.place() + moved).to_array();
            vertices[v] = Vertex { position: Vec3::new(x, y, z), ..vertex };
            if frame.second_order != 0 && clock.substep == 1 && commanded(frame, commands, v, IMPULSE) {
                let kick = vertex.inverse_mass * xyz(commands[v]);
                let [x, y, z, touched] = previous_velocities[v];
                previous_velocities[v] = [x + kick.x, y + kick.y, z + kick.z, touched];
            }
            continue;
        }
        let moved = xyz(displacements[v]);
        velocities[v] = padded(moved / clock.h);
        if commanded(frame, commands, v, TARGET) {
            let last = clock.substep == clock.substeps;
            vertices[v].position = if last { xyz(commands[v]) } else { vertex.position + moved };
        }
    }
    Ok(())
}
