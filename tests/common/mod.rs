//! What several test files need.
#![allow(dead_code, reason = "every test file uses its own part of it")]

pub(crate) mod required;

use required::ask_for;
pub(crate) use required::gpu_required;
use taut::engine::program::Kernel;
pub(crate) use taut::validate::{everything_else, warm, windy};
use taut::{Cloth, Elasticity, FrameInput, Gpu, Mass, Mesh, MeshDescriptor, Method, Scene, Settings, wgpu};

/// Every adapter that computes. One that `TAUT_REQUIRE_GPU` asks for and that is not there is a failure.
pub(crate) fn adapters() -> Vec<wgpu::Adapter> {
    let found: Vec<wgpu::Adapter> = Gpu::adapters().into_iter().filter(|adapter| Gpu::check(adapter).is_ok()).collect();
    let named = |adapter: &wgpu::Adapter| (adapter.get_info().backend.to_str().to_owned(), adapter.get_info().name);
    ask_for(&found.iter().map(named).collect::<Vec<_>>());
    found
}

/// Every adapter that computes, opened with default limits and no feature. One that does not open is said aloud, and is
/// a failure where `TAUT_REQUIRE_GPU` asks for any.
pub(crate) fn gpus() -> Vec<Gpu> {
    let open = |adapter: &wgpu::Adapter| {
        let label = Gpu::label(&adapter.get_info());
        match Gpu::open(adapter) {
            Ok(gpu) => {
                println!("adapter: {label}");
                Some(gpu)
            }
            Err(error) => {
                println!("SKIPPED: {label} does not open: {error}");
                assert!(!gpu_required(), "{label} does not open: {error}");
                None
            }
        }
    };
    adapters().iter().filter_map(open).collect()
}

/// The first adapter that computes.
pub(crate) fn gpu() -> Option<Gpu> {
    gpus().into_iter().next()
}

/// A built-in kernel by its name, as a recording has it.
pub(crate) fn kernel(name: &str) -> &'static Kernel {
    taut::validate::kernel(name).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn name(gpu: &Gpu) -> String {
    gpu.adapter().map_or_else(|| "unknown".into(), Gpu::label)
}

/// Every built-in solver.
pub(crate) fn methods() -> impl Iterator<Item = (&'static str, Method)> {
    taut::validate::solvers().into_iter()
}

/// Names of the built-in solvers, and of their variants with other kernels.
pub(crate) fn solvers() -> impl Iterator<Item = &'static str> {
    methods().map(|(name, _)| name)
}

/// The solver of a name that [`solvers`] lists.
pub(crate) fn method(name: &str) -> Method {
    taut::validate::method(name).expect("a listed name is known")
}

pub(crate) fn frame(dt: f32) -> FrameInput<'static> {
    FrameInput { dt, ..Default::default() }
}

pub(crate) const FRAME: f32 = 1.0 / 60.0;

/// A cloth on the CPU.
pub(crate) fn cpu(scene: Scene, settings: Settings) -> Cloth {
    Cloth::on_cpu(scene.with_settings(settings)).expect("the scene and the settings are valid")
}

/// Mean position of all vertices.
pub(crate) fn center(positions: &[[f32; 3]]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for position in positions {
        for (sum, x) in sum.iter_mut().zip(position) {
            *sum += f64::from(*x) / positions.len() as f64;
        }
    }
    sum
}

/// A limit-lowered device on the first adapter that computes.
pub(crate) fn gpu_with(limits: wgpu::Limits) -> Option<Gpu> {
    let adapter = adapters().into_iter().next()?;
    let descriptor = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).expect("the adapter can do less");
    Some(Gpu::new(&device, &queue).expect("no limit is lower than what is needed"))
}

