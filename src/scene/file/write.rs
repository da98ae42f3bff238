//! From plain values to TOML, with comments that say units.

use std::fmt::Write;

use super::parts::{Fabric, Named, Obstacle, Other, Pins, Select, Source, Start, Turn};
use super::{SceneFile, Surface, forms, load_mesh};
use crate::cloth::hold::{Hold, Selection};
use crate::cloth::motion::Motion;
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Substeps;
use crate::mesh::{EdgeKind, EdgeOverride, Face, Mass};
use crate::solid::Pose;
use crate::solver::Method;
use crate::stage::elastic::Elasticity;
use crate::stage::integrate::Stepping;
use crate::stage::parameter::{self, Listed};
use crate::stage::self_collision::Tangles;

/// Column of the comments.
const COMMENTS: usize = 40;

/// The whole file.
pub(super) fn toml(file: &SceneFile) -> String {
    let mut page = Page::default();
    page.comment("A scene of taut, in SI units: metres, seconds, kilograms. Right-handed, +y is up.");
    page.comment("Every key that is left out has the default of taut::scene::file, which explains them all.");
    page.line("name", &text(&file.name), "");
    for (index, one) in file.fabrics.iter().enumerate() {
        fabric(&mut page, one, file);
        for pins in file.pins.iter().filter(|pins| pins.cloth == Some(index)) {
            self::pins(&mut page, pins, "cloth.pins");
        }
    }
    for pins in file.pins.iter().filter(|pins| pins.cloth.is_none()) {
        self::pins(&mut page, pins, "pins");
    }
    for obstacle in &file.solids {
        solid(&mut page, obstacle, file);
    }
    world(&mut page, &file.settings);
    solver(&mut page, &file.settings);
    page.head("[output]", "options of the command line come first");
    let output = &file.output;
    page.option("fps", output.fps, "frames per second");
    page.option("seconds", output.seconds, "time to simulate, s");
    if let Some(out) = &output.out {
        page.line("out", &text(out), "folder for the results, in the folder of this file");
    }
    if !output.export.is_empty() {
        let list: Vec<String> = output.export.iter().map(|name| text(name)).collect();
        page.line("export", &format!("[{}]", list.join(", ")), "files to export to");
    }
    if let Some(render) = &output.render {
        page.line("render", &text(render), "a picture or an animation");
    }
    page.text
}

#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
}

impl Page {
    fn comment(&mut self, comment: &str) {
        let _ = writeln!(self.text, "# {comment}");
    }

    fn head(&mut self, head: &str, comment: &str) {
        let _ = writeln!(self.text);
        self.aligned(head, comment);
    }

    pub(super) fn line(&mut self, key: &str, value: &str, comment: &str) {
        self.aligned(&format!("{key} = {value}"), comment);
    }

    fn aligned(&mut self, start: &str, comment: &str) {
        let _ = match comment {
            "" => writeln!(self.text, "{start}"),
            _ => writeln!(self.text, "{start:COMMENTS$} # {comment}"),
        };
    }

    pub(super) fn number(&mut self, key: &str, value: f32, comment: &str) {
        self.line(key, &format!("{value:?}"), comment);
    }

    pub(super) fn vector(&mut self, key: &str, value: [f32; 3], comment: &str) {
        self.line(key, &list(&value), comment);
    }

    fn option<T: std::fmt::Debug>(&mut self, key: &str, value: Option<T>, comment: &str) {
        if let Some(value) = value {
            self.line(key, &format!("{value:?}"), comment);
        }
    }

    /// Only where it is not the default.
    pub(super) fn unless<T: PartialEq + std::fmt::Debug>(&mut self, key: &str, value: &T, default: &T, comment: &str) {
        if value != default {
            self.line(key, &format!("{value:?}"), comment);
        }
    }
}

/// A string as TOML spells it.
pub(super) fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Debug of f32 and of integers is what TOML reads, and reads back to the bit.
fn list<T: std::fmt::Debug>(values: &[T]) -> String {
    format!("{values:?}")
}

fn turn(turn: Turn) -> String {
    match turn {
        Turn::Quaternion(quaternion) => list(&quaternion),
        Turn::Axis { axis, degrees } => format!("{{ axis = {}, degrees = {degrees:?} }}", list(&axis)),
    }
}

