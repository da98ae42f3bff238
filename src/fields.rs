//! The table of fields: every array a kernel may touch, its element type, its length, its unit.
//!
//! Kernels name fields in WGSL exactly as they are named here; naga reads the names back, so there is no second list
//! of bindings. A new array is one line in [`TABLE`]. Vectors are `vec4` with an unused last lane (WGSL aligns `vec3`
//! to 16 bytes anyway).

use crate::error::{Error, Result};
use crate::params::{
    Clock, Contact, Element, Frame, GROUP, GUARDS, HingeGradients, HingeRow, LineRow, Link, Meters, SolidRow, Vertex,
    YarnSpan, sums,
};

/// What the elements of a field correspond to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Domain {
    /// One element per vertex.
    Vertices,
    /// One element per inextensible edge, in yarn order.
    Edges,
    /// One element per spring.
    Springs,
    /// One element per yarn, family by family.
    Yarns,
    /// One element per workgroup of the largest of the above, vertices counted with four words each.
    Groups,
    /// Words of the vertex → edge incidence.
    EdgeIncidence,
    /// Words of the vertex → spring incidence.
    SpringIncidence,
    /// Three words per triangle of the drawn surface.
    TriangleCorners,
    /// Words of the vertex → triangle incidence.
    TriangleIncidence,
    /// Words of the vertex → bending incidence.
    BendIncidence,
    /// One element per hinge.
    Hinges,
    /// One element per solid.
    Solids,
    /// Nodes of all distance grids.
    Distances,
    /// One element per triangle of the drawn surface.
    Triangles,
    /// A fixed number of elements.
    Fixed(usize),
}

/// Number of elements of every domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Vertices.
    pub vertices: usize,
    /// Inextensible edges.
    pub edges: usize,
    /// Springs.
    pub springs: usize,
    /// Yarns.
    pub yarns: usize,
    /// Words of the vertex → edge incidence.
    pub edge_incidence: usize,
    /// Words of the vertex → spring incidence.
    pub spring_incidence: usize,
    /// Three times the number of triangles.
    pub triangle_corners: usize,
    /// Words of the vertex → triangle incidence.
    pub triangle_incidence: usize,
    /// Words of the vertex → bending incidence.
    pub bend_incidence: usize,
    /// Hinges.
    pub hinges: usize,
    /// Whether the cloth resists bending.
    pub bends: bool,
    /// Solids.
    pub solids: usize,
    /// Nodes of all distance grids.
    pub distances: usize,
}

impl Sizes {
    /// Number of elements of a domain.
    pub fn of(&self, domain: Domain) -> usize {
        match domain {
            Domain::Vertices => self.vertices,
            Domain::Edges => self.edges,
            Domain::Springs => self.springs,
            Domain::Yarns => self.yarns,
            Domain::Groups => (4 * self.vertices).max(self.edges).max(self.springs).div_ceil(GROUP),
            Domain::EdgeIncidence => self.edge_incidence,
            Domain::SpringIncidence => self.spring_incidence,
            Domain::TriangleCorners => self.triangle_corners,
            Domain::TriangleIncidence => self.triangle_incidence,
            Domain::BendIncidence => self.bend_incidence,
            Domain::Hinges => self.hinges,
            Domain::Solids => self.solids,
            Domain::Distances => self.distances,
            Domain::Triangles => self.triangle_corners / 3,
            Domain::Fixed(count) => count,
        }
    }
}

