//! What drivers expect of the environment.
//!
//! Mesa has a Vulkan layer that looks for a Wayland desktop, to choose among adapters, and libwayland says *error:
//! XDG_RUNTIME_DIR is invalid or not set* where that variable is missing, as in containers and where services run.
//! Nothing is wrong then, but somebody who meets it as the first line of a program thinks so. A program cannot change
//! its own variables safely once it runs, because a thread of a driver may read them meanwhile; but it can start itself
//! anew with others, as the same process, so that signals reach it as before.

/// Says that the program was started anew: never twice.
#[cfg(target_os = "linux")]
const SETTLED: &str = "TAUT_SETTLED";

/// A place with nothing below it, now and later: libwayland asks for any absolute name, finds no desktop there, and is
/// quiet. A directory would be left behind, or could be somebody else's.
#[cfg(target_os = "linux")]
const NOWHERE: &str = "/dev/null";

/// The commands that may look for adapters.
#[cfg(target_os = "linux")]
const COMMANDS: [&str; 7] = ["adapters", "bench", "render", "run", "sweep", "validate", "view"];

/// Starts the program anew where drivers would complain; goes on as it is where that cannot be.
#[cfg(target_os = "linux")]
pub(crate) fn settle() {
    use std::env;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    let mut arguments = env::args_os();
    let (name, command) = (arguments.next(), arguments.next());
    let looks = command.as_ref().and_then(|command| command.to_str()).is_some_and(|word| COMMANDS.contains(&word));
    let settled = ["XDG_RUNTIME_DIR", SETTLED].into_iter().any(|variable| env::var_os(variable).is_some());
    let (true, false, Ok(program)) = (looks, settled, env::current_exe()) else { return };
    let mut again = Command::new(program);
    again.args(command.into_iter().chain(arguments)).env("XDG_RUNTIME_DIR", NOWHERE).env(SETTLED, "1");
    if let Some(name) = name {
        again.arg0(name);
    }
    // It returns only with an error, which is no reason to stop.
    let _ = again.exec();
}

/// Nothing is to be done elsewhere.
#[cfg(not(target_os = "linux"))]
pub(crate) fn settle() {}
