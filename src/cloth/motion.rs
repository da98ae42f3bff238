//! Motion that a scene prescribes: pins that are led, solids that go their way, holds that end.
//!
//! A [`Motion`] is a list of keys: at such a time, moved and turned so far from the start. Between two keys
//! translations are interpolated linearly and rotations along the shorter arc (slerp), so that both speeds are
//! constant. A [`Script`] has the motions of a scene. It knows no state but the time: frames may be of any length, and
//! a run may be resumed in the middle.
//!
//! ```
//! use taut::scene::{self, Key, Motion, PinGroup};
//! use taut::{Cloth, FrameInput, Pose};
//!
//! let mut scene = scene::hang(8)?;
//! let lifted = Key { time: 0.5, pose: Pose { translation: [0.0, 0.1, 0.0], ..Pose::default() } };
//! let mut pins = PinGroup::new(scene.mesh.pins(), &scene.start)?;
//! pins.motion = Some(Motion::new(vec![lifted], false)?);
//! scene.script.pins.push(pins);
//!
//! let script = scene.script.clone();
//! let mut cloth = Cloth::on_cpu(scene)?;
//! script.begin(&mut cloth)?;
//! for frame in 0..30 {
//!     let dt = 1.0 / 60.0;
//!     let pin_targets = script.frame(&mut cloth, f64::from(frame) / 60.0, dt)?;
//!     cloth.step(&FrameInput { dt, pin_targets: &pin_targets })?;
//! }
//! assert!((cloth.snapshot()?.positions[0][1] - 0.1).abs() < 1e-6);
//! # Ok::<(), taut::Error>(())
//! ```

use glam::{DQuat, DVec3};

use crate::cloth::hold::Hold;
use crate::cloth::{Cloth, PinTarget};
use crate::error::{Error, Result};
use crate::solid::Pose;

/// Longest translation of a key \[m\] and latest time \[s\].
const MOST: f64 = 1e6;
/// How far the last key of a motion that repeats may be from the first, in metres and in parts of the quaternion.
const CLOSED: f64 = 1e-5;

/// Where something is at a time, relative to its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// Time \[s\] since the start of the scene.
    pub time: f64,
    /// Turned about its center, then moved.
    pub pose: Pose,
}

/// Keys and what is between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Motion {
    /// The first is at time 0 and has the default pose.
    keys: Vec<Key>,
    repeat: bool,
}

impl Motion {
    /// A motion through these keys, in order of time. It starts without displacement at time 0, whether there is a key
    /// or not, and rests after the last key or, with `repeat`, starts again.
    ///
    /// # Errors
    /// [`Error::Empty`]; [`Error::OutOfRange`] for times that do not grow, for a first key at time 0 that is not at the
    /// start, for a quaternion that is not of unit length (within 1 %), and for a last key that is not at the start
    /// where the motion repeats; [`Error::NotFinite`] for a translation that is not within 10⁶ m.
    pub fn new(keys: Vec<Key>, repeat: bool) -> Result<Self> {
        let wrong =
            |field, index, value: f64, expected| Error::OutOfRange { field, index: Some(index), value, expected };
        let last = keys.last().copied().ok_or(Error::Empty { field: "motion.keys" })?;
        for (index, key) in keys.iter().enumerate() {
            let after = index == 0 || key.time > keys[index - 1].time;
            if !((0.0..=MOST).contains(&key.time) && after) {
                let expected = "at least 0, at most 1e6 s, and after the key before";
                return Err(wrong("motion.time", index, key.time, expected));
            }
            if !key.pose.translation.iter().all(|x| f64::from(x.abs()) <= MOST) {
                return Err(Error::NotFinite { field: "motion.translation", index });
            }
            let length = quaternion(key.pose).length();
            if length.is_nan() || (length - 1.0).abs() > 0.01 {
                return Err(wrong("motion.rotation", index, length, "of unit length"));
            }
        }
        if keys[0].time == 0.0 && distance(keys[0].pose) > 0.0 {
            let expected = "0: at time 0 nothing has moved yet";
            return Err(wrong("motion.keys", 0, distance(keys[0].pose), expected));
        }
        if repeat && distance(last.pose) > CLOSED {
            let expected = "0, where the motion starts again: it would jump";
            return Err(wrong("motion.keys", keys.len() - 1, distance(last.pose), expected));
        }
        if repeat && last.time == 0.0 {
            return Err(wrong("motion.time", keys.len() - 1, 0.0, "above 0 s, where the motion repeats"));
        }
        let start = Key { time: 0.0, pose: Pose::default() };
        let missing = (keys[0].time > 0.0).then_some(start);
        Ok(Self { keys: missing.into_iter().chain(keys).collect(), repeat })
    }

    /// The keys; the first is at time 0.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Whether it starts again after the last key.
    pub fn repeats(&self) -> bool {
        self.repeat
    }

