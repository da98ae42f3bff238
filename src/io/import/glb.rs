//! Binary glTF 2.0.
//!
//! The library reads the JSON. Its layer above that (crate `gltf`) trusts the file where this cannot: it subtracts
//! unchecked lengths, unwraps, and slices buffers by what accessors claim. So chunks and accessors are read here, every
//! index is looked up, and every range is checked against the bytes of the BIN chunk.

use std::collections::BTreeMap;

use gltf_json as json;
use gltf_json::accessor::{ComponentType, Type};
use gltf_json::mesh::{Mode, Semantic};
use gltf_json::validation::Checked;

use glam::{DMat4, DQuat, DVec3};

use super::raw::{Corner, Raw};
use super::{Options, Place, fault, quote};
use crate::error::Result;

/// Bytes of the file's header, and of each chunk's.
const HEADER: usize = 12;
const CHUNK_HEADER: usize = 8;
/// A node of two bytes takes more than a hundred times as many in memory. Vertices are not in the JSON.
const LONGEST_JSON: usize = 1 << 22;

pub(super) fn parse(bytes: &[u8], options: &Options) -> Result<Raw> {
    let chunks = Chunks::split(bytes)?;
    if chunks.json.len() > LONGEST_JSON {
        let reason = format!("the JSON has more than {LONGEST_JSON} bytes; export the mesh alone");
        return Err(fault(Place::Byte(chunks.json_start as u64), reason));
    }
    let root: json::Root = json::deserialize::from_slice(chunks.json)
        .map_err(|error| fault(Place::Byte(json_offset(&chunks, &error)), format!("the JSON is not glTF: {error}")))?;
    let at = chunks.json_start as u64;
    for extension in &root.extensions_required {
        if !HARMLESS.iter().any(|known| extension.starts_with(known)) {
            let extension = quote(extension.as_bytes());
            return Err(fault(Place::Byte(at), format!("it cannot be read without the extension {extension}")));
        }
    }
    let sets = vec![None; root.meshes.len()];
    let mut reader = Reader { root: &root, chunks, raw: Raw::new(false), sets, primitives: 0, options };
    for (node, transform) in reader.placed()? {
        reader.read_node(node, transform)?;
    }
    Ok(reader.raw)
}

/// Extensions that change nothing about geometry but the types that this reader takes anyway.
const HARMLESS: [&str; 6] =
    ["KHR_materials_", "KHR_texture_", "EXT_texture_", "KHR_lights_", "KHR_mesh_quantization", "KHR_xmp"];

/// The parts of the file.
struct Chunks<'a> {
    json: &'a [u8],
    json_start: usize,
    binary: &'a [u8],
    binary_start: usize,
}

impl<'a> Chunks<'a> {
    fn split(bytes: &'a [u8]) -> Result<Self> {
        let word = |at: usize| {
            let word = bytes.get(at..at.saturating_add(4)).and_then(|word| word.try_into().ok());
            word.ok_or_else(|| fault(Place::Byte(bytes.len() as u64), "the file ends within a header"))
        };
        let length = |at| word(at).map(|word| u32::from_le_bytes(word) as usize);
        if word(0)? != *b"glTF" {
            return Err(fault(Place::Byte(0), "it does not start with glTF"));
        }
        let version = length(4)?;
        if version != 2 {
            return Err(fault(Place::Byte(4), format!("its version is {version}, only 2 is known")));
        }
        let total = length(8)?;
        if total > bytes.len() {
            let reason = format!("it should have {total} bytes, but has {}", bytes.len());
            return Err(fault(Place::Byte(8), reason));
        }
        let mut chunks = Self { json: &[], json_start: 0, binary: &[], binary_start: 0 };
        let mut at = HEADER;
        while at < total && (chunks.json_start == 0 || chunks.binary_start == 0) {
            let (size, kind, start) = (length(at)?, word(at + 4)?, at + CHUNK_HEADER);
            let end = start.saturating_add(size);
            let Some(content) = bytes.get(start..end).filter(|_| end <= total) else {
                return Err(fault(Place::Byte(at as u64), format!("a chunk of {size} bytes goes beyond the file")));
            };
            match &kind {
                b"JSON" if chunks.json_start == 0 => (chunks.json, chunks.json_start) = (content, start),
                b"BIN\0" if chunks.binary_start == 0 => (chunks.binary, chunks.binary_start) = (content, start),
                // Chunks of other kinds are to be ignored.
                _ => {}
            }
            at = end;
        }
        match chunks.json_start {
            0 => Err(fault(Place::Byte(HEADER as u64), "there is no JSON chunk")),
            _ => Ok(chunks),
        }
    }
}

