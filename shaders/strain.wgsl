// Strain of an edge, | |d|/l − clamp(|d|/l, σ_min, σ_max) |, and its largest value per workgroup; and whether a vertex
// has a value that must not be committed. Where edges have limits of their own, strain is measured by them: what is at
// its limit counts as if it were at the common one.

@group(0) @binding(0) var<storage, read> edges: array<Link>;
@group(0) @binding(1) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(2) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> partials: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read_write> best_displacements: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> meters: array<Meters>;
@group(0) @binding(6) var<storage, read> remainders: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read> edge_limits: array<f32>;

// Of the positions as they will be committed, rounded: the limit is promised for those.
fn committed_length(edge: Link) -> f32 {
    let head = vertices[edge.head].position + displacements[edge.head].xyz;
    return length(head - (vertices[edge.tail].position + displacements[edge.tail].xyz));
}

fn strain_of(edge: Link) -> f32 {
    if (vertices[edge.tail].inverse_mass + vertices[edge.head].inverse_mass == 0.0) {
        return 0.0;
    }
    let extent = committed_length(edge);
    return abs(extent - banded_length(extent, edge.rest)) / edge.rest;
}

// The common limit over that of an edge: 0 stands for the common one, less than 0 for one that is not above it.
fn measure_of(own: f32) -> f32 {
    if (own == 0.0) {
        return 1.0;
    }
    let limit = select(own, min(-own, frame.strain_limit), own < 0.0);
    return frame.strain_limit / limit;
}

// Whether a vertex has a value that must not be committed.
fn insane(v: u32) -> bool {
    let moved = displacements[v].xyz;
    return !sane(vertices[v].position + moved) || !sane((moved - remainders[v].xyz) / clock.span);
}

// Notes the largest strain of a workgroup, and whether one of its vertices is insane.
fn note(invocation: Invocation, strain: f32) {
    let v = element(invocation);
    var found = vec2<f32>(strain, 0.0);
    if (v < range.end && v < range.arguments.y) {
        found.y = select(0.0, 1.0, insane(v));
    }
    let most = group_max(found, invocation.lane);
    if (invocation.lane == 0u && v < range.end) {
        partials[group_index(invocation)] = most;
    }
}

// Arguments: number of edges, number of vertices.
@compute @workgroup_size(GROUP)
fn measure_strain(invocation: Invocation) {
    if (!running()) {
        return;
    }
    // An edge and a vertex of the same number.
    let e = element(invocation);
    var strain = 0.0;
    if (e < range.end && e < range.arguments.x) {
        strain = strain_of(edges[e]);
    }
    note(invocation, strain);
}

// The same where edges have limits of their own.
@compute @workgroup_size(GROUP)
fn measure_limited_strain(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let e = element(invocation);
    var strain = 0.0;
    if (e < range.end && e < range.arguments.x) {
        strain = strain_of(edges[e]) * measure_of(edge_limits[e]);
    }
    note(invocation, strain);
}

// The same where edges have laws of their own, between whose ends strain is no measure of what is left to be done.
@compute @workgroup_size(GROUP)
fn measure_lawful_strain(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let e = element(invocation);
    var strain = 0.0;
    if (e < range.end && e < range.arguments.x) {
        strain = lawful_strain_of(edges[e], edge_laws[e]) * measure_of(edge_limits[e]);
    }
    note(invocation, strain);
}

fn lawful_strain_of(edge: Link, law: EdgeLaw) -> f32 {
    let w = vertices[edge.tail].inverse_mass + vertices[edge.head].inverse_mass;
    if (!is_own(law) || w == 0.0) {
        return strain_of(edge);
    }
    return unsolved(law, committed_length(edge), edge.rest, w, UNSOLVED);
}

// Keeps a state that was measured better than all before it.
@compute @workgroup_size(GROUP)
fn keep_best(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end || sums[STRAIN].x > meters[0].best) {
        return;
    }
    best_displacements[v] = displacements[v];
}

// Takes the best state back where the last one missed the limit and was worse.
@compute @workgroup_size(GROUP)
fn revert_to_best(invocation: Invocation) {
    let v = element(invocation);
    let strain = sums[STRAIN].x;
    if (!running() || v >= range.end || strain <= frame.strain_limit || strain <= meters[0].best || meters[0].best >= UNMEASURED) {
        return;
    }
    displacements[v] = best_displacements[v];
}
