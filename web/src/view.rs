//! The class `View`.

use glam::Vec3;
use js_sys::Promise;
use taut::render::{Camera, Coloring, Fabric, Items, Look, Model, Prop, Screen, Skin, Studio, pick, raster};
use taut::{Pose, Solid};
use wasm_bindgen::Clamped;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, ImageData};

use crate::cloth::{Cloth, State};
use crate::settings::property;
use crate::thrown;

/// Turn of the camera for a pointer that crosses the picture's height \[rad\].
const TURN: f32 = 3.0;
/// How near the pointer must be to what it means, as a part of the height of the picture.
const NEAR: f32 = 0.03;
/// Pixels that the CPU draws at most; the browser scales them up.
const MOST_PIXELS: f64 = 120_000.0;

/// A picture of a cloth on a canvas: of one on a GPU by WebGPU, straight from its buffers; of one on the CPU by the
/// CPU. A canvas that was drawn on in one way cannot be drawn on in the other.
#[wasm_bindgen]
#[derive(Debug)]
pub struct View {
    canvas: HtmlCanvasElement,
    easel: Easel,
    fabric: Fabric,
    models: Vec<Model>,
    studio: Studio,
    /// Where the middle of the cloth was \[m\], when it was drawn last.
    middle: Vec3,
    /// `None` for one that sees all.
    camera: Option<Camera>,
    look: Look,
    strain: bool,
}

#[derive(Debug)]
enum Easel {
    Gpu { screen: Box<Screen>, skin: Box<Skin>, props: Vec<Prop> },
    Cpu(CanvasRenderingContext2d),
}

#[wasm_bindgen]
impl View {
    /// A view of a cloth on a canvas, as large as the canvas is.
    #[wasm_bindgen(unchecked_return_type = "Promise<View>")]
    pub fn open(canvas: HtmlCanvasElement, cloth: &Cloth) -> Promise {
        let state = cloth.state().clone();
        future_to_promise(async move {
            let (gpu, scene, studio) = {
                let state = state.borrow();
                (state.gpu().cloned(), state.scene().clone(), state.studio().clone())
            };
            let fabric = Fabric::new(&scene.mesh);
            let models: Vec<Model> = scene.solids.iter().map(|solid| Model::of(solid, &studio)).collect();
            let easel = match gpu {
                Some(gpu) => {
                    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
                    let target = wgpu::SurfaceTarget::Canvas(canvas.clone());
                    let surface = instance.create_surface(target).map_err(thrown)?;
                    let size = [canvas.width().max(1), canvas.height().max(1)];
                    let screen = Screen::new_async(&gpu, surface, format(), size).await;
                    let screen = Box::new(screen.map_err(thrown)?);
                    let state = state.borrow();
                    let cloth = state.cloth().ok_or_else(|| thrown("settings are being changed"))?;
                    let skin = Box::new(Skin::of_cloth(screen.renderer(), cloth, &fabric).map_err(thrown)?);
                    let props = models.iter().map(|model| Prop::new(screen.renderer(), model));
                    let props = props.collect::<taut::Result<_>>().map_err(thrown)?;
                    Easel::Gpu { screen, skin, props }
                }
                None => {
                    let context = canvas.get_context("2d")?.ok_or_else(|| thrown("the canvas cannot be drawn on"))?;
                    Easel::Cpu(context.dyn_into().map_err(|_| thrown("the canvas cannot be drawn on"))?)
                }
            };
            let (middle, camera, look, strain) = (middle(&scene.start), None, Look::default(), false);
            Ok(Self { canvas, easel, fabric, models, studio, middle, camera, look, strain }.into())
        })
    }

    /// Draws the cloth: on a GPU as the last recorded frame leaves it, on the CPU as it was seen last.
    pub fn draw(&mut self, cloth: &Cloth) -> Result<(), JsValue> {
        let state = cloth.state().borrow();
        if state.is_lost() {
            return Ok(());
        }
        let size = self.size();
        self.keep_in_sight(&state, size);
        let camera = self.camera(size);
        let settings = &state.scene().settings;
        let coloring = if self.strain { Coloring::strain(settings) } else { Coloring::Cloth };
        let look = Look { coloring, ..self.look };
        let poses = |solids: &[Solid]| -> Vec<Pose> { solids.iter().map(|solid| solid.pose).collect() };
        let Some(simulated) = state.cloth() else { return Ok(()) };
        let poses = poses(simulated.solids());
        match &mut self.easel {
            Easel::Gpu { screen, skin, props } => {
                screen.resize(size).map_err(thrown)?;
                let solids: Vec<_> = props.iter().zip(poses).collect();
                let items = Items { studio: &self.studio, cloths: &[skin], solids: &solids };
                let device = screen.renderer().device();
                let encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                screen.draw(encoder, &camera, &look, &items).map_err(thrown)?;
            }
            Easel::Cpu(context) => {
                let view = raster::View { camera: &camera, look: &look, studio: &self.studio };
                let solids: Vec<_> = self.models.iter().zip(poses).collect();
                let picture = raster::draw(size, &view, &[(&self.fabric, state.positions())], &solids);
                let picture = picture.map_err(thrown)?;
                let [width, height] = size;
                // Setting it clears the canvas.
                if [self.canvas.width(), self.canvas.height()] != size {
                    self.canvas.set_width(width);
                    self.canvas.set_height(height);
                }
                let data = ImageData::new_with_u8_clamped_array_and_sh(Clamped(picture.pixels()), width, height)?;
                context.put_image_data(&data, 0.0, 0.0)?;
            }
        }
        Ok(())
    }

