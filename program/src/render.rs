//! `--render` of `taut run`, and `taut render`: pictures of a run while it goes on, or afterwards.

use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::builder::NonEmptyStringValueParser;
use serde_json::Value;
use taut::io::{import, pc2};
use taut::render::{
    Camera, Coloring, Fabric, Items, Look, Model, Offscreen, Picture, PictureFile, Prop, Skin, Studio, check_size,
    raster,
};
use taut::scene::SceneFile;
use taut::{Backend, Cloth, Gpu, Mesh, Pose, Scene, Settings, Solid};

use crate::Outcome;
use crate::options::{self, BackendName};
use crate::{output, world};

/// Pictures per second of a GIF at most, unless `--every` says otherwise.
const RATE: f64 = 25.0;
const SIZE: [u32; 2] = [800, 600];

/// How pictures are drawn; shared by `taut run` and `taut render`.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct PictureOptions {
    /// Draw the last frame (FILE.png) or an animation (FILE.gif)
    #[arg(long, value_name = "FILE.png|FILE.gif", value_parser = picture_name)]
    pub(crate) render: Option<PathBuf>,

    /// Width and height of the picture in pixels [default: 800x600]
    #[arg(long, value_name = "WxH", value_parser = size, allow_hyphen_values = true)]
    size_px: Option<[u32; 2]>,

    /// Draw every K-th frame of an animation [default: as many as make 25 pictures per second]
    #[arg(long, value_name = "K")]
    every: Option<NonZeroU32>,

    /// Look from another side: so many degrees around to the right, and upwards
    #[arg(long, value_name = "RIGHT[,UP]", value_parser = orbit, allow_hyphen_values = true)]
    orbit: Option<[f32; 2]>,

    /// What the color of the cloth says: a woven pattern, or its strain from 0 to twice the limit
    #[arg(long, value_name = "NAME", value_enum)]
    color: Option<ColorName>,
}

/// The names of [`Coloring`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ColorName {
    Cloth,
    Strain,
}

/// Options of `taut render`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// What `taut run --out` wrote; without --render its last frame is drawn to DIR/render.png
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    #[command(flatten)]
    picture: PictureOptions,

    /// Where to draw; auto takes a GPU if there is one, and the CPU rather than a software adapter
    #[arg(long, value_enum, default_value = "auto")]
    backend: BackendName,

    /// Part of the name of the adapter to draw with, or of "name (backend)"; see `taut adapters`
    #[arg(long, value_name = "SUBSTRING", value_parser = NonEmptyStringValueParser::new())]
    adapter: Option<String>,

    /// Say nothing but errors
    #[arg(long)]
    quiet: bool,
}

fn picture_name(text: &str) -> Result<PathBuf, String> {
    PictureFile::is_animation(text).map(|_| text.into()).map_err(|error| error.to_string())
}

pub(crate) fn size(text: &str) -> Result<[u32; 2], String> {
    let number = |text: &str| text.parse().map_err(|_| "must be width and height, like 800x600".to_owned());
    let (width, height) = text.split_once(['x', 'X', '×']).unwrap_or((text, ""));
    let size = [number(width)?, number(height)?];
    check_size(size).map_err(|error| error.to_string())?;
    Ok(size)
}

/// Two angles \[rad\] from degrees.
fn orbit(text: &str) -> Result<[f32; 2], String> {
    let (right, up) = text.split_once(',').unwrap_or((text, "0"));
    let angle = |text: &str| match text.trim().parse::<f32>() {
        Ok(degrees) if degrees.abs() <= 360.0 => Ok(degrees.to_radians()),
        _ => Err("must be one or two angles of at most 360 degrees, like 180 or -90,30".to_owned()),
    };
    Ok([angle(right)?, angle(up)?])
}

impl PictureOptions {
    /// Whether there will be a picture.
    pub(crate) fn is_asked(&self) -> bool {
        self.render.is_some()
    }

    /// Asks for a picture under this name.
    ///
    /// # Errors
    /// A sentence, if the name does not say which kind of picture.
    pub(crate) fn ask(&mut self, path: &Path) -> Result<(), String> {
        self.render = Some(picture_name(&path.to_string_lossy())?);
        Ok(())
    }

    /// The studio of a scene, if there will be pictures of it; options that do not go together are refused.
    pub(crate) fn studio(&self, scene: &Scene, frames: u32) -> Result<Option<Studio>> {
        let Some(path) = &self.render else {
            for (name, given) in [
                ("--size-px", self.size_px.is_some()),
                ("--every", self.every.is_some()),
                ("--orbit", self.orbit.is_some()),
                ("--color", self.color.is_some()),
            ] {
                ensure!(!given, "{name} is about pictures, but there is no --render");
            }
            return Ok(None);
        };
        if let Some(every) = self.every {
            let animation = PictureFile::is_animation(path)?;
            ensure!(animation, "--every is for animations, but {} is a single picture", path.display());
            ensure!(every.get() <= frames, "--every {every} is more than the {frames} frames there are");
        }
        let studio = Studio::of(scene);
        Ok(Some(self.orbit.map_or_else(|| studio.clone(), |[right, up]| studio.orbited(right, up))))
    }

