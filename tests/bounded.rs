//! Nothing runs for ever: every loop of every shader and of every recorded program has a bound that is known before it
//! starts, and no submission is longer than was asked for. Needs no GPU but for the last.

mod common;

use std::collections::BTreeSet;

use common::*;
use naga::{BinaryOperator, Block, Expression, Function, Handle, Literal, LocalVariable, Module, Statement};
use taut::engine::program::{Item, Program};
use taut::engine::source::PRELUDE;
use taut::{Cloth, Settings, Substeps, scene};

/// Why a loop is not known to end.
type Doubt = &'static str;

/// What naga makes of `for (…; k < bound; k += c) { … }`: a loop that starts with `if (!(k < bound)) { break; }`.
struct Loop<'a> {
    module: &'a Module,
    function: &'a Function,
    body: &'a Block,
    continuing: &'a Block,
}

impl Loop<'_> {
    /// Proves that the loop counts towards a bound that it does not move. Steps are constants and comparisons strict,
    /// so that a counter cannot step over its bound but where the bound is within a step of 2³², which no buffer
    /// reaches.
    fn prove(&self) -> Result<(), Doubt> {
        let mut statements = self.body.iter().filter(|statement| !matches!(statement, Statement::Emit(_)));
        let Some(Statement::If { condition, accept, reject }) = statements.next() else {
            return Err("it does not start with a comparison");
        };
        if !accept.is_empty() || !matches!(reject.first(), Some(Statement::Break)) {
            return Err("its comparison does not end it");
        }
        let Expression::Binary { op, left, right } = self.function.expressions[*condition] else {
            return Err("its condition is no comparison");
        };
        let step = match op {
            BinaryOperator::Less => BinaryOperator::Add,
            BinaryOperator::Greater => BinaryOperator::Subtract,
            _ => return Err("its comparison is neither < nor >"),
        };
        let counter = self.loaded(left).ok_or("what it compares is no variable")?;
        if !self.holds_still(right) {
            return Err("its bound may move");
        }
        let steps = self.continuing.iter().filter(|statement| !matches!(statement, Statement::Emit(_)));
        for statement in steps.clone() {
            let Statement::Store { pointer, value } = statement else { return Err("it does more than count") };
            let counts = match self.function.expressions[*value] {
                Expression::Binary { op, left, right } => {
                    op == step && self.loaded(left) == Some(counter) && self.is_positive(right)
                }
                _ => false,
            };
            if self.variable(*pointer) != Some(counter) || !counts {
                return Err("it does not step towards its bound");
            }
        }
        if steps.count() != 1 {
            return Err("it does not count once in a turn");
        }
        if self.touches(self.body, counter) { Err("its body changes the counter") } else { Ok(()) }
    }

    /// The local variable behind a pointer, or a part of it.
    fn variable(&self, pointer: Handle<Expression>) -> Option<Handle<LocalVariable>> {
        match self.function.expressions[pointer] {
            Expression::LocalVariable(variable) => Some(variable),
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => self.variable(base),
            _ => None,
        }
    }

    fn loaded(&self, value: Handle<Expression>) -> Option<Handle<LocalVariable>> {
        match self.function.expressions[value] {
            Expression::Load { pointer } => self.variable(pointer),
            _ => None,
        }
    }

    fn is_positive(&self, value: Handle<Expression>) -> bool {
        let literal = match self.function.expressions[value] {
            Expression::Literal(literal) => Some(literal),
            Expression::Constant(constant) => {
                match self.module.global_expressions[self.module.constants[constant].init] {
                    Expression::Literal(literal) => Some(literal),
                    _ => None,
                }
            }
            _ => None,
        };
        matches!(literal, Some(Literal::U32(1..)))
    }

    /// Whether a value is the same in every turn: made of constants, arguments, and memory that the loop does not
    /// write.
    fn holds_still(&self, value: Handle<Expression>) -> bool {
        match self.function.expressions[value] {
            Expression::Literal(_) | Expression::Constant(_) | Expression::FunctionArgument(_) => true,
            Expression::Binary { left, right, .. } => self.holds_still(left) && self.holds_still(right),
            Expression::AccessIndex { base, .. } | Expression::Splat { value: base, .. } => self.holds_still(base),
            // Not by this name: what a call is given, it may change.
            Expression::Load { pointer } => self.place_holds_still(pointer),
            // Made before the loop: naga computes a value where it is emitted.
            _ => !self.emits(self.body, value),
        }
    }

    fn place_holds_still(&self, pointer: Handle<Expression>) -> bool {
        match self.function.expressions[pointer] {
            Expression::LocalVariable(variable) => !self.touches(self.body, variable),
            Expression::GlobalVariable(variable) => {
                // Uniforms and what is bound read-only; a kernel cannot bind a field twice.
                match self.module.global_variables[variable].space {
                    naga::AddressSpace::Uniform => true,
                    naga::AddressSpace::Storage { access } => !access.contains(naga::StorageAccess::STORE),
                    _ => false,
                }
            }
            Expression::FunctionArgument(_) => !self.stores_through_arguments(self.body),
            Expression::Access { base, index } => self.place_holds_still(base) && self.holds_still(index),
            Expression::AccessIndex { base, .. } => self.place_holds_still(base),
            _ => false,
        }
    }

    fn emits(&self, block: &Block, value: Handle<Expression>) -> bool {
        any(block, &mut |statement| match statement {
            Statement::Emit(range) => range.clone().any(|emitted| emitted == value),
            Statement::Call { result, .. } => *result == Some(value),
            Statement::WorkGroupUniformLoad { result, .. } => *result == value,
            _ => false,
        })
    }

    /// Whether a block may write a local variable: stores to it, or hands out a pointer to it.
    fn touches(&self, block: &Block, variable: Handle<LocalVariable>) -> bool {
        any(block, &mut |statement| match statement {
            Statement::Store { pointer, .. } => self.variable(*pointer) == Some(variable),
            Statement::Call { arguments, .. } => {
                arguments.iter().any(|argument| self.variable(*argument) == Some(variable))
            }
            _ => false,
        })
    }

    fn stores_through_arguments(&self, block: &Block) -> bool {
        fn argument(function: &Function, pointer: Handle<Expression>) -> bool {
            match function.expressions[pointer] {
                Expression::FunctionArgument(_) => true,
                Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => argument(function, base),
                _ => false,
            }
        }
        any(block, &mut |statement| match statement {
            Statement::Store { pointer, .. } => argument(self.function, *pointer),
            Statement::Call { arguments, .. } => arguments.iter().any(|pointer| argument(self.function, *pointer)),
            _ => false,
        })
    }
}

