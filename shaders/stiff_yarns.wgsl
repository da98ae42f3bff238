// Yarns with their geometric stiffness: see src/solver/stiff_yarns.rs. One invocation solves a yarn.

// How the tail of an edge answers to a pull G of that edge: δ = way.xyz + Y G, Y symmetric: xx, yy, zz in `diagonal`,
// yz, zx, xy in `off` [1/kg]. τ² T/|d| of the edge in diagonal.w [kg].
struct StiffRow { diagonal: vec4<f32>, off: vec4<f32>, way: vec4<f32> }

// An edge as the solve sees it: its direction, two across it, C = |d| − L, and whether it does anything.
struct Taut { n: vec3<f32>, one: vec3<f32>, two: vec3<f32>, excess: f32, stiffness: f32, works: bool }

// Y seen along and across an edge: a = n·Y n, f = c/a, E = B − c cᵀ/a of [a, cᵀ; c, B].
struct Seen { a: f32, f: vec2<f32>, across: vec3<f32> }

@group(0) @binding(12) var<storage, read_write> stiff_rows: array<StiffRow>;
@group(0) @binding(13) var<storage, read_write> last_tensions: array<f32>;

fn is_first() -> bool {
    return range.arguments.x == 1u;
}

// Vector of an edge: where it is before the first solve of a substep, and as far as it is now in the others.
fn vector_of(edge: Link) -> vec3<f32> {
    let rest = vertices[edge.head].position - vertices[edge.tail].position;
    if (is_first()) {
        return rest;
    }
    return rest + (displacements[edge.head].xyz - displacements[edge.tail].xyz);
}

fn is_free(v: u32) -> bool {
    return vertices[v].inverse_mass > 0.0;
}

// Where a vertex would go without this solve.
fn target_of(v: u32) -> vec3<f32> {
    return select(vec3<f32>(), displacements[v].xyz, is_first());
}

// Mean strain that a yarn between two pins keeps, as far as it may.
fn kept_by(yarn: YarnRow) -> f32 {
    if (!between_pins(yarn)) {
        return 0.0;
    }
    var excess = 0.0;
    var rest = 0.0;
    for (var k = 0u; k < yarn.count; k++) {
        let edge = edges[yarn.first + k];
        if (movable(edge)) {
            let extent = length(vector_of(edge));
            excess += extent - banded_length(extent, edge.rest);
            rest += edge.rest;
        }
    }
    let most = yarn_sweep.slack * frame.least_limit;
    return select(0.0, clamp(excess / rest, -most, most), rest > 0.0);
}

fn taut(e: u32, kept: f32) -> Taut {
    let edge = edges[e];
    let d = vector_of(edge);
    let extent = length(d);
    var found: Taut;
    if (extent < COLLAPSED * edge.rest || in_band(extent, edge.rest) || !movable(edge)) {
        return found;
    }
    let n = d * (1.0 / extent);
    // Two directions across n without a root (Duff et al. 2017).
    let sign = select(-1.0, 1.0, n.z >= 0.0);
    let a = -1.0 / (sign + n.z);
    let b = n.x * n.y * a;
    found.n = n;
    found.one = vec3<f32>(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x);
    found.two = vec3<f32>(b, sign + n.y * n.y * a, -n.y);
    found.excess = extent - (banded_length(extent, edge.rest) + kept * edge.rest);
    found.stiffness = stiff_rows[e].diagonal.w;
    found.works = true;
    return found;
}

fn answer(row: StiffRow, pull: vec3<f32>) -> vec3<f32> {
    let crossed = vec3<f32>(
        row.off.z * pull.y + row.off.y * pull.z,
        row.off.z * pull.x + row.off.x * pull.z,
        row.off.y * pull.x + row.off.x * pull.y,
    );
    return row.diagonal.xyz * pull + crossed;
}

fn seen(row: StiffRow, edge: Taut) -> Seen {
    let along = answer(row, edge.n);
    let first = answer(row, edge.one);
    let second = answer(row, edge.two);
    let a = dot(edge.n, along);
    let c = vec2<f32>(dot(edge.one, along), dot(edge.two, along));
    let b = vec3<f32>(dot(edge.one, first), dot(edge.one, second), dot(edge.two, second));
    var found = Seen(a, vec2<f32>(), b);
    if (a > RIGID * (b.x + b.z)) {
        found.f = c / a;
        found.across = b - vec3<f32>(c.x * found.f.x, c.x * found.f.y, c.y * found.f.y);
    }
    return found;
}

// A symmetric matrix of two rows, 11, 12, 22, and its inverse.
fn inverse_of(m: vec3<f32>) -> vec3<f32> {
    return vec3<f32>(m.z, -m.y, m.x) / (m.x * m.z - m.y * m.y);
}

fn times(m: vec3<f32>, v: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(m.x * v.x + m.y * v.y, m.y * v.x + m.z * v.y);
}

