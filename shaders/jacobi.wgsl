// Jacobi edge projection: every edge proposes a pull, every vertex takes a blend of the proposals.

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
    var pull = vec3<f32>();
    if (stretch.w > 0.0) {
        let size = (stretch.extent - stretch.wanted) / stretch.w;
        pull = size * stretch.n;
        tensions[e] += (size * clock.force) * (0.5 * (blend(edge.tail) + blend(edge.head)));
    }
    corrections[e] = vec4<f32>(pull, 0.0);
}

// Weight of one proposal at a free vertex: all its edges count, in range or not.
fn blend(v: u32) -> f32 {
    return jacobi.relaxation / (f32(edge_incidence[v + 1u] - edge_incidence[v]) + jacobi.blend);
}

@compute @workgroup_size(GROUP)
fn gather_corrections(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let inverse_mass = vertices[v].inverse_mass;
    var pull = vec3<f32>();
    var taken = vec3<f32>();
    for (var k = edge_incidence[v]; k < edge_incidence[v + 1u]; k++) {
        let entry = edge_incidence[k];
        let edge = edges[entry / 2u];
        let at_head = (entry & 1u) == 1u;
        let proposal = select(1.0, -1.0, at_head) * corrections[entry / 2u].xyz;
        pull += blend(v) * proposal;
        taken += blend(select(edge.head, edge.tail, at_head)) * proposal;
    }
    if (inverse_mass > 0.0) {
        displacements[v] += vec4<f32>(apply_inverse_mass(v, inverse_mass, pull), 0.0);
    }
    // Pins and constraints bear what the neighbors took of the proposals.
    if (bears(inverse_mass)) {
        reactions[v] += vec4<f32>(clock.force * borne(v, inverse_mass, taken), 0.0);
    }
}
