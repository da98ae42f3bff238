// The list of pairs: every vertex and triangle, and every two edges, without a common vertex, that are within a radius
// of each other.

@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read> features: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> owner_plots: array<u32>;
@group(0) @binding(3) var<storage, read> listings: array<Listing>;
@group(0) @binding(4) var<storage, read> surveyed: array<Plot>; // plots
@group(0) @binding(5) var<storage, read_write> pair_starts: array<u32>;
@group(0) @binding(6) var<storage, read_write> pairs: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read_write> bounds: array<atomic<u32>>;
@group(0) @binding(8) var<storage, read_write> found_nearness: array<Nearness>; // nearness
@group(0) @binding(9) var<storage, read> rest_places: array<vec4<f32>>;
@group(0) @binding(10) var<storage, read_write> planes: array<Plane>;
@group(0) @binding(11) var<storage, read_write> own_meters: array<atomic<u32>>;
@group(0) @binding(12) var<storage, read> old_starts: array<u32>;
@group(0) @binding(13) var<storage, read> old_pairs: array<vec4<u32>>;

// A plot and its list, as in plots.wgsl.
struct Plot {
    low: vec4<f32>, high: vec4<f32>, center: vec4<f32>, turn: vec4<f32>, middle: vec4<f32>, half: vec4<f32>,
}
struct Listing {
    radius: f32, wear: f32, past: f32, stale: u32,
    first_triangle: u32, end_triangle: u32, first_edge: u32, end_edge: u32,
}

// Distance of a pair [m].
fn pair_distance(kind: u32, pair: vec4<u32>) -> f32 {
    let a = vertices[pair.x].position;
    let b = vertices[pair.y].position;
    let c = vertices[pair.z].position;
    let d = vertices[pair.w].position;
    return length(between(shares(kind, closest_weights(kind, a, b, c, d)), a, b, c, d));
}

// What a vertex may move where a pair of it is not listed: half of what the pair may come nearer.
fn bound_pair(pair: vec4<u32>, apart: f32) {
    let most = 0.5 * max(min(SHARE * apart, apart - FLOOR * clearance.thickness), 0.0);
    for (var k = 0u; k < 4u; k++) {
        atomicMin(&bounds[pair[k]], bitcast<u32>(most));
    }
}

// Pairs of a vertex or of an edge whose list stands. Argument: 0 to count them, 1 to list them.
@compute @workgroup_size(GROUP)
fn reuse_pairs(invocation: Invocation) {
    let owner = element(invocation);
    if (!running() || owner >= range.end) {
        return;
    }
    let listing = range.arguments.x == 1u;
    let edge = owner >= clearance.vertices;
    if (!listing && !edge) {
        atomicStore(&bounds[owner], bitcast<u32>(FAR));
    }
    if (listings[owner_plots[owner]].stale == 1u) {
        return;
    }
    let first = old_starts[owner];
    let found = old_starts[owner + 1u] - first;
    if (!listing) {
        pair_starts[owner] = found;
        return;
    }
    let slot = pair_starts[owner];
    for (var k = 0u; k < found; k++) {
        let pair = old_pairs[first + k];
        if (slot + k < clearance.capacity) {
            pairs[slot + k] = pair;
        } else {
            bound_pair(pair, pair_distance(select(VERTEX_TRIANGLE, EDGES, edge), pair));
        }
    }
}

// Distance of two boxes along the axis on which they are farthest apart [m].
fn gap(low: vec3<f32>, high: vec3<f32>, other_low: vec3<f32>, other_high: vec3<f32>) -> f32 {
    let way = max(low - other_high, other_low - high);
    return max(max(way.x, way.y), way.z);
}

