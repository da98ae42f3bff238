//! What a cloth's mesh says about its drawing.

use glam::Vec3;

use crate::error::{Error, Result};
use crate::mesh::Mesh;
use crate::mesh::topology::Incidence;

/// How thick lines, pins and rods are, as parts of the cloth's extent.
const LINE: f32 = 0.008;
const PIN: f32 = 0.013;
const ROD: f32 = 0.005;
/// About how many repeats of the pattern there are along the cloth.
const REPEATS: f32 = 10.0;

/// What a cloth's mesh says about its drawing; made once, for GPU and CPU alike.
#[derive(Clone, Debug)]
pub struct Fabric {
    vertex_count: usize,
    /// Radius of a pin.
    pin: f32,
    /// The vertex that each vertex that is drawn follows; `None` where they are the same.
    followed: Option<Vec<u32>>,
    /// Material coordinates of what is drawn, in repeats of the pattern.
    coordinates: Vec<[f32; 2]>,
    /// Of vertices that are drawn.
    triangles: Vec<[u32; 3]>,
    /// The edges at each vertex: `count + 1` places, then pairs of the other end and the bits of the rest length.
    incidence: Vec<u32>,
    /// Lines of the mesh, then rods and pins.
    rods: Vec<Rod>,
    line_count: usize,
}

/// A thick line between two vertices; a ball if they are one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rod {
    pub(crate) tail: u32,
    pub(crate) head: u32,
    pub(crate) radius: f32,
}

impl Fabric {
    /// For a mesh. Its material coordinates are those of its rest shape in its own plane; of a rest shape that is not
    /// flat in the plane that it faces most. The pattern repeats about ten times along its longest side.
    pub fn new(mesh: &Mesh) -> Self {
        let triangles = mesh.triangles();
        let positions = mesh.positions();
        let (low, high) = bounds(positions);
        let extent = (high - low).length();
        let longest = (high - low).max_element();
        let mut fabric = Self {
            vertex_count: mesh.vertex_count(),
            pin: PIN * extent,
            followed: None,
            coordinates: flattened(positions, &triangles, round_number(longest / REPEATS)),
            incidence: incidence(mesh),
            triangles,
            rods: Vec::new(),
            line_count: 0,
        };
        fabric.rods = mesh.lines().iter().map(|&[tail, head]| Rod { tail, head, radius: LINE * extent }).collect();
        fabric.line_count = fabric.rods.len();
        fabric.rods.extend(pins(mesh, extent));
        fabric
    }

    /// With material coordinates of the caller's own, one per vertex, in units of which `repeat` make one repeat of the
    /// pattern: UVs of a texture with a `repeat` of 0.1, say.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`], [`Error::NotFinite`], and [`Error::OutOfRange`] for the repeat.
    pub fn with_coordinates(mut self, coordinates: &[[f32; 2]], repeat: f32) -> Result<Self> {
        let (expected, found) = (self.coordinates.len(), coordinates.len());
        if expected != found {
            return Err(Error::LengthMismatch { field: "coordinates", expected, found });
        }
        self.coordinates = repeated(coordinates, repeat)?;
        Ok(self)
    }

    /// With texture coordinates that jump at seams, in units as for [`Fabric::with_coordinates`]. There are more
    /// vertices to be drawn than the mesh has, then: each has coordinates and follows a vertex of the mesh, and
    /// triangles are between those that are drawn, as many as the mesh has. `RenderMesh` of `taut::io::import` is made
    /// for this.
    ///
    /// # Errors
    ///
    /// As [`Fabric::with_coordinates`], and [`Error::IndexOutOfRange`].
    pub fn with_texture(
        self,
        followed: &[u32],
        coordinates: &[[f32; 2]],
        triangles: &[[u32; 3]],
        repeat: f32,
    ) -> Result<Self> {
        let lengths =
            [("coordinates", followed.len(), coordinates.len()), ("triangles", self.triangles.len(), triangles.len())];
        for (field, expected, found) in lengths {
            if expected != found {
                return Err(Error::LengthMismatch { field, expected, found });
            }
        }
        check_indices("followed", followed, self.vertex_count)?;
        check_indices("triangles", triangles.as_flattened(), followed.len())?;
        let coordinates = repeated(coordinates, repeat)?;
        Ok(Self { followed: Some(followed.to_vec()), coordinates, triangles: triangles.to_vec(), ..self })
    }

