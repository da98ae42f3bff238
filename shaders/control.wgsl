// One-thread kernels that open and close loops, frames and substeps. Beside them only the end of a linear solve writes
// guards, and they decide by comparing stored values, or products of them, so that CPU and GPU decide alike.

@group(0) @binding(0) var<storage, read_write> decisions: array<u32>; // guards
@group(0) @binding(1) var<storage, read_write> times: array<Clock>;   // clock
@group(0) @binding(2) var<storage, read_write> meters: array<Meters>;
@group(0) @binding(3) var<storage, read_write> faults: array<u32>;
@group(0) @binding(4) var<storage, read> partials: array<vec2<f32>>;       // strain_partials
@group(0) @binding(5) var<storage, read_write> totals: array<vec4<f32>>;   // sums

// Smallest k within bounds with k² ≥ wanted, by comparing products, which round alike everywhere.
fn substeps_for(wanted: f32, least: u32, most: u32) -> u32 {
    var count = clamp(u32(sqrt(min(wanted, HIGHEST_LOAD))), least, most);
    for (; count > least; count--) {
        if (f32(count - 1u) * f32(count - 1u) < wanted) {
            break;
        }
    }
    for (; count < most; count++) {
        if (f32(count) * f32(count) >= wanted) {
            break;
        }
    }
    return count;
}

// Starts a frame and its first substep: all meters at zero, the outermost guard on, and the number of substeps.
// Arguments: guard words of the loops over substeps, as `start_substep` says.
@compute @workgroup_size(1)
fn begin_frame() {
    decisions[0] = 1u;
    let load = max(times[0].load, frame.expected_load) * frame.load_scale;
    let wanted = substeps_for(load, frame.least_substeps, MOST_SUBSTEPS);
    let count = substeps_for(load * frame.load_margin, frame.least_substeps, frame.most_substeps);
    times[0].h = frame.dt / f32(count);
    times[0].substep = 0u;
    times[0].substeps = count;
    if (frame.relocated != 0u || frame.commanded > 1u) {
        times[0].previous = 0.0;
    }
    meters[0] = Meters(0.0, 0.0, 0u, 0u, vec2<u32>(), 0u, 0u, 0.0, count, UNMEASURED, 0.0, wanted, 0u);
    faults[0] = 0u;
    start_substep();
}

// Starts the next substep, and the loop that it belongs to. First argument: guard word of the loop over all substeps
// but the last, 0 where there is none; second: that of the last.
fn start_substep() {
    faults[CONTACT_CHANGED] = 0u;
    times[0].substep += 1u;
    let h = times[0].h;
    times[0].span = h;
    times[0].recall = 0.0;
    // Variable-step BDF2, r = h/h_previous: x* = x + r²/(1+2r) (x − x_previous) + (1+r)/(1+2r) h v*.
    if (frame.second_order != 0u && times[0].previous > 0.0) {
        let r = h / times[0].previous;
        times[0].recall = r * r / (1.0 + 2.0 * r);
        times[0].span = h * (1.0 + r) / (1.0 + 2.0 * r);
    }
    times[0].force = h / (times[0].span * times[0].span * frame.dt);
    let last = times[0].substep == times[0].substeps;
    if (range.arguments.x != 0u) {
        decisions[range.arguments.x] = select(1u, 0u, last);
    }
    decisions[range.arguments.y] = select(0u, 1u, last);
}

// Adds a substep to the frame's account; whether the frame goes on.
fn finish_substep() -> bool {
    if (faults[0] != 0u) {
        // Once per frame: no substep follows.
        faults[REJECTED_FRAMES] += 1u;
        times[0].previous = 0.0;
        return false;
    }
    times[0].previous = times[0].h;
    meters[0].substeps += 1u;
    meters[0].worst_strain = max(meters[0].worst_strain, meters[0].strain);
    if (meters[0].strain > accepted()) {
        meters[0].missed += 1u;
        times[0].previous = 0.0;
    }
    if (faults[CONTACT_CHANGED] != 0u) {
        times[0].previous = 0.0;
    }
    return true;
}

