//! How large a scene is, and how it will move: what camera, light and ground are fitted to.

use glam::{Quat, Vec3};

use super::Camera;
use super::fabric::bounds;
use super::model::{board_corners, extent, is_level};
use crate::cloth::settings::Settings;
use crate::mesh::Mesh;
use crate::scene::Scene;
use crate::solid::{Solid, SolidShape};

/// Vertices and pins that are looked at, at most.
const SAMPLES: usize = 4096;
const PINS: usize = 128;
/// Angle of view of [`Studio::camera`] \[rad\].
const FOV: f32 = 0.5;
/// Empty margin of a picture, as a part of its half width and height.
const MARGIN: f32 = 0.1;

/// The space that a scene takes up while it moves: framed once, so that an animation stands still.
#[derive(Clone, Debug)]
pub struct Studio {
    /// Middle of a ball around everything \[m\].
    pub center: [f32; 3],
    /// Radius of that ball \[m\].
    pub radius: f32,
    /// Height of the ground \[m\]; `None` for no ground.
    pub ground: Option<f32>,
    /// How far solids are set back behind cloth when both are seen \[m\]: between its vertices cloth cuts corners.
    pub setback: f32,
    /// Points that must be in the picture.
    points: Vec<Vec3>,
    /// Whether the cloth falls freely.
    falls: bool,
    /// Middle and half side of boards that stand for slanted planes.
    board: (Vec3, f32),
    /// Direction from the middle towards the camera.
    toward_eye: Vec3,
}

impl Studio {
    /// The studio of a scene with its own settings.
    pub fn of(scene: &Scene) -> Self {
        Self::new(&scene.mesh, &scene.start, &scene.solids, &scene.settings)
    }

    /// The studio of a cloth that starts at these positions. What is pinned is expected to swing and to hang, what lies
    /// above solids to hang over their edges; what does neither falls, and is followed.
    pub fn new(mesh: &Mesh, start: &[[f32; 3]], solids: &[Solid], settings: &Settings) -> Self {
        let mut points = sampled(start);
        if mesh.pins().is_empty() {
            points.extend(overhang(&points, solids));
        } else {
            points.extend(swing(mesh, start, settings));
        }
        points.extend(solids.iter().flat_map(corners));
        let (center, reach) = ball(&points);
        let edges = mesh.edges();
        let edge = edges.iter().map(|edge| edge.rest).sum::<f32>() / edges.len().max(1) as f32;
        let pinned = !mesh.pins().is_empty();
        let mut studio = Self {
            center: center.to_array(),
            radius: reach,
            ground: None,
            setback: (0.4 * edge).min(0.015 * reach),
            points,
            falls: !pinned && solids.is_empty(),
            board: (center, 0.95 * reach),
            toward_eye: direction(0.5, if pinned { 0.28 } else { 0.42 }),
        };
        let slanted = solids.iter().filter(|solid| is_slanted(solid));
        let boards: Vec<Vec3> = slanted.flat_map(|solid| board_corners(solid, &studio)).collect();
        studio.points.extend(boards);
        if !studio.falls {
            let lowest = studio.points.iter().map(|point| point.y).fold(f32::INFINITY, f32::min);
            let planes = solids.iter().filter(|solid| is_level(solid)).map(|solid| solid.pose.translation[1]);
            studio.ground = Some(planes.reduce(f32::max).unwrap_or(lowest - 0.02 * reach));
        }
        let points = std::mem::take(&mut studio.points);
        studio.around(&points)
    }

    /// A camera that sees the whole studio in a picture of this width and height: from in front, a little from the
    /// right and from above.
    pub fn camera(&self, size: [u32; 2]) -> Camera {
        let aspect = size[0].max(1) as f32 / size[1].max(1) as f32;
        Camera::around(&self.points, self.toward_eye, FOV, aspect, MARGIN)
    }

    /// The same studio seen from another side: the eye of [`Studio::camera`] goes around it, to the right by `yaw` and
    /// upwards by `pitch` \[rad\]; never over the poles.
    #[must_use]
    pub fn orbited(&self, yaw: f32, pitch: f32) -> Self {
        let camera = Camera { eye: self.toward_eye.to_array(), target: [0.0; 3], ..Camera::default() };
        Self { toward_eye: camera.orbited(yaw, pitch).eye.into(), ..self.clone() }
    }

    /// Whether nothing keeps the cloth from falling, so that a camera should follow it ([`Studio::moved`]).
    pub fn falls(&self) -> bool {
        self.falls
    }

    /// The studio moved along with what falls \[m\].
    #[must_use]
    pub fn moved(&self, by: [f32; 3]) -> Self {
        let by = Vec3::from(by);
        Self {
            center: (Vec3::from(self.center) + by).to_array(),
            points: self.points.iter().map(|point| *point + by).collect(),
            board: (self.board.0 + by, self.board.1),
            ..self.clone()
        }
    }

    /// The studio with room for these positions as well: cloth that nothing holds slides and topples farther than
    /// anybody can know at its start.
    #[must_use]
    pub fn widened(&self, positions: &[[f32; 3]]) -> Self {
        let mut points = sampled(positions);
        points.extend(&self.points);
        self.clone().around(&points)
    }

