//! Edges with laws of their own, through [`Cloth::step`] on the CPU and on every adapter: compliance, ropes, springs
//! with ends. The f64 judges of the formulas are in `tests/compliance_reference.rs`.

mod common;

use common::*;
use taut::engine::lockstep;
use taut::{
    Cloth, EdgeKind, EdgeOverride, Error, Face, GaussSeidel, Gpu, Mass, Mesh, MeshDescriptor, Method, Scene, Settings,
    Substeps, Swatch, YarnSweep, scene,
};

/// Mass of a pin, whose weight it bears, too \[kg\].
const LIGHT: f32 = 1e-9;

/// A chain that hangs straight down from its first vertex: edges of this length \[m\], each with its kind and the mass
/// at its end \[kg\].
fn hanging(rest: f32, links: &[(EdgeKind, f32)]) -> Scene {
    let count = links.len() as u32;
    let positions: Vec<[f32; 3]> = (0..=count).map(|k| [0.0, -rest * k as f32, 0.0]).collect();
    let mesh = Mesh::new(MeshDescriptor {
        positions: positions.clone(),
        lines: (0..count).map(|k| [k, k + 1]).collect(),
        mass: Mass::PerVertex(std::iter::once(LIGHT).chain(links.iter().map(|(_, mass)| *mass)).collect()),
        pins: vec![0],
        overrides: links
            .iter()
            .zip(0..)
            .map(|((kind, _), k)| EdgeOverride { ends: [k, k + 1], kind: *kind, rest: None })
            .collect(),
        ..Default::default()
    });
    Scene::new("hanging", mesh.expect("a chain"), positions)
}

fn compliant(stiffness: f32) -> EdgeKind {
    EdgeKind::Compliant { stiffness }
}

/// The same cloth on the CPU and, if asked for, on every adapter.
fn somewhere(scene: &Scene, settings: &Settings, adapters: bool) -> Vec<(String, Cloth)> {
    let scene = || scene.clone().with_settings(settings.clone());
    let mut cloths = vec![("CPU".to_owned(), Cloth::on_cpu(scene()).expect("a cloth"))];
    if adapters {
        cloths.extend(gpus().iter().map(|gpu: &Gpu| (name(gpu), Cloth::on_gpu(gpu, scene()).expect("a cloth"))));
    }
    cloths
}

fn lengths(cloth: &Cloth) -> Vec<f64> {
    let positions = cloth.snapshot().unwrap().positions;
    let at = |v: u32| positions[v as usize].map(f64::from);
    let length = |[a, b]: [[f64; 3]; 2]| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
    cloth.mesh().edges().iter().map(|edge| length([at(edge.tail), at(edge.head)])).collect()
}

fn run(cloth: &mut Cloth, frames: u32) {
    for _ in 0..frames {
        cloth.step(&frame(FRAME)).unwrap();
    }
}

/// 0.5 kg on 1000 N/m: 4.905 mm and 4.905 N, with every solver, however many iterations and substeps there are.
#[test]
fn a_weight_stretches_an_edge_by_its_weight_over_its_stiffness() {
    let scene = hanging(1.0, &[(compliant(1000.0), 0.5)]);
    for (solver, method) in methods() {
        for (substeps, frames) in [(1, 45), (4, 45), (30, 45)] {
            let settings = Settings {
                method: method.clone(),
                drag: 60.0,
                substeps: Substeps::Fixed(substeps),
                ..Default::default()
            };
            // Adapters in software take their time, and what differs between numbers of substeps is no GPU's.
            for (place, mut cloth) in somewhere(&scene, &settings, substeps == 4) {
                run(&mut cloth, frames);
                let stretch = lengths(&cloth)[0] - 1.0;
                assert!((stretch - 4.905e-3).abs() < 1e-6, "{place} {solver} {substeps}: {stretch} m");
                let tension = cloth.most_loaded_edge().unwrap().unwrap().tension;
                assert!((tension - 4.905).abs() < 5e-3, "{place} {solver} {substeps}: {tension} N");
                let [_, pull, _] = cloth.pin_forces().unwrap()[0];
                assert!((pull + 4.905).abs() < 5e-3, "{place} {solver} {substeps}: {pull} N");
            }
        }
    }
}

