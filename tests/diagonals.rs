//! Lines of springs on all kinds of meshes, their solve against f64, and what it may and may not do to cloth.

mod common;

use common::*;
use taut::mesh::diagonals::Diagonals;
use taut::substeps::StepBounds;
use taut::{
    Cloth, EdgeKind, EdgeOverride, Elasticity, Face, Hold, Mass, Mesh, MeshDescriptor, Result, Scene, Settings,
    Substeps, Weave, scene,
};

/// Checks what the diagonals of every mesh must satisfy; returns (families, lines, longest).
fn check(mesh: &Mesh) -> (usize, usize, u32) {
    let diagonals = Diagonals::new(mesh);
    assert_eq!(diagonals, Diagonals::new(mesh), "not deterministic");
    let mut seen = vec![0; mesh.springs().len()];
    for (link, canonical) in diagonals.links.iter().zip(&diagonals.canonical) {
        seen[*canonical as usize] += 1;
        let original = mesh.springs()[*canonical as usize];
        assert_eq!((link.rest, link.stiffness), (original.rest, original.stiffness));
        assert_eq!([link.tail.min(link.head), link.tail.max(link.head)], [original.tail, original.head]);
    }
    assert!(seen.iter().all(|times| *times == 1), "every spring once");
    let mut next = 0;
    for line in &diagonals.lines {
        assert_eq!(line.start, next);
        next = line.end;
        let links = &diagonals.links[line.start as usize..line.end as usize];
        assert!(links.windows(2).all(|pair| pair[0].head == pair[1].tail), "a chain without gaps");
        let mut vertices: Vec<u32> = links.iter().map(|link| link.head).chain([links[0].tail]).collect();
        vertices.sort_unstable();
        vertices.dedup();
        assert_eq!(vertices.len(), links.len() + 1, "none crosses itself or closes");
    }
    assert_eq!(next as usize, mesh.springs().len());
    let mut covered = 0;
    for family in &diagonals.families {
        assert_eq!(family.start, covered);
        covered = family.end;
        let mut owner = vec![u32::MAX; mesh.vertex_count()];
        for index in family.clone() {
            let line = &diagonals.lines[index as usize];
            let links = &diagonals.links[line.start as usize..line.end as usize];
            for vertex in links.iter().flat_map(|link| [link.tail, link.head]) {
                let other = std::mem::replace(&mut owner[vertex as usize], index);
                assert!(other == u32::MAX || other == index, "lines {other} and {index} meet at vertex {vertex}");
            }
        }
    }
    assert_eq!(covered as usize, diagonals.lines.len());
    (diagonals.families.len(), diagonals.lines.len(), diagonals.longest())
}

fn mesh(positions: Vec<[f32; 3]>, faces: Vec<Face>, weave: Option<Weave>) -> Result<Mesh> {
    let mass = Mass::PerVertex(vec![1.0; positions.len()]);
    Mesh::new(MeshDescriptor { positions, faces, mass, weave, ..Default::default() })
}

/// A grid of columns × rows vertices, closed along x or y where it is wrapped.
fn woven(columns: u32, rows: u32, wrapped: [bool; 2]) -> Result<Mesh> {
    let place = |k: u32, of: u32| (k as f32 / of as f32 * std::f32::consts::TAU).sin_cos();
    let mut positions = Vec::new();
    for y in 0..rows {
        for x in 0..columns {
            let ((sin, cos), (up, out)) = (place(x, columns), place(y, rows));
            positions.push(match wrapped {
                [false, _] => [x as f32, y as f32, 0.0],
                [true, false] => [cos, 0.3 * y as f32, sin],
                [true, true] => [(3.0 + out) * cos, up, (3.0 + out) * sin],
            });
        }
    }
    let mut faces = Vec::new();
    for y in 0..rows - u32::from(!wrapped[1]) {
        for x in 0..columns - u32::from(!wrapped[0]) {
            let at = |x: u32, y: u32| y % rows * columns + x % columns;
            faces.push(Face::Quad([at(x, y), at(x + 1, y), at(x + 1, y + 1), at(x, y + 1)]));
        }
    }
    mesh(positions, faces, None)
}

