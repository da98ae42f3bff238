//! Buttons, sliders and plots beside the picture.

use eframe::egui::{self, Color32, ComboBox, RichText, Slider, SliderClamping, Ui};
use egui_plot::{HLine, Line, Plot, PlotPoints};
use taut::render::Coloring;
use taut::{Method, Wind};

use super::player::{Player, SHOWN, Sample};
use crate::output::{count, duration, percent};

const GOOD: Color32 = Color32::from_rgb(90, 190, 120);
const BAD: Color32 = Color32::from_rgb(235, 90, 70);

/// What the panel asks the window for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) screenshot: bool,
    pub(super) frame_all: bool,
}

/// What the sliders say.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    solver: &'static str,
    /// In percent.
    limit: f32,
    /// Length \[m/s²\] along the scene's direction.
    gravity: f32,
    down: [f32; 3],
    air: Air,
    /// Whether strain is shown instead of the fabric.
    strain: bool,
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

    fn wind(&self) -> Option<Wind> {
        let (sin, cos) = self.heading.to_radians().sin_cos();
        let velocity = [self.speed * sin, self.wind.velocity[1], self.speed * cos];
        (self.always || self.speed > 0.0).then_some(Wind { velocity, gust: self.gust, ..self.wind })
    }
}

impl Panel {
    pub(super) fn new(player: &Player) -> Self {
        let settings = player.cloth().settings();
        let gravity = glam::Vec3::from(settings.gravity);
        Self {
            solver: settings.method.solver().name(),
            limit: 100.0 * settings.strain_limit,
            gravity: gravity.length(),
            down: gravity.normalize_or(glam::Vec3::NEG_Y).to_array(),
            air: Air::of(settings.wind),
            strain: false,
        }
    }

    /// What the color of the cloth says.
    pub(super) fn coloring(&self, player: &Player) -> Coloring {
        if self.strain { Coloring::strain(player.cloth().settings()) } else { Coloring::Cloth }
    }

    /// Shows itself, and tells the player what was changed.
    pub(super) fn show(&mut self, ui: &mut Ui, player: &mut Player, place: &str) -> Asked {
        let mut asked = Asked::default();
        ui.add_space(6.0);
        ui.label(RichText::new(place).weak().small());
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            if ui.button(if player.is_playing() { "Pause" } else { "Play" }).on_hover_text("Space").clicked() {
                player.play(!player.is_playing());
            }
            if ui.button("Step").on_hover_text("Right arrow: one frame").clicked() {
                player.play(false);
                player.step();
            }
            if ui.button("Reset").on_hover_text("R").clicked() {
                player.reset();
            }
            asked.screenshot = ui.button("Screenshot").on_hover_text("S").clicked();
        });
        if let Some(problem) = player.problem() {
            ui.colored_label(BAD, problem);
        }
        ui.horizontal(|ui| {
            asked.frame_all = ui.button("See all").on_hover_text("F: the camera as it was").clicked();
            ui.selectable_value(&mut self.strain, false, "cloth");
            ui.selectable_value(&mut self.strain, true, "strain");
        });
        if self.strain {
            legend(ui, player.cloth().settings().strain_limit.into());
        }
        ui.separator();
        self.settings(ui, player);
        ui.separator();
        reached(ui, player);
        plots(ui, player);
        ui.separator();
        ui.label(
            RichText::new(
                "Drag the cloth to pull it, anything else to look around; right button to move, wheel to zoom.",
            )
            .weak()
            .small(),
        );
        asked
    }

    fn settings(&mut self, ui: &mut Ui, player: &mut Player) {
        let before = self.clone();
        egui::Grid::new("settings").num_columns(2).show(ui, |ui| {
            ui.label("solver");
            ComboBox::from_id_salt("solver").selected_text(self.solver).show_ui(ui, |ui| {
                for name in Method::NAMES {
                    ui.selectable_value(&mut self.solver, name, name);
                }
            });
            ui.end_row();
            // What was asked for may be beyond the ends of a slider.
            let mut row = |name: &str, slider: Slider<'_>| {
                ui.label(name);
                ui.add(slider.clamping(SliderClamping::Edits));
                ui.end_row();
            };
            let limit = Slider::new(&mut self.limit, 0.01..=10.0).logarithmic(true);
            row("strain limit", limit.suffix(" %").custom_formatter(|value, _| crate::output::significant(value, 3)));
            row("gravity", Slider::new(&mut self.gravity, 0.0..=25.0).suffix(" m/s²"));
            row("wind", Slider::new(&mut self.air.speed, 0.0..=20.0).suffix(" m/s"));
            row("heading", Slider::new(&mut self.air.heading, -180.0..=180.0).suffix("°"));
            row("gusts", Slider::new(&mut self.air.gust, 0.0..=2.0));
        });
        if self.solver != before.solver {
            if let Some(method) = Method::named(self.solver) {
                player.set_method(method);
            }
            // Where it was refused, the one before.
            self.solver = player.cloth().settings().method.solver().name();
        }
        if self.limit != before.limit {
            player.set_strain_limit(0.01 * self.limit);
            self.limit = 100.0 * player.cloth().settings().strain_limit;
        }
        if self.gravity != before.gravity {
            player.set_gravity(self.down.map(|part| self.gravity * part));
        }
        if self.air != before.air {
            player.set_wind(self.air.wind());
        }
    }
}

/// What the last frame reached.
fn reached(ui: &mut Ui, player: &Player) {
    egui::Grid::new("reached").num_columns(2).show(ui, |ui| {
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
        let frames = player.cloth().frame();
        row("simulated", RichText::new(format!("{:.2} s, {} frames", frames as f64 / player.fps(), count(frames))));
        let report = player.report();
        let work = report.map(|report| format!("{} in {} substeps", report.iterations, report.substeps));
        row("iterations", RichText::new(work.unwrap_or_default()));
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
            .height(110.0)
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
    ui.label(RichText::new(format!("0 … {} (yellow) … {}", percent(limit), percent(2.0 * limit))).weak().small());
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
}
