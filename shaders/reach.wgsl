// How far parts of the cloth are about to move, and what follows from it: when the list of pairs is made, how many
// substeps the next frame has, and a part by which all ways are shortened.

@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read> displacements: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> holds: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> motion_box: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> box_words: array<u32>; // motion_box
@group(0) @binding(7) var<storage, read_write> found_nearness: array<Nearness>; // nearness
@group(0) @binding(8) var<storage, read_write> times: array<Clock>; // clock
@group(0) @binding(9) var<storage, read> spread_words: array<f32>; // spread
@group(0) @binding(10) var<storage, read_write> spread: array<atomic<u32>>;
@group(0) @binding(11) var<storage, read_write> decisions: array<u32>; // guards
@group(0) @binding(12) var<storage, read_write> own_meters: array<atomic<u32>>;
@group(0) @binding(13) var<storage, read_write> ways: array<vec4<f32>>; // displacements
@group(0) @binding(14) var<storage, read> pairs: array<vec4<u32>>;
@group(0) @binding(15) var<storage, read> planes: array<Plane>;
@group(0) @binding(16) var<storage, read_write> found_spread: array<u32>; // spread
@group(0) @binding(17) var<storage, read> vertex_ways: array<f32>;
@group(0) @binding(18) var<storage, read> most: array<f32>; // vertex_moves

// Words that are ordered as floats are, above 0.
fn ordered(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);
}

fn disordered(word: u32) -> f32 {
    return bitcast<f32>(select(~word, word & 0x7fffffffu, (word & 0x80000000u) != 0u));
}

// The box of all displacements, and that of those that nothing here can change. Both ends are maxima: of u and of −u.
@compute @workgroup_size(GROUP)
fn bound_motion(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let u = displacements[v].xyz;
    let first = select(6u, 0u, driven(v));
    for (var k = first; k < BOX; k += 6u) {
        atomicMax(&motion_box[k], ordered(u.x));
        atomicMax(&motion_box[k + 1u], ordered(u.y));
        atomicMax(&motion_box[k + 2u], ordered(u.z));
        atomicMax(&motion_box[k + 3u], ordered(-u.x));
        atomicMax(&motion_box[k + 4u], ordered(-u.y));
        atomicMax(&motion_box[k + 5u], ordered(-u.z));
    }
}

// Whether a vertex moves as it must.
fn driven(v: u32) -> bool {
    return vertices[v].inverse_mass == 0.0 || all(holds[v] == vec4<f32>());
}

fn corner(first: u32) -> vec3<f32> {
    return vec3<f32>(disordered(box_words[first]), disordered(box_words[first + 1u]), disordered(box_words[first + 2u]));
}

// Ends of a box, the middle of which is the common motion; the boxes are then empty again.
@compute @workgroup_size(1)
fn set_drift() {
    if (!running()) {
        return;
    }
    let first = select(0u, 6u, box_words[0] == 0u);
    let high = corner(first);
    let low = -corner(first + 3u);
    found_nearness[0].drift = low + 0.5 * (high - low);
    for (var k = 0u; k < BOX; k++) {
        box_words[k] = 0u;
    }
}

// Where there is no list, nothing is known of motion. Arguments: guard word of what surveys it, and that of the loop
// around.
@compute @workgroup_size(1)
fn open_survey() {
    decisions[range.arguments.x] = select(0u, decisions[range.arguments.y], nearness.begun == 0u);
}

// Whether lists are to be made. Arguments: guard word of what makes it, and that of the loop around.
@compute @workgroup_size(1)
fn set_reach() {
    decisions[range.arguments.x] = 0u;
    if (decisions[range.arguments.y] == 0u) {
        return;
    }
    let begins = found_nearness[0].begun == 0u;
    // A frame begins with what pressed in the one before, and does not know whether anything did.
    found_spread[PAST] = select(found_spread[ACTIVE], 1u, begins);
    found_spread[ACTIVE] = 0u;
    found_nearness[0].radius = (1.0 + LEAST_MARGIN) * clearance.thickness;
    let tangled = atomicLoad(&own_meters[TANGLED]) > 0u;
    if (begins || bitcast<f32>(found_spread[NEED]) > 0.0 || found_nearness[0].demand > clearance.capacity || tangled) {
        decisions[range.arguments.x] = 1u;
    }
}

// Whether ways are to be shortened, and by what part. Arguments as above.
@compute @workgroup_size(1)
fn check_reach() {
    decisions[range.arguments.x] = 0u;
    if (decisions[range.arguments.y] == 0u) {
        return;
    }
    let excess = spread_words[EXCESS];
    if (excess > 0.0) {
        found_nearness[0].part = SHARE * (1.0 - excess);
        atomicAdd(&own_meters[SLOWED_VERTICES], clearance.vertices);
        decisions[range.arguments.x] = 1u;
    }
}

// Shortens the ways of all vertices by the same part: what moved together still does.
@compute @workgroup_size(GROUP)
fn slow_down(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let way = ways[v].xyz - nearness.drift;
    if (!driven(v)) {
        ways[v] = vec4<f32>(ways[v].xyz - left_by(rigid(holds[v]), (1.0 - nearness.part) * way), 0.0);
    } else if (length(way) > 0.5 * SHARE * clearance.farthest) {
        atomicAdd(&own_meters[FORCED_VERTICES], 1u);
    }
}

// What moves as it must was not slowed down, and may go too far all the same.
@compute @workgroup_size(1)
fn note_forced() {
    if (running() && spread_words[EXCESS] > 0.0) {
        atomicAdd(&own_meters[FORCED_VERTICES], 1u);
    }
}

@compute @workgroup_size(GROUP)
fn meter_pairs(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= min(range.end, nearness.pairs) || planes[p].distance == 0.0) {
        return;
    }
    // What is left alone has the normal that it had when it was looked at, and is no nearer than this.
    let v = pairs[p].x;
    let apart = max(planes[p].distance, -planes[p].distance - (vertex_ways[v] + most[v]));
    let share = shares(planes[p].kind, planes[p].weights);
    var moved = vec3<f32>();
    for (var k = 0u; k < 4u; k++) {
        moved += share[k] * displacements[pairs[p][k]].xyz;
    }
    let nearer = -dot(planes[p].normal, moved);
    if (apart - f32(clock.substeps) * nearer < planes[p].thickness) {
        atomicMax(&spread[SPEED], bitcast<u32>(length(moved) / clock.h));
    }
}

// The next frame has as many substeps as the speed of pairs asks for, if its load does not ask for more.
@compute @workgroup_size(1)
fn note_reach() {
    if (!running()) {
        return;
    }
    let wanted = min(HASTE * bitcast<f32>(found_spread[SPEED]) * frame.dt / clearance.stride, f32(frame.most_substeps));
    times[0].load = max(times[0].load, wanted * wanted / (frame.load_scale * frame.load_margin));
    found_spread[SPEED] = 0u;
}