    /// With pins besides those of the mesh: vertices that somebody holds.
    ///
    /// # Errors
    ///
    /// [`Error::IndexOutOfRange`].
    pub fn with_pins(mut self, vertices: &[u32]) -> Result<Self> {
        check_indices("pins", vertices, self.vertex_count)?;
        let radius = self.pin;
        self.rods.extend(vertices.iter().map(|pin| Rod { tail: *pin, head: *pin, radius }));
        Ok(self)
    }

    /// How many vertices the mesh has.
    pub fn vertex_count(&self) -> usize {
        self.vertex_count
    }

    /// The vertex that each vertex that is drawn follows; `None` where they are the same.
    pub(crate) fn followed(&self) -> Option<&[u32]> {
        self.followed.as_deref()
    }

    /// The vertex of the mesh that one that is drawn follows.
    pub(crate) fn source(&self, drawn: usize) -> usize {
        self.followed.as_ref().map_or(drawn, |followed| followed[drawn] as usize)
    }

    pub(crate) fn coordinates(&self) -> &[[f32; 2]] {
        &self.coordinates
    }

    pub(crate) fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    pub(crate) fn incidence(&self) -> &[u32] {
        &self.incidence
    }

    pub(crate) fn rods(&self) -> &[Rod] {
        &self.rods
    }

    /// How many of the rods are lines of the mesh; they come first.
    pub(crate) fn line_count(&self) -> usize {
        self.line_count
    }

    /// Whether there are as many positions as vertices, all of them finite.
    pub(crate) fn check(&self, positions: &[[f32; 3]]) -> Result<()> {
        let (expected, found) = (self.vertex_count(), positions.len());
        if expected != found {
            return Err(Error::LengthMismatch { field: "positions", expected, found });
        }
        crate::io::check_finite(positions)
    }

    /// The largest strain of the edges at each vertex, as `measure_strain` of `render.wgsl` has it.
    pub(crate) fn strains(&self, positions: &[[f32; 3]], [low, high]: [f32; 2]) -> Vec<f32> {
        let strain = |vertex: usize| {
            let (first, end) = (self.incidence[vertex] as usize, self.incidence[vertex + 1] as usize);
            self.incidence[first..end].chunks_exact(2).fold(0.0_f32, |most, pair| {
                let reach = Vec3::from(positions[pair[0] as usize]) - Vec3::from(positions[vertex]);
                let stretch = reach.length() / f32::from_bits(pair[1]);
                most.max((stretch - stretch.clamp(low, high)).abs())
            })
        };
        (0..positions.len()).map(strain).collect()
    }

    /// Unit normals, area-weighted, as [`crate::stage::normals`] has them; zero where a vertex has no triangle.
    pub(crate) fn normals(&self, positions: &[[f32; 3]]) -> Vec<Vec3> {
        let mut normals = vec![Vec3::ZERO; positions.len()];
        for triangle in &self.triangles {
            let corners = triangle.map(|vertex| self.source(vertex as usize));
            let [a, b, c] = corners.map(|vertex| Vec3::from(positions[vertex]));
            for vertex in corners {
                normals[vertex] += (b - a).cross(c - a);
            }
        }
        for normal in &mut normals {
            *normal = normal.normalize_or_zero();
        }
        normals
    }
}

pub(crate) fn bounds(positions: &[[f32; 3]]) -> (Vec3, Vec3) {
    let wider = |(low, high): (Vec3, Vec3), point: &[f32; 3]| (low.min((*point).into()), high.max((*point).into()));
    positions.iter().fold((Vec3::INFINITY, Vec3::NEG_INFINITY), wider)
}

/// Coordinates in repeats of the pattern.
fn repeated(coordinates: &[[f32; 2]], repeat: f32) -> Result<Vec<[f32; 2]>> {
    if let Some(index) = coordinates.iter().position(|[u, v]| !(u.is_finite() && v.is_finite())) {
        return Err(Error::NotFinite { field: "coordinates", index });
    }
    if !(repeat > 0.0 && repeat.is_finite()) {
        let (value, expected) = (repeat.into(), "finite and above zero");
        return Err(Error::OutOfRange { field: "repeat", index: None, value, expected });
    }
    Ok(coordinates.iter().map(|[u, v]| [u / repeat, v / repeat]).collect())
}

