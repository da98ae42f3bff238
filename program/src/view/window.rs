//! The window: panel, picture, mouse and keys.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use eframe::egui::{self, Align2, Color32, FontId, PointerButton, Sense, Ui};
use eframe::wgpu;
use glam::Vec3;
use taut::Gpu;
use taut::io::import::RenderMesh;
use taut::render::{Camera, Look, Studio};

use super::easel::{Easel, Subject};
use super::keys::{Action, KEYS};
use super::panel::{self, Panel};
use super::player::Player;
use super::recording::{self, Recording};
use super::scenes::{Choice, Scenes, Set};
use super::{Ending, Show};
use crate::options::BackendName;
use crate::output::count;

/// Turn of the camera for a pointer that crosses the picture's height \[rad\].
const TURN: f32 = 3.0;
/// Zoom for a step of the wheel: a part of the distance per point scrolled.
const ZOOM: f32 = 0.002;
/// Rings around vertices that were pinned by hand: their color, and their radius in points.
const RING: Color32 = Color32::from_rgb(255, 140, 0);
const RING_RADIUS: f32 = 9.0;

/// An open window.
pub(super) struct Window<'a> {
    player: Option<Player>,
    scenes: Scenes,
    texture: Option<RenderMesh>,
    easel: Easel,
    /// The edition of the player's cloth that the easel has.
    edition: u64,
    panel: Panel,
    studio: Studio,
    camera: Option<Camera>,
    /// Where the camera of what falls started.
    center: Vec3,
    name: String,
    /// Where it runs and who draws.
    place: String,
    adapter: String,
    directory: PathBuf,
    screenshots: Vec<PathBuf>,
    recording: Option<Recording>,
    recordings: Vec<PathBuf>,
    /// What became of the last thing that was asked for, or why nothing is drawn; a hint at first.
    notice: Option<String>,
    clock: Instant,
    ending: &'a mut Option<Ending>,
}

impl<'a> Window<'a> {
    pub(super) fn new(
        context: &eframe::CreationContext<'_>,
        show: Show,
        ending: &'a mut Option<Ending>,
    ) -> Result<Self> {
        panel::dress(&context.egui_ctx);
        let state = context.wgpu_render_state.as_ref().ok_or_else(|| anyhow!("the window has no wgpu device"))?;
        let gpu = Gpu::new(&state.device, &state.queue)?;
        let info = state.adapter.get_info();
        let adapter = Gpu::label(&info);
        let software = info.device_type == wgpu::DeviceType::Cpu;
        let on_gpu = match show.backend {
            BackendName::Gpu => true,
            BackendName::Cpu => false,
            BackendName::Auto => !software || show.named,
        };
        let Set { scene, studio, fps, texture, hint, .. } = show.set;
        let name = scene.name.to_string();
        let player = Player::new(on_gpu.then(|| gpu.clone()), scene, fps, !show.paused)?;
        let texture_used = texture.as_ref();
        let subject = Subject { cloth: player.cloth(), studio: &studio, pins: &[], texture: texture_used };
        let easel = Easel::new(state, &gpu, subject)?;
        Ok(Self {
            panel: Panel::new(&player, &show.scenes),
            place: place(&player, &adapter),
            center: center(player.positions()),
            edition: player.edition(),
            player: Some(player),
            scenes: show.scenes,
            texture,
            easel,
            studio,
            camera: None,
            name,
            adapter,
            directory: show.screenshots,
            screenshots: Vec::new(),
            recording: None,
            recordings: Vec::new(),
            notice: hint.map(str::to_owned),
            clock: Instant::now(),
            ending,
        })
    }

    /// A name that no file has with any of these extensions, without one: it has the scene and the frame.
    fn free_stem(&self, player: &Player, extensions: &[&str]) -> Result<PathBuf> {
        let directory = &self.directory;
        fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let named = |character: char| if character.is_alphanumeric() { character } else { '-' };
        let stem = format!("taut-{}-{:05}", self.name.chars().map(named).collect::<String>(), player.frame_number());
        // The same frame may be seen from several sides: nothing is written over.
        let names = std::iter::once(stem.clone()).chain((2..).map(|count| format!("{stem}-{count}")));
        let taken = |path: &Path| extensions.iter().any(|extension| path.with_extension(extension).exists());
        let mut free = names.map(|name| directory.join(name)).filter(|path| !taken(path));
        free.next().ok_or_else(|| anyhow!("there is no free name for {stem}"))
    }

