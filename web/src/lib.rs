//! Cloth for JavaScript: the classes `Cloth`, which is simulated, and `View`, which draws it on a canvas.
//!
//! It adds nothing to what the crate `taut` has: frames are recorded by [`taut::Cloth::encode_step`], reports are under
//! way while the next frames are recorded ([`taut::Cloth::encode_report`]), pictures are those of [`taut::render`].
//! `docs/browser.md` is its manual. On other targets than wasm32 the crate is empty.
#![cfg(target_arch = "wasm32")]

mod cloth;
mod hand;
mod report;
mod settings;
mod view;

pub use cloth::{Cloth, loading};
pub use view::View;

use wasm_bindgen::prelude::*;

/// Panics are told on the console. None is expected.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}

/// Names of the scenes that `Cloth.open` knows.
#[wasm_bindgen(js_name = sceneNames)]
pub fn scene_names() -> Vec<String> {
    [&taut::scene::NAMES[..], &taut::scene::LAYERED, &taut::scene::WORN]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect()
}

/// Names of the solvers.
#[wasm_bindgen(js_name = solverNames)]
pub fn solver_names() -> Vec<String> {
    taut::Method::NAMES.into_iter().map(str::to_owned).collect()
}

/// Colors of strain from none to twice the limit, sRGB, three bytes each.
#[wasm_bindgen(js_name = heatColors)]
pub fn heat_colors() -> Vec<u8> {
    taut::render::Coloring::HEAT.concat()
}

/// Version of the package.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// An error as JavaScript throws it.
fn thrown(error: impl ToString) -> JsValue {
    js_sys::Error::new(&error.to_string()).into()
}
