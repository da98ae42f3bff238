//! [`Filter`]: inextensibility for simulation code that is not this crate's.

use super::state::{WITHIN_REACH, check_reach, check_vectors};
use super::{Cloth, Engine, FrameInput};
use crate::cloth::report::{Report, Snapshot};
use crate::cloth::scene::Scene;
use crate::cloth::settings::{Settings, check_own_limits, resolution};
use crate::cloth::substeps::Substeps;
use crate::engine::fields::Fields;
use crate::engine::gpu::readback::Waiting;
use crate::engine::gpu::{Gpu, Pending};
use crate::engine::program::Program;
use crate::error::within;
use crate::error::{Error, Result};
use crate::mesh::Mesh;
use crate::mesh::topology::Topology;
use crate::solver::Method;

/// How the vectors of a host lie in its buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// 16 bytes apart, as `array<vec3<f32>>` and `array<vec4<f32>>` are in WGSL; the fourth word is the host's own.
    #[default]
    Padded,
    /// 12 bytes apart, as in vertex buffers of `Float32x3`.
    Packed,
}

impl Layout {
    /// Words from one vector to the next.
    fn stride(self) -> usize {
        match self {
            Self::Padded => 4,
            Self::Packed => 3,
        }
    }
}

/// What a [`Filter`] holds, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterSettings {
    /// Largest strain of x + h v, as a fraction; edges may have limits of their own, as in [`Settings::strain_limit`].
    pub strain_limit: f32,
    /// Lower end of the stretch band, as [`Settings::stretch_min`]: 0 for ropes, which may be slack.
    pub stretch_min: f32,
    /// Upper end of the stretch band, as [`Settings::stretch_max`].
    pub stretch_max: f32,
    /// The solver. It does one projection at least, but leaves edges alone that are strictly inside of the band.
    pub method: Method,
    /// How the vectors lie in the buffers of a host on a GPU; a filter keeps what it was made with.
    pub layout: Layout,
    /// Dispatches that one [`Filter::encode`] may record; loops are shortened where it would be more.
    pub dispatch_budget: u64,
}

impl Default for FilterSettings {
    fn default() -> Self {
        let Settings { strain_limit, stretch_min, stretch_max, method, dispatch_budget, .. } = Settings::default();
        Self { strain_limit, stretch_min, stretch_max, method, layout: Layout::default(), dispatch_budget }
    }
}

impl FilterSettings {
    /// Writes them into the settings of one step without forces.
    fn set(&self, settings: &mut Settings) {
        *settings = Settings {
            strain_limit: self.strain_limit,
            stretch_min: self.stretch_min,
            stretch_max: self.stretch_max,
            method: self.method.clone(),
            dispatch_budget: self.dispatch_budget,
            gravity: [0.0; 3],
            substeps: Substeps::Fixed(1),
            ..Settings::default()
        };
    }

    /// Refuses what would remember something from one call to the next.
    fn check_memory(&self) -> Result<()> {
        let warm = match &self.method {
            Method::Auto(auto) => auto.projection.warm_start,
            Method::FastProjection(projection) => projection.warm_start,
            _ => None,
        };
        let gamma = warm.unwrap_or_default();
        within("warm_start", gamma.into(), warm.is_none(), "none: a filter keeps nothing from one call to the next")
    }
}

