// Taut chords: from coarse to fine, no part of a yarn may span more than its rest length. Second argument: levels.

struct YarnSweepLive { step_clamp: f32, slack: f32, chords_from: f32, padding: f32 }

@group(0) @binding(20) var<uniform> yarn_sweep: YarnSweepLive;
@group(0) @binding(10) var<storage, read_write> decisions: array<u32>; // guards

// Starts the part of a substep that only a large load needs. Arguments: own
// word, word of the loop around.
@compute @workgroup_size(1)
fn open_chords() {
    let load = max(clock.load, frame.expected_load);
    let loaded = load * clock.h * clock.h > yarn_sweep.chords_from;
    decisions[range.arguments.x] = select(0u, decisions[range.arguments.y], loaded);
}

// Place of a chord's start along the yarn: i count/rows, rounded, without large products.
fn node(line: Line, i: u32) -> u32 {
    let count = line.yarn.count;
    return i * (count / line.rows) + (i * (count % line.rows) + line.rows / 2u) / line.rows;
}

// Longest that chord i may be: the rest length of the yarn along it.
fn chord_bound(line: Line, i: u32) -> f32 {
    var rest = 0.0;
    let end = node(line, i + 1u);
    for (var k = node(line, i); k < end; k++) {
        rest += edges[line.yarn.first + k].rest;
    }
    return (frame.stretch_max + max(line.slack, 0.0)) * rest;
}

// Mass of a free vertex; a pin inside a chord is not moved and has none.
fn mass_at(yarn: YarnRow, k: u32) -> f32 {
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
    let d = between(a, b);
    let extent = length(d);
    let bound = chord_bound(line, i);
    if (w == 0.0 || extent <= TAUT * bound) {
        return empty_row();
    }
    return Row(d / extent, w, extent - bound, tail_inverse_mass * (d / extent));
}

// Motion of the start of chord i.
fn node_motion(line: Line, i: u32, bound: f32) -> vec3<f32> {
    let pull = pull_of(line, i32(i)) - pull_of(line, i32(i) - 1);
    return clamped(node_inverse_mass(line, i) * pull, yarn_sweep.step_clamp * bound);
}

// Taut chords: from coarse to fine, no part of a yarn may span more than its rest length. Two projections per level,
// each interpolated to the vertices along the chords.
@compute @workgroup_size(GROUP)
fn project_chords(invocation: Invocation) {
    if (!running()) {
        return;
    }
    var line = line_of(invocation);
    let count = line.yarn.count;
    find_slack(&line, yarn_sweep.slack);
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
