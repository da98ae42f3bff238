//! How the forms of solids are spelled.

use glam::{Quat, Vec3};

use super::parts::Form;
use super::read::{file_name, scale, up};
use super::table::Table;
use super::write::{Page, text};
use crate::error::{Error, Result};
use crate::scene::{FORM_RESOLUTION, FORM_SEGMENTS};
use crate::solid::{Pose, Solid, SolidShape};

/// The word for a form, its keys, how it is read, and how it is said in one line.
pub(super) struct Spelling {
    pub(super) word: &'static str,
    pub(super) keys: &'static [&'static str],
    pub(super) read: fn(&Table<'_>) -> Result<Form>,
    pub(super) short: Option<Short>,
}

/// A form and its place in one line: the word, a colon, and numbers.
pub(super) struct Short {
    /// What the numbers are, with commas between them.
    pub(super) numbers: &'static str,
    /// Makes it of so many of them.
    pub(super) make: fn(&[f32]) -> Option<(SolidShape, Pose)>,
}

/// Turned so that its y axis points along a direction; not turned where there is none.
fn upright_along(direction: Vec3) -> [f32; 4] {
    match direction.try_normalize() {
        Some(direction) => Quat::from_rotation_arc(Vec3::Y, direction).to_array(),
        None => Pose::default().rotation,
    }
}

/// A solid in one line, at rest: `sphere:X,Y,Z,R` and the other [`solid_words`], in metres.
///
/// ```
/// use taut::scene::file;
///
/// let ball = file::solid("sphere:0,1,0,0.3")?;
/// assert_eq!(ball.pose.translation, [0.0, 1.0, 0.0]);
/// assert_eq!(file::solid("sphere:0,1").unwrap_err(), "sphere:X,Y,Z,R has 4 numbers in metres, and not 2");
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// What is expected instead, in words.
pub fn solid(text: &str) -> std::result::Result<Solid, String> {
    let unknown = || format!("it is none of {}", solid_words().join(", "));
    let (word, list) = text.split_once(':').ok_or_else(unknown)?;
    let form = FORMS.into_iter().find(|form| form.word == word);
    let Some(Spelling { word, short: Some(short), .. }) = form else { return Err(unknown()) };
    let words: Vec<&str> = list.split(',').map(str::trim).collect();
    let spelled = format!("{word}:{}", short.numbers);
    let needed = short.numbers.split(',').count();
    if words.len() != needed {
        return Err(format!("{spelled} has {needed} numbers in metres, and not {}", words.len()));
    }
    let mut numbers = Vec::with_capacity(needed);
    for word in words {
        match word.parse::<f32>() {
            Ok(number) if number.is_finite() => numbers.push(number),
            _ => return Err(format!("{spelled} has numbers in metres, and {word:?} is none")),
        }
    }
    let (shape, pose) = (short.make)(&numbers).ok_or_else(|| format!("{spelled} has a normal of no length"))?;
    let solid = Solid { pose, ..Solid::new(shape) };
    solid.validate(0).map_err(|error| match error {
        Error::OutOfRange { field, value, expected, .. } => {
            let field = field.trim_start_matches("solids.").trim_start_matches("pose.");
            format!("its {field} is {value}, but must be {expected}")
        }
        _ => "it is more than 1e6 m away".to_owned(),
    })?;
    Ok(solid)
}

/// How [`solid()`] spells what there is.
pub fn solid_words() -> Vec<String> {
    let word = |form: Spelling| form.short.map(|short| format!("{}:{}", form.word, short.numbers));
    FORMS.into_iter().filter_map(word).collect()
}