/// Whether an element is made of floats or integers, which decides how two backends are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Integers, guards and structures with integers: compared bit by bit.
    Exact,
    /// Floats: compared within a bound.
    Rounded,
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
    /// Magnitude whose rounding enters the field even where its own values are small; see [`crate::lockstep`].
    pub floor: fn(&Fields) -> Result<f32>,
    /// Whether a checkpoint must hold it: what is carried from substep to substep, or reported.
    pub persistent: bool,
    /// Whether setting a state fills it anew ([`crate::Cloth::set_state`]).
    pub state: bool,
    /// Whether a device has it even if no kernel mentions it.
    pub resident: bool,
    /// What a renderer may use it for.
    pub drawn: Option<Drawn>,
    /// Whether its values mean nothing after the dispatch that wrote them, so that backends may differ in them.
    pub scratch: bool,
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
            drawn: None,
            scratch: false,
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

    /// Magnitude of what enters the field, where that may be larger than what comes out.
    #[must_use]
    pub const fn floor(mut self, floor: fn(&Fields) -> Result<f32>) -> Self {
        self.floor = floor;
        self
    }
}

/// Every field of the engine.
pub const TABLE: &[Spec] = &[
    // State.
    Spec::of::<Vertex>("vertices", Domain::Vertices, "committed positions [m] and inverse masses [1/kg]")
        .state()
        .drawn(Drawn::Vertices),
    Spec::of::<[f32; 4]>("velocities", Domain::Vertices, "committed velocities [m/s]")
        .state()
        .floor(|f| Ok(span(f)? / step(f)?))
        .resident(),
    Spec::of::<[f32; 4]>(
        "previous_velocities",
        Domain::Vertices,
        "velocities one substep earlier [m/s], w: 1 if it touched a solid then; for BDF2",
    )
    .state()
    .floor(|f| Ok(span(f)? / step(f)?)),
    Spec::of::<[f32; 4]>("displacements", Domain::Vertices, "motion since the start of the substep, x_j − x [m]")
        .state()
        .floor(span),
    Spec::of::<[f32; 4]>("best_displacements", Domain::Vertices, "displacements with the smallest strain so far [m]"),
    Spec::of::<[f32; 4]>("starts", Domain::Vertices, "positions at the start of the substep [m]").state(),
    Spec::of::<[f32; 4]>("remainders", Domain::Vertices, "what rounding kept of the last substep's motion [m]"),
    Spec::of::<[f32; 4]>(
        "previous_positions",
        Domain::Vertices,
        "xyz: positions at the end of the last frame [m], w: how long the vertex has been slow [s]; among solids",
    )
    .state(),
    // Mesh.
    Spec::of::<Link>("edges", Domain::Edges, "inextensible edges").exact(),
    Spec::of::<Link>("springs", Domain::Springs, "shear springs").exact(),
    Spec::of::<YarnSpan>("yarns", Domain::Yarns, "ranges of edges, each a yarn").exact(),
    Spec::of::<u32>("edge_incidence", Domain::EdgeIncidence, "CSR, entry = edge << 1 | is_head").exact(),
    Spec::of::<u32>("spring_incidence", Domain::SpringIncidence, "CSR, entry = spring << 1 | is_head, other end")
        .exact(),
    Spec::of::<u32>("colored_edges", Domain::Edges, "edge indices, each color a contiguous range").exact(),
    Spec::of::<u32>("triangles", Domain::TriangleCorners, "corners of the drawn triangles")
        .exact()
        .drawn(Drawn::Indices),
    Spec::of::<u32>("triangle_incidence", Domain::TriangleIncidence, "CSR, entry = triangle").exact(),
    Spec::of::<f32>("rest_areas", Domain::Triangles, "areas in the rest shape [m²]").exact(),
    Spec::of::<[f32; 4]>(
        "constraints",
        Domain::Vertices,
        "motions that a vertex may make; (n, 1): those across n, (n, 0): those along n, (0, 1): all, (0, 0): none",
    )
    .floor(|_| Ok(1.0)),
    Spec::of::<[f32; 4]>("holds", Domain::Vertices, "what the caller leaves of a vertex's motion, as `constraints`")
        .persistent(),
    Spec::of::<[f32; 4]>("anchors", Domain::Vertices, "xyz: where a held vertex belongs [m], w: 1 if known")
        .persistent(),
    Spec::of::<SolidRow>("solids", Domain::Solids, "solids and their way through the frame"),
    Spec::of::<f32>("distances", Domain::Distances, "signed distances at the nodes of grids [m]"),
    Spec::of::<Contact>("contacts", Domain::Vertices, "what touches a vertex").floor(|f| Ok(weight(f)?.max(1.0))),
    // Forces and what they do to pins.
    Spec::of::<[f32; 4]>("forces", Domain::Vertices, "forces other than gravity and drag [N]")
        .floor(|f| Ok(tension(f)?.max(gale(f)?))),
    Spec::of::<[f32; 4]>(
        "commands",
        Domain::Vertices,
        "w 1: position of a pinned or held vertex at the end of the frame [m], w 2: impulse on a free one [N·s]",
    ),
    Spec::of::<[f32; 4]>("reactions", Domain::Vertices, "mean force on pins, holds and contacts this frame [N]")
        .floor(weight)
        .state()
        .resident(),
    Spec::of::<f32>("tensions", Domain::Edges, "mean tension of this frame, pulling positive [N]")
        .floor(weight)
        .state(),
    Spec::of::<[f32; 4]>("normals", Domain::Vertices, "unit normals for drawing")
        .floor(|_| Ok(1.0))
        .state()
        .drawn(Drawn::Vertices),
    // Jacobi.
    Spec::of::<[f32; 4]>("corrections", Domain::Edges, "pull of an edge on its tail [kg·m]")
        .floor(|f| Ok(span(f)? * mass(f)?)),
    // Fast projection and its linear solve; the names are those of the textbook: A x = r, search p, product A p.
    // Persistent, because pins bear what a warm start carries over along the last directions.
    Spec::of::<[f32; 4]>("directions", Domain::Edges, "xyz: gradient of the constraint at the head, w: 1/A_ee [kg]")
        .persistent()
        .floor(|_| Ok(1.0)),
    Spec::of::<[f32; 4]>("pulls", Domain::Vertices, "W Jᵀ p [m]").floor(|f| Ok(f.largest("searches")? / lightest(f)?)),
    Spec::of::<f32>("residuals", Domain::Edges, "r = C − A x [m]").floor(rest),
    Spec::of::<f32>("solutions", Domain::Edges, "x: multipliers h²δλ [kg·m]").floor(|f| Ok(rest(f)? * mass(f)?)),
    Spec::of::<f32>("searches", Domain::Edges, "p: search direction [kg·m]").floor(|f| Ok(rest(f)? * mass(f)?)),
    Spec::of::<f32>("products", Domain::Edges, "q = A p [m]")
        .floor(|f| Ok(8.0 * f.largest("searches")? / lightest(f)?)),
    Spec::of::<f32>("preconditioned", Domain::Edges, "z = P r [kg·m]").floor(|f| Ok(rest(f)? * mass(f)?)),
    // Its warm start.
    Spec::of::<f32>("multipliers", Domain::Edges, "μ: multipliers of the substep, or of the one before [kg·m]")
        .persistent()
        .floor(|f| Ok(rest(f)? * mass(f)?)),
    Spec::of::<[f32; 4]>(
        "predictions",
        Domain::Vertices,
        "xyz: displacements before the projection [m], w: shortest edge [m]",
    )
    .floor(span),
    Spec::of::<Vertex>("warm_vertices", Domain::Vertices, "positions [m] and inverses of mass with tension [1/kg]"),
    // Implicit elasticity: the same on vertices.
    Spec::of::<[f32; 4]>(
        "spring_directions",
        Domain::Springs,
        "xyz: √(k − w) n [√(N/m)], w: k max(1 − l/|d|, 0) [N/m]",
    )
    .floor(|f| Ok(stiffest(f)?.max(1.0))),
    Spec::of::<[f32; 4]>(
        "elastic_forces",
        Domain::Vertices,
        "xyz: elastic forces at the start [N], w: diagonal of bending [N/m]",
    )
    .floor(tension),
    Spec::of::<[f32; 4]>("elastic_scales", Domain::Vertices, "1/diagonal of M − τ²K [1/kg]"),
    Spec::of::<[f32; 4]>("elastic_solutions", Domain::Vertices, "what is added to y [m]").floor(span),
    Spec::of::<[f32; 4]>("elastic_motions", Domain::Vertices, "y: what springs did to the last prediction [m]")
        .persistent()
        .floor(span),
    Spec::of::<[f32; 4]>("elastic_residuals", Domain::Vertices, "r = τ²(f + K u) − (M − τ²K) y [kg·m]").floor(impulse),
    Spec::of::<[f32; 4]>("elastic_searches", Domain::Vertices, "p: search direction [m]").floor(span),
    Spec::of::<[f32; 4]>("elastic_products", Domain::Vertices, "(M − τ²K) p [kg·m]").floor(impulse),
    Spec::of::<[f32; 4]>("elastic_preconditioned", Domain::Vertices, "z = P r [m]").floor(span),
    // Bending.
    Spec::of::<u32>(
        "bend_incidence",
        Domain::BendIncidence,
        "CSR, entry = other end, weight [N/m]; or hinge << 2 | corner",
    )
    .exact(),
    Spec::of::<HingeRow>("hinges", Domain::Hinges, "folds and their rest angles"),
    Spec::of::<HingeGradients>("hinge_gradients", Domain::Hinges, "√k ∇φ [√(N/m)]; √k (φ − φ_0) [√(N·m)]"),
    Spec::of::<f32>("hinge_products", Domain::Hinges, "√k ∇φ·p").floor(turn),
    Spec::of::<[f32; 4]>("bend_forces", Domain::Vertices, "K p of bending [N]")
        .floor(|f| Ok(tension(f)?.max(turn(f)? * f.largest("hinge_gradients")?))),
    // Line solves.
    Spec::of::<LineRow>("line_rows", Domain::Edges, "rows of a line solve, then its steps and solution").scratch(),
    // Area limit.
    Spec::of::<[f32; 4]>("area_shifts", Domain::Vertices, "mean of what triangles propose [m]").floor(span),
    // Reductions, control and reports.
    Spec::of::<[f32; 2]>("partials", Domain::Groups, "one leaf of a reduction per workgroup").floor(terms),
    Spec::of::<[f32; 2]>("strain_partials", Domain::Groups, "x: largest strain of a workgroup's edges")
        .floor(|_| Ok(1.0)),
    Spec::of::<[f32; 4]>("sums", Domain::Fixed(sums::COUNT), "results of reductions").floor(terms),
    Spec::of::<u32>("guards", Domain::Fixed(GUARDS), "1 while the loop that owns the word runs").exact().resident(),
    Spec::of::<Frame>("frame", Domain::Fixed(1), "what the caller said about this frame").exact(),
    // Integers among floats: each lane is its own scale, so an integer must be equal and h may round.
    Spec::of::<Clock>("clock", Domain::Fixed(1), "time inside the frame, and the load that is expected").state(),
    Spec::of::<Meters>("meters", Domain::Fixed(1), "what was reached").state().resident(),
    Spec::of::<u32>(
        "faults",
        Domain::Fixed(4),
        "word 0: 1 if a value was not finite, word 1: 1 if a contact began or ended, word 2: frames taken back",
    )
    .exact()
    .state(),
];

