//! `taut validate`, run as a CI box would. That everything passes on the adapters here is what `tests/run` asks of the
//! program itself.

mod common;

use common::{NO_ADAPTER, has_gpu, json, run as taut, run_with};

#[test]
fn a_planted_error_fails_and_is_named() {
    if !has_gpu() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let output = taut(directory.path(), "validate --all --self-test --json v.json --junit v.xml");
    assert_eq!(output.code, Some(1), "{}", output.said());
    let file = json(&directory.path().join("v.json"));
    assert_eq!((&file["passed"], &file["complete"]), (&false.into(), &true.into()));
    for adapter in file["adapters"].as_array().expect("adapters") {
        assert_eq!((&adapter["failed"], &adapter["passed"]), (&1.into(), &0.into()));
        let mismatch = &adapter["checks"][0]["mismatch"];
        let found = (&mismatch["kernel"], &mismatch["field"], &mismatch["element"], &mismatch["dispatch"]);
        assert_eq!(found, (&"planted".into(), &"forces".into(), &0.into(), &4.into()));
        let number = |name: &str| mismatch[name].as_f64().expect("a number");
        assert!((number("cpu") - 1e-3).abs() < 1e-9 && (number("gpu") - 1.001e-3).abs() < 1e-9);
    }
    let xml = std::fs::read_to_string(directory.path().join("v.xml")).expect("it was written");
    assert!(xml.contains("<failure message=\"kernel `planted`"), "{xml}");
    assert!(output.stdout.contains("kernel `planted`"));
}

#[test]
fn what_passes_is_told_with_figures() {
    if !has_gpu() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let only = "--only direct/fast-projection/hang --only bits/fresh --only not-finite/auto --only kernels/auto/patch";
    let output = taut(directory.path(), &format!("validate {only} --json v.json --junit v.xml"));
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.said());
    let file = json(&directory.path().join("v.json"));
    assert_eq!((&file["passed"], &file["schema_version"]), (&true.into(), &1.into()));
    let adapters = file["adapters"].as_array().expect("adapters");
    assert_eq!(adapters.len(), 1);
    assert_eq!(adapters[0]["checks"].as_array().map(Vec::len), Some(4));
    // The singular row of `patch` has a bound of its own, and nothing is excused.
    assert_eq!(adapters[0]["known_deviations"], 0);
    let xml = std::fs::read_to_string(directory.path().join("v.xml")).expect("it was written");
    assert!(xml.contains("tests=\"4\"") && !xml.contains("<skipped"), "{xml}");
    // Software is called software.
    assert_eq!(adapters[0]["software"], output.said().contains("is software"));
}

#[test]
fn the_cpu_is_never_compared_with_itself() {
    let directory = tempfile::tempdir().expect("a directory");
    for arguments in ["validate", "validate --all", "validate --self-test"] {
        let output = run_with(directory.path(), &NO_ADAPTER, arguments);
        assert_eq!(output.code, Some(2), "{arguments}: {}", output.stdout);
        assert!(output.said().contains("NOTHING WAS VALIDATED"), "{}", output.said());
    }
}

#[test]
fn bad_usage_is_one_sentence() {
    let directory = tempfile::tempdir().expect("a directory");
    for (arguments, said) in [
        ("validate --adapter no-such-adapter", "no adapter has `no-such-adapter` in its name"),
        ("validate --json no/such/file", "there is no directory no/such"),
        ("validate --all --adapter x", "cannot be used with"),
        ("validate --only nothing/like/this", "no check has a name that starts with nothing/like/this"),
    ] {
        let output = taut(directory.path(), arguments);
        assert_eq!(output.code, Some(2), "{arguments}");
        assert!(output.said().contains(said), "{}", output.said());
        // Mesa may say something of its own.
        let said = output.said().lines().filter(|line| line.starts_with("taut: ")).count();
        assert_eq!(said, 1, "{}", output.said());
    }
    let listed = taut(directory.path(), "validate --list");
    assert!(listed.stdout.lines().count() > 150 && listed.stdout.contains("known to deviate"));
}
