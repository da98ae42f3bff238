// Contact of vertices with solids: an inequality with Coulomb friction. A vertex that would end inside a solid is put
// on its surface and may then move across the normal only (S = I − n nᵀ of Baraff & Witkin 1998, eq. 13). What is
// withheld from it decides: an attractive force releases it, friction within the cone keeps it where it is.

@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read_write> displacements: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> reactions: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> contacts: array<Contact>;
@group(0) @binding(6) var<storage, read> holds: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> found_constraints: array<vec4<f32>>; // constraints
@group(0) @binding(8) var<storage, read_write> velocities: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read_write> found_faults: array<atomic<u32>>; // faults
@group(0) @binding(10) var<storage, read_write> previous_velocities: array<vec4<f32>>; // w: 1 if it touched a solid

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

// Speed with which a vertex leaves after an impact [m/s]: restitution times the speed that it had there. Velocities are
// half a step ahead of positions: that half is taken off before and added after.
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

// Change of a vertex's motion along a surface, and of what the contact withholds from it.
struct Friction { slip: vec3<f32>, taken: vec3<f32> }

// Coulomb friction: T is what the vertex would slip without it, the motion there is and what is withheld of it.
// Within the cone, |T| ≤ μ |D·n|, all of it is withheld; beyond it μ_k |D·n|. It never moves a vertex on.
fn rub(solid: SolidRow, n: vec3<f32>, relative: vec3<f32>, taken: vec3<f32>) -> Friction {
    let slip = relative - dot(relative, n) * n;
    let held = taken - dot(taken, n) * n;
    let pressed = max(-dot(taken, n), 0.0);
    let wanted = slip + held;
    let extent = length(wanted);
    var friction = wanted;
    var left = vec3<f32>();
    if (extent > solid.friction * pressed) {
        friction = (min(solid.sliding * pressed, extent) / extent) * wanted;
        left = wanted - friction;
        left *= min(length(slip) / max(length(left), SMALLEST), 1.0);
    }
    return Friction(left - slip, friction - held);
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
    let hold = rigid(holds[v]);
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
        found_constraints[v] = limited_by(holds[v], vertex.inverse_mass);
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
        let friction = rub(solid, n, u - motion, taken);
        u += left_by(hold, friction.slip);
        taken += friction.taken;
    }
    displacements[v] = vec4<f32>(u, 0.0);
    // The reaction is what was really taken from the motion.
    let reaction = reactions[v].xyz - (u - before_contact) / per_force;
    reactions[v] = vec4<f32>(reaction, 0.0);
    contacts[v] = Contact(n, nearest + 1u, reaction - taken / per_force, contact.leaving);
    found_constraints[v] = constraint;
}

// After the commit: what touches a solid moves with its surface along the normal, or leaves it again. It neither goes
// on into it, nor keeps the speed of being pushed out.
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
