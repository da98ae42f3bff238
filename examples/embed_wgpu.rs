//! Cloth in a renderer of your own: your device, your encoder, your passes, no copy.
//!
//! `cargo run --example embed_wgpu [FILE.png]` renders a second of a sheet that falls over a ball and writes the last
//! frame. Everything that has to do with cloth stands between the lines marked `cloth`; the rest is any wgpu program.
//! It draws into a texture so that it runs without a window; with one, only the target's view differs.

use std::error::Error;

use glam::camera::rh::{proj::directx::perspective, view::look_at_mat4};
use taut::{Cloth, FrameInput, Gpu, scene, wgpu};

const SIZE: wgpu::Extent3d = wgpu::Extent3d { width: 512, height: 384, depth_or_array_layers: 1 };
const COLOR: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8UnormSrgb;
const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

/// Positions and normals as they come from the simulation; both sides lit.
const SHADER: &str = "
    struct Fragment { @builtin(position) place: vec4<f32>, @location(0) normal: vec3<f32>, @location(1) at: vec3<f32> }
    @group(0) @binding(0) var<uniform> camera: mat4x4<f32>;
    @vertex fn vertex(@location(0) position: vec3<f32>, @location(1) normal: vec3<f32>) -> Fragment {
        return Fragment(camera * vec4<f32>(position, 1.0), normal, position);
    }
    @fragment fn fragment(in: Fragment, @builtin(front_facing) front: bool) -> @location(0) vec4<f32> {
        let normal = normalize(select(-in.normal, in.normal, front));
        let light = 0.25 + 0.75 * max(dot(normal, normalize(vec3<f32>(0.4, 1.0, 0.6))), 0.0);
        let color = select(vec3<f32>(0.55, 0.30, 0.10), vec3<f32>(0.70, 0.08, 0.06), front);
        return vec4<f32>(color * light, 1.0);
    }";

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "target/embed_wgpu.png".into());
    let Some((device, queue)) = pollster::block_on(device()) else {
        println!("there is no adapter to draw with");
        return Ok(());
    };

    // --- cloth: once. Default limits, no feature; pipelines are shared by all cloths of this `Gpu`.
    let gpu = Gpu::new(&device, &queue)?;
    let mut cloth = Cloth::on_gpu(&gpu, scene::drape(48)?)?;
    // --- cloth: its buffers are vertex buffers of 16 bytes per vertex, the position or normal in the first 12.
    let attributes = [[taut::vertex_attribute(0)], [taut::vertex_attribute(1)]];
    let layouts = [Some(taut::vertex_layout(&attributes[0])), Some(taut::vertex_layout(&attributes[1]))];
    // ---

    let renderer = Renderer::new(&device, &queue, &layouts);
    let mut report = None;
    for _ in 0..60 {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        // --- cloth: a frame is one compute pass in your encoder, before the passes that draw it.
        cloth.encode_step(&mut encoder, &FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
        report = Some(cloth.encode_report(&mut encoder, true)?); // optional: arrives some frames later
        // ---
        let mut pass = renderer.begin(&mut encoder);
        // --- cloth: drawn from where it was computed.
        if let (Some(positions), Some(normals), Some((indices, count))) =
            (cloth.position_buffer(), cloth.normal_buffer(), cloth.index_buffer())
        {
            pass.set_vertex_buffer(0, positions.slice(..));
            pass.set_vertex_buffer(1, normals.slice(..));
            pass.set_index_buffer(indices.slice(..), wgpu::IndexFormat::Uint32);
            pass.draw_indexed(0..count, 0, 0..1);
        }
        // ---
        drop(pass);
        queue.submit([encoder.finish()]);
    }
    let pixels = renderer.pixels(&device, &queue)?;
    // --- cloth: what was reached.
    if let Some(snapshot) = report.as_mut().and_then(taut::Pending::try_take) {
        let report = snapshot?.report;
        println!(
            "limit held: {:?}, largest strain {:.3e}",
            report.converged,
            report.strain.map_or(f64::NAN, |s| s.max)
        );
    }
    // ---
    let mut png = png::Encoder::new(std::fs::File::create(&path)?, SIZE.width, SIZE.height);
    png.set_color(png::ColorType::Rgba);
    png.write_header()?.write_image_data(&pixels)?;
    println!("wrote {path}");
    Ok(())
}

