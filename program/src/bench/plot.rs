//! Plots as SVG, written by hand: the same data give the same text.
//!
//! Points of runs that missed their limit are hollow, and no line leads to them: a line would say that they can be
//! compared with the others. What has no place on an axis is left out, counted, and the count is in the picture.

use std::fmt::Write;

use crate::bench::axis::{Range, drawable};
use crate::bench::results::{ResultFile, Row};

pub(crate) use crate::bench::axis::{Scale, label};

/// Colours of Okabe and Ito ("Color Universal Design", 2008) that people with any colour vision can tell apart, without
/// their yellow, which is too light for a white ground.
const COLORS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
/// The colour of what must not be overlooked.
const ALARM: &str = "#b03a00";

/// Edges of the data's rectangle.
const LEFT: f64 = 78.0;
const TOP: f64 = 44.0;
const RIGHT: f64 = 590.0;
const BOTTOM: f64 = 396.0;
/// Half the size of a marker.
const RADIUS: f64 = 4.5;
/// Width and height of a word beside a point.
const WORD: f64 = 60.0;
const LINE: f64 = 10.0;
/// Distance of the lines of the legend.
const LEGEND_STEP: f64 = 20.0;
/// Letters that fit beside the markers of the legend.
const LEGEND_LETTERS: usize = 26;
/// Letters of the title that fit.
const TITLE_LETTERS: usize = 80;
/// Letters of an axis's title that fit.
const AXIS_LETTERS: usize = 60;
/// Letters of a line of the caption that fit.
const CAPTION_LETTERS: usize = 125;
/// Series that fit into the legend; room for two notes remains.
const LEGEND_SERIES: usize = 15;

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    /// What it shows, with its unit.
    pub(crate) title: String,
    /// How values become places.
    pub(crate) scale: Scale,
}

/// A measured point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// Along the horizontal axis.
    pub(crate) x: f64,
    /// Along the vertical axis.
    pub(crate) y: f64,
    /// Ends of the error bar along the vertical axis: p05 and p95.
    pub(crate) bar: Option<[f64; 2]>,
    /// Whether the run held its limit; others are drawn hollow.
    pub(crate) held: bool,
    /// What stands beside it, as how a run failed; may be empty.
    pub(crate) word: &'static str,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// What they are, for the legend.
    pub(crate) name: String,
    /// In the order in which a line joins them.
    pub(crate) points: Vec<Point>,
    /// Whether a line joins them.
    pub(crate) line: bool,
}

/// A plot of several series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plot {
    /// What it shows.
    pub(crate) title: String,
    /// The horizontal axis.
    pub(crate) x: Axis,
    /// The vertical axis.
    pub(crate) y: Axis,
    /// What is drawn; each gets its colour and marker.
    pub(crate) series: Vec<Series>,
    /// Where it was measured; up to two lines.
    pub(crate) caption: String,
    /// What must not be overlooked, as that an adapter is software.
    pub(crate) banner: Option<String>,
}

/// A plot that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Drawing {
    /// The SVG document, 800 × 500 units.
    pub(crate) svg: String,
    /// Points that have no place: not finite, beyond 10³⁰, or not above zero on a logarithmic axis.
    pub(crate) dropped: usize,
}

/// One series for each solver and place, in the order of their first rows: time per simulated second against `x`, with
/// error bars from p05 to p95, sorted by `x`.
pub(crate) fn series(rows: &[Row], x: impl Fn(&Row) -> f64) -> Vec<Series> {
    let mut found: Vec<Series> = Vec::new();
    for row in rows {
        let name = format!("{}, {}", row.solver, row.place);
        let time = &row.seconds_per_second;
        let word = row.detail.as_ref().filter(|_| !row.held).map_or("", |detail| detail.ending.words());
        let point = Point { x: x(row), y: time.median, bar: Some([time.p05, time.p95]), held: row.held, word };
        match found.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => found.push(Series { name, points: vec![point], line: true }),
        }
    }
    for series in &mut found {
        series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    found
}

