//! Triangles that keep their shape: terms of [`crate::solver::ProjectiveDynamics`], which hold shear and area.
//!
//! F = ∂x/∂X of a triangle of rest area A has three rows and two columns. Its term of the objective is
//!
//! ½ k A ‖F − R‖², R the nearest of all F that change no length: the rotation of the polar decomposition F = R √(FᵀF)
//!
//! (shape matching, Müller et al. 2005; as a constraint of projective dynamics Bouaziz et al. 2014, section 5.2). √C of
//! a symmetric matrix of two rows is (C + s I)/t with s = √det C, t = √(tr C + 2 s), so that no iteration is needed. A
//! triangle in space has no mirror image: with the normal of its plane R is a rotation, of determinant +1, always. For
//! a triangle without area there are many R, and it pulls at nothing. With R fixed the term is quadratic, its Hessian
//! k times the cotangent Laplacian, which does not depend on x.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | √A D⁻¹ of the edges D = (X_1 − X_0, X_2 − X_0) in the triangle's plane, X_1 − X_0 along x: 11, 12, 22; √A | `triangle_shapes` | 1; m |
//! | G = √A F | `g`, `h` | m |
//! | τ² k (G − √A R), columns | `triangle_pulls` | kg·m |
//! | what that pulls at a vertex; its part of the diagonal | `vertex_pulls.xyz; .w` | kg·m; kg |
//! | k | `projective_dynamics.triangles` | N/m |

use glam::{DVec3, Vec2, Vec3, Vec4};

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Spec};
use crate::engine::layout::element;
use crate::engine::program::Kernel;
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::mesh::Mesh;
use crate::solver::projective_dynamics::{ProjectiveDynamicsLive, pulls};
use crate::stage::Recorder;
use crate::stage::edge::{self, between};
use crate::stage::fields::{Clock, Vertex};
use crate::vector::xyz;

static SOURCE: Source = Source::new("shape_matching", include_str!("../../shaders/shape_matching.wgsl"))
    .constants(&[("FLAT", Constant::F32(FLAT))])
    .shares(&[&edge::SOURCE]);

/// Square of the sine of an angle between the columns of F that counts as none.
const FLAT: f32 = 1e-6;

element! {
    /// What a triangle is from a rotation, times τ² k √A: the columns of 3 × 2 \[kg·m\].
    pub(crate) struct TrianglePull {
        pub(crate) one: Vec4,
        pub(crate) two: Vec4,
    }
}

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<[f32; 4]>("triangle_shapes", Domain::TRIANGLES, "√A D⁻¹ at rest: 11, 12, 22 [1]; √A [m]"),
    Spec::of::<TrianglePull>("triangle_pulls", Domain::TRIANGLES, "what a triangle is from a rotation [kg·m]")
        .floor(pulls),
    Spec::of::<[f32; 4]>(
        "vertex_pulls",
        Domain::VERTICES,
        "xyz: pulls of edges and triangles [kg·m], w: diagonal [kg]",
    )
    .floor(pulls),
];

/// The local step. Its roots lose half of the digits where a triangle is nearly flat.
pub(crate) static MATCH_TRIANGLE: Kernel =
    Kernel::new("match_triangle", &SOURCE, match_triangle_body).amplification(16.0);
/// What triangles pull at a vertex.
pub(crate) static GATHER_TRIANGLES: Kernel = Kernel::new("gather_triangles", &SOURCE, gather_triangles_body);
/// Their part of the operator.
pub(crate) static APPLY_TRIANGLES: Kernel = Kernel::new("apply_triangles", &SOURCE, apply_triangles_body);

/// Records the local step and its pulls.
pub(crate) fn project(recorder: &mut Recorder<'_>) {
    recorder.dispatch(&MATCH_TRIANGLE, Domain::TRIANGLES);
    recorder.dispatch(&GATHER_TRIANGLES, Domain::VERTICES);
}

/// √A D⁻¹ and √A of every triangle in the rest shape; zeros where it has no area.
pub(crate) fn shapes(mesh: &Mesh) -> impl Iterator<Item = [f32; 4]> {
    mesh.triangles().into_iter().map(|corners| {
        let [a, b, c] = corners.map(|v| DVec3::from_array(mesh.positions()[v as usize].map(f64::from)));
        let (first, second) = (b - a, c - a);
        let length = first.length();
        let twice = first.cross(second).length();
        if twice <= 1e-12 * length * second.length() {
            return [0.0; 4];
        }
        let (root, height, along) = ((0.5 * twice).sqrt(), twice / length, first.dot(second) / length);
        [root / length, -root * along / (length * height), root / height, root].map(|number| number as f32)
    })
}

