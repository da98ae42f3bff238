// Cloth, solids and ground with one light and its shadows. `light.rs` is the twin of the shading, for the CPU.

const PI = 3.14159265;

// Twin: `Globals` of `light.rs`.
struct Globals {
    view_projection: mat4x4<f32>,
    // World to the clip space of the shadow map; depth grows away from the light.
    light_projection: mat4x4<f32>,
    eye: vec3<f32>,
    // 1 if the target does not encode sRGB itself.
    encode: f32,
    // Towards the light.
    light: vec3<f32>,
    // Side of a texel of the shadow map [m].
    texel: f32,
    background: vec3<f32>,
    // Shadows on surfaces are as soft as this [m].
    softness: f32,
    ground: vec3<f32>,
    // Shadows on the ground are as soft as this [m].
    ground_softness: f32,
    center: vec3<f32>,
    radius: f32,
    ground_height: f32,
    // 1 / (2 × limit).
    strain_scale: f32,
    padding: vec2<f32>,
    heat: array<vec4<f32>, 5>,
}

// Twin: `Object` of `light.rs`.
struct Object {
    model: mat4x4<f32>,
    // Light and dark threads of the front, then of the back.
    threads: array<vec4<f32>, 4>,
    // 1 for a woven pattern.
    woven: f32,
    // Part of the light that goes through.
    translucency: f32,
    // How far it stands back behind what touches it [m].
    setback: f32,
    // 1 for the heat map of strain.
    strained: f32,
}

@group(0) @binding(0) var<uniform> globals: Globals;
@group(1) @binding(0) var<uniform> object: Object;
@group(2) @binding(0) var shadow_map: texture_depth_2d;
@group(2) @binding(1) var shadow_sampler: sampler_comparison;

// --- Strain and rods from the simulation's positions. ---

struct Parameters {
    vertices: u32,
    rods: u32,
    band: vec2<f32>,
    drawn: u32,
    padding: u32,
}

struct Rod {
    tail: vec3<f32>,
    radius: f32,
    head: vec3<f32>,
    strain: f32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> vertices: array<vec4<f32>>;
// Places, then pairs of the other end and the bits of the rest length.
@group(0) @binding(2) var<storage, read> incidence: array<u32>;
@group(0) @binding(3) var<storage, read_write> strains: array<f32>;
// Tail, head, bits of the radius.
@group(0) @binding(4) var<storage, read> links: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> rods: array<Rod>;
@group(0) @binding(6) var<storage, read> normals: array<vec4<f32>>;
// The vertex that each vertex that is drawn follows.
@group(0) @binding(7) var<storage, read> followed: array<u32>;
@group(0) @binding(8) var<storage, read_write> drawn_positions: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read_write> drawn_normals: array<vec4<f32>>;
@group(0) @binding(10) var<storage, read_write> drawn_strains: array<f32>;

fn number(group: vec3<u32>, groups: vec3<u32>, lane: u32) -> u32 {
    return (group.y * groups.x + group.x) * 64u + lane;
}

@compute @workgroup_size(64)
fn measure_strain(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let vertex = number(group, groups, lane);
    if (vertex >= parameters.vertices) {
        return;
    }
    let place = vertices[vertex].xyz;
    var most = 0.0;
    for (var k = incidence[vertex]; k < incidence[vertex + 1u]; k += 2u) {
        let reach = vertices[incidence[k]].xyz - place;
        let stretch = length(reach) / bitcast<f32>(incidence[k + 1u]);
        most = max(most, abs(stretch - clamp(stretch, parameters.band.x, parameters.band.y)));
    }
    strains[vertex] = most;
}

@compute @workgroup_size(64)
fn gather_rods(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = number(group, groups, lane);
    if (index >= parameters.rods) {
        return;
    }
    let link = links[index];
    rods[index] = Rod(
        vertices[link.x].xyz,
        bitcast<f32>(link.z),
        vertices[link.y].xyz,
        max(strains[link.x], strains[link.y]),
    );
}

// Where a texture jumps, several vertices that are drawn follow one of the mesh.
@compute @workgroup_size(64)
fn follow(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = number(group, groups, lane);
    if (index >= parameters.drawn) {
        return;
    }
    let vertex = followed[index];
    drawn_positions[index] = vertices[vertex];
    drawn_normals[index] = normals[vertex];
    drawn_strains[index] = strains[vertex];
}

// --- Where vertices are. ---

struct Surface {
    @builtin(position) clip: vec4<f32>,
    @location(0) @interpolate(perspective, centroid) world: vec3<f32>,
    @location(1) @interpolate(perspective, centroid) normal: vec3<f32>,
    @location(2) @interpolate(perspective, centroid) material: vec2<f32>,
    @location(3) @interpolate(perspective, centroid) strain: f32,
}

// Depth as if the point were farther away: cloth that touches it is in front.
fn seen(world: vec3<f32>) -> vec4<f32> {
    var clip = globals.view_projection * vec4<f32>(world, 1.0);
    clip.z *= clip.w / max(clip.w + object.setback, 1e-6);
    return clip;
}

fn lighted(world: vec3<f32>) -> vec4<f32> {
    var clip = globals.light_projection * vec4<f32>(world, 1.0);
    clip.z += object.setback / (4.0 * globals.radius);
    return clip;
}

@vertex
fn place_surface(
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) material: vec2<f32>,
    @location(3) strain: f32,
) -> Surface {
    let world = (object.model * vec4<f32>(position, 1.0)).xyz;
    let turned = (object.model * vec4<f32>(normal, 0.0)).xyz;
    return Surface(seen(world), world, turned, material, strain);
}