impl Plot {
    /// A plot with the machine and the banners of a file.
    pub(crate) fn new(title: &str, x: Axis, y: Axis, series: Vec<Series>, file: &ResultFile) -> Self {
        Self { title: title.to_owned(), x, y, series, caption: file.machine.caption(), banner: file.banner() }
    }

    /// Draws it.
    pub(crate) fn draw(&self) -> Drawing {
        let shown: Vec<Vec<Point>> = self.series.iter().map(|series| self.shown(series)).collect();
        let count = |series: &[Vec<Point>]| series.iter().map(Vec::len).sum::<usize>();
        let dropped = self.series.iter().map(|series| series.points.len()).sum::<usize>() - count(&shown);
        let points = || shown.iter().flatten();
        let heights = points().flat_map(|point| [point.y].into_iter().chain(point.bar.into_iter().flatten()));
        let frame =
            Frame { x: Range::new(self.x.scale, points().map(|point| point.x)), y: Range::new(self.y.scale, heights) };
        let mut svg = self.head();
        svg += &frame.grid();
        svg += &self.titles();
        // Markers last, so that no line hides one.
        for (index, points) in shown.iter().enumerate() {
            if self.series[index].line {
                svg += &frame.line(points, color(index));
            }
            svg += &frame.bars(points, color(index));
        }
        let mut words: Vec<[f64; 2]> = Vec::new();
        for (index, points) in shown.iter().enumerate() {
            for point in points {
                let (x, y) = frame.place(point.x, point.y);
                svg += &marker(index, x, y, point.held);
                if !point.word.is_empty() {
                    // Beside the marker, on the side where there is room.
                    let (anchor, x) = if x > RIGHT - WORD { ("end", x - 8.0) } else { ("start", x + 8.0) };
                    let y = free(&words, [x, y]);
                    words.push([x, y]);
                    svg += &Text { size: 10.0, anchor, color: color(index), ..Text::at(x, y + 3.5) }.write(point.word);
                }
            }
        }
        svg += &self.legend(points().any(|point| !point.held && point.word.is_empty()), dropped);
        svg += &self.foot();
        svg += "</svg>\n";
        Drawing { svg, dropped }
    }

    /// The points that have a place, without bars that have none.
    fn shown(&self, series: &Series) -> Vec<Point> {
        let (x, y) = (self.x.scale, self.y.scale);
        let points = series.points.iter().filter(|point| drawable(point.x, x) && drawable(point.y, y));
        let with_bar = |point: &Point| {
            let bar = point.bar.filter(|bar| bar.iter().all(|end| drawable(*end, y)));
            Point { bar, ..*point }
        };
        points.map(with_bar).collect()
    }

