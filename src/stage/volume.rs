//! Volume of a closed surface: balloons, cushions, pillows.
//!
//! One constraint of all vertices (Müller, Heidelberger, Hennix & Ratcliff 2007, *Position Based Dynamics*, section
//! 4.4): C(x) = V(x) − V* = 0, V = Σ_t ⅙ a·(b × c) over the triangles, counter-clockwise seen from outside. Its
//! projection is the shortest way in the metric of the masses to first order,
//!
//! x −= λ W ∂V/∂x, λ = C/(∂V/∂x·W ∂V/∂x), ∂V/∂a = Σ_t ⅙ b × c,
//!
//! twice per pass, because V is a cubic. W = S/m is filtered, so that vertices on a solid or a hold move as these
//! allow, and what is left is borne. Σ ∂V/∂x = 0 and Σ x × ∂V/∂x = 0 on a closed surface: momentum is kept, linear and
//! angular. Positions are seen from the first vertex, whose place does not matter for the same reason; V is taken as Σ
//! x·∂V/∂x/3, which is the same, for it is homogeneous of degree three.
//!
//! A pass comes before every round of the projection. **The edges have the last word**: lengths hold their limit, the
//! volume need not. Where edges have a band, or V* fits into the surface, both hold; else the fabric is taut and
//! bears the pressure λ/τ² that is left of it. The ratio of V* and the volume at rest is the pressure factor of the
//! paper. A mesh of several closed parts has one volume together.
//!
//! **Speed.** From a flat pillow to a full one is far. What a pass moves is bounded, by a mean of 1 m/s over the masses
//! (root of the mean square): a pillow fills itself in some tenths of a second instead of in one substep.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | V*, bits | an argument | m³ |
//! | ∂V/∂x | `volume_gradients` | m² |
//! | V, ∂V/∂x·W ∂V/∂x | `sums`, in the slot of curvatures | m³, m⁴/kg |
//!
//! Cost: six dispatches per round.

use glam::{DVec3, Vec3};

use crate::engine::cpu::{Run, group_sum};
use crate::engine::fields::{Domain, Fields, Spec};
use crate::engine::layout::GROUP;
use crate::engine::program::Kernel;
use crate::engine::source::{Constant, Source};
use crate::error::{Error, Result};
use crate::mesh::Mesh;
use crate::stage::edge::{self, between};
use crate::stage::fields::{Clock, Frame, Vertex, sums};
use crate::stage::freedom::Freedom;
use crate::stage::{Recorder, Stage, reduce};
use crate::vector::{padded, xyz};

static SOURCE: Source = Source::new("volume", include_str!("../../shaders/volume.wgsl"))
    .shares(&[&edge::SOURCE])
    .constants(&[("FASTEST", Constant::F32(FASTEST))]);

/// Its fields.
pub(crate) const FIELDS: &[Spec] =
    &[Spec::of::<[f32; 4]>("volume_gradients", Domain::VERTICES, "∂V/∂x of a closed surface [m²]").floor(sides)];

/// Product of two ways across the cloth, which gradients are sums of \[m²\].
fn sides(fields: &Fields) -> Result<f32> {
    let vertices = fields.get::<Vertex>("vertices")?;
    let first = vertices.first().map_or(Vec3::ZERO, |vertex| vertex.position);
    let far = vertices.iter().fold(0.0, |most: f32, vertex| most.max((vertex.position - first).length()));
    Ok(far * far)
}

/// Gradients and the leaves of the volume.
pub(crate) static MEASURE_VOLUME: Kernel = Kernel::new("measure_volume", &SOURCE, measure_volume_body);
/// Moves the vertices towards the volume.
pub(crate) static INFLATE: Kernel = Kernel::new("inflate", &SOURCE, inflate_body);

/// Mean speed of inflating \[m/s\].
const FASTEST: f32 = 1.0;
/// Steps of Newton's method.
const STEPS: u32 = 2;

/// A pass before the projection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeepVolume {
    /// V* \[m³\].
    pub volume: f32,
}

impl Stage for KeepVolume {
    fn record(&self, recorder: &mut Recorder<'_>) {
        let vertices = recorder.sizes().vertices() as u32;
        for _ in 0..STEPS {
            recorder.dispatch(&MEASURE_VOLUME, Domain::VERTICES);
            reduce::record(recorder, &reduce::SUM_PARTIALS, vertices as usize, sums::CURVATURE);
            recorder.dispatch_range(&INFLATE, 0..vertices, [self.volume.to_bits(), vertices, 0, 0]);
        }
    }
}

