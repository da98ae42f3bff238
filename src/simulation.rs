//! [`Cloth`]: the state, its recorded step and where it runs.

use std::sync::Arc;

use bytemuck::bytes_of;
use glam::{UVec2, Vec3, Vec4};

use crate::cpu;
use crate::error::{Error, Result};
use crate::fields::{Fields, Sizes, Spec};
use crate::gpu::readback::{Decode, Waiting};
use crate::gpu::{Gpu, Pending, runner};
use crate::mesh::Mesh;
use crate::params::{Frame, Meters, Vertex};
use crate::program::{Program, Recorder};
use crate::report::{Report, Snapshot, Strain, positions};
use crate::scene::Scene;
use crate::settings::Settings;
use crate::solver::{Method, within};
use crate::stage;
use crate::topology::{Incidence, Topology};

/// What the caller says about one frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameInput<'a> {
    /// Length of the frame \[s\]; 0 does nothing.
    pub dt: f32,
    /// Where pinned vertices shall be at the end of the frame; substeps go there in equal parts. Pins that are not
    /// named stay where they are.
    pub pin_targets: &'a [PinTarget],
}

/// Where a pinned vertex shall be at the end of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PinTarget {
    /// The vertex, one of the mesh's pins.
    pub vertex: u32,
    /// Its position \[m\].
    pub position: [f32; 3],
}

/// A rigid motion that [`Cloth::teleport`] applies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relocation {
    /// Rotation about the origin as a unit quaternion x, y, z, w.
    pub rotation: [f32; 4],
    /// Translation after the rotation \[m\].
    pub translation: [f32; 3],
}

impl Default for Relocation {
    fn default() -> Self {
        Self { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0; 3] }
    }
}

/// Attribute layout of [`Cloth::position_buffer`] and [`Cloth::normal_buffer`]: `Float32x3` at a stride of 16 bytes.
///
/// ```
/// let position = taut::vertex_layout(&[taut::vertex_attribute(0)]).array_stride;
/// assert_eq!(position, 16);
/// ```
pub const fn vertex_layout(attributes: &[wgpu::VertexAttribute]) -> wgpu::VertexBufferLayout<'_> {
    wgpu::VertexBufferLayout { array_stride: 16, step_mode: wgpu::VertexStepMode::Vertex, attributes }
}

/// The one attribute of a position or normal buffer, at a shader location of the caller's choice.
pub const fn vertex_attribute(shader_location: u32) -> wgpu::VertexAttribute {
    wgpu::VertexAttribute { format: wgpu::VertexFormat::Float32x3, offset: 0, shader_location }
}

/// A piece of cloth: mesh, state, settings, and the backend it runs on.
#[derive(Debug)]
pub struct Cloth {
    shape: Arc<Shape>,
    settings: Settings,
    /// The state on the CPU path. On the GPU path: what is uploaded.
    fields: Fields,
    engine: Engine,
    recorded: Recorded,
    /// Frames stepped or recorded so far.
    frame: u64,
    /// Dispatches of the last frame.
    dispatches: u64,
    relocation: Option<Relocation>,
    /// Vertices with an entry in `commands`.
    commanded: Vec<u32>,
}

/// What does not change.
#[derive(Debug)]
struct Shape {
    mesh: Mesh,
    topology: Topology,
    start: Vec<[f32; 3]>,
    sizes: Sizes,
    pinned: Vec<bool>,
}

#[derive(Debug)]
enum Engine {
    Cpu(cpu::Runner),
    Gpu(Box<runner::Runner>),
}

/// The current recording and what it was made for.
#[derive(Debug)]
struct Recorded {
    substeps: u32,
    frame: u64,
    budget: Option<u64>,
    program: Program,
}

