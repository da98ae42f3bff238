//! What acts on a cloth from outside: holds, and solids that move.

use glam::{Quat, Vec3};

use super::{Cloth, Engine};
use crate::cloth::hold::Hold;
use crate::engine::gpu::readback::Waiting;
use crate::error::{Error, Result};
use crate::solid::Pose;
use crate::solid::Solid;
use crate::solid::SolidRow;
use crate::stage::freedom::FREE;

impl Cloth {
    /// Holds vertices from the next frame on, where they are then: on a plane, on a line, in place, or by a spring;
    /// [`Hold::Free`] releases them. Targets in [`crate::FrameInput::pin_targets`] move what is held; the rest moves
    /// freely. [`Cloth::reset`] and [`Cloth::set_state`] keep the holds, at the new places; [`Cloth::teleport`] turns
    /// them with the cloth. On a GPU a hold takes effect with the next submission, before anything recorded but not yet
    /// submitted.
    ///
    /// An edge between two vertices in place is not told apart as infeasible, as one between two pins is: too long, it
    /// keeps the limit from being held.
    ///
    /// ```
    /// use taut::{Cloth, FrameInput, Hold, scene};
    ///
    /// let mut cloth = Cloth::on_cpu(scene::sheet(8)?)?;
    /// cloth.hold(&[0, 7], Hold::Fixed)?;
    /// for _ in 0..30 {
    ///     cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
    /// }
    /// assert_eq!(cloth.snapshot()?.positions[0], [0.0, 0.0, 0.0]);
    /// cloth.hold(&[0, 7], Hold::Free)?;
    /// # Ok::<(), taut::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Command`] for a pinned or unknown vertex, [`Error::OutOfRange`] or [`Error::NotFinite`] for a normal,
    /// direction or stiffness; then nothing has changed.
    pub fn hold(&mut self, vertices: &[u32], hold: Hold) -> Result<()> {
        let row = hold.row()?;
        for (index, vertex) in vertices.iter().copied().enumerate() {
            let problem = match self.basis.pinned.get(vertex as usize) {
                Some(false) => continue,
                Some(true) => "pinned by the mesh",
                None => "not a vertex",
            };
            return Err(Error::Command { field: "vertices", index, vertex, problem });
        }
        for vertex in vertices {
            self.fields.get_mut::<[f32; 4]>("holds")?[*vertex as usize] = row;
            self.rehold.push(*vertex);
        }
        self.held = self.fields.get::<[f32; 4]>("holds")?.iter().filter(|hold| **hold != FREE).count();
        Ok(())
    }

    /// How a vertex is held.
    pub(crate) fn is_held(&self, vertex: usize) -> bool {
        self.fields.get::<[f32; 4]>("holds").is_ok_and(|holds| holds.get(vertex).is_some_and(|hold| *hold != FREE))
    }

    /// Holds vertices where they will be found next, and along directions that were turned with the cloth.
    pub(super) fn anchor_anew(&mut self, moved: Option<Pose>) -> Result<()> {
        if self.held == 0 {
            return Ok(());
        }
        let turn = moved.map_or(Quat::IDENTITY, |pose| Quat::from_array(pose.rotation));
        for (vertex, hold) in self.fields.get_mut::<[f32; 4]>("holds")?.iter_mut().enumerate() {
            // The device moves the anchor of a spring with the cloth.
            let kept = *hold == FREE || (moved.is_some() && hold[3] < 0.0);
            if !kept {
                let [x, y, z, w] = *hold;
                *hold = (turn * Vec3::new(x, y, z)).extend(w).to_array();
                self.rehold.push(vertex as u32);
            }
        }
        Ok(())
    }

    /// Hands changed holds to the device, with anchors that are where the vertices will be found.
    pub(super) fn place_holds(&mut self) -> Result<()> {
        if self.rehold.is_empty() {
            return Ok(());
        }
        // On a GPU the anchors of the others are there, not here: each changed vertex is written on its own.
        let changed = std::mem::take(&mut self.rehold);
        let anchors = self.fields.get_mut::<[f32; 4]>("anchors")?;
        for vertex in &changed {
            anchors[*vertex as usize] = [0.0; 4];
        }
        if let Engine::Gpu(runner) = &self.engine {
            runner.write(&self.fields, "holds")?;
            for vertex in &changed {
                runner.write_part(&self.fields, "anchors", *vertex as usize)?;
            }
        }
        Ok(())
    }

    /// The solids, where they are after the last frame.
    pub fn solids(&self) -> &[Solid] {
        &self.solids
    }

    /// Puts a solid elsewhere and gives it another motion from the next frame on. What was in its way is pushed out, so
    /// a small move per frame should rather be a velocity.
    ///
    /// # Errors
    /// [`Error::NoSuchSolid`], [`Error::NotFinite`] or [`Error::OutOfRange`]; then nothing has changed.
    pub fn move_solid(
        &mut self,
        solid: usize,
        pose: Pose,
        velocity: [f32; 3],
        angular_velocity: [f32; 3],
    ) -> Result<()> {
        let count = self.solids.len();
        let place = self.solids.get_mut(solid).ok_or(Error::NoSuchSolid { solid, count })?;
        let moved = Solid { pose, velocity, angular_velocity, ..place.clone() };
        moved.validate(solid)?;
        *place = moved;
        Ok(())
    }

    /// Refuses a frame of `dt` seconds in which a solid turns by half a turn or more: of two ways the shorter would be
    /// taken.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] naming the solid.
    pub(super) fn check_turns(&self, dt: f32) -> Result<()> {
        for (index, solid) in self.solids.iter().enumerate() {
            let speed = Vec3::from(solid.angular_velocity).length();
            if speed * dt >= std::f32::consts::PI {
                let (field, expected) = ("solids.angular_velocity", "less than half a turn per frame");
                return Err(Error::OutOfRange { field, index: Some(index), value: speed.into(), expected });
            }
        }
        Ok(())
    }

    /// Writes the solids' way through a frame of `dt` seconds.
    pub(super) fn place_solids(&mut self, dt: f32) -> Result<()> {
        let mut grid = 0;
        for (row, solid) in self.fields.get_mut::<SolidRow>("solids")?.iter_mut().zip(&self.solids) {
            *row = solid.row(solid.advanced(dt), grid);
            grid += solid.distances().len() as u32;
        }
        Ok(())
    }

    /// Force of the cloth on what keeps its vertices from moving freely \[N\], one per vertex: the mean over the last
    /// frame on pins, holds and solids; 0 where nothing does. The opposite is the constraint force. A pin's own weight
    /// is in [`Cloth::pin_forces`], not here. Waits for the GPU.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn constraint_forces(&self) -> Result<Vec<[f32; 3]>> {
        pollster::block_on(self.vectors("reactions", Waiting::Block))
    }

    /// [`Cloth::constraint_forces`] for a browser, or where another thread polls the device.
    ///
    /// # Errors
    /// As [`Cloth::constraint_forces`].
    pub async fn constraint_forces_async(&self) -> Result<Vec<[f32; 3]>> {
        self.vectors("reactions", Waiting::Await).await
    }
}
