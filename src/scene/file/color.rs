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

/// A channel of the colors of vertices, read as weights of pins ([`crate::Hold::weighted`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel(usize);

impl Channel {
    /// As files and options spell them.
    pub const NAMES: [&str; 4] = ["red", "green", "blue", "alpha"];

    /// The channel of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|known| *known == name).map(Self)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self.0]
    }

    /// The vertices that have one weight, for each weight above 0, ascending: in steps of 1/255, as most files have
    /// colors.
    ///
    /// ```
    /// use taut::scene::file::Channel;
    ///
    /// let colors = [[1.0, 0.2, 0.0, 1.0], [0.0; 4], [0.2, 0.0, 0.0, 1.0], [0.2001, 0.0, 0.0, 1.0]];
    /// let red = Channel::named("red").expect("it is one");
    /// assert_eq!(red.weights(&colors), [(0.2, vec![2, 3]), (1.0, vec![0])]);
    /// ```
    pub fn weights(self, colors: &[[f32; 4]]) -> Vec<(f32, Vec<u32>)> {
        let mut steps: Vec<Vec<u32>> = vec![Vec::new(); 256];
        for (color, vertex) in colors.iter().zip(0..) {
            // What is no number is no weight.
            steps[(color[self.0] * 255.0).round().clamp(0.0, 255.0) as usize].push(vertex);
        }
        let weighted = steps.into_iter().enumerate().skip(1).filter(|(_, vertices)| !vertices.is_empty());
        weighted.map(|(step, vertices)| (step as f32 / 255.0, vertices)).collect()
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
