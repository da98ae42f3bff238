//! Ready cloths, shared by tests, benchmarks, examples and the command-line program.
//!
//! Right-handed, metres, +Y up. A sheet is 1 m × 1 m with `size` vertices per side and lies in the
//! XZ plane, x and z from 0 to 1; vertex `z * size + x` is column x of row z. Density and shear are
//! those of [`MeshDescriptor::default`].
//!
//! | Scene | Pinned | Start |
//! |---|---|---|
//! | [`chain`] | vertex 0 | straight along +x |
//! | [`curtain`] | the whole row z = 0 | flat |
//! | [`hang`] | both corners of the row z = 0, 0.99 m apart | a shallow arc, without strain |
//! | [`patch`] | both corners of the row z = 0, 1 m apart | flat |
//! | [`sheet`] | nothing | flat |
//! | [`rope_tether`] | vertex 0 | a rope of 1 m, gathered to 0.3 m |
//!
//! With solids or wind, of a cotton that resists bending (1e-5 N·m):
//!
//! | Scene | Pinned | Start |
//! |---|---|---|
//! | [`drape`] | nothing | flat, above a ball of radius 0.3 m |
//! | [`tablecloth`] | nothing | flat, above a table of 0.6 m × 0.6 m |
//! | [`incline`] | nothing | flat, on a slope of 20° with a friction of 0.5 |
//! | [`mannequin`] | nothing | flat, above the shoulders of a dress form |
//! | [`flag`] | the column x = 0 | upright in the wind |
//!
//! Cloth that meets itself, of the same cotton, with self-collision ([`LAYERED`]):
//!
//! | Scene | Held | Start |
//! |---|---|---|
//! | [`fold`] | one side, which is led over to the other and let go | flat, on the ground |
//! | [`heap`] | nothing | upright, above the ground |
//! | [`ring`] | the middle, which is pulled down | flat, on a ring that is much narrower |
//! | [`sheets`] | the corners of the lower one | one above the other |
//! | [`sleeve`] | both ends, one of which is pushed towards the other | a tube around an arm |
//! | [`stack`] | nothing | six, one above the other |
//! | [`twist`] | the upper side, which is turned, and the lower one, which may rise | upright |
//!
//! And cloth that a body wears ([`WORN`]): [`waist`], a skirt on a cone, which stays up because it does not stretch.
//!
//! [`Scene::settings`] are part of a scene: wind, one-sided edges, damping. With the feature `scene-files` those of
//! [`NAMES`] can be written to a TOML file and read from one: `taut::scene::file`. What moves in the course of a scene
//! is its [`Script`].
//!
//! A flat row between two pins, as in [`patch`] and [`curtain`], has one edge more than it has
//! vertices that can move: its constraints are dependent, and solvers must cope. [`hang`] is the
//! same cloth without that trouble.
//!
//! A flat cloth that stands upright needs something that bends it to one side: wind, a solid, or a tiny [`noise`].

#[cfg(feature = "scene-files")]
pub mod file;
mod layers;
pub mod material;
pub mod noise;
mod sizes;
mod symmetry;
mod worn;

pub use crate::cloth::motion::{Key, Motion, PinGroup, Script, SolidMotion};
pub use crate::cloth::scene::Scene;
#[cfg(feature = "scene-files")]
pub use file::SceneFile;
pub use layers::{fold, heap, ring, sheets, sleeve, stack, twist};
pub use material::Material;
pub use noise::Noise;
pub use worn::waist;

use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::mesh::{Mass, Mesh, MeshDescriptor};
use crate::solid::{self, Grid, Pose, Solid, SolidShape};
use crate::stage::wind::Wind;

/// The names that [`Scene::named`] knows, and scene files can say.
pub const NAMES: [&str; 11] = [
    "chain",
    "curtain",
    "drape",
    "flag",
    "hang",
    "incline",
    "mannequin",
    "patch",
    "rope-tether",
    "sheet",
    "tablecloth",
];

