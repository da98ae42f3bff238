//! The scenes to choose from.

use anyhow::Result;
use taut::Scene;
use taut::io::import::RenderMesh;
use taut::render::Studio;

use crate::options::SubjectOptions;
use crate::scene::{self, Opened};

/// A scene that is ready to be played.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) scene: Scene,
    pub(super) studio: Studio,
    pub(super) fps: f64,
    /// Vertices per side, where one number says it.
    pub(super) size: Option<u32>,
    /// Texture coordinates of somebody's own mesh.
    pub(super) texture: Option<RenderMesh>,
    /// What is said before anything happens.
    pub(super) hint: Option<&'static str>,
}

impl Set {
    fn open(options: &SubjectOptions) -> Result<Self> {
        let Opened { options, scene, size, origin, .. } = scene::open(options)?;
        let settings = options.settings(&scene)?;
        settings.validate(&scene.mesh, &scene.start)?;
        Ok(Self {
            hint: scene.stays_flat(&settings).then_some(scene::FLAT),
            studio: Studio::of(&scene),
            scene: scene.with_settings(settings),
            fps: options.fps,
            size,
            texture: origin.map(|origin| origin.render).filter(|render| !render.uvs.is_empty()),
        })
    }
}

/// One of the scenes, at a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) number: usize,
    /// Vertices per side; `None` where there is no such number.
    pub(super) size: Option<u32>,
}

/// What was asked for, then the built-in scenes.
#[derive(Debug)]
pub(super) struct Scenes {
    options: SubjectOptions,
    names: Vec<String>,
    /// Whether the first one comes from a file.
    own: bool,
    pub(super) chosen: Choice,
}

impl Scenes {
    /// Opens what was asked for.
    pub(super) fn open(options: &SubjectOptions) -> Result<(Self, Set)> {
        let set = Set::open(options)?;
        let file = options.own.mesh.as_ref().map(|mesh| mesh.display().to_string());
        let file = file.or_else(|| scene::is_file(&options.scene).then(|| options.scene.clone()));
        let own = file.is_some();
        let names: Vec<String> = file.into_iter().chain(scene::names().map(str::to_owned)).collect();
        let number = if own { 0 } else { names.iter().position(|name| *name == options.scene).unwrap_or_default() };
        let chosen = Choice { number, size: set.size };
        Ok((Self { options: options.clone(), names, own, chosen }, set))
    }

    /// Names, in the order of their numbers.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The scene of a number, as large as the one that is shown, or as was asked for.
    pub(super) fn choice(&self, number: usize) -> Choice {
        Choice { number, size: Some(self.chosen.size.unwrap_or(self.options.size)) }
    }

    /// The one so many places further, around the end.
    pub(super) fn neighbor(&self, by: isize) -> Choice {
        self.choice((self.chosen.number as isize + by).rem_euclid(self.names.len() as isize) as usize)
    }

    /// Opens another one; with an error the one before is still chosen. Files are read anew.
    pub(super) fn choose(&mut self, choice: Choice) -> Result<Set> {
        let mut options = self.options.clone();
        let own = self.own && choice.number == 0;
        if !own {
            options.scene.clone_from(&self.names[choice.number]);
            options.own.mesh = None;
        }
        // A file has a size of its own until another one is chosen while it is shown, and a mesh has none.
        let resized = choice.number == self.chosen.number && choice.size != self.chosen.size;
        if let Some(size) = choice.size.filter(|_| !own || resized) {
            options.size = size;
            options.given.insert("size".to_owned());
        }
        let set = Set::open(&options)?;
        self.chosen = Choice { size: set.size, ..choice };
        Ok(set)
    }
}
