// Limit of the triangles' areas, between prediction and projection: see src/stage/area.rs.

@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read> triangles: array<u32>;
@group(0) @binding(2) var<storage, read> triangle_incidence: array<u32>;
@group(0) @binding(3) var<storage, read> rest_areas: array<f32>;
@group(0) @binding(4) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> area_shifts: array<vec4<f32>>;

// Scale that brings a triangle into its band.
fn scale(triangle: u32) -> f32 {
    let a = triangles[3u * triangle];
    let first = between(a, triangles[3u * triangle + 1u]);
    let second = between(a, triangles[3u * triangle + 2u]);
    let area = 0.5 * length(cross(first, second));
    let bounds = bitcast<vec2<f32>>(range.arguments.xy) * rest_areas[triangle];
    // Where there is no area there is nothing to scale.
    if (!(area > 0.0 && bounds.y > 0.0) || (area >= bounds.x && area <= bounds.y)) {
        return 1.0;
    }
    return clamp(sqrt(clamp(area, bounds.x, bounds.y) / area), 1.0 / LARGEST, LARGEST);
}

// From a vertex to the mass-weighted centroid of a triangle; a pinned corner outweighs free ones [m].
fn to_centroid(v: u32, triangle: u32) -> vec3<f32> {
    var free = vec4<f32>();
    var pinned = vec4<f32>();
    for (var k = 3u * triangle; k < 3u * triangle + 3u; k++) {
        let corner = vec4<f32>(between(v, triangles[k]), 1.0);
        let inverse_mass = vertices[triangles[k]].inverse_mass;
        if (inverse_mass > 0.0) {
            free += corner / inverse_mass;
        } else {
            pinned += corner;
        }
    }
    let sum = select(free, pinned, pinned.w > 0.0);
    return sum.xyz / sum.w;
}

// Mean of what the triangles at a vertex propose.
@compute @workgroup_size(GROUP)
fn limit_area(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var shift = vec3<f32>();
    let first = triangle_incidence[v];
    let end = triangle_incidence[v + 1u];
    if (vertices[v].inverse_mass > 0.0 && end > first) {
        for (var k = first; k < end; k++) {
            let s = scale(triangle_incidence[k]);
            if (s != 1.0) {
                shift += (1.0 - s) * to_centroid(v, triangle_incidence[k]);
            }
        }
        shift = shift / f32(end - first);
    }
    area_shifts[v] = vec4<f32>(shift, 0.0);
}

@compute @workgroup_size(GROUP)
fn apply_area(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    displacements[v] += vec4<f32>(allowed(v, area_shifts[v].xyz), 0.0);
}
