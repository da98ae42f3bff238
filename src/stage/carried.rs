//! Carried tension: half of the tension of the substep before pulls as a force, and what hangs comes to rest at twice
//! the load.
//!
//! # Why cloth that hangs trembles
//!
//! A projection pulls along the edges of the prediction x̂ = 2x − x⁻, so sideways motion of a taut yarn, whose
//! stiffness relative to the inertia is Y = h² T/(m l) · 4 sin²(…) ≤ 4 s, goes x⁺ = (1 − Y)(2x − x⁻). That is stable
//! while Y < 4/3: at a load s above 1/3 what hangs trembles for ever, though it holds its limit.
//!
//! Where a part c of the tension pulls as a force along the edges of x, and the projection has the rest to do along
//! those of x̂ − c Y x, it is
//!
//! x⁺ = (1 − (1 − c) Y)(2x − x⁻ − c Y x),
//!
//! of which the roots of z² = (1 − (1 − c) Y)((2 − c Y) z − 1) decide. At z = −1 it asks that
//! ((1 − c) Y − 1)(3 − c Y) < 1, which for c between ½ and 0.9 is so for every Y, and with c = 0.4 ends at Y = 2.5,
//! with 0.3 at 2.0; at z = 1 that c (1 − c) Y < 1. So c = ½ is the least that helps as far as Y = 4, s = 1; more would
//! go further (not tried), and damps less. The product of the roots is 1 − (1 − c) Y: slow motion is damped half as
//! much as without.
//!
//! Whatever was carried, the projection makes up for the difference: an error of it is an error of direction, in one
//! substep. A single yarn of 256 vertices that falls gained 0.006 J/kg in 16 substeps per frame, and 0.016 in 24 with
//! nothing carried. Strips of 128 and 256 vertices at s = 0.69 come to rest within 2e-6 m/s, and tremble by 2e-2 m/s
//! with nothing carried (`tests/diagonals.rs`). [`crate::cloth::substeps`] has the rule.
//!
//! What is carried is at most what an edge may bear at s = 1. Nothing is after a substep that missed its limit, a
//! teleport or an impulse. In the first substep of a frame it is half of the mean of the frame before, so nothing but
//! `tensions` lasts from frame to frame.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | T, mean over the frame so far | `tensions` | N |
//! | the same before the substep | `tension_marks` | N |
//! | c T | `carried_tensions` | N |
//!
//! Cost: a pass over the edges and one over the vertices per substep, in place of that which clears the forces.

use std::ops::Range;

use fearless_simd::{Simd, prelude::*};

use crate::engine::cpu::{Run, Write};
use crate::engine::fields::{Domain, Spec};
use crate::engine::program::Kernel;
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::lanes::{self, LANES, Vec3s, Wide, Work};
use crate::mesh::Link;
use crate::stage::fields::{self, Clock, Frame, Vertex};
use crate::stage::magnitude::weight;
use crate::stage::{Recorder, Stage, bending};
use crate::vector::Triple;

static SOURCE: Source = Source::new("carried", include_str!("../../shaders/carried.wgsl"))
    .constants(&[("MOST_CARRIED", Constant::F32(MOST_CARRIED))])
    .shares(&[&fields::SOURCE]);

/// Load s of what is carried, at most: half of the load up to which it is stable.
const MOST_CARRIED: f32 = 0.5;

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<f32>("carried_tensions", Domain::EDGES, "tension that pulls as a force in this substep [N]")
        .floor(weight),
    Spec::of::<f32>("tension_marks", Domain::EDGES, "`tensions` at the start of the substep [N]").floor(weight),
];

/// Takes half of the tension of the substep before.
pub(crate) static CARRY_TENSION: Kernel = Kernel::new("carry_tension", &SOURCE, carry_tension_body);
/// Sets `forces` to what it pulls; later forces add to it.
pub(crate) static PULL_CARRIED: Kernel = Kernel::new("pull_carried", &SOURCE, pull_carried_body);

/// The start of a substep whose springs go along diagonals: what is carried, and bending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carry;

impl Stage for Carry {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&CARRY_TENSION, Domain::EDGES);
        recorder.dispatch(&PULL_CARRIED, Domain::VERTICES);
        bending::record(recorder, &[]);
    }
}

