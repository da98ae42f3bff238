// One-thread kernels that open and close loops, frames and substeps. They alone write guards,
// and they decide by comparing stored values, so that CPU and GPU decide alike.

@group(0) @binding(0) var<storage, read_write> decisions: array<u32>; // guards
@group(0) @binding(1) var<storage, read_write> times: array<Clock>;   // clock
@group(0) @binding(2) var<storage, read_write> meters: array<Meters>;
@group(0) @binding(3) var<storage, read_write> faults: array<u32>;

// Starts a frame: all meters at zero, the outermost guard on.
@compute @workgroup_size(1)
fn begin_frame() {
    decisions[0] = 1u;
    times[0] = Clock(frame.dt / f32(frame.substeps), 0u, frame.substeps, 0u);
    meters[0] = Meters(0.0, 0.0, 0u, 0u, 0u, 0u, 0u, 0u);
    faults[0] = 0u;
}

// Starts a loop: it runs if the loop around it does. Arguments: own word, word of the loop around.
@compute @workgroup_size(1)
fn open_loop() {
    decisions[range.arguments.x] = decisions[range.arguments.y];
}

// Starts a substep, or ends the frame after the last one or after a fault.
@compute @workgroup_size(1)
fn begin_substep() {
    if (decisions[range.guard] == 0u) {
        return;
    }
    let next = times[0].substep + 1u;
    if (next > times[0].substeps || faults[0] != 0u) {
        decisions[range.guard] = 0u;
        return;
    }
    times[0].substep = next;
}

// Notes the strain after an iteration and ends the loop where it is within the limit.
// Arguments: iterations done, guard word of a loop inside that should have ended before its bound (0: none).
@compute @workgroup_size(1)
fn decide_strain() {
    if (decisions[range.guard] == 0u) {
        return;
    }
    meters[0].strain = sums[STRAIN].x;
    meters[0].iterations += range.arguments.x;
    // Still on, and not because its last allowed iteration was the one that succeeded.
    let unsolved = sums[RESIDUAL].y > sums[PREVIOUS].z;
    if (range.arguments.y != 0u && decisions[range.arguments.y] != 0u && unsolved) {
        meters[0].exhausted += 1u;
    }
    if (sums[STRAIN].x <= frame.strain_limit) {
        decisions[range.guard] = 0u;
    }
}

// Adds a finished substep to the frame's account.
@compute @workgroup_size(1)
fn end_substep() {
    if (decisions[range.guard] == 0u || faults[0] != 0u) {
        return;
    }
    meters[0].substeps += 1u;
    meters[0].worst_strain = max(meters[0].worst_strain, meters[0].strain);
    if (meters[0].strain > frame.strain_limit) {
        meters[0].missed += 1u;
    }
}
