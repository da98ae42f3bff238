//! Buttons, sliders and plots beside the picture.

use std::ops::RangeInclusive;

use eframe::egui::{self, CollapsingHeader, Color32, ComboBox, Response, RichText, Slider, SliderClamping, Ui};
use egui_plot::{HLine, Line, Plot, PlotPoints};
use taut::render::Coloring;
use taut::{Method, Settings, Substeps, Wind};

use super::crossings::Found;
use super::keys::{Action, KEYS, MOUSE, hint};
use super::player::{Player, SHOWN, Sample, Stuff};
use super::scenes::{Choice, Scenes};
use crate::output::{count, duration, percent, significant};

const GOOD: Color32 = Color32::from_rgb(110, 215, 140);
const BAD: Color32 = Color32::from_rgb(255, 115, 95);
const KEY: Color32 = Color32::from_rgb(150, 205, 255);
/// The mark of a recording.
pub(super) const RED: Color32 = Color32::from_rgb(235, 40, 40);
/// Width of the panel at first, in points.
pub(super) const WIDTH: f32 = 400.0;
/// Between the columns and rows of a table, and the width of a column at least, in points.
const TIGHT: [f32; 2] = [8.0, 2.0];
const FIRST: f32 = 84.0;
/// Heights of the window from which on there is room for the keys, and for the plots besides.
const ROOM_FOR_KEYS: f32 = 700.0;
const ROOM_FOR_PLOTS: f32 = 960.0;

/// Text that can be read at arm's length.
pub(super) fn dress(context: &egui::Context) {
    context.set_theme(egui::Theme::Dark);
    context.all_styles_mut(|style| {
        for (name, font) in &mut style.text_styles {
            font.size = match name {
                egui::TextStyle::Heading => 20.0,
                egui::TextStyle::Small => 14.0,
                _ => 16.0,
            };
        }
        style.visuals.override_text_color = Some(Color32::from_gray(235));
        style.spacing.item_spacing = egui::vec2(8.0, 4.0);
        style.spacing.slider_width = 130.0;
        // A window that waits is drawn once.
        style.visuals.text_cursor.blink = false;
        style.spacing.scroll = egui::style::ScrollStyle::solid();
    });
}

/// What the panel asks the window for.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub(super) actions: Vec<Action>,
    pub(super) scene: Option<Choice>,
}

/// What the sliders say.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    dials: Dials,
    /// Pending until a slider is let go: then the cloth is made anew.
    stuff: Stuff,
    size: Option<u32>,
    /// Whether strain is shown instead of the fabric.
    strain: bool,
}

/// What changes while the cloth runs.
#[derive(Clone, Debug, PartialEq)]
struct Dials {
    solver: &'static str,
    /// In percent.
    limit: f32,
    automatic: bool,
    /// Where they are not automatic.
    substeps: u32,
    /// Length \[m/s²\] along the scene's direction.
    gravity: f32,
    down: [f32; 3],
    air: Air,
    /// \[1/s\].
    drag: f32,
    /// \[ms\].
    damping: f32,
}

impl Dials {
    fn of(settings: &Settings) -> Self {
        let gravity = glam::Vec3::from(settings.gravity);
        let (automatic, substeps) = match settings.substeps {
            Substeps::Fixed(substeps) | Substeps::UpTo(substeps) => (false, substeps),
            _ => (true, 0),
        };
        Self {
            solver: settings.method.solver().name(),
            limit: 100.0 * settings.strain_limit,
            automatic,
            substeps,
            gravity: gravity.length(),
            down: gravity.normalize_or(glam::Vec3::NEG_Y).to_array(),
            air: Air::of(settings.wind),
            drag: settings.drag,
            damping: 1e3 * settings.damping,
        }
    }

    /// Puts what differs from `before` into the settings: everything else keeps its bits.
    fn change(&self, before: &Self, settings: &mut Settings) {
        if let (true, Some(method)) = (self.solver != before.solver, Method::named(self.solver)) {
            settings.method = method;
        }
        if self.limit != before.limit {
            settings.strain_limit = self.limit / 100.0;
        }
        if (self.automatic, self.substeps) != (before.automatic, before.substeps) {
            settings.substeps = if self.automatic { Substeps::Auto } else { Substeps::Fixed(self.substeps) };
        }
        if self.gravity != before.gravity {
            settings.gravity = self.down.map(|part| self.gravity * part);
        }
        if self.air != before.air {
            settings.wind = self.air.wind();
        }
        if self.drag != before.drag {
            settings.drag = self.drag;
        }
        if self.damping != before.damping {
            settings.damping = self.damping / 1e3;
        }
    }
}

