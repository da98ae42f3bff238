//! Rest: at the end of a frame, a vertex that has hardly moved for a while has the speed at which it moved, and no
//! other.
//!
//! A projection ends where the strain is within its limit, now after three sweeps, now after five, and a collision pass
//! moves what it finds inside. What such a correction leaves is far below what one sees, a part of the limit times the
//! edge, but divided by a substep it is a speed: 1 % of 3 cm in 1/240 s are 7 cm/s. In cloth that moves nobody notices.
//! In cloth that lies still it comes back in every frame, as a small cycle of the substeps whose velocity never dies.
//!
//! So the motion of a whole frame is compared with the speed at its end. Where a vertex has moved by less than
//! [`crate::Settings::rest_speed`] in the mean of every frame for 0.15 s, its velocity is that mean. It is not frozen:
//! it is projected, pulled and blown as before, what creeps goes on creeping, and the first frame that moves it faster
//! ends its rest. A mean lags behind the end of its frame, so what gathers speed slowly gathers it half as fast below
//! that speed, and what swings slowly swings less: a little of the dry friction by which real fabric comes to rest. A
//! vertex without edges is no fabric and has none. Frames of a single substep have no mean to compare with: cloth that
//! is stepped so, by 1/240 s or less at a time, rests less well.
//!
//! It is recorded where there are solids. Without them cloth comes to rest by drag and by the damping of the steps, and
//! free motion keeps the figures of the paper.
//!
//! Tried and dropped: a projection of the velocities along the yarns after every substep (it helps, and what is left
//! still cycles); tension carried from substep to substep as the start of the projection (half of the sweeps, but it
//! takes away the damping of folds, which then shake at several cm/s); projecting to a hundredth of the limit (five
//! times the cost, and contact still cycles).

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Inputs, Spec};
use crate::engine::layout::element;
use crate::engine::program::Kernel;
use crate::engine::source::Source;
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::Stage;
use crate::stage::fields;
use crate::stage::fields::{Clock, Frame, Vertex};
use crate::vector::{padded, turned, xyz};

static SOURCE: Source = Source::new("rest", include_str!("../../shaders/rest.wgsl")).shares(&[&fields::SOURCE]);

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<[f32; 4]>(
        "previous_positions",
        Domain::VERTICES,
        "xyz: positions at the end of the last frame [m], w: how long the vertex has been slow [s]; among solids",
    )
    .state(),
    Spec::of::<Rest>("rest", Domain::Fixed(1), "when cloth comes to rest").input(),
];

/// Gives a vertex that has come to rest the speed at which it moves.
pub(crate) static SETTLE: Kernel = Kernel::new("settle", &SOURCE, settle_body);

/// How long a vertex must have been slow \[s\]: nine frames of 1/60 s, a sixth of the period of a pendulum of 20 cm.
const TIME: f32 = 0.15;

element! {
    /// When cloth comes to rest.
    pub struct Rest {
        /// Mean speed over a frame below which a vertex comes to rest \[m/s\].
        pub speed: f32,
        /// How long it must have been slow for that \[s\].
        pub(crate) time: f32,
    }
}

impl Rest {
    /// Below this speed \[m/s\].
    pub fn below(speed: f32) -> Self {
        Self { speed, time: TIME }
    }
}

/// At the end of a frame.
impl Stage for Rest {
    fn fields(&self) -> Vec<Spec> {
        FIELDS.to_vec()
    }

    fn inputs(&self, inputs: &mut Inputs<'_>) -> Result<()> {
        inputs.set("rest", *self)
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&SETTLE, Domain::VERTICES);
    }
}

fn settle_body(run: &mut Run<'_>) -> Result<()> {
    let rest = run.one::<Rest>("rest")?;
    let frame = run.one::<Frame>("frame")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let clock = run.one::<Clock>("clock")?;
    let incidence = run.read::<u32>("edge_incidence")?;
    let faults = run.read::<u32>("faults")?;
    let mut velocities = run.write::<[f32; 4]>("velocities")?;
    let mut previous_velocities = run.write::<[f32; 4]>("previous_velocities")?;
    let mut previous_positions = run.write::<[f32; 4]>("previous_positions")?;
    let mut starts = run.write::<[f32; 4]>("starts")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    if faults[0] != 0 {
        return Ok(());
    }
    for v in run.range() {
        let vertex = vertices[v];
        let mut before = xyz(previous_positions[v]);
        if frame.relocated != 0 {
            before = turned(frame.rotation, before) + frame.translation;
        }
        let mean = (vertex.position - before) / frame.dt;
        let fabric = incidence[v] < incidence[v + 1] && vertex.inverse_mass > 0.0;
        let mut slow = 0.0;
        if fabric && mean.length_squared() < rest.speed * rest.speed {
            slow = previous_positions[v][3] + frame.dt;
            if slow >= rest.time {
                velocities[v] = padded(mean);
                previous_velocities[v] = [mean.x, mean.y, mean.z, previous_velocities[v][3]];
                if frame.second_order != 0 {
                    let start = vertex.position - clock.h * mean;
                    displacements[v] = padded(xyz(displacements[v]) + (xyz(starts[v]) - start));
                    starts[v] = padded(start);
                }
            }
        }
        let [x, y, z] = vertex.position.to_array();
        previous_positions[v] = [x, y, z, slow.min(rest.time)];
    }
    Ok(())
}
