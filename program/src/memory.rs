//! Whether there is room for a cloth, before anything is made.

use std::fs;
use std::path::Path;

use anyhow::Result;
use taut::{Gpu, MemoryEstimate, Scene};

use crate::options::{BackendName, SubjectOptions};

/// A scene that shows what settings a larger one has.
const SMALL: u32 = 8;

/// Refuses a built-in scene that is too large for the machine, or for the device that must run it.
pub(crate) fn check(options: &SubjectOptions) -> Result<()> {
    let (name, size) = (options.scene.as_str(), options.size);
    let sizes = Scene::expected_sizes(name, size)?;
    let settings = options.settings(&Scene::named(name, size.min(SMALL))?)?;
    let estimate = MemoryEstimate::new(&sizes, &settings)?;
    if options.backend == BackendName::Gpu {
        // Devices are opened with these.
        estimate.check_device(&Gpu::required_limits())?;
    }
    match available() {
        Some(available) => Ok(estimate.check_host(available)?),
        None => Ok(()),
    }
}

/// Bytes that this process can still have, where the system says so: what is free, what the limit of its address space
/// leaves, and what its control group leaves.
fn available() -> Option<u64> {
    let free = number(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:").map(|kilobytes| 1024 * kilobytes);
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let used = number(&status, "VmSize:").map(|kilobytes| 1024 * kilobytes).unwrap_or_default();
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let space = number(&limits, "Max address space").map(|limit| limit.saturating_sub(used));
    free.into_iter().chain(space).chain(group()).min()
}

/// What the control group of this process leaves.
fn group() -> Option<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let read = |name: &str| {
        let text = fs::read_to_string(Path::new("/sys/fs/cgroup").join(path).join(name)).ok()?;
        text.trim().parse::<u64>().ok()
    };
    Some(read("memory.max")?.saturating_sub(read("memory.current")?))
}

/// The first number behind a key at the start of a line.
fn number(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_behind_their_keys() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max address space         2560000000           unlimited            bytes     \n";
        assert_eq!(number(limits, "Max address space"), Some(2_560_000_000));
        assert_eq!(number("Max address space         unlimited  unlimited bytes", "Max address space"), None);
        assert_eq!(number("MemTotal: 5 kB\nMemAvailable:    4066500 kB", "MemAvailable:"), Some(4_066_500));
        assert_eq!(number("", "MemAvailable:"), None);
    }
}
