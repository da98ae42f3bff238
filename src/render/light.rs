//! What the shaders are given, and their twin on the CPU.

use bytemuck::{Pod, Zeroable};
use glam::{Mat4, Vec2, Vec3, Vec4};

use super::look::{Coloring, Look, linear};
use super::{Camera, Studio};
use crate::solid::Pose;

/// Side of the shadow map in texels.
pub(crate) const SHADOW_SIDE: u32 = 2048;
/// How soft shadows are on surfaces and on the ground, as parts of the studio's radius.
const SOFTNESS: f32 = 0.008;
const GROUND_SOFTNESS: f32 = 0.05;

/// Twin of `Globals` in `render.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Globals {
    pub(crate) view_projection: Mat4,
    pub(crate) light_projection: Mat4,
    pub(crate) eye: Vec3,
    pub(crate) encode: f32,
    pub(crate) light: Vec3,
    pub(crate) texel: f32,
    pub(crate) background: Vec3,
    pub(crate) softness: f32,
    pub(crate) ground: Vec3,
    pub(crate) ground_softness: f32,
    pub(crate) center: Vec3,
    pub(crate) radius: f32,
    pub(crate) ground_height: f32,
    pub(crate) strain_scale: f32,
    padding: Vec2,
    heat: [[f32; 4]; Coloring::HEAT.len()],
}

/// Twin of `Object` in `render.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Object {
    pub(crate) model: Mat4,
    threads: [[f32; 4]; 4],
    woven: f32,
    translucency: f32,
    pub(crate) setback: f32,
    strained: f32,
}

impl Globals {
    /// `encode` where the target does not encode sRGB itself.
    pub(crate) fn new(camera: &Camera, look: &Look, studio: &Studio, aspect: f32, encode: bool) -> Self {
        let (light, center, radius) = (look.toward_light(), Vec3::from(studio.center), studio.radius.max(1e-6));
        let right = light.any_orthonormal_vector();
        let up = light.cross(right);
        let rows = [right / radius, up / radius, -light / (4.0 * radius)];
        let [x, y, z] = rows.map(|row| row.extend(-row.dot(center)));
        let light_projection = Mat4::from_cols(x, y, z + Vec4::new(0.0, 0.0, 0.0, 0.5), Vec4::W).transpose();
        let strain_scale = match look.coloring {
            Coloring::Strain { limit, .. } => 0.5 / limit.max(1e-12),
            Coloring::Cloth => 0.0,
        };
        Self {
            view_projection: camera.matrix(aspect),
            light_projection,
            eye: camera.eye.into(),
            encode: f32::from(u8::from(encode)),
            light,
            texel: 2.0 * radius / SHADOW_SIDE as f32,
            background: linear(look.background),
            softness: SOFTNESS * radius,
            ground: linear(look.ground),
            ground_softness: GROUND_SOFTNESS * radius,
            center,
            radius,
            ground_height: studio.ground.unwrap_or_default(),
            strain_scale,
            padding: Vec2::ZERO,
            heat: Coloring::HEAT.map(|color| linear(color).extend(1.0).to_array()),
        }
    }
}

impl Object {
    /// Cloth.
    pub(crate) fn cloth(look: &Look) -> Self {
        let [[a, b], [c, d]] = [look.front, look.back];
        Self { woven: 1.0, translucency: 0.22, strained: strained(look), ..Self::plain(Mat4::IDENTITY, [a, b, c, d]) }
    }

    /// Lines of a mesh: threads of the cloth.
    pub(crate) fn line(look: &Look) -> Self {
        Self { strained: strained(look), ..Self::plain(Mat4::IDENTITY, [look.front[1]; 4]) }
    }

    /// Pins.
    pub(crate) fn pin(look: &Look) -> Self {
        Self::plain(Mat4::IDENTITY, [look.pin; 4])
    }

    /// A solid.
    pub(crate) fn solid(look: &Look, studio: &Studio, pose: Pose) -> Self {
        let turn = glam::Quat::from_array(pose.rotation).normalize();
        let model = Mat4::from_rotation_translation(turn, pose.translation.into());
        Self { setback: studio.setback, ..Self::plain(model, [look.solid; 4]) }
    }

    fn plain(model: Mat4, colors: [[u8; 3]; 4]) -> Self {
        let threads = colors.map(|color| linear(color).extend(1.0).to_array());
        Self { model, threads, woven: 0.0, translucency: 0.0, setback: 0.0, strained: 0.0 }
    }

    fn thread(&self, number: usize) -> Vec3 {
        Vec4::from(self.threads[number]).truncate()
    }
}

fn strained(look: &Look) -> f32 {
    f32::from(u8::from(matches!(look.coloring, Coloring::Strain { .. })))
}

