//! Limit of the triangles' areas, for cloth whose edges may stretch: strain limiting as a correction of the prediction.
//!
//! After the prediction (and the implicit springs) every triangle whose area A is outside its band proposes to be
//! scaled about its mass-weighted centroid c = Σ m_i x_i / Σ m_i, x_i → c + s (x_i − c), by
//!
//! s = √(clamp(A, min A_0, max A_0)/A),
//!
//! A_0 its area in the rest shape: alone it would then be at the end of its band, and c where it was. Every free vertex
//! takes the mean of what its triangles propose, those that are content included: one pass of Jacobi. Pins stay; a
//! pinned corner outweighs free ones, so a triangle with a pin is scaled about the pin (with two, about their middle).
//!
//! **A heuristic.** Uniform scaling is the simple proposal and not the minimizer: the smallest mass-weighted motion
//! that reaches the same area is no uniform scaling, and costs less than half of one on a right triangle of equal
//! masses (0.0556 instead of 0.1430). One pass of means reaches the band nowhere but in single triangles, and does not
//! keep the momentum where vertices have different numbers of triangles. The edge projection follows and has the last
//! word: lengths hold their limit, areas need not. Scaling does not undo shear; where edges do not stretch, the
//! projection takes it back.
//!
//! **Energy.** Shrinking takes energy. Growing gives it: a proposal is not the gradient of anything, and slivers are
//! thrown apart again and again. A sheet of 9 × 9 vertices whose edges may have half to one and a half of their length
//! settled with a limit of \[0, 1.1\] and a drag of 5/s, and kept shaking at 9 m/s with \[0.9, 1.1\]. Use a lower end
//! above 0 with care, or not at all.
//!
//! Two bounds: s is held in \[½, 2\], because the scale of a sliver of full length has no
//! bound; and a triangle without area, now or at rest, proposes nothing.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | A_0 | `rest_areas` | m² |
//! | min, max | `arguments`, the bits of two floats | |
//! | mean of (1 − s)(c − x_i) | `area_shifts` | m |
//!
//! Cost: two dispatches per substep, six triangles per vertex of a grid.

use glam::{DVec3, Vec3, Vec4};

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Spec};
use crate::engine::program::Kernel;
use crate::engine::source::{Constant, Source};
use crate::error::{Error, Result};
use crate::mesh::Mesh;
use crate::stage::Recorder;
use crate::stage::Stage;
use crate::stage::edge::{self, between};
use crate::stage::fields::Vertex;
use crate::stage::freedom::Freedom;
use crate::stage::magnitude::grain;
use crate::vector::{padded, xyz};

static SOURCE: Source = Source::new("area", include_str!("../../shaders/area.wgsl"))
    .shares(&[&edge::SOURCE])
    .constants(&[("LARGEST", Constant::F32(LARGEST))]);

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<f32>("rest_areas", Domain::TRIANGLES, "areas in the rest shape [m²]").exact(),
    Spec::of::<[f32; 4]>("area_shifts", Domain::VERTICES, "mean of what triangles propose [m]").floor(grain),
];

/// Mean of what the triangles at a vertex propose.
pub(crate) static LIMIT_AREA: Kernel = Kernel::new("limit_area", &SOURCE, limit_area_body);
/// Moves the prediction there, as far as holds and contacts allow.
pub(crate) static APPLY_AREA: Kernel = Kernel::new("apply_area", &SOURCE, apply_area_body);

/// How much one pass may scale a triangle.
const LARGEST: f32 = 2.0;

/// One pass, between prediction and projection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AreaLimit {
    /// Smallest and largest area relative to rest.
    pub band: [f32; 2],
}

impl Stage for AreaLimit {
    fn record(&self, recorder: &mut Recorder<'_>) {
        if recorder.sizes().triangles() > 0 {
            let vertices = recorder.sizes().vertices() as u32;
            let [least, most] = self.band.map(f32::to_bits);
            recorder.dispatch_range(&LIMIT_AREA, 0..vertices, [least, most, 0, 0]);
            recorder.dispatch(&APPLY_AREA, Domain::VERTICES);
        }
    }
}

