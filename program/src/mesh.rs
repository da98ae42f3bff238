//! `taut run --mesh`: somebody's own mesh instead of a scene.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};
use taut::io::import::{self, DroppedFace, ImportReport, Imported, RenderMesh, SCALES, Warp};
use taut::scene::file::{Channel, Color, ImportedCloth};
use taut::scene::{Material, PinGroup};
use taut::{Face, Hold, Mass, Mesh, MeshQuality, Scene};

use crate::output::count;
use crate::world::WorldOptions;

/// Options of `taut run` for a mesh.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MeshOptions {
    /// Simulate this mesh instead of a scene: .obj, .ply or .glb, with +Y up or as --up says; its shape at rest is
    /// where it starts
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scene", "size"])]
    pub(crate) mesh: Option<PathBuf>,

    /// Join triangles of the mesh to quads where that makes good ones
    #[arg(long, requires = "mesh")]
    pair_triangles: bool,

    /// Where the warp of triangles runs: along the first texture coordinate (uv), as most of their sides do (sides),
    /// along an axis, or nowhere (off: then they lock); auto is uv where the mesh has a texture, else sides
    #[arg(long, value_name = "WARP", requires = "mesh", value_parser = warp(), default_value = "auto")]
    warp: Warp,

    /// Metres per unit of the mesh, and of those of --solid
    #[arg(long, value_name = "M", requires = "mesh", value_parser = scale, allow_negative_numbers = true)]
    scale: Option<f32>,

    /// Hold vertices of the mesh where they are; repeatable. index:0,5,9-12 as the file counts them, from 0;
    /// box:X,Y,Z,X,Y,Z for two corners in m; group:NAME; color:RRGGBB or color:RRGGBB~8 for ±8 of 255 per channel. With
    /// @W at the end they hang on springs instead, of 10 N/m · W/(1 − W), from free (@0) to pinned (@1); channel:red,
    /// green, blue or alpha takes each vertex's own weight from its color
    #[arg(long = "pin", value_name = "WHICH", requires = "mesh", value_parser = pin)]
    pins: Vec<Pin>,
}

/// Some vertices, and the words that asked for them.
#[derive(Clone, Debug, PartialEq)]
struct Pin {
    text: String,
    which: Which,
    /// From 0, free, to 1, pinned.
    weight: f32,
}

#[derive(Clone, Debug, PartialEq)]
enum Which {
    Indices(Vec<RangeInclusive<usize>>),
    Box { min: [f32; 3], max: [f32; 3] },
    Group(String),
    Color(Color),
    Channel(Channel),
}

/// What meshes have besides the scene that was made of them.
#[derive(Debug)]
pub(crate) struct Origin {
    /// At least one.
    parts: Vec<Part>,
    /// What is drawn where all of the cloth is from meshes with texture coordinates; else empty.
    pub(crate) render: RenderMesh,
}

/// What was found in one file.
#[derive(Debug)]
struct Part {
    file: String,
    report: ImportReport,
    quality: MeshQuality,
    pinned: usize,
}

impl MeshOptions {
    /// The scene of the mesh that was asked for, if one was.
    pub(crate) fn scene(&self, world: &WorldOptions) -> Result<Option<(Scene, Origin)>> {
        let Some(file) = &self.mesh else { return Ok(None) };
        let options = import::Options {
            pair_triangles: self.pair_triangles,
            warp: self.warp,
            scale: self.scale(),
            up: world.up(),
            ..Default::default()
        };
        let mut imported = import::read(file, &options)?;
        // Where several options have a vertex, the largest weight holds it.
        let mut weights: BTreeMap<u32, f32> = BTreeMap::new();
        for pin in &self.pins {
            let chosen = pin.weights(&imported).with_context(|| format!("--pin {}", pin.text))?;
            ensure!(chosen.iter().any(|(_, vertices)| !vertices.is_empty()), "--pin {} holds no vertex", pin.text);
            for (weight, vertex) in chosen.iter().flat_map(|(weight, all)| all.iter().map(move |one| (*weight, *one))) {
                let most = weights.entry(vertex).or_default();
                *most = most.max(weight);
            }
        }
        weights.retain(|_, weight| *weight > 0.0);
        let pinned = weights.len();
        let hard = weights.iter().filter(|(_, weight)| **weight == 1.0);
        imported.descriptor.pins = hard.map(|(vertex, _)| *vertex).collect();
        // By the bits of their weights, which are in the order of the numbers.
        let mut soft: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (vertex, weight) in weights.iter().filter(|(_, weight)| **weight < 1.0) {
            soft.entry(weight.to_bits()).or_default().push(*vertex);
        }
        let material = world.material();
        if let Some(Material { density, shear, bending, .. }) = material {
            imported.descriptor.mass = Mass::Density(density);
            (imported.descriptor.shear, imported.descriptor.bending) = (shear, bending);
        }
        let mesh = Mesh::new(imported.descriptor)?;
        let start = mesh.positions().to_vec();
        let name = file.file_name().map_or_else(|| "mesh".into(), |name| name.to_string_lossy().into_owned());
        let (report, quality, render) = (imported.report, mesh.quality(), imported.render);
        let part = Part { file: file.display().to_string(), report, quality, pinned };
        let mut scene = Scene::new(name, mesh, start);
        for (weight, vertices) in soft {
            let mut group = PinGroup::new(&vertices, &scene.start)?;
            group.hold = Some(Hold::weighted(f32::from_bits(weight))?).filter(|hold| *hold != Hold::Free);
            scene.script.pins.extend(group.hold.is_some().then_some(group));
        }
        scene.settings.damping = material.map_or(scene.settings.damping, |material| material.damping);
        Ok(Some((scene, Origin { parts: vec![part], render })))
    }

