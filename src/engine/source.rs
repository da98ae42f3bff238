//! WGSL files and what they take from Rust.
//!
//! A kernel's text is its own file, then the files it shares with others, then constants, then the prelude. WGSL does
//! not care about the order of declarations, so line numbers of the kernel's file stay true and no preprocessor is
//! needed. A number that both languages need stands in Rust and reaches WGSL as one of the constants.

use std::fmt::Write;

use crate::engine::layout::{GROUP, GUARDS};

/// A number that WGSL takes from Rust.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// `const NAME: u32`.
    U32(u32),
    /// `const NAME: f32`; must be finite.
    F32(f32),
}

/// One WGSL file.
#[derive(Debug)]
pub struct Source {
    /// Name of the file, without its ending.
    pub stem: &'static str,
    /// Its text.
    pub wgsl: &'static str,
    /// Numbers that it takes from Rust, by their WGSL names.
    pub constants: &'static [(&'static str, Constant)],
    /// Files whose functions it calls.
    pub shared: &'static [&'static Source],
}

impl Source {
    /// A file that needs the prelude and nothing else.
    pub const fn new(stem: &'static str, wgsl: &'static str) -> Self {
        Self { stem, wgsl, constants: &[], shared: &[] }
    }

    /// With numbers of Rust's.
    #[must_use]
    pub const fn constants(mut self, constants: &'static [(&'static str, Constant)]) -> Self {
        self.constants = constants;
        self
    }

    /// With functions of other files.
    #[must_use]
    pub const fn shares(mut self, shared: &'static [&'static Source]) -> Self {
        self.shared = shared;
        self
    }

    /// The file, those it shares, each once, and the prelude.
    pub fn files(&'static self) -> Vec<&'static Source> {
        let mut files = Vec::new();
        self.collect(&mut files);
        PRELUDE.collect(&mut files);
        files
    }

    fn collect(&'static self, files: &mut Vec<&'static Self>) {
        if !files.iter().any(|file| std::ptr::eq(*file, self)) {
            files.push(self);
            self.shared.iter().for_each(|file| file.collect(files));
        }
    }

    /// Tells sources apart: each is a static of its own.
    pub(crate) fn identity(&'static self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// The whole text.
    pub fn text(&'static self) -> String {
        let files = self.files();
        let mut text: String = files.iter().map(|file| format!("{}\n", file.wgsl)).collect();
        for (name, constant) in files.iter().flat_map(|file| file.constants) {
            // Writing to a string cannot fail. A float is printed such that reading it gives the same bits.
            let _ = match constant {
                Constant::U32(value) => writeln!(text, "const {name}: u32 = {value}u;"),
                Constant::F32(value) => writeln!(text, "const {name}: f32 = {value:?}f;"),
            };
        }
        text
    }
}

/// What every kernel may use.
pub static PRELUDE: Source = Source::new("prelude", include_str!("../../shaders/prelude.wgsl"))
    .constants(&[("GROUP", Constant::U32(GROUP as u32)), ("GUARDS", Constant::U32(GUARDS as u32))]);

#[cfg(test)]
mod tests {
    use super::*;

    static SHARED: Source = Source::new("shared", "// shared").constants(&[("SMALL", Constant::F32(1e-30))]);
    static BOTH: Source = Source::new("both", "// both").shares(&[&SHARED]);
    static FILE: Source = Source::new("file", "// file").shares(&[&BOTH, &SHARED]);

    #[test]
    fn a_text_has_every_file_once_and_constants_of_the_same_bits() {
        let text = FILE.text();
        assert!(text.starts_with("// file\n// both\n// shared\n"));
        assert_eq!(text.matches("const SMALL: f32 = 1e-30f;").count(), 1);
        for value in [1e-30f32, 0.1, 3.0e38, f32::MIN_POSITIVE, 1_099_511_627_776.0, -0.7] {
            assert_eq!(format!("{value:?}").parse::<f32>().map(f32::to_bits), Ok(value.to_bits()));
        }
    }
}
