//! A pillow: two squares of 1 m, sewn together along their borders, that fill themselves with air and do not stretch.
//!
//! The folds along the seam are those of the paper bag problem: cloth that keeps its lengths cannot be round at its
//! borders. With a path it draws what comes out.
//!
//! `cargo run --release --example pillow -- pillow.png`

use taut::render::{Fabric, Look, PictureFile, Studio, raster};
use taut::stage::volume::enclosed;
use taut::{Cloth, Face, FrameInput, Mesh, MeshDescriptor, Scene, Settings, scene};

/// Vertices per side, frames, and the volume that is asked for \[m³\]; about 0.2 is the most that any bag could hold.
const SIZE: u32 = 25;
const FRAMES: u32 = 90;
const VOLUME: f32 = 0.15;

/// Two sheets with one border, flat, each counter-clockwise seen from outside.
fn pillow() -> taut::Result<Scene> {
    let sheet = scene::sheet(SIZE)?.mesh;
    let mut positions = sheet.positions().to_vec();
    let mut below = Vec::new();
    for v in 0..SIZE * SIZE {
        let border = [v % SIZE, v / SIZE].iter().any(|k| *k == 0 || *k == SIZE - 1);
        below.push(if border { v } else { positions.len() as u32 });
        if !border {
            positions.push(sheet.positions()[v as usize]);
        }
    }
    let mut faces = sheet.faces().to_vec();
    for face in sheet.faces() {
        if let Face::Quad([a, b, c, d]) = face {
            faces.push(Face::Quad([*d, *c, *b, *a].map(|v| below[v as usize])));
        }
    }
    let mesh = Mesh::new(MeshDescriptor { positions: positions.clone(), faces, bending: 1e-5, ..Default::default() })?;
    Ok(Scene::new("pillow", mesh, positions))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings { volume: Some(VOLUME), gravity: [0.0; 3], drag: 4.0, ..Default::default() };
    let mut cloth = Cloth::on_cpu(pillow()?.with_settings(settings))?;
    let mut over = 0;
    for _ in 0..FRAMES {
        cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
        over += u32::from(cloth.snapshot()?.report.converged != Some(true));
    }
    let snapshot = cloth.snapshot()?;
    let volume = enclosed(cloth.mesh(), &snapshot.positions);
    let strain = snapshot.report.strain.ok_or("it was read back")?.max;
    println!("{volume:.4} m³ of {VOLUME}, largest strain {:.3} %, {over} of {FRAMES} frames over 1 %", 100.0 * strain);
    assert!(over == 0 && (0.1..1.01 * f64::from(VOLUME)).contains(&volume));
    if let Some(path) = std::env::args_os().nth(1) {
        let end = Scene { start: snapshot.positions.clone(), ..pillow()? };
        let (size, studio) = ([640, 480], Studio::of(&end));
        let view = raster::View { camera: &studio.camera(size), look: &Look::default(), studio: &studio };
        let picture = raster::draw(size, &view, &[(&Fabric::new(cloth.mesh()), &snapshot.positions)], &[])?;
        let mut file = PictureFile::create(path, size, 0.0)?;
        file.add(picture)?;
        file.finish()?;
    }
    Ok(())
}
