//! Meshes, incidence, colors, pieces and scenes, in numbers.

use taut::mesh::Link;
use taut::mesh::coloring::{Clash, Coloring};
use taut::mesh::topology::{Incidence, Topology};
use taut::mesh::{EdgeKind, EdgeOverride, Face, Mass, Mesh, MeshDescriptor, Swatch};
use taut::scene::{self, Scene};
use taut::{Error, Result};

/// A grid over the given coordinates; vertex `z * xs.len() + x`.
fn grid(xs: &[f32], zs: &[f32]) -> MeshDescriptor {
    let width = xs.len() as u32;
    let mut faces = Vec::new();
    for z in 1..zs.len() as u32 {
        for x in 1..width {
            let corner = z * width + x;
            faces.push(Face::Quad([corner - width - 1, corner - width, corner, corner - 1]));
        }
    }
    let row = |&z: &f32| xs.iter().map(move |&x| [x, 0.0, z]);
    MeshDescriptor { positions: zs.iter().flat_map(row).collect(), faces, ..Default::default() }
}

fn unit_grid(size: u32) -> MeshDescriptor {
    let line: Vec<f32> = (0..size).map(|x| x as f32).collect();
    grid(&line, &line)
}

/// Gives vertex v the number `numbers[v]`.
fn renumber(descriptor: &MeshDescriptor, numbers: &[u32]) -> MeshDescriptor {
    let mut renumbered = descriptor.clone();
    for (vertex, &number) in numbers.iter().enumerate() {
        renumbered.positions[number as usize] = descriptor.positions[vertex];
    }
    for face in &mut renumbered.faces {
        let new: Vec<u32> = face.vertices().iter().map(|&v| numbers[v as usize]).collect();
        *face = match new[..] {
            [a, b, c] => [a, b, c].into(),
            [a, b, c, d] => [a, b, c, d].into(),
            _ => unreachable!("faces have three or four vertices"),
        };
    }
    renumbered
}

/// Numbers 0..count in an arbitrary but fixed order.
fn shuffled(count: usize) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count as u32).collect();
    let mut state = 1_u64;
    for last in (1..count).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        numbers.swap(last, (state >> 33) as usize % (last + 1));
    }
    numbers
}

fn total(masses: &[f32]) -> f64 {
    masses.iter().map(|&mass| f64::from(mass)).sum()
}

fn pairs(links: &[Link]) -> Vec<[u32; 2]> {
    links.iter().map(|link| [link.tail, link.head]).collect()
}

/// Colors, checks, and says how many colors and which largest degree there are.
fn colors(vertex_count: usize, links: &[Link]) -> (usize, usize) {
    let coloring = Coloring::new(vertex_count, links);
    assert_eq!(coloring.check(vertex_count, links), Ok(()));
    for range in &coloring.ranges {
        let edges = &coloring.colored_edges[range.start as usize..range.end as usize];
        assert!(edges.is_sorted(), "a color is not ascending");
    }
    assert_eq!(coloring, Coloring::new(vertex_count, links), "not deterministic");
    let mut degrees = vec![0; vertex_count];
    for link in links {
        degrees[link.tail as usize] += 1;
        degrees[link.head as usize] += 1;
    }
    (coloring.color_count(), degrees.into_iter().max().unwrap_or(0))
}

fn mesh_colors(descriptor: MeshDescriptor) -> Result<(usize, usize)> {
    let mesh = Mesh::new(descriptor)?;
    Ok(colors(mesh.vertex_count(), mesh.edges()))
}

/// Links between the given pairs, in canonical order.
fn graph(pairs: impl IntoIterator<Item = [u32; 2]>) -> Vec<Link> {
    let link = |[a, b]: [u32; 2]| Link { tail: a.min(b), head: a.max(b), rest: 1.0, stiffness: 0.0 };
    let mut links: Vec<Link> = pairs.into_iter().map(link).collect();
    links.sort_by_key(|link| (link.tail, link.head));
    links
}

/// Quads around a center in which `sectors` grids of `size` × `size` quads meet: a disc whose
/// center is irregular unless there are four.
fn disc(sectors: u32, size: u32) -> MeshDescriptor {
    // Sector s owns the points (s, i, j) with i ≥ 1: i steps along spoke s, j along the next one.
    // Its points with i = 0 are those of the next sector's spoke.
    let number = |s: u32, i: u32, j: u32| match (i, j) {
        (0, 0) => 0,
        (0, j) => 1 + ((s + 1) % sectors) * size * (size + 1) + (j - 1) * (size + 1),
        (i, j) => 1 + s * size * (size + 1) + (i - 1) * (size + 1) + j,
    };
    let mut positions = vec![[0.0; 3]; (1 + sectors * size * (size + 1)) as usize];
    let mut faces = Vec::new();
    let spoke = |s: u32| {
        let angle = std::f32::consts::TAU * s as f32 / sectors as f32;
        [angle.cos(), angle.sin()]
    };
    for s in 0..sectors {
        let (here, next) = (spoke(s), spoke(s + 1));
        for i in 1..=size {
            for j in 0..=size {
                let place = |axis: usize| i as f32 * here[axis] + j as f32 * next[axis];
                positions[number(s, i, j) as usize] = [place(0), 0.0, place(1)];
            }
        }
        for i in 0..size {
            for j in 0..size {
                let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
                faces.push(Face::Quad(corners.map(|(i, j)| number(s, i, j))));
            }
        }
    }
    MeshDescriptor { positions, faces, ..Default::default() }
}

