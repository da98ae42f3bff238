//! Warp and weft of triangles: which of their sides are threads, and what the others resist.
//!
//! **Counting.** A vertex has three coordinates. Cloth of quads has two inextensible edges per vertex and keeps one way
//! to move; a triangle mesh has three sides per vertex and locks. Both directions of thread limited in every triangle
//! are four constraints per vertex, and lock as well (measured: a sheet over a ball hangs as if it were metal). So as
//! many threads as quads have: **every vertex chooses one side for the warp and one for the weft.**
//!
//! **Choosing.** In each triangle the warp is a direction of its plane, the weft is across it. A vertex takes the side
//! that is nearest to +warp, and the one nearest to +weft: all forwards, as one strings beads, so that each thread goes
//! on from the next vertex. (Where some go forwards and some backwards, triangles in between are held by neither.)
//! Where nothing leads forwards, at a border, it takes the side that leads backwards. A thread is never more than 45°
//! off; where there is none so near, there is none. On squares that were cut in two the threads are exactly the sides
//! of the squares, however they were cut.
//!
//! **Shear.** All other sides of triangles are springs. A small shear γ changes a side of length l at an angle φ to the
//! warp by γ l sin φ cos φ. With y = (l sin φ cos φ)²/A, A the area of the triangle, each spring gets k = G y/Σy² from
//! it; together they hold ½ G γ² A, as both diagonals of a quad with the stiffness G do. A square that was cut has one
//! diagonal, of 2G.
//!
//! **What it is not.** On an irregular mesh threads zigzag. What the limit holds is the length of the chosen sides. A
//! zigzag that is pulled straight, or sheared, is strain along the warp within triangles, and only the springs resist
//! that: [`crate::cloth::report::thread_strain`] measures it, and every report has it. The scene `drape` at 36 × 36
//! vertices with a limit of 1 %, one second at 60 Hz; 99 % of the strains within triangles are below what is given, in
//! the worst frame and in the last:
//!
//! | mesh | mean height of the hem, m | worst frame | last frame |
//! |---|---|---|---|
//! | squares | −0.405 | | |
//! | squares cut in two, one way or alternating | −0.406 … −0.410 | 0.8 % | 0.3 % |
//! | irregular (Delaunay), damped: implicit springs, 4 substeps | −0.406 … −0.410 | 28 % | 18 % |
//! | irregular, not damped: explicit springs, 21 … 27 substeps | −0.391 … −0.393 | 12 % | 3 % |
//!
//! So where strain within irregular triangles matters, use [`crate::Elasticity::Explicit`], or quads. Implicit springs
//! give way to the tension of threads: the projection does not know of them.

use std::collections::BTreeMap;

use glam::DVec3;

use super::Face;
use super::check::check;
use super::links::key;
use super::mass::point;
use super::swatch::Fabrics;
use crate::error::{Error, Result};

/// Largest angle between a thread and the side that stands for it, as a cosine: 45°.
const MOST_OBLIQUE: f64 = std::f64::consts::FRAC_1_SQRT_2;
/// The least Σy² of a triangle: its sides are nearly threads, and springs along them would have to be very stiff.
const LEAST_SPREAD: f64 = 0.25;
/// The least sine between a direction and the normal of a face that it is projected to.
const LEAST_SINE: f64 = 1e-3;
/// Triangles with twice the area below this part of their longest side squared have no plane.
const FLATTEST: f64 = 1e-6;

/// A side counts for a direction within so many degrees.
const WINDOW: i64 = 1;
/// Part of all sides that must run along a direction or across it, for the warp to follow them.
const LEAST_ALIGNED: f64 = 0.2;

/// Where the warp of triangles runs. Quads have threads of their own: their sides.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Weave {
    /// As most sides of triangles run, along it or across it: squares that were cut in two get their own threads,
    /// however they lie. Where sides run every way it is along x, y or z, whichever is the least upright on the
    /// triangles.
    Sides,
    /// Along one direction, projected to each triangle; of any length above 0. A triangle that it stands upright on
    /// takes the direction with its coordinates moved on by one place.
    Along([f32; 3]),
    /// A direction for each face, likewise; those of quads are not used.
    PerFace(Vec<[f32; 3]>),
}