/// The wind as one thinks of it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Air {
    speed: f32,
    /// Where it blows to, from +z towards +x \[°\].
    heading: f32,
    gust: f32,
    /// The rest, and what blows up or down.
    wind: Wind,
    /// Whether the scene has air.
    always: bool,
}

impl Air {
    fn of(wind: Option<Wind>) -> Self {
        let always = wind.is_some();
        let wind = wind.unwrap_or_default();
        let [x, _, z] = wind.velocity;
        Self { speed: x.hypot(z), heading: x.atan2(z).to_degrees(), gust: wind.gust, wind, always }
    }

    /// Whether there is wind that heads somewhere.
    fn blows(&self) -> bool {
        self.always || self.speed > 0.0
    }

    fn wind(&self) -> Option<Wind> {
        let (sin, cos) = self.heading.to_radians().sin_cos();
        let velocity = [self.speed * sin, self.wind.velocity[1], self.speed * cos];
        self.blows().then_some(Wind { velocity, gust: self.gust, ..self.wind })
    }
}

impl Panel {
    pub(super) fn new(player: &Player, scenes: &Scenes) -> Self {
        let dials = Dials::of(player.cloth().settings());
        Self { dials, stuff: player.stuff(), size: scenes.chosen.size, strain: false }
    }

    /// The same for another scene.
    pub(super) fn renewed(&self, player: &Player, scenes: &Scenes) -> Self {
        Self { strain: self.strain, ..Self::new(player, scenes) }
    }

    /// What the color of the cloth says.
    pub(super) fn coloring(&self, player: &Player) -> Coloring {
        if self.strain { Coloring::strain(player.cloth().settings()) } else { Coloring::Cloth }
    }

