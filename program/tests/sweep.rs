//! Sweeps: lists of runs, their parts, rows that are never half, tables to the bit, and refusals before the first run.

mod common;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{command, finish, json, names, run, run_with, set};
use serde_json::Value;

const AXES: &str = "--set fabric.bending=1e-6,1e-5 --set fabric.density=log:0.05..0.5:3 --seeds 1..2";
const SMALL: &str = "--size 9 --seconds 0.1 --backend cpu";

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn lines(path: &Path) -> Vec<Value> {
    text(path).lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn parts_become_the_table_of_a_single_run_to_the_bit() {
    let directory = tempfile::tempdir().unwrap();
    let at = |arguments: &str| run(directory.path(), &format!("sweep drape {SMALL} {AXES} {arguments}"));
    let table = at("--out whole").succeeds();
    assert!(table.contains("12") && table.contains("sweep.jsonl"), "{table}");
    let whole = directory.path().join("whole");
    assert_eq!(names(&whole), set(&["rows", "sweep.json", "sweep.jsonl", "times.jsonl"]));
    let rows = lines(&whole.join("sweep.jsonl"));
    assert_eq!(rows.len(), 12);
    let mut states: Vec<&str> = rows.iter().map(|row| row["state"].as_str().expect("a checksum")).collect();
    states.sort_unstable();
    states.dedup();
    assert_eq!(states.len(), 12, "all runs differ");
    for (index, row) in rows.iter().enumerate() {
        assert_eq!((&row["run"], &row["held"], &row["frames"]), (&index.into(), &true.into(), &6.into()));
    }
    assert_eq!(lines(&whole.join("times.jsonl")).len(), 12);

    // Each to its own directory, several at once; joined in any order.
    for part in 0..3 {
        at(&format!("--out part{part} --shard {part}/3 --jobs 2 --quiet")).succeeds();
        assert_eq!(names(&directory.path().join(format!("part{part}/rows"))).len(), 4);
    }
    let missing = run(directory.path(), "sweep --merge part0 part2 --out joined");
    assert_eq!(missing.code, Some(2));
    assert_eq!(missing.said(), "taut: 4 of 12 runs are missing, run 1 is the first of them");
    run(directory.path(), "sweep --merge part2 part0 part1 --out joined").succeeds();
    assert_eq!(text(&directory.path().join("joined/sweep.jsonl")), text(&whole.join("sweep.jsonl")));

    // To one directory that all share, as tasks of schedulers.
    for task in 0..4_u32 {
        let id = (10 + 5 * task).to_string();
        let variables = [
            ("SLURM_ARRAY_TASK_ID", id.as_str()),
            ("SLURM_ARRAY_TASK_MIN", "10"),
            ("SLURM_ARRAY_TASK_MAX", "25"),
            ("SLURM_ARRAY_TASK_STEP", "5"),
            ("SLURM_ARRAY_TASK_COUNT", "4"),
        ];
        run_with(directory.path(), &variables, &format!("sweep drape {SMALL} {AXES} --out slurm")).succeeds();
        let index = task.to_string();
        let variables = [("JOB_COMPLETION_INDEX", index.as_str())];
        let arguments = format!("sweep drape {SMALL} {AXES} --out kubernetes");
        let refused = run_with(directory.path(), &variables, &arguments);
        assert!(refused.code == Some(2) && refused.said().contains("--shards N"), "{refused:?}");
        run_with(directory.path(), &variables, &format!("{arguments} --shards 4")).succeeds();
    }
    for shared in ["slurm", "kubernetes"] {
        assert_eq!(text(&directory.path().join(shared).join("sweep.jsonl")), text(&whole.join("sweep.jsonl")));
    }

    // A row that says something else is not of the same sweep.
    let row = directory.path().join("part1/rows/0000001.json");
    let other = text(&row).replace("\"worst_frame\":6", "\"worst_frame\":5");
    assert_ne!(other, text(&row));
    fs::write(&row, other).unwrap();
    let refused = run(directory.path(), "sweep --merge whole part1 --out joined");
    assert!(refused.said().contains("run 1 differs between whole and part1"), "{refused:?}");
}

#[test]
fn rows_are_what_a_run_reports() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("towel.toml"),
        "[cloth]\ngenerator = \"sheet\"\nsize = 9\nplane = \"xy\"\n[[pins]]\nat = \"corners\"\n\
         [output]\nseconds = 0.1\nfps = 50\nout = \"never\"\nexport = [\"never.pc2\"]\n",
    )
    .unwrap();
    let keys = "--set cloth.material=denim,silk --set world.gravity=[0,-9.81,0],[0,-1.6,0]";
    run(directory.path(), &format!("sweep towel.toml --backend cpu {keys} --keep --export cloth.npy --out many"))
        .succeeds();
    assert!(!directory.path().join("never").exists() && !directory.path().join("never.pc2").exists());
    let rows = lines(&directory.path().join("many/sweep.jsonl"));
    assert_eq!(rows[3]["settings"], serde_json::json!({ "cloth.material": "silk", "world.gravity": [0, -1.6, 0] }));
    run(directory.path(), "run towel.toml --backend cpu --material silk --gravity 0,-1.6,0 --out one").succeeds();
    let report = json(&directory.path().join("one/report.json"));
    for key in ["strain_max", "strain_p99", "frames", "substeps", "iterations", "vertices", "solver"] {
        assert_eq!(rows[3][key], report[key], "{key}");
    }
    assert_eq!(rows[3]["frames"], 5);
    let kept = directory.path().join("many/runs/0000003");
    assert_eq!(names(&kept), set(&["cloth.npy", "cloth.pc2", "report.json", "rest.obj", "run.taut"]));
    assert_eq!(fs::read(kept.join("cloth.pc2")).unwrap(), fs::read(directory.path().join("one/cloth.pc2")).unwrap());
    let files: Vec<&str> = rows[3]["files"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(files.contains(&"runs/0000003/cloth.npy") && files.contains(&"runs/0000003/cloth.pc2"), "{files:?}");
    // A seed is the noise of `run`, with its amplitude.
    run(directory.path(), "sweep hang --size 9 --seconds 0.1 --backend cpu --seeds 7 --out seeded").succeeds();
    let arguments = "run hang --size 9 --seconds 0.1 --backend cpu --noise --seed 7 --json -";
    let report = run(directory.path(), &format!("{arguments} --quiet")).json();
    assert_eq!(lines(&directory.path().join("seeded/sweep.jsonl"))[0]["strain_max"], report["strain_max"]);
    // Also of a scene that cannot be a file.
    run(directory.path(), "sweep fold --size 9 --seconds 0.05 --backend cpu --seeds 1,2 --out folds").succeeds();
}