    /// Writes a picture of what is seen.
    fn screenshot(&mut self) -> Result<String> {
        let (Some(player), Some(camera)) = (&self.player, &self.camera) else {
            return Err(anyhow!("nothing was drawn yet"));
        };
        let path = self.free_stem(player, &["png"])?.with_extension("png");
        let look = Look { coloring: self.panel.coloring(player), ..Look::default() };
        self.easel.write(&path, (camera, &look, &self.studio), player.cloth(), player.positions())?;
        let told = format!("Wrote {}.", path.display());
        self.screenshots.push(path);
        Ok(told)
    }

    /// Begins a recording with the present frame, or ends the one that goes on.
    fn record(&mut self) -> Result<String> {
        if self.recording.is_some() {
            return self.finish_recording();
        }
        let Some(player) = &self.player else { return Err(anyhow!("there is no cloth")) };
        let stem = self.free_stem(player, &recording::EXTENSIONS)?;
        self.recording = Some(Recording::begin(&stem, self.easel.size()?, &self.easel, player)?);
        self.record_frame()?;
        Ok("Every frame is recorded from now on.".to_owned())
    }

    fn finish_recording(&mut self) -> Result<String> {
        let (Some(recording), Some(player)) = (self.recording.take(), &self.player) else { return Ok(String::new()) };
        let frames = panel::frames_of(recording.frames().into());
        let paths = recording.finish(player)?;
        let told =
            format!("Wrote {frames} to {}.", paths.each_ref().map(|path| path.display().to_string()).join(" and "));
        self.recordings.extend(paths);
        Ok(told)
    }

    /// Adds the present frame to a recording; one that fails ends without a file.
    fn record_frame(&mut self) -> Result<()> {
        let (Some(recording), Some(player), Some(camera)) = (&mut self.recording, &self.player, &self.camera) else {
            return Ok(());
        };
        let look = Look { coloring: self.panel.coloring(player), ..Look::default() };
        let added = recording.add((camera, &look, &self.studio), &self.easel, player);
        if added.is_err() {
            self.recording = None;
        }
        added.context("the recording ended without a file")
    }

    /// Plays another scene, from its start.
    fn choose(&mut self, choice: Choice, context: &egui::Context) -> Result<String> {
        let mut told = if self.recording.is_some() { self.finish_recording()? } else { String::new() };
        let Some(player) = &mut self.player else { return Ok(told) };
        let before = self.scenes.chosen;
        let Set { scene, studio, fps, texture, hint, .. } = self.scenes.choose(choice)?;
        let name = scene.name.to_string();
        if let Err(error) = player.exchange(scene, fps) {
            self.scenes.chosen = before;
            return Err(error);
        }
        context.send_viewport_cmd(egui::ViewportCommand::Title(super::title(&name)));
        self.center = center(player.positions());
        self.place = place(player, &self.adapter);
        self.panel = self.panel.renewed(player, &self.scenes);
        (self.name, self.studio, self.texture, self.camera) = (name, studio, texture, None);
        if let Some(hint) = hint {
            told = format!("{told} {hint}");
        }
        Ok(told)
    }

    /// Does what a key or a button asks for.
    fn act(&mut self, action: Action, context: &egui::Context) {
        let Some(player) = &mut self.player else { return };
        match action {
            Action::Play => player.play(!player.is_playing()),
            Action::Step => {
                player.play(false);
                if player.step() {
                    let recorded = self.record_frame();
                    self.tell(recorded.map(|()| None));
                }
            }
            Action::Reset => player.reset(),
            Action::SeeAll => self.camera = None,
            Action::Screenshot => {
                let outcome = self.screenshot().context("there is no screenshot");
                self.tell(outcome.map(Some));
            }
            Action::Record => {
                let outcome = self.record().context("there is no recording");
                self.tell(outcome.map(Some));
            }
            Action::PreviousScene => self.turn_to(self.scenes.neighbor(-1), context),
            Action::NextScene => self.turn_to(self.scenes.neighbor(1), context),
            Action::Close => context.send_viewport_cmd(egui::ViewportCommand::Close),
        }
    }