    /// Where it is at a time \[s\], relative to the start.
    pub fn pose(&self, time: f64) -> Pose {
        let end = self.keys.last().map_or(0.0, |key| key.time);
        let time = if self.repeat { time.rem_euclid(end) } else { time };
        let next = self.keys.partition_point(|key| key.time <= time);
        let (Some(after), Some(before)) = (self.keys.get(next), next.checked_sub(1).map(|index| &self.keys[index]))
        else {
            let nearest = if next == 0 { self.keys.first() } else { self.keys.last() };
            return nearest.map_or_else(Pose::default, |key| key.pose);
        };
        let part = (time - before.time) / (after.time - before.time);
        let translation = vector(before.pose.translation).lerp(vector(after.pose.translation), part);
        let rotation = quaternion(before.pose).normalize().slerp(quaternion(after.pose).normalize(), part);
        pose(rotation, translation)
    }
}

/// Vertices that are held or led together.
#[derive(Clone, Debug, PartialEq)]
pub struct PinGroup {
    vertices: Vec<u32>,
    /// Where they start.
    places: Vec<[f32; 3]>,
    /// How they are held from the first frame on; `None` for pins of the mesh.
    pub hold: Option<Hold>,
    /// When the hold ends \[s\]; pins of the mesh never do.
    pub until: Option<f64>,
    /// Their way.
    pub motion: Option<Motion>,
    /// What the motion turns them about \[m\]; the mean of their places at first.
    pub center: [f32; 3],
}

impl PinGroup {
    /// Vertices that start at these positions of the cloth; pinned by the mesh and at rest.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`].
    pub fn new(vertices: &[u32], start: &[[f32; 3]]) -> Result<Self> {
        let place = |(index, &value): (usize, &u32)| {
            let missing = Error::IndexOutOfRange { field: "pins", index, value, count: start.len() };
            start.get(value as usize).copied().ok_or(missing)
        };
        let places = vertices.iter().enumerate().map(place).collect::<Result<Vec<_>>>()?;
        let sum: DVec3 = places.iter().map(|place| vector(*place)).sum();
        let center = (sum / places.len().max(1) as f64).as_vec3().to_array();
        Ok(Self { vertices: vertices.to_vec(), places, hold: None, until: None, motion: None, center })
    }

    /// The vertices.
    pub fn vertices(&self) -> &[u32] {
        &self.vertices
    }

    /// Where they shall be at a time \[s\]; nothing if they do not move.
    pub fn targets(&self, time: f64) -> Vec<PinTarget> {
        let Some(motion) = &self.motion else { return Vec::new() };
        let moved = motion.pose(time);
        let (rotation, way, center) = (quaternion(moved), vector(moved.translation), vector(self.center));
        // In f64, so that what has not moved has exactly its place.
        let target = |(vertex, place): (&u32, &[f32; 3])| PinTarget {
            vertex: *vertex,
            position: (center + rotation * (vector(*place) - center) + way).as_vec3().to_array(),
        };
        self.vertices.iter().zip(&self.places).map(target).collect()
    }
}

/// A solid and its way.
#[derive(Clone, Debug, PartialEq)]
pub struct SolidMotion {
    /// Number of the solid in [`super::Scene::solids`].
    pub solid: usize,
    /// Where it is at time 0.
    pub start: Pose,
    /// Its way: it turns about its own origin.
    pub motion: Motion,
}

impl SolidMotion {
    /// Where the solid is at a time \[s\].
    pub fn pose(&self, time: f64) -> Pose {
        let moved = self.motion.pose(time);
        let rotation = quaternion(moved) * quaternion(self.start).normalize();
        pose(rotation, vector(self.start.translation) + vector(moved.translation))
    }
}

/// What moves in the course of a scene.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// Pins that are led, and vertices that are held for a while or on planes and lines.
    pub pins: Vec<PinGroup>,
    /// Solids on their way; the others move as their velocities say.
    pub solids: Vec<SolidMotion>,
}

impl Script {
    /// Whether nothing is prescribed.
    pub fn is_empty(&self) -> bool {
        self.pins.is_empty() && self.solids.is_empty()
    }

    /// Holds what is held from the start. To be called once, before the first frame.
    ///
    /// # Errors
    /// As [`Cloth::hold`].
    pub fn begin(&self, cloth: &mut Cloth) -> Result<()> {
        let held = self.pins.iter().filter_map(|group| Some((group, group.hold?)));
        held.into_iter().try_for_each(|(group, hold)| cloth.hold(&group.vertices, hold))
    }

