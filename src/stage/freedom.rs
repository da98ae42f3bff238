//! What vertices may do: S and W = S/m of Baraff & Witkin (1998), eq. 13.
//!
//! A hold or a contact leaves a vertex the motions S u: S = I − n nᵀ on a plane of normal n, n nᵀ on a line of
//! direction n, 0 in place. One vector of four words per vertex says which: (n, 1) leaves what is across n, (n, 0) what
//! is along n. Every projection and the elastic solve move vertices through W, so a constraint holds at every
//! iteration, whatever they reach otherwise; what W takes from a pull is what the constraint bears.
//!
//! A hold that is a spring of k N/m forbids nothing. Implicitly integrated it adds τ² k to the mass of its vertex in
//! every system that is solved: S = I/(1 + τ² k/m), stored as (0, s), makes W = 1/(m + τ² k), and what W takes from a
//! pull is what the spring bears. The elastic solve knows the mass and needs no filter there.

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Spec};
use crate::engine::source::Source;
use crate::error::Result;
use crate::stage::fields;
use crate::stage::fields::Frame;
use crate::vector::{Real, Triple};

/// The WGSL twin, for files that move vertices.
pub(crate) static SOURCE: Source =
    Source::new("freedom", include_str!("../../shaders/freedom.wgsl")).shares(&[&fields::SOURCE]);

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[Spec::of::<[f32; 4]>(
    "constraints",
    Domain::VERTICES,
    "motions that a vertex may make; (n, 1): those across n, (n, 0): those along n, (0, s): that part of all",
)
.floor(|_| Ok(1.0))];

/// Nothing is constrained.
pub(crate) const FREE: [f32; 4] = [0.0, 0.0, 0.0, 1.0];

/// What a vertex may do, or one vertex per lane.
pub(crate) trait Limited<R: Real>: Copy {
    /// S applied to a motion.
    fn allowed(self, motion: Triple<R>) -> Triple<R>;

    /// n·S n for a unit direction.
    #[inline(always)]
    fn along(self, n: Triple<R>) -> R {
        n.dot(self.allowed(n))
    }
}

/// Everything.
impl<R: Real> Limited<R> for () {
    #[inline(always)]
    fn allowed(self, motion: Triple<R>) -> Triple<R> {
        motion
    }

    #[inline(always)]
    fn along(self, n: Triple<R>) -> R {
        n.0[0].like(1.0)
    }
}

/// What is across n, or along n.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constraint<R> {
    pub(crate) normal: Triple<R>,
    /// 1 or 0.
    pub(crate) across: R,
}

impl<R: Real> Limited<R> for Constraint<R> {
    #[inline(always)]
    fn allowed(self, motion: Triple<R>) -> Triple<R> {
        let along = (self.across.like(1.0) - self.across - self.across) * self.normal.dot(motion);
        motion * self.across + self.normal * along
    }
}

impl<R: Real> Limited<R> for Option<Constraint<R>> {
    #[inline(always)]
    fn allowed(self, motion: Triple<R>) -> Triple<R> {
        self.map_or(motion, |constraint| constraint.allowed(motion))
    }

    #[inline(always)]
    fn along(self, n: Triple<R>) -> R {
        self.map_or(n.0[0].like(1.0), |constraint| constraint.along(n))
    }
}

/// What (n, 1) or (n, 0) leaves of a motion.
#[inline]
pub(crate) fn left_by([x, y, z, across]: [f32; 4], motion: Vec3) -> Vec3 {
    Constraint { normal: Triple([x, y, z]), across }.allowed(motion.into()).into()
}

/// How much heavier a hold makes a vertex, as a part of its mass: τ² k/m by a spring of k N/m, which is (0, −k).
#[inline]
pub(crate) fn heavier([.., w]: [f32; 4], inverse_mass: f32, span: f32) -> f32 {
    (span * span) * ((-w).max(0.0) * inverse_mass)
}

/// What a hold makes of a vertex in this substep.
#[inline]
pub(crate) fn limited_by(hold: [f32; 4], inverse_mass: f32, span: f32) -> [f32; 4] {
    if hold[3] < 0.0 { [0.0, 0.0, 0.0, 1.0 / (1.0 + heavier(hold, inverse_mass, span))] } else { hold }
}

/// What a hold forbids outright.
#[inline]
pub(crate) fn rigid(hold: [f32; 4]) -> [f32; 4] {
    if hold[3] < 0.0 { FREE } else { hold }
}

/// The constraints of all vertices, where there are any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Freedom<'a>(Option<&'a [[f32; 4]]>);

impl<'a> Freedom<'a> {
    pub(crate) fn of(run: &mut Run<'a>) -> Result<Self> {
        let constraints = run.read::<[f32; 4]>("constraints")?;
        let constrained = run.one::<Frame>("frame")?.constrained != 0;
        Ok(Self(constrained.then_some(constraints)))
    }

    /// The constraints, where there are any.
    pub(crate) fn constraints(&self) -> Option<&'a [[f32; 4]]> {
        self.0
    }

    /// That of one vertex.
    #[inline]
    pub(crate) fn at(&self, v: usize) -> Option<Constraint<f32>> {
        let [x, y, z, across] = self.0?[v];
        Some(Constraint { normal: Triple([x, y, z]), across })
    }

    /// S applied to a motion.
    #[inline]
    pub(crate) fn allowed(&self, v: usize, motion: Vec3) -> Vec3 {
        self.at(v).allowed(motion.into()).into()
    }

    /// Part of its motion that a spring leaves to the vertex that it alone holds.
    #[inline]
    pub(crate) fn softly(&self, v: usize) -> Option<f32> {
        self.0.map(|constraints| constraints[v][3]).filter(|part| *part > 0.0 && *part < 1.0)
    }

    /// What the constraint of a vertex leaves of a force: a spring leaves all of it, it only adds to the mass.
    #[inline]
    pub(crate) fn filtered(&self, v: usize, force: Vec3) -> Vec3 {
        if self.softly(v).is_some() { force } else { self.allowed(v, force) }
    }

    /// W = S/m of the paper applied to a pull \[kg·m\]: the displacement \[m\]. The one place where mass becomes
    /// motion.
    #[inline]
    pub(crate) fn apply_inverse_mass(&self, v: usize, inverse_mass: f32, pull: Vec3) -> Vec3 {
        self.allowed(v, inverse_mass * pull)
    }

    /// What a pull leaves to a pin or a constraint to bear.
    #[inline]
    pub(crate) fn borne(&self, v: usize, inverse_mass: f32, pull: Vec3) -> Vec3 {
        if inverse_mass == 0.0 { pull } else { pull - self.allowed(v, pull) }
    }

    /// Whether a vertex bears anything.
    #[inline]
    pub(crate) fn bears(&self, inverse_mass: f32) -> bool {
        inverse_mass == 0.0 || self.0.is_some()
    }
}