impl Cloth {
    /// A cloth on the CPU.
    ///
    /// # Errors
    /// As [`Settings::validate`]; [`Error::LengthMismatch`] or [`Error::NotFinite`] for the start positions.
    ///
    /// ```
    /// use taut::{Cloth, FrameInput, Settings, scene};
    ///
    /// let mut cloth = Cloth::on_cpu(scene::hang(16)?, Settings::default())?;
    /// cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
    /// let snapshot = cloth.snapshot()?;
    /// assert_eq!(snapshot.report.converged, Some(true));
    /// assert!(snapshot.report.strain.is_some_and(|strain| strain.max <= 0.01));
    /// # Ok::<(), taut::Error>(())
    /// ```
    pub fn on_cpu(scene: Scene, settings: Settings) -> Result<Self> {
        let (shape, fields, recorded) = set_up(scene, &settings)?;
        let runner = cpu::Runner::new(&recorded.program, &fields)?;
        Ok(Self::assembled(shape, settings, fields, Engine::Cpu(runner), recorded))
    }

    /// A cloth on a GPU. Pipelines are shared with the other cloths of `gpu`.
    ///
    /// # Errors
    /// As [`Cloth::on_cpu`]; [`Error::Limit`] if the mesh is too large for the device, [`Error::Device`] if it fails.
    pub async fn on_gpu(gpu: &Gpu, scene: Scene, settings: Settings) -> Result<Self> {
        let (shape, fields, recorded) = set_up(scene, &settings)?;
        let runner = runner::Runner::new(gpu, &recorded.program, &fields).await?;
        Ok(Self::assembled(shape, settings, fields, Engine::Gpu(Box::new(runner)), recorded))
    }

