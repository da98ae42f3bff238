//! Single kernels on the CPU, and what is done once per mesh: topology, colours, yarns, masses, distance grids.
//!
//! `cargo bench --bench kernels -- integrate` measures those whose name contains a word; without `--bench` (as
//! `cargo test --benches` calls it) each runs once at toy size, so that it cannot rot.

use std::hint::black_box;
use std::time::{Duration, Instant};

use taut::engine::cpu::Runner;
use taut::engine::fields::Fields;
use taut::engine::program::{Item, Program};
use taut::solid::{Grid, icosphere};
use taut::validate::{crowded, everything_else, moving, solvers, windy};
use taut::{Cloth, FrameInput, Mesh, MeshDescriptor, Result, Scene, Settings, Topology, scene};

/// How long each is measured.
const LONG: Duration = Duration::from_millis(500);

struct Bench {
    full: bool,
    word: Option<String>,
}

impl Bench {
    fn size(&self) -> u32 {
        if self.full { 71 } else { 9 }
    }

    /// Prints the median time of `run`, which gets what `make` makes each time; making is not measured.
    fn measure<T>(&self, name: &str, make: impl Fn() -> T, mut run: impl FnMut(T)) {
        if self.word.as_ref().is_some_and(|word| !name.contains(word.as_str())) {
            return;
        }
        let mut times = Vec::new();
        let clock = Instant::now();
        while times.is_empty() || (self.full && clock.elapsed() < LONG) {
            let input = make();
            let one = Instant::now();
            run(input);
            times.push(one.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        println!("| {name} | {:.1} µs | {} |", 1e6 * times[times.len() / 2], times.len());
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let full = arguments.iter().any(|argument| argument == "--bench");
    let bench = Bench { full, word: arguments.into_iter().find(|argument| !argument.starts_with('-')) };
    println!("| {} × {} vertices | median | runs |\n|---|---|---|", bench.size(), bench.size());
    kernels(&bench)?;
    topology(&bench)
}

/// Every kernel that some cloth uses, once each, in the middle of its motion.
fn kernels(bench: &Bench) -> Result<()> {
    let mut crowd = crowded(bench.size(), Settings::default())?;
    crowd.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
    let mut cloths: Vec<Cloth> = vec![moving(scene::hang(bench.size())?, everything_else())?, crowd];
    for (_, method) in solvers() {
        let settings = Settings { method, ..windy() };
        cloths.push(moving(scene::hang(bench.size())?, settings)?);
    }
    let mut done: Vec<&str> = Vec::new();
    for cloth in &cloths {
        let Some(fields) = cloth.fields() else { continue };
        for dispatch in cloth.program().dispatches() {
            let name = dispatch.kernel.name;
            if done.contains(&name) {
                continue;
            }
            done.push(name);
            // Guard 0 is that of the whole program: always on.
            let mut dispatch = dispatch.clone();
            dispatch.guard = 0;
            let program = Program { items: vec![Item::Dispatch(dispatch)] };
            let runner = Runner::new(&program, fields)?;
            let mut state = fields.clone();
            state.get_mut::<u32>("guards")?[0] = 1;
            bench.measure(
                name,
                || state.clone(),
                |mut fields: Fields| drop(black_box(runner.run(&program, &mut fields))),
            );
        }
    }
    Ok(())
}

fn topology(bench: &Bench) -> Result<()> {
    let mesh = Scene::named("hang", bench.size())?.mesh;
    let descriptor = || MeshDescriptor {
        positions: mesh.positions().to_vec(),
        faces: mesh.faces().to_vec(),
        bending: 1e-5,
        ..Default::default()
    };
    bench.measure("mesh", descriptor, |descriptor| drop(black_box(Mesh::new(descriptor))));
    bench.measure("incidence, colours and yarns", || (), |()| drop(black_box(Topology::new(&mesh))));
    let ball = icosphere(0.3, 3);
    bench.measure("distance grid of a ball", || (), |()| drop(black_box(Grid::bake(&ball, 24, 1 << 20))));
    Ok(())
}
