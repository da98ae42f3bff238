//! Drawing with the caller's device into the caller's encoder.

use std::num::NonZeroU64;

use bytemuck::{Pod, Zeroable, bytes_of};

use super::light::{Globals, Object, SHADOW_SIDE};
use super::look::linear;
use super::skin::{Prop, Skin, capsule};
use super::{Camera, Coloring, Look, Studio, check_size};
use crate::engine::gpu::runner::{filled, ready};
use crate::engine::gpu::{need, scoped};
use crate::error::{Error, Result};
use crate::solid::Pose;

const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;
/// Invocations of a workgroup in `render.wgsl`.
const GROUP: u32 = 64;

/// What is in the studio.
#[derive(Clone, Copy, Debug)]
pub struct Items<'a> {
    /// What light and ground are fitted to.
    pub studio: &'a Studio,
    /// Cloths.
    pub cloths: &'a [&'a Skin],
    /// Solids and where they are: [`crate::Cloth::solids`].
    pub solids: &'a [(&'a Prop, Pose)],
}

/// Pipelines and the shadow map. It holds handles of the caller's device and queue; needs [`wgpu::Limits::default`] and
/// no feature; submits nothing.
#[derive(Debug)]
pub struct Renderer {
    device: wgpu::Device,
    queue: wgpu::Queue,
    format: wgpu::TextureFormat,
    samples: u32,
    layouts: Layouts,
    pipelines: Pipelines,
    shadow_view: wgpu::TextureView,
    shadow_group: wgpu::BindGroup,
    /// Corners and triangles of a rod.
    rod: (wgpu::Buffer, wgpu::Buffer, u32),
}

#[derive(Debug)]
struct Layouts {
    globals: wgpu::BindGroupLayout,
    object: wgpu::BindGroupLayout,
    shadow: wgpu::BindGroupLayout,
    gather: wgpu::BindGroupLayout,
    follow: wgpu::BindGroupLayout,
}

#[derive(Debug)]
struct Pipelines {
    measure_strain: wgpu::ComputePipeline,
    gather_rods: wgpu::ComputePipeline,
    follow: wgpu::ComputePipeline,
    shadow_surface: wgpu::RenderPipeline,
    shadow_rod: wgpu::RenderPipeline,
    surface: wgpu::RenderPipeline,
    rod: wgpu::RenderPipeline,
    ground: wgpu::RenderPipeline,
}

/// Twin of `Parameters` in `render.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Parameters {
    vertices: u32,
    rods: u32,
    band: [f32; 2],
    drawn: u32,
    padding: u32,
}

/// The multisampled color and the depth of a picture in the making; made anew where the size changes.
#[derive(Debug)]
pub struct Canvas {
    size: [u32; 2],
    /// `None` with one sample: then the target itself is drawn on.
    color: Option<wgpu::TextureView>,
    depth: wgpu::TextureView,
}

impl Canvas {
    /// Width and height.
    pub fn size(&self) -> [u32; 2] {
        self.size
    }
}

