//! [`Cloth`]: the state, its recorded step and where it runs.

mod cancel;
mod checkpoint;
mod draw;
pub(crate) mod filter;
pub(crate) mod hold;
mod input;
pub(crate) mod memory;
pub(crate) mod motion;
mod read;
mod recording;
pub mod report;
pub(crate) mod scene;
mod set_up;
pub(crate) mod settings;
pub(crate) mod stages;
mod state;
pub mod substeps;
pub mod texture;
mod user;
mod world;

pub use draw::{vertex_attribute, vertex_layout};
pub use input::{FrameInput, PinTarget};
pub use recording::FrameCost;

use std::sync::Arc;

use glam::{Vec3, Vec4};

use crate::cloth::memory::{MemoryEstimate, check_available};
use crate::cloth::report::Dispatches;
use crate::cloth::scene::Scene;
use crate::cloth::settings::Settings;
use crate::cloth::substeps::{Plan, StepBounds};
use crate::engine::cancel::Cancel;
use crate::engine::cpu;
use crate::engine::fields::{Fields, Inputs, Sizes, Spec};
use crate::engine::gpu::readback::Waiting;
use crate::engine::gpu::{Backend, Gpu, runner};
use crate::engine::program::{Phase, Program};
use crate::error::within;
use crate::error::{Error, Result};
use crate::mesh::Mesh;
use crate::mesh::topology::Topology;
use crate::mesh::windows::Windows;
use crate::solid::SolidRow;
use crate::solid::{Pose, Solid};
use crate::stage::elastic::Elastic;
use crate::stage::fields::Frame;
use crate::stage::integrate::{Stepping, TARGET};
use recording::{Recorded, Writer};
use set_up::set_up;
use stages::Stages;

/// A piece of cloth: mesh, state, settings, and the backend it runs on.
#[derive(Debug)]
pub struct Cloth {
    basis: Arc<Basis>,
    settings: Settings,
    /// The state on the CPU path. On the GPU path: what is uploaded.
    fields: Fields,
    engine: Engine,
    recorded: Recorded,
    /// Frames stepped or recorded so far.
    frame: u64,
    /// Dispatches of the last frame.
    dispatches: Dispatches,
    /// Time of the last frame on the CPU.
    times: cpu::Times,
    relocation: Option<Pose>,
    /// Vertices with an entry in `commands`.
    commanded: Vec<u32>,
    /// Whether one of them is an impulse.
    impelled: bool,
    /// Number of vertices that are held.
    held: usize,
    /// What is around pins and holds, how often it was found, and for which holds.
    windows: Windows,
    windows_found: u64,
    windows_held: Vec<u32>,
    /// Vertices whose holds the device does not know yet.
    rehold: Vec<u32>,
    /// What is around the cloth.
    solids: Vec<Solid>,
    /// The same as each was when it came.
    first_solids: Vec<Solid>,
    /// Time of frames that were too short to be simulated on their own \[s\].
    saved_time: f32,
    /// Gusts that have passed at the origin, without the whole ones.
    gust_phase: f64,
    /// Whether a frame was begun and not ended.
    unfinished: bool,
    /// Why it runs where it runs.
    reason: String,
    /// What may stop a step.
    cancel: Option<Cancel>,
}

/// Shorter frames are saved up: the strain that is left within the limit is corrected within one substep, and a substep
/// of microseconds would make that a speed.
const SHORTEST_FRAME: f32 = 1e-4;

/// What does not change.
#[derive(Debug)]
struct Basis {
    mesh: Mesh,
    topology: Topology,
    start: Vec<[f32; 3]>,
    pinned: Vec<bool>,
    step_bounds: StepBounds,
    /// Mean mass of the free vertices \[kg\].
    mean_mass: f32,
    /// Mass of light free vertices as a part of a quarter of the mean, which the corners of an even sheet have; at
    /// most 1.
    lightness: f32,
    /// Rounding step of the start positions over the shortest edge.
    resolution: f32,
    /// Smallest limit that edges have of their own, as the device knows it; infinite where none has one.
    least_limit: f32,
    /// The shortest edge \[m\].
    shortest: f32,
}