/// The names that [`Scene::named`] knows besides: cloth that meets itself. No scene file can say how it starts.
pub const LAYERED: [&str; 7] = ["fold", "heap", "ring", "sheets", "sleeve", "stack", "twist"];

/// The names that [`Scene::named`] knows besides: cloth that a body wears. No scene file can say how it starts.
pub const WORN: [&str; 1] = ["waist"];

/// The largest size of a scene.
pub(crate) const MOST: u32 = 4096;
/// Bending stiffness of the cloth of the built-in scenes, N·m: that of a light cotton, softer than the fabric of that
/// name.
const COTTON_BENDING: f32 = 1e-5;
/// Corners of an ellipse of the dress form.
const FORM_SEGMENTS: u32 = 48;
/// Cells along the dress form.
pub(crate) const FORM_RESOLUTION: u32 = 64;
/// Distance of the pins of [`hang`], m.
const HANG_WIDTH: f64 = 0.99;

impl Scene {
    /// The scene of that name, with `size` vertices per side, or along the chain.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownScene`], and [`Error::SceneSize`] if `size` is not in 2 … 4096 (from 3 on for `hang`, from 8 on
    /// for [`LAYERED`] and [`WORN`]).
    pub fn named(name: &str, size: u32) -> Result<Self> {
        match name {
            "chain" => chain(size),
            "curtain" => curtain(size),
            "hang" => hang(size),
            "drape" => drape(size),
            "flag" => flag(size),
            "incline" => incline(size),
            "mannequin" => mannequin(size),
            "patch" => patch(size),
            "rope-tether" => rope_tether(size),
            "sheet" => sheet(size),
            "tablecloth" => tablecloth(size),
            "fold" => fold(size),
            "heap" => heap(size),
            "ring" => ring(size),
            "sheets" => sheets(size),
            "sleeve" => sleeve(size),
            "stack" => stack(size),
            "twist" => twist(size),
            "waist" => waist(size),
            _ => {
                let known = [&NAMES[..], &LAYERED, &WORN].concat().join(", ");
                Err(Error::UnknownScene { name: name.to_owned(), known })
            }
        }
    }

    fn at_rest(name: &'static str, descriptor: MeshDescriptor) -> Result<Self> {
        let mesh = Mesh::new(descriptor)?;
        let start = mesh.positions().to_vec();
        Ok(Self::new(name, mesh, start))
    }
}

/// A chain of `size` vertices, 1 m long, 0.1 kg/m, straight along +x, pinned at vertex 0.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn chain(size: u32) -> Result<Scene> {
    check_size("chain", size, 2)?;
    let descriptor = MeshDescriptor {
        positions: (0..size).map(|x| [coordinate(x, size), 0.0, 0.0]).collect(),
        lines: (1..size).map(|head| [head - 1, head]).collect(),
        mass: Mass::Density(0.1),
        pins: vec![0],
        ..Default::default()
    };
    Scene::at_rest("chain", descriptor)
}

/// A flat sheet whose whole row z = 0 is pinned.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn curtain(size: u32) -> Result<Scene> {
    check_size("curtain", size, 2)?;
    Scene::at_rest("curtain", grid(size, (0..size).collect()))
}

/// A sheet pinned at both corners of the row z = 0, 0.99 m apart.
///
/// It starts bent without strain: the vertices of each row lie on a circle below the line of the
/// pins, neighbors one rest length apart; the columns are straight. The rest shape is flat. A row
/// needs two edges to bend, so the smallest size is 3.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn hang(size: u32) -> Result<Scene> {
    check_size("hang", size, 3)?;
    let mut scene = Scene::at_rest("hang", grid(size, vec![0, size - 1]))?;
    let row = arc(size - 1, HANG_WIDTH);
    for (vertex, position) in scene.start.iter_mut().enumerate() {
        let [x, y] = row[vertex % row.len()];
        (position[0], position[1]) = (x as f32, y as f32);
    }
    Ok(scene)
}

/// A flat sheet pinned at both corners of the row z = 0, exactly as far apart as at rest.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn patch(size: u32) -> Result<Scene> {
    check_size("patch", size, 2)?;
    Scene::at_rest("patch", grid(size, vec![0, size - 1]))
}

