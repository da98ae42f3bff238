//! A scene for the judge: the cloth that the kernels simulate, stepped in double precision around any [`Projector`].

use glam::DVec3;

use super::{
    ElasticStep, Hold, Particles, Projection, Projector, Spring, Stiffness, System, energy, modified_pcg, step,
};
use crate::cloth::scene::Scene;
use crate::error::Result;
use crate::solid::{Solid, SolidShape};

/// What the linear solve of the springs may leave, as a part of its right side. The projection changes the prediction
/// by far more.
const TOLERANCE: f64 = 1e-3;
/// Iterations of that solve, at most.
const BUDGET: usize = 500;

/// The net of a scene with its shear springs and gravity.
///
/// The prediction is implicit in the springs (footnote 1 of the paper, with the linear step of Baraff & Witkin 1998),
/// so their stiffness does not bound the step and every method can be run at the step that suits it. Bending, wind and
/// solids of a scene are left out, but for resting balls, which [`Fabric::draped`] has.
///
/// ```
/// use taut::reference::{Fabric, FastProjection, max_strain};
/// use taut::scene;
///
/// let mut fabric = Fabric::new(&scene::hang(9)?)?;
/// let mut projector = FastProjection { limit: 0.01, ..Default::default() };
/// for _ in 0..12 {
///     let projection = fabric.step(1.0 / 240.0, &mut projector)?;
///     assert_eq!(projection.failure, None);
/// }
/// assert!(max_strain(&fabric.system) <= 0.01);
/// # Ok::<(), taut::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Fabric {
    /// Positions, inverse masses and inextensible edges.
    pub system: System,
    /// Velocities in m/s.
    pub velocities: Vec<[f64; 3]>,
    springs: Vec<Spring>,
    masses: Vec<f64>,
    gravity: DVec3,
    balls: Vec<Ball>,
}

/// What the cloth falls on.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ball {
    center: DVec3,
    /// With the thickness of the cloth, in m.
    radius: f64,
    friction: f64,
}

impl Fabric {
    /// A scene at its start, at rest, with the same f32 numbers that the kernels get.
    ///
    /// # Errors
    ///
    /// As [`System::of_scene`]; a valid scene has none.
    pub fn new(scene: &Scene) -> Result<Self> {
        let system = System::of_scene(scene)?;
        let spring = |link: &crate::mesh::Link| Spring {
            tail: link.tail as usize,
            head: link.head as usize,
            rest: link.rest.into(),
            stiffness: link.stiffness.into(),
            damping: 0.0,
        };
        // The mass of a pin counts for nothing, but a mass must be above zero.
        let mass = |w: &f64| if *w > 0.0 { w.recip() } else { 1.0 };
        Ok(Self {
            velocities: vec![[0.0; 3]; system.positions.len()],
            springs: scene.mesh.springs().iter().map(spring).collect(),
            masses: system.inverse_masses.iter().map(mass).collect(),
            gravity: DVec3::from(scene.settings.gravity.map(f64::from)),
            balls: Vec::new(),
            system,
        })
    }

    /// The same with the balls of the scene, at rest: the draping experiment of the paper (section 5). Collisions come
    /// last in a step, behind the projection, so strain is over the limit where they push; the paper measures it
    /// before them, and so does the [`Projection`] that a step returns.
    ///
    /// # Errors
    ///
    /// As [`Fabric::new`].
    pub fn draped(scene: &Scene) -> Result<Self> {
        let ball = |solid: &Solid| match solid.shape {
            SolidShape::Sphere { radius } => Some(Ball {
                center: DVec3::from(solid.pose.translation.map(f64::from)),
                radius: f64::from(radius) + f64::from(solid.thickness),
                friction: solid.sliding_friction.into(),
            }),
            _ => None,
        };
        Ok(Self { balls: scene.solids.iter().filter_map(ball).collect(), ..Self::new(scene)? })
    }

    /// One step of `h` seconds: v* from gravity and springs, x_0 = x + h v*, and the projection of x_0.
    ///
    /// # Errors
    ///
    /// [`crate::Error`] where the springs have no step: a position is not finite, or the ends of a spring coincide.
    pub fn step(&mut self, h: f64, projector: &mut dyn Projector) -> Result<Projection> {
        let projection = self.project(h, projector)?;
        self.collide();
        Ok(projection)
    }

    /// The same without contact, for those who measure the strain behind the projection: [`Fabric::collide`] is the
    /// rest of a step.
    ///
    /// # Errors
    ///
    /// As [`Fabric::step`].
    pub fn project(&mut self, h: f64, projector: &mut dyn Projector) -> Result<Projection> {
        let changes = if self.springs.is_empty() { None } else { Some(self.pull(h)?) };
        for (v, w) in self.system.inverse_masses.iter().enumerate() {
            let change = match &changes {
                Some(changes) => changes[v],
                None if *w > 0.0 => h * self.gravity,
                None => DVec3::ZERO,
            };
            self.velocities[v] = (DVec3::from(self.velocities[v]) + change).to_array();
        }
        Ok(step(&mut self.system, &mut self.velocities, [0.0; 3], h, projector))
    }

    /// Puts vertices that are inside of a ball on it; what their velocity had towards it is gone, and friction takes as
    /// much of the rest as Coulomb says.
    pub fn collide(&mut self) {
        for (v, _) in self.system.inverse_masses.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            for Ball { center, radius, friction } in &self.balls {
                let away = DVec3::from(self.system.positions[v]) - *center;
                let distance = away.length();
                if distance >= *radius || distance == 0.0 {
                    continue;
                }
                let n = away / distance;
                self.system.positions[v] = (*center + *radius * n).to_array();
                let velocity = DVec3::from(self.velocities[v]);
                let inwards = (-velocity.dot(n)).max(0.0);
                let along = velocity + inwards * n;
                let kept = (1.0 - friction * inwards / along.length()).max(0.0);
                self.velocities[v] = if kept.is_finite() { (kept * along).to_array() } else { [0.0; 3] };
            }
        }
    }

    /// Changes of velocity in m/s by gravity and springs.
    fn pull(&self, h: f64) -> Result<Vec<DVec3>> {
        let vectors = |list: &[[f64; 3]]| list.iter().map(|x| DVec3::from(*x)).collect::<Vec<_>>();
        let mut particles = Particles::new(self.masses.clone(), vectors(&self.system.positions));
        particles.velocities = vectors(&self.velocities);
        for (hold, w) in particles.holds.iter_mut().zip(&self.system.inverse_masses) {
            *hold = if *w > 0.0 { Hold::Free } else { Hold::Fixed };
        }
        let loads: Vec<DVec3> = self.masses.iter().map(|mass| *mass * self.gravity).collect();
        let elastic = ElasticStep::new(&particles, &self.springs, &loads, h, Stiffness::Definite)?;
        Ok(modified_pcg(&elastic, TOLERANCE, BUDGET).change)
    }

    /// Kinetic energy and that of gravity, in joules; see [`energy`]. That of the springs is not in it.
    #[must_use]
    pub fn energy(&self) -> f64 {
        energy(&self.system, &self.velocities, self.gravity.to_array())
    }

    /// Mass of the vertices that can move, in kg.
    #[must_use]
    pub fn mass(&self) -> f64 {
        self.system.inverse_masses.iter().filter(|w| **w > 0.0).map(|w| w.recip()).sum()
    }
}