/// The surface of a cube of `size`³ cells.
fn cube(size: u32) -> MeshDescriptor {
    let side = size + 1;
    let mut numbers = vec![u32::MAX; (side * side * side) as usize];
    let mut descriptor = MeshDescriptor::default();
    for axis in 0..3 {
        for level in [0, size] {
            for a in 0..size {
                for b in 0..size {
                    let corners = [[a, b], [a + 1, b], [a + 1, b + 1], [a, b + 1]];
                    let quad = corners.map(|[a, b]| {
                        let mut place = [0; 3];
                        (place[axis], place[(axis + 1) % 3], place[(axis + 2) % 3]) = (level, a, b);
                        let number = &mut numbers[(place[0] + side * (place[1] + side * place[2])) as usize];
                        if *number == u32::MAX {
                            *number = descriptor.positions.len() as u32;
                            descriptor.positions.push(place.map(|x| x as f32));
                        }
                        *number
                    });
                    descriptor.faces.push(quad.into());
                }
            }
        }
    }
    descriptor
}

#[test]
fn grid_counts() -> Result<()> {
    for (size, vertices, edges) in [(2, 4, 4), (20, 400, 760), (71, 5041, 9940)] {
        let mesh = Mesh::new(unit_grid(size))?;
        assert_eq!((mesh.vertex_count(), mesh.edge_count()), (vertices, edges));
        assert_eq!(3 * vertices - edges, (size * size + 2 * size) as usize);
        assert_eq!(mesh.springs().len(), 2 * ((size - 1) * (size - 1)) as usize);
        assert_eq!(mesh.triangles().len(), mesh.springs().len());
    }
    // One diagonal of each quad made inextensible: the count that locks.
    let mut locked = unit_grid(71);
    for face in &locked.faces {
        let ends = [face.vertices()[0], face.vertices()[2]];
        locked.overrides.push(EdgeOverride { ends, kind: EdgeKind::Inextensible, rest: None });
    }
    let mesh = Mesh::new(locked)?;
    assert_eq!((mesh.edge_count(), mesh.springs().len()), (14840, 4900));
    assert_eq!(3 * 5041 - 14840, 283);
    Ok(())
}

#[test]
fn edges_and_springs_are_canonical_and_measured() -> Result<()> {
    let mesh = Mesh::new(unit_grid(30))?;
    for links in [mesh.edges(), mesh.springs()] {
        assert!(links.is_sorted_by(|a, b| (a.tail, a.head) < (b.tail, b.head)));
        assert!(links.iter().all(|link| link.tail < link.head));
    }
    assert!(mesh.edges().iter().all(|link| link.rest == 1.0 && link.stiffness == 0.0));
    let diagonal = 2.0_f64.sqrt() as f32;
    assert!(mesh.springs().iter().all(|link| link.rest == diagonal && link.stiffness == 20.0));
    Ok(())
}

#[test]
fn masses_add_up_to_density_times_area() -> Result<()> {
    let cell = |list: &[f32], index: usize| {
        let at = |index: usize| f64::from(list[index]);
        let before = if index == 0 { 0.0 } else { at(index) - at(index - 1) };
        let after = if index + 1 == list.len() { 0.0 } else { at(index + 1) - at(index) };
        0.5 * (before + after)
    };
    let uniform: Vec<f32> = (0..71).map(|x| x as f32 / 70.0).collect();
    let graded: Vec<f32> = (0..40).map(|x| 1.15_f32.powi(x) - 1.0).collect();
    let rectangular: Vec<f32> = (0..20).map(|x| 0.01 * x as f32).collect();
    for xs in [&uniform, &graded, &rectangular] {
        for zs in [&uniform, &graded, &rectangular] {
            let masses = Mesh::new(grid(xs, zs))?.masses().to_vec();
            let area = f64::from(xs[xs.len() - 1]) * f64::from(zs[zs.len() - 1]);
            let density = f64::from(0.2_f32);
            assert!((total(&masses) / (density * area) - 1.0).abs() < 1e-6);
            // Vertex by vertex: the dual cell of a rectangular grid.
            for (vertex, &mass) in masses.iter().enumerate() {
                let expected = density * cell(xs, vertex % xs.len()) * cell(zs, vertex / xs.len());
                assert!((f64::from(mass) / expected - 1.0).abs() < 1e-6, "vertex {vertex}");
            }
        }
    }
    Ok(())
}

