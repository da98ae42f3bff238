//! Solids as signed distances: where they are in a substep, and how far a vertex is from them on its way.

use glam::{Quat, Vec3, Vec4};

use crate::engine::source::{Constant, Source};
use crate::solid::grid::interpolate;
use crate::solid::{Kind, Solid, SolidRow};
use crate::stage::fields;
use crate::stage::fields::FAR;
use crate::vector::turned;

/// The WGSL twin, for files that ask for distances.
pub(super) static SOURCE: Source = Source::new("distance", include_str!("../../shaders/distance.wgsl"))
    .constants(&[
        ("PLANE", Constant::U32(Kind::Plane as u32)),
        ("SPHERE", Constant::U32(Kind::Sphere as u32)),
        ("CAPSULE", Constant::U32(Kind::Capsule as u32)),
        ("BLOCK", Constant::U32(Kind::Block as u32)),
        ("GRID", Constant::U32(Kind::Grid as u32)),
        ("TRACE", Constant::U32(TRACE)),
        ("SURE", Constant::F32(SURE)),
        ("ARRIVED", Constant::F32(ARRIVED)),
        ("SAME_SIDE", Constant::F32(SAME_SIDE)),
        ("STEEP", Constant::F32(STEEP)),
    ])
    .shares(&[&fields::SOURCE]);

/// Steps along the way of a vertex through a step.
const TRACE: u32 = 16;
/// Part of a told distance that is sure: beyond its grid the distance to a body may be told longer than it is, by a
/// factor of √2 at most.
const SURE: f32 = 0.7;
/// Part of its way from the surface at which a vertex has met it: what is left is less than contact corrects anyway.
const ARRIVED: f32 = 1e-3;
/// Cosine of the angle between two normals below which they are of different sides of a solid (60°).
const SAME_SIDE: f32 = 0.5;
/// Sine of the angle from which a way leads into a surface and not along it (12°).
const STEEP: f32 = 0.2;

/// Where a solid is at a part of the frame.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    pub(super) position: Vec3,
    pub(super) rotation: Vec4,
}

impl Placed {
    pub(super) fn at(solid: &SolidRow, part: f32) -> Self {
        let rotation = (1.0 - part) * solid.start_rotation + part * solid.end_rotation;
        let position = solid.start_position + part * (solid.end_position - solid.start_position);
        Self { position, rotation: rotation / rotation.length() }
    }

    #[inline]
    pub(super) fn to_local(self, point: Vec3) -> Vec3 {
        let [x, y, z, w] = self.rotation.to_array();
        turned(Vec4::new(-x, -y, -z, w), point - self.position)
    }

    #[inline]
    pub(super) fn to_world(self, point: Vec3) -> Vec3 {
        turned(self.rotation, point) + self.position
    }
}

/// Unit normal and value of the signed distance to the surface, thickness included; local coordinates.
#[inline]
pub(crate) fn signed_distance(solid: &SolidRow, distances: &[f32], point: Vec3) -> (Vec3, f32) {
    let (mut normal, mut distance) = (Vec3::Y, FAR);
    match Kind::of(solid) {
        Some(Kind::Plane) => distance = point.y,
        Some(kind @ (Kind::Sphere | Kind::Capsule)) => {
            let mut axial = point;
            if kind == Kind::Capsule {
                axial.y -= point.y.max(-solid.size.y).min(solid.size.y);
            }
            let extent = axial.length();
            distance = extent - solid.size.x;
            if extent > 0.0 {
                normal = axial / extent;
            }
        }
        Some(Kind::Block) => {
            let beyond = point.abs() - solid.size;
            let side = |x: f32| if x < 0.0 { -1.0 } else { 1.0 };
            let side = Vec3::new(side(point.x), side(point.y), side(point.z));
            let outside = beyond.max(Vec3::ZERO);
            let extent = outside.length();
            (normal, distance) = if extent > 0.0 {
                (side * outside / extent, extent)
            } else if beyond.x >= beyond.y && beyond.x >= beyond.z {
                (Vec3::new(side.x, 0.0, 0.0), beyond.x)
            } else if beyond.y >= beyond.z {
                (Vec3::new(0.0, side.y, 0.0), beyond.y)
            } else {
                (Vec3::new(0.0, 0.0, side.z), beyond.z)
            };
        }
        Some(Kind::Grid) => {
            let nodes = &distances[solid.grid as usize..];
            (distance, normal) = interpolate(solid.size, solid.spacing, solid.counts, nodes, point);
            let steepness = normal.length();
            if steepness > 0.0 {
                normal /= steepness;
            }
        }
        // Out of reach.
        None => {}
    }
    (normal, distance - solid.thickness)
}

