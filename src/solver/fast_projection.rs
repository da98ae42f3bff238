//! Fast projection (Goldenthal et al. 2007, section 4.3): Newton's method on all edges at once, one linear solve per
//! iteration, by matrix-free conjugate gradients.
//!
//! Eq. (7) is h²∇C M⁻¹∇Cᵀ δλ = C. With μ = h²δλ the step size cancels: A μ = C, A = J W Jᵀ, and eq. (5) becomes
//! u −= W Jᵀ μ. Row e = (a, b) of J holds −q_e at a and +q_e at b.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | C_e = (\|d\|² − l²)/(2l), half of the paper's eq. (1) | `residuals` at the start | m |
//! | q_e = d/l = ∂C_e/∂x_b | `directions.xyz` | 1 |
//! | 1/A_ee = 1/((w_a + w_b)\|q\|²) | `directions.w` | kg |
//! | μ_e | `solutions` | kg·m |
//! | y = W Jᵀ p | `pulls` | m |
//! | tension of edge e | μ_e \|q\|/h², summed over the iterations | N |
//!
//! The solve is loose on purpose, because the outer loop re-linearizes anyway. A tolerance of 0.1–0.3 costs least while
//! cloth moves fast, but what it leaves unsolved is motion: a curtain at rest then trembles at 2–8 mm/s at 8 substeps
//! per frame, at the default of 0.02 at 0.5 mm/s; a curtain at rest takes no more iterations for it, a swinging sheet hung by
//! two corners twice as many. The matrix of one yarn is a discrete string equation, so CG that is preconditioned by the
//! diagonal needs about n iterations on an n × n cloth.
//! Guards against what Newton's method cannot do: steps are clamped to 0.3 of the shortest edge at a vertex; an edge
//! compressed below half its length uses the linear constraint |d| − l; a collapsed edge gets an empty row; a singular
//! system (a straight row between two pins) ends CG when the curvature vanishes. Everything stays finite and bounded,
//! and the report tells the strain that was reached.

use glam::Vec3;

use crate::cpu::{Run, group_sum};
use crate::error::Result;
use crate::fields::Domain;
use crate::params::{Clock, Frame, GROUP, Link, Vertex, sums};
use crate::program::{Kernel, Recorder, Shape};
use crate::solver::{Solver, apply_inverse_mass, banded_length, conjugate_gradient, in_band, lines, within};
use crate::stage::{padded, reduce, strain, xyz};

const WGSL: &str = include_str!("../../shaders/fast_projection.wgsl");

/// Constraint, direction and diagonal of one edge.
pub static LINEARIZE: Kernel = Kernel::new("linearize", WGSL, linearize_body).shape(Shape::Reduction);
/// First half of the operator: y = W Jᵀ p.
pub static GATHER_PULLS: Kernel = Kernel::new("gather_pulls", WGSL, gather_pulls_body);
/// Second half: q = J y.
pub static APPLY_OPERATOR: Kernel = Kernel::new("apply_operator", WGSL, apply_operator_body).shape(Shape::Reduction);
/// u −= W Jᵀ μ.
pub static APPLY_MULTIPLIERS: Kernel = Kernel::new("apply_multipliers", WGSL, apply_multipliers_body);

/// What makes the linear solve converge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preconditioner {
    /// The diagonal of A: cheap, about n iterations on an n × n cloth.
    #[default]
    Jacobi,
    /// The blocks of A that belong to single yarns, solved exactly ([`crate::solver::lines`]): a handful of iterations, set
    /// by shear and not by n.
    Lines,
}

/// Parameters of the projection.
#[derive(Clone, Debug, PartialEq)]
pub struct FastProjection {
    /// What makes the linear solve converge.
    pub preconditioner: Preconditioner,
    /// Projection iterations per substep at most.
    pub iterations: u32,
    /// Iterations of one linear solve at most; `None` takes the number of edges, where exact arithmetic
    /// would end, and a quarter more.
    pub inner_iterations: Option<u32>,
    /// |r|/|r_0| at which a linear solve ends, in (0, 1); may be slid live.
    pub tolerance: f32,
    /// Largest motion of a vertex in one iteration, as a part of its shortest edge; may be slid live.
    pub step_clamp: f32,
}

