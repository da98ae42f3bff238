//! What a cloth needs, before any of it is allocated.

use std::collections::BTreeSet;

use crate::cloth::scene::Scene;
use crate::cloth::settings::Settings;
use crate::cloth::stages::{self, Stages};
use crate::cloth::substeps::Plan;
use crate::engine::fields::{Domain, Sizes, Spec};
use crate::engine::gpu::need;
use crate::engine::gpu::runner::buffer_size;
use crate::engine::program::key;
use crate::engine::reflect;
use crate::error::{Error, Result};
use crate::mesh::Link;
use crate::mesh::diagonals::Diagonals;
use crate::mesh::yarns::{Yarn, Yarns};
use crate::stage::recorder::{Recorder, Woven};

/// What a cloth needs, from counts alone: a matter of milliseconds at any size.
///
/// ```
/// use taut::{Cloth, MemoryEstimate, Scene, Settings, scene};
///
/// let scene = scene::hang(71)?;
/// let estimate = Cloth::memory_estimate(&scene)?;
/// assert!(estimate.host > 71 * 71 * 500 && estimate.host < 71 * 71 * 3000);
/// assert!(estimate.check_device(&taut::wgpu::Limits::default()).is_ok());
///
/// // A scene that was never made.
/// let large = MemoryEstimate::new(&Scene::expected_sizes("hang", 4096)?, &Settings::default())?;
/// assert!(large.check_device(&taut::wgpu::Limits::default()).is_err());
/// # Ok::<(), taut::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryEstimate {
    /// Bytes of the host while the cloth is made, its mesh included: an estimate, within a quarter of what is found for
    /// sheets. On a GPU all of it is needed, too.
    pub host: u64,
    /// Bytes of the fields on the host.
    pub fields: u64,
    /// Bytes of the buffers on a device at most.
    pub device: u64,
    /// Bytes of the largest buffer that is needed whatever the yarns are like: it must fit into one binding.
    pub largest: u64,
    /// The field that it holds.
    pub largest_field: &'static str,
}

/// Bytes of a mesh and its topology, and of what comes and goes while they are made: per vertex, edge or spring, and
/// triangle. Found by measuring sheets.
const PER_VERTEX: u64 = 80;
const PER_LINK: u64 = 24;
const PER_TRIANGLE: u64 = 24;

impl MemoryEstimate {
    /// The need of a cloth of these sizes.
    ///
    /// # Errors
    /// As [`crate::Cloth::on_cpu`], for fields and kernels of a user's own.
    pub fn new(sizes: &Sizes, settings: &Settings) -> Result<Self> {
        settings.method.solver().validate()?;
        let specs = stages::fields(settings)?;
        // Sizes of a scene that was made know their edges; others have as many as they can.
        let expected = sizes.with_expected_self_collision(settings.self_collision.as_ref());
        let sizes = if sizes.touches_itself() { sizes } else { &expected };
        let bytes = |spec: &Spec| bytes(sizes, spec);
        // What is traced later decides which kernels there are: woven cloth of short or long yarns, or neither.
        let used = [(2, 8), (2, 300), (8, 1)].map(|(families, length)| used(sizes, &specs, settings, families, length));
        let [short, long, loose] = used;
        let (short, long, loose) = (short?, long?, loose?);
        let size = |number: &usize| buffer_size(&specs[*number], bytes(&specs[*number]));
        let all: BTreeSet<usize> = short.iter().chain(&long).chain(&loose).copied().collect();
        let certain = short.iter().filter(|number| long.contains(number) && loose.contains(number));
        let largest = certain.max_by_key(|number| size(number));
        Ok(Self {
            host: host(sizes, settings)?,
            fields: specs.iter().map(bytes).sum(),
            device: all.iter().map(size).sum(),
            largest: largest.map_or(0, size),
            largest_field: largest.map_or("", |number| specs[*number].name),
        })
    }

