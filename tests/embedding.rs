//! Cloth inside somebody else's wgpu program: their device, their encoder, their submissions.

mod common;

use std::sync::Arc;

use common::*;
use taut::mesh::Link;
use taut::solid::{Grid, icosphere};
use taut::stage::phase;
use taut::{
    Cloth, Error, FrameInput, Gpu, PinTarget, Pose, Report, Scene, Settings, Snapshot, Solid, SolidShape, Substeps,
    Wind, scene, vertex_attribute, vertex_layout, wgpu,
};

fn settings() -> Settings {
    Settings { substeps: Substeps::Fixed(4), ..Default::default() }
}

fn on(gpu: &Gpu, scene: Scene) -> Cloth {
    Cloth::on_gpu(gpu, scene.with_settings(settings())).unwrap()
}

fn encoder(gpu: &Gpu) -> wgpu::CommandEncoder {
    gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
}

fn submit(gpu: &Gpu, encoder: wgpu::CommandEncoder) {
    gpu.queue().submit([encoder.finish()]);
}

fn bits(positions: &[[f32; 3]]) -> Vec<u32> {
    positions.iter().flatten().map(|x| x.to_bits()).collect()
}

/// Positions and velocities, bit for bit, in a form that a failed assertion prints in one line.
fn state(cloth: &Cloth) -> u64 {
    let mut words = bits(&cloth.snapshot().unwrap().positions);
    words.extend(bits(&cloth.velocities().unwrap()));
    words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ u64::from(*word)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn recorded_frames_equal_stepped_frames() {
    for gpu in gpus() {
        let (mut stepped, mut recorded) = (on(&gpu, scene::hang(9).unwrap()), on(&gpu, scene::hang(9).unwrap()));
        for _ in 0..3 {
            stepped.step(&frame(FRAME)).unwrap();
            let mut encoder = encoder(&gpu);
            let told = recorded.encoded_dispatches(FRAME).unwrap();
            let dispatches = recorded.encode_step(&mut encoder, &frame(FRAME)).unwrap();
            assert_eq!(told, dispatches);
            assert!(dispatches <= recorded.settings().dispatch_budget);
            submit(&gpu, encoder);
            assert_eq!(recorded.snapshot().unwrap().report.exhausted_solves, 0);
        }
        // The budget changes cost, never results, while it does not run out.
        assert_eq!(state(&stepped), state(&recorded), "{}", name(&gpu));
    }
}

#[test]
fn two_frames_in_one_encoder_equal_two_submissions() {
    for gpu in gpus() {
        let (mut together, mut apart) = (on(&gpu, scene::hang(9).unwrap()), on(&gpu, scene::hang(9).unwrap()));
        let pin = together.mesh().pins()[0];
        let goals = [[0.02, 0.01, 0.0], [0.03, -0.02, 0.01]];
        let mut both = encoder(&gpu);
        for goal in goals {
            let targets = [PinTarget { vertex: pin, position: goal }];
            let input = FrameInput { dt: FRAME, pin_targets: &targets };
            together.encode_step(&mut both, &input).unwrap();
            let mut one = encoder(&gpu);
            apart.encode_step(&mut one, &input).unwrap();
            submit(&gpu, one);
        }
        submit(&gpu, both);
        assert_eq!(state(&together), state(&apart), "{}", name(&gpu));
        assert_eq!(together.snapshot().unwrap().positions[pin as usize], goals[1]);
    }
}

#[test]
fn nothing_happens_in_no_time() {
    for gpu in gpus() {
        let mut cloth = on(&gpu, scene::hang(9).unwrap());
        cloth.step(&frame(FRAME)).unwrap();
        let before = state(&cloth);
        let mut encoder = encoder(&gpu);
        assert_eq!(cloth.encode_step(&mut encoder, &frame(0.0)).unwrap(), 0);
        submit(&gpu, encoder);
        cloth.step(&frame(0.0)).unwrap();
        assert_eq!(before, state(&cloth));
    }
}

#[test]
fn a_small_budget_is_kept_and_its_shortfall_reported() {
    let Some(gpu) = gpu() else { return };
    let method = method("fast-projection-diagonal");
    let hard = || Settings { strain_limit: 1e-4, dispatch_budget: 400, method: method.clone(), ..settings() };
    let mut cloth = Cloth::on_gpu(&gpu, scene::hang(9).unwrap().with_settings(hard())).unwrap();
    let mut missed = 0;
    for _ in 0..12 {
        let mut encoder = encoder(&gpu);
        assert!(cloth.encode_step(&mut encoder, &frame(FRAME)).unwrap() <= 400);
        submit(&gpu, encoder);
        let Snapshot { positions, report, .. } = cloth.snapshot().unwrap();
        assert!(report.dispatches <= 400);
        // By lengths that are measured here, not by the report's own strain.
        let place = |v: u32| positions[v as usize].map(f64::from);
        let length = |[a, b]: [[f64; 3]; 2]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        let strain = |edge: &Link| (length([place(edge.tail), place(edge.head)]) / f64::from(edge.rest) - 1.0).abs();
        let worst = cloth.mesh().edges().iter().map(strain).fold(0.0, f64::max);
        assert_eq!(report.converged, Some(worst <= 1e-4), "{worst}");
        assert!(report.converged == Some(true) || report.missed_substeps > 0, "{report:?}");
        missed += u32::from(report.converged == Some(false));
    }
    assert!(missed > 0, "a budget that always suffices shows nothing");
    cloth.change(|settings| settings.dispatch_budget = 20).unwrap();
    let outcome = cloth.encode_step(&mut encoder(&gpu), &frame(FRAME));
    assert!(matches!(outcome, Err(Error::Budget { budget: 20, needed }) if needed > 20), "{outcome:?}");
}

#[test]
fn a_report_arrives_without_being_waited_for() {
    let Some(gpu) = gpu() else { return };
    let mut cloth = on(&gpu, scene::hang(9).unwrap());
    let mut encoder = encoder(&gpu);
    cloth.encode_step(&mut encoder, &frame(FRAME)).unwrap();
    let mut plain = cloth.encode_report(&mut encoder, false).unwrap();
    let full = cloth.encode_report(&mut encoder, true).unwrap();
    assert!(plain.try_take().is_none(), "nothing was submitted yet");
    submit(&gpu, encoder);
    // The host polls, as it does every frame; the library never does.
    gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let report = plain.try_take().unwrap().unwrap().report;
    assert_eq!(report.converged, None, "without positions nothing is promised");
    assert!(report.device_strain > 0.0 && report.device_strain <= 0.01, "{report:?}");
    assert_eq!(report.substeps, 4);
    let full = full.wait().unwrap();
    assert_eq!(full.report.converged, Some(true));
    assert!(full.report.strain.unwrap().max <= 0.01);
    assert_eq!(full.positions.len(), 81);
}

#[test]
fn a_report_is_waited_for_as_long_as_its_encoder_can_come() {
    let Some(gpu) = gpu() else { return };
    let mut cloth = on(&gpu, scene::hang(9).unwrap());
    let mut submitted = encoder(&gpu);
    cloth.encode_step(&mut submitted, &frame(FRAME)).unwrap();
    let report = cloth.encode_report(&mut submitted, true).unwrap();
    let awaited = cloth.encode_report(&mut submitted, true).unwrap();
    submit(&gpu, submitted);
    let report = report.wait().unwrap();
    assert_eq!(report.report.converged, Some(true));
    assert_eq!(pollster::block_on(awaited.wait_async()).unwrap().positions, report.positions);
    // One that nobody submits is an error, not a hang.
    let mut kept = encoder(&gpu);
    let never = cloth.encode_report(&mut kept, false).unwrap();
    assert!(matches!(never.wait(), Err(Error::Device { .. })));
    drop(kept);
}

#[test]
fn folding_to_two_dimensions_changes_no_bit() {
    // 14 × 14 vertices and their edges are 4 and 6 workgroups: at most 3 in a dimension folds both.
    let whole = gpu_with(Gpu::required_limits());
    let folded = gpu_with(wgpu::Limits { max_compute_workgroups_per_dimension: 3, ..Gpu::required_limits() });
    let (Some(whole), Some(folded)) = (whole, folded) else {
        assert!(!gpu_required());
        return;
    };
    for (solver, _) in methods() {
        let run = |gpu: &Gpu| {
            let method = method(solver);
            let scene = scene::curtain(11).unwrap();
            let settings = Settings { substeps: Substeps::Fixed(6), method, ..Default::default() };
            let mut cloth = Cloth::on_gpu(gpu, scene.with_settings(settings)).unwrap();
            for _ in 0..4 {
                cloth.step(&frame(FRAME)).unwrap();
            }
            state(&cloth)
        };
        assert_eq!(run(&whole), run(&folded), "{solver}");
    }
    // Beyond two folded dimensions it is refused by name.
    let one = gpu_with(wgpu::Limits { max_compute_workgroups_per_dimension: 1, ..Gpu::required_limits() });
    if let Some(one) = one {
        let outcome = Cloth::on_gpu(&one, scene::curtain(14).unwrap().with_settings(settings()));
        let limit = "max_compute_workgroups_per_dimension";
        assert!(matches!(outcome, Err(Error::Limit { limit: found, .. }) if found == limit), "{outcome:?}");
    }
}

#[test]
fn too_large_a_mesh_is_refused_before_it_is_allocated() {
    let Some(gpu) = gpu_with(wgpu::Limits { max_storage_buffer_binding_size: 1024, ..Gpu::required_limits() }) else {
        assert!(!gpu_required());
        return;
    };
    let outcome = Cloth::on_gpu(&gpu, scene::curtain(9).unwrap().with_settings(settings()));
    match outcome {
        Err(Error::Limit { limit: "max_storage_buffer_binding_size", needed, available: 1024 }) => {
            let scene = scene::curtain(9).unwrap();
            assert_eq!(needed, Cloth::memory_estimate(&scene.with_settings(settings())).unwrap().largest);
        }
        other => panic!("{other:?}"),
    }
    Cloth::on_gpu(&gpu, scene::curtain(4).unwrap().with_settings(settings())).unwrap();
}

#[test]
fn a_device_with_less_than_the_needed_limits_is_refused() {
    let limits = wgpu::Limits { max_storage_buffers_per_shader_stage: 4, ..Gpu::required_limits() };
    let Some(adapter) = adapters().into_iter().next() else { return };
    let descriptor = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).unwrap();
    let outcome = Gpu::new(&device, &queue);
    let expected = "max_storage_buffers_per_shader_stage";
    assert!(matches!(outcome, Err(Error::Limit { limit, needed: 8, available: 4 }) if limit == expected));
}