/// Refuses a volume that no cloth has, and a surface that is not closed.
pub(crate) fn validate(volume: f32, mesh: &Mesh) -> Result<()> {
    if !(0.0..=1e9).contains(&volume) {
        let expected = "in [0, 1e9] m³";
        return Err(Error::OutOfRange { field: "volume", index: None, value: volume.into(), expected });
    }
    let mut sides = Vec::new();
    for [a, b, c] in mesh.triangles() {
        for (tail, head) in [(a, b), (b, c), (c, a)] {
            sides.push((tail.min(head), tail.max(head), tail < head));
        }
    }
    if sides.is_empty() {
        return Err(Error::Empty { field: "faces" });
    }
    sides.sort_unstable();
    for edge in sides.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
        let (a, b) = (edge[0].0, edge[0].1);
        match *edge {
            [_] => return Err(Error::OpenEdge { a, b }),
            [(.., one), (.., other)] if one == other => return Err(Error::FlippedEdge { a, b }),
            [_, _] => {}
            _ => return Err(Error::NonManifoldEdge { a, b, count: edge.len() }),
        }
    }
    Ok(())
}

/// Volume that triangles enclose, counter-clockwise seen from outside \[m³\]: of a cloth's mesh and its positions.
///
/// ```
/// use taut::{Face, Mesh, MeshDescriptor, stage::volume::enclosed};
///
/// let positions = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
/// let faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]].map(Face::Triangle).to_vec();
/// let mesh = Mesh::new(MeshDescriptor { positions, faces, ..Default::default() })?;
/// assert!((enclosed(&mesh, mesh.positions()) - 1.0 / 6.0).abs() < 1e-12);
/// # Ok::<(), taut::Error>(())
/// ```
#[must_use]
pub fn enclosed(mesh: &Mesh, positions: &[[f32; 3]]) -> f64 {
    let place = |v: u32| positions.get(v as usize).map_or(DVec3::ZERO, |x| DVec3::from_array(x.map(f64::from)));
    let first = place(0);
    let volume = |corners: [u32; 3]| {
        let [a, b, c] = corners.map(|v| place(v) - first);
        a.dot(b.cross(c)) / 6.0
    };
    mesh.triangles().into_iter().map(volume).sum()
}

fn measure_volume_body(run: &mut Run<'_>) -> Result<()> {
    let vertices = run.read::<Vertex>("vertices")?;
    let triangles = run.read::<u32>("triangles")?;
    let incidence = run.read::<u32>("triangle_incidence")?;
    let freedom = Freedom::of(run)?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let mut volume_gradients = run.write::<[f32; 4]>("volume_gradients")?;
    let mut partials = run.write::<[f32; 2]>("partials")?;
    let from_first = |v: usize| between(vertices, |v| xyz(displacements[v]), 0, v);
    for first in run.range().step_by(GROUP) {
        let mut lanes = [[0.0f32; 2]; GROUP];
        for v in first..run.range().end.min(first + GROUP) {
            let mut gradient = Vec3::ZERO;
            for t in &incidence[incidence[v] as usize..incidence[v + 1] as usize] {
                let corners = [0, 1, 2].map(|k| triangles[3 * *t as usize + k] as usize);
                let corner = if corners[2] == v { 2 } else { usize::from(corners[1] == v) };
                let next = from_first(corners[(corner + 1) % 3]);
                gradient += 0.5 * next.cross(from_first(corners[(corner + 2) % 3]));
            }
            gradient /= 3.0;
            volume_gradients[v] = padded(gradient);
            let way = freedom.apply_inverse_mass(v, vertices[v].inverse_mass, gradient);
            lanes[v - first] = [from_first(v).dot(gradient) / 3.0, gradient.dot(way)];
        }
        partials[run.group(first)] = group_sum(&lanes);
    }
    Ok(())
}

fn inflate_body(run: &mut Run<'_>) -> Result<()> {
    let [volume, count, ..] = run.arguments();
    let [now, slope, ..] = run.read::<[f32; 4]>("sums")?[sums::CURVATURE as usize];
    let frame = run.one::<Frame>("frame")?;
    let clock = run.one::<Clock>("clock")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let freedom = Freedom::of(run)?;
    let volume_gradients = run.read::<[f32; 4]>("volume_gradients")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    // Also where it is no number.
    let movable = slope > 0.0;
    if !movable {
        return Ok(());
    }
    let most = FASTEST * clock.span * (frame.mean_mass * count as f32 / slope).sqrt();
    let size = ((now - f32::from_bits(volume)) / slope).max(-most).min(most);
    for v in run.range() {
        let inverse_mass = vertices[v].inverse_mass;
        let pull = -size * xyz(volume_gradients[v]);
        if inverse_mass > 0.0 {
            displacements[v] = padded(xyz(displacements[v]) + freedom.apply_inverse_mass(v, inverse_mass, pull));
        }
        if freedom.bears(inverse_mass) {
            reactions[v] = padded(xyz(reactions[v]) + clock.force * freedom.borne(v, inverse_mass, pull));
        }
    }
    Ok(())
}
