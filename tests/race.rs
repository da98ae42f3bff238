//! No invocation of a dispatch reads or writes what another one writes. A CPU driver hides such races and a GPU shows
//! them now and then, so they are looked for here, on the Rust bodies, without a GPU:
//!
//! - every dispatch is run invocation by invocation (a reduction: workgroup by workgroup) forward, reversed and
//!   shuffled, and must give the bits of the whole dispatch;
//! - every invocation is run alone, and the words it changes must be its own and nobody else's. A write that leaves a
//!   word as it was is invisible, so this is done from three starts, two of them with everything that the kernel
//!   writes disturbed at random;
//! - every invocation is run alone with the words of all others disturbed, and must write what it wrote before.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use common::*;
use taut::engine::cpu::{Run, Runner};
use taut::engine::fields::{Domain, Fields, Precision};
use taut::engine::layout::GROUP;
use taut::engine::program::{Dispatch, Item, Kernel, Pattern, Program};
use taut::engine::reflect;
use taut::engine::source::Source;
use taut::mesh::yarns::YarnRow;
use taut::{
    Cloth, Elasticity, FrameInput, GaussSeidel, Mass, Mesh, MeshDescriptor, Method, PinTarget, Pose, Result, Scene,
    Settings, Substeps,
};

/// The exception: every invocation of `rebound` may set the same bit of its own fault word, by an atomic OR in WGSL.
/// The order of ORs does not matter, and nobody in that dispatch reads the word.
const SHARED: [(&str, &str); 1] = [("rebound", "faults")];

/// Fields whose atomics are named one by one in [`SHARED`].
const OR_ONLY: [&str; 1] = ["faults"];

/// The one kernel that uses what an atomic returns. Its places within a bucket are in any order: they are compared as
/// sets, and `rank_items` sorts them.
const SCATTERS: (&str, &str) = ("scatter_items", "unordered");

/// How often one use of a kernel is examined per cloth; the state differs each time.
const TIMES: usize = 3;

/// Number of a field, index of a 32-bit word in it.
type Word = (usize, usize);

