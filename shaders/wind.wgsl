// Wind and drag per face, gathered per vertex: see src/stage/wind.rs.

struct Air {
    velocity: vec3<f32>, density: f32,
    gust_wave: vec3<f32>, gust: f32,
    drag: f32, lift: f32, gust_phase: f32, gust_frequency: f32,
}

@group(0) @binding(10) var<uniform> air: Air;
@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read> velocities: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> triangles: array<u32>;
@group(0) @binding(3) var<storage, read> triangle_incidence: array<u32>;
@group(0) @binding(4) var<storage, read_write> forces: array<vec4<f32>>;

// A sine of period 1 made of two parabolas: built-in sines differ too much between adapters to be compared.
fn swing(phase: f32) -> f32 {
    let q = fract(phase) - 0.5;
    return -8.0 * q * (1.0 - 2.0 * abs(q));
}

// Velocity of the air at a point, at the start of the substep [m/s].
fn air_at(position: vec3<f32>) -> vec3<f32> {
    let passed = air.gust_phase + air.gust_frequency * (f32(clock.substep - 1u) * clock.h);
    return (1.0 + air.gust * swing(dot(air.gust_wave, position) - passed)) * air.velocity;
}

// Force of the air on the triangle whose corners start at `corner` [N].
fn face_force(corner: u32) -> vec3<f32> {
    let a = triangles[corner];
    let b = triangles[corner + 1u];
    let c = triangles[corner + 2u];
    let origin = vertices[a].position;
    let first = vertices[b].position - origin;
    let second = vertices[c].position - origin;
    let area = 0.5 * cross(first, second);
    let velocity = (velocities[a].xyz + velocities[b].xyz + velocities[c].xyz) / 3.0;
    let relative = air_at(origin + (first + second) / 3.0) - velocity;
    let speed = length(relative);
    let extent = length(area);
    if (extent * speed < CALM) {
        return vec3<f32>();
    }
    let flow = dot(relative, area);
    let cosine = abs(flow) / (extent * speed);
    let normal = select(area, -area, flow < 0.0) / extent;
    let along = (air.drag - air.lift * cosine) * relative;
    let across = (air.lift * speed) * normal;
    return (0.5 * air.density * abs(flow)) * (along + across);
}

// The force, held back where one substep is too long for it: the vertex moves through the air no faster than before.
fn bearable(force: vec3<f32>, vertex: Vertex, relative: vec3<f32>) -> vec3<f32> {
    let kick = (clock.span * vertex.inverse_mass) * force;
    let speed = length(relative);
    let extent = length(kick);
    var part = 1.0;
    if (extent > speed) {
        part = speed / extent;
    }
    // |relative − part kick|² − |relative|².
    let excess = part * dot(kick, part * kick - 2.0 * relative);
    if (!(excess > 0.0)) {
        return part * force;
    }
    let faster = sqrt(speed * speed + excess);
    let turn = excess / (faster * (faster + speed));
    return (speed / faster * part) * force + (turn / (clock.span * vertex.inverse_mass)) * relative;
}

@compute @workgroup_size(GROUP)
fn blow(invocation: Invocation) {
    let v = element(invocation);
    if (!running() || v >= range.end) {
        return;
    }
    var force = vec3<f32>();
    for (var k = triangle_incidence[v]; k < triangle_incidence[v + 1u]; k++) {
        force += face_force(3u * triangle_incidence[k]);
    }
    let vertex = vertices[v];
    let relative = air_at(vertex.position) - velocities[v].xyz;
    forces[v] += vec4<f32>(bearable(force / 3.0, vertex, relative), 0.0);
}
