//! Bending: forces at the start of a substep, and the stiffness that the elastic solve applies.
//!
//! [`crate::mesh::bending`] derives the two models. Flat at rest: E = ½ Σ w_ij |x_i − x_j|² with signed weights, so
//! f = Σ w (x_j − x_i) and K is constant. Curved at rest: E = ½ Σ k (φ − φ_0)², f = −k (φ − φ_0) ∇φ and K = −k ∇φ ∇φᵀ
//! (Gauss-Newton). Both leave K p in `bend_forces`, where [`crate::stage::elastic`] finds it; where springs are
//! explicit the forces alone are used.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | w; or hinges at a vertex | `bend_incidence` | N/m |
//! | √k ∇φ; √k (φ − φ_0) | `hinge_gradients.xyz; .w` | √(N/m); √(N·m) |
//! | K p | `bend_forces` | N |

use glam::{UVec2, UVec4, Vec3, Vec4};

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Spec};
use crate::engine::layout::element;
use crate::engine::program::{Kernel, Renames};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::mesh::bending::{NARROWEST, SHARPEST, fold};
use crate::stage::Recorder;
use crate::stage::fields;
use crate::stage::fields::Vertex;
use crate::stage::magnitude::{tension, turn};
use crate::vector::{padded, xyz};

element! {
    /// A hinge as a kernel reads it.
    pub struct HingeRow {
        /// Ends of the edge, and the corners opposite to it.
        pub(crate) vertices: UVec4,
        /// φ_0 = 2 tan(θ_0/2).
        pub(crate) rest: f32,
        /// \[N·m\].
        pub(crate) stiffness: f32,
        pub(crate) padding: UVec2,
    }
}

element! {
    /// Gradients of a hinge.
    pub struct HingeGradients {
        /// √k ∇φ at each corner \[√(N/m)\]; w of the first √k (φ − φ_0) \[√(N·m)\].
        pub(crate) corners: [Vec4; 4],
    }
}

static SOURCE: Source = Source::new("bending", include_str!("../../shaders/bending.wgsl"))
    .constants(&[("NARROWEST", Constant::F32(NARROWEST)), ("SHARPEST", Constant::F32(SHARPEST))])
    .shares(&[&fields::SOURCE]);

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<u32>(
        "bend_incidence",
        Domain::BEND_INCIDENCE,
        "CSR, entry = other end, weight [N/m]; or hinge << 2 | corner",
    )
    .exact(),
    Spec::of::<HingeRow>("hinges", Domain::HINGES, "folds and their rest angles"),
    Spec::of::<HingeGradients>("hinge_gradients", Domain::HINGES, "√k ∇φ [√(N/m)]; √k (φ − φ_0) [√(N·m)]"),
    Spec::of::<f32>("hinge_products", Domain::HINGES, "√k ∇φ·p").floor(turn),
    Spec::of::<[f32; 4]>("bend_forces", Domain::VERTICES, "K p of bending [N]")
        .floor(|f| Ok(tension(f)?.max(turn(f)? * f.largest("hinge_gradients")?))),
];

/// Forces of the pairs.
pub(crate) static GATHER_PAIRS: Kernel = Kernel::new("gather_pairs", &SOURCE, gather_pairs_body);
/// Their stiffness.
pub(crate) static BEND_PAIRS: Kernel = Kernel::new("bend_pairs", &SOURCE, bend_pairs_body);
/// Angle and gradient of a hinge.
pub(crate) static LINEARIZE_HINGE: Kernel =
    Kernel::new("linearize_hinge", &SOURCE, linearize_hinge_body).amplification(64.0);
/// Forces of the hinges.
pub(crate) static GATHER_HINGES: Kernel = Kernel::new("gather_hinges", &SOURCE, gather_hinges_body);
/// First half of their stiffness.
pub(crate) static TURN_HINGE: Kernel = Kernel::new("turn_hinge", &SOURCE, turn_hinge_body);
/// Second half.
pub(crate) static BEND_HINGES: Kernel = Kernel::new("bend_hinges", &SOURCE, bend_hinges_body);

/// Records the forces at the start of a substep, added to `forces` or to the field that stands for it.
pub(crate) fn record(recorder: &mut Recorder<'_>, renames: Renames) {
    if !recorder.sizes().bends() {
        return;
    }
    if recorder.sizes().hinges() > 0 {
        recorder.dispatch(&LINEARIZE_HINGE, Domain::HINGES);
        recorder.dispatch_renamed(&GATHER_HINGES, Domain::VERTICES, renames);
    } else {
        recorder.dispatch_renamed(&GATHER_PAIRS, Domain::VERTICES, renames);
    }
}

/// Records `bend_forces` = K `searches`, or of the field that stands for them.
pub(crate) fn apply(recorder: &mut Recorder<'_>, renames: Renames) {
    if !recorder.sizes().bends() {
        return;
    }
    if recorder.sizes().hinges() > 0 {
        recorder.dispatch_renamed(&TURN_HINGE, Domain::HINGES, renames);
        recorder.dispatch_renamed(&BEND_HINGES, Domain::VERTICES, renames);
    } else {
        recorder.dispatch_renamed(&BEND_PAIRS, Domain::VERTICES, renames);
    }
}