impl Default for FastProjection {
    fn default() -> Self {
        Self {
            preconditioner: Preconditioner::Jacobi,
            iterations: 60,
            inner_iterations: None,
            tolerance: 0.02,
            step_clamp: 0.3,
        }
    }
}

impl Solver for FastProjection {
    fn name(&self) -> &'static str {
        "fast-projection"
    }

    fn validate(&self) -> Result<()> {
        within("iterations", self.iterations.into(), self.iterations > 0, "at least 1")?;
        let inner = self.inner_iterations.unwrap_or(1);
        within("inner_iterations", inner.into(), inner > 0, "at least 1")?;
        let tolerance = self.tolerance;
        within("tolerance", tolerance.into(), tolerance > 0.0 && tolerance < 1.0, "in (0, 1)")?;
        let clamp = self.step_clamp;
        within("step_clamp", clamp.into(), clamp > 0.0 && clamp <= 10.0, "in (0, 10]")
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        let edges = recorder.sizes().edges as u32;
        let inner = self.inner_iterations.unwrap_or(edges + edges / 4 + 8);
        recorder.repeat(self.iterations, |recorder| {
            recorder.dispatch(&LINEARIZE, Domain::Edges);
            self.precondition(recorder, &[("preconditioned", "searches")]);
            reduce::record(recorder, &reduce::SUM_PARTIALS, Domain::Edges, sums::RESIDUAL);
            let solve = conjugate_gradient::record(recorder, inner, apply, |recorder| self.precondition(recorder, &[]));
            recorder.dispatch(&APPLY_MULTIPLIERS, Domain::Vertices);
            strain::record(recorder, 1, solve);
        });
    }

    fn live(&self) -> [f32; 4] {
        [self.tolerance, self.step_clamp, 0.0, 0.0]
    }
}

impl FastProjection {
    /// Records z = P r where P is more than the diagonal, which the other kernels bring along.
    fn precondition(&self, recorder: &mut Recorder<'_>, renames: &'static [(&'static str, &'static str)]) {
        if self.preconditioner == Preconditioner::Lines {
            lines::solve_all(recorder, renames);
            recorder.dispatch_renamed(&conjugate_gradient::DOT_RESIDUALS, Domain::Edges, renames);
        }
    }
}

/// Records `products` = A `searches` and the reduction of their dot product.
fn apply(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&GATHER_PULLS, Domain::Vertices);
    recorder.dispatch(&APPLY_OPERATOR, Domain::Edges);
    reduce::record(recorder, &reduce::SUM_PARTIALS, Domain::Edges, sums::CURVATURE);
}

fn linearize_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    let edges = run.read::<Link>("edges")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let mut directions = run.write::<[f32; 4]>("directions")?;
    let mut residuals = run.write::<f32>("residuals")?;
    let mut solutions = run.write::<f32>("solutions")?;
    let mut searches = run.write::<f32>("searches")?;
    let mut partials = run.write::<[f32; 2]>("partials")?;
    for first in run.range().step_by(GROUP) {
        let mut lanes = [[0.0f32; 2]; GROUP];
        for e in first..run.range().end.min(first + GROUP) {
            let edge = edges[e];
            let (tail, head) = (edge.tail as usize, edge.head as usize);
            let (a, b) = (vertices[tail], vertices[head]);
            let w = a.inverse_mass + b.inverse_mass;
            let d = (b.position - a.position) + (xyz(displacements[head]) - xyz(displacements[tail]));
            let extent = d.length();
            let mut direction = [0.0; 4];
            let mut residual = 0.0;
            if w > 0.0 && extent >= 1e-6 * edge.rest && !in_band(frame, extent, edge.rest) {
                let wanted = banded_length(frame, extent, edge.rest);
                if extent < 0.5 * wanted {
                    let n = d / extent;
                    direction = [n.x, n.y, n.z, 1.0 / w];
                    residual = extent - wanted;
                } else {
                    let q = d / wanted;
                    direction = [q.x, q.y, q.z, 1.0 / (w * q.dot(q))];
                    residual = 0.5 * (extent - wanted) * (extent + wanted) / wanted;
                }
            }
            let search = direction[3] * residual;
            directions[e] = direction;
            residuals[e] = residual;
            solutions[e] = 0.0;
            searches[e] = search;
            lanes[e - first] = [residual * search, residual * residual];
        }
        partials[first / GROUP] = group_sum(&lanes);
    }
    Ok(())
}

