//! JSON from strangers: every value is checked, and an error names the place it is about.

use std::fmt;
use std::io::{self, Read};

use serde_json::{Map, Value};

/// Why a result file cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub(crate) enum ReadError {
    /// The bytes could not be read.
    Io(io::Error),
    /// There are more bytes than the caller allows.
    TooLarge {
        /// How many are allowed.
        limit: u64,
    },
    /// The bytes are not JSON; the cause tells line and column.
    NotJson(serde_json::Error),
    /// The file is of a version that this program does not know.
    Version {
        /// The file's version.
        found: u64,
        /// The version that this program reads.
        known: u32,
    },
    /// A field is not there. A field without a value must be there too, as null.
    Missing {
        /// The field, as in `rows[3].solver`.
        path: String,
    },
    /// A field is not what it must be.
    Wrong {
        /// The field, as in `rows[3].solver`; empty for the document itself.
        path: String,
        /// What it must be.
        expected: &'static str,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(_) => write!(formatter, "the file cannot be read"),
            Self::TooLarge { limit } => write!(formatter, "the file has more than {limit} bytes"),
            Self::NotJson(_) => write!(formatter, "the file is not JSON"),
            Self::Version { found, known } => {
                write!(formatter, "the file has schema version {found}, but this program reads version {known}")
            }
            Self::Missing { path } => write!(formatter, "{path} is missing"),
            Self::Wrong { path, expected } if path.is_empty() => write!(formatter, "the document must be {expected}"),
            Self::Wrong { path, expected } => write!(formatter, "{path} must be {expected}"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::NotJson(error) => Some(error),
            _ => None,
        }
    }
}

/// Parses JSON of at most `limit` bytes; no more than one byte beyond them is read. Nesting is bounded by serde_json.
pub(crate) fn parse(source: impl Read, limit: u64) -> Result<Value, ReadError> {
    let mut bytes = Vec::new();
    source.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(ReadError::Io)?;
    if bytes.len() as u64 > limit {
        return Err(ReadError::TooLarge { limit });
    }
    serde_json::from_slice(&bytes).map_err(ReadError::NotJson)
}

/// A JSON object and where it stands in its document.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    path: String,
    fields: &'a Map<String, Value>,
}

impl<'a> Object<'a> {
    /// `value` as an object; `path` is empty for the document itself.
    pub(crate) fn new(path: String, value: &'a Value) -> Result<Self, ReadError> {
        match value.as_object() {
            Some(fields) => Ok(Self { path, fields }),
            None => Err(ReadError::Wrong { path, expected: "an object" }),
        }
    }

    fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn get(&self, name: &str) -> Result<&'a Value, ReadError> {
        self.fields.get(name).ok_or_else(|| ReadError::Missing { path: self.path(name) })
    }

    /// The error that the field `name` is not what it must be.
    pub(crate) fn wrong(&self, name: &str, expected: &'static str) -> ReadError {
        ReadError::Wrong { path: self.path(name), expected }
    }

    fn convert<T>(
        &self,
        name: &str,
        expected: &'static str,
        convert: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<T, ReadError> {
        convert(self.get(name)?).ok_or_else(|| self.wrong(name, expected))
    }

    /// What `read` makes of the field, or `None` if it is null.
    pub(crate) fn or_null<T>(
        &self,
        name: &str,
        read: impl Fn(&Self, &str) -> Result<T, ReadError>,
    ) -> Result<Option<T>, ReadError> {
        if self.get(name)?.is_null() { Ok(None) } else { read(self, name).map(Some) }
    }

    pub(crate) fn text(&self, name: &str) -> Result<String, ReadError> {
        self.convert(name, "text", |value| value.as_str().map(str::to_owned))
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, ReadError> {
        self.convert(name, "true or false", Value::as_bool)
    }

    pub(crate) fn count(&self, name: &str) -> Result<u64, ReadError> {
        self.convert(name, "a whole number from 0 to 2⁶⁴ − 1", Value::as_u64)
    }

    pub(crate) fn small_count(&self, name: &str) -> Result<u32, ReadError> {
        let small = |value: &Value| value.as_u64().and_then(|value| u32::try_from(value).ok());
        self.convert(name, "a whole number from 0 to 2³² − 1", small)
    }

    /// JSON has no NaN and no infinity, and serde_json refuses numbers beyond f64: what is read is finite.
    pub(crate) fn number(&self, name: &str) -> Result<f64, ReadError> {
        self.convert(name, "a number", |value| value.as_f64().filter(|value| value.is_finite()))
    }

    pub(crate) fn amount(&self, name: &str) -> Result<f64, ReadError> {
        self.convert(name, "a number that is not below zero", amount)
    }

    /// An amount, or infinity if the field is null.
    pub(crate) fn amount_or_infinity(&self, name: &str) -> Result<f64, ReadError> {
        Ok(self.or_null(name, Self::amount)?.unwrap_or(f64::INFINITY))
    }

    pub(crate) fn object(&self, name: &str) -> Result<Object<'a>, ReadError> {
        Object::new(self.path(name), self.get(name)?)
    }

    pub(crate) fn objects(&self, name: &str) -> Result<Vec<Object<'a>>, ReadError> {
        let list = self.convert(name, "a list", Value::as_array)?;
        let path = self.path(name);
        list.iter().enumerate().map(|(index, value)| Object::new(format!("{path}[{index}]"), value)).collect()
    }

    pub(crate) fn texts(&self, name: &str) -> Result<Vec<String>, ReadError> {
        self.list(name, "text", |value| value.as_str().map(str::to_owned))
    }

    pub(crate) fn amounts(&self, name: &str) -> Result<Vec<f64>, ReadError> {
        self.list(name, "a number that is not below zero", amount)
    }

    fn list<T>(
        &self,
        name: &str,
        expected: &'static str,
        convert: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Vec<T>, ReadError> {
        let list = self.convert(name, "a list", Value::as_array)?;
        let wrong = |index| ReadError::Wrong { path: format!("{}[{index}]", self.path(name)), expected };
        list.iter().enumerate().map(|(index, value)| convert(value).ok_or_else(|| wrong(index))).collect()
    }

    /// The field's own fields, whatever their names, as counts.
    pub(crate) fn counts<T: FromIterator<(String, u64)>>(&self, name: &str) -> Result<T, ReadError> {
        let expected = "an object of whole numbers";
        let fields = self.convert(name, expected, Value::as_object)?;
        let count = |(key, value): (&String, &Value)| Some((key.clone(), value.as_u64()?));
        fields.iter().map(|field| count(field).ok_or_else(|| self.wrong(name, expected))).collect()
    }
}

fn amount(value: &Value) -> Option<f64> {
    value.as_f64().filter(|value| value.is_finite() && *value >= 0.0)
}
