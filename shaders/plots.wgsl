// Plots: patches of the cloth, and how they move relative to each other.

// A plot in a substep: box of its vertices before and after it [m], w: rounding of positions, and largest distance of a
// vertex from its center [m]; what it turns about [m], by how much, middle and half of the box of what vertices move
// beside the turning [m].
struct Plot {
    low: vec4<f32>, high: vec4<f32>, center: vec4<f32>, turn: vec4<f32>, middle: vec4<f32>, half: vec4<f32>,
}
// The list of a plot: its radius, what came nearer since it was made and in the substep before [m], 1 where it is made
// anew; triangles and edges of the plot.
struct Listing {
    radius: f32, wear: f32, past: f32, stale: u32,
    first_triangle: u32, end_triangle: u32, first_edge: u32, end_edge: u32,
}

@group(0) @binding(0) var<storage, read> plot_words: array<u32>;
@group(0) @binding(1) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(2) var<storage, read> displacements: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> plots: array<Plot>;
@group(0) @binding(4) var<storage, read_write> spread: array<atomic<u32>>;
@group(0) @binding(5) var<storage, read> listings: array<Listing>;
@group(0) @binding(6) var<storage, read_write> plot_moves: array<f32>;
@group(0) @binding(7) var<storage, read_write> worn: array<Listing>; // listings
@group(0) @binding(8) var<storage, read> surveyed: array<Plot>; // plots
@group(0) @binding(9) var<storage, read> own_meters: array<u32>;

// The rotation that fits the motion of a plot's first vertices best: (sum of |y|^2 - y y^T) w = sum of y x u.
fn turning(first: u32, center: vec3<f32>, motion: vec3<f32>) -> vec3<f32> {
    var squares = vec3<f32>();
    var products = vec3<f32>();
    var moment = vec3<f32>();
    for (var k = 0u; k < CORNERS; k++) {
        let v = plot_words[first + k];
        let y = vertices[v].position - center;
        squares += y * y;
        products += y * y.yzx;
        moment += cross(y, displacements[v].xyz - motion);
    }
    let sum = squares.x + squares.y + squares.z;
    if (sum <= 0.0) {
        return vec3<f32>();
    }
    let part = 1.0 / sum;
    let diagonal = vec3<f32>(1.0 + STEADY) - part * squares;
    let beside = -part * products;
    let x = vec3<f32>(diagonal.x, beside.x, beside.z);
    let y = vec3<f32>(beside.x, diagonal.y, beside.y);
    let z = vec3<f32>(beside.z, beside.y, diagonal.z);
    let wanted = part * moment;
    let turn = wanted.x * cross(y, z) + wanted.y * cross(z, x) + wanted.z * cross(x, y);
    return (1.0 / dot(x, cross(y, z))) * turn;
}

@compute @workgroup_size(GROUP)
fn survey_plots(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= range.end) {
        return;
    }
    if (p == 0u) {
        atomicStore(&spread[MOTION], 0u);
        atomicStore(&spread[NEED], 0u);
        atomicStore(&spread[EXCESS], 0u);
    }
    let first = plot_words[p];
    let end = plot_words[p + 1u];
    let a = plot_words[first];
    let b = plot_words[first + 1u];
    let c = plot_words[first + 2u];
    let d = plot_words[first + 3u];
    let center = 0.25 * ((vertices[a].position + vertices[b].position) + (vertices[c].position + vertices[d].position));
    let motion = 0.25 * ((displacements[a].xyz + displacements[b].xyz) + (displacements[c].xyz + displacements[d].xyz));
    let turn = turning(first, center, motion);
    let far = vec3<f32>(FAR);
    var low = far;
    var high = -far;
    var least = far;
    var most = -far;
    var farthest = 0.0;
    for (var k = first; k < end; k++) {
        let v = plot_words[k];
        let at = vertices[v].position;
        let u = displacements[v].xyz;
        let there = at + u;
        let arm = at - center;
        let rest = u - cross(turn, arm);
        low = min(min(low, at), there);
        high = max(max(high, at), there);
        least = min(least, rest);
        most = max(most, rest);
        farthest = max(farthest, dot(arm, arm));
    }
    let coordinates = max(abs(low), abs(high));
    let rounded = ROUNDED * max(max(coordinates.x, coordinates.y), coordinates.z);
    var plot = Plot();
    plot.low = vec4<f32>(low, rounded);
    plot.high = vec4<f32>(high, sqrt(farthest));
    plot.center = vec4<f32>(center, 0.0);
    plot.turn = vec4<f32>(turn, 0.0);
    plot.middle = vec4<f32>(least + 0.5 * (most - least), 0.0);
    plot.half = vec4<f32>(0.5 * (most - least), 0.0);
    plots[p] = plot;
}