/// A cloth on the CPU for every solver on every built-in scene of a size.
pub(crate) fn cloths(size: u32) -> Vec<(String, Cloth)> {
    let mut cloths = Vec::new();
    for (solver, _) in methods() {
        for name in taut::scene::NAMES {
            let method = method(solver);
            let scene = Scene::named(name, size).expect("a listed name is known");
            cloths.push((format!("{solver} {name}"), cpu(scene, Settings { method, ..Default::default() })));
        }
    }
    assert!(!cloths.is_empty(), "there are no solvers or no scenes");
    // What the defaults do not use on small meshes; chords need yarns of eight edges.
    for name in taut::scene::NAMES {
        let scene = Scene::named(name, size.max(9)).expect("a listed name is known");
        cloths.push((format!("everything else {name}"), cpu(scene.clone(), everything_else())));
        cloths.push((format!("windy {name}"), cpu(scene.clone(), windy())));
        cloths.push((format!("warm {name}"), cpu(scene, Settings { method: warm(), ..Default::default() })));
    }
    // Windows around pins need yarns of 32 vertices.
    for elasticity in [Elasticity::Auto, Elasticity::Diagonals] {
        let scene = taut::scene::hang(size.max(32)).expect("a scene");
        cloths.push((format!("windows {elasticity:?}"), cpu(scene, Settings { elasticity, ..Default::default() })));
    }
    // Edges with laws of their own have kernels of their own.
    for (solver, method) in methods() {
        let settings = Settings { method, ..Default::default() };
        cloths.push((format!("{solver} laws"), lawful(size.max(6), settings)));
    }
    cloths.push(("windows laws".into(), lawful(size.max(32), Settings::default())));
    // Springs go along diagonals on fine meshes only, or where they are told to.
    for name in taut::scene::NAMES {
        let scene = Scene::named(name, size).expect("a listed name is known");
        let settings = Settings { elasticity: Elasticity::Diagonals, damping: 0.001, ..Default::default() };
        cloths.push((format!("diagonals {name}"), cpu(scene, settings)));
    }
    cloths.push(("inflated".into(), taut::validate::inflated(1, Settings::default()).expect("a valid cloth")));
    cloths.push(("carried".into(), cpu(taut::scene::curtain(size).expect("a scene"), heavy())));
    cloths.push(("stiff strings".into(), taut::validate::stiff(size).expect("a valid cloth")));
    cloths.push(("own heap".into(), own_heap(size)));
    cloths.push(("tangled".into(), tangled(size)));
    let settings = Settings { tangent_velocities: true, ..Default::default() };
    cloths.push(("tangent".into(), cpu(taut::scene::hang(size).expect("a scene"), settings)));
    cloths.push(("filter".into(), taut::validate::filtering(size, Default::default()).expect("the filter works")));
    for (name, elasticity) in
        [("explicit", Elasticity::Explicit), ("implicit", Elasticity::Implicit), ("diagonals", Elasticity::Diagonals)]
    {
        let settings = Settings { elasticity, ..Default::default() };
        let mut cloth = crowded(size.max(9), settings);
        // Holds are recorded with the frame that needs them.
        cloth.step(&frame(FRAME)).expect("the step runs");
        cloths.push((format!("crowded {name}"), cloth));
    }
    cloths
}

/// Gravity under which half of the tension of a small curtain is carried from substep to substep, as that of large ones
/// is on earth.
pub(crate) fn heavy() -> Settings {
    Settings { elasticity: Elasticity::Diagonals, gravity: [0.0, -2e4, 0.0], ..Default::default() }
}

/// A heap that presses itself, with a held vertex beside it.
pub(crate) fn own_heap(size: u32) -> Cloth {
    taut::validate::heaped(size, Settings::default()).expect("the heap and the settings are valid")
}

/// Sheets that pass through each other and are drawn apart.
pub(crate) fn tangled(size: u32) -> Cloth {
    taut::validate::tangled(size).expect("the sheets and the settings are valid")
}

/// A curved sheet with hinges among solids of every kind that move, with every kind of hold.
pub(crate) fn crowded(size: u32, settings: Settings) -> Cloth {
    taut::validate::crowded(size, settings).expect("the sheet and the settings are valid")
}

/// A hung sheet whose edges have every law that there is.
pub(crate) fn lawful(size: u32, settings: Settings) -> Cloth {
    taut::validate::lawful(size, settings).expect("the sheet and the settings are valid")
}

/// Every entry point of every shader, read from the files.
pub(crate) fn entry_points() -> std::collections::BTreeSet<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let texts = std::fs::read_dir(folder)
        .expect("the folder of shaders exists")
        .map(|entry| std::fs::read_to_string(entry.expect("the folder can be read").path()).expect("a shader is text"));
    let names = |text: String| {
        let starts = text.split("@compute").skip(1).map(|rest| rest.split("fn ").nth(1).unwrap_or_default());
        starts.map(|rest| rest.split('(').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    texts.flat_map(names).collect()
}

/// Reproducible random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [low, high).
    pub(crate) fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next() >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// Uniform in 0 … count − 1.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }
}

/// A scene with other shear \[N/m\].
pub(crate) fn sheared(scene: Scene, shear: f32) -> Scene {
    let mesh = Mesh::new(MeshDescriptor {
        positions: scene.mesh.positions().to_vec(),
        faces: scene.mesh.faces().to_vec(),
        mass: Mass::PerVertex(scene.mesh.masses().to_vec()),
        pins: scene.mesh.pins().to_vec(),
        shear,
        ..Default::default()
    });
    Scene { mesh: mesh.expect("the scene was valid"), ..scene }
}
