//! The program as its users meet it: exit codes, sentences, files. Every run here is on the CPU, but for the defaults;
//! `fallback.rs` has the adapters.

mod common;
#[path = "../src/schema.rs"]
mod schema;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use common::{Finished, TOP, command, finish, json, names, run as run_in, set};
use serde_json::Value;
use taut::io::pc2::{self, PointCache};

fn run(arguments: &str) -> Finished {
    run_in(Path::new("."), arguments)
}

/// What `rest.obj` says, parsed anew.
struct Rest {
    positions: Vec<[f32; 3]>,
    /// Ends and rest length in f64, for every side of a face and every line.
    edges: Vec<(usize, usize, f64)>,
}

impl Rest {
    fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("rest.obj is readable");
        let mut positions = Vec::new();
        let mut pairs = BTreeSet::new();
        for line in text.lines() {
            let mut words = line.split(' ');
            let keyword = words.next().expect("a line has a word");
            if keyword == "v" {
                let coordinates: Vec<f32> = words.map(|word| word.parse().expect("a coordinate")).collect();
                positions.push(<[f32; 3]>::try_from(coordinates).expect("three coordinates"));
                continue;
            }
            let corners: Vec<usize> = words.map(|word| word.parse::<usize>().expect("an index") - 1).collect();
            let closed = keyword == "f";
            assert!(closed && corners.len() == 4 || keyword == "l" && corners.len() == 2, "{line}");
            for (index, a) in corners.iter().enumerate() {
                let b = match corners.get(index + 1) {
                    Some(b) => b,
                    None if closed => &corners[0],
                    None => break,
                };
                pairs.insert((*a.min(b), *a.max(b)));
            }
        }
        let edges = pairs.into_iter().map(|(a, b)| (a, b, distance(positions[a], positions[b]))).collect();
        Self { positions, edges }
    }

    /// Strains of the edges that can move, smallest first.
    fn strains(&self, scene: &str, positions: &[[f32; 3]]) -> Vec<f64> {
        let pinned = |vertex: usize| scene == "curtain" && self.positions[vertex][2] == 0.0;
        let movable = self.edges.iter().filter(|(a, b, _)| !(pinned(*a) && pinned(*b)));
        let mut strains: Vec<f64> =
            movable.map(|(a, b, rest)| (distance(positions[*a], positions[*b]) / rest - 1.0).abs()).collect();
        strains.sort_by(f64::total_cmp);
        strains
    }
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f64 {
    a.iter().zip(&b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum::<f64>().sqrt()
}

/// The engine keeps rest lengths in f32; here they are f64.
const ROUNDING: f64 = 1e-7;

/// Compares the report of a run with the files it wrote.
fn check_files(directory: &Path, report: &Value) -> PointCache {
    let text = |key: &str| report[key].as_str().unwrap_or_else(|| panic!("{key} in {report}"));
    let number = |key: &str| report[key].as_f64().unwrap_or_else(|| panic!("{key} in {report}"));
    let scene = taut::Scene::named(text("scene"), number("size") as u32).expect("the report names a scene");
    let rest = Rest::read(&directory.join("rest.obj"));
    let cache = pc2::read(directory.join("cloth.pc2")).expect("cloth.pc2 is readable");

    assert_eq!(rest.positions, scene.mesh.positions());
    assert_eq!(rest.edges.len() as f64, number("edges"));
    assert_eq!(rest.positions.len() as f64, number("vertices"));
    assert_eq!(f64::from(cache.header().points), number("vertices"));
    assert_eq!(f64::from(cache.header().samples), number("frames") + 1.0);
    assert_eq!((cache.header().start, cache.header().rate), (0.0, 1.0));
    assert_eq!(cache.sample(0), Some(&scene.start[..]));

    let (mut max, mut p99, mut over) = (0.0f64, 0.0f64, 0.0);
    for frame in 1..cache.header().samples {
        let strains = rest.strains(text("scene"), cache.sample(frame as usize).expect("every sample is there"));
        let worst = strains.last().copied().unwrap_or_default();
        let rank = (strains.len() as f64 * 0.99).ceil() as usize;
        max = max.max(worst);
        p99 = p99.max(strains[rank - 1]);
        over += f64::from(u8::from(worst > number("strain_limit")));
    }
    assert!((max / number("strain_max") - 1.0).abs() < 1e-6 || (max - number("strain_max")).abs() < ROUNDING);
    assert!((p99 / number("strain_p99") - 1.0).abs() < 1e-6 || (p99 - number("strain_p99")).abs() < ROUNDING);
    assert_eq!(over, number("frames_over"));
    cache
}

const KEYS: [&str; 17] = [
    "schema_version",
    "backend",
    "reason",
    "adapter",
    "scene",
    "solver",
    "vertices",
    "edges",
    "strain_limit",
    "strain_max",
    "strain_p99",
    "frames",
    "frames_over",
    "substeps",
    "iterations",
    "dispatches_per_frame",
    "seconds_per_frame",
];

#[test]
fn defaults_are_the_documented_ones() {
    let finished = run("run --json -");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let report = finished.json();
    let expected = serde_json::json!({
        "schema_version": 1, "scene": "hang", "size": 71, "solver": "auto", "strain_limit": 0.01,
        "frames": 120, "frames_over": 0, "fps": 60.0, "seconds": 2.0, "vertices": 5041, "edges": 9940,
    });
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(&report[key], value, "{key}");
    }
    // Between the bounds that the documented rule gives.
    let scene = taut::scene::hang(71).expect("the default scene");
    let bounds = taut::substeps::StepBounds::new(&scene.mesh);
    let plan = taut::Settings::default().plan(&bounds, 1.0 / 60.0).expect("a plan");
    let substeps = report["substeps"].as_f64().expect("a number");
    assert!((f64::from(plan.least)..=f64::from(plan.most)).contains(&substeps), "{substeps} {plan:?}");
    assert!(report["load_max"].as_f64().is_some_and(|load| load > 1.0 && load < 8.0), "{report}");
    // Standard output is for JSON alone; the table is on standard error.
    assert!(finished.stderr.iter().any(|line| line.contains("worst strain")), "{finished:?}");
}

