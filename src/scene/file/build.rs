//! From plain values to a scene.

use std::path::Path;
use std::sync::Arc;

use super::load_mesh::{self, load_mesh};
use super::parts::{Form, Obstacle, Pins, Select, Sheet, Source, part_has};
use super::{SceneFile, path};
use crate::cloth::hold::Selection;
use crate::cloth::motion::{PinGroup, Script, SolidMotion};
use crate::error::{Error, Result};
use crate::mesh::FARTHEST;
use crate::mesh::{Face, Mesh, MeshDescriptor, Weave};
use crate::scene::{FORM_RESOLUTION, FORM_SEGMENTS, Scene, arc, dress_form};
use crate::solid::{Body, Grid, Solid, SolidShape, mannequin};
use crate::stage::parameter::Table;

/// The scene that a file describes.
pub(super) fn scene(file: &SceneFile, folder: Option<&Path>) -> Result<Scene> {
    let builder = Builder { file, folder };
    let mut descriptor = builder.shape()?;
    let start = builder.start(&descriptor.positions)?;
    let groups = builder.pins(&mut descriptor, &start)?;
    let mesh = Mesh::new(descriptor).map_err(|error| builder.located(error, "cloth"))?;
    let solids = builder.solids()?;
    let settings = file.settings.clone();
    settings.validate(&mesh, &start).map_err(|error| builder.located(error, "solver"))?;
    let script = Script { pins: groups, solids: builder.motions() };
    let scene = Scene { name: file.name.clone().into(), mesh, start, solids, settings, script };
    let Some(noise) = file.fabric.start.noise else { return Ok(scene) };
    scene.with_noise(noise).map_err(|error| builder.located(error, "cloth.start.noise"))
}

struct Builder<'a> {
    file: &'a SceneFile,
    folder: Option<&'a Path>,
}

