// What presses is carried from one list of pairs to the next.

@group(0) @binding(0) var<storage, read> pairs: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> pair_loads: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> pair_starts: array<u32>;
@group(0) @binding(3) var<storage, read_write> old_pairs: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> old_loads: array<f32>;
@group(0) @binding(5) var<storage, read_write> old_starts: array<u32>;
@group(0) @binding(6) var<storage, read> found_spread: array<u32>; // spread

// Keeps a list before another is made, and the last of a frame, with which the next begins. Arguments: number of
// owners, and one; 1 at the end of a frame.
@compute @workgroup_size(GROUP)
fn keep_pairs(invocation: Invocation) {
    let k = element(invocation);
    if (!running() || k >= range.end || (range.arguments.y == 0u && clock.substep <= 1u)) {
        return;
    }
    if (k < nearness.pairs) {
        old_pairs[k] = pairs[k];
        old_loads[k] = pair_loads[k].w / (clock.h * clock.h);
    }
    if (k < range.arguments.x) {
        old_starts[k] = min(pair_starts[k], nearness.pairs);
    }
}

// Gives the pairs of a new list what they had in the one before. Argument: number of owners, and one.
@compute @workgroup_size(GROUP)
fn carry_loads(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= min(range.end, nearness.pairs)) {
        return;
    }
    // Nothing was pressed.
    if (found_spread[PAST] == 0u) {
        pair_loads[p] = vec4<f32>();
        return;
    }
    let pair = pairs[p];
    var owner = pair.x;
    if (p >= pair_starts[clearance.vertices]) {
        // The last that begins at this pair or before; those without pairs begin where the next does.
        var low = clearance.vertices;
        var high = range.arguments.x - 1u;
        for (var halving = 0u; halving < HALVINGS; halving++) {
            let middle = (low + high) / 2u;
            if (pair_starts[middle] <= p) {
                low = middle;
            } else {
                high = middle;
            }
        }
        owner = low;
    }
    var pressed = 0.0;
    let end = old_starts[owner + 1u];
    for (var k = old_starts[owner]; k < clearance.capacity; k++) {
        if (k >= end) {
            break;
        }
        if (all(old_pairs[k] == pair)) {
            pressed = old_loads[k] * (clock.h * clock.h);
            break;
        }
    }
    // What a frame that failed left behind is no load.
    pair_loads[p] = vec4<f32>(0.0, 0.0, 0.0, select(0.0, pressed, pressed > 0.0 && pressed < FAR));
}
