// Implicit elasticity of the predictor: (M − τ² K) y = τ² (f + K u), u += y, with u the prediction without the springs,
// τ the span of the substep, f and K = ∂f/∂x of the springs at its start (Baraff & Witkin 1998, eq. 15–16, in
// displacements).

// What may be left of a solve: a part of M y per second of the step, and no more than that part; a change of the
// cloth's speed relative to that speed [1/s]; r·r over τ⁴ [N²]. Then the time by which stiffness damps [s], and
// whether `bend_forces` say anything.
struct Elastic { tolerance: f32, loosest: f32, rate: f32, floor: f32, damping: f32, bends: u32, padding: vec2<u32> }

@group(0) @binding(20) var<uniform> elastic: Elastic;
@group(0) @binding(21) var<storage, read_write> totals: array<vec4<f32>>; // sums
@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read> springs: array<Link>;
@group(0) @binding(2) var<storage, read> spring_incidence: array<u32>;
@group(0) @binding(3) var<storage, read_write> spring_directions: array<vec4<f32>>; // a; what acts across it
@group(0) @binding(4) var<storage, read> searches: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> products: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> elastic_scales: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read> elastic_solutions: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read_write> partials: array<vec2<f32>>;
@group(0) @binding(10) var<storage, read_write> elastic_forces: array<vec4<f32>>;
@group(0) @binding(11) var<storage, read_write> reactions: array<vec4<f32>>;
@group(0) @binding(12) var<storage, read_write> elastic_motions: array<vec4<f32>>;
@group(0) @binding(13) var<storage, read_write> elastic_residuals: array<vec4<f32>>;
@group(0) @binding(14) var<storage, read> bend_forces: array<vec4<f32>>;

// (K p) of one vertex.
fn stiffness_force(v: u32) -> vec3<f32> {
    let here = searches[v].xyz;
    var force = vec3<f32>();
    for (var k = spring_incidence[v]; k < spring_incidence[v + 1u]; k += 2u) {
        let n = spring_directions[spring_incidence[k] / 2u];
        let d = searches[spring_incidence[k + 1u]].xyz - here;
        force += dot(n.xyz, d) * n.xyz + n.w * d;
    }
    if (elastic.bends != 0u) {
        force += bend_forces[v].xyz;
    }
    return force;
}

// What stiffness is multiplied by: τ² + β τ, with the damping.
fn damped() -> f32 {
    return clock.span * clock.span + elastic.damping * clock.span;
}

// Direction of a spring times the root of what acts along it, and what acts across it: k (1 − l/|d|), not below 0 so
// that K stays definite.
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
        let across = spring.stiffness * max(1.0 - spring.rest / extent, 0.0);
        direction = vec4<f32>((sqrt(spring.stiffness - across) / extent) * d, across);
    }
    spring_directions[e] = direction;
}

// Scales: 1/diagonal of M − τ² K and the mass; 0 for a pinned vertex, one for all directions where S may couple them.
// Motions: u starts where the springs moved it in the substep before, if that was a good one.
// Forces: f becomes f − M y/τ².
// Summed up: |M (u − τ² g)|², what moves, and |M y|².
@compute @workgroup_size(GROUP)
fn start_elastic(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let v = element(invocation);
    var energy = vec2<f32>();
    if (v < range.end) {
        let square = clock.span * clock.span;
        let inverse_mass = vertices[v].inverse_mass;
        var scale = vec4<f32>();
        var motion = vec4<f32>();
        if (inverse_mass > 0.0) {
            let mass = 1.0 / inverse_mass;
            var stiffness = vec3<f32>(elastic_forces[v].w);
            for (var k = spring_incidence[v]; k < spring_incidence[v + 1u]; k += 2u) {
                let n = spring_directions[spring_incidence[k] / 2u];
                stiffness += n.xyz * n.xyz + vec3<f32>(n.w);
            }
            if (frame.constrained != 0u) {
                stiffness = vec3<f32>(max(max(stiffness.x, stiffness.y), stiffness.z));
            }
            scale = vec4<f32>(vec3<f32>(1.0) / (vec3<f32>(mass) + damped() * stiffness), mass);
            if (clock.previous > 0.0) {
                let ratio = clock.h / clock.previous;
                motion = (ratio * ratio) * elastic_motions[v];
            }
            let pull = mass * motion.xyz;
            let moving = mass * (displacements[v].xyz - square * frame.gravity);
            energy = vec2<f32>(dot(moving, moving), dot(pull, pull));
            elastic_forces[v] -= vec4<f32>(pull / square, 0.0);
        }
        elastic_scales[v] = scale;
        elastic_motions[v] = motion;
        displacements[v] += motion;
    }
    let total = group_sum(energy, invocation.lane);
    if (invocation.lane == 0u && v < range.end) {
        partials[group_index(invocation)] = total;
    }
}

