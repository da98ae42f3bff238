//! What all formats are read into: the file's own vertices and faces, checked for nothing but their indices and counts.

use std::collections::HashMap;

use super::{DroppedFace, Options, Place, fault};
use crate::error::Result;

/// Most names of groups and objects.
const MOST_NAMES: usize = 1 << 16;

/// A mesh as the file has it.
#[derive(Debug)]
pub(super) struct Raw {
    /// Whether places are lines, not bytes.
    pub(super) text: bool,
    pub(super) positions: Vec<[f32; 3]>,
    /// Where each position is in the file.
    pub(super) places: Vec<u64>,
    /// One per position, or none at all.
    pub(super) colors: Vec<[f32; 4]>,
    /// The vertices that are drawn; corners of faces refer to them.
    pub(super) corners: Vec<Corner>,
    /// Whether their texture coordinates mean anything.
    pub(super) textured: bool,
    pub(super) faces: Vec<RawFace>,
    pub(super) lines: Vec<RawLine>,
    /// How many faces the file had so far, those that are not in `faces` included.
    pub(super) face_count: usize,
    /// Polygons that were cut.
    pub(super) split: usize,
    /// Faces with too few corners.
    pub(super) degenerate: Vec<DroppedFace>,
    /// Names of groups, each once.
    pub(super) names: Vec<String>,
    /// Their numbers. Only looked up.
    numbers: HashMap<String, u32>,
    /// Sets of names, and where each was opened. Faces refer to them, so that a long list of names costs nothing per
    /// face. The first is empty.
    pub(super) sets: Vec<(Vec<u32>, u64)>,
}

/// A vertex that is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Corner {
    pub(super) vertex: u32,
    pub(super) uv: [f32; 2],
}

/// A triangle or a quad.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawFace {
    /// Numbers of [`Corner`]s; the last repeats the third in a triangle.
    pub(super) corners: [u32; 4],
    pub(super) quad: bool,
    /// Its number in the file.
    pub(super) index: u32,
    pub(super) place: u64,
    /// Two sets of names that it belongs to.
    pub(super) sets: [u32; 2],
}

/// A line between two positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawLine {
    pub(super) ends: [u32; 2],
    pub(super) sets: [u32; 2],
}

impl Raw {
    pub(super) fn new(text: bool) -> Self {
        Self {
            text,
            positions: Vec::new(),
            places: Vec::new(),
            colors: Vec::new(),
            corners: Vec::new(),
            textured: false,
            faces: Vec::new(),
            lines: Vec::new(),
            face_count: 0,
            split: 0,
            degenerate: Vec::new(),
            names: Vec::new(),
            numbers: HashMap::new(),
            sets: vec![(Vec::new(), 0)],
        }
    }

    pub(super) fn place(&self, at: u64) -> Place {
        if self.text { Place::Line(at) } else { Place::Byte(at) }
    }

    /// Whether so many more vertices are allowed.
    pub(super) fn check_vertices(&self, more: usize, at: u64, options: &Options) -> Result<()> {
        let most = options.most_vertices.min(u32::MAX as usize / 2);
        if self.positions.len().saturating_add(more) <= most {
            return Ok(());
        }
        Err(fault(self.place(at), format!("there are more than {most} vertices (most_vertices)")))
    }

    /// Whether so many more faces and lines are allowed.
    pub(super) fn check_faces(&self, more: usize, at: u64, options: &Options) -> Result<()> {
        let most = options.most_faces.min(u32::MAX as usize / 4);
        if self.faces.len().saturating_add(self.lines.len()).saturating_add(more) <= most {
            return Ok(());
        }
        Err(fault(self.place(at), format!("there are more than {most} faces and lines (most_faces)")))
    }

    /// The number of a name.
    pub(super) fn name(&mut self, name: String, at: u64) -> Result<u32> {
        if let Some(number) = self.numbers.get(&name) {
            return Ok(*number);
        }
        if self.names.len() == MOST_NAMES {
            return Err(fault(self.place(at), format!("there are more than {MOST_NAMES} groups")));
        }
        let number = self.names.len() as u32;
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        Ok(number)
    }

    /// The number of a set of names.
    pub(super) fn set(&mut self, names: Vec<u32>, at: u64) -> u32 {
        if names.is_empty() {
            return 0;
        }
        self.sets.push((names, at));
        self.sets.len() as u32 - 1
    }

    /// Adds a polygon of any number of corners.
    pub(super) fn add_polygon(&mut self, corners: &[u32], at: u64, sets: [u32; 2], options: &Options) -> Result<()> {
        let index = self.face_count;
        self.face_count += 1;
        // Those with too few corners count, too.
        let more = if corners.len() > 4 { corners.len() - 2 } else { 1 };
        self.check_faces(self.degenerate.len() + more, at, options)?;
        let face = |corners, quad| RawFace { corners, quad, index: index as u32, place: at, sets };
        match *corners {
            [a, b, c] => self.faces.push(face([a, b, c, c], false)),
            [a, b, c, d] => self.faces.push(face([a, b, c, d], true)),
            [a, ref others @ ..] if others.len() > 3 => {
                self.split += 1;
                self.faces.extend(others.windows(2).map(|pair| face([a, pair[0], pair[1], pair[1]], false)));
            }
            _ => self.degenerate.push(DroppedFace { face: index, place: self.place(at) }),
        }
        Ok(())
    }

    /// Adds a line.
    pub(super) fn add_line(&mut self, ends: [u32; 2], at: u64, sets: [u32; 2], options: &Options) -> Result<()> {
        self.check_faces(1, at, options)?;
        self.lines.push(RawLine { ends, sets });
        Ok(())
    }
}
