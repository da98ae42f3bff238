//! Warm start of fast projection: the tension of the substep before is the first guess.
//!
//! Starting from u* − W Jᵀ μ, μ the multipliers of the substep before, saves an outer iteration where the load is small
//! and blows up where s > 1: it is explicit geometric stiffness. The safe form keeps the momentum balance as a
//! residual, as the step-and-project scheme of the paper does (section 4.2), F = M (u − u*) + Jᵀ μ, and puts the
//! diagonal of the geometric stiffness into the mass:
//!
//! H = m + γ Σ max(μ_e, 0)/l_e, (J H⁻¹ Jᵀ) δμ = C − J H⁻¹ F, u −= H⁻¹ (F + Jᵀ δμ), μ += δμ.
//!
//! The system has the same structure, with H⁻¹ in the place of W: every kernel of the projection reads `warm_vertices`
//! instead of `vertices`. Gain: 1.5 to 2.5 times fewer iterations. It is for motion without violence: after a start
//! that is far off its constraints, multipliers of the first substep mislead the second, and such a frame may miss its
//! limit. Use γ = 1–2; nothing is carried over a substep that missed its limit, a teleport or an impulse, nor where an
//! edge's own load is above s = 5, where the form diverges.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | u* | `predictions` | m |
//! | μ | `multipliers` | kg·m |
//! | 1/H | `warm_vertices.inverse_mass` | 1/kg |
//! | H⁻¹ F | `pulls` | m |

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Spec};
use crate::engine::program::Kernel;
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::mesh::Link;
use crate::solver::fast_projection::FastProjectionLive;
use crate::stage::Recorder;
use crate::stage::fields;
use crate::stage::fields::{Clock, FAR, Frame, Vertex};
use crate::stage::load;
use crate::stage::magnitude::{grain, mass, rest};
use crate::vector::{padded, xyz};

static SOURCE: Source = Source::new("warm_start", include_str!("../../shaders/warm_start.wgsl"))
    .constants(&[("LARGEST_LOAD", Constant::F32(LARGEST_LOAD))])
    .shares(&[&fields::SOURCE]);

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<f32>("multipliers", Domain::EDGES, "μ: multipliers of the substep, or of the one before [kg·m]")
        .persistent()
        .floor(|f| Ok(rest(f)? * mass(f)?)),
    Spec::of::<[f32; 4]>(
        "predictions",
        Domain::VERTICES,
        "xyz: displacements before the projection [m], w: shortest edge [m]",
    )
    .floor(grain),
    Spec::of::<Vertex>("warm_vertices", Domain::VERTICES, "positions [m] and inverses of mass with tension [1/kg]"),
];

/// Keeps the prediction.
pub(crate) static KEEP_PREDICTION: Kernel = Kernel::new("keep_prediction", &SOURCE, keep_prediction_body);
/// First guess of a multiplier.
pub(crate) static CARRY_MULTIPLIER: Kernel = Kernel::new("carry_multiplier", &SOURCE, carry_multiplier_body);
/// What a pin bears of it.
pub(crate) static BEAR_MULTIPLIER: Kernel = Kernel::new("bear_multiplier", &SOURCE, bear_multiplier_body);
/// 1/H of a vertex.
pub(crate) static SOFTEN: Kernel = Kernel::new("soften", &SOURCE, soften_body);
/// Moves a vertex by what its momentum balance lacks.
pub(crate) static RELAX: Kernel = Kernel::new("relax", &SOURCE, relax_body);
/// Constraint after that.
pub(crate) static WARM_RESIDUAL: Kernel = Kernel::new("warm_residual", &SOURCE, warm_residual_body);
/// Adds a solution to the multiplier.
pub(crate) static NOTE_MULTIPLIER: Kernel = Kernel::new("note_multiplier", &SOURCE, note_multiplier_body);

/// Load s of an edge above which its multiplier is not carried over.
const LARGEST_LOAD: f32 = 5.0;

/// Records the start of a projection.
pub(super) fn begin(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&KEEP_PREDICTION, Domain::VERTICES);
    recorder.dispatch(&CARRY_MULTIPLIER, Domain::EDGES);
    recorder.dispatch(&BEAR_MULTIPLIER, Domain::VERTICES);
    recorder.dispatch_renamed(&load::NOTE_TENSION, Domain::EDGES, &[("solutions", "multipliers")]);
}

/// Records H of one iteration; comes before linearizing.
pub(super) fn soften(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&SOFTEN, Domain::VERTICES);
}

/// Records F of one iteration; comes after linearizing.
pub(super) fn relax(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&RELAX, Domain::VERTICES);
    recorder.dispatch(&WARM_RESIDUAL, Domain::EDGES);
}

/// Records the end of one iteration.
pub(super) fn note(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&NOTE_MULTIPLIER, Domain::EDGES);
}

fn keep_prediction_body(run: &mut Run<'_>) -> Result<()> {
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let mut predictions = run.write::<[f32; 4]>("predictions")?;
    for v in run.range() {
        predictions[v] = displacements[v];
    }
    Ok(())
}

