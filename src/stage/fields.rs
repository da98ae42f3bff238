//! The fields that stages and solvers share: state, mesh, what moves, what is reported; and magnitudes whose rounding
//! enters fields. What one stage or solver alone needs is declared beside its kernels.

use crate::error::Result;
use crate::fields::{Domain, Drawn, Fields, Spec};
use crate::params::{Clock, Frame, GUARDS, Link, Meters, Vertex, YarnSpan, sums};
use crate::stage::wind::Air;

/// What many kernels share.
pub const SHARED: &[Spec] = &[
    Spec::of::<Vertex>("vertices", Domain::Vertices, "committed positions [m] and inverse masses [1/kg]")
        .state()
        .drawn(Drawn::Vertices),
    Spec::of::<[f32; 4]>("velocities", Domain::Vertices, "committed velocities [m/s]")
        .state()
        .floor(|f| Ok(span(f)? / step(f)?))
        .resident(),
    Spec::of::<[f32; 4]>(
        "previous_velocities",
        Domain::Vertices,
        "velocities one substep earlier [m/s], w: 1 if it touched a solid then; for BDF2",
    )
    .state()
    .floor(|f| Ok(span(f)? / step(f)?)),
    Spec::of::<[f32; 4]>("displacements", Domain::Vertices, "motion since the start of the substep, x_j − x [m]")
        .state()
        .floor(span),
    Spec::of::<[f32; 4]>("best_displacements", Domain::Vertices, "displacements with the smallest strain so far [m]"),
    Spec::of::<[f32; 4]>("starts", Domain::Vertices, "positions at the start of the substep [m]").state(),
    Spec::of::<[f32; 4]>("remainders", Domain::Vertices, "what rounding kept of the last substep's motion [m]"),
    Spec::of::<Link>("edges", Domain::Edges, "inextensible edges").exact(),
    Spec::of::<Link>("springs", Domain::Springs, "shear springs").exact(),
    Spec::of::<YarnSpan>("yarns", Domain::Yarns, "ranges of edges, each a yarn").exact(),
    Spec::of::<u32>("edge_incidence", Domain::EdgeIncidence, "CSR, entry = edge << 1 | is_head").exact(),
    Spec::of::<u32>("spring_incidence", Domain::SpringIncidence, "CSR, entry = spring << 1 | is_head, other end")
        .exact(),
    Spec::of::<u32>("colored_edges", Domain::Edges, "edge indices, each color a contiguous range").exact(),
    Spec::of::<u32>("triangles", Domain::TriangleCorners, "corners of the drawn triangles")
        .exact()
        .drawn(Drawn::Indices),
    Spec::of::<u32>("triangle_incidence", Domain::TriangleIncidence, "CSR, entry = triangle").exact(),
    Spec::of::<[f32; 4]>("forces", Domain::Vertices, "forces other than gravity and drag [N]")
        .floor(|f| Ok(tension(f)?.max(gale(f)?))),
    Spec::of::<[f32; 4]>(
        "commands",
        Domain::Vertices,
        "w 1: position of a pinned or held vertex at the end of the frame [m], w 2: impulse on a free one [N·s]",
    ),
    Spec::of::<[f32; 4]>("reactions", Domain::Vertices, "mean force on pins, holds and contacts this frame [N]")
        .floor(weight)
        .state()
        .resident(),
    Spec::of::<f32>("tensions", Domain::Edges, "mean tension of this frame, pulling positive [N]")
        .floor(weight)
        .state(),
    Spec::of::<[f32; 4]>("normals", Domain::Vertices, "unit normals for drawing")
        .floor(|_| Ok(1.0))
        .state()
        .drawn(Drawn::Vertices),
    Spec::of::<[f32; 2]>("partials", Domain::Groups, "one leaf of a reduction per workgroup").floor(terms),
    Spec::of::<[f32; 2]>("strain_partials", Domain::Groups, "x: largest strain of a workgroup's edges")
        .floor(|_| Ok(1.0)),
    Spec::of::<[f32; 4]>("sums", Domain::Fixed(sums::COUNT), "results of reductions").floor(terms),
    Spec::of::<u32>("guards", Domain::Fixed(GUARDS), "1 while the loop that owns the word runs").exact().resident(),
    Spec::of::<Frame>("frame", Domain::Fixed(1), "what the caller said about this frame").input(),
    Spec::of::<Clock>("clock", Domain::Fixed(1), "time inside the frame, and the load that is expected").state(),
    Spec::of::<Meters>("meters", Domain::Fixed(1), "what was reached").state().resident(),
    Spec::of::<u32>(
        "faults",
        Domain::Fixed(4),
        "word 0: 1 if a value was not finite, word 1: 1 if a contact began or ended, word 2: frames taken back",
    )
    .exact()
    .state(),
];

