//! Edges that are not simply inextensible: those of fabrics that stretch, ropes, and springs with ends.

use std::ops::Range;

use super::check::check;
use super::links::key;
use super::swatch::STRETCHES;
use super::{EdgeKind, EdgeOverride, Face, Link, Swatch};
use crate::error::{Error, Result};

/// Stiffness that an edge may have \[N/m\]; from 1e12 on f32 tells none from an inextensible one.
pub(super) const STIFFNESSES: std::ops::RangeInclusive<f32> = 1e-9..=1e15;
/// The same in words.
pub(super) const STIFFNESSES_TOLD: &str = "in [1e-9, 1e15] N/m";

impl EdgeKind {
    /// Whether it keeps its rest length whatever pulls it: what edges do that nothing was said of.
    pub fn is_inextensible(self) -> bool {
        self == Self::Inextensible
    }

    /// Least and largest length, as parts of the rest length, that its strain is measured from, where `common` are
    /// those of [`crate::Settings::stretch_min`] and [`crate::Settings::stretch_max`].
    ///
    /// A compliant edge carries load by stretching, and all of that is strain. A rope may be as short as it likes, and
    /// an edge with ends may have any length between them.
    ///
    /// ```
    /// use taut::EdgeKind;
    ///
    /// assert_eq!(EdgeKind::Rope.band([1.0, 1.05]), [0.0, 1.0]);
    /// assert_eq!(EdgeKind::Compliant { stiffness: 500.0 }.band([1.0, 1.05]), [1.0, 1.0]);
    /// assert_eq!(EdgeKind::Inextensible.band([1.0, 1.05]), [1.0, 1.05]);
    /// ```
    pub fn band(self, common: [f64; 2]) -> [f64; 2] {
        match self {
            Self::Rope => [0.0, 1.0],
            Self::Limited { min, max, .. } => [min.into(), max.into()],
            Self::Compliant { .. } => [1.0; 2],
            _ => common,
        }
    }

    /// Checks the numbers of an exception.
    pub(super) fn check(self, index: usize) -> Result<()> {
        let at = Some(index);
        match self {
            Self::Spring { stiffness } => {
                let expected = "finite and not negative, in N/m";
                check("overrides.kind.stiffness", at, stiffness, 0.0..=f32::MAX, expected)
            }
            Self::Compliant { stiffness } => {
                check("overrides.kind.stiffness", at, stiffness, STIFFNESSES, STIFFNESSES_TOLD)
            }
            Self::Limited { stiffness, min, max } => {
                let highest = *STIFFNESSES.end();
                check("overrides.kind.stiffness", at, stiffness, 0.0..=highest, "in [0, 1e15] N/m")?;
                check("overrides.kind.min", at, min, 0.0..=1.0, "in [0, 1], as a part of the rest length")?;
                check("overrides.kind.max", at, max, 1.0..=100.0, "in [1, 100], as a part of the rest length")
            }
            Self::Inextensible | Self::Rope | Self::Free => Ok(()),
        }
    }
}

/// Area of a face \[m²\].
fn area(positions: &[[f32; 3]], face: &Face) -> f64 {
    let at = |vertex: u32| glam::DVec3::from_array(positions[vertex as usize].map(f64::from));
    match *face {
        Face::Triangle([a, b, c]) => 0.5 * (at(b) - at(a)).cross(at(c) - at(a)).length(),
        Face::Quad([a, b, c, d]) => 0.5 * (at(c) - at(a)).cross(at(d) - at(b)).length(),
    }
}

/// What every edge is, in their order; none where all are inextensible.
///
/// An edge of rest length l that stands for a strip of width b of a fabric of Y \[N/m\] has the stiffness Y b/l. Of a
/// quad of area A each side stands for half, b = A/(2 l). Of a triangle it is A/l: of the two threads of half a
/// square that is its half; and where all three sides of equilateral triangles count, springs of Y √3/2 are a membrane
/// whose modulus is Y.
pub(super) fn edge_kinds(
    positions: &[[f32; 3]],
    faces: &[Face],
    edges: &[Link],
    stretch: Option<f32>,
    swatches: &[Swatch],
    overrides: &[EdgeOverride],
) -> Vec<EdgeKind> {
    let place = |[a, b]: [u32; 2]| {
        let side = key(a, b);
        edges.binary_search_by_key(&side, |edge| key(edge.tail, edge.head)).ok()
    };
    let mut kinds = vec![EdgeKind::Inextensible; edges.len()];
    if stretch.is_some() || swatches.iter().any(|swatch| swatch.stretch.is_some()) {
        let mut of_faces = vec![stretch; faces.len()];
        for swatch in swatches {
            for face in &swatch.faces {
                of_faces[*face as usize] = swatch.stretch;
            }
        }
        // Beside a face that does not stretch an edge does not, either: stiffnesses side by side add up. Nor does one
        // without faces.
        let mut sums: Vec<Option<f64>> = vec![None; edges.len()];
        for (face, stretch) in faces.iter().zip(of_faces) {
            let halves = if matches!(face, Face::Quad(_)) { 0.5 } else { 1.0 };
            let area = halves * area(positions, face);
            let vertices = face.vertices();
            for (a, b) in vertices.iter().zip(vertices.iter().cycle().skip(1)) {
                let Some(edge) = place([*a, *b]) else { continue };
                let more = stretch
                    .map_or(f64::INFINITY, |stretch| f64::from(stretch) * area / f64::from(edges[edge].rest).powi(2));
                sums[edge] = Some(sums[edge].unwrap_or(0.0) + more);
            }
        }
        for (kind, sum) in kinds.iter_mut().zip(sums) {
            if let Some(sum) = sum.filter(|sum| sum.is_finite()) {
                let [low, high] = [STIFFNESSES.start(), STIFFNESSES.end()].map(|end| f64::from(*end));
                *kind = EdgeKind::Compliant { stiffness: sum.clamp(low, high) as f32 };
            }
        }
    }
    for change in overrides {
        if let Some(edge) = place(change.ends) {
            kinds[edge] = change.kind;
        }
    }
    if kinds.iter().all(|kind| kind.is_inextensible()) {
        kinds.clear();
    }
    kinds
}

/// Checks how a fabric stretches.
pub(super) fn check_stretch(field: &'static str, index: Option<usize>, stretch: Option<f32>) -> Result<()> {
    match stretch {
        Some(value) if !STRETCHES.contains(&value) => {
            Err(Error::OutOfRange { field, index, value: value.into(), expected: "in [1e-3, 1e9] N/m" })
        }
        _ => Ok(()),
    }
}

/// The kinds of a mesh to which another one was added, whose edges are the last.
pub(super) fn joined(mut kinds: Vec<EdgeKind>, more: &[EdgeKind], added: Range<usize>) -> Vec<EdgeKind> {
    if kinds.is_empty() && more.is_empty() {
        return kinds;
    }
    kinds.resize(added.start, EdgeKind::Inextensible);
    kinds.extend(more);
    kinds.resize(added.end, EdgeKind::Inextensible);
    kinds
}
