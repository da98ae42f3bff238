//! TOML with places: every value knows its key and where it is in the text, so that every error can say so.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, Result};

/// Keys longer than this are not compared with known ones, nor shown in full.
const LONGEST_KEY: usize = 48;
/// No more places are noted, and none in deeper tables: a hostile file must not make the notes larger than itself.
const MOST_PLACES: usize = 100_000;
const DEEPEST_PLACE: usize = 5;

/// The text of a file, and where its keys are.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    /// As the caller named it.
    pub(super) file: String,
    text: String,
    /// First byte of every key's value.
    places: BTreeMap<String, usize>,
    /// Values that are not of the file, and where their labels begin: behind the text, one after the other.
    changes: Vec<(usize, String)>,
}

impl Text {
    pub(super) fn new(file: &str, text: &str) -> Self {
        Self { file: file.to_owned(), text: text.to_owned(), places: BTreeMap::new(), changes: Vec::new() }
    }

    /// What was read.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Makes room for the label of a value that is not of the file, and tells where it begins.
    pub(super) fn add_change(&mut self, label: String) -> usize {
        let end = self.changes.last().map_or(self.text.len(), |(start, label)| start + label.len());
        self.changes.push((end + 1, label));
        end + 1
    }

    /// An error at a byte of the text.
    pub(super) fn error_at(&self, byte: usize, key: &str, problem: impl Into<String>) -> Error {
        let of = self.changes.iter().rev().find(|(start, _)| *start <= byte);
        let (file, text, byte) =
            of.map_or((&self.file, &self.text, byte), |(start, label)| (label, label, byte - start));
        let before = text.get(..byte).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let (file, key, problem) = (file.clone(), key.to_owned(), problem.into());
        Error::SceneFile { file, line, column, key, problem }
    }

    /// An error at a key, or at the innermost table around it that the file has.
    pub(super) fn error(&self, key: &str, problem: impl Into<String>) -> Error {
        let mut around = key;
        let byte = loop {
            if let Some(byte) = self.places.get(around) {
                break *byte;
            }
            match around.rfind(['.', '[']) {
                Some(end) => around = &around[..end],
                None => break 0,
            }
        };
        self.error_at(byte, key, problem)
    }

    /// Notes where every key of a table is.
    pub(super) fn note(&mut self, table: &DeTable<'_>) {
        note(&mut self.places, "", table, DEEPEST_PLACE);
    }
}

fn note(places: &mut BTreeMap<String, usize>, path: &str, table: &DeTable<'_>, depth: usize) {
    for (key, value) in table {
        if places.len() >= MOST_PLACES || depth == 0 {
            return;
        }
        let path = joined(path, key.get_ref());
        places.insert(path.clone(), key.span().start);
        match value.get_ref() {
            DeValue::Table(table) => note(places, &path, table, depth - 1),
            DeValue::Array(array) => {
                for (index, value) in array.iter().enumerate() {
                    if let DeValue::Table(table) = value.get_ref() {
                        let path = format!("{path}[{index}]");
                        places.insert(path.clone(), value.span().start);
                        note(places, &path, table, depth - 1);
                    }
                }
            }
            _ => {}
        }
    }
}

fn joined(path: &str, key: &str) -> String {
    let key = shown(key);
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// A key or a word of the file for a message: without control characters, and not too long.
fn shown(word: &str) -> String {
    let short: String = word.chars().take(LONGEST_KEY).collect();
    let cut = if short.len() < word.len() { "…" } else { "" };
    format!("{}{cut}", short.escape_debug().to_string().replace("\\'", "'"))
}

/// The known word that was probably meant, as the end of a sentence; else all of them.
pub(super) fn suggestion(word: &str, known: &[&str]) -> String {
    let near = known.iter().copied().map(|known| (strsim::damerau_levenshtein(word, known), known));
    let nearest = if word.len() <= LONGEST_KEY { near.min() } else { None };
    match nearest {
        // A word of which less than half is right was not meant.
        Some((distance, nearest)) if 2 * distance < nearest.len().max(3) => format!("did you mean `{nearest}`?"),
        _ => format!("known are {}", known.join(", ")),
    }
}

/// A table all of whose keys are known.
#[derive(Clone, Debug)]
pub(super) struct Table<'a> {
    text: &'a Text,
    table: &'a DeTable<'a>,
    path: String,
}

