//! Triangle meshes that drape: threads chosen along a warp, shear as a force.

mod common;

use common::{FRAME, cpu, frame, gpu};
use taut::mesh::Face;
use taut::{Auto, Cloth, Error, FastProjection, Mesh, MeshDescriptor, Method, Scene, Settings, Topology, Weave, scene};

/// SplitMix64, as a number in 0 … 1.
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// How squares are cut.
#[derive(Clone, Copy, Debug)]
enum Cut {
    OneWay,
    Alternating,
    AtRandom,
}

/// The squares of a sheet as triangles.
fn cut(quads: &[Face], size: u32, cut: Cut) -> Vec<Face> {
    let mut state = 7;
    let mut other = |corner: u32| match cut {
        Cut::OneWay => false,
        Cut::Alternating => (corner % size + corner / size) % 2 == 1,
        Cut::AtRandom => random(&mut state) < 0.5,
    };
    let halves = |face: &Face| {
        let &[a, b, c, d] = face.vertices() else { panic!("a sheet has quads") };
        if other(a) { [[a, b, d], [b, c, d]] } else { [[a, b, c], [a, c, d]] }
    };
    quads.iter().flat_map(halves).map(Face::from).collect()
}

fn twice_area([a, b, c]: [[f64; 2]; 3]) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// The Delaunay triangulation of points in the unit square (Bowyer 1981, Watson 1981).
fn delaunay(points: &[[f64; 2]]) -> Vec<[u32; 3]> {
    let count = points.len() as u32;
    let mut all = points.to_vec();
    all.extend([[-50.0, -50.0], [60.0, -50.0], [0.0, 80.0]]);
    let circle = |vertices: [u32; 3]| {
        let corners = vertices.map(|vertex| all[vertex as usize]);
        let [a, b, c] = corners;
        let ([bx, by], [cx, cy]) = ([b[0] - a[0], b[1] - a[1]], [c[0] - a[0], c[1] - a[1]]);
        let (b2, c2, d) = (bx * bx + by * by, cx * cx + cy * cy, 2.0 * twice_area(corners));
        let (x, y) = ((cy * b2 - by * c2) / d, (bx * c2 - cx * b2) / d);
        ([a[0] + x, a[1] + y], x * x + y * y)
    };
    let outer = [count, count + 1, count + 2];
    let mut triangles = vec![(outer, circle(outer))];
    for point in 0..count {
        let [x, y] = all[point as usize];
        let mut sides: Vec<[u32; 2]> = Vec::new();
        triangles.retain(|([a, b, c], (center, square))| {
            let inside = (center[0] - x).powi(2) + (center[1] - y).powi(2) < square * (1.0 + 1e-12);
            if inside {
                sides.extend([[*a, *b], [*b, *c], [*c, *a]]);
            }
            !inside
        });
        for &[a, b] in sides.iter().filter(|[a, b]| !sides.contains(&[*b, *a])) {
            let triangle = [a, b, point];
            triangles.push((triangle, circle(triangle)));
        }
    }
    let inner = triangles.into_iter().map(|(vertices, _)| vertices).filter(|v| v.iter().all(|v| *v < count));
    // Points on a side of the square make slivers without area.
    inner.filter(|v| twice_area(v.map(|v| points[v as usize])).abs() > 1e-7).collect()
}

