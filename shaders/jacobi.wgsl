// Jacobi edge projection: every edge proposes a pull on its ends, of which both take the same share.

struct JacobiLive { relaxation: f32, blend: f32 } // ω, α

@group(0) @binding(10) var<uniform> jacobi: JacobiLive;
@group(0) @binding(0) var<storage, read> edges: array<Link>;
@group(0) @binding(1) var<storage, read> edge_incidence: array<u32>;
@group(0) @binding(2) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(3) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> corrections: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> reactions: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> tensions: array<f32>;

@compute @workgroup_size(GROUP)
fn correct_edge(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    let edge = edges[e];
    let stretch = stretch_of(edge);
    var correction = vec4<f32>();
    if (stretch.w > 0.0) {
        let size = share(edge) * ((stretch.extent - stretch.wanted) / stretch.w);
        correction = vec4<f32>(size * stretch.n, size);
        tensions[e] += size * clock.force;
    }
    corrections[e] = correction;
}

// What is taken of a proposal, at both ends alike: all edges count there, in range or not.
fn share(edge: Link) -> f32 {
    let tail = edge_incidence[edge.tail + 1u] - edge_incidence[edge.tail];
    let head = edge_incidence[edge.head + 1u] - edge_incidence[edge.head];
    return jacobi.relaxation / (f32(max(tail, head)) + jacobi.blend);
}

@compute @workgroup_size(GROUP)
fn gather_corrections(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let inverse_mass = vertices[v].inverse_mass;
    var pull = vec3<f32>();
    for (var k = edge_incidence[v]; k < edge_incidence[v + 1u]; k++) {
        let entry = edge_incidence[k];
        pull += select(1.0, -1.0, (entry & 1u) == 1u) * corrections[entry / 2u].xyz;
    }
    if (inverse_mass > 0.0) {
        displacements[v] += vec4<f32>(apply_inverse_mass(v, inverse_mass, pull), 0.0);
    }
    if (bears(inverse_mass)) {
        reactions[v] += vec4<f32>(clock.force * borne(v, inverse_mass, pull), 0.0);
    }
}
