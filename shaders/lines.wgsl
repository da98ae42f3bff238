// The line solve: along one yarn A of eq. (7) is tridiagonal. `lanes` invocations share a yarn, each eliminates a run of
// consecutive rows; the last row of each run is a separator, and the small tridiagonal system of the separators is
// solved by one of them in workgroup memory. Arguments: lanes per yarn (a power of two up to GROUP), levels of chords.
// An element is one lane of one yarn. frame.live: x = largest step / l, y = part of the strain
// limit that a yarn between two pins may keep.

struct YarnSpan { first: u32, count: u32, closed: u32, padding: u32 }

// A row in memory: direction n and diagonal, and W_tail n and the residual, in whose place the solve puts f, y, g, solution.
struct LineRow { direction: vec3<f32>, diagonal: f32, state: vec4<f32> }

@group(0) @binding(0) var<storage, read> yarns: array<YarnSpan>;
@group(0) @binding(1) var<storage, read> edges: array<Link>;
@group(0) @binding(2) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(3) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> reactions: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> tensions: array<f32>;
@group(0) @binding(6) var<storage, read_write> line_rows: array<LineRow>; // scratch
@group(0) @binding(7) var<storage, read> directions: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> residuals: array<f32>;
@group(0) @binding(9) var<storage, read_write> preconditioned: array<f32>;

// Of each separator: x diagonal, y coupling to the separator before, z right-hand side, w solution.
var<workgroup> separators: array<vec4<f32>, GROUP>;
// What a run adds to the separator before it: x diagonal, y right-hand side. Then scratch of the cyclic solve.
var<workgroup> gifts: array<vec2<f32>, GROUP>;
// Of each run of a yarn between two pins: x length beyond what is wanted, y rest length.
var<workgroup> shares: array<vec2<f32>, GROUP>;

// A yarn as its lane sees it: the rows of the system, the run of this lane.
struct Line {
    yarn: YarnSpan,
    rows: u32,
    lane: u32,
    base: u32, // lane 0 of the yarn in the workgroup
    runs: u32,
    first: u32, // rows of this lane, counted from the start of the yarn
    end: u32,
    slack: f32, // strain beyond the band that every edge may keep
}

fn line_of(invocation: Invocation) -> Line {
    let lanes_per_yarn = range.arguments.x;
    let slot = element(invocation);
    var line: Line;
    line.lane = invocation.lane % lanes_per_yarn;
    line.base = invocation.lane - line.lane;
    if (slot < range.end) {
        line.yarn = yarns[slot / lanes_per_yarn];
    }
    share_rows(&line, line.yarn.count);
    return line;
}

// Divides the rows of a system among the lanes.
fn share_rows(line: ptr<function, Line>, rows: u32) {
    let run = max((rows + range.arguments.x - 1u) / range.arguments.x, 1u);
    (*line).rows = rows;
    (*line).runs = (rows + run - 1u) / run;
    (*line).first = min((*line).lane * run, rows);
    (*line).end = min(((*line).lane + 1u) * run, rows);
}

// Vertex at place k along a yarn, counted from 0 to the number of its edges.
fn vertex_at(yarn: YarnSpan, k: u32) -> u32 {
    if (k < yarn.count) {
        return edges[yarn.first + k].tail;
    }
    if (yarn.closed != 0u) {
        return edges[yarn.first].tail;
    }
    return edges[yarn.first + yarn.count - 1u].head;
}

// Whether both ends of a yarn are pinned. Straight, it has one edge more than it can move: no motion along it changes its
// length.
fn between_pins(yarn: YarnSpan) -> bool {
    if (yarn.count == 0u || yarn.closed != 0u) {
        return false;
    }
    return vertices[vertex_at(yarn, 0u)].inverse_mass == 0.0 && vertices[vertex_at(yarn, yarn.count)].inverse_mass == 0.0;
}

// Whether an end of an edge can be moved. Between two pins of a patch there is nothing to move, and nothing to spread.
fn movable(edge: Link) -> bool {
    return vertices[edge.tail].inverse_mass + vertices[edge.head].inverse_mass > 0.0;
}

// Mean strain of a yarn between two pins, no more than it may keep, from the shares of its runs.
fn kept_strain(line: Line) -> f32 {
    var sum = vec2<f32>();
    for (var run = 0u; run < line.runs; run++) {
        sum += shares[line.base + run];
    }
    if (sum.y == 0.0) {
        return 0.0;
    }
    let most = frame.live.y * frame.strain_limit;
    return clamp(sum.x / sum.y, -most, most);
}

