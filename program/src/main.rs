//! The command-line program.

mod adapters;
mod bench;
mod memory;
mod mesh;
mod options;
mod output;
mod past;
mod render;
mod rows;
mod run;
mod scene;
#[cfg(test)]
mod schema;
mod settle;
mod shard;
mod signals;
mod summary;
mod sweep;
#[cfg(feature = "validate")]
mod validate;
#[cfg(feature = "viewer")]
mod view;
mod world;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// Cloth that does not stretch, on a GPU or without one.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Simulate a scene, say how well the strain limit was held, and write files if asked to
    #[command(after_help = EXIT_CODES)]
    Run(options::Options),
    /// Simulate a scene with all values of some of its keys and all seeds of its start noise, a row for each run, on as
    /// many machines as there are
    #[command(after_help = EXIT_CODES)]
    Sweep(sweep::Options),
    /// Print a built-in scene as a file that `run` takes, or list the fabrics that files can name
    Scene(scene::Options),
    /// Open a window: look around, pull the cloth, change the solver and the wind
    #[cfg(feature = "viewer")]
    View(view::Options),
    /// Open a window (in programs built with the feature `viewer`)
    #[cfg(not(feature = "viewer"))]
    #[command(hide = true)]
    View(Anything),
    /// Draw a picture or an animation of a finished run
    Render(render::Options),
    /// List the graphics adapters and what matters about them here
    Adapters(adapters::Options),
    /// Measure the time to a strain that is really held, here and on an adapter
    Bench(bench::Options),
    /// Compare two result files of `bench`; exit code 1 if something became slower
    Compare(bench::CompareOptions),
    /// Check that an adapter computes the right cloth: kernel by kernel against the CPU, and whole steps against f64
    #[cfg(feature = "validate")]
    #[command(after_help = VALIDATE_CODES)]
    Validate(validate::Options),
    /// Check that an adapter computes the right cloth (in programs built with the feature `validate`)
    #[cfg(not(feature = "validate"))]
    #[command(hide = true)]
    Validate(Anything),
}

/// Whatever is given to a command that is not there.
#[cfg(not(all(feature = "validate", feature = "viewer")))]
#[derive(Debug, clap::Args)]
struct Anything {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<String>,
}

const EXIT_CODES: &str = "Exit codes: 0 done within the limit; 1 done, but some frames are over the limit, or cloth passed through itself that should not, or a comparison found something slower; \
2 bad usage or input, or no such backend or adapter; 130 interrupted, 143 terminated: what was done so far is kept.\n\
WGPU_BACKEND (vulkan, gl, metal, dx12) and WGPU_ADAPTER_NAME choose among adapters too.";

#[cfg(feature = "validate")]
const VALIDATE_CODES: &str = "Exit codes: 0 everything passed, or failed as it is known to on this adapter; 1 something failed; \
2 bad usage, or nothing to validate: no such adapter, or none that computes; 130 interrupted, 143 terminated.\n\
WGPU_BACKEND (vulkan, gl, metal, dx12) and WGPU_ADAPTER_NAME choose among adapters too.";

/// How a command ended, if nothing was wrong with it.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    Done,
    OverLimit,
    /// By a signal, with the exit code that a shell reports of it.
    Interrupted(u8),
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::OverLimit => Self::from(1),
            Outcome::Interrupted(code) => Self::from(code),
        }
    }
}

fn main() -> ExitCode {
    settle::settle();
    // wgpu logs at length what also arrives here as an error; who wants to read it sets RUST_LOG.
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("off")).init();
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    let outcome = match arguments.command {
        Command::Run(options) => run::run(&options),
        Command::Sweep(options) => sweep::sweep(&options),
        Command::Scene(options) => scene::print(&options),
        #[cfg(feature = "viewer")]
        Command::View(options) => view::view(&options),
        #[cfg(not(feature = "viewer"))]
        Command::View(_) => Err(without("the window", "viewer", "view")),
        Command::Render(options) => render::render(&options),
        Command::Adapters(options) => adapters::list(&options),
        Command::Bench(options) => bench::bench(&options),
        Command::Compare(options) => bench::compare_files(&options),
        #[cfg(feature = "validate")]
        Command::Validate(options) => validate::validate(&options),
        #[cfg(not(feature = "validate"))]
        Command::Validate(_) => Err(without("the checks of adapters", "validate", "validate")),
    };
    match outcome {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            output::say(&sentence(&error));
            ExitCode::from(2)
        }
    }
}

/// The command line, and which of the options of `run` and `view` were given and not left to their defaults.
fn arguments() -> Result<Arguments, clap::Error> {
    let grouped = |command: clap::Command| {
        command.mut_args(|argument| {
            let heading = options::heading(argument.get_id().as_str());
            if argument.is_positional() { argument } else { argument.help_heading(heading) }
        })
    };
    let mut command = Arguments::command().mut_subcommand("run", grouped).mut_subcommand("sweep", |command| {
        let set = |set: clap::Arg| set.help(sweep::SET).value_name("KEY=VALUES");
        grouped(command.mut_arg("set", set))
    });
    if cfg!(feature = "viewer") {
        command = command.mut_subcommand("view", grouped);
    }
    let matches = command.try_get_matches()?;
    let mut arguments = Arguments::from_arg_matches(&matches)?;
    if let Some((_, matches)) = matches.subcommand() {
        match &mut arguments.command {
            Command::Run(options) => options.subject.note_given(matches),
            Command::Sweep(options) => options.subject.note_given(matches),
            #[cfg(feature = "viewer")]
            Command::View(options) => options.subject_mut().note_given(matches),
            _ => {}
        }
    }
    Ok(arguments)
}

/// What is said where a command needs a feature that the program was built without.
fn without(what: &str, feature: &str, command: &str) -> anyhow::Error {
    anyhow::anyhow!(
        "this program was built without {what}; cargo run --release --features {feature} -- {command} has it"
    )
}

/// An error with its causes, each said once: some errors quote their cause themselves.
fn sentence(error: &anyhow::Error) -> String {
    error
        .chain()
        .map(ToString::to_string)
        .reduce(|told, cause| if told.contains(&cause) { told } else { format!("{told}: {cause}") })
        .unwrap_or_default()
}

/// Help and version as clap prints them; everything else as one line, like all other errors.
fn refuse(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // Nobody is left to be told that help could not be printed.
            let _ = error.print();
        }
        _ => {
            let text = error.render().to_string();
            let told = text.split("\n\n").filter(|part| !part.starts_with("Usage:") && !part.starts_with("For more"));
            let told = told.collect::<Vec<_>>().join("; ");
            output::say(told.strip_prefix("error: ").unwrap_or(&told));
        }
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
