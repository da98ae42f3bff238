//! Parameters of solvers: each is declared once, in the file of its solver, and is checked, read from files and
//! command lines, written and listed from there.

use crate::error::{Error, Result};

/// A value as people write it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A whole number.
    Count(u32),
    /// A large whole number.
    Long(u64),
    /// A number.
    Number(f32),
    /// One of several words.
    Word(&'static str),
    /// Left to the solver.
    Unset,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Takes {
    /// [`Value::Count`].
    Count,
    /// [`Value::Long`].
    Long,
    /// [`Value::Number`], finite.
    Number,
    /// [`Value::Number`], also infinity: never.
    NumberOrInfinity,
    /// [`Value::Word`].
    Word(&'static [&'static str]),
}

impl Takes {
    /// A value from a command line.
    pub fn parse(self, text: &str) -> Option<Value> {
        match self {
            Self::Count => text.parse().ok().map(Value::Count),
            Self::Long => text.parse().ok().map(Value::Long),
            Self::Number => text.parse().ok().filter(|number: &f32| number.is_finite()).map(Value::Number),
            Self::NumberOrInfinity => text.parse().ok().filter(|number: &f32| !number.is_nan()).map(Value::Number),
            Self::Word(words) => words.iter().find(|word| **word == text).map(|word| Value::Word(word)),
        }
    }
}

/// One parameter of `S`.
#[derive(Debug)]
pub struct Parameter<S> {
    /// Name of the member, in files and on command lines, too.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// Its range, in words.
    pub expected: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Reads it.
    pub get: fn(&S) -> Value,
    /// Sets it to a value that it takes; others change nothing.
    pub set: fn(&mut S, Value),
    /// Whether it is within its range.
    pub valid: fn(&S) -> bool,
}

/// A structure of parameters, a table of its own in files.
pub trait Parameters: Sized + 'static {
    /// Name of the table: the stem of the solver's file.
    const TABLE: &'static str;
    /// Its parameters, in the order in which they are written.
    const PARAMETERS: &'static [Parameter<Self>];
}

/// One parameter of a table and its value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Listed {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// Its range, in words.
    pub expected: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Its value.
    pub value: Value,
}

/// [`Parameters`] of any kind.
pub trait Table {
    /// Name of the table.
    fn name(&self) -> &'static str;

    /// Its parameters and their values.
    fn list(&self) -> Vec<Listed>;

    /// Sets a parameter to a value that it takes; whether there is one of that name.
    fn set(&mut self, name: &str, value: Value) -> bool;

    /// Checks every value.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] naming the parameter.
    fn check(&self) -> Result<()>;
}

impl<S: Parameters> Table for S {
    fn name(&self) -> &'static str {
        S::TABLE
    }

    fn list(&self) -> Vec<Listed> {
        let listed = |parameter: &Parameter<S>| {
            let Parameter { name, takes, expected, about, get, .. } = *parameter;
            Listed { name, takes, expected, about, value: get(self) }
        };
        S::PARAMETERS.iter().map(listed).collect()
    }

    fn set(&mut self, name: &str, value: Value) -> bool {
        let found = S::PARAMETERS.iter().find(|parameter| parameter.name == name);
        if let Some(parameter) = found {
            (parameter.set)(self, value);
        }
        found.is_some()
    }

    fn check(&self) -> Result<()> {
        for Parameter { name: field, expected, get, valid, .. } in S::PARAMETERS {
            if !valid(self) {
                let value = match get(self) {
                    Value::Count(count) => count.into(),
                    Value::Long(long) => long as f64,
                    Value::Number(number) => number.into(),
                    Value::Word(_) | Value::Unset => 0.0,
                };
                return Err(Error::OutOfRange { field, index: None, value, expected });
            }
        }
        Ok(())
    }
}

/// Declares a parameter that is a member of its structure.
macro_rules! parameter {
    ($member:ident: $kind:ident, $valid:expr, $expected:literal, $about:literal) => {
        parameter!(@ $member, $kind, $crate::stage::parameter::Takes::$kind, $valid, $expected, $about)
    };
    // Infinity is never.
    ($member:ident: Number or infinity, $valid:expr, $expected:literal, $about:literal) => {
        parameter!(@ $member, Number, $crate::stage::parameter::Takes::NumberOrInfinity, $valid, $expected, $about)
    };
    ($member:ident: optional $kind:ident, $valid:expr, $expected:literal, $about:literal) => {
        $crate::stage::parameter::Parameter {
            name: stringify!($member),
            takes: $crate::stage::parameter::Takes::$kind,
            expected: $expected,
            about: $about,
            get: |solver| solver.$member.map_or($crate::stage::parameter::Value::Unset, $crate::stage::parameter::Value::$kind),
            set: |solver, value| {
                if let $crate::stage::parameter::Value::$kind(value) = value {
                    solver.$member = Some(value);
                }
            },
            valid: |solver| solver.$member.is_none_or($valid),
        }
    };
    (@ $member:ident, $kind:ident, $takes:expr, $valid:expr, $expected:literal, $about:literal) => {
        $crate::stage::parameter::Parameter {
            name: stringify!($member),
            takes: $takes,
            expected: $expected,
            about: $about,
            get: |solver| $crate::stage::parameter::Value::$kind(solver.$member),
            set: |solver, value| {
                if let $crate::stage::parameter::Value::$kind(value) = value {
                    solver.$member = value;
                }
            },
            valid: |solver| ($valid)(solver.$member),
        }
    };
}
pub(crate) use parameter;
