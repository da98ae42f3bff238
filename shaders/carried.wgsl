// Carried tension: half of what an edge bore in the substep before pulls as a force, along the edge as it is.

@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read> edges: array<Link>;
@group(0) @binding(2) var<storage, read> edge_incidence: array<u32>;
@group(0) @binding(3) var<storage, read_write> tensions: array<f32>;
@group(0) @binding(4) var<storage, read_write> tension_marks: array<f32>;
@group(0) @binding(5) var<storage, read_write> carried_tensions: array<f32>;
@group(0) @binding(6) var<storage, read_write> forces: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> elastic_motions: array<vec4<f32>>;

// At the start of a substep. Before the first one of a frame `tensions` are the mean of the last frame.
@compute @workgroup_size(GROUP)
fn carry_tension(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    let first = clock.substep == 1u;
    var borne = tensions[e];
    if (!first) {
        borne = (borne - tension_marks[e]) * f32(clock.substeps);
    }
    let most = MOST_CARRIED * frame.mean_mass * edges[e].rest / (clock.span * clock.span);
    // Also where it is no number.
    var half = 0.0;
    if (clock.previous > 0.0 && borne > 0.0) {
        half = min(0.5 * borne, most);
    }
    let before = select(tensions[e], 0.0, first);
    tension_marks[e] = before;
    tensions[e] = before + half / f32(clock.substeps);
    carried_tensions[e] = half;
}

// The first force of a substep, as the sum of springs is elsewhere: what edges pull at a vertex. Nor does a linear
// solve that takes over start from an old motion.
@compute @workgroup_size(GROUP)
fn pull_carried(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let here = vertices[v].position;
    var force = vec3<f32>();
    for (var k = edge_incidence[v]; k < edge_incidence[v + 1u]; k += 1u) {
        let entry = edge_incidence[k];
        let edge = edges[entry / 2u];
        let there = select(edge.head, edge.tail, (entry & 1u) == 1u);
        let d = vertices[there].position - here;
        let extent = length(d);
        if (extent > 0.0) {
            force += (carried_tensions[entry / 2u] / extent) * d;
        }
    }
    forces[v] = vec4<f32>(force, 0.0);
    elastic_motions[v] = vec4<f32>();
}
