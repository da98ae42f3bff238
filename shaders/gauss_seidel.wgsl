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
    let w = a.inverse_mass + b.inverse_mass;
    let d = (b.position - a.position) + (displacements[edge.head].xyz - displacements[edge.tail].xyz);
    let extent = length(d);
    let wanted = banded_length(extent, edge.rest);
    // A collapsed edge has no direction; an edge in its band stays bitwise untouched.
    if (w == 0.0 || extent < 1e-6 * edge.rest || extent == wanted) {
        return;
    }
    let pull = ((extent - wanted) / (w * extent)) * d;
    displacements[edge.tail] += vec4<f32>(apply_inverse_mass(a.inverse_mass, pull), 0.0);
    displacements[edge.head] -= vec4<f32>(apply_inverse_mass(b.inverse_mass, pull), 0.0);
    tensions[e] += ((extent - wanted) / w) * clock.force;
    let force = vec4<f32>(clock.force * pull, 0.0); // mean over the frame
    if (a.inverse_mass == 0.0) {
        reactions[edge.tail] += force;
    }
    if (b.inverse_mass == 0.0) {
        reactions[edge.head] -= force;
    }
}
