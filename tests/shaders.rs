//! The shaders fit the Rust side: names, strides, offsets, constants, limits. Needs no GPU.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::*;
use naga::{AddressSpace, Literal, TypeInner};
use taut::cpu::Run;
use taut::fields::{Domain, Fields, Sizes};
use taut::params::{self, CONTACT_CHANGED, Element, GROUP, GUARDS, REJECTED_FRAMES, sums};
use taut::program::{Dispatch, Item, Kernel, Program, Shape};
use taut::reflect::{Access, Interface, PRELUDE, Shader, resolve};
use taut::{Cloth, Error, Result};

/// Name and text of every kernel file, the prelude left out.
fn files() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).expect("the directory of shaders exists") {
        let path = entry.expect("the directory can be read").path();
        assert_eq!(path.extension().and_then(|e| e.to_str()), Some("wgsl"), "{} is no shader", path.display());
        let name = path.file_name().and_then(|name| name.to_str()).expect("names are UTF-8").to_owned();
        if name != "prelude.wgsl" {
            files.push((name, std::fs::read_to_string(&path).expect("a shader can be read")));
        }
    }
    files.sort();
    assert!(!files.is_empty(), "there are no shaders");
    files
}

fn parsed() -> Vec<(String, Shader)> {
    files()
        .into_iter()
        .map(|(name, text)| {
            let shader = Shader::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name, shader)
        })
        .collect()
}

/// Quads (so springs, edges and normals exist) with every solver.
fn all_cloths() -> Vec<(String, Cloth)> {
    cloths(5)
}

/// Every use of a kernel in a recorded frame, each once, with the fields it runs on.
fn uses(check: &mut dyn FnMut(&Dispatch, &Shader, &Fields)) {
    let mut seen = BTreeSet::new();
    for (_, cloth) in all_cloths() {
        let fields = cloth.fields().expect("the cloth is on the CPU");
        for dispatch in cloth.program().dispatches() {
            if seen.insert((dispatch.kernel.name, dispatch.renames)) {
                let shader = Shader::parse(dispatch.kernel.wgsl).expect("a kernel's file parses");
                check(dispatch, &shader, fields);
            }
        }
    }
    assert!(!seen.is_empty(), "no solver recorded anything");
}

#[test]
fn every_file_parses_and_validates_without_capabilities() {
    assert_eq!(Shader::parse("").expect("the prelude is valid on its own").entry_points().count(), 0);
    for (name, shader) in parsed() {
        assert!(shader.entry_points().count() > 0, "{name} has no entry point");
        assert!(shader.text.ends_with(PRELUDE), "{name}: line numbers must stay those of the file");
    }
    // The check can fail: text that does not parse, a type out of place, an optional capability.
    for bad in [
        "fn broken( {}",
        "@compute @workgroup_size(1) fn broken() { let x: f32 = 1u; }",
        "var<private> x: f64;",
        "@group(0) @binding(0) var<storage, read_write> x: array<atomic<f32>>;
         @compute @workgroup_size(1) fn broken() { atomicAdd(&x[0], 1.0); }",
    ] {
        assert!(matches!(Shader::parse(bad), Err(Error::Shader { .. })), "accepted: {bad}");
    }
}

#[test]
fn every_entry_point_has_a_kernel_and_every_kernel_an_entry_point() {
    let mut written = BTreeMap::new();
    for (name, text) in files() {
        for entry in Shader::parse(&text).expect("the file parses").entry_points() {
            // Pipelines are shared by name, so a name may exist once.
            let before = written.insert(entry.to_owned(), (name.clone(), text.clone()));
            assert!(before.is_none(), "entry point {entry} is in two files");
        }
    }
    let mut used = BTreeMap::new();
    uses(&mut |dispatch, _, _| {
        used.insert(dispatch.kernel.name.to_owned(), dispatch.kernel.wgsl);
    });
    let names = |map: &mut dyn Iterator<Item = String>| map.collect::<BTreeSet<String>>();
    let (entries, kernels) = (names(&mut written.keys().cloned()), names(&mut used.keys().cloned()));
    assert_eq!(entries, kernels, "entry points (left) and kernels that some program uses (right)");
    for (kernel, text) in used {
        assert_eq!(written[&kernel].1, text, "kernel {kernel} was built from another text than {}", written[&kernel].0);
    }
}