    fn turn_to(&mut self, choice: Choice, context: &egui::Context) {
        let outcome = self.choose(choice, context);
        self.tell(outcome.map(Some));
    }

    /// Shows a sentence, or what went wrong.
    fn tell(&mut self, outcome: Result<Option<String>>) {
        match outcome {
            Ok(Some(told)) => self.notice = Some(told).filter(|told| !told.trim().is_empty()),
            Ok(None) => {}
            Err(error) => self.notice = Some(format!("{error:#}")),
        }
    }

    /// Keys do what the buttons do, unless somebody types a number or walks through the panel with Tab.
    fn keys(&mut self, ui: &Ui) {
        if ui.ctx().egui_wants_keyboard_input() {
            return;
        }
        // In the order in which they were pressed.
        let pressed = |event: &egui::Event| match event {
            egui::Event::Key { key, pressed: true, .. } => KEYS.iter().find(|binding| binding.key == *key),
            _ => None,
        };
        let pressed: Vec<_> = ui.input(|input| input.events.iter().filter_map(pressed).collect());
        for binding in pressed {
            self.act(binding.action, ui.ctx());
        }
    }

    /// The picture, and what the mouse does in it.
    fn picture(&mut self, ui: &mut Ui) -> Result<()> {
        let Some(player) = &mut self.player else { return Ok(()) };
        let (rect, response) = ui.allocate_exact_size(ui.available_size(), Sense::click_and_drag());
        let scale = ui.ctx().pixels_per_point();
        let size = [rect.width(), rect.height()].map(|side| ((side * scale).round() as u32).max(1));
        let aspect = rect.width() / rect.height();
        let camera = self.camera.get_or_insert_with(|| self.studio.camera(size));
        let place =
            |pointer: egui::Pos2| [(pointer.x - rect.left()) / rect.width(), (pointer.y - rect.top()) / rect.height()];
        let turn = response.drag_delta() / rect.height();
        if response.clicked_by(PointerButton::Primary)
            && let Some(pointer) = response.interact_pointer_pos()
            && let Some(told) = player.pin(camera, place(pointer), aspect)
        {
            self.notice = Some(told);
        }
        if response.drag_started_by(PointerButton::Primary)
            && let Some(pressed) = ui.input(|input| input.pointer.press_origin())
        {
            player.take(camera, place(pressed), aspect);
        }
        if response.dragged_by(PointerButton::Primary) {
            match response.interact_pointer_pos() {
                Some(pointer) if player.grabbed().is_some() => player.drag(camera, place(pointer), aspect),
                _ => *camera = camera.orbited(-TURN * turn.x, TURN * turn.y),
            }
        } else {
            player.release();
        }
        if response.dragged_by(PointerButton::Secondary) || response.dragged_by(PointerButton::Middle) {
            *camera = panned(camera, turn);
        }
        if response.hovered() {
            let scrolled = ui.input(|input| input.smooth_scroll_delta.y);
            *camera = camera.zoomed((-ZOOM * scrolled).exp());
        }
        let elapsed = std::mem::replace(&mut self.clock, Instant::now()).elapsed();
        let stepped = player.pass(elapsed);
        if self.studio.falls() {
            let now = center(player.positions());
            let by = (now - std::mem::replace(&mut self.center, now)).to_array();
            *camera = camera.moved(by);
            self.studio = self.studio.moved(by);
        }
        if player.edition() != self.edition {
            let (studio, texture) = (&self.studio, self.texture.as_ref());
            self.easel.set(Subject { cloth: player.cloth(), studio, pins: &player.pins(), texture })?;
            self.edition = player.edition();
        }
        let look = Look { coloring: self.panel.coloring(player), ..Look::default() };
        let view = (&*camera, &look, &self.studio);
        let id = self.easel.draw(size, view, player.cloth(), player.positions())?;
        let whole = egui::Rect::from_min_max(egui::pos2(0.0, 0.0), egui::pos2(1.0, 1.0));
        ui.painter().image(id, rect, whole, Color32::WHITE);
        for pin in player.pins() {
            if let Some([x, y]) = camera.project(player.positions()[pin as usize], aspect) {
                let at = rect.lerp_inside(egui::vec2(x, y));
                ui.painter().with_clip_rect(rect).circle_stroke(at, RING_RADIUS, egui::Stroke::new(3.0, RING));
            }
        }
        if player.is_playing() || player.grabbed().is_some() {
            ui.ctx().request_repaint();
        }
        if stepped {
            self.record_frame()?;
        }
        self.remarks(ui, rect);
        Ok(())
    }

