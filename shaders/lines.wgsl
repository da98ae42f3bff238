// The line solve: along one yarn A of eq. (7) is tridiagonal. `lanes` invocations share a yarn, each eliminates a run of
// consecutive edges; the last edge of each run is a separator, and the small tridiagonal system of the separators is
// solved by one of them in workgroup memory. Argument: lanes per yarn (a power of two up to GROUP). An element is one
// lane of one yarn.

struct YarnSpan { first: u32, count: u32, closed: u32, padding: u32 }

@group(0) @binding(0) var<storage, read> yarns: array<YarnSpan>;
@group(0) @binding(1) var<storage, read> edges: array<Link>;
@group(0) @binding(2) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(3) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> reactions: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> directions: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> eliminations: array<vec4<f32>>; // f, y, g, solution
@group(0) @binding(7) var<storage, read> residuals: array<f32>;
@group(0) @binding(8) var<storage, read_write> preconditioned: array<f32>;

// Of each separator: x diagonal, y coupling to the separator before, z right-hand side, w solution.
var<workgroup> separators: array<vec4<f32>, GROUP>;
// What a run adds to the separator before it: x diagonal, y right-hand side. Then scratch of the cyclic solve.
var<workgroup> gifts: array<vec2<f32>, GROUP>;

// A row of the matrix and its right-hand side; direction 0 and diagonal 1 where nothing can be moved.
struct Row { direction: vec3<f32>, diagonal: f32, residual: f32, tail_inverse_mass: f32 }

// Of the projection itself: C = |d| − l, ∂C/∂x_head = n = d/|d|.
fn geometric_row(e: u32) -> Row {
    let edge = edges[e];
    let a = vertices[edge.tail];
    let b = vertices[edge.head];
    let w = a.inverse_mass + b.inverse_mass;
    let d = (b.position - a.position) + (displacements[edge.head].xyz - displacements[edge.tail].xyz);
    let extent = length(d);
    if (w == 0.0 || extent < 1e-6 * edge.rest || in_band(extent, edge.rest)) {
        return Row(vec3<f32>(), 1.0, 0.0, a.inverse_mass);
    }
    return Row(d / extent, w, extent - banded_length(extent, edge.rest), a.inverse_mass);
}

// Of a linear solve that has been set up: directions hold q and 1/A_ee, 0 for an empty row.
fn linearized_row(e: u32) -> Row {
    let direction = directions[e];
    let diagonal = select(1.0, 1.0 / direction.w, direction.w > 0.0);
    return Row(direction.xyz, diagonal, residuals[e], vertices[edges[e].tail].inverse_mass);
}

fn row(e: u32, linearized: bool) -> Row {
    if (linearized) {
        return linearized_row(e);
    }
    return geometric_row(e);
}

// Pivots that rounding has eaten are held at a small part of the diagonal.
fn inverse_pivot(pivot: f32, diagonal: f32) -> f32 {
    return 1.0 / max(pivot, 1e-5 * diagonal);
}

// Solves the separators' system of one yarn, tridiagonal or cyclic; one invocation per yarn.
fn solve_separators(base: u32, count: u32, closed: bool) {
    for (var j = 0u; j < count; j++) {
        let gift = gifts[base + (j + 1u) % count];
        separators[base + j].x += gift.x;
        separators[base + j].z += gift.y;
    }
    if (count == 1u) {
        // A closed yarn in one run: its separator is its own neighbor on both sides.
        let diagonal = separators[base].x + 2.0 * separators[base].y;
        separators[base].w = separators[base].z * inverse_pivot(diagonal, separators[base].x);
        return;
    }
    // Cyclic systems by Sherman–Morrison: the corner becomes a rank-one term with g = −(first diagonal).
    let last = base + count - 1u;
    let corner = separators[base].y;
    let g = -separators[base].x;
    if (closed) {
        separators[base].x -= g;
        separators[last].x -= corner * corner / g;
    }
    // Forward: x becomes 1/pivot, z and the gift become the eliminated right-hand sides.
    var u = select(0.0, g, closed);
    separators[base].x = inverse_pivot(separators[base].x, separators[base].x);
    gifts[base].x = u;
    for (var j = base + 1u; j <= last; j++) {
        let f = separators[j].y * separators[j - 1u].x;
        u = select(0.0, corner, closed && j == last) - f * gifts[j - 1u].x;
        separators[j].z -= f * separators[j - 1u].z;
        separators[j].x = inverse_pivot(separators[j].x - f * separators[j].y, separators[j].x);
        gifts[j].x = u;
    }
    // Backward.
    var solution = separators[last].z * separators[last].x;
    var second = gifts[last].x * separators[last].x;
    separators[last].w = solution;
    gifts[last].x = second;
    for (var k = 1u; k < count; k++) {
        let j = last - k;
        solution = (separators[j].z - separators[j + 1u].y * solution) * separators[j].x;
        second = (gifts[j].x - separators[j + 1u].y * second) * separators[j].x;
        separators[j].w = solution;
        gifts[j].x = second;
    }
    if (closed) {
        let ratio = corner / g;
        let factor = (separators[base].w + ratio * separators[last].w) / (1.0 + gifts[base].x + ratio * gifts[last].x);
        for (var j = base; j <= last; j++) {
            separators[j].w -= factor * gifts[j].x;
        }
    }
}