    /// To be called before the frame from `time` \[s\] on that lasts `dt` \[s\]: frees what is not held any more, gives
    /// solids the velocities that lead them to where they shall be at the end, and returns the
    /// [targets](crate::FrameInput::pin_targets) of the pins.
    ///
    /// # Errors
    /// As [`Cloth::hold`] and [`Cloth::move_solid`].
    pub fn frame(&self, cloth: &mut Cloth, time: f64, dt: f32) -> Result<Vec<PinTarget>> {
        if dt <= 0.0 {
            return Ok(Vec::new());
        }
        let end = time + f64::from(dt);
        let mut targets = Vec::new();
        for group in &self.pins {
            let over = group.until.is_some_and(|until| until <= time);
            if !(over && group.hold.is_some()) {
                targets.extend(group.targets(end));
            } else if group.vertices.first().is_some_and(|vertex| cloth.is_held(*vertex as usize)) {
                cloth.hold(&group.vertices, Hold::Free)?;
            }
        }
        // Frames that were too short to be simulated are part of this one.
        let span = f64::from(cloth.saved_time() + dt);
        for SolidMotion { solid, .. } in &self.solids {
            let count = cloth.solids().len();
            if *solid >= count {
                return Err(Error::NoSuchSolid { solid: *solid, count });
            }
        }
        for motion in &self.solids {
            // From where it is, not from where it should be: errors of rounding do not add up.
            let (now, then) = (cloth.solids()[motion.solid].pose, motion.pose(end));
            let velocity = (vector(then.translation) - vector(now.translation)) / span;
            let turn = quaternion(then) * quaternion(now).normalize().inverse();
            // Of the two quaternions of one rotation the one that turns less.
            let turn = if turn.w < 0.0 { -turn } else { turn };
            let spin = turn.normalize().to_scaled_axis() / span;
            cloth.move_solid(motion.solid, now, velocity.as_vec3().to_array(), spin.as_vec3().to_array())?;
        }
        Ok(targets)
    }
}

fn vector(vector: [f32; 3]) -> DVec3 {
    DVec3::from_array(vector.map(f64::from))
}

fn quaternion(pose: Pose) -> DQuat {
    DQuat::from_array(pose.rotation.map(f64::from))
}

fn pose(rotation: DQuat, translation: DVec3) -> Pose {
    let rotation = rotation.normalize().to_array().map(|x| x as f32);
    Pose { rotation, translation: translation.as_vec3().to_array() }
}

/// How far a pose is from no displacement: metres, or parts of the quaternion, whichever is more.
fn distance(pose: Pose) -> f64 {
    let rotation = quaternion(pose).normalize();
    vector(pose.translation).length().max(rotation.xyz().length())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(time: f64, x: f32, degrees: f64) -> Key {
        let rotation = DQuat::from_rotation_y(degrees.to_radians());
        Key { time, pose: pose(rotation, DVec3::new(x.into(), 0.0, 0.0)) }
    }

    #[test]
    fn between_keys_both_speeds_are_constant() {
        let motion = Motion::new(vec![key(1.0, 2.0, 90.0), key(3.0, 4.0, 90.0)], false).unwrap();
        assert_eq!(motion.keys().len(), 3, "the start was not given");
        for (time, x, degrees) in
            [(-1.0, 0.0, 0.0), (0.25, 0.5, 22.5), (1.0, 2.0, 90.0), (2.0, 3.0, 90.0), (9.0, 4.0, 90.0)]
        {
            let expected = key(time, x, degrees).pose;
            let found = motion.pose(time);
            assert!((found.translation[0] - x).abs() < 1e-6, "{time}: {found:?}");
            for (a, b) in found.rotation.iter().zip(expected.rotation) {
                assert!((a - b).abs() < 1e-6, "{time}: {found:?}, {expected:?}");
            }
        }
    }

    #[test]
    fn a_motion_that_repeats_is_periodic() {
        // A whole turn in three keys: the last quaternion is that of no rotation, or its opposite.
        let keys = vec![key(1.0, 1.0, 120.0), key(2.0, -1.0, 240.0), key(3.0, 0.0, 360.0)];
        let motion = Motion::new(keys, true).unwrap();
        for time in [0.3, 1.7, 2.9] {
            let (first, later) = (motion.pose(time), motion.pose(time + 9.0));
            let dot: f32 = first.rotation.iter().zip(later.rotation).map(|(a, b)| a * b).sum();
            assert!((dot.abs() - 1.0).abs() < 1e-6 && (first.translation[0] - later.translation[0]).abs() < 1e-6);
        }
        let angle = 2.0 * quaternion(motion.pose(1.5)).w.acos().to_degrees();
        assert!((angle - 180.0).abs() < 1e-3, "{angle}");
    }

    #[test]
    fn what_is_no_motion_is_refused_with_its_key() {
        let refused = |keys, repeat| Motion::new(keys, repeat).unwrap_err().to_string();
        assert_eq!(refused(vec![], false), "motion.keys is empty");
        assert!(refused(vec![key(1.0, 0.0, 0.0), key(1.0, 0.0, 0.0)], false).starts_with("motion.time[1] is 1"));
        assert!(refused(vec![key(f64::NAN, 0.0, 0.0)], false).starts_with("motion.time[0] is NaN"));
        assert!(refused(vec![key(0.0, 0.5, 0.0)], false).starts_with("motion.keys[0] is 0.5"));
        assert!(refused(vec![key(1.0, 0.5, 0.0)], true).starts_with("motion.keys[0] is 0.5"));
        assert!(refused(vec![key(1.0, f32::NAN, 0.0)], false).starts_with("motion.translation[0] is not finite"));
        let still = Key { time: 1.0, pose: Pose { rotation: [0.0; 4], ..Pose::default() } };
        assert!(refused(vec![still], false).starts_with("motion.rotation[0] is 0"));
    }
}