/// Whether a statement of a block, or of one inside it, has a property.
fn any(block: &Block, property: &mut dyn FnMut(&Statement) -> bool) -> bool {
    block.iter().any(|statement| {
        property(statement)
            || match statement {
                Statement::Block(inner) => any(inner, property),
                Statement::If { accept, reject, .. } => any(accept, property) || any(reject, property),
                Statement::Switch { cases, .. } => cases.iter().any(|case| any(&case.body, property)),
                Statement::Loop { body, continuing, .. } => any(body, property) || any(continuing, property),
                _ => false,
            }
    })
}

/// Number of loops in a shader, or the first that is not known to end.
fn loops(module: &Module) -> Result<usize, String> {
    let entries = module.entry_points.iter().map(|entry| (entry.name.clone(), &entry.function));
    let functions = module.functions.iter().map(|(_, function)| (function.name.clone().unwrap_or_default(), function));
    let mut count = 0;
    let mut doubt = None;
    for (name, function) in entries.chain(functions) {
        any(&function.body, &mut |statement| {
            if let Statement::Loop { body, continuing, break_if } = statement {
                count += 1;
                let found = match break_if {
                    Some(_) => Err("it ends by `break if`"),
                    None => Loop { module, function, body, continuing }.prove(),
                };
                if let Err(reason) = found {
                    doubt.get_or_insert(format!("`{name}` has a loop that may not end: {reason}"));
                }
            }
            false
        });
    }
    doubt.map_or(Ok(count), Err)
}

fn parsed(text: String) -> Module {
    naga::front::wgsl::parse_str(&text).expect("a shader")
}

#[test]
fn every_loop_of_every_shader_counts_towards_a_bound() {
    let mut count = 0;
    let mut seen = BTreeSet::new();
    for (_, cloth) in cloths(5) {
        for dispatch in cloth.program().dispatches() {
            let source = dispatch.kernel.source;
            if seen.insert(source.stem) {
                count += loops(&parsed(source.text())).unwrap_or_else(|doubt| panic!("{}: {doubt}", source.stem));
            }
        }
    }
    assert!(count > 40, "only {count} loops were found");
}

