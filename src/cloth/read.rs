//! Reading back: snapshots, reports, velocities, forces on pins.

use std::sync::Arc;

use glam::Vec3;

use super::{Basis, Cloth, Engine};
use crate::cloth::report::{Dispatches, LoadedEdge, Report, Snapshot, Strain, positions};
use crate::engine::gpu::Pending;
use crate::engine::gpu::readback::{Decode, Waiting};
use crate::error::{Error, Result};
#[cfg(doc)]
use crate::mesh::Mesh;
use crate::stage::contact::Contact;
use crate::stage::fields::{Meters, Vertex};
use crate::stage::self_collision::{SelfReport, meter};

impl Cloth {
    /// What the last frame reached, with positions read back and strain recomputed. Waits for the GPU.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn snapshot(&self) -> Result<Snapshot> {
        pollster::block_on(self.snapshot_with(Waiting::Block))
    }

    /// [`Cloth::snapshot`] for a browser, or where another thread polls the device.
    ///
    /// # Errors
    /// As [`Cloth::snapshot`].
    pub async fn snapshot_async(&self) -> Result<Snapshot> {
        self.snapshot_with(Waiting::Await).await
    }

    pub(super) async fn snapshot_with(&self, waiting: Waiting) -> Result<Snapshot> {
        match &self.engine {
            Engine::Cpu(_) => {
                let vertices = self.fields.get::<Vertex>("vertices")?;
                let meters = self.fields.get::<Meters>("meters")?;
                let report = Report::new(&meters[0], self.fields.get::<u32>("faults")?, self.dispatches);
                let own = self.own_report(self.fields.get::<u32>("own_meters")?);
                Ok(self.judge().snapshot(Report { self_collision: own, ..report }, positions(vertices)))
            }
            Engine::Gpu(runner) => {
                let bytes = runner.read(&self.reported(true), waiting).await?;
                self.judge().decode(&bytes, true)
            }
        }
    }

    /// Records the read-back of a report, with positions (and then the recomputed strain) or without. It arrives after
    /// the encoder was submitted and the device polled.
    ///
    /// # Errors
    /// [`Error::NotOnGpu`].
    pub fn encode_report(&self, encoder: &mut wgpu::CommandEncoder, with_positions: bool) -> Result<Pending<Snapshot>> {
        let staging = self.runner()?.record_read(encoder, &self.reported(with_positions))?;
        let judge = self.judge();
        let decode = Decode(Box::new(move |bytes: &[u8]| judge.decode(bytes, with_positions)));
        Ok(Pending::new(staging, decode))
    }

    /// Fields that a report is made of, in the order that [`Judge::decode`] takes them in.
    fn reported(&self, with_positions: bool) -> Vec<&'static str> {
        let own = self.fields.sizes().touches_itself().then_some("own_meters");
        ["meters", "faults"].into_iter().chain(own).chain(with_positions.then_some("vertices")).collect()
    }

    /// What self-collision did, if there is any.
    fn own_report(&self, meters: &[u32]) -> Option<SelfReport> {
        let own = self.settings.self_collision.filter(|_| self.fields.sizes().touches_itself())?;
        Some(SelfReport::new(own.effective(self.basis.shortest), meters))
    }

    fn judge(&self) -> Judge {
        Judge {
            basis: self.basis.clone(),
            band: [self.settings.stretch_min, self.settings.stretch_max],
            limit: self.settings.strain_limit,
            dispatches: self.dispatches,
            own: self.own_report(&[]),
        }
    }

    /// Velocities of all vertices \[m/s\]. Waits for the GPU.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn velocities(&self) -> Result<Vec<[f32; 3]>> {
        pollster::block_on(self.vectors("velocities", Waiting::Block))
    }

    /// [`Cloth::velocities`] for a browser, or where another thread polls the device.
    ///
    /// # Errors
    /// As [`Cloth::velocities`].
    pub async fn velocities_async(&self) -> Result<Vec<[f32; 3]>> {
        self.vectors("velocities", Waiting::Await).await
    }

    /// Force of the cloth on each pin \[N\], in the order of [`Mesh::pins`]: the mean over the last frame of what edges
    /// and springs pull and the wind presses, and the pinned vertex's own weight. A support must supply the opposite.
    /// Waits for the GPU.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn pin_forces(&self) -> Result<Vec<[f32; 3]>> {
        pollster::block_on(self.pin_forces_with(Waiting::Block))
    }

    /// [`Cloth::pin_forces`] for a browser, or where another thread polls the device.
    ///
    /// # Errors
    /// As [`Cloth::pin_forces`].
    pub async fn pin_forces_async(&self) -> Result<Vec<[f32; 3]>> {
        self.pin_forces_with(Waiting::Await).await
    }

    async fn pin_forces_with(&self, waiting: Waiting) -> Result<Vec<[f32; 3]>> {
        let reactions = self.vectors("reactions", waiting).await?;
        let masses = self.basis.mesh.masses();
        let force = |pin: &u32| {
            let own = Vec3::from(self.settings.gravity) * masses[*pin as usize];
            (Vec3::from(reactions[*pin as usize]) + own).to_array()
        };
        Ok(self.basis.mesh.pins().iter().map(force).collect())
    }

    /// The number of the solid that each vertex touched in the last substep of the last frame, by which
    /// [`Cloth::solids`] has it; `None` where it touched none. Waits for the GPU.
    ///
    /// ```
    /// use taut::{Cloth, FrameInput, scene};
    ///
    /// let mut cloth = Cloth::on_cpu(scene::drape(12)?)?;
    /// for _ in 0..40 {
    ///     cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
    /// }
    /// assert!(cloth.contacts()?.contains(&Some(0)), "it lies on the ball");
    /// # Ok::<(), taut::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn contacts(&self) -> Result<Vec<Option<u32>>> {
        pollster::block_on(self.contacts_with(Waiting::Block))
    }

    /// [`Cloth::contacts`] for a browser, or where another thread polls the device.
    ///
    /// # Errors
    /// As [`Cloth::contacts`].
    pub async fn contacts_async(&self) -> Result<Vec<Option<u32>>> {
        self.contacts_with(Waiting::Await).await
    }

    async fn contacts_with(&self, waiting: Waiting) -> Result<Vec<Option<u32>>> {
        if self.solids.is_empty() {
            self.check_device()?;
            return Ok(vec![None; self.basis.mesh.vertex_count()]);
        }
        let contacts: Vec<Contact> = match &self.engine {
            Engine::Cpu(_) => self.fields.get::<Contact>("contacts")?.to_vec(),
            Engine::Gpu(runner) => bytemuck::pod_collect_to_vec(&runner.read(&["contacts"], waiting).await?),
        };
        let vertices = contacts.iter().take(self.basis.mesh.vertex_count());
        // Those of a solid that was taken away since are not there any more.
        let solid =
            |contact: &Contact| contact.solid.checked_sub(1).filter(|solid| (*solid as usize) < self.solids.len());
        Ok(vertices.map(solid).collect())
    }

    /// The edge with the largest load of the last frame, which decides how many substeps the next one gets; `None`
    /// where nothing was taut. Edges that a solve without an end left no finite tension are passed over. Waits for the
    /// GPU.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn most_loaded_edge(&self) -> Result<Option<LoadedEdge>> {
        pollster::block_on(self.most_loaded_edge_with(Waiting::Block))
    }

    /// [`Cloth::most_loaded_edge`] for a browser, or where another thread polls the device.
    ///
    /// # Errors
    /// As [`Cloth::most_loaded_edge`].
    pub async fn most_loaded_edge_async(&self) -> Result<Option<LoadedEdge>> {
        self.most_loaded_edge_with(Waiting::Await).await
    }

    async fn most_loaded_edge_with(&self, waiting: Waiting) -> Result<Option<LoadedEdge>> {
        if self.fields.sizes().edges() == 0 {
            return Ok(None);
        }
        let tensions: Vec<f32> = match &self.engine {
            Engine::Cpu(_) => self.fields.get::<f32>("tensions")?.to_vec(),
            Engine::Gpu(runner) => bytemuck::pod_collect_to_vec(&runner.read(&["tensions"], waiting).await?),
        };
        let edges = self.basis.topology.yarns.edges.iter().zip(&tensions);
        let loaded = edges.map(|(edge, tension)| LoadedEdge {
            ends: [edge.tail, edge.head],
            tension: *tension,
            load: tension / (self.basis.mean_mass * edge.rest),
        });
        let measured = loaded.filter(|edge| edge.load > 0.0 && edge.load.is_finite());
        Ok(measured.max_by(|a, b| a.load.total_cmp(&b.load)))
    }

    pub(super) async fn vectors(&self, name: &str, waiting: Waiting) -> Result<Vec<[f32; 3]>> {
        let padded: Vec<[f32; 4]> = match &self.engine {
            Engine::Cpu(_) => self.fields.get::<[f32; 4]>(name)?.to_vec(),
            Engine::Gpu(runner) => bytemuck::pod_collect_to_vec(&runner.read(&[name], waiting).await?),
        };
        Ok(padded.iter().take(self.fields.sizes().vertices()).map(|[x, y, z, _]| [*x, *y, *z]).collect())
    }
}

