//! Windows around pins: where sweeps along yarns have the most to do, and what they share it among.
//!
//! A pin that stands alone is where the load of the cloth comes together. After one sweep the cloth is within its limit
//! but for some eight vertices around such a pin, and further sweeps move all of the cloth for the sake of those. So
//! the neighborhoods of pins are projected by themselves, before the first sweep and after each: parts of yarns,
//! **pieces**, in **passes**. The pieces of a pass belong to one family and share no vertex, so they can be projected
//! at once.
//!
//! | pass | pieces |
//! |---|---|
//! | window of radius r | all that is at most r places away from a pin, along one family and then along another |
//! | strip | the whole yarns through a pin, and their neighbors |
//! | comb of a strip | of every yarn that crosses the pin's own, what is at most four edges away from it |
//!
//! A window alone leaves the strain at its rim, on the pin's own yarns; strips carry it away along them, and what they
//! leave in the edges that hang from them is for the combs. Pins nearer to each other than two radii have one window.
//!
//! Where springs are solved along [diagonals](crate::mesh::diagonals), there are other passes. Windows of at least
//! eight places begin with the pieces of the diagonals inside them: shear that is in balance with the prediction is not
//! with what the windows make of it. And they are larger, with combs on any mesh: stiff shear carries further. `hang`
//! of 71 × 71 vertices with a shear of 200 N/m takes 81 sweeps per frame with the windows of soft cloth, and 23 with
//! these.
//!
//! A pin **stands alone** if yarns of two families meet there and its neighbors along them are free. A pinned row does
//! not: its yarns carry the load side by side, and one sweep is enough.
//!
//! **What acts like a pin** is one here: vertices that are held in place, on a plane or on a line
//! ([`crate::Cloth::hold`]), at rest, driven by targets or attached to something that moves, as long as they are held;
//! windows are found again when that changes. Soft holds have none, nor has what hangs on a solid: a vertex on a peg is
//! one that touches it now, and another in the next substep, known to the device alone. Sweeps do the work there, as
//! they do without windows, and the more the smaller the peg is. Sweeps per frame in the first second of a flat sheet
//! of 71 × 71 vertices and 1 m that falls over a ball under its middle, at 1 %; every frame holds:
//!
//! | | substeps | sweeps |
//! |---|---|---|
//! | the middle vertex pinned, with its windows | 22 | 57 |
//! | ball of 20 cm | 12 | 82 |
//! | 5 cm | 12 | 159 |
//! | 2 cm, less than two edges | 12.6 | 262 |
//! | the same, other substeps | 22, 40 | 310, 248 |
//! | the same, 128 × 128 | 22.9 | 474 |
//!
//! All of it is a pure function of the mesh and of what is held.

use std::ops::Range;

use super::diagonals::Diagonals;
use super::yarns::{Yarn, Yarns};
use super::{Link, Mesh};
use crate::engine::layout::GROUP;

/// Radius of the smallest window, in places; each next one is twice as large.
const RADIUS: usize = 4;
/// The longest yarn has at least so many vertices for each place of the largest radius: beyond that a window is a
/// sweep.
const SHARE: usize = 8;
/// The same where springs are solved along diagonals.
const SHEARED_SHARE: usize = 4;
/// Vertices of the longest yarn from which the smallest window is gone through twice, and strips have combs: shorter
/// yarns take fewer sweeps more than that costs.
const THOROUGH: usize = 100;
/// Radius of the smallest window that has pieces of diagonals.
const SHEARED: usize = 2 * RADIUS;
/// Places on either side of a pin's own yarn that its comb reaches.
const TEETH: usize = 4;
/// Held vertices that there is room for beside the pins of a mesh. Where there are more that stand alone, they have no
/// windows.
const HOLDS: usize = 4;
/// Passes at most: more families than woven cloth has are left to sweeps.
pub(crate) const MOST_PASSES: usize = 64;

/// A part of a yarn, or of a line of springs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The yarn or the line.
    pub yarn: u32,
    /// Edges of [`Yarns::edges`]; all of a closed yarn, or a chain. Or links of [`Diagonals::links`].
    pub edges: Range<u32>,
}

