//! `taut view` on a display without a screen: a window is opened, looked at, dragged in, and closed.
//!
//! Needs `Xvfb` and `xdotool`; where they are missing the tests say so and pass, unless `TAUT_REQUIRE_DISPLAY` is set.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{command, finish};

/// A software adapter draws some pictures per second.
const PATIENCE: Duration = Duration::from_secs(120);
/// The panel takes this much of the right side of the window, with a margin.
const PANEL: usize = 420;

/// A column near the right end of every slider.
const SLIDERS: usize = 725;

/// The color of what a slider's handle moves along.
const RAIL: [u8; 3] = [60; 3];

/// An X server that draws into a file.
struct Display {
    server: Child,
    name: String,
    directory: tempfile::TempDir,
}

impl Drop for Display {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Display {
    fn open() -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory");
        let tools = Command::new("xdotool").arg("version").output();
        let server = tools.and_then(|_| {
            Command::new("Xvfb")
                .args(["-displayfd", "1", "-screen", "0", "900x600x24", "-nolisten", "tcp", "-fbdir"])
                .arg(directory.path())
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
        });
        let Ok(mut server) = server else {
            assert!(std::env::var_os("TAUT_REQUIRE_DISPLAY").is_none(), "Xvfb and xdotool are needed");
            eprintln!("not tested: Xvfb and xdotool are needed");
            return None;
        };
        let mut number = String::new();
        BufReader::new(server.stdout.as_mut().expect("piped")).read_line(&mut number).expect("a display");
        Some(Self { server, name: format!(":{}", number.trim()), directory })
    }

    /// Moves the pointer, presses keys and buttons.
    fn act(&self, actions: &[&str]) {
        let done = Command::new("xdotool").args(actions).env("DISPLAY", &self.name).output().expect("xdotool");
        assert!(done.status.success(), "{actions:?}");
    }

    /// Gives the keyboard to the window: there is no window manager that would.
    fn focus(&self) {
        self.act(&["search", "--name", "^taut: ", "windowfocus", "--sync"]);
    }

    /// What is on the display: an XWD file of 32 bits per pixel.
    fn screen(&self) -> Screen {
        let bytes = fs::read(self.directory.path().join("Xvfb_screen0")).expect("the frame buffer");
        let word = |index: usize| {
            let bytes = bytes[4 * index..4 * index + 4].try_into().expect("four bytes");
            u32::from_be_bytes(bytes) as usize
        };
        let (header, width, height, little, row, colors) =
            (word(0), word(4), word(5), word(7) == 0, word(12), word(19));
        let start = header + 12 * colors;
        let color = |x: usize, y: usize| {
            let at = start + y * row + 4 * x;
            let pixel: [u8; 4] = bytes[at..at + 4].try_into().expect("four bytes");
            let [_, red, green, blue] =
                if little { u32::from_le_bytes(pixel) } else { u32::from_be_bytes(pixel) }.to_be_bytes();
            [red, green, blue]
        };
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).map(|(x, y)| color(x, y)).collect();
        Screen { width, pixels }
    }

    /// The display once it shows what is waited for.
    fn wait(&self, what: &str, window: &mut Window, shown: impl Fn(&Screen) -> bool) -> Screen {
        let clock = Instant::now();
        loop {
            let screen = self.screen();
            if shown(&screen) {
                return screen;
            }
            if let Some(status) = window.0.try_wait().expect("a child") {
                panic!("the window is gone ({status}) while waiting for {what}: {}", window.told());
            }
            assert!(clock.elapsed() < PATIENCE, "{what} is not to be seen");
            sleep(Duration::from_millis(100));
        }
    }
}

/// The program; it does not outlive a test that fails.
struct Window(Child);

impl Drop for Window {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Window {
    fn open(display: &Display, arguments: &str, directory: &Path) -> Self {
        let mut command = command(directory, &format!("view {arguments} --size-px 900x600 --json - --quiet"));
        command.env("DISPLAY", &display.name).env_remove("WAYLAND_DISPLAY");
        // Mesa complains where there is none.
        command.env("XDG_RUNTIME_DIR", display.directory.path());
        Self(command.spawn().expect("the program"))
    }

