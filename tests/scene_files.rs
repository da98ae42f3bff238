//! Scenes as files: the built-in ones to the bit, every key, errors with their places, files of strangers, motion.
#![cfg(feature = "scene-files")]

use taut::scene::file::{Change, Limits};
use taut::scene::{Material, NAMES, Noise, SceneFile};
use taut::{
    Cloth, Elasticity, Error, FrameInput, Hold, Method, Preconditioner, Scene, Settings, SolidShape, Stepping, Substeps,
};

const FRAME: f32 = 1.0 / 60.0;

fn bits(positions: &[[f32; 3]]) -> Vec<[u32; 3]> {
    positions.iter().map(|position| position.map(f32::to_bits)).collect()
}

fn cpu(scene: &Scene) -> Cloth {
    Cloth::on_cpu(scene.clone()).expect("the scene is valid")
}

/// Steps a scene with its script; `watch` sees every frame.
fn play(scene: &Scene, frames: u32, mut watch: impl FnMut(u32, &Cloth)) -> Cloth {
    let mut cloth = cpu(scene);
    scene.script.begin(&mut cloth).expect("the script begins");
    for frame in 0..frames {
        let pin_targets = scene.script.frame(&mut cloth, f64::from(frame) / 60.0, FRAME).expect("the script is valid");
        cloth.step(&FrameInput { dt: FRAME, pin_targets: &pin_targets }).expect("the step runs");
        watch(frame + 1, &cloth);
    }
    cloth
}