// Ends a substep and starts the next, or ends the frame after a fault. Arguments as those of `begin_frame`.
@compute @workgroup_size(1)
fn turn_substep() {
    if (decisions[range.guard] == 0u) {
        return;
    }
    if (finish_substep()) {
        start_substep();
    } else {
        decisions[range.guard] = 0u;
    }
}

// Ends the last substep.
@compute @workgroup_size(1)
fn end_substep() {
    if (decisions[range.guard] == 0u) {
        return;
    }
    // The state that was measured best is the state again.
    if (meters[0].strain > frame.strain_limit) {
        meters[0].strain = min(meters[0].strain, meters[0].best);
    }
    finish_substep();
}

// Folds the leaves of a measurement, notes the strain and ends the loop where it is within the limit, or where a value
// is not finite: one workgroup.
// Arguments:
// x: iterations done.
// y: guard word of a loop inside that should have ended before its bound, or 0.
// z: guard word of a loop that starts here where the strain is not within the limit; 0: the own loop goes on or ends.
// w: 1 if a collision pass follows.
@compute @workgroup_size(GROUP)
fn judge_strain(invocation: Invocation) {
    let found = folded(invocation.lane);
    let insane = found.y > 0.0;
    let strain = select(found.x, UNMEASURED, insane);
    if (invocation.lane > 0u) {
        return;
    }
    let judged = select(range.arguments.z, range.guard, range.arguments.z == 0u);
    decisions[judged] = decisions[range.guard];
    if (decisions[range.guard] == 0u) {
        return;
    }
    // A state that was measured before, and kept, will be taken instead; contact measures again.
    let kept = range.arguments.w == 1u || meters[0].best < UNMEASURED;
    totals[STRAIN] = vec4<f32>(strain, 0.0, 0.0, 0.0);
    meters[0].strain = strain;
    if (range.arguments.w == 1u) {
        meters[0].before_contact = strain;
    } else if (times[0].substep == times[0].substeps) {
        meters[0].best = min(meters[0].best, strain);
    }
    meters[0].iterations += range.arguments.x;
    // Still on, and not because its last allowed iteration was the one that succeeded.
    let unsolved = totals[RESIDUAL].y > totals[PREVIOUS].z;
    if (range.arguments.y != 0u && decisions[range.arguments.y] != 0u && unsolved) {
        meters[0].exhausted += 1u;
    }
    if (insane && !kept) {
        faults[0] = 1u;
    }
    // What is not finite does not become so.
    if (insane || strain <= accepted()) {
        decisions[judged] = 0u;
    }
}

// Largest words of the leaves of a measurement; every invocation must call it.
fn folded(lane: u32) -> vec2<f32> {
    var most = vec2<f32>();
    for (var k = range.first + lane; k < range.end; k += GROUP) {
        most = max(most, partials[k]);
    }
    return group_max(most, lane);
}

// Strain at which this substep is good enough: the limit is promised for the end of a frame.
fn accepted() -> f32 {
    return select(frame.middle_limit, frame.strain_limit, times[0].substep == times[0].substeps);
}

// Folds the leaves of a measurement, notes the load of the frame and what the next one should expect: a margin for a
// load that grows, and a memory for one that comes and goes.
@compute @workgroup_size(GROUP)
fn note_load(invocation: Invocation) {
    let found = folded(invocation.lane);
    // Nothing is learned from a frame that was taken back.
    if (invocation.lane > 0u || decisions[range.guard] == 0u || faults[0] != 0u) {
        return;
    }
    let load = min(found.x, HIGHEST_LOAD);
    meters[0].load = load * times[0].h * times[0].h;
    times[0].load = max(GROWING * load, frame.memory * times[0].load);
    // Where substeps missed, the mesh is finer in places than the load tells.
    if (MISSES * meters[0].missed > meters[0].substeps) {
        let count = f32(times[0].substeps);
        times[0].load = max(times[0].load, count * count * frame.missed_load);
    }
}