fn carry_tension_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    let clock = run.one::<Clock>("clock")?;
    let edges = run.read::<Link>("edges")?;
    let mut tensions = run.write::<f32>("tensions")?;
    let mut tension_marks = run.write::<f32>("tension_marks")?;
    let mut carried = run.write::<f32>("carried_tensions")?;
    let (first, carries) = (clock.substep == 1, clock.previous > 0.0);
    let (substeps, square) = (clock.substeps as f32, clock.span * clock.span);
    let range = run.range();
    let parts = tensions.part(range.clone()).iter_mut().zip(tension_marks.part(range.clone()));
    for (((tension, mark), carried), edge) in parts.zip(carried.part(range.clone())).zip(&edges[range]) {
        let borne = if first { *tension } else { (*tension - *mark) * substeps };
        let most = MOST_CARRIED * frame.mean_mass * edge.rest / square;
        // Also where it is no number.
        let half = if carries && borne > 0.0 { (0.5 * borne).min(most) } else { 0.0 };
        *mark = if first { 0.0 } else { *tension };
        *tension = *mark + half / substeps;
        *carried = half;
    }
    Ok(())
}

fn pull_carried_body(run: &mut Run<'_>) -> Result<()> {
    let range = run.range();
    run.write::<[f32; 4]>("elastic_motions")?.part(range.clone()).fill([0.0; 4]);
    lanes::widest(Pull {
        range,
        vertices: run.read::<Vertex>("vertices")?,
        edges: run.read::<Link>("edges")?,
        incidence: run.read::<u32>("edge_incidence")?,
        carried: run.read::<f32>("carried_tensions")?,
        forces: run.write::<[f32; 4]>("forces")?,
    });
    Ok(())
}

struct Pull<'a> {
    range: Range<usize>,
    vertices: &'a [Vertex],
    edges: &'a [Link],
    incidence: &'a [u32],
    carried: &'a [f32],
    forces: Write<'a, [f32; 4]>,
}

impl Work for Pull<'_> {
    type Output = ();

    #[inline(always)]
    fn on<S: Simd>(self, simd: S) {
        let Self { range, vertices, edges, incidence, carried, mut forces } = self;
        let zero = Wide::splat(simd, 0.0);
        let place = |v: usize| bytemuck::cast::<Vertex, [f32; 4]>(vertices[v]);
        for first in range.clone().step_by(LANES) {
            // The last vertex again, where there are fewer.
            let own = lanes::each(
                #[inline(always)]
                |lane| (first + lane).min(range.end - 1),
            );
            let entries = lanes::each(
                #[inline(always)]
                |lane| [incidence[own[lane]], incidence[own[lane] + 1]],
            );
            let most = entries.iter().fold(0, |most, [start, end]| most.max(end - start));
            let (here, _) = Vec3s::gather(
                simd,
                #[inline(always)]
                |lane| place(own[lane]),
            );
            let mut sum = Triple::splat(zero);
            for j in 0..most {
                // Beyond the last edge from the vertex to itself, which does nothing.
                let each = lanes::each(
                    #[inline(always)]
                    |lane| {
                        let [start, end] = entries[lane];
                        let there = start + j < end;
                        let entry = incidence[if there { start + j } else { 0 } as usize];
                        let edge = if there { entry / 2 } else { 0 } as usize;
                        let other = if entry & 1 == 1 { edges[edge].tail } else { edges[edge].head };
                        (edge, if there { other as usize } else { own[lane] })
                    },
                );
                let (there, _) = Vec3s::gather(
                    simd,
                    #[inline(always)]
                    |lane| place(each[lane].1),
                );
                let tension = Wide::load_array(
                    simd,
                    lanes::each(
                        #[inline(always)]
                        |lane| carried[each[lane].0],
                    ),
                );
                let d = there - here;
                let extent = d.length();
                sum = sum + d * extent.simd_gt(zero).select(tension / extent, zero);
            }
            sum.scatter(
                #[inline(always)]
                |lane, force| {
                    if first + lane < range.end {
                        forces[first + lane] = force;
                    }
                },
            );
        }
    }
}
