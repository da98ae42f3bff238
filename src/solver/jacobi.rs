//! Jacobi edge projection: every edge proposes a pull on its ends, of which both take the same share.
//!
//! x_i += ω Σ_e Δx_e,i / (n_e + α) (averaged constraint projection, with mass weights), n_e the number of edges at that
//! end of e which has more of them, in range or not. 0 < ω ≤ 1: larger values over-correct. An average over the edges
//! of each vertex would have n_i instead, and pull the end of a rope by more than what it hangs on: that was tried,
//! kept no momentum, let a rope on a soft hold weigh 1.5 times its weight, and gained more energy. With
//! n_e no vertex takes more than by its own average, and momentum is kept to rounding, for 2 to 5 % more sweeps.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | ω | `relaxation` | 1 |
//! | α | `blend` | 1 |
//! | Δx_e,i = w_i × pull | `corrections` holds the share of the pull on the tail | kg·m |
//!
//! Cost per sweep: edges once, vertices once, two dispatches, no atomics. Sweeps: several times those of Gauss-Seidel.

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Inputs, Spec};
use crate::engine::layout::element;
use crate::engine::program::Kernel;
use crate::engine::source::Source;
use crate::error::Result;
use crate::mesh::Link;
use crate::solver::Solver;
use crate::solver::lawful_edges::CORRECT_LAWFUL_EDGE;
use crate::stage::Recorder;
use crate::stage::edge::{self, Band, stretch_of};
use crate::stage::fields::{Clock, Frame, Vertex};
use crate::stage::freedom::Freedom;
use crate::stage::magnitude::{grain, mass};
use crate::stage::parameter::{Parameter, Parameters, Table, parameter};
use crate::stage::{Stage, strain};
use crate::vector::{padded, xyz};

static SOURCE: Source = Source::new("jacobi", include_str!("../../shaders/jacobi.wgsl")).shares(&[&edge::SOURCE]);

element! {
    /// Parameters that may change from frame to frame.
    pub(crate) struct JacobiLive {
        /// ω.
        pub(crate) relaxation: f32,
        /// α.
        pub(crate) blend: f32,
    }
}

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<[f32; 4]>("corrections", Domain::EDGES, "what is taken of the pull of an edge on its tail [kg·m]")
        .floor(|f| Ok(grain(f)? * mass(f)?)),
    Spec::of::<JacobiLive>("jacobi", Domain::Fixed(1), "parameters that may change from frame to frame").input(),
];

/// Proposal of one edge.
pub(crate) static CORRECT_EDGE: Kernel = Kernel::new("correct_edge", &SOURCE, correct_edge_body);
/// Sum of what is taken of the proposals at one vertex.
pub(crate) static GATHER_CORRECTIONS: Kernel = Kernel::new("gather_corrections", &SOURCE, gather_corrections_body);

/// Parameters of the sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Jacobi {
    /// Sweeps per substep at most.
    pub sweeps: u32,
    /// Sweeps between two measurements of the strain; at least one is always done.
    pub sweeps_per_check: u32,
    /// ω in (0, 1]; may be slid live.
    pub relaxation: f32,
    /// α ≥ 0; may be slid live.
    pub blend: f32,
}

impl Default for Jacobi {
    fn default() -> Self {
        Self { sweeps: 8000, sweeps_per_check: 8, relaxation: 1.0, blend: 0.2 }
    }
}

impl Jacobi {
    /// Its name, as the program spells it.
    pub const NAME: &'static str = "jacobi";
}

impl Stage for Jacobi {
    fn fields(&self) -> Vec<Spec> {
        FIELDS.to_vec()
    }

