//! One sweep over a yarn is one exact solve of its tridiagonal system, whatever its length and kind; in f64 by the
//! elimination of Thomas, for a ring with the formula of Sherman and Morrison.

use super::super::Failure;
use super::super::subjects::FRAME;
use super::Named;
use super::trial::{Trial, step};
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Substeps;
use crate::error::Result;
use crate::mesh::{EdgeKind, EdgeOverride, Mass, Mesh, MeshDescriptor};
use crate::scene::Scene;
use crate::solver::{Method, YarnSweep};
use glam::DVec3;

pub(super) const FIGURES: &[Named] = &[("short-yarns", short_yarns), ("long-yarns", long_yarns)];

/// A yarn of 1 m: where it is, and what it is told to be.
struct Yarn {
    points: Vec<[f32; 3]>,
    pins: Vec<u32>,
    closed: bool,
}

impl Yarn {
    fn open(points: &[[f32; 3]], pins: &[u32]) -> Self {
        Self { points: points.to_vec(), pins: pins.to_vec(), closed: false }
    }

    fn edges(&self) -> usize {
        if self.closed { self.points.len() } else { self.points.len() - 1 }
    }

    fn rest(&self) -> f32 {
        1.0 / self.edges() as f32
    }

    fn ends(&self, edge: usize) -> [usize; 2] {
        [edge, (edge + 1) % self.points.len()]
    }

    fn scene(&self) -> Result<Scene> {
        let lines: Vec<[u32; 2]> = (0..self.edges()).map(|edge| self.ends(edge).map(|v| v as u32)).collect();
        let long =
            |ends: &[u32; 2]| EdgeOverride { ends: *ends, kind: EdgeKind::Inextensible, rest: Some(self.rest()) };
        let mesh = Mesh::new(MeshDescriptor {
            positions: self.points.clone(),
            overrides: lines.iter().map(long).collect(),
            lines,
            mass: Mass::PerVertex((0..self.points.len()).map(|k| 1.0 + 0.5 * (k % 3) as f32).collect()),
            pins: self.pins.clone(),
            ..Default::default()
        })?;
        Ok(Scene::new("yarn", mesh, self.points.clone()))
    }
}

/// J W Jᵀ λ = C of a yarn for C = |d| − l, and what it is made of.
struct System {
    /// Units along the edges.
    units: Vec<DVec3>,
    /// C \[m\].
    excess: Vec<f64>,
    inverse_masses: Vec<f64>,
    diagonal: Vec<f64>,
    /// Between an edge and the next; the last one of a ring joins it to the first.
    between: Vec<f64>,
}

impl System {
    fn of(yarn: &Yarn, scene: &Scene) -> Self {
        let at = |v: usize| DVec3::from_array(yarn.points[v].map(f64::from));
        let inverse_masses: Vec<f64> = scene.mesh.inverse_masses().iter().map(|w| f64::from(*w)).collect();
        let count = yarn.edges();
        let ways: Vec<DVec3> = (0..count).map(|e| yarn.ends(e)).map(|[a, b]| at(b) - at(a)).collect();
        let units: Vec<DVec3> = ways.iter().map(|d| d.normalize()).collect();
        let excess = ways.iter().map(|d| d.length() - f64::from(yarn.rest())).collect();
        let diagonal = (0..count).map(|e| yarn.ends(e)).map(|[a, b]| inverse_masses[a] + inverse_masses[b]).collect();
        let joint = |e: usize| -inverse_masses[yarn.ends(e)[1]] * units[e].dot(units[(e + 1) % count]);
        let between = (0..count).map(|e| if e + 1 < count || yarn.closed { joint(e) } else { 0.0 }).collect();
        Self { units, excess, inverse_masses, diagonal, between }
    }

    /// Elimination without pivots: the matrix is symmetric and definite.
    fn thomas(&self, diagonal: &[f64], right: &[f64]) -> Vec<f64> {
        let count = right.len();
        let (mut pivots, mut solved) = (diagonal.to_vec(), right.to_vec());
        for k in 1..count {
            let factor = self.between[k - 1] / pivots[k - 1];
            pivots[k] -= factor * self.between[k - 1];
            solved[k] -= factor * solved[k - 1];
        }
        for k in (0..count).rev() {
            let next = if k + 1 < count { self.between[k] * solved[k + 1] } else { 0.0 };
            solved[k] = (solved[k] - next) / pivots[k];
        }
        solved
    }