/// An irregular sheet with as many vertices as a grid: points moved by up to `jitter` of an edge from their places, or,
/// where there is none, anywhere and then spread evenly. In metres, in the XZ plane.
fn irregular(size: u32, jitter: Option<f64>) -> (Vec<[f32; 3]>, Vec<Face>) {
    let (mut state, cells) = (1, f64::from(size - 1));
    let mut points = Vec::new();
    let mut border = Vec::new();
    for (row, column) in (0..size).flat_map(|row| (0..size).map(move |column| (row, column))) {
        let ends = [column, row].map(|place| place == 0 || place == size - 1);
        let inner = jitter.is_none() && ends == [false, false];
        let place = |place: u32, end: bool, number: f64| {
            let moved = f64::from(place) + jitter.unwrap_or(0.3) * (2.0 * number - 1.0);
            if inner {
                (0.5 + number * (cells - 1.0)) / cells
            } else if end {
                f64::from(place) / cells
            } else {
                moved / cells
            }
        };
        points.push([place(column, ends[0], random(&mut state)), place(row, ends[1], random(&mut state))]);
        border.push(!inner);
    }
    let mut triangles = delaunay(&points);
    for _ in 0..if jitter.is_none() { 30 } else { 0 } {
        let mut sums = vec![[0.0; 3]; points.len()];
        for triangle in &triangles {
            let corners = triangle.map(|vertex| points[vertex as usize]);
            let area = twice_area(corners).abs();
            for vertex in triangle {
                for corner in corners {
                    let sum = &mut sums[*vertex as usize];
                    *sum = [sum[0] + area * corner[0], sum[1] + area * corner[1], sum[2] + area];
                }
            }
        }
        for ((point, sum), _) in points.iter_mut().zip(&sums).zip(&border).filter(|(_, border)| !**border) {
            *point = [sum[0] / sum[2], sum[1] / sum[2]];
        }
        triangles = delaunay(&points);
    }
    // Normals up, as those of the grid.
    let up = |[a, b, c]: [u32; 3]| {
        if twice_area([a, b, c].map(|v| points[v as usize])) > 0.0 { [a, c, b] } else { [a, b, c] }
    };
    let faces = triangles.into_iter().map(|triangle| up(triangle).into()).collect();
    (points.iter().map(|[x, z]| [*x as f32, 0.0, *z as f32]).collect(), faces)
}

/// [`scene::drape`] with other faces, and perhaps other vertices.
fn drape(size: u32, positions: Vec<[f32; 3]>, faces: Vec<Face>, weave: Option<Weave>) -> Scene {
    let quads = scene::drape(size).expect("a known scene");
    let mesh =
        Mesh::new(MeshDescriptor { positions: positions.clone(), faces, weave, bending: 1e-5, ..Default::default() });
    Scene { mesh: mesh.expect("the sheet is valid"), start: positions, ..quads }
}

/// What a second of falling comes to.
struct Fallen {
    /// Mean height of the border, m.
    hem: f64,
    /// Largest strain along threads within triangles, and the 99th percentile, of all frames.
    threads: [f64; 2],
    /// Frames that were not within the limit.
    over: u32,
}

fn fall(scene: Scene, damping: f32, frames: u32) -> Fallen {
    let border = |[x, _, z]: &[f32; 3]| [x, z].iter().any(|at| **at < 1e-6 || **at > 1.0 - 1e-6);
    let border: Vec<usize> = (0..scene.start.len()).filter(|vertex| border(&scene.start[*vertex])).collect();
    let settings = Settings { damping, ..scene.settings.clone() };
    let mut cloth = cpu(scene, settings);
    let mut fallen = Fallen { hem: 0.0, threads: [0.0; 2], over: 0 };
    for _ in 0..frames {
        cloth.step(&frame(FRAME)).expect("the step runs");
        let snapshot = cloth.snapshot().expect("no device");
        fallen.over += u32::from(snapshot.report.converged != Some(true));
        if let Some(threads) = snapshot.report.strain.as_ref().and_then(|strain| strain.threads) {
            fallen.threads = [fallen.threads[0].max(threads.max), fallen.threads[1].max(threads.p99)];
        }
        let height = |vertex: &usize| f64::from(snapshot.positions[*vertex][1]);
        fallen.hem = border.iter().map(height).sum::<f64>() / border.len() as f64;
    }
    fallen
}

/// Along short pieces of thread linear solves are bounded: to their tolerance one takes hundreds of iterations.
#[test]
fn linear_solves_along_pieces_are_bounded() {
    let size = 40;
    let (positions, faces) = irregular(size, None);
    // The first row hangs.
    let mesh = MeshDescriptor {
        positions: positions.clone(),
        faces,
        weave: Some(Weave::Sides),
        pins: (0..size).collect(),
        ..Default::default()
    };
    let sheet = Scene {
        mesh: Mesh::new(mesh).expect("the sheet is valid"),
        start: positions,
        ..scene::curtain(size).expect("a known scene")
    };
    let run = |inner_iterations: Option<u32>| {
        let projection = FastProjection { inner_iterations, ..Default::default() };
        let method = Method::Auto(Auto { projection, ..Default::default() });
        let mut cloth = cpu(sheet.clone(), Settings { method, ..Default::default() });
        let mut counts = [0; 2];
        for _ in 0..6 {
            cloth.step(&frame(FRAME)).expect("the step runs");
            let report = cloth.snapshot().expect("no device").report;
            assert_eq!(report.converged, Some(true), "{report:?}");
            counts = [counts[0] + report.iterations, counts[1] + report.inner_iterations];
        }
        counts
    };
    let ([outer, inner], [_, unbounded]) = (run(None), run(Some(10_000)));
    println!("{outer} projections, {inner} iterations, {unbounded} without a bound");
    assert!(inner <= 60 * outer && 2 * inner < unbounded, "{outer}: {inner}, {unbounded} without a bound");
}