#[test]
fn every_binding_is_a_field_of_fitting_elements() {
    let mut bound = BTreeSet::new();
    uses(&mut |dispatch, shader, fields| {
        let interface = shader.interface(dispatch.kernel.name).expect("the kernel is in its file");
        let numbers = resolve(dispatch, &interface, fields.specs()).unwrap_or_else(|error| panic!("{error}"));
        for (number, binding) in numbers.iter().zip(&interface.bindings) {
            let spec = &fields.specs()[*number];
            assert_eq!(spec.stride % binding.stride.min(spec.stride), 0, "{}: {}", dispatch.kernel.name, spec.name);
            bound.insert(spec.name);
        }
    });
    // A field that no kernel touches is a line too many in the table.
    let table: BTreeSet<&str> = taut::fields::TABLE.iter().map(|spec| spec.name).collect();
    assert_eq!(bound, table, "fields that kernels bind (left) and the table (right)");
}

/// Name → (member, offset) list and size of every structure of a text that has a twin in Rust.
fn structures(text: &str) -> BTreeMap<String, (Vec<(String, usize)>, usize)> {
    let module = naga::front::wgsl::parse_str(text).expect("the prelude parses");
    let mut found = BTreeMap::new();
    for (_, kind) in module.types.iter() {
        if let TypeInner::Struct { members, span } = &kind.inner {
            let members = members.iter().map(|m| (m.name.clone().unwrap_or_default(), m.offset as usize)).collect();
            found.insert(kind.name.clone().unwrap_or_default(), (members, *span as usize));
        }
    }
    assert!(found.remove("Invocation").is_some(), "the built-in values of an invocation have no twin in Rust");
    found
}

fn rust<T: Element>() -> (String, (Vec<(String, usize)>, usize)) {
    let members = T::MEMBERS.iter().map(|(name, offset)| ((*name).to_owned(), *offset)).collect();
    (T::NAME.to_owned(), (members, size_of::<T>()))
}

#[test]
fn structures_have_the_same_members_at_the_same_offsets() {
    let rust = BTreeMap::from([
        rust::<params::Vertex>(),
        rust::<params::Link>(),
        rust::<params::Range>(),
        rust::<params::Air>(),
        rust::<params::Frame>(),
        rust::<params::Clock>(),
        rust::<params::Meters>(),
    ]);
    assert_eq!(structures(PRELUDE), rust, "WGSL (left) and Rust (right)");
    for (name, (members, _)) in &rust {
        assert!(!members.is_empty(), "{name} lists no members");
    }
    // The check can fail: two members exchanged, one renamed, one moved by padding.
    for (here, there) in [
        ("tail: u32, head: u32", "head: u32, tail: u32"),
        ("worst_strain: f32", "worse_strain: f32"),
        ("translation: vec3<f32>, relocated: u32", "relocated: u32, translation: vec3<f32>"),
        ("h: f32, substep: u32", "h: f32, more: u32, substep: u32"),
    ] {
        assert!(PRELUDE.contains(here), "the prelude has changed: {here}");
        assert_ne!(structures(&PRELUDE.replace(here, there)), rust, "missed: {there}");
    }
}

#[test]
fn constants_of_the_prelude_are_those_of_rust() {
    let shader = Shader::parse("").expect("the prelude parses");
    let module = &shader.module;
    let mut found = BTreeMap::new();
    for (_, constant) in module.constants.iter() {
        if let (Some(name), naga::Expression::Literal(Literal::U32(value))) =
            (&constant.name, &module.global_expressions[constant.init])
        {
            found.insert(name.as_str(), *value);
        }
    }
    let expected = BTreeMap::from([
        ("GROUP", GROUP as u32),
        ("STRAIN", sums::STRAIN),
        ("CURVATURE", sums::CURVATURE),
        ("RESIDUAL", sums::RESIDUAL),
        ("PREVIOUS", sums::PREVIOUS),
        ("LOAD", sums::LOAD),
        ("CONTACT_CHANGED", CONTACT_CHANGED),
        ("REJECTED_FRAMES", REJECTED_FRAMES),
    ]);
    assert_eq!(found, expected, "WGSL (left) and Rust (right)");
    let slots: BTreeSet<u32> = [sums::STRAIN, sums::CURVATURE, sums::RESIDUAL, sums::PREVIOUS, sums::LOAD].into();
    assert_eq!(slots, (0..sums::COUNT as u32).collect(), "each slot of `sums` has one name");

    // Lengths of arrays of fixed size.
    let lengths = |wanted: &str| {
        module.global_variables.iter().find_map(|(_, variable)| match module.types[variable.ty].inner {
            TypeInner::Array { size: naga::ArraySize::Constant(count), .. }
                if variable.name.as_deref() == Some(wanted) =>
            {
                Some(count.get() as usize)
            }
            _ => None,
        })
    };
    assert_eq!(lengths("guards"), Some(GUARDS / 4), "four words to a vector");
    assert_eq!(lengths("sums"), Some(sums::COUNT));
    assert_eq!(lengths("lanes"), Some(GROUP));
}

