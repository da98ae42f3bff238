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
//! Cost per sweep: edges once, vertices once, two dispatches, no atomics. Sweeps: several times those of Gauss-Seidel,
//! or far fewer with [Chebyshev acceleration](crate::solver::chebyshev), where they grow as the size and not as its
//! square. Sweeps to 1 % of sheets of n × n unit masses that hang by a row and start stretched by 5 %:
//!
//! | n | plain | accelerated |
//! |---|---|---|
//! | 11 | 656 | 80 |
//! | 21 | 2,576 | 168 |
//! | 41 | 10,200 | 328 |
//! | 71 | about 30,000 | 576 |

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Inputs, Spec};
use crate::engine::layout::element;
use crate::engine::program::Kernel;
use crate::engine::source::Source;
use crate::error::Result;
use crate::mesh::Link;
use crate::solver::chebyshev::{self, Accelerated};
use crate::solver::lawful_edges::CORRECT_LAWFUL_EDGE;
use crate::solver::{Assignment, Solver, Variant};
use crate::stage::Recorder;
use crate::stage::edge::{self, Band, stretch_of};
use crate::stage::fields::{Clock, Frame, Vertex};
use crate::stage::freedom::Freedom;
use crate::stage::magnitude::{grain, mass};
use crate::stage::parameter::{Parameter, Parameters, Table, Takes, Value, parameter};
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
    Spec::of::<[f32; 4]>(
        "corrections",
        Domain::EDGES,
        "xyz: what is taken of the pull of an edge on its tail [kg·m], w: its size",
    )
    .floor(|f| Ok(grain(f)? * mass(f)?)),
    Spec::of::<JacobiLive>("jacobi", Domain::Fixed(1), "parameters that may change from frame to frame").input(),
];

/// Proposal of one edge.
pub(crate) static CORRECT_EDGE: Kernel = Kernel::new("correct_edge", &SOURCE, correct_edge_body);
/// Sum of what is taken of the proposals at one vertex.
pub(crate) static GATHER_CORRECTIONS: Kernel = Kernel::new("gather_corrections", &SOURCE, gather_corrections_body);

/// What makes sweeps converge faster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Acceleration {
    /// Nothing.
    #[default]
    Off,
    /// The semi-iterative method of Chebyshev ([`crate::solver::chebyshev`]).
    Chebyshev,
}

impl Acceleration {
    /// Names as the program spells them.
    pub const NAMES: [&'static str; 2] = ["off", "chebyshev"];

    const ALL: [Self; 2] = [Self::Off, Self::Chebyshev];

    /// The acceleration of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|acceleration| acceleration.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

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
    /// What makes sweeps converge faster. Cloth that has edges with laws of their own (compliance, ropes) is swept
    /// plainly whatever this says.
    pub acceleration: Acceleration,
    /// ρ of accelerated sweeps, in (0, 1); `None` finds it while they run.
    pub spectral_radius: Option<f32>,
}

impl Default for Jacobi {
    fn default() -> Self {
        Self {
            sweeps: 8000,
            sweeps_per_check: 8,
            relaxation: 1.0,
            blend: 0.2,
            acceleration: Acceleration::Off,
            spectral_radius: None,
        }
    }
}

impl Jacobi {
    /// Its name, as the program spells it.
    pub const NAME: &'static str = "jacobi";
}

impl Stage for Jacobi {
    fn fields(&self) -> Vec<Spec> {
        [FIELDS, chebyshev::FIELDS].concat()
    }

    fn inputs(&self, inputs: &mut Inputs<'_>) -> Result<()> {
        inputs.set("jacobi", JacobiLive { relaxation: self.relaxation, blend: self.blend })
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        let per_check = self.sweeps_per_check.min(self.sweeps);
        // What edges with laws of their own have pulled is a sum over plain sweeps.
        let lawful = recorder.sizes().lawful();
        let correct = if lawful { &CORRECT_LAWFUL_EDGE } else { &CORRECT_EDGE };
        let accelerated = (self.acceleration == Acceleration::Chebyshev && !lawful)
            .then_some(Accelerated { spectral_radius: self.spectral_radius });
        if let Some(accelerated) = accelerated {
            accelerated.begin(recorder);
        }
        recorder.repeat(self.sweeps / per_check, |recorder| {
            for sweep in 0..per_check {
                recorder.dispatch(correct, Domain::EDGES);
                if let Some(accelerated) = accelerated {
                    accelerated.carry(recorder, sweep, per_check);
                }
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
        Parameter {
            name: "acceleration",
            takes: Takes::Word(&Acceleration::NAMES),
            expected: "off or chebyshev",
            about: "what makes sweeps converge faster",
            get: |solver| Value::Word(solver.acceleration.name()),
            set: |solver, value| {
                if let Value::Word(name) = value {
                    solver.acceleration = Acceleration::named(name).unwrap_or(solver.acceleration);
                }
            },
            valid: |_| true,
        },
        parameter!(
            spectral_radius: optional Number,
            |radius| radius > 0.0 && radius <= 0.9999995,
            "in (0, 0.9999995]",
            "ρ of accelerated sweeps; found while they run if none"
        ),
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

    fn variants(&self) -> &'static [Variant] {
        &[Variant { name: "jacobi-chebyshev", set: &[("jacobi.acceleration", "chebyshev")] }]
    }

    // The first sweeps up to a check are never accelerated.
    fn rarities(&self) -> &'static [Assignment] {
        &[("jacobi.sweeps_per_check", "1")]
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
        let mut correction = [0.0; 4];
        if let Some((stretch, _)) = stretch_of(band, edge, vertices, &freedom, |v| xyz(displacements[v])) {
            let size = share(jacobi, edge_incidence, edge) * ((stretch.extent - stretch.wanted) / stretch.w);
            correction = (size * Vec3::from(stretch.n)).extend(size).to_array();
            tensions[e] += size * clock.force;
        }
        corrections[e] = correction;
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
