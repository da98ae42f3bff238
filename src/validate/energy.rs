//! Mechanical energy, in f64 from what can be read of a cloth anywhere.

use glam::DVec3;

use crate::cloth::Cloth;
use crate::error::Result;
use crate::mesh::Mesh;

/// Of vectors in f32.
pub(super) fn wide(list: &[[f32; 3]]) -> Vec<DVec3> {
    list.iter().map(|x| DVec3::from_array(x.map(f64::from))).collect()
}

/// Kinetic energy, height and springs of a cloth \[J\]; without that of folds, which is a thousandth of it in the
/// scenes that have any. Pinned vertices have none.
///
/// # Errors
/// As [`Cloth::snapshot`].
pub fn energy(cloth: &Cloth) -> Result<f64> {
    let gravity = DVec3::from_array(cloth.settings().gravity.map(f64::from));
    Ok(energy_of(cloth.mesh(), gravity, &wide(&cloth.snapshot()?.positions), &wide(&cloth.velocities()?)))
}

/// The same of positions \[m\] and velocities \[m/s\].
pub(super) fn energy_of(mesh: &Mesh, gravity: DVec3, positions: &[DVec3], velocities: &[DVec3]) -> f64 {
    let moving = mesh.masses().iter().zip(mesh.inverse_masses()).zip(positions.iter().zip(velocities));
    let free = moving.filter(|((_, inverse), _)| *inverse > 0.0);
    let of_vertices =
        free.map(|((mass, _), (x, v))| f64::from(*mass) * (0.5 * v.length_squared() - gravity.dot(*x))).sum::<f64>();
    let of_springs = mesh.springs().iter().map(|spring| {
        let extent = positions[spring.head as usize].distance(positions[spring.tail as usize]);
        0.5 * f64::from(spring.stiffness) * (extent - f64::from(spring.rest)).powi(2)
    });
    of_vertices + of_springs.sum::<f64>()
}
