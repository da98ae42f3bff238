//! What a scene file says, as plain values: the common ground of reading, writing and building.

use std::collections::BTreeMap;

use super::color::{Channel, Color};
use super::load_mesh;
use crate::cloth::hold::Hold;
use crate::cloth::motion::Motion;
use crate::mesh::{EdgeOverride, Face, Mass};
use crate::scene::material::Material;
use crate::scene::noise::Noise;
use crate::solid::{Pose, SolidShape};

/// `[cloth]`, or one of `[[cloth]]`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fabric {
    /// Its place in the file.
    pub(super) key: String,
    pub(super) source: Source,
    /// The fabric that it names.
    pub(super) material: Option<Material>,
    pub(super) mass: Mass,
    pub(super) shear: f32,
    pub(super) stretch: Option<f32>,
    pub(super) bending: f32,
    pub(super) curved: bool,
    pub(super) start: Start,
    pub(super) groups: BTreeMap<String, Vec<u32>>,
    pub(super) overrides: Vec<EdgeOverride>,
    pub(super) others: Vec<Other>,
}

/// `[[cloth.fabrics]]`: faces of another fabric.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Other {
    pub(super) select: Named,
    pub(super) density: f32,
    pub(super) shear: f32,
    pub(super) stretch: Option<f32>,
    pub(super) bending: f32,
    pub(super) strain_limit: Option<f32>,
}

/// Vertices that a mesh file has a name or a color for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Named {
    Group(String),
    Color(Color),
}

/// Where vertices and faces come from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source {
    Sheet(Sheet),
    Chain { size: u32, length: f64 },
    Mesh { file: String, options: load_mesh::Options },
    Inline { positions: Vec<[f32; 3]>, faces: Vec<Face>, lines: Vec<[u32; 2]>, warp: &'static str },
}

impl Source {
    /// Vertices along a row and along a column, where there are such.
    pub(super) fn grid(&self) -> Option<[u32; 2]> {
        match self {
            Self::Sheet(sheet) => Some(sheet.size),
            Self::Chain { size, .. } => Some([*size, 1]),
            Self::Mesh { .. } | Self::Inline { .. } => None,
        }
    }
}

/// A flat grid of quads.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sheet {
    /// Vertices along a row and along a column.
    pub(super) size: [u32; 2],
    /// Length of a row and of a column \[m\].
    pub(super) sides: [f64; 2],
    /// Whether columns run down along −y, and not along +z.
    pub(super) upright: bool,
}

/// `[cloth.start]`: what is done to the rest shape, in this order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Start {
    pub(super) positions: Option<Vec<[f32; 3]>>,
    pub(super) span: Option<f64>,
    pub(super) scale: Option<[f32; 3]>,
    pub(super) rotation: Option<Turn>,
    pub(super) translation: Option<[f32; 3]>,
    pub(super) noise: Option<Noise>,
}

/// A rotation as somebody wrote it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Turn {
    Quaternion([f32; 4]),
    Axis { axis: [f32; 3], degrees: f64 },
}

impl Turn {
    /// Axis of unit length, sine and cosine of the angle `part` of which is taken.
    fn axis_and_angle(axis: [f32; 3], degrees: f64, part: f64) -> ([f64; 3], f64, f64) {
        let axis = axis.map(f64::from);
        let length = axis.iter().map(|x| x * x).sum::<f64>().sqrt();
        let (sin, cos) = (degrees.to_radians() * part).sin_cos();
        (axis.map(|x| x / length), sin, cos)
    }

    pub(super) fn quaternion(self) -> [f32; 4] {
        match self {
            Self::Quaternion(quaternion) => quaternion,
            Self::Axis { axis, degrees } => {
                let ([x, y, z], sin, cos) = Self::axis_and_angle(axis, degrees, 0.5);
                [x * sin, y * sin, z * sin, cos].map(|x| x as f32)
            }
        }
    }