/// Squares that were cut have the threads of the squares, however they were cut and however they lie.
#[test]
fn cut_squares_get_their_own_threads() {
    let size = 9;
    let sheet = scene::sheet(size).expect("a known scene").mesh;
    let (sin, cos) = 0.7_f32.sin_cos();
    type Bend = fn([f32; 3], f32, f32) -> [f32; 3];
    let shapes: [(&str, Bend); 5] = [
        ("flat", |p, _, _| p),
        ("long cells", |[x, y, z], _, _| [3.0 * x, y, z]),
        ("turned", |[x, _, z], sin, cos| [cos * x - sin * z, 0.0, sin * x + cos * z]),
        ("turned and upright", |[x, _, z], sin, cos| [cos * x - sin * z, sin * x + cos * z, 0.3]),
        ("a tube", |[x, _, z], _, _| [(1.5 * x).sin(), z, (1.5 * x).cos()]),
    ];
    for (shape, bend) in shapes {
        let positions: Vec<[f32; 3]> = sheet.positions().iter().map(|p| bend(*p, sin, cos)).collect();
        let of = |faces: Vec<Face>, weave| {
            let descriptor = MeshDescriptor { positions: positions.clone(), faces, weave, ..Default::default() };
            Mesh::new(descriptor).expect("the sheet is valid")
        };
        let quads = of(sheet.faces().to_vec(), None);
        for way in [Cut::OneWay, Cut::Alternating, Cut::AtRandom] {
            let triangles = of(cut(sheet.faces(), size, way), Some(Weave::Sides));
            assert_eq!(triangles.edges(), quads.edges(), "{shape}, {way:?}");
            assert_eq!(triangles.springs().len(), 64, "{shape}, {way:?}");
            assert_eq!(triangles.patches().len(), 128);
            // So yarns are swept as on quads.
            assert_eq!(Topology::new(&triangles).yarns, Topology::new(&quads).yarns, "{shape}, {way:?}");
        }
        let locked = of(cut(sheet.faces(), size, Cut::OneWay), None);
        assert_eq!((locked.edge_count(), locked.springs().len(), locked.patches().len()), (2 * 72 + 64, 0, 0));
    }
}

/// Quads and triangles beside each other: sides of quads and lines stay what they are, and overrides win.
#[test]
fn quads_lines_and_overrides_are_left_alone() {
    let positions = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0], [3.0, 0.5]];
    let positions: Vec<[f32; 3]> = positions.iter().map(|[x, z]| [*x, 0.0, *z]).collect();
    let faces: Vec<Face> = vec![[0, 3, 2, 1].into(), [1, 2, 5].into(), [1, 5, 4].into(), [4, 5, 6].into()];
    let base = MeshDescriptor { positions, faces, weave: Some(Weave::Along([1.0, 0.0, 0.0])), ..Default::default() };
    let ends = |mesh: &Mesh| mesh.edges().iter().map(|edge| [edge.tail, edge.head]).collect::<Vec<_>>();
    let mesh = Mesh::new(base.clone()).expect("it is valid");
    let pairs = [[0, 1], [0, 3], [1, 2], [1, 4], [2, 3], [2, 5], [4, 5], [4, 6], [5, 6]];
    assert_eq!(ends(&mesh), pairs);
    // Both diagonals of the quad have 20 N/m, the one diagonal of the cut square what both have.
    let stiffness: Vec<_> =
        mesh.springs().iter().map(|spring| ([spring.tail, spring.head], spring.stiffness)).collect();
    assert_eq!(stiffness, [([0, 2], 20.0), ([1, 3], 20.0), ([1, 5], 40.0)]);
    let mesh = Mesh::new(MeshDescriptor { lines: vec![[1, 5]], ..base.clone() }).expect("it is valid");
    assert!(ends(&mesh).contains(&[1, 5]) && mesh.springs().len() == 2);
    let kind = taut::EdgeKind::Spring { stiffness: 7.0 };
    let overrides = vec![taut::EdgeOverride { ends: [1, 4], kind, rest: None }];
    let mesh = Mesh::new(MeshDescriptor { overrides, ..base }).expect("it is valid");
    assert!(!ends(&mesh).contains(&[1, 4]) && mesh.springs().iter().any(|spring| spring.stiffness == 7.0));
}