    /// [`Cloth::on_gpu`] for callers that are not async.
    ///
    /// # Errors
    /// As [`Cloth::on_gpu`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn on_gpu_blocking(gpu: &Gpu, scene: Scene, settings: Settings) -> Result<Self> {
        pollster::block_on(Self::on_gpu(gpu, scene, settings))
    }

    fn assembled(shape: Arc<Shape>, settings: Settings, fields: Fields, engine: Engine, recorded: Recorded) -> Self {
        let (relocation, commanded) = (None, Vec::new());
        Self { shape, settings, fields, engine, recorded, frame: 0, dispatches: 0, relocation, commanded }
    }

    /// The mesh.
    pub fn mesh(&self) -> &Mesh {
        &self.shape.mesh
    }

    /// Incidence, colors and pieces of the mesh.
    pub fn topology(&self) -> &Topology {
        &self.shape.topology
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The program of the last frame.
    pub fn program(&self) -> &Program {
        &self.recorded.program
    }

    /// Frames stepped or recorded so far.
    pub fn frame(&self) -> u64 {
        self.frame
    }

    /// Changes settings other than the solver and the stages, which [`Cloth::set_method`] exchanges.
    ///
    /// # Errors
    /// As [`Settings::validate`]; then nothing has changed.
    pub fn change(&mut self, change: impl FnOnce(&mut Live)) -> Result<()> {
        let mut live = Live::of(&self.settings);
        let before = live.clone();
        change(&mut live);
        live.apply(&mut self.settings);
        let outcome = self.settings.validate(&self.shape.mesh, &self.shape.start);
        if outcome.is_err() {
            before.apply(&mut self.settings);
        }
        outcome
    }

    /// Exchanges the solver; compiles its kernels on a GPU.
    ///
    /// # Errors
    /// As [`Settings::validate`] and, on a GPU, as [`Cloth::on_gpu`]; then nothing has changed.
    pub async fn set_method(&mut self, method: Method) -> Result<()> {
        method.solver().validate()?;
        let before = std::mem::replace(&mut self.settings.method, method);
        let outcome = self.prepare().await;
        if outcome.is_err() {
            self.settings.method = before;
            self.prepare().await?;
        }
        outcome
    }

    async fn prepare(&mut self) -> Result<()> {
        let Recorded { substeps, frame, budget, .. } = self.recorded;
        self.recorded = record(&self.shape, &self.settings, substeps, frame, budget)?;
        match &mut self.engine {
            Engine::Cpu(runner) => *runner = cpu::Runner::new(&self.recorded.program, &self.fields)?,
            Engine::Gpu(runner) => runner.prepare(&self.recorded.program, &self.fields).await?,
        }
        Ok(())
    }

    /// Simulates a frame. On a GPU this submits to the queue and waits for it.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::NotFinite`] or [`Error::Command`] for bad input, [`Error::StepTooLarge`],
    /// [`Error::Device`] if the device fails. Not reaching the limit is no error: see [`Cloth::report`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn step(&mut self, input: &FrameInput<'_>) -> Result<()> {
        pollster::block_on(self.step_with(input, Waiting::Block))
    }

    /// [`Cloth::step`] for a browser, or where another thread polls the device.
    ///
    /// # Errors
    /// As [`Cloth::step`].
    pub async fn step_async(&mut self, input: &FrameInput<'_>) -> Result<()> {
        self.step_with(input, Waiting::Await).await
    }

    async fn step_with(&mut self, input: &FrameInput<'_>, waiting: Waiting) -> Result<()> {
        let Some(frame) = self.begin(input, None)? else { return Ok(()) };
        let commands = self.fields.index("commands")?;
        self.dispatches = match &mut self.engine {
            Engine::Cpu(runner) => {
                self.fields.get_mut::<Frame>("frame")?[0] = frame;
                runner.run(&self.recorded.program, &mut self.fields)?
            }
            Engine::Gpu(runner) => {
                let most = self.settings.dispatches_per_submission.into();
                let inputs = inputs(&frame, self.fields.words(commands));
                runner.run(&inputs, most, waiting).await?
            }
        };
        self.end()
    }

    /// Records a frame into the caller's encoder as one compute pass; nothing is submitted, polled or waited for.
    /// Returns the number of dispatches recorded, at most [`Settings::dispatch_budget`].
    ///
    /// Any number of frames may be recorded before one submission; each keeps its own inputs.
    ///
    /// # Errors
    /// As [`Cloth::step`]; [`Error::NotOnGpu`], [`Error::Budget`] if the budget does not suffice for one iteration per
    /// substep.
    pub fn encode_step(&mut self, encoder: &mut wgpu::CommandEncoder, input: &FrameInput<'_>) -> Result<u64> {
        self.runner()?;
        let Some(frame) = self.begin(input, Some(self.settings.dispatch_budget))? else { return Ok(0) };
        let commands = self.fields.index("commands")?;
        let runner = self.runner()?;
        runner.record_inputs(encoder, &inputs(&frame, self.fields.words(commands)))?;
        runner.encode(encoder);
        self.dispatches = self.recorded.program.dispatch_count();
        self.end()?;
        Ok(self.dispatches)
    }

    /// Number of dispatches that [`Cloth::encode_step`] will record for a frame of this length.
    ///
    /// # Errors
    /// As [`Cloth::encode_step`].
    pub fn encoded_dispatches(&self, dt: f32) -> Result<u64> {
        self.runner()?;
        check_dt(dt)?;
        if dt == 0.0 {
            return Ok(0);
        }
        let substeps = self.settings.substeps.count(&self.shape.mesh, self.settings.gravity, dt)?;
        let budget = Some(self.settings.dispatch_budget);
        Ok(record(&self.shape, &self.settings, substeps, self.frame, budget)?.program.dispatch_count())
    }

    /// Checks the input, writes `commands`, records anew where needed; `None` for a frame of length 0.
    fn begin(&mut self, input: &FrameInput<'_>, budget: Option<u64>) -> Result<Option<Frame>> {
        check_dt(input.dt)?;
        for (index, target) in input.pin_targets.iter().enumerate() {
            let vertex = target.vertex;
            let problem = match self.shape.pinned.get(vertex as usize) {
                Some(true) if target.position.iter().all(|x| x.abs() <= 1e18) => continue,
                Some(true) => return Err(Error::NotFinite { field: "pin_targets", index }),
                Some(false) => "not pinned",
                None => "not a vertex",
            };
            return Err(Error::Command { field: "pin_targets", index, vertex, problem });
        }
        if input.dt == 0.0 {
            return Ok(None);
        }
        let substeps = self.settings.substeps.count(&self.shape.mesh, self.settings.gravity, input.dt)?;
        self.record(substeps, budget)?;
        for target in input.pin_targets {
            let [x, y, z] = target.position;
            self.fields.get_mut::<[f32; 4]>("commands")?[target.vertex as usize] = [x, y, z, 1.0];
            self.commanded.push(target.vertex);
        }
        let relocation = self.relocation.take();
        let Relocation { rotation, translation } = relocation.unwrap_or_default();
        let settings = &self.settings;
        Ok(Some(Frame {
            gravity: settings.gravity.into(),
            dt: input.dt,
            strain_limit: settings.device_limit(&self.shape.mesh, &self.shape.start),
            stretch_min: settings.stretch_min,
            stretch_max: settings.stretch_max,
            drag: settings.drag,
            live: settings.method.solver().live().into(),
            rotation: Vec4::from_array(rotation),
            translation: Vec3::from_array(translation),
            relocated: relocation.is_some().into(),
            substeps,
            commanded: u32::from(!self.commanded.is_empty()),
            padding: UVec2::ZERO,
        }))
    }

    /// Forgets the commands of the finished frame.
    fn end(&mut self) -> Result<()> {
        self.frame += 1;
        let commands = self.fields.get_mut::<[f32; 4]>("commands")?;
        for vertex in self.commanded.drain(..) {
            commands[vertex as usize] = [0.0; 4];
        }
        Ok(())
    }

    /// Records the program again if what it depends on has changed.
    fn record(&mut self, substeps: u32, budget: Option<u64>) -> Result<()> {
        let varies = self.settings.method.solver().varies() && self.recorded.frame != self.frame;
        if self.recorded.substeps == substeps && self.recorded.budget == budget && !varies {
            return Ok(());
        }
        self.recorded = record(&self.shape, &self.settings, substeps, self.frame, budget)?;
        if let Engine::Gpu(runner) = &mut self.engine {
            runner.assemble(&self.recorded.program)?;
        }
        Ok(())
    }

    fn runner(&self) -> Result<&runner::Runner> {
        match &self.engine {
            Engine::Gpu(runner) => Ok(runner),
            Engine::Cpu(_) => Err(Error::NotOnGpu { what: "command encoder" }),
        }
    }

    /// The device this cloth runs on; `None` on the CPU.
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.engine {
            Engine::Gpu(runner) => Some(runner.gpu()),
            Engine::Cpu(_) => None,
        }
    }

    /// Positions as a vertex buffer (`STORAGE | VERTEX | COPY_SRC`): 16 bytes per vertex, drawn as
    /// [`vertex_layout`] says. It always holds the last good state. `None` on the CPU.
    pub fn position_buffer(&self) -> Option<&wgpu::Buffer> {
        self.runner().ok()?.named("vertices")
    }

    /// Unit normals as a vertex buffer, laid out like the positions. `None` on the CPU.
    pub fn normal_buffer(&self) -> Option<&wgpu::Buffer> {
        self.runner().ok()?.named("normals")
    }

    /// Corners of the triangles to draw, `Uint32`, and their number. `None` on the CPU.
    pub fn index_buffer(&self) -> Option<(&wgpu::Buffer, u32)> {
        Some((self.runner().ok()?.named("triangles")?, self.shape.sizes.triangle_corners as u32))
    }

    /// The fields of a cloth on the CPU: its whole state, for tests and tools.
    pub fn fields(&self) -> Option<&Fields> {
        matches!(self.engine, Engine::Cpu(_)).then_some(&self.fields)
    }

    /// Back to the start, at rest.
    ///
    /// # Errors
    /// As [`Cloth::set_state`].
    pub fn reset(&mut self) -> Result<()> {
        let shape = self.shape.clone();
        self.frame = 0;
        self.set_state(&shape.start, &vec![[0.0; 3]; shape.start.len()])
    }

    /// Sets positions \[m\] and velocities \[m/s\] of all vertices; pinned ones too. On a GPU they take effect with the
    /// next submission, before anything recorded but not yet submitted.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] or [`Error::NotFinite`].
    pub fn set_state(&mut self, positions: &[[f32; 3]], velocities: &[[f32; 3]]) -> Result<()> {
        check_vectors("positions", positions, self.shape.sizes.vertices)?;
        check_vectors("velocities", velocities, self.shape.sizes.vertices)?;
        self.relocation = None;
        write_state(&mut self.fields, &self.shape.mesh, positions, velocities)?;
        if let Engine::Gpu(runner) = &self.engine {
            for name in ["vertices", "velocities", "displacements", "starts", "normals"] {
                runner.write(&self.fields, name)?;
            }
        }
        Ok(())
    }

    /// Turns and moves the whole cloth at the start of the next frame; velocities are turned with it, so nothing whips.
    /// A second call before that frame replaces the first.
    ///
    /// # Errors
    /// [`Error::NotFinite`], or [`Error::OutOfRange`] if the quaternion is not of unit length (within 1 %).
    pub fn teleport(&mut self, relocation: Relocation) -> Result<()> {
        let rotation = Vec4::from_array(relocation.rotation);
        if !rotation.is_finite() {
            return Err(Error::NotFinite { field: "rotation", index: 0 });
        }
        if !relocation.translation.iter().all(|x| x.abs() <= 1e18) {
            return Err(Error::NotFinite { field: "translation", index: 0 });
        }
        let length = rotation.length();
        within("rotation", length.into(), (length - 1.0).abs() <= 0.01, "of unit length")?;
        self.relocation = Some(Relocation { rotation: (rotation / length).to_array(), ..relocation });
        Ok(())
    }

    /// Gives a free vertex an impulse \[N·s\] at the start of the next frame; several add up.
    ///
    /// # Errors
    /// [`Error::Command`] for a pinned or unknown vertex, [`Error::NotFinite`].
    pub fn add_impulse(&mut self, vertex: u32, impulse: [f32; 3]) -> Result<()> {
        let problem = match self.shape.pinned.get(vertex as usize) {
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
        for (sum, part) in command.iter_mut().zip(impulse) {
            *sum += part;
        }
        command[3] = 1.0;
        self.commanded.push(vertex);
        Ok(())
    }

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

    async fn snapshot_with(&self, waiting: Waiting) -> Result<Snapshot> {
        match &self.engine {
            Engine::Cpu(_) => {
                let vertices = self.fields.get::<Vertex>("vertices")?;
                let meters = self.fields.get::<Meters>("meters")?;
                let report = Report::new(&meters[0], self.fields.get::<u32>("faults")?[0], self.dispatches);
                Ok(self.judge().snapshot(report, positions(vertices)))
            }
            Engine::Gpu(runner) => {
                let bytes = runner.read(&["meters", "faults", "vertices"], waiting).await?;
                self.judge().decode(&bytes, true)
            }
        }
    }

    /// Records the read-back of a report, with positions (and then the recomputed strain) or without. It arrives after
    /// the encoder was submitted and the device polled.
    ///
    /// # Errors
    /// [`Error::NotOnGpu`].
    pub fn encode_report(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        with_positions: bool,
    ) -> Result<Pending<Snapshot>> {
        let names: &[&str] = if with_positions { &["meters", "faults", "vertices"] } else { &["meters", "faults"] };
        let staging = self.runner()?.record_read(encoder, names)?;
        let judge = self.judge();
        let decode = Decode(Box::new(move |bytes: &[u8]| judge.decode(bytes, with_positions)));
        Ok(Pending::new(staging, decode))
    }

    fn judge(&self) -> Judge {
        Judge {
            shape: self.shape.clone(),
            band: [self.settings.stretch_min, self.settings.stretch_max],
            limit: self.settings.strain_limit,
            dispatches: self.dispatches,
        }
    }

    /// Velocities of all vertices \[m/s\]. Waits for the GPU.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn velocities(&self) -> Result<Vec<[f32; 3]>> {
        self.vectors("velocities")
    }

    /// Force of the cloth on each pin \[N\], in the order of [`Mesh::pins`]: the mean over the last frame of what edges
    /// and springs pull, and the pinned vertex's own weight. A support must supply the opposite. Waits for the GPU.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn pin_forces(&self) -> Result<Vec<[f32; 3]>> {
        let reactions = self.vectors("reactions")?;
        let masses = self.shape.mesh.masses();
        let force = |pin: &u32| {
            let own = Vec3::from(self.settings.gravity) * masses[*pin as usize];
            (Vec3::from(reactions[*pin as usize]) + own).to_array()
        };
        Ok(self.shape.mesh.pins().iter().map(force).collect())
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn vectors(&self, name: &str) -> Result<Vec<[f32; 3]>> {
        let padded: Vec<[f32; 4]> = match &self.engine {
            Engine::Cpu(_) => self.fields.get::<[f32; 4]>(name)?.to_vec(),
            Engine::Gpu(runner) => {
                bytemuck::pod_collect_to_vec(&pollster::block_on(runner.read(&[name], Waiting::Block))?)
            }
        };
        Ok(padded.iter().take(self.shape.sizes.vertices).map(|[x, y, z, _]| [*x, *y, *z]).collect())
    }
}

