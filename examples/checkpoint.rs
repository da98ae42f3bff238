//! Stop, save, and go on later to the last bit.
//!
//! `cargo run --example checkpoint` simulates half a second, saves the state to a file, simulates another half; then a
//! new cloth takes the file and simulates that half again. Both end in the same positions.

use std::io::Write;

use taut::io::atomic::AtomicFile;
use taut::{Cloth, FrameInput, scene};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let frame = FrameInput { dt: 1.0 / 60.0, ..Default::default() };
    let make = || Cloth::on_cpu(scene::drape(24)?);
    let path = std::env::temp_dir().join(format!("taut-checkpoint-{}.taut", std::process::id()));

    let mut cloth = make()?;
    for _ in 0..30 {
        cloth.step(&frame)?;
    }
    // Under a temporary name until it is complete: a crash leaves the old checkpoint, never half of a new one.
    let mut file = AtomicFile::create(&path)?;
    file.write_all(&cloth.checkpoint()?)?;
    file.finish()?;
    for _ in 0..30 {
        cloth.step(&frame)?;
    }

    let mut later = make()?;
    later.restore(&std::fs::read(&path)?)?;
    println!("restored at frame {}, {} bytes", later.frame(), std::fs::metadata(&path)?.len());
    for _ in 0..30 {
        later.step(&frame)?;
    }
    std::fs::remove_file(&path)?;
    let (first, second) = (cloth.snapshot()?, later.snapshot()?);
    assert_eq!(first.positions, second.positions);
    println!("both at frame {}, equal to the last bit; largest strain {:.3e}", later.frame(), strain(&second));

    // A damaged file is refused, and changes nothing.
    let mut damaged = cloth.checkpoint()?;
    damaged[100] ^= 1;
    println!("damaged: {}", later.restore(&damaged).expect_err("a wrong checksum is noticed"));
    Ok(())
}

fn strain(snapshot: &taut::Snapshot) -> f64 {
    snapshot.report.strain.as_ref().map_or(f64::NAN, |strain| strain.max)
}