#[test]
fn every_scene_and_solver_reports_what_it_wrote() {
    for (scene, size) in [("chain", 9), ("curtain", 7), ("hang", 7), ("sheet", 6)] {
        for solver in taut::Method::NAMES {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let arguments = format!(
                "run {scene} --size {size} --solver {solver} --seconds 0.4 --fps 30 --backend cpu --out a/b --json r.json"
            );
            let finished = run_in(directory.path(), &arguments);
            assert_eq!((finished.code, finished.stderr.len()), (Some(0), 0), "{arguments}: {finished:?}");

            let out = directory.path().join("a/b");
            assert_eq!(names(&out), set(&["cloth.pc2", "report.json", "rest.obj", "run.taut"]));
            assert_eq!(names(directory.path()), set(&["a", "r.json"]));
            let text = std::fs::read_to_string(out.join("report.json")).expect("report.json is readable");
            assert_eq!(text, std::fs::read_to_string(directory.path().join("r.json")).expect("r.json is readable"));
            let places =
                KEYS.map(|key| text.find(&format!("\n  \"{key}\": ")).unwrap_or_else(|| panic!("{key}: {text}")));
            assert!(places.is_sorted() && text.starts_with("{\n  \"schema_version\": 1,"), "{text}");
            assert!(text.contains("\"strain_limit\": 0.01,"), "{text}");

            let report: Value = serde_json::from_str(&text).expect("report.json is JSON");
            assert_eq!((&report["backend"], &report["adapter"]), (&"cpu".into(), &Value::Null));
            assert_eq!(report["reason"], "the CPU was asked for");
            assert_eq!((&report["scene"], &report["solver"]), (&scene.into(), &solver.into()));
            assert_eq!(report["frames"], 12);
            let [iterations, substeps] = ["iterations", "substeps"].map(|key| report[key].as_f64().expect("a number"));
            assert!(iterations >= substeps, "at least one iteration per substep: {text}");
            let cache = check_files(&out, &report);
            if scene == "sheet" {
                // Symplectic Euler falls g t²/2 (1 + h/t) in t, with n substeps of h.
                let n = 12.0 * substeps;
                let fallen = -f64::from(cache.sample(12).expect("the last sample")[0][1]);
                let expected = 0.5 * 9.81 * 0.4 * 0.4 * (1.0 + 1.0 / n);
                assert!((fallen / expected - 1.0).abs() < 1e-4, "{fallen} is not {expected}");
            }
            // What people read says the same.
            for word in [scene, "the CPU was asked for", "0 of 12 frames", "a/b/cloth.pc2", "r.json"] {
                assert!(finished.stdout.contains(word), "{word}: {}", finished.stdout);
            }
        }
    }
}

