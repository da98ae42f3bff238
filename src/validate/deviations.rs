//! What is known to deviate, and why.

use super::Failure;

/// A check that is known to fail on an adapter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// Part of the adapter's label, in any case; empty for every adapter.
    pub adapter: &'static str,
    /// Name of the check; a `*` at its end stands for anything.
    pub check: &'static str,
    /// How it fails: the kernels that may differ, or a part of the message. Any other failure is none that is known.
    pub fails: &'static [&'static str],
    /// How far off it may be, over what is right elsewhere: what is further off is no failure that is known.
    pub at_most: f64,
    /// Whether it always fails there, so that a pass is worth a remark.
    pub always: bool,
    /// Why that is no error that could be mended.
    pub reason: &'static str,
}

impl Deviation {
    /// Whether a failure is the one that is known.
    pub fn excuses(&self, failure: &Failure) -> bool {
        let named = self.fails.iter().any(|part| match &failure.mismatch {
            Some(mismatch) => mismatch.kernel == *part,
            None => failure.message.contains(part),
        });
        // Of what has no number nothing is known.
        named && failure.excess().is_some_and(|excess| excess <= self.at_most)
    }

    fn applies(&self, adapter: &str, check: &str) -> bool {
        let named = match self.check.strip_suffix('*') {
            Some(start) => check.starts_with(start),
            None => check == self.check,
        };
        named && adapter.to_lowercase().contains(&self.adapter.to_lowercase())
    }
}

const SAG: &str = "how a straight row between two pins begins to sag is rounding, and the strain limit leaves millimetres of it \
                   open";

/// So much more than elsewhere: 8 mm.
const SAGS: f64 = 4.0;

/// What [`super::runs`] says.
const CENTERS: &[&str] = &["the distance of the centres of mass"];

const fn sags(check: &'static str) -> Deviation {
    Deviation { adapter: "", check, at_most: SAGS, always: false, fails: CENTERS, reason: SAG }
}

/// The list.
pub const KNOWN: &[Deviation] = &[
    sags("runs/fast-projection/patch"),
    sags("runs/fast-projection-lines/patch"),
    sags("runs/fast-projection-diagonal/patch"),
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
        let deviation =
            Deviation { adapter: "swift", check: "runs/auto/*", always: true, at_most: 1.0, fails: &[], reason: "" };
        assert!(deviation.applies("SwiftShader Device (Vulkan)", "runs/auto/hang"));
        assert!(!deviation.applies("llvmpipe (Vulkan)", "runs/auto/hang"));
        assert!(!deviation.applies("SwiftShader Device (Vulkan)", "runs/jacobi/hang"));
        let exact = Deviation { adapter: "", check: "bits/auto", always: true, at_most: 1.0, fails: &[], reason: "" };
        assert!(exact.applies("anything", "bits/auto") && !exact.applies("anything", "bits/auto2"));
    }

    #[test]
    fn only_the_known_failure_is_excused() {
        let deviation = Deviation { adapter: "", check: "x", at_most: 2.0, always: true, fails: CENTERS, reason: "" };
        let apart =
            |found| Failure::unless_at_most("the distance of the centres of mass [m]", found, 2e-3).expect_err("");
        assert!(deviation.excuses(&apart(3e-3)));
        // Any distance but those that are known is an error, and so is what is no number.
        assert!(!deviation.excuses(&apart(5e-3)) && !deviation.excuses(&apart(f64::NAN)));
        assert!(!deviation.excuses(&Failure::new("the distance of the centres of mass [m] is unknown")));
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