/// Largest rest length \[m\].
pub(crate) fn rest(fields: &Fields) -> Result<f32> {
    Ok(fields.get::<Link>("edges")?.iter().fold(0.0, |most, link| most.max(link.rest)))
}

/// Rounding of an edge vector enters displacements: a part of the rest length \[m\].
pub(crate) fn span(fields: &Fields) -> Result<f32> {
    Ok(rest(fields)? / 8.0)
}

/// Force that moves a vertex by that much in a substep \[N\].
pub(crate) fn weight(fields: &Fields) -> Result<f32> {
    Ok(span(fields)? * mass(fields)? / (step(fields)? * step(fields)?))
}

/// Rounding of an edge vector as a pull on a vertex that is held by springs \[kg·m\].
pub(crate) fn impulse(fields: &Fields) -> Result<f32> {
    Ok(span(fields)? * (mass(fields)? + 4.0 * stiffest(fields)? * step(fields)? * step(fields)?))
}

/// Stiffness of the stiffest spring \[N/m\].
pub(crate) fn stiffest(fields: &Fields) -> Result<f32> {
    Ok(fields.get::<Link>("springs")?.iter().fold(0.0, |most, link| most.max(link.stiffness)))
}

/// Tension of the stiffest spring at its own length \[N\].
pub(crate) fn tension(fields: &Fields) -> Result<f32> {
    Ok(fields.get::<Link>("springs")?.iter().fold(0.0, |most, link| most.max(link.rest * link.stiffness)))
}

/// Force of the air on the largest face across the wind \[N\]; a sheet along it feels the rounding of that.
pub(crate) fn gale(fields: &Fields) -> Result<f32> {
    let air = fields.one::<Air>("air")?;
    let speed = air.velocity.length() * (1.0 + air.gust) + fields.largest("velocities")?;
    Ok(0.5 * air.density * (air.drag + air.lift) * (rest(fields)? * speed).powi(2))
}

/// Largest mass of a free vertex \[kg\].
pub(crate) fn mass(fields: &Fields) -> Result<f32> {
    Ok(free(fields)?.fold(0.0, |most, inverse_mass| most.max(1.0 / inverse_mass)))
}

/// Smallest mass of a free vertex \[kg\].
pub(crate) fn lightest(fields: &Fields) -> Result<f32> {
    Ok(free(fields)?.fold(f32::MAX, |least, inverse_mass| least.min(1.0 / inverse_mass)))
}

pub(crate) fn free(fields: &Fields) -> Result<impl Iterator<Item = f32>> {
    let vertices = fields.get::<Vertex>("vertices")?;
    Ok(vertices.iter().map(|vertex| vertex.inverse_mass).filter(|inverse_mass| *inverse_mass > 0.0))
}

/// Length of the substep \[s\]; 1 before the first.
pub(crate) fn step(fields: &Fields) -> Result<f32> {
    let h = fields.one::<Clock>("clock")?.h;
    Ok(if h > 0.0 { h } else { 1.0 })
}

/// Magnitude of what enters the product of a hinge: the rounding of a rigid motion, which turns nothing.
pub(crate) fn turn(fields: &Fields) -> Result<f32> {
    let motion = fields.largest("elastic_searches")?.max(fields.largest("displacements")?);
    Ok(fields.largest("hinge_gradients")? * motion)
}

/// Magnitude of what enters a leaf of a dot product. Residuals are differences of lengths, so the rounding of a rest
/// length enters them; 4 stands for 64 terms whose errors do not all point the same way.
pub(crate) fn terms(fields: &Fields) -> Result<f32> {
    let curvature = fields.largest("searches")? * fields.largest("products")?;
    let energy = rest(fields)? * fields.largest("preconditioned")?.max(fields.largest("residuals")?);
    let elastic = impulse(fields)? * fields.largest("elastic_searches")?.max(fields.largest("elastic_residuals")?);
    Ok(4.0 * curvature.max(energy).max(elastic))
}
