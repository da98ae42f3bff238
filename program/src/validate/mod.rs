//! `taut validate`: does an adapter compute the right cloth?
//!
//! The checks are the library's ([`taut::validate`]); here they are run on adapters, with one more that needs a second
//! process, and told to people ([`report`]) and machines (JSON, JUnit).

mod report;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::builder::NonEmptyStringValueParser;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use taut::Gpu;
use taut::validate::{Check, Depth, Failure, Seen, Subject, checks, fingerprint, known, planted, solvers};
use taut::wgpu;

use crate::signals::Signals;
use crate::{Outcome, output};
use report::{Report, Tested, Verdict};

/// Options of `taut validate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Part of the name of an adapter, or of "name (backend)"; may be given several times. By default the one that
    /// `taut run --backend gpu` takes
    #[arg(long, value_name = "SUBSTRING", value_parser = NonEmptyStringValueParser::new())]
    adapter: Vec<String>,

    /// Every adapter of this machine that computes
    #[arg(long, conflicts_with = "adapter")]
    all: bool,

    /// Every solver and every scene, but not every pair of them
    #[arg(long)]
    quick: bool,

    /// Only checks whose name starts so, as in kernels/auto; may be given several times
    #[arg(long, value_name = "START", value_parser = NonEmptyStringValueParser::new())]
    only: Vec<String>,

    /// Plant an error and look for it, instead of the checks: this must fail, with exit code 1
    #[arg(long)]
    self_test: bool,

    /// List the checks and what is known to deviate, and run none
    #[arg(long)]
    list: bool,

    /// Write the verdicts as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write the verdicts as JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Print the fingerprint of every solver and nothing else: what a second process is asked
    #[arg(long, hide = true)]
    fingerprints: bool,
}

impl Options {
    fn depth(&self) -> Depth {
        if self.quick { Depth::Quick } else { Depth::Full }
    }

    fn checks(&self) -> Vec<Check> {
        if self.self_test {
            return vec![planted()];
        }
        let asked = |check: &Check| self.only.is_empty() || self.only.iter().any(|start| check.name.starts_with(start));
        checks(self.depth()).into_iter().filter(asked).collect()
    }

    /// Whether a check of this program's own is wanted.
    fn wants(&self, name: &str) -> bool {
        !self.self_test && (self.only.is_empty() || self.only.iter().any(|start| name.starts_with(start)))
    }

    /// Whether all kernels must have been compared: only where nothing was left out.
    fn wants_coverage(&self) -> bool {
        !self.self_test && self.only.is_empty()
    }
}

const FRESH: &str = "bits/fresh-process";
const COVERAGE: &str = "kernels/coverage";

/// Runs the checks on the adapters that were asked for.
pub(crate) fn validate(options: &Options) -> Result<Outcome> {
    if options.list {
        return list(options);
    }
    for (option, path) in [("--json", &options.json), ("--junit", &options.junit)] {
        if let Some(folder) = path.as_deref().and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty()) {
            ensure!(folder.is_dir(), "{option}: there is no directory {}", folder.display());
        }
    }
    let adapters = adapters(options)?;
    if options.fingerprints {
        return tell_fingerprints(adapters);
    }
    let count = options.checks().len() + usize::from(options.wants(FRESH)) + usize::from(options.wants_coverage());
    ensure!(count > 0, "no check has a name that starts with {}", options.only.join(" or "));
    let signals = Signals::catch()?;
    let interrupted = signals.cancel().flag();

    let bar = ProgressBar::with_draw_target(Some((count * adapters.len()) as u64), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}, {eta} left") {
        bar.set_style(style);
    }
    let mut report = Report::default();
    for adapter in adapters {
        let info = adapter.get_info();
        if info.device_type == wgpu::DeviceType::Cpu {
            bar.suspend(|| {
                output::say(&format!(
                    "{} is software: the CPU imitates a GPU. Its verdict is about this driver, not about any GPU",
                    Gpu::label(&info)
                ));
            });
        }
        report.tested.push(test(adapter, options, &bar, &interrupted));
    }
    bar.finish_and_clear();
    report.complete = !interrupted.load(Ordering::Relaxed);
    tell(&report, options, &signals)
}

