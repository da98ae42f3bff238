// Bending forces and their stiffness (src/mesh/bending.rs): pairs of vertices with signed weights where the cloth is
// flat at rest, hinges where it is curved.

struct HingeRow { vertices: vec4<u32>, rest: f32, stiffness: f32, padding: vec2<u32> }
// Of φ at each corner, times √k; w of the first: √k (φ − φ_0).
struct HingeGradients { corners: array<vec4<f32>, 4> }

@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
// bend_incidence is CSR: other end and weight as bits, or hinge << 2 | corner.
@group(0) @binding(1) var<storage, read> bend_incidence: array<u32>;
@group(0) @binding(2) var<storage, read_write> forces: array<vec4<f32>>; // w: diagonal of the stiffness
@group(0) @binding(3) var<storage, read> searches: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> bend_forces: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> hinges: array<HingeRow>;
@group(0) @binding(6) var<storage, read_write> hinge_gradients: array<HingeGradients>;
@group(0) @binding(7) var<storage, read_write> hinge_products: array<f32>;

// f = Σ w (x_j − x_i).
@compute @workgroup_size(GROUP)
fn gather_pairs(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let here = vertices[v].position;
    var force = vec4<f32>();
    for (var k = bend_incidence[v]; k < bend_incidence[v + 1u]; k += 2u) {
        let weight = bitcast<f32>(bend_incidence[k + 1u]);
        force += vec4<f32>(weight * (vertices[bend_incidence[k]].position - here), weight);
    }
    forces[v] += force;
}

// K p = Σ w (p_j − p_i).
@compute @workgroup_size(GROUP)
fn bend_pairs(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let here = searches[v].xyz;
    var force = vec3<f32>();
    for (var k = bend_incidence[v]; k < bend_incidence[v + 1u]; k += 2u) {
        force += bitcast<f32>(bend_incidence[k + 1u]) * (searches[bend_incidence[k]].xyz - here);
    }
    bend_forces[v] = vec4<f32>(force, 0.0);
}

// φ = 2 tan(θ/2) of a hinge and its gradient; nothing where a triangle is degenerate or the fold too sharp.
@compute @workgroup_size(GROUP)
fn linearize_hinge(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    let hinge = hinges[e];
    let tail = vertices[hinge.vertices.x].position;
    let edge = vertices[hinge.vertices.y].position - tail;
    let left = vertices[hinge.vertices.z].position - tail;
    let right = vertices[hinge.vertices.w].position - tail;
    let left_normal = cross(edge, left);
    let right_normal = cross(right, edge);
    let edge_square = dot(edge, edge);
    let left_square = dot(left_normal, left_normal);
    let right_square = dot(right_normal, right_normal);
    let extent = sqrt(edge_square);
    let lengths = sqrt(left_square * right_square);
    let below = lengths + dot(left_normal, right_normal);
    let narrow = NARROWEST * edge_square;
    let sound = left_square > narrow * dot(left, left) && right_square > narrow * dot(right, right);
    if (!(sound && below > SHARPEST * lengths)) {
        for (var corner = 0u; corner < 4u; corner++) {
            hinge_gradients[e].corners[corner] = vec4<f32>();
        }
        return;
    }
    let angle = -2.0 * extent * dot(left_normal, right) / below;
    let slope = extent * (1.0 + 0.25 * angle * angle);
    let left_pull = left_normal * (slope / left_square);
    let right_pull = right_normal * (slope / right_square);
    let left_foot = dot(left, edge) / edge_square;
    let right_foot = dot(right, edge) / edge_square;
    let root = sqrt(hinge.stiffness);
    let at_tail = left_pull * (1.0 - left_foot) + right_pull * (1.0 - right_foot);
    hinge_gradients[e].corners[0] = vec4<f32>(root * at_tail, root * (angle - hinge.rest));
    hinge_gradients[e].corners[1] = vec4<f32>(root * (left_pull * left_foot + right_pull * right_foot), 0.0);
    hinge_gradients[e].corners[2] = vec4<f32>(-root * left_pull, 0.0);
    hinge_gradients[e].corners[3] = vec4<f32>(-root * right_pull, 0.0);
}

// f = −k (φ − φ_0) ∇φ.
@compute @workgroup_size(GROUP)
fn gather_hinges(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var force = vec4<f32>();
    for (var k = bend_incidence[v]; k < bend_incidence[v + 1u]; k++) {
        let corner = bend_incidence[k];
        let gradient = hinge_gradients[corner / 4u].corners[corner % 4u].xyz;
        force += vec4<f32>(-hinge_gradients[corner / 4u].corners[0].w * gradient, dot(gradient, gradient));
    }
    forces[v] += force;
}

// First half of K p: √k ∇φ·p of a hinge.
@compute @workgroup_size(GROUP)
fn turn_hinge(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    let corners = hinges[e].vertices;
    hinge_products[e] = dot(hinge_gradients[e].corners[0].xyz, searches[corners.x].xyz)
        + dot(hinge_gradients[e].corners[1].xyz, searches[corners.y].xyz)
        + dot(hinge_gradients[e].corners[2].xyz, searches[corners.z].xyz)
        + dot(hinge_gradients[e].corners[3].xyz, searches[corners.w].xyz);
}

// Second half: K p = −Σ √k ∇φ (…), Gauss-Newton: the curvature of φ is left out, which keeps it definite.
@compute @workgroup_size(GROUP)
fn bend_hinges(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var force = vec3<f32>();
    for (var k = bend_incidence[v]; k < bend_incidence[v + 1u]; k++) {
        let corner = bend_incidence[k];
        force -= hinge_products[corner / 4u] * hinge_gradients[corner / 4u].corners[corner % 4u].xyz;
    }
    bend_forces[v] = vec4<f32>(force, 0.0);
}
