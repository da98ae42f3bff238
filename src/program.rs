//! The recording: what a step does, in order, for both backends.
//!
//! A [`Program`] is a list of dispatches and bounded loops. [`crate::cpu`] runs it by calling the kernels' Rust bodies,
//! the GPU runner by dispatching their WGSL entry points. Recording is a pure function of settings and mesh; what
//! varies from frame to frame is buffer contents.
//!
//! **Loops.** A [`Repeat`] owns a word of the `guards` field. The recording copies the word of the enclosing loop into
//! it on entry, the body's deciding kernel clears it, and every dispatch of the body does nothing while it is 0. So a
//! GPU can be given the loop unrolled to its budget without reading anything back, and an inner loop of a finished
//! outer loop stays off.

use std::fmt;
use std::ops;

use crate::cpu::Run;
use crate::error::{Error, Result};
use crate::fields::{Domain, Sizes};
use crate::params::GUARDS;
use crate::source::Source;
use crate::yarns::Yarns;

/// The Rust twin of a WGSL entry point.
pub type Body = fn(&mut Run<'_>) -> Result<()>;

/// What the invocations of a kernel write, which decides how it may be split and how it is tested for races.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// One invocation per element, which writes its own element, and may write its group's entry of a
    /// [`Domain::Groups`] field.
    Element,
    /// One invocation per element, which writes elements of others; disjoint by construction.
    Scatter,
    /// A workgroup's invocations work together on elements that no other workgroup touches.
    Lines,
    /// One workgroup over the whole range.
    Group,
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
    pub shape: Shape,
    /// WGSL names that stand for a field of another name.
    pub aliases: &'static [(&'static str, &'static str)],
    /// How much it amplifies the rounding of what it reads: 1, or the condition of a system that it solves. Lock-step
    /// widens its bound by it.
    pub amplification: f32,
}

impl Kernel {
    /// A kernel whose invocations write their own element only.
    pub const fn new(name: &'static str, source: &'static Source, body: Body) -> Self {
        Self { name, source, body, shape: Shape::Element, aliases: &[], amplification: 1.0 }
    }

    /// With another shape.
    #[must_use]
    pub const fn shape(mut self, shape: Shape) -> Self {
        self.shape = shape;
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
    pub const fn aliases(mut self, aliases: &'static [(&'static str, &'static str)]) -> Self {
        self.aliases = aliases;
        self
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Kernel").field("name", &self.name).field("shape", &self.shape).finish_non_exhaustive()
    }
}

/// What a dispatch is for, in the account of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Opening and closing frames, stages of the user's own, meters, normals.
    #[default]
    Frame,
    /// Forces of springs, bending and wind.
    Forces,
    /// Prediction and commit.
    Stepping,
    /// The implicit elastic solve.
    Elastic,
    /// Holds and contact.
    Contact,
    /// The projection.
    Projection,
}

impl Part {
    /// All of them, for tables.
    pub const ALL: [Self; 6] =
        [Self::Frame, Self::Forces, Self::Stepping, Self::Elastic, Self::Contact, Self::Projection];

    /// Name for tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::Forces => "forces",
            Self::Stepping => "stepping",
            Self::Elastic => "elastic",
            Self::Contact => "contact",
            Self::Projection => "projection",
        }
    }
}

/// One launch of a kernel.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// What is launched.
    pub kernel: &'static Kernel,
    /// Field names of this use, each standing for another field; on top of the kernel's aliases.
    pub renames: &'static [(&'static str, &'static str)],
    /// Field names of the part of the program that this use belongs to, on top of `renames`.
    pub context: &'static [(&'static str, &'static str)],
    /// Elements.
    pub range: ops::Range<u32>,
    /// Guard word of the loop it belongs to.
    pub guard: u32,
    /// Free arguments.
    pub arguments: [u32; 4],
    /// What it is for.
    pub part: Part,
}

