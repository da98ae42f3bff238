//! Other values for keys of a file, as a sweep over parameters has them.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::table::{Text, suggestion};
use crate::error::Result;

/// Before one of [`FABRIC`]: that key of every cloth.
const EVERY: &str = "fabric.";
/// What a fabric decides of a cloth.
const FABRIC: [&str; 5] = ["bending", "damping", "density", "material", "shear"];

/// A key of a scene file, and the value that it shall have instead of its own or of the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// As errors spell it: `cloth.bending`, `solids[0].friction`, `solver.yarn_sweep.sweeps`. Tables that are missing
    /// are made, entries of lists are not. `fabric.material`, `fabric.density`, `fabric.shear`, `fabric.bending` and
    /// `fabric.damping` are those keys of every cloth.
    pub key: String,
    /// TOML (`1e-6`, `[0, -9.81, 0]`, `"auto"`); what is none is a string, so that quotes may be left out.
    pub value: String,
}

impl Change {
    /// What errors about it call the file.
    pub(super) fn label(&self) -> String {
        format!("{}={}", self.key, self.value)
    }

    /// Whether another change can be of the same value.
    ///
    /// ```
    /// use taut::scene::file::Change;
    ///
    /// let change = |key: &str| Change { key: key.into(), value: "1e-6".into() };
    /// assert!(change("fabric.bending").meets(&change("cloth[1].bending")));
    /// assert!(!change("cloth[0].bending").meets(&change("cloth[1].bending")));
    /// ```
    pub fn meets(&self, other: &Self) -> bool {
        let one_of = |every: &Self, one: &Self| {
            let (Some(name), Some((cloth, own))) = (every.key.strip_prefix(EVERY), one.key.split_once('.')) else {
                return false;
            };
            name == own && entry(cloth).is_some_and(|(table, _)| table == "cloth")
        };
        self.key == other.key || one_of(self, other) || one_of(other, self)
    }

    /// The fabric that it gives to all of a scene whose cloth is one.
    pub(super) fn material(&self) -> Option<&str> {
        let named = ["cloth.material", "fabric.material"].contains(&self.key.as_str());
        named.then(|| self.value.trim_matches(['"', '\'']))
    }
}

/// Values as a parser of its own read them, with places behind the end of the file: those of their labels in `text`.
pub(super) struct Parsed<'a> {
    change: &'a Change,
    /// Where its label begins.
    start: usize,
    value: String,
}

impl<'a> Parsed<'a> {
    pub(super) fn new(changes: &'a [Change], text: &mut Text) -> Vec<Self> {
        let parsed = |change: &'a Change| {
            let start = text.add_change(change.label());
            // Blanks bring the value to its place.
            let pad = " ".repeat(start + change.key.len() - 1);
            let mut value = format!("{pad}v={}", change.value);
            let entries = DeTable::parse(&value).map(|table| table.get_ref().len());
            if entries.ok() != Some(1) {
                value = format!("{pad}v={}", quoted(&change.value));
            }
            Self { change, start, value }
        };
        changes.iter().map(parsed).collect()
    }

    /// Puts the value into the document.
    pub(super) fn apply<'d>(&'d self, document: &mut DeTable<'d>, text: &Text) -> Result<()> {
        let key = &self.change.key;
        let Some(name) = key.strip_prefix(EVERY) else { return self.put(document, text, key) };
        if !FABRIC.contains(&name) {
            let problem = format!("there is no key `{key}`; {}", suggestion(name, &FABRIC));
            return Err(text.error_at(self.start, key, problem));
        }
        let cloths = match document.get("cloth").map(Spanned::get_ref) {
            Some(DeValue::Array(cloths)) => cloths.len(),
            _ => return self.put(document, text, &format!("cloth.{name}")),
        };
        (0..cloths).try_for_each(|index| self.put(document, text, &format!("cloth[{index}].{name}")))
    }

    /// Puts the value to one key of the document.
    fn put<'d>(&'d self, document: &mut DeTable<'d>, text: &Text, key: &str) -> Result<()> {
        let complain = |problem: String| text.error_at(self.start, key, problem);
        let span = self.start..self.start + self.change.key.len();
        let value = DeTable::parse(&self.value).ok().and_then(|mut table| table.get_mut().remove("v"));
        let value = value.ok_or_else(|| complain(format!("`{key}` has no value")))?;
        let mut parts = key.split('.').peekable();
        let mut table = document;
        while let Some(part) = parts.next() {
            let (name, index) = entry(part).ok_or_else(|| complain(format!("`{key}` is not the name of a key")))?;
            if parts.peek().is_none() && index.is_none() {
                // With its own key, so that errors about it do not point into the file.
                table.remove(name);
                table.insert(spelled(name, &span), value);
                return Ok(());
            }
            if !table.contains_key(name) && index.is_none() {
                table.insert(spelled(name, &span), Spanned::new(span.clone(), DeValue::Table(DeTable::new())));
            }
            let around = &key[..key.find(part).unwrap_or_default() + part.len()];
            let found = table.get_mut(name).map(Spanned::get_mut);
            let found = match (found, index) {
                (Some(DeValue::Array(list)), Some(index)) => {
                    let entries = list.len();
                    let found = list.get_mut(index).map(Spanned::get_mut);
                    found.ok_or_else(|| complain(format!("there is no `{around}`: there are {entries} of them")))?
                }
                (Some(DeValue::Array(_)), None) => {
                    return Err(complain(format!("`{around}` is a list: `{around}[0]` is its first entry")));
                }
                (Some(found), None) => found,
                (_, Some(_)) => return Err(complain(format!("there is no `{around}`: `{name}` is no list"))),
                (None, None) => return Err(complain(format!("there is no `{around}`"))),
            };
            match found {
                DeValue::Table(inner) => table = inner,
                _ => return Err(complain(format!("`{around}` is no table"))),
            }
        }
        Err(complain(format!("`{key}` is an entry of a list: a key of it can be set")))
    }
}

fn spelled<'d>(name: &str, span: &Range<usize>) -> Spanned<Cow<'d, str>> {
    Spanned::new(span.clone(), Cow::Owned(name.to_owned()))
}

/// A name and the number behind it in brackets, if there is one.
fn entry(part: &str) -> Option<(&str, Option<usize>)> {
    let plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    let (name, index) = match part.strip_suffix(']').map(|part| part.split_once('[')) {
        Some(split) => {
            let (name, index) = split?;
            (name, Some(index.parse().ok()?))
        }
        None => (part, None),
    };
    plain(name).then_some((name, index))
}

/// As a string of TOML.
fn quoted(word: &str) -> String {
    let escaped: String = word
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}