/// A flat sheet without pins.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn sheet(size: u32) -> Result<Scene> {
    check_size("sheet", size, 2)?;
    Scene::at_rest("sheet", grid(size, Vec::new()))
}

/// A rope of 1 m, 0.1 kg/m, pinned at vertex 0 and gathered to 0.3 m along +x. Its edges are one-sided: they may be
/// shorter than at rest, so it falls freely until it is taut.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn rope_tether(size: u32) -> Result<Scene> {
    check_size("rope-tether", size, 2)?;
    let mut scene = Scene { name: "rope-tether".into(), ..chain(size)? };
    for position in &mut scene.start {
        position[0] *= 0.3;
    }
    scene.settings.stretch_min = 0.0;
    Ok(scene)
}

/// A flat sheet that falls on a ball of radius 0.3 m: the draping experiment of the paper (Goldenthal et al. 2007,
/// section 5).
///
/// # Errors
///
/// As [`Scene::named`].
pub fn drape(size: u32) -> Result<Scene> {
    check_size("drape", size, 2)?;
    let ball = Solid::new(SolidShape::Sphere { radius: 0.3 }).at([0.5, -0.32, 0.5]);
    falling("drape", size, Solid { thickness: clearance(size, 0.3), ..ball })
}

/// A flat sheet that falls on a table of 0.6 m × 0.6 m.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn tablecloth(size: u32) -> Result<Scene> {
    let table = Solid::new(SolidShape::Box { half: [0.3, 0.02, 0.3] }).at([0.5, -0.05, 0.5]);
    falling("tablecloth", size, Solid { thickness: 0.004, ..table })
}

/// A sheet that lies on a slope of 20° with a friction of 0.5: it stays where it is.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn incline(size: u32) -> Result<Scene> {
    let (sin, cos) = 20.0_f64.to_radians().sin_cos();
    let (half_sin, half_cos) = 10.0_f64.to_radians().sin_cos();
    // Turned about z, so that the normal leans towards −x and the slope rises along x.
    let pose = Pose { rotation: [0.0, 0.0, half_sin as f32, half_cos as f32], translation: [0.0; 3] };
    let slope = Solid { pose, sliding_friction: 0.5, ..Solid::new(SolidShape::Plane) };
    let mut scene = falling("incline", size, slope)?;
    for position in &mut scene.start {
        let x = f64::from(position[0]);
        (position[0], position[1]) = ((x * cos) as f32, (x * sin) as f32);
    }
    Ok(scene)
}

/// A sheet of 1 m that falls on the shoulders of a dress form, a closed mesh.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn mannequin(size: u32) -> Result<Scene> {
    let form = Solid::new(SolidShape::Grid(dress_form()?)).at([0.5, -0.95, 0.5]);
    falling("mannequin", size, Solid { thickness: 0.005, friction: 0.3, sliding_friction: 0.25, ..form })
}

/// The dress form of [`mannequin`].
fn dress_form() -> Result<Arc<Grid>> {
    // Baking takes longer than everything else about the scene: once is enough.
    static FORM: OnceLock<Arc<Grid>> = OnceLock::new();
    if let Some(grid) = FORM.get() {
        return Ok(grid.clone());
    }
    let baked = Arc::new(Grid::bake(&solid::mannequin(FORM_SEGMENTS), FORM_RESOLUTION, 1 << 26)?);
    Ok(FORM.get_or_init(|| baked).clone())
}

/// A flag of 1 m × 1 m in a gusty wind, held along its column x = 0 and upright.
///
/// # Errors
///
/// As [`Scene::named`].
pub fn flag(size: u32) -> Result<Scene> {
    check_size("flag", size, 2)?;
    let pole = (0..size).map(|row| row * size).collect();
    let mut descriptor = MeshDescriptor { bending: COTTON_BENDING, ..grid(size, pole) };
    for position in &mut descriptor.positions {
        *position = [position[0], -position[2], 0.0];
    }
    let mut scene = Scene::at_rest("flag", descriptor)?;
    scene.settings.wind = Some(Wind {
        velocity: [6.0, 0.0, 1.5],
        gust: 0.3,
        gust_wave: [0.8, 0.3, 0.5],
        gust_frequency: 1.3,
        ..Default::default()
    });
    Ok(scene)
}