fn fabric(page: &mut Page, fabric: &Fabric, file: &SceneFile) {
    page.head(if file.fabrics.len() > 1 { "[[cloth]]" } else { "[cloth]" }, "");
    let rope = match &fabric.source {
        Source::Sheet(sheet) => {
            page.line("generator", "\"sheet\"", "a flat grid of quads; or chain, or mesh = \"file.obj\"");
            page.line("size", &list(&sheet.size), "vertices along a row and along a column");
            page.line("width", &format!("{:?}", sheet.sides[0]), "length of a row, m");
            page.line("height", &format!("{:?}", sheet.sides[1]), "length of a column, m");
            let (plane, comment) = match sheet.upright {
                true => ("\"xy\"", "rows along +x, columns along -y"),
                false => ("\"xz\"", "rows along +x, columns along +z; or xy: upright"),
            };
            page.line("plane", plane, comment);
            false
        }
        Source::Chain { size, length } => {
            page.line("generator", "\"chain\"", "vertices on a line; or sheet, or mesh = \"file.obj\"");
            page.line("size", &size.to_string(), "vertices");
            page.line("length", &format!("{length:?}"), "m, along +x");
            true
        }
        Source::Mesh { file, options: load_mesh::Options { pair_triangles, warp, scale, up } } => {
            page.line("mesh", &text(file), "in the folder of this file, or below");
            page.unless("up", up, &"y", "the axis of the mesh file that points up");
            page.unless("pair_triangles", pair_triangles, &false, "join triangles that came from quads");
            page.unless("warp", warp, &"auto", "where the warp of triangles runs");
            page.unless("scale", scale, &1.0, "m per unit of the mesh file");
            false
        }
        Source::Inline { positions, faces, lines, warp } => {
            page.line("positions", &list(positions), "m");
            let faces: Vec<&[u32]> = faces.iter().map(Face::vertices).collect();
            page.line("faces", &list(&faces), "");
            page.line("lines", &list(lines), "");
            page.unless("warp", warp, &"sides", "where the warp of triangles runs");
            false
        }
    };
    match &fabric.mass {
        Mass::Density(density) if rope => page.number("density", *density, "kg/m"),
        Mass::Density(density) => {
            page.number("density", *density, "kg/m²; or, with shear and bending: material = \"cotton\"");
        }
        Mass::PerVertex(masses) => page.line("masses", &list(masses), "kg per vertex"),
    }
    if !rope {
        page.number("shear", fabric.shear, "stiffness of each diagonal of a quad, N/m");
        page.option("stretch", fabric.stretch, "along threads, N/m; without it the fabric does not stretch");
        page.number("bending", fabric.bending, "N·m");
    }
    page.unless("curved", &fabric.curved, &false, "bending holds the rest shape, not a flat one");
    page.number("damping", file.settings.damping, "of internal motion, s");
    start(page, &fabric.start);
    if !fabric.groups.is_empty() {
        page.head("[cloth.groups]", "named sets of vertices");
        for (name, vertices) in &fabric.groups {
            page.line(&text(name), &list(vertices), "");
        }
    }
    for one in &fabric.overrides {
        edge(page, one);
    }
    for Other { select, density, shear, stretch, bending, strain_limit } in &fabric.others {
        page.head("[[cloth.fabrics]]", "faces of another fabric");
        match select {
            Named::Group(name) => page.line("group", &text(name), ""),
            Named::Color(color) => page.line("color", &text(color.as_str()), ""),
        }
        page.number("density", *density, "kg/m²");
        page.number("shear", *shear, "N/m");
        let rigid = fabric.stretch.map(|_| f32::INFINITY);
        page.option("stretch", stretch.or(rigid), "along threads, N/m");
        page.number("bending", *bending, "N·m");
        page.option("strain_limit", *strain_limit, "of its edges, instead of that of [solver]");
    }
}

fn start(page: &mut Page, start: &Start) {
    if *start == Start::default() {
        return;
    }
    page.head("[cloth.start]", "what is done to the rest shape before the first frame");
    if let Some(positions) = &start.positions {
        page.line("positions", &list(positions), "m");
    }
    page.option("span", start.span, "rows are bent without strain until their ends are so far apart, m");
    if let Some(scale) = start.scale {
        page.vector("scale", scale, "along x, y and z");
    }
    if let Some(rotation) = start.rotation {
        page.line("rotation", &turn(rotation), "about the origin");
    }
    if let Some(translation) = start.translation {
        page.vector("translation", translation, "m");
    }
    if let Some(noise) = start.noise {
        page.number("noise", noise.amplitude, "how far coordinates are moved at most, m");
        page.line("seed", &noise.seed.to_string(), "which noise it is");
    }
}