    fn head(&self) -> String {
        let title = escaped(&self.title);
        let words = escaped(&format!("{} against {}. {}", self.y.title, self.x.title, self.caption));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 500\" role=\"img\" \
             font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222222\">\n\
             <title>{title}</title>\n<desc>{words}</desc>\n\
             <rect x=\"0\" y=\"0\" width=\"800\" height=\"500\" fill=\"#ffffff\"/>\n"
        )
    }

    fn titles(&self) -> String {
        let middle = [f64::midpoint(LEFT, RIGHT), f64::midpoint(TOP, BOTTOM)];
        let title =
            Text { size: 15.0, bold: true, ..Text::at(LEFT, 26.0) }.write(&shortened(&self.title, TITLE_LETTERS));
        let x = Text::at(middle[0], BOTTOM + 38.0).middle().write(&shortened(&self.x.title, AXIS_LETTERS));
        let y =
            Text { upright: true, ..Text::at(20.0, middle[1]).middle() }.write(&shortened(&self.y.title, AXIS_LETTERS));
        title + &x + &y
    }

    fn legend(&self, any_missed: bool, dropped: usize) -> String {
        let mut text = String::new();
        let mut y = TOP + 8.0;
        let x = RIGHT + 24.0;
        let mut entry = |marks: String, words: &str, y: &mut f64| {
            text += &marks;
            text += &Text { size: 11.0, ..Text::at(x + 20.0, *y + 4.0) }.write(&shortened(words, LEGEND_LETTERS));
            *y += LEGEND_STEP;
        };
        for (index, series) in self.series.iter().enumerate().take(LEGEND_SERIES) {
            let line = if series.line { stroke([x - 14.0, y, x + 14.0, y], color(index), 1.5) } else { String::new() };
            entry(line + &marker(index, x, y, true), &series.name, &mut y);
        }
        if self.series.len() > LEGEND_SERIES {
            let words = format!("and {} more", self.series.len() - LEGEND_SERIES);
            entry(String::new(), &words, &mut y);
        }
        if any_missed {
            let marks = shape(Shape::Circle, x, y, "#ffffff", "#555555");
            entry(marks, "hollow: missed its limit", &mut y);
        }
        if dropped > 0 {
            let words = format!("{dropped} {} not shown", if dropped == 1 { "point" } else { "points" });
            entry(String::new(), &words, &mut y);
        }
        text
    }

    /// The banner above the caption.
    fn foot(&self) -> String {
        let mut text = String::new();
        if let Some(banner) = &self.banner {
            let style = Text { size: 11.0, bold: true, color: ALARM, ..Text::at(12.0, 458.0) };
            text += &style.write(&shortened(banner, CAPTION_LETTERS));
        }
        for (line, y) in wrapped(&self.caption, CAPTION_LETTERS).iter().zip([474.0, 489.0]) {
            text += &Text { size: 11.0, color: "#555555", ..Text::at(12.0, y) }.write(line);
        }
        text
    }
}

/// The height nearest to a place's own where a word does not cover others.
fn free(words: &[[f64; 2]], [x, y]: [f64; 2]) -> f64 {
    let covers = |height: f64| words.iter().any(|word| (word[0] - x).abs() < WORD && (word[1] - height).abs() < LINE);
    let shifts = (0..20).flat_map(|lines| [f64::from(lines) * LINE, -f64::from(lines) * LINE]);
    shifts.map(|shift| (y + shift).clamp(TOP, BOTTOM)).find(|height| !covers(*height)).unwrap_or(y)
}

/// The rectangle of the data.
struct Frame {
    x: Range,
    y: Range,
}

impl Frame {
    fn place(&self, x: f64, y: f64) -> (f64, f64) {
        (LEFT + (RIGHT - LEFT) * self.x.place(x), BOTTOM - (BOTTOM - TOP) * self.y.place(y))
    }

    fn grid(&self) -> String {
        let mut text = String::new();
        for tick in self.x.ticks() {
            let x = LEFT + (RIGHT - LEFT) * self.x.place(tick);
            text += &stroke([x, TOP, x, BOTTOM], "#e4e4e4", 1.0);
            text += &Text::at(x, BOTTOM + 18.0).middle().write(&label(tick));
        }
        for tick in self.y.ticks() {
            let y = BOTTOM - (BOTTOM - TOP) * self.y.place(tick);
            text += &stroke([LEFT, y, RIGHT, y], "#e4e4e4", 1.0);
            text += &Text { anchor: "end", ..Text::at(LEFT - 7.0, y + 4.0) }.write(&label(tick));
        }
        text += &stroke([LEFT, BOTTOM, RIGHT, BOTTOM], "#444444", 1.0);
        text + &stroke([LEFT, TOP, LEFT, BOTTOM], "#444444", 1.0)
    }

    /// Joins neighbours that both held.
    fn line(&self, points: &[Point], color: &str) -> String {
        let mut text = String::new();
        for pair in points.windows(2) {
            if let [a, b] = pair
                && a.held
                && b.held
            {
                let ((ax, ay), (bx, by)) = (self.place(a.x, a.y), self.place(b.x, b.y));
                text += &stroke([ax, ay, bx, by], color, 1.5);
            }
        }
        text
    }

