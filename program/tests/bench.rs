//! `taut bench` and `taut compare`, run as a user would.

mod common;

use common::required::gpu_required;
use common::{json, run as taut};
use serde_json::Value;

const QUICK: &str = "bench solvers scaling adapters --quick --adapter none";

#[test]
fn quick_suites_write_what_they_found() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = taut(directory.path(), &format!("{QUICK} --json r.json --csv r.csv --plot plots"));
    assert_eq!(output.code, Some(0), "{}", output.said());
    let file = json(&directory.path().join("r.json"));
    assert_eq!(
        (&file["schema_version"], &file["complete"], &file["software"]),
        (&1.into(), &true.into(), &false.into())
    );
    assert!(file["roofline"]["cpu_bytes_per_second"].as_f64().is_some_and(|bandwidth| bandwidth > 1e8));
    assert!(
        file["machine"]["adapters"] == Value::Array(Vec::new())
            && file["machine"]["started"].as_str().is_some_and(|t| t.len() == 20)
    );
    let rows = file["rows"].as_array().expect("rows");
    // Three scenes and six solvers, one scene and six solvers, two scenes and the automatic one.
    assert_eq!(rows.len(), 18 + 6 + 2);
    for row in rows {
        let number = |name: &str| row[name].as_f64().expect("a number");
        assert_eq!(row["held"], number("strain_max").le(&number("strain_limit")), "{row}");
        assert!(row["held"] == true && number("frames") == 3.0 && number("dispatches") > 0.0, "{row}");
        assert!(number("bytes_moved") > 0.0 && number("roofline_fraction") > 0.0, "{row}");
        let time = &row["seconds_per_second"];
        assert!(time["raw"].as_array().is_some_and(|raw| raw.len() == 1) && time["median"] == time["p95"], "{row}");
    }
    let csv = std::fs::read_to_string(directory.path().join("r.csv")).expect("it was written");
    assert_eq!(csv.lines().count(), 1 + rows.len());
    // One size of each scene is no curve.
    assert!(!directory.path().join("plots").exists() && output.said().contains("nothing was plotted"), "{output:?}");
    assert!(output.stdout.lines().all(|line| line.chars().count() <= 120), "{}", output.stdout);
    for name in ["curtain", "drape", "auto", "yarn-sweep"] {
        assert!(output.stdout.contains(name), "{name} is not in the table");
    }
}

