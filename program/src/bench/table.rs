//! Rows for people.
//!
//! Only runs that did the same are ranked: those of one suite, scene, size and strain limit. A run that missed its
//! limit did less than it was asked, so it has no rank, however fast it was.

use std::cmp::Ordering;

use taut::stage::phase;

use crate::bench::results::{Row, Samples};
use crate::output::{count, duration, mean, percent, significant};

/// The first columns of most tables: which run a row is of.
pub(crate) const NAME: [&str; 6] = ["suite", "scene", "size", "limit", "solver", "place"];

/// A table of text; every row is as long as the header.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    /// Titles of the columns, with units.
    pub(crate) header: Vec<String>,
    /// The cells.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(header: &[&str], rows: Vec<Vec<String>>) -> Self {
        Self { header: header.iter().map(|title| (*title).to_owned()).collect(), rows }
    }

    /// The same for terminals of so many columns, as tables that fit: what is the same in all rows becomes a title,
    /// what nowhere is anything is left out, and the others go on in further tables, beside the names of the runs.
    pub(crate) fn fitting(&self, width: usize) -> (String, Vec<Self>) {
        let column = |index: usize| self.rows.iter().map(move |row| row[index].as_str());
        let named = if self.header[..NAME.len().min(self.header.len())] == NAME { NAME.len() } else { 0 };
        let same = |index: &usize| self.rows.len() > 1 && column(*index).all(|cell| cell == self.rows[0][*index]);
        let (title, names): (Vec<usize>, Vec<usize>) = (0..named).partition(same);
        let title: Vec<String> =
            title.into_iter().map(|index| format!("{} {}", self.header[index], self.rows[0][index])).collect();
        let inner = |index: usize| {
            let words = self.header[index].split(' ').chain(column(index));
            words.map(|text| text.chars().count()).max().unwrap_or_default()
        };
        // With a line and two blanks.
        let width_of = |index: usize| 3 + inner(index);
        let room = width.saturating_sub(1 + names.iter().map(|index| width_of(*index)).sum::<usize>());
        let mut parts = vec![Vec::new()];
        let mut left = room;
        let told = |index: &usize| self.rows.is_empty() || column(*index).any(|cell| cell != "–");
        for index in (named..self.header.len()).filter(told) {
            if left < width_of(index) && parts.last().is_some_and(|part: &Vec<usize>| !part.is_empty()) {
                parts.push(Vec::new());
                left = room;
            }
            left = left.saturating_sub(width_of(index));
            if let Some(part) = parts.last_mut() {
                part.push(index);
            }
        }
        let table = |part: &Vec<usize>| {
            let chosen = || names.iter().chain(part).copied();
            let row = |row: &Vec<String>| chosen().map(|index| row[index].clone()).collect();
            Self {
                header: chosen().map(|index| broken(&self.header[index], inner(index))).collect(),
                rows: self.rows.iter().map(row).collect(),
            }
        };
        (title.join(", "), parts.iter().map(table).collect())
    }

    /// The table in Markdown, as GitHub reads it.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| printable(cell).replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = vec!["---".to_owned(); self.header.len()];
        let rows = self.rows.iter().map(|row| line(row)).collect::<String>();
        line(&self.header) + &line(&rule) + &rows
    }
}

/// Who was how fast: sorted by suite, scene, size and strain limit, then by time, with what missed its limit last.
///
/// `times` is the ratio to the fastest that held. Times are wall times per simulated second.
pub(crate) fn ranking(rows: &[Row]) -> Table {
    let more = ["rank", "times", "time per s", "p05 to p95", "GPU time per s", "largest strain", "roofline"];
    let header = [&NAME[..], &more].concat();
    let mut cells = Vec::with_capacity(rows.len());
    for group in sorted(rows).chunk_by(|a, b| same_task(a, b).is_eq()) {
        // Sorted: if any held, then the first did, and it is the fastest.
        let fastest = group.first().filter(|row| row.held).map(|row| row.seconds_per_second.median);
        cells.extend(group.iter().enumerate().map(|(place, row)| {
            let mut cells = name(row);
            cells.extend(judgement(row, place + 1, fastest));
            cells.extend([
                duration(row.seconds_per_second.median),
                spread(&row.seconds_per_second),
                or_dash(row.gpu_seconds.as_ref(), |samples| duration(samples.median)),
                percent(row.strain_max),
                or_dash(row.roofline_fraction.as_ref(), |fraction| format!("{} %", significant(fraction * 100.0, 3))),
            ]);
            cells
        }));
    }
    Table::new(&header, cells)
}