// Finds the pairs of a vertex with triangles, or of an edge with edges of larger numbers, where the list of its plot is
// made anew. Arguments: 0 to count them, 1 to list them; number of plots.
@compute @workgroup_size(GROUP)
fn find_pairs(invocation: Invocation) {
    let owner = element(invocation);
    if (!running() || owner >= range.end) {
        return;
    }
    let listing = range.arguments.x == 1u;
    let list = listings[owner_plots[owner]];
    if (list.stale == 0u || (listing && pair_starts[owner + 1u] == pair_starts[owner])) {
        return;
    }
    let edge = owner >= clearance.vertices;
    let kind = select(VERTEX_TRIANGLE, EDGES, edge);
    var own = vec4<u32>(owner);
    var item = 0u;
    if (edge) {
        item = clearance.triangles + owner - clearance.vertices;
        own = features[item];
    }
    let a = vertices[own.x].position;
    let b = vertices[own.y].position;
    let low = min(a, b);
    let high = max(a, b);
    let reach = NEAR * list.radius;
    var slot = 0u;
    if (listing) {
        slot = pair_starts[owner];
    }
    let count = range.arguments.y;
    for (var start = 0u; start < count; start += BLOCK) {
        let block = count + start / BLOCK;
        if (gap(low, high, surveyed[block].low.xyz, surveyed[block].high.xyz) > reach) {
            continue;
        }
        let last = min(start + BLOCK, count);
        for (var q = start; q < last; q++) {
            if (gap(low, high, surveyed[q].low.xyz, surveyed[q].high.xyz) > reach) {
                continue;
            }
            let first = select(listings[q].first_triangle, max(listings[q].first_edge, item + 1u), edge);
            let end = select(listings[q].end_triangle, listings[q].end_edge, edge);
            for (var k = first; k < end; k++) {
                let other = features[k];
                let c = vertices[other.x].position;
                let d = vertices[other.y].position;
                var e = d;
                var pair = vec4<u32>(own.xy, other.xy);
                var adjacent = any(own.xy == other.xy) || any(own.xy == other.yx);
                if (!edge) {
                    e = vertices[other.z].position;
                    pair = vec4<u32>(owner, other.xyz);
                    adjacent = any(other.xyz == vec3<u32>(owner));
                }
                if (adjacent || gap(low, high, min(min(c, d), e), max(max(c, d), e)) > reach) {
                    continue;
                }
                let apart = pair_distance(kind, pair);
                if (apart > list.radius) {
                    continue;
                }
                if (listing) {
                    if (slot < clearance.capacity) {
                        pairs[slot] = pair;
                    } else {
                        bound_pair(pair, apart);
                    }
                }
                slot++;
            }
        }
    }
    if (!listing) {
        pair_starts[owner] = slot;
    }
}

// What was found, and what there is room for.
@compute @workgroup_size(1)
fn admit_pairs() {
    if (!running()) {
        return;
    }
    let demand = pair_starts[range.arguments.x];
    found_nearness[0].demand = demand;
    found_nearness[0].pairs = min(demand, clearance.capacity);
    found_nearness[0].begun = 1u;
    atomicMax(&own_meters[PAIRS], demand);
    atomicAdd(&own_meters[REBUILDS], 1u);
    if (demand > clearance.capacity) {
        atomicAdd(&own_meters[OVERFLOWED], demand - clearance.capacity);
    }
}

// Kind and thickness of a pair: in one piece, parts that are near at rest may be as near as half of that. Where all
// four vertices are tangled, the pair is left alone; where tangles are resolved, a vertex of each part is enough, so
// that what is drawn apart is not held back by what it has yet to pass.
@compute @workgroup_size(GROUP)
fn rest_pairs(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= min(range.end, nearness.pairs)) {
        return;
    }
    let pair = pairs[p];
    var kind = select(EDGES, VERTEX_TRIANGLE, p < pair_starts[clearance.vertices]);
    let a = rest_places[pair.x];
    let b = rest_places[pair.y];
    let c = rest_places[pair.z];
    let d = rest_places[pair.w];
    var thickness = clearance.thickness;
    let piece = floor(0.5 * vec4<f32>(a.w, b.w, c.w, d.w));
    if (piece.x == piece.w) {
        let share = shares(kind, closest_weights(kind, a.xyz, b.xyz, c.xyz, d.xyz));
        thickness = min(thickness, 0.5 * length(between(share, a.xyz, b.xyz, c.xyz, d.xyz)));
    }
    let tangled = vec4<f32>(a.w, b.w, c.w, d.w) - 2.0 * piece == vec4<f32>(1.0);
    let first = tangled.x || (kind == EDGES && tangled.y);
    let second = tangled.z || tangled.w || (kind == VERTEX_TRIANGLE && tangled.y);
    if (select(all(tangled), first && second, clearance.resolves != 0u)) {
        kind = NEITHER;
    }
    planes[p] = Plane(vec3<f32>(), 0.0, vec2<f32>(), thickness, kind);
}