#[test]
fn every_kernel_obeys_the_guard_of_its_loop() {
    let mut kernels = 0;
    uses(&mut |dispatch, shader, _| {
        let name = dispatch.kernel.name;
        let interface = shader.interface(name).expect("the kernel is in its file");
        let guard = interface.bindings.iter().find(|binding| dispatch.field(&binding.name) == "guards");
        let guard = guard.unwrap_or_else(|| panic!("kernel {name} neither reads nor writes `guards`"));
        assert!(guard.writes || shader.reads(name, &guard.name), "kernel {name} binds `guards` in vain");
        kernels += 1;
    });
    assert!(kernels > 0);
    // The check can fail.
    let blind = Shader::parse(
        "@group(0) @binding(0) var<storage, read_write> velocities: array<vec4<f32>>;
         @compute @workgroup_size(GROUP) fn blind(i: Invocation) { velocities[element(i)].x = 0.0; }",
    );
    let blind = blind.expect("it is valid").interface("blind").expect("it exists");
    assert!(blind.bindings.iter().all(|binding| binding.name != "guards"));
}

/// With its guard word off, a dispatch changes nothing; only the two kernels that set guards unconditionally may.
#[test]
fn on_the_cpu_a_dispatch_of_an_ended_loop_changes_nothing() {
    let mut checked = BTreeSet::new();
    for (label, mut cloth) in all_cloths() {
        cloth.step(&frame(FRAME)).expect("the step runs");
        let mut fields = cloth.fields().expect("the cloth is on the CPU").clone();
        fields.get_mut::<u32>("guards").expect("guards are words").fill(0);
        let runner = taut::cpu::Runner::new(cloth.program(), &fields).expect("the program fits");
        for dispatch in cloth.program().dispatches() {
            if ["begin_frame", "open_loop"].contains(&dispatch.kernel.name) {
                continue;
            }
            let before = fields.clone();
            runner.dispatch(dispatch, &mut fields).expect("the dispatch runs");
            for (number, spec) in fields.specs().iter().enumerate() {
                let same = before.words(number) == fields.words(number);
                assert!(same, "{label}: {} changed {}", dispatch.kernel.name, spec.name);
            }
            checked.insert(dispatch.kernel.name);
        }
    }
    assert!(checked.len() > 15, "only {checked:?}");
}

#[test]
fn every_kernel_stays_within_the_default_limits() {
    let limits = taut::Gpu::required_limits();
    let count = |interface: &Interface, uniform: bool| {
        interface.bindings.iter().filter(|binding| (binding.access == Access::Uniform) == uniform).count()
    };
    let crowded = Shader::parse(CROWDED).expect("it is valid").interface("crowded").expect("it exists");
    assert_eq!(count(&crowded, false), 11, "the count can fail");
    let mut kernels = 0;
    uses(&mut |dispatch, shader, _| {
        let name = dispatch.kernel.name;
        let interface = shader.interface(name).expect("the kernel is in its file");
        let storage = count(&interface, false);
        assert!(storage <= 8, "{name} has {storage} storage buffers");
        // The dispatch record is one more uniform.
        assert!(count(&interface, true) < limits.max_uniform_buffers_per_shader_stage as usize, "{name}");
        assert!(interface.workgroup_size <= 256, "{name} has {} invocations", interface.workgroup_size);
        if dispatch.kernel.shape != Shape::Group {
            assert_eq!(interface.workgroup_size as usize, GROUP, "{name}: the runner divides its range by GROUP");
        }
        kernels += 1;
    });
    assert!(kernels > 0);
}

