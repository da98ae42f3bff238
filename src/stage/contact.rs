//! Contact with solids: an inequality per vertex, with Coulomb friction, and the collision pass that comes last.
//!
//! Contact is an inequality: it pushes and never pulls (g ≤ 0 ⟂ λ ≤ 0). In the projection a vertex in contact moves by
//! the filtered W = S/m (Baraff & Witkin 1998, eq. 13 and section 5.4); the collision pass runs last (Goldenthal et al.
//! 2007, section 5). Here they are one kernel around the projection:
//!
//! ```text
//! predict → elastic → collide → project → collide ─┬─ strain within the limit: done
//!                                  ▲               │
//!                                  └───────────────┘  at most `contact_rounds` times
//! ```
//!
//! The first pass comes after *all* forces, implicit ones included. A vertex is in contact if they press it into the
//! solid together: gravity alone, or the springs of the substep before, do not decide.
//!
//! **What a pass does.** The way of a vertex through the substep is traced through the distance field of every solid,
//! in the coordinates of the solid, which moves too; so a vertex cannot jump through one. A vertex that would end
//! inside is put on the surface. What the contact withholds from it — of the prediction, of springs, of edges — is the
//! displacement D: pressed N = −D·n, and held back sideways. It is released where N is negative. Without friction it
//! would slip by T. If |T| ≤ μ N it stays where it is relative to the solid, else friction takes μ_k N of T; it never
//! moves a vertex on. D is the contact force over the mass, times the square of the step, so all of it also stands in
//! `reactions`. S is I − n nᵀ also for what friction holds: S = 0 there would make rows between two such vertices
//! singular, so the projection may move them along the surface, and friction takes that back as far as it can.
//!
//! **What wins.** The limit is promised for the final positions, and none of them is inside a solid. In the second half
//! of the rounds friction gives way to the limit.
//!
//! **What is not covered.** Vertices touch solids; edges and faces may cut corners that are sharper than the mesh is
//! fine: give the solid a thickness of about l²/8R. Cloth against cloth is a stage of its own ([`self_collision`]).
//! Vertices that are pinned or held in place touch nothing. A vertex that is held softly and touches a solid has its
//! own mass in the projection, so its spring is as soft there as m/h². A vertex between two solids is pushed out of
//! both in turn, three times at most: in a wedge it may stay inside. The way of a vertex is straight in the
//! coordinates of a solid, so one that turns by much in a substep may pass it.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | n; solid; reaction where D is 0; speed along n after the step | `contacts` | 1; ; N; m/s |
//! | D | `taken` | m |
//! | T | `wanted` | m |
//! | μ, μ_k | `friction`, `sliding` | 1 |

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::fields::{Domain, Spec};
use crate::engine::layout::element;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::mesh::FARTHEST;
use crate::solid::{Kind, SolidRow};
use crate::stage::distance::{self, Placed, Reach, swept_distance};
use crate::stage::fields::{CONTACT_CHANGED, Clock, FAR, Frame, Vertex};
use crate::stage::freedom::{self, left_by, limited_by, rigid};
use crate::stage::magnitude::weight;
use crate::stage::self_collision;
use crate::stage::volume::KeepVolume;
use crate::stage::{Recorder, phase};
use crate::stage::{Solver, Stage, control, strain};
use crate::vector::{padded, turned, xyz};

element! {
    /// What touches a vertex.
    pub struct Contact {
        /// Unit normal of the surface.
        pub(crate) normal: Vec3,
        /// 1 + number of the solid, or 0.
        pub(crate) solid: u32,
        /// Reaction at which the contact withholds nothing \[N\].
        pub(crate) base: Vec3,
        /// Speed along the normal after the step \[m/s\].
        pub(crate) leaving: f32,
    }
}

static SOURCE: Source = Source::new("contact", include_str!("../../shaders/contact.wgsl"))
    .shares(&[&distance::SOURCE, &freedom::SOURCE])
    .constants(&[
        ("PARALLEL", Constant::F32(PARALLEL)),
        ("SLANTED", Constant::F32(SLANTED)),
        ("FALLS", Constant::F32(FALLS)),
        ("SMALLEST", Constant::F32(SMALLEST)),
    ]);