fn parse(text: &str) -> Scene {
    Scene::from_toml(text, None).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn refusal(text: &str) -> String {
    match Scene::from_toml(text, None) {
        Ok(_) => panic!("this is accepted:\n{text}"),
        Err(Error::SceneFile { file, line, column, problem, .. }) => {
            assert_eq!(file, "scene");
            format!("{line}:{column}: {problem}")
        }
        Err(error) => panic!("{error:?} has no place"),
    }
}

/// Compared as text, minus zero is not zero.
fn assert_same(one: &Scene, other: &Scene, label: &str) {
    assert_eq!(one.name, other.name, "{label}");
    assert_eq!(bits(&one.start), bits(&other.start), "{label}: start");
    assert!(one.mesh == other.mesh, "{label}: mesh");
    assert_eq!(bits(one.mesh.positions()), bits(other.mesh.positions()), "{label}: rest shape");
    assert_eq!(format!("{:?}", one.settings), format!("{:?}", other.settings), "{label}");
    assert_eq!(one.solids.len(), other.solids.len(), "{label}");
    for (one, other) in one.solids.iter().zip(&other.solids) {
        assert!(format!("{one:?}") == format!("{other:?}"), "{label}: {:?}, {:?}", one.pose, other.pose);
    }
    assert_eq!(one.script, other.script, "{label}");
}

#[test]
fn every_built_in_scene_is_the_same_as_a_file() {
    for name in NAMES {
        for size in [3, 4, 17] {
            let label = format!("{name} {size}");
            let file = SceneFile::builtin(name, size).expect("a listed name is known");
            let text = file.to_toml();
            let read = SceneFile::parse(&text, "printed", None).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(read.to_toml(), text, "{label}");
            assert_eq!((read.name(), read.size()), (name, Some(size)));
            let (built_in, scene) = (Scene::named(name, size).unwrap(), read.scene().unwrap());
            assert_same(&scene, &built_in, &label);
        }
    }
}

#[test]
fn a_file_moves_like_its_built_in_scene_to_the_bit() {
    for name in NAMES {
        let text = SceneFile::builtin(name, 9).unwrap().to_toml();
        let [first, second] = [Scene::named(name, 9).unwrap(), parse(&text)].map(|scene| {
            let cloth = play(&scene, 8, |_, _| {});
            bits(&cloth.snapshot().unwrap().positions)
        });
        assert_eq!(first, second, "{name}");
        assert_ne!(first, bits(&Scene::named(name, 9).unwrap().start), "{name} does not move");
    }
}

#[test]
fn sizes_of_printed_scenes_are_those_of_scenes() {
    for (name, size) in [("hang", 2), ("chain", 1), ("drape", 4097), ("sheet", 4096)] {
        let error = SceneFile::builtin(name, size).unwrap_err();
        assert!(matches!(error, Error::SceneSize { .. }), "{name} {size}: {error}");
    }
    assert!(matches!(SceneFile::builtin("ship", 9), Err(Error::UnknownScene { .. })));
    let mut file = SceneFile::builtin("hang", 9).unwrap();
    file.set_size(12).unwrap();
    assert_same(&file.scene().unwrap(), &Scene::named("hang", 12).unwrap(), "resized");
    for size in [0, 2, 4097, u32::MAX] {
        let error = file.set_size(size).unwrap_err().to_string();
        assert!(error.contains(&format!("{size}, but must be in 3 … 2048")), "{error}");
    }
}

/// Every key there is.
const EVERYTHING: &str = r#"
name = "everything"

[cloth]
generator = "sheet"
size = [5, 4]
width = 0.8
height = 0.6
plane = "xy"
material = "silk"
shear = 17
curved = true
damping = 0.003

[cloth.start]
span = 0.75
scale = [1.0, 1.0, 1.0]
rotation = [0.0, 0.0, 0.0, 1.0]
translation = [0.0, 2.0, 0.0]
noise = 2e-5
seed = 18446744073709551615

[cloth.groups]
seam = [19, 18, 18]

[[cloth.overrides]]
ends = [5, 6]
kind = "spring"
stiffness = 3.5
[[cloth.overrides]]
ends = [7, 6]
kind = "inextensible"
rest = 0.21
[[cloth.overrides]]
ends = [10, 11]
kind = "free"

[[pins]]
at = ["top-left", "top-right"]
hold = "fixed"
[[pins]]
group = "seam"
hold = { plane = [0.0, 0.0, 2.0] }
until = 1.5
[[pins]]
indices = [5]
hold = { line = [0.0, 1.0, 0.0] }
[pins.motion]
center = [0.0, 1.0, 0.0]
repeat = true
keys = [{ time = 0 }, { time = 1, translation = [0, 0.1, 0], rotation = { axis = [0, 1, 0], degrees = 30 } }, { time = 2 }]
[[pins]]
box = { min = [0.19, 1.99, -1.0], max = [0.21, 2.01, 1.0] }
[[pins]]
plane = { point = [0.6, 2.0, 0.0], normal = [1.0, 20.0, 0.0] }

[[solids]]
shape = "plane"
translation = [0.0, -2.0, 0.0]
rotation = { axis = [0.0, 0.0, 2.0], degrees = 90 }
[[solids]]
shape = "sphere"
radius = 0.1
velocity = [1.0, 2.0, 3.0]
angular_velocity = [0.1, 0.2, 0.3]
thickness = 0.01
friction = 0.7
sliding_friction = 0.6
restitution = 0.5
[[solids]]
shape = "capsule"
radius = 0.2
half_length = 0.3
friction = 0.25
[[solids]]
shape = "box"
half = [0.1, 0.2, 0.3]
[solids.motion]
keys = [{ time = 0.5, translation = [1.0, 0.0, 0.0] }]
[[solids]]
shape = "mannequin"
segments = 8
resolution = 8

[world]
gravity = [0.0, -1.62, 0.0]
drag = 0.25

[wind]
velocity = [1.0, 0.0, -1.0]
density = 1.1
drag_coefficient = 1.3
lift_coefficient = 0.9
gust = 0.2
gust_wave = [0.1, 0.2, 0.3]
gust_frequency = 2.0

[solver]
method = "auto"
strain_limit = 0.02
middle_strain = 0.03
stretch_min = 0.9
stretch_max = 1.1
area_limit = [0.8, 1.2]
stretch_rate = 0.1
substeps = { up_to = 12 }
stepping = "bdf2"
elasticity = "implicit"
contact_rounds = 6
dispatches_per_submission = 500
dispatch_budget = 5_000_000_000
[solver.yarn_sweep]
sweeps = 51
middle_sweeps = 5
step_clamp = 0.25
slack = 0.4
chords_from = inf
[solver.fast_projection]
preconditioner = "lines"
iterations = 30
inner_iterations = 40
tolerance = 0.05
step_clamp = 0.2

[output]
fps = 30
seconds = 1.5
out = "results"
export = ["cloth.mdd", "frames/cloth.ply"]
render = "cloth.gif"
"#;

#[test]
fn every_key_is_read() {
    let file = SceneFile::parse(EVERYTHING, "everything", None).unwrap();
    let scene = file.scene().unwrap();
    assert_eq!(scene.name, "everything");
    assert_eq!(file.size(), None);
    let silk = Material::named("silk").unwrap();
    let mesh = &scene.mesh;
    assert_eq!(mesh.positions()[19], [0.8, -0.6, 0.0]);
    assert_eq!(mesh.positions()[6], [0.2, -0.2, 0.0]);
    let mass: f32 = mesh.masses().iter().sum();
    assert!((mass - 0.48 * silk.density).abs() < 1e-6, "{mass}");
    assert!(!mesh.hinges().is_empty() && !mesh.bending_pairs().is_empty());
    assert_eq!(mesh.group("seam").unwrap(), [18, 19]);
    let spring = |a, b| mesh.springs().iter().find(|link| (link.tail, link.head) == (a, b)).map(|link| link.stiffness);
    assert_eq!((spring(0, 6), spring(5, 6)), (Some(17.0), Some(3.5)));
    let edge = |a, b| mesh.edges().iter().find(|link| (link.tail, link.head) == (a, b)).map(|link| link.rest);
    assert_eq!((edge(6, 7), edge(10, 11), edge(5, 6)), (Some(0.21), None, None));

    // Rows of 0.8 m in arcs behind the sheet whose ends are 0.75 m apart.
    let start = &scene.start;
    let along = |a: [f32; 3], b: [f32; 3]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt();
    assert!((along(start[0], start[4]) - 0.75).abs() < 1e-6, "{start:?}");
    assert!((along(start[0], start[1]) - 0.2).abs() < 1e-6 && start[2][2] < -0.05, "{start:?}");
    assert_eq!((start[0][1], start[19][1]), (2.0, 2.0 - 0.6));
    // Noise, but not of what is pinned or held.
    assert_eq!(file.noise(), Some(Noise { amplitude: 2e-5, seed: u64::MAX }));
    let mut quiet = file.clone();
    quiet.set_noise(None);
    let quiet = quiet.scene().unwrap().start;
    let moved = |vertex: &usize| quiet[*vertex] != start[*vertex];
    let still: Vec<usize> = (0..20).filter(|vertex| !moved(vertex)).collect();
    assert_eq!(still, [0, 1, 4, 5, 18, 19]);
    assert!(start.iter().zip(&quiet).all(|(a, b)| along(*a, *b) < 2e-5 * 3f32.sqrt() + 2e-7));

    // The corners; the box has vertex 1, the plane vertex 4; the others are held by the script.
    assert_eq!(mesh.pins(), [0, 1, 4], "{start:?}");
}

#[test]
fn every_setting_and_solid_is_read() {
    let file = SceneFile::parse(EVERYTHING, "everything", None).unwrap();
    let scene = file.scene().unwrap();
    let [seam, single] = &scene.script.pins[..] else { panic!("{:?}", scene.script) };
    assert_eq!(
        (seam.vertices(), seam.hold, seam.until),
        (&[18, 19][..], Some(Hold::Plane { normal: [0.0, 0.0, 2.0] }), Some(1.5))
    );
    assert_eq!((single.vertices(), single.center), (&[5][..], [0.0, 1.0, 0.0]));
    let motion = single.motion.as_ref().unwrap();
    assert!(motion.repeats() && motion.keys().len() == 3);
    assert!((motion.pose(3.0).rotation[1] - 15f32.to_radians().sin()).abs() < 1e-6);

    let [plane, sphere, capsule, block, form] = &scene.solids[..] else { panic!("{} solids", scene.solids.len()) };
    assert!(matches!(plane.shape, SolidShape::Plane));
    let silk = Material::named("silk").unwrap();
    assert_eq!((plane.friction, plane.sliding_friction), (silk.friction, 0.8 * silk.friction));
    assert_eq!(plane.thickness, 0.5 * silk.thickness);
    let half = std::f32::consts::FRAC_1_SQRT_2;
    assert!(plane.pose.rotation.iter().zip([0.0, 0.0, half, half]).all(|(a, b)| (a - b).abs() < 1e-7));
    assert!(matches!(sphere.shape, SolidShape::Sphere { radius: 0.1 }));
    assert_eq!((sphere.velocity, sphere.angular_velocity), ([1.0, 2.0, 3.0], [0.1, 0.2, 0.3]));
    assert_eq!([sphere.thickness, sphere.friction, sphere.sliding_friction, sphere.restitution], [0.01, 0.7, 0.6, 0.5]);
    assert!(matches!(capsule.shape, SolidShape::Capsule { radius: 0.2, half_length: 0.3 }));
    assert_eq!(capsule.sliding_friction, 0.8 * 0.25);
    assert!(matches!(block.shape, SolidShape::Box { half: [0.1, 0.2, 0.3] }));
    assert_eq!(scene.script.solids[0].solid, 3);
    assert!(matches!(form.shape, SolidShape::Grid(_)));

    let settings = &scene.settings;
    assert_eq!((settings.gravity, settings.drag, settings.damping), ([0.0, -1.62, 0.0], 0.25, 0.003));
    let wind = settings.wind.unwrap();
    assert_eq!((wind.velocity, wind.gust_wave), ([1.0, 0.0, -1.0], [0.1, 0.2, 0.3]));
    assert_eq!(
        [wind.density, wind.drag_coefficient, wind.lift_coefficient, wind.gust, wind.gust_frequency],
        [1.1, 1.3, 0.9, 0.2, 2.0]
    );
    assert_eq!([settings.strain_limit, settings.stretch_min, settings.stretch_max], [0.02, 0.9, 1.1]);
    assert_eq!((settings.area_limit, settings.substeps), (Some([0.8, 1.2]), Substeps::UpTo(12)));
    assert_eq!((settings.stepping, settings.elasticity), (Stepping::Bdf2, Elasticity::Implicit));
    assert_eq!((settings.contact_rounds, settings.dispatches_per_submission), (6, 500));
    assert_eq!(settings.dispatch_budget, 5_000_000_000);
    let Method::Auto(auto) = &settings.method else { panic!("{:?}", settings.method) };
    assert_eq!((auto.sweep.sweeps, auto.sweep.middle_sweeps, auto.sweep.chords_from), (51, 5, f32::INFINITY));
    assert_eq!((settings.middle_strain, auto.sweep.step_clamp, auto.sweep.slack), (Some(0.03), 0.25, 0.4));
    assert_eq!((auto.projection.preconditioner, auto.projection.iterations), (Preconditioner::Lines, 30));
    assert_eq!((auto.projection.inner_iterations, auto.projection.tolerance), (Some(40), 0.05));

    let output = &file.output;
    assert_eq!((output.fps, output.seconds), (Some(30.0), Some(1.5)));
    assert_eq!((output.out.as_deref(), output.render.as_deref()), (Some("results"), Some("cloth.gif")));
    assert_eq!(output.export, ["cloth.mdd", "frames/cloth.ply"]);
}

#[test]
fn what_is_printed_is_read_back_to_the_bit() {
    let text = SceneFile::parse(EVERYTHING, "everything", None).unwrap().to_toml();
    assert_same(&parse(&text), &parse(EVERYTHING), "everything");
    assert_eq!(SceneFile::parse(&text, "again", None).unwrap().to_toml(), text);
    for (solver, tables) in [
        ("fast-projection", "[solver.fast_projection]\npreconditioner = \"jacobi\"\nwarm_start = 1.5"),
        ("gauss-seidel", "[solver.gauss_seidel]\nsweeps = 7\nsweeps_per_check = 3\nseed = 18446744073709551615"),
        ("jacobi", "[solver.jacobi]\nsweeps = 9\nsweeps_per_check = 4\nrelaxation = 0.7\nblend = 0.3"),
        ("yarn-sweep", "[solver.yarn_sweep]\nslack = 0.1"),
    ] {
        let text = format!(
            "[cloth]\ngenerator = \"chain\"\nsize = 4\n[solver]\nmethod = \"{solver}\"\nsubsteps = 9\n{tables}"
        );
        let scene = parse(&text);
        assert_eq!((scene.settings.method.solver().name(), scene.settings.substeps), (solver, Substeps::Fixed(9)));
        let standard = Settings { method: Method::named(solver).unwrap(), ..Settings::default() };
        assert_ne!(format!("{:?}", scene.settings.method), format!("{:?}", standard.method));
        let again = SceneFile::parse(&text, "", None).unwrap().to_toml();
        assert_same(&parse(&again), &scene, solver);
    }
    let inline = "[cloth]\npositions = [[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1], [2, 0.1, 0]]
        faces = [[0, 1, 2], [0, 2, 3]]\nlines = [[1, 4]]\nmasses = [1, 1, 1, 0.1, 3e-1]
        [cloth.start]\npositions = [[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1], [1.9, 0, 0]]
        [cloth.groups]\n\"a \\\"b\\\"\\t\" = [4]\n[[pins]]\ngroup = \"a \\\"b\\\"\\t\"";
    let scene = parse(inline);
    assert_eq!((scene.mesh.faces().len(), scene.mesh.lines(), scene.mesh.pins()), (2, &[[1, 4]][..], &[4][..]));
    assert_eq!((scene.mesh.masses()[4], scene.start[4]), (0.3, [1.9, 0.0, 0.0]));
    assert_same(&parse(&SceneFile::parse(inline, "", None).unwrap().to_toml()), &scene, "inline");
}

#[test]
fn fabrics_set_what_the_file_does_not() {
    for material in Material::ALL {
        let name = material.name;
        let text = format!("[cloth]\ngenerator = \"sheet\"\nsize = 3\nmaterial = \"{name}\"");
        let scene = parse(&text);
        let mass: f32 = scene.mesh.masses().iter().sum();
        assert!((mass - material.density).abs() < 1e-5, "{name}: {mass}");
        assert_eq!(scene.mesh.springs()[0].stiffness, material.shear, "{name}");
        assert_eq!(scene.settings.damping, material.damping, "{name}");
        assert_eq!(parse(&format!("{text}\ndamping = 0.5")).settings.damping, 0.5);
        let own = parse(&format!("{text}\ndensity = 0.5\nbending = 0"));
        let mass: f32 = own.mesh.masses().iter().sum();
        assert!((mass - 0.5).abs() < 1e-5 && own.mesh.bending_pairs().is_empty(), "{name}: {mass}");
        assert_eq!(own.mesh.springs()[0].stiffness, material.shear, "{name}");
        // It is cloth: it hangs without strain above the limit.
        let hung = parse(&format!("{text}\n[[pins]]\nat = \"top\""));
        let report = play(&hung, 10, |_, _| {}).snapshot().unwrap().report;
        assert_eq!(report.converged, Some(true), "{name}");
    }
}

#[test]
fn errors_name_place_and_key_and_suggest() {
    let sheet = "[cloth]\ngenerator = \"sheet\"\nsize = 4\n";
    let with = |rest: &str| format!("{sheet}{rest}");
    for (text, expected) in [
        (
            "a = 1".to_owned(),
            "1:1: there is no key `a`; known are cloth, name, output, pins, solids, solver, wind, world",
        ),
        ("[clth]".to_owned(), "1:2: there is no key `clth`; did you mean `cloth`?"),
        (String::new(), "1:1: `cloth` is missing: a table that says what cloth there is"),
        ("[cloth]\nsize = 4".to_owned(), "1:2: `cloth` needs one of the keys generator, mesh and positions"),
        (with("mesh = \"a.obj\""), "4:1: `cloth` needs one of the keys generator, mesh and positions"),
        (with("length = 2"), "4:1: there is no key `cloth.length`; known are bending, curved"),
        (with("material = \"coton\""), "4:12: `cloth.material` is \"coton\"; did you mean `cotton`?"),
        (with("density = -1"), "4:1: `cloth.density` is -1, but must be"),
        (with("density = 1e30"), "4:1: `cloth.density` is 1e30, but must be in [1e-9, 1e9] kg/m² or kg/m"),
        (with("[[cloth.fabrics]]\nshear = 1"), "4:1: `cloth.fabrics[0]` needs one of the keys color and group"),
        (with("[[cloth.fabrics]]\ngroup = \"a\""), "5:1: `cloth.fabrics[0].group` is \"a\"; the cloth has no groups"),
        (
            with("[cloth.groups]\nhem = [0, 1]\n[[cloth.fabrics]]\ngroup = \"hem\""),
            "7:1: `cloth.fabrics[0].group` has no face with all of its vertices",
        ),
        (
            with("[cloth.groups]\nhem = [0, 1, 4, 5]\n[[cloth.fabrics]]\ngroup = \"hem\"\nshear = -1"),
            "8:1: `cloth.fabrics[0].shear` is -1, but must be finite and not negative",
        ),
        (
            with("[cloth.groups]\nhem = [0, 1, 4, 5]\n[[cloth.fabrics]]\ngroup = \"hem\"\nstrain_limit = 5"),
            "8:1: `cloth.fabrics[0].strain_limit` is 5, but must be above 0 and below 1 (100%)",
        ),
        (
            with("[cloth.groups]\nhem = [0, 1, 4, 5]\n[[cloth.fabrics]]\ngroup = \"hem\"\nstrain_limit = 1e-9"),
            "8:1: a strain limit of 1e-9 is below",
        ),
        (with("[[cloth.fabrics]]\ncolor = \"red\""), "5:9: `cloth.fabrics[0].color` is none: a color is six hexa"),
        (with("[[pins]]\ncolor = \"ff0000\""), "5:1: `pins[0].color` is for mesh files whose vertices have colors"),
        ("cloth = []".to_owned(), "1:9: `cloth` is an empty list"),
        ("[[cloth]]\nsize = 4".to_owned(), "1:1: `cloth[0]` needs one of the keys generator, mesh and positions"),
        (format!("[[cloth]]\n{sheet}"), "2:2: this is no TOML: duplicate key"),
        (with("density = \"light\""), "4:11: `cloth.density` is a string, but must be a number"),
        (with("density = nan"), "4:11: `cloth.density` is not a number"),
        (with("density = 1e40"), "4:11: `cloth.density` is inf, but must be a finite number"),
        (with("density = 1\nmasses = [1]"), "5:10: `cloth.masses` says what `cloth.density` says"),
        (with("damping = -2"), "4:1: `cloth.damping` is -2, but must be in [0, 1000] s"),
        (with("[cloth.start]\nspan = 2"), "5:8: `cloth.start.span` is 2, but must be above 0 and below 1 m"),
        (
            with("[cloth.start]\nnoise = 0.5"),
            "5:1: `cloth.start.noise` is 0.5, but must be at least 0 m and at most a tenth of the shortest edge",
        ),
        (with("[cloth.start]\nnoise = -1"), "5:1: `cloth.start.noise` is -1, but must be at least 0 m"),
        (with("[cloth.start]\nnoise = true"), "5:9: `cloth.start.noise` is true or false, but must be a number"),
        (
            with("[cloth.start]\nseed = 3"),
            "5:8: `cloth.start.seed` is the seed of `cloth.start.noise`, which is missing",
        ),
        (with("[cloth.start]\nnoise = 0\nseed = -3"), "6:8: `cloth.start.seed` is -3, but must be at least 0"),
        (with("[cloth.start]\ntranslation = [1e30, 0, 0]"), "4:8: `cloth.start` puts vertex 0 farther than 2⁴⁰ m away"),
        (with("[[pins]]\nat = \"top-lefd\""), "5:6: `pins[0].at` is \"top-lefd\"; did you mean `top-left`?"),
        (with("[[pins]]\nindices = [16]"), "5:1: `pins[0].indices` names vertex 16, but there are only 16"),
        (with("[[pins]]\nindices = [-1]"), "5:12: `pins[0].indices[0]` is -1, but must be in 0 … 4294967295"),
        (with("[[pins]]"), "4:1: `pins[0]` needs one of the keys at, box, channel, color, group, indices and plane"),
        (with("[[pins]]\ngroup = \"x\""), "5:1: `pins[0].group` is \"x\"; the cloth has no groups"),
        (with("[[pins]]\nbox = { min = [9, 9, 9], max = [9, 9, 9] }"), "4:1: `pins[0]` has no vertex"),
        (
            with("[[pins]]\nat = \"top\"\nuntil = 1\n[[pins]]\nat = \"left\""),
            "7:1: `pins[1]` has vertex 0, which pins[0] has already",
        ),
        (with("[[pins]]\nat = \"top\"\nhold = { line = [0, 0, 0] }"), "6:17: `pins[0].hold.line` has no direction"),
        (with("[solver]\nmiddle_strain = 2"), "5:1: `solver.middle_strain` is 2, but must be in [0, 1]"),
        (
            with("[[pins]]\nat = \"top\"\nhold = { soft = 0 }"),
            "6:17: `pins[0].hold.soft` must be above 0 and at most 1e12 N/m",
        ),
        (with("[[pins]]\nat = \"top\"\nhold = { weight = 1.5 }"), "6:19: `pins[0].hold.weight` must be in [0, 1]"),
        (
            with("[[pins]]\nat = \"top\"\nhold = { weight = 0.5, soft = 2 }"),
            "6:8: `pins[0].hold` must be \"fixed\", or have one of the keys line, plane, soft and weight",
        ),
        (with("[[pins]]\nchannel = \"red\""), "5:1: `pins[0].channel` is for mesh files whose vertices have colors"),
        (with("[[pins]]\nchannel = \"rad\""), "5:11: `pins[0].channel` is \"rad\"; did you mean `red`?"),
        (
            with("[[pins]]\nchannel = \"red\"\nhold = \"fixed\""),
            "6:8: `pins[0].hold` cannot be said beside a channel, whose colors say how vertices are held",
        ),
        (
            with("[[pins]]\nat = \"top\"\n[pins.motion]\nkeys = [{ time = 0, translation = [1, 0, 0] }]"),
            "7:9: `pins[0].motion.keys[0]` is 1 away from the start, but must be 0: at time 0",
        ),
        (
            with("[[pins]]\nat = \"top\"\nmotion = { keys = [{ time = 2 }, { time = 1 }] }"),
            "6:34: `pins[0].motion.keys[1]` has a time of 1, but it must be at least 0",
        ),
        (
            with(
                "[[pins]]\nat = \"top\"\nmotion.keys = [{ time = 2, rotation = { axis = [1, 0, 0], degrees = 360 } }]",
            ),
            "6:39: `pins[0].motion.keys[0].rotation` turns by more than 180° from the key before",
        ),
        (
            with("[[solids]]\nshape = \"plane\"\n[[solids]]\nshape = \"sphere\"\nradius = -1"),
            "8:1: `solids[1].radius` is -1, but must be above 0 and at most 1e6 m",
        ),
        (with("[[solids]]\nshape = \"sphere\""), "4:1: `solids[0].radius` is missing: in metres"),
        (with("[[solids]]\nshape = \"sphere\"\nhalf = 1"), "6:1: there is no key `solids[0].half`; known are angular"),
        (with("[[solids]]\nshape = \"ball\""), "5:9: `solids[0].shape` is \"ball\"; known are box, capsule"),
        (
            with("[[solids]]\nshape = \"plane\"\nfriction = 0.3\nsliding_friction = 0.4"),
            "7:1: `solids[0].sliding_friction` is 0.4",
        ),
        (
            with("[[solids]]\nshape = \"plane\"\nvelocity = [0, 0, 1]\nmotion.keys = [{ time = 1 }]"),
            "6:1: `solids[0].velocity` cannot be said beside a motion",
        ),
        (with("solids = 3"), "4:1: there is no key `cloth.solids`; known are"),
        (format!("solids = 3\n{sheet}"), "1:10: `solids` is a whole number, but must be a list of tables"),
        (with("[world]\ngravity = [0, 1]"), "5:11: `world.gravity` has 2 entries, but needs 3"),
        (with("[world]\ngravity = [0, 1e9, 0]"), "5:1: `world.gravity` is 1000000000, but must be finite"),
        (with("[wind]\nlift_coefficient = -3"), "5:1: `wind.lift_coefficient` is -3, but must be in [0, 1e3]"),
        (with("[solver]\nmethod = \"jakobi\""), "5:10: `solver.method` is \"jakobi\"; did you mean `jacobi`?"),
        (with("[solver]\nstrain_limit = 1e-9"), "5:1: a strain limit of 1e-9 is below"),
        (with("[solver]\nstrain_limit = 0"), "5:1: a strain limit of 0e0 is below"),
        (with("[solver]\nstrain_limit = 5"), "5:1: `solver.strain_limit` is 5, but must be above 0 and below 1 (100%)"),
        (with("[solver]\nsubsteps = 0"), "5:1: `solver.substeps` is 0, but must be in 1 … 1,000,000"),
        (
            with("[solver]\nmethod = \"jacobi\"\nyarn_sweep.sweeps = 2"),
            "6:1: `solver.yarn_sweep` is not for the method",
        ),
        (with("[solver.yarn_sweep]\nslack = 2"), "5:1: `solver.yarn_sweep.slack` is 2, but must be in [0, 0.9]"),
        (with("[solver.fast_projection]\ntolerance = 2"), "5:1: `solver.fast_projection.tolerance` is 2, but"),
        (with("[output]\nfps = 0"), "5:7: `output.fps` is 0, but must be between 1 and 100000"),
        (with("[output]\nout = \"../x\""), "5:7: `output.out` must be inside the scene's folder"),
        (with("[output]\nexport = [\"/etc/passwd\"]"), "5:11: `output.export[0]` must be inside the scene's folder"),
        (
            "name = \"\\u001b[31m\"".to_owned() + "\n" + sheet,
            "1:8: `name` must have between 1 and 200 bytes and no control",
        ),
        ("[cloth".to_owned(), "1:7: this is no TOML"),
        ("[cloth]\nsize = 1\nsize = 2".to_owned(), "3:1: this is no TOML: duplicate key"),
        (sheet.replace('4', "4_000_000_000"), "3:8: `cloth.size` is 4000000000, but must be in 2 … 4096"),
        (sheet.replace('4', "[4096, 4096]"), "3:8: `cloth.size` asks for 16777216 vertices, but a scene file may only"),
        (sheet.replace('4', "[4, 4, 4]"), "3:8: `cloth.size` has 3 entries, but must have at most 2"),
        (sheet.replace('4', "99999999999999999999999999999999999999999999"), "3:8: `cloth.size` is too large"),
        (sheet.replace("sheet", "sheat"), "2:13: `cloth.generator` is \"sheat\"; did you mean `sheet`?"),
        ("[cloth]\npositions = [[0, 0, 0]]\nfaces = [[0, 1]]".to_owned(), "3:10: `cloth.faces[0]` has 2 vertices"),
        ("[cloth]\npositions = [[0, 0, 0]]\nwarp = \"uv\"".to_owned(), "3:8: `cloth.warp` is \"uv\"; "),
        (format!("{sheet}warp = \"x\""), "4:1: "),
        (
            "[cloth]\npositions = [[0, 0, 0]]\nfaces = [[0, 1, 2]]".to_owned(),
            "1:2: `cloth`: faces[0] names vertex 1, but",
        ),
        (
            "[cloth]\ngenerator = \"chain\"\nsize = 4\nmaterial = \"silk\"".to_owned(),
            "4:12: `cloth.material` is a fabric",
        ),
        (
            "[cloth]\nmesh = \"a.obj\"".to_owned(),
            "2:1: `cloth.mesh` is \"a.obj\", which cannot be found: this scene was",
        ),
    ] {
        let message = refusal(&text);
        assert!(message.starts_with(expected), "{message}\nexpected {expected}\n{text}");
    }
}

#[test]
fn columns_count_characters_and_keys_are_given_apart() {
    let text = "[cloth]\ngenerator = \"sheet\"\nsize = 4\n[output]\nout = \"Ä/ö\"\n\"ü\" = 1";
    let Err(Error::SceneFile { line, column, key, .. }) = Scene::from_toml(text, None) else { panic!("accepted") };
    assert_eq!((line, column, key.as_str()), (6, 1, "output.ü"));
    let text = "cloth = { generator = \"sheet\", size = 4, plane = \"ä\", sice = 3 }";
    let Err(Error::SceneFile { line, column, key, .. }) = Scene::from_toml(text, None) else { panic!("accepted") };
    assert_eq!((line, column, key.as_str()), (1, 55, "cloth.sice"));
}

#[test]
fn large_and_deep_files_are_refused_quickly() {
    let clock = std::time::Instant::now();
    let sheet = "[cloth]\ngenerator = \"sheet\"\nsize = 4\n";
    let long = format!("# {}\n{sheet}", "x".repeat(5 << 20));
    assert!(refusal(&long).starts_with("1:1: the file has 5242"), "{}", refusal(&long));
    let deep = format!("{sheet}[world]\ngravity = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(refusal(&deep).contains("this is no TOML"));
    let solids = format!("{sheet}{}", "[[solids]]\nshape = \"plane\"\n".repeat(257));
    assert!(refusal(&solids).contains("`solids` has 257 entries, but must have at most 256"));
    let names = format!(
        "{sheet}[{}]\n{}",
        ["k".repeat(48).as_str(); 60].join("."),
        (0..100_000).map(|i| format!("a{i} = 1\n")).collect::<String>()
    );
    assert!(refusal(&names).starts_with("4:2: there is no key `kkkk"));
    let masses = format!("{sheet}masses = [{}]", "1,".repeat(1 << 20));
    assert!(refusal(&masses).contains("mass has 1048576 entries, but needs 16"), "{}", refusal(&masses));
    let keys = format!("{sheet}[[pins]]\nat = \"top\"\n[pins.motion]\nkeys = [{}]", "{time=1},".repeat(100_000));
    assert!(refusal(&keys).contains("keys[1]` has a time of 1"));
    let grids = format!(
        "{sheet}{}",
        "[[solids]]\nshape = \"mannequin\"\nresolution = 256\nsegments = 8\n[[solids]]\nshape = \"mannequin\"\nresolution = 255\nsegments = 8\n"
    );
    let limits = Limits { grid_bytes: 1 << 20, ..Limits::default() };
    let error = SceneFile::parse_within(&grids, "grids", None, limits).unwrap().scene().unwrap_err().to_string();
    assert!(error.contains("`solids[0].resolution`: the distance grid needs"), "{error}");
    assert!(clock.elapsed().as_secs() < 60, "{:?}", clock.elapsed());
}

/// Files in a folder, one of which leads out of it.
fn folder() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::create_dir_all(directory.path().join("scene/sub")).expect("a directory");
    std::fs::write(directory.path().join("secret.obj"), "v 0 0 0\n").expect("a file");
    std::fs::write(directory.path().join("scene/sub/own.obj"), "v 0 0 0\n").expect("a file");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../secret.obj", directory.path().join("scene/link.obj")).expect("a link");
        std::os::unix::fs::symlink("..", directory.path().join("scene/up")).expect("a link");
        std::os::unix::fs::symlink("../nowhere", directory.path().join("scene/dangling")).expect("a link");
    }
    directory
}