    /// λ.
    fn multipliers(&self) -> Vec<f64> {
        let count = self.excess.len();
        let corner = self.between[count - 1];
        if corner == 0.0 {
            return self.thomas(&self.diagonal, &self.excess);
        }
        // A = T + u uᵀ·c with u = (1, 0, …, 0, 1), where T has c taken from its first and last diagonal entries.
        let mut diagonal = self.diagonal.clone();
        diagonal[0] -= corner;
        diagonal[count - 1] -= corner;
        let mut ends = vec![0.0; count];
        (ends[0], ends[count - 1]) = (1.0, 1.0);
        let (plain, around) = (self.thomas(&diagonal, &self.excess), self.thomas(&diagonal, &ends));
        let of_ends = |list: &[f64]| list[0] + list[count - 1];
        let factor = corner * of_ends(&plain) / (1.0 + corner * of_ends(&around));
        plain.iter().zip(&around).map(|(x, z)| x - factor * z).collect()
    }

    /// The largest row of |A| |λ| \[m\].
    fn magnitude(&self) -> f64 {
        let multipliers: Vec<f64> = self.multipliers().into_iter().map(f64::abs).collect();
        let count = multipliers.len();
        let row = |k: usize| {
            let [before, after] = [(k + count - 1) % count, k].map(|joint| self.between[joint].abs());
            let around = before * multipliers[(k + count - 1) % count] + after * multipliers[(k + 1) % count];
            self.diagonal[k] * multipliers[k] + around
        };
        (0..count).map(row).fold(0.0, f64::max)
    }

    /// What each vertex moves by.
    fn motions(&self, yarn: &Yarn) -> Vec<DVec3> {
        let mut motions = vec![DVec3::ZERO; yarn.points.len()];
        for (e, multiplier) in self.multipliers().into_iter().enumerate() {
            let [a, b] = yarn.ends(e);
            motions[a] += self.inverse_masses[a] * multiplier * self.units[e];
            motions[b] -= self.inverse_masses[b] * multiplier * self.units[e];
        }
        motions
    }
}

/// One sweep from rest, from which velocities tell the motions, with bits of their own where positions have none left.
///
/// `forward`: how far they may be from those of the f64 solution, as a part of the largest. The other bound is that of
/// the residual of every row, J Δx + C, over the terms that it is the difference of: a backward error, whatever the
/// condition.
fn solve(trial: &mut Trial<'_>, kind: &str, yarn: &Yarn, forward: f64) -> Result<(), Failure> {
    let scene = yarn.scene()?;
    let system = System::of(yarn, &scene);
    let expected = system.motions(yarn);
    let settings = Settings {
        gravity: [0.0; 3],
        substeps: Substeps::Fixed(1),
        strain_limit: 1e-3,
        method: Method::YarnSweep(YarnSweep { sweeps: 1, step_clamp: 10.0, slack: 0.0, ..Default::default() }),
        ..Default::default()
    };
    let mut cloth = trial.cloth(scene, settings)?;
    step(&mut cloth, FRAME)?;
    let found: Vec<DVec3> = cloth
        .velocities()?
        .into_iter()
        .map(|velocity| f64::from(FRAME) * DVec3::from_array(velocity.map(f64::from)))
        .collect();
    let largest = expected.iter().fold(0.0f64, |most, motion| most.max(motion.length()));
    let error = found.iter().zip(&expected).fold(0.0f64, |most, (a, b)| most.max((*a - *b).length()));
    // A length is rounded to 6e-8 of itself, whatever the solve does.
    let error = (error - ROUNDED * f64::from(yarn.rest()) * (yarn.edges() as f64).sqrt()).max(0.0);
    let what = format!("{kind}, {} edges", yarn.edges());
    trial.at_most(format!("{what}: distance from the solution over the motion"), error / largest, forward)?;
    let left = |e: usize| {
        let [a, b] = yarn.ends(e);
        (system.units[e].dot(found[b] - found[a]) + system.excess[e]).abs()
    };
    let residual = (0..yarn.edges()).map(left).fold(0.0, f64::max);
    let residual = (residual - ROUNDED * f64::from(yarn.rest())).max(0.0);
    trial.at_most(format!("{what}: residual over |A| |λ|"), residual / system.magnitude(), RESIDUAL)
}