    fn bars(&self, points: &[Point], color: &str) -> String {
        let mut text = String::new();
        for point in points {
            let Some([low, high]) = point.bar else { continue };
            let ((x, bottom), (_, top)) = (self.place(point.x, low), self.place(point.x, high));
            text += &stroke([x, bottom, x, top], color, 1.0);
            for y in [bottom, top] {
                text += &stroke([x - 3.5, y, x + 3.5, y], color, 1.0);
            }
        }
        text
    }
}

fn stroke([x1, y1, x2, y2]: [f64; 4], color: &str, width: f64) -> String {
    format!(
        "<line x1=\"{x1:.2}\" y1=\"{y1:.2}\" x2=\"{x2:.2}\" y2=\"{y2:.2}\" stroke=\"{color}\" stroke-width=\"{width}\"/>\n"
    )
}

/// Text and how it looks.
struct Text {
    x: f64,
    y: f64,
    size: f64,
    bold: bool,
    /// From bottom to top.
    upright: bool,
    anchor: &'static str,
    color: &'static str,
}

impl Text {
    fn at(x: f64, y: f64) -> Self {
        Self { x, y, size: 12.0, bold: false, upright: false, anchor: "start", color: "#222222" }
    }

    fn middle(self) -> Self {
        Self { anchor: "middle", ..self }
    }

    fn write(&self, words: &str) -> String {
        let Self { x, y, size, anchor, color, .. } = self;
        let weight = if self.bold { " font-weight=\"bold\"" } else { "" };
        let turn = if self.upright { format!(" transform=\"rotate(-90 {x:.2} {y:.2})\"") } else { String::new() };
        let words = escaped(words);
        format!(
            "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"{color}\"{weight}{turn}>\
             {words}</text>\n"
        )
    }
}

/// Forms that can be told apart filled and hollow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Circle,
    Square,
    Up,
    Diamond,
    Down,
    Cross,
    Star,
}

const SHAPES: [Shape; 7] =
    [Shape::Circle, Shape::Square, Shape::Up, Shape::Diamond, Shape::Down, Shape::Cross, Shape::Star];

impl Shape {
    /// Corners in radii from the middle, y downwards; none for the circle.
    fn corners(self) -> &'static [[f64; 2]] {
        match self {
            Self::Circle => &[],
            Self::Square => &[[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
            Self::Up => &[[0.0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
            Self::Diamond => &[[0.0, -1.3], [1.1, 0.0], [0.0, 1.3], [-1.1, 0.0]],
            Self::Down => &[[0.0, 1.2], [1.1, -0.8], [-1.1, -0.8]],
            Self::Cross => &[
                [-0.45, -1.2],
                [0.45, -1.2],
                [0.45, -0.45],
                [1.2, -0.45],
                [1.2, 0.45],
                [0.45, 0.45],
                [0.45, 1.2],
                [-0.45, 1.2],
                [-0.45, 0.45],
                [-1.2, 0.45],
                [-1.2, -0.45],
                [-0.45, -0.45],
            ],
            // Four points: radius 1.5 at the tips, 0.55 between.
            Self::Star => &[
                [0.0, -1.5],
                [0.39, -0.39],
                [1.5, 0.0],
                [0.39, 0.39],
                [0.0, 1.5],
                [-0.39, 0.39],
                [-1.5, 0.0],
                [-0.39, -0.39],
            ],
        }
    }
}

fn color(index: usize) -> &'static str {
    COLORS[index % COLORS.len()]
}

/// The marker of a series. Shapes move on by one with every round of the colours: 49 series differ.
fn marker(index: usize, x: f64, y: f64, filled: bool) -> String {
    let form = SHAPES[(index + index / COLORS.len()) % SHAPES.len()];
    shape(form, x, y, if filled { color(index) } else { "#ffffff" }, color(index))
}

fn shape(shape: Shape, x: f64, y: f64, fill: &str, stroke: &str) -> String {
    let style = format!("fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"1.5\"");
    if shape == Shape::Circle {
        return format!("<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{RADIUS}\" {style}/>\n");
    }
    let mut points = String::new();
    for [dx, dy] in shape.corners() {
        // Writing to a string cannot fail.
        let _ = write!(points, "{:.2},{:.2} ", x + dx * RADIUS, y + dy * RADIUS);
    }
    format!("<polygon points=\"{}\" {style}/>\n", points.trim_end())
}

/// Text for XML. Characters that XML 1.0 cannot hold, escaped or not, are replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ if letter.is_control() => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// At most `most` letters; an ellipsis tells that there were more.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Two lines of at most `most` letters, broken between words; an ellipsis tells that there were more.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut first = String::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next_if(|word| first.is_empty() || letters(&first) + 1 + letters(word) <= most) {
        if !first.is_empty() {
            first.push(' ');
        }
        first += word;
    }
    let rest = words.collect::<Vec<_>>().join(" ");
    [first, rest].into_iter().filter(|line| !line.is_empty()).map(|line| shortened(&line, most)).collect()
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::sample::{file, missed, row};

