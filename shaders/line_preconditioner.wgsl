// What yarns do for a linear solve that has been set up: those between two pins keep their mean strain, and the blocks
// of A that belong to single yarns, inverted, are its preconditioner.

struct FastProjectionLive { step_clamp: f32, slack: f32, warm_start: f32, tolerance: f32 }

@group(0) @binding(20) var<uniform> fast_projection: FastProjectionLive;
@group(0) @binding(7) var<storage, read> directions: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> residuals: array<f32>;
@group(0) @binding(9) var<storage, read_write> preconditioned: array<f32>;

// Of a linear solve that has been set up: directions hold q and 1/A_ee, 0 for an empty row.
fn linearized_row(line: Line, k: u32) -> Row {
    let e = line.yarn.first + k;
    let direction = directions[e];
    let diagonal = select(1.0, 1.0 / direction.w, direction.w > 0.0);
    let tail = edges[e].tail;
    let motion = apply_inverse_mass(tail, vertices[tail].inverse_mass, direction.xyz);
    return Row(direction.xyz, diagonal, residuals[e], motion);
}

// Preconditions a linear solve: z = P r, P the inverse of the blocks of A that belong to single yarns; z = −P r with
// argument 1 in the third place.
@compute @workgroup_size(GROUP)
fn solve_yarn(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let line = line_of(invocation);
    for (var k = line.first; k < line.end; k++) {
        set_row(line, k, linearized_row(line, k));
    }
    solve_line(line);
    for (var k = line.first; k < line.end; k++) {
        let solution = line_rows[line.yarn.first + k].state.w;
        preconditioned[line.yarn.first + k] = select(solution, -solution, range.arguments.z != 0u);
    }
}

// What find_slack does for the projection: C of every edge of a yarn between two pins, less the mean of C/l as far as
// it may be kept.
@compute @workgroup_size(GROUP)
fn keep_slack(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let line = line_of(invocation);
    let held = between_pins(line.yarn);
    if (held) {
        var share = vec2<f32>();
        for (var k = line.first; k < line.end; k++) {
            let e = line.yarn.first + k;
            if (movable(edges[e])) {
                share += vec2<f32>(residuals[e], edges[e].rest);
            }
        }
        shares[line.base + line.lane] = share;
    }
    workgroupBarrier();
    if (held) {
        let slack = kept_strain(line, fast_projection.slack);
        for (var k = line.first; k < line.end; k++) {
            let e = line.yarn.first + k;
            // An empty row has no constraint.
            if (directions[e].w > 0.0) {
                residuals[e] -= slack * edges[e].rest;
            }
        }
    }
}
