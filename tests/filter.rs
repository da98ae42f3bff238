//! The velocity filter: one step of a cloth without forces, around foreign code, on the CPU and in a host's buffers.

mod common;

use common::*;
use taut::wgpu::{self, BufferUsages};
use taut::{
    Cloth, Error, FastProjection, Filter, FilterSettings, FrameInput, GaussSeidel, Gpu, Layout, Mesh, MeshDescriptor,
    Method, PinTarget, Scene, Settings, Substeps, scene,
};

const H: f32 = 1.0 / 240.0;

/// A scene whose mesh has no springs: what a filter sees of it. A chain has none.
fn bare(scene: Scene) -> Scene {
    if scene.name == "chain" { scene } else { sheared(scene, 0.0) }
}

/// Candidate velocities of up to 1 m/s.
fn thrown(count: usize, seed: u64) -> Vec<[f32; 3]> {
    let mut random = Random(seed);
    (0..count).map(|_| [(); 3].map(|()| random.within(-1.0, 1.0) as f32)).collect()
}

fn after(positions: &[[f32; 3]], velocities: &[[f32; 3]], dt: f32) -> Vec<[f32; 3]> {
    let moved = |(x, v): (&[f32; 3], &[f32; 3])| [0, 1, 2].map(|axis| x[axis] + dt * v[axis]);
    positions.iter().zip(velocities).map(moved).collect()
}

fn bits(vectors: &[[f32; 3]]) -> Vec<[u32; 3]> {
    vectors.iter().map(|vector| vector.map(f32::to_bits)).collect()
}

/// Largest component of the differences.
fn apart(a: &[[f32; 3]], b: &[[f32; 3]]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().flatten().zip(b.iter().flatten()).fold(0.0, |most, (a, b)| most.max((a - b).abs()))
}

#[test]
fn it_is_one_step_of_a_cloth_without_forces() {
    for (name, method) in methods() {
        // A warm start has no place in a filter, which says so.
        for scene in [scene::hang(12), scene::chain(9), scene::sheet(8), scene::patch(33)] {
            let scene = bare(scene.unwrap());
            let (positions, pins) = (scene.start.clone(), scene.mesh.pins().to_vec());
            let candidates = thrown(positions.len(), 7);
            let led = after(&positions, &candidates, H);
            let settings = Settings {
                method: method.clone(),
                gravity: [0.0; 3],
                substeps: Substeps::Fixed(1),
                ..Default::default()
            };
            let label = format!("{name} {}", scene.name);
            let mesh = scene.mesh.clone();
            let mut cloth = cpu(scene, settings);
            cloth.set_state(&positions, &candidates).unwrap();
            let target = |pin: &u32| PinTarget { vertex: *pin, position: led[*pin as usize] };
            let pin_targets: Vec<PinTarget> = pins.iter().map(target).collect();
            cloth.step(&FrameInput { dt: H, pin_targets: &pin_targets }).unwrap();
            let mut expected = cloth.velocities().unwrap();
            for pin in &pins {
                expected[*pin as usize] = candidates[*pin as usize];
            }
            let mut filter =
                Filter::on_cpu(mesh, FilterSettings { method: method.clone(), ..Default::default() }).unwrap();
            let mut velocities = candidates.clone();
            let report = filter.filter(&positions, &mut velocities, H).unwrap();
            assert_eq!(bits(&velocities), bits(&expected), "{label}");
            assert_ne!(velocities, candidates, "{label}");
            let expected = cloth.snapshot().unwrap().report;
            assert_eq!(
                (report.device_strain, report.iterations),
                (expected.device_strain, expected.iterations),
                "{label}"
            );
            assert_eq!(report.converged, expected.converged, "{label}");
        }
    }
}