/// The adapters that were asked for. Never none: the CPU is not compared with itself.
fn adapters(options: &Options) -> Result<Vec<wgpu::Adapter>> {
    let found = Gpu::adapters();
    let labels: Vec<String> = found.iter().map(|adapter| Gpu::label(&adapter.get_info())).collect();
    let nothing = "NOTHING WAS VALIDATED: there is no graphics adapter that computes, only the CPU path itself, and \
                   comparing that with itself proves nothing";
    if !options.adapter.is_empty() {
        let mut chosen = Vec::new();
        for name in &options.adapter {
            let matching: Vec<usize> =
                (0..found.len()).filter(|index| labels[*index].to_lowercase().contains(&name.to_lowercase())).collect();
            ensure!(!matching.is_empty(), "no adapter has `{name}` in its name; there are: {}", listed(&labels));
            chosen.extend(matching);
        }
        chosen.sort_unstable();
        chosen.dedup();
        return Ok(chosen.into_iter().map(|index| found[index].clone()).collect());
    }
    let usable: Vec<wgpu::Adapter> = found.into_iter().filter(|adapter| Gpu::check(adapter).is_ok()).collect();
    ensure!(!usable.is_empty(), "{nothing}; adapters: {}", listed(&labels));
    if options.all {
        return Ok(usable);
    }
    let wanted = taut::Backend::Gpu.choose(None)?.gpu;
    let label = wanted.as_ref().and_then(Gpu::adapter).map(Gpu::label).unwrap_or_default();
    let chosen = usable.into_iter().find(|adapter| Gpu::label(&adapter.get_info()) == label);
    Ok(vec![chosen.context("the chosen adapter is gone")?])
}

fn listed(labels: &[String]) -> String {
    if labels.is_empty() { "none".to_owned() } else { labels.join("; ") }
}

/// All checks on one adapter.
fn test(adapter: wgpu::Adapter, options: &Options, bar: &ProgressBar, interrupted: &AtomicBool) -> Tested {
    let mut tested = Tested::new(adapter.get_info());
    let mut subject = match Subject::open(adapter.clone()) {
        Ok(subject) => subject,
        Err(error) => {
            tested.add("opens".to_owned(), 0.0, Err(error.into()), None);
            return tested;
        }
    };
    let (mut compared, mut kernels) = (BTreeSet::new(), BTreeSet::new());
    for check in options.checks() {
        if interrupted.load(Ordering::Relaxed) {
            return tested;
        }
        bar.set_message(check.name.clone());
        let clock = Instant::now();
        let outcome = check.run(&subject);
        match &outcome {
            Ok(seen) => {
                compared.extend(seen.compared.iter().copied());
                kernels.extend(seen.kernels.iter().copied());
            }
            // What was compared until it failed is not known; what should have been is.
            Err(failure) => kernels.extend(failure.kernels.iter().copied()),
        }
        // A device that was lost fails everything after it: the next check gets a new one.
        let broken = matches!(&outcome, Err(failure) if failure.mismatch.is_none());
        let verdict =
            tested.add(check.name.clone(), clock.elapsed().as_secs_f64(), outcome, known(&tested.label(), &check.name));
        if verdict == Verdict::Failed {
            bar.suspend(|| output::say(&format!("{}: {} failed", tested.label(), check.name)));
        }
        if broken {
            match Subject::open(adapter.clone()) {
                Ok(fresh) => subject = fresh,
                Err(error) => {
                    tested.add("opens again".to_owned(), 0.0, Err(error.into()), None);
                    return tested;
                }
            }
        }
        bar.inc(1);
    }
    if options.wants_coverage() {
        let missing: Vec<&str> = kernels.difference(&compared).copied().collect();
        let outcome = if missing.is_empty() {
            Ok(Seen::new(format!("all {} kernels were compared", compared.len())))
        } else {
            Err(Failure::new(format!("never compared: {}", missing.join(", "))))
        };
        tested.add(COVERAGE.to_owned(), 0.0, outcome, None);
        bar.inc(1);
    }
    if options.wants(FRESH) {
        bar.set_message(FRESH);
        let clock = Instant::now();
        let outcome = fresh_process(&subject);
        tested.add(FRESH.to_owned(), clock.elapsed().as_secs_f64(), outcome, known(&tested.label(), FRESH));
        bar.inc(1);
    }
    tested
}

