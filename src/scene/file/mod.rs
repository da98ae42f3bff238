//! Scenes as files: TOML, in SI units.
//!
//! `taut scene NAME > file.toml` prints any built-in scene as such a file, `taut run file.toml` simulates it.
//!
//! ```
//! use taut::{Cloth, FrameInput, Scene};
//!
//! let text = r#"
//!     name = "towel"
//!
//!     [cloth]
//!     generator = "sheet"
//!     size = [9, 13]
//!     width = 0.4
//!     height = 0.6
//!     plane = "xy"
//!     material = "cotton"
//!     density = 0.3      # heavier than the preset
//!
//!     [[pins]]
//!     at = "top-left"
//!
//!     [[pins]]
//!     at = "top-right"
//!     [pins.motion]
//!     keys = [{ time = 0.2, translation = [-0.1, 0.0, 0.0] }]
//!
//!     [[solids]]
//!     shape = "sphere"
//!     radius = 0.1
//!     translation = [0.2, -0.3, -0.12]
//! "#;
//! let scene = Scene::from_toml(text, None)?;
//! assert_eq!(scene.mesh.vertex_count(), 117);
//!
//! let script = scene.script.clone();
//! let mut cloth = Cloth::on_cpu(scene)?;
//! script.begin(&mut cloth)?;
//! for frame in 0..12 {
//!     let pin_targets = script.frame(&mut cloth, f64::from(frame) / 60.0, 1.0 / 60.0)?;
//!     cloth.step(&FrameInput { dt: 1.0 / 60.0, pin_targets: &pin_targets })?;
//! }
//! assert!((cloth.snapshot()?.positions[8][0] - 0.3).abs() < 1e-6);
//! # Ok::<(), taut::Error>(())
//! ```
//!
//! An unknown key is an error that suggests the nearest known one; every error names file, line, column and key:
//!
//! ```
//! # use taut::Scene;
//! let error = Scene::from_toml("[cloth]\ngenerator = \"sheet\"\nsise = 9", None).unwrap_err();
//! assert_eq!(error.to_string(), "scene:3:1: there is no key `cloth.sise`; did you mean `size`?");
//! ```
//!
//! # Reference
//!
//! Right-handed, +y is up. Vectors are lists of three numbers. A *rotation* is `{ axis = [x, y, z], degrees = 90.0 }`
//! or a unit quaternion `[x, y, z, w]`. Whole numbers may stand for others (`radius = 1`). Only `[cloth]` is needed.
//! Ranges are those of the library and of the program's options: a number that one of them refuses, all refuse.
//!
//! | Key | Means | Default |
//! |---|---|---|
//! | `name` | what reports call the scene | `"scene"` |
//! | [`[cloth]`](#cloth) | the cloth at rest and where it starts; [several](#several-cloths) are `[[cloth]]` | |
//! | [`[[pins]]`](#pins) | vertices that are held, and their motion | none |
//! | [`[[solids]]`](#solids) | what the cloth meets, and its motion | none |
//! | [`[world]`](#world-and-wind) | gravity and drag | |
//! | [`[wind]`](#world-and-wind) | moving air; the table alone means still air | none |
//! | [`[solver]`](#solver) | how it is simulated | |
//! | [`[output]`](#output) | what the program writes | |
//!
//! ## Cloth
//!
//! One of the keys `generator`, `mesh` and `positions` says where the vertices come from.
//!
//! | Key | Means | Default |
//! |---|---|---|
//! | `generator = "sheet"` | a flat grid of quads, vertex `row * columns + column` | |
//! | `size` | of a sheet: `[columns, rows]` of vertices, or one number for both; of a chain: vertices; 2 … 4096 | |
//! | `width`, `height` | of a sheet: length of a row, of a column \[m\] | 1 |
//! | `plane` | `"xz"`: rows along +x, columns along +z, flat; `"xy"`: columns along −y, upright | `"xz"` |
//! | `generator = "chain"` | vertices on a line along +x | |
//! | `length` | of a chain \[m\] | 1 |
//! | `mesh` | a mesh file in the folder of the scene, or below | |
//! | `pair_triangles` | of a mesh: join triangles that came from quads | `false` |
//! | `warp` | of a mesh: where the warp of triangles runs, see below | `"auto"` |
//! | `scale` | of a mesh: metres per unit of the file, 1e-6 … 1e6 | 1 |
//! | `up` | of a mesh: the axis of the file that points up, `"y"` or `"z"`; z becomes y, and y becomes −z | `"y"` |
//! | `positions`, `faces`, `lines` | points \[m\], lists of 3 or 4 vertices, lists of 2 vertices | |
//! | `warp` | of these: the same, without a texture | `"sides"` |
//! | `material` | a fabric of [`Material`], for all of the following, see below | |
//! | `density` | \[kg/m²\], of lines \[kg/m\]; 1e-9 … 1e9 | that of the material; 0.2, of a chain 0.1 |
//! | `masses` | one per vertex \[kg\], instead of a density | |
//! | `shear` | stiffness of a quad's diagonals, shear modulus of woven triangles \[N/m\] | that of the material; 20 |
//! | `stretch` | tension per width and strain along threads \[N/m\], 1e-3 … 1e9 | `inf`: none |
//! | `bending` | \[N·m\] | that of the material; 0 |
//! | `curved` | bending holds the rest shape as it is, not a flat one | `false` |
//! | `damping` | of internal motion \[s\]: [`Settings::damping`]; one for all cloths | that of the material; 0 |
//! | `[cloth.groups]` | named lists of vertices, beside those of the mesh file | |
//! | `[[cloth.overrides]]` | exceptions for edges, see below | |
//! | `[[cloth.fabrics]]` | [faces of another fabric](#fabrics-of-groups-and-colors) | |
//! | `[[cloth.pins]]` | [pins](#pins) of this cloth | |
//!
//! A material has density, shear, bending and damping, and also the friction and the thickness of solids that say none
//! of their own.
//!
//! `warp` is along the first texture coordinate (`"uv"`), as most sides do (`"sides"`), along an axis (`"x"`, `"y"`,
//! `"z"`) or nowhere (`"off"`); `"auto"` is `"uv"` where there are texture coordinates, else `"sides"`
//! ([`crate::mesh::weave`]). An override has `ends = [a, b]`, a `kind`, and a `rest` length \[m\]. The kinds are those
//! of [`EdgeKind`](crate::EdgeKind): `"inextensible"`, `"rope"`, `"free"`; `"spring"` and `"compliant"` with a
//! `stiffness` \[N/m\]; and `"limited"` with a `stiffness`, a `min` and a `max`, parts of the rest length.
//!
//! A fabric with `stretch` gives way along its threads ([`crate::MeshDescriptor::stretch`]), and what it is stretched
//! counts as strain.
//!
//! `[cloth.start]` is what is done to the rest shape before the first frame, in this order:
//!
//! | Key | Means |
//! |---|---|
//! | `positions` | one point per vertex \[m\] instead of the rest shape |
//! | `span` | distance of the ends of every row \[m\], which becomes an arc, as in [`hang`](super::hang()) |
//! | `scale` | factors along x, y and z |
//! | `rotation` | about the origin |
//! | `translation` | \[m\] |
//! | `noise` | every coordinate of what is neither pinned nor held is moved by at most so much \[m\]: [`Noise`] |
//! | `seed` | which noise it is, a whole number of 64 bits; 0 if it is left out |
//!
//! A noise of 1e-5 m is enough to bend what is flat and upright. One noise moves every cloth: it is said in the first.
//!
//! ## Several cloths
//!
//! Each `[[cloth]]` is a piece of its own, with its generator or mesh, start, fabric and pins. Its vertices are
//! numbered on from those of the cloths before it. Pieces do not touch each other; all of them meet the solids.
//!
//! ```
//! # use taut::Scene;
//! let scene = Scene::from_toml(r#"
//!     [[cloth]]
//!     generator = "sheet"
//!     size = 4
//!     material = "denim"
//!     [[cloth.pins]]
//!     at = "top"
//!
//!     [[cloth]]
//!     generator = "chain"
//!     size = 5
//!     [cloth.start]
//!     translation = [0.0, 0.0, 2.0]
//!     [[cloth.pins]]
//!     at = "first"
//! "#, None)?;
//! assert_eq!((scene.mesh.vertex_count(), scene.mesh.pins()), (21, &[0, 1, 2, 3, 16][..]));
//! # Ok::<(), taut::Error>(())
//! ```
//!
//! ## Fabrics of groups and colors
//!
//! An entry of `[[cloth.fabrics]]` has a `group` (of the mesh file, or of `[cloth.groups]`) or a `color` (of a mesh
//! file: `"RRGGBB"`, or `"RRGGBB~8"` for ±8 of 255 per channel), and says what the faces are made of all of whose
//! vertices are in it: `material`, or `density`, `shear`, `stretch` and `bending`, which are those of the cloth where
//! they are left out; `stretch = inf` does not stretch, and an edge beside such a face does not, either.
//! `strain_limit` is that of its edges, instead of the one of [`[solver]`](#solver), looser or tighter; an edge between
//! two fabrics has the smaller one. Of two entries with one face the later decides. All fabrics have one damping and
//! one friction on each solid: the engine has no others.
//!
//! ## Pins
//!
//! One of the first seven keys chooses the vertices, where the cloth starts. A vertex that moves or is let go may be in
//! one entry only. `[[cloth.pins]]` are of that cloth alone, `[[pins]]` of all cloths together; `at` is for one cloth.
//!
//! | Key | Means | Default |
//! |---|---|---|
//! | `at` | a part of the generator's grid, or a list of such, see below | |
//! | `indices` | a list of vertices; of a mesh file as they are when seams are welded | |
//! | `box` | `{ min = […], max = […] }`, borders included \[m\] | |
//! | `plane` | `{ point = […], normal = […] }`: the side that the normal points to \[m\] | |
//! | `group` | a group of the mesh file or of `[cloth.groups]` | |
//! | `color` | a color of vertices of the mesh file, as in [fabrics](#fabrics-of-groups-and-colors) | |
//! | `channel` | `"red"`, `"green"`, `"blue"` or `"alpha"` of the colors of a mesh file, painted weights: see below | |
//! | `hold` | `"fixed"`, `{ plane = normal }`, `{ line = direction }`, `{ soft = stiffness }`, a spring \[N/m\], or `{ weight = w }` | `"fixed"` |
//! | `until` | when they are let go \[s\] | never |
//! | `[pins.motion]` | [their way](#motion) | at rest |
//! | `center` of it | what it turns about \[m\] | the mean of the vertices' places |
//!
//! Parts of a grid are `"top"` (the first row), `"bottom"`, `"left"` (the first column), `"right"`, `"top-left"`,
//! `"top-right"`, `"bottom-left"`, `"bottom-right"`, `"corners"`, `"border"`, `"all"`, `"first"` and `"last"`.
//!
//! A weight of 1 pins, 0 leaves free, and between them a vertex hangs on a spring of 10 N/m · w/(1 − w)
//! ([`crate::Hold::weighted`]). `hold = { weight = 0.5 }` is one weight for all vertices of the entry; with `channel`
//! each vertex has the weight that its color says, in steps of 1/255, and those with 0 are not in the entry.
//!
//! ## Solids
//!
//! | Key | Means | Default |
//! |---|---|---|
//! | `shape = "plane"` | everything below its y = 0 | |
//! | `shape = "sphere"` | `radius` \[m\] | |
//! | `shape = "capsule"` | about its y axis: `radius`, `half_length` between the centers of its ends \[m\] | |
//! | `shape = "box"` | `half` its sides, three numbers \[m\] | |
//! | `shape = "mannequin"` | a dress form 0.9 m high: `segments` (8 … 512), `resolution` (8 … 256) | 48, 64 |
//! | `shape = "mesh"` | a closed mesh: `file`, `scale` and `up` as of a cloth, `resolution` (8 … 256) | 1, `"y"`, 64 |
//! | `translation`, `rotation` | where it is \[m\]: turned, then moved | at the origin |
//! | `velocity`, `angular_velocity` | constant ones \[m/s\], \[rad/s\] | 0 |
//! | `thickness` | distance that cloth keeps \[m\] | half that of the first material that a cloth names; 0 |
//! | `friction` | coefficient of static friction | that of this material; 0.5 |
//! | `sliding_friction` | of kinetic friction | 0.8 × the static one |
//! | `restitution` | part of the speed after an impact | 0 |
//! | `[solids.motion]` | [its way](#motion), about its origin; instead of velocities | |
//!
//! ## Motion
//!
//! | Key | Means | Default |
//! |---|---|---|
//! | `keys` | a list of `{ time = …, translation = […], rotation = … }` \[s, m\], times growing, from the start | |
//! | `repeat` | start again after the last key, which must be back at the start | `false` |
//!
//! Between two keys both speeds are constant; a rotation from one key to the next is at most half a turn. Before
//! the first key of a later time it moves from the start. See [`super::Motion`].
//!
//! ## World and wind
//!
//! | Key | Means | Default |
//! |---|---|---|
//! | `world.gravity` | \[m/s²\] | `[0.0, -9.81, 0.0]` |
//! | `world.drag` | rate at which still air takes speed \[1/s\] | 0 |
//! | `world.self_collision` | whether the cloth keeps from passing through itself: [`Settings::self_collision`] | `false` |
//! | `world.thickness` | distance that two layers then keep \[m\] | 0.002 |
//! | `world.tangles` | cloth that then crosses itself at the start: `"refuse"`, `"ignore"`, `"resolve"`; see [`Tangles`](crate::Tangles) | `"refuse"` |
//! | `wind.velocity` | \[m/s\] | 0 |
//! | `wind.density` | of the air \[kg/m³\] | 1.2 |
//! | `wind.drag_coefficient`, `wind.lift_coefficient` | of a face across the wind; of one at 45° | 1.2, 1 |
//! | `wind.gust` | amplitude of gusts relative to the mean | 0 |
//! | `wind.gust_wave` | cycles per metre \[1/m\] | `[0.5, 0.0, 0.5]` |
//! | `wind.gust_frequency` | \[Hz\] | 0.5 |
//!
//! ## Solver
//!
//! | Key | Means | Default |
//! |---|---|---|
//! | `method` | `"auto"`, `"fast-projection"`, `"gauss-seidel"`, `"jacobi"`, `"projective-dynamics"`, `"yarn-sweep"` | `"auto"` |
//! | `strain_limit` | largest strain at the end of a frame, above 0 and below 1; 0.01 is 1 % | 0.01 |
//! | `middle_strain` | strain at which the substeps of a frame but its last may end: [`Settings::middle_strain`] | the solver's |
//! | `stretch_min`, `stretch_max` | band of lengths relative to rest that counts as no strain | 1, 1 |
//! | `area_limit` | smallest and largest area of a triangle relative to rest | none |
//! | `stretch_rate` | largest change of an edge in a substep, as a part of its length | none |
//! | `volume` | volume that a closed surface keeps as far as its edges let it \[m³\] | none |
//! | `substeps` | per frame: a number, `{ up_to = n }` or `"auto"` | `"auto"` |
//! | `stepping` | `"euler"` or `"bdf2"` | `"euler"` |
//! | `elasticity` | of shear springs: `"auto"`, `"diagonals"`, `"explicit"`, `"implicit"` | `"auto"` |
//! | `contact_rounds` | of projection and collision in a substep | 8 |
//! | `rest_speed` | below which cloth among solids comes to rest \[m/s\]: [`Settings::rest_speed`] | 0.01 |
//! | `dispatches_per_submission`, `dispatch_budget` | at most, on a GPU | 2000, 1000 |
//! | `[solver.yarn_sweep]` | [`crate::YarnSweep`], also of `auto` | |
//! | `[solver.fast_projection]` | [`crate::FastProjection`], also of `auto` | |
//! | `[solver.gauss_seidel]` | `sweeps`, `sweeps_per_check`, `seed`: [`crate::GaussSeidel`] | |
//! | `[solver.jacobi]` | `sweeps`, `sweeps_per_check`, `relaxation`, `blend`: [`crate::Jacobi`] | |
//!
//! `[solver.yarn_sweep]` has `sweeps`, `middle_sweeps`, `step_clamp`, `slack` and `chords_from`.
//! `[solver.fast_projection]` has `preconditioner` (`"auto"`, `"jacobi"`, `"lines"`, `"lines-schur"`), `iterations`,
//! `inner_iterations`, `tolerance`, `step_clamp`, `slack` and `warm_start`.
//!
//! ## Output
//!
//! Read by the program; its options come first where they are given. Names are relative to the scene's folder, and stay
//! inside it.
//!
//! | Key | Means | Default |
//! |---|---|---|
//! | `fps` | frames per second, 1 … 100,000 | 60 |
//! | `seconds` | time to simulate, above 0 and at most 1e6 | 2 |
//! | `out` | a folder for rest shape, animation and report | none |
//! | `export` | files to export to, by their extensions | none |
//! | `render` | a picture or an animation | none |
//!
//! # Files of strangers
//!
//! A file has at most 4 MiB and names at most 2²² vertices, 64 cloths, 256 solids and 4096 entries of pins
//! ([`Limits`]); counts are checked before anything is made of them. Files that a scene names are inside its folder, or
//! one that was named for it beside ([`SceneFile::add_assets`], `taut run --assets`): neither absolute names nor `..`
//! nor links lead outside. Nothing in a file makes reading it panic.