#[test]
fn workgroup_memory_and_types_are_portable() {
    for (name, shader) in parsed() {
        let module = &shader.module;
        let mut layouter = naga::proc::Layouter::default();
        layouter.update(module.to_ctx()).expect("the module has a layout");
        let mut shared = 0;
        for (_, variable) in module.global_variables.iter() {
            if variable.space == AddressSpace::WorkGroup {
                shared += layouter[variable.ty].size;
            }
            if let Some(binding) = variable.binding {
                assert!(binding.group < 4, "{name}: group {}", binding.group);
            }
        }
        assert!(shared <= 16 * 1024, "{name}: {shared} bytes of workgroup memory");
        for (_, kind) in module.types.iter() {
            let scalar = match kind.inner {
                TypeInner::Scalar(scalar) | TypeInner::Vector { scalar, .. } | TypeInner::Matrix { scalar, .. } => {
                    scalar
                }
                TypeInner::Atomic(scalar) => {
                    let integer = matches!(scalar.kind, naga::ScalarKind::Uint | naga::ScalarKind::Sint);
                    assert!(integer, "{name}: an atomic that is no integer");
                    scalar
                }
                _ => continue,
            };
            let narrow = scalar.width == 4 || scalar.kind == naga::ScalarKind::Bool;
            assert!(narrow, "{name}: a scalar of {} bytes", scalar.width);
        }
        for entry in &module.entry_points {
            let [x, y, z] = entry.workgroup_size;
            assert!(x <= 256 && y <= 256 && z <= 64, "{name}: {:?}", entry.workgroup_size);
        }
        assert!(!shader.text.contains("enable "), "{name}: an optional feature");
    }
}

// --- Planted failures: each must be the typed error, naming what is wrong. ---

fn nothing(_: &mut Run<'_>) -> Result<()> {
    Ok(())
}

const PLANTED: &str = "
    @group(0) @binding(0) var<storage, read_write> velocities: array<vec4<f32>>;
    @group(0) @binding(1) var<storage, read> elevations: array<f32>;
    @group(0) @binding(2) var<storage, read_write> displacements: array<vec2<f32>>;
    @group(0) @binding(3) var<storage, read> left: array<vec4<f32>>;
    @group(0) @binding(4) var<storage, read> right: array<vec4<f32>>;
    @group(2) @binding(0) var<storage, read> elsewhere: array<f32>;

    @compute @workgroup_size(GROUP) fn unknown(i: Invocation) {
        if (running()) { velocities[element(i)].x = elevations[0]; }
    }
    @compute @workgroup_size(GROUP) fn narrow(i: Invocation) {
        if (running()) { displacements[element(i)] = vec2<f32>(); }
    }
    @compute @workgroup_size(GROUP) fn twice(i: Invocation) {
        if (running()) { velocities[element(i)] = left[element(i)] + right[element(i)]; }
    }
    @compute @workgroup_size(GROUP) fn outside(i: Invocation) {
        if (running()) { velocities[element(i)].x = elsewhere[0]; }
    }
    @compute @workgroup_size(GROUP) fn sound(i: Invocation) {
        if (running() && element(i) < range.end) { velocities[element(i)].x = 0.0; }
    }";

/// Tries to prepare, and then to run, one use of a kernel.
fn attempt(kernel: &'static Kernel, renames: &'static [(&'static str, &'static str)]) -> Result<()> {
    let mut fields = Fields::new(Sizes { vertices: 4, ..Default::default() }, &[])?;
    fields.get_mut::<u32>("guards")?[0] = 1;
    let dispatch =
        Dispatch { kernel, renames, context: &[], range: 0..4, guard: 0, arguments: [0; 4], part: Default::default() };
    let program = Program { items: vec![Item::Dispatch(dispatch)] };
    taut::cpu::Runner::new(&program, &fields)?.run(&program, &mut fields).map(|_| ())
}

/// The error must be [`Error::Field`] about this field, and say this.
fn expect_field(outcome: Result<()>, field: &str, says: &str) {
    match outcome {
        Err(Error::Field { name, problem }) if name == field && problem.contains(says) => {}
        other => panic!("expected field `{field}` … {says} …, got {other:?}"),
    }
}