#[test]
fn missed_limits_are_exit_code_1_and_are_not_run_again() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = "sweep hang --size 17 --seconds 0.2 --backend cpu --substeps 1 --strain 0.1% \
                     --set solver.method=yarn-sweep --set solver.yarn_sweep.sweeps=1,300 --out missed";
    let first = run(directory.path(), arguments);
    assert_eq!(first.code, Some(1), "{first:?}");
    assert!(first.said().contains("1 of 2 runs missed a limit, and 0 failed"), "{first:?}");
    let rows = lines(&directory.path().join("missed/sweep.jsonl"));
    assert_eq!((&rows[0]["held"], &rows[1]["held"]), (&false.into(), &true.into()));
    assert!(rows[0]["complaint"].as_str().is_some_and(|text| text.contains("over the strain limit")));
    let times = text(&directory.path().join("missed/times.jsonl"));
    let again = run(directory.path(), arguments);
    assert_eq!(again.code, Some(1));
    assert!(again.stdout.contains("done before"), "{again:?}");
    assert_eq!(text(&directory.path().join("missed/times.jsonl")), times, "nothing was run again");
}

#[test]
fn what_cannot_be_is_refused_before_the_first_run() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        ("--set cloth.bendin=1e-6", "cloth.bendin=1e-6:1:1: there is no key `cloth.bendin`; did you mean `bending`?"),
        ("--set cloth.bending=1e-6,-1", "cloth.bending=-1:1:1: `cloth.bending` is -1, but must be in"),
        ("--set cloth.bending=1e-6,soft", "`cloth.bending` is a string, but must be a number"),
        ("--set cloth.material=denim,felt", "`cloth.material` is \"felt\"; known are"),
        ("--set solids[3].radius=1", "there is no `solids[3]`: there are 1 of them"),
        ("--set cloth.bending=log:0..1:4", "the ends of log: are above 0"),
        ("--set cloth.bending=1 --set cloth.bending=2", "--set cloth.bending is there twice"),
        ("--set cloth.bending=1 --set fabric.bending=2", "--set cloth.bending and --set fabric.bending are one value"),
        ("--set fabric.bendin=1e-6", "there is no key `fabric.bendin`; did you mean `bending`?"),
        ("--set fabric.bending=1e-6,-1", "fabric.bending=-1:1:1: `cloth.bending` is -1, but must be in"),
        ("--set cloth.bending", "must be TABLE.NAME=VALUE"),
        ("--seeds 5..1", "5..1 has no seeds"),
        ("--seeds 1..3 --seed 2", "cannot be used with"),
        ("--shard 3/3", "3 parts are numbered from 0 to 2"),
        ("--shards 3", "neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set"),
        ("--export ../out.pc2", "must be a name in the directory of a run"),
        ("--export out.xyz", "must end with"),
        ("--jobs 0", "0 is not in 1..=1024"),
    ] {
        let refused = run(directory.path(), &format!("sweep drape {SMALL} --out refused {arguments}"));
        assert_eq!(refused.code, Some(2), "{arguments}: {refused:?}");
        assert!(refused.said().contains(expected) && refused.stderr.len() == 1, "{arguments}: {refused:?}");
        assert!(names(directory.path()).is_empty(), "{arguments}");
    }
    let mesh = run(directory.path(), "sweep --mesh cloth.obj --set cloth.bending=1 --list");
    assert!(mesh.said().contains("--set cloth.bending is a key of a scene file: one can name the mesh"), "{mesh:?}");
    let layered = run(directory.path(), "sweep heap --set cloth.bending=1 --list");
    assert!(layered.said().contains("the scene heap cannot be one"), "{layered:?}");

    run(directory.path(), &format!("sweep drape {SMALL} --seeds 1..2 --out one")).succeeds();
    let other = run(directory.path(), &format!("sweep drape {SMALL} --seeds 1..3 --out one"));
    assert!(other.code == Some(2) && other.said().contains("it is another list of runs"), "{other:?}");
    run(directory.path(), &format!("sweep drape {SMALL} --seeds 1..3 --out two")).succeeds();
    let mixed = run(directory.path(), "sweep --merge one two");
    assert!(
        mixed.code == Some(2) && mixed.said().contains("one and two cannot be joined: it is another list"),
        "{mixed:?}"
    );
    let manifest = directory.path().join("two/sweep.json");
    let mut newer = json(&manifest);
    newer["program"] = "9.9.9".into();
    fs::write(&manifest, newer.to_string()).unwrap();
    let mixed = run(directory.path(), "sweep --merge one two");
    assert!(mixed.said().contains("it is of version 9.9.9 of the program"), "{mixed:?}");
    let going_on = run(directory.path(), &format!("sweep drape {SMALL} --seeds 1..3 --out two"));
    assert!(going_on.code == Some(2) && going_on.said().contains("of version 9.9.9"), "{going_on:?}");
    let none = run(directory.path(), "sweep --merge missing");
    assert!(none.said().contains("it is no directory of a sweep"), "{none:?}");
}

