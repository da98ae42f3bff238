//! The picture in the middle of the window: drawn by [`taut::render`] from where the simulation has its positions, into
//! a texture that the window shows.

use std::path::Path;

use anyhow::{Result, anyhow};
use eframe::egui;
use eframe::egui_wgpu::RenderState;
use eframe::wgpu;
use taut::render::{
    Camera, Canvas, Fabric, Items, Look, Model, Offscreen, PictureFile, Prop, Renderer, Skin, Studio, check_size,
};
use taut::{Cloth, Gpu, Pose};

/// What the window's own renderer takes pictures in; [`Renderer`] encodes sRGB itself then.
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;
const SAMPLES: u32 = 4;

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
}

/// What is drawn on; made anew where the size changes.
struct Paper {
    canvas: Canvas,
    view: wgpu::TextureView,
    id: egui::TextureId,
}

impl Easel {
    pub(super) fn new(state: &RenderState, gpu: &Gpu, cloth: &Cloth, studio: &Studio) -> Result<Self> {
        let renderer = Renderer::new(&state.device, &state.queue, FORMAT, SAMPLES)?;
        let fabric = Fabric::new(cloth.mesh());
        let models: Vec<Model> = cloth.solids().iter().map(|solid| Model::of(solid, studio)).collect();
        let skin = Skin::of_cloth(&renderer, cloth, &fabric)?;
        let props = models.iter().map(|model| Prop::new(&renderer, model)).collect::<taut::Result<_>>()?;
        Ok(Self { state: state.clone(), gpu: gpu.clone(), renderer, fabric, models, skin, props, paper: None })
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

    /// Writes what is seen, without the panel, as a picture of the same size.
    pub(super) fn write(
        &self,
        path: &Path,
        (camera, look, studio): (&Camera, &Look, &Studio),
        cloth: &Cloth,
    ) -> Result<()> {
        let Some(paper) = &self.paper else { return Err(anyhow!("nothing was drawn yet")) };
        let size = paper.canvas.size();
        let offscreen = Offscreen::new(&self.gpu, size)?;
        let renderer = offscreen.renderer();
        let skin = Skin::of_cloth(renderer, cloth, &self.fabric)?;
        let props: Vec<Prop> =
            self.models.iter().map(|model| Prop::new(renderer, model)).collect::<taut::Result<_>>()?;
        let solids = placed(&props, cloth);
        let picture = offscreen.picture(camera, look, &Items { studio, cloths: &[&skin], solids: &solids })?;
        let mut file = PictureFile::create(path, size, 1.0)?;
        file.add(picture)?;
        Ok(file.finish()?)
    }
}

fn placed<'a>(props: &'a [Prop], cloth: &Cloth) -> Vec<(&'a Prop, Pose)> {
    props.iter().zip(cloth.solids()).map(|(prop, solid)| (prop, solid.pose)).collect()
}