    fn size(&self) -> [u32; 2] {
        self.size_px.unwrap_or(SIZE)
    }

    fn look(&self, settings: &Settings) -> Look {
        let coloring = match self.color {
            Some(ColorName::Strain) => Coloring::strain(settings),
            _ => Coloring::Cloth,
        };
        Look { coloring, ..Default::default() }
    }

    /// Frames from one picture to the next.
    fn every(&self, fps: f64) -> u32 {
        self.every.map_or_else(|| ((fps / RATE).ceil() as u32).max(1), NonZeroU32::get)
    }
}

/// A file of pictures in the making.
#[derive(Debug)]
pub(crate) struct Pictures {
    file: PictureFile,
    path: PathBuf,
    painter: Painter,
    /// By what, in words.
    by: String,
    fabric: Fabric,
    models: Vec<Model>,
    studio: Studio,
    camera: Camera,
    look: Look,
    size: [u32; 2],
    /// Frames from one picture to the next; `None` for the last frame alone.
    every: Option<u32>,
    fps: f64,
    last: u32,
    count: u32,
    start: [f64; 3],
}

/// What draws.
#[derive(Debug)]
enum Painter {
    Cpu,
    Gpu(Box<OnGpu>),
}

#[derive(Debug)]
struct OnGpu {
    offscreen: Offscreen,
    skin: Skin,
    props: Vec<Prop>,
    /// Whether positions are uploaded: the skin has not the simulation's own buffers.
    uploads: bool,
}

impl Pictures {
    /// Pictures of a cloth that runs: on its own device if it has one, else on the CPU. Those of a run that goes on
    /// show frames, too, that are not in the buffers of the cloth any more.
    pub(crate) fn of_cloth(options: &options::Options, studio: Studio, cloth: &Cloth, frames: u32) -> Result<Self> {
        let fabric = Fabric::new(cloth.mesh());
        let models: Vec<Model> = cloth.solids().iter().map(|solid| Model::of(solid, &studio)).collect();
        let size = options.picture.size();
        let (painter, by) = match cloth.gpu() {
            Some(gpu) => Painter::on_gpu(gpu, size, &models, |offscreen| {
                Ok(if options.goes_on {
                    (Skin::new(offscreen.renderer(), &fabric, cloth.mesh().positions())?, true)
                } else {
                    (Skin::of_cloth(offscreen.renderer(), cloth, &fabric)?, false)
                })
            }),
            None => (Painter::Cpu, "drawn on the CPU, as the cloth runs there".to_owned()),
        };
        let look = options.picture.look(cloth.settings());
        Self::new(&options.picture, options.subject.fps, frames, studio, fabric, models, look, painter, by)
    }

    #[expect(clippy::too_many_arguments, reason = "a constructor of two callers, with what they have in common")]
    fn new(
        options: &PictureOptions,
        fps: f64,
        frames: u32,
        studio: Studio,
        fabric: Fabric,
        models: Vec<Model>,
        look: Look,
        painter: Painter,
        by: String,
    ) -> Result<Self> {
        let path = options.render.clone().ok_or_else(|| anyhow!("there is no --render"))?;
        let every = PictureFile::is_animation(&path)?.then(|| options.every(fps));
        let size = options.size();
        let file = PictureFile::create(&path, size, f64::from(every.unwrap_or(1)) / fps)?;
        let camera = studio.camera(size);
        let (count, start) = (0, [f64::NAN; 3]);
        Ok(Self {
            file,
            path,
            painter,
            by,
            fabric,
            models,
            studio,
            camera,
            look,
            size,
            every,
            fps,
            last: frames,
            count,
            start,
        })
    }

    /// What is drawn and by what.
    pub(crate) fn told(&self) -> String {
        let [width, height] = self.size;
        match self.every {
            Some(every) => {
                // GIF viewers show no picture for less than a fiftieth of a second.
                let slow = if f64::from(every) < 0.02 * self.fps { ", slower than in life" } else { "" };
                format!("{} frames of {width} × {height}{slow}, {}", self.count, self.by)
            }
            None => format!("{width} × {height}, {}", self.by),
        }
    }

    /// Whether a frame is drawn at all.
    fn wants(&self, frame: u32) -> bool {
        self.every.map_or(frame == self.last, |every| frame.is_multiple_of(every))
    }

