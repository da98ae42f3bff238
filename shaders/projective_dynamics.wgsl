// Projective dynamics: see src/solver/projective_dynamics.rs. Stiffness comes times τ² [kg], so that forces are pulls
// [kg·m].

struct ProjectiveDynamicsLive { stiffness: f32, triangles: f32, tolerance: f32, padding: f32 }

@group(0) @binding(20) var<uniform> projective_dynamics: ProjectiveDynamicsLive;
@group(0) @binding(21) var<storage, read_write> totals: array<vec4<f32>>; // sums
@group(0) @binding(0) var<storage, read> edges: array<Link>;
@group(0) @binding(16) var<storage, read_write> edge_weights: array<f32>;
@group(0) @binding(1) var<storage, read> edge_incidence: array<u32>;
@group(0) @binding(2) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(3) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> edge_pulls: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> inertial: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> motions: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> vertex_pulls: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> projective_scales: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read_write> projective_residuals: array<vec4<f32>>;
@group(0) @binding(10) var<storage, read> projective_searches: array<vec4<f32>>;
@group(0) @binding(11) var<storage, read_write> projective_products: array<vec4<f32>>;
@group(0) @binding(12) var<storage, read> projective_solutions: array<vec4<f32>>;
@group(0) @binding(13) var<storage, read_write> partials: array<vec2<f32>>;
@group(0) @binding(14) var<storage, read_write> reactions: array<vec4<f32>>;
@group(0) @binding(15) var<storage, read_write> tensions: array<f32>;

// τ² k of an edge without a law of its own [kg]: as named, or such that a load of 1 takes a part of the limit.
fn edge_weight() -> f32 {
    if (projective_dynamics.stiffness > 0.0) {
        return clock.span * clock.span * projective_dynamics.stiffness;
    }
    return frame.mean_mass / (PART * frame.least_limit);
}

// The same of any edge. First argument of the dispatch: 1 if some edges have laws of their own.
fn weight_of(e: u32) -> f32 {
    if (range.arguments.x == 1u) {
        return edge_weights[e];
    }
    return edge_weight();
}

// Mass that the system has at a free vertex: a spring that holds it adds to it [kg].
fn system_mass(v: u32) -> f32 {
    let mass = 1.0 / vertices[v].inverse_mass;
    if (softly(v)) {
        return mass / constraints[v].w;
    }
    return mass;
}

// What edges pull at a vertex.
fn pull_of_edges(v: u32) -> vec3<f32> {
    var pull = vec3<f32>();
    for (var k = edge_incidence[v]; k < edge_incidence[v + 1u]; k++) {
        let entry = edge_incidence[k];
        pull += select(1.0, -1.0, (entry & 1u) == 1u) * edge_pulls[entry / 2u].xyz;
    }
    return pull;
}

// Starts a round: where inertia would have the vertex, without what earlier rounds of the substep did. Argument: 1 if
// there were any.
@compute @workgroup_size(GROUP)
fn begin_round(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var goal = displacements[v];
    if (range.arguments.x == 1u) {
        goal -= motions[v];
    }
    inertial[v] = goal;
}

// The inverse diagonal of the system. Arguments of this and all that follow: 1 if some edges have laws of their own; 1
// if there are triangles.
@compute @workgroup_size(GROUP)
fn scale_global(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var scale = 0.0;
    if (vertices[v].inverse_mass > 0.0) {
        var diagonal = system_mass(v);
        for (var k = edge_incidence[v]; k < edge_incidence[v + 1u]; k++) {
            diagonal += weight_of(edge_incidence[k] / 2u);
        }
        if (range.arguments.y == 1u) {
            diagonal += vertex_pulls[v].w;
        }
        scale = 1.0 / diagonal;
    }
    projective_scales[v] = vec4<f32>(vec3<f32>(scale), 0.0);
}

// Takes back what the last round of the substep added to what pins, holds and contacts bear.
@compute @workgroup_size(GROUP)
fn forget_borne(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end || !bears(vertices[v].inverse_mass)) {
        return;
    }
    reactions[v] -= vec4<f32>(clock.force * borne(v, vertices[v].inverse_mass, vertex_pulls[v].xyz), 0.0);
}

// The pull of an edge by its size at this length: along its vector d.
fn pull_along(edge: Link, d: vec3<f32>, extent: f32, size: f32) -> vec4<f32> {
    // A collapsed edge has no direction, and one between two pins moves nothing.
    if (extent < COLLAPSED * edge.rest || vertices[edge.tail].inverse_mass + vertices[edge.head].inverse_mass == 0.0) {
        return vec4<f32>();
    }
    return vec4<f32>((size / extent) * d, size);
}

// The local step of an edge: its vector goes to the nearest one of a length in its band. Arguments: 1 to take back the
// tension of the last round; 1 to add this one's.
@compute @workgroup_size(GROUP)
fn project_locally(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    if (range.arguments.x == 1u) {
        tensions[e] -= clock.force * edge_pulls[e].w;
    }
    let edge = edges[e];
    let d = between(edge.tail, edge.head);
    let extent = length(d);
    let pull = pull_along(edge, d, extent, edge_weight() * (extent - banded_length(extent, edge.rest)));
    edge_pulls[e] = pull;
    if (range.arguments.y == 1u) {
        tensions[e] += clock.force * pull.w;
    }
}