/// Pieces of one family that are projected at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// A range of [`Windows::pieces`].
    pub pieces: Range<u32>,
    /// How many of them, the first ones, belong to yarns between two pins. What such a piece does depends on all of its
    /// yarn ([`crate::solver::line_solve`]), so that it must not be projected after another of the pass; there are no
    /// more of them than a workgroup has invocations.
    pub held: u32,
}

/// Passes along diagonals, and the passes along yarns that come after them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// A range of [`Windows::diagonal_passes`].
    pub diagonals: Range<u32>,
    /// A range of [`Windows::passes`].
    pub yarns: Range<u32>,
}

/// Passes around the pins of a mesh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// The pieces of yarns, pass by pass.
    pub pieces: Vec<Piece>,
    /// The passes along yarns: those where springs are not solved along diagonals, and then those of `turns`.
    pub passes: Vec<Pass>,
    /// How many of the passes are of the first kind.
    pub plain: u32,
    /// The pieces of lines of springs, pass by pass.
    pub diagonal_pieces: Vec<Piece>,
    /// The passes along lines of springs.
    pub diagonal_passes: Vec<Pass>,
    /// The passes where springs are solved along diagonals, in their order.
    pub turns: Vec<Turn>,
    /// The vertices that they are around, ascending.
    pub around: Vec<u32>,
    /// Whether one of these is no corner and on no border: cloth hangs from it on all sides.
    pub inside: bool,
}

impl Windows {
    /// Finds what stands alone among the pins of a mesh and among other vertices that are held, and the passes around
    /// it.
    pub fn new(mesh: &Mesh, yarns: &Yarns, diagonals: &Diagonals, held: &[u32]) -> Self {
        if !Self::possible(yarns) || mesh.pins().is_empty() && held.is_empty() {
            return Self::default();
        }
        let vertices = yarns.longest() as usize + 1;
        let crossings = Crossings::new(mesh, yarns, held);
        let mut pins: Vec<u32> = mesh.pins().iter().chain(held).copied().collect();
        pins.sort_unstable();
        pins.dedup();
        pins.retain(|pin| crossings.stands_alone(*pin));
        if pins.is_empty() {
            return Self::default();
        }
        let inside = pins.iter().any(|pin| crossings.is_inside(*pin));
        let mut windows = Self { around: pins, inside, ..Self::default() };
        windows.find(&crossings, None, vertices / SHARE, vertices >= THOROUGH);
        windows.plain = windows.passes.len() as u32;
        if diagonals.pay() {
            windows.turns.push(Turn { yarns: windows.plain..windows.plain, ..Turn::default() });
            windows.find(&crossings, Some(diagonals), vertices / SHEARED_SHARE, true);
        }
        let passes = windows.passes.len().max(windows.diagonal_passes.len());
        if passes > MOST_PASSES { Self::default() } else { windows }
    }

    /// Whether they solve springs again around all of so many pins and holds.
    pub(crate) fn cover(&self, pins: usize) -> bool {
        !self.diagonal_passes.is_empty() && self.around.len() == pins
    }

    /// Whether yarns cross, and are long enough for windows.
    pub(crate) fn possible(yarns: &Yarns) -> bool {
        yarns.families.len() > 1 && yarns.longest() as usize + 1 >= SHARE * RADIUS
    }

    /// Pieces of yarns and of diagonals that there is to be room for, if these are the windows of the mesh alone: those
    /// of a few more pins of woven cloth.
    pub(crate) fn room(&self, yarns: &Yarns, diagonals: &Diagonals) -> [usize; 2] {
        if !Self::possible(yarns) {
            return [0; 2];
        }
        // Windows of radii 4, 8 … n/4 have less than n pieces of a family together, and n/2 those up to n/8, beside the
        // small ones; a comb has n. A window of radius r has 4r + 1 diagonals of a family.
        let n = yarns.longest() as usize + 1;
        let each = if n >= THOROUGH { 7 * n } else { 5 * n };
        let sheared = if diagonals.pay() { HOLDS * (5 * n + 64) } else { 0 };
        [self.pieces.len() + HOLDS * (each + 160), self.diagonal_pieces.len() + sheared]
    }