impl Weave {
    /// Those that have a name: [`Weave::Sides`], and along an axis.
    pub const NAMES: [&'static str; 4] = ["sides", "x", "y", "z"];

    /// The weave of a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "sides" => Some(Self::Sides),
            "x" => Some(Self::Along([1.0, 0.0, 0.0])),
            "y" => Some(Self::Along([0.0, 1.0, 0.0])),
            "z" => Some(Self::Along([0.0, 0.0, 1.0])),
            _ => None,
        }
    }

    pub(super) fn check(&self, faces: usize) -> Result<()> {
        let directions = match self {
            Self::Sides => return Ok(()),
            Self::Along(direction) => std::slice::from_ref(direction),
            Self::PerFace(directions) if directions.len() == faces => directions,
            Self::PerFace(directions) => {
                return Err(Error::LengthMismatch { field: "weave", expected: faces, found: directions.len() });
            }
        };
        for (index, direction) in directions.iter().enumerate() {
            let nan = direction.iter().copied().find(|part| part.is_nan());
            let largest = nan.unwrap_or_else(|| direction.iter().fold(0.0_f32, |most, part| most.max(part.abs())));
            let index = matches!(self, Self::PerFace(_)).then_some(index);
            check("weave", index, largest, 1e-18..=1e18, "a direction with parts of 1e-18 … 1e18")?;
        }
        Ok(())
    }

    /// The planes of all triangles that have one.
    fn frames(&self, positions: &[[f32; 3]], faces: &[Face]) -> Vec<Frame> {
        let triangles = faces.iter().enumerate().filter_map(|(index, face)| match *face {
            Face::Triangle(vertices) => Some((index, vertices)),
            Face::Quad(_) => None,
        });
        let of = |direction: &[f32; 3]| DVec3::from_array(direction.map(f64::from)).normalize();
        match self {
            Self::Sides => {
                let triangles: Vec<(usize, [u32; 3])> = triangles.collect();
                along_sides(positions, &triangles)
            }
            Self::Along(direction) => {
                triangles.filter_map(|triangle| Frame::new(positions, triangle, of(direction))).collect()
            }
            Self::PerFace(directions) => {
                triangles.filter_map(|triangle| Frame::new(positions, triangle, of(&directions[triangle.0]))).collect()
            }
        }
    }
}

/// [`Weave::Sides`].
fn along_sides(positions: &[[f32; 3]], triangles: &[(usize, [u32; 3])]) -> Vec<Frame> {
    let along = |axis: DVec3| triangles.iter().filter_map(move |triangle| Frame::new(positions, *triangle, axis));
    // Area as seen along the axis is what it stands upright on; of equal ones the first.
    let upright = |axis: DVec3| -> f64 {
        along(axis).map(|frame| frame.area * axis.dot(frame.warp.cross(frame.weft)).powi(2)).sum()
    };
    let mut axis = (upright(DVec3::X), DVec3::X);
    for other in [DVec3::Y, DVec3::Z] {
        let seen = upright(other);
        // Rounding of a flat sheet is no reason.
        if seen < axis.0 * (1.0 - 1e-6) {
            axis = (seen, other);
        }
    }
    let mut frames: Vec<Frame> = along(axis.1).collect();
    if let Some(angle) = common_angle(&frames) {
        let (sin, cos) = angle.sin_cos();
        for frame in &mut frames {
            (frame.warp, frame.weft) = (cos * frame.warp + sin * frame.weft, cos * frame.weft - sin * frame.warp);
        }
    }
    frames
}

/// The angle to the warp, from −45° to 45°, at which or across which more sides lie than at any other, if many do.
fn common_angle(frames: &[Frame]) -> Option<f64> {
    let angles = || {
        frames.iter().flat_map(|frame| {
            SIDES.map(|[from, to]| {
                let [x, y] = frame.side(from, to).1;
                y.atan2(x).to_degrees().rem_euclid(90.0)
            })
        })
    };
    let place = |angle: f64| (angle.round() as i64).rem_euclid(90);
    let mut counts = [0_u64; 90];
    angles().for_each(|angle| counts[place(angle) as usize] += 1);
    let near =
        |angle: i64| -> u64 { (-WINDOW..=WINDOW).map(|offset| counts[(angle + offset).rem_euclid(90) as usize]).sum() };
    // The nearest to the axis first, so that of equal ones it is taken.
    let best = (0..=45).flat_map(|angle: i64| [angle, -angle]).rev().max_by_key(|angle| near(*angle))?;
    if (near(best) as f64) < LEAST_ALIGNED * 3.0 * frames.len() as f64 {
        return None;
    }
    let away = |angle: f64| (angle - best as f64 + 45.0).rem_euclid(90.0) - 45.0;
    let inside = || angles().map(away).filter(|away| away.abs() <= WINDOW as f64 + 0.5);
    let mean = inside().sum::<f64>() / inside().count().max(1) as f64;
    Some((best as f64 + mean).to_radians())
}

/// A woven triangle: strain along its threads is a linear matter of its vertices.
///
/// Where the cloth is x, warp and weft per rest length are w = a (x₁ − x₀) + b (x₂ − x₀); at rest both have length 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patch {
    /// The vertices of the triangle.
    pub vertices: [u32; 3],
    /// (a, b) of the warp, 1/m.
    pub warp: [f32; 2],
    /// (a, b) of the weft, 1/m.
    pub weft: [f32; 2],
}

/// What weaving makes of the sides of triangles.
#[derive(Default)]
pub(super) struct Woven {
    /// Sides that are no threads, and their stiffness \[N/m\].
    pub(super) springs: BTreeMap<u64, f64>,
    pub(super) patches: Vec<Patch>,
}

