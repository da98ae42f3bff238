//! Fast projection where edges have laws of their own ([`law`]): what
//! [`fast_projection`](super::fast_projection) records beside its kernels, or in their place.
//!
//! (A + α) μ = C − αλ, α diagonal: 0 for edges without a law and for those at their ends. The rows of edges with a law
//! replace those that were linearized, and 1/(A_ee + α_e) stands where 1/A_ee does, so that the preconditioners, by the
//! diagonal or by lines, are those of the whole matrix as they are. What yarns between two pins keep of their mean
//! constraint was taken out before, and edges with a law keep none of it.

use crate::engine::cpu::{Run, group_sum};
use crate::engine::fields::{Domain, Spec};
use crate::engine::layout::GROUP;
use crate::engine::program::Kernel;
use crate::engine::source::Source;
use crate::error::Result;
use crate::mesh::Link;
use crate::stage::edge::{self, Band, stretch_of};
use crate::stage::fields::{Clock, Vertex};
use crate::stage::freedom::Freedom;
use crate::stage::law::{self, EdgeLaw};
use crate::stage::magnitude::lightest;
use crate::vector::xyz;

static SOURCE: Source = Source::new("lawful_projection", include_str!("../../shaders/lawful_projection.wgsl"))
    .shares(&[&edge::SOURCE, &law::SOURCE]);

/// Its fields.
pub(crate) const FIELDS: &[Spec] =
    &[Spec::of::<f32>("compliances", Domain::LAWS, "α, what laws add to the diagonal [1/kg]")
        .floor(|f| Ok(1.0 / lightest(f)?))];

/// The rows of edges with laws of their own.
pub(crate) static IMPOSE_LAW: Kernel = Kernel::new("impose_law", &SOURCE, impose_law_body);
/// What [`super::fast_projection::APPLY_OPERATOR`] does.
pub(crate) static APPLY_LAWFUL_OPERATOR: Kernel =
    Kernel::new("apply_lawful_operator", &SOURCE, apply_lawful_operator_body);

fn impose_law_body(run: &mut Run<'_>) -> Result<()> {
    let span = run.one::<Clock>("clock")?.span;
    let edges = run.read::<Link>("edges")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let freedom = Freedom::of(run)?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let edge_laws = run.read::<EdgeLaw>("edge_laws")?;
    let mut directions = run.write::<[f32; 4]>("directions")?;
    let mut residuals = run.write::<f32>("residuals")?;
    let mut compliances = run.write::<f32>("compliances")?;
    for e in run.range() {
        compliances[e] = 0.0;
        let (law, edge) = (&edge_laws[e], &edges[e]);
        if !law.is_own() {
            continue;
        }
        let Some((stretch, _)) = stretch_of(Band::NONE, edge, vertices, &freedom, |v| xyz(displacements[v])) else {
            (directions[e], residuals[e]) = ([0.0; 4], 0.0);
            continue;
        };
        let [x, y, z] = stretch.n.0;
        let [residual, compliance] = law.row(span, [stretch.extent, edge.rest, stretch.w], 0.0);
        directions[e] = [x, y, z, 1.0 / (stretch.w + compliance)];
        (residuals[e], compliances[e]) = (residual, compliance);
    }
    Ok(())
}

fn apply_lawful_operator_body(run: &mut Run<'_>) -> Result<()> {
    let edges = run.read::<Link>("edges")?;
    let directions = run.read::<[f32; 4]>("directions")?;
    let pulls = run.read::<[f32; 4]>("pulls")?;
    let searches = run.read::<f32>("searches")?;
    let compliances = run.read::<f32>("compliances")?;
    let mut products = run.write::<f32>("products")?;
    let mut partials = run.write::<[f32; 2]>("partials")?;
    for first in run.range().step_by(GROUP) {
        let mut lanes = [[0.0f32; 2]; GROUP];
        for e in first..run.range().end.min(first + GROUP) {
            let edge = edges[e];
            let motion = xyz(pulls[edge.head as usize]) - xyz(pulls[edge.tail as usize]);
            let product = xyz(directions[e]).dot(motion) + compliances[e] * searches[e];
            products[e] = product;
            lanes[e - first][0] = searches[e] * product;
        }
        partials[run.group(first)] = group_sum(&lanes);
    }
    Ok(())
}
