// Yarn sweeps: all yarns of a family are projected at once.

// Projects the yarns of a family.
@compute @workgroup_size(GROUP)
fn project_yarn(invocation: Invocation) {
    if (!running()) {
        return;
    }
    project_line(line_of(invocation));
}
