//! Setting the state from outside: reset, positions and velocities, teleport, impulses.

use glam::Vec4;

use super::{Cloth, Engine};
use crate::cloth::report::Dispatches;
use crate::cloth::settings::{check_own_limits, resolution};
use crate::engine::cpu;
use crate::engine::fields::Fields;
use crate::error::within;
use crate::error::{Error, Result};
use crate::mesh::FARTHEST;
use crate::mesh::Mesh;
use crate::solid::Pose;
use crate::stage::Recorder;
use crate::stage::Stage;
use crate::stage::fields::{Clock, Meters, Vertex};
use crate::stage::integrate::IMPULSE;
use crate::stage::normals::Normals;
use crate::stage::self_collision::{self, check_tangles, flag_tangles};

impl Cloth {
    /// Back to the start, at rest; gusts start again, too. Every solid goes to where it was when it came.
    ///
    /// # Errors
    /// As [`Cloth::set_state`].
    pub fn reset(&mut self) -> Result<()> {
        self.check_device()?;
        let basis = self.basis.clone();
        (self.frame, self.gust_phase) = (0, 0.0);
        self.solids.clone_from(&self.first_solids);
        self.set_state(&basis.start, &vec![[0.0; 3]; basis.start.len()])
    }

    /// Sets positions \[m\] and velocities \[m/s\] of all vertices; pinned ones too. A teleport or an impulse that has
    /// not been stepped yet is forgotten. On a GPU they take effect with the next submission, before anything recorded
    /// but not yet submitted.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] or [`Error::NotFinite`]; [`Error::OutOfRange`] for a vertex beyond 2⁴⁰ m or m/s, from
    /// where no step could go on; [`Error::StrainLimit`] or [`Error::Thickness`] if positions so far out
    /// cannot hold the limit or the thickness; [`Error::Tangled`] if the cloth would pass through itself and may not;
    /// [`Error::DeviceLost`].
    pub fn set_state(&mut self, positions: &[[f32; 3]], velocities: &[[f32; 3]]) -> Result<()> {
        check_vectors("positions", positions, self.fields.sizes().vertices())?;
        check_vectors("velocities", velocities, self.fields.sizes().vertices())?;
        let resolution = resolution(&self.basis.mesh, positions);
        self.settings.check_limit(resolution)?;
        check_own_limits(&self.basis.mesh, resolution)?;
        if let Some(own) = &self.settings.self_collision {
            own.check_thickness(self.basis.shortest, resolution * self.basis.shortest)?;
        }
        let crossings = match &self.settings.self_collision {
            Some(own) => check_tangles(&self.basis.mesh, positions, own)?,
            None => Vec::new(),
        };
        self.check_device()?;
        self.relocation = None;
        (self.saved_time, self.unfinished, self.dispatches) = (0.0, false, Dispatches::default());
        self.forget_commands()?;
        self.anchor_anew(None)?;
        flag_tangles(&crossings, &mut self.fields)?;
        write_state(&mut self.fields, &self.basis.mesh, positions, velocities)?;
        if let Engine::Gpu(runner) = &self.engine {
            for spec in self.fields.specs().iter().filter(|spec| spec.state) {
                runner.write(&self.fields, spec.name)?;
            }
        }
        Ok(())
    }

    /// Turns and moves the whole cloth at the start of the next frame; velocities are turned with it, so nothing whips.
    /// A second call before that frame replaces the first.
    ///
    /// # Errors
    /// [`Error::NotFinite`], or [`Error::OutOfRange`] if the quaternion is not of unit length (within 1 %) or the
    /// translation beyond 2⁴⁰ m.
    pub fn teleport(&mut self, relocation: Pose) -> Result<()> {
        let rotation = Vec4::from_array(relocation.rotation);
        if !rotation.is_finite() {
            return Err(Error::NotFinite { field: "rotation", index: 0 });
        }
        check_reach("translation", 0, relocation.translation, WITHIN_REACH)?;
        let length = rotation.length();
        within("rotation", length.into(), (length - 1.0).abs() <= 0.01, "of unit length")?;
        self.relocation = Some(Pose { rotation: (rotation / length).to_array(), ..relocation });
        Ok(())
    }