fn check_indices(field: &'static str, indices: &[u32], count: usize) -> Result<()> {
    match indices.iter().position(|index| *index as usize >= count) {
        Some(index) => Err(Error::IndexOutOfRange { field, index, value: indices[index], count }),
        None => Ok(()),
    }
}

/// The nearest of 1, 2, 5, 10 … below, times a power of ten.
fn round_number(value: f32) -> f32 {
    if !(value.is_finite() && value > 1e-12) {
        return 1.0;
    }
    // A little above, so that a tenth of 1 m is 0.1 m whatever the rounding.
    let power = 10.0_f32.powf((value * 1.001).log10().floor());
    let lead = value * 1.001 / power;
    power * [5.0, 2.0, 1.0].into_iter().find(|step| lead >= *step).unwrap_or(1.0)
}

/// Coordinates in the plane that a surface lies in, or faces most, over `unit`.
fn flattened(positions: &[[f32; 3]], triangles: &[[u32; 3]], unit: f32) -> Vec<[f32; 2]> {
    let (mut sum, mut absolute) = (Vec3::ZERO, Vec3::ZERO);
    for triangle in triangles {
        let [a, b, c] = triangle.map(|vertex| Vec3::from(positions[vertex as usize]));
        let area = (b - a).cross(c - a);
        sum += area;
        absolute += area.abs();
    }
    // Where the normals cancel, as on a tube, the axis that most of them lie along.
    let normal = if sum.length() > 0.5 * absolute.length() {
        sum.normalize()
    } else {
        [Vec3::X, Vec3::Y, Vec3::Z]
            .into_iter()
            .max_by(|one, other| absolute.dot(*one).total_cmp(&absolute.dot(*other)))
            .unwrap_or(Vec3::Y)
    };
    // u along x where that is possible, along z otherwise.
    let axis = if normal.x.abs() < 0.9 { Vec3::X } else { Vec3::Z };
    let u = (axis - normal * axis.dot(normal)).normalize_or(Vec3::X);
    let v = normal.cross(u);
    positions.iter().map(|point| [u, v].map(|axis| axis.dot((*point).into()) / unit)).collect()
}

fn incidence(mesh: &Mesh) -> Vec<u32> {
    let mut entries = Vec::with_capacity(2 * mesh.edge_count());
    for edge in mesh.edges() {
        entries.extend([(edge.tail, [edge.head, edge.rest.to_bits()]), (edge.head, [edge.tail, edge.rest.to_bits()])]);
    }
    Incidence::of_words(mesh.vertex_count(), &entries, 2)
}

