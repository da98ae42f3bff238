//! Fields: the arrays that kernels may touch, each declared once by a [`Spec`]: its element type, its length, its unit.
//!
//! Kernels name fields in WGSL exactly as they are declared; naga reads the names back, so there is no second list of
//! bindings. What many kernels share stands in [`crate::stage::fields`], the rest beside the kernels that own it.
//! Vectors are `vec4` with an unused last lane (WGSL aligns `vec3` to 16 bytes anyway).

use crate::engine::layout::Element;
use crate::error::{Error, Result};

/// What the elements of a field correspond to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Domain {
    /// Something that whoever declares the fields counts, by its number; [`crate::stage::sizes`] names them.
    Counted(usize),
    /// One element per workgroup of the largest reduction.
    Groups,
    /// A fixed number of elements.
    Fixed(usize),
}

/// How many things can be counted.
const COUNTED: usize = 32;

/// Number of elements of every domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    counts: [usize; COUNTED],
    groups: usize,
}

impl Sizes {
    /// Number of elements of a domain.
    pub fn of(&self, domain: Domain) -> usize {
        match domain {
            Domain::Counted(number) => self.counts.get(number).copied().unwrap_or_default(),
            Domain::Groups => self.groups,
            Domain::Fixed(count) => count,
        }
    }

    /// With another number of elements of a domain; a fixed one has what it has.
    #[must_use]
    pub fn with(mut self, domain: Domain, count: usize) -> Self {
        match domain {
            Domain::Counted(number) => {
                if let Some(stored) = self.counts.get_mut(number) {
                    *stored = count;
                }
            }
            Domain::Groups => self.groups = count,
            Domain::Fixed(_) => {}
        }
        self
    }

    /// These and others, count by count; groups are left as they are.
    #[must_use]
    pub fn zip(mut self, others: [&Self; 2], combine: impl Fn([usize; 3]) -> usize) -> Self {
        let [second, third] = others;
        for (count, others) in self.counts.iter_mut().zip(second.counts.iter().zip(&third.counts)) {
            *count = combine([*count, *others.0, *others.1]);
        }
        self
    }
}

/// Whether an element is made of floats or integers, which decides how two backends are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Integers, guards and structures with integers: compared bit by bit.
    Exact,
    /// Floats: compared within a bound.
    Rounded,
    /// Whole numbers with a sign that rounded floats were added to: compared within a bound and a few units.
    Fixed,
}

/// What a renderer may use a buffer for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// A vertex buffer.
    Vertices,
    /// An index buffer.
    Indices,
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Name, the same in WGSL.
    pub name: &'static str,
    /// WGSL name of the element type.
    pub element: &'static str,
    /// Bytes of an element.
    pub stride: usize,
    /// Members of the element and their offsets, empty unless it is a structure.
    pub members: &'static [(&'static str, usize)],
    /// What the elements correspond to.
    pub domain: Domain,
    /// How two backends are compared.
    pub precision: Precision,
    /// Magnitude whose rounding enters the field even where its own values are small; see [`crate::engine::lockstep`].
    pub floor: fn(&Fields) -> Result<f32>,
    /// Whether a checkpoint must hold it: what is carried from substep to substep, or reported.
    pub persistent: bool,
    /// Whether setting a state fills it anew ([`crate::Cloth::set_state`]).
    pub state: bool,
    /// Whether a device has it even if no kernel mentions it.
    pub resident: bool,
    /// Whether it is uploaded at the start of every frame ([`Inputs`]).
    pub input: bool,
    /// What a renderer may use it for.
    pub drawn: Option<Drawn>,
    /// Whether its values mean nothing after the dispatch that wrote them, so that backends may differ in them.
    pub scratch: bool,
    /// Whether timing decides the order of its values. Lock-step leaves each backend its own, and compares what is made
    /// of it.
    pub unordered: bool,
    /// Meaning and unit.
    pub doc: &'static str,
}

impl Spec {
    /// A field of floats.
    pub const fn of<T: Element>(name: &'static str, domain: Domain, doc: &'static str) -> Self {
        Self {
            name,
            element: T::NAME,
            stride: size_of::<T>(),
            members: T::MEMBERS,
            domain,
            precision: Precision::Rounded,
            floor: |_| Ok(0.0),
            persistent: false,
            state: false,
            resident: false,
            input: false,
            drawn: None,
            scratch: false,
            unordered: false,
            doc,
        }
    }