// Strain that a yarn between two pins keeps: its mean, as far as it may. Every invocation must call it.
fn find_slack(line: ptr<function, Line>) {
    let yarn = (*line).yarn;
    let held = between_pins(yarn);
    if (held) {
        var share = vec2<f32>();
        for (var k = (*line).first; k < (*line).end; k++) {
            let edge = edges[yarn.first + k];
            if (movable(edge)) {
                let extent = length(edge_vector(edge));
                share += vec2<f32>(extent - banded_length(extent, edge.rest), edge.rest);
            }
        }
        shares[(*line).base + (*line).lane] = share;
    }
    workgroupBarrier();
    if (held) {
        (*line).slack = kept_strain(*line);
    }
}

// A row of the matrix and its right-hand side: J = direction, and W Jᵀ at the tail.
struct Row { direction: vec3<f32>, diagonal: f32, residual: f32, tail_motion: vec3<f32> }

// Where nothing can be moved.
fn empty_row() -> Row {
    return Row(vec3<f32>(), 1.0, 0.0, vec3<f32>());
}

fn edge_vector(edge: Link) -> vec3<f32> {
    return (vertices[edge.head].position - vertices[edge.tail].position)
        + (displacements[edge.head].xyz - displacements[edge.tail].xyz);
}

// Of the projection itself: C = |d| − l, ∂C/∂x_head = n = d/|d|.
fn edge_row(line: Line, k: u32) -> Row {
    let edge = edges[line.yarn.first + k];
    let tail = vertices[edge.tail].inverse_mass;
    let head = vertices[edge.head].inverse_mass;
    let d = edge_vector(edge);
    let extent = length(d);
    if (extent < 1e-6 * edge.rest || in_band(extent, edge.rest)) {
        return empty_row();
    }
    let n = d / extent;
    let w = inverse_mass_along(edge.tail, tail, n) + inverse_mass_along(edge.head, head, n);
    if (w <= 0.01 * (tail + head)) {
        return empty_row();
    }
    let wanted = banded_length(extent, edge.rest) + line.slack * edge.rest;
    return Row(n, w, extent - wanted, apply_inverse_mass(edge.tail, tail, n));
}

// Of a linear solve that has been set up: directions hold q and 1/A_ee, 0 for an empty row.
fn linearized_row(line: Line, k: u32) -> Row {
    let e = line.yarn.first + k;
    let direction = directions[e];
    let diagonal = select(1.0, 1.0 / direction.w, direction.w > 0.0);
    let tail = edges[e].tail;
    let motion = apply_inverse_mass(tail, vertices[tail].inverse_mass, direction.xyz);
    return Row(direction.xyz, diagonal, residuals[e], motion);
}

// Place of a chord's start along the yarn: i count/rows, rounded, without large products.
fn node(line: Line, i: u32) -> u32 {
    let count = line.yarn.count;
    return i * (count / line.rows) + (i * (count % line.rows) + line.rows / 2u) / line.rows;
}

// Longest that chord i may be: the rest length of the yarn along it.
fn chord_bound(line: Line, i: u32) -> f32 {
    var rest = 0.0;
    for (var k = node(line, i); k < node(line, i + 1u); k++) {
        rest += edges[line.yarn.first + k].rest;
    }
    return (frame.stretch_max + max(line.slack, 0.0)) * rest;
}

// Mass of a free vertex; a pin inside a chord is not moved and has none.
fn mass_at(yarn: YarnSpan, k: u32) -> f32 {
    let inverse_mass = vertices[vertex_at(yarn, k)].inverse_mass;
    return select(0.0, 1.0 / inverse_mass, inverse_mass > 0.0);
}

// Inverse of the mass that moves with the start of chord i: the vertices around it by their share of the interpolation,
// so that momentum is kept.
fn node_inverse_mass(line: Line, i: u32) -> f32 {
    let yarn = line.yarn;
    let here = node(line, i);
    if (vertices[vertex_at(yarn, here)].inverse_mass == 0.0) {
        return 0.0;
    }
    var mass = mass_at(yarn, here);
    if (i < line.rows) {
        let end = node(line, i + 1u);
        for (var k = here + 1u; k < end; k++) {
            mass += mass_at(yarn, k) * (f32(end - k) / f32(end - here));
        }
    }
    let wraps = yarn.closed != 0u && i == 0u;
    if (i > 0u || wraps) {
        let start = node(line, select(i, line.rows, wraps) - 1u);
        let end = select(here, yarn.count, wraps);
        for (var k = start + 1u; k < end; k++) {
            mass += mass_at(yarn, k) * (f32(k - start) / f32(end - start));
        }
    }
    return 1.0 / mass;
}

// Node after chord i.
fn following(line: Line, i: u32) -> u32 {
    return select(i + 1u, 0u, line.yarn.closed != 0u && i + 1u == line.rows);
}

