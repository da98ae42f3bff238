//! CPU and GPU compute the same thing: what `taut validate` does not compare, at other sizes, and free runs. The
//! product of solvers and scenes is its part (`tests/run`).

mod common;

use std::sync::Mutex;

use common::required::missing;
use common::*;
use taut::engine::lockstep;
use taut::validate::{Depth, Subject, checks, planted, rushing};
use taut::{
    Cloth, Elasticity, Face, FastProjection, GaussSeidel, Gpu, Hold, Jacobi, Mesh, MeshDescriptor, Method, Pose, Scene,
    Settings, Substeps, Weave, Wind, scene,
};

/// Compares a frame of a cloth that has been moving for ten.
fn after_ten_frames(gpu: &Gpu, scene: Scene, settings: Settings) -> lockstep::Agreement {
    let label = format!("{} {}", name(gpu), scene.name);
    let mut cloth = cpu(scene, settings);
    for _ in 0..10 {
        cloth.step(&frame(FRAME)).unwrap();
    }
    let mut fields = cloth.fields().unwrap().clone();
    let agreement = lockstep::compare(gpu, cloth.program(), &mut fields, 400);
    let agreement = agreement.unwrap_or_else(|error| panic!("{label}: {error}"));
    println!("{label}: worst {}", agreement.worst);
    agreement
}

/// Implicit springs, BDF2 and taut chords.
#[test]
fn what_the_defaults_do_not_use_agrees() {
    for gpu in gpus() {
        for (name, size) in [("chain", 40), ("curtain", 17), ("hang", 20), ("sheet", 12)] {
            let settings = Settings { strain_limit: 1e-3, substeps: Substeps::Fixed(2), ..everything_else() };
            let agreement = after_ten_frames(&gpu, Scene::named(name, size).unwrap(), settings);
            // Nothing loads or shears a sheet that falls freely, and a chain cannot be sheared.
            assert_eq!(agreement.kernels.contains(&"project_chords"), name != "sheet", "{agreement:?}");
            assert!(agreement.kernels.contains(&"recall"), "{agreement:?}");
            assert_eq!(
                agreement.kernels.contains(&"apply_stiffness"),
                matches!(name, "curtain" | "hang"),
                "{agreement:?}"
            );
        }
    }
}

/// Springs along diagonals, of woven triangles, too, with damping and without, beside holds and contact.
#[test]
fn diagonals_agree() {
    let cut = |scene: Scene| {
        let faces = scene.mesh.faces().iter().flat_map(|face| match *face {
            Face::Quad([a, b, c, d]) => vec![Face::Triangle([a, b, c]), Face::Triangle([a, c, d])],
            face => vec![face],
        });
        let mesh = Mesh::new(MeshDescriptor {
            positions: scene.mesh.positions().to_vec(),
            faces: faces.collect(),
            pins: scene.mesh.pins().to_vec(),
            weave: Some(Weave::Sides),
            ..Default::default()
        });
        Scene { mesh: mesh.unwrap(), ..scene }
    };
    for gpu in gpus() {
        for (size, damping) in [(5, 0.0), (33, 0.0), (40, 0.01), (70, 0.0)] {
            let settings = Settings {
                elasticity: Elasticity::Diagonals,
                damping,
                substeps: Substeps::Fixed(4),
                ..Default::default()
            };
            for scene in [scene::curtain(size).unwrap(), scene::hang(size).unwrap(), cut(scene::curtain(size).unwrap())]
            {
                let windows = scene.name == "hang" && size >= 32;
                let agreement = after_ten_frames(&gpu, scene, settings.clone());
                assert!(agreement.kernels.contains(&"project_diagonal"), "{agreement:?}");
                assert_eq!(agreement.kernels.contains(&"project_diagonal_pieces"), windows, "{agreement:?}");
            }
        }
        let agreement = after_ten_frames(&gpu, scene::curtain(9).unwrap(), heavy());
        assert!(agreement.kernels.contains(&"carry_tension"), "{agreement:?}");
        let mut cloth = crowded(9, Settings { elasticity: Elasticity::Diagonals, ..Default::default() });
        (0..5).for_each(|_| cloth.step(&frame(FRAME)).unwrap());
        let mut fields = cloth.fields().unwrap().clone();
        let agreement = lockstep::compare(&gpu, cloth.program(), &mut fields, 600).unwrap();
        println!("{} crowded: worst {}", name(&gpu), agreement.worst);
        assert!(agreement.kernels.contains(&"project_diagonal"), "{agreement:?}");
    }
}

