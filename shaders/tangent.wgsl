// Post-stabilisation at the velocity level: (J W Jᵀ) μ = J v at the end of a substep, v −= W Jᵀ μ. J is the gradient of
// C = |d| − l here, so that J v is how fast edges grow.

@group(0) @binding(0) var<storage, read> edges: array<Link>;
@group(0) @binding(1) var<storage, read> edge_incidence: array<u32>;
@group(0) @binding(2) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(3) var<storage, read> displacements: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> remainders: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> directions: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> residuals: array<f32>;
@group(0) @binding(7) var<storage, read> solutions: array<f32>;
@group(0) @binding(8) var<storage, read_write> velocities: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read> faults: array<u32>;
@group(0) @binding(10) var<storage, read_write> totals: array<vec4<f32>>; // sums

// The velocity that the commit will find.
fn speed(v: u32) -> vec3<f32> {
    let time = select(clock.h, clock.span, vertices[v].inverse_mass > 0.0);
    return (displacements[v].xyz - remainders[v].xyz) / time;
}

// Direction, diagonal and rate of one edge. An edge that leaves the end of its band by itself is let go.
@compute @workgroup_size(GROUP)
fn linearize_rates(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    let edge = edges[e];
    let stretch = stretch_of(edge);
    let rate = dot(stretch.n, speed(edge.head) - speed(edge.tail));
    let shrinks = stretch.extent > frame.stretch_min * edge.rest && rate < 0.0;
    let grows = stretch.extent < frame.stretch_max * edge.rest && rate > 0.0;
    let leaves = frame.stretch_min < frame.stretch_max && (shrinks || grows);
    let held = stretch.w > 0.0 && !leaves;
    directions[e] = select(vec4<f32>(), vec4<f32>(stretch.n, 1.0 / stretch.w), held);
    residuals[e] = select(0.0, rate, held);
}

// Where the linear solve ends: at a part of the norm that it starts with.
@compute @workgroup_size(1)
fn aim_rates() {
    if (!running()) {
        return;
    }
    totals[PREVIOUS].z = TOLERANCE * TOLERANCE * totals[RESIDUAL].y;
}

// v −= W Jᵀ μ, after the commit; nothing where that took the substep back.
@compute @workgroup_size(GROUP)
fn apply_rates(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let inverse_mass = vertices[v].inverse_mass;
    if (faults[0] != 0u || inverse_mass == 0.0) {
        return;
    }
    var pull = vec3<f32>();
    for (var k = edge_incidence[v]; k < edge_incidence[v + 1u]; k++) {
        let entry = edge_incidence[k];
        pull -= (select(-1.0, 1.0, (entry & 1u) == 1u) * solutions[entry / 2u]) * directions[entry / 2u].xyz;
    }
    velocities[v] += vec4<f32>(apply_inverse_mass(v, inverse_mass, pull), 0.0);
}