@vertex
fn shadow_surface(@location(0) position: vec3<f32>) -> @builtin(position) vec4<f32> {
    return lighted((object.model * vec4<f32>(position, 1.0)).xyz);
}

struct RodPoint {
    world: vec3<f32>,
    normal: vec3<f32>,
}

// A point of the capsule from `tail` to `head`: the direction of its normal, y along the rod, and to which end it
// belongs.
fn rod_point(corner: vec4<f32>, tail: vec4<f32>, head: vec4<f32>) -> RodPoint {
    let along = head.xyz - tail.xyz;
    let extent = length(along);
    var y = vec3<f32>(0.0, 1.0, 0.0);
    if (extent > 1e-9) {
        y = along / extent;
    }
    let x = normalize(cross(y, select(vec3<f32>(1.0, 0.0, 0.0), vec3<f32>(0.0, 0.0, 1.0), abs(y.x) > 0.7)));
    let normal = corner.x * x + corner.y * y + corner.z * cross(x, y);
    return RodPoint(select(tail.xyz, head.xyz, corner.w > 0.5) + tail.w * normal, normal);
}

@vertex
fn place_rod(@location(0) corner: vec4<f32>, @location(1) tail: vec4<f32>, @location(2) head: vec4<f32>) -> Surface {
    let point = rod_point(corner, tail, head);
    return Surface(seen(point.world), point.world, point.normal, vec2<f32>(), head.w);
}

@vertex
fn shadow_rod(
    @location(0) corner: vec4<f32>,
    @location(1) tail: vec4<f32>,
    @location(2) head: vec4<f32>,
) -> @builtin(position) vec4<f32> {
    return lighted(rod_point(corner, tail, head).world);
}

struct Ground {
    @builtin(position) clip: vec4<f32>,
    @location(0) @interpolate(perspective, centroid) world: vec3<f32>,
}

@vertex
fn place_ground(@builtin(vertex_index) index: u32) -> Ground {
    let corner = vec2<f32>(f32(index & 1u), f32(index >> 1u)) * 2.0 - 1.0;
    let flat = globals.center.xz + 4.0 * globals.radius * corner;
    let world = vec3<f32>(flat.x, globals.ground_height, flat.y);
    return Ground(globals.view_projection * vec4<f32>(world, 1.0), world);
}

// --- Light. ---

// Part of the light that reaches a point, over a square of this half side [m] of the shadow map, and a weighted mean of
// this many places along its sides.
fn reached(world: vec3<f32>, softness: f32, side: i32) -> f32 {
    let clip = globals.light_projection * vec4<f32>(world, 1.0);
    // The map holds everything that casts a shadow; what is outside of it, or behind it all, has none.
    if (max(abs(clip.x), abs(clip.y)) > 1.0) {
        return 1.0;
    }
    let depth = min(clip.z, 1.0);
    let middle = vec2<f32>(0.5, -0.5) * clip.xy + 0.5;
    let reach = softness / (2.0 * globals.radius);
    // The corners, the sides and the middle first: mostly they agree.
    var few = 0.0;
    for (var k = 0; k < 9; k++) {
        let offset = vec2<f32>(f32(k % 3), f32(k / 3)) - 1.0;
        few += textureSampleCompareLevel(shadow_map, shadow_sampler, middle + reach * offset, depth);
    }
    if (few < 0.01 || few > 8.99) {
        return few / 9.0;
    }
    var sum = 0.0;
    var weights = 0.0;
    for (var k = 0; k < side * side; k++) {
        let offset = 2.0 * vec2<f32>(f32(k % side), f32(k / side)) / f32(side - 1) - 1.0;
        let weight = (1.1 - abs(offset.x)) * (1.1 - abs(offset.y));
        sum += weight * textureSampleCompareLevel(shadow_map, shadow_sampler, middle + reach * offset, depth);
        weights += weight;
    }
    return sum / weights;
}

