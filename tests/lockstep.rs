//! CPU and GPU compute the same thing: compared after every dispatch, for every solver, scene and adapter.

mod common;

use common::*;
use taut::{Scene, Settings, Substeps, lockstep, scene};

#[test]
fn every_solver_agrees_on_every_scene_and_adapter() {
    for gpu in gpus() {
        for (name, method) in methods() {
            let mut method = Some(method);
            for scene_name in scene::NAMES {
                let method = method.take().unwrap_or_else(|| taut::Method::named(name).unwrap());
                let scene = Scene::named(scene_name, 9).unwrap();
                let settings = Settings { method, substeps: Substeps::Fixed(4), strain_limit: 1e-3, ..Default::default() };
                let mut cloth = cpu(scene, settings);
                // Somewhere in the middle of the motion, not at the start where everything is zero.
                for _ in 0..6 {
                    cloth.step(&frame(FRAME)).unwrap();
                }
                let mut fields = cloth.fields().unwrap().clone();
                let agreement = lockstep::compare(&gpu, cloth.program(), &mut fields, 300).unwrap_or_else(|error| {
                    panic!("{} {name} {scene_name}: {error}", common::name(&gpu))
                });
                println!("{} {name} {scene_name}: {agreement:?}", common::name(&gpu));
                assert!(agreement.dispatches >= 30, "{agreement:?}");
            }
        }
    }
}