/// A sheet of light cotton above a solid.
fn falling(name: &'static str, size: u32, solid: Solid) -> Result<Scene> {
    check_size(name, size, 2)?;
    let mut scene = Scene::at_rest(name, MeshDescriptor { bending: COTTON_BENDING, ..grid(size, Vec::new()) })?;
    scene.solids.push(solid);
    // Friction within the fabric: folds come to rest.
    scene.settings.damping = 0.002;
    scene.settings.drag = 0.5;
    Ok(scene)
}

/// Distance at which the edges of a sheet stay outside of a ball when its vertices do, and half as much again \[m\].
fn clearance(size: u32, radius: f64) -> f32 {
    let edge = 1.0 / f64::from(size - 1);
    (0.003 + 1.5 * edge * edge / (8.0 * radius)) as f32
}

fn check_size(name: &'static str, size: u32, least: u32) -> Result<()> {
    if (least..=MOST).contains(&size) { Ok(()) } else { Err(Error::SceneSize { name, size, least, most: MOST }) }
}

/// Where vertex `index` of `size` is on a straight line of 1 m, m.
fn coordinate(index: u32, size: u32) -> f32 {
    (f64::from(index) / f64::from(size - 1)) as f32
}

fn grid(size: u32, pins: Vec<u32>) -> MeshDescriptor {
    let rows = || 0..size;
    let position = |z, x| [coordinate(x, size), 0.0, coordinate(z, size)];
    let quad = |z: u32, x: u32| {
        let corner = z * size + x;
        // In this order the normals point up.
        [corner, corner + size, corner + size + 1, corner + 1].into()
    };
    MeshDescriptor {
        positions: rows().flat_map(|z| rows().map(move |x| position(z, x))).collect(),
        faces: (1..size).flat_map(|z| (1..size).map(move |x| quad(z - 1, x - 1))).collect(),
        pins,
        ..Default::default()
    }
}

/// The corners (x, y) of `count` equal chords of one circle, together 1 m long, whose ends are
/// `width` m apart on y = 0, centered at x = ½, hanging below.
fn arc(count: u32, width: f64) -> Vec<[f64; 2]> {
    let count = f64::from(count);
    // With θ the angle of one chord seen from the center, the ends of n chords of length 1/n are
    // sin(nθ/2) / (n sin(θ/2)) apart: 1 at θ = 0, falling to 0 at θ = 2π/n.
    let apart = |half: f64| (count * half).sin() / (count * half.sin());
    let (mut low, mut high) = (0.0, std::f64::consts::PI / count);
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if apart(middle) > width {
            low = middle;
        } else {
            high = middle;
        }
    }
    let half = high;
    let radius = 0.5 / (count * half.sin());
    let corner = |index: u32| {
        let angle = (2.0 * f64::from(index) - count) * half;
        [0.5 + radius * angle.sin(), radius * ((count * half).cos() - angle.cos())]
    };
    (0..=count as u32).map(corner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_have_equal_chords_and_the_width_asked_for() {
        for count in [2, 3, 10, 70, 4095] {
            let row = arc(count, HANG_WIDTH);
            let (first, last) = (row[0], row[count as usize]);
            assert!((first[0] - 0.005).abs() < 1e-14 && (last[0] - 0.995).abs() < 1e-14);
            assert!(first[1].abs() < 1e-15 && last[1].abs() < 1e-15);
            let sag = row.iter().map(|corner| -corner[1]).fold(0.0, f64::max);
            assert!((0.057..0.0706).contains(&sag), "{count}: {sag}");
            for pair in row.windows(2) {
                let chord = (pair[1][0] - pair[0][0]).hypot(pair[1][1] - pair[0][1]);
                assert!((chord * f64::from(count) - 1.0).abs() < 1e-11, "{count}: {chord}");
            }
        }
    }
}
