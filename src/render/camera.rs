//! From where a scene is seen.

use glam::{Mat4, Quat, Vec2, Vec3, Vec4};

/// A perspective camera: right-handed, metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Where it is \[m\].
    pub eye: [f32; 3],
    /// What it looks at \[m\], the middle of the picture.
    pub target: [f32; 3],
    /// What is up in the picture; of any length, not along the line of sight.
    pub up: [f32; 3],
    /// Angle of view from the lower to the upper edge of the picture \[rad\].
    pub fov: f32,
}

impl Default for Camera {
    /// Two metres in front of the origin, looking at it.
    fn default() -> Self {
        Self { eye: [0.0, 0.0, 2.0], target: [0.0; 3], up: [0.0, 1.0, 0.0], fov: 0.5 }
    }
}

/// Nearest distance that is drawn, as a part of the distance of the target.
const NEAR: f32 = 0.01;

impl Camera {
    /// World to clip coordinates, in columns: x right, y up, both −1 … 1; depth 1 at the nearest distance and 0 at
    /// infinity, which keeps the precision of `f32` where it is needed. `aspect` is width over height of the picture.
    pub fn view_projection(&self, aspect: f32) -> [[f32; 4]; 4] {
        self.matrix(aspect).to_cols_array_2d()
    }

    pub(crate) fn matrix(&self, aspect: f32) -> Mat4 {
        let [right, up, back] = self.axes();
        let eye = Vec3::from(self.eye);
        let view = Mat4::from_cols(right.extend(0.0), up.extend(0.0), back.extend(0.0), Vec4::W).transpose()
            * Mat4::from_translation(-eye);
        let zoom = 1.0 / self.tangent();
        let projection = Mat4::from_cols(
            Vec4::new(zoom / aspect, 0.0, 0.0, 0.0),
            Vec4::new(0.0, zoom, 0.0, 0.0),
            Vec4::new(0.0, 0.0, 0.0, -1.0),
            Vec4::new(0.0, 0.0, self.near(), 0.0),
        );
        projection * view
    }

    /// Distance of the nearest plane that is drawn \[m\].
    pub(crate) fn near(&self) -> f32 {
        (NEAR * Vec3::from(self.eye).distance(self.target.into())).max(1e-6)
    }

    pub(crate) fn tangent(&self) -> f32 {
        (0.5 * self.fov.clamp(1e-3, 3.0)).tan()
    }

    /// Right, up and backward: unit vectors, whatever the camera says.
    pub(crate) fn axes(&self) -> [Vec3; 3] {
        let back = (Vec3::from(self.eye) - Vec3::from(self.target)).normalize_or(Vec3::Z);
        let right = Vec3::from(self.up).cross(back);
        let right = if right.length_squared() > 1e-12 { right.normalize() } else { back.any_orthonormal_vector() };
        [right, back.cross(right), back]
    }

    /// Where a point appears: x from the left, y from the top, 0 … 1 within the picture; `None` behind the camera.
    pub fn project(&self, point: [f32; 3], aspect: f32) -> Option<[f32; 2]> {
        let clip = self.matrix(aspect) * Vec3::from(point).extend(1.0);
        (clip.w > self.near()).then(|| {
            let place = Vec2::new(clip.x, -clip.y) / clip.w;
            (0.5 * place + 0.5).to_array()
        })
    }

    /// The ray through a point of the picture, as [`Camera::project`] counts: origin and unit direction. For picking.
    pub fn ray(&self, [x, y]: [f32; 2], aspect: f32) -> ([f32; 3], [f32; 3]) {
        let [right, up, back] = self.axes();
        let tangent = self.tangent();
        let across = (2.0 * x - 1.0) * tangent * aspect;
        let along = (1.0 - 2.0 * y) * tangent;
        (self.eye, (across * right + along * up - back).normalize().to_array())
    }

    /// Turned about the target: by `yaw` to the right about the y axis, by `pitch` upwards \[rad\]; never over the
    /// poles.
    #[must_use]
    pub fn orbited(&self, yaw: f32, pitch: f32) -> Self {
        let target = Vec3::from(self.target);
        let arm = Vec3::from(self.eye) - target;
        let length = arm.length();
        let elevation = (arm.y / length.max(1e-9)).clamp(-1.0, 1.0).asin();
        let most = 0.49 * std::f32::consts::PI;
        let azimuth = arm.x.atan2(arm.z) + yaw;
        let elevation = (elevation + pitch).clamp(-most, most);
        let turn = Quat::from_rotation_y(azimuth) * Quat::from_rotation_x(-elevation);
        Self { eye: (target + length * (turn * Vec3::Z)).to_array(), ..*self }
    }

    /// Nearer to the target for a factor below 1, farther above.
    #[must_use]
    pub fn zoomed(&self, factor: f32) -> Self {
        let target = Vec3::from(self.target);
        Self { eye: (target + (Vec3::from(self.eye) - target) * factor.clamp(0.01, 100.0)).to_array(), ..*self }
    }