    /// Draws a frame, if it is one of those that are drawn. The positions are needed where they are not on the GPU
    /// anyway, and to follow what falls.
    pub(crate) fn add(&mut self, frame: u32, positions: &[[f32; 3]], solids: &[Solid]) -> Result<()> {
        if self.start[0].is_nan() {
            self.start = center(positions);
        }
        if !self.wants(frame) {
            return Ok(());
        }
        let (mut camera, mut studio) = (self.camera, self.studio.clone());
        if self.every.is_none() {
            studio = studio.closed_in(positions, solids);
            camera = studio.camera(self.size);
        } else if studio.falls() {
            let way = [0, 1, 2].map(|axis| (center(positions)[axis] - self.start[axis]) as f32);
            camera = camera.moved(way);
            studio = studio.moved(way);
        }
        let picture = self.painted(&camera, &studio, positions, solids)?;
        self.file.add(picture)?;
        self.count += 1;
        Ok(())
    }

    /// Makes a frame the last one, though there were to be more.
    pub(crate) fn end_at(&mut self, frame: u32, positions: &[[f32; 3]], solids: &[Solid]) -> Result<()> {
        if self.every.is_some() {
            return Ok(());
        }
        self.last = frame;
        self.add(frame, positions, solids)
    }

    fn painted(&self, camera: &Camera, studio: &Studio, positions: &[[f32; 3]], solids: &[Solid]) -> Result<Picture> {
        let poses = solids.iter().map(|solid| solid.pose);
        Ok(match &self.painter {
            Painter::Cpu => {
                let solids: Vec<(&Model, Pose)> = self.models.iter().zip(poses).collect();
                let view = raster::View { camera, look: &self.look, studio };
                raster::draw(self.size, &view, &[(&self.fabric, positions)], &solids)?
            }
            Painter::Gpu(on_gpu) => {
                let OnGpu { offscreen, skin, props, uploads } = on_gpu.as_ref();
                if *uploads {
                    skin.place(offscreen.renderer(), &self.fabric, positions)?;
                }
                let solids: Vec<(&Prop, Pose)> = props.iter().zip(poses).collect();
                offscreen.picture(camera, &self.look, &Items { studio, cloths: &[skin], solids: &solids })?
            }
        })
    }

    /// Puts the file in place and tells its name.
    pub(crate) fn finish(self) -> Result<PathBuf> {
        self.file.finish()?;
        Ok(self.path)
    }
}

impl Painter {
    /// Draws on a GPU, or on the CPU where that cannot be: a picture always comes.
    fn on_gpu(
        gpu: &Gpu,
        size: [u32; 2],
        models: &[Model],
        skin: impl FnOnce(&Offscreen) -> taut::Result<(Skin, bool)>,
    ) -> (Self, String) {
        let label = gpu.adapter().map(Gpu::label).unwrap_or_default();
        let made = Offscreen::new(gpu, size).and_then(|offscreen| {
            let (skin, uploads) = skin(&offscreen)?;
            let props =
                models.iter().map(|model| Prop::new(offscreen.renderer(), model)).collect::<taut::Result<_>>()?;
            Ok(Self::Gpu(Box::new(OnGpu { offscreen, skin, props, uploads })))
        });
        match made {
            Ok(painter) => (painter, format!("drawn by {label}")),
            Err(error) => (Self::Cpu, format!("drawn on the CPU, as {label} cannot: {error}")),
        }
    }
}

fn center(positions: &[[f32; 3]]) -> [f64; 3] {
    let sum = |axis: usize| positions.iter().map(|place| f64::from(place[axis])).sum::<f64>();
    [0, 1, 2].map(|axis| sum(axis) / positions.len().max(1) as f64)
}

/// Draws a finished run.
pub(crate) fn render(options: &Options) -> Result<Outcome> {
    if options.backend == BackendName::Cpu && options.adapter.is_some() {
        bail!("--adapter names a graphics adapter, but --backend cpu uses none");
    }
    let run = Recording::open(&options.directory)?;
    let picture = PictureOptions {
        render: Some(options.picture.render.clone().unwrap_or_else(|| options.directory.join("render.png"))),
        ..options.picture
    };
    let Some(studio) = picture.studio(&run.scene, run.last().max(1))? else { return Ok(Outcome::Done) };
    let fabric = Fabric::new(&run.scene.mesh);
    let models: Vec<Model> = run.scene.solids.iter().map(|solid| Model::of(solid, &studio)).collect();
    let choice = Backend::from(options.backend).choose(options.adapter.as_deref())?;
    let start = &run.scene.start;
    let (painter, by) = match &choice.gpu {
        Some(gpu) => Painter::on_gpu(gpu, picture.size(), &models, |offscreen| {
            Ok((Skin::new(offscreen.renderer(), &fabric, start)?, true))
        }),
        None => (Painter::Cpu, format!("drawn on the CPU: {}", choice.reason)),
    };
    let look = picture.look(&run.scene.settings);
    let pictures = Pictures::new(&picture, run.fps, run.last(), studio, fabric, models, look, painter, by)?;
    let told = run.draw(pictures)?;
    if !options.quiet {
        output::print(&told)?;
    }
    Ok(Outcome::Done)
}

