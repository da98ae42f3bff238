//! Where a run's results go: temporary files that are put in place together, and text for people.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use comfy_table::{ContentArrangement, Table, presets};
use console::Term;
use serde_json::Value;
use taut::Mesh;
use taut::io::atomic::AtomicFile;
use taut::io::export::{Export, Target};
use taut::io::obj;

use crate::mesh::Origin;
use crate::options::Options;
use crate::past::{self, Ended};
use crate::rows::{Frames, Row};

/// The files of a run under temporary names. Dropped before [`Files::finish`], they leave nothing behind, not even
/// directories that were made for them.
#[derive(Debug)]
pub(crate) struct Files {
    rest: Option<AtomicFile>,
    exports: Vec<Export>,
    /// The stretch that counts as none.
    band: [f32; 2],
    reports: Vec<AtomicFile>,
    frames: Option<Frames>,
    /// What `--continue` goes on from.
    past: Option<AtomicFile>,
    paths: Vec<PathBuf>,
    // Last, so that it is dropped when the files are gone.
    directories: MadeDirectories,
}

impl Files {
    /// Refuses what cannot become a file, without touching anything.
    pub(crate) fn check(options: &Options) -> Result<()> {
        match &options.out {
            Some(out) if out.exists() && !out.is_dir() => {
                bail!("--out {} exists and is not a directory", out.display());
            }
            _ => Ok(()),
        }
    }

    /// Opens everything that will be written, so that what cannot be is known before the work is done.
    pub(crate) fn create(
        options: &Options,
        mesh: &Mesh,
        origin: Option<&Origin>,
        band: [f32; 2],
        frames: u32,
    ) -> Result<Self> {
        let export = |target: &Target| Export::create(target, mesh, frames + 1, options.subject.fps);
        let mut files = Self {
            rest: None,
            exports: Vec::new(),
            band,
            reports: Vec::new(),
            frames: None,
            past: None,
            paths: Vec::new(),
            directories: MadeDirectories::default(),
        };
        if let Some(out) = &options.out {
            files.directories.make(out).with_context(|| format!("cannot make the directory {}", out.display()))?;
            let [rest, cloth, report] = ["rest.obj", "cloth.pc2", "report.json"].map(|name| out.join(name));
            files.exports.push(export(&Target::new(&cloth)?)?);
            let textured = origin.map(|origin| &origin.render).filter(|render| !render.uvs.is_empty());
            files.rest = Some(match textured {
                Some(render) => {
                    let texture = obj::Texture { uvs: &render.uvs, faces: &render.faces };
                    obj::prepare_textured(&rest, mesh, mesh.positions(), texture)?
                }
                None => obj::prepare(&rest, mesh, mesh.positions())?,
            });
            files.reports.push(AtomicFile::create(&report)?);
            let past = out.join(past::NAME);
            files.past = Some(AtomicFile::create(&past)?);
            files.paths.extend([rest, cloth, report, past]);
        }
        for target in &options.export {
            let parent = target.path().parent().unwrap_or(Path::new(""));
            let context = || format!("cannot make the directory {}", parent.display());
            files.directories.make(parent).with_context(context)?;
            files.exports.push(export(target)?);
            files.paths.push(target.path().to_owned());
        }
        if let Some(json) = options.json.as_ref().filter(|_| !options.json_to_stdout()) {
            files.reports.push(AtomicFile::create(json)?);
            files.paths.push(json.clone());
        }
        if let Some(target) = &options.frame_rows {
            files.frames = Some(Frames::create(target)?);
            files.paths.push(target.path().to_owned());
        }
        Ok(files)
    }

    /// Adds a frame to everything that has frames.
    pub(crate) fn write_frame(&mut self, mesh: &Mesh, positions: &[[f32; 3]]) -> taut::Result<()> {
        self.exports.iter_mut().try_for_each(|export| export.write_frame(mesh, self.band, positions))
    }

    /// Adds what a frame reached that ends at `time` \[s\].
    pub(crate) fn write_row(&mut self, frame: u32, time: f64, row: &Row) -> Result<()> {
        self.frames.as_mut().map_or(Ok(()), |frames| frames.add(frame, time, row))
    }