/// Triangles are woven, from a file and inline; the key says how, and is written again.
#[test]
fn triangles_are_woven_as_the_key_says() {
    let directory = folder();
    let scene = directory.path().join("scene");
    let square = "v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3\nf 1/1 3/3 4/4\n";
    std::fs::write(scene.join("square.obj"), square).expect("a file");
    let inline = "positions = [[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1]]\nfaces = [[0, 1, 2], [0, 2, 3]]";
    let file: &[_] = &[("", 4), ("warp = \"off\"", 5), ("warp = \"uv\"", 4), ("warp = \"z\"", 4)];
    let lists: &[_] = &[("", 4), ("warp = \"off\"", 5), ("warp = \"sides\"", 4), ("warp = \"z\"", 4)];
    for (source, cases) in [("mesh = \"square.obj\"", file), (inline, lists)] {
        for (key, edges) in cases {
            let parsed = SceneFile::parse(&format!("[cloth]\n{source}\n{key}"), "", Some(&scene)).expect("it is good");
            let again = SceneFile::parse(&parsed.to_toml(), "", Some(&scene)).expect("what is written is good");
            for file in [parsed, again] {
                let mesh = file.scene().expect("the scene is good").mesh;
                assert_eq!((mesh.edge_count(), mesh.springs().len()), (*edges, 5 - edges), "{source} {key}");
            }
        }
    }
}