/// The same fingerprints in a process that has nothing of this one.
fn fresh_process(subject: &Subject) -> Result<Seen, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::new(error.to_string()))?;
    let output = Command::new(program)
        .args(["validate", "--fingerprints", "--adapter", &subject.label()])
        .output()
        .map_err(|error| Failure::new(format!("a second process does not start: {error}")))?;
    let there = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        return Err(Failure::new(format!(
            "a second process failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )));
    }
    let here = fingerprints(subject)?;
    for (mine, other) in here.lines().zip(there.lines()) {
        if mine != other {
            return Err(Failure::new(format!("this process has {mine}, another {other}")));
        }
    }
    if here.lines().count() != there.lines().count() {
        return Err(Failure::new(format!("a second process answered {:?}", there.trim())));
    }
    Ok(Seen::new(format!("{} fingerprints are equal", solvers().len())))
}

fn fingerprints(subject: &Subject) -> taut::Result<String> {
    let line = |(solver, method)| Ok(format!("{solver} {:016x}\n", fingerprint(subject.gpu(), &method)?));
    solvers().into_iter().map(line).collect()
}

fn tell_fingerprints(adapters: Vec<wgpu::Adapter>) -> Result<Outcome> {
    let adapter = adapters.into_iter().next().context("there is an adapter")?;
    output::print(fingerprints(&Subject::open(adapter)?)?.trim_end())?;
    Ok(Outcome::Done)
}

/// The names of all checks, and the known deviations.
fn list(options: &Options) -> Result<Outcome> {
    let mut names: Vec<String> = options.checks().into_iter().map(|check| check.name).collect();
    names.extend(options.wants_coverage().then(|| COVERAGE.to_owned()));
    names.extend(options.wants(FRESH).then(|| FRESH.to_owned()));
    for name in names {
        output::print(&name)?;
    }
    for deviation in taut::validate::KNOWN {
        let adapter = if deviation.adapter.is_empty() { "every adapter" } else { deviation.adapter };
        output::print(&format!("known to deviate: {} on {adapter}: {}", deviation.check, deviation.reason))?;
    }
    Ok(Outcome::Done)
}

fn tell(report: &Report, options: &Options, signals: &Signals) -> Result<Outcome> {
    let json = format!("{:#}\n", report.json());
    match options.json.as_deref() {
        Some(path) if path == Path::new("-") => output::print(json.trim_end())?,
        Some(path) => crate::bench::write_file(path, &json)?,
        None => {}
    }
    if let Some(path) = &options.junit {
        crate::bench::write_file(path, &report.junit()?)?;
    }
    let to_stdout = options.json.as_deref() == Some(Path::new("-"));
    for text in report.tables() {
        if to_stdout { output::show(&text) } else { output::print(&text)? }
    }
    if !report.complete {
        output::say("interrupted: not everything was checked");
        return Ok(signals.outcome());
    }
    if options.self_test {
        // A failure of another kind does not show that errors are found.
        let missed = report.without("planted");
        ensure!(missed.is_empty(), "the planted error was not found on {}", missed.join(" and "));
    }
    Ok(if report.failed() { Outcome::OverLimit } else { Outcome::Done })
}
