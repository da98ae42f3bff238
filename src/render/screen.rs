//! Drawing on a surface: a window, or a canvas of a browser.

use super::gpu::{Canvas, Items, Renderer};
use super::{Camera, Look};
use crate::engine::gpu::runner::ready;
use crate::engine::gpu::{Gpu, scoped};
use crate::error::{Error, Result};

/// Samples per pixel.
const SAMPLES: u32 = 4;

/// A surface of the caller's and a [`Renderer`] for it. It is configured anew where its size changes, and where the
/// system asks for it.
#[derive(Debug)]
pub struct Screen {
    surface: wgpu::Surface<'static>,
    configuration: wgpu::SurfaceConfiguration,
    renderer: Renderer,
    canvas: Canvas,
}

impl Screen {
    /// For a surface that the caller made, in a format that it has (`wgpu::Surface::get_capabilities`; in a browser
    /// `Rgba8Unorm` and `Bgra8Unorm` are always among them), with a width and height in pixels.
    ///
    /// # Errors
    ///
    /// As [`super::check_size`] and [`Renderer::new`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn new(
        gpu: &Gpu,
        surface: wgpu::Surface<'static>,
        format: wgpu::TextureFormat,
        size: [u32; 2],
    ) -> Result<Self> {
        pollster::block_on(Self::new_async(gpu, surface, format, size))
    }

    /// [`Screen::new`] as a future.
    ///
    /// # Errors
    ///
    /// As [`Screen::new`].
    pub async fn new_async(
        gpu: &Gpu,
        surface: wgpu::Surface<'static>,
        format: wgpu::TextureFormat,
        size: [u32; 2],
    ) -> Result<Self> {
        let renderer = Renderer::new_async(gpu.device(), gpu.queue(), format, SAMPLES).await?;
        let canvas = renderer.canvas(size)?;
        let configuration = wgpu::SurfaceConfiguration {
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
            format,
            color_space: wgpu::SurfaceColorSpace::Auto,
            width: size[0],
            height: size[1],
            present_mode: wgpu::PresentMode::AutoVsync,
            desired_maximum_frame_latency: 2,
            alpha_mode: wgpu::CompositeAlphaMode::Auto,
            view_formats: Vec::new(),
        };
        let screen = Self { surface, configuration, renderer, canvas };
        screen.configure().await?;
        Ok(screen)
    }

    fn configure(&self) -> impl Future<Output = Result<()>> {
        scoped(self.renderer.device(), || self.surface.configure(self.renderer.device(), &self.configuration)).1
    }

    /// The renderer: cloths and solids that are drawn here are made for it.
    pub fn renderer(&self) -> &Renderer {
        &self.renderer
    }

    /// Width and height in pixels.
    pub fn size(&self) -> [u32; 2] {
        self.canvas.size()
    }

    /// Another width and height, from the next picture on; nothing is done where they are the same.
    ///
    /// # Errors
    ///
    /// As [`Renderer::canvas`]; then nothing has changed.
    pub fn resize(&mut self, size: [u32; 2]) -> Result<()> {
        if size == self.size() {
            return Ok(());
        }
        self.canvas = self.renderer.canvas(size)?;
        [self.configuration.width, self.configuration.height] = size;
        ready(self.configure())
    }

    /// Draws the items and shows them. `encoder` may have the caller's commands already, a step for example: it is
    /// submitted here, with the picture behind them. Whether there was a picture: where the surface has none to draw
    /// on, because nobody can see it or it has just changed, the commands are submitted all the same.
    ///
    /// # Errors
    ///
    /// As [`Renderer::draw`]; [`Error::Device`] if the surface is lost: then a new one is to be made.
    pub fn draw(
        &mut self,
        mut encoder: wgpu::CommandEncoder,
        camera: &Camera,
        look: &Look,
        items: &Items<'_>,
    ) -> Result<bool> {
        let (texture, outcome) = scoped(self.renderer.device(), || self.surface.get_current_texture());
        ready(outcome)?;
        let (texture, configure) = match texture {
            wgpu::CurrentSurfaceTexture::Success(texture) => (Some(texture), false),
            wgpu::CurrentSurfaceTexture::Suboptimal(texture) => (Some(texture), true),
            wgpu::CurrentSurfaceTexture::Outdated => (None, true),
            wgpu::CurrentSurfaceTexture::Timeout | wgpu::CurrentSurfaceTexture::Occluded => (None, false),
            wgpu::CurrentSurfaceTexture::Lost => return Err(Error::Device { message: "the surface is lost".into() }),
            wgpu::CurrentSurfaceTexture::Validation => {
                return Err(Error::Device { message: "the surface cannot be drawn on".into() });
            }
        };
        if let Some(texture) = &texture {
            let view = texture.texture.create_view(&wgpu::TextureViewDescriptor::default());
            self.renderer.draw(&mut encoder, &self.canvas, &view, camera, look, items)?;
        }
        let ((), outcome) = scoped(self.renderer.device(), || {
            self.renderer.queue().submit([encoder.finish()]);
        });
        ready(outcome)?;
        let drawn = texture.is_some();
        if let Some(texture) = texture {
            self.renderer.queue().present(texture);
        }
        if configure {
            ready(self.configure())?;
        }
        Ok(drawn)
    }
}
