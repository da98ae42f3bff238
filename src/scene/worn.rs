//! Cloth that a body wears.

use std::f64::consts::{PI, TAU};
use std::sync::{Arc, OnceLock};

use super::{COTTON_BENDING, Scene, check_size};
use crate::error::Result;
use crate::mesh::MeshDescriptor;
use crate::solid::{self, Grid, Solid, SolidShape};

/// Smallest size of these scenes: the skirt has three rows then.
const LEAST: u32 = 8;
/// Radius of the skirt's waistband \[m\].
const BAND: f64 = 0.12;
/// Widest place of the hips \[m\]: what is 6 % longer than the band, and the thickness of the cloth, goes around it.
const HIPS: f64 = 1.06 * BAND;
/// Radius of the waist \[m\], and how far it is above the hips.
const WAIST: f64 = 0.07;
const RISE: f64 = 0.1;
/// Thickness of the cloth \[m\].
const THICKNESS: f64 = 0.002;
/// Corners of a circle of the body, and cells along it.
const SEGMENTS: u32 = 96;
const RESOLUTION: u32 = 96;

/// A skirt on a cone: `size` vertices around its waistband, which rests where the body, a waist above wider hips, is as
/// wide as the band. Friction alone would not hold it: the slope is 28° from the vertical. Cloth that does not stretch
/// stays where it is; below the hips, which are 6 % wider than the band, the body is narrow.
///
/// The trousers of Goldenthal et al. 2007, figure 7, as a figure that can be measured: with a limit of 0.1 % the band
/// is within a millimetre of its place after 10 s. Cloth that may be 10 % longer than at rest
/// ([`Settings::stretch_max`](crate::Settings::stretch_max) of 1.1) is on the way to the ground at once. A *limit* of
/// 10 % is not that: every substep still aims at the rest length, and the band stays, too.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn waist(size: u32) -> Result<Scene> {
    check_size("waist", size, LEAST)?;
    // Chords, not arcs, are as long as the edges down the skirt.
    let edge = 2.0 * BAND * (PI / f64::from(size)).sin();
    let rows = size / 5 + 2;
    let slope = (HIPS - WAIST) / RISE;
    let height = (HIPS + THICKNESS * slope.hypot(1.0) - BAND) / slope;
    let (out, down) = slope.atan().sin_cos();
    let position = |row: u32, column: u32| {
        let (sin, cos) = (TAU * f64::from(column) / f64::from(size)).sin_cos();
        let radius = BAND + edge * f64::from(row) * out;
        [radius * cos, height - edge * f64::from(row) * down, radius * sin].map(|x| x as f32)
    };
    let quad = |row: u32, column: u32| {
        let corner = |row: u32, column: u32| row * size + column % size;
        [corner(row, column), corner(row, column + 1), corner(row + 1, column + 1), corner(row + 1, column)].into()
    };
    let mut scene = Scene::at_rest(
        "waist",
        MeshDescriptor {
            positions: (0..rows).flat_map(|row| (0..size).map(move |column| position(row, column))).collect(),
            faces: (1..rows).flat_map(|row| (0..size).map(move |column| quad(row - 1, column))).collect(),
            bending: COTTON_BENDING,
            ..Default::default()
        },
    )?;
    let thickness = THICKNESS as f32;
    scene.solids.push(Solid { thickness, ..Solid::new(SolidShape::Grid(hips()?)) });
    scene.settings.strain_limit = 0.001;
    scene.settings.damping = 0.002;
    scene.settings.drag = 0.5;
    Ok(scene)
}

/// The body of [`waist`]: the hips are at y = 0.
fn hips() -> Result<Arc<Grid>> {
    // Baking takes longer than everything else about the scene: once is enough.
    static BODY: OnceLock<Arc<Grid>> = OnceLock::new();
    if let Some(grid) = BODY.get() {
        return Ok(grid.clone());
    }
    let outline = [[-0.45, 0.05], [-0.12, 0.06], [0.0, HIPS], [RISE, WAIST], [0.16, 0.05]];
    let baked = Arc::new(Grid::bake(&solid::revolved(&outline, SEGMENTS), RESOLUTION, 1 << 26)?);
    Ok(BODY.get_or_init(|| baked).clone())
}