/// Where in the file an error of the JSON is.
fn json_offset(chunks: &Chunks<'_>, error: &json::Error) -> u64 {
    let lines = chunks.json.split(|byte| *byte == b'\n');
    let before: usize = lines.take(error.line().saturating_sub(1)).map(|line| line.len() + 1).sum();
    let offset = (before + error.column().saturating_sub(1)).min(chunks.json.len());
    (chunks.json_start + offset) as u64
}

struct Reader<'a> {
    root: &'a json::Root,
    chunks: Chunks<'a>,
    raw: Raw,
    /// The set of names of each mesh that was used without a name of the node's own.
    sets: Vec<Option<u32>>,
    /// How many were read; few bytes can ask for many of them, also for many that are empty.
    primitives: usize,
    options: &'a Options,
}

/// A checked accessor: elements of some components in the BIN chunk.
struct Elements<'a> {
    /// From the first byte of the first element to the last of the last.
    bytes: &'a [u8],
    /// Where that is in the file.
    start: u64,
    count: usize,
    stride: usize,
    width: usize,
    kind: ComponentType,
    normalized: bool,
}

impl Elements<'_> {
    fn at(&self, index: usize) -> u64 {
        self.start + (index * self.stride) as u64
    }

    fn component(&self, index: usize, component: usize) -> &[u8] {
        let at = index * self.stride + component * self.kind.size();
        self.bytes.get(at..at + self.kind.size()).unwrap_or_default()
    }

    fn number(&self, index: usize, component: usize) -> f32 {
        // The largest value of a normalized integer is 1; signed ones have one below −1.
        let scaled = |value: f32, most: f32| if self.normalized { (value / most).max(-1.0) } else { value };
        match (self.kind, self.component(index, component)) {
            (ComponentType::I8, [a]) => scaled(i8::from_le_bytes([*a]).into(), 127.0),
            (ComponentType::U8, [a]) => scaled((*a).into(), 255.0),
            (ComponentType::I16, [a, b]) => scaled(i16::from_le_bytes([*a, *b]).into(), 32767.0),
            (ComponentType::U16, [a, b]) => scaled(u16::from_le_bytes([*a, *b]).into(), 65535.0),
            (ComponentType::F32, [a, b, c, d]) => f32::from_le_bytes([*a, *b, *c, *d]),
            _ => f32::NAN,
        }
    }

    fn index(&self, index: usize) -> u32 {
        match (self.kind, self.component(index, 0)) {
            (ComponentType::U8, [a]) => (*a).into(),
            (ComponentType::U16, [a, b]) => u16::from_le_bytes([*a, *b]).into(),
            (ComponentType::U32, [a, b, c, d]) => u32::from_le_bytes([*a, *b, *c, *d]),
            _ => u32::MAX,
        }
    }
}

impl<'a> Reader<'a> {
    fn fault(&self, reason: impl Into<String>) -> crate::error::Error {
        fault(Place::Byte(self.chunks.json_start as u64), reason)
    }

