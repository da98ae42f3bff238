//! glTF 2.0, binary: a mesh whose frames are morph targets, and an animation that goes from one to the next.
//!
//! The first frame is the mesh; each key frame after it is a target with its displacements and those of the normals,
//! and the animation raises the weight of one target while it lowers that of the one before, so positions are
//! interpolated linearly between key frames. The weights, nearly all of them zero, are a sparse accessor. Readers hold
//! keys × keys of them nevertheless, so of more than 1,024 frames, or of more than fit into 4 GiB, every second one is
//! a key frame, or every third, and so on; the last always is. A displacement is rounded to f32: positions are right to
//! one unit in the last place of the distance.
//!
//! Source: [glTF 2.0](https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html), 3.6.2.3 (sparse accessors), 3.7.2.2
//! (morph targets), 3.11 (animations), 4.4 (binary layout). The mesh is in metres with +Y up, as glTF wants it.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::export::{Files, Format};
use super::spool::{Frames, Spool, extent};

/// As the table of exports has it.
pub(super) const FORMAT: Format = Format {
    extension: "glb",
    about: "glTF, a mesh with morph targets and an animation",
    files: Files::One(|path, plan| Ok(Box::new(Spool::create(path, plan, model)?))),
};

/// Key frames at most.
const MOST_KEYS: u64 = 1024;
/// Bytes of the parts that are no key frames are fewer than this, beside the vertices.
const ROOM: u64 = 1 << 24;
const U32: u32 = 5125;
const F32: u32 = 5126;
const VERTICES: u32 = 34962;
const INDICES: u32 = 34963;

/// Which frames are key frames.
fn keys(count: u32, points: u32, indices: u64) -> io::Result<Vec<u32>> {
    let key = 24 * u64::from(points);
    let most = (u64::from(u32::MAX) - ROOM).checked_sub(4 * indices).map_or(0, |room| room / key.max(1)).min(MOST_KEYS);
    if most < 2 {
        return Err(io::Error::other("the mesh is too large for the 4 GiB of a GLB"));
    }
    let last = count.saturating_sub(1);
    let stride = u64::from(last).div_ceil(most - 1).max(1) as usize;
    Ok((0..last).step_by(stride).chain([last]).collect())
}

/// The parts of the file as JSON has them.
#[derive(Default)]
struct Parts {
    views: Vec<String>,
    accessors: Vec<String>,
    bytes: u64,
}

impl Parts {
    /// A view of so many words, which follows those before it.
    fn view(&mut self, words: u64, target: Option<u32>) -> usize {
        let target = target.map_or_else(String::new, |target| format!(",\"target\":{target}"));
        let (offset, length) = (self.bytes, 4 * words);
        self.views.push(format!("{{\"buffer\":0,\"byteOffset\":{offset},\"byteLength\":{length}{target}}}"));
        self.bytes += length;
        self.views.len() - 1
    }

    fn accessor(&mut self, kind: &str, component: u32, count: u64, rest: &str) -> usize {
        let text = format!("{{\"componentType\":{component},\"count\":{count},\"type\":\"{kind}\"{rest}}}");
        self.accessors.push(text);
        self.accessors.len() - 1
    }

    /// Vectors of vertices; positions say their extent.
    fn vectors(&mut self, count: u64, bounds: Option<[[f32; 3]; 2]>) -> usize {
        let view = self.view(3 * count, Some(VERTICES));
        // All digits: readers compare them with the numbers of the buffer.
        let numbers = |v: [f32; 3]| v.map(|x| f64::from(x).to_string()).join(",");
        let bounds = bounds.map_or_else(String::new, |[least, most]| {
            format!(",\"min\":[{}],\"max\":[{}]", numbers(least), numbers(most))
        });
        self.accessor("VEC3", F32, count, &format!(",\"bufferView\":{view}{bounds}"))
    }

    fn indices(&mut self, count: u64) -> usize {
        let view = self.view(count, Some(INDICES));
        self.accessor("SCALAR", U32, count, &format!(",\"bufferView\":{view}"))
    }
}

