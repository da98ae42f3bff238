//! From plain values to a scene.

use std::sync::Arc;

#[cfg(feature = "import")]
use super::ImportedCloth;
use super::load_mesh::{self, load_mesh};
use super::parts::{Fabric, Form, Named, Obstacle, Other, Pins, Select, Sheet, Source, part_has};
use super::{Color, Folders, SceneFile, Surface, path};
use crate::cloth::hold::{Hold, Selection};
use crate::cloth::motion::{PinGroup, Script, SolidMotion};
use crate::error::{Error, Result, number};
#[cfg(feature = "import")]
use crate::io::import::{ImportReport, RenderMesh};
use crate::mesh::FARTHEST;
use crate::mesh::{Face, Mesh, MeshDescriptor, Swatch, Weave};
use crate::scene::{FORM_RESOLUTION, FORM_SEGMENTS, Scene, arc, dress_form};
use crate::solid::{Body, Grid, Solid, SolidShape, mannequin};
use crate::stage::parameter::Table;

/// What a file makes.
pub(super) struct Built {
    pub(super) scene: Scene,
    /// What the mesh files of its cloths had.
    #[cfg(feature = "import")]
    pub(super) imports: Vec<ImportedCloth>,
}

/// A cloth on its way to a mesh.
struct Piece {
    /// Its first vertex among those of all cloths.
    first: usize,
    descriptor: MeshDescriptor,
    /// Of each vertex, if its file has any.
    colors: Option<Vec<[f32; 4]>>,
    #[cfg(feature = "import")]
    import: Option<(String, ImportReport, RenderMesh)>,
}

impl Piece {
    fn end(&self) -> usize {
        self.first + self.descriptor.positions.len()
    }
}

/// The scene that a file describes.
pub(super) fn scene(file: &SceneFile) -> Result<Built> {
    let builder = Builder { file };
    let (mut pieces, mut start): (Vec<Piece>, Vec<[f32; 3]>) = (Vec::new(), Vec::new());
    for fabric in &file.fabrics {
        let piece = builder.piece(fabric, start.len())?;
        start.extend(builder.start(fabric, &piece.descriptor.positions)?);
        pieces.push(piece);
    }
    let groups = builder.pins(&mut pieces, &start)?;
    let mut meshes = Vec::with_capacity(pieces.len());
    #[cfg(feature = "import")]
    let mut imports = Vec::new();
    for (fabric, piece) in file.fabrics.iter().zip(pieces) {
        let mesh = Mesh::new(piece.descriptor).map_err(|error| builder.located(error, &fabric.key))?;
        #[cfg(feature = "import")]
        if let Some((file, report, render)) = piece.import {
            let (quality, pinned) = (mesh.quality(), mesh.pins().len());
            imports.push(ImportedCloth { file, report, quality, render, pinned });
        }
        meshes.push(mesh);
    }
    let mesh = Mesh::joined(meshes).map_err(|error| builder.located(error, "cloth"))?;
    let solids = builder.solids()?;
    let settings = file.settings.clone();
    settings.validate(&mesh, &start).map_err(|error| builder.located(error, "solver"))?;
    let script = Script { pins: groups, solids: builder.motions() };
    let scene = Scene { name: file.name.clone().into(), mesh, start, solids, settings, script };
    let scene = match file.noise() {
        Some(noise) => {
            let key = format!("{}.start.noise", file.fabrics[0].key);
            scene.with_noise(noise).map_err(|error| builder.located(error, &key))?
        }
        None => scene,
    };
    Ok(Built {
        scene,
        #[cfg(feature = "import")]
        imports,
    })
}

struct Builder<'a> {
    file: &'a SceneFile,
}

