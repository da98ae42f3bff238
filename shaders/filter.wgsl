// The two ends of a velocity filter (Goldenthal et al. 2007, Algorithm 1): what the host has becomes the state of one
// step without forces, and the velocities of that step become the host's.

@group(0) @binding(0) var<storage, read> filter_positions: array<f32>;
@group(0) @binding(1) var<storage, read_write> filter_velocities: array<f32>;
@group(0) @binding(2) var<storage, read_write> vertices: array<Vertex>;
@group(0) @binding(3) var<storage, read_write> velocities: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> starts: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> commands: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read> faults: array<u32>;

// Takes the host's positions and candidate velocities. Argument: words from one vertex to the next.
@compute @workgroup_size(GROUP)
fn admit(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let at = v * range.arguments.x;
    let position = vec3<f32>(filter_positions[at], filter_positions[at + 1u], filter_positions[at + 2u]);
    let velocity = vec3<f32>(filter_velocities[at], filter_velocities[at + 1u], filter_velocities[at + 2u]);
    vertices[v].position = position;
    velocities[v] = vec4<f32>(velocity, 0.0);
    // Nothing is carried over from an earlier step.
    starts[v] = vec4<f32>(position, 0.0);
    displacements[v] = vec4<f32>();
    if (vertices[v].inverse_mass == 0.0) {
        // A pinned vertex goes where its own velocity leads it.
        commands[v] = vec4<f32>(position + frame.dt * velocity, TARGET);
    }
}

// Hands the filtered velocities out; those of pins are the host's, and so are all of a step that was taken back.
// Argument: as above.
@compute @workgroup_size(GROUP)
fn release(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    if (faults[0] != 0u || vertices[v].inverse_mass == 0.0) {
        return;
    }
    let at = v * range.arguments.x;
    let velocity = velocities[v].xyz;
    filter_velocities[at] = velocity.x;
    filter_velocities[at + 1u] = velocity.y;
    filter_velocities[at + 2u] = velocity.z;
}