/// A sheet whose edges are all 20 % too long is brought back in one call.
#[test]
fn it_needs_no_feasible_start() {
    for method in [Method::default(), Method::FastProjection(FastProjection::default())] {
        let scene = scene::hang(12).unwrap();
        let positions: Vec<[f32; 3]> = scene.start.iter().map(|x| x.map(|x| 1.2 * x)).collect();
        // Hung by one corner: two pins that are 20 % too far apart could not be satisfied.
        let mesh = Mesh::new(MeshDescriptor {
            positions: scene.mesh.positions().to_vec(),
            faces: scene.mesh.faces().to_vec(),
            pins: vec![0],
            ..Default::default()
        });
        let mut filter = Filter::on_cpu(mesh.unwrap(), FilterSettings { method, ..Default::default() }).unwrap();
        let mut velocities = thrown(positions.len(), 3);
        velocities[0] = [0.0; 3];
        let report = filter.filter(&positions, &mut velocities, H).unwrap();
        assert_eq!(report.converged, Some(true), "{report:?}");
    }
}

/// A filtered velocity is filtered already: at a limit near rounding a second call moves no vertex by a micrometre.
#[test]
fn it_does_nothing_twice() {
    for method in [Method::default(), Method::FastProjection(FastProjection::default())] {
        let scene = scene::hang(12).unwrap();
        let positions = scene.start.clone();
        let settings = FilterSettings { strain_limit: 1e-5, method, ..Default::default() };
        let mut filter = Filter::on_cpu(scene.mesh, settings).unwrap();
        let mut velocities = thrown(positions.len(), 3);
        for pin in [0, 11] {
            velocities[pin] = [0.0; 3];
        }
        let report = filter.filter(&positions, &mut velocities, H).unwrap();
        assert_eq!(report.converged, Some(true), "{report:?}");
        let once = velocities.clone();
        let report = filter.filter(&positions, &mut velocities, H).unwrap();
        assert!(report.iterations >= 1, "at least one projection: {report:?}");
        let moved = H * apart(&velocities, &once);
        println!("moved {moved:e} m");
        assert!(moved <= 1e-6, "the second filter moves a vertex by another {moved} m");
    }
}

/// Strictly inside of the band no bit changes; outside of it some do.
#[test]
fn inside_of_its_band_it_is_the_identity() {
    let mesh = bare(scene::sheet(8).unwrap()).mesh;
    let positions = mesh.positions().to_vec();
    let settings = FilterSettings { stretch_min: 0.9, stretch_max: 1.1, ..Default::default() };
    let mut filter = Filter::on_cpu(mesh, settings).unwrap();
    // 0.05 of an edge of 1/7 m in a step.
    let slow: Vec<[f32; 3]> = thrown(positions.len(), 5).iter().map(|v| v.map(|v| v * 0.02 / 7.0 / H)).collect();
    let mut velocities = slow.clone();
    filter.filter(&positions, &mut velocities, H).unwrap();
    // The solver sees h v and gives it back over h.
    let rounded: Vec<[f32; 3]> = slow.iter().map(|v| v.map(|v| H * v / H)).collect();
    assert_eq!(bits(&velocities), bits(&rounded));
    let mut fast: Vec<[f32; 3]> = slow.iter().map(|v| v.map(|v| 10.0 * v)).collect();
    let before = fast.clone();
    filter.filter(&positions, &mut fast, H).unwrap();
    assert!(apart(&fast, &before) > 0.1);
}

/// Nothing of a call is left for the next: loads, multipliers, orders that vary with the frame.
#[test]
fn it_remembers_nothing() {
    let shuffled = Method::GaussSeidel(GaussSeidel { seed: Some(5), ..Default::default() });
    for method in methods().map(|(_, method)| method).chain([shuffled]) {
        let mesh = scene::hang(9).unwrap().mesh;
        let positions = mesh.positions().to_vec();
        let mut filter = Filter::on_cpu(mesh, FilterSettings { method, ..Default::default() }).unwrap();
        let mut run = |seed: u64, dt: f32| {
            let mut velocities = thrown(positions.len(), seed);
            filter.filter(&positions, &mut velocities, dt).unwrap();
            bits(&velocities)
        };
        let first = run(1, H);
        assert_ne!(run(2, 10.0 * H), first);
        // So short a step is one, too.
        assert_ne!(run(2, 1e-5), first);
        assert_eq!(run(1, H), first);
    }
    let warm = FastProjection { warm_start: Some(1.0), ..Default::default() };
    let settings = FilterSettings { method: Method::FastProjection(warm), ..Default::default() };
    let refused = Filter::on_cpu(scene::hang(9).unwrap().mesh, settings);
    assert!(matches!(refused, Err(Error::OutOfRange { field: "warm_start", .. })), "{refused:?}");
}

