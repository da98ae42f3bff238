//! The built-in scenes as files.

use super::parts::{Fabric, Form, Obstacle, Pins, Select, Sheet, Source, Start, Turn};
use super::table::Text;
use super::{Folders, Limits, Output, SceneFile};
use crate::cloth::settings::Settings;
use crate::error::{Error, Result};
use crate::mesh::{Mass, MeshDescriptor};
use crate::scene::{COTTON_BENDING, FORM_RESOLUTION, FORM_SEGMENTS, HANG_WIDTH, MOST, NAMES, check_size, clearance};
use crate::solid::SolidShape;
use crate::stage::wind::Wind;

/// The built-in scene of a name.
pub(super) fn scene_file(name: &str, size: u32) -> Result<SceneFile> {
    let unknown = || Error::UnknownScene { name: name.to_owned(), known: NAMES.join(", ") };
    let name = NAMES.into_iter().find(|known| *known == name).ok_or_else(unknown)?;
    let rope = ["chain", "rope-tether"].contains(&name);
    check_size(name, size, if name == "hang" { 3 } else { 2 })?;
    let limits = Limits::default();
    if !rope && u64::from(size) * u64::from(size) > limits.vertices.into() {
        let most = limits.vertices.isqrt().min(MOST);
        return Err(Error::SceneSize { name, size, least: 2, most });
    }
    let upright = name == "flag";
    let source = if rope {
        Source::Chain { size, length: 1.0 }
    } else {
        Source::Sheet(Sheet { size: [size; 2], sides: [1.0; 2], upright })
    };
    let worldly = ["drape", "incline", "mannequin", "tablecloth"].contains(&name);
    let MeshDescriptor { mass, shear, stretch, curved, groups, overrides, .. } = MeshDescriptor::default();
    let mut fabric = Fabric {
        key: "cloth".to_owned(),
        source,
        material: None,
        mass: if rope { Mass::Density(0.1) } else { mass },
        shear,
        stretch,
        bending: if worldly || upright { COTTON_BENDING } else { 0.0 },
        curved,
        start: Start::default(),
        groups,
        overrides,
        others: Vec::new(),
    };
    let mut settings = Settings::default();
    let at: &[&'static str] = match name {
        "chain" | "rope-tether" => &["first"],
        "curtain" => &["top"],
        "hang" | "patch" => &["top-left", "top-right"],
        "flag" => &["left"],
        _ => &[],
    };
    match name {
        "hang" => fabric.start.span = Some(HANG_WIDTH),
        "rope-tether" => {
            fabric.start.scale = Some([0.3, 1.0, 1.0]);
            settings.stretch_min = 0.0;
        }
        "incline" => fabric.start.rotation = Some(SLOPE),
        "flag" => {
            settings.wind = Some(Wind {
                velocity: [6.0, 0.0, 1.5],
                gust: 0.3,
                gust_wave: [0.8, 0.3, 0.5],
                gust_frequency: 1.3,
                ..Default::default()
            });
        }
        _ => {}
    }
    if worldly {
        settings.damping = 0.002;
        settings.drag = 0.5;
    }
    let pins = match at {
        [] => Vec::new(),
        _ => vec![Pins {
            key: "pins[0]".to_owned(),
            cloth: None,
            select: Select::At(at.to_vec()),
            hold: None,
            until: None,
            motion: None,
            center: None,
        }],
    };
    let output = Output { fps: Some(60.0), seconds: Some(2.0), ..Output::default() };
    let solids = solid(name, size).into_iter().collect();
    let (text, name) = (Text::new(name, ""), name.to_owned());
    let (folders, fabrics) = (Folders::default(), vec![fabric]);
    Ok(SceneFile { text, folders, limits, name, fabrics, pins, solids, settings, output })
}

/// Turned about z, so that the slope rises along x.
const SLOPE: Turn = Turn::Axis { axis: [0.0, 0.0, 1.0], degrees: 20.0 };

fn solid(name: &str, size: u32) -> Option<Obstacle> {
    let plain = Obstacle {
        form: Form::Shape(SolidShape::Plane),
        translation: [0.0; 3],
        rotation: None,
        velocity: [0.0; 3],
        angular_velocity: [0.0; 3],
        thickness: Some(0.0),
        friction: Some(0.5),
        sliding_friction: Some(0.4),
        restitution: 0.0,
        motion: None,
    };
    let solid = match name {
        "drape" => Obstacle {
            form: Form::Shape(SolidShape::Sphere { radius: 0.3 }),
            translation: [0.5, -0.32, 0.5],
            thickness: Some(clearance(size, 0.3)),
            ..plain
        },
        "tablecloth" => Obstacle {
            form: Form::Shape(SolidShape::Box { half: [0.3, 0.02, 0.3] }),
            translation: [0.5, -0.05, 0.5],
            thickness: Some(0.004),
            ..plain
        },
        "incline" => Obstacle { rotation: Some(SLOPE), sliding_friction: Some(0.5), ..plain },
        "mannequin" => Obstacle {
            form: Form::Mannequin { segments: FORM_SEGMENTS, resolution: FORM_RESOLUTION },
            translation: [0.5, -0.95, 0.5],
            thickness: Some(0.005),
            friction: Some(0.3),
            sliding_friction: Some(0.25),
            ..plain
        },
        _ => return None,
    };
    Some(solid)
}
