//! A recording: every frame as a point cache, and a moving picture of what is seen.

use std::path::{Path, PathBuf};

use anyhow::Result;
use taut::io::export::{Export, Target};
use taut::render::{Camera, Look, PictureFile, Studio};

use super::easel::{Darkroom, Easel};
use super::player::Player;

/// Extensions of its files.
pub(super) const EXTENSIONS: [&str; 2] = ["pc2", "gif"];
/// The largest moving picture: a larger one takes longer to pack than to simulate.
const LARGEST: [f32; 2] = [640.0, 480.0];
/// Pictures per second at most.
const FASTEST: f64 = 30.0;
/// More frames than anybody records; the file says in the end how many there are.
const MOST: u32 = i32::MAX as u32;

/// A recording that goes on. Dropped before its end it leaves nothing behind.
pub(super) struct Recording {
    export: Export,
    pictures: PictureFile,
    darkroom: Darkroom,
    paths: [PathBuf; 2],
    frames: u32,
    /// A picture is taken of one frame in this many.
    every: u32,
}

impl Recording {
    /// Begins to write files of this name, without its extension. `seen` is the size of the picture on the screen.
    pub(super) fn begin(stem: &Path, seen: [u32; 2], easel: &Easel, player: &Player) -> Result<Self> {
        let paths = EXTENSIONS.map(|extension| stem.with_extension(extension));
        let scale = seen.iter().zip(LARGEST).fold(1.0_f32, |scale, (side, most)| scale.min(most / *side as f32));
        let size = seen.map(|side| ((scale * side as f32) as u32).max(1));
        let every = (player.fps() / FASTEST).ceil().clamp(1.0, 1e6) as u32;
        let cloth = player.cloth();
        Ok(Self {
            export: Export::create(&Target::new(&paths[0])?, cloth.mesh(), MOST, player.fps())?,
            pictures: PictureFile::create(&paths[1], size, f64::from(every) / player.fps())?,
            darkroom: easel.darkroom(size, cloth)?,
            paths,
            frames: 0,
            every,
        })
    }

    /// Frames so far.
    pub(super) fn frames(&self) -> u32 {
        self.frames
    }

    /// Adds the present frame.
    pub(super) fn add(&mut self, view: (&Camera, &Look, &Studio), easel: &Easel, player: &Player) -> Result<()> {
        let (cloth, positions) = (player.cloth(), player.positions());
        self.export.write_frame(cloth.mesh(), player.band(), positions)?;
        if self.frames.is_multiple_of(self.every) {
            self.pictures.add(self.darkroom.picture(easel, view, cloth, positions)?)?;
        }
        self.frames += 1;
        Ok(())
    }

    /// Puts the files in place; their names.
    pub(super) fn finish(self, player: &Player) -> Result<[PathBuf; 2]> {
        self.export.finish_early(player.cloth().mesh(), player.band(), player.positions())?;
        self.pictures.finish()?;
        Ok(self.paths)
    }
}