#[test]
fn every_limit_that_is_too_low_is_refused_by_its_name() {
    let Some(adapter) = adapters().into_iter().next() else { return };
    let required = Gpu::required_limits;
    let lowered = [
        (
            "max_uniform_buffers_per_shader_stage",
            wgpu::Limits { max_uniform_buffers_per_shader_stage: 1, ..required() },
        ),
        ("max_uniform_buffer_binding_size", wgpu::Limits { max_uniform_buffer_binding_size: 64, ..required() }),
        (
            "max_dynamic_uniform_buffers_per_pipeline_layout",
            wgpu::Limits { max_dynamic_uniform_buffers_per_pipeline_layout: 0, ..required() },
        ),
        ("max_bindings_per_bind_group", wgpu::Limits { max_bindings_per_bind_group: 90, ..required() }),
    ];
    for (expected, required_limits) in lowered {
        let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).unwrap();
        let outcome = Gpu::new(&device, &queue)
            .and_then(|gpu| Cloth::on_gpu(&gpu, scene::hang(5).unwrap().with_settings(settings())).map(drop));
        match outcome {
            Err(Error::Limit { limit, needed, available }) => {
                assert_eq!(limit, expected);
                assert!(needed > available, "{limit}: {needed}, {available}");
            }
            other => panic!("{expected}: {other:?}"),
        }
    }
}