/// Sheared by γ, triangles hold ½ G γ² per area, as quads do.
#[test]
fn shear_is_as_stiff_as_that_of_quads() {
    let sheet = scene::sheet(9).expect("a known scene").mesh;
    let energy = |faces: Vec<Face>, weave: Option<Weave>, long: f32| {
        let positions: Vec<[f32; 3]> = sheet.positions().iter().map(|[x, y, z]| [long * x, *y, *z]).collect();
        let mesh = Mesh::new(MeshDescriptor { positions: positions.clone(), faces, weave, ..Default::default() });
        let mesh = mesh.expect("it is valid");
        let at = |vertex: u32| positions[vertex as usize].map(f64::from);
        let gamma = 1e-3;
        let sum: f64 = mesh
            .springs()
            .iter()
            .map(|spring| {
                let (a, b) = (at(spring.tail), at(spring.head));
                let (x, z) = (b[0] - a[0], b[2] - a[2]);
                let stretch = (x + gamma * z).hypot(z) - x.hypot(z);
                0.5 * f64::from(spring.stiffness) * stretch * stretch
            })
            .sum();
        sum / (0.5 * 20.0 * gamma * gamma * f64::from(long))
    };
    let one = energy(sheet.faces().to_vec(), None, 1.0);
    assert!((one - 1.0).abs() < 2e-3, "{one}");
    for long in [1.0, 2.0] {
        let woven = energy(cut(sheet.faces(), 9, Cut::Alternating), Some(Weave::Sides), long);
        assert!((woven - 1.0).abs() < 2e-3, "{long}: {woven}");
    }
}

/// Two threads per vertex, also where nothing is regular; none is far from its direction.
#[test]
fn irregular_triangles_have_as_many_threads_as_quads() {
    for jitter in [Some(0.25), Some(0.4), None] {
        let (positions, faces) = irregular(20, jitter);
        let count = faces.len();
        let weave = Some(Weave::Along([1.0, 0.0, 0.0]));
        let mesh = Mesh::new(MeshDescriptor { positions: positions.clone(), faces, weave, ..Default::default() });
        let mesh = mesh.expect("it is valid");
        assert_eq!((mesh.edge_count() + mesh.springs().len(), count), (19 * (3 * 19 + 2), 2 * 19 * 19));
        assert!((mesh.edge_count() as f64 / 760.0 - 1.0).abs() < 0.03, "{jitter:?}: {}", mesh.edge_count());
        for edge in mesh.edges() {
            let [a, b] = [edge.tail, edge.head].map(|vertex| positions[vertex as usize]);
            let (x, z) = ((a[0] - b[0]).abs(), (a[2] - b[2]).abs());
            assert!(x.max(z) >= 0.707 * x.hypot(z), "{edge:?}");
        }
        let mut weights = 0.0;
        for patch in mesh.patches() {
            // w of the rest shape itself: a unit along x, and one across it.
            let at = patch.vertices.map(|vertex| positions[vertex as usize]);
            let w = |[a, b]: [f32; 2]| [0, 1, 2].map(|k| a * (at[1][k] - at[0][k]) + b * (at[2][k] - at[0][k]));
            let (warp, weft) = (w(patch.warp), w(patch.weft));
            assert!((warp[0] - 1.0).abs() < 1e-4 && warp[2].abs() < 1e-4, "{warp:?}");
            assert!((weft[2].abs() - 1.0).abs() < 1e-4 && weft[0].abs() < 1e-4, "{weft:?}");
            weights += 1.0;
        }
        assert_eq!(weights, count as f64);
    }
}

