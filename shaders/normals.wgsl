// Vertex normals for drawing: area-weighted sum over the triangles at a vertex, of unit length.

@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read> triangles: array<u32>;
@group(0) @binding(2) var<storage, read> triangle_incidence: array<u32>;
@group(0) @binding(3) var<storage, read_write> normals: array<vec4<f32>>;

@compute @workgroup_size(GROUP)
fn gather_normals(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var normal = vec3<f32>();
    for (var k = triangle_incidence[v]; k < triangle_incidence[v + 1u]; k++) {
        let corner = 3u * triangle_incidence[k];
        let origin = vertices[triangles[corner]].position;
        let first = vertices[triangles[corner + 1u]].position - origin;
        let second = vertices[triangles[corner + 2u]].position - origin;
        normal += cross(first, second);
    }
    let extent = length(normal);
    if (extent > 0.0) {
        normal = normal / extent;
    }
    normals[v] = vec4<f32>(normal, 0.0);
}
