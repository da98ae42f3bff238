// Windows around pins: pieces of yarns, projected pass by pass by one workgroup.

// Projects the pieces of passes in their order. Arguments: number of the first pass, one past the last. The bounds of
// the loops are the same for all invocations, so that they meet at the barriers.
@compute @workgroup_size(GROUP)
fn project_windows(invocation: Invocation) {
    if (!running()) {
        return;
    }
    for (var number = range.arguments.x; number < range.arguments.y; number++) {
        let pass_of = window_passes[number];
        let turns = turns_of(pass_of);
        for (var turn = 0u; turn < turns; turn++) {
            project_line(piece_of(pass_of, turn, invocation.lane));
            storageBarrier();
            workgroupBarrier();
        }
    }
}
