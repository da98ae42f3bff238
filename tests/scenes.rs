//! The built-in scenes hold 1 % with automatic substeps, with every solver.

mod common;

use common::*;
use taut::{Method, Scene, Settings, scene};

/// Two seconds of a scene; frames over the limit and the worst strain.
fn run(name: &str, size: u32, solver: &str) -> (u32, f64) {
    let settings = Settings { method: Method::named(solver).unwrap(), ..Default::default() };
    let mut cloth = cpu(Scene::named(name, size).unwrap(), settings);
    let (mut over, mut worst) = (0, 0.0f64);
    for _ in 0..120 {
        cloth.step(&frame(FRAME)).unwrap();
        let report = cloth.snapshot().unwrap().report;
        over += u32::from(report.converged != Some(true));
        worst = worst.max(report.strain.unwrap().max);
    }
    (over, worst)
}

fn all_hold(solver: &str) {
    for name in scene::NAMES.into_iter().filter(|name| *name != "patch") {
        for size in [24, 32] {
            let (over, worst) = run(name, size, solver);
            assert_eq!(over, 0, "{solver} {name} {size}: {over} frames over the limit, worst strain {worst}");
        }
    }
    // Singular at its solution: it must stay finite and report honestly, whatever it reaches.
    let (over, worst) = run("patch", 24, solver);
    assert!(worst.is_finite() && (over > 0) == (worst > 0.01), "{solver} patch: {over} over, worst {worst}");
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
