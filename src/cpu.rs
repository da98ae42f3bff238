//! Runs a [`Program`] on the CPU: the fallback where there is no GPU, and the oracle in tests.

use std::ops;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use glam::Vec3;
use zerocopy::{FromBytes, IntoBytes};

use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::fields::{Domain, Fields, Spec, view, view_mut};
use crate::params::{Element, GROUP};
use crate::program::{Dispatch, Item, Part, Program, Shape};
use crate::reflect::{self, Interface};

/// Elements from which a kernel is worth splitting over threads.
const PARALLEL_FROM: usize = 16_384;

/// What a kernel body sees: its range, its arguments, its fields by their WGSL names.
#[derive(Debug)]
pub struct Run<'a> {
    range: ops::Range<usize>,
    /// First element of the whole dispatch.
    origin: usize,
    guard: usize,
    arguments: [u32; 4],
    slots: Vec<Slot<'a>>,
}

#[derive(Debug)]
struct Slot<'a> {
    name: &'a str,
    spec: &'a Spec,
    words: Words<'a>,
}

#[derive(Debug)]
enum Words<'a> {
    Read(&'a [u32]),
    Write {
        first: usize,
        words: &'a mut [u32],
    },
    /// Single floats, written by several threads, each its own elements.
    Shared(Shared<'a>),
    /// The same of vectors.
    SharedVectors(SharedVectors<'a>),
    Taken,
}

impl<'a> Run<'a> {
    /// Elements of this call.
    pub fn range(&self) -> ops::Range<usize> {
        self.range.clone()
    }

    /// Number of the workgroup that an element belongs to.
    pub fn group(&self, element: usize) -> usize {
        (element - self.origin) / GROUP
    }

    /// Guard word of the loop that this dispatch belongs to.
    pub fn guard(&self) -> usize {
        self.guard
    }

    /// Free arguments of the dispatch.
    pub fn arguments(&self) -> [u32; 4] {
        self.arguments
    }

    /// A field that is only read.
    ///
    /// # Errors
    /// [`Error::Field`] if the kernel's WGSL writes it or does not use it, or `T` does not fit.
    pub fn read<T: Element>(&mut self, name: &str) -> Result<&'a [T]> {
        let slot = self.slot(name)?;
        match slot.words {
            Words::Read(words) => view(slot.spec, words),
            _ => Err(Error::Field { name: name.into(), problem: "is written by this kernel's WGSL".into() }),
        }
    }

    /// The only element of a field that is only read.
    ///
    /// # Errors
    /// As [`Run::read`].
    pub fn one<T: Element>(&mut self, name: &str) -> Result<&'a T> {
        self.read(name)?.first().ok_or_else(|| Error::Field { name: name.into(), problem: "is empty".into() })
    }

    /// A field that is written.
    ///
    /// # Errors
    /// [`Error::Field`] if the kernel's WGSL does not write it, or `T` does not fit, or it was asked for before.
    pub fn write<T: Element>(&mut self, name: &str) -> Result<Write<'a, T>> {
        let slot = self.slot(name)?;
        match std::mem::replace(&mut slot.words, Words::Taken) {
            Words::Write { first, words } => {
                // `first` counts the field's elements; a flat view counts its words.
                let first = first * slot.spec.stride / size_of::<T>();
                Ok(Write { first, elements: view_mut(slot.spec, words)? })
            }
            _ => Err(Error::Field {
                name: name.into(),
                problem: "is not written by this kernel's WGSL, or was taken before".into(),
            }),
        }
    }

    /// A field of single floats that is written where the yarns of this call are, and not elsewhere.
    ///
    /// # Errors
    /// As [`Run::write`].
    pub(crate) fn shared(&mut self, name: &str) -> Result<Shared<'a>> {
        match self.share(name)? {
            Words::Shared(shared) => Ok(shared),
            _ => Err(Error::Field { name: name.into(), problem: "does not hold single floats".into() }),
        }
    }

    /// A field of vectors that is written where the yarns of this call are, and not elsewhere.
    ///
    /// # Errors
    /// As [`Run::write`].
    pub(crate) fn shared_vectors(&mut self, name: &str) -> Result<SharedVectors<'a>> {
        match self.share(name)? {
            Words::SharedVectors(shared) => Ok(shared),
            _ => Err(Error::Field { name: name.into(), problem: "does not hold vectors".into() }),
        }
    }

    fn share(&mut self, name: &str) -> Result<Words<'a>> {
        let slot = self.slot(name)?;
        slot.share();
        match std::mem::replace(&mut slot.words, Words::Taken) {
            words @ (Words::Shared(_) | Words::SharedVectors(_)) => Ok(words),
            _ => Err(Error::Field {
                name: name.into(),
                problem: "is not written by this kernel's WGSL, or was taken before".into(),
            }),
        }
    }

    fn slot(&mut self, name: &str) -> Result<&mut Slot<'a>> {
        self.slots
            .iter_mut()
            .find(|slot| slot.name == name)
            .ok_or_else(|| Error::Field { name: name.into(), problem: "is not used by this kernel's WGSL".into() })
    }
}

