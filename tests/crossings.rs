//! The judge of crossings against brute force in whole numbers, hand-made cases, and cloth that is known to cross
//! itself or not to.

mod common;

use common::{FRAME, frame};
use taut::mesh::surface::{Crossing, Surface};
use taut::{Cloth, Error, Mesh, MeshDescriptor, Scene, scene};

/// A point of a lattice.
type Whole = [i128; 3];

fn minus(a: Whole, b: Whole) -> Whole {
    std::array::from_fn(|axis| a[axis] - b[axis])
}

fn dot(a: Whole, b: Whole) -> i128 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Whole, b: Whole) -> Whole {
    std::array::from_fn(|axis| {
        let (next, last) = ((axis + 1) % 3, (axis + 2) % 3);
        a[next] * b[last] - a[last] * b[next]
    })
}

/// How far apart two convex hulls are, in whole numbers: every direction in which their nearest points can lie is
/// tried, whatever is degenerate, and the widest gap is the distance. 0 where they share a point.
fn apart(first: &[Whole], second: &[Whole]) -> f64 {
    let sides = |hull: &[Whole]| -> Vec<Whole> {
        let pairs = (0..hull.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        pairs.map(|(a, b)| minus(hull[a], hull[b])).collect()
    };
    let (edges, others) = (sides(first), sides(second));
    // From corner to corner.
    let mut directions: Vec<Whole> = first.iter().flat_map(|a| second.iter().map(|b| minus(*a, *b))).collect();
    // From a corner square to an edge.
    let corners = directions.clone();
    for edge in edges.iter().chain(&others) {
        directions.extend(corners.iter().map(|corner| cross(*edge, cross(*corner, *edge))));
    }
    // Square to two edges, of both hulls or of one.
    let pairs = [(&edges, &others), (&edges, &edges), (&others, &others)];
    directions.extend(pairs.iter().flat_map(|(a, b)| a.iter().flat_map(|a| b.iter().map(|b| cross(*a, *b)))));
    let mut most: f64 = 0.0;
    for direction in directions {
        for direction in [direction, minus([0; 3], direction)] {
            let low = first.iter().map(|point| dot(*point, direction)).min().expect("a corner");
            let high = second.iter().map(|point| dot(*point, direction)).max().expect("a corner");
            if low > high {
                most = most.max((low - high) as f64 / (dot(direction, direction) as f64).sqrt());
            }
        }
    }
    most
}

/// Whether boxes around them are apart, which settles most pairs.
fn boxes_apart(first: &[Whole], second: &[Whole]) -> bool {
    (0..3).any(|axis| {
        let along = |hull: &[Whole]| {
            let values = || hull.iter().map(|point| point[axis]);
            (values().min().expect("a corner"), values().max().expect("a corner"))
        };
        let ((low, high), (other_low, other_high)) = (along(first), along(second));
        low > other_high || other_low > high
    })
}

/// Triangles, edges and positions of a cloth on a lattice of `cell` \[m\], a power of two.
struct Brute {
    triangles: Vec<[u32; 3]>,
    edges: Vec<[u32; 2]>,
    places: Vec<Whole>,
    cell: f64,
}

impl Brute {
    fn new(mesh: &Mesh, positions: &[[f32; 3]], cell: f64) -> Self {
        let whole = |coordinate: f32| {
            let cells = f64::from(coordinate) / cell;
            assert_eq!(cells.fract(), 0.0, "{coordinate} is not on the lattice of {cell}");
            cells as i128
        };
        let triangles = mesh.triangles();
        let sides = |[a, b, c]: &[u32; 3]| [[*a, *b], [*b, *c], [*c, *a]].map(|[a, b]| [a.min(b), a.max(b)]);
        let mut edges: Vec<[u32; 2]> = triangles.iter().flat_map(sides).collect();
        edges.sort_unstable();
        edges.dedup();
        Self { triangles, edges, places: positions.iter().map(|point| point.map(whole)).collect(), cell }
    }

    fn at<const COUNT: usize>(&self, vertices: [u32; COUNT]) -> [Whole; COUNT] {
        vertices.map(|vertex| self.places[vertex as usize])
    }

    fn crossings(&self) -> Vec<([u32; 2], [u32; 3])> {
        let mut found = Vec::new();
        for edge in &self.edges {
            for triangle in self.triangles.iter().filter(|triangle| edge.iter().all(|end| !triangle.contains(end))) {
                let (ends, corners) = (self.at(*edge), self.at(*triangle));
                if !boxes_apart(&ends, &corners) && apart(&ends, &corners) == 0.0 {
                    found.push((*edge, *triangle));
                }
            }
        }
        found.sort_unstable();
        found
    }

    fn nearest(&self) -> f64 {
        let mut least = if self.crossings().is_empty() { f64::INFINITY } else { 0.0 };
        for vertex in 0..self.places.len() as u32 {
            for triangle in self.triangles.iter().filter(|triangle| !triangle.contains(&vertex)) {
                least = least.min(apart(&self.at([vertex]), &self.at(*triangle)));
            }
        }
        for (index, edge) in self.edges.iter().enumerate() {
            for other in self.edges[..index].iter().filter(|other| edge.iter().all(|end| !other.contains(end))) {
                least = least.min(apart(&self.at(*edge), &self.at(*other)));
            }
        }
        least * self.cell
    }
}

fn told(crossings: &[Crossing]) -> Vec<([u32; 2], [u32; 3])> {
    crossings.iter().map(|crossing| (crossing.edge, crossing.triangle)).collect()
}

/// Pseudo-random numbers from 0 to 1: SplitMix64.
struct Random(u64);

impl Random {
    fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A sheet of 1 m in random waves, squeezed by a random factor, on a lattice of `cell` \[m\].
fn crumple(mesh: &Mesh, random: &mut Random, cell: f64) -> Vec<[f32; 3]> {
    let waves: Vec<[f64; 4]> = (0..9).map(|_| std::array::from_fn(|_| random.number() - 0.5)).collect();
    let (squeeze, height) = (0.1 + 0.9 * random.number(), 0.6 * random.number());
    let place = |[x, _, z]: &[f32; 3]| {
        let (x, z) = (f64::from(*x), f64::from(*z));
        std::array::from_fn(|axis| {
            let wave = |[a, b, c, d]: &[f64; 4]| d * (12.0 * (a * x + b * z) + 6.0 * c).sin();
            let flat = squeeze * [x, 0.0, z][axis];
            let value = flat + height * waves[3 * axis..3 * axis + 3].iter().map(wave).sum::<f64>();
            ((value / cell).round() * cell) as f32
        })
    };
    mesh.positions().iter().map(place).collect()
}

/// Coarse lattices put corners on corners, edges on edges and layers in one plane; fine ones do not.
#[test]
fn crossings_are_those_of_brute_force_on_random_crumples() {
    let (mut clean, mut crossed, mut total) = (0, 0, 0);
    let mut random = Random(18);
    for number in 0..200 {
        let mesh = scene::sheet(4 + number % 5).expect("a sheet").mesh;
        let cell = [1.0, 1.0 / 4.0, 1.0 / 16.0, 1.0 / 65536.0][number as usize % 4];
        let positions = crumple(&mesh, &mut random, cell);
        let found = Surface::new(&mesh).crossings(&positions).expect("positions are valid");
        let expected = Brute::new(&mesh, &positions, cell).crossings();
        assert_eq!(told(&found), expected, "crumple {number}");
        assert_eq!(Surface::new(&mesh).count_crossings(&positions).expect("valid"), expected.len() as u64);
        clean += usize::from(expected.is_empty());
        crossed += usize::from(!expected.is_empty());
        total += expected.len();
    }
    assert!(clean >= 20 && crossed >= 20 && total > 10_000, "{clean} clean, {crossed} crossed, {total} crossings");
}

#[test]
fn the_nearest_is_that_of_brute_force_on_random_crumples() {
    let mut random = Random(81);
    let mut apart = 0;
    for number in 0..60 {
        let mesh = scene::sheet(3 + number % 3).expect("a sheet").mesh;
        let cell = [1.0 / 16.0, 1.0 / 65536.0, 1.0 / 65536.0][number as usize % 3];
        let positions = crumple(&mesh, &mut random, cell);
        let found = Surface::new(&mesh).nearest(&positions).expect("positions are valid").expect("there are parts");
        let expected = Brute::new(&mesh, &positions, cell).nearest();
        assert!((found - expected).abs() <= 1e-12, "crumple {number}: {found}, not {expected}");
        apart += usize::from(expected > 0.0);
    }
    assert!((20..60).contains(&apart), "{apart}");
}

/// Two triangles without a common vertex at these places \[m\], and how many edges of each meet the other, by the
/// judge.
fn pair(first: [[f32; 3]; 3], second: [[f32; 3]; 3]) -> usize {
    let rest = |at: f32| [[0.0, 0.0, at], [1.0, 0.0, at], [0.0, 1.0, at]];
    let positions = [rest(0.0), rest(1.0)].concat();
    let faces = vec![[0, 1, 2].into(), [3, 4, 5].into()];
    let mesh = Mesh::new(MeshDescriptor { positions, faces, ..Default::default() }).expect("a mesh");
    let positions = [first, second].concat();
    let found = Surface::new(&mesh).crossings(&positions).expect("positions are valid");
    // The other way around, and turned in space, it is the same.
    let turned: Vec<[f32; 3]> = [second, first].concat().iter().map(|[x, y, z]| [*y, *z, *x]).collect();
    assert_eq!(Surface::new(&mesh).count_crossings(&turned).expect("valid"), found.len() as u64, "turned");
    found.len()
}

fn above(value: f32) -> f32 {
    value.next_up()
}

#[test]
fn hand_made_pairs_are_judged_as_they_lie() {
    let floor = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    // Goes down through the floor at a place, and far to the side below and above it.
    let needle = |x: f32, z: f32| [[x, 1.0, z], [x, -1.0, z], [x + 9.0, 1.0, z + 9.0]];
    assert_eq!(pair(floor, needle(0.25, 0.25)), 2, "pierced: one edge through each triangle");
    assert_eq!(pair(floor, [[0.25, 1.0, 0.25], [0.25, -1.0, 0.25], [0.26, -1.0, 0.25]]), 2, "two edges through one");
    assert_eq!(pair(floor, needle(0.75, 0.75)), 0, "beside it");
    assert_eq!(pair(floor, needle(-1e-30, 0.5)), 2, "beside it, but two of its sides go through the other one");

    let stands = |y: f32| [[0.25, y, 0.25], [0.2, 1.0, 0.25], [0.3, 1.0, 0.25]];
    assert_eq!(pair(floor, stands(1e-45)), 0, "above it by the least number there is");
    assert_eq!(pair(floor, stands(0.0)), 2, "a corner on it: two edges end there");
    assert_eq!(pair(floor, stands(-1e-45)), 2, "below it by the least number there is");
    let edge = |x: f32| [[x, 1.0, 1.0 - x], [x, -1.0, 1.0 - x], [9.0, 0.5, 9.0]];
    assert!(pair(floor, edge(0.25)) >= 1 && pair(floor, edge(0.5)) >= 1, "through an edge");
    assert_eq!(pair(floor, [[above(0.5), 1.0, 0.5], [above(0.5), -1.0, 0.5], [9.0, 0.5, 9.0]]), 0, "an ulp beside it");
    assert!(pair(floor, [[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [9.0, 0.5, 9.0]]) >= 1, "through a corner");

    let moved = |x: f32, z: f32| floor.map(|[a, b, c]| [a + x, b, c + z]);
    assert_eq!(pair(floor, moved(0.25, 0.25)), 3, "in one plane: two sides of one, one of the other");
    assert_eq!(pair(floor, moved(0.75, 0.75)), 0, "in one plane, and apart");
    assert_eq!(pair(floor, moved(0.5, 0.5)), 3, "in one plane, a corner on a side");
    assert_eq!(pair(floor, floor.map(|[a, b, c]| [0.1 + a / 4.0, b, 0.1 + c / 4.0])), 3, "in one plane, one within");
    assert_eq!(pair(floor, floor), 6, "one on the other");
    assert_eq!(pair(floor, [[0.25, 0.0, 0.0], [0.5, 0.0, 0.0], [0.3, 0.0, -1.0]]), 4, "along a side");
    assert_eq!(pair(floor, [[1.5, 0.0, 0.0], [2.5, 0.0, 0.0], [1.6, 0.0, -1.0]]), 0, "on the line of a side");

    // A sliver of 1 m that is 2⁻¹⁴⁰ m wide, and one without any width.
    let width = f32::MIN_POSITIVE / 16384.0;
    let sliver = |width: f32| [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.0, width]];
    assert!(width > 0.0 && pair(sliver(width), needle(0.5, 0.0)) >= 1, "a sliver is hit");
    assert_eq!(pair(sliver(width), [[0.5, 1.0, -1e-38], [0.5, -1.0, -1e-38], [0.5, 0.5, -9.0]]), 0, "or missed");
    assert!(pair(sliver(0.0), needle(0.5, 0.0)) >= 1, "a line is hit");
    assert_eq!(pair(sliver(0.0), needle(1.5, 0.0)), 0, "or missed on its own line");
    assert_eq!(pair(sliver(0.0), needle(0.5, 1e-30)), 0, "or beside it");
    assert!(pair(sliver(0.0), [[0.9, 0.0, 0.0], [1.9, 0.0, 0.0], [1.9, 0.5, 0.0]]) >= 1, "along it");
    assert_eq!(pair(sliver(0.0), [[1.1, 0.0, 0.0], [1.9, 0.0, 0.0], [1.9, 0.5, 0.0]]), 0, "behind it");
    let point = |x: f32| [[x, 0.0, 0.25]; 3];
    assert_eq!((pair(floor, point(0.25)), pair(floor, point(-0.1))), (3, 0), "a point on it, and beside it");
    assert_eq!((pair(point(0.5), point(0.5)), pair(point(0.5), point(above(0.5)))), (6, 0), "two points");

    // 1,000 km out, where an ulp is 6 cm.
    let far = 1_000_000.0_f32;
    let floor = floor.map(|[x, y, z]| [far + 8.0 * x, far + y, 8.0 * z - far]);
    let stands =
        |y: f32| [[far + 2.0, y, 2.0 - far], [far + 1.0, far + 9.0, 2.0 - far], [far + 3.0, far + 9.0, 2.0 - far]];
    let heights = [far.next_down(), far, above(far)].map(|y| pair(floor, stands(y)));
    assert_eq!(heights, [2, 2, 0], "far out an ulp decides as well");
}

/// A sheet of four squares of 0.5 m, bent along its middle: neighbors touch there and do not cross, whatever the angle.
#[test]
fn neighbors_touch_and_do_not_cross() {
    // Flat, a corner and a diagonal are nearest; in a right angle, diagonals of two sides of a cube; almost folded,
    // diagonals that cross, 0.25 m from the fold.
    let almost = 0.5 * 0.5_f64.to_radians().sin();
    for (degrees, expected) in [(0.0_f64, 0.5 / 2.0_f64.sqrt()), (90.0, 0.5 / 3.0_f64.sqrt()), (179.0, almost)] {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let mesh = scene::sheet(3).expect("a sheet").mesh;
        let bent = mesh.positions().iter().map(|[x, _, z]| match f64::from(*x) - 0.5 {
            beyond if beyond > 0.0 => [(0.5 + beyond * cos) as f32, (beyond * sin) as f32, *z],
            _ => [*x, 0.0, *z],
        });
        let bent: Vec<[f32; 3]> = bent.collect();
        let surface = Surface::new(&mesh);
        assert_eq!(surface.count_crossings(&bent).expect("valid"), 0, "{degrees}°");
        let nearest = surface.nearest(&bent).expect("valid").expect("there are parts");
        assert!((nearest - expected).abs() < 1e-6, "{degrees}°: {nearest}, not {expected}");
    }
    // Folded flat: the outer columns lie on each other.
    let mesh = scene::sheet(3).expect("a sheet").mesh;
    let folded: Vec<[f32; 3]> = mesh.positions().iter().map(|[x, y, z]| [x.min(1.0 - x), *y, *z]).collect();
    let surface = Surface::new(&mesh);
    assert!(surface.count_crossings(&folded).expect("valid") > 0);
    assert_eq!(surface.nearest(&folded).expect("valid"), Some(0.0));
}

#[test]
fn two_sheets_cross_as_often_as_counted_by_hand() {
    let sheet = || scene::sheet(5).expect("a sheet").mesh;
    let both = Mesh::joined([sheet(), sheet()]).expect("two sheets");
    // One lies, the other stands at x = 0.1 m and goes from 0.6 m below it to 0.4 m above.
    let stands = |[x, _, z]: &[f32; 3]| [0.1, x - 0.6, z + 0.03];
    let mut positions = both.positions().to_vec();
    positions[25..].iter_mut().for_each(|point| *point = stands(point));
    // Of the upright sheet 4 of 5 columns and 4 diagonals go through the other; of the flat one 4 of 5 rows and 4
    // diagonals.
    assert_eq!(Surface::new(&both).count_crossings(&positions).expect("valid"), 16);
    positions[25..].iter_mut().for_each(|point| point[1] += 0.7);
    let surface = Surface::new(&both);
    assert_eq!(surface.count_crossings(&positions).expect("valid"), 0, "lifted off");
    let nearest = surface.nearest(&positions).expect("valid").expect("parts");
    assert!((nearest - 0.1).abs() < 1e-6, "{nearest}");
}

#[test]
fn scenes_start_without_crossings_wherever_they_are() {
    for name in scene::NAMES {
        let Scene { mesh, start, .. } = Scene::named(name, 30).expect("a scene");
        let surface = Surface::new(&mesh);
        for far in [0.0, 1000.0] {
            // Turned, so that it lies in no plane of the axes and is flat but for rounding.
            let turn = |[x, y, z]: [f32; 3]| [far + 0.6 * x - 0.8 * y, far + 0.8 * x + 0.6 * y, z - far];
            let placed: Vec<[f32; 3]> = start.iter().map(|point| turn(*point)).collect();
            assert_eq!(surface.count_crossings(&placed).expect("valid"), 0, "{name} at {far} m");
            let nearest = surface.nearest(&placed).expect("valid");
            assert_eq!(nearest.is_some(), !mesh.faces().is_empty(), "{name}");
            let square = 1.0 / 29.0 / 2.0_f64.sqrt();
            assert!(nearest.is_none_or(|nearest| (nearest - square).abs() < 1e-3), "{name}: {nearest:?}");
        }
    }
}

#[test]
fn what_is_no_place_is_refused() {
    let Scene { mesh, start, .. } = scene::sheet(4).expect("a sheet");
    let surface = Surface::new(&mesh);
    let with = |coordinate: f32| {
        let mut positions = start.clone();
        positions[7][2] = coordinate;
        surface.crossings(&positions).and(surface.nearest(&positions)).expect_err("it is refused")
    };
    assert!(matches!(with(f32::NAN), Error::NotFinite { field: "positions", index: 7 }));
    assert!(matches!(with(f32::INFINITY), Error::NotFinite { index: 7, .. }));
    assert!(matches!(with(1e13), Error::OutOfRange { index: Some(7), .. }));
    let short = surface.count_crossings(&start[1..]).expect_err("it is refused");
    assert!(matches!(short, Error::LengthMismatch { field: "positions", expected: 16, found: 15 }));
}

/// Largest count of crossings of the frames.
fn worst(scene: Scene, frames: u32) -> u64 {
    let surface = Surface::new(&scene.mesh);
    let mut cloth = Cloth::on_cpu(scene).expect("a scene");
    let mut worst = 0;
    for _ in 0..frames {
        cloth.step(&frame(FRAME)).expect("the step runs");
        let positions = cloth.snapshot().expect("a snapshot").positions;
        worst = worst.max(surface.count_crossings(&positions).expect("what is simulated is finite"));
    }
    worst
}

/// The judge sees what happens: nothing keeps cloth from passing through itself.
#[test]
fn a_heap_crosses_itself_and_what_hangs_does_not() {
    let heap = Scene::from_file("examples/scenes/heap.toml").expect("a scene");
    let crossings = worst(heap, 60);
    println!("heap: {crossings} crossings");
    assert!(crossings > 1000, "{crossings}");
    assert_eq!(worst(scene::hang(24).expect("a scene"), 60), 0);
    assert_eq!(worst(scene::incline(24).expect("a scene"), 30), 0);
}
