// Time stepping around the projection: predict, then velocity and commit (Algorithm 1, last lines).
//
// The iterate of a substep is the displacement u = x_j − x, not the position: near rest u is 10⁻⁵ m and smaller,
// and keeps 24 bits of its own where a position of 1 m has rounding steps of 6·10⁻⁸ m. The velocity u/h then has no
// noise, and h may be as small as one likes.

@group(0) @binding(0) var<storage, read_write> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read_write> velocities: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> starts: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> remainders: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> reactions: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> forces: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read> commands: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read> faults: array<u32>;
@group(0) @binding(10) var<storage, read_write> previous_velocities: array<vec4<f32>>;
@group(0) @binding(11) var<storage, read_write> frame_starts: array<Vertex>;

// Moves the whole cloth to another place without giving it speed.
@compute @workgroup_size(GROUP)
fn relocate(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end || frame.relocated == 0u) {
        return;
    }
    let position = turned(frame.rotation, vertices[v].position) + frame.translation;
    vertices[v].position = position;
    velocities[v] = vec4<f32>(turned(frame.rotation, velocities[v].xyz), 0.0);
    starts[v] = vec4<f32>(position, 0.0);
    displacements[v] = vec4<f32>();
}

// Where the frame starts, after the move to another place.
@compute @workgroup_size(GROUP)
fn remember(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    frame_starts[v] = vertices[v];
}

// Whether the caller said something of this kind about this vertex in this frame.
fn commanded(v: u32, kind: f32) -> bool {
    return frame.commanded != 0u && commands[v].w == kind;
}

// BDF2: the velocity that a step starts from, v + r²/(1+2r) (v − v_previous).
@compute @workgroup_size(GROUP)
fn recall(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let now = velocities[v];
    velocities[v] = vec4<f32>(now.xyz + clock.recall * (now.xyz - previous_velocities[v].xyz), 0.0);
    previous_velocities[v] = vec4<f32>(now.xyz, previous_velocities[v].w);
}

@compute @workgroup_size(GROUP)
fn predict(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let vertex = vertices[v];
    if (clock.substep == 1u) {
        reactions[v] = vec4<f32>();
    }
    if (vertex.inverse_mass > 0.0) {
        // What the last commit asked for minus what rounding let it do; three buffers, so no compiler cancels it.
        let way = vertex.position - starts[v].xyz;
        let remainder = (displacements[v].xyz - way) + clock.recall * way;
        let acceleration = frame.gravity + vertex.inverse_mass * forces[v].xyz;
        var velocity = velocities[v].xyz;
        if (clock.substep == 1u && commanded(v, IMPULSE)) {
            velocity += vertex.inverse_mass * commands[v].xyz;
        }
        // Drag acts on the motion there is, not on what gravity is about to add: weight at rest stays the weight.
        velocity = velocity / (1.0 + frame.drag * clock.span) + clock.span * acceleration;
        remainders[v] = vec4<f32>(remainder, 0.0);
        displacements[v] = vec4<f32>(remainder + clock.span * velocity, 0.0);
    } else {
        var way = vec3<f32>();
        if (commanded(v, TARGET)) {
            way = (commands[v].xyz - vertex.position) / f32(clock.substeps - clock.substep + 1u);
        }
        reactions[v] += vec4<f32>(forces[v].xyz / f32(clock.substeps), 0.0);
        remainders[v] = vec4<f32>();
        displacements[v] = vec4<f32>(way, 0.0);
    }
    starts[v] = vec4<f32>(vertex.position, 0.0);
}

// Makes the substep's result public, or takes everything back to its start if a value is not finite.
@compute @workgroup_size(GROUP)
fn commit(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    if (faults[0] != 0u) {
        displacements[v] = remainders[v];
        reactions[v] = vec4<f32>();
        if (frame.second_order != 0u) {
            // What was carried over is mixed with what was recalled; both are forgotten.
            displacements[v] = vec4<f32>();
            velocities[v] = vec4<f32>(previous_velocities[v].xyz, 0.0);
        }
        return;
    }
    // What a solve that did not converge says about forces is no number to hand out.
    if (!bounded(reactions[v].xyz)) {
        reactions[v] = vec4<f32>();
    }
    let vertex = vertices[v];
    let moved = displacements[v].xyz;
    if (vertex.inverse_mass > 0.0) {
        velocities[v] = vec4<f32>((moved - remainders[v].xyz) / clock.span, 0.0);
        vertices[v].position = vertex.position + moved;
        if (frame.second_order != 0u && clock.substep == 1u && commanded(v, IMPULSE)) {
            // An impulse belongs to the past, too: it is no acceleration that goes on.
            previous_velocities[v] += vec4<f32>(vertex.inverse_mass * commands[v].xyz, 0.0);
        }
        return;
    }
    velocities[v] = vec4<f32>(moved / clock.h, 0.0);
    if (commanded(v, TARGET)) {
        // A driven pin ends the frame exactly at its target; a resting pin is not written at all.
        vertices[v].position = select(vertex.position + moved, commands[v].xyz, clock.substep == clock.substeps);
    }
}