fn edge(page: &mut Page, edge: &EdgeOverride) {
    page.head("[[cloth.overrides]]", "");
    page.line("ends", &list(&edge.ends), "");
    match edge.kind {
        EdgeKind::Inextensible => page.line("kind", "\"inextensible\"", ""),
        EdgeKind::Free => page.line("kind", "\"free\"", ""),
        EdgeKind::Spring { stiffness } => {
            page.line("kind", "\"spring\"", "");
            page.number("stiffness", stiffness, "N/m");
        }
        EdgeKind::Compliant { stiffness } => {
            page.line("kind", "\"compliant\"", "");
            page.number("stiffness", stiffness, "N/m");
        }
        EdgeKind::Rope => page.line("kind", "\"rope\"", ""),
        EdgeKind::Limited { stiffness, min, max } => {
            page.line("kind", "\"limited\"", "");
            page.number("stiffness", stiffness, "between its ends, N/m");
            page.number("min", min, "least length, of the rest length");
            page.number("max", max, "largest length, of the rest length");
        }
    }
    if let Some(rest) = edge.rest {
        page.number("rest", rest, "m");
    }
}

fn pins(page: &mut Page, pins: &Pins, key: &str) {
    page.head(&format!("[[{key}]]"), "");
    match &pins.select {
        Select::At(parts) => match &parts[..] {
            [part] => page.line("at", &text(part), PARTS_COMMENT),
            parts => page.line("at", &list(parts), PARTS_COMMENT),
        },
        Select::Color(color) => page.line("color", &text(color.as_str()), "of vertices of the mesh file"),
        Select::Channel(channel) => page.line("channel", &text(channel.name()), "of the mesh file: weights"),
        Select::Selection(Selection::Indices(indices)) => page.line("indices", &list(indices), ""),
        Select::Selection(Selection::Box { min, max }) => {
            page.line("box", &format!("{{ min = {}, max = {} }}", list(min), list(max)), "m");
        }
        Select::Selection(Selection::Plane { point, normal }) => {
            page.line("plane", &format!("{{ point = {}, normal = {} }}", list(point), list(normal)), "m");
        }
        Select::Selection(Selection::Group(name)) => page.line("group", &text(name), ""),
    }
    match pins.hold {
        Some(Hold::Line { direction }) => page.line("hold", &format!("{{ line = {} }}", list(&direction)), ""),
        Some(Hold::Plane { normal }) => page.line("hold", &format!("{{ plane = {} }}", list(&normal)), ""),
        Some(Hold::Soft { stiffness }) => page.line("hold", &format!("{{ soft = {stiffness:?} }}"), "N/m"),
        Some(Hold::Free) => page.line("hold", "{ weight = 0.0 }", "free"),
        // With an end it is a hold of the script, without one a pin of the mesh.
        Some(Hold::Fixed) | None => {}
    }
    page.option("until", pins.until, "let go after so long, s");
    if let Some(motion) = &pins.motion {
        self::motion(page, &format!("[{key}.motion]"), motion, pins.center);
    }
}

const PARTS_COMMENT: &str = "top is the first row, left the first column";

fn motion(page: &mut Page, head: &str, motion: &Motion, center: Option<[f32; 3]>) {
    page.head(head, "relative to the start; between keys at constant speed");
    if let Some(center) = center {
        page.vector("center", center, "what it turns about, m");
    }
    page.line("repeat", &motion.repeats().to_string(), "");
    let _ = writeln!(page.text, "keys = [");
    for key in motion.keys() {
        let Pose { rotation, translation } = key.pose;
        let _ = write!(page.text, "    {{ time = {:?}, translation = {}", key.time, list(&translation));
        if rotation != Pose::default().rotation {
            let _ = write!(page.text, ", rotation = {}", list(&rotation));
        }
        let _ = writeln!(page.text, " }},");
    }
    let _ = writeln!(page.text, "]");
}

fn solid(page: &mut Page, obstacle: &Obstacle, file: &SceneFile) {
    page.head("[[solids]]", "");
    forms::write(page, &obstacle.form);
    page.vector("translation", obstacle.translation, "m");
    if let Some(rotation) = obstacle.rotation {
        page.line("rotation", &turn(rotation), "or a quaternion [x, y, z, w]");
    }
    page.unless("velocity", &obstacle.velocity, &[0.0; 3], "m/s");
    page.unless("angular_velocity", &obstacle.angular_velocity, &[0.0; 3], "rad/s");
    let Surface { thickness, friction, sliding_friction } = file.surface(obstacle);
    page.number("thickness", thickness, "distance that cloth keeps, m");
    page.number("friction", friction, "static: cloth stays on slopes up to this");
    page.number("sliding_friction", sliding_friction, "kinetic, not above the static one");
    page.unless("restitution", &obstacle.restitution, &0.0, "part of the speed after an impact");
    if let Some(motion) = &obstacle.motion {
        self::motion(page, "[solids.motion]", motion, None);
    }
}

