// Cloth that passes through itself is drawn apart: every crossing moves its edge against its triangle in the direction
// in which the contour along which the layers cross becomes shorter (Volino & Magnenat-Thalmann 2006).

@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read> features: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> bucket_ends: array<u32>; // bucket_starts
@group(0) @binding(3) var<storage, read> sorted: array<Sorted>;
@group(0) @binding(4) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> pushes: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> tangles: array<atomic<u32>>;
@group(0) @binding(7) var<storage, read_write> push_words: array<u32>; // pushes
@group(0) @binding(8) var<storage, read_write> tangle_words: array<u32>; // tangles
@group(0) @binding(9) var<storage, read_write> rest_places: array<vec4<f32>>;
@group(0) @binding(10) var<storage, read_write> own_meters: array<atomic<u32>>;
@group(0) @binding(11) var<storage, read_write> decisions: array<u32>; // guards

// Where the edge pq goes through the triangle abc: part of q on the edge, parts of b and c in the triangle; the first
// is negative where it does not (Ericson 2005, section 5.3.6). What goes between two triangles goes through both. What
// is nearly parallel, as in flat cloth, has no such point but by rounding.
fn pierced(p: vec3<f32>, q: vec3<f32>, a: vec3<f32>, b: vec3<f32>, c: vec3<f32>) -> vec3<f32> {
    let back = p - q;
    let ahead = p - a;
    let ab = b - a;
    let ac = c - a;
    let normal = cross(ab, ac);
    let whole = dot(back, normal);
    if (abs(whole) <= GRAZING * length(back) * length(normal)) {
        return vec3<f32>(-1.0);
    }
    let turned = cross(back, ahead);
    let parts = vec3<f32>(dot(ahead, normal), dot(ac, turned), -dot(ab, turned)) / whole;
    let within = all(parts >= vec3<f32>(-SEAM)) && parts.x <= 1.0 + SEAM && parts.y + parts.z <= 1.0 + SEAM;
    return select(vec3<f32>(-1.0), clamp(parts, vec3<f32>(), vec3<f32>(1.0)), within);
}

// Direction of the contour in a face at its edge, into the face: e is the direction of the edge, n the normal of the
// triangle that it goes through, and `way` leads from an end of the edge to the third corner of the face.
fn contour(e: vec3<f32>, n: vec3<f32>, way: vec3<f32>) -> vec3<f32> {
    let face = cross(e, way);
    let along = cross(face, n);
    let extent = length(along);
    if (extent <= GRAZING * length(face)) {
        return vec3<f32>();
    }
    let inward = way - dot(way, e) * e;
    return select(-along, along, dot(along, inward) > 0.0) / extent;
}

// What a contour in one face says: R − 2 (E·R)/(E·N) N.
fn steepest(e: vec3<f32>, n: vec3<f32>, r: vec3<f32>) -> vec3<f32> {
    return r - (2.0 * dot(e, r) / dot(e, n)) * n;
}

// Runs what follows. Arguments: guard word of its loop, and that of the loop around it; 0 to look for crossings, in the
// first substep of a frame and as long as there are any; 1 to draw apart what was found.
@compute @workgroup_size(1)
fn open_tangles() {
    let wanted = range.arguments.z == 0u && clock.substep == 1u;
    let open = decisions[range.arguments.y] != 0u && (wanted || atomicLoad(&own_meters[TANGLED]) > 0u);
    decisions[range.arguments.x] = select(0u, 1u, open);
    if (open && range.arguments.z == 0u) {
        atomicStore(&own_meters[TANGLED], 0u);
    }
}

