// What kernels of self-collision share: the closest points of a vertex and a triangle and of two edges, and what is
// known of a pair. Twin of src/stage/self_collision/closest.rs.

// Thickness [m], friction, largest radius [m], motion that a substep should have at most [m]; vertices, triangles, room
// for pairs, buckets of triangles and of edges; 1 where tangles are resolved.
struct Clearance {
    thickness: f32, friction: f32, farthest: f32, stride: f32,
    vertices: u32, resolves: u32,
    triangles: u32, capacity: u32,
    triangle_buckets: u32, edge_buckets: u32,
}
// What one substep looks for: motion that all vertices have in common [m], radius within which pairs are listed [m],
// inverse size of the cells of triangles and of edges [1/m], pairs that are listed and those that were found, part of
// their ways that vertices may go, part of the upper half of their thickness that pairs give up, rounds of the substep.
struct Nearness {
    drift: vec3<f32>, radius: f32, inverse_cells: vec2<f32>, pairs: u32, demand: u32,
    part: f32, yielded: f32, rounds: u32, begun: u32,
}
// A pair at the start of the substep: normal from the second to the first part, distance along it [m], weights of the
// closest points, thickness that it keeps [m], kind.
struct Plane { normal: vec3<f32>, distance: f32, weights: vec2<f32>, thickness: f32, kind: u32 }

@group(0) @binding(110) var<uniform> clearance: Clearance;
@group(0) @binding(111) var<uniform> nearness: Nearness;

// Weights of the corners of a triangle at its point that is closest to p (Ericson 2005, section 5.1.5).
fn closest_triangle(p: vec3<f32>, a: vec3<f32>, b: vec3<f32>, c: vec3<f32>) -> vec3<f32> {
    let ab = b - a;
    let ac = c - a;
    let ap = p - a;
    let d1 = dot(ab, ap);
    let d2 = dot(ac, ap);
    if (d1 <= 0.0 && d2 <= 0.0) {
        return vec3<f32>(1.0, 0.0, 0.0);
    }
    let bp = p - b;
    let d3 = dot(ab, bp);
    let d4 = dot(ac, bp);
    if (d3 >= 0.0 && d4 <= d3) {
        return vec3<f32>(0.0, 1.0, 0.0);
    }
    let vc = d1 * d4 - d3 * d2;
    if (vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0) {
        let v = d1 / max(d1 - d3, SMALLEST);
        return vec3<f32>(1.0 - v, v, 0.0);
    }
    let cp = p - c;
    let d5 = dot(ab, cp);
    let d6 = dot(ac, cp);
    if (d6 >= 0.0 && d5 <= d6) {
        return vec3<f32>(0.0, 0.0, 1.0);
    }
    let vb = d5 * d2 - d1 * d6;
    if (vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0) {
        let w = d2 / max(d2 - d6, SMALLEST);
        return vec3<f32>(1.0 - w, 0.0, w);
    }
    let va = d3 * d6 - d5 * d4;
    if (va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0) {
        let w = (d4 - d3) / max((d4 - d3) + (d5 - d6), SMALLEST);
        return vec3<f32>(0.0, 1.0 - w, w);
    }
    let sum = max(va + vb + vc, SMALLEST);
    let v = vb / sum;
    let w = vc / sum;
    return vec3<f32>(1.0 - v - w, v, w);
}

// Square of the distance of two points of two edges.
fn apart(r: vec3<f32>, first: vec3<f32>, second: vec3<f32>, at: vec2<f32>) -> f32 {
    let way = r + at.x * first - at.y * second;
    return dot(way, way);
}

