//! Drawing straight from the simulation's buffers.

use super::Cloth;
use crate::engine::fields::Domain;

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

impl Cloth {
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
        Some((self.runner().ok()?.named("triangles")?, self.basis.sizes.of(Domain::TRIANGLE_CORNERS) as u32))
    }
}
