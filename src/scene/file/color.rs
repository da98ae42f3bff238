//! Colors of vertices as files and options name them.

use std::str::FromStr;

/// A color of vertices, and how far from it one may be: `RRGGBB` in hexadecimal digits, and perhaps `~` and a tolerance
/// of 0 to 255 per channel.
///
/// ```
/// use taut::scene::file::Color;
///
/// let orange: Color = "ff8000~8".parse()?;
/// assert_eq!(orange.among(&[[1.0, 0.5, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0], [0.98, 0.52, 0.02, 1.0]]), [0, 2]);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Color {
    text: String,
    color: [f32; 3],
    /// Per channel, of 1.
    tolerance: f32,
}

impl Color {
    /// The vertices whose red, green and blue are near enough.
    pub fn among(&self, colors: &[[f32; 4]]) -> Vec<u32> {
        let near = |found: &[f32; 4]| found.iter().zip(self.color).all(|(a, b)| (a - b).abs() <= self.tolerance);
        colors.iter().zip(0..).filter(|(found, _)| near(found)).map(|(_, vertex)| vertex).collect()
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for Color {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = "a color is six hexadecimal digits, RRGGBB, and perhaps ~ and a tolerance of 0 to 255";
        let (digits, tolerance) = match ["~", "±", "+-"].iter().find_map(|sign| text.split_once(sign)) {
            Some((digits, tolerance)) => (digits, tolerance.parse::<f32>().map_err(|_| wrong)?),
            None => (text, 0.0),
        };
        let digits = digits.strip_prefix('#').unwrap_or(digits);
        let hexadecimal = digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !hexadecimal || !(0.0..=255.0).contains(&tolerance) {
            return Err(wrong.to_owned());
        }
        let number = u32::from_str_radix(digits, 16).map_err(|_| wrong)?;
        let color = [16, 8, 0].map(|shift| (number >> shift & 255) as f32 / 255.0);
        // Half a step more: colors that are no whole steps were rounded to be typed.
        Ok(Self { text: text.to_owned(), color, tolerance: (tolerance + 0.5) / 255.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_read_or_refused() {
        for (text, tolerance) in [("FF8000", 0.0), ("#ff8000~8", 8.0), ("ff8000±8.5", 8.5), ("ff8000+-1", 1.0)] {
            let read: Color = text.parse().unwrap();
            assert_eq!((read.color, read.tolerance), ([1.0, 128.0 / 255.0, 0.0], (tolerance + 0.5) / 255.0));
        }
        for text in ["red", "ff00", "ff0000~x", "ff0000~-1", "ffééé", ""] {
            assert!(text.parse::<Color>().is_err(), "{text}");
        }
    }
}