    /// Passes with every kernel that windows may need, for those who prepare them.
    pub(crate) fn sample(diagonals: &Diagonals) -> Self {
        let pass = || vec![Pass { pieces: 0..1, held: 0 }];
        let turns = vec![Turn { diagonals: 0..1, yarns: 0..1 }];
        let (diagonal_passes, turns) = if diagonals.pay() { (pass(), turns) } else { Default::default() };
        let pieces = vec![Piece { yarn: 0, edges: 0..1 }];
        Self { pieces, passes: pass(), plain: 1, diagonal_passes, turns, ..Self::default() }
    }

    /// Adds the passes around pins up to a radius: those of windows that grow, of strips, and of windows that shrink.
    fn find(&mut self, crossings: &Crossings<'_>, diagonals: Option<&Diagonals>, largest: usize, thorough: bool) {
        let pins = self.around.clone();
        let forward: Vec<usize> = (0..crossings.yarns.families.len()).collect();
        let backward: Vec<usize> = forward.iter().rev().copied().collect();
        let (mut order, mut other) = (&forward, &backward);
        let window = |windows: &mut Self, radius: usize, order: &[usize]| {
            let marks = crossings.window(&pins, radius);
            if let Some(diagonals) = diagonals.filter(|_| radius >= SHEARED) {
                windows.turn(diagonals, &marks);
            }
            order.iter().for_each(|family| windows.add(crossings, crossings.pieces(*family, &marks)));
        };
        let again = thorough.then_some(RADIUS);
        let growing = std::iter::successors(Some(RADIUS), |radius| Some(2 * radius));
        for radius in again.into_iter().chain(growing.take_while(|radius| *radius <= largest)) {
            window(self, radius, order);
            std::mem::swap(&mut order, &mut other);
        }
        for family in order {
            self.add(crossings, crossings.strip(&pins, *family));
            if thorough {
                let marks = crossings.comb(&pins, *family);
                for crossing in forward.iter().filter(|crossing| *crossing != family) {
                    self.add(crossings, crossings.pieces(*crossing, &marks));
                }
            }
        }
        for radius in thorough.then_some(2 * RADIUS).into_iter().chain([RADIUS]) {
            window(self, radius, other);
        }
    }

    /// Adds a pass, unless there is nothing in it; several where too many of its pieces are of yarns between two pins.
    fn add(&mut self, crossings: &Crossings<'_>, pieces: Vec<Piece>) {
        let (held, free): (Vec<Piece>, Vec<Piece>) = pieces.into_iter().partition(|piece| crossings.held(piece));
        let mut chunks: Vec<&[Piece]> = held.chunks(GROUP).collect();
        let last = chunks.pop().unwrap_or_default();
        for (held, free) in chunks.into_iter().map(|held| (held, &[][..])).chain([(last, &free[..])]) {
            if !held.is_empty() || !free.is_empty() {
                let first = self.pieces.len() as u32;
                self.pieces.extend(held.iter().chain(free).cloned());
                self.passes.push(Pass { pieces: first..self.pieces.len() as u32, held: held.len() as u32 });
            }
        }
        if let Some(turn) = self.turns.last_mut() {
            turn.yarns.end = self.passes.len() as u32;
        }
    }

    /// Begins a turn with the diagonals of a window.
    fn turn(&mut self, diagonals: &Diagonals, marks: &[bool]) {
        let (begun, after) = (self.diagonal_passes.len() as u32, self.passes.len() as u32);
        for family in &diagonals.families {
            let first = self.diagonal_pieces.len() as u32;
            let lines = family.clone().map(|line| (line, diagonals.lines[line as usize].clone()));
            lines.for_each(|(line, links)| marked(line, links, &diagonals.links, marks, &mut self.diagonal_pieces));
            let pieces = first..self.diagonal_pieces.len() as u32;
            if !pieces.is_empty() {
                self.diagonal_passes.push(Pass { pieces, held: 0 });
            }
        }
        self.turns.push(Turn { diagonals: begun..self.diagonal_passes.len() as u32, yarns: after..after });
    }