/// Springs that hold vertices, led to a target and moved with the cloth, beside explicit and implicit shear.
#[test]
fn soft_holds_agree() {
    for gpu in gpus() {
        for elasticity in [Elasticity::Explicit, Elasticity::Implicit, Elasticity::Diagonals] {
            for stiffness in [30.0, 1e9] {
                let settings =
                    Settings { elasticity, substeps: Substeps::Fixed(4), strain_limit: 1e-3, ..Default::default() };
                let mut cloth = cpu(scene::sheet(9).unwrap(), settings);
                // Not two of one thread: as long as their distance it would be singular.
                cloth.hold(&[0, 40], Hold::Soft { stiffness }).unwrap();
                (0..10).for_each(|_| cloth.step(&frame(FRAME)).unwrap());
                cloth.teleport(Pose { rotation: [0.0, 0.6, 0.0, 0.8], translation: [0.1, 0.2, 0.3] }).unwrap();
                cloth.step(&frame(FRAME)).unwrap();
                let mut fields = cloth.fields().unwrap().clone();
                let target = fields.get::<[f32; 4]>("anchors").unwrap()[40];
                fields.get_mut::<[f32; 4]>("commands").unwrap()[40] = [target[0] + 0.01, target[1], target[2], 1.0];
                let agreement = lockstep::compare(&gpu, cloth.program(), &mut fields, 400);
                let agreement = agreement.unwrap_or_else(|error| panic!("{} {stiffness}: {error}", name(&gpu)));
                println!("{} {elasticity:?} {stiffness}: worst {}", name(&gpu), agreement.worst);
                assert!(agreement.kernels.contains(&"hold_vertex"), "{agreement:?}");
                let implicit = elasticity == Elasticity::Implicit;
                assert_eq!(agreement.kernels.contains(&"elastic_residual"), implicit, "{agreement:?}");
            }
        }
    }
}

/// Gusts and limited areas, with explicit and implicit springs, and with a wind that the step limit holds back.
#[test]
fn wind_and_areas_agree() {
    for gpu in gpus() {
        for (name, size) in [("curtain", 12), ("hang", 12), ("sheet", 12)] {
            for (elasticity, velocity) in
                [(Elasticity::Explicit, [2.0, 1.0, 5.0]), (Elasticity::Implicit, [0.0, 80.0, 300.0])]
            {
                let wind = windy().wind.map(|wind| Wind { velocity, ..wind });
                let substeps = Substeps::Fixed(4);
                let settings = Settings { wind, elasticity, substeps, strain_limit: 1e-3, ..windy() };
                let agreement = after_ten_frames(&gpu, Scene::named(name, size).unwrap(), settings);
                for kernel in ["blow", "limit_area", "apply_area"] {
                    assert!(agreement.kernels.contains(&kernel), "{kernel}: {agreement:?}");
                }
            }
        }
    }
}

/// Sheets that lie on each other: plots, the list, response and fence.
#[test]
fn self_collision_agrees() {
    for gpu in gpus() {
        for size in [5, 7] {
            let cloth = own_heap(size);
            let mut fields = cloth.fields().unwrap().clone();
            let agreement = lockstep::compare(&gpu, cloth.program(), &mut fields, 2000);
            let agreement = agreement.unwrap_or_else(|error| panic!("{} {size}: {error}", name(&gpu)));
            println!("{} own heap {size}: worst {}", name(&gpu), agreement.worst);
            for kernel in ["find_pairs", "sift_pairs", "press_pairs", "fence_trim", "calm_apply", "compare_plots"] {
                assert!(agreement.kernels.contains(&kernel), "{kernel}: {agreement:?}");
            }
        }
    }
}

/// Sheets that pass through each other: the sort, the search for crossings, and what draws them apart. Places within a
/// bucket may be in any order, and what is sorted of them is equal.
#[test]
fn untangling_agrees() {
    for gpu in gpus() {
        for size in [5, 7] {
            let cloth = tangled(size);
            let mut fields = cloth.fields().unwrap().clone();
            let agreement = lockstep::compare(&gpu, cloth.program(), &mut fields, 2000);
            let agreement = agreement.unwrap_or_else(|error| panic!("{} {size}: {error}", name(&gpu)));
            println!("{} tangled {size}: worst {}", name(&gpu), agreement.worst);
            for kernel in ["scatter_items", "rank_items", "open_tangles", "seek_tangles", "note_tangles", "untangle"] {
                assert!(agreement.kernels.contains(&kernel), "{kernel}: {agreement:?}");
            }
        }
    }
}

/// What the loops of this file run over: an adapter that was expected and is not there is missed by its name.
#[test]
fn adapters_that_are_asked_for_are_missed() {
    let found = [("vulkan", "llvmpipe (LLVM 15.0.6, 256 bits)"), ("gl", "llvmpipe")];
    let found = found.map(|(api, name)| (api.to_owned(), name.to_owned()));
    for (required, expected) in [
        ("1", &[][..]),
        ("vulkan,gl", &[]),
        ("Vulkan, LLVMpipe,", &[]),
        ("vulkan,metal", &["metal"]),
        ("swiftshader,1", &["swiftshader"]),
    ] {
        assert_eq!(missing(required, &found), expected, "{required}");
    }
    // The name of an API is no part of a name, and nothing is no adapter.
    assert_eq!(missing("gl", &[("vulkan".to_owned(), "Single GL".to_owned())]), ["gl"]);
    assert_eq!(missing("1", &[]), ["1"]);
    assert_eq!(missing("vulkan,gl", &found[..1]), ["gl"]);
}

