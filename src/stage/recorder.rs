//! What recordings of cloth depend on: the graph of the mesh, and the moment of the frame.

use std::ops;

use crate::engine::fields::Sizes;
use crate::engine::recorder;
use crate::mesh::diagonals::Diagonals;
use crate::mesh::windows::Windows;
use crate::mesh::yarns::Yarns;

/// Most families of a mesh whose yarns are worth following.
const FAMILIES: usize = 4;
/// Least mean number of edges of its yarns.
const LENGTH: usize = 4;

/// The recorder that stages write to.
pub type Recorder<'a> = recorder::Recorder<'a, Woven<'a>>;

/// What is being recorded: stages that record differently from moment to moment look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The last substep of a frame, whose strain is promised.
    pub last_substep: bool,
    /// The caller bounds the number of substeps, so that the load of one may be larger than the solver asked for.
    pub bounded: bool,
    /// Vertices may be held or in contact, so that they do not move freely.
    pub constrained: bool,
    /// A collision pass follows the projection, so that its result is not final.
    pub colliding: bool,
    /// A projection and a collision pass of the same substep came before.
    pub again: bool,
    /// Springs are solved along diagonals ([`crate::solver::diagonals`]).
    pub diagonals: bool,
}

impl Default for Moment {
    fn default() -> Self {
        Self { last_substep: true, bounded: true, constrained: false, colliding: false, again: false, diagonals: false }
    }
}

/// The graph of a mesh as stages see it, and what is being recorded for it.
#[derive(Debug, Default)]
pub struct Woven<'a> {
    colors: &'a [ops::Range<u32>],
    families: &'a [ops::Range<u32>],
    longest_yarn: u32,
    between_pins: bool,
    closes: bool,
    locked: u32,
    family_edges: Vec<ops::Range<u32>>,
    windows: Option<&'a Windows>,
    diagonals: &'a [ops::Range<u32>],
    longest_diagonal: u32,
    frame: u64,
    /// What is being recorded.
    pub moment: Moment,
}

impl<'a> Woven<'a> {
    /// Colors of edges and yarns of a mesh, for frame number `frame`.
    pub fn new(colors: &'a [ops::Range<u32>], yarns: &'a Yarns, frame: u64) -> Self {
        Self {
            colors,
            families: &yarns.families,
            longest_yarn: yarns.longest(),
            between_pins: yarns.between_pins,
            closes: yarns.yarns.iter().any(|yarn| yarn.closed),
            locked: yarns.locked,
            family_edges: yarns.family_edges(),
            windows: None,
            diagonals: &[],
            longest_diagonal: 0,
            frame,
            moment: Moment::default(),
        }
    }

    /// With passes around pins.
    #[must_use]
    pub fn with_windows(mut self, windows: &'a Windows) -> Self {
        self.windows = Some(windows).filter(|windows| !windows.passes.is_empty());
        self
    }

    /// With the springs as lines.
    #[must_use]
    pub fn with_diagonals(mut self, diagonals: &'a Diagonals) -> Self {
        (self.diagonals, self.longest_diagonal) = (&diagonals.families, diagonals.longest());
        self
    }
}

impl<'a> Recorder<'a> {
    /// An empty recording for a mesh of these sizes whose graph nobody looks at.
    pub fn plain(sizes: &'a Sizes) -> Self {
        Self::new(sizes, Woven::default())
    }

    /// Ranges of `colored_edges`, one per color.
    pub fn colors(&self) -> &'a [ops::Range<u32>] {
        self.about.colors
    }

    /// Ranges of yarns, one per family.
    pub fn families(&self) -> &'a [ops::Range<u32>] {
        self.about.families
    }

    /// Ranges of edges, one per family.
    pub fn family_edges(&self) -> &[ops::Range<u32>] {
        &self.about.family_edges
    }

    /// Edges of the longest yarn.
    pub fn longest_yarn(&self) -> u32 {
        self.about.longest_yarn
    }

    /// Whether yarns run through the mesh, in few families, or are short pieces.
    pub fn is_woven(&self) -> bool {
        let sizes = self.sizes();
        self.families().len() <= FAMILIES && sizes.edges() >= LENGTH * sizes.yarns()
    }

    /// Whether a yarn ends where it starts.
    pub fn closes(&self) -> bool {
        self.about.closes
    }

    /// Whether a yarn runs from one pin to another ([`Yarns::between_pins`]).
    pub fn between_pins(&self) -> bool {
        self.about.between_pins
    }

    /// How many edges lie in triangles that lock ([`Yarns::locked`]).
    pub fn locked(&self) -> u32 {
        self.about.locked
    }

    /// What there is around pins; `None` where no pin stands alone.
    pub fn windows(&self) -> Option<&'a Windows> {
        self.about.windows
    }

    /// Ranges of the lines of springs, one per family ([`Diagonals`]).
    pub fn diagonals(&self) -> &'a [ops::Range<u32>] {
        self.about.diagonals
    }

    /// Springs of the longest of these lines.
    pub fn longest_diagonal(&self) -> u32 {
        self.about.longest_diagonal
    }

    /// Number of the frame that is recorded, for orders that vary with it.
    pub fn frame(&self) -> u64 {
        self.about.frame
    }

    /// What is being recorded.
    pub fn moment(&self) -> Moment {
        self.about.moment
    }
}
