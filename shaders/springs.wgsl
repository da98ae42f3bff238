// Spring forces: f = k (|d| − l) d/|d| on the tail, gathered per vertex.

@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read> springs: array<Link>;
@group(0) @binding(2) var<storage, read> spring_incidence: array<u32>;
@group(0) @binding(3) var<storage, read_write> forces: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> elastic_forces: array<vec4<f32>>;

@compute @workgroup_size(GROUP)
fn gather_springs(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let here = vertices[v].position;
    var force = vec3<f32>();
    for (var k = spring_incidence[v]; k < spring_incidence[v + 1u]; k += 2u) {
        let spring = springs[spring_incidence[k] / 2u];
        let d = vertices[spring_incidence[k + 1u]].position - here;
        let extent = length(d);
        if (extent > 0.0) {
            force += (spring.stiffness * (extent - spring.rest) / extent) * d;
        }
    }
    forces[v] = vec4<f32>(force, 0.0);
}

// Where springs are integrated implicitly: the explicit forces start with what pins bear, and nothing else.
@compute @workgroup_size(GROUP)
fn keep_pin_force(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    forces[v] = select(vec4<f32>(), elastic_forces[v], vertices[v].inverse_mass == 0.0);
}
