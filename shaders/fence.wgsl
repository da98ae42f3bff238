// The fence: half-spaces that no vertex leaves in a substep. Each pair has a plane between its parts, and what lies
// between them is shared out by how much each side wants of it.

@group(0) @binding(0) var<storage, read> pairs: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> planes: array<Plane>;
@group(0) @binding(2) var<storage, read_write> offsets: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> pair_loads: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(5) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> touches: array<atomic<u32>>;
@group(0) @binding(7) var<storage, read_write> bounds: array<atomic<u32>>;
@group(0) @binding(8) var<storage, read_write> pushes: array<atomic<u32>>;
@group(0) @binding(9) var<storage, read> holds: array<vec4<f32>>;
@group(0) @binding(10) var<storage, read_write> limits: array<atomic<u32>>;
@group(0) @binding(11) var<storage, read_write> push_words: array<u32>; // pushes
@group(0) @binding(12) var<storage, read_write> limit_words: array<f32>; // limits
@group(0) @binding(13) var<storage, read> bound_words: array<f32>; // bounds
@group(0) @binding(14) var<storage, read> contacts: array<Contact>;
@group(0) @binding(15) var<storage, read_write> marks: array<vec2<f32>>;
@group(0) @binding(16) var<storage, read_write> own_meters: array<atomic<u32>>;
@group(0) @binding(17) var<storage, read_write> decisions: array<u32>; // guards
@group(0) @binding(18) var<storage, read_write> found_nearness: array<Nearness>; // nearness
@group(0) @binding(19) var<storage, read_write> box_words: array<u32>; // motion_box
@group(0) @binding(20) var<storage, read_write> spread_words: array<f32>; // spread
@group(0) @binding(21) var<storage, read> found_spread: array<u32>; // spread

// Planes of the pairs at the start of the substep. The closest points give the normal, and the vertices the distance
// along it, so that the plane separates the parts whatever rounding did to the points. A pair for which there is none
// has the bound of one that is not listed.
@compute @workgroup_size(GROUP)
fn aim_pairs(invocation: Invocation) {
    let p = element(invocation);
    // Below 0 it is too far apart for this substep.
    if (!running() || p >= min(range.end, nearness.pairs) || planes[p].distance < 0.0) {
        return;
    }
    var plane = planes[p];
    plane.distance = 0.0;
    let pair = pairs[p];
    let a = vertices[pair.x].position;
    let b = vertices[pair.y].position;
    let c = vertices[pair.z].position;
    let d = vertices[pair.w].position;
    let at = closest_weights(plane.kind, a, b, c, d);
    let share = shares(plane.kind, at);
    let way = between(share, a, b, c, d);
    let apart = length(way);
    if (plane.kind == NEITHER || apart <= SMALLEST) {
        planes[p] = plane;
        pair_loads[p] = vec4<f32>();
        return;
    }
    var n = way / apart;
    if (plane.kind == VERTEX_TRIANGLE && at_end(plane.kind, at)) {
        // Beside a triangle its plane stands for the way to its border, where that is nearly the same.
        var face = cross(c - b, d - b);
        face /= max(length(face), SMALLEST);
        let cosine = dot(face, n);
        if (abs(cosine) > UPRIGHT) {
            n = select(-face, face, cosine > 0.0);
        }
    }
    let along = vec4<f32>(0.0, dot(n, b - a), dot(n, c - a), dot(n, d - a));
    let side = sides(plane.kind);
    let low = select(0.0, min(along.x, along.y), plane.kind == EDGES);
    let high = select(max(along.y, max(along.z, along.w)), max(along.z, along.w), plane.kind == EDGES);
    if (low - high < 0.5 * apart) {
        let most = 0.5 * max(min(SHARE * apart, apart - FLOOR * plane.thickness), 0.0);
        for (var k = 0u; k < 4u; k++) {
            atomicMin(&bounds[pair[k]], bitcast<u32>(most));
        }
        planes[p] = plane;
        pair_loads[p] = vec4<f32>();
        return;
    }
    offsets[p] = select(vec4<f32>(high) - along, along - vec4<f32>(low), side > vec4<f32>());
    plane.normal = n;
    plane.distance = low - high;
    plane.weights = at;
    planes[p] = plane;
    if (!responds(plane)) {
        pair_loads[p] = vec4<f32>();
        return;
    }
    var moved = vec3<f32>();
    for (var k = 0u; k < 4u; k++) {
        moved += share[k] * displacements[pair[k]].xyz;
    }
    if (plane.distance + dot(n, moved) < kept(plane) || pair_loads[p].w > 0.0) {
        for (var k = 0u; k < 4u; k++) {
            atomicAdd(&touches[pair[k]], 1u);
        }
    }
}

