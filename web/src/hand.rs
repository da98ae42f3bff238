//! A hand that takes a vertex and leads it.

use glam::Vec3;
use taut::render::Camera;
use taut::{Hold, PinTarget};

/// How fast a pin follows the pointer at most \[m/s\]: a hand, not a jump.
const FASTEST: f32 = 5.0;
/// Stiffness of the spring between the hand and a vertex that no pin holds \[N/m\], and how far it is stretched at most
/// \[m\]: 20 N, ten times the weight of a sheet. Frames are under way while the next are recorded, so nobody can take
/// back a pull that was too much; a spring gives way where the cloth is taut, and the limit holds.
const STIFFNESS: f32 = 400.0;
const REACH: f32 = 0.05;
/// The smallest part of its way that a pin is led in a frame.
const LEAST: f32 = 1.0 / 64.0;

/// A vertex that follows the pointer in a plane that faces the camera.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hand {
    pub(crate) vertex: u32,
    /// Whether the mesh pins it: then it is led, and stays where it is left.
    pub(crate) pinned: bool,
    /// Where the pointer wants it \[m\].
    wanted: Vec3,
    /// Normal of the plane.
    normal: Vec3,
    /// Where a pin was led \[m\], and where it last was when the limit held.
    led: Vec3,
    good: Vec3,
    /// The part of its way that a pin is led.
    stride: f32,
}

impl Hand {
    pub(crate) const HOLD: Hold = Hold::Soft { stiffness: STIFFNESS };

    /// Takes a vertex at a place.
    pub(crate) fn new(vertex: u32, pinned: bool, place: [f32; 3], camera: &Camera) -> Self {
        let normal = Vec3::from(camera.eye) - Vec3::from(camera.target);
        let place = Vec3::from(place);
        Self { vertex, pinned, wanted: place, normal, led: place, good: place, stride: 1.0 }
    }

    /// Wants it at a place.
    pub(crate) fn want(&mut self, place: [f32; 3]) {
        self.wanted = place.into();
    }

    /// The pointer is here, as [`Camera::project`] counts.
    pub(crate) fn follow(&mut self, camera: &Camera, pointer: [f32; 2], aspect: f32) {
        let (origin, direction) = camera.ray(pointer, aspect);
        let (origin, direction) = (Vec3::from(origin), Vec3::from(direction));
        let along = (self.led - origin).dot(self.normal) / direction.dot(self.normal);
        // Beyond the horizon there is no such point.
        if along.is_finite() && along > 0.0 {
            self.wanted = origin + along * direction;
        }
    }

    /// The target of a frame of `dt` \[s\], where the vertex was last seen at a place.
    pub(crate) fn target(&mut self, seen: [f32; 3], dt: f32) -> PinTarget {
        if self.pinned {
            self.led += self.stride * (self.wanted - self.led).clamp_length_max(FASTEST * dt);
        } else {
            let seen = Vec3::from(seen);
            self.led = seen + (self.wanted - seen).clamp_length_max(REACH);
        }
        PinTarget { vertex: self.vertex, position: self.led.to_array() }
    }

    /// A frame was seen, with the vertex at a place: a pin that was led too far for the cloth goes back to where it was
    /// not, and on in smaller steps.
    pub(crate) fn saw(&mut self, place: [f32; 3], held: bool) {
        if held {
            (self.good, self.stride) = (place.into(), (2.0 * self.stride).min(1.0));
        } else if self.pinned {
            (self.led, self.stride) = (self.good, (0.25 * self.stride).max(LEAST));
        }
    }
}
