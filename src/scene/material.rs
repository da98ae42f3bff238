//! Fabrics: what a square metre weighs, how it resists shear and bending, how thick and how rough it is.
//!
//! | Fabric | kg/m² | shear, N/m | bending, N·m | thickness, m | friction |
//! |---|---|---|---|---|---|
//! | `cotton`, a plain weave | 0.150 (a) | 40 (d) | 1.8e-5 (c) | 3.3e-4 (f) | 0.4 (g) |
//! | `denim`, of jeans | 0.324 (b) | 53 (b) | 3.5e-5 (c) | 7.2e-4 (f) | 0.5 (g) |
//! | `linen`, a plain weave | 0.185 (d) | 40 (d) | 1.5e-5 (c) | 4.1e-4 (f) | 0.4 (g) |
//! | `nylon`, of light jackets | 0.050 (d) | 30 (d) | 3.1e-6 (c) | 1.1e-4 (f) | 0.25 (g) |
//! | `polyester`, a plain weave | 0.165 (a) | 19 (b) | 7.5e-6 (c) | 3.7e-4 (f) | 0.3 (g) |
//! | `silk`, of 14 momme | 0.061 (e) | 15 (d) | 3.2e-6 (c) | 1.4e-4 (f) | 0.25 (g) |
//! | `wool`, a plain weave | 0.235 (a) | 45 (d) | 1.5e-5 (c) | 5.2e-4 (f) | 0.4 (g) |
//!
//! The damping of all of them is 0.002 s (h).
//!
//! Where they come from:
//!
//! * (a) Weights of plain weaves of pure cotton, wool and polyester measured by Penava, Šimić Penava & Knezić,
//!   *Determination of the Elastic Constants of Plain Woven Fabrics by a Tensile Test in Various Directions* (Fibres &
//!   Textiles in Eastern Europe 22, 2014), table 1.
//! * (b) Wang, O'Brien & Ramamoorthi, *Data-Driven Elastic Models for Cloth: Modeling and Measurement* (SIGGRAPH 2011),
//!   in the files that come with ARCSim: `11oz-black-denim` (99 % cotton) and `white-dots-on-blk` (a tablecloth of
//!   polyester). Shear is their coefficient of in-plane shear at rest, which the forces of ARCSim take for N/m per
//!   radian of shear. For comparison, light denims on the Kawabata instruments have 84 … 191 N/m (*Regenerated
//!   Cellulose-Based Denim Fabric for Tropical Regions*, Journal of Textiles 2016, article 4614168, table 5: 1.5 … 3.4
//!   gf/(cm·degree)).
//! * (c) Feng, Huang, Xu & Wang, *Learning-Based Bending Stiffness Parameter Estimation by a Drape Tester* (SIGGRAPH
//!   Asia 2022): the median over the fabrics of similar weight in their published table of 618, of the mean of warp and
//!   weft of the linear term. That is what fabrics of this weight have, whatever they are made of; the middle half of
//!   each set lies between about half and twice of it. Weights taken together: 0.14 … 0.16, 0.30 … 0.35, 0.17 … 0.20,
//!   0.04 … 0.06, 0.155 … 0.175, 0.05 … 0.075 and 0.22 … 0.25 kg/m², in the order of the table above.
//! * (d) A typical value, of which only the order of magnitude is claimed. On the Kawabata instruments apparel fabrics
//!   have about 0.2 … 3 gf/(cm·degree), 11 … 170 N/m.
//! * (e) By definition of the unit: 1 momme is 4.34 g/m².
//! * (f) From the weight, as if a woven fabric had 450 kg/m³: about a third of it is fibre, of 1100 … 1500 kg/m³, and
//!   the rest is air. Only the order of magnitude is claimed.
//! * (g) A typical value on a smooth, hard and dry body, of which only the order of magnitude is claimed: it depends on
//!   the body at least as much as on the fabric.
//! * (h) Chosen, not measured: the value with which folds of the scene `drape` come to rest. What fabrics lose when
//!   they are bent and sheared is hysteresis, which does not depend on speed; this is the nearest that the engine has.
//!
//! The bending of `denim` is that of fabrics of its weight, (c), and between what denims were measured to have: the six
//! light ones of the table that (b) compares with have 0.144 … 0.227 gf·cm²/cm on the Kawabata instruments, 1.4e-5 …
//! 2.2e-5 N·m, and the file of the sample of (b) has 6.4e-5 along one thread and 2.0e-5 along the other where it is
//! nearly flat, and up to 1.2e-4 where it is bent strongly, in units of ARCSim's forces. So a factor of two either way
//! is still denim.
//!
//! # What the numbers mean here
//!
//! *Shear* is the stiffness k of each of the two diagonal springs of a quad. A square of side l sheared by a small
//! angle γ changes its diagonals by ±lγ/√2; the two springs hold k l²γ²/2, as a membrane of shear modulus k \[N/m\]
//! does. So k is the shear modulus, and does not depend on the size of the quads. 1 gf/(cm·degree), the unit of the
//! Kawabata instruments, is 56.2 N/m.
//!
//! *Bending* is the moment per width and curvature, Kawabata's B: 1 gf·cm²/cm is 9.81e-5 N·m. Fabrics bend more easily
//! across one thread than across the other, and with hysteresis; here they have one stiffness.
//!
//! *Thickness* and *friction* are those of contact: a solid that says nothing of its own keeps the middle of the cloth
//! half a thickness away, and has the friction of the fabric ([`Material::meets`]). They and the *damping*
//! ([`crate::Settings::damping`]) are one for a whole scene.