// Weights of the second ends of two edges at their closest points: the nearest of the ends to the other edge, or the
// points inside of both where these are nearer by more than rounding, which parallel edges are not.
fn closest_segments(a: vec3<f32>, b: vec3<f32>, c: vec3<f32>, d: vec3<f32>) -> vec2<f32> {
    let first = b - a;
    let second = d - c;
    let r = a - c;
    let aa = max(dot(first, first), SMALLEST);
    let ee = max(dot(second, second), SMALLEST);
    let f = dot(second, r);
    let cc = dot(first, r);
    let bb = dot(first, second);
    var best = vec2<f32>(0.0, clamp(f / ee, 0.0, 1.0));
    var least = apart(r, first, second, best);
    var others = array<vec2<f32>, 3>(
        vec2<f32>(1.0, clamp((bb + f) / ee, 0.0, 1.0)),
        vec2<f32>(clamp(-cc / aa, 0.0, 1.0), 0.0),
        vec2<f32>(clamp((bb - cc) / aa, 0.0, 1.0), 1.0),
    );
    for (var k = 0u; k < 3u; k++) {
        let found = apart(r, first, second, others[k]);
        if (found < TIE * least) {
            best = others[k];
            least = found;
        }
    }
    // Products of cross products: differences of products of nearly parallel edges are rounding.
    let across = cross(first, second);
    let slant = dot(across, across);
    if (slant > SLANTED * aa * ee) {
        let inside = vec2<f32>(dot(across, cross(second, r)), dot(across, cross(first, r))) / slant;
        if (inside.x > 0.0 && inside.x < 1.0 && inside.y > 0.0 && inside.y < 1.0) {
            if (apart(r, first, second, inside) < TIE * least) {
                best = inside;
            }
        }
    }
    return best;
}

// Weights of the closest points of a pair: two of the three of a triangle, or one of each edge.
fn closest_weights(kind: u32, a: vec3<f32>, b: vec3<f32>, c: vec3<f32>, d: vec3<f32>) -> vec2<f32> {
    if (kind == EDGES) {
        return closest_segments(a, b, c, d);
    }
    return closest_triangle(a, b, c, d).yz;
}

// Weights of the four vertices of a pair: those of the first part positive, those of the second negative, together 0.
fn shares(kind: u32, at: vec2<f32>) -> vec4<f32> {
    if (kind == EDGES) {
        return vec4<f32>(1.0 - at.x, at.x, at.y - 1.0, -at.y);
    }
    return vec4<f32>(1.0, at.x + at.y - 1.0, -at.x, -at.y);
}

// The part that each vertex of a pair belongs to, as a sign.
fn sides(kind: u32) -> vec4<f32> {
    return select(vec4<f32>(1.0, -1.0, -1.0, -1.0), vec4<f32>(1.0, 1.0, -1.0, -1.0), kind == EDGES);
}

// From the closest point of the second part to that of the first, of differences to one vertex, which round little.
fn between(share: vec4<f32>, a: vec3<f32>, b: vec3<f32>, c: vec3<f32>, d: vec3<f32>) -> vec3<f32> {
    return share.y * (b - a) + share.z * (c - a) + share.w * (d - a);
}

// Whether a closest point lies on the border of a triangle, or at the end of an edge.
fn at_end(kind: u32, at: vec2<f32>) -> bool {
    let third = select(1.0 - at.x - at.y, 1.0, kind == EDGES);
    let most = select(0.0, max(at.x, at.y), kind == EDGES);
    return min(at.x, at.y) < END || third < END || most > 1.0 - END;
}

// Whether a pair has a say in the response. Of two edges whose closest point is the end of one, the triangles beside
// the other are as near to that vertex, or nearer, and these pairs are listed, too.
fn responds(plane: Plane) -> bool {
    return plane.distance > 0.0 && !(plane.kind == EDGES && at_end(plane.kind, plane.weights));
}

// Fixed-point words of a vector in units: their sums by atomics do not depend on the order.
fn fixed(units: vec3<f32>) -> vec3<u32> {
    return bitcast<vec3<u32>>(vec3<i32>(round(clamp(units, vec3<f32>(-MOST_UNITS), vec3<f32>(MOST_UNITS)))));
}

fn floating(words: vec3<u32>) -> vec3<f32> {
    return vec3<f32>(bitcast<vec3<i32>>(words));
}

// Distance that a pair is pushed to in this substep [m]: one that is nearer recovers little by little, and a part of
// what is above half of the thickness may be given up.
fn kept(plane: Plane) -> f32 {
    let lack = plane.thickness - plane.distance;
    let risen = plane.distance + min(GENTLY * lack, RECOVERY * clearance.thickness * clock.h);
    let whole = select(plane.thickness, risen, lack > 0.0);
    return whole - nearness.yielded * max(whole - FIRM * plane.thickness, 0.0);
}