impl Dispatch {
    /// Field that a WGSL name stands for in this use.
    pub fn field<'a>(&self, name: &'a str) -> &'a str {
        let find = |pairs: &'static [(&'static str, &'static str)], name: &'a str| {
            pairs.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| *to)
        };
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

    /// Number of dispatches with every loop that a budget may shorten at four iterations, and at sixteen where it ends
    /// the frame: what usually suffices where the load is small.
    pub fn enough_count(&self) -> u64 {
        let short = |most: u32| move |repeat: &Repeat| bound(repeat, if ELASTIC(repeat) { KEEP } else { most });
        let last = self.items.iter().rposition(|item| matches!(item, Item::Repeat(_)));
        let each = self.items.iter().enumerate().map(|(index, item)| match item {
            // Loops of the last substep itself, not those inside them.
            Item::Repeat(repeat) if Some(index) == last && !repeat.negotiable => {
                let body = repeat.body.iter().map(|item| match item {
                    Item::Dispatch(_) => 1,
                    Item::Repeat(inner) => {
                        let times = short(KEEP_LAST)(inner);
                        count_with(&inner.body, &short(KEEP)).saturating_mul(times.into())
                    }
                });
                body.fold(0u64, u64::saturating_add).saturating_mul(repeat.at_most.into())
            }
            item => count_with(std::slice::from_ref(item), &short(KEEP)),
        });
        each.fold(0, u64::saturating_add)
    }

    /// Number of dispatches with every loop that a budget may shorten at one iteration: the least that fits.
    pub fn least_count(&self) -> u64 {
        count_with(&self.items, &|repeat| bound(repeat, 1))
    }

    /// Every dispatch once, loops not unrolled.
    pub fn dispatches(&self) -> Vec<&Dispatch> {
        let mut list = Vec::new();
        collect(&self.items, &mut list);
        list
    }

    /// Lowers the bounds of the loops until at most `budget` dispatches are left. They are halved in this order:
    ///
    /// 1. Implicit elastic solves, down to four iterations: what they leave is a softer force.
    /// 2. Outer loops, down to four iterations: an unfinished outer loop shows in the strain, and in the report. An
    ///    unfinished inner one is a wrong motion that nothing shows.
    /// 3. Inner loops, down to one iteration; then outer ones, down to one.
    ///
    /// Returns the number of dispatches left, which is over the budget if one iteration of everything does not fit.
    pub fn fit(&mut self, budget: u64) -> u64 {
        let depth = depth(&self.items);
        let wanted = self.items.clone();
        let elastic = (0..depth).map(|level| (level, KEEP, ELASTIC));
        let outer_first = (0..depth).map(|level| (level, KEEP, ANY));
        let inner_first = (0..depth).rev().map(|level| (level, 1, ANY));
        for (level, least, which) in elastic.chain(outer_first).chain(inner_first) {
            while self.dispatch_count() > budget && halve(&mut self.items, level, least, which) {}
        }
        // Halving leaves up to half of the budget unused: give it back, inner loops first, elastic solves last.
        for which in [OTHER, ELASTIC] {
            for level in (0..depth).rev() {
                let mut before = self.items.clone();
                while grow(&mut self.items, &wanted, level, which) && self.dispatch_count() <= budget {
                    before.clone_from(&self.items);
                }
                self.items = before;
            }
            // What is left goes to single loops, those of the last substep first: what it leaves is seen.
            let mut left = budget.saturating_sub(self.dispatch_count());
            for (item, wanted) in self.items.iter_mut().zip(&wanted).rev() {
                left = spend(std::slice::from_mut(item), std::slice::from_ref(wanted), left, which);
            }
        }
        self.dispatch_count()
    }
}

/// A choice of loops.
type Which = fn(&Repeat) -> bool;
const ANY: Which = |_| true;
const ELASTIC: Which =
    |repeat| matches!(repeat.body.first(), Some(Item::Dispatch(Dispatch { part: Part::Elastic, .. })));
const OTHER: Which = |repeat| !ELASTIC(repeat);

/// Iterations of a loop that are kept while another loop can be shortened.
const KEEP: u32 = 4;
/// The same at the end of a frame, where the limit must hold.
const KEEP_LAST: u32 = 16;

/// Bound of a loop of which at most so many iterations are kept.
fn bound(repeat: &Repeat, most: u32) -> u32 {
    if repeat.negotiable { repeat.at_most.min(most) } else { repeat.at_most }
}

fn count(items: &[Item]) -> u64 {
    count_with(items, &|repeat| repeat.at_most)
}

