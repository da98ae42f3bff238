//! The shaders fit the Rust side: names, strides, offsets, constants, limits. Needs no GPU.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::*;
use naga::{AddressSpace, TypeInner};
use taut::engine::cpu::Run;
use taut::engine::fields::{Domain, Fields, Sizes};
use taut::engine::layout::{GROUP, GUARDS};
use taut::engine::program::{Dispatch, Item, Kernel, Pattern, Program};
use taut::engine::reflect::{Access, Interface, Shader, resolve};
use taut::engine::source::{PRELUDE, Source};
use taut::stage::fields::sums;
use taut::{Cloth, Error, Result};

/// A text of a test's own with what every kernel may use.
fn with_prelude(text: &str) -> String {
    format!("{text}\n{}", PRELUDE.text())
}

/// Every file that has kernels, by its stem.
fn sources() -> BTreeMap<&'static str, &'static Source> {
    let mut found = BTreeMap::new();
    for (_, cloth) in all_cloths() {
        for dispatch in cloth.program().dispatches() {
            found.insert(dispatch.kernel.source.stem, dispatch.kernel.source);
        }
    }
    assert!(!found.is_empty(), "there are no shaders");
    found
}

fn parsed() -> Vec<(&'static str, Shader)> {
    let parse = |source: &'static Source| Shader::of(source).unwrap_or_else(|error| panic!("{}: {error}", source.stem));
    sources().into_iter().map(|(stem, source)| (stem, parse(source))).collect()
}

fn module(shader: &Shader) -> naga::Module {
    naga::front::wgsl::parse_str(&shader.text).expect("it was parsed before")
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
                let shader = Shader::of(dispatch.kernel.source).expect("a kernel's file parses");
                check(dispatch, &shader, fields);
            }
        }
    }
    assert!(!seen.is_empty(), "no solver recorded anything");
}

