// Appended to every kernel file (module scope is order-free, so line numbers of the file stay true).
// What the engine gives to a kernel; it knows no cloth. Layouts are compared with Rust's wherever a kernel is prepared;
// constants come from Rust.

struct Range { first: u32, end: u32, guard: u32, padding: u32, arguments: vec4<u32> }
struct Invocation {
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
}

// Small read-only fields are uniforms: they do not count against the 8 storage buffers of a stage,
// and control flow that depends on them is uniform, so barriers may follow it.
@group(1) @binding(0) var<uniform> range: Range;
@group(0) @binding(100) var<uniform> guards: array<vec4<u32>, GUARDS / 4u>;

// Number of this workgroup; dispatches beyond 65,535 groups are folded to two dimensions, where the last groups may
// have no element at all.
fn group_index(invocation: Invocation) -> u32 {
    return invocation.group.y * invocation.groups.x + invocation.group.x;
}

// Element of this invocation.
fn element(invocation: Invocation) -> u32 {
    return range.first + group_index(invocation) * GROUP + invocation.lane;
}

// Whether the loop this dispatch belongs to still runs.
fn running() -> bool {
    return guards[range.guard / 4u][range.guard % 4u] != 0u;
}

var<workgroup> lanes: array<vec2<f32>, GROUP>;

// Reductions over a workgroup: eight invocations fold eight lanes each, then the first folds their results. Two
// barriers instead of a tree's seven: barriers are what software adapters pay for. Every invocation must call them; the
// result is for lane 0.
fn group_sum(value: vec2<f32>, lane: u32) -> vec2<f32> {
    lanes[lane] = value;
    workgroupBarrier();
    if (lane < 8u) {
        for (var k = lane + 8u; k < GROUP; k += 8u) {
            lanes[lane] += lanes[k];
        }
    }
    workgroupBarrier();
    var sum = lanes[0];
    for (var k = 1u; k < 8u; k++) {
        sum += lanes[k];
    }
    return sum;
}

fn group_max(value: vec2<f32>, lane: u32) -> vec2<f32> {
    lanes[lane] = value;
    workgroupBarrier();
    if (lane < 8u) {
        for (var k = lane + 8u; k < GROUP; k += 8u) {
            lanes[lane] = max(lanes[lane], lanes[k]);
        }
    }
    workgroupBarrier();
    var most = lanes[0];
    for (var k = 1u; k < 8u; k++) {
        most = max(most, lanes[k]);
    }
    return most;
}