#[test]
fn a_grid_has_two_families_of_diagonals() -> Result<()> {
    // Of n × m vertices: each way one line per vertex of two borders, but for the corners where none starts.
    for (n, m) in [(3, 3), (7, 5), (5, 7), (71, 71), (3, 40)] {
        let expected = 2 * (n + m - 3);
        assert_eq!(check(&woven(n, m, [false; 2])?), (2, expected as usize, n.min(m) - 1), "{n} × {m}");
    }
    assert_eq!(check(&woven(2, 2, [false; 2])?), (1, 2, 1), "the diagonals of one quad do not meet");
    // The line from corner to corner.
    let diagonals = Diagonals::new(&woven(5, 5, [false; 2])?);
    let line = diagonals.lines.iter().find(|line| diagonals.links[line.start as usize].tail == 0).expect("a line");
    let heads: Vec<u32> =
        diagonals.links[line.start as usize..line.end as usize].iter().map(|link| link.head).collect();
    assert_eq!(heads, [6, 12, 18, 24]);
    Ok(())
}

#[test]
fn lines_wind_around_a_tube_and_closed_ones_are_cut() -> Result<()> {
    assert_eq!(check(&woven(8, 6, [true, false])?), (2, 16, 5));
    assert_eq!(check(&woven(7, 12, [true, false])?), (2, 14, 11));
    // A torus of 6 × 6: six closed lines of six springs each way; each cut gives one spring more that is a line.
    let (families, lines, longest) = check(&woven(6, 6, [true, true])?);
    assert_eq!((lines, longest), (24, 5));
    assert!((3..=6).contains(&families), "{families}");
    Ok(())
}

#[test]
fn lines_end_at_irregular_vertices() -> Result<()> {
    // Three quads around one vertex, and a ring of quads around them: the corner of a box.
    let n = 5u32;
    let id = |face: u32, x: u32, y: u32| face * n * n + y * n + x;
    let mut positions = Vec::new();
    for face in 0..3 {
        for (x, y) in (0..n * n).map(|k| (k % n, k / n)) {
            let mut point = [0.0; 3];
            (point[face], point[(face + 1) % 3]) = (x as f32, y as f32);
            positions.push(point);
        }
    }
    // The same points are one vertex.
    let number = |vertex: u32| positions.iter().position(|point| *point == positions[vertex as usize]).unwrap() as u32;
    let mut faces: Vec<[u32; 4]> = Vec::new();
    for face in 0..3 {
        for (x, y) in (0..(n - 1) * (n - 1)).map(|k| (k % (n - 1), k / (n - 1))) {
            faces.push([id(face, x, y), id(face, x + 1, y), id(face, x + 1, y + 1), id(face, x, y + 1)].map(number));
        }
    }
    let mut used: Vec<u32> = faces.iter().flatten().copied().collect();
    used.sort_unstable();
    used.dedup();
    let renumber = |vertex: u32| used.binary_search(&vertex).unwrap() as u32;
    let points = used.iter().map(|vertex| positions[*vertex as usize]).collect();
    let faces = faces.into_iter().map(|face| Face::Quad(face.map(renumber))).collect();
    let corner = mesh(points, faces, None)?;
    let diagonals = Diagonals::new(&corner);
    let (families, ..) = check(&corner);
    assert!((2..=4).contains(&families), "{families}");
    // Those of the three quads end there, and all others go on around the corner.
    let center = renumber(0);
    let ends = |line: &std::ops::Range<u32>| {
        let links = &diagonals.links[line.start as usize..line.end as usize];
        [links[0].tail, links[links.len() - 1].head]
    };
    assert_eq!(diagonals.lines.iter().filter(|line| ends(line).contains(&center)).count(), 3);
    assert!(diagonals.links.iter().filter(|link| [link.tail, link.head].contains(&center)).count() == 3);
    Ok(())
}