/// A rate of drag is that of the scene, unless it is given.
#[test]
fn drag_brakes_what_falls() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let file = "[cloth]\ngenerator = \"sheet\"\nsize = 4\n[world]\ndrag = 3.0\n";
    std::fs::write(path.join("braked.toml"), file).expect("a file");
    let fallen = |arguments: &str| {
        let finished = run_in(path, &format!("run {arguments} --seconds 1 --backend cpu --quiet --export x.ply"));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        // Behind the header is the first vertex, in binary.
        let bytes = std::fs::read(path.join("x.ply")).expect("a result");
        let header = bytes.windows(11).position(|window| window == b"end_header\n").expect("a header") + 11;
        let y: [u8; 4] = bytes[header + 4..header + 8].try_into().expect("four bytes");
        -f64::from(f32::from_le_bytes(y))
    };
    // y = g (t/k − (1 − e^(−k t))/k²), and g t²/2 without drag.
    let expected = |rate: f64| 9.81 * (1.0 / rate - (1.0 - (-rate).exp()) / (rate * rate));
    for (arguments, expected) in [
        ("sheet --size 4", 4.905),
        ("sheet --size 4 --drag 2", expected(2.0)),
        ("braked.toml", expected(3.0)),
        ("braked.toml --drag 2", expected(2.0)),
        ("braked.toml --drag 0", 4.905),
    ] {
        let found = fallen(arguments);
        assert!((found / expected - 1.0).abs() < 0.02, "{arguments}: {found} m, not {expected} m");
    }
}

#[test]
fn strain_limits_are_reported_as_typed() {
    for (typed, reported) in
        [("0.01", "0.01"), ("1%", "0.01"), ("0.7%", "0.007"), ("0.003", "0.003"), ("2e-3", "0.002")]
    {
        let finished =
            run(&format!("run chain --size 3 --seconds 0.1 --backend cpu --strain {typed} --json - --quiet"));
        assert!(finished.stdout.contains(&format!("\"strain_limit\": {reported},")), "{finished:?}");
        assert_eq!((finished.code, finished.stderr.len()), (Some(0), 0), "{finished:?}");
    }
}

#[test]
fn frames_over_the_limit_are_exit_code_1_in_words() {
    // A chain of n links passes a pull on in about n² sweeps; 2,000 are not enough for 200 links that fell for a
    // tenth of a second before anything held them.
    let directory = tempfile::tempdir().expect("a temporary directory");
    let arguments = "run chain --size 201 --fps 10 --substeps 1 --solver gauss-seidel --seconds 0.5 --backend cpu --out . \
                     --quiet";
    let finished = run_in(directory.path(), arguments);
    assert_eq!((finished.code, finished.stderr.len()), (Some(1), 1), "{finished:?}");
    let text = std::fs::read_to_string(directory.path().join("report.json")).expect("report.json is readable");
    let report: Value = serde_json::from_str(&text).expect("report.json is JSON");
    let over = report["frames_over"].as_u64().expect("a count");
    assert!(over > 0);
    let beginning = format!("taut: {over} of 5 frames are over the strain limit of 1 %: the worst strain is ");
    assert!(finished.stderr[0].starts_with(&beginning), "{finished:?}");
    check_files(directory.path(), &report);
}