    /// Compared bit by bit.
    #[must_use]
    pub const fn exact(mut self) -> Self {
        self.precision = Precision::Exact;
        self
    }

    /// Carried from substep to substep: a checkpoint has it.
    #[must_use]
    pub const fn persistent(mut self) -> Self {
        self.persistent = true;
        self
    }

    /// Part of the state that can be set and is reported: a checkpoint has it, too.
    #[must_use]
    pub const fn state(mut self) -> Self {
        (self.persistent, self.state) = (true, true);
        self
    }

    /// On a device even if no kernel mentions it.
    #[must_use]
    pub const fn resident(mut self) -> Self {
        self.resident = true;
        self
    }

    /// Uploaded at the start of every frame; compared bit by bit.
    #[must_use]
    pub const fn input(mut self) -> Self {
        (self.input, self.precision) = (true, Precision::Exact);
        self
    }

    /// On a device for a renderer to draw from.
    #[must_use]
    pub const fn drawn(mut self, drawn: Drawn) -> Self {
        (self.resident, self.drawn) = (true, Some(drawn));
        self
    }

    /// Without meaning after the dispatch that wrote it.
    #[must_use]
    pub const fn scratch(mut self) -> Self {
        self.scratch = true;
        self
    }

    /// In an order that timing decides.
    #[must_use]
    pub const fn unordered(mut self) -> Self {
        (self.scratch, self.unordered) = (true, true);
        self
    }

    /// Whole numbers with a sign that rounded floats were added to.
    #[must_use]
    pub const fn fixed(mut self) -> Self {
        self.precision = Precision::Fixed;
        self
    }

    /// Magnitude of what enters the field, where that may be larger than what comes out.
    #[must_use]
    pub const fn floor(mut self, floor: fn(&Fields) -> Result<f32>) -> Self {
        self.floor = floor;
        self
    }
}

/// The values of all fields on the CPU.
#[derive(Clone, Debug)]
pub struct Fields {
    sizes: Sizes,
    specs: Vec<Spec>,
    data: Vec<Block>,
}

/// The words of one field, aligned as the widest vector of them.
#[derive(Clone, Debug)]
struct Block {
    storage: Vec<u128>,
    length: usize,
}

impl Block {
    fn zeroed(length: usize) -> Self {
        Self { storage: vec![0; length.div_ceil(4)], length }
    }

    fn words(&self) -> &[u32] {
        &bytemuck::cast_slice(&self.storage)[..self.length]
    }

    fn words_mut(&mut self) -> &mut [u32] {
        &mut bytemuck::cast_slice_mut(&mut self.storage)[..self.length]
    }
}

impl Fields {
    /// Zeroed fields.
    ///
    /// # Errors
    /// [`Error::Field`] if two fields have one name.
    pub fn new(sizes: Sizes, specs: Vec<Spec>) -> Result<Self> {
        for (index, spec) in specs.iter().enumerate() {
            if specs.iter().take(index).any(|other| other.name == spec.name) {
                return Err(Error::Field { name: spec.name.into(), problem: "is declared twice".into() });
            }
        }
        let data = specs.iter().map(|spec| Block::zeroed(sizes.of(spec.domain) * spec.stride / 4)).collect();
        Ok(Self { sizes, specs, data })
    }

    /// The same fields with other numbers of elements; what has another length is zeroed.
    pub(crate) fn resized(&self, sizes: Sizes) -> Self {
        let mut fields = Self { sizes, ..self.clone() };
        for (spec, block) in fields.specs.iter().zip(&mut fields.data) {
            let length = sizes.of(spec.domain) * spec.stride / 4;
            if block.length != length {
                *block = Block::zeroed(length);
            }
        }
        fields
    }

    /// Number of elements of every domain.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// The table with the extra fields, in the order of their numbers.
    pub fn specs(&self) -> &[Spec] {
        &self.specs
    }

    /// Number of a field.
    ///
    /// # Errors
    /// [`Error::Field`] if there is no field of that name.
    pub fn index(&self, name: &str) -> Result<usize> {
        self.specs
            .iter()
            .position(|spec| spec.name == name)
            .ok_or_else(|| Error::Field { name: name.into(), problem: "is not in the table of fields".into() })
    }

