// Warm start of fast projection in the residual form: the multipliers μ of the substep before are the first guess, and
// the momentum balance F = m (u − u*) + Jᵀ μ is kept as a residual, with the diagonal of the geometric stiffness in
// H = m + γ Σ max(μ, 0)/l.

struct FastProjectionLive { step_clamp: f32, slack: f32, warm_start: f32, tolerance: f32 }

@group(0) @binding(20) var<uniform> fast_projection: FastProjectionLive;
@group(0) @binding(0) var<storage, read> edges: array<Link>;
@group(0) @binding(1) var<storage, read> edge_incidence: array<u32>;
@group(0) @binding(2) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(3) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> predictions: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> multipliers: array<f32>;
@group(0) @binding(6) var<storage, read_write> warm_vertices: array<Vertex>;
@group(0) @binding(7) var<storage, read> directions: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> pulls: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read_write> residuals: array<f32>;
@group(0) @binding(10) var<storage, read> solutions: array<f32>;
@group(0) @binding(11) var<storage, read_write> reactions: array<vec4<f32>>;

// Keeps the prediction u* that F refers to.
@compute @workgroup_size(GROUP)
fn keep_prediction(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    predictions[v] = displacements[v];
}

// First guess: the multipliers of the substep before, for this one's span; nothing after a substep that missed its
// limit, a teleport or an impulse, or where an edge's load is large.
@compute @workgroup_size(GROUP)
fn carry_multiplier(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    // The load s of this edge alone.
    let largest = LARGEST_LOAD * frame.mean_mass * edges[e].rest;
    if (clock.previous > 0.0 && abs(multipliers[e]) <= largest) {
        multipliers[e] *= (clock.h / clock.previous) * (clock.h / clock.previous);
    } else {
        // Not by a factor of 0: what a rejected substep left may not be finite.
        multipliers[e] = 0.0;
    }
}

// (Jᵀ μ) of one vertex.
fn carried_pull(v: u32) -> vec3<f32> {
    var force = vec3<f32>();
    for (var k = edge_incidence[v]; k < edge_incidence[v + 1u]; k++) {
        let entry = edge_incidence[k];
        force += (select(-1.0, 1.0, (entry & 1u) == 1u) * multipliers[entry / 2u]) * directions[entry / 2u].xyz;
    }
    return force;
}

// Pins bear what was carried over, along the directions of the last linearization.
@compute @workgroup_size(GROUP)
fn bear_multiplier(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end || vertices[v].inverse_mass > 0.0) {
        return;
    }
    reactions[v] -= vec4<f32>(clock.force * carried_pull(v), 0.0);
}

// 1/H in the place of the inverse mass, and the shortest edge of a vertex.
@compute @workgroup_size(GROUP)
fn soften(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let vertex = vertices[v];
    var inverse = 0.0;
    var shortest = FAR;
    if (vertex.inverse_mass > 0.0) {
        var stiffness = 1.0 / vertex.inverse_mass;
        for (var k = edge_incidence[v]; k < edge_incidence[v + 1u]; k++) {
            let e = edge_incidence[k] / 2u;
            stiffness += fast_projection.warm_start * max(multipliers[e], 0.0) / edges[e].rest;
            shortest = min(shortest, edges[e].rest);
        }
        inverse = 1.0 / stiffness;
    }
    warm_vertices[v] = Vertex(vertex.position, inverse);
    predictions[v].w = shortest;
}

// u −= H⁻¹ F, no further than a part of the shortest edge; the motion stays in `pulls`.
@compute @workgroup_size(GROUP)
fn relax(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var force = carried_pull(v);
    let inverse_mass = vertices[v].inverse_mass;
    var way = vec3<f32>();
    if (inverse_mass > 0.0) {
        force += (displacements[v].xyz - predictions[v].xyz) / inverse_mass;
        way = warm_vertices[v].inverse_mass * force;
        let most = fast_projection.step_clamp * predictions[v].w;
        let extent = length(way);
        way = select(way, way * (most / extent), extent > most);
        displacements[v] -= vec4<f32>(way, 0.0);
    }
    pulls[v] = vec4<f32>(way, 0.0);
}

// r = C − J H⁻¹ F.
@compute @workgroup_size(GROUP)
fn warm_residual(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    residuals[e] -= dot(directions[e].xyz, pulls[edges[e].head].xyz - pulls[edges[e].tail].xyz);
}

// μ += δμ.
@compute @workgroup_size(GROUP)
fn note_multiplier(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    multipliers[e] += solutions[e];
}
