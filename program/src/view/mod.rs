//! `taut view`: a window with the cloth in it.
//!
//! | Module | |
//! |---|---|
//! | [`player`] | the simulation: frames, what they reached, what is changed while it runs |
//! | [`crossings`] | how often the cloth passes through itself |
//! | [`grab`] | where the vertex that the pointer took shall go |
//! | [`scenes`] | which scenes there are to choose from |
//! | [`easel`] | the picture in the middle, drawn from the simulation's buffers |
//! | [`recording`] | a point cache and a moving picture of what is played |
//! | [`keys`] | what keys and mouse do |
//! | [`panel`] | buttons, sliders and plots |
//! | [`window`] | puts them together, and knows mouse and keys |

mod crossings;
mod easel;
mod grab;
mod keys;
mod panel;
mod player;
mod recording;
mod scenes;
mod window;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use eframe::egui_wgpu::{WgpuSetup, WgpuSetupCreateNew};
use eframe::{NativeOptions, egui, wgpu};
use serde_json::json;
use taut::io::atomic::AtomicFile;
use taut::{Gpu, Substeps};

use crate::Outcome;
use crate::options::{BackendName, SubjectOptions};
use crate::output::{self, count, percent};
use crate::render::size;
use player::Player;
use scenes::{Scenes, Set};
use window::Window;

/// Options of `taut view`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    subject: SubjectOptions,

    /// Width and height of the window in pixels
    #[arg(long, value_name = "WxH", default_value = "1200x800", value_parser = size, allow_hyphen_values = true)]
    size_px: [u32; 2],

    /// Wait for Space instead of starting at once
    #[arg(long)]
    paused: bool,

    /// Where screenshots and recordings go; it is made if it is missing
    #[arg(long, value_name = "DIR", default_value = ".")]
    screenshots: PathBuf,

    /// Write what was reached as JSON to this file when the window is closed, or to standard output for -
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,

    /// Say nothing but errors
    #[arg(long)]
    quiet: bool,
}

impl Options {
    pub(crate) fn subject_mut(&mut self) -> &mut SubjectOptions {
        &mut self.subject
    }
}

/// What a window is opened with.
#[derive(Debug)]
struct Show {
    set: Set,
    scenes: Scenes,
    backend: BackendName,
    /// Whether the adapter was chosen by name: then a software one is meant.
    named: bool,
    paused: bool,
    screenshots: PathBuf,
}

/// What is left when the window was closed.
#[derive(Debug)]
struct Ending {
    /// Of the scene.
    name: String,
    player: Player,
    screenshots: Vec<PathBuf>,
    recordings: Vec<PathBuf>,
    adapter: String,
    /// What became of a recording that could not be ended.
    problem: Option<String>,
}

/// Opens a window and comes back when it is closed.
pub(crate) fn view(options: &Options) -> Result<Outcome> {
    let subject = &options.subject;
    let (scenes, set) = Scenes::open(subject)?;
    let title = title(&set.scene.name);
    let show = Show {
        set,
        scenes,
        backend: subject.backend,
        named: subject.adapter.is_some(),
        paused: options.paused,
        screenshots: options.screenshots.clone(),
    };
    // What cannot be written is known before the window is open.
    let json = match &options.json {
        Some(path) if path.as_os_str() != "-" => Some(AtomicFile::create(path)?),
        _ => None,
    };
    let mut ending = None;
    let native = native_options(&title, options.size_px, subject.adapter.clone());
    let open = |context: &eframe::CreationContext<'_>| -> Result<Box<dyn eframe::App + '_>, _> {
        Ok(Box::new(Window::new(context, show, &mut ending)?))
    };
    eframe::run_native(&title, native, Box::new(open)).map_err(told)?;
    let ending = ending.ok_or_else(|| anyhow!("the window was closed before it was open"))?;
    tell(options, json, &ending)?;
    match ending.problem {
        Some(problem) => Err(anyhow!("there is no recording: {problem}")),
        None => Ok(Outcome::Done),
    }
}

/// What a window is called.
fn title(scene: &str) -> String {
    format!("taut: {scene}")
}

/// Without the type names that the errors of a window have.
fn told(error: eframe::Error) -> anyhow::Error {
    match error {
        eframe::Error::AppCreation(error) => anyhow!("{error}"),
        eframe::Error::WinitEventLoop(error) => anyhow!("there is no display to open a window on: {error}"),
        error => anyhow!("cannot open a window: {error}"),
    }
}

