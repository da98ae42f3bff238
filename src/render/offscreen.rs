//! Pictures from a GPU without a window.

use super::gpu::texture;
use super::{Camera, Canvas, Coloring, Items, Look, Picture, Renderer, legend};
use crate::engine::gpu::readback::{Staging, Waiting};
use crate::engine::gpu::runner::ready;
use crate::engine::gpu::{Gpu, need, scoped};
use crate::error::{Error, Result};

const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8UnormSrgb;
/// Samples per pixel.
const SAMPLES: u32 = 4;

/// A renderer with a target of its own: draws, submits, and reads back the pixels and nothing else.
#[derive(Debug)]
pub struct Offscreen {
    renderer: Renderer,
    canvas: Canvas,
    target: wgpu::Texture,
    view: wgpu::TextureView,
    /// The target's rows, padded as copies need them.
    rows: wgpu::Buffer,
    row_bytes: u32,
}

impl Offscreen {
    /// For pictures of a width and height, with four samples per pixel.
    ///
    /// # Errors
    ///
    /// As [`Renderer::new`] and [`Renderer::canvas`]; [`Error::Limit`] if the picture does not fit into a buffer.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn new(gpu: &Gpu, size: [u32; 2]) -> Result<Self> {
        pollster::block_on(Self::new_async(gpu, size))
    }

    /// [`Offscreen::new`] as a future.
    ///
    /// # Errors
    ///
    /// As [`Offscreen::new`].
    pub async fn new_async(gpu: &Gpu, size: [u32; 2]) -> Result<Self> {
        let renderer = Renderer::new_async(gpu.device(), gpu.queue(), FORMAT, SAMPLES).await?;
        let canvas = renderer.canvas(size)?;
        let row_bytes = (4 * size[0]).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let bytes = u64::from(row_bytes) * u64::from(size[1]);
        need("max_buffer_size", bytes, gpu.device().limits().max_buffer_size)?;
        let ((target, view, rows), outcome) = scoped(gpu.device(), || {
            let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC;
            let (target, view) = texture(gpu.device(), "taut picture", size, 1, FORMAT, usage);
            let rows = gpu.device().create_buffer(&wgpu::BufferDescriptor {
                label: Some("taut picture"),
                size: bytes,
                usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            (target, view, rows)
        });
        outcome.await?;
        Ok(Self { renderer, canvas, target, view, rows, row_bytes })
    }

    /// The renderer, for skins and props.
    pub fn renderer(&self) -> &Renderer {
        &self.renderer
    }

    /// Draws a picture in a submission of its own and waits for it.
    ///
    /// # Errors
    ///
    /// As [`Renderer::draw`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn picture(&self, camera: &Camera, look: &Look, items: &Items<'_>) -> Result<Picture> {
        pollster::block_on(self.picture_with(camera, look, items, Waiting::Block))
    }

    /// [`Offscreen::picture`] for a browser, or where another thread polls the device.
    ///
    /// # Errors
    ///
    /// As [`Offscreen::picture`].
    pub async fn picture_async(&self, camera: &Camera, look: &Look, items: &Items<'_>) -> Result<Picture> {
        self.picture_with(camera, look, items, Waiting::Await).await
    }

    async fn picture_with(&self, camera: &Camera, look: &Look, items: &Items<'_>, waiting: Waiting) -> Result<Picture> {
        let device = self.renderer.device();
        let size @ [width, height] = self.canvas.size();
        let (staging, outcome) = scoped(device, || {
            let label = Some("taut picture");
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label });
            self.renderer.draw(&mut encoder, &self.canvas, &self.view, camera, look, items)?;
            let layout = wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(self.row_bytes),
                rows_per_image: Some(height),
            };
            encoder.copy_texture_to_buffer(
                self.target.as_image_copy(),
                wgpu::TexelCopyBufferInfo { buffer: &self.rows, layout },
                wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            );
            let staging = Staging::record(device, &mut encoder, &[(&self.rows, self.rows.size())])?;
            self.renderer.queue().submit([encoder.finish()]);
            Ok::<_, Error>(staging)
        });
        ready(outcome)?;
        let bytes = staging?.bytes(device, waiting).await?;
        let row = 4 * width as usize;
        let rows = bytes.chunks_exact(self.row_bytes as usize).take(height as usize);
        let mut picture = Picture::new(size, rows.flat_map(|padded| &padded[..row]).copied().collect())?;
        if let Coloring::Strain { limit, .. } = look.coloring {
            legend::draw(&mut picture, limit);
        }
        Ok(picture)
    }
}
