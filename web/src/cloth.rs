//! The class `Cloth`.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use js_sys::{Array, Float32Array, Object, Promise, Uint32Array};
use taut::mesh::surface::Surface;
use taut::render::{Camera, Studio};
use taut::{Backend, Error, FrameInput, Gpu, Hold, Pending, Scene, Snapshot};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

use crate::hand::Hand;
use crate::settings::{SETTINGS, STUFF, backend, changes, check_names, count, stuff, text};
use crate::{report, settings, thrown};

/// Frames that may be under way: while one is computed the next is recorded, and a third waits.
const FLIGHT: usize = 3;
/// Reports that are kept for `reports`, where nobody asks for them.
const KEPT: usize = 1000;
/// Vertices per side where nobody says how many.
const SIZE: u32 = 32;
/// Dispatches of a frame at most: what browsers encode within a frame.
const MOST_DISPATCHES: u64 = 4000;
/// Length of a frame where nothing else is said \[s\].
const FRAME: f32 = 1.0 / 60.0;

thread_local! {
    /// What is being done that takes long, and the device whose kernels are compiled.
    static LOADING: RefCell<(&'static str, Option<Gpu>)> = const { RefCell::new(("", None)) };
    /// The device that was opened last, and for whom: the next cloth shares its kernels.
    static OPENED: RefCell<Option<(Backend, Place)>> = const { RefCell::new(None) };
}

/// Where cloth runs.
#[derive(Clone, Debug)]
struct Place {
    /// `None` for the CPU.
    gpu: Option<Gpu>,
    /// Why.
    reason: String,
    /// Whether the browser took the device away.
    lost: Arc<AtomicBool>,
}

impl Place {
    async fn choose(backend: Backend) -> taut::Result<Self> {
        let opened = OPENED.with_borrow(Clone::clone);
        if let Some((_, place)) = opened.filter(|(taken, place)| *taken == backend && !place.is_lost()) {
            return Ok(place);
        }
        let choice = backend.choose_async(None).await?;
        let place = Self { gpu: choice.gpu, reason: choice.reason, lost: Arc::default() };
        if let Some(gpu) = &place.gpu {
            let lost = place.lost.clone();
            gpu.device().set_device_lost_callback(move |_, _| lost.store(true, Ordering::Relaxed));
            OPENED.set(Some((backend, place.clone())));
        }
        Ok(place)
    }

    fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }
}

/// What `Cloth.open` is doing, in a few words; nothing where nothing is being opened.
#[wasm_bindgen]
pub fn loading() -> String {
    LOADING.with_borrow(|(what, gpu)| match gpu {
        Some(gpu) => format!("{what}, {} so far", gpu.pipeline_count()),
        None => (*what).to_owned(),
    })
}

fn load(what: &'static str, gpu: Option<&Gpu>) {
    LOADING.set((what, gpu.cloned()));
}

#[wasm_bindgen]
extern "C" {
    /// Milliseconds, in pages and workers alike.
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn milliseconds() -> f64;
}

/// A cloth. Frames are recorded by `step`; what they reached comes later, without anybody waiting: `report`,
/// `positions`.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Cloth {
    state: Rc<RefCell<State>>,
}

/// A report that is under way.
#[derive(Debug)]
struct Flight {
    pending: Pending<Snapshot>,
    run: u32,
    frame: u64,
    begun: f64,
}

/// What was seen last.
#[derive(Debug, Default)]
struct Seen {
    frame: u64,
    positions: Vec<[f32; 3]>,
    /// By how much it moved since what was seen before \[m/s\].
    velocities: Vec<[f32; 3]>,
    report: Option<Object>,
}