/// A square of a fabric of 400 N/m and 0.2 kg/m², hung by a row: its own weight stretches it by ρ g L²/(2 Y), which is
/// 2.4525 mm, whatever the mesh, the solver, its iterations and the substeps are.
#[test]
fn a_fabric_is_stretched_by_its_weight_whatever_the_mesh_and_the_solver() {
    let sheet = |size: u32| {
        let place = |v: u32| [(v % size) as f32, -((v / size) as f32), 0.0].map(|x| x / (size - 1) as f32);
        let quad = |f: u32| [f, f + 1, f + size + 1, f + size];
        let faces = (0..size * (size - 1)).filter(|f| f % size < size - 1).map(|f| quad(f).into()).collect();
        let positions: Vec<[f32; 3]> = (0..size * size).map(place).collect();
        let mesh = Mesh::new(MeshDescriptor {
            positions: positions.clone(),
            faces,
            pins: (0..size).collect(),
            stretch: Some(400.0),
            shear: 0.0,
            ..Default::default()
        });
        Scene::new("hung", mesh.unwrap(), positions)
    };
    let sweeps = |sweeps: u32| Method::YarnSweep(YarnSweep { sweeps, middle_sweeps: sweeps, ..Default::default() });
    let rounds = |sweeps: u32| Method::GaussSeidel(GaussSeidel { sweeps, ..Default::default() });
    for (size, name, method, substeps) in [
        (5, "one sweep", sweeps(1), 4),
        (5, "nine sweeps", sweeps(9), 4),
        (9, "fine", sweeps(3), 2),
        (9, "short steps", sweeps(3), 12),
        (5, "fast projection", method("fast-projection"), 4),
        (5, "diagonal", method("fast-projection-diagonal"), 4),
        (5, "200 sweeps", rounds(200), 4),
        (5, "2000 sweeps", rounds(2000), 4),
    ] {
        let settings = Settings {
            method,
            drag: 60.0,
            strain_limit: 1e-4,
            substeps: Substeps::Fixed(substeps),
            ..Default::default()
        };
        let mut cloth = cpu(sheet(size), settings);
        run(&mut cloth, 30);
        let (before, after) = (cloth.mesh().positions(), cloth.snapshot().unwrap().positions);
        for column in 0..size as usize {
            let last = (size * (size - 1)) as usize + column;
            let sunk = f64::from(before[last][1]) - f64::from(after[last][1]);
            assert!((sunk / 2.4525e-3 - 1.0).abs() < 0.01, "{size} {name} column {column}: {sunk} m");
        }
    }
}

/// Strain of what gives way is strain, and the report says so; the solver does not wait for what it cannot reach.
#[test]
fn what_an_edge_is_stretched_counts_and_no_iteration_is_spent_on_it() {
    for (solver, method) in methods() {
        for (limit, holds) in [(0.01f32, true), (0.001, false)] {
            let settings = Settings {
                method: method.clone(),
                drag: 60.0,
                strain_limit: limit,
                substeps: Substeps::Fixed(4),
                ..Default::default()
            };
            let mut cloth = cpu(hanging(1.0, &[(compliant(1000.0), 0.5)]), settings);
            run(&mut cloth, 60);
            let report = cloth.snapshot().unwrap().report;
            let strain = report.strain.clone().unwrap();
            assert!((strain.max - 4.905e-3).abs() < 1e-6, "{solver}: {}", strain.max);
            assert_eq!((report.converged, strain.over), (Some(holds), usize::from(!holds)), "{solver}");
            assert!(report.iterations <= 100 && report.missed_substeps == 0, "{solver}: {report:?}");
        }
    }
}

