//! Pictures, looked at pixel by pixel; for the tests of the library and of the program.
#![allow(dead_code, reason = "every test file uses its own part of it")]

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use taut::render::Picture;

pub(crate) fn pixels(picture: &Picture) -> impl Iterator<Item = [u8; 3]> {
    picture.pixels().chunks_exact(4).map(|pixel| [pixel[0], pixel[1], pixel[2]])
}

pub(crate) fn share(picture: &Picture, wanted: impl Fn([u8; 3]) -> bool) -> f64 {
    pixels(picture).filter(|pixel| wanted(*pixel)).count() as f64 / pixels(picture).count() as f64
}

/// How alike two pictures are: intersection over union of what is not background, and the mean difference of a channel.
pub(crate) fn compared(one: &Picture, other: &Picture, background: [u8; 3]) -> (f64, f64) {
    let (mut both, mut either, mut difference) = (0, 0, 0_u64);
    for (a, b) in pixels(one).zip(pixels(other)) {
        both += u32::from(a != background && b != background);
        either += u32::from(a != background || b != background);
        difference += a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(b))).sum::<u64>();
    }
    (f64::from(both) / f64::from(either), difference as f64 / (3 * pixels(one).count()) as f64)
}

pub(crate) struct Decoded {
    pub(crate) size: [u32; 2],
    pub(crate) frames: usize,
    pub(crate) delays: Vec<u16>,
    /// The last picture, composed of all before it.
    pub(crate) last: Vec<[u8; 3]>,
    pub(crate) endless: bool,
}

pub(crate) fn gif(path: &Path) -> Decoded {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(BufReader::new(File::open(path).unwrap())).unwrap();
    let [width, height] = [decoder.width(), decoder.height()].map(u32::from);
    let mut last = vec![[0; 3]; (width * height) as usize];
    let mut delays = Vec::new();
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        delays.push(frame.delay);
        for (index, pixel) in frame.buffer.chunks_exact(4).enumerate() {
            let (x, y) = (index % usize::from(frame.width), index / usize::from(frame.width));
            if pixel[3] != 0 {
                let place = (y + usize::from(frame.top)) * width as usize + x + usize::from(frame.left);
                last[place] = [pixel[0], pixel[1], pixel[2]];
            }
        }
    }
    let endless = decoder.repeat() == gif::Repeat::Infinite;
    Decoded { size: [width, height], frames: delays.len(), delays, last, endless }
}

pub(crate) fn png(path: &Path) -> Picture {
    let mut reader = png::Decoder::new(BufReader::new(File::open(path).unwrap())).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
    let pixels = bytes.chunks_exact(3).flat_map(|pixel| [pixel[0], pixel[1], pixel[2], 255]).collect();
    Picture::new([info.width, info.height], pixels).unwrap()
}
