// The list of pairs: every vertex and triangle, and every two edges, without a common vertex, that are within the
// radius of each other.

@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read> features: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> boxes: array<Extent>;
@group(0) @binding(3) var<storage, read> bucket_ends: array<u32>; // bucket_starts
@group(0) @binding(4) var<storage, read> sorted: array<Sorted>;
@group(0) @binding(5) var<storage, read_write> pair_starts: array<u32>;
@group(0) @binding(6) var<storage, read_write> pairs: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read_write> bounds: array<atomic<u32>>;
@group(0) @binding(8) var<storage, read_write> found_nearness: array<Nearness>; // nearness
@group(0) @binding(9) var<storage, read> rest_places: array<vec4<f32>>;
@group(0) @binding(10) var<storage, read_write> planes: array<Plane>;
@group(0) @binding(11) var<storage, read_write> own_meters: array<atomic<u32>>;

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

// Finds the pairs of a vertex with triangles, or of an edge with edges of larger numbers. Argument: 0 to count them, 1
// to list them.
@compute @workgroup_size(GROUP)
fn find_pairs(invocation: Invocation) {
    let owner = element(invocation);
    if (!running() || owner >= range.end) {
        return;
    }
    let listing = range.arguments.x == 1u;
    let edge = owner >= clearance.vertices;
    let kind = select(VERTEX_TRIANGLE, EDGES, edge);
    var own = vec4<u32>(owner);
    var place = Extent();
    var inverse = nearness.inverse_cells.x;
    var item = 0u;
    if (edge) {
        item = clearance.triangles + owner - clearance.vertices;
        own = features[item];
        place = boxes[item];
        inverse = nearness.inverse_cells.y;
    } else {
        place.center = vertices[owner].position;
    }
    var slot = 0u;
    if (listing) {
        slot = pair_starts[owner];
        if (pair_starts[owner + 1u] == slot) {
            return;
        }
    } else if (!edge) {
        atomicStore(&bounds[owner], bitcast<u32>(FAR));
    }
    let home = cell_of(place.center, inverse);
    for (var k = 0u; k < 27u; k++) {
        let cell = packed(neighbor(home, k));
        let b = bucket(cell, edge);
        var first = 0u;
        if (b > 0u) {
            first = bucket_ends[b - 1u];
        }
        let end = bucket_ends[b];
        for (var at = first; at < end; at++) {
            let found = sorted[at];
            if (found.cell != cell || (edge && found.item <= item)) {
                continue;
            }
            let near = NEAR * (vec3<f32>(nearness.radius) + found.half + place.half);
            if (any(abs(found.center - place.center) > near)) {
                continue;
            }
            let other = features[found.item];
            var pair = vec4<u32>(owner, other.xyz);
            var adjacent = any(other.xyz == vec3<u32>(owner));
            if (edge) {
                pair = vec4<u32>(own.xy, other.xy);
                adjacent = any(own.xy == other.xy) || any(own.xy == other.yx);
            }
            if (adjacent) {
                continue;
            }
            let apart = pair_distance(kind, pair);
            if (apart > nearness.radius) {
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
