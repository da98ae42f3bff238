//! Graph-colored Gauss-Seidel edge projection: position-based dynamics, or strain limiting with a wider band.
//!
//! An edge (a, b) of length |d| that should have length L moves its ends along d (position-based dynamics, Müller et
//! al. 2007; strain limiting, Provot 1995):
//!
//! c = (|d| − L)/(w_a + w_b), x_a += w_a c d/|d|, x_b −= w_b c d/|d|.
//!
//! L is the end of the band [σ_min l, σ_max l] nearest to |d|. With the default band of width 0 every edge goes to its
//! rest length, which is PBD; with a wider band edges inside it are bitwise untouched (strain limiting). Edges of one
//! color share no vertex, so a color is one dispatch and the result is that of a serial sweep in that order.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | d = x_b − x_a | `d` | m |
//! | \|d\| | `extent` | m |
//! | l, L | `rest`, `wanted` | m |
//! | c d/\|d\| | `pull` | kg·m |
//!
//! Cost per sweep: every vertex is read and written once per color, four colors on a grid. Sweeps to remove strain that
//! is coherent over n edges: about n². Prefer it with many small substeps.

use std::ops::Range;

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::Source;
use crate::error::Result;
use crate::mesh::Link;
use crate::solver::lawful_edges::PROJECT_LAWFUL_EDGE;
use crate::solver::{Assignment, Solver};
use crate::stage::Recorder;
use crate::stage::edge::{self, Band, stretch_of};
use crate::stage::fields::{Clock, Frame, Vertex};
use crate::stage::freedom::Freedom;
use crate::stage::parameter::{Parameter, Parameters, Table, parameter};
use crate::stage::{Stage, strain};
use crate::vector::{padded, xyz};

static SOURCE: Source =
    Source::new("gauss_seidel", include_str!("../../shaders/gauss_seidel.wgsl")).shares(&[&edge::SOURCE]);

/// Projects one edge.
pub(crate) static PROJECT_EDGE: Kernel =
    Kernel::new("project_edge", &SOURCE, project_edge_body).pattern(Pattern::Scatter);

/// Sweeps of a seeded order before it repeats within one substep.
const PERIOD: u32 = 8;

/// Parameters of the sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct GaussSeidel {
    /// Sweeps per substep at most.
    pub sweeps: u32,
    /// Sweeps between two measurements of the strain; at least one is always done.
    pub sweeps_per_check: u32,
    /// Permutes the order of the colors from sweep to sweep, which spreads the bias of a fixed order. The same seed
    /// gives the same orders.
    pub seed: Option<u64>,
}

impl Default for GaussSeidel {
    fn default() -> Self {
        Self { sweeps: 2000, sweeps_per_check: 2, seed: None }
    }
}

impl GaussSeidel {
    /// Its name, as the program spells it.
    pub const NAME: &'static str = "gauss-seidel";
}

impl Stage for GaussSeidel {
    fn record(&self, recorder: &mut Recorder<'_>) {
        let per_check = self.sweeps_per_check.min(self.sweeps);
        // Whole checks, and whole periods of a seeded order, as many as fit.
        let checks = self.sweeps / per_check;
        let rounds = if self.seed.is_some() { checks.div_ceil(PERIOD) } else { checks };
        let period = checks / rounds;
        let (frame, edges) = (recorder.frame(), recorder.sizes().edges() as u32);
        let kernel = if recorder.sizes().lawful() { &PROJECT_LAWFUL_EDGE } else { &PROJECT_EDGE };
        recorder.repeat(rounds, |recorder| {
            for check in 0..period {
                for sweep in 0..per_check {
                    // The last substep is recorded apart, and has orders of its own.
                    let last = u64::from(recorder.about.moment.last_substep) << 32;
                    let number = last | u64::from(check * per_check + sweep);
                    for color in self.order(recorder.colors(), frame, number) {
                        recorder.dispatch_slice(kernel, color, edges, [0; 4], &[]);
                    }
                }
                strain::record(recorder, per_check, 0);
            }
        });
    }
}

impl Parameters for GaussSeidel {
    const TABLE: &'static str = "gauss_seidel";
    const PARAMETERS: &'static [Parameter<Self>] = &[
        parameter!(sweeps: Count, |sweeps| sweeps > 0, "at least 1", "sweeps per substep at most"),
        parameter!(
            sweeps_per_check: Count,
            |sweeps| (1..=1000).contains(&sweeps),
            "in 1 … 1000",
            "sweeps between two measurements of the strain"
        ),
        parameter!(seed: optional Long, |_| true, "a number", "permutes the order of the colors"),
    ];
}

impl Solver for GaussSeidel {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![self]
    }

    fn tables_mut(&mut self) -> Vec<&mut dyn Table> {
        vec![self]
    }

    fn varies(&self) -> bool {
        self.seed.is_some()
    }

    fn pointwise(&self) -> bool {
        true
    }

    fn rarities(&self) -> &'static [Assignment] {
        &[("gauss_seidel.seed", "3")]
    }
}

impl GaussSeidel {
    /// Colors in the order of one sweep.
    fn order(&self, colors: &[Range<u32>], frame: u64, sweep: u64) -> Vec<Range<u32>> {
        let mut order = colors.to_vec();
        if let Some(seed) = self.seed {
            let mut state = mix(mix(seed) ^ mix(frame) ^ sweep);
            for last in (1..order.len()).rev() {
                state = mix(state);
                order.swap(last, (state % (last as u64 + 1)) as usize);
            }
        }
        order
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): the next state and its scrambled value in one.
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn project_edge_body(run: &mut Run<'_>) -> Result<()> {
    let band = Band::of(run.one::<Frame>("frame")?);
    let clock = run.one::<Clock>("clock")?;
    let edges = run.read::<Link>("edges")?;
    let colored_edges = run.read::<u32>("colored_edges")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let freedom = Freedom::of(run)?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    let mut tensions = run.write::<f32>("tensions")?;
    for index in run.range() {
        let e = colored_edges[index] as usize;
        let edge = &edges[e];
        let (tail, head) = (edge.tail as usize, edge.head as usize);
        let Some((stretch, _)) = stretch_of(band, edge, vertices, &freedom, |v| xyz(displacements[v])) else {
            continue;
        };
        let (a, b) = (vertices[tail].inverse_mass, vertices[head].inverse_mass);
        let size = (stretch.extent - stretch.wanted) / stretch.w;
        let pull = size * Vec3::from(stretch.n);
        displacements[tail] = padded(xyz(displacements[tail]) + freedom.apply_inverse_mass(tail, a, pull));
        displacements[head] = padded(xyz(displacements[head]) - freedom.apply_inverse_mass(head, b, pull));
        tensions[e] += size * clock.force;
        if freedom.bears(a) {
            reactions[tail] = padded(xyz(reactions[tail]) + clock.force * freedom.borne(tail, a, pull));
        }
        if freedom.bears(b) {
            reactions[head] = padded(xyz(reactions[head]) - clock.force * freedom.borne(head, b, pull));
        }
    }
    Ok(())
}
