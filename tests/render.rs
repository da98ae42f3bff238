//! Pictures: what is on them, that GPU and CPU draw the same, and the files.
#![cfg(feature = "render")]

mod common;
#[path = "common/pictures.rs"]
mod pictures;

use std::collections::BTreeSet;

use common::*;
use pictures::{compared, gif, pixels, png, share};
use taut::render::{
    Camera, Coloring, Fabric, Items, Look, Model, Offscreen, Picture, PictureFile, Prop, Renderer, Skin, Studio, raster,
};
use taut::{Cloth, Error, Pose, Scene, Settings, scene, wgpu};

const SIZE: [u32; 2] = [240, 180];

/// A scene at some moment, ready to be drawn.
struct Subject {
    cloth: Cloth,
    studio: Studio,
    fabric: Fabric,
    models: Vec<Model>,
    positions: Vec<[f32; 3]>,
}

impl Subject {
    /// A built-in scene after some frames on the CPU.
    fn of(name: &str, size: u32, frames: u32) -> Self {
        let scene = Scene::named(name, size).unwrap();
        let settings = scene.settings.clone();
        let (studio, fabric) = (Studio::of(&scene), Fabric::new(&scene.mesh));
        let models = scene.solids.iter().map(|solid| Model::of(solid, &studio)).collect();
        let mut cloth = cpu(scene, settings);
        for _ in 0..frames {
            cloth.step(&frame(FRAME)).unwrap();
        }
        let positions = cloth.snapshot().unwrap().positions;
        Self { cloth, studio, fabric, models, positions }
    }

    fn poses(&self) -> impl Iterator<Item = Pose> {
        self.cloth.solids().iter().map(|solid| solid.pose)
    }

    fn on_cpu(&self, look: &Look) -> Picture {
        let solids: Vec<(&Model, Pose)> = self.models.iter().zip(self.poses()).collect();
        let view = raster::View { camera: &self.studio.camera(SIZE), look, studio: &self.studio };
        raster::draw(SIZE, &view, &[(&self.fabric, &self.positions)], &solids).unwrap()
    }

    fn on_gpu(&self, offscreen: &Offscreen, look: &Look) -> Picture {
        let skin = Skin::new(offscreen.renderer(), &self.fabric, &self.positions).unwrap();
        let props: Vec<Prop> =
            self.models.iter().map(|model| Prop::new(offscreen.renderer(), model).unwrap()).collect();
        let solids: Vec<(&Prop, Pose)> = props.iter().zip(self.poses()).collect();
        let items = Items { studio: &self.studio, cloths: &[&skin], solids: &solids };
        offscreen.picture(&self.studio.camera(SIZE), look, &items).unwrap()
    }
}