    /// The nodes with a mesh and where they are, in the order of the file's tree; all nodes where there is no scene.
    fn placed(&self) -> Result<Vec<(&'a json::Node, DMat4)>> {
        let nodes = &self.root.nodes;
        let scene = self.root.scene.map_or(0, |scene| scene.value());
        let mut stack: Vec<(usize, DMat4)> = match self.root.scenes.get(scene) {
            Some(scene) => scene.nodes.iter().rev().map(|node| (node.value(), DMat4::IDENTITY)).collect(),
            None => {
                let mut child = vec![false; nodes.len()];
                for index in nodes.iter().flat_map(|node| node.children.iter().flatten()) {
                    if let Some(child) = child.get_mut(index.value()) {
                        *child = true;
                    }
                }
                (0..nodes.len()).rev().filter(|node| !child[*node]).map(|node| (node, DMat4::IDENTITY)).collect()
            }
        };
        let mut seen = vec![false; nodes.len()];
        let mut placed = Vec::new();
        while let Some((index, parent)) = stack.pop() {
            let node = nodes.get(index).ok_or_else(|| self.fault(format!("there is no node {index}")))?;
            // A tree has no node twice; this also ends loops.
            if std::mem::replace(&mut seen[index], true) {
                return Err(self.fault(format!("node {index} has two parents")));
            }
            let transform = parent * local(node);
            if node.mesh.is_some() {
                placed.push((node, transform));
            }
            let children = node.children.iter().flatten().rev();
            stack.extend(children.map(|child| (child.value(), transform)));
        }
        Ok(placed)
    }

    fn read_node(&mut self, node: &json::Node, transform: DMat4) -> Result<()> {
        let Some(index) = node.mesh.map(|mesh| mesh.value()) else { return Ok(()) };
        let root = self.root;
        let mesh = root.meshes.get(index).ok_or_else(|| self.fault(format!("there is no mesh {index}")))?;
        let set = match (node.name.as_ref(), self.sets[index], mesh.name.as_ref()) {
            (Some(name), ..) => self.open_set(name)?,
            (None, Some(set), _) => set,
            (None, None, Some(name)) => self.open_set(name)?,
            _ => 0,
        };
        if node.name.is_none() {
            self.sets[index] = Some(set);
        }
        // Primitives of different materials often share their vertices: those are read once.
        let mut known = BTreeMap::new();
        for primitive in &mesh.primitives {
            self.primitives += 1;
            if self.primitives > self.options.most_faces {
                let most = self.options.most_faces;
                return Err(self.fault(format!("there are more than {most} primitives (most_faces)")));
            }
            self.read_primitive(primitive, transform, [set, 0], &mut known)?;
        }
        Ok(())
    }

    fn open_set(&mut self, name: &str) -> Result<u32> {
        let at = self.chunks.json_start as u64;
        let number = self.raw.name(name.to_owned(), at)?;
        Ok(self.raw.set(vec![number], at))
    }