/// The plane of a triangle.
struct Frame {
    /// Which face it is.
    face: usize,
    vertices: [u32; 3],
    points: [DVec3; 3],
    warp: DVec3,
    weft: DVec3,
    area: f64,
}

impl Frame {
    fn new(positions: &[[f32; 3]], (face, vertices): (usize, [u32; 3]), direction: DVec3) -> Option<Self> {
        let points = vertices.map(|vertex| point(positions, vertex));
        let [a, b, c] = points;
        let twice = (b - a).cross(c - a);
        let longest = (b - a).length_squared().max((c - b).length_squared()).max((a - c).length_squared());
        if twice.length() <= FLATTEST * longest {
            return None;
        }
        let normal = twice.normalize();
        let projected = |direction: DVec3| direction - direction.dot(normal) * normal;
        let turned = DVec3::new(direction.z, direction.x, direction.y);
        // (1, 1, 1) is turned to itself.
        let candidates = [direction, turned, DVec3::X, DVec3::Y].map(projected);
        let warp = candidates.into_iter().find(|warp| warp.length() >= LEAST_SINE)?.normalize();
        Some(Self { face, vertices, points, warp, weft: normal.cross(warp), area: 0.5 * twice.length() })
    }

    /// A side: the vertices at its start and its end, and its way along warp and weft.
    fn side(&self, from: usize, to: usize) -> ([u32; 2], [f64; 2]) {
        let way = self.points[to] - self.points[from];
        ([self.vertices[from], self.vertices[to]], [way.dot(self.warp), way.dot(self.weft)])
    }

    fn patch(&self) -> Patch {
        let ([x1, y1], [x2, y2]) = (self.side(0, 1).1, self.side(0, 2).1);
        let twice = x1 * y2 - x2 * y1;
        let share = |a: f64, b: f64| [(a / twice) as f32, (b / twice) as f32];
        Patch { vertices: self.vertices, warp: share(y2, -y1), weft: share(-x2, x1) }
    }
}

const SIDES: [[usize; 2]; 3] = [[0, 1], [1, 2], [2, 0]];

/// Chooses the threads of all triangles; `fixed` are sides that are inextensible whatever is woven, as those of quads
/// are.
pub(super) fn weave(
    positions: &[[f32; 3]],
    faces: &[Face],
    weave: &Weave,
    fabrics: &Fabrics,
    fixed: impl Fn(u64) -> bool,
) -> Woven {
    let frames = weave.frames(positions, faces);
    let threads = threads(positions.len(), &frames);
    let mut springs = BTreeMap::new();
    for frame in &frames {
        let shear = f64::from(fabrics.shear(frame.face));
        let loose = SIDES.map(|[from, to]| {
            let ([a, b], [x, y]) = frame.side(from, to);
            let pair = key(a, b);
            let spread = (x * y) * (x * y) / (x * x + y * y) / frame.area;
            (pair, if fixed(pair) || threads.binary_search(&pair).is_ok() { 0.0 } else { spread })
        });
        let squares: f64 = loose.iter().map(|(_, spread)| spread * spread).sum();
        for (pair, spread) in loose {
            if !fixed(pair) && threads.binary_search(&pair).is_err() {
                *springs.entry(pair).or_insert(0.0) += shear * spread / squares.max(LEAST_SPREAD);
            }
        }
    }
    Woven { springs, patches: frames.iter().map(Frame::patch).collect() }
}

/// The side that leads nearest to a direction: the cosine to it, and the vertex at its end.
type Lead = (f64, u32);

/// The sides that are threads: sorted, each once.
fn threads(vertex_count: usize, frames: &[Frame]) -> Vec<u64> {
    // Forwards and backwards along the warp, then along the weft.
    let mut leads: Vec<[Lead; 4]> = vec![[(MOST_OBLIQUE, u32::MAX); 4]; vertex_count];
    for frame in frames {
        for [from, to] in SIDES.into_iter().flat_map(|[a, b]| [[a, b], [b, a]]) {
            let ([start, end], [x, y]) = frame.side(from, to);
            let extent = x.hypot(y);
            for (lead, along) in leads[start as usize].iter_mut().zip([x, -x, y, -y]) {
                let cosine = along / extent;
                // Of sides that lead equally near, the one to the lower vertex, whatever the order of the faces.
                if cosine > lead.0 || (cosine == lead.0 && end < lead.1) {
                    *lead = (cosine, end);
                }
            }
        }
    }
    let mut threads = Vec::with_capacity(2 * vertex_count);
    for (start, [warp, back, weft, down]) in (0..).zip(leads) {
        for (forwards, backwards) in [(warp, back), (weft, down)] {
            let end = if forwards.1 == u32::MAX { backwards.1 } else { forwards.1 };
            if end != u32::MAX {
                threads.push(key(start, end));
            }
        }
    }
    threads.sort_unstable();
    threads.dedup();
    threads
}
