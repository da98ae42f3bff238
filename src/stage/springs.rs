//! Spring forces: both diagonals of every quad resist shear, f = k (|d| − l) d/|d| on the tail.
//!
//! Explicit integration is stable while k h²/m stays small; the substep rule keeps k h²/m ≤ 0.3 for every vertex, or
//! the springs are integrated implicitly ([`crate::solver::diagonals`], [`crate::stage::elastic`]). Cost: 16 bytes per
//! spring and end, once per substep.

use std::ops::Range;

use fearless_simd::{Simd, prelude::*};

use crate::engine::cpu::{Run, Write};
use crate::engine::fields::Domain;
use crate::engine::program::{Kernel, Renames};
use crate::engine::source::Source;
use crate::error::Result;
use crate::lanes::{self, LANES, Vec3s, Wide, Work};
use crate::mesh::Link;
use crate::stage::Recorder;
use crate::stage::fields;
use crate::stage::fields::Vertex;
use crate::stage::{Stage, bending};
use crate::vector::Triple;

static SOURCE: Source = Source::new("springs", include_str!("../../shaders/springs.wgsl")).shares(&[&fields::SOURCE]);

/// Sets `forces` to the sum of the springs at a vertex; the first stage, so later ones add to it.
pub(crate) static GATHER_SPRINGS: Kernel = Kernel::new("gather_springs", &SOURCE, gather_springs_body);

/// Sets `forces` to what pins bear of implicit springs.
pub(crate) static KEEP_PIN_FORCE: Kernel = Kernel::new("keep_pin_force", &SOURCE, keep_pin_force_body);

/// The forces of springs and bending: `forces`, or `elastic_forces` where they are integrated implicitly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Springs {
    /// Whether they are integrated implicitly.
    pub implicit: bool,
}

impl Stage for Springs {
    fn record(&self, recorder: &mut Recorder<'_>) {
        if self.implicit {
            let elastic: Renames = &[("forces", "elastic_forces")];
            recorder.dispatch_renamed(&GATHER_SPRINGS, Domain::VERTICES, elastic);
            bending::record(recorder, elastic);
            recorder.dispatch(&KEEP_PIN_FORCE, Domain::VERTICES);
        } else {
            recorder.dispatch(&GATHER_SPRINGS, Domain::VERTICES);
            bending::record(recorder, &[]);
        }
    }
}

fn keep_pin_force_body(run: &mut Run<'_>) -> Result<()> {
    let vertices = run.read::<Vertex>("vertices")?;
    let elastic_forces = run.read::<[f32; 4]>("elastic_forces")?;
    let mut forces = run.write::<[f32; 4]>("forces")?;
    for v in run.range() {
        forces[v] = if vertices[v].inverse_mass == 0.0 { elastic_forces[v] } else { [0.0; 4] };
    }
    Ok(())
}

fn gather_springs_body(run: &mut Run<'_>) -> Result<()> {
    lanes::widest(GatherSprings {
        range: run.range(),
        vertices: run.read::<Vertex>("vertices")?,
        springs: run.read::<Link>("springs")?,
        incidence: run.read::<u32>("spring_incidence")?,
        forces: run.write::<[f32; 4]>("forces")?,
    });
    Ok(())
}

struct GatherSprings<'a> {
    range: Range<usize>,
    vertices: &'a [Vertex],
    springs: &'a [Link],
    incidence: &'a [u32],
    forces: Write<'a, [f32; 4]>,
}

impl Work for GatherSprings<'_> {
    type Output = ();

    #[inline(always)]
    fn on<S: Simd>(self, simd: S) {
        let Self { range, vertices, springs, incidence, mut forces } = self;
        let zero = Wide::splat(simd, 0.0);
        for first in range.clone().step_by(LANES) {
            let neighbors = Neighbors::new(incidence, first..range.end);
            let place = |v: usize| bytemuck::cast::<Vertex, [f32; 4]>(vertices[v]);
            let (here, _) = Vec3s::gather(simd, |lane| place(neighbors.vertex(lane)));
            let mut sum = Triple::splat(zero);
            for j in 0..neighbors.most() {
                let each = neighbors.springs(j);
                let (there, _) = Vec3s::gather(simd, |lane| place(each[lane][1] as usize));
                let (Triple([_, _, rest]), stiffness) =
                    Vec3s::gather(simd, |lane| bytemuck::cast(springs[each[lane][0] as usize]));
                let d = there - here;
                let extent = d.length();
                let force = stiffness * (extent - rest) / extent;
                sum = sum + d * extent.simd_gt(zero).select(force, zero);
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

/// The springs at eight vertices in a row.
pub(super) struct Neighbors<'a> {
    incidence: &'a [u32],
    /// The last one again, where there are fewer.
    vertices: [u32; LANES],
    /// First of their entries and one past the last, two words each.
    entries: [[u32; 2]; LANES],
    most: u32,
}

impl<'a> Neighbors<'a> {
    /// The springs at the first eight of the vertices; `incidence` is the field `spring_incidence`.
    #[inline(always)]
    pub(super) fn new(incidence: &'a [u32], vertices: Range<usize>) -> Self {
        let last = vertices.end - 1;
        let vertices: [u32; LANES] = lanes::each(|lane| last.min(vertices.start + lane) as u32);
        let entries: [[u32; 2]; LANES] =
            lanes::each(|lane| [incidence[vertices[lane] as usize], incidence[vertices[lane] as usize + 1]]);
        let most = entries.iter().fold(0, |most, [start, end]| most.max((end - start) / 2));
        Self { incidence, vertices, entries, most }
    }

    /// The vertex of a lane.
    #[inline(always)]
    pub(super) fn vertex(&self, lane: usize) -> usize {
        self.vertices[lane] as usize
    }

    /// How many springs there are at most.
    #[inline(always)]
    pub(super) fn most(&self) -> u32 {
        self.most
    }

    /// A spring of every lane, and its other end; beyond the last one some spring from the vertex to itself, which does
    /// nothing.
    #[inline(always)]
    pub(super) fn springs(&self, j: u32) -> [[u32; 2]; LANES] {
        lanes::each(
            #[inline(always)]
            |lane| {
                let [start, end] = self.entries[lane];
                let (k, there) = (start + 2 * j, start + 2 * j < end);
                // Without a branch, the first entry of all in its place.
                let k = if there { k } else { self.incidence[0] } as usize;
                let other = if there { self.incidence[k + 1] } else { self.vertices[lane] };
                [self.incidence[k] / 2, other]
            },
        )
    }
}