impl Basis {
    /// What an elastic solve is told of this cloth.
    fn elastic(&self, sizes: &Sizes, damping: f32) -> Elastic {
        let Self { mean_mass, lightness, step_bounds, .. } = self;
        Elastic::new(sizes.vertices(), *mean_mass, *lightness, step_bounds.explicit_step(), damping, sizes.bends())
    }
}

#[derive(Debug)]
enum Engine {
    Cpu(cpu::Runner),
    Gpu(Box<runner::Runner>),
}

impl Cloth {
    /// What a cloth would need, before any of it is allocated.
    ///
    /// # Errors
    /// [`Error::Field`] or [`Error::Shader`] for fields and kernels of a user's own.
    pub fn memory_estimate(scene: &Scene) -> Result<MemoryEstimate> {
        MemoryEstimate::new(&Sizes::of_scene(scene), &scene.settings)
    }

    /// A cloth on the CPU, with the settings of its scene.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not enough; as [`Settings::validate`]; [`Error::LengthMismatch`] or
    /// [`Error::NotFinite`] for the start positions.
    ///
    /// ```
    /// use taut::{Cloth, FrameInput, scene};
    ///
    /// let mut cloth = Cloth::on_cpu(scene::hang(16)?)?;
    /// cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
    /// let snapshot = cloth.snapshot()?;
    /// assert_eq!(snapshot.report.converged, Some(true));
    /// assert!(snapshot.report.strain.is_some_and(|strain| strain.max <= 0.01));
    /// # Ok::<(), taut::Error>(())
    /// ```
    pub fn on_cpu(scene: Scene) -> Result<Self> {
        Self::made_on_cpu(scene, 0)
    }

    /// [`Cloth::on_cpu`], or a filter's whose host has so many words.
    fn made_on_cpu(scene: Scene, filtered: usize) -> Result<Self> {
        check_available(&scene)?;
        let (basis, solids, settings, fields, recorded) = set_up(scene, filtered)?;
        let runner =
            cpu::Runner::new(&first(&basis, &settings, fields.sizes()).every_kernel(&recorded.plan)?, &fields)?;
        Ok(Self::assembled(basis, solids, settings, fields, Engine::Cpu(runner), recorded))
    }

