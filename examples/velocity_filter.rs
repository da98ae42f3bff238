//! Inextensibility for a simulation that is not this crate's: a mass-spring cloth of the host's own, integrated by the
//! classical Runge-Kutta method, and a velocity filter behind every step (Goldenthal et al. 2007, Algorithm 1).
//!
//! The host's springs are so soft that its cloth stretches by two thirds of its length. With the filter it keeps to
//! 1 %, and neither the host's forces nor its integrator know of it.
//!
//! `cargo run --release --example velocity_filter`

use taut::{Filter, FilterSettings, Mesh, scene};

/// A step \[s\], and two seconds of them.
const H: f32 = 1.0 / 240.0;
const STEPS: u32 = 480;
/// The host's springs \[N/m\], and drag by its air \[1/s\].
const STIFFNESS: f32 = 20.0;
const DRAG: f32 = 0.5;

type Vectors = Vec<[f32; 3]>;

/// The host: what is below knows no constraint.
struct Host {
    positions: Vectors,
    velocities: Vectors,
    masses: Vec<f32>,
    pinned: Vec<bool>,
    /// Two ends and a rest length \[m\].
    springs: Vec<(usize, usize, f32)>,
}

impl Host {
    fn new(mesh: &Mesh, start: &[[f32; 3]]) -> Self {
        let springs = mesh.edges().iter().chain(mesh.springs());
        Self {
            positions: start.to_vec(),
            velocities: vec![[0.0; 3]; start.len()],
            masses: mesh.masses().to_vec(),
            pinned: (0..start.len() as u32).map(|vertex| mesh.pins().contains(&vertex)).collect(),
            springs: springs.map(|link| (link.tail as usize, link.head as usize, link.rest)).collect(),
        }
    }

    fn accelerations(&self, positions: &[[f32; 3]], velocities: &[[f32; 3]]) -> Vectors {
        let mut forces = vec![[0.0f32; 3]; positions.len()];
        for &(a, b, rest) in &self.springs {
            let d = [0, 1, 2].map(|axis| positions[b][axis] - positions[a][axis]);
            let length = d.iter().map(|d| d * d).sum::<f32>().sqrt();
            for axis in 0..3 {
                let pull = STIFFNESS * (length - rest) * d[axis] / length;
                forces[a][axis] += pull;
                forces[b][axis] -= pull;
            }
        }
        for (v, force) in forces.iter_mut().enumerate() {
            for axis in 0..3 {
                let gravity = if axis == 1 { -9.81 } else { 0.0 };
                let free = f32::from(u8::from(!self.pinned[v]));
                force[axis] = free * (force[axis] / self.masses[v] + gravity - DRAG * velocities[v][axis]);
            }
        }
        forces
    }

    /// Velocities at the end of a step of the classical Runge-Kutta method. The host then moves by what the filter
    /// makes of them, as in symplectic Euler.
    fn candidate(&self) -> Vectors {
        let (x, v) = (&self.positions, &self.velocities);
        let ahead = |from: &Vectors, rate: &Vectors, part: f32| -> Vectors {
            from.iter().zip(rate).map(|(from, rate)| [0, 1, 2].map(|k| from[k] + part * H * rate[k])).collect()
        };
        let a1 = self.accelerations(x, v);
        let v2 = ahead(v, &a1, 0.5);
        let a2 = self.accelerations(&ahead(x, v, 0.5), &v2);
        let v3 = ahead(v, &a2, 0.5);
        let a3 = self.accelerations(&ahead(x, &v2, 0.5), &v3);
        let v4 = ahead(v, &a3, 1.0);
        let a4 = self.accelerations(&ahead(x, &v3, 1.0), &v4);
        (0..x.len())
            .map(|i| [0, 1, 2].map(|k| v[i][k] + H / 6.0 * (a1[i][k] + 2.0 * (a2[i][k] + a3[i][k]) + a4[i][k])))
            .collect()
    }

    fn advance(&mut self, velocities: Vectors) {
        for (position, velocity) in self.positions.iter_mut().zip(&velocities) {
            (0..3).for_each(|axis| position[axis] += H * velocity[axis]);
        }
        self.velocities = velocities;
    }

    /// Largest strain of the first `count` springs, those that stand for threads.
    fn strain(&self, count: usize) -> f64 {
        let strain = |&(a, b, rest): &(usize, usize, f32)| {
            let square = |axis: usize| f64::from(self.positions[b][axis] - self.positions[a][axis]).powi(2);
            ((square(0) + square(1) + square(2)).sqrt() / f64::from(rest) - 1.0).abs()
        };
        self.springs.iter().take(count).map(strain).fold(0.0, f64::max)
    }
}

fn main() -> taut::Result<()> {
    let scene = scene::hang(16)?;
    let edges = scene.mesh.edge_count();
    let mut alone = Host::new(&scene.mesh, &scene.start);
    let mut filtered = Host::new(&scene.mesh, &scene.start);
    let mut filter = Filter::on_cpu(scene.mesh, FilterSettings { strain_limit: 0.01, ..Default::default() })?;
    let [mut without, mut with] = [0.0f64; 2];
    for _ in 0..STEPS {
        let candidate = alone.candidate();
        alone.advance(candidate);
        without = without.max(alone.strain(edges));

        let mut velocities = filtered.candidate();
        let report = filter.filter(&filtered.positions, &mut velocities, H)?;
        assert_eq!(report.converged, Some(true));
        filtered.advance(velocities);
        with = with.max(filtered.strain(edges));
    }
    println!(
        "largest strain in {} s: {:.1} % alone, {:.3} % filtered",
        H * STEPS as f32,
        100.0 * without,
        100.0 * with
    );
    assert!(without > 0.2, "the host's own cloth must need a filter");
    assert!(with <= 0.0101, "the filter holds 1 %, but for the rounding of the host's own x + h v");
    Ok(())
}