#[test]
fn planted_errors_are_found() {
    static SOUND: Kernel = Kernel::new("sound", PLANTED, nothing);
    attempt(&SOUND, &[]).expect("the plain kernel is sound");

    static UNKNOWN: Kernel = Kernel::new("unknown", PLANTED, nothing);
    expect_field(attempt(&UNKNOWN, &[]), "elevations", "not in the table");

    static NARROW: Kernel = Kernel::new("narrow", PLANTED, nothing);
    expect_field(attempt(&NARROW, &[]), "displacements", "holds vec4<f32> of 16 bytes, not vec2<f32> of 8");

    // One field under two names: by the renames of a use, by the aliases of a kernel, by a rename onto a direct name.
    static TWICE: Kernel = Kernel::new("twice", PLANTED, nothing);
    const BOTH: &[(&str, &str)] = &[("left", "forces"), ("right", "forces")];
    expect_field(attempt(&TWICE, BOTH), "forces", "two names");
    static ALIASED: Kernel = Kernel::new("twice", PLANTED, nothing).aliases(BOTH);
    expect_field(attempt(&ALIASED, &[]), "forces", "two names");
    expect_field(attempt(&TWICE, &[("left", "velocities"), ("right", "forces")]), "velocities", "two names");
    attempt(&TWICE, &[("left", "forces"), ("right", "starts")]).expect("two fields under two names are sound");

    static OUTSIDE: Kernel = Kernel::new("outside", PLANTED, nothing);
    assert!(matches!(attempt(&OUTSIDE, &[]), Err(Error::Shader { message }) if message.contains("group 0")));
    static MISSING: Kernel = Kernel::new("missing", PLANTED, nothing);
    assert!(
        matches!(attempt(&MISSING, &[]), Err(Error::Shader { message }) if message.contains("no such entry point"))
    );
    static BROKEN: Kernel = Kernel::new("broken", "fn broken( {}", nothing);
    assert!(matches!(attempt(&BROKEN, &[]), Err(Error::Shader { .. })));
}

/// A Rust body may touch what its WGSL touches, in the same way, and nothing else.
#[test]
fn bodies_cannot_leave_their_interface() {
    fn reads_more(run: &mut Run<'_>) -> Result<()> {
        run.read::<[f32; 4]>("forces").map(|_| ())
    }
    static MORE: Kernel = Kernel::new("sound", PLANTED, reads_more);
    expect_field(attempt(&MORE, &[]), "forces", "not used by this kernel's WGSL");

    fn writes_read_only(run: &mut Run<'_>) -> Result<()> {
        run.write::<[f32; 4]>("left").map(|_| ())
    }
    static WRITES: Kernel = Kernel::new("twice", PLANTED, writes_read_only);
    expect_field(
        attempt(&WRITES, &[("left", "forces"), ("right", "starts")]),
        "left",
        "not written by this kernel's WGSL",
    );

    fn reads_written(run: &mut Run<'_>) -> Result<()> {
        run.read::<[f32; 4]>("velocities").map(|_| ())
    }
    static READS: Kernel = Kernel::new("sound", PLANTED, reads_written);
    expect_field(attempt(&READS, &[]), "velocities", "is written by this kernel's WGSL");

    fn views_wrongly(run: &mut Run<'_>) -> Result<()> {
        run.write::<[f32; 2]>("velocities").map(|_| ())
    }
    static VIEWS: Kernel = Kernel::new("sound", PLANTED, views_wrongly);
    expect_field(attempt(&VIEWS, &[]), "velocities", "cannot be viewed as vec2<f32>");
}

#[test]
fn loops_without_a_guard_word_are_refused() {
    let (sizes, colors) = (Sizes { vertices: 1, ..Default::default() }, []);
    let record = |loops: usize| {
        let mut recorder = taut::program::Recorder::new(&sizes, &colors, 0);
        for _ in 0..loops {
            recorder.repeat(1, |recorder| recorder.dispatch(&taut::stage::integrate::PREDICT, Domain::Vertices));
        }
        recorder.finish()
    };
    record(GUARDS - 1).expect("there is a word for each");
    assert!(matches!(record(GUARDS), Err(Error::TooManyLoops { loops: GUARDS, most }) if most == GUARDS - 1));
}

// --- A second front end: Tint. ---

/// What naga accepts and Tint rejects: a barrier that not every invocation of a workgroup reaches.
const UNEVEN: &str = "
    @compute @workgroup_size(GROUP) fn uneven(i: Invocation) {
        if (i.lane < 3u) { workgroupBarrier(); }
    }";

