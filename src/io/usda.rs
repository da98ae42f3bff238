//! USD as text: a mesh whose points, normals and extent have a time sample per frame.
//!
//! The stage is in metres with +Y up, and has as many time codes per second as there are frames. `/cloth/surface` is a
//! `Mesh` that is drawn as it is (`subdivisionScheme` none) and from both sides; lines are linear `BasisCurves`,
//! `/cloth/lines`. Numbers are the shortest that are read back to the same bits.
//!
//! Sources: [UsdGeomMesh](https://openusd.org/release/api/class_usd_geom_mesh.html),
//! [UsdGeomBasisCurves](https://openusd.org/release/api/class_usd_geom_basis_curves.html).

use std::fmt::Display;
use std::io::{self, Write};

use super::export::{Files, Format};
use super::spool::{Frames, Spool, extent};

/// As the table of exports has it.
pub(super) const FORMAT: Format = Format {
    extension: "usda",
    about: "USD, a mesh with time samples",
    files: Files::One(|path, plan| Ok(Box::new(Spool::create(path, plan, stage)?))),
};

/// Lines are drawn so wide \[m\].
const WIDTH: f32 = 0.002;

fn stage(file: &mut dyn Write, frames: &mut Frames<'_>) -> io::Result<()> {
    let (fps, last, shape) = (frames.fps, frames.count.saturating_sub(1), frames.shape);
    write!(
        file,
        "#usda 1.0\n(\n    defaultPrim = \"cloth\"\n    endTimeCode = {last}\n    framesPerSecond = {fps}\n    \
         metersPerUnit = 1\n    startTimeCode = 0\n    timeCodesPerSecond = {fps}\n    upAxis = \"Y\"\n)\n\n\
         def Xform \"cloth\" (\n    kind = \"component\"\n)\n{{\n"
    )?;
    if !shape.faces.is_empty() {
        write!(file, "    def Mesh \"surface\"\n    {{\n        uniform bool doubleSided = 1\n")?;
        samples(file, frames, "float3[] extent", |points| extent(points).to_vec())?;
        let counts = shape.faces.iter().map(|face| face.vertices().len());
        list(file, "int[] faceVertexCounts", counts)?;
        list(file, "int[] faceVertexIndices", shape.faces.iter().flat_map(|face| face.vertices()))?;
        writeln!(file, "        normal3f[] normals (\n            interpolation = \"vertex\"\n        )")?;
        samples(file, frames, "normal3f[] normals", |points| shape.normals(points))?;
        samples(file, frames, "point3f[] points", <[_]>::to_vec)?;
        write!(file, "        uniform token subdivisionScheme = \"none\"\n    }}\n")?;
    }
    if !shape.lines.is_empty() {
        let curves = curves(&shape.lines);
        let vertices: Vec<u32> = curves.iter().flatten().copied().collect();
        let gathered =
            |points: &[[f32; 3]]| -> Vec<[f32; 3]> { vertices.iter().map(|v| points[*v as usize]).collect() };
        write!(file, "    def BasisCurves \"lines\"\n    {{\n")?;
        list(file, "int[] curveVertexCounts", curves.iter().map(Vec::len))?;
        // As wide as what is drawn.
        let wide = |points: &[[f32; 3]]| {
            let [least, most] = extent(&gathered(points));
            vec![least.map(|x| x - 0.5 * WIDTH), most.map(|x| x + 0.5 * WIDTH)]
        };
        samples(file, frames, "float3[] extent", wide)?;
        samples(file, frames, "point3f[] points", gathered)?;
        writeln!(file, "        uniform token type = \"linear\"")?;
        write!(
            file,
            "        float[] widths = [{WIDTH}] (\n            interpolation = \"constant\"\n        )\n    }}\n"
        )?;
    }
    writeln!(file, "}}")
}

/// An attribute of whole numbers.
fn list(file: &mut dyn Write, name: &str, values: impl Iterator<Item = impl Display>) -> io::Result<()> {
    write!(file, "        {name} = [")?;
    for (index, value) in values.enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        write!(file, "{comma}{value}")?;
    }
    writeln!(file, "]")
}

/// An attribute of vectors with a sample per frame.
fn samples(
    file: &mut dyn Write,
    frames: &mut Frames<'_>,
    name: &str,
    of: impl Fn(&[[f32; 3]]) -> Vec<[f32; 3]>,
) -> io::Result<()> {
    writeln!(file, "        {name}.timeSamples = {{")?;
    for frame in 0..frames.count {
        write!(file, "            {frame}: [")?;
        for (index, [x, y, z]) in of(&frames.positions(frame)?).into_iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(file, "{comma}({x}, {y}, {z})")?;
        }
        writeln!(file, "],")?;
    }
    writeln!(file, "        }}")
}

/// Lines that follow each other as one curve.
fn curves(lines: &[[u32; 2]]) -> Vec<Vec<u32>> {
    let mut curves: Vec<Vec<u32>> = Vec::new();
    for [start, end] in lines {
        match curves.last_mut().filter(|curve| curve.last() == Some(start)) {
            Some(curve) => curve.push(*end),
            None => curves.push(vec![*start, *end]),
        }
    }
    curves
}