impl Builder<'_> {
    fn error(&self, key: &str, problem: impl std::fmt::Display) -> Error {
        self.file.text.error(key, format!("`{key}` {problem}"))
    }

    /// An error of the library as an error of the file, at the key that caused it or at `around`.
    fn located(&self, error: Error, around: &str) -> Error {
        match &error {
            Error::SceneFile { .. } => error,
            Error::OutOfRange { field, index, value, expected } => {
                let key = self.key(field, *index).unwrap_or_else(|| around.to_owned());
                self.error(&key, format!("is {value}, but must be {expected}"))
            }
            Error::NotFinite { field, index } => {
                let key = self.key(field, Some(*index)).unwrap_or_else(|| around.to_owned());
                self.error(&key, "is too large")
            }
            Error::StrainLimit { .. } => self.file.text.error("solver.strain_limit", error.to_string()),
            _ => self.file.text.error(around, format!("`{around}`: {}", told(&error))),
        }
    }

    /// The key of the file that a field of the library was read from.
    fn key(&self, field: &str, index: Option<usize>) -> Option<String> {
        let at = index.map_or_else(String::new, |index| format!("[{index}]"));
        if let Some(part) = field.strip_prefix("solids.") {
            return Some(format!("solids{at}.{}", part.trim_start_matches("pose.")));
        }
        if field.starts_with("wind.") {
            return Some(field.to_owned());
        }
        // Two tables may have a parameter of one name: it is that which is out of range.
        let solver = self.file.settings.method.solver();
        let has = |table: &&dyn Table| table.list().iter().any(|listed| listed.name == field);
        let wrong =
            |table: &&dyn Table| matches!(table.check(), Err(Error::OutOfRange { field: found, .. }) if found == field);
        let tables: Vec<&dyn Table> = solver.tables().into_iter().filter(has).collect();
        if let Some(table) = tables.iter().find(|table| wrong(table)).or(tables.first()) {
            return Some(format!("solver.{}.{field}", table.name()));
        }
        Some(match field {
            "gravity" | "drag" => format!("world.{field}"),
            "damping" | "shear" | "bending" => format!("cloth.{field}"),
            "mass.density" => "cloth.density".to_owned(),
            "mass" => format!("cloth.masses{at}"),
            "positions" => format!("cloth.positions{at}"),
            "start" => "cloth.start".to_owned(),
            "noise.amplitude" => "cloth.start.noise".to_owned(),
            "overrides.rest" => format!("cloth.overrides{at}.rest"),
            "overrides.kind.stiffness" => format!("cloth.overrides{at}.stiffness"),
            "strain_limit"
            | "stretch_min"
            | "stretch_max"
            | "area_limit"
            | "substeps"
            | "contact_rounds"
            | "rest_speed"
            | "stepping"
            | "dispatches_per_submission" => format!("solver.{field}"),
            _ => return None,
        })
    }

    /// A file that the scene names.
    fn path(&self, key: &str, name: &str) -> Result<std::path::PathBuf> {
        path::existing(self.folder, name).map_err(|problem| self.error(key, format!("is \"{name}\", which {problem}")))
    }

    /// The cloth at rest, without pins.
    fn shape(&self) -> Result<MeshDescriptor> {
        let fabric = &self.file.fabric;
        let (mass, overrides) = (fabric.mass.clone(), fabric.overrides.clone());
        let (shear, bending, curved) = (fabric.shear, fabric.bending, fabric.curved);
        let own = MeshDescriptor { mass, shear, bending, curved, overrides, ..Default::default() };
        let mut descriptor = match &fabric.source {
            Source::Sheet(sheet) => MeshDescriptor { positions: positions(sheet), faces: quads(sheet), ..own },
            Source::Chain { size, length } => MeshDescriptor {
                positions: (0..*size).map(|x| [along(x, *size, *length), 0.0, 0.0]).collect(),
                lines: (1..*size).map(|head| [head - 1, head]).collect(),
                ..own
            },
            Source::Mesh { file, pair_triangles, warp, scale } => {
                let path = self.path("cloth.mesh", file)?;
                let options = load_mesh::Options { pair_triangles: *pair_triangles, warp, scale: *scale };
                let read = load_mesh(&path, options).map_err(|error| self.located(error, "cloth.mesh"))?;
                self.check_count(read.positions.len(), "cloth.mesh")?;
                let MeshDescriptor { positions, faces, lines, groups, weave, .. } = read;
                MeshDescriptor { positions, faces, lines, groups, weave, ..own }
            }
            Source::Inline { positions, faces, lines, warp } => MeshDescriptor {
                positions: positions.clone(),
                faces: faces.clone(),
                lines: lines.clone(),
                weave: Weave::named(warp),
                ..own
            },
        };
        descriptor.groups.extend(fabric.groups.clone());
        Ok(descriptor)
    }

    fn check_count(&self, vertices: usize, key: &str) -> Result<()> {
        let most = self.file.limits.vertices;
        if vertices as u64 <= most.into() {
            return Ok(());
        }
        Err(self.error(key, format!("has {vertices} vertices, but a scene file may only have {most}")))
    }

    /// Where the vertices start.
    fn start(&self, rest: &[[f32; 3]]) -> Result<Vec<[f32; 3]>> {
        let start = &self.file.fabric.start;
        let mut places = start.positions.clone().unwrap_or_else(|| rest.to_vec());
        if places.len() != rest.len() {
            let (found, expected) = (places.len(), rest.len());
            return Err(self.error("cloth.start.positions", format!("has {found} entries, but needs {expected}")));
        }
        if let Some(span) = start.span {
            self.bend(&mut places, span);
        }
        for place in &mut places {
            if let Some(scale) = start.scale {
                for (x, scale) in place.iter_mut().zip(scale) {
                    *x *= scale;
                }
            }
            if let Some(rotation) = start.rotation {
                *place = rotation.apply(*place);
            }
            if let Some(translation) = start.translation {
                for (x, way) in place.iter_mut().zip(translation) {
                    *x += way;
                }
            }
        }
        if let Some(vertex) = places.iter().position(|place| !place.iter().all(|x| x.abs() <= FARTHEST)) {
            return Err(self.error("cloth.start", format!("puts vertex {vertex} farther than 2⁴⁰ m away")));
        }
        Ok(places)
    }

    /// Bends every row into an arc whose ends are `span` apart; below the sheet, or behind it where it is upright.
    fn bend(&self, places: &mut [[f32; 3]], span: f64) {
        let (columns, length, upright) = match &self.file.fabric.source {
            Source::Sheet(sheet) => (sheet.size[0], sheet.sides[0], sheet.upright),
            Source::Chain { size, length } => (*size, *length, false),
            Source::Mesh { .. } | Source::Inline { .. } => return,
        };
        let row = arc(columns - 1, span / length);
        let deep = if upright { 2 } else { 1 };
        for (vertex, place) in places.iter_mut().enumerate() {
            let [x, depth] = row[vertex % row.len()];
            (place[0], place[deep]) = ((x * length) as f32, (depth * length) as f32);
        }
    }

    /// Pins what is pinned for good, and returns what the script holds and moves.
    fn pins(&self, descriptor: &mut MeshDescriptor, start: &[[f32; 3]]) -> Result<Vec<PinGroup>> {
        let mut groups = Vec::new();
        // Who has each vertex.
        let mut owners: Vec<Option<usize>> = vec![None; start.len()];
        for (index, pins) in self.file.pins.iter().enumerate() {
            let key = format!("pins[{index}]");
            let vertices = self.chosen(pins, descriptor, start, &key)?;
            if vertices.is_empty() {
                return Err(self.error(&key, "has no vertex"));
            }
            let scripted = pins.hold.is_some() || pins.motion.is_some();
            for vertex in &vertices {
                let owner = &mut owners[*vertex as usize];
                if let Some(other) = owner.replace(index) {
                    let before = &self.file.pins[other];
                    if other != index && (scripted || before.hold.is_some() || before.motion.is_some()) {
                        return Err(self.error(&key, format!("has vertex {vertex}, which pins[{other}] has already")));
                    }
                }
            }
            if pins.hold.is_none() {
                descriptor.pins.extend(&vertices);
            }
            if scripted {
                let mut group = PinGroup::new(&vertices, start).map_err(|error| self.located(error, &key))?;
                group.hold = pins.hold;
                group.until = pins.until;
                group.motion.clone_from(&pins.motion);
                group.center = pins.center.unwrap_or(group.center);
                groups.push(group);
            }
        }
        Ok(groups)
    }

    fn chosen(&self, pins: &Pins, descriptor: &MeshDescriptor, start: &[[f32; 3]], key: &str) -> Result<Vec<u32>> {
        match &pins.select {
            Select::At(parts) => {
                let Some([columns, rows]) = self.file.fabric.source.grid() else {
                    return Err(self.error(&format!("{key}.at"), "is for generators: a mesh has no rows and columns"));
                };
                let has = |vertex: &u32| {
                    let (row, column) = (vertex / columns, vertex % columns);
                    parts.iter().any(|part| part_has(part, [columns, rows], column, row))
                };
                Ok((0..columns * rows).filter(has).collect())
            }
            Select::Selection(Selection::Group(name)) => {
                let known: Vec<&str> = descriptor.groups.keys().map(String::as_str).collect();
                let group = descriptor.groups.get(name).ok_or_else(|| {
                    let hint = if known.is_empty() {
                        "the cloth has no groups".to_owned()
                    } else {
                        super::table::suggestion(name, &known)
                    };
                    self.error(&format!("{key}.group"), format!("is {name:?}; {hint}"))
                })?;
                self.indices(group, start, &format!("{key}.group"))
            }
            Select::Selection(Selection::Indices(indices)) => self.indices(indices, start, &format!("{key}.indices")),
            Select::Selection(selection) => selection.among(start).map_err(|error| self.located(error, key)),
        }
    }

    /// Vertices that exist: ascending, each once.
    fn indices(&self, indices: &[u32], start: &[[f32; 3]], key: &str) -> Result<Vec<u32>> {
        if let Some(vertex) = indices.iter().find(|vertex| **vertex as usize >= start.len()) {
            return Err(self.error(key, format!("names vertex {vertex}, but there are only {}", start.len())));
        }
        Selection::Indices(indices.to_vec()).among(start)
    }

    fn solids(&self) -> Result<Vec<Solid>> {
        let mut left = self.file.limits.grid_bytes;
        // Equal forms are baked once.
        let mut baked: Vec<(&Form, Arc<Grid>)> = Vec::new();
        let mut solids = Vec::new();
        for (index, obstacle) in self.file.solids.iter().enumerate() {
            let key = format!("solids[{index}]");
            let known = baked.iter().find(|(form, _)| **form == obstacle.form).map(|(_, grid)| grid.clone());
            let shape = match (&obstacle.form, known) {
                (_, Some(grid)) => SolidShape::Grid(grid),
                (Form::Shape(shape), _) => shape.clone(),
                (form @ (Form::Mannequin { .. } | Form::Mesh { .. }), None) => {
                    let grid = self.bake(form, left, &key)?;
                    left = left.saturating_sub(grid.bytes());
                    baked.push((form, grid.clone()));
                    SolidShape::Grid(grid)
                }
            };
            let solid = surface(obstacle, shape);
            solid.validate(index).map_err(|error| self.located(error, &key))?;
            solids.push(solid);
        }
        Ok(solids)
    }

    fn bake(&self, form: &Form, memory: u64, key: &str) -> Result<Arc<Grid>> {
        let (body, resolution) = match form {
            Form::Mannequin { segments: FORM_SEGMENTS, resolution: FORM_RESOLUTION } => {
                let grid = dress_form()?;
                let (needed, limit) = (grid.bytes(), memory);
                return if needed <= limit {
                    Ok(grid)
                } else {
                    Err(self.located(Error::GridMemory { needed, limit }, key))
                };
            }
            Form::Mannequin { segments, resolution } => (Ok(mannequin(*segments)), *resolution),
            Form::Mesh { file, scale, resolution } => (self.body(file, *scale, key), *resolution),
            Form::Shape(_) => return Err(self.error(key, "has no mesh")),
        };
        let resolution_key = format!("{key}.resolution");
        let grid = Grid::bake(&body?, resolution, memory).map_err(|error| self.located(error, &resolution_key))?;
        Ok(Arc::new(grid))
    }

    fn body(&self, file: &str, scale: f32, key: &str) -> Result<Body> {
        let key = format!("{key}.file");
        let path = self.path(&key, file)?;
        let options = load_mesh::Options { pair_triangles: false, warp: "off", scale };
        let descriptor = load_mesh(&path, options).map_err(|error| self.located(error, &key))?;
        self.check_count(descriptor.positions.len(), &key)?;
        let mut triangles = Vec::new();
        for face in &descriptor.faces {
            match *face {
                Face::Triangle(corners) => triangles.push(corners),
                Face::Quad([a, b, c, d]) => triangles.extend([[a, b, c], [a, c, d]]),
            }
        }
        Body::new(descriptor.positions, triangles).map_err(|error| self.located(error, &key))
    }

    fn motions(&self) -> Vec<SolidMotion> {
        let moved = |(solid, obstacle): (usize, &Obstacle)| {
            let motion = obstacle.motion.clone()?;
            Some(SolidMotion { solid, start: obstacle.pose(), motion })
        };
        self.file.solids.iter().enumerate().filter_map(moved).collect()
    }
}

