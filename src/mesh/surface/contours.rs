//! What kinds of tangles there are: contours, and the regions that they cut off.
//!
//! Two triangles that pass through each other share a segment, whose ends are crossings of an edge of one with the
//! other. Segments with a common crossing follow each other: a **contour**. It is closed, or it ends: where a border of
//! the cloth goes through a layer, or at a vertex that both triangles have in common. On the cloth it is a cut through
//! every edge that it crosses, and flooding what is left from vertex to vertex gives **regions** (Baraff, Witkin & Kass
//! 2003, *Untangling cloth*): the corner that came through a layer is one, and the layer, in which the cut only is a
//! slit, is not divided.

use std::collections::BTreeMap;

use super::{Crossing, Surface, edge, precise};
use crate::error::Result;

/// A line along which the cloth passes through itself.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Contour {
    /// Number of crossings on it.
    pub crossings: usize,
    /// The first of them.
    pub first: Crossing,
    /// How often it ends, at a border or at a common vertex of two triangles; 0 where it is closed.
    pub ends: usize,
    /// Regions beside it but for the largest of every connected piece of the cloth, the largest of these first: what is
    /// on the wrong side, if the smaller side is. Empty where it only cuts slits, or where less than a vertex is cut
    /// off.
    pub cut_off: Vec<Region>,
}

impl Contour {
    /// Whether it has no end.
    pub fn is_closed(&self) -> bool {
        self.ends == 0
    }
}

/// Connected vertices between contours.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Region {
    /// Its vertices, sorted.
    pub vertices: Vec<u32>,
    /// A third of the areas of the triangles around them \[m²\].
    pub area: f64,
    /// The same as a part of its connected piece. Near a half nobody can tell which side is the wrong one.
    pub part: f64,
}

impl Surface {
    /// The contours along which the cloth passes through itself at these positions, those with most crossings first.
    ///
    /// All contours cut at once, so that a region ends where any of them is; an edge that is crossed twice is not cut.
    /// It takes little more time than [`Surface::crossings`].
    ///
    /// # Errors
    /// As [`Surface::count_crossings`].
    pub fn contours(&self, positions: &[[f32; 3]]) -> Result<Vec<Contour>> {
        let crossings = self.crossings(positions)?;
        if crossings.is_empty() {
            return Ok(Vec::new());
        }
        let mut faces: BTreeMap<[u32; 2], Vec<u32>> = BTreeMap::new();
        let mut numbers = BTreeMap::new();
        for (number, triangle) in (0..).zip(&self.triangles) {
            numbers.insert(*triangle, number);
            (0..3).for_each(|corner| faces.entry(edge(triangle, corner)).or_default().push(number));
        }
        // Crossings by the pairs of triangles whose segments they end.
        let mut segments: BTreeMap<[u32; 2], Vec<usize>> = BTreeMap::new();
        let mut ends = vec![0; crossings.len()];
        for (index, crossing) in crossings.iter().enumerate() {
            let other = numbers[&crossing.triangle];
            let beside = &faces[&crossing.edge];
            ends[index] += usize::from(beside.len() == 1);
            for &face in beside {
                segments.entry([face.min(other), face.max(other)]).or_default().push(index);
            }
        }
        let mut lines = Groups::new(crossings.len());
        for found in segments.values() {
            found.iter().for_each(|index| lines.join(found[0], *index));
            ends[found[0]] += usize::from(found.len() == 1);
        }
        let regions = Regions::new(self, positions, &crossings, faces.keys());
        let mut contours: BTreeMap<usize, (Contour, Vec<usize>)> = BTreeMap::new();
        for (index, crossing) in crossings.iter().enumerate() {
            let empty = || (Contour { crossings: 0, first: *crossing, ends: 0, cut_off: Vec::new() }, Vec::new());
            let (contour, beside) = contours.entry(lines.of(index)).or_insert_with(empty);
            contour.crossings += 1;
            contour.ends += ends[index];
            beside.extend(crossing.edge.map(|end| regions.of[end as usize]));
        }
        let mut contours: Vec<Contour> = contours
            .into_values()
            .map(|(contour, beside)| Contour { cut_off: regions.cut_off(beside), ..contour })
            .collect();
        contours.sort_by_key(|contour| (usize::MAX - contour.crossings, contour.first));
        Ok(contours)
    }
}

