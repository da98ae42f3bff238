//! How the forms of solids are spelled.

use super::parts::Form;
use super::read::{file_name, scale};
use super::table::Table;
use super::write::{Page, text};
use crate::error::Result;
use crate::scene::{FORM_RESOLUTION, FORM_SEGMENTS};
use crate::solid::SolidShape;

/// The word for a form, its keys, and how it is read.
pub(super) struct Spelling {
    pub(super) word: &'static str,
    pub(super) keys: &'static [&'static str],
    pub(super) read: fn(&Table<'_>) -> Result<Form>,
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
    },
    Spelling {
        word: "capsule",
        keys: &["half_length", "radius"],
        read: |table| {
            let (radius, half_length) = (metres(table, "radius")?, metres(table, "half_length")?);
            Ok(Form::Shape(SolidShape::Capsule { radius, half_length }))
        },
    },
    Spelling {
        word: "mannequin",
        keys: &["resolution", "segments"],
        read: |table| {
            let segments = table.get("segments").map_or(Ok(FORM_SEGMENTS), |value| value.count(8..=512))?;
            Ok(Form::Mannequin { segments, resolution: resolution(table)? })
        },
    },
    Spelling {
        word: "mesh",
        keys: &["file", "resolution", "scale"],
        read: |table| {
            let file = file_name(&table.need("file", "a closed mesh")?)?;
            Ok(Form::Mesh { file, scale: scale(table)?, resolution: resolution(table)? })
        },
    },
    Spelling { word: "plane", keys: &[], read: |_| Ok(Form::Shape(SolidShape::Plane)) },
    Spelling {
        word: "sphere",
        keys: &["radius"],
        read: |table| Ok(Form::Shape(SolidShape::Sphere { radius: metres(table, "radius")? })),
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
        Form::Mesh { file, scale, resolution } => {
            shape("mesh", "");
            page.line("file", &text(file), "a closed mesh in the folder of this file, or below");
            page.unless("scale", scale, &1.0, "m per unit of the mesh file");
            page.line("resolution", &resolution.to_string(), "cells along its longest side");
        }
    }
}
