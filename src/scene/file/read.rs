//! From TOML to plain values. Ranges that the library checks anyway are left to it; [`super::build`] says where in the
//! file they are.

use std::collections::BTreeMap;

use toml::de::DeTable;

use super::change::{self, Change};
use super::forms::FORMS;
use super::load_mesh::{self, UPS, WARPS};
use super::parts::{Fabric, Named, Obstacle, Other, PARTS, Pins, Select, Sheet, Source, Start, Turn};
use super::table::{Table, Text, Value, suggestion};
use super::{Channel, Color, Folders, Limits, Output, SceneFile};
use crate::cloth::hold::{Hold, Selection};
use crate::cloth::motion::{Key, Motion};
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Substeps;
use crate::error::{Error, Result};
use crate::mesh::{EdgeKind, EdgeOverride, Face, Mass, MeshDescriptor, Weave};
use crate::scene::MOST;
use crate::scene::material::Material;
use crate::scene::noise::Noise;
use crate::solid::Pose;
use crate::solid::{Solid, SolidShape};
use crate::solver::Method;
use crate::stage::elastic::Elasticity;
use crate::stage::integrate::Stepping;
use crate::stage::parameter::{self, Listed, Takes};
use crate::stage::self_collision::{SelfCollision, Tangles};
use crate::stage::wind::Wind;

/// Longest name of a scene, in bytes.
const LONGEST_NAME: usize = 200;
/// Longest name of a file, in bytes.
const LONGEST_PATH: usize = 1000;

/// Reads a whole file.
pub(super) fn scene_file(file: &str, text: &str, limits: Limits, changes: &[Change]) -> Result<SceneFile> {
    let mut source = Text::new(file, text);
    if text.len() as u64 > limits.bytes {
        let problem = format!("the file has {} bytes, but may only have {}", text.len(), limits.bytes);
        return Err(source.error_at(0, "", problem));
    }
    // A table costs a hundred times its text: the headers are counted before anything is made of them.
    let counted =
        [("cloth", limits.cloths), ("cloth.pins", limits.pins), ("pins", limits.pins), ("solids", limits.solids)];
    for (key, most) in counted {
        let is_header = |line: &&str| {
            let name = line.trim_start().strip_prefix("[[").and_then(|rest| rest.trim_start().strip_prefix(key));
            name.is_some_and(|rest| rest.trim_start().starts_with("]]"))
        };
        let mut headers = text.lines().filter(is_header);
        if let Some(header) = headers.nth(most as usize) {
            let count = most as usize + 1 + headers.count();
            let byte = header.as_ptr() as usize - text.as_ptr() as usize;
            return Err(source.error_at(
                byte,
                key,
                format!("`{key}` has {count} entries, but must have at most {most}"),
            ));
        }
    }
    let changed = change::Parsed::new(changes, &mut source);
    let mut document = DeTable::parse(text).map_err(|error| {
        let byte = error.span().map_or(0, |span| span.start);
        source.error_at(byte, "", format!("this is no TOML: {}", error.message().replace('\n', ", ")))
    })?;
    for change in &changed {
        change.apply(document.get_mut(), &source)?;
    }
    source.note(document.get_ref());
    let mut result = {
        let known = ["cloth", "name", "output", "pins", "solids", "solver", "wind", "world"];
        let root = Table::new(&source, document.get_ref(), String::new(), &known)?;
        let mut settings = Settings::default();
        if let Some(value) = root.get("world") {
            let table = value.table(&["drag", "gravity", "self_collision", "tangles", "thickness"])?;
            table.set_vector("gravity", &mut settings.gravity)?;
            table.set("drag", &mut settings.drag)?;
            let mut own = SelfCollision::default();
            table.set("thickness", &mut own.thickness)?;
            let tangles = table.get("tangles").map(|value| value.word(&Tangles::NAMES)).transpose()?;
            own.tangles = tangles.and_then(Tangles::named).unwrap_or_default();
            let on = table.get("self_collision").map(|value| value.boolean()).transpose()?;
            settings.self_collision = on.unwrap_or_default().then_some(own);
        }
        settings.wind = root.get("wind").map(|value| wind(&value)).transpose()?;
        if let Some(value) = root.get("solver") {
            solver(&value, &mut settings)?;
        }
        let cloth = root.need("cloth", "a table that says what cloth there is")?;
        let cloths = match cloth.is_list() {
            true => cloth.list(limits.cloths as usize, "tables: [[cloth]]")?,
            false => vec![cloth.clone()],
        };
        if cloths.is_empty() {
            return Err(cloth.error("is an empty list"));
        }
        let (mut fabrics, mut pins, mut damping) = (Vec::new(), Vec::new(), None);
        for (index, cloth) in cloths.iter().enumerate() {
            let (fabric, own) = fabric(cloth, &limits, &mut damping)?;
            if index > 0 && fabric.start.noise.is_some() {
                let problem = format!("moves every cloth, so it is for `{}` to say", cloths[0].key());
                let key = format!("{}.start.noise", fabric.key);
                return Err(source.error(&key, format!("`{key}` {problem}")));
            }
            for value in &own {
                pins.push(self::pins(value, Some(index))?);
            }
            fabrics.push(fabric);
        }
        for value in &tables(&root, "pins", limits.pins)? {
            pins.push(self::pins(value, None)?);
        }
        if pins.len() > limits.pins as usize {
            let problem = format!("there are {} entries of pins, but may only be {}", pins.len(), limits.pins);
            return Err(source.error("pins", problem));
        }
        let woven = fabrics.iter().find_map(|fabric| fabric.material);
        settings.damping =
            damping.map(|(_, damping)| damping).or(woven.map(|material| material.damping)).unwrap_or(0.0);
        let solids = tables(&root, "solids", limits.solids)?.iter().map(obstacle).collect::<Result<_>>()?;
        let output = root.get("output").map(|value| output(&value)).transpose()?.unwrap_or_default();
        let name = root.get("name").map(|value| name(&value)).transpose()?.unwrap_or_else(|| "scene".to_owned());
        let (text, folders) = (Text::default(), Folders::default());
        SceneFile { text, folders, limits, name, fabrics, pins, solids, settings, output }
    };
    drop(document);
    result.text = source;
    Ok(result)
}