/// Number of dispatches with loops of other bounds.
fn count_with(items: &[Item], bound: &dyn Fn(&Repeat) -> u32) -> u64 {
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

/// How deep loops are nested.
fn depth(items: &[Item]) -> usize {
    let deeper = |item: &Item| if let Item::Repeat(repeat) = item { 1 + depth(&repeat.body) } else { 0 };
    items.iter().map(deeper).max().unwrap_or(0)
}

/// Halves the negotiable loops of one level of nesting, not below `least`; reports whether there was any.
fn halve(items: &mut [Item], level: usize, least: u32, which: Which) -> bool {
    let mut any = false;
    for item in items {
        let Item::Repeat(repeat) = item else { continue };
        if level > 0 {
            any |= halve(&mut repeat.body, level - 1, least, which);
        } else if repeat.negotiable && which(repeat) && repeat.at_most > least {
            repeat.at_most = (repeat.at_most / 2).max(least);
            any = true;
        }
    }
    any
}

/// Lengthens single loops by what is left of a budget, the first first; returns what is left then.
fn spend(items: &mut [Item], wanted: &[Item], mut left: u64, which: Which) -> u64 {
    for (item, wanted) in items.iter_mut().zip(wanted) {
        let (Item::Repeat(repeat), Item::Repeat(wanted)) = (item, wanted) else { continue };
        let each = count(&repeat.body).max(1);
        if !repeat.negotiable {
            let times = u64::from(repeat.at_most.max(1));
            left = times * spend(&mut repeat.body, &wanted.body, left / times, which) + left % times;
        } else if which(repeat) {
            let more = (left / each).min(u64::from(wanted.at_most - repeat.at_most));
            repeat.at_most += more as u32;
            left -= more * each;
        }
    }
    left
}

/// One more iteration for the negotiable loops of one level that have less than they wanted; reports whether any had.
fn grow(items: &mut [Item], wanted: &[Item], level: usize, which: Which) -> bool {
    let mut any = false;
    for (item, wanted) in items.iter_mut().zip(wanted) {
        let (Item::Repeat(repeat), Item::Repeat(wanted)) = (item, wanted) else { continue };
        if level > 0 {
            any |= grow(&mut repeat.body, &wanted.body, level - 1, which);
        } else if repeat.negotiable && which(repeat) && repeat.at_most < wanted.at_most {
            repeat.at_most += 1;
            any = true;
        }
    }
    any
}

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
}

impl Default for Moment {
    fn default() -> Self {
        Self { last_substep: true, bounded: true, constrained: false, colliding: false }
    }
}

/// Writes a [`Program`].
#[derive(Debug)]
pub struct Recorder<'a> {
    sizes: &'a Sizes,
    colors: &'a [ops::Range<u32>],
    families: &'a [ops::Range<u32>],
    longest_yarn: u32,
    between_pins: bool,
    family_edges: Vec<ops::Range<u32>>,
    frame: u64,
    /// What is being recorded.
    pub moment: Moment,
    part: Part,
    context: &'static [(&'static str, &'static str)],
    items: Vec<Item>,
    guard: u32,
    guard_count: u32,
}

impl<'a> Recorder<'a> {
    /// An empty recording for a mesh of these sizes and edge colors, for frame number `frame`.
    pub fn new(sizes: &'a Sizes, colors: &'a [ops::Range<u32>], frame: u64) -> Self {
        Self {
            sizes,
            colors,
            families: &[],
            longest_yarn: 0,
            between_pins: false,
            family_edges: Vec::new(),
            frame,
            moment: Moment::default(),
            part: Part::default(),
            context: &[],
            items: Vec::new(),
            guard: 0,
            guard_count: 1,
        }
    }

    /// For a mesh with these families of yarns.
    #[must_use]
    pub fn with_yarns(mut self, yarns: &'a Yarns) -> Self {
        self.families = &yarns.families;
        self.longest_yarn = yarns.longest();
        self.between_pins = yarns.between_pins;
        self.family_edges = yarns.family_edges();
        self
    }

