//! Results for tests.

use std::collections::BTreeMap;

use crate::bench::paper::record::{Curve, Detail, Ending, Finding, Paper};
use crate::bench::results::{AdapterInfo, Machine, Parts, ResultFile, Roofline, Row, SCHEMA_VERSION, Samples};

/// A complete file of a machine with an adapter.
pub(crate) fn file(rows: Vec<Row>) -> ResultFile {
    let adapter = AdapterInfo {
        label: "llvmpipe".into(),
        name: "llvmpipe".into(),
        backend: "vulkan".into(),
        device_type: "software".into(),
        driver: "Mesa".into(),
        driver_info: "25.1".into(),
        vendor: 0x10005,
        device: 0,
        pci_bus_id: String::new(),
        subgroup_min: 4,
        subgroup_max: 8,
        features: vec!["TIMESTAMP_QUERY".into()],
        limits: BTreeMap::from([("max_bind_groups".into(), 4)]),
        timestamp_period: Some(1.0),
        bytes_per_second: Some(3e11),
    };
    let machine = Machine {
        os: "linux".into(),
        kernel: "6.12".into(),
        arch: "x86_64".into(),
        cpu: "Example 9000".into(),
        threads: 8,
        adapters: vec![adapter],
        taut_version: "0.1.0".into(),
        commit: "0123abc".into(),
        wgpu_version: "30.0.0".into(),
        rustc_version: "1.95.0".into(),
        profile: "release".into(),
        features: vec!["validate".into(), "viewer".into()],
        command_line: vec!["taut".into(), "bench".into()],
        started: "2026-01-31T12:00:00Z".into(),
    };
    let roofline = Roofline { cpu_bytes_per_second: 2e10 };
    ResultFile {
        schema_version: SCHEMA_VERSION,
        complete: true,
        part: None,
        software: false,
        machine,
        roofline,
        rows,
        paper: None,
    }
}

/// One curve and one finding.
pub(crate) fn paper() -> Paper {
    let curve = Curve {
        figure: "3a".into(),
        name: "last".into(),
        x_title: "time [s]".into(),
        y_title: "residual [m]".into(),
        x: vec![0.1, 0.2],
        y: vec![1e-4, 2e-4],
    };
    let finding = Finding { figure: "4".into(), name: "ratio".into(), value: 4.6, paper: Some(25.0) };
    Paper { curves: vec![curve], findings: vec![finding] }
}

/// A row that held 1 %, with nothing that need not be measured.
pub(crate) fn row(scene: &str, size: u32, solver: &str, seconds: &[f64]) -> Row {
    Row {
        suite: "solvers".into(),
        scene: scene.into(),
        size,
        vertices: u64::from(size) * u64::from(size),
        solver: solver.into(),
        place: "cpu".into(),
        scene_hash: "0123456789abcdef".into(),
        settings: "Settings".into(),
        strain_limit: 0.01,
        strain_max: 0.0099,
        strain_p99: 0.004,
        held: true,
        frames: 60,
        frames_over: 0,
        seconds_per_second: Samples::new(seconds.to_vec()).expect("samples"),
        gpu_seconds: None,
        gpu_parts: None,
        substeps: 60,
        iterations: 600,
        inner_iterations: 0,
        elastic_iterations: 0,
        dispatches: 0,
        recorded_dispatches: 0,
        executed_dispatches: None,
        bytes_moved: None,
        roofline_fraction: None,
        energy_drift: None,
        first_step_seconds: 0.1,
        compile_seconds: None,
        detail: None,
    }
}

/// The same row after it missed its limit with this strain.
pub(crate) fn missed(mut row: Row, strain: f64) -> Row {
    (row.strain_max, row.held, row.frames_over) = (strain, false, 3);
    row
}

/// A row in which everything is measured.
pub(crate) fn full_row() -> Row {
    Row {
        place: "llvmpipe".into(),
        gpu_seconds: Samples::new(vec![0.2]),
        gpu_parts: Some(Parts::default()),
        substeps: 600,
        iterations: 1200,
        inner_iterations: 48_000,
        elastic_iterations: 7,
        // Not a whole f64: counts must not pass through one.
        dispatches: (1 << 53) + 1,
        recorded_dispatches: (1 << 53) + 3,
        executed_dispatches: Some(7),
        bytes_moved: Some(123_456_789),
        roofline_fraction: Some(0.25),
        energy_drift: Some(-1e-5),
        first_step_seconds: 0.75,
        compile_seconds: Some(1.5),
        detail: Some(Detail {
            ending: Ending::Held,
            reason: Some("kept".into()),
            step_seconds: Some(0.001),
            stiffness: Some(7750.0),
        }),
        // p05 and p95 are 0.275 and 0.725, the median absolute deviation is 0.125.
        ..row("hang", 20, "fast-projection", &[0.5, 0.25, 0.75, 0.375, 0.625])
    }
}