    /// Metres per unit of mesh files.
    pub(crate) fn scale(&self) -> f32 {
        self.scale.unwrap_or(1.0)
    }
}

impl Pin {
    /// The vertices of each weight.
    fn weights(&self, imported: &Imported) -> Result<Vec<(f32, Vec<u32>)>> {
        let Which::Channel(channel) = self.which else { return Ok(vec![(self.weight, self.of(imported)?)]) };
        Ok(channel.weights(imported.colors.as_ref().context(COLORLESS)?))
    }

    fn of(&self, imported: &Imported) -> Result<Vec<u32>> {
        Ok(match &self.which {
            Which::Indices(ranges) => {
                let total = imported.particles.len();
                let mut chosen = Vec::new();
                for range in ranges {
                    let last = *range.end();
                    ensure!(last < total, "there is no vertex {last}: the file has {total}, counted from 0");
                    for vertex in range.clone() {
                        let particle = imported.particles[vertex];
                        chosen.push(particle.with_context(|| format!("no face and no line has vertex {vertex}"))?);
                    }
                }
                chosen
            }
            Which::Box { min, max } => {
                let inside = |point: &[f32; 3]| (0..3).all(|axis| (min[axis]..=max[axis]).contains(&point[axis]));
                let points = imported.descriptor.positions.iter().zip(0..);
                points.filter(|(point, _)| inside(point)).map(|(_, particle)| particle).collect()
            }
            Which::Group(name) => {
                let groups = &imported.descriptor.groups;
                match groups.get(name) {
                    Some(group) => group.clone(),
                    None if groups.is_empty() => bail!("the file has no groups"),
                    None => bail!("the file has the groups {}", some(groups.keys())),
                }
            }
            Which::Color(color) => {
                let colors = imported.colors.as_ref();
                color.among(colors.context(COLORLESS)?)
            }
            // Its vertices have several weights.
            Which::Channel(_) => Vec::new(),
        })
    }
}

const COLORLESS: &str = "the vertices of the file have no colors";

/// Names with commas between them, as many as one can read.
fn some<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.map(String::as_str).collect();
    let shown = names.iter().take(12).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 12 { format!("{shown} and {} more", names.len() - 12) } else { shown }
}

impl Origin {
    /// What was found in the mesh files of a scene's cloths, if it has any.
    pub(crate) fn of(imports: Vec<ImportedCloth>, mesh: &Mesh) -> Option<Self> {
        let mut render = RenderMesh::default();
        let faces: usize = imports.iter().map(|cloth| cloth.render.faces.len()).sum();
        // A cloth without texture coordinates leaves none for the others: the pattern of all is drawn in one way.
        if faces == mesh.faces().len() && imports.iter().all(|cloth| !cloth.render.uvs.is_empty()) {
            let mut first = 0;
            for cloth in &imports {
                append(&mut render, &cloth.render, first);
                first += cloth.report.particles as u32;
            }
        }
        let part = |cloth: ImportedCloth| {
            let ImportedCloth { file, report, quality, pinned, .. } = cloth;
            Part { file, report, quality, pinned }
        };
        let parts: Vec<Part> = imports.into_iter().map(part).collect();
        (!parts.is_empty()).then_some(Self { parts, render })
    }

    /// What was found in the file, or a list of that where there are several.
    pub(crate) fn json(&self) -> Value {
        match &self.parts[..] {
            [part] => part.json(),
            parts => parts.iter().map(Part::json).collect(),
        }
    }