fn model(file: &mut dyn Write, frames: &mut Frames<'_>) -> io::Result<()> {
    let (shape, fps, points) = (frames.shape, frames.fps, u64::from(frames.points()));
    let [faces, lines] = [3 * shape.triangles.len() as u64, 2 * shape.lines.len() as u64];
    if frames.count == 0 || points == 0 {
        return container(file, "{\"asset\":{\"version\":\"2.0\",\"generator\":\"taut\"}}", 0, |_| Ok(()));
    }
    let keys = keys(frames.count, frames.points(), faces + lines)?;
    let targets = keys.len() as u64 - 1;
    let base = frames.positions(0)?;
    let normals = shape.normals(&base);
    let mut parts = Parts::default();

    // In the order of the bytes.
    let face_indices = (faces > 0).then(|| parts.indices(faces));
    let line_indices = (lines > 0).then(|| parts.indices(lines));
    let position = parts.vectors(points, Some(extent(&base)));
    let normal = parts.vectors(points, None);
    let mut displaced = Vec::new();
    for key in &keys[1..] {
        let moved = differences(&frames.positions(*key)?, &base);
        displaced.push([parts.vectors(points, Some(extent(&moved))), parts.vectors(points, None)]);
    }
    let times: Vec<f32> = keys.iter().map(|key| (f64::from(*key) / fps) as f32).collect();
    let animation = (targets > 0).then(|| {
        let view = parts.view(targets + 1, None);
        let end = f64::from(times[targets as usize]);
        let times = format!(",\"bufferView\":{view},\"min\":[0],\"max\":[{end}]");
        let input = parts.accessor("SCALAR", F32, targets + 1, &times);
        let (indices, values) = (parts.view(targets, None), parts.view(targets, None));
        let sparse = format!(
            ",\"sparse\":{{\"count\":{targets},\"indices\":{{\"bufferView\":{indices},\"componentType\":{U32}}},\
             \"values\":{{\"bufferView\":{values}}}}}"
        );
        let output = parts.accessor("SCALAR", F32, targets * (targets + 1), &sparse);
        format!(
            ",\"animations\":[{{\"name\":\"cloth\",\"channels\":[{{\"sampler\":0,\"target\":{{\"node\":0,\
             \"path\":\"weights\"}}}}],\"samplers\":[{{\"input\":{input},\"interpolation\":\"LINEAR\",\
             \"output\":{output}}}]}}]"
        )
    });

    let primitive = |mode: u32, indices: Option<usize>, lit: bool| {
        let mut text = format!("{{\"mode\":{mode},\"material\":0,\"attributes\":{{\"POSITION\":{position}");
        // Writing to a string does not fail.
        let _ = if lit { write!(text, ",\"NORMAL\":{normal}}}") } else { write!(text, "}}") };
        if let Some(indices) = indices {
            let _ = write!(text, ",\"indices\":{indices}");
        }
        let target = |[position, normal]: &[usize; 2]| match lit {
            true => format!("{{\"POSITION\":{position},\"NORMAL\":{normal}}}"),
            false => format!("{{\"POSITION\":{position}}}"),
        };
        if targets > 0 {
            let _ = write!(text, ",\"targets\":[{}]", displaced.iter().map(target).collect::<Vec<_>>().join(","));
        }
        text + "}"
    };
    let mut primitives = Vec::new();
    primitives.extend(face_indices.map(|indices| primitive(4, Some(indices), true)));
    primitives.extend(line_indices.map(|indices| primitive(1, Some(indices), false)));
    if primitives.is_empty() {
        primitives.push(primitive(0, None, false));
    }
    let json = format!(
        "{{\"asset\":{{\"version\":\"2.0\",\"generator\":\"taut\"}},\"scene\":0,\"scenes\":[{{\"nodes\":[0]}}],\
         \"nodes\":[{{\"name\":\"cloth\",\"mesh\":0}}],\"meshes\":[{{\"name\":\"cloth\",\"primitives\":[{}]}}],\
         \"materials\":[{{\"name\":\"cloth\",\"doubleSided\":true,\"pbrMetallicRoughness\":{{\"metallicFactor\":0,\
         \"roughnessFactor\":1}}}}],\"buffers\":[{{\"byteLength\":{}}}],\"bufferViews\":[{}],\"accessors\":[{}]{}}}",
        primitives.join(","),
        parts.bytes,
        parts.views.join(","),
        parts.accessors.join(","),
        animation.unwrap_or_default(),
    );
    container(file, &json, parts.bytes, |file| {
        words(file, shape.triangles.as_flattened().iter().copied())?;
        words(file, shape.lines.as_flattened().iter().copied())?;
        floats(file, base.as_flattened())?;
        floats(file, normals.as_flattened())?;
        for key in &keys[1..] {
            let moved = frames.positions(*key)?;
            floats(file, differences(&moved, &base).as_flattened())?;
            floats(file, differences(&shape.normals(&moved), &normals).as_flattened())?;
        }
        if targets == 0 {
            return Ok(());
        }
        floats(file, &times)?;
        // Row k has the weights at key frame k: target k − 1 alone.
        words(file, (1..=targets).map(|key| (key * targets + key - 1) as u32))?;
        floats(file, &vec![1.0; targets as usize])
    })
}

fn differences(to: &[[f32; 3]], from: &[[f32; 3]]) -> Vec<[f32; 3]> {
    let difference = |(to, from): (&[f32; 3], &[f32; 3])| std::array::from_fn(|axis| to[axis] - from[axis]);
    to.iter().zip(from).map(difference).collect()
}

fn words(file: &mut dyn Write, words: impl Iterator<Item = u32>) -> io::Result<()> {
    words.into_iter().try_for_each(|word| file.write_all(&word.to_le_bytes()))
}

fn floats(file: &mut dyn Write, floats: &[f32]) -> io::Result<()> {
    floats.iter().try_for_each(|float| file.write_all(&float.to_le_bytes()))
}

/// The two chunks. The first is filled up with blanks to whole words; the second consists of such.
fn container(
    file: &mut dyn Write,
    json: &str,
    bytes: u64,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let filled = json.len().next_multiple_of(4);
    let chunk = if bytes == 0 { 0 } else { 8 + bytes };
    let too_large = |_| io::Error::other("the animation is too large for the 4 GiB of a GLB");
    let total = u32::try_from(12 + 8 + filled as u64 + chunk).map_err(too_large)?;
    file.write_all(b"glTF")?;
    words(file, [2, total, filled as u32].into_iter())?;
    write!(file, "JSON{json:filled$}")?;
    if bytes > 0 {
        words(file, [bytes as u32].into_iter())?;
        file.write_all(b"BIN\0")?;
        content(file)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_frames_are_all_or_evenly_chosen_with_the_last() {
        assert_eq!(keys(1, 10, 10).unwrap(), [0]);
        assert_eq!(keys(4, 10, 10).unwrap(), [0, 1, 2, 3]);
        assert_eq!(keys(1024, 10, 10).unwrap().len(), 1024);
        let many = keys(90_000, 10, 10).unwrap();
        assert!(many.len() <= 1024 && many.starts_with(&[0, 88, 176]) && many.last() == Some(&89_999), "{many:?}");
        // A million vertices: 24 MB for each.
        let large = keys(300, 1 << 20, 6 << 20).unwrap();
        assert!((85..170).contains(&large.len()), "{}", large.len());
        assert!(keys(3, 1 << 30, 3 << 28).is_err());
    }
}
