//! Noise of the start positions, asked for by option or file.

mod common;

use common::{Finished, run as taut};

const UPRIGHT: &str =
    "name = \"plate\"\n[cloth]\ngenerator = \"sheet\"\nsize = 9\nplane = \"xy\"\n[[pins]]\nat = \"top-left\"\n";

#[test]
fn noise_is_made_and_said_where_there_is_none() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    std::fs::write(path.join("plate.toml"), UPRIGHT).expect("a file");
    let noisy = format!("{UPRIGHT}[cloth.start]\nnoise = 2e-5\nseed = 9\n");
    std::fs::write(path.join("noisy.toml"), noisy).expect("a file");
    let json = |arguments: &str| -> serde_json::Value {
        let run = taut(path, &format!("run {arguments} --seconds 0.1 --backend cpu --json - --quiet --out out"));
        assert_eq!(run.code, Some(0), "{arguments}: {run:?}");
        run.json()
    };
    let frames = || std::fs::read(path.join("out/cloth.pc2")).expect("a result");
    let flat = json("plate.toml");
    let hint = flat["hint"].as_str().expect("a hint").to_owned();
    assert!(hint.contains("nothing breaks the symmetry") && hint.contains("--noise"), "{hint}");
    assert!(flat["noise"].is_null());
    let at_rest = frames();
    // Also in the table, in full.
    let table = taut(path, "run plate.toml --seconds 0.1 --backend cpu").stdout;
    let words = |text: &str| text.replace(['│', '┆', '\n'], " ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&table).contains("hint") && table.contains("nothing breaks the symmetry"), "{table}");

    for (arguments, amplitude, seed) in [
        ("plate.toml --noise", 1e-5, 0),
        ("plate.toml --noise --seed 7", 1e-5, 7),
        ("plate.toml --noise 3e-5 --seed 18446744073709551615", 3e-5, u64::MAX),
        ("noisy.toml", 2e-5, 9),
        ("noisy.toml --seed 4", 2e-5, 4),
        ("noisy.toml --noise", 1e-5, 9),
        ("hang --size 5 --noise", 1e-5, 0),
    ] {
        let report = json(arguments);
        assert_eq!(report["noise"], serde_json::json!({ "amplitude": amplitude, "seed": seed }), "{arguments}");
        assert!(report["hint"].is_null(), "{arguments}: {report}");
        assert!(frames() != at_rest, "{arguments}");
    }
    json("noisy.toml");
    let filed = frames();
    json("plate.toml --noise 2e-5 --seed 9");
    assert!(frames() == filed, "options and file say the same");
    json("noisy.toml --noise 0");
    assert!(frames() == at_rest, "options come first");
    assert!(json("hang --size 5")["hint"].is_null());

    for (arguments, expected) in [
        ("run hang --seed 3", "taut: --seed chooses a noise, but there is none: --noise makes one"),
        (
            "run hang --noise much",
            "taut: invalid value 'much' for '--noise [<METRES>]': must be a length of at least 0 m",
        ),
        ("run hang --noise -1", "taut: invalid value '-1' for '--noise [<METRES>]': must be a length"),
        ("run hang --noise inf", "taut: invalid value 'inf' for '--noise [<METRES>]': must be a length"),
        (
            "run hang --size 5 --noise 0.5",
            "taut: --noise: noise.amplitude is 0.5, but must be at least 0 m and at most a",
        ),
        ("run plate.toml --noise 0.5", "taut: --noise: noise.amplitude is 0.5, but must be"),
        (
            "run hang --noise --seed -1",
            "taut: invalid value '-1' for '--seed <N>': must be a whole number from 0 to 18446",
        ),
    ] {
        let Finished { code, stdout, stderr } = taut(path, arguments);
        assert_eq!((code, stdout.as_str(), stderr.len()), (Some(2), "", 1), "{arguments}: {stderr:?}");
        assert!(stderr[0].starts_with(expected), "{}\nexpected {expected}", stderr[0]);
    }
}

/// A run with noise that is resumed goes on as if it had not been interrupted.
#[test]
fn a_noisy_run_is_resumed() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    std::fs::write(path.join("plate.toml"), UPRIGHT).expect("a file");
    let run = |arguments: &str| {
        taut(path, &format!("run plate.toml --noise --seed 5 --backend cpu --quiet {arguments}")).succeeds();
    };
    run("--seconds 0.2 --export last.ply");
    run("--seconds 0.1 --checkpoint half");
    run("--seconds 0.1 --resume half --export resumed.ply");
    let read = |name: &str| std::fs::read(path.join(name)).expect("a result");
    assert!(read("last.ply") == read("resumed.ply"));
}
