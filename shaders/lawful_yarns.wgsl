// The projection of yarns, and of pieces of them around pins, where edges have laws of their own: a row of the line
// solve is hard or a spring's, and a multiplier per edge adds up.

// A row of the projection.
fn lawful_edge_row(line: Line, k: u32) -> Row {
    let e = line.yarn.first + k;
    let law = edge_laws[e];
    if (!is_own(law)) {
        return edge_row(line, k);
    }
    let edge = edges[e];
    let stretch = bare_stretch_of(edge);
    if (stretch.w == 0.0) {
        return empty_row();
    }
    let row = lawful_row(law, stretch.extent, edge.rest, stretch.w, line.slack);
    let motion = apply_inverse_mass(edge.tail, vertices[edge.tail].inverse_mass, stretch.n);
    return Row(stretch.n, stretch.w + row.y, row.x, motion);
}

// What `project_line` does. Every invocation must call it.
fn project_lawful_line(given: Line) {
    var line = given;
    find_slack(&line, yarn_sweep.slack);
    for (var k = line.first; k < line.end; k++) {
        set_row(line, k, lawful_edge_row(line, k));
    }
    solve_line(line);
    var behind = pull_of(line, i32(line.first) - 1);
    for (var k = line.first; k < line.end; k++) {
        let e = line.yarn.first + k;
        let edge = edges[e];
        let ahead = pull_of(line, i32(k));
        pull_vertex(edge.tail, ahead - behind, yarn_sweep.step_clamp * edge.rest);
        edge_laws[e].multiplier += line_rows[e].state.w;
        behind = ahead;
        if (k + 1u == line.yarn.count && line.yarn.closed == 0u) {
            pull_vertex(edge.head, -ahead, yarn_sweep.step_clamp * edge.rest);
        }
    }
}

// What `project_yarn` does.
@compute @workgroup_size(GROUP)
fn project_lawful_yarn(invocation: Invocation) {
    if (!running()) {
        return;
    }
    project_lawful_line(line_of(invocation));
}

// What `project_windows` does.
@compute @workgroup_size(GROUP)
fn project_lawful_windows(invocation: Invocation) {
    if (!running()) {
        return;
    }
    for (var number = range.arguments.x; number < range.arguments.y; number++) {
        let pass_of = window_passes[number];
        let turns = turns_of(pass_of);
        for (var turn = 0u; turn < turns; turn++) {
            project_lawful_line(piece_of(pass_of, turn, invocation.lane));
            storageBarrier();
            workgroupBarrier();
        }
    }
}