fn linear(byte: u8) -> f64 {
    let value = f64::from(byte) / 255.0;
    if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

#[test]
fn pictures_are_neither_empty_nor_flat() {
    for (name, frames) in [("drape", 40), ("hang", 30), ("rope-tether", 10)] {
        let mut subject = Subject::of(name, 20, frames);
        let look = Look::default();
        let picture = subject.on_cpu(&look);
        let colors: BTreeSet<[u8; 3]> = pixels(&picture).collect();
        let cloth = share(&picture, |[r, _, b]| b > r.saturating_add(40));
        // A rope is thin.
        let (most_colors, least_cloth) = if name == "rope-tether" { (200, 0.001) } else { (1500, 0.02) };
        assert!(colors.len() > most_colors, "{name}: {} colors", colors.len());
        assert!(cloth > least_cloth && cloth < 0.5, "{name}: {cloth} of the picture are dark threads");
        // Without the ground everything around it is background, exactly.
        subject.studio.ground = None;
        let empty = share(&subject.on_cpu(&look), |pixel| pixel == look.background);
        assert!((0.3..0.999).contains(&empty), "{name}: {empty} background");
    }
}

#[test]
fn gpu_and_cpu_draw_the_same() {
    for gpu in gpus() {
        let offscreen = Offscreen::new(&gpu, SIZE).unwrap();
        for (name, frames) in [("drape", 30), ("flag", 30), ("chain", 10), ("mannequin", 20)] {
            let mut subject = Subject::of(name, 16, frames);
            for coloring in [Coloring::Cloth, Coloring::strain(subject.cloth.settings())] {
                let look = Look { coloring, ..Default::default() };
                let (_, difference) =
                    compared(&subject.on_gpu(&offscreen, &look), &subject.on_cpu(&look), look.background);
                assert!(difference < 1.0, "{} {name}: differ by {difference}", common::name(&gpu));
                let ground = subject.studio.ground.take();
                let pictures = (subject.on_gpu(&offscreen, &look), subject.on_cpu(&look));
                let (overlap, difference) = compared(&pictures.0, &pictures.1, look.background);
                assert!(overlap >= 0.97, "{} {name}: {overlap}", common::name(&gpu));
                assert!(difference < 1.0, "{} {name}: differ by {difference}", common::name(&gpu));
                subject.studio.ground = ground;
            }
        }
    }
}

/// Every triangle has vertices of its own, and the texture jumps from each to the next.
#[test]
fn gpu_and_cpu_draw_the_same_texture_across_seams() {
    let mut subject = Subject::of("drape", 12, 20);
    let looks = [Coloring::Cloth, Coloring::strain(subject.cloth.settings())]
        .map(|coloring| Look { coloring, ..Default::default() });
    let plain = subject.on_cpu(&looks[0]);
    let triangles = subject.cloth.mesh().triangles();
    let drawn: Vec<[u32; 3]> =
        (0..triangles.len() as u32).map(|triangle| [0, 1, 2].map(|k| 3 * triangle + k)).collect();
    let followed = triangles.concat();
    let place = |(index, vertex): (usize, &u32)| {
        let [x, _, z] = subject.cloth.mesh().positions()[*vertex as usize];
        [x + 0.5 * (index / 3 % 2) as f32, z]
    };
    let uvs: Vec<[f32; 2]> = followed.iter().enumerate().map(place).collect();
    subject.fabric = Fabric::new(subject.cloth.mesh()).with_texture(&followed, &uvs, &drawn, 0.3).unwrap();
    let (_, difference) = compared(&subject.on_cpu(&looks[0]), &plain, looks[0].background);
    assert!(difference > 2.0, "another pattern: {difference}");
    for gpu in gpus() {
        let offscreen = Offscreen::new(&gpu, SIZE).unwrap();
        for look in &looks {
            let (_, difference) = compared(&subject.on_gpu(&offscreen, look), &subject.on_cpu(look), look.background);
            assert!(difference < 1.0, "{}: differ by {difference}", name(&gpu));
        }
    }
}

#[test]
fn the_background_has_exactly_its_color_and_bytes_repeat() {
    let mut subject = Subject::of("flag", 12, 5);
    subject.studio.ground = None;
    let painters: Vec<(String, Offscreen)> =
        gpus().iter().map(|gpu| (name(gpu), Offscreen::new(gpu, SIZE).unwrap())).collect();
    for background in [[200, 37, 118], [1, 2, 3], [254, 128, 90]] {
        let look = Look { background, ..Default::default() };
        let mut pictures = vec![("the CPU".to_owned(), subject.on_cpu(&look), subject.on_cpu(&look))];
        for (name, offscreen) in &painters {
            pictures.push((name.clone(), subject.on_gpu(offscreen, &look), subject.on_gpu(offscreen, &look)));
        }
        for (name, picture, again) in pictures {
            assert_eq!(picture.pixel(0, 0), Some(background), "{name}");
            assert_eq!(picture.pixel(SIZE[0] - 1, SIZE[1] - 1), Some(background), "{name}");
            assert!(picture == again, "{name} draws the same in two ways");
        }
    }
}

/// A flat sheet of 1 m that is stretched by the same part everywhere, seen from in front.
fn stretched(by: f32) -> (Subject, Camera) {
    let mut subject = Subject::of("flag", 9, 0);
    for position in &mut subject.positions {
        *position = position.map(|x| x * (1.0 + by));
    }
    subject.studio.ground = None;
    let camera = Camera { eye: [0.5, -0.5, 4.0], target: [0.5, -0.5, 0.0], ..Default::default() };
    (subject, camera)
}

#[test]
fn strain_has_the_color_of_the_legend() {
    // sRGB of no strain, the limit, twice the limit.
    let legend = [(0.0, [88, 124, 178]), (0.01, [246, 214, 82]), (0.02, [146, 22, 44]), (0.5, [146, 22, 44])];
    let gpu = gpu();
    for (strain, expected) in legend {
        let (subject, camera) = stretched(strain);
        let coloring = Coloring::Strain { limit: 0.01, band: [1.0, 1.0] };
        let look = Look { coloring, pins: false, ..Default::default() };
        let view = raster::View { camera: &camera, look: &look, studio: &subject.studio };
        let mut pictures = vec![raster::draw(SIZE, &view, &[(&subject.fabric, &subject.positions)], &[]).unwrap()];
        if let Some(gpu) = &gpu {
            let offscreen = Offscreen::new(gpu, SIZE).unwrap();
            let skin = Skin::new(offscreen.renderer(), &subject.fabric, &subject.positions).unwrap();
            let items = Items { studio: &subject.studio, cloths: &[&skin], solids: &[] };
            pictures.push(offscreen.picture(&camera, &look, &items).unwrap());
        }
        for picture in pictures {
            // In the middle of the picture is the middle of the sheet; light is gray, so only the brightness differs.
            let found = picture.pixel(SIZE[0] / 2, SIZE[1] / 2).unwrap().map(linear);
            let expected = expected.map(linear);
            let scale = found.iter().sum::<f64>() / expected.iter().sum::<f64>();
            assert!((0.5..=1.0).contains(&scale), "{strain}: {scale}");
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - scale * expected).abs() < 0.012, "{strain}: {found} for {}", scale * expected);
            }
        }
    }
}