/// A velocity filter (Goldenthal et al. 2007, Algorithm 1): positions and candidate velocities in, velocities out with
/// which every edge ends the step within the strain limit.
///
/// For code that has its own integrator, forces and collisions, as the paper's had: integrate as if edges could
/// stretch, filter, move by the filtered velocities. A filter has no forces and no state. It takes from its mesh the
/// inextensible edges, the masses and the pins, and nothing else; a pinned vertex moves as its candidate velocity says,
/// which is how the host leads it, and keeps that velocity. Positions need not satisfy the constraints: what is too
/// long at the start of a step is not at its end. The projection is the closest in the metric of the masses up to the
/// approximation of the paper, so it takes no momentum from pieces that nothing holds.
///
/// ```
/// use taut::{Filter, FilterSettings, scene};
///
/// let mesh = scene::hang(8)?.mesh;
/// let mut positions = mesh.positions().to_vec();
/// let mut filter = Filter::on_cpu(mesh, FilterSettings { strain_limit: 0.001, ..Default::default() })?;
/// let mut velocities = vec![[0.0; 3]; positions.len()];
/// let dt = 1.0 / 240.0;
/// for _ in 0..24 {
///     for velocity in &mut velocities {
///         velocity[1] -= 9.81 * dt; // the host's own forces
///     }
///     for pin in filter.mesh().pins() {
///         velocities[*pin as usize] = [0.0; 3];
///     }
///     let report = filter.filter(&positions, &mut velocities, dt)?;
///     assert_eq!(report.converged, Some(true));
///     for (position, velocity) in positions.iter_mut().zip(&velocities) {
///         for (x, v) in position.iter_mut().zip(velocity) {
///             *x += dt * v;
///         }
///     }
/// }
/// # Ok::<(), taut::Error>(())
/// ```
///
/// On a GPU [`Filter::encode`] does the same with two buffers of the host's, recorded into the host's encoder.
///
/// What is left of the strain within the limit is corrected in the next call, within its step: a host whose steps
/// become shorter should not let the limit stay large.
#[derive(Debug)]
pub struct Filter {
    /// One substep without forces.
    cloth: Cloth,
    layout: Layout,
}

impl Filter {
    /// A filter on the CPU.
    ///
    /// # Errors
    /// As [`Cloth::on_cpu`]; [`Error::OutOfRange`] for a solver with a warm start.
    pub fn on_cpu(mesh: Mesh, settings: FilterSettings) -> Result<Self> {
        let (scene, words) = scene(mesh, &settings)?;
        Ok(Self { cloth: Cloth::made_on_cpu(scene, words)?, layout: settings.layout })
    }

