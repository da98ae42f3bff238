//! What is known to deviate, and why.

use super::Failure;

/// A check that is known to fail on an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// Part of the adapter's label, in any case; empty for every adapter.
    pub adapter: &'static str,
    /// Name of the check; a `*` at its end stands for anything.
    pub check: &'static str,
    /// How it fails: the kernels that may differ, or a part of the message. Any other failure is none that is known.
    pub fails: &'static [&'static str],
    /// Whether it always fails there, so that a pass is worth a remark.
    pub always: bool,
    /// Why that is no error that could be mended.
    pub reason: &'static str,
}

impl Deviation {
    /// Whether a failure is the one that is known.
    pub fn excuses(&self, failure: &Failure) -> bool {
        self.fails.iter().any(|part| match &failure.mismatch {
            Some(mismatch) => mismatch.kernel == *part,
            None => failure.message.contains(part),
        })
    }

    fn applies(&self, adapter: &str, check: &str) -> bool {
        let named = match self.check.strip_suffix('*') {
            Some(start) => check.starts_with(start),
            None => check == self.check,
        };
        named && adapter.to_lowercase().contains(&self.adapter.to_lowercase())
    }
}

/// `patch` is pinned at both ends of a straight row.
const SINGULAR: &str = "the straight row between two pins is a singular yarn: its last pivot is rounding, held at 1e-5 of \
                        the diagonal, so two right solves may differ by 1e5 roundings";

const SAG: &str = "how a straight row between two pins begins to sag is rounding, and the strain limit leaves millimetres of it \
                   open";

/// Kernels that solve yarns.
const LINES: &[&str] = &["project_yarn", "solve_yarn"];
/// What [`super::runs`] says.
const CENTERS: &[&str] = &["the distance of the centres of mass"];

/// The list.
pub const KNOWN: &[Deviation] = &[
    Deviation { adapter: "", check: "kernels/auto/patch", always: false, fails: LINES, reason: SINGULAR },
    Deviation { adapter: "", check: "kernels/yarn-sweep/patch", always: false, fails: LINES, reason: SINGULAR },
    Deviation { adapter: "", check: "kernels/fast-projection/patch", always: false, fails: LINES, reason: SINGULAR },
    Deviation {
        adapter: "",
        check: "kernels/fast-projection-lines/patch",
        always: false,
        fails: LINES,
        reason: SINGULAR,
    },
    Deviation { adapter: "", check: "runs/fast-projection/patch", always: false, fails: CENTERS, reason: SAG },
    Deviation { adapter: "", check: "runs/fast-projection-lines/patch", always: false, fails: CENTERS, reason: SAG },
    Deviation { adapter: "", check: "runs/fast-projection-diagonal/patch", always: false, fails: CENTERS, reason: SAG },
];

/// Why a check is known to fail on an adapter of this label.
pub fn known(adapter: &str, check: &str) -> Option<&'static Deviation> {
    KNOWN.iter().find(|deviation| deviation.applies(adapter, check))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        let deviation = Deviation { adapter: "swift", check: "runs/auto/*", always: true, fails: &[], reason: "" };
        assert!(deviation.applies("SwiftShader Device (Vulkan)", "runs/auto/hang"));
        assert!(!deviation.applies("llvmpipe (Vulkan)", "runs/auto/hang"));
        assert!(!deviation.applies("SwiftShader Device (Vulkan)", "runs/jacobi/hang"));
        let exact = Deviation { adapter: "", check: "bits/auto", always: true, fails: &[], reason: "" };
        assert!(exact.applies("anything", "bits/auto") && !exact.applies("anything", "bits/auto2"));
    }

    #[test]
    fn only_the_known_failure_is_excused() {
        let deviation = Deviation { adapter: "", check: "x", always: true, fails: CENTERS, reason: "" };
        assert!(deviation.excuses(&Failure::new("the distance of the centres of mass [m] is 3e-3")));
        assert!(!deviation.excuses(&Failure::new("the device was lost")));
    }

    #[test]
    fn every_known_deviation_has_a_reason_and_names_a_check() {
        let names: Vec<String> = super::super::checks(super::super::Depth::Full).into_iter().map(|c| c.name).collect();
        for deviation in KNOWN {
            assert!(deviation.reason.len() > 20, "{deviation:?}");
            assert!(names.iter().any(|name| deviation.applies(deviation.adapter, name)), "{deviation:?}");
        }
    }
}