/// Radius of a ball that fits into a solid, or of one that its grid can tell \[m\].
fn inner_radius(solid: &SolidRow) -> f32 {
    match Kind::of(solid) {
        Some(Kind::Plane) | None => FAR,
        Some(Kind::Sphere | Kind::Capsule) => solid.size.x,
        Some(Kind::Block) => solid.size.min_element(),
        Some(Kind::Grid) => solid.spacing,
    }
}

/// Normal and gap of the way from a to b, local coordinates: where it first meets the surface, or at its end.
pub(super) fn swept_distance(solid: &SolidRow, distances: &[f32], a: Vec3, b: Vec3) -> (Vec3, f32) {
    let end = signed_distance(solid, distances, b);
    let travel = (b - a).length();
    let sure = if Kind::of(solid) == Some(Kind::Grid) { SURE } else { 1.0 };
    if 2.0 * travel < inner_radius(solid) || sure * end.1 >= travel {
        return end;
    }
    let (mut normal, mut gap) = signed_distance(solid, distances, a);
    let (mut at, mut part) = (a, 0.0);
    for _ in 0..TRACE {
        if gap <= ARRIVED * travel {
            let beyond = normal.dot(b - at);
            let through = end.1 >= 0.0 || end.0.dot(normal) < SAME_SIDE;
            return if through && beyond < -STEEP * (b - at).length() { (normal, gap + beyond) } else { end };
        }
        part += sure * gap / travel;
        if part >= 1.0 {
            return end;
        }
        at = a + part * (b - a);
        (normal, gap) = signed_distance(solid, distances, at);
    }
    end
}

/// Radius of a ball around the origin of a solid in which all of it is, its grid included \[m\].
fn outer_radius(solid: &SolidRow) -> f32 {
    let size = solid.size;
    match Kind::of(solid) {
        Some(Kind::Plane) => f32::INFINITY,
        Some(Kind::Sphere) => size.x,
        Some(Kind::Capsule) => size.x + size.y,
        Some(Kind::Block) => size.length(),
        Some(Kind::Grid) => {
            let counts = Vec3::from(solid.counts.to_array().map(|count| count as f32));
            size.abs().max((size + solid.spacing * (counts - Vec3::ONE)).abs()).length()
        }
        None => 0.0,
    }
}

/// What a solid can reach in a substep, roughly: most of a cloth is nowhere near, and need not ask how far it is. WGSL
/// has no twin of it: the vertices of a workgroup wait for each other, and what is missed is not touched by either.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    center: Vec3,
    radius: f32,
    /// How far the solid moves \[m\], and turns, as a part of the distance from its origin.
    moved: f32,
    turned: f32,
    rounding: f32,
}

impl Reach {
    /// Longer than it is, so that rounding decides nothing and a way that grazes is looked at.
    const MARGIN: f32 = 1.01;
    /// Rounding of a place in the coordinates of a solid, as a part of its coordinates.
    const ROUNDING: f32 = 1e-5;

    pub(super) fn new(solid: &SolidRow, [earlier, pose]: [Placed; 2]) -> Self {
        Self {
            center: pose.position,
            radius: outer_radius(solid) + solid.thickness,
            moved: pose.position.distance(earlier.position),
            // The chord of an angle is no longer than twice that of the quaternions, which halve it.
            turned: 2.0 * (pose.rotation - earlier.rotation).length(),
            rounding: Self::ROUNDING * pose.position.abs().element_sum(),
        }
    }

