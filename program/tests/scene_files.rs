//! Scene files as the users of the program meet them: printed, run, overridden, refused.

mod common;

use std::path::Path;

use common::{Finished, TOP, json, run as taut};
use taut::scene::Material;

#[test]
fn printed_scenes_run_like_the_built_in_ones() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    for name in ["hang", "drape", "rope-tether"] {
        let printed = taut(path, &format!("scene {name} --size 8"));
        assert_eq!(printed.said(), "");
        let text = printed.succeeds();
        assert!(text.contains("# ") && text.contains("m/s²"), "{text}");
        std::fs::write(path.join("file.toml"), &text).expect("a file");
        let options = "--seconds 0.2 --backend cpu --quiet";
        taut(path, &format!("run {name} --size 8 --out a {options}")).succeeds();
        taut(path, &format!("run file.toml --out b {options}")).succeeds();
        let read = |name: &str| std::fs::read(path.join(name)).expect("a result");
        assert_eq!(read("a/cloth.pc2"), read("b/cloth.pc2"), "{name}");
        assert_eq!(read("a/rest.obj"), read("b/rest.obj"), "{name}");
        let report = json(&path.join("b/report.json"));
        assert_eq!(
            (&report["scene"], &report["file"], &report["size"]),
            (&name.into(), &"file.toml".into(), &8.into())
        );
    }
}

#[test]
fn options_override_the_file_where_they_are_given() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let text = "name = \"mine\"\n[cloth]\ngenerator = \"sheet\"\nsize = 6\n[[pins]]\nat = \"top\"\n
        [solver]\nmethod = \"jacobi\"\nstrain_limit = 0.003\nsubsteps = 7\n[solver.jacobi]\nsweeps = 9000\n
        [output]\nfps = 30\nseconds = 0.2\nout = \"results\"";
    std::fs::create_dir(path.join("sub")).expect("a directory");
    std::fs::write(path.join("sub/mine.toml"), text).expect("a file");
    let report = |arguments: &str| {
        let run = taut(path, &format!("run sub/mine.toml --backend cpu --quiet --json - {arguments}"));
        assert_eq!(run.code, Some(0), "{run:?}");
        run.json()
    };
    let own = report("");
    let expected = serde_json::json!({
        "scene": "mine", "file": "sub/mine.toml", "solver": "jacobi", "strain_limit": 0.003, "substeps": 7.0, "fps": 30.0,
        "frames": 6, "vertices": 36, "size": 6
    });
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(&own[key], value, "{key}");
    }
    for name in ["rest.obj", "cloth.pc2", "report.json"] {
        assert!(path.join("sub/results").join(name).is_file(), "{name}");
    }
    let other =
        report("--size 5 --solver gauss-seidel --strain 0.5% --substeps auto --fps 60 --seconds 0.1 --out here --bdf2");
    let expected = serde_json::json!({
        "solver": "gauss-seidel", "strain_limit": 0.005, "fps": 60.0, "frames": 6, "vertices": 25, "size": 5
    });
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(&other[key], value, "{key}");
    }
    assert_ne!(other["substeps"], 7.0);
    assert!(path.join("here/cloth.pc2").is_file());
}

#[test]
fn what_cannot_be_run_is_refused_in_one_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let sheet = "[cloth]\ngenerator = \"sheet\"\nsize = [4, 5]\n";
    std::fs::write(path.join("good.toml"), sheet).expect("a file");
    std::fs::write(path.join("bad.toml"), format!("{sheet}shera = 3\n")).expect("a file");
    std::fs::write(path.join("binary.toml"), b"name = \"\xff\"").expect("a file");
    std::fs::write(path.join("outside.toml"), format!("{sheet}[output]\nout = \"../x\"")).expect("a file");
    for (arguments, expected) in [
        ("run bad.toml", "taut: bad.toml:4:1: there is no key `cloth.shera`; did you mean `shear`?"),
        ("run none.toml", "taut: cannot access none.toml"),
        ("run ./none", "taut: cannot access ./none"),
        ("run binary.toml", "taut: binary.toml:1:9: this is not UTF-8"),
        ("run outside.toml", "taut: outside.toml:5:7: `output.out` must be inside the scene's folder"),
        ("run good.toml --size 9", "taut: --size: good.toml:1:2: one size cannot stand for the 4 × 5 vertices"),
        ("run ship", "taut: invalid value 'ship' for '[SCENE]' [possible values: chain, curtain,"),
        ("scene ship", "taut: invalid value 'ship' for '[NAME]' [possible values: chain, curtain,"),
        ("scene", "taut: the following required arguments were not provided: <NAME>"),
        ("scene hang --size 2", "taut: scene hang cannot have size 2: it must be between 3 and 4096"),
        ("scene hang --materials", "taut: the argument '[NAME]' cannot be used with '--materials'"),
    ] {
        let Finished { code, stdout, stderr } = taut(path, arguments);
        assert_eq!((code, stdout.as_str(), stderr.len()), (Some(2), "", 1), "{arguments}: {stderr:?}");
        assert!(stderr[0].starts_with(expected), "{}\nexpected {expected}", stderr[0]);
    }
    assert!(!path.join("x").exists());
}

