//! Limit of the strain rate: no edge changes its length by more than a part of it in one step.
//!
//! Provot (1995) found that springs which may not change by more than 10 % in a step stay together where stiff ones
//! would explode, and Bridson, Marino & Fedkiw (2003) bound the rate: |Δ|d|| ≤ r |d| per step, d at its start. Here it
//! is a stage between prediction and projection. An edge that the prediction would make longer than (1 + r)|d| or
//! shorter than (1 − r)|d| is brought to that length,
//!
//! c = (|d'| − L)/(w_a + w_b), x_a += w_a c n, x_b −= w_b c n,
//!
//! color by color, [`PASSES`] times over: exact for edges without common vertices, and a correction that gets small
//! for others. The projection follows and has the last word. An edge that it leaves alone, inside a wide
//! stretch band, with compliance or between its ends, grows by r in a step and no faster; what the projection brings
//! back to its length was there before. So this is for cloth that may stretch.
//!
//! It takes energy where it bites, and momentum never. A step is a substep: with four of them in a frame and r = 0.1 an
//! edge may grow by 46 % in the frame.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | r | argument, the bits of a float | 1 |
//! | \|d\|, \|d'\|, L | `before`, `extent`, `wanted` | m |
//!
//! Cost: a dispatch per color and pass, four colors on a grid.

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::Source;
use crate::error::{Result, within};
use crate::mesh::Link;
use crate::stage::edge::{self, Band, stretch_of};
use crate::stage::fields::{Clock, Vertex};
use crate::stage::freedom::Freedom;
use crate::stage::{Recorder, Stage};
use crate::vector::{padded, xyz};

static SOURCE: Source =
    Source::new("stretch_rate", include_str!("../../shaders/stretch_rate.wgsl")).shares(&[&edge::SOURCE]);

/// Brings edges of one color to the nearest length that they may have.
pub(crate) static LIMIT_STRETCH_RATE: Kernel =
    Kernel::new("limit_stretch_rate", &SOURCE, limit_stretch_rate_body).pattern(Pattern::Scatter);

/// Passes over all edges.
pub const PASSES: u32 = 4;

/// The passes of a substep, before its projection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StretchRate {
    /// Largest change of a length, as a part of it.
    pub rate: f32,
}

impl Stage for StretchRate {
    fn record(&self, recorder: &mut Recorder<'_>) {
        let edges = recorder.sizes().edges() as u32;
        for _ in 0..PASSES {
            for color in recorder.colors() {
                let arguments = [self.rate.to_bits(), 0, 0, 0];
                recorder.dispatch_slice(&LIMIT_STRETCH_RATE, color.clone(), edges, arguments, &[]);
            }
        }
    }
}

/// Refuses a rate that is none.
pub(crate) fn validate(rate: f32) -> Result<()> {
    within("stretch_rate", rate.into(), (1e-6..=10.0).contains(&rate), "in [1e-6, 10]")
}

fn limit_stretch_rate_body(run: &mut Run<'_>) -> Result<()> {
    let rate = f32::from_bits(run.arguments()[0]);
    let clock = run.one::<Clock>("clock")?;
    let edges = run.read::<Link>("edges")?;
    let colored_edges = run.read::<u32>("colored_edges")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let freedom = Freedom::of(run)?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    for index in run.range() {
        let edge = &edges[colored_edges[index] as usize];
        let (tail, head) = (edge.tail as usize, edge.head as usize);
        let before = (vertices[head].position - vertices[tail].position).length();
        let Some((stretch, _)) = stretch_of(Band::NONE, edge, vertices, &freedom, |v| xyz(displacements[v])) else {
            continue;
        };
        let wanted = stretch.extent.max((1.0 - rate) * before).min((1.0 + rate) * before);
        if wanted == stretch.extent {
            continue;
        }
        let (a, b) = (vertices[tail].inverse_mass, vertices[head].inverse_mass);
        let pull = ((stretch.extent - wanted) / stretch.w) * Vec3::from(stretch.n);
        displacements[tail] = padded(xyz(displacements[tail]) + freedom.apply_inverse_mass(tail, a, pull));
        displacements[head] = padded(xyz(displacements[head]) - freedom.apply_inverse_mass(head, b, pull));
        if freedom.bears(a) {
            reactions[tail] = padded(xyz(reactions[tail]) + clock.force * freedom.borne(tail, a, pull));
        }
        if freedom.bears(b) {
            reactions[head] = padded(xyz(reactions[head]) - clock.force * freedom.borne(head, b, pull));
        }
    }
    Ok(())
}
