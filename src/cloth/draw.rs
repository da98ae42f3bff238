//! Drawing straight from the simulation's buffers.

use super::{Cloth, Engine};
use crate::cloth::report::positions;
use crate::engine::fields::Domain;
use crate::engine::gpu::readback::Waiting;
use crate::error::{Error, Result};
use crate::stage::fields::Vertex;

/// Attribute layout of [`Cloth::position_buffer`], [`Cloth::previous_position_buffer`] and [`Cloth::normal_buffer`]:
/// `Float32x3` at a stride of 16 bytes.
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

impl Cloth {
    /// Positions as a vertex buffer (`STORAGE | VERTEX | COPY_SRC`): 16 bytes per vertex, drawn as
    /// [`vertex_layout`] says. It always holds the last good state. `None` on the CPU.
    pub fn position_buffer(&self) -> Option<&wgpu::Buffer> {
        self.runner().ok()?.named("vertices")
    }

    /// Positions at the start of the last frame, laid out like [`Cloth::position_buffer`], for motion vectors. `None`
    /// on the CPU and without [`Settings::keep_previous`](crate::Settings::keep_previous).
    ///
    /// A jump is no motion: they are teleported with the cloth, and are those of the cloth itself after
    /// [`Cloth::set_state`], [`Cloth::reset`], [`Cloth::restore`] and a frame in which nothing was simulated, because
    /// it had no length or was too short. So the difference to the positions is always what the last frame did.
    pub fn previous_position_buffer(&self) -> Option<&wgpu::Buffer> {
        if self.settings.keep_previous { self.runner().ok()?.named("frame_starts") } else { None }
    }

    /// What [`Cloth::previous_position_buffer`] holds, on the CPU too \[m\]. Waits for the GPU.
    ///
    /// # Errors
    /// [`Error::Field`] without [`Settings::keep_previous`](crate::Settings::keep_previous), [`Error::Device`] if the
    /// device fails.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn previous_positions(&self) -> Result<Vec<[f32; 3]>> {
        pollster::block_on(self.previous_positions_with(Waiting::Block))
    }

    /// [`Cloth::previous_positions`] for a browser, or where another thread polls the device.
    ///
    /// # Errors
    /// As [`Cloth::previous_positions`].
    pub async fn previous_positions_async(&self) -> Result<Vec<[f32; 3]>> {
        self.previous_positions_with(Waiting::Await).await
    }

    async fn previous_positions_with(&self, waiting: Waiting) -> Result<Vec<[f32; 3]>> {
        let name = "frame_starts";
        if !self.settings.keep_previous {
            return Err(Error::Field { name: name.into(), problem: "is not kept: `keep_previous` is false".into() });
        }
        match &self.engine {
            Engine::Cpu(_) => Ok(positions(self.fields.get::<Vertex>(name)?)),
            Engine::Gpu(_) => self.vectors(name, waiting).await,
        }
    }

    /// Unit normals as a vertex buffer, laid out like the positions: means of those of the triangles at a vertex, by
    /// area. They point to the side from which the corners of the triangles go around counter-clockwise. `None` on the
    /// CPU.
    pub fn normal_buffer(&self) -> Option<&wgpu::Buffer> {
        self.runner().ok()?.named("normals")
    }

    /// Corners of the triangles to draw, `Uint32`, and their number. They go around as those of the mesh's faces do;
    /// counter-clockwise is the front, to which the normals point. `None` on the CPU.
    pub fn index_buffer(&self) -> Option<(&wgpu::Buffer, u32)> {
        Some((self.runner().ok()?.named("triangles")?, self.fields.sizes().of(Domain::TRIANGLE_CORNERS) as u32))
    }
}
