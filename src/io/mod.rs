//! Files other programs understand.
//!
//! Every file is written under a temporary name and appears under its own when it is complete. All coordinates are
//! right-handed, in metres, with +Y up, as in the rest of this crate.
//!
//! | Extension | What | Where |
//! |---|---|---|
//! | `.pc2` | all frames; Blender and others | [`pc2`] |
//! | `.mdd` | all frames with their times; Blender, LightWave and others | [`mdd`] |
//! | `.npy` | all frames as an array (frames, vertices, 3); numpy | [`npy`] |
//! | `.usda` | all frames: a mesh with time samples; USD, Blender, Houdini and others | `usda` |
//! | `.glb` | all frames: a mesh with morph targets and an animation; glTF, browsers, engines | `glb` |
//! | `.obj` | a mesh, or one per frame | [`obj`], [`sequence`] |
//! | `.ply` | a mesh with the strain of each vertex, or one per frame | [`ply`], [`sequence`] |
//!
//! [`export`] chooses among them by the name of the file. Meshes are read by `import` (feature `import`).
//!
//! # Into Blender
//!
//! `taut run … --out demo` writes `demo/rest.obj`, the shape at rest, and `demo/cloth.pc2`, where its vertices are over
//! time.
//!
//! 1. *File › Import › Wavefront (.obj)*: choose `rest.obj` and leave the axes as they are, *Forward* −Z and *Up* Y.
//!    The importer keeps the coordinates of the file and turns the object instead.
//! 2. *Add Modifier*, *Mesh Cache*. *Format*: PC2. *File Path*: `cloth.pc2`. Leave *Axis Mapping* at its defaults,
//!    *Forward* +Y and *Up* +Z, which change nothing: the cache has the coordinates of the file, and the object is
//!    turned already.
//! 3. *Time Remapping*: *Time Mode* Frame, *Play Mode* Scene. Frame k of the run is shown in frame k + *Frame Start* of
//!    the scene; frame 0 is the start. Set the frame rate of the scene to that of the run (`--fps`, by default 60), or
//!    *Frame Scale* to the rate of the run divided by that of the scene: 2.5 for 60 in 24. With *Interpolation* Linear
//!    Blender blends between frames then.
//! 4. Both files count vertices alike, and this must stay so: do not add, remove or merge any. Modifiers that make new
//!    ones (*Subdivision Surface*, *Solidify*) go below *Mesh Cache*.
//!
//! An `.mdd` of `--export` works the same with *Format* MDD. If Blender says *Vertex count mismatch*, the object is not
//! that of `rest.obj`: the mesh that was given to `--mesh` may have more vertices, because those in the same place were
//! welded. `rest.obj` keeps its texture coordinates. Blender 3.0 and older need *Keep Vertex Order* in the importer.
//!
//! This is what the manual ([Mesh
//! Cache](https://docs.blender.org/manual/en/4.2/modeling/modifiers/modify/mesh_cache.html),
//! [OBJ](https://docs.blender.org/manual/en/4.2/files/import_export/obj.html)) and the sources of importer and modifier
//! say, and `tests/blender` looks at it with Blender 4.5. `.usda` and `.glb` of `--export` are imported whole, axes and
//! animation included, and so is what the add-on `blender/taut_cloth.py` simulates without leaving Blender.

pub mod atomic;
pub(crate) mod disk;
pub mod export;
mod glb;
#[cfg(feature = "import")]
pub mod import;
pub mod mdd;
pub mod npy;
pub mod obj;
pub mod pc2;
pub mod ply;
pub mod sequence;
mod spool;
mod usda;

use crate::error::{Error, Result};

/// Other programs choke on NaN, or worse, draw it.
pub(crate) fn check_finite(positions: &[[f32; 3]]) -> Result<()> {
    let finite = |position: &[f32; 3]| position.iter().all(|coordinate| coordinate.is_finite());
    match positions.iter().position(|position| !finite(position)) {
        Some(index) => Err(Error::NotFinite { field: "positions", index }),
        None => Ok(()),
    }
}

/// Whether a frame may follow the `written` ones: as many positions as points, all finite, and not too many frames.
fn check_sample(positions: &[[f32; 3]], points: u32, written: u32, frames: u32) -> Result<()> {
    let (expected, found) = (points as usize, positions.len());
    if expected != found {
        return Err(Error::LengthMismatch { field: "positions", expected, found });
    }
    check_finite(positions)?;
    if written < frames { Ok(()) } else { check_complete(written + 1, frames) }
}

/// Whether all frames that were promised are there.
fn check_complete(written: u32, frames: u32) -> Result<()> {
    if written == frames {
        return Ok(());
    }
    Err(Error::LengthMismatch { field: "frames", expected: frames as usize, found: written as usize })
}