/// Turns what was read back into a report.
#[derive(Debug)]
struct Judge {
    basis: Arc<Basis>,
    band: [f32; 2],
    limit: f32,
    dispatches: Dispatches,
    /// What is known of self-collision, if there is any.
    own: Option<SelfReport>,
}

impl Judge {
    fn snapshot(&self, report: Report, positions: Vec<[f32; 3]>) -> Snapshot {
        let strain = Strain::measure(&self.basis.mesh, &self.basis.topology, self.band, self.limit, &positions);
        Snapshot { report: report.with_strain(strain), positions }
    }

    /// Fields in the order meters, faults, those of self-collision if there is any, vertices, each padded to 16 bytes.
    fn decode(&self, bytes: &[u8], with_positions: bool) -> Result<Snapshot> {
        let short = || Error::Device { message: "a read-back is shorter than what was copied".into() };
        let (meters, rest) = bytes.split_at_checked(size_of::<Meters>().next_multiple_of(16)).ok_or_else(short)?;
        let (faults, rest) = rest.split_at_checked(16).ok_or_else(short)?;
        let words = if self.own.is_some() { 4 * meter::COUNT } else { 0 };
        let (own, vertices) = rest.split_at_checked(words).ok_or_else(short)?;
        let own: Vec<u32> = bytemuck::pod_collect_to_vec(own);
        let meters: Meters = bytemuck::pod_read_unaligned(&meters[..size_of::<Meters>()]);
        let faults: [u32; 4] = bytemuck::pod_read_unaligned(faults);
        let report = Report::new(&meters, &faults, self.dispatches);
        let report = Report { self_collision: self.own.map(|known| SelfReport::new(known.thickness, &own)), ..report };
        if !with_positions {
            return Ok(Snapshot { positions: Vec::new(), report });
        }
        let vertices: Vec<Vertex> = bytemuck::pod_collect_to_vec(vertices);
        let vertices = vertices.get(..self.basis.mesh.vertex_count()).ok_or_else(short)?;
        Ok(self.snapshot(report, positions(vertices)))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Cloth, FrameInput, scene};

    /// A row of edges that is taut between a pin and a hold is singular, and what a solve says of it may be infinite.
    #[test]
    fn a_tension_without_a_number_is_not_handed_out() {
        let mut cloth = Cloth::on_cpu(scene::chain(5).unwrap()).unwrap();
        cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() }).unwrap();
        let before = cloth.most_loaded_edge().unwrap().unwrap();
        // Finite, but not over a mass and a length.
        for broken in [f32::INFINITY, f32::NAN, f32::MAX] {
            let tensions = cloth.fields.get_mut::<f32>("tensions").unwrap();
            assert_eq!(tensions.len(), 4);
            tensions[3] = broken;
            let edge = cloth.most_loaded_edge().unwrap().unwrap();
            assert!(edge.load.is_finite() && edge.tension.is_finite(), "{broken}: {edge:?}");
            assert!(edge.load <= before.load, "{broken}: {edge:?}");
        }
    }
}
