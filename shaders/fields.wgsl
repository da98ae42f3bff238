// What kernels of cloth share: structures and uniforms of src/stage/fields.rs, compared with them wherever a kernel is
// prepared.

struct Vertex { position: vec3<f32>, inverse_mass: f32 }
struct Link { tail: u32, head: u32, rest: f32, stiffness: f32 }
struct Frame {
    gravity: vec3<f32>, dt: f32,
    strain_limit: f32, stretch_min: f32, stretch_max: f32, drag: f32,
    rotation: vec4<f32>,
    translation: vec3<f32>, relocated: u32,
    least_substeps: u32, most_substeps: u32, commanded: u32, second_order: u32,
    middle_limit: f32, mean_mass: f32, constrained: u32, expected_load: f32,
    load_scale: f32, load_margin: f32, missed_load: f32, memory: f32,
    least_limit: f32, padding: u32, more_padding: vec2<u32>,
}
struct Clock { h: f32, substep: u32, substeps: u32, load: f32, span: f32, recall: f32, force: f32, previous: f32 }
struct Meters {
    strain: f32, worst_strain: f32, iterations: u32, substeps: u32,
    solves: vec2<u32>, missed: u32, exhausted: u32,
    load: f32, planned: u32, best: f32, before_contact: f32,
    wanted: u32, padding: u32,
}

// Small read-only fields are uniforms, as guards are.
@group(0) @binding(101) var<uniform> frame: Frame;
@group(0) @binding(102) var<uniform> clock: Clock;
@group(0) @binding(103) var<uniform> sums: array<vec4<f32>, SUMS>;

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