#[test]
fn files_outside_the_folder_are_refused() {
    let directory = folder();
    let scene = directory.path().join("scene");
    let refusal = |name: &str| {
        let text = format!("[cloth]\nmesh = '{name}'\nscale = 0.01\npair_triangles = true");
        Scene::from_toml(&text, Some(&scene)).unwrap_err().to_string()
    };
    let absolute = directory.path().join("secret.obj").display().to_string();
    for name in ["../secret.obj", "sub/../../secret.obj", &absolute, "", ".", "sub/", "C:/x.obj", "..\\secret.obj"] {
        let error = refusal(name);
        assert!(error.starts_with("scene:2:8: `cloth.mesh` must"), "{name}: {error}");
    }
    assert!(refusal("none.obj").contains("which cannot be found"), "{}", refusal("none.obj"));
    assert!(refusal("sub").contains("which is not a file"), "{}", refusal("sub"));
    if cfg!(unix) {
        for name in ["link.obj", "up/secret.obj"] {
            assert!(refusal(name).contains("which leads outside the scene's folder"), "{}", refusal(name));
        }
    }
    let solid = "[cloth]\ngenerator = \"sheet\"\nsize = 3\n[[solids]]\nshape = \"mesh\"\nfile = \"../secret.obj\"";
    let error = Scene::from_toml(solid, Some(&scene)).unwrap_err().to_string();
    assert!(error.starts_with("scene:6:8: `solids[0].file` must be inside the scene's folder"), "{error}");

    let file = SceneFile::parse("[cloth]\ngenerator = \"sheet\"\nsize = 3", "s.toml", Some(&scene)).unwrap();
    assert_eq!(file.output_path("sub/new/a.pc2").unwrap(), scene.join("sub/new/a.pc2"));
    if cfg!(unix) {
        for name in ["up/new", "dangling", "dangling/x", "link.obj"] {
            let error = file.output_path(name).unwrap_err().to_string();
            assert!(error.contains("leads outside") || error.contains("cannot be found"), "{name}: {error}");
        }
    }
}