/// A written field, indexed like the whole even where a thread holds a part of it.
#[derive(Debug)]
pub struct Write<'a, T> {
    first: usize,
    elements: &'a mut [T],
}

impl<T> Write<'_, T> {
    /// Consecutive elements, for loops that vectorize.
    #[inline]
    pub fn part(&mut self, range: ops::Range<usize>) -> &mut [T] {
        &mut self.elements[range.start - self.first..range.end - self.first]
    }
}

impl<T> ops::Index<usize> for Write<'_, T> {
    type Output = T;
    #[inline]
    fn index(&self, index: usize) -> &T {
        &self.elements[index - self.first]
    }
}

impl<T> ops::IndexMut<usize> for Write<'_, T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.elements[index - self.first]
    }
}

/// A written field of floats that several threads hold at once. Yarns of a family share no vertex and no edge, so no
/// two threads touch the same element; relaxed atomics say so without `unsafe`, and cost what plain loads and stores
/// cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared<'a> {
    words: &'a [AtomicU32],
}

impl Shared<'_> {
    /// An element of one word.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> f32 {
        f32::from_bits(self.words[index].load(Ordering::Relaxed))
    }

    /// Sets an element of one word.
    #[inline]
    pub(crate) fn set(&self, index: usize, value: f32) {
        self.words[index].store(value.to_bits(), Ordering::Relaxed);
    }

    /// Adds to an element of one word.
    #[inline]
    pub(crate) fn add(&self, index: usize, change: f32) {
        self.set(index, self.get(index) + change);
    }
}

/// As [`Shared`], for vectors of four words, two of which go at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedVectors<'a> {
    pairs: &'a [[AtomicU64; 2]],
}

impl SharedVectors<'_> {
    #[inline]
    pub(crate) fn get(&self, index: usize) -> [f32; 4] {
        let [low, high] = &self.pairs[index];
        bytemuck::cast([low.load(Ordering::Relaxed), high.load(Ordering::Relaxed)])
    }

    #[inline]
    pub(crate) fn set(&self, index: usize, value: [f32; 4]) {
        let [low, high]: [u64; 2] = bytemuck::cast(value);
        self.pairs[index][0].store(low, Ordering::Relaxed);
        self.pairs[index][1].store(high, Ordering::Relaxed);
    }

    /// The first three words.
    #[inline]
    pub(crate) fn vector(&self, index: usize) -> Vec3 {
        let [x, y, z, _] = self.get(index);
        Vec3::new(x, y, z)
    }

    /// Adds to the first three words.
    #[inline]
    pub(crate) fn add(&self, index: usize, change: Vec3) {
        let sum = self.vector(index) + change;
        self.set(index, [sum.x, sum.y, sum.z, 0.0]);
    }
}