    /// A point turned about the origin. From the sine of the whole angle where that is known: a turn by 20° about z is
    /// exactly what one computes by hand.
    pub(super) fn apply(self, point: [f32; 3]) -> [f32; 3] {
        let [x, y, z] = point.map(f64::from);
        let ([a, b, c], sin, cos) = match self {
            Self::Axis { axis, degrees } => Self::axis_and_angle(axis, degrees, 1.0),
            Self::Quaternion(quaternion) => {
                let quaternion = glam::DQuat::from_array(quaternion.map(f64::from)).normalize();
                let (axis, angle) = quaternion.to_axis_angle();
                let (sin, cos) = angle.sin_cos();
                (axis.to_array(), sin, cos)
            }
        };
        // Rodrigues: v cos + (k × v) sin + k (k·v) (1 − cos).
        let along = (a * x + b * y + c * z) * (1.0 - cos);
        [
            x * cos + (b * z - c * y) * sin + a * along,
            y * cos + (c * x - a * z) * sin + b * along,
            z * cos + (a * y - b * x) * sin + c * along,
        ]
        .map(|x| x as f32)
    }
}

/// `[[pins]]`, or `[[cloth.pins]]`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pins {
    /// Its place in the file.
    pub(super) key: String,
    /// Of which cloth; `None` for all of them.
    pub(super) cloth: Option<usize>,
    pub(super) select: Select,
    /// `None` pins the vertices for good.
    pub(super) hold: Option<Hold>,
    pub(super) until: Option<f64>,
    pub(super) motion: Option<Motion>,
    pub(super) center: Option<[f32; 3]>,
}

impl Pins {
    /// Whether the script has them, too, and not the mesh alone.
    pub(super) fn scripted(&self) -> bool {
        self.hold.is_some() || self.motion.is_some() || matches!(self.select, Select::Channel(_))
    }
}

/// Which vertices are pinned.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Select {
    At(Vec<&'static str>),
    Color(Color),
    /// Each vertex with its own weight.
    Channel(Channel),
    Selection(crate::cloth::hold::Selection),
}

/// Names of parts of a grid.
pub(super) const PARTS: [&str; 13] = [
    "all",
    "border",
    "bottom",
    "bottom-left",
    "bottom-right",
    "corners",
    "first",
    "last",
    "left",
    "right",
    "top",
    "top-left",
    "top-right",
];

/// Whether a part of a grid has the vertex of a row and a column.
pub(super) fn part_has(part: &str, [columns, rows]: [u32; 2], column: u32, row: u32) -> bool {
    let (left, right) = (column == 0, column + 1 == columns);
    let (top, bottom) = (row == 0, row + 1 == rows);
    match part {
        "all" => true,
        "border" => left || right || top || bottom,
        "bottom" => bottom,
        "bottom-left" => bottom && left,
        "bottom-right" => bottom && right,
        "corners" => (left || right) && (top || bottom),
        "first" => left && top,
        "last" => right && bottom,
        "left" => left,
        "right" => right,
        "top" => top,
        "top-left" => top && left,
        "top-right" => top && right,
        _ => false,
    }
}

/// `[[solids]]`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Obstacle {
    pub(super) form: Form,
    pub(super) translation: [f32; 3],
    pub(super) rotation: Option<Turn>,
    pub(super) velocity: [f32; 3],
    pub(super) angular_velocity: [f32; 3],
    /// `None` of these three is for the fabric to say.
    pub(super) thickness: Option<f32>,
    pub(super) friction: Option<f32>,
    pub(super) sliding_friction: Option<f32>,
    pub(super) restitution: f32,
    pub(super) motion: Option<Motion>,
}

impl Obstacle {
    pub(super) fn pose(&self) -> Pose {
        let rotation = self.rotation.map_or(Pose::default().rotation, Turn::quaternion);
        Pose { rotation, translation: self.translation }
    }
}

/// The form of a solid.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    Shape(SolidShape),
    Mannequin { segments: u32, resolution: u32 },
    Mesh { file: String, scale: f32, up: &'static str, resolution: u32 },
}
