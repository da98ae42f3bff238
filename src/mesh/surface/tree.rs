//! Triangles by where they are: a balanced tree of boxes.
//!
//! It is made anew for every shape. Places at rest would do for most cloths, because what does not stretch stays
//! together, but not for pieces that lie in one place at rest.

use super::exact::Point;

/// Triangles per leaf, about.
const LEAF: usize = 4;

/// A box with its borders.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    low: Point,
    high: Point,
}

impl Bounds {
    /// Of nothing: it meets no other.
    const NONE: Self = Self { low: [f32::INFINITY; 3], high: [f32::NEG_INFINITY; 3] };

    pub(super) fn of<const COUNT: usize>(points: [Point; COUNT]) -> Self {
        points.into_iter().fold(Self::NONE, |bounds, point| bounds.with(Self { low: point, high: point }))
    }

    fn with(self, other: Self) -> Self {
        Self {
            low: std::array::from_fn(|axis| self.low[axis].min(other.low[axis])),
            high: std::array::from_fn(|axis| self.high[axis].max(other.high[axis])),
        }
    }

    pub(super) fn meets(&self, other: &Self) -> bool {
        (0..3).all(|axis| self.low[axis] <= other.high[axis] && other.low[axis] <= self.high[axis])
    }

    /// Square of the distance of two boxes \[m²\].
    pub(super) fn apart(&self, other: &Self) -> f64 {
        let gap = |axis: usize| {
            let above = f64::from(self.low[axis]) - f64::from(other.high[axis]);
            let below = f64::from(other.low[axis]) - f64::from(self.high[axis]);
            above.max(below).max(0.0)
        };
        gap(0).powi(2) + gap(1).powi(2) + gap(2).powi(2)
    }

    /// Twice its middle.
    fn middle(&self) -> Point {
        std::array::from_fn(|axis| self.low[axis] + self.high[axis])
    }

    /// The axis along which it is longest.
    fn longest(&self) -> usize {
        let [x, y, z] = std::array::from_fn(|axis| self.high[axis] - self.low[axis]);
        if x >= y.max(z) { 0 } else { 1 + usize::from(z > y) }
    }
}

/// A tree over triangles. Node 1 is the root, and 2k and 2k + 1 are below node k; all leaves are on one level.
#[derive(Debug)]
pub(super) struct Tree {
    /// Triangles and their boxes, those of a leaf together.
    order: Vec<(u32, Bounds)>,
    leaves: usize,
    nodes: Vec<Bounds>,
}

impl Tree {
    /// Over the boxes of triangles.
    pub(super) fn new(triangles: &[Bounds]) -> Self {
        let leaves = (triangles.len() / LEAF).max(1).next_power_of_two();
        let mut order: Vec<u32> = (0..triangles.len() as u32).collect();
        let mut tree = Self { order: Vec::new(), leaves, nodes: vec![Bounds::NONE; 2 * leaves] };
        // Level by level each node is cut along the axis on which the middles of its triangles are farthest apart.
        let mut level = 1;
        while level < leaves {
            for part in 0..level {
                let [from, to] = [part, part + 1].map(|part| share(triangles.len(), part, level));
                let cut = share(triangles.len(), 2 * part + 1, 2 * level);
                split(&mut order[from..to], cut - from, triangles);
            }
            level *= 2;
        }
        tree.order = order.into_iter().map(|triangle| (triangle, triangles[triangle as usize])).collect();
        for node in (1..2 * leaves).rev() {
            tree.nodes[node] = match node.checked_sub(leaves) {
                Some(leaf) => {
                    tree.order[tree.range(leaf)].iter().fold(Bounds::NONE, |bounds, (_, inside)| bounds.with(*inside))
                }
                None => tree.nodes[2 * node].with(tree.nodes[2 * node + 1]),
            };
        }
        tree
    }

    fn range(&self, leaf: usize) -> std::ops::Range<usize> {
        let [from, to] = [leaf, leaf + 1].map(|leaf| share(self.order.len(), leaf, self.leaves));
        from..to
    }

    /// Visits pairs of different triangles, each at most once, in an order that depends on the tree alone. Pairs are
    /// left out whose boxes, or boxes around those, `skips` refuses, and `visits` may end it by returning false.
    pub(super) fn pairs<State>(
        &self,
        state: &mut State,
        skips: impl Fn(&State, &Bounds, &Bounds) -> bool,
        mut visits: impl FnMut(&mut State, u32, u32) -> bool,
    ) {
        let mut left = vec![[1, 1]];
        while let Some([a, b]) = left.pop() {
            if a != b && skips(state, &self.nodes[a], &self.nodes[b]) {
                continue;
            }
            if a < self.leaves {
                // What is last comes first: near ones, which narrow the search for the nearest.
                left.extend((a != b).then_some([2 * a + 1, 2 * b]));
                left.extend([[2 * a, 2 * b + 1], [2 * a + 1, 2 * b + 1], [2 * a, 2 * b]]);
                continue;
            }
            let (first, second) = (self.range(a - self.leaves), self.range(b - self.leaves));
            for (index, (one, around)) in self.order[first].iter().enumerate() {
                // Within a leaf each pair once.
                let start = if a == b { second.start + index + 1 } else { second.start };
                for (two, around_two) in &self.order[start..second.end] {
                    if !skips(state, around, around_two) && !visits(state, *one, *two) {
                        return;
                    }
                }
            }
        }
    }
}

/// Where one of so many equal parts of a list begins; the product needs 64 bits also where lists do not.
fn share(length: usize, part: usize, parts: usize) -> usize {
    (length as u64 * part as u64 / parts as u64) as usize
}

/// Puts the `count` triangles first whose middles are least along the longest axis; those in one place by their number.
fn split(order: &mut [u32], count: usize, triangles: &[Bounds]) {
    if count == 0 || count >= order.len() {
        return;
    }
    let middle = |triangle: &u32| triangles[*triangle as usize].middle();
    let middles = order.iter().map(|triangle| Bounds::of([middle(triangle)]));
    let axis = middles.fold(Bounds::NONE, Bounds::with).longest();
    let by_place = |a: &u32, b: &u32| middle(a)[axis].total_cmp(&middle(b)[axis]).then(a.cmp(b));
    order.select_nth_unstable_by(count, by_place);
}
