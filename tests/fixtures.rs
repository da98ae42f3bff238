//! Small figures with known results: those of [`taut::validate::figures`] on the CPU and on every adapter, and what
//! asks for more than a figure does.

mod common;

use std::sync::OnceLock;

use common::*;
use taut::mesh::Link;
use taut::stage::parameter::Value;
use taut::validate::figures::{Place, figures};
use taut::{Cloth, Gpu, Mesh, MeshDescriptor, Method, Scene, Settings, scene};

/// Every adapter once: what one theme had compiled the next one has.
fn opened() -> &'static [Gpu] {
    static GPUS: OnceLock<Vec<Gpu>> = OnceLock::new();
    GPUS.get_or_init(gpus)
}

/// Figures of a theme everywhere.
fn everywhere(theme: &str) {
    let places = opened().iter().map(|gpu| (name(gpu), Place::Gpu(gpu)));
    for (label, place) in [("CPU".to_owned(), Place::Cpu)].into_iter().chain(places) {
        for figure in figures().into_iter().filter(|figure| figure.theme == theme) {
            let name = figure.name;
            let seen = figure.run(place).unwrap_or_else(|failure| panic!("{label}: {theme}/{name}: {failure}"));
            println!("{label}: {theme}/{name}: {}", seen.text);
        }
    }
}

macro_rules! themes {
    ($($theme:ident),* $(,)?) => {
        $(#[test]
        fn $theme() {
            everywhere(stringify!($theme));
        })*

        /// A theme without a test would be computed by nobody but `taut validate`.
        #[test]
        fn every_theme_has_a_test() {
            let mut themes: Vec<&str> = figures().iter().map(|figure| figure.theme).collect();
            themes.dedup();
            assert_eq!(themes, [$(stringify!($theme)),*]);
        }
    };
}

themes! { forces, edges, projection, filter, areas, motion, elastic, contact, lines }

/// What these assert is true whatever pushes: bounds, identities, and lengths that are reached from anywhere.
const WHATEVER_PUSHES: [&str; 8] = [
    "projection/counts-are-bounds",
    "projection/a-stretched-sheet",
    "projection/q3-nearly",
    "projection/the-start-does-not-matter",
    "projection/free-ends",
    "filter/velocity-is-way-over-time",
    "filter/all-pinned",
    "filter/pins-follow",
];

/// With a force in the way that it does not know every figure fails but those.
#[test]
fn every_figure_can_fail() {
    let blind = figures().into_iter().filter(|figure| match figure.run_disturbed(Place::Cpu) {
        Ok(_) => true,
        Err(failure) => {
            println!("{}/{}: {failure}", figure.theme, figure.name);
            false
        }
    });
    let blind: Vec<String> = blind.map(|figure| format!("{}/{}", figure.theme, figure.name)).collect();
    assert_eq!(blind, WHATEVER_PUSHES, "do not feel a force");
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (f64::from(b) - f64::from(*a)).powi(2)).sum::<f64>().sqrt()
}

/// Largest strain of all edges that can move, in f64, written independently of the library.
fn strain(mesh: &Mesh, positions: &[[f32; 3]]) -> f64 {
    let pinned = |v: u32| mesh.pins().contains(&v);
    let active = mesh.edges().iter().filter(|edge| !(pinned(edge.tail) && pinned(edge.head)));
    let strain = |edge: &Link| {
        let length = distance(positions[edge.tail as usize], positions[edge.head as usize]);
        (length / f64::from(edge.rest) - 1.0).abs()
    };
    active.map(strain).fold(0.0, f64::max)
}

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found} is not {expected} ± {tolerance:e}");
}

// --- Converged means converged ---

/// What was said of steps, against what this test measures.
#[derive(Debug, Default)]
struct Claims {
    steps: u32,
    claimed: u32,
    denied: u32,
}