mod build;
mod builtin;
mod change;
mod color;
mod forms;
mod load_mesh;
mod parts;
mod path;
mod read;
mod table;
mod write;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::cloth::settings::Settings;
use crate::error::{Error, Result};
#[cfg(feature = "import")]
use crate::io::import::{ImportReport, RenderMesh};
use crate::mesh::Mass;
#[cfg(feature = "import")]
use crate::mesh::MeshQuality;
use crate::scene::{Material, Noise, Scene};
use crate::solid::{SLIDING, Solid, SolidShape};
pub use change::Change;
pub use color::{Channel, Color};
pub use forms::{solid, solid_words};
use parts::{Fabric, Obstacle, Pins, Source};
use table::Text;

/// Cells along the longest side of a solid that is a mesh, where nothing else is said.
pub const RESOLUTION: u32 = super::FORM_RESOLUTION;

/// What a scene file may ask for at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file.
    pub bytes: u64,
    /// Vertices of all cloths together, or of a mesh file.
    pub vertices: u32,
    /// Cloths.
    pub cloths: u32,
    /// Solids.
    pub solids: u32,
    /// Entries of `[[pins]]`.
    pub pins: u32,
    /// Bytes of the distance grids of all solids that are meshes.
    pub grid_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 4 << 20, vertices: 1 << 22, cloths: 64, solids: 256, pins: 4096, grid_bytes: 1 << 27 }
    }
}