#[test]
fn a_legend_is_drawn_beside_strain_only() {
    let subject = Subject::of("flag", 9, 0);
    let size = [400, 300];
    let corner = |coloring| {
        let look = Look { coloring, ..Default::default() };
        let view = raster::View { camera: &subject.studio.camera(size), look: &look, studio: &subject.studio };
        let picture = raster::draw(size, &view, &[(&subject.fabric, &subject.positions)], &[]).unwrap();
        let lower_left = (0..230).flat_map(|x| (230..300).map(move |y| (x, y)));
        // Yellow is the limit.
        let yellow = |[r, g, b]: [u8; 3]| r.abs_diff(246) < 5 && g.abs_diff(214) < 5 && b.abs_diff(82) < 5;
        lower_left.filter_map(|(x, y)| picture.pixel(x, y)).any(yellow)
    };
    assert!(corner(Coloring::strain(&Settings::default())) && !corner(Coloring::Cloth));
}

#[test]
fn light_on_a_flat_sheet_is_even_at_every_angle() {
    let gpu = gpu();
    let (subject, camera) = stretched(0.0);
    for light in [[0.0, 0.0, 1.0], [0.7, 0.2, 0.7], [0.95, 0.1, 0.3], [-0.3, 0.98, 0.1], [0.2, -0.9, 0.05]] {
        let look = Look { coloring: Coloring::strain(&Settings::default()), light, pins: false, ..Default::default() };
        let view = raster::View { camera: &camera, look: &look, studio: &subject.studio };
        let mut pictures = vec![raster::draw(SIZE, &view, &[(&subject.fabric, &subject.positions)], &[]).unwrap()];
        if let Some(gpu) = &gpu {
            let offscreen = Offscreen::new(gpu, SIZE).unwrap();
            let skin = Skin::new(offscreen.renderer(), &subject.fabric, &subject.positions).unwrap();
            let items = Items { studio: &subject.studio, cloths: &[&skin], solids: &[] };
            pictures.push(offscreen.picture(&camera, &look, &items).unwrap());
        }
        for picture in pictures {
            // Well inside the sheet: the pattern darkens by 12 % at most, a shadow would by much more.
            let inside = (82..158).flat_map(|x| (52..108).map(move |y| (x, y)));
            let values: Vec<f64> = inside.filter_map(|(x, y)| picture.pixel(x, y)).map(|[_, g, _]| linear(g)).collect();
            let (low, high) = values.iter().fold((1.0_f64, 0.0_f64), |(low, high), x| (low.min(*x), high.max(*x)));
            assert!(low / high > 0.86, "{light:?}: from {low} to {high}");
            // And it is all there: a sheet that shadows itself a little everywhere is even too.
            let slope = f64::from(light[2] / light.iter().map(|x| x * x).sum::<f32>().sqrt());
            let full = (0.42 + 0.2 * 0.5 + 0.38 * slope) * linear(124);
            assert!((high / full - 1.0).abs() < 0.02, "{light:?}: {high} for {full}");
        }
    }
}

