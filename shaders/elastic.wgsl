// Implicit elasticity of the predictor: (M − τ² K) y = τ² (f + K u), u += y, with u the prediction without the springs, τ the
// span of the substep, f and K = ∂f/∂x of the springs at its start (Baraff & Witkin 1998, eq. 15–16, in displacements).

@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read> springs: array<Link>;
@group(0) @binding(2) var<storage, read> spring_incidence: array<u32>;
@group(0) @binding(3) var<storage, read_write> spring_directions: array<vec4<f32>>; // n, and what acts across it
@group(0) @binding(4) var<storage, read> searches: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> products: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> elastic_scales: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read> elastic_solutions: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read_write> partials: array<vec2<f32>>;
@group(0) @binding(10) var<storage, read> elastic_forces: array<vec4<f32>>;
@group(0) @binding(11) var<storage, read_write> reactions: array<vec4<f32>>;

// (K p) of one vertex.
fn stiffness_force(v: u32) -> vec3<f32> {
    let here = searches[v].xyz;
    var force = vec3<f32>();
    for (var k = spring_incidence[v]; k < spring_incidence[v + 1u]; k++) {
        let entry = spring_incidence[k];
        let spring = springs[entry / 2u];
        let n = spring_directions[entry / 2u];
        let d = searches[select(spring.head, spring.tail, (entry & 1u) == 1u)].xyz - here;
        force += spring.stiffness * (((1.0 - n.w) * dot(n.xyz, d)) * n.xyz + n.w * d);
    }
    return force;
}

// Direction of a spring, and the part of its stiffness that acts across it: 1 − l/|d|, not below 0 so that K stays definite.
@compute @workgroup_size(GROUP)
fn linearize_spring(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    let spring = springs[e];
    let d = vertices[spring.head].position - vertices[spring.tail].position;
    let extent = length(d);
    var direction = vec4<f32>();
    if (extent > 0.0) {
        direction = vec4<f32>(d / extent, max(1.0 - spring.rest / extent, 0.0));
    }
    spring_directions[e] = direction;
}

// 1/diagonal of M − τ² K; 0 for a pinned vertex.
@compute @workgroup_size(GROUP)
fn gather_scale(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let inverse_mass = vertices[v].inverse_mass;
    var scale = vec3<f32>();
    if (inverse_mass > 0.0) {
        var stiffness = vec3<f32>();
        for (var k = spring_incidence[v]; k < spring_incidence[v + 1u]; k++) {
            let e = spring_incidence[k] / 2u;
            let n = spring_directions[e];
            stiffness += springs[e].stiffness * ((1.0 - n.w) * (n.xyz * n.xyz) + vec3<f32>(n.w));
        }
        scale = vec3<f32>(1.0) / (vec3<f32>(1.0 / inverse_mass) + (clock.span * clock.span) * stiffness);
    }
    elastic_scales[v] = vec4<f32>(scale, 0.0);
}

// Argument 0: q = (M − τ² K) p and the leaves of p·q. Argument 1: q = τ² (f + K p). Nothing where a vertex is pinned.
@compute @workgroup_size(GROUP)
fn apply_stiffness(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let v = element(invocation);
    var curvature = 0.0;
    if (v < range.end) {
        let inverse_mass = vertices[v].inverse_mass;
        var product = vec3<f32>();
        if (inverse_mass > 0.0 && range.arguments.x == 0u) {
            let here = searches[v].xyz;
            product = here / inverse_mass - (clock.span * clock.span) * stiffness_force(v);
            curvature = dot(here, product);
        } else if (inverse_mass > 0.0) {
            product = (clock.span * clock.span) * (elastic_forces[v].xyz + stiffness_force(v));
        }
        products[v] = vec4<f32>(product, 0.0);
    }
    let total = group_sum(vec2<f32>(curvature, 0.0), invocation.lane);
    if (invocation.lane == 0u && v < range.end) {
        partials[group_index(invocation)] = total;
    }
}

// u += y.
@compute @workgroup_size(GROUP)
fn apply_elastic(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    displacements[v] += elastic_solutions[v];
}

// A pin bears what the springs have become at the end of the prediction; the force at its start is counted elsewhere.
@compute @workgroup_size(GROUP)
fn bear_elastic(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end || vertices[v].inverse_mass > 0.0) {
        return;
    }
    reactions[v] += vec4<f32>(stiffness_force(v) / f32(clock.substeps), 0.0);
}