/// What the program shall write; files and folders as the file names them, see [`SceneFile::output_path`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Output {
    /// Frames per second.
    pub fps: Option<f64>,
    /// Time to simulate \[s\].
    pub seconds: Option<f64>,
    /// Folder for the results.
    pub out: Option<String>,
    /// Files to export to.
    pub export: Vec<String>,
    /// A picture or an animation.
    pub render: Option<String>,
}

impl Output {
    /// What [`Output::is_rate`] takes, in words.
    pub const RATES: &'static str = "between 1 and 100000";
    /// What [`Output::is_time`] takes, in words.
    pub const TIMES: &'static str = "above 0 and at most 1e6 s";

    /// Whether there can be so many frames per second.
    pub fn is_rate(fps: f64) -> bool {
        (1.0..=100_000.0).contains(&fps)
    }

    /// Whether so long a time \[s\] can be simulated.
    pub fn is_time(seconds: f64) -> bool {
        seconds > 0.0 && seconds <= 1e6
    }
}

/// A mesh file that became a cloth of a scene.
#[cfg(feature = "import")]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportedCloth {
    /// The file as the scene names it.
    pub file: String,
    /// What was found in it.
    pub report: ImportReport,
    /// How good its edges and faces are.
    pub quality: MeshQuality,
    /// What is drawn, with vertices of this cloth alone.
    pub render: RenderMesh,
    /// How many of its vertices are pinned for good.
    pub pinned: usize,
}

