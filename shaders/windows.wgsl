// Windows around pins: pieces of yarns, projected pass by pass by one workgroup.

// x: first piece, y: one past the last, z: invocations that share a piece.
@group(0) @binding(21) var<uniform> window_passes: array<vec4<u32>, MOST_PASSES>;

// Projects the pieces of all passes in their order. Second argument: number of passes. The bounds of the loops are the
// same for all invocations, so that they meet at the barriers.
@compute @workgroup_size(GROUP)
fn project_windows(invocation: Invocation) {
    if (!running()) {
        return;
    }
    for (var number = 0u; number < range.arguments.y; number++) {
        let pass_of = window_passes[number];
        let together = GROUP / pass_of.z;
        let turns = (pass_of.y - pass_of.x + together - 1u) / together;
        for (var turn = 0u; turn < turns; turn++) {
            let piece = pass_of.x + turn * together + invocation.lane / pass_of.z;
            var yarn: YarnRow;
            if (piece < pass_of.y) {
                yarn = yarns[piece];
            }
            project_line(lane_of(invocation.lane, yarn, pass_of.z));
            storageBarrier();
            workgroupBarrier();
        }
    }
}
