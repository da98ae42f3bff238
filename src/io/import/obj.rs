//! Wavefront OBJ.
//!
//! Read by hand: the libraries for it name no line in their errors and give up the groups of single faces. What a mesh
//! needs of the format is small.

use std::borrow::Cow;
use std::collections::HashMap;

use super::raw::{Corner, Raw};
use super::{Options, Place, fault, quote};
use crate::error::Result;

/// No texture coordinate.
const NONE: u32 = u32::MAX;

pub(super) fn parse(bytes: &[u8], options: &Options) -> Result<Raw> {
    let mut reader = Reader {
        raw: Raw::new(true),
        uvs: Vec::new(),
        corners: HashMap::new(),
        opened: [None, None],
        sets: [0, 0],
        options,
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut statements = Statements { rest: bytes, line: 0 };
    while let Some((line, statement)) = statements.next() {
        reader.read(line, &statement)?;
    }
    Ok(reader.raw)
}

/// Lines, those that end with a backslash joined with the following.
struct Statements<'a> {
    rest: &'a [u8],
    line: u64,
}

impl<'a> Statements<'a> {
    /// The number of its first line and a statement.
    fn next(&mut self) -> Option<(u64, Cow<'a, [u8]>)> {
        let (mut part, mut continued) = self.line()?;
        let first = self.line;
        let mut statement = Cow::Borrowed(part);
        while continued {
            (part, continued) = self.line().unwrap_or((b"", false));
            let joined = statement.to_mut();
            joined.push(b' ');
            joined.extend_from_slice(part);
        }
        Some((first, statement))
    }

    /// A line without its end, and whether the next one belongs to it.
    fn line(&mut self) -> Option<(&'a [u8], bool)> {
        if self.rest.is_empty() {
            return None;
        }
        self.line += 1;
        let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        let line = line.trim_ascii_end();
        match line.strip_suffix(b"\\") {
            Some(part) => Some((part, true)),
            None => Some((line, false)),
        }
    }
}

struct Reader<'a> {
    raw: Raw,
    uvs: Vec<[f32; 2]>,
    /// The corner of a position and a texture coordinate. Only looked up.
    corners: HashMap<(u32, u32), u32>,
    /// Names of an object and of groups that no face or line was in yet, and their line: only those that are used cost
    /// memory.
    opened: [Option<(Vec<u32>, u64)>; 2],
    /// The sets of names of the current object and of the current groups.
    sets: [u32; 2],
    options: &'a Options,
}