#[derive(Debug)]
pub(crate) struct State {
    /// `None` while its settings are being changed.
    cloth: Option<taut::Cloth>,
    /// As it was opened, with the settings that it has now.
    scene: Scene,
    triangles: Vec<[u32; 3]>,
    /// The space that it takes up: that of the scene, whatever is changed later.
    studio: Studio,
    place: Place,
    /// How often the scene began anew: what a frame from before reached is of no interest any more.
    run: u32,
    /// Frames since the start of the scene, and simulated time \[s\].
    frame: u64,
    time: f64,
    dt: f32,
    /// Frames whose reports are under way.
    flight: VecDeque<Flight>,
    /// How many wait for the first of them: until it is there nobody looks at the others, so that they arrive in order.
    waiting: u32,
    seen: Seen,
    /// Reports that nobody asked for yet.
    news: VecDeque<Object>,
    hand: Option<Hand>,
    /// Whether the hand let go while settings were being changed.
    lets_go: bool,
}

/// The outcome of a future that waits for nothing, as all do on the CPU.
fn at_once<T>(future: impl Future<Output = taut::Result<T>>) -> taut::Result<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(Error::Device { message: "the CPU waits for nothing".into() }),
    }
}

#[wasm_bindgen]
impl Cloth {
    /// Makes a cloth of a built-in scene. A GPU compiles its kernels first, which takes seconds the first time:
    /// `loading` says how far it is.
    #[wasm_bindgen(unchecked_return_type = "Promise<Cloth>")]
    pub fn open(#[wasm_bindgen(unchecked_param_type = "Options")] options: JsValue) -> Result<Promise, JsValue> {
        check_names(&options, &[&["scene", "size", "backend"], &SETTINGS[..], &STUFF].concat())?;
        let name = text(&options, "scene")?.ok_or_else(|| thrown("options have no scene"))?;
        let size = count(&options, "size")?.unwrap_or(SIZE);
        let place = backend(text(&options, "backend")?.as_deref())?;
        let (change, weave) = (changes(&options)?, stuff(&options)?);
        Ok(future_to_promise(async move {
            load("making the mesh", None);
            let opened = async {
                let mut scene = Scene::named(&name, size)?;
                weave(&mut scene)?;
                change(&mut scene.settings);
                State::open(place, scene).await
            };
            let opened = opened.await;
            load("", None);
            Ok(Self { state: Rc::new(RefCell::new(opened.map_err(thrown)?)) }.into())
        }))
    }

    /// The same cloth on a device opened anew, on another backend, or of other stuff: it goes on from what was seen
    /// last, as fast as it moved. For a device that was lost, and for people who compare.
    #[wasm_bindgen(unchecked_return_type = "Promise<Cloth>")]
    pub fn reopened(
        &self,
        #[wasm_bindgen(unchecked_optional_param_type = "Backend")] backend_name: Option<String>,
        #[wasm_bindgen(unchecked_optional_param_type = "Stuff")] other: Option<Object>,
    ) -> Result<Promise, JsValue> {
        let place = backend(backend_name.as_deref())?;
        let other = other.map_or_else(|| Object::new().into(), JsValue::from);
        check_names(&other, &STUFF)?;
        let weave = stuff(&other)?;
        let state = self.state.borrow();
        let (mut scene, frame, time, dt) = (state.scene.clone(), state.seen.frame, state.time, state.dt);
        // Frames that were recorded and not seen are lost with the device.
        let time = time - (state.frame - frame) as f64 * f64::from(dt);
        let (positions, velocities) = (state.seen.positions.clone(), state.seen.velocities.clone());
        let studio = state.studio.clone();
        Ok(future_to_promise(async move {
            let opened = async {
                weave(&mut scene)?;
                let mut state = State::open(place, scene).await?;
                if let Some(cloth) = &mut state.cloth {
                    cloth.set_state(&positions, &velocities)?;
                }
                (state.frame, state.time, state.dt, state.studio) = (frame, time, dt, studio);
                state.seen = Seen { frame, positions, velocities, report: None };
                Ok::<_, Error>(state)
            };
            let opened = opened.await;
            load("", None);
            Ok(Self { state: Rc::new(RefCell::new(opened.map_err(thrown)?)) }.into())
        }))
    }