    /// Eye and target moved together \[m\].
    #[must_use]
    pub fn moved(&self, by: [f32; 3]) -> Self {
        let add = |place: [f32; 3]| (Vec3::from(place) + Vec3::from(by)).to_array();
        Self { eye: add(self.eye), target: add(self.target), ..*self }
    }

    /// The camera of this direction and angle that just sees all points, with a margin around them: a part of the
    /// picture's half width and height.
    pub(crate) fn around(points: &[Vec3], toward_eye: Vec3, fov: f32, aspect: f32, margin: f32) -> Self {
        let looking = Self { eye: toward_eye.to_array(), target: [0.0; 3], fov, ..Self::default() };
        let [right, up, back] = looking.axes();
        let tangents = [looking.tangent() * aspect, looking.tangent()].map(|tangent| tangent * (1.0 - margin));
        // A point at (x, z) is right of the left edge of the view if x ≥ eye_x − t (eye_z − z), and so on: the two
        // edges bound eye_x ± t eye_z from the points alone.
        let mut distance = f32::NEG_INFINITY;
        let mut eye = Vec3::ZERO;
        for (axis, tangent) in [right, up].into_iter().zip(tangents) {
            let bound = |sign: f32| {
                let reach = |point: &Vec3| sign * axis.dot(*point) + tangent * back.dot(*point);
                points.iter().map(reach).fold(f32::NEG_INFINITY, f32::max)
            };
            let (high, low) = (bound(1.0), bound(-1.0));
            eye += axis * 0.5 * (high - low);
            distance = distance.max(0.5 * (high + low) / tangent);
        }
        eye += back * distance;
        let middle = points.iter().map(|point| back.dot(*point)).sum::<f32>() / points.len().max(1) as f32;
        let target = eye - back * (distance - middle).max(1e-3);
        Self { eye: eye.to_array(), target: target.to_array(), ..looking }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camera() -> Camera {
        Camera { eye: [1.0, 2.0, 3.0], target: [0.3, -0.2, 0.1], ..Default::default() }
    }

    #[test]
    fn the_target_is_the_middle_and_depth_falls_with_distance() {
        let camera = camera();
        let [x, y] = camera.project(camera.target, 1.6).unwrap();
        assert!((x - 0.5).abs() < 1e-6 && (y - 0.5).abs() < 1e-6);
        let matrix = camera.matrix(1.6);
        let depth = |part: f32| {
            let point = Vec3::from(camera.eye).lerp(camera.target.into(), part);
            let clip = matrix * point.extend(1.0);
            clip.z / clip.w
        };
        assert!((depth(0.01) - 1.0).abs() < 1e-4);
        assert!((depth(1.0) - 0.01).abs() < 1e-6 && depth(100.0) < 1.1e-4);
        assert_eq!(camera.project([2.0, 4.0, 6.0], 1.6), None);
    }

    #[test]
    fn rays_go_through_what_they_point_at() {
        let camera = camera();
        for point in [[0.0, 0.0, 0.0], [0.3, 0.1, -0.4], [-0.2, 0.5, 0.3]] {
            let (origin, direction) = camera.ray(camera.project(point, 0.75).unwrap(), 0.75);
            let toward = (Vec3::from(point) - Vec3::from(origin)).normalize();
            assert!((toward - Vec3::from(direction)).length() < 1e-5);
        }
    }

    #[test]
    fn orbiting_keeps_the_distance_and_stops_at_the_poles() {
        let camera = camera();
        let length = |camera: &Camera| Vec3::from(camera.eye).distance(camera.target.into());
        let turned = camera.orbited(0.5, 0.2).orbited(-0.5, -0.2);
        assert!(Vec3::from(turned.eye).distance(camera.eye.into()) < 1e-5);
        let top = camera.orbited(0.0, 9.0);
        assert!((length(&top) - length(&camera)).abs() < 1e-5 && top.eye[1] - top.target[1] > 0.999 * length(&camera));
        assert!((length(&camera.zoomed(0.5)) - 0.5 * length(&camera)).abs() < 1e-5);
    }

    #[test]
    fn framed_points_touch_the_margin_and_none_is_outside() {
        let points: Vec<Vec3> = (0..200)
            .map(|n| Vec3::new((n % 7) as f32, (n % 11) as f32 * 0.3, (n % 13) as f32 * 0.1) - Vec3::splat(0.7))
            .collect();
        for aspect in [0.5, 1.0, 2.4] {
            let camera = Camera::around(&points, Vec3::new(0.4, 0.3, 1.0), 0.6, aspect, 0.1);
            let mut reach = 0.0_f32;
            for point in &points {
                let [x, y] = camera.project(point.to_array(), aspect).unwrap();
                reach = reach.max((2.0 * x - 1.0).abs()).max((2.0 * y - 1.0).abs());
            }
            assert!((reach - 0.9).abs() < 1e-3, "{aspect}: {reach}");
        }
    }
}