// Unilateral: a chord within its bound, or over it by less than rounding may make, carries nothing.
fn chord_row(line: Line, i: u32) -> Row {
    let a = vertex_at(line.yarn, node(line, i));
    let b = vertex_at(line.yarn, node(line, i + 1u));
    let tail_inverse_mass = node_inverse_mass(line, i);
    let w = tail_inverse_mass + node_inverse_mass(line, following(line, i));
    let d = (vertices[b].position - vertices[a].position) + (displacements[b].xyz - displacements[a].xyz);
    let extent = length(d);
    let bound = chord_bound(line, i);
    if (w == 0.0 || extent <= 1.0001 * bound) {
        return empty_row();
    }
    return Row(d / extent, w, extent - bound, tail_inverse_mass * (d / extent));
}

// Hands a row to the solve.
fn set_row(line: Line, k: u32, row: Row) {
    line_rows[line.yarn.first + k] = LineRow(row.direction, row.diagonal, vec4<f32>(row.tail_motion, row.residual));
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

// Solves the yarns of this workgroup, whose lanes have set their rows; solutions are in `state.w` then. Every invocation must
// call it.
fn solve_line(line: Line) {
    let start = line.yarn.first;
    let used = line.first < line.end;
    let closed = line.yarn.closed != 0u;
    storageBarrier();
    workgroupBarrier();
    // The row before the run, for the coupling of its first row.
    var previous = vec3<f32>();
    if (used && (line.first > 0u || closed)) {
        previous = line_rows[start + select(line.first, line.rows, line.first == 0u) - 1u].direction;
    }
    // Forward through the run; the row before it enters as a right-hand side g. Stored: f = b/pivot of the row before,
    // y and g divided by the row's own pivot.
    var first_coupling = 0.0;
    var inverse = 0.0;
    var y = 0.0;
    var g = 0.0;
    for (var k = line.first; k < line.end; k++) {
        let row = line_rows[start + k];
        let diagonal = row.diagonal;
        let residual = row.state.w;
        let coupling = -dot(previous, row.state.xyz);
        previous = row.direction;
        let f = coupling * inverse;
        if (k + 1u == line.end) {
            separators[line.base + line.lane] = vec4<f32>(
                diagonal - f * coupling,
                select(coupling, f * g, k > line.first),
                residual - f * y,
                0.0,
            );
            line_rows[start + k].state = vec4<f32>(f, 0.0, 0.0, 0.0);
        } else {
            g = select(-f * g, -coupling, k == line.first);
            y = residual - f * y;
            inverse = inverse_pivot(diagonal - f * coupling, diagonal);
            line_rows[start + k].state = vec4<f32>(f, y * inverse, g * inverse, 0.0);
        }
        if (k == line.first) {
            first_coupling = coupling;
        }
    }
    // Backward without the separators' values: what the run means for the separator before it.
    var sum = 0.0;
    var spike = 0.0;
    for (var k = 2u; k <= line.end - line.first; k++) {
        let known = line_rows[start + line.end - k].state;
        let f = line_rows[start + line.end - k + 1u].state.x;
        sum = known.y - f * sum;
        spike = known.z - f * spike;
    }
    if (used) {
        gifts[line.base + line.lane] = vec2<f32>(first_coupling * spike, -first_coupling * sum);
    }
    workgroupBarrier();
    if (line.lane == 0u && line.runs > 0u) {
        solve_separators(line.base, line.runs, closed);
    }
    workgroupBarrier();

    // Backward with them.
    var left = 0.0;
    if (used && (line.lane > 0u || closed)) {
        left = separators[line.base + (line.lane + line.runs - 1u) % line.runs].w;
    }
    var solution = separators[line.base + line.lane].w;
    for (var back = 1u; back <= line.end - line.first; back++) {
        let k = start + line.end - back;
        if (back > 1u) {
            let known = line_rows[k].state;
            solution = known.y + known.z * left - line_rows[k + 1u].state.x * solution;
        }
        line_rows[k].state.w = solution;
    }
    // Lanes read each other's solutions next.
    storageBarrier();
    workgroupBarrier();
}

// Pull of a row on its start [kg·m]; none before the first and after the last row of an open yarn.
fn pull_of(line: Line, k: i32) -> vec3<f32> {
    var place = k;
    if (line.yarn.closed != 0u) {
        place = (k + i32(line.rows)) % i32(line.rows);
    }
    if (place < 0 || place >= i32(line.rows)) {
        return vec3<f32>();
    }
    let e = line.yarn.first + u32(place);
    return line_rows[e].state.w * line_rows[e].direction;
}

fn clamped(way: vec3<f32>, most: f32) -> vec3<f32> {
    let extent = length(way);
    return select(way, way * (most / extent), extent > most);
}

fn pull_vertex(v: u32, pull: vec3<f32>, most: f32) {
    let inverse_mass = vertices[v].inverse_mass;
    if (inverse_mass > 0.0) {
        displacements[v] += vec4<f32>(clamped(apply_inverse_mass(v, inverse_mass, pull), most), 0.0);
    }
    if (bears(inverse_mass)) {
        reactions[v] += vec4<f32>(clock.force * borne(v, inverse_mass, pull), 0.0);
    }
}

// Projects a yarn: each lane moves the tails of its edges, the last one also the end of an open yarn.
@compute @workgroup_size(GROUP)
fn project_yarn(invocation: Invocation) {
    if (!running()) {
        return;
    }
    var line = line_of(invocation);
    find_slack(&line);
    for (var k = line.first; k < line.end; k++) {
        set_row(line, k, edge_row(line, k));
    }
    solve_line(line);
    var behind = pull_of(line, i32(line.first) - 1);
    for (var k = line.first; k < line.end; k++) {
        let e = line.yarn.first + k;
        let edge = edges[e];
        let ahead = pull_of(line, i32(k));
        pull_vertex(edge.tail, ahead - behind, frame.live.x * edge.rest);
        tensions[e] += clock.force * line_rows[e].state.w;
        behind = ahead;
        if (k + 1u == line.yarn.count && line.yarn.closed == 0u) {
            pull_vertex(edge.head, -ahead, frame.live.x * edge.rest);
        }
    }
}

// Motion of the start of chord i.
fn node_motion(line: Line, i: u32, bound: f32) -> vec3<f32> {
    let pull = pull_of(line, i32(i)) - pull_of(line, i32(i) - 1);
    return clamped(node_inverse_mass(line, i) * pull, frame.live.x * bound);
}

// Taut chords: from coarse to fine, no part of a yarn may span more than its rest length. Two projections per level, each
// interpolated to the vertices along the chords.
@compute @workgroup_size(GROUP)
fn project_chords(invocation: Invocation) {
    if (!running()) {
        return;
    }
    var line = line_of(invocation);
    let count = line.yarn.count;
    find_slack(&line);
    for (var level = range.arguments.y; level > 0u; level--) {
        let chords = count >> level;
        share_rows(&line, select(0u, chords, chords >= COARSEST));
        for (var time = 0u; time < 2u; time++) {
            for (var i = line.first; i < line.end; i++) {
                set_row(line, i, chord_row(line, i));
            }
            solve_line(line);
            for (var i = line.first; i < line.end; i++) {
                let bound = chord_bound(line, i);
                let start = node(line, i);
                let end = node(line, i + 1u);
                let next = following(line, i);
                let here = node_motion(line, i, bound);
                var there = vec3<f32>();
                if (next < line.rows) {
                    there = node_motion(line, next, chord_bound(line, next));
                } else {
                    there = node_motion(line, next, bound);
                }
                let solution = line_rows[line.yarn.first + i].state.w;
                for (var k = start; k < end; k++) {
                    let v = vertex_at(line.yarn, k);
                    let part = f32(k - start) / f32(end - start);
                    if (vertices[v].inverse_mass > 0.0) {
                        displacements[v] += vec4<f32>(allowed(v, (1.0 - part) * here + part * there), 0.0);
                    } else if (k == start) {
                        reactions[v] += vec4<f32>(clock.force * (pull_of(line, i32(i)) - pull_of(line, i32(i) - 1)), 0.0);
                    }
                    tensions[line.yarn.first + k] += clock.force * solution;
                }
                if (next == line.rows) {
                    let v = vertex_at(line.yarn, end);
                    if (vertices[v].inverse_mass > 0.0) {
                        displacements[v] += vec4<f32>(allowed(v, there), 0.0);
                    } else {
                        reactions[v] -= vec4<f32>(clock.force * pull_of(line, i32(i)), 0.0);
                    }
                }
            }
            storageBarrier();
            workgroupBarrier();
        }
    }
}

// Fewest chords of a yarn.
const COARSEST: u32 = 4u;

// What find_slack does for the projection, for a linear solve that has been set up: C of every edge of a yarn between two
// pins, less the mean of C/l as far as it may be kept.
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
        let slack = kept_strain(line);
        for (var k = line.first; k < line.end; k++) {
            let e = line.yarn.first + k;
            // An empty row has no constraint.
            if (directions[e].w > 0.0) {
                residuals[e] -= slack * edges[e].rest;
            }
        }
    }
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