/// Where the files are that a scene names.
#[derive(Clone, Debug, Default)]
struct Folders {
    own: Option<PathBuf>,
    assets: Vec<PathBuf>,
}

/// What cloth finds where it meets a solid.
#[derive(Clone, Copy, Debug)]
struct Surface {
    thickness: f32,
    friction: f32,
    sliding_friction: f32,
}

/// A scene as a file says it: generators, presets and names of files, not yet vertices.
///
/// ```
/// use taut::scene::{self, SceneFile};
///
/// let file = SceneFile::builtin("drape", 9)?;
/// let again = SceneFile::parse(&file.to_toml(), "drape.toml", None)?;
/// assert_eq!(again.scene()?.mesh, scene::drape(9)?.mesh);
/// # Ok::<(), taut::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SceneFile {
    text: Text,
    folders: Folders,
    limits: Limits,
    name: String,
    /// At least one.
    fabrics: Vec<Fabric>,
    pins: Vec<Pins>,
    solids: Vec<Obstacle>,
    settings: Settings,
    /// What the program shall write.
    pub output: Output,
}

impl SceneFile {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::SceneFile`] for what the file cannot say.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let io = |source| Error::Io { path: path.to_owned(), source };
        let limits = Limits::default();
        let mut bytes = Vec::new();
        // One byte more than allowed shows that there are too many; a pipe has no length to ask for.
        File::open(path).and_then(|file| file.take(limits.bytes + 1).read_to_end(&mut bytes)).map_err(io)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
            Text::new(&path.display().to_string(), &valid).error_at(valid.len(), "", "this is not UTF-8")
        })?;
        Self::parse(&text, &path.display().to_string(), path.parent())
    }

    /// Reads a text. Errors call it `file`; the files it names are searched for in `folder`, or refused if there is
    /// none.
    ///
    /// # Errors
    /// [`Error::SceneFile`].
    pub fn parse(text: &str, file: &str, folder: Option<&Path>) -> Result<Self> {
        Self::parse_within(text, file, folder, Limits::default())
    }

    /// [`SceneFile::parse`] with limits of the caller's.
    ///
    /// # Errors
    /// [`Error::SceneFile`].
    pub fn parse_within(text: &str, file: &str, folder: Option<&Path>, limits: Limits) -> Result<Self> {
        let folders = Folders { own: folder.map(Path::to_owned), assets: Vec::new() };
        Ok(Self { folders, ..read::scene_file(file, text, limits, &[])? })
    }

    /// The built-in scene of that name, with `size` vertices per side, or along the chain.
    ///
    /// # Errors
    /// As [`Scene::named`], and [`Error::SceneSize`] if a file may not have so many vertices.
    pub fn builtin(name: &str, size: u32) -> Result<Self> {
        builtin::scene_file(name, size)
    }

    /// The same file with other values of some keys. What was changed by the other methods is as the file has it again.
    ///
    /// ```
    /// use taut::scene::SceneFile;
    /// use taut::scene::file::Change;
    ///
    /// let change = |key: &str, value: &str| [Change { key: key.into(), value: value.into() }];
    /// let hang = SceneFile::builtin("hang", 9)?;
    /// assert_eq!(hang.changed(&change("cloth.material", "denim"))?.scene()?.settings.damping, 0.002);
    /// assert_eq!(hang.changed(&change("fabric.material", "denim"))?.scene()?.settings.damping, 0.002);
    /// let refused = hang.changed(&change("cloth.bendin", "1e-6")).unwrap_err();
    /// assert_eq!(
    ///     refused.to_string(),
    ///     "cloth.bendin=1e-6:1:1: there is no key `cloth.bendin`; did you mean `bending`?"
    /// );
    /// # Ok::<(), taut::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::SceneFile`], as [`SceneFile::parse`] has them; the file is called `key=value` where they are about a
    /// change.
    pub fn changed(&self, changes: &[Change]) -> Result<Self> {
        // A built-in scene has no text yet.
        let own = self.text.text();
        let text = if own.is_empty() { self.woven(changes)?.to_toml() } else { own.to_owned() };
        let folders = self.folders.clone();
        Ok(Self { folders, ..read::scene_file(&self.text.file, &text, self.limits, changes)? })
    }