#[test]
fn adapters_are_measured_and_software_is_told_apart() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = taut(directory.path(), "bench solvers adapters --quick --solvers auto --json r.json");
    let told = output.said();
    assert_eq!(output.code, Some(0), "{told}");
    let file = json(&directory.path().join("r.json"));
    let adapters = file["machine"]["adapters"].as_array().expect("a list");
    if adapters.is_empty() {
        assert!(!gpu_required(), "an adapter is needed");
        return;
    }
    let software = adapters.iter().any(|adapter| adapter["device_type"] == "software");
    assert_eq!(file["software"], software);
    assert_eq!(told.contains("Software adapter"), software, "{told}");
    let rows = file["rows"].as_array().expect("rows");
    let count = |suite: &str| rows.iter().filter(|row| row["suite"] == suite).count();
    // Three scenes on the CPU and on one adapter; two scenes on all of them.
    assert_eq!([count("solvers"), count("adapters")], [3 * 2, 2 * (1 + adapters.len())]);
    for row in rows {
        let on_adapter = row["place"] != "cpu";
        assert!(row["held"] == true && row["bytes_moved"].is_number(), "{row}");
        assert_eq!(row["compile_seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), on_adapter, "{row}");
        let adapter = adapters.iter().find(|adapter| adapter["label"] == row["place"]);
        let timed = adapter.is_some_and(|adapter| adapter["timestamp_period"].is_number());
        assert_eq!(row["gpu_seconds"].is_object(), timed, "{row}");
        assert_eq!(row["gpu_parts"]["projection"].as_f64().is_some_and(|seconds| seconds > 0.0), timed, "{row}");
        assert_eq!(row["executed_dispatches"].is_number(), !on_adapter, "{row}");
        assert!(row["recorded_dispatches"].as_u64() >= row["dispatches"].as_u64(), "{row}");
        assert_eq!(adapter.is_some(), on_adapter, "{row}");
    }
}

/// The numbers that the figures of the paper come down to, at toy size.
#[cfg(feature = "validate")]
#[test]
fn the_paper_is_reproduced_at_toy_size() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let call = "bench paper --quick --adapter none --json r.json --csv r.csv --plot plots --markdown t.md";
    let output = taut(path, call);
    assert_eq!(output.code, Some(0), "{}", output.said());
    let file = json(&path.join("r.json"));
    assert_eq!(file["complete"], true);
    let rows = file["rows"].as_array().expect("rows");
    // Three tasks of a chain with three methods and three of ours, and of a drape with three methods and five of ours.
    assert_eq!(rows.len(), 3 * 6 + 3 * 8);
    for row in rows {
        let number = |name: &str| row[name].as_f64().expect("a number");
        assert!(row["held"] == true && row["detail"]["ending"] == "held", "{row}");
        assert!(number("strain_max") <= number("strain_limit") && number("iterations") > 0.0, "{row}");
        let springs = row["solver"].as_str().is_some_and(|solver| solver.contains("springs"));
        assert_eq!(row["detail"]["stiffness"].is_number(), springs, "{row}");
        // The stiffness was searched: the strain is used up.
        assert!(!springs || number("strain_max") >= 0.8 * number("strain_limit"), "{row}");
    }
    let findings = file["paper"]["findings"].as_array().expect("findings");
    let value = |name: &str| {
        let named = |finding: &&Value| finding["name"].as_str().is_some_and(|found| found.contains(name));
        findings.iter().find(named).and_then(|finding| finding["value"].as_f64()).expect(name)
    };
    // Figure 1: no deeper than geometry allows, and a band of 10 % hangs deeper than one of 0.1 %.
    let sag = |percent: &str| value(&format!("sag of the upper edge with a band of {percent}, "));
    for (percent, bound) in [("10 %", 0.2291), ("1 %", 0.0709), ("0.1 %", 0.0224)] {
        assert!((0.0..=bound).contains(&sag(percent)), "{percent}: {findings:?}");
    }
    assert!(sag("10 %") > sag("1 %") && sag("1 %") > sag("0.1 %"), "{findings:?}");
    // Figure 2: fast projection ends on the constraint in all four cases.
    for case in ["Q1", "Q2", "Q3", "Q4"] {
        assert!((value(&format!("{case}: length")) - 1.0).abs() < 1e-4, "{case}: {findings:?}");
    }
    // Figure 3: first order before, second order after the first and after the last iteration.
    assert!((0.7..=1.3).contains(&value("order in h of C before")), "{findings:?}");
    assert!((1.7..=2.3).contains(&value("order in h of F, first")), "{findings:?}");
    assert!((1.7..=2.3).contains(&value("order in h of F, last iteration")), "{findings:?}");
    assert!((0.8..=1.2).contains(&value("F after the last iteration over")), "{findings:?}");
    // 2 · 8 · 7 edges, and three coordinates of each of 64 vertices more.
    assert_eq!((value("unknowns of fast projection"), value("unknowns of ICD")), (112.0, 304.0));
    // Figure 6, at the longest step with which both methods pass; equal they are not.
    let (largest, mean) = (value("largest distance"), value("root mean square distance"));
    assert!(largest <= 0.03 && mean <= 0.02 && mean < largest && mean > 1e-4, "{largest} {mean}");

    let same = taut(path, "compare r.json r.json");
    assert_eq!(same.code, Some(0), "the file is read back: {}", same.said());
    let mut plots: Vec<String> = std::fs::read_dir(path.join("plots"))
        .expect("it was made")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    plots.sort();
    let names = ["1-shapes", "2", "3a", "3b", "4a", "4b", "5a", "5b", "6-shapes", "6a", "6b"]
        .map(|name| format!("paper-{name}.svg"));
    assert_eq!(plots, names);
    let tables = std::fs::read_to_string(path.join("t.md")).expect("it was written");
    for words in ["## Figure 4", "## Figure 5", "## Numbers", "| f64 SHAKE |", "| f64 springs, one solve |"] {
        assert!(tables.contains(words), "{words} is not in the tables");
    }
}

