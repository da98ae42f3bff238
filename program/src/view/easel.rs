//! The picture in the middle of the window: drawn by [`taut::render`] from where the simulation has its positions, into
//! a texture that the window shows.

use std::path::Path;

use anyhow::{Result, anyhow};
use eframe::egui;
use eframe::egui_wgpu::RenderState;
use eframe::wgpu;
use taut::io::import::RenderMesh;
use taut::render::{
    Camera, Canvas, Fabric, Items, Look, Model, Offscreen, Picture, PictureFile, Prop, Renderer, Skin, Studio,
    check_size,
};
use taut::{Cloth, Gpu, Pose};

/// What the window's own renderer takes pictures in; [`Renderer`] encodes sRGB itself then.
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;
const SAMPLES: u32 = 4;
/// Length of a texture that one repeat of the pattern takes.
const REPEAT: f32 = 0.1;

/// Everything that draws the cloth.
pub(super) struct Easel {
    state: RenderState,
    gpu: Gpu,
    renderer: Renderer,
    fabric: Fabric,
    models: Vec<Model>,
    skin: Skin,
    props: Vec<Prop>,
    paper: Option<Paper>,
    /// Grows where something else is drawn.
    edition: u64,
}

/// What is drawn on; made anew where the size changes.
struct Paper {
    canvas: Canvas,
    view: wgpu::TextureView,
    id: egui::TextureId,
}

/// What there is to be drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    pub(super) cloth: &'a Cloth,
    pub(super) studio: &'a Studio,
    /// Vertices that were pinned by hand.
    pub(super) pins: &'a [u32],
    pub(super) texture: Option<&'a RenderMesh>,
}

impl Subject<'_> {
    fn fabric(&self) -> Result<Fabric> {
        let fabric = Fabric::new(self.cloth.mesh()).with_pins(self.pins)?;
        Ok(match self.texture {
            Some(RenderMesh { particle_of, uvs, triangles, .. }) => {
                fabric.with_texture(particle_of, uvs, triangles, REPEAT)?
            }
            None => fabric,
        })
    }

    fn models(&self) -> Vec<Model> {
        self.cloth.solids().iter().map(|solid| Model::of(solid, self.studio)).collect()
    }
}

impl Easel {
    pub(super) fn new(state: &RenderState, gpu: &Gpu, subject: Subject<'_>) -> Result<Self> {
        let renderer = Renderer::new(&state.device, &state.queue, FORMAT, SAMPLES)?;
        let (fabric, models) = (subject.fabric()?, subject.models());
        let (skin, props) = dressed(&renderer, &fabric, &models, subject.cloth)?;
        let (state, gpu) = (state.clone(), gpu.clone());
        Ok(Self { state, gpu, renderer, fabric, models, skin, props, paper: None, edition: 0 })
    }

    /// Draws something else from now on.
    pub(super) fn set(&mut self, subject: Subject<'_>) -> Result<()> {
        let (fabric, models) = (subject.fabric()?, subject.models());
        (self.skin, self.props) = dressed(&self.renderer, &fabric, &models, subject.cloth)?;
        (self.fabric, self.models) = (fabric, models);
        self.edition += 1;
        Ok(())
    }

    /// Draws the cloth as it is now; the texture it is on. `positions` are those of a cloth on the CPU.
    pub(super) fn draw(
        &mut self,
        size: [u32; 2],
        (camera, look, studio): (&Camera, &Look, &Studio),
        cloth: &Cloth,
        positions: &[[f32; 3]],
    ) -> Result<egui::TextureId> {
        check_size(size)?;
        if self.paper.as_ref().is_none_or(|paper| paper.canvas.size() != size) {
            self.paper = Some(self.paper(size)?);
        }
        let Some(paper) = &self.paper else { return Err(anyhow!("there is nothing to draw on")) };
        if cloth.gpu().is_none() {
            self.skin.place(&self.renderer, &self.fabric, positions)?;
        }
        let mut encoder = self.state.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let solids = placed(&self.props, cloth);
        let items = Items { studio, cloths: &[&self.skin], solids: &solids };
        self.renderer.draw(&mut encoder, &paper.canvas, &paper.view, camera, look, &items)?;
        self.state.queue.submit([encoder.finish()]);
        Ok(paper.id)
    }

    fn paper(&self, size @ [width, height]: [u32; 2]) -> Result<Paper> {
        let canvas = self.renderer.canvas(size)?;
        let texture = self.state.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("taut view"),
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let mut window = self.state.renderer.write();
        if let Some(before) = &self.paper {
            window.free_texture(&before.id);
        }
        let id = window.register_native_texture(&self.state.device, &view, wgpu::FilterMode::Nearest);
        Ok(Paper { canvas, view, id })
    }

    /// Width and height of what is seen.
    pub(super) fn size(&self) -> Result<[u32; 2]> {
        self.paper.as_ref().map(|paper| paper.canvas.size()).ok_or_else(|| anyhow!("nothing was drawn yet"))
    }

    /// A place where pictures of the same things are drawn for files.
    pub(super) fn darkroom(&self, size: [u32; 2], cloth: &Cloth) -> Result<Darkroom> {
        let offscreen = Offscreen::new(&self.gpu, size)?;
        let (skin, props) = dressed(offscreen.renderer(), &self.fabric, &self.models, cloth)?;
        Ok(Darkroom { offscreen, skin, props, edition: self.edition })
    }

    /// Writes what is seen, without the panel, as a picture of the same size.
    pub(super) fn write(
        &self,
        path: &Path,
        view: (&Camera, &Look, &Studio),
        cloth: &Cloth,
        positions: &[[f32; 3]],
    ) -> Result<()> {
        let size = self.size()?;
        let picture = self.darkroom(size, cloth)?.picture(self, view, cloth, positions)?;
        let mut file = PictureFile::create(path, size, 1.0)?;
        file.add(picture)?;
        Ok(file.finish()?)
    }
}

/// Where pictures for files are drawn, of a size of their own.
pub(super) struct Darkroom {
    offscreen: Offscreen,
    skin: Skin,
    props: Vec<Prop>,
    edition: u64,
}

impl Darkroom {
    /// What the easel would draw.
    pub(super) fn picture(
        &mut self,
        easel: &Easel,
        (camera, look, studio): (&Camera, &Look, &Studio),
        cloth: &Cloth,
        positions: &[[f32; 3]],
    ) -> Result<Picture> {
        let renderer = self.offscreen.renderer();
        if self.edition != easel.edition {
            (self.skin, self.props) = dressed(renderer, &easel.fabric, &easel.models, cloth)?;
            self.edition = easel.edition;
        }
        if cloth.gpu().is_none() {
            self.skin.place(renderer, &easel.fabric, positions)?;
        }
        let solids = placed(&self.props, cloth);
        let items = Items { studio, cloths: &[&self.skin], solids: &solids };
        Ok(self.offscreen.picture(camera, look, &items)?)
    }
}

fn dressed(renderer: &Renderer, fabric: &Fabric, models: &[Model], cloth: &Cloth) -> Result<(Skin, Vec<Prop>)> {
    let skin = Skin::of_cloth(renderer, cloth, fabric)?;
    let props = models.iter().map(|model| Prop::new(renderer, model)).collect::<taut::Result<_>>()?;
    Ok((skin, props))
}

fn placed<'a>(props: &'a [Prop], cloth: &Cloth) -> Vec<(&'a Prop, Pose)> {
    props.iter().zip(cloth.solids()).map(|(prop, solid)| (prop, solid.pose)).collect()
}
