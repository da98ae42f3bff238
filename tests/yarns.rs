//! Yarns of all kinds of meshes, and the line solve against f64.

mod common;

use common::*;
use taut::mesh::yarns::Yarns;
use taut::{
    Cloth, Face, FastProjection, Mass, Mesh, MeshDescriptor, Method, Preconditioner, Result, Scene, Settings, Substeps,
    Weave, YarnSweep, scene,
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

/// A yarn of `count` edges of length 1/count with the given vertices; `pins` at its ends, closed or not.
fn yarn(points: &[[f32; 3]], pins: Vec<u32>, closed: bool) -> Scene {
    let count = if closed { points.len() } else { points.len() - 1 };
    let rest = 1.0 / count as f32;
    let lines: Vec<[u32; 2]> = (0..count).map(|k| [k as u32, ((k + 1) % points.len()) as u32]).collect();
    let overrides = lines
        .iter()
        .map(|ends| taut::EdgeOverride { ends: *ends, kind: taut::EdgeKind::Inextensible, rest: Some(rest) })
        .collect();
    let mass = Mass::PerVertex((0..points.len()).map(|k| 1.0 + 0.5 * (k % 3) as f32).collect());
    let positions = points.to_vec();
    let descriptor = MeshDescriptor { positions, lines, mass, pins, overrides, ..Default::default() };
    Scene::new("yarn", Mesh::new(descriptor).unwrap(), points.to_vec())
}

/// Positions after one exact Newton step on C = |d| − l in f64, by a dense solve.
fn exact(scene: &Scene) -> Vec<[f64; 3]> {
    let points: Vec<[f64; 3]> = scene.start.iter().map(|p| p.map(f64::from)).collect();
    let w: Vec<f64> = scene.mesh.inverse_masses().iter().map(|w| f64::from(*w)).collect();
    let edges = scene.mesh.edges();
    let n = edges.len();
    let minus = |a: [f64; 3], b: [f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let mut directions = Vec::new();
    let mut right = Vec::new();
    for edge in edges {
        let d = minus(points[edge.head as usize], points[edge.tail as usize]);
        let length = dot(d, d).sqrt();
        directions.push(d.map(|x| x / length));
        right.push(length - f64::from(edge.rest));
    }
    let mut matrix = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..n {
            for (vertex, sign) in [(edges[i].tail, -1.0), (edges[i].head, 1.0)] {
                for (other, other_sign) in [(edges[j].tail, -1.0), (edges[j].head, 1.0)] {
                    if vertex == other {
                        matrix[i][j] += sign * other_sign * w[vertex as usize] * dot(directions[i], directions[j]);
                    }
                }
            }
        }
    }
    // Gaussian elimination with pivoting: small, dense, and nobody's code but its own.
    for column in 0..n {
        let pivot = (column..n).max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs())).unwrap();
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        for row in column + 1..n {
            let factor = matrix[row][column] / matrix[column][column];
            for k in column..n {
                matrix[row][k] -= factor * matrix[column][k];
            }
            right[row] -= factor * right[column];
        }
    }
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|k| matrix[row][k] * right[k]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    let mut moved = points.clone();
    for (e, edge) in edges.iter().enumerate() {
        for axis in 0..3 {
            moved[edge.tail as usize][axis] += w[edge.tail as usize] * directions[e][axis] * right[e];
            moved[edge.head as usize][axis] -= w[edge.head as usize] * directions[e][axis] * right[e];
        }
    }
    moved
}

/// One sweep over a chain is one exact line solve; its largest error as a part of the largest motion.
fn error_of_one_solve(make: &dyn Fn(Scene, Settings) -> Cloth, scene: &Scene) -> f64 {
    let settings = Settings {
        gravity: [0.0; 3],
        substeps: Substeps::Fixed(1),
        strain_limit: 1e-3,
        method: Method::YarnSweep(YarnSweep { sweeps: 1, step_clamp: 10.0, slack: 0.0, ..Default::default() }),
        ..Default::default()
    };
    let mut cloth = make(scene.clone(), settings);
    cloth.step(&frame(FRAME)).unwrap();
    let found = cloth.snapshot().unwrap().positions;
    let (mut error, mut motion) = (0.0f64, 0.0f64);
    for ((found, expected), start) in found.iter().zip(exact(scene)).zip(&scene.start) {
        for axis in 0..3 {
            error = error.max((f64::from(found[axis]) - expected[axis]).abs());
            motion = motion.max((expected[axis] - f64::from(start[axis])).abs());
        }
    }
    // Positions of about 1 m are rounded to 6e-8 m, whatever the solve does.
    (error - 1.2e-7).max(0.0) / motion
}

#[test]
fn the_line_solve_is_exact_on_yarns_of_every_kind() {
    let gpu = gpu();
    let random = |k: usize, salt: f32| ((k as f32 * 12.9898 + salt) * 43_758.547).sin();
    for count in [1usize, 2, 5, 16, 17, 33, 70, 200] {
        let at = |k: usize| k as f32 / count as f32;
        let taut: Vec<[f32; 3]> = (0..=count).map(|k| [1.05 * at(k), 0.001 * random(k, 1.0), 0.0]).collect();
        let wavy: Vec<[f32; 3]> =
            (0..=count).map(|k| [at(k), 0.03 * (9.0 * at(k)).sin(), 0.01 * (5.0 * at(k)).cos()]).collect();
        let step = 1.0 / count as f32;
        let mut crumpled = vec![[0.0f32; 3]];
        for k in 0..count {
            let [x, y, z] = crumpled[k];
            crumpled.push([x + step * random(k, 2.0), y + step * random(k, 3.0), z + step * random(k, 4.0)]);
        }
        let ring: Vec<[f32; 3]> = (0..count.max(3))
            .map(|k| {
                let angle = k as f32 / count.max(3) as f32 * std::f32::consts::TAU;
                [0.17 * angle.cos(), 0.17 * angle.sin(), 0.02 * (3.0 * angle).sin()]
            })
            .collect();
        let ends = vec![0, count as u32];
        // Bounds on the error relative to the motion: rounding (6e-8) times the condition of a string, about 1.6 m² for
        // a taut one and far less for the others. A row fixed at both ends is softer still: its condition is that of
        // its sag.
        let string = 2e-7 * (10.0 + (count * count) as f64);
        let mut cases = vec![
            ("taut", yarn(&taut, vec![0], false), string),
            ("wavy", yarn(&wavy, vec![0], false), string),
            ("crumpled", yarn(&crumpled, vec![0], false), 1e-4),
            ("free", yarn(&wavy, vec![], false), string),
            ("closed", yarn(&ring, vec![], true), string),
        ];
        if count > 2 {
            cases.push(("both ends pinned", yarn(&wavy, ends, false), string));
        }
        for (kind, scene, bound) in cases {
            let here = error_of_one_solve(&cpu, &scene);
            assert!(here < bound, "{kind}, {count} edges: {here:e} on the CPU, {bound:e} allowed");
            if let Some(gpu) = &gpu {
                let on_gpu = |scene: Scene, settings| Cloth::on_gpu(gpu, scene.with_settings(settings)).unwrap();
                let there = error_of_one_solve(&on_gpu, &scene);
                assert!(there < bound, "{kind}, {count} edges: {there:e} on the GPU, {bound:e} allowed");
            }
        }
    }
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