#[test]
fn bad_input_is_exit_code_2_in_one_sentence_and_leaves_no_trace() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    std::fs::write(path.join("file"), "precious").expect("a file");
    std::fs::create_dir_all(path.join("full/rest.obj")).expect("a directory");
    std::fs::write(path.join("full/cloth.pc2"), "precious").expect("a file");
    let cases = [
        (
            "run nonsense",
            "chain, curtain, drape, flag, hang, incline, mannequin, patch, rope-tether, sheet, tablecloth",
        ),
        ("run --size 0", "between 3 and 4096"),
        ("run chain --size 1", "between 2 and 4096"),
        ("run --size 4097", "between 3 and 4096"),
        ("run --size -3", "must be a whole number of vertices"),
        ("run --size 1.5", "--size"),
        ("run --size 99999999999", "must be a whole number of vertices"),
        ("run --solver nonsense", "fast-projection, gauss-seidel, jacobi"),
        ("run --strain nan", "0.01 or 1%"),
        ("run --strain inf", "0.01 or 1%"),
        ("run --strain 0", "0.01 or 1%"),
        ("run --strain -1%", "0.01 or 1%"),
        ("run --strain 1", "0.01 or 1%"),
        ("run --strain much", "not a number"),
        ("run --strain %", "not a number"),
        ("run --strain 1e-9", "the least that 32-bit positions of this size can hold"),
        ("run --seconds -1", "above 0 and at most 1e6 s"),
        ("run --seconds 0", "above 0 and at most 1e6 s"),
        ("run --seconds nan", "above 0 and at most 1e6 s"),
        ("run --seconds inf", "above 0 and at most 1e6 s"),
        ("run --seconds 0.001", "not even one frame"),
        ("run --seconds 1e300", "above 0 and at most 1e6 s"),
        ("run --seconds 1e6 --fps 100000", "too many frames"),
        ("run --seconds soon", "not a number"),
        ("run --fps 0", "between 1 and 100000"),
        ("run --fps nan", "between 1 and 100000"),
        ("run --drag much", "at least 0 per second"),
        ("run --drag -1", "drag is -1, but must be in [0, 1e6] 1/s"),
        ("run --drag nan", "drag is NaN, but must be in [0, 1e6] 1/s"),
        ("run --substeps 0", "auto or a whole number above 0"),
        ("run --substeps -4", "auto or a whole number above 0"),
        ("run --substeps few", "auto or a whole number above 0"),
        ("run --substeps 2000000", "1,000,000"),
        ("run --backend tpu", "auto, gpu, cpu"),
        ("run --backend cpu --adapter llvmpipe", "--backend cpu uses none"),
        ("run --sise 8", "--size"),
        ("run hang curtain", "unexpected argument 'curtain'"),
        ("run --seconds", "--seconds"),
        ("walk", "walk"),
        ("adapters --sorted", "--sorted"),
    ];
    let before = names(path);
    for (arguments, expected) in cases {
        let out = if arguments.starts_with("run") && arguments != "run --seconds" { " --out out" } else { "" };
        refused(path, &format!("{arguments}{out}"), expected);
        assert_eq!(names(path), before, "{arguments}");
    }
    let small = "run chain --size 3 --seconds 0.1 --backend cpu";
    let mut outputs = vec![
        ("--out file", "--out file exists and is not a directory"),
        ("--out file/out", "file/out"),
        ("--out full", "full/rest.obj"),
        ("--out new/deep --json missing/report.json", "taut: cannot access missing/report.json: No such file"),
        ("--out new --json full", "full: it exists and is not a regular file"),
    ];
    if cfg!(target_os = "linux") {
        outputs.push(("--out /proc/taut", "cannot make the directory /proc/taut"));
    }
    for (arguments, expected) in outputs {
        refused(path, &format!("{small} {arguments}"), expected);
        assert_eq!(names(path), before, "{arguments}");
    }
    assert_eq!(std::fs::read_to_string(path.join("file")).expect("it is still there"), "precious");
    assert_eq!(std::fs::read_to_string(path.join("full/cloth.pc2")).expect("it is still there"), "precious");
    assert_eq!(names(&path.join("full")), set(&["cloth.pc2", "rest.obj"]));
}

fn refused(directory: &Path, arguments: &str, expected: &str) {
    let finished = run_in(directory, arguments);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{arguments}: {finished:?}");
    let [line] = &finished.stderr[..] else { panic!("{arguments}: {finished:?}") };
    assert!(line.starts_with("taut: ") && line.contains(expected), "{arguments}: {line}");
    // Nothing is said twice.
    let clauses: Vec<&str> = line.split(": ").collect();
    assert_eq!(clauses.iter().collect::<BTreeSet<_>>().len(), clauses.len(), "{arguments}: {line}");
    assert!(!line.contains("panicked") && !line.contains(" { ") && !line.contains("  "), "{arguments}: {line}");
}

#[test]
fn quiet_says_nothing_and_old_files_are_replaced() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["cloth.pc2", "notes.txt", "report.json"] {
        std::fs::write(directory.path().join(name), "old").expect("a file");
    }
    let finished =
        run_in(directory.path(), "run curtain --size 4 --seconds 0.1 --backend cpu --quiet --out . --json report.json");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.is_empty() && finished.stderr.is_empty(), "{finished:?}");
    assert_eq!(names(directory.path()), set(&["cloth.pc2", "notes.txt", "report.json", "rest.obj", "run.taut"]));
    assert_eq!(std::fs::read_to_string(directory.path().join("notes.txt")).expect("it is still there"), "old");
    let text = std::fs::read_to_string(directory.path().join("report.json")).expect("report.json is readable");
    check_files(directory.path(), &serde_json::from_str(&text).expect("report.json is JSON"));
}

#[test]
fn without_out_there_are_no_files() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let finished = run_in(directory.path(), "run chain --size 3 --seconds 0.1 --backend cpu");
    assert_eq!((finished.code, finished.stderr.len()), (Some(0), 0), "{finished:?}");
    assert_eq!(names(directory.path()), set(&[]));
}

