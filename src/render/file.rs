//! Pictures and animations as files.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use color_quant::NeuQuant;

use super::{Picture, check_size};
use crate::error::{Error, Result};
use crate::io::atomic::AtomicFile;

/// The shortest time a picture of a GIF is shown, in hundredths of a second: browsers slow down anything faster.
const SHORTEST: u16 = 2;
/// Colors of a picture of a GIF; one more stands for what has not changed.
const COLORS: usize = 255;
const UNCHANGED: u8 = 255;
/// How many pixels the palette is learned from: one in this many.
const LEARNED: i32 = 7;

/// A PNG of the last picture that was added, or a GIF animation of all of them; chosen by the name's extension.
///
/// The file appears complete, with [`PictureFile::finish`], or not at all. Pictures are written as they come: a GIF
/// holds no more than two of them in memory.
#[derive(Debug)]
pub struct PictureFile {
    size: [u32; 2],
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Png { file: AtomicFile, last: Option<Picture> },
    Gif(Box<Animation>),
}

impl PictureFile {
    /// Whether the name is that of an animation.
    ///
    /// # Errors
    ///
    /// [`Error::PictureFormat`] if it ends neither in `.png` nor in `.gif`.
    pub fn is_animation(path: impl AsRef<Path>) -> Result<bool> {
        let path = path.as_ref();
        let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
        match extension.as_deref().and_then(|extension| extension.to_str()) {
            Some("png") => Ok(false),
            Some("gif") => Ok(true),
            _ => Err(Error::PictureFormat { path: path.to_owned() }),
        }
    }

    /// Starts a file of pictures of a width and height; in a GIF each is shown for this long \[s\].
    ///
    /// Times are rounded to hundredths of a second in such a way that their sum stays right; none is shorter than two.
    ///
    /// # Errors
    ///
    /// [`Error::PictureFormat`], as [`check_size`], and [`Error::Io`].
    pub fn create(path: impl AsRef<Path>, size: [u32; 2], seconds: f64) -> Result<Self> {
        let path = path.as_ref();
        let animation = Self::is_animation(path)?;
        check_size(size)?;
        let file = AtomicFile::create(path)?;
        let kind = if animation {
            Kind::Gif(Box::new(Animation::new(file, size, seconds)?))
        } else {
            Kind::Png { file, last: None }
        };
        Ok(Self { size, kind })
    }

    /// Adds a picture.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if it has another size, [`Error::Io`].
    pub fn add(&mut self, picture: Picture) -> Result<()> {
        let pixels = |size: [u32; 2]| size[0] as usize * size[1] as usize;
        if picture.size() != self.size {
            let (expected, found) = (pixels(self.size), pixels(picture.size()));
            return Err(Error::LengthMismatch { field: "pixels", expected, found });
        }
        match &mut self.kind {
            Kind::Png { last, .. } => {
                *last = Some(picture);
                Ok(())
            }
            Kind::Gif(animation) => animation.add(picture),
        }
    }

    /// Puts the file in place.
    ///
    /// # Errors
    ///
    /// [`Error::Empty`] if no picture was added, [`Error::Io`]; then there is no file.
    pub fn finish(self) -> Result<()> {
        match self.kind {
            Kind::Png { mut file, last } => {
                let last = last.ok_or(Error::Empty { field: "pictures" })?;
                write_png(&mut file, &last).map_err(|source| file.error(source))?;
                file.finish()
            }
            Kind::Gif(animation) => animation.finish(),
        }
    }
}

fn write_png(file: &mut AtomicFile, picture: &Picture) -> io::Result<()> {
    let [width, height] = picture.size();
    let mut encoder = png::Encoder::new(file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    encoder.set_compression(png::Compression::Balanced);
    let colors: Vec<u8> = picture.pixels().chunks_exact(4).flat_map(|pixel| &pixel[..3]).copied().collect();
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&colors)?;
    Ok(writer.finish()?)
}

/// A GIF in the making. A picture is written as what has changed since the one before, with a palette of its own: what
/// stands still neither flickers nor takes space.
#[derive(Debug)]
struct Animation {
    encoder: Encoder,
    path: std::path::PathBuf,
    last: Option<Picture>,
    count: u64,
    seconds: f64,
}

/// `gif::Encoder` has no `Debug` of its own.
struct Encoder(gif::Encoder<AtomicFile>);

impl std::fmt::Debug for Encoder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Encoder")
    }
}

impl Animation {
    fn new(file: AtomicFile, size: [u32; 2], seconds: f64) -> Result<Self> {
        let path = file.path().to_owned();
        // Sides of a picture are below 2¹⁶.
        let [width, height] = size.map(|side| side as u16);
        let started = gif::Encoder::new(file, width, height, &[]).and_then(|mut encoder| {
            encoder.set_repeat(gif::Repeat::Infinite)?;
            Ok(encoder)
        });
        let encoder = Encoder(started.map_err(|error| failed(&path, error))?);
        Ok(Self { encoder, path, last: None, count: 0, seconds })
    }

    /// How long the picture of this number is shown, in hundredths of a second.
    fn delay(&self, number: u64) -> u16 {
        let end = |number: u64| (100.0 * self.seconds * number as f64).round();
        // Casts saturate.
        ((end(number + 1) - end(number)) as u16).max(SHORTEST)
    }

