//! Every row of the table in `mesh`: what odd input leads to. Bad input is an error, never a panic.

use proptest::prelude::*;
use taut::Error;
use taut::mesh::topology::Topology;
use taut::mesh::{EdgeKind, EdgeOverride, Face, Mass, Mesh, MeshDescriptor, Swatch};

/// Two unit quads side by side: 0 1 2 above 3 4 5.
fn good() -> MeshDescriptor {
    let position = |vertex: u32| [(vertex % 3) as f32, 0.0, (vertex / 3) as f32];
    MeshDescriptor {
        positions: (0..6).map(position).collect(),
        faces: vec![[0, 1, 4, 3].into(), [1, 2, 5, 4].into()],
        ..Default::default()
    }
}

fn override_of(ends: [u32; 2]) -> EdgeOverride {
    EdgeOverride { ends, kind: EdgeKind::Inextensible, rest: None }
}

/// The error that a change of the good mesh leads to.
fn error(change: impl FnOnce(&mut MeshDescriptor)) -> Error {
    let mut descriptor = good();
    change(&mut descriptor);
    Mesh::new(descriptor).expect_err("the mesh is bad")
}

/// The mesh that a change of the good mesh leads to.
fn mesh(change: impl FnOnce(&mut MeshDescriptor)) -> Mesh {
    let mut descriptor = good();
    change(&mut descriptor);
    Mesh::new(descriptor).expect("the mesh is valid")
}

macro_rules! assert_error {
    ($error:expr, $pattern:pat $(if $guard:expr)?) => {
        match $error {
            $pattern $(if $guard)? => {}
            other => panic!("{other:?}"),
        }
    };
}

#[test]
fn the_good_mesh_is_good() {
    let mesh = mesh(|_| ());
    assert_eq!((mesh.edge_count(), mesh.springs().len()), (7, 4));
}

#[test]
fn positions() {
    assert_error!(error(|mesh| mesh.positions.clear()), Error::Empty { field: "positions" });
    let nothing = Mesh::new(MeshDescriptor::default());
    assert_error!(nothing, Err(Error::Empty { field: "positions" }));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for axis in 0..3 {
            let error = error(|mesh| mesh.positions[4][axis] = bad);
            assert_error!(error, Error::NotFinite { field: "positions", index: 4 });
        }
    }
    let far = error(|mesh| mesh.positions[5][0] = -(2.0_f32.powi(40).next_up()));
    assert_error!(far, Error::OutOfRange { field: "positions", index: Some(5), .. });
}

#[test]
fn indices() {
    let face = error(|mesh| mesh.faces[1] = [1, 2, 6, 4].into());
    assert_error!(face, Error::IndexOutOfRange { field: "faces", index: 1, value: 6, count: 6 });
    let line = error(|mesh| mesh.lines = vec![[0, 1], [u32::MAX, 0]]);
    assert_error!(line, Error::IndexOutOfRange { field: "lines", index: 1, value: u32::MAX, count: 6 });
    let pin = error(|mesh| mesh.pins = vec![5, 6]);
    assert_error!(pin, Error::IndexOutOfRange { field: "pins", index: 1, value: 6, count: 6 });
    let change = error(|mesh| mesh.overrides = vec![override_of([0, 7])]);
    assert_error!(change, Error::IndexOutOfRange { field: "overrides", index: 0, value: 7, count: 6 });
}

#[test]
fn repeated_vertices() {
    let quad = error(|mesh| mesh.faces[1] = [1, 2, 5, 2].into());
    assert_error!(quad, Error::RepeatedVertex { field: "faces", index: 1, vertex: 2 });
    let triangle = error(|mesh| mesh.faces.push([3, 3, 4].into()));
    assert_error!(triangle, Error::RepeatedVertex { field: "faces", index: 2, vertex: 3 });
    let line = error(|mesh| mesh.lines = vec![[5, 5]]);
    assert_error!(line, Error::RepeatedVertex { field: "lines", index: 0, vertex: 5 });
    let change = error(|mesh| mesh.overrides = vec![override_of([1, 1])]);
    assert_error!(change, Error::RepeatedVertex { field: "overrides", index: 0, vertex: 1 });
}