/// Turns what was read back into a report.
#[derive(Debug)]
struct Judge {
    shape: Arc<Shape>,
    band: [f32; 2],
    limit: f32,
    dispatches: u64,
}

impl Judge {
    fn snapshot(&self, report: Report, positions: Vec<[f32; 3]>) -> Snapshot {
        let strain = Strain::measure(&self.shape.mesh, &self.shape.topology, self.band, self.limit, &positions);
        Snapshot { report: report.with_strain(strain, self.limit), positions }
    }

    /// Fields in the order meters, faults, vertices, each padded to 16 bytes.
    fn decode(&self, bytes: &[u8], with_positions: bool) -> Result<Snapshot> {
        let short = || Error::Device { message: "a read-back is shorter than what was copied".into() };
        let (meters, rest) = bytes.split_at_checked(size_of::<Meters>()).ok_or_else(short)?;
        let (faults, vertices) = rest.split_at_checked(16).ok_or_else(short)?;
        let meters: Meters = bytemuck::pod_read_unaligned(meters);
        let faults: u32 = bytemuck::pod_read_unaligned(&faults[..4]);
        let report = Report::new(&meters, faults, self.dispatches);
        if !with_positions {
            return Ok(Snapshot { positions: Vec::new(), report });
        }
        let vertices: Vec<Vertex> = bytemuck::pod_collect_to_vec(vertices);
        let vertices = vertices.get(..self.shape.sizes.vertices).ok_or_else(short)?;
        Ok(self.snapshot(report, positions(vertices)))
    }
}

