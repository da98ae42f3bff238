// Sums of all words before each word, in place: within blocks, over the sums of blocks, and both together. Words are
// integers, so that no order of addition matters.

@group(0) @binding(0) var<storage, read_write> counts: array<u32>;
@group(0) @binding(1) var<storage, read_write> block_sums: array<u32>;
@group(0) @binding(2) var<storage, read> sums_before: array<u32>; // block_sums

var<workgroup> lane_sums: array<u32, GROUP>;

// Sum of what the lanes before this one found; every invocation must call it.
fn sum_before(sum: u32, lane: u32) -> u32 {
    lane_sums[lane] = sum;
    workgroupBarrier();
    var before = 0u;
    for (var k = 0u; k < lane; k++) {
        before += lane_sums[k];
    }
    return before;
}

// An invocation has SCANNED words, a workgroup a block of them. Argument: number of words.
@compute @workgroup_size(GROUP)
fn scan_blocks(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let first = element(invocation) * SCANNED;
    var sum = 0u;
    for (var k = 0u; k < SCANNED; k++) {
        if (first + k < range.arguments.x) {
            sum += counts[first + k];
        }
    }
    var before = sum_before(sum, invocation.lane);
    if (invocation.lane == GROUP - 1u && element(invocation) - invocation.lane < range.end) {
        block_sums[group_index(invocation)] = before + sum;
    }
    for (var k = 0u; k < SCANNED; k++) {
        if (first + k < range.arguments.x) {
            let count = counts[first + k];
            counts[first + k] = before;
            before += count;
        }
    }
}

// One workgroup, over the sums of all blocks.
@compute @workgroup_size(GROUP)
fn scan_sums(invocation: Invocation) {
    if (!running()) {
        return;
    }
    let each = (range.end + GROUP - 1u) / GROUP;
    let first = invocation.lane * each;
    var sum = 0u;
    for (var k = 0u; k < each; k++) {
        if (first + k < range.end) {
            sum += block_sums[first + k];
        }
    }
    var before = sum_before(sum, invocation.lane);
    for (var k = 0u; k < each; k++) {
        if (first + k < range.end) {
            let count = block_sums[first + k];
            block_sums[first + k] = before;
            before += count;
        }
    }
}

@compute @workgroup_size(GROUP)
fn add_sums(invocation: Invocation) {
    let k = element(invocation);
    if (!running() || k >= range.end) {
        return;
    }
    counts[k] += sums_before[k / (GROUP * SCANNED)];
}