/// All of them, by their words.
pub(super) const FORMS: [Spelling; 6] = [
    Spelling {
        word: "box",
        keys: &["half"],
        read: |table| {
            let half = table.need("half", "half its sides, in metres")?.numbers()?;
            Ok(Form::Shape(SolidShape::Box { half }))
        },
        // Two corners, in any order.
        short: Some(Short {
            numbers: "X,Y,Z,X,Y,Z",
            make: |numbers| {
                let [a, b, c, x, y, z] = *numbers else { return None };
                let (one, other) = (Vec3::new(a, b, c), Vec3::new(x, y, z));
                let pose = Pose { translation: (0.5 * (one + other)).to_array(), ..Pose::default() };
                Some((SolidShape::Box { half: (0.5 * (one - other).abs()).to_array() }, pose))
            },
        }),
    },
    Spelling {
        word: "capsule",
        keys: &["half_length", "radius"],
        read: |table| {
            let (radius, half_length) = (metres(table, "radius")?, metres(table, "half_length")?);
            Ok(Form::Shape(SolidShape::Capsule { radius, half_length }))
        },
        // The centers of both ends, and the radius.
        short: Some(Short {
            numbers: "X,Y,Z,X,Y,Z,R",
            make: |numbers| {
                let [a, b, c, x, y, z, radius] = *numbers else { return None };
                let (one, other) = (Vec3::new(a, b, c), Vec3::new(x, y, z));
                let way = other - one;
                let translation = (0.5 * (one + other)).to_array();
                let shape = SolidShape::Capsule { radius, half_length: 0.5 * way.length() };
                Some((shape, Pose { rotation: upright_along(way), translation }))
            },
        }),
    },
    Spelling {
        word: "mannequin",
        keys: &["resolution", "segments"],
        read: |table| {
            let segments = table.get("segments").map_or(Ok(FORM_SEGMENTS), |value| value.count(8..=512))?;
            Ok(Form::Mannequin { segments, resolution: resolution(table)? })
        },
        short: None,
    },
    Spelling {
        word: "mesh",
        keys: &["file", "resolution", "scale", "up"],
        read: |table| {
            let file = file_name(&table.need("file", "a closed mesh")?)?;
            Ok(Form::Mesh { file, scale: scale(table)?, up: up(table)?, resolution: resolution(table)? })
        },
        short: None,
    },
    Spelling {
        word: "plane",
        keys: &[],
        read: |_| Ok(Form::Shape(SolidShape::Plane)),
        // A point, and the normal that points out of the solid.
        short: Some(Short {
            numbers: "X,Y,Z,NX,NY,NZ",
            make: |numbers| {
                let [x, y, z, nx, ny, nz] = *numbers else { return None };
                let normal = Vec3::new(nx, ny, nz).try_normalize()?;
                Some((SolidShape::Plane, Pose { rotation: upright_along(normal), translation: [x, y, z] }))
            },
        }),
    },
    Spelling {
        word: "sphere",
        keys: &["radius"],
        read: |table| Ok(Form::Shape(SolidShape::Sphere { radius: metres(table, "radius")? })),
        short: Some(Short {
            numbers: "X,Y,Z,R",
            make: |numbers| {
                let [x, y, z, radius] = *numbers else { return None };
                Some((SolidShape::Sphere { radius }, Pose { translation: [x, y, z], ..Pose::default() }))
            },
        }),
    },
];

fn metres(table: &Table<'_>, key: &str) -> Result<f32> {
    table.need(key, "in metres")?.number()
}

fn resolution(table: &Table<'_>) -> Result<u32> {
    table.get("resolution").map_or(Ok(FORM_RESOLUTION), |value| value.count(8..=256))
}

/// Writes what [`FORMS`] reads.
pub(super) fn write(page: &mut Page, form: &Form) {
    let mut shape = |word: &str, comment: &str| page.line("shape", &text(word), comment);
    match form {
        Form::Shape(SolidShape::Plane) => shape("plane", "everything below its y = 0"),
        Form::Shape(SolidShape::Sphere { radius }) => {
            let others: Vec<&str> = FORMS.iter().map(|form| form.word).filter(|word| *word != "sphere").collect();
            shape("sphere", &format!("or {}", others.join(", ")));
            page.number("radius", *radius, "m");
        }
        Form::Shape(SolidShape::Capsule { radius, half_length }) => {
            shape("capsule", "about its y axis");
            page.number("radius", *radius, "m");
            page.number("half_length", *half_length, "half the distance of the centers of its ends, m");
        }
        Form::Shape(SolidShape::Box { half }) => {
            shape("box", "");
            page.vector("half", *half, "half its sides, m");
        }
        // Files name the mesh that one is baked from.
        Form::Shape(SolidShape::Grid(_)) => {}
        Form::Mannequin { segments, resolution } => {
            shape("mannequin", "a dress form of 0.9 m that stands on its origin");
            page.line("segments", &segments.to_string(), "corners of an ellipse");
            page.line("resolution", &resolution.to_string(), "cells along its longest side");
        }
        Form::Mesh { file, scale, up, resolution } => {
            shape("mesh", "");
            page.line("file", &text(file), "a closed mesh in the folder of this file, or below");
            page.unless("scale", scale, &1.0, "m per unit of the mesh file");
            page.unless("up", up, &"y", "the axis of the mesh file that points up");
            page.line("resolution", &resolution.to_string(), "cells along its longest side");
        }
    }
}