    /// A filter on a GPU, for the buffers of a host that has its device.
    ///
    /// # Errors
    /// As [`Cloth::on_gpu`] and [`Filter::on_cpu`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn on_gpu(gpu: &Gpu, mesh: Mesh, settings: FilterSettings) -> Result<Self> {
        pollster::block_on(Self::on_gpu_async(gpu, mesh, settings))
    }

    /// [`Filter::on_gpu`] as a future.
    ///
    /// # Errors
    /// As [`Filter::on_gpu`].
    pub async fn on_gpu_async(gpu: &Gpu, mesh: Mesh, settings: FilterSettings) -> Result<Self> {
        let (scene, words) = scene(mesh, &settings)?;
        Ok(Self { cloth: Cloth::made_on_gpu(gpu, scene, words).await?, layout: settings.layout })
    }

    /// The mesh, as far as a filter knows it: without springs and bending.
    pub fn mesh(&self) -> &Mesh {
        self.cloth.mesh()
    }

    /// Its graph.
    pub fn topology(&self) -> &Topology {
        self.cloth.topology()
    }

    /// What is recorded: one substep without forces.
    pub fn program(&self) -> &Program {
        self.cloth.program()
    }

    /// The fields of a filter on the CPU, for tests and tools.
    pub fn fields(&self) -> Option<&Fields> {
        self.cloth.fields()
    }

    /// The cloth whose step this is, for checks of kernels.
    #[cfg(feature = "validate")]
    pub(crate) fn into_cloth(self) -> Cloth {
        self.cloth
    }

    /// Changes what is held and how; the next call does so.
    ///
    /// # Errors
    /// As [`Cloth::change`] and [`Filter::on_cpu`]; [`Error::Fixed`] for another layout. Then nothing has changed.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn change(&mut self, settings: &FilterSettings) -> Result<()> {
        pollster::block_on(self.change_async(settings))
    }

    /// [`Filter::change`] as a future.
    ///
    /// # Errors
    /// As [`Filter::change`].
    pub async fn change_async(&mut self, settings: &FilterSettings) -> Result<()> {
        settings.check_memory()?;
        if settings.layout != self.layout {
            return Err(Error::Fixed { field: "layout" });
        }
        self.cloth.change_async(|own| settings.set(own)).await
    }

    /// Filters candidate velocities \[m/s\] for a step of `dt` \[s\] from these positions \[m\]. The report tells what
    /// the step will reach, with the strain of x + h v recomputed in f64. Where a value comes out that is not finite,
    /// velocities stay as they were, and [`Report::rejected`] says so. On a GPU this uploads, submits and waits.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::NotFinite`] or [`Error::OutOfRange`] for the vectors and the step,
    /// [`Error::StrainLimit`] if positions so far out cannot hold the limit; those of the device. Then nothing has
    /// changed.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn filter(&mut self, positions: &[[f32; 3]], velocities: &mut [[f32; 3]], dt: f32) -> Result<Report> {
        pollster::block_on(self.filter_with(positions, velocities, dt, Waiting::Block))
    }

    /// [`Filter::filter`] for a browser, or where another thread polls the device.
    ///
    /// # Errors
    /// As [`Filter::filter`].
    pub async fn filter_async(
        &mut self,
        positions: &[[f32; 3]],
        velocities: &mut [[f32; 3]],
        dt: f32,
    ) -> Result<Report> {
        self.filter_with(positions, velocities, dt, Waiting::Await).await
    }

    async fn filter_with(
        &mut self,
        positions: &[[f32; 3]],
        velocities: &mut [[f32; 3]],
        dt: f32,
        waiting: Waiting,
    ) -> Result<Report> {
        check_step(dt)?;
        let Self { cloth, layout } = self;
        let count = cloth.mesh().vertex_count();
        check_vectors("positions", positions, count)?;
        check_vectors("velocities", velocities, count)?;
        for (index, (position, velocity)) in positions.iter().zip(velocities.iter()).enumerate() {
            let end = [0, 1, 2].map(|axis| position[axis] + dt * velocity[axis]);
            check_reach("positions + dt velocities", index, end, WITHIN_REACH)?;
        }
        let resolution = resolution(cloth.mesh(), positions);
        cloth.settings.check_limit(resolution)?;
        check_own_limits(cloth.mesh(), resolution)?;
        cloth.check_device()?;
        let stride = layout.stride();
        write(&mut cloth.fields, "filter_positions", stride, positions)?;
        write(&mut cloth.fields, VELOCITIES, stride, velocities)?;
        if let Engine::Gpu(runner) = &cloth.engine {
            runner.write(&cloth.fields, "filter_positions")?;
            runner.write(&cloth.fields, VELOCITIES)?;
        }
        cloth.run_frame(&FrameInput { dt, ..Default::default() }, waiting).await?;
        // Orders that vary from frame to frame do not vary from call to call.
        cloth.frame = 0;
        let report = cloth.snapshot_with(waiting).await?.report;
        let words: Vec<f32> = match &cloth.engine {
            Engine::Cpu(_) => cloth.fields.get::<f32>(VELOCITIES)?.to_vec(),
            Engine::Gpu(runner) => bytemuck::pod_collect_to_vec(&runner.read(&[VELOCITIES], waiting).await?),
        };
        for (velocity, found) in velocities.iter_mut().zip(words.chunks_exact(stride)) {
            velocity.copy_from_slice(&found[..3]);
        }
        Ok(report)
    }

    /// Records the filter into the host's encoder: copies of `positions` and `velocities`, one compute pass, a copy
    /// back to `velocities`. Nothing is submitted, polled or waited for. Returns the number of dispatches.
    ///
    /// Both buffers have a vector per vertex, laid out as [`FilterSettings::layout`] says. What is in them the host
    /// answers for: where a value is not finite, or comes out so, velocities stay as they were
    /// ([`Filter::encode_report`] tells), and the rounding of positions is taken to be that of the mesh's own.
    ///
    /// Calls may follow each other in one encoder, also for several pairs of buffers.
    ///
    /// # Errors
    /// [`Error::NotOnGpu`]; [`Error::OutOfRange`] for the step; [`Error::HostBuffer`] for a buffer that is too short,
    /// or was made without `COPY_SRC` or, that of velocities, `COPY_DST`; [`Error::Budget`] as [`Cloth::encode_step`].
    /// Then nothing was recorded.
    pub fn encode(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        positions: &wgpu::Buffer,
        velocities: &wgpu::Buffer,
        dt: f32,
    ) -> Result<u64> {
        self.cloth.runner()?;
        check_step(dt)?;
        let needed = (self.cloth.mesh().vertex_count() * self.layout.stride() * size_of::<f32>()) as u64;
        let source = wgpu::BufferUsages::COPY_SRC;
        check_buffer("positions", positions, needed, source)?;
        check_buffer("velocities", velocities, needed, source | wgpu::BufferUsages::COPY_DST)?;
        if positions == velocities {
            return Err(Error::HostBuffer { name: "velocities", problem: "is that of the positions, too".into() });
        }
        let input = FrameInput { dt, ..Default::default() };
        // What may be refused comes before anything is recorded; it is recorded again, at the cost of comparing plans.
        self.cloth.record(self.cloth.plan(dt)?, Some(self.cloth.settings.frame_budget()))?;
        let (own_positions, own_velocities) = self.own_buffers()?;
        encoder.copy_buffer_to_buffer(positions, 0, &own_positions, 0, needed);
        encoder.copy_buffer_to_buffer(velocities, 0, &own_velocities, 0, needed);
        let recorded = self.cloth.encode_step(encoder, &input)?;
        self.cloth.frame = 0;
        encoder.copy_buffer_to_buffer(&own_velocities, 0, velocities, 0, needed);
        Ok(recorded)
    }

    /// Handles of what the kernels read and write.
    fn own_buffers(&self) -> Result<(wgpu::Buffer, wgpu::Buffer)> {
        let runner = self.cloth.runner()?;
        let named = |name: &str| runner.buffer(self.cloth.fields.index(name)?).cloned();
        Ok((named("filter_positions")?, named(VELOCITIES)?))
    }

    /// Records the read-back of what the last recorded call reached. With positions, which are x + h v, strain is
    /// recomputed from them.
    ///
    /// # Errors
    /// [`Error::NotOnGpu`].
    pub fn encode_report(&self, encoder: &mut wgpu::CommandEncoder, with_positions: bool) -> Result<Pending<Snapshot>> {
        self.cloth.encode_report(encoder, with_positions)
    }
}