    /// The built-in scene of the fabric that a change names: it says every number of its cloth itself, and the fabric
    /// would change none of them.
    fn woven(&self, changes: &[Change]) -> Result<Self> {
        let mut woven = self.clone();
        // What is no fabric is refused where it is read.
        if let Some(material) = changes.iter().find_map(Change::material).and_then(Material::named) {
            woven.set_material(material)?;
        }
        Ok(woven)
    }

    /// Lets the scene name files that are in this folder or below it, too. They are searched for in its own folder
    /// first. What it writes stays in its own.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no such folder.
    pub fn add_assets(&mut self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        let io = |source| Error::Io { path: folder.to_owned(), source };
        if !folder.metadata().map_err(io)?.is_dir() {
            return Err(io(std::io::ErrorKind::NotADirectory.into()));
        }
        self.folders.assets.push(folder.to_owned());
        Ok(())
    }

    /// Makes every cloth of this fabric, whatever the file says of its density, shear, bending and damping. Faces that
    /// have a fabric of their own keep it; solids that say no friction and no thickness get those of this fabric.
    ///
    /// # Errors
    /// [`Error::SceneFile`] if a cloth is a chain, which has no fabric.
    pub fn set_material(&mut self, material: Material) -> Result<()> {
        if let Some(chain) = self.fabrics.iter().find(|fabric| matches!(fabric.source, Source::Chain { .. })) {
            let problem = format!("`{}` is a chain, which has no fabric", chain.key);
            return Err(self.text.error(&chain.key, problem));
        }
        for fabric in &mut self.fabrics {
            fabric.mass = Mass::Density(material.density);
            (fabric.shear, fabric.bending, fabric.material) = (material.shear, material.bending, Some(material));
        }
        self.settings.damping = material.damping;
        Ok(())
    }

