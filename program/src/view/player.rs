//! The simulation behind the window.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use anyhow::Result;
use taut::render::{Camera, pick};
use taut::scene::{PinGroup, Script};
use taut::{Cloth, FrameInput, Gpu, Hold, PinTarget, Report, Scene, SelfCollision, Settings, Snapshot, Tangles};

use super::crossings::{Counter, Found};
use super::grab::Grab;
use crate::summary::Tally;

/// Frames that the plots show.
pub(super) const SHOWN: usize = 300;

/// What a frame reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Largest strain, recomputed on the host, as a fraction.
    pub(super) strain: f64,
    pub(super) limit: f64,
    /// What the step took.
    pub(super) seconds: f64,
}

/// How near the pointer must be to what it means, as a part of the height of the picture.
const NEAR: f32 = 0.015;
/// Kinetic friction over static friction where a scene has neither.
const SLIDING: f32 = 0.8;

/// What cloth and solids are made of: a cloth that runs cannot change it, and is made anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stuff {
    /// Bending stiffness of the cloth \[N·m\].
    pub(super) bending: f32,
    /// Static friction of the solids; `None` where there are none.
    pub(super) friction: Option<f32>,
    /// Whether the cloth keeps from passing through itself.
    pub(super) self_collision: bool,
}

impl Stuff {
    fn of(scene: &Scene) -> Self {
        let friction = scene.solids.iter().map(|solid| solid.friction).reduce(f32::max);
        let self_collision = scene.settings.self_collision.is_some();
        Self { bending: scene.mesh.bending(), friction, self_collision }
    }

    /// The scene of other stuff. Kinetic friction keeps its ratio to static friction.
    fn applied(self, scene: &Scene) -> Result<Scene> {
        let mut scene = scene.clone();
        let before = Self::of(&scene);
        if self.bending != before.bending {
            scene.mesh = scene.mesh.with_bending(self.bending)?;
        }
        if let (Some(friction), true) = (self.friction, self.friction != before.friction) {
            for solid in &mut scene.solids {
                let ratio = if solid.friction > 0.0 { solid.sliding_friction / solid.friction } else { SLIDING };
                (solid.friction, solid.sliding_friction) = (friction, ratio.min(1.0) * friction);
            }
        }
        let own = scene.settings.self_collision.unwrap_or_default();
        scene.settings.self_collision = self.self_collision.then_some(own);
        Ok(scene)
    }
}

/// A cloth that is played.
#[derive(Debug)]
pub(super) struct Player {
    gpu: Option<Gpu>,
    /// As it was opened.
    scene: Scene,
    stuff: Stuff,
    cloth: Cloth,
    /// Frames that were simulated before the cloth was made anew.
    earlier: u64,
    /// Grows where the cloth is made anew or is pinned elsewhere: it is drawn otherwise then.
    edition: u64,
    /// Vertices that were pinned by hand.
    pins: BTreeSet<u32>,
    script: Script,
    triangles: Vec<[u32; 3]>,
    counter: Counter,
    fps: f64,
    positions: Vec<[f32; 3]>,
    report: Option<Report>,
    history: VecDeque<Sample>,
    tally: Tally,
    grab: Option<Grab>,
    drags: u32,
    playing: bool,
    /// Time that has passed and was not simulated yet \[s\].
    behind: f64,
    /// What went wrong last.
    problem: Option<String>,
}

impl Player {
    /// A cloth on a device, or on the CPU.
    pub(super) fn new(gpu: Option<Gpu>, scene: Scene, fps: f64, playing: bool) -> Result<Self> {
        let script = scene.script.clone();
        let mut cloth = made(gpu.as_ref(), scene.clone())?;
        script.begin(&mut cloth)?;
        let (positions, triangles) = (cloth.snapshot()?.positions, cloth.mesh().triangles());
        let counter = Counter::new(cloth.mesh());
        Ok(Self {
            gpu,
            stuff: Stuff::of(&scene),
            scene,
            cloth,
            earlier: 0,
            edition: 0,
            pins: BTreeSet::new(),
            script,
            triangles,
            counter,
            fps,
            positions,
            report: None,
            history: VecDeque::new(),
            tally: Tally::default(),
            grab: None,
            drags: 0,
            playing,
            behind: 0.0,
            problem: None,
        })
    }

