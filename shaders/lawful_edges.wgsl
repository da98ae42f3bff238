// Edge projection, by color and all at once, where edges have laws of their own: a multiplier per edge adds up.

struct JacobiLive { relaxation: f32, blend: f32 } // ω, α

@group(0) @binding(10) var<uniform> jacobi: JacobiLive;
@group(0) @binding(0) var<storage, read> edges: array<Link>;
@group(0) @binding(1) var<storage, read> colored_edges: array<u32>;
@group(0) @binding(2) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(3) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> reactions: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> edge_incidence: array<u32>;
@group(0) @binding(6) var<storage, read_write> corrections: array<vec4<f32>>;

// Direction of an edge, and the pull that it asks for [kg·m]; none where nothing can be done.
fn asked(e: u32) -> vec4<f32> {
    let edge = edges[e];
    let law = edge_laws[e];
    if (!is_own(law)) {
        let stretch = stretch_of(edge);
        if (stretch.w == 0.0) {
            return vec4<f32>();
        }
        return vec4<f32>(stretch.n, (stretch.extent - stretch.wanted) / stretch.w);
    }
    let stretch = bare_stretch_of(edge);
    if (stretch.w == 0.0) {
        return vec4<f32>();
    }
    return vec4<f32>(stretch.n, lawful_pull(law, stretch.extent, edge.rest, stretch.w));
}

// What `project_edge` does.
@compute @workgroup_size(GROUP)
fn project_lawful_edge(invocation: Invocation) {
    let index = element(invocation);
    if (!running() || index >= range.end) {
        return;
    }
    let e = colored_edges[index];
    let edge = edges[e];
    let found = asked(e);
    let tail = vertices[edge.tail].inverse_mass;
    let head = vertices[edge.head].inverse_mass;
    let pull = found.w * found.xyz;
    displacements[edge.tail] += vec4<f32>(apply_inverse_mass(edge.tail, tail, pull), 0.0);
    displacements[edge.head] -= vec4<f32>(apply_inverse_mass(edge.head, head, pull), 0.0);
    edge_laws[e].multiplier += found.w;
    if (bears(tail)) {
        reactions[edge.tail] += vec4<f32>(clock.force * borne(edge.tail, tail, pull), 0.0);
    }
    if (bears(head)) {
        reactions[edge.head] -= vec4<f32>(clock.force * borne(edge.head, head, pull), 0.0);
    }
}

// What `correct_edge` does.
@compute @workgroup_size(GROUP)
fn correct_lawful_edge(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    let edge = edges[e];
    let tail = edge_incidence[edge.tail + 1u] - edge_incidence[edge.tail];
    let head = edge_incidence[edge.head + 1u] - edge_incidence[edge.head];
    let found = asked(e);
    let size = (jacobi.relaxation / (f32(max(tail, head)) + jacobi.blend)) * found.w;
    edge_laws[e].multiplier += size;
    corrections[e] = vec4<f32>(size * found.xyz, 0.0);
}
