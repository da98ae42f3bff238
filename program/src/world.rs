//! What a cloth is made of and what is around it, as options.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};
use taut::io::import::{self, Format, Up};
use taut::scene::{Material, SceneFile, file};
use taut::solid::{Body, Grid};
use taut::stage::wind::Wind;
use taut::{Error, Scene, Settings, Solid, SolidShape, scene};

/// Options for what a cloth is made of and what is around it. Places and directions are in the scene's coordinates:
/// metres, +Y up.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WorldOptions {
    /// Fabric of the cloth: density, shear, bending and damping, and the friction and thickness with which it meets
    /// every --solid; `taut scene --materials` tells the numbers
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Material::ALL.map(|fabric| fabric.name)))]
    material: Option<String>,

    /// Damping of internal motion [s]: 0.002 brings folds to rest [default: that of --material, or the scene's]
    #[arg(long, value_name = "S", value_parser = damping, allow_negative_numbers = true)]
    damping: Option<f32>,

    /// Acceleration of gravity [m/s²] [default: the scene's, 0,-9.81,0 where it says none]
    #[arg(long, value_name = "X,Y,Z", value_parser = vector, allow_hyphen_values = true)]
    gravity: Option<[f32; 3]>,

    /// Velocity of the air [m/s], which drags and lifts every face [default: the scene's]
    #[arg(long, value_name = "X,Y,Z", value_parser = vector, allow_hyphen_values = true)]
    wind: Option<[f32; 3]>,

    #[arg(long = "solid", value_name = "FILE|FORM", help = solids(),
        value_parser = OsStringValueParser::new().try_map(obstacle))]
    solids: Vec<Obstacle>,

    /// Axis that points up in the mesh files of --mesh and --solid; z is turned to y, and y to -z [default: y]
    #[arg(long, value_name = "AXIS", value_parser = up())]
    up: Option<Up>,

    /// Folder beside that of the scene file in which files that it names may be; repeatable
    #[arg(long, value_name = "DIR")]
    assets: Vec<PathBuf>,
}

/// What was asked for as a solid, and the words.
#[derive(Clone, Debug)]
struct Obstacle {
    text: String,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    Shape(Box<Solid>),
    File(PathBuf),
}

impl Obstacle {
    /// The solid; `scale` and `up` are those of mesh files.
    fn solid(&self, scale: f32, up: Up) -> Result<Solid> {
        let solid = match &self.form {
            Form::Shape(solid) => Ok((**solid).clone()),
            Form::File(path) => baked(path, &import::Options { scale, up, ..Default::default() }),
        };
        solid.with_context(|| format!("--solid {}", self.text))
    }
}

/// The solids that a report of `taut run` tells of, which were there by `--solid`, and what keeps others from being
/// there again.
pub(crate) fn reported_solids(report: &Value) -> (Vec<Solid>, Option<String>) {
    let mut solids = Vec::new();
    let told = report["solids"].as_array().map(Vec::as_slice).unwrap_or_default();
    for value in told {
        let text = value["solid"].as_str().unwrap_or_default();
        let up = value["up"].as_str().and_then(Up::named).unwrap_or_default();
        // The number that was typed, as an option has it.
        let scale = value["scale"].as_f64().map_or(1.0, |scale| scale as f32);
        let made = obstacle(text.into()).map_err(|problem| anyhow!("--solid {text}: {problem}"));
        match made.and_then(|obstacle| obstacle.solid(scale, up)) {
            Ok(solid) => solids.push(solid),
            Err(error) => return (solids, Some(format!("without solids: {error:#}"))),
        }
    }
    (solids, None)
}

impl WorldOptions {
    /// Refuses what there is no use for: `mesh` is whether the cloth is one of its own, `scene` the file it is from.
    pub(crate) fn check(&self, mesh: bool, scene: Option<&str>) -> Result<()> {
        let files = mesh || self.solids.iter().any(|solid| matches!(solid.form, Form::File(_)));
        ensure!(
            self.up.is_none() || files,
            "--up is for the mesh files of --mesh and --solid, and there is none; in scene files it is `up`"
        );
        ensure!(self.assets.is_empty() || scene.is_some(), "--assets is for scene files: nothing else names files");
        Ok(())
    }