/// What is wrong with a dispatch.
#[derive(Debug, PartialEq, Eq)]
enum Race {
    /// Two invocations write one word.
    DoubleWrite { field: &'static str, element: usize },
    /// An invocation writes an element that is not its own, though its shape says it does not.
    Foreign { field: &'static str, element: usize },
    /// An invocation reads what another one writes.
    ReadsOthers { field: &'static str, element: usize },
    /// The order of the invocations changes the result.
    Order { field: &'static str, element: usize },
}

impl fmt::Display for Race {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

/// One use of a kernel under examination.
struct Suspect<'a> {
    runner: &'a Runner,
    dispatch: &'a Dispatch,
    /// Numbers of the fields that it may write; the runner hands out all others as read-only slices.
    written: Vec<usize>,
    /// Words of an element of each, as the kernel sees it: a field of vectors may be one of numbers to it.
    strides: Vec<usize>,
    parts: Vec<Range<usize>>,
    /// Kernels and fields in which a double write is allowed.
    shared: &'static [(&'static str, &'static str)],
    /// Fields that it writes by atomics of integers, whose returned values nobody uses: several invocations may write
    /// a word where every order gives the same bits.
    atomics: Vec<usize>,
}

impl<'a> Suspect<'a> {
    /// What is at work at once in a dispatch: all of it, or one pass after another. Nothing for one workgroup that does
    /// it all: there is nobody to race with but its own barriers.
    fn all(runner: &'a Runner, dispatch: &'a Dispatch, fields: &Fields) -> Vec<Self> {
        let interface = runner.interface(dispatch).expect("the runner knows the kernel");
        let written = interface.bindings.iter().filter(|binding| binding.writes);
        let written = written
            .map(|binding| (fields.index(dispatch.field(&binding.name)).expect("a known field"), binding.stride / 4));
        let (written, strides): (Vec<usize>, Vec<usize>) = written.unzip();
        let atomics: Vec<usize> = reflect::interface(dispatch.kernel)
            .map(|(shader, interface)| {
                let found = interface.bindings.iter().filter(|binding| shader.is_atomic(&binding.name));
                found.map(|binding| fields.index(dispatch.field(&binding.name)).expect("a known field")).collect()
            })
            .expect("the kernel was reflected before");
        let reduces = written.iter().any(|number| fields.specs()[*number].domain == Domain::Groups);
        let step = match dispatch.kernel.pattern {
            // A workgroup's invocations make a leaf together.
            Pattern::Element if reduces => GROUP,
            Pattern::Blocks => GROUP,
            Pattern::Element | Pattern::Scatter => 1,
            // The lanes of a yarn work together; yarns do not.
            Pattern::Lines => dispatch.arguments[0] as usize,
            // Pieces of yarns between two pins look at all of their yarn before any of them is moved.
            Pattern::Passes => {
                let [first, end, ..] = dispatch.arguments.map(|argument| argument as usize);
                let table = fields.get::<[u32; 4]>(dispatch.field("window_passes")).expect("passes");
                let passes = &table[first..end];
                let parts = |[first, end, _, held]: &[u32; 4]| {
                    let together = (*held > 0).then_some(*first as usize..(*first + *held) as usize);
                    together
                        .into_iter()
                        .chain((first + held..*end).map(|piece| piece as usize..piece as usize + 1))
                        .collect()
                };
                let suspect = |parts| Self {
                    runner,
                    dispatch,
                    written: written.clone(),
                    strides: strides.clone(),
                    parts,
                    shared: &SHARED,
                    atomics: atomics.clone(),
                };
                return passes.iter().map(parts).map(suspect).collect();
            }
            _ => return Vec::new(),
        };
        let (first, end) = (dispatch.range.start as usize, dispatch.range.end as usize);
        let parts = (first..end).step_by(step).map(|from| from..(from + step).min(end)).collect();
        vec![Self { runner, dispatch, written, strides, parts, shared: &SHARED, atomics }]
    }

    fn save(&self, fields: &Fields) -> Vec<Vec<u32>> {
        self.written.iter().map(|number| fields.words(*number).to_vec()).collect()
    }

    /// Sorts the items of every bucket, so that the rest of this test compares sets.
    fn as_sets(&self, fields: &mut Fields) {
        if self.dispatch.kernel.name != SCATTERS.0 {
            return;
        }
        let ends = fields.get::<u32>("bucket_starts").expect("words").to_vec();
        let items = fields.get_mut::<u32>(SCATTERS.1).expect("words");
        let mut first = 0;
        for end in ends {
            items[first..end as usize].sort_unstable();
            first = end as usize;
        }
    }

    fn restore(&self, fields: &mut Fields, saved: &[Vec<u32>]) {
        for (number, words) in self.written.iter().zip(saved) {
            fields.words_mut(*number).copy_from_slice(words);
        }
    }

    fn run(&self, part: &Range<usize>, fields: &mut Fields) {
        let ran = self.runner.dispatch_part(self.dispatch, part.clone(), fields).expect("the body runs");
        assert!(ran, "{} was asked to run in a loop that has ended", self.dispatch.kernel.name);
    }

    fn is_shared(&self, fields: &Fields, field: usize) -> bool {
        let word = (self.dispatch.kernel.name, fields.specs()[field].name);
        self.shared.contains(&word) || (self.atomics.contains(&field) && !OR_ONLY.contains(&word.1))
    }

    /// The place of a word as a report names it.
    fn place(fields: &Fields, (field, word): Word) -> (&'static str, usize) {
        let spec = &fields.specs()[field];
        (spec.name, word / (spec.stride / 4))
    }

    /// Words of an element of a written field, as the kernel sees it.
    fn stride(&self, field: usize) -> usize {
        let written = self.written.iter().position(|number| *number == field).expect("a written field");
        self.strides[written]
    }

    /// First word in which the written fields differ from a copy.
    fn difference(&self, fields: &Fields, saved: &[Vec<u32>]) -> Option<Word> {
        self.changed(fields, saved).into_iter().next()
    }

    fn changed(&self, fields: &Fields, saved: &[Vec<u32>]) -> Vec<Word> {
        let mut words = Vec::new();
        for (number, before) in self.written.iter().zip(saved) {
            let after = fields.words(*number);
            words.extend((0..after.len()).filter(|i| after[*i] != before[*i]).map(|i| (*number, i)));
        }
        words
    }

    /// Disturbs floats of the written fields: all of them, or those that `which` picks. Inverse masses stay: the state
    /// must remain one that could be.
    fn disturb(&self, fields: &mut Fields, random: &mut Random, which: impl Fn(Word) -> bool) {
        for number in &self.written {
            let spec = fields.specs()[*number];
            if spec.precision != Precision::Rounded {
                continue;
            }
            for (i, word) in fields.words_mut(*number).iter_mut().enumerate() {
                if (spec.name == "vertices" && i % 4 == 3) || !which((*number, i)) {
                    continue;
                }
                let value = f32::from_bits(*word) * random.within(0.9, 1.1) as f32;
                // A few percent of an edge: what was in range is not any more.
                *word = (value + random.within(-0.01, 0.01) as f32).to_bits();
            }
        }
    }

    /// Whether it changes anything, as it is or disturbed: what does nothing cannot race, and shows nothing.
    fn acts(&self, fields: &mut Fields, random: &mut Random) -> bool {
        let original = self.save(fields);
        let acts = (0..3).any(|start| {
            if start > 0 {
                self.disturb(fields, random, |_| true);
            }
            let saved = self.save(fields);
            self.parts.iter().for_each(|part| self.run(part, fields));
            let acts = self.difference(fields, &saved).is_some();
            self.restore(fields, &original);
            acts
        });
        self.restore(fields, &original);
        acts
    }

    fn examine(&self, fields: &mut Fields, random: &mut Random) -> std::result::Result<(), Race> {
        let original = self.save(fields);
        let mut owners: BTreeMap<Word, usize> = BTreeMap::new();
        let outcome = (0..3).try_for_each(|start| {
            if start > 0 {
                self.disturb(fields, random, |_| true);
            }
            let saved = self.save(fields);
            // What is put into a bucket in any order has no place of its own.
            if self.dispatch.kernel.name != SCATTERS.0 {
                self.examine_writes(fields, &saved, &mut owners)?;
                self.examine_reads(fields, &saved, &owners, random)?;
            }
            self.examine_order(fields, &saved, random)?;
            self.restore(fields, &original);
            Ok(())
        });
        self.restore(fields, &original);
        outcome
    }

    /// Adds the words that each part writes to `owners`.
    fn examine_writes(
        &self,
        fields: &mut Fields,
        saved: &[Vec<u32>],
        owners: &mut BTreeMap<Word, usize>,
    ) -> std::result::Result<(), Race> {
        for (index, part) in self.parts.iter().enumerate() {
            self.run(part, fields);
            for word in self.changed(fields, saved) {
                let (field, element) = Self::place(fields, word);
                if self.is_shared(fields, word.0) {
                    continue;
                }
                let own = match fields.specs()[word.0].domain {
                    Domain::Groups => element == (part.start - self.dispatch.range.start as usize) / GROUP,
                    Domain::Counted(_) => part.contains(&(word.1 / self.stride(word.0))),
                    _ => false,
                };
                if !own && self.dispatch.kernel.pattern == Pattern::Element {
                    return Err(Race::Foreign { field, element });
                }
                if *owners.entry(word).or_insert(index) != index {
                    return Err(Race::DoubleWrite { field, element });
                }
            }
            self.restore(fields, saved);
        }
        Ok(())
    }

    /// What a part writes must not depend on what the others write.
    fn examine_reads(
        &self,
        fields: &mut Fields,
        saved: &[Vec<u32>],
        owners: &BTreeMap<Word, usize>,
        random: &mut Random,
    ) -> std::result::Result<(), Race> {
        let mut mine: Vec<Vec<Word>> = vec![Vec::new(); self.parts.len()];
        for (word, owner) in owners {
            mine[*owner].push(*word);
        }
        for (index, part) in self.parts.iter().enumerate() {
            self.run(part, fields);
            let expected: Vec<u32> = mine[index].iter().map(|(field, i)| fields.words(*field)[*i]).collect();
            self.restore(fields, saved);
            self.disturb(fields, random, |word| owners.get(&word).is_some_and(|owner| *owner != index));
            self.run(part, fields);
            for (word, expected) in mine[index].iter().zip(expected) {
                if fields.words(word.0)[word.1] != expected {
                    let (field, element) = Self::place(fields, *word);
                    return Err(Race::ReadsOthers { field, element });
                }
            }
            self.restore(fields, saved);
        }
        Ok(())
    }

    fn examine_order(
        &self,
        fields: &mut Fields,
        saved: &[Vec<u32>],
        random: &mut Random,
    ) -> std::result::Result<(), Race> {
        let ends = [self.parts.first(), self.parts.last()].map(|part| part.cloned().unwrap_or_default());
        self.run(&(ends[0].start..ends[1].end), fields);
        self.as_sets(fields);
        let expected = self.save(fields);
        self.restore(fields, saved);
        let forward: Vec<&Range<usize>> = self.parts.iter().collect();
        let reversed: Vec<&Range<usize>> = self.parts.iter().rev().collect();
        let mut shuffled = forward.clone();
        random.shuffle(&mut shuffled);
        for order in [forward, reversed, shuffled] {
            for part in order {
                self.run(part, fields);
            }
            self.as_sets(fields);
            if let Some(word) = self.difference(fields, &expected) {
                let (field, element) = Self::place(fields, word);
                return Err(Race::Order { field, element });
            }
            self.restore(fields, saved);
        }
        Ok(())
    }
}

/// Walks through a frame and examines its dispatches.
struct Walk<'a> {
    label: &'a str,
    runner: Runner,
    random: Random,
    times: BTreeMap<(&'static str, u32), usize>,
    seen: &'a mut BTreeSet<&'static str>,
}

impl Walk<'_> {
    fn items(&mut self, items: &[Item], fields: &mut Fields) {
        for item in items {
            match item {
                Item::Dispatch(dispatch) => self.dispatch(dispatch, fields),
                Item::Repeat(repeat) => {
                    for _ in 0..repeat.at_most {
                        if fields.get::<u32>("guards").expect("words")[repeat.guard as usize] == 0 {
                            break;
                        }
                        self.items(&repeat.body, fields);
                    }
                }
                _ => panic!("a kind of item that this test does not know"),
            }
        }
    }

    fn dispatch(&mut self, dispatch: &Dispatch, fields: &mut Fields) {
        let running = fields.get::<u32>("guards").expect("words")[dispatch.guard as usize] != 0;
        let times = self.times.entry((dispatch.kernel.name, dispatch.range.start)).or_default();
        if running && *times < TIMES {
            *times += 1;
            for suspect in Suspect::all(&self.runner, dispatch, fields) {
                if suspect.acts(fields, &mut self.random) {
                    self.seen.insert(dispatch.kernel.name);
                }
                if let Err(race) = suspect.examine(fields, &mut self.random) {
                    panic!("{}: kernel {}: {race}", self.label, dispatch.kernel.name);
                }
            }
        }
        self.runner.dispatch(dispatch, fields).expect("the dispatch runs");
    }
}

/// A fan of triangles with a tail: irregular degrees, an edge of its own, a hub of degree 9, two pins.
fn fan() -> Scene {
    let mut positions = vec![[0.0, 0.0, 0.0]];
    let mut faces = Vec::new();
    for k in 0..8u32 {
        let angle = k as f32 * 0.7;
        positions.push([0.2 * angle.cos(), 0.01 * k as f32, 0.2 * angle.sin()]);
        if k > 0 {
            faces.push([0, k, k + 1].into());
        }
    }
    positions.push([0.0, -0.3, 0.1]);
    let descriptor = MeshDescriptor {
        positions,
        faces,
        lines: vec![[0, 9]],
        mass: Mass::PerVertex((0..10).map(|v| 0.01 * (v + 1) as f32).collect()),
        pins: vec![3, 4],
        ..Default::default()
    };
    let mesh = Mesh::new(descriptor).expect("the fan is valid");
    let start = mesh.positions().to_vec();
    Scene::new("fan", mesh, start)
}

/// A cloth in the middle of its motion, its last frame with everything that a frame can hold.
fn moving(scene: Scene, method: Method) -> Cloth {
    moving_with(scene, Settings { method, ..Default::default() })
}

fn moving_with(scene: Scene, settings: Settings) -> Cloth {
    let settings = Settings { substeps: Substeps::Fixed(4), strain_limit: 1e-4, ..settings };
    let mut cloth = cpu(scene, settings);
    for _ in 0..4 {
        cloth.step(&frame(FRAME)).expect("the step runs");
    }
    // A turn by 0.2 rad about y, and up.
    let relocation = Pose { rotation: [0.0, 0.099_833_4, 0.0, 0.995_004_2], translation: [0.0, 0.1, 0.0] };
    cloth.teleport(relocation).expect("the relocation is valid");
    let targets = targets(&cloth);
    cloth.step(&FrameInput { dt: FRAME, pin_targets: &targets }).expect("the step runs");
    cloth
}

/// Every pin moved a little.
fn targets(cloth: &Cloth) -> Vec<PinTarget> {
    let positions = cloth.snapshot().expect("a CPU has no device to lose").positions;
    let target = |pin: &u32| {
        let [x, y, z] = positions[*pin as usize];
        PinTarget { vertex: *pin, position: [x, y + 0.002, z] }
    };
    cloth.mesh().pins().iter().map(target).collect()
}

fn scenes() -> Vec<Scene> {
    let named = [("chain", 9), ("curtain", 5), ("hang", 9), ("patch", 6), ("sheet", 4), ("drape", 5)];
    let mut scenes: Vec<Scene> = named.map(|(name, size)| Scene::named(name, size).expect("a known scene")).into();
    scenes.push(fan());
    scenes
}

/// What plain cloths record and have nothing for to do; [`every_kernel_is_examined`] has.
const IDLE: [&str; 3] = ["forget_borne", "rebound", "revert_to_best"];

/// Those whose springs lie on lines.
const LINED: [&str; 3] = ["curtain", "hang", "patch"];

#[test]
fn no_invocation_touches_what_another_writes() {
    let mut seen = BTreeSet::new();
    let mut used = BTreeSet::new();
    let mut cloths = 0;
    let along = || Settings { elasticity: Elasticity::Diagonals, ..Default::default() };
    let each = methods().map(|(name, method)| (name, Settings { method, ..Default::default() }));
    for (name, settings) in each.chain([("diagonals", along())]) {
        // Small ones among them have no lines worth a solve.
        for scene in scenes().into_iter().filter(|scene| name != "diagonals" || LINED.contains(&&*scene.name)) {
            let label = format!("{name} {}", scene.name);
            let cloth = moving_with(scene, settings.clone());
            let mut fields = cloth.fields().expect("the cloth is on the CPU").clone();
            for PinTarget { vertex, position: [x, y, z] } in targets(&cloth) {
                fields.get_mut::<[f32; 4]>("commands").expect("vectors")[vertex as usize] = [x, y, z, 1.0];
            }
            let free = (0..cloth.mesh().vertex_count() as u32).find(|v| !cloth.mesh().pins().contains(v));
            let free = free.expect("something moves") as usize;
            fields.get_mut::<[f32; 4]>("commands").expect("vectors")[free] = [0.001, 0.0, 0.0, 1.0];
            let program = cloth.program();
            let kernels = program.dispatches().into_iter().map(|dispatch| dispatch.kernel);
            used.extend(kernels.filter(|kernel| kernel.pattern != Pattern::Group).map(|kernel| kernel.name));
            let runner = Runner::new(program, &fields).expect("the program fits");
            let mut walk = Walk { label: &label, runner, random: Random(1), times: BTreeMap::new(), seen: &mut seen };
            walk.items(&program.items, &mut fields);
            cloths += 1;
        }
    }
    assert_eq!(cloths, solvers().count() * scenes().len() + LINED.len());
    assert!(used.contains("project_diagonal"), "{used:?}");
    assert!(!used.is_empty(), "there are no kernels");
    used.retain(|kernel| !IDLE.contains(kernel));
    assert!(seen.is_superset(&used), "{:?} did nothing", used.difference(&seen).collect::<Vec<_>>());
}

/// A sheet that is large enough for windows around its pins, whose pass along the rows has two pieces of one yarn
/// between two pins.
fn windowed() -> Fields {
    let cloth = moving(Scene::named("patch", 32).expect("a known scene"), method("yarn-sweep"));
    cloth.fields().expect("the cloth is on the CPU").clone()
}

/// Examines all passes of a kernel of windows.
fn windows_verdict(fields: &mut Fields, name: &str) -> std::result::Result<(), Race> {
    let settings = Settings { elasticity: Elasticity::Diagonals, ..Default::default() };
    let cloth = cpu(Scene::named("patch", 32).expect("a known scene"), settings);
    let recorded = cloth.program().dispatches().into_iter().find(|dispatch| dispatch.kernel.name == name);
    let recorded = recorded.expect("it has windows");
    let table = fields.get::<[u32; 4]>(recorded.field("window_passes")).expect("passes");
    let passes = table.iter().filter(|pass| pass[1] > pass[0]).count();
    let pieces = fields.get::<YarnRow>(recorded.field("yarns")).expect("pieces").len() as u32;
    let dispatch = Dispatch { arguments: [0, passes as u32, 0, 0], ..Dispatch::new(recorded.kernel, 0..pieces) };
    let program = Program { items: vec![Item::Dispatch(dispatch.clone())] };
    let runner = Runner::new(&program, fields).expect("the program fits");
    fields.get_mut::<u32>("guards").expect("words")[0] = 1;
    let suspects = Suspect::all(&runner, &dispatch, fields);
    assert!(suspects.len() == passes && passes > 3, "{passes}");
    suspects.iter().try_for_each(|suspect| suspect.examine(fields, &mut Random(5)))
}

#[test]
fn pieces_of_a_pass_do_not_touch_each_other() {
    let mut fields = windowed();
    let held: u32 =
        fields.get::<[u32; 4]>("window_passes").expect("passes").iter().map(|pass| pass[3]).max().unwrap_or(0);
    assert_eq!(held, 2, "the two ends of the row between the pins");
    for (name, table) in [("project_windows", "window_passes"), ("project_diagonal_pieces", "diagonal_passes")] {
        assert_eq!(windows_verdict(&mut fields, name), Ok(()));
        // Two passes made one: pieces of both families at once.
        let passes = fields.get_mut::<[u32; 4]>(table).expect("passes");
        passes[0][1] = passes[1][1];
        let found = windows_verdict(&mut fields, name);
        assert!(found.is_err(), "{name}: {found:?}");
    }
}

/// The walk gives what the runner gives: the examination leaves no trace.
#[test]
fn the_examination_leaves_no_trace() {
    let cloth = moving(scenes().remove(2), Method::default());
    let mut examined = cloth.fields().expect("the cloth is on the CPU").clone();
    let mut plain = examined.clone();
    let runner = Runner::new(cloth.program(), &examined).expect("the program fits");
    runner.run(cloth.program(), &mut plain).expect("the program runs");
    let mut seen = BTreeSet::new();
    let mut walk = Walk { label: "hang", runner, random: Random(2), times: BTreeMap::new(), seen: &mut seen };
    walk.items(&cloth.program().items, &mut examined);
    for (number, spec) in plain.specs().iter().enumerate() {
        assert_eq!(plain.words(number), examined.words(number), "{}", spec.name);
    }
}

/// A program of one dispatch, examined.
fn verdict(kernel: &'static Kernel, range: Range<u32>, fields: &mut Fields) -> std::result::Result<(), Race> {
    fields.get_mut::<u32>("guards").expect("words")[0] = 1;
    let dispatch = Dispatch::new(kernel, range);
    let program = Program { items: vec![Item::Dispatch(dispatch.clone())] };
    let runner = Runner::new(&program, fields).expect("the kernel is sound apart from its race");
    let suspect = Suspect::all(&runner, &dispatch, fields).pop().expect("it has several invocations");
    suspect.examine(fields, &mut Random(3))
}

fn hang() -> Fields {
    let cloth = moving(Scene::named("hang", 9).expect("a known scene"), Method::GaussSeidel(GaussSeidel::default()));
    cloth.fields().expect("the cloth is on the CPU").clone()
}

#[test]
fn edges_that_share_a_vertex_are_found() {
    let mut fields = hang();
    let edges = fields.sizes().edges() as u32;
    // The first color as recorded is sound; all edges at once are not.
    let color = Scene::named("hang", 9).map(|scene| taut::Topology::new(&scene.mesh)).expect("a known scene");
    let color = color.coloring.ranges[0].clone();
    assert!(color.len() > 1);
    assert_eq!(verdict(kernel("project_edge"), color, &mut fields), Ok(()));
    let found = verdict(kernel("project_edge"), 0..edges, &mut fields);
    assert!(matches!(found, Err(Race::DoubleWrite { field: "displacements", .. })), "{found:?}");
}

static PLANTED: Source = Source::new(
    "planted",
    "
    @group(0) @binding(0) var<storage, read_write> velocities: array<vec4<f32>>;
    @group(0) @binding(1) var<storage, read_write> partials: array<vec2<f32>>;
    @compute @workgroup_size(GROUP) fn planted(i: Invocation) {
        if (running() && element(i) < range.end) { velocities[element(i)].x += 1.0; }
    }
    @compute @workgroup_size(GROUP) fn planted_leaf(i: Invocation) {
        if (running() && element(i) < range.end) { partials[group_index(i)].x = 1.0; }
    }",
);

#[test]
fn planted_races_are_found() {
    let mut fields = hang();
    let vertices = fields.sizes().vertices() as u32;

    fn own(run: &mut Run<'_>) -> Result<()> {
        let mut velocities = run.write::<[f32; 4]>("velocities")?;
        run.range().for_each(|v| velocities[v][0] += 1.0);
        Ok(())
    }
    static OWN: Kernel = Kernel::new("planted", &PLANTED, own);
    assert_eq!(verdict(&OWN, 0..vertices, &mut fields), Ok(()));

    fn neighbor(run: &mut Run<'_>) -> Result<()> {
        let mut velocities = run.write::<[f32; 4]>("velocities")?;
        run.range().for_each(|v| velocities[v + 1][0] += 1.0);
        Ok(())
    }
    static NEIGHBOR: Kernel = Kernel::new("planted", &PLANTED, neighbor);
    let found = verdict(&NEIGHBOR, 0..vertices - 1, &mut fields);
    assert_eq!(found, Err(Race::Foreign { field: "velocities", element: 1 }));

    // Reads the next vertex, which the next invocation writes.
    fn peeps(run: &mut Run<'_>) -> Result<()> {
        let mut velocities = run.write::<[f32; 4]>("velocities")?;
        run.range().for_each(|v| velocities[v][0] = 1.0 + velocities[v + 1][0]);
        Ok(())
    }
    static PEEPS: Kernel = Kernel::new("planted", &PLANTED, peeps);
    let found = verdict(&PEEPS, 0..vertices - 1, &mut fields);
    assert!(matches!(found, Err(Race::ReadsOthers { field: "velocities", .. })), "{found:?}");

    // All write the same value to one place: no order shows it, and a GPU would still call it a race.
    fn same(run: &mut Run<'_>) -> Result<()> {
        let mut velocities = run.write::<[f32; 4]>("velocities")?;
        run.range().for_each(|_| velocities[0][0] = 1.0);
        Ok(())
    }
    static SAME: Kernel = Kernel::new("planted", &PLANTED, same).pattern(Pattern::Scatter);
    let found = verdict(&SAME, 0..vertices, &mut fields);
    assert_eq!(found, Err(Race::DoubleWrite { field: "velocities", element: 0 }));

    // Adds up over the whole range in one variable: right only as long as one thread runs it all.
    fn running_sum(run: &mut Run<'_>) -> Result<()> {
        let mut velocities = run.write::<[f32; 4]>("velocities")?;
        let mut sum = 0.0;
        for v in run.range() {
            sum += 1.0;
            velocities[v][0] += sum;
        }
        Ok(())
    }
    static RUNNING_SUM: Kernel = Kernel::new("planted", &PLANTED, running_sum);
    let found = verdict(&RUNNING_SUM, 0..vertices, &mut fields);
    assert!(matches!(found, Err(Race::Order { field: "velocities", .. })), "{found:?}");

    // A leaf of another workgroup.
    fn leaf(run: &mut Run<'_>) -> Result<()> {
        let mut partials = run.write::<[f32; 2]>("partials")?;
        for first in run.range().step_by(GROUP) {
            partials[1 - first / GROUP][0] = first as f32 + 1.0;
        }
        Ok(())
    }
    static LEAF: Kernel = Kernel::new("planted_leaf", &PLANTED, leaf);
    let found = verdict(&LEAF, 0..vertices, &mut fields);
    assert!(matches!(found, Err(Race::Foreign { field: "partials", .. })), "{found:?}");
}

/// What must not be committed is found by the workgroup of its vertex, and by no other.
#[test]
fn a_fault_is_told_by_the_leaf_of_its_vertex() {
    let mut fields = hang();
    let (edges, vertices) = (fields.sizes().edges() as u32, fields.sizes().vertices() as u32);
    assert_eq!((vertices, edges), (81, 144));
    fields.get_mut::<u32>("guards").expect("words")[0] = 1;
    let measure = Dispatch { arguments: [edges, vertices, 0, 0], ..Dispatch::new(kernel("measure_strain"), 0..edges) };
    let program = Program { items: vec![Item::Dispatch(measure.clone())] };
    let runner = Runner::new(&program, &fields).expect("the program fits");
    for (faulty, expected) in [(None, [0.0, 0.0, 0.0]), (Some(5), [1.0, 0.0, 0.0]), (Some(70), [0.0, 1.0, 0.0])] {
        let mut fields = fields.clone();
        if let Some(vertex) = faulty {
            fields.get_mut::<[f32; 4]>("displacements").expect("vectors")[vertex][1] = f32::NAN;
        }
        runner.dispatch(&measure, &mut fields).expect("the dispatch runs");
        let leaves = fields.get::<[f32; 2]>("strain_partials").expect("leaves");
        assert_eq!([0, 1, 2].map(|leaf| leaves[leaf][1]), expected, "{faulty:?}");
        let suspect = Suspect::all(&runner, &measure, &fields).pop().expect("it has several workgroups");
        assert_eq!(suspect.examine(&mut fields, &mut Random(4)), Ok(()));
    }
}

#[test]
fn wind_and_areas_are_free_of_races() {
    for scene in [fan(), Scene::named("hang", 9).expect("a known scene")] {
        let name = scene.name.clone();
        let mut cloth = cpu(scene, Settings { area_limit: Some([1.0, 1.0]), ..windy() });
        for _ in 0..4 {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        let mut fields = cloth.fields().expect("the cloth is on the CPU").clone();
        assert!(fields.largest("area_shifts").expect("a field") > 0.0, "{name}: no area was limited");
        let runner = Runner::new(cloth.program(), &fields).expect("the program fits");
        let mut seen = BTreeSet::new();
        let mut walk = Walk { label: &name, runner, random: Random(5), times: BTreeMap::new(), seen: &mut seen };
        walk.items(&cloth.program().items, &mut fields);
        for kernel in ["blow", "limit_area", "apply_area"] {
            assert!(seen.contains(kernel), "{name}: {kernel} was not examined");
        }
    }
}

/// Sheets that press each other, with little room: pairs that do not fit are examined, too. Sums, minima and maxima of
/// integers by atomics may come in any order.
fn pressed() -> Cloth {
    let own = taut::SelfCollision { thickness: 0.004, pairs_per_vertex: 4.0, ..Default::default() };
    let settings = Settings { self_collision: Some(own), ..Default::default() };
    taut::validate::heaped(4, settings).expect("the heap and the settings are valid")
}

/// Kernels of a program that several may be at work on at once, and the others, which are one workgroup.
fn kernels(program: &Program) -> [BTreeSet<&'static str>; 2] {
    let all = program.dispatches().into_iter().map(|dispatch| dispatch.kernel);
    let (one, several): (Vec<_>, Vec<_>) = all.partition(|kernel| kernel.pattern == Pattern::Group);
    [several, one].map(|list| list.into_iter().map(|kernel| kernel.name).collect())
}

/// Brings about what the motion of these cloths does not.
fn provoke(kernel: &str, fields: &mut Fields) {
    match kernel {
        // An iterate that is worse than one before it.
        "revert_to_best" => {
            let members = <taut::stage::fields::Meters as taut::engine::layout::Element>::MEMBERS;
            let best = members.iter().find(|(name, _)| *name == "best").expect("a member of Meters").1 / 4;
            fields.get_mut::<f32>("meters").expect("words")[best] = 1e-3;
            fields.get_mut::<[f32; 4]>("sums").expect("vectors").iter_mut().for_each(|sum| sum[0] = 0.5);
        }
        // Another order than that of the list before.
        "rank_items" => fields.get_mut::<u32>("sorted").expect("words").fill(7),
        // More than one block before.
        "add_sums" => fields.get_mut::<u32>("block_sums").expect("words").iter_mut().for_each(|sum| *sum += 3),
        // Sums of a frame that was stopped.
        "forget_pushes" => fields.get_mut::<u32>("pushes").expect("words").iter_mut().for_each(|sum| *sum += 3),
        // Parts that must move are driven into each other.
        "check_forced" => {
            let mut random = Random(10);
            let words = fields.get_mut::<f32>("vertices").expect("words");
            words.chunks_exact_mut(4).for_each(|vertex| vertex[3] = 0.0);
            fields.get_mut::<f32>("limits").expect("parts").fill(1.0);
            for way in fields.get_mut::<[f32; 4]>("displacements").expect("vectors") {
                way[..3].iter_mut().for_each(|x| *x += random.within(-0.02, 0.02) as f32);
            }
        }
        // Ways that lead into each other.
        "fence_push" | "fence_trim" => {
            let mut random = Random(9);
            for way in fields.get_mut::<[f32; 4]>("displacements").expect("vectors") {
                way[..3].iter_mut().for_each(|x| *x += random.within(-0.02, 0.02) as f32);
            }
        }
        _ => {}
    }
}

/// Every kernel that there is: what the test of all solvers and plain scenes examines, which it demands of itself, and
/// here all others, on the first of [`cloths`] that brings each to work.
#[test]
fn every_kernel_is_examined() {
    let (mut examined, mut alone) = (BTreeSet::new(), BTreeSet::new());
    for (_, method) in methods() {
        for scene in scenes() {
            let [several, one] =
                kernels(cpu(scene, Settings { method: method.clone(), ..Default::default() }).program());
            examined.extend(several);
            alone.extend(one);
        }
    }
    examined.retain(|kernel| !IDLE.contains(kernel));
    let plain = examined.len();
    let cloths = [("pressed".to_owned(), pressed())].into_iter().chain(cloths(5));
    // A frame in which sheets press or draw each other apart must not pass.
    let moving = ["pressed", "own heap", "tangled"];
    let mut shut = BTreeMap::new();
    for (label, mut cloth) in cloths {
        let [several, one] = kernels(cloth.program());
        alone.extend(one);
        if several.is_subset(&examined) {
            continue;
        }
        for _ in 0..if moving.contains(&&*label) { 0 } else { 3 } {
            cloth.step(&frame(FRAME)).expect("the step runs");
        }
        let program = cloth.program();
        let mut fields = cloth.fields().expect("the cloth is on the CPU").clone();
        let known = program.dispatches().into_iter().filter(|dispatch| examined.contains(dispatch.kernel.name));
        let times = known.map(|dispatch| ((dispatch.kernel.name, dispatch.range.start), TIMES)).collect();
        let runner = Runner::new(program, &fields).expect("the program fits");
        let mut seen = BTreeSet::new();
        let mut walk = Walk { label: &label, runner, random: Random(7), times, seen: &mut seen };
        walk.items(&program.items, &mut fields);
        println!("{label}: {seen:?}");
        examined.extend(seen);
        // A loop that hardly ever runs is examined opened, where nothing else did.
        for dispatch in program.dispatches().into_iter().filter(|dispatch| several.contains(dispatch.kernel.name)) {
            shut.entry(dispatch.kernel.name).or_insert_with(|| (label.clone(), dispatch.clone(), fields.clone()));
        }
    }
    for (name, (label, dispatch, mut fields)) in shut {
        if examined.contains(name) {
            continue;
        }
        fields.get_mut::<u32>("guards").expect("words")[dispatch.guard as usize] = 1;
        provoke(name, &mut fields);
        let program = Program { items: vec![Item::Dispatch(dispatch.clone())] };
        let runner = Runner::new(&program, &fields).expect("the program fits");
        let mut walk = Walk { label: &label, runner, random: Random(8), times: BTreeMap::new(), seen: &mut examined };
        walk.items(&program.items, &mut fields);
    }
    println!("{plain} kernels of plain cloths, {} in all, {} of one workgroup", examined.len(), alone.len());
    assert!(plain > 20 && examined.len() > plain + 20, "{plain} and {}", examined.len());
    let all: BTreeSet<&str> = examined.union(&alone).copied().collect();
    let entries = entry_points();
    let missed: Vec<&String> = entries.iter().filter(|name| !all.contains(name.as_str())).collect();
    assert!(missed.is_empty(), "never examined for races, in any of common::cloths: {missed:?}");
    assert_eq!(all.len(), entries.len(), "{all:?} are kernels of no shader");
}

/// No kernel uses what an atomic returns, but for the one whose result is sorted afterwards.
#[test]
fn what_atomics_return_is_not_used() {
    let mut used = BTreeSet::new();
    for (_, cloth) in cloths(5) {
        for dispatch in cloth.program().dispatches() {
            let (shader, _) = reflect::interface(dispatch.kernel).expect("it was reflected before");
            if shader.uses_returned_atomics(dispatch.kernel.name) {
                used.insert(dispatch.kernel.name);
            }
        }
    }
    assert_eq!(used, BTreeSet::from([SCATTERS.0]));
}

/// What a fault leaves behind is free of races too: `commit` takes the substep back.
#[test]
fn taking_a_substep_back_is_free_of_races() {
    let mut fields = hang();
    fields.get_mut::<u32>("faults").expect("words")[0] = 1;
    let vertices = fields.sizes().vertices() as u32;
    assert_eq!(verdict(kernel("commit"), 0..vertices, &mut fields), Ok(()));
}