/// Two roundings of a length.
const ROUNDED: f64 = 1.2e-7;
/// Eliminating without pivots leaves of a definite tridiagonal system five roundings (6e-8) of |A| |λ|; that the
/// entries of A and the motions W Jᵀ λ are rounded are two each, and lanes that share a yarn eliminate twice.
const RESIDUAL: f64 = 16.0 * 6e-8;

fn random(k: usize, salt: f32) -> f32 {
    ((k as f32 * 12.9898 + salt) * 43_758.547).sin()
}

/// All kinds of yarns of so many edges that the shape keeps their motion below ten edges, which is where it is clamped.
fn kinds(count: usize) -> Vec<(&'static str, Yarn)> {
    let at = |k: usize| k as f32 / count as f32;
    let part = (100.0 / count as f32).min(1.0);
    let wave = part.sqrt();
    let taut: Vec<[f32; 3]> =
        (0..=count).map(|k| [(1.0 + 0.05 * part) * at(k), 0.001 * part * random(k, 1.0) * wave, 0.0]).collect();
    let wavy: Vec<[f32; 3]> =
        (0..=count).map(|k| [at(k), 0.03 * wave * (9.0 * at(k)).sin(), 0.01 * wave * (5.0 * at(k)).cos()]).collect();
    let around = count.max(3);
    let radius = (1.0 + 0.068 * part) / std::f32::consts::TAU;
    let ring = (0..around)
        .map(|k| {
            let angle = k as f32 / around as f32 * std::f32::consts::TAU;
            [radius * angle.cos(), radius * angle.sin(), 0.02 * wave * (3.0 * angle).sin()]
        })
        .collect();
    let mut list = vec![
        ("taut", Yarn::open(&taut, &[0])),
        ("wavy", Yarn::open(&wavy, &[0])),
        ("free", Yarn::open(&wavy, &[])),
        ("closed", Yarn { points: ring, pins: Vec::new(), closed: true }),
    ];
    if count > 2 {
        list.push(("both ends pinned", Yarn::open(&wavy, &[0, count as u32])));
    }
    list
}

/// Rounding (6e-8) times the condition of a string, about 1.6 m² for a taut one of m edges and less for the others. A
/// row fixed at both ends is softer still: its condition is that of its sag.
fn condition(count: usize) -> f64 {
    2e-7 * (10.0 + (count * count) as f64)
}

/// Lengths around the runs that the lanes of a workgroup take: 1, 16, 17, …
fn short_yarns(trial: &mut Trial<'_>) -> Result<(), Failure> {
    for count in [1usize, 2, 5, 16, 17, 33, 70, 200] {
        for (kind, yarn) in kinds(count) {
            solve(trial, kind, &yarn, condition(count))?;
        }
        let length = 1.0 / count as f32;
        let mut crumpled = vec![[0.0f32; 3]];
        for k in 0..count {
            let [x, y, z] = crumpled[k];
            let turn = [2.0, 3.0, 4.0].map(|salt| length * random(k, salt));
            crumpled.push([x + turn[0], y + turn[1], z + turn[2]]);
        }
        solve(trial, "crumpled", &Yarn::open(&crumpled, &[0]), 1e-4)?;
    }
    Ok(())
}

/// Longer than 1,024 edges, from where a lane has more than sixteen rows. Where the condition is 10⁶ a distance from
/// the solution says little: what judges these is the residual.
fn long_yarns(trial: &mut Trial<'_>) -> Result<(), Failure> {
    for count in [1023usize, 1025, 2000] {
        for (kind, yarn) in kinds(count) {
            solve(trial, kind, &yarn, condition(count))?;
        }
    }
    Ok(())
}