/// An error with its cause.
fn told(error: &Error) -> String {
    match error {
        Error::Io { source, .. } => format!("{error}: {source}"),
        _ => error.to_string(),
    }
}

fn surface(obstacle: &Obstacle, shape: SolidShape) -> Solid {
    Solid {
        pose: obstacle.pose(),
        velocity: obstacle.velocity,
        angular_velocity: obstacle.angular_velocity,
        thickness: obstacle.thickness,
        friction: obstacle.friction,
        sliding_friction: obstacle.sliding_friction,
        restitution: obstacle.restitution,
        ..Solid::new(shape)
    }
}

/// Where vertex `index` of `size` is on a straight line \[m\].
fn along(index: u32, size: u32, length: f64) -> f32 {
    (f64::from(index) / f64::from(size - 1) * length) as f32
}

fn positions(sheet: &Sheet) -> Vec<[f32; 3]> {
    let ([columns, rows], [width, height]) = (sheet.size, sheet.sides);
    let position = |row: u32, column: u32| {
        let (x, z) = (along(column, columns, width), along(row, rows, height));
        if sheet.upright { [x, -z, 0.0] } else { [x, 0.0, z] }
    };
    (0..rows).flat_map(|row| (0..columns).map(move |column| position(row, column))).collect()
}

fn quads(sheet: &Sheet) -> Vec<Face> {
    let [columns, rows] = sheet.size;
    let quad = |row: u32, column: u32| {
        let corner = row * columns + column;
        // In this order the normals point up, or to +z where the sheet is upright.
        Face::from([corner, corner + columns, corner + columns + 1, corner + 1])
    };
    (1..rows).flat_map(|row| (1..columns).map(move |column| quad(row - 1, column - 1))).collect()
}
