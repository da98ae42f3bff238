//! Yarns of all kinds of meshes, and the line solve against f64.

use taut::yarns::Yarns;
use taut::{Face, Mass, Mesh, MeshDescriptor, Result};

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
