//! Yarn sweeps: project all yarns of one family exactly, then all of the next; the order alternates.
//!
//! Along one yarn the matrix A = J W Jᵀ of eq. (7) is tridiagonal: edge k couples to edge k − 1 through their common
//! vertex only. With C = |d| − l and n = d/|d|,
//!
//! A_kk = w_k + w_{k+1}, A_{k,k−1} = b_k = −w_k n_{k−1}·n_k,
//!
//! and an exact solve costs a few operations per edge, however long the yarn is. What is left after all families have
//! been projected is their coupling through shear, which shrinks by σ² per sweep (σ the cosine between the warp's and the
//! weft's force spaces, 0.2–0.5 in ordinary cloth): the number of sweeps does not grow with the resolution.
//!
//! | symbol | name | unit |
//! |---|---|---|
//! | n_k, b_k | `directions.xyz`, `.w` | 1, 1/kg |
//! | 1/pivot, y, g, μ of an edge | `eliminations` | kg, m, 1/kg, kg·m |
//! | runs of a yarn, their last edges | one lane each, `separators` | |
//!
//! **The line solve.** `lanes` invocations share a yarn. Each eliminates its run of consecutive edges from left to
//! right, the edge before the run entering as a second right-hand side g. The last edge of each run is kept: these
//! separators form a tridiagonal system of at most 64 unknowns, which one invocation solves in workgroup memory; a
//! closed yarn makes it cyclic (Sherman–Morrison). Then each run is solved backwards. This is elimination of a symmetric
//! definite matrix in another order, as accurate in f32 as the serial one; cyclic reduction loses two digits more on a
//! taut yarn. Pivots are clamped at 1e-5 of the diagonal. Any length of yarn fits.
//!
//! Cost per sweep: one dispatch per family, 64 bytes per vertex and family, no reductions. Prefer it wherever the mesh
//! has yarns.

use glam::Vec3;

use crate::cpu::{Run, Write};
use crate::error::Result;
use crate::params::{Clock, Frame, GROUP, Link, Vertex, YarnSpan};
use crate::program::{Kernel, Recorder, Shape};
use crate::solver::{Solver, apply_inverse_mass, banded_length, in_band, within};
use crate::stage::{padded, strain, xyz};

const WGSL: &str = include_str!("../../shaders/yarn_sweep.wgsl");

/// Projects one yarn.
///
/// A taut yarn of m edges has a condition of about m²; meshes that are compared in lock-step have yarns of about eight.
pub static PROJECT_YARN: Kernel =
    Kernel::new("project_yarn", WGSL, project_yarn_body).shape(Shape::Lines).amplification(64.0);

/// Edges that one invocation eliminates, about: longer runs use fewer invocations, shorter ones more separators.
const RUN: u32 = 16;

/// Parameters of the sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct YarnSweep {
    /// Sweeps per substep at most.
    pub sweeps: u32,
    /// Largest motion of a vertex in one projection, as a part of the edge before or after it; may be slid live.
    pub step_clamp: f32,
}

impl Default for YarnSweep {
    fn default() -> Self {
        Self { sweeps: 200, step_clamp: 0.3 }
    }
}

impl Solver for YarnSweep {
    fn name(&self) -> &'static str {
        "yarn-sweep"
    }

    fn validate(&self) -> Result<()> {
        within("sweeps", self.sweeps.into(), self.sweeps > 0, "at least 1")?;
        let clamp = self.step_clamp;
        within("step_clamp", clamp.into(), clamp > 0.0 && clamp <= 10.0, "in (0, 10]")
    }

    fn record(&self, recorder: &mut Recorder<'_>) {
        let lanes = lanes(recorder.longest_yarn());
        let sweep = |recorder: &mut Recorder<'_>, backwards: bool| {
            let families = recorder.families();
            for number in 0..families.len() {
                let family = &families[if backwards { families.len() - 1 - number } else { number }];
                let slots = family.start * lanes..family.end * lanes;
                recorder.dispatch_range(&PROJECT_YARN, slots, [lanes, 0, 0, 0]);
            }
            strain::record(recorder, 1, 0);
        };
        // Two sweeps per round of the loop, in opposite orders; a loop that ends in between skips the second.
        if self.sweeps == 1 {
            recorder.repeat(1, |recorder| sweep(recorder, false));
        } else {
            recorder.repeat(self.sweeps / 2, |recorder| {
                sweep(recorder, false);
                sweep(recorder, true);
            });
        }
    }

    fn live(&self) -> [f32; 4] {
        [self.step_clamp, 0.0, 0.0, 0.0]
    }
}

/// Invocations that share a yarn: a power of two up to a workgroup.
fn lanes(longest: u32) -> u32 {
    longest.div_ceil(RUN).next_power_of_two().clamp(1, GROUP as u32)
}

/// An edge as the solve sees it; direction 0 and diagonal 1 where nothing can be moved.
#[derive(Clone, Copy)]
struct Row {
    direction: Vec3,
    diagonal: f32,
    residual: f32,
    tail_inverse_mass: f32,
}

/// What the body reads and writes.
struct Lines<'a> {
    frame: &'a Frame,
    clock: &'a Clock,
    edges: &'a [Link],
    vertices: &'a [Vertex],
    displacements: Write<'a, [f32; 4]>,
    reactions: Write<'a, [f32; 4]>,
    directions: Write<'a, [f32; 4]>,
    eliminations: Write<'a, [f32; 4]>,
}

