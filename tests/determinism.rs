//! The same input gives the same bits: in one process, in fresh processes, for any number of threads, and on one
//! adapter from run to run.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hasher};
use std::process::Command;

use common::*;
use taut::{Cloth, FastProjection, GaussSeidel, Jacobi, Method, Scene, Settings, Substeps, YarnSweep, scene};

/// Tells a spawned copy of this test binary what to compute.
const VARIABLE: &str = "TAUT_DETERMINISM";

/// Hash of all persistent fields, of what pins bear, and of the counters.
fn hash(cloth: &Cloth) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Some(fields) = cloth.fields() {
        let mut persistent = 0;
        for (number, spec) in fields.specs().iter().enumerate().filter(|(_, spec)| spec.persistent) {
            hasher.write(spec.name.as_bytes());
            fields.words(number).iter().for_each(|word| hasher.write_u32(*word));
            persistent += 1;
        }
        assert!(persistent >= 4, "the state is more than {persistent} fields");
    }
    // On a GPU this is what can be read; the rest of the state shows in the frames that follow.
    let snapshot = cloth.snapshot().expect("the device is there");
    let vectors = [cloth.velocities(), cloth.pin_forces()].map(|list| list.expect("the device is there"));
    for x in snapshot.positions.iter().chain(vectors.iter().flatten()).flatten() {
        hasher.write_u32(x.to_bits());
    }
    let report = snapshot.report;
    for count in [report.iterations, report.inner_iterations, report.substeps, report.missed_substeps] {
        hasher.write_u32(count);
    }
    hasher.write_u32(report.device_strain.to_bits());
    hasher.finish()
}

fn solvers() -> Vec<(&'static str, Method)> {
    let mut list: Vec<(&str, Method)> = methods().collect();
    list.push(("seeded gauss-seidel", Method::GaussSeidel(GaussSeidel { seed: Some(7), ..Default::default() })));
    list
}

/// After a few frames of a small cloth.
fn small(gpu: Option<&taut::Gpu>, method: Method) -> u64 {
    let scene = Scene::named("hang", 12).expect("a known scene");
    let settings = Settings { method, strain_limit: 2e-3, ..Default::default() };
    let mut cloth = match gpu {
        Some(gpu) => Cloth::on_gpu(gpu, scene.with_settings(settings)).expect("the scene and the settings are valid"),
        None => cpu(scene, settings),
    };
    for _ in 0..4 {
        cloth.step(&frame(FRAME)).expect("the step runs");
    }
    hash(&cloth)
}

/// After a few frames of a cloth so large that its kernels are split over threads (from 16,384 elements), in reductions
/// too.
fn large(method: Method) -> u64 {
    let settings = Settings { method, substeps: Substeps::Fixed(1), ..Default::default() };
    let mut cloth = cpu(scene::hang(130).expect("a known scene"), settings);
    for _ in 0..3 {
        cloth.step(&frame(1.0 / 4000.0)).expect("the step runs");
    }
    hash(&cloth)
}

fn large_solvers() -> Vec<(&'static str, Method)> {
    let fast = FastProjection { iterations: 2, inner_iterations: Some(20), ..Default::default() };
    let sweeps = GaussSeidel { sweeps: 4, ..Default::default() };
    let jacobi = Jacobi { sweeps: 8, ..Default::default() };
    vec![
        ("fast-projection", Method::FastProjection(fast)),
        ("gauss-seidel", Method::GaussSeidel(sweeps)),
        ("jacobi", Method::Jacobi(jacobi)),
        ("yarn-sweep", Method::YarnSweep(YarnSweep { chords_from: 0.0, ..Default::default() })),
    ]
}

/// What a spawned process computes; does nothing in the parent.
#[test]
fn child() {
    let Ok(what) = std::env::var(VARIABLE) else { return };
    println!();
    match what.as_str() {
        "cpu" => {
            for (name, method) in solvers() {
                println!("HASH small {name} = {:016x}", small(None, method));
            }
            for (name, method) in large_solvers() {
                println!("HASH large {name} = {:016x}", large(method));
            }
        }
        "gpu" => {
            for gpu in gpus() {
                for (name, method) in solvers() {
                    println!("HASH {} {name} = {:016x}", common::name(&gpu), small(Some(&gpu), method));
                }
            }
        }
        other => panic!("{VARIABLE}={other}"),
    }
}

/// Hashes of a fresh process by label.
fn spawn(what: &str, threads: &str) -> BTreeMap<String, String> {
    let output = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["child", "--exact", "--nocapture", "--test-threads=1"])
        .env(VARIABLE, what)
        .env("RAYON_NUM_THREADS", threads)
        .output()
        .expect("this program can be started again");
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}\n{errors}");
    let lines = text.lines().filter_map(|line| line.strip_prefix("HASH ")?.split_once(" = "));
    lines.map(|(label, hash)| (label.to_owned(), hash.to_owned())).collect()
}

#[test]
fn fresh_processes_agree_for_any_number_of_threads() {
    let first = spawn("cpu", "1");
    assert_eq!(first.len(), solvers().len() + large_solvers().len(), "{first:?}");
    println!("{first:#?}");
    // Different computations have different hashes: the hash looks at something. On this cloth `auto` is the yarn
    // sweep.
    assert_eq!(first["small auto"], first["small yarn-sweep"]);
    assert_eq!(first.values().collect::<BTreeSet<_>>().len(), first.len() - 1);
    for threads in ["2", "3", "2"] {
        assert_eq!(spawn("cpu", threads), first, "RAYON_NUM_THREADS={threads} (left) and 1 (right)");
    }
    // And so does this process.
    for (name, method) in solvers() {
        assert_eq!(format!("{:016x}", small(None, method)), first[&format!("small {name}")]);
    }
}

