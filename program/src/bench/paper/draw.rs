//! A drawing of shapes of one cloth side by side, for figures 1 and 6.

use std::fmt::Write;

use taut::Scene;

use crate::bench::plot::escaped;
use crate::bench::results::ResultFile;

/// Width and height of the drawing.
const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 500.0;
/// Edges of a panel's shape within the drawing.
const TOP: f64 = 70.0;
const BOTTOM: f64 = 440.0;
const MARGIN: f64 = 24.0;

/// Shapes of one cloth.
#[derive(Clone, Debug)]
pub(super) struct Shapes {
    pub(super) scene: Scene,
    pub(super) title: String,
    pub(super) panels: Vec<Panel>,
}

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub(super) name: String,
    /// m.
    pub(super) positions: Vec<[f64; 3]>,
}

/// The shapes, seen from in front and a little from above, side by side.
pub(super) fn draw(shapes: &Shapes, file: &ResultFile) -> String {
    let seen: Vec<Vec<[f64; 3]>> =
        shapes.panels.iter().map(|panel| panel.positions.iter().map(view).collect()).collect();
    let [low, high] = extent(seen.iter().flatten());
    let part = WIDTH / seen.len().max(1) as f64;
    let scale = ((part - 2.0 * MARGIN) / (high[0] - low[0])).min((BOTTOM - TOP) / (high[1] - low[1]));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222222\">\n\
         <title>{}</title>\n\
         <rect x=\"0\" y=\"0\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n",
        escaped(&shapes.title)
    );
    svg += &text(12.0, 26.0, 15.0, &shapes.title);
    for (index, (panel, seen)) in shapes.panels.iter().zip(&seen).enumerate() {
        let left = part * index as f64;
        let middle = left + part / 2.0 - scale * f64::midpoint(low[0], high[0]);
        let place = |point: &[f64; 3]| [middle + scale * point[0], TOP + scale * (high[1] - point[1])];
        svg += &text(left + MARGIN, 54.0, 12.0, &panel.name);
        svg += &faces(shapes, seen, place);
    }
    if let Some(banner) = file.banner() {
        svg += &text(12.0, 464.0, 11.0, &banner);
    }
    svg += &text(12.0, 482.0, 11.0, &file.machine.caption().chars().take(125).collect::<String>());
    svg + "</svg>\n"
}

/// All faces from back to front, the nearer hiding the farther.
fn faces(shapes: &Shapes, seen: &[[f64; 3]], place: impl Fn(&[f64; 3]) -> [f64; 2]) -> String {
    let mut faces: Vec<(f64, &[u32])> = Vec::new();
    for face in shapes.scene.mesh.faces() {
        let corners = face.vertices();
        let depth = corners.iter().map(|&corner| seen[corner as usize][2]).sum::<f64>() / corners.len() as f64;
        faces.push((depth, corners));
    }
    faces.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut text = String::new();
    for (_, corners) in faces {
        let light = brightness(corners, seen);
        let mut points = String::new();
        for &corner in corners {
            let [x, y] = place(&seen[corner as usize]);
            // Writing to a string cannot fail.
            let _ = write!(points, "{x:.1},{y:.1} ");
        }
        let shade = (150.0 + 100.0 * light) as u8;
        text += &format!(
            "<polygon points=\"{}\" fill=\"rgb({},{},{})\" stroke=\"#1d4f73\" stroke-width=\"0.4\"/>\n",
            points.trim_end(),
            shade.saturating_sub(50),
            shade.saturating_sub(15),
            shade
        );
    }
    text
}

/// How much a face looks at the viewer, 0 to 1.
fn brightness(corners: &[u32], seen: &[[f64; 3]]) -> f64 {
    let [Some(a), Some(b), Some(c)] = [0, 1, 2].map(|k| corners.get(k).map(|&corner| seen[corner as usize])) else {
        return 0.0;
    };
    let (u, v) = ([0, 1, 2].map(|k| b[k] - a[k]), [0, 1, 2].map(|k| c[k] - a[k]));
    let normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    let length = normal.iter().map(|n| n * n).sum::<f64>().sqrt();
    if length > 0.0 { (normal[2] / length).abs() } else { 0.0 }
}

/// To the right, up, and towards the viewer: turned by 30° about the vertical and by 15° about the horizontal.
fn view([x, y, z]: &[f64; 3]) -> [f64; 3] {
    let (turn, tilt) = (30.0_f64.to_radians(), 15.0_f64.to_radians());
    let (right, depth) = (turn.cos() * x - turn.sin() * z, turn.sin() * x + turn.cos() * z);
    [right, tilt.cos() * y - tilt.sin() * depth, tilt.sin() * y + tilt.cos() * depth]
}

/// The lowest and highest place of the points; a point's width at least.
fn extent<'a>(points: impl Iterator<Item = &'a [f64; 3]>) -> [[f64; 2]; 2] {
    let mut low = [f64::INFINITY; 2];
    let mut high = [f64::NEG_INFINITY; 2];
    for point in points {
        for axis in 0..2 {
            (low[axis], high[axis]) = (low[axis].min(point[axis]), high[axis].max(point[axis]));
        }
    }
    for axis in 0..2 {
        high[axis] = high[axis].max(low[axis] + 1e-6);
    }
    [low, high]
}

pub(super) fn text(x: f64, y: f64, size: f64, words: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\">{}</text>\n", escaped(words))
}