    fn read_primitive(
        &mut self,
        primitive: &json::mesh::Primitive,
        transform: DMat4,
        sets: [u32; 2],
        known: &mut BTreeMap<[Option<usize>; 3], (u32, usize)>,
    ) -> Result<()> {
        let Checked::Valid(mode) = primitive.mode else { return Err(self.fault("a primitive has an unknown mode")) };
        if mode == Mode::Points {
            return Ok(());
        }
        let attribute = |semantic| primitive.attributes.get(&Checked::Valid(semantic)).map(|accessor| accessor.value());
        let key = [attribute(Semantic::Positions), attribute(Semantic::TexCoords(0)), attribute(Semantic::Colors(0))];
        let (first, count) = match known.get(&key) {
            Some(vertices) => *vertices,
            None => {
                let vertices = self.read_vertices(key, transform)?;
                known.insert(key, vertices);
                vertices
            }
        };
        let indices = match primitive.indices {
            None => None,
            Some(accessor) => Some(self.elements(accessor.value(), &[Type::Scalar], "indices")?),
        };
        let total = indices.as_ref().map_or(count, |indices| indices.count);
        let json_start = self.chunks.json_start as u64;
        let corner = |place: usize| -> Result<(u32, u64)> {
            let Some(indices) = &indices else { return Ok((first + place as u32, json_start)) };
            let (vertex, at) = (indices.index(place), indices.at(place));
            if vertex as usize >= count {
                return Err(fault(Place::Byte(at), format!("index {vertex} names no vertex: there are {count}")));
            }
            Ok((first + vertex, at))
        };
        // A mirror turns faces inside out, unless their corners are turned, too.
        let mirrored = transform.determinant() < 0.0;
        let (raw, options) = (&mut self.raw, self.options);
        let mut add = |places: [usize; 3]| -> Result<()> {
            let [(a, at), (b, _), (c, _)] = [corner(places[0])?, corner(places[1])?, corner(places[2])?];
            raw.add_polygon(&if mirrored { [a, c, b] } else { [a, b, c] }, at, sets, options)
        };
        match mode {
            Mode::Triangles => (0..total / 3).try_for_each(|face| add([3 * face, 3 * face + 1, 3 * face + 2])),
            Mode::TriangleStrip => (2..total).try_for_each(|last| {
                // Every second triangle of a strip runs backwards.
                let turned = last % 2;
                add([last - 2, last - 1 + turned, last - turned])
            }),
            Mode::TriangleFan => (2..total).try_for_each(|last| add([0, last - 1, last])),
            _ => {
                let line = |from, to| -> Result<()> {
                    let [(a, at), (b, _)] = [corner(from)?, corner(to)?];
                    let ends = [a, b].map(|corner| raw.corners[corner as usize].vertex);
                    raw.add_line(ends, at, sets, options)
                };
                lines(mode, total, line)
            }
        }
    }

    /// Reads vertices; the number of the first corner, and how many there are.
    fn read_vertices(&mut self, key: [Option<usize>; 3], transform: DMat4) -> Result<(u32, usize)> {
        let [positions, uvs, colors] = key;
        let positions = positions.ok_or_else(|| self.fault("a primitive has no POSITION"))?;
        let positions = self.elements(positions, &[Type::Vec3], "POSITION")?;
        let uvs = uvs.map(|uvs| self.elements(uvs, &[Type::Vec2], "TEXCOORD_0")).transpose()?;
        let colors = colors.map(|colors| self.elements(colors, &[Type::Vec3, Type::Vec4], "COLOR_0")).transpose()?;
        let count = positions.count;
        for (name, other) in [("TEXCOORD_0", &uvs), ("COLOR_0", &colors)] {
            if let Some(other) = other.as_ref().filter(|other| other.count != count) {
                let reason = format!("there are {} {name} for {count} vertices", other.count);
                return Err(fault(Place::Byte(other.start), reason));
            }
        }
        let raw = &mut self.raw;
        raw.check_vertices(count, positions.start, self.options)?;
        let (first, first_corner) = (raw.positions.len(), raw.corners.len() as u32);
        raw.textured |= uvs.is_some();
        if colors.is_some() || !raw.colors.is_empty() {
            raw.colors.resize(first + count, [1.0; 4]);
        }
        for vertex in 0..count {
            let at = positions.at(vertex);
            let [x, y, z] = [0, 1, 2].map(|axis| f64::from(positions.number(vertex, axis)));
            raw.positions.push(transform.transform_point3(DVec3::new(x, y, z)).as_vec3().to_array());
            raw.places.push(at);
            let uv = uvs.as_ref().map_or([0.0; 2], |uvs| [0, 1].map(|axis| uvs.number(vertex, axis)));
            raw.corners.push(Corner { vertex: (first + vertex) as u32, uv });
            let mut finite = uv.iter().all(|number| number.is_finite());
            if let Some(colors) = &colors {
                for channel in 0..colors.width {
                    let value = colors.number(vertex, channel);
                    finite &= value.is_finite();
                    raw.colors[first + vertex][channel] = value;
                }
            }
            if !finite {
                return Err(fault(Place::Byte(at), "a texture coordinate or color of the vertex is not finite"));
            }
        }
        Ok((first_corner, count))
    }