    /// Plays another scene from its start, or, with an error, goes on with this one. What was counted stays.
    pub(super) fn exchange(&mut self, scene: Scene, fps: f64) -> Result<()> {
        let other = Self::new(self.gpu.clone(), scene, fps, self.playing)?;
        let Self { tally, drags, edition, .. } = std::mem::replace(self, other);
        (self.tally, self.drags, self.edition) = (tally, drags, edition + 1);
        Ok(())
    }

    pub(super) fn cloth(&self) -> &Cloth {
        &self.cloth
    }

    /// Frames since the start of the scene.
    pub(super) fn frame_number(&self) -> u64 {
        self.earlier + self.cloth.frame()
    }

    /// Grows where the cloth is to be drawn otherwise.
    pub(super) fn edition(&self) -> u64 {
        self.edition
    }

    pub(super) fn stuff(&self) -> Stuff {
        self.stuff
    }

    /// Vertices that were pinned by hand.
    pub(super) fn pins(&self) -> Vec<u32> {
        self.pins.iter().copied().collect()
    }

    /// The stretch that counts as none.
    pub(super) fn band(&self) -> [f32; 2] {
        let settings = self.cloth.settings();
        [settings.stretch_min, settings.stretch_max]
    }

    pub(super) fn positions(&self) -> &[[f32; 3]] {
        &self.positions
    }

    pub(super) fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// How often the cloth passes through itself, where that was counted last.
    pub(super) fn crossings(&self) -> Option<Found> {
        self.counter.found()
    }

    /// Counts again if it is time to.
    pub(super) fn look(&mut self) {
        self.counter.look(self.frame_number(), &self.positions, self.playing);
    }