    /// Vertices that all passes along yarns move together where springs are not solved along diagonals, counted as
    /// often as they are moved.
    pub fn work(&self) -> usize {
        let pieces = self.passes[..self.plain as usize].last().map_or(0, |pass| pass.pieces.end as usize);
        self.pieces[..pieces].iter().map(|piece| piece.edges.len() + 1).sum()
    }
}

/// Which yarns go through which vertices.
struct Crossings<'a> {
    yarns: &'a Yarns,
    pinned: Vec<bool>,
    /// Pinned or held.
    fixed: Vec<bool>,
    /// First of the `places` of each vertex, and one more.
    first: Vec<usize>,
    /// (yarn, place along it) of the vertices, one after another.
    places: Vec<(u32, usize)>,
    family_of: Vec<usize>,
}

impl<'a> Crossings<'a> {
    fn new(mesh: &Mesh, yarns: &'a Yarns, held: &[u32]) -> Self {
        let mut pinned = vec![false; mesh.vertex_count()];
        mesh.pins().iter().for_each(|pin| pinned[*pin as usize] = true);
        let mut fixed = pinned.clone();
        held.iter().for_each(|vertex| fixed[*vertex as usize] = true);
        let mut family_of = vec![0; yarns.yarns.len()];
        for (family, range) in yarns.families.iter().enumerate() {
            family_of[range.start as usize..range.end as usize].fill(family);
        }
        let first = vec![0; mesh.vertex_count() + 1];
        let mut found = Self { yarns, pinned, fixed, first, places: Vec::new(), family_of };
        let all: Vec<(usize, u32, usize)> = (0..yarns.yarns.len())
            .flat_map(|yarn| (0..found.place_count(yarn)).map(move |place| (yarn, place)))
            .map(|(yarn, place)| (found.vertex(yarn, place), yarn as u32, place))
            .collect();
        for (vertex, _, _) in &all {
            found.first[vertex + 1] += 1;
        }
        for vertex in 0..mesh.vertex_count() {
            found.first[vertex + 1] += found.first[vertex];
        }
        let mut next = found.first.clone();
        found.places = vec![(0, 0); all.len()];
        for (vertex, yarn, place) in all {
            found.places[next[vertex]] = (yarn, place);
            next[vertex] += 1;
        }
        found
    }

    /// Number of different vertices along a yarn.
    fn place_count(&self, yarn: usize) -> usize {
        let yarn = &self.yarns.yarns[yarn];
        yarn.edges.len() + usize::from(!yarn.closed)
    }

    fn vertex(&self, yarn: usize, place: usize) -> usize {
        let edges = &self.yarns.yarns[yarn].edges;
        let edge = edges.start as usize + place;
        if edge < edges.end as usize {
            self.yarns.edges[edge].tail as usize
        } else {
            self.yarns.edges[edge - 1].head as usize
        }
    }

    fn places(&self, vertex: usize) -> &[(u32, usize)] {
        &self.places[self.first[vertex]..self.first[vertex + 1]]
    }

    /// Calls for the vertices of a yarn that are at most `radius` places away.
    fn near(&self, (yarn, place): (u32, usize), radius: usize, mut each: impl FnMut(usize)) {
        let (yarn, count) = (yarn as usize, self.place_count(yarn as usize));
        if self.yarns.yarns[yarn].closed {
            let radius = radius.min(count);
            (0..=2 * radius).for_each(|step| each(self.vertex(yarn, (place + count - radius + step) % count)));
        } else {
            (place.saturating_sub(radius)..=(place + radius).min(count - 1))
                .for_each(|place| each(self.vertex(yarn, place)));
        }
    }

    /// Whether a piece belongs to a yarn whose ends are both pinned.
    fn held(&self, piece: &Piece) -> bool {
        let (yarn, places) = (piece.yarn as usize, self.place_count(piece.yarn as usize));
        let pinned = |place| self.pinned[self.vertex(yarn, place)];
        !self.yarns.yarns[yarn].closed && pinned(0) && pinned(places - 1)
    }