#[test]
fn comparisons_find_planted_changes() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let measure = "bench solvers --quick --adapter none --solvers auto --json a.json --save-baseline before";
    assert_eq!(taut(path, measure).code, Some(0));
    let same = taut(path, "compare a.json a.json");
    assert_eq!(same.code, Some(0), "{}", same.said());
    assert_eq!(same.stdout, "nothing changed: all 3 rows are as before, within noise and 5 %\n");
    assert!(path.join("target/taut-bench/before.json").is_file());

    // Twice as slow, with as little noise as one sample shows.
    let mut slower = json(&path.join("a.json"));
    for row in slower["rows"].as_array_mut().expect("rows") {
        let time = &mut row["seconds_per_second"];
        for name in ["median", "p05", "p95"] {
            time[name] = (2.0 * time[name].as_f64().expect("a number")).into();
        }
        time["raw"][0] = (2.0 * time["raw"][0].as_f64().expect("a number")).into();
    }
    std::fs::write(path.join("b.json"), slower.to_string()).expect("a file");
    let found = taut(path, "compare a.json b.json");
    assert_eq!(found.code, Some(1), "{}", found.said());
    assert!(found.stdout.contains("SLOWER"));
    assert_eq!(taut(path, "compare b.json a.json").code, Some(0), "faster is no regression");
    assert_eq!(taut(path, "compare a.json b.json --fail-above 150").code, Some(0));

    let mut software = json(&path.join("a.json"));
    software["software"] = true.into();
    std::fs::write(path.join("s.json"), software.to_string()).expect("a file");
    let refused = taut(path, "compare a.json s.json");
    assert_eq!(refused.code, Some(2));
    assert!(refused.said().contains("software"), "{}", refused.said());
    assert_eq!(taut(path, "compare a.json s.json --force").code, Some(0));
}

#[test]
fn bad_calls_are_refused_in_one_sentence() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    std::fs::write(path.join("broken.json"), "{\"schema_version\": 1}").expect("a file");
    for (arguments, expected) in [
        ("compare missing.json missing.json", "cannot read missing.json"),
        ("compare broken.json broken.json", "broken.json"),
        ("bench nonsense", "solvers"),
        ("bench --quick --adapter none --baseline ../x", "a baseline's name"),
        ("bench --quick --adapter none --json no/such/file", "there is no directory no/such"),
        ("bench --strain 2", "strain limit"),
        ("bench paper --budget 0", "above zero"),
    ] {
        let output = taut(path, arguments);
        let told = output.said();
        assert_eq!(output.code, Some(2), "{arguments}: {told}");
        assert!(told.lines().count() == 1 && told.contains(expected), "{arguments}: {told}");
    }
    let listed = taut(path, "bench --list");
    assert!(["solvers", "scaling", "adapters", "paper"].iter().all(|suite| listed.stdout.contains(suite)));
    let schema = taut(path, "bench --schema").json();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

#[test]
fn parts_become_one_table_that_compare_reads() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |arguments: &str| taut(directory.path(), arguments);
    std::fs::create_dir(directory.path().join("parts")).expect("a directory");
    at(&format!("{QUICK} --json whole.json")).succeeds();
    for part in 0..3 {
        at(&format!("{QUICK} --shard {part}/3 --json parts/{part}.json")).succeeds();
    }
    let file = |name: &str| json(&directory.path().join(name));
    assert_eq!(file("parts/2.json")["part"], serde_json::json!({ "index": 2, "count": 3 }));
    let missing = at("bench --merge parts/0.json parts/2.json");
    assert_eq!((missing.code, missing.said().as_str()), (Some(2), "taut: part 1 of 3 is missing, counted from 0"));
    let mixed = at("bench --merge parts/0.json whole.json");
    assert!(mixed.code == Some(2) && mixed.said().contains("others are whole"), "{mixed:?}");
    let table = at("bench --merge parts --json joined.json --csv joined.csv").succeeds();
    assert!(table.contains("curtain"), "{table}");
    let rows = |name: &str| {
        let file = file(name);
        assert_eq!((&file["complete"], &file["part"]), (&true.into(), &Value::Null));
        let key = |row: &Value| format!("{} {} {} {}", row["suite"], row["scene"], row["solver"], row["strain_max"]);
        let mut rows: Vec<String> = file["rows"].as_array().expect("rows").iter().map(key).collect();
        rows.sort();
        rows
    };
    assert_eq!(rows("joined.json"), rows("whole.json"));
    // Times of toys are noise; that both sides are read is what is looked at.
    let compared = at("compare parts whole.json --fail-above 1e9");
    assert_eq!(compared.code, Some(0), "{compared:?}");
    assert!(compared.stdout.contains("26 rows"), "{compared:?}");

    let mut other = file("parts/1.json");
    other["machine"]["taut_version"] = "9.9.9".into();
    std::fs::write(directory.path().join("parts/1.json"), other.to_string()).expect("it is written");
    let mixed = at("bench --merge parts");
    assert!(mixed.code == Some(2) && mixed.said().contains("of 9.9.9"), "{mixed:?}");
    other["part"] = serde_json::json!({ "index": 3, "count": 3 });
    std::fs::write(directory.path().join("parts/1.json"), other.to_string()).expect("it is written");
    let wrong = at("bench --merge parts");
    assert!(wrong.said().contains("part.index"), "{wrong:?}");
}
