//! The program when it is stopped, killed, or runs out of disk or memory: what is there is whole.
#![cfg(unix)]

mod common;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{TAUT, command};
use taut::io::pc2;

/// Exit code and what was said.
fn finish(child: Child) -> (Option<i32>, String) {
    let finished = common::finish(child);
    (finished.code, finished.said())
}

fn run(directory: &Path, arguments: &str) -> (Option<i32>, String) {
    finish(command(directory, arguments).spawn().expect("the program starts"))
}

/// Like [`run`], for what would take for ever if it went wrong.
fn run_soon(directory: &Path, arguments: &str) -> (Option<i32>, String) {
    let mut child = command(directory, arguments).spawn().expect("the program starts");
    soon(&mut child, |child| child.try_wait().is_ok_and(|status| status.is_some()));
    finish(child)
}

/// Waits until something has happened to the program.
fn soon(child: &mut Child, happened: impl Fn(&mut Child) -> bool) {
    let patience = Instant::now() + Duration::from_secs(30);
    while !happened(child) {
        if Instant::now() > patience {
            let _ = child.kill();
            panic!("it takes too long");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn send(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()));
}

/// Names and contents of a directory.
fn contents(directory: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let entries = std::fs::read_dir(directory).expect("the directory is readable");
    let read = |path: &Path| std::fs::read(path).unwrap_or_default();
    entries.flatten().map(|entry| (entry.file_name(), read(&entry.path()))).collect()
}

/// Whether a name is that of a temporary file.
fn is_temporary(name: &OsString) -> bool {
    name.as_encoded_bytes().ends_with(b".tmp")
}

// --- Signals ---

#[test]
fn a_signal_does_not_wait_for_the_end_of_a_frame() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        // A frame that takes minutes.
        let arguments = "run hang --size 8 --substeps 1000000 --backend cpu --out out --checkpoint state";
        let mut child = command(path, arguments).spawn().expect("the program starts");
        let temporary = path.join(format!("out/.cloth.pc2.{}.0.tmp", child.id()));
        soon(&mut child, |_| temporary.exists());
        std::thread::sleep(Duration::from_millis(100));
        send(&child, signal);
        soon(&mut child, |child| child.try_wait().is_ok_and(|status| status.is_some()));
        let (found, said) = finish(child);
        assert_eq!(found, Some(code), "{signal}: {said}");
        assert_eq!(said, "taut: interrupted before the end of the first frame; nothing was written");
        assert!(contents(path).is_empty(), "{signal}");
    }
}

#[test]
fn a_benchmark_does_not_wait_for_the_end_of_a_frame() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    // One frame of it takes minutes.
    let arguments = "bench solvers --adapter none --sizes 600 --solvers jacobi --strain 0.1% --json results.json";
    let mut child = command(path, arguments).spawn().expect("the program starts");
    std::thread::sleep(Duration::from_secs(3));
    send(&child, "-INT");
    soon(&mut child, |child| child.try_wait().is_ok_and(|status| status.is_some()));
    let (code, said) = finish(child);
    assert_eq!(code, Some(130), "{said}");
    assert!(said.ends_with("interrupted: what was finished is kept and marked as incomplete"), "{said}");
    let results = std::fs::read_to_string(path.join("results.json")).expect("a file");
    let results: serde_json::Value = serde_json::from_str(&results).expect("JSON");
    assert!(results["complete"] == false && results["rows"].as_array().is_some_and(Vec::is_empty), "{results}");
}

