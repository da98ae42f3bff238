//! Wind and drag: the force of the air on every face, gathered per vertex.
//!
//! On a triangle of area A and unit normal n, whose corners move with the mean velocity v, air of velocity u(x, t) at
//! the centroid exerts
//!
//! f = ½ ρ A c |v_r| \[(C_D − C_L c) v_r + C_L |v_r| n′\], v_r = u − v, c = v_r·n′/|v_r|,
//!
//! n′ being n or −n, whichever makes c ≥ 0. A third of f goes to each corner. With e = v_r/|v_r| the bracket is |v_r|
//! (C_D e + C_L (n′ − c e)): drag along the relative wind, and lift perpendicular to it. So f·v_r = ½ ρ C_D A c |v_r|³
//! is never negative. A face across the wind feels ½ ρ C_D A |v_r|², a face along it nothing; lift is largest at 45°.
//!
//! The wind is u(x, t) = velocity · (1 + gust · s(k·x − f t)): gusts that travel along k. s is a sine of period 1 made
//! of two parabolas, s(p) = −8 q (1 − 2|q|) with q = fract(p) − ½. It is within 0.06 of the sine, and every adapter
//! computes it alike, which is not so for built-in sines. The host counts f t in f64 and hands over its fraction.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | ρ | `air.density` | kg/m³ |
//! | C_D, C_L | `air.drag`, `air.lift` | |
//! | k | `air.gust_wave` | 1/m |
//! | f t at the start of the frame | `air.gust_phase` | |
//! | τ | `clock.span` | s |
//!
//! **Large steps.** The force is explicit, that of the start of the substep. A light vertex in strong wind would be
//! thrown beyond the wind's own velocity within one substep, and further back in the next. So the force on a free
//! vertex of mass m is held back. First to |f| ≤ m |w|/τ, w the velocity of the air relative to the vertex: then w
//! changes by |w| at most, and drag alone can only bring it to zero. Then, where w′ = w − τ f/m would still be longer
//! than w (lift turns w, and a straight step along a circle leads outside), w′ is shortened to |w|; that is a
//! projection to a ball that w belongs to, so the change does not grow. With Euler steps the air therefore never
//! increases the energy ½ m |w|² of a vertex, however long the step; both limits vanish as τ → 0. BDF2 repeats a part
//! of the last change of velocity, so strong lift at few substeps may add energy for a while, drag does not. Cloth of
//! 0.2 kg/m² feels the limits from about 67 m/s on at 240 substeps per second. Pins bear the whole force.
//!
//! Cost: one dispatch per substep, six faces per vertex of a grid.

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Inputs, Spec};
use crate::engine::layout::element;
use crate::engine::program::Kernel;
use crate::engine::source::{Constant, Source};
use crate::error::within;
use crate::error::{Error, Result};
use crate::stage::Recorder;
use crate::stage::Stage;
use crate::stage::fields;
use crate::stage::fields::{Clock, Vertex};
use crate::vector::xyz;

static SOURCE: Source = Source::new("wind", include_str!("../../shaders/wind.wgsl"))
    .constants(&[("CALM", Constant::F32(CALM))])
    .shares(&[&fields::SOURCE]);

/// Its fields.
pub(crate) const FIELDS: &[Spec] =
    &[Spec::of::<Air>("air", Domain::Fixed(1), "the air around the cloth in this frame").input()];

/// Adds the force of the air on the faces at a vertex to `forces`.
pub(crate) static BLOW: Kernel = Kernel::new("blow", &SOURCE, blow_body);

/// The air around a cloth; the [module](self) has the formulas. Lines without faces feel nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wind {
    /// Mean velocity of the air \[m/s\]; still air brakes falling cloth, too.
    pub velocity: [f32; 3],
    /// Density of the air \[kg/m³\].
    pub density: f32,
    /// Drag coefficient C_D of a face across the wind.
    pub drag_coefficient: f32,
    /// Lift coefficient C_L; with 0 the force points along the relative wind.
    pub lift_coefficient: f32,
    /// Amplitude of the gusts relative to the mean; beyond 1 the wind turns back at times.
    pub gust: f32,
    /// Wave vector of the gusts \[1/m\], in cycles per metre: its direction is where they travel.
    pub gust_wave: [f32; 3],
    /// Gusts per second at one place \[Hz\].
    pub gust_frequency: f32,
}

