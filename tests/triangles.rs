//! Triangles that lock: what their paths are good for, in iterations of linear solves.

mod common;

use common::*;
use taut::engine::lockstep;
use taut::mesh::yarns::Yarns;
use taut::{
    Auto, Face, FastProjection, Mesh, MeshDescriptor, Method, Preconditioner, Scene, Settings, Substeps, Weave,
};

/// A sheet of n × n vertices of squares that were cut in two, or of triangles that are about equilateral, or of squares
/// whose vertices were moved about and that were cut along the shorter diagonal; hung by a row.
fn sheet(kind: &str, n: u32, weave: Option<Weave>) -> Scene {
    let mut random = Random(7);
    let l = 1.0 / (n - 1) as f32;
    let mut positions = Vec::new();
    for (row, column) in (0..n).flat_map(|row| (0..n).map(move |column| (row, column))) {
        let inner = [row, column].iter().all(|place| (1..n - 1).contains(place));
        let mut shift = || 0.3 * random.within(-1.0, 1.0) as f32;
        let (x, z) = match kind {
            "equilateral" => (column as f32 + 0.5 * (row % 2) as f32, 0.75f32.sqrt() * row as f32),
            "irregular" if inner => (column as f32 + shift(), row as f32 + shift()),
            _ => (column as f32, row as f32),
        };
        positions.push([l * x, 0.0, l * z]);
    }
    let mut faces = Vec::new();
    for (row, column) in (0..n - 1).flat_map(|row| (0..n - 1).map(move |column| (row, column))) {
        let [a, b, c, d] = [[0, 0], [0, 1], [1, 1], [1, 0]].map(|[y, x]| (row + y) * n + column + x);
        let extent = |v: u32, w: u32| {
            let (v, w) = (positions[v as usize], positions[w as usize]);
            (v[0] - w[0]).hypot(v[2] - w[2])
        };
        let first = match kind {
            "equilateral" => row % 2 == 1,
            "irregular" => extent(a, c) < extent(b, d),
            _ => true,
        };
        faces.extend(if first { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] }.map(Face::Triangle));
    }
    let pins = (0..n).collect();
    let descriptor = MeshDescriptor { positions: positions.clone(), faces, pins, weave, ..Default::default() };
    Scene::new("triangles", Mesh::new(descriptor).expect("the sheet is valid"), positions)
}

fn lines(preconditioner: Preconditioner, inner_iterations: Option<u32>) -> Method {
    Method::FastProjection(FastProjection { preconditioner, inner_iterations, ..Default::default() })
}

/// Projections and iterations of their linear solves per frame, and the mean height at the end; the limit holds.
fn run(scene: Scene, method: Method, frames: u32) -> (f64, f64, f64) {
    let mut cloth = cpu(scene, Settings { method, ..Default::default() });
    let (mut outer, mut inner) = (0, 0);
    for _ in 0..frames {
        cloth.step(&frame(FRAME)).expect("a step");
        let report = cloth.snapshot().expect("a snapshot").report;
        assert_eq!(report.converged, Some(true));
        outer += report.iterations;
        inner += report.inner_iterations;
    }
    let height = center(&cloth.snapshot().expect("a snapshot").positions)[1];
    (f64::from(outer) / f64::from(frames), f64::from(inner) / f64::from(frames), height)
}

