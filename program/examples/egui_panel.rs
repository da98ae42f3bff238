//! Cloth in a panel of an egui program: stepped in egui's own encoder, drawn in egui's own render pass, never waited
//! for.
//!
//! `cargo run --release --features viewer --example egui_panel [FRAMES]`; with a number it closes itself after as many
//! frames.

use std::error::Error;

use eframe::egui_wgpu::{Callback, CallbackResources, CallbackTrait, ScreenDescriptor};
use eframe::{CreationContext, egui, wgpu};
use glam::camera::rh::{proj::directx::perspective, view::look_at_mat4};
use taut::{Cloth, FrameInput, Gpu, Pending, Report, Snapshot, scene};

/// Positions and normals as they come from the simulation; both sides lit.
const SHADER: &str = "
    struct Fragment { @builtin(position) place: vec4<f32>, @location(0) normal: vec3<f32> }
    @group(0) @binding(0) var<uniform> camera: mat4x4<f32>;
    @vertex fn vertex(@location(0) position: vec3<f32>, @location(1) normal: vec3<f32>) -> Fragment {
        return Fragment(camera * vec4<f32>(position, 1.0), normal);
    }
    @fragment fn fragment(in: Fragment, @builtin(front_facing) front: bool) -> @location(0) vec4<f32> {
        let normal = normalize(select(-in.normal, in.normal, front));
        let light = 0.35 + 0.65 * max(dot(normal, normalize(vec3<f32>(0.4, 1.0, 0.8))), 0.0);
        return vec4<f32>(select(vec3<f32>(0.85, 0.65, 0.35), vec3<f32>(0.75, 0.25, 0.22), front) * light, 1.0);
    }";

fn main() -> Result<(), Box<dyn Error>> {
    let frames = std::env::args().nth(1).map(|text| text.parse()).transpose()?;
    let options = eframe::NativeOptions { depth_buffer: 32, ..Default::default() };
    let mut last = None;
    eframe::run_native("egui_panel", options, Box::new(|context| Ok(Box::new(App::new(context, frames, &mut last)?))))?;
    if let Some(report) = last {
        println!(
            "limit held: {:?}, largest strain {:.3e}",
            report.converged,
            report.strain.map_or(f64::NAN, |s| s.max)
        );
    }
    Ok(())
}

/// What the sliders say.
struct App<'a> {
    limit: f32,
    gravity: f32,
    turn: f32,
    frames: Option<u64>,
    last: &'a mut Option<Report>,
}

impl<'a> App<'a> {
    fn new(
        context: &CreationContext<'_>,
        frames: Option<u64>,
        last: &'a mut Option<Report>,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let state = context.wgpu_render_state.as_ref().ok_or("egui runs without wgpu")?;
        // --- cloth: on egui's device.
        let gpu = Gpu::new(&state.device, &state.queue)?;
        let cloth = Cloth::on_gpu(&gpu, scene::hang(32)?)?;
        // ---
        let shown = Shown::new(&state.device, state.target_format, cloth);
        state.renderer.write().callback_resources.insert(shown);
        Ok(Self { limit: 1.0, gravity: 9.81, turn: 0.4, frames, last })
    }
}

impl eframe::App for App<'_> {
    fn ui(&mut self, ui: &mut egui::Ui, frame: &mut eframe::Frame) {
        let Some(state) = frame.wgpu_render_state() else { return };
        egui::Panel::left("controls").show(ui, |ui| {
            ui.heading("cloth");
            ui.add(egui::Slider::new(&mut self.limit, 0.05..=10.0).logarithmic(true).text("limit [%]"));
            ui.add(egui::Slider::new(&mut self.gravity, 0.0..=20.0).text("gravity [m/s²]"));
            ui.add(egui::Slider::new(&mut self.turn, -3.0..=3.0).text("turn"));
            // What the simulation said some frames ago.
            let renderer = state.renderer.read();
            if let Some(shown) = renderer.callback_resources.get::<Shown>() {
                if let Some(strain) = shown.report.as_ref().and_then(|report| report.strain.as_ref()) {
                    ui.label(format!("largest strain {:.3} %", 100.0 * strain.max));
                    self.last.clone_from(&shown.report);
                }
                if self.frames.is_some_and(|frames| shown.cloth.frame() >= frames) && self.last.is_some() {
                    ui.ctx().send_viewport_cmd(egui::ViewportCommand::Close);
                }
            }
        });
        egui::CentralPanel::default().show(ui, |ui| {
            let (rect, response) = ui.allocate_exact_size(ui.available_size(), egui::Sense::drag());
            self.turn += 0.01 * response.drag_delta().x;
            let (limit, gravity) = (0.01 * self.limit, [0.0, -self.gravity, 0.0]);
            let eye = glam::vec3(0.5 + 2.4 * self.turn.sin(), 0.3, 2.4 * self.turn.cos());
            let view = look_at_mat4(eye, glam::vec3(0.5, -0.5, 0.0), glam::Vec3::Y);
            let camera = perspective(0.8, rect.aspect_ratio(), 0.1, 10.0) * view;
            ui.painter().add(Callback::new_paint_callback(rect, Play { limit, gravity, camera }));
        });
        ui.ctx().request_repaint();
    }
}