#[test]
fn a_ball_casts_a_shadow_on_the_cloth_below_it_and_on_the_ground() {
    let mut subject = Subject::of("sheet", 12, 0);
    subject.studio.ground = Some(-0.3);
    let ball = taut::Solid::new(taut::SolidShape::Sphere { radius: 0.15 }).at([0.5, 0.4, 0.5]);
    let model = Model::of(&ball, &subject.studio);
    subject.studio.radius = 1.2;
    let camera = Camera { eye: [0.5, 4.0, 0.5], target: [0.5, 0.0, 0.5], up: [0.0, 0.0, -1.0], fov: 0.6 };
    let look = Look {
        light: [0.6, 1.0, 0.0],
        coloring: Coloring::strain(&Settings::default()),
        pins: false,
        ..Default::default()
    };
    // The ball's middle is seen above x = 0.5; its shadow falls on x = 0.5 − 0.6 · 0.4.
    let view = raster::View { camera: &camera, look: &look, studio: &subject.studio };
    let picture = raster::draw(SIZE, &view, &[(&subject.fabric, &subject.positions)], &[(&model, ball.pose)]).unwrap();
    let at = |point: [f32; 3]| {
        let [x, y] = camera.project(point, SIZE[0] as f32 / SIZE[1] as f32).unwrap();
        linear(picture.pixel((x * SIZE[0] as f32) as u32, (y * SIZE[1] as f32) as u32).unwrap()[1])
    };
    assert!(at([0.26, 0.0, 0.5]) < 0.75 * at([0.85, 0.0, 0.5]), "{} {}", at([0.26, 0.0, 0.5]), at([0.85, 0.0, 0.5]));
    // The sheet's own shadow on the ground: shifted by 0.6 · 0.3 towards −x.
    assert!(at([-0.12, -0.3, 0.5]) < 0.7 * at([1.3, -0.3, 0.5]), "{} {}", at([-0.12, -0.3, 0.5]), at([1.3, -0.3, 0.5]));
}

/// Draws with the caller's own encoder on a texture of a format.
fn drawn_on(
    gpu: &taut::Gpu,
    format: wgpu::TextureFormat,
    samples: u32,
    record: impl FnOnce(&Renderer, &mut wgpu::CommandEncoder, &wgpu::TextureView),
) -> Vec<u8> {
    let [width, height] = SIZE;
    let device = gpu.device();
    let renderer = Renderer::new(device, gpu.queue(), format, samples).unwrap();
    let extent = wgpu::Extent3d { width, height, depth_or_array_layers: 1 };
    let texture = device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: extent,
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let row = (4 * width).next_multiple_of(256);
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: u64::from(row * height),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    record(&renderer, &mut encoder, &texture.create_view(&wgpu::TextureViewDescriptor::default()));
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row), rows_per_image: None };
    let target = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
    encoder.copy_texture_to_buffer(texture.as_image_copy(), target, extent);
    gpu.queue().submit([encoder.finish()]);
    buffer.slice(..).map_async(wgpu::MapMode::Read, |outcome| outcome.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let bytes = buffer.slice(..).get_mapped_range().unwrap();
    bytes.chunks_exact(row as usize).flat_map(|line| &line[..4 * width as usize]).copied().collect()
}

