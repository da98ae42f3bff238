// Contact of vertices with solids: an inequality with Coulomb friction. A vertex that would end inside a solid is put on its
// surface and may then move across the normal only (S = I − n nᵀ of Baraff & Witkin 1998, eq. 13). What is withheld from it
// decides: an attractive force releases it, friction within the cone keeps it where it is.

struct SolidRow {
    start_position: vec3<f32>, kind: u32,
    start_rotation: vec4<f32>,
    end_position: vec3<f32>, grid: u32,
    end_rotation: vec4<f32>,
    size: vec3<f32>, thickness: f32,
    friction: f32, sliding: f32, restitution: f32, spacing: f32,
    counts: vec3<u32>, padding: u32,
}

// What touches a vertex: normal, 1 + number of the solid or 0, the reaction at which it withholds nothing, speed along the normal
// after the step.
struct Contact { normal: vec3<f32>, solid: u32, base: vec3<f32>, leaving: f32 }

@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> reactions: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> solids: array<SolidRow>;
@group(0) @binding(4) var<storage, read> distances: array<f32>;
@group(0) @binding(5) var<storage, read_write> contacts: array<Contact>;
@group(0) @binding(6) var<storage, read> holds: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> found_constraints: array<vec4<f32>>; // constraints
@group(0) @binding(8) var<storage, read_write> velocities: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read_write> found_faults: array<atomic<u32>>; // faults
@group(0) @binding(10) var<storage, read_write> previous_velocities: array<vec4<f32>>; // w: 1 if it touched a solid

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
    var result = vec4<f32>(0.0, 1.0, 0.0, point.y);
    if (solid.kind == SPHERE || solid.kind == CAPSULE) {
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
    } else if (solid.kind != PLANE) {
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
    if (solid.kind == PLANE) {
        return FAR;
    }
    if (solid.kind == BLOCK) {
        return min(min(solid.size.x, solid.size.y), solid.size.z);
    }
    return select(solid.size.x, solid.spacing, solid.kind == GRID);
}

