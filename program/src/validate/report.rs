//! What the checks said, for people and machines.

use anyhow::Result;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use serde_json::{Value, json};
use taut::engine::lockstep::Mismatch;
use taut::validate::{Deviation, Failure, Seen};
use taut::{Gpu, wgpu};

use crate::output;

/// Version of the JSON document.
const SCHEMA_VERSION: u32 = 1;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    Failed,
    /// Failed, as it is known to.
    Known,
    /// Passed, though it is known to fail: the list of deviations is out of date here.
    Unexpected,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Known => "known deviation",
            Self::Unexpected => "unexpected pass",
        }
    }
}

/// A check and how it ended.
#[derive(Debug)]
pub(crate) struct Entry {
    name: String,
    seconds: f64,
    verdict: Verdict,
    detail: String,
    mismatch: Option<Box<Mismatch>>,
    reason: Option<&'static str>,
}

/// An adapter and what was found on it.
#[derive(Debug)]
pub(crate) struct Tested {
    info: wgpu::AdapterInfo,
    entries: Vec<Entry>,
}

impl Tested {
    pub(crate) fn new(info: wgpu::AdapterInfo) -> Self {
        Self { info, entries: Vec::new() }
    }

    pub(crate) fn label(&self) -> String {
        Gpu::label(&self.info)
    }

    pub(crate) fn add(
        &mut self,
        name: String,
        seconds: f64,
        outcome: Result<Seen, Failure>,
        known: Option<&'static Deviation>,
    ) -> Verdict {
        let verdict = match (&outcome, known) {
            (Ok(_), Some(deviation)) if deviation.always => Verdict::Unexpected,
            (Ok(_), _) => Verdict::Passed,
            (Err(failure), Some(deviation)) if deviation.excuses(failure) => Verdict::Known,
            (Err(_), _) => Verdict::Failed,
        };
        let (detail, mismatch) = match outcome {
            Ok(seen) => (seen.text, None),
            Err(failure) => (failure.message, failure.mismatch),
        };
        self.entries.push(Entry {
            name,
            seconds,
            verdict,
            detail,
            mismatch,
            reason: known
                .filter(|_| matches!(verdict, Verdict::Known | Verdict::Unexpected))
                .map(|deviation| deviation.reason),
        });
        verdict
    }

    fn software(&self) -> bool {
        self.info.device_type == wgpu::DeviceType::Cpu
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.entries.iter().filter(|entry| entry.verdict == verdict).count()
    }

    /// One row for each kind of check.
    fn table(&self) -> String {
        let mut kinds: Vec<&str> = Vec::new();
        for entry in &self.entries {
            let kind = kind(&entry.name);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let software = if self.software() { ", software" } else { "" };
        let driver = format!("{} {}", self.info.driver, self.info.driver_info);
        let header = [format!("{}{software}, {}", self.label(), driver.trim())];
        let mut rows = vec![header.to_vec()];
        rows.push(["checks", "passed", "failed", "known", "unexpected", "time"].map(str::to_owned).to_vec());
        for kind_name in kinds {
            let of: Vec<&Entry> = self.entries.iter().filter(|entry| kind(&entry.name) == kind_name).collect();
            let count = |verdict| of.iter().filter(|entry| entry.verdict == verdict).count().to_string();
            let mut row = vec![kind_name.to_owned()];
            row.extend([Verdict::Passed, Verdict::Failed, Verdict::Known, Verdict::Unexpected].map(count));
            row.push(output::duration(of.iter().map(|entry| entry.seconds).sum()));
            rows.push(row);
        }
        let title = rows.remove(0).remove(0);
        let mut text = format!("{title}\n{}", output::table(rows, 120));
        for entry in self.entries.iter().filter(|entry| entry.verdict != Verdict::Passed) {
            text.push_str(&match (entry.verdict, entry.reason) {
                // What differed is in the files; here it would only alarm.
                (Verdict::Known, Some(reason)) => format!("\nknown and harmless: {}: {reason}", entry.name),
                (_, Some(reason)) => format!("\n{}: {}: {reason}", entry.verdict.name(), entry.name),
                (_, None) => format!("\n{}: {}: {}", entry.verdict.name(), entry.name, entry.detail),
            });
        }
        text
    }

    fn json(&self) -> Value {
        let info = &self.info;
        json!({
            "name": info.name,
            "backend": info.backend.to_str(),
            "driver": info.driver,
            "driver_info": info.driver_info,
            "vendor": info.vendor,
            "device": info.device,
            "software": self.software(),
            "passed": self.count(Verdict::Passed),
            "failed": self.count(Verdict::Failed),
            "known_deviations": self.count(Verdict::Known),
            "unexpected_passes": self.count(Verdict::Unexpected),
            "checks": self.entries.iter().map(Entry::json).collect::<Vec<_>>(),
        })
    }
}

impl Entry {
    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "verdict": self.verdict.name(),
            "seconds": self.seconds,
            "detail": self.detail,
            "known": self.reason,
            "mismatch": self.mismatch.as_deref().map(mismatch),
        })
    }
}