#[test]
fn other_targets_show_the_same_picture() {
    let Some(gpu) = gpu() else { return };
    let subject = Subject::of("flag", 12, 20);
    let look = Look::default();
    let expected = subject.on_gpu(&Offscreen::new(&gpu, SIZE).unwrap(), &look);
    let draw = |renderer: &Renderer, encoder: &mut wgpu::CommandEncoder, target: &wgpu::TextureView| {
        let skin = Skin::new(renderer, &subject.fabric, &subject.positions).unwrap();
        let items = Items { studio: &subject.studio, cloths: &[&skin], solids: &[] };
        let canvas = renderer.canvas(SIZE).unwrap();
        renderer.draw(encoder, &canvas, target, &subject.studio.camera(SIZE), &look, &items).unwrap();
    };
    // A format that does not encode sRGB, as windows often have, and one sample: only edges may differ.
    for (format, samples, most) in
        [(wgpu::TextureFormat::Rgba8Unorm, 4, 0.5), (wgpu::TextureFormat::Rgba8UnormSrgb, 1, 1.5)]
    {
        let picture = Picture::new(SIZE, drawn_on(&gpu, format, samples, draw)).unwrap();
        let (_, difference) = compared(&picture, &expected, look.background);
        assert!(difference < most, "{format:?}, {samples}: {difference}");
    }
    let error = Renderer::new(gpu.device(), gpu.queue(), wgpu::TextureFormat::Rgba8Unorm, 3).unwrap_err();
    assert!(matches!(error, Error::OutOfRange { field: "samples", .. }), "{error}");
}

#[test]
fn cloth_is_drawn_from_the_buffers_of_the_simulation() {
    let Some(gpu) = gpu() else { return };
    let scene = scene::hang(12).unwrap();
    let (studio, fabric) = (Studio::of(&scene), Fabric::new(&scene.mesh));
    let mut cloth = Cloth::on_gpu(&gpu, scene).unwrap();
    cloth.step(&frame(FRAME)).unwrap();
    let before = cloth.snapshot().unwrap().positions;
    let look = Look { coloring: Coloring::strain(cloth.settings()), ..Default::default() };
    // Step and picture in one encoder: nothing was read back or submitted in between.
    let bytes = drawn_on(&gpu, wgpu::TextureFormat::Rgba8UnormSrgb, 4, |renderer, encoder, target| {
        let skin = Skin::of_cloth(renderer, &cloth, &fabric).unwrap();
        for _ in 0..6 {
            cloth.encode_step(encoder, &frame(0.03)).unwrap();
        }
        let items = Items { studio: &studio, cloths: &[&skin], solids: &[] };
        let canvas = renderer.canvas(SIZE).unwrap();
        renderer.draw(encoder, &canvas, target, &studio.camera(SIZE), &look, &items).unwrap();
        let refused = skin.place(renderer, &fabric, &before);
        assert!(matches!(refused, Err(Error::Device { .. })), "{refused:?}");
    });
    let picture = Picture::new(SIZE, bytes).unwrap();
    let drawn = |positions: &[[f32; 3]]| {
        let offscreen = Offscreen::new(&gpu, SIZE).unwrap();
        let skin = Skin::new(offscreen.renderer(), &fabric, positions).unwrap();
        let items = Items { studio: &studio, cloths: &[&skin], solids: &[] };
        let look = Look { coloring: Coloring::strain(cloth.settings()), ..Default::default() };
        offscreen.picture(&studio.camera(SIZE), &look, &items).unwrap()
    };
    let now = compared(&picture, &drawn(&cloth.snapshot().unwrap().positions), look.background).1;
    let then = compared(&picture, &drawn(&before), look.background).1;
    // The legend, which only finished pictures have, is not in this one: 1 % of the pixels at most.
    assert!(now < 1.5 && then > 3.0, "{now} from the present positions, {then} from earlier ones");
}

