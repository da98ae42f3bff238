// Solids as signed distances: where they are in a substep, and how far a vertex is from them on its way.

struct SolidRow {
    start_position: vec3<f32>, kind: u32,
    start_rotation: vec4<f32>,
    end_position: vec3<f32>, grid: u32,
    end_rotation: vec4<f32>,
    size: vec3<f32>, thickness: f32,
    friction: f32, sliding: f32, restitution: f32, spacing: f32,
    counts: vec3<u32>, padding: u32,
}

@group(0) @binding(3) var<storage, read> solids: array<SolidRow>;
@group(0) @binding(4) var<storage, read> distances: array<f32>;

// Where a solid is at a part of the frame.
struct Pose { position: vec3<f32>, rotation: vec4<f32> }

fn pose_at(solid: SolidRow, part: f32) -> Pose {
    let rotation = (1.0 - part) * solid.start_rotation + part * solid.end_rotation;
    let position = solid.start_position + part * (solid.end_position - solid.start_position);
    return Pose(position, rotation / length(rotation));
}

fn to_local(pose: Pose, point: vec3<f32>) -> vec3<f32> {
    return turned(vec4<f32>(-pose.rotation.xyz, pose.rotation.w), point - pose.position);
}

fn to_world(pose: Pose, point: vec3<f32>) -> vec3<f32> {
    return turned(pose.rotation, point) + pose.position;
}

// Interpolated distance in a grid and its gradient; beyond the grid also the way to it.
fn grid_distance(solid: SolidRow, point: vec3<f32>) -> vec4<f32> {
    let last = vec3<f32>(solid.counts - vec3<u32>(1u));
    let place = (point - solid.size) / solid.spacing; // in cells
    let inside = min(max(place, vec3<f32>()), last);
    let cell = min(floor(inside), last - vec3<f32>(1.0));
    let part = inside - cell;

    let row = solid.counts.x;
    let layer = row * solid.counts.y;
    let node = solid.grid + u32(cell.x) + row * u32(cell.y) + layer * u32(cell.z);
    let a000 = distances[node];
    let a100 = distances[node + 1u];
    let a010 = distances[node + row];
    let a110 = distances[node + row + 1u];
    let a001 = distances[node + layer];
    let a101 = distances[node + layer + 1u];
    let a011 = distances[node + layer + row];
    let a111 = distances[node + layer + row + 1u];

    let b00 = a000 + part.x * (a100 - a000);
    let b10 = a010 + part.x * (a110 - a010);
    let b01 = a001 + part.x * (a101 - a001);
    let b11 = a011 + part.x * (a111 - a011);
    let c0 = b00 + part.y * (b10 - b00);
    let c1 = b01 + part.y * (b11 - b01);
    let value = c0 + part.z * (c1 - c0);

    let x0 = (a100 - a000) + part.y * ((a110 - a010) - (a100 - a000));
    let x1 = (a101 - a001) + part.y * ((a111 - a011) - (a101 - a001));
    let gradient_x = x0 + part.z * (x1 - x0);
    let gradient_y = (b10 - b00) + part.z * ((b11 - b01) - (b10 - b00));
    var gradient = vec3<f32>(gradient_x, gradient_y, c1 - c0) / solid.spacing;

    let beyond = (place - inside) * solid.spacing;
    let added = length(beyond);
    if (added > 0.0) {
        gradient = select(gradient, vec3<f32>(), beyond != vec3<f32>()) + beyond / added;
    }
    return vec4<f32>(gradient, value + added);
}

// Gradient and value of the signed distance to the surface, thickness included; local coordinates.
fn signed_distance(solid: SolidRow, point: vec3<f32>) -> vec4<f32> {
    // Of a shape that is not known: out of reach.
    var result = vec4<f32>(0.0, 1.0, 0.0, FAR);
    if (solid.kind == PLANE) {
        result.w = point.y;
    } else if (solid.kind == SPHERE || solid.kind == CAPSULE) {
        var axial = point;
        if (solid.kind == CAPSULE) {
            axial.y -= clamp(point.y, -solid.size.y, solid.size.y);
        }
        let extent = length(axial);
        result.w = extent - solid.size.x;
        if (extent > 0.0) {
            result = vec4<f32>(axial / extent, result.w);
        }
    } else if (solid.kind == BLOCK) {
        let beyond = abs(point) - solid.size;
        let side = vec3<f32>(
            select(1.0, -1.0, point.x < 0.0),
            select(1.0, -1.0, point.y < 0.0),
            select(1.0, -1.0, point.z < 0.0),
        );
        let outside = max(beyond, vec3<f32>());
        let extent = length(outside);
        if (extent > 0.0) {
            result = vec4<f32>(side * outside / extent, extent);
        } else if (beyond.x >= beyond.y && beyond.x >= beyond.z) {
            result = vec4<f32>(side.x, 0.0, 0.0, beyond.x);
        } else if (beyond.y >= beyond.z) {
            result = vec4<f32>(0.0, side.y, 0.0, beyond.y);
        } else {
            result = vec4<f32>(0.0, 0.0, side.z, beyond.z);
        }
    } else if (solid.kind == GRID) {
        result = grid_distance(solid, point);
        let steepness = length(result.xyz);
        if (steepness > 0.0) {
            result = vec4<f32>(result.xyz / steepness, result.w);
        }
    }
    result.w -= solid.thickness;
    return result;
}

// Radius of a ball that fits into a solid, or of one that its grid can tell.
fn inner_radius(solid: SolidRow) -> f32 {
    if (solid.kind == SPHERE || solid.kind == CAPSULE) {
        return solid.size.x;
    }
    if (solid.kind == BLOCK) {
        return min(min(solid.size.x, solid.size.y), solid.size.z);
    }
    if (solid.kind == GRID) {
        return solid.spacing;
    }
    return FAR; // solid.kind == PLANE, or one that is not known
}

// Normal and gap of the way from a to b, local coordinates: where it first meets the surface, or at its end.
fn swept_distance(solid: SolidRow, a: vec3<f32>, b: vec3<f32>) -> vec4<f32> {
    let end = signed_distance(solid, b);
    let travel = length(b - a);
    // Too short a way to come out on another side, or out of reach: no point of it is further from the end than its
    // length. Beyond its grid the distance to a body may be told longer than it is, by a factor of √2 at most.
    let sure = select(1.0, SURE, solid.kind == GRID);
    if (2.0 * travel < inner_radius(solid) || sure * end.w >= travel) {
        return end;
    }
    var here = signed_distance(solid, a);
    var at = a;
    var part = 0.0;
    for (var step = 0u; step < TRACE; step++) {
        if (here.w <= ARRIVED * travel) {
            // It enters here steeply and ends beyond, or nearer to another side: what counts is the tangent plane here.
            let beyond = dot(here.xyz, b - at);
            let through = end.w >= 0.0 || dot(end.xyz, here.xyz) < SAME_SIDE;
            if (through && beyond < -STEEP * length(b - at)) {
                return vec4<f32>(here.xyz, here.w + beyond);
            }
            return end;
        }
        part += sure * here.w / travel;
        if (part >= 1.0) {
            return end;
        }
        at = a + part * (b - a);
        here = signed_distance(solid, at);
    }
    return end;
}
