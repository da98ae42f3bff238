//! Colors and light.

use glam::Vec3;

use crate::cloth::settings::Settings;

/// What the color of the cloth says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Coloring {
    /// Nothing: a woven pattern in material coordinates, which shows stretch and shear by its own distortion.
    #[default]
    Cloth,
    /// The largest strain of the edges at a vertex, from 0 to twice the limit.
    Strain {
        /// The limit, as a fraction.
        limit: f32,
        /// The stretch band [σ_min, σ_max]; strain is the distance from it.
        band: [f32; 2],
    },
}

impl Coloring {
    /// Colors of strain, sRGB, in equal steps from none to twice the limit: yellow is the limit.
    pub const HEAT: [[u8; 3]; 5] = [[88, 124, 178], [84, 176, 160], [246, 214, 82], [226, 102, 48], [146, 22, 44]];

    /// Strain against the limit and the band of these settings.
    pub fn strain(settings: &Settings) -> Self {
        Self::Strain { limit: settings.strain_limit, band: [settings.stretch_min, settings.stretch_max] }
    }
}

/// How a scene is drawn. Colors are sRGB, 0 … 255, as a picture has them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// What the color of the cloth says.
    pub coloring: Coloring,
    /// Behind everything. It is not lit: pixels without anything have exactly this color.
    pub background: [u8; 3],
    /// The light and the dark threads of the cloth, on the side its normals point to.
    pub front: [[u8; 3]; 2],
    /// Those of its other side.
    pub back: [[u8; 3]; 2],
    /// Solids.
    pub solid: [u8; 3],
    /// Pins, and rods between neighboring pins.
    pub pin: [u8; 3],
    /// The ground in full light.
    pub ground: [u8; 3],
    /// Direction towards the light, of any length.
    pub light: [f32; 3],
    /// Whether pins are drawn.
    pub pins: bool,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            coloring: Coloring::Cloth,
            background: [204, 209, 214],
            front: [[230, 235, 240], [24, 86, 164]],
            back: [[224, 218, 208], [92, 90, 112]],
            solid: [206, 190, 168],
            pin: [70, 74, 80],
            ground: [224, 225, 224],
            light: [-0.52, 0.78, 0.44],
            pins: true,
        }
    }
}

impl Look {
    pub(crate) fn toward_light(&self) -> Vec3 {
        Vec3::from(self.light).normalize_or(Vec3::Y)
    }
}

/// An sRGB color in linear light.
pub(crate) fn linear(color: [u8; 3]) -> Vec3 {
    let channel = |value: u8| {
        let value = f64::from(value) / 255.0;
        let linear = if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) };
        linear as f32
    };
    Vec3::from(color.map(channel))
}

/// A linear color as sRGB bytes.
pub(crate) fn encoded(color: Vec3) -> [u8; 3] {
    color.to_array().map(|value| {
        let value = value.clamp(0.0, 1.0);
        let encoded = if value <= 0.003_130_8 { 12.92 * value } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 };
        (255.0 * encoded + 0.5) as u8
    })
}

/// The linear color of a strain over twice the limit, 0 … 1; `heat` of `render.wgsl` is its twin.
pub(crate) fn heat(part: f32) -> Vec3 {
    let steps = (Coloring::HEAT.len() - 1) as f32;
    // NaN is as bad as it gets.
    let place = if part < 1.0 { steps * part.max(0.0) } else { steps };
    let step = (place as usize).min(Coloring::HEAT.len() - 2);
    linear(Coloring::HEAT[step]).lerp(linear(Coloring::HEAT[step + 1]), place - step as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_the_way_to_light_and_back() {
        for byte in 0..=255 {
            assert_eq!(encoded(linear([byte; 3])), [byte; 3]);
        }
    }

    #[test]
    fn the_limit_is_yellow_and_what_is_no_number_is_red() {
        assert_eq!(encoded(heat(0.0)), Coloring::HEAT[0]);
        assert_eq!(encoded(heat(0.5)), Coloring::HEAT[2]);
        for over in [1.0, 7.0, f32::INFINITY, f32::NAN] {
            assert_eq!(encoded(heat(over)), Coloring::HEAT[4]);
        }
    }
}