impl<'a> Table<'a> {
    /// # Errors
    /// [`Error::SceneFile`] for the first key, in the order of the text, that is not known.
    pub(super) fn new(text: &'a Text, table: &'a DeTable<'a>, path: String, known: &[&str]) -> Result<Self> {
        let unknown = table.iter().filter(|(key, _)| !known.contains(&key.get_ref().as_ref()));
        if let Some((key, _)) = unknown.min_by_key(|(key, _)| key.span().start) {
            let (word, place) = (key.get_ref(), joined(&path, key.get_ref()));
            let suggestion = suggestion(word, known);
            return Err(text.error_at(key.span().start, &place, format!("there is no key `{place}`; {suggestion}")));
        }
        Ok(Self { text, table, path })
    }

    /// The keys of this table, for a closer look at which are there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// The place of this table.
    pub(super) fn name(&self) -> &str {
        &self.path
    }

    /// The place of a key of this table.
    pub(super) fn path(&self, key: &str) -> String {
        joined(&self.path, key)
    }

    /// An error at a key of this table.
    pub(super) fn error(&self, key: &str, problem: impl Into<String>) -> Error {
        self.text.error(&self.path(key), problem)
    }

    /// An error about the table as a whole.
    pub(super) fn complain(&self, problem: impl Into<String>) -> Error {
        self.text.error(&self.path, problem)
    }

    /// The value of a key, if the file has it.
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        let value = self.table.get(key)?;
        Some(Value { text: self.text, value, path: self.path(key) })
    }

    /// The value of a key that must be there.
    pub(super) fn need(&self, key: &str, what: &str) -> Result<Value<'a>> {
        self.get(key).ok_or_else(|| {
            let path = self.path(key);
            self.complain(format!("`{path}` is missing: {what}"))
        })
    }

    /// Sets a number if the file has it.
    pub(super) fn set(&self, key: &str, target: &mut f32) -> Result<()> {
        self.get(key).map_or(Ok(()), |value| value.number().map(|number| *target = number))
    }

    /// Sets three numbers if the file has them.
    pub(super) fn set_vector(&self, key: &str, target: &mut [f32; 3]) -> Result<()> {
        self.get(key).map_or(Ok(()), |value| value.numbers().map(|numbers| *target = numbers))
    }

    /// Sets a whole number if the file has it.
    pub(super) fn set_count(&self, key: &str, target: &mut u32) -> Result<()> {
        self.get(key).map_or(Ok(()), |value| value.count(0..=u32::MAX).map(|count| *target = count))
    }

    /// Sets a truth value if the file has it.
    pub(super) fn set_bool(&self, key: &str, target: &mut bool) -> Result<()> {
        self.get(key).map_or(Ok(()), |value| value.boolean().map(|boolean| *target = boolean))
    }
}

/// A value of the file.
#[derive(Clone, Debug)]
pub(super) struct Value<'a> {
    text: &'a Text,
    value: &'a Spanned<DeValue<'a>>,
    path: String,
}

impl<'a> Value<'a> {
    /// Its place in the file.
    pub(super) fn key(&self) -> &str {
        &self.path
    }

    /// An error at this value. The problem continues a sentence that begins with the key.
    pub(super) fn error(&self, problem: impl std::fmt::Display) -> Error {
        self.text.error_at(self.value.span().start, &self.path, format!("`{}` {problem}", self.path))
    }

    fn wrong_type(&self, expected: &str) -> Error {
        let found = match self.value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.error(format!("is {found}, but must be {expected}"))
    }

    /// The text of a number as Rust parses it, decimal where the number is whole.
    fn digits(&self) -> Result<String> {
        match self.value.get_ref() {
            DeValue::Float(float) => Ok(float.as_str().to_owned()),
            DeValue::Integer(_) => Ok(self.integer()?.to_string()),
            _ => Err(self.wrong_type("a number")),
        }
    }

