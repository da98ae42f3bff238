// Pairs that cannot touch in this substep are left alone by the response and by the fence.

@group(0) @binding(0) var<storage, read> plot_words: array<u32>;
@group(0) @binding(1) var<storage, read> plot_past: array<f32>;
@group(0) @binding(2) var<storage, read_write> vertex_moves: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> move_words: array<u32>; // vertex_moves
@group(0) @binding(4) var<storage, read> most: array<f32>; // vertex_moves
@group(0) @binding(5) var<storage, read> pairs: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> planes: array<Plane>;
@group(0) @binding(7) var<storage, read_write> touches: array<u32>;
@group(0) @binding(8) var<storage, read_write> bounds: array<f32>;
@group(0) @binding(9) var<storage, read_write> spread: array<atomic<u32>>;
@group(0) @binding(10) var<storage, read> pair_loads: array<vec4<f32>>;

// Nothing is known yet of pairs; but what bounds a vertex stays where some were not listed.
@compute @workgroup_size(GROUP)
fn forget_pairs(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    touches[v] = 0u;
    move_words[v] = 0u;
    if (nearness.demand <= clearance.capacity) {
        bounds[v] = FAR;
    }
}

// The most that any plot of a vertex moved in the substep before: it bounds all parts that have the vertex.
@compute @workgroup_size(GROUP)
fn note_moves(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= range.end) {
        return;
    }
    let end = plot_words[p + 1u];
    for (var k = plot_words[p]; k < end; k++) {
        atomicMax(&vertex_moves[plot_words[k]], bitcast<u32>(plot_past[p]));
    }
}

@compute @workgroup_size(GROUP)
fn sift_pairs(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= min(range.end, nearness.pairs)) {
        return;
    }
    let far = planes[p].distance > clearance.thickness + AHEAD * most[pairs[p].x];
    if (far && pair_loads[p].w == 0.0) {
        planes[p].distance = 0.0;
    } else if (planes[p].kind != NEITHER) {
        atomicAdd(&spread[ACTIVE], 1u);
    }
}
