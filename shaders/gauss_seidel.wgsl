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
    let a = vertices[edge.tail];
    let b = vertices[edge.head];
    let d = (b.position - a.position) + (displacements[edge.head].xyz - displacements[edge.tail].xyz);
    let extent = length(d);
    let wanted = banded_length(extent, edge.rest);
    // A collapsed edge has no direction; an edge in its band stays bitwise untouched.
    if (extent < COLLAPSED * edge.rest || extent == wanted) {
        return;
    }
    let n = d / extent;
    let w = inverse_mass_along(edge.tail, a.inverse_mass, n) + inverse_mass_along(edge.head, b.inverse_mass, n);
    // Neither end can move along the edge.
    if (w <= STUCK * (a.inverse_mass + b.inverse_mass)) {
        return;
    }
    let pull = ((extent - wanted) / w) * n;
    displacements[edge.tail] += vec4<f32>(apply_inverse_mass(edge.tail, a.inverse_mass, pull), 0.0);
    displacements[edge.head] -= vec4<f32>(apply_inverse_mass(edge.head, b.inverse_mass, pull), 0.0);
    tensions[e] += ((extent - wanted) / w) * clock.force;
    // Mean over the frame.
    if (bears(a.inverse_mass)) {
        reactions[edge.tail] += vec4<f32>(clock.force * borne(edge.tail, a.inverse_mass, pull), 0.0);
    }
    if (bears(b.inverse_mass)) {
        reactions[edge.head] -= vec4<f32>(clock.force * borne(edge.head, b.inverse_mass, pull), 0.0);
    }
}