/// Its fields.
pub(crate) const FIELDS: &[Spec] = &[
    Spec::of::<SolidRow>("solids", Domain::SOLIDS, "solids and their way through the frame"),
    Spec::of::<f32>("distances", Domain::DISTANCES, "signed distances at the nodes of grids [m]"),
    Spec::of::<Contact>("contacts", Domain::VERTICES, "what touches a vertex").floor(|f| Ok(weight(f)?.max(1.0))),
];

/// Puts vertices outside of the solids and decides what they may do.
pub(crate) static COLLIDE: Kernel = Kernel::new("collide", &SOURCE, collide_body)
    .aliases(&[("found_constraints", "constraints")])
    .amplification(AMPLIFICATION);
/// Gives vertices that touch a solid the speed of its surface along the normal, or that with which they leave it. Every
/// invocation may raise the one flag that says that a contact began or ended.
pub(crate) static REBOUND: Kernel =
    Kernel::new("rebound", &SOURCE, rebound_body).pattern(Pattern::Scatter).aliases(&[("found_faults", "faults")]);

/// The speed of a surface is a difference of two places over a substep: at 1/240 s it has 240 times their rounding,
/// where the field's scale of about 1 m/s allows for 32 roundings.
const AMPLIFICATION: f32 = 16.0;

/// Records a collision pass.
fn pass(recorder: &mut Recorder<'_>, first: bool, frictionless: bool) {
    let sizes = recorder.sizes();
    let arguments = [first.into(), sizes.solids() as u32, frictionless.into(), 0];
    recorder.set_phase(phase::CONTACT);
    recorder.dispatch_range(&COLLIDE, 0..sizes.vertices() as u32, arguments);
    recorder.set_phase(phase::PROJECTION);
}

/// The first pass, after all forces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meet;

impl Stage for Meet {
    fn record(&self, recorder: &mut Recorder<'_>) {
        pass(recorder, true, false);
    }
}

/// The projection and collision passes in turn, until the limit holds where no vertex is inside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alternate<'a> {
    /// What projects.
    pub solver: &'a dyn Solver,
    /// What comes before each projection.
    pub volume: Option<KeepVolume>,
    /// Whether there are solids.
    pub solids: bool,
    /// Whether the cloth may touch itself.
    pub own: bool,
    /// Rounds at most, beyond the first; in the second half of them friction gives way.
    pub rounds: u32,
}

impl Stage for Alternate<'_> {
    fn record(&self, recorder: &mut Recorder<'_>) {
        let round = |recorder: &mut Recorder<'_>, frictionless: bool| {
            // What a solver finds is not final here, so it is not kept as the best state.
            recorder.about.moment.colliding = true;
            if let Some(volume) = self.volume {
                volume.record(recorder);
            }
            self.solver.record(recorder);
            if self.solids {
                pass(recorder, false, frictionless);
            }
            if self.own {
                self_collision::pass(recorder, frictionless);
            }
        };
        round(recorder, false);
        strain::measure(recorder);
        (recorder.about.moment.colliding, recorder.about.moment.again) = (false, true);
        for (frictionless, rounds) in [(false, self.rounds.div_ceil(2)), (true, self.rounds / 2)] {
            control::repeat_strained(recorder, 0, rounds, |recorder| {
                strain::keep(recorder);
                round(recorder, frictionless);
                recorder.about.moment.colliding = false;
                strain::measure(recorder);
                control::judge_strain(recorder, 0, 0);
            });
        }
        recorder.about.moment.again = false;
    }
}

/// The end of a substep, after the commit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rebound;

impl Stage for Rebound {
    fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.dispatch(&REBOUND, Domain::VERTICES);
    }
}