impl Default for Wind {
    /// Still air at 20 °C, no gusts. A square plate across the flow has a drag coefficient of 1.2; a lift coefficient
    /// of 1 makes lift 0.6 of drag at 45°. Gusts, once given an amplitude, come every two seconds in waves of 1.4 m.
    fn default() -> Self {
        Self {
            velocity: [0.0; 3],
            density: 1.2,
            drag_coefficient: 1.2,
            lift_coefficient: 1.0,
            gust: 0.0,
            gust_wave: [0.5, 0.0, 0.5],
            gust_frequency: 0.5,
        }
    }
}

impl Wind {
    /// Checks every value. The largest that are accepted keep all products within f32.
    pub(crate) fn validate(&self) -> Result<()> {
        let vector = |field: &'static str, vector: [f32; 3], most: f32, expected: &'static str| {
            for (index, x) in vector.into_iter().enumerate() {
                if x.is_nan() || x.abs() > most {
                    return Err(Error::OutOfRange { field, index: Some(index), value: x.into(), expected });
                }
            }
            Ok(())
        };
        let number = |field: &'static str, value: f32, range: std::ops::RangeInclusive<f32>, expected: &'static str| {
            within(field, value.into(), range.contains(&value), expected)
        };
        vector("wind.velocity", self.velocity, 1e4, "finite and at most 1e4 m/s")?;
        number("wind.density", self.density, 0.0..=1e4, "in [0, 1e4] kg/m³")?;
        number("wind.drag_coefficient", self.drag_coefficient, 0.0..=1e3, "in [0, 1e3]")?;
        number("wind.lift_coefficient", self.lift_coefficient, 0.0..=1e3, "in [0, 1e3]")?;
        number("wind.gust", self.gust, 0.0..=1e2, "in [0, 100]")?;
        vector("wind.gust_wave", self.gust_wave, 1e6, "finite and at most 1e6 per metre")?;
        number("wind.gust_frequency", self.gust_frequency, -1e6..=1e6, "finite and at most 1e6 Hz")
    }

    /// What the kernel reads in a frame that starts at phase `phase` of the gusts.
    pub(crate) fn air(&self, phase: f64) -> Air {
        Air {
            velocity: self.velocity.into(),
            density: self.density,
            gust_wave: self.gust_wave.into(),
            gust: self.gust,
            drag: self.drag_coefficient,
            lift: self.lift_coefficient,
            gust_phase: phase as f32,
            gust_frequency: self.gust_frequency,
        }
    }

    /// The phase, a fraction of a period, `dt` \[s\] after it was `phase`.
    pub(crate) fn later(&self, phase: f64, dt: f32) -> f64 {
        (phase + f64::from(self.gust_frequency) * f64::from(dt)).rem_euclid(1.0)
    }
}

/// The force of the air, which adds to `forces`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blowing {
    /// The wind.
    pub wind: Wind,
    /// Phase of the gusts at the start of the frame, a fraction of a period.
    pub phase: f64,
}

impl Stage for Blowing {
    fn fields(&self) -> Vec<Spec> {
        FIELDS.to_vec()
    }

    fn inputs(&self, inputs: &mut Inputs<'_>) -> Result<()> {
        inputs.set("air", self.wind.air(self.phase))
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        if recorder.sizes().triangles() > 0 {
            recorder.dispatch(&BLOW, Domain::VERTICES);
        }
    }
}

element! {
    /// The air around the cloth in a frame.
    pub struct Air {
        /// Mean velocity \[m/s\].
        pub(crate) velocity: Vec3,
        /// Density \[kg/m³\].
        pub(crate) density: f32,
        /// Wave vector of the gusts \[1/m\].
        pub(crate) gust_wave: Vec3,
        /// Amplitude of the gusts relative to the mean.
        pub(crate) gust: f32,
        /// Drag coefficient.
        pub(crate) drag: f32,
        /// Lift coefficient.
        pub(crate) lift: f32,
        /// Phase of the gusts at the start of the frame, a fraction of a period.
        pub(crate) gust_phase: f32,
        /// Gusts per second \[Hz\].
        pub(crate) gust_frequency: f32,
    }
}

/// Area times speed \[m³/s\] below which there is no wind, and no normal to divide by.
const CALM: f32 = 1e-30;

/// A sine of period 1 made of two parabolas.
fn swing(phase: f32) -> f32 {
    let q = (phase - phase.floor()) - 0.5;
    -8.0 * q * (1.0 - 2.0 * q.abs())
}

/// The air and the cloth as the kernel sees them.
struct Flow<'a> {
    air: &'a Air,
    clock: &'a Clock,
    vertices: &'a [Vertex],
    velocities: &'a [[f32; 4]],
    triangles: &'a [u32],
}