/// Largest rest length \[m\].
fn rest(fields: &Fields) -> Result<f32> {
    Ok(fields.get::<Link>("edges")?.iter().fold(0.0, |most, link| most.max(link.rest)))
}

/// Rounding of an edge vector enters displacements: a part of the rest length \[m\].
fn span(fields: &Fields) -> Result<f32> {
    Ok(rest(fields)? / 8.0)
}

/// Force that moves a vertex by that much in a substep \[N\].
fn weight(fields: &Fields) -> Result<f32> {
    Ok(span(fields)? * mass(fields)? / (step(fields)? * step(fields)?))
}

/// Rounding of an edge vector as a pull on a vertex that is held by springs \[kg·m\].
fn impulse(fields: &Fields) -> Result<f32> {
    Ok(span(fields)? * (mass(fields)? + 4.0 * stiffest(fields)? * step(fields)? * step(fields)?))
}

/// Stiffness of the stiffest spring \[N/m\].
fn stiffest(fields: &Fields) -> Result<f32> {
    Ok(fields.get::<Link>("springs")?.iter().fold(0.0, |most, link| most.max(link.stiffness)))
}

/// Tension of the stiffest spring at its own length \[N\].
fn tension(fields: &Fields) -> Result<f32> {
    Ok(fields.get::<Link>("springs")?.iter().fold(0.0, |most, link| most.max(link.rest * link.stiffness)))
}