#[test]
fn results_are_the_same_in_every_process() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for out in ["first", "second"] {
        let finished =
            run_in(directory.path(), &format!("run hang --size 8 --seconds 0.5 --backend cpu --quiet --out {out}"));
        assert_eq!(finished.code, Some(0), "{finished:?}");
    }
    let [first, second] =
        ["first", "second"].map(|out| std::fs::read(directory.path().join(out).join("cloth.pc2")).ok());
    assert!(first.is_some() && first == second);
}

/// Asks a running program to stop, as Ctrl-C does.
#[cfg(unix)]
fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_the_frames_before_and_leaves_nothing_else_behind() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    std::fs::create_dir(path.join("old")).expect("a directory");
    std::fs::write(path.join("old/cloth.pc2"), "old").expect("a file");
    for out in ["old", "new/deep"] {
        let arguments = format!("run --size 24 --seconds 1000 --backend cpu --json r.json --out {out}");
        let mut child = command(path, &arguments).spawn().expect("the program starts");
        let temporary = path.join(out).join(format!(".cloth.pc2.{}.0.tmp", child.id()));
        let patience = Instant::now() + Duration::from_secs(20);
        // Some frames must have been written: an interruption before the first proves little.
        while !std::fs::metadata(&temporary).is_ok_and(|file| file.len() > 20_000) {
            if Instant::now() > patience || child.try_wait().is_ok_and(|status| status.is_some()) {
                let _ = child.kill();
                panic!("{out}: {:?}", finish(child));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        interrupt(&child);
        let finished = finish(child);
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(130), ""), "{finished:?}");
        let [line] = &finished.stderr[..] else { panic!("{finished:?}") };
        assert!(line.starts_with("taut: interrupted after "), "{line}");
        assert!(line.ends_with(" frames, which were written; the same command with --continue goes on"), "{line}");
        assert_eq!(names(&path.join(out)), set(&["cloth.pc2", "report.json", "rest.obj", "run.taut"]));
        let report = json(&path.join("r.json"));
        assert_eq!(report["complete"], false);
        check_files(&path.join(out), &report);
    }
    assert_eq!(names(path), set(&["new", "old", "r.json"]));
}

#[test]
fn help_and_version_are_no_errors_and_nothing_at_all_is() {
    for arguments in ["--help", "--version", "run --help", "adapters --help", "help run"] {
        let finished = run(arguments);
        assert_eq!((finished.code, finished.stderr.len()), (Some(0), 0), "{arguments}: {finished:?}");
        assert!(!finished.stdout.is_empty(), "{arguments}");
    }
    let finished = run("");
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.iter().any(|line| line.contains("Usage: taut <COMMAND>")), "{finished:?}");
}

#[test]
fn commands_that_were_not_built_say_how_to_build_them() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (built, arguments, expected) in [
        (cfg!(feature = "viewer"), "view hang --size 5", "cargo run --release --features viewer -- view has it"),
        (cfg!(feature = "validate"), "validate --quick", "cargo run --release --features validate -- validate has it"),
        (cfg!(feature = "validate"), "bench solvers paper --quick", "--features validate -- bench paper has it"),
    ] {
        if !built {
            refused(directory.path(), arguments, expected);
        }
    }
}

#[test]
fn adapters_are_listed() {
    let listed = run("adapters --json");
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let table = run("adapters");
    assert_eq!(table.code, Some(0), "{table:?}");
    let adapters = listed.json();
    for adapter in adapters.as_array().expect("an array") {
        let name = adapter["name"].as_str().expect("a name");
        assert!(table.stdout.contains(name), "{name}: {}", table.stdout);
        let keys: Vec<&String> = adapter.as_object().expect("an object").keys().collect();
        assert_eq!(
            keys,
            ["name", "backend", "type", "driver", "compute", "usable", "problem", "limits", "features"],
            "{adapter}"
        );
        assert_eq!(adapter["usable"].as_bool(), Some(adapter["problem"].is_null()), "{adapter}");
        assert!(adapter["limits"]["max_storage_buffers_per_shader_stage"].is_u64(), "{adapter}");
        assert!(adapter["features"]["TIMESTAMP_QUERY"].is_boolean(), "{adapter}");
    }
}

/// The last sample of a point cache.
fn last(path: &Path) -> Vec<[f32; 3]> {
    let cache = pc2::read(path).expect("cloth.pc2 is readable");
    cache.sample(cache.header().samples as usize - 1).expect("every sample is there").to_vec()
}

