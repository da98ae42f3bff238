//! The two ends of a velocity filter ([`crate::Filter`]): a step that takes its state from outside and gives velocities
//! back.
//!
//! Goldenthal et al. 2007, Algorithm 1, takes a candidate velocity and gives one that satisfies the constraints:
//! x_0 = x + h v, then the projection to x_j, then (x_j − x)/h. All of it but the first and the last line is what every
//! substep of a cloth does, so a filter is a frame of one substep without forces between these two kernels. What a
//! cloth carries from frame to frame is written anew (positions, displacements) or not recorded (the load meter).
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | x | `filter_positions` | m |
//! | v, then (x_j − x)/h | `filter_velocities` | m/s |
//!
//! Pinned vertices move as their candidate velocity says, which is how a host leads them.

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Sizes, Spec};
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Stage;
use crate::stage::fields::{self, Frame, Vertex};
use crate::stage::integrate::TARGET;
use crate::stage::magnitude::{grain, step};
use crate::stage::recorder::Recorder;
use crate::vector::{padded, xyz};

static SOURCE: Source = Source::new("filter", include_str!("../../shaders/filter.wgsl"))
    .constants(&[("TARGET", Constant::F32(TARGET))])
    .shares(&[&fields::SOURCE]);

/// Its fields: as many words as the host has, and none in a cloth that is no filter.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<f32>("filter_positions", Domain::FILTERED, "positions as the host has them [m]"),
    Spec::of::<f32>("filter_velocities", Domain::FILTERED, "candidate velocities, then those that satisfy [m/s]")
        .floor(|f| Ok(grain(f)? / step(f)?)),
];

/// Takes the host's state.
pub(crate) static ADMIT: Kernel = Kernel::new("admit", &SOURCE, admit_body);
/// Hands the filtered velocities out.
pub(crate) static RELEASE: Kernel = Kernel::new("release", &SOURCE, release_body).pattern(Pattern::Scatter);

impl Sizes {
    /// Whether these are of a velocity filter.
    pub(crate) fn filters(&self) -> bool {
        self.of(Domain::FILTERED) > 0
    }

    /// Words from one vertex of the host's to the next.
    fn filter_stride(&self) -> u32 {
        self.of(Domain::FILTERED).checked_div(self.vertices()).unwrap_or_default() as u32
    }
}

/// The state of the step comes from outside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admit;

impl Stage for Admit {
    fn record(&self, recorder: &mut Recorder<'_>) {
        record(recorder, &ADMIT);
    }
}

/// Its velocities go outside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Release;

impl Stage for Release {
    fn record(&self, recorder: &mut Recorder<'_>) {
        record(recorder, &RELEASE);
    }
}

fn record(recorder: &mut Recorder<'_>, kernel: &'static Kernel) {
    let (vertices, stride) = (recorder.sizes().vertices() as u32, recorder.sizes().filter_stride());
    recorder.dispatch_range(kernel, 0..vertices, [stride, 0, 0, 0]);
}

/// Three words of the host's.
fn vector(words: &[f32], at: usize) -> Vec3 {
    Vec3::new(words[at], words[at + 1], words[at + 2])
}

fn admit_body(run: &mut Run<'_>) -> Result<()> {
    let stride = run.arguments()[0] as usize;
    let frame = run.one::<Frame>("frame")?;
    let filter_positions = run.read::<f32>("filter_positions")?;
    let filter_velocities = run.read::<f32>("filter_velocities")?;
    let mut vertices = run.write::<Vertex>("vertices")?;
    let mut velocities = run.write::<[f32; 4]>("velocities")?;
    let mut starts = run.write::<[f32; 4]>("starts")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut commands = run.write::<[f32; 4]>("commands")?;
    for v in run.range() {
        let at = v * stride;
        let position = vector(filter_positions, at);
        let velocity = vector(filter_velocities, at);
        vertices[v].position = position;
        velocities[v] = padded(velocity);
        starts[v] = padded(position);
        displacements[v] = [0.0; 4];
        if vertices[v].inverse_mass == 0.0 {
            let [x, y, z] = (position + frame.dt * velocity).to_array();
            commands[v] = [x, y, z, TARGET];
        }
    }
    Ok(())
}

fn release_body(run: &mut Run<'_>) -> Result<()> {
    let stride = run.arguments()[0] as usize;
    let faults = run.read::<u32>("faults")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let velocities = run.read::<[f32; 4]>("velocities")?;
    let mut filter_velocities = run.write::<f32>("filter_velocities")?;
    if faults[0] != 0 {
        return Ok(());
    }
    for v in run.range() {
        if vertices[v].inverse_mass > 0.0 {
            for (axis, part) in xyz(velocities[v]).to_array().into_iter().enumerate() {
                filter_velocities[v * stride + axis] = part;
            }
        }
    }
    Ok(())
}