    /// Simulates a frame of `dt` [s], 1/60 if it is left out. On a GPU it is recorded and submitted, and nothing waits
    /// for it. `false` where nothing was done: three frames are under way, settings are being changed, or the device is
    /// lost.
    pub fn step(&self, dt: Option<f32>) -> Result<bool, JsValue> {
        self.state.borrow_mut().step(dt.unwrap_or(FRAME)).map_err(thrown)
    }

    /// What the last frame that is known of reached; `undefined` before the first.
    #[wasm_bindgen(unchecked_return_type = "Report | undefined")]
    pub fn report(&self) -> Option<Object> {
        let mut state = self.state.borrow_mut();
        state.look();
        state.seen.report.clone()
    }

    /// The reports of all frames that became known since this was last asked, in order: several may arrive at once.
    #[wasm_bindgen(unchecked_return_type = "Report[]")]
    pub fn reports(&self) -> Array {
        let mut state = self.state.borrow_mut();
        state.look();
        state.news.drain(..).collect()
    }

    /// Positions of that frame [m]: x, y, z of every vertex. The array is a copy.
    pub fn positions(&self) -> Float32Array {
        let mut state = self.state.borrow_mut();
        state.look();
        Float32Array::from(state.seen.positions.as_flattened())
    }

    /// Corners of the triangles.
    pub fn triangles(&self) -> Uint32Array {
        Uint32Array::from(self.state.borrow().triangles.as_flattened())
    }

    /// Resolves when every frame that was recorded is known of; with the last report.
    #[wasm_bindgen(unchecked_return_type = "Promise<Report | undefined>")]
    pub fn settled(&self) -> Promise {
        let state = self.state.clone();
        // Those that are recorded meanwhile are not waited for.
        let flights = self.state.borrow().flight.len();
        future_to_promise(async move {
            for _ in 0..flights {
                let next = state.borrow_mut().flight.pop_front();
                let Some(Flight { pending, run, frame, begun }) = next else { break };
                state.borrow_mut().waiting += 1;
                let outcome = pending.wait_async().await;
                let mut state = state.borrow_mut();
                state.waiting -= 1;
                state.arrived(outcome, run, frame, begun);
            }
            Ok(state.borrow().seen.report.clone().map_or(JsValue::UNDEFINED, JsValue::from))
        })
    }