impl Renderer {
    /// For targets of a color format, with 1 or 4 samples per pixel. Where the format does not encode sRGB itself, the
    /// shader does.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for another number of samples, [`Error::Device`] if the device fails or cannot draw on
    /// such a target.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue, format: wgpu::TextureFormat, samples: u32) -> Result<Self> {
        pollster::block_on(Self::new_async(device, queue, format, samples))
    }

    /// [`Renderer::new`] as a future.
    ///
    /// # Errors
    ///
    /// As [`Renderer::new`].
    pub async fn new_async(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        format: wgpu::TextureFormat,
        samples: u32,
    ) -> Result<Self> {
        if samples != 1 && samples != 4 {
            return Err(Error::OutOfRange { field: "samples", index: None, value: samples.into(), expected: "1 or 4" });
        }
        let ((layouts, pipelines, shadow_view, shadow_group), outcome) = scoped(device, || {
            let layouts = Layouts::new(device);
            let pipelines = Pipelines::new(device, &layouts, format, samples);
            let (view, group) = shadow(device, &layouts.shadow);
            (layouts, pipelines, view, group)
        });
        outcome.await?;
        let (corners, triangles) = capsule();
        let count = 3 * triangles.len() as u32;
        let corners = filled((device, queue), "taut rod", wgpu::BufferUsages::VERTEX, bytemuck::cast_slice(&corners))?;
        let triangles =
            filled((device, queue), "taut rod", wgpu::BufferUsages::INDEX, bytemuck::cast_slice(&triangles))?;
        Ok(Self {
            device: device.clone(),
            queue: queue.clone(),
            format,
            samples,
            layouts,
            pipelines,
            shadow_view,
            shadow_group,
            rod: (corners, triangles, count),
        })
    }

    /// The device.
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// The queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    pub(super) fn handles(&self) -> (&wgpu::Device, &wgpu::Queue) {
        (&self.device, &self.queue)
    }

    /// The format of the targets.
    pub fn format(&self) -> wgpu::TextureFormat {
        self.format
    }

    /// A canvas for targets of a width and height.
    ///
    /// # Errors
    ///
    /// As [`check_size`]; [`Error::Limit`] if the device has no textures that large, [`Error::Device`] if it is out of
    /// memory.
    pub fn canvas(&self, size: [u32; 2]) -> Result<Canvas> {
        check_size(size)?;
        for side in size {
            need("max_texture_dimension_2d", side.into(), self.device.limits().max_texture_dimension_2d.into())?;
        }
        let (canvas, outcome) = scoped(&self.device, || {
            let usage = wgpu::TextureUsages::RENDER_ATTACHMENT;
            let view = |name, format| texture(&self.device, name, size, self.samples, format, usage).1;
            let color = (self.samples > 1).then(|| view("taut color", self.format));
            Canvas { size, color, depth: view("taut depth", DEPTH) }
        });
        ready(outcome)?;
        Ok(canvas)
    }

    /// Records a picture of the items into the caller's encoder. The target has the renderer's format and the canvas's
    /// size; all of it is overwritten. Cloths are drawn as they are when the encoder's commands are executed: after a
    /// step that was recorded before, as the step leaves them.
    ///
    /// # Errors
    ///
    /// [`Error::Device`] if the device fails.
    pub fn draw(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        canvas: &Canvas,
        target: &wgpu::TextureView,
        camera: &Camera,
        look: &Look,
        items: &Items<'_>,
    ) -> Result<()> {
        let aspect = canvas.size[0] as f32 / canvas.size[1] as f32;
        let globals = Globals::new(camera, look, items.studio, aspect, !self.format.is_srgb());
        let objects = self.objects(look, items)?;
        let globals = filled(self.handles(), "taut view", wgpu::BufferUsages::UNIFORM, bytes_of(&globals))?;
        let (groups, outcome) = scoped(&self.device, || {
            let bound = |layout, buffer, size: usize| {
                let size = NonZeroU64::new(size as u64);
                let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset: 0, size });
                let entries = &[wgpu::BindGroupEntry { binding: 0, resource }];
                self.device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some("taut view"), layout, entries })
            };
            [
                bound(&self.layouts.globals, &globals, size_of::<Globals>()),
                bound(&self.layouts.object, &objects, size_of::<Object>()),
            ]
        });
        ready(outcome)?;
        for skin in items.cloths {
            self.gather(encoder, look, skin)?;
        }
        self.draw_shadows(encoder, &groups, look, items);
        self.draw_picture(encoder, canvas, target, &groups, look, items);
        Ok(())
    }

    /// Computes strain, rods and what is drawn of a cloth from its positions.
    fn gather(&self, encoder: &mut wgpu::CommandEncoder, look: &Look, skin: &Skin) -> Result<()> {
        let strain = matches!(look.coloring, Coloring::Strain { .. });
        if !strain && skin.rod_count == 0 && skin.drawn.is_none() {
            return Ok(());
        }
        let band = if let Coloring::Strain { band, .. } = look.coloring { band } else { [1.0, 1.0] };
        let drawn = skin.drawn.as_ref().map_or(0, |drawn| drawn.count);
        let parameters = Parameters { vertices: skin.vertex_count, rods: skin.rod_count, band, drawn, padding: 0 };
        let uniform = wgpu::BufferUsages::UNIFORM;
        let parameters = filled(self.handles(), "taut gather", uniform, bytes_of(&parameters))?;
        let ((gather, follow), outcome) = scoped(&self.device, || {
            let group = |layout, buffers: &[(u32, &wgpu::Buffer)]| {
                let bound = buffers.iter().map(|(binding, buffer)| wgpu::BindGroupEntry {
                    binding: *binding,
                    resource: buffer.as_entire_binding(),
                });
                let entries: Vec<wgpu::BindGroupEntry<'_>> = bound.collect();
                let label = Some("taut gather");
                self.device.create_bind_group(&wgpu::BindGroupDescriptor { label, layout, entries: &entries })
            };
            let (first, strains) = ([(0, &parameters), (1, &skin.positions)], (3, &skin.strains));
            let rest = [(2, &skin.incidence), strains, (4, &skin.links), (5, &skin.rods)];
            let follow = skin.drawn.as_ref().zip(skin.faces.as_ref()).map(|(drawn, faces)| {
                let rest = [strains, (6, &faces.normals), (7, &drawn.followed)];
                let written = [(8, &drawn.positions), (9, &drawn.normals), (10, &drawn.strains)];
                group(&self.layouts.follow, &[&first[..], &rest, &written].concat())
            });
            (group(&self.layouts.gather, &[&first[..], &rest].concat()), follow)
        });
        ready(outcome)?;
        let descriptor = wgpu::ComputePassDescriptor { label: Some("taut gather"), timestamp_writes: None };
        let mut pass = encoder.begin_compute_pass(&descriptor);
        pass.set_bind_group(0, &gather, &[]);
        if strain {
            pass.set_pipeline(&self.pipelines.measure_strain);
            self.dispatch(&mut pass, skin.vertex_count);
        }
        if skin.rod_count > 0 {
            pass.set_pipeline(&self.pipelines.gather_rods);
            self.dispatch(&mut pass, skin.rod_count);
        }
        if let Some(follow) = &follow {
            pass.set_bind_group(0, follow, &[]);
            pass.set_pipeline(&self.pipelines.follow);
            self.dispatch(&mut pass, drawn);
        }
        Ok(())
    }

    /// One invocation per element, folded to two dimensions where one is not enough.
    fn dispatch(&self, pass: &mut wgpu::ComputePass<'_>, count: u32) {
        let groups = count.div_ceil(GROUP);
        let rows = groups.div_ceil(self.device.limits().max_compute_workgroups_per_dimension.max(1));
        pass.dispatch_workgroups(groups.div_ceil(rows), rows, 1);
    }

    fn stride(&self) -> usize {
        size_of::<Object>().next_multiple_of(self.device.limits().min_uniform_buffer_offset_alignment.max(1) as usize)
    }

    /// What is said about each object: cloth, its lines and its pins, then the solids.
    fn objects(&self, look: &Look, items: &Items<'_>) -> Result<wgpu::Buffer> {
        let mut list = vec![Object::cloth(look), Object::line(look), Object::pin(look)];
        list.extend(items.solids.iter().map(|(_, pose)| Object::solid(look, items.studio, *pose)));
        let stride = self.stride();
        let mut bytes = vec![0; stride * list.len()];
        for (slot, object) in bytes.chunks_exact_mut(stride).zip(&list) {
            slot[..size_of::<Object>()].copy_from_slice(bytes_of(object));
        }
        filled(self.handles(), "taut objects", wgpu::BufferUsages::UNIFORM, &bytes)
    }

    fn draw_shadows(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        groups: &[wgpu::BindGroup; 2],
        look: &Look,
        items: &Items<'_>,
    ) {
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("taut shadows"),
            depth_stencil_attachment: Some(depth_attachment(&self.shadow_view, 1.0, wgpu::StoreOp::Store)),
            ..Default::default()
        });
        pass.set_bind_group(0, &groups[0], &[]);
        self.draw_items(
            &mut pass,
            &self.pipelines.shadow_surface,
            &self.pipelines.shadow_rod,
            1,
            &groups[1],
            look,
            items,
        );
    }

    fn draw_picture(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        canvas: &Canvas,
        target: &wgpu::TextureView,
        groups: &[wgpu::BindGroup; 2],
        look: &Look,
        items: &Items<'_>,
    ) {
        let (view, resolve_target, store) = match &canvas.color {
            Some(color) => (color, Some(target), wgpu::StoreOp::Discard),
            None => (target, None, wgpu::StoreOp::Store),
        };
        let load = wgpu::LoadOp::Clear(self.clear_color(look));
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("taut picture"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view,
                depth_slice: None,
                resolve_target,
                ops: wgpu::Operations { load, store },
            })],
            depth_stencil_attachment: Some(depth_attachment(&canvas.depth, 0.0, wgpu::StoreOp::Discard)),
            ..Default::default()
        });
        pass.set_bind_group(0, &groups[0], &[]);
        pass.set_bind_group(2, &self.shadow_group, &[]);
        self.draw_items(&mut pass, &self.pipelines.surface, &self.pipelines.rod, 4, &groups[1], look, items);
        if items.studio.ground.is_some() {
            pass.set_bind_group(1, &groups[1], &[0]);
            pass.set_pipeline(&self.pipelines.ground);
            pass.draw(0..4, 0..1);
        }
    }

    /// The background as the target is cleared to it.
    fn clear_color(&self, look: &Look) -> wgpu::Color {
        let [r, g, b] = if self.format.is_srgb() {
            linear(look.background).to_array().map(f64::from)
        } else {
            look.background.map(|byte| f64::from(byte) / 255.0)
        };
        wgpu::Color { r, g, b, a: 1.0 }
    }

    /// Draws all triangles with the first `slots` of their vertex buffers, and all rods.
    #[expect(clippy::too_many_arguments, reason = "the two passes differ in the pipelines and slots only")]
    fn draw_items(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        surface: &wgpu::RenderPipeline,
        rod: &wgpu::RenderPipeline,
        slots: usize,
        objects: &wgpu::BindGroup,
        look: &Look,
        items: &Items<'_>,
    ) {
        let stride = self.stride() as u32;
        pass.set_pipeline(surface);
        for (number, (prop, _)) in (3..).zip(items.solids) {
            if let Some((buffers, indices)) = &prop.buffers {
                pass.set_bind_group(1, objects, &[number * stride]);
                draw_triangles(pass, &buffers.each_ref()[..slots], indices, prop.count);
            }
        }
        pass.set_bind_group(1, objects, &[0]);
        for skin in items.cloths {
            if let Some(faces) = &skin.faces {
                let buffers = match &skin.drawn {
                    Some(drawn) => [&drawn.positions, &drawn.normals, &skin.material, &drawn.strains],
                    None => [&skin.positions, &faces.normals, &skin.material, &skin.strains],
                };
                draw_triangles(pass, &buffers[..slots], &faces.indices, faces.count);
            }
        }
        let (corners, triangles, count) = &self.rod;
        pass.set_pipeline(rod);
        pass.set_vertex_buffer(0, corners.slice(..));
        pass.set_index_buffer(triangles.slice(..), wgpu::IndexFormat::Uint32);
        for skin in items.cloths.iter().filter(|skin| skin.rod_count > 0) {
            let last = if look.pins { skin.rod_count } else { skin.line_count };
            pass.set_vertex_buffer(1, skin.rods.slice(..));
            for (object, range) in [(1, 0..skin.line_count), (2, skin.line_count..last)] {
                if !range.is_empty() {
                    pass.set_bind_group(1, objects, &[object * stride]);
                    pass.draw_indexed(0..*count, 0, range);
                }
            }
        }
    }
}