use crate::solid::{SLIDING, Solid};

/// A fabric; the [module](self) says where the numbers come from.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Material {
    /// As scene files spell it.
    pub name: &'static str,
    /// Mass per area \[kg/m²\].
    pub density: f32,
    /// Stiffness of a diagonal \[N/m\]: [`crate::MeshDescriptor::shear`].
    pub shear: f32,
    /// \[N·m\]: [`crate::MeshDescriptor::bending`].
    pub bending: f32,
    /// From one of its surfaces to the other \[m\].
    pub thickness: f32,
    /// Coefficient of static friction on a solid: [`Solid::friction`].
    pub friction: f32,
    /// Of internal motion \[s\]: [`crate::Settings::damping`].
    pub damping: f32,
    /// Where density, shear, bending, thickness, friction and damping come from, in this order.
    pub sources: [&'static str; 6],
}

const PENAVA: &str = "Penava et al. 2014";
const WANG: &str = "Wang et al. 2011";
const FENG: &str = "Feng et al. 2022, by weight";
const TYPICAL: &str = "typical, order of magnitude";
const WEIGHT: &str = "by weight, 450 kg/m³";
const CHOSEN: &str = "chosen";
/// Seconds.
const DAMPING: f32 = 0.002;

impl Material {
    /// Every fabric, by name.
    pub const ALL: [Self; 7] = [
        Self::new("cotton", [0.15, 40.0, 1.8e-5, 3.3e-4, 0.4], [PENAVA, TYPICAL, FENG]),
        Self::new("denim", [0.324, 53.0, 3.5e-5, 7.2e-4, 0.5], [WANG, WANG, FENG]),
        Self::new("linen", [0.185, 40.0, 1.5e-5, 4.1e-4, 0.4], [TYPICAL, TYPICAL, FENG]),
        Self::new("nylon", [0.05, 30.0, 3.1e-6, 1.1e-4, 0.25], [TYPICAL, TYPICAL, FENG]),
        Self::new("polyester", [0.165, 19.0, 7.5e-6, 3.7e-4, 0.3], [PENAVA, WANG, FENG]),
        Self::new("silk", [0.061, 15.0, 3.2e-6, 1.4e-4, 0.25], ["14 momme", TYPICAL, FENG]),
        Self::new("wool", [0.235, 45.0, 1.5e-5, 5.2e-4, 0.4], [PENAVA, TYPICAL, FENG]),
    ];

    const fn new(name: &'static str, numbers: [f32; 5], [weight, shearing, folding]: [&'static str; 3]) -> Self {
        let [density, shear, bending, thickness, friction] = numbers;
        let sources = [weight, shearing, folding, WEIGHT, TYPICAL, CHOSEN];
        Self { name, density, shear, bending, thickness, friction, damping: DAMPING, sources }
    }

    /// The solid with the surface that this fabric finds: friction, sliding friction and the distance that the middle
    /// of the cloth keeps.
    #[must_use]
    pub fn meets(&self, solid: Solid) -> Solid {
        let (friction, thickness) = (self.friction, 0.5 * self.thickness);
        Solid { friction, sliding_friction: SLIDING * friction, thickness, ..solid }
    }

    /// The fabric of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|material| material.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_documentation_has_these_numbers() {
        let table: Vec<&str> =
            include_str!("material.rs").lines().filter_map(|line| line.strip_prefix("//! | `")).collect();
        assert_eq!(table.len(), Material::ALL.len());
        for (row, material) in table.into_iter().zip(Material::ALL) {
            assert!(row.starts_with(material.name), "{row}");
            let numbers: Vec<f32> =
                row.split('|').filter_map(|cell| cell.trim().split_once(" (")?.0.parse().ok()).collect();
            let Material { density, shear, bending, thickness, friction, .. } = material;
            assert_eq!(numbers, [density, shear, bending, thickness, friction], "{row}");
            assert!((thickness * 450.0 / density - 1.0).abs() < 0.05, "{row}");
        }
    }

    #[test]
    fn every_fabric_is_within_what_fabrics_have() {
        for material in Material::ALL {
            assert!((0.01..1.0).contains(&material.density), "{material:?}");
            assert!((10.0..200.0).contains(&material.shear), "{material:?}");
            assert!((1e-7..3e-4).contains(&material.bending), "{material:?}");
            assert_eq!(Material::named(material.name), Some(material));
            // Lists say these once.
            assert_eq!(material.sources[3..], Material::ALL[0].sources[3..]);
        }
    }
}
