//! Edge projection where edges have laws of their own ([`law`]): the kernels that [`gauss_seidel`](super::gauss_seidel)
//! and [`jacobi`](super::jacobi) record in the place of theirs.
//!
//! An edge is brought onto its law by itself, and its multiplier λ adds up over the iterations of a substep (Macklin,
//! Müller & Chentanez 2016, eq. 18). What Jacobi takes of a pull it takes of the multiplier, too. Edges without a law
//! of their own are projected as everywhere.

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::Source;
use crate::error::Result;
use crate::mesh::Link;
use crate::solver::jacobi::{JacobiLive, share};
use crate::stage::edge::{self, Band, stretch_of};
use crate::stage::fields::{Clock, Frame, Vertex};
use crate::stage::freedom::Freedom;
use crate::stage::law::{self, EdgeLaw};
use crate::vector::{padded, xyz};

static SOURCE: Source =
    Source::new("lawful_edges", include_str!("../../shaders/lawful_edges.wgsl")).shares(&[&edge::SOURCE, &law::SOURCE]);

/// What [`super::gauss_seidel::PROJECT_EDGE`] does.
pub(crate) static PROJECT_LAWFUL_EDGE: Kernel =
    Kernel::new("project_lawful_edge", &SOURCE, project_lawful_edge_body).pattern(Pattern::Scatter);
/// What [`super::jacobi::CORRECT_EDGE`] does.
pub(crate) static CORRECT_LAWFUL_EDGE: Kernel = Kernel::new("correct_lawful_edge", &SOURCE, correct_lawful_edge_body);

/// What edges are asked with.
struct Asked<'a> {
    band: Band,
    span: f32,
    vertices: &'a [Vertex],
    freedom: &'a Freedom<'a>,
}

impl Asked<'_> {
    /// Direction of an edge, and the pull that it asks for \[kg·m\]; `None` where nothing can be done.
    fn of(&self, edge: &Link, law: &EdgeLaw, displacement: impl Fn(usize) -> Vec3) -> Option<(Vec3, f32)> {
        let band = if law.is_own() { Band::NONE } else { self.band };
        let (stretch, _) = stretch_of(band, edge, self.vertices, self.freedom, displacement)?;
        let size = if law.is_own() {
            law.pull(self.span, [stretch.extent, edge.rest, stretch.w])
        } else {
            (stretch.extent - stretch.wanted) / stretch.w
        };
        Some((stretch.n.into(), size))
    }
}

fn project_lawful_edge_body(run: &mut Run<'_>) -> Result<()> {
    let (band, clock) = (Band::of(run.one::<Frame>("frame")?), run.one::<Clock>("clock")?);
    let edges = run.read::<Link>("edges")?;
    let colored_edges = run.read::<u32>("colored_edges")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let freedom = Freedom::of(run)?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    let mut edge_laws = run.write::<EdgeLaw>("edge_laws")?;
    let asked = Asked { band, span: clock.span, vertices, freedom: &freedom };
    for index in run.range() {
        let e = colored_edges[index] as usize;
        let edge = &edges[e];
        let Some((n, size)) = asked.of(edge, &edge_laws[e], |v| xyz(displacements[v])) else { continue };
        let (tail, head) = (edge.tail as usize, edge.head as usize);
        let (a, b) = (vertices[tail].inverse_mass, vertices[head].inverse_mass);
        let pull = size * n;
        displacements[tail] = padded(xyz(displacements[tail]) + freedom.apply_inverse_mass(tail, a, pull));
        displacements[head] = padded(xyz(displacements[head]) - freedom.apply_inverse_mass(head, b, pull));
        edge_laws[e].multiplier += size;
        if freedom.bears(a) {
            reactions[tail] = padded(xyz(reactions[tail]) + clock.force * freedom.borne(tail, a, pull));
        }
        if freedom.bears(b) {
            reactions[head] = padded(xyz(reactions[head]) - clock.force * freedom.borne(head, b, pull));
        }
    }
    Ok(())
}

fn correct_lawful_edge_body(run: &mut Run<'_>) -> Result<()> {
    let (band, clock) = (Band::of(run.one::<Frame>("frame")?), run.one::<Clock>("clock")?);
    let jacobi = run.one::<JacobiLive>("jacobi")?;
    let edges = run.read::<Link>("edges")?;
    let edge_incidence = run.read::<u32>("edge_incidence")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let freedom = Freedom::of(run)?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let mut corrections = run.write::<[f32; 4]>("corrections")?;
    let mut edge_laws = run.write::<EdgeLaw>("edge_laws")?;
    let asked = Asked { band, span: clock.span, vertices, freedom: &freedom };
    for e in run.range() {
        let found = asked.of(&edges[e], &edge_laws[e], |v| xyz(displacements[v]));
        let (n, size) = found.unwrap_or_default();
        let size = share(jacobi, edge_incidence, &edges[e]) * size;
        edge_laws[e].multiplier += size;
        corrections[e] = padded(size * n);
    }
    Ok(())
}
