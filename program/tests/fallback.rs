//! Which backend the program takes, on real adapters and without any. The environment of the program decides what wgpu
//! finds: the Vulkan loader and Mesa can be told to hide drivers or extensions.
#![cfg(target_os = "linux")]

mod common;

use std::path::Path;

use common::{Finished, NO_ADAPTER, command, finish};
use serde_json::Value;

/// Variables that change what wgpu finds or how the program chooses; a test starts without them.
const VARIABLES: [&str; 16] = [
    "DISPLAY",
    "GALLIUM_DRIVER",
    "LIBGL_ALWAYS_SOFTWARE",
    "MESA_EXTENSION_OVERRIDE",
    "MESA_GLES_VERSION_OVERRIDE",
    "MESA_GL_VERSION_OVERRIDE",
    "RUST_LOG",
    "VK_DRIVER_FILES",
    "VK_ICD_FILENAMES",
    "VK_LOADER_DRIVERS_DISABLE",
    "VK_LOADER_DRIVERS_SELECT",
    "WAYLAND_DISPLAY",
    "WGPU_ADAPTER_NAME",
    "WGPU_BACKEND",
    "WGPU_NOOP_BACKEND",
    "__EGL_VENDOR_LIBRARY_FILENAMES",
];

/// A machine as the program sees it.
#[derive(Clone, Debug)]
struct Machine(Vec<(&'static str, String)>);

impl Machine {
    fn new(variables: &[(&'static str, &str)]) -> Self {
        Self(variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect())
    }

    fn with(&self, name: &'static str, value: &str) -> Self {
        let mut machine = self.clone();
        machine.0.push((name, value.to_owned()));
        machine
    }

    fn no_adapter() -> Self {
        Self::new(&NO_ADAPTER)
    }

    /// Mesa's software GL and nothing else.
    fn only_gl() -> Self {
        Self::new(&[("VK_DRIVER_FILES", "/nonexistent"), ("LIBGL_ALWAYS_SOFTWARE", "1")])
    }

    fn no_compute() -> Self {
        Self::only_gl().with("MESA_EXTENSION_OVERRIDE", "-GL_ARB_compute_shader")
    }

    /// Listed as a GPU that computes, but gives no device.
    fn broken() -> Self {
        Self::only_gl().with("GALLIUM_DRIVER", "softpipe")
    }

    /// Mesa's software Vulkan and GL; `None` where its Vulkan driver is not installed.
    fn software() -> Option<Self> {
        let drivers = std::fs::read_dir("/usr/share/vulkan/icd.d").ok()?;
        let mut drivers = drivers.filter_map(|entry| entry.ok()?.path().to_str().map(str::to_owned));
        let lavapipe = drivers.find(|path| path.contains("/lvp_icd"))?;
        Some(Self::new(&[("VK_DRIVER_FILES", &lavapipe), ("LIBGL_ALWAYS_SOFTWARE", "1")]))
    }

    fn taut(&self, arguments: &str) -> Finished {
        let mut command = command(Path::new("."), arguments);
        for name in VARIABLES {
            command.env_remove(name);
        }
        command.envs(self.0.iter().map(|(name, value)| (name, value)));
        finish(command.spawn().expect("the program starts"))
    }

    fn adapters(&self) -> Vec<Value> {
        let output = self.taut("adapters --json");
        assert_eq!(output.code, Some(0), "{self:?}: {output:?}");
        output.json().as_array().expect("a list").clone()
    }

    /// Whether the variables have had their effect; where they have not, a test says so or fails.
    fn has(&self, what: &str, holds: impl Fn(&[Value]) -> bool) -> bool {
        let adapters = self.adapters();
        let holds = holds(&adapters);
        if !holds {
            let adapters: Vec<String> =
                adapters.iter().map(|found| format!("{} ({})", found["name"], found["backend"])).collect();
            println!("SKIPPED: this machine cannot show {what}, it has {adapters:?}");
            assert!(
                !common::required::gpu_required(),
                "TAUT_REQUIRE_GPU is set, but this machine cannot show {what}: {adapters:?}"
            );
        }
        holds
    }

    /// Backend, adapter and reason of a run that must succeed.
    #[track_caller]
    fn runs(&self, arguments: &str) -> [String; 3] {
        let output = self.taut(&format!("run chain --size 4 --seconds 0.05 --quiet --json - {arguments}"));
        assert_eq!(output.code, Some(0), "{self:?} {arguments}: {output:?}");
        let report = output.json();
        assert_eq!((&report["frames"], &report["frames_over"]), (&3.into(), &0.into()), "{report}");
        ["backend", "adapter", "reason"].map(|key| report[key].as_str().unwrap_or("null").to_owned())
    }

    #[track_caller]
    fn runs_on_cpu(&self, arguments: &str, because: &str) {
        let [backend, adapter, reason] = self.runs(arguments);
        assert_eq!((backend.as_str(), adapter.as_str()), ("cpu", "null"), "{self:?} {arguments}: {reason}");
        assert!(reason.contains(because), "{self:?} {arguments}: {reason}");
    }

    #[track_caller]
    fn runs_on_gpu(&self, arguments: &str, name: &str) {
        let [backend, adapter, reason] = self.runs(arguments);
        assert_eq!(backend, "gpu", "{self:?} {arguments}: {reason}");
        assert!(adapter.contains(name) && reason.contains(&adapter), "{self:?} {arguments}: {adapter}, {reason}");
    }

    /// Exit code 2, nothing on standard output, one sentence.
    #[track_caller]
    fn refuses(&self, arguments: &str, because: &str) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let out = directory.path().join("out");
        let output =
            self.taut(&format!("run chain --size 4 --seconds 0.05 --json - --out {} {arguments}", out.display()));
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{self:?} {arguments}: {output:?}");
        let text = output.said();
        // Drivers have their own lines, which are no matter of ours.
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("taut: ")).collect();
        assert!(lines.len() == 1 && !text.contains("panicked"), "{self:?} {arguments}: {text}");
        assert!(lines[0].contains(because), "{self:?} {arguments}: {lines:?}");
        assert!(!out.exists(), "{self:?} {arguments}");
    }
}

fn all(adapters: &[Value], key: &str, value: impl Into<Value>) -> bool {
    let value = value.into();
    !adapters.is_empty() && adapters.iter().all(|adapter| adapter[key] == value)
}

#[test]
fn without_any_adapter() {
    let machine = Machine::no_adapter();
    if !machine.has("a system without adapters", <[Value]>::is_empty) {
        return;
    }
    let output = machine.taut("adapters");
    assert_eq!(output.stdout, "There is no graphics adapter; `taut run` uses the CPU.\n");
    machine.runs_on_cpu("", "there is no graphics adapter");
    machine.runs_on_cpu("--backend auto", "there is no graphics adapter");
    machine.runs_on_cpu("--backend cpu", "asked for");
    machine.refuses("--backend gpu", "there is no graphics adapter");
    // Who names an adapter does not want another backend silently.
    machine.refuses("--adapter llvmpipe", "`llvmpipe`");
    machine.with("WGPU_ADAPTER_NAME", "llvmpipe").refuses("", "`llvmpipe`");
    machine.with("WGPU_ADAPTER_NAME", "llvmpipe").runs_on_cpu("--backend cpu", "asked for");
}

#[test]
fn with_an_adapter_that_does_not_compute() {
    let machine = Machine::no_compute();
    if !machine.has("an adapter without compute shaders", |adapters| all(adapters, "compute", false)) {
        return;
    }
    let adapters = machine.adapters();
    assert!(all(&adapters, "usable", false), "{adapters:?}");
    let name = adapters[0]["name"].as_str().expect("a name");
    machine.runs_on_cpu("", "no compute shaders");
    machine.runs_on_cpu("--backend auto", name);
    machine.runs_on_cpu("--backend cpu", "asked for");
    machine.refuses("--backend gpu", "no compute shaders");
    machine.refuses("--backend gpu --adapter llvmpipe", "no compute shaders");
}

#[test]
fn with_an_adapter_that_gives_no_device() {
    let machine = Machine::broken();
    if !machine.has("an adapter that gives no device", |adapters| all(adapters, "name", "softpipe")) {
        return;
    }
    machine.runs_on_cpu("", "softpipe (Gl): the device failed");
    machine.runs_on_cpu("--backend cpu", "asked for");
    machine.refuses("--backend gpu", "the device failed");
}

/// A driver that looks for a desktop complains on standard error where there is no `XDG_RUNTIME_DIR`; nobody hears it.
#[cfg(target_os = "linux")]
#[test]
fn drivers_are_quiet_where_there_is_no_desktop() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let said = |settled: bool, arguments: &str| {
        let mut command = command(directory.path(), arguments);
        command.env_remove("XDG_RUNTIME_DIR").env_remove("WAYLAND_DISPLAY");
        if settled {
            command.env("TAUT_SETTLED", "1");
        }
        finish(command.spawn().expect("the program starts")).said()
    };
    let sweep = "sweep chain --size 4 --seconds 0.05 --out swept";
    for arguments in ["adapters", "run chain --size 4 --seconds 0.05", sweep, "render nothing"] {
        let quiet = said(false, arguments);
        assert!(!quiet.contains("XDG_RUNTIME_DIR"), "{arguments}: {quiet}");
    }
    // As it would be without that: Mesa says it once an instance is made.
    if !said(true, "adapters").contains("XDG_RUNTIME_DIR") {
        println!("SKIPPED: no driver here asks for XDG_RUNTIME_DIR");
    }
}

#[test]
fn with_software_adapters_only() {
    let machine = Machine::software().unwrap_or_else(|| Machine::new(&[("WGPU_BACKEND", "vulkan")]));
    if !machine.has("software adapters only", |adapters| all(adapters, "type", "software")) {
        return;
    }
    machine.runs_on_cpu("", "software");
    machine.runs_on_cpu("--backend auto", "llvmpipe");
    machine.runs_on_cpu("--backend cpu", "asked for");
    machine.runs_on_gpu("--backend gpu", "llvmpipe");
    machine.runs_on_gpu("--adapter llvmpipe", "llvmpipe");
    machine.runs_on_gpu("--backend gpu --adapter LLVMpipe", "llvmpipe");
    machine.refuses("--adapter geforce", "`geforce`");
    machine.refuses("--backend gpu --adapter geforce", "`geforce`");

    machine.with("WGPU_ADAPTER_NAME", "llvmpipe").runs_on_gpu("", "llvmpipe");
    machine.with("WGPU_ADAPTER_NAME", "geforce").refuses("", "`geforce`");
    // The option is nearer than the variable, and an empty variable is none.
    machine.with("WGPU_ADAPTER_NAME", "geforce").runs_on_gpu("--adapter llvmpipe", "llvmpipe");
    machine.with("WGPU_ADAPTER_NAME", "").runs_on_cpu("", "software");
}

#[test]
fn with_two_graphics_interfaces() {
    let Some(machine) = Machine::software() else {
        println!("SKIPPED: there is no software Vulkan driver");
        assert!(!common::required::gpu_required(), "TAUT_REQUIRE_GPU is set, but there is no software Vulkan driver");
        return;
    };
    let backends = |adapters: &[Value]| {
        ["vulkan", "gl"].iter().all(|name| adapters.iter().any(|adapter| adapter["backend"] == *name))
    };
    if !machine.has("Vulkan and GL", backends) {
        return;
    }
    machine.runs_on_gpu("--adapter (gl)", "(Gl)");
    machine.runs_on_gpu("--adapter (vulkan)", "(Vulkan)");
    for (backend, label) in [("gl", "(Gl)"), ("vulkan", "(Vulkan)")] {
        let machine = machine.with("WGPU_BACKEND", backend);
        assert!(all(&machine.adapters(), "backend", backend));
        machine.runs_on_gpu("--backend gpu", label);
    }
    machine.with("WGPU_BACKEND", "gl").refuses("--adapter (vulkan)", "`(vulkan)`");
}

#[test]
fn with_gl_only() {
    let machine = Machine::only_gl();
    let gl = |adapters: &[Value]| all(adapters, "backend", "gl") && all(adapters, "compute", true);
    if !machine.has("GL without Vulkan", gl) {
        return;
    }
    machine.runs_on_cpu("", "software");
    machine.runs_on_gpu("--backend gpu", "(Gl)");
    machine.with("WGPU_BACKEND", "gl").runs_on_gpu("--backend gpu", "(Gl)");
    machine.with("WGPU_BACKEND", "vulkan").runs_on_cpu("", "there is no graphics adapter");
    machine.with("WGPU_BACKEND", "vulkan").refuses("--backend gpu", "there is no graphics adapter");
}