    /// Whether a device with these limits can hold the largest buffer.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn check_device(&self, limits: &wgpu::Limits) -> Result<()> {
        need("max_storage_buffer_binding_size", self.largest, limits.max_storage_buffer_binding_size)?;
        need("max_buffer_size", self.largest, limits.max_buffer_size)
    }

    /// Whether the host has so much.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn check_host(&self, available: u64) -> Result<()> {
        let needed = self.host;
        if needed <= available { Ok(()) } else { Err(Error::Memory { needed, available: Some(available) }) }
    }
}

/// Bytes of a field.
fn bytes(sizes: &Sizes, spec: &Spec) -> u64 {
    sizes.of(spec.domain) as u64 * spec.stride as u64
}

/// Bytes of the host while a cloth is made.
fn host(sizes: &Sizes, settings: &Settings) -> Result<u64> {
    let fields: u64 = stages::fields(settings)?.iter().map(|spec| bytes(sizes, spec)).sum();
    let links = (sizes.edges() + sizes.springs()) as u64;
    let triangles = sizes.triangles() as u64;
    Ok(fields + PER_VERTEX * sizes.vertices() as u64 + PER_LINK * links + PER_TRIANGLE * triangles)
}

/// Fails where so many bytes cannot be had, and gives them back: what asks for them in pieces afterwards would end the
/// program where they run out. A system that lends more than it has is not found out by this.
pub(crate) fn check_available(scene: &Scene) -> Result<()> {
    let needed = host(&Sizes::of_scene(scene), &scene.settings)?;
    let probe = usize::try_from(needed).map(|bytes| Vec::<u8>::new().try_reserve_exact(bytes));
    if matches!(probe, Ok(Ok(()))) { Ok(()) } else { Err(Error::Memory { needed, available: None }) }
}

/// Numbers of the fields that a device needs for a cloth with so many families of yarns of this length.
fn used(sizes: &Sizes, specs: &[Spec], settings: &Settings, families: u32, length: u32) -> Result<BTreeSet<usize>> {
    let sizes = sizes.with(Domain::YARNS, sizes.edges() / length as usize);
    let yarn = |number: u32| Yarn { edges: number * length..(number + 1) * length, closed: false };
    let yarns = Yarns {
        edges: Vec::new(),
        canonical: Vec::new(),
        yarns: (0..families).map(yarn).collect(),
        families: (0..families).map(|number| number..number + 1).collect(),
        between_pins: true,
        locked: 0,
    };
    let lines = if sizes.springs() > 0 { families } else { 0 };
    let lines = Diagonals {
        links: vec![Link::default(); (lines * length) as usize],
        canonical: Vec::new(),
        lines: (0..lines).map(|number| number * length..(number + 1) * length).collect(),
        families: (0..lines).map(|number| number..number + 1).collect(),
    };
    let colors: Vec<_> = (0..families).map(|color| color..color + 1).collect();
    let settings = settings.with_all_forces();
    let resident = specs.iter().enumerate().filter(|(_, spec)| spec.resident);
    let mut used: BTreeSet<usize> = resident.map(|(number, _)| number).collect();
    for plan in Plan::default().every_kind(lines.pay(), settings.may_carry()) {
        let mut recorder = Recorder::new(&sizes, Woven::new(&colors, &yarns, 0).with_diagonals(&lines));
        recorder.about.moment.constrained = plan.implicit || sizes.solids() > 0;
        Stages::new(&settings, &plan).record(&mut recorder);
        let mut known = BTreeSet::new();
        for dispatch in recorder.finish()?.dispatches() {
            if !known.insert(key(dispatch)) {
                continue;
            }
            let (_, interface) = reflect::interface(dispatch.kernel)?;
            used.extend(reflect::resolve(dispatch, &interface, specs)?);
        }
    }
    Ok(used)
}

impl Sizes {
    /// Those of a scene at most: yarns and diagonals are not traced.
    pub(crate) fn of_scene(scene: &Scene) -> Self {
        // Woven cloth has fewer, and lines of single springs are not used.
        let lines = scene.mesh.springs().len() / 4;
        Self::of_mesh(&scene.mesh, &scene.solids, scene.mesh.edge_count())
            .with(Domain::DIAGONALS, lines)
            .with_self_collision(&scene.mesh, scene.settings.self_collision.as_ref())
    }
}
