// Multipliers of edges with laws of their own, from the start of a substep to its end.

@group(0) @binding(0) var<storage, read> directions: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> solutions: array<f32>;
@group(0) @binding(2) var<storage, read_write> tensions: array<f32>;

// At the start of a projection.
@compute @workgroup_size(GROUP)
fn forget_multiplier(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    edge_laws[e].multiplier = 0.0;
}

// After a linear solve: its solution along the constraint's gradient.
@compute @workgroup_size(GROUP)
fn add_solution(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    edge_laws[e].multiplier += solutions[e] * length(directions[e].xyz);
}

// At the end of a projection: mean over the frame.
@compute @workgroup_size(GROUP)
fn note_lawful_tension(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    tensions[e] += clock.force * edge_laws[e].multiplier;
}