/// Sine of an angle that counts as none: normals of f32 grids are no more exact.
const PARALLEL: f32 = 1e-3;
/// Part of a normal that a hold must leave for a vertex to be pushed out along it: with less, the way out would be a
/// hundred times the gap.
const SLANTED: f32 = 0.01;
/// Substeps of falling from which a vertex comes to rest: what gravity adds in so many is a bounce of the time
/// stepping's own.
const FALLS: f32 = 2.0;
/// Keeps a quotient of two lengths from being 0/0.
const SMALLEST: f32 = 1e-30;

/// What is left of a constraint when motion along n is forbidden, too.
fn combined(hold: [f32; 4], n: Vec3) -> [f32; 4] {
    let normal = xyz(hold);
    if normal == Vec3::ZERO {
        return if hold[3] == 1.0 { [n.x, n.y, n.z, 1.0] } else { [0.0; 4] };
    }
    if hold[3] == 1.0 {
        let free = normal.cross(n);
        let extent = free.length();
        return if extent > PARALLEL { padded(free / extent) } else { hold };
    }
    if normal.dot(n).abs() > PARALLEL { [0.0; 4] } else { hold }
}

/// Motion that takes a vertex out of a solid, as far as its hold lets it.
fn push_out(hold: [f32; 4], gap: f32, n: Vec3) -> Vec3 {
    let way = left_by(hold, n);
    let along = way.dot(n);
    if gap >= 0.0 || along < SLANTED { Vec3::ZERO } else { (-gap / along) * way }
}

/// Speed with which a vertex leaves after an impact \[m/s\].
fn bounce_speed(frame: &Frame, clock: &Clock, solid: &SolidRow, n: Vec3, approach: f32, gap: f32) -> f32 {
    let fall = -frame.gravity.dot(n);
    let speed = approach / clock.h - 0.5 * clock.span * fall;
    if solid.restitution == 0.0 || speed <= FALLS * clock.span * frame.gravity.length() {
        return 0.0;
    }
    let start_gap = (gap + approach).max(0.0);
    solid.restitution * (speed * speed + 2.0 * fall * start_gap).max(0.0).sqrt() + 0.5 * clock.span * fall
}

/// Coulomb friction: the change of a vertex's motion along a surface, and of what the contact withholds from it. T is
/// what the vertex would slip without it: the motion there is, and what is withheld of it.
#[inline]
fn rub(solid: &SolidRow, n: Vec3, relative: Vec3, taken: Vec3) -> (Vec3, Vec3) {
    let slip = relative - relative.dot(n) * n;
    let held = taken - taken.dot(n) * n;
    let pressed = (-taken.dot(n)).max(0.0);
    let wanted = slip + held;
    let extent = wanted.length();
    let (mut friction, mut left) = (wanted, Vec3::ZERO);
    if extent > solid.friction * pressed {
        friction = ((solid.sliding * pressed).min(extent) / extent) * wanted;
        left = wanted - friction;
        left *= (slip.length() / left.length().max(SMALLEST)).min(1.0);
    }
    (left - slip, friction - held)
}