#[test]
fn cut_and_woven_quads_have_lines_and_everything_is_covered() -> Result<()> {
    let n = 6u32;
    let positions: Vec<[f32; 3]> = (0..n * n).map(|k| [(k % n) as f32, 0.0, (k / n) as f32]).collect();
    let mut faces = Vec::new();
    for (x, y) in (0..(n - 1) * (n - 1)).map(|k| (k % (n - 1), k / (n - 1))) {
        let [a, b, c, d] = [y * n + x, y * n + x + 1, (y + 1) * n + x + 1, (y + 1) * n + x];
        faces.extend([Face::Triangle([a, b, c]), Face::Triangle([a, c, d])]);
    }
    assert_eq!(check(&mesh(positions, faces, Some(Weave::Sides))?), (1, 2 * n as usize - 3, n - 1));
    // Whatever is accepted as a mesh.
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
        if let Ok(mesh) = mesh(positions, faces, weave) {
            check(&mesh);
            accepted += 1;
        }
    }
    assert!(accepted > 1000, "{accepted}");
    Ok(())
}

/// A line of springs with random places, masses and stiffnesses.
fn line(count: usize, pins: Vec<u32>, stiffness: f64) -> Scene {
    let mut random = Random(count as u64);
    let points: Vec<[f32; 3]> =
        (0..=count).map(|k| [0.1 * k as f32, 0.0, 0.0].map(|x| x + random.within(-0.03, 0.03) as f32)).collect();
    let spring = |k: usize| EdgeOverride {
        ends: [k as u32, k as u32 + 1],
        kind: EdgeKind::Spring { stiffness: (stiffness * Random(k as u64).within(0.5, 2.0)) as f32 },
        rest: Some(0.1),
    };
    let descriptor = MeshDescriptor {
        positions: points.clone(),
        lines: (0..count).map(|k| [k as u32, k as u32 + 1]).collect(),
        mass: Mass::PerVertex((0..=count).map(|_| random.within(0.01, 0.03) as f32).collect()),
        overrides: (0..count).map(spring).collect(),
        pins,
        ..Default::default()
    };
    Scene::new("line", Mesh::new(descriptor).expect("the line is valid"), points)
}

/// What springs at rest do in a step of τ, in f64: δ of (M + (τ² + β τ) Σ k n nᵀ) δ = τ² f, by a dense solve.
fn exact(scene: &Scene, tau: f64, damping: f64) -> Vec<f64> {
    let (mesh, n) = (&scene.mesh, 3 * scene.start.len());
    let (mut matrix, mut right) = (vec![vec![0.0f64; n]; n], vec![0.0f64; n]);
    let free: Vec<bool> = mesh.inverse_masses().iter().map(|w| *w > 0.0).collect();
    for (v, w) in mesh.inverse_masses().iter().enumerate() {
        (0..3).for_each(|axis| matrix[3 * v + axis][3 * v + axis] = if free[v] { 1.0 / f64::from(*w) } else { 1.0 });
    }
    for spring in mesh.springs() {
        let ends = [spring.tail as usize, spring.head as usize];
        let d: Vec<f64> =
            (0..3).map(|axis| f64::from(scene.start[ends[1]][axis]) - f64::from(scene.start[ends[0]][axis])).collect();
        let (extent, k) = (d.iter().map(|x| x * x).sum::<f64>().sqrt(), f64::from(spring.stiffness));
        for (v, sign) in [(ends[0], -1.0), (ends[1], 1.0)].into_iter().filter(|(v, _)| free[*v]) {
            for axis in 0..3 {
                let along = sign * d[axis] / extent;
                right[3 * v + axis] -= tau * tau * k * (extent - f64::from(spring.rest)) * along;
                for (u, other) in [(ends[0], -1.0), (ends[1], 1.0)].into_iter().filter(|(u, _)| free[*u]) {
                    for across in 0..3 {
                        let part = (tau * tau + damping * tau) * k * along * other * d[across] / extent;
                        matrix[3 * v + axis][3 * u + across] += part;
                    }
                }
            }
        }
    }
    // Definite: elimination needs no pivoting.
    for column in 0..n {
        for row in column + 1..n {
            let factor = matrix[row][column] / matrix[column][column];
            (column..n).for_each(|k| matrix[row][k] -= factor * matrix[column][k]);
            right[row] -= factor * right[column];
        }
    }
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|k| matrix[row][k] * right[k]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right
}