    /// The studio closed in on one moment: tighter than for an animation, with the same ground.
    #[must_use]
    pub fn closed_in(&self, positions: &[[f32; 3]], solids: &[Solid]) -> Self {
        let mut points = sampled(positions);
        points.extend(solids.iter().flat_map(corners));
        let slanted = solids.iter().filter(|solid| is_slanted(solid));
        points.extend(slanted.flat_map(|solid| board_corners(solid, self)));
        let mut studio = self.clone().around(&points);
        // Some of the ground too, if it is near: it tells where everything is.
        if let Some(ground) = studio.ground {
            let lowest = studio.points.iter().map(|point| point.y).fold(f32::INFINITY, f32::min);
            let floor = ground.clamp((lowest - 0.25 * studio.radius).min(lowest), lowest);
            let feet: Vec<Vec3> = studio.points.iter().map(|point| Vec3::new(point.x, floor, point.z)).collect();
            studio.points.extend(feet);
        }
        studio
    }

    fn around(mut self, points: &[Vec3]) -> Self {
        self.points = outermost(points);
        let (center, reach) = ball(&self.points);
        (self.center, self.radius) = (center.to_array(), (1.02 * reach).max(1e-3));
        self
    }

    pub(crate) fn board(&self) -> (Vec3, f32) {
        self.board
    }
}

fn is_slanted(solid: &Solid) -> bool {
    matches!(solid.shape, SolidShape::Plane) && !is_level(solid)
}

fn stride(positions: &[[f32; 3]]) -> usize {
    positions.len().div_ceil(SAMPLES).max(1)
}

/// Enough of the positions to know where they are; at least one point.
fn sampled(positions: &[[f32; 3]]) -> Vec<Vec3> {
    let finite = |point: &&[f32; 3]| point.iter().all(|x| x.is_finite());
    let some = positions.iter().step_by(stride(positions)).chain(positions.last());
    let points: Vec<Vec3> = some.filter(finite).map(|point| (*point).into()).collect();
    if points.is_empty() { vec![Vec3::ZERO] } else { points }
}

/// Unit vector at this angle from +z towards +x, and from the horizon upwards \[rad\].
fn direction(azimuth: f32, elevation: f32) -> Vec3 {
    Vec3::new(azimuth.sin() * elevation.cos(), elevation.sin(), azimuth.cos() * elevation.cos())
}

/// Middle of the box around points, and the largest distance from it.
fn ball(points: &[Vec3]) -> (Vec3, f32) {
    let list: Vec<[f32; 3]> = points.iter().map(|point| point.to_array()).collect();
    let (low, high) = bounds(&list);
    let center = 0.5 * (low + high);
    (center, points.iter().map(|point| point.distance(center)).fold(0.0, f32::max))
}

/// Where pinned cloth will be: straight below its nearest pin, and on the way there on the other side of it.
fn swing(mesh: &Mesh, start: &[[f32; 3]], settings: &Settings) -> Vec<Vec3> {
    let down = Vec3::from(settings.gravity).normalize_or_zero();
    // Wind holds cloth up.
    let (sag, sway) = if settings.wind.is_some() { (0.3, 0.0) } else { (1.0, 0.6) };
    let pins: Vec<usize> =
        mesh.pins().iter().step_by(mesh.pins().len().div_ceil(PINS).max(1)).map(|pin| *pin as usize).collect();
    let rest = |vertex: usize| Vec3::from(mesh.positions()[vertex]);
    let mut points = Vec::new();
    for vertex in (0..start.len()).step_by(stride(start)) {
        let nearest = pins.iter().map(|pin| (rest(*pin).distance(rest(vertex)), *pin));
        let Some((reach, pin)) = nearest.min_by(|one, other| one.0.total_cmp(&other.0)) else { continue };
        let pin = Vec3::from(start[pin]);
        let arm = Vec3::from(start[vertex]) - pin;
        let across = arm - down * down.dot(arm);
        points.push(pin + sag * reach * down + (1.0 - sag) * arm);
        points.push(pin - sway * across + 0.5 * sag * reach * down);
    }
    points
}

/// Where cloth above solids will hang: below their tops by what is beyond them.
fn overhang(points: &[Vec3], solids: &[Solid]) -> Vec<Vec3> {
    let corners: Vec<[f32; 3]> = solids.iter().flat_map(corners).map(|corner| corner.to_array()).collect();
    if corners.is_empty() {
        return Vec::new();
    }
    let (low, high) = bounds(&corners);
    let beyond = |point: &Vec3| {
        let nearest = Vec3::new(point.x.clamp(low.x, high.x), point.y, point.z.clamp(low.z, high.z));
        Vec3::new(nearest.x, high.y.min(point.y) - nearest.distance(*point), nearest.z)
    };
    points.iter().map(beyond).collect()
}