fn draw_triangles(pass: &mut wgpu::RenderPass<'_>, buffers: &[&wgpu::Buffer], indices: &wgpu::Buffer, count: u32) {
    for (slot, buffer) in (0..).zip(buffers) {
        pass.set_vertex_buffer(slot, buffer.slice(..));
    }
    pass.set_index_buffer(indices.slice(..), wgpu::IndexFormat::Uint32);
    pass.draw_indexed(0..count, 0, 0..1);
}

fn depth_attachment(
    view: &wgpu::TextureView,
    clear: f32,
    store: wgpu::StoreOp,
) -> wgpu::RenderPassDepthStencilAttachment<'_> {
    let depth_ops = Some(wgpu::Operations { load: wgpu::LoadOp::Clear(clear), store });
    wgpu::RenderPassDepthStencilAttachment { view, depth_ops, stencil_ops: None }
}

/// A texture and a view of it.
pub(super) fn texture(
    device: &wgpu::Device,
    name: &str,
    [width, height]: [u32; 2],
    samples: u32,
    format: wgpu::TextureFormat,
    usage: wgpu::TextureUsages,
) -> (wgpu::Texture, wgpu::TextureView) {
    let texture = device.create_texture(&wgpu::TextureDescriptor {
        label: Some(name),
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: samples,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    });
    let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
    (texture, view)
}