    /// What it said on standard error.
    fn told(&mut self) -> String {
        let mut told = String::new();
        self.0.stderr.take().expect("piped").read_to_string(&mut told).expect("text");
        told
    }

    /// Waits for its end, which is a good one; what it reported.
    fn report(mut self) -> serde_json::Value {
        let clock = Instant::now();
        let status = loop {
            if let Some(status) = self.0.try_wait().expect("a child") {
                break status;
            }
            assert!(clock.elapsed() < PATIENCE, "the window does not close");
            sleep(Duration::from_millis(100));
        };
        let mut report = String::new();
        self.0.stdout.take().expect("piped").read_to_string(&mut report).expect("text");
        let told = self.told();
        assert!(status.success() && told.is_empty(), "{status}: {told}");
        serde_json::from_str(&report).expect("JSON")
    }
}

struct Screen {
    width: usize,
    pixels: Vec<[u8; 3]>,
}

/// Whether a color is of the dark threads of the cloth's front, in any light; all other colors here are warm or gray.
fn is_thread([red, _, blue]: [u8; 3]) -> bool {
    u32::from(blue) > u32::from(red) + 50
}

impl Screen {
    /// Pixels with threads, in the part with the cloth.
    fn threads(&self) -> impl Iterator<Item = (usize, usize)> {
        let place = |index: usize| (index % self.width, index / self.width);
        let here = move |(x, y): (usize, usize)| x + PANEL < self.width && is_thread(self.pixels[y * self.width + x]);
        (0..self.pixels.len()).map(place).filter(move |place| here(*place))
    }

    fn at(&self, x: usize, y: usize) -> [u8; 3] {
        self.pixels[y * self.width + x]
    }

    /// Rows with a slider: runs of the color of its rail that are not as high as a button.
    fn sliders(&self) -> Vec<usize> {
        let column = self.pixels.iter().skip(SLIDERS).step_by(self.width).enumerate();
        let rail: Vec<usize> = column.filter(|(_, color)| **color == RAIL).map(|(y, _)| y).collect();
        let runs = rail.chunk_by(|one, other| one + 1 == *other);
        runs.filter(|run| (4..=12).contains(&run.len())).map(|run| run[run.len() / 2]).collect()
    }

    /// Pixels of the rings around what was pinned by hand.
    fn rings(&self) -> usize {
        self.pixels.iter().filter(|color| **color == [255, 140, 0]).count()
    }

    /// Pixels of the mark of a recording.
    fn marks(&self) -> usize {
        self.pixels.iter().filter(|color| **color == [235, 40, 40]).count()
    }

    /// How many of them are near a place.
    fn threads_near(&self, x: usize, y: usize) -> usize {
        self.threads().filter(|thread| thread.0.abs_diff(x) <= 14 && thread.1.abs_diff(y) <= 14).count()
    }
}

/// One window at a time: they would draw slower and slower.
static ALONE: Mutex<()> = Mutex::new(());

/// Pulls a corner of a sheet above a ball, and looks where it went.
fn drag(backend: &str) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(display) = Display::open() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = format!("drape --size 13 --paused --backend {backend}");
    let mut window = Window::open(&display, &arguments, directory.path());
    // The light background, and cloth.
    let background = |screen: &Screen| screen.pixels.iter().filter(|color| **color == [204, 209, 214]).count();
    let screen = display.wait("the cloth", &mut window, |screen| screen.threads().count() > 500);
    assert!(background(&screen) > 1000, "the exact color of the background, {} times", background(&screen));

    // The nearest corner is pulled to where no cloth is, then time goes on.
    let (x, y) = screen.threads().max_by_key(|(_, y)| *y).expect("there are many");
    let (x, low) = (x - 10, y + 70);
    assert_eq!(screen.threads_near(x, low), 0, "there is cloth where it shall be pulled to");
    display.act(&["mousemove", &x.to_string(), &(y - 3).to_string(), "mousedown", "1"]);
    for part in 1..=7 {
        display.act(&["mousemove", &x.to_string(), &(y + 10 * part).to_string(), "sleep", "0.1"]);
    }
    display.focus();
    display.act(&["key", "space"]);
    display.wait("cloth that follows the pointer", &mut window, |screen| screen.threads_near(x, low) > 20);

