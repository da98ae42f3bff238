//! Single kernels on the CPU, and what is done once per mesh: topology, colours, yarns, masses, distance grids.
//!
//! `cargo bench --bench kernels -- integrate` measures those whose name contains a word; `cargo test --benches` runs each once.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use taut::cpu::Runner;
use taut::program::{Item, Program};
use taut::solid::{Grid, icosphere};
use taut::validate::{crowded, everything_else, method, moving, windy};
use taut::{FrameInput, Mesh, MeshDescriptor, Scene, Settings, Topology, scene};

/// Vertices per side; toy size where each is run once to see that it works.
fn size() -> u32 {
    if std::env::args().any(|argument| argument == "--bench") { 71 } else { 9 }
}

/// Every kernel that some cloth uses, once each, in the middle of its motion.
fn kernels(criterion: &mut Criterion) {
    let mut done: Vec<&str> = Vec::new();
    let mut crowd = crowded(size(), Settings::default()).expect("valid settings");
    crowd.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() }).expect("the step runs");
    let mut cloths =
        vec![moving(scene::hang(size()).expect("a known scene"), everything_else()).expect("valid settings"), crowd];
    for solver in ["auto", "fast-projection", "fast-projection-diagonal", "gauss-seidel", "jacobi"] {
        let settings = Settings { method: method(solver).expect("a listed name"), ..windy() };
        cloths.push(moving(scene::hang(size()).expect("a known scene"), settings).expect("valid settings"));
    }
    let mut group = criterion.benchmark_group("kernels");
    group.sample_size(20);
    for cloth in &cloths {
        let fields = cloth.fields().expect("the cloth is on the CPU");
        for dispatch in cloth.program().dispatches() {
            if done.contains(&dispatch.kernel.name) {
                continue;
            }
            done.push(dispatch.kernel.name);
            // Guard 0 is that of the whole program: always on.
            let mut dispatch = dispatch.clone();
            dispatch.guard = 0;
            let program = Program { items: vec![Item::Dispatch(dispatch.clone())] };
            let runner = Runner::new(&program, fields).expect("the kernel fits");
            let mut state = fields.clone();
            state.get_mut::<u32>("guards").expect("words")[0] = 1;
            group.bench_function(dispatch.kernel.name, |bencher| {
                let run = |fields: &mut taut::fields::Fields| runner.run(&program, fields).expect("the kernel runs");
                bencher.iter_batched_ref(|| state.clone(), run, BatchSize::LargeInput);
            });
        }
    }
}

fn topology(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("topology");
    group.sample_size(10);
    let mesh = Scene::named("hang", size()).expect("a known scene").mesh;
    let descriptor = || MeshDescriptor {
        positions: mesh.positions().to_vec(),
        faces: mesh.faces().to_vec(),
        bending: 1e-5,
        ..Default::default()
    };
    group.bench_function("mesh", |bencher| {
        bencher.iter_batched(descriptor, |descriptor| Mesh::new(descriptor).expect("a sheet"), BatchSize::LargeInput);
    });
    group.bench_function("incidence, colours and yarns", |bencher| bencher.iter(|| Topology::new(black_box(&mesh))));
    let ball = icosphere(0.3, 3);
    group.bench_function("distance grid of a ball", |bencher| {
        bencher.iter(|| Grid::bake(black_box(&ball), 24, 1 << 20).expect("a small grid"));
    });
}

criterion_group!(benches, kernels, topology);
criterion_main!(benches);