#[test]
fn what_is_not_finite_never_becomes_public() {
    for gpu in gpus() {
        let mut cloth = on(&gpu, scene::hang(9).unwrap());
        let mut twin = cpu(scene::hang(9).unwrap(), settings());
        for cloth in [&mut cloth, &mut twin] {
            for _ in 0..3 {
                cloth.step(&frame(FRAME)).unwrap();
            }
            let before = state(cloth);
            // An impulse that overflows the velocity of a vertex of a gram.
            cloth.add_impulse(40, [3e38, 0.0, 0.0]).unwrap();
            cloth.step(&frame(FRAME)).unwrap();
            let snapshot = cloth.snapshot().unwrap();
            assert!(snapshot.report.rejected);
            assert_eq!(snapshot.report.converged, Some(false));
            assert_eq!(snapshot.report.substeps, 0);
            assert_eq!(before, state(cloth), "the last good state stays");
            assert!(cloth.pin_forces().unwrap().iter().flatten().all(|x| x.is_finite()));
            // And life goes on.
            cloth.step(&frame(FRAME)).unwrap();
            let snapshot = cloth.snapshot().unwrap();
            assert!(!snapshot.report.rejected && snapshot.report.converged == Some(true));
            assert_ne!(before, state(cloth));
        }
    }
}

#[test]
fn steps_are_timed_by_the_devices_clock_where_it_is_asked_for() {
    for adapter in &adapters() {
        let gpu = Gpu::open_timed(adapter).unwrap();
        let clock = adapter.features().contains(wgpu::Features::TIMESTAMP_QUERY);
        let mut cloth = on(&gpu, scene::hang(9).unwrap());
        let mut plain = on(&Gpu::open(adapter).unwrap(), scene::hang(9).unwrap());
        assert_eq!(cloth.gpu_seconds(), None, "nothing was stepped yet");
        for _ in 0..3 {
            let wall = std::time::Instant::now();
            cloth.step(&frame(FRAME)).unwrap();
            let wall = wall.elapsed().as_secs_f64();
            let seconds = cloth.gpu_seconds();
            assert_eq!(seconds.is_some(), clock);
            // No more than the whole step, and not nothing.
            assert!(seconds.is_none_or(|seconds| seconds > 1e-7 && seconds <= wall), "{seconds:?} of {wall} s");
            // Its parts are all of it but for what is between them.
            let parts = phase::ALL.map(|phase| cloth.gpu_phase_seconds(phase));
            assert!(parts.iter().all(|part| part.is_some() == clock), "{parts:?}");
            if let Some(seconds) = seconds {
                let sum: f64 = parts.iter().flatten().sum();
                assert!(sum <= 1.001 * seconds && sum > 0.3 * seconds, "{parts:?} of {seconds} s");
                let of = |phase| cloth.gpu_phase_seconds(phase).unwrap_or(0.0);
                assert!(of(phase::PROJECTION) > of(phase::NORMALS) && of(phase::CONTACT) == 0.0, "{parts:?}");
            }
            plain.step(&frame(FRAME)).unwrap();
            assert_eq!(plain.gpu_seconds(), None);
        }
        assert_eq!(state(&cloth), state(&plain), "measuring changes nothing");
    }
    let plain = cpu(scene::hang(9).unwrap(), settings());
    assert_eq!((plain.gpu_seconds(), plain.gpu_phase_seconds(phase::PROJECTION)), (None, None));
}

#[test]
fn the_hosts_error_handler_sees_nothing_of_ours() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    let Some(gpu) = gpu() else { return };
    let seen = Arc::new(AtomicU32::new(0));
    let counter = seen.clone();
    gpu.device().on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
        eprintln!("host saw: {error}");
        counter.fetch_add(1, Ordering::Relaxed);
    }));
    let mut cloth = on(&gpu, scene::hang(9).unwrap());
    cloth.step(&frame(FRAME)).unwrap();
    cloth.snapshot().unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), 0);
    // The scopes are balanced: an error of the host's own still reaches its handler.
    let size = gpu.device().limits().max_buffer_size + 4;
    let usage = wgpu::BufferUsages::VERTEX;
    let _ = gpu.device().create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    assert_eq!(seen.load(Ordering::Relaxed), 1);
}

#[test]
fn a_lost_device_is_an_error_not_a_panic() {
    let Some(gpu) = gpu() else { return };
    let mut cloth = on(&gpu, scene::hang(9).unwrap());
    cloth.step(&frame(FRAME)).unwrap();
    gpu.device().destroy();
    let outcome = cloth.step(&frame(FRAME)).and_then(|()| cloth.snapshot());
    assert!(matches!(outcome, Err(Error::DeviceLost)), "{outcome:?}");
    let outcome = Cloth::on_gpu(&gpu, scene::hang(9).unwrap().with_settings(settings()));
    assert!(matches!(outcome, Err(Error::DeviceLost)), "{outcome:?}");
}

#[test]
fn cloths_share_pipelines_and_keep_to_themselves() {
    let Some(gpu) = gpu() else { return };
    let mut alone = on(&gpu, scene::hang(9).unwrap());
    let mut many: Vec<Cloth> = (0..5).map(|_| on(&gpu, scene::hang(9).unwrap())).collect();
    let mut encoder = encoder(&gpu);
    for cloth in &mut many {
        cloth.encode_step(&mut encoder, &frame(FRAME)).unwrap();
    }
    submit(&gpu, encoder);
    alone.step(&frame(FRAME)).unwrap();
    for cloth in &many {
        assert_eq!(state(cloth), state(&alone));
    }
}

#[test]
fn the_solver_can_be_exchanged_while_running() {
    let Some(gpu) = gpu() else { return };
    let mut cloth = on(&gpu, scene::hang(9).unwrap());
    for (name, method) in methods() {
        pollster::block_on(cloth.change_async(|settings| settings.method = method)).unwrap();
        for _ in 0..3 {
            cloth.step(&frame(FRAME)).unwrap();
        }
        let report = cloth.snapshot().unwrap().report;
        assert_eq!(report.converged, Some(true), "{name}: {report:?}");
    }
    let wrong = taut::Method::Jacobi(taut::Jacobi { relaxation: 2.0, ..Default::default() });
    let refused = pollster::block_on(cloth.change_async(|settings| settings.method = wrong));
    assert!(matches!(refused, Err(Error::OutOfRange { field: "relaxation", .. })));
    cloth.step(&frame(FRAME)).unwrap();
}

