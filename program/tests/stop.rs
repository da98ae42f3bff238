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
    let expected =
        format!("taut: interrupted after {frames} of 60000 frames, which were written; --resume state goes on");
    assert_eq!(said, expected);

    // The same bytes as a run that was never asked for more.
    let seconds = frames as f64 / 60.0;
    let whole = outputs.replace("out", "whole").replace("--whole", "--out");
    let (code, said) = run(path, &format!("{scene} --seconds {seconds} {whole}"));
    assert_eq!(code, Some(0), "{said}");
    let [mut early, mut whole] = ["out", "whole"].map(|name| contents(&path.join(name)));
    for files in [&mut early, &mut whole] {
        files.remove(&OsString::from("report.json"));
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
        ("run --seconds 1e300", "taut: 1e300 s at 60 frames per second is too many frames"),
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
