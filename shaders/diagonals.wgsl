// Springs along diagonals: all springs of a line at once, implicitly, by one line solve. A diagonal is a yarn with
// compliance: α is added to its pivot.

struct Shear { damping: f32, padding: f32 }

@group(0) @binding(20) var<uniform> shear: Shear;
@group(0) @binding(21) var<storage, read_write> forces: array<vec4<f32>>;
@group(0) @binding(23) var<storage, read_write> elastic_motions: array<vec4<f32>>;
@group(0) @binding(24) var<storage, read_write> spring_multipliers: array<f32>;

// Forces start with none: springs are no part of them. Nor does a linear solve that takes over start from an old
// motion.
@compute @workgroup_size(GROUP)
fn clear_force(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    forces[v] = vec4<f32>();
    elastic_motions[v] = vec4<f32>();
}

// A row of (J W Jᵀ + α/s) μ = (C + (β/τ) n·(u_head − u_tail) − α λ)/s, α = 1/(k τ²), s = 1 + β/τ, λ the multiplier that
// the spring has from solves before. One between two pins moves nothing, and they bear it.
fn spring_row(link: Link, multiplier: f32) -> Row {
    let way = between(link.tail, link.head);
    let extent = length(way);
    let firmness = link.stiffness * (clock.span * clock.span);
    if (extent < COLLAPSED * link.rest || firmness < SOFTEST) {
        return empty_row();
    }
    let n = way * (1.0 / extent);
    let tail = vertices[link.tail].inverse_mass;
    let head = vertices[link.head].inverse_mass;
    let w = inverse_mass_along(link.tail, tail, n) + inverse_mass_along(link.head, head, n);
    let damping = shear.damping / clock.span;
    let share = 1.0 / (1.0 + damping);
    let parting = dot(n, displacements[link.head].xyz - displacements[link.tail].xyz);
    let residual = share * (((extent - link.rest) + damping * parting) - multiplier / firmness);
    return Row(n, w + share / firmness, residual, apply_inverse_mass(link.tail, tail, n));
}

// Solves the springs of the lines of a family.
@compute @workgroup_size(GROUP)
fn project_diagonal(invocation: Invocation) {
    if (!running()) {
        return;
    }
    project_springs(line_of(invocation), false);
}

// Solves the pieces of passes around pins again, in their order. Arguments: number of the first pass, one past the
// last. The bounds of the loops are the same for all invocations, so that they meet at the barriers.
@compute @workgroup_size(GROUP)
fn project_diagonal_pieces(invocation: Invocation) {
    if (!running()) {
        return;
    }
    for (var number = range.arguments.x; number < range.arguments.y; number++) {
        let pass_of = window_passes[number];
        let turns = turns_of(pass_of);
        for (var turn = 0u; turn < turns; turn++) {
            project_springs(piece_of(pass_of, turn, invocation.lane), true);
            storageBarrier();
            workgroupBarrier();
        }
    }
}

// Solves the springs of a line, for the first time in a substep or again. Every invocation must call it.
fn project_springs(line: Line, again: bool) {
    for (var k = line.first; k < line.end; k++) {
        let e = line.yarn.first + k;
        let multiplier = select(0.0, spring_multipliers[e], again);
        set_row(line, k, spring_row(edges[e], multiplier));
        spring_multipliers[e] = multiplier;
    }
    solve_line(line);
    var behind = pull_of(line, i32(line.first) - 1);
    for (var k = line.first; k < line.end; k++) {
        let e = line.yarn.first + k;
        let link = edges[e];
        let ahead = pull_of(line, i32(k));
        pull_vertex(link.tail, ahead - behind, FAR);
        spring_multipliers[e] += line_rows[e].state.w;
        behind = ahead;
        if (k + 1u == line.yarn.count) {
            pull_vertex(link.head, -ahead, FAR);
        }
    }
}