#[test]
fn the_buffers_draw_as_they_are() {
    let Some(gpu) = gpu() else { return };
    let mut cloth = on(&gpu, scene::sheet(9).unwrap());
    cloth.step(&frame(FRAME)).unwrap();
    let pixels = draw(&gpu, &cloth);
    // Seen along y, x and z from 0 to 1 fill the quarter of clip space from the middle to a corner, and the normals
    // point along ±y, which is green. Blue is where wgpu calls that side the front to which the normal points.
    let covered = pixels.iter().filter(|pixel| pixel[3] == 255).count();
    assert!((900..=1100).contains(&covered), "{covered} of 4096 pixels");
    assert!(pixels.iter().filter(|pixel| pixel[3] == 255).all(|p| p[1] > 250 && p[0] < 5 && p[2] > 250));
    // The normals are there before the first step as well.
    assert_eq!(draw(&gpu, &on(&gpu, scene::sheet(9).unwrap())).iter().filter(|pixel| pixel[3] == 255).count(), covered);
}

/// What the last frame did, without what was no motion: a renderer draws it as a motion vector.
#[test]
fn previous_positions_are_those_at_the_start_of_the_last_frame() {
    let kept = || {
        let mut scene = scene::hang(9).unwrap();
        scene.settings.keep_previous = true;
        scene
    };
    let now = |cloth: &Cloth| cloth.snapshot().unwrap().positions;
    let before = |cloth: &Cloth| cloth.previous_positions().unwrap();
    let farthest = |cloth: &Cloth| {
        let apart = |(a, b): (&[f32; 3], &[f32; 3])| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>().sqrt();
        now(cloth).iter().zip(&before(cloth)).map(apart).fold(0.0, f32::max)
    };
    for gpu in [None, gpu()] {
        let made = |scene: Scene| match &gpu {
            Some(gpu) => Cloth::on_gpu(gpu, scene).unwrap(),
            None => Cloth::on_cpu(scene).unwrap(),
        };
        let mut cloth = made(kept());
        assert_eq!(before(&cloth), now(&cloth), "before the first frame");
        for _ in 0..3 {
            let start = now(&cloth);
            cloth.step(&frame(FRAME)).unwrap();
            assert_eq!(before(&cloth), start);
        }
        let moved = farthest(&cloth);
        assert!(moved > 1e-3, "{moved}");
        // What is too short to be simulated moves nothing.
        cloth.step(&frame(0.0)).unwrap();
        assert_eq!(before(&cloth), now(&cloth));
        cloth.step(&frame(FRAME)).unwrap();
        cloth.step(&frame(2e-5)).unwrap();
        assert_eq!(before(&cloth), now(&cloth));
        // A jump of ten metres is none of a frame.
        cloth.teleport(Pose { rotation: [0.0, 0.6, 0.0, 0.8], translation: [0.0, 10.0, 0.0] }).unwrap();
        cloth.step(&frame(FRAME)).unwrap();
        assert!(before(&cloth)[40][1] > 8.0 && farthest(&cloth) < 0.1, "{}", farthest(&cloth));
        let saved = cloth.checkpoint().unwrap();
        cloth.reset().unwrap();
        assert_eq!(before(&cloth), now(&cloth));
        cloth.restore(&saved).unwrap();
        assert_eq!(before(&cloth), now(&cloth));
        // It begins while a cloth runs, and is not there otherwise.
        let mut plain = made(scene::hang(9).unwrap());
        plain.step(&frame(FRAME)).unwrap();
        assert!(plain.previous_position_buffer().is_none());
        assert!(matches!(plain.previous_positions(), Err(Error::Field { .. })));
        plain.change(|settings| settings.keep_previous = true).unwrap();
        assert_eq!(before(&plain), now(&plain));
        let start = now(&plain);
        plain.step(&frame(FRAME)).unwrap();
        assert_eq!(before(&plain), start);
        plain.change(|settings| settings.keep_previous = false).unwrap();
        assert!(plain.previous_position_buffer().is_none());
        let Some(gpu) = &gpu else { continue };
        let buffer = cloth.previous_position_buffer().unwrap();
        assert!(buffer.usage().contains(wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::STORAGE));
        assert_eq!(buffer.size(), cloth.position_buffer().unwrap().size());
        // Recorded frames keep it as well, those without a length included.
        let start = now(&cloth);
        let mut recorded = encoder(gpu);
        cloth.encode_step(&mut recorded, &frame(FRAME)).unwrap();
        submit(gpu, recorded);
        assert_eq!(before(&cloth), start);
        let mut recorded = encoder(gpu);
        assert_eq!(cloth.encode_step(&mut recorded, &frame(0.0)).unwrap(), 0);
        submit(gpu, recorded);
        assert_eq!(before(&cloth), now(&cloth));
    }
}

/// Draws the cloth along y with its own buffers into 64 × 64 pixels. The color is |x| and |y| of the normal, and
/// whether normal and winding agree about the side that is seen: with x to the right and z upwards that is the one
/// towards −y.
fn draw(gpu: &Gpu, cloth: &Cloth) -> Vec<[u8; 4]> {
    let device = gpu.device();
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(
            "struct Out { @builtin(position) clip: vec4<f32>, @location(0) normal: vec3<f32> }
             @vertex fn vertex(@location(0) p: vec3<f32>, @location(1) n: vec3<f32>) -> Out {
                 return Out(vec4<f32>(p.x, p.z, 0.5, 1.0), n);
             }
             @fragment fn fragment(in: Out, @builtin(front_facing) front: bool) -> @location(0) vec4<f32> {
                 return vec4<f32>(abs(in.normal.xy), select(0.0, 1.0, front == (in.normal.y < 0.0)), 1.0);
             }"
            .into(),
        ),
    });
    let format = wgpu::TextureFormat::Rgba8Unorm;
    let (position, normal) = ([vertex_attribute(0)], [vertex_attribute(1)]);
    let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: None,
        layout: None,
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: None,
            compilation_options: Default::default(),
            buffers: &[Some(vertex_layout(&position)), Some(vertex_layout(&normal))],
        },
        primitive: Default::default(),
        depth_stencil: None,
        multisample: Default::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: None,
            compilation_options: Default::default(),
            targets: &[Some(format.into())],
        }),
        multiview_mask: None,
        cache: None,
    });
    let size = wgpu::Extent3d { width: 64, height: 64, depth_or_array_layers: 1 };
    let texture = device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size,
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let view = texture.create_view(&Default::default());
    let readable = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 64 * 64 * 4,
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = encoder(gpu);
    {
        let attachment = wgpu::RenderPassColorAttachment {
            view: &view,
            depth_slice: None,
            resolve_target: None,
            ops: wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT), store: wgpu::StoreOp::Store },
        };
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[Some(attachment)],
            ..Default::default()
        });
        let (indices, count) = cloth.index_buffer().unwrap();
        pass.set_pipeline(&pipeline);
        pass.set_vertex_buffer(0, cloth.position_buffer().unwrap().slice(..));
        pass.set_vertex_buffer(1, cloth.normal_buffer().unwrap().slice(..));
        pass.set_index_buffer(indices.slice(..), wgpu::IndexFormat::Uint32);
        pass.draw_indexed(0..count, 0, 0..1);
    }
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(256), rows_per_image: None };
    encoder.copy_texture_to_buffer(
        texture.as_image_copy(),
        wgpu::TexelCopyBufferInfo { buffer: &readable, layout },
        size,
    );
    submit(gpu, encoder);
    readable.slice(..).map_async(wgpu::MapMode::Read, |outcome| outcome.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let bytes = readable.slice(..).get_mapped_range().unwrap().to_vec();
    bytes.chunks_exact(4).map(|pixel| [pixel[0], pixel[1], pixel[2], pixel[3]]).collect()
}