fn mismatch(mismatch: &Mismatch) -> Value {
    // JSON has no NaN or infinity: bits tell what was there.
    json!({
        "kernel": mismatch.kernel,
        "dispatch": mismatch.dispatch,
        "field": mismatch.field,
        "element": mismatch.element,
        "word": mismatch.word,
        "cpu": mismatch.cpu,
        "gpu": mismatch.gpu,
        "cpu_bits": format!("{:08x}", mismatch.cpu.to_bits()),
        "gpu_bits": format!("{:08x}", mismatch.gpu.to_bits()),
        "bound": mismatch.bound,
    })
}

/// The first part of a check's name.
fn kind(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

/// Everything.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) tested: Vec<Tested>,
    pub(crate) complete: bool,
}

impl Report {
    pub(crate) fn failed(&self) -> bool {
        // Nothing checked is nothing passed.
        self.tested.iter().any(|tested| tested.entries.is_empty() || tested.count(Verdict::Failed) > 0)
    }

    /// The adapters on which this kernel was not found to differ.
    pub(crate) fn without(&self, kernel: &str) -> Vec<String> {
        let found = |entry: &Entry| entry.mismatch.as_deref().is_some_and(|mismatch| mismatch.kernel == kernel);
        self.tested.iter().filter(|tested| !tested.entries.iter().any(found)).map(Tested::label).collect()
    }

    /// A table and the failures of each adapter, and a sentence at the end.
    pub(crate) fn tables(&self) -> Vec<String> {
        let mut texts: Vec<String> = self.tested.iter().map(Tested::table).collect();
        let sum = |verdict| self.tested.iter().map(|tested| tested.count(verdict)).sum::<usize>();
        let all: usize = self.tested.iter().map(|tested| tested.entries.len()).sum();
        let mut text = format!("{} of {all} checks passed", sum(Verdict::Passed) + sum(Verdict::Unexpected));
        for (verdict, what) in [
            (Verdict::Failed, "failed"),
            (Verdict::Unexpected, "of those that passed are known to fail: the list of deviations is out of date"),
        ] {
            if sum(verdict) > 0 {
                text.push_str(&format!("; {} {what}", sum(verdict)));
            }
        }
        match sum(Verdict::Known) {
            0 => {}
            1 => text.push_str("; 1 deviation is known and harmless, see docs/validation.md"),
            known => text.push_str(&format!("; {known} deviations are known and harmless, see docs/validation.md")),
        }
        texts.push(text);
        texts
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "schema_version": SCHEMA_VERSION,
            "taut_version": env!("CARGO_PKG_VERSION"),
            "complete": self.complete,
            "passed": self.complete && !self.failed(),
            "command_line": std::env::args().collect::<Vec<_>>(),
            "adapters": self.tested.iter().map(Tested::json).collect::<Vec<_>>(),
        })
    }

    /// One suite per adapter. Known deviations are skipped tests with their reason.
    pub(crate) fn junit(&self) -> Result<String> {
        let mut document = quick_junit::Report::new("taut validate");
        for tested in &self.tested {
            let mut suite = TestSuite::new(tested.label());
            for entry in &tested.entries {
                let status = match entry.verdict {
                    Verdict::Passed | Verdict::Unexpected => TestCaseStatus::success(),
                    Verdict::Failed => {
                        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                        status.set_message(&entry.detail);
                        status
                    }
                    Verdict::Known => {
                        let mut status = TestCaseStatus::skipped();
                        status.set_message(format!("{} ({})", entry.reason.unwrap_or_default(), entry.detail));
                        status
                    }
                };
                let mut case = TestCase::new(&entry.name, status);
                case.set_classname(format!("taut.{}", kind(&entry.name)));
                case.set_time(std::time::Duration::from_secs_f64(entry.seconds));
                case.set_system_out(&entry.detail);
                suite.add_test_case(case);
            }
            document.add_test_suite(suite);
        }
        Ok(document.to_string()?)
    }
}