fn gather_pulls_body(run: &mut Run<'_>) -> Result<()> {
    let vertices = run.read::<Vertex>("vertices")?;
    let edge_incidence = run.read::<u32>("edge_incidence")?;
    let directions = run.read::<[f32; 4]>("directions")?;
    let searches = run.read::<f32>("searches")?;
    let mut pulls = run.write::<[f32; 4]>("pulls")?;
    for v in run.range() {
        let mut pull = Vec3::ZERO;
        for k in edge_incidence[v]..edge_incidence[v + 1] {
            let entry = edge_incidence[k as usize];
            let e = (entry / 2) as usize;
            pull += (if entry & 1 == 1 { 1.0 } else { -1.0 } * searches[e]) * xyz(directions[e]);
        }
        pulls[v] = padded(apply_inverse_mass(vertices[v].inverse_mass, pull));
    }
    Ok(())
}

fn apply_operator_body(run: &mut Run<'_>) -> Result<()> {
    let edges = run.read::<Link>("edges")?;
    let directions = run.read::<[f32; 4]>("directions")?;
    let pulls = run.read::<[f32; 4]>("pulls")?;
    let searches = run.read::<f32>("searches")?;
    let mut products = run.write::<f32>("products")?;
    let mut partials = run.write::<[f32; 2]>("partials")?;
    for first in run.range().step_by(GROUP) {
        let mut lanes = [[0.0f32; 2]; GROUP];
        for e in first..run.range().end.min(first + GROUP) {
            let edge = edges[e];
            let product = xyz(directions[e]).dot(xyz(pulls[edge.head as usize]) - xyz(pulls[edge.tail as usize]));
            products[e] = product;
            lanes[e - first][0] = searches[e] * product;
        }
        partials[first / GROUP] = group_sum(&lanes);
    }
    Ok(())
}

fn apply_multipliers_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    let clock = run.one::<Clock>("clock")?;
    let edges = run.read::<Link>("edges")?;
    let edge_incidence = run.read::<u32>("edge_incidence")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let directions = run.read::<[f32; 4]>("directions")?;
    let solutions = run.read::<f32>("solutions")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    for v in run.range() {
        let inverse_mass = vertices[v].inverse_mass;
        let mut pull = Vec3::ZERO;
        let mut shortest = 3.0e38f32;
        for k in edge_incidence[v]..edge_incidence[v + 1] {
            let entry = edge_incidence[k as usize];
            let e = (entry / 2) as usize;
            pull -= (if entry & 1 == 1 { 1.0 } else { -1.0 } * solutions[e]) * xyz(directions[e]);
            shortest = shortest.min(edges[e].rest);
        }
        if inverse_mass > 0.0 {
            let way = apply_inverse_mass(inverse_mass, pull);
            let extent = way.length();
            let most = frame.live.y * shortest;
            let clamped = if extent > most { way * (most / extent) } else { way };
            displacements[v] = padded(xyz(displacements[v]) + clamped);
        } else {
            reactions[v] = padded(xyz(reactions[v]) + pull / (clock.h * frame.dt));
        }
    }
    Ok(())
}