fn gather_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let vertices = run.read::<Vertex>("vertices")?;
    let incidence = run.read::<u32>("bend_incidence")?;
    let mut forces = run.write::<[f32; 4]>("forces")?;
    for v in run.range() {
        let here = vertices[v].position;
        let (mut force, mut diagonal) = (Vec3::ZERO, 0.0);
        for pair in incidence[incidence[v] as usize..incidence[v + 1] as usize].chunks_exact(2) {
            let weight = f32::from_bits(pair[1]);
            force += weight * (vertices[pair[0] as usize].position - here);
            diagonal += weight;
        }
        let sum = xyz(forces[v]) + force;
        forces[v] = [sum.x, sum.y, sum.z, forces[v][3] + diagonal];
    }
    Ok(())
}

fn bend_pairs_body(run: &mut Run<'_>) -> Result<()> {
    let incidence = run.read::<u32>("bend_incidence")?;
    let searches = run.read::<[f32; 4]>("searches")?;
    let mut bend_forces = run.write::<[f32; 4]>("bend_forces")?;
    for v in run.range() {
        let here = Vec4::from_array(searches[v]);
        let mut force = Vec4::ZERO;
        for pair in incidence[incidence[v] as usize..incidence[v + 1] as usize].chunks_exact(2) {
            force += f32::from_bits(pair[1]) * (Vec4::from_array(searches[pair[0] as usize]) - here);
        }
        bend_forces[v] = padded(force.truncate());
    }
    Ok(())
}

fn linearize_hinge_body(run: &mut Run<'_>) -> Result<()> {
    let vertices = run.read::<Vertex>("vertices")?;
    let hinges = run.read::<HingeRow>("hinges")?;
    let mut hinge_gradients = run.write::<HingeGradients>("hinge_gradients")?;
    for e in run.range() {
        let hinge = hinges[e];
        let points = hinge.vertices.to_array().map(|v| vertices[v as usize].position);
        let root = hinge.stiffness.sqrt();
        hinge_gradients[e] = match fold(points) {
            Some((angle, gradient)) => {
                let mut corners = gradient.map(|gradient| (root * gradient).extend(0.0));
                corners[0].w = root * (angle - hinge.rest);
                HingeGradients { corners }
            }
            None => HingeGradients::default(),
        };
    }
    Ok(())
}

fn gather_hinges_body(run: &mut Run<'_>) -> Result<()> {
    let incidence = run.read::<u32>("bend_incidence")?;
    let hinge_gradients = run.read::<HingeGradients>("hinge_gradients")?;
    let mut forces = run.write::<[f32; 4]>("forces")?;
    for v in run.range() {
        let (mut force, mut diagonal) = (Vec3::ZERO, 0.0);
        for corner in &incidence[incidence[v] as usize..incidence[v + 1] as usize] {
            let corners = &hinge_gradients[(corner / 4) as usize].corners;
            let gradient = corners[(corner % 4) as usize].truncate();
            force += -corners[0].w * gradient;
            diagonal += gradient.dot(gradient);
        }
        let sum = xyz(forces[v]) + force;
        forces[v] = [sum.x, sum.y, sum.z, forces[v][3] + diagonal];
    }
    Ok(())
}

fn turn_hinge_body(run: &mut Run<'_>) -> Result<()> {
    let hinges = run.read::<HingeRow>("hinges")?;
    let hinge_gradients = run.read::<HingeGradients>("hinge_gradients")?;
    let searches = run.read::<[f32; 4]>("searches")?;
    let mut hinge_products = run.write::<f32>("hinge_products")?;
    for e in run.range() {
        let [a, b, c, d] = hinges[e].vertices.to_array().map(|v| xyz(searches[v as usize]));
        let [tail, head, left, right] = hinge_gradients[e].corners.map(Vec4::truncate);
        hinge_products[e] = tail.dot(a) + head.dot(b) + left.dot(c) + right.dot(d);
    }
    Ok(())
}

fn bend_hinges_body(run: &mut Run<'_>) -> Result<()> {
    let incidence = run.read::<u32>("bend_incidence")?;
    let hinge_gradients = run.read::<HingeGradients>("hinge_gradients")?;
    let hinge_products = run.read::<f32>("hinge_products")?;
    let mut bend_forces = run.write::<[f32; 4]>("bend_forces")?;
    for v in run.range() {
        let mut force = Vec3::ZERO;
        for corner in &incidence[incidence[v] as usize..incidence[v + 1] as usize] {
            let e = (corner / 4) as usize;
            force -= hinge_products[e] * hinge_gradients[e].corners[(corner % 4) as usize].truncate();
        }
        bend_forces[v] = padded(force);
    }
    Ok(())
}
