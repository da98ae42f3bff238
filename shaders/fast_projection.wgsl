// Fast projection, eqs. (5)–(7): A μ = C with A = J W Jᵀ and μ = h²δλ (h cancels), then u −= W Jᵀ μ.
// C = (|d|² − l²)/(2l), ∂C/∂x_head = q = d/l; a strongly compressed edge uses C = |d| − l, q = d/|d| instead, because
// the quadratic form overshoots by l/(2|d|) there.

struct FastProjectionLive { step_clamp: f32, slack: f32, warm_start: f32, tolerance: f32 }

@group(0) @binding(20) var<uniform> fast_projection: FastProjectionLive;
@group(0) @binding(0) var<storage, read> edges: array<Link>;
@group(0) @binding(1) var<storage, read> edge_incidence: array<u32>;
@group(0) @binding(2) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(3) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> directions: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> pulls: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> residuals: array<f32>;
@group(0) @binding(7) var<storage, read_write> solutions: array<f32>;
@group(0) @binding(8) var<storage, read_write> searches: array<f32>;
@group(0) @binding(9) var<storage, read_write> products: array<f32>;
@group(0) @binding(10) var<storage, read_write> reactions: array<vec4<f32>>;
@group(0) @binding(12) var<storage, read_write> totals: array<vec4<f32>>; // sums
@group(0) @binding(11) var<storage, read_write> partials: array<vec2<f32>>;

// Constraint, direction and diagonal of one edge. Inactive edges get an empty row.
@compute @workgroup_size(GROUP)
fn linearize(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    let stretch = stretch_of(edges[e]);
    var direction = vec4<f32>();
    var residual = 0.0;
    if (stretch.w > 0.0) {
        if (stretch.extent < COMPRESSED * stretch.wanted) {
            direction = vec4<f32>(stretch.n, 1.0 / stretch.w);
            residual = stretch.extent - stretch.wanted;
        } else {
            let q = stretch.d / stretch.wanted;
            direction = vec4<f32>(q, 1.0 / (stretch.w * dot(q, q)));
            residual = 0.5 * (stretch.extent - stretch.wanted) * (stretch.extent + stretch.wanted) / stretch.wanted;
        }
    }
    directions[e] = direction;
    residuals[e] = residual;
}

// Where the linear solve ends: at a part of the norm that it starts with.
@compute @workgroup_size(1)
fn aim_projection() {
    if (!running()) {
        return;
    }
    totals[PREVIOUS].z = fast_projection.tolerance * fast_projection.tolerance * totals[RESIDUAL].y;
}

// First half of A p: y = W Jᵀ p, of the edges between the two arguments.
@compute @workgroup_size(GROUP)
fn gather_pulls(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var pull = vec3<f32>();
    for (var k = edge_incidence[v]; k < edge_incidence[v + 1u]; k++) {
        let entry = edge_incidence[k];
        if (entry / 2u >= range.arguments.x && entry / 2u < range.arguments.y) {
            pull += (select(-1.0, 1.0, (entry & 1u) == 1u) * searches[entry / 2u]) * directions[entry / 2u].xyz;
        }
    }
    pulls[v] = vec4<f32>(apply_inverse_mass(v, vertices[v].inverse_mass, pull), 0.0);
}

// Second half: q = J y, and the leaves of p·q.
@compute @workgroup_size(GROUP)
fn apply_operator(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let e = element(invocation);
    var curvature = 0.0;
    if (e < range.end) {
        let edge = edges[e];
        let product = dot(directions[e].xyz, pulls[edge.head].xyz - pulls[edge.tail].xyz);
        products[e] = product;
        curvature = searches[e] * product;
    }
    let total = group_sum(vec2<f32>(curvature, 0.0), invocation.lane);
    if (invocation.lane == 0u && e < range.end) {
        partials[group_index(invocation)] = total;
    }
}

// Schur form: the residual after the second family was solved exactly; 0 there. Argument: edges of the first family.
@compute @workgroup_size(GROUP)
fn settle_residual(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    residuals[e] = select(0.0, residuals[e] - products[e], e < range.arguments.x);
}

// u −= W Jᵀ μ, no vertex further than a part of its shortest edge; pins bear Jᵀ μ/h².
@compute @workgroup_size(GROUP)
fn apply_multipliers(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let inverse_mass = vertices[v].inverse_mass;
    var pull = vec3<f32>();
    var shortest = FAR;
    for (var k = edge_incidence[v]; k < edge_incidence[v + 1u]; k++) {
        let entry = edge_incidence[k];
        pull -= (select(-1.0, 1.0, (entry & 1u) == 1u) * solutions[entry / 2u]) * directions[entry / 2u].xyz;
        shortest = min(shortest, edges[entry / 2u].rest);
    }
    if (inverse_mass > 0.0) {
        let way = apply_inverse_mass(v, inverse_mass, pull);
        let extent = length(way);
        let most = fast_projection.step_clamp * shortest;
        displacements[v] += vec4<f32>(select(way, way * (most / extent), extent > most), 0.0);
    }
    if (bears(inverse_mass)) {
        reactions[v] += vec4<f32>(clock.force * borne(v, inverse_mass, pull), 0.0);
    }
}
