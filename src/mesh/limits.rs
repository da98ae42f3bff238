//! Strain limits of single edges: those of faces of another fabric ([`super::Swatch::strain_limit`]).

use std::ops::Range;

use super::links::key;
use super::{Face, Link, Swatch};
use crate::error::{Error, Result};

/// How far an edge may be stretched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum EdgeLimit {
    /// As far as the limit of all of the cloth allows ([`crate::Settings::strain_limit`]).
    #[default]
    Common,
    /// This far, whatever the rest of the cloth may.
    Own(f32),
    /// This far, and no further than the limit of all: it is between two fabrics, one of which has no limit of its own.
    Least(f32),
}

impl EdgeLimit {
    /// The limit where that of all of the cloth is `common`.
    pub fn beside(self, common: f32) -> f32 {
        match self {
            Self::Common => common,
            Self::Own(own) => own,
            Self::Least(own) => own.min(common),
        }
    }

    /// The number that the edge has of its own.
    pub fn own(self) -> Option<f32> {
        match self {
            Self::Common => None,
            Self::Own(own) | Self::Least(own) => Some(own),
        }
    }

    /// That of an edge which is a side of faces with both limits.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Common, Self::Common) => Self::Common,
            (Self::Own(one), Self::Own(two)) => Self::Own(one.min(two)),
            (one, two) => Self::Least(one.own().unwrap_or(f32::INFINITY).min(two.own().unwrap_or(f32::INFINITY))),
        }
    }
}

/// Whether a number can be a strain limit at all; how small one may be depends on the mesh.
pub(crate) fn check_strain_limit(field: &'static str, index: Option<usize>, limit: f64) -> Result<()> {
    let expected = "above 0 and below 1 (100%); one percent is 0.01 or 1%";
    let wrong = Error::OutOfRange { field, index, value: limit, expected };
    if limit > 0.0 && limit < 1.0 { Ok(()) } else { Err(wrong) }
}

/// The limits of the edges, in their order; none where no swatch has one.
pub(super) fn edge_limits(faces: &[Face], edges: &[Link], swatches: &[Swatch]) -> Vec<EdgeLimit> {
    if swatches.iter().all(|swatch| swatch.strain_limit.is_none()) {
        return Vec::new();
    }
    let mut of_faces = vec![EdgeLimit::Common; faces.len()];
    for swatch in swatches {
        for face in &swatch.faces {
            of_faces[*face as usize] = swatch.strain_limit.map_or(EdgeLimit::Common, EdgeLimit::Own);
        }
    }
    let mut limits = vec![None; edges.len()];
    for (face, limit) in faces.iter().zip(of_faces) {
        let vertices = face.vertices();
        for (a, b) in vertices.iter().zip(vertices.iter().cycle().skip(1)) {
            let side = key(*a, *b);
            if let Ok(edge) = edges.binary_search_by_key(&side, |edge| key(edge.tail, edge.head)) {
                let found = &mut limits[edge];
                *found = Some(found.map_or(limit, |other: EdgeLimit| other.and(limit)));
            }
        }
    }
    limits.into_iter().map(Option::unwrap_or_default).collect()
}

/// The limits of a mesh to which another one was added, whose edges are the last.
pub(super) fn joined(mut limits: Vec<EdgeLimit>, more: &[EdgeLimit], added: Range<usize>) -> Vec<EdgeLimit> {
    if limits.is_empty() && more.is_empty() {
        return limits;
    }
    limits.resize(added.start, EdgeLimit::Common);
    limits.extend(more);
    limits.resize(added.end, EdgeLimit::Common);
    limits
}
