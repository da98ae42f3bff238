// The projection of a yarn: C = |d| − L of all its edges to 0 at once, by one line solve.

struct YarnSweepLive { step_clamp: f32, slack: f32, chords_from: f32, padding: f32 }

@group(0) @binding(20) var<uniform> yarn_sweep: YarnSweepLive;

// A row of the projection.
fn edge_row(line: Line, k: u32) -> Row {
    let edge = edges[line.yarn.first + k];
    let stretch = stretch_of(edge);
    if (stretch.w == 0.0) {
        return empty_row();
    }
    let wanted = stretch.wanted + line.slack * edge.rest;
    let motion = apply_inverse_mass(edge.tail, vertices[edge.tail].inverse_mass, stretch.n);
    return Row(stretch.n, stretch.w, stretch.extent - wanted, motion);
}

// Projects a yarn or a piece of one: each lane moves the tails of its edges, the last one also the end of an open yarn.
// Every invocation must call it.
fn project_line(given: Line) {
    var line = given;
    find_slack(&line, yarn_sweep.slack);
    for (var k = line.first; k < line.end; k++) {
        set_row(line, k, edge_row(line, k));
    }
    solve_line(line);
    var behind = pull_of(line, i32(line.first) - 1);
    for (var k = line.first; k < line.end; k++) {
        let e = line.yarn.first + k;
        let edge = edges[e];
        let ahead = pull_of(line, i32(k));
        pull_vertex(edge.tail, ahead - behind, yarn_sweep.step_clamp * edge.rest);
        tensions[e] += clock.force * line_rows[e].state.w;
        behind = ahead;
        if (k + 1u == line.yarn.count && line.yarn.closed == 0u) {
            pull_vertex(edge.head, -ahead, yarn_sweep.step_clamp * edge.rest);
        }
    }
}
