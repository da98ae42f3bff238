//! Pictures of cloth: on a GPU straight from the simulation's buffers, or on the CPU where there is none.
//!
//! The two draw the same scene in the same way: the shading of `render.wgsl` and that of [`raster`] are twins.
//!
//! | | what | made |
//! |---|---|---|
//! | [`Stage`] | how large everything is, where the ground lies | once per scene |
//! | [`Camera`] | from where it is seen | by [`Stage::camera`], or by the caller |
//! | [`Look`] | colors and light; cloth or strain | by the caller |
//! | [`Fabric`] | what a cloth's mesh says about its drawing: pattern, pins, edges | once per cloth |
//! | [`Form`] | triangles of a solid | once per solid |
//!
//! With a device of one's own: a [`Renderer`] draws [`Skin`]s (cloths) and [`Prop`]s (solids) on a [`Canvas`]; it
//! records into the caller's encoder, and reads the positions and normals where the simulation writes them.
//! [`Offscreen`] does that without a window and gives a [`Picture`]. Without a device [`raster::draw`] gives one.
//! [`PictureFile`] writes PNG files and GIF animations.
//!
//! ```
//! use taut::render::{Fabric, Form, Look, Stage, raster};
//! use taut::{Cloth, FrameInput, scene};
//!
//! let scene = scene::drape(12)?;
//! let (stage, fabric) = (Stage::of(&scene), Fabric::new(&scene.mesh));
//! let forms: Vec<Form> = scene.solids.iter().map(|solid| Form::of(solid, &stage)).collect();
//! let settings = scene.settings.clone();
//! let mut cloth = Cloth::on_cpu(scene, settings)?;
//! cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
//!
//! let size = [160, 120];
//! let solids: Vec<_> = forms.iter().zip(cloth.solids()).map(|(form, solid)| (form, solid.pose)).collect();
//! let snapshot = cloth.snapshot()?;
//! let view = raster::View { camera: &stage.camera(size), look: &Look::default(), stage: &stage };
//! let picture = raster::draw(size, &view, &[(&fabric, &snapshot.positions)], &solids)?;
//! assert_eq!(picture.pixels().len(), 160 * 120 * 4);
//! # Ok::<(), taut::Error>(())
//! ```

mod camera;
mod fabric;
mod file;
mod form;
mod gpu;
mod legend;
mod light;
mod look;
mod offscreen;
mod picture;
pub mod raster;
mod skin;
mod stage;

pub use camera::Camera;
pub use fabric::Fabric;
pub use file::PictureFile;
pub use form::Form;
pub use gpu::{Canvas, Items, Renderer};
pub use look::{Coloring, Look};
pub use offscreen::Offscreen;
pub use picture::{Picture, check_size};
pub use skin::{Prop, Skin};
pub use stage::Stage;

/// The WGSL of [`Renderer`].
pub const WGSL: &str = include_str!("render.wgsl");
