// The line solve: along one yarn A of eq. (7) is tridiagonal. `lanes` invocations share a yarn, each eliminates a run
// of consecutive rows; the last row of each run is a separator, and the small tridiagonal system of the separators is
// solved by one of them in workgroup memory. First argument: lanes per yarn, a power of two up to GROUP. An element is
// one lane of one yarn.

// A yarn or a piece of one, and the whole yarn.
struct YarnRow { first: u32, count: u32, closed: u32, whole_first: u32, whole_count: u32 }

// A row in memory: direction n and diagonal, and W_tail n and the residual, in whose place the solve puts f, y, g,
// solution.
struct LineRow { direction: vec3<f32>, diagonal: f32, state: vec4<f32> }

@group(0) @binding(0) var<storage, read> yarns: array<YarnRow>;
@group(0) @binding(1) var<storage, read> edges: array<Link>;
@group(0) @binding(2) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(3) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> reactions: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> tensions: array<f32>;
@group(0) @binding(6) var<storage, read_write> line_rows: array<LineRow>; // scratch

// Of each separator: x diagonal, y coupling to the separator before, z right-hand side, w solution.
var<workgroup> separators: array<vec4<f32>, GROUP>;
// What a run adds to the separator before it: x diagonal, y right-hand side. Then scratch of the cyclic solve.
var<workgroup> gifts: array<vec2<f32>, GROUP>;
// Of each run of a yarn between two pins: x length beyond what is wanted, y rest length.
var<workgroup> shares: array<vec2<f32>, GROUP>;

// A yarn as its lane sees it: the rows of the system, the run of this lane.
struct Line {
    yarn: YarnRow,
    rows: u32,
    lanes: u32, // invocations that share it
    lane: u32,
    base: u32, // lane 0 of the yarn in the workgroup
    runs: u32,
    first: u32, // rows of this lane, counted from the start of the yarn
    end: u32,
    slack: f32, // strain beyond the band that every edge may keep
}

fn line_of(invocation: Invocation) -> Line {
    let slot = element(invocation);
    var yarn: YarnRow;
    if (slot < range.end) {
        yarn = yarns[slot / range.arguments.x];
    }
    return lane_of(invocation.lane, yarn, range.arguments.x);
}

// Passes over pieces of lines. x: first piece, y: one past the last, z: invocations that share a piece.
@group(0) @binding(22) var<uniform> window_passes: array<vec4<u32>, MOST_PASSES>;

// How often a workgroup must turn to a pass.
fn turns_of(pass_of: vec4<u32>) -> u32 {
    let together = GROUP / pass_of.z;
    return (pass_of.y - pass_of.x + together - 1u) / together;
}

// The piece that an invocation works on in one of the turns; none has no edges.
fn piece_of(pass_of: vec4<u32>, turn: u32, lane: u32) -> Line {
    let piece = pass_of.x + turn * (GROUP / pass_of.z) + lane / pass_of.z;
    var yarn: YarnRow;
    if (piece < pass_of.y) {
        yarn = yarns[piece];
    }
    return lane_of(lane, yarn, pass_of.z);
}

// A yarn as one of its lanes sees it.
fn lane_of(lane: u32, yarn: YarnRow, lanes_per_yarn: u32) -> Line {
    var line: Line;
    line.yarn = yarn;
    line.lanes = lanes_per_yarn;
    line.lane = lane % lanes_per_yarn;
    line.base = lane - line.lane;
    share_rows(&line, yarn.count);
    return line;
}

// Rows of each lane but the last.
fn run_of(line: Line, rows: u32) -> u32 {
    return max((rows + line.lanes - 1u) / line.lanes, 1u);
}

// Divides the rows of a system among the lanes.
fn share_rows(line: ptr<function, Line>, rows: u32) {
    let run = run_of(*line, rows);
    (*line).rows = rows;
    (*line).runs = (rows + run - 1u) / run;
    (*line).first = min((*line).lane * run, rows);
    (*line).end = min(((*line).lane + 1u) * run, rows);
}

