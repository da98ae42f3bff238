//! One error type for the whole crate.
//!
//! Errors are for bad input and broken devices. A solver that does not reach its limit is no error:
//! that is data in the report.

use std::fmt;
use std::path::PathBuf;

/// [`std::result::Result`] with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can be wrong with the input, a file or a device.
///
/// `field` is the name of the offending field as it is written in the settings struct.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A [`crate::Cancel`] stopped the frame; it was taken back.
    #[error("the frame was cancelled; the cloth is as it was before")]
    Cancelled,

    /// A checkpoint cannot be made or taken.
    #[error("the checkpoint is refused: {problem}")]
    Checkpoint {
        /// Why.
        problem: String,
    },

    /// A coordinate is NaN or infinite.
    #[error("{field}[{index}] is not finite")]
    NotFinite {
        /// The list that holds the value.
        field: &'static str,
        /// Its place in the list.
        index: usize,
    },

    /// An index names a vertex that does not exist.
    #[error("{field}[{index}] names vertex {value}, but there are only {count} vertices")]
    IndexOutOfRange {
        /// The list that holds the index.
        field: &'static str,
        /// The entry that holds it.
        index: usize,
        /// The vertex it names.
        value: u32,
        /// How many vertices there are.
        count: usize,
    },

    /// A number is outside what it may be; NaN is outside everything.
    #[error("{field}{} is {}, but must be {expected}", subscript(*index), number(*value))]
    OutOfRange {
        /// The field that holds the number.
        field: &'static str,
        /// Its place, if the field is a list.
        index: Option<usize>,
        /// The number.
        value: f64,
        /// What is allowed, with its unit.
        expected: &'static str,
    },

    /// A list that needs at least one entry has none.
    #[error("{field} is empty")]
    Empty {
        /// The list.
        field: &'static str,
    },

    /// A list has another length than something else demands.
    #[error("{field} has {found} entries, but needs {expected}")]
    LengthMismatch {
        /// The list.
        field: &'static str,
        /// How many entries it needs.
        expected: usize,
        /// How many it has.
        found: usize,
    },

    /// A face, a line or an override names one vertex twice.
    #[error("{field}[{index}] names vertex {vertex} twice")]
    RepeatedVertex {
        /// The list that holds the face, line or override.
        field: &'static str,
        /// Its place in the list.
        index: usize,
        /// The vertex.
        vertex: u32,
    },

    /// More faces and lines meet at a vertex than can be simulated in any time.
    #[error("{degree} faces and lines meet at vertex {vertex}, but at most {most} may")]
    Degree {
        /// The vertex.
        vertex: u32,
        /// How many meet there.
        degree: u32,
        /// How many may.
        most: u32,
    },

    /// A body has a hole: an edge belongs to one triangle only.
    #[error("the body is open: the edge between vertices {a} and {b} belongs to one triangle only")]
    OpenEdge {
        /// The lower vertex.
        a: u32,
        /// The higher vertex.
        b: u32,
    },

    /// An edge of a body belongs to more than two triangles.
    #[error("the edge between vertices {a} and {b} belongs to {count} triangles, but must belong to two")]
    NonManifoldEdge {
        /// The lower vertex.
        a: u32,
        /// The higher vertex.
        b: u32,
        /// Triangles at the edge.
        count: usize,
    },

    /// Two triangles run along their common edge in the same direction: one of them faces inward.
    #[error("the two triangles at the edge between vertices {a} and {b} face opposite sides of the surface")]
    FlippedEdge {
        /// The lower vertex.
        a: u32,
        /// The higher vertex.
        b: u32,
    },

    /// A connected part of a body is inside out or encloses nothing.
    #[error("the body is inverted: the part with triangles[{triangle}] encloses {volume:e} m³, but must face outward")]
    Inverted {
        /// The first triangle of the part.
        triangle: usize,
        /// Its signed volume, m³, not above zero.
        volume: f64,
    },

    /// A distance grid would be larger than allowed.
    #[error("the distance grid needs {needed} bytes, but may only have {limit}")]
    GridMemory {
        /// What the grid needs.
        needed: u64,
        /// What it may have.
        limit: u64,
    },

    /// The host has not enough memory.
    #[error("the cloth needs about {} of memory{}", megabytes(*needed), free(*available))]
    Memory {
        /// Bytes that are needed, about.
        needed: u64,
        /// Bytes that are there, where that is known.
        available: Option<u64>,
    },

    /// A solid that does not exist was named.
    #[error("there is no solid {solid}: the scene has {count}")]
    NoSuchSolid {
        /// Its number.
        solid: usize,
        /// How many there are.
        count: usize,
    },

    /// A group that the mesh does not have was named.
    #[error("the mesh has no group {name:?}; it has {known}")]
    UnknownGroup {
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },

    /// Two vertices joined by an edge or a spring are in the same place at rest.
    #[error("the edge between vertices {a} and {b} has no length at rest")]
    ZeroLengthEdge {
        /// The lower vertex.
        a: u32,
        /// The higher vertex.
        b: u32,
    },

    /// Two faces have the same vertices.
    #[error("faces[{index}] has the same vertices as faces[{first}]")]
    DuplicateFace {
        /// The later face.
        index: usize,
        /// The earlier face.
        first: usize,
    },

    /// Two overrides demand different things of one edge.
    #[error("two overrides disagree about the edge between vertices {a} and {b}")]
    ConflictingOverride {
        /// The lower vertex.
        a: u32,
        /// The higher vertex.
        b: u32,
    },

    /// An override names a pair of vertices that is neither an edge nor a diagonal of a quad.
    #[error("an override names the edge between vertices {a} and {b}, but there is none")]
    NoSuchEdge {
        /// The lower vertex.
        a: u32,
        /// The higher vertex.
        b: u32,
    },

    /// The density gives a free vertex no mass: no face or line with any extent touches it.
    #[error("vertex {index} gets no mass from the density: pin it or give masses per vertex")]
    MasslessVertex {
        /// The vertex.
        index: usize,
    },

    /// No ready scene has this name.
    #[error("there is no scene {name:?}; known scenes are {known}")]
    UnknownScene {
        /// The name that was asked for.
        name: String,
        /// The names there are, separated by commas.
        known: String,
    },

    /// A ready scene cannot be made in this size.
    #[error("scene {name} cannot have size {size}: it must be between {least} and {most}")]
    SceneSize {
        /// The scene.
        name: &'static str,
        /// The size that was asked for.
        size: u32,
        /// The smallest size.
        least: u32,
        /// The largest size.
        most: u32,
    },

    /// A strain limit that 32-bit positions of this size cannot hold.
    #[error("a strain limit of {limit:e} is below {least:e}, the least that 32-bit positions of this size can hold")]
    StrainLimit {
        /// The limit that was asked for.
        limit: f32,
        /// The smallest that is accepted.
        least: f32,
    },

    /// A thickness that 32-bit positions of this size cannot hold.
    #[error(
        "a thickness of {thickness:e} m is below {least:e} m, the least that 32-bit positions of this size can hold"
    )]
    Thickness {
        /// The thickness that would be used: at most half of the shortest edge.
        thickness: f32,
        /// The smallest that is accepted.
        least: f32,
    },

    /// Cloth that must not passes through itself.
    #[error(
        "the cloth passes through itself in {crossings} places along {contours} contours, {closed} of them closed: the edge of vertices {edge:?} meets the triangle of vertices {triangle:?}"
    )]
    Tangled {
        /// Number of pairs of an edge and a triangle.
        crossings: usize,
        /// Number of lines along which it does ([`crate::mesh::surface::Surface::contours`]).
        contours: usize,
        /// Number of those that have no end.
        closed: usize,
        /// Ends of the first of these edges.
        edge: [u32; 2],
        /// Corners of the triangle.
        triangle: [u32; 3],
    },

    /// Explicit springs would be unstable at this step.
    #[error("too few substeps for the shear springs of this cloth: {substeps}, where {needed} would do")]
    StepTooLarge {
        /// Substeps that were asked for.
        substeps: u32,
        /// Substeps that would do.
        needed: u32,
    },

    /// A setting that a cloth keeps was to be changed.
    #[error("{field} cannot be changed: the cloth was made with them")]
    Fixed {
        /// The setting.
        field: &'static str,
    },

    /// A command names a vertex that cannot follow it.
    #[error("{field}[{index}] names vertex {vertex}, which is {problem}")]
    Command {
        /// The list that holds the command.
        field: &'static str,
        /// Its place in the list.
        index: usize,
        /// The vertex.
        vertex: u32,
        /// Why it cannot follow.
        problem: &'static str,
    },

    /// A WGSL file does not parse, or is not what a kernel must be.
    #[error("shader: {message}")]
    Shader {
        /// What is wrong.
        message: String,
    },

    /// A field or kernel does not fit the table of fields.
    #[error("field `{name}` {problem}")]
    Field {
        /// The field.
        name: String,
        /// What is wrong.
        problem: String,
    },

    /// A program has more loops than guard words.
    #[error("the program has {loops} loops, but there are guards for {most}")]
    TooManyLoops {
        /// Loops.
        loops: usize,
        /// Guard words for loops.
        most: usize,
    },

    /// The dispatch budget of an encoded step is too small for a single iteration of everything.
    #[error("a budget of {budget} dispatches is too small: one iteration per substep takes {needed}")]
    Budget {
        /// The budget.
        budget: u64,
        /// What one iteration of everything takes.
        needed: u64,
    },

    /// There is no such adapter.
    #[error("there is no graphics adapter {what}")]
    NoAdapter {
        /// Which adapter was asked for.
        what: String,
    },

    /// An adapter without compute shaders.
    #[error("adapter {adapter} has no compute shaders")]
    NoCompute {
        /// The adapter.
        adapter: String,
    },

    /// A limit of the device is too low.
    #[error("the device's {limit} is {available}, but {needed} is needed")]
    Limit {
        /// Name of the limit in [`wgpu::Limits`].
        limit: &'static str,
        /// What is needed.
        needed: u64,
        /// What the device has.
        available: u64,
    },

    /// The device is lost or was destroyed: nothing can be computed on it or read from it any more. A new device and
    /// the last checkpoint bring the cloth back ([`crate::Cloth::restore`]).
    #[error("the device is lost")]
    DeviceLost,

    /// The device failed.
    #[error("the device failed: {message}")]
    Device {
        /// What wgpu said.
        message: String,
    },

    /// A call that only makes sense for a cloth on the GPU.
    #[error("this cloth runs on the CPU, which has no {what}")]
    NotOnGpu {
        /// What was asked for.
        what: &'static str,
    },

    /// A buffer of the host's cannot be used.
    #[error("the buffer of {name} {problem}")]
    HostBuffer {
        /// What it holds.
        name: &'static str,
        /// What is wrong with it.
        problem: String,
    },

    /// The two backends disagree.
    #[error("{0}")]
    Mismatch(Box<Mismatch>),

    /// A scene file says something that cannot be.
    #[error("{file}:{line}:{column}: {problem}")]
    SceneFile {
        /// The file as the caller named it.
        file: String,
        /// The line, from 1 on.
        line: usize,
        /// The character in the line, from 1 on.
        column: usize,
        /// The key with the tables it is in, e.g. `solids[0].radius`; empty where the file is no TOML.
        key: String,
        /// What is wrong, the key included.
        problem: String,
    },

    /// The operating system refused to read or write a file.
    #[error("cannot access {}", path.display())]
    Io {
        /// The file as the caller named it.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },

    /// A file was read, but does not hold what its format demands.
    #[error("{} is malformed: {reason}", path.display())]
    Malformed {
        /// The file as the caller named it.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// A picture cannot be written under this name.
    #[error("{} cannot hold a picture: its name must end in .png or .gif", path.display())]
    PictureFormat {
        /// The file as the caller named it.
        path: PathBuf,
    },

    /// The name of a file to be written does not say what, or how often.
    #[error("{} {problem}", path.display())]
    Pattern {
        /// The name.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },

    /// A mesh cannot be read from a file.
    #[cfg(feature = "import")]
    #[error("cannot import {}{}: {reason}", name(path.as_deref()), place.after_name())]
    Import {
        /// The file as the caller named it, if there is one.
        path: Option<PathBuf>,
        /// Where in it.
        place: Place,
        /// What is wrong.
        reason: String,
    },
}

/// Where two backends differ first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Mismatch {
    /// Kernel whose result differs.
    pub kernel: &'static str,
    /// How many dispatches ran before it.
    pub dispatch: u64,
    /// Field that differs.
    pub field: &'static str,
    /// Element of the field.
    pub element: usize,
    /// 32-bit word inside the element.
    pub word: usize,
    /// Value on the CPU (the bits of an integer as a float where the field holds integers).
    pub cpu: f32,
    /// Value on the GPU.
    pub gpu: f32,
    /// Difference that would have been accepted.
    pub bound: f32,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, dispatch, field, element, word, cpu, gpu, bound } = self;
        write!(
            formatter,
            "kernel `{kernel}` (dispatch {dispatch}): {field}[{element}].{word} is {cpu:e} ({:#010x}) on the CPU and \
             {gpu:e} ({:#010x}) on the GPU; {bound:e} would have been accepted",
            cpu.to_bits(),
            gpu.to_bits(),
        )
    }
}