/// Force over extension of a spring of 100 N/m that ends at 0.9 and 1.1: the slope k between the ends, and vertical
/// beyond. What is between the ends is no strain.
#[test]
fn a_limited_edge_gives_way_and_then_holds() {
    let law = EdgeKind::Limited { stiffness: 100.0, min: 0.9, max: 1.1 };
    let curve = [(2.0f32, 1.02), (6.0, 1.06), (9.5, 1.095), (10.5, 1.1), (40.0, 1.1), (-2.0, 0.98), (-30.0, 0.9)];
    for (solver, method) in methods() {
        for (force, extent) in curve {
            let settings = Settings {
                method: method.clone(),
                gravity: [0.0, -9.81 * force.signum(), 0.0],
                drag: 20.0,
                strain_limit: 1e-3,
                substeps: Substeps::Fixed(4),
                ..Default::default()
            };
            let scene = hanging(1.0, &[(law, force.abs() / 9.81)]);
            let adapters = ["yarn-sweep", "jacobi"].contains(&solver) && force == 6.0;
            for (place, mut cloth) in somewhere(&scene, &settings, adapters) {
                run(&mut cloth, 120);
                let found = lengths(&cloth)[0];
                assert!((found - extent).abs() < 2e-5, "{place} {solver} {force} N: {found} m, not {extent}");
                let [_, pull, _] = cloth.pin_forces().unwrap()[0];
                // An end of projective dynamics has a stiffness, here 10⁸ N/m, and a length its last bit, 10⁻⁷ m.
                let ended = solver.starts_with("projective") && (extent == 1.1 || extent == 0.9);
                assert!(ended || (pull / -force - 1.0).abs() < 1e-2, "{place} {solver} {force} N: {pull} N");
                assert_eq!(cloth.snapshot().unwrap().report.converged, Some(true), "{place} {solver} {force} N");
            }
        }
    }
}

/// A square of ordinary edges on a rope of 1 m, which starts 0.3 m from the pin: it falls freely until the rope is
/// taut, after √(2 √(1 − 0.3²)/g) = 0.44100 s. Slack it bears nothing, taut it never pushes.
#[test]
fn a_rope_among_ordinary_edges_is_taut_at_its_time_and_never_pushes() {
    let (dt, gravity) = (1.0 / 600.0, 9.81);
    let start = [[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.4, 0.0, 0.0], [0.4, -0.1, 0.0], [0.3, -0.1, 0.0]];
    for (solver, method) in methods() {
        let mesh = Mesh::new(MeshDescriptor {
            positions: start.to_vec(),
            faces: vec![Face::Quad([1, 2, 3, 4])],
            lines: vec![[0, 1]],
            mass: Mass::PerVertex(vec![LIGHT, 5e-4, 5e-4, 5e-4, 5e-4]),
            pins: vec![0],
            overrides: vec![EdgeOverride { ends: [0, 1], kind: EdgeKind::Rope, rest: Some(1.0) }],
            ..Default::default()
        });
        let scene = Scene::new("rope", mesh.unwrap(), start.to_vec());
        let settings = Settings { method, strain_limit: 1e-3, substeps: Substeps::Fixed(1), ..Default::default() };
        for (place, mut cloth) in somewhere(&scene, &settings, solver == "yarn-sweep") {
            let weight = 2e-3 * gravity;
            let (mut taut, mut falls) = (None, true);
            for step in 1..=270u32 {
                // An adapter in software: few frames are looked at, all around the moment.
                let looked_at = place == "CPU" || (262..=268).contains(&step);
                cloth.step(&frame(dt as f32)).unwrap();
                if !looked_at {
                    continue;
                }
                let (time, n) = (f64::from(step) * dt, f64::from(step));
                let positions = cloth.snapshot().unwrap().positions;
                let [x, y, _] = positions[1].map(f64::from);
                let extent = x.hypot(y);
                let force = cloth.pin_forces().unwrap()[0].map(f64::from);
                // Along the rope, away from the pin: what a taut rope does to it.
                let pull = (force[0] * x + force[1] * y) / extent;
                assert!(extent < 1.001, "{place} {solver} at {time}: {extent} m");
                assert!(pull > -1e-4 * weight, "{place} {solver} at {time}: the rope pushes by {pull} N");
                if extent < 1.0 - 1e-3 {
                    assert!(pull.abs() < 1e-4 * weight, "{place} {solver} at {time}: {pull} N at {extent} m");
                }
                if pull > 0.1 * weight && taut.is_none() {
                    taut = Some(time);
                }
                if taut.is_none() {
                    let fallen = -gravity * dt * dt * n * (n + 1.0) / 2.0;
                    falls &= (y - fallen).abs() < 2e-5 && (x - 0.3).abs() < 2e-5;
                }
            }
            let taut = taut.unwrap_or_else(|| panic!("{place} {solver}: never taut"));
            assert!(falls, "{place} {solver}");
            assert!((taut - 0.441).abs() < 2.0 * dt, "{place} {solver}: taut after {taut} s");
        }
    }
}

