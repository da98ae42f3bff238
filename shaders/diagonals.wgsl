// Springs along diagonals: all springs of a line at once, implicitly, by one line solve. A diagonal is a yarn with
// compliance: α is added to its pivot.

struct Shear { damping: f32, padding: f32 }

@group(0) @binding(20) var<uniform> shear: Shear;
@group(0) @binding(21) var<storage, read_write> forces: array<vec4<f32>>;
@group(0) @binding(22) var<storage, read_write> elastic_motions: array<vec4<f32>>;

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

// A row of (J W Jᵀ + α/s) μ = (C + (β/τ) n·(u_head − u_tail))/s, α = 1/(k τ²), s = 1 + β/τ. One between two pins moves
// nothing, and they bear it.
fn spring_row(link: Link) -> Row {
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
    let residual = share * ((extent - link.rest) + damping * parting);
    return Row(n, w + share / firmness, residual, apply_inverse_mass(link.tail, tail, n));
}

// Solves the springs of the lines of a family.
@compute @workgroup_size(GROUP)
fn project_diagonal(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let line = line_of(invocation);
    for (var k = line.first; k < line.end; k++) {
        set_row(line, k, spring_row(edges[line.yarn.first + k]));
    }
    solve_line(line);
    var behind = pull_of(line, i32(line.first) - 1);
    for (var k = line.first; k < line.end; k++) {
        let link = edges[line.yarn.first + k];
        let ahead = pull_of(line, i32(k));
        pull_vertex(link.tail, ahead - behind, FAR);
        behind = ahead;
        if (k + 1u == line.yarn.count) {
            pull_vertex(link.head, -ahead, FAR);
        }
    }
}