/// What a finished run left in its directory.
struct Recording {
    scene: Scene,
    fps: f64,
    /// Frames that were simulated before this run.
    first: u64,
    cloth: pc2::Reader,
    /// What is missing.
    note: Option<String>,
}

impl Recording {
    fn open(directory: &Path) -> Result<Self> {
        let path = directory.join("report.json");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot access {}", path.display()))?;
        let report: Value = serde_json::from_str(&text).with_context(|| format!("{} is malformed", path.display()))?;
        let missing = |key: &str| anyhow!("{} is malformed: it has no {key}", path.display());
        let name = report["scene"].as_str().ok_or_else(|| missing("scene"))?;
        let size = report["size"].as_u64().and_then(|size| u32::try_from(size).ok());
        let positive = |key: &str| report[key].as_f64().filter(|value| *value > 0.0).ok_or_else(|| missing(key));
        let (fps, limit) = (positive("fps")?, positive("strain_limit")?);
        let builtin =
            crate::scene::names().any(|known| known == name) && report["file"].is_null() && report["import"].is_null();
        let path = directory.join("cloth.pc2");
        let cloth = pc2::Reader::open(&path)?;
        let mut note = None;
        let mut scene = match report["file"].as_str() {
            _ if builtin => Scene::named(name, size.ok_or_else(|| missing("size"))?)?,
            Some(file) => match filed_scene(file, size) {
                Ok(scene) if scene.mesh.vertex_count() == cloth.header().points as usize => scene,
                other => {
                    let reason = other.map_or_else(|error| error.to_string(), |_| format!("{file} has changed"));
                    note = Some(format!("without solids: {reason}"));
                    imported_scene(directory, name)?
                }
            },
            None => imported_scene(directory, name)?,
        };
        scene.settings.strain_limit = limit as f32;
        let (solids, missing) = world::reported_solids(&report);
        scene.solids.extend(solids);
        let note = note.or(missing);
        let (points, vertices) = (cloth.header().points as usize, scene.mesh.vertex_count());
        ensure!(points == vertices, "{} has {points} points, but the mesh has {vertices} vertices", path.display());
        ensure!(cloth.header().samples > 0, "{} has no samples", path.display());
        let first = report["first_frame"].as_u64().unwrap_or(0);
        Ok(Self { scene, fps, first, cloth, note })
    }

    /// Number of the last frame; the start is 0.
    fn last(&self) -> u32 {
        self.cloth.header().samples - 1
    }

    /// Draws the frames that are wanted and tells what was drawn.
    fn draw(mut self, mut pictures: Pictures) -> Result<String> {
        pictures.start = center(&self.scene.start);
        for frame in (0..=self.last()).filter(|frame| pictures.wants(*frame)).collect::<Vec<_>>() {
            let Some(positions) = self.cloth.sample(frame)? else { break };
            let time = (self.first + u64::from(frame)) as f64 / self.fps;
            pictures.add(frame, &positions, &self.scene.solids_at(time))?;
        }
        let told = [Some(pictures.told()), self.note].into_iter().flatten().collect::<Vec<_>>().join("; ");
        Ok(format!("wrote {}: {told}", pictures.finish()?.display()))
    }
}

/// The scene of a file that is still where it was, for its solids.
fn filed_scene(file: &str, size: Option<u32>) -> taut::Result<Scene> {
    let mut file = SceneFile::read(file)?;
    if let (Some(size), true) = (size, file.size().is_some()) {
        file.set_size(size)?;
    }
    file.scene()
}

/// The scene of a run whose mesh or scene came from a file that is gone or has changed: the mesh is the run's
/// `rest.obj`, and there are no solids but those of `--solid`.
fn imported_scene(directory: &Path, name: &str) -> Result<Scene> {
    // Nothing is welded: the point cache counts the vertices as they are.
    let options = import::Options { weld: None, ..Default::default() };
    let mesh = Mesh::new(import::read(&directory.join("rest.obj"), &options)?.descriptor)?;
    let start = mesh.positions().to_vec();
    Ok(Scene::new(name.to_owned(), mesh, start))
}
