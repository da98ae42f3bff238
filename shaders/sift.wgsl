// Pairs that cannot touch in this substep are left alone by the response and by the fence.

// The list of a plot, as in plots.wgsl.
struct Listing {
    radius: f32, wear: f32, past: f32, stale: u32,
    first_triangle: u32, end_triangle: u32, first_edge: u32, end_edge: u32,
}

@group(0) @binding(0) var<storage, read> plot_words: array<u32>;
@group(0) @binding(1) var<storage, read> listings: array<Listing>;
@group(0) @binding(2) var<storage, read_write> vertex_moves: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> move_words: array<f32>; // vertex_moves
@group(0) @binding(4) var<storage, read> most: array<f32>; // vertex_moves
@group(0) @binding(5) var<storage, read> pairs: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> planes: array<Plane>;
@group(0) @binding(7) var<storage, read_write> touches: array<u32>;
@group(0) @binding(8) var<storage, read_write> bounds: array<f32>;
@group(0) @binding(9) var<storage, read_write> spread: array<atomic<u32>>;
@group(0) @binding(10) var<storage, read> pair_loads: array<vec4<f32>>;
@group(0) @binding(11) var<storage, read_write> vertex_ways: array<f32>;

@compute @workgroup_size(GROUP)
fn forget_ways(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    move_words[v] = 0.0;
    vertex_ways[v] = 0.0;
}

// Nothing is known yet of pairs; but what bounds a vertex stays where some were not listed. What the plots of a vertex
// moved up to the substep before the last is added up.
@compute @workgroup_size(GROUP)
fn forget_pairs(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    touches[v] = 0u;
    vertex_ways[v] += move_words[v];
    move_words[v] = 0.0;
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
        atomicMax(&vertex_moves[plot_words[k]], bitcast<u32>(listings[p].past));
    }
}

// Pairs that were left alone have a distance below 0: that which they had and what the plots of their first vertex had
// moved until then. Those that may be near by now are looked at again.
@compute @workgroup_size(GROUP)
fn recall_pairs(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= min(range.end, nearness.pairs)) {
        return;
    }
    let v = pairs[p].x;
    let apart = -planes[p].distance - (vertex_ways[v] + most[v]);
    if (apart <= AMPLE * clearance.thickness + AHEAD * most[v]) {
        planes[p].distance = 0.0;
    }
}

@compute @workgroup_size(GROUP)
fn sift_pairs(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= min(range.end, nearness.pairs)) {
        return;
    }
    let v = pairs[p].x;
    let distance = planes[p].distance;
    if (distance < 0.0) {
        return;
    }
    if (distance > AMPLE * clearance.thickness + AHEAD * most[v] && pair_loads[p].w == 0.0) {
        planes[p].distance = -(distance + (vertex_ways[v] + most[v]));
    } else if (planes[p].kind != NEITHER) {
        atomicAdd(&spread[ACTIVE], 1u);
    }
}