#[test]
fn paths_go_straight_on_through_triangles_that_lock() {
    for kind in ["cut", "equilateral"] {
        let n = 12;
        let yarns = Yarns::new(&sheet(kind, n, None).mesh);
        assert_eq!(yarns.locked as usize, yarns.edges.len());
        // Rows, columns or what stands for them, and diagonals.
        assert_eq!(yarns.families.len(), 3, "{kind}");
        assert_eq!(yarns.longest(), n - 1, "{kind}");
        let positions = sheet(kind, n, None).start;
        for yarn in &yarns.yarns {
            let edges = &yarns.edges[yarn.edges.start as usize..yarn.edges.end as usize];
            let way = |k: usize| {
                let (tail, head) = (positions[edges[k].tail as usize], positions[edges[k].head as usize]);
                [head[0] - tail[0], head[2] - tail[2]].map(|x| x / edges[k].rest)
            };
            assert!((1..edges.len()).all(|k| way(k)[0] * way(0)[0] + way(k)[1] * way(0)[1] > 0.999), "{kind}");
        }
    }
    let irregular = Yarns::new(&sheet("irregular", 32, None).mesh);
    let mean = irregular.edges.len() as f64 / irregular.yarns.len() as f64;
    assert!(mean > 5.0 && irregular.families.len() <= 16, "{mean}, {} families", irregular.families.len());
    // Threads are threads: nothing locks, and the squares have their own two families.
    let woven = Yarns::new(&sheet("cut", 12, Some(Weave::Sides)).mesh);
    assert_eq!((woven.locked, woven.families.len(), woven.yarns.len()), (0, 2, 24));
}

/// The linear solves of triangles that lock do not grow with the mesh. With the diagonal, solved as far as everywhere
/// else, they take more than a thousand times as many, and grow like the number of edges.
#[test]
fn linear_solves_of_locked_triangles_do_not_grow() {
    // Per frame, measured: cut 29, 28 and 35 at 16 × 16, 32 × 32 and 64 × 64; equilateral 70, 74 and 76; irregular 80,
    // 80 and 127.
    for (kind, most) in [("cut", 45.0), ("equilateral", 90.0), ("irregular", 90.0)] {
        let [small, large] = [16, 32].map(|n| run(sheet(kind, n, None), lines(Preconditioner::Lines, None), 12));
        for (outer, inner, _) in [small, large] {
            assert!(outer <= 5.0 && inner <= most, "{kind}: {outer} projections, {inner} iterations");
        }
        assert!(large.1 < 1.2 * small.1, "{kind}: {} at 16 × 16, {} at 32 × 32", small.1, large.1);
        // That is what one gets by default, too.
        let (_, auto, height) = run(sheet(kind, 16, None), Method::Auto(Auto::default()), 12);
        assert_eq!((auto, height), (small.1, small.2), "{kind}");
        // The other preconditioner moves it alike, at several times the iterations.
        let (_, diagonal, same) = run(sheet(kind, 16, None), lines(Preconditioner::Jacobi, None), 12);
        assert!(diagonal > 3.5 * small.1, "{kind}: {diagonal} with the diagonal, {} along paths", small.1);
        // Within a hundredth of the fall: 1.1 mm of 164 mm on irregular triangles, less on the others.
        assert!((same - height).abs() < 1.6e-3, "{kind}: {same} m and {height} m");
    }
    // Without the bound it can fail: the matrix is singular, and its solution is not wanted.
    let (_, unbounded, _) = run(sheet("cut", 16, None), lines(Preconditioner::Jacobi, Some(889)), 2);
    assert!(unbounded > 1000.0, "{unbounded}");
}

/// Both paths compute the same along paths.
#[test]
fn paths_agree_on_cpu_and_gpu() {
    for gpu in gpus() {
        for (kind, n) in [("cut", 12), ("irregular", 12), ("equilateral", 34)] {
            let mut cloth = cpu(sheet(kind, n, None), Settings { substeps: Substeps::Fixed(4), ..Default::default() });
            (0..5).for_each(|_| cloth.step(&frame(FRAME)).expect("a step"));
            let mut fields = cloth.fields().expect("the cloth is on the CPU").clone();
            let agreement = lockstep::compare(&gpu, cloth.program(), &mut fields, 200);
            let agreement = agreement.unwrap_or_else(|error| panic!("{} {kind} {n}: {error}", name(&gpu)));
            println!("{} {kind} {n}: worst {}", name(&gpu), agreement.worst);
            assert!(agreement.kernels.contains(&"solve_yarn"), "{agreement:?}");
        }
    }
}