#[test]
fn masses_of_other_shapes() -> Result<()> {
    // Sheared quads of a disc: each is a rhombus of sin(2π/sectors) m².
    for sectors in [3, 5, 7] {
        let mesh = Mesh::new(disc(sectors, 6))?;
        let rhombus = (std::f64::consts::TAU / f64::from(sectors)).sin();
        let expected = f64::from(0.2_f32) * f64::from(sectors) * 36.0 * rhombus;
        assert!((total(mesh.masses()) / expected - 1.0).abs() < 1e-6);
    }
    // A triangle gives a third to each corner, a line half to each end, once, and nothing where
    // it is the side of a face.
    let mesh = Mesh::new(MeshDescriptor {
        positions: vec![[0.0; 3], [3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 2.0, 5.0]],
        faces: vec![[0, 1, 2].into()],
        lines: vec![[2, 3], [3, 2], [0, 1]],
        mass: Mass::Density(2.0),
        ..Default::default()
    })?;
    assert_eq!(mesh.masses(), [2.0, 2.0, 7.0, 5.0]);
    assert_eq!(mesh.lines(), [[2, 3]]);
    assert_eq!(pairs(mesh.edges()), [[0, 1], [0, 2], [1, 2], [2, 3]]);
    assert_eq!(mesh.springs(), []);
    Ok(())
}

#[test]
fn pins_have_no_inverse_mass_and_are_sorted() -> Result<()> {
    let mass = Mass::PerVertex(vec![0.5, 1.0, 2.0, 4.0]);
    let mesh = Mesh::new(MeshDescriptor { pins: vec![3, 1, 3], mass, ..unit_grid(2) })?;
    assert_eq!(mesh.pins(), [1, 3]);
    assert_eq!(mesh.inverse_masses(), [2.0, 0.0, 0.5, 0.0]);
    assert_eq!(mesh.masses(), [0.5, 1.0, 2.0, 4.0]);
    assert_eq!(mesh.triangles(), [[0, 1, 3], [0, 3, 2]]);
    Ok(())
}

