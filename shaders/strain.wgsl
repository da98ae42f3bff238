// Strain of an edge, | |d|/l − clamp(|d|/l, σ_min, σ_max) |, and its largest value per workgroup; and whether a vertex
// has a value that must not be committed.

@group(0) @binding(0) var<storage, read> edges: array<Link>;
@group(0) @binding(1) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(2) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> partials: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read_write> best_displacements: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> meters: array<Meters>;
@group(0) @binding(6) var<storage, read> remainders: array<vec4<f32>>;

// Whether a vertex has a value that must not be committed.
fn insane(v: u32) -> bool {
    let moved = displacements[v].xyz;
    return !sane(vertices[v].position + moved) || !sane((moved - remainders[v].xyz) / clock.span);
}

// Arguments: number of edges, number of vertices.
@compute @workgroup_size(GROUP)
fn measure_strain(invocation: Invocation) {
    if (!running()) {
        return;
    }
    // An edge and a vertex of the same number.
    let e = element(invocation);
    var found = vec2<f32>();
    if (e < range.end && e < range.arguments.x) {
        let edge = edges[e];
        let a = vertices[edge.tail];
        let b = vertices[edge.head];
        if (a.inverse_mass + b.inverse_mass > 0.0) {
            // Of the positions as they will be committed, rounded: the limit is promised for those.
            let d = (b.position + displacements[edge.head].xyz) - (a.position + displacements[edge.tail].xyz);
            let extent = length(d);
            found.x = abs(extent - banded_length(extent, edge.rest)) / edge.rest;
        }
    }
    if (e < range.end && e < range.arguments.y) {
        found.y = select(0.0, 1.0, insane(e));
    }
    let most = group_max(found, invocation.lane);
    if (invocation.lane == 0u && e < range.end) {
        partials[group_index(invocation)] = most;
    }
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
