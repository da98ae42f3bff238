//! Faces of different fabrics.

#[cfg(doc)]
use super::MeshDescriptor;
use super::check::check;
use super::kinds::check_stretch;
use super::limits::check_strain_limit;
use crate::error::{Error, Result};

/// What a shear may be, in words.
pub(super) const SHEARS: &str = "finite and not negative, in N/m";
/// What a bending stiffness may be \[N·m\].
pub(super) const BENDINGS: std::ops::RangeInclusive<f32> = 0.0..=1e6;
/// What a stretch may be \[N/m\].
pub(super) const STRETCHES: std::ops::RangeInclusive<f32> = 1e-3..=1e9;
/// What a density may be \[kg/m² or kg/m\]: nothing that anybody would call cloth is outside.
pub(super) const DENSITIES: std::ops::RangeInclusive<f32> = 1e-9..=1e9;
/// The same in words.
pub(super) const DENSITIES_TOLD: &str = "in [1e-9, 1e9] kg/m² or kg/m";

/// Faces of one fabric. Where two fabrics meet, a fold between them bends as the two in series do, and an edge has the
/// smaller of their strain limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Swatch {
    /// The faces, by their place in [`MeshDescriptor::faces`].
    pub faces: Vec<u32>,
    /// kg/m².
    pub density: f32,
    /// As [`MeshDescriptor::shear`], N/m.
    pub shear: f32,
    /// As [`MeshDescriptor::stretch`], N/m. An edge between faces that stretch and faces that do not does not stretch.
    pub stretch: Option<f32>,
    /// As [`MeshDescriptor::bending`], N·m.
    pub bending: f32,
    /// Largest strain of its edges at the end of a frame; `None` for [`crate::Settings::strain_limit`].
    ///
    /// It is a promise, as that one is, and no elasticity: a looser limit lets the solver stop earlier, and a tighter
    /// one makes it go on.
    pub strain_limit: Option<f32>,
}

/// What each face is made of.
#[derive(Clone, Debug)]
pub(super) struct Fabrics {
    /// Density, shear and bending where no swatch is.
    base: [f32; 3],
    /// Those of each face; empty where all are alike.
    own: Vec<[f32; 3]>,
}

impl Fabrics {
    pub(super) fn new(faces: usize, base: [f32; 3], swatches: &[Swatch]) -> Result<Self> {
        let mut own = if swatches.is_empty() { Vec::new() } else { vec![base; faces] };
        for (index, swatch) in swatches.iter().enumerate() {
            let Swatch { faces: chosen, density, shear, stretch, bending, strain_limit } = swatch;
            check("swatches.density", Some(index), *density, DENSITIES, DENSITIES_TOLD)?;
            check("swatches.shear", Some(index), *shear, 0.0..=f32::MAX, SHEARS)?;
            check_stretch("swatches.stretch", Some(index), *stretch)?;
            check("swatches.bending", Some(index), *bending, BENDINGS, "in [0, 1e6] N·m")?;
            if let Some(limit) = strain_limit {
                check_strain_limit("swatches.strain_limit", Some(index), f64::from(*limit))?;
            }
            for face in chosen {
                let missing = Error::OutOfRange {
                    field: "swatches.faces",
                    index: Some(index),
                    value: f64::from(*face),
                    expected: "a face of the mesh",
                };
                *own.get_mut(*face as usize).ok_or(missing)? = [*density, *shear, *bending];
            }
        }
        Ok(Self { base, own })
    }

    /// All faces alike.
    pub(super) fn bending_alone(bending: f32) -> Self {
        Self { base: [1.0, 0.0, bending], own: Vec::new() }
    }

    fn of(&self, face: usize) -> [f32; 3] {
        self.own.get(face).copied().unwrap_or(self.base)
    }

    /// Density of a face over that of the rest: exactly 1 where they are alike.
    pub(super) fn weight(&self, face: usize) -> f64 {
        f64::from(self.of(face)[0]) / f64::from(self.base[0])
    }

    pub(super) fn shear(&self, face: usize) -> f32 {
        self.of(face)[1]
    }

    /// Whether anything resists bending.
    pub(super) fn bend(&self) -> bool {
        self.base[2] > 0.0 || self.own.iter().any(|own| own[2] > 0.0)
    }

    /// What all folds have in common \[N·m\]: what they resist by is this times [`Fabrics::fold`].
    pub(super) fn common_bending(&self) -> f32 {
        if self.own.is_empty() { self.base[2] } else { 1.0 }
    }

    /// The part of [`Fabrics::common_bending`] with which a fold between parts of two faces, of these areas, bends. The
    /// moment is the same on both sides of a fold, so the angles add up: A/k of both.
    pub(super) fn fold(&self, faces: [u32; 2], areas: [f64; 2]) -> f64 {
        if self.own.is_empty() {
            return 1.0;
        }
        let [one, other] = faces.map(|face| f64::from(self.of(face as usize)[2]));
        let [first, second] = areas;
        if one == other {
            one
        } else if one == 0.0 || other == 0.0 {
            0.0
        } else {
            (first + second) / (first / one + second / other)
        }
    }
}
