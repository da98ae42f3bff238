//! Cloth that passes through itself is drawn apart: minimisation of the intersection contour (Volino &
//! Magnenat-Thalmann 2006, *Resolving surface collisions through intersection contour minimization*).
//!
//! Where an edge of direction E goes through a triangle of normal N, the contour along which the two layers cross leads
//! from there into the faces i beside the edge, in directions R_i. Moved against the triangle by δ, its end changes the
//! length of the contour by −Σ_i (R_i − (E·R_i)/(E·N) N)·δ. So the edge goes along, and the triangle against,
//!
//! G = Σ_i (R_i − 2 (E·R_i)/(E·N) N),
//!
//! both by their masses, so that momentum is kept, until they part by a tenth of the thickness per substep. Where the
//! contour is straight, G vanishes and says nothing: what is missing is made up by the part |G|/√(|G|² + g₀²) of it. A
//! crossing that already parts so fast is left alone. Moving places and not velocities instead threw a heap of 361
//! crossings about with 78 m/s: whatever the projection takes back of it becomes speed, again in every substep.
//!
//! It is local and knows no history: no layer has an inside. What it shortens to nothing is gone; a contour that is as
//! short as it can be near there, such as a straight one from border to border, stays.
//!
//! Crossings are looked for in the first substep of a frame, and in every one as long as there are any. What no longer
//! crosses is fenced from then on.

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::fields::Domain;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::stage::Recorder;
use crate::stage::fields::{Clock, Vertex};
use crate::stage::freedom::{Freedom, Limited};
use crate::stage::self_collision::cells::{self, Sorted, bucket, cell_of, neighbor, packed};
use crate::stage::self_collision::closest::{Clearance, Nearness, SMALLEST, UNITS, fixed};
use crate::stage::self_collision::fence::{add, take};
use crate::stage::self_collision::grid::THIRD;
use crate::stage::self_collision::meter;
use crate::vector::{padded, xyz};

static SOURCE: Source =
    Source::new("untangle", include_str!("../../../shaders/untangle.wgsl")).shares(&[&cells::SOURCE]).constants(&[
        ("THIRD", Constant::F32(THIRD)),
        ("SEAM", Constant::F32(SEAM)),
        ("GRAZING", Constant::F32(GRAZING)),
        ("VAGUE", Constant::F32(VAGUE)),
        ("DRAWN", Constant::F32(DRAWN)),
        ("TANGLED", Constant::U32(meter::TANGLED)),
    ]);

/// Part of an edge or a triangle by which one beyond its border still goes through it: rounding leaves no seam between
/// two triangles.
const SEAM: f32 = 1e-4;
/// Sine of an angle between an edge and a triangle, or two triangles, that counts as none: what is in one plane has no
/// crossing, and its contour no direction.
const GRAZING: f32 = 1e-3;
/// g₀: a |G| that says little. That of a contour that turns by a twentieth of a right angle at an edge.
const VAGUE: f32 = 0.1;
/// Way by which a vertex is drawn apart in a substep, as a part of the thickness.
const DRAWN: f32 = 0.1;

/// A quotient by the sine of a small angle, of whole numbers that are rounded apart.
const GRAZED: f32 = 16384.0;

static OPEN_TANGLES: Kernel =
    Kernel::new("open_tangles", &SOURCE, open_tangles_body).pattern(Pattern::Group).aliases(&[("decisions", "guards")]);
static SEEK_TANGLES: Kernel = Kernel::new("seek_tangles", &SOURCE, seek_tangles_body)
    .pattern(Pattern::Scatter)
    .amplification(GRAZED)
    .aliases(&[("bucket_ends", "bucket_starts")]);
static NOTE_TANGLES: Kernel = Kernel::new("note_tangles", &SOURCE, note_tangles_body)
    .pattern(Pattern::Scatter)
    .aliases(&[("tangle_words", "tangles")]);
static UNTANGLE: Kernel = Kernel::new("untangle", &SOURCE, untangle_body)
    .pattern(Pattern::Scatter)
    .aliases(&[("push_words", "pushes"), ("tangle_words", "tangles")]);