// Looks for the edges that go through a triangle: they are in the 27 cells around its middle. Argument: 0 to count them
// at their vertices, 1 to draw them apart.
@compute @workgroup_size(GROUP)
fn seek_tangles(invocation: Invocation) {
    let t = element(invocation);
    if (!running() || t >= range.end) {
        return;
    }
    let corners = features[t];
    let a = vertices[corners.x].position;
    let b = vertices[corners.y].position;
    let c = vertices[corners.z].position;
    let middle = THIRD * (a + b + c);
    let reach = max(max(abs(a - middle), abs(b - middle)), abs(c - middle));
    let home = cell_of(middle, nearness.inverse_cells.y);
    for (var k = 0u; k < 27u; k++) {
        let cell = packed(neighbor(home, k));
        let bin = bucket(cell, true);
        let first = bucket_ends[bin - 1u];
        let end = bucket_ends[bin];
        for (var at = first; at < end; at++) {
            let found = sorted[at];
            if (found.cell != cell) {
                continue;
            }
            let edge = features[found.item];
            let p = vertices[edge.x].position;
            let q = vertices[edge.y].position;
            let far = reach + 0.5 * abs(q - p) + vec3<f32>(nearness.radius);
            let adjacent = any(corners.xyz == vec3<u32>(edge.x)) || any(corners.xyz == vec3<u32>(edge.y));
            if (adjacent || any(abs(0.5 * (p + q) - middle) > far)) {
                continue;
            }
            let parts = pierced(p, q, a, b, c);
            if (parts.x < 0.0) {
                continue;
            }
            var knot = array<u32, 5>(edge.x, edge.y, corners.x, corners.y, corners.z);
            var share = array<f32, 5>(1.0 - parts.x, parts.x, parts.y + parts.z - 1.0, -parts.y, -parts.z);
            if (range.arguments.x == 0u) {
                for (var v = 0u; v < 5u; v++) {
                    atomicAdd(&tangles[knot[v]], 1u);
                }
                continue;
            }
            let e = normalize(q - p);
            let n = normalize(cross(b - a, c - a));
            var way = vec3<f32>();
            if (edge.z != edge.y) {
                way += steepest(e, n, contour(e, n, vertices[edge.z].position - p));
            }
            if (edge.w != edge.y) {
                way += steepest(e, n, contour(e, n, vertices[edge.w].position - p));
            }
            let extent = length(way);
            if (extent <= SMALLEST) {
                continue;
            }
            way /= extent;
            var moved = 0.0;
            var w = 0.0;
            var most = 1u;
            for (var v = 0u; v < 5u; v++) {
                moved += share[v] * dot(way, displacements[knot[v]].xyz);
                w += share[v] * share[v] * inverse_mass_along(knot[v], vertices[knot[v]].inverse_mass, way);
                most = max(most, atomicLoad(&tangles[knot[v]]));
            }
            let certain = extent / sqrt(extent * extent + VAGUE * VAGUE);
            let lack = certain * (DRAWN * clearance.thickness - moved);
            if (w <= 0.0 || lack <= 0.0) {
                continue;
            }
            let pull = (lack / f32(most) * UNITS / (nearness.radius * w)) * way;
            for (var k5 = 0u; k5 < 5u; k5++) {
                let v = knot[k5];
                let push = fixed(share[k5] * apply_inverse_mass(v, vertices[v].inverse_mass, pull));
                atomicAdd(&pushes[4u * v], push.x);
                atomicAdd(&pushes[4u * v + 1u], push.y);
                atomicAdd(&pushes[4u * v + 2u], push.z);
                atomicAdd(&pushes[4u * v + 3u], 1u);
            }
        }
    }
}

// Whether a vertex belongs to a crossing, for the pairs that are left alone and for the account.
@compute @workgroup_size(GROUP)
fn note_tangles(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let tangled = tangle_words[v] > 0u;
    rest_places[v].w = 2.0 * floor(0.5 * rest_places[v].w) + select(0.0, 1.0, tangled);
    if (tangled) {
        atomicAdd(&own_meters[TANGLED], 1u);
    }
}

// Moves vertices by what their crossings ask for, and forgets these.
@compute @workgroup_size(GROUP)
fn untangle(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    tangle_words[v] = 0u;
    if (push_words[4u * v + 3u] == 0u) {
        return;
    }
    let sum = floating(vec3<u32>(push_words[4u * v], push_words[4u * v + 1u], push_words[4u * v + 2u]));
    displacements[v] += vec4<f32>((nearness.radius / UNITS) * sum, 0.0);
    push_words[4u * v] = 0u;
    push_words[4u * v + 1u] = 0u;
    push_words[4u * v + 2u] = 0u;
    push_words[4u * v + 3u] = 0u;
}
