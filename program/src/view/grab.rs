//! Taking hold of a vertex with the pointer: where it shall go.

use glam::Vec3;
use taut::Mesh;
use taut::render::Camera;

/// How fast a vertex follows the pointer at most \[m/s\]: a hand, not a jump. Whatever the pointer does, cloth is not
/// flung faster than this.
const FASTEST: f32 = 5.0;
/// How long a vertex is behind a pointer that moves slower than that \[s\]. The last 0.2 m are slower and slower, so
/// that it does not stop with a jerk where the pointer stopped.
const BEHIND: f32 = 0.04;
/// The smallest part of that way which is tried.
const LEAST: f32 = 1.0 / 64.0;

/// A vertex that follows the pointer in a plane that faces the camera.
///
/// Cloth that does not stretch cannot follow everywhere, and what it can do is known only when it was tried: a frame
/// that is over the limit is taken back and tried again with less of the way ([`Grab::ways`]), so that the hand stops
/// where the cloth is taut.
#[derive(Clone, Debug)]
pub(super) struct Grab {
    pub(super) vertex: u32,
    /// Whether the mesh pins it: then it is led, not held, and stays where it is left.
    pub(super) pinned: bool,
    /// Whether no frame has held it yet.
    pub(super) is_new: bool,
    /// Where the pointer wants it \[m\].
    wanted: Vec3,
    /// Where it was a frame ago \[m\].
    before: Vec3,
    /// A point and the normal of the plane.
    plane: (Vec3, Vec3),
    /// The part of its way that is tried first.
    stride: f32,
}

impl Grab {
    /// Takes hold of a vertex.
    pub(super) fn new(mesh: &Mesh, positions: &[[f32; 3]], vertex: u32, camera: &Camera) -> Self {
        let place = Vec3::from(positions[vertex as usize]);
        Self {
            vertex,
            pinned: mesh.pins().contains(&vertex),
            is_new: true,
            wanted: place,
            before: place,
            plane: (place, Vec3::from(camera.eye) - Vec3::from(camera.target)),
            stride: 1.0,
        }
    }

    /// The pointer is here, as [`Camera::project`] counts.
    pub(super) fn follow(&mut self, camera: &Camera, pointer: [f32; 2], aspect: f32) {
        let (origin, direction) = camera.ray(pointer, aspect);
        let (origin, direction) = (Vec3::from(origin), Vec3::from(direction));
        let (point, normal) = self.plane;
        let along = (point - origin).dot(normal) / direction.dot(normal);
        // Beyond the horizon there is no such point.
        if along.is_finite() && along > 0.0 {
            self.wanted = origin + along * direction;
        }
    }

    /// Where it may be after a frame of `dt` \[s\], what is wanted most first: towards the pointer, where it is, back
    /// to where it was.
    pub(super) fn ways(&self, positions: &[[f32; 3]], dt: f32) -> [[f32; 3]; 5] {
        let place = Vec3::from(positions[self.vertex as usize]);
        let eased = 1.0 - (-dt / BEHIND).exp();
        let way = (eased * (self.wanted - place)).clamp_length_max(FASTEST * dt);
        let part = |part: f32| place + part * self.stride * way;
        [part(1.0), part(0.5), part(0.25), place, self.before].map(|target| target.to_array())
    }

    /// The way of this number was taken from where it was at these positions.
    pub(super) fn took(&mut self, way: usize, positions: &[[f32; 3]]) {
        self.before = positions[self.vertex as usize].into();
        let factor = [2.0, 0.5, 0.25, 0.125, 0.125][way.min(4)];
        self.stride = (self.stride * factor).clamp(LEAST, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut::scene;

    /// From above, looking down at the middle of a sheet of a metre.
    fn above() -> Camera {
        Camera { eye: [0.5, 3.0, 0.5], target: [0.5, 0.0, 0.5], up: [0.0, 0.0, -1.0], fov: 0.8 }
    }

    /// A sheet whose corner is held, and the corner.
    fn held() -> (Camera, Grab, Vec<[f32; 3]>) {
        let (sheet, camera) = (scene::sheet(11).unwrap(), above());
        let grab = Grab::new(&sheet.mesh, &sheet.start, CORNER as u32, &camera);
        (camera, grab, sheet.start)
    }

    const CORNER: usize = 120;

    #[test]
    fn a_hand_that_jumps_is_followed_at_its_speed_and_reached_smoothly() {
        for dt in [1.0 / 30.0, 1.0 / 60.0, 1.0 / 240.0] {
            let (camera, mut grab, mut positions) = held();
            let wanted = Vec3::new(1.6, 0.0, 0.2);
            assert!((wanted.distance(positions[CORNER].into()) - 1.0).abs() < 1e-6);
            grab.follow(&camera, camera.project(wanted.to_array(), 1.0).unwrap(), 1.0);
            let mut steps = Vec::new();
            while steps.len() < (0.7 / dt) as usize {
                let ways = grab.ways(&positions, dt);
                let place = Vec3::from(positions[CORNER]);
                for way in ways {
                    assert!(Vec3::from(way).distance(place) <= FASTEST * dt * 1.0001, "{way:?} from {place}");
                }
                steps.push(Vec3::from(ways[0]).distance(place));
                grab.took(0, &positions);
                positions[CORNER] = ways[0];
            }
            // At full speed for the first 0.75 m at least, then slower from frame to frame, without a jerk; what is
            // left in the end is rounding.
            let full = steps.iter().take_while(|step| **step > 0.999 * FASTEST * dt).count();
            assert!((0.75..0.95).contains(&(full as f32 * FASTEST * dt)), "{full} frames of {dt} s");
            assert!(steps[full..].windows(2).all(|pair| pair[1] < pair[0].max(1e-5)), "{steps:?}");
            let left = Vec3::from(positions[CORNER]).distance(wanted);
            assert!(left < 1e-3, "{left} m are left");
        }
    }

    #[test]
    fn a_slow_hand_is_followed_closely() {
        let (camera, mut grab, mut positions) = held();
        let (dt, speed) = (1.0 / 60.0, 0.5);
        let start = Vec3::from(positions[CORNER]);
        for frame in 1..=60 {
            let wanted = start + speed * dt * frame as f32 * Vec3::X;
            grab.follow(&camera, camera.project(wanted.to_array(), 1.0).unwrap(), 1.0);
            let [first, ..] = grab.ways(&positions, dt);
            grab.took(0, &positions);
            positions[CORNER] = first;
            assert!(Vec3::from(first).distance(wanted) < speed * BEHIND, "frame {frame}");
        }
    }

    #[test]
    fn a_vertex_yields() {
        let (camera, mut grab, positions) = held();
        let dt = 1.0 / 60.0;
        // What fails is tried with less; what goes well with more, up to all of it.
        grab.follow(&camera, camera.project([3.0, 0.0, 0.7], 1.0).unwrap(), 1.0);
        let reach = |grab: &Grab| Vec3::from(grab.ways(&positions, dt)[0]).distance(positions[CORNER].into());
        let whole = reach(&grab);
        assert!((whole - FASTEST * dt).abs() < 1e-5, "{whole}");
        grab.took(2, &positions);
        assert!((reach(&grab) / whole - 0.25).abs() < 1e-4);
        (0..9).for_each(|_| grab.took(3, &positions));
        assert!((reach(&grab) / whole - LEAST).abs() < 1e-4);
        (0..9).for_each(|_| grab.took(0, &positions));
        assert!((reach(&grab) / whole - 1.0).abs() < 1e-4);
    }
}
