//! The line solve: exact tridiagonal solves along all yarns at once.
//!
//! Along one yarn the matrix A = J W Jᵀ of eq. (7) is tridiagonal: edge k couples to edge k − 1 through their common
//! vertex only, A_{k,k−1} = b_k = −w_k n_{k−1}·n_k, and an exact solve costs a few operations per edge however long the
//! yarn is.
//!
//! `lanes` invocations share a yarn. Each eliminates its run of consecutive edges from left to right, the edge before
//! the run entering as a second right-hand side g. The last edge of each run is kept: these separators form a
//! tridiagonal system of at most 64 unknowns, which one invocation solves in workgroup memory; a closed yarn makes it
//! cyclic (Sherman–Morrison). Then each run is solved backwards. This is elimination of a symmetric definite matrix in
//! another order, as accurate in f32 as the serial one; cyclic reduction loses two digits more on a taut yarn. Pivots are
//! clamped at 1e-5 of the diagonal. Any length of yarn fits.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | n_k (projection), q_k (linear solve) | `directions.xyz` | 1 |
//! | f = b_k/pivot of k − 1; y, g over the own pivot; μ | `eliminations` | 1, kg·m, 1, kg·m |
//! | last edges of the runs | `separators` | |

use glam::Vec3;

use crate::cpu::{Run, Write};
use crate::error::Result;
use crate::params::{Clock, Frame, GROUP, Link, Vertex, YarnSpan};
use crate::program::{Body, Kernel, Recorder, Shape};
use crate::solver::{apply_inverse_mass, banded_length, in_band};
use crate::stage::{padded, xyz};

const WGSL: &str = include_str!("../../shaders/lines.wgsl");

/// A taut yarn of m edges has a condition of about m²; meshes that are compared in lock-step have yarns of about eight.
const fn kernel(name: &'static str, body: Body) -> Kernel {
    Kernel::new(name, WGSL, body).shape(Shape::Lines).amplification(64.0)
}

/// Projects one yarn: C = |d| − l of all its edges to 0 at once.
pub static PROJECT_YARN: Kernel = kernel("project_yarn", project_yarn_body);
/// Preconditions a linear solve by one yarn's block of the matrix.
pub static SOLVE_YARN: Kernel = kernel("solve_yarn", solve_yarn_body);

/// Edges that one invocation eliminates, about: longer runs use fewer invocations, shorter ones more separators.
const RUN: u32 = 16;

/// Invocations that share a yarn: a power of two up to a workgroup.
fn lanes(recorder: &Recorder<'_>) -> u32 {
    recorder.longest_yarn().div_ceil(RUN).next_power_of_two().clamp(1, GROUP as u32)
}

/// Records the projection of one family of yarns, which share no vertex.
pub fn project_family(recorder: &mut Recorder<'_>, family: usize) {
    let (lanes, yarns) = (lanes(recorder), recorder.families()[family].clone());
    recorder.dispatch_range(&PROJECT_YARN, yarns.start * lanes..yarns.end * lanes, [lanes, 0, 0, 0]);
}

/// Records `preconditioned` (or the field that stands for it) = P `residuals` for the linear solve that is set up in
/// `directions`. Yarns share no edge, so all families go at once.
pub fn solve_all(recorder: &mut Recorder<'_>, renames: &'static [(&'static str, &'static str)]) {
    let lanes = lanes(recorder);
    let yarns = recorder.families().last().map_or(0, |family| family.end);
    recorder.dispatch_with(&SOLVE_YARN, 0..yarns * lanes, [lanes, 0, 0, 0], renames);
}

/// A row of the matrix and its right-hand side; direction 0 and diagonal 1 where nothing can be moved.
#[derive(Clone, Copy)]
struct Row {
    direction: Vec3,
    diagonal: f32,
    residual: f32,
    tail_inverse_mass: f32,
}

/// What a lane knows of its run after the solve: its edges, the solution and direction of the edge before it.
#[derive(Clone, Copy)]
struct Part {
    first: usize,
    end: usize,
    left: f32,
    before: Vec3,
}

/// The system of the separators: what the shader keeps in workgroup memory.
struct Separators {
    rows: [[f32; 4]; GROUP],
    gifts: [[f32; 2]; GROUP],
}