    pub(crate) fn material(&self) -> Option<Material> {
        self.material.as_deref().and_then(Material::named)
    }

    pub(crate) fn up(&self) -> Up {
        self.up.unwrap_or_default()
    }

    /// A built-in scene of the fabric that was asked for.
    pub(crate) fn named(&self, name: &str, size: u32) -> Result<Scene> {
        let Some(material) = self.material() else { return Ok(Scene::named(name, size)?) };
        let layered = scene::LAYERED.contains(&name) || scene::WORN.contains(&name);
        ensure!(!layered, "--material is for scenes that can be files, but the scene {name} is of one cotton");
        let mut file = SceneFile::builtin(name, size)?;
        let chain = |_| anyhow!("--material is a fabric, but the scene {name} is a chain, which has none");
        file.set_material(material).map_err(chain)?;
        Ok(file.scene()?)
    }

    /// Gives a scene file the fabric and the folders that were asked for.
    pub(crate) fn set(&self, file: &mut SceneFile) -> Result<()> {
        for folder in &self.assets {
            file.add_assets(folder).context("--assets")?;
        }
        self.material().map_or(Ok(()), |material| file.set_material(material).context("--material"))
    }

    /// Adds the solids that were asked for, as `fabric` meets them; `scale` is that of mesh files.
    pub(crate) fn furnish(&self, scene: &mut Scene, fabric: Option<Material>, scale: f32) -> Result<()> {
        for obstacle in &self.solids {
            let solid = obstacle.solid(scale, self.up())?;
            scene.solids.push(match fabric {
                Some(fabric) => fabric.meets(solid),
                None => solid,
            });
        }
        Ok(())
    }

    /// What [`reported_solids`] reads.
    pub(crate) fn solids_json(&self, scale: f32) -> Value {
        let up = Up::NAMES.into_iter().find(|name| Up::named(name) == Some(self.up()));
        let scale: f64 = scale.to_string().parse().unwrap_or(1.0);
        self.solids.iter().map(|obstacle| json!({ "solid": obstacle.text, "up": up, "scale": scale })).collect()
    }

    /// Changes the settings of a scene to what was asked for; an error names the option whose value cannot be.
    pub(crate) fn change(&self, settings: &mut Settings, scene: &Scene) -> Result<()> {
        settings.damping = self.damping.unwrap_or(settings.damping);
        settings.gravity = self.gravity.unwrap_or(settings.gravity);
        if let Some(velocity) = self.wind {
            settings.wind = Some(Wind { velocity, ..settings.wind.unwrap_or_default() });
        }
        let wrong = settings.validate(&scene.mesh, &scene.start).err();
        let Some(Error::OutOfRange { field, value, expected, .. }) = wrong else { return Ok(()) };
        let option = match field {
            "damping" if self.damping.is_some() => "--damping",
            "gravity" if self.gravity.is_some() => "--gravity",
            _ if field.starts_with("wind.") && self.wind.is_some() => "--wind",
            // Of another option, or of the scene: whoever starts the cloth says it.
            _ => return Ok(()),
        };
        Err(anyhow!("{option} has {value}, but must be {expected}"))
    }
}

/// A closed mesh as scene files bake it.
fn baked(path: &Path, options: &import::Options) -> Result<Solid> {
    let read = import::read(path, options)?.descriptor;
    let body = Body::of_faces(read.positions, &read.faces)?;
    let grid = Grid::bake(&body, file::RESOLUTION, file::Limits::default().grid_bytes)?;
    Ok(Solid::new(SolidShape::Grid(Arc::new(grid))))
}

fn solids() -> String {
    format!(
        "Put a solid into the way of the cloth; repeatable. A closed mesh (.obj, .ply or .glb) where its file has it, \
         or {}: two corners; both ends and the radius; a point and the normal out of it; center and radius, in m",
        file::solid_words().join(", ")
    )
}

