//! Taut chords: coarse to fine along each yarn, for steps so long that plain projection fails.
//!
//! Projection drops the geometric stiffness of taut yarns, so beyond a load s of about 20 Newton's method wanders: it
//! straightens wiggles of a few edges before the yarn as a whole has its place. But a yarn of rest length L can never
//! span more than L, and neither can any part of it. Automatic substeps keep the load small; chords are for counts that
//! the caller or a budget bounds. So before the first projection of a loaded substep the yarns are cut into chords, a
//! few long ones first, then twice as many, down to chords of two edges:
//!
//! ```text
//!  level 2   o-------------------o-------------------o     |chord| ≤ sum of its rest lengths
//!  level 1   o---------o---------o---------o---------o     unilateral: a slack chord carries nothing
//!  edges     o----o----o----o----o----o----o----o----o     then the projection itself
//! ```
//!
//! The chords of a level are a tridiagonal system like that of the edges, with the masses that move with their ends;
//! two projections per level, and the vertices between two ends are moved along by interpolation, so momentum is kept.
//! Chords start at evenly spread vertices, so a yarn may have any length; at least four chords are used.
//!
//! Another form solves whole coarse grids and interpolates across yarns, too. It needs fewer sweeps (about half, in
//! `patch` at 71 × 71) and holds a curtain of 513 × 513 in single steps of 1/60 s where this form needs two; but it
//! moves yarns for the sake of others, which gained energy in `hang`, needs grids of its own on every mesh, and on a
//! GPU a dispatch per level, sweep and family. This form is one dispatch per family.

use glam::Vec3;

use crate::engine::cpu::Run;
use crate::engine::program::{Kernel, Pattern};
use crate::engine::source::{Constant, Source};
use crate::error::Result;
use crate::mesh::yarns::YarnRow;
use crate::solver::bundle::SMALLEST_PIVOT;
use crate::solver::line_solve::{self, YarnView, dispatch_family, kernel, yarns_of};
use crate::solver::yarn_projection::YarnSweepLive;
use crate::stage::Recorder;
use crate::stage::edge::between;
use crate::stage::fields::{Clock, Frame};

static SOURCE: Source = Source::new("chords", include_str!("../../shaders/chords.wgsl"))
    .constants(&[("COARSEST", Constant::U32(COARSEST as u32)), ("TAUT", Constant::F32(TAUT))])
    .shares(&[&line_solve::SOURCE]);

/// Projects the chords of one yarn, all levels.
pub(crate) static PROJECT_CHORDS: Kernel = kernel("project_chords", &SOURCE, project_chords_body);
/// Starts the chords' part of a substep where the load is large.
pub(crate) static OPEN_CHORDS: Kernel =
    Kernel::new("open_chords", &SOURCE, open_chords_body).pattern(Pattern::Group).aliases(&[("decisions", "guards")]);

/// Fewest chords of a yarn.
const COARSEST: usize = 4;

/// A chord is taut where it is longer than this part of its bound: less is what rounding may make of a chord that is at
/// it.
const TAUT: f32 = 1.0001;

/// Records the chords of all families, which run where the expected load s is above `chords_from`.
pub(crate) fn record(recorder: &mut Recorder<'_>) {
    let levels = (recorder.longest_yarn() as usize / COARSEST).checked_ilog2().unwrap_or(0);
    if levels == 0 {
        return;
    }
    let open = |recorder: &mut Recorder<'_>, own: u32| {
        recorder.dispatch_range(&OPEN_CHORDS, 0..1, [own, recorder.guard(), 0, 0]);
    };
    recorder.repeat_opened(1, open, |recorder| {
        for family in (0..recorder.families().len()).rev() {
            dispatch_family(recorder, &PROJECT_CHORDS, family, [levels, 0], &[]);
        }
    });
}