#[test]
fn a_line_is_solved_as_woodbury_says() {
    let gpu = gpu();
    for (count, pins) in [(2, vec![]), (2, vec![0]), (9, vec![]), (17, vec![0]), (40, vec![0, 40]), (40, vec![7])] {
        for (stiffness, damping) in [(1.0, 0.0), (100.0, 0.0), (10_000.0, 0.0), (100.0, 0.01), (1e4, 0.3)] {
            let scene = line(count, pins.clone(), stiffness);
            let settings = Settings {
                gravity: [0.0; 3],
                substeps: Substeps::Fixed(1),
                elasticity: Elasticity::Diagonals,
                damping,
                ..Default::default()
            };
            let expected = exact(&scene, 1.0 / 60.0, f64::from(damping));
            let largest = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            let on_cpu = cpu(scene.clone(), settings.clone());
            let there = gpu.as_ref().map(|gpu| Cloth::on_gpu(gpu, scene.clone().with_settings(settings)).unwrap());
            for mut cloth in [Some(on_cpu), there].into_iter().flatten() {
                cloth.step(&frame(FRAME)).expect("the step runs");
                let found = cloth.snapshot().expect("it can be read").positions;
                let moved = found.iter().flatten().zip(scene.start.iter().flatten()).map(|(a, b)| f64::from(a - b));
                let error = moved.zip(&expected).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
                // Positions of up to 4 m are rounded to 2.4e-7 m.
                assert!(error < 5e-7 + 1e-4 * largest, "{count} {pins:?} {stiffness} {damping}: {error} of {largest}");
            }
        }
    }
}

#[test]
fn in_small_steps_it_is_what_explicit_springs_do() {
    let run = |elasticity: Elasticity, substeps: u32| {
        let settings = Settings { elasticity, substeps: Substeps::Fixed(substeps), ..Default::default() };
        let mut cloth = cpu(scene::hang(12).expect("a known scene"), settings);
        (0..20).for_each(|_| cloth.step(&frame(FRAME)).expect("the step runs"));
        cloth.snapshot().expect("no device").positions
    };
    let apart = |a: &[[f32; 3]], b: &[[f32; 3]]| {
        a.iter().zip(b).flat_map(|(a, b)| a.iter().zip(b)).map(|(a, b)| (a - b).abs()).fold(0.0f32, f32::max)
    };
    let coarse = apart(&run(Elasticity::Explicit, 16), &run(Elasticity::Diagonals, 16));
    let fine = apart(&run(Elasticity::Explicit, 128), &run(Elasticity::Diagonals, 128));
    println!("{coarse} {fine}");
    assert!(fine < 0.4 * coarse && fine < 5e-3, "{coarse} {fine}");
}

/// Kinetic energy, height and springs \[J/kg\].
fn energy(cloth: &Cloth) -> f64 {
    let (mesh, velocities) = (cloth.mesh(), cloth.velocities().expect("no device"));
    let positions = cloth.snapshot().expect("no device").positions;
    let (mut energy, mut whole) = (0.0, 0.0);
    for (v, mass) in mesh.masses().iter().map(|mass| f64::from(*mass)).enumerate() {
        let square = velocities[v].iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
        energy += mass * (0.5 * square + 9.81 * f64::from(positions[v][1]));
        whole += mass;
    }
    for spring in mesh.springs() {
        let [a, b] = [spring.tail, spring.head].map(|v| positions[v as usize].map(f64::from));
        let extent = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        energy += 0.5 * f64::from(spring.stiffness) * (extent - f64::from(spring.rest)).powi(2);
    }
    energy / whole
}

