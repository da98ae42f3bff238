//! Starts the program, and tells how it ended.
#![allow(dead_code, reason = "every test file uses its own part of it")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};

#[path = "../../../tests/common/required.rs"]
pub(crate) mod required;

use required::ask_for;
use serde_json::Value;

/// The program.
pub(crate) const TAUT: &str = env!("CARGO_BIN_EXE_taut");

/// The top of the repository.
pub(crate) const TOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// What keeps wgpu from finding any adapter on Linux.
pub(crate) const NO_ADAPTER: [(&str, &str); 2] =
    [("VK_DRIVER_FILES", "/nonexistent"), ("__EGL_VENDOR_LIBRARY_FILENAMES", "/nonexistent")];

/// The program with arguments that are separated by spaces, in a directory, and with none of the variables that change
/// what it chooses or says.
pub(crate) fn command(directory: &Path, arguments: &str) -> Command {
    let mut command = Command::new(TAUT);
    command.args(arguments.split_whitespace()).current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for variable in [
        "WGPU_BACKEND",
        "WGPU_ADAPTER_NAME",
        "RUST_LOG",
        "RUST_BACKTRACE",
        "SLURM_ARRAY_TASK_ID",
        "JOB_COMPLETION_INDEX",
    ] {
        command.env_remove(variable);
    }
    command
}

/// What a finished program left.
#[derive(Debug, PartialEq)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    /// Its lines on standard error.
    pub(crate) stderr: Vec<String>,
}

impl Finished {
    /// Standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// All lines on standard error.
    pub(crate) fn said(&self) -> String {
        self.stderr.join("\n")
    }

    /// Its standard output, if it ended with exit code 0.
    #[track_caller]
    pub(crate) fn succeeds(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }
}

/// Waits for a program that was started.
pub(crate) fn finish(child: Child) -> Finished {
    let output = child.wait_with_output().expect("the program runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
        stderr: stderr.lines().map(str::to_owned).collect(),
    }
}

/// Runs the program in a directory.
pub(crate) fn run(directory: &Path, arguments: &str) -> Finished {
    run_with(directory, &[], arguments)
}

/// Runs the program in a directory, with variables.
pub(crate) fn run_with(directory: &Path, variables: &[(&str, &str)], arguments: &str) -> Finished {
    let mut command = command(directory, arguments);
    finish(command.envs(variables.iter().copied()).spawn().expect("the program starts"))
}

/// A JSON file.
pub(crate) fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).expect("it was written")).expect("it is JSON")
}

/// The names of what is in a directory.
pub(crate) fn names(directory: &Path) -> BTreeSet<OsString> {
    let entries = std::fs::read_dir(directory).expect("the directory is readable");
    entries.map(|entry| entry.expect("the entry is readable").file_name()).collect()
}

/// Names to compare with [`names`].
pub(crate) fn set(names: &[&str]) -> BTreeSet<OsString> {
    names.iter().map(OsString::from).collect()
}

/// Whether this machine has an adapter that computes. One that `TAUT_REQUIRE_GPU` asks for and that is not there is a
/// failure.
pub(crate) fn has_gpu() -> bool {
    let adapters = run(Path::new("."), "adapters --json").json();
    let usable = adapters.as_array().expect("a list").iter().filter(|adapter| adapter["usable"] == true);
    let of = |adapter: &Value, key: &str| adapter[key].as_str().expect("a word").to_owned();
    let usable: Vec<_> = usable.map(|adapter| (of(adapter, "backend"), of(adapter, "name"))).collect();
    ask_for(&usable);
    !usable.is_empty()
}