// What a lane knows of its run after the solve: its edges, the solution and direction of the edge before it.
struct Part { first: u32, end: u32, last: bool, left: f32, before: vec3<f32> }

// Solves the yarns of this workgroup; the solutions are in `eliminations`. Every invocation must call it.
fn solve_line(invocation: Invocation, linearized: bool) -> Part {
    let lanes_per_yarn = range.arguments.x;
    let slot = element(invocation);
    let lane = invocation.lane % lanes_per_yarn;
    let base = invocation.lane - lane;
    var yarn = YarnSpan(0u, 0u, 0u, 0u);
    if (slot < range.end) {
        yarn = yarns[slot / lanes_per_yarn];
    }
    let run = max((yarn.count + lanes_per_yarn - 1u) / lanes_per_yarn, 1u);
    let runs = (yarn.count + run - 1u) / run;
    let first = yarn.first + min(lane * run, yarn.count);
    let end = yarn.first + min((lane + 1u) * run, yarn.count);
    let used = first < end;
    let closed = yarn.closed != 0u;

    // The edge before the run, for the coupling of its first edge.
    var before = vec3<f32>();
    if (used && (first > yarn.first || closed)) {
        before = row(select(first, yarn.first + yarn.count, first == yarn.first) - 1u, linearized).direction;
    }
    // Forward through the run; the edge before it enters as a right-hand side g. Stored: f = b/pivot of the edge before,
    // y and g divided by the edge's own pivot.
    var previous = before;
    var first_coupling = 0.0;
    var inverse = 0.0;
    var y = 0.0;
    var g = 0.0;
    for (var e = first; e < end; e++) {
        let here = row(e, linearized);
        let coupling = -here.tail_inverse_mass * dot(previous, here.direction);
        previous = here.direction;
        if (!linearized) {
            directions[e] = vec4<f32>(here.direction, 0.0);
        }
        let f = coupling * inverse;
        if (e + 1u == end) {
            separators[invocation.lane] = vec4<f32>(
                here.diagonal - f * coupling,
                select(coupling, f * g, e > first),
                here.residual - f * y,
                0.0,
            );
            eliminations[e] = vec4<f32>(f, 0.0, 0.0, 0.0);
        } else {
            g = select(-f * g, -coupling, e == first);
            y = here.residual - f * y;
            inverse = inverse_pivot(here.diagonal - f * coupling, here.diagonal);
            eliminations[e] = vec4<f32>(f, y * inverse, g * inverse, 0.0);
        }
        if (e == first) {
            first_coupling = coupling;
        }
    }
    // Backward without the separators' values: what the run means for the separator before it.
    var sum = 0.0;
    var spike = 0.0;
    for (var k = 2u; k <= end - first; k++) {
        let known = eliminations[end - k];
        let f = eliminations[end - k + 1u].x;
        sum = known.y - f * sum;
        spike = known.z - f * spike;
    }
    if (used) {
        gifts[invocation.lane] = vec2<f32>(first_coupling * spike, -first_coupling * sum);
    }
    workgroupBarrier();
    storageBarrier();
    if (lane == 0u && runs > 0u) {
        solve_separators(base, runs, closed);
    }
    workgroupBarrier();

    // Backward with them.
    var left = 0.0;
    if (used && (lane > 0u || closed)) {
        left = separators[base + (lane + runs - 1u) % runs].w;
    }
    var solution = separators[invocation.lane].w;
    for (var k = 1u; k <= end - first; k++) {
        let e = end - k;
        if (k > 1u) {
            let known = eliminations[e];
            solution = known.y + known.z * left - eliminations[e + 1u].x * solution;
        }
        eliminations[e].w = solution;
    }
    return Part(first, end, end == yarn.first + yarn.count && !closed, left, before);
}

fn pull_vertex(v: u32, inverse_mass: f32, pull: vec3<f32>, most: f32) {
    if (inverse_mass > 0.0) {
        let way = apply_inverse_mass(inverse_mass, pull);
        let extent = length(way);
        displacements[v] += vec4<f32>(select(way, way * (most / extent), extent > most), 0.0);
    } else {
        reactions[v] += vec4<f32>(pull / (clock.h * frame.dt), 0.0);
    }
}

// Projects a yarn: each lane moves the tails of its edges, the last one also the end of an open yarn.
@compute @workgroup_size(GROUP)
fn project_yarn(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let part = solve_line(invocation, false);
    var behind = part.left * part.before;
    for (var e = part.first; e < part.end; e++) {
        let edge = edges[e];
        let ahead = eliminations[e].w * directions[e].xyz;
        pull_vertex(edge.tail, vertices[edge.tail].inverse_mass, ahead - behind, frame.live.x * edge.rest);
        behind = ahead;
        if (e + 1u == part.end && part.last) {
            pull_vertex(edge.head, vertices[edge.head].inverse_mass, -ahead, frame.live.x * edge.rest);
        }
    }
}

// Preconditions a linear solve: z = P r, P the inverse of the blocks of A that belong to single yarns.
@compute @workgroup_size(GROUP)
fn solve_yarn(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let part = solve_line(invocation, true);
    for (var e = part.first; e < part.end; e++) {
        preconditioned[e] = eliminations[e].w;
    }
}