#[test]
fn stiffness_does_not_limit_the_step_of_a_curtain_and_gains_nothing() {
    for shear in [20.0, 200.0, 1000.0] {
        let scene = sheared(scene::curtain(48).expect("a known scene"), shear);
        let plan = Settings::default().plan(&StepBounds::new(&scene.mesh), FRAME).expect("a plan");
        assert_eq!((plan.least, plan.diagonals), (8, true), "{shear}");
        let mut cloth = cpu(scene, Settings::default());
        let mut lowest = energy(&cloth);
        for _ in 0..60 {
            cloth.step(&frame(FRAME)).expect("the step runs");
            assert_eq!(cloth.snapshot().expect("no device").report.converged, Some(true), "{shear}");
            let now = energy(&cloth);
            assert!(now < lowest + 1e-3, "{shear}: {lowest} and then {now} J/kg");
            lowest = lowest.min(now);
        }
    }
}

#[test]
fn a_curtain_comes_to_rest_and_its_pins_bear_it() {
    // Springs between pins, too: of a row that is sheared out of its place they pull the pins apart.
    let scene = sheared(scene::curtain(32).expect("a known scene"), 100.0);
    let weight = 9.81 * scene.mesh.masses().iter().map(|mass| f64::from(*mass)).sum::<f64>();
    let settings = Settings { elasticity: Elasticity::Diagonals, drag: 6.0, ..Default::default() };
    let mut cloth = cpu(scene, settings);
    (0..480).for_each(|_| cloth.step(&frame(FRAME)).expect("the step runs"));
    let speed = cloth.velocities().expect("no device").iter().flatten().fold(0.0f32, |most, x| most.max(x.abs()));
    let borne: f64 = cloth.pin_forces().expect("no device").iter().map(|force| f64::from(force[1])).sum();
    println!("{speed} m/s, {borne} N of {weight} N");
    assert!(speed < 1e-3, "{speed} m/s");
    assert!((borne / -weight - 1.0).abs() < 0.01, "{borne} N of {weight} N");
}

/// A strip of so many vertices by six, 1 m long, that hangs from its short side.
fn long_strip(rows: u32) -> Scene {
    let (columns, side) = (6, 1.0 / (rows - 1) as f32);
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let positions: Vec<[f32; 3]> = places.map(|(row, column)| [side * column as f32, 0.0, side * row as f32]).collect();
    let corner = |row: u32, column: u32| row * columns + column;
    let faces = (0..rows - 1).flat_map(|row| (0..columns - 1).map(move |column| corner(row, column)));
    let faces = faces.map(|a| Face::Quad([a, a + 1, a + columns + 1, a + columns])).collect();
    let pins = (0..columns).collect();
    let mesh = Mesh::new(MeshDescriptor { positions: positions.clone(), faces, pins, ..Default::default() });
    Scene::new("strip", mesh.expect("the strip is valid"), positions)
}