    /// The first fabric that a cloth names: that of the solids' friction.
    pub fn material(&self) -> Option<Material> {
        self.fabrics.iter().find_map(|fabric| fabric.material)
    }

    /// What a solid says of its surface, or else the fabric.
    fn surface(&self, obstacle: &Obstacle) -> Surface {
        let plain = Solid::new(SolidShape::Plane);
        let plain = self.material().map_or_else(|| plain.clone(), |material| material.meets(plain.clone()));
        let friction = obstacle.friction.unwrap_or(plain.friction);
        let sliding_friction = obstacle.sliding_friction.unwrap_or(SLIDING * friction);
        Surface { thickness: obstacle.thickness.unwrap_or(plain.thickness), friction, sliding_friction }
    }

    /// What reports call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the generator as many vertices per side, or along the chain.
    ///
    /// # Errors
    /// [`Error::SceneFile`] if there is no generator, its sheet is not as many vertices wide as long, or the number is
    /// out of range.
    pub fn set_size(&mut self, size: u32) -> Result<()> {
        let refuse = |problem: String| Err(self.text.error("cloth", problem));
        let [fabric] = &mut self.fabrics[..] else {
            return refuse(format!("one size cannot stand for {} cloths", self.fabrics.len()));
        };
        let vertices = match &fabric.source {
            Source::Chain { .. } => u64::from(size),
            Source::Sheet(sheet) if sheet.size[0] == sheet.size[1] => u64::from(size).pow(2),
            Source::Sheet(sheet) => {
                let [columns, rows] = sheet.size;
                return refuse(format!("one size cannot stand for the {columns} × {rows} vertices of `cloth.size`"));
            }
            Source::Mesh { .. } | Source::Inline { .. } => {
                return refuse("the cloth is a mesh, whose size cannot be chosen".to_owned());
            }
        };
        let least = if fabric.start.span.is_some() { 3 } else { 2 };
        if !(least..=super::MOST).contains(&size) || vertices > self.limits.vertices.into() {
            let most = match fabric.source {
                Source::Chain { .. } => self.limits.vertices,
                _ => self.limits.vertices.isqrt(),
            };
            return refuse(format!("the size is {size}, but must be in {least} … {}", most.min(super::MOST)));
        }
        match &mut fabric.source {
            Source::Sheet(sheet) => sheet.size = [size; 2],
            Source::Chain { size: vertices, .. } => *vertices = size,
            Source::Mesh { .. } | Source::Inline { .. } => {}
        }
        Ok(())
    }