/// The field that goes in and out.
const VELOCITIES: &str = "filter_velocities";

/// A scene of a filter, and how many words its host has.
fn scene(mesh: Mesh, settings: &FilterSettings) -> Result<(Scene, usize)> {
    settings.check_memory()?;
    let mesh = mesh.without_forces();
    let start = mesh.positions().to_vec();
    let words = settings.layout.stride() * start.len();
    let mut scene = Scene::new("filter", mesh, start);
    settings.set(&mut scene.settings);
    Ok((scene, words))
}

fn check_step(dt: f32) -> Result<()> {
    within("dt", dt.into(), (1e-9..=1e6).contains(&dt), "in [1e-9, 1e6] s")
}

fn check_buffer(name: &'static str, buffer: &wgpu::Buffer, needed: u64, usage: wgpu::BufferUsages) -> Result<()> {
    let problem = if buffer.size() < needed {
        format!("has {} bytes, but needs {needed}", buffer.size())
    } else if !buffer.usage().contains(usage) {
        format!(
            "was made without {}",
            (usage - buffer.usage()).iter_names().map(|(name, _)| name).collect::<Vec<_>>().join(" | ")
        )
    } else {
        return Ok(());
    };
    Err(Error::HostBuffer { name, problem })
}

/// Writes vectors as the host has them.
fn write(fields: &mut Fields, name: &str, stride: usize, vectors: &[[f32; 3]]) -> Result<()> {
    for (words, vector) in fields.get_mut::<f32>(name)?.chunks_exact_mut(stride).zip(vectors) {
        words[..3].copy_from_slice(vector);
    }
    Ok(())
}
