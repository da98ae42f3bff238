//! Runs on the CPU give the same bits on every platform: those of `tests/golden.txt`, which the test of the browser
//! holds WebAssembly against, too. Where bits change on purpose, `TAUT_GOLDEN=write cargo test --test golden` writes
//! the file anew.

use std::fmt::Write as _;
use std::path::Path;

use taut::{Cloth, FrameInput, Scene};

/// FNV-1a of 64 bits (Fowler, Noll, Vo) of the words of positions, in little-endian bytes.
fn digest(positions: &[[f32; 3]]) -> u64 {
    let bytes = positions.as_flattened().iter().flat_map(|x| x.to_bits().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Positions after some frames.
fn run(mut scene: Scene, frames: u32) -> u64 {
    scene.settings.strain_limit = 0.005;
    let mut cloth = Cloth::on_cpu(scene).unwrap();
    for _ in 0..frames {
        cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() }).unwrap();
    }
    digest(&cloth.snapshot().unwrap().positions)
}

#[test]
fn cpu_runs_have_the_bits_of_the_file() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden.txt");
    let text = std::fs::read_to_string(&path).unwrap();
    let (mut found, mut runs) = (String::new(), 0);
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, size, frames, _] = words[..] else {
            assert!(line.starts_with('#'), "{line}");
            writeln!(found, "{line}").unwrap();
            continue;
        };
        let scene = Scene::named(name, size.parse().unwrap()).unwrap();
        writeln!(found, "{name} {size} {frames} {:016x}", run(scene, frames.parse().unwrap())).unwrap();
        runs += 1;
    }
    assert_eq!(runs, 6);
    if std::env::var("TAUT_GOLDEN").is_ok_and(|word| word == "write") {
        std::fs::write(&path, found).unwrap();
        return;
    }
    assert_eq!(found, text, "if this change of bits is meant: TAUT_GOLDEN=write cargo test --test golden");
}

#[test]
fn another_bit_is_another_digest() {
    let positions = [[0.5, 1.0, -2.0], [0.0, 3.0, 0.25]];
    let mut other = positions;
    other[1][0] = f32::from_bits(1);
    assert_ne!(digest(&positions), digest(&other));
    // The empty text, by the definition of the hash.
    assert_eq!(digest(&[]), 0xcbf2_9ce4_8422_2325);
}