/// Settings that [`Cloth::change`] may slide from frame to frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Live {
    /// See [`Settings::strain_limit`].
    pub strain_limit: f32,
    /// See [`Settings::stretch_min`].
    pub stretch_min: f32,
    /// See [`Settings::stretch_max`].
    pub stretch_max: f32,
    /// See [`Settings::gravity`].
    pub gravity: [f32; 3],
    /// See [`Settings::drag`].
    pub drag: f32,
    /// See [`Settings::substeps`].
    pub substeps: crate::substeps::Substeps,
    /// See [`Settings::dispatch_budget`].
    pub dispatch_budget: u64,
}

impl Live {
    fn of(settings: &Settings) -> Self {
        Self {
            strain_limit: settings.strain_limit,
            stretch_min: settings.stretch_min,
            stretch_max: settings.stretch_max,
            gravity: settings.gravity,
            drag: settings.drag,
            substeps: settings.substeps,
            dispatch_budget: settings.dispatch_budget,
        }
    }

    fn apply(self, settings: &mut Settings) {
        settings.strain_limit = self.strain_limit;
        settings.stretch_min = self.stretch_min;
        settings.stretch_max = self.stretch_max;
        settings.gravity = self.gravity;
        settings.drag = self.drag;
        settings.substeps = self.substeps;
        settings.dispatch_budget = self.dispatch_budget;
    }
}

