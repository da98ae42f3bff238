//! What acts on a cloth from outside: holds, and solids that move.

use glam::{Quat, Vec3};

use super::recording::Writer;
use super::{Basis, Cloth, Engine, first};
use crate::cloth::hold::Hold;
use crate::engine::cpu;
use crate::engine::fields::Domain;
use crate::engine::gpu::readback::Waiting;
use crate::error::{Error, Result};
use crate::mesh::windows::Windows;
use crate::solid::Pose;
use crate::solid::Solid;
use crate::solid::SolidRow;
use crate::solver::windows;
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
        self.find_windows()
    }

    /// Counts what is held, and finds what is around it where that has changed.
    pub(super) fn find_windows(&mut self) -> Result<()> {
        let holds = self.fields.get::<[f32; 4]>("holds")?;
        self.held = holds.iter().filter(|hold| **hold != FREE).count();
        // Springs hold softly: (0, −k).
        let firm = holds.iter().zip(0..).filter(|(hold, _)| **hold != FREE && hold[3] >= 0.0);
        let held: Vec<u32> = firm.map(|(_, vertex)| vertex).collect();
        if held == self.windows_held {
            return Ok(());
        }
        let Basis { mesh, topology, .. } = &*self.basis;
        let mut windows = Windows::new(mesh, &topology.yarns, &topology.diagonals, &held);
        let sizes = self.fields.sizes();
        let needed = [(windows.pieces.len(), Domain::PIECES), (windows.diagonal_pieces.len(), Domain::DIAGONAL_PIECES)];
        if needed.iter().any(|(count, domain)| *count > sizes.of(*domain)) {
            windows.clone_from(&topology.windows);
        }
        self.windows_held = held;
        if windows != self.windows {
            windows::fill(&windows, topology, &mut self.fields)?;
            if let Engine::Gpu(runner) = &self.engine {
                for name in ["pieces", "window_passes", "diagonal_pieces", "diagonal_passes"] {
                    runner.write(&self.fields, name)?;
                }
            }
            self.windows = windows;
            self.windows_found += 1;
        }
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
        self.check_solid(solid)?;
        let moved = Solid { pose, velocity, angular_velocity, ..self.solids[solid].clone() };
        moved.validate(solid)?;
        self.solids[solid] = moved;
        Ok(())
    }

    /// Adds a solid from the next frame on and returns its number, which is the highest. What it is put on is pushed
    /// out. Its buffers are made anew and the step is recorded anew; where it is the first one, kernels are compiled.
    /// So this allocates, and may wait on a GPU. Frames that were recorded before know nothing of it.
    ///
    /// ```
    /// use taut::{Cloth, FrameInput, Solid, SolidShape, scene};
    ///
    /// let mut cloth = Cloth::on_cpu(scene::sheet(8)?)?;
    /// let ball = cloth.add_solid(Solid::new(SolidShape::Sphere { radius: 0.3 }).at([0.5, -0.4, 0.5]))?;
    /// cloth.change_solid(ball, |solid| solid.friction = 0.9)?;
    /// cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
    /// cloth.remove_solid(ball)?;
    /// # Ok::<(), taut::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfRange`] or [`Error::NotFinite`] for the solid; on a GPU as [`Cloth::on_gpu`]. Then nothing has
    /// changed.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn add_solid(&mut self, solid: Solid) -> Result<usize> {
        pollster::block_on(self.add_solid_async(solid))
    }

    /// [`Cloth::add_solid`] as a future.
    ///
    /// # Errors
    /// As [`Cloth::add_solid`].
    pub async fn add_solid_async(&mut self, solid: Solid) -> Result<usize> {
        let number = self.solids.len();
        let mut solids = self.solids.clone();
        solids.push(solid.clone());
        self.replace_solids(solids).await?;
        self.first_solids.push(solid);
        Ok(number)
    }

    /// Removes a solid from the next frame on and returns it as it was last. Those after it move up by one number. It
    /// costs what [`Cloth::add_solid`] costs.
    ///
    /// # Errors
    /// [`Error::NoSuchSolid`]; on a GPU as [`Cloth::on_gpu`]. Then nothing has changed.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn remove_solid(&mut self, solid: usize) -> Result<Solid> {
        pollster::block_on(self.remove_solid_async(solid))
    }

    /// [`Cloth::remove_solid`] as a future.
    ///
    /// # Errors
    /// As [`Cloth::remove_solid`].
    pub async fn remove_solid_async(&mut self, solid: usize) -> Result<Solid> {
        self.check_solid(solid)?;
        let mut solids = self.solids.clone();
        let removed = solids.remove(solid);
        self.replace_solids(solids).await?;
        self.first_solids.remove(solid);
        Ok(removed)
    }

    /// Changes a solid from the next frame on: its surface, its shape, its place. Another grid costs what
    /// [`Cloth::add_solid`] costs, everything else nothing. [`Cloth::reset`] brings it back to where it came, as it is
    /// now otherwise.
    ///
    /// # Errors
    /// [`Error::NoSuchSolid`], [`Error::OutOfRange`] or [`Error::NotFinite`]; on a GPU as [`Cloth::on_gpu`]. Then
    /// nothing has changed.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn change_solid(&mut self, solid: usize, change: impl FnOnce(&mut Solid)) -> Result<()> {
        pollster::block_on(self.change_solid_async(solid, change))
    }

    /// [`Cloth::change_solid`] as a future.
    ///
    /// # Errors
    /// As [`Cloth::change_solid`].
    pub async fn change_solid_async(&mut self, solid: usize, change: impl FnOnce(&mut Solid)) -> Result<()> {
        self.check_solid(solid)?;
        let mut solids = self.solids.clone();
        change(&mut solids[solid]);
        let changed = solids[solid].clone();
        self.replace_solids(solids).await?;
        let Solid { pose, velocity, angular_velocity, .. } = self.first_solids[solid];
        self.first_solids[solid] = Solid { pose, velocity, angular_velocity, ..changed };
        Ok(())
    }

    fn check_solid(&self, solid: usize) -> Result<()> {
        let count = self.solids.len();
        if solid < count { Ok(()) } else { Err(Error::NoSuchSolid { solid, count }) }
    }

    /// Other solids in the place of those there are; where it fails, nothing has changed.
    async fn replace_solids(&mut self, solids: Vec<Solid>) -> Result<()> {
        solids.iter().enumerate().try_for_each(|(index, solid)| solid.validate(index))?;
        let grids = |solids: &[Solid]| solids.iter().flat_map(Solid::distances).copied().collect::<Vec<f32>>();
        let distances = grids(&solids);
        if solids.len() != self.solids.len() || distances != grids(&self.solids) {
            let sizes = self.fields.sizes().with(Domain::SOLIDS, solids.len());
            let mut fields = self.fields.resized(sizes.with(Domain::DISTANCES, distances.len()));
            fields.get_mut::<f32>("distances")?.copy_from_slice(&distances);
            let writer = Writer { sizes: fields.sizes(), ..self.writer(&self.settings) };
            let recorded = writer.record(self.recorded.asked, None)?;
            let every = first(&self.basis, &self.settings, fields.sizes()).every_kernel(&recorded.plan)?;
            match &mut self.engine {
                Engine::Cpu(runner) => *runner = cpu::Runner::new(&every, &fields)?,
                Engine::Gpu(runner) => {
                    runner.renew(&["solids", "distances"], &every, &recorded.program, &fields).await?;
                }
            }
            (self.fields, self.recorded) = (fields, recorded);
        }
        self.solids = solids;
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
