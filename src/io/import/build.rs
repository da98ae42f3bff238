//! From the vertices and faces of a file to particles and what is drawn.

use std::collections::BTreeMap;

use glam::DVec3;

use super::pair::pair;
use super::raw::{Raw, RawFace};
use super::weld::weld;
use super::{DroppedFace, ImportReport, Imported, Options, Place, RenderMesh, Warp, fault};
use crate::error::{Error, Result};
use crate::mesh::FARTHEST;
use crate::mesh::{Face, Mesh, MeshDescriptor, Weave};

/// Shortest distance of two vertices of a face or line \[m\]; [`Mesh::new`] refuses shorter edges.
const SHORTEST: f32 = 1e-18;
/// A face is degenerate if twice its area is below this part of its longest side squared: the rounding of 32-bit
/// coordinates, with room.
const FLATTEST: f64 = 1e-6;
/// Members of all groups together, per particle. A file of few bytes can put every vertex into any number of groups.
const MOST_MEMBERSHIPS: usize = 64;
const NONE: u32 = u32::MAX;

/// A face of the mesh to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Welded vertices, each by the first of them; the last repeats the third in a triangle.
    pub(super) vertices: [u32; 4],
    /// What is drawn, likewise.
    pub(super) corners: [u32; 4],
    pub(super) quad: bool,
    pub(super) face: RawFace,
    pub(super) sets: [u32; 2],
}

impl Piece {
    pub(super) fn vertices(&self) -> &[u32] {
        &self.vertices[..if self.quad { 4 } else { 3 }]
    }

    fn dropped(&self, raw: &Raw) -> DroppedFace {
        DroppedFace { face: self.face.index as usize, place: raw.place(self.face.place) }
    }
}

pub(super) fn build(mut raw: Raw, options: &Options) -> Result<Imported> {
    place(&mut raw, options)?;
    let roots = weld(&raw.positions, options.weld);
    let mut report = ImportReport {
        vertices: raw.positions.len(),
        split: raw.split,
        degenerate: std::mem::take(&mut raw.degenerate),
        textured: raw.textured,
        ..Default::default()
    };
    let mut pieces = pieces(&raw, &roots, &mut report);
    drop_duplicates(&raw, &mut pieces, &mut report);
    let point = |vertex: u32| point(&raw, vertex);
    if options.pair_triangles {
        let bits = |corner: u32| raw.corners[corner as usize].uv.map(f32::to_bits);
        report.paired = pair(&mut pieces, point, |a, b| !raw.textured || bits(a) == bits(b));
    }
    let mut lines = Vec::with_capacity(raw.lines.len());
    for line in &raw.lines {
        let ends = line.ends.map(|end| roots[end as usize]);
        if apart(&raw, ends[0], ends[1]) { lines.push((ends, line.sets)) } else { report.dropped_lines += 1 }
    }

    let particle_of = number(&raw, &roots, &pieces, &lines, &mut report)?;
    let particle = |vertex: u32| particle_of[roots[vertex as usize] as usize];
    let mut positions = vec![[0.0; 3]; report.particles];
    let mut colors = vec![[0.0; 4]; if raw.colors.is_empty() { 0 } else { report.particles }];
    for (vertex, &number) in particle_of.iter().enumerate().filter(|(_, number)| **number != NONE) {
        positions[number as usize] = raw.positions[vertex];
        if let Some(color) = colors.get_mut(number as usize) {
            *color = raw.colors[vertex];
        }
    }
    let faces: Vec<Face> = pieces.iter().map(|piece| face(piece.quad, piece.vertices.map(particle))).collect();
    let lines: Vec<([u32; 2], [u32; 2])> = lines.into_iter().map(|(ends, sets)| (ends.map(particle), sets)).collect();
    (report.faces, report.lines) = (faces.len(), lines.len());
    report.quads = pieces.iter().filter(|piece| piece.quad).count();
    report.non_manifold = non_manifold(&faces);
    report.components = components(&faces, &lines, report.particles);
    let groups = groups(&raw, &pieces, &faces, &lines, report.particles)?;
    let render = render(&raw, &pieces, particle);
    let particles = roots.iter().map(|root| particle_of[*root as usize]);
    let particles: Vec<Option<u32>> = particles.map(|number| (number != NONE).then_some(number)).collect();
    let lines = lines.into_iter().map(|(ends, _)| ends).collect();
    let weave = weave(&raw, &pieces, options.warp, &mut report)?;
    let descriptor = MeshDescriptor { positions, faces, lines, groups, weave, ..Default::default() };
    check(&raw, &particle_of, &descriptor)?;
    let colors = (!raw.colors.is_empty()).then_some(colors);
    Ok(Imported { descriptor, render, colors, particles, report })
}

