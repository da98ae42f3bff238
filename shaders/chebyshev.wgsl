// Chebyshev acceleration of sweeps over edges: see src/solver/chebyshev.rs.

// 1 − ρ²; ω of the last sweep, 0 where the next ones are plain; |p|² at the start of the cycle; T_k(1/ρ)², 0 where a
// cycle is to begin.
struct Swing { gap: f32, weight: f32, first: f32, reach: f32 }

@group(0) @binding(20) var<uniform> weights: array<vec4<f32>, WEIGHTS>;
@group(0) @binding(0) var<storage, read_write> planned: array<f32>; // weights
@group(0) @binding(1) var<storage, read_write> swing: array<Swing>;
@group(0) @binding(2) var<storage, read_write> corrections: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> carried: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> tensions: array<f32>;
@group(0) @binding(5) var<storage, read_write> partials: array<vec2<f32>>;
@group(0) @binding(6) var<storage, read_write> carried_motions: array<vec4<f32>>;

// Starts a projection with plain sweeps; what was found about ρ is kept through the frame. Argument: bits of 1 − ρ²
// where it is given, or 0.
@compute @workgroup_size(1)
fn begin_swing() {
    if (!running()) {
        return;
    }
    if (range.arguments.x != 0u) {
        swing[0].gap = bitcast<f32>(range.arguments.x);
    } else if (clock.substep == 1u) {
        swing[0].gap = WIDEST;
    }
    swing[0].weight = 0.0;
    swing[0].reach = 0.0;
}

// The leaves of |p|², p what the edges propose.
@compute @workgroup_size(GROUP)
fn measure_corrections(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let e = element(invocation);
    var square = 0.0;
    if (e < range.end) {
        square = dot(corrections[e].xyz, corrections[e].xyz);
    }
    let total = group_sum(vec2<f32>(square, 0.0), invocation.lane);
    if (invocation.lane == 0u && e < range.end) {
        partials[group_index(invocation)] = total;
    }
}

// The weights of the next sweeps, by what the last ones reached. Arguments: how many; 1 where ρ is given.
@compute @workgroup_size(1)
fn plan_sweeps() {
    if (!running()) {
        return;
    }
    var now = swing[0];
    let square = sums[CURVATURE].x;
    var plain = now.weight == 0.0;
    if (now.reach > 0.0) {
        let slow = now.reach >= JUDGED && square * now.reach > SLOWER * now.first;
        if (slow && range.arguments.y == 0u) {
            now.gap = max(NARROWING * now.gap, NARROWEST);
        }
        // Steps that grow are no contraction: they go on without what they carry.
        plain = square > GROWN * now.first;
        if (slow || plain || now.reach >= FARTHEST_REACH) {
            now.reach = 0.0;
        }
    }
    if (!plain && now.reach == 0.0) {
        now.first = square;
        now.reach = 1.0;
    }
    let radius = 1.0 - now.gap;
    now.weight = select(now.weight, 1.0, plain);
    for (var k = 0u; k < range.arguments.x; k++) {
        if (plain) {
            planned[k] = 1.0;
        } else if (now.reach == 1.0) {
            // ω_1 = 1, and what ω_2 = 1/(1 − ρ²/2) follows from.
            planned[k] = 1.0;
            now.weight = 2.0;
            now.reach = 1.0 / radius;
        } else {
            now.weight = 1.0 / (1.0 - 0.25 * radius * now.weight);
            planned[k] = now.weight;
            now.reach = min(now.reach / (0.25 * radius * now.weight * now.weight), HIGHEST_REACH);
        }
    }
    swing[0] = now;
}

// What an edge proposes becomes ω times that and ω − 1 times its last change. Argument: number of the sweep.
@compute @workgroup_size(GROUP)
fn carry_edge(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    let weight = weights[range.arguments.x / 4u][range.arguments.x % 4u];
    let proposed = corrections[e];
    var change = proposed;
    if (weight > 1.0) {
        change = weight * proposed + (weight - 1.0) * carried[e];
        tensions[e] += (change.w - proposed.w) * clock.force;
        corrections[e] = change;
    }
    carried[e] = change;
}

// The same for the motion of a vertex; every iteration is followed by a check.
@compute @workgroup_size(GROUP)
fn carry_vertex(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let weight = weights[0].x;
    var change = corrections[v];
    if (weight > 1.0) {
        change = weight * change + (weight - 1.0) * carried_motions[v];
        corrections[v] = change;
    }
    carried_motions[v] = change;
}
