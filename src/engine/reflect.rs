//! Reads from a kernel's WGSL which fields it binds, where, and whether it writes them.
//!
//! Names, slots, access and workgroup size stand in the shader text alone; this is how the rest of the crate learns
//! them. A name that is not in the table of fields, or an element of another size, is an error at construction and in
//! a test that needs no GPU.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use naga::valid::{Capabilities, GlobalUse, ModuleInfo, ValidationFlags, Validator};

use crate::engine::fields::{Spec, fits};
use crate::engine::layout::{Element, GROUP, Range};
use crate::engine::program::{Dispatch, Kernel, Pattern};
use crate::engine::source::Source;
use crate::error::{Error, Result};

/// Name of the dispatch record in the prelude; it is not a field.
const RANGE: &str = "range";

/// How a kernel uses a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A uniform buffer.
    Uniform,
    /// A storage buffer that is only read.
    Read,
    /// A storage buffer that may be written.
    Write,
}

/// One field of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Name in WGSL.
    pub name: String,
    /// Slot in bind group 0.
    pub slot: u32,
    /// How it is declared, hence how it is bound.
    pub access: Access,
    /// Whether this entry point really writes it; a file declares a field once for all its kernels.
    pub writes: bool,
    /// WGSL type of an element.
    pub element: String,
    /// Members of the element and their offsets, empty unless it is a structure.
    pub members: Vec<(String, usize)>,
    /// Bytes from one element to the next.
    pub stride: usize,
    /// Bytes that must at least be bound.
    pub least: u64,
}

/// What a kernel's WGSL says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Fields it uses, in the order of their slots.
    pub bindings: Vec<Binding>,
    /// Invocations of a workgroup.
    pub workgroup_size: u32,
}

/// A parsed and validated WGSL file with the prelude.
#[derive(Debug)]
pub struct Shader {
    /// Text as the device gets it.
    pub text: String,
    module: naga::Module,
    info: ModuleInfo,
}

impl Shader {
    /// Parses and validates a kernel's file with what it takes from others.
    ///
    /// # Errors
    /// [`Error::Shader`] with naga's message; also where the record of a dispatch is not laid out as in Rust.
    pub fn of(source: &'static Source) -> Result<Self> {
        Self::parse(source.text())
    }

    /// Parses and validates a whole text.
    ///
    /// # Errors
    /// As [`Shader::of`].
    pub fn parse(text: String) -> Result<Self> {
        let module = naga::front::wgsl::parse_str(&text)
            .map_err(|error| Error::Shader { message: error.emit_to_string(&text) })?;
        let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
            .validate(&module)
            .map_err(|error| Error::Shader { message: error.emit_to_string(&text) })?;
        let shader = Self { text, module, info };
        let range = shader.module.global_variables.iter().find(|(_, variable)| variable.name.as_deref() == Some(RANGE));
        if let Some((_, variable)) = range
            && !same_members(&shader.members(variable.ty), Range::MEMBERS)
        {
            return Err(Error::Shader { message: "`Range` has other members in WGSL than in Rust".into() });
        }
        Ok(shader)
    }

    /// Names of the entry points.
    pub fn entry_points(&self) -> impl Iterator<Item = &str> {
        self.module.entry_points.iter().map(|entry| entry.name.as_str())
    }

    /// What one entry point says about itself.
    ///
    /// # Errors
    /// [`Error::Shader`] if there is no such entry point, or a binding is not an array or a structure in group 0.
    pub fn interface(&self, entry_point: &str) -> Result<Interface> {
        let wrong = |message: String| Error::Shader { message: format!("kernel `{entry_point}`: {message}") };
        let (index, entry) = self
            .module
            .entry_points
            .iter()
            .enumerate()
            .find(|(_, entry)| entry.name == entry_point)
            .ok_or_else(|| wrong("the file has no such entry point".into()))?;
        let uses = self.info.get_entry_point(index);
        let mut layouter = naga::proc::Layouter::default();
        layouter.update(self.module.to_ctx()).map_err(|error| wrong(error.to_string()))?;
        let mut bindings = Vec::new();
        for (handle, variable) in self.module.global_variables.iter() {
            let Some(at) = &variable.binding else { continue };
            let name = variable.name.clone().unwrap_or_default();
            if uses[handle].is_empty() || name == RANGE {
                continue;
            }
            if at.group != 0 {
                return Err(wrong(format!("field `{name}` is not in group 0")));
            }
            let access = match variable.space {
                naga::AddressSpace::Uniform => Access::Uniform,
                naga::AddressSpace::Storage { access } if access.contains(naga::StorageAccess::STORE) => Access::Write,
                naga::AddressSpace::Storage { .. } => Access::Read,
                _ => return Err(wrong(format!("`{name}` is neither a uniform nor a storage buffer"))),
            };
            let (item, stride) = match &self.module.types[variable.ty].inner {
                naga::TypeInner::Array { base, stride, .. } => (*base, *stride as usize),
                _ => (variable.ty, layouter[variable.ty].to_stride() as usize),
            };
            bindings.push(Binding {
                name,
                slot: at.binding,
                access,
                writes: uses[handle].intersects(GlobalUse::WRITE | GlobalUse::ATOMIC),
                element: self.type_name(item),
                members: self.members(item),
                stride,
                least: u64::from(layouter[variable.ty].size),
            });
        }
        bindings.sort_by_key(|binding| binding.slot);
        let [x, y, z] = entry.workgroup_size;
        Ok(Interface { bindings, workgroup_size: x * y * z })
    }