// Where the solve ends: its residual is judged by the motion of the cloth and by |M y|², which are in x and y of the
// curvature.
@compute @workgroup_size(1)
fn aim_elastic() {
    if (!running()) {
        return;
    }
    let start = totals[RESIDUAL];
    let square = clock.span * clock.span;
    let tolerance = min(elastic.tolerance * clock.span, elastic.loosest);
    let rate = elastic.rate * clock.span;
    let seen = min(tolerance * tolerance * max(start.y, totals[CURVATURE].y), rate * rate * totals[CURVATURE].x);
    totals[PREVIOUS].z = max(seen, elastic.floor * square * square);
}

// q = S (M − τ² K) p and the leaves of p·q. Nothing where a vertex is pinned.
@compute @workgroup_size(GROUP)
fn apply_stiffness(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let v = element(invocation);
    var curvature = 0.0;
    if (v < range.end) {
        let mass = elastic_scales[v].w;
        var product = vec3<f32>();
        if (mass > 0.0) {
            let here = searches[v].xyz;
            product = filtered(v, mass * here - damped() * stiffness_force(v));
            curvature = dot(here, product);
        }
        products[v] = vec4<f32>(product, 0.0);
    }
    let total = group_sum(vec2<f32>(curvature, 0.0), invocation.lane);
    if (invocation.lane == 0u && v < range.end) {
        partials[group_index(invocation)] = total;
    }
}

// r = S τ² (f + K u), f with what the start of the solve took from it. Nothing where a vertex is pinned. A spring that
// holds a vertex adds to its mass, which is known only now.
@compute @workgroup_size(GROUP)
fn elastic_residual(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var residual = vec3<f32>();
    let mass = elastic_scales[v].w;
    if (mass > 0.0) {
        residual = filtered(v, (clock.span * clock.span) * elastic_forces[v].xyz + damped() * stiffness_force(v));
        if (softly(v)) {
            let whole = mass / constraints[v].w;
            let diagonal = vec3<f32>(1.0) / elastic_scales[v].xyz + vec3<f32>(whole - mass);
            elastic_scales[v] = vec4<f32>(vec3<f32>(1.0) / diagonal, whole);
        }
    }
    elastic_residuals[v] = vec4<f32>(residual, 0.0);
}

// u += y.
@compute @workgroup_size(GROUP)
fn apply_elastic(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    displacements[v] += elastic_solutions[v];
    var kept = vec3<f32>();
    if (!softly(v)) {
        kept = allowed(v, elastic_motions[v].xyz + elastic_solutions[v].xyz);
    }
    elastic_motions[v] = vec4<f32>(kept, 0.0);
}

// A pin bears what the springs have become at the end of the prediction; the force at its start is counted elsewhere.
// Holds bear what they take of it all; contacts come later.
@compute @workgroup_size(GROUP)
fn bear_elastic(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end || !bears(vertices[v].inverse_mass)) {
        return;
    }
    let inverse_mass = vertices[v].inverse_mass;
    var force = (1.0 + elastic.damping / clock.span) * stiffness_force(v);
    if (inverse_mass > 0.0) {
        force += elastic_forces[v].xyz;
    }
    reactions[v] += vec4<f32>(borne(v, inverse_mass, force) / f32(clock.substeps), 0.0);
}