    pub(super) fn history(&self) -> &VecDeque<Sample> {
        &self.history
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(super) fn drags(&self) -> u32 {
        self.drags
    }

    pub(super) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Frames per second of the simulation.
    pub(super) fn fps(&self) -> f64 {
        self.fps
    }

    pub(super) fn is_playing(&self) -> bool {
        self.playing
    }

    pub(super) fn play(&mut self, playing: bool) {
        (self.playing, self.behind) = (playing, 0.0);
    }

    /// Lets this much time pass: a frame at most, so that a slow one is seen and not added up. Whether there was one.
    pub(super) fn pass(&mut self, time: Duration) -> bool {
        if !self.playing {
            return false;
        }
        let frame = self.fps.recip();
        self.behind = (self.behind + time.as_secs_f64()).min(1.5 * frame);
        if self.behind < frame {
            return false;
        }
        self.behind -= frame;
        self.step()
    }

    /// Simulates a frame; whether that went well. What fails stops the play and is told.
    pub(super) fn step(&mut self) -> bool {
        let outcome = self.try_step();
        if let Err(error) = &outcome {
            self.playing = false;
            self.problem = Some(error.to_string());
        }
        outcome.is_ok()
    }

    fn try_step(&mut self) -> Result<()> {
        let mut seconds = Duration::ZERO;
        let snapshot = match self.grab.clone() {
            None => self.frame(None, &mut seconds)?,
            // A hold takes effect with a frame, and before that nothing can be taken back: first it only holds.
            Some(mut grab) if grab.is_new => {
                grab.is_new = false;
                self.grab = Some(grab);
                self.frame(None, &mut seconds)?
            }
            Some(mut grab) => {
                let saved = self.cloth.checkpoint()?;
                let ways = grab.ways(&self.positions, self.dt());
                let mut way = 0;
                let snapshot = loop {
                    let target = PinTarget { vertex: grab.vertex, position: ways[way] };
                    let snapshot = self.frame(Some(target), &mut seconds)?;
                    if snapshot.report.converged != Some(false) || way + 1 == ways.len() {
                        break snapshot;
                    }
                    self.cloth.restore(&saved)?;
                    way += 1;
                };
                grab.took(way, &self.positions);
                self.grab = Some(grab);
                snapshot
            }
        };
        let time = seconds;
        self.tally.add(&snapshot.report, time);
        self.history.push_back(Sample {
            strain: snapshot.report.strain.as_ref().map_or(f64::NAN, |strain| strain.max),
            limit: self.cloth.settings().strain_limit.into(),
            seconds: time.as_secs_f64(),
        });
        if self.history.len() > SHOWN {
            self.history.pop_front();
        }
        (self.positions, self.report) = (snapshot.positions, Some(snapshot.report));
        Ok(())
    }

    /// Simulates a frame, with one more target; adds what the step took.
    fn frame(&mut self, target: Option<PinTarget>, seconds: &mut Duration) -> Result<Snapshot> {
        let (time, dt) = (self.time(), self.dt());
        let mut pin_targets = self.script.frame(&mut self.cloth, time, dt)?;
        // Where the scene lets go of a group, hands and pins do not.
        let by_hand = self.grab.as_ref().filter(|grab| !grab.pinned).map(|grab| grab.vertex);
        let by_hand = by_hand.into_iter().chain(self.pins.iter().copied());
        let let_go: Vec<u32> = by_hand
            .filter(|vertex| self.owner(*vertex).is_some_and(|group| group.until.is_some_and(|until| until <= time)))
            .collect();
        self.cloth.hold(&let_go, Hold::Fixed)?;
        pin_targets.extend(target);
        let clock = Instant::now();
        self.cloth.step(&FrameInput { dt, pin_targets: &pin_targets })?;
        *seconds += clock.elapsed();
        Ok(self.cloth.snapshot()?)
    }

    /// The group of the scene that holds a vertex.
    fn owner(&self, vertex: u32) -> Option<&PinGroup> {
        self.script.pins.iter().find(|group| group.hold.is_some() && group.vertices().contains(&vertex))
    }

    /// Time since the start of the scene \[s\].
    fn time(&self) -> f64 {
        self.frame_number() as f64 / self.fps
    }

    /// Length of a frame \[s\].
    fn dt(&self) -> f32 {
        self.fps.recip() as f32
    }

    /// Back to the start of the scene; what was slid and pinned stays.
    pub(super) fn reset(&mut self) {
        self.release();
        self.noted(|player| {
            player.cloth.reset()?;
            player.script.begin(&mut player.cloth)?;
            player.positions = player.cloth.snapshot()?.positions;
            player.history.clear();
            player.counter.forget();
            (player.report, player.behind, player.earlier) = (None, 0.0, 0);
            Ok(())
        });
    }

    /// Takes hold of what is under the pointer; whether there was something.
    pub(super) fn take(&mut self, camera: &Camera, pointer: [f32; 2], aspect: f32) -> bool {
        self.release();
        let Some(vertex) = self.pick(camera, pointer, aspect) else { return false };
        let grab = Grab::new(self.cloth.mesh(), &self.positions, vertex, camera);
        let pinned = grab.pinned;
        self.noted(|player| {
            if !pinned {
                player.cloth.hold(&[vertex], Hold::Fixed)?;
            }
            (player.grab, player.drags) = (Some(grab), player.drags + 1);
            Ok(())
        });
        self.grab.is_some()
    }

    /// The vertex under the pointer; one that was pinned by hand before others.
    fn pick(&self, camera: &Camera, pointer: [f32; 2], aspect: f32) -> Option<u32> {
        let away = |vertex: &u32| {
            let [x, y] = camera.project(self.positions[*vertex as usize], aspect)?;
            let away = ((x - pointer[0]) * aspect).hypot(y - pointer[1]);
            (away <= NEAR).then_some((away, *vertex))
        };
        let pins = self.pins.iter().filter_map(away);
        let pin = pins.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, vertex)| vertex);
        pin.or_else(|| pick(&self.triangles, &self.positions, camera, pointer, aspect, NEAR))
    }

    /// Pins the vertex under the pointer where it is, or releases it if that was done before; a sentence about it, if
    /// there is one.
    pub(super) fn pin(&mut self, camera: &Camera, pointer: [f32; 2], aspect: f32) -> Option<String> {
        self.release();
        let vertex = self.pick(camera, pointer, aspect)?;
        if self.cloth.mesh().pins().contains(&vertex) || self.held(vertex).is_some() {
            return Some(format!("The scene holds vertex {vertex}, and no click releases it."));
        }
        let pinned = self.pins.contains(&vertex);
        self.noted(|player| {
            player.cloth.hold(&[vertex], if pinned { Hold::Free } else { Hold::Fixed })?;
            if pinned {
                player.pins.remove(&vertex)
            } else {
                player.pins.insert(vertex)
            };
            player.edition += 1;
            Ok(())
        });
        let done = self.pins.contains(&vertex) != pinned;
        done.then(|| format!("Vertex {vertex} is {}.", if pinned { "released" } else { "pinned; a click releases it" }))
    }

    /// Releases everything that was pinned by hand.
    pub(super) fn unpin(&mut self) {
        self.noted(|player| {
            player.cloth.hold(&player.pins(), Hold::Free)?;
            player.pins.clear();
            player.edition += 1;
            Ok(())
        });
    }

    /// How the scene holds a vertex now.
    fn held(&self, vertex: u32) -> Option<Hold> {
        self.owner(vertex).filter(|group| group.until.is_none_or(|until| until > self.time()))?.hold
    }

    /// The pointer has moved.
    pub(super) fn drag(&mut self, camera: &Camera, pointer: [f32; 2], aspect: f32) {
        if let Some(grab) = &mut self.grab {
            grab.follow(camera, pointer, aspect);
        }
    }

    /// Lets go.
    pub(super) fn release(&mut self) {
        let Some(grab) = self.grab.take().filter(|grab| !grab.pinned) else { return };
        // What the scene holds is held again, and what was pinned by hand is pinned where it is now.
        let free = if self.pins.contains(&grab.vertex) { Hold::Fixed } else { Hold::Free };
        let hold = self.held(grab.vertex).unwrap_or(free);
        if let Err(error) = self.cloth.hold(&[grab.vertex], hold) {
            self.problem = Some(error.to_string());
        }
    }

    /// The vertex that is dragged.
    pub(super) fn grabbed(&self) -> Option<u32> {
        self.grab.as_ref().map(|grab| grab.vertex)
    }

    /// Changes settings; whether they were accepted.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Settings)) -> bool {
        self.noted(|player| Ok(player.cloth.change(change)?));
        self.problem.is_none()
    }

    /// Makes the cloth anew of other stuff: it goes on from where it is, as fast as it is.
    pub(super) fn set_stuff(&mut self, stuff: Stuff) {
        self.release();
        self.noted(|player| {
            let scene = stuff.applied(&player.scene)?;
            // Cloth that was let through itself is drawn apart rather than refused.
            player.counter.look(player.frame_number(), &player.positions, false);
            let tangled = player.crossings().is_none_or(|found| found.crossings > 0);
            let own = scene.settings.self_collision.map(|own| match own.tangles {
                Tangles::Refuse if tangled => SelfCollision { tangles: Tangles::Resolve, ..own },
                _ => own,
            });
            let settings = Settings { self_collision: own, ..player.cloth.settings().clone() };
            let mut cloth = made(player.gpu.as_ref(), scene.with_settings(settings))?;
            player.script.begin(&mut cloth)?;
            cloth.hold(&player.pins(), Hold::Fixed)?;
            cloth.set_state(&player.positions, &player.cloth.velocities()?)?;
            for (index, solid) in player.cloth.solids().iter().enumerate() {
                cloth.move_solid(index, solid.pose, solid.velocity, solid.angular_velocity)?;
            }
            player.earlier = player.frame_number();
            (player.cloth, player.stuff) = (cloth, stuff);
            player.edition += 1;
            Ok(())
        });
    }

    /// Does something, and remembers why it could not be done.
    fn noted(&mut self, action: impl FnOnce(&mut Self) -> Result<()>) {
        self.problem = action(self).err().map(|error| error.to_string());
    }
}

