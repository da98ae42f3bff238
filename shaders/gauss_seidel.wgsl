// Edge projection of one color: edges of a color share no vertex, so each invocation owns both its ends.

@group(0) @binding(0) var<storage, read> edges: array<Link>;
@group(0) @binding(1) var<storage, read> colored_edges: array<u32>;
@group(0) @binding(2) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(3) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> reactions: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> tensions: array<f32>;

@compute @workgroup_size(GROUP)
fn project_edge(invocation: Invocation) {
    let index = element(invocation);
    if (!running() || index >= range.end) {
        return;
    }
    let e = colored_edges[index];
    let edge = edges[e];
    let stretch = stretch_of(edge);
    if (stretch.w == 0.0) {
        return;
    }
    let tail = vertices[edge.tail].inverse_mass;
    let head = vertices[edge.head].inverse_mass;
    let size = (stretch.extent - stretch.wanted) / stretch.w;
    let pull = size * stretch.n;
    displacements[edge.tail] += vec4<f32>(apply_inverse_mass(edge.tail, tail, pull), 0.0);
    displacements[edge.head] -= vec4<f32>(apply_inverse_mass(edge.head, head, pull), 0.0);
    tensions[e] += size * clock.force;
    // Mean over the frame.
    if (bears(tail)) {
        reactions[edge.tail] += vec4<f32>(clock.force * borne(edge.tail, tail, pull), 0.0);
    }
    if (bears(head)) {
        reactions[edge.head] -= vec4<f32>(clock.force * borne(edge.head, head, pull), 0.0);
    }
}