#[test]
fn the_size_of_submissions_changes_no_bit() {
    let Some(gpu) = gpu() else { return };
    let run = |each: u32| {
        let settings = Settings { dispatches_per_submission: each, ..settings() };
        let mut cloth = Cloth::on_gpu(&gpu, scene::hang(9).unwrap().with_settings(settings)).unwrap();
        for _ in 0..3 {
            cloth.step(&frame(FRAME)).unwrap();
        }
        state(&cloth)
    };
    let whole = run(2000);
    assert_eq!(whole, run(7));
    assert_eq!(whole, run(1));
}

#[test]
fn the_state_can_be_set_on_both_sides_alike() {
    for gpu in gpus() {
        let mut cloths = [on(&gpu, scene::curtain(9).unwrap()), cpu(scene::curtain(9).unwrap(), settings())];
        for cloth in &mut cloths {
            for _ in 0..3 {
                cloth.step(&frame(FRAME)).unwrap();
            }
            let (positions, velocities) = (cloth.snapshot().unwrap().positions, cloth.velocities().unwrap());
            cloth.reset().unwrap();
            let fresh = cloth.snapshot().unwrap();
            assert_eq!(fresh.positions, scene::curtain(9).unwrap().start);
            assert_eq!((fresh.report.rejected, fresh.report.iterations, fresh.report.dispatches), (false, 0, 0));
            assert!(cloth.velocities().unwrap().iter().flatten().all(|v| *v == 0.0));
            cloth.set_state(&positions, &velocities).unwrap();
            cloth.teleport(Pose { translation: [1.0, 0.5, 0.0], ..Default::default() }).unwrap();
            cloth.change(|settings| settings.gravity = [0.0, -1.6, 0.0]).unwrap();
            cloth.step(&frame(FRAME)).unwrap();
        }
        let [there, here] = cloths.map(|cloth| cloth.snapshot().unwrap().positions);
        for (a, b) in there.iter().flatten().zip(here.iter().flatten()) {
            assert!((a - b).abs() < 1e-5, "{} m apart on {}", (a - b).abs(), name(&gpu));
        }
    }
}

#[test]
fn wind_begins_and_ends_while_a_cloth_runs() {
    let wind = Some(Wind { velocity: [0.0, 0.0, 4.0], ..Default::default() });
    let windy = Settings { wind, ..settings() };
    let check = |name: String, make: &dyn Fn(Settings) -> Cloth| {
        let [mut late, mut always, mut never] = [settings(), windy.clone(), settings()].map(make);
        let step = |cloth: &mut Cloth| {
            cloth.step(&frame(FRAME)).unwrap();
            state(cloth)
        };
        // It blows from the first frame on, whether it was there before or not.
        late.change(|settings| settings.wind = wind).unwrap();
        assert_eq!(step(&mut late), step(&mut always), "{name}");
        assert_ne!(state(&late), step(&mut never), "{name}");
        // Then all are put to the same place, where nothing blows.
        for cloth in [&mut late, &mut always, &mut never] {
            cloth.change(|settings| settings.wind = None).unwrap();
            cloth.reset().unwrap();
        }
        let calm = step(&mut never);
        assert_eq!([step(&mut late), step(&mut always)], [calm, calm], "{name}");
    };
    check("the CPU".into(), &|settings| cpu(scene::curtain(9).unwrap(), settings));
    for gpu in gpus() {
        check(name(&gpu), &|settings| Cloth::on_gpu(&gpu, scene::curtain(9).unwrap().with_settings(settings)).unwrap());
    }
}

#[test]
fn a_dropped_step_does_no_harm() {
    use std::task::{Context, Waker};
    let Some(gpu) = gpu() else { return };
    let mut cloth = on(&gpu, scene::hang(9).unwrap());
    cloth.step(&frame(FRAME)).unwrap();
    {
        let input = frame(FRAME);
        let mut step = std::pin::pin!(cloth.step_async(&input));
        // It waits for its first look at a loop; nobody polls the device, and then nobody wants it any more.
        let polled = step.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
    }
    let before = state(&cloth);
    cloth.step(&frame(FRAME)).unwrap();
    let report = cloth.snapshot().unwrap().report;
    assert_eq!((report.converged, report.substeps), (Some(true), 4));
    assert_ne!(before, state(&cloth));
}

