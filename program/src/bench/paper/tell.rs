//! Tables and plots of the suite `paper`, made from a result file alone.

use super::record::{Curve, Ending};
use super::{CHAIN, CLOTH, FAST};
use crate::bench::plot::{Axis, Plot, Point, Scale, Series, series};
use crate::bench::results::{ResultFile, Row};
use crate::bench::table::{Table, printable};
use crate::output::{count, duration, mean, percent, significant};

/// Whether a row belongs to this suite.
pub(crate) fn is_of_paper(row: &Row) -> bool {
    row.suite == CHAIN || row.suite == CLOTH
}

/// Titles and tables: one for each of figures 4 and 5, and the numbers to compare.
pub(crate) fn tables(file: &ResultFile) -> Vec<(String, Table)> {
    let mut tables = Vec::new();
    for (suite, title) in [(CHAIN, "Figure 4: a chain"), (CLOTH, "Figure 5: a drape")] {
        let mut rows: Vec<&Row> = file.rows.iter().filter(|row| row.suite == suite).collect();
        if !rows.is_empty() {
            // Stable: methods keep their order within a task.
            rows.sort_by(|a, b| a.size.cmp(&b.size).then(b.strain_limit.total_cmp(&a.strain_limit)));
            tables.push((title.to_owned(), times(&rows)));
        }
    }
    if let Some(paper) = &file.paper {
        let number = |value: f64| match value.abs() {
            size if size >= 1000.0 => count(value as u64),
            size if size > 0.0 && size < 1e-3 => format!("{value:.2e}"),
            _ => significant(value, 3),
        };
        let row = |finding: &super::record::Finding| {
            let paper = finding.paper.map_or_else(|| "–".to_owned(), number);
            vec![printable(&finding.figure), printable(&finding.name), number(finding.value), paper]
        };
        let rows = paper.findings.iter().map(row).collect();
        tables.push(("Numbers".to_owned(), Table::new(&["figure", "what", "here", "paper"], rows)));
    }
    tables
}

fn times(rows: &[&Row]) -> Table {
    let header = ["vertices", "limit", "method", "place", "ended", "times", "time per s", "p05 to p95", "step"];
    let header = [&header[..], &["stiffness", "largest strain", "iterations per step", "energy drift"]].concat();
    let cells = rows.iter().map(|row| {
        let detail = row.detail.as_ref();
        let per_step = row.iterations as f64 / row.substeps.max(1) as f64;
        let step = row.substeps.max(1) as f64 / f64::from(row.frames.max(1)) * 60.0;
        // Solvers that cut frames themselves have no fixed step, only a mean.
        let (about, step) = match detail.and_then(|detail| detail.step_seconds) {
            Some(seconds) => ("", 1.0 / seconds),
            None => ("≈ ", step),
        };
        let time = &row.seconds_per_second;
        let spread = if time.raw.len() == 1 {
            "one sample".to_owned()
        } else {
            format!("{} to {}", duration(time.p05), duration(time.p95))
        };
        vec![
            count(row.vertices),
            percent(row.strain_limit),
            printable(&row.solver),
            printable(&row.place),
            ended(row),
            times_of(row, rows),
            duration(time.median),
            spread,
            format!("{about}1/{step:.0} s"),
            detail.and_then(|detail| detail.stiffness).map_or_else(|| "–".to_owned(), |k| format!("{k:.0} N/m")),
            percent(row.strain_max),
            mean(per_step),
            row.energy_drift.map_or_else(|| "–".to_owned(), percent),
        ]
    });
    Table::new(&header, cells.collect())
}

fn ended(row: &Row) -> String {
    match &row.detail {
        Some(detail) => match &detail.reason {
            Some(reason) => format!("{}: {}", detail.ending.words(), printable(reason)),
            None => detail.ending.words().to_owned(),
        },
        None if row.held => Ending::Held.words().to_owned(),
        None => Ending::Missed.words().to_owned(),
    }
}

