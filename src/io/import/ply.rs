//! PLY, ASCII and binary.
//!
//! The library reads the header and single elements. The loop over them is here: it checks counts against the bytes
//! that are there, knows where in the file it is, and never ends up in an element without properties, of which a header
//! may promise any number.

use std::collections::HashMap;

use ply_rs_bw::parser::{Parser, Reader};
use ply_rs_bw::ply::{
    ElementDef, Encoding, Header, Property, PropertyAccess, PropertyAccessResult, PropertyType, ScalarType,
};

use super::raw::{Corner, Raw};
use super::{Options, Place, fault, quote};
use crate::error::Result;

pub(super) fn parse(bytes: &[u8], options: &Options) -> Result<Raw> {
    let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // What the library does with a header grows with the square of its length.
    let beginning = &body[..body.len().min(LONGEST_HEADER)];
    let ends = beginning.windows(END.len()).any(|window| window == END);
    if !ends && body.len() > LONGEST_HEADER && body.starts_with(b"ply") {
        return Err(fault(Place::Line(1), format!("the header does not end within {LONGEST_HEADER} bytes")));
    }
    let mut reader = Reader::new(if ends { body } else { beginning });
    let header = Parser::<Skipped>::new().read_header(&mut reader).map_err(|error| {
        // Of all errors without a line only one is about a line: bytes that are no text.
        let unknown = if error.kind() == std::io::ErrorKind::InvalidData { reader.line() } else { 1 };
        let line = error.line().unwrap_or(unknown);
        fault(Place::Line(line as u64), first_line(&error.to_string()))
    })?;
    let rest = reader.into_inner();
    let text = header.encoding == Encoding::Ascii;
    let head = &body[..body.len() - rest.len()];
    check_header(head, &header)?;
    let line = head.iter().filter(|byte| **byte == b'\n').count() as u64;
    let mut source = Source { all: bytes.len(), rest, line, encoding: header.encoding };

    let mut mesh = Mesh { raw: Raw::new(text), faces: Vec::new(), edges: Vec::new(), options };
    for definition in header.elements.values() {
        source.check_count(definition, line_of(head, &definition.name))?;
        match definition.name.as_str() {
            "vertex" => mesh.read_vertices(&mut source, definition)?,
            "face" => {
                for _ in 0..definition.count {
                    let (at, face) = source.element::<FaceRow>(definition)?;
                    mesh.raw.check_faces(mesh.faces.len(), at, options)?;
                    mesh.faces.push((at, face));
                }
            }
            "edge" => {
                for _ in 0..definition.count {
                    let (at, edge) = source.element::<EdgeRow>(definition)?;
                    mesh.raw.check_faces(mesh.edges.len(), at, options)?;
                    mesh.edges.push((at, edge.0));
                }
            }
            _ => {
                for _ in 0..definition.count {
                    source.element::<Skipped>(definition)?;
                }
            }
        }
    }
    mesh.finish()
}