/// Xorshift with a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }
}

/// One small change: a byte, a digit, a line doubled, dropped or taken from elsewhere, a value exchanged.
fn mutated(random: &mut Random, text: &str) -> String {
    const VALUES: [&str; 16] = [
        "-1",
        "0",
        "4294967296",
        "nan",
        "inf",
        "-inf",
        "1e39",
        "1e-45",
        "\"\"",
        "[]",
        "{}",
        "true",
        "[[[0]]]",
        "1979-05-27",
        "9223372036854775808",
        "\"../x\"",
    ];
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=random.below(3) {
        let (line, other) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(6) {
            0 => drop(lines.remove(line)),
            1 => lines.insert(line, lines[other].clone()),
            2 => lines.swap(line, other),
            3 => {
                let letters: Vec<char> = lines[line].chars().collect();
                if !letters.is_empty() {
                    let at = random.below(letters.len());
                    let letter = char::from_u32(random.below(0x250) as u32).unwrap_or('x');
                    lines[line] = letters.iter().enumerate().map(|(i, c)| if i == at { letter } else { *c }).collect();
                }
            }
            4 => {
                if let Some((key, _)) = lines[line].split_once('=') {
                    lines[line] = format!("{key}= {}", VALUES[random.below(VALUES.len())]);
                }
            }
            _ => {
                let digit = char::from(b'0' + random.below(10) as u8).to_string();
                if let Some(at) = lines[line].find(|c: char| c.is_ascii_digit()) {
                    lines[line].replace_range(at..=at, &digit);
                }
            }
        }
        if lines.is_empty() {
            lines.push(String::new());
        }
    }
    lines.join("\n")
}

#[test]
fn thousands_of_mutated_files_never_panic() {
    let clock = std::time::Instant::now();
    let mut random = Random(0x5eed);
    let mut texts: Vec<String> = NAMES.iter().map(|name| SceneFile::builtin(name, 5).unwrap().to_toml()).collect();
    texts.push(EVERYTHING.to_owned());
    let limits = Limits { vertices: 2000, grid_bytes: 1 << 18, ..Limits::default() };
    let (mut read, mut made, mut refused) = (0, 0, 0);
    for round in 0..400 {
        for text in &texts {
            let text = mutated(&mut random, text);
            let outcome = SceneFile::parse_within(&text, "mutated", None, limits).and_then(|file| {
                read += 1;
                // What can be read can be printed and read again.
                SceneFile::parse_within(&file.to_toml(), "printed", None, limits)?;
                file.scene()
            });
            match outcome {
                Ok(scene) => {
                    made += 1;
                    // Few, because simulating takes longer than reading.
                    if round % 50 == 0 {
                        let _ = Cloth::on_cpu(scene.clone());
                    }
                }
                Err(Error::SceneFile { line, .. }) => {
                    refused += 1;
                    assert!(line <= text.lines().count() + 1, "{line}");
                }
                Err(error) => panic!("{error:?} has no place:\n{text}"),
            }
        }
    }
    println!("{read} read, {made} made, {refused} refused in {:?}", clock.elapsed());
    assert!(made > 400 && refused > 1500 && read > made, "{read} read, {made} made, {refused} refused");
    assert!(clock.elapsed().as_secs() < 120, "{:?}", clock.elapsed());
}

#[test]
fn led_pins_are_where_their_keys_say() {
    let text = "[cloth]\ngenerator = \"sheet\"\nsize = 6\nplane = \"xy\"
        [[pins]]\nat = \"top\"
        [pins.motion]\nkeys = [{ time = 0.1 }, { time = 0.3, translation = [0.05, 0, 0.1], rotation = { axis = [0, 0, 1], degrees = 30 } }]";
    let scene = parse(text);
    let (sin, cos) = 15f32.to_radians().sin_cos();
    play(&scene, 24, |frame, cloth| {
        let positions = cloth.snapshot().unwrap().positions;
        if frame < 6 {
            assert_eq!(positions[5], scene.start[5], "frame {frame}");
        } else if frame == 12 {
            // Half of the way: turned by 15° about the middle of the row.
            let expected = [0.5 + 0.025 + 0.5 * cos, 0.5 * sin, 0.05];
            let error = positions[5].iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(error < 1e-5, "{:?}, {expected:?}", positions[5]);
        }
    });
}

#[test]
fn holds_of_a_file_end_when_it_says() {
    let text = "[cloth]\ngenerator = \"sheet\"\nsize = 5\n
        [[pins]]\nat = \"top\"\nuntil = 0.1\n[[pins]]\nat = \"bottom-left\"\nhold = { line = [0, 1, 0] }";
    let scene = parse(text);
    assert!(scene.mesh.pins().is_empty());
    play(&scene, 18, |frame, cloth| {
        let positions = cloth.snapshot().unwrap().positions;
        assert_eq!(positions[2][1] == 0.0, frame <= 6, "frame {frame}: {:?}", positions[2]);
        assert!((positions[20][0]).abs() < 1e-6 && (positions[20][2] - 1.0).abs() < 1e-6, "{:?}", positions[20]);
    });
}

#[test]
fn soft_holds_of_a_file_bear_the_weight() {
    let text = "[cloth]\ngenerator = \"sheet\"\nsize = 5\nplane = \"xy\"\n[world]\ndrag = 4.0\n
        [[pins]]\nat = \"top\"\nhold = { soft = 20.0 }";
    let file = SceneFile::parse(text, "soft", None).unwrap();
    assert!(file.to_toml().contains("hold = { soft = 20.0 }"), "{}", file.to_toml());
    let scene = parse(text);
    assert_eq!((scene.mesh.pins().len(), scene.script.pins[0].hold), (0, Some(Hold::Soft { stiffness: 20.0 })));
    let mut sag = 0.0;
    play(&scene, 240, |_, cloth| {
        let positions = cloth.snapshot().unwrap().positions;
        sag = (0..5).map(|v| f64::from(scene.start[v][1] - positions[v][1])).sum::<f64>();
    });
    // 0.2 kg/m² on 1 m², on springs of 20 N/m.
    let borne = 20.0 * sag / (0.2 * 9.81);
    assert!((borne - 1.0).abs() < 0.01, "{borne}");
}