/// Meshes that a file names are reported like those of `--mesh`; they may be in a folder that was named.
#[test]
fn meshes_of_files_are_reported() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    std::fs::create_dir(path.join("assets")).expect("a directory");
    let quads = "v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nv 1 0 0\nv 2 0 0\nv 2 0 1\nv 1 0 1\nf 4 3 2 1\nf 8 7 6 5\n";
    std::fs::write(path.join("assets/quads.obj"), quads).expect("a file");
    let cloth = "[[cloth]]\nmesh = \"quads.obj\"\n[[cloth.pins]]\nindices = [0, 1]\n";
    std::fs::write(path.join("one.toml"), cloth.replace("[[cloth]]", "[cloth]")).expect("a file");
    let other = "[cloth.start]\ntranslation = [0, 0, 5]\n";
    std::fs::write(
        path.join("two.toml"),
        format!("{cloth}{}", cloth.replace("[[cloth.pins", &format!("{other}[[cloth.pins"))),
    )
    .expect("a file");
    let refused = taut(path, "run one.toml --backend cpu");
    assert!(refused.code == Some(2) && refused.said().contains("`cloth.mesh` is \"quads.obj\", which cannot be found"));
    let refused = taut(path, "run one.toml --assets none --backend cpu");
    assert!(refused.said().starts_with("taut: --assets: cannot access none"), "{refused:?}");
    let report = |file: &str, options: &str| {
        let arguments = format!("run {file} --assets assets --seconds 0.05 --backend cpu --quiet --json - {options}");
        taut(path, &arguments).json()
    };
    let one = report("one.toml", "--material denim");
    let import = &one["import"];
    assert_eq!((&import["file"], &import["welded_vertices"]), (&"quads.obj".into(), &2.into()), "{one}");
    assert_eq!((&import["quads"], &import["pinned"]), (&2.into(), &2.into()), "{one}");
    let two = report("two.toml", "--solid plane:0,-1,0,0,1,0");
    assert_eq!((two["import"].as_array().map(Vec::len), &two["vertices"]), (Some(2), &12.into()), "{two}");
    let table = taut(path, "run two.toml --assets assets --seconds 0.05 --backend cpu").stdout;
    assert_eq!(table.matches("2 welded").count(), 2, "{table}");
    let refused = taut(path, "run two.toml --assets assets --size 4 --backend cpu");
    assert!(refused.said().contains("one size cannot stand for 2 cloths"), "{refused:?}");
}

#[test]
fn the_examples_run() {
    let examples = std::fs::read_dir(Path::new(TOP).join("examples/scenes")).expect("the examples");
    let mut count = 0;
    for example in examples {
        let path = example.expect("an entry").path();
        let arguments = format!("run {} --seconds 0.05 --backend cpu --quiet", path.display());
        let finished = taut(Path::new("."), &arguments);
        assert_eq!((finished.code, finished.stdout.as_str(), finished.stderr.len()), (Some(0), "", 0), "{finished:?}");
        count += 1;
    }
    assert_eq!(count, 3);
}

#[test]
fn fabrics_are_listed_with_their_sources() {
    let text = taut(Path::new("."), "scene --materials").succeeds();
    for material in Material::ALL {
        let row = text.lines().find(|line| line.contains(&format!("│ {}", material.name))).expect("a row");
        for number in [material.bending, material.thickness] {
            assert!(row.contains(&format!("{number:e}")), "{row}");
        }
        for number in [material.density, material.friction, material.damping] {
            assert!(row.contains(&number.to_string()), "{row}");
        }
    }
    assert!(text.contains("Wang et al. 2011") && text.contains("kg/m²"), "{text}");
}