    /// Changes settings from the next frame on. A solver that is new to this cloth is compiled on a GPU; until then
    /// `step` does nothing.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn change(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Settings")] wanted: JsValue,
    ) -> Result<Promise, JsValue> {
        check_names(&wanted, &SETTINGS)?;
        let change = changes(&wanted)?;
        let state = self.state.clone();
        let mut cloth = state.borrow_mut().cloth.take().ok_or_else(|| thrown("settings are being changed already"))?;
        Ok(future_to_promise(async move {
            load("compiling the solver", None);
            let outcome = cloth.change_async(change).await;
            load("", None);
            let mut state = state.borrow_mut();
            state.scene.settings = cloth.settings().clone();
            state.cloth = Some(cloth);
            if std::mem::take(&mut state.lets_go) {
                state.release().map_err(thrown)?;
            }
            outcome.map_err(thrown)?;
            Ok(JsValue::UNDEFINED)
        }))
    }

    /// The settings.
    #[wasm_bindgen(getter, unchecked_return_type = "Required<Settings>")]
    pub fn settings(&self) -> Object {
        settings::object(&self.state.borrow().scene.settings)
    }

    /// What the cloth is made of.
    #[wasm_bindgen(getter, unchecked_return_type = "Stuff")]
    pub fn stuff(&self) -> Object {
        settings::stuff_object(&self.state.borrow().scene)
    }

    /// How often the cloth passes through itself where it was seen last: edges through triangles, counted exactly. A
    /// heap takes as long as a frame; nothing is cheap about it.
    pub fn crossings(&self) -> Result<f64, JsValue> {
        let mut state = self.state.borrow_mut();
        state.look();
        let counted = Surface::new(&state.scene.mesh).count_crossings(&state.seen.positions);
        Ok(counted.map_err(thrown)? as f64)
    }

    /// Back to the start of the scene, with the settings that it has now.
    pub fn reset(&self) -> Result<(), JsValue> {
        self.state.borrow_mut().reset().map_err(thrown)
    }

    /// Takes a vertex and leads it to a place [m] from now on: pins at 5 m/s at most, others by a spring.
    pub fn lead(&self, vertex: u32, x: f32, y: f32, z: f32) -> Result<(), JsValue> {
        let mut state = self.state.borrow_mut();
        if state.hand.is_none_or(|hand| hand.vertex != vertex) {
            state.take(vertex, &Camera::default()).map_err(thrown)?;
        }
        if let Some(hand) = &mut state.hand {
            hand.want([x, y, z]);
        }
        Ok(())
    }

    /// Lets go of what was taken.
    pub fn release(&self) -> Result<(), JsValue> {
        self.state.borrow_mut().release().map_err(thrown)
    }

    /// The vertex that is held; `undefined` if none is.
    #[wasm_bindgen(getter)]
    pub fn held(&self) -> Option<u32> {
        let state = self.state.borrow();
        state.hand.filter(|_| !state.lets_go).map(|hand| hand.vertex)
    }

    /// Number of vertices.
    #[wasm_bindgen(getter, js_name = vertexCount)]
    pub fn vertex_count(&self) -> u32 {
        self.state.borrow().scene.mesh.vertex_count() as u32
    }

    /// Frames recorded since the start of the scene.
    #[wasm_bindgen(getter)]
    pub fn frame(&self) -> f64 {
        self.state.borrow().frame as f64
    }

    /// `gpu` or `cpu`.
    #[wasm_bindgen(getter, unchecked_return_type = "\"gpu\" | \"cpu\"")]
    pub fn backend(&self) -> String {
        if self.state.borrow().place.gpu.is_some() { "gpu" } else { "cpu" }.to_owned()
    }

    /// Why it runs there, in one sentence.
    #[wasm_bindgen(getter)]
    pub fn reason(&self) -> String {
        self.state.borrow().place.reason.clone()
    }

    /// Whether the device was lost; `reopened` goes on with another.
    #[wasm_bindgen(getter)]
    pub fn lost(&self) -> bool {
        let mut state = self.state.borrow_mut();
        state.look();
        state.is_lost()
    }

    /// The device that this module opened, `undefined` on the CPU: whoever draws from the buffers draws with it.
    #[wasm_bindgen(getter, unchecked_return_type = "GPUDevice | undefined")]
    pub fn device(&self) -> Option<JsValue> {
        self.state.borrow().place.gpu.as_ref()?.device().as_webgpu().map(JsValue::from)
    }

    /// Positions on the device, 16 bytes per vertex: x, y, z [m] and something of ours.
    #[wasm_bindgen(getter, js_name = positionBuffer, unchecked_return_type = "GPUBuffer | undefined")]
    pub fn position_buffer(&self) -> Option<JsValue> {
        self.state.borrow().cloth.as_ref()?.position_buffer()?.as_webgpu().map(JsValue::from)
    }

    /// Unit normals on the device, 16 bytes per vertex.
    #[wasm_bindgen(getter, js_name = normalBuffer, unchecked_return_type = "GPUBuffer | undefined")]
    pub fn normal_buffer(&self) -> Option<JsValue> {
        self.state.borrow().cloth.as_ref()?.normal_buffer()?.as_webgpu().map(JsValue::from)
    }

    /// Corners of the triangles on the device, 32 bits each.
    #[wasm_bindgen(getter, js_name = indexBuffer, unchecked_return_type = "GPUBuffer | undefined")]
    pub fn index_buffer(&self) -> Option<JsValue> {
        self.state.borrow().cloth.as_ref()?.index_buffer()?.0.as_webgpu().map(JsValue::from)
    }
}

