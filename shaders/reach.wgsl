// How far the vertices are about to move, and in what direction all of them do: what pairs have to be looked for.

@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read> displacements: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> holds: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> motion_box: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read_write> touches: array<u32>;
@group(0) @binding(5) var<storage, read_write> box_words: array<u32>; // motion_box
@group(0) @binding(6) var<storage, read_write> found_nearness: array<Nearness>; // nearness
@group(0) @binding(7) var<storage, read_write> times: array<Clock>; // clock

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
    touches[v] = 0u;
    let u = displacements[v].xyz;
    let first = select(6u, 0u, vertices[v].inverse_mass == 0.0 || all(holds[v] == vec4<f32>()));
    for (var k = first; k < BOX; k += 6u) {
        atomicMax(&motion_box[k], ordered(u.x));
        atomicMax(&motion_box[k + 1u], ordered(u.y));
        atomicMax(&motion_box[k + 2u], ordered(u.z));
        atomicMax(&motion_box[k + 3u], ordered(-u.x));
        atomicMax(&motion_box[k + 4u], ordered(-u.y));
        atomicMax(&motion_box[k + 5u], ordered(-u.z));
    }
}

fn corner(first: u32) -> vec3<f32> {
    return vec3<f32>(disordered(box_words[first]), disordered(box_words[first + 1u]), disordered(box_words[first + 2u]));
}

// Ends of a box, the middle of which is the common motion; the boxes are then empty again.
@compute @workgroup_size(1)
fn set_reach() {
    if (!running()) {
        return;
    }
    let first = select(0u, 6u, box_words[0] == 0u);
    let high = corner(first);
    let low = -corner(first + 3u);
    let most = corner(6u);
    let least = -corner(9u);
    let drift = low + 0.5 * (high - low);
    let reach = length(max(most - drift, drift - least));
    found_nearness[0].drift = drift;
    found_nearness[0].reach = reach;
    found_nearness[0].fastest = max(found_nearness[0].fastest, reach / clock.h);
    let wanted = clearance.thickness + AHEAD * max(reach, RECOVERY * clearance.thickness);
    found_nearness[0].radius = select(clearance.farthest, wanted, wanted < clearance.farthest);
    for (var k = 0u; k < BOX; k++) {
        box_words[k] = 0u;
    }
}

// The next frame has as many substeps as this one's speed asks for, if its load does not ask for more.
@compute @workgroup_size(1)
fn note_reach() {
    if (!running()) {
        return;
    }
    let wanted = min(HASTE * found_nearness[0].fastest * frame.dt / clearance.stride, f32(frame.most_substeps));
    times[0].load = max(times[0].load, wanted * wanted / (frame.load_scale * frame.load_margin));
    found_nearness[0].fastest = 0.0;
}