/// The ratio to fast projection in the same task; only runs that held have one.
fn times_of(row: &Row, rows: &[&Row]) -> String {
    let base = rows.iter().find(|other| {
        other.solver == FAST && other.size == row.size && other.strain_limit == row.strain_limit && other.held
    });
    match base.map(|base| row.seconds_per_second.median / base.seconds_per_second.median) {
        Some(ratio) if row.held && ratio.is_finite() => significant(ratio, 3),
        _ => "–".to_owned(),
    }
}

/// File names and SVGs.
pub(crate) fn plots(file: &ResultFile) -> Vec<(String, String)> {
    let axis = |title: &str, scale| Axis { title: title.to_owned(), scale };
    let time = || axis("time per simulated second [s/s]", Scale::Log);
    let mut plots = Vec::new();
    for (suite, number, scene) in [(CHAIN, 4, "Chain"), (CLOTH, 5, "Drape")] {
        let of: Vec<Row> = file.rows.iter().filter(|row| row.suite == suite).cloned().collect();
        let (Some(size), Some(limit)) =
            (most_common(&of, |row| row.size), most_common(&of, |row| row.strain_limit.to_bits()))
        else {
            continue;
        };
        let limit = f64::from_bits(limit);
        let vertices = of.iter().find(|row| row.size == size).map_or(0, |row| row.vertices);
        let rows: Vec<Row> = of.iter().filter(|row| row.size == size).cloned().collect();
        let lines = named(series(&rows, |row| row.strain_limit));
        let title = format!("{scene} of {} vertices: time against strain", count(vertices));
        let (x, y) = (axis("permissible strain", Scale::Log), time());
        plots.push((format!("paper-{number}a.svg"), Plot::new(&title, x, y, lines, file).draw().svg));
        let rows: Vec<Row> = of.iter().filter(|row| row.strain_limit == limit).cloned().collect();
        let lines = named(series(&rows, |row| row.vertices as f64));
        let title = format!("{scene} at {} strain: time against vertices", percent(limit));
        let (x, y) = (axis("vertices", Scale::Log), time());
        plots.push((format!("paper-{number}b.svg"), Plot::new(&title, x, y, lines, file).draw().svg));
    }
    let curves = file.paper.as_ref().map(|paper| paper.curves.as_slice()).unwrap_or_default();
    for (figure, title, x) in [
        ("3a", "Residual of the motion in each frame", Scale::Linear),
        ("3b", "Order of the residuals", Scale::Log),
        ("6a", "Fast projection against ICD: distance between the shapes", Scale::Linear),
        ("6b", "Fast projection against ICD: strain", Scale::Linear),
    ] {
        let of: Vec<&Curve> = curves.iter().filter(|curve| curve.figure == figure).collect();
        if let Some(first) = of.first() {
            let (x, y) = (axis(&first.x_title, x), axis(&first.y_title, Scale::Log));
            let lines = of.iter().map(|curve| line(curve)).collect();
            plots.push((format!("paper-{figure}.svg"), Plot::new(title, x, y, lines, file).draw().svg));
        }
    }
    plots
}

fn line(curve: &Curve) -> Series {
    let point = |(x, y): (&f64, &f64)| Point { x: *x, y: *y, bar: None, held: true, word: "" };
    Series { name: curve.name.clone(), points: curve.x.iter().zip(&curve.y).map(point).collect(), line: true }
}

/// Without the place where it says nothing.
fn named(mut series: Vec<Series>) -> Vec<Series> {
    for one in &mut series {
        if let Some(name) = one.name.strip_suffix(", cpu") {
            one.name = name.to_owned();
        }
    }
    series
}

/// The value that most rows share: that of the panel in which the other one varies.
fn most_common<Key: Ord>(rows: &[Row], key: impl Fn(&Row) -> Key) -> Option<Key> {
    let mut keys: Vec<Key> = rows.iter().map(key).collect();
    keys.sort_unstable();
    let mut groups: Vec<Vec<Key>> = Vec::new();
    for key in keys {
        match groups.last_mut().filter(|group| group.last() == Some(&key)) {
            Some(group) => group.push(key),
            None => groups.push(vec![key]),
        }
    }
    groups.into_iter().max_by_key(Vec::len).and_then(|group| group.into_iter().next())
}