impl Cloth {
    /// The state, for the view.
    pub(crate) fn state(&self) -> &Rc<RefCell<State>> {
        &self.state
    }
}

impl State {
    async fn open(backend: Backend, scene: Scene) -> taut::Result<Self> {
        load("looking for a graphics adapter", None);
        let mut place = Place::choose(backend).await?;
        let mut cloth = None;
        if let Some(gpu) = &place.gpu {
            load("compiling kernels", Some(gpu));
            match taut::Cloth::on_gpu_async(gpu, scene.clone()).await {
                Ok(made) => cloth = Some(made),
                Err(error) if backend == Backend::Auto => {
                    place = Place { gpu: None, reason: format!("the device cannot hold this cloth: {error}"), ..place };
                }
                Err(error) => return Err(error),
            }
        }
        let mut cloth = match cloth {
            Some(cloth) => cloth,
            None => taut::Cloth::on_cpu(scene.clone())?,
        };
        if place.gpu.is_some() {
            let enough = cloth.frame_cost(FRAME)?.enough.min(MOST_DISPATCHES);
            if cloth.settings().dispatch_budget < enough {
                cloth.change_async(|settings| settings.dispatch_budget = enough).await?;
            }
        }
        scene.script.begin(&mut cloth)?;
        let scene = Scene { settings: cloth.settings().clone(), ..scene };
        let mut state = Self {
            cloth: Some(cloth),
            triangles: scene.mesh.triangles(),
            studio: Studio::of(&scene),
            place,
            run: 0,
            frame: 0,
            time: 0.0,
            dt: FRAME,
            flight: VecDeque::new(),
            waiting: 0,
            seen: Seen::default(),
            news: VecDeque::new(),
            hand: None,
            lets_go: false,
            scene,
        };
        state.see_start();
        Ok(state)
    }

    /// Sees the cloth where it starts.
    fn see_start(&mut self) {
        let positions = self.scene.start.clone();
        let velocities = vec![[0.0; 3]; positions.len()];
        self.seen = Seen { frame: 0, positions, velocities, report: None };
    }

    fn step(&mut self, dt: f32) -> taut::Result<bool> {
        self.look();
        let Some(cloth) = self.cloth.as_mut().filter(|_| !self.place.is_lost() && self.flight.len() < FLIGHT) else {
            return Ok(false);
        };
        let mut targets = self.scene.script.frame(cloth, self.time, dt)?;
        if let Some(hand) = &mut self.hand {
            let target = hand.target(self.seen.positions[hand.vertex as usize], dt);
            targets.retain(|other| other.vertex != target.vertex);
            targets.push(target);
        }
        let input = FrameInput { dt, pin_targets: &targets };
        let begun = milliseconds();
        let frame = self.frame + 1;
        match &self.place.gpu {
            Some(gpu) => {
                let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                cloth.encode_step(&mut encoder, &input)?;
                let pending = cloth.encode_report(&mut encoder, true)?;
                gpu.queue().submit([encoder.finish()]);
                self.flight.push_back(Flight { pending, run: self.run, frame, begun });
            }
            None => {
                at_once(cloth.step_async(&input))?;
                let snapshot = at_once(cloth.snapshot_async());
                self.arrived(snapshot, self.run, frame, begun);
            }
        }
        (self.frame, self.time, self.dt) = (frame, self.time + f64::from(dt), dt);
        Ok(true)
    }

    /// Takes in the reports that have arrived.
    fn look(&mut self) {
        if self.is_lost() {
            self.flight.clear();
        }
        while let Some(flight) = self.flight.front_mut().filter(|_| self.waiting == 0) {
            let Some(outcome) = flight.pending.try_take() else { return };
            let (run, frame, begun) = (flight.run, flight.frame, flight.begun);
            self.flight.pop_front();
            self.arrived(outcome, run, frame, begun);
        }
    }