/// Points around a solid, mostly the corners of its box; none of a plane.
fn corners(solid: &Solid) -> Vec<Vec3> {
    if let SolidShape::Sphere { radius } = &solid.shape {
        let center = Vec3::from(solid.pose.translation);
        return directions().map(|direction| center + *radius * direction.normalize()).collect();
    }
    let Some([low, high]) = extent(&solid.shape) else { return Vec::new() };
    let turn = Quat::from_array(solid.pose.rotation).normalize();
    let place = Vec3::from(solid.pose.translation);
    (0..8)
        .map(|corner: u32| {
            let pick = |axis: u32| if corner >> axis & 1 == 0 { low[axis as usize] } else { high[axis as usize] };
            turn * Vec3::new(pick(0), pick(1), pick(2)) + place
        })
        .collect()
}

/// The points that are farthest out in some direction: enough for framing, and few.
fn outermost(points: &[Vec3]) -> Vec<Vec3> {
    let farthest = |direction: Vec3| {
        let far = |one: &&Vec3, other: &&Vec3| direction.dot(**one).total_cmp(&direction.dot(**other));
        points.iter().max_by(far).copied()
    };
    directions().filter_map(farthest).collect()
}

/// Directions all around: the surface of a lattice.
fn directions() -> impl Iterator<Item = Vec3> {
    let steps = || [-1.0, -0.5, 0.0, 0.5, 1.0_f32].into_iter();
    let all = steps().flat_map(move |x| steps().flat_map(move |y| steps().map(move |z| Vec3::new(x, y, z))));
    all.filter(|direction| direction.abs().max_element() == 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scene_is_in_the_picture_from_its_start() {
        for name in crate::scene::NAMES {
            let scene = Scene::named(name, 12).unwrap();
            let studio = Studio::of(&scene);
            assert!(studio.radius > 0.2 && studio.radius < 2.0, "{name}: {}", studio.radius);
            for size in [[640, 480], [300, 900]] {
                let camera = studio.camera(size);
                for point in &scene.start {
                    let place = camera.project(*point, size[0] as f32 / size[1] as f32).unwrap();
                    assert!(place.iter().all(|x| (0.04..=0.96).contains(x)), "{name}: {point:?} at {place:?}");
                    assert!(studio.ground.is_none_or(|ground| ground < point[1] + 1e-6), "{name}");
                }
            }
        }
    }

    #[test]
    fn from_every_side_all_is_in_the_picture() {
        let scene = crate::scene::hang(12).unwrap();
        let studio = Studio::of(&scene);
        let away = |studio: &Studio| Vec3::from(studio.camera([4, 3]).eye) - Vec3::from(studio.camera([4, 3]).target);
        let front = away(&studio).normalize();
        for (yaw, pitch) in [(0.0, 0.0), (1.5, 0.0), (std::f32::consts::PI, 0.0), (-1.0, 0.7), (0.3, -0.4)] {
            let turned = studio.orbited(yaw, pitch);
            let camera = turned.camera([640, 480]);
            for point in &scene.start {
                let place = camera.project(*point, 640.0 / 480.0).unwrap();
                assert!(place.iter().all(|x| (0.04..=0.96).contains(x)), "{yaw} {pitch}: {point:?} at {place:?}");
            }
            let side = away(&turned).normalize();
            let expected = Quat::from_rotation_y(yaw) * Vec3::new(front.x, 0.0, front.z).normalize();
            let found = Vec3::new(side.x, 0.0, side.z).normalize();
            assert!(found.distance(expected) < 1e-4, "{yaw}: {found} {expected}");
            assert!((side.y.asin() - front.y.asin() - pitch).abs() < 1e-4, "{pitch}");
        }
    }

    #[test]
    fn only_what_nothing_holds_is_followed() {
        let falls = |name: &str| Studio::of(&Scene::named(name, 5).unwrap()).falls();
        assert!(falls("sheet") && !falls("drape") && !falls("hang"));
        let studio = Studio::of(&crate::scene::sheet(5).unwrap());
        let moved = studio.moved([0.0, -3.0, 1.0]);
        let (one, other) = (studio.camera([64, 48]).moved([0.0, -3.0, 1.0]), moved.camera([64, 48]));
        assert!(Vec3::from(one.eye).distance(other.eye.into()) < 1e-5);
    }

    #[test]
    fn a_wider_studio_sees_what_it_saw_and_more() {
        let scene = crate::scene::drape(9).unwrap();
        let aside: Vec<[f32; 3]> = scene.start.iter().map(|[x, y, z]| [x + 0.8, y - 0.5, z + 1.2]).collect();
        let studio = Studio::of(&scene).widened(&aside);
        let camera = studio.camera([640, 480]);
        for point in scene.start.iter().chain(&aside) {
            let place = camera.project(*point, 640.0 / 480.0).unwrap();
            assert!(place.iter().all(|x| (0.0..=1.0).contains(x)), "{point:?} at {place:?}");
        }
        assert_eq!(studio.ground, Studio::of(&scene).ground);
    }

    #[test]
    fn a_level_plane_is_the_ground() {
        let mut scene = crate::scene::sheet(5).unwrap();
        scene.solids.push(Solid::new(SolidShape::Plane).at([0.0, -0.4, 0.0]));
        assert_eq!(Studio::of(&scene).ground, Some(-0.4));
    }
}