fn name(value: &Value<'_>) -> Result<String> {
    let name = value.string()?;
    // It is shown in terminals.
    if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
        let expected = format!("must have between 1 and {LONGEST_NAME} bytes and no control characters");
        return Err(value.error(expected));
    }
    Ok(name.to_owned())
}

/// A file or folder below the scene's own folder; whether it leads outside by links is for [`super::path`] to see.
pub(super) fn file_name(value: &Value<'_>) -> Result<String> {
    let name = value.string()?;
    if name.len() > LONGEST_PATH || name.chars().any(char::is_control) {
        return Err(value.error(format!("must have at most {LONGEST_PATH} bytes and no control characters")));
    }
    super::path::check(name).map_err(|problem| value.error(problem))?;
    Ok(name.to_owned())
}

/// The tables of a list like `[[solids]]`.
fn tables<'a>(root: &Table<'a>, key: &str, most: u32) -> Result<Vec<Value<'a>>> {
    root.get(key).map_or_else(|| Ok(Vec::new()), |value| value.list(most as usize, "a list of tables: [[…]]"))
}

/// A cloth and its own pins. `damping` is that of a cloth before, and its place: there is one for all.
fn fabric<'a>(
    value: &Value<'a>,
    limits: &Limits,
    damping: &mut Option<(String, f32)>,
) -> Result<(Fabric, Vec<Value<'a>>)> {
    const COMMON: [&str; 13] = [
        "bending",
        "curved",
        "damping",
        "density",
        "fabrics",
        "groups",
        "masses",
        "material",
        "overrides",
        "pins",
        "shear",
        "start",
        "stretch",
    ];
    let with = |own: &[&'static str]| -> Vec<&'static str> { COMMON.iter().chain(own).copied().collect() };
    let every = with(&[
        "faces",
        "generator",
        "height",
        "length",
        "lines",
        "mesh",
        "pair_triangles",
        "plane",
        "positions",
        "scale",
        "size",
        "up",
        "warp",
        "width",
    ]);
    let table = value.table(&every)?;
    let given: Vec<&str> = ["generator", "mesh", "positions"].into_iter().filter(|key| table.has(key)).collect();
    let [source] = given[..] else {
        let problem = format!("`{}` needs one of the keys generator, mesh and positions", value.key());
        return Err(given.get(1).map_or_else(|| table.complain(&*problem), |second| table.error(second, &*problem)));
    };
    // Now the keys of the other sources are unknown.
    let (table, source) = match source {
        "mesh" => {
            let table = value.table(&with(&["mesh", "pair_triangles", "scale", "up", "warp"]))?;
            let mut pair_triangles = false;
            table.set_bool("pair_triangles", &mut pair_triangles)?;
            let file = file_name(&table.need("mesh", "a file")?)?;
            let scale = scale(&table)?;
            let warp = table.get("warp").map_or(Ok("auto"), |value| value.word(WARPS))?;
            let options = load_mesh::Options { pair_triangles, warp, scale, up: up(&table)? };
            (table, Source::Mesh { file, options })
        }
        "positions" => {
            let table = value.table(&with(&["faces", "lines", "positions", "warp"]))?;
            let source = inline(&table, limits)?;
            (table, source)
        }
        _ => match table.need("generator", "sheet or chain")?.word(&["chain", "sheet"])? {
            "chain" => {
                let table = value.table(&with(&["generator", "length", "size"]))?;
                let most = MOST.min(limits.vertices);
                let size = table.need("size", "how many vertices there are")?.count(2..=most)?;
                let length = side(&table, "length")?;
                (table, Source::Chain { size, length })
            }
            _ => {
                let table = value.table(&with(&["generator", "height", "plane", "size", "width"]))?;
                let source = sheet(&table, limits)?;
                (table, source)
            }
        },
    };
    let chain = matches!(source, Source::Chain { .. });
    let MeshDescriptor { mut shear, mut bending, curved: mut bent, .. } = MeshDescriptor::default();
    // kg/m of the built-in chains, kg/m² of the default fabric.
    let mut density = if chain { 0.1 } else { 0.2 };
    let fabric = table.get("material").map(|value| material(&value)).transpose()?;
    let stretch = table.get("stretch").map(|value| stretch(&value)).transpose()?.flatten();
    if let (true, Some(value)) = (chain, table.get("stretch")) {
        return Err(value.error("is of a fabric, but a chain has none: its edges may be `compliant`"));
    }
    if let (true, Some(value)) = (chain, table.get("material")) {
        return Err(value.error("is a fabric, but a chain has none: it has a density in kg/m"));
    }
    if let Some(material) = fabric {
        (density, shear, bending) = (material.density, material.shear, material.bending);
    }
    table.set("density", &mut density)?;
    table.set("shear", &mut shear)?;
    table.set("bending", &mut bending)?;
    table.set_bool("curved", &mut bent)?;
    if let Some(value) = table.get("damping") {
        let own = value.number()?;
        match damping {
            Some((key, other)) if *other != own => {
                return Err(value.error(format!("is {own}, but `{key}` is {other}, and all cloths have one")));
            }
            _ => *damping = Some((value.key().to_owned(), own)),
        }
    }
    let mass = match table.get("masses") {
        Some(value) if table.has("density") => {
            return Err(value.error(format!("says what `{}` says: one of them is enough", table.path("density"))));
        }
        Some(value) => {
            let masses = value.list(limits.vertices as usize, "a list of numbers")?;
            Mass::PerVertex(masses.iter().map(Value::number).collect::<Result<_>>()?)
        }
        None => Mass::Density(density),
    };
    let start = table.get("start").map(|value| start(&value, &source, limits)).transpose()?.unwrap_or_default();
    let groups = table.get("groups").map(|value| groups(&value)).transpose()?.unwrap_or_default();
    let overrides = tables(&table, "overrides", limits.vertices)?.iter().map(edge).collect::<Result<_>>()?;
    let plain = [density, shear, bending];
    let others = tables(&table, "fabrics", limits.solids)?;
    let others = others.iter().map(|value| other(value, plain, stretch)).collect::<Result<_>>()?;
    let pins = tables(&table, "pins", limits.pins)?;
    let (key, material) = (value.key().to_owned(), fabric);
    Ok((
        Fabric { key, source, mass, material, shear, stretch, bending, curved: bent, start, groups, overrides, others },
        pins,
    ))
}

/// Faces of another fabric than density, shear and bending of the rest.
fn other(value: &Value<'_>, [mut density, mut shear, mut bending]: [f32; 3], plain: Option<f32>) -> Result<Other> {
    let table =
        value.table(&["bending", "color", "density", "group", "material", "shear", "strain_limit", "stretch"])?;
    let select = match (table.get("group"), table.get("color")) {
        (Some(group), None) => Named::Group(group.string()?.to_owned()),
        (None, Some(value)) => Named::Color(color(&value)?),
        _ => return Err(table.complain(format!("`{}` needs one of the keys color and group", table.name()))),
    };
    if let Some(value) = table.get("material") {
        let material = material(&value)?;
        (density, shear, bending) = (material.density, material.shear, material.bending);
    }
    table.set("density", &mut density)?;
    table.set("shear", &mut shear)?;
    table.set("bending", &mut bending)?;
    let strain_limit = table.get("strain_limit").map(|value| value.number()).transpose()?;
    let stretch = table.get("stretch").map_or(Ok(plain), |value| stretch(&value))?;
    Ok(Other { select, density, shear, stretch, bending, strain_limit })
}

/// How a fabric stretches; infinity for not at all.
fn stretch(value: &Value<'_>) -> Result<Option<f32>> {
    value.number_or_infinity().map(|stretch| Some(stretch).filter(|stretch| *stretch != f32::INFINITY))
}

fn color(value: &Value<'_>) -> Result<Color> {
    value.string()?.parse().map_err(|problem| value.error(format!("is none: {problem}")))
}

/// The axis of a mesh file that points up.
pub(super) fn up(table: &Table<'_>) -> Result<&'static str> {
    table.get("up").map_or(Ok("y"), |value| value.word(UPS))
}

fn material(value: &Value<'_>) -> Result<Material> {
    let name = value.word(&Material::ALL.map(|material| material.name))?;
    Material::named(name).ok_or_else(|| value.error("is not known"))
}

/// A length above 0 \[m\]; 1 if the file does not say.
fn side(table: &Table<'_>, key: &str) -> Result<f64> {
    let valid = |length: f64| (1e-6..=1e6).contains(&length);
    table.get(key).map_or(Ok(1.0), |value| value.precise_in(valid, "in [1e-6, 1e6] m"))
}

/// Metres per unit of a mesh file.
pub(super) fn scale(table: &Table<'_>) -> Result<f32> {
    // The importer has the same range; here its error has a place.
    side(table, "scale")?;
    table.get("scale").map_or(Ok(1.0), |value| value.number())
}

fn sheet(table: &Table<'_>, limits: &Limits) -> Result<Source> {
    let value = table.need("size", "vertices along a row and along a column, or one number for both")?;
    let size = if value.is_list() {
        let list = value.list(2, "one or two whole numbers")?;
        let [columns, rows] = &list[..] else { return Err(value.error("must be one or two whole numbers")) };
        [columns.count(2..=MOST)?, rows.count(2..=MOST)?]
    } else {
        [value.count(2..=MOST)?; 2]
    };
    let vertices = u64::from(size[0]) * u64::from(size[1]);
    if vertices > limits.vertices.into() {
        let most = limits.vertices;
        return Err(value.error(format!("asks for {vertices} vertices, but a scene file may only have {most}")));
    }
    let sides = [side(table, "width")?, side(table, "height")?];
    let upright = table.get("plane").map_or(Ok("xz"), |value| value.word(&["xy", "xz"]))? == "xy";
    Ok(Source::Sheet(Sheet { size, sides, upright }))
}

fn points(value: &Value<'_>, limits: &Limits) -> Result<Vec<[f32; 3]>> {
    value.list(limits.vertices as usize, "a list of points")?.iter().map(Value::numbers).collect()
}

fn inline(table: &Table<'_>, limits: &Limits) -> Result<Source> {
    let positions = points(&table.need("positions", "a list of points")?, limits)?;
    let corners = |key: &str| -> Result<Vec<(Value<'_>, Vec<u32>)>> {
        let Some(value) = table.get(key) else { return Ok(Vec::new()) };
        let list = value.list(4 * limits.vertices as usize, "a list of lists of vertices")?;
        list.into_iter().map(|entry| entry.vertices().map(|vertices| (entry, vertices))).collect()
    };
    let face = |(entry, vertices): (Value<'_>, Vec<u32>)| match vertices[..] {
        [a, b, c] => Ok(Face::from([a, b, c])),
        [a, b, c, d] => Ok(Face::from([a, b, c, d])),
        _ => Err(entry.error(format!("has {} vertices, but must have 3 or 4", vertices.len()))),
    };
    let line = |(entry, vertices): (Value<'_>, Vec<u32>)| match vertices[..] {
        [a, b] => Ok([a, b]),
        _ => Err(entry.error(format!("has {} vertices, but must have 2", vertices.len()))),
    };
    let faces = corners("faces")?.into_iter().map(face).collect::<Result<_>>()?;
    let lines = corners("lines")?.into_iter().map(line).collect::<Result<_>>()?;
    let known: Vec<&'static str> = std::iter::once("off").chain(Weave::NAMES).collect();
    let warp = table.get("warp").map_or(Ok("sides"), |value| value.word(&known))?;
    Ok(Source::Inline { positions, faces, lines, warp })
}

fn start(value: &Value<'_>, source: &Source, limits: &Limits) -> Result<Start> {
    let table = value.table(&["noise", "positions", "rotation", "scale", "seed", "span", "translation"])?;
    let span = match table.get("span") {
        None => None,
        Some(value) => {
            let (columns, length) = match source {
                Source::Sheet(sheet) => (sheet.size[0], sheet.sides[0]),
                Source::Chain { size, length } => (*size, *length),
                Source::Mesh { .. } | Source::Inline { .. } => {
                    return Err(value.error("bends the rows of a generator, and there is none"));
                }
            };
            if columns < 3 {
                return Err(value.error("needs rows of at least 3 vertices: one edge cannot bend"));
            }
            let valid = |span: f64| span > 0.0 && span < length;
            Some(value.precise_in(valid, &format!("above 0 and below {length} m, the length of a row"))?)
        }
    };
    let vector = |key: &str| table.get(key).map(|value| value.numbers()).transpose();
    let rotation = table.get("rotation").map(|value| turn(&value)).transpose()?;
    let positions = table.get("positions").map(|value| points(&value, limits)).transpose()?;
    let (scale, translation) = (vector("scale")?, vector("translation")?);
    Ok(Start { positions, span, scale, rotation, translation, noise: noise(&table)? })
}

fn noise(table: &Table<'_>) -> Result<Option<Noise>> {
    let Some(amplitude) = table.get("noise") else {
        return match table.get("seed") {
            Some(value) => Err(value.error(format!("is the seed of `{}`, which is missing", table.path("noise")))),
            None => Ok(None),
        };
    };
    let mut noise = Noise { amplitude: amplitude.number()?, ..Noise::default() };
    if let Some(value) = table.get("seed") {
        noise.seed = value.long()?;
    }
    Ok(Some(noise))
}

fn turn(value: &Value<'_>) -> Result<Turn> {
    if !value.is_table() {
        let quaternion: [f32; 4] = value.numbers()?;
        let length = quaternion.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        if (length - 1.0).abs() > 0.01 {
            return Err(value.error(format!("is a quaternion of length {length}, but must be of unit length")));
        }
        return Ok(Turn::Quaternion(quaternion));
    }
    let table = value.table(&["axis", "degrees"])?;
    let value = table.need("axis", "what it turns about")?;
    let axis: [f32; 3] = value.numbers()?;
    if axis.iter().all(|x| *x == 0.0) {
        return Err(value.error("has no direction"));
    }
    let degrees = table.need("degrees", "how far it turns")?;
    let degrees = degrees.precise_in(|degrees| degrees.abs() <= 36000.0, "at most 100 turns")?;
    Ok(Turn::Axis { axis, degrees })
}

fn groups(value: &Value<'_>) -> Result<BTreeMap<String, Vec<u32>>> {
    let group = |(name, value): (&str, Value<'_>)| Ok((name.to_owned(), value.vertices()?));
    value.named()?.into_iter().map(group).collect()
}

fn edge(value: &Value<'_>) -> Result<EdgeOverride> {
    let table = value.table(&["ends", "kind", "max", "min", "rest", "stiffness"])?;
    let ends = table.need("ends", "the two vertices of an edge")?;
    let vertices = ends.vertices()?;
    let [a, b] = vertices[..] else { return Err(ends.error("must be two vertices")) };
    const KINDS: [&str; 6] = ["compliant", "free", "inextensible", "limited", "rope", "spring"];
    let stiffness = || table.need("stiffness", "that of the edge, in N/m")?.number();
    let kind = match table.need("kind", "what the edge becomes")?.word(&KINDS)? {
        "free" => EdgeKind::Free,
        "spring" => EdgeKind::Spring { stiffness: stiffness()? },
        "compliant" => EdgeKind::Compliant { stiffness: stiffness()? },
        "rope" => EdgeKind::Rope,
        "limited" => {
            let end = |name: &str| table.need(name, "where the edge ends, as a part of its rest length")?.number();
            EdgeKind::Limited { stiffness: stiffness()?, min: end("min")?, max: end("max")? }
        }
        _ => EdgeKind::Inextensible,
    };
    let stiff = matches!(kind, EdgeKind::Spring { .. } | EdgeKind::Compliant { .. } | EdgeKind::Limited { .. });
    if table.has("stiffness") && !stiff {
        let problem = format!("`{}` is for springs, compliant and limited edges", table.path("stiffness"));
        return Err(table.error("stiffness", problem));
    }
    for name in ["min", "max"] {
        if table.has(name) && !matches!(kind, EdgeKind::Limited { .. }) {
            return Err(table.error(name, format!("`{}` is for limited edges", table.path(name))));
        }
    }
    let rest = table.get("rest").map(|value| value.number()).transpose()?;
    Ok(EdgeOverride { ends: [a, b], kind, rest })
}

/// Pins of one cloth, or of all.
fn pins(value: &Value<'_>, cloth: Option<usize>) -> Result<Pins> {
    const WAYS: [&str; 7] = ["at", "box", "channel", "color", "group", "indices", "plane"];
    let table =
        value.table(&["at", "box", "channel", "color", "group", "hold", "indices", "motion", "plane", "until"])?;
    let ways: Vec<&str> = WAYS.into_iter().filter(|key| table.has(key)).collect();
    let [way] = ways[..] else {
        let problem =
            format!("`{}` needs one of the keys at, box, channel, color, group, indices and plane", table.name());
        return Err(ways.get(1).map_or_else(|| table.complain(&*problem), |key| table.error(key, &*problem)));
    };
    let chosen = table.need(way, "which vertices")?;
    let select = match way {
        "at" if chosen.is_string() => Select::At(vec![chosen.word(&PARTS)?]),
        "at" => {
            let parts = chosen.list(PARTS.len(), "a name of a part of the sheet, or a list of such")?;
            Select::At(parts.iter().map(|part| part.word(&PARTS)).collect::<Result<_>>()?)
        }
        "box" => {
            let table = chosen.table(&["max", "min"])?;
            let min = table.need("min", "the lowest corner")?.numbers()?;
            let max = table.need("max", "the highest corner")?.numbers()?;
            Select::Selection(Selection::Box { min, max })
        }
        "plane" => {
            let table = chosen.table(&["normal", "point"])?;
            let point = table.need("point", "a point of the plane")?.numbers()?;
            let normal = table.need("normal", "the side of the plane that is chosen")?.numbers()?;
            Select::Selection(Selection::Plane { point, normal })
        }
        "color" => Select::Color(color(&chosen)?),
        "channel" => {
            if let Some(value) = table.get("hold") {
                return Err(value.error("cannot be said beside a channel, whose colors say how vertices are held"));
            }
            let name = chosen.word(&Channel::NAMES)?;
            Select::Channel(Channel::named(name).ok_or_else(|| chosen.error("is not known"))?)
        }
        "group" => Select::Selection(Selection::Group(chosen.string()?.to_owned())),
        _ => Select::Selection(Selection::Indices(chosen.vertices()?)),
    };
    let mut hold = table.get("hold").map_or(Ok(None), |value| hold(&value))?;
    let later = |time: f64| time > 0.0 && time <= 1e6;
    let until = table.get("until").map(|value| value.precise_in(later, "above 0 and at most 1e6 s")).transpose()?;
    if until.is_some() && way != "channel" {
        // A pin of the mesh is for good.
        hold = hold.or(Some(Hold::Fixed));
    }
    let (motion, center) = match table.get("motion") {
        Some(value) => {
            let (motion, center) = motion(&value, true)?;
            (Some(motion), center)
        }
        None => (None, None),
    };
    Ok(Pins { key: value.key().to_owned(), cloth, select, hold, until, motion, center })
}

/// What a hold may be.
const HOLDS: &str = "must be \"fixed\", or have one of the keys line, plane, soft and weight";

fn hold(value: &Value<'_>) -> Result<Option<Hold>> {
    if value.is_string() {
        value.word(&["fixed"])?;
        return Ok(None);
    }
    let table = value.table(&["line", "plane", "soft", "weight"])?;
    if let Some(weight) = table.get("weight").filter(|_| !["line", "plane", "soft"].iter().any(|key| table.has(key))) {
        let hold = Hold::weighted(weight.number()?).map_err(|_| weight.error("must be in [0, 1]"))?;
        return Ok(Some(hold).filter(|hold| *hold != Hold::Fixed));
    }
    if let Some(soft) = table.get("soft").filter(|_| !["line", "plane", "weight"].iter().any(|key| table.has(key))) {
        let stiffness = soft.number()?;
        let hold = Hold::Soft { stiffness };
        return hold.row().map(|_| Some(hold)).map_err(|_| soft.error("must be above 0 and at most 1e12 N/m"));
    }
    let vector = |key: &str| table.get(key).map(|value| value.numbers::<3>().map(|vector| (value, vector))).transpose();
    let (hold, value, vector) = match (vector("line")?, vector("plane")?) {
        _ if table.has("soft") || table.has("weight") => return Err(value.error(HOLDS)),
        (Some((value, direction)), None) => (Hold::Line { direction }, value, direction),
        (None, Some((value, normal))) => (Hold::Plane { normal }, value, normal),
        _ => return Err(value.error(HOLDS)),
    };
    if vector.iter().all(|x| *x == 0.0) {
        return Err(value.error("has no direction"));
    }
    Ok(Some(hold))
}

/// A motion, and what it turns about where that can be said.
fn motion(value: &Value<'_>, centered: bool) -> Result<(Motion, Option<[f32; 3]>)> {
    let known: &[&str] = if centered { &["center", "keys", "repeat"] } else { &["keys", "repeat"] };
    let table = value.table(known)?;
    let entries = table.need("keys", "a list of { time = …, translation = […], rotation = … }")?;
    let list = entries.list(usize::MAX, "a list of keys")?;
    // Where the last key that was given as an angle has turned to; slerp would silently take the shorter way.
    let mut before: Option<([f32; 3], f64)> = None;
    let mut keys = Vec::with_capacity(list.len().min(1 << 16));
    for entry in &list {
        let table = entry.table(&["rotation", "time", "translation"])?;
        let time = table.need("time", "in seconds")?.precise()?;
        let mut pose = Pose::default();
        table.set_vector("translation", &mut pose.translation)?;
        let mut angle = Some(([0.0; 3], 0.0));
        if let Some(value) = table.get("rotation") {
            let turn = turn(&value)?;
            pose.rotation = turn.quaternion();
            angle = None;
            if let Turn::Axis { axis, degrees } = turn {
                let (axis_before, degrees_before) = before.unwrap_or_default();
                let from = if axis_before == axis || degrees_before == 0.0 { degrees_before } else { 0.0 };
                if (degrees - from).abs() > 180.0 {
                    let problem = "turns by more than 180° from the key before; put another key between them";
                    return Err(value.error(problem));
                }
                angle = Some((axis, degrees));
            }
        }
        before = angle;
        keys.push(Key { time, pose });
    }
    let mut repeat = false;
    table.set_bool("repeat", &mut repeat)?;
    let center = table.get("center").map(|value| value.numbers()).transpose()?;
    let motion = Motion::new(keys, repeat).map_err(|error| match &error {
        Error::OutOfRange { field, index: Some(index), value, expected } => {
            let entry = list.get(*index).unwrap_or(&entries);
            match field.strip_prefix("motion.") {
                Some("keys") => entry.error(format!("is {value} away from the start, but must be {expected}")),
                Some(part) => entry.error(format!("has a {part} of {value}, but it must be {expected}")),
                None => entry.error(error),
            }
        }
        Error::NotFinite { index, .. } => {
            list.get(*index).unwrap_or(&entries).error("has a translation that is not within 1e6 m")
        }
        _ => entries.error("has no keys"),
    })?;
    Ok((motion, center))
}

fn obstacle(value: &Value<'_>) -> Result<Obstacle> {
    const COMMON: [&str; 10] = [
        "angular_velocity",
        "friction",
        "motion",
        "restitution",
        "rotation",
        "shape",
        "sliding_friction",
        "thickness",
        "translation",
        "velocity",
    ];
    let known = |own: &[&'static str]| -> Vec<&'static str> { COMMON.iter().chain(own).copied().collect() };
    let every: Vec<&str> = FORMS.iter().flat_map(|form| form.keys.iter().copied()).collect();
    let shape = value.table(&known(&every))?.need("shape", "what solid it is")?;
    let word = shape.word(&FORMS.map(|form| form.word))?;
    let spelling = FORMS.into_iter().find(|form| form.word == word);
    let spelling = spelling.ok_or_else(|| shape.error("is not known"))?;
    let table = value.table(&known(spelling.keys))?;
    let form = (spelling.read)(&table)?;
    let Solid { mut restitution, mut velocity, mut angular_velocity, .. } = Solid::new(SolidShape::Plane);
    let number = |key: &str| table.get(key).map(|value| value.number()).transpose();
    let (thickness, friction) = (number("thickness")?, number("friction")?);
    let sliding_friction = number("sliding_friction")?;
    table.set("restitution", &mut restitution)?;
    table.set_vector("velocity", &mut velocity)?;
    table.set_vector("angular_velocity", &mut angular_velocity)?;
    let mut translation = [0.0; 3];
    table.set_vector("translation", &mut translation)?;
    let rotation = table.get("rotation").map(|value| turn(&value)).transpose()?;
    let motion = table.get("motion").map(|value| motion(&value, false).map(|motion| motion.0)).transpose()?;
    for key in ["velocity", "angular_velocity"] {
        if motion.is_some() && table.has(key) {
            let path = table.path(key);
            return Err(table.error(key, format!("`{path}` cannot be said beside a motion, which has its own speed")));
        }
    }
    Ok(Obstacle {
        form,
        translation,
        rotation,
        velocity,
        angular_velocity,
        thickness,
        friction,
        sliding_friction,
        restitution,
        motion,
    })
}

fn wind(value: &Value<'_>) -> Result<Wind> {
    let known = ["density", "drag_coefficient", "gust", "gust_frequency", "gust_wave", "lift_coefficient", "velocity"];
    let table = value.table(&known)?;
    let mut wind = Wind::default();
    table.set_vector("velocity", &mut wind.velocity)?;
    table.set("density", &mut wind.density)?;
    table.set("drag_coefficient", &mut wind.drag_coefficient)?;
    table.set("lift_coefficient", &mut wind.lift_coefficient)?;
    table.set("gust", &mut wind.gust)?;
    table.set_vector("gust_wave", &mut wind.gust_wave)?;
    table.set("gust_frequency", &mut wind.gust_frequency)?;
    Ok(wind)
}

/// Tables of solvers' parameters, each once.
fn solver_tables() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for method in Method::all() {
        names.extend(method.solver().tables().iter().map(|table| table.name()));
    }
    names.sort_unstable();
    names.dedup();
    names
}

fn solver(value: &Value<'_>, settings: &mut Settings) -> Result<()> {
    let own = [
        "area_limit",
        "contact_rounds",
        "dispatch_budget",
        "dispatches_per_submission",
        "elasticity",
        "method",
        "middle_strain",
        "rest_speed",
        "stepping",
        "strain_limit",
        "stretch_max",
        "stretch_min",
        "stretch_rate",
        "substeps",
        "volume",
    ];
    let known: Vec<&str> = own.into_iter().chain(solver_tables()).collect();
    let table = value.table(&known)?;
    table.set("strain_limit", &mut settings.strain_limit)?;
    settings.middle_strain = table.get("middle_strain").map(|value| value.number()).transpose()?;
    table.set("stretch_min", &mut settings.stretch_min)?;
    table.set("stretch_max", &mut settings.stretch_max)?;
    settings.stretch_rate = table.get("stretch_rate").map(|value| value.number()).transpose()?;
    settings.area_limit = table.get("area_limit").map(|value| value.numbers()).transpose()?;
    settings.volume = table.get("volume").map(|value| value.number()).transpose()?;
    table.set_count("contact_rounds", &mut settings.contact_rounds)?;
    table.set("rest_speed", &mut settings.rest_speed)?;
    table.set_count("dispatches_per_submission", &mut settings.dispatches_per_submission)?;
    if let Some(value) = table.get("dispatch_budget") {
        settings.dispatch_budget = value.long()?;
    }
    if let Some(value) = table.get("substeps") {
        settings.substeps = substeps(&value)?;
    }
    if let Some(value) = table.get("stepping") {
        settings.stepping = match value.word(&["bdf2", "euler"])? {
            "bdf2" => Stepping::Bdf2,
            _ => Stepping::Euler,
        };
    }
    if let Some(value) = table.get("elasticity") {
        settings.elasticity = match value.word(&["auto", "diagonals", "explicit", "implicit"])? {
            "diagonals" => Elasticity::Diagonals,
            "explicit" => Elasticity::Explicit,
            "implicit" => Elasticity::Implicit,
            _ => Elasticity::Auto,
        };
    }
    settings.method = method(&table)?;
    Ok(())
}

fn substeps(value: &Value<'_>) -> Result<Substeps> {
    if value.is_string() {
        value.word(&["auto"])?;
        return Ok(Substeps::Auto);
    }
    if value.is_table() {
        let count = value.table(&["up_to"])?.need("up_to", "the largest number")?;
        return Ok(Substeps::UpTo(count.count(0..=u32::MAX)?));
    }
    Ok(Substeps::Fixed(value.count(0..=u32::MAX)?))
}

fn method(table: &Table<'_>) -> Result<Method> {
    let name = table.get("method").map_or(Ok("auto"), |value| value.word(&Method::NAMES))?;
    let unknown = || table.error("method", format!("there is no solver {name}"));
    let mut method = Method::named(name).ok_or_else(unknown)?;
    let read: Vec<&str> = method.solver().tables().iter().map(|table| table.name()).collect();
    if let Some(key) = solver_tables().into_iter().find(|key| table.has(key) && !read.contains(key)) {
        let path = table.path(key);
        let problem = format!("`{path}` is not for the method {name}; {}", suggestion(key, &read));
        return Err(table.error(key, problem));
    }
    for parameters in method.tables_mut() {
        let Some(value) = table.get(parameters.name()) else { continue };
        let listed = parameters.list();
        let mut known: Vec<&str> = listed.iter().map(|listed| listed.name).collect();
        known.sort_unstable();
        let own = value.table(&known)?;
        for Listed { name, takes, .. } in listed {
            let Some(value) = own.get(name) else { continue };
            let value = match takes {
                Takes::Count => parameter::Value::Count(value.count(0..=u32::MAX)?),
                Takes::Long => parameter::Value::Long(value.long()?),
                Takes::Number => parameter::Value::Number(value.number()?),
                Takes::NumberOrInfinity => parameter::Value::Number(value.number_or_infinity()?),
                Takes::Word(words) => parameter::Value::Word(value.word(words)?),
            };
            parameters.set(name, value);
        }
    }
    Ok(method)
}

fn output(value: &Value<'_>) -> Result<Output> {
    let table = value.table(&["export", "fps", "out", "render", "seconds"])?;
    let fps = |value: Value<'_>| value.precise_in(Output::is_rate, Output::RATES);
    let seconds = |value: Value<'_>| value.precise_in(Output::is_time, Output::TIMES);
    let file = |key: &str| table.get(key).map(|value| file_name(&value)).transpose();
    let export = match table.get("export") {
        Some(value) => value.list(100, "a list of files")?.iter().map(file_name).collect::<Result<_>>()?,
        None => Vec::new(),
    };
    Ok(Output {
        fps: table.get("fps").map(fps).transpose()?,
        seconds: table.get("seconds").map(seconds).transpose()?,
        out: file("out")?,
        export,
        render: file("render")?,
    })
}