/// The shadow map, and the group that reads it.
fn shadow(device: &wgpu::Device, layout: &wgpu::BindGroupLayout) -> (wgpu::TextureView, wgpu::BindGroup) {
    let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING;
    let (_, view) = texture(device, "taut shadows", [SHADOW_SIDE; 2], 1, DEPTH, usage);
    let sampler = device.create_sampler(&wgpu::SamplerDescriptor {
        label: Some("taut shadows"),
        mag_filter: wgpu::FilterMode::Linear,
        min_filter: wgpu::FilterMode::Linear,
        compare: Some(wgpu::CompareFunction::LessEqual),
        ..Default::default()
    });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("taut shadows"),
        layout,
        entries: &[
            wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&view) },
            wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::Sampler(&sampler) },
        ],
    });
    (view, group)
}

impl Layouts {
    fn new(device: &wgpu::Device) -> Self {
        let layout = |name, entries: &[wgpu::BindGroupLayoutEntry]| {
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(name), entries })
        };
        let drawn = wgpu::ShaderStages::VERTEX_FRAGMENT;
        let compute = wgpu::ShaderStages::COMPUTE;
        let entry = |binding, visibility, ty| wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None };
        let uniform = |dynamic, size: usize| wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Uniform,
            has_dynamic_offset: dynamic,
            min_binding_size: NonZeroU64::new(size as u64),
        };
        let storage = |read_only| wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Storage { read_only },
            has_dynamic_offset: false,
            min_binding_size: None,
        };
        let map = wgpu::BindingType::Texture {
            sample_type: wgpu::TextureSampleType::Depth,
            view_dimension: wgpu::TextureViewDimension::D2,
            multisampled: false,
        };
        let comparison = wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Comparison);
        let fragment = wgpu::ShaderStages::FRAGMENT;
        Self {
            globals: layout("taut view", &[entry(0, drawn, uniform(false, size_of::<Globals>()))]),
            object: layout("taut objects", &[entry(0, drawn, uniform(true, size_of::<Object>()))]),
            shadow: layout("taut shadows", &[entry(0, fragment, map), entry(1, fragment, comparison)]),
            gather: layout(
                "taut gather",
                &[
                    entry(0, compute, uniform(false, size_of::<Parameters>())),
                    entry(1, compute, storage(true)),
                    entry(2, compute, storage(true)),
                    entry(3, compute, storage(false)),
                    entry(4, compute, storage(true)),
                    entry(5, compute, storage(false)),
                ],
            ),
            follow: layout(
                "taut follow",
                &[
                    entry(0, compute, uniform(false, size_of::<Parameters>())),
                    entry(1, compute, storage(true)),
                    entry(3, compute, storage(false)),
                    entry(6, compute, storage(true)),
                    entry(7, compute, storage(true)),
                    entry(8, compute, storage(false)),
                    entry(9, compute, storage(false)),
                    entry(10, compute, storage(false)),
                ],
            ),
        }
    }
}