#[test]
fn the_frames_before_an_interruption_are_kept_and_can_be_continued() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let scene = "run drape --size 16 --backend cpu --quiet";
    let outputs = "--out out --export out/a.mdd --export out/a.npy --export out/a.###.ply --export out/last.obj";
    let arguments = format!("{scene} --seconds 1000 --checkpoint state {outputs}");
    let mut child = command(path, &arguments).spawn().expect("the program starts");
    let fourth = path.join(format!("out/.a..ply.{}.0.tmp/a.004.ply", child.id()));
    soon(&mut child, |_| fourth.exists());
    send(&child, "-TERM");
    let (code, said) = finish(child);
    assert_eq!(code, Some(143), "{said}");
    let report = std::fs::read_to_string(path.join("out/report.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let frames = report["frames"].as_u64().expect("a count");
    assert!(frames >= 3 && report["complete"] == false, "{report}");
    let expected = format!(
        "taut: interrupted after {frames} of 60000 frames, which were written; the same command with --continue and --resume state go on"
    );
    assert_eq!(said, expected);

    // The same bytes as a run that was never asked for more.
    let seconds = frames as f64 / 60.0;
    let whole = outputs.replace("out", "whole").replace("--whole", "--out");
    let (code, said) = run(path, &format!("{scene} --seconds {seconds} {whole}"));
    assert_eq!(code, Some(0), "{said}");
    let [mut early, mut whole] = ["out", "whole"].map(|name| contents(&path.join(name)));
    for files in [&mut early, &mut whole] {
        ["report.json", "run.taut"].iter().for_each(|name| drop(files.remove(&OsString::from(name))));
    }
    assert!(early.keys().eq(whole.keys()), "{:?}, {:?}", early.keys(), whole.keys());
    early.iter().for_each(|(name, bytes)| assert!(*bytes == whole[name], "{name:?} differs"));

    let (code, said) = run(path, &format!("{scene} --seconds 0.1 --resume state --out rest"));
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run(path, &format!("{scene} --seconds {} --out all", seconds + 0.1));
    assert_eq!(code, Some(0), "{said}");
    let [all, rest] = ["all", "rest"].map(|name| pc2::read(path.join(name).join("cloth.pc2")).expect("a cache"));
    assert_eq!(all.sample(frames as usize + 6), rest.sample(6));
}

// --- Going on ---

/// What a run that goes on must have alike with one that was never stopped: all files, and of the report everything but
/// times.
fn alike(path: &Path, one: &str, other: &str) {
    let [one, other] = [one, other].map(|name| contents(&path.join(name)));
    assert!(one.keys().eq(other.keys()), "{:?}, {:?}", one.keys(), other.keys());
    for (name, bytes) in &one {
        match name.to_str() {
            Some("run.taut" | "rows.csv") => {}
            Some("report.json") => {
                let [one, other] = [bytes, &other[name]].map(|bytes| {
                    let mut report: serde_json::Value = serde_json::from_slice(bytes).expect("JSON");
                    let report = report.as_object_mut().expect("an object");
                    for time in ["seconds_per_frame", "phase_seconds", "wall_seconds"] {
                        assert!(report.remove(time).is_some(), "{time}");
                    }
                    report.clone()
                });
                assert_eq!(one, other);
            }
            _ => assert!(*bytes == other[name], "{name:?} differs"),
        }
    }
}

/// The table of `--frames` without the times that frames took, which are its last column.
fn rows(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("a table");
    text.lines().map(|line| line.rsplit_once(',').expect("columns").0.to_owned()).collect()
}

const OUTPUTS: &str = "--out OUT --export OUT/a.mdd --export OUT/a.npy --export OUT/a.###.ply --export OUT/last.obj \
                       --frames OUT/rows.csv";

#[test]
fn runs_that_go_on_end_with_the_bytes_of_one_that_was_never_stopped() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    // A corner is let go of at the start of frame 7, and a ball comes.
    let scene = "[cloth]\ngenerator = \"sheet\"\nsize = 9\nplane = \"xy\"\n[[pins]]\nat = \"top-left\"\n[[pins]]\n\
                 at = \"top-right\"\nuntil = 0.1\n[[solids]]\nshape = \"sphere\"\nradius = 0.2\n\
                 translation = [0.5, -0.5, -0.4]\n[solids.motion]\nkeys = [{ time = 0.5, translation = [0, 0, 1] }]\n";
    std::fs::write(path.join("ball.toml"), scene).expect("a file");
    for (scene, name) in [("run ball.toml", "ball"), ("run flag --size 9 --bdf2", "flag")] {
        let call = |frames: u32, out: &str, more: &str| {
            let outputs = OUTPUTS.replace("OUT", out);
            let seconds = (f64::from(frames) + 0.01) / 60.0;
            let arguments = format!("{scene} --backend cpu --quiet --seconds {seconds} {outputs} {more}");
            let (code, said) = run(path, &arguments);
            assert!(matches!(code, Some(0 | 1)), "{scene} {frames}: {code:?} {said}");
        };
        let whole = format!("{name}-whole");
        call(16, &whole, "");
        for stops in [&[1][..], &[6, 7, 8], &[15], &[16]] {
            let parts = format!("{name}-{}", stops.len() + stops[0] as usize);
            call(stops[0], &parts, "");
            stops[1..].iter().chain(&[16]).for_each(|stop| call(*stop, &parts, "--continue"));
            alike(path, &whole, &parts);
            let [one, other] = [&whole, &parts].map(|name| rows(&path.join(name).join("rows.csv")));
            assert!(one == other && one.len() == 17, "{one:?} {other:?}");
            std::fs::remove_dir_all(path.join(parts)).expect("a directory");
        }
    }
}