    /// Puts all files in place and tells their names. The largest goes first: if one cannot be completed it is that.
    /// `early` is the mesh and the last positions of a run that was stopped: then there are fewer frames than were
    /// promised. What the run goes on from is put in place last: whenever that is cut short, the other files have at
    /// least its frames.
    pub(crate) fn finish(
        mut self,
        report: &Value,
        ended: &Ended<'_>,
        early: Option<(&Mesh, &[[f32; 3]])>,
    ) -> Result<Vec<PathBuf>> {
        for file in &mut self.reports {
            let path = file.path().to_owned();
            writeln!(file, "{report:#}").with_context(|| format!("cannot write {}", path.display()))?;
        }
        if let Some(file) = &mut self.past {
            let path = file.path().to_owned();
            ended.write(file).with_context(|| format!("cannot write {}", path.display()))?;
        }
        for export in self.exports.drain(..) {
            match early {
                Some((mesh, positions)) => export.finish_early(mesh, self.band, positions)?,
                None => export.finish()?,
            }
        }
        self.frames.take().map_or(Ok(()), Frames::finish)?;
        for file in self.rest.take().into_iter().chain(self.reports.drain(..)).chain(self.past.take()) {
            file.finish()?;
        }
        self.directories.keep();
        Ok(self.paths)
    }
}

/// Directories that did not exist before; dropped without [`MadeDirectories::keep`] they go again, if they are empty.
#[derive(Debug, Default)]
struct MadeDirectories(Vec<PathBuf>);

impl MadeDirectories {
    fn make(&mut self, path: &Path) -> io::Result<()> {
        if path.as_os_str().is_empty() {
            return Ok(());
        }
        let missing = path.ancestors().take_while(|part| !part.as_os_str().is_empty() && !part.exists());
        let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        self.0.extend(missing.into_iter().rev());
        fs::create_dir_all(path)
    }

    fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for MadeDirectories {
    fn drop(&mut self) {
        // From the innermost outwards; a directory that someone else uses by now is not empty and stays.
        for directory in self.0.iter().rev() {
            let _ = fs::remove_dir(directory);
        }
    }
}

/// Says something on standard error, in one line.
pub(crate) fn say(text: &str) {
    show(&format!("taut: {}", text.split_whitespace().collect::<Vec<_>>().join(" ")));
}

/// Shows several lines on standard error.
pub(crate) fn show(text: &str) {
    // Where standard error is closed nobody listens.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints to standard output. A reader that has seen enough and closed the pipe is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    match writeln!(io::stdout(), "{text}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Rows of a name and its values, as wide as the terminal allows, or as `width` does where there is no terminal.
pub(crate) fn table<Row>(rows: impl IntoIterator<Item = Row>, width: u16) -> String
where
    Row: IntoIterator<Item = String>,
{
    table_of(rows, columns(width))
}

/// Columns of the terminal, or so many where there is none.
pub(crate) fn columns(otherwise: u16) -> u16 {
    Term::stdout().size_checked().map_or(otherwise, |(_, columns)| columns)
}

/// Rows of a name and its values, in so many columns.
pub(crate) fn table_of<Row>(rows: impl IntoIterator<Item = Row>, width: u16) -> String
where
    Row: IntoIterator<Item = String>,
{
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_FULL_CONDENSED.with_rounded_corners())
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    for row in rows {
        table.add_row(row);
    }
    table.to_string()
}

/// A fraction as percent with four significant digits.
pub(crate) fn percent(fraction: f64) -> String {
    format!("{} %", significant(fraction * 100.0, 4))
}

/// A number with this many significant digits, without zeros at the end.
pub(crate) fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let decimals = (digits - 1 - value.abs().log10().floor() as i32).max(0);
    let text = format!("{value:.*}", decimals as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A time with three significant digits.
pub(crate) fn duration(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{} ms", significant(seconds * 1e3, 3))
    } else {
        format!("{} s", significant(seconds, 3))
    }
}

/// A mean of counts: tenths matter only where it is small.
pub(crate) fn mean(value: f64) -> String {
    if value < 100.0 { significant((value * 10.0).round() / 10.0, 3) } else { count(value.round() as u64) }
}

/// A whole number with commas between thousands.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(percent(0.01), "1 %");
        assert_eq!(percent(0.007), "0.7 %");
        assert_eq!(percent(0.009_876_543), "0.9877 %");
        assert_eq!(percent(2.345e-6), "0.0002345 %");
        assert_eq!(percent(12.0), "1200 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!([0.012_345, 1.5].map(duration), ["12.3 ms", "1.5 s"]);
        assert_eq!(mean(14.0), "14");
        assert_eq!(mean(14.26), "14.3");
        assert_eq!(mean(12_345.6), "12,346");
    }
}