/// Refuses a band that rest is outside of.
pub(crate) fn validate([least, most]: [f32; 2]) -> Result<()> {
    let refuse = |index: usize, value: f32, expected: &'static str| {
        Err(Error::OutOfRange { field: "area_limit", index: Some(index), value: value.into(), expected })
    };
    if !(0.0..=1.0).contains(&least) {
        return refuse(0, least, "in [0, 1]");
    }
    if !(1.0..=1e6).contains(&most) {
        return refuse(1, most, "in [1, 1e6]");
    }
    Ok(())
}

/// Area of every triangle in the rest shape \[m²\].
pub(crate) fn rest_areas(mesh: &Mesh) -> impl Iterator<Item = f32> {
    mesh.triangles().into_iter().map(|corners| {
        let [a, b, c] = corners.map(|v| DVec3::from_array(mesh.positions()[v as usize].map(f64::from)));
        (0.5 * (b - a).cross(c - a).length()) as f32
    })
}

/// The triangles as the kernel sees them.
struct Triangles<'a> {
    vertices: &'a [Vertex],
    displacements: &'a [[f32; 4]],
    triangles: &'a [u32],
    rest_areas: &'a [f32],
    limit: [f32; 2],
}

impl Triangles<'_> {
    fn corners(&self, triangle: usize) -> [usize; 3] {
        [0, 1, 2].map(|k| self.triangles[3 * triangle + k] as usize)
    }

    /// From one vertex to another at the end of the substep \[m\].
    fn edge(&self, tail: usize, head: usize) -> Vec3 {
        between(self.vertices, |v| xyz(self.displacements[v]), tail, head)
    }

    /// Scale that brings a triangle into its band.
    fn scale(&self, triangle: usize) -> f32 {
        let [a, b, c] = self.corners(triangle);
        let area = 0.5 * self.edge(a, b).cross(self.edge(a, c)).length();
        let [least, most] = self.limit.map(|part| part * self.rest_areas[triangle]);
        let scalable = area > 0.0 && most > 0.0;
        if !scalable || (least..=most).contains(&area) {
            return 1.0;
        }
        (area.max(least).min(most) / area).sqrt().clamp(1.0 / LARGEST, LARGEST)
    }

    /// From a vertex to the mass-weighted centroid of a triangle; a pinned corner outweighs free ones \[m\].
    fn to_centroid(&self, v: usize, triangle: usize) -> Vec3 {
        let (mut free, mut pinned) = (Vec4::ZERO, Vec4::ZERO);
        for corner in self.corners(triangle) {
            let way = self.edge(v, corner).extend(1.0);
            let inverse_mass = self.vertices[corner].inverse_mass;
            if inverse_mass > 0.0 {
                free += way / inverse_mass;
            } else {
                pinned += way;
            }
        }
        let sum = if pinned.w > 0.0 { pinned } else { free };
        sum.truncate() / sum.w
    }
}

fn limit_area_body(run: &mut Run<'_>) -> Result<()> {
    let [least, most, ..] = run.arguments();
    let of = Triangles {
        vertices: run.read::<Vertex>("vertices")?,
        displacements: run.read::<[f32; 4]>("displacements")?,
        triangles: run.read::<u32>("triangles")?,
        rest_areas: run.read::<f32>("rest_areas")?,
        limit: [f32::from_bits(least), f32::from_bits(most)],
    };
    let incidence = run.read::<u32>("triangle_incidence")?;
    let mut area_shifts = run.write::<[f32; 4]>("area_shifts")?;
    for v in run.range() {
        let mut shift = Vec3::ZERO;
        let entries = &incidence[incidence[v] as usize..incidence[v + 1] as usize];
        if of.vertices[v].inverse_mass > 0.0 && !entries.is_empty() {
            for triangle in entries {
                let s = of.scale(*triangle as usize);
                if s != 1.0 {
                    shift += (1.0 - s) * of.to_centroid(v, *triangle as usize);
                }
            }
            shift /= entries.len() as f32;
        }
        area_shifts[v] = padded(shift);
    }
    Ok(())
}

fn apply_area_body(run: &mut Run<'_>) -> Result<()> {
    let freedom = Freedom::of(run)?;
    let area_shifts = run.read::<[f32; 4]>("area_shifts")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    for v in run.range() {
        displacements[v] = padded(xyz(displacements[v]) + freedom.allowed(v, xyz(area_shifts[v])));
    }
    Ok(())
}