#[test]
fn an_interrupted_run_goes_on_and_a_killed_one_has_lost_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let scene = "run drape --size 16 --backend cpu --quiet";
    let outputs = OUTPUTS.replace("OUT", "out");
    let begun = |arguments: &str, name: &str| {
        let mut child = command(path, arguments).spawn().expect("the program starts");
        let file = path.join(format!("out/.a..ply.{}.0.tmp/{name}", child.id()));
        soon(&mut child, |_| file.exists());
        child
    };
    let child = begun(&format!("{scene} --seconds 1000 {outputs}"), "a.005.ply");
    send(&child, "-INT");
    let (code, said) = finish(child);
    assert_eq!(code, Some(130), "{said}");
    assert!(said.ends_with(" frames, which were written; the same command with --continue goes on"), "{said}");
    let old = contents(&path.join("out"));
    let report: serde_json::Value = serde_json::from_slice(&old[&OsString::from("report.json")]).expect("JSON");
    let frames = report["frames"].as_u64().expect("a count");

    // Killed in the middle, it leaves what was there; the next one takes away what it left.
    let mut child = begun(&format!("{scene} --seconds 1000 {outputs} --continue"), &format!("a.{:03}.ply", frames + 4));
    child.kill().expect("it runs");
    finish(child);
    let found = contents(&path.join("out"));
    old.iter().for_each(|(name, bytes)| assert!(found[name] == *bytes, "{name:?}"));

    // Interrupted again, and then to its end.
    let child = begun(&format!("{scene} --seconds 1000 {outputs} --continue"), &format!("a.{:03}.ply", frames + 3));
    send(&child, "-TERM");
    let (code, said) = finish(child);
    assert_eq!(code, Some(143), "{said}");
    assert!(said.ends_with(" frames, which were written; the same command goes on"), "{said}");
    let report: serde_json::Value =
        serde_json::from_slice(&contents(&path.join("out"))[&OsString::from("report.json")]).expect("JSON");
    assert!(report["complete"] == false && report["frames"].as_u64() > Some(frames), "{report}");
    let seconds = (report["frames"].as_f64().expect("a count") + 4.01) / 60.0;
    let (code, said) = run(path, &format!("{scene} --seconds {seconds} {outputs} --continue"));
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run(path, &format!("{scene} --seconds {seconds} {}", OUTPUTS.replace("OUT", "whole")));
    assert_eq!(code, Some(0), "{said}");
    alike(path, "out", "whole");
    assert_eq!(rows(&path.join("out/rows.csv")), rows(&path.join("whole/rows.csv")));
}

