// Volume of a closed surface, as one constraint of all its vertices: see src/stage/volume.rs.

@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read> triangles: array<u32>;
@group(0) @binding(2) var<storage, read> triangle_incidence: array<u32>;
@group(0) @binding(3) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> volume_gradients: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> partials: array<vec2<f32>>;
@group(0) @binding(6) var<storage, read_write> reactions: array<vec4<f32>>;

// ∂V/∂x of every vertex, seen from the first one, and the leaves of V = Σ x·∂V/∂x/3 and of ∂V/∂x·W ∂V/∂x.
@compute @workgroup_size(GROUP)
fn measure_volume(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let v = element(invocation);
    var terms = vec2<f32>();
    if (v < range.end) {
        var gradient = vec3<f32>();
        for (var k = triangle_incidence[v]; k < triangle_incidence[v + 1u]; k++) {
            let t = 3u * triangle_incidence[k];
            let corner = select(select(0u, 1u, triangles[t + 1u] == v), 2u, triangles[t + 2u] == v);
            let next = between(0u, triangles[t + (corner + 1u) % 3u]);
            let last = between(0u, triangles[t + (corner + 2u) % 3u]);
            gradient += 0.5 * cross(next, last);
        }
        gradient = gradient / 3.0;
        volume_gradients[v] = vec4<f32>(gradient, 0.0);
        let way = apply_inverse_mass(v, vertices[v].inverse_mass, gradient);
        terms = vec2<f32>(dot(between(0u, v), gradient) / 3.0, dot(gradient, way));
    }
    let total = group_sum(terms, invocation.lane);
    if (invocation.lane == 0u && v < range.end) {
        partials[group_index(invocation)] = total;
    }
}

// u −= λ W ∂V/∂x, λ = (V − V*)/(∂V/∂x·W ∂V/∂x). Arguments: bits of V*; number of vertices.
@compute @workgroup_size(GROUP)
fn inflate(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end || !(sums[CURVATURE].y > 0.0)) {
        return;
    }
    let slope = sums[CURVATURE].y;
    let most = FASTEST * clock.span * sqrt(frame.mean_mass * f32(range.arguments.y) / slope);
    let size = clamp((sums[CURVATURE].x - bitcast<f32>(range.arguments.x)) / slope, -most, most);
    let inverse_mass = vertices[v].inverse_mass;
    let pull = -size * volume_gradients[v].xyz;
    if (inverse_mass > 0.0) {
        displacements[v] += vec4<f32>(apply_inverse_mass(v, inverse_mass, pull), 0.0);
    }
    if (bears(inverse_mass)) {
        reactions[v] += vec4<f32>(clock.force * borne(v, inverse_mass, pull), 0.0);
    }
}