impl Reader<'_> {
    fn read(&mut self, line: u64, statement: &[u8]) -> Result<()> {
        let words = statement.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let mut words = words.take_while(|word| !word.starts_with(b"#"));
        match words.next() {
            Some(b"v") => self.read_position(line, words),
            Some(b"vt") => self.read_uv(line, words),
            Some(b"f" | b"fo") => self.read_face(line, words),
            Some(b"l") => self.read_line(line, words),
            Some(b"g") => {
                let mut set = Vec::new();
                for word in words {
                    set.push(self.raw.name(String::from_utf8_lossy(word).into_owned(), line)?);
                }
                set.sort_unstable();
                set.dedup();
                self.opened[1] = Some((set, line));
                Ok(())
            }
            Some(b"o") => {
                let name = words.map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ");
                let set = if name.is_empty() { Vec::new() } else { vec![self.raw.name(name, line)?] };
                self.opened[0] = Some((set, line));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn read_position<'w>(&mut self, line: u64, words: impl Iterator<Item = &'w [u8]>) -> Result<()> {
        // x y z, perhaps a weight, which a mesh has no use for; or a color, perhaps with alpha.
        let mut numbers = [1.0; 7];
        let mut count = 0;
        for word in words {
            if let Some(place) = numbers.get_mut(count) {
                *place = number(line, word)?;
            }
            count += 1;
        }
        if !matches!(count, 3 | 4 | 6 | 7) {
            return Err(fault(
                Place::Line(line),
                format!("a vertex has 3, 4, 6 or 7 numbers, but this one has {count}"),
            ));
        }
        self.raw.check_vertices(1, line, self.options)?;
        let [x, y, z, red, green, blue, alpha] = numbers;
        if count >= 6 || !self.raw.colors.is_empty() {
            self.raw.colors.resize(self.raw.positions.len(), [1.0; 4]);
            self.raw.colors.push(if count >= 6 { [red, green, blue, alpha] } else { [1.0; 4] });
        }
        self.raw.positions.push([x, y, z]);
        self.raw.places.push(line);
        Ok(())
    }

    fn read_uv<'w>(&mut self, line: u64, words: impl Iterator<Item = &'w [u8]>) -> Result<()> {
        let mut uv = [0.0; 2];
        let mut count = 0;
        for (place, word) in uv.iter_mut().zip(words) {
            *place = number(line, word)?;
            count += 1;
        }
        if count == 0 {
            return Err(fault(Place::Line(line), "a texture coordinate has no number"));
        }
        if self.uvs.len() >= self.options.most_vertices {
            let most = self.options.most_vertices;
            return Err(fault(
                Place::Line(line),
                format!("there are more than {most} texture coordinates (most_vertices)"),
            ));
        }
        self.uvs.push(uv);
        Ok(())
    }

    fn read_face<'w>(&mut self, line: u64, words: impl Iterator<Item = &'w [u8]>) -> Result<()> {
        let mut corners = Vec::new();
        for word in words {
            let key = self.corner(line, word)?;
            let uv = self.uvs.get(key.1 as usize).copied();
            self.raw.textured |= uv.is_some();
            let corner = *self.corners.entry(key).or_insert_with(|| {
                self.raw.corners.push(Corner { vertex: key.0, uv: uv.unwrap_or_default() });
                self.raw.corners.len() as u32 - 1
            });
            corners.push(corner);
        }
        let sets = self.sets();
        self.raw.add_polygon(&corners, line, sets, self.options)
    }

    fn read_line<'w>(&mut self, line: u64, words: impl Iterator<Item = &'w [u8]>) -> Result<()> {
        let mut previous = None;
        for word in words {
            let (vertex, _) = self.corner(line, word)?;
            if let Some(previous) = previous.replace(vertex) {
                // Only now: a set that nothing is in would be counted by nobody.
                let sets = self.sets();
                self.raw.add_line([previous, vertex], line, sets, self.options)?;
            }
        }
        Ok(())
    }

    /// The position and the texture coordinate of `v`, `v/vt`, `v//vn` or `v/vt/vn`; normals are not looked at.
    fn corner(&self, line: u64, word: &[u8]) -> Result<(u32, u32)> {
        let mut parts = word.split(|byte| *byte == b'/');
        let vertex = index(line, word, parts.next().unwrap_or_default(), self.raw.positions.len(), "vertex")?;
        let uv = match parts.next() {
            None | Some(b"") => NONE,
            Some(part) => index(line, word, part, self.uvs.len(), "texture coordinate")?,
        };
        Ok((vertex, uv))
    }

    /// The sets of names that a face or line is in.
    fn sets(&mut self) -> [u32; 2] {
        for (set, opened) in self.sets.iter_mut().zip(&mut self.opened) {
            if let Some((names, line)) = opened.take() {
                *set = self.raw.set(names, line);
            }
        }
        self.sets
    }
}

fn number(line: u64, word: &[u8]) -> Result<f32> {
    let parsed = std::str::from_utf8(word).ok().and_then(|text| text.parse::<f32>().ok());
    match parsed {
        Some(number) if number.is_finite() => Ok(number),
        _ => Err(fault(Place::Line(line), format!("{} is not a finite number", quote(word)))),
    }
}

/// From 1, or backwards from −1; of those defined before it.
fn index(line: u64, word: &[u8], part: &[u8], count: usize, what: &str) -> Result<u32> {
    let parsed = std::str::from_utf8(part).ok().and_then(|text| text.parse::<i64>().ok());
    let Some(index) = parsed else {
        return Err(fault(Place::Line(line), format!("{} is not a corner of a face or line", quote(word))));
    };
    let from_zero = if index < 0 { index.checked_add(count as i64) } else { index.checked_sub(1) };
    match from_zero {
        Some(place) if (0..count as i64).contains(&place) => Ok(place as u32),
        _ => Err(fault(Place::Line(line), format!("it names {what} {index}, but there are {count} before it"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_nothing_is_in_take_no_memory() {
        let many = "v 0 0 0\nv 1 0 0\n".to_owned() + &"g a b\nl\nl 1\n".repeat(1000);
        let raw = parse(many.as_bytes(), &Options::default()).expect("the file is good");
        assert_eq!(raw.sets.len(), 1, "the empty set alone");
        let raw = parse((many + "l 1 2\n").as_bytes(), &Options::default()).expect("the file is good");
        assert_eq!((raw.sets.len(), raw.lines[0].sets), (2, [0, 1]));
    }
}