    /// Shows itself, and tells the player what was changed.
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        player: &mut Player,
        scenes: &Scenes,
        place: &str,
        recording: bool,
    ) -> Asked {
        let mut asked = Asked::default();
        ui.add_space(4.0);
        ui.label(RichText::new(place).small());
        ui.horizontal_wrapped(|ui| {
            let mut button = |ui: &mut Ui, text: &str, action| {
                if ui.button(text).on_hover_text(hint(action)).clicked() {
                    asked.actions.push(action);
                }
            };
            button(ui, if player.is_playing() { "Pause" } else { "Play" }, Action::Play);
            button(ui, "Step", Action::Step);
            button(ui, "Reset", Action::Reset);
            button(ui, "Screenshot", Action::Screenshot);
            button(ui, if recording { "Stop recording" } else { "Record" }, Action::Record);
        });
        if let Some(problem) = player.problem() {
            ui.colored_label(BAD, problem);
        }
        ui.separator();
        self.scene(ui, player, scenes, &mut asked);
        self.settings(ui, player);
        ui.separator();
        player.look();
        reached(ui, player);
        ui.separator();
        let height = ui.ctx().content_rect().height();
        CollapsingHeader::new("Keys and mouse").default_open(height >= ROOM_FOR_KEYS).show(ui, keys);
        CollapsingHeader::new("Plots").default_open(height >= ROOM_FOR_PLOTS).show(ui, |ui| plots(ui, player));
        asked
    }

    /// What is shown, and how.
    fn scene(&mut self, ui: &mut Ui, player: &mut Player, scenes: &Scenes, asked: &mut Asked) {
        let chosen = scenes.chosen;
        egui::Grid::new("scene").num_columns(2).spacing(TIGHT).min_col_width(FIRST).show(ui, |ui| {
            ui.label("scene");
            ComboBox::from_id_salt("scene")
                .width(200.0)
                .height(360.0)
                .truncate()
                .selected_text(&scenes.names()[chosen.number])
                .show_ui(ui, |ui| {
                    for (number, name) in scenes.names().iter().enumerate() {
                        if ui.selectable_label(number == chosen.number, name).clicked() && number != chosen.number {
                            asked.scene = Some(scenes.choice(number));
                        }
                    }
                });
            ui.end_row();
            if let Some(size) = &mut self.size {
                let slider = Slider::new(size, 5..=200).logarithmic(true);
                row(ui, "size", slider);
                if settled(ui) && self.size != chosen.size {
                    asked.scene = Some(Choice { size: self.size, ..chosen });
                    // Where it is refused, the one before.
                    self.size = chosen.size;
                }
            }
            ui.label("color");
            ui.horizontal(|ui| {
                ui.selectable_value(&mut self.strain, false, "cloth");
                ui.selectable_value(&mut self.strain, true, "strain");
                if ui.button("See all").on_hover_text(hint(Action::SeeAll)).clicked() {
                    asked.actions.push(Action::SeeAll);
                }
                if !player.pins().is_empty() && ui.button("Release pins").clicked() {
                    player.unpin();
                }
            });
            ui.end_row();
        });
        if self.strain {
            legend(ui, player.cloth().settings().strain_limit.into());
        }
    }

    fn settings(&mut self, ui: &mut Ui, player: &mut Player) {
        let before = self.dials.clone();
        let dials = &mut self.dials;
        egui::Grid::new("settings").num_columns(2).spacing(TIGHT).min_col_width(FIRST).show(ui, |ui| {
            ui.label("solver");
            ComboBox::from_id_salt("solver").selected_text(dials.solver).show_ui(ui, |ui| {
                for name in Method::NAMES {
                    ui.selectable_value(&mut dials.solver, name, name);
                }
            });
            ui.end_row();
            row(ui, "strain limit", rounded(&mut dials.limit, 0.01..=10.0).logarithmic(true).suffix(" %"));
            ui.label("substeps");
            ui.horizontal(|ui| {
                ui.checkbox(&mut dials.automatic, "auto");
                if !dials.automatic {
                    let taken = player.report().map_or(1, |report| report.substeps.max(1));
                    dials.substeps = if before.automatic { taken } else { dials.substeps };
                    ui.spacing_mut().slider_width = 60.0;
                    let slider = Slider::new(&mut dials.substeps, 1..=100).logarithmic(true);
                    ui.add(slider.clamping(SliderClamping::Edits).update_while_editing(false));
                }
            });
            ui.end_row();
            row(ui, "gravity", rounded(&mut dials.gravity, 0.0..=25.0).suffix(" m/s²"));
            row(ui, "wind", rounded(&mut dials.air.speed, 0.0..=20.0).suffix(" m/s"));
            if dials.air.blows() {
                row(ui, "heading", rounded(&mut dials.air.heading, -180.0..=180.0).suffix("°"));
                row(ui, "gusts", rounded(&mut dials.air.gust, 0.0..=2.0));
            }
            let hover = "How fast still air takes speed.";
            row(ui, "drag", rounded(&mut dials.drag, 0.0..=10.0).suffix(" /s")).on_hover_text(hover);
            let hover = "How much the fabric resists while it shears and bends.";
            let damping = rounded(&mut dials.damping, 0.0..=100.0).logarithmic(true).smallest_positive(0.1);
            row(ui, "damping", damping.suffix(" ms")).on_hover_text(hover);
            let anew = "Taken over when the slider is let go: the cloth is made anew and goes on from where it is.";
            let mut micro = 1e6 * self.stuff.bending;
            let bending = rounded(&mut micro, 0.0..=1000.0).logarithmic(true).smallest_positive(0.1);
            row(ui, "bending", bending.suffix(" µN·m")).on_hover_text(anew);
            if micro != 1e6 * self.stuff.bending {
                self.stuff.bending = micro / 1e6;
            }
            if let Some(friction) = &mut self.stuff.friction {
                row(ui, "friction", rounded(friction, 0.0..=1.5)).on_hover_text(anew);
            }
            ui.label("");
            let hover = "Whether the cloth keeps from passing through itself; what does so already is drawn apart.";
            ui.checkbox(&mut self.stuff.self_collision, "self-collision").on_hover_text(hover);
            ui.end_row();
        });
        if self.dials != before {
            let dials = &self.dials;
            if !player.change(|settings| dials.change(&before, settings)) {
                self.dials = before;
            }
        }
        if settled(ui) && self.stuff != player.stuff() {
            player.set_stuff(self.stuff);
            self.stuff = player.stuff();
        }
    }
}