#[test]
fn duplicate_faces() {
    for copy in [[0, 1, 4, 3], [1, 4, 3, 0], [3, 4, 1, 0], [0, 4, 1, 3]] {
        let error = error(|mesh| mesh.faces.push(copy.into()));
        assert_error!(error, Error::DuplicateFace { index: 2, first: 0 });
    }
    let triangle = error(|mesh| mesh.faces = vec![[0, 1, 4].into(), [4, 0, 1].into()]);
    assert_error!(triangle, Error::DuplicateFace { index: 1, first: 0 });
    // A triangle inside a quad is another face.
    mesh(|mesh| mesh.faces.push([0, 1, 4].into()));
}

#[test]
fn edges_without_length() {
    let edge = error(|mesh| mesh.positions[4] = mesh.positions[5]);
    assert_error!(edge, Error::ZeroLengthEdge { a: 4, b: 5 });
    let line = error(|mesh| {
        mesh.positions.push([0.0; 3]);
        mesh.lines = vec![[6, 0]];
    });
    assert_error!(line, Error::ZeroLengthEdge { a: 0, b: 6 });
    let tiny = error(|mesh| mesh.positions[1] = [1e-20, 0.0, 0.0]);
    assert_error!(tiny, Error::ZeroLengthEdge { a: 0, b: 1 });
    // A spring has a direction too.
    let diagonal = error(|mesh| mesh.positions[4] = mesh.positions[0]);
    assert_error!(diagonal, Error::ZeroLengthEdge { a: 0, b: 4 });
    // An edge that vanishes, or has a length of its own, needs none in the rest shape.
    for (kind, rest) in [(EdgeKind::Free, None), (EdgeKind::Inextensible, Some(0.1))] {
        mesh(|mesh| {
            mesh.positions[4] = mesh.positions[5];
            mesh.overrides = vec![EdgeOverride { ends: [5, 4], kind, rest }];
        });
    }
}

#[test]
fn duplicates_that_merge() {
    let merged = mesh(|mesh| {
        mesh.lines = vec![[0, 1], [1, 0], [0, 2], [2, 0]];
        mesh.pins = vec![4, 0, 4, 0];
    });
    assert_eq!(merged.edge_count(), 8);
    assert_eq!(merged.lines(), [[0, 2]]);
    assert_eq!(merged.pins(), [0, 4]);
}

