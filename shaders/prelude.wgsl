// Appended to every kernel file (module scope is order-free, so line numbers of the file stay true).
// Layouts are those of src/params.rs, and compared with them wherever a kernel is prepared; constants come from Rust.

struct Vertex { position: vec3<f32>, inverse_mass: f32 }
struct Link { tail: u32, head: u32, rest: f32, stiffness: f32 }
struct Range { first: u32, end: u32, guard: u32, padding: u32, arguments: vec4<u32> }
struct Frame {
    gravity: vec3<f32>, dt: f32,
    strain_limit: f32, stretch_min: f32, stretch_max: f32, drag: f32,
    rotation: vec4<f32>,
    translation: vec3<f32>, relocated: u32,
    least_substeps: u32, most_substeps: u32, commanded: u32, second_order: u32,
    middle_limit: f32, mean_mass: f32, constrained: u32, expected_load: f32,
    load_scale: f32, load_margin: f32, missed_load: f32, memory: f32,
}
struct Clock { h: f32, substep: u32, substeps: u32, load: f32, span: f32, recall: f32, force: f32, previous: f32 }
struct Meters {
    strain: f32, worst_strain: f32, iterations: u32, substeps: u32,
    solves: vec2<u32>, missed: u32, exhausted: u32,
    load: f32, planned: u32, best: f32, before_contact: f32,
    wanted: u32, padding: u32,
}

struct Invocation {
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
}

// Small read-only fields are uniforms: they do not count against the 8 storage buffers of a stage,
// and control flow that depends on them is uniform, so barriers may follow it.
@group(1) @binding(0) var<uniform> range: Range;
@group(0) @binding(100) var<uniform> guards: array<vec4<u32>, GUARDS / 4u>;
@group(0) @binding(101) var<uniform> frame: Frame;
@group(0) @binding(102) var<uniform> clock: Clock;
@group(0) @binding(103) var<uniform> sums: array<vec4<f32>, SUMS>;

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

// A vector turned by a unit quaternion.
fn turned(q: vec4<f32>, v: vec3<f32>) -> vec3<f32> {
    return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v);
}

// Whether all magnitudes are below 2⁶⁰, NaN and infinity told by their bits: WGSL lets a compiler assume that they do
// not exist.
fn bounded(value: vec3<f32>) -> bool {
    return all((bitcast<vec3<u32>>(value) & vec3<u32>(0x7fffffffu)) < vec3<u32>(0x5d800000u));
}

fn sane(value: vec3<f32>) -> bool {
    return bounded(value) && all(abs(value) <= vec3<f32>(FARTHEST));
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

fn group_max(value: f32, lane: u32) -> f32 {
    lanes[lane] = vec2<f32>(value, 0.0);
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
    return most.x;
}