// Whether a vertex moves as it must.
fn driven(v: u32) -> bool {
    return vertices[v].inverse_mass == 0.0 || all(holds[v] == vec4<f32>());
}

// What a vertex can give up of a part of its way, as much as its hold lets it; w: whether that is enough.
fn given_up(v: u32, way: vec3<f32>) -> vec4<f32> {
    if (driven(v)) {
        return vec4<f32>(0.0, 0.0, 0.0, FORCED);
    }
    let left = left_by(rigid(holds[v]), way);
    return vec4<f32>(left, select(TRIMMED, FORCED, length(left) < ENOUGH * length(way)));
}

// How far the vertices of a pair go towards the other part, and how far they may.
struct Allowance { wanted: vec4<f32>, allowed: vec4<f32> }

fn allowance(p: u32) -> Allowance {
    let plane = planes[p];
    let pair = pairs[p];
    let side = sides(plane.kind);
    var wanted = vec4<f32>();
    var need = vec2<f32>();
    var must = vec2<f32>();
    for (var k = 0u; k < 4u; k++) {
        wanted[k] = -side[k] * dot(plane.normal, displacements[pair[k]].xyz - nearness.drift);
        let beyond = wanted[k] - offsets[p][k];
        let part = select(1u, 0u, side[k] > 0.0);
        need[part] = max(need[part], beyond);
        if (driven(pair[k])) {
            must[part] = max(must[part], beyond);
        }
    }
    let free = max(min(SHARE * plane.distance, plane.distance - FLOOR * plane.thickness), 0.0);
    let both = need.x + need.y;
    let part = select(0.5, clamp(need.x / max(both, SMALLEST), LEAST_PART, 1.0 - LEAST_PART), both > 0.0);
    // What moves as it must gets what it needs first.
    let first = min(max(part * free, must.x), max(free - must.y, must.x));
    let second = max(free - first, 0.0);
    return Allowance(wanted, offsets[p] + select(vec4<f32>(second), vec4<f32>(first), side > vec4<f32>()));
}

// Takes from every vertex what it goes too far towards the other part. What it goes along the plane is left.
@compute @workgroup_size(GROUP)
fn fence_push(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= min(range.end, nearness.pairs) || planes[p].distance <= 0.0) {
        return;
    }
    let pair = pairs[p];
    let side = sides(planes[p].kind);
    let found = allowance(p);
    for (var k = 0u; k < 4u; k++) {
        let v = pair[k];
        let over = found.wanted[k] - found.allowed[k];
        if (over > 0.0 && !driven(v)) {
            let push = fixed((side[k] * over * (UNITS / nearness.radius)) * planes[p].normal);
            atomicAdd(&pushes[4u * v], push.x);
            atomicAdd(&pushes[4u * v + 1u], push.y);
            atomicAdd(&pushes[4u * v + 2u], push.z);
            atomicAdd(&pushes[4u * v + 3u], 1u);
        }
    }
}

// Moves vertices by the mean of their pushes. Arguments: 1 in the first pass of a round; 1 in the last, after which a
// vertex moves no farther than the pairs that there was no room for let it.
@compute @workgroup_size(GROUP)
fn fence_apply(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var mark = marks[v];
    if (range.arguments.x == 1u) {
        mark = vec2<f32>();
    }
    let before = displacements[v].xyz;
    var u = before;
    let count = push_words[4u * v + 3u];
    if (count > 0u) {
        let sum = floating(vec3<u32>(push_words[4u * v], push_words[4u * v + 1u], push_words[4u * v + 2u]));
        u += left_by(rigid(holds[v]), (nearness.radius / (UNITS * f32(count))) * sum);
        push_words[4u * v] = 0u;
        push_words[4u * v + 1u] = 0u;
        push_words[4u * v + 2u] = 0u;
        push_words[4u * v + 3u] = 0u;
    }
    if (range.arguments.y == 1u) {
        limit_words[v] = 1.0;
        let way = u - nearness.drift;
        let extent = length(way);
        if (extent > bound_words[v]) {
            let back = given_up(v, (1.0 - bound_words[v] / extent) * way);
            mark.x = back.w;
            u -= back.xyz;
        }
    }
    if (contacts[v].solid != 0u) {
        mark.y -= dot(u - before, contacts[v].normal);
    }
    marks[v] = mark;
    displacements[v] = vec4<f32>(u, 0.0);
}