fn world(page: &mut Page, settings: &Settings) {
    page.head("[world]", "");
    page.vector("gravity", settings.gravity, "m/s²");
    page.number("drag", settings.drag, "rate at which still air takes speed, 1/s");
    if let Some(own) = &settings.self_collision {
        page.unless("self_collision", &true, &false, "cloth does not pass through itself");
        page.number("thickness", own.thickness, "distance of two layers, m");
        page.unless(
            "tangles",
            &own.tangles.name(),
            &Tangles::default().name(),
            "cloth that crosses itself at the start",
        );
    }
    if let Some(wind) = &settings.wind {
        page.head("[wind]", "");
        page.vector("velocity", wind.velocity, "m/s");
        page.number("density", wind.density, "of the air, kg/m³");
        page.number("drag_coefficient", wind.drag_coefficient, "of a face across the wind");
        page.number("lift_coefficient", wind.lift_coefficient, "largest at 45°");
        page.number("gust", wind.gust, "amplitude relative to the mean");
        page.vector("gust_wave", wind.gust_wave, "cycles per metre, 1/m");
        page.number("gust_frequency", wind.gust_frequency, "Hz");
    }
}

fn solver(page: &mut Page, settings: &Settings) {
    let default = Settings::default();
    page.head("[solver]", "");
    let (last, others) = Method::NAMES.split_last().unwrap_or((&"", &[]));
    let others = format!("{} or {last}", others.join(", "));
    page.line("method", &text(settings.method.solver().name()), &others);
    page.number("strain_limit", settings.strain_limit, "largest strain at the end of a frame; 0.01 is 1 %");
    page.option("middle_strain", settings.middle_strain, "at the end of the other substeps");
    page.number("stretch_min", settings.stretch_min, "edges may be this part of their rest length; 0: one-sided");
    page.number("stretch_max", settings.stretch_max, "");
    let substeps = match settings.substeps {
        Substeps::Auto => "\"auto\"".to_owned(),
        Substeps::Fixed(count) => count.to_string(),
        Substeps::UpTo(count) => format!("{{ up_to = {count} }}"),
    };
    page.line("substeps", &substeps, "per frame: a number, { up_to = 20 } or \"auto\"");
    let stepping = match settings.stepping {
        Stepping::Euler => "\"euler\"",
        Stepping::Bdf2 => "\"bdf2\"",
    };
    page.line("stepping", stepping, "or \"bdf2\", which keeps more of the motion");
    if let Some(limit) = settings.area_limit {
        page.line("area_limit", &list(&limit), "of triangles, relative to rest");
    }
    page.option("stretch_rate", settings.stretch_rate, "largest change of an edge in a substep, as a part of it");
    if let Some(volume) = settings.volume {
        page.number("volume", volume, "that the closed surface keeps, m³");
    }
    match settings.elasticity {
        Elasticity::Auto => {}
        Elasticity::Explicit => page.line("elasticity", "\"explicit\"", ""),
        Elasticity::Implicit => page.line("elasticity", "\"implicit\"", ""),
        Elasticity::Diagonals => page.line("elasticity", "\"diagonals\"", ""),
    }
    page.unless("contact_rounds", &settings.contact_rounds, &default.contact_rounds, "of projection and collision");
    page.unless("rest_speed", &settings.rest_speed, &default.rest_speed, "below which cloth comes to rest, m/s");
    let (each, budget) = (settings.dispatches_per_submission, settings.dispatch_budget);
    page.unless("dispatches_per_submission", &each, &default.dispatches_per_submission, "at most");
    page.unless("dispatch_budget", &budget, &default.dispatch_budget, "of a frame in somebody else's encoder");
    // A solver of the user's own has no name that a file could say, and no tables.
    let defaults = Method::named(settings.method.solver().name()).unwrap_or_default();
    for (table, default) in settings.method.solver().tables().into_iter().zip(defaults.solver().tables()) {
        let (values, defaults) = (table.list(), default.list());
        let changed = values.iter().zip(&defaults).filter(|(value, default)| value.value != default.value);
        if changed.clone().next().is_some() {
            page.head(&format!("[solver.{}]", table.name()), "");
        }
        for (Listed { name, value, about, .. }, _) in changed {
            match value {
                parameter::Value::Count(count) => page.line(name, &count.to_string(), about),
                parameter::Value::Long(long) => page.line(name, &long.to_string(), about),
                parameter::Value::Number(number) => page.number(name, *number, about),
                parameter::Value::Word(word) => page.line(name, &text(word), about),
                parameter::Value::Unset => {}
            }
        }
    }
}