    fn stands_alone(&self, pin: u32) -> bool {
        let places = self.places(pin as usize);
        let crossed =
            places.iter().any(|(yarn, _)| self.family_of[*yarn as usize] != self.family_of[places[0].0 as usize]);
        let mut alone = crossed;
        for place in places {
            self.near(*place, 1, |vertex| alone &= vertex == pin as usize || !self.fixed[vertex]);
        }
        alone
    }

    /// Whether at least four edges leave a vertex along yarns.
    fn is_inside(&self, pin: u32) -> bool {
        let leaving = |(yarn, place): &(u32, usize)| {
            let (closed, count) = (self.yarns.yarns[*yarn as usize].closed, self.place_count(*yarn as usize));
            if closed { 2 } else { usize::from(*place > 0) + usize::from(place + 1 < count) }
        };
        self.places(pin as usize).iter().map(leaving).sum::<usize>() >= 4
    }

    /// All that is at most so many places away, along one family and then along another.
    fn window(&self, pins: &[u32], radius: usize) -> Vec<bool> {
        let mut marks = vec![false; self.pinned.len()];
        for pin in pins {
            for place in self.places(*pin as usize) {
                self.near(*place, radius, |vertex| {
                    self.places(vertex).iter().for_each(|place| self.near(*place, radius, |found| marks[found] = true));
                });
            }
        }
        marks
    }

    /// What is beside the yarns of a family that go through pins.
    fn comb(&self, pins: &[u32], family: usize) -> Vec<bool> {
        let mut marks = vec![false; self.pinned.len()];
        for pin in pins {
            for (yarn, _) in
                self.places(*pin as usize).iter().filter(|(yarn, _)| self.family_of[*yarn as usize] == family)
            {
                for place in 0..self.place_count(*yarn as usize) {
                    let crossing =
                        self.places(self.vertex(*yarn as usize, place)).iter().filter(|(other, _)| other != yarn);
                    crossing.for_each(|place| self.near(*place, TEETH, |found| marks[found] = true));
                }
            }
        }
        marks
    }

    /// The whole yarns of a family through pins and their neighbors.
    fn strip(&self, pins: &[u32], family: usize) -> Vec<Piece> {
        let mut found = Vec::new();
        for pin in pins {
            for place in self.places(*pin as usize) {
                self.near(*place, 1, |vertex| found.extend(self.places(vertex).iter().map(|(yarn, _)| *yarn)));
            }
        }
        found.retain(|yarn| self.family_of[*yarn as usize] == family);
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|yarn| Piece { yarn, edges: self.yarns.yarns[yarn as usize].edges.clone() }).collect()
    }

    /// The pieces of a family's yarns that are marked from end to end.
    fn pieces(&self, family: usize, marks: &[bool]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for yarn in self.yarns.families[family].clone() {
            let Yarn { edges, closed } = self.yarns.yarns[yarn as usize].clone();
            let first = pieces.len();
            marked(yarn, edges.clone(), &self.yarns.edges, marks, &mut pieces);
            // Where a closed yarn starts and ends, two pieces would share a vertex.
            if closed && pieces.len() > first + 1 && pieces[first].edges.start == edges.start {
                let last = pieces.len() - 1;
                pieces[last].edges.end = pieces[last].edges.end.min(edges.end - 1);
                pieces.retain(|piece| !piece.edges.is_empty());
            }
        }
        pieces
    }
}

impl Pass {
    /// Edges of its longest piece.
    pub(crate) fn longest(&self, pieces: &[Piece]) -> u32 {
        let pieces = &pieces[self.pieces.start as usize..self.pieces.end as usize];
        pieces.iter().map(|piece| piece.edges.len() as u32).max().unwrap_or(0)
    }
}

/// Adds the pieces of a line that are marked from end to end.
fn marked(yarn: u32, edges: Range<u32>, links: &[Link], marks: &[bool], pieces: &mut Vec<Piece>) {
    let inside = |edge: u32| {
        let link = &links[edge as usize];
        marks[link.tail as usize] && marks[link.head as usize]
    };
    let mut edge = edges.start;
    while edge < edges.end {
        let end = (edge..edges.end).find(|edge| !inside(*edge)).unwrap_or(edges.end);
        if end > edge {
            pieces.push(Piece { yarn, edges: edge..end });
        }
        edge = end.max(edge + 1);
    }
}