    /// What is written on the picture: that it is recorded, and what became of what was asked for.
    fn remarks(&self, ui: &Ui, rect: egui::Rect) {
        let painter = ui.painter().with_clip_rect(rect);
        let boxed = |at: egui::Pos2, align: Align2, indent: f32, text: &str| {
            let width = rect.width() - 48.0 - indent;
            let text = painter.layout(text.to_owned(), FontId::proportional(17.0), Color32::WHITE, width);
            let place = align.anchor_size(at, text.size() + egui::vec2(16.0 + indent, 12.0));
            painter.rect_filled(place, 5.0, Color32::from_black_alpha(200));
            painter.galley(place.min + egui::vec2(8.0 + indent, 6.0), text, Color32::WHITE);
            place
        };
        if let Some(recording) = &self.recording {
            let text = panel::frames_of(recording.frames().into());
            let place = boxed(rect.left_top() + egui::vec2(16.0, 16.0), Align2::LEFT_TOP, 22.0, &text);
            painter.circle_filled(egui::pos2(place.left() + 18.0, place.center().y), 8.0, panel::RED);
        }
        if let Some(notice) = &self.notice {
            boxed(rect.left_bottom() + egui::vec2(16.0, -16.0), Align2::LEFT_BOTTOM, 0.0, notice);
        }
    }
}

fn place(player: &Player, adapter: &str) -> String {
    let vertices = count(player.cloth().mesh().vertex_count() as u64);
    match player.cloth().gpu() {
        Some(_) => format!("{vertices} vertices, simulated and drawn on {adapter}"),
        None => format!("{vertices} vertices, simulated on the CPU, drawn on {adapter}"),
    }
}

impl eframe::App for Window<'_> {
    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        self.keys(ui);
        let mut asked = panel::Asked::default();
        let recording = self.recording.is_some();
        egui::Panel::right("panel").default_size(panel::WIDTH).resizable(true).show(ui, |ui| {
            egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
                if let Some(player) = &mut self.player {
                    asked = self.panel.show(ui, player, &self.scenes, &self.place, recording);
                }
            });
        });
        for action in asked.actions {
            self.act(action, ui.ctx());
        }
        if let Some(choice) = asked.scene {
            self.turn_to(choice, ui.ctx());
        }
        egui::CentralPanel::no_frame().show(ui, |ui| {
            if let Err(error) = self.picture(ui) {
                self.notice = Some(format!("{error:#}"));
            }
        });
    }

    fn on_exit(&mut self) {
        // What was recorded until now is kept.
        let finished = self.finish_recording().err().map(|error| format!("{error:#}"));
        let Some(mut player) = self.player.take() else { return };
        player.play(false);
        player.look();
        let (screenshots, recordings) = (std::mem::take(&mut self.screenshots), std::mem::take(&mut self.recordings));
        let (name, adapter) = (self.name.clone(), self.adapter.clone());
        *self.ending = Some(Ending { name, player, screenshots, recordings, adapter, problem: finished });
    }
}

fn center(positions: &[[f32; 3]]) -> Vec3 {
    positions.iter().map(|place| Vec3::from(*place)).sum::<Vec3>() / positions.len().max(1) as f32
}

/// The camera moved so that what it looks at stays under a pointer that moved by parts of the picture's height.
fn panned(camera: &Camera, by: egui::Vec2) -> Camera {
    let arm = Vec3::from(camera.eye) - Vec3::from(camera.target);
    let height = 2.0 * arm.length() * (0.5 * camera.fov).tan();
    let right = Vec3::from(camera.up).cross(arm).normalize_or_zero();
    let up = arm.cross(right).normalize_or_zero();
    camera.moved((height * (by.y * up - by.x * right)).to_array())
}