/// Records the search in sorted items, and what follows from it, before pairs are listed.
pub(super) fn record(recorder: &mut Recorder<'_>) {
    let open = |stage: u32| {
        move |recorder: &mut Recorder<'_>, own: u32| {
            let arguments = [own, recorder.guard(), stage, 0];
            recorder.dispatch_range(&OPEN_TANGLES, 0..1, arguments);
        }
    };
    let triangles = recorder.sizes().triangles() as u32;
    recorder.repeat_opened(1, open(0), |recorder| {
        recorder.dispatch_range(&SEEK_TANGLES, 0..triangles, [0; 4]);
        recorder.dispatch(&NOTE_TANGLES, Domain::VERTICES);
        recorder.repeat_opened(1, open(1), |recorder| {
            recorder.dispatch_range(&SEEK_TANGLES, 0..triangles, [1, 0, 0, 0]);
            recorder.dispatch(&UNTANGLE, Domain::VERTICES);
        });
    });
}

fn open_tangles_body(run: &mut Run<'_>) -> Result<()> {
    let [own, parent, stage, ..] = run.arguments();
    let clock = run.one::<Clock>("clock")?;
    let mut own_meters = run.write::<u32>("own_meters")?;
    let mut decisions = run.write::<u32>("decisions")?;
    let tangled = &mut own_meters[meter::TANGLED as usize];
    let wanted = stage == 0 && clock.substep == 1;
    let open = decisions[parent as usize] != 0 && (wanted || *tangled > 0);
    decisions[own as usize] = open.into();
    if open && stage == 0 {
        *tangled = 0;
    }
    Ok(())
}

/// Where the edge pq goes through the triangle abc: part of q on the edge, parts of b and c in the triangle (Ericson
/// 2005, section 5.3.6). What goes between two triangles goes through both. What is nearly parallel, as in flat cloth,
/// has no such point but by rounding.
fn pierced([p, q]: [Vec3; 2], [a, b, c]: [Vec3; 3]) -> Option<Vec3> {
    let (back, ahead, ab, ac) = (p - q, p - a, b - a, c - a);
    let normal = ab.cross(ac);
    let whole = back.dot(normal);
    if whole.abs() <= GRAZING * back.length() * normal.length() {
        return None;
    }
    let turned = back.cross(ahead);
    let parts = Vec3::new(ahead.dot(normal), ac.dot(turned), -ab.dot(turned)) / whole;
    let within = parts.min_element() >= -SEAM && parts.x <= 1.0 + SEAM && parts.y + parts.z <= 1.0 + SEAM;
    within.then(|| parts.clamp(Vec3::ZERO, Vec3::ONE))
}

/// Direction of the contour in a face at its edge, into the face: e is the direction of the edge, n the normal of the
/// triangle that it goes through, and `way` leads from an end of the edge to the third corner of the face.
fn contour(e: Vec3, n: Vec3, way: Vec3) -> Vec3 {
    let face = e.cross(way);
    let along = face.cross(n);
    let extent = along.length();
    if extent <= GRAZING * face.length() {
        return Vec3::ZERO;
    }
    let inward = way - way.dot(e) * e;
    if along.dot(inward) > 0.0 { along / extent } else { -along / extent }
}

/// What a contour in one face says: R − 2 (E·R)/(E·N) N.
fn steepest(e: Vec3, n: Vec3, r: Vec3) -> Vec3 {
    r - (2.0 * e.dot(r) / e.dot(n)) * n
}

