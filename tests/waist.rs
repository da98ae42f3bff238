//! Figure 7 of Goldenthal et al. 2007 as a figure that can be measured: a waistband that is narrower than the hips
//! stays up if it does not stretch.

mod common;

use common::*;
use taut::{Cloth, scene};

const SIZE: u32 = 24;

/// Heights of the waistband's vertices: lowest, mean, highest \[m\].
fn band(cloth: &Cloth) -> [f32; 3] {
    let positions = cloth.snapshot().expect("a snapshot").positions;
    let heights = || positions[..SIZE as usize].iter().map(|[_, y, _]| *y);
    let mean = heights().sum::<f32>() / SIZE as f32;
    [heights().fold(f32::INFINITY, f32::min), mean, heights().fold(f32::NEG_INFINITY, f32::max)]
}

/// Ten seconds at 0.1 %: the band is where it was within a millimetre, in every frame of the last second too.
#[test]
fn a_waistband_that_does_not_stretch_stays_up() {
    let mut cloth = Cloth::on_cpu(scene::waist(SIZE).unwrap()).unwrap();
    assert_eq!(cloth.settings().strain_limit, 0.001);
    let [_, start, _] = band(&cloth);
    for number in 0..600 {
        cloth.step(&frame(FRAME)).unwrap();
        if number % 30 == 29 || number >= 540 {
            let [lowest, mean, highest] = band(&cloth);
            assert!((start - mean).abs() < 1e-3, "slips {} mm in frame {number}", 1e3 * (start - mean));
            // While the skirt falls into its folds the band may tilt a little.
            assert!(highest - lowest < 8e-3, "tilts by {} mm in frame {number}", 1e3 * (highest - lowest));
        }
    }
    let report = cloth.snapshot().unwrap().report;
    println!("{:?} {:?}", band(&cloth).map(|y| 1e3 * (start - y)), report.strain.as_ref().map(|strain| strain.max));
    assert!(report.strain_before_contact <= 0.001);
}

/// The same cloth, which may be 10 % longer than at rest, goes around the hips and is on its way to the ground.
#[test]
fn a_waistband_that_may_stretch_falls_off() {
    let mut scene = scene::waist(SIZE).unwrap();
    scene.settings.stretch_max = 1.1;
    let mut cloth = Cloth::on_cpu(scene).unwrap();
    let [_, start, _] = band(&cloth);
    for _ in 0..40 {
        cloth.step(&frame(FRAME)).unwrap();
    }
    let [_, mean, highest] = band(&cloth);
    println!("{:?} m", band(&cloth).map(|y| start - y));
    // Below the hips, which are at y = 0, all around.
    assert!(highest < -0.1 && start - mean > 0.2, "{highest} m, {mean} m");
}
