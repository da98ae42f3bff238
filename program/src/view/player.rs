//! The simulation behind the window.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::Result;
use taut::render::Camera;
use taut::scene::{PinGroup, Script};
use taut::{Cloth, FrameInput, Gpu, Hold, Method, PinTarget, Report, Scene, Snapshot, Wind};

use super::grab::{self, Grab};
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

/// A cloth that is played.
#[derive(Debug)]
pub(super) struct Player {
    cloth: Cloth,
    script: Script,
    triangles: Vec<[u32; 3]>,
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
    pub(super) fn new(gpu: Option<&Gpu>, scene: Scene, fps: f64, playing: bool) -> Result<Self> {
        let script = scene.script.clone();
        let mut cloth = match gpu {
            Some(gpu) => Cloth::on_gpu(gpu, scene)?,
            None => Cloth::on_cpu(scene)?,
        };
        script.begin(&mut cloth)?;
        let (positions, triangles) = (cloth.snapshot()?.positions, cloth.mesh().triangles());
        Ok(Self {
            cloth,
            script,
            triangles,
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

    pub(super) fn cloth(&self) -> &Cloth {
        &self.cloth
    }

    pub(super) fn positions(&self) -> &[[f32; 3]] {
        &self.positions
    }

    pub(super) fn report(&self) -> Option<&Report> {
        self.report.as_ref()
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

    /// Lets this much time pass: a frame at most, so that a slow one is seen and not added up.
    pub(super) fn pass(&mut self, time: Duration) {
        if !self.playing {
            return;
        }
        let frame = self.fps.recip();
        self.behind = (self.behind + time.as_secs_f64()).min(1.5 * frame);
        if self.behind >= frame {
            self.behind -= frame;
            self.step();
        }
    }

    /// Simulates a frame. What fails stops the play and is told.
    pub(super) fn step(&mut self) {
        if let Err(error) = self.try_step() {
            self.playing = false;
            self.problem = Some(error.to_string());
        }
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
        // Where the scene lets go of a group, the hand does not.
        if let Some(grab) = self.grab.as_ref().filter(|grab| !grab.pinned)
            && self.owner(grab.vertex).is_some_and(|group| group.until.is_some_and(|until| until <= time))
        {
            let vertex = grab.vertex;
            self.cloth.hold(&[vertex], Hold::Fixed)?;
        }
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
        self.cloth.frame() as f64 / self.fps
    }

    /// Length of a frame \[s\].
    fn dt(&self) -> f32 {
        self.fps.recip() as f32
    }

    /// Back to the start of the scene; what was slid stays.
    pub(super) fn reset(&mut self) {
        self.release();
        self.noted(|player| {
            player.cloth.reset()?;
            player.script.begin(&mut player.cloth)?;
            player.positions = player.cloth.snapshot()?.positions;
            player.history.clear();
            (player.report, player.behind) = (None, 0.0);
            Ok(())
        });
    }

    /// Takes hold of what is under the pointer; whether there was something.
    pub(super) fn take(&mut self, camera: &Camera, pointer: [f32; 2], aspect: f32) -> bool {
        self.release();
        let tolerance = 0.015;
        let mesh = self.cloth.mesh();
        let picked = grab::pick(mesh, &self.triangles, &self.positions, camera, pointer, aspect, tolerance);
        let Some(vertex) = picked else { return false };
        let grab = Grab::new(mesh, &self.positions, vertex, camera);
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

    /// The pointer has moved.
    pub(super) fn drag(&mut self, camera: &Camera, pointer: [f32; 2], aspect: f32) {
        if let Some(grab) = &mut self.grab {
            grab.follow(camera, pointer, aspect);
        }
    }

    /// Lets go.
    pub(super) fn release(&mut self) {
        let Some(grab) = self.grab.take().filter(|grab| !grab.pinned) else { return };
        // What the scene holds is held again.
        let owner = self.owner(grab.vertex).filter(|group| group.until.is_none_or(|until| until > self.time()));
        let hold = owner.and_then(|group| group.hold).unwrap_or(Hold::Free);
        if let Err(error) = self.cloth.hold(&[grab.vertex], hold) {
            self.problem = Some(error.to_string());
        }
    }

    /// The vertex that is dragged.
    pub(super) fn grabbed(&self) -> Option<u32> {
        self.grab.as_ref().map(|grab| grab.vertex)
    }

    pub(super) fn set_method(&mut self, method: Method) {
        self.noted(|player| Ok(player.cloth.change(|settings| settings.method = method)?));
    }

    pub(super) fn set_strain_limit(&mut self, limit: f32) {
        self.noted(|player| Ok(player.cloth.change(|settings| settings.strain_limit = limit)?));
    }

    pub(super) fn set_gravity(&mut self, gravity: [f32; 3]) {
        self.noted(|player| Ok(player.cloth.change(|settings| settings.gravity = gravity)?));
    }

    pub(super) fn set_wind(&mut self, wind: Option<Wind>) {
        self.noted(|player| Ok(player.cloth.change(|settings| settings.wind = wind)?));
    }

    /// Does something, and remembers why it could not be done.
    fn noted(&mut self, action: impl FnOnce(&mut Self) -> Result<()>) {
        self.problem = action(self).err().map(|error| error.to_string());
    }
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
        let camera = Camera { eye: [0.5, 3.0, 0.5], target: [0.5, 0.0, 0.5], up: [0.0, 0.0, -1.0], fov: 0.8 };
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
}
