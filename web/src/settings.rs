//! Settings and options, from and to JavaScript objects.

use js_sys::{Array, Object, Reflect};
use taut::stage::self_collision::{SelfCollision, Tangles};
use taut::{Backend, Method, Scene, Settings, Wind};
use wasm_bindgen::prelude::*;

use crate::thrown;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** How a cloth is simulated; what is left out stays as it is, or as the scene has it. */
export interface Settings {
    /** Largest strain, as a fraction: 0.01 is 1 %. */
    strainLimit?: number;
    /** One of `solverNames()`. */
    solver?: string;
    /** Acceleration of gravity [m/s²]. */
    gravity?: [number, number, number];
    /** Velocity of the wind [m/s]; `null` for no air. Gusts are those of the scene. */
    wind?: [number, number, number] | null;
    /** Rate of damping by still air [1/s]. */
    drag?: number;
    /** Damping of shear and bending [s]. */
    damping?: number;
}

/** Where a cloth runs. `auto` takes a GPU, and the CPU where there is none or only one that is imitated by software. */
export type Backend = "auto" | "gpu" | "cpu";

/** What cloth and solids are made of. A cloth that runs cannot change it: it goes on as a new one, by `reopened`. */
export interface Stuff {
    /** Whether the cloth keeps from passing through itself; what does so already is drawn apart. */
    selfCollision?: boolean;
    /** Stiffness against bending [N·m]. */
    bending?: number;
    /** Coefficient of static friction of the solids; there is none to tell where there are no solids. */
    friction?: number;
}

/** What is opened. */
export interface Options extends Settings, Stuff {
    /** One of `sceneNames()`. */
    scene: string;
    /** Vertices per side; 32 if it is left out. */
    size?: number;
    backend?: Backend;
}
"#;

/// Names of the settings, and of what a scene is made of.
pub(crate) const SETTINGS: [&str; 6] = ["strainLimit", "solver", "gravity", "wind", "drag", "damping"];
pub(crate) const STUFF: [&str; 3] = ["selfCollision", "bending", "friction"];

/// Refuses what is no object, and names that nobody knows: what is misspelt would be left out in silence.
pub(crate) fn check_names(object: &JsValue, known: &[&str]) -> Result<(), JsValue> {
    let object = Object::try_from(object).ok_or_else(|| thrown("options must be an object"))?;
    for name in Object::keys(object).iter().filter_map(|name| name.as_string()) {
        if !known.contains(&name.as_str()) {
            return Err(thrown(format!("there is no option `{name}`: {}", known.join(", "))));
        }
    }
    Ok(())
}

/// A property that is there.
pub(crate) fn property(object: &JsValue, key: &str) -> Option<JsValue> {
    Reflect::get(object, &key.into()).ok().filter(|value| !value.is_undefined())
}

fn number(object: &JsValue, key: &str) -> Result<Option<f32>, JsValue> {
    let Some(value) = property(object, key) else { return Ok(None) };
    value.as_f64().map(|number| Some(number as f32)).ok_or_else(|| thrown(format!("{key} is not a number")))
}

/// A property that is a text.
pub(crate) fn text(object: &JsValue, key: &str) -> Result<Option<String>, JsValue> {
    let text = |value: JsValue| value.as_string().ok_or_else(|| thrown(format!("{key} is not a text")));
    property(object, key).map(text).transpose()
}

/// A property that is a whole number.
pub(crate) fn count(object: &JsValue, key: &str) -> Result<Option<u32>, JsValue> {
    let whole = |number: &f64| number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(number);
    let count = |value: JsValue| value.as_f64().filter(whole).map(|number| number as u32);
    let count = |value| count(value).ok_or_else(|| thrown(format!("{key} is not a whole number")));
    property(object, key).map(count).transpose()
}

fn vector(value: &JsValue, key: &str) -> Result<[f32; 3], JsValue> {
    let list: Vec<f64> = Array::from(value).iter().filter_map(|number| number.as_f64()).collect();
    match list.as_slice() {
        [x, y, z] => Ok([*x as f32, *y as f32, *z as f32]),
        _ => Err(thrown(format!("{key} is not three numbers"))),
    }
}

/// The backend that options ask for.
pub(crate) fn backend(name: Option<&str>) -> Result<Backend, JsValue> {
    match name {
        None | Some("auto") => Ok(Backend::Auto),
        Some("gpu") => Ok(Backend::Gpu),
        Some("cpu") => Ok(Backend::Cpu),
        Some(other) => Err(thrown(format!("there is no backend `{other}`: auto, gpu, cpu"))),
    }
}