// Boxes of blocks follow those of plots. Argument: number of plots.
@compute @workgroup_size(GROUP)
fn bound_blocks(invocation: Invocation) {
    let b = element(invocation);
    if (!running() || b >= range.end) {
        return;
    }
    var all = Plot();
    all.low = vec4<f32>(FAR);
    all.high = vec4<f32>(-FAR);
    let count = range.arguments.x;
    let end = min((b + 1u) * BLOCK, count);
    for (var p = b * BLOCK; p < end; p++) {
        all.low = min(all.low, plots[p].low);
        all.high = max(all.high, plots[p].high);
    }
    plots[count + b] = all;
}

// How much nearer two points of two plots may come [m].
fn nearer(p: u32, q: u32) -> f32 {
    let turn = surveyed[p].turn.xyz;
    let other_turn = surveyed[q].turn.xyz;
    let between = surveyed[p].center.xyz - surveyed[q].center.xyz;
    let moved = surveyed[p].middle.xyz - surveyed[q].middle.xyz - cross(0.5 * (turn + other_turn), between);
    let most = abs(moved) + (surveyed[p].half.xyz + surveyed[q].half.xyz);
    let differ = 0.5 * distance(turn, other_turn);
    return length(most) + (surveyed[p].low.w + surveyed[q].low.w) + differ * (surveyed[p].high.w + surveyed[q].high.w);
}

// Distance of two boxes along the axis on which they are farthest apart [m].
fn gap(low: vec4<f32>, high: vec4<f32>, other_low: vec4<f32>, other_high: vec4<f32>) -> f32 {
    let way = max(low - other_high, other_low - high);
    return max(max(way.x, way.y), way.z);
}

// Argument: number of plots.
@compute @workgroup_size(GROUP)
fn compare_plots(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= range.end) {
        return;
    }
    let count = range.arguments.x;
    let low = surveyed[p].low;
    let high = surveyed[p].high;
    let list = listings[p];
    // That of all lists there can be: what pairs are left alone must not depend on when lists were made.
    let reach = max(clearance.farthest, clearance.thickness);
    var moves = 0.0;
    for (var first = 0u; first < count; first += BLOCK) {
        let block = count + first / BLOCK;
        if (gap(low, high, surveyed[block].low, surveyed[block].high) > reach) {
            continue;
        }
        let end = min(first + BLOCK, count);
        for (var q = first; q < end; q++) {
            if (gap(low, high, surveyed[q].low, surveyed[q].high) <= reach) {
                moves = max(moves, nearer(p, q));
            }
        }
    }
    let after = list.wear + moves;
    let need = max((after + AHEAD * moves) - (list.radius - clearance.thickness), 0.0);
    let allowed = list.radius - FLOOR * clearance.thickness;
    var excess = 0.0;
    if (after > allowed && moves > 0.0) {
        excess = 1.0 - max(allowed - list.wear, 0.0) / moves;
    }
    // What was left alone counts on that.
    let most = (1.0 - FLOOR) * clearance.thickness + AHEAD * list.past;
    if (nearness.pairs > 0u && moves > most) {
        excess = max(excess, 1.0 - most / moves);
    }
    plot_moves[p] = moves;
    atomicMax(&spread[MOTION], bitcast<u32>(moves));
    atomicMax(&spread[NEED], bitcast<u32>(need));
    atomicMax(&spread[EXCESS], bitcast<u32>(excess));
}

// At the end of a substep; or, argument 1, where none before tells.
@compute @workgroup_size(GROUP)
fn wear_plots(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= range.end) {
        return;
    }
    if (range.arguments.x == 0u) {
        worn[p].wear += plot_moves[p];
    }
    worn[p].past = plot_moves[p];
}

// Which plots get another list, and of what radius.
@compute @workgroup_size(GROUP)
fn renew_plots(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= range.end) {
        return;
    }
    var list = worn[p];
    let every = nearness.begun == 0u || nearness.demand > clearance.capacity || own_meters[TANGLED] > 0u;
    list.stale = select(0u, 1u, every || list.wear + BATCH * list.past > list.radius - clearance.thickness);
    if (list.stale == 1u) {
        let many = CROWD * f32(nearness.demand) > f32(clearance.capacity);
        let lasting = select(LASTING, SHORT_LASTING, many);
        let wanted = clearance.thickness + max(lasting * list.past, LEAST_MARGIN * clearance.thickness);
        list.radius = select(clearance.farthest, wanted, wanted < clearance.farthest);
        list.wear = 0.0;
    }
    worn[p] = list;
}