    fn arrived(&mut self, outcome: taut::Result<Snapshot>, run: u32, frame: u64, begun: f64) {
        // Whatever a read-back fails of, the device is of no use any more.
        let Ok(Snapshot { positions, report, .. }) = outcome else {
            self.place.lost.store(true, Ordering::Relaxed);
            self.flight.clear();
            return;
        };
        // One that somebody waited for may come after a reset.
        if run != self.run || frame <= self.seen.frame {
            return;
        }
        let span = self.dt * frame.saturating_sub(self.seen.frame).max(1) as f32;
        let speed = |(now, then): (&[f32; 3], &[f32; 3])| [0, 1, 2].map(|axis| (now[axis] - then[axis]) / span);
        let velocities = positions.iter().zip(&self.seen.positions).map(speed).collect();
        if let Some(hand) = &mut self.hand {
            hand.saw(positions[hand.vertex as usize], report.converged == Some(true));
        }
        let object = report::object(frame, milliseconds() - begun, &report, &self.scene.settings);
        if self.news.len() == KEPT {
            self.news.pop_front();
        }
        self.news.push_back(object.clone());
        self.seen = Seen { frame, positions, velocities, report: Some(object) };
    }

    fn reset(&mut self) -> taut::Result<()> {
        self.release()?;
        let Some(cloth) = &mut self.cloth else { return Ok(()) };
        cloth.reset()?;
        self.scene.script.begin(cloth)?;
        self.flight.clear();
        self.news.clear();
        self.run = self.run.wrapping_add(1);
        (self.frame, self.time) = (0, 0.0);
        self.see_start();
        Ok(())
    }

    /// Takes a vertex in hand.
    pub(crate) fn take(&mut self, vertex: u32, camera: &Camera) -> taut::Result<()> {
        if self.cloth.is_none() {
            return Ok(());
        }
        self.release()?;
        let Some(cloth) = &mut self.cloth else { return Ok(()) };
        let pinned = self.scene.mesh.pins().contains(&vertex);
        let Some(place) = self.seen.positions.get(vertex as usize) else {
            return Err(Error::Command { field: "vertex", index: 0, vertex, problem: "not a vertex" });
        };
        if !pinned {
            cloth.hold(&[vertex], Hand::HOLD)?;
        }
        self.hand = Some(Hand::new(vertex, pinned, *place, camera));
        Ok(())
    }

    pub(crate) fn release(&mut self) -> taut::Result<()> {
        let Some(cloth) = &mut self.cloth else {
            self.lets_go = true;
            return Ok(());
        };
        let Some(hand) = self.hand.take().filter(|hand| !hand.pinned) else { return Ok(()) };
        // What the scene holds is held again.
        let groups = self.scene.script.pins.iter().filter(|group| group.until.is_none_or(|until| until > self.time));
        let hold = groups.filter(|group| group.vertices().contains(&hand.vertex)).find_map(|group| group.hold);
        cloth.hold(&[hand.vertex], hold.unwrap_or(Hold::Free))
    }

    pub(crate) fn is_held(&self) -> bool {
        self.hand.is_some()
    }

    pub(crate) fn hand(&mut self) -> Option<&mut Hand> {
        self.hand.as_mut()
    }

    pub(crate) fn cloth(&self) -> Option<&taut::Cloth> {
        self.cloth.as_ref()
    }

    pub(crate) fn scene(&self) -> &Scene {
        &self.scene
    }

    pub(crate) fn studio(&self) -> &Studio {
        &self.studio
    }

    pub(crate) fn gpu(&self) -> Option<&Gpu> {
        self.place.gpu.as_ref()
    }

    /// Whether the browser took the device away.
    pub(crate) fn is_lost(&self) -> bool {
        self.place.gpu.is_some() && self.place.is_lost()
    }

    pub(crate) fn positions(&self) -> &[[f32; 3]] {
        &self.seen.positions
    }

    pub(crate) fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }
}
