// Second level of a reduction: one workgroup folds the leaves into a slot of `sums` (argument x).

@group(0) @binding(0) var<storage, read> partials: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read_write> totals: array<vec4<f32>>; // sums

@compute @workgroup_size(GROUP)
fn sum_partials(invocation: Invocation) {
    if (!running()) {
        return;
    }
    var sum = vec2<f32>();
    for (var k = range.first + invocation.lane; k < range.end; k += GROUP) {
        sum += partials[k];
    }
    let total = group_sum(sum, invocation.lane);
    if (invocation.lane == 0u) {
        totals[range.arguments.x] = vec4<f32>(total, 0.0, 0.0);
    }
}