/// So many frames, in words.
pub(super) fn frames_of(frames: u64) -> String {
    format!("{} frame{}", count(frames), if frames == 1 { "" } else { "s" })
}

/// A slider whose number has three digits.
fn rounded(value: &mut f32, range: RangeInclusive<f32>) -> Slider<'_> {
    Slider::new(value, range).custom_formatter(|value, _| significant(value, 3))
}

/// A row of a grid. What was asked for may be beyond the ends of the slider.
fn row(ui: &mut Ui, name: &str, slider: Slider<'_>) -> Response {
    ui.label(name);
    let response = ui.add(slider.clamping(SliderClamping::Edits).update_while_editing(false));
    ui.end_row();
    response
}

/// Whether no slider is being moved.
fn settled(ui: &Ui) -> bool {
    !ui.input(|input| input.pointer.any_down())
}

/// What keys and mouse do, two of them in a line.
fn keys(ui: &mut Ui) {
    let keys = KEYS.iter().map(|binding| (binding.name, binding.about));
    let table: Vec<(&str, &str)> = keys.chain(MOUSE).collect();
    egui::Grid::new("keys").num_columns(4).spacing(TIGHT).show(ui, |ui| {
        for line in table.chunks(2) {
            for (name, about) in line {
                ui.label(RichText::new(*name).small().color(KEY));
                ui.label(RichText::new(*about).small());
            }
            ui.end_row();
        }
    });
}

/// What the last frame reached.
fn reached(ui: &mut Ui, player: &Player) {
    egui::Grid::new("reached").num_columns(2).spacing(TIGHT).show(ui, |ui| {
        let mut row = |name: &str, text: RichText| {
            ui.label(name);
            ui.label(text);
            ui.end_row();
        };
        let sample = player.history().back();
        let strain = sample.map_or_else(|| "not yet".into(), |sample| percent(sample.strain));
        let held = player.report().and_then(|report| report.converged);
        row(
            "largest strain",
            match held {
                Some(true) => RichText::new(strain).color(GOOD),
                Some(false) => RichText::new(format!("{strain}, over the limit")).color(BAD),
                None => RichText::new(strain),
            },
        );
        let time = sample.map(|sample| {
            let slower = sample.seconds * player.fps();
            let words = if slower > 1.0 { format!(", {slower:.1} × real time") } else { String::new() };
            format!("{}{words}", duration(sample.seconds))
        });
        row("time per frame", RichText::new(time.unwrap_or_default()));
        let frames = player.frame_number();
        row("simulated", RichText::new(format!("{:.2} s, {}", frames as f64 / player.fps(), frames_of(frames))));
        let report = player.report();
        let work = report.map(|report| format!("{} in {} substeps", report.iterations, report.substeps));
        row("iterations", RichText::new(work.unwrap_or_default()));
        let crossings = player.crossings().map(|Found { crossings, frame }| {
            let text = RichText::new(format!("{}, in frame {}", count(crossings), count(frame)));
            if crossings == 0 { text.color(GOOD) } else { text.color(BAD) }
        });
        row("crossings", crossings.unwrap_or_else(|| "not known".into()));
        if let Some(vertex) = player.grabbed() {
            row("pulled", RichText::new(format!("vertex {vertex}")));
        }
    });
}

