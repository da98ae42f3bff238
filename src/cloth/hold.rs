//! Holding vertices at run time, choosing them, and moving them with a frame of reference.

use glam::{Quat, Vec3};

use crate::cloth::PinTarget;
use crate::error::within;
use crate::error::{Error, Result};
use crate::mesh::Mesh;
use crate::solid::Pose;
use crate::stage::freedom::FREE;

/// What keeps a vertex from moving freely (Baraff & Witkin 1998, eq. 13); see [`crate::Cloth::hold`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Hold {
    /// Nothing: three ways to move.
    #[default]
    Free,
    /// It stays on the plane through where it is.
    Plane {
        /// Normal of the plane, of any length.
        normal: [f32; 3],
    },
    /// It stays on the line through where it is.
    Line {
        /// Direction of the line, of any length.
        direction: [f32; 3],
    },
    /// It stays where it is.
    Fixed,
    /// A spring pulls it to where it is, or to its target: stable at any stiffness and any step. At rest the force
    /// ([`crate::Cloth::constraint_forces`]) is the stiffness times the distance.
    Soft {
        /// Stiffness of the spring \[N/m\].
        stiffness: f32,
    },
}

/// Stiffest soft hold \[N/m\].
const STIFFEST: f32 = 1e12;

impl Hold {
    /// Stiffness of a hold of weight ½ \[N/m\].
    pub const HALF: f32 = 10.0;

    /// The hold of a vertex whose pin has a weight, as painted in a modeller: 0 leaves it free, 1 is [`Hold::Fixed`],
    /// and between them it is [`Hold::Soft`] with k = [`Hold::HALF`] · w/(1 − w): 1.1 N/m at a tenth, 10 at a half, 90
    /// at nine tenths, and without an end towards 1. The law is of this crate; other programs have others. The
    /// stiffness is that of each vertex: twice as many of them hold twice as much.
    ///
    /// ```
    /// use taut::Hold;
    ///
    /// assert_eq!([0.0, 1.0].map(|weight| Hold::weighted(weight).ok()), [Some(Hold::Free), Some(Hold::Fixed)]);
    /// assert_eq!(Hold::weighted(0.75)?, Hold::Soft { stiffness: 30.0 });
    /// assert!(Hold::weighted(1.5).is_err());
    /// # Ok::<(), taut::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a weight outside of 0 … 1.
    pub fn weighted(weight: f32) -> Result<Self> {
        within("weight", weight.into(), (0.0..=1.0).contains(&weight), "in [0, 1]")?;
        let stiffness = Self::HALF * weight / (1.0 - weight);
        Ok(match weight {
            1.0 => Self::Fixed,
            // So light that its square of a step would vanish.
            _ if stiffness < f32::MIN_POSITIVE => Self::Free,
            _ => Self::Soft { stiffness },
        })
    }

    /// As the field `holds` has it: (n, 1) leaves motions across n, (n, 0) those along n; (0, −k) is a spring.
    pub(crate) fn row(self) -> Result<[f32; 4]> {
        let unit = |field: &'static str, vector: [f32; 3]| {
            let direction = Vec3::from(vector);
            if !direction.is_finite() {
                return Err(Error::NotFinite { field, index: 0 });
            }
            // In f64: the square of a small component must not vanish.
            let direction = direction.as_dvec3();
            let length = direction.length();
            if length > 0.0 {
                return Ok((direction / length).as_vec3());
            }
            Err(Error::OutOfRange { field, index: None, value: length, expected: "of a length above 0" })
        };
        Ok(match self {
            Self::Free => FREE,
            Self::Fixed => [0.0; 4],
            Self::Plane { normal } => unit("normal", normal)?.extend(1.0).to_array(),
            Self::Line { direction } => unit("direction", direction)?.extend(0.0).to_array(),
            Self::Soft { stiffness } => {
                let valid = stiffness > 0.0 && stiffness <= STIFFEST;
                within("stiffness", stiffness.into(), valid, "above 0 and at most 1e12 N/m")?;
                [0.0, 0.0, 0.0, -stiffness]
            }
        })
    }
}

/// Some of the vertices of a mesh.
///
/// ```
/// use taut::{Selection, scene};
///
/// let sheet = scene::sheet(4)?;
/// let left = Selection::Box { min: [-0.1, -0.1, -0.1], max: [0.1, 0.1, 1.1] }.of(&sheet.mesh, &sheet.start)?;
/// assert_eq!(left, [0, 4, 8, 12]);
/// # Ok::<(), taut::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Selection {
    /// These vertices.
    Indices(Vec<u32>),
    /// Those in a box, borders included.
    Box {
        /// Lowest corner \[m\].
        min: [f32; 3],
        /// Highest corner \[m\].
        max: [f32; 3],
    },
    /// Those on the side of a plane that its normal points to, or on the plane.
    Plane {
        /// A point of the plane \[m\].
        point: [f32; 3],
        /// Its normal, of any length.
        normal: [f32; 3],
    },
    /// A group of the mesh.
    Group(String),
}