    /// Takes the vertex under a place of the picture, 0 … 1 from the left and from the top; `undefined` if there is
    /// none, or settings are being changed.
    pub fn take(&self, cloth: &Cloth, x: f32, y: f32) -> Result<Option<u32>, JsValue> {
        let mut state = cloth.state().borrow_mut();
        let size = self.size();
        let camera = self.camera(size);
        if state.cloth().is_none() {
            return Ok(None);
        }
        let found = pick(state.triangles(), state.positions(), &camera, [x, y], aspect(size), NEAR);
        if let Some(vertex) = found {
            state.take(vertex, &camera).map_err(thrown)?;
        }
        Ok(found)
    }

    /// Leads what was taken to a place of the picture.
    pub fn drag(&self, cloth: &Cloth, x: f32, y: f32) {
        let size = self.size();
        if let Some(hand) = cloth.state().borrow_mut().hand() {
            hand.follow(&self.camera(size), [x, y], aspect(size));
        }
    }

    /// Where a vertex was seen, 0 … 1 from the left and from the top; `undefined` behind the camera.
    pub fn place(&self, cloth: &Cloth, vertex: u32) -> Option<Vec<f32>> {
        let size = self.size();
        let state: std::cell::Ref<'_, State> = cloth.state().borrow();
        let position = state.positions().get(vertex as usize)?;
        Some(self.camera(size).project(*position, aspect(size))?.to_vec())
    }

    /// Looks around: parts of the picture's height that the pointer went to the right and down.
    pub fn orbit(&mut self, right: f32, down: f32) {
        self.camera = Some(self.camera(self.size()).orbited(-TURN * right, TURN * down));
    }

    /// Nearer for a factor below 1, farther above.
    pub fn zoom(&mut self, factor: f32) {
        self.camera = Some(self.camera(self.size()).zoomed(factor));
    }

    /// Looks from where another view of the same cloth looks.
    pub fn follow(&mut self, other: &View) {
        (self.camera, self.studio, self.middle) = (other.camera, other.studio.clone(), other.middle);
    }

    /// Sees all again.
    #[wasm_bindgen(js_name = seeAll)]
    pub fn see_all(&mut self) {
        self.camera = None;
    }

    /// Whether the colors say how much the cloth is strained.
    #[wasm_bindgen(js_name = showStrain)]
    pub fn show_strain(&mut self, strain: bool) {
        self.strain = strain;
    }

    /// Colors of the background and of the ground, `0xrrggbb`.
    #[wasm_bindgen(js_name = paint)]
    pub fn paint(&mut self, background: u32, ground: u32) {
        let channels = |color: u32| {
            let [_, red, green, blue] = color.to_be_bytes();
            [red, green, blue]
        };
        (self.look.background, self.look.ground) = (channels(background), channels(ground));
    }
}

impl View {
    /// Width and height of the picture: as large as the canvas is shown, or less where the CPU draws.
    fn size(&self) -> [u32; 2] {
        match &self.easel {
            Easel::Gpu { .. } => [self.canvas.width().max(1), self.canvas.height().max(1)],
            Easel::Cpu(_) => {
                let shown =
                    [self.canvas.client_width(), self.canvas.client_height()].map(|side| f64::from(side.max(1)));
                let scale = (MOST_PIXELS / (shown[0] * shown[1])).sqrt().min(1.0);
                shown.map(|side| ((side * scale) as u32).max(1))
            }
        }
    }

    /// Goes along with what falls; and where nobody has chosen what is seen, makes room for cloth that leaves the
    /// picture. A hand that pulls it out of the picture would pull ever farther.
    fn keep_in_sight(&mut self, state: &State, size: [u32; 2]) {
        let positions = state.positions();
        if self.studio.falls() {
            let now = middle(positions);
            let by = (now - std::mem::replace(&mut self.middle, now)).to_array();
            (self.studio, self.camera) = (self.studio.moved(by), self.camera.map(|camera| camera.moved(by)));
        } else if self.camera.is_none() && !state.is_held() {
            let camera = self.camera(size);
            let seen = |place: [f32; 2]| place.iter().all(|part| (0.0..=1.0).contains(part));
            let project = |position: &[f32; 3]| camera.project(*position, aspect(size));
            if !positions.iter().all(|position| project(position).is_some_and(seen)) {
                self.studio = self.studio.widened(positions);
            }
        }
    }

    fn camera(&self, size: [u32; 2]) -> Camera {
        self.camera.unwrap_or_else(|| self.studio.camera(size))
    }
}

/// The format that this browser shows without a copy.
fn format() -> wgpu::TextureFormat {
    let gpu = property(&js_sys::global(), "navigator").and_then(|navigator| property(&navigator, "gpu"));
    let ask = gpu.and_then(|gpu| {
        let ask = property(&gpu, "getPreferredCanvasFormat")?.dyn_into::<js_sys::Function>().ok()?;
        ask.call0(&gpu).ok()?.as_string()
    });
    match ask.as_deref() {
        Some("rgba8unorm") => wgpu::TextureFormat::Rgba8Unorm,
        _ => wgpu::TextureFormat::Bgra8Unorm,
    }
}

/// The mean of the positions.
fn middle(positions: &[[f32; 3]]) -> Vec3 {
    positions.iter().map(|position| Vec3::from(*position)).sum::<Vec3>() / positions.len().max(1) as f32
}

fn aspect([width, height]: [u32; 2]) -> f32 {
    width as f32 / height as f32
}
