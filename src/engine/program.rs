//! The recording: what a step does, in order, for both backends.
//!
//! A [`Program`] is a list of dispatches and bounded loops. [`crate::engine::cpu`] runs it by calling the kernels' Rust
//! bodies, the GPU runner by dispatching their WGSL entry points. Recording is a pure function of settings and mesh;
//! what varies from frame to frame is buffer contents.
//!
//! **Loops.** A [`Repeat`] owns a word of the `guards` field. The recording copies the word of the enclosing loop into
//! it on entry, the body's deciding kernel clears it, and every dispatch of the body does nothing while it is 0. So a
//! GPU can be given the loop unrolled to its budget without reading anything back, and an inner loop of a finished
//! outer loop stays off.

use std::fmt;
use std::ops;

use crate::engine::cpu::Run;
use crate::engine::source::Source;
use crate::error::Result;

/// The Rust twin of a WGSL entry point.
pub type Body = fn(&mut Run<'_>) -> Result<()>;

/// What the invocations of a kernel write, which decides how it may be split and how it is tested for races.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pattern {
    /// One invocation per element, which writes its own element, and may write its group's entry of a
    /// [`Domain::Groups`](crate::engine::fields::Domain::Groups) field.
    Element,
    /// One invocation per element, which writes elements of others; disjoint by construction.
    Scatter,
    /// Invocations work together on lines, as many on each as the first argument of the dispatch says; no line touches
    /// elements of another.
    Lines,
    /// The invocations of a workgroup work together on elements that no other workgroup touches, and may write its
    /// group's entry of another field.
    Blocks,
    /// One workgroup over the whole range.
    Group,
    /// One workgroup over lines in passes, with barriers between them; no line touches elements of another of its pass.
    Passes,
}

/// One kernel: a WGSL entry point and its Rust body.
pub struct Kernel {
    /// Name of the entry point, of the Rust body, of the pipeline.
    pub name: &'static str,
    /// Its WGSL file and what that takes from others.
    pub source: &'static Source,
    /// The Rust twin.
    pub body: Body,
    /// What its invocations write.
    pub pattern: Pattern,
    /// WGSL names that stand for a field of another name.
    pub aliases: Renames,
    /// How much it amplifies the rounding of what it reads: 1, or the condition of a system that it solves. Lock-step
    /// widens its bound by it.
    pub amplification: f32,
}

impl Kernel {
    /// A kernel whose invocations write their own element only.
    pub const fn new(name: &'static str, source: &'static Source, body: Body) -> Self {
        Self { name, source, body, pattern: Pattern::Element, aliases: &[], amplification: 1.0 }
    }

    /// With another pattern of writes.
    #[must_use]
    pub const fn pattern(mut self, pattern: Pattern) -> Self {
        self.pattern = pattern;
        self
    }

    /// With another amplification of rounding.
    #[must_use]
    pub const fn amplification(mut self, amplification: f32) -> Self {
        self.amplification = amplification;
        self
    }

    /// With WGSL names that stand for fields of other names.
    #[must_use]
    pub const fn aliases(mut self, aliases: Renames) -> Self {
        self.aliases = aliases;
        self
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Kernel")
            .field("name", &self.name)
            .field("pattern", &self.pattern)
            .finish_non_exhaustive()
    }
}

/// What a dispatch is for, in the account of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Name for tables.
    pub name: &'static str,
    /// Whether a budget shortens the loops that start with it before all others.
    pub yields: bool,
}

impl Phase {
    /// A phase whose loops are shortened as others are.
    pub const fn new(name: &'static str) -> Self {
        Self { name, yields: false }
    }

    /// With loops that are shortened first.
    #[must_use]
    pub const fn yielding(mut self) -> Self {
        self.yields = true;
        self
    }
}

impl Default for Phase {
    fn default() -> Self {
        Self::new("frame")
    }
}

/// Names of fields that stand for others: (in WGSL, in the table).
pub type Renames = &'static [(&'static str, &'static str)];

/// One launch of a kernel.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// What is launched.
    pub kernel: &'static Kernel,
    /// Field names of this use, each standing for another field; on top of the kernel's aliases.
    pub renames: Renames,
    /// Field names of what this use belongs to, on top of `renames`.
    pub context: Renames,
    /// Elements.
    pub range: ops::Range<u32>,
    /// Elements of all dispatches together that work on the kernel's fields, each on a part.
    pub whole: u32,
    /// Guard word of the loop it belongs to.
    pub guard: u32,
    /// Free arguments.
    pub arguments: [u32; 4],
    /// What it is for.
    pub phase: Phase,
}

impl Dispatch {
    /// A launch on a range, outside of all loops.
    pub fn new(kernel: &'static Kernel, range: ops::Range<u32>) -> Self {
        let (whole, phase) = (range.len() as u32, Phase::default());
        Self { kernel, renames: &[], context: &[], range, whole, guard: 0, arguments: [0; 4], phase }
    }

    /// Field that a WGSL name stands for in this use.
    pub fn field<'a>(&self, name: &'a str) -> &'a str {
        let find =
            |pairs: Renames, name: &'a str| pairs.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| *to);
        find(self.context, find(self.kernel.aliases, find(self.renames, name)))
    }
}

/// A bounded loop.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// Iterations at most.
    pub at_most: u32,
    /// Whether a budget of dispatches may lower `at_most`; substeps are not negotiable.
    pub negotiable: bool,
    /// Whether the body may end it before its bound, so that a host who submits in pieces should look.
    pub ends_early: bool,
    /// Guard word that the body clears when it is done.
    pub guard: u32,
    /// What one iteration does.
    pub body: Vec<Item>,
}

/// A line of the recording.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Item {
    /// Launch a kernel.
    Dispatch(Dispatch),
    /// Repeat a list.
    Repeat(Repeat),
}

/// A recorded frame.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The list.
    pub items: Vec<Item>,
}

impl Program {
    /// Number of dispatches with every loop unrolled to its bound.
    pub fn dispatch_count(&self) -> u64 {
        count(&self.items)
    }

    /// Every dispatch once, loops not unrolled.
    pub fn dispatches(&self) -> Vec<&Dispatch> {
        let mut list = Vec::new();
        collect(&self.items, &mut list);
        list
    }
}

pub(super) fn count(items: &[Item]) -> u64 {
    count_with(items, &|repeat| repeat.at_most)
}

/// Number of dispatches with loops of other bounds.
pub(super) fn count_with(items: &[Item], bound: &dyn Fn(&Repeat) -> u32) -> u64 {
    items.iter().fold(0u64, |sum, item| {
        sum.saturating_add(match item {
            Item::Dispatch(_) => 1,
            Item::Repeat(repeat) => count_with(&repeat.body, bound).saturating_mul(bound(repeat).into()),
        })
    })
}

fn collect<'a>(items: &'a [Item], list: &mut Vec<&'a Dispatch>) {
    for item in items {
        match item {
            Item::Dispatch(dispatch) => list.push(dispatch),
            Item::Repeat(repeat) => collect(&repeat.body, list),
        }
    }
}

/// Identity of a use: the kernel, the list of renames and that of the context, all static.
pub(crate) type Key = (usize, (usize, usize), (usize, usize));

/// Identity of the use that a dispatch makes of its kernel.
pub(crate) fn key(dispatch: &Dispatch) -> Key {
    let kernel: *const Kernel = dispatch.kernel;
    let list = |renames: Renames| (if renames.is_empty() { 0 } else { renames.as_ptr() as usize }, renames.len());
    (kernel as usize, list(dispatch.renames), list(dispatch.context))
}
