// Fast projection where edges have laws of their own: (A + α) μ = C − αλ.

@group(0) @binding(0) var<storage, read> edges: array<Link>;
@group(0) @binding(1) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(2) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> directions: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> residuals: array<f32>;
@group(0) @binding(5) var<storage, read_write> compliances: array<f32>;
@group(0) @binding(6) var<storage, read> pulls: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read> searches: array<f32>;
@group(0) @binding(8) var<storage, read_write> products: array<f32>;
@group(0) @binding(9) var<storage, read_write> partials: array<vec2<f32>>;

// After `linearize`: the rows of edges that have laws of their own.
@compute @workgroup_size(GROUP)
fn impose_law(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    compliances[e] = 0.0;
    let law = edge_laws[e];
    if (!is_own(law)) {
        return;
    }
    let edge = edges[e];
    let stretch = bare_stretch_of(edge);
    if (stretch.w == 0.0) {
        directions[e] = vec4<f32>();
        residuals[e] = 0.0;
        return;
    }
    let row = lawful_row(law, stretch.extent, edge.rest, stretch.w, 0.0);
    directions[e] = vec4<f32>(stretch.n, 1.0 / (stretch.w + row.y));
    residuals[e] = row.x;
    compliances[e] = row.y;
}

// What `apply_operator` does, with what compliance adds to the diagonal.
@compute @workgroup_size(GROUP)
fn apply_lawful_operator(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let e = element(invocation);
    var curvature = 0.0;
    if (e < range.end) {
        let edge = edges[e];
        let search = searches[e];
        let product = dot(directions[e].xyz, pulls[edge.head].xyz - pulls[edge.tail].xyz) + compliances[e] * search;
        products[e] = product;
        curvature = search * product;
    }
    let total = group_sum(vec2<f32>(curvature, 0.0), invocation.lane);
    if (invocation.lane == 0u && e < range.end) {
        partials[group_index(invocation)] = total;
    }
}