// What part of its way a vertex may go.
@compute @workgroup_size(GROUP)
fn fence_trim(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= min(range.end, nearness.pairs) || planes[p].distance <= 0.0) {
        return;
    }
    let pair = pairs[p];
    let found = allowance(p);
    for (var k = 0u; k < 4u; k++) {
        if (found.wanted[k] > found.allowed[k]) {
            atomicMin(&limits[pair[k]], bitcast<u32>(TRIM * (max(found.allowed[k], 0.0) / found.wanted[k])));
        }
    }
}

@compute @workgroup_size(GROUP)
fn fence_end(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let part = limit_words[v];
    var mark = marks[v];
    if (part < 1.0) {
        let u = displacements[v].xyz;
        let back = given_up(v, (1.0 - part) * (u - nearness.drift));
        if (contacts[v].solid != 0u) {
            mark.y += dot(back.xyz, contacts[v].normal);
        }
        displacements[v] = vec4<f32>(u - back.xyz, 0.0);
        mark.x = back.w;
    }
    if (mark.y > PINCH * clearance.thickness && mark.x < PINCHED) {
        mark.x += PINCHED;
    }
    marks[v] = mark;
}

// What moved as it must, towards a part that did not give way as far, in the state that is committed.
@compute @workgroup_size(GROUP)
fn check_forced(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= min(range.end, nearness.pairs) || planes[p].distance <= 0.0) {
        return;
    }
    let pair = pairs[p];
    let side = sides(planes[p].kind);
    var beyond = vec4<f32>();
    var most = vec2<f32>(-FAR);
    for (var k = 0u; k < 4u; k++) {
        beyond[k] = -side[k] * dot(planes[p].normal, displacements[pair[k]].xyz - nearness.drift) - offsets[p][k];
        let part = select(1u, 0u, side[k] > 0.0);
        most[part] = max(most[part], beyond[k]);
    }
    if (most.x + most.y <= planes[p].distance) {
        return;
    }
    for (var k = 0u; k < 4u; k++) {
        if (beyond[k] > 0.0 && driven(pair[k])) {
            atomicMin(&limits[pair[k]], 0u);
        }
    }
}

// Adds what the last round of a substep did to vertices to the account of the frame.
@compute @workgroup_size(GROUP)
fn tally(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var mark = u32(marks[v].x);
    if (mark >= u32(PINCHED)) {
        mark -= u32(PINCHED);
        atomicAdd(&own_meters[PINCHED_VERTICES], 1u);
    }
    if (limit_words[v] == 0.0 && driven(v)) {
        mark = u32(FORCED);
    }
    if (mark > 0u) {
        atomicAdd(&own_meters[FIRST_MARK + mark], 1u);
    }
}

// Starts the account of a frame, which begins without a list.
@compute @workgroup_size(1)
fn begin_tally() {
    if (!running()) {
        return;
    }
    for (var k = 0u; k < METERS; k++) {
        atomicStore(&own_meters[k], 0u);
    }
    found_nearness[0].begun = 0u;
    found_nearness[0].pairs = 0u;
    for (var k = 0u; k < BOX; k++) {
        box_words[k] = 0u;
    }
    for (var k = 0u; k < SPREADS; k++) {
        spread_words[k] = 0.0;
    }
}

// Nothing is left of a frame that was stopped half-way.
@compute @workgroup_size(GROUP)
fn forget_pushes(invocation: Invocation) {
    let k = element(invocation);
    if (!running() || k >= range.end) {
        return;
    }
    push_words[k] = 0u;
}

// Runs what follows where there are pairs. Arguments: guard word of its loop, and that of the loop around it; `START`
// of a substep, `ROUND` or neither.
@compute @workgroup_size(1)
fn open_pairs() {
    let own = range.arguments.x;
    let touch = found_spread[ACTIVE] > 0u || found_nearness[0].demand > clearance.capacity;
    let begins = select(touch, found_nearness[0].pairs > 0u, range.arguments.z == START);
    decisions[own] = select(0u, decisions[range.arguments.y], begins);
    if (decisions[own] == 0u) {
        return;
    }
    if (range.arguments.z == START) {
        found_nearness[0].rounds = 0u;
        found_nearness[0].yielded = 0.0;
    }
    if (range.arguments.z == ROUND) {
        found_nearness[0].rounds += 1u;
        if (found_nearness[0].rounds == FIRM_ROUNDS + 1u) {
            found_nearness[0].yielded = FIRST_YIELDED;
        } else {
            found_nearness[0].yielded = min(YIELDING * found_nearness[0].yielded, 1.0);
        }
    }
}