fn collide_body(run: &mut Run<'_>) -> Result<()> {
    let [first, count, frictionless, _] = run.arguments();
    let first = first == 1;
    let frame = run.one::<Frame>("frame")?;
    let clock = run.one::<Clock>("clock")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let solids = run.read::<SolidRow>("solids")?;
    let distances = run.read::<f32>("distances")?;
    let holds = run.read::<[f32; 4]>("holds")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    let mut contacts = run.write::<Contact>("contacts")?;
    let mut constraints = run.write::<[f32; 4]>("found_constraints")?;
    let before = (clock.substep - 1) as f32 / clock.substeps as f32;
    let now = clock.substep as f32 / clock.substeps as f32;
    let placed: Vec<(Placed, Placed)> =
        solids[..count as usize].iter().map(|solid| (Placed::at(solid, before), Placed::at(solid, now))).collect();
    let reaches: Vec<Reach> =
        solids.iter().zip(&placed).map(|(solid, (earlier, pose))| Reach::new(solid, [*earlier, *pose])).collect();
    // The solid that is nearest to the end of a vertex's way, or entered most on it.
    let nearest_solid = |position: Vec3, u: Vec3| {
        let (mut nearest, mut gap, mut n) = (0, FAR, Vec3::ZERO);
        for (k, solid) in solids[..count as usize].iter().enumerate() {
            let (earlier, pose) = placed[k];
            let (normal, distance) =
                swept_distance(solid, distances, earlier.to_local(position), pose.to_local(position + u));
            if distance < gap {
                (gap, n, nearest) = (distance, turned(pose.rotation, normal), k);
            }
        }
        (nearest, gap, n)
    };
    for v in run.range() {
        let (vertex, hold) = (vertices[v], rigid(holds[v]));
        if first {
            contacts[v] = Contact { base: xyz(reactions[v]), ..Contact::default() };
        }
        if vertex.inverse_mass == 0.0 || hold == [0.0; 4] {
            continue;
        }
        let mut u = xyz(displacements[v]);
        let mut contact = contacts[v];
        if contact.solid == 0 && reaches.iter().all(|reach| reach.misses(vertex.position, u)) {
            continue;
        }
        let (nearest, gap, n) = nearest_solid(vertex.position, u);
        if gap >= 0.0 && contact.solid == 0 {
            continue;
        }
        let per_force = vertex.inverse_mass / clock.force;
        let mut taken = left_by(hold, per_force * (xyz(reactions[v]) - contact.base));
        if gap >= 0.0 && taken.dot(n) > 0.0 {
            contacts[v].solid = 0;
            contacts[v].base = xyz(reactions[v]);
            constraints[v] = limited_by(holds[v], vertex.inverse_mass, clock.span);
            continue;
        }
        let solid = &solids[nearest];
        let (earlier, pose) = placed[nearest];
        let point = vertex.position + u - gap * n;
        let motion = point - earlier.to_world(pose.to_local(point));
        if contact.solid == 0 {
            contact.leaving = motion.dot(n) / clock.h;
            if first {
                contact.leaving += bounce_speed(frame, clock, solid, n, -(u - motion).dot(n), gap);
            }
            contact.leaving = contact.leaving.clamp(-FARTHEST, FARTHEST);
        }
        let before_contact = u;
        u += push_out(hold, gap, n);
        let mut constraint = combined(hold, n);
        let more = if count > 1 || solid.kind == Kind::Grid as u32 { 2 } else { 0 };
        for _ in 0..more {
            let (other, gap, normal) = nearest_solid(vertex.position, u);
            if gap >= 0.0 {
                break;
            }
            u += push_out(hold, gap, normal);
            if other != nearest {
                constraint = combined(constraint, normal);
            }
        }
        taken -= u - before_contact;
        if frictionless == 0 {
            let (slip, withheld) = rub(solid, n, u - motion, taken);
            u += left_by(hold, slip);
            taken += withheld;
        }
        displacements[v] = padded(u);
        let reaction = xyz(reactions[v]) - (u - before_contact) / per_force;
        reactions[v] = padded(reaction);
        let base = reaction - taken / per_force;
        contacts[v] = Contact { normal: n, solid: nearest as u32 + 1, base, ..contact };
        constraints[v] = constraint;
    }
    Ok(())
}

fn rebound_body(run: &mut Run<'_>) -> Result<()> {
    let frame = run.one::<Frame>("frame")?;
    let contacts = run.read::<Contact>("contacts")?;
    let mut faults = run.write::<u32>("found_faults")?;
    let mut velocities = run.write::<[f32; 4]>("velocities")?;
    let mut previous_velocities = run.write::<[f32; 4]>("previous_velocities")?;
    if faults[0] != 0 {
        return Ok(());
    }
    for v in run.range() {
        let contact = contacts[v];
        if contact.solid != 0 {
            let velocity = xyz(velocities[v]);
            let change = contact.leaving - velocity.dot(contact.normal);
            velocities[v] = padded(velocity + change * contact.normal);
        }
        if frame.second_order != 0 {
            let touches = if contact.solid != 0 { 1.0 } else { 0.0 };
            if touches != previous_velocities[v][3] {
                faults[CONTACT_CHANGED as usize] |= 1;
            }
            previous_velocities[v][3] = touches;
        }
    }
    Ok(())
}