fn project_yarn_body(run: &mut Run<'_>) -> Result<()> {
    let lanes = run.arguments()[0] as usize;
    let yarns = run.read::<YarnSpan>("yarns")?;
    let frame = run.one::<Frame>("frame")?;
    let clock = run.one::<Clock>("clock")?;
    let edges = run.read::<Link>("edges")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let mut displacements = run.write::<[f32; 4]>("displacements")?;
    let mut reactions = run.write::<[f32; 4]>("reactions")?;
    let mut directions = run.write::<[f32; 4]>("directions")?;
    let mut eliminations = run.write::<[f32; 4]>("eliminations")?;
    let mut rows = Vec::new();
    for yarn in &yarns[run.range().start / lanes..run.range().end / lanes] {
        let first = yarn.first as usize;
        rows.clear();
        for e in first..first + yarn.count as usize {
            let row = geometric_row(frame, edges, vertices, &displacements, e);
            directions[e] = padded(row.direction);
            rows.push(row);
        }
        let (parts, count) = solve_line(yarn, lanes, |e| rows[e - first], &mut eliminations);
        for part in &parts[..count] {
            let mut behind = part.left * part.before;
            for e in part.first..part.end {
                let edge = edges[e];
                let ahead = eliminations[e][3] * xyz(directions[e]);
                let most = frame.live.x * edge.rest;
                let mut pull_vertex = |v: usize, pull: Vec3| {
                    let inverse_mass = vertices[v].inverse_mass;
                    if inverse_mass > 0.0 {
                        let way = apply_inverse_mass(inverse_mass, pull);
                        let extent = way.length();
                        let clamped = if extent > most { way * (most / extent) } else { way };
                        displacements[v] = padded(xyz(displacements[v]) + clamped);
                    } else {
                        let force = pull / (clock.h * frame.dt);
                        reactions[v] = padded(xyz(reactions[v]) + force);
                    }
                };
                pull_vertex(edge.tail as usize, ahead - behind);
                if e + 1 == (yarn.first + yarn.count) as usize && yarn.closed == 0 {
                    pull_vertex(edge.head as usize, -ahead);
                }
                behind = ahead;
            }
        }
    }
    Ok(())
}

fn solve_yarn_body(run: &mut Run<'_>) -> Result<()> {
    let lanes = run.arguments()[0] as usize;
    let yarns = run.read::<YarnSpan>("yarns")?;
    let edges = run.read::<Link>("edges")?;
    let vertices = run.read::<Vertex>("vertices")?;
    let residuals = run.read::<f32>("residuals")?;
    // Shared code of the shader writes directions where it projects; here they are only read.
    let directions = run.write::<[f32; 4]>("directions")?;
    let mut eliminations = run.write::<[f32; 4]>("eliminations")?;
    let mut preconditioned = run.write::<f32>("preconditioned")?;
    let row = |e: usize| {
        let [x, y, z, inverse_diagonal] = directions[e];
        Row {
            direction: Vec3::new(x, y, z),
            diagonal: if inverse_diagonal > 0.0 { 1.0 / inverse_diagonal } else { 1.0 },
            residual: residuals[e],
            tail_inverse_mass: vertices[edges[e].tail as usize].inverse_mass,
        }
    };
    for yarn in &yarns[run.range().start / lanes..run.range().end / lanes] {
        solve_line(yarn, lanes, row, &mut eliminations);
        for e in yarn.first as usize..(yarn.first + yarn.count) as usize {
            preconditioned[e] = eliminations[e][3];
        }
    }
    Ok(())
}

fn geometric_row(
    frame: &Frame,
    edges: &[Link],
    vertices: &[Vertex],
    displacements: &Write<'_, [f32; 4]>,
    e: usize,
) -> Row {
    let edge = edges[e];
    let (tail, head) = (edge.tail as usize, edge.head as usize);
    let (a, b) = (vertices[tail], vertices[head]);
    let w = a.inverse_mass + b.inverse_mass;
    let d = (b.position - a.position) + (xyz(displacements[head]) - xyz(displacements[tail]));
    let extent = d.length();
    let tail_inverse_mass = a.inverse_mass;
    if w == 0.0 || extent < 1e-6 * edge.rest || in_band(frame, extent, edge.rest) {
        return Row { direction: Vec3::ZERO, diagonal: 1.0, residual: 0.0, tail_inverse_mass };
    }
    let residual = extent - banded_length(frame, extent, edge.rest);
    Row { direction: d / extent, diagonal: w, residual, tail_inverse_mass }
}