    // Time stands still, so that display and picture show the same.
    display.act(&["key", "space", "sleep", "0.3"]);
    let shown = display.wait("cloth at the pointer", &mut window, |screen| screen.threads_near(x, low) > 0);
    display.act(&["key", "s"]);
    let written = || -> Option<PathBuf> { Some(fs::read_dir(&directory).ok()?.next()?.ok()?.path()) };
    let is_picture = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "png");
    display.wait("a screenshot", &mut window, |_| written().filter(is_picture).is_some());
    display.act(&["key", "space", "mouseup", "1", "sleep", "0.5", "key", "q"]);
    let report = window.report();
    assert_eq!(report["backend"], backend, "{report}");
    assert_eq!([&report["drags"], &report["frames_over"]], [1, 0], "{report}");
    let strain = report["strain_max"].as_f64().expect("a number");
    assert!(strain > 1e-5 && strain <= 0.01, "{report}");
    assert!(report["frames"].as_u64().is_some_and(|frames| frames >= 4), "{report}");
    assert_eq!(report["screenshots"].as_array().map(Vec::len), Some(1), "{report}");

    // The picture is what was on the display, without the panel: of its size, with the cloth where it was pulled.
    let path = written().expect("it was there");
    let decoder = png::Decoder::new(BufReader::new(fs::File::open(path).expect("a file")));
    let mut reader = decoder.read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut pixels).expect("pixels");
    assert_eq!(info.height, 600);
    let (width, channels) = (info.width as usize, info.color_type.samples());
    let thread = |x: usize, y: usize| {
        let at = channels * (y * width + x);
        is_thread([pixels[at], pixels[at + 1], pixels[at + 2]])
    };
    let around = (low - 14..=low + 14).flat_map(|y| (x - 14..=x + 14).map(move |x| (x, y)));
    let found = around.filter(|(x, y)| thread(*x, *y)).count();
    let expected = shown.threads_near(x, low);
    assert!(2 * found > expected, "{found} pixels of threads, {expected} on the display");
}

#[test]
fn cloth_on_the_cpu_is_dragged() {
    drag("cpu");
}

#[test]
fn cloth_on_the_adapter_is_dragged() {
    drag("gpu");
}

#[test]
fn keys_pause_step_and_reset() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(display) = Display::open() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let mut window = Window::open(&display, "curtain --size 9 --backend cpu --paused", directory.path());
    display.wait("the cloth", &mut window, |screen| screen.threads().count() > 100);
    // Paused: exactly the frames that are asked for; a reset does not undo what was counted.
    display.focus();
    for key in ["Right", "Right", "r", "Right"] {
        display.act(&["key", key, "sleep", "0.5"]);
    }
    display.act(&["key", "q"]);
    let report = window.report();
    assert_eq!(report["frames"], 3, "{report}");
}

/// The files that a window left, by name.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

#[test]
fn scenes_are_chosen_and_the_count_goes_on() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(display) = Display::open() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    // What was opened from a file is the first of the list, and the built-in ones follow.
    let printed = finish(command(directory.path(), "scene hang --size 8").spawn().expect("the program")).succeeds();
    fs::write(directory.path().join("own.toml"), printed).expect("a file");
    let mut window = Window::open(&display, "./own.toml --backend cpu --paused", directory.path());
    display.wait("the cloth", &mut window, |screen| screen.threads().count() > 100);
    display.focus();
    let title = |name: &str| format!("^taut: {name}$");
    for (key, name) in
        [("Next", "chain"), ("Next", "curtain"), ("Prior", "chain"), ("Prior", "hang"), ("Prior", "waist")]
    {
        display.act(&["key", key]);
        // The title is the scene's.
        display.act(&["search", "--sync", "--name", &title(name)]);
    }
    display.act(&["key", "Right", "sleep", "0.5", "key", "q"]);
    let report = window.report();
    assert_eq!(report["scene"], "waist", "{report}");
    assert_eq!(report["vertices"], 8 * 3, "the size is kept: {report}");
    assert_eq!(report["frames"], 1, "{report}");
}