// The head of an edge, from its tail and the edge between them.
fn next_row(row: StiffRow, edge: Taut, head: u32) -> StiffRow {
    var next: StiffRow;
    let goal = target_of(head);
    next.way = vec4<f32>(goal, 0.0);
    if (!is_free(head)) {
        return next;
    }
    let mass = 1.0 / vertices[head].inverse_mass;
    if (!edge.works) {
        next.diagonal = vec4<f32>(vec3<f32>(vertices[head].inverse_mass), 0.0);
        return next;
    }
    let view = seen(row, edge);
    let unit = vec3<f32>(1.0, 0.0, 1.0);
    let softened = unit + edge.stiffness * view.across;
    let inverse = inverse_of(mass * softened + edge.stiffness * unit);
    let g = edge.stiffness * times(inverse, view.f);
    let alpha = view.a / (1.0 + view.a * (mass + mass * dot(view.f, g)));
    let h = vec3<f32>(
        softened.x * inverse.x + softened.y * inverse.y,
        softened.x * inverse.y + softened.y * inverse.z,
        softened.y * inverse.y + softened.z * inverse.z,
    );
    let v = edge.n + g.x * edge.one + g.y * edge.two;
    let one = edge.one;
    let two = edge.two;
    let diagonal = alpha * v * v + h.x * one * one + 2.0 * h.y * one * two + h.z * two * two;
    let off = alpha * v.yzx * v.zxy + h.x * one.yzx * one.zxy + h.z * two.yzx * two.zxy
        + h.y * (one.yzx * two.zxy + two.yzx * one.zxy);
    next.diagonal = vec4<f32>(diagonal, 0.0);
    next.off = vec4<f32>(off, 0.0);
    let q = row.way.xyz - edge.excess * edge.n;
    next.way = vec4<f32>(q + answer(next, mass * (goal - q)), 0.0);
    return next;
}

// What an edge pulls with, where its head is pinned.
fn pull_at_pin(row: StiffRow, edge: Taut, way: vec3<f32>) -> vec3<f32> {
    let view = seen(row, edge);
    let left = way - (row.way.xyz - edge.excess * edge.n);
    let along = dot(edge.n, left);
    let across = vec2<f32>(dot(edge.one, left), dot(edge.two, left));
    let unit = vec3<f32>(1.0, 0.0, 1.0);
    let bent = edge.stiffness * times(inverse_of(unit + edge.stiffness * view.across), across - along * view.f);
    var straight = 0.0;
    if (view.a > RIGID * (view.across.x + view.across.z)) {
        straight = along / view.a - dot(view.f, bent);
    }
    return straight * edge.n + bent.x * edge.one + bent.y * edge.two;
}

// Moves a vertex, and adds what it bears of the pull.
fn move_vertex(v: u32, way: vec3<f32>, pull: vec3<f32>, rest: f32) {
    if (!is_free(v)) {
        reactions[v] += vec4<f32>(clock.force * pull, 0.0);
        return;
    }
    if (is_first()) {
        displacements[v] = vec4<f32>(way, 0.0);
        return;
    }
    let most = yarn_sweep.step_clamp * rest;
    let extent = length(way);
    displacements[v] += vec4<f32>(select(way, way * (most / extent), extent > most), 0.0);
}

// Solves the yarns of a family. Argument: 1 for the first solve of a substep, which replaces the prediction.
@compute @workgroup_size(GROUP)
fn solve_stiff_yarn(invocation: Invocation) {
    let y = element(invocation);
    if (!running() || y >= range.end) {
        return;
    }
    let yarn = yarns[y];
    let kept = kept_by(yarn);
    let start = edges[yarn.first].tail;
    var row: StiffRow;
    row.way = vec4<f32>(target_of(start), 0.0);
    row.diagonal = vec4<f32>(vec3<f32>(vertices[start].inverse_mass), 0.0);
    for (var k = 0u; k < yarn.count; k++) {
        let e = yarn.first + k;
        row.diagonal.w = stiff_rows[e].diagonal.w;
        if (is_first()) {
            var carried = 0.0;
            if (clock.previous > 0.0) {
                carried = max(last_tensions[e], 0.0) / max(length(vector_of(edges[e])), COLLAPSED * edges[e].rest);
            }
            row.diagonal.w = min(clock.span * clock.span * carried, STIFFEST * frame.mean_mass);
            last_tensions[e] = 0.0;
        }
        stiff_rows[e] = row;
        row = next_row(row, taut(e, kept), edges[e].head);
    }
    var way = row.way.xyz;
    var ahead = vec3<f32>();
    for (var j = 0u; j < yarn.count; j++) {
        let e = yarn.first + yarn.count - 1u - j;
        let edge = taut(e, kept);
        let head = edges[e].head;
        let here = stiff_rows[e];
        var pull = vec3<f32>();
        if (edge.works) {
            if (is_free(head)) {
                pull = (1.0 / vertices[head].inverse_mass) * (target_of(head) - way) + ahead;
            } else {
                pull = pull_at_pin(here, edge, way);
            }
        }
        let tension = dot(edge.n, pull);
        tensions[e] += clock.force * tension;
        last_tensions[e] += tension / (clock.span * clock.span);
        move_vertex(head, way, ahead - pull, edges[e].rest);
        way = here.way.xyz + answer(here, pull);
        ahead = pull;
    }
    move_vertex(start, way, ahead, edges[yarn.first].rest);
}
