//! Yarns of all kinds of meshes. The line solve along them is among the known figures
//! (`src/validate/figures/lines.rs`).

mod common;

use common::*;
use taut::mesh::yarns::Yarns;
use taut::{
    Face, FastProjection, Mass, Mesh, MeshDescriptor, Method, Preconditioner, Result, Scene, Settings, Weave, scene,
};

/// Checks what every mesh's yarns must satisfy; returns (families, yarns, closed yarns, longest).
fn check(mesh: &Mesh) -> (usize, usize, usize, u32) {
    let yarns = Yarns::new(mesh);
    assert_eq!(yarns, Yarns::new(mesh), "not deterministic");
    // Every edge once, with its own length.
    let mut seen = vec![0; mesh.edge_count()];
    for (edge, canonical) in yarns.edges.iter().zip(&yarns.canonical) {
        seen[*canonical as usize] += 1;
        let original = mesh.edges()[*canonical as usize];
        assert_eq!(edge.rest, original.rest);
        assert_eq!([edge.tail.min(edge.head), edge.tail.max(edge.head)], [original.tail, original.head]);
    }
    assert!(seen.iter().all(|times| *times == 1));
    // Chains without gaps, in order, all of them.
    let mut next = 0;
    for yarn in &yarns.yarns {
        assert_eq!(yarn.edges.start, next);
        next = yarn.edges.end;
        let edges = &yarns.edges[yarn.edges.start as usize..yarn.edges.end as usize];
        assert!(edges.windows(2).all(|pair| pair[0].head == pair[1].tail));
        assert_eq!(yarn.closed, edges.len() > 1 && edges[0].tail == edges[edges.len() - 1].head);
        // None crosses itself.
        let mut heads: Vec<u32> = edges.iter().map(|edge| edge.head).collect();
        heads.sort_unstable();
        heads.dedup();
        assert_eq!(heads.len(), edges.len());
        assert!(yarn.closed || edges.iter().all(|edge| edge.head != edges[0].tail));
    }
    assert_eq!(next as usize, mesh.edge_count());
    // Yarns of one family share no vertex.
    let mut covered = 0;
    for family in &yarns.families {
        assert_eq!(family.start, covered);
        covered = family.end;
        let mut owner = vec![u32::MAX; mesh.vertex_count()];
        for index in family.clone() {
            let yarn = &yarns.yarns[index as usize];
            let edges = &yarns.edges[yarn.edges.start as usize..yarn.edges.end as usize];
            for vertex in edges.iter().flat_map(|edge| [edge.tail, edge.head]) {
                let other = std::mem::replace(&mut owner[vertex as usize], index);
                assert!(other == u32::MAX || other == index, "yarns {other} and {index} meet at vertex {vertex}");
            }
        }
    }
    assert_eq!(covered as usize, yarns.yarns.len());
    let closed = yarns.yarns.iter().filter(|yarn| yarn.closed).count();
    (yarns.families.len(), yarns.yarns.len(), closed, yarns.longest())
}

fn mesh(positions: Vec<[f32; 3]>, faces: Vec<Face>) -> Result<Mesh> {
    let mass = Mass::PerVertex(vec![1.0; positions.len()]);
    Mesh::new(MeshDescriptor { positions, faces, mass, ..Default::default() })
}

/// A grid of columns × rows vertices, closed along x if `wrapped`; `renumber` permutes the vertices.
fn woven(columns: u32, rows: u32, wrapped: bool, renumber: impl Fn(u32) -> u32) -> Result<Mesh> {
    let mut positions = vec![[0.0; 3]; (columns * rows) as usize];
    for y in 0..rows {
        for x in 0..columns {
            let angle = x as f32 / columns as f32 * std::f32::consts::TAU;
            let around = [angle.cos(), y as f32 * 0.3, angle.sin()];
            let flat = [x as f32, y as f32, 0.0];
            positions[renumber(y * columns + x) as usize] = if wrapped { around } else { flat };
        }
    }
    let mut faces = Vec::new();
    for y in 0..rows - 1 {
        for x in 0..if wrapped { columns } else { columns - 1 } {
            let at = |x: u32, y: u32| renumber(y * columns + x % columns);
            faces.push(Face::Quad([at(x, y), at(x + 1, y), at(x + 1, y + 1), at(x, y + 1)]));
        }
    }
    mesh(positions, faces)
}