/// Where the warp of the triangles runs; nowhere if there are none.
fn weave(raw: &Raw, pieces: &[Piece], warp: Warp, report: &mut ImportReport) -> Result<Option<Weave>> {
    report.warp = match warp {
        Warp::Auto if raw.textured => Warp::Uv,
        Warp::Auto => Warp::Sides,
        Warp::Uv if !raw.textured => {
            return Err(fault(Place::File, "it has no texture coordinates for the warp to follow"));
        }
        other => other,
    };
    let weave = match report.warp {
        Warp::Off => None,
        Warp::Along(direction) => Some(Weave::Along(direction)),
        Warp::Uv => Some(Weave::PerFace(pieces.iter().map(|piece| along_texture(raw, piece)).collect())),
        Warp::Auto | Warp::Sides => Some(Weave::Sides),
    };
    let triangles = pieces.iter().filter(|piece| !piece.quad).count();
    report.woven = if weave.is_some() { triangles } else { 0 };
    Ok(weave.filter(|_| triangles > 0))
}

/// ∂x/∂u of a triangle.
fn along_texture(raw: &Raw, piece: &Piece) -> [f32; 3] {
    let [a, b, c, _] = piece.corners.map(|corner| raw.corners[corner as usize].uv.map(f64::from));
    let [p, q, r, _] = piece.vertices.map(|vertex| point(raw, vertex));
    let (first, second) = ([b[0] - a[0], b[1] - a[1]], [c[0] - a[0], c[1] - a[1]]);
    // Of the sign of the triangle's area in the texture; its size does not matter.
    let mirrored = (first[0] * second[1] - first[1] * second[0]).signum();
    let direction = (mirrored * (second[1] * (q - p) - first[1] * (r - p))).normalize_or_zero();
    if direction == DVec3::ZERO { [1.0, 0.0, 0.0] } else { direction.to_array().map(|part| part as f32) }
}

/// Coordinates in metres, with +Y up.
fn place(raw: &mut Raw, options: &Options) -> Result<()> {
    for (index, position) in raw.positions.iter_mut().enumerate() {
        *position = options.up.turned(position.map(|coordinate| coordinate * options.scale));
        // The bounds of `Mesh`.
        if !position.iter().all(|coordinate| coordinate.abs() <= FARTHEST) {
            let at = raw.places[index];
            let place = if raw.text { Place::Line(at) } else { Place::Byte(at) };
            return Err(fault(place, format!("vertex {index} is not finite, or beyond ±2⁴⁰ m")));
        }
    }
    Ok(())
}

fn point(raw: &Raw, vertex: u32) -> DVec3 {
    DVec3::from_array(raw.positions[vertex as usize].map(f64::from))
}

fn apart(raw: &Raw, a: u32, b: u32) -> bool {
    a != b && point(raw, a).distance(point(raw, b)) as f32 >= SHORTEST
}

/// The faces with welded vertices, without those that have no area.
fn pieces(raw: &Raw, roots: &[u32], report: &mut ImportReport) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(raw.faces.len());
    for face in &raw.faces {
        let root = |corner: u32| roots[raw.corners[corner as usize].vertex as usize];
        let vertices = face.corners.map(root);
        let mut piece = Piece { vertices, corners: face.corners, quad: face.quad, face: *face, sets: face.sets };
        if piece.quad && collapse(&mut piece) {
            report.collapsed += 1;
        }
        if has_area(raw, &piece) { pieces.push(piece) } else { report.degenerate.push(piece.dropped(raw)) }
    }
    // Those with too few corners were first.
    report.degenerate.sort_by_key(|dropped| dropped.face);
    pieces
}