#[test]
fn diagonals_merge_and_give_way_to_edges() -> Result<()> {
    // Two quads that share the diagonal 0–2 add their springs; the line 1–3 is an edge.
    let mesh = Mesh::new(MeshDescriptor {
        positions: vec![
            [0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [1.0, 1.0, 0.0],
            [0.0, 1.0, 0.0],
            [1.0, 0.0, 1.0],
            [0.0, 1.0, 1.0],
        ],
        faces: vec![[0, 1, 2, 3].into(), [0, 4, 2, 5].into()],
        lines: vec![[3, 1]],
        ..Default::default()
    })?;
    assert_eq!(pairs(mesh.springs()), [[0, 2], [4, 5]]);
    assert_eq!(mesh.springs()[0].stiffness, 40.0);
    assert_eq!(mesh.springs()[1].stiffness, 20.0);
    assert!(pairs(mesh.edges()).contains(&[1, 3]));
    assert_eq!(mesh.edge_count(), 9);
    let none = Mesh::new(MeshDescriptor { shear: 0.0, ..unit_grid(5) })?;
    assert_eq!(none.springs(), []);
    Ok(())
}

#[test]
fn overrides_replace_kind_and_rest_length() -> Result<()> {
    let change = |ends, kind, rest| EdgeOverride { ends, kind, rest };
    let mesh = Mesh::new(MeshDescriptor {
        overrides: vec![
            change([1, 0], EdgeKind::Spring { stiffness: 7.0 }, None),
            change([0, 2], EdgeKind::Free, None),
            change([1, 3], EdgeKind::Inextensible, Some(0.5)),
            change([1, 2], EdgeKind::Inextensible, None),
            change([0, 3], EdgeKind::Spring { stiffness: 3.0 }, Some(2.0)),
            change([3, 0], EdgeKind::Spring { stiffness: 3.0 }, Some(2.0)),
        ],
        ..unit_grid(2)
    })?;
    let link = |tail, head, rest, stiffness| Link { tail, head, rest, stiffness };
    let diagonal = 2.0_f64.sqrt() as f32;
    let edges = [link(1, 2, diagonal, 0.0), link(1, 3, 0.5, 0.0), link(2, 3, 1.0, 0.0)];
    assert_eq!(mesh.edges(), edges);
    assert_eq!(mesh.springs(), [link(0, 1, 1.0, 7.0), link(0, 3, 2.0, 3.0)]);
    Ok(())
}

#[test]
fn incidence_lists_each_link_at_both_ends() -> Result<()> {
    let tiny = Mesh::new(MeshDescriptor { shear: 1.0, ..unit_grid(2) })?;
    let topology = Topology::new(&tiny);
    assert_eq!(
        topology.edge_incidence.words(),
        [5, 7, 9, 11, 13, 0, 4, 1, 6, 2, 5, 3, 7],
        "yarns 0–1, 2–3, then 0–2, 1–3"
    );
    assert_eq!(topology.spring_incidence.words(), [5, 6, 7, 8, 9, 0, 2, 3, 1]);

    let mesh = Mesh::new(disc(5, 4))?;
    let topology = Topology::new(&mesh);
    let check = |incidence: &Incidence, links: &[Link]| {
        let words = incidence.words();
        assert_eq!(words.len(), mesh.vertex_count() + 1 + 2 * links.len());
        assert_eq!(words[mesh.vertex_count()] as usize, words.len());
        let mut seen = 0;
        for vertex in 0..mesh.vertex_count() {
            assert!(incidence.of(vertex).map(|entry| entry.0).is_sorted_by(|a, b| a < b));
            for (link, is_head) in incidence.of(vertex) {
                let link = links[link as usize];
                assert_eq!(if is_head { link.head } else { link.tail } as usize, vertex);
                seen += 1;
            }
        }
        assert_eq!(seen, 2 * links.len());
        assert_eq!(incidence.of(mesh.vertex_count()).len(), 0);
        assert_eq!(incidence.of(usize::MAX).len(), 0);
    };
    check(&topology.edge_incidence, &topology.yarns.edges);
    check(&topology.spring_incidence, mesh.springs());
    assert_eq!(topology.edge_incidence.of(0).len(), 5, "the center of the disc");
    Ok(())
}

#[test]
fn pieces_are_numbered_by_their_smallest_vertex() -> Result<()> {
    // Edges 0–5, 1–3 and the spring 3–4; vertex 2 alone.
    let mesh = Mesh::new(MeshDescriptor {
        positions: (0..6).map(|x| [x as f32, 0.0, 0.0]).collect(),
        lines: vec![[5, 0], [3, 1], [4, 3]],
        mass: Mass::PerVertex(vec![1.0; 6]),
        pins: vec![0, 5, 3],
        overrides: vec![EdgeOverride { ends: [3, 4], kind: EdgeKind::Spring { stiffness: 1.0 }, rest: None }],
        ..Default::default()
    })?;
    let topology = Topology::new(&mesh);
    assert_eq!(topology.component_of, [0, 1, 2, 1, 1, 0]);
    assert_eq!(topology.component_count, 3);
    assert_eq!(topology.pinned_edge_count, 1);

    let (first, second) = (unit_grid(9), shuffled(81));
    assert_eq!(Topology::new(&Mesh::new(renumber(&first, &second))?).component_count, 1);
    Ok(())
}

#[test]
fn grids_take_four_colors_in_any_numbering() -> Result<()> {
    for size in [3, 10, 71, 200] {
        let natural = unit_grid(size);
        let count = natural.positions.len() as u32;
        let reversed: Vec<u32> = (0..count).rev().collect();
        for numbers in [(0..count).collect(), reversed, shuffled(count as usize)] {
            assert_eq!(mesh_colors(renumber(&natural, &numbers))?, (4, 4), "{size}");
        }
    }
    assert_eq!(mesh_colors(unit_grid(2))?, (2, 2));
    Ok(())
}

#[test]
fn bipartite_meshes_take_as_many_colors_as_their_largest_degree() -> Result<()> {
    for sectors in [3, 5, 6, 7, 40] {
        let disc = disc(sectors, 8);
        let numbers = shuffled(disc.positions.len());
        let largest = sectors.max(4) as usize;
        assert_eq!(mesh_colors(renumber(&disc, &numbers))?, (largest, largest));
        assert_eq!(mesh_colors(disc)?, (largest, largest));
    }
    for size in [1, 2, 9] {
        let largest = if size == 1 { 3 } else { 4 };
        assert_eq!(mesh_colors(cube(size))?, (largest, largest));
    }
    let chain = scene::chain(1001)?.mesh;
    assert_eq!(colors(chain.vertex_count(), chain.edges()), (2, 2));
    let star = graph((0..10_000).map(|leaf| [5_000, if leaf < 5_000 { leaf } else { leaf + 1 }]));
    assert_eq!(colors(10_001, &star), (10_000, 10_000));
    assert_eq!(colors(0, &[]), (0, 0));
    assert_eq!(colors(7, &[]), (0, 0));
    Ok(())
}

#[test]
fn other_graphs_take_at_most_one_color_more() -> Result<()> {
    // A triangle fan: a wheel of 200 spokes.
    let spoke = |i: u32| (std::f32::consts::TAU * i as f32 / 200.0).sin_cos();
    let mut positions = vec![[0.0; 3]];
    positions.extend((0..200).map(|i| [spoke(i).0, 0.0, spoke(i).1]));
    let faces = (0..200).map(|i| Face::Triangle([0, 1 + i, 1 + (i + 1) % 200])).collect();
    let fan = MeshDescriptor { positions, faces, ..Default::default() };
    assert_eq!(mesh_colors(fan)?, (200, 200));

    // A grid of triangles.
    let mut triangles = unit_grid(60);
    let cut = |face: &Face| match *face {
        Face::Quad([a, b, c, d]) => [[a, b, c].into(), [a, c, d].into()],
        _ => unreachable!("the grid has quads only"),
    };
    triangles.faces = triangles.faces.iter().flat_map(cut).collect();
    let numbers = shuffled(3600);
    for descriptor in [renumber(&triangles, &numbers), triangles] {
        assert_eq!(mesh_colors(descriptor)?, (6, 6), "the bound is 7");
    }

    // Complete graphs of odd order and odd cycles need one more than their degree.
    for order in [3, 5, 7, 21, 51] {
        let complete = graph((0..order).flat_map(|a| (0..a).map(move |b| [a, b])));
        assert_eq!(colors(order as usize, &complete), (order as usize, order as usize - 1));
    }
    let cycle = graph((0..101).map(|a| [a, (a + 1) % 101]));
    assert_eq!(colors(101, &cycle), (3, 2));
    let petersen = (0..5).flat_map(|a| [[a, (a + 1) % 5], [a, a + 5], [a + 5, (a + 2) % 5 + 5]]);
    assert_eq!(colors(10, &graph(petersen)), (4, 3));
    Ok(())
}

#[test]
fn the_checker_can_fail() -> Result<()> {
    let mesh = Mesh::new(unit_grid(3))?;
    let good = Coloring::new(9, mesh.edges());
    let broken = |change: fn(&mut Coloring)| {
        let mut coloring = good.clone();
        change(&mut coloring);
        coloring.check(9, mesh.edges())
    };
    assert_eq!(broken(|_| ()), Ok(()));
    let merged = broken(|coloring| {
        let second = coloring.ranges.remove(1);
        coloring.ranges[0].end = second.end;
    });
    match merged {
        Err(Clash::Vertex { color: 0, vertex, edges }) => {
            for edge in edges {
                let link = mesh.edges()[edge as usize];
                assert!(link.tail == vertex || link.head == vertex);
            }
            assert_ne!(edges[0], edges[1]);
        }
        other => panic!("{other:?}"),
    }
    let twice = broken(|coloring| coloring.colored_edges[1] = coloring.colored_edges[0]);
    assert!(matches!(twice, Err(Clash::Edge { times: 0 | 2, .. })), "{twice:?}");
    let missing = broken(|coloring| coloring.colored_edges[3] = 12);
    assert_eq!(missing, Err(Clash::Index { index: 3 }));
    assert_eq!(broken(|coloring| coloring.ranges[1].start += 1), Err(Clash::Range { color: 1 }));
    let short = broken(|coloring| coloring.ranges.truncate(2));
    assert_eq!(short, Err(Clash::Range { color: 2 }));
    assert!(matches!(good.check(8, mesh.edges()), Err(Clash::Index { .. })));
    Ok(())
}

#[test]
fn the_same_input_gives_the_same_output() -> Result<()> {
    let descriptor = disc(5, 12);
    let (first, second) = (Mesh::new(descriptor.clone())?, Mesh::new(descriptor)?);
    assert_eq!(first, second);
    assert_eq!(Topology::new(&first), Topology::new(&second));
    Ok(())
}

#[test]
fn scenes_are_what_they_say() -> Result<()> {
    for name in ["chain", "curtain", "hang", "patch", "sheet"] {
        for size in [3, 8, 71] {
            let Scene { name: named, mesh, start, .. } = Scene::named(name, size)?;
            assert_eq!(named, name);
            assert_eq!(start.len(), mesh.vertex_count());
            let (mass, area) = if name == "chain" { (0.1, 1) } else { (0.2, size) };
            assert_eq!(mesh.vertex_count(), (size * area) as usize);
            assert!((total(mesh.masses()) / mass - 1.0).abs() < 1e-6);
            let pins: Vec<u32> = match name {
                "chain" => vec![0],
                "curtain" => (0..size).collect(),
                "sheet" => vec![],
                _ => vec![0, size - 1],
            };
            assert_eq!(mesh.pins(), pins);
            assert_eq!(name == "hang", start != mesh.positions());
            let topology = Topology::new(&mesh);
            assert_eq!(topology.component_count, 1);
            let both_pinned = if name == "curtain" { size as usize - 1 } else { 0 };
            assert_eq!(topology.pinned_edge_count, both_pinned);
        }
    }
    let sheet = scene::sheet(3)?.mesh;
    assert_eq!(sheet.positions()[5], [1.0, 0.0, 0.5], "row 1, column 2");
    let [a, b, c] = sheet.triangles()[0].map(|vertex| sheet.positions()[vertex as usize]);
    let (u, v) = ([b[0] - a[0], b[2] - a[2]], [c[0] - a[0], c[2] - a[2]]);
    assert!(u[1] * v[0] - u[0] * v[1] > 0.0, "normals point up");
    let curtain = Topology::new(&scene::curtain(71)?.mesh);
    let sizes: Vec<u32> = curtain.coloring.ranges.iter().map(|range| range.end - range.start).collect();
    assert_eq!(sizes.len(), 4, "{sizes:?}");
    Ok(())
}

#[test]
fn hang_starts_without_strain() -> Result<()> {
    for size in [3, 11, 71] {
        let Scene { mesh, start, .. } = scene::hang(size)?;
        let distance = |a: u32, b: u32| {
            let (a, b) = (start[a as usize], start[b as usize]);
            let squared = |axis: usize| (f64::from(a[axis]) - f64::from(b[axis])).powi(2);
            (0..3).map(squared).sum::<f64>().sqrt()
        };
        assert!((distance(0, size - 1) - 0.99).abs() < 1e-7);
        let close = |found: [f32; 3], expected: [f32; 3]| {
            found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-7)
        };
        assert!(close(start[0], [0.005, 0.0, 0.0]));
        assert!(close(start[size as usize - 1], [0.995, 0.0, 0.0]));
        assert!(start.iter().all(|position| position[1] < 1e-7 && position[1] > -0.071));
        // Start and rest shape are stored in f32, and a coordinate near 1 m is known to 3e-8 m:
        // relative to an edge of 1/70 m the strain can be no smaller than that allows.
        for link in mesh.edges() {
            let error = (distance(link.tail, link.head) - f64::from(link.rest)).abs();
            assert!(error < 1.5e-7, "{size}: {error:e} m");
            if size <= 11 {
                assert!(error < 1e-6 * f64::from(link.rest), "{size}: {error:e} m");
            }
        }
    }
    Ok(())
}

