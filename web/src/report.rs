//! What a frame reached, as a JavaScript object.

use js_sys::{Object, Reflect};
use taut::{Report, Settings};
use wasm_bindgen::prelude::*;

use crate::settings::plain;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** What a frame reached. */
export interface Report {
    /** Which frame it was: the first one is 1. */
    frame: number;
    /** Largest strain, recomputed in double precision from the positions, as a fraction: 0.01 is 1 %. */
    strain: number;
    /** The limit that it was held against. */
    limit: number;
    /** Whether every edge was within its limit. */
    converged: boolean;
    /** Edges over their limit. */
    over: number;
    /** Substeps of the frame. */
    substeps: number;
    /** Iterations of the solver. */
    iterations: number;
    /** Time from the call of `step` until this was known [ms]. */
    milliseconds: number;
    /** Frames that were taken back so far because they were not finite. */
    rejectedFrames: number;
}
"#;

/// The object of a report.
pub(crate) fn object(frame: u64, milliseconds: f64, report: &Report, settings: &Settings) -> Object {
    let object = Object::new();
    let set = |key: &str, value: JsValue| {
        // A plain object takes every property.
        let _ = Reflect::set(&object, &key.into(), &value);
    };
    let strain = report.strain.as_ref();
    set("frame", (frame as f64).into());
    set("strain", strain.map_or(f64::NAN, |strain| strain.max).into());
    set("limit", plain(settings.strain_limit).into());
    set("converged", (report.converged == Some(true)).into());
    set("over", (strain.map_or(0, |strain| strain.over + strain.infeasible) as f64).into());
    set("substeps", report.substeps.into());
    set("iterations", report.iterations.into());
    set("milliseconds", milliseconds.into());
    set("rejectedFrames", report.rejected_frames.into());
    object
}
