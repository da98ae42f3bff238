//! Pictures of cloth: on a GPU straight from the simulation's buffers, or on the CPU where there is none.
//!
//! The two draw the same scene in the same way: the shading of `render.wgsl` and that of [`raster`] are twins.
//!
//! | | what | made |
//! |---|---|---|
//! | [`Studio`] | how large everything is, where the ground lies | once per scene |
//! | [`Camera`] | from where it is seen | by [`Studio::camera`], or by the caller |
//! | [`Look`] | colors and light; cloth or strain | by the caller |
//! | [`Fabric`] | what a cloth's mesh says about its drawing: pattern, pins, edges | once per cloth |
//! | [`Model`] | triangles of a solid | once per solid |
//!
//! With a device of one's own: a [`Renderer`] draws [`Skin`]s (cloths) and [`Prop`]s (solids) on a [`Canvas`]; it
//! records into the caller's encoder, and reads the positions and normals where the simulation writes them.
//! [`Screen`] does that on a window's surface or a browser's canvas, [`Offscreen`] without either and gives a
//! [`Picture`]. Without a device [`raster::draw`] gives one. [`pick()`] finds the vertex under a pointer.
//! [`PictureFile`] writes PNG files and GIF animations.
//!
//! ```
//! use taut::render::{Fabric, Model, Look, Studio, raster};
//! use taut::{Cloth, FrameInput, scene};
//!
//! let scene = scene::drape(12)?;
//! let (studio, fabric) = (Studio::of(&scene), Fabric::new(&scene.mesh));
//! let models: Vec<Model> = scene.solids.iter().map(|solid| Model::of(solid, &studio)).collect();
//! let mut cloth = Cloth::on_cpu(scene)?;
//! cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
//!
//! let size = [160, 120];
//! let solids: Vec<_> = models.iter().zip(cloth.solids()).map(|(model, solid)| (model, solid.pose)).collect();
//! let snapshot = cloth.snapshot()?;
//! let view = raster::View { camera: &studio.camera(size), look: &Look::default(), studio: &studio };
//! let picture = raster::draw(size, &view, &[(&fabric, &snapshot.positions)], &solids)?;
//! assert_eq!(picture.pixels().len(), 160 * 120 * 4);
//! # Ok::<(), taut::Error>(())
//! ```

mod camera;
mod fabric;
mod file;
mod gpu;
mod legend;
mod light;
mod look;
mod model;
mod offscreen;
mod pick;
mod picture;
pub mod raster;
mod screen;
mod skin;
mod studio;

pub use camera::Camera;
pub use fabric::Fabric;
pub use file::PictureFile;
pub use gpu::{Canvas, Items, Renderer};
pub use look::{Coloring, Look};
pub use model::Model;
pub use offscreen::Offscreen;
pub use pick::pick;
pub use picture::{Picture, check_size};
pub use screen::Screen;
pub use skin::{Prop, Skin};
pub use studio::Studio;

/// The WGSL of [`Renderer`].
pub const WGSL: &str = include_str!("render.wgsl");