#[test]
fn unknown_scenes_and_sizes_are_refused() {
    match Scene::named("tent", 10) {
        Err(Error::UnknownScene { name, known }) => {
            assert_eq!(
                (name.as_str(), known.as_str()),
                (
                    "tent",
                    "chain, curtain, drape, flag, hang, incline, mannequin, patch, rope-tether, sheet, tablecloth, \
                     fold, heap, ring, sheets, sleeve, stack, twist, waist"
                )
            );
        }
        other => panic!("{other:?}"),
    }
    for name in scene::NAMES {
        let smallest = if name == "hang" { 3 } else { 2 };
        assert!(Scene::named(name, smallest).is_ok());
        for size in [0, smallest - 1, 4097, u32::MAX] {
            match Scene::named(name, size) {
                Err(Error::SceneSize { name: named, size: found, least, most }) => {
                    assert_eq!((named, found, least, most), (name, size, smallest, 4096));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Pieces that are joined are what one description of all of them is.
#[test]
fn joined_meshes_are_one_description() {
    let first = MeshDescriptor {
        bending: 1e-5,
        pins: vec![2, 0],
        groups: [("hem".to_owned(), vec![6, 7]), ("top".to_owned(), vec![0])].into(),
        ..unit_grid(4)
    };
    let second = MeshDescriptor {
        faces: vec![[0, 1, 4].into(), [0, 4, 3].into(), [1, 2, 5, 4].into()],
        lines: vec![[5, 8], [7, 8]],
        pins: vec![8],
        groups: [("hem".to_owned(), vec![3])].into(),
        ..first.clone()
    };
    let keep = |mut descriptor: MeshDescriptor, count: usize| {
        descriptor.positions.truncate(count);
        descriptor.mass = Mass::PerVertex(vec![0.5; count]);
        descriptor
    };
    let (first, second) = (keep(first, 16), keep(second, 9));
    let mut whole = first.clone();
    whole.positions.extend(&second.positions);
    whole.mass = Mass::PerVertex(vec![0.5; 25]);
    whole.faces.extend(second.faces.iter().map(|face| match *face {
        Face::Triangle(vertices) => Face::Triangle(vertices.map(|vertex| vertex + 16)),
        Face::Quad(vertices) => Face::Quad(vertices.map(|vertex| vertex + 16)),
        _ => unreachable!("there are no others"),
    }));
    whole.lines.extend(second.lines.iter().map(|line| line.map(|vertex| vertex + 16)));
    whole.pins.push(24);
    whole.groups.insert("hem".to_owned(), vec![6, 7, 19]);
    let whole = Mesh::new(whole).unwrap();
    let joined = Mesh::joined([Mesh::new(first).unwrap(), Mesh::new(second).unwrap()]).unwrap();
    assert_eq!(joined, whole);
    assert!(matches!(Mesh::joined([]), Err(Error::Empty { .. })));
}

/// Half of a sheet is heavier, stiffer, and of another bending: each face has what its swatch says, and folds between
/// two fabrics are between them.
#[test]
fn swatches_are_of_their_own_fabric() {
    let plain = MeshDescriptor { bending: 1e-5, shear: 10.0, ..unit_grid(5) };
    let light = Mesh::new(plain.clone()).unwrap();
    let own =
        |faces: Vec<u32>| Swatch { faces, density: 0.5, shear: 30.0, stretch: None, bending: 4e-5, strain_limit: None };
    // Everything is one swatch: as if the sheet were of it.
    let heavy = Mesh::new(MeshDescriptor { swatches: vec![own((0..16).collect())], ..plain.clone() }).unwrap();
    let same = MeshDescriptor { mass: Mass::Density(0.5), shear: 30.0, bending: 4e-5, ..plain.clone() };
    let same = Mesh::new(same).unwrap();
    assert_eq!(heavy.springs(), same.springs());
    for (a, b) in heavy.masses().iter().zip(same.masses()) {
        assert!((a - b).abs() < 1e-6 * b, "{a} {b}");
    }
    for (a, b) in heavy.bending_pairs().iter().zip(same.bending_pairs()) {
        assert!(a.ends == b.ends && (a.weight - b.weight).abs() < 1e-6 * b.weight.abs(), "{a:?} {b:?}");
    }
    // The columns on the right; a later swatch decides.
    let right: Vec<u32> = (0..16).filter(|face| face % 4 >= 2).collect();
    let overruled = Swatch { density: 9.0, ..own(vec![2]) };
    for triangles in [false, true] {
        let mut half = MeshDescriptor { swatches: vec![overruled.clone(), own(right.clone())], ..plain.clone() };
        if triangles {
            let cut = |face: &Face| {
                let [a, b, c, d] = *face.vertices() else { panic!("a quad") };
                [Face::Triangle([a, b, c]), Face::Triangle([a, c, d])]
            };
            half.faces = half.faces.iter().flat_map(cut).collect();
            half.swatches = vec![own(right.iter().flat_map(|face| [2 * face, 2 * face + 1]).collect())];
            half.weave = Some(taut::Weave::Sides);
        }
        let mesh = Mesh::new(half).unwrap();
        let total: f32 = mesh.masses().iter().sum();
        assert!((total - (8.0 * 0.2 + 8.0 * 0.5)).abs() < 1e-5, "{total}");
        let column = |link: &Link| (link.tail % 5).min(link.head % 5);
        for spring in mesh.springs() {
            let expected = if column(spring) < 2 { 10.0 } else { 30.0 };
            let each = if triangles { 2.0 } else { 1.0 };
            assert!((spring.stiffness - each * expected).abs() < 1e-3, "{spring:?}");
        }
    }
    let half = Mesh::new(MeshDescriptor { swatches: vec![own(right)], ..plain }).unwrap();
    let weight = |mesh: &Mesh, ends: [u32; 2]| {
        let found = mesh.bending_pairs().iter().find(|pair| pair.ends == ends);
        f64::from(found.expect("it is there").weight)
    };
    // Across one column from its left to its right, in the middle of the sheet: 1e-5, both in series, and 4e-5.
    for (ends, expected) in [([10, 12], 1.0), ([11, 13], 1.6), ([12, 14], 4.0)] {
        let ratio = weight(&half, ends) / weight(&light, ends);
        assert!((ratio - expected).abs() < 1e-5, "{ends:?}: {ratio}");
    }
}

/// What every mesh's windows must satisfy; returns (passes, pieces) of those without diagonals.
fn check_windows(mesh: &Mesh) -> (usize, usize) {
    let topology = Topology::new(mesh);
    let (windows, yarns) = (&topology.windows, &topology.yarns);
    let mut next = 0;
    for pass in &windows.passes {
        assert_eq!(pass.pieces.start, next, "passes follow each other");
        assert!(pass.pieces.end > next && pass.held <= pass.pieces.end - next, "{pass:?}");
        next = pass.pieces.end;
        let pieces = &windows.pieces[pass.pieces.start as usize..pass.pieces.end as usize];
        let mut seen = std::collections::BTreeSet::new();
        for (number, piece) in pieces.iter().enumerate() {
            let whole = &yarns.yarns[piece.yarn as usize];
            assert!(whole.edges.start <= piece.edges.start && piece.edges.end <= whole.edges.end, "{piece:?}");
            let links = &yarns.edges[piece.edges.start as usize..piece.edges.end as usize];
            let mut vertices: Vec<u32> = links.iter().map(|link| link.tail).collect();
            if !(whole.closed && piece.edges == whole.edges) {
                vertices.push(links[links.len() - 1].head);
            }
            assert!(vertices.into_iter().all(|vertex| seen.insert(vertex)), "two pieces of a pass share a vertex");
            let all = &yarns.edges[whole.edges.start as usize..whole.edges.end as usize];
            let pinned = |vertex: u32| mesh.pins().contains(&vertex);
            let held = !whole.closed && pinned(all[0].tail) && pinned(all[all.len() - 1].head);
            assert_eq!(held, (number as u32) < pass.held, "those between two pins come first");
        }
    }
    assert_eq!(next as usize, windows.pieces.len());
    // Those with diagonals: turns follow each other, and no two pieces of a pass share a vertex.
    let (mut yarn_passes, mut passes, mut next) = (windows.plain, 0, 0);
    for turn in &windows.turns {
        assert_eq!((turn.yarns.start, turn.diagonals.start), (yarn_passes, passes), "turns follow each other");
        (yarn_passes, passes) = (turn.yarns.end, turn.diagonals.end);
    }
    assert_eq!((yarn_passes as usize, passes as usize), (windows.passes.len(), windows.diagonal_passes.len()));
    for pass in &windows.diagonal_passes {
        assert!(pass.pieces.start == next && pass.pieces.end > next && pass.held == 0, "{pass:?}");
        next = pass.pieces.end;
        let mut seen = std::collections::BTreeSet::new();
        for piece in &windows.diagonal_pieces[pass.pieces.start as usize..pass.pieces.end as usize] {
            let whole = &topology.diagonals.lines[piece.yarn as usize];
            assert!(whole.start <= piece.edges.start && piece.edges.end <= whole.end, "{piece:?}");
            let links = &topology.diagonals.links[piece.edges.start as usize..piece.edges.end as usize];
            let vertices = links.iter().map(|link| link.head).chain([links[0].tail]);
            assert!(vertices.into_iter().all(|vertex| seen.insert(vertex)), "two pieces of a pass share a vertex");
        }
    }
    assert_eq!(next as usize, windows.diagonal_pieces.len());
    let plain = &windows.passes[..windows.plain as usize];
    (plain.len(), plain.last().map_or(0, |pass| pass.pieces.end as usize))
}

#[test]
fn windows_are_around_pins_that_stand_alone() {
    let of = |name: &str, size: u32| check_windows(&Scene::named(name, size).unwrap().mesh);
    // Radii 4 and 8, two strips, radius 4 again: two families each. Two corners with r + 1 pieces each; strips of the
    // row between them and the next, and of both outer columns and theirs.
    assert_eq!(of("hang", 71), (8, 2 * 2 * (5 + 9 + 5) + 2 + 4));
    assert_eq!(of("hang", 31), (0, 0), "too small");
    assert_eq!(of("curtain", 71), (0, 0), "a pinned row carries the load side by side");
    assert_eq!(of("chain", 71), (0, 0), "one yarn is solved exactly");
    assert_eq!(of("sheet", 71), (0, 0), "nothing is pinned");
    // Diagonals of both families in windows of radii 8 and 16, and of radius 8 after the strips; first radius 4 alone.
    let windows = Topology::new(&Scene::named("hang", 71).unwrap().mesh).windows;
    assert_eq!((windows.diagonal_passes.len(), windows.turns.len()), (6, 4));
    assert_eq!(windows.around, [0, 70]);
    // Larger cloth: a larger window, combs, the smallest window twice.
    assert!(of("hang", 128).0 > 12);
}

/// A grid pinned at these vertices.
fn pinned_grid(size: u32, pins: Vec<u32>) -> Mesh {
    let sheet = scene::sheet(size).unwrap().mesh;
    let descriptor = MeshDescriptor {
        positions: sheet.positions().to_vec(),
        faces: sheet.faces().to_vec(),
        pins,
        ..Default::default()
    };
    Mesh::new(descriptor).unwrap()
}

#[test]
fn windows_of_near_pins_are_one() {
    // In the middle, five places apart along a row: the pieces of both make one.
    let row = 20 * 40;
    let (_, one) = check_windows(&pinned_grid(40, vec![row + 15]));
    let (_, near) = check_windows(&pinned_grid(40, vec![row + 15, row + 20]));
    let (_, apart) = check_windows(&pinned_grid(40, vec![5 * 40 + 10, 30 * 40 + 30]));
    assert!(near < 2 * one && apart > near, "{one} {near} {apart}");
    // Neighbors do not stand alone.
    assert_eq!(check_windows(&pinned_grid(40, vec![row + 15, row + 16])), (0, 0));
}