/// With diagonals that may have 0.9 to 1.1 of their length a sheet drapes as low as with free ones; with inextensible
/// ones it locks.
#[test]
fn diagonals_between_wide_ends_do_not_lock() {
    let hem = |kind: EdgeKind| {
        let mut drape = scene::drape(10).unwrap();
        let diagonals = drape.mesh.faces().iter().flat_map(|face| match *face {
            Face::Quad([a, b, c, d]) => vec![[a, c], [b, d]],
            _ => Vec::new(),
        });
        let mesh = Mesh::new(MeshDescriptor {
            positions: drape.mesh.positions().to_vec(),
            faces: drape.mesh.faces().to_vec(),
            bending: 1e-5,
            overrides: diagonals.map(|ends| EdgeOverride { ends, kind, rest: None }).collect(),
            ..Default::default()
        });
        drape.mesh = mesh.unwrap();
        let method = Method::GaussSeidel(GaussSeidel { sweeps: 60, ..Default::default() });
        let settings = Settings { method, contact_rounds: 1, strain_limit: 0.02, ..drape.settings.clone() };
        let mut cloth = cpu(drape, settings);
        run(&mut cloth, 60);
        let at = cloth.snapshot().unwrap().positions;
        [0usize, 9, 90, 99].iter().map(|corner| f64::from(at[*corner][1])).sum::<f64>() / 4.0
    };
    let soft = hem(EdgeKind::Limited { stiffness: 20.0, min: 0.9, max: 1.1 });
    let (free, locked) = (hem(EdgeKind::Spring { stiffness: 20.0 }), hem(EdgeKind::Inextensible));
    println!("free {free}, limited {soft}, locked {locked}");
    assert!(soft < free + 0.25 * (locked - free) && locked > free + 0.02, "free {free}, soft {soft}, locked {locked}");
}

/// Nothing is recorded, and no field filled, where no edge has a law of its own.
#[test]
fn cloth_without_laws_runs_what_it_ran() {
    let names = |cloth: &Cloth| {
        let dispatches = cloth.program().dispatches();
        dispatches.iter().map(|dispatch| dispatch.kernel.name).collect::<Vec<_>>()
    };
    let own = |name: &&str| name.contains("law") || *name == "forget_multiplier";
    for (solver, method) in methods() {
        let settings = Settings { method, ..Default::default() };
        let plain = cpu(scene::hang(5).unwrap(), settings.clone());
        assert!(!names(&plain).iter().any(own), "{solver}");
        assert!(names(&lawful(6, settings)).iter().any(own), "{solver}");
    }
    // An edge that is said to be inextensible is one.
    let inextensible = hanging(1.0, &[(EdgeKind::Inextensible, 0.5)]);
    assert!(inextensible.mesh.edge_kinds().is_empty());
}

