// One inextensible edge, as every projection sees it. Goldenthal et al. (2007), eq. (1), taken as a length:
// C = |d| − L, with ∂C/∂x_head = n = d/|d| and ∂C/∂x_tail = −n. L is the end of the stretch band that is nearest to
// |d|; with the default band of width 0 it is the rest length. A file that shares this one declares `vertices` and
// `displacements`.

// From one vertex to another at the end of the substep [m]. Displacements are small and positions are not: their
// differences are taken apart.
fn between(tail: u32, head: u32) -> vec3<f32> {
    return (vertices[head].position - vertices[tail].position) + (displacements[head].xyz - displacements[tail].xyz);
}

// Length that an edge should have: the end of its stretch band nearest to `length` [m].
fn banded_length(length: f32, rest: f32) -> f32 {
    return clamp(length, frame.stretch_min * rest, frame.stretch_max * rest);
}

// An edge strictly inside its band is left alone; with the default band of width 0 none is.
fn in_band(length: f32, rest: f32) -> bool {
    return length > frame.stretch_min * rest && length < frame.stretch_max * rest;
}

// w = n·(W_tail + W_head) n [1/kg], or 0 where the edge is to be left alone.
struct Stretch { d: vec3<f32>, extent: f32, n: vec3<f32>, wanted: f32, w: f32 }

fn stretch_of(edge: Link) -> Stretch {
    let stretch = length_of(edge);
    // A collapsed edge has no direction; one within its band is bitwise untouched.
    if (stretch.extent < COLLAPSED * edge.rest || in_band(stretch.extent, edge.rest)) {
        return stretch;
    }
    return aimed(stretch, edge);
}

// The same of an edge with a law of its own, which knows no band.
fn bare_stretch_of(edge: Link) -> Stretch {
    let stretch = length_of(edge);
    if (stretch.extent < COLLAPSED * edge.rest) {
        return stretch;
    }
    return aimed(stretch, edge);
}

fn length_of(edge: Link) -> Stretch {
    var stretch: Stretch;
    stretch.d = between(edge.tail, edge.head);
    stretch.extent = length(stretch.d);
    stretch.wanted = banded_length(stretch.extent, edge.rest);
    return stretch;
}

// With a direction, and w where something can be done.
fn aimed(given: Stretch, edge: Link) -> Stretch {
    var stretch = given;
    stretch.n = stretch.d * (1.0 / stretch.extent);
    let tail = vertices[edge.tail].inverse_mass;
    let head = vertices[edge.head].inverse_mass;
    let w = inverse_mass_along(edge.tail, tail, stretch.n) + inverse_mass_along(edge.head, head, stretch.n);
    // Where neither end can move along the edge, nothing can be done about it.
    if (w > STUCK * (tail + head)) {
        stretch.w = w;
    }
    return stretch;
}