// Vertex at place k along a yarn, counted from 0 to the number of its edges.
fn vertex_at(yarn: YarnRow, k: u32) -> u32 {
    if (k < yarn.count) {
        return edges[yarn.first + k].tail;
    }
    if (yarn.closed != 0u) {
        return edges[yarn.first].tail;
    }
    return edges[yarn.first + yarn.count - 1u].head;
}

// Whether both ends of a whole yarn are pinned. Straight, it has one edge more than it can move: no motion along it
// changes its length.
fn between_pins(yarn: YarnRow) -> bool {
    if (yarn.whole_count == 0u || yarn.closed != 0u) {
        return false;
    }
    let first = edges[yarn.whole_first].tail;
    let last = edges[yarn.whole_first + yarn.whole_count - 1u].head;
    return vertices[first].inverse_mass == 0.0 && vertices[last].inverse_mass == 0.0;
}

// Whether an end of an edge can be moved. Between two pins of a patch there is nothing to move, and nothing to spread.
fn movable(edge: Link) -> bool {
    return vertices[edge.tail].inverse_mass + vertices[edge.head].inverse_mass > 0.0;
}

// Mean strain of a yarn between two pins, no more than this part of the limit, from the shares of its runs.
fn kept_strain(line: Line, part: f32) -> f32 {
    var sum = vec2<f32>();
    let run = run_of(line, line.yarn.whole_count);
    for (var j = 0u; j < (line.yarn.whole_count + run - 1u) / run; j++) {
        sum += shares[line.base + j];
    }
    if (sum.y == 0.0) {
        return 0.0;
    }
    let most = part * frame.least_limit;
    return clamp(sum.x / sum.y, -most, most);
}

// Strain that a yarn between two pins keeps: its mean, as far as this part of the limit. Every invocation must call it.
fn find_slack(line: ptr<function, Line>, part: f32) {
    let yarn = (*line).yarn;
    let held = between_pins(yarn);
    if (held) {
        var share = vec2<f32>();
        // A piece keeps what its whole yarn keeps: otherwise the two pull against each other.
        let run = run_of(*line, yarn.whole_count);
        let end = min(((*line).lane + 1u) * run, yarn.whole_count);
        for (var k = min((*line).lane * run, end); k < end; k++) {
            let edge = edges[yarn.whole_first + k];
            if (movable(edge)) {
                let extent = length(between(edge.tail, edge.head));
                share += vec2<f32>(extent - banded_length(extent, edge.rest), edge.rest);
            }
        }
        shares[(*line).base + (*line).lane] = share;
    }
    workgroupBarrier();
    if (held) {
        (*line).slack = kept_strain(*line, part);
    }
}

// A row of the matrix and its right-hand side: J = direction, and W Jᵀ at the tail.
struct Row { direction: vec3<f32>, diagonal: f32, residual: f32, tail_motion: vec3<f32> }

// Where nothing can be moved.
fn empty_row() -> Row {
    return Row(vec3<f32>(), 1.0, 0.0, vec3<f32>());
}

// Hands a row to the solve.
fn set_row(line: Line, k: u32, row: Row) {
    line_rows[line.yarn.first + k] = LineRow(row.direction, row.diagonal, vec4<f32>(row.tail_motion, row.residual));
}

// Pivots that rounding has eaten are held at a small part of the diagonal.
fn inverse_pivot(pivot: f32, diagonal: f32) -> f32 {
    return 1.0 / max(pivot, SMALLEST_PIVOT * diagonal);
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
    for (var j = base + 1u; j < last + 1u; j++) {
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
        for (var j = base; j < last + 1u; j++) {
            separators[j].w -= factor * gifts[j].x;
        }
    }
}

// Solves the yarns of this workgroup, whose lanes have set their rows; solutions are in `state.w` then. Every
// invocation must call it.
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
    for (var k = 2u; k < line.end - line.first + 1u; k++) {
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
    for (var back = 1u; back < line.end - line.first + 1u; back++) {
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