#[test]
fn every_law_agrees_between_the_backends() {
    for gpu in gpus() {
        for (solver, method) in methods() {
            let settings = Settings { method, stretch_rate: Some(1e-3), ..Default::default() };
            let cloth = lawful(9, settings);
            let mut fields = cloth.fields().unwrap().clone();
            // A linear solve of projective dynamics is longer than a projection of the others.
            let most = if solver.starts_with("projective") { 3000 } else { 300 };
            let agreement = lockstep::compare(&gpu, cloth.program(), &mut fields, most);
            let agreement = agreement.unwrap_or_else(|error| panic!("{} {solver}: {error}", name(&gpu)));
            for kernel in ["forget_multiplier", "measure_lawful_strain", "limit_stretch_rate"] {
                assert!(agreement.kernels.contains(&kernel), "{solver} {kernel}: {agreement:?}");
            }
        }
    }
}

/// An edge that is pulled by half of its length grows by a tenth of the length that it has, step by step.
#[test]
fn an_edge_grows_by_its_rate() {
    let scene = hanging(1.0, &[(compliant(1e-6), 0.5)]);
    let settings = Settings {
        stretch_rate: Some(0.1),
        gravity: [0.0; 3],
        substeps: Substeps::Fixed(1),
        strain_limit: 0.9,
        ..Default::default()
    };
    for (place, mut cloth) in somewhere(&scene, &settings, true) {
        let mut wanted = 1.0;
        for step in 0..5 {
            let (positions, extent) = (cloth.snapshot().unwrap().positions, lengths(&cloth)[0]);
            let speed = -0.5 * extent as f32 / FRAME;
            cloth.set_state(&positions, &[[0.0; 3], [0.0, speed, 0.0]]).unwrap();
            cloth.step(&frame(FRAME)).unwrap();
            wanted *= 1.1;
            let found = lengths(&cloth)[0];
            assert!((found - wanted).abs() < 1e-6 * wanted, "{place} step {step}: {found} m, not {wanted}");
        }
        // Without a limit it grows by half.
        cloth.change(|settings| settings.stretch_rate = None).unwrap();
        let positions = cloth.snapshot().unwrap().positions;
        let speed = -0.5 * wanted as f32 / FRAME;
        cloth.set_state(&positions, &[[0.0; 3], [0.0, speed, 0.0]]).unwrap();
        cloth.step(&frame(FRAME)).unwrap();
        assert!((lengths(&cloth)[0] - 1.5 * wanted).abs() < 1e-5, "{place}");
    }
}