/// Force of the air on the largest face across the wind \[N\]; a sheet along it feels the rounding of that.
fn gale(fields: &Fields) -> Result<f32> {
    let air = fields.one::<Frame>("frame")?.air;
    let speed = air.velocity.length() * (1.0 + air.gust) + fields.largest("velocities")?;
    Ok(0.5 * air.density * (air.drag + air.lift) * (rest(fields)? * speed).powi(2))
}

/// Largest mass of a free vertex \[kg\].
fn mass(fields: &Fields) -> Result<f32> {
    Ok(free(fields)?.fold(0.0, |most, inverse_mass| most.max(1.0 / inverse_mass)))
}

/// Smallest mass of a free vertex \[kg\].
fn lightest(fields: &Fields) -> Result<f32> {
    Ok(free(fields)?.fold(f32::MAX, |least, inverse_mass| least.min(1.0 / inverse_mass)))
}

fn free(fields: &Fields) -> Result<impl Iterator<Item = f32>> {
    let vertices = fields.get::<Vertex>("vertices")?;
    Ok(vertices.iter().map(|vertex| vertex.inverse_mass).filter(|inverse_mass| *inverse_mass > 0.0))
}

/// Length of the substep \[s\]; 1 before the first.
fn step(fields: &Fields) -> Result<f32> {
    let h = fields.one::<Clock>("clock")?.h;
    Ok(if h > 0.0 { h } else { 1.0 })
}

