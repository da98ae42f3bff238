//! The built-in scenes hold 1 % with automatic substeps, with every solver; the one that is singular also less.

mod common;

use common::*;
use taut::scene::Noise;
use taut::{Method, Scene, Settings, scene};

/// Some frames of a scene with its own settings; frames over the limit and the worst strain.
fn run(name: &str, size: u32, frames: u32, solver: &str) -> (u32, f64) {
    let scene = Scene::named(name, size).unwrap();
    let settings = Settings { method: Method::named(solver).unwrap(), ..scene.settings.clone() };
    let mut cloth = cpu(scene, settings);
    let (mut over, mut worst) = (0, 0.0f64);
    for _ in 0..frames {
        cloth.step(&frame(FRAME)).unwrap();
        let report = cloth.snapshot().unwrap().report;
        over += u32::from(report.converged != Some(true));
        worst = worst.max(report.strain.unwrap().max);
    }
    (over, worst)
}

fn all_hold(solver: &str) {
    for name in scene::NAMES.into_iter().filter(|name| *name != "patch") {
        // Solids and wind cost more: with the others than the default they are small.
        let plain = ["chain", "curtain", "hang", "sheet"].contains(&name);
        let tries = match (plain, solver) {
            (true, _) => [(24, 120), (32, 120)],
            (false, "auto") => [(24, 90), (32, 60)],
            (false, _) => [(12, 90), (17, 60)],
        };
        for (size, frames) in tries {
            let (over, worst) = run(name, size, frames, solver);
            assert_eq!(over, 0, "{solver} {name} {size}: {over} frames over the limit, worst strain {worst}");
        }
    }
    // Singular at its solution, so that it may miss. Measured: Gauss-Seidel one frame by 0.3 % of the limit, the others
    // none.
    let (over, worst) = run("patch", 24, 120, solver);
    assert!(over <= 2 && worst < 0.0102, "{solver} patch: {over} over, worst {worst}");
}

/// A row as long as the distance of its pins: no motion along it changes its length, and it bears many times its load.
#[test]
fn a_straight_row_between_pins_holds_small_limits() {
    let held = |size: u32, limit: f32, middle: Option<f32>| {
        let scene = Scene::named("patch", size).unwrap().with_noise(Noise { amplitude: 1e-5, seed: 1 }).unwrap();
        let settings = Settings { strain_limit: limit, middle_strain: middle, ..scene.settings.clone() };
        let mut cloth = cpu(scene, settings);
        (0..60).all(|_| {
            cloth.step(&frame(FRAME)).unwrap();
            cloth.snapshot().unwrap().report.converged == Some(true)
        })
    };
    for (size, limit) in [(24, 0.001), (32, 0.001), (71, 0.001), (24, 0.0003)] {
        assert!(held(size, limit, None), "{size} {limit}");
    }
    // What it takes: substeps that end at 1 % in the course of a frame throw the row up.
    assert!(!held(24, 0.0003, Some(0.01)));
}

#[test]
fn auto_holds_every_scene() {
    all_hold("auto");
}

#[test]
fn fast_projection_holds_every_scene() {
    all_hold("fast-projection");
}

#[test]
fn gauss_seidel_holds_every_scene() {
    all_hold("gauss-seidel");
}

#[test]
fn jacobi_holds_every_scene() {
    all_hold("jacobi");
}

#[test]
fn yarn_sweep_holds_every_scene() {
    all_hold("yarn-sweep");
}