#[test]
fn runs_that_fail_have_rows_that_say_why_and_are_tried_again() {
    let directory = tempfile::tempdir().unwrap();
    // Each value is good with the first of the others, so that nothing is refused before the first run.
    let noise = "--set cloth.start.noise=1e-5,0.01 --set cloth.size=9,33";
    let arguments = format!("sweep drape --seconds 0.1 --backend cpu {noise} --out noisy");
    for _ in 0..2 {
        let ended = run(directory.path(), &arguments);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.said().contains("0 of 4 runs missed a limit, and 1 failed"), "{ended:?}");
        let rows = lines(&directory.path().join("noisy/sweep.jsonl"));
        assert!(
            rows[3]["error"].as_str().is_some_and(|text| text.contains("a tenth of the shortest edge")),
            "{}",
            rows[3]
        );
        assert_eq!((&rows[3]["held"], &rows[3]["run"]), (&Value::Null, &3.into()));
    }
    let again = run(directory.path(), &arguments);
    assert!(again.stdout.lines().any(|line| line.contains("done before") && line.contains('3')), "{again:?}");
}

#[test]
fn lists_are_printed_by_part() {
    let directory = tempfile::tempdir().unwrap();
    let all = run(directory.path(), &format!("sweep drape {AXES} --list")).succeeds();
    assert_eq!(all.lines().count(), 12);
    assert_eq!(
        all.lines().nth(3),
        Some(r#"{"run":3,"settings":{"fabric.bending":1e-6,"fabric.density":0.158113883,"seed":2}}"#)
    );
    let part = run(directory.path(), &format!("sweep drape {AXES} --list --shard 1/5")).succeeds();
    let expected: Vec<&str> = all.lines().skip(1).step_by(5).collect();
    assert_eq!(part.lines().collect::<Vec<_>>(), expected);
    assert!(names(directory.path()).is_empty());
}

#[cfg(unix)]
#[test]
fn killed_sweeps_have_no_half_rows_and_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = "sweep drape --size 33 --seconds 0.3 --backend cpu --seeds 1..12 --jobs 2 --out killed";
    for signal in ["-KILL", "-TERM"] {
        let child = command(directory.path(), arguments).spawn().unwrap();
        let rows = directory.path().join("killed/rows");
        let before = if rows.is_dir() { names(&rows).len() } else { 0 };
        let clock = Instant::now();
        while (!rows.is_dir() || names(&rows).len() < before + 2) && clock.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(2));
        }
        let killed = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(killed.is_ok_and(|status| status.success()));
        let ended = finish(child);
        if signal == "-TERM" && ended.code != Some(0) {
            assert_eq!(ended.code, Some(143), "{ended:?}");
            assert!(ended.said().contains("the same command goes on"), "{ended:?}");
        }
        for name in names(&rows).iter().filter_map(|name| name.to_str()).filter(|name| name.ends_with(".json")) {
            assert!(json(&rows.join(name))["state"].is_string(), "{name}");
        }
    }
    run(directory.path(), arguments).succeeds();
    run(directory.path(), &arguments.replace("killed", "whole")).succeeds();
    let [killed, whole] = ["killed", "whole"].map(|name| text(&directory.path().join(name).join("sweep.jsonl")));
    assert_eq!(killed, whole);
}