fn open_chords_body(run: &mut Run<'_>) -> Result<()> {
    let [own, parent, ..] = run.arguments();
    let frame = run.one::<Frame>("frame")?;
    let live = run.one::<YarnSweepLive>("yarn_sweep")?;
    let clock = run.one::<Clock>("clock")?;
    let mut decisions = run.write::<u32>("decisions")?;
    let load = clock.load.max(frame.expected_load);
    let loaded = load * clock.h * clock.h > live.chords_from;
    decisions[own as usize] = if loaded { decisions[parent as usize] } else { 0 };
    Ok(())
}

fn project_chords_body(run: &mut Run<'_>) -> Result<()> {
    let [_, levels, ..] = run.arguments();
    let yarns = yarns_of(run)?;
    let cloth = YarnView::of(run)?;
    for yarn in yarns {
        let slack = cloth.slack(yarn).max(0.0);
        for level in (1..=levels).rev() {
            let count = yarn.count as usize >> level;
            if count >= COARSEST {
                for _ in 0..2 {
                    Chords { cloth: &cloth, yarn, count, slack }.project();
                }
            }
        }
    }
    Ok(())
}

/// One level of a yarn.
struct Chords<'a> {
    cloth: &'a YarnView<'a>,
    yarn: &'a YarnRow,
    count: usize,
    slack: f32,
}

