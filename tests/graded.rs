//! Meshes of uneven spacing, as garments have at hems and necks: edges of 0.8 to 50 mm in one sheet.

mod common;

use common::*;
use taut::substeps::StepBounds;
use taut::{Cloth, Face, Mesh, MeshDescriptor, Scene, Settings, scene};

const COLUMNS: usize = 45;
const ROWS: usize = 33;

/// A sheet of 1 m × 0.8 m, fine towards its left and lower sides, with rest positions moved about by up to `jitter`
/// \[m\], pinned by its upper corners; upright or lying.
fn sheet(even: bool, jitter: f64, lying: bool) -> Scene {
    let mut random = Random(7);
    let mut positions = Vec::new();
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            let (a, b) = (column as f64 / (COLUMNS - 1) as f64, row as f64 / (ROWS - 1) as f64);
            let [x, y] = if even { [a, 0.8 * b] } else { [a.powf(1.5), 0.8 * b * b] };
            let [x, y] = [x, y].map(|place| (place + random.within(-jitter, jitter)) as f32);
            positions.push(if lying { [x, 0.0, -y] } else { [x, y, 0.0] });
        }
    }
    let mut faces = Vec::new();
    for row in 0..ROWS - 1 {
        for column in 0..COLUMNS - 1 {
            let v = row * COLUMNS + column;
            faces.push(Face::Quad([v, v + 1, v + COLUMNS + 1, v + COLUMNS].map(|v| v as u32)));
        }
    }
    let top = ((ROWS - 1) * COLUMNS) as u32;
    let pins = vec![top, top + COLUMNS as u32 - 1];
    let descriptor = MeshDescriptor { positions: positions.clone(), faces, pins, ..Default::default() };
    Scene::new("graded", Mesh::new(descriptor).expect("the sheet is valid"), positions)
}

/// Frames over the limit, and mean number of substeps, of a second.
fn run(scene: Scene) -> (u32, f64) {
    let mut cloth = cpu(scene, Settings::default());
    let (mut over, mut substeps) = (0, 0);
    for _ in 0..60 {
        cloth.step(&frame(FRAME)).expect("the step runs");
        let report = cloth.snapshot().expect("no device").report;
        over += u32::from(report.converged != Some(true));
        substeps += report.planned_substeps;
    }
    (over, f64::from(substeps) / 60.0)
}

#[test]
fn uneven_sheets_hold_every_frame_at_four_times_the_cost() {
    for lying in [false, true] {
        let (over, even) = run(sheet(true, 0.0, lying));
        assert_eq!(over, 0);
        for jitter in [0.0, 3e-4] {
            let (over, substeps) = run(sheet(false, jitter, lying));
            println!("lying {lying}, jitter {jitter}: {over} over, {substeps} substeps, {even} if even");
            assert_eq!(over, 0, "lying {lying}, jitter {jitter}");
            assert!(substeps <= 4.0 * even, "lying {lying}, jitter {jitter}: {substeps} {even}");
        }
    }
}

#[test]
fn uneven_sheets_hold_on_a_gpu() {
    let Some(gpu) = gpu() else { return };
    let mut cloth = Cloth::on_gpu(&gpu, sheet(false, 3e-4, true)).unwrap();
    let mut twin = cpu(sheet(false, 3e-4, true), Settings::default());
    let (mut grown, mut missed) = (false, false);
    for _ in 0..10 {
        for cloth in [&mut cloth, &mut twin] {
            cloth.step(&frame(FRAME)).unwrap();
            let report = cloth.snapshot().unwrap().report;
            assert_eq!(report.converged, Some(true), "{report:?}");
        }
        let [here, there] = [&cloth, &twin].map(|cloth| cloth.snapshot().unwrap().report);
        grown |= here.planned_substeps > 26 && there.planned_substeps > 26;
        missed |= [here, there].iter().all(|report| 8 * report.missed_substeps > report.substeps);
    }
    assert!(grown || !missed, "substeps that missed asked for more on both");
}

#[test]
fn what_decides_the_step_is_named() {
    let scene = sheet(false, 0.0, false);
    let bounds = StepBounds::new(&scene.mesh);
    // The free corner with the smallest quad.
    assert_eq!(bounds.stiffest_vertex(), Some(0));
    assert_eq!(bounds.grading(), 6.5);
    let mut cloth = cpu(scene, Settings::default());
    assert_eq!(cloth.most_loaded_edge().expect("no device"), None, "nothing was taut yet");
    cloth.step(&frame(FRAME)).expect("the step runs");
    let edge = cloth.most_loaded_edge().expect("no device").expect("it hangs");
    // At a pin, where everything hangs.
    assert!(edge.ends.iter().any(|end| cloth.mesh().pins().contains(end)), "{edge:?}");
    let report = cloth.snapshot().expect("no device").report;
    let h = FRAME / report.planned_substeps as f32;
    assert!((edge.load * h * h / report.load - 1.0).abs() < 1e-4, "{edge:?} {report:?}");
    // Even sheets are cut as ever.
    for scene in [scene::hang(31), scene::curtain(16), scene::chain(9)] {
        assert_eq!(StepBounds::new(&scene.expect("a known scene").mesh).grading(), 1.0);
    }
}

#[test]
fn one_short_edge_does_not_decide_for_all() {
    // A vertex next to its neighbor: named, but the substeps are those of the sheet.
    let even = sheet(true, 0.0, true);
    let mut positions = even.mesh.positions().to_vec();
    positions[500] = positions[501];
    positions[500][0] -= 1e-4;
    let descriptor = MeshDescriptor {
        positions,
        faces: even.mesh.faces().to_vec(),
        pins: even.mesh.pins().to_vec(),
        ..Default::default()
    };
    let mesh = Mesh::new(descriptor).expect("it is valid");
    assert_eq!(StepBounds::new(&mesh).grading(), 1.0);
    let quality = mesh.quality();
    assert_eq!(quality.shortest_edge.map(|(_, ends)| ends), Some([500, 501]));
    assert!(quality.edge_ratio() > 100.0 && quality.to_string().contains("(500–501)"), "{quality}");
}

#[test]
fn folded_quads_are_counted() {
    assert!(sheet(false, 0.0, false).mesh.quality().folded.is_empty());
    let quality = sheet(false, 2e-3, false).mesh.quality();
    println!("{quality}");
    assert!(quality.folded.len() > 20, "{quality:?}");
    assert!(quality.to_string().contains("folded quads (first: face "), "{quality}");
    // They are where rows or columns are closer than the jitter may move their vertices towards each other: 4 mm.
    let place = |face: &u32| [*face as usize / (COLUMNS - 1), *face as usize % (COLUMNS - 1)];
    assert!(quality.folded.iter().map(place).all(|[row, column]| row < 3 || column == 0), "{quality:?}");
}