#[test]
fn masses() {
    for bad in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-40, 1e31] {
        let error = error(|mesh| {
            let mut masses = vec![1.0; 6];
            masses[3] = bad;
            mesh.mass = Mass::PerVertex(masses);
        });
        match error {
            Error::OutOfRange { field: "mass", index: Some(3), value, .. } => {
                assert_eq!(value.to_bits(), f64::from(bad).to_bits());
            }
            other => panic!("{other:?}"),
        }
    }
    let short = error(|mesh| mesh.mass = Mass::PerVertex(vec![1.0; 5]));
    assert_error!(short, Error::LengthMismatch { field: "mass", expected: 6, found: 5 });
    for bad in [0.0, -0.2, 9e-10, 1.1e9, 3e38, f32::NAN, f32::INFINITY] {
        let error = error(|mesh| mesh.mass = Mass::Density(bad));
        assert_error!(error, Error::OutOfRange { field: "mass.density", index: None, .. });
    }
    let swatch =
        || Swatch { faces: vec![0], density: 0.1, shear: 1.0, stretch: None, bending: 1e-5, strain_limit: None };
    for bad in [-1.0, f32::NAN, f32::INFINITY] {
        let cases = [
            ("swatches.density", Swatch { density: bad, ..swatch() }),
            ("swatches.shear", Swatch { shear: bad, ..swatch() }),
            ("swatches.bending", Swatch { bending: bad, ..swatch() }),
            ("swatches.strain_limit", Swatch { strain_limit: Some(bad), ..swatch() }),
            ("swatches.faces", Swatch { faces: vec![0, 9], ..swatch() }),
        ];
        for (expected, wrong) in cases {
            let error = error(|mesh| mesh.swatches = vec![swatch(), wrong]);
            match error {
                Error::OutOfRange { field, index: Some(1), .. } => assert_eq!(field, expected),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn stiffnesses_and_rest_lengths() {
    for bad in [-1.0, f32::NAN, f32::INFINITY] {
        let shear = error(|mesh| mesh.shear = bad);
        assert_error!(shear, Error::OutOfRange { field: "shear", index: None, .. });
        let kind = EdgeKind::Spring { stiffness: bad };
        let spring = error(|mesh| {
            mesh.overrides = vec![override_of([0, 1]), EdgeOverride { ends: [1, 2], kind, rest: None }];
        });
        assert_error!(spring, Error::OutOfRange { field: "overrides.kind.stiffness", index: Some(1), .. });
    }
    for bad in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-20] {
        let rest = error(|mesh| {
            mesh.overrides = vec![EdgeOverride { rest: Some(bad), ..override_of([0, 1]) }];
        });
        assert_error!(rest, Error::OutOfRange { field: "overrides.rest", index: Some(0), .. });
    }
    // Two quads on one diagonal: twice the largest stiffness is no number.
    let sum = error(|mesh| {
        mesh.shear = f32::MAX;
        mesh.faces = vec![[0, 1, 4, 3].into(), [0, 2, 4, 5].into()];
    });
    assert_error!(sum, Error::OutOfRange { field: "shear", index: None, .. });
}

#[test]
fn isolated_vertices() {
    let alone = |mesh: &mut MeshDescriptor| mesh.positions.push([9.0; 3]);
    assert_error!(error(alone), Error::MasslessVertex { index: 6 });
    let pinned = mesh(|mesh| {
        alone(mesh);
        mesh.pins = vec![6];
    });
    assert_eq!((pinned.masses()[6], pinned.inverse_masses()[6]), (0.0, 0.0));
    let falling = mesh(|mesh| {
        alone(mesh);
        mesh.mass = Mass::PerVertex(vec![2.0; 7]);
    });
    assert_eq!(falling.inverse_masses()[6], 0.5);
    let topology = Topology::new(&falling);
    assert_eq!(topology.edge_incidence.of(6).len(), 0);
    assert_eq!(topology.component_of, [0, 0, 0, 0, 0, 0, 1]);
    // A face without area has no mass to give.
    let flat = error(|mesh| {
        mesh.faces = vec![[0, 1, 4, 3].into(), [1, 2, 4].into()];
        mesh.positions[2] = [1.0, 0.0, 0.5];
        mesh.positions.truncate(5);
    });
    assert_error!(flat, Error::MasslessVertex { index: 2 });
}

#[test]
fn overrides() {
    let missing = error(|mesh| mesh.overrides = vec![override_of([0, 1]), override_of([5, 0])]);
    assert_error!(missing, Error::NoSuchEdge { a: 0, b: 5 });
    let free = EdgeOverride { kind: EdgeKind::Free, ..override_of([1, 0]) };
    let kinds = error(|mesh| mesh.overrides = vec![override_of([0, 1]), free]);
    assert_error!(kinds, Error::ConflictingOverride { a: 0, b: 1 });
    let longer = EdgeOverride { rest: Some(2.0), ..override_of([0, 1]) };
    let rests = error(|mesh| mesh.overrides = vec![override_of([0, 1]), longer]);
    assert_error!(rests, Error::ConflictingOverride { a: 0, b: 1 });
    mesh(|mesh| mesh.overrides = vec![override_of([0, 1]), override_of([1, 0])]);
}

#[test]
fn everything_pinned_and_several_pieces() {
    let pinned = mesh(|mesh| mesh.pins = (0..6).collect());
    assert!(pinned.inverse_masses().iter().all(|&inverse| inverse == 0.0));
    assert_eq!(Topology::new(&pinned).pinned_edge_count, 7);
    assert_eq!(pinned.edge_count(), 7);

    let pieces = mesh(|mesh| {
        mesh.positions.extend([[9.0; 3], [8.0; 3]]);
        mesh.lines = vec![[7, 6]];
    });
    let topology = Topology::new(&pieces);
    assert_eq!(topology.component_count, 2);
    assert_eq!(topology.component_of, [0, 0, 0, 0, 0, 0, 1, 1]);
}

fn number() -> impl Strategy<Value = f32> {
    prop_oneof![
        20 => -2.0_f32..2.0,
        5 => Just(0.0_f32),
        1 => any::<f32>(),
        1 => prop_oneof![Just(f32::NAN), Just(f32::INFINITY), Just(1e-45), Just(-1e18), Just(1e30)],
    ]
}

/// Mostly vertices that exist.
fn vertex() -> impl Strategy<Value = u32> {
    prop_oneof![60 => 0..8_u32, 1 => any::<u32>()]
}

prop_compose! {
    fn edge_override()(
        ends in [vertex(), vertex()],
        kind in prop_oneof![
            Just(EdgeKind::Inextensible),
            Just(EdgeKind::Free),
            number().prop_map(|stiffness| EdgeKind::Spring { stiffness }),
            number().prop_map(|stiffness| EdgeKind::Compliant { stiffness }),
            Just(EdgeKind::Rope),
            [number(), number(), number()]
                .prop_map(|[stiffness, min, max]| EdgeKind::Limited { stiffness, min, max }),
        ],
        rest in proptest::option::of(number()),
    ) -> EdgeOverride {
        EdgeOverride { ends, kind, rest }
    }
}

prop_compose! {
    fn descriptor()(
        positions in proptest::collection::vec([number(), number(), number()], 0..10),
        quads in proptest::collection::vec([vertex(), vertex(), vertex(), vertex()], 0..3),
        triangles in proptest::collection::vec([vertex(), vertex(), vertex()], 0..3),
        lines in proptest::collection::vec([vertex(), vertex()], 0..4),
        mass in prop_oneof![
            number().prop_map(Mass::Density),
            (1_usize..10).prop_map(|count| Mass::PerVertex(vec![1.0; count])),
            proptest::collection::vec(number(), 0..10).prop_map(Mass::PerVertex),
        ],
        pins in proptest::collection::vec(vertex(), 0..6),
        shear in number(),
        overrides in proptest::collection::vec(edge_override(), 0..2),
        repair in any::<bool>(),
    ) -> MeshDescriptor {
        let mut faces: Vec<Face> = quads.into_iter().map(Face::Quad).collect();
        faces.extend(triangles.into_iter().map(Face::Triangle));
        let mut mesh =
            MeshDescriptor { positions, faces, lines, mass, pins, shear, overrides, ..Default::default() };
        if repair {
            make_likely_valid(&mut mesh);
        }
        mesh
    }
}

/// Removes what most often makes a random mesh bad, so that the rest of the way is tried too.
fn make_likely_valid(mesh: &mut MeshDescriptor) {
    let count = mesh.positions.len() as u32;
    let distinct =
        |vertices: &[u32]| (0..vertices.len()).all(|i| vertices[i] < count && !vertices[..i].contains(&vertices[i]));
    mesh.faces.retain(|face| distinct(face.vertices()));
    mesh.lines.retain(|line| distinct(line));
    mesh.pins.retain(|&pin| pin < count);
    mesh.overrides.clear();
    mesh.shear = mesh.shear.abs();
    mesh.mass = Mass::PerVertex(vec![1.0; count as usize]);
}

/// Lines from one vertex to so many others.
fn star(lines: u32) -> MeshDescriptor {
    let mut positions = vec![[0.0; 3]];
    positions.extend((0..lines).map(|line| [(line % 100) as f32, (line / 100) as f32, 1.0]));
    MeshDescriptor { positions, lines: (1..=lines).map(|end| [0, end]).collect(), ..Default::default() }
}

#[test]
fn a_vertex_of_any_degree_costs_no_square_of_it() {
    // At the bound: every line is a yarn of a family of its own. 200,000 lines at one vertex took 10 GB.
    let mesh = Mesh::new(star(4096)).expect("a valid mesh");
    let topology = Topology::new(&mesh);
    assert_eq!((topology.yarns.families.len(), topology.coloring.color_count()), (4096, 4096));
    // Beyond it, by name.
    assert_error!(Mesh::new(star(4097)).expect_err("too many"), Error::Degree { vertex: 0, degree: 4097, most: 4096 });
    assert_error!(Mesh::new(star(200_000)).expect_err("too many"), Error::Degree { degree: 200_000, .. });
    // Pages of a book: triangles at one edge.
    let pages = |count: u32| {
        let mut descriptor = star(count);
        descriptor.lines.clear();
        descriptor.faces = (2..=count).map(|page| Face::Triangle([0, 1, page])).collect();
        Mesh::new(descriptor)
    };
    assert!(pages(4096).is_ok());
    assert_error!(pages(5000).expect_err("too many"), Error::Degree { vertex: 0, degree: 4999, .. });
    // A line that is given twice is one.
    let mut twice = star(4096);
    twice.lines.extend(star(4096).lines);
    assert!(Mesh::new(twice).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_input_is_an_error_or_a_mesh_that_keeps_its_promises(descriptor in descriptor()) {
        let Ok(mesh) = Mesh::new(descriptor) else { return Ok(()) };
        let count = mesh.vertex_count();
        prop_assert!(mesh.inverse_masses().iter().all(|w| w.is_finite() && *w >= 0.0));
        prop_assert_eq!(mesh.masses().len(), count);
        for links in [mesh.edges(), mesh.springs()] {
            prop_assert!(links.is_sorted_by(|a, b| (a.tail, a.head) < (b.tail, b.head)));
            for link in links {
                prop_assert!(link.tail < link.head && (link.head as usize) < count);
                prop_assert!((link.rest * link.rest).is_normal() && link.stiffness.is_finite());
            }
        }
        prop_assert!(mesh.springs().iter().all(|spring| spring.stiffness > 0.0));
        let topology = Topology::new(&mesh);
        prop_assert_eq!(topology.coloring.check(count, &topology.yarns.edges), Ok(()));
        let largest = (0..count).map(|v| topology.edge_incidence.of(v).len()).max().unwrap_or(0);
        prop_assert!(topology.coloring.color_count() <= largest + 1);
        for link in mesh.edges().iter().chain(mesh.springs()) {
            let piece = |vertex: u32| topology.component_of[vertex as usize];
            prop_assert_eq!(piece(link.tail), piece(link.head));
        }
    }

    #[test]
    fn random_graphs_take_at_most_one_color_more(
        bits in proptest::collection::vec(any::<bool>(), 14 * 13 / 2),
    ) {
        // Every graph of 14 vertices is a set of lines.
        let pairs = (0..14_u32).flat_map(|head| (0..head).map(move |tail| [tail, head]));
        let lines = pairs.zip(bits).filter(|(_, chosen)| *chosen).map(|(pair, _)| pair).collect();
        let place = |vertex: usize| [vertex as f32, 0.0, 0.0];
        let mesh = Mesh::new(MeshDescriptor {
            positions: (0..14).map(place).collect(),
            lines,
            mass: Mass::PerVertex(vec![1.0; 14]),
            ..Default::default()
        });
        let mesh = mesh.expect("lines between distinct places are valid");
        let topology = Topology::new(&mesh);
        prop_assert_eq!(topology.coloring.check(14, &topology.yarns.edges), Ok(()));
        let largest = (0..14).map(|v| topology.edge_incidence.of(v).len()).max().unwrap_or(0);
        prop_assert!(topology.coloring.color_count() <= largest + 1);
    }
}