    fn add(&mut self, picture: Picture) -> Result<()> {
        let [width, height] = picture.size().map(|side| side as usize);
        let changed = |index: usize| match &self.last {
            Some(last) => last.pixels()[4 * index..4 * index + 3] != picture.pixels()[4 * index..4 * index + 3],
            None => true,
        };
        // The box around what has changed; at least one pixel, since every picture has its time.
        let (mut low, mut high) = ([width - 1, height - 1], [0, 0]);
        for index in (0..width * height).filter(|index| changed(*index)) {
            let place = [index % width, index / width];
            (low, high) =
                ([0, 1].map(|axis| low[axis].min(place[axis])), [0, 1].map(|axis| high[axis].max(place[axis])));
        }
        if low[0] > high[0] {
            (low, high) = ([0, 0], [0, 0]);
        }
        let indices = (low[1]..=high[1]).flat_map(|y| (low[0]..=high[0]).map(move |x| y * width + x));
        let wanted: Vec<Option<[u8; 3]>> = indices
            .map(|index| {
                let pixel = &picture.pixels()[4 * index..4 * index + 3];
                changed(index).then(|| [pixel[0], pixel[1], pixel[2]])
            })
            .collect();
        let (palette, buffer) = quantized(&wanted);
        let [left, top, right, bottom] = [low[0], low[1], high[0], high[1]].map(|side| side as u16);
        let frame = gif::Frame {
            delay: self.delay(self.count),
            dispose: gif::DisposalMethod::Keep,
            transparent: Some(UNCHANGED),
            left,
            top,
            width: right - left + 1,
            height: bottom - top + 1,
            palette: Some(palette),
            buffer: buffer.into(),
            ..Default::default()
        };
        self.encoder.0.write_frame(&frame).map_err(|error| failed(&self.path, error))?;
        self.count += 1;
        self.last = Some(picture);
        Ok(())
    }

    fn finish(self) -> Result<()> {
        if self.count == 0 {
            return Err(Error::Empty { field: "pictures" });
        }
        let file = self.encoder.0.into_inner().map_err(|error| failed(&self.path, error))?;
        file.finish()
    }
}

fn failed(path: &Path, error: gif::EncodingError) -> Error {
    let source = match error {
        gif::EncodingError::Io(source) => source,
        other => io::Error::other(other.to_string()),
    };
    Error::Io { path: path.to_owned(), source }
}

/// A palette of 256 colors of which the last stands for `None`, and the pixels in it.
fn quantized(pixels: &[Option<[u8; 3]>]) -> (Vec<u8>, Vec<u8>) {
    // Only looked up, never iterated: the order of a hash map does not show.
    let mut number: HashMap<[u8; 3], u8> = HashMap::new();
    let mut palette: Vec<[u8; 3]> = Vec::new();
    for color in pixels.iter().flatten() {
        if palette.len() > COLORS {
            break;
        }
        number.entry(*color).or_insert_with(|| {
            palette.push(*color);
            (palette.len() - 1) as u8
        });
    }
    if palette.len() > COLORS {
        let learned: Vec<u8> = pixels.iter().flatten().flat_map(|[r, g, b]| [*r, *g, *b, 255]).collect();
        // Few pixels are all learned from: the network needs some to settle.
        let part = if learned.len() < 4 * 10_000 { 1 } else { LEARNED };
        let network = NeuQuant::new(part, COLORS, &learned);
        palette = network.color_map_rgb().chunks_exact(3).map(|color| [color[0], color[1], color[2]]).collect();
        number.clear();
        for color in pixels.iter().flatten() {
            let [r, g, b] = *color;
            number.entry(*color).or_insert_with(|| network.index_of(&[r, g, b, 255]) as u8);
        }
    }
    palette.resize(COLORS + 1, [0; 3]);
    let index = |pixel: &Option<[u8; 3]>| pixel.map_or(UNCHANGED, |color| number[&color]);
    (palette.into_flattened(), pixels.iter().map(index).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::disk::faults;

    #[test]
    fn a_call_that_fails_leaves_no_half_picture_whichever_it_is() {
        let size = [64, 48];
        let picture = |shade: u32| {
            let pixels = (0..64 * 48).flat_map(|pixel: u32| [pixel as u8, (pixel * shade) as u8, shade as u8, 255]);
            Picture::new(size, pixels.collect()).unwrap()
        };
        for name in ["a.png", "a.gif"] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join(name);
            let draw = || -> Result<()> {
                let mut file = PictureFile::create(&path, size, 0.04)?;
                (1..4).try_for_each(|shade| file.add(picture(shade)))?;
                file.finish()
            };
            draw().unwrap();
            let whole = std::fs::read(&path).unwrap();
            let mut calls = 0;
            loop {
                std::fs::write(&path, "old").unwrap();
                let (outcome, failed) = faults::after(calls, draw);
                let found = std::fs::read(&path).unwrap();
                assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "{name}, call {calls}");
                if !failed {
                    outcome.unwrap();
                    assert!(found == whole, "{name}");
                    break;
                }
                assert!(matches!(outcome, Err(Error::Io { .. })), "{name}, call {calls}: {outcome:?}");
                assert!(found == b"old" || found == whole, "{name}, call {calls}");
                calls += 1;
            }
            assert!(calls >= 5, "{name}: {calls}");
        }
    }
}
