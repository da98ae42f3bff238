// At the end of a frame: a vertex that has hardly moved for a while has the speed at which it moved, and no other.

struct Rest { speed: f32, time: f32 }

@group(0) @binding(10) var<uniform> rest: Rest;
@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read> edge_incidence: array<u32>;
@group(0) @binding(2) var<storage, read> faults: array<u32>;
@group(0) @binding(3) var<storage, read_write> velocities: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> previous_velocities: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> previous_positions: array<vec4<f32>>; // w: how long it has been slow
@group(0) @binding(6) var<storage, read_write> starts: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> displacements: array<vec4<f32>>;

@compute @workgroup_size(GROUP)
fn settle(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end || faults[0] != 0u) {
        return;
    }
    let vertex = vertices[v];
    // To be moved to another place is no motion.
    var before = previous_positions[v].xyz;
    if (frame.relocated != 0u) {
        before = turned(frame.rotation, before) + frame.translation;
    }
    let mean = (vertex.position - before) / frame.dt;
    // What has no edges is no fabric, and has no friction of its own.
    let fabric = edge_incidence[v] < edge_incidence[v + 1u] && vertex.inverse_mass > 0.0;
    var slow = 0.0;
    if (fabric && dot(mean, mean) < rest.speed * rest.speed) {
        slow = previous_positions[v].w + frame.dt;
        if (slow >= rest.time) {
            velocities[v] = vec4<f32>(mean, 0.0);
            previous_velocities[v] = vec4<f32>(mean, previous_velocities[v].w);
            // A second-order step also recalls the last way; what rounding kept of it stays as it is.
            if (frame.second_order != 0u) {
                let start = vertex.position - clock.h * mean;
                displacements[v] += vec4<f32>(starts[v].xyz - start, 0.0);
                starts[v] = vec4<f32>(start, 0.0);
            }
        }
    }
    // Beyond that time nothing is counted: it would only lose digits.
    previous_positions[v] = vec4<f32>(vertex.position, min(slow, rest.time));
}