#[test]
fn what_is_no_part_of_a_run_does_not_go_on_with_it_and_changes_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let base = "run hang --size 8 --backend cpu --seconds 0.1 --out out";
    assert_eq!(run(path, base).0, Some(0));
    assert_eq!(run(path, "run hang --size 8 --backend cpu --seconds 0.1 --drag 1 --out other").0, Some(0));
    std::fs::create_dir_all(path.join("mixed")).expect("a directory");
    for (from, name) in [("out", "run.taut"), ("other", "cloth.pc2")] {
        std::fs::copy(path.join(from).join(name), path.join("mixed").join(name)).expect("a copy");
    }
    std::fs::create_dir_all(path.join("cut")).expect("a directory");
    let whole = std::fs::read(path.join("out/run.taut")).expect("a file");
    std::fs::write(path.join("cut/run.taut"), &whole[..whole.len() - 1]).expect("a file");
    std::fs::create_dir_all(path.join("noise")).expect("a directory");
    std::fs::write(path.join("noise/run.taut"), [255; 100_000]).expect("a file");
    let before = ["out", "other", "mixed", "cut", "noise"].map(|name| contents(&path.join(name)));
    for (arguments, expected) in [
        ("run hang --size 8 --out none", "none: it has no run.taut, which every run with --out leaves"),
        ("run hang --size 8", "--continue goes on with a run in the directory of --out, which is missing"),
        ("run drape --size 8 --out out", "its scene is hang, not drape"),
        ("run hang --size 9 --out out", "its size is 8, not 9"),
        ("run hang --size 8 --fps 30 --out out", "its frame rate is 60, not 30"),
        ("run hang --size 8 --solver jacobi --out out", "its solver is auto, not jacobi"),
        ("run hang --size 8 --strain 2% --out out", "its strain limit is 0.01, not 0.02"),
        ("run hang --size 8 --noise --out out", "its shape, start or surroundings differ"),
        ("run hang --size 8 --drag 2 --out out", "its settings differ"),
        ("run hang --size 8 --set yarn_sweep.sweeps=3 --out out", "its settings differ"),
        ("run hang --size 8 --seconds 0.05 --out out", "it has 6 frames already, and --seconds asks for 3"),
        ("run hang --size 8 --out mixed", "cloth.pc2 is not of the run that left run.taut"),
        ("run hang --size 8 --out cut", "the state in run.taut has "),
        ("run hang --size 8 --out noise", "run.taut is damaged, or not of this program"),
        ("run hang --size 8 --out out --resume x", "cannot be used with"),
    ] {
        let (code, said) = run(path, &format!("{arguments} --backend cpu --continue"));
        assert_eq!((code, said.lines().count()), (Some(2), 1), "{arguments}: {said}");
        assert!(said.starts_with("taut: ") && said.contains(expected), "{arguments}: {said}");
        let after = ["out", "other", "mixed", "cut", "noise"].map(|name| contents(&path.join(name)));
        assert!(before == after && !path.join("none").exists(), "{arguments}");
    }
}

#[test]
fn a_run_on_an_adapter_goes_on_there_and_nowhere_else() {
    if !common::has_gpu() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let scene = "run drape --size 10 --quiet";
    let call = |arguments: &str| run(path, &format!("{scene} {arguments}"));
    assert_eq!(call("--backend gpu --seconds 0.2 --out whole --render whole/x.gif --size-px 64x48").0, Some(0));
    assert_eq!(call("--backend gpu --seconds 0.1 --out parts").0, Some(0));
    let (code, said) = call("--backend cpu --seconds 0.2 --out parts --continue");
    assert!(code == Some(2) && said.contains("it ran on ") && said.ends_with(", not on the CPU"), "{said}");
    let (code, said) = call("--backend gpu --seconds 0.2 --out parts --continue --render parts/x.gif --size-px 64x48");
    assert_eq!(code, Some(0), "{said}");
    let [mut whole, mut parts] = ["whole", "parts"].map(|name| contents(&path.join(name)));
    [&mut whole, &mut parts].into_iter().for_each(|files| drop(files.remove(&OsString::from("run.taut"))));
    assert!(whole[&OsString::from("cloth.pc2")] == parts[&OsString::from("cloth.pc2")]);
    assert_eq!(whole[&OsString::from("x.gif")].len() / 64, parts[&OsString::from("x.gif")].len() / 64);
}

// --- Kills ---

/// What a run writes.
const WRITES: &str = "run hang --size 20 --seconds 0.25 --backend cpu --quiet --out out --checkpoint out/state \
                      --export out/a.mdd --export out/a.##.ply --json out/more.json --render out/picture.gif \
                      --size-px 64x48";

/// Whether a file is what a run that was not killed writes; times in reports are never the same twice.
fn is_whole(name: &OsString, bytes: &[u8], whole: &BTreeMap<OsString, Vec<u8>>) -> bool {
    match whole.get(name) {
        Some(_) if name.as_encoded_bytes().ends_with(b".json") => {
            serde_json::from_slice::<serde_json::Value>(bytes).is_ok_and(|report| report["complete"] == true)
        }
        // It has times in its lines; its end is a checkpoint.
        Some(expected) if name == "run.taut" => bytes.ends_with(&expected[expected.len().saturating_sub(1 << 12)..]),
        Some(expected) => expected == bytes,
        None => false,
    }
}