#[test]
fn every_file_parses_and_validates_without_capabilities() {
    let prelude = Shader::parse(PRELUDE.text()).expect("the prelude is valid on its own");
    assert_eq!(prelude.entry_points().count(), 0);
    let mut stems = BTreeSet::new();
    for (stem, source) in sources() {
        let shader = Shader::of(source).unwrap_or_else(|error| panic!("{stem}: {error}"));
        assert!(shader.entry_points().count() > 0, "{stem} has no entry point");
        assert!(shader.text.starts_with(source.wgsl), "{stem}: line numbers must stay those of the file");
        stems.extend(source.files().into_iter().map(|file| file.stem.to_owned()));
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let files = std::fs::read_dir(folder).expect("the folder of shaders exists").map(|entry| {
        let name = entry.expect("the folder can be read").file_name().into_string().expect("names are UTF-8");
        name.strip_suffix(".wgsl").unwrap_or_else(|| panic!("{name} is no shader")).to_owned()
    });
    assert_eq!(stems, files.collect(), "sources (left) and files (right)");
    // The check can fail: text that does not parse, a type out of place, an optional capability.
    for bad in [
        "fn broken( {}",
        "@compute @workgroup_size(1) fn broken() { let x: f32 = 1u; }",
        "var<private> x: f64;",
        "@group(0) @binding(0) var<storage, read_write> x: array<atomic<f32>>;
         @compute @workgroup_size(1) fn broken() { atomicAdd(&x[0], 1.0); }",
    ] {
        assert!(matches!(Shader::parse(with_prelude(bad)), Err(Error::Shader { .. })), "accepted: {bad}");
    }
}

#[test]
fn every_entry_point_has_a_kernel_and_every_kernel_an_entry_point() {
    let mut entries = BTreeSet::new();
    for (stem, shader) in parsed() {
        for entry in shader.entry_points() {
            assert!(entries.insert(entry.to_owned()), "entry point {entry} of {stem} is in two files");
        }
    }
    let mut kernels = BTreeSet::new();
    uses(&mut |dispatch, _, _| {
        kernels.insert(dispatch.kernel.name.to_owned());
    });
    assert_eq!(entries, kernels, "entry points (left) and kernels that some program uses (right)");
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
    let (_, cloth) = all_cloths().pop().expect("there are cloths");
    let specs = cloth.fields().expect("the cloth is on the CPU").specs();
    let declared: BTreeSet<&str> =
        specs.iter().map(|spec| spec.name).filter(|name| !name.starts_with("user_")).collect();
    assert_eq!(bound, declared, "fields that kernels bind (left) and those that are declared (right)");
}

/// The uses of all kernels of a file are prepared with this text in its place.
fn prepared(stem: &str, text: &str) -> Result<()> {
    let mut outcome = Ok(());
    uses(&mut |dispatch, _, fields| {
        if dispatch.kernel.source.stem == stem && outcome.is_ok() {
            outcome = Shader::parse(text.to_owned())
                .and_then(|shader| shader.interface(dispatch.kernel.name))
                .and_then(|interface| resolve(dispatch, &interface, fields.specs()).map(|_| ()));
        }
    });
    outcome
}

/// Two members exchanged, of any structure that a kernel binds, are an error wherever the kernel is prepared.
#[test]
fn structures_have_the_same_members_at_the_same_offsets() {
    let sources = sources();
    let mut found = BTreeSet::new();
    for (stem, name, here, there) in [
        ("contact", "SolidRow", "friction: f32, sliding: f32", "sliding: f32, friction: f32"),
        ("contact", "Contact", "normal: vec3<f32>, solid: u32, base:", "base: vec3<f32>, solid: u32, normal:"),
        ("bending", "HingeRow", "rest: f32, stiffness: f32", "stiffness: f32, rest: f32"),
        ("bending", "HingeGradients", "corners:", "more: vec4<f32>, corners:"),
        ("yarn_sweep", "LineRow", "direction: vec3<f32>, diagonal: f32", "diagonal: f32, direction: vec3<f32>"),
        ("yarn_sweep", "YarnRow", "first: u32, count: u32", "count: u32, first: u32"),
        ("gauss_seidel", "Link", "tail: u32, head: u32", "head: u32, tail: u32"),
        ("lawful_edges", "EdgeLaw", "least: f32, most: f32", "most: f32, least: f32"),
        ("gauss_seidel", "Vertex", "position: vec3<f32>, inverse_mass: f32", "inverse_mass: f32, position: vec3<f32>"),
        ("gauss_seidel", "Frame", "stretch_min: f32, stretch_max: f32", "stretch_max: f32, stretch_min: f32"),
        ("gauss_seidel", "Clock", "recall: f32, force: f32", "force: f32, recall: f32"),
        ("gauss_seidel", "Range", "first: u32, end: u32", "end: u32, first: u32"),
        ("control", "Meters", "strain: f32, worst_strain: f32", "worst_strain: f32, strain: f32"),
        ("wind", "Air", "drag: f32, lift: f32", "lift: f32, drag: f32"),
        ("rest", "Rest", "speed: f32, time: f32", "time: f32, speed: f32"),
        ("diagonals", "Shear", "damping: f32, padding: f32", "padding: f32, damping: f32"),
        ("elastic", "Elastic", "tolerance: f32, loosest: f32", "loosest: f32, tolerance: f32"),
        ("jacobi", "JacobiLive", "relaxation: f32, blend: f32", "blend: f32, relaxation: f32"),
        (
            "projective_dynamics",
            "ProjectiveDynamicsLive",
            "stiffness: f32, triangles: f32",
            "triangles: f32, stiffness: f32",
        ),
        ("shape_matching", "TrianglePull", "one: vec4<f32>, two: vec4<f32>", "two: vec4<f32>, one: vec4<f32>"),
        ("stiff_yarns", "StiffRow", "diagonal: vec4<f32>, off: vec4<f32>", "off: vec4<f32>, diagonal: vec4<f32>"),
        ("chebyshev", "Swing", "gap: f32, weight: f32", "weight: f32, gap: f32"),
        ("warm_start", "FastProjectionLive", "slack: f32, warm_start: f32", "warm_start: f32, slack: f32"),
        ("grid", "Clearance", "thickness: f32, friction: f32", "friction: f32, thickness: f32"),
        ("grid", "Nearness", "pairs: u32, demand: u32", "demand: u32, pairs: u32"),
        ("grid", "Extent", "center: vec3<f32>, radius: f32, half:", "half: vec3<f32>, radius: f32, center:"),
        ("grid", "Sorted", "item: u32, cell: u32", "cell: u32, item: u32"),
        ("plots", "Plot", "center: vec4<f32>, turn: vec4<f32>", "turn: vec4<f32>, center: vec4<f32>"),
        ("plots", "Listing", "past: f32, stale: u32", "stale: u32, past: f32"),
        ("respond", "Plane", "thickness: f32, kind: u32", "kind: u32, thickness: f32"),
        ("chords", "YarnSweepLive", "slack: f32, chords_from: f32", "chords_from: f32, slack: f32"),
    ] {
        let text = sources[stem].text();
        prepared(stem, &text).unwrap_or_else(|error| panic!("{stem}: {error}"));
        let start = text.find(&format!("struct {name} {{")).unwrap_or_else(|| panic!("{stem} has no {name}"));
        let (before, declared) = text.split_at(start);
        assert!(declared.contains(here), "{name} has changed");
        match prepared(stem, &format!("{before}{}", declared.replacen(here, there, 1))) {
            Err(Error::Field { problem, .. }) => assert!(problem.contains(name), "{problem}"),
            // The text itself may have come to contradict itself, where it makes such a structure.
            Err(Error::Shader { .. }) => {}
            other => panic!("{name}: {there} is {other:?}"),
        }
        found.insert(name);
    }
    // Nothing that is bound is left out of this test.
    let mut bound = BTreeSet::from(["Range".to_owned()]);
    uses(&mut |dispatch, shader, _| {
        let interface = shader.interface(dispatch.kernel.name).expect("the kernel is in its file");
        bound.extend(interface.bindings.into_iter().filter(|one| !one.members.is_empty()).map(|one| one.element));
    });
    assert_eq!(bound, found.into_iter().map(str::to_owned).collect());
}

/// Numbers that have a name stand in Rust; numbers without one are those of a formula.
#[test]
fn no_number_stands_in_both_languages() {
    const OF_FORMULAS: [&str; 7] = ["0.0", "0.25", "0.5", "1.0", "2.0", "3.0", "8.0"];
    for (stem, source) in sources() {
        for file in source.files() {
            for line in file.wgsl.lines() {
                let code = line.split("//").next().unwrap_or_default();
                assert!(!code.trim_start().starts_with("const "), "{}: {line}", file.stem);
                let numbers = code.split(|letter: char| !(letter.is_ascii_alphanumeric() || "._".contains(letter)));
                for number in numbers.filter(|word| word.starts_with(|first: char| first.is_ascii_digit())) {
                    let whole = number.strip_suffix('u').unwrap_or(number).parse::<u32>().is_ok();
                    let bits = number.starts_with("0x");
                    assert!(whole || bits || OF_FORMULAS.contains(&number), "{stem}: {number} in {line}");
                }
            }
        }
    }
    let slots: BTreeSet<u32> = [sums::STRAIN, sums::CURVATURE, sums::RESIDUAL, sums::PREVIOUS].into();
    assert_eq!(slots, (0..sums::COUNT as u32).collect(), "each slot of `sums` has one name");
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
    let blind = Shader::parse(with_prelude(
        "@group(0) @binding(0) var<storage, read_write> velocities: array<vec4<f32>>;
         @compute @workgroup_size(GROUP) fn blind(i: Invocation) { velocities[element(i)].x = 0.0; }",
    ));
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
        let runner = taut::engine::cpu::Runner::new(cloth.program(), &fields).expect("the program fits");
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
    let crowded = Shader::parse(with_prelude(CROWDED)).expect("it is valid").interface("crowded").expect("it exists");
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
        if dispatch.kernel.pattern != Pattern::Group {
            assert_eq!(interface.workgroup_size as usize, GROUP, "{name}: the runner divides its range by GROUP");
        }
        kernels += 1;
    });
    assert!(kernels > 0);
}