#[test]
fn fresh_processes_agree_on_every_adapter() {
    let first = spawn("gpu", "2");
    if first.is_empty() {
        println!("SKIPPED: there is no adapter that computes");
        assert!(!gpu_required(), "TAUT_REQUIRE_GPU is set, but there is no adapter that computes");
        return;
    }
    println!("{first:#?}");
    assert_eq!(first.len() % solvers().len(), 0);
    assert_eq!(spawn("gpu", "2"), first);
}

#[test]
fn the_hash_sees_one_bit_and_one_frame() {
    let cloth = |bit: u32, frames: u32| {
        let mut cloth = cpu(scene::hang(5).expect("a known scene"), Settings::default());
        let mut positions = cloth.snapshot().expect("no device").positions;
        positions[12][1] = f32::from_bits(positions[12][1].to_bits() ^ bit);
        let velocities = vec![[0.0; 3]; positions.len()];
        cloth.set_state(&positions, &velocities).expect("the state is valid");
        for _ in 0..frames {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        hash(&cloth)
    };
    assert_eq!(cloth(0, 2), cloth(0, 2));
    let hashes: BTreeSet<u64> = [cloth(0, 0), cloth(1, 0), cloth(0, 2), cloth(1, 2), cloth(0, 3)].into();
    assert_eq!(hashes.len(), 5);
}

#[test]
fn reset_starts_the_same_motion_again() {
    for (name, method) in solvers() {
        let settings = Settings { method, strain_limit: 2e-3, ..Default::default() };
        let mut cloth = cpu(scene::hang(8).expect("a known scene"), settings);
        let mut run = || {
            for _ in 0..4 {
                cloth.step(&frame(FRAME)).expect("the step runs");
            }
            let found = hash(&cloth);
            cloth.reset().expect("the start is valid");
            found
        };
        let (first, second) = (run(), run());
        assert_eq!(first, second, "{name}");
    }
}

// --- The seeded order of Gauss-Seidel ---

fn seeded(seed: Option<u64>) -> Cloth {
    let method = Method::GaussSeidel(GaussSeidel { sweeps: 64, sweeps_per_check: 2, seed });
    let settings = Settings { method, strain_limit: 1e-5, substeps: Substeps::Fixed(4), ..Default::default() };
    cpu(scene::hang(8).expect("a known scene"), settings)
}

/// The sweeps of the program of the last frame, each as the first elements of its colors in order.
fn orders(cloth: &Cloth) -> Vec<Vec<u32>> {
    let colors = cloth.topology().coloring.ranges.len();
    let dispatches = cloth.program().dispatches();
    let starts: Vec<u32> = dispatches
        .iter()
        .filter(|dispatch| dispatch.kernel.name == "project_edge")
        .map(|dispatch| dispatch.range.start)
        .collect();
    assert!(!starts.is_empty());
    starts.chunks(colors).map(<[u32]>::to_vec).collect()
}

#[test]
fn a_seed_decides_the_result() {
    let run = |seed| {
        let mut cloth = seeded(seed);
        for _ in 0..3 {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        hash(&cloth)
    };
    let hashes = [None, Some(0), Some(1), Some(2), Some(u64::MAX)].map(run);
    assert_eq!(hashes, [None, Some(0), Some(1), Some(2), Some(u64::MAX)].map(run), "the same seed, the same hash");
    assert_eq!(BTreeSet::from(hashes).len(), 5, "another seed, another hash");
}

#[test]
fn the_order_is_really_permuted() {
    let mut cloth = seeded(Some(3));
    let sorted: Vec<u32> = cloth.topology().coloring.ranges.iter().map(|range| range.start).collect();
    assert_eq!(sorted.len(), 4);
    let mut frames = Vec::new();
    for _ in 0..6 {
        cloth.step(&frame(FRAME)).expect("the step runs");
        let orders = orders(&cloth);
        for order in &orders {
            let mut colors = order.clone();
            colors.sort_unstable();
            assert_eq!(colors, sorted, "every color once per sweep");
        }
        frames.push(orders);
    }
    assert!(frames[0].len() >= 8, "several sweeps before the order repeats");
    let sweeps: BTreeSet<&Vec<u32>> = frames.iter().flatten().collect();
    // 192 draws of 24 orders: all turn up, most likely; half would do.
    assert!(sweeps.len() > 12, "{} of 24 orders in {} sweeps", sweeps.len(), frames.iter().flatten().count());
    let distinct: BTreeSet<&Vec<Vec<u32>>> = frames.iter().collect();
    assert_eq!(distinct.len(), frames.len(), "every frame has its own orders");
    // Each color comes first about equally often: that is what takes the bias out.
    for color in &sorted {
        let first = frames.iter().flatten().filter(|order| order[0] == *color).count();
        assert!((20..=80).contains(&first), "color {color} is first in {first} of 192");
    }
    // Without a seed there is one order.
    let mut plain = seeded(None);
    plain.step(&frame(FRAME)).expect("the step runs");
    assert!(orders(&plain).iter().all(|order| *order == sorted));
}