    fn inputs(&self, inputs: &mut Inputs<'_>) -> Result<()> {
        inputs.set("jacobi", JacobiLive { relaxation: self.relaxation, blend: self.blend })
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        let per_check = self.sweeps_per_check.min(self.sweeps);
        let correct = if recorder.sizes().lawful() { &CORRECT_LAWFUL_EDGE } else { &CORRECT_EDGE };
        recorder.repeat(self.sweeps / per_check, |recorder| {
            for _ in 0..per_check {
                recorder.dispatch(correct, Domain::EDGES);
                recorder.dispatch(&GATHER_CORRECTIONS, Domain::VERTICES);
            }
            strain::record(recorder, per_check, 0);
        });
    }
}

impl Parameters for Jacobi {
    const TABLE: &'static str = "jacobi";
    const PARAMETERS: &'static [Parameter<Self>] = &[
        parameter!(sweeps: Count, |sweeps| sweeps > 0, "at least 1", "sweeps per substep at most"),
        parameter!(
            sweeps_per_check: Count,
            |sweeps| (1..=1000).contains(&sweeps),
            "in 1 … 1000",
            "sweeps between two measurements of the strain"
        ),
        parameter!(relaxation: Number, |omega| omega > 0.0 && omega <= 1.0, "in (0, 1]", "ω of the blend"),
        parameter!(blend: Number, |alpha: f32| alpha >= 0.0 && alpha.is_finite(), "finite and at least 0", "α of the blend"),
    ];
}

impl Solver for Jacobi {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![self]
    }

    fn tables_mut(&mut self) -> Vec<&mut dyn Table> {
        vec![self]
    }

    fn pointwise(&self) -> bool {
        true
    }
}

fn correct_edge_body(run: &mut Run<'_>) -> Result<()> {
    let band = Band::of(run.one::<Frame>("frame")?);
    let jacobi = run.one::<JacobiLive>("jacobi")?;
    let clock = run.one::<Clock>("clock")?;
    let edges = run.read::<Link>("edges")?;
    let edge_incidence = run.read::<u32>("edge_incidence")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let freedom = Freedom::of(run)?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let mut tensions = run.write::<f32>("tensions")?;
    let mut corrections = run.write::<[f32; 4]>("corrections")?;
    for e in run.range() {
        let edge = &edges[e];
        let mut pull = Vec3::ZERO;
        if let Some((stretch, _)) = stretch_of(band, edge, vertices, &freedom, |v| xyz(displacements[v])) {
            let size = share(jacobi, edge_incidence, edge) * ((stretch.extent - stretch.wanted) / stretch.w);
            pull = size * Vec3::from(stretch.n);
            tensions[e] += size * clock.force;
        }
        corrections[e] = padded(pull);
    }
    Ok(())
}

/// What is taken of a proposal, at both ends alike: all edges count there, in range or not.
pub(super) fn share(jacobi: &JacobiLive, edge_incidence: &[u32], edge: &Link) -> f32 {
    let [tail, head] = [edge.tail as usize, edge.head as usize].map(|v| edge_incidence[v + 1] - edge_incidence[v]);
    jacobi.relaxation / (tail.max(head) as f32 + jacobi.blend)
}

fn gather_corrections_body(run: &mut Run<'_>) -> Result<()> {
    let clock = run.one::<Clock>("clock")?;
    let edge_incidence = run.read::<u32>("edge_incidence")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let freedom = Freedom::of(run)?;
    let corrections = run.read::<[f32; 4]>("corrections")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    for v in run.range() {
        let inverse_mass = vertices[v].inverse_mass;
        let mut pull = Vec3::ZERO;
        for k in edge_incidence[v]..edge_incidence[v + 1] {
            let entry = edge_incidence[k as usize];
            pull += if entry & 1 == 1 { -1.0 } else { 1.0 } * xyz(corrections[(entry / 2) as usize]);
        }
        if inverse_mass > 0.0 {
            displacements[v] = padded(xyz(displacements[v]) + freedom.apply_inverse_mass(v, inverse_mass, pull));
        }
        if freedom.bears(inverse_mass) {
            reactions[v] = padded(xyz(reactions[v]) + clock.force * freedom.borne(v, inverse_mass, pull));
        }
    }
    Ok(())
}