fn native_options(title: &str, [width, height]: [u32; 2], adapter: Option<String>) -> NativeOptions {
    let adapter = adapter.or_else(|| std::env::var("WGPU_ADAPTER_NAME").ok().filter(|name| !name.is_empty()));
    let choose = move |adapters: &[wgpu::Adapter], surface: Option<&wgpu::Surface<'_>>| {
        choose(adapters, surface, adapter.as_deref())
    };
    let mut options = NativeOptions {
        viewport: egui::ViewportBuilder::default()
            .with_title(title)
            .with_app_id("taut")
            .with_inner_size([width as f32, height as f32])
            .with_min_inner_size([480.0, 320.0]),
        ..Default::default()
    };
    options.wgpu_options.wgpu_setup = WgpuSetup::CreateNew(WgpuSetupCreateNew {
        native_adapter_selector: Some(Arc::new(choose)),
        device_descriptor: Arc::new(|_| wgpu::DeviceDescriptor {
            label: Some("taut view"),
            required_limits: Gpu::required_limits(),
            ..Default::default()
        }),
        ..WgpuSetupCreateNew::without_display_handle()
    });
    options
}

/// The first adapter that computes, can draw on the window and has the name, if one is asked for; GPUs before software.
fn choose(
    adapters: &[wgpu::Adapter],
    surface: Option<&wgpu::Surface<'_>>,
    name: Option<&str>,
) -> Result<wgpu::Adapter, String> {
    let mut refused = String::new();
    let mut usable: Vec<&wgpu::Adapter> = Vec::new();
    for adapter in adapters {
        let label = Gpu::label(&adapter.get_info());
        let problem = if name.is_some_and(|name| !label.to_lowercase().contains(&name.to_lowercase())) {
            "has another name".to_owned()
        } else if surface.is_some_and(|surface| !adapter.is_surface_supported(surface)) {
            "cannot draw on this window".to_owned()
        } else if let Err(error) = Gpu::check(adapter) {
            error.to_string()
        } else {
            usable.push(adapter);
            continue;
        };
        // Writing to a string cannot fail.
        let _ = write!(refused, "; {label}: {problem}");
    }
    usable.sort_by_key(|adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu);
    usable.first().map(|adapter| (*adapter).clone()).ok_or_else(|| format!("there is no adapter for a window{refused}"))
}

/// Prints what was reached, and writes it where that was asked for.
fn tell(options: &Options, file: Option<AtomicFile>, ending: &Ending) -> Result<()> {
    let Ending { name, player, screenshots, recordings, adapter, .. } = ending;
    let (tally, settings, stuff) = (player.tally(), player.cloth().settings(), player.stuff());
    let substeps = match settings.substeps {
        Substeps::Fixed(count) | Substeps::UpTo(count) => json!(count),
        _ => json!("auto"),
    };
    let json = json!({
        "schema_version": 1,
        "scene": name,
        "backend": if player.cloth().gpu().is_some() { "gpu" } else { "cpu" },
        "adapter": adapter,
        "vertices": player.cloth().mesh().vertex_count(),
        "solver": settings.method.solver().name(),
        "strain_limit": f64::from(settings.strain_limit),
        "substeps": substeps,
        "drag": settings.drag,
        "damping": settings.damping,
        "bending": stuff.bending,
        "friction": stuff.friction,
        "self_collision": stuff.self_collision,
        "frames": tally.frames(),
        "frames_over": tally.frames_over(),
        "strain_max": tally.strain_max(),
        // Of the last frame.
        "crossings": player.crossings().map(|found| found.crossings),
        "drags": player.drags(),
        "pins": player.pins(),
        "screenshots": screenshots,
        "recordings": recordings,
        "problem": player.problem(),
    });
    let to_stdout = options.json.is_some() && file.is_none();
    if let Some(mut file) = file {
        let path = file.path().to_owned();
        writeln!(file, "{json:#}").with_context(|| format!("cannot write {}", path.display()))?;
        file.finish()?;
    } else if to_stdout {
        output::print(&format!("{json:#}"))?;
    }
    if !options.quiet {
        let over = match tally.frames_over() {
            0 => "every one within its limit".to_owned(),
            over => format!("{} over their limit", count(over.into())),
        };
        let (frames, strain) = (count(tally.frames().into()), percent(tally.strain_max()));
        let told = format!("{frames} frames, {over}; largest strain {strain}");
        if to_stdout { output::show(&told) } else { output::print(&told)? }
    }
    Ok(())
}