    /// A cloth on a GPU, with the settings of its scene. Pipelines are shared with the other cloths of `gpu`.
    ///
    /// # Errors
    /// As [`Cloth::on_cpu`]; [`Error::Limit`] if the mesh is too large for the device, [`Error::Device`] if it fails.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn on_gpu(gpu: &Gpu, scene: Scene) -> Result<Self> {
        pollster::block_on(Self::on_gpu_async(gpu, scene))
    }

    /// [`Cloth::on_gpu`] as a future.
    ///
    /// # Errors
    /// As [`Cloth::on_gpu`].
    pub async fn on_gpu_async(gpu: &Gpu, scene: Scene) -> Result<Self> {
        Self::made_on_gpu(gpu, scene, 0).await
    }

    /// [`Cloth::on_gpu_async`], or a filter's whose host has so many words.
    async fn made_on_gpu(gpu: &Gpu, scene: Scene, filtered: usize) -> Result<Self> {
        Self::memory_estimate(&scene)?.check_device(&gpu.device.limits())?;
        check_available(&scene)?;
        let (basis, solids, settings, fields, recorded) = set_up(scene, filtered)?;
        let mut runner =
            runner::Runner::new(gpu, &first(&basis, &settings, fields.sizes()).every_kernel(&recorded.plan)?, &fields)
                .await?;
        runner.assemble(&recorded.program)?;
        Ok(Self::assembled(basis, solids, settings, fields, Engine::Gpu(Box::new(runner)), recorded))
    }

    /// A cloth wherever [`Backend`] finds room for it: the CPU also where `Auto` found a device that cannot hold this
    /// mesh. [`Cloth::reason`] says why it runs where it runs.
    ///
    /// # Errors
    /// As [`Backend::choose`], [`Cloth::on_gpu`] and [`Cloth::on_cpu`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn on_backend(backend: Backend, adapter: Option<&str>, scene: Scene) -> Result<Self> {
        pollster::block_on(Self::on_backend_async(backend, adapter, scene))
    }

    /// [`Cloth::on_backend`] as a future.
    ///
    /// # Errors
    /// As [`Cloth::on_backend`].
    pub async fn on_backend_async(backend: Backend, adapter: Option<&str>, scene: Scene) -> Result<Self> {
        let choice = backend.choose_async(adapter).await?;
        let mut reason = choice.reason;
        if let Some(gpu) = choice.gpu {
            match Self::on_gpu_async(&gpu, scene.clone()).await {
                Ok(cloth) => return Ok(Self { reason, ..cloth }),
                Err(error @ (Error::Limit { .. } | Error::Device { .. } | Error::DeviceLost))
                    if backend == Backend::Auto =>
                {
                    let label = gpu.adapter().map(Gpu::label).unwrap_or_default();
                    reason = format!("{label} cannot hold this cloth: {error}");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Self { reason, ..Self::on_cpu(scene)? })
    }

    /// Why the cloth runs where it runs, in one sentence.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    fn assembled(
        basis: Arc<Basis>,
        solids: Vec<Solid>,
        settings: Settings,
        fields: Fields,
        engine: Engine,
        recorded: Recorded,
    ) -> Self {
        let reason = match &engine {
            Engine::Cpu(_) => "the CPU was asked for",
            Engine::Gpu(_) => "this device was asked for",
        };
        Self {
            windows: basis.topology.windows.clone(),
            windows_found: 0,
            windows_held: Vec::new(),
            basis,
            settings,
            fields,
            engine,
            recorded,
            frame: 0,
            dispatches: Dispatches::default(),
            times: cpu::Times::default(),
            relocation: None,
            commanded: Vec::new(),
            impelled: false,
            held: 0,
            rehold: Vec::new(),
            first_solids: solids.clone(),
            solids,
            saved_time: 0.0,
            gust_phase: 0.0,
            unfinished: false,
            reason: reason.into(),
            cancel: None,
        }
    }

    /// The mesh.
    pub fn mesh(&self) -> &Mesh {
        &self.basis.mesh
    }

    /// Incidence, colors and pieces of the mesh.
    pub fn topology(&self) -> &Topology {
        &self.basis.topology
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The program of the last frame.
    pub fn program(&self) -> &Program {
        &self.recorded.program
    }

    /// Seconds that a phase of the last frame took on the CPU; 0 on a GPU.
    pub fn phase_seconds(&self, phase: Phase) -> f64 {
        self.times.seconds(phase)
    }

    /// Seconds that the last [`Cloth::step`] took by the clock of its device; `None` on the CPU, for recorded frames,
    /// and where the device is not timed ([`Gpu::timed`]).
    pub fn gpu_seconds(&self) -> Option<f64> {
        Some(self.runner().ok()?.seconds()?.whole)
    }

    /// Seconds of it that a part of the step took ([`crate::stage::phase`]). What is between two parts is none of
    /// them, so they add up to a little less than [`Cloth::gpu_seconds`].
    pub fn gpu_phase_seconds(&self, phase: Phase) -> Option<f64> {
        Some(self.runner().ok()?.seconds()?.of(phase))
    }

    /// Dispatches of the longest submission of the last [`Cloth::step`]; at most
    /// [`Settings::dispatches_per_submission`], and 0 on the CPU.
    pub fn longest_submission(&self) -> u64 {
        self.runner().map_or(0, runner::Runner::longest_submission)
    }

    /// Bytes that the kernels of the last frame read and wrote on the CPU, every field once per kernel; 0 on a GPU.
    pub fn bytes_moved(&self) -> u64 {
        self.times.bytes()
    }

    /// Time of frames that were too short to be simulated on their own \[s\]; the next frame has it, too.
    pub(crate) fn saved_time(&self) -> f32 {
        self.saved_time
    }

    /// Frames stepped or recorded so far.
    pub fn frame(&self) -> u64 {
        self.frame
    }

    /// Changes settings, the solver and its parameters among them. They hold for the next frame.
    ///
    /// The closure gets a copy of them, which is checked before anything changes. Only what has kernels that this cloth
    /// never had, another solver or a first `area_limit`, `volume` or `stretch_rate`, compiles and waits on a GPU.
    /// Another [`Settings::method`], `area_limit`, `volume`, `stretch_rate`, `stepping`, `contact_rounds`,
    /// `tangent_velocities` or `keep_previous` records the step anew; everything else costs nothing. Second-order steps
    /// begin with an Euler step, as after [`Cloth::teleport`].
    ///
    /// [`Settings::stages`] and whether there is a [`Settings::self_collision`] are what a cloth was made with and stay
    /// so, as do the fields of a solver of the user's own: one that has others than this cloth is refused.
    ///
    /// A strain limit that is ten times smaller (1 % → 0.1 %) is held at the end of the next frame already: measured in
    /// hung, draped and blown sheets of up to 71 × 71 vertices, in motion and at rest. Where that frame is not enough,
    /// the device has metered by how much and cuts the next one into more substeps; cloth that two pins stretch
    /// ([`crate::scene::patch`]) and limits a thousand times smaller take up to three frames. Frames that are over the
    /// new limit are reported so, whatever the old one was.
    ///
    /// ```
    /// use taut::{Cloth, Jacobi, Method, scene};
    ///
    /// let mut cloth = Cloth::on_cpu(scene::curtain(8)?)?;
    /// cloth.change(|settings| settings.strain_limit = 0.001)?;
    /// cloth.change(|settings| settings.method = Method::Jacobi(Jacobi { relaxation: 0.8, ..Default::default() }))?;
    /// # Ok::<(), taut::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Settings::validate`]; [`Error::Fixed`] for other stages; [`Error::Field`] for a solver whose fields this
    /// cloth does not have; on a GPU as [`Cloth::on_gpu`]. Then nothing has changed.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn change(&mut self, change: impl FnOnce(&mut Settings)) -> Result<()> {
        pollster::block_on(self.change_async(change))
    }

    /// [`Cloth::change`] as a future.
    ///
    /// # Errors
    /// As [`Cloth::change`].
    pub async fn change_async(&mut self, change: impl FnOnce(&mut Settings)) -> Result<()> {
        let mut settings = self.settings.clone();
        change(&mut settings);
        settings.validate_at(self.basis.resolution, self.basis.shortest)?;
        settings.validate_surface(&self.basis.mesh)?;
        let room = |settings: &Settings| settings.self_collision.map(|own| own.pairs_per_vertex);
        if room(&settings) != room(&self.settings) {
            return Err(Error::Fixed { field: "self_collision" });
        }
        let (wanted, made_with) = (&settings.stages, &self.settings.stages);
        if wanted.len() != made_with.len() || !wanted.iter().zip(made_with).all(|(a, b)| Arc::ptr_eq(a, b)) {
            return Err(Error::Fixed { field: "stages" });
        }
        if !recording::alike(&settings, &self.settings) {
            for spec in settings.method.solver().fields() {
                self.fields.index(spec.name)?;
            }
            let recorded = self.writer(&settings).record(self.recorded.asked, None)?;
            let every = first(&self.basis, &settings, self.fields.sizes()).every_kernel(&recorded.plan)?;
            match &mut self.engine {
                Engine::Cpu(runner) => *runner = cpu::Runner::new(&every, &self.fields)?,
                Engine::Gpu(runner) => {
                    runner.prepare(&every, &self.fields).await?;
                    runner.assemble(&recorded.program)?;
                }
            }
            self.recorded = recorded;
        }
        if settings.stepping == Stepping::Bdf2 && self.settings.stepping != Stepping::Bdf2 {
            // Euler steps keep no past that a second-order step could go on from: moving to the same place forgets it.
            self.relocation.get_or_insert_default();
        }
        let begins = settings.keep_previous && !self.settings.keep_previous;
        self.settings = settings;
        // What was kept before, if anything, is of another time.
        if begins { self.stand_still() } else { Ok(()) }
    }

    fn writer<'a>(&'a self, settings: &'a Settings) -> Writer<'a> {
        let (sizes, windows) = (self.fields.sizes(), (&self.windows, self.windows_found));
        Writer { basis: &self.basis, settings, sizes, frame: self.frame, held: self.held > 0, windows }
    }

    /// Simulates a frame. On a GPU this submits to the queue and waits for it.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::NotFinite`] or [`Error::Command`] for bad input, [`Error::StepTooLarge`],
    /// [`Error::DeviceLost`], [`Error::Device`] if the device fails otherwise, [`Error::Cancelled`] if a [`Cancel`]
    /// handle stopped it. Not reaching the limit is no error: see [`Cloth::snapshot`].
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
        let Some(cancel) = self.cancel.clone() else { return self.run_frame(input, waiting).await };
        Cancel::check(Some(&cancel))?;
        let before = self.before()?;
        let outcome = self.run_frame(input, waiting).await;
        if matches!(outcome, Err(Error::Cancelled)) {
            self.take_back(before, waiting)?;
        }
        outcome
    }

    async fn run_frame(&mut self, input: &FrameInput<'_>, waiting: Waiting) -> Result<()> {
        if !self.begin(input, None)? {
            return self.stand_still();
        }
        let (commanded, cancel) = (!self.commanded.is_empty(), self.cancel.as_ref());
        let program = &self.recorded.program;
        let (seen, executed) = match &mut self.engine {
            Engine::Cpu(runner) => {
                self.times = cpu::Times::default();
                let ran = runner.run_until(program, &mut self.fields, &mut self.times, cancel)?;
                (ran, Some(ran))
            }
            Engine::Gpu(runner) => {
                let most = self.settings.dispatches_per_submission.into();
                (runner.run(&uploads(&self.fields, commanded), most, waiting, cancel).await?, None)
            }
        };
        self.dispatches = Dispatches { seen, recorded: program.dispatch_count(), executed };
        self.end()
    }

    /// Records a frame into the caller's encoder as one compute pass; nothing is submitted, polled or waited for.
    /// Returns the number of dispatches recorded, at most as many as [`Settings::dispatch_budget`] says.
    ///
    /// Any number of frames may be recorded before one submission; each keeps its own inputs. Solids move on as frames
    /// are recorded, whether they are submitted or not.
    ///
    /// # Errors
    /// As [`Cloth::step`]; [`Error::NotOnGpu`], [`Error::Budget`] if the budget does not suffice for one iteration per
    /// substep.
    pub fn encode_step(&mut self, encoder: &mut wgpu::CommandEncoder, input: &FrameInput<'_>) -> Result<u64> {
        self.runner()?;
        let moves = self.begin(input, Some(self.settings.frame_budget()))?;
        let runner = self.runner()?;
        if !moves {
            if self.settings.keep_previous {
                runner.record_copy(encoder, "vertices", "frame_starts");
            }
            return Ok(0);
        }
        runner.record_inputs(encoder, &uploads(&self.fields, !self.commanded.is_empty()))?;
        runner.encode(encoder);
        let recorded = self.recorded.program.dispatch_count();
        self.dispatches = Dispatches { seen: recorded, recorded, executed: None };
        self.end()?;
        Ok(recorded)
    }

    /// Number of dispatches that [`Cloth::encode_step`] will record for a frame of this length.
    ///
    /// # Errors
    /// As [`Cloth::encode_step`].
    pub fn encoded_dispatches(&self, dt: f32) -> Result<u64> {
        self.runner()?;
        let Some(plan) = self.next_plan(dt)? else { return Ok(0) };
        let budget = Some(self.settings.frame_budget());
        Ok(self.writer(&self.settings).record(plan, budget)?.program.dispatch_count())
    }

    /// What a frame of this length costs, and which [`Settings::dispatch_budget`] usually holds the limit in it; on the
    /// CPU too.
    ///
    /// ```
    /// # use taut::{Cloth, scene};
    /// let mut scene = scene::hang(31)?;
    /// scene.settings.damping = 0.001;
    /// let mut cloth = Cloth::on_cpu(scene)?;
    /// let cost = cloth.frame_cost(1.0 / 60.0)?;
    /// if cloth.settings().dispatch_budget < cost.enough {
    ///     cloth.change(|settings| settings.dispatch_budget = cost.enough)?;
    /// }
    /// # Ok::<(), taut::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfRange`] or [`Error::StepTooLarge`] for the length of the frame.
    pub fn frame_cost(&self, dt: f32) -> Result<FrameCost> {
        let Some(plan) = self.next_plan(dt)? else { return Ok(FrameCost::default()) };
        self.writer(&self.settings).cost(plan)
    }

    /// The plan of a frame of this length; `None` if it would do nothing.
    fn next_plan(&self, dt: f32) -> Result<Option<Plan>> {
        check_dt(dt)?;
        let whole = self.saved_time + dt;
        if dt == 0.0 || whole < self.shortest_frame() { Ok(None) } else { self.plan(whole).map(Some) }
    }

    /// Checks the input, writes what is uploaded, records anew where needed; whether there is anything to simulate.
    fn begin(&mut self, input: &FrameInput<'_>, budget: Option<u64>) -> Result<bool> {
        check_dt(input.dt)?;
        for (index, target) in input.pin_targets.iter().enumerate() {
            let vertex = target.vertex;
            let problem = match self.basis.pinned.get(vertex as usize) {
                Some(pinned) if *pinned || self.is_held(vertex as usize) => {
                    state::check_reach("pin_targets", index, target.position, state::WITHIN_REACH)?;
                    continue;
                }
                Some(_) => "neither pinned nor held",
                None => "not a vertex",
            };
            return Err(Error::Command { field: "pin_targets", index, vertex, problem });
        }
        if input.dt == 0.0 {
            return Ok(false);
        }
        let dt = self.saved_time + input.dt;
        if dt >= self.shortest_frame() {
            // All that may be refused comes before anything is written: a refused frame leaves nothing behind.
            self.check_turns(dt)?;
            self.record(self.plan(dt)?, budget)?;
        }
        for target in input.pin_targets {
            let [x, y, z] = target.position;
            self.fields.get_mut::<[f32; 4]>("commands")?[target.vertex as usize] = [x, y, z, TARGET];
            self.commanded.push(target.vertex);
        }
        if dt < self.shortest_frame() {
            self.saved_time = dt;
            return Ok(false);
        }
        self.saved_time = 0.0;
        self.place_solids(dt)?;
        let plan = self.recorded.plan;
        // A frame that was dropped half-way left unfinished displacements: relocating to the same place clears them.
        let relocation = self.relocation.take().or(self.unfinished.then(Pose::default));
        if let Some(pose) = relocation {
            self.anchor_anew(Some(pose))?;
        }
        self.place_holds()?;
        self.unfinished = true;
        let Pose { rotation, translation } = relocation.unwrap_or_default();
        let sizes = *self.fields.sizes();
        let stages = Stages {
            settings: &self.settings,
            plan: &plan,
            elastic: self.basis.elastic(&sizes, self.settings.damping),
            gust_phase: self.gust_phase,
            shortest: self.basis.shortest,
        };
        let constrained = self.held > 0 || !self.solids.is_empty();
        stages.inputs(constrained, &sizes, &mut Inputs::new(&mut self.fields))?;
        if let Some(wind) = &self.settings.wind {
            self.gust_phase = wind.later(self.gust_phase, dt);
        }
        let settings = &self.settings;
        let limit = settings.device_limit(self.basis.resolution);
        let frame = Frame {
            gravity: settings.gravity.into(),
            dt,
            strain_limit: limit,
            stretch_min: settings.stretch_min,
            stretch_max: settings.stretch_max,
            drag: settings.drag,
            rotation: Vec4::from_array(rotation),
            translation: Vec3::from_array(translation),
            relocated: relocation.is_some().into(),
            least_substeps: plan.least,
            most_substeps: plan.most,
            commanded: match (self.commanded.is_empty(), self.impelled) {
                // A filter's pins are led on the device.
                (true, _) => sizes.filters().into(),
                (false, false) => 1,
                (false, true) => 2,
            },
            second_order: u32::from(settings.stepping == Stepping::Bdf2),
            middle_limit: settings.middle_limit(&self.basis.step_bounds, limit),
            mean_mass: self.basis.mean_mass,
            constrained: constrained.into(),
            expected_load: plan.expected_load,
            load_scale: plan.load_scale,
            load_margin: plan.load_margin,
            missed_load: plan.missed_load(),
            memory: plan.memory(),
            least_limit: limit.min(self.basis.least_limit),
            ..Frame::default()
        };
        Inputs::new(&mut self.fields).set("frame", frame)?;
        Ok(true)
    }

    /// Shorter frames are saved up; a filter's host means every one of its steps.
    fn shortest_frame(&self) -> f32 {
        if self.fields.sizes().filters() { 0.0 } else { SHORTEST_FRAME }
    }

    /// A frame in which nothing moved: it starts where it ends.
    fn stand_still(&mut self) -> Result<()> {
        match &self.engine {
            _ if !self.settings.keep_previous => Ok(()),
            Engine::Cpu(_) => self.fields.copy("vertices", "frame_starts"),
            Engine::Gpu(runner) => runner.copy("vertices", "frame_starts"),
        }
    }

    fn plan(&self, dt: f32) -> Result<Plan> {
        let bounds = self.basis.step_bounds.among(!self.solids.is_empty(), self.held > 0);
        let pins = self.basis.mesh.pins().len() + self.held;
        self.settings.plan(&bounds.with_windows(&self.windows, pins), dt)
    }

    /// Forgets the commands of the finished frame.
    fn end(&mut self) -> Result<()> {
        self.frame += 1;
        self.unfinished = false;
        for (solid, row) in self.solids.iter_mut().zip(self.fields.get::<SolidRow>("solids")?) {
            solid.pose = Pose { rotation: row.end_rotation.to_array(), translation: row.end_position.to_array() };
        }
        self.forget_commands()
    }

    fn forget_commands(&mut self) -> Result<()> {
        self.impelled = false;
        let commands = self.fields.get_mut::<[f32; 4]>("commands")?;
        for vertex in self.commanded.drain(..) {
            commands[vertex as usize] = [0.0; 4];
        }
        Ok(())
    }

    /// Records the program again if what it depends on has changed.
    fn record(&mut self, plan: Plan, budget: Option<u64>) -> Result<()> {
        let writer = self.writer(&self.settings);
        if self.recorded.made_for == writer.key(&plan, budget) {
            self.recorded.follow(plan);
            return Ok(());
        }
        let recorded = writer.record(plan, budget)?;
        if let Engine::Gpu(runner) = &mut self.engine {
            runner.assemble(&recorded.program)?;
        }
        self.recorded = recorded;
        Ok(())
    }

    /// An [`Error::DeviceLost`] where the cloth is on a device that does not work any more.
    fn check_device(&self) -> Result<()> {
        match &self.engine {
            Engine::Gpu(runner) => runner::check_device(runner.gpu().device()),
            Engine::Cpu(_) => Ok(()),
        }
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

    /// The fields of a cloth on the CPU: its whole state, for tests and tools.
    pub fn fields(&self) -> Option<&Fields> {
        matches!(self.engine, Engine::Cpu(_)).then_some(&self.fields)
    }
}

fn check_dt(dt: f32) -> Result<()> {
    // Shorter than a nanosecond, products of steps leave the range of f32.
    within("dt", dt.into(), dt == 0.0 || (1e-9..=1e6).contains(&dt), "0 or in [1e-9, 1e6] s")
}

/// What a frame uploads: what stages are told, and the commands and solids if there are any.
fn uploads(fields: &Fields, commanded: bool) -> Vec<(&'static str, &[u8])> {
    let wanted = |number: usize, spec: &Spec| match spec.name {
        "commands" => commanded,
        "solids" => !fields.words(number).is_empty(),
        _ => spec.input,
    };
    let specs = fields.specs().iter().enumerate().filter(|(number, spec)| wanted(*number, spec));
    specs.map(|(number, spec)| (spec.name, bytemuck::cast_slice(fields.words(number)))).collect()
}

/// Records for a cloth that has not moved.
fn first<'a>(basis: &'a Basis, settings: &'a Settings, sizes: &'a Sizes) -> Writer<'a> {
    Writer { basis, settings, sizes, frame: 0, held: false, windows: (&basis.topology.windows, 0) }
}