fn check_dt(dt: f32) -> Result<()> {
    within("dt", dt.into(), (0.0..=1e6).contains(&dt), "in [0, 1e6] s")
}

fn check_vectors(field: &'static str, vectors: &[[f32; 3]], expected: usize) -> Result<()> {
    if vectors.len() != expected {
        return Err(Error::LengthMismatch { field, expected, found: vectors.len() });
    }
    match vectors.iter().position(|vector| !vector.iter().all(|x| x.abs() <= 1e18)) {
        Some(index) => Err(Error::NotFinite { field, index }),
        None => Ok(()),
    }
}

/// What a frame uploads: the frame itself, and the commands if there are any.
fn inputs<'a>(frame: &'a Frame, commands: &'a [u32]) -> Vec<(&'static str, &'a [u8])> {
    let mut inputs: Vec<(&'static str, &[u8])> = vec![("frame", bytes_of(frame))];
    if frame.commanded != 0 {
        inputs.push(("commands", bytemuck::cast_slice(commands)));
    }
    inputs
}

fn record(shape: &Shape, settings: &Settings, substeps: u32, frame: u64, budget: Option<u64>) -> Result<Recorded> {
    let mut recorder = Recorder::new(&shape.sizes, &shape.topology.coloring.ranges, frame);
    stage::record_frame(&mut recorder, substeps, &settings.stages, settings.method.solver());
    let mut program = recorder.finish()?;
    if let Some(budget) = budget {
        let needed = program.fit(budget);
        if needed > budget {
            return Err(Error::Budget { budget, needed });
        }
    }
    Ok(Recorded { substeps, frame, budget, program })
}