/// Magnitude of what enters the product of a hinge: the rounding of a rigid motion, which turns nothing.
fn turn(fields: &Fields) -> Result<f32> {
    let motion = fields.largest("elastic_searches")?.max(fields.largest("displacements")?);
    Ok(fields.largest("hinge_gradients")? * motion)
}

/// Magnitude of what enters a leaf of a dot product. Residuals are differences of lengths, so the rounding of a rest
/// length enters them; 4 stands for 64 terms whose errors do not all point the same way.
fn terms(fields: &Fields) -> Result<f32> {
    let curvature = fields.largest("searches")? * fields.largest("products")?;
    let energy = rest(fields)? * fields.largest("preconditioned")?.max(fields.largest("residuals")?);
    let elastic = impulse(fields)? * fields.largest("elastic_searches")?.max(fields.largest("elastic_residuals")?);
    Ok(4.0 * curvature.max(energy).max(elastic))
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
    /// Zeroed fields: the table, then `extra` ones of a user's stage.
    ///
    /// # Errors
    /// [`Error::Field`] if two fields have one name, or the name of an extra one does not start with `user_`.
    pub fn new(sizes: Sizes, extra: &[Spec]) -> Result<Self> {
        if let Some(spec) = extra.iter().find(|spec| !spec.name.starts_with("user_")) {
            return Err(Error::Field { name: spec.name.into(), problem: "does not start with `user_`".into() });
        }
        let specs: Vec<Spec> = TABLE.iter().chain(extra).copied().collect();
        for (index, spec) in specs.iter().enumerate() {
            if specs.iter().take(index).any(|other| other.name == spec.name) {
                return Err(Error::Field { name: spec.name.into(), problem: "is declared twice".into() });
            }
        }
        let data = specs.iter().map(|spec| Block::zeroed(sizes.of(spec.domain) * spec.stride / 4)).collect();
        Ok(Self { sizes, specs, data })
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
