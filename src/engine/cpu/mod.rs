//! Runs a [`Program`] on the CPU: the fallback where there is no GPU, and the oracle in tests.

mod run;
mod threads;
mod times;

pub use run::{Run, Write, group_sum};
pub(crate) use run::{Shared, SharedVectors};
pub use times::Times;

use std::ops;

use crate::engine::cancel::Cancel;
use crate::engine::fields::Fields;
use crate::engine::program::{Dispatch, Item, Key, Pattern, Program, key};
use crate::engine::reflect::{self, Interface};
use crate::error::{Error, Result};
use run::{Slot, Words};
use threads::launch;

/// A use of a kernel with its fields found.
#[derive(Debug)]
struct Use {
    key: Key,
    interface: Interface,
    /// (field number, index of the binding), by ascending field number.
    slots: Vec<(usize, usize)>,
    /// Kernels that set guards look at them themselves.
    sets_guards: bool,
}

/// Kernel interfaces of a program, found once.
#[derive(Debug, Default)]
pub struct Runner {
    uses: Vec<Use>,
}

impl Runner {
    /// Finds the fields of every kernel of the program.
    ///
    /// # Errors
    /// [`Error::Shader`] or [`Error::Field`] if WGSL, table and renames do not fit together.
    pub fn new(program: &Program, fields: &Fields) -> Result<Self> {
        let mut runner = Self::default();
        for dispatch in program.dispatches() {
            if runner.find(dispatch).is_some() {
                continue;
            }
            let (_, interface) = reflect::interface(dispatch.kernel)?;
            let numbers = reflect::resolve(dispatch, &interface, fields.specs())?;
            let guards = fields.index("guards")?;
            let sets_guards =
                numbers.iter().zip(&interface.bindings).any(|(number, binding)| *number == guards && binding.writes);
            let mut slots: Vec<(usize, usize)> = numbers.into_iter().zip(0..).collect();
            slots.sort_unstable();
            runner.uses.push(Use { key: key(dispatch), interface, slots, sets_guards });
        }
        Ok(runner)
    }

    fn find(&self, dispatch: &Dispatch) -> Option<&Use> {
        let key = key(dispatch);
        self.uses.iter().find(|found| found.key == key)
    }

    /// Interface of a kernel of the program.
    pub fn interface(&self, dispatch: &Dispatch) -> Option<&Interface> {
        self.find(dispatch).map(|found| &found.interface)
    }

    /// Runs a program; returns the number of dispatches that ran.
    ///
    /// # Errors
    /// [`Error::Field`] if a body asks for a field that its WGSL does not use.
    pub fn run(&self, program: &Program, fields: &mut Fields) -> Result<u64> {
        self.run_until(program, fields, &mut Times::default(), None)
    }

    /// [`Runner::run`], with an account of time.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub fn run_timed(&self, program: &Program, fields: &mut Fields, times: &mut Times) -> Result<u64> {
        self.run_until(program, fields, times, None)
    }

    /// [`Runner::run_timed`], unless it is stopped between two dispatches.
    pub(crate) fn run_until(
        &self,
        program: &Program,
        fields: &mut Fields,
        times: &mut Times,
        cancel: Option<&Cancel>,
    ) -> Result<u64> {
        let elements = program.dispatches().iter().map(|dispatch| dispatch.range.len()).max().unwrap_or(0);
        threads::inside(elements, || self.run_items(&program.items, fields, times, cancel))
    }

    fn run_items(
        &self,
        items: &[Item],
        fields: &mut Fields,
        times: &mut Times,
        cancel: Option<&Cancel>,
    ) -> Result<u64> {
        let mut ran = 0;
        for item in items {
            match item {
                Item::Dispatch(dispatch) => {
                    Cancel::check(cancel)?;
                    if times.measure(dispatch.phase, || self.dispatch(dispatch, fields))? {
                        ran += 1;
                        times.touch(self.bytes(dispatch, fields));
                    }
                }
                Item::Repeat(repeat) => {
                    for _ in 0..repeat.at_most {
                        if fields.get::<u32>("guards")?[repeat.guard as usize] == 0 {
                            break;
                        }
                        ran += self.run_items(&repeat.body, fields, times, cancel)?;
                    }
                }
            }
        }
        Ok(ran)
    }

    /// Bytes that a dispatch touches: every field of its kernel once, in proportion to its part of their elements. What
    /// caches save is not seen, nor what gathers read again.
    fn bytes(&self, dispatch: &Dispatch, fields: &Fields) -> u64 {
        let Some(found) = self.find(dispatch) else { return 0 };
        if dispatch.kernel.pattern == Pattern::Group {
            return 0;
        }
        let whole: usize = found.slots.iter().map(|(number, _)| 4 * fields.words(*number).len()).sum();
        whole as u64 * dispatch.range.len() as u64 / u64::from(dispatch.whole.max(1))
    }

    /// Runs one dispatch unless its loop has ended; reports whether it ran.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub fn dispatch(&self, dispatch: &Dispatch, fields: &mut Fields) -> Result<bool> {
        let range = dispatch.range.start as usize..dispatch.range.end as usize;
        self.dispatch_part(dispatch, range, fields)
    }

    /// Runs a part of a dispatch: the race test calls single invocations in any order.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub fn dispatch_part(&self, dispatch: &Dispatch, range: ops::Range<usize>, fields: &mut Fields) -> Result<bool> {
        let found = self.find(dispatch).ok_or_else(|| Error::Field {
            name: dispatch.kernel.name.into(),
            problem: "is a kernel that this runner was not made for".into(),
        })?;
        if !found.sets_guards && fields.get::<u32>("guards")?[dispatch.guard as usize] == 0 {
            return Ok(false);
        }
        let mut slots = Vec::with_capacity(found.slots.len());
        let mut wanted = found.slots.iter().peekable();
        for (number, (spec, words)) in fields.all_mut().enumerate() {
            let Some((_, binding)) = wanted.next_if(|(field, _)| *field == number) else { continue };
            let binding = &found.interface.bindings[*binding];
            let words = if binding.writes { Words::Write { first: 0, words } } else { Words::Read(words) };
            slots.push(Slot { name: &binding.name, spec, words });
        }
        let run = Run {
            range,
            origin: dispatch.range.start as usize,
            guard: dispatch.guard as usize,
            arguments: dispatch.arguments,
            slots,
        };
        launch(dispatch, run)?;
        Ok(true)
    }
}