#[test]
fn an_asynchronous_step_can_be_sent_to_another_thread() {
    fn sendable<T: Send>(_: &T) {}
    let Some(gpu) = gpu() else { return };
    let mut cloth = on(&gpu, scene::hang(9).unwrap());
    let device = gpu.device().clone();
    let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flag = done.clone();
    // Somebody else polls, as the documentation asks.
    let poller = std::thread::spawn(move || {
        while !flag.load(std::sync::atomic::Ordering::Relaxed) {
            device.poll(wgpu::PollType::Poll).unwrap();
            std::thread::yield_now();
        }
    });
    let input = frame(FRAME);
    let step = cloth.step_async(&input);
    sendable(&step);
    pollster::block_on(step).unwrap();
    let snapshot = pollster::block_on(cloth.snapshot_async()).unwrap();
    assert_eq!(snapshot.report.converged, Some(true));
    assert_eq!(pollster::block_on(cloth.velocities_async()).unwrap().len(), 81);
    assert_eq!(pollster::block_on(cloth.pin_forces_async()).unwrap().len(), 2);
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    poller.join().unwrap();
}

#[test]
fn six_hundred_dispatches_hold_a_cloth_of_71_by_71() {
    let Some(gpu) = gpu() else { return };
    let settings = Settings { dispatch_budget: 600, ..Default::default() };
    let mut cloth = Cloth::on_gpu(&gpu, scene::hang(71).unwrap().with_settings(settings)).unwrap();
    // The moment when it is caught is the hardest: there by the CPU, then four frames as a renderer records them.
    let mut twin = cpu(scene::hang(71).unwrap(), Settings::default());
    for _ in 0..26 {
        twin.step(&frame(FRAME)).unwrap();
    }
    cloth.set_state(&twin.snapshot().unwrap().positions, &twin.velocities().unwrap()).unwrap();
    for _ in 0..4 {
        let mut encoder = encoder(&gpu);
        let dispatches = cloth.encode_step(&mut encoder, &frame(FRAME)).unwrap();
        assert!((500..=600).contains(&dispatches), "the budget is used: {dispatches}");
        submit(&gpu, encoder);
        let report = cloth.snapshot().unwrap().report;
        assert_eq!(report.converged, Some(true), "{report:?}");
    }
}

/// Reports of frames as a renderer records them, with the targets of the pins in each.
fn recorded(gpu: &Gpu, cloth: &mut Cloth, frames: u32, goal: impl Fn([f32; 3], f32) -> [f32; 3]) -> Vec<Report> {
    let pins = cloth.mesh().pins().to_vec();
    let start = cloth.snapshot().unwrap().positions;
    let mut reports = Vec::new();
    for number in 1..=frames {
        let at = |vertex: u32| goal(start[vertex as usize], number as f32 * FRAME);
        let targets: Vec<PinTarget> = pins.iter().map(|pin| PinTarget { vertex: *pin, position: at(*pin) }).collect();
        let mut encoder = encoder(gpu);
        let input = FrameInput { dt: FRAME, pin_targets: &targets };
        let dispatches = cloth.encode_step(&mut encoder, &input).unwrap();
        assert!(dispatches <= cloth.settings().dispatch_budget);
        submit(gpu, encoder);
        reports.push(cloth.snapshot().unwrap().report);
    }
    reports
}

fn damped() -> Settings {
    Settings { damping: 0.001, ..Default::default() }
}

/// Both corners of a cape swing around.
fn carried([x, y, z]: [f32; 3], time: f32) -> [f32; 3] {
    let (sine, cosine) = (std::f32::consts::TAU * 0.8 * time).sin_cos();
    [x + 0.15 * sine, y + 0.09 * sine * cosine, z + 0.15 * (1.0 - cosine)]
}

#[test]
fn damped_cloth_holds_its_limit_as_recorded() {
    let Some(gpu) = gpu() else { return };
    // The default budget, and for a cape with moving pins the one that the cloth names.
    for (scene, frames, named) in
        [(scene::hang(31), 30, false), (scene::patch(31), 30, false), (scene::hang(41), 60, true)]
    {
        let mut cloth = Cloth::on_gpu(&gpu, scene.unwrap().with_settings(damped())).unwrap();
        let cost = cloth.frame_cost(FRAME).unwrap();
        if named {
            cloth.change(|settings| settings.dispatch_budget = cost.enough).unwrap();
        }
        let goal = if named { carried } else { |start: [f32; 3], _: f32| start };
        for report in recorded(&gpu, &mut cloth, frames, goal) {
            assert_eq!(report.converged, Some(true), "{cost:?} {report:?}");
            assert!(report.planned_substeps >= report.wanted_substeps, "{cost:?} {report:?}");
        }
    }
}

#[test]
fn a_budget_that_cannot_hold_the_limit_is_told_before_and_after() {
    let Some(gpu) = gpu() else { return };
    let mut cloth = Cloth::on_gpu(&gpu, scene::hang(41).unwrap().with_settings(damped())).unwrap();
    let cost = cloth.frame_cost(FRAME).unwrap();
    assert!(cost.least < 200 && cost.enough < 2000 && cost.whole > 10_000, "{cost:?}");
    assert_eq!(cost, cpu(scene::hang(41).unwrap(), damped()).frame_cost(FRAME).unwrap(), "also without a device");
    cloth.change(|settings| settings.dispatch_budget = cost.least - 1).unwrap();
    let outcome = cloth.encoded_dispatches(FRAME);
    assert!(matches!(outcome, Err(Error::Budget { needed, .. }) if needed == cost.least), "{outcome:?} {cost:?}");
    cloth.change(|settings| settings.dispatch_budget = cost.least).unwrap();
    let missed = recorded(&gpu, &mut cloth, 24, carried);
    assert!(missed.iter().any(|report| report.converged == Some(false)), "so little cannot suffice");
    assert!(missed.iter().any(|report| report.wanted_substeps > report.planned_substeps), "and the report says why");
    // Nothing is shortened from `whole` on: what is recorded is what a step does.
    let scene = || scene::hang(16).unwrap();
    let mut whole = Cloth::on_gpu(&gpu, scene().with_settings(damped())).unwrap();
    let mut stepped = Cloth::on_gpu(&gpu, scene().with_settings(damped())).unwrap();
    let cost = whole.frame_cost(FRAME).unwrap();
    whole.change(|settings| settings.dispatch_budget = cost.whole).unwrap();
    assert_eq!(whole.encoded_dispatches(FRAME).unwrap(), cost.whole);
    recorded(&gpu, &mut whole, 3, |start, _| start);
    (0..3).for_each(|_| stepped.step(&frame(FRAME)).unwrap());
    assert_eq!(state(&whole), state(&stepped));
}