/// Random scenes, places, limits, pushes and budgets, many of them too small, stepped by `make`; so many steps each.
fn judge(claims: &mut Claims, method: &Method, cases: usize, steps: usize, make: &dyn Fn(Scene) -> Cloth) {
    let mut random = Random(11);
    let solver = method.solver().name();
    for case in 0..cases {
        let names = scene::NAMES;
        let name = names[case % names.len()];
        let mut scene = Scene::named(name, 3 + random.below(5) as u32).expect("a known scene");
        // Somewhere else, so that rounding differs.
        let shift = [0, 1, 2].map(|_| random.within(-4.0, 4.0) as f32);
        for position in &mut scene.start {
            *position = [0, 1, 2].map(|k| position[k] + shift[k]);
        }
        let budget = 1 + random.below(40) as u32;
        let mut method = method.clone();
        for table in method.tables_mut() {
            for parameter in table.list() {
                let count = match parameter.name {
                    "sweeps" => budget,
                    "iterations" => 1 + budget / 8,
                    "sweeps_per_check" => 1,
                    _ => continue,
                };
                table.set(parameter.name, Value::Count(count));
            }
        }
        let strain_limit = 10f64.powf(random.within(-4.0, -1.5)) as f32;
        let settings = Settings { method, strain_limit, ..Default::default() };
        let mut cloth = make(scene.with_settings(settings));
        for _ in 0..steps {
            let vertex = random.below(cloth.mesh().vertex_count()) as u32;
            if !cloth.mesh().pins().contains(&vertex) {
                let impulse = [0, 1, 2].map(|_| random.within(-3e-3, 3e-3) as f32);
                cloth.add_impulse(vertex, impulse).expect("the vertex is free");
            }
            cloth.step(&frame(random.within(1e-4, 0.02) as f32)).expect("the step runs");
            let found = cloth.snapshot().expect("the device is there");
            let (report, limit) = (&found.report, f64::from(strain_limit));
            let host = strain(cloth.mesh(), &found.positions);
            let told = report.converged.expect("positions were read");
            // `converged` is the host's word; what a step does is by the device's. Both are held against the strain
            // that this test measures by itself.
            let same = told == (host <= limit) || (host / limit - 1.0).abs() < 1e-9;
            assert!(same, "{solver} {name}: {host} of {limit}: {report:?}");
            near(report.device_strain.into(), host, 5e-7 * (1.0 + host));
            // The device stops a little under the limit, so its word holds for the host too; and a frame whose last
            // substep missed is none that holds.
            if report.device_strain <= strain_limit - 5e-7 {
                assert!(told, "{solver} {name}: {host} {report:?}");
            }
            if !told {
                assert!(report.missed_substeps > 0, "{solver} {name}: a miss that nobody counted: {report:?}");
            }
            if report.missed_substeps == 0 {
                assert!(told, "{solver} {name}: every substep held, and {host} is over {limit}: {report:?}");
            }
            claims.steps += 1;
            claims.claimed += u32::from(told);
            claims.denied += u32::from(!told);
        }
    }
}

#[test]
fn converged_is_never_claimed_in_vain() {
    let all = || methods().chain([("warm", warm())]);
    let mut sum = Claims::default();
    for (name, method) in all() {
        let mut claims = Claims::default();
        judge(&mut claims, &method, 130, 100, &|scene| Cloth::on_cpu(scene).expect("a cloth"));
        println!("CPU, {name}: {claims:?}");
        assert!(claims.claimed > claims.steps / 20, "{name}: {claims:?}");
        (sum.steps, sum.denied) = (sum.steps + claims.steps, sum.denied + claims.denied);
    }
    assert!(sum.steps >= 100_000 && sum.denied > sum.steps / 50, "both happen: {sum:?}");
    for gpu in opened() {
        let mut claims = Claims::default();
        for (_, method) in all() {
            judge(&mut claims, &method, 4, 5, &|scene| Cloth::on_gpu(gpu, scene).expect("a cloth"));
        }
        println!("{}: {claims:?}", name(gpu));
        assert!(claims.claimed > claims.steps / 20, "{claims:?}");
    }
}

#[test]
fn a_frame_of_no_length_is_a_no_op_bitwise() {
    for (name, method) in methods() {
        let mut cloth = cpu(scene::hang(5).expect("a known scene"), Settings { method, ..Default::default() });
        for _ in 0..3 {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        let fields = |cloth: &Cloth| {
            let fields = cloth.fields().expect("the cloth is on the CPU");
            (0..fields.specs().len()).map(|number| fields.words(number).to_vec()).collect::<Vec<_>>()
        };
        let (before, report) = (fields(&cloth), cloth.snapshot().expect("no device"));
        for dt in [0.0, -0.0] {
            cloth.step(&frame(dt)).expect("the step runs");
            assert_eq!(fields(&cloth), before, "{name}: every field, scratch included");
            assert_eq!(cloth.snapshot().expect("no device"), report, "{name}");
            assert_eq!(cloth.frame(), 3, "{name}");
        }
    }
}

/// All words of all persistent fields.
fn state(cloth: &Cloth) -> Vec<Vec<u32>> {
    let fields = cloth.fields().expect("the cloth is on the CPU");
    // The clock goes on whatever the cloth does, and meters count it.
    let state = |number: &usize| {
        let spec = fields.specs()[*number];
        spec.persistent && !["clock", "meters"].contains(&spec.name)
    };
    let numbers = (0..fields.specs().len()).filter(state);
    let state: Vec<Vec<u32>> = numbers.map(|number| fields.words(number).to_vec()).collect();
    assert!(!state.is_empty());
    state
}

#[test]
fn everything_pinned_is_a_no_op_bitwise() {
    // Triangles are elastic, and pull with what rounding makes of their shape.
    for (name, method) in methods().filter(|(name, _)| !name.ends_with("triangles")) {
        let sheet = scene::hang(5).expect("a known scene");
        let mesh = Mesh::new(MeshDescriptor {
            positions: sheet.mesh.positions().to_vec(),
            faces: sheet.mesh.faces().to_vec(),
            pins: (0..25).collect(),
            ..Default::default()
        });
        let scene = Scene::new("pinned", mesh.expect("the sheet is valid"), sheet.start);
        let mut cloth = cpu(scene, Settings { method, ..Default::default() });
        let before = state(&cloth);
        for _ in 0..3 {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        assert_eq!(state(&cloth), before, "{name}");
        let report = cloth.snapshot().expect("a CPU has no device to lose").report;
        assert_eq!((report.device_strain, report.rejected), (0.0, false), "{name}");
    }
}