/// Makes a triangle of a quad with two neighboring corners in one place.
fn collapse(piece: &mut Piece) -> bool {
    let [a, b, c, d] = piece.vertices;
    let kept = match () {
        () if a == b => [0, 2, 3],
        () if b == c => [0, 1, 3],
        () if c == d || d == a => [0, 1, 2],
        () => return false,
    };
    let pick = |list: [u32; 4]| [list[kept[0]], list[kept[1]], list[kept[2]], list[kept[2]]];
    (piece.vertices, piece.corners, piece.quad) = (pick(piece.vertices), pick(piece.corners), false);
    true
}

fn has_area(raw: &Raw, piece: &Piece) -> bool {
    let vertices = piece.vertices();
    for (place, a) in vertices.iter().enumerate() {
        if !vertices[..place].iter().all(|b| apart(raw, *a, *b)) {
            return false;
        }
    }
    let points = piece.vertices.map(|vertex| point(raw, vertex));
    let [a, b, c, d] = points;
    let twice = if piece.quad { (c - a).cross(d - b) } else { (b - a).cross(c - a) };
    let longest = (0..4).map(|place| points[place].distance_squared(points[(place + 1) % 4])).fold(0.0, f64::max);
    twice.length() > FLATTEST * longest
}

fn drop_duplicates(raw: &Raw, pieces: &mut Vec<Piece>, report: &mut ImportReport) {
    let mut keys: Vec<([u32; 4], u32)> = Vec::with_capacity(pieces.len());
    for (index, piece) in (0..).zip(pieces.iter()) {
        let mut key = [NONE; 4];
        key[..piece.vertices().len()].copy_from_slice(piece.vertices());
        key.sort_unstable();
        keys.push((key, index));
    }
    keys.sort_unstable();
    let mut again = vec![false; pieces.len()];
    for same in keys.chunk_by(|a, b| a.0 == b.0) {
        for (_, index) in &same[1..] {
            again[*index as usize] = true;
        }
    }
    let mut index = 0;
    pieces.retain(|piece| {
        index += 1;
        if again[index - 1] {
            report.duplicate.push(piece.dropped(raw));
        }
        !again[index - 1]
    });
}

/// The particle of each first of welded vertices; none for others and for those that nothing uses.
fn number(
    raw: &Raw,
    roots: &[u32],
    pieces: &[Piece],
    lines: &[([u32; 2], [u32; 2])],
    report: &mut ImportReport,
) -> Result<Vec<u32>> {
    let mut particle_of = vec![NONE; roots.len()];
    for vertex in pieces.iter().flat_map(Piece::vertices).chain(lines.iter().flat_map(|(ends, _)| ends)) {
        particle_of[*vertex as usize] = 0;
    }
    let mut count = 0;
    for number in particle_of.iter_mut().filter(|number| **number != NONE) {
        *number = count;
        count += 1;
    }
    if count == 0 {
        let dropped = report.degenerate.len() + report.duplicate.len() + report.dropped_lines;
        let place = report.degenerate.first().map_or(Place::File, |dropped| dropped.place);
        let what = if dropped == 0 { "there is no face and no line" } else { "no face has an area, no line a length" };
        return Err(fault(place, what));
    }
    report.particles = count as usize;
    for (vertex, root) in roots.iter().enumerate() {
        let used = particle_of[*root as usize] != NONE;
        report.loose += usize::from(!used);
        report.welded += usize::from(used && *root != vertex as u32);
    }
    debug_assert_eq!(raw.positions.len(), report.particles + report.loose + report.welded);
    Ok(particle_of)
}

fn face(quad: bool, vertices: [u32; 4]) -> Face {
    let [a, b, c, _] = vertices;
    if quad { Face::Quad(vertices) } else { Face::Triangle([a, b, c]) }
}

fn sides(face: &Face) -> impl Iterator<Item = [u32; 2]> + '_ {
    let vertices = face.vertices();
    let following = vertices.iter().cycle().skip(1);
    vertices.iter().zip(following).map(|(a, b)| [*a.min(b), *a.max(b)])
}

fn non_manifold(faces: &[Face]) -> Vec<[u32; 2]> {
    let mut edges: Vec<[u32; 2]> = faces.iter().flat_map(sides).collect();
    edges.sort_unstable();
    edges.chunk_by(|a, b| a == b).filter(|same| same.len() > 2).map(|same| same[0]).collect()
}

