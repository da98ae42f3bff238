//! Finished pictures.

use crate::error::{Error, Result};

/// The longest side of a picture: what every device with default limits can draw.
const LONGEST: u32 = 8192;

/// Pixels of a picture: sRGB with an alpha of 255, row by row from the top left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    size: [u32; 2],
    pixels: Vec<u8>,
}

impl Picture {
    /// A picture from its pixels, four bytes each.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if there are not as many as the size says, and as [`check_size`].
    pub fn new(size: [u32; 2], pixels: Vec<u8>) -> Result<Self> {
        check_size(size)?;
        let (expected, found) = (4 * size[0] as usize * size[1] as usize, pixels.len());
        if expected != found {
            return Err(Error::LengthMismatch { field: "pixels", expected, found });
        }
        Ok(Self { size, pixels })
    }

    /// Width and height.
    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    /// Red, green, blue and alpha of every pixel.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// Red, green and blue of a pixel; `None` outside.
    pub fn pixel(&self, x: u32, y: u32) -> Option<[u8; 3]> {
        let [width, height] = self.size;
        if x >= width || y >= height {
            return None;
        }
        let at = 4 * (y as usize * width as usize + x as usize);
        Some([self.pixels[at], self.pixels[at + 1], self.pixels[at + 2]])
    }

    /// Lays a color over a pixel; nothing outside of the picture.
    pub(crate) fn blend(&mut self, x: u32, y: u32, color: [u8; 3], alpha: f32) {
        let Some(below) = self.pixel(x, y) else { return };
        let at = 4 * (y as usize * self.size[0] as usize + x as usize);
        for (channel, (below, above)) in below.into_iter().zip(color).enumerate() {
            let mixed = f32::from(below) + alpha * (f32::from(above) - f32::from(below));
            self.pixels[at + channel] = (mixed + 0.5) as u8;
        }
    }
}

/// Whether there can be a picture of this width and height.
///
/// # Errors
///
/// [`Error::OutOfRange`] unless both are between 1 and 8192.
pub fn check_size(size: [u32; 2]) -> Result<()> {
    for (field, value) in ["width", "height"].into_iter().zip(size) {
        if !(1..=LONGEST).contains(&value) {
            let expected = "between 1 and 8192 pixels";
            return Err(Error::OutOfRange { field, index: None, value: value.into(), expected });
        }
    }
    Ok(())
}