#[test]
fn parameters_can_be_tuned_without_compiling() {
    let Some(gpu) = gpu() else { return };
    let jacobi =
        |relaxation: f32, sweeps: u32| taut::Method::Jacobi(taut::Jacobi { relaxation, sweeps, ..Default::default() });
    let settings = Settings { method: jacobi(1.0, 8), strain_limit: 1e-5, ..settings() };
    let mut cloths = [
        Cloth::on_gpu(&gpu, scene::curtain(9).unwrap().with_settings(settings.clone())).unwrap(),
        cpu(scene::curtain(9).unwrap(), settings),
    ];
    for cloth in &mut cloths {
        (0..12).for_each(|_| cloth.step(&frame(FRAME)).unwrap());
        let full = cloth.snapshot().unwrap().report.strain.unwrap().max;
        cloth.reset().unwrap();
        cloth.change(|settings| settings.method = jacobi(0.25, 8)).unwrap();
        (0..12).for_each(|_| cloth.step(&frame(FRAME)).unwrap());
        let weak = cloth.snapshot().unwrap().report.strain.unwrap().max;
        assert!(weak > 1.5 * full, "a quarter of the correction leaves more strain: {weak} and {full}");
        cloth.change(|settings| settings.method = jacobi(0.25, 32)).unwrap();
        cloth.step(&frame(FRAME)).unwrap();
        assert_eq!(cloth.snapshot().unwrap().report.iterations, 4 * 32);
        let refused = cloth.change(|settings| settings.method = jacobi(3.0, 8));
        assert!(matches!(refused, Err(Error::OutOfRange { field: "relaxation", .. })));
    }
}