/// Elements that belong together, each group by its lowest.
struct Groups(Vec<usize>);

impl Groups {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn of(&mut self, mut element: usize) -> usize {
        while self.0[element] != element {
            self.0[element] = self.0[self.0[element]];
            element = self.0[element];
        }
        element
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        self.0[one.max(other)] = one.min(other);
    }
}

/// All regions.
struct Regions {
    /// That of every vertex, by its lowest one.
    of: Vec<usize>,
    /// Connected piece of every vertex, by its lowest one.
    pieces: Vec<usize>,
    /// Vertices and area of every region, by its lowest vertex.
    all: BTreeMap<usize, (Vec<u32>, f64)>,
    /// Area of every piece \[m²\], by its lowest vertex.
    areas: BTreeMap<usize, f64>,
}

impl Regions {
    fn new<'a>(
        surface: &Surface,
        positions: &[[f32; 3]],
        crossings: &[Crossing],
        edges: impl Iterator<Item = &'a [u32; 2]>,
    ) -> Self {
        let mut times: BTreeMap<[u32; 2], usize> = BTreeMap::new();
        crossings.iter().for_each(|crossing| *times.entry(crossing.edge).or_default() += 1);
        let (mut whole, mut cut) = (Groups::new(surface.vertex_count), Groups::new(surface.vertex_count));
        for edge in edges {
            let [a, b] = edge.map(|end| end as usize);
            whole.join(a, b);
            if times.get(edge).is_none_or(|times| times % 2 == 0) {
                cut.join(a, b);
            }
        }
        let mut around = vec![0.0; surface.vertex_count];
        for triangle in &surface.triangles {
            let [a, b, c] = precise(positions, *triangle);
            let third = (b - a).cross(c - a).length() / 6.0;
            triangle.iter().for_each(|corner| around[*corner as usize] += third);
        }
        let of: Vec<usize> = (0..surface.vertex_count).map(|vertex| cut.of(vertex)).collect();
        let pieces: Vec<usize> = (0..surface.vertex_count).map(|vertex| whole.of(vertex)).collect();
        let (mut all, mut areas) = (BTreeMap::<usize, (Vec<u32>, f64)>::new(), BTreeMap::new());
        for (vertex, area) in around.into_iter().enumerate() {
            let (vertices, sum) = all.entry(of[vertex]).or_default();
            vertices.push(vertex as u32);
            *sum += area;
            *areas.entry(pieces[vertex]).or_insert(0.0) += area;
        }
        Self { of, pieces, all, areas }
    }

    /// Those of these regions that are not the largest of their piece, the largest first.
    fn cut_off(&self, mut beside: Vec<usize>) -> Vec<Region> {
        beside.sort_unstable();
        beside.dedup();
        // By piece, then by area: the last of a piece is its largest.
        let by_area = |a: &usize, b: &usize| self.all[a].1.total_cmp(&self.all[b].1);
        beside.sort_by(|a, b| self.pieces[*a].cmp(&self.pieces[*b]).then(by_area(a, b)));
        let smaller = beside.windows(2).filter(|both| self.pieces[both[0]] == self.pieces[both[1]]);
        let mut found: Vec<Region> = smaller
            .map(|both| {
                let (vertices, area) = self.all[&both[0]].clone();
                Region { vertices, area, part: area / self.areas[&self.pieces[both[0]]].max(f64::MIN_POSITIVE) }
            })
            .collect();
        found.sort_by(|a, b| b.area.total_cmp(&a.area));
        found
    }
}