impl Flow<'_> {
    /// Velocity of the air at a point, at the start of the substep \[m/s\].
    fn at(&self, position: Vec3) -> Vec3 {
        let air = self.air;
        let passed = air.gust_phase + air.gust_frequency * ((self.clock.substep - 1) as f32 * self.clock.h);
        (1.0 + air.gust * swing(air.gust_wave.dot(position) - passed)) * air.velocity
    }

    /// Force of the air on a triangle \[N\].
    fn face_force(&self, triangle: usize) -> Vec3 {
        let [a, b, c] = [0, 1, 2].map(|k| self.triangles[3 * triangle + k] as usize);
        let origin = self.vertices[a].position;
        let first = self.vertices[b].position - origin;
        let second = self.vertices[c].position - origin;
        let area = 0.5 * first.cross(second);
        let velocity = (xyz(self.velocities[a]) + xyz(self.velocities[b]) + xyz(self.velocities[c])) / 3.0;
        let relative = self.at(origin + (first + second) / 3.0) - velocity;
        let (speed, extent) = (relative.length(), area.length());
        if extent * speed < CALM {
            return Vec3::ZERO;
        }
        let flow = relative.dot(area);
        let cosine = flow.abs() / (extent * speed);
        let normal = if flow < 0.0 { -area } else { area } / extent;
        let along = (self.air.drag - self.air.lift * cosine) * relative;
        let across = (self.air.lift * speed) * normal;
        (0.5 * self.air.density * flow.abs()) * (along + across)
    }

    /// The force, held back where one substep is too long for it; see the [module](self).
    fn bearable(&self, force: Vec3, v: usize) -> Vec3 {
        let (vertex, span) = (self.vertices[v], self.clock.span);
        let relative = self.at(vertex.position) - xyz(self.velocities[v]);
        let kick = (span * vertex.inverse_mass) * force;
        let (speed, extent) = (relative.length(), kick.length());
        let part = if extent > speed { speed / extent } else { 1.0 };
        let excess = part * kick.dot(part * kick - 2.0 * relative);
        if excess.is_nan() || excess <= 0.0 {
            return part * force;
        }
        let faster = (speed * speed + excess).sqrt();
        let turn = excess / (faster * (faster + speed));
        (speed / faster * part) * force + (turn / (span * vertex.inverse_mass)) * relative
    }
}

fn blow_body(run: &mut Run<'_>) -> Result<()> {
    let flow = Flow {
        air: run.one::<Air>("air")?,
        clock: run.one::<Clock>("clock")?,
        vertices: run.read::<Vertex>("vertices")?,
        velocities: run.read::<[f32; 4]>("velocities")?,
        triangles: run.read::<u32>("triangles")?,
    };
    let incidence = run.read::<u32>("triangle_incidence")?;
    let mut forces = run.write::<[f32; 4]>("forces")?;
    let around = |v: usize| &incidence[incidence[v] as usize..incidence[v + 1] as usize];
    // Three vertices ask for the force on a face, which costs more than all the rest: the first of them finds it.
    let entries = &incidence[incidence[run.range().start] as usize..incidence[run.range().end] as usize];
    let first = entries.iter().copied().min().unwrap_or(0);
    let mut found = vec![None; entries.iter().map(|triangle| (triangle - first) as usize + 1).max().unwrap_or(0)];
    for v in run.range() {
        let mut force = Vec3::ZERO;
        for triangle in around(v) {
            force += *found[(triangle - first) as usize].get_or_insert_with(|| flow.face_force(*triangle as usize));
        }
        let [x, y, z] = (xyz(forces[v]) + flow.bearable(force / 3.0, v)).to_array();
        // The last lane is that of bending.
        forces[v] = [x, y, z, forces[v][3]];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_swing_is_nearly_a_sine_and_meets_it_at_the_quarters() {
        for (phase, expected) in [(0.0, 0.0), (0.25, 1.0), (0.5, 0.0), (0.75, -1.0), (-0.25, -1.0), (7.125, 0.75)] {
            assert_eq!(swing(phase), expected, "{phase}");
        }
        let error = |phase: f32| (swing(phase) - (std::f32::consts::TAU * phase).sin()).abs();
        let most = (0..1000).map(|k| error(k as f32 / 1000.0)).fold(0.0, f32::max);
        assert!((0.05..0.06).contains(&most), "{most}");
    }

    #[test]
    fn the_phase_stays_a_fraction_for_days() {
        let wind = Wind { gust_frequency: 0.5, ..Default::default() };
        let mut phase = 0.0;
        for _ in 0..1_000_001 {
            phase = wind.later(phase, 0.25);
        }
        assert_eq!(phase, 0.125);
        let backwards = Wind { gust_frequency: -0.5, ..wind };
        assert_eq!(backwards.later(0.125, 0.5), 0.875);
    }
}