#[test]
fn a_resumed_run_goes_on_where_it_stopped() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let run = |arguments: &str| {
        let finished = run_in(directory.path(), arguments);
        (finished.code, finished.said())
    };
    let scene = "run drape --size 12 --backend cpu --quiet";
    assert_eq!(run(&format!("{scene} --seconds 1 --out whole")).0, Some(0));
    assert_eq!(run(&format!("{scene} --seconds 0.5 --checkpoint half.taut")).0, Some(0));
    assert_eq!(run(&format!("{scene} --seconds 0.5 --resume half.taut --out rest")).0, Some(0));
    let [whole, rest] = ["whole", "rest"].map(|name| last(&directory.path().join(name).join("cloth.pc2")));
    assert!(whole == rest, "the last frames differ");
    let (code, said) = run("run drape --size 13 --backend cpu --quiet --resume half.taut");
    assert!(code == Some(2) && said.contains("another cloth"), "{said}");
    let (code, said) = run(&format!("{scene} --resume none.taut"));
    assert!(code == Some(2) && said.contains("cannot resume from none.taut"), "{said}");
}

#[test]
fn parameters_of_the_solver_are_set_and_refused_in_one_sentence() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let run = |arguments: &str| {
        run_in(directory.path(), &format!("run chain --size 4 --seconds 0.1 --backend cpu {arguments}"))
    };
    assert_eq!(run("--set yarn_sweep.sweeps=3 --set fast_projection.warm_start=1 --quiet").code, Some(0));
    for (arguments, said) in [
        ("--set yarn_sweep.speed=3", "taut: --set: auto has no parameter yarn_sweep.speed"),
        ("--set jacobi.blend=0.1", "taut: --set: auto has no parameter jacobi.blend"),
        ("--set yarn_sweep.sweeps=many", "taut: --set: yarn_sweep.sweeps must be at least 1, not many"),
        ("--set yarn_sweep.sweeps=0", "taut: sweeps is 0, but must be at least 1"),
    ] {
        let finished = run(arguments);
        assert_eq!(finished.code, Some(2), "{arguments}: {finished:?}");
        assert!(finished.said().contains(said.trim_start_matches("taut: ")), "{finished:?}");
    }
}

#[test]
fn the_schema_has_the_fields_of_the_report_and_the_report_those_of_the_schema() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let schema = run_in(path, "run --schema").json();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    std::fs::write(path.join("a.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n").expect("a mesh");
    let few = "--seconds 0.1 --backend cpu --quiet --json -";
    let sparse = run_in(path, &format!("run chain --size 4 {few}")).json();
    let full = "--mesh a.obj --pin index:0 --noise --render a.png --size-px 32x32 --self-collision on";
    let full = run_in(path, &format!("run {full} {few}")).json();
    assert!(sparse["import"].is_null() && full["import"].is_object() && full["noise"].is_object(), "{full}");
    assert!(sparse["self_collision"].is_null() && full["self_collision"].is_object(), "{full}");
    for report in [&sparse, &full] {
        schema::walk(&schema, report, &schema, "");
        assert!(report["wall_seconds"].as_f64() > Some(0.0), "{report}");
    }
    // A field too many is found, and one too few.
    let mut more = sparse.clone();
    more["colour"] = "red".into();
    let mut fewer = sparse;
    fewer.as_object_mut().expect("an object").remove("solver").expect("a field");
    for report in [more, fewer] {
        let walked = std::panic::catch_unwind(|| schema::walk(&schema, &report, &schema, ""));
        assert!(walked.is_err(), "{report}");
    }
}

#[test]
fn frames_have_a_row_each_by_the_name_of_the_file() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let call = "run hang --size 7 --seconds 0.2 --backend cpu --quiet --json r.json";
    for name in ["rows.jsonl", "rows.csv"] {
        let finished = run_in(path, &format!("{call} --frames {name}"));
        assert_eq!(finished.code, Some(0), "{finished:?}");
    }
    let report = json(&path.join("r.json"));
    let text = std::fs::read_to_string(path.join("rows.jsonl")).expect("it was written");
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(rows.len(), 12);
    let number = |row: &Value, name: &str| row[name].as_f64().unwrap_or_else(|| panic!("{name} in {row}"));
    let worst = rows.iter().map(|row| number(row, "strain_max")).fold(0.0, f64::max);
    assert_eq!(worst, number(&report, "strain_max"));
    let iterations: f64 = rows.iter().map(|row| number(row, "iterations")).sum();
    assert_eq!(iterations / 12.0, number(&report, "iterations"));
    for (row, frame) in rows.iter().zip(1..) {
        assert_eq!(number(row, "frame"), f64::from(frame));
        assert!((number(row, "time") - f64::from(frame) / 60.0).abs() < 1e-12, "{row}");
        assert!(row["over"] == false && number(row, "substeps") >= 1.0 && number(row, "wall_seconds") > 0.0, "{row}");
    }
    let csv = std::fs::read_to_string(path.join("rows.csv")).expect("it was written");
    let lines: Vec<Vec<&str>> = csv.split_terminator("\r\n").map(|line| line.split(',').collect()).collect();
    let names: Vec<&String> = rows[0].as_object().expect("an object").keys().collect();
    assert!(lines.len() == 13 && names.iter().map(|name| name.as_str()).eq(lines[0].iter().copied()), "{csv}");
    assert_eq!(lines[1][2], rows[0]["strain_max"].to_string());
    refused(path, &format!("{call} --frames rows.txt"), "must end with .jsonl or .csv");
}