    /// Elements of a field.
    ///
    /// # Errors
    /// [`Error::Field`] if there is no such field or `T` is not its element type (or the plain words of it).
    pub fn get<T: Element>(&self, name: &str) -> Result<&[T]> {
        let index = self.index(name)?;
        view(&self.specs[index], self.data[index].words())
    }

    /// The only element of a field.
    ///
    /// # Errors
    /// As [`Fields::get`]; also where it is empty.
    pub fn one<T: Element>(&self, name: &str) -> Result<&T> {
        let empty = || Error::Field { name: name.into(), problem: "is empty".into() };
        self.get(name)?.first().ok_or_else(empty)
    }

    /// Elements of a field, to be written.
    ///
    /// # Errors
    /// As [`Fields::get`].
    pub fn get_mut<T: Element>(&mut self, name: &str) -> Result<&mut [T]> {
        let index = self.index(name)?;
        view_mut(&self.specs[index], self.data[index].words_mut())
    }

    /// Copies a field to one of as many words.
    pub(crate) fn copy(&mut self, from: &str, to: &str) -> Result<()> {
        let (from, to) = (self.index(from)?, self.index(to)?);
        let words = self.words(from).to_vec();
        self.words_mut(to).copy_from_slice(&words);
        Ok(())
    }

    /// All words of a field by number.
    pub fn words(&self, index: usize) -> &[u32] {
        self.data[index].words()
    }

    /// All words of a field by number, to be written.
    pub fn words_mut(&mut self, index: usize) -> &mut [u32] {
        self.data[index].words_mut()
    }

    /// Every field's words, to be borrowed one by one.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = (&Spec, &mut [u32])> {
        self.specs.iter().zip(self.data.iter_mut().map(Block::words_mut))
    }

    /// Largest magnitude in a field of floats, 0 if it is empty.
    ///
    /// # Errors
    /// [`Error::Field`] if there is no field of that name.
    pub fn largest(&self, name: &str) -> Result<f32> {
        let index = self.index(name)?;
        Ok(self.data[index].words().iter().map(|word| f32::from_bits(*word).abs()).fold(0.0, f32::max))
    }
}

/// What is uploaded for a frame: fields that were declared as [`Spec::input`].
#[derive(Debug)]
pub struct Inputs<'a> {
    fields: &'a mut Fields,
}

impl<'a> Inputs<'a> {
    pub(crate) fn new(fields: &'a mut Fields) -> Self {
        Self { fields }
    }

    /// Sets the only element of a field.
    ///
    /// # Errors
    /// [`Error::Field`] if there is no such field, it is not uploaded, or `T` does not fit.
    pub fn set<T: Element>(&mut self, name: &str, value: T) -> Result<()> {
        let index = self.fields.index(name)?;
        if !self.fields.specs[index].input {
            return Err(Error::Field { name: name.into(), problem: "is not declared as an input".into() });
        }
        match self.fields.get_mut::<T>(name)? {
            [only] => {
                *only = value;
                Ok(())
            }
            _ => Err(Error::Field { name: name.into(), problem: "has not one element".into() }),
        }
    }
}

/// Words as elements: the declared type, or flat words of it.
pub(crate) fn view<'a, T: Element>(spec: &Spec, words: &'a [u32]) -> Result<&'a [T]> {
    check_view::<T>(spec)?;
    Ok(bytemuck::cast_slice(words))
}

/// Words as elements, to be written.
pub(crate) fn view_mut<'a, T: Element>(spec: &Spec, words: &'a mut [u32]) -> Result<&'a mut [T]> {
    check_view::<T>(spec)?;
    Ok(bytemuck::cast_slice_mut(words))
}

fn check_view<T: Element>(spec: &Spec) -> Result<()> {
    if fits(spec, T::NAME, size_of::<T>()) {
        Ok(())
    } else {
        Err(Error::Field {
            name: spec.name.into(),
            problem: format!("holds {} and cannot be viewed as {}", spec.element, T::NAME),
        })
    }
}

/// Whether an array of `element` may be laid over the field: the same type, or plain words of it.
pub(crate) fn fits(spec: &Spec, element: &str, stride: usize) -> bool {
    let flat = (element == "f32" || element == "u32") && stride == 4;
    let vector = element == "vec4<u32>" && spec.element == "u32" && stride == 16;
    flat || vector || (spec.element == element && spec.stride == stride)
}