    /// Number of elements of every domain.
    pub fn sizes(&self) -> &'a Sizes {
        self.sizes
    }

    /// Ranges of `colored_edges`, one per color.
    pub fn colors(&self) -> &'a [ops::Range<u32>] {
        self.colors
    }

    /// Ranges of yarns, one per family.
    pub fn families(&self) -> &'a [ops::Range<u32>] {
        self.families
    }

    /// Ranges of edges, one per family.
    pub fn family_edges(&self) -> &[ops::Range<u32>] {
        &self.family_edges
    }

    /// Edges of the longest yarn.
    pub fn longest_yarn(&self) -> u32 {
        self.longest_yarn
    }

    /// Whether a yarn runs from one pin to another ([`Yarns::between_pins`]).
    pub fn between_pins(&self) -> bool {
        self.between_pins
    }

    /// Number of the frame that is recorded, for orders that vary with it.
    pub fn frame(&self) -> u64 {
        self.frame
    }

    /// What the dispatches that follow are for.
    pub fn set_part(&mut self, part: Part) {
        self.part = part;
    }

    /// Guard word of the loop that is being recorded.
    pub fn guard(&self) -> u32 {
        self.guard
    }

    /// Launches a kernel on all elements of a domain.
    pub fn dispatch(&mut self, kernel: &'static Kernel, domain: Domain) {
        self.dispatch_range(kernel, 0..self.sizes.of(domain) as u32, [0; 4]);
    }

    /// Launches a kernel on a range, with arguments. An empty range launches nothing unless the kernel is one group.
    pub fn dispatch_range(&mut self, kernel: &'static Kernel, range: ops::Range<u32>, arguments: [u32; 4]) {
        if range.is_empty() && kernel.shape != Shape::Group {
            return;
        }
        let guard = self.guard;
        self.items.push(Item::Dispatch(Dispatch {
            kernel,
            renames: &[],
            context: self.context,
            range,
            guard,
            arguments,
            part: self.part,
        }));
    }

    /// Launches a kernel on a range, with arguments and with some of its fields standing for others.
    pub fn dispatch_with(
        &mut self,
        kernel: &'static Kernel,
        range: ops::Range<u32>,
        arguments: [u32; 4],
        renames: &'static [(&'static str, &'static str)],
    ) {
        let before = self.items.len();
        self.dispatch_range(kernel, range, arguments);
        if let Some(Item::Dispatch(dispatch)) = self.items.get_mut(before) {
            dispatch.renames = renames;
        }
    }

    /// Launches a kernel with some of its fields standing for others.
    pub fn dispatch_renamed(
        &mut self,
        kernel: &'static Kernel,
        domain: Domain,
        renames: &'static [(&'static str, &'static str)],
    ) {
        self.dispatch_with(kernel, 0..self.sizes.of(domain) as u32, [0; 4], renames);
    }

    /// Records a part in which fields stand for others, whatever kernels it uses.
    pub fn renaming<R>(
        &mut self,
        context: &'static [(&'static str, &'static str)],
        part: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let outer = std::mem::replace(&mut self.context, context);
        let result = part(self);
        self.context = outer;
        result
    }

    /// Records a loop whose bound may be lowered to fit a budget of dispatches; returns its guard word, which stays on
    /// if the loop ends at its bound.
    pub fn repeat(&mut self, at_most: u32, body: impl FnOnce(&mut Self)) -> u32 {
        self.repeat_with(at_most, [true; 2], Self::open_loop, body)
    }

    /// Records a loop whose bound is part of the result (substeps).
    pub fn repeat_always(&mut self, at_most: u32, body: impl FnOnce(&mut Self)) {
        self.repeat_with(at_most, [false; 2], Self::open_loop, body);
    }

    /// As [`Recorder::repeat_always`], for a count that the device may find to be smaller.
    pub fn repeat_until(&mut self, at_most: u32, body: impl FnOnce(&mut Self)) {
        self.repeat_with(at_most, [false, true], Self::open_loop, body);
    }

    /// Records a loop that the caller's own dispatch opens: `open` gets the loop's guard word and must record a kernel
    /// that sets it. The bound may be lowered to fit a budget, unless it is 1.
    pub fn repeat_opened(
        &mut self,
        at_most: u32,
        open: impl FnOnce(&mut Self, u32),
        body: impl FnOnce(&mut Self),
    ) -> u32 {
        self.repeat_with(at_most, [at_most > 1; 2], open, body)
    }

    fn repeat_with(
        &mut self,
        at_most: u32,
        [negotiable, ends_early]: [bool; 2],
        open: impl FnOnce(&mut Self, u32),
        body: impl FnOnce(&mut Self),
    ) -> u32 {
        if at_most == 0 {
            return self.guard;
        }
        let guard = self.guard_count;
        self.guard_count += 1;
        open(self, guard);
        let outer = std::mem::take(&mut self.items);
        let parent = std::mem::replace(&mut self.guard, guard);
        body(self);
        self.guard = parent;
        let body = std::mem::replace(&mut self.items, outer);
        self.items.push(Item::Repeat(Repeat { at_most, negotiable, ends_early, guard, body }));
        guard
    }

    /// Records the start of a loop that runs if the loop around it does.
    fn open_loop(&mut self, own: u32) {
        self.dispatch_range(&crate::stage::control::OPEN_LOOP, 0..1, [own, self.guard, 0, 0]);
    }

    /// The finished program.
    ///
    /// # Errors
    /// [`Error::TooManyLoops`] if there are more loops than guard words.
    pub fn finish(self) -> Result<Program> {
        if self.guard_count as usize > GUARDS {
            return Err(Error::TooManyLoops { loops: self.guard_count as usize - 1, most: GUARDS - 1 });
        }
        Ok(Program { items: self.items })
    }
}