#[test]
fn a_grid_has_warp_and_weft() -> Result<()> {
    assert_eq!(check(&woven(7, 5, false, |v| v)?), (2, 12, 0, 6));
    assert_eq!(check(&woven(71, 71, false, |v| v)?), (2, 142, 0, 70));
    // In any numbering: 35 vertices, multiplied by 12 modulo 35.
    assert_eq!(check(&woven(7, 5, false, |v| v * 12 % 35)?), (2, 12, 0, 6));
    assert_eq!(check(&woven(2, 2, false, |v| v)?), (2, 4, 0, 1));
    Ok(())
}

#[test]
fn a_yarn_that_would_cross_itself_ends() -> Result<()> {
    // A cone: the side x = 0 of a sheet is sewn to its side y = 0, so row j goes on as column j and meets itself at (j,
    // j).
    let n = 7u32;
    let id = |x: u32, y: u32| if x == 0 { y * n } else { x * n + y };
    let mut used = vec![u32::MAX; (n * n) as usize];
    let (mut positions, mut faces) = (Vec::new(), Vec::new());
    for x in 0..n - 1 {
        for y in 0..n - 1 {
            if x == 0 && y == 0 {
                continue;
            }
            let corners = [(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)].map(|(x, y)| {
                let number = &mut used[id(x, y) as usize];
                if *number == u32::MAX {
                    *number = positions.len() as u32;
                    positions.push([x as f32, y as f32, 0.1 * (x * y) as f32]);
                }
                *number
            });
            faces.push(Face::Quad(corners));
        }
    }
    let (families, yarns, ..) = check(&mesh(positions, faces)?);
    assert!(families >= 2 && yarns > n as usize);
    Ok(())
}

#[test]
fn no_edge_is_lost_where_a_yarn_crosses_itself_behind_its_smallest_edge() -> Result<()> {
    let mut random = Random(1);
    let mut accepted = 0;
    for _ in 0..2000 {
        let count = 5 + random.below(8);
        let positions = (0..count).map(|_| [0; 3].map(|_: u8| random.within(0.0, 1.0) as f32)).collect();
        let faces = (0..2 + random.below(8)).map(|_| {
            let mut vertices: Vec<u32> = (0..count as u32).collect();
            random.shuffle(&mut vertices);
            let [a, b, c, d, ..] = vertices[..] else { unreachable!("there are more than four") };
            if random.below(2) == 0 { Face::Triangle([a, b, c]) } else { Face::Quad([a, b, c, d]) }
        });
        let faces: Vec<Face> = faces.collect();
        let weave = (random.below(2) == 0).then_some(Weave::Sides);
        let mass = Mass::PerVertex(vec![1.0; count]);
        // The same face twice is refused.
        if let Ok(mesh) = Mesh::new(MeshDescriptor { positions, faces, mass, weave, ..Default::default() }) {
            check(&mesh);
            accepted += 1;
        }
    }
    assert!(accepted > 1000, "{accepted}");
    // Where it was found.
    let positions = vec![[1.0, 3.0, 0.0], [1.0, 1.0, 2.0], [1.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 0.0, 0.001]];
    let faces = vec![Face::Triangle([0, 1, 3]), Face::Quad([2, 0, 1, 3]), Face::Triangle([2, 0, 4])];
    let mass = Mass::PerVertex(vec![1.0; 5]);
    check(&Mesh::new(MeshDescriptor { positions, faces, mass, weave: Some(Weave::Sides), ..Default::default() })?);
    Ok(())
}

#[test]
fn a_tube_has_closed_yarns() -> Result<()> {
    // Six rings of eight edges and eight straight yarns of five.
    assert_eq!(check(&woven(8, 6, true, |v| v)?), (2, 14, 6, 8));
    assert_eq!(check(&woven(7, 6, true, |v| v * 5 % 42)?), (2, 13, 6, 7));
    Ok(())
}