#[cfg(feature = "import")]
/// Where in a file something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nowhere in particular.
    File,
    /// A line of text, counted from 1.
    Line(u64),
    /// A byte, counted from 0.
    Byte(u64),
}

#[cfg(feature = "import")]
impl Place {
    /// As it follows the name of a file in a message.
    pub(crate) fn after_name(self) -> String {
        if self == Self::File { String::new() } else { format!(", {self}") }
    }
}

#[cfg(feature = "import")]
impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => write!(formatter, "the file"),
            Self::Line(line) => write!(formatter, "line {line}"),
            Self::Byte(byte) => write!(formatter, "byte {byte}"),
        }
    }
}

#[cfg(feature = "import")]
fn name(path: Option<&std::path::Path>) -> String {
    path.map_or_else(|| "the mesh".to_owned(), |path| path.display().to_string())
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}

fn free(available: Option<u64>) -> String {
    available.map_or_else(
        || ", which cannot be had".to_owned(),
        |available| format!(", but only {} are free", megabytes(available)),
    )
}

/// A number as people write it: with an exponent where there would be many digits.
pub(crate) fn number(value: f64) -> String {
    let plain = value == 0.0 || !value.is_finite() || (1e-6..1e16).contains(&value.abs());
    if plain { value.to_string() } else { format!("{value:e}") }
}

fn subscript(index: Option<usize>) -> String {
    index.map_or_else(String::new, |index| format!("[{index}]"))
}

/// An [`Error::OutOfRange`] unless the value is valid.
pub(crate) fn within(field: &'static str, value: f64, valid: bool, expected: &'static str) -> Result<()> {
    if valid { Ok(()) } else { Err(Error::OutOfRange { field, index: None, value, expected }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_field_index_and_value() {
        let out_of_range = |index| Error::OutOfRange { field: "mass", index, value: -1.0, expected: "above zero" };
        assert_eq!(out_of_range(Some(3)).to_string(), "mass[3] is -1, but must be above zero");
        assert_eq!(out_of_range(None).to_string(), "mass is -1, but must be above zero");
        let index = Error::IndexOutOfRange { field: "faces", index: 2, value: 9, count: 4 };
        assert_eq!(index.to_string(), "faces[2] names vertex 9, but there are only 4 vertices");
    }
}