    fn axis(title: &str, scale: Scale) -> Axis {
        Axis { title: title.into(), scale }
    }

    fn plot(scales: [Scale; 2], series: Vec<Series>) -> Plot {
        let [x, y] = [axis("vertices", scales[0]), axis("time per simulated second [s/s]", scales[1])];
        Plot::new("Time to 1 % strain", x, y, series, &file(Vec::new()))
    }

    fn points(points: &[(f64, f64)]) -> Series {
        let points = points.iter().map(|&(x, y)| Point { x, y, bar: None, held: true, word: "" }).collect();
        Series { name: "jacobi".into(), points, line: true }
    }

    const ALL_SCALES: [[Scale; 2]; 4] = [
        [Scale::Linear, Scale::Linear],
        [Scale::Linear, Scale::Log],
        [Scale::Log, Scale::Linear],
        [Scale::Log, Scale::Log],
    ];

    /// Checks that tags are balanced, attributes are quoted, and that text has only known entities.
    fn check_xml(text: &str) -> Result<(), String> {
        let mut open: Vec<&str> = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find('<') {
            check_text(&rest[..start])?;
            let end = start + rest[start..].find('>').ok_or("a tag does not end")?;
            let tag = &rest[start + 1..end];
            rest = &rest[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                if open.pop() != Some(name) {
                    return Err(format!("</{name}> closes what is not open"));
                }
                continue;
            }
            let (inside, alone) = tag.strip_suffix('/').map_or((tag, false), |inside| (inside, true));
            let name = inside.split(' ').next().unwrap_or_default();
            if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphabetic()) {
                return Err(format!("{name:?} is no name"));
            }
            check_attributes(&inside[name.len()..])?;
            if !alone {
                open.push(name);
            }
            if open.is_empty() && !rest.trim().is_empty() {
                return Err("there is more than one root".into());
            }
        }
        check_text(rest)?;
        if open.is_empty() { Ok(()) } else { Err(format!("{open:?} are not closed")) }
    }

    fn check_attributes(mut text: &str) -> Result<(), String> {
        while !text.is_empty() {
            let attribute = text.strip_prefix(' ').ok_or_else(|| format!("no space before {text:?}"))?;
            let (name, value) = attribute.split_once("=\"").ok_or_else(|| format!("{attribute:?} has no value"))?;
            if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-') {
                return Err(format!("{name:?} is no name"));
            }
            let (value, rest) = value.split_once('"').ok_or_else(|| format!("{name} is not closed"))?;
            check_text(value)?;
            text = rest;
        }
        Ok(())
    }

    fn check_text(text: &str) -> Result<(), String> {
        for part in text.split('&').skip(1) {
            if !["amp;", "lt;", "gt;", "quot;", "#39;"].iter().any(|entity| part.starts_with(entity)) {
                return Err(format!("&{part} is no entity"));
            }
        }
        if text.contains(|letter: char| letter.is_control() && letter != '\n') {
            return Err("a control character".into());
        }
        Ok(())
    }

    /// Draws and checks what must be true of every drawing.
    fn checked(plot: &Plot) -> Drawing {
        let drawing = plot.draw();
        check_xml(&drawing.svg).expect("well-formed");
        for bad in ["NaN", "nan", "inf", "-0.00"] {
            assert!(!drawing.svg.contains(bad), "{bad} in {}", drawing.svg);
        }
        for attribute in ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy"] {
            for text in drawing.svg.split(&format!(" {attribute}=\"")).skip(1) {
                let value: f64 = text.split('"').next().expect("a value").parse().expect("a number");
                let most = if attribute.contains('x') { 800.0 } else { 500.0 };
                assert!((0.0..=most).contains(&value), "{attribute} is {value}");
            }
        }
        assert_eq!(drawing, plot.draw(), "the same plot gives the same text");
        drawing
    }

    /// Lines that join points of the first series, with that of the legend.
    fn blue_lines(svg: &str) -> usize {
        let joins =
            |line: &&str| line.starts_with("<line") && line.ends_with("stroke=\"#0072b2\" stroke-width=\"1.5\"/>");
        svg.lines().filter(joins).count()
    }

    #[test]
    fn the_check_of_xml_finds_what_is_wrong() {
        assert_eq!(check_xml("<a b=\"1\"><c/>x &amp; y</a>\n"), Ok(()));
        for bad in ["<a>", "<a></b>", "<a b=1/>", "<a>&nbsp;</a>", "<a/><b/>", "<a b=\"1/>", "<a>\u{1}</a>"] {
            assert!(check_xml(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn points_are_where_they_should_be() {
        let drawing = checked(&plot([Scale::Linear; 2], vec![points(&[(0.0, 0.0), (5.0, 1.0), (10.0, 2.0)])]));
        assert_eq!(drawing.dropped, 0);
        for place in ["cx=\"78.00\" cy=\"396.00\"", "cx=\"334.00\" cy=\"220.00\"", "cx=\"590.00\" cy=\"44.00\""] {
            assert_eq!(drawing.svg.matches(place).count(), 1, "{place}");
        }
        // Three markers and two lines between them, and one more of each in the legend.
        assert_eq!(drawing.svg.matches("<circle").count(), 4);
        assert_eq!(blue_lines(&drawing.svg), 3);
        for label in [">0<", ">2<", ">10<", ">0.5<", ">1.5<"] {
            assert!(drawing.svg.contains(label), "{label}");
        }
    }

    #[test]
    fn decades_are_equally_far_apart_on_a_logarithmic_axis() {
        let drawing =
            checked(&plot([Scale::Log, Scale::Linear], vec![points(&[(1.0, 0.0), (10.0, 0.0), (100.0, 1.0)])]));
        let centers: Vec<f64> = drawing
            .svg
            .split("cx=\"")
            .skip(1)
            .take(3)
            .filter_map(|text| text.split('"').next()?.parse().ok())
            .collect();
        assert!((centers[1] - centers[0] - (centers[2] - centers[1])).abs() < 0.02, "{centers:?}");
        assert!(centers[1] - centers[0] > 200.0);
    }

    #[test]
    fn missed_points_are_hollow_and_no_line_leads_to_them() {
        let mut series = points(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 4.0)]);
        let all = checked(&plot([Scale::Linear; 2], vec![series.clone()])).svg;
        series.points[1].held = false;
        let some = checked(&plot([Scale::Linear; 2], vec![series])).svg;
        let hollow = |svg: &str| svg.matches("fill=\"#ffffff\" stroke=\"#0072b2\"").count();
        assert_eq!((hollow(&all), hollow(&some)), (0, 1));
        // One is the legend's; of the other three only that between the last two points remains.
        assert_eq!((blue_lines(&all), blue_lines(&some)), (4, 2));
        assert!(!all.contains("missed") && some.contains("hollow: missed its limit"));
    }

    #[test]
    fn words_stand_beside_their_points() {
        let mut series = points(&[(1.0, 1.0), (2.0, 2.0)]);
        for point in &mut series.points {
            (point.held, point.word) = (false, "over budget");
        }
        let svg = checked(&plot([Scale::Linear; 2], vec![series])).svg;
        assert_eq!(svg.matches(">over budget</text>").count(), 2);
        // The one at the right end stands on the left; and words need no explanation.
        assert_eq!(svg.matches("text-anchor=\"end\" fill=\"#0072b2\">over budget").count(), 1);
        assert!(!svg.contains("hollow"));
        // Five words at one place stand below and above each other.
        let mut words: Vec<[f64; 2]> = Vec::new();
        for _ in 0..5 {
            let y = free(&words, [300.0, 200.0]);
            assert!(words.iter().all(|word| (word[1] - y).abs() >= LINE), "{words:?} {y}");
            words.push([300.0, y]);
        }
        assert_eq!(free(&words, [400.0, 200.0]), 200.0, "far enough to the right");
    }

    #[test]
    fn error_bars_reach_from_the_low_to_the_high_end() {
        let bar = Some([1.0, 3.0]);
        let wide = Point { x: 5.0, y: 2.0, bar, held: true, word: "" };
        let series = Series {
            points: vec![
                wide,
                Point { x: 0.0, y: 0.0, bar: None, ..wide },
                Point { x: 10.0, y: 4.0, bar: None, ..wide },
            ],
            ..points(&[])
        };
        let svg = checked(&plot([Scale::Linear; 2], vec![series])).svg;
        // A quarter and three quarters of the height of 352.
        assert_eq!(
            svg.matches("<line x1=\"334.00\" y1=\"308.00\" x2=\"334.00\" y2=\"132.00\" stroke=\"#0072b2\"").count(),
            1
        );
        assert_eq!(svg.matches("<line x1=\"330.50\"").count(), 2);
    }

    #[test]
    fn what_has_no_place_is_dropped_and_counted() {
        let values = [
            (1.0, 1.0),
            (0.0, 1.0),
            (-1.0, 1.0),
            (1.0, 0.0),
            (f64::NAN, 1.0),
            (1.0, f64::INFINITY),
            (2.0, 1e300),
            (10.0, 2.0),
        ];
        let dropped = |scales| checked(&plot(scales, vec![points(&values)])).dropped;
        assert_eq!(ALL_SCALES.map(dropped), [3, 4, 5, 6]);
        let svg = checked(&plot(ALL_SCALES[3], vec![points(&values)])).svg;
        assert!(svg.contains(">6 points not shown<"));
        assert!(checked(&plot(ALL_SCALES[3], vec![points(&values[..2])])).svg.contains(">1 point not shown<"));
    }

    #[test]
    fn degenerate_data_give_good_drawings() {
        let bar = Point { x: 1.0, y: 1.0, bar: Some([f64::NAN, 2.0]), held: false, word: "" };
        let cases = [
            vec![],
            vec![points(&[])],
            vec![points(&[(3.0, 7.0)])],
            vec![points(&[(3.0, 7.0), (3.0, 7.0)])],
            vec![points(&[(0.0, 0.0)])],
            vec![points(&[(-5.0, -1e-9), (-5.0, -1e-9)])],
            vec![points(&[(1e-300, 1e-310), (2e-300, 0.0)])],
            vec![points(&[(1e30, 1e-30), (-1e30, 1e30)])],
            vec![points(&[(1.0, 1.0), (1.0 + 1e-15, 1.0 + 1e-7)])],
            vec![points(&[(f64::NAN, f64::NAN), (f64::INFINITY, f64::NEG_INFINITY)])],
            vec![Series { points: vec![bar, Point { bar: Some([0.0, 2.0]), ..bar }], ..points(&[]) }],
        ];
        for (scales, case) in ALL_SCALES.iter().flat_map(|scales| cases.iter().map(move |case| (scales, case))) {
            checked(&plot(*scales, case.clone()));
        }
    }

    #[test]
    fn text_of_strangers_is_escaped_and_cut() {
        let nasty = "<script>alert(\"1\" & '2')</script>\u{1b}\u{0}\u{ffff}";
        let mut plot = plot([Scale::Linear; 2], vec![Series { name: nasty.repeat(9), ..points(&[(1.0, 1.0)]) }]);
        (plot.title, plot.caption, plot.banner) = (nasty.into(), nasty.repeat(50), Some(nasty.into()));
        (plot.x.title, plot.y.title) = (nasty.into(), nasty.into());
        let svg = checked(&plot).svg;
        assert!(!svg.contains("<script"));
        assert!(
            svg.contains("&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;\u{fffd}\u{fffd}\u{fffd}")
        );
        assert!(svg.contains('…'));
    }

    #[test]
    fn many_series_differ_in_colour_or_marker_and_the_legend_ends() {
        let looks: Vec<String> = (0..49).map(|index| marker(index, 0.0, 0.0, true)).collect();
        let mut different = looks.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), 49);
        let series = vec![points(&[(1.0, 1.0)]); 20];
        let svg = checked(&plot([Scale::Linear; 2], series)).svg;
        assert_eq!(svg.matches(">jacobi<").count(), 15);
        assert!(svg.contains(">and 5 more<"));
    }

    #[test]
    fn lines_of_the_caption_break_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one two three four", 7), ["one two", "three …"]);
        assert_eq!(wrapped("incomprehensible", 7), ["incomp…"]);
        assert_eq!(wrapped("", 7), [""; 0]);
    }

    /// The plot that people see in the scaling suite, with everything in it.
    fn scaling() -> Plot {
        let mut rows = Vec::new();
        for (solver, factor, exponent) in
            [("jacobi", 2e-6, 1.9), ("gauss-seidel", 4e-6, 1.5), ("fast-projection", 2e-5, 1.1)]
        {
            for size in [40, 10, 20, 80] {
                let time = factor * f64::from(size * size).powf(exponent);
                let seconds = [0.85, 0.93, 1.0, 1.04, 1.3].map(|part| part * time);
                let row = row("hang", size, solver, &seconds);
                rows.push(if solver == "jacobi" && size == 80 { missed(row, 0.04) } else { row });
            }
        }
        let mut file = file(rows);
        file.software = true;
        let series = series(&file.rows, |row| row.vertices as f64);
        let [x, y] = [axis("vertices", Scale::Log), axis("wall time per simulated second [s/s]", Scale::Log)];
        Plot::new("Hanging sheet, 1 % strain: time against size", x, y, series, &file)
    }

    #[test]
    fn rows_become_series_with_bars() {
        let plot = scaling();
        let names: Vec<&str> = plot.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["jacobi, cpu", "gauss-seidel, cpu", "fast-projection, cpu"]);
        let xs: Vec<f64> = plot.series[0].points.iter().map(|point| point.x).collect();
        assert_eq!(xs, [100.0, 400.0, 1600.0, 6400.0]);
        assert_eq!(plot.series[0].points.iter().map(|point| point.held).collect::<Vec<_>>(), [true, true, true, false]);
        let point = plot.series[2].points[3];
        let [low, high] = point.bar.expect("a bar");
        assert!((low / point.y - 0.866).abs() < 1e-9 && (high / point.y - 1.248).abs() < 1e-9);
        let svg = checked(&plot).svg;
        assert!(svg.contains(crate::bench::results::SOFTWARE_BANNER) && svg.contains("Example 9000"));
    }
}