/// Solves one yarn; the solutions are in `eliminations`. Returns what its lanes know, and how many have a run.
fn solve_line(
    yarn: &YarnSpan,
    lanes: usize,
    row: impl Fn(usize) -> Row,
    eliminations: &mut Write<'_, [f32; 4]>,
) -> ([Part; GROUP], usize) {
    let (start, count, closed) = (yarn.first as usize, yarn.count as usize, yarn.closed != 0);
    let mut parts = [Part { first: 0, end: 0, left: 0.0, before: Vec3::ZERO }; GROUP];
    let mut separators = Separators { rows: [[0.0; 4]; GROUP], gifts: [[0.0; 2]; GROUP] };
    let length = count.div_ceil(lanes).max(1);
    let runs = count.div_ceil(length);
    for (lane, part) in parts.iter_mut().enumerate().take(runs) {
        (part.first, part.end) = (start + lane * length, start + ((lane + 1) * length).min(count));
        if lane > 0 || closed {
            part.before = row(if lane == 0 { start + count } else { part.first } - 1).direction;
        }
        eliminate(part, lane, &row, eliminations, &mut separators);
    }
    if runs > 0 {
        separators.solve(runs, closed);
    }
    for (lane, part) in parts.iter_mut().enumerate().take(runs) {
        if lane > 0 || closed {
            part.left = separators.rows[(lane + runs - 1) % runs][3];
        }
        let mut solution = separators.rows[lane][3];
        for e in (part.first..part.end).rev() {
            if e + 1 < part.end {
                let [_, y, g, _] = eliminations[e];
                solution = y + g * part.left - eliminations[e + 1][0] * solution;
            }
            eliminations[e][3] = solution;
        }
    }
    (parts, runs)
}

/// Forward through a run, then backward without the separators' values.
fn eliminate(
    part: &Part,
    lane: usize,
    row: impl Fn(usize) -> Row,
    eliminations: &mut Write<'_, [f32; 4]>,
    separators: &mut Separators,
) {
    let mut previous = part.before;
    let (mut first_coupling, mut inverse, mut y, mut g) = (0.0, 0.0, 0.0, 0.0);
    for e in part.first..part.end {
        let here = row(e);
        let coupling = -here.tail_inverse_mass * previous.dot(here.direction);
        previous = here.direction;
        let f = coupling * inverse;
        if e + 1 == part.end {
            separators.rows[lane] = [
                here.diagonal - f * coupling,
                if e > part.first { f * g } else { coupling },
                here.residual - f * y,
                0.0,
            ];
            eliminations[e] = [f, 0.0, 0.0, 0.0];
        } else {
            g = if e == part.first { -coupling } else { -f * g };
            y = here.residual - f * y;
            inverse = inverse_pivot(here.diagonal - f * coupling, here.diagonal);
            eliminations[e] = [f, y * inverse, g * inverse, 0.0];
        }
        if e == part.first {
            first_coupling = coupling;
        }
    }
    let (mut sum, mut spike) = (0.0, 0.0);
    for e in (part.first..part.end - 1).rev() {
        let ([_, y, g, _], f) = (eliminations[e], eliminations[e + 1][0]);
        sum = y - f * sum;
        spike = g - f * spike;
    }
    separators.gifts[lane] = [first_coupling * spike, -first_coupling * sum];
}

/// Pivots that rounding has eaten are held at a small part of the diagonal.
fn inverse_pivot(pivot: f32, diagonal: f32) -> f32 {
    1.0 / pivot.max(1e-5 * diagonal)
}

impl Separators {
    fn solve(&mut self, count: usize, closed: bool) {
        let Self { rows, gifts } = self;
        for j in 0..count {
            rows[j][0] += gifts[(j + 1) % count][0];
            rows[j][2] += gifts[(j + 1) % count][1];
        }
        if count == 1 {
            let diagonal = rows[0][0] + 2.0 * rows[0][1];
            rows[0][3] = rows[0][2] * inverse_pivot(diagonal, rows[0][0]);
            return;
        }
        let last = count - 1;
        let corner = rows[0][1];
        let g = -rows[0][0];
        if closed {
            rows[0][0] -= g;
            rows[last][0] -= corner * corner / g;
        }
        rows[0][0] = inverse_pivot(rows[0][0], rows[0][0]);
        gifts[0][0] = if closed { g } else { 0.0 };
        for j in 1..count {
            let f = rows[j][1] * rows[j - 1][0];
            let u = if closed && j == last { corner } else { 0.0 };
            gifts[j][0] = u - f * gifts[j - 1][0];
            rows[j][2] -= f * rows[j - 1][2];
            rows[j][0] = inverse_pivot(rows[j][0] - f * rows[j][1], rows[j][0]);
        }
        let mut solution = rows[last][2] * rows[last][0];
        let mut second = gifts[last][0] * rows[last][0];
        rows[last][3] = solution;
        gifts[last][0] = second;
        for j in (0..last).rev() {
            solution = (rows[j][2] - rows[j + 1][1] * solution) * rows[j][0];
            second = (gifts[j][0] - rows[j + 1][1] * second) * rows[j][0];
            rows[j][3] = solution;
            gifts[j][0] = second;
        }
        if closed {
            let ratio = corner / g;
            let factor = (rows[0][3] + ratio * rows[last][3]) / (1.0 + gifts[0][0] + ratio * gifts[last][0]);
            for j in 0..count {
                rows[j][3] -= factor * gifts[j][0];
            }
        }
    }
}