impl Chords<'_> {
    /// Vertex at place k along the yarn.
    fn vertex(&self, k: usize) -> usize {
        let edges = &self.cloth.edges[self.yarn.first as usize..(self.yarn.first + self.yarn.count) as usize];
        let vertex = match edges.get(k) {
            Some(edge) => edge.tail,
            None if self.closed() => edges[0].tail,
            None => edges[edges.len() - 1].head,
        };
        vertex as usize
    }

    fn closed(&self) -> bool {
        self.yarn.closed != 0
    }

    /// Place where chord i starts.
    fn node(&self, i: usize) -> usize {
        let count = self.yarn.count as usize;
        i * (count / self.count) + (i * (count % self.count) + self.count / 2) / self.count
    }

    /// Number of the node after chord i.
    fn following(&self, i: usize) -> usize {
        if self.closed() && i + 1 == self.count { 0 } else { i + 1 }
    }

    /// Longest that chord i may be.
    fn bound(&self, i: usize) -> f32 {
        let mut rest = 0.0;
        for k in self.node(i)..self.node(i + 1) {
            rest += self.cloth.edges[self.yarn.first as usize + k].rest;
        }
        (self.cloth.frame.stretch_max + self.slack) * rest
    }

    fn mass(&self, k: usize) -> f32 {
        let inverse_mass = self.cloth.vertices[self.vertex(k)].inverse_mass;
        if inverse_mass > 0.0 { 1.0 / inverse_mass } else { 0.0 }
    }

    /// Inverse of the mass that moves with node i.
    fn inverse_mass(&self, i: usize) -> f32 {
        let here = self.node(i);
        if self.cloth.vertices[self.vertex(here)].inverse_mass == 0.0 {
            return 0.0;
        }
        let mut mass = self.mass(here);
        if i < self.count {
            let end = self.node(i + 1);
            for k in here + 1..end {
                mass += self.mass(k) * ((end - k) as f32 / (end - here) as f32);
            }
        }
        let wraps = self.closed() && i == 0;
        if i > 0 || wraps {
            let start = self.node(if wraps { self.count } else { i } - 1);
            let end = if wraps { self.yarn.count as usize } else { here };
            for k in start + 1..end {
                mass += self.mass(k) * ((k - start) as f32 / (end - start) as f32);
            }
        }
        1.0 / mass
    }

    /// Direction, diagonal and residual of chord i; unilateral.
    fn row(&self, i: usize) -> (Vec3, f32, f32) {
        let (a, b) = (self.vertex(self.node(i)), self.vertex(self.node(i + 1)));
        let w = self.inverse_mass(i) + self.inverse_mass(self.following(i));
        let YarnView { vertices, displacements, .. } = self.cloth;
        let d = between(vertices, |v| displacements.vector(v), a, b);
        let (extent, bound) = (d.length(), self.bound(i));
        if w == 0.0 || extent <= TAUT * bound {
            return (Vec3::ZERO, 1.0, 0.0);
        }
        (d / extent, w, extent - bound)
    }

    /// Projects the chords and moves all vertices of the yarn with them.
    fn project(&self) {
        let rows: Vec<(Vec3, f32, f32)> = (0..self.count).map(|i| self.row(i)).collect();
        if rows.iter().all(|(_, _, residual)| *residual == 0.0) {
            return;
        }
        let solutions = self.solve(&rows);
        let pulls: Vec<Vec3> = rows.iter().zip(&solutions).map(|(row, solution)| row.0 * *solution).collect();
        let nodes = if self.closed() { self.count } else { self.count + 1 };
        let mut motions = Vec::with_capacity(nodes);
        let YarnView { live, clock, vertices, freedom, displacements, reactions, tensions, .. } = self.cloth;
        for i in 0..nodes {
            let ahead = pulls.get(i).copied().unwrap_or(Vec3::ZERO);
            let behind = match i {
                0 if self.closed() => pulls[self.count - 1],
                0 => Vec3::ZERO,
                _ => pulls[i - 1],
            };
            let way = (ahead - behind) * self.inverse_mass(i);
            let (extent, most) = (way.length(), live.step_clamp * self.bound(i.min(self.count - 1)));
            motions.push(if extent > most { way * (most / extent) } else { way });
            let v = self.vertex(self.node(i));
            if vertices[v].inverse_mass == 0.0 {
                reactions.add(v, clock.force * (ahead - behind));
            }
        }
        for i in 0..self.count {
            let (start, end, next) = (self.node(i), self.node(i + 1), self.following(i));
            for k in start..end {
                let v = self.vertex(k);
                let part = (k - start) as f32 / (end - start) as f32;
                if vertices[v].inverse_mass > 0.0 {
                    displacements.add(v, freedom.allowed(v, (1.0 - part) * motions[i] + part * motions[next]));
                }
                tensions.add(self.yarn.first as usize + k, clock.force * solutions[i]);
            }
            let v = self.vertex(end);
            if next == self.count && vertices[v].inverse_mass > 0.0 {
                displacements.add(v, freedom.allowed(v, motions[next]));
            }
        }
    }

    /// The tridiagonal system of the chords; cyclic for a closed yarn.
    fn solve(&self, rows: &[(Vec3, f32, f32)]) -> Vec<f32> {
        let last = rows.len() - 1;
        let coupling = |i: usize, before: usize| -self.inverse_mass(i) * rows[before].0.dot(rows[i].0);
        let g = -rows[0].1;
        let corner = if self.closed() { coupling(0, last) } else { 0.0 };
        let mut kept: Vec<[f32; 3]> = Vec::with_capacity(rows.len());
        let (mut inverse, mut y, mut z) = (0.0f32, 0.0f32, 0.0f32);
        for (i, &(_, mut diagonal, residual)) in rows.iter().enumerate() {
            let b = if i > 0 { coupling(i, i - 1) } else { 0.0 };
            let f = b * inverse;
            let mut u = 0.0;
            if self.closed() && i == 0 {
                u = g;
                diagonal -= g;
            }
            if self.closed() && i == last {
                u += corner;
                diagonal -= corner * corner / g;
            }
            y = residual - f * y;
            z = u - f * z;
            inverse = 1.0 / (diagonal - f * b).max(SMALLEST_PIVOT * diagonal);
            kept.push([f, y * inverse, z * inverse]);
        }
        let (mut solution, mut second, mut f) = (0.0, 0.0, 0.0);
        for row in kept.iter_mut().rev() {
            solution = row[1] - f * solution;
            second = row[2] - f * second;
            f = row[0];
            (row[1], row[2]) = (solution, second);
        }
        let ratio = corner / g;
        let factor = if self.closed() {
            (kept[0][1] + ratio * kept[last][1]) / (1.0 + kept[0][2] + ratio * kept[last][2])
        } else {
            0.0
        };
        kept.iter().map(|[_, y, z]| y - factor * z).collect()
    }
}
