//! How a [`Program`] is written.

use std::ops;

use super::fields::{Domain, Sizes};
use super::layout::GUARDS;
use super::loops::OPEN_LOOP;
use super::program::{Dispatch, Item, Kernel, Pattern, Phase, Program, Renames, Repeat};
use crate::error::{Error, Result};

/// Writes a [`Program`]. `About` is what recordings depend on beside the number of elements; the engine does not look
/// at it.
#[derive(Debug)]
pub struct Recorder<'a, About> {
    sizes: &'a Sizes,
    /// What is recorded for.
    pub about: About,
    phase: Phase,
    context: Renames,
    items: Vec<Item>,
    guard: u32,
    guard_count: u32,
}

impl<'a, About> Recorder<'a, About> {
    /// An empty recording for fields of these sizes.
    pub fn new(sizes: &'a Sizes, about: About) -> Self {
        let (phase, context) = (Phase::default(), [].as_slice());
        Self { sizes, about, phase, context, items: Vec::new(), guard: 0, guard_count: 1 }
    }

    /// Number of elements of every domain.
    pub fn sizes(&self) -> &'a Sizes {
        self.sizes
    }

    /// What the dispatches that follow are for.
    pub fn set_phase(&mut self, phase: Phase) {
        self.phase = phase;
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
        self.dispatch_with(kernel, range, arguments, &[]);
    }

    /// Launches a kernel with some of its fields standing for others.
    pub fn dispatch_renamed(&mut self, kernel: &'static Kernel, domain: Domain, renames: Renames) {
        self.dispatch_with(kernel, 0..self.sizes.of(domain) as u32, [0; 4], renames);
    }

    /// Launches a kernel on a range, with arguments and with some of its fields standing for others.
    pub fn dispatch_with(
        &mut self,
        kernel: &'static Kernel,
        range: ops::Range<u32>,
        arguments: [u32; 4],
        renames: Renames,
    ) {
        let whole = range.len() as u32;
        self.dispatch_slice(kernel, range, whole, arguments, renames);
    }

    /// As [`Recorder::dispatch_with`], where one dispatch alone does not work on all of its fields: the range is one of
    /// several that have `whole` elements together.
    pub fn dispatch_slice(
        &mut self,
        kernel: &'static Kernel,
        range: ops::Range<u32>,
        whole: u32,
        arguments: [u32; 4],
        renames: Renames,
    ) {
        if range.is_empty() && kernel.pattern != Pattern::Group {
            return;
        }
        let Self { guard, context, phase, .. } = *self;
        self.items.push(Item::Dispatch(Dispatch { kernel, renames, context, range, whole, guard, arguments, phase }));
    }

    /// Records something in which fields stand for others, whatever kernels it uses.
    pub fn renaming<R>(&mut self, context: Renames, record: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.context, context);
        let result = record(self);
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

    /// Reserves the guard word of a loop that is recorded later, for kernels before it that open it.
    pub fn reserve(&mut self) -> u32 {
        self.guard_count += 1;
        self.guard_count - 1
    }

    /// Records a loop whose guard word was reserved, and whose bound is part of the result; `ends_early` where the
    /// device may find a smaller count.
    pub fn repeat_reserved(&mut self, guard: u32, at_most: u32, ends_early: bool, body: impl FnOnce(&mut Self)) {
        self.repeat_guarded(guard, at_most, [false, ends_early], body);
    }

    fn repeat_with(
        &mut self,
        at_most: u32,
        flags: [bool; 2],
        open: impl FnOnce(&mut Self, u32),
        body: impl FnOnce(&mut Self),
    ) -> u32 {
        if at_most == 0 {
            return self.guard;
        }
        let guard = self.reserve();
        open(self, guard);
        self.repeat_guarded(guard, at_most, flags, body);
        guard
    }

    fn repeat_guarded(
        &mut self,
        guard: u32,
        at_most: u32,
        [negotiable, ends_early]: [bool; 2],
        body: impl FnOnce(&mut Self),
    ) {
        let outer = std::mem::take(&mut self.items);
        let parent = std::mem::replace(&mut self.guard, guard);
        body(self);
        self.guard = parent;
        let body = std::mem::replace(&mut self.items, outer);
        self.items.push(Item::Repeat(Repeat { at_most, negotiable, ends_early, guard, body }));
    }

    /// Records the start of a loop that runs if the loop around it does.
    fn open_loop(&mut self, own: u32) {
        self.dispatch_range(&OPEN_LOOP, 0..1, [own, self.guard, 0, 0]);
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