#[test]
fn loops_that_may_not_end_are_found() {
    for (text, doubt) in [
        ("for (var k = 0u; k < 8u; k++) { x += 1.0; }", None),
        ("for (var k = 8u; k > 0u; k--) { x += 1.0; }", None),
        ("let end = u32(x); for (var k = 0u; k < end + 1u; k += 2u) { if (x > 3.0) { break; } }", None),
        ("for (var k = 0u; k < u32(displacements[k].x); k++) { x += 1.0; }", Some("its bound may move")),
        ("var end = 8u; for (var k = 0u; k < end; k++) { end += 1u; }", Some("its bound may move")),
        ("var end = 8u; for (var k = 0u; k < end; k++) { stretch(&end); }", Some("its bound may move")),
        ("for (var k = 0u; k < 8u; k++) { k -= 1u; }", Some("its body changes the counter")),
        ("for (var k = 0u; k < 8u; k++) { stretch(&k); }", Some("its body changes the counter")),
        ("for (var k = 0u; k < 8u; k += u32(x)) { x += 1.0; }", Some("it does not step towards its bound")),
        ("for (var k = 8u; k > 0u; k++) { x += 1.0; }", Some("it does not step towards its bound")),
        ("for (var k = 0u; k != 8u; k += 3u) { x += 1.0; }", Some("its comparison is neither < nor >")),
        ("for (var k = 0u; k < 8u;) { x += 1.0; }", Some("it does not count once in a turn")),
        ("while (x < 8.0) { x *= 0.5; }", Some("it does not count once in a turn")),
        ("loop { x += 1.0; if (x > 3.0) { break; } }", Some("it does not start with a comparison")),
        ("loop { x += 1.0; continuing { break if x > 3.0; } }", Some("it ends by `break if`")),
    ] {
        let text = format!(
            "@group(0) @binding(0) var<storage, read_write> displacements: array<vec4<f32>>;
             fn stretch(end: ptr<function, u32>) {{ *end += 1u; }}
             @compute @workgroup_size(GROUP) fn run(i: Invocation) {{
                 var x = displacements[element(i)].x;
                 {text}
                 displacements[element(i)].x = x;
             }}"
        );
        match (loops(&parsed(format!("{text}\n{}", PRELUDE.text()))), doubt) {
            (Ok(count), None) => assert!(count > 0, "{text}"),
            (Err(found), Some(doubt)) => assert!(found.contains("`run`") && found.ends_with(doubt), "{found}\n{text}"),
            (found, _) => panic!("{found:?}\n{text}"),
        }
    }
}

/// Dispatches of a program, loops unrolled, counted by hand; and its loops, each with its bound.
fn walk(items: &[Item], bounds: &mut Vec<u32>) -> u64 {
    items
        .iter()
        .map(|item| match item {
            Item::Dispatch(_) => 1,
            Item::Repeat(repeat) => {
                assert!(repeat.at_most > 0 && !repeat.body.is_empty(), "a loop that does nothing");
                bounds.push(repeat.at_most);
                u64::from(repeat.at_most) * walk(&repeat.body, bounds)
            }
            _ => panic!("a kind of item that this walk does not know"),
        })
        .sum()
}

#[test]
fn every_recorded_loop_has_a_bound_that_follows_from_the_settings() {
    let mut walked = 0;
    for (name, cloth) in cloths(5) {
        let mut bounds = Vec::new();
        let program: &Program = cloth.program();
        assert_eq!(walk(&program.items, &mut bounds), program.dispatch_count(), "{name}");
        // Substeps, iterations, inner iterations: none is beyond what a solver may be asked for.
        assert!(bounds.iter().all(|bound| *bound <= 100_000), "{name}: {bounds:?}");
        walked += bounds.len();
    }
    assert!(walked > 20, "only {walked} loops were recorded");
}

#[test]
fn no_submission_is_longer_than_was_asked_for() {
    let Some(gpu) = gpu() else { return };
    for most in [1, 7, 100, 2000] {
        let settings = Settings { dispatches_per_submission: most, substeps: Substeps::Fixed(3), ..Default::default() };
        let mut cloth = Cloth::on_gpu(&gpu, scene::hang(6).expect("a scene").with_settings(settings)).expect("a cloth");
        cloth.step(&frame(FRAME)).expect("the step runs");
        let longest = cloth.longest_submission();
        assert!(longest > 0 && longest <= most.into(), "{longest} dispatches where {most} were asked for");
    }
}