/// A frame: what it is asked to be.
struct Play {
    limit: f32,
    gravity: [f32; 3],
    camera: glam::Mat4,
}

impl CallbackTrait for Play {
    fn prepare(
        &self,
        _device: &wgpu::Device,
        queue: &wgpu::Queue,
        _screen: &ScreenDescriptor,
        encoder: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        if let Some(shown) = resources.get_mut::<Shown>() {
            queue.write_buffer(&shown.camera, 0, bytemuck::bytes_of(&self.camera));
            if let Err(error) = shown.step(encoder, self) {
                eprintln!("egui_panel: {error}");
            }
        }
        Vec::new()
    }

    fn paint(
        &self,
        _info: egui::PaintCallbackInfo,
        pass: &mut wgpu::RenderPass<'static>,
        resources: &CallbackResources,
    ) {
        let Some(shown) = resources.get::<Shown>() else { return };
        // --- cloth: drawn from where it was computed.
        if let (Some(positions), Some(normals), Some((indices, count))) =
            (shown.cloth.position_buffer(), shown.cloth.normal_buffer(), shown.cloth.index_buffer())
        {
            pass.set_pipeline(&shown.pipeline);
            pass.set_bind_group(0, &shown.group, &[]);
            pass.set_vertex_buffer(0, positions.slice(..));
            pass.set_vertex_buffer(1, normals.slice(..));
            pass.set_index_buffer(indices.slice(..), wgpu::IndexFormat::Uint32);
            pass.draw_indexed(0..count, 0, 0..1);
        }
        // ---
    }
}

/// What lives on egui's device.
struct Shown {
    cloth: Cloth,
    /// A report on its way.
    pending: Option<Pending<Snapshot>>,
    report: Option<Report>,
    camera: wgpu::Buffer,
    group: wgpu::BindGroup,
    pipeline: wgpu::RenderPipeline,
}

impl Shown {
    /// Records a frame into egui's encoder, and takes the last report if it has arrived.
    fn step(&mut self, encoder: &mut wgpu::CommandEncoder, play: &Play) -> taut::Result<()> {
        if let Some(snapshot) = self.pending.as_mut().and_then(Pending::try_take) {
            (self.pending, self.report) = (None, Some(snapshot?.report));
        }
        self.cloth.change(|settings| (settings.strain_limit, settings.gravity) = (play.limit, play.gravity))?;
        self.cloth.encode_step(encoder, &FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
        if self.pending.is_none() {
            self.pending = Some(self.cloth.encode_report(encoder, true)?);
        }
        Ok(())
    }

    fn new(device: &wgpu::Device, format: wgpu::TextureFormat, cloth: Cloth) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(SHADER.into()),
        });
        let attributes = [[taut::vertex_attribute(0)], [taut::vertex_attribute(1)]];
        let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: None,
            layout: None,
            vertex: wgpu::VertexState {
                module: &module,
                entry_point: None,
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                buffers: &[Some(taut::vertex_layout(&attributes[0])), Some(taut::vertex_layout(&attributes[1]))],
            },
            primitive: wgpu::PrimitiveState::default(),
            depth_stencil: Some(wgpu::DepthStencilState {
                format: wgpu::TextureFormat::Depth32Float,
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
                targets: &[Some(format.into())],
            }),
            multiview_mask: None,
            cache: None,
        });
        let camera = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: camera.as_entire_binding() }],
        });
        Self { cloth, pending: None, report: None, camera, group, pipeline }
    }
}
