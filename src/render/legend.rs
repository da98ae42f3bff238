//! The legend of the heat map, in the lower left corner: a bar from no strain to twice the limit.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster};

use super::Picture;
use super::look::{encoded, heat};

/// On light pictures, and on dark ones.
const INK: [u8; 3] = [40, 42, 46];
const CHALK: [u8; 3] = [228, 230, 233];

/// Draws the legend. Pictures without room for it stay as they are.
pub(super) fn draw(picture: &mut Picture, limit: f32) {
    let [width, height] = picture.size();
    // Letters are 16 pixels high, or 32 in large pictures.
    let scale = if height >= 1400 { 2 } else { 1 };
    let (margin, bar_width, bar_height, line) = (18 * scale, 200 * scale, 12 * scale, 18 * scale);
    let needed_height = 2 * line + bar_height + margin;
    if width < bar_width + 4 * margin || height < 2 * needed_height {
        return;
    }
    let (left, top) = (margin + 12 * scale, height - margin - line - bar_height);
    let ink = ink(picture, [left, top - line], [bar_width, line]);
    write(picture, "strain", [i64::from(left), i64::from(top - line - 2 * scale)], scale, ink);
    for x in 0..bar_width {
        let color = encoded(heat((x as f32 + 0.5) / bar_width as f32));
        for y in 0..bar_height {
            picture.blend(left + x, top + y, color, 1.0);
        }
    }
    for (part, text) in [(0.0, "0".to_owned()), (0.5, percent(limit)), (1.0, percent(2.0 * limit))] {
        let x = left + ((bar_width - 1) as f32 * part).round() as u32;
        for y in 0..bar_height + 4 * scale {
            for across in 0..scale {
                picture.blend(x + across, top + y, ink, 1.0);
            }
        }
        let half = text.chars().count() as i64 * letter_width(scale) / 2;
        write(picture, &text, [i64::from(x) - half, i64::from(top + bar_height + 4 * scale)], scale, ink);
    }
}

/// With three significant digits at most.
fn percent(strain: f32) -> String {
    let value = f64::from(strain) * 100.0;
    let decimals = (2 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 8);
    let text = format!("{value:.*}", decimals as usize);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

fn size(scale: u32) -> RasterHeight {
    if scale == 1 { RasterHeight::Size16 } else { RasterHeight::Size32 }
}

fn letter_width(scale: u32) -> i64 {
    get_raster(' ', FontWeight::Regular, size(scale)).map_or(8, |letter| letter.width() as i64)
}

/// What is read best on a part of a picture.
fn ink(picture: &Picture, [left, top]: [u32; 2], [width, height]: [u32; 2]) -> [u8; 3] {
    let places = (top..top + height).flat_map(|y| (left..left + width).map(move |x| (x, y)));
    let greens = places.filter_map(|(x, y)| Some(u64::from(picture.pixel(x, y)?[1])));
    let (sum, count) = greens.fold((0, 0), |(sum, count), green| (sum + green, count + 1));
    if sum > 110 * count { INK } else { CHALK }
}

fn write(picture: &mut Picture, text: &str, [left, top]: [i64; 2], scale: u32, ink: [u8; 3]) {
    let mut x = left;
    for letter in text.chars() {
        let Some(letter) = get_raster(letter, FontWeight::Regular, size(scale)) else { continue };
        for (row, line) in (top..).zip(letter.rows()) {
            for (column, cover) in (x..).zip(line) {
                if let (Ok(column), Ok(row)) = (u32::try_from(column), u32::try_from(row)) {
                    picture.blend(column, row, ink, f32::from(*cover) / 255.0);
                }
            }
        }
        x += letter.width() as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_read_as_they_were_typed() {
        for (limit, text) in [(0.01, "1 %"), (0.001, "0.1 %"), (0.007, "0.7 %"), (2e-6, "0.0002 %"), (0.125, "12.5 %")]
        {
            assert_eq!(percent(limit), text);
        }
    }

    #[test]
    fn the_bar_has_the_colors_of_the_map_and_small_pictures_none() {
        let white = |size: [u32; 2]| Picture::new(size, vec![255; (4 * size[0] * size[1]) as usize]).unwrap();
        let mut picture = white([400, 300]);
        draw(&mut picture, 0.01);
        let row: Vec<[u8; 3]> = (0..400).map(|x| picture.pixel(x, 300 - 18 - 18 - 6).unwrap()).collect();
        for color in [encoded(heat(0.25)), encoded(heat(0.75))] {
            let near = |pixel: &[u8; 3]| pixel.iter().zip(color).all(|(a, b)| a.abs_diff(b) <= 2);
            assert!(row.iter().any(near), "{color:?}");
        }
        let mut small = white([64, 48]);
        draw(&mut small, 0.01);
        assert!(small == white([64, 48]));
    }

    #[test]
    fn letters_are_read_on_light_and_on_dark() {
        for (paper, letters) in [([204, 209, 214, 255], INK), ([31, 35, 39, 255], CHALK)] {
            let mut picture = Picture::new([400, 300], paper.repeat(400 * 300)).unwrap();
            draw(&mut picture, 0.01);
            let has = |color: [u8; 3]| (0..400).any(|x| (0..300).any(|y| picture.pixel(x, y) == Some(color)));
            assert!(has(letters), "{paper:?}");
        }
    }
}