fn components(faces: &[Face], lines: &[([u32; 2], [u32; 2])], count: usize) -> usize {
    let mut parents: Vec<u32> = (0..count as u32).collect();
    let mut root = |mut vertex: u32, join: Option<u32>| {
        while parents[vertex as usize] != vertex {
            parents[vertex as usize] = parents[parents[vertex as usize] as usize];
            vertex = parents[vertex as usize];
        }
        if let Some(other) = join {
            parents[vertex as usize] = other;
        }
        vertex
    };
    let mut count = count;
    for [a, b] in faces.iter().flat_map(sides).chain(lines.iter().map(|(ends, _)| *ends)) {
        let (a, b) = (root(a, None), root(b, None));
        if a != b {
            root(a.max(b), Some(a.min(b)));
            count -= 1;
        }
    }
    count
}

fn groups(
    raw: &Raw,
    pieces: &[Piece],
    faces: &[Face],
    lines: &[([u32; 2], [u32; 2])],
    particles: usize,
) -> Result<BTreeMap<String, Vec<u32>>> {
    let of_faces = pieces.iter().zip(faces).map(|(piece, face)| (piece.sets, face.vertices()));
    let of_lines = lines.iter().map(|(ends, sets)| (*sets, &ends[..]));
    let mut members: Vec<(u32, u32)> = Vec::new();
    for (sets, vertices) in of_faces.chain(of_lines) {
        // The first set is empty.
        for set in sets.into_iter().filter(|set| *set != 0) {
            members.extend(vertices.iter().map(|vertex| (set, *vertex)));
        }
    }
    members.sort_unstable();
    members.dedup();
    let mut groups: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut room = particles.saturating_mul(MOST_MEMBERSHIPS);
    for same in members.chunk_by(|a, b| a.0 == b.0) {
        let (names, at) = &raw.sets[same[0].0 as usize];
        let needed = names.len().saturating_mul(same.len());
        let Some(left) = room.checked_sub(needed) else {
            let reason = format!("the groups have more than {MOST_MEMBERSHIPS} members per vertex");
            return Err(fault(raw.place(*at), reason));
        };
        room = left;
        for name in names {
            let group = groups.entry(raw.names[*name as usize].clone()).or_default();
            group.extend(same.iter().map(|(_, vertex)| vertex));
        }
    }
    for group in groups.values_mut() {
        group.sort_unstable();
        group.dedup();
    }
    Ok(groups)
}

/// The corners of the faces that are left, in the order of the file.
fn render(raw: &Raw, pieces: &[Piece], particle: impl Fn(u32) -> u32) -> RenderMesh {
    let mut number = vec![NONE; raw.corners.len()];
    for piece in pieces {
        piece.corners.iter().for_each(|corner| number[*corner as usize] = 0);
    }
    let mut render = RenderMesh::default();
    for (number, corner) in number.iter_mut().zip(&raw.corners).filter(|(number, _)| **number != NONE) {
        *number = render.particle_of.len() as u32;
        render.particle_of.push(particle(corner.vertex));
        if raw.textured {
            render.uvs.push(corner.uv);
        }
    }
    for piece in pieces {
        let vertices = piece.corners.map(|corner| number[corner as usize]);
        let [a, b, c, d] = vertices;
        render.faces.push(face(piece.quad, vertices));
        render.triangles.push([a, b, c]);
        if piece.quad {
            render.triangles.push([a, c, d]);
        }
    }
    render
}

/// Makes sure that the mesh is accepted, or says where in the file it would not be.
fn check(raw: &Raw, particle_of: &[u32], descriptor: &MeshDescriptor) -> Result<()> {
    let Err(error) = Mesh::new(descriptor.clone()) else { return Ok(()) };
    let vertex = match &error {
        Error::MasslessVertex { index } => Some(*index),
        Error::OutOfRange { index, .. } => *index,
        Error::ZeroLengthEdge { a, .. } => Some(*a as usize),
        _ => None,
    };
    let first = vertex.and_then(|vertex| particle_of.iter().position(|number| *number as usize == vertex));
    let place = first.map_or(Place::File, |first| raw.place(raw.places[first]));
    Err(fault(place, error.to_string()))
}