fn seek_tangles_body(run: &mut Run<'_>) -> Result<()> {
    let [drawing, ..] = run.arguments();
    let clearance = run.one::<Clearance>("clearance")?;
    let nearness = run.one::<Nearness>("nearness")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let features = run.read::<[u32; 4]>("features")?;
    let bucket_ends = run.read::<u32>("bucket_ends")?;
    let sorted = run.read::<Sorted>("sorted")?;
    let displacements = run.read::<[f32; 4]>("displacements")?;
    let mut pushes = run.write::<u32>("pushes")?;
    let mut tangles = run.write::<u32>("tangles")?;
    let freedom = Freedom::of(run)?;
    let place = |vertex: u32| vertices[vertex as usize].position;
    for t in run.range() {
        let [i, j, k, _] = features[t];
        let [a, b, c] = [i, j, k].map(place);
        let middle = THIRD * (a + b + c);
        let reach = (a - middle).abs().max((b - middle).abs()).max((c - middle).abs());
        let home = cell_of(middle, nearness.inverse_cells.y);
        for cell in (0..27).map(|number| packed(neighbor(home, number))) {
            let bin = bucket(clearance, cell, true);
            let bucket = bucket_ends[bin - 1] as usize..bucket_ends[bin] as usize;
            for found in sorted[bucket].iter().filter(|found| found.cell == cell) {
                let edge @ [x, y, ..] = features[found.item as usize];
                let (p, q) = (place(x), place(y));
                let far = reach + 0.5 * (q - p).abs() + Vec3::splat(nearness.radius);
                let adjacent = [i, j, k].contains(&x) || [i, j, k].contains(&y);
                if adjacent || (0.5 * (p + q) - middle).abs().cmpgt(far).any() {
                    continue;
                }
                let Some(parts) = pierced([p, q], [a, b, c]) else { continue };
                let knot = [x, y, i, j, k];
                if drawing == 0 {
                    knot.into_iter().for_each(|vertex| tangles[vertex as usize] += 1);
                    continue;
                }
                let share = [1.0 - parts.x, parts.x, parts.y + parts.z - 1.0, -parts.y, -parts.z];
                let (e, n) = ((q - p).normalize(), (b - a).cross(c - a).normalize());
                let mut way = Vec3::ZERO;
                for third in edge[2..].iter().filter(|third| **third != y) {
                    way += steepest(e, n, contour(e, n, place(*third) - p));
                }
                let extent = way.length();
                if extent <= SMALLEST {
                    continue;
                }
                way /= extent;
                let (mut moved, mut w, mut most) = (0.0, 0.0, 1);
                for (share, v) in share.into_iter().zip(knot.map(|vertex| vertex as usize)) {
                    moved += share * way.dot(xyz(displacements[v]));
                    w += share * share * (vertices[v].inverse_mass * freedom.at(v).along(way.into()));
                    most = most.max(tangles[v]);
                }
                let certain = extent / (extent * extent + VAGUE * VAGUE).sqrt();
                let lack = certain * (DRAWN * clearance.thickness - moved);
                if w <= 0.0 || lack <= 0.0 {
                    continue;
                }
                let pull = (lack / most as f32 * UNITS / (nearness.radius * w)) * way;
                for (share, vertex) in share.into_iter().zip(knot) {
                    let v = vertex as usize;
                    let moved = freedom.apply_inverse_mass(v, vertices[v].inverse_mass, pull);
                    add(&mut pushes, vertex, fixed(share * moved));
                }
            }
        }
    }
    Ok(())
}

fn note_tangles_body(run: &mut Run<'_>) -> Result<()> {
    let tangle_words = run.read::<u32>("tangle_words")?;
    let mut rest_places = run.write::<[f32; 4]>("rest_places")?;
    let mut own_meters = run.write::<u32>("own_meters")?;
    for v in run.range() {
        let tangled = tangle_words[v] > 0;
        let word = &mut rest_places[v][3];
        *word = 2.0 * (0.5 * *word).floor() + if tangled { 1.0 } else { 0.0 };
        own_meters[meter::TANGLED as usize] += u32::from(tangled);
    }
    Ok(())
}

fn untangle_body(run: &mut Run<'_>) -> Result<()> {
    let nearness = run.one::<Nearness>("nearness")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut push_words = run.write::<u32>("push_words")?;
    let mut tangle_words = run.write::<u32>("tangle_words")?;
    for v in run.range() {
        tangle_words[v] = 0;
        if let Some((sum, _)) = take(&mut push_words, v) {
            displacements[v] = padded(xyz(displacements[v]) + (nearness.radius / UNITS) * sum);
        }
    }
    Ok(())
}
