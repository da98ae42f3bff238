//! What the Rust body of a kernel sees.

use std::ops;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use glam::Vec3;
use zerocopy::{FromBytes, IntoBytes};

use crate::engine::fields::{Spec, view, view_mut};
use crate::engine::layout::{Element, GROUP};
use crate::error::{Error, Result};

/// What a kernel body sees: its range, its arguments, its fields by their WGSL names.
#[derive(Debug)]
pub struct Run<'a> {
    pub(super) range: ops::Range<usize>,
    /// First element of the whole dispatch.
    pub(super) origin: usize,
    pub(super) guard: usize,
    pub(super) arguments: [u32; 4],
    pub(super) slots: Vec<Slot<'a>>,
}

#[derive(Debug)]
pub(super) struct Slot<'a> {
    pub(super) name: &'a str,
    pub(super) spec: &'a Spec,
    pub(super) words: Words<'a>,
}

#[derive(Debug)]
pub(super) enum Words<'a> {
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

    /// A field of single floats that is written where the lines of this call are, and not elsewhere.
    ///
    /// # Errors
    /// As [`Run::write`].
    pub(crate) fn shared(&mut self, name: &str) -> Result<Shared<'a>> {
        match self.share(name)? {
            Words::Shared(shared) => Ok(shared),
            _ => Err(Error::Field { name: name.into(), problem: "does not hold single floats".into() }),
        }
    }

    /// A field of vectors that is written where the lines of this call are, and not elsewhere.
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

/// A written field of floats that several threads hold at once. Lines of one dispatch share no element, so no two
/// threads touch the same; relaxed atomics say so without `unsafe`, and cost what plain loads and stores
/// cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared<'a> {
    words: &'a [AtomicU32],
}

impl Shared<'_> {
    /// An element of one word.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> f32 {
        f32::from_bits(self.words[index].load(Ordering::Relaxed))
    }

    /// Sets an element of one word.
    #[inline(always)]
    pub(crate) fn set(&self, index: usize, value: f32) {
        self.words[index].store(value.to_bits(), Ordering::Relaxed);
    }

    /// Adds to an element of one word.
    #[inline(always)]
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
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> [f32; 4] {
        let [low, high] = &self.pairs[index];
        bytemuck::cast([low.load(Ordering::Relaxed), high.load(Ordering::Relaxed)])
    }

    /// The first two words and the last two.
    #[inline(always)]
    pub(crate) fn halves(&self, index: usize) -> [[f32; 2]; 2] {
        let [low, high] = &self.pairs[index];
        [bytemuck::cast(low.load(Ordering::Relaxed)), bytemuck::cast(high.load(Ordering::Relaxed))]
    }

    #[inline(always)]
    pub(crate) fn set(&self, index: usize, value: [f32; 4]) {
        let [low, high]: [u64; 2] = bytemuck::cast(value);
        self.pairs[index][0].store(low, Ordering::Relaxed);
        self.pairs[index][1].store(high, Ordering::Relaxed);
    }

    /// The first three words.
    #[inline(always)]
    pub(crate) fn vector(&self, index: usize) -> Vec3 {
        let [x, y, z, _] = self.get(index);
        Vec3::new(x, y, z)
    }

    /// Adds to the first three words.
    #[inline(always)]
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

impl Slot<'_> {
    /// Lets several threads write the field.
    pub(super) fn share(&mut self) {
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
    pub(super) fn again(&self) -> Self {
        let words = match self.words {
            Words::Read(words) => Words::Read(words),
            Words::Shared(shared) => Words::Shared(shared),
            Words::SharedVectors(shared) => Words::SharedVectors(shared),
            _ => Words::Taken,
        };
        Slot { name: self.name, spec: self.spec, words }
    }
}