/// What changes a setting, and whether the step is recorded anew for it.
type Changing = (&'static str, bool, fn(&mut Settings));

const CHANGES: &[Changing] = &[
    ("limit", false, |settings| settings.strain_limit = 1e-3),
    ("gravity", false, |settings| settings.gravity = [1.0, -5.0, 0.0]),
    ("band", false, |settings| settings.stretch_min = 0.5),
    ("drag", false, |settings| settings.drag = 1.0),
    ("wind", false, |settings| settings.wind = Some(Wind { velocity: [0.0, 0.0, 4.0], ..Default::default() })),
    ("damping", false, |settings| settings.damping = 1e-3),
    ("rest", false, |settings| settings.rest_speed = 0.1),
    ("substeps", false, |settings| settings.substeps = Substeps::Fixed(7)),
    ("elasticity", false, |settings| settings.elasticity = taut::Elasticity::Implicit),
    ("submissions", false, |settings| settings.dispatches_per_submission = 50),
    ("budget", false, |settings| settings.dispatch_budget = 5000),
    ("previous", true, |settings| settings.keep_previous = true),
    ("rounds", true, |settings| settings.contact_rounds = 2),
    ("area", true, |settings| settings.area_limit = Some([0.95, 1.05])),
    ("rate", true, |settings| settings.stretch_rate = Some(0.01)),
    ("stepping", true, |settings| settings.stepping = taut::Stepping::Bdf2),
    ("solver", true, |settings| settings.method = taut::Method::GaussSeidel(Default::default())),
    ("sweeps", true, |settings| {
        settings.method = taut::Method::Jacobi(taut::Jacobi { sweeps: 9, ..Default::default() });
    }),
];

/// Every setting: a cloth that is changed before its first frame goes on as one that was made so, to the bit, and only
/// what the recording depends on is recorded anew.
#[test]
fn a_change_is_as_if_the_cloth_was_made_with_it() {
    let scene = || {
        let mut scene = scene::hang(9).unwrap();
        let ball = Solid::new(SolidShape::Sphere { radius: 0.2 }).at([0.5, -0.25, 0.5]);
        scene.solids.push(ball);
        scene
    };
    let check = |on: &dyn Fn(Scene) -> Cloth| {
        for (name, anew, change) in CHANGES {
            let mut changed = on(scene());
            let recording = changed.program().items.as_ptr();
            changed.change(change).unwrap();
            assert_eq!(changed.program().items.as_ptr() != recording, *anew, "{name}");
            let mut other = scene();
            change(&mut other.settings);
            let mut made = on(other);
            assert_eq!(format!("{:?}", changed.settings()), format!("{:?}", made.settings()), "{name}");
            for _ in 0..4 {
                changed.step(&frame(FRAME)).unwrap();
                made.step(&frame(FRAME)).unwrap();
            }
            assert_eq!(state(&changed), state(&made), "{name}");
            // And in motion: it runs on, and back.
            changed.change(|settings| *settings = Settings::default()).unwrap();
            changed.step(&frame(FRAME)).unwrap();
            changed.change(change).unwrap();
            changed.step(&frame(FRAME)).unwrap();
            assert!(!changed.snapshot().unwrap().report.rejected, "{name}");
        }
    };
    check(&|scene| Cloth::on_cpu(scene).unwrap());
    let Some(gpu) = gpu() else { return };
    check(&|scene| Cloth::on_gpu(&gpu, scene).unwrap());
}

/// A second-order step needs a past, which Euler steps do not keep: the first one after a change is an Euler step.
#[test]
fn second_order_steps_begin_without_a_past() {
    let bdf2 = |settings: &mut Settings| settings.stepping = taut::Stepping::Bdf2;
    let scene = || {
        let mut scene = scene::hang(9).unwrap();
        (scene.settings.substeps, scene.settings.elasticity) = (Substeps::Fixed(1), taut::Elasticity::Implicit);
        scene
    };
    let on = |gpu: Option<&Gpu>| match gpu {
        Some(gpu) => Cloth::on_gpu(gpu, scene()).unwrap(),
        None => Cloth::on_cpu(scene()).unwrap(),
    };
    for gpu in [None, gpu()] {
        let (mut changed, mut euler) = (on(gpu.as_ref()), on(gpu.as_ref()));
        for cloth in [&mut changed, &mut euler] {
            (0..10).for_each(|_| cloth.step(&frame(FRAME)).unwrap());
            cloth.teleport(Pose::default()).unwrap();
        }
        changed.change(bdf2).unwrap();
        for cloth in [&mut changed, &mut euler] {
            cloth.step(&frame(FRAME)).unwrap();
        }
        assert_eq!(state(&changed), state(&euler), "the first step is the same");
        let mut plain = on(gpu.as_ref());
        (0..10).for_each(|_| plain.step(&frame(FRAME)).unwrap());
        plain.change(bdf2).unwrap();
        assert!(matches!(plain.checkpoint(), Err(Error::Checkpoint { .. })), "it waits for the next frame");
        plain.step(&frame(FRAME)).unwrap();
        assert_eq!(state(&plain), state(&changed), "nobody has to ask for it");
    }
}

/// Solids that come and go are as if they had always been there, or never, to the bit; baked ones too.
#[test]
fn solids_come_and_go_while_a_cloth_runs() {
    let ball = || Solid { friction: 0.6, ..Solid::new(SolidShape::Sphere { radius: 0.3 }).at([0.5, -0.32, 0.5]) };
    let grid = Arc::new(Grid::bake(&icosphere(0.2, 2), 16, 1 << 20).unwrap());
    let baked = || Solid::new(SolidShape::Grid(grid.clone())).at([0.2, -0.25, 0.2]);
    for gpu in [None, gpu()] {
        let made = |solids: Vec<Solid>| {
            let scene = Scene { solids, ..scene::sheet(12).unwrap() };
            match &gpu {
                Some(gpu) => Cloth::on_gpu(gpu, scene).unwrap(),
                None => Cloth::on_cpu(scene).unwrap(),
            }
        };
        let run = |cloth: &mut Cloth, frames: u32| (0..frames).for_each(|_| cloth.step(&frame(FRAME)).unwrap());
        let mut with = made(vec![ball(), baked()]);
        let mut without = made(Vec::new());
        assert_eq!(without.add_solid(ball()).unwrap(), 0);
        assert_eq!(without.add_solid(baked()).unwrap(), 1);
        run(&mut with, 12);
        run(&mut without, 12);
        assert_eq!(state(&with), state(&without), "they came before the first frame");
        assert!(matches!(made(vec![ball()]).restore(&with.checkpoint().unwrap()), Err(Error::Checkpoint { .. })));
        // In motion, with another surface: nothing gets inside, and the other cloth goes the same way.
        for cloth in [&mut with, &mut without] {
            cloth.change_solid(0, |solid| (solid.friction, solid.thickness) = (0.9, 0.01)).unwrap();
            run(cloth, 12);
            let positions = cloth.snapshot().unwrap().positions;
            let nearest =
                positions.iter().map(|at| cloth.solids()[0].distance(*at)).fold(f64::MAX, |a, b| a.min(b.into()));
            assert!((0.0099..0.02).contains(&nearest), "{nearest} m");
        }
        assert_eq!(state(&with), state(&without));
        // A checkpoint fits a cloth to which the same was done.
        let mut later = made(vec![baked()]);
        later.add_solid(Solid::new(SolidShape::Plane)).unwrap();
        assert!(matches!(later.remove_solid(0).unwrap().shape, SolidShape::Grid(_)));
        later.change_solid(0, |solid| *solid = with.solids()[0].clone()).unwrap();
        later.add_solid(baked()).unwrap();
        later.restore(&with.checkpoint().unwrap()).unwrap();
        run(&mut later, 5);
        run(&mut with, 5);
        assert_eq!(state(&with), state(&later));
        // Without solids it falls on.
        let lowest = |cloth: &Cloth| cloth.snapshot().unwrap().positions.iter().map(|at| at[1]).fold(0.0, f32::min);
        let before = lowest(&with);
        with.remove_solid(0).unwrap();
        with.remove_solid(0).unwrap();
        assert!(with.solids().is_empty() && matches!(with.remove_solid(0), Err(Error::NoSuchSolid { .. })));
        run(&mut with, 30);
        assert!(lowest(&with) < before - 0.5, "{} and {before} m", lowest(&with));
        // A reset brings those back that are there, to where they came.
        without.move_solid(1, Pose::default(), [0.0; 3], [0.0; 3]).unwrap();
        without.reset().unwrap();
        assert_eq!(without.solids()[1].pose.translation, baked().pose.translation);
        assert_eq!(without.solids()[0].friction, 0.9);
    }
}

/// Frames that were recorded before a solid came do not know it, and can be submitted after.
#[test]
fn a_recorded_frame_keeps_its_solids() {
    let Some(gpu) = gpu() else { return };
    let mut cloth = on(&gpu, scene::drape(9).unwrap());
    let mut twin = on(&gpu, scene::drape(9).unwrap());
    let mut before = encoder(&gpu);
    for cloth in [&mut cloth, &mut twin] {
        cloth.encode_step(&mut before, &frame(FRAME)).unwrap();
    }
    cloth.add_solid(Solid::new(SolidShape::Box { half: [1.0; 3] })).unwrap();
    submit(&gpu, before);
    assert_eq!(state(&cloth), state(&twin));
    cloth.step(&frame(FRAME)).unwrap();
    assert_ne!(state(&cloth), state(&twin));
}

/// A normal points to the side from which the corners of its triangles go around counter-clockwise, on every scene and
/// in motion.
#[test]
fn normals_and_winding_agree() {
    for name in scene::NAMES {
        let mut cloth = Cloth::on_cpu(Scene::named(name, 9).unwrap()).unwrap();
        for _ in 0..3 {
            let fields = cloth.fields().unwrap();
            let normals = fields.get::<[f32; 4]>("normals").unwrap();
            let positions = cloth.snapshot().unwrap().positions;
            for corners in cloth.mesh().triangles() {
                let [a, b, c] = corners.map(|corner| positions[corner as usize].map(f64::from));
                let [p, q] = [b, c].map(|end| [0, 1, 2].map(|k| end[k] - a[k]));
                let across = [0, 1, 2].map(|k| p[(k + 1) % 3] * q[(k + 2) % 3] - p[(k + 2) % 3] * q[(k + 1) % 3]);
                for corner in corners {
                    let n = normals[corner as usize];
                    let along: f64 = (0..3).map(|k| across[k] * f64::from(n[k])).sum();
                    assert!(along > 0.0, "{name}: {corners:?}");
                }
            }
            cloth.step(&frame(FRAME)).unwrap();
        }
    }
}