/// At loads above a third only what carries half of its tension comes to rest ([`taut::stage::carried`]).
#[test]
fn half_of_the_tension_is_carried_where_it_lets_cloth_rest() {
    for (rows, substeps, load) in [(128, 8, 0.69), (133, 8, 0.74), (256, 16, 0.69)] {
        let scene = long_strip(rows);
        let plan = Settings::default().plan(&StepBounds::new(&scene.mesh), FRAME).expect("a plan");
        assert_eq!((plan.diagonals, plan.carries, plan.least), (true, true, substeps), "{rows}");
        let settings = Settings { drag: 3.0, substeps: Substeps::Fixed(substeps), ..Default::default() };
        // Where edges may be longer by a part in a million nothing is carried.
        for (stretch_max, rests) in [(1.0, true), (1.000_001, false)] {
            let elasticity = Elasticity::Diagonals;
            let mut cloth = cpu(scene.clone(), Settings { stretch_max, elasticity, ..settings.clone() });
            let (mut lowest, mut gained) = (energy(&cloth), 0.0f64);
            for _ in 0..600 {
                cloth.step(&frame(FRAME)).expect("the step runs");
                let now = energy(&cloth);
                (lowest, gained) = (lowest.min(now), gained.max(now - lowest));
            }
            let velocities = cloth.velocities().expect("no device");
            let squares = velocities.iter().flatten().map(|x| f64::from(*x).powi(2)).sum::<f64>();
            let speed = (squares / velocities.len() as f64).sqrt();
            println!("{rows}, load {load}, carried {rests}: {speed:.2e} m/s, gained {gained:.5} J/kg");
            assert_eq!(speed < 1e-3, rests, "{rows} {load}: {speed} m/s");
            if rests {
                assert!(gained < 1e-3, "{rows} {load}: {gained} J/kg");
                let weight = 9.81 * scene.mesh.masses().iter().map(|mass| f64::from(*mass)).sum::<f64>();
                let borne: f64 = cloth.pin_forces().expect("no device").iter().map(|f| f64::from(f[1])).sum();
                assert!((borne / -weight - 1.0).abs() < 0.01, "{borne} N of {weight} N");
            }
        }
    }
}

/// Where the rule says so, and nowhere else.
#[test]
fn the_rule_looks_at_pins_solids_holds_and_bending() {
    let plan = |scene: &Scene, held: bool, settings: &Settings| {
        let bounds = StepBounds::new(&scene.mesh).among(!scene.solids.is_empty(), held);
        let plan = settings.plan(&bounds, FRAME).expect("a plan");
        assert!(!(plan.implicit && plan.diagonals));
        (plan.diagonals, plan.implicit)
    };
    let default = Settings::default();
    let curtain = scene::curtain(71).expect("a known scene");
    assert_eq!(plan(&curtain, false, &default), (true, false), "a pinned row bounds nothing");
    assert_eq!(plan(&curtain, true, &default), (false, true), "a held vertex gathers load");
    assert_eq!(plan(&scene::curtain(12).expect("a known scene"), false, &default), (false, false), "nothing to save");
    assert_eq!(plan(&scene::hang(71).expect("a known scene"), false, &default), (false, false), "pins alone");
    let stiff = sheared(scene::hang(71).expect("a known scene"), 200.0);
    assert_eq!(plan(&stiff, false, &default), (true, false), "windows solve springs again");
    let small = sheared(scene::hang(24).expect("a known scene"), 1000.0);
    assert_eq!(plan(&small, false, &default), (false, true), "there are no windows");
    let falls = Scene { solids: scene::drape(9).expect("a known scene").solids, ..scene::sheet(71).unwrap() };
    assert_eq!(plan(&falls, false, &default), (true, false), "κ ≤ 1 with contact");
    let fine = sheared(scene::curtain(256).expect("a known scene"), 1000.0);
    assert_eq!(plan(&fine, false, &default), (true, false), "stiff and fine");
    let damped = Settings { damping: 0.002, ..Default::default() };
    assert_eq!(plan(&curtain, false, &damped), (true, false));
    assert_eq!(plan(&scene::flag(71).expect("a known scene"), false, &damped), (false, true), "bending is damped, too");
    let implicit = Settings { elasticity: Elasticity::Implicit, ..Default::default() };
    assert_eq!(plan(&curtain, false, &implicit), (false, true), "what was asked for");
    // A cloth finds the same.
    let mut cloth = cpu(curtain, default);
    let recorded =
        |cloth: &Cloth| cloth.program().dispatches().iter().any(|dispatch| dispatch.kernel.name == "project_diagonal");
    assert!(recorded(&cloth));
    cloth.hold(&[2000], Hold::Fixed).expect("a vertex");
    cloth.step(&frame(FRAME)).expect("the step runs");
    assert!(!recorded(&cloth));
}