/// What an object changes; it is looked at whole before anything is changed.
pub(crate) fn changes(object: &JsValue) -> Result<impl FnOnce(&mut Settings) + use<>, JsValue> {
    let limit = number(object, "strainLimit")?;
    let solver = text(object, "solver")?;
    let method = match &solver {
        Some(name) => {
            let known = || thrown(format!("there is no solver `{name}`: {}", Method::NAMES.join(", ")));
            Some(Method::named(name).ok_or_else(known)?)
        }
        None => None,
    };
    let gravity = property(object, "gravity").map(|value| vector(&value, "gravity")).transpose()?;
    let wind = match property(object, "wind") {
        Some(value) if value.is_null() => Some(None),
        Some(value) => Some(Some(vector(&value, "wind")?)),
        None => None,
    };
    let (drag, damping) = (number(object, "drag")?, number(object, "damping")?);
    Ok(move |settings: &mut Settings| {
        let Settings { strain_limit, gravity: g, drag: d, damping: b, .. } = settings;
        for (place, value) in [(strain_limit, limit), (d, drag), (b, damping)] {
            *place = value.unwrap_or(*place);
        }
        *g = gravity.unwrap_or(*g);
        if let Some(method) = method {
            settings.method = method;
        }
        if let Some(wind) = wind {
            let air = settings.wind.unwrap_or_default();
            settings.wind = wind.map(|velocity| Wind { velocity, ..air });
        }
    })
}

/// What another [`Stuff`] makes of a scene.
///
/// Kinetic friction keeps its ratio to static friction.
pub(crate) fn stuff(object: &JsValue) -> Result<impl FnOnce(&mut Scene) -> taut::Result<()> + use<>, JsValue> {
    let (bending, friction) = (number(object, "bending")?, number(object, "friction")?);
    let own = match property(object, "selfCollision") {
        Some(value) => Some(value.as_bool().ok_or_else(|| thrown("selfCollision is neither true nor false"))?),
        None => None,
    };
    Ok(move |scene: &mut Scene| {
        if let Some(bending) = bending {
            scene.mesh = scene.mesh.clone().with_bending(bending)?;
        }
        if let Some(friction) = friction {
            for solid in &mut scene.solids {
                let ratio = if solid.friction > 0.0 { solid.sliding_friction / solid.friction } else { 1.0 };
                (solid.friction, solid.sliding_friction) = (friction, ratio * friction);
            }
        }
        if let Some(own) = own {
            // Cloth that was let through itself is drawn apart rather than refused.
            let drawn_apart = || SelfCollision { tangles: Tangles::Resolve, ..SelfCollision::default() };
            let before = scene.settings.self_collision;
            scene.settings.self_collision = own.then(|| before.unwrap_or_else(drawn_apart));
        }
        Ok(())
    })
}

/// The object of what a scene is made of.
pub(crate) fn stuff_object(scene: &Scene) -> Object {
    let object = Object::new();
    let set = |key: &str, value: JsValue| {
        // A plain object takes every property.
        let _ = Reflect::set(&object, &key.into(), &value);
    };
    set("selfCollision", scene.settings.self_collision.is_some().into());
    set("bending", plain(scene.mesh.bending()).into());
    if let Some(friction) = scene.solids.iter().map(|solid| solid.friction).reduce(f32::max) {
        set("friction", plain(friction).into());
    }
    object
}

/// The number as somebody wrote it: 0.01, not the nearest of f32 in all the digits of f64.
pub(crate) fn plain(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(number.into())
}

/// The object of settings.
pub(crate) fn object(settings: &Settings) -> Object {
    let object = Object::new();
    let set = |key: &str, value: JsValue| {
        // A plain object takes every property.
        let _ = Reflect::set(&object, &key.into(), &value);
    };
    let list =
        |vector: [f32; 3]| -> JsValue { vector.iter().map(|x| JsValue::from(plain(*x))).collect::<Array>().into() };
    set("strainLimit", plain(settings.strain_limit).into());
    set("solver", settings.method.solver().name().into());
    set("gravity", list(settings.gravity));
    set("wind", settings.wind.map_or(JsValue::NULL, |wind| list(wind.velocity)));
    set("drag", plain(settings.drag).into());
    set("damping", plain(settings.damping).into());
    object
}