/// A sheet that nothing holds keeps its momentum and the momentum of its rotation.
#[test]
fn it_takes_no_momentum() {
    let mesh = bare(scene::sheet(9).unwrap()).mesh;
    let (positions, masses) = (mesh.positions().to_vec(), mesh.masses().to_vec());
    let mut filter = Filter::on_cpu(mesh, FilterSettings { strain_limit: 1e-4, ..Default::default() }).unwrap();
    let mut velocities = thrown(positions.len(), 11);
    let momentum = |velocities: &[[f32; 3]]| {
        let mut sum = [0.0f64; 3];
        for (mass, velocity) in masses.iter().zip(velocities) {
            (0..3).for_each(|axis| sum[axis] += f64::from(*mass) * f64::from(velocity[axis]));
        }
        sum
    };
    let before = momentum(&velocities);
    filter.filter(&positions, &mut velocities, H).unwrap();
    let total: f64 = masses.iter().map(|mass| f64::from(*mass)).sum();
    for (before, after) in before.into_iter().zip(momentum(&velocities)) {
        // 1e-6 of the momentum that it would have at 1 m/s.
        assert!((before - after).abs() < 1e-6 * total, "{before} and {after} kg m/s");
    }
}

#[test]
fn a_refused_call_changes_nothing() {
    let mesh = scene::hang(6).unwrap().mesh;
    let positions = mesh.positions().to_vec();
    let candidates = thrown(positions.len(), 1);
    let mut filter = Filter::on_cpu(mesh, FilterSettings::default()).unwrap();
    let fields = filter.fields().unwrap().clone();
    let with = |index: usize, x: f32| {
        let mut vectors = candidates.clone();
        vectors[index][1] = x;
        vectors
    };
    let cases = [
        (positions[1..].to_vec(), candidates.clone(), H, "positions"),
        (positions.clone(), candidates[1..].to_vec(), H, "velocities"),
        (positions.clone(), with(3, f32::NAN), H, "velocities"),
        (with(2, f32::INFINITY), candidates.clone(), H, "positions"),
        (positions.clone(), with(4, 3e38), H, "velocities"),
        (positions.clone(), with(5, 1e12), 1e3, "positions + dt velocities"),
        (positions.clone(), candidates.clone(), 0.0, "dt"),
        (positions.clone(), candidates.clone(), f32::NAN, "dt"),
    ];
    for (positions, before, dt, culprit) in cases {
        let mut velocities = before.clone();
        let error = filter.filter(&positions, &mut velocities, dt).unwrap_err();
        assert!(error.to_string().starts_with(culprit), "{culprit}: {error}");
        assert_eq!(bits(&velocities), bits(&before), "{error}");
    }
    // So far out that positions cannot hold the limit.
    let far: Vec<[f32; 3]> = positions.iter().map(|[x, y, z]| [x + 1e6, *y, *z]).collect();
    let mut velocities = candidates.clone();
    assert!(matches!(filter.filter(&far, &mut velocities, H), Err(Error::StrainLimit { .. })));
    assert_eq!(velocities, candidates);
    let packed = FilterSettings { layout: Layout::Packed, ..Default::default() };
    assert!(matches!(filter.change(&packed), Err(Error::Fixed { field: "layout" })));
    let wrong = FilterSettings { strain_limit: -1.0, ..Default::default() };
    assert!(filter.change(&wrong).is_err());
    for (number, spec) in fields.specs().iter().enumerate() {
        assert!(fields.words(number) == filter.fields().unwrap().words(number), "{} has changed", spec.name);
    }
    // And it works as one that was never asked.
    let mut other = Filter::on_cpu(scene::hang(6).unwrap().mesh, FilterSettings::default()).unwrap();
    let mut expected = candidates.clone();
    other.filter(&positions, &mut expected, H).unwrap();
    filter.filter(&positions, &mut velocities, H).unwrap();
    assert_eq!(bits(&velocities), bits(&expected));
    // What is changed works, too.
    filter.change(&FilterSettings { strain_limit: 1e-4, ..Default::default() }).unwrap();
    assert!(filter.filter(&positions, &mut velocities, H).unwrap().strain.unwrap().max <= 1e-4);
}