/// What it took, in the order of [`ranking`]: means per frame, and what is paid once.
pub(crate) fn work(rows: &[Row]) -> Table {
    let counts = ["vertices", "substeps per frame", "iterations", "linear iterations", "elastic iterations"];
    let more = ["dispatches", "executed", "recorded", "MB moved", "energy drift", "first step", "compiling"];
    let parts = phase::ALL.map(|phase| format!("GPU {} per s", phase.name));
    let parts = parts.each_ref().map(String::as_str);
    let header = [&NAME[..], &counts, &more, &parts].concat();
    let cells = sorted(rows).into_iter().map(|row| {
        let per_frame = |total: u64| mean(total as f64 / f64::from(row.frames.max(1)));
        let megabytes = |bytes: &u64| significant(*bytes as f64 / 1e6 / f64::from(row.frames.max(1)), 3);
        let mut cells = name(row);
        cells.push(count(row.vertices));
        let totals = [row.substeps, row.iterations, row.inner_iterations, row.elastic_iterations, row.dispatches];
        cells.extend(totals.map(per_frame));
        cells.extend([
            or_dash(row.executed_dispatches.as_ref(), |total| per_frame(*total)),
            per_frame(row.recorded_dispatches),
            or_dash(row.bytes_moved.as_ref(), megabytes),
            or_dash(row.energy_drift.as_ref(), |drift| percent(*drift)),
            duration(row.first_step_seconds),
            or_dash(row.compile_seconds.as_ref(), |seconds| duration(*seconds)),
        ]);
        cells.extend(phase::ALL.map(|phase| or_dash(row.gpu_parts.as_ref(), |parts| duration(parts.of(phase)))));
        cells
    });
    Table::new(&header, cells.collect())
}