#[test]
fn a_click_pins_and_another_one_releases() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(display) = Display::open() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let mut window = Window::open(&display, "drape --size 9 --paused --backend cpu", directory.path());
    let screen = display.wait("the cloth", &mut window, |screen| screen.threads().count() > 100);
    assert_eq!(screen.rings(), 0);
    // The nearest corner.
    let (x, y) = screen.threads().max_by_key(|(_, y)| *y).expect("there are many");
    let click = ["mousemove", &x.to_string(), &(y - 3).to_string(), "sleep", "0.5", "click", "1"];
    display.act(&click);
    display.wait("a ring", &mut window, |screen| screen.rings() > 20);
    display.act(&click);
    display.wait("no ring", &mut window, |screen| screen.rings() == 0);
    display.act(&click);
    display.wait("a ring", &mut window, |screen| screen.rings() > 20);
    display.focus();
    for _ in 0..20 {
        display.act(&["key", "Right", "sleep", "0.1"]);
    }
    // The corner is still there, and the rest has fallen.
    display.act(&["sleep", "0.5", "key", "q"]);
    let report = window.report();
    assert_eq!(report["pins"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!([&report["frames_over"], &report["drags"]], [0, 0], "{report}");
    assert_eq!(report["frames"], 20, "{report}");
}

#[test]
fn a_recording_is_a_point_cache_and_a_moving_picture() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(display) = Display::open() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let mut window = Window::open(&display, "curtain --size 9 --backend cpu --paused", directory.path());
    let screen = display.wait("the cloth", &mut window, |screen| screen.threads().count() > 100);
    assert_eq!(screen.marks(), 0);
    display.focus();
    display.act(&["key", "v"]);
    display.wait("the mark of a recording", &mut window, |screen| screen.marks() > 50);
    for _ in 0..5 {
        display.act(&["key", "Right", "sleep", "0.2"]);
    }
    let begun = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "pc2" || kind == "gif");
    assert_eq!(
        files(directory.path()).iter().filter(|path| begun(path)).count(),
        0,
        "nothing is seen before it is whole"
    );
    display.act(&["key", "v"]);
    display.wait("the end of the recording", &mut window, |screen| screen.marks() == 0);
    // Another one is ended by closing the window.
    display.act(&["key", "v"]);
    display.wait("the mark of a recording", &mut window, |screen| screen.marks() > 50);
    display.act(&["key", "Right", "sleep", "0.5", "key", "q"]);
    let report = window.report();
    let names =
        ["taut-curtain-00000.gif", "taut-curtain-00000.pc2", "taut-curtain-00005.gif", "taut-curtain-00005.pc2"];
    let found: Vec<String> = files(directory.path())
        .iter()
        .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
        .collect();
    assert_eq!(found, names);
    assert_eq!(report["recordings"].as_array().map(Vec::len), Some(4), "{report}");
    for (name, frames) in [("taut-curtain-00000.pc2", 6), ("taut-curtain-00005.pc2", 2)] {
        let cache = taut::io::pc2::read(directory.path().join(name)).expect("a point cache");
        assert_eq!((cache.header().points, cache.header().samples), (81, frames), "{name}");
        assert_ne!(cache.sample(0), cache.sample(1), "{name} moves");
    }
    // Sixty frames per second, and every other one in the moving picture.
    for (name, pictures) in [("taut-curtain-00000.gif", 3), ("taut-curtain-00005.gif", 1)] {
        let file = fs::File::open(directory.path().join(name)).expect("a file");
        let mut decoder = gif::DecodeOptions::new().read_info(BufReader::new(file)).expect("a GIF");
        let mut found = 0;
        while let Some(picture) = decoder.read_next_frame().expect("a picture") {
            assert_eq!(picture.delay, if found % 3 == 0 || found % 3 == 2 { 3 } else { 4 }, "{name}");
            found += 1;
        }
        assert_eq!(found, pictures, "{name}");
        assert!(decoder.width() > 200 && decoder.height() > 200);
    }
}

