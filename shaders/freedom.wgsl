// What vertices may do: S and W = S/m of Baraff & Witkin (1998), eq. 13, and what is left for pins, holds and contacts
// to bear.

// What touches a vertex: normal, 1 + number of the solid or 0, the reaction at which it withholds nothing, speed along
// the normal after the step.
struct Contact { normal: vec3<f32>, solid: u32, base: vec3<f32>, leaving: f32 }

// What holds and contacts leave of a vertex's motion; read only where frame.constrained says that there is any.
@group(0) @binding(104) var<storage, read> constraints: array<vec4<f32>>;

// What a constraint leaves of a motion, S of Baraff & Witkin (1998, eq. 13): (n, 1) leaves what is across n, everything
// where n = 0; (n, 0) leaves what is along n, nothing where n = 0.
fn left_by(constraint: vec4<f32>, motion: vec3<f32>) -> vec3<f32> {
    return constraint.w * motion + ((1.0 - 2.0 * constraint.w) * dot(constraint.xyz, motion)) * constraint.xyz;
}

// How much heavier a hold makes a vertex, as a part of its mass: τ² k/m by a spring of k N/m, which is (0, −k).
fn heavier(hold: vec4<f32>, inverse_mass: f32) -> f32 {
    return (clock.span * clock.span) * (max(-hold.w, 0.0) * inverse_mass);
}

// What a hold makes of a vertex in this substep. A spring forbids nothing: S = I/(1 + τ² k/m), so that S/m is
// 1/(m + τ² k).
fn limited_by(hold: vec4<f32>, inverse_mass: f32) -> vec4<f32> {
    if (hold.w < 0.0) {
        return vec4<f32>(0.0, 0.0, 0.0, 1.0 / (1.0 + heavier(hold, inverse_mass)));
    }
    return hold;
}

// What a hold forbids outright.
fn rigid(hold: vec4<f32>) -> vec4<f32> {
    return select(hold, vec4<f32>(0.0, 0.0, 0.0, 1.0), hold.w < 0.0);
}

// Whether a spring holds the vertex and nothing else does.
fn softly(v: u32) -> bool {
    return frame.constrained != 0u && constraints[v].w > 0.0 && constraints[v].w < 1.0;
}

// What the constraint of a vertex leaves of a force: a spring leaves all of it, it only adds to the mass.
fn filtered(v: u32, force: vec3<f32>) -> vec3<f32> {
    if (softly(v)) {
        return force;
    }
    return allowed(v, force);
}

// What the constraint of a vertex leaves of its motion.
fn allowed(v: u32, motion: vec3<f32>) -> vec3<f32> {
    if (frame.constrained == 0u) {
        return motion;
    }
    return left_by(constraints[v], motion);
}

// W = S/m applied to a pull [kg·m]: the displacement [m]. The one place where mass becomes motion.
fn apply_inverse_mass(v: u32, inverse_mass: f32, pull: vec3<f32>) -> vec3<f32> {
    return allowed(v, inverse_mass * pull);
}

// n·W n for a unit direction [1/kg].
fn inverse_mass_along(v: u32, inverse_mass: f32, n: vec3<f32>) -> f32 {
    if (frame.constrained == 0u) {
        return inverse_mass;
    }
    return inverse_mass * dot(n, allowed(v, n));
}

// What a pull leaves to a pin or a constraint to bear.
fn borne(v: u32, inverse_mass: f32, pull: vec3<f32>) -> vec3<f32> {
    if (inverse_mass == 0.0) {
        return pull;
    }
    return pull - allowed(v, pull);
}

// Whether a vertex bears anything.
fn bears(inverse_mass: f32) -> bool {
    return inverse_mass == 0.0 || frame.constrained != 0u;
}