#[test]
fn a_disc_ends_its_yarns_at_the_irregular_center() -> Result<()> {
    // Five diamonds around vertex 0, and a second ring of quads around them.
    let sectors = 5u32;
    let point = |angle: f32, radius: f32| [radius * angle.cos(), radius * angle.sin(), 0.0];
    let step = std::f32::consts::TAU / (2 * sectors) as f32;
    let mut positions = vec![[0.0; 3]];
    for k in 0..2 * sectors {
        positions.push(point(k as f32 * step, if k % 2 == 0 { 1.0 } else { 1.4 }));
    }
    for k in 0..2 * sectors {
        positions.push(point(k as f32 * step, 2.5));
    }
    let rim = |k: u32| 1 + k % (2 * sectors);
    let outer = |k: u32| 1 + 2 * sectors + k % (2 * sectors);
    let mut faces: Vec<Face> =
        (0..sectors).map(|k| Face::Quad([0, rim(2 * k), rim(2 * k + 1), rim(2 * k + 2)])).collect();
    faces.extend((0..2 * sectors).map(|k| Face::Quad([rim(k), outer(k), outer(k + 1), rim(k + 1)])));
    let disc = mesh(positions, faces)?;
    let (families, yarns, _, _) = check(&disc);
    // Five yarns end at the center and need five families; the ring around it crosses all five.
    assert_eq!(families, 6);
    assert!(yarns > 5);
    Ok(())
}

#[test]
fn a_shirt_is_woven_piece_by_piece() -> Result<()> {
    // A trunk (tube) and two sleeves (tubes), apart, and a collar strip: four woven pieces in one mesh.
    let pieces =
        [woven(12, 9, true, |v| v)?, woven(8, 6, true, |v| v)?, woven(8, 6, true, |v| v)?, woven(10, 3, false, |v| v)?];
    let (mut positions, mut faces) = (Vec::new(), Vec::new());
    for (number, piece) in pieces.iter().enumerate() {
        let base = positions.len() as u32;
        positions.extend(piece.positions().iter().map(|[x, y, z]| [x + 20.0 * number as f32, *y, *z]));
        for face in piece.faces() {
            let Face::Quad(quad) = *face else { continue };
            faces.push(Face::Quad(quad.map(|vertex| vertex + base)));
        }
    }
    let (families, yarns, closed, longest) = check(&mesh(positions, faces)?);
    assert_eq!((families, yarns, closed, longest), (2, 21 + 14 + 14 + 13, 9 + 6 + 6, 12));
    Ok(())
}

/// A trunk (tube) with two armholes of 2 × 2 quads, and a sleeve of five rings sewn to each. The corners of an armhole
/// are irregular (five quads); through the middle of its sides yarns of the trunk go on along the sleeve.
#[test]
fn a_shirt_is_woven_through_its_armholes() -> Result<()> {
    const COLUMNS: u32 = 16;
    const ROWS: u32 = 9;
    let (mut positions, mut faces) = (Vec::new(), Vec::new());
    let mut trunk = vec![0; (COLUMNS * ROWS) as usize];
    // Columns where the armholes begin; both are in rows 3 to 5.
    let holes = [2, 10];
    let at = |row: u32, column: u32| (row * COLUMNS + column % COLUMNS) as usize;
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            // The vertex in the middle of a hole is not there.
            if row == 4 && holes.contains(&(column.wrapping_sub(1))) {
                continue;
            }
            let angle = column as f32 / COLUMNS as f32 * std::f32::consts::TAU;
            trunk[at(row, column)] = positions.len() as u32;
            positions.push([angle.cos(), 0.2 * row as f32, angle.sin()]);
        }
    }
    for row in 0..ROWS - 1 {
        for column in 0..COLUMNS {
            if (3..5).contains(&row) && holes.iter().any(|hole| (*hole..hole + 2).contains(&column)) {
                continue;
            }
            let corners = [(row, column), (row, column + 1), (row + 1, column + 1), (row + 1, column)];
            faces.push(Face::Quad(corners.map(|(row, column)| trunk[at(row, column)])));
        }
    }
    for hole in holes {
        let around = [(3, 0), (3, 1), (3, 2), (4, 2), (5, 2), (5, 1), (5, 0), (4, 0)];
        let mut ring = around.map(|(row, column)| trunk[at(row, hole + column)]);
        for number in 1..5 {
            let base = positions.len() as u32;
            for vertex in around.map(|(row, column)| trunk[at(row, hole + column)]) {
                let [x, y, z] = positions[vertex as usize];
                let out = 1.0 + 0.3 * number as f32;
                positions.push([out * x, y, out * z]);
            }
            let next: [u32; 8] = std::array::from_fn(|k| base + k as u32);
            // Seen from outside of the trunk the other way round than a hole's border.
            faces.extend((0..8).map(|k| Face::Quad([ring[(k + 1) % 8], ring[k], next[k], next[(k + 1) % 8]])));
            ring = next;
        }
    }
    let (families, yarns, closed, longest) = check(&mesh(positions, faces)?);
    // Rings of the trunk: six whole ones, two that are cut at four corners, two pieces between the sleeves. Columns:
    // ten whole ones, four cut at two corners each, two that become four pieces with a part of a sleeve. Sleeves: four
    // rings and four rows from the corners each.
    assert_eq!((yarns, closed, longest), (6 + 8 + 2 + 10 + 12 + 4 + 2 * (4 + 4), 6 + 2 * 4, COLUMNS));
    // Five yarns end at a corner.
    assert_eq!(families, 5);
    Ok(())
}

