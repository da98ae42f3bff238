// Limit of the rate at which edges change their length, color by color: edges of a color share no vertex.

@group(0) @binding(0) var<storage, read> edges: array<Link>;
@group(0) @binding(1) var<storage, read> colored_edges: array<u32>;
@group(0) @binding(2) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(3) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> reactions: array<vec4<f32>>;

// Brings an edge to the nearest length that it may have at the end of the substep. Argument: the bits of the largest
// change, as a part of the length at its start.
@compute @workgroup_size(GROUP)
fn limit_stretch_rate(invocation: Invocation) {
    let index = element(invocation);
    if (!running() || index >= range.end) {
        return;
    }
    let edge = edges[colored_edges[index]];
    let rate = bitcast<f32>(range.arguments.x);
    let before = length(vertices[edge.head].position - vertices[edge.tail].position);
    let stretch = bare_stretch_of(edge);
    let wanted = clamp(stretch.extent, (1.0 - rate) * before, (1.0 + rate) * before);
    if (stretch.w == 0.0 || wanted == stretch.extent) {
        return;
    }
    let tail = vertices[edge.tail].inverse_mass;
    let head = vertices[edge.head].inverse_mass;
    let pull = ((stretch.extent - wanted) / stretch.w) * stretch.n;
    displacements[edge.tail] += vec4<f32>(apply_inverse_mass(edge.tail, tail, pull), 0.0);
    displacements[edge.head] -= vec4<f32>(apply_inverse_mass(edge.head, head, pull), 0.0);
    if (bears(tail)) {
        reactions[edge.tail] += vec4<f32>(clock.force * borne(edge.tail, tail, pull), 0.0);
    }
    if (bears(head)) {
        reactions[edge.head] -= vec4<f32>(clock.force * borne(edge.head, head, pull), 0.0);
    }
}