#[test]
fn solids_follow_their_keys_also_in_short_frames() {
    let text = "[cloth]\ngenerator = \"chain\"\nsize = 2
        [[solids]]\nshape = \"box\"\nhalf = [0.1, 0.1, 0.1]\ntranslation = [5, 0, 0]\nrotation = { axis = [0, 1, 0], degrees = 45 }
        [solids.motion]\nrepeat = true\nkeys = [{ time = 0.1, translation = [0, 1, 0], rotation = { axis = [1, 0, 0], degrees = 90 } }, { time = 0.2 }]";
    let scene = parse(text);
    // The second length is below what is simulated on its own.
    for (fps, frames) in [(60.0, 75), (30_000.0, 1500)] {
        let mut cloth = cpu(&scene);
        let dt = (1.0 / fps) as f32;
        for frame in 0..frames {
            let time = f64::from(frame) / fps;
            let pin_targets = scene.script.frame(&mut cloth, time, dt).unwrap();
            cloth.step(&FrameInput { dt, pin_targets: &pin_targets }).unwrap();
        }
        let (found, time) = (cloth.solids()[0].pose, f64::from(frames) / fps);
        let expected = scene.script.solids[0].pose(time);
        let error = (found.translation[1] - expected.translation[1]).abs();
        assert!(error < 1e-3, "{fps}: {found:?}, {expected:?}");
        let dot: f32 = found.rotation.iter().zip(expected.rotation).map(|(a, b)| a * b).sum();
        assert!(dot.abs() > 1.0 - 1e-5, "{fps}: {found:?}, {expected:?}");
    }
}

#[test]
fn pulled_corners_keep_the_limit() {
    let scene = Scene::from_file("examples/scenes/pulled.toml").unwrap();
    let cloth = play(&scene, 120, |frame, cloth| {
        let report = cloth.snapshot().unwrap().report;
        assert_eq!(report.converged, Some(true), "frame {frame}: {:?}", report.strain);
    });
    let positions = cloth.snapshot().unwrap().positions;
    assert!((positions[40][0] - positions[0][0] - 0.96).abs() < 1e-5, "{:?} {:?}", positions[0], positions[40]);
    assert!((positions[0][1] - 0.15).abs() < 1e-5 && (positions[40][1] - 0.15).abs() < 1e-5);
    // The row between them hangs: 1 m over 0.96 m sags by about 0.12 m.
    assert!((0.0..0.1).contains(&positions[20][1]), "{:?}", positions[20]);
}

#[test]
fn a_ball_pushes_the_curtain_and_never_enters_it() {
    let scene = Scene::from_file("examples/scenes/ball_through_curtain.toml").unwrap();
    let (mut forward, mut deepest) = (0.0f32, 0.0f32);
    play(&scene, 120, |frame, cloth| {
        let snapshot = cloth.snapshot().unwrap();
        assert_eq!(snapshot.report.converged, Some(true), "frame {frame}: {:?}", snapshot.report.strain);
        for position in &snapshot.positions {
            forward = forward.max(position[2]);
            deepest = deepest.max(-cloth.solids()[0].distance(*position));
        }
        if frame == 60 {
            assert!((cloth.solids()[0].pose.translation[2] - 0.4).abs() < 1e-5, "{:?}", cloth.solids()[0].pose);
        }
    });
    assert!(forward > 0.2, "the ball pushed the curtain only {forward} m");
    assert!(deepest < 1e-3, "a vertex was {deepest} m inside the ball");
}

/// Whatever a solver declares can be said in a file, is written back, and is refused by its key.
#[test]
fn every_parameter_of_every_solver_goes_through_a_file() {
    use taut::stage::parameter::{Takes, Value};
    let cloth = "[cloth]\ngenerator = \"chain\"\nsize = 4\n";
    let mut seen = 0;
    for standard in Method::all() {
        let solver = standard.solver().name();
        for table in standard.solver().tables() {
            for listed in table.list() {
                let key = format!("{}.{}", table.name(), listed.name);
                let (text, value, bad) = match listed.takes {
                    Takes::Count => ("7".to_owned(), Value::Count(7), Some("0")),
                    Takes::Long => ("7".to_owned(), Value::Long(7), None),
                    Takes::Number | Takes::NumberOrInfinity => ("0.25".to_owned(), Value::Number(0.25), Some("-1")),
                    Takes::Word(words) => (format!("{:?}", words[1]), Value::Word(words[1]), Some("\"x\"")),
                    other => panic!("{other:?} is not tried"),
                };
                assert_ne!(listed.value, value, "{key}: another value than the default");
                let with = |text: &str| format!("{cloth}[solver]\nmethod = \"{solver}\"\n{key} = {text}\n");
                let file =
                    SceneFile::parse(&with(&text), "test", None).unwrap_or_else(|error| panic!("{key}: {error}"));
                let again = SceneFile::parse(&file.to_toml(), "again", None).expect("what was written can be read");
                for file in [&file, &again] {
                    let method = file.scene().unwrap_or_else(|error| panic!("{key}: {error}")).settings.method;
                    let tables = method.solver().tables();
                    let found = tables.iter().find(|found| found.name() == table.name()).expect("the same tables");
                    let found = found.list().into_iter().find(|found| found.name == listed.name);
                    assert_eq!(found.map(|found| found.value), Some(value), "{solver}: {key}");
                }
                if let Some(bad) = bad {
                    let error = SceneFile::parse(&with(bad), "test", None).and_then(|file| file.scene()).unwrap_err();
                    assert!(error.to_string().contains(&format!("`solver.{key}`")), "{error}");
                }
                let mut method = standard.clone();
                method.set(&key, text.trim_matches('"')).expect("a command line can say it, too");
                assert!(method.set(&key, "what").is_err() && method.set("speed", "1").is_err());
                seen += 1;
            }
        }
    }
    assert!(seen > 30, "only {seen} parameters were tried");
}

/// A square of four triangles with a middle, whose left half is a group and whose right half is red.
const HALVES: &str = "v 0 0 0\nv 1 0 0 \nv 1 1 0\nv 0 1 0\ng left\nf 1 2 3 4\ng right\nv 2 0 0\nv 2 1 0\nf 2 5 6 3\n";

#[test]
fn several_cloths_are_pieces_of_one_mesh() {
    let directory = folder();
    let scene = directory.path().join("scene");
    std::fs::write(scene.join("halves.obj"), HALVES).expect("a file");
    let text = r#"
        [[cloth]]
        generator = "sheet"
        size = [3, 4]
        material = "denim"
        [cloth.start]
        noise = 1e-5
        [cloth.groups]
        left = [0]
        [[cloth.pins]]
        at = "top"

        [[cloth]]
        mesh = "halves.obj"
        up = "z"
        density = 0.5
        [cloth.start]
        translation = [5, 0, 0]
        [[cloth.fabrics]]
        group = "right"
        material = "silk"
        [[cloth.pins]]
        group = "left"
        until = 0.5
        [cloth.pins.motion]
        keys = [{ time = 1, translation = [0, 0, 1] }]

        [[cloth]]
        generator = "chain"
        size = 3
        damping = 0.1

        [[pins]]
        indices = [20]
        [[pins]]
        group = "left"
        hold = { plane = [0, 0, 1] }

        [[solids]]
        shape = "plane"
        translation = [0, -3, 0]
    "#;
    let wrong = SceneFile::parse(text, "several", Some(&scene)).unwrap().scene().unwrap_err().to_string();
    assert!(wrong.contains("`pins[1]` has vertex 0, which cloth[0].pins[0] has already"), "{wrong}");
    let text = text
        .replace("group = \"left\"\n        hold", "plane = { point = [5.5, 0, 0], normal = [1, 0, 0] }\n        hold");
    let wrong = SceneFile::parse(&text, "several", Some(&scene)).unwrap().scene().unwrap_err().to_string();
    assert!(wrong.contains("`pins[1]` has vertex 13, which cloth[1].pins[0] has already"), "{wrong}");
    let text = text.replace("[5.5, 0, 0], normal", "[6.5, 0, 0], normal");
    let file = SceneFile::parse(&text, "several", Some(&scene)).unwrap();
    let (built, imports) = file.scene_with_imports().unwrap();
    let mesh = &built.mesh;
    assert_eq!((mesh.vertex_count(), built.start.len(), mesh.faces().len()), (12 + 6 + 3, 21, 6 + 2));
    assert_eq!(mesh.pins(), [0, 1, 2, 20]);
    assert_eq!(mesh.group("left").unwrap(), [0, 12, 13, 14, 15]);
    // Turned: y of the file is -z.
    assert_eq!((mesh.positions()[14], built.start[14][0]), ([1.0, 0.0, -1.0], 6.0 + (built.start[14][0] - 6.0)));
    let [led, held] = &built.script.pins[..] else { panic!("{:?}", built.script) };
    assert_eq!((led.vertices(), held.vertices()), (&[12, 13, 14, 15][..], &[16, 17][..]));
    // Denim, the other cloth, and silk on its right half.
    let [denim, silk] = ["denim", "silk"].map(|name| Material::named(name).unwrap());
    let masses: Vec<f32> = [0..12, 12..18, 18..21].map(|range| mesh.masses()[range].iter().sum()).into();
    for (mass, expected) in masses.iter().zip([denim.density, 0.5 + silk.density, 0.1]) {
        assert!((mass - expected).abs() < 1e-5, "{masses:?}");
    }
    let diagonal = |a, b| mesh.springs().iter().find(|link| (link.tail, link.head) == (a, b)).unwrap().stiffness;
    assert_eq!([diagonal(0, 4), diagonal(12, 14), diagonal(13, 17)], [denim.shear, 20.0, silk.shear]);
    // One damping and one surface of solids for all.
    assert_eq!((built.settings.damping, built.solids[0].friction), (0.1, denim.friction));
    let [import] = &imports[..] else { panic!("{imports:?}") };
    assert_eq!((import.file.as_str(), import.report.quads, import.pinned), ("halves.obj", 2, 0));
    // What is printed makes the same.
    let again = SceneFile::parse(&file.to_toml(), "again", Some(&scene)).unwrap();
    assert_same(&again.scene().unwrap(), &built, "several");
    assert_eq!(again.to_toml(), file.to_toml());
    assert_eq!((file.size(), file.material()), (None, Some(denim)));
    assert!(file.clone().set_size(4).unwrap_err().to_string().contains("one size cannot stand for 3 cloths"));
    assert!(file.clone().set_material(silk).unwrap_err().to_string().contains("`cloth[2]` is a chain"));
    // It runs, and every piece does what it would do alone.
    let cloth = play(&built, 3, |_, _| {});
    assert_eq!(cloth.snapshot().unwrap().report.converged, Some(true));

    for (from, to, expected) in [
        (
            "damping = 0.1",
            "damping = 0.1\n[[cloth]]\ngenerator = \"chain\"\nsize = 3\ndamping = 0.2",
            "`cloth[3].damping` is 0.2, but `cloth[2].damping` is 0.1",
        ),
        (
            "damping = 0.1",
            "[cloth.start]\nnoise = 1e-5",
            "`cloth[2].start.noise` moves every cloth, so it is for `cloth[0]` to say",
        ),
        (
            "indices = [20]",
            "at = \"top\"",
            "`pins[0].at` is for one cloth: where there are several it stands in [[cloth.pins]]",
        ),
        ("indices = [20]", "indices = [21]", "`pins[0].indices` names vertex 21, but there are only 21"),
        ("group = \"right\"", "group = \"rigth\"", "`cloth[1].fabrics[0].group` is \"rigth\"; did you mean `right`?"),
        ("density = 0.5", "density = 0", "`cloth[1].density` is 0, but must be in"),
        ("size = [3, 4]", "size = [4096, 1024]", "vertices, but a scene file may only have 4194304"),
    ] {
        let text = text.replace(from, to);
        let error = SceneFile::parse(&text, "several", Some(&scene)).and_then(|file| file.scene());
        let error = error.expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}\nexpected {expected}");
    }
    let many = format!("[[cloth]]\n{}", "[[cloth]]\n".repeat(64));
    assert!(refusal(&many).contains("`cloth` has 65 entries, but must have at most 64"), "{}", refusal(&many));
}