    /// An accessor whose every byte is in the BIN chunk.
    fn elements(&self, index: usize, allowed: &[Type], what: &str) -> Result<Elements<'a>> {
        let wrong = |reason: &str| self.fault(format!("accessor {index} ({what}) {reason}"));
        let accessor = self.root.accessors.get(index).ok_or_else(|| wrong("does not exist"))?;
        let (Checked::Valid(kind), Checked::Valid(shape)) = (accessor.component_type, accessor.type_) else {
            return Err(wrong("has an unknown type"));
        };
        let kind = kind.0;
        let known = match what {
            "indices" => matches!(kind, ComponentType::U8 | ComponentType::U16 | ComponentType::U32),
            _ => kind != ComponentType::U32,
        };
        if !known || !allowed.contains(&shape) {
            return Err(wrong("has a type that it must not have"));
        }
        let width = match shape {
            Type::Scalar => 1,
            Type::Vec2 => 2,
            Type::Vec3 => 3,
            _ => 4,
        };
        if accessor.sparse.is_some() {
            return Err(wrong("is sparse, which is not supported"));
        }
        let view = accessor.buffer_view.ok_or_else(|| wrong("has no data"))?;
        let view = self.root.buffer_views.get(view.value()).ok_or_else(|| wrong("has a view that does not exist"))?;
        let buffer = self.root.buffers.get(view.buffer.value()).ok_or_else(|| wrong("has no buffer"))?;
        if buffer.uri.is_some() || view.buffer.value() != 0 {
            return Err(wrong("is outside of this file's BIN chunk; export it as one .glb"));
        }
        let size = |value: json::validation::USize64| usize::try_from(value.0).unwrap_or(usize::MAX);
        let view_start = view.byte_offset.map_or(0, size);
        let view_end = view_start.saturating_add(size(view.byte_length));
        let start = view_start.saturating_add(accessor.byte_offset.map_or(0, size));
        let element = width * kind.size();
        let stride = view.byte_stride.map_or(element, |stride| stride.0);
        if stride < element {
            return Err(wrong("has elements that overlap"));
        }
        let count = size(accessor.count);
        let length = match count {
            0 => 0,
            _ => stride.saturating_mul(count - 1).saturating_add(element),
        };
        let end = start.saturating_add(length);
        let bytes = self.chunks.binary.get(start..end).filter(|_| end <= view_end);
        let bytes = bytes.ok_or_else(|| {
            wrong(&format!("has {count} elements, up to byte {end} of {}", self.chunks.binary.len().min(view_end)))
        })?;
        let start = (self.chunks.binary_start + start) as u64;
        Ok(Elements { bytes, start, count, stride, width, kind, normalized: accessor.normalized })
    }
}

fn lines(mode: Mode, total: usize, mut line: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
    if mode == Mode::Lines {
        return (0..total / 2).try_for_each(|index| line(2 * index, 2 * index + 1));
    }
    (1..total).try_for_each(|end| line(end - 1, end))?;
    if mode == Mode::LineLoop && total > 2 { line(total - 1, 0) } else { Ok(()) }
}

fn local(node: &json::Node) -> DMat4 {
    if let Some(matrix) = node.matrix {
        return DMat4::from_cols_array(&matrix.map(f64::from));
    }
    let vector = |vector: [f32; 3]| DVec3::from_array(vector.map(f64::from));
    let rotation = DQuat::from_array(node.rotation.unwrap_or_default().0.map(f64::from));
    // Not quite a unit quaternion would scale; one without direction turns nothing.
    let rotation = if rotation.length() > 0.0 { rotation.normalize() } else { DQuat::IDENTITY };
    let scale = vector(node.scale.unwrap_or([1.0; 3]));
    DMat4::from_scale_rotation_translation(scale, rotation, vector(node.translation.unwrap_or_default()))
}
