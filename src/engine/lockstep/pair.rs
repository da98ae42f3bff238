//! Both backends side by side.

use super::{Agreement, BOUND, ENTRY, Mismatch, Scale, Terms};
use crate::engine::cpu;
use crate::engine::fields::{Fields, Precision, Spec};
use crate::engine::gpu::Gpu;
use crate::engine::gpu::readback::Waiting;
use crate::engine::gpu::runner::Runner;
use crate::engine::program::{Dispatch, Item, Program};
use crate::error::{Error, Result};

/// Runs a program on both backends, one dispatch at a time; `fields` is left as the CPU leaves it.
///
/// A user's own stage is tested by the same function: put it in [`crate::Settings::stages`] and hand over
/// [`crate::Cloth::program`] and [`crate::Cloth::fields`] of a cloth on the CPU. Stops after `at_most` dispatches.
///
/// # Errors
/// [`Error::Mismatch`] at the first difference; [`Error::Device`] and others as [`crate::Cloth::on_gpu`].
pub fn compare(gpu: &Gpu, program: &Program, fields: &mut Fields, at_most: u64) -> Result<Agreement> {
    compare_on(gpu, program, fields, at_most.into())
}

/// [`compare`], on other terms.
///
/// # Errors
/// As [`compare`].
pub fn compare_on(gpu: &Gpu, program: &Program, fields: &mut Fields, terms: Terms) -> Result<Agreement> {
    let runner = pollster::block_on(Runner::new(gpu, program, fields))?;
    let cpu = cpu::Runner::new(program, fields)?;
    let mut pair = Pair { cpu, gpu: runner, agreement: Agreement::default(), terms };
    pair.items(&program.items, fields)?;
    Ok(pair.agreement)
}

struct Pair {
    cpu: cpu::Runner,
    gpu: Runner,
    agreement: Agreement,
    terms: Terms,
}

impl Pair {
    fn items(&mut self, items: &[Item], fields: &mut Fields) -> Result<()> {
        for item in items {
            match item {
                Item::Dispatch(dispatch) => {
                    if self.agreement.dispatches < self.terms.at_most {
                        self.dispatch(dispatch, fields)?;
                    }
                }
                Item::Repeat(repeat) => {
                    for _ in 0..repeat.at_most {
                        let runs = fields.get::<u32>("guards")?[repeat.guard as usize] != 0;
                        if !runs || self.agreement.dispatches >= self.terms.at_most {
                            break;
                        }
                        self.items(&repeat.body, fields)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn dispatch(&mut self, dispatch: &Dispatch, fields: &mut Fields) -> Result<()> {
        let interface = self.cpu.interface(dispatch).cloned();
        let Some(interface) = interface else { return Ok(()) };
        let mut written = Vec::new();
        for binding in &interface.bindings {
            let name = dispatch.field(&binding.name);
            let number = fields.index(name)?;
            if !fields.specs()[number].unordered {
                self.gpu.write(fields, name)?;
            }
            if binding.writes {
                written.push(number);
            }
        }
        self.gpu.submit_scoped(|encoder| self.gpu.encode_one(encoder, dispatch))??;
        let names: Vec<&str> = written.iter().map(|number| fields.specs()[*number].name).collect();
        let bytes = pollster::block_on(self.gpu.read(&names, Waiting::Block))?;
        let before = fields.clone();
        let ran = self.cpu.dispatch(dispatch, fields)?;
        let mut words: &[u32] = &bytemuck::pod_collect_to_vec(&bytes);
        for number in written {
            let buffer = self.gpu.buffer(number)?.size() as usize / 4;
            let (field, rest) = words.split_at(buffer);
            words = rest;
            self.field(dispatch, &before, fields, number, field)?;
        }
        self.agreement.dispatches += 1;
        // Where a guard was off, nothing was compared but that both did nothing.
        if ran && !self.agreement.kernels.contains(&dispatch.kernel.name) {
            self.agreement.kernels.push(dispatch.kernel.name);
        }
        Ok(())
    }

    fn field(
        &mut self,
        dispatch: &Dispatch,
        before: &Fields,
        after: &Fields,
        number: usize,
        gpu: &[u32],
    ) -> Result<()> {
        let spec = after.specs()[number];
        if spec.scratch {
            return Ok(());
        }
        let words_each = spec.stride / 4;
        let (old, cpu) = (before.words(number), after.words(number));
        let largest = if spec.precision == Precision::Fixed { largest_whole } else { largest };
        let floor = (spec.floor)(before)?.max((spec.floor)(after)?);
        let scales: Vec<f32> =
            (0..words_each).map(|word| largest(old, word, words_each).max(largest(cpu, word, words_each))).collect();
        let name = dispatch.kernel.name;
        let here = self.terms.amplified.iter().find(|(kernel, _)| *kernel == name).map_or(1.0, |(_, factor)| *factor);
        let amplification = dispatch.kernel.amplification.max(here);
        for (index, (cpu, gpu)) in cpu.iter().zip(gpu).enumerate() {
            let scale = scales[index % words_each];
            let bound = match spec.precision {
                Precision::Exact => 0.0,
                Precision::Rounded if self.terms.scale == Scale::Entry => {
                    let first = index - index % words_each;
                    let element = |words| largest(words, 0, 1);
                    let (old, new) = (&old[first..first + words_each], &after.words(number)[first..first + words_each]);
                    let own = element(old).max(element(new)).max(floor);
                    amplification * (BOUND * scale.max(floor)).min(ENTRY * own)
                }
                Precision::Rounded => BOUND * amplification * scale.max(floor),
                Precision::Fixed => BOUND * amplification * scale + FEW_UNITS,
            };
            let excess = excess(&spec, *cpu, *gpu, bound);
            self.agreement.worst = self.agreement.worst.max(excess.min(1.0));
            self.agreement.words += 1;
            if excess > 1.0 {
                return Err(Error::Mismatch(Box::new(Mismatch {
                    kernel: dispatch.kernel.name,
                    dispatch: self.agreement.dispatches,
                    field: spec.name,
                    element: index / words_each,
                    word: index % words_each,
                    cpu: f32::from_bits(*cpu),
                    gpu: f32::from_bits(*gpu),
                    bound,
                })));
            }
        }
        Ok(())
    }
}

/// Difference as a part of the bound; infinite where it cannot be accepted.
fn excess(spec: &Spec, cpu: u32, gpu: u32, bound: f32) -> f32 {
    if cpu == gpu {
        return 0.0;
    }
    if spec.precision == Precision::Exact {
        return f32::INFINITY;
    }
    let difference = match spec.precision {
        Precision::Fixed => (f64::from(cpu as i32) - f64::from(gpu as i32)).abs() as f32,
        _ => (f32::from_bits(cpu) - f32::from_bits(gpu)).abs(),
    };
    // 0 and −0 differ in bits only.
    if difference == 0.0 {
        return 0.0;
    }
    let part = difference / bound;
    if part.is_nan() { f32::INFINITY } else { part }
}

/// Units by which sums of whole numbers may differ whose terms were rounded apart: one for each of so many.
const FEW_UNITS: f32 = 32.0;

/// Largest magnitude of one word, as a whole number with a sign.
fn largest_whole(words: &[u32], word: usize, words_each: usize) -> f32 {
    words.iter().skip(word).step_by(words_each).map(|word| (*word as i32).unsigned_abs() as f32).fold(0.0, f32::max)
}

/// Largest magnitude of one word.
fn largest(words: &[u32], word: usize, words_each: usize) -> f32 {
    words.iter().skip(word).step_by(words_each).map(|word| f32::from_bits(*word).abs()).fold(0.0, f32::max)
}
