// Triangles that keep their shape, as terms of projective dynamics: see src/solver/shape_matching.rs.

struct ProjectiveDynamicsLive { stiffness: f32, triangles: f32, tolerance: f32, padding: f32 }

struct TrianglePull { one: vec4<f32>, two: vec4<f32> } // columns

@group(0) @binding(20) var<uniform> projective_dynamics: ProjectiveDynamicsLive;
@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read> triangles: array<u32>;
@group(0) @binding(2) var<storage, read> triangle_incidence: array<u32>;
@group(0) @binding(3) var<storage, read> triangle_shapes: array<vec4<f32>>; // √A D⁻¹: 11, 12, 22; √A
@group(0) @binding(4) var<storage, read> displacements: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> projective_searches: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> triangle_pulls: array<TrianglePull>;
@group(0) @binding(7) var<storage, read_write> vertex_pulls: array<vec4<f32>>;

// The local step: what is between a triangle's deformation and the nearest rotation, times τ² k √A.
@compute @workgroup_size(GROUP)
fn match_triangle(invocation: Invocation) {
    let t = element(invocation);
    if (!running() || t >= range.end) {
        return;
    }
    let shape = triangle_shapes[t];
    let a = triangles[3u * t];
    let first = between(a, triangles[3u * t + 1u]);
    let second = between(a, triangles[3u * t + 2u]);
    // G = √A F, F = ∂x/∂X, and C = Gᵀ G.
    let g = first * shape.x;
    let h = first * shape.y + second * shape.z;
    let c = vec3<f32>(dot(g, g), dot(g, h), dot(h, h));
    let determinant = c.x * c.z - c.y * c.y;
    var one = vec3<f32>();
    var two = vec3<f32>();
    // What is flat has no nearest rotation, but many.
    if (determinant > FLAT * c.x * c.z && shape.w > 0.0) {
        // √C = (C + s I)/t, s = √det C, t = √(tr C + 2 s); R = G √C⁻¹.
        let s = sqrt(determinant);
        let scale = 1.0 / (s * sqrt(c.x + c.z + 2.0 * s));
        let turned_g = scale * ((c.z + s) * g - c.y * h);
        let turned_h = scale * ((c.x + s) * h - c.y * g);
        let weight = clock.span * clock.span * projective_dynamics.triangles;
        one = weight * (g - shape.w * turned_g);
        two = weight * (h - shape.w * turned_h);
    }
    triangle_pulls[t] = TrianglePull(vec4<f32>(one, 0.0), vec4<f32>(two, 0.0));
}

// √A ∇N of a corner: how the deformation depends on it.
fn slope(shape: vec4<f32>, corner: u32) -> vec2<f32> {
    let one = vec2<f32>(shape.x, shape.y);
    let two = vec2<f32>(0.0, shape.z);
    return select(select(-one - two, one, corner == 1u), two, corner == 2u);
}

// Number of a vertex within a triangle.
fn corner_of(v: u32, t: u32) -> u32 {
    return select(select(0u, 1u, triangles[3u * t + 1u] == v), 2u, triangles[3u * t + 2u] == v);
}

// What triangles pull at a vertex, and their part of the diagonal of the system.
@compute @workgroup_size(GROUP)
fn gather_triangles(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var pull = vec4<f32>();
    let weight = clock.span * clock.span * projective_dynamics.triangles;
    for (var k = triangle_incidence[v]; k < triangle_incidence[v + 1u]; k++) {
        let t = triangle_incidence[k];
        let along = slope(triangle_shapes[t], corner_of(v, t));
        pull -= vec4<f32>(along.x * triangle_pulls[t].one.xyz + along.y * triangle_pulls[t].two.xyz, 0.0);
        pull.w += weight * dot(along, along);
    }
    vertex_pulls[v] = pull;
}

// The triangles' part of the Laplacian, times p.
@compute @workgroup_size(GROUP)
fn apply_triangles(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var product = vec3<f32>();
    let weight = clock.span * clock.span * projective_dynamics.triangles;
    for (var k = triangle_incidence[v]; k < triangle_incidence[v + 1u]; k++) {
        let t = triangle_incidence[k];
        let shape = triangle_shapes[t];
        let along = slope(shape, corner_of(v, t));
        let here = projective_searches[triangles[3u * t]].xyz;
        let first = projective_searches[triangles[3u * t + 1u]].xyz - here;
        let second = projective_searches[triangles[3u * t + 2u]].xyz - here;
        product += along.x * (first * shape.x) + along.y * (first * shape.y + second * shape.z);
    }
    vertex_pulls[v] = vec4<f32>(weight * product, vertex_pulls[v].w);
}