/// Stiffness comes from the strip that an edge stands for: half as much on a border, none beside a fabric that does not
/// stretch; and exceptions stand as they are said.
#[test]
fn edges_have_the_stiffness_of_their_strip() {
    let sheet = scene::sheet(4).unwrap();
    let swatch = Swatch { faces: vec![0], density: 0.2, shear: 20.0, stretch: None, bending: 0.0, strain_limit: None };
    let descriptor = || MeshDescriptor {
        positions: sheet.mesh.positions().to_vec(),
        faces: sheet.mesh.faces().to_vec(),
        stretch: Some(300.0),
        swatches: vec![swatch.clone()],
        overrides: vec![EdgeOverride { ends: [14, 15], kind: EdgeKind::Rope, rest: None }],
        ..Default::default()
    };
    let mesh = Mesh::new(descriptor()).unwrap();
    let kind = |mesh: &Mesh, ends: [u32; 2]| {
        let place = mesh.edges().iter().position(|edge| [edge.tail, edge.head] == ends).unwrap();
        mesh.edge_kinds()[place]
    };
    let stiffness = |ends| match kind(&mesh, ends) {
        EdgeKind::Compliant { stiffness } => stiffness,
        other => panic!("{ends:?} is {other:?}"),
    };
    assert!((stiffness([5, 6]) - 300.0).abs() < 1e-3, "{}", stiffness([5, 6]));
    assert!((stiffness([12, 13]) - 150.0).abs() < 1e-3, "{}", stiffness([12, 13]));
    for beside in [[0, 1], [0, 4], [1, 5], [4, 5]] {
        assert_eq!(kind(&mesh, beside), EdgeKind::Inextensible);
    }
    assert_eq!(kind(&mesh, [14, 15]), EdgeKind::Rope);
    let both = Mesh::joined([scene::hang(3).unwrap().mesh, mesh.clone()]).unwrap();
    assert_eq!(kind(&both, [9 + 14, 9 + 15]), EdgeKind::Rope);
    assert_eq!(kind(&both, [0, 1]), EdgeKind::Inextensible);
    for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let refused = Mesh::new(MeshDescriptor { stretch: Some(bad), ..descriptor() });
        assert!(matches!(refused, Err(Error::OutOfRange { field: "stretch", .. })), "{bad}");
        let refused = Mesh::new(MeshDescriptor {
            swatches: vec![Swatch { stretch: Some(bad), ..swatch.clone() }],
            ..descriptor()
        });
        assert!(matches!(refused, Err(Error::OutOfRange { field: "swatches.stretch", .. })), "{bad}");
    }
    let limited = |min, max| EdgeKind::Limited { stiffness: 1.0, min, max };
    for (kind, field) in [
        (limited(1.1, 1.2), "overrides.kind.min"),
        (limited(0.9, 0.95), "overrides.kind.max"),
        (limited(0.9, f32::INFINITY), "overrides.kind.max"),
        (compliant(0.0), "overrides.kind.stiffness"),
    ] {
        let overrides = vec![EdgeOverride { ends: [0, 1], kind, rest: None }];
        match Mesh::new(MeshDescriptor { overrides, ..descriptor() }) {
            Err(Error::OutOfRange { field: found, .. }) => assert_eq!(found, field),
            other => panic!("{kind:?}: {other:?}"),
        }
    }
}

/// Scene files say it, and are written so that they say the same again.
#[test]
fn scene_files_have_laws() {
    let text = r#"
        [cloth]
        generator = "sheet"
        size = 4
        stretch = 250.0
        [cloth.groups]
        rim = [0, 1, 4, 5]
        [[cloth.fabrics]]
        group = "rim"
        stretch = inf
        [[cloth.overrides]]
        ends = [14, 15]
        kind = "rope"
        [[cloth.overrides]]
        ends = [10, 11]
        kind = "limited"
        stiffness = 40.0
        min = 0.9
        max = 1.1
        [solver]
        stretch_rate = 0.1
    "#;
    let scene = Scene::from_toml(text, None).unwrap();
    let kinds = scene.mesh.edge_kinds();
    assert!(kinds.contains(&EdgeKind::Rope) && kinds.contains(&EdgeKind::Inextensible));
    assert!(kinds.contains(&EdgeKind::Limited { stiffness: 40.0, min: 0.9, max: 1.1 }));
    assert_eq!(scene.settings.stretch_rate, Some(0.1));
    let refusals = [
        ("kind = \"rope\"", "kind = \"rope\"\nstiffness = 1.0", "cloth.overrides[0].stiffness"),
        ("kind = \"rope\"", "kind = \"rope\"\nmin = 0.5", "cloth.overrides[0].min"),
        ("max = 1.1", "max = 0.5", "cloth.overrides[1].max"),
        ("stretch = 250.0", "stretch = -1.0", "cloth.stretch"),
        ("stretch_rate = 0.1", "stretch_rate = 0.0", "solver.stretch_rate"),
    ];
    for (from, to, key) in refusals {
        let error = Scene::from_toml(&text.replace(from, to), None).unwrap_err().to_string();
        assert!(error.contains(key), "{error}");
    }
}
