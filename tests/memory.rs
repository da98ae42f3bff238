//! What a cloth is said to need, against what it has.

mod common;

use common::*;
use taut::engine::fields::{Domain, Sizes};
use taut::mesh::topology::Topology;
use taut::{Cloth, Error, MemoryEstimate, Scene, Settings, scene, wgpu};

#[test]
fn sizes_of_scenes_are_known_without_making_them() {
    for name in scene::NAMES {
        for size in [3, 7, 8, 9, 10, 33, 64] {
            let made = Scene::named(name, size).expect("a scene");
            let Topology { yarns, windows, diagonals, .. } = Topology::new(&made.mesh);
            let expected = Sizes::of_mesh(&made.mesh, &made.solids, yarns.yarns.len());
            assert_eq!(Scene::expected_sizes(name, size).expect("sizes"), expected, "{name} {size}");
            let cloth = cpu(made, Settings::default());
            // What is around pins, with room for holds, and the lines of springs are found later; they are few.
            let fields = cloth.fields().expect("on the CPU");
            let [yarn_room, spring_room] =
                [Domain::PIECES, Domain::DIAGONAL_PIECES].map(|room| fields.sizes().of(room));
            assert!(yarn_room >= windows.pieces.len() && spring_room >= windows.diagonal_pieces.len(), "{name} {size}");
            let all: usize = (0..fields.specs().len()).map(|number| 4 * fields.words(number).len()).sum();
            assert!(
                8 * 20 * (yarn_room + spring_room) < all,
                "{name} {size}: {yarn_room}, {spring_room} in {all} bytes"
            );
            let expected = expected.with(Domain::PIECES, yarn_room).with(Domain::DIAGONAL_PIECES, spring_room);
            let expected = expected.with(Domain::DIAGONALS, diagonals.lines.len());
            assert_eq!(fields.sizes(), &expected, "{name} {size}");
        }
        assert!(matches!(Scene::expected_sizes(name, 4097), Err(Error::SceneSize { .. })), "{name}");
        assert!(matches!(Scene::expected_sizes(name, 1), Err(Error::SceneSize { .. })), "{name}");
    }
    assert!(matches!(Scene::expected_sizes("nothing", 9), Err(Error::UnknownScene { .. })));
    for name in scene::LAYERED.into_iter().chain(scene::WORN) {
        for size in [8, 11, 39, 40, 43, 55] {
            let made = Scene::named(name, size).expect("a scene");
            let expected = Sizes::of_mesh(&made.mesh, &made.solids, Topology::new(&made.mesh).yarns.yarns.len());
            let mut found = Scene::expected_sizes(name, size).expect("sizes");
            // On a cone, rounding decides which weights of bending cancel to exactly 0 and are left out.
            for pairs in [Domain::BENDING_PAIRS, Domain::BEND_INCIDENCE] {
                let [one, other] = [&found, &expected].map(|sizes| sizes.of(pairs));
                assert!(
                    one == other || (scene::WORN.contains(&name) && 20 * one.abs_diff(other) < other),
                    "{one}, {other}"
                );
                found = found.with(pairs, other);
            }
            assert_eq!(found, expected, "{name} {size}");
        }
        assert!(matches!(Scene::expected_sizes(name, 4097), Err(Error::SceneSize { .. })), "{name}");
    }
}

/// Pairs of near parts need most of the room where cloth touches itself, and an estimate from counts knows it.
#[test]
fn the_estimate_knows_of_self_collision() {
    for name in scene::LAYERED {
        let made = Scene::named(name, 40).expect("a scene");
        let counted = MemoryEstimate::new(&Scene::expected_sizes(name, 40).expect("sizes"), &made.settings);
        let counted = counted.expect("an estimate").fields as f64;
        let settings = Settings { self_collision: None, ..made.settings.clone() };
        let without = Cloth::memory_estimate(&made.clone().with_settings(settings)).expect("an estimate").fields as f64;
        let cloth = Cloth::on_cpu(made).expect("a cloth");
        let fields = cloth.fields().expect("on the CPU");
        let found: usize = (0..fields.specs().len()).map(|number| 4 * fields.words(number).len()).sum();
        let ratio = counted / found as f64;
        // Buckets are a power of two, and edges at most one more per piece than there are.
        assert!((0.97..1.1).contains(&ratio) && without < 0.5 * counted, "{name}: {ratio}, {without}");
    }
}

#[test]
fn the_estimate_of_the_fields_is_right_within_five_percent() {
    for name in scene::NAMES {
        let made = Scene::named(name, 24).expect("a scene").with_settings(Settings::default());
        let estimate = Cloth::memory_estimate(&made).expect("an estimate");
        let cloth = cpu(made, Settings::default());
        let fields = cloth.fields().expect("on the CPU");
        let found: usize = (0..fields.specs().len()).map(|number| 4 * fields.words(number).len()).sum();
        let ratio = estimate.fields as f64 / found as f64;
        assert!((1.0..1.05).contains(&ratio), "{name}: {ratio}");
        assert!(estimate.largest <= estimate.device && estimate.fields < estimate.host, "{name}: {estimate:?}");
    }
}

#[test]
fn what_does_not_fit_a_device_is_refused_from_counts_alone() {
    let limits = wgpu::Limits::default();
    for (solver, method) in methods() {
        let settings = Settings { method, ..Default::default() };
        let fits = |size| {
            let sizes = Scene::expected_sizes("curtain", size).expect("sizes");
            let estimate = MemoryEstimate::new(&sizes, &settings).expect("an estimate");
            estimate.check_device(&limits)
        };
        assert!(fits(700).is_ok(), "{solver}");
        match fits(4096) {
            Err(Error::Limit { limit: "max_storage_buffer_binding_size", needed, available }) => {
                assert_eq!(available, 128 << 20, "{solver}");
                assert!(needed > available, "{solver}: {needed}");
            }
            other => panic!("{solver}: {other:?}"),
        }
    }
    // A device refuses what was foretold, and what was not foretold it takes.
    let Some(gpu) = gpu_with(wgpu::Limits { max_storage_buffer_binding_size: 8192, ..limits }) else {
        assert!(!gpu_required());
        return;
    };
    for (solver, method) in methods() {
        let settings = Settings { method, ..Default::default() };
        for size in 4..20 {
            let made = scene::curtain(size).expect("a scene").with_settings(settings.clone());
            let estimate = Cloth::memory_estimate(&made).expect("an estimate");
            let foretold = estimate.check_device(&gpu.device().limits()).is_err();
            let refused = Cloth::on_gpu(&gpu, made).is_err();
            assert!(!foretold || refused, "{solver} {size}");
            assert!(foretold == refused || size > 9, "{solver} {size}: {estimate:?}");
        }
    }
}