// The same where edges have laws of their own: to the rest length with the stiffness of the law, and beyond an end to
// that end, with the stiffness of ends, which counts in the system only there. Multipliers are what the edges were
// pulled with last; arguments: 0; 1 to take what they are pulled with now.
@compute @workgroup_size(GROUP)
fn project_lawfully(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    let edge = edges[e];
    let law = edge_laws[e];
    let d = between(edge.tail, edge.head);
    let extent = length(d);
    var weight = edge_weight();
    var size = weight * (extent - banded_length(extent, edge.rest));
    if (is_own(law)) {
        let ended = clamp(extent, law.least * edge.rest, law.most * edge.rest);
        size = firmness_of(law) * (extent - edge.rest) + weight * (extent - ended);
        weight = firmness_of(law) + select(0.0, weight, ended != extent);
    }
    edge_weights[e] = weight;
    let pull = pull_along(edge, d, extent, size);
    edge_laws[e].multiplier = select(edge_pulls[e].w, pull.w, range.arguments.y == 1u);
    edge_pulls[e] = pull;
}

// r = S (E − M (u − û)): minus the gradient of the objective.
@compute @workgroup_size(GROUP)
fn global_residual(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var residual = vec3<f32>();
    if (vertices[v].inverse_mass > 0.0) {
        var pull = pull_of_edges(v);
        if (range.arguments.y == 1u) {
            pull += vertex_pulls[v].xyz;
        }
        residual = filtered(v, pull - system_mass(v) * (displacements[v].xyz - inertial[v].xyz));
    }
    projective_residuals[v] = vec4<f32>(residual, 0.0);
}

// Where the solve ends: at a part of the norm that it starts with.
@compute @workgroup_size(1)
fn aim_global() {
    if (!running()) {
        return;
    }
    totals[PREVIOUS].z = projective_dynamics.tolerance * projective_dynamics.tolerance * totals[RESIDUAL].y;
}

// The part of edges that have laws of their own, and of all others, in the product, beside that of triangles.
@compute @workgroup_size(GROUP)
fn apply_lawful_edges(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var product = vec3<f32>();
    if (range.arguments.y == 1u) {
        product = vertex_pulls[v].xyz;
    }
    let here = projective_searches[v].xyz;
    for (var k = edge_incidence[v]; k < edge_incidence[v + 1u]; k++) {
        let entry = edge_incidence[k];
        let edge = edges[entry / 2u];
        let other = projective_searches[select(edge.head, edge.tail, (entry & 1u) == 1u)].xyz;
        product += edge_weights[entry / 2u] * (here - other);
    }
    vertex_pulls[v] = vec4<f32>(product, vertex_pulls[v].w);
}

// q = S (M + τ² L) p, L the Laplacian with the stiffness of edges and triangles, and the leaves of p·q. Argument: 1 if
// `apply_lawful_edges` came before.
@compute @workgroup_size(GROUP)
fn apply_global(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let v = element(invocation);
    var curvature = 0.0;
    if (v < range.end) {
        var product = vec3<f32>();
        if (vertices[v].inverse_mass > 0.0) {
            let here = projective_searches[v].xyz;
            product = system_mass(v) * here;
            if (range.arguments.x == 0u) {
                var apart = vec3<f32>();
                for (var k = edge_incidence[v]; k < edge_incidence[v + 1u]; k++) {
                    let entry = edge_incidence[k];
                    let edge = edges[entry / 2u];
                    apart += here - projective_searches[select(edge.head, edge.tail, (entry & 1u) == 1u)].xyz;
                }
                product += edge_weight() * apart;
            }
            if (range.arguments.x == 1u || range.arguments.y == 1u) {
                product += vertex_pulls[v].xyz;
            }
            product = filtered(v, product);
            curvature = dot(here, product);
        }
        projective_products[v] = vec4<f32>(product, 0.0);
    }
    let total = group_sum(vec2<f32>(curvature, 0.0), invocation.lane);
    if (invocation.lane == 0u && v < range.end) {
        partials[group_index(invocation)] = total;
    }
}

// u += the solution, and how far the substep's rounds have moved it together.
@compute @workgroup_size(GROUP)
fn apply_global_step(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let moved = displacements[v] + projective_solutions[v];
    displacements[v] = moved;
    motions[v] = moved - inertial[v];
}

// What pins, holds and contacts bear of the pulls at the end of a round.
@compute @workgroup_size(GROUP)
fn bear_round(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var pull = pull_of_edges(v);
    if (range.arguments.y == 1u) {
        pull += vertex_pulls[v].xyz;
    }
    vertex_pulls[v] = vec4<f32>(pull, vertex_pulls[v].w);
    let inverse_mass = vertices[v].inverse_mass;
    if (bears(inverse_mass)) {
        reactions[v] += vec4<f32>(clock.force * borne(v, inverse_mass, pull), 0.0);
    }
}
