// Plots: patches of the cloth, and how they move relative to each other.

// A plot in a substep: box of its vertices before and after it [m]; middle and half diagonal of the boxes of
// displacements, and of motions since the list was made [m].
struct Plot {
    low: vec3<f32>, extent: f32, high: vec3<f32>, moved_extent: f32,
    middle: vec3<f32>, padding: f32, moved_middle: vec3<f32>, more_padding: f32,
}

@group(0) @binding(0) var<storage, read> plot_words: array<u32>;
@group(0) @binding(1) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(2) var<storage, read> displacements: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> list_places: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> plots: array<Plot>;
@group(0) @binding(5) var<storage, read_write> spread: array<atomic<u32>>;

@compute @workgroup_size(GROUP)
fn survey_plots(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= range.end) {
        return;
    }
    let far = vec3<f32>(FAR);
    var low = far;
    var high = -far;
    var least = far;
    var most = -far;
    var moved_least = far;
    var moved_most = -far;
    let end = plot_words[p + 1u];
    for (var k = plot_words[p]; k < end; k++) {
        let v = plot_words[k];
        let at = vertices[v].position;
        let u = displacements[v].xyz;
        let moved = at - list_places[v].xyz;
        let there = at + u;
        low = min(min(low, at), there);
        high = max(max(high, at), there);
        least = min(least, u);
        most = max(most, u);
        moved_least = min(moved_least, moved);
        moved_most = max(moved_most, moved);
    }
    var plot = Plot();
    plot.low = low;
    plot.high = high;
    plot.extent = 0.5 * length(most - least);
    plot.middle = least + 0.5 * (most - least);
    plot.moved_extent = 0.5 * length(moved_most - moved_least);
    plot.moved_middle = moved_least + 0.5 * (moved_most - moved_least);
    plots[p] = plot;
}

@compute @workgroup_size(GROUP)
fn compare_plots(invocation: Invocation) {
    let p = element(invocation);
    if (!running() || p >= range.end) {
        return;
    }
    let own = plots[p];
    let allowed = nearness.radius - FLOOR * clearance.thickness;
    var motion = 0.0;
    var need = 0.0;
    var excess = 0.0;
    for (var q = p; q < range.end; q++) {
        let gap = max(own.low - plots[q].high, plots[q].low - own.high);
        if (max(max(gap.x, gap.y), gap.z) > clearance.thickness) {
            continue;
        }
        let ahead = distance(own.middle, plots[q].middle) + (own.extent + plots[q].extent);
        let before = distance(own.moved_middle, plots[q].moved_middle) + (own.moved_extent + plots[q].moved_extent);
        motion = max(motion, ahead);
        need = max(need, before + AHEAD * ahead);
        if (before + ahead > allowed) {
            excess = max(excess, 1.0 - max(allowed - before, 0.0) / ahead);
        }
    }
    atomicMax(&spread[MOTION], bitcast<u32>(motion));
    atomicMax(&spread[NEED], bitcast<u32>(need));
    atomicMax(&spread[EXCESS], bitcast<u32>(excess));
}

@compute @workgroup_size(GROUP)
fn note_places(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    list_places[v] = vec4<f32>(vertices[v].position, 0.0);
}