/// A shadow map: depths from the light, row by row.
#[derive(Clone, Debug)]
pub(crate) struct ShadowMap {
    pub(crate) depths: Vec<f32>,
}

impl ShadowMap {
    pub(crate) fn new() -> Self {
        Self { depths: vec![1.0; (SHADOW_SIDE * SHADOW_SIDE) as usize] }
    }

    /// Part of the four texels around a point that are not nearer to the light, interpolated as a sampler does.
    fn compare(&self, place: Vec2, depth: f32) -> f32 {
        let side = SHADOW_SIDE as f32;
        let place = (place * side - 0.5).clamp(Vec2::splat(-1.0), Vec2::splat(side));
        let corner = place.floor();
        let part = place - corner;
        let lit = |x: f32, y: f32| {
            // Beyond its edges the map goes on as there.
            let [x, y] = [x, y].map(|at| at.clamp(0.0, side - 1.0) as usize);
            f32::from(u8::from(depth <= self.depths[y * SHADOW_SIDE as usize + x]))
        };
        let above = lit(corner.x, corner.y) * (1.0 - part.x) + lit(corner.x + 1.0, corner.y) * part.x;
        let below = lit(corner.x, corner.y + 1.0) * (1.0 - part.x) + lit(corner.x + 1.0, corner.y + 1.0) * part.x;
        above + (below - above) * part.y
    }
}

/// What is seen at a pixel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) world: Vec3,
    pub(crate) normal: Vec3,
    pub(crate) material: Vec2,
    /// How far `material` changes from one pixel to the next.
    pub(crate) width: Vec2,
    pub(crate) strain: f32,
    pub(crate) front: bool,
}

fn reached(globals: &Globals, map: &ShadowMap, world: Vec3, softness: f32, side: i32) -> f32 {
    let clip = globals.light_projection * world.extend(1.0);
    if clip.x.abs().max(clip.y.abs()) > 1.0 {
        return 1.0;
    }
    let depth = clip.z.min(1.0);
    let middle = Vec2::new(0.5, -0.5) * clip.truncate().truncate() + 0.5;
    let reach = softness / (2.0 * globals.radius);
    let mut few = 0.0;
    for k in 0..9 {
        let offset = Vec2::new((k % 3) as f32, (k / 3) as f32) - 1.0;
        few += map.compare(middle + reach * offset, depth);
    }
    if !(0.01..=8.99).contains(&few) {
        return few / 9.0;
    }
    let (mut sum, mut weights) = (0.0, 0.0);
    for k in 0..side * side {
        let offset = 2.0 * Vec2::new((k % side) as f32, (k / side) as f32) / (side - 1) as f32 - 1.0;
        let weight = (1.1 - offset.x.abs()) * (1.1 - offset.y.abs());
        sum += weight * map.compare(middle + reach * offset, depth);
        weights += weight;
    }
    sum / weights
}

fn reached_surface(globals: &Globals, map: &ShadowMap, world: Vec3, normal: Vec3) -> f32 {
    let slope = normal.dot(globals.light);
    let sine = (1.0 - slope * slope).max(0.0).sqrt();
    let lift = (globals.softness + globals.texel) * sine + 1.5 * globals.texel;
    reached(globals, map, world + if slope >= 0.0 { lift } else { -lift } * normal, globals.softness, 7)
}

fn stripes(place: Vec2, width: Vec2) -> Vec2 {
    let half = 0.5 * width.max(Vec2::splat(1e-4));
    ((area(place + half) - area(place - half)) / (2.0 * half)).clamp(Vec2::ZERO, Vec2::ONE)
}

fn area(place: Vec2) -> Vec2 {
    let whole = place.floor();
    0.5 * whole + (place - whole).min(Vec2::splat(0.5))
}

fn toned(color: Vec3) -> Vec3 {
    let peak = color.max_element();
    if peak <= 0.75 { color } else { color * ((1.0 - 0.0625 / (peak - 0.5)) / peak) }
}

fn smoothstep(low: f32, high: f32, x: f32) -> f32 {
    let part = ((x - low) / (high - low)).clamp(0.0, 1.0);
    part * part * (3.0 - 2.0 * part)
}

