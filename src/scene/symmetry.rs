//! Whether a flat cloth stays flat, because nothing tells it to which side it shall bend.

use glam::{DQuat, DVec3};

use super::{Motion, Scene};
use crate::cloth::hold::Hold;
use crate::cloth::settings::Settings;
use crate::cloth::substeps::grading;
use crate::solid::Pose;
use crate::solid::Solid;

impl Scene {
    /// Whether nothing will bend the cloth, with these settings: it is flat, gravity is along it, and wind, solids,
    /// holds and motions are the same on both of its sides, so that it moves like a rigid plate in its plane however
    /// unstable that is. [`Scene::with_noise`] breaks the symmetry.
    ///
    /// It is exact: true for planes across an axis or at 45° to two of them, where rounding is symmetric, too. In any
    /// other plane rounding alone soon bends the cloth. Not said of chains, of closed meshes as solids, without
    /// gravity, and where there are stages of the user's own.
    pub fn stays_flat(&self, settings: &Settings) -> bool {
        let gravity = vector(settings.gravity);
        if self.mesh.faces().is_empty() || !settings.stages.is_empty() || gravity == DVec3::ZERO {
            return false;
        }
        // A net of uneven quads locks in its plane, so a cloth of it never starts quite there.
        if grading(&self.mesh) > 1.0 {
            return false;
        }
        // Bending towards a curved shape has a side.
        if self.mesh.hinges().iter().any(|hinge| hinge.rest != 0.0) {
            return false;
        }
        let planes = NORMALS.iter().filter_map(|normal| Plane::through(&self.start, DVec3::from_array(*normal)));
        planes.into_iter().any(|plane| {
            plane.has_direction(gravity)
                && settings.wind.is_none_or(|wind| plane.has_direction(vector(wind.velocity)))
                && self.solids.iter().all(|solid| plane.mirrors_solid(solid))
                && self.script.solids.iter().all(|led| plane.mirrors_motion(&led.motion))
                && self.script.pins.iter().all(|group| {
                    group.motion.as_ref().is_none_or(|motion| plane.mirrors_motion(motion))
                        && group.hold.is_none_or(|hold| plane.mirrors_hold(hold))
                })
        })
    }
}

/// Normals of the planes in which f32 computes the same on both sides, of any length.
const NORMALS: [[f64; 3]; 9] = [
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 1.0],
    [1.0, 1.0, 0.0],
    [1.0, -1.0, 0.0],
    [1.0, 0.0, 1.0],
    [1.0, 0.0, -1.0],
    [0.0, 1.0, 1.0],
    [0.0, 1.0, -1.0],
];

/// A plane that the cloth lies in.
#[derive(Clone, Copy, Debug)]
struct Plane {
    normal: DVec3,
    /// What n·x is on it.
    offset: f64,
}

impl Plane {
    /// The plane of this normal that has all points, if there is one. A slanted one must have the origin: elsewhere its
    /// two coordinates are rounded differently.
    fn through(points: &[[f32; 3]], normal: DVec3) -> Option<Self> {
        let offset = normal.dot(vector(*points.first()?));
        let slanted = normal.abs().element_sum() > 1.0;
        let plane = Self { normal, offset };
        (points.iter().all(|point| plane.has_point(vector(*point))) && !(slanted && offset != 0.0)).then_some(plane)
    }

    fn has_point(&self, point: DVec3) -> bool {
        self.normal.dot(point) == self.offset
    }

    fn has_direction(&self, direction: DVec3) -> bool {
        self.normal.dot(direction) == 0.0
    }

    /// Whether a direction is across the plane, or there is none.
    fn is_across(&self, direction: DVec3) -> bool {
        self.normal.cross(direction) == DVec3::ZERO
    }

    /// Whether a turn about this axis takes nothing from one side to the other.
    fn mirrors_rotation(&self, rotation: [f32; 4]) -> bool {
        self.is_across(DQuat::from_array(rotation.map(f64::from)).xyz())
    }

    fn mirrors_motion(&self, motion: &Motion) -> bool {
        motion.keys().iter().all(|key| {
            let Pose { rotation, translation } = key.pose;
            self.has_direction(vector(translation)) && self.mirrors_rotation(rotation)
        })
    }

    fn mirrors_hold(&self, hold: Hold) -> bool {
        match hold {
            Hold::Free | Hold::Fixed | Hold::Soft { .. } => true,
            Hold::Plane { normal: along } | Hold::Line { direction: along } => {
                self.has_direction(vector(along)) || self.is_across(vector(along))
            }
        }
    }

    fn mirrors_solid(&self, solid: &Solid) -> bool {
        let rotation = DQuat::from_array(solid.pose.rotation.map(f64::from));
        let centered = self.has_point(vector(solid.pose.translation));
        let axes = [DVec3::X, DVec3::Y, DVec3::Z].map(|axis| self.has_direction(rotation * axis));
        let form = solid.shape.mirrored(axes, centered);
        form && self.has_direction(vector(solid.velocity)) && self.is_across(vector(solid.angular_velocity))
    }
}

fn vector(vector: [f32; 3]) -> DVec3 {
    DVec3::from_array(vector.map(f64::from))
}