/// Names of files need not be Unicode.
fn obstacle(name: OsString) -> Result<Obstacle, String> {
    let forms = file::solid_words();
    let is_form = |text: &str| forms.iter().any(|form| form.split(':').next() == text.split(':').next());
    let text = name.to_string_lossy().into_owned();
    let is = |form: Form| Ok(Obstacle { text: text.clone(), form });
    match name.to_str() {
        Some(text) if text.contains(':') && is_form(text) => is(Form::Shape(Box::new(file::solid(text)?))),
        _ if Format::of(Path::new(&name)).is_ok() => is(Form::File(name.into())),
        _ => Err(format!("must be a mesh file (.obj, .ply or .glb) or one of {}", forms.join(", "))),
    }
}

fn up() -> impl TypedValueParser<Value = Up> {
    PossibleValuesParser::new(Up::NAMES).map(|name| Up::named(&name).unwrap_or_default())
}

/// How much is too much is for the settings to say.
fn damping(text: &str) -> Result<f32, String> {
    text.parse().map_err(|_| "must be a time of at least 0 s".to_owned())
}

fn vector(text: &str) -> Result<[f32; 3], String> {
    let numbers: Vec<Option<f32>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    match numbers[..] {
        [Some(x), Some(y), Some(z)] => Ok([x, y, z]),
        _ => Err("must be three numbers, X,Y,Z".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solids_and_vectors_are_read_or_explained() {
        assert_eq!(vector("0, -9.81,1e-1"), Ok([0.0, -9.81, 0.1]));
        for text in ["", "1", "1,2", "1,2,3,4", "1,2,x", "1,,3"] {
            assert!(vector(text).is_err(), "{text}");
        }
        let form = |text: &str| match obstacle(text.into()) {
            Ok(Obstacle { form: Form::Shape(solid), .. }) => *solid,
            other => panic!("{text}: {other:?}"),
        };
        let ball = form("sphere:0,1,-2,0.5");
        assert_eq!((ball.shape, ball.pose.translation), (SolidShape::Sphere { radius: 0.5 }, [0.0, 1.0, -2.0]));
        let block = form("box:1,0,0,0,2,-1");
        assert_eq!(
            (block.shape, block.pose.translation),
            (SolidShape::Box { half: [0.5, 1.0, 0.5] }, [0.5, 1.0, -0.5])
        );
        let floor = form("plane:0,-1,0,0,2,0");
        assert_eq!((floor.shape, floor.pose.rotation), (SolidShape::Plane, [0.0, 0.0, 0.0, 1.0]));
        let rod = form("capsule:-1,0,0,1,0,0,0.1");
        assert_eq!(rod.shape, SolidShape::Capsule { radius: 0.1, half_length: 1.0 });
        // Its y axis lies along x: half a turn about the diagonal, or a quarter about z.
        assert!((rod.pose.rotation[2].abs() - 0.5_f32.sqrt()).abs() < 1e-6, "{:?}", rod.pose);
        for (text, expected) in [
            ("sphere:0,1,0", "sphere:X,Y,Z,R has 4 numbers in metres, and not 3"),
            ("sphere:0,1,0,-1", "its radius is -1, but must be above 0"),
            ("sphere:0,1,0,x", "\"x\" is none"),
            ("sphere:0,1,0,inf", "\"inf\" is none"),
            ("sphere:0,1e7,0,1", "more than 1e6 m away"),
            ("plane:0,0,0,0,0,0", "a normal of no length"),
            ("box:0,0,0,1,0,1", "its half is 0, but must be above 0"),
            ("ball:0,1,0,1", "must be a mesh file (.obj, .ply or .glb) or one of box:X,Y,Z,X,Y,Z"),
            ("body.stl", "must be a mesh file"),
            ("sphere", "must be a mesh file"),
        ] {
            let problem = obstacle(text.into()).map(|_| ()).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
        assert!(matches!(obstacle("a:b/body.obj".into()), Ok(Obstacle { form: Form::File(_), .. })));
    }
}
