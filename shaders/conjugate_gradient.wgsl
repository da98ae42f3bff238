// Preconditioned conjugate gradients on A x = r, all scalars on the device. The operator is somebody else's:
// between `decide_solve` and `advance` it must write `products` = A `searches` and the leaves of their dot product.

@group(0) @binding(0) var<storage, read_write> decisions: array<u32>;    // guards
@group(0) @binding(1) var<storage, read_write> totals: array<vec4<f32>>; // sums
@group(0) @binding(2) var<storage, read_write> meters: array<Meters>;
@group(0) @binding(3) var<storage, read_write> searches: array<f32>;
@group(0) @binding(4) var<storage, read> products: array<f32>;
@group(0) @binding(5) var<storage, read_write> solutions: array<f32>;
@group(0) @binding(6) var<storage, read_write> residuals: array<f32>;
@group(0) @binding(7) var<storage, read_write> preconditioned: array<f32>;
@group(0) @binding(8) var<storage, read> scales: array<f32>; // holds the inverse diagonal of A
@group(0) @binding(9) var<storage, read_write> partials: array<vec2<f32>>;

// Inverse diagonal of an element; the arguments of the dispatch are stride and offset in the field that holds it.
fn scale(e: u32) -> f32 {
    return scales[e * range.arguments.x + range.arguments.y];
}

// Starts at x = 0: z = p = r / diagonal, and the leaves of r·z and r·r.
@compute @workgroup_size(GROUP)
fn start_solve(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let e = element(invocation);
    var energy = vec2<f32>();
    if (e < range.end) {
        let residual = residuals[e];
        let search = scale(e) * residual;
        searches[e] = search;
        solutions[e] = 0.0;
        energy = vec2<f32>(residual * search, residual * residual);
    }
    let total = group_sum(energy, invocation.lane);
    if (invocation.lane == 0u && e < range.end) {
        partials[group_index(invocation)] = total;
    }
}

// Starts the loop: r·z and r·r of the start are those before the first iteration. Curvature starts positive, so that
// the first test passes. Where to stop is in z already: the caller's own kernel put it there.
@compute @workgroup_size(1)
fn begin_solve() {
    if (!running()) {
        return;
    }
    totals[PREVIOUS].x = totals[RESIDUAL].x;
    totals[PREVIOUS].y = totals[RESIDUAL].y;
    totals[CURVATURE] = vec4<f32>(1.0, 0.0, 0.0, 0.0);
}

// Ends the loop when the residual is small enough, zero, or the operator shows no curvature (singular, rounding).
// Argument: which of the counters of iterations is its own.
@compute @workgroup_size(1)
fn decide_solve() {
    if (decisions[range.guard] == 0u) {
        return;
    }
    let residual = totals[RESIDUAL];
    if (residual.y <= totals[PREVIOUS].z || residual.x <= 0.0 || totals[CURVATURE].x <= 0.0) {
        decisions[range.guard] = 0u;
        return;
    }
    totals[PREVIOUS].x = residual.x;
    meters[0].solves[range.arguments.x] += 1u;
}

// x += α p, r −= α q, z = r / diagonal, and the leaves of r·z and r·r.
@compute @workgroup_size(GROUP)
fn advance(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let e = element(invocation);
    var energy = vec2<f32>();
    if (e < range.end) {
        var alpha = 0.0;
        if (sums[CURVATURE].x > 0.0) {
            alpha = sums[PREVIOUS].x / sums[CURVATURE].x;
        }
        solutions[e] += alpha * searches[e];
        let residual = residuals[e] - alpha * products[e];
        let z = scale(e) * residual;
        residuals[e] = residual;
        preconditioned[e] = z;
        energy = vec2<f32>(residual * z, residual * residual);
    }
    let total = group_sum(energy, invocation.lane);
    if (invocation.lane == 0u && e < range.end) {
        partials[group_index(invocation)] = total;
    }
}

// The leaves of r·z and r·r after another preconditioner than the diagonal has written z.
@compute @workgroup_size(GROUP)
fn dot_residuals(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let e = element(invocation);
    var energy = vec2<f32>();
    if (e < range.end) {
        energy = vec2<f32>(residuals[e] * preconditioned[e], residuals[e] * residuals[e]);
    }
    let total = group_sum(energy, invocation.lane);
    if (invocation.lane == 0u && e < range.end) {
        partials[group_index(invocation)] = total;
    }
}

// p = z + β p.
@compute @workgroup_size(GROUP)
fn turn_search(invocation: Invocation) {
    let e = element(invocation);
    if (!running() || e >= range.end) {
        return;
    }
    let beta = sums[RESIDUAL].x / sums[PREVIOUS].x;
    searches[e] = preconditioned[e] + beta * searches[e];
}