    /// Whether an entry point reads a global variable of this name.
    pub fn reads(&self, entry_point: &str, name: &str) -> bool {
        self.module.entry_points.iter().position(|entry| entry.name == entry_point).is_some_and(|index| {
            self.module.global_variables.iter().any(|(handle, variable)| {
                variable.name.as_deref() == Some(name)
                    && self.info.get_entry_point(index)[handle].contains(GlobalUse::READ)
            })
        })
    }

    /// Whether a global variable of this name holds atomics.
    pub fn is_atomic(&self, name: &str) -> bool {
        self.module.global_variables.iter().any(|(_, variable)| {
            let item = match self.module.types[variable.ty].inner {
                naga::TypeInner::Array { base, .. } => base,
                _ => variable.ty,
            };
            variable.name.as_deref() == Some(name)
                && matches!(self.module.types[item].inner, naga::TypeInner::Atomic(_))
        })
    }

    /// Whether an entry point itself, apart from the functions that it calls, uses what an atomic returns.
    pub fn uses_returned_atomics(&self, entry_point: &str) -> bool {
        let entry = self.module.entry_points.iter().find(|entry| entry.name == entry_point);
        entry.is_some_and(|entry| {
            let results = entry.function.expressions.iter().filter_map(|(handle, expression)| {
                matches!(expression, naga::Expression::AtomicResult { .. }).then_some(handle)
            });
            // What has a name was bound to one: `let place = atomicAdd(…)`.
            results.into_iter().any(|handle| entry.function.named_expressions.contains_key(&handle))
        })
    }

    /// Members of a structure and their offsets.
    fn members(&self, handle: naga::Handle<naga::Type>) -> Vec<(String, usize)> {
        match &self.module.types[handle].inner {
            naga::TypeInner::Struct { members, .. } => {
                members.iter().map(|member| (member.name.clone().unwrap_or_default(), member.offset as usize)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// WGSL spelling of an element type.
    fn type_name(&self, handle: naga::Handle<naga::Type>) -> String {
        let scalar = |scalar: naga::Scalar| match scalar.kind {
            naga::ScalarKind::Float => "f32",
            naga::ScalarKind::Sint => "i32",
            _ => "u32",
        };
        let kind = &self.module.types[handle];
        match kind.inner {
            naga::TypeInner::Scalar(of) | naga::TypeInner::Atomic(of) => scalar(of).into(),
            naga::TypeInner::Vector { size, scalar: of } => format!("vec{}<{}>", size as u8, scalar(of)),
            _ => kind.name.clone().unwrap_or_else(|| "?".into()),
        }
    }
}

/// A kernel's WGSL, parsed, and its interface. A file is parsed once per process: it is a constant.
///
/// # Errors
/// [`Error::Shader`] with naga's message.
pub fn interface(kernel: &Kernel) -> Result<(Arc<Shader>, Interface)> {
    static PARSED: Mutex<BTreeMap<usize, Arc<Shader>>> = Mutex::new(BTreeMap::new());
    let parsed = || PARSED.lock().unwrap_or_else(PoisonError::into_inner);
    let found = parsed().get(&kernel.source.identity()).cloned();
    let shader = match found {
        Some(shader) => shader,
        None => {
            let shader = Arc::new(Shader::of(kernel.source)?);
            parsed().insert(kernel.source.identity(), shader.clone());
            shader
        }
    };
    let interface = shader.interface(kernel.name)?;
    Ok((shader, interface))
}

fn same_members(wgsl: &[(String, usize)], rust: &[(&str, usize)]) -> bool {
    wgsl.iter().map(|(name, offset)| (name.as_str(), *offset)).eq(rust.iter().copied())
}

/// Numbers of the fields that a use of a kernel binds, in the order of its bindings.
///
/// # Errors
/// [`Error::Field`] if a name is not in the table, an element does not fit or has other members than in Rust, or two
/// names stand for one field.
pub fn resolve(dispatch: &Dispatch, interface: &Interface, specs: &[Spec]) -> Result<Vec<usize>> {
    let size = interface.workgroup_size as usize;
    if size != GROUP && !(size == 1 && dispatch.kernel.pattern == Pattern::Group) {
        let message = format!("kernel `{}` has workgroups of {size}, not of {GROUP}", dispatch.kernel.name);
        return Err(Error::Shader { message });
    }
    let mut numbers: Vec<usize> = Vec::with_capacity(interface.bindings.len());
    for binding in &interface.bindings {
        let name = dispatch.field(&binding.name);
        let wrong = |problem: String| Error::Field {
            name: name.into(),
            problem: format!("{problem} (kernel `{}`, WGSL name `{}`)", dispatch.kernel.name, binding.name),
        };
        let number = specs
            .iter()
            .position(|spec| spec.name == name)
            .ok_or_else(|| wrong("is not in the table of fields".into()))?;
        if !fits(&specs[number], &binding.element, binding.stride) {
            let spec = &specs[number];
            return Err(wrong(format!(
                "holds {} of {} bytes, not {} of {}",
                spec.element, spec.stride, binding.element, binding.stride
            )));
        }
        if !binding.members.is_empty() && !same_members(&binding.members, specs[number].members) {
            return Err(wrong(format!("holds a {} whose members are others in WGSL than in Rust", binding.element)));
        }
        if numbers.contains(&number) {
            return Err(wrong("is bound under two names".into()));
        }
        numbers.push(number);
    }
    Ok(numbers)
}