#[test]
fn bad_positions_and_sizes_are_refused() {
    let subject = Subject::of("sheet", 3, 0);
    let view = raster::View { camera: &Camera::default(), look: &Look::default(), studio: &subject.studio };
    let drawn = |size, positions: &[[f32; 3]]| raster::draw(size, &view, &[(&subject.fabric, positions)], &[]);
    assert!(matches!(drawn(SIZE, &subject.positions[1..]), Err(Error::LengthMismatch { expected: 9, found: 8, .. })));
    let mut diverged = subject.positions.clone();
    diverged[4][1] = f32::NAN;
    assert!(matches!(drawn(SIZE, &diverged), Err(Error::NotFinite { index: 4, .. })));
    for size in [[0, 5], [5, 0], [8193, 5], [5, u32::MAX]] {
        assert!(matches!(drawn(size, &subject.positions), Err(Error::OutOfRange { .. })), "{size:?}");
    }
    // Inside of everything, behind everything: no panic, a picture.
    for eye in [[0.5, 0.0, 0.5], [0.5, -1.0, 0.5], [1e9, 0.0, 0.0]] {
        let camera = Camera { eye, target: [0.5, 3.0, 0.5], ..Default::default() };
        let view = raster::View { camera: &camera, ..view };
        raster::draw([32, 24], &view, &[(&subject.fabric, &subject.positions)], &[]).unwrap();
    }
}

// --- Files. ---

#[test]
fn files_hold_what_was_added_and_appear_complete_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let count = || std::fs::read_dir(directory.path()).unwrap().count();
    let subject = Subject::of("flag", 10, 0);
    let first = subject.on_cpu(&Look::default());
    let second = subject.on_cpu(&Look { light: [0.5, 0.5, 0.5], ..Default::default() });

    let path = directory.path().join("x.png");
    let mut file = PictureFile::create(&path, SIZE, 1.0).unwrap();
    file.add(first.clone()).unwrap();
    drop(file);
    assert_eq!(count(), 0);
    assert!(matches!(PictureFile::create(&path, SIZE, 1.0).unwrap().finish(), Err(Error::Empty { .. })));
    let mut file = PictureFile::create(&path, SIZE, 1.0).unwrap();
    file.add(first.clone()).unwrap();
    file.add(second.clone()).unwrap();
    file.finish().unwrap();
    assert!(png(&path) == second);

    let path = directory.path().join("x.GIF");
    let mut file = PictureFile::create(&path, SIZE, 1.0 / 30.0).unwrap();
    let other = Picture::new([2, 2], vec![0; 16]).unwrap();
    assert!(matches!(file.add(other), Err(Error::LengthMismatch { .. })));
    for picture in [&first, &first, &second, &first, &second, &second] {
        file.add(picture.clone()).unwrap();
    }
    assert_eq!(count(), 2);
    file.finish().unwrap();
    let decoded = gif(&path);
    assert_eq!((decoded.size, decoded.frames, decoded.endless), (SIZE, 6, true));
    // Thirtieths of a second, as well as hundredths can tell.
    assert_eq!(decoded.delays, [3, 4, 3, 3, 4, 3]);
    let worst = decoded
        .last
        .iter()
        .zip(pixels(&second))
        .map(|(found, expected)| found.iter().zip(expected).map(|(a, b)| u32::from(a.abs_diff(b))).sum::<u32>());
    let (sum, most) = worst.fold((0, 0), |(sum, most), error| (sum + error, most.max(error)));
    assert!(f64::from(sum) / f64::from(3 * SIZE[0] * SIZE[1]) < 1.5 && most < 90, "{sum} in all, {most} at most");

    for name in ["x.jpg", "x", "x.png.txt"] {
        let refused = PictureFile::create(directory.path().join(name), SIZE, 1.0);
        assert!(matches!(refused, Err(Error::PictureFormat { .. })), "{name}");
    }
}