/// Sum of a workgroup as the prelude's `group_sum` forms it.
pub fn group_sum(lanes: &[[f32; 2]; GROUP]) -> [f32; 2] {
    let mut sums = [[0.0f32; 2]; 8];
    sums.copy_from_slice(&lanes[..8]);
    for row in lanes[8..].chunks_exact(8) {
        for (sum, lane) in sums.iter_mut().zip(row) {
            sum[0] += lane[0];
            sum[1] += lane[1];
        }
    }
    sums[1..].iter().fold(sums[0], |sum, part| [sum[0] + part[0], sum[1] + part[1]])
}

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
        self.run_items(&program.items, fields, &mut Times::default(), None)
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
        self.run_items(&program.items, fields, times, cancel)
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
                    if times.measure(dispatch.part, || self.dispatch(dispatch, fields))? {
                        ran += 1;
                        times.bytes += self.bytes(dispatch, fields);
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

    /// Bytes that a dispatch touches: every field of its kernel once, in proportion to the part of the yarns or edges
    /// that it works on. What caches save is not seen, nor what gathers read again.
    fn bytes(&self, dispatch: &Dispatch, fields: &Fields) -> u64 {
        let Some(found) = self.find(dispatch) else { return 0 };
        if dispatch.kernel.shape == Shape::Group {
            return 0;
        }
        let sizes = fields.sizes();
        let count = dispatch.range.len();
        let part = match dispatch.kernel.shape {
            Shape::Lines => (count / dispatch.arguments[0].max(1) as usize) as f64 / sizes.yarns.max(1) as f64,
            _ if [sizes.vertices, 4 * sizes.vertices, sizes.springs, sizes.hinges].contains(&count) => 1.0,
            _ => count as f64 / sizes.edges.max(count) as f64,
        };
        let whole: usize = found.slots.iter().map(|(number, _)| 4 * fields.words(*number).len()).sum();
        (whole as f64 * part) as u64
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

/// Seconds that each [`Part`] of a step took, and the bytes that its kernels touched.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    seconds: [f64; Part::ALL.len()],
    bytes: u64,
}

impl Times {
    /// Seconds of one part.
    pub fn seconds(&self, part: Part) -> f64 {
        self.seconds[part as usize]
    }

    /// Bytes of the fields that the kernels read and wrote.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn measure<T>(&mut self, part: Part, work: impl FnOnce() -> T) -> T {
        let clock = std::time::Instant::now();
        let result = work();
        self.seconds[part as usize] += clock.elapsed().as_secs_f64();
        result
    }

    /// A browser has no such clock.
    #[cfg(target_arch = "wasm32")]
    fn measure<T>(&mut self, _part: Part, work: impl FnOnce() -> T) -> T {
        work()
    }
}

/// Identity of a use: the kernel, the list of renames and that of the context, all static.
pub(crate) type Key = (usize, (usize, usize), (usize, usize));

/// Identity of the use that a dispatch makes of its kernel.
pub(crate) fn key(dispatch: &Dispatch) -> Key {
    let kernel: *const crate::program::Kernel = dispatch.kernel;
    let list = |renames: &'static [(&'static str, &'static str)]| {
        (if renames.is_empty() { 0 } else { renames.as_ptr() as usize }, renames.len())
    };
    (kernel as usize, list(dispatch.renames), list(dispatch.context))
}

/// Calls the body, split over threads where every invocation owns what it writes. The parts are whole workgroups, so
/// the result has the same bits for any number of threads.
fn launch(dispatch: &Dispatch, mut run: Run<'_>) -> Result<()> {
    let parts = if cfg!(feature = "parallel") { threads() } else { 1 };
    if parts > 1 && dispatch.kernel.shape == Shape::Lines {
        return launch_lines(dispatch, run, parts);
    }
    let parts = if run.range.len() >= PARALLEL_FROM { parts } else { 1 };
    if parts < 2 || run.range.start != 0 || !splits(dispatch.kernel.shape, &run) {
        return (dispatch.kernel.body)(&mut run);
    }
    let length = run.range.len().div_ceil(parts).next_multiple_of(GROUP);
    let mut runs: Vec<Run<'_>> = Vec::with_capacity(parts);
    let end = run.range.end;
    for first in (0..end).step_by(length) {
        let mut slots = Vec::with_capacity(run.slots.len());
        for slot in &mut run.slots {
            let per_group = slot.spec.domain == Domain::Groups;
            let words = match std::mem::replace(&mut slot.words, Words::Taken) {
                Words::Read(words) => {
                    slot.words = Words::Read(words);
                    Words::Read(words)
                }
                Words::Write { first: base, words } => {
                    let elements = if per_group { length / GROUP } else { length };
                    let (mine, rest) = words.split_at_mut((elements * slot.spec.stride / 4).min(words.len()));
                    slot.words = Words::Write { first: base + elements, words: rest };
                    Words::Write { first: base, words: mine }
                }
                Words::Shared(_) | Words::SharedVectors(_) | Words::Taken => Words::Taken,
            };
            slots.push(Slot { name: slot.name, spec: slot.spec, words });
        }
        let range = first..(first + length).min(end);
        runs.push(Run { range, origin: run.origin, guard: run.guard, arguments: run.arguments, slots });
    }
    in_parallel(runs, dispatch.kernel.body)
}