/// A host: two buffers with vectors of a layout, and words of its own between them.
struct Host {
    gpu: Gpu,
    stride: usize,
    positions: wgpu::Buffer,
    velocities: wgpu::Buffer,
}

const MINE: f32 = 42.0;

impl Host {
    fn new(gpu: &Gpu, layout: Layout, positions: &[[f32; 3]], velocities: &[[f32; 3]]) -> Self {
        let stride = if layout == Layout::Packed { 3 } else { 4 };
        let source = BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let make = |vectors: &[[f32; 3]], more: usize| {
            let words: Vec<f32> = vectors.iter().flat_map(|v| v.iter().copied().chain([MINE]).take(stride)).collect();
            let size = 4 * (words.len() + more) as u64;
            let buffer = buffer(gpu, size, source);
            gpu.queue().write_buffer(&buffer, 0, bytemuck::cast_slice(&words));
            buffer
        };
        // One of them is longer than it must be.
        Self { gpu: gpu.clone(), stride, positions: make(positions, 5), velocities: make(velocities, 0) }
    }

    fn submit(&self, record: impl FnOnce(&mut wgpu::CommandEncoder)) {
        let mut encoder = self.gpu.device().create_command_encoder(&Default::default());
        record(&mut encoder);
        self.gpu.queue().submit([encoder.finish()]);
    }

    fn velocities(&self) -> Vec<[f32; 3]> {
        let size = self.velocities.size();
        let staging = buffer(&self.gpu, size, BufferUsages::COPY_DST | BufferUsages::MAP_READ);
        self.submit(|encoder| encoder.copy_buffer_to_buffer(&self.velocities, 0, &staging, 0, size));
        staging.map_async(wgpu::MapMode::Read, .., |outcome| outcome.unwrap());
        self.gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let words: Vec<f32> = bytemuck::pod_collect_to_vec(&staging.get_mapped_range(..).unwrap());
        for vector in words.chunks_exact(self.stride).filter(|_| self.stride == 4) {
            assert_eq!(vector[3], MINE, "the host's own word");
        }
        words.chunks_exact(self.stride).map(|vector| [vector[0], vector[1], vector[2]]).collect()
    }
}

fn buffer(gpu: &Gpu, size: u64, usage: BufferUsages) -> wgpu::Buffer {
    gpu.device().create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}

/// In the host's buffers, recorded into its encoder, and with slices: what the CPU does, within rounding.
#[test]
fn on_a_gpu_it_does_what_it_does_on_the_cpu() {
    for gpu in gpus() {
        for layout in [Layout::Padded, Layout::Packed] {
            let mesh = bare(scene::hang(9).unwrap()).mesh;
            let positions = mesh.positions().to_vec();
            let candidates = thrown(positions.len(), 9);
            let settings = FilterSettings { layout, ..Default::default() };
            let mut here = Filter::on_cpu(mesh.clone(), settings.clone()).unwrap();
            let mut expected = candidates.clone();
            let report = here.filter(&positions, &mut expected, H).unwrap();
            let mut there = Filter::on_gpu(&gpu, mesh.clone(), settings).unwrap();
            let host = Host::new(&gpu, layout, &positions, &candidates);
            let mut pending = None;
            host.submit(|encoder| {
                let recorded = there.encode(encoder, &host.positions, &host.velocities, H).unwrap();
                assert!(recorded > 0 && recorded <= 1000, "{recorded}");
                pending = Some(there.encode_report(encoder, true).unwrap());
            });
            let found = host.velocities();
            let snapshot = pending.unwrap().wait().unwrap();
            assert_eq!(snapshot.report.converged, Some(true));
            assert_eq!(snapshot.report.iterations, report.iterations);
            let moved = H * apart(&found, &expected);
            println!("{} {layout:?}: {moved:e} m apart", name(&gpu));
            assert!(moved < 2e-7, "{moved} m apart");
            assert!(apart(&snapshot.positions, &after(&positions, &found, H)) < 2e-7);
            assert!(apart(&found, &candidates) > 0.1);
            for pin in mesh.pins() {
                assert_eq!(found[*pin as usize], candidates[*pin as usize]);
            }
            // Again, with slices.
            let mut velocities = candidates.clone();
            let report = there.filter(&positions, &mut velocities, H).unwrap();
            assert_eq!(report.converged, Some(true));
            assert_eq!(bits(&velocities), bits(&found));
        }
    }
}