/// Words in lines of at most so many letters.
fn broken(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => *line = format!("{line} {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// Text that a terminal shows as it is: control characters, which might move its cursor or worse, are replaced.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

/// The first cells of a row: which run it is.
pub(crate) fn name(row: &Row) -> Vec<String> {
    let [suite, scene, solver, place] = [&row.suite, &row.scene, &row.solver, &row.place].map(|text| printable(text));
    vec![suite, scene, row.size.to_string(), percent(row.strain_limit), solver, place]
}

/// Rank and ratio, or that it has none.
fn judgement(row: &Row, rank: usize, fastest: Option<f64>) -> [String; 2] {
    if !row.held {
        return [format!("missed, strain {}", percent(row.strain_max)), "–".into()];
    }
    let times = fastest.filter(|fastest| *fastest > 0.0).map(|fastest| row.seconds_per_second.median / fastest);
    [rank.to_string(), or_dash(times.as_ref(), |times| significant(*times, 3))]
}

fn spread(samples: &Samples) -> String {
    if samples.raw.len() == 1 {
        return "one sample".into();
    }
    format!("{} to {}", duration(samples.p05), duration(samples.p95))
}

fn or_dash<T>(value: Option<&T>, text: impl Fn(&T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), text)
}

fn sorted(rows: &[Row]) -> Vec<&Row> {
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by(|a, b| {
        let time = |row: &Row| row.seconds_per_second.median;
        same_task(a, b).then(b.held.cmp(&a.held)).then(time(a).total_cmp(&time(b)))
    });
    sorted
}

/// Orders by what was asked; equal where runs can be ranked against each other.
fn same_task(a: &Row, b: &Row) -> Ordering {
    let names = |row: &Row| (row.suite.clone(), row.scene.clone(), row.size);
    names(a).cmp(&names(b)).then(a.strain_limit.total_cmp(&b.strain_limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::sample::{full_row, missed, row};

    fn column(table: &Table, title: &str) -> Vec<String> {
        let column = table.header.iter().position(|header| header == title).expect(title);
        table.rows.iter().map(|row| row[column].clone()).collect()
    }

    #[test]
    fn rows_are_ranked_within_their_task_and_the_missed_have_no_rank() {
        let loose = Row { strain_limit: 0.1, ..row("hang", 20, "jacobi", &[0.1]) };
        let rows = [
            row("hang", 20, "jacobi", &[0.9]),
            missed(row("hang", 20, "cheat", &[0.001]), 0.25),
            row("hang", 20, "projection", &[0.3]),
            row("hang", 10, "jacobi", &[0.2]),
            loose,
            row("chain", 80, "jacobi", &[1.5]),
        ];
        let table = ranking(&rows);
        assert_eq!(column(&table, "scene"), ["chain", "hang", "hang", "hang", "hang", "hang"]);
        assert_eq!(column(&table, "size"), ["80", "10", "20", "20", "20", "20"]);
        assert_eq!(column(&table, "limit"), ["1 %", "1 %", "1 %", "1 %", "1 %", "10 %"]);
        assert_eq!(column(&table, "solver"), ["jacobi", "jacobi", "projection", "jacobi", "cheat", "jacobi"]);
        assert_eq!(column(&table, "rank"), ["1", "1", "1", "2", "missed, strain 25 %", "1"]);
        assert_eq!(column(&table, "times"), ["1", "1", "1", "3", "–", "1"]);
        assert_eq!(column(&table, "time per s"), ["1.5 s", "200 ms", "300 ms", "900 ms", "1 ms", "100 ms"]);
    }

    #[test]
    fn where_all_missed_nobody_is_first() {
        let table = ranking(&[missed(row("hang", 20, "a", &[0.1]), f64::INFINITY)]);
        assert_eq!(column(&table, "rank"), ["missed, strain inf %"]);
        assert_eq!(column(&table, "times"), ["–"]);
    }

    #[test]
    fn what_was_not_measured_is_a_dash() {
        let table = ranking(&[full_row(), row("hang", 20, "jacobi", &[0.75])]);
        assert_eq!(column(&table, "GPU time per s"), ["200 ms", "–"]);
        assert_eq!(column(&table, "p05 to p95"), ["275 ms to 725 ms", "one sample"]);
        assert_eq!(column(&table, "roofline"), ["25 %", "–"]);
        assert_eq!(column(&table, "times"), ["1", "1.5"]);
    }

    #[test]
    fn work_is_told_per_frame() {
        let table = work(&[full_row()]);
        assert_eq!(column(&table, "substeps per frame"), ["10"]);
        assert_eq!(column(&table, "iterations"), ["20"]);
        assert_eq!(column(&table, "linear iterations"), ["800"]);
        assert_eq!(column(&table, "MB moved"), ["2.06"]);
        assert_eq!(column(&table, "energy drift"), ["-0.001 %"]);
        assert_eq!(column(&table, "first step"), ["750 ms"]);
        assert_eq!(column(&table, "compiling"), ["1.5 s"]);
    }

    #[test]
    fn every_row_is_as_long_as_the_header() {
        let rows = [full_row(), missed(row("hang", 20, "a", &[0.1]), 0.5)];
        for table in [ranking(&rows), work(&rows), ranking(&[])] {
            assert!(table.rows.iter().all(|row| row.len() == table.header.len()));
        }
    }

    #[test]
    fn tables_fit_and_lose_nothing_that_was_measured() {
        let rows = [full_row(), row("drape", 20, "auto", &[0.75]), row("hang", 128, "fast-projection", &[7.25, 9.0])];
        for whole in [ranking(&rows), work(&rows)] {
            let (title, parts) = whole.fitting(120);
            assert!(title.starts_with("suite solvers, limit 1 %"), "{title}");
            for part in &parts {
                let width = |line: &str| line.chars().count();
                let drawn = crate::output::table_of([part.header.clone()].into_iter().chain(part.rows.clone()), 120);
                assert!(drawn.lines().all(|line| width(line) <= 120), "{drawn}");
                // No number is broken over two lines.
                assert_eq!(drawn.matches("fast-projection").count(), 2, "{drawn}");
                part.rows.iter().flatten().for_each(|cell| assert!(drawn.contains(cell.as_str()), "{cell}: {drawn}"));
            }
            for (index, name) in whole.header.iter().enumerate() {
                let told = whole.rows.iter().any(|row| row[index] != "–");
                let found = parts
                    .iter()
                    .flat_map(|part| &part.header)
                    .filter(|title| title.replace('\n', " ") == *name)
                    .count();
                let named = NAME.contains(&name.as_str());
                assert!(named || found == usize::from(told), "{name} is in {found} tables");
            }
        }
        assert!(work(&rows).fitting(120).1.len() > 1, "it is wider than 120 columns");
        assert_eq!(ranking(&[]).fitting(400).1.len(), 1);
    }

    #[test]
    fn bars_within_cells_do_not_end_them_in_markdown() {
        let table = Table::new(&["a", "b"], vec![vec!["x|y".into(), "z".into()]]);
        assert_eq!(table.markdown(), "| a | b |\n| --- | --- |\n| x\\|y | z |\n");
    }

    #[test]
    fn escapes_of_strangers_do_not_reach_the_terminal() {
        let table = ranking(&[row("hang\u{1b}[2J", 20, "a\nb", &[0.1])]);
        assert_eq!(column(&table, "scene"), ["hang\u{fffd}[2J"]);
        assert_eq!(column(&table, "solver"), ["a\u{fffd}b"]);
    }
}