/// Vertices that touch a solid are counted at the end of every frame: none in the air, some on the ball.
#[test]
fn contacts_are_counted() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let contacts = |scene: &str| -> Vec<u64> {
        let call =
            format!("run {scene} --size 9 --seconds 0.7 --backend cpu --quiet --json r.json --frames rows.jsonl");
        assert_eq!(run_in(path, &call).code, Some(0), "{call}");
        let text = std::fs::read_to_string(path.join("rows.jsonl")).expect("it was written");
        let row =
            |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["contacts"].as_u64().expect("a count");
        text.lines().map(row).collect()
    };
    let draped = contacts("drape");
    assert_eq!((draped[0], json(&path.join("r.json"))["contacts"].as_u64()), (0, draped.iter().max().copied()));
    assert!(draped[41] > 5 && draped[41] <= 81, "{draped:?}");
    assert_eq!(contacts("hang"), vec![0; 42]);
}

/// Crossings are told where they were counted, and nowhere else.
#[test]
fn crossings_are_counted_where_they_are_asked_for() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let heap = format!("{TOP}/examples/scenes/heap.toml");
    let call = |scene: &str, more: &str| {
        let finished =
            run_in(path, &format!("run {scene} --size 9 --backend cpu --json r.json --frames rows.jsonl {more}"));
        let rows = std::fs::read_to_string(path.join("rows.jsonl")).expect("it was written");
        let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        (finished.succeeds(), json(&path.join("r.json")), rows)
    };
    let fields = ["crossings", "crossings_left", "frames_crossed", "nearest", "untangled"];

    let (table, report, rows) = call(&heap, "--seconds 0.5");
    assert!(!table.contains("crossings") && fields.iter().all(|field| report[field].is_null()), "{table} {report}");
    assert!(rows.iter().all(|row| row["crossings"].is_null() && row["nearest"].is_null()), "{rows:?}");

    let (table, report, rows) = call(&heap, "--seconds 1 --crossings --out heap");
    let counts: Vec<u64> = rows.iter().map(|row| row["crossings"].as_u64().expect("a count")).collect();
    let most = counts.iter().copied().max().expect("frames");
    let crossed = counts.iter().filter(|count| **count > 0).count();
    assert!(most > 0 && crossed < 60 && counts[0] == 0, "{counts:?}");
    let told = serde_json::json!([most, counts.last(), crossed, 0.0, false]);
    assert_eq!(Value::from(fields.map(|field| report[field].clone()).to_vec()), told);
    assert!(table.contains("crossings") && table.contains(&format!("{crossed} of 60 frames have some")), "{table}");
    for row in &rows {
        assert_eq!(row["nearest"] == 0.0, row["crossings"].as_u64() > Some(0), "{row}");
    }

    // A run that goes on counts what was not counted before, and what was stays.
    let (_, _, first) = call(&heap, "--seconds 0.5 --out other");
    assert!(first[29]["crossings"].is_null());
    let (_, other, again) = call(&heap, "--seconds 1 --crossings --out other --continue");
    assert_eq!(fields.map(|field| &other[field]), fields.map(|field| &report[field]));
    assert!(again.iter().map(|row| &row["crossings"]).eq(rows.iter().map(|row| &row["crossings"])), "{again:?}");
    // What was counted in some frames only is not told of all.
    let (_, partly, rows) = call(&heap, "--seconds 1.1 --out other --continue");
    assert!(fields.iter().all(|field| partly[field].is_null()), "{partly}");
    assert!(rows[59]["crossings"].is_u64() && rows[60]["crossings"].is_null(), "{rows:?}");

    let (table, report, _) = call("hang", "--seconds 0.1 --crossings");
    assert_eq!((&report["crossings"], &report["untangled"]), (&0.into(), &true.into()), "{report}");
    assert!(report["nearest"].as_f64() > Some(0.05) && table.contains("none; nearest "), "{table} {report}");
    let (table, report, _) = call("chain", "--seconds 0.1 --crossings");
    assert!(report["nearest"].is_null() && report["crossings"] == 0 && table.contains(" none "), "{table} {report}");
}

