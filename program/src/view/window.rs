//! The window: panel, picture, mouse and keys.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use eframe::egui::{self, Key, PointerButton, Sense, Ui};
use eframe::wgpu;
use glam::Vec3;
use taut::Gpu;
use taut::render::{Camera, Look, Studio};

use super::easel::Easel;
use super::panel::Panel;
use super::player::Player;
use super::{Ending, Show};
use crate::options::BackendName;

/// Turn of the camera for a pointer that crosses the picture's height \[rad\].
const TURN: f32 = 3.0;
/// Zoom for a step of the wheel: a part of the distance per point scrolled.
const ZOOM: f32 = 0.002;

/// An open window.
pub(super) struct Window<'a> {
    player: Option<Player>,
    easel: Easel,
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
    /// What became of the last screenshot, or why nothing is drawn; a hint at first.
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
        let name = show.scene.name.to_string();
        let player = Player::new(on_gpu.then_some(&gpu), show.scene, show.fps, !show.paused)?;
        let easel = Easel::new(state, &gpu, player.cloth(), &show.studio)?;
        let vertices = crate::output::count(player.cloth().mesh().vertex_count() as u64);
        let place = match on_gpu {
            true => format!("{name}, {vertices} vertices, simulated and drawn on {adapter}"),
            false => format!("{name}, {vertices} vertices, simulated on the CPU, drawn on {adapter}"),
        };
        Ok(Self {
            panel: Panel::new(&player),
            center: center(player.positions()),
            player: Some(player),
            easel,
            studio: show.studio,
            camera: None,
            name,
            place,
            adapter,
            directory: show.screenshots,
            screenshots: Vec::new(),
            notice: show.hint.map(str::to_owned),
            clock: Instant::now(),
            ending,
        })
    }

    /// Writes a picture of what is seen; its name has the scene and the frame.
    fn screenshot(&mut self) -> Result<PathBuf> {
        let (Some(player), Some(camera)) = (&self.player, &self.camera) else {
            return Err(anyhow!("nothing was drawn yet"));
        };
        let directory = &self.directory;
        fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let named = |character: char| if character.is_alphanumeric() { character } else { '-' };
        let stem = format!("taut-{}-{:05}", self.name.chars().map(named).collect::<String>(), player.cloth().frame());
        // The same frame may be seen from several sides: nothing is written over.
        let names = std::iter::once(format!("{stem}.png")).chain((2..).map(|count| format!("{stem}-{count}.png")));
        let mut free = names.map(|name| directory.join(name)).filter(|path| !path.exists());
        let path = free.next().ok_or_else(|| anyhow!("there is no free name for {stem}.png"))?;
        let look = Look { coloring: self.panel.coloring(player), ..Look::default() };
        self.easel.write(&path, (camera, &look, &self.studio), player.cloth())?;
        self.screenshots.push(path.clone());
        Ok(path)
    }

    /// Keys that do what the buttons do, unless somebody types a number; whether a screenshot is asked for.
    fn keys(&mut self, ui: &Ui) -> bool {
        let Some(player) = &mut self.player else { return false };
        if ui.ctx().text_edit_focused() {
            return false;
        }
        let pressed = |key| ui.input(|input| input.key_pressed(key));
        if pressed(Key::Space) {
            player.play(!player.is_playing());
        }
        for _ in 0..ui.input(|input| input.num_presses(Key::ArrowRight)) {
            player.play(false);
            player.step();
        }
        if pressed(Key::R) {
            player.reset();
        }
        if pressed(Key::F) {
            self.camera = None;
        }
        if pressed(Key::Q) {
            ui.ctx().send_viewport_cmd(egui::ViewportCommand::Close);
        }
        pressed(Key::S)
    }

    /// The picture, and what the mouse does in it.
    fn picture(&mut self, ui: &mut Ui) -> Result<()> {
        let Some(player) = &mut self.player else { return Ok(()) };
        let (rect, response) = ui.allocate_exact_size(ui.available_size(), Sense::DRAG);
        let scale = ui.ctx().pixels_per_point();
        let size = [rect.width(), rect.height()].map(|side| ((side * scale).round() as u32).max(1));
        let aspect = rect.width() / rect.height();
        let camera = self.camera.get_or_insert_with(|| self.studio.camera(size));
        let place =
            |pointer: egui::Pos2| [(pointer.x - rect.left()) / rect.width(), (pointer.y - rect.top()) / rect.height()];
        let turn = response.drag_delta() / rect.height();
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
        player.pass(elapsed);
        if self.studio.falls() {
            let now = center(player.positions());
            let by = (now - std::mem::replace(&mut self.center, now)).to_array();
            *camera = camera.moved(by);
            self.studio = self.studio.moved(by);
        }
        let look = Look { coloring: self.panel.coloring(player), ..Look::default() };
        let view = (&*camera, &look, &self.studio);
        let id = self.easel.draw(size, view, player.cloth(), player.positions())?;
        let whole = egui::Rect::from_min_max(egui::pos2(0.0, 0.0), egui::pos2(1.0, 1.0));
        ui.painter().image(id, rect, whole, egui::Color32::WHITE);
        if player.is_playing() || player.grabbed().is_some() {
            ui.ctx().request_repaint();
        }
        Ok(())
    }
}

impl eframe::App for Window<'_> {
    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        let mut screenshot = self.keys(ui);
        egui::Panel::right("panel").default_size(320.0).resizable(true).show(ui, |ui| {
            egui::ScrollArea::vertical().show(ui, |ui| {
                if let Some(player) = &mut self.player {
                    let asked = self.panel.show(ui, player, &self.place);
                    screenshot |= asked.screenshot;
                    if asked.frame_all {
                        self.camera = None;
                    }
                }
                if let Some(notice) = &self.notice {
                    ui.separator();
                    ui.label(notice);
                }
            });
        });
        egui::CentralPanel::no_frame().show(ui, |ui| {
            if let Err(error) = self.picture(ui) {
                self.notice = Some(error.to_string());
            }
        });
        if screenshot {
            self.notice = Some(match self.screenshot() {
                Ok(path) => format!("wrote {}", path.display()),
                Err(error) => format!("no screenshot: {error:#}"),
            });
        }
    }

    fn on_exit(&mut self) {
        let Some(player) = self.player.take() else { return };
        let screenshots = std::mem::take(&mut self.screenshots);
        *self.ending = Some(Ending { player, screenshots, adapter: self.adapter.clone() });
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