impl Selection {
    /// The vertices that are chosen where the cloth has these positions: ascending, each once.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for the positions, [`Error::IndexOutOfRange`], [`Error::NotFinite`],
    /// [`Error::UnknownGroup`].
    pub fn of(&self, mesh: &Mesh, positions: &[[f32; 3]]) -> Result<Vec<u32>> {
        let count = mesh.vertex_count();
        if positions.len() != count {
            return Err(Error::LengthMismatch { field: "positions", expected: count, found: positions.len() });
        }
        if let Self::Group(name) = self { Ok(mesh.group(name)?.to_vec()) } else { self.among(positions) }
    }

    /// [`Selection::of`] where there is no mesh yet: no vertices of a group.
    pub(crate) fn among(&self, positions: &[[f32; 3]]) -> Result<Vec<u32>> {
        let count = positions.len();
        let chosen = |inside: &dyn Fn(Vec3) -> bool| {
            (0..count as u32).filter(|v| inside(Vec3::from(positions[*v as usize]))).collect()
        };
        let finite = |field: &'static str, vector: &[f32; 3]| {
            if vector.iter().all(|x| x.is_finite()) { Ok(()) } else { Err(Error::NotFinite { field, index: 0 }) }
        };
        Ok(match self {
            Self::Indices(indices) => {
                if let Some((index, &value)) = indices.iter().enumerate().find(|(_, v)| **v as usize >= count) {
                    return Err(Error::IndexOutOfRange { field: "selection", index, value, count });
                }
                let mut indices = indices.clone();
                indices.sort_unstable();
                indices.dedup();
                indices
            }
            Self::Box { min, max } => {
                finite("selection.min", min)?;
                finite("selection.max", max)?;
                let (min, max) = (Vec3::from(*min), Vec3::from(*max));
                if !min.cmple(max).all() {
                    let (value, expected) = ((max - min).min_element().into(), "not above selection.max");
                    return Err(Error::OutOfRange { field: "selection.min", index: None, value, expected });
                }
                chosen(&|point| point.cmpge(min).all() && point.cmple(max).all())
            }
            Self::Plane { point, normal } => {
                finite("selection.point", point)?;
                finite("selection.normal", normal)?;
                let (origin, normal) = (Vec3::from(*point), Vec3::from(*normal));
                if normal == Vec3::ZERO {
                    let (field, expected) = ("selection.normal", "of a length above 0");
                    return Err(Error::OutOfRange { field, index: None, value: 0.0, expected });
                }
                chosen(&|point| (point - origin).dot(normal) >= 0.0)
            }
            Self::Group(_) => Vec::new(),
        })
    }
}

/// Vertices that move with a rigid frame: a hand, a shoulder, a curtain rod.
///
/// The vertices must be pinned or held; every frame [`Attachment::targets`] goes into
/// [`crate::FrameInput::pin_targets`].
///
/// ```
/// use taut::{Attachment, Cloth, FrameInput, Pose, scene};
///
/// let mut cloth = Cloth::on_cpu(scene::curtain(8)?)?;
/// let rod = Attachment::new(cloth.mesh().pins(), &cloth.snapshot()?.positions, Pose::default())?;
/// let moved = Pose { translation: [0.01, 0.0, 0.0], ..Pose::default() };
/// cloth.step(&FrameInput { dt: 1.0 / 60.0, pin_targets: &rod.targets(moved) })?;
/// # Ok::<(), taut::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Attachment {
    vertices: Vec<u32>,
    /// In the coordinates of the frame.
    places: Vec<Vec3>,
}

impl Attachment {
    /// Attaches vertices, where these positions say they are, to a frame that is now at `pose`.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`].
    pub fn new(vertices: &[u32], positions: &[[f32; 3]], pose: Pose) -> Result<Self> {
        let inverse = rotation(pose).inverse();
        let place = |(index, &value): (usize, &u32)| {
            let position = positions.get(value as usize).ok_or(Error::IndexOutOfRange {
                field: "vertices",
                index,
                value,
                count: positions.len(),
            })?;
            Ok(inverse * (Vec3::from(*position) - Vec3::from(pose.translation)))
        };
        let places = vertices.iter().enumerate().map(place).collect::<Result<_>>()?;
        Ok(Self { vertices: vertices.to_vec(), places })
    }

    /// Where the vertices are when the frame is at `pose`.
    pub fn targets(&self, pose: Pose) -> Vec<PinTarget> {
        let target = |(vertex, place): (&u32, &Vec3)| PinTarget {
            vertex: *vertex,
            position: (rotation(pose) * *place + Vec3::from(pose.translation)).to_array(),
        };
        self.vertices.iter().zip(&self.places).map(target).collect()
    }
}

fn rotation(pose: Pose) -> Quat {
    Quat::from_array(pose.rotation).normalize()
}