#[test]
fn colors_choose_pins_and_fabrics() {
    let directory = folder();
    let scene = directory.path().join("scene");
    let row = |x: u32, color: &str| format!("v {x} 0 0 {color}\nv {x} 0 1 {color}\n");
    let text = row(0, "1 0 0") + &row(1, "1 0 0") + &row(2, "0 0 1") + "f 1 2 4 3\nf 3 4 6 5\n";
    std::fs::write(scene.join("colored.obj"), text).expect("a file");
    let text = "[cloth]\nmesh = \"colored.obj\"\n[[cloth.fabrics]]\ncolor = \"ff0000\"\nshear = 7\n\
                [[pins]]\ncolor = \"0000f8~8\"";
    let file = SceneFile::parse(text, "colored", Some(&scene)).unwrap();
    let mesh = file.scene().unwrap().mesh;
    assert_eq!(mesh.pins(), [4, 5]);
    let stiffness: Vec<f32> = mesh.springs().iter().map(|link| link.stiffness).collect();
    assert_eq!(stiffness, [7.0, 7.0, 20.0, 20.0]);
    let again = SceneFile::parse(&file.to_toml(), "again", Some(&scene)).unwrap().scene().unwrap();
    assert_eq!(again.mesh, mesh);
}

/// A fabric of a group holds its own limit, which is written again.
#[test]
fn fabrics_of_groups_have_limits_of_their_own() {
    let text = "[cloth]\ngenerator = \"sheet\"\nsize = 9\nplane = \"xy\"\n[cloth.groups]\nband = [0, 1, 2, 9, 10, 11]\n\
                [[cloth.fabrics]]\ngroup = \"band\"\nstrain_limit = 0.002\n[[pins]]\nat = \"top-left\"";
    let file = SceneFile::parse(text, "limits", None).unwrap();
    let scene = file.scene().unwrap();
    let own: Vec<f32> = scene.mesh.edge_limits().iter().filter_map(|limit| limit.own()).collect();
    assert_eq!(own, [0.002; 7], "two faces have seven sides");
    let again = SceneFile::parse(&file.to_toml(), "again", None).unwrap().scene().unwrap();
    assert_eq!(again.mesh, scene.mesh);
    play(&scene, 30, |frame, cloth| {
        let snapshot = cloth.snapshot().unwrap();
        assert_eq!(snapshot.report.converged, Some(true), "frame {frame}");
        for (edge, limit) in scene.mesh.edges().iter().zip(scene.mesh.edge_limits()) {
            let [a, b] = [edge.tail, edge.head].map(|end| snapshot.positions[end as usize].map(f64::from));
            let length = (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f64>().sqrt();
            let strain = (length / f64::from(edge.rest) - 1.0).abs();
            assert!(strain <= f64::from(limit.beside(0.01)), "frame {frame}: {edge:?} {strain}");
        }
    });
}

/// What is painted black falls, what is red is pinned, and what is between hangs on springs that grow with the weight.
#[test]
fn a_channel_of_colors_has_the_weights_of_pins() {
    let directory = folder();
    let scene = directory.path().join("scene");
    // Four points that nothing joins but a line each: each hangs alone.
    let reds = [0.0, 0.2, 0.6, 1.0];
    let points: String =
        reds.iter().enumerate().map(|(x, red)| format!("v {x} 0 0 {red} 0 0\nv {x} -1 0 0 0 0\n")).collect();
    std::fs::write(scene.join("ropes.obj"), points + "l 1 2\nl 3 4\nl 5 6\nl 7 8\n").expect("a file");
    let text = "[cloth]\nmesh = \"ropes.obj\"\ndensity = 0.2\n[world]\ndrag = 6.0\n[[pins]]\nchannel = \"red\"";
    let file = SceneFile::parse(text, "ropes", Some(&scene)).unwrap();
    let built = file.scene().unwrap();
    assert_eq!(built.mesh.pins(), [6]);
    let holds: Vec<_> =
        built.script.pins.iter().map(|group| (group.vertices().to_vec(), group.hold.unwrap())).collect();
    let stiffness = |weight: f32| 10.0 * weight / (1.0 - weight);
    assert_eq!(
        holds,
        [
            (vec![2], Hold::Soft { stiffness: stiffness(0.2) }),
            (vec![4], Hold::Soft { stiffness: stiffness(153.0 / 255.0) })
        ]
    );
    let again = SceneFile::parse(&file.to_toml(), "again", Some(&scene)).unwrap().scene().unwrap();
    assert_eq!((again.mesh, again.script), (built.mesh.clone(), built.script.clone()));
    let mut sags = [0.0; 4];
    play(&built, 600, |_, cloth| {
        let positions = cloth.snapshot().unwrap().positions;
        sags = [0, 2, 4, 6].map(|vertex| -f64::from(positions[vertex][1]));
    });
    // A rope of 1 m weighs 0.2 kg: 0.785 m and 0.131 m.
    for (sag, weight) in [(sags[1], 0.2), (sags[2], 0.6)] {
        let expected = 0.2 * 9.81 / f64::from(stiffness(weight));
        assert!((sag / expected - 1.0).abs() < 0.02, "{weight}: {sag} m, not {expected} m");
    }
    assert!(sags[0] > 5.0 && sags[3] == 0.0, "{sags:?}");
    // With an end all of it is held by the script.
    let text = text.to_owned() + "\nuntil = 0.1";
    let built = SceneFile::parse(&text, "ropes", Some(&scene)).unwrap().scene().unwrap();
    assert_eq!((built.mesh.pins().len(), built.script.pins.len()), (0, 3));
    assert_eq!(built.script.pins[2].hold, Some(Hold::Fixed));
}

/// One weight for an entry: its ends are a pin and nothing.
#[test]
fn weights_of_a_file_are_soft_holds() {
    let pinned = |weight: &str| {
        let text =
            format!("[cloth]\ngenerator = \"sheet\"\nsize = 4\n[[pins]]\nat = \"top\"\nhold = {{ weight = {weight} }}");
        let file = SceneFile::parse(&text, "w", None).unwrap();
        let scene = file.scene().unwrap();
        assert_eq!(SceneFile::parse(&file.to_toml(), "w", None).unwrap().scene().unwrap().script, scene.script);
        (scene.mesh.pins().len(), scene.script.pins.iter().map(|group| group.hold).collect::<Vec<_>>())
    };
    assert_eq!(pinned("1"), (4, vec![]));
    assert_eq!(pinned("0.75"), (0, vec![Some(Hold::Soft { stiffness: 30.0 })]));
    assert_eq!(pinned("0"), (0, vec![]));
}

#[test]
fn assets_may_be_in_a_folder_that_was_named() {
    let directory = folder();
    let (scene, assets) = (directory.path().join("scene"), directory.path().join("assets"));
    std::fs::create_dir(&assets).expect("a directory");
    std::fs::write(assets.join("halves.obj"), HALVES).expect("a file");
    let parse = |name: &str| SceneFile::parse(&format!("[cloth]\nmesh = '{name}'"), "s", Some(&scene)).unwrap();
    let mut file = parse("halves.obj");
    assert!(file.scene().unwrap_err().to_string().contains("which cannot be found"));
    assert!(matches!(file.add_assets(directory.path().join("none")), Err(Error::Io { .. })));
    assert!(matches!(file.add_assets(assets.join("halves.obj")), Err(Error::Io { .. })));
    file.add_assets(&assets).expect("it is there");
    assert_eq!(file.scene().unwrap().mesh.faces().len(), 2);
    // Still nothing else: links lead to what is allowed, or nowhere.
    if cfg!(unix) {
        let mut file = parse("link.obj");
        file.add_assets(&assets).unwrap();
        assert!(file.scene().unwrap_err().to_string().contains("which leads outside the scene's folder"));
    }
}

fn change(key: &str, value: &str) -> Change {
    Change { key: key.to_owned(), value: value.to_owned() }
}

#[test]
fn changed_files_are_those_that_say_so_themselves() {
    let text = "[cloth]\ngenerator = \"sheet\"\nsize = 9\n[[solids]]\nshape = \"sphere\"\nradius = 0.1\n";
    let file = SceneFile::parse(text, "own.toml", None).expect("it is a scene");
    let changes = [
        change("cloth.size", "[5, 7]"),
        change("cloth.material", "denim"),
        change("cloth.bending", "3e-6"),
        change("solids[0].radius", "0.2"),
        change("world.gravity", "[0, -1.6, 0]"),
        change("solver.yarn_sweep.sweeps", "17"),
        change("name", "an \"odd\" one\\"),
    ];
    let changed = file.changed(&changes).and_then(|file| file.scene()).expect("all of them are keys");
    let same = "name = 'an \"odd\" one\\'\n[cloth]\ngenerator = \"sheet\"\nsize = [5, 7]\nmaterial = \"denim\"\n\
                bending = 3e-6\n[[solids]]\nshape = \"sphere\"\nradius = 0.2\n[world]\ngravity = [0, -1.6, 0]\n\
                [solver.yarn_sweep]\nsweeps = 17\n";
    assert_same(&changed, &parse(same), "changed");
    // What was changed before is not kept.
    let again = file.changed(&changes).and_then(|file| file.changed(&[])).and_then(|file| file.scene());
    assert_same(&again.expect("it is the file"), &parse(text), "unchanged");
    // A built-in scene says all numbers of its cloth; another fabric brings its own, and keys beside it count.
    let drape = SceneFile::builtin("drape", 9).expect("it is built in");
    let denim = drape.changed(&[change("cloth.material", "denim")]).and_then(|file| file.scene()).expect("a fabric");
    let mut expected = drape.clone();
    expected.set_material(Material::named("denim").expect("a fabric")).expect("it has a fabric");
    assert_same(&denim, &expected.scene().expect("it is valid"), "denim");
    assert_ne!(denim.mesh.masses(), drape.scene().expect("it is valid").mesh.masses());
    let light = [change("cloth.density", "0.01"), change("cloth.material", "'denim'")];
    let light = drape.changed(&light).and_then(|file| file.scene()).expect("both are keys");
    assert_eq!(light.mesh.bending(), denim.mesh.bending());
    assert!(light.mesh.masses()[0] < 0.1 * denim.mesh.masses()[0]);
    assert!(
        SceneFile::builtin("chain", 9).and_then(|file| file.changed(&[change("cloth.material", "denim")])).is_err()
    );
    for name in NAMES {
        let builtin = SceneFile::builtin(name, 9).expect("it is built in");
        let changed = builtin.changed(&[change("world.drag", "0.25")]).and_then(|file| file.scene()).expect("a key");
        let own = builtin.scene().expect("it is valid");
        assert_eq!(changed.settings.drag, 0.25);
        let drag = own.settings.drag;
        let settings = Settings { drag, ..changed.settings.clone() };
        assert_same(&Scene { settings, ..changed }, &own, name);
    }
}

#[test]
fn a_change_of_the_fabric_is_one_of_every_cloth() {
    let sheet = |more: &str| format!("generator = \"sheet\"\nsize = 4\n{more}");
    let two = |first: &str, second: &str| format!("[[cloth]]\n{}[[cloth]]\n{}", sheet(first), sheet(second));
    let changes = [
        change("fabric.material", "denim"),
        change("fabric.density", "0.3"),
        change("fabric.shear", "7"),
        change("fabric.bending", "2e-6"),
        change("fabric.damping", "0.004"),
    ];
    let all = "material = \"denim\"\ndensity = 0.3\nshear = 7\nbending = 2e-6\ndamping = 0.004\n";
    for (text, expected) in [
        (two("", "bending = 1e-3\n"), two(all, all)),
        (format!("[cloth]\n{}", sheet("density = 1\n")), format!("[cloth]\n{}", sheet(all))),
    ] {
        let file = SceneFile::parse(&text, "own.toml", None).expect("it is a scene");
        let changed = file.changed(&changes).and_then(|file| file.scene()).expect("all of them are keys");
        assert_same(&changed, &parse(&expected), &text);
        assert_ne!(changed.mesh.masses(), file.scene().expect("it is valid").mesh.masses());
    }
    let drape = SceneFile::builtin("drape", 9).expect("it is built in");
    for value in ["denim", "1e-3"] {
        let name = if value == "denim" { "material" } else { "bending" };
        let [one, every] = ["cloth", "fabric"].map(|table| {
            drape.changed(&[change(&format!("{table}.{name}"), value)]).and_then(|file| file.scene()).expect("a key")
        });
        assert_same(&every, &one, name);
        assert_ne!(every.mesh.bending(), drape.scene().expect("it is valid").mesh.bending());
    }
}

#[test]
fn changes_are_refused_in_the_words_of_files() {
    let text = "[cloth]\ngenerator = \"sheet\"\nsize = 9\n[[solids]]\nshape = \"sphere\"\nradius = 0.1\n";
    let file = SceneFile::parse(text, "own.toml", None).expect("it is a scene");
    for (key, value, expected) in [
        ("cloth.sise", "5", "cloth.sise=5:1:1: there is no key `cloth.sise`; did you mean `size`?"),
        ("fabric.bendin", "5", "fabric.bendin=5:1:1: there is no key `fabric.bendin`; did you mean `bending`?"),
        ("fabric.size", "5", "there is no key `fabric.size`; known are bending, damping, density, material, shear"),
        ("fabric.bending", "-1", "fabric.bending=-1:1:1: `cloth.bending` is -1, but must be"),
        ("fabric.bending", "soft", "fabric.bending=soft:1:16: `cloth.bending` is a string, but must be a number"),
        ("fabric", "denim", "fabric=denim:1:1: there is no key `fabric`; known are cloth, name"),
        ("cloth.bending", "soft", "=soft:1:15: `cloth.bending` is a string, but must be a number"),
        ("cloth.bending", "", "=:1:15: `cloth.bending` is a string, but must be a number"),
        ("cloth.bending", "-1", "cloth.bending=-1:1:1: "),
        ("cloth.bending", "1\nshear = 2", "`cloth.bending` is a string"),
        ("world.gravity", "[0, x, 1]", "`world.gravity` is a string"),
        ("world.gravity", "[0, 1]", "world.gravity=[0, 1]:1:15: `world.gravity` has 2 entries, but needs 3"),
        ("solids.radius", "1", "solids.radius=1:1:1: `solids` is a list: `solids[0]` is its first entry"),
        ("solids[1].radius", "1", "there is no `solids[1]`: there are 1 of them"),
        ("cloth[0].size", "1", "there is no `cloth[0]`: `cloth` is no list"),
        ("pins[0].at", "top", "there is no `pins[0]`: `pins` is no list"),
        ("cloth.size.width", "1", "`cloth.size` is no table"),
        ("solids[0]", "1", "`solids[0]` is an entry of a list"),
        ("", "1", "`` is not the name of a key"),
        ("cloth..size", "1", "`cloth..size` is not the name of a key"),
        ("cloth]", "1", "`cloth]` is not the name of a key"),
    ] {
        let refused = file.changed(&[change("world.drag", "1"), change(key, value)]);
        let told = match refused.and_then(|file| file.scene()) {
            Err(error @ Error::SceneFile { .. }) => error.to_string(),
            other => panic!("{key}={value}: {other:?}"),
        };
        assert!(told.contains(expected), "{key}={value}: {told}");
    }
    // What is wrong with the file itself is told of it.
    let refused = file.changed(&[change("solids[0].radius", "0.2"), change("solids[0].shape", "plane")]).unwrap_err();
    assert!(refused.to_string().starts_with("solids[0].radius=0.2:1:1: there is no key"), "{refused}");
}