/// A sheet of squares cut in two drapes over a ball as the squares do, and holds 1 % along its threads in every frame.
#[test]
fn cut_squares_drape_as_squares() {
    let size = 36;
    let quads = scene::drape(size).expect("a known scene");
    let (positions, faces) = (quads.start.clone(), quads.mesh.faces().to_vec());
    for damping in [0.0, 0.002] {
        let squares = fall(quads.clone(), damping, 60);
        for way in [Cut::OneWay, Cut::Alternating] {
            let woven = drape(size, positions.clone(), cut(&faces, size, way), Some(Weave::Sides));
            let woven = fall(woven, damping, 60);
            println!("{damping} {way:?}: {} m, squares {} m, threads {:?}", woven.hem, squares.hem, woven.threads);
            assert!((woven.hem - squares.hem).abs() < 0.02, "{way:?}: {} m, squares {} m", woven.hem, squares.hem);
            assert_eq!((woven.over, squares.over), (0, 0), "{way:?}");
            assert!(woven.threads[0] > 1e-3 && woven.threads[0] <= 0.01 + 1e-6, "{way:?}: {:?}", woven.threads);
        }
    }
}

/// So does an irregular mesh. It holds 1 % along the sides that stand for threads; within triangles it is more.
#[test]
fn irregular_triangles_drape_as_squares() {
    let size = 36;
    let squares = fall(scene::drape(size).expect("a known scene"), 0.002, 60);
    for jitter in [Some(0.4), None] {
        let (positions, faces) = irregular(size, jitter);
        let woven = fall(drape(size, positions, faces, Some(Weave::Sides)), 0.002, 60);
        println!("{jitter:?}: {} m, squares {} m, threads {:?}", woven.hem, squares.hem, woven.threads);
        assert!((woven.hem - squares.hem).abs() < 0.03, "{jitter:?}: {} m, squares {} m", woven.hem, squares.hem);
        assert_eq!(woven.over, 0, "{jitter:?}");
    }
}

/// The same on a device, with the limit held in every frame.
#[test]
fn woven_triangles_drape_on_a_gpu() {
    let Some(gpu) = gpu() else { return };
    let (positions, faces) = irregular(12, None);
    let scene = drape(12, positions, faces, Some(Weave::Sides));
    let settings = scene.settings.clone();
    let mut there = Cloth::on_gpu(&gpu, scene.clone()).expect("a cloth");
    let mut here = cpu(scene, settings);
    for _ in 0..20 {
        for cloth in [&mut there, &mut here] {
            cloth.step(&frame(FRAME)).expect("the step runs");
            let report = cloth.snapshot().expect("positions").report;
            assert_eq!(report.converged, Some(true), "{report:?}");
        }
    }
    let [there, here] = [there, here].map(|cloth| common::center(&cloth.snapshot().expect("positions").positions));
    assert!(here[1] < -0.05, "it falls: {here:?}");
    assert!(there.iter().zip(&here).all(|(a, b)| (a - b).abs() < 5e-3), "{there:?} {here:?}");
}

#[test]
fn bad_directions_are_refused() {
    let positions = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let of = |weave| {
        let base = MeshDescriptor { positions: positions.clone(), faces: vec![[0, 1, 2].into()], ..Default::default() };
        Mesh::new(MeshDescriptor { weave: Some(weave), ..base })
    };
    for bad in [[0.0; 3], [f32::NAN, 1.0, 0.0], [1.0, f32::NAN, 0.0], [0.0, f32::INFINITY, 0.0], [1e-20, 0.0, 0.0]] {
        let error = of(Weave::Along(bad)).expect_err("no direction");
        assert!(matches!(error, Error::OutOfRange { field: "weave", index: None, .. }), "{error}");
        let error = of(Weave::PerFace(vec![bad])).expect_err("no direction");
        assert!(matches!(error, Error::OutOfRange { field: "weave", index: Some(0), .. }), "{error}");
    }
    let error = of(Weave::PerFace(Vec::new())).expect_err("none for the face");
    assert!(matches!(error, Error::LengthMismatch { field: "weave", expected: 1, found: 0 }), "{error}");
    // Upright on the triangle: another direction takes its place.
    for direction in [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.0, -1e18]] {
        assert_eq!(of(Weave::Along(direction)).expect("it is valid").patches().len(), 1);
    }
    assert_eq!(of(Weave::Sides).expect("it is valid").edge_count(), 2);
}
