// An edge with a law of its own: how its tension follows from its length. A file that shares this one shares `edge` or
// declares what that asks for.

// A spring of this stiffness between two ends, as parts of the rest length; most = 0: an edge as all others. The
// multiplier is tension times τ², since the start of the substep [kg·m].
struct EdgeLaw { stiffness: f32, least: f32, most: f32, multiplier: f32 }

@group(0) @binding(30) var<storage, read_write> edge_laws: array<EdgeLaw>;

// Whether an edge has a law of its own.
fn is_own(law: EdgeLaw) -> bool {
    return law.most > 0.0;
}

// Firmness κ = k τ² [kg].
fn firmness_of(law: EdgeLaw) -> f32 {
    return law.stiffness * (clock.span * clock.span);
}

// What the spring alone asks for [kg·m], with w = n·(W_tail + W_head) n: (κ C − λ)/(κ w + 1).
fn spring_pull(law: EdgeLaw, extent: f32, rest: f32, w: f32) -> f32 {
    let firmness = firmness_of(law);
    return (firmness * (extent - rest) - law.multiplier) / (firmness * w + 1.0);
}

// Where an edge of this length would be left by its spring: beyond its upper end (1), its lower end (−1) or between
// them (0). Within `margin` of its rest length from an end it counts as beyond it.
fn side_of(law: EdgeLaw, extent: f32, rest: f32, w: f32, margin: f32) -> f32 {
    let left = extent - w * spring_pull(law, extent, rest, w);
    if (left > (law.most - margin) * rest) {
        return 1.0;
    }
    return select(0.0, -1.0, left < (law.least + margin) * rest);
}

// The pull that brings an edge onto its law [kg·m].
fn lawful_pull(law: EdgeLaw, extent: f32, rest: f32, w: f32) -> f32 {
    let side = side_of(law, extent, rest, w, 0.0);
    if (side == 0.0) {
        return spring_pull(law, extent, rest, w);
    }
    return (extent - select(law.least, law.most, side > 0.0) * rest) / w;
}

// How far an edge is from its law, as a part of its rest length: between its ends `times` what its own projection would
// change about its length.
fn unsolved(law: EdgeLaw, extent: f32, rest: f32, w: f32, times: f32) -> f32 {
    let weight = select(1.0, times, side_of(law, extent, rest, w, 0.0) == 0.0);
    return weight * abs(w * lawful_pull(law, extent, rest, w)) / rest;
}

// A row of a linear system of edges: x what is to be 0 [m], y what is added to its diagonal [1/kg]. With C = |d| − l
// the spring is (J W Jᵀ + 1/κ) μ = C − λ/κ, and without firmness μ = −λ. Slack is strain beyond the upper end that the
// edge may keep.
fn lawful_row(law: EdgeLaw, extent: f32, rest: f32, w: f32, slack: f32) -> vec2<f32> {
    let side = side_of(law, extent, rest, w, MARGIN);
    if (side > 0.0) {
        return vec2<f32>(extent - (law.most + max(slack, 0.0)) * rest, 0.0);
    }
    if (side < 0.0) {
        return vec2<f32>(extent - law.least * rest, 0.0);
    }
    let firmness = firmness_of(law);
    let compliance = 1.0 / max(firmness, SOFTEST / w);
    return vec2<f32>((firmness * compliance) * (extent - rest) - compliance * law.multiplier, compliance);
}