// Normal and gap of the way from a to b, local coordinates: where it first meets the surface, or at its end.
fn swept_distance(solid: SolidRow, a: vec3<f32>, b: vec3<f32>) -> vec4<f32> {
    let end = signed_distance(solid, b);
    let travel = length(b - a);
    // Too short a way to come out on another side, or out of reach: no point of it is further from the end than its length.
    // Beyond its grid the distance to a body may be told longer than it is, by a factor of √2 at most.
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

// What is left of a constraint when motion along n is forbidden, too.
fn combined(hold: vec4<f32>, n: vec3<f32>) -> vec4<f32> {
    if (dot(hold.xyz, hold.xyz) == 0.0) {
        return select(vec4<f32>(), vec4<f32>(n, 1.0), hold.w == 1.0);
    }
    if (hold.w == 1.0) {
        let free = cross(hold.xyz, n);
        let extent = length(free);
        if (extent > PARALLEL) {
            return vec4<f32>(free / extent, 0.0);
        }
        return hold;
    }
    return select(hold, vec4<f32>(), abs(dot(hold.xyz, n)) > PARALLEL);
}

// Motion that takes a vertex out of a solid, as far as its hold lets it.
fn push_out(hold: vec4<f32>, gap: f32, n: vec3<f32>) -> vec3<f32> {
    let way = left_by(hold, n);
    let along = dot(way, n);
    if (gap >= 0.0 || along < SLANTED) {
        return vec3<f32>();
    }
    return (-gap / along) * way;
}

// The solid that is nearest to the end of a vertex's way, or entered most on it.
struct Found { solid: u32, gap: f32, normal: vec3<f32> }

fn nearest_solid(position: vec3<f32>, u: vec3<f32>) -> Found {
    let before = f32(clock.substep - 1u) / f32(clock.substeps);
    let now = f32(clock.substep) / f32(clock.substeps);
    var nearest = Found(0u, FAR, vec3<f32>());
    for (var k = 0u; k < range.arguments.y; k++) {
        let solid = solids[k];
        let pose = pose_at(solid, now);
        let found = swept_distance(solid, to_local(pose_at(solid, before), position), to_local(pose, position + u));
        if (found.w < nearest.gap) {
            nearest = Found(k, found.w, turned(pose.rotation, found.xyz));
        }
    }
    return nearest;
}

// Speed with which a vertex leaves after an impact [m/s]: restitution times the speed that it had there. Velocities are half a
// step ahead of positions: that half is taken off before and added after.
fn bounce_speed(solid: SolidRow, n: vec3<f32>, approach: f32, gap: f32) -> f32 {
    let fall = -dot(frame.gravity, n);
    let speed = approach / clock.h - 0.5 * clock.span * fall;
    // Slower: it comes to rest.
    if (solid.restitution == 0.0 || speed <= FALLS * clock.span * length(frame.gravity)) {
        return 0.0;
    }
    let start_gap = max(gap + approach, 0.0);
    return solid.restitution * sqrt(max(speed * speed + 2.0 * fall * start_gap, 0.0)) + 0.5 * clock.span * fall;
}

// Arguments: 1 in the first pass of a substep, number of solids, 1 where friction has no say any more. Projections
// may move along the surface what friction holds; it takes that back as far as it can.
@compute @workgroup_size(GROUP)
fn collide(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    let first = range.arguments.x == 1u;
    let vertex = vertices[v];
    let hold = holds[v];
    if (first) {
        contacts[v] = Contact(vec3<f32>(), 0u, reactions[v].xyz, 0.0);
    }
    // Pinned, or held in place.
    if (vertex.inverse_mass == 0.0 || all(hold == vec4<f32>())) {
        return;
    }
    var u = displacements[v].xyz;
    let before = f32(clock.substep - 1u) / f32(clock.substeps);
    let now = f32(clock.substep) / f32(clock.substeps);

    let nearest_found = nearest_solid(vertex.position, u);
    let nearest = nearest_found.solid;
    let gap = nearest_found.gap;
    let n = nearest_found.normal;
    var contact = contacts[v];
    if (gap >= 0.0 && contact.solid == 0u) {
        return;
    }
    // Displacement that the contact has withheld so far.
    let per_force = vertex.inverse_mass / clock.force;
    var taken = left_by(hold, per_force * (reactions[v].xyz - contact.base));
    if (gap >= 0.0 && dot(taken, n) > 0.0) {
        // It pulls: the vertex is released, and the next projection moves it.
        contacts[v].solid = 0u;
        contacts[v].base = reactions[v].xyz;
        found_constraints[v] = hold;
        return;
    }
    let solid = solids[nearest];
    // Motion of the surface there in this substep.
    let point = vertex.position + u - gap * n;
    let motion = point - to_world(pose_at(solid, before), to_local(pose_at(solid, now), point));
    if (contact.solid == 0u) {
        contact.leaving = dot(motion, n) / clock.h;
        if (first) {
            contact.leaving += bounce_speed(solid, n, -dot(u - motion, n), gap);
        }
        // It becomes a velocity after everything was inspected.
        contact.leaving = clamp(contact.leaving, -FARTHEST, FARTHEST);
    }
    let before_contact = u;
    u += push_out(hold, gap, n);
    var constraint = combined(hold, n);
    // What is pushed out of one solid may be pushed into another, and the distance of a grid is not exact.
    let more = select(0u, 2u, range.arguments.y > 1u || solid.kind == GRID);
    for (var again = 0u; again < more; again++) {
        let other = nearest_solid(vertex.position, u);
        if (other.gap >= 0.0) {
            break;
        }
        u += push_out(hold, other.gap, other.normal);
        if (other.solid != nearest) {
            constraint = combined(constraint, other.normal);
        }
    }
    taken -= u - before_contact;
    if (range.arguments.z == 0u) {
        let relative = u - motion;
        let slip = relative - dot(relative, n) * n;
        let held = taken - dot(taken, n) * n;
        let pressed = max(-dot(taken, n), 0.0);
        // What the vertex would slip without friction, and what friction takes of it: it never moves a vertex on.
        let wanted = slip + held;
        let extent = length(wanted);
        var friction = wanted;
        var left = vec3<f32>();
        if (extent > solid.friction * pressed) {
            friction = (min(solid.sliding * pressed, extent) / extent) * wanted;
            left = wanted - friction;
            left *= min(length(slip) / max(length(left), SMALLEST), 1.0);
        }
        u += left_by(hold, left - slip);
        taken += friction - held;
    }
    displacements[v] = vec4<f32>(u, 0.0);
    // The reaction is what was really taken from the motion.
    let reaction = reactions[v].xyz - (u - before_contact) / per_force;
    reactions[v] = vec4<f32>(reaction, 0.0);
    contacts[v] = Contact(n, nearest + 1u, reaction - taken / per_force, contact.leaving);
    found_constraints[v] = constraint;
}

// After the commit: what touches a solid moves with its surface along the normal, or leaves it again. It neither goes on
// into it, nor keeps the speed of being pushed out.
@compute @workgroup_size(GROUP)
fn rebound(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end || atomicLoad(&found_faults[0]) != 0u) {
        return;
    }
    let contact = contacts[v];
    if (contact.solid != 0u) {
        velocities[v] += vec4<f32>((contact.leaving - dot(velocities[v].xyz, contact.normal)) * contact.normal, 0.0);
    }
    // Velocities before and after a contact begins or ends are no two points of one smooth motion.
    if (frame.second_order != 0u) {
        let touches = select(0.0, 1.0, contact.solid != 0u);
        if (touches != previous_velocities[v].w) {
            atomicOr(&found_faults[CONTACT_CHANGED], 1u);
        }
        previous_velocities[v].w = touches;
    }
}