/// Sheets that are too fast: all ways are shortened.
#[test]
fn slowing_down_agrees() {
    for gpu in gpus() {
        let cloth = rushing(4).expect("the sheets and the settings are valid");
        let mut fields = cloth.fields().unwrap().clone();
        let agreement = lockstep::compare(&gpu, cloth.program(), &mut fields, 2000);
        let agreement = agreement.unwrap_or_else(|error| panic!("{}: {error}", name(&gpu)));
        println!("{} rushing: worst {}", name(&gpu), agreement.worst);
        assert!(agreement.kernels.contains(&"slow_down"), "{agreement:?}");
    }
}

#[test]
fn a_planted_error_is_named_at_its_first_dispatch() {
    for adapter in adapters() {
        let subject = Subject::open(adapter).unwrap();
        let failure = planted().run(&subject).expect_err("the planted error must be noticed");
        let mismatch = failure.mismatch.expect("it is a difference of two values");
        assert_eq!((mismatch.kernel, mismatch.field, mismatch.word), ("planted", "forces", 0));
        assert!((mismatch.cpu - 1e-3).abs() < 1e-9 && (mismatch.gpu - 1.001e-3).abs() < 1e-9, "{mismatch}");
        // begin_frame, relocate, forget_tension, gather_springs come before it.
        assert_eq!(mismatch.dispatch, 4, "{mismatch}");
    }
}

/// Adapters of one processor share its two cores: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn free_runs_with_fixed_counts_stay_together() {
    let _alone = ALONE.lock();
    for gpu in gpus() {
        for method in [
            || Method::GaussSeidel(GaussSeidel { sweeps: 10, sweeps_per_check: 10, seed: None }),
            || Method::Jacobi(Jacobi { sweeps: 20, sweeps_per_check: 20, ..Default::default() }),
            || {
                let (inner_iterations, tolerance) = (Some(12), 1e-6);
                Method::FastProjection(FastProjection {
                    iterations: 1,
                    inner_iterations,
                    tolerance,
                    ..Default::default()
                })
            },
        ] {
            // A limit that is never reached keeps the counts fixed.
            let settings = || Settings {
                method: method(),
                strain_limit: 1e-5,
                substeps: Substeps::Fixed(4),
                ..Default::default()
            };
            let mut here = cpu(scene::curtain(9).unwrap(), settings());
            let mut there = Cloth::on_gpu(&gpu, scene::curtain(9).unwrap().with_settings(settings())).unwrap();
            for _ in 0..5 {
                here.step(&frame(FRAME)).unwrap();
                there.step(&frame(FRAME)).unwrap();
            }
            let (here, there) = (here.snapshot().unwrap(), there.snapshot().unwrap());
            assert_eq!(here.report.iterations, there.report.iterations);
            let most = here.positions.iter().flatten().zip(there.positions.iter().flatten());
            let most = most.fold(0.0f32, |most, (a, b)| most.max((a - b).abs()));
            // Twenty substeps of a curtain, box 1 m. (The row between the two pins of `hang` is nearly straight: there
            // a rounding error of a length is a thousand times as large in the sag.)
            let solver = method().solver().name();
            assert!(most < 1e-5, "{} {solver}: {most} m apart", name(&gpu));
        }
    }
}

/// A second of what `taut validate` runs for ten: centre of mass, energy, and the force that bears the cloth.
#[test]
fn a_second_of_motion_stays_together() {
    let _alone = ALONE.lock();
    for adapter in adapters() {
        let subject = Subject::open(adapter).unwrap();
        for check in checks(Depth::Quick).into_iter().filter(|check| check.name.starts_with("long/")) {
            let seen =
                check.run(&subject).unwrap_or_else(|error| panic!("{} {}: {error}", subject.label(), check.name));
            println!("{} {}: {}", subject.label(), check.name, seen.text);
        }
    }
}

#[test]
fn free_runs_to_a_limit_agree_in_what_matters() {
    let _alone = ALONE.lock();
    for gpu in gpus() {
        for solver in solvers() {
            let settings = || Settings { method: method(solver), ..Default::default() };
            let mut here = cpu(scene::hang(9).unwrap(), settings());
            let mut there = Cloth::on_gpu(&gpu, scene::hang(9).unwrap().with_settings(settings())).unwrap();
            for _ in 0..30 {
                here.step(&frame(FRAME)).unwrap();
                there.step(&frame(FRAME)).unwrap();
            }
            let (here, there) = (here.snapshot().unwrap(), there.snapshot().unwrap());
            for snapshot in [&here, &there] {
                assert_eq!(snapshot.report.converged, Some(true), "{} {solver}", name(&gpu));
            }
            for (a, b) in center(&here.positions).into_iter().zip(center(&there.positions)) {
                assert!((a - b).abs() < 1e-3, "{} {solver}: centers {a} and {b}", name(&gpu));
            }
        }
    }
}