impl Pipelines {
    fn new(device: &wgpu::Device, layouts: &Layouts, format: wgpu::TextureFormat, samples: u32) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("taut render"),
            source: wgpu::ShaderSource::Wgsl(super::WGSL.into()),
        });
        let layout = |groups: &[Option<&wgpu::BindGroupLayout>]| {
            device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some("taut render"),
                bind_group_layouts: groups,
                immediate_size: 0,
            })
        };
        let [gather, follow] = [&layouts.gather, &layouts.follow].map(|group| layout(&[Some(group)]));
        let shadow = layout(&[Some(&layouts.globals), Some(&layouts.object)]);
        let picture = layout(&[Some(&layouts.globals), Some(&layouts.object), Some(&layouts.shadow)]);
        let compute = |name, layout| {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: Some(layout),
                module: &module,
                entry_point: Some(name),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        };
        let position = [crate::cloth::vertex_attribute(0)];
        let normal = [crate::cloth::vertex_attribute(1)];
        let material = wgpu::vertex_attr_array![2 => Float32x2];
        let strain = wgpu::vertex_attr_array![3 => Float32];
        let corner = wgpu::vertex_attr_array![0 => Float32x4];
        let ends = wgpu::vertex_attr_array![1 => Float32x4, 2 => Float32x4];
        let per_vertex = wgpu::VertexStepMode::Vertex;
        let buffer = |array_stride, step_mode, attributes| {
            Some(wgpu::VertexBufferLayout { array_stride, step_mode, attributes })
        };
        let surface_buffers = [
            Some(crate::cloth::vertex_layout(&position)),
            Some(crate::cloth::vertex_layout(&normal)),
            buffer(8, per_vertex, &material[..]),
            buffer(4, per_vertex, &strain[..]),
        ];
        let rod_buffers = [buffer(16, per_vertex, &corner[..]), buffer(32, wgpu::VertexStepMode::Instance, &ends[..])];
        let target = [Some(wgpu::ColorTargetState { format, blend: None, write_mask: wgpu::ColorWrites::ALL })];
        let render = |vertex: &str,
                      fragment: Option<&str>,
                      buffers: &[Option<wgpu::VertexBufferLayout<'_>>],
                      topology: wgpu::PrimitiveTopology| {
            let compare = if fragment.is_some() { wgpu::CompareFunction::Greater } else { wgpu::CompareFunction::Less };
            device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: Some(vertex),
                layout: Some(if fragment.is_some() { &picture } else { &shadow }),
                vertex: wgpu::VertexState {
                    module: &module,
                    entry_point: Some(vertex),
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    buffers,
                },
                // Cloth has two sides, and so has everything else.
                primitive: wgpu::PrimitiveState { topology, cull_mode: None, ..Default::default() },
                depth_stencil: Some(wgpu::DepthStencilState {
                    format: DEPTH,
                    depth_write_enabled: Some(true),
                    depth_compare: Some(compare),
                    stencil: wgpu::StencilState::default(),
                    bias: wgpu::DepthBiasState::default(),
                }),
                multisample: wgpu::MultisampleState {
                    count: if fragment.is_some() { samples } else { 1 },
                    ..Default::default()
                },
                fragment: fragment.map(|entry| wgpu::FragmentState {
                    module: &module,
                    entry_point: Some(entry),
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    targets: &target,
                }),
                multiview_mask: None,
                cache: None,
            })
        };
        let list = wgpu::PrimitiveTopology::TriangleList;
        Self {
            measure_strain: compute("measure_strain", &gather),
            gather_rods: compute("gather_rods", &gather),
            follow: compute("follow", &follow),
            shadow_surface: render("shadow_surface", None, &surface_buffers[..1], list),
            shadow_rod: render("shadow_rod", None, &rod_buffers, list),
            surface: render("place_surface", Some("shade_surface"), &surface_buffers, list),
            rod: render("place_rod", Some("shade_surface"), &rod_buffers, list),
            ground: render("place_ground", Some("shade_ground"), &[], wgpu::PrimitiveTopology::TriangleStrip),
        }
    }
}