/// A header that defines something twice is read by the library as if it did so once.
fn check_header(head: &[u8], header: &Header) -> Result<()> {
    let mut found: Vec<(Vec<u8>, usize)> = Vec::new();
    for (line, text) in (1..).zip(head.split(|byte| *byte == b'\n')) {
        let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        match words.next() {
            Some(b"element") => {
                let name = words.next().unwrap_or_default();
                if found.iter().any(|(other, _)| other == name) {
                    return Err(fault(Place::Line(line), format!("element {} is there twice", quote(name))));
                }
                found.push((name.to_vec(), 0));
                if found.len() > MOST_ELEMENTS {
                    return Err(fault(Place::Line(line), format!("there are more than {MOST_ELEMENTS} elements")));
                }
            }
            Some(b"property") => {
                let Some((name, count)) = found.last_mut() else { continue };
                *count += 1;
                let known = header.elements.get(String::from_utf8_lossy(name).as_ref());
                if known.is_some_and(|known| *count > known.properties.len()) {
                    return Err(fault(Place::Line(line), "a property is there twice"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

const END: &[u8] = b"\nend_header";
const LONGEST_HEADER: usize = 1 << 16;
/// Longest line of an element in ASCII: a face of more than 100,000 corners. Words take more memory than their bytes.
const LONGEST_LINE: usize = 1 << 20;
/// A mesh has two or three.
const MOST_ELEMENTS: usize = 64;

/// The line of the header that defines an element.
fn line_of(head: &[u8], name: &str) -> u64 {
    let defines = |line: &[u8]| {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.next() == Some(b"element") && words.next() == Some(name.as_bytes())
    };
    head.split(|byte| *byte == b'\n').position(defines).map_or(1, |line| line as u64 + 1)
}

/// What is left of the file.
struct Source<'a> {
    all: usize,
    rest: &'a [u8],
    /// The last line that was read, in ASCII.
    line: u64,
    encoding: Encoding,
}

impl<'a> Source<'a> {
    /// Refuses more elements than the rest of the file can hold.
    fn check_count(&self, definition: &ElementDef, line: u64) -> Result<()> {
        let ElementDef { name, count, properties, .. } = definition;
        if *count == 0 {
            return Ok(());
        }
        if properties.is_empty() {
            return Err(fault(Place::Line(line), format!("element {} has no properties", quote(name.as_bytes()))));
        }
        let least: usize = match self.encoding {
            // A digit and what separates it from the next.
            Encoding::Ascii => 2 * properties.len(),
            _ => properties.values().map(|property| least_bytes(&property.data_type)).sum(),
        };
        // The last line may lack its end.
        let room = (self.rest.len() + 1) / least;
        if *count <= room {
            return Ok(());
        }
        let (name, left) = (quote(name.as_bytes()), self.rest.len());
        Err(fault(Place::Line(line), format!("{count} of element {name} do not fit the {left} bytes that are left")))
    }

    /// The next element and where it is.
    fn element<E: PropertyAccess>(&mut self, definition: &ElementDef) -> Result<(u64, E)> {
        let parser = Parser::<E>::new();
        if self.encoding == Encoding::Ascii {
            let line = self.next_line(definition)?;
            let (at, text) = (self.line, std::str::from_utf8(line));
            let element = text.map_err(|error| error.to_string()).and_then(|text| {
                parser.read_ascii_element(text, definition).map_err(|error| first_line(&error.to_string()))
            });
            let name = quote(definition.name.as_bytes());
            let wrong = |reason| fault(Place::Line(at), format!("it does not hold one of element {name}: {reason}"));
            return Ok((at, element.map_err(wrong)?));
        }
        let at = (self.all - self.rest.len()) as u64;
        let element = match self.encoding {
            Encoding::BinaryLittleEndian => parser.read_little_endian_element(&mut self.rest, definition),
            _ => parser.read_big_endian_element(&mut self.rest, definition),
        };
        let name = quote(definition.name.as_bytes());
        let wrong = |reason| fault(Place::Byte(at), format!("there is no whole element {name}: {reason}"));
        Ok((at, element.map_err(|error| wrong(first_line(&error.to_string())))?))
    }

    /// The next line that is not empty.
    fn next_line(&mut self, definition: &ElementDef) -> Result<&'a [u8]> {
        loop {
            if self.rest.is_empty() {
                let name = quote(definition.name.as_bytes());
                return Err(fault(Place::Line(self.line), format!("the file ends before the last element {name}")));
            }
            self.line += 1;
            let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
            let (line, rest) = self.rest.split_at(end);
            self.rest = rest.get(1..).unwrap_or_default();
            let line = line.trim_ascii();
            if line.len() > LONGEST_LINE {
                return Err(fault(Place::Line(self.line), format!("it has more than {LONGEST_LINE} bytes")));
            }
            if !line.is_empty() {
                return Ok(line);
            }
        }
    }
}

fn least_bytes(kind: &PropertyType) -> usize {
    let size = |scalar: &ScalarType| match scalar {
        ScalarType::Char | ScalarType::UChar => 1,
        ScalarType::Short | ScalarType::UShort => 2,
        ScalarType::Int | ScalarType::UInt | ScalarType::Float => 4,
        ScalarType::Double => 8,
    };
    match kind {
        PropertyType::Scalar(scalar) => size(scalar),
        // It may be empty.
        PropertyType::List(count, _) => size(count),
    }
}

/// The library adds the whole line and more to its messages.
fn first_line(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let line = match line.split_once(": ") {
        // The line is said by the place.
        Some((start, rest)) if start.starts_with("Line ") => rest,
        _ => line,
    };
    line.chars().take(120).collect()
}

/// An element nobody asked for.
struct Skipped;

impl PropertyAccess for Skipped {
    fn new() -> Self {
        Self
    }
}

struct VertexRow {
    position: [f32; 3],
    uv: [f32; 2],
    color: [f32; 4],
}

impl PropertyAccess for VertexRow {
    fn new() -> Self {
        Self { position: [0.0; 3], uv: [0.0; 2], color: [1.0; 4] }
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        let place = match name {
            "x" => &mut self.position[0],
            "y" => &mut self.position[1],
            "z" => &mut self.position[2],
            "s" | "u" | "texture_u" => &mut self.uv[0],
            "t" | "v" | "texture_v" => &mut self.uv[1],
            "red" | "diffuse_red" => &mut self.color[0],
            "green" | "diffuse_green" => &mut self.color[1],
            "blue" | "diffuse_blue" => &mut self.color[2],
            "alpha" => &mut self.color[3],
            _ => return PropertyAccessResult::Ignored,
        };
        let Some(value) = property.to_f32_lossy() else { return PropertyAccessResult::UnsupportedType };
        let most = match property {
            _ if name.len() == 1 || name.starts_with("texture") => 1.0,
            Property::UChar(_) => 255.0,
            Property::UShort(_) => 65535.0,
            _ => 1.0,
        };
        *place = value / most;
        PropertyAccessResult::Set
    }
}

#[derive(Default)]
struct FaceRow {
    vertices: Vec<u32>,
    uvs: Vec<f32>,
    /// Whether an index is negative or not whole.
    bad: bool,
}

impl PropertyAccess for FaceRow {
    fn new() -> Self {
        Self::default()
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        match (name, property) {
            ("vertex_indices" | "vertex_index", property) => match property.to_u32_list() {
                Some(vertices) => self.vertices = vertices,
                None => self.bad = true,
            },
            ("texcoord", Property::ListFloat(uvs)) => self.uvs = uvs,
            ("texcoord", Property::ListDouble(uvs)) => self.uvs = uvs.into_iter().map(|uv| uv as f32).collect(),
            _ => return PropertyAccessResult::Ignored,
        }
        PropertyAccessResult::Set
    }
}

/// The two ends; beyond all vertices where one is missing or wrong.
struct EdgeRow([u32; 2]);

impl PropertyAccess for EdgeRow {
    fn new() -> Self {
        Self([u32::MAX; 2])
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        let end = match name {
            "vertex1" => &mut self.0[0],
            "vertex2" => &mut self.0[1],
            _ => return PropertyAccessResult::Ignored,
        };
        *end = match property {
            Property::Char(index) => u32::try_from(index).unwrap_or(u32::MAX),
            Property::UChar(index) => index.into(),
            Property::Short(index) => u32::try_from(index).unwrap_or(u32::MAX),
            Property::UShort(index) => index.into(),
            Property::Int(index) => u32::try_from(index).unwrap_or(u32::MAX),
            Property::UInt(index) => index,
            _ => return PropertyAccessResult::UnsupportedType,
        };
        PropertyAccessResult::Set
    }
}

/// Faces may come before the vertices: they wait until everything was read.
struct Mesh<'a> {
    raw: Raw,
    faces: Vec<(u64, FaceRow)>,
    edges: Vec<(u64, [u32; 2])>,
    options: &'a Options,
}

impl Mesh<'_> {
    fn read_vertices(&mut self, source: &mut Source<'_>, definition: &ElementDef) -> Result<()> {
        let has = |names: &[&str]| names.iter().any(|name| definition.properties.contains_key(*name));
        let raw = &mut self.raw;
        let colored = has(&["red", "diffuse_red"]);
        raw.textured = has(&["s", "u", "texture_u"]);
        for _ in 0..definition.count {
            let (at, vertex) = source.element::<VertexRow>(definition)?;
            if let Some(axis) = ["x", "y", "z"].into_iter().find(|axis| !has(&[axis])) {
                return Err(fault(raw.place(at), format!("vertices have no {axis}")));
            }
            raw.check_vertices(1, at, self.options)?;
            if !vertex.uv.iter().chain(&vertex.color).all(|number| number.is_finite()) {
                return Err(fault(raw.place(at), "a texture coordinate or color is not finite"));
            }
            raw.corners.push(Corner { vertex: raw.positions.len() as u32, uv: vertex.uv });
            raw.positions.push(vertex.position);
            raw.places.push(at);
            if colored {
                raw.colors.push(vertex.color);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Raw> {
        let raw = &mut self.raw;
        let count = raw.positions.len();
        // Texture coordinates of faces make more corners than there are vertices. Only looked up.
        let mut corners: HashMap<(u32, [u32; 2]), u32> = HashMap::new();
        for (at, face) in self.faces {
            if face.bad {
                return Err(fault(raw.place(at), "an index of the face is negative or not a whole number"));
            }
            if let Some(vertex) = face.vertices.iter().find(|vertex| **vertex as usize >= count) {
                return Err(fault(raw.place(at), format!("it names vertex {vertex}, but there are {count}")));
            }
            let mut polygon = face.vertices;
            if face.uvs.len() == 2 * polygon.len() && !polygon.is_empty() {
                raw.textured = true;
                for (corner, uv) in polygon.iter_mut().zip(face.uvs.chunks_exact(2)) {
                    let uv = [uv[0], uv[1]];
                    if !uv.iter().all(|number| number.is_finite()) {
                        return Err(fault(raw.place(at), "a texture coordinate is not finite"));
                    }
                    let vertex = *corner;
                    *corner = *corners.entry((vertex, uv.map(f32::to_bits))).or_insert_with(|| {
                        raw.corners.push(Corner { vertex, uv });
                        raw.corners.len() as u32 - 1
                    });
                }
            }
            raw.add_polygon(&polygon, at, [0, 0], self.options)?;
        }
        for (at, ends) in self.edges {
            if ends.iter().any(|end| *end as usize >= count) {
                return Err(fault(raw.place(at), format!("an edge names no vertex from 0 to {count} − 1")));
            }
            raw.add_line(ends, at, [0, 0], self.options)?;
        }
        Ok(self.raw)
    }
}
