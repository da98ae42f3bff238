// Holds: vertices that the caller keeps in place, on a plane or on a line (Baraff & Witkin 1998, section 5.1). What
// they may do is written to `constraints`, in whose terms the projection and the elastic solve move them. Those on a
// spring are drawn to their anchor by a backward Euler step, stable at any stiffness.

@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> reactions: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> commands: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> holds: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> anchors: array<vec4<f32>>; // w: 1 where it is known
@group(0) @binding(6) var<storage, read_write> found_constraints: array<vec4<f32>>; // constraints

// In the directions that are held a vertex goes where its anchor is, or is on its way there; the prediction keeps the
// rest. What is withheld of it is a force on the hold.
@compute @workgroup_size(GROUP)
fn hold_vertex(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let vertex = vertices[v];
    let hold = holds[v];
    if (vertex.inverse_mass == 0.0 || (hold.w == 1.0 && dot(hold.xyz, hold.xyz) == 0.0)) {
        found_constraints[v] = vec4<f32>(0.0, 0.0, 0.0, 1.0);
        return;
    }
    let soft = hold.w < 0.0;
    if (anchors[v].w == 0.0) {
        anchors[v] = vec4<f32>(vertex.position, 1.0);
    } else if (soft && frame.relocated != 0u && clock.substep == 1u) {
        // A vertex on a spring is not at its anchor, which is moved with the cloth.
        anchors[v] = vec4<f32>(turned(frame.rotation, anchors[v].xyz) + frame.translation, 1.0);
    }
    // What slides on a plane or a line gets far away from where it was; only what is fixed goes back there.
    var way = vec3<f32>();
    if (dot(hold.xyz, hold.xyz) == 0.0) {
        way = anchors[v].xyz - vertex.position;
    }
    if (frame.commanded != 0u && commands[v].w == TARGET) {
        let parts = f32(clock.substeps - clock.substep + 1u);
        if (soft) {
            anchors[v] += vec4<f32>((commands[v].xyz - anchors[v].xyz) / parts, 0.0);
            way = anchors[v].xyz - vertex.position;
        } else {
            way = (commands[v].xyz - vertex.position) / parts;
        }
        if (clock.substep == clock.substeps) {
            anchors[v] = commands[v];
        }
    }
    let beyond = displacements[v].xyz - way;
    var left = left_by(hold, beyond);
    var taken = beyond - left;
    if (soft) {
        // Of beyond and not of what is left of it: a weak spring takes little.
        let more = heavier(hold, vertex.inverse_mass);
        taken = (more / (1.0 + more)) * beyond;
        left = beyond - taken;
    }
    displacements[v] = vec4<f32>(way + left, 0.0);
    reactions[v] += vec4<f32>((clock.force / vertex.inverse_mass) * taken, 0.0);
    found_constraints[v] = limited_by(hold, vertex.inverse_mass);
}