#[test]
fn on_a_gpu_a_refused_call_records_nothing() {
    for gpu in gpus() {
        let mesh = scene::hang(5).unwrap().mesh;
        let positions = mesh.positions().to_vec();
        let mut candidates = thrown(positions.len(), 9);
        let mut filter = Filter::on_gpu(&gpu, mesh.clone(), FilterSettings::default()).unwrap();
        let host = Host::new(&gpu, Layout::Padded, &positions, &candidates);
        let size = host.velocities.size();
        let (short, dumb) =
            (buffer(&gpu, size - 4, BufferUsages::COPY_SRC), buffer(&gpu, size, BufferUsages::COPY_SRC));
        host.submit(|encoder| {
            let mut expect = |positions: &wgpu::Buffer, velocities: &wgpu::Buffer, dt: f32, sentence: &str| {
                let error = filter.encode(encoder, positions, velocities, dt).unwrap_err();
                assert_eq!(error.to_string(), sentence);
            };
            let few = format!("the buffer of positions has {} bytes, but needs {size}", size - 4);
            expect(&short, &host.velocities, H, &few);
            expect(&host.positions, &dumb, H, "the buffer of velocities was made without COPY_DST");
            expect(&host.positions, &host.positions, H, "the buffer of velocities is that of the positions, too");
            expect(&host.positions, &host.velocities, 0.0, "dt is 0, but must be in [1e-9, 1e6] s");
        });
        assert_eq!(bits(&host.velocities()), bits(&candidates));
        // What is not finite is left as it is, and said.
        candidates[7][2] = f32::NAN;
        let host = Host::new(&gpu, Layout::Padded, &positions, &candidates);
        let mut pending = None;
        host.submit(|encoder| {
            filter.encode(encoder, &host.positions, &host.velocities, H).unwrap();
            pending = Some(filter.encode_report(encoder, false).unwrap());
        });
        assert_eq!(bits(&host.velocities()), bits(&candidates));
        assert!(pending.unwrap().wait().unwrap().report.rejected);
        // And the next call is as good as ever.
        let mut velocities = thrown(positions.len(), 9);
        assert_eq!(filter.filter(&positions, &mut velocities, H).unwrap().converged, Some(true));
        // A filter on the CPU has no buffers.
        let mut here = Filter::on_cpu(mesh, FilterSettings::default()).unwrap();
        host.submit(|encoder| {
            let refused = here.encode(encoder, &host.positions, &host.velocities, H);
            assert!(matches!(refused, Err(Error::NotOnGpu { .. })), "{refused:?}");
        });
    }
}

/// The cloth behind a filter is no other: what its step does is what lock-step compares.
#[test]
fn a_filter_is_compared_dispatch_by_dispatch() {
    for gpu in gpus() {
        for layout in [Layout::Padded, Layout::Packed] {
            let settings = FilterSettings { layout, ..Default::default() };
            let cloth: Cloth = taut::validate::filtering(9, settings).unwrap();
            let mut fields = cloth.fields().unwrap().clone();
            let agreement = taut::engine::lockstep::compare(&gpu, cloth.program(), &mut fields, 200).unwrap();
            for kernel in ["admit", "project_yarn"] {
                assert!(agreement.kernels.contains(&kernel), "{agreement:?}");
            }
        }
    }
}