fn project_yarn_body(run: &mut Run<'_>) -> Result<()> {
    let [lanes, ..] = run.arguments();
    let lanes = lanes as usize;
    let yarns = run.read::<YarnSpan>("yarns")?;
    let mut lines = Lines {
        frame: run.one::<Frame>("frame")?,
        clock: run.one::<Clock>("clock")?,
        edges: run.read::<Link>("edges")?,
        vertices: run.read::<Vertex>("vertices")?,
        displacements: run.write("displacements")?,
        reactions: run.write("reactions")?,
        directions: run.write("directions")?,
        eliminations: run.write("eliminations")?,
    };
    for yarn in &yarns[run.range().start / lanes..run.range().end / lanes] {
        lines.project(yarn, lanes);
    }
    Ok(())
}

/// The system of the separators: what the shader keeps in workgroup memory.
struct Separators {
    rows: [[f32; 4]; GROUP],
    gifts: [[f32; 2]; GROUP],
}

impl Lines<'_> {
    fn row(&self, e: usize) -> Row {
        let edge = self.edges[e];
        let (tail, head) = (edge.tail as usize, edge.head as usize);
        let (a, b) = (self.vertices[tail], self.vertices[head]);
        let w = a.inverse_mass + b.inverse_mass;
        let d = (b.position - a.position) + (xyz(self.displacements[head]) - xyz(self.displacements[tail]));
        let extent = d.length();
        let tail_inverse_mass = a.inverse_mass;
        if w == 0.0 || extent < 1e-6 * edge.rest || in_band(self.frame, extent, edge.rest) {
            return Row { direction: Vec3::ZERO, diagonal: 1.0, residual: 0.0, tail_inverse_mass };
        }
        let residual = extent - banded_length(self.frame, extent, edge.rest);
        Row { direction: d / extent, diagonal: w, residual, tail_inverse_mass }
    }

    fn project(&mut self, yarn: &YarnSpan, lanes: usize) {
        let (start, count, closed) = (yarn.first as usize, yarn.count as usize, yarn.closed != 0);
        if count == 0 {
            return;
        }
        let length = count.div_ceil(lanes).max(1);
        let runs = count.div_ceil(length);
        let bounds = |lane: usize| (start + lane * length, start + ((lane + 1) * length).min(count));
        let mut separators = Separators { rows: [[0.0; 4]; GROUP], gifts: [[0.0; 2]; GROUP] };
        let mut before = [Vec3::ZERO; GROUP];
        for lane in 0..runs {
            let (first, end) = bounds(lane);
            if lane > 0 || closed {
                before[lane] = self.row(if lane == 0 { start + count } else { first } - 1).direction;
            }
            self.eliminate(first, end, lane, before[lane], &mut separators);
        }
        separators.solve(runs, closed);
        for lane in 0..runs {
            let (first, end) = bounds(lane);
            let left = if lane > 0 || closed { separators.rows[(lane + runs - 1) % runs][3] } else { 0.0 };
            let mut solution = separators.rows[lane][3];
            for e in (first..end).rev() {
                if e + 1 < end {
                    let [inverse, y, g, _] = self.eliminations[e];
                    solution = (y + g * left - self.directions[e + 1][3] * solution) * inverse;
                }
                self.eliminations[e][3] = solution;
            }
            let mut behind = left * before[lane];
            for e in first..end {
                let edge = self.edges[e];
                let ahead = self.eliminations[e][3] * xyz(self.directions[e]);
                let most = self.frame.live.x * edge.rest;
                self.pull_vertex(edge.tail as usize, ahead - behind, most);
                behind = ahead;
                if e + 1 == start + count && !closed {
                    self.pull_vertex(edge.head as usize, -ahead, most);
                }
            }
        }
    }

    /// Forward through a run, then backward without the separators' values.
    fn eliminate(&mut self, first: usize, end: usize, lane: usize, before: Vec3, separators: &mut Separators) {
        let mut previous = before;
        let (mut first_coupling, mut inverse, mut y, mut g) = (0.0, 0.0, 0.0, 0.0);
        for e in first..end {
            let here = self.row(e);
            let coupling = -here.tail_inverse_mass * previous.dot(here.direction);
            let n = here.direction;
            self.directions[e] = [n.x, n.y, n.z, coupling];
            previous = n;
            if e == first {
                first_coupling = coupling;
            }
            if e + 1 == end {
                separators.rows[lane] = [
                    here.diagonal - coupling * coupling * inverse,
                    if e > first { coupling * g * inverse } else { coupling },
                    here.residual - coupling * y * inverse,
                    0.0,
                ];
            } else if e == first {
                inverse = inverse_pivot(here.diagonal, here.diagonal);
                y = here.residual;
                g = -coupling;
                self.eliminations[e] = [inverse, y, g, 0.0];
            } else {
                let f = coupling * inverse;
                inverse = inverse_pivot(here.diagonal - f * coupling, here.diagonal);
                y = here.residual - f * y;
                g *= -f;
                self.eliminations[e] = [inverse, y, g, 0.0];
            }
        }
        let (mut sum, mut spike) = (0.0, 0.0);
        for e in (first..end - 1).rev() {
            let coupling = if e + 2 == end { 0.0 } else { self.directions[e + 1][3] };
            let [inverse, y, g, _] = self.eliminations[e];
            sum = (y - coupling * sum) * inverse;
            spike = (g - coupling * spike) * inverse;
        }
        separators.gifts[lane] = [first_coupling * spike, -first_coupling * sum];
    }

    fn pull_vertex(&mut self, v: usize, pull: Vec3, most: f32) {
        let inverse_mass = self.vertices[v].inverse_mass;
        if inverse_mass > 0.0 {
            let way = apply_inverse_mass(inverse_mass, pull);
            let extent = way.length();
            let clamped = if extent > most { way * (most / extent) } else { way };
            self.displacements[v] = padded(xyz(self.displacements[v]) + clamped);
        } else {
            let force = pull / (self.clock.h * self.frame.dt);
            self.reactions[v] = padded(xyz(self.reactions[v]) + force);
        }
    }
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