    /// Vertices per side, or along the chain, where one number says it.
    pub fn size(&self) -> Option<u32> {
        let [fabric] = &self.fabrics[..] else { return None };
        fabric.source.grid().filter(|[columns, rows]| columns == rows || *rows == 1).map(|[columns, _]| columns)
    }

    /// The noise of the start positions, if the file has one.
    pub fn noise(&self) -> Option<Noise> {
        self.fabrics.first().and_then(|fabric| fabric.start.noise)
    }

    /// Gives the start positions another noise, or none. Its amplitude is checked when the scene is made.
    pub fn set_noise(&mut self, noise: Option<Noise>) {
        if let Some(fabric) = self.fabrics.first_mut() {
            fabric.start.noise = noise;
        }
    }

    /// Makes the scene: vertices, distance grids, and what moves.
    ///
    /// # Errors
    /// [`Error::SceneFile`] that names the key whose value cannot be.
    pub fn scene(&self) -> Result<Scene> {
        Ok(build::scene(self)?.scene)
    }

    /// [`SceneFile::scene`], and what was found in the mesh files of its cloths.
    ///
    /// # Errors
    /// As [`SceneFile::scene`].
    #[cfg(feature = "import")]
    pub fn scene_with_imports(&self) -> Result<(Scene, Vec<ImportedCloth>)> {
        let build::Built { scene, imports } = build::scene(self)?;
        Ok((scene, imports))
    }

    /// Where a file or folder that [`SceneFile::output`] names is to be written.
    ///
    /// # Errors
    /// [`Error::SceneFile`] if that would be outside of the scene's folder, or it has none.
    pub fn output_path(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folders.own.as_deref().ok_or("is in no folder: the scene was not read from one".to_owned());
        let path = folder.and_then(|folder| path::writable(folder, name));
        path.map_err(|problem| self.text.error("output", format!("\"{name}\" {problem}")))
    }

    /// The file, with comments that explain units. What is read from it makes the same scene to the bit.
    pub fn to_toml(&self) -> String {
        write::toml(self)
    }
}

impl Scene {
    /// The scene that a TOML text describes ([`mod@crate::scene::file`]). Files that it names are searched for in
    /// `folder`, or refused if there is none.
    ///
    /// # Errors
    /// [`Error::SceneFile`].
    pub fn from_toml(text: &str, folder: Option<&Path>) -> Result<Self> {
        SceneFile::parse(text, "scene", folder)?.scene()
    }

    /// The scene of a TOML file.
    ///
    /// # Errors
    /// As [`SceneFile::read`] and [`SceneFile::scene`].
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        SceneFile::read(path)?.scene()
    }
}
