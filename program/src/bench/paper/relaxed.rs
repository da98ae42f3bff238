//! Figure 1: a square of 1 m hangs by two corners that are 1 m apart; how far its upper edge sags tells how much it is
//! allowed to stretch.
//!
//! Whatever a cloth does, its upper edge is a yarn of at most (1 + ε) m between the corners: no point of it is more
//! than √((1 + ε)² − 1)/2 below them. There are two ways to allow ε. A *limit* ends the projection of a step where no
//! edge is strained by more; every step aims at the rest length all the same, and cloth at rest is strained by less
//! than it may be. A *band* lets edges be as long as they like up to (1 + ε) times their rest length, and not longer:
//! the cloth hangs as deep as it may.

use anyhow::Result;
use taut::{Cancel, Cloth, FrameInput, Scene, scene};

use super::draw::{Panel, Shapes};
use super::figures::finding;
use super::record::Finding;

/// Permissible strains of the figure.
pub(super) const STRAINS: [f32; 3] = [0.1, 0.01, 0.001];
/// Drag that brings the cloth to rest \[1/s\].
const DRAG: f32 = 2.0;
/// What a band's own limit is, as a part of the strain that the band allows.
const WITHIN: f32 = 0.1;

/// How a strain is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Allowed {
    Limit,
    Band,
}

impl Allowed {
    fn scene(self, size: u32, strain: f32) -> taut::Result<Scene> {
        let mut scene = scene::patch(size)?;
        let settings = &mut scene.settings;
        match self {
            Self::Limit => settings.strain_limit = strain,
            // Both ends together are what is allowed.
            Self::Band => {
                settings.strain_limit = WITHIN * strain;
                settings.stretch_max = 1.0 + (1.0 - WITHIN) * strain;
            }
        }
        settings.drag = DRAG;
        Ok(scene)
    }

    fn words(self) -> &'static str {
        match self {
            Self::Limit => "a limit",
            Self::Band => "a band",
        }
    }
}

/// How deep a yarn of 1 m, longer by so much, can hang between two points 1 m apart \[m\].
pub(super) fn deepest(strain: f64) -> f64 {
    0.5 * (strain * (2.0 + strain)).sqrt()
}

/// Runs all of them to rest, and takes the shapes of those with a band.
pub(super) fn figure(
    size: u32,
    frames: u32,
    cancel: &Cancel,
    mut tick: impl FnMut(String),
) -> Result<(Vec<Finding>, Option<Shapes>)> {
    let mut findings = Vec::new();
    let mut panels = Vec::new();
    for allowed in [Allowed::Band, Allowed::Limit] {
        for strain in STRAINS {
            let percent = crate::output::percent(f64::from(strain));
            tick(format!("figure 1, patch {size}, {} of {percent}", allowed.words()));
            let mut cloth = Cloth::on_cpu(allowed.scene(size, strain)?)?;
            for _ in 0..frames {
                if cancel.is_cancelled() {
                    return Ok((findings, None));
                }
                cloth.step(&FrameInput { dt: 1.0 / 60.0, ..Default::default() })?;
            }
            let positions = cloth.snapshot()?.positions;
            let sag = positions[..size as usize].iter().map(|[_, y, _]| -f64::from(*y)).fold(0.0, f64::max);
            let bound = deepest(strain.into());
            let name = format!("sag of the upper edge with {} of {percent}, at most {bound:.4} [m]", allowed.words());
            findings.push(finding("1", name, sag, None));
            if allowed == Allowed::Band {
                let positions = positions.iter().map(|x| x.map(f64::from)).collect();
                panels.push(Panel { name: format!("{percent}: sags {:.1} cm", 100.0 * sag), positions });
            }
        }
    }
    let title = "A patch of 1 m, hung by two corners 1 m apart, with three permissible strains".to_owned();
    Ok((findings, Some(Shapes { scene: scene::patch(size)?, title, panels })))
}