/// Any device will do: default limits and no feature.
async fn device() -> Option<(wgpu::Device, wgpu::Queue)> {
    let descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    let options = wgpu::RequestAdapterOptions::default();
    let adapter = wgpu::Instance::new(descriptor).request_adapter(&options).await.ok()?;
    adapter.request_device(&wgpu::DeviceDescriptor::default()).await.ok()
}

/// A renderer as anybody has one.
struct Renderer {
    color: wgpu::Texture,
    depth: wgpu::Texture,
    pipeline: wgpu::RenderPipeline,
    camera: wgpu::BindGroup,
}

impl Renderer {
    fn new(device: &wgpu::Device, queue: &wgpu::Queue, layouts: &[Option<wgpu::VertexBufferLayout<'_>>]) -> Self {
        let texture = |format, usage| {
            device.create_texture(&wgpu::TextureDescriptor {
                label: None,
                size: SIZE,
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: usage | wgpu::TextureUsages::RENDER_ATTACHMENT,
                view_formats: &[],
            })
        };
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(SHADER.into()),
        });
        let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: None,
            layout: None,
            vertex: wgpu::VertexState {
                module: &module,
                entry_point: None,
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                buffers: layouts,
            },
            primitive: wgpu::PrimitiveState::default(),
            depth_stencil: Some(wgpu::DepthStencilState {
                format: DEPTH,
                depth_write_enabled: Some(true),
                depth_compare: Some(wgpu::CompareFunction::Less),
                stencil: wgpu::StencilState::default(),
                bias: wgpu::DepthBiasState::default(),
            }),
            multisample: wgpu::MultisampleState::default(),
            fragment: Some(wgpu::FragmentState {
                module: &module,
                entry_point: None,
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                targets: &[Some(COLOR.into())],
            }),
            multiview_mask: None,
            cache: None,
        });
        let view = look_at_mat4(glam::vec3(1.4, 0.5, 1.7), glam::vec3(0.5, -0.3, 0.5), glam::Vec3::Y);
        let aspect = SIZE.width as f32 / SIZE.height as f32;
        let camera = perspective(0.8, aspect, 0.1, 10.0) * view;
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        queue.write_buffer(&buffer, 0, bytemuck::bytes_of(&camera));
        let camera = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
        });
        let color = texture(COLOR, wgpu::TextureUsages::COPY_SRC);
        Self { color, depth: texture(DEPTH, wgpu::TextureUsages::empty()), pipeline, camera }
    }

    fn begin<'a>(&self, encoder: &'a mut wgpu::CommandEncoder) -> wgpu::RenderPass<'a> {
        let view = |texture: &wgpu::Texture| texture.create_view(&wgpu::TextureViewDescriptor::default());
        let (color, depth) = (view(&self.color), view(&self.depth));
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: None,
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &color,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(wgpu::Color { r: 0.75, g: 0.78, b: 0.82, a: 1.0 }),
                    store: wgpu::StoreOp::Store,
                },
            })],
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: &depth,
                depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(1.0), store: wgpu::StoreOp::Discard }),
                stencil_ops: None,
            }),
            timestamp_writes: None,
            occlusion_query_set: None,
            multiview_mask: None,
        });
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.camera, &[]);
        pass
    }

    /// The picture; a program with a window presents it instead.
    fn pixels(&self, device: &wgpu::Device, queue: &wgpu::Queue) -> Result<Vec<u8>, Box<dyn Error>> {
        let row = 4 * SIZE.width; // a multiple of 256, as copies want it
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: u64::from(row * SIZE.height),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row), rows_per_image: None };
        let target = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
        encoder.copy_texture_to_buffer(self.color.as_image_copy(), target, SIZE);
        queue.submit([encoder.finish()]);
        buffer.slice(..).map_async(wgpu::MapMode::Read, |_| {});
        device.poll(wgpu::PollType::wait_indefinitely())?;
        Ok(buffer.slice(..).get_mapped_range()?.to_vec())
    }
}
