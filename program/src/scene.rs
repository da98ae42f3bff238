//! Scenes by name and as files: `taut scene`, and what `taut run` is given.

use anyhow::{Context, Result};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use taut::Scene;
use taut::scene::{LAYERED, Material, NAMES, Noise, SceneFile, WORN};

use crate::Outcome;
use crate::mesh::Origin;
use crate::options::{SubjectOptions, size};
use crate::output::{self, significant};

/// Options of `taut scene`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The scene to print
    #[arg(value_name = "NAME", required_unless_present = "materials", value_parser = PossibleValuesParser::new(NAMES))]
    name: Option<String>,

    /// Vertices per side, or along the chain
    #[arg(long, value_name = "N", default_value = "71", value_parser = size, allow_negative_numbers = true)]
    size: u32,

    /// List the fabrics that files can name, with the sources of their numbers
    #[arg(long, conflicts_with = "name")]
    materials: bool,
}

/// Prints a scene, or the fabrics.
pub(crate) fn print(options: &Options) -> Result<Outcome> {
    match &options.name {
        Some(name) if !options.materials => {
            output::print(SceneFile::builtin(name, options.size)?.to_toml().trim_end())?;
        }
        _ => output::print(&materials())?,
    }
    Ok(Outcome::Done)
}

fn materials() -> String {
    let head = [
        "fabric",
        "density\n[kg/m²]",
        "shear\n[N/m]",
        "bending\n[N·m]",
        "thickness\n[m]",
        "friction",
        "damping\n[s]",
        "sources of density, shear and bending, in this order",
    ];
    let row = |material: Material| {
        let Material { name, density, shear, bending, thickness, friction, damping, sources, .. } = material;
        let [density, shear, friction, damping] =
            [density, shear, friction, damping].map(|number| significant(number.into(), 3));
        let [bending, thickness] = [bending, thickness].map(|number| format!("{number:e}"));
        [name.to_owned(), density, shear, bending, thickness, friction, damping, sources[..3].join("; ")]
    };
    let table = output::table(std::iter::once(head.map(str::to_owned)).chain(Material::ALL.map(row)), 120);
    // These have one source for all fabrics.
    let [.., thickness, friction, damping] = Material::ALL[0].sources;
    format!("{table}\nthickness: {thickness}; friction: {friction}; damping: {damping}")
}

/// The names of all built-in scenes.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain(LAYERED).chain(WORN)
}

/// Whether what `run` is given is a file and not the name of a built-in scene.
pub(crate) fn is_file(scene: &str) -> bool {
    scene.ends_with(".toml") || scene.contains(['/', std::path::MAIN_SEPARATOR])
}

/// A built-in scene or a file.
#[derive(Clone, Debug)]
pub(crate) struct SceneParser;

impl TypedValueParser for SceneParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        match value.to_str() {
            Some(text) if is_file(text) => Ok(text.to_owned()),
            _ => PossibleValuesParser::new(names()).parse_ref(command, argument, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(names().map(PossibleValue::new)))
    }
}

/// What is said where [`Scene::stays_flat`].
pub(crate) const FLAT: &str =
    "the cloth is flat along gravity and nothing breaks the symmetry, so it stays flat: --noise bends it";

/// A scene that is ready to be simulated.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The options, with the file's values where they were not given.
    pub(crate) options: SubjectOptions,
    pub(crate) scene: Scene,
    /// Vertices per side, where one number says it.
    pub(crate) size: Option<u32>,
    /// Where meshes of somebody's own come from.
    pub(crate) origin: Option<Origin>,
    /// The file it was read from.
    pub(crate) file: Option<SceneFile>,
    /// The noise that its start positions have.
    pub(crate) noise: Option<Noise>,
}

/// Makes the scene that the options name.
pub(crate) fn open(options: &SubjectOptions) -> Result<Opened> {
    let mut options = options.clone();
    let world = options.world.clone();
    world.check(options.own.mesh.is_some(), is_file(&options.scene).then_some(&options.scene))?;
    let scale = options.own.scale();
    if let Some((mut scene, origin)) = options.own.scene(&world)? {
        world.furnish(&mut scene, world.material(), scale)?;
        let (scene, noise) = noisy(&options, scene, None)?;
        return Ok(Opened { options, scene, size: None, origin: Some(origin), file: None, noise });
    }
    if !options.is_file() {
        crate::memory::check(&options)?;
        let mut scene = world.named(&options.scene, options.size)?;
        world.furnish(&mut scene, world.material(), scale)?;
        let (scene, noise) = noisy(&options, scene, None)?;
        let size = Some(options.size);
        return Ok(Opened { options, scene, size, origin: None, file: None, noise });
    }
    let mut file = read(&options)?;
    if is_file(&options.scene) && options.decides("size") {
        file.set_size(options.size).context("--size")?;
    }
    if !options.decides("fps") {
        options.fps = file.output.fps.unwrap_or(options.fps);
    }
    world.set(&mut file)?;
    let own = file.noise();
    if options.noise(own)?.is_some() {
        file.set_noise(None);
    }
    let (mut scene, imports) = file.scene_with_imports()?;
    let origin = Origin::of(imports, &scene.mesh);
    world.furnish(&mut scene, file.material(), scale)?;
    let (scene, noise) = noisy(&options, scene, own)?;
    if !options.decides("strain") {
        // The number that was written, not what f32 makes of it.
        options.strain = scene.settings.strain_limit.to_string().parse()?;
    }
    if !options.decides("substeps") {
        options.substeps = scene.settings.substeps;
    }
    Ok(Opened { options, scene, size: file.size(), origin, file: Some(file), noise })
}

/// The file of a scene with its changes; a built-in scene becomes one.
fn read(options: &SubjectOptions) -> Result<SceneFile> {
    let file = match is_file(&options.scene) {
        true => SceneFile::read(&options.scene)?,
        false => SceneFile::builtin(&options.scene, options.size)?,
    };
    Ok(if options.changes.is_empty() { file } else { file.changed(&options.changes)? })
}

/// Whether the scene has a start noise of its own.
pub(crate) fn has_noise(options: &SubjectOptions) -> Result<bool> {
    let file = options.is_file() && options.own.mesh.is_none();
    Ok(file && read(options)?.noise().is_some())
}

/// The scene with the noise that was asked for, and the noise it has then; `own` is that of its file.
fn noisy(options: &SubjectOptions, scene: Scene, own: Option<Noise>) -> Result<(Scene, Option<Noise>)> {
    Ok(match options.noise(own)? {
        Some(noise) => (scene.with_noise(noise).context("--noise")?, Some(noise)),
        None => (scene, own),
    })
}