fn made(gpu: Option<&Gpu>, scene: Scene) -> Result<Cloth> {
    Ok(match gpu {
        Some(gpu) => Cloth::on_gpu(gpu, scene)?,
        None => Cloth::on_cpu(scene)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec3;
    use taut::scene;

    /// A corner of a hanging sheet whose hand jumps a metre: the vertex follows at 5 m/s at most, and arrives; no frame
    /// is over the limit.
    #[test]
    fn a_hand_that_jumps_does_not_fling_the_cloth() {
        let scene = scene::hang(9).unwrap();
        let vertex = 72;
        let camera = above();
        let seen = |place: Vec3| camera.project(place.to_array(), 1.5).unwrap();
        let mut player = Player::new(None, scene, 60.0, false).unwrap();
        let place = |player: &Player| Vec3::from(player.positions()[vertex]);
        assert!(player.take(&camera, seen(place(&player)), 1.5));
        assert_eq!(player.grabbed(), Some(vertex as u32));
        let wanted = place(&player) + Vec3::new(0.6, 0.0, -0.8);
        player.drag(&camera, seen(wanted), 1.5);
        for frame in 0..60 {
            let before = place(&player);
            player.step();
            assert_eq!(player.problem(), None);
            let way = place(&player).distance(before);
            assert!(way <= 5.0 / 60.0 * 1.001, "{way} m in frame {frame}");
        }
        let left = place(&player).distance(wanted);
        assert!(left < 0.002, "{left} m are left");
        assert_eq!(player.tally().frames_over(), 0);
    }

    /// From above, at the middle of a sheet.
    fn above() -> Camera {
        Camera { eye: [0.5, 3.0, 0.5], target: [0.5, 0.0, 0.5], up: [0.0, 0.0, -1.0], fov: 0.8 }
    }

    #[test]
    fn a_click_pins_and_the_next_one_releases() {
        let camera = above();
        let mut player = Player::new(None, scene::sheet(9).unwrap(), 60.0, false).unwrap();
        let seen = |player: &Player, vertex: usize| camera.project(player.positions()[vertex], 1.5).unwrap();
        let start = player.positions()[40];
        let edition = player.edition();
        assert!(player.pin(&camera, seen(&player, 40), 1.5).unwrap().contains("40 is pinned"));
        assert_eq!(player.pins(), [40]);
        assert!(player.edition() > edition);
        (0..20).for_each(|_| assert!(player.step()));
        assert_eq!(player.positions()[40], start);
        assert!(player.positions()[0][1] < -0.1, "the rest falls");
        // It is led by the hand, and stays where it is left.
        assert!(player.take(&camera, seen(&player, 40), 1.5));
        player.drag(&camera, camera.project([0.6, 0.0, 0.5], 1.5).unwrap(), 1.5);
        (0..20).for_each(|_| assert!(player.step()));
        player.release();
        (0..5).for_each(|_| assert!(player.step()));
        let left = player.positions()[40];
        assert!((left[0] - 0.6).abs() < 0.01, "{left:?}");
        assert!(player.pin(&camera, seen(&player, 40), 1.5).unwrap().contains("released"));
        (0..20).for_each(|_| assert!(player.step()));
        assert!(player.positions()[40][1] < left[1] - 0.1);
        assert!(player.pins().is_empty() && player.problem().is_none());
        // Beside the cloth there is nothing to pin, and what the scene holds is told.
        assert_eq!(player.pin(&camera, [0.001, 0.001], 1.5), None);
        let mut hung = Player::new(None, scene::hang(9).unwrap(), 60.0, false).unwrap();
        let corner = seen(&hung, 0);
        assert!(hung.pin(&camera, corner, 1.5).unwrap().contains("The scene holds vertex 0"));
        assert!(hung.pins().is_empty());
    }

    #[test]
    fn cloth_of_other_stuff_goes_on_from_where_it_is() {
        let mut player = Player::new(None, scene::drape(9).unwrap(), 60.0, false).unwrap();
        assert_eq!(player.stuff(), Stuff { bending: 1e-5, friction: Some(0.5), self_collision: false });
        player.pin(&above(), above().project(player.positions()[0], 1.5).unwrap(), 1.5);
        (0..12).for_each(|_| assert!(player.step()));
        let (before, velocities) = (player.positions().to_vec(), player.cloth().velocities().unwrap());
        let stuff = Stuff { bending: 1e-3, friction: Some(0.1), self_collision: false };
        player.set_stuff(stuff);
        assert_eq!((player.problem(), player.stuff(), player.frame_number()), (None, stuff, 12));
        assert_eq!(player.cloth().snapshot().unwrap().positions, before);
        assert_eq!(player.cloth().velocities().unwrap(), velocities);
        let solid = &player.cloth().solids()[0];
        assert!((solid.friction - 0.1).abs() < 1e-6 && (solid.sliding_friction - 0.08).abs() < 1e-6);
        assert_eq!(player.cloth().mesh().bending(), 1e-3);
        (0..12).for_each(|_| assert!(player.step()));
        assert_eq!(player.tally().frames_over(), 0);
        assert_eq!(player.positions()[0], before[0], "it is pinned still");
        // What is refused changes nothing; a reset keeps the stuff.
        player.set_stuff(Stuff { bending: -1.0, ..stuff });
        assert!(player.problem().is_some() && player.stuff() == stuff);
        player.reset();
        assert_eq!((player.frame_number(), player.cloth().mesh().bending()), (0, 1e-3));
    }

    #[test]
    fn self_collision_is_switched_on_and_off() {
        let mut player = Player::new(None, scene::heap(12).unwrap(), 60.0, true).unwrap();
        let on = player.stuff();
        assert!(on.self_collision && player.crossings().is_none(), "nobody has counted yet");
        let found = |player: &mut Player, frames: u32| {
            (0..frames).for_each(|_| assert!(player.step()));
            player.play(false);
            player.look();
            let found = player.crossings().unwrap();
            assert_eq!(found.frame, player.frame_number());
            found.crossings
        };
        assert_eq!(found(&mut player, 10), 0);
        let before = player.positions().to_vec();
        player.set_stuff(Stuff { self_collision: false, ..on });
        assert_eq!((player.problem(), player.stuff().self_collision), (None, false));
        assert_eq!((player.positions(), player.frame_number()), (&before[..], 10));
        let through = found(&mut player, 30);
        assert!(through > 50, "{through}");
        // What is tangled by then is taken, and drawn apart: much of it at once.
        player.set_stuff(on);
        assert_eq!((player.problem(), player.stuff()), (None, on));
        let own = player.cloth().settings().self_collision.unwrap();
        assert_eq!((own.thickness, own.tangles), (0.004, Tangles::Resolve));
        let left = found(&mut player, 30);
        assert!(left < through / 2, "{left} of {through}");
        // From the start on nothing crosses again.
        player.reset();
        assert_eq!(player.crossings(), None);
        assert_eq!(found(&mut player, 40), 0);
    }

    #[test]
    fn another_scene_starts_and_the_count_goes_on() {
        let mut player = Player::new(None, scene::sheet(5).unwrap(), 60.0, false).unwrap();
        player.step();
        player.exchange(scene::hang(7).unwrap(), 30.0).unwrap();
        assert_eq!((player.frame_number(), player.fps(), player.positions().len()), (0, 30.0, 49));
        player.step();
        assert_eq!((player.frame_number(), player.tally().frames()), (1, 2));
    }
}
