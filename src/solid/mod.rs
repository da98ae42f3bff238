//! Solids: what cloth falls on, hangs over and slides along.
//!
//! A [`Solid`] is a shape with a place, a motion and a surface. Its shape is given by a signed distance in the solid's
//! own coordinates: exactly for planes, spheres, capsules and boxes, by a grid that is baked once for a closed mesh
//! ([`Body`], [`Grid`]). [`crate::stage::contact`] says how cloth meets it.

mod bake;
mod body;
pub(crate) mod grid;
#[cfg(test)]
mod judge;
mod lathe;
mod pose;
mod row;
mod shape;

use glam::{DQuat, DVec3, UVec3, Vec3, Vec4};

pub use body::Body;
pub use grid::Grid;
pub(crate) use lathe::revolved;
pub use lathe::{icosphere, mannequin, torus};
pub use pose::Pose;
pub use row::SolidRow;
pub use shape::SolidShape;

pub(crate) use row::Kind;

use crate::error::{Error, Result};

/// Largest coordinate of a solid \[m\], and part of its velocity \[m/s\] and angular velocity \[rad/s\].
const FARTHEST: f32 = 1e6;

/// Kinetic friction over static friction where nothing else is said.
pub(crate) const SLIDING: f32 = 0.8;

/// A shape with a place, a motion and a surface.
///
/// ```
/// use taut::{Solid, SolidShape};
///
/// let ball = Solid { friction: 0.3, ..Solid::new(SolidShape::Sphere { radius: 0.3 }).at([0.5, -0.4, 0.5]) };
/// # assert_eq!(ball.pose.translation[1], -0.4);
/// ```
#[derive(Clone, Debug)]
pub struct Solid {
    /// Its form.
    pub shape: SolidShape,
    /// Where it is: its coordinates are turned, then moved.
    pub pose: Pose,
    /// Velocity of its origin \[m/s\]. A solid that comes to a million metres from the origin along an axis goes no
    /// further.
    pub velocity: [f32; 3],
    /// Angular velocity about its origin \[rad/s\].
    pub angular_velocity: [f32; 3],
    /// Distance that cloth keeps from the surface \[m\].
    pub thickness: f32,
    /// Coefficient of static friction: cloth at rest stays where it is on inclines up to a slope of this.
    pub friction: f32,
    /// Coefficient of kinetic friction; not above `friction`.
    pub sliding_friction: f32,
    /// Part of the speed of an impact with which a vertex leaves, 0 … 1.
    pub restitution: f32,
}

impl Solid {
    /// A solid at rest at the origin, with a friction of 0.5 at rest and 0.4 when sliding, and no bounce.
    pub fn new(shape: SolidShape) -> Self {
        Self {
            shape,
            pose: Pose::default(),
            velocity: [0.0; 3],
            angular_velocity: [0.0; 3],
            thickness: 0.0,
            friction: 0.5,
            sliding_friction: SLIDING * 0.5,
            restitution: 0.0,
        }
    }

    /// At another place, not turned.
    #[must_use]
    pub fn at(mut self, translation: [f32; 3]) -> Self {
        self.pose = Pose { translation, ..Pose::default() };
        self
    }

    /// Nodes of its grid; none for other shapes.
    pub(crate) fn distances(&self) -> &[f32] {
        if let SolidShape::Grid(grid) = &self.shape { grid.distances() } else { &[] }
    }

    /// An error that names the field of solid `index` that is wrong.
    pub(crate) fn validate(&self, index: usize) -> Result<()> {
        let check = |field: &'static str, value: f32, valid: bool, expected: &'static str| {
            if valid {
                return Ok(());
            }
            Err(Error::OutOfRange { field, index: Some(index), value: value.into(), expected })
        };
        self.shape.check(&check)?;
        for (field, vector) in [
            ("solids.pose.translation", self.pose.translation),
            ("solids.velocity", self.velocity),
            ("solids.angular_velocity", self.angular_velocity),
        ] {
            if !vector.iter().all(|x| x.abs() <= FARTHEST) {
                return Err(Error::NotFinite { field, index });
            }
        }
        let turn = Vec4::from_array(self.pose.rotation).length();
        check("solids.pose.rotation", turn, (turn - 1.0).abs() <= 0.01, "of unit length")?;
        let (friction, sliding) = (self.friction, self.sliding_friction);
        check("solids.friction", friction, (0.0..=1e3).contains(&friction), "in [0, 1000]")?;
        let expected = "at least 0 and not above the static friction";
        check("solids.sliding_friction", sliding, (0.0..=friction).contains(&sliding), expected)?;
        check("solids.restitution", self.restitution, (0.0..=1.0).contains(&self.restitution), "in [0, 1]")?;
        check("solids.thickness", self.thickness, (0.0..=1e3).contains(&self.thickness), "in [0, 1000] m")
    }

    /// Where it is after `dt` seconds.
    pub(crate) fn advanced(&self, dt: f32) -> Pose {
        let dt = f64::from(dt);
        let turn = DQuat::from_scaled_axis(DVec3::from_array(self.angular_velocity.map(f64::from)) * dt);
        let rotation = turn * DQuat::from_array(self.pose.rotation.map(f64::from)).normalize();
        let way = DVec3::from_array(self.velocity.map(f64::from)) * dt;
        let translation = DVec3::from_array(self.pose.translation.map(f64::from)) + way;
        let farthest = DVec3::splat(FARTHEST.into());
        let translation = translation.clamp(-farthest, farthest);
        Pose { rotation: rotation.normalize().to_array().map(|x| x as f32), translation: translation.as_vec3().into() }
    }

    /// As a kernel reads it, on its way to `end`, with its grid from word `grid` on.
    pub(crate) fn row(&self, end: Pose, grid: u32) -> SolidRow {
        let start_rotation = Vec4::from_array(self.pose.rotation).normalize();
        let end_rotation = Vec4::from_array(end.rotation).normalize();
        // Of the two quaternions of one rotation the nearer one: the way between them is the short one.
        let nearer = if start_rotation.dot(end_rotation) < 0.0 { -end_rotation } else { end_rotation };
        let mut row = SolidRow {
            start_position: self.pose.translation.into(),
            kind: Kind::Plane as u32,
            start_rotation,
            end_position: end.translation.into(),
            grid,
            end_rotation: nearer,
            size: Vec3::ZERO,
            thickness: self.thickness,
            friction: self.friction,
            sliding: self.sliding_friction,
            restitution: self.restitution,
            spacing: 1.0,
            counts: UVec3::ZERO,
            padding: 0,
        };
        self.shape.fill(&mut row);
        row
    }
}