    /// Whether a vertex cannot meet the solid on its way from a place by u; `false` where that is not known.
    #[inline]
    pub(super) fn misses(&self, position: Vec3, u: Vec3) -> bool {
        let away = (position + u - self.center).length();
        let travel = u.length() + self.moved;
        // In the coordinates of the solid: no point of the way is further from its end.
        let travel = travel + self.turned * (away + travel);
        let rounding = Self::ROUNDING * position.abs().element_sum() + self.rounding;
        away - self.radius >= Self::MARGIN * travel + rounding
    }
}

impl Solid {
    /// Signed distance of a point from the surface, thickness left out \[m\]: negative inside.
    pub fn distance(&self, point: [f32; 3]) -> f32 {
        let row = Self { thickness: 0.0, ..self.clone() }.row(self.pose, 0);
        let rotation = Quat::from_vec4(row.start_rotation);
        let local = rotation.inverse() * (Vec3::from(point) - row.start_position);
        signed_distance(&row, self.distances(), local).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the compiler asks for in Rust.
    #[test]
    fn wgsl_has_a_distance_and_a_radius_of_every_shape() {
        let body = |name: &str| {
            let (_, from) = SOURCE.wgsl.split_once(&format!("\nfn {name}(")).expect(name);
            from.split_once("\n}").map_or(from, |(body, _)| body)
        };
        for kind in Kind::ALL {
            let name = format!("{kind:?}").to_uppercase();
            assert!(SOURCE.constants.contains(&(name.as_str(), Constant::U32(*kind as u32))), "{name}");
            for function in ["signed_distance", "inner_radius"] {
                assert!(body(function).contains(&format!("solid.kind == {name}")), "{function} forgets {name}");
            }
        }
    }

    #[test]
    fn what_a_solid_cannot_reach_does_not_touch_it() {
        use crate::solid::{Pose, SolidShape};
        let mut state = 1_u32;
        let mut random = |scale: f32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            scale * ((state >> 8) as f32 / 8_388_608.0 - 1.0)
        };
        let shapes = [
            SolidShape::Plane,
            SolidShape::Sphere { radius: 0.3 },
            SolidShape::Capsule { half_length: 0.4, radius: 0.1 },
            SolidShape::Box { half: [0.1, 0.2, 0.3] },
        ];
        let (mut missed, mut met) = (0, 0);
        for shape in shapes {
            let solid = Solid { thickness: 0.01, ..Solid::new(shape) };
            for _ in 0..5000 {
                let mut place = || Pose {
                    translation: [random(1.0), random(1.0), random(1.0)],
                    rotation: Quat::from_xyzw(random(1.0), random(1.0), random(1.0), random(1.0))
                        .normalize()
                        .to_array(),
                };
                let (start, end) = (place(), place());
                let row = SolidRow {
                    start_position: start.translation.into(),
                    start_rotation: start.rotation.into(),
                    ..solid.row(end, 0)
                };
                // A short part of the frame's motion.
                let [earlier, pose] = [0.5, 0.5 + random(0.1)].map(|part| Placed::at(&row, part));
                let position = Vec3::new(random(2.0), random(2.0), random(2.0));
                let u = Vec3::new(random(0.5), random(0.5), random(0.5));
                let (_, gap) = swept_distance(&row, &[], earlier.to_local(position), pose.to_local(position + u));
                let misses = Reach::new(&row, [earlier, pose]).misses(position, u);
                assert!(!misses || gap >= 0.0, "{row:?}: {position} by {u} ends at {gap}");
                (missed, met) = (missed + u32::from(misses), met + u32::from(gap < 0.0));
            }
        }
        assert!(missed > 2000 && met > 2000, "{missed} missed, {met} met");
    }

    #[test]
    fn an_unknown_shape_is_out_of_reach_and_reads_no_grid() {
        let known = Solid::new(crate::solid::SolidShape::Plane).row(crate::solid::Pose::default(), u32::MAX);
        let unknown = SolidRow { kind: Kind::ALL.len() as u32, ..known };
        assert_eq!(signed_distance(&unknown, &[], Vec3::ZERO), (Vec3::Y, FAR));
        assert_eq!(swept_distance(&unknown, &[], Vec3::ZERO, Vec3::ONE), (Vec3::Y, FAR));
    }
}