/// The last frames: strain with its limit, and time.
fn plots(ui: &mut Ui, player: &Player) {
    let curve = |value: fn(&Sample) -> f64| -> PlotPoints<'static> {
        let first = SHOWN - player.history().len().min(SHOWN);
        player.history().iter().enumerate().map(|(at, sample)| [(first + at) as f64, value(sample)]).collect()
    };
    let plot = |id: &'static str, most: f64| {
        Plot::new(id)
            .height(90.0)
            .include_y(0.0)
            .include_y(most)
            .include_x(0.0)
            .include_x(SHOWN as f64)
            .show_x(false)
            .show_axes([false, true])
            .allow_drag(false)
            .allow_zoom(false)
            .allow_scroll(false)
            .allow_boxed_zoom(false)
    };
    ui.label("strain [%]");
    let limit = 100.0 * f64::from(player.cloth().settings().strain_limit);
    plot("strain", 1.2 * limit).show(ui, |plot| {
        plot.line(Line::new("limit", curve(|sample| 100.0 * sample.limit)).color(BAD));
        plot.line(Line::new("strain", curve(|sample| 100.0 * sample.strain)).color(GOOD));
    });
    ui.label("time per frame [ms]");
    let real = 1e3 / player.fps();
    plot("time", 1.2 * real).show(ui, |plot| {
        plot.hline(HLine::new("real time", real).color(Color32::GRAY));
        plot.line(Line::new("time", curve(|sample| 1e3 * sample.seconds)).color(Color32::LIGHT_BLUE));
    });
}

/// The colors of strain.
fn legend(ui: &mut Ui, limit: f64) {
    let (rect, _) = ui.allocate_exact_size(egui::vec2(ui.available_width().min(240.0), 10.0), egui::Sense::hover());
    let mut mesh = egui::Mesh::default();
    let last = (Coloring::HEAT.len() - 1) as f32;
    for (step, [red, green, blue]) in (0_u8..).zip(Coloring::HEAT) {
        let x = rect.left() + f32::from(step) / last * rect.width();
        for y in [rect.top(), rect.bottom()] {
            mesh.colored_vertex(egui::pos2(x, y), Color32::from_rgb(red, green, blue));
        }
        if let Some(left) = u32::from(step).checked_sub(1).map(|step| 2 * step) {
            mesh.add_triangle(left, left + 1, left + 2);
            mesh.add_triangle(left + 1, left + 2, left + 3);
        }
    }
    ui.painter().add(mesh);
    ui.label(RichText::new(format!("0 … {} (yellow) … {}", percent(limit), percent(2.0 * limit))).small());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wind_survives_the_way_through_the_sliders() {
        let wind = Wind { velocity: [3.0, 0.5, -4.0], gust: 0.3, drag_coefficient: 1.1, ..Wind::default() };
        let air = Air::of(Some(wind));
        assert!((air.speed - 5.0).abs() < 1e-6 && (air.heading - 143.1301).abs() < 1e-3, "{air:?}");
        let back = air.wind().unwrap();
        assert!(back.velocity.iter().zip(wind.velocity).all(|(one, other)| (one - other).abs() < 1e-5));
        assert_eq!((back.gust, back.drag_coefficient), (wind.gust, wind.drag_coefficient));
        // Without air there is none until it blows.
        assert_eq!(Air::of(None).wind(), None);
        assert!(Air { speed: 1.0, ..Air::of(None) }.wind().is_some());
        assert!(Air { speed: 0.0, ..air }.wind().is_some());
    }

    #[test]
    fn every_dial_reaches_its_setting_and_no_other() {
        let settings = Settings { drag: 0.1, damping: 0.002, ..Settings::default() };
        let before = Dials::of(&settings);
        let changed = |dial: fn(&mut Dials)| {
            let (mut dials, mut settings) = (before.clone(), settings.clone());
            dial(&mut dials);
            dials.change(&before, &mut settings);
            settings
        };
        assert_eq!(format!("{:?}", changed(|_| {})), format!("{settings:?}"));
        assert_eq!(changed(|dials| dials.limit = 0.1).strain_limit, 0.001);
        assert_eq!(changed(|dials| dials.gravity = 2.0).gravity, [0.0, -2.0, 0.0]);
        assert_eq!(changed(|dials| dials.drag = 3.0).drag, 3.0);
        assert_eq!(changed(|dials| dials.damping = 5.0).damping, 0.005);
        assert_eq!(changed(|dials| dials.solver = "jacobi").method.solver().name(), "jacobi");
        let fixed = changed(|dials| (dials.automatic, dials.substeps) = (false, 7));
        assert_eq!(fixed.substeps, Substeps::Fixed(7));
        assert!(changed(|dials| dials.air.speed = 1.0).wind.is_some());
        let shown = Dials::of(&fixed);
        assert_eq!((shown.automatic, shown.substeps), (false, 7));
    }
}
