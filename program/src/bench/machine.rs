//! Where it was run.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use taut::wgpu;

use super::measure::{adapter_bandwidth, cpu_bandwidth};
use super::results::{AdapterInfo, Machine, ResultFile, Roofline, SCHEMA_VERSION};
use super::suites::Place;

/// An empty result file of this machine, with its bandwidths.
pub(crate) fn file(places: &[Place]) -> ResultFile {
    let machine = Machine {
        os: std::env::consts::OS.to_owned(),
        kernel: first_line("/proc/sys/kernel/osrelease"),
        arch: std::env::consts::ARCH.to_owned(),
        cpu: processor(),
        threads: rayon::current_num_threads() as u32,
        adapters: places.iter().filter_map(adapter).collect(),
        taut_version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: commit().to_owned(),
        wgpu_version: "30".to_owned(),
        rustc_version: rustc_version_runtime::version().to_string(),
        profile: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        features: features(),
        command_line: std::env::args().collect(),
        started: now(),
    };
    ResultFile {
        schema_version: SCHEMA_VERSION,
        complete: true,
        part: None,
        software: places.iter().any(|place| place.software),
        machine,
        roofline: Roofline { cpu_bytes_per_second: cpu_bandwidth() },
        rows: Vec::new(),
        paper: None,
    }
}

/// Of the sources that this program was built from, where they were in a repository.
fn commit() -> &'static str {
    git_version::git_version!(args = ["--always", "--dirty=-modified"], fallback = "")
}

/// Version and commit, in one line.
pub(crate) fn version() -> String {
    format!("{} {}", env!("CARGO_PKG_VERSION"), commit()).trim_end().to_owned()
}

/// Features that this program was built with.
fn features() -> Vec<String> {
    let all = [("validate", cfg!(feature = "validate")), ("viewer", cfg!(feature = "viewer"))];
    all.into_iter().filter(|(_, has)| *has).map(|(name, _)| name.to_owned()).collect()
}

fn adapter(place: &Place) -> Option<AdapterInfo> {
    let gpu = place.gpu.as_ref()?;
    let info = gpu.adapter()?;
    let limits = gpu.device().limits();
    let limits = BTreeMap::from([
        ("max_buffer_size".to_owned(), limits.max_buffer_size),
        ("max_storage_buffer_binding_size".to_owned(), limits.max_storage_buffer_binding_size),
        ("max_storage_buffers_per_shader_stage".to_owned(), limits.max_storage_buffers_per_shader_stage.into()),
    ]);
    let clock = gpu.device().features().contains(wgpu::Features::TIMESTAMP_QUERY);
    Some(AdapterInfo {
        label: place.label.clone(),
        name: info.name.clone(),
        backend: info.backend.to_str().to_owned(),
        device_type: match info.device_type {
            wgpu::DeviceType::DiscreteGpu => "discrete",
            wgpu::DeviceType::IntegratedGpu => "integrated",
            wgpu::DeviceType::VirtualGpu => "virtual",
            wgpu::DeviceType::Cpu => "software",
            wgpu::DeviceType::Other => "other",
        }
        .to_owned(),
        driver: info.driver.clone(),
        driver_info: info.driver_info.clone(),
        vendor: info.vendor,
        device: info.device,
        pci_bus_id: info.device_pci_bus_id.clone(),
        subgroup_min: info.subgroup_min_size,
        subgroup_max: info.subgroup_max_size,
        features: clock.then(|| "TIMESTAMP_QUERY".to_owned()).into_iter().collect(),
        limits,
        timestamp_period: clock.then(|| gpu.queue().get_timestamp_period().into()),
        bytes_per_second: adapter_bandwidth(gpu),
    })
}

fn first_line(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

/// Model of the processor, where the system tells it.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find(|line| line.starts_with("model name"));
    model.and_then(|line| line.split(':').nth(1)).unwrap_or_default().trim().to_owned()
}

/// The time in UTC, as in `2026-01-31T12:00:00Z`.
fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Civil date from days (Hinnant 2013), for dates after 1970.
    let z = days + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + 400 * era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}