    /// The same in a sentence that leaves out what there is none of; one for each of several files.
    pub(crate) fn sentence(&self) -> String {
        match &self.parts[..] {
            [part] => part.sentence(),
            parts => {
                let named = |part: &Part| format!("{}: {}", part.file, part.sentence());
                parts.iter().map(named).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// Adds what is drawn of another cloth, whose particles begin with number `first`.
fn append(render: &mut RenderMesh, next: &RenderMesh, first: u32) {
    let drawn = render.particle_of.len() as u32;
    let face = |face: &Face| match *face {
        Face::Triangle(vertices) => Some(Face::Triangle(vertices.map(|vertex| vertex + drawn))),
        Face::Quad(vertices) => Some(Face::Quad(vertices.map(|vertex| vertex + drawn))),
        // There are no others yet.
        _ => None,
    };
    render.particle_of.extend(next.particle_of.iter().map(|particle| particle + first));
    render.uvs.extend(&next.uvs);
    render.faces.extend(next.faces.iter().filter_map(face));
    render.triangles.extend(next.triangles.iter().map(|triangle| triangle.map(|vertex| vertex + drawn)));
}

impl Part {
    fn json(&self) -> Value {
        let ImportReport { vertices, particles, welded, loose, faces, quads, lines, split, collapsed, .. } =
            &self.report;
        let ImportReport { degenerate, duplicate, dropped_lines, non_manifold, components, paired, .. } = &self.report;
        json!({
            "file": self.file,
            "vertices": vertices,
            "particles": particles,
            "welded_vertices": welded,
            "loose_vertices": loose,
            "faces": faces,
            "quads": quads,
            "lines": lines,
            "split_polygons": split,
            "collapsed_quads": collapsed,
            "degenerate_faces": degenerate.len(),
            "duplicate_faces": duplicate.len(),
            "dropped_lines": dropped_lines,
            "non_manifold_edges": non_manifold.len(),
            "components": components,
            "paired_triangles": paired,
            "woven_triangles": self.report.woven,
            "warp": warp_name(self.report.warp),
            "pinned": self.pinned,
            "shortest_edge_m": self.quality.shortest_edge.map(|(length, _)| length),
            "mean_edge_m": self.quality.mean_edge,
            "longest_edge_m": self.quality.longest_edge.map(|(length, _)| length),
            "folded_quads": self.quality.folded.len(),
            "thin_faces": self.quality.slivers.len(),
        })
    }

    fn sentence(&self) -> String {
        let report = &self.report;
        let mut parts = vec![format!("{} vertices", number(report.vertices))];
        let mut add = |count: usize, one: &str, many: &str| match count {
            0 => {}
            1 => parts.push(format!("1 {one}")),
            _ => parts.push(format!("{} {many}", number(count))),
        };
        add(report.welded, "welded to another", "welded to others");
        add(report.loose, "loose vertex dropped", "loose vertices dropped");
        add(report.quads, "quad", "quads");
        add(report.paired, "triangle joined", "triangles joined to quads");
        add(report.faces - report.quads, "triangle", "triangles");
        add(report.lines, "line", "lines");
        add(report.split, "polygon cut", "polygons cut");
        add(report.collapsed, "quad collapsed", "quads collapsed");
        let first = |dropped: &[DroppedFace], what: &str| {
            let place = dropped.first().map(|dropped| dropped.place.to_string()).unwrap_or_default();
            [format!("{what} face dropped ({place})"), format!("{what} faces dropped (first: {place})")]
        };
        for (dropped, what) in [(&report.degenerate, "degenerate"), (&report.duplicate, "duplicate")] {
            let [one, many] = first(dropped, what);
            add(dropped.len(), &one, &many);
        }
        add(report.dropped_lines, "line without length dropped", "lines without length dropped");
        add(report.non_manifold.len(), "edge of more than two faces", "edges of more than two faces");
        add(report.components, "piece", "pieces");
        add(self.pinned, "vertex held", "vertices held");
        let mut text = parts.join(", ");
        let quality = self.quality.to_string();
        if !quality.is_empty() {
            text = format!("{text}; {quality}");
        }
        match report.warp {
            _ if report.faces == report.quads => {}
            Warp::Off => text.push_str("; triangles that are not woven lock"),
            Warp::Uv => text.push_str("; triangles woven along the texture"),
            Warp::Along(_) => text.push_str(&format!("; triangles woven along {}", warp_name(report.warp))),
            _ => text.push_str("; triangles woven along most of their sides"),
        }
        text
    }
}

fn number(value: usize) -> String {
    count(value as u64)
}

fn warp() -> impl TypedValueParser<Value = Warp> {
    PossibleValuesParser::new(Warp::NAMES).map(|name| Warp::named(&name).unwrap_or_default())
}

/// As the option spells it.
fn warp_name(warp: Warp) -> &'static str {
    Warp::NAMES.into_iter().find(|name| Warp::named(name) == Some(warp)).unwrap_or("along")
}

fn scale(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(scale) if SCALES.contains(&scale) => Ok(scale),
        _ => Err(format!("must be a number above 0, from {:e} to {:e} m per unit", SCALES.start(), SCALES.end())),
    }
}

fn pin(text: &str) -> Result<Pin, String> {
    let forms =
        "must be index:0,5,9-12, box:X,Y,Z,X,Y,Z, group:NAME, color:RRGGBB, each perhaps with @WEIGHT, or channel:red";
    let (kind, rest) = text.split_once(':').ok_or(forms)?;
    let (rest, weight) = match rest.rsplit_once('@').map(|(rest, weight)| (rest, weight.parse::<f32>())) {
        Some((rest, Ok(weight))) => (rest, Some(weight)),
        // Names of groups may have the sign.
        Some(_) if kind != "group" => return Err(WEIGHTS.to_owned()),
        _ => (rest, None),
    };
    let which = match kind {
        "index" => Which::Indices(indices(rest)?),
        "box" => corners(rest)?,
        "group" if !rest.is_empty() => Which::Group(rest.to_owned()),
        "color" => Which::Color(rest.parse()?),
        "channel" if weight.is_some() => return Err("a channel has the weights itself".to_owned()),
        "channel" => {
            let known = || format!("a channel is one of {}", Channel::NAMES.join(", "));
            Which::Channel(Channel::named(rest).ok_or_else(known)?)
        }
        _ => return Err(forms.to_owned()),
    };
    let weight = weight.unwrap_or(1.0);
    let pin = Pin { text: text.to_owned(), which, weight };
    if (0.0..=1.0).contains(&weight) { Ok(pin) } else { Err(WEIGHTS.to_owned()) }
}

const WEIGHTS: &str = "a weight is a number from 0, free, to 1, pinned";

fn indices(text: &str) -> Result<Vec<RangeInclusive<usize>>, String> {
    let wrong = || "indices are whole numbers and ranges of them, like 0,5,9-12".to_owned();
    let one = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let ends = (first.trim().parse::<usize>(), last.trim().parse::<usize>());
        match ends {
            (Ok(first), Ok(last)) if first <= last => Ok(first..=last),
            _ => Err(wrong()),
        }
    };
    text.split(',').map(one).collect()
}

/// Two corners of a box, in any order.
fn corners(text: &str) -> Result<Which, String> {
    let numbers: Vec<f32> = text.split(',').filter_map(|part| part.trim().parse().ok()).collect();
    let numbers = <[f32; 6]>::try_from(numbers).ok().filter(|numbers| numbers.iter().all(|number| !number.is_nan()));
    let [a, b, c, x, y, z] = numbers.ok_or("a box is six numbers, X,Y,Z of two corners")?;
    if text.split(',').count() != 6 {
        return Err("a box is six numbers, X,Y,Z of two corners".to_owned());
    }
    Ok(Which::Box { min: [a.min(x), b.min(y), c.min(z)], max: [a.max(x), b.max(y), c.max(z)] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_read_or_explained() {
        let which = |text: &str| pin(text).map(|pin| pin.which);
        assert_eq!(which("index:0,5,9-12"), Ok(Which::Indices(vec![0..=0, 5..=5, 9..=12])));
        assert_eq!(which("group:my shirt:left"), Ok(Which::Group("my shirt:left".to_owned())));
        let unit = Which::Box { min: [-1.0, 0.0, 0.5], max: [1.0, 2.0, 1.5] };
        assert_eq!(which("box:1,0,0.5,-1,2,1.5"), Ok(unit));
        assert!(matches!(which("color:#ff8000~8"), Ok(Which::Color(_))));
        assert!(matches!(which("channel:alpha"), Ok(Which::Channel(_))));
        let weight = |text: &str| pin(text).map(|pin| pin.weight);
        assert_eq!(
            [weight("group:a"), weight("group:a@0.25"), weight("color:ff0000~8@0")],
            [Ok(1.0), Ok(0.25), Ok(0.0)]
        );
        for (text, name) in [("group:a@b@0.5", "a@b"), ("group:a@b", "a@b")] {
            assert_eq!(which(text), Ok(Which::Group(name.to_owned())));
        }
        for text in [
            "",
            "corner",
            "index:",
            "index:-1",
            "index:3-1",
            "index:1,",
            "index:a",
            "box:1,2,3",
            "box:1,2,3,4,5,nan",
            "box:1,2,3,4,5,6,x",
            "box:1,2,3,4,5,6,7",
            "group:",
            "color:red",
            "color:ff00",
            "color:ff0000~x",
            "color:ff0000~-1",
            "color:ffééé",
            "color:ff0000@x",
            "group:a@1.1",
            "group:a@nan",
            "channel:pink",
            "channel:red@0.5",
        ] {
            assert!(pin(text).is_err(), "{text}");
        }
    }
}