/// Eleven storage buffers in one stage: valid text, but more than devices need offer.
const CROWDED: &str = "
    @group(0) @binding(0) var<storage, read> a: array<f32>;
    @group(0) @binding(1) var<storage, read> b: array<f32>;
    @group(0) @binding(2) var<storage, read> c: array<f32>;
    @group(0) @binding(3) var<storage, read> d: array<f32>;
    @group(0) @binding(4) var<storage, read> e: array<f32>;
    @group(0) @binding(5) var<storage, read> f: array<f32>;
    @group(0) @binding(6) var<storage, read> g: array<f32>;
    @group(0) @binding(7) var<storage, read> h: array<f32>;
    @group(0) @binding(8) var<storage, read_write> i: array<f32>;
    @group(0) @binding(9) var<storage, read> j: array<f32>;
    @group(0) @binding(10) var<storage, read> k: array<f32>;
    @compute @workgroup_size(1) fn crowded() {
        i[0] = a[0] + b[0] + c[0] + d[0] + e[0] + f[0] + g[0] + h[0] + j[0] + k[0];
    }";

/// Dawn for node, of a fixed version; `Err` says what is missing.
fn dawn() -> std::result::Result<PathBuf, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tint");
    std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(&directory).output();
        let output = output.map_err(|error| format!("{program}: {error}"))?;
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    };
    run("node", &["--version"])?;
    if !directory.join("node_modules/webgpu/index.js").is_file() {
        std::fs::write(directory.join("package.json"), "{\"private\": true}").map_err(|error| error.to_string())?;
        // Its binaries come in the package; its install script is not needed.
        let install = ["install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "webgpu@0.6.2"];
        run("npm", &install)?;
    }
    Ok(directory)
}

/// Output of a process that should take a second; after a minute it is ended.
fn finished(child: std::process::Child) -> std::result::Result<std::process::Output, String> {
    let process = child.id().to_string();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    match receiver.recv_timeout(std::time::Duration::from_secs(60)) {
        Ok(output) => output.map_err(|error| error.to_string()),
        Err(_) => {
            let _ = Command::new("kill").args(["-KILL", &process]).status();
            Err("Dawn hangs".into())
        }
    }
}

/// Errors of each shader according to Tint.
fn tint(
    dawn: &Path,
    shaders: &[(String, String, Vec<String>)],
) -> std::result::Result<BTreeMap<String, Vec<String>>, String> {
    let input: Vec<serde_json::Value> = shaders
        .iter()
        .map(|(name, code, entries)| serde_json::json!({ "name": name, "code": code, "entries": entries }))
        .collect();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tint/check.mjs");
    let mut child = Command::new("node")
        .arg(script)
        .arg(dawn)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut stdin = child.stdin.take().expect("stdin is piped");
    stdin
        .write_all(serde_json::to_string(&input).expect("it is JSON").as_bytes())
        .map_err(|error| error.to_string())?;
    drop(stdin);
    let output = finished(child)?;
    let answers: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}; node said: {}", String::from_utf8_lossy(&output.stderr)))?;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    Ok(answers
        .iter()
        .map(|answer| {
            let errors = answer["errors"].as_array().expect("errors are a list");
            (text(&answer["name"]), errors.iter().map(text).collect())
        })
        .collect())
}

#[test]
fn tint_accepts_every_file() {
    let mut shaders: Vec<(String, String, Vec<String>)> = Vec::new();
    for (name, shader) in parsed() {
        let entries = shader.entry_points().map(str::to_owned).collect();
        shaders.push((name, shader.text, entries));
    }
    #[cfg(feature = "render")]
    shaders.push(("render".into(), taut::render::WGSL.into(), vec!["measure_strain".into(), "gather_rods".into()]));
    for (name, text) in [("uneven", UNEVEN), ("crowded", CROWDED)] {
        // naga accepts both, which is why Tint is asked.
        let shader = Shader::parse(text).expect("naga accepts it");
        shaders.push((name.into(), shader.text, vec![name.into()]));
    }
    let answers = match dawn().and_then(|dawn| tint(&dawn, &shaders)) {
        Ok(answers) => answers,
        Err(reason) => {
            println!("SKIPPED: Tint cannot be had: {reason}");
            let required = std::env::var("TAUT_REQUIRE_TINT").is_ok_and(|value| value == "1");
            assert!(!required, "TAUT_REQUIRE_TINT=1, but Tint cannot be had: {reason}");
            return;
        }
    };
    assert_eq!(answers.len(), shaders.len(), "Tint judged another number of shaders");
    for (name, errors) in &answers {
        match name.as_str() {
            "uneven" => assert!(errors.iter().any(|e| e.contains("uniform control flow")), "{errors:?}"),
            "crowded" => assert!(errors.iter().any(|e| e.contains("crowded")), "{errors:?}"),
            _ => assert!(errors.is_empty(), "{name}: {errors:#?}"),
        }
    }
    println!("Tint accepted {} files", answers.len() - 2);
}
