//! [`Scene`]: what a cloth is made of.

use std::borrow::Cow;

use super::motion::Script;
use super::settings::Settings;
use crate::mesh::Mesh;
use crate::solid::Solid;

/// A cloth and where it starts.
#[derive(Clone, Debug)]
pub struct Scene {
    /// One of [`crate::scene::NAMES`], or a name of the user's.
    pub name: Cow<'static, str>,
    /// The cloth at rest.
    pub mesh: Mesh,
    /// Start positions, one per vertex, m. Pinned vertices stay at theirs. A plane sheet of very uneven edges that
    /// gravity lies in would lock there: its cloth starts out of the plane by up to a thousandth of its shortest edge.
    pub start: Vec<[f32; 3]>,
    /// What is around it.
    pub solids: Vec<Solid>,
    /// How it is simulated: what a cloth that is made of the scene begins with.
    pub settings: Settings,
    /// What moves in the course of the scene; whoever steps the cloth applies it ([`Script::frame`]).
    pub script: Script,
}

impl Scene {
    /// A cloth that starts at these positions, with nothing around it and default settings.
    pub fn new(name: impl Into<Cow<'static, str>>, mesh: Mesh, start: Vec<[f32; 3]>) -> Self {
        let (solids, settings, script) = (Vec::new(), Settings::default(), Script::default());
        Self { name: name.into(), mesh, start, solids, settings, script }
    }

    /// The same scene, simulated with other settings.
    ///
    /// ```
    /// use taut::{Cloth, Settings, scene};
    ///
    /// // In still air: the wind of the flag is one of its settings.
    /// let calm = scene::flag(8)?.with_settings(Settings::default());
    /// assert!(Cloth::on_cpu(calm)?.settings().wind.is_none());
    /// assert!(Cloth::on_cpu(scene::flag(8)?)?.settings().wind.is_some());
    /// # Ok::<(), taut::Error>(())
    /// ```
    #[must_use]
    pub fn with_settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }

    /// The solids where they are after a time \[s\], as their velocities and the script say: for runs of which only the
    /// cloth was recorded.
    pub fn solids_at(&self, time: f64) -> Vec<Solid> {
        let moved = |solid: &Solid| Solid { pose: solid.advanced(time as f32), ..solid.clone() };
        let mut solids: Vec<Solid> = self.solids.iter().map(moved).collect();
        for motion in &self.script.solids {
            if let Some(solid) = solids.get_mut(motion.solid) {
                solid.pose = motion.pose(time);
            }
        }
        solids
    }
}