/// Rods along edges between two pins, balls on pins without such an edge.
fn pins(mesh: &Mesh, extent: f32) -> Vec<Rod> {
    let mut lonely = vec![false; mesh.vertex_count()];
    for pin in mesh.pins() {
        lonely[*pin as usize] = true;
    }
    let pinned = lonely.clone();
    let mut rods = Vec::new();
    for edge in mesh.edges() {
        if pinned[edge.tail as usize] && pinned[edge.head as usize] {
            rods.push(Rod { tail: edge.tail, head: edge.head, radius: ROD * extent });
            lonely[edge.tail as usize] = false;
            lonely[edge.head as usize] = false;
        }
    }
    let balls = mesh.pins().iter().filter(|pin| lonely[**pin as usize]);
    rods.extend(balls.map(|pin| Rod { tail: *pin, head: *pin, radius: PIN * extent }));
    rods
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene;

    #[test]
    fn material_coordinates_are_metres_in_the_plane_of_the_sheet() {
        for scene in [scene::curtain(11).unwrap(), scene::flag(11).unwrap()] {
            let fabric = Fabric::new(&scene.mesh);
            let coordinates = fabric.coordinates();
            for edge in scene.mesh.edges() {
                let [a, b] = [edge.tail, edge.head].map(|vertex| coordinates[vertex as usize]);
                // One repeat is a tenth of a metre.
                let length = (a[0] - b[0]).hypot(a[1] - b[1]) * 0.1;
                assert!((length - edge.rest).abs() < 1e-6, "{}: {length} {}", scene.name, edge.rest);
            }
        }
    }

    #[test]
    fn a_stretched_edge_is_seen_at_both_its_ends() {
        let scene = scene::chain(5).unwrap();
        let fabric = Fabric::new(&scene.mesh);
        let mut positions = scene.start.clone();
        positions[4][0] += 0.005;
        let strains = fabric.strains(&positions, [1.0, 1.0]);
        assert!(strains[..3].iter().all(|strain| *strain < 1e-6));
        assert!(strains[3..].iter().all(|strain| (strain - 0.02).abs() < 1e-5), "{strains:?}");
        assert!(fabric.strains(&positions, [1.0, 1.03]).iter().all(|strain| *strain < 1e-6));
    }

    #[test]
    fn pins_become_rods_where_they_are_neighbors() {
        let rods = |scene: scene::Scene| Fabric::new(&scene.mesh).rods().to_vec();
        assert_eq!(rods(scene::curtain(6).unwrap()).len(), 5);
        let balls = rods(scene::hang(6).unwrap());
        assert_eq!(balls.iter().map(|ball| (ball.tail, ball.head)).collect::<Vec<_>>(), [(0, 0), (5, 5)]);
        let chain = Fabric::new(&scene::chain(6).unwrap().mesh);
        assert_eq!((chain.line_count(), chain.rods().len()), (5, 6));
    }

    #[test]
    fn round_numbers_are_not_above_and_not_far_below() {
        for (value, round) in [(0.1, 0.1), (0.09, 0.05), (0.3, 0.2), (7.0, 5.0), (0.0, 1.0)] {
            assert!((round_number(value) - round).abs() < 1e-6, "{value}: {}", round_number(value));
        }
    }

    #[test]
    fn coordinates_of_ones_own_are_checked() {
        let fabric = Fabric::new(&scene::sheet(2).unwrap().mesh);
        assert!(matches!(
            fabric.clone().with_coordinates(&[[0.0; 2]; 3], 0.1),
            Err(Error::LengthMismatch { expected: 4, found: 3, .. })
        ));
        assert!(fabric.clone().with_coordinates(&[[f32::NAN; 2]; 4], 0.1).is_err());
        assert!(fabric.clone().with_coordinates(&[[0.0; 2]; 4], 0.0).is_err());
        let own = fabric.with_coordinates(&[[1.0, 2.0]; 4], 0.5).unwrap();
        assert_eq!(own.coordinates()[0], [2.0, 4.0]);
    }

    #[test]
    fn a_texture_may_jump_where_the_mesh_does_not() {
        let sheet = scene::sheet(2).unwrap();
        let fabric = Fabric::new(&sheet.mesh);
        let normals = fabric.normals(&sheet.start);
        // The diagonal is a seam: two of the four vertices are drawn twice.
        let [one, other] = [fabric.triangles()[0], fabric.triangles()[1]];
        let followed = [one, other].concat();
        let triangles = [[0, 1, 2], [3, 4, 5]];
        let uvs = [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [5.0, 5.0], [6.0, 6.0], [6.0, 5.0]];
        let textured = fabric.clone().with_texture(&followed, &uvs, &triangles, 0.5).unwrap();
        assert_eq!((textured.vertex_count(), textured.coordinates().len()), (4, 6));
        assert_eq!(textured.coordinates()[3], [10.0, 10.0]);
        assert_eq!(textured.normals(&sheet.start), normals);
        let refused = |followed: &[u32], uvs: &[[f32; 2]], triangles: &[[u32; 3]]| {
            fabric.clone().with_texture(followed, uvs, triangles, 0.5).unwrap_err().to_string()
        };
        assert!(refused(&followed, &uvs[1..], &triangles).contains("coordinates"));
        assert!(refused(&followed, &uvs, &triangles[1..]).contains("triangles"));
        assert!(refused(&[4; 6], &uvs, &triangles).contains("followed"));
        assert!(refused(&followed, &uvs, &[[0, 1, 6]; 2]).contains("triangles"));
    }

    #[test]
    fn pins_of_somebody_are_balls() {
        let fabric = Fabric::new(&scene::sheet(3).unwrap().mesh);
        let pinned = fabric.clone().with_pins(&[4]).unwrap();
        assert_eq!(pinned.rods().iter().map(|ball| (ball.tail, ball.head)).collect::<Vec<_>>(), [(4, 4)]);
        assert!(pinned.rods()[0].radius > 0.0);
        assert!(fabric.with_pins(&[9]).is_err());
    }
}
