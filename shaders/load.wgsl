// How hard the frame was: mean tension of every edge over the frame, and the largest load T/(m̄ l).

@group(0) @binding(0) var<storage, read> edges: array<Link>;
@group(0) @binding(1) var<storage, read> directions: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> solutions: array<f32>;
@group(0) @binding(3) var<storage, read_write> tensions: array<f32>;
@group(0) @binding(4) var<storage, read_write> partials: array<vec2<f32>>;

// At the start of a frame.
@compute @workgroup_size(GROUP)
fn forget_tension(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    tensions[e] = 0.0;
}

// After a linear solve: the multipliers along the constraint's gradients.
@compute @workgroup_size(GROUP)
fn note_tension(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    tensions[e] += (solutions[e] * clock.force) * length(directions[e].xyz);
}

// At the end of a frame.
@compute @workgroup_size(GROUP)
fn measure_load(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let e = element(invocation);
    var load = 0.0;
    if (e < range.end) {
        load = max(tensions[e] / (frame.mean_mass * edges[e].rest), 0.0);
    }
    let most = group_max(vec2<f32>(load, 0.0), invocation.lane);
    if (invocation.lane == 0u && e < range.end) {
        partials[group_index(invocation)] = most;
    }
}