/// √A ∇N of a corner.
fn slope(shape: [f32; 4], corner: usize) -> Vec2 {
    let (one, two) = (Vec2::new(shape[0], shape[1]), Vec2::new(0.0, shape[2]));
    match corner {
        1 => one,
        2 => two,
        _ => -one - two,
    }
}

fn corner_of(triangles: &[u32], v: usize, t: usize) -> usize {
    if triangles[3 * t + 2] as usize == v { 2 } else { usize::from(triangles[3 * t + 1] as usize == v) }
}

fn match_triangle_body(run: &mut Run<'_>) -> Result<()> {
    let live = run.one::<ProjectiveDynamicsLive>("projective_dynamics")?;
    let clock = run.one::<Clock>("clock")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let triangles = run.read::<u32>("triangles")?;
    let shapes = run.read::<[f32; 4]>("triangle_shapes")?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let mut triangle_pulls = run.write::<TrianglePull>("triangle_pulls")?;
    for t in run.range() {
        let shape = shapes[t];
        let [a, b, c] = [0, 1, 2].map(|k| triangles[3 * t + k] as usize);
        let along = |head: usize| between(vertices, |v| xyz(displacements[v]), a, head);
        let (first, second) = (along(b), along(c));
        let (g, h) = (first * shape[0], first * shape[1] + second * shape[2]);
        let [xx, xy, yy] = [g.dot(g), g.dot(h), h.dot(h)];
        let determinant = xx * yy - xy * xy;
        let mut pulls = [Vec3::ZERO; 2];
        if determinant > FLAT * xx * yy && shape[3] > 0.0 {
            let s = determinant.sqrt();
            let scale = 1.0 / (s * (xx + yy + 2.0 * s).sqrt());
            let turned = [scale * ((yy + s) * g - xy * h), scale * ((xx + s) * h - xy * g)];
            let weight = clock.span * clock.span * live.triangles;
            pulls = [weight * (g - shape[3] * turned[0]), weight * (h - shape[3] * turned[1])];
        }
        let [one, two] = pulls.map(|pull| pull.extend(0.0));
        triangle_pulls[t] = TrianglePull { one, two };
    }
    Ok(())
}

fn gather_triangles_body(run: &mut Run<'_>) -> Result<()> {
    let live = run.one::<ProjectiveDynamicsLive>("projective_dynamics")?;
    let clock = run.one::<Clock>("clock")?;
    let triangles = run.read::<u32>("triangles")?;
    let incidence = run.read::<u32>("triangle_incidence")?;
    let shapes = run.read::<[f32; 4]>("triangle_shapes")?;
    let triangle_pulls = run.read::<TrianglePull>("triangle_pulls")?;
    let mut vertex_pulls = run.write::<[f32; 4]>("vertex_pulls")?;
    let weight = clock.span * clock.span * live.triangles;
    for v in run.range() {
        let (mut pull, mut diagonal) = (Vec3::ZERO, 0.0);
        for t in &incidence[incidence[v] as usize..incidence[v + 1] as usize] {
            let t = *t as usize;
            let along = slope(shapes[t], corner_of(triangles, v, t));
            let TrianglePull { one, two } = triangle_pulls[t];
            pull -= along.x * one.truncate() + along.y * two.truncate();
            diagonal += weight * along.dot(along);
        }
        vertex_pulls[v] = pull.extend(diagonal).to_array();
    }
    Ok(())
}

fn apply_triangles_body(run: &mut Run<'_>) -> Result<()> {
    let live = run.one::<ProjectiveDynamicsLive>("projective_dynamics")?;
    let clock = run.one::<Clock>("clock")?;
    let triangles = run.read::<u32>("triangles")?;
    let incidence = run.read::<u32>("triangle_incidence")?;
    let shapes = run.read::<[f32; 4]>("triangle_shapes")?;
    let searches = run.read::<[f32; 4]>("projective_searches")?;
    let mut vertex_pulls = run.write::<[f32; 4]>("vertex_pulls")?;
    let weight = clock.span * clock.span * live.triangles;
    for v in run.range() {
        let mut product = Vec3::ZERO;
        for t in &incidence[incidence[v] as usize..incidence[v + 1] as usize] {
            let t = *t as usize;
            let shape = shapes[t];
            let along = slope(shape, corner_of(triangles, v, t));
            let [here, first, second] = [0, 1, 2].map(|k| xyz(searches[triangles[3 * t + k] as usize]));
            let (first, second) = (first - here, second - here);
            product += along.x * (first * shape[0]) + along.y * (first * shape[1] + second * shape[2]);
        }
        vertex_pulls[v] = (weight * product).extend(vertex_pulls[v][3]).to_array();
    }
    Ok(())
}