/// Two sheets that are held everywhere; the upper one, which leans, is led down through the lower one.
const FORCED: &str = r#"
name = "forced"

[[cloth]]
generator = "sheet"
size = 4
[[cloth.pins]]
box = { min = [-1.0, -0.01, -1.0], max = [2.0, 0.01, 2.0] }

[[cloth]]
generator = "sheet"
size = 4
[cloth.start]
translation = [0.1, 0.1, 0.1]
rotation = { axis = [0.0, 0.0, 1.0], degrees = 20.0 }
[[cloth.pins]]
box = { min = [-1.0, 0.05, -1.0], max = [2.0, 2.0, 2.0] }
[cloth.pins.motion]
keys = [{ time = 0.1, translation = [0.0, -0.2, 0.0] }]
"#;

/// Where self-collision is on, crossings are counted without being asked for, and one in a written frame is exit code
/// 1.
#[test]
fn cloth_that_passes_through_itself_against_the_promise_is_exit_code_1() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    std::fs::write(path.join("forced.toml"), FORCED).expect("a scene");
    let call = "run forced.toml --seconds 0.2 --backend cpu --json r.json --frames rows.jsonl";
    let free = run_in(path, call);
    assert_eq!((free.code, free.said().contains("through itself")), (Some(0), false), "{free:?}");
    let report = json(&path.join("r.json"));
    assert!(["crossings", "untangled", "self_collision"].iter().all(|key| report[key].is_null()), "{report}");
    // Counted for those who want to know, but nothing was promised.
    assert_eq!(run_in(path, &format!("{call} --crossings")).code, Some(0));

    let forced = run_in(path, &format!("{call} --self-collision on"));
    assert_eq!(forced.code, Some(1), "{forced:?}");
    let report = json(&path.join("r.json"));
    let crossed = report["frames_crossed"].as_u64().expect("a count");
    assert!(crossed > 0 && crossed < 12 && report["untangled"] == false, "{report}");
    assert!(report["self_collision"]["forced"].as_u64() > Some(0), "{report}");
    let said = format!("{crossed} of 12 frames have cloth that passes through itself");
    assert!(forced.said().contains(&said) && forced.said().contains("was driven into cloth"), "{forced:?}");
    let rows = std::fs::read_to_string(path.join("rows.jsonl")).expect("it was written");
    let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told = rows.iter().filter(|row| row["crossings"].as_u64().expect("a count") > 0).count();
    assert_eq!(told as u64, crossed);
    assert!(rows.iter().all(|row| row["pinched"] == 0 && row["forced"].is_u64()), "{rows:?}");

    // What keeps the promise is done, and says how near it came.
    let kept = run_in(path, &format!("{} --self-collision on", call.replace("0.2", "0.03"))).succeeds();
    assert!(kept.contains("none; nearest "), "{kept}");
    assert_eq!(json(&path.join("r.json"))["untangled"], true);
}

/// Cloth that meets itself is there by name, with self-collision unless somebody says otherwise.
#[test]
fn layered_scenes_have_names() {
    for name in taut::scene::LAYERED {
        let call = format!("run {name} --size 8 --seconds 0.05 --backend cpu --quiet --json -");
        let report = run(&call).json();
        assert!(report["self_collision"].is_object() && report["untangled"] == true, "{name}: {report}");
        let free = run(&format!("{call} --self-collision off")).json();
        assert!(free["self_collision"].is_null() && free["untangled"].is_null(), "{name}: {free}");
    }
    let refused = run("run heap --size 8 --material denim");
    assert_eq!(refused.code, Some(2));
    assert!(refused.said().contains("the scene heap is of one cotton"), "{refused:?}");
}

#[test]
fn the_table_is_short_and_help_is_in_groups() {
    let call = "run chain --size 4 --seconds 0.1 --backend cpu";
    let (short, long) = (run(call).succeeds(), run(&format!("{call} --verbose")).succeeds());
    for word in ["solver", "substeps", "largest load", "dispatches"] {
        assert!(!short.contains(word) && long.contains(word), "{word}: {short} {long}");
    }
    assert!(short.lines().count() <= 20 && short.contains("where 1 % is allowed"), "{short}");
    let help = run("run --help").succeeds();
    let places = ["Arguments:", "Cloth:", "Solver:", "Time:", "Machine:", "Output:", "Going on:", "Pictures:"]
        .map(|title| help.find(&format!("\n{title}\n")).unwrap_or_else(|| panic!("{title} {help}")));
    assert!(places.is_sorted(), "{help}");
}