impl Builder<'_> {
    fn error(&self, key: &str, problem: impl std::fmt::Display) -> Error {
        self.file.text.error(key, format!("`{key}` {problem}"))
    }

    /// An error of the library as an error of the file, at the key that caused it or at `around`.
    fn located(&self, error: Error, around: &str) -> Error {
        let cloth = match around.split_once('.').map_or(around, |(cloth, _)| cloth) {
            cloth if cloth.starts_with("cloth[") => cloth,
            _ => self.file.fabrics.first().map_or("cloth", |fabric| &fabric.key),
        };
        match &error {
            Error::SceneFile { .. } => error,
            Error::OutOfRange { field, index, value, expected } => {
                let key = self.key(field, *index, cloth).unwrap_or_else(|| around.to_owned());
                self.error(&key, format!("is {}, but must be {expected}", written(*value)))
            }
            Error::NotFinite { field, index } => {
                let key = self.key(field, Some(*index), cloth).unwrap_or_else(|| around.to_owned());
                self.error(&key, "is too large")
            }
            Error::Thickness { .. } => self.file.text.error("world.thickness", error.to_string()),
            Error::Tangled { .. } => self.file.text.error("world.self_collision", error.to_string()),
            Error::StrainLimit { limit, .. } => self.file.text.error(&self.limit_key(*limit), error.to_string()),
            _ => self.file.text.error(around, format!("`{around}`: {}", told(&error))),
        }
    }

    /// The key of the limit that positions of this size cannot hold.
    fn limit_key(&self, limit: f32) -> String {
        let common = self.file.settings.strain_limit;
        let own = |other: &Other| common != limit && other.strain_limit == Some(limit);
        let found = self.file.fabrics.iter().find_map(|fabric| Some((fabric, fabric.others.iter().position(own)?)));
        let of = |(fabric, index): (&Fabric, usize)| format!("{}.fabrics[{index}].strain_limit", fabric.key);
        found.map_or_else(|| "solver.strain_limit".to_owned(), of)
    }

    /// The key of the file that a field of the library was read from, of a cloth if it is one of those.
    fn key(&self, field: &str, index: Option<usize>, cloth: &str) -> Option<String> {
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
            "gravity" | "drag" | "thickness" => format!("world.{field}"),
            "damping" | "shear" | "stretch" | "bending" => format!("{cloth}.{field}"),
            "mass.density" => format!("{cloth}.density"),
            "mass" => format!("{cloth}.masses{at}"),
            "positions" => format!("{cloth}.positions{at}"),
            "start" => format!("{cloth}.start"),
            "noise.amplitude" => format!("{cloth}.start.noise"),
            "overrides.rest" => format!("{cloth}.overrides{at}.rest"),
            "overrides.kind.stiffness" | "overrides.kind.min" | "overrides.kind.max" => {
                format!("{cloth}.overrides{at}.{}", field.trim_start_matches("overrides.kind."))
            }
            "swatches.density"
            | "swatches.shear"
            | "swatches.stretch"
            | "swatches.bending"
            | "swatches.strain_limit" => {
                format!("{cloth}.fabrics{at}.{}", field.trim_start_matches("swatches."))
            }
            "strain_limit"
            | "middle_strain"
            | "stretch_min"
            | "stretch_max"
            | "stretch_rate"
            | "area_limit"
            | "volume"
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
        let Folders { own, assets } = &self.file.folders;
        let folders = own.iter().chain(assets).map(std::path::PathBuf::as_path);
        path::existing(folders, name).map_err(|problem| self.error(key, format!("is \"{name}\", which {problem}")))
    }

    /// A cloth at rest, without pins.
    fn piece(&self, fabric: &Fabric, first: usize) -> Result<Piece> {
        if let Some([columns, rows]) = fabric.source.grid() {
            self.check_count(first + columns as usize * rows as usize, &fabric.key)?;
        }
        let mut colors = None;
        #[cfg(feature = "import")]
        let mut import = None;
        let (mass, overrides) = (fabric.mass.clone(), fabric.overrides.clone());
        let Fabric { shear, stretch, bending, curved, .. } = *fabric;
        let own = MeshDescriptor { mass, shear, stretch, bending, curved, overrides, ..Default::default() };
        let mut descriptor = match &fabric.source {
            Source::Sheet(sheet) => MeshDescriptor { positions: positions(sheet), faces: quads(sheet), ..own },
            Source::Chain { size, length } => MeshDescriptor {
                positions: (0..*size).map(|x| [along(x, *size, *length), 0.0, 0.0]).collect(),
                lines: (1..*size).map(|head| [head - 1, head]).collect(),
                ..own
            },
            Source::Mesh { file, options } => {
                let key = format!("{}.mesh", fabric.key);
                let path = self.path(&key, file)?;
                let read = load_mesh(&path, *options).map_err(|error| self.located(error, &key))?;
                self.check_count(first + read.descriptor.positions.len(), &key)?;
                colors = read.colors;
                #[cfg(feature = "import")]
                {
                    import = Some((file.clone(), read.report, read.render));
                }
                let MeshDescriptor { positions, faces, lines, groups, weave, .. } = read.descriptor;
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
        self.check_count(first + descriptor.positions.len(), &fabric.key)?;
        descriptor.groups.extend(fabric.groups.clone());
        let mut piece = Piece {
            first,
            descriptor,
            colors,
            #[cfg(feature = "import")]
            import,
        };
        for (index, other) in fabric.others.iter().enumerate() {
            let key = format!("{}.fabrics[{index}]", fabric.key);
            let swatch = self.swatch(other, &piece, &key)?;
            piece.descriptor.swatches.push(swatch);
        }
        Ok(piece)
    }

    /// The faces all of whose vertices are chosen.
    fn swatch(&self, other: &Other, piece: &Piece, key: &str) -> Result<Swatch> {
        let among = std::slice::from_ref(piece);
        let (vertices, key) = match &other.select {
            Named::Group(name) => (self.group(name, among, key)?, format!("{key}.group")),
            Named::Color(color) => (self.colored(color, among, key)?, format!("{key}.color")),
        };
        let mut chosen = vec![false; piece.descriptor.positions.len()];
        for vertex in vertices {
            chosen[vertex as usize - piece.first] = true;
        }
        let faces = piece.descriptor.faces.iter().zip(0..);
        let whole = |face: &Face| face.vertices().iter().all(|vertex| chosen.get(*vertex as usize) == Some(&true));
        let faces: Vec<u32> = faces.filter(|(face, _)| whole(face)).map(|(_, index)| index).collect();
        if faces.is_empty() {
            return Err(self.error(&key, "has no face with all of its vertices"));
        }
        let Other { density, shear, stretch, bending, strain_limit, .. } = *other;
        Ok(Swatch { faces, density, shear, stretch, bending, strain_limit })
    }

    /// The vertices of a group among those of all cloths.
    fn group(&self, name: &str, among: &[Piece], key: &str) -> Result<Vec<u32>> {
        let key = format!("{key}.group");
        let mut vertices = Vec::new();
        let mut known: Vec<&str> = Vec::new();
        let mut found = false;
        for piece in among {
            known.extend(piece.descriptor.groups.keys().map(String::as_str));
            let Some(group) = piece.descriptor.groups.get(name) else { continue };
            let count = piece.descriptor.positions.len();
            vertices.extend(self.existing(group, count, &key)?.iter().map(|vertex| vertex + piece.first as u32));
            found = true;
        }
        if found {
            return Ok(vertices);
        }
        known.sort_unstable();
        known.dedup();
        let hint = match known.is_empty() {
            true => "the cloth has no groups".to_owned(),
            false => super::table::suggestion(name, &known),
        };
        Err(self.error(&key, format!("is {name:?}; {hint}")))
    }

    /// The vertices of a color among those of all cloths.
    fn colored(&self, color: &Color, among: &[Piece], key: &str) -> Result<Vec<u32>> {
        if among.iter().all(|piece| piece.colors.is_none()) {
            return Err(self.error(&format!("{key}.color"), "is for mesh files whose vertices have colors"));
        }
        let of = |piece: &Piece| {
            let (first, found) = (piece.first as u32, piece.colors.as_ref().map(|colors| color.among(colors)));
            found.unwrap_or_default().into_iter().map(move |vertex| first + vertex)
        };
        Ok(among.iter().flat_map(of).collect())
    }

    fn check_count(&self, vertices: usize, key: &str) -> Result<()> {
        let most = self.file.limits.vertices;
        if vertices as u64 <= most.into() {
            return Ok(());
        }
        Err(self.error(key, format!("has {vertices} vertices, but a scene file may only have {most}")))
    }

    /// Where the vertices start.
    fn start(&self, fabric: &Fabric, rest: &[[f32; 3]]) -> Result<Vec<[f32; 3]>> {
        let start = &fabric.start;
        let mut places = start.positions.clone().unwrap_or_else(|| rest.to_vec());
        if places.len() != rest.len() {
            let (found, expected) = (places.len(), rest.len());
            let key = format!("{}.start.positions", fabric.key);
            return Err(self.error(&key, format!("has {found} entries, but needs {expected}")));
        }
        if let Some(span) = start.span {
            bend(&fabric.source, &mut places, span);
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
            let key = format!("{}.start", fabric.key);
            return Err(self.error(&key, format!("puts vertex {vertex} farther than 2⁴⁰ m away")));
        }
        Ok(places)
    }

    /// Pins what is pinned for good, and returns what the script holds and moves.
    fn pins(&self, pieces: &mut [Piece], start: &[[f32; 3]]) -> Result<Vec<PinGroup>> {
        let mut groups = Vec::new();
        // Who has each vertex.
        let mut owners: Vec<Option<usize>> = vec![None; start.len()];
        for (index, pins) in self.file.pins.iter().enumerate() {
            let key = &pins.key;
            let parts = self.weighted(pins, pieces, start)?;
            let vertices: Vec<u32> = parts.iter().flat_map(|(_, vertices)| vertices.iter().copied()).collect();
            if vertices.is_empty() {
                return Err(self.error(key, "has no vertex"));
            }
            for vertex in &vertices {
                let owner = &mut owners[*vertex as usize];
                if let Some(other) = owner.replace(index) {
                    let before = &self.file.pins[other];
                    if other != index && (pins.scripted() || before.scripted()) {
                        let problem = format!("has vertex {vertex}, which {} has already", before.key);
                        return Err(self.error(key, problem));
                    }
                }
            }
            let all = PinGroup::new(&vertices, start).map_err(|error| self.located(error, key))?;
            for (hold, vertices) in parts.into_iter().filter(|(hold, _)| *hold != Some(Hold::Free)) {
                if hold.is_none() {
                    for vertex in &vertices {
                        let piece = pieces.iter_mut().find(|piece| (*vertex as usize) < piece.end());
                        if let Some(piece) = piece {
                            piece.descriptor.pins.push(vertex - piece.first as u32);
                        }
                    }
                }
                if hold.is_some() || pins.motion.is_some() {
                    let mut group = PinGroup::new(&vertices, start).map_err(|error| self.located(error, key))?;
                    group.hold = hold;
                    group.until = pins.until;
                    group.motion.clone_from(&pins.motion);
                    group.center = pins.center.unwrap_or(all.center);
                    groups.push(group);
                }
            }
        }
        Ok(groups)
    }

    /// The vertices of pins, with what holds them: several lists where each has its own weight. `None` pins for good.
    fn weighted(&self, pins: &Pins, pieces: &[Piece], start: &[[f32; 3]]) -> Result<Vec<(Option<Hold>, Vec<u32>)>> {
        let Select::Channel(channel) = pins.select else {
            return Ok(vec![(pins.hold, self.chosen(pins, pieces, start)?)]);
        };
        let among = pins.cloth.map_or(pieces, |cloth| &pieces[cloth..=cloth]);
        if among.iter().all(|piece| piece.colors.is_none()) {
            return Err(self.error(&format!("{}.channel", pins.key), "is for mesh files whose vertices have colors"));
        }
        let mut parts = Vec::new();
        for piece in among {
            for (weight, mut vertices) in channel.weights(piece.colors.as_deref().unwrap_or_default()) {
                vertices.iter_mut().for_each(|vertex| *vertex += piece.first as u32);
                let hold = Hold::weighted(weight).map_err(|error| self.located(error, &pins.key))?;
                // What is let go later is no pin of the mesh.
                let for_good = hold == Hold::Fixed && pins.until.is_none();
                parts.push(((!for_good).then_some(hold), vertices));
            }
        }
        Ok(parts)
    }

    /// The vertices of pins among those of all cloths.
    fn chosen(&self, pins: &Pins, pieces: &[Piece], start: &[[f32; 3]]) -> Result<Vec<u32>> {
        let key = &pins.key;
        let (fabrics, among) = match pins.cloth {
            Some(cloth) => (&self.file.fabrics[cloth..=cloth], &pieces[cloth..=cloth]),
            None => (&self.file.fabrics[..], pieces),
        };
        let (first, end) = (among[0].first, among[among.len() - 1].end());
        let start = &start[first..end];
        let local = match &pins.select {
            Select::At(parts) => {
                let [fabric] = fabrics else {
                    let problem = "is for one cloth: where there are several it stands in [[cloth.pins]]";
                    return Err(self.error(&format!("{key}.at"), problem));
                };
                let Some([columns, rows]) = fabric.source.grid() else {
                    return Err(self.error(&format!("{key}.at"), "is for generators: a mesh has no rows and columns"));
                };
                let has = |vertex: &u32| {
                    let (row, column) = (vertex / columns, vertex % columns);
                    parts.iter().any(|part| part_has(part, [columns, rows], column, row))
                };
                (0..columns * rows).filter(has).collect()
            }
            Select::Color(color) => return self.colored(color, among, key),
            // Each vertex of a channel has a hold of its own.
            Select::Channel(_) => Vec::new(),
            Select::Selection(Selection::Group(name)) => return self.group(name, among, key),
            Select::Selection(Selection::Indices(indices)) => {
                self.existing(indices, start.len(), &format!("{key}.indices"))?
            }
            Select::Selection(selection) => selection.among(start).map_err(|error| self.located(error, key))?,
        };
        Ok(local.into_iter().map(|vertex| vertex + first as u32).collect())
    }

    /// Vertices that are among so many: ascending, each once.
    fn existing(&self, indices: &[u32], count: usize, key: &str) -> Result<Vec<u32>> {
        if let Some(vertex) = indices.iter().find(|vertex| **vertex as usize >= count) {
            return Err(self.error(key, format!("names vertex {vertex}, but there are only {count}")));
        }
        let mut vertices = indices.to_vec();
        vertices.sort_unstable();
        vertices.dedup();
        Ok(vertices)
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
            let solid = solid(obstacle, self.file.surface(obstacle), shape);
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
            Form::Mesh { file, scale, up, resolution } => (self.body(file, *scale, up, key), *resolution),
            Form::Shape(_) => return Err(self.error(key, "has no mesh")),
        };
        let resolution_key = format!("{key}.resolution");
        let grid = Grid::bake(&body?, resolution, memory).map_err(|error| self.located(error, &resolution_key))?;
        Ok(Arc::new(grid))
    }

    fn body(&self, file: &str, scale: f32, up: &'static str, key: &str) -> Result<Body> {
        let key = format!("{key}.file");
        let path = self.path(&key, file)?;
        let options = load_mesh::Options { pair_triangles: false, warp: "off", scale, up };
        let descriptor = load_mesh(&path, options).map_err(|error| self.located(error, &key))?.descriptor;
        self.check_count(descriptor.positions.len(), &key)?;
        Body::of_faces(descriptor.positions, &descriptor.faces).map_err(|error| self.located(error, &key))
    }

    fn motions(&self) -> Vec<SolidMotion> {
        let moved = |(solid, obstacle): (usize, &Obstacle)| {
            let motion = obstacle.motion.clone()?;
            Some(SolidMotion { solid, start: obstacle.pose(), motion })
        };
        self.file.solids.iter().enumerate().filter_map(moved).collect()
    }
}

/// A number as it was written: with the digits of f32 where it is one.
fn written(value: f64) -> String {
    let single = value as f32;
    let short = if f64::from(single) == value { single.to_string().parse().unwrap_or(value) } else { value };
    number(short)
}

/// An error with its cause.
fn told(error: &Error) -> String {
    match error {
        Error::Io { source, .. } => format!("{error}: {source}"),
        _ => error.to_string(),
    }
}

/// Bends every row into an arc whose ends are `span` apart; below the sheet, or behind it where it is upright.
fn bend(source: &Source, places: &mut [[f32; 3]], span: f64) {
    let (columns, length, upright) = match source {
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

fn solid(obstacle: &Obstacle, surface: Surface, shape: SolidShape) -> Solid {
    let Surface { thickness, friction, sliding_friction } = surface;
    Solid {
        pose: obstacle.pose(),
        velocity: obstacle.velocity,
        angular_velocity: obstacle.angular_velocity,
        thickness,
        friction,
        sliding_friction,
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