fn carry_multiplier_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    let clock = run.one::<Clock>("clock")?;
    let edges = run.read::<Link>("edges")?;
    let mut multipliers = run.write::<f32>("multipliers")?;
    for e in run.range() {
        let largest = LARGEST_LOAD * frame.mean_mass * edges[e].rest;
        if clock.previous > 0.0 && multipliers[e].abs() <= largest {
            multipliers[e] *= (clock.h / clock.previous) * (clock.h / clock.previous);
        } else {
            multipliers[e] = 0.0;
        }
    }
    Ok(())
}

/// (Jᵀ μ) of one vertex.
fn carried_pull(edge_incidence: &[u32], multipliers: &[f32], directions: &[[f32; 4]], v: usize) -> Vec3 {
    let mut force = Vec3::ZERO;
    for k in edge_incidence[v]..edge_incidence[v + 1] {
        let entry = edge_incidence[k as usize];
        let e = (entry / 2) as usize;
        force += (if entry & 1 == 1 { 1.0 } else { -1.0 } * multipliers[e]) * xyz(directions[e]);
    }
    force
}

fn bear_multiplier_body(run: &mut Run<'_>) -> Result<()> {
    let clock = run.one::<Clock>("clock")?;
    let edge_incidence = run.read::<u32>("edge_incidence")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let multipliers = run.read::<f32>("multipliers")?;
    let directions = run.read::<[f32; 4]>("directions")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    for v in run.range() {
        if vertices[v].inverse_mass == 0.0 {
            let pull = carried_pull(edge_incidence, multipliers, directions, v);
            reactions[v] = padded(xyz(reactions[v]) - clock.force * pull);
        }
    }
    Ok(())
}

fn soften_body(run: &mut Run<'_>) -> Result<()> {
    let live = run.one::<FastProjectionLive>("fast_projection")?;
    let edges = run.read::<Link>("edges")?;
    let edge_incidence = run.read::<u32>("edge_incidence")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let multipliers = run.read::<f32>("multipliers")?;
    let mut warm_vertices = run.write::<Vertex>("warm_vertices")?;
    let mut predictions = run.write::<[f32; 4]>("predictions")?;
    for v in run.range() {
        let vertex = vertices[v];
        let (mut inverse_mass, mut shortest) = (0.0, FAR);
        if vertex.inverse_mass > 0.0 {
            let mut stiffness = 1.0 / vertex.inverse_mass;
            for k in edge_incidence[v]..edge_incidence[v + 1] {
                let e = (edge_incidence[k as usize] / 2) as usize;
                stiffness += live.warm_start * multipliers[e].max(0.0) / edges[e].rest;
                shortest = shortest.min(edges[e].rest);
            }
            inverse_mass = 1.0 / stiffness;
        }
        warm_vertices[v] = Vertex { position: vertex.position, inverse_mass };
        predictions[v][3] = shortest;
    }
    Ok(())
}

fn relax_body(run: &mut Run<'_>) -> Result<()> {
    let live = run.one::<FastProjectionLive>("fast_projection")?;
    let edge_incidence = run.read::<u32>("edge_incidence")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let predictions = run.read::<[f32; 4]>("predictions")?;
    let multipliers = run.read::<f32>("multipliers")?;
    let warm_vertices = run.read::<Vertex>("warm_vertices")?;
    let directions = run.read::<[f32; 4]>("directions")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut pulls = run.write::<[f32; 4]>("pulls")?;
    for v in run.range() {
        let mut force = carried_pull(edge_incidence, multipliers, directions, v);
        let inverse_mass = vertices[v].inverse_mass;
        let mut way = Vec3::ZERO;
        if inverse_mass > 0.0 {
            force += (xyz(displacements[v]) - xyz(predictions[v])) / inverse_mass;
            way = warm_vertices[v].inverse_mass * force;
            let (extent, most) = (way.length(), live.step_clamp * predictions[v][3]);
            if extent > most {
                way *= most / extent;
            }
            displacements[v] = padded(xyz(displacements[v]) - way);
        }
        pulls[v] = padded(way);
    }
    Ok(())
}

fn warm_residual_body(run: &mut Run<'_>) -> Result<()> {
    let edges = run.read::<Link>("edges")?;
    let directions = run.read::<[f32; 4]>("directions")?;
    let pulls = run.read::<[f32; 4]>("pulls")?;
    let mut residuals = run.write::<f32>("residuals")?;
    for e in run.range() {
        let edge = edges[e];
        residuals[e] -= xyz(directions[e]).dot(xyz(pulls[edge.head as usize]) - xyz(pulls[edge.tail as usize]));
    }
    Ok(())
}

fn note_multiplier_body(run: &mut Run<'_>) -> Result<()> {
    let solutions = run.read::<f32>("solutions")?;
    let mut multipliers = run.write::<f32>("multipliers")?;
    for e in run.range() {
        multipliers[e] += solutions[e];
    }
    Ok(())
}