#[test]
fn triangles_and_chains_are_covered_too() -> Result<()> {
    // A fan: every edge is a yarn of its own or goes along the rim.
    let positions: Vec<[f32; 3]> =
        (0..7).map(|k| if k == 0 { [0.0; 3] } else { [(k as f32).cos(), (k as f32).sin(), 0.0] }).collect();
    let faces = (1..6).map(|k| Face::Triangle([0, k, k + 1])).collect();
    check(&mesh(positions, faces)?);
    let positions: Vec<[f32; 3]> = (0..9).map(|k| [k as f32, 0.0, 0.0]).collect();
    let mass = Mass::PerVertex(vec![1.0; 9]);
    let lines = (1..9).map(|k| [k - 1, k]).collect();
    let chain = Mesh::new(MeshDescriptor { positions, lines, mass, ..Default::default() })?;
    assert_eq!(check(&chain), (1, 1, 0, 8));
    // A ring of lines closes.
    let positions: Vec<[f32; 3]> = (0..6).map(|k| [(k as f32).cos(), (k as f32).sin(), 0.0]).collect();
    let mass = Mass::PerVertex(vec![1.0; 6]);
    let lines = (0..6).map(|k| [k, (k + 1) % 6]).collect();
    let ring = Mesh::new(MeshDescriptor { positions, lines, mass, ..Default::default() })?;
    assert_eq!(check(&ring), (1, 1, 1, 6));
    Ok(())
}

#[test]
fn lines_precondition_and_a_chain_needs_one_iteration() {
    let run = |scene: Scene, preconditioner: Preconditioner| {
        let method = Method::FastProjection(FastProjection { preconditioner, tolerance: 1e-2, ..Default::default() });
        let mut cloth = cpu(scene, Settings { method, ..Default::default() });
        let (mut outer, mut inner) = (0, 0);
        for _ in 0..30 {
            cloth.step(&frame(FRAME)).unwrap();
            let report = cloth.snapshot().unwrap().report;
            assert_eq!(report.converged, Some(true));
            outer += report.iterations;
            inner += report.inner_iterations;
        }
        f64::from(inner) / f64::from(outer)
    };
    assert_eq!(run(scene::chain(32).unwrap(), Preconditioner::Lines), 1.0, "exact for a chain");
    for (name, scene) in [("curtain", scene::curtain(32).unwrap()), ("hang", scene::hang(32).unwrap())] {
        let (lines, jacobi) = (run(scene.clone(), Preconditioner::Lines), run(scene, Preconditioner::Jacobi));
        assert!(lines <= 4.0, "{name}: {lines} iterations per solve");
        assert!(jacobi >= 8.0 * lines, "{name}: {jacobi} with the diagonal, {lines} with lines");
    }
}

/// An elastic seam or a slit between quads does not cut the yarns that cross it.
#[test]
fn a_seam_of_springs_cuts_no_yarn() {
    let sheet = scene::sheet(5).expect("a known scene");
    let seam = taut::EdgeOverride { ends: [11, 12], kind: taut::EdgeKind::Free, rest: None };
    let mesh = Mesh::new(MeshDescriptor {
        positions: sheet.start.clone(),
        faces: sheet.mesh.faces().to_vec(),
        overrides: vec![seam],
        ..Default::default()
    })
    .expect("the sheet is valid");
    let lengths = |mesh: &Mesh| {
        let mut lengths: Vec<u32> =
            Yarns::new(mesh).yarns.iter().map(|yarn| yarn.edges.end - yarn.edges.start).collect();
        lengths.sort_unstable();
        lengths
    };
    assert_eq!(lengths(&sheet.mesh), [4; 10]);
    // Nine yarns are as long as before; the one with the gap is two.
    assert_eq!(lengths(&mesh), [1, 2, 4, 4, 4, 4, 4, 4, 4, 4, 4]);
}