fn kill_at_many_times(kills: u32) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let clock = Instant::now();
    let (code, said) = run(path, WRITES);
    assert_eq!(code, Some(0), "{said}");
    let time = clock.elapsed().as_secs_f64();
    let whole = contents(&path.join("out"));
    assert!(whole.len() > 20 && !whole.keys().any(is_temporary), "{:?}", whole.keys());

    let (mut ended, mut left) = (0, 0);
    for kill in 0..kills {
        let old = kill % 2 == 0;
        if old {
            whole.keys().for_each(|name| std::fs::write(path.join("out").join(name), "old").expect("a file"));
        } else if path.join("out").exists() {
            for name in contents(&path.join("out")).keys().filter(|name| !is_temporary(name)) {
                std::fs::remove_file(path.join("out").join(name)).expect("a file");
            }
        }
        let mut child = command(path, WRITES).spawn().expect("the program starts");
        // Half of them while files are put in place.
        let least = if kill % 4 < 2 { 0.0 } else { 0.8 };
        // Multiples of the golden ratio are spread evenly over the times there are, however many of them.
        let share = (f64::from(kill) * 0.618_034).fract();
        std::thread::sleep(Duration::from_secs_f64(time * (least + (1.1 - least) * share)));
        let _ = child.kill();
        ended += u32::from(finish(child).0 == Some(0));
        for (name, bytes) in contents(&path.join("out")) {
            let fine = is_temporary(&name) || is_whole(&name, &bytes, &whole) || (old && bytes == b"old");
            assert!(fine, "kill {kill}: {name:?} is half a file");
        }
        left += u32::from(contents(&path.join("out")).keys().any(is_temporary));
    }
    println!("{kills} kills: {ended} came too late, {left} found or left temporary files");
    // What they left is gone after the next run, and nothing else is.
    let (code, said) = run(path, WRITES);
    assert_eq!(code, Some(0), "{said}");
    let found = contents(&path.join("out"));
    assert!(found.keys().eq(whole.keys()), "{:?}", found.keys());
    found.iter().for_each(|(name, bytes)| assert!(is_whole(name, bytes, &whole), "{name:?}"));
}

#[test]
fn killed_runs_leave_no_half_file_and_what_they_leave_goes() {
    kill_at_many_times(6);
}

#[test]
#[ignore = "takes a minute; tests/kill runs it"]
fn sixty_killed_runs_leave_no_half_file_and_what_they_leave_goes() {
    kill_at_many_times(60);
}

#[test]
fn runs_side_by_side_do_not_take_each_others_files_for_left_over() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let children: Vec<Child> = (0..4).map(|_| command(path, WRITES).spawn().expect("the program starts")).collect();
    for child in children {
        let (code, said) = finish(child);
        assert_eq!(code, Some(0), "{said}");
    }
    assert!(!contents(&path.join("out")).keys().any(is_temporary));
}

// --- Disk ---

#[test]
fn a_disk_that_is_full_after_any_block_leaves_old_files_intact() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let arguments = "run hang --size 12 --seconds 0.1 --backend cpu --quiet --out out --checkpoint out/state \
                     --export out/a.mdd --export out/a.#.ply";
    let (code, said) = run(path, arguments);
    assert_eq!(code, Some(0), "{said}");
    let whole = contents(&path.join("out"));
    let largest = whole.values().map(Vec::len).max().unwrap_or_default();
    let old: BTreeMap<OsString, Vec<u8>> = whole.keys().map(|name| (name.clone(), b"old".to_vec())).collect();
    let mut failed = 0;
    for blocks in 0..=largest.div_ceil(512) {
        old.iter().for_each(|(name, bytes)| std::fs::write(path.join("out").join(name), bytes).expect("a file"));
        // No file can be longer than so many blocks of 512 bytes, which to a program is a full disk.
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, TAUT]).args(arguments.split_whitespace());
        let child = command.current_dir(path).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let (code, said) = finish(child.expect("a shell"));
        let found = contents(&path.join("out"));
        assert!(!found.keys().any(is_temporary), "{blocks} blocks: {:?}", found.keys());
        if code == Some(0) {
            break;
        }
        failed += 1;
        assert_eq!(code, Some(2), "{blocks} blocks: {said}");
        assert!(said.starts_with("taut: cannot ") && said.lines().count() == 1, "{blocks} blocks: {said}");
        for (name, bytes) in &found {
            assert!(bytes == &old[name] || is_whole(name, bytes, &whole), "{blocks} blocks: {name:?}");
        }
    }
    assert!(failed > 10, "only {failed} disks were full");
}

// --- What is read ---