#[test]
fn workgroup_memory_and_types_are_portable() {
    for (name, shader) in parsed() {
        let module = &module(&shader);
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

static PLANTED: Source = Source::new(
    "planted",
    "
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
    }",
);

/// Tries to prepare, and then to run, one use of a kernel.
fn attempt(kernel: &'static Kernel, renames: &'static [(&'static str, &'static str)]) -> Result<()> {
    let mut fields = Fields::new(Sizes::default().with(Domain::VERTICES, 4), taut::stage::fields::SHARED.to_vec())?;
    fields.get_mut::<u32>("guards")?[0] = 1;
    let dispatch = Dispatch { renames, ..Dispatch::new(kernel, 0..4) };
    let program = Program { items: vec![Item::Dispatch(dispatch)] };
    taut::engine::cpu::Runner::new(&program, &fields)?.run(&program, &mut fields).map(|_| ())
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
    static SOUND: Kernel = Kernel::new("sound", &PLANTED, nothing);
    attempt(&SOUND, &[]).expect("the plain kernel is sound");

    static UNKNOWN: Kernel = Kernel::new("unknown", &PLANTED, nothing);
    expect_field(attempt(&UNKNOWN, &[]), "elevations", "not in the table");

    static NARROW: Kernel = Kernel::new("narrow", &PLANTED, nothing);
    expect_field(attempt(&NARROW, &[]), "displacements", "holds vec4<f32> of 16 bytes, not vec2<f32> of 8");

    // One field under two names: by the renames of a use, by the aliases of a kernel, by a rename onto a direct name.
    static TWICE: Kernel = Kernel::new("twice", &PLANTED, nothing);
    const BOTH: &[(&str, &str)] = &[("left", "forces"), ("right", "forces")];
    expect_field(attempt(&TWICE, BOTH), "forces", "two names");
    static ALIASED: Kernel = Kernel::new("twice", &PLANTED, nothing).aliases(BOTH);
    expect_field(attempt(&ALIASED, &[]), "forces", "two names");
    expect_field(attempt(&TWICE, &[("left", "velocities"), ("right", "forces")]), "velocities", "two names");
    attempt(&TWICE, &[("left", "forces"), ("right", "starts")]).expect("two fields under two names are sound");

    static OUTSIDE: Kernel = Kernel::new("outside", &PLANTED, nothing);
    assert!(matches!(attempt(&OUTSIDE, &[]), Err(Error::Shader { message }) if message.contains("group 0")));
    static MISSING: Kernel = Kernel::new("missing", &PLANTED, nothing);
    assert!(
        matches!(attempt(&MISSING, &[]), Err(Error::Shader { message }) if message.contains("no such entry point"))
    );
    static BROKEN_TEXT: Source = Source::new("broken", "fn broken( {}");
    static BROKEN: Kernel = Kernel::new("broken", &BROKEN_TEXT, nothing);
    assert!(matches!(attempt(&BROKEN, &[]), Err(Error::Shader { .. })));
}

/// A Rust body may touch what its WGSL touches, in the same way, and nothing else.
#[test]
fn bodies_cannot_leave_their_interface() {
    fn reads_more(run: &mut Run<'_>) -> Result<()> {
        run.read::<[f32; 4]>("forces").map(|_| ())
    }
    static MORE: Kernel = Kernel::new("sound", &PLANTED, reads_more);
    expect_field(attempt(&MORE, &[]), "forces", "not used by this kernel's WGSL");

    fn writes_read_only(run: &mut Run<'_>) -> Result<()> {
        run.write::<[f32; 4]>("left").map(|_| ())
    }
    static WRITES: Kernel = Kernel::new("twice", &PLANTED, writes_read_only);
    expect_field(
        attempt(&WRITES, &[("left", "forces"), ("right", "starts")]),
        "left",
        "not written by this kernel's WGSL",
    );

    fn reads_written(run: &mut Run<'_>) -> Result<()> {
        run.read::<[f32; 4]>("velocities").map(|_| ())
    }
    static READS: Kernel = Kernel::new("sound", &PLANTED, reads_written);
    expect_field(attempt(&READS, &[]), "velocities", "is written by this kernel's WGSL");

    fn views_wrongly(run: &mut Run<'_>) -> Result<()> {
        run.write::<[f32; 2]>("velocities").map(|_| ())
    }
    static VIEWS: Kernel = Kernel::new("sound", &PLANTED, views_wrongly);
    expect_field(attempt(&VIEWS, &[]), "velocities", "cannot be viewed as vec2<f32>");
}

#[test]
fn loops_without_a_guard_word_are_refused() {
    let sizes = Sizes::default().with(Domain::VERTICES, 1);
    let predict = kernel("predict");
    let record = |loops: usize| {
        let mut recorder = taut::stage::Recorder::plain(&sizes);
        for _ in 0..loops {
            recorder.repeat(1, |recorder| recorder.dispatch(predict, Domain::VERTICES));
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
        shaders.push((name.to_owned(), shader.text, entries));
    }
    #[cfg(feature = "render")]
    shaders.push((
        "render".into(),
        taut::render::WGSL.into(),
        ["measure_strain", "gather_rods", "follow"].map(String::from).into(),
    ));
    for (name, text) in [("uneven", UNEVEN), ("crowded", CROWDED)] {
        // naga accepts both, which is why Tint is asked.
        let shader = Shader::parse(with_prelude(text)).expect("naga accepts it");
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