// Light on a surface of this normal, lifted off itself by as much as its slope asks for.
fn reached_surface(world: vec3<f32>, normal: vec3<f32>) -> f32 {
    let slope = dot(normal, globals.light);
    let sine = sqrt(max(1.0 - slope * slope, 0.0));
    let lift = (globals.softness + globals.texel) * sine + 1.5 * globals.texel;
    return reached(world + select(-lift, lift, slope >= 0.0) * normal, globals.softness, 7);
}

// Part of the time that a square wave of period 1 is up, over a width.
fn stripes(place: vec2<f32>, width: vec2<f32>) -> vec2<f32> {
    let half = 0.5 * max(width, vec2<f32>(1e-4));
    return clamp((area(place + half) - area(place - half)) / (2.0 * half), vec2<f32>(), vec2<f32>(1.0));
}

fn area(place: vec2<f32>) -> vec2<f32> {
    let whole = floor(place);
    return 0.5 * whole + min(place - whole, vec2<f32>(0.5));
}

fn heat(part: f32) -> vec3<f32> {
    // NaN is as bad as it gets.
    let place = select(4.0, 4.0 * max(part, 0.0), part < 1.0);
    let step = min(u32(place), 3u);
    return mix(globals.heat[step].rgb, globals.heat[step + 1u].rgb, place - f32(step));
}

// Bright colors bend towards white instead of being cut off.
fn toned(color: vec3<f32>) -> vec3<f32> {
    let peak = max(color.r, max(color.g, color.b));
    if (peak <= 0.75) {
        return color;
    }
    return color * ((1.0 - 0.0625 / (peak - 0.5)) / peak);
}

fn encoded(color: vec3<f32>) -> vec4<f32> {
    let low = 12.92 * color;
    let high = 1.055 * pow(max(color, vec3<f32>(1e-6)), vec3<f32>(1.0 / 2.4)) - 0.055;
    let srgb = select(high, low, color <= vec3<f32>(0.0031308));
    return vec4<f32>(select(color, srgb, globals.encode > 0.5), 1.0);
}

@fragment
fn shade_surface(surface: Surface, @builtin(front_facing) front: bool) -> @location(0) vec4<f32> {
    let width = fwidth(surface.material);
    let toward_eye = normalize(globals.eye - surface.world);
    var normal = toward_eye;
    if (dot(surface.normal, surface.normal) > 1e-6) {
        normal = normalize(surface.normal) * select(-1.0, 1.0, front);
    }
    let slope = dot(normal, globals.light);
    let reach = reached_surface(surface.world, normal);
    let key = reach * (max(slope, 0.0) + object.translucency * max(-slope, 0.0));
    let sky = 0.5 + 0.5 * normal.y;
    let wave = stripes(surface.material, width);
    let pattern = object.woven * 0.5 * (wave.x + wave.y);
    if (object.strained > 0.5) {
        // Gray light of at most 1: the color stays that of the legend.
        let brightness = (0.42 + 0.2 * sky + 0.38 * min(key, 1.0)) * (1.0 - 0.12 * pattern);
        return encoded(brightness * heat(globals.strain_scale * surface.strain));
    }
    let side = select(2, 0, front);
    let albedo = mix(object.threads[side].rgb, object.threads[side + 1].rgb, pattern);
    let facing = abs(dot(normal, toward_eye));
    // From the sky and the ground, and a little from the camera, so that shadows have forms too.
    let ambient = mix(vec3<f32>(0.16, 0.145, 0.13), vec3<f32>(0.34, 0.37, 0.41), sky) + 0.14 * facing;
    let sunlight = key * vec3<f32>(0.96, 0.92, 0.85);
    let grazing = 1.0 - facing;
    let sheen = 0.10 * object.woven * grazing * grazing * grazing * (0.3 + 0.7 * reach);
    return encoded(toned(albedo * (ambient + sunlight) + sheen * ambient));
}

@fragment
fn shade_ground(ground: Ground) -> @location(0) vec4<f32> {
    let away = distance(ground.world.xz, globals.center.xz) / globals.radius;
    let near = 1.0 - smoothstep(0.9, 3.2, away);
    let reach = reached(ground.world, globals.ground_softness, 15);
    let light = mix(vec3<f32>(0.47, 0.49, 0.53), vec3<f32>(1.0), reach);
    return encoded(mix(globals.background, light * globals.ground, near));
}