#[test]
fn sliders_change_what_is_simulated() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(display) = Display::open() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let mut window = Window::open(&display, "drape --size 9 --paused --backend cpu", directory.path());
    display.wait("the cloth", &mut window, |screen| screen.threads().count() > 100);
    let sliders = display.wait("the panel", &mut window, |screen| screen.sliders().len() == 8).sliders();
    let [_size, limit, _gravity, _wind, drag, damping, bending, friction] = sliders[..] else { panic!("{sliders:?}") };
    // A button that is pressed and released before the next picture would not have been pressed at all: it is released
    // when the handle is where the pointer is.
    let to = SLIDERS - 25;
    for slider in [friction, bending, damping, drag, limit] {
        display.act(&["mousemove", &to.to_string(), &slider.to_string(), "sleep", "0.2", "mousedown", "1"]);
        display.wait("the handle", &mut window, |screen| screen.at(to, slider) != RAIL);
        display.act(&["mouseup", "1", "sleep", "0.2"]);
    }
    // Below the limit is a box that says that substeps are automatic; where they are not, there is one slider more.
    let (x, y) = (SLIDERS - 105, limit + 23);
    let shown = |screen: &Screen| (SLIDERS - 55..SLIDERS).map(|x| screen.at(x, y)).collect::<Vec<_>>();
    let before = shown(&display.screen());
    display.act(&["mousemove", &x.to_string(), &y.to_string(), "sleep", "0.5", "click", "1"]);
    display.wait("a slider of the substeps", &mut window, |screen| shown(screen) != before);
    display.focus();
    display.act(&["key", "Right", "sleep", "0.5", "key", "q"]);
    let report = window.report();
    let differs = |name: &str, before: f64| {
        let now = report[name].as_f64().unwrap_or_else(|| panic!("{name} in {report}"));
        assert!((now / before - 1.0).abs() > 0.1, "{name} in {report}");
    };
    differs("strain_limit", 0.01);
    differs("drag", 0.5);
    differs("damping", 0.002);
    differs("bending", 1e-5);
    differs("friction", 0.5);
    assert_eq!(report["substeps"], 1, "none was simulated when they became fixed: {report}");
    assert_eq!([&report["problem"], &report["frames"]], [&serde_json::json!(null), &serde_json::json!(1)], "{report}");
}

/// Sheets fall through each other, or do not.
#[test]
fn self_collision_is_a_switch() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(display) = Display::open() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    // The switch is below the last slider.
    let switch = |display: &Display, window: &mut Window| {
        let sliders = display.wait("the panel", window, |screen| screen.sliders().len() == 8).sliders();
        let (x, y) = (SLIDERS - 105, sliders[7] + 23);
        let shown = |screen: &Screen| (x - 8..x + 8).map(|x| screen.at(x, y)).collect::<Vec<_>>();
        display.act(&["mousemove", &x.to_string(), &y.to_string(), "sleep", "0.5"]);
        let before = shown(&display.screen());
        display.act(&["click", "1"]);
        display.wait("another switch", window, |screen| shown(screen) != before);
    };
    let mut seen = Vec::new();
    for switched in [false, true] {
        let mut window = Window::open(&display, "stack --size 9 --paused --backend cpu", directory.path());
        display.wait("the cloth", &mut window, |screen| screen.threads().count() > 100);
        if switched {
            switch(&display, &mut window);
        }
        display.focus();
        for _ in 0..30 {
            display.act(&["key", "Right", "sleep", "0.05"]);
        }
        display.act(&["sleep", "0.5", "key", "q"]);
        let report = window.report();
        assert_eq!([&report["frames"], &report["frames_over"]], [30, 0], "{report}");
        assert_eq!(report["problem"], serde_json::json!(null), "{report}");
        assert_eq!(report["self_collision"], !switched, "{report}");
        seen.push(report["crossings"].as_u64().expect("they are counted"));
    }
    assert!(seen[0] == 0 && seen[1] > 10, "{seen:?}");
}

#[test]
fn without_a_display_there_is_one_sentence() {
    let mut command = command(Path::new("."), "view hang --size 5");
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let ended = finish(command.spawn().expect("the program starts"));
    assert_eq!(ended.code, Some(2));
    let told = ended.said();
    assert!(told.starts_with("taut: there is no display") && told.lines().count() == 1, "{told}");
}
