// What parts of the cloth do to each other where they touch: an inequality per pair, with Coulomb friction.

@group(0) @binding(0) var<storage, read> pairs: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> planes: array<Plane>;
@group(0) @binding(2) var<storage, read_write> pair_loads: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(4) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> pushes: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> touches: array<u32>;
@group(0) @binding(7) var<storage, read_write> push_words: array<u32>; // pushes
@group(0) @binding(8) var<storage, read_write> velocities: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read> faults: array<u32>;

// Part of a correction that a pair makes at once: its vertices have others, which make theirs at the same time. It is
// that of the pair, not of each vertex, so that what one side gets the other side gives.
fn relaxed(pair: vec4<u32>) -> f32 {
    let most = max(max(touches[pair.x], touches[pair.y]), max(touches[pair.z], touches[pair.w]));
    return 1.0 / f32(max(most, 1u));
}

// Adds a pair's pull to the sums of its vertices.
fn pull(pair: vec4<u32>, share: vec4<f32>, way: vec3<f32>) {
    for (var k = 0u; k < 4u; k++) {
        let v = pair[k];
        let push = fixed(share[k] * apply_inverse_mass(v, vertices[v].inverse_mass, way));
        atomicAdd(&pushes[4u * v], push.x);
        atomicAdd(&pushes[4u * v + 1u], push.y);
        atomicAdd(&pushes[4u * v + 2u], push.z);
        atomicAdd(&pushes[4u * v + 3u], 1u);
    }
}

// A substep begins with what pressed in the one before; what friction held is found anew.
@compute @workgroup_size(GROUP)
fn resume_pairs(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= min(range.end, nearness.pairs) || !responds(planes[p]) || pair_loads[p].w == 0.0) {
        return;
    }
    let plane = planes[p];
    let pair = pairs[p];
    let share = shares(plane.kind, plane.weights);
    let n = plane.normal;
    var w = 0.0;
    for (var k = 0u; k < 4u; k++) {
        w += share[k] * share[k] * inverse_mass_along(pair[k], vertices[pair[k]].inverse_mass, n);
    }
    if (w <= 0.0) {
        pair_loads[p] = vec4<f32>();
        return;
    }
    let pressed = RESUMED * pair_loads[p].w;
    pair_loads[p] = vec4<f32>(0.0, 0.0, 0.0, pressed);
    pull(pair, share, (UNITS * pressed / (nearness.radius * w)) * n);
}

// One sweep over the pairs. Argument: 1 where friction has no say any more.
@compute @workgroup_size(GROUP)
fn press_pairs(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= min(range.end, nearness.pairs) || !responds(planes[p])) {
        return;
    }
    let plane = planes[p];
    let pair = pairs[p];
    let share = shares(plane.kind, plane.weights);
    let n = plane.normal;
    var moved = vec3<f32>();
    var w = 0.0;
    for (var k = 0u; k < 4u; k++) {
        moved += share[k] * displacements[pair[k]].xyz;
        w += share[k] * share[k] * inverse_mass_along(pair[k], vertices[pair[k]].inverse_mass, n);
    }
    let load = pair_loads[p];
    let gap = plane.distance + dot(n, moved) - kept(plane);
    if (w <= 0.0 || (gap >= 0.0 && load.w == 0.0)) {
        return;
    }
    let omega = RELAXATION * relaxed(pair);
    let pressed = max(load.w - omega * gap, 0.0);
    var friction = load.xyz;
    if (range.arguments.x == 0u) {
        friction += omega * (moved - dot(n, moved) * n);
        friction *= min(1.0, clearance.friction * pressed / max(length(friction), SMALLEST));
    }
    pair_loads[p] = vec4<f32>(friction, pressed);
    let way = (pressed - load.w) * n - (friction - load.xyz);
    pull(pair, share, (UNITS / (nearness.radius * w)) * way);
}

// Moves vertices by what their pairs ask for. Argument: 1 at the start of a substep, whose pairs that press are known.
@compute @workgroup_size(GROUP)
fn press_apply(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let count = push_words[4u * v + 3u];
    if (range.arguments.x == 0u) {
        touches[v] = count;
    }
    if (count > 0u) {
        let sum = floating(vec3<u32>(push_words[4u * v], push_words[4u * v + 1u], push_words[4u * v + 2u]));
        displacements[v] += vec4<f32>((nearness.radius / UNITS) * sum, 0.0);
        push_words[4u * v] = 0u;
        push_words[4u * v + 1u] = 0u;
        push_words[4u * v + 2u] = 0u;
        push_words[4u * v + 3u] = 0u;
    }
}

// After the commit: parts that press each other do not part by themselves, with the speed of their recovery.
@compute @workgroup_size(GROUP)
fn calm_pairs(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= min(range.end, nearness.pairs) || !responds(planes[p]) || pair_loads[p].w <= 0.0) {
        return;
    }
    let plane = planes[p];
    let pair = pairs[p];
    let share = shares(plane.kind, plane.weights);
    var speed = 0.0;
    var w = 0.0;
    for (var k = 0u; k < 4u; k++) {
        speed += share[k] * dot(plane.normal, velocities[pair[k]].xyz);
        w += share[k] * share[k] * inverse_mass_along(pair[k], vertices[pair[k]].inverse_mass, plane.normal);
    }
    if (speed <= 0.0 || w <= 0.0) {
        return;
    }
    pull(pair, share, -(relaxed(pair) * speed * clock.h * UNITS / (nearness.radius * w)) * plane.normal);
}

@compute @workgroup_size(GROUP)
fn calm_apply(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end || push_words[4u * v + 3u] == 0u) {
        return;
    }
    let sum = floating(vec3<u32>(push_words[4u * v], push_words[4u * v + 1u], push_words[4u * v + 2u]));
    if (faults[0] == 0u) {
        velocities[v] += vec4<f32>((nearness.radius / (UNITS * clock.h)) * sum, 0.0);
    }
    push_words[4u * v] = 0u;
    push_words[4u * v + 1u] = 0u;
    push_words[4u * v + 2u] = 0u;
    push_words[4u * v + 3u] = 0u;
}