/// Validates everything and fills the fields; the first recording is for one substep.
fn set_up(scene: Scene, settings: &Settings) -> Result<(Arc<Shape>, Fields, Recorded)> {
    let Scene { mesh, start, .. } = scene;
    check_vectors("start", &start, mesh.vertex_count())?;
    settings.validate(&mesh, &start)?;
    let topology = Topology::new(&mesh);
    let triangles: Vec<u32> = mesh.triangles().into_iter().flatten().collect();
    let triangle_incidence = Incidence::of_triangles(mesh.vertex_count(), &triangles);
    let sizes = Sizes {
        vertices: mesh.vertex_count(),
        edges: mesh.edge_count(),
        springs: mesh.springs().len(),
        edge_incidence: topology.edge_incidence.words().len(),
        spring_incidence: topology.spring_incidence.words().len(),
        triangle_corners: triangles.len(),
        triangle_incidence: triangle_incidence.words().len(),
    };
    let extra: Vec<Spec> = settings.stages.iter().flat_map(|stage| stage.fields()).collect();
    let mut fields = Fields::new(sizes, &extra)?;
    fields.get_mut("edges")?.copy_from_slice(mesh.edges());
    fields.get_mut("springs")?.copy_from_slice(mesh.springs());
    fields.get_mut::<u32>("edge_incidence")?.copy_from_slice(topology.edge_incidence.words());
    fields.get_mut::<u32>("spring_incidence")?.copy_from_slice(topology.spring_incidence.words());
    fields.get_mut::<u32>("colored_edges")?.copy_from_slice(&topology.coloring.colored_edges);
    fields.get_mut::<u32>("triangles")?.copy_from_slice(&triangles);
    fields.get_mut::<u32>("triangle_incidence")?.copy_from_slice(triangle_incidence.words());
    write_state(&mut fields, &mesh, &start, &vec![[0.0; 3]; start.len()])?;
    let mut pinned = vec![false; mesh.vertex_count()];
    for pin in mesh.pins() {
        pinned[*pin as usize] = true;
    }
    let shape = Arc::new(Shape { mesh, topology, start, sizes, pinned });
    let recorded = record(&shape, settings, 1, 0, None)?;
    Ok((shape, fields, recorded))
}

/// Fills the fields a step starts from, and the normals that a renderer draws before the first.
fn write_state(fields: &mut Fields, mesh: &Mesh, positions: &[[f32; 3]], velocities: &[[f32; 3]]) -> Result<()> {
    let vertices: Vec<Vertex> = positions
        .iter()
        .zip(mesh.inverse_masses())
        .map(|(position, inverse_mass)| Vertex { position: (*position).into(), inverse_mass })
        .collect();
    fields.get_mut("vertices")?.copy_from_slice(&vertices);
    let padded = |vectors: &[[f32; 3]]| vectors.iter().map(|[x, y, z]| [*x, *y, *z, 0.0]).collect::<Vec<[f32; 4]>>();
    fields.get_mut("starts")?.copy_from_slice(&padded(positions));
    fields.get_mut("velocities")?.copy_from_slice(&padded(velocities));
    fields.get_mut::<[f32; 4]>("displacements")?.fill([0.0; 4]);
    let mut recorder = Recorder::new(fields.sizes(), &[], 0);
    stage::normals::record(&mut recorder);
    let program = recorder.finish()?;
    let runner = cpu::Runner::new(&program, fields)?;
    let guard = std::mem::replace(&mut fields.get_mut::<u32>("guards")?[0], 1);
    let outcome = runner.run(&program, fields);
    fields.get_mut::<u32>("guards")?[0] = guard;
    outcome.map(|_| ())
}