/// Calls the body of a line kernel for parts of its yarns. What it writes is shared; no yarn's result depends on
/// another's.
fn launch_lines(dispatch: &Dispatch, mut run: Run<'_>, parts: usize) -> Result<()> {
    let (range, lanes) = (run.range.clone(), run.arguments[0] as usize);
    let written = run.slots.iter().filter_map(|slot| match &slot.words {
        Words::Write { words, .. } => Some(words.len()),
        _ => None,
    });
    if written.max().unwrap_or(0) < 4 * PARALLEL_FROM {
        return (dispatch.kernel.body)(&mut run);
    }
    run.slots.iter_mut().for_each(Slot::share);
    // Whole bundles of yarns, four or eight each, several parts per thread: yarns may differ in length.
    let length = (range.len() / lanes).div_ceil(4 * parts).max(1).next_multiple_of(8) * lanes;
    let mut runs = Vec::new();
    for first in range.clone().step_by(length) {
        let slots = run.slots.iter().map(Slot::again).collect();
        let range = first..(first + length).min(range.end);
        runs.push(Run { range, origin: run.origin, guard: run.guard, arguments: run.arguments, slots });
    }
    in_parallel(runs, dispatch.kernel.body)
}

impl Slot<'_> {
    /// Lets several threads write the field.
    fn share(&mut self) {
        self.words = match std::mem::replace(&mut self.words, Words::Taken) {
            // Fields are aligned for both, on every target that has atomics of 64 bits.
            Words::Write { words, .. } if self.spec.stride == 16 => {
                <[[AtomicU64; 2]]>::mut_from_bytes(words.as_mut_bytes())
                    .map_or(Words::Taken, |pairs| Words::SharedVectors(SharedVectors { pairs }))
            }
            Words::Write { words, .. } => <[AtomicU32]>::mut_from_bytes(words.as_mut_bytes())
                .map_or(Words::Taken, |words| Words::Shared(Shared { words })),
            other => other,
        };
    }

    /// The same field for another part; nothing that one part alone may write.
    fn again(&self) -> Self {
        let words = match self.words {
            Words::Read(words) => Words::Read(words),
            Words::Shared(shared) => Words::Shared(shared),
            Words::SharedVectors(shared) => Words::SharedVectors(shared),
            _ => Words::Taken,
        };
        Slot { name: self.name, spec: self.spec, words }
    }
}

/// Whether what an invocation writes can be told from its element number.
fn splits(shape: Shape, run: &Run<'_>) -> bool {
    shape == Shape::Element
        && run.slots.iter().all(|slot| match &slot.words {
            Words::Write { words, .. } => {
                slot.spec.domain == Domain::Groups || words.len() * 4 == run.range.len() * slot.spec.stride
            }
            _ => true,
        })
}

#[cfg(feature = "parallel")]
fn threads() -> usize {
    rayon::current_num_threads()
}

#[cfg(feature = "parallel")]
fn in_parallel(runs: Vec<Run<'_>>, body: crate::program::Body) -> Result<()> {
    use rayon::prelude::*;
    runs.into_par_iter().map(|mut run| body(&mut run)).collect()
}

#[cfg(not(feature = "parallel"))]
fn threads() -> usize {
    1
}

#[cfg(not(feature = "parallel"))]
fn in_parallel(runs: Vec<Run<'_>>, body: crate::program::Body) -> Result<()> {
    runs.into_iter().try_for_each(|mut run| body(&mut run))
}