#[test]
fn only_a_file_of_the_right_size_is_read_as_a_checkpoint() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let status = Command::new("mkfifo").arg(path.join("pipe")).status();
    assert!(status.is_ok_and(|status| status.success()));
    let huge = std::fs::File::create(path.join("huge")).expect("a file");
    huge.set_len(1 << 40).expect("a file with a hole");
    std::fs::write(path.join("short"), "TAUTSAVE").expect("a file");
    for (file, expected) in [
        ("/dev/zero", "it is not a regular file"),
        ("pipe", "it is not a regular file"),
        (".", "it is not a regular file"),
        ("huge", "it has 1099511627776 bytes"),
        ("short", "it has 8 bytes"),
        ("none", "No such file"),
    ] {
        let arguments = format!("run chain --size 8 --seconds 0.1 --backend cpu --resume {file}");
        let (code, said) = run_soon(path, &arguments);
        assert_eq!(code, Some(2), "{file}: {said}");
        assert!(said.starts_with(&format!("taut: cannot resume from {file}: ")) && said.contains(expected), "{said}");
    }
}

// --- Memory and small things ---

#[test]
fn too_large_a_cloth_is_refused_in_one_sentence_before_it_is_made() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let limit = "needed";
    let (code, said) = run_soon(path, "run curtain --size 4096 --backend gpu");
    assert!(code == Some(2) && said.contains("max_storage_buffer_binding_size") && said.contains(limit), "{said}");
    if cfg!(target_os = "linux") {
        for scene in ["hang --size 4096", "drape --size 1500"] {
            let mut command = Command::new("sh");
            command.args(["-c", "ulimit -v 2000000; exec \"$0\" \"$@\"", TAUT, "run"]);
            command.args(scene.split_whitespace()).args(["--backend", "cpu"]);
            let child = command.current_dir(path).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
            let (code, said) = finish(child.expect("a shell"));
            assert_eq!((code, said.lines().count()), (Some(2), 1), "{scene}: {said}");
            assert!(said.starts_with("taut: the cloth needs about "), "{scene}: {said}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_estimate_of_memory_is_near_what_is_used() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (name, size) in [("hang", 400), ("drape", 400)] {
        let sizes = taut::Scene::expected_sizes(name, size).expect("sizes");
        let estimate = taut::MemoryEstimate::new(&sizes, &taut::Settings::default()).expect("an estimate");
        let arguments = format!("run {name} --size {size} --seconds 0.034 --substeps 1 --strain 50% --backend cpu");
        let mut child = command(directory.path(), &arguments).spawn().expect("the program starts");
        let mut used = 0.0f64;
        while child.try_wait().is_ok_and(|status| status.is_none()) {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kilobytes = peak.and_then(|peak| peak.split_whitespace().next()?.parse::<f64>().ok());
            used = used.max(1024.0 * kilobytes.unwrap_or_default());
            std::thread::sleep(Duration::from_millis(2));
        }
        let ratio = used / estimate.host as f64;
        assert!((0.75..1.25).contains(&ratio), "{name}: {used} bytes are {ratio} of {}", estimate.host);
    }
}

#[test]
fn numbers_and_names_are_said_shortly_and_taken_as_they_are() {
    use std::os::unix::ffi::OsStrExt;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    for (arguments, expected) in [
        (
            "run --seconds 1e300",
            "taut: invalid value '1e300' for '--seconds <S>': must be a time above 0 and at most 1e6 s",
        ),
        ("run --seconds 1e-300", "taut: 1e-300 s at 60 frames per second is not even one frame"),
    ] {
        assert_eq!(run(path, arguments), (Some(2), expected.to_owned()));
    }
    std::fs::write(path.join("a.toml"), "[cloth]\ngenerator = \"sheet\"\nsize = 4\nwidth = 1e300\n").expect("a file");
    let (code, said) = run(path, "run ./a.toml");
    assert!(code == Some(2) && said.contains("`cloth.width` is 1e300") && said.len() < 120, "{said}");
    let name = std::ffi::OsStr::from_bytes(b"a\xff.ply");
    let mut command = command(path, "run chain --size 3 --seconds 0.1 --backend cpu --quiet --export");
    let (code, said) = finish(command.arg(name).spawn().expect("the program starts"));
    assert_eq!(code, Some(0), "{said}");
    assert!(path.join(name).is_file());
    // As many tables as fit into a file.
    let mut text = "[cloth]\ngenerator = \"sheet\"\nsize = 8\n".to_owned();
    (0..100_000).for_each(|_| text.push_str("[[pins]]\nindices = [1]\n"));
    std::fs::write(path.join("pins.toml"), text).expect("a file");
    let (code, said) = run(path, "run ./pins.toml --backend cpu");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("`pins` has 100000 entries, but must have at most 4096"), "{said}");
}