/// Linear color of a point of a surface; `shade_surface` of `render.wgsl`.
pub(crate) fn shade_surface(globals: &Globals, object: &Object, map: &ShadowMap, point: &Point) -> Vec3 {
    let toward_eye = (globals.eye - point.world).normalize_or(Vec3::Z);
    let normal = if point.normal.length_squared() > 1e-6 {
        point.normal.normalize() * if point.front { 1.0 } else { -1.0 }
    } else {
        toward_eye
    };
    let slope = normal.dot(globals.light);
    let reach = reached_surface(globals, map, point.world, normal);
    let key = reach * (slope.max(0.0) + object.translucency * (-slope).max(0.0));
    let sky = 0.5 + 0.5 * normal.y;
    let wave = stripes(point.material, point.width);
    let pattern = object.woven * 0.5 * (wave.x + wave.y);
    if object.strained > 0.5 {
        let brightness = (0.42 + 0.2 * sky + 0.38 * key.min(1.0)) * (1.0 - 0.12 * pattern);
        return brightness * super::look::heat(globals.strain_scale * point.strain);
    }
    let side = if point.front { 0 } else { 2 };
    let albedo = object.thread(side).lerp(object.thread(side + 1), pattern);
    let facing = normal.dot(toward_eye).abs();
    let ambient = Vec3::new(0.16, 0.145, 0.13).lerp(Vec3::new(0.34, 0.37, 0.41), sky) + 0.14 * facing;
    let sunlight = key * Vec3::new(0.96, 0.92, 0.85);
    let grazing = 1.0 - facing;
    let sheen = 0.10 * object.woven * grazing * grazing * grazing * (0.3 + 0.7 * reach);
    toned(albedo * (ambient + sunlight) + sheen * ambient)
}

/// Linear color of a point of the ground; `shade_ground` of `render.wgsl`.
pub(crate) fn shade_ground(globals: &Globals, map: &ShadowMap, world: Vec3) -> Vec3 {
    let flat = |point: Vec3| Vec2::new(point.x, point.z);
    let away = flat(world).distance(flat(globals.center)) / globals.radius;
    let near = 1.0 - smoothstep(0.9, 3.2, away);
    let reach = reached(globals, map, world, globals.ground_softness, 15);
    let light = Vec3::new(0.47, 0.49, 0.53).lerp(Vec3::ONE, reach);
    globals.background.lerp(light * globals.ground, near)
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    fn module() -> naga::Module {
        naga::front::wgsl::parse_str(crate::render::WGSL).unwrap()
    }

    #[test]
    fn the_shader_needs_no_capability() {
        use naga::valid::{Capabilities, ValidationFlags, Validator};
        Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module()).unwrap();
    }

    #[test]
    fn structures_are_laid_out_like_those_of_the_shader() {
        let module = module();
        let found = |name: &str| {
            let named = |(_, kind): &(_, &naga::Type)| kind.name.as_deref() == Some(name);
            match &module.types.iter().find(named).unwrap().1.inner {
                naga::TypeInner::Struct { members, span } => {
                    let offsets = members.iter().map(|member| (member.name.clone().unwrap(), member.offset as usize));
                    (offsets.collect::<Vec<_>>(), *span as usize)
                }
                other => panic!("{other:?}"),
            }
        };
        macro_rules! twin {
            ($kind:ident: $($member:ident),*) => {
                let offsets = vec![$((stringify!($member).to_owned(), offset_of!($kind, $member))),*];
                assert_eq!(found(stringify!($kind)), (offsets, size_of::<$kind>()));
            };
        }
        twin!(Globals: view_projection, light_projection, eye, encode, light, texel, background, softness, ground,
            ground_softness, center, radius, ground_height, strain_scale, padding, heat);
        twin!(Object: model, threads, woven, translucency, setback, strained);
    }

    #[test]
    fn a_wave_is_up_half_of_the_time_and_sharp_where_it_is_seen_closely() {
        for width in [0.5, 1.0, 3.0] {
            let mean = (0..64).map(|k| stripes(Vec2::splat(k as f32 / 64.0), Vec2::splat(width)).x).sum::<f32>() / 64.0;
            assert!((mean - 0.5).abs() < 0.01, "{width}: {mean}");
        }
        let at = |place: f32| stripes(Vec2::splat(place), Vec2::splat(1e-3)).y;
        assert!(at(0.25) > 0.999 && at(0.75) < 0.001 && at(-0.75) > 0.999);
        assert!((stripes(Vec2::splat(7.3), Vec2::splat(100.0)).x - 0.5).abs() < 0.01);
    }

    #[test]
    fn tones_are_kept_below_and_bent_above() {
        for value in [0.0, 0.3, 0.75] {
            assert_eq!(toned(Vec3::splat(value)), Vec3::splat(value));
        }
        let bent: Vec<f32> = [0.75, 0.8, 1.0, 2.0, 50.0].map(|value| toned(Vec3::splat(value)).x).to_vec();
        assert!(bent.windows(2).all(|pair| pair[0] < pair[1] && pair[1] < 1.0), "{bent:?}");
    }
}