    /// Gives a free vertex an impulse \[N·s\] at the start of the next frame; several add up. A target that a held
    /// vertex still has from a frame too short to be simulated is forgotten.
    ///
    /// # Errors
    /// [`Error::Command`] for a pinned or unknown vertex, [`Error::NotFinite`].
    pub fn add_impulse(&mut self, vertex: u32, impulse: [f32; 3]) -> Result<()> {
        let problem = match self.basis.pinned.get(vertex as usize) {
            Some(false) => None,
            Some(true) => Some("pinned"),
            None => Some("not a vertex"),
        };
        if let Some(problem) = problem {
            return Err(Error::Command { field: "impulse", index: 0, vertex, problem });
        }
        if !impulse.iter().all(|x| x.is_finite()) {
            return Err(Error::NotFinite { field: "impulse", index: vertex as usize });
        }
        let command = &mut self.fields.get_mut::<[f32; 4]>("commands")?[vertex as usize];
        if command[3] != IMPULSE {
            *command = [0.0; 4];
        }
        for (sum, part) in command.iter_mut().zip(impulse) {
            *sum += part;
        }
        command[3] = IMPULSE;
        self.commanded.push(vertex);
        self.impelled = true;
        Ok(())
    }
}

pub(super) fn check_vectors(field: &'static str, vectors: &[[f32; 3]], expected: usize) -> Result<()> {
    if vectors.len() != expected {
        return Err(Error::LengthMismatch { field, expected, found: vectors.len() });
    }
    let reach = if field == "velocities" { "within ±2⁴⁰ m/s" } else { WITHIN_REACH };
    vectors.iter().enumerate().try_for_each(|(index, vector)| check_reach(field, index, *vector, reach))
}

/// What a place must be.
pub(super) const WITHIN_REACH: &str = "within ±2⁴⁰ m";

/// Refuses what a step could not start from, as it would reject itself.
pub(super) fn check_reach(field: &'static str, index: usize, vector: [f32; 3], expected: &'static str) -> Result<()> {
    match vector.into_iter().find(|x| x.is_nan() || x.abs() > FARTHEST) {
        None => Ok(()),
        Some(x) if !x.is_finite() => Err(Error::NotFinite { field, index }),
        Some(x) => Err(Error::OutOfRange { field, index: Some(index), value: x.into(), expected }),
    }
}

/// Fills the fields a step starts from, and the normals that a renderer draws before the first.
pub(super) fn write_state(
    fields: &mut Fields,
    mesh: &Mesh,
    positions: &[[f32; 3]],
    velocities: &[[f32; 3]],
) -> Result<()> {
    let vertices: Vec<Vertex> = positions
        .iter()
        .zip(mesh.inverse_masses())
        .map(|(position, inverse_mass)| Vertex { position: (*position).into(), inverse_mass })
        .collect();
    fields.get_mut("vertices")?.copy_from_slice(&vertices);
    fields.get_mut("frame_starts")?.copy_from_slice(&vertices);
    let padded = |vectors: &[[f32; 3]]| vectors.iter().map(|[x, y, z]| [*x, *y, *z, 0.0]).collect::<Vec<[f32; 4]>>();
    fields.get_mut("starts")?.copy_from_slice(&padded(positions));
    fields.get_mut("previous_positions")?.copy_from_slice(&padded(positions));
    fields.get_mut("velocities")?.copy_from_slice(&padded(velocities));
    fields.get_mut("previous_velocities")?.copy_from_slice(&padded(velocities));
    fields.get_mut::<[f32; 4]>("displacements")?.fill([0.0; 4]);
    // Nothing has been measured in this state.
    fields.get_mut::<[f32; 4]>("reactions")?.fill([0.0; 4]);
    fields.get_mut::<f32>("tensions")?.fill(0.0);
    self_collision::forget(fields)?;
    fields.get_mut::<Meters>("meters")?.fill(Meters::default());
    fields.get_mut::<u32>("faults")?.fill(0);
    fields.get_mut::<Clock>("clock")?.fill(Clock::default());
    let mut recorder = Recorder::plain(fields.sizes());
    Normals.record(&mut recorder);
    let program = recorder.finish()?;
    let runner = cpu::Runner::new(&program, fields)?;
    let guard = std::mem::replace(&mut fields.get_mut::<u32>("guards")?[0], 1);
    let outcome = runner.run(&program, fields);
    fields.get_mut::<u32>("guards")?[0] = guard;
    outcome.map(|_| ())
}