    fn integer(&self) -> Result<i128> {
        match self.value.get_ref() {
            DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix())
                .map_err(|_| self.error("is too large for a whole number")),
            _ => Err(self.wrong_type("a whole number")),
        }
    }

    /// A finite number. It is parsed as f32, not rounded twice: what was printed is read back to the bit.
    pub(super) fn number(&self) -> Result<f32> {
        let number = self.number_or_infinity()?;
        if number.is_finite() {
            Ok(number)
        } else {
            Err(self.error(format!("is {number}, but must be a finite number")))
        }
    }

    /// A number that may be infinite.
    pub(super) fn number_or_infinity(&self) -> Result<f32> {
        let number: f32 = self.digits()?.parse().map_err(|_| self.wrong_type("a number"))?;
        if number.is_nan() { Err(self.error("is not a number")) } else { Ok(number) }
    }

    /// A finite number with all its digits.
    pub(super) fn precise(&self) -> Result<f64> {
        let number: f64 = self.digits()?.parse().map_err(|_| self.wrong_type("a number"))?;
        if number.is_finite() {
            Ok(number)
        } else {
            Err(self.error(format!("is {number}, but must be a finite number")))
        }
    }

    /// A finite number in a range.
    pub(super) fn precise_in(&self, valid: impl Fn(f64) -> bool, expected: &str) -> Result<f64> {
        let number = self.precise()?;
        if valid(number) {
            Ok(number)
        } else {
            Err(self.error(format!("is {}, but must be {expected}", crate::error::number(number))))
        }
    }

    /// A list of exactly N finite numbers.
    pub(super) fn numbers<const N: usize>(&self) -> Result<[f32; N]> {
        let list = self.list(N, &format!("a list of {N} numbers"))?;
        let numbers = list.iter().map(Self::number).collect::<Result<Vec<f32>>>()?;
        <[f32; N]>::try_from(numbers).map_err(|_| self.wrong_length(list.len(), N))
    }

    fn wrong_length(&self, found: usize, expected: usize) -> Error {
        self.error(format!("has {found} entries, but needs {expected}"))
    }

    /// A whole number in a range.
    pub(super) fn count(&self, range: RangeInclusive<u32>) -> Result<u32> {
        let count = self.integer()?;
        let (least, most) = (*range.start(), *range.end());
        match u32::try_from(count) {
            Ok(count) if range.contains(&count) => Ok(count),
            _ => Err(self.error(format!("is {count}, but must be in {least} … {most}"))),
        }
    }

    /// A whole number of 64 bits.
    pub(super) fn long(&self) -> Result<u64> {
        let count = self.integer()?;
        u64::try_from(count).map_err(|_| self.error(format!("is {count}, but must be at least 0, in 64 bits")))
    }

    pub(super) fn boolean(&self) -> Result<bool> {
        self.value.get_ref().as_bool().ok_or_else(|| self.wrong_type("true or false"))
    }

    pub(super) fn string(&self) -> Result<&'a str> {
        self.value.get_ref().as_str().ok_or_else(|| self.wrong_type("a string"))
    }

    pub(super) fn is_string(&self) -> bool {
        self.value.get_ref().is_str()
    }

    pub(super) fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    pub(super) fn is_list(&self) -> bool {
        self.value.get_ref().is_array()
    }

    /// One of some words.
    pub(super) fn word(&self, known: &[&'static str]) -> Result<&'static str> {
        let word = self.string()?;
        let found = known.iter().find(|known| **known == word).copied();
        found.ok_or_else(|| self.error(format!("is \"{}\"; {}", shown(word), suggestion(word, known))))
    }

    /// The entries of a list of at most `most`.
    pub(super) fn list(&self, most: usize, expected: &str) -> Result<Vec<Value<'a>>> {
        let array = self.value.get_ref().as_array().ok_or_else(|| self.wrong_type(expected))?;
        if array.len() > most {
            return Err(self.error(format!("has {} entries, but must have at most {most}", array.len())));
        }
        let entry = |(index, value)| Value { text: self.text, value, path: format!("{}[{index}]", self.path) };
        Ok(array.iter().enumerate().map(entry).collect())
    }

    /// A list of vertices.
    pub(super) fn vertices(&self) -> Result<Vec<u32>> {
        self.list(usize::MAX, "a list of vertices")?.iter().map(|entry| entry.count(0..=u32::MAX)).collect()
    }

    /// A table all of whose keys are known.
    pub(super) fn table(&self, known: &[&str]) -> Result<Table<'a>> {
        let table = self.value.get_ref().as_table().ok_or_else(|| self.wrong_type("a table"))?;
        Table::new(self.text, table, self.path.clone(), known)
    }

    /// A table whose keys are names of the user's.
    pub(super) fn named(&self) -> Result<Vec<(&'a str, Value<'a>)>> {
        let table = self.value.get_ref().as_table().ok_or_else(|| self.wrong_type("a table"))?;
        let entry = |(key, value): (&'a Spanned<std::borrow::Cow<'a, str>>, &'a Spanned<DeValue<'a>>)| {
            let name = key.get_ref().as_ref();
            (name, Value { text: self.text, value, path: joined(&self.path, name) })
        };
        Ok(table.iter().map(entry).collect())
    }
}
