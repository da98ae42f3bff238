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
//!
//! A flat row between two pins, as in [`patch`] and [`curtain`], has one edge more than it has
//! vertices that can move: its constraints are dependent, and solvers must cope. [`hang`] is the
//! same cloth without that trouble.

use crate::error::{Error, Result};
use crate::mesh::{Mass, Mesh, MeshDescriptor};
use crate::solid::Solid;

/// The names [`Scene::named`] knows.
pub const NAMES: [&str; 5] = ["chain", "curtain", "hang", "patch", "sheet"];

/// The largest size of a scene.
const MOST: u32 = 4096;
/// Distance of the pins of [`hang`], m.
const HANG_WIDTH: f64 = 0.99;

/// A cloth and where it starts.
#[derive(Clone, Debug)]
pub struct Scene {
    /// One of [`NAMES`].
    pub name: &'static str,
    /// The cloth at rest.
    pub mesh: Mesh,
    /// Start positions, one per vertex, m. Pinned vertices stay at theirs.
    pub start: Vec<[f32; 3]>,
    /// What is around it.
    pub solids: Vec<Solid>,
}

impl Scene {
    /// The scene of that name, with `size` vertices per side, or along the chain.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownScene`], and [`Error::SceneSize`] if `size` is not in 2 … 4096 (hang: 3 … 4096).
    pub fn named(name: &str, size: u32) -> Result<Self> {
        match name {
            "chain" => chain(size),
            "curtain" => curtain(size),
            "hang" => hang(size),
            "patch" => patch(size),
            "sheet" => sheet(size),
            _ => Err(Error::UnknownScene { name: name.to_owned(), known: NAMES.join(", ") }),
        }
    }

    /// A cloth that starts at these positions, with nothing around it.
    pub fn new(name: &'static str, mesh: Mesh, start: Vec<[f32; 3]>) -> Self {
        Self { name, mesh, start, solids: Vec::new() }
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
